//! The pull test of programs of the user's own, as its users run it.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::pull::{command, has_guest, json};

/// Does what it promises: the file, its name, and only then the mark.
const RIGHT: &str = "for i in $(seq $STEPS); do echo content $i >$i.new; sync $i.new; \
    mv $i.new $i; sync .; echo $i >>$MARKS; done";
/// What was promised is there and holds what it held.
const CHECK: &str = "while read -r i; do [ -e $i ] || { echo lost $i; continue; }; \
    [ \"$(cat $i)\" = \"content $i\" ] || echo wrong $i; done <$PROMISED";

fn pull(folder: &Path, work: &str, check: &str, more: &[&str]) -> Command {
    let plain = ["pull", "--guest", "ram:32MiB", "--memory", "96MiB", "--steps", "30", "--json"];
    let own = ["--work-command", work, "--check", check];
    command(folder, &[&plain[..], &own, more].concat())
}

const ONE_RECORDING: [&str; 2] = ["-s", "recordings=1"];

fn found(folder: &Path, work: &str, more: &[&str]) -> Value {
    json(&pull(folder, work, CHECK, more).output().unwrap())
}

/// Hundreds of states of a program that is right, and none of them is called wrong.
#[test]
fn a_program_that_is_right_loses_nothing() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let sound = found(folder.path(), RIGHT, &["--pulls", "150", "--hunt", "150"]);
    assert_eq!(sound["outcome"]["promises"], 3 * 30, "{sound}");
    for sample in ["figure", "hunt"] {
        let one = &sound["outcome"][sample];
        assert_eq!((&one["card"]["pulls"], &one["unsteady"]), (&150.into(), &0.into()), "{one}");
        assert_eq!(one["card"]["promise_broken"]["count"], 0, "{one}");
        assert!(one["card"]["promises"].as_u64() > Some(1000), "{one}");
    }
    let few = [&["--pulls", "6", "--hunt", "6"], &ONE_RECORDING[..]].concat();
    let twice = [(); 2].map(|()| found(folder.path(), RIGHT, &few));
    assert_eq!(twice[0], twice[1], "to the nanosecond");
}

/// What programs do wrong: no flush of the folder, no flush at all, one of the data alone and not
/// of what finds them, a promise before the flush, and what was only printed.
#[test]
fn a_program_that_promises_too_much_is_found() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at_once = RIGHT.replace("sync $i.new;", "").replace("sync .;", "");
    let range = RIGHT.replace("sync $i.new;", "xfs_io -c 'sync_range -w 0 0' $i.new;");
    let early = RIGHT.replace("sync $i.new;", "echo $i >>$MARKS; sync $i.new;");
    for (what, work) in [
        ("no folder", RIGHT.replace("sync .;", "")),
        ("no flush", at_once.clone()),
        ("sync_file_range", range.replace("sync .;", "")),
        ("too early", early),
        ("printed", at_once.replace(" >>$MARKS", "")),
    ] {
        let kept = ["--keep-failing", what, "--junit", "cuts.xml"];
        let more = [&["--pulls", "10", "--hunt", "10"], &kept[..], &ONE_RECORDING].concat();
        let output = pull(folder.path(), &work, CHECK, &more).output().unwrap();
        let cuts = fs::read_to_string(folder.path().join("cuts.xml")).unwrap();
        assert_eq!(output.status.code(), Some(3), "{what}: {cuts}");
        assert!(cuts.contains("<failure message=\"grade D"), "{what}: {cuts}");
        let broken = json(&output);
        let one = &broken["outcome"]["figure"];
        assert!(one["card"]["promise_broken"]["count"].as_u64() > Some(0), "{what}: {broken}");
        assert_eq!((&one["card"]["grade"], &one["unsteady"]), (&"D".into(), &0.into()), "{what}");
        let kept = broken["outcome"]["kept"][0].as_str().unwrap();
        let replay = ["pull", "--json", "--replay", kept];
        let replayed = json(&command(folder.path(), &replay).output().unwrap());
        assert_eq!(replayed["is_same_state"], true, "{what}: {replayed}");
        assert_eq!(replayed["is_same_judgement"], true, "{what}: {replayed}");
    }
}

