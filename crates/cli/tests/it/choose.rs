//! `raidloom choose`: answers without a terminal, what it refuses, and the questions.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Work of a moment.
const PROFILE: &str = r#"title = "a moment's work"
[[workload]]
name = "reads"
time = "200ms"
ramp = "0s"
[[workload]]
name = "writes"
read = 0
time = "200ms"
ramp = "0s"
"#;

fn raidloom(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_raidloom"))
        .args(arguments)
        .current_dir(folder)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// "`--budget` (with prices in the catalogue)": prices are the user's own, and what removes what is
/// said when nothing is left.
#[test]
fn a_budget_buys_as_many_drives_as_it_can() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("own.toml"), PROFILE).unwrap();
    let ask = |drives: &str, more: &str| {
        let line = format!("choose {drives} --work own.toml --survive 1 {more}");
        raidloom(folder.path(), &words(&line))
    };
    let answer = ask("8 x wd-red-plus-8tb@180", "--budget 800 -o one");
    let said = text(&answer.stdout);
    assert!(said.contains("on 4 x WD Red Plus 8 TB"), "{said}{}", text(&answer.stderr));
    let in_one_line = words(&said).join(" ");
    assert!(in_one_line.contains("costs 720 of 800 for 4 of 8 drives"), "{said}");
    assert!(
        said.lines().count() <= 20
            && said.lines().all(|line| line.chars().count() <= 80
                || line.contains("mdadm")
                || line.contains("array create")),
        "{said}"
    );
    let json = raidloom(folder.path(), &words("choose --from one --json"));
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    let cost = &document["choice"]["cost"];
    assert_eq!((&cost["total"], &cost["offered"]), (&720.0.into(), &8.into()), "{document}");
    for (drives, more, why) in [
        ("8 x wd-red-plus-8tb@180", "--budget 300", "--budget 300 removes every one"),
        ("8 x wd-red-plus-8tb", "--budget 900", "8 x NAME@180"),
        ("8 x wd-red-plus-8tb@180", "--budget much", "--budget: `much` is no price"),
        ("8 x wd-red-plus-8tb@cheap", "", "`cheap` is no price"),
    ] {
        let refused = ask(drives, more);
        let said = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains(why), "{drives} {more}: {said}");
    }
}

#[test]
fn the_plan_that_is_printed_is_the_one_that_is_run_and_an_answer_is_given_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("own.toml"), PROFILE).unwrap();
    let asked = "choose 4 x wd-red-plus-8tb --work own.toml --survive 1";
    let run = |more: &str| raidloom(folder.path(), &words(&format!("{asked} {more}")));
    let plan = run("--print-plan");
    assert!(plan.status.success(), "{}", text(&plan.stderr));
    let answer = run("-o one");
    assert!(answer.status.success(), "{}", text(&answer.stderr));
    let said = text(&answer.stdout);
    assert!(said.starts_with("RAID "), "{said}");
    assert!(said.lines().count() <= 20, "{said}");
    assert!(said.contains("for a moment's work on 4 x WD Red Plus 8 TB"), "{said}");
    assert!(said.contains("raidloom array create tank --level"), "{said}");
    assert!(said.contains("mdadm --create"), "{said}");
    let ran = fs::read_to_string(folder.path().join("one/plan.toml")).unwrap();
    assert_eq!(text(&plan.stdout).trim_end(), ran.trim_end());
    let page = fs::read_to_string(folder.path().join("one/report.html")).unwrap();
    // Speed against space: a mark for every layout and one drive, none for what lost a drive.
    let (_, chart) = page.split_once("against usable space").unwrap();
    let (chart, table) = chart.split_once("</figure>").unwrap().0.split_once("<table").unwrap();
    let layouts = ran.matches("chunk = [").count() * 3 + 1;
    assert_eq!(chart.matches("data-c=").count(), layouts, "{chart}");
    assert_eq!(table.matches("<tr").count(), layouts + 1, "{table}");
    for kind in ["raid5", "raid6", "raid10 n2", "raid10 f2"] {
        assert_eq!(chart.matches(&format!(">{kind}</text>")).count(), 1, "{kind}: {chart}");
    }

    let again = raidloom(folder.path(), &words("choose --from one"));
    let of_report = raidloom(folder.path(), &words("report one --card card.svg"));
    assert!(of_report.status.success(), "{}", text(&of_report.stderr));
    let card = fs::read_to_string(folder.path().join("card.svg")).unwrap();
    assert!(card.starts_with("<svg "), "{card}");
    // The report's place is said as it was named.
    let without_last =
        |text: &str| text.lines().rev().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(without_last(&text(&again.stdout)), without_last(&said));
    let json = raidloom(folder.path(), &words("choose --from one --json"));
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    let choice = &document["choice"];
    for key in ["pick", "rivals", "degraded", "rebuild", "model_error", "removed", "command"] {
        assert!(choice.get(key).is_some(), "{key}: {choice}");
    }
    assert_eq!((&choice["survive"], &choice["figures"]), (&1.into(), &"modelled".into()));
    assert!(choice["pick"]["survives"].as_u64() >= Some(1));

    // What is printed runs as any plan, and comes to the same figures.
    fs::write(folder.path().join("mine.toml"), &plan.stdout).unwrap();
    let mine = raidloom(folder.path(), &words("run mine.toml -o mine"));
    assert_eq!(mine.status.code(), Some(0), "{}", text(&mine.stderr));
    let scores = |run: &str| {
        let report = raidloom(folder.path(), &["report", run, "--csv", "-"]);
        text(&report.stdout)
    };
    assert_eq!(scores("mine"), scores("one"));
    let other = raidloom(folder.path(), &words("choose --from mine"));
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("no run of `raidloom choose`"), "{}", text(&other.stderr));
}

