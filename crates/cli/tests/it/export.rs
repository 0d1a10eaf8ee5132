//! `report export`: a run as one file, read as its folder is, and without names where asked for.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PLAN: &str = "schema = 1\nname = \"sent\"\n[members.disks]\n\
    stacks = [\"file:/HERE/a.img\", \"file:/HERE/b.img\"]\n[matrix]\nlevel = \"raid0\"\n\
    chunk = [\"16KiB\", \"64KiB\"]\n[baseline]\nchunk = \"16KiB\"\n[[workload]]\n\
    suite = \"devtest\"\ntests = [\"random read 512\"]\ntime_per_test = \"20ms\"\n\
    [trials]\nblocks = 6\n[report]\nmatters = \"90%\"\n# as typed on bag-end.example\n";

fn raidloom(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_raidloom"))
        .args(arguments)
        .current_dir(folder)
        .env("USER", "bilbo-baggins")
        .output()
        .unwrap()
}

fn ok(folder: &Path, arguments: &[&str]) -> String {
    let output = raidloom(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    // 5: so short a run on a busy machine may have no answer, and is there all the same.
    assert!(matches!(output.status.code(), Some(0 | 5)), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// A run on files by their whole paths, in a folder of its own.
fn run(folder: &Path) {
    let here = folder.to_str().unwrap().trim_start_matches('/');
    fs::write(folder.join("plan.toml"), PLAN.replace("HERE", here)).unwrap();
    for name in ["a.img", "b.img"] {
        fs::File::create(folder.join(name)).unwrap().set_len(2 << 20).unwrap();
    }
    ok(folder, &["run", "plan.toml", "-o", "run"]);
    let note = format!("2026-01-01T00:00:00Z bilbo-baggins saw bag-end.example, {}\n", node());
    let notes = folder.join("run/notes.txt");
    fs::write(&notes, fs::read_to_string(&notes).unwrap_or_default() + &note).unwrap();
}

/// What this machine calls itself.
fn node() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

#[test]
fn what_was_packed_is_read_as_its_folder_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder);
    let said = ok(folder, &["report", "export", "run"]);
    assert!(said.starts_with("packed run as run.run.tar.gz ("), "{said}");
    ok(folder, &["report", "export", "run", "-o", "again.run.tar.gz"]);
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    assert_eq!(bytes("run.run.tar.gz"), bytes("again.run.tar.gz"), "the same run, the same bytes");
    let report = |run: &str| ok(folder, &["report", run, "--csv", "-"]);
    assert_eq!(report("run"), report("run.run.tar.gz"));
    ok(folder, &["report", "run", "--parquet", "a.parquet"]);
    ok(folder, &["report", "run.run.tar.gz", "--parquet", "b.parquet"]);
    assert!(bytes("a.parquet").starts_with(b"PAR1") && bytes("a.parquet") == bytes("b.parquet"));
    let refused = raidloom(folder, &["report", "run", "--parquet", "-"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && error.contains("is no text"), "{error}");
    ok(folder, &["compare", "run", "run.run.tar.gz"]);
    let history = ok(folder, &["report", "history", ".", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&history).unwrap();
    let points = document["series"][0]["points"].as_array().unwrap().len();
    assert_eq!(points, 3, "the folder and both files: {document}");
    // As a stranger without raidloom would open it.
    let mut unpacked = Command::new("tar");
    unpacked.args(["xf", "run.run.tar.gz", "--one-top-level=elsewhere"]).current_dir(folder);
    assert!(unpacked.status().unwrap().success());
    assert_eq!(report("run"), report("elsewhere/run"));
}

/// "without host names, user names, device serials and paths".
#[test]
fn an_anonymous_one_has_no_names_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder);
    let file = "for-the-list.run.tar.gz";
    let hide = ["--anonymous", "--hide", "bag-end.example"];
    ok(folder, &[&["report", "export", "run", "-o", file], &hide[..]].concat());
    let mut tar = Command::new("tar");
    let listed = tar.args(["xOf", file]).current_dir(folder).output().unwrap();
    let inside = String::from_utf8(listed.stdout).unwrap();
    let own = folder.to_str().unwrap();
    for telling in [own, "bilbo-baggins", "bag-end", "a.img", "as typed"] {
        assert!(!inside.contains(telling), "{telling} is in it: {inside}");
    }
    // The name of a machine may be part of another word, such as `vm`.
    let words = inside.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
    assert!(words.into_iter().all(|word| word != node()), "{inside}");
    assert!(inside.contains("/path-1") && inside.contains("name-1 saw"), "{inside}");
    let raw = fs::read_to_string(folder.join("run/plan.resolved.json")).unwrap();
    assert!(raw.contains(own), "else there was nothing to hide");

    // It has the same figures.
    let figures = |run: &str| -> Vec<String> {
        let text = ok(folder, &["report", run, "--csv", "-"]);
        let tails = text.lines().skip(1).map(|line| line.split("random read 512").nth(1));
        tails.map(|tail| tail.unwrap().to_owned()).collect()
    };
    assert_eq!(figures("run"), figures(file));
    assert!(!figures(file).is_empty());
}

#[test]
fn what_cannot_be_packed_or_read_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder);
    ok(folder, &["report", "export", "run"]);
    fs::write(folder.join("noise.run.tar.gz"), "no archive").unwrap();
    let whole = fs::read(folder.join("run.run.tar.gz")).unwrap();
    fs::write(folder.join("half.run.tar.gz"), &whole[..whole.len() / 2]).unwrap();
    fs::create_dir(folder.join("empty")).unwrap();
    for (arguments, said) in [
        (&["report", "export", "run"][..], "it is there already; choose another name with -o"),
        (&["report", "export", "empty"], "empty"),
        (&["report", "export", "run", "--hide", "x"], "--anonymous"),
        (&["report", "noise.run.tar.gz"], "it is no packed run"),
        (&["report", "half.run.tar.gz"], "not all of it"),
    ] {
        let output = raidloom(folder, arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(said), "{arguments:?}: {error}");
    }
    assert!(!folder.join("empty.run.tar.gz").exists(), "nothing is left of a failure");
}
