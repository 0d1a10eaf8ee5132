//! `cargo xtask ci`: all that CI runs, one step after the other, with a summary at the end.
//!
//! A step that cannot run here says so and why; it is never left out in silence.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::nextest::{self, Part};
use crate::{fuzz, instructions, tidy};

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
enum Ending {
    Passed,
    Failed(String),
    Skipped(String),
}

/// Tests of all steps.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
struct Counts {
    passed: u64,
    failed: u64,
}

impl Counts {
    /// Adds the closing line of one program of documentation tests: after `ok.` or `FAILED.` come
    /// the parts `12 passed; 0 failed; 1 ignored; …`.
    fn add_line(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test result: ") else { return };
        let Some((_, parts)) = rest.split_once(". ") else { return };
        for part in parts.split(';') {
            let mut words = part.split_whitespace();
            match (words.next().map(str::parse::<u64>), words.next()) {
                (Some(Ok(count)), Some("passed")) => self.passed += count,
                (Some(Ok(count)), Some("failed")) => self.failed += count,
                _ => (),
            }
        }
    }
}

struct Ci {
    root: PathBuf,
    /// None while no tests were run.
    counts: Option<Counts>,
    /// What passed and could not do all that it tests, a line each.
    skipped: Vec<String>,
    /// The tests that failed, and their last words.
    failures: Vec<(String, String)>,
}

type Step = fn(&mut Ci) -> Ending;

