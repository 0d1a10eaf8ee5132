//! What the help and the files beside the program promise in so many words: its examples are tried
//! as they stand.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const PLAN: &str = r#"schema = 1
name = "examples"
[members.disks]
models = ["maxtor-6y200p0", "maxtor-6y200p0"]
[matrix]
level = "raid0"
chunk = ["16KiB", "64KiB"]
[baseline]
chunk = "64KiB"
[[workload]]
suite = "devtest"
tests = ["random read 512"]
time_per_test = { wall = "10ms", virtual = "1s" }
[trials]
blocks = 6
[report]
matters = "90%"
"#;

fn raidloom(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_raidloom"))
        .args(arguments)
        // Its answers are read here in English.
        .env("LC_ALL", "C.UTF-8")
        .current_dir(folder)
        .output()
        .unwrap()
}

fn help(verb: &str) -> String {
    String::from_utf8(raidloom(Path::new("/"), &[verb, "--help"]).stdout).unwrap()
}

/// `run --fail-if`: the configurations of a run against its baseline, interleaved. 3 where a limit
/// is passed, 5 where such a change could not be seen, 2 for what is no limit, before anything is
/// measured; a finished run is asked again without measuring.
#[test]
fn a_run_holds_its_configurations_against_their_baseline() {
    let folder = tempfile::tempdir().unwrap();
    // A drive of 2004 against two of them striped, read in sequence: nearly twice as fast.
    let plan = PLAN
        .replace("chunk = [\"16KiB\", \"64KiB\"]", "chunk = \"64KiB\"\n[[add]]\nlevel = \"single\"")
        .replace("[baseline]\nchunk = \"64KiB\"", "[baseline]\nlevel = \"raid0\"")
        .replace("random read 512", "sequential read at start 65536");
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let run = |arguments: &[&str]| {
        let output = raidloom(folder.path(), &[&["run"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    let (code, said) = run(&["plan.toml", "-o", "run", "--fail-if", "throughput -5%"]);
    assert!(code == Some(2) && !folder.path().join("run").exists(), "{code:?} {said}");
    let (code, said) = run(&["plan.toml", "-o", "run", "--fail-if", "throughput < -5 %"]);
    assert!(code == Some(3), "one drive is slower than two: {code:?} {said}");
    assert!(said.contains("--fail-if throughput < -5 %: ") && said.contains("single"), "{said}");
    // A finished run is asked again without measuring.
    for (limit, expected) in [("throughput > 5%", 0), ("thruput < -5%", 2)] {
        let (code, said) = run(&["--resume", "run", "--fail-if", limit]);
        assert_eq!(code, Some(expected), "{limit}: {said}");
    }
    let few = ["plan.toml", "-o", "few", "-s", "trials.blocks=2", "--fail-if", "throughput < -5%"];
    let (code, said) = run(&few);
    // Of a model on its own clock two blocks are an answer.
    assert!(code == Some(3) && said.contains("--fail-if throughput < -5"), "{said}");
}

/// A finished run whose baseline has no trial ends with 5 and says so.
#[test]
fn a_run_without_a_trial_of_its_baseline_has_no_result() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    raidloom(folder.path(), &["run", "plan.toml", "-o", "run"]);
    let path = folder.path().join("run/trials.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let others: Vec<&str> = text.lines().filter(|line| line.contains("16KiB")).collect();
    assert_eq!(others.len(), 6, "{text}");
    fs::write(&path, others.join("\n") + "\n").unwrap();
    let output = raidloom(folder.path(), &["report", "run"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("has no trial, so that nothing can be compared with it"), "{said}");
}

/// "the help's own example must work": every limit that `compare --help` shows is understood, and
/// one that means nothing is an error with the nearest name; every key that an example hands to jq
/// holds something.
#[test]
fn the_examples_of_compare_and_report_do_what_they_show() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    for (name, seed) in [("before", "trials.seed=1"), ("after", "trials.seed=2")] {
        let ran = raidloom(folder.path(), &["run", "plan.toml", "--output", name, "-s", seed]);
        // 5: so short a run on a busy machine may have no answer, and is there all the same.
        let is_there = matches!(ran.status.code(), Some(0 | 5));
        assert!(is_there, "{}", String::from_utf8_lossy(&ran.stderr));
    }
    let compare = |limit: &str| {
        let output = raidloom(folder.path(), &["compare", "before", "after", "--fail-if", limit]);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let text = help("compare");
    let limits: Vec<&str> =
        text.split('\'').filter(|part| part.ends_with('%') && part.contains(['<', '>'])).collect();
    assert!(limits.len() >= 2, "{text}");
    for limit in limits {
        let (code, said) = compare(limit);
        // A limit on a percentile of so few requests is understood, and says that it sees nothing.
        let is_blind = code == Some(5) && said.contains(": blind: ");
        assert!(matches!(code, Some(0 | 3)) || is_blind, "{limit}: {code:?} {said}");
    }
    let (code, said) = compare("latency > -50%");
    assert!(code == Some(3) && said.contains("latency_"), "latency did not halve: {code:?} {said}");
    for (limit, meant) in
        [("thruput < -5%", "did you mean `throughput`?"), ("bytes < -5%", "There are: ")]
    {
        let (code, said) = compare(limit);
        assert!(code == Some(2) && said.contains(meant), "{limit}: {code:?} {said}");
    }

    for (verb, arguments) in [
        ("report", &["report", "before", "--json"][..]),
        ("compare", &["compare", "before", "after", "--json"]),
    ] {
        let document: Value =
            serde_json::from_slice(&raidloom(folder.path(), arguments).stdout).unwrap();
        let text = help(verb);
        let keys: Vec<&str> =
            text.split("jq .").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect();
        assert!(!keys.is_empty(), "{text}");
        for key in keys {
            assert!(
                document[key].as_array().is_some_and(|list| !list.is_empty()),
                "{verb} .{key}: {}",
                document[key]
            );
        }
    }
    let report: Value =
        serde_json::from_slice(&raidloom(folder.path(), &["report", "before", "--json"]).stdout)
            .unwrap();
    assert_eq!(
        report["verdicts"].as_array().unwrap().len(),
        1,
        "one configuration beside the baseline, one workload"
    );
    assert!(
        report["verdicts"][0]["verdict"].is_string()
            && report["verdicts"][0]["settings"]["chunk"] == "16KiB"
    );
}

/// "Exit code 5 when a run has no valid headline"; "different settings, machine or version are
/// named and refused unless allowed"; "a summary line first".
#[test]
fn what_does_not_vote_has_no_result_and_other_settings_are_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    for (name, depth) in [("one", "workload.depth=1"), ("four", "workload.depth=4")] {
        let ran = raidloom(folder.path(), &["run", "plan.toml", "--output", name, "-s", depth]);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let refused = raidloom(folder.path(), &["compare", "one", "four"]);
    let said = text(&refused.stderr);
    assert!(
        refused.status.code() == Some(2)
            && said.contains("depth (`1` and `4`)")
            && said.contains("--allow settings"),
        "{said}"
    );
    let allowed = raidloom(folder.path(), &["compare", "one", "four", "--allow", "settings"]);
    let first = text(&allowed.stdout).lines().next().unwrap_or("").to_owned();
    assert!(
        allowed.status.success() && first.ends_with(" no answer") && first.contains(" slower, "),
        "{first} {}",
        text(&allowed.stderr)
    );

    let trials = folder.path().join("one/trials.jsonl");
    let flagged = fs::read_to_string(&trials)
        .unwrap()
        .replace("\"flags\":[]", "\"flags\":[{\"code\":\"read-from-cache\",\"share\":0.0}]");
    fs::write(&trials, flagged).unwrap();
    let report = raidloom(folder.path(), &["report", "one"]);
    assert_eq!(report.status.code(), Some(5), "{}", text(&report.stderr));
    assert!(
        text(&report.stdout).contains("No answer.\n  0 blocks vote"),
        "{}",
        text(&report.stdout)
    );
    let report = raidloom(folder.path(), &["report", "one", "--json"]);
    let document: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!((report.status.code(), &document["valid"]), (Some(5), &Value::Bool(false)));
}

/// Debian 12's Rust is older than what builds this.
#[test]
fn the_readme_offers_no_rust_that_is_too_old() {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    assert!(!readme.contains("from your distribution"), "Debian 12 has Rust 1.63");
}

/// Every command in `docs/from-*.md` is one that this program understands, with these very flags.
/// It is asked for its help instead of doing anything, which it gives only when it knows them all.
#[test]
fn the_commands_for_users_of_other_tools_are_understood() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("raidloom");
    let script = format!("#!/bin/sh\nexec '{}' \"$@\" --help\n", env!("CARGO_BIN_EXE_raidloom"));
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let run = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).env("PATH", &path).current_dir(folder.path()).output().unwrap()
    };
    let wrong = run("raidloom array scrub tank --no-such-flag");
    assert!(!wrong.status.success(), "a flag that does not exist passes");
    for page in ["from-mdadm.md", "from-fio.md", "from-crystaldiskmark.md"] {
        let text = fs::read_to_string(docs.join(page)).unwrap();
        let commands: Vec<&str> = text
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|span| span.starts_with("raidloom "))
            .collect();
        assert!(commands.len() >= 8, "{page} has {} commands", commands.len());
        for line in commands {
            let output = run(line);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{page}: {line}: {said}");
        }
    }
}