#[test]
fn stripes_say_what_they_lose_and_three_drives_survive_two_as_a_mirror() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("own.toml"), PROFILE).unwrap();
    let three = "choose 3 x wd-red-plus-8tb --work own.toml --survive 2 -o three";
    let output = raidloom(folder.path(), &words(three));
    assert!(text(&output.stdout).starts_with("RAID 1, 3 x 8 TB\n"), "{}", text(&output.stdout));
    let none = "choose 2 x wd-red-plus-8tb --work own.toml --survive 0 -o none";
    let said = text(&raidloom(folder.path(), &words(none)).stdout);
    assert_eq!(
        said.starts_with("RAID 0"),
        said.lines().nth(1).unwrap().contains("survives no drive")
    );
    // A drive that is half as large again as nothing is left out.
    let uneven =
        "choose 2 x wd-ultrastar-hc310-4tb crucial-mx500-500gb --work own.toml --survive 1";
    let said = text(&raidloom(folder.path(), &words(uneven)).stdout);
    assert!(said.contains("1 of 500 GB left out"), "{said}");
}

/// The pages that come first show an answer as it is, whole, in both languages: with how often the
/// first of the others is ahead, and with what suffers and gains.
#[test]
fn the_first_pages_show_the_answer_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let asked = "choose 4 x wd-red-plus-8tb --work files --survive 1";
    let run = raidloom(folder.path(), &words(&format!("{asked} -o shown")));
    assert!(run.status.success(), "{}", text(&run.stderr));
    for (page, language) in [("README.md", "C.UTF-8"), ("docs/ja/README.md", "ja_JP.UTF-8")] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let page = fs::read_to_string(path).unwrap();
        let (_, shown) = page.split_once(&format!("$ raidloom {asked}")).unwrap();
        let (_, shown) = shown.split_once('\n').unwrap();
        let (shown, _) = shown.split_once("  …\n").unwrap();
        let again = Command::new(env!("CARGO_BIN_EXE_raidloom"))
            .args(["choose", "--from", "shown"])
            .current_dir(folder.path())
            .env("LC_ALL", language)
            .output()
            .unwrap();
        let said = text(&again.stdout);
        assert!(said.starts_with(shown), "{said}\nis shown as\n{shown}");
        assert!(said.lines().count() <= 20, "{said}");
        assert!(said.ends_with("\n  shown/report.html\n"), "nothing is left out: {said}");
    }
}

/// The kernel's md takes no files: no command of it is shown for them, and none is printed that
/// would erase before it fails. A run that has just begun says so.
#[test]
fn files_are_not_made_by_md_and_a_run_that_has_begun_is_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("own.toml"), PROFILE).unwrap();
    for name in ["a.img", "b.img"] {
        fs::File::create(folder.path().join(name)).unwrap().set_len(64 << 20).unwrap();
    }
    let run = |line: &str| raidloom(folder.path(), &words(line));
    let said = text(&run("choose a.img b.img --work own.toml --survive 1 -o files").stdout);
    assert!(said.contains("choose --from") && !said.contains("mdadm"), "{said}");
    let refused = run("choose --from files --do=mdadm");
    let why = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{why}");
    assert!(why.contains("a.img: a file") && why.contains("losetup"), "{why}");
    assert!(!text(&refused.stdout).contains("wipefs"), "{}", text(&refused.stdout));

    let trials = folder.path().join("files/trials.jsonl");
    let all = fs::read_to_string(&trials).unwrap();
    let first = all.split_inclusive('\n').next().unwrap();
    fs::write(&trials, first).unwrap();
    let begun = run("choose --from files -q");
    let why = text(&begun.stderr);
    assert_eq!(begun.status.code(), Some(2), "{why}");
    assert!(why.contains("and 1 of ") && why.contains("raidloom run --resume files"), "{why}");
    assert_eq!(why.lines().count(), 1, "{why}");
}