/// Of the lost writes the one or few whose loss alone breaks the same: where they lie, whose they
/// are, and which flush should have covered them; and the drives as files.
#[test]
fn a_kept_state_says_its_smallest_loss_and_is_in_the_hand() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let five = "raid5(metadata=1.2, chunk=64KiB, ram:24MiB, ram:24MiB, ram:24MiB)";
    let no_folder = RIGHT.replace("sync .;", "");
    let lying = ["--device", "lying"];
    for (name, stack, work, more, kind) in [
        ("barrier", "ram:32MiB", RIGHT, &["--mount-options", "barrier=0"][..], "never"),
        ("lying", "ram:32MiB", RIGHT, &lying, "ignored"),
        ("array", five, RIGHT, &["--mount-options", "barrier=0"], "never"),
        ("folder", "ram:32MiB", &no_folder, &["--fs", "ext4"], "after_cut"),
        ("xfs", "ram:320MiB", RIGHT, &[&lying[..], &["--fs", "xfs"]].concat(), "ignored"),
        ("btrfs", "ram:256MiB", RIGHT, &[&lying[..], &["--fs", "btrfs"]].concat(), "ignored"),
        // FAT loses by itself, and what came later on NTFS over the same place belongs to it.
        ("fat", "ram:48MiB", RIGHT, &[&lying[..], &["--fs", "vfat"]].concat(), ""),
        ("ntfs", "ram:48MiB", RIGHT, &[&lying[..], &["--fs", "ntfs"]].concat(), ""),
    ] {
        let plain = ["pull", "--guest", stack, "--memory", "96MiB", "--steps", "30", "--json"];
        let own = ["--work-command", work, "--check", CHECK, "-s", "recordings=1"];
        let few = ["--pulls", "6", "--keep-failing", name];
        let all = [&plain[..], &own, &few, more].concat();
        let broken = json(&command(folder.path(), &all).output().unwrap());
        let kept = broken["outcome"]["kept"][0].as_str().unwrap();
        let images = format!("{name}-images");
        let replay = ["pull", "--json", "--replay", kept, "--images", &images];
        let replayed = json(&command(folder.path(), &replay).output().unwrap());
        let found = &replayed["smallest_loss"];
        assert_eq!(found["is_minimal"], true, "{name}: {found}");
        let mut writes = found["writes"].as_array().unwrap().clone();
        if kind == "after_cut" {
            assert!(writes.is_empty(), "nothing that was sent is at fault: {found}");
        }
        if writes.is_empty() {
            writes.push(found["late"].clone());
        }
        // A drive that ignores all flushes has lost of what `mkfs` wrote, too.
        let most = if stack == "ram:32MiB" || stack == five { 3 } else { 8 };
        assert!((1..=most).contains(&writes.len()), "{name}: {found}");
        for write in &writes {
            assert!(kind.is_empty() || write["flush"]["kind"] == kind, "{name}: {write}");
            assert!(write["sector"].is_u64() && write["request"].is_u64(), "{write}");
        }
        let owners = || writes.iter().flat_map(|write| write["owners"].as_array().unwrap());
        assert!(owners().count() > 0, "{name}: {found}");
        assert!(owners().any(|owner| owner["kind"] != "free"), "{name}: {found}");
        let image = folder.path().join(&images).join("drive0.img");
        assert!(image.metadata().unwrap().len() >= 24 << 20);
        let again = command(folder.path(), &replay).output().unwrap();
        assert_eq!(again.status.code(), Some(2), "the folder holds something");
    }
}

