//! What a run's folder holds after whatever may end a run or a report in the middle.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A folder with a plan of one test of so long.
struct PlanFolder(tempfile::TempDir);

impl PlanFolder {
    fn new(time_per_test: &str) -> PlanFolder {
        let place = PlanFolder(tempfile::tempdir().unwrap());
        let plan = format!(
            r#"schema = 1
name = "short"
[members.files]
files = {{ count = 1, size = "1MiB" }}
[matrix]
level = "single"
members = ["files"]
[baseline]
level = "single"
[[workload]]
suite = "devtest"
tests = ["random write 16384"]
time_per_test = "{time_per_test}"
[trials]
blocks = 1
"#
        );
        fs::write(place.path("plan.toml"), plan).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A command of the shell in the folder; `$RAIDLOOM` is the program.
    fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .env("RAIDLOOM", env!("CARGO_BIN_EXE_raidloom"))
            // Its answers are read here in English.
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.0.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a run and returns when it has made its members.
    fn begun(&self, script: &str) -> Child {
        let mut child = self.shell(script).spawn().unwrap();
        while !self.path("run/members").exists() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it had begun");
            std::thread::yield_now();
        }
        child
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn hang_up(child: Child) -> Output {
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    child.wait_with_output().unwrap()
}

/// Whoever started the tests may have had the signal ignored, which is handed down.
const START: &str = "exec env --default-signal=HUP \"$RAIDLOOM\" run plan.toml --output run";
const IGNORANT: &str = "trap '' HUP; exec \"$RAIDLOOM\" run plan.toml --output run";

/// A terminal that is closed ends a run as `kill` does.
#[test]
fn a_run_whose_terminal_is_closed_takes_its_members_away_and_can_be_resumed() {
    let place = PlanFolder::new("10min");
    let output = hang_up(place.begun(START));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("raidloom run --resume"), "{said}");
    assert!(
        !place.path("run/members").exists() && !place.path("run/cleanup.jsonl").exists(),
        "{:?}",
        place.names("run")
    );
    assert!(place.path("run/plan.resolved.json").exists());
}

/// Whoever starts a run with `nohup` wants it to outlive the terminal.
#[test]
fn a_run_that_was_started_to_outlive_its_terminal_does() {
    let place = PlanFolder::new("300ms");
    let output = hang_up(place.begun(IGNORANT));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!place.path("run/members").exists() && place.path("run/report.html").exists());
}

/// A disk that is full, here a file that may not grow any more, leaves no half file, and what was
/// there before.
#[test]
fn what_writes_a_report_writes_all_of_it_or_nothing() {
    let place = PlanFolder::new("10ms");
    let run = |script: &str| place.shell(script).output().unwrap();
    let done = run(IGNORANT);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let read = |path: &Path| fs::read(path).unwrap();
    let (page, files) = (read(&place.path("run/report.html")), place.names("run"));
    assert!(page.len() > 16 << 10, "the page is larger than 32 of the shell's blocks of 512 bytes");
    fs::write(place.path("old.html"), "an older report").unwrap();
    for (script, what) in [
        ("ulimit -f 32; exec \"$RAIDLOOM\" report run --html old.html", "old.html"),
        ("ulimit -f 32; exec \"$RAIDLOOM\" report run --html new.html", "new.html"),
        ("ulimit -f 32; exec \"$RAIDLOOM\" run --resume run", "report.html"),
        ("ulimit -f 1; exec \"$RAIDLOOM\" array cache simulate -s zipf=1 --svg new.svg", "new.svg"),
    ] {
        let output = run(script);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{script}: {said}");
        assert!(said.contains(&format!("{what}: File too large")), "{script}: {said}");
    }
    assert_eq!(read(&place.path("old.html")), b"an older report");
    assert!(read(&place.path("run/report.html")) == page);
    assert_eq!(place.names("run"), files);
    assert_eq!(place.names("."), ["old.html", "plan.toml", "run"]);
    // What would be lost for it is refused, before anything else that was asked for is written.
    let mut member = vec![0; 1 << 20];
    member[..4].copy_from_slice(b"XFSB");
    fs::write(place.path("member.img"), &member).unwrap();
    let trials = read(&place.path("run/trials.jsonl"));
    for (to, why) in [
        ("run/trials.jsonl", "is made from this file"),
        ("run/../run/plan.resolved.json", "is made from this file"),
        ("member.img", "it carries a signature: XFS"),
    ] {
        let output = run(&format!("\"$RAIDLOOM\" report run --csv new.csv --html {to}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{to}: {said}");
        assert!(said.contains(why) && !place.path("new.csv").exists(), "{to}: {said}");
    }
    assert!(read(&place.path("run/trials.jsonl")) == trials);
    assert!(read(&place.path("member.img")) == member);
    let again = run("\"$RAIDLOOM\" report run --html run/report.html");
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    // Through to what is no file.
    let piped = run("\"$RAIDLOOM\" report run --quiet --csv /dev/stdout");
    assert!(
        String::from_utf8_lossy(&piped.stdout).contains(','),
        "{}",
        String::from_utf8_lossy(&piped.stderr)
    );
}

/// A run is watched from outside; of one that was killed, what it said last is not believed.
#[test]
fn a_run_is_watched_from_outside() {
    let place = PlanFolder::new("10min");
    let mut child = place.begun(START);
    let look = || -> Value {
        let output = place.shell("exec \"$RAIDLOOM\" watch run --json").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let mut state = look();
    while state["now"].is_null() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        state = look();
    }
    assert_eq!(
        (&state["stage"], &state["trials"], &state["trials_finished"], &state["now"]["workload"]),
        (&json!("running"), &json!(1), &json!(0), &json!("random write 16384"))
    );
    let left = state["now"]["left_high_seconds"].as_f64().unwrap();
    assert!((600.0..3000.0).contains(&left), "{state}");

    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert!(place.path("run/progress.json").exists());
    let state = look();
    assert_eq!((&state["stage"], &state["now"]), (&json!("interrupted"), &Value::Null));
    let output = place.shell("exec \"$RAIDLOOM\" watch run").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "short: interrupted, 0 of 1 trials; raidloom run --resume run\n");
    let nowhere = place.shell("exec \"$RAIDLOOM\" watch nowhere").output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
}

