//! What stands below the first screen: warnings, all scores on one axis, one map of all workloads,
//! reasons, what else differs, and last the machine and how it was done.

use maud::{Markup, html};
use results::analysis::{Analysis, Comparison};
use results::shape;
use results::types::Run;

use super::{behind, folded, screen, scrolled, shown};
use crate::decision::{self, decision};
use crate::first_screen::{self, Group};
use crate::svg::{self, Chart};
use crate::table;
use crate::words::{names, say};
use crate::{cached, chart_tables, charts, heat, numbers, run_tables, safety, sentences, survival};

/// Most charts of one sort: of further ones the map tells.
const CHARTS_MAX: usize = 4;
/// Most marks of all of them together.
const MARKS_MAX: usize = 25;

fn title(comparison: &Comparison) -> Markup {
    let name = numbers::spaced_sizes(&comparison.name);
    html! {
        @if name.is_empty() { (say!(ALL_CONFIGURATIONS)) } @else { (name) }
        @if comparison.modelled { " " span.tag { (table::figures(comparison)) } }
    }
}

pub(super) fn warnings(analysis: &Analysis) -> Markup {
    html! {
        @if !analysis.warnings.is_empty() {
            section.warnings aria-labelledby="warnings" {
                h2 #warnings { (say!(READ_THIS_FIRST)) }
                ul { @for warning in sentences::warnings(analysis) { li { (warning) } } }
            }
        }
    }
}

/// All scores of all comparisons on one axis.
pub(super) fn scores(analysis: &Analysis) -> Markup {
    let is_alone = analysis.comparisons.len() == 1;
    let group = |one| match is_alone {
        true => first_screen::group(one, String::new()),
        false => first_screen::group(one, table::comparison_title(one)),
    };
    let groups: Vec<Group<'_>> =
        analysis.comparisons.iter().map(group).filter(|group| group.rows.len() > 1).collect();
    html! {
        @if !groups.is_empty() {
            section aria-labelledby="scores" {
                h2 #scores { (say!(SCORES)) }
                p.note {
                    (say!(SCORES_NOTE_BEFORE))
                    span.key-best { (say!(SCORES_NOTE_MARKED)) }
                    (say!(SCORES_NOTE_AFTER, margin = numbers::percent(analysis.margin)))
                }
                figure {
                    (scrolled(&say!(SCORES), &svg::forest(&groups, analysis.margin,
                        &say!(SCORES)).svg))
                    details {
                        summary { (say!(SAME_AS_TABLE)) }
                        @for table in analysis.comparisons.iter().filter_map(table::scores) {
                            (shown(&table)) }
                    }
                }
            }
        }
    }
}

/// The ratio of every cell.
pub(super) fn map(run: &Run, analysis: &Analysis) -> Markup {
    let maps = heat::maps(run, analysis);
    html! {
        @if !maps.is_empty() {
            section aria-labelledby="ratios" {
                h2 #ratios { (say!(EVERY_WORKLOAD)) }
                p.note { (say!(RATIOS_NOTE, margin = numbers::percent(analysis.margin))) }
                (heat::key())
                @for map in &maps {
                    figure { (scrolled(&say!(RATIO_OF_ALL), &map.table(run))) }
                }
            }
        }
    }
}

/// What each comparison says in full: what is known of it, what is not, and what builds it.
pub(super) fn reasons(analysis: &Analysis) -> Markup {
    let all = html! {
        div.reasons {
            @for comparison in &analysis.comparisons { (reason(analysis, comparison)) }
        }
    };
    html! {
        @if decision::joint(analysis).is_some() {
            (closed("reasons", &say!(REASONS), "", &all))
        } @else if !analysis.comparisons.is_empty() {
            section aria-labelledby="reasons" {
                h2 #reasons { (say!(REASONS)) }
                (all)
            }
        }
    }
}

fn reason(analysis: &Analysis, comparison: &Comparison) -> Markup {
    let Some(decision) = decision(analysis, comparison) else { return html! {} };
    let is_joined = decision::joint(analysis).is_some() || analysis.comparisons.len() == 1;
    html! {
        article {
            h3 { (title(comparison)) span.against { (table::comparison_subject(comparison)) } }
            @for banner in sentences::same_disks(comparison) { p.banner { (banner) } }
            @if !is_joined { p.pick.unsure[!decision.is_sure] { (decision.lead) } }
            @if !decision.score.is_empty() {
                p.score { (decision.score) @if !decision.sure.is_empty() {
                    " " span.tag[!decision.is_sure] { (decision.sure) } } }
            }
            @if !decision.price.is_empty() { p.rest { (decision.price) } }
            p.rest { (decision.rest) }
            @if let Some(start) = decision.start { (screen::builds(start)) }
            @if !decision.not_known.is_empty() {
                p.unknown { strong { (say!(NOT_KNOWN)) } " " (decision.open()) }
            }
            div.answers {
                @for answer in &decision.kinds {
                    div.answer {
                        p.kind { (answer.kind) }
                        p.pick.unsure[!answer.is_sure] { (answer.pick) }
                        @if !answer.score.is_empty() {
                            p.score { (answer.score) @if !answer.sure.is_empty() {
                                " " span.tag[!answer.is_sure] { (answer.sure) } } }
                        }
                        @for detail in answer.details() { p.detail { (detail) } }
                    }
                }
            }
            @if let Some(sentence) = sentences::pairing(comparison) { p.all { (sentence) } }
        }
    }
}

