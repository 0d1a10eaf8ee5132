//! `cargo xtask validate [DIR]`: what the models say of published arrays, or of the drives whose
//! recordings are in a folder, and how far that is off.
//!
//! The comparison is a test of the crate `device`, which sees the models; here it is run so that it
//! writes what it finds: `models/errors.toml`, and the tables of `docs/models.md`.

use std::path::Path;
use std::process::Command;

/// The tests that hold the models against published figures.
const TESTS: [&str; 2] = ["model::tests::validation", "model::tests::prediction"];

/// The test that holds the model against recordings of real drives, and the variable that names
/// their folder.
const RECORDED_TEST: &str = "model::tests::recorded::recordings_of_real_drives";
const RECORDED: &str = "RAIDLOOM_RECORDED";

/// Runs them, or that of the recordings in a folder; whether all went well.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let folder = match arguments {
        [] => None,
        [folder] => {
            Some(std::fs::canonicalize(folder).map_err(|error| format!("{folder}: {error}"))?)
        }
        _ => return Err("validate takes one folder of recordings, or nothing".to_owned()),
    };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--package", "device", "--lib", "--", "--nocapture"]);
    match &folder {
        Some(folder) => cargo.arg(RECORDED_TEST).env(RECORDED, folder),
        None => cargo.args(TESTS),
    };
    let status = cargo
        .env("RAIDLOOM_BLESS", "1")
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo test: {error}"))?;
    if status.success() {
        let written = match folder {
            Some(_) => "the table of recorded drives in docs/models.md",
            None => "models/errors.toml and the tables of docs/models.md",
        };
        println!("written: {written}");
    }
    Ok(status.success())
}
