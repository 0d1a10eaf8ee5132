//! The table of every trial, in a browser: what is in it, how it is sorted and filtered, and how
//! long thousands of them take.
//!
//! Without Chromium these tests say so and pass, except where `CI=true`: there it must be
//! installed.

#![expect(
    clippy::disallowed_methods,
    reason = "prints how long a page takes to make, and asserts nothing"
)]
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::fixture;

use results::types::{Group, Run};
use results::{Doubt, analyse};
use serde_json::json;
use testkit::made_up::{MadeUp, Noise};
use testkit::{Browser, chromium};

/// Opens the page of a run.
fn opened(browser: &mut Browser, run: &Run) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    std::fs::write(&path, report::html(run, &analyse(run))).unwrap();
    browser.open(&format!("file://{}", path.display()));
    folder
}

/// Texts of a column of the table, from 1.
fn column(browser: &mut Browser, number: usize) -> Vec<String> {
    let cells = browser.value(&format!(
        "[...document.querySelectorAll('#every tbody tr > :nth-child({number})')].map((cell) => \
         cell.textContent)"
    ));
    serde_json::from_value(cells).unwrap()
}

fn sort_by(browser: &mut Browser, key: &str) {
    browser.click(&format!("#every th[data-by={key}] button"));
}

/// Whether each trial of the table is what was recorded.
fn check_figures(browser: &mut Browser, run: &results::Run) {
    let workloads = column(browser, 4);
    let figures = column(browser, 5);
    for (index, trial) in run.trials.iter().enumerate() {
        assert_eq!(workloads[index], trial.workload.replace(" 16384", " 16\u{202f}KiB"));
        let Some(rate) = trial.metrics.get("throughput_bytes_per_second") else {
            assert_eq!((index, figures[index].as_str()), (5, "–"));
            continue;
        };
        // Random work of 16 KiB is counted in operations.
        let (shown, unit) = figures[index].split_once(' ').unwrap();
        assert_eq!(unit == "IO/s", trial.workload.starts_with("random"), "{unit}");
        let factor = if unit == "IO/s" { 16384.0 } else { 1e6 };
        let shown: f64 = shown.parse().unwrap();
        assert!((shown * factor / rate - 1.0).abs() < 0.001, "{shown} {unit}: {rate} bytes/s");
    }
}

