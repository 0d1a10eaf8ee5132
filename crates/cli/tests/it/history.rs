//! `raidloom report history`: one figure over many runs, and where it changed.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn raidloom(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn ok(folder: &Path, arguments: &[&str]) -> String {
    let output = raidloom(folder, arguments);
    // 5: so short a run on a busy machine may have no answer, and is there all the same.
    let is_there = matches!(output.status.code(), Some(0 | 5));
    assert!(is_there, "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The same run as of `day`, with all rates times `factor`.
fn copied(from: &Path, to: &Path, day: u32, factor: f64) {
    fs::create_dir_all(to).unwrap();
    for name in ["plan.toml", "plan.resolved.json"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
    let read = |name: &str| fs::read_to_string(from.join(name)).unwrap();
    let mut host: Value = serde_json::from_str(&read("host.json")).unwrap();
    host["started"] = json!(format!("2026-10-{day:02}T08:00:00Z"));
    fs::write(to.join("host.json"), host.to_string()).unwrap();
    let trials = read("trials.jsonl").lines().fold(String::new(), |all, line| {
        let mut trial: Value = serde_json::from_str(line).unwrap();
        let rate = &mut trial["metrics"]["throughput_bytes_per_second"];
        *rate = json!(rate.as_f64().unwrap() * factor);
        format!("{all}{trial}\n")
    });
    fs::write(to.join("trials.jsonl"), trials).unwrap();
}

#[test]
fn a_change_over_many_runs_is_marked_where_it_was_planted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let plan = "schema = 1\nname = \"nightly\"\n[members.disks]\nmodels = [\"maxtor-6y200p0\", \
        \"maxtor-6y200p0\"]\n[matrix]\nlevel = \"raid0\"\nchunk = [\"16KiB\", \"64KiB\"]\n\
        [baseline]\nchunk = \"16KiB\"\n[[workload]]\nsuite = \"devtest\"\n\
        tests = [\"random read 512\"]\ntime_per_test = \"1s\"\n[trials]\nblocks = 6\n\
        [report]\nmatters = \"90%\"\n";
    fs::write(folder.join("plan.toml"), plan).unwrap();
    ok(folder, &["run", "plan.toml", "-o", "first"]);
    for day in 1..=12 {
        // Each day a little otherwise, and from the ninth on a tenth slower.
        let noise = 1.0 + 0.004 * f64::from(day * 7 % 5) - 0.008;
        let factor = if day >= 9 { 0.9 * noise } else { noise };
        let to = folder.join(format!("runs/2026-10-{day:02}-nightly"));
        copied(&folder.join("first"), &to, day, factor);
    }
    let document: Value =
        serde_json::from_str(&ok(folder, &["report", "history", "runs", "--json"])).unwrap();
    let series = document["series"].as_array().unwrap();
    assert_eq!(series.len(), 2, "{document}");
    for one in series {
        assert_eq!(one["points"].as_array().unwrap().len(), 12);
        assert_eq!(one["change"]["from"], 8, "{one}");
        assert!((one["change"]["ratio"].as_f64().unwrap() - 0.9).abs() < 0.01, "{one}");
    }
    let table =
        ok(folder, &["report", "history", "runs", "--metric", "throughput", "--only", "64KiB"]);
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.contains("% from 2026-10-09-nightly on"), "{table}");
    // What did not change has no mark.
    let calm = ok(folder, &["report", "history", "runs", "--metric", "io_per_second"]);
    assert_eq!(calm.matches("none that is sure").count(), 2, "{calm}");
    let few = ok(folder, &["report", "history", "first"]);
    assert!(few.contains("too few runs to tell: 8 are needed") && few.contains(" MB/s"), "{few}");
    for (runs, head, change) in [
        ("runs", "ワークロード  ", "2026-10-09-nightly から -"),
        ("first", "  測定数  ", "測定が少なく判断できません(8 回必要)"),
    ] {
        let mut japanese = Command::new(env!("CARGO_BIN_EXE_raidloom"));
        let japanese = japanese.args(["report", "history", runs, "--only", "64KiB"]);
        let said = japanese.env("LC_ALL", "ja_JP.UTF-8").current_dir(folder).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        assert!(said.contains(head) && said.contains(change), "{said}");
        assert!(!said.contains("workload") && !said.contains(" on ("), "{said}");
    }

    ok(folder, &["report", "history", "runs", "--svg", "history.svg"]);
    let picture = fs::read_to_string(folder.join("history.svg")).unwrap();
    assert_eq!(picture.matches("<circle").count(), 24);
    assert_eq!(picture.matches("class=\"change\"").count(), 2);
    for (arguments, said) in [
        (vec!["report", "history", "nowhere"], "no run in it"),
        (vec!["report", "history", "runs", "--metric", "zebras"], "metrics are: "),
    ] {
        let output = raidloom(folder, &arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(said), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// What `compare` refuses is no series: the same cell on another machine, or without one, stands
/// apart, and a jump between the two is no change of it.
#[test]
fn runs_that_compare_refuses_are_series_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let plan = "schema = 1\nname = \"nightly\"\n[members.disks]\nmodels = [\"maxtor-6y200p0\"]\n\
        [[add]]\nlevel = \"single\"\n[baseline]\nlevel = \"single\"\n[[workload]]\n\
        suite = \"devtest\"\ntests = [\"random read 512\"]\ntime_per_test = \"1s\"\n\
        [trials]\nblocks = 6\n";
    fs::write(folder.join("plan.toml"), plan).unwrap();
    ok(folder, &["run", "plan.toml", "-o", "first"]);
    for day in 1..=16 {
        let to = folder.join(format!("runs/2026-10-{day:02}-nightly"));
        // From the ninth on another disk lies under the members, and all is 28 times as fast.
        copied(&folder.join("first"), &to, day, if day >= 9 { 28.0 } else { 1.0 });
        let path = to.join("host.json");
        let mut host: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let disk = if day >= 9 { "tmpfs on tmpfs" } else { "ext4 on /dev/vda" };
        let fact = json!({"name": "member file system", "value": disk, "must_match": true});
        host["facts"].as_array_mut().unwrap().push(fact);
        fs::write(&path, host.to_string()).unwrap();
    }
    let [before, after] = ["runs/2026-10-08-nightly", "runs/2026-10-09-nightly"];
    let refused = raidloom(folder, &["compare", before, after]);
    assert_eq!(refused.status.code(), Some(2), "compare refuses what history keeps apart");
    let output = raidloom(folder, &["report", "history", "runs", "--json"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("member file system (") && said.contains("--allow machine"), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let series = document["series"].as_array().unwrap();
    assert_eq!(series.len(), 2, "{document}");
    for one in series {
        assert_eq!((one["points"].as_array().unwrap().len(), &one["change"]), (8, &Value::Null));
    }
    assert_eq!(series[0]["differing"], json!([]), "the latest runs come first");
    assert_eq!(series[1]["differing"][0]["name"], "member file system");
    // Asked for by name they are one, and the jump is seen.
    let joined = ok(folder, &["report", "history", "runs", "--json", "--allow", "machine"]);
    let joined: Value = serde_json::from_str(&joined).unwrap();
    assert_eq!(joined["series"][0]["points"].as_array().unwrap().len(), 16);
    assert_eq!(joined["series"][0]["change"]["from"], 8);
}
