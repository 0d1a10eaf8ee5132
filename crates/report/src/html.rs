//! The report as one self-contained page: nothing is fetched, no script is needed to read it.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use results::analysis::{Analysis, Comparison, KindResult, Start};
use results::safety::speeds;
use results::shape;
use results::types::{Configuration, Run};
use serde_json::{Value, json};

use crate::card::{Card, card};
use crate::charts;
use crate::decision::{decision, joint};
use crate::svg::Chart;
use crate::table::{self, Table};
use crate::words::{self, Language, say};
use crate::{
    cached, chart_tables, csv, heat, numbers, safety, sentences, survival, svg, switch, trials,
};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

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
    let made = |language| {
        let page = words::in_language(language, || page(run, analysis));
        // A number and its sign stay on one line.
        escape::text(&page.into_string()).replace(" %", "\u{a0}%")
    };
    let page = made(own);
    let words = switch::dictionary(&page, &made(other));
    // Programs read the same whatever the language.
    let mut data = words::in_language(Language::English, || data(&speeds(run), analysis));
    data["language"] = json!(other.tag());
    data["language_name"] = json!([other.name(), own.name()]);
    data["words"] = json!(words);
    page.replacen(DATA, &format!("\"application/json\">{}<", embedded(&data)), 1)
}

/// Where the data go, which are the same in every language. No text of others can look like this:
/// its quotes and signs are escaped.
const DATA: &str = "\"application/json\">{}<";

fn page(run: &Run, analysis: &Analysis) -> Markup {
    let (name, scope) = (sentences::title(run), sentences::scope(run, analysis));
    let run = &*speeds(run);
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
                    (cached_accesses(analysis))
                    (grades(analysis))
                    @if sentences::has_scores(analysis) { (scores(analysis)) }
                    @if !analysis.comparisons.is_empty() {
                        (ratios(run, analysis))
                        (units(run, analysis))
                        (latency(run, analysis))
                        (tails(run, analysis))
                        (load(run, analysis))
                        (effects(run, analysis))
                        (traffic(run, analysis))
                        (order(run, analysis))
                    }
                    (machine(run, analysis))
                    (every_trial(run, analysis))
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
        "trials": trials::data(run, analysis),
        "names": plan.workloads.iter().map(|known| numbers::workload(&known.name))
            .collect::<Vec<_>>(),
        "labels": plan.configurations.iter().map(label).collect::<Vec<_>>(),
        "cells": plan.configurations.iter().map(|known| plan.workloads.iter()
            .map(|workload| cell(&known.id, &workload.name)).collect()).collect::<Vec<Vec<String>>>(),
    })
}

fn title(comparison: &Comparison) -> Markup {
    let name = numbers::spaced_sizes(&comparison.name);
    html! {
        @if name.is_empty() { (say!(ALL_CONFIGURATIONS)) } @else { (name) }
        @if comparison.modelled { " " span.tag { (table::figures(comparison)) } }
    }
}

/// The card, which the script can save.
fn to_post(card: &Card) -> Markup {
    html! {
        figure.to-post {
            figcaption { (say!(CARD_TO_POST)) " "
                span data-needs-script hidden {
                    button type="button" data-card { (say!(SAVE_CARD)) } } }
            (scrolled(&say!(THE_CARD), &card.svg()))
            details {
                summary { (say!(AS_TEXT)) }
                pre role="group" tabindex="0" aria-label=(say!(CARD_AS_TEXT)) { (card.text()) }
                (shown(&card.table()))
            }
        }
    }
}

