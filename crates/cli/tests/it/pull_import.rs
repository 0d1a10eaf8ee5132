//! Logs of dm-log-writes as the source of states.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::Path;

use crate::pull::{command, has_guest, json};

const CHECK: &str = "while read -r i; do [ -e work/$i ] || echo lost $i; done <$PROMISED";

/// Works in a guest and writes what its drive was asked to `log`.
fn record(folder: &Path, work: &str) {
    let check = "while read -r i; do [ -e $i ] || echo lost $i; done <$PROMISED";
    let own = ["--work-command", work, "--check", check, "--steps", "20"];
    let words = ["pull", "--guest", "ram:32MiB", "--memory", "96MiB", "--json", "--pulls", "1"];
    let recorded = ["-s", "recordings=1", "--log-writes", "log"];
    json(&command(folder, &[&words[..], &own, &recorded].concat()).output().unwrap());
}

/// A log is one of a program that syncs, and one of a program that only says so; in both of them
/// the states are made of the log alone.
#[test]
fn states_of_a_log_are_judged_by_its_marks() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let states = |words: &[&str]| {
        let all =
            ["pull", "--guest", "ram:32MiB", "--memory", "96MiB", "--json", "--import", "log"];
        let some = ["--check", CHECK, "--pulls", "20", "--hunt", "10"];
        let output = command(folder.path(), &[&all[..], &some, words].concat()).output().unwrap();
        json(&output)["outcome"].clone()
    };
    let step = |sync: &str| {
        format!("for i in $(seq $STEPS); do echo text >$i; {sync} echo $i >>$MARKS; done; sync")
    };
    record(folder.path(), &step("sync $i; sync .;"));
    // Others find a promise by its line.
    let mut marks = Vec::new();
    let log = fs::File::open(folder.path().join("log")).unwrap();
    trace::read_log(log, 32 << 20, &mut |entry, _| {
        if let trace::LogEntry::Mark(text) = entry {
            marks.push(String::from_utf8(text.to_vec()).unwrap());
        }
        Ok(())
    })
    .unwrap();
    let promised: Vec<String> = (1..=20).map(|line| line.to_string()).collect();
    assert!(marks.windows(20).any(|lines| lines == promised), "{marks:?}");
    for device in ["strict", "write-through"] {
        let outcome = states(&["--device", device]);
        for sample in ["figure", "hunt"] {
            let card = &outcome[sample]["card"];
            assert_eq!(card["promise_broken"]["count"], 0, "{device}: {outcome}");
            assert_eq!(card["lost_for_good"]["count"], 0, "{device}: {outcome}");
        }
        assert!(outcome["promises"].as_u64() >= Some(20), "{outcome}");
    }
    // What the drive does not keep is lost, of the same log.
    let lying = states(&["--device", "lying"]);
    assert!(lying["hunt"]["card"]["promise_broken"]["count"].as_u64() > Some(0), "{lying}");
    record(folder.path(), &step(""));
    let unsynced = states(&["--device", "write-through"]);
    assert!(unsynced["figure"]["card"]["promise_broken"]["count"].as_u64() > Some(0), "{unsynced}");
}

#[test]
fn what_no_states_can_be_made_of_is_refused_in_one_line() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("text"), "no log").unwrap();
    fs::write(at("empty"), trace::log_super(0)).unwrap();
    let mark = trace::log_entry(&trace::LogEntry::Mark(b"mkfs"));
    fs::write(at("marked"), [trace::log_super(1), mark].concat()).unwrap();
    for (words, code, expected) in [
        (&["--import", "none", "ram:1MiB"][..], 2, "none: No such file"),
        (&["--import", "text", "ram:1MiB"], 2, "text: it is no log of dm-log-writes"),
        (&["--import", "empty", "ram:1MiB"], 2, "empty: it has no mark"),
        (&["--import", "marked", "ram:1MiB", "--check", "true"], 1, "at the end of the log"),
        (&["--import", "marked", "raid1(ram:1MiB, ram:1MiB)"], 2, "the target is one drive"),
        (&["--import", "marked", "ram:1MiB", "--steps", "3"], 2, "nothing is recorded"),
        (&["ram:1MiB", "--check", "true"], 2, "--check: of what?"),
    ] {
        let all = [&["pull", "--guest", "--memory", "96MiB", "--pulls", "2"], words].concat();
        let output = command(folder.path(), &all).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(expected), "{words:?}: {error}");
        assert_eq!((output.status.code(), error.lines().count()), (Some(code), 1), "{error}");
    }
}
