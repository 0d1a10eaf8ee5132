//! What the charts of the page show: each has its table, the same figures in both, and the marks
//! name cells that exist.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::fixture;

use results::types::{Axis, Run};
use results::{analyse, shape};

fn page(run: &Run) -> String {
    report::html(run, &analyse(run))
}

/// What stands between two texts, the first time.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no {from}"));
    rest.split_once(to).unwrap_or_else(|| panic!("no {to} after {from}")).0
}

fn section<'a>(page: &'a str, name: &str) -> &'a str {
    between(page, &format!(" aria-labelledby=\"{name}\">"), "</section>")
}

#[test]
fn marks_name_cells_and_the_page_says_their_figures_in_units() {
    let run = fixture::small();
    let page = page(&run);
    let data: serde_json::Value = serde_json::from_str(between(
        &page,
        "<script id=\"data\" type=\"application/json\">",
        "</script>",
    ))
    .unwrap();
    let marks: Vec<&str> =
        page.split("data-c=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0).collect();
    assert!(marks.len() > 50, "{}", marks.len());
    for mark in marks {
        let (row, column) = mark.split_once(' ').unwrap();
        let [row, column]: [usize; 2] = [row.parse().unwrap(), column.parse().unwrap()];
        let text = data["cells"][row][column].as_str().unwrap();
        for unit in ["MB/s", "IO/s", "ms (p99 "] {
            assert!(text.contains(unit), "{mark}: {text}");
        }
        assert!(!data["labels"][row].as_str().unwrap().is_empty());
    }
}

/// "Value by axis in units": a chart for each workload in which something is surely ahead or
/// behind, and all of its figures in the table.
#[test]
fn values_by_axis_are_in_chart_and_table() {
    let run = fixture::small();
    let analysis = analyse(&run);
    let page = report::html(&run, &analysis);
    let units = section(&page, "units");
    let charts = units.matches("<svg").count();
    assert!((2..=8).contains(&charts), "{charts}");
    // Against zero: every axis begins there.
    assert_eq!(units.matches(">0</text>").count(), charts);
    let comparison = &analysis.comparisons[0];
    let shown = |workload: &str| units.contains(&format!("<th scope=\"row\">{workload}"));
    let cells =
        comparison.cells.iter().filter(|cell| shown(cell.workload.trim_end_matches(" 16384")));
    let mut seen = 0;
    for cell in cells.filter(|cell| cell.workload.starts_with("sequential")) {
        let figure = cell.metrics[0].median / 1e6;
        let shown = units.split('>').any(|text| {
            let Some((text, _)) = text.split_once(" MB/s<") else { return false };
            text.parse::<f64>().is_ok_and(|shown| (shown / figure - 1.0).abs() < 0.01)
        });
        assert!(shown, "{figure} MB/s of {} is not in the table", cell.workload);
        seen += 1;
    }
    assert!(seen > 0, "nothing was looked at");
}

/// A claim that is open leaves its mark open, and where all are the charts are gone: they say
/// nothing.
#[test]
fn only_claims_fill_marks() {
    let mut run = fixture::small();
    let before = page(&run);
    let units = section(&before, "units");
    assert!(units.contains("class=\"dot\""), "differences were planted");
    // Two blocks are too few for any claim, however far figures lie apart.
    run.trials.retain(|trial| trial.block < 2);
    let page = page(&run);
    assert!(!page.contains(" aria-labelledby=\"units\""), "{page}");
    assert!(!page.contains("<circle class=\"dot\""), "a mark is full without a claim");
    assert!(!page.contains("<td class=\"f ") && !page.contains("<td class=\"s "), "tinted");
}

/// Small random work is spoken of by its operations, wherever it is shown.
#[test]
fn one_thing_has_one_unit() {
    let run = fixture::small();
    let analysis = analyse(&run);
    let page = page(&run);
    let badge = report::badge_svg(&run, &analysis, "random read").unwrap();
    assert!(badge.contains(" IO/s") && !badge.contains("MB/s"), "{badge}");
    let map = section(&page, "ratios");
    let row = between(map, "random read 16\u{202f}KiB</th><td class=\"n\">", "</td>");
    assert!(row.ends_with(" IO/s"), "{row}");
    let card = report::card_text(&run, &analysis).unwrap();
    for line in card.lines().filter(|line| line.starts_with("random")) {
        assert!(line.contains("IO/s"), "{line}");
    }
    let large = report::badge_svg(&run, &analysis, "sequential read").unwrap();
    assert!(large.contains(" MB/s"), "{large}");
}

/// Who posts figures of another program's text says so with them.
#[test]
fn a_card_of_imported_figures_says_so() {
    let line = "Imported from a text: of caches only what stands there is known.";
    let mut run = fixture::small();
    let card = |run: &results::Run| report::card_text(run, &analyse(run)).unwrap();
    assert!(!card(&run).contains(line));
    run.trials.iter_mut().for_each(|trial| trial.flags.push(results::Doubt::Imported));
    assert!(card(&run).contains(line), "{}", card(&run));
}

/// The knee is where it was planted, in chart and table.
#[test]
fn load_curves_mark_their_knee() {
    let mut run = fixture::run(9, &[64], &[16384], 6);
    // The rows of one access become rows of the suite `depth`: flat from a depth of 4 on.
    let name = "random read 16384".to_owned();
    let row = run.plan.workloads.iter().find(|workload| workload.name == name).unwrap().clone();
    let template: Vec<_> =
        run.trials.iter().filter(|trial| trial.workload == name).cloned().collect();
    run.plan.workloads.clear();
    run.trials.clear();
    for depth in [1u32, 2, 4, 8, 16] {
        let named = format!("random read 16KiB Q{depth}");
        let suite = "depth".to_owned();
        run.plan.workloads.push(results::Workload { name: named.clone(), suite, ..row.clone() });
        for trial in &template {
            let rate = 100.0 * f64::from(depth.min(4));
            let mut trial = trial.clone();
            trial.workload = named.clone();
            trial.metrics.insert("io_per_second", rate);
            trial.metrics.insert("throughput_bytes_per_second", rate * 16384.0);
            trial.metrics.insert("latency_mean_seconds", f64::from(depth) / rate);
            run.trials.push(trial);
        }
    }
    let page = page(&run);
    let load = section(&page, "load");
    // Four configurations, each in two charts.
    assert_eq!(load.matches("class=\"knee\"").count(), 8);
    let table = between(load, "<tbody>", "</tbody>");
    let knees: Vec<&str> = table
        .split("</tr>")
        .filter_map(|row| row.rsplit_once("</td>")?.0.rsplit_once('>'))
        .map(|(_, last)| last)
        .collect();
    assert_eq!(knees, ["4"; 8], "{table}");
    assert!(load.contains(">10.00 ms<"), "1 of 100 a second takes 10 ms: {table}");
    assert!(!self::page(&fixture::small()).contains("id=\"load\""), "one depth is no curve");
}

/// Percentiles of what is taken stand beside the baseline's where they differ; where they do not,
/// requests were not timed, or a trial is one request, there is nothing to show.
#[test]
fn percentiles_are_those_that_were_recorded() {
    let mut run = fixture::small();
    let analysis = analyse(&run);
    let taken = analysis.comparisons[0].overall().unwrap().headline.take.clone().unwrap();
    let known = run.plan.configurations.iter().find(|known| known.id == taken).unwrap();
    let slow = known.settings.clone();
    let workload = run.plan.workloads[0].name.clone();
    for trial in &mut run.trials {
        let is_slow = trial.settings == slow && trial.workload == workload;
        for name in ["mean", "p50", "p90", "p99"] {
            trial.metrics.insert(format!("latency_{name}_seconds"), 0.1);
        }
        trial.metrics.insert("latency_max_seconds", if is_slow { 0.25 } else { 0.125 });
    }
    let page = page(&run);
    let tails = section(&page, "tails");
    assert_eq!(tails.matches("<svg").count(), 1, "one workload differs");
    assert_eq!(tails.matches(", max 250.0 ms</title>").count(), 1, "planted once");
    assert_eq!(tails.matches(">250.0</td>").count(), 1);
    for head in ["p50, ms", "p90, ms", "p99, ms", "max, ms"] {
        assert_eq!(tails.matches(&format!(">{head}</th>")).count(), 1, "{head}");
    }
    assert!(!tails.contains(">p99.9<"), "too few requests for it");
    let mut same = run.clone();
    for trial in &mut same.trials {
        trial.metrics.insert("latency_max_seconds", 0.1);
    }
    assert!(!self::page(&same).contains("id=\"tails\""), "nothing differs");
    for trial in &mut run.trials {
        trial.metrics.retain(|name, _| !name.starts_with("latency_p9"));
    }
    assert!(!self::page(&run).contains("id=\"tails\""), "two points are no curve");
}

/// What an axis does comes out as it was planted, and an axis whose values are mixed with another's
/// says so.
#[test]
fn main_effects_are_those_that_were_planted() {
    let mut run = fixture::run(4, &[16, 64], &[16384], 6);
    // Half of the stripes are moved to another value of a new axis that does nothing.
    run.plan.axes.push(Axis { name: "upkeep".into(), values: vec!["on".into(), "off".into()] });
    for configuration in &mut run.plan.configurations {
        configuration.settings.insert("upkeep".into(), "on".into());
    }
    for trial in &mut run.trials {
        trial.settings.insert("upkeep".into(), "on".into());
        let factor = match trial.settings.get("chunk").map(String::as_str) {
            Some("16KiB") => 1.0,
            Some(_) => 2.0,
            None => 1.0,
        };
        trial.metrics.insert("throughput_bytes_per_second", 1e6 * factor);
    }
    let analysis = analyse(&run);
    let effects = shape::main_effects(&run.plan, &analysis.comparisons[0]);
    let chunk = effects.iter().find(|effect| effect.axis == "chunk").unwrap();
    let ratios: Vec<f64> = chunk.values.iter().map(|value| value.ratio).collect();
    assert!((ratios[0] - 0.5f64.sqrt()).abs() < 1e-9 && (ratios[1] - 2f64.sqrt()).abs() < 1e-9);
    assert!(chunk.balanced);
    // Single and stripe differ in their chunk too.
    let layout = effects.iter().find(|effect| effect.axis == "layout").unwrap();
    assert!(!layout.balanced);
    assert!(effects.iter().all(|effect| effect.axis != "upkeep"), "one value does nothing");
    let page = report::html(&run, &analysis);
    assert!(!page.contains("id=\"effects\""), "of one axis the scores say it");
}

/// Bytes of members are those of the trials, and write amplification is a ratio of medians.
#[test]
fn traffic_adds_up() {
    let mut run = fixture::small();
    for trial in &mut run.trials {
        if trial.workload.contains("write") {
            trial.metrics.insert("member_write_ratio", 2.0);
        }
        for member in &mut trial.members {
            (member.read_bytes, member.written_bytes) = (3_000_000, 1_000_000);
        }
    }
    let page = page(&run);
    let members = section(&page, "members");
    let whole = run.plan.blocks as usize * run.plan.workloads.len();
    let read = format!(">{0} · {0}</td>", 3 * whole);
    assert!(members.contains(&read), "{read} of each of two members: {members}");
    assert!(members.contains(">2.00</td>"), "{members}");
    for trial in &mut run.trials {
        trial.members.clear();
    }
    assert!(!self::page(&run).contains("id=\"members\""), "what nobody counted is not shown");
}

/// Times as reports of 2005 print them: `m:ss` and the per cent of the baseline's.
#[test]
fn work_with_files_has_its_times() {
    let mut run = fixture::run(6, &[64], &[16384], 6);
    run.plan.workloads.iter_mut().for_each(|one| one.group = results::Group::Files);
    for trial in &mut run.trials {
        let seconds = if trial.settings.contains_key("chunk") { 90.0 } else { 120.0 };
        trial.metrics.insert("elapsed_seconds", seconds);
        trial.metrics.insert("flush_seconds", 60.0);
    }
    let page = page(&run);
    let latency = section(&page, "times");
    assert!(
        latency.contains(">2:30 (83\u{a0}%)</td>") && latency.contains(">3:00 (100\u{a0}%)</td>")
    );
    assert!(!self::page(&fixture::small()).contains("per cent of the baseline"));
}
