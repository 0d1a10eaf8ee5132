//! The command line as its users see it: `tests/cli/*.trycmd` hold commands, their exit codes and
//! all that they print.
//!
//! `TRYCMD=overwrite cargo test -p raidloom` writes the files anew; read the difference before
//! committing it.

use std::fs;
use std::process::Command;

/// The folder of servers that snapshots start; those that a failure has left running end with it.
struct Servers(tempfile::TempDir);

impl Drop for Servers {
    fn drop(&mut self) {
        for folder in fs::read_dir(self.0.path()).into_iter().flatten().flatten() {
            let mut stop = Command::new(env!("CARGO_BIN_EXE_raidloom"));
            let _ = stop
                .args(["array", "stop"])
                .arg(folder.file_name())
                .env("RAIDLOOM_RUNTIME_DIR", self.0.path())
                .status();
        }
        // What `bench` measured lies where the commands were run.
        let _ = fs::remove_dir_all("raidloom-runs");
    }
}

#[test]
fn commands_print_what_they_printed() {
    let servers = Servers(tempfile::tempdir().expect("a folder for servers"));
    let cases = trycmd::TestCases::new();
    cases.case("../../tests/cli/*.trycmd").env("NO_COLOR", "1").env("COLUMNS", "100");
    cases
        .env("RAIDLOOM_RUNTIME_DIR", servers.0.path().to_string_lossy())
        .env("RAIDLOOM_CONFIG_DIR", "/nowhere");
}
