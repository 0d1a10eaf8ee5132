use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use block::{Clock, Reactor};

use super::*;
use crate::suite::{NoAudit, NoProgress, Row, Ticker};

fn settings(said: &[(&str, &str)]) -> Settings {
    let mut settings = SUITE.defaults(Clock::Wall);
    for (name, text) in said {
        let value = match SUITE.setting(name).expect("a setting").kind {
            Kind::Count(..) => Value::Count(text.parse().expect("a number")),
            Kind::Switch => Value::Switch(true),
            _ => Value::from((*text).to_owned()),
        };
        settings.set(&SUITE, name, value).expect("a value of the setting");
    }
    settings
}

fn run_in(target: &Path, said: &[(&str, &str)]) -> Result<Vec<Row>, Error> {
    let reactor = Reactor::wall().expect("io_uring");
    let (stop, ticker, mut meter, mut observer) =
        (AtomicBool::new(false), Ticker::new(), NoAudit, NoProgress);
    let mut session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut observer);
    (SUITE.run)(Target::Folder(target), &settings(said), &mut session)?;
    Ok(session.into_rows())
}

fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("an entry").file_name().into_string().expect("a name")
    };
    std::fs::read_dir(folder).expect("a folder").map(name).collect()
}

#[test]
fn a_command_is_timed_until_it_ends_and_until_all_is_durable() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let cleanup = format!("cat out; ls {{dir}} | wc -l >> {}", log.display());
    let rows = run_in(
        folder.path(),
        &[
            ("prepare", "echo $WORD > {dir}/in"),
            ("run", "cat in > out && test \"$(cat {dir}/out)\" = 'two words'"),
            ("cleanup", &cleanup),
            ("environment", "WORD=two words\n"),
            ("runs", "3"),
        ],
    )
    .expect("it runs");
    assert_eq!(rows.len(), 3);
    for row in &rows {
        let metrics = row.measured().expect("measured").metrics();
        let (elapsed, durable) = (metrics["elapsed_seconds"], metrics["durable_elapsed_seconds"]);
        assert!(elapsed > 0.0 && durable >= elapsed, "{metrics:?}");
        assert!((durable - elapsed - metrics["flush_seconds"]).abs() < 1e-9);
        assert!(!metrics.contains_key("io_per_second") && row.phase == "wall time");
    }
    // Each run began in a fresh folder, was cleaned up, and nothing of it is left.
    assert_eq!(std::fs::read_to_string(&log).expect("the log"), "2\n2\n2\n");
    assert_eq!(names(folder.path()), ["log"]);
}

/// It works in its folder, so the path that it is given leads there from anywhere.
#[test]
fn a_folder_may_be_named_from_where_one_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = std::env::current_dir().expect("a folder");
    let up = here.components().skip(1).map(|_| "..").collect::<PathBuf>();
    let relative = up.join(folder.path().strip_prefix("/").expect("it is absolute"));
    let rows = run_in(&relative, &[("run", "echo > {dir}/out && test -e out")]);
    assert_eq!(rows.expect("it runs").len(), 1);
}

#[test]
fn figures_that_it_prints_are_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let figures = "commit_seconds in ms regex average = ([0-9.]+)\nmail_per_second json $.rate\ndd";
    let run = "echo 'average = 2.5 ms'; echo '{ \"rate\": 7 }'; dd if=/dev/zero of={dir}/x bs=64k \
        count=4";
    let rows = run_in(folder.path(), &[("run", run), ("figures", figures)]).expect("it runs");
    let phases: Vec<&str> = rows.iter().map(|row| row.phase.as_str()).collect();
    assert_eq!(phases, ["commit", "mail", "throughput"]);
    for row in &rows {
        let metrics = row.measured().expect("measured").metrics();
        assert_eq!((metrics["commit_seconds"], metrics["mail_per_second"]), (0.0025, 7.0));
        assert_eq!(metrics["copied_bytes"], 262_144.0);
        assert!(metrics["throughput_bytes_per_second"] > 0.0 && metrics["elapsed_seconds"] > 0.0);
    }
}

#[test]
fn what_fails_is_an_error_and_no_figure() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = |said: &[(&str, &str)]| run_in(folder.path(), said).expect_err("it fails");
    let log = folder.path().join("log");
    let cleanup = format!("echo cleaned >> {}", log.display());
    for (said, words) in [
        ([("run", "echo a; echo b >&2; exit 7"), ("cleanup", &*cleanup)], "status 7; its last "),
        ([("run", "true"), ("prepare", "echo no; false")], "prepare ended with status 1"),
        ([("run", "true"), ("cleanup", "false")], "cleanup ended with status 1 and said nothing"),
        ([("run", "echo 3"), ("figures", "pgbench")], "no figure of pgbench's"),
    ] {
        let error = error(&said);
        // Not one of the kinds that mean `cannot be done here`: a plan stops.
        assert!(error.kind() == ErrorKind::Other, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&log).expect("the log"), "cleaned\n");
    assert_eq!(names(folder.path()), ["log"]);
    let unfit = error(&[("run", "cat {device}")]);
    assert!(unfit.to_string().contains("the target is a folder: write {dir}"), "{unfit}");
}

#[test]
fn settings_that_make_no_sense_are_refused_where_they_are_set() {
    let mut settings = SUITE.defaults(Clock::Wall);
    for (name, text, words) in [
        ("run", " ", "name the command"),
        ("environment", "WORD", "expected NAME=VALUE"),
        ("figures", "hyperfine", "no format of that name"),
    ] {
        let error = settings.set(&SUITE, name, Value::from(text.to_owned())).expect_err(text);
        let error = error.to_string();
        assert!(error.starts_with(&format!("{name}: ")) && error.contains(words), "{error}");
    }
}