#[test]
fn every_trial_is_there_and_can_be_sorted_and_filtered() {
    let Some(chromium) = chromium() else { return };
    let mut run = fixture::small();
    run.trials[3].flags.push(Doubt::Note { text: "<b>a flag</b>".into() });
    run.trials[5].metrics.clear();
    let mut browser = Browser::start(&chromium);
    browser.resize(1024, false);
    let _folder = opened(&mut browser, &run);
    assert_eq!(browser.value("document.querySelectorAll('#every tbody tr').length"), 0);
    browser.click("#every summary");
    browser.until("document.querySelector('#every tbody tr')");
    let count = run.trials.len();
    let numbers: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
    assert_eq!(column(&mut browser, 1), numbers, "in the order in which they were run");
    check_figures(&mut browser, &run);
    // By figure, either way; what has none stands last.
    let sorted = |figures: &[String], sign: f64| {
        let rates = figures[..count - 1].iter().map(|text| text.split_once(' ').unwrap().0);
        let rates: Vec<f64> = rates.map(|text| sign * text.parse::<f64>().unwrap()).collect();
        rates.is_sorted() && figures[count - 1] == "–"
    };
    let state = "[...document.querySelectorAll('#every thead th')].map((head) => head.ariaSort)";
    sort_by(&mut browser, "figure");
    assert!(sorted(&column(&mut browser, 5), 1.0));
    assert_eq!(
        browser.value(state),
        json!([null, null, null, null, "ascending", null, null, null])
    );
    // With the keyboard.
    browser.value("document.querySelector('#every th[data-by=figure] button').focus()");
    browser.key("Enter");
    assert_eq!(browser.value(state)[4], "descending");
    assert!(sorted(&column(&mut browser, 5), -1.0));
    // Filters, alone and together.
    let found = "document.querySelector('#found').textContent";
    let wait = |browser: &mut Browser, expected: usize| {
        browser.until(&format!("{found} === '{expected} / {count}'"));
        assert_eq!(column(browser, 1).len(), expected);
    };
    browser.fill("#find", "random WRITE 64");
    let is_meant = |trial: &&results::Trial| {
        let label = run.plan.label(&trial.settings);
        let text = format!(
            "{} {} {}",
            label.replace("KiB", " KiB"),
            trial.workload,
            trial.flags.iter().map(report::doubt_sentence).collect::<Vec<_>>().join("; ")
        );
        ["random", "write", "64"].iter().all(|word| text.contains(word))
    };
    wait(&mut browser, run.trials.iter().filter(is_meant).count());
    browser.fill("#find", "");
    browser.click("#flagged");
    wait(&mut browser, run.trials.iter().filter(|trial| !trial.flags.is_empty()).count());
    browser.fill("#find", "<b>a");
    wait(&mut browser, 1);
    assert_eq!(column(&mut browser, 1), ["4"]);
    assert_eq!(browser.value("document.querySelectorAll('#every tbody b').length"), 0);
    browser.click("#flagged");
    browser.fill("#find", "");
    browser.fill("#of-workload", "2");
    browser.fill("#of-configuration", "0");
    wait(&mut browser, run.plan.blocks as usize);
    // The language of what stands around it changes; names stay.
    let before = column(&mut browser, 4);
    browser.click("#language");
    let heads = "document.querySelector('#every thead').innerText";
    assert!(browser.value(heads).as_str().unwrap().contains("ワークロード"));
    assert_eq!(column(&mut browser, 4), before);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A made-up run of 60 cells with all that suites record.
fn long() -> Run {
    let made = MadeUp {
        workloads: vec![(Group::Sequential, 4), (Group::Random, 4), (Group::Mixed, 2)],
        ..MadeUp::one_workload(6, 84, Noise::Normal, 17)
    };
    let mut run = made
        .run(|configuration, workload| 1.0 + 0.04 * configuration as f64 + 0.2 * workload as f64);
    for (index, trial) in run.trials.iter_mut().enumerate() {
        let mean = trial.metrics["latency_mean_seconds"];
        for (name, factor) in [("p50", 0.9), ("p90", 1.4), ("p99", 2.2), ("max", 9.0)] {
            let factor = factor + 0.001 * (index % 89) as f64;
            trial.metrics.insert(format!("latency_{name}_seconds"), factor * mean);
        }
        trial.metrics.insert("io_per_second", 1.0 / mean);
        trial.metrics.insert("cpu_ratio", 0.1 + 0.0007 * (index % 97) as f64);
        if index % 50 == 7 {
            trial.flags.push(Doubt::OtherWork { share: None });
        }
    }
    run
}

/// "At most 400 KB for 60 cells, 5,000 trials rendered in 1 s and opened at once": the size is
/// held; the times are printed, for `cargo xtask bench report`.
#[test]
fn five_thousand_trials_leave_the_page_small() {
    let run = long();
    let cells = run.plan.configurations.len() * run.plan.workloads.len();
    assert_eq!((cells, run.trials.len()), (60, 5040));
    let began = std::time::Instant::now();
    let page = report::html(&run, &analyse(&run));
    let made = began.elapsed().as_millis();
    assert!(page.len() <= 400_000, "{} bytes for {cells} cells", page.len());

    let Some(chromium) = chromium() else { return };
    let mut browser = Browser::start(&chromium);
    browser.resize(1024, false);
    let _folder = opened(&mut browser, &run);
    let loaded = browser.value(
        "new Promise((drawn) => requestAnimationFrame(() => setTimeout(() => \
         drawn(performance.now()))))",
    );
    // Until the rows are laid out and drawn.
    let click = |selector: &str| {
        format!(
            "new Promise((drawn) => {{ const began = performance.now(); \
             document.querySelector('{selector}').click(); requestAnimationFrame(function wait() {{ \
             if (!document.querySelector('#every tbody tr')) return requestAnimationFrame(wait); \
             document.querySelector('#every').offsetHeight; \
             requestAnimationFrame(() => setTimeout(() => drawn(performance.now() - began))); \
             }}); }})"
        )
    };
    let opening = browser.value(&click("#every summary"));
    let sorting = browser.value(&click("#every th[data-by=figure] button"));
    assert_eq!(browser.value("document.querySelectorAll('#every tbody tr').length"), 5040);
    let whole = |time: &serde_json::Value| time.as_f64().unwrap().round();
    println!(
        "bytes={} made={made} drawn={} opened={} sorted={}",
        page.len(),
        whole(&loaded),
        whole(&opening),
        whole(&sorting)
    );
}