pub(super) fn cached_accesses(analysis: &Analysis) -> Markup {
    html! {
        @if let Some(table) = cached::table(analysis) {
            section aria-labelledby="cached" {
                h2 #cached { (say!(CACHED)) }
                @for sentence in cached::sentences(analysis) { p.note { (sentence) } }
                (shown(&table))
            }
        }
    }
}

pub(super) fn grades(analysis: &Analysis) -> Markup {
    html! {
        @if let Some(table) = safety::table(analysis) {
            section aria-labelledby="safety" {
                h2 #safety { (say!(WHAT_POWER_CUTS_LEAVE)) }
                p.note { (safety::note()) }
                @for comparison in &analysis.comparisons {
                    @let graded = charts::graded(analysis, comparison);
                    @if !graded.is_empty() {
                        h3 { (title(comparison)) }
                        p.note { (say!(GRADES_NOTE)) }
                        figure {
                            @let name = say!(GRADES_TITLE,
                                place = table::comparison_title(comparison));
                            (scrolled(&name, &svg::grades(comparison, &graded)))
                            (behind(&chart_tables::grades(&graded, comparison)))
                        }
                    }
                }
                (shown(&table))
            }
        }
    }
}

/// A chart with its caption and its name.
type CaptionedChart = (String, String, Chart);

/// Charts beside each other, each with what it shows above it.
fn grid(charts: &[CaptionedChart]) -> Markup {
    let wide = charts.iter().map(|(.., chart)| chart.width).fold(0.0, f64::max);
    html! {
        div.grid style=(format!("--wide:{}px", svg::px(wide))) {
            @for (caption, name, chart) in charts {
                div.small {
                    p.kind { (caption) }
                    (scrolled(name, &chart.svg))
                }
            }
        }
    }
}

/// What the lines of the charts below it are.
fn legend(names: &[&str], baseline: Option<String>) -> Markup {
    html! {
        ul.legend {
            @if names.len() > 1 || baseline.is_some() {
                @for (place, name) in names.iter().take(charts::SERIES_TOLD_APART).enumerate() {
                    @if !name.is_empty() { li { span class=(svg::class(place)) {} (name) } }
                }
                @if names.len() > charts::SERIES_TOLD_APART { li { span.cn {} (say!(THE_OTHERS)) } }
            }
            @if let Some(baseline) = baseline { li { span.base {} (baseline) } }
        }
    }
}

/// Behind a line that opens them: charts of which the map says the ratios already.
fn closed(id: &str, heading: &str, note: &str, content: &Markup) -> Markup {
    html! {
        section.more aria-labelledby=(id) {
            details {
                summary { h2 id=(id) { (heading) } }
                @if !note.is_empty() { p.note { (note) } }
                (content)
            }
        }
    }
}

/// What differs beyond ratios of throughput: each part only where something does.
pub(super) fn what_differs(run: &Run, analysis: &Analysis) -> Markup {
    let each = |part: fn(&Run, &Comparison) -> Option<Markup>| {
        let parts = analysis.comparisons.iter().filter_map(move |one| Some((one, part(run, one)?)));
        parts.collect::<Vec<_>>()
    };
    let placed = |parts: &[(&Comparison, Markup)]| {
        html! { @for (comparison, part) in parts { h3 { (title(comparison)) } (part) } }
    };
    let loads = charts::loads(run, analysis);
    html! {
        @let times = each(times);
        @if !times.is_empty() {
            section aria-labelledby="times" {
                h2 #times { (say!(TIMES)) }
                (placed(&times))
            }
        }
        @if !loads.is_empty() {
            (closed("load", &say!(LOAD), &say!(LOAD_NOTE), &load(&loads))) }
        @let tails = each(tails);
        @if !tails.is_empty() {
            (closed("tails", &say!(TAILS), &say!(TAILS_NOTE), &placed(&tails))) }
        @let units = each(units);
        @if !units.is_empty() {
            (closed("units", &say!(IN_UNITS), &say!(IN_UNITS_NOTE), &placed(&units))) }
        @let effects = each(effects);
        @if !effects.is_empty() {
            (closed("effects", &say!(EFFECTS), &say!(EFFECTS_NOTE), &placed(&effects))) }
        @let members = each(members);
        @if !members.is_empty() {
            (closed("members", &say!(MEMBERS), &say!(MEMBERS_NOTE), &placed(&members))) }
        @if let Some(strip) = svg::strip(run, analysis) {
            (closed("order", &say!(RUN_ORDER), &say!(RUN_ORDER_NOTE), &html! {
                figure {
                    (scrolled(&say!(RUN_ORDER), &strip.svg))
                    (behind(&chart_tables::blocks(&strip.blocks)))
                } })) }
    }
}

