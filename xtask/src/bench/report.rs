//! The page of a long run: how long it takes to make, to be read and drawn, and to open its table.

use std::process::Command;

use super::table::{Aim, Row, Section};
use super::{Bench, child};

/// What the test prints, in this order, with the aims of each where there are any.
const MEASURES: [(&str, &str, &str, f64); 5] = [
    ("the page", "made=", "ms", 1000.0),
    ("the page", "drawn=", "ms until drawn", 1000.0),
    ("the page", "bytes=", "bytes", 400_000.0),
    ("its table of trials, opened", "opened=", "ms until drawn", 1000.0),
    ("its table of trials, sorted", "sorted=", "ms until drawn", 1000.0),
];

/// Has a test of `report` make the page and look at it in Chromium, as often as there are rounds.
///
/// # Errors
/// When the test does not build or fails, or there is no Chromium.
pub(crate) fn measure(bench: &Bench) -> Result<Section, String> {
    let mut rounds: Vec<Vec<f64>> = Vec::new();
    for _ in 0..bench.effort.rounds {
        eprintln!("   a page");
        rounds.push(page(bench)?);
    }
    let rows = MEASURES.iter().enumerate().map(|(at, (load, _, measure, most))| Row {
        load: (*load).to_owned(),
        measure,
        ours: rounds.iter().map(|round| round[at]).collect(),
        other: None,
        aim: Aim::AtMost(*most),
    });
    let how = "A made-up run of 60 cells and 5,040 trials with all that suites record: \
        `report::html` with its analysis makes the page (optimized as tests are, not as releases \
        are), headless Chromium opens it at 1024 pixels, then its table of every trial, then sorts \
        that. Each ends when the next picture is drawn."
        .to_owned();
    let measured = Some(format!("Measured in {} rounds", bench.effort.rounds));
    Ok(Section {
        title: "A report of 5,000 trials",
        how,
        measured,
        sides: ("raidloom", ""),
        rows: rows.collect(),
    })
}

fn page(bench: &Bench) -> Result<Vec<f64>, String> {
    let mut cargo = Command::new("cargo");
    cargo
        // As the tests are built, which is optimized too: no second set of everything below.
        .args(["test", "--package", "report", "--locked", "--test", "it"])
        .args(["five_thousand", "--", "--nocapture"])
        .current_dir(&bench.root);
    let said = child::succeed(&mut cargo)?.output;
    let measured = said.split_whitespace();
    let figure = |name: &str| {
        let mut found = measured.clone().filter_map(|word| word.strip_prefix(name));
        found.find_map(|figure| figure.parse().ok()).ok_or_else(|| format!("no {name} in {said}"))
    };
    MEASURES.iter().map(|(_, name, ..)| figure(name)).collect()
}
