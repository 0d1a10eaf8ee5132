//! The program under test, for tests that run it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The program under test: what CI has built with the tests, and elsewhere what cargo makes of the
/// sources now.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn raidloom() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        // target/debug/deps/attach-0123456789abcdef
        let own = std::env::current_exe().expect("this program has a path");
        let folder = own.ancestors().nth(2).expect("it lies in a target folder");
        if !std::env::var("CI").is_ok_and(|ci| ci == "true") {
            let target = folder.parent().expect("profiles lie in a target folder");
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut build = Command::new(cargo);
            build
                .args(["build", "--quiet", "--package", "raidloom"])
                .current_dir(env!("CARGO_MANIFEST_DIR"));
            let status = build.env("CARGO_TARGET_DIR", target).status().expect("cargo runs");
            assert!(status.success(), "raidloom could not be built");
        }
        let program = folder.join("raidloom");
        assert!(program.exists(), "{}: cargo build --package raidloom makes it", program.display());
        program
    })
}
