//! The suites beside the originals, on a small disk of their own: the same work, phase by phase;
//! and what becomes of targets on which they cannot run.

mod calls;
pub(crate) mod disk;
mod limits;
mod originals;
mod refusals;
mod settings;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The program.
fn raidloom() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    command.stdin(Stdio::null());
    command
}

/// A folder in which runs come to lie, away from the disks that they measure.
fn place() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A suite in a folder, or on a device; its run lies in `place`.
fn command(suite: &str, target: &Path, arguments: &[&str], place: &TempDir) -> Command {
    let mut command = raidloom();
    command.args(["bench", suite]).arg(target).args(arguments);
    command.arg("--output").arg(place.path().join("run"));
    command
}

/// Runs a suite in a folder, or on a device.
fn bench(suite: &str, target: &Path, arguments: &[&str]) -> Output {
    let place = place();
    command(suite, target, arguments, &place).output().expect("the program runs")
}

/// The JSON of a suite that has to come to its end.
fn measured(suite: &str, target: &Path, arguments: &[&str]) -> Value {
    let output = bench(suite, target, &[arguments, &["--json"]].concat());
    assert!(
        output.status.success(),
        "{suite} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The rows of a result that were measured, by phase.
fn rows(document: &Value) -> Vec<(&str, &Value)> {
    let rows = document["rows"].as_array().expect("rows");
    rows.iter().map(|row| (row["phase"].as_str().expect("a name"), row)).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// Bytes that a row asked for, by its own rate and time: all, or those that it read or wrote of
/// a mixed row.
fn asked_bytes(row: &Value, side: &str) -> u64 {
    let rate = figure(row, &format!("{side}throughput_bytes_per_second"));
    (rate * figure(row, "elapsed_seconds")).round() as u64
}

fn figure(row: &Value, metric: &str) -> f64 {
    row["metrics"][metric].as_f64().unwrap_or_else(|| panic!("{metric} is missing in {row}"))
}