/// What only root may do is said before the first trial, and leaves no run without a figure: of
/// file systems here, and of power cuts.
#[test]
fn what_needs_root_is_refused_before_the_first_trial() {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        testkit::skipped!("only root may be another user");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    // Nobody else may enter the folder that it was built in.
    let program = place.path().join("raidloom");
    fs::copy(env!("CARGO_BIN_EXE_raidloom"), &program).unwrap();
    let small = "members.files.files.size=\"64MiB\"";
    for (plan, set) in [("cache-effect-here", small), ("pull", "size=short")] {
        let ended = Command::new(&program)
            .args(["run", plan, "-s", set, "-o", "run"])
            .current_dir(place.path())
            .env("TMPDIR", place.path())
            .env("HOME", place.path())
            .env_remove("XDG_RUNTIME_DIR")
            .stdin(Stdio::null())
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(1), "{plan}: {said}");
        assert!(said.contains("nothing of this plan can be measured here: "), "{plan}: {said}");
        assert_eq!(said.matches("only root may do").count(), 1, "{plan}: {said}");
        assert!(ended.stdout.is_empty() && !place.path().join("run").exists(), "{plan}: {said}");
    }
}

/// A run whose trials all failed is no run that went well: neither when it ends nor when its report
/// is asked for. One trial with a figure, and it is.
#[test]
fn a_run_without_any_figure_does_not_end_with_success() {
    let place = PlanFolder::new("10ms");
    assert!(place.shell(IGNORANT).output().unwrap().status.success());
    let trials = place.path("run/trials.jsonl");
    let recorded = fs::read_to_string(&trials).unwrap();
    let report = || place.shell("exec \"$RAIDLOOM\" report run").output().unwrap();
    assert_eq!(report().status.code(), Some(0));
    let mut trial: Value = serde_json::from_str(recorded.lines().next().unwrap()).unwrap();
    trial["metrics"] = json!({});
    trial["flags"] = json!(["not measured: mkfs.ext4 failed"]);
    fs::write(&trials, format!("{trial}\n")).unwrap();
    let ended = report();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(5), "{said}");
    assert!(said.contains("nothing was measured: no trial has a figure"), "{said}");
}

/// Somebody's text of one disk has nothing to be compared with: its figures are what is shown, on
/// the terminal, in the run's folder and as Markdown.
#[test]
fn an_import_of_one_file_shows_its_figures() {
    let place = PlanFolder::new("10ms");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/tests/corpus");
    let figures =
        [("SEQ128K Q32T1 read", "2200 MB/s"), ("RND4K Q1T1 write", "171 MB/s, 41800 IO/s")];
    let text = place.path("mine.txt");
    fs::copy(corpus.join("crystal-5.1.txt"), &text).unwrap();
    for script in [
        "exec \"$RAIDLOOM\" bench --import mine.txt -o imported",
        "exec \"$RAIDLOOM\" report imported",
        "exec \"$RAIDLOOM\" report imported --md -",
        "cat imported/report.md",
    ] {
        let ended = place.shell(script).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        for (row, shown) in figures {
            let has_both = |line: &str| line.contains(row) && line.contains(shown);
            assert!(said.lines().any(has_both), "{script}: {row}: {said}");
        }
        assert!(!said.contains("No answer"), "{script}: there is no question: {said}");
    }
}
