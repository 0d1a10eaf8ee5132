//! Hidden SSDs: what the probes find of one whose parameters were drawn.

use std::time::Duration;

use crate::FaultOptions;

use super::super::Parameters;
use super::super::probe::{self, FitFailure, Samples, Solution};
use super::super::random::Random;
use super::probe::{HIDDEN, TwoArms, faulty_of, measured, probed, row_error};

/// An SSD as it might be.
fn hidden(seed: u64) -> Parameters {
    let mut random = Random::new(seed);
    let mut between = |low: f64, high: f64| low + (high - low) * random.fraction();
    let (interface, [slowest, fastest], [fewest, most], left) = match between(0.0, 3.0) as u64 {
        0 => ("SATA 6 Gb/s", [300.0, 560.0], [50e3, 98e3], 25.0),
        1 => ("PCIe 3 x4", [1200.0, 3500.0], [200e3, 500e3], 8.0),
        _ => ("PCIe 4 x4", [4000.0, 7000.0], [400e3, 1000e3], 8.0),
    };
    let (rate, random_read) = (between(slowest, fastest), between(fewest, most));
    let read_time = between(25.0, 120.0);
    let cells = if read_time < 75.0 { "TLC" } else { "QLC" };
    // Enough of them for the rate that is stated.
    let dies = between((1.4 * rate * read_time / 65_536.0).max(3.0), 64.0).round();
    let latency = read_time + 1e6 / random_read + 4096.0 / rate + left + between(0.0, 40.0);
    let capacity = between(100.0, 4000.0).round();
    let text = format!(
        r#"
name = "hidden"
title = "hidden"
from = "data sheet"
[flash]
cells = "{cells}"
interface = "{interface}"
capacity = {{ value = {capacity:?}, unit = "GB", origin = "spec", note = "" }}
read_rate = {{ value = {rate:?}, unit = "MB/s", origin = "spec", note = "" }}
write_rate = {{ value = {rate:?}, unit = "MB/s", origin = "spec", note = "" }}
random_read = {{ value = {random_read:?}, unit = "io/s", origin = "spec", note = "" }}
read_latency = {{ value = {latency:?}, unit = "us", origin = "spec", note = "" }}
read_time = {{ value = {read_time:?}, unit = "us", origin = "spec", note = "" }}
dies = {{ value = {dies:?}, unit = "count", origin = "spec", note = "" }}
"#
    );
    Parameters::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What is off by more than it may be, in words.
fn wrong(hidden: &Parameters, found: &Parameters) -> Vec<String> {
    let of = |parameters: &Parameters| {
        let (disk, flash) = (&parameters.disk, parameters.flash.as_ref().expect("an SSD"));
        let command = flash.read_command_time.value;
        [
            ("capacity", disk.capacity.value as f64),
            ("rate", disk.link_rate_read.value),
            ("read_time", flash.read_time.value),
            ("command and overhead", command + disk.read_overhead.value),
            ("command", command),
            ("dies", flash.dies.value),
        ]
    };
    of(hidden)
        .iter()
        .zip(of(found))
        .filter(|((name, meant), (_, found))| {
            let most = if *name == "dies" { 1.0 } else { 0.05 * meant };
            (found - meant).abs() > most
        })
        .map(|((name, meant), (_, found))| format!("{name} {found} for {meant}"))
        .collect()
}

/// "20 SSDs: every measured parameter within 5 % (entries and depth within 1), predicted rows
/// within 3 % (median), and at most 1 of 20 honest ones unexplained."
#[test]
fn what_can_be_read_of_hidden_ssds_is_found() {
    let (mut all, mut unexplained) = (Vec::new(), 0);
    for seed in 1..=HIDDEN {
        let hidden = hidden(seed);
        let samples = measured(&hidden, seed);
        let found = probe::solve(&samples, "found", "found").expect("an SSD");
        let again = Samples::parse(&samples.to_csv()).expect("its own text");
        let repeated = probe::solve(&again, "found", "found").expect("an SSD");
        assert_eq!(repeated.file(), found.file(), "seed {seed}: from the file");
        let read = Parameters::parse(&found.file()).expect("a model's file");
        assert_eq!(read, found.parameters, "seed {seed}: the file is the model");
        let check = found.check.expect("there was time");
        unexplained += u64::from(check.is_unexplained());
        let rows = row_error(&hidden, &found.parameters);
        println!("seed {seed}: {} samples, rows off by {rows:.4}, {check:?}", samples.all.len());
        let wrong = wrong(&hidden, &found.parameters);
        all.extend(wrong.into_iter().map(|text| format!("seed {seed}: {text}")));
        if rows > 0.03 {
            all.push(format!("seed {seed}: rows are off by {rows}"));
        }
    }
    assert!(all.is_empty() && unexplained <= 1, "{unexplained} unexplained, {all:#?}");
}

/// "Of 10 with a mechanism that the fitter does not know at least 9 are called unexplained": half
/// of the addresses on slower cells, and pauses of its own.
#[test]
fn slower_cells_and_pauses_of_an_ssd_are_not_explained() {
    let mut explained = Vec::new();
    for seed in 1..=10 {
        let known = hidden(seed);
        let samples = if seed <= 5 {
            let mut slower = known.clone();
            slower.flash.as_mut().expect("an SSD").read_time.value *= 2.0;
            probed(&TwoArms::halves([known, slower], seed))
        } else {
            let delay = Duration::from_millis(seed);
            let delays =
                FaultOptions { seed, delay, delay_probability: 0.03, ..FaultOptions::default() };
            probed(&faulty_of(&known, seed, delays))
        };
        let found = probe::solve(&samples.expect("it answers"), "odd", "odd");
        if let Ok(Solution { check: Some(check), .. }) = found
            && !check.is_unexplained()
        {
            explained.push(format!("seed {seed}: {check:?}"));
        }
    }
    assert!(explained.len() <= 1, "{explained:#?}");
}

/// A drive whose pages are all in a cache of the host has no cells that could be seen, and one that
/// moves large reads at another rate than it says is unexplained.
#[test]
fn what_is_not_an_ssd_is_said() {
    let mut cached = hidden(1);
    cached.flash.as_mut().expect("an SSD").read_time.value = 1.0;
    let found = probe::solve(&measured(&cached, 1), "found", "found");
    assert!(matches!(found, Err(FitFailure::NotTurning { .. })), "{found:?}");
    let old = Parameters::load("ssd-2008").expect("built in");
    match probe::solve(&measured(&old, 1), "found", "found") {
        Ok(found) => assert!(found.check.is_none_or(|check| check.is_unexplained()), "{found:?}"),
        Err(error) => assert!(matches!(error, FitFailure::NotTurning { .. }), "{error:?}"),
    }
}
