//! `cargo xtask fuzz`: every target of `fuzz/` for a while, two at a time, and one with a mistake
//! in it that has to be found.
//!
//! ```text
//!   fuzz/seeds/TARGET    what it starts from; inputs that broke something are added here
//!   fuzz/corpus/TARGET   what it has found since; not in git
//!   fuzz/artifacts       inputs that break something; not in git
//!   target/fuzz          programs and logs
//! ```

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

const TARGETS: &[&str] = &[
    "md_structures",
    "md_members",
    "rescue",
    "image_tables",
    "luks_header",
    "nbd_handshake",
    "nbd_replies",
    "nbd_requests",
    "stack_text",
    "trace",
];
/// The same choices each time, so that CI judges what was changed and not its luck; `--seed` is for
/// the nights.
const SEED: u32 = 20_261_121;
/// The target that has to break, and whose seeds it starts from.
const PLANTED: (&str, &str) = ("planted", "md_structures");
/// How long each target runs when nothing else is said; what CI takes.
const SECONDS: u32 = 60;
const AT_A_TIME: usize = 2;

/// What is to be run.
#[derive(Debug, PartialEq, Eq)]
struct Settings {
    seconds: u32,
    seed: u32,
    targets: Vec<&'static str>,
}

/// What became of a target.
#[derive(Debug, PartialEq, Eq)]
enum Ending {
    /// Nothing broke in so many runs.
    Held(u64),
    /// What broke, and the input that does it.
    Broke { what: String, input: Option<String> },
    /// It did not run.
    Failed(String),
}

/// Runs what the arguments name, or all of it as CI does; whether nothing broke but what has to.
///
/// # Errors
/// A wrong argument, or what is missing on this machine.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let settings = settings(arguments)?;
    missing(root).map_or(Ok(()), Err)?;
    let mut build = command(root, "build");
    let built = build.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !built.success() {
        return Err("the targets do not build".to_owned());
    }
    let queue: Mutex<VecDeque<&str>> =
        Mutex::new([PLANTED.0].into_iter().chain(settings.targets.iter().copied()).collect());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    println!("seed {}\n{:<14} {:>8} {:>12}  result", settings.seed, "target", "seconds", "runs");
    let work = || {
        let mut all_well = true;
        while let Some(target) = next() {
            let start = Instant::now();
            let ending = fuzz(root, target, &settings);
            let (well, runs, text) = verdict(target, &ending);
            println!("{target:<14} {:>8.1} {runs:>12}  {text}", start.elapsed().as_secs_f64());
            all_well &= well;
        }
        all_well
    };
    let all_well = thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        workers.into_iter().all(|worker| worker.join().unwrap_or(false))
    });
    Ok(all_well)
}

/// What keeps this machine from fuzzing, if anything does.
pub(crate) fn missing(root: &Path) -> Option<String> {
    let look = Command::new("cargo")
        .args(["+nightly", "fuzz", "--version"])
        .env("RUSTUP_AUTO_INSTALL", "0")
        .current_dir(root)
        .output();
    match look {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let why = text
                .lines()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("cargo +nightly fuzz does not run");
            let advice = "it takes a nightly compiler, a C++ compiler, and cargo-fuzz: cargo \
                install --locked cargo-fuzz";
            Some(format!("{}; {advice}", why.trim_start_matches("error: ")))
        }
        Err(error) => Some(format!("cargo cannot be started: {error}")),
    }
}

fn settings(arguments: &[String]) -> Result<Settings, String> {
    let mut settings = Settings { seconds: SECONDS, seed: SEED, targets: Vec::new() };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            let seconds = arguments
                .next()
                .and_then(|seconds| seconds.parse().ok())
                .filter(|&seconds| seconds > 0);
            settings.seconds = seconds.ok_or("--seconds takes a number of seconds, at least 1")?;
        } else if argument == "--seed" {
            settings.seed = arguments
                .next()
                .and_then(|seed| seed.parse().ok())
                .ok_or("--seed takes a number")?;
        } else if let Some(target) = TARGETS.iter().find(|target| *target == argument) {
            settings.targets.push(target);
        } else {
            return Err(format!(
                "no such target: {argument}; the targets are {}",
                TARGETS.join(", ")
            ));
        }
    }
    if settings.targets.is_empty() {
        settings.targets = TARGETS.to_vec();
    }
    Ok(settings)
}

/// `cargo fuzz VERB`, to which a target may be added.
fn command(root: &Path, verb: &str) -> Command {
    let mut command = Command::new("cargo");
    command
        .args(["+nightly", "fuzz", verb, "--target-dir", "target/fuzz"])
        .current_dir(root)
        .stdin(Stdio::null());
    command.env("RUSTUP_AUTO_INSTALL", "0");
    command
}

fn fuzz(root: &Path, target: &str, settings: &Settings) -> Ending {
    let seeds = if target == PLANTED.0 { PLANTED.1 } else { target };
    let corpus = format!("fuzz/corpus/{target}");
    let log = root.join(format!("target/fuzz/{target}.log"));
    let start = || -> io::Result<bool> {
        fs::create_dir_all(root.join(&corpus))?;
        let output = File::create(&log)?;
        let mut command = command(root, "run");
        command.args([
            target,
            corpus.as_str(),
            &format!("fuzz/seeds/{seeds}"),
            "--",
            "-print_final_stats=1",
            "-timeout=30",
        ]);
        command.args([
            format!("-seed={}", settings.seed),
            format!("-max_total_time={}", settings.seconds),
        ]);
        let status = command.stdout(output.try_clone()?).stderr(output).status()?;
        Ok(status.success())
    };
    match start() {
        Ok(success) => {
            let text = fs::read(&log)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .unwrap_or_default();
            ending(&text, success)
        }
        Err(error) => Ending::Failed(error.to_string()),
    }
}

