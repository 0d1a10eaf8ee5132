//! The report as one self-contained page: nothing is fetched, no script is needed to read it.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use results::analysis::{Analysis, Comparison, Start};
use results::safety::speeds;
use results::shape;
use results::types::{Configuration, Run};
use serde_json::{Value, json};

use crate::card::{Card, card};
use crate::charts::{self, Lines};
use crate::decision::decision;
use crate::table::{self, Table};
use crate::{chart_tables, csv, heat, numbers, safety, sentences, svg};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page. Text from plans and machines is escaped wherever it goes.
#[must_use]
pub fn html(run: &Run, analysis: &Analysis) -> String {
    let (name, scope) = (&run.plan.name, sentences::scope(run, analysis));
    let run = &*speeds(run);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // The browser itself now holds us to fetching nothing.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src \
                    'unsafe-inline'; script-src 'unsafe-inline'";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="raidloom";
                title { (name) " – raidloom report" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.over { "raidloom report" }
                    h1 { (name) }
                    p.scope {
                        @for (place, part) in scope.iter().enumerate() {
                            @if place > 0 { " · " }
                            span.whole { (part) }
                        }
                    }
                }
                main {
                    (verdict(run, analysis))
                    (warnings(analysis))
                    (grades(analysis))
                    @if sentences::has_scores(analysis) { (scores(analysis)) }
                    @if !analysis.comparisons.is_empty() {
                        (ratios(run, analysis))
                        (units(run, analysis))
                        (latency(run, analysis))
                        (load(run, analysis))
                        (effects(run, analysis))
                        (traffic(run, analysis))
                        (order(run, analysis))
                    }
                    (machine(run, analysis))
                }
                footer {
                    p {
                        "Figures are medians; MB/s are 10" sup { "6" } " bytes per second, KiB and \
                        MiB are binary. "
                        span #save hidden {
                            "Save the summary as "
                            button type="button" data-save="csv" { "CSV" } " or "
                            button type="button" data-save="json" { "JSON" } "."
                        }
                    }
                }
                script #data type="application/json" { (PreEscaped(embedded(&data(run, analysis))))
                    }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // The templates take away what markup would mean; what a terminal or the reading direction
    // would make of it goes here.
    escape::text(&page.into_string()).into_owned()
}

/// JSON that cannot end the element it stands in, whatever its texts say.
fn embedded(data: &Value) -> String {
    escape::json(&data.to_string()).replace('<', "\\u003c")
}

/// The rows of `summary.csv` with names by index and six significant digits, so that a large run
/// stays a small page.
fn data(run: &Run, analysis: &Analysis) -> Value {
    let plan = &run.plan;
    let mut metrics: Vec<&str> =
        csv::rows(analysis).map(|(.., metric)| metric.name.as_str()).collect();
    metrics.sort_unstable();
    metrics.dedup();
    let short = |figure: Option<f64>| figure.map(|figure| csv::significant(figure, 6));
    let rows: Vec<Value> = csv::rows(analysis)
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
        let cell = comparisons.find_map(|one| one.cell(configuration, workload));
        cell.map_or_else(String::new, charts::figures)
    };
    json!({
        "schema": "raidloom/report-data/1",
        "name": plan.name,
        "axes": axes,
        "configurations": configurations,
        "workloads": plan.workloads.iter().map(|workload| &workload.name).collect::<Vec<_>>(),
        "metrics": metrics,
        "rows": rows,
        "labels": plan.configurations.iter().map(label).collect::<Vec<_>>(),
        "cells": plan.configurations.iter().map(|known| plan.workloads.iter()
            .map(|workload| cell(&known.id, &workload.name)).collect()).collect::<Vec<Vec<String>>>(),
    })
}

fn title(comparison: &Comparison) -> Markup {
    let name = numbers::spaced_sizes(&comparison.name);
    html! {
        @if name.is_empty() { "All configurations" } @else { (name) }
        @if comparison.modelled { " " span.tag { (comparison.figures()) } }
    }
}

