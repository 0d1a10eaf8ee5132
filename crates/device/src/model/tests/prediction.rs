//! What the model says of two disks striped, which no fit has seen: the table of `docs/models.md`,
//! all 21 rows of `devtest`, with one disk beside them.

use std::fmt::Write as _;

use super::super::{Parameters, fit};
use super::array::{ALONE, Layout, figure, mixed, pair};

const CHUNKS_KIB: [u64; 8] = [4, 8, 16, 32, 64, 128, 256, 512];
fn table(parameters: &Parameters) -> String {
    let layouts: Vec<Layout> =
        std::iter::once(ALONE).chain(CHUNKS_KIB.map(|chunk| pair(chunk << 10))).collect();
    let mut text = String::from("| test, KiB/s | request | one disk |");
    for chunk in CHUNKS_KIB {
        let _ = write!(text, " {chunk} KiB |");
    }
    text += "\n| --- | ---: |";
    text += &" ---: |".repeat(layouts.len());
    text.push('\n');
    let mut row = |name: &str, request: &str, rates: &[f64]| {
        let _ = write!(text, "| {name} | {request} |");
        for rate in rates {
            let _ = write!(text, " {rate:.1} |");
        }
        text.push('\n');
    };
    for (pattern, name) in [
        ("at start", "sequential {} at start"),
        ("at end", "sequential {} at end"),
        ("random", "random {}"),
    ] {
        for write in [false, true] {
            for request in [512, 16384, 65536] {
                let name = name.replace("{}", if write { "write" } else { "read" });
                let rates: Vec<f64> = layouts
                    .iter()
                    .map(|&layout| figure(parameters, layout, pattern, write, request))
                    .collect();
                row(&name, &request.to_string(), &rates);
            }
        }
    }
    for read_percent in [50, 90, 10] {
        let rates: Vec<[f64; 2]> = layouts
            .iter()
            .map(|&layout| mixed(parameters, layout, f64::from(read_percent) / 100.0))
            .collect();
        for (side, direction) in ["read", "write"].into_iter().enumerate() {
            let name = format!("mixed {read_percent}:{} {direction}", 100 - read_percent);
            let rates: Vec<f64> = rates.iter().map(|both| both[side]).collect();
            row(&name, "512-65536", &rates);
        }
    }
    text
}

fn fit_table(parameters: &Parameters) -> String {
    let mut text = String::from(
        "| test | request | published KiB/s | model KiB/s | error | |\n| --- | ---: | ---: | ---: \
        | ---: | --- |\n",
    );
    for row in fit::errors_built_in(parameters).expect("built in") {
        let used = if row.check { "check" } else { "fitted" };
        let (test, request, error) = (&row.test, &row.request_bytes, row.relative_error * 100.0);
        let _ = writeln!(
            text,
            "| {test} | {request} | {:.1} | {:.1} | {error:+.1} % | {used} |",
            row.published, row.model
        );
    }
    text
}

/// `RAIDLOOM_BLESS=1` writes the tables instead of comparing them.
#[test]
fn the_tables_in_the_documentation_are_what_the_model_says() {
    let parameters = Parameters::load("maxtor-6y200p0").expect("a built-in model");
    testkit::golden::check_blocks(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md"),
        &[("fit", &fit_table(&parameters)), ("prediction", &table(&parameters))],
    );
}

/// Small chunks make both members turn to every request: the slower of two waits for the platter is
/// 2/3 of a revolution on the mean, not 1/2. Large chunks leave most requests to one.
#[test]
fn small_chunks_make_random_reads_wait_for_the_slower_platter() {
    let mut parameters = super::parameters();
    // Spindles that drift apart fast, so that the run sees every phase between them.
    parameters.disk.spindle_tolerance.value = 0.02;
    let period_ms = parameters.disk.revolution.value;
    let time_ms = |chunk| 64.0 * 1e3 / figure(&parameters, pair(chunk), "random", false, 64 << 10);
    let (small, large) = (time_ms(4 << 10), time_ms(8 << 20));
    let both_ms = 32.0 * 1024.0 * 2e3
        / (parameters.disk.rate_at_start.value + parameters.disk.rate_at_end.value);
    let expected = large + period_ms / 6.0 - both_ms;
    assert!(
        (small / expected - 1.0).abs() < 0.01,
        "{small} ms at small chunks, expected {expected} ms"
    );
}

#[test]
fn random_sectors_gain_nothing_when_read_and_nearly_double_when_written() {
    let parameters = super::parameters();
    let alone = |write| super::single(&parameters, write, 512) / 1024.0;
    let striped = |write| figure(&parameters, pair(64 << 10), "random", write, 512);
    assert!((striped(false) / alone(false) - 1.0).abs() < 0.02);
    assert!(
        (1.9..2.05).contains(&(striped(true) / alone(true))),
        "{} times as fast",
        striped(true) / alone(true)
    );
}

#[test]
fn sequential_reads_of_two_disks_are_bound_by_overhead_and_bus() {
    let parameters = super::parameters();
    let (disk, link) = (&parameters.disk, &parameters.link);
    let request = 64 << 10;
    let rate = figure(&parameters, pair(4 << 10), "at start", false, request) * 1024.0;
    let seconds = disk.read_overhead.value / 1e6
        + 2.0 * link.command_time.value / 1e6
        + request as f64 / link.bandwidth.value;
    assert!((rate * seconds / request as f64 - 1.0).abs() < 0.005, "{rate} bytes/s");
}