/// "No kernel for guests (the row says so, nothing else changes)": what is known without one is
/// answered, and that its speed is not.
#[test]
fn a_command_without_a_kernel_for_guests_is_answered_without_its_speed() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |drives: &str, more: &[&str]| {
        let line = format!("choose {drives} --survive 1");
        Command::new(env!("CARGO_BIN_EXE_raidloom"))
            .args(words(&line))
            .args(["--work-command", "cp -r /etc {dir}"])
            .args(more)
            .current_dir(folder.path())
            .env("LC_ALL", "C.UTF-8")
            .env("XDG_CACHE_HOME", folder.path())
            .output()
            .unwrap()
    };
    let four = "4 x wd-red-plus-8tb";
    let done = ask(four, &["-o", "run"]);
    let (said, why) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{why}");
    assert!(why.contains("raidloom guest build"), "{why}");
    assert!(said.starts_with("RAID 5, 4 x 8 TB, chunk 512 KiB, ext4\n"), "{said}");
    let in_one_line = words(&said).join(" ");
    for fact in [
        "24 TB of 32 TB; survives any 1 drive; by space, nothing was run",
        "how sure not at all of its speed",
        "there is no kernel for guests here (`raidloom guest build`",
        "rebuild 14 h idle",
        "power cut, ext4 nothing acknowledged lost",
        "mdadm --create",
    ] {
        assert!(in_one_line.contains(fact), "{fact}: {said}");
    }
    assert!(said.lines().count() <= 20, "{said}");
    let json = ask(four, &["--json"]);
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(document["choice"]["figures"], "not_run", "{document}");
    assert_eq!(document["run"], Value::Null);
    // What must hold still does, the plan is printed as ever, and nothing is made by no run.
    let refused = ask("2 x wd-red-plus-8tb", &["--capacity", "9TB"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stdout));
    assert!(text(&ask(four, &["--print-plan"]).stdout).contains("place = \"guest\""));
    for name in ["a.img", "b.img"] {
        fs::File::create(folder.path().join(name)).unwrap().set_len(64 << 20).unwrap();
    }
    let made = ask("a.img b.img", &["--do"]);
    assert_eq!(made.status.code(), Some(2), "{}", text(&made.stdout));
    assert!(text(&made.stderr).contains("no kernel for guests"), "{}", text(&made.stderr));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no run is left");
}

/// "Not root": what this user may not write to is named, and why; a model of it can be asked for.
#[test]
fn drives_of_somebody_else_are_named_before_they_are_measured() {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        testkit::skipped!("only root may be another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    // Nobody else may enter the folder that it was built in.
    let program = folder.path().join("raidloom");
    fs::copy(env!("CARGO_BIN_EXE_raidloom"), &program).unwrap();
    fs::write(folder.path().join("own.toml"), PROFILE).unwrap();
    for name in ["a.img", "b.img"] {
        fs::File::create(folder.path().join(name)).unwrap().set_len(64 << 20).unwrap();
    }
    let ask = |more: &str| {
        let line = format!("choose a.img b.img --work own.toml --survive 1 {more}");
        let mut asked = Command::new(&program);
        asked.args(words(&line)).current_dir(folder.path()).env("HOME", folder.path());
        asked.uid(NOBODY).gid(NOBODY).output().unwrap()
    };
    let refused = ask("--measure");
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(said.contains("a.img: this user may not write to it"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let asked = ask("-o run");
    assert!(asked.status.success(), "{}", text(&asked.stderr));
}

#[test]
fn what_cannot_be_chosen_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (line, said) in [
        ("choose", "give drives, --work and --survive, as in raidloom choose 4 x"),
        ("choose 4 x wd-red-plus-8tb", "4 x wd-red-plus-8tb --work files --survive 1"),
        ("choose 2 x wd-red-plus-8tb --work vm --survive 2", "they survive 1 drive at most"),
        ("choose 4 x wd-red-plus-8tb --work vm --survive 3", "0..=2"),
        ("choose 4 x wd-red-plus-8tb --work vms --survive 1", "did you mean `vm`?"),
        ("choose 4 x wd-red-plus-8tb --work vm --survive 1 --measure", "these are models"),
        ("choose 4 x wd-red-plus-8tb --work vm --survive 1 --erase X", "without --measure"),
        ("choose 4 x . --work-command true --survive 1 --measure", "`raidloom run --command`"),
        ("choose 4 x wd-red-plus-8tb --work vm --survive 1 --capacity 99TB", "--capacity 99.0 TB"),
        ("choose 4 x wd-red-plus-8tb --work vm --survive 1 --file-system ext5", "no such file"),
    ] {
        let output = raidloom(folder.path(), &words(line));
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        assert!(error.contains(said), "{line}: {error}");
        assert!(output.stdout.is_empty(), "{line}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}
