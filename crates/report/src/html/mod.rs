//! The report as one self-contained page: nothing is fetched, no script is needed to read it.

mod excerpt;
mod screen;
mod sections;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use results::analysis::Analysis;
use results::safety::speeds;
use results::types::{Configuration, Run};
use serde_json::{Value, json};

use self::excerpt::Excerpt;
use crate::table::Table;
use crate::words::{self, Language, say};
use crate::{charts, csv, numbers, sentences, switch, trials};

/// Letters of a question that is set smaller.
const LONG: usize = 120;

const STYLE: &str = include_str!("../page.css");
const SCRIPT: &str = include_str!("../page.js");

/// The page, in the language of what is being made, with the words of the other one for its switch.
/// Text from plans and machines is escaped wherever it goes.
#[must_use]
pub fn html(run: &Run, analysis: &Analysis) -> String {
    let own = words::language();
    let other = match own {
        Language::English => Language::Japanese,
        Language::Japanese => Language::English,
    };
    // The templates take away what markup would mean; what a terminal or the reading direction
    // would make of it goes here.
    let excerpt = Excerpt::of(run, analysis);
    let made = |language| {
        let page = words::in_language(language, || page(run, analysis, excerpt.as_ref()));
        // A number and its sign stay on one line.
        escape::text(&page.into_string()).replace(" %", "\u{a0}%")
    };
    let page = made(own);
    let words = switch::dictionary(&page, &made(other));
    // Programs read the same whatever the language.
    let (shown, figures) = shown_of(run, analysis, excerpt.as_ref());
    let mut data = words::in_language(Language::English, || data(&speeds(shown), figures));
    data["language"] = json!(other.tag());
    data["language_name"] = json!([other.name(), own.name()]);
    data["words"] = json!(words);
    page.replacen(DATA, &format!("\"application/json\">{}<", embedded(&data)), 1)
}

/// Where the data go, which are the same in every language. No text of others can look like this:
/// its quotes and signs are escaped.
const DATA: &str = "\"application/json\">{}<";

/// What figures are shown of: all, or the excerpt of a large run.
fn shown_of<'a>(
    run: &'a Run,
    analysis: &'a Analysis,
    excerpt: Option<&'a Excerpt>,
) -> (&'a Run, &'a Analysis) {
    excerpt.map_or((run, analysis), |excerpt| (&excerpt.run, &excerpt.analysis))
}

