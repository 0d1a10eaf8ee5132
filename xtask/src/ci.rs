//! `cargo xtask ci`: all that CI runs, one step after the other, with a summary at the end.
//!
//! A step that cannot run here says so and why; it is never left out in silence.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{fuzz, programs, tidy};

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
enum Ending {
    Passed,
    Failed(String),
    Skipped(String),
}

/// Tests counted over all crates.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

/// What the test runner prints, read line by line.
#[derive(Default)]
struct TestLog {
    counts: Counts,
    /// Tests that passed without doing all they could, each with what it said.
    skipped: Vec<String>,
    /// Within the output of tests that passed.
    in_successes: bool,
    test: String,
}

impl TestLog {
    /// Takes a line; whether people should see it.
    ///
    /// A test that cannot do its work here prints a line that begins with `skipped` and passes. The
    /// runner would keep that to itself; so it is told to show everything, and of what tests say
    /// that passed only those lines are let through.
    fn take(&mut self, line: &str) -> bool {
        match line {
            "successes:" => self.in_successes = true,
            "failures:" => self.in_successes = false,
            _ if line.starts_with("test result: ") => {
                self.in_successes = false;
                self.count(line);
            }
            _ => (),
        }
        if self.in_successes {
            if let Some(name) =
                line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"))
            {
                name.clone_into(&mut self.test);
            } else if line.starts_with("skipped") {
                self.skipped.push(format!("{}: {line}", self.test));
            }
        }
        !self.in_successes
    }

    /// Adds the closing line of one test program: after `ok.` or `FAILED.` come the parts
    /// `12 passed; 0 failed; 1 ignored; …`.
    fn count(&mut self, line: &str) {
        let Some((_, parts)) = line.trim_start_matches("test result: ").split_once(". ") else {
            return;
        };
        for part in parts.split(';') {
            let mut words = part.split_whitespace();
            let (Some(Ok(count)), Some(what)) = (words.next().map(str::parse::<u64>), words.next())
            else {
                continue;
            };
            match what {
                "passed" => self.counts.passed += count,
                "failed" => self.counts.failed += count,
                "ignored" => self.counts.ignored += count,
                _ => (),
            }
        }
    }
}

struct Ci {
    root: PathBuf,
    log: TestLog,
}

type Step = fn(&mut Ci) -> Ending;