/// The card, which the script can save.
fn to_post(card: &Card) -> Markup {
    html! {
        figure.to-post {
            figcaption { "A card to post "
                span data-needs-script hidden {
                    button type="button" data-card { "Save it as a picture (SVG)" } } }
            (scrolled("The card", &card.svg()))
            details {
                summary { "As text" }
                pre role="group" tabindex="0" aria-label="The card as text" { (card.text()) }
                (shown(&card.table()))
            }
        }
    }
}

/// What builds a decision.
fn builds(start: &Start) -> Markup {
    html! {
        pre role="group" tabindex="0" aria-label="The command that builds it" {
            code { (start.command) } }
        @if !start.without_raidloom.is_empty() {
            details {
                summary { "The same without raidloom" }
                pre role="group" tabindex="0" aria-label="The commands without raidloom" {
                    code { (start.without_raidloom.join("\n")) }
                }
            }
        }
    }
}

fn verdict(run: &Run, analysis: &Analysis) -> Markup {
    html! {
        section.verdict aria-labelledby="verdict" {
            h2 #verdict { "Decision" }
            @for comparison in &analysis.comparisons {
                article {
                    h3 { (title(comparison)) span.against { (table::comparison_subject(comparison))
                        } }
                    @if let Some(banner) = sentences::one_disk(comparison) {
                        p.banner { (banner) }
                    }
                    @if let Some(decision) = decision(analysis, comparison) {
                        p.decision.unsure[!decision.is_sure] { (decision.lead) }
                        @if !decision.score.is_empty() {
                            p.score { (decision.score) @if !decision.sure.is_empty() {
                                " " span.tag[!decision.is_sure] { (decision.sure) } } }
                        }
                        p.rest { (decision.rest) }
                        @if let Some(start) = decision.start { (builds(start)) }
                        @if !decision.open.is_empty() {
                            p.unknown { strong { "Not known." } " " (decision.open) }
                        }
                    div.answers {
                        @for answer in &decision.kinds {
                            div.answer {
                                p.kind { (answer.kind) }
                                p.pick.unsure[!answer.is_sure] { (answer.pick) }
                                p.score { (answer.score) @if !answer.sure.is_empty() {
                                    " " span.tag[!answer.is_sure] { (answer.sure) } } }
                                @for detail in answer.details() { p.detail { (detail) } }
                            }
                        }
                    }
                    }
                    @if let Some(card) = card(run, comparison) { (to_post(&card)) }
                    @if let Some(sentence) = sentences::pairing(comparison) { p.all { (sentence) } }
                }
            }
            @for sentence in safety::by_grade(analysis) { p { (sentence) } }
        }
    }
}

fn warnings(analysis: &Analysis) -> Markup {
    html! {
        @if !analysis.warnings.is_empty() {
            section.warnings aria-labelledby="warnings" {
                h2 #warnings { "Read this first" }
                ul { @for warning in &analysis.warnings {
                    li { (sentences::warning(analysis, warning)) } } }
            }
        }
    }
}

fn grades(analysis: &Analysis) -> Markup {
    html! {
        @if let Some(table) = safety::table(analysis) {
            section aria-labelledby="safety" {
                h2 #safety { "What power cuts leave" }
                p.note { (safety::NOTE) }
                (shown(&table))
            }
        }
    }
}

fn scores(analysis: &Analysis) -> Markup {
    html! {
        section aria-labelledby="scores" {
            h2 #scores { "Scores against the baseline" }
            p.note {
                "Geometric mean of the ratios of all workloads of a kind, and of all, with its \
                interval, each on its own log axis. Right of 1 is faster. What the scores say holds \
                together over the report. "
                span.key-best { "Marked rows" } " are the best set; the recommended one is bold. "
                "● ahead or behind, ○ neither, ◆ the baseline; the band is “same”, ±"
                (numbers::percent(analysis.margin)) "."
            }
            @for comparison in &analysis.comparisons {
                h3 { (title(comparison)) }
                div.forests {
                    @for kind in comparison.results().filter(|kind| !kind.scores.is_empty()) {
                        figure {
                            figcaption { (numbers::kind(kind.group)) }
                            (scrolled(&format!("Scores of {} work", numbers::kind(kind.group)),
                                &svg::forest(comparison, kind, analysis.margin)))
                            (behind(&table::scores(comparison, kind)))
                        }
                    }
                }
            }
        }
    }
}