/// What builds a decision.
fn builds(start: &Start) -> Markup {
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

fn verdict(run: &Run, analysis: &Analysis) -> Markup {
    html! {
        section.verdict aria-labelledby="verdict" {
            h2 #verdict { (say!(DECISION)) }
            @if let Some((sentence, is_sure)) = joint(analysis) {
                p.decision.unsure[!is_sure] { (sentence) }
            }
            @for comparison in &analysis.comparisons {
                article {
                    h3 { (title(comparison)) span.against { (table::comparison_subject(comparison))
                        } }
                    @for banner in sentences::same_disks(comparison) {
                        p.banner { (banner) }
                    }
                    @if let Some(decision) = decision(analysis, comparison) {
                        p.decision.unsure[!decision.is_sure] { (decision.lead) }
                        @if !decision.score.is_empty() {
                            p.score { (decision.score) @if !decision.sure.is_empty() {
                                " " span.tag[!decision.is_sure] { (decision.sure) } } }
                        }
                        @if !decision.price.is_empty() { p.rest { (decision.price) } }
                        p.rest { (decision.rest) }
                        @if let Some(start) = decision.start { (builds(start)) }
                        @if !decision.open.is_empty() {
                            p.unknown { strong { (say!(NOT_KNOWN)) } " " (decision.open) }
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
                h2 #warnings { (say!(READ_THIS_FIRST)) }
                ul { @for warning in sentences::warnings(analysis) { li { (warning) } } }
            }
        }
    }
}

fn cached_accesses(analysis: &Analysis) -> Markup {
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

fn grades(analysis: &Analysis) -> Markup {
    html! {
        @if let Some(table) = safety::table(analysis) {
            section aria-labelledby="safety" {
                h2 #safety { (say!(WHAT_POWER_CUTS_LEAVE)) }
                p.note { (safety::NOTE) }
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

fn scores(analysis: &Analysis) -> Markup {
    let forests = |comparison| {
        let kinds = Comparison::results(comparison).filter(|kind| !kind.scores.is_empty());
        kinds.map(|kind| (kind, svg::forest(comparison, kind, analysis.margin))).collect()
    };
    let found: Vec<(&Comparison, Vec<(&KindResult, Chart)>)> =
        analysis.comparisons.iter().map(|one| (one, forests(one))).collect();
    html! {
        section aria-labelledby="scores" {
            h2 #scores { (say!(SCORES)) }
            p.note {
                (say!(SCORES_NOTE_BEFORE))
                span.key-best { (say!(SCORES_NOTE_MARKED)) }
                (say!(SCORES_NOTE_AFTER, margin = numbers::percent(analysis.margin)))
            }
            div.places style=(room(found.iter().flat_map(|(_, all)| all).map(|(_, one)| one))) {
                @for (comparison, forests) in &found {
                    div.place {
                        h3 { (title(comparison)) }
                        div.forests style=(room(forests.iter().map(|(_, chart)| chart))) {
                            @for (kind, chart) in forests {
                                figure {
                                    figcaption { (numbers::kind(kind.group)) }
                                    (scrolled(&say!(SCORES_OF, kind = numbers::kind(kind.group)),
                                        &chart.svg))
                                    (behind(&table::scores(comparison, kind)))
                                }
                            }
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
            h2 #ratios { (say!(EVERY_WORKLOAD)) }
            p.note { (say!(RATIOS_NOTE, margin = numbers::percent(analysis.margin))) }
            (heat::key())
            @for comparison in &analysis.comparisons {
                h3 { (title(comparison)) span.against { (table::comparison_subject(comparison)) } }
                @for panel in table::panels(comparison) {
                    figure {
                        (scrolled(&say!(RATIO_OF_ALL), &heat::heat(run, comparison, &panel)))
                    }
                }
                (folded(&say!(EVERY_CELL),
                    &table::cells(run, comparison)))
            }
        }
    }
}

/// What columns of charts have to be wide: as the widest of them.
fn room<'a>(charts: impl Iterator<Item = &'a Chart>) -> String {
    format!("--wide:{}px", svg::px(charts.map(|chart| chart.width).fold(0.0, f64::max)))
}

/// A chart with its caption and its name.
type Captioned = (String, String, Chart);

/// Charts beside each other, each with what it shows above it.
fn grid(charts: &[Captioned]) -> Markup {
    html! {
        div.grid style=(room(charts.iter().map(|(.., chart)| chart))) {
            @for (caption, name, chart) in charts {
                div.small {
                    p.kind { (caption) }
                    (scrolled(name, &chart.svg))
                }
            }
        }
    }
}

/// The charts of one comparison, and how they are shown.
type Place = (Vec<Captioned>, Markup);

/// What is shown of each comparison, beside each other where each has one chart.
fn places(places: &[Place]) -> Markup {
    html! {
        div.places style=(room(places.iter().flat_map(|(charts, _)| charts).map(|(.., one)| one))) {
            @for (_, shown) in places { div.place { (shown) } }
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
                @if names.len() > svg::CLASSES.len() { li { span.cn {} (say!(THE_OTHERS)) } }
            }
            @if let Some(baseline) = baseline { li { span.base {} (baseline) } }
        }
    }
}

fn units(run: &Run, analysis: &Analysis) -> Markup {
    let mut each: Vec<Place> = Vec::new();
    for comparison in &analysis.comparisons {
        let charts = charts::by_axis(run, comparison);
        let Some(first) = charts.first() else { continue };
        let names: Vec<&str> = first.series.iter().map(|series| series.name.as_str()).collect();
        let baseline =
            first.baseline.as_ref().map(|_| table::label(comparison, &comparison.baseline));
        let place = table::comparison_title(comparison);
        let these = charts.iter().map(|chart| {
            let name = say!(
                BY_AXIS_TITLE,
                name = chart.name,
                metric = chart.metric,
                axis = first.axis,
                place = place
            );
            let drawn = svg::lines(chart, &name);
            (chart.name.clone(), name, drawn)
        });
        let these: Vec<Captioned> = these.collect();
        let markup = html! {
            h3 { (title(comparison)) span.against { (say!(BY, axis = first.axis)) } }
            figure {
                (legend(&names, baseline))
                (grid(&these))
                (behind(&chart_tables::by_axis(&charts, comparison)))
            }
        };
        each.push((these, markup));
    }
    html! {
        @if !each.is_empty() {
            section aria-labelledby="units" {
                h2 #units { (say!(IN_UNITS)) }
                p.note { (say!(IN_UNITS_NOTE)) }
                (places(&each))
            }
        }
    }
}

fn latency(run: &Run, analysis: &Analysis) -> Markup {
    let mut each: Vec<Place> = Vec::new();
    for comparison in &analysis.comparisons {
        let fronts = charts::fronts(run, comparison);
        let place = table::comparison_title(comparison);
        let these = fronts.iter().map(|front| {
            let name = say!(FRONT_TITLE, name = front.name, place = place);
            let drawn = svg::front(front, &name);
            (front.name.clone(), name, drawn)
        });
        let these: Vec<Captioned> = these.collect();
        let markup = html! {
            h3 { (title(comparison)) }
            figure {
                (grid(&these))
                (folded(&say!(ALL_RATES), &chart_tables::rates(run, comparison, &fronts)))
                @if let Some(times) = chart_tables::times(run, comparison) { (shown(&times)) }
            }
        };
        each.push((these, markup));
    }
    html! {
        section aria-labelledby="latency" {
            h2 #latency { (say!(LATENCY)) }
            p.note { (say!(LATENCY_NOTE)) }
            (places(&each))
        }
    }
}

fn tails(run: &Run, analysis: &Analysis) -> Markup {
    let mut each: Vec<Place> = Vec::new();
    for comparison in &analysis.comparisons {
        let tails = charts::tails(run, comparison);
        if tails.is_empty() {
            continue;
        }
        let others =
            comparison.configurations.iter().filter(|member| member.id != comparison.baseline);
        let names: Vec<String> =
            others.map(|member| table::label(comparison, &member.id)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let place = table::comparison_title(comparison);
        let these = tails.iter().map(|one| {
            let name = say!(TAILS_TITLE, name = one.name, place = place);
            let drawn = svg::tails(one, &names, &name);
            (one.name.clone(), name, drawn)
        });
        let these: Vec<Captioned> = these.collect();
        let markup = html! {
            h3 { (title(comparison)) }
            figure {
                (legend(&names, Some(table::label(comparison, &comparison.baseline))))
                (grid(&these))
                (behind(&chart_tables::tails(&tails, comparison)))
            }
        };
        each.push((these, markup));
    }
    html! {
        @if !each.is_empty() {
            section aria-labelledby="tails" {
                h2 #tails { (say!(TAILS)) }
                p.note { (say!(TAILS_NOTE)) }
                (places(&each))
            }
        }
    }
}

fn load(run: &Run, analysis: &Analysis) -> Markup {
    let loads = charts::loads(run, analysis);
    html! {
        @if !loads.is_empty() {
            section aria-labelledby="load" {
                h2 #load { (say!(LOAD)) }
                p.note { (say!(LOAD_NOTE)) }
                @for load in &loads {
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
                h2 #effects { (say!(EFFECTS)) }
                p.note { (say!(EFFECTS_NOTE)) }
                @for (comparison, effects) in &found {
                    h3 { (title(comparison)) }
                    figure {
                        (grid(&effects.iter().map(|effect| {
                            let name = say!(EFFECTS_TITLE, axis = effect.axis,
                                place = table::comparison_title(comparison));
                            let drawn = svg::effects(effect, effects, &name);
                            (effect.axis.clone(), name, drawn)
                        }).collect::<Vec<_>>()))
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
                h2 #members { (say!(MEMBERS)) }
                p.note { (say!(MEMBERS_NOTE_BEFORE)) span.read { (say!(MEMBERS_READ)) }
                    (say!(MEMBERS_THEN)) span.written { (say!(MEMBERS_WRITTEN)) }
                    (say!(MEMBERS_NOTE_AFTER)) }
                @for (comparison, traffic) in &found {
                    @let name = say!(MEMBERS_TITLE, place = table::comparison_title(comparison));
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
            h2 #order { (say!(RUN_ORDER)) }
            p.note { (say!(RUN_ORDER_NOTE)) }
            @for comparison in &analysis.comparisons {
                h3 { (title(comparison)) }
                figure {
                    (scrolled(&say!(RUN_ORDER), &svg::strip(run, comparison)))
                    (folded(&say!(EACH_BLOCK), &table::block_effects(comparison)))
                }
            }
        }
    }
}

fn machine(run: &Run, analysis: &Analysis) -> Markup {
    html! {
        section aria-labelledby="machine" {
            h2 #machine { (say!(MACHINE)) }
            (shown(&table::facts(run)))
            (folded(&say!(STACKS), &table::configurations(analysis)))
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
        ("tail", "p99, ms".to_owned(), true),
        ("flags", say!(FLAGS), false),
    ];
    let is_timed = |name: &str| {
        let mut rows = csv::rows(analysis);
        name != "tail" || rows.any(|(.., metric)| metric.name == "latency_p99_seconds")
    };
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
