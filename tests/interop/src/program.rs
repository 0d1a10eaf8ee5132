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
        let built = BuiltProgram::of(folder);
        if !std::env::var("CI").is_ok_and(|ci| ci == "true") && !built.is_known() {
            let target = folder.parent().expect("profiles lie in a target folder");
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut build = Command::new(cargo);
            build
                .args(["build", "--quiet", "--package", "raidloom"])
                .current_dir(env!("CARGO_MANIFEST_DIR"));
            let status = build.env("CARGO_TARGET_DIR", target).status().expect("cargo runs");
            assert!(status.success(), "raidloom could not be built");
            built.remember();
        }
        let program = folder.join("raidloom");
        assert!(program.exists(), "{}: cargo build --package raidloom makes it", program.display());
        program
    })
}

/// That the program was built in this run of the tests, which nextest gives each test a process of
/// its own for.
struct BuiltProgram {
    file: PathBuf,
    run: Option<String>,
}

impl BuiltProgram {
    fn of(folder: &Path) -> BuiltProgram {
        BuiltProgram {
            file: folder.join(".raidloom-built-for"),
            run: std::env::var("NEXTEST_RUN_ID").ok(),
        }
    }

    fn is_known(&self) -> bool {
        let known = std::fs::read_to_string(&self.file).ok();
        self.run.is_some() && known == self.run
    }

    fn remember(&self) {
        if let Some(run) = &self.run {
            let _ = std::fs::write(&self.file, run);
        }
    }
}