fn ratios(run: &Run, analysis: &Analysis) -> Markup {
    html! {
        section aria-labelledby="ratios" {
            h2 #ratios { "Every workload" }
            p.note {
                "The baseline's figure, and each configuration's ratio to it; above 1 is faster. \
                The same tints in every map. After the number: = the same within "
                (numbers::percent(analysis.margin)) ", ? no answer, ! doubtful trials. Only what is ahead or \
                    behind is tinted. A cell says \
                    its figures when pointed at."
            }
            (heat::key())
            @for comparison in &analysis.comparisons {
                h3 { (title(comparison)) span.against { (table::comparison_subject(comparison)) } }
                @for panel in table::panels(comparison) {
                    figure {
                        (scrolled("Ratio of every workload", &heat::heat(run, comparison, &panel)))
                    }
                }
                (folded("Every cell: medians, ratios, answers, flags",
                    &table::cells(run, comparison)))
            }
        }
    }
}

/// A chart among others, with what it shows above it.
fn small(caption: &str, name: &str, chart: &Markup) -> Markup {
    html! {
        div.small {
            p.kind { (caption) }
            (scrolled(name, chart))
        }
    }
}

/// What the lines of the charts below it are.
fn legend(names: &[&str], baseline: Option<String>) -> Markup {
    html! {
        ul.legend {
            @if names.len() > 1 {
                @for (place, name) in names.iter().take(svg::CLASSES.len()).enumerate() {
                    li { span class=(svg::class(place)) {} (name) }
                }
                @if names.len() > svg::CLASSES.len() { li { span.cn {} "the others" } }
            }
            @if let Some(baseline) = baseline { li { span.base {} (baseline) } }
        }
    }
}

fn units(run: &Run, analysis: &Analysis) -> Markup {
    let charts: Vec<(&Comparison, Vec<Lines>)> = analysis
        .comparisons
        .iter()
        .map(|comparison| (comparison, charts::by_axis(run, comparison)))
        .filter(|(_, charts)| !charts.is_empty())
        .collect();
    html! {
        @if !charts.is_empty() {
            section aria-labelledby="units" {
                h2 #units { "In units" }
                p.note { "Medians with their intervals, from zero. ● ahead of the baseline or \
                    behind it, ○ neither." }
                @for (comparison, charts) in &charts {
                    @let axis = &charts[0].axis;
                    @let names: Vec<&str> =
                        charts[0].series.iter().map(|series| series.name.as_str()).collect();
                    h3 { (title(comparison)) span.against { "by " (axis) } }
                    figure {
                        (legend(&names, charts[0].baseline.as_ref()
                            .map(|_| table::label(comparison, &comparison.baseline))))
                        div.grid { @for chart in charts {
                            @let name = format!("{}, {}, by {axis}, {}", chart.name, chart.metric,
                                table::comparison_title(comparison));
                            (small(&chart.name, &name, &svg::lines(chart, &name)))
                        } }
                        (behind(&chart_tables::by_axis(charts, comparison)))
                    }
                }
            }
        }
    }
}

fn latency(run: &Run, analysis: &Analysis) -> Markup {
    html! {
        section aria-labelledby="latency" {
            h2 #latency { "Throughput, latency and processor time" }
            p.note { "Up is more throughput, left is less waiting: the 99th percentile of the \
                latency. The line joins what nothing beats in both, by medians; that is no \
                claim. □ the baseline." }
            @for comparison in &analysis.comparisons {
                @let fronts = charts::fronts(run, comparison);
                h3 { (title(comparison)) }
                figure {
                    div.grid { @for front in &fronts {
                        @let name = format!("{}, throughput against p99, {}", front.name,
                            table::comparison_title(comparison));
                        (small(&front.name, &name, &svg::front(front, &name)))
                    } }
                    (folded("All rates, latencies and processor time",
                        &chart_tables::rates(run, comparison, &fronts)))
                    @if let Some(times) = chart_tables::times(run, comparison) { (shown(&times)) }
                }
            }
        }
    }
}

