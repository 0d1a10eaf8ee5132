//! All tests, run by cargo-nextest: each in a process of its own, as many at a time as there is
//! room for, long ones under their own limits (`.config/nextest.toml`).
//!
//! ```text
//!   cargo nextest run --profile NAME ──> junit.xml ──> counts, the slowest
//!          └── each test ── RAIDLOOM_SKIPPED=FILE ──> what it could not do here
//! ```

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The file to which tests append what they could not do; the name is `testkit`'s too.
const SKIPPED: &str = "RAIDLOOM_SKIPPED";

/// Tests that are shown at the end, the slowest first.
const SLOWEST: usize = 10;

/// Lines of each thing a failed test has printed that are shown once more at the end.
const LAST_LINES: usize = 40;

/// What a run of tests came to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Name of each test that failed, and the end of what it printed.
    pub(crate) failures: Vec<(String, String)>,
    /// Name and time of the tests that took longest.
    pub(crate) slowest: Vec<(String, Duration)>,
    /// What tests that passed could not do, a line each.
    pub(crate) skipped: Vec<String>,
    /// Whether nextest itself ended well: it does not when a test fails.
    pub(crate) is_well: bool,
}

/// Which tests of `.config/nextest.toml` are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Those that need no kernel, browser or other program, and little time.
    Quick,
    /// All others.
    Rest,
    /// Some of both, where the programs of the system speak another language.
    Locale,
}

impl Part {
    /// The profile under which it is run.
    fn profile(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Rest => "rest",
            Self::Locale => "locale",
        }
    }

    /// What is said to nextest besides. The profile `rest` inherits the filter of `quick`, and
    /// takes what that leaves.
    fn filter(self) -> &'static [&'static str] {
        match self {
            Self::Quick | Self::Locale => &[],
            Self::Rest => &["--ignore-default-filter", "-E", "not default()"],
        }
    }
}

/// A locale in which util-linux and libc say things otherwise than in C.
pub(crate) const LOCALE: &str = "ja_JP.UTF-8";

/// Builds and runs a part of the tests.
///
/// # Errors
/// When nextest is not there, or left no results.
pub(crate) fn run(root: &Path, part: Part) -> Result<Outcome, String> {
    let profile = part.profile();
    let logs = root.join("target/ci");
    fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    let skipped = logs.join(format!("skipped-{profile}.txt"));
    let junit = root.join("target/nextest").join(profile).join("junit.xml");
    for old in [&skipped, &junit] {
        let _ = fs::remove_file(old);
    }
    let mut command = Command::new("cargo");
    if part == Part::Locale {
        // What we print is compared in English; what other programs print is in Japanese.
        command.env("LC_ALL", LOCALE).env("LANGUAGE", "ja").env("RAIDLOOM_LANG", "en");
    }
    let status = command
        .args(["nextest", "run", "--workspace", "--locked", "--profile", profile])
        .args(["--test-threads", &at_a_time().to_string()])
        .args(part.filter())
        .env(SKIPPED, &skipped)
        .env("PATH", with_python_programs(root))
        .current_dir(root)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    let text = fs::read_to_string(&junit)
        .map_err(|error| format!("no tests ran ({status}; {}: {error})", junit.display()))?;
    let mut outcome = results(&text)?;
    let skipped = fs::read_to_string(&skipped).unwrap_or_default();
    outcome.skipped.extend(skipped.lines().map(str::to_owned));
    outcome.is_well = status.success();
    Ok(outcome)
}

/// Where programs are looked for, and behind that where those of `tools/python-packages.txt` lie.
pub(crate) fn with_python_programs(root: &Path) -> OsString {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([target.join("python/bin")]);
    std::env::join_paths(folders).unwrap_or(path)
}

/// Twice as many as there are processors: many tests wait for a kernel that boots, for a disk or
/// for another program.
fn at_a_time() -> usize {
    2 * std::thread::available_parallelism().map_or(1, usize::from)
}

/// Counts and times of a JUnit file.
fn results(text: &str) -> Result<Outcome, String> {
    let document = roxmltree::Document::parse(text)
        .map_err(|error| format!("the tests' results cannot be read: {error}"))?;
    let mut outcome = Outcome::default();
    let mut times = Vec::new();
    for test in document.descendants().filter(|node| node.has_tag_name("testcase")) {
        let fails = |node: roxmltree::Node<'_, '_>| {
            node.has_tag_name("failure") || node.has_tag_name("error")
        };
        let named = |name| test.attribute(name).unwrap_or("?");
        let seconds = named("time").parse::<f64>().unwrap_or(0.0);
        let name = format!("{} {}", named("classname"), named("name"));
        if let Some(first) = test.children().find(|node| node.has_tag_name("flakyFailure")) {
            let words = first.text().unwrap_or_default().trim().replace('\n', " < ");
            outcome
                .skipped
                .push(format!("{name}: passed at the second try; at the first: {words}"));
        }
        if test.children().any(fails) {
            outcome.failed += 1;
            outcome.failures.push((name.clone(), last_words(test)));
        } else {
            outcome.passed += 1;
        }
        times.push((name, Duration::try_from_secs_f64(seconds).unwrap_or_default()));
    }
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    times.truncate(SLOWEST);
    outcome.slowest = times;
    Ok(outcome)
}

/// The end of what a test that failed has printed: the rest stands where it ran, far above.
fn last_words(test: roxmltree::Node<'_, '_>) -> String {
    let printed = test
        .descendants()
        .filter(|node| {
            ["system-out", "system-err", "failure", "error"]
                .iter()
                .any(|tag| node.has_tag_name(*tag))
        })
        .filter_map(|node| node.text());
    let mut words = String::new();
    for text in printed {
        let lines: Vec<&str> = text.trim().lines().collect();
        for line in &lines[lines.len().saturating_sub(LAST_LINES)..] {
            words += line;
            words.push('\n');
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_times_are_read_and_the_slowest_come_first() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="quick" tests="3" failures="1" errors="0">
              <testsuite name="array" tests="2">
                <testcase name="rows::a" classname="array" time="0.250"><flakyFailure>hung</flakyFailure></testcase>
                <testcase name="rows::b" classname="array" time="2.5"><system-out>x</system-out></testcase>
              </testsuite>
              <testsuite name="raidloom::serve" tests="1">
                <testcase name="c" classname="raidloom::serve" time="1.0">
                  <failure type="test failure">it panicked</failure>
                </testcase>
              </testsuite>
            </testsuites>"#;
        let outcome = results(text).expect("it is read");
        assert_eq!((outcome.passed, outcome.failed), (2, 1));
        assert_eq!(
            outcome.skipped,
            ["array rows::a: passed at the second try; at the first: hung"]
        );
        let failures = [("raidloom::serve c".to_owned(), "it panicked\n".to_owned())];
        assert_eq!(outcome.failures, failures);
        let names: Vec<&str> = outcome.slowest.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["array rows::b", "raidloom::serve c", "array rows::a"]);
        assert!(results("<testsuites>").is_err());
    }
}