const STEPS: &[(&str, Step)] = &[
    ("format", Ci::format),
    ("tidy", Ci::tidy),
    ("dependencies", Ci::dependencies),
    ("clippy", Ci::clippy),
    ("test", Ci::quick_tests),
    ("docs", Ci::docs),
    ("rest", Ci::other_tests),
    ("locale", Ci::tests_in_another_language),
    ("miri", Ci::miri),
    ("instructions", Ci::instructions),
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
    let mut ci =
        Ci { root: root.to_path_buf(), counts: None, skipped: Vec::new(), failures: Vec::new() };
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
    println!("step          seconds  result");
    for (name, ending, seconds) in &endings {
        println!("{name:<12} {seconds:>8.1}  {}", describe(ending));
    }
    if !ci.skipped.is_empty() {
        println!("\npassed, but could not do all they test:");
    }
    for line in &ci.skipped {
        println!("  {line}");
    }
    for (name, words) in &ci.failures {
        println!("\nfailed: {name}\n{words}");
    }
    if let Some(Counts { passed, failed }) = ci.counts {
        println!("\n{passed} passed, {failed} failed");
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

    fn quick_tests(&mut self) -> Ending {
        self.tests(Part::Quick)
    }

    /// What the step `test` leaves, and the examples in the documentation.
    fn other_tests(&mut self) -> Ending {
        match self.tests(Part::Rest) {
            Ending::Passed => self.doc_tests(),
            other => other,
        }
    }

    /// What reads or prints anything does the same whatever language the system speaks.
    fn tests_in_another_language(&mut self) -> Ending {
        let locales = Command::new("locale").arg("-a").output();
        let is_there = locales.is_ok_and(|output| {
            String::from_utf8_lossy(&output.stdout).lines().any(|locale| locale == "ja_JP.utf8")
        });
        if !is_there {
            let make = "localedef -i ja_JP -f UTF-8 ja_JP.UTF-8";
            return Ending::Skipped(format!("there is no locale {}: {make}", nextest::LOCALE));
        }
        self.tests(Part::Locale)
    }

    fn tests(&mut self, part: Part) -> Ending {
        let outcome = match nextest::run(&self.root, part) {
            Ok(outcome) => outcome,
            Err(message) => return Ending::Failed(message),
        };
        let counts = self.counts.get_or_insert_default();
        counts.passed += outcome.passed;
        counts.failed += outcome.failed;
        self.skipped.extend(outcome.skipped);
        self.failures.extend(outcome.failures);
        println!("the slowest:");
        for (name, time) in &outcome.slowest {
            println!("  {:>7.1} s  {name}", time.as_secs_f64());
        }
        match outcome.failed {
            0 if outcome.passed == 0 => Ending::Failed("no test ran".to_owned()),
            0 if outcome.is_well => Ending::Passed,
            0 => Ending::Failed("nextest did not end well, see above".to_owned()),
            failed => Ending::Failed(format!("{failed} tests")),
        }
    }

    fn doc_tests(&mut self) -> Ending {
        let output = self.cargo(&["test", "--workspace", "--locked", "--doc"]).output();
        let output = match output {
            Ok(output) => output,
            Err(error) => return Ending::Failed(format!("cargo cannot be started: {error}")),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let counts = self.counts.get_or_insert_default();
        text.lines().for_each(|line| counts.add_line(line));
        if output.status.success() {
            return Ending::Passed;
        }
        print!("{text}");
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

    /// Licences, sources and doubles of what others wrote (`deny.toml`), and what is known against
    /// it, where that can be fetched.
    fn dependencies(&mut self) -> Ending {
        let root = self.root.clone();
        let deny = |arguments: &[&str]| {
            let mut command = Command::new("cargo");
            command.arg("deny").args(arguments).current_dir(&root).stdin(Stdio::null());
            command.env("PATH", nextest::with_python_programs(&root));
            command
        };
        let check = ["--offline", "check", "--deny", "warnings"];
        // A build fetches nothing of what only other systems take.
        let own_target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let targets: &[&str] =
            if ended(&mut self.cargo(&["fetch", "--locked", "--quiet"])) == Ending::Passed {
                &[]
            } else {
                let what = "what only other targets take cannot be fetched here";
                self.skipped.push(format!("dependencies: {what}"));
                &["--target", &own_target]
            };
        let ours = ended(deny(targets).args(check).args(["bans", "licenses", "sources"]));
        if ours != Ending::Passed {
            return ours;
        }
        if ended(&mut deny(&["fetch", "db"])) != Ending::Passed {
            self.skipped.push("dependencies: advisories cannot be fetched here".to_owned());
            return Ending::Passed;
        }
        ended(deny(targets).args(check).arg("advisories"))
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

    /// How many instructions requests take, which no busy machine changes.
    fn instructions(&mut self) -> Ending {
        match instructions::check(&self.root) {
            Ok(instructions::Outcome::Held) => Ending::Passed,
            Ok(instructions::Outcome::Broken(what)) => Ending::Failed(what),
            Ok(instructions::Outcome::Unknown(why)) => Ending::Skipped(why),
            Err(message) => Ending::Failed(message),
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
    fn counts_are_summed_over_programs() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test buffer::splits ... ok",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished \
            in 0.01s",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 5 filtered out; \
            finished in 1.20s",
        ] {
            counts.add_line(line);
        }
        assert_eq!(counts, Counts { passed: 13, failed: 2 });
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

    /// Code, and the lint that has to find it.
    const PLANTED: &[(&str, &str)] = &[
        ("use std::time::Instant as Now; let _ = Now::now();", "clippy::disallowed_methods"),
        ("let _ = std::time::SystemTime::now();", "clippy::disallowed_methods"),
        ("std::thread::sleep(std::time::Duration::ZERO);", "clippy::disallowed_methods"),
        ("let _ = std::io::stdout().lock();", "clippy::disallowed_methods"),
        ("println!(\"a name\");", "clippy::print_stdout"),
        ("eprintln!(\"a name\");", "clippy::print_stderr"),
        ("todo!();", "clippy::todo"),
        ("unimplemented!();", "clippy::unimplemented"),
        ("dbg!(1);", "clippy::dbg_macro"),
        ("unsafe { std::hint::unreachable_unchecked() }", "unsafe_code"),
    ];

    #[test]
    fn lints_find_what_is_planted() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("it is ours");
        let manifest: toml::Table = read("Cargo.toml").parse().expect("a manifest");
        let lints = &manifest["workspace"]["lints"];
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("a file");
        };
        write("clippy.toml", &read("clippy.toml"));
        write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"planted\"\nedition = \"2024\"\n[workspace]\n{}",
                toml::to_string(&toml::Table::from_iter([("lints".to_owned(), lints.clone())]))
                    .expect("lints")
            ),
        );
        std::fs::create_dir(folder.path().join("src")).expect("a folder");
        // A file opens with its line, so that the lint of a function is found by its number.
        let mut source: String = "//! Planted.\n".to_owned();
        for (index, (code, _)) in PLANTED.iter().enumerate() {
            source += &format!("#[doc = \"P.\"] pub fn f{index}() {{ {code} }}\n");
        }
        source += &format!("/// L.\npub fn long() {{\n{}}}\n", "    f0();\n".repeat(71));
        write("src/lib.rs", &source);
        let output = Command::new("cargo")
            .args(["clippy", "--offline", "--quiet", "--message-format=json"])
            .current_dir(folder.path())
            .env("CARGO_TARGET_DIR", folder.path().join("target"))
            .output()
            .expect("cargo runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let found: Vec<(u64, String)> = text
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter_map(|line| {
                let message = &line["message"];
                let code = message["code"]["code"].as_str()?.to_owned();
                Some((message["spans"][0]["line_start"].as_u64()?, code))
            })
            .collect();
        let lines = (2..).zip(PLANTED.iter().map(|(_, lint)| *lint));
        let last = 3 + PLANTED.len() as u64;
        for (line, lint) in lines.chain([(last, "clippy::too_many_lines")]) {
            assert!(found.contains(&(line, lint.to_owned())), "line {line}, {lint}: {found:?}");
        }
    }
}
