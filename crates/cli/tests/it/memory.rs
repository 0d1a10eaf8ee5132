//! Memory that is not there is not promised: one line with what is asked for and what there is,
//! from every verb, before anything is begun.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn raidloom(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

/// "`ram:8000000TiB` in a plan aborts `plan check`."
#[test]
fn no_verb_is_killed_by_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // As much as no machine has, and what would be tried if it were not compared.
    for size in ["8000000TiB", "50TiB"] {
        let plan = format!(
            "schema = 1\nname = \"f\"\n[members.m]\nstacks = [\"ram:{size}\"]\n[[add]]\n\
            level = \"single\"\n[baseline]\nlevel = \"single\"\n[[workload]]\nsuite = \"devtest\"\n"
        );
        fs::write(folder.join("plan.toml"), plan).unwrap();
        let ram = format!("ram:{size}");
        let cache = format!("cache(ram:{size}, ram:1MiB)");
        let written_back = format!("cache(mode=write-back, ram:{size}, ram:1MiB)");
        let mirror = format!("raid1(ram:1MiB, {ram})");
        let guest = ["guest", "run", "--memory", size, "--stack", "model:maxtor-6y200p0", "true"];
        let lines: [&[&str]; 11] = [
            &guest,
            &["run", "plan", "plan.toml"],
            &["run", "plan", "plan.toml"],
            &["run", "plan.toml", "-o", "run"],
            &["bench", "devtest", &ram],
            &["bench", "crystal", &cache],
            &["bench", "hdparm", &mirror],
            &["bench", "depth", &written_back],
            &["array", "start", &ram],
            &["array", "start", "--foreground", &cache],
            &["array", "cache", "flush", &written_back],
        ];
        for arguments in lines {
            let output = raidloom(folder, arguments);
            let said = String::from_utf8(output.stderr).unwrap();
            let code = output.status.code();
            assert!(matches!(code, Some(2 | 4 | 78)), "{arguments:?}: {code:?} {said}");
            assert!(said.lines().count() == 1 && said.contains("memory"), "{arguments:?}: {said}");
        }
        assert!(!folder.join("run").exists(), "nothing was begun");
    }
}

/// "one table of mounts per check": what there is of memory, and where cgroups are mounted, is
/// asked as often for many configurations as for few.
#[test]
fn a_check_asks_for_the_memory_no_more_often_for_more_configurations() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let asked = |depths: u32| {
        let depths = (1..=depths).map(|depth| depth.to_string()).collect::<Vec<_>>().join(", ");
        let plan = format!(
            "schema = 1\nname = \"f\"\n[members.m]\nstacks = [\"ram:64MiB\", \"ram:64MiB\"]\n[matrix]\n\
            level = [\"linear\", \"raid0\", \"raid1\"]\nchunk = [\"4KiB\", \"8KiB\"]\n\
            depth = [{depths}]\n[baseline]\nlevel = \"linear\"\n[[workload]]\nsuite = \"devtest\"\n"
        );
        fs::write(folder.join("plan.toml"), plan).unwrap();
        let strace = Command::new("strace")
            .args(["-f", "-e", "trace=openat", "-o", "opened"])
            .args([env!("CARGO_BIN_EXE_raidloom"), "run", "plan", "plan.toml"])
            .current_dir(folder)
            .output();
        let output = strace.ok()?;
        assert!(output.status.success(), "{output:?}");
        let opened = fs::read_to_string(folder.join("opened")).unwrap();
        Some(["meminfo", "mountinfo"].map(|name| opened.matches(name).count()))
    };
    let (Some(few), Some(many)) = (asked(1), asked(50)) else {
        return testkit::missing!("strace: apt-get install strace");
    };
    assert_eq!(few, many);
    assert!(few.iter().all(|count| (1..=8).contains(count)), "{few:?}");
}