/// Sentences are about the whole run, charts and tables about what is shown of it.
fn page(run: &Run, analysis: &Analysis, excerpt: Option<&Excerpt>) -> Markup {
    let name = sentences::title(run);
    let (shown, figures) = shown_of(run, analysis, excerpt);
    let (run, shown) = (&*speeds(run), &*speeds(shown));
    html! {
        (DOCTYPE)
        html lang=(words::language().tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // The browser itself now holds us to fetching nothing.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src \
                    'unsafe-inline'; script-src 'unsafe-inline'";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="raidloom";
                title { (say!(TITLE, name = name)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.over { (say!(REPORT))
                        span data-needs-script hidden {
                            button #language type="button" {} } }
                    h1.long[name.chars().count() > LONG] { (name) }
                }
                main {
                    (screen::answer(run, analysis, excerpt.map(|_| (shown, figures))))
                    @if let Some(excerpt) = excerpt {
                        p.note { (say!(EXCERPT,
                            shown = numbers::grouped(shown.plan.configurations.len() as u64),
                            all = numbers::grouped(excerpt.all as u64))) } }
                    (screen::against_space(shown, figures))
                    (sections::warnings(analysis))
                    (sections::scores(figures))
                    (sections::map(shown, figures))
                    (sections::reasons(analysis))
                    (sections::cached_accesses(figures))
                    (sections::grades(figures))
                    (sections::what_differs(shown, figures))
                    (screen::to_post(run, analysis))
                    (sections::machine(shown, figures))
                    (every_trial(shown, figures))
                }
                footer {
                    p {
                        (say!(FOOT_BEFORE)) sup { "6" } (say!(FOOT_AFTER))
                        span #save hidden {
                            (say!(SAVE_SUMMARY))
                            button type="button" data-save="csv" { "CSV" } (say!(SAVE_OR))
                            button type="button" data-save="json" { "JSON" } (say!(SAVE_END))
                        }
                    }
                }
                script #data type="application/json" { "{}" }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// JSON that cannot end the element it stands in, whatever its texts say.
fn embedded(data: &Value) -> String {
    escape::json(&data.to_string()).replace('<', "\\u003c")
}

/// The rows of `summary.csv` by which workloads are judged, with names by index and four
/// significant digits, so that a large run stays a small page.
fn data(run: &Run, analysis: &Analysis) -> Value {
    let plan = &run.plan;
    let judged = || csv::rows(analysis).filter(|(_, cell, own)| cell.metrics.first() == Some(*own));
    let mut metrics: Vec<&str> = judged().map(|(.., metric)| metric.name.as_str()).collect();
    metrics.sort_unstable();
    metrics.dedup();
    let short = |figure: Option<f64>| figure.map(|figure| csv::significant(figure, 4));
    let rows: Vec<Value> = judged()
        .map(|(_, cell, metric)| {
            let configuration =
                plan.configurations.iter().position(|known| known.id == cell.configuration);
            let workload = plan.workloads.iter().position(|known| known.name == cell.workload);
            let mut row = vec![
                json!(configuration),
                json!(workload),
                json!(metrics.binary_search(&metric.name.as_str()).ok()),
                json!(metric.trials),
            ];
            row.extend(csv::figures(metric).map(|figure| json!(short(figure))));
            row.push(json!(csv::word(metric)));
            Value::Array(row)
        })
        .collect();
    let axes: Vec<&str> = plan.axes.iter().map(|axis| axis.name.as_str()).collect();
    let configurations: Vec<Vec<Option<&String>>> = plan
        .configurations
        .iter()
        .map(|known| axes.iter().map(|axis| known.settings.get(*axis)).collect())
        .collect();
    let label = |known: &Configuration| numbers::spaced_sizes(&plan.label(&known.settings));
    let cell = |configuration: &str, workload: &str| {
        let mut comparisons = analysis.comparisons.iter();
        let cell = comparisons.find_map(|one| Some((one, one.cell(configuration, workload)?)));
        cell.map_or_else(String::new, |(one, cell)| charts::figures(one, cell))
    };
    json!({
        "schema": "raidloom/report-data/1",
        "name": plan.name,
        "axes": axes,
        "configurations": configurations,
        "workloads": plan.workloads.iter().map(|workload| &workload.name).collect::<Vec<_>>(),
        "metrics": metrics,
        "rows": rows,
        "trials": trials::data(run, analysis),
        "names": plan.workloads.iter().map(|known| numbers::workload(&known.name))
            .collect::<Vec<_>>(),
        "labels": plan.configurations.iter().map(label).collect::<Vec<_>>(),
        "cells": plan.configurations.iter().map(|known| plan.workloads.iter()
            .map(|workload| cell(&known.id, &workload.name)).collect()).collect::<Vec<Vec<String>>>(),
    })
}

/// The table of all trials, which the script fills when it is opened.
fn every_trial(run: &Run, analysis: &Analysis) -> Markup {
    let held = trials::count(run);
    let heads = [
        ("place", say!(TRIAL_NUMBER), true),
        ("block", say!(BLOCK), true),
        ("configuration", say!(CONFIGURATION), false),
        ("workload", say!(WORKLOAD), false),
        ("figure", say!(FIGURE), true),
        ("distance", say!(TO_MEDIAN), true),
        ("tail", format!("p99, {}", trials::tail_unit(analysis).name), true),
        ("flags", say!(FLAGS), false),
    ];
    let is_timed = |name: &str| name != "tail" || trials::has_tails(run);
    let plan = &run.plan;
    html! {
        @if held > 0 {
            section.every aria-labelledby="trials" data-needs-script hidden {
                h2 #trials { (say!(EVERY_TRIAL)) }
                p.note { (say!(EVERY_TRIAL_NOTE))
                    @if held < run.trials.len() {
                        (say!(FIRST_TRIALS, held = held, trials = run.trials.len())) } }
                details #every {
                    summary { (say!(SHOW_TRIALS, trials = sentences::trials_text(held))) }
                    div.filters {
                        label { (say!(FIND)) input #find type="search" autocomplete="off"
                            spellcheck="false"; }
                        label { (say!(CONFIGURATION)) select #of-configuration {
                            option value="" { (say!(ANY)) }
                            @for (at, known) in plan.configurations.iter().enumerate() {
                                option value=(at) {
                                    (numbers::spaced_sizes(&plan.label(&known.settings))) } } } }
                        label { (say!(WORKLOAD)) select #of-workload {
                            option value="" { (say!(ANY)) }
                            @for (at, known) in plan.workloads.iter().enumerate() {
                                option value=(at) {
                                    (numbers::workload(&known.name)) } } } }
                        label.check { input #flagged type="checkbox"; (say!(FLAGGED_ONLY)) }
                    }
                    p { (say!(SHOWN_TRIALS)) output #found {} }
                    div.scroll role="group" tabindex="0" aria-label=(say!(EVERY_TRIAL)) {
                        table role="table" aria-label=(say!(EVERY_TRIAL)) {
                            thead role="rowgroup" { tr role="row" {
                            @for (name, head, is_number) in &heads {
                                @if is_timed(name) {
                                    th.n[*is_number] role="columnheader" scope="col" data-by=(name)
                                        aria-sort=[(*name == "place").then_some("ascending")] {
                                        button type="button" { (head) } } } } } }
                            tbody role="rowgroup" data-own {}
                        }
                    }
                }
            }
        }
    }
}

/// A chart's table, behind a line that opens it.
fn behind(table: &Table) -> Markup {
    folded(&say!(SAME_AS_TABLE), table)
}

/// A table behind a line that opens it.
fn folded(summary: &str, table: &Table) -> Markup {
    html! {
        details {
            summary { (summary) }
            (shown(table))
        }
    }
}

/// What may be wider than the page. It takes the keyboard's focus, so that it can be scrolled
/// without a mouse, and says what it is.
fn scrolled(name: &str, wide: &Markup) -> Markup {
    html! { div.scroll role="group" tabindex="0" aria-label=(name) { (wide) } }
}

fn shown(table: &Table) -> Markup {
    let name = match table.caption.as_str() {
        "" => say!(MACHINE),
        caption => caption.to_owned(),
    };
    scrolled(
        &name,
        &html! {
            table aria-label=[table.caption.is_empty().then_some(&name)] {
                @if !table.caption.is_empty() { caption { span { (table.caption) } } }
                thead { tr { @for column in &table.columns {
                    th.n[column.number] scope="col" { (column.name) } } } }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (index, cell) in row.iter().enumerate() {
                                @if index == 0 { th scope="row" { (cell) } }
                                @else { td.n[table.columns[index].number] { (cell) } }
                            }
                        }
                    }
                }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn embedded_data_cannot_end_its_element() {
        let text = super::embedded(
            &serde_json::json!({ "name": "</script><script>alert(1)</script><!--" }),
        );
        assert!(!text.contains('<'), "{text}");
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["name"], "</script><script>alert(1)</script><!--");
    }
}
