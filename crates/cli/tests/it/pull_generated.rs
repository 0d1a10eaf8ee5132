//! Small works that are generated: nothing is said of what keeps its promises, and what does not is
//! found.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use serde_json::Value;

use crate::pull::{command, has_guest, json};

/// The figures of small works on a file system.
fn pulled(words: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let begin = ["pull", "--guest", "--work", "generated", "--json", "--memory", "96MiB"];
    let all = [&begin[..], &["-s", "recordings=1"], words].concat();
    json(&command(folder.path(), &all).output().unwrap())["outcome"].clone()
}

#[test]
fn ext4_keeps_what_it_has_promised() {
    if !has_guest() {
        return;
    }
    let outcome = pulled(&["ram:64MiB", "--steps", "96", "--pulls", "30", "--hunt", "30"]);
    for sample in ["figure", "hunt"] {
        let card = &outcome[sample]["card"];
        assert_eq!((&card["promise_broken"]["count"], &card["pulls"]), (&0.into(), &30.into()));
        assert_eq!(card["unmountable"]["count"], 0, "{card}");
        assert_eq!(outcome[sample]["unsteady"], 0, "{outcome}");
    }
    assert!(outcome["promises"].as_u64() > Some(150), "{outcome}");
}

/// Planted: nothing is flushed.
#[test]
fn a_file_system_without_barriers_is_found() {
    if !has_guest() {
        return;
    }
    let words = ["ram:64MiB", "--steps", "48", "--pulls", "10", "--mount-options", "barrier=0"];
    let card = pulled(&words)["figure"]["card"].clone();
    assert!(card["promise_broken"]["count"].as_u64() > Some(5), "{card}");
}

/// Planted: what ext4 does of itself so that a rename without fsync leaves one of both files is
/// switched off. POSIX promises nothing there, and so it is counted apart.
#[test]
fn a_rename_that_leaves_neither_file_is_found() {
    if !has_guest() {
        return;
    }
    let words = ["ram:64MiB", "--steps", "45", "--pulls", "60", "--seed", "2"];
    let torn = |more: &[&str]| {
        let card = pulled(&[&words[..], more].concat())["figure"]["card"].clone();
        assert_eq!(card["promise_broken"]["count"], 0, "{card}");
        card["rename_torn"]["count"].as_u64()
    };
    assert_eq!(torn(&[]), Some(0));
    assert!(torn(&["--mount-options", "noauto_da_alloc"]) > Some(0));
}
