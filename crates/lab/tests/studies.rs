//! The plans of `plans/`: each is a good one, in each of its forms, and those that need no guest
//! run in the smallest version of themselves; the others are run by the command line's tests. What
//! this machine cannot have is a trial that says why.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lab::{Ended, RunOptions, Silent};
use results::{Run, Trial};
use serve::{Runtime, ServeWith};

/// Paths of models in the plans are relative to the folder above `plans/`.
fn in_the_workspace() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    std::env::set_current_dir(&workspace).unwrap();
    workspace
}

fn plans() -> Vec<PathBuf> {
    let files = std::fs::read_dir(in_the_workspace().join("plans"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut plans: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    plans.sort();
    plans
}

/// In a process whose standard input is a socket, this serves a cell; otherwise it does nothing.
#[test]
fn serve() {
    if rustix::net::sockopt::socket_type(std::io::stdin()).is_ok()
        && std::env::args().any(|argument| argument == "--quiet")
    {
        let (signals, _quiet) = std::os::unix::net::UnixStream::pair().unwrap();
        // Without a text its starter was told.
        let ended = serve::serve(None, &signals).err().map(|error| error.to_string());
        assert_eq!(ended.unwrap_or_default(), "");
    }
}

/// Runs a plan of `plans/`, made small.
fn run(name: &str, overrides: &[&str]) -> Run {
    let plan = in_the_workspace().join("plans").join(name);
    let overrides: Vec<String> =
        overrides.iter().map(ToString::to_string).chain(["trials.blocks=1".to_owned()]).collect();
    let resolved = lab::plan::load(&plan, &overrides).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--exact", "serve", "--nocapture", "--quiet"].map(str::to_owned).to_vec();
    let program = std::env::current_exe().unwrap();
    let runtime = Runtime::at(folder.path().join("servers"));
    let serve_with = Some(ServeWith { program, arguments, runtime });
    let options =
        RunOptions { output: Some(folder.path().join("run")), serve_with, ..RunOptions::default() };
    let outcome = lab::start(&resolved, &options, &AtomicBool::new(false), &mut Silent).unwrap();
    assert_eq!(outcome.ended, Ended::Complete);
    let left = std::fs::read_dir(folder.path().join("run"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert!(
        !left.into_iter().any(|name| name == "attached" || name == "members"),
        "something was left behind"
    );
    let run = outcome.run;
    assert_eq!(run.trials.len(), run.plan.configurations.len() * run.plan.workloads.len());
    for trial in &run.trials {
        let measured = trial.metrics.contains_key("operations_count");
        let says_why = trial.flags.iter().any(|flag| flag.starts_with("not measured: "));
        assert!(measured != says_why, "a trial has figures or a reason: {trial:?}");
    }
    if let Some(note) = run.notes.first() {
        println!("{name}: {note}");
    }
    run
}

/// Whether trials of this file system have to have figures here.
fn must_measure(trial: &Trial) -> bool {
    let possible = rustix::process::geteuid().is_root()
        && Path::new("/dev/fuse").exists()
        && Path::new("/dev/loop-control").exists();
    possible && trial.settings.get("file_system").is_some_and(|name| name.starts_with("ext"))
}

#[track_caller]
fn assert_measured(run: &Run) {
    for trial in run.trials.iter().filter(|trial| must_measure(trial)) {
        assert!(!trial.metrics.is_empty(), "{trial:?}");
    }
}

#[test]
fn every_plan_is_a_good_one() {
    let plans = plans();
    assert!(plans.len() >= 6, "{plans:?}");
    for path in plans {
        let outline = |said: &[String]| {
            let resolved = lab::plan::load(&path, said).unwrap();
            lab::plan::outline(&resolved.plan).unwrap()
        };
        assert!(outline(&[]).trials > 0, "{}", path.display());
        if std::fs::read_to_string(&path).unwrap().contains("[sizes.short]") {
            let short = outline(&["size=short".to_owned()]);
            assert!(short.trials > 0, "{}", path.display());
        }
    }
}

/// "two on two channels nearly double; two on one channel are slower than one disk; four gain over
/// one but stay below two on two; linear is one disk". docs/studies.md says why three do not gain.
#[test]
fn two_on_one_channel_are_slower_than_one_disk() {
    let run = run("shared-channel.toml", &["workload.time=2s", "workload.size=64MiB"]);
    for direction in ["read", "write"] {
        let workload = format!("crystal: SEQ1M Q8T1 {direction}");
        let rate = |members: &str, level: &str| {
            let is_it = |trial: &&Trial| {
                trial.settings["members"] == members
                    && trial.settings["level"] == level
                    && trial.workload == workload
            };
            run.trials.iter().find(is_it).unwrap().metrics["throughput_bytes_per_second"]
        };
        let one = rate("one", "single");
        let of_one = |members: &str, level: &str| rate(members, level) / one;
        let (shared, apart) =
            (of_one("two-on-one-channel", "raid0"), of_one("two-on-two-channels", "raid0"));
        let (three, four) =
            (of_one("three-on-two-channels", "raid0"), of_one("four-on-two-channels", "raid0"));
        let linear = of_one("four-on-two-channels", "linear");
        println!("{direction}: {shared:.3}, {apart:.3}, {three:.3}, {four:.3}, {linear:.3}");
        assert!(apart > 1.9, "{direction}: two on two channels: {apart}");
        assert!(shared < 0.95, "{direction}: two on one channel: {shared}");
        assert!(four > 1.05 && four < apart, "{direction}: four on two: {four}");
        assert!(three > shared && three < four, "{direction}: three on two: {three}");
        assert!((0.9..1.1).contains(&linear), "{direction}: linear: {linear}");
    }
}

#[test]
fn cache_effect_runs() {
    let small = [
        "matrix.file_system=[\"ext4\", \"xfs\", \"udf\"]",
        "workload.size=4MiB",
        "workload.time=20ms",
    ];
    assert_measured(&run("cache-effect.toml", &small));
}
