//! Issue 13: work in a guest, as a user asks for it.
//!
//! Without the kernel (`raidloom guest build`) the tests that boot one are skipped; in CI that is a
//! failure.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::Command;

use serde_json::Value;

fn raidloom(arguments: &[&str]) -> (Option<i32>, String, String) {
    let ended = Command::new(env!("CARGO_BIN_EXE_raidloom")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ended.status.code(), text(ended.stdout), text(ended.stderr))
}

fn is_built() -> bool {
    match guest::Kernel::find() {
        Ok(_) => true,
        Err(error) => {
            assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "{error}");
            testkit::skipped!("{error}");
            false
        }
    }
}

const DISK: [&str; 4] = ["--stack", "model:maxtor-6y200p0", "--disk-size", "512MiB"];

/// "`raidloom bench bonnie|copy|crystal|… --guest …`: the suite runs inside, on a file system on
/// that stack, in modelled time, unchanged".
#[test]
fn a_suite_runs_in_a_guest_and_the_same_seed_gives_the_same_figures() {
    if !is_built() {
        return;
    }
    let run = |seed: &str| {
        let suite = ["bench", "bonnie", "--json", "--guest", "--memory", "48MiB", "--fs", "ext3"];
        let own = ["-s", "96", "-n", "0", "-f", "-x", "1", "-r", "0", "-z", seed];
        let (code, said, errors) = raidloom(&[&suite[..], &DISK[..], &own[..]].concat());
        assert_eq!(code, Some(0), "{said} {errors}");
        serde_json::from_str::<Value>(&said).unwrap()
    };
    let (first, second) = (run("1"), run("1"));
    assert_eq!(first["guest"]["label"], "modelled, Linux 6.1 in the guest");
    assert_eq!(first["clock"], "virtual");
    assert_eq!((&first["suite"], first["rows"].as_array().unwrap().len()), (&"bonnie".into(), 4));
    // 96 MiB are written, read and written again, and read.
    let disk = &first["guest"]["disks"][0];
    assert!(disk["written_bytes"].as_u64().unwrap() > 190 << 20, "{disk}");
    assert!(disk["read_bytes"].as_u64().unwrap() > 100 << 20, "{disk}");
    assert_eq!(first["rows"], second["rows"]);
    assert_eq!(first["guest"]["disks"], second["guest"]["disks"]);
}

/// "`md = "raid5 chunk=64KiB"` (the kernel's own md over the same models)".
#[test]
fn the_guests_own_md_works_over_modelled_disks() {
    if !is_built() {
        return;
    }
    let disks = [DISK, DISK, DISK].concat();
    let disks: Vec<&str> =
        disks.chunks(2).filter(|pair| pair[0] == "--stack").flatten().copied().collect();
    let setup = ["guest", "run", "--json", "--memory", "64MiB", "--disk-size", "64MiB", "--md"];
    let work = [
        "raid5 chunk=64KiB",
        "--",
        "dd if=/dev/zero of=/dev/md0 bs=1M count=64 oflag=direct; cat /proc/mdstat",
    ];
    let (code, said, errors) = raidloom(&[&setup[..], &work[..1], &disks, &work[1..]].concat());
    assert_eq!(code, Some(0), "{said} {errors}");
    let document: Value = serde_json::from_str(&said).unwrap();
    let mdstat = document["output"].as_str().unwrap();
    assert!(
        mdstat.contains("active raid5 vdc[2] vdb[1] vda[0]") && mdstat.contains("64k chunk"),
        "{mdstat}"
    );
    // Two of three are data.
    let written: Vec<u64> = document["disks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|disk| disk["written_bytes"].as_u64().unwrap())
        .collect();
    assert!(written.iter().all(|bytes| (32 << 20..34 << 20).contains(bytes)), "{written:?}");
}

/// What cannot be is said in one line, before anything is booted or by what the guest said.
#[test]
fn what_a_guest_cannot_do_is_said_in_one_line() {
    let cases: [(&[&str], &str); 5] = [
        (&["bench", "bonnie", "--guest"], "a guest needs a disk: --stack"),
        (&["bench", "bonnie", "--fs", "ext3", "/tmp"], "are for --guest"),
        (&["bench", "bonnie", "--guest", "/tmp"], "/tmp: with --guest the target is"),
        (&["guest", "run", "--stack", "ram:1MiB", "--md", "raid9", "true"], "`raid9` is no level"),
        (&["guest", "run", "--stack", "file:a.img", "true"], "name model: leaves"),
    ];
    for (arguments, expected) in cases {
        let (code, _, errors) = raidloom(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(expected) && errors.lines().count() == 1, "{errors}");
    }
    if !is_built() {
        return;
    }
    let fs = ["--fs", "ext4", "--make-options", "-E nonsense"];
    let (code, _, errors) = raidloom(&[&["guest", "run"], &DISK[..], &fs[..], &["true"]].concat());
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("the guest's disks: setting up: mkfs.ext4 ended with 1"), "{errors}");
    let (code, said, errors) = raidloom(&["guest", "run", "--stack", "ram:1MiB", "echo a; exit 9"]);
    assert_eq!((code, said.as_str()), (Some(1), "a\n"), "{errors}");
    assert!(errors.contains("ended with 9"), "{errors}");
}