/// A check that dies or hangs says nothing of a state: those are counted apart, by their reasons.
#[test]
fn what_a_check_does_not_judge_is_counted_apart() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let is_odd = "[ $(($(wc -l <$PROMISED) % 2)) = 0 ]";
    let dies = format!("{is_odd} || kill -s SEGV $$");
    let few = [&["--pulls", "12"], &ONE_RECORDING[..]].concat();
    let one =
        &json(&pull(folder.path(), RIGHT, &dies, &few).output().unwrap())["outcome"]["figure"];
    let (judged, apart) = (one["card"]["pulls"].as_u64(), one["unjudged"].as_u64());
    assert!(judged > Some(0) && apart > Some(0), "{one}");
    assert_eq!((judged.unwrap() + apart.unwrap(), &one["card"]["grade"]), (12, &"A".into()));
    assert_eq!(one["unjudged_why"], serde_json::json!([{"signal": 11}]), "{one}");

    let hangs = format!("{is_odd} || while :; do :; done");
    let few = [&["--pulls", "4", "-s", "state_time=4s"], &ONE_RECORDING[..]].concat();
    let one =
        &json(&pull(folder.path(), RIGHT, &hangs, &few).output().unwrap())["outcome"]["figure"];
    assert_eq!(one["unjudged_why"], serde_json::json!(["hangs"]), "{one}");
}

/// One line each, and exit code 1 or, for what was typed, 2.
#[test]
fn what_cannot_be_tested_is_said_in_one_line() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("own.sh"), "true").unwrap();
    let outside = "echo >/usr/outside";
    for (work, check, more, code, expected) in [
        ("exit 3", "true", &[][..], 1, "--work-command ended with exit code 3"),
        (
            RIGHT,
            "true",
            &["--setup", "echo no >&2; false"],
            1,
            "--setup ended with exit code 1: no",
        ),
        (RIGHT, "/none/such", &[], 1, "--check fails on the file system before any power cut"),
        (RIGHT, "echo lost 1", &[], 1, "it says `lost 1`"),
        (outside, "true", &[], 1, "Read-only file system (it may write to the folder"),
        ("printf 1 >$MARKS", "true", &[], 1, "has no end of line"),
        ("./own.sh", "true", &[], 2, "name it by its whole path"),
        (" ", "true", &[], 2, "--work-command: name a program"),
        (RIGHT, "true", &["-s", "spread=5s"], 2, "takes the time that it takes"),
    ] {
        let output = pull(folder.path(), work, check, more).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{work}, {check}: {error}");
        assert!(error.contains(expected), "{work}, {check}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// Every plan in `plans/pull`, in its short form: none loses what it promises.
#[test]
fn the_plans_of_known_programs_find_nothing_lost() {
    if !has_guest() {
        return;
    }
    let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans/pull");
    let mut plans: Vec<_> =
        fs::read_dir(plans).unwrap().map(|entry| entry.unwrap().path()).collect();
    plans.sort();
    assert!(plans.len() >= 8, "{plans:?}");
    for plan in plans {
        let name = plan.file_stem().unwrap().to_str().unwrap();
        let program = match name {
            "sqlite" => "sqlite3",
            "lmdb" => "mdb_load",
            "git" | "rsync" => name,
            "postgresql" => "/usr/lib/postgresql/15/bin/postgres",
            "pgbench" => "/usr/lib/postgresql/15/bin/pg_amcheck",
            _ => "sh",
        };
        let is_there = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        if !is_there.unwrap().status.success() {
            testkit::missing!("{program} is not there");
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let run = ["run", plan.to_str().unwrap(), "-s", "size=short", "--output", "run"];
        let output = command(folder.path(), &run).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let report = json(&command(folder.path(), &["report", "run", "--json"]).output().unwrap());
        let row = &report["safety"][0]["rows"][0];
        let hunt = &row["hunt"]["tally"];
        for (tally, sample) in [(&row["whole"]["tally"], "figure"), (hunt, "hunt")] {
            assert_eq!(tally["pulls"], 10, "{name}, {sample}: {report}");
            assert!(tally["promises"].as_u64() > Some(0), "{name}, {sample}: {report}");
            assert_eq!(tally["promise_broken"], 0, "{name}, {sample}: {report}");
        }
    }
}