fn load(run: &Run, analysis: &Analysis) -> Markup {
    let loads = charts::loads(run, analysis);
    html! {
        @if !loads.is_empty() {
            section aria-labelledby="load" {
                h2 #load { "Load" }
                p.note { "Throughput and mean latency by the number of requests outstanding. The \
                    ring is the knee: the most operations for their latency; more requests mostly \
                    wait." }
                @for load in &loads {
                    @let names: Vec<&str> =
                        load.rate.series.iter().map(|series| series.name.as_str()).collect();
                    figure {
                        figcaption { (load.access) }
                        (legend(&names, None))
                        div.grid { @for chart in [&load.rate, &load.latency] {
                            @let name = format!("{}, {} by depth", load.access, chart.metric);
                            (small(&chart.metric, &name, &svg::lines(chart, &name)))
                        } }
                        (behind(&chart_tables::load(load)))
                    }
                }
            }
        }
    }
}

fn effects(run: &Run, analysis: &Analysis) -> Markup {
    let found: Vec<_> = analysis
        .comparisons
        .iter()
        .map(|comparison| (comparison, shape::main_effects(&run.plan, comparison)))
        .filter(|(_, effects)| !effects.is_empty())
        .collect();
    html! {
        @if !found.is_empty() {
            section aria-labelledby="effects" {
                h2 #effects { "What each axis does" }
                p.note { "Geometric mean of all workloads' medians with a value, over that with \
                    any value of the axis; right of 1 is faster. A description: what is surely \
                    faster, the scores say." }
                @for (comparison, effects) in &found {
                    h3 { (title(comparison)) }
                    figure {
                        div.grid { @for effect in effects {
                            @let name = format!("Main effects of {}, {}", effect.axis,
                                table::comparison_title(comparison));
                            (small(&effect.axis, &name, &svg::effects(effect, effects, &name)))
                        } }
                        (behind(&chart_tables::effects(effects, comparison)))
                    }
                }
            }
        }
    }
}

fn traffic(run: &Run, analysis: &Analysis) -> Markup {
    let found: Vec<_> = analysis
        .comparisons
        .iter()
        .map(|comparison| (comparison, charts::traffic(run, comparison)))
        .filter(|(_, traffic)| !traffic.is_empty())
        .collect();
    html! {
        @if !found.is_empty() {
            section aria-labelledby="members" {
                h2 #members { "What the members moved" }
                p.note { "A bar for each member, over all trials: " span.read { "read" } ", then "
                    span.written { "written" } ". A circle for each workload that wrote: the bytes \
                    that all members wrote together for each byte of the work." }
                @for (comparison, traffic) in &found {
                    @let name = format!("What the members moved, {}",
                        table::comparison_title(comparison));
                    h3 { (title(comparison)) }
                    figure {
                        (scrolled(&name, &svg::traffic(traffic, &name)))
                        (behind(&chart_tables::traffic(traffic, comparison)))
                    }
                }
            }
        }
    }
}

fn order(run: &Run, analysis: &Analysis) -> Markup {
    html! {
        section aria-labelledby="order" {
            h2 #order { "Trials in run order" }
            p.note { "Each dot is a trial, as distance from the median of its cell; the line is the \
                median of each block. A slope or a step here is the machine, not a configuration." }
            @for comparison in &analysis.comparisons {
                h3 { (title(comparison)) }
                figure {
                    (scrolled("Trials in run order", &svg::strip(run, comparison)))
                    (folded("Each block as a table", &table::block_effects(comparison)))
                }
            }
        }
    }
}

fn machine(run: &Run, analysis: &Analysis) -> Markup {
    html! {
        section aria-labelledby="machine" {
            h2 #machine { "Machine and plan" }
            (shown(&table::facts(run)))
            (folded("The stack of every configuration", &table::configurations(analysis)))
            details {
                summary { "How to read this" }
                div.prose { @for paragraph in sentences::method(analysis) { p { (paragraph) } } }
            }
        }
    }
}

/// A chart's table, behind a line that opens it.
fn behind(table: &Table) -> Markup {
    folded("The same as a table", table)
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
    let name = if table.caption.is_empty() { "Machine and plan" } else { &table.caption };
    scrolled(
        name,
        &html! {
            table {
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