const STEPS: &[(&str, Step)] = &[
    ("format", Ci::format),
    ("clippy", Ci::clippy),
    ("test", Ci::test),
    ("docs", Ci::docs),
    ("tidy", Ci::tidy),
    ("miri", Ci::miri),
    ("fuzz", Ci::fuzz),
    ("package", Ci::package),
    ("static", Ci::r#static),
];

/// Runs the steps named, or all of them; whether all of them passed or were skipped with a reason.
///
/// # Errors
/// A step that does not exist.
pub(crate) fn run(root: &Path, only: &[String]) -> Result<bool, String> {
    if let Some(unknown) = only.iter().find(|name| !STEPS.iter().any(|(step, _)| step == name)) {
        let known: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
        return Err(format!("no such step: {unknown}; the steps are {}", known.join(", ")));
    }
    let mut ci = Ci { root: root.to_path_buf(), log: TestLog::default() };
    let mut endings = Vec::new();
    for (name, step) in
        STEPS.iter().filter(|(name, _)| only.is_empty() || only.iter().any(|wanted| wanted == name))
    {
        println!("== {name}");
        let start = Instant::now();
        let ending = step(&mut ci);
        let seconds = start.elapsed().as_secs_f64();
        println!("== {name}: {} in {seconds:.1} s\n", describe(&ending));
        endings.push((*name, ending, seconds));
    }
    println!("step      seconds  result");
    for (name, ending, seconds) in &endings {
        println!("{name:<8} {seconds:>8.1}  {}", describe(ending));
    }
    let tests_ran = endings.iter().any(|(name, ..)| *name == "test");
    if tests_ran {
        if !ci.log.skipped.is_empty() {
            println!("\npassed, but could not do all they test:");
        }
        for line in &ci.log.skipped {
            println!("  {line}");
        }
        let Counts { passed, failed, ignored } = ci.log.counts;
        println!("\n{passed} passed, {failed} failed, {ignored} skipped");
    }
    Ok(!endings.iter().any(|(_, ending, _)| matches!(ending, Ending::Failed(_))))
}

fn describe(ending: &Ending) -> String {
    match ending {
        Ending::Passed => "passed".to_owned(),
        Ending::Failed(why) => format!("FAILED: {why}"),
        Ending::Skipped(why) => format!("skipped: {why}"),
    }
}

impl Ci {
    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        command
    }

    fn format(&mut self) -> Ending {
        match ended(&mut self.cargo(&["fmt", "--all", "--check"])) {
            Ending::Passed => {
                ended(&mut self.cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))
            }
            ending => ending,
        }
    }

    fn clippy(&mut self) -> Ending {
        ended(&mut self.cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]))
    }

    fn test(&mut self) -> Ending {
        let log = &mut self.log;
        let ran = programs::run(&self.root, |ended| {
            println!("     Running {} ({:.1} s)", ended.name, ended.elapsed.as_secs_f64());
            for line in ended.log.lines().filter(|line| log.take(line)) {
                println!("{line}");
            }
        });
        let failed = match ran {
            Ok(failed) => failed,
            Err(message) => return Ending::Failed(message),
        };
        let docs = self.doc_tests();
        match self.log.counts {
            Counts { failed: 0, passed: 0, .. } => Ending::Failed("no test ran".to_owned()),
            Counts { failed: 0, .. } if failed.is_empty() => docs,
            Counts { failed: 0, .. } => {
                Ending::Failed(format!("ended badly: {}", failed.join(", ")))
            }
            counts => Ending::Failed(format!("{} tests in {}", counts.failed, failed.join(", "))),
        }
    }

    fn doc_tests(&mut self) -> Ending {
        let output = self.cargo(&["test", "--workspace", "--locked", "--doc"]).output();
        let output = match output {
            Ok(output) => output,
            Err(error) => return Ending::Failed(format!("cargo cannot be started: {error}")),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        for line in text.lines().filter(|line| self.log.take(line)) {
            println!("{line}");
        }
        if output.status.success() {
            return Ending::Passed;
        }
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        Ending::Failed(format!("cargo test --doc: {}", output.status))
    }

    fn docs(&mut self) -> Ending {
        ended(
            self.cargo(&["doc", "--workspace", "--no-deps", "--locked"])
                .env("RUSTDOCFLAGS", "-D warnings"),
        )
    }

    fn tidy(&mut self) -> Ending {
        // The fuzz targets are a workspace of their own, whose lock file no other step looks at
        // until they are built.
        let manifest = "--manifest-path=fuzz/Cargo.toml";
        let lock = self.cargo(&["metadata", "--locked", "--format-version=1", manifest]).output();
        match lock {
            Ok(output) if output.status.success() => (),
            Ok(output) => {
                eprint!("{}", String::from_utf8_lossy(&output.stderr));
                return Ending::Failed(format!(
                    "fuzz/Cargo.lock: see above; `cargo metadata {manifest}` without --locked \
                    brings it up to date"
                ));
            }
            Err(error) => return Ending::Failed(format!("cargo cannot be started: {error}")),
        }
        match tidy::run(&self.root) {
            Ok(true) => Ending::Passed,
            Ok(false) => Ending::Failed("rules broken, see above".to_owned()),
            Err(message) => Ending::Failed(message),
        }
    }

    /// The buffers hold all pointer work that is ours alone; Miri watches their tests.
    fn miri(&mut self) -> Ending {
        // Looking must not make rustup fetch anything.
        let look =
            self.cargo(&["+nightly", "miri", "--version"]).env("RUSTUP_AUTO_INSTALL", "0").output();
        match look {
            Ok(output) if output.status.success() => ended(
                self.cargo(&[
                    "+nightly",
                    "miri",
                    "test",
                    "--package",
                    "reactor",
                    "--lib",
                    "buffer::",
                ])
                .env("RUSTUP_AUTO_INSTALL", "0"),
            ),
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr);
                let why = text
                    .lines()
                    .find(|line| !line.trim().is_empty())
                    .unwrap_or("cargo +nightly miri does not run");
                let why = why.trim_start_matches("error: ");
                Ending::Skipped(format!(
                    "{why}: rustup toolchain install nightly --component miri, then cargo xtask ci \
                    miri"
                ))
            }
            Err(error) => Ending::Skipped(format!("cargo cannot be started: {error}")),
        }
    }

    /// In CI alone: it takes minutes.
    fn fuzz(&mut self) -> Ending {
        if !in_ci() {
            return Ending::Skipped("it takes minutes: `cargo xtask fuzz`, or CI=true".to_owned());
        }
        match fuzz::run(&self.root, &[]) {
            Ok(true) => Ending::Passed,
            Ok(false) => Ending::Failed("something broke, see above".to_owned()),
            Err(message) => Ending::Failed(message),
        }
    }

    /// The Debian package, made, installed in a folder, tried and removed.
    fn package(&mut self) -> Ending {
        if !in_ci() {
            return Ending::Skipped(
                "it takes minutes, cargo-deb and root: CI=true cargo xtask ci package".to_owned(),
            );
        }
        ended(Command::new("packaging/try-package").current_dir(&self.root).stdin(Stdio::null()))
    }

    /// The static program, built and tried.
    fn r#static(&mut self) -> Ending {
        if !in_ci() {
            return Ending::Skipped(
                "it takes minutes and root: CI=true cargo xtask ci package static".to_owned(),
            );
        }
        let need = Command::new("tools/need").arg("static").current_dir(&self.root).output();
        match need {
            Ok(need) if need.status.success() => ended(
                Command::new("packaging/try-static").current_dir(&self.root).stdin(Stdio::null()),
            ),
            Ok(need) => {
                Ending::Skipped(String::from_utf8_lossy(&need.stdout).trim().replace('\n', "; "))
            }
            Err(error) => Ending::Skipped(format!("tools/need cannot be started: {error}")),
        }
    }
}

fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

fn ended(command: &mut Command) -> Ending {
    match command.status() {
        Ok(status) if status.success() => Ending::Passed,
        Ok(status) => Ending::Failed(status.to_string()),
        Err(error) => Ending::Failed(format!("cargo cannot be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_over_crates() {
        let mut log = TestLog::default();
        for line in [
            "running 3 tests",
            "test buffer::splits ... ok",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished \
            in 0.01s",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 5 filtered out; \
            finished in 1.20s",
        ] {
            assert!(log.take(line));
        }
        assert_eq!(log.counts, Counts { passed: 13, failed: 2, ignored: 1 });
    }

    #[test]
    fn what_a_test_that_passed_could_not_do_is_kept_and_the_rest_of_its_output_is_not_shown() {
        let output = "test a ... ok\n\nsuccesses:\n\n---- a::b stdout ----\nchatter\nskipped: no \
            loop device here\n\n\nsuccesses:\n    a::b\n\nfailures:\n\n---- c stdout ----\nwhy it \
            failed\ntest result: FAILED. 1 passed; 1 failed; 0 ignored";
        let mut log = TestLog::default();
        let shown: Vec<&str> = output.lines().filter(|line| log.take(line)).collect();
        assert_eq!(log.skipped, ["a::b: skipped: no loop device here"]);
        assert!(!shown.contains(&"chatter") && shown.contains(&"why it failed"), "{shown:?}");
        assert_eq!(log.counts, Counts { passed: 1, failed: 1, ignored: 0 });
    }

    #[test]
    fn a_step_that_does_not_exist_is_named() {
        let error = run(Path::new("."), &["format".to_owned(), "clipy".to_owned()])
            .expect_err("no such step");
        assert!(error.contains("clipy") && error.contains("clippy"), "{error}");
    }

    #[test]
    fn a_program_that_fails_fails_its_step() {
        assert_eq!(ended(&mut Command::new("true")), Ending::Passed);
        assert!(matches!(ended(&mut Command::new("false")), Ending::Failed(_)));
        assert!(matches!(ended(&mut Command::new("no-such-program-anywhere")), Ending::Failed(_)));
    }
}