/// How long work with files took.
fn times(run: &Run, comparison: &Comparison) -> Option<Markup> {
    chart_tables::times(run, comparison).map(|table| shown(&table))
}

/// Figures along an axis of amounts, of the workloads in which something is surely ahead or behind.
fn units(run: &Run, comparison: &Comparison) -> Option<Markup> {
    let mut charts = charts::by_axis(run, comparison);
    charts.retain(|chart| {
        let mut marks = chart.series.iter().flat_map(|series| series.marks.iter().flatten());
        chart.grows && marks.any(|mark| mark.is_decided)
    });
    let first = charts.first()?;
    let marks = first.series.len() * first.values.len();
    charts.truncate(CHARTS_MAX.min(MARKS_MAX / marks.max(1)));
    let first = charts.first()?;
    let names: Vec<&str> = first.series.iter().map(|series| series.name.as_str()).collect();
    let baseline = first.baseline.as_ref().map(|_| table::label(comparison, &comparison.baseline));
    let place = table::comparison_title(comparison);
    let these = charts.iter().map(|chart| {
        let name = say!(
            BY_AXIS_TITLE,
            name = chart.name,
            metric = chart.metric,
            axis = names::axis(&first.axis),
            place = place
        );
        let drawn = svg::lines(chart, &name);
        (chart.name.clone(), name, drawn)
    });
    Some(html! {
        figure {
            (legend(&names, baseline))
            (grid(&these.collect::<Vec<_>>()))
            (behind(&chart_tables::by_axis(&charts, comparison)))
        }
    })
}

/// Latencies of what is taken beside the baseline's.
fn tails(run: &Run, comparison: &Comparison) -> Option<Markup> {
    let mut tails = charts::tails(run, comparison);
    tails.truncate(CHARTS_MAX);
    let first = tails.first()?;
    let taken = first.series.iter().filter(|series| !series.is_baseline);
    let names: Vec<&str> = taken.map(|series| series.name.as_str()).collect();
    let place = table::comparison_title(comparison);
    let these = tails.iter().map(|one| {
        let name = say!(TAILS_TITLE, name = one.name, place = place);
        let drawn = svg::tails(one, &names, &name);
        (one.name.clone(), name, drawn)
    });
    Some(html! {
        figure {
            (legend(&names, Some(table::label(comparison, &comparison.baseline))))
            (grid(&these.collect::<Vec<_>>()))
            (behind(&chart_tables::tails(&tails, comparison)))
        }
    })
}

fn load(loads: &[charts::Load]) -> Markup {
    html! {
        @for load in loads {
            @let names: Vec<&str> =
                load.rate.series.iter().map(|series| series.name.as_str()).collect();
            figure {
                figcaption { (load.access) }
                (legend(&names, None))
                (grid(&[&load.rate, &load.latency].map(|chart| {
                    let name = say!(LOAD_TITLE, name = load.access, metric = chart.metric);
                    let drawn = svg::lines(chart, &name);
                    (chart.metric.clone(), name, drawn)
                })))
                (behind(&chart_tables::load(load)))
            }
        }
    }
}

/// What each value of an axis does: of one axis alone the scores say that.
fn effects(run: &Run, comparison: &Comparison) -> Option<Markup> {
    let effects = shape::main_effects(&run.plan, comparison);
    let says = effects.iter().filter(|effect| effect.balanced).count() > 1;
    says.then(|| shown(&chart_tables::effects(&effects, comparison)))
}

fn members(run: &Run, comparison: &Comparison) -> Option<Markup> {
    let traffic = charts::traffic(run, comparison);
    (!traffic.is_empty()).then(|| shown(&chart_tables::traffic(&traffic, comparison)))
}

pub(super) fn machine(run: &Run, analysis: &Analysis) -> Markup {
    html! {
        section aria-labelledby="machine" {
            h2 #machine { (say!(MACHINE)) }
            p.scope {
                @for (place, part) in sentences::scope(run, analysis).iter().enumerate() {
                    @if place > 0 { " · " }
                    span.whole { (part) }
                }
            }
            (folded(&say!(FACTS), &run_tables::facts(run)))
            (folded(&say!(STACKS), &run_tables::configurations(analysis)))
            @if let Some(table) = survival::table(analysis) {
                (folded(&say!(WHAT_EACH_SURVIVES), &table))
            }
            details {
                summary { (say!(HOW_TO_READ)) }
                div.prose { @for paragraph in sentences::method(analysis) { p { (paragraph) } } }
            }
        }
    }
}
