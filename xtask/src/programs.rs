//! All test programs, two at a time: many of them wait for kernels that boot, or have one long test
//! at their end, and cargo runs one after the other.
//!
//! ```text
//!   cargo test --no-run ──programs──> queue ──> worker ──> a log each, shown when the program ends
//!                                          └──> worker
//!   cargo test --doc
//! ```

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

const AT_A_TIME: usize = 2;
/// Those that take longest, which therefore begin first.
const LONGEST: &[&str] = &["exchange", "studies", "suites", "running", "attach", "guest", "guess"];

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    /// Of the package and of the target: `raidloom serve`.
    name: String,
    file: PathBuf,
    /// Where cargo runs it: the folder of its package.
    folder: PathBuf,
}

/// A test program that has ended.
pub(crate) struct Ended {
    pub(crate) name: String,
    pub(crate) elapsed: Duration,
    /// What it said, on both outputs.
    pub(crate) log: String,
    pub(crate) is_well: bool,
}

/// Builds all test programs and runs them; `ended` is told of each. What it returns is the names of
/// those that did not end well.
///
/// # Errors
/// When they do not build, or one cannot be started.
pub(crate) fn run(root: &Path, mut ended: impl FnMut(&Ended)) -> Result<Vec<String>, String> {
    let programs = build(root)?;
    let logs = root.join("target/ci");
    fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    let place = |program: &Program| {
        let long = LONGEST.iter().position(|name| program.name.ends_with(&format!(" {name}")));
        long.unwrap_or(LONGEST.len())
    };
    let mut sorted = programs;
    sorted.sort_by_key(place);
    let queue: Mutex<VecDeque<(usize, Program)>> =
        Mutex::new(sorted.into_iter().enumerate().collect());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let (told, heard) = mpsc::channel();
    let mut failed = Vec::new();
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            let told = told.clone();
            let (next, logs) = (&next, &logs);
            scope.spawn(move || {
                while let Some((number, program)) = next() {
                    let log = logs.join(format!("{number}.log"));
                    if told.send(test(&program, &log)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(told);
        for result in heard {
            let program = result?;
            if !program.is_well {
                failed.push(program.name.clone());
            }
            ended(&program);
        }
        Ok(failed)
    })
}

/// The programs of `cargo test`, built.
fn build(root: &Path) -> Result<Vec<Program>, String> {
    let failed = |error: std::io::Error| format!("cargo cannot be started: {error}");
    let mut child = Command::new("cargo")
        .args(["test", "--workspace", "--locked", "--no-run"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let output = child.stdout.take().expect("stdout was piped");
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    let programs: Vec<Program> = lines.filter_map(|line| program(&line)).collect();
    let status = child.wait().map_err(failed)?;
    if !status.success() {
        return Err("the tests do not build".to_owned());
    }
    Ok(programs)
}

/// The test program that a message of cargo's tells of, if it does.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_string_lossy().into_owned();
    Some(Program {
        name: format!("{package} {}", message["target"]["name"].as_str()?),
        file: message["executable"].as_str()?.into(),
        folder,
    })
}

/// Runs a program, as cargo does.
fn test(program: &Program, log: &Path) -> Result<Ended, String> {
    let start = Instant::now();
    let run = || -> std::io::Result<ExitStatus> {
        let output = File::create(log)?;
        Command::new(&program.file)
            .arg("--show-output")
            .current_dir(&program.folder)
            .env("CARGO_MANIFEST_DIR", &program.folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .status()
    };
    let status = run().map_err(|error| format!("{}: {error}", program.file.display()))?;
    let text = fs::read(log).map_err(|error| format!("{}: {error}", log.display()))?;
    Ok(Ended {
        name: program.name.clone(),
        elapsed: start.elapsed(),
        log: String::from_utf8_lossy(&text).into_owned(),
        is_well: status.success(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_from_what_cargo_says() {
        let message = r#"{"reason":"compiler-artifact","manifest_path":"/r/crates/cli/Cargo.toml",
            "target":{"name":"serve"},"profile":{"test":true},
            "executable":"/r/target/debug/deps/serve-1"}"#;
        let expected = Program {
            name: "cli serve".to_owned(),
            file: "/r/target/debug/deps/serve-1".into(),
            folder: "/r/crates/cli".into(),
        };
        assert_eq!(program(message), Some(expected));
        for other in ["Compiling x", "{}", &message.replace("\"test\":true", "\"test\":false")] {
            assert_eq!(program(other), None, "{other}");
        }
        assert_eq!(program(&message.replace("\"/r/target/debug/deps/serve-1\"", "null")), None);
    }

    #[test]
    fn a_program_that_fails_is_told_of_with_what_it_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |file: &str| {
            let program =
                Program { name: "x".into(), file: file.into(), folder: folder.path().into() };
            test(&program, &folder.path().join("log"))
        };
        assert!(of("true").expect("it starts").is_well);
        let failed = of("ls").expect("it starts");
        assert!(!failed.is_well && failed.log.contains("--show-output"), "{}", failed.log);
        assert!(of("/no/such/program").is_err());
    }
}