/// What a fuzzer's log and exit code amount to.
fn ending(log: &str, success: bool) -> Ending {
    if success {
        let runs = log.lines().find_map(|line| {
            line.strip_prefix("stat::number_of_executed_units:")?.trim().parse().ok()
        });
        return match runs {
            Some(runs) if runs > 0 => Ending::Held(runs),
            _ => Ending::Failed("it ran nothing".to_owned()),
        };
    }
    let input = log
        .lines()
        .find_map(|line| line.split_once("Test unit written to "))
        .map(|(_, path)| path.trim().to_owned());
    let mut lines = log.lines().skip_while(|line| !line.contains("panicked at "));
    let what = match (lines.next(), lines.next()) {
        (Some(place), Some(message)) => {
            format!(
                "{}: {message}",
                place.rsplit("panicked at ").next().unwrap_or(place).trim_end_matches(':')
            )
        }
        _ => {
            let line = log
                .lines()
                .find(|line| line.contains("ERROR: "))
                .or(log.lines().rfind(|line| !line.trim().is_empty()));
            line.unwrap_or("it said nothing").to_owned()
        }
    };
    if input.is_none() { Ending::Failed(what) } else { Ending::Broke { what, input } }
}

/// Whether a target ended as it has to, how often it ran, and what to say.
fn verdict(target: &str, ending: &Ending) -> (bool, String, String) {
    let is_planted = target == PLANTED.0;
    match ending {
        Ending::Held(runs) if is_planted => {
            (false, runs.to_string(), "FAILED: the mistake in it was not found".to_owned())
        }
        Ending::Held(runs) => (true, runs.to_string(), "nothing broke".to_owned()),
        Ending::Broke { .. } if is_planted => {
            (true, String::new(), "the mistake in it was found".to_owned())
        }
        Ending::Broke { what, input } => {
            let input = input.as_deref().unwrap_or("INPUT");
            (
                false,
                String::new(),
                format!("FAILED: {what}\n  again: cargo +nightly fuzz run {target} {input}"),
            )
        }
        Ending::Failed(why) => {
            (false, String::new(), format!("FAILED: {why}; the log is target/fuzz/{target}.log"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings_of(arguments: &[&str]) -> Result<Settings, String> {
        settings(&arguments.iter().map(|&argument| argument.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn targets_and_time_are_chosen() {
        assert_eq!(
            settings_of(&[]),
            Ok(Settings { seconds: 60, seed: SEED, targets: TARGETS.to_vec() })
        );
        let expected = Settings { seconds: 5, seed: 7, targets: vec!["trace"] };
        assert_eq!(settings_of(&["trace", "--seconds", "5", "--seed", "7"]), Ok(expected));
        assert!(settings_of(&["--seed", "x"]).is_err());
        assert!(
            settings_of(&["tracer"])
                .is_err_and(|error| error.contains("tracer") && error.contains("nbd_handshake"))
        );
        assert!(settings_of(&["--seconds"]).is_err() && settings_of(&["--seconds", "0"]).is_err());
    }

    #[test]
    fn a_log_says_whether_anything_broke() {
        let held = "#2\tINITED cov: 10\nDone 4711 runs in 2 \
            second(s)\nstat::number_of_executed_units: 4711\n";
        assert_eq!(ending(held, true), Ending::Held(4711));
        assert!(
            matches!(ending("", true), Ending::Failed(_)),
            "a target that ran nothing has not held"
        );
        let broke = "thread '<unnamed>' (7) panicked at fuzz_targets/planted.rs:17:16:\nindex out \
            of bounds: the len is 512\n\
                     ==7== ERROR: libFuzzer: deadly signal\n\
                     artifact_prefix='/r/fuzz/artifacts/planted/'; Test unit written to \
                     /r/fuzz/artifacts/planted/crash-5e\n";
        let expected = Ending::Broke {
            what: "fuzz_targets/planted.rs:17:16: index out of bounds: the len is 512".to_owned(),
            input: Some("/r/fuzz/artifacts/planted/crash-5e".to_owned()),
        };
        assert_eq!(ending(broke, false), expected);
        let (well, _, text) = verdict("trace", &expected);
        assert!(
            !well
                && text.contains("index out of bounds")
                && text.contains("fuzz run trace /r/fuzz/artifacts/planted/crash-5e"),
            "{text}"
        );
        assert!(
            verdict("planted", &expected).0 && !verdict("planted", &Ending::Held(1)).0,
            "the planted mistake has to be found"
        );
        assert!(matches!(ending("error: no such target\n", false),
                Ending::Failed(why) if why.contains("no such target")));
    }

    #[test]
    fn every_target_has_a_program_and_seeds() {
        let folder = crate::root().join("fuzz");
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let programs: Vec<&str> = manifest
            .split("[[bin]]\nname = \"")
            .skip(1)
            .filter_map(|text| text.split('"').next())
            .collect();
        let listed: Vec<&str> = TARGETS.iter().copied().chain([PLANTED.0]).collect();
        assert_eq!(programs, listed);
        for target in TARGETS {
            assert!(
                fs::read_dir(folder.join("seeds").join(target))
                    .is_ok_and(|seeds| seeds.count() > 0),
                "{target}"
            );
        }
    }
}
