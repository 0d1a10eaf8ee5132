//! The first screen: the answer, the one chart that shows it, what it costs and what it rests on;
//! and the card of it.

use maud::{Markup, html};
use results::analysis::{Analysis, StartRecipe};
use results::types::Run;

use super::{behind, scrolled, shown};
use crate::card::cards;
use crate::first_screen::{AnswerChart, Curve, Curves, ForestRow, Group, Point, first_screen};
use crate::numbers;
use crate::space;
use crate::svg;
use crate::table::{self, Table, number, words};
use crate::words::say;

/// What is read first; its chart is of an excerpt of a large run.
pub(super) fn answer(run: &Run, analysis: &Analysis, excerpt: Option<(&Run, &Analysis)>) -> Markup {
    let first = first_screen(run, analysis);
    let few = excerpt.map(|(run, analysis)| first_screen(run, analysis).chart);
    html! {
        section.answer aria-labelledby="decision" {
            h2.unseen #decision { (say!(DECISION)) }
            div.said {
                @for paragraph in &first.answer {
                    p.decision.unsure[!paragraph.is_sure] { (paragraph.text) }
                }
                @if !first.why.is_empty() { p.rest { (first.why) } }
            }
            (chart(analysis, few.as_ref().unwrap_or(&first.chart)))
            dl.facts {
                (facts(&say!(HOW_SURE), &first.sure))
                (facts(&say!(ITS_COSTS), &first.costs))
                (facts(&say!(NOT_KNOWN_ROW), &first.not_known))
                (facts(&say!(RESTS_ON), &first.trust))
            }
            @if let Some(start) = first.start { (builds(start)) }
        }
    }
}

/// A row of facts with its name; nothing where there are none.
fn facts(name: &str, facts: &[String]) -> Markup {
    html! {
        @if !facts.is_empty() {
            dt { (name) }
            dd { @for fact in facts { span { (fact) } } }
        }
    }
}

/// The one chart of the answer.
fn chart(analysis: &Analysis, chart: &AnswerChart<'_>) -> Markup {
    match chart {
        AnswerChart::Curves(curves) => html! {
            figure.shows {
                p.note { (curves.title) }
                (scrolled(&curves.title, &svg::curves(curves).svg))
                (behind(&table_of(curves)))
            }
        },
        AnswerChart::Rows(groups) => {
            let title = say!(SCORES_NOTE_SHORT);
            html! {
                figure.shows {
                    p.note { (title) }
                    (scrolled(&title, &svg::forest(groups, analysis.margin, &title).svg))
                    (behind(&table_of_rows(groups, &title)))
                }
            }
        }
        AnswerChart::Figures(tables) => html! { @for table in tables { (shown(table)) } },
    }
}

/// Speed against usable space, where layouts differ in it.
pub(super) fn against_space(run: &Run, analysis: &Analysis) -> Markup {
    let Some(chart) = space::chart(run, analysis) else { return html! {} };
    html! {
        section aria-labelledby="space" {
        h2 #space { (say!(SPACE_CAPTION)) }
        figure {
            p.note { (chart.title) }
            (scrolled(&chart.title, &svg::space(&chart, &say!(USABLE_SPACE)).svg))
            p.note {
                @for (count, called) in &chart.losses {
                    span.kind {
                        svg viewBox="0 0 14 12" width="14" height="12" aria-hidden="true" {
                            g class=(svg::class((*count).min(3) as usize)) {
                                (svg::mark(*count, 7.0, 6.0)) } }
                        " " (say!(COST_SURVIVES, losses = called))
                    }
                }
            }
            (behind(&chart.table))
        }
        }
    }
}

/// The same figures as a table.
fn table_of(curves: &Curves) -> Table {
    let mut columns = vec![words(say!(COMPARISON))];
    columns.extend(curves.values.iter().map(number));
    let row = |curve: &Curve| {
        let text = |point: &Option<Point>| {
            point.as_ref().map_or_else(|| "–".to_owned(), |point| point.figure.clone())
        };
        let name = match curve.name.as_str() {
            "" => say!(ALL_CONFIGURATIONS_SMALL),
            name => name.to_owned(),
        };
        std::iter::once(name).chain(curve.points.iter().map(text)).collect()
    };
    Table { caption: curves.title.clone(), columns, rows: curves.curves.iter().map(row).collect() }
}

/// The same figures as a table.
fn table_of_rows(groups: &[Group<'_>], caption: &str) -> Table {
    let row = |row: &ForestRow<'_>| {
        let figure = match row.is_baseline {
            true => "1".to_owned(),
            false => numbers::score_whole(row.score),
        };
        vec![row.name.clone(), figure, table::score_answer(row.score)]
    };
    Table {
        caption: caption.to_owned(),
        columns: vec![
            words(say!(CONFIGURATION)),
            number(say!(SCORE)),
            words(say!(AGAINST_BASELINE)),
        ],
        rows: groups.iter().flat_map(|group| &group.rows).map(row).collect(),
    }
}

/// What builds a decision.
pub(super) fn builds(start: &StartRecipe) -> Markup {
    html! {
        pre role="group" tabindex="0" aria-label=(say!(COMMAND)) {
            code { (start.command) } }
        @if !start.without_raidloom.is_empty() {
            details {
                summary { (say!(WITHOUT)) }
                pre role="group" tabindex="0" aria-label=(say!(COMMANDS_WITHOUT)) {
                    code { (start.without_raidloom.join("\n")) }
                }
            }
        }
    }
}

/// The card, which the script can save.
pub(super) fn to_post(run: &Run, analysis: &Analysis) -> Markup {
    let cards = cards(run, analysis);
    html! {
        @if let Some(card) = cards.first() {
            section aria-labelledby="to-post" {
                h2 #to-post { (say!(CARD_TO_POST)) }
                figure.to-post {
                    figcaption {
                        span data-needs-script hidden {
                            button type="button" data-card { (say!(SAVE_CARD)) } } }
                    (scrolled(&say!(THE_CARD), &card.svg()))
                    details {
                        summary { (say!(AS_TEXT)) }
                        pre role="group" tabindex="0" aria-label=(say!(CARD_AS_TEXT)) {
                            (card.text()) }
                        (shown(&card.table()))
                    }
                }
            }
        }
    }
}
