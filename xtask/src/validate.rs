//! `cargo xtask validate`: what the models say of published arrays, and how far that is off.
//!
//! The comparison is a test of the crate `device`, which sees the models; here it is run so that it
//! writes what it finds: `models/errors.toml`, and the tables of `docs/models.md`.

use std::path::Path;
use std::process::Command;

/// The tests that hold the models against published figures.
const TESTS: [&str; 2] = ["model::tests::validation", "model::tests::prediction"];

/// Runs them; whether all went well.
pub(crate) fn run(root: &Path) -> Result<bool, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--package", "device", "--lib", "--", "--nocapture"]).args(TESTS);
    let status = cargo
        .env("RAIDLOOM_BLESS", "1")
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo test: {error}"))?;
    if status.success() {
        println!("written: models/errors.toml and the tables of docs/models.md");
    }
    Ok(status.success())
}
