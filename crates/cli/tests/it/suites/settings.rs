//! "`bench depth --help` states a default that does not exist": what `bench explain` says of every
//! setting of every suite is held against what a run says it was run with, and against
//! the time that its rows then take. On the virtual clock all of it; on the wall clock all but what
//! makes it quick.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::suites::{command, figure, measured, place, raidloom, rows};

const MODEL: &str = "model:maxtor-6y200p0";

/// What a command prints.
fn printed(arguments: &[&str]) -> String {
    let output = raidloom().args(arguments).env("COLUMNS", "100").output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// What `bench explain` says of each key of a suite, on the wall clock and on the virtual one; of
/// how often rows are measured it is `--runs` that counts.
fn explained(suite: &str) -> BTreeMap<String, [String; 2]> {
    let explained: Value =
        serde_json::from_str(&printed(&["bench", "explain", suite, "--json"])).expect("JSON");
    let text: Vec<String> =
        printed(&["bench", "explain", suite]).split_whitespace().map(str::to_owned).collect();
    let text = text.join(" ");
    let mut found = BTreeMap::new();
    for setting in explained["settings"].as_array().expect("settings") {
        let name = setting["name"].as_str().expect("a text");
        let [wall, modelled] =
            ["wall", "virtual"].map(|clock| setting["defaults"][clock].as_str().expect("a text"));
        let words = setting["default"].as_str().expect("words");
        assert!(text.contains(&format!("{name} = {words}")), "{suite}: explain of {name}: {text}");
        assert!(words.contains(wall) && words.contains(modelled), "{suite}: {name}: {words}");
        found.insert(name.to_owned(), [wall, modelled].map(str::to_owned));
    }
    found
}

/// Holds the settings of a run against what help says, but for those that were named.
fn compare(suite: &str, document: &Value, clock: usize, named: &[&str]) {
    let said = explained(suite);
    let used = document["settings"].as_object().expect("settings");
    assert_eq!(said.keys().collect::<Vec<_>>(), used.keys().collect::<Vec<_>>(), "{suite}");
    assert_eq!(document["clock"], ["wall", "virtual"][clock], "{suite}");
    for (name, clocks) in said {
        if !named.contains(&name.as_str()) {
            assert_eq!(used[&name], clocks[clock].as_str(), "{suite}: {name}");
        }
    }
}

#[test]
fn explain_says_what_a_run_does_on_the_virtual_clock() {
    // The suite, the setting that says how long a row takes, and rows it says nothing of.
    for (suite, time, but) in
        [("devtest", "time", ""), ("depth", "time", ""), ("hdparm", "device_time", "cached")]
    {
        let document = measured(suite, Path::new(MODEL), &[]);
        compare(suite, &document, 1, &[]);
        let text = document["settings"][time].as_str().expect("a time");
        let seconds = match text.strip_suffix("min") {
            Some(minutes) => 60.0 * minutes.parse::<f64>().expect("minutes"),
            None => text.strip_suffix('s').and_then(|text| text.parse().ok()).expect("seconds"),
        };
        // Requests that are outstanding at the end make some rows longer, and none shorter.
        let took: Vec<f64> = rows(&document)
            .into_iter()
            .filter(|(phase, _)| but.is_empty() || !phase.contains(but))
            .map(|(_, row)| figure(row, "elapsed_seconds"))
            .collect();
        let least = took.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((least / seconds - 1.0).abs() < 0.1, "{suite} takes {least} s instead of {text}");
    }
    compare("crystal", &measured("crystal", Path::new(MODEL), &["-s", "only=Q1T1"]), 1, &["only"]);
}

#[test]
fn explain_says_what_a_run_does_on_the_wall_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("a text");
    let cases: [(&str, &str, &[&str], &[&str]); 6] = [
        ("devtest", "ram:4MiB", &["--time", "1ms"], &["time"]),
        ("depth", "ram:2MiB", &["--time", "1ms", "-s", "depth_max=1"], &["time", "depth_max"]),
        (
            "crystal",
            "ram:2MiB",
            &["--time", "1ms", "-s", "interval=0s", "--runs", "1", "-s", "access=direct"],
            &["time", "interval", "access"],
        ),
        (
            "hdparm",
            "ram:4MiB",
            &["-s", "cached_time=1ms", "-s", "device_time=1ms"],
            &["cached_time", "device_time"],
        ),
        ("copy", folder, &["-s", "bytes=64KiB"], &["bytes"]),
        (
            "bonnie",
            folder,
            &["-s", "io=false", "-s", "files=4", "-s", "min_time=1ns"],
            &["io", "files", "min_time"],
        ),
    ];
    for (suite, target, arguments, named) in cases {
        compare(suite, &measured(suite, Path::new(target), arguments), 0, named);
    }
}

/// Older spellings of keys still say the same.
#[test]
fn older_spellings_of_keys_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["-s", "bytes=64KiB", "-s", "max_dir_files=7", "-s", "access_times=false"];
    let document = measured("copy", folder.path(), &arguments);
    let settings = &document["settings"];
    assert_eq!(
        (&settings["max_folder_files"], &settings["access_times"]),
        (&"7".into(), &"false".into())
    );
    let arguments = ["-s", "time_per_test=2s", "-s", "ramp=0s"];
    assert_eq!(measured("devtest", Path::new(MODEL), &arguments)["settings"]["time"], "2s");
}

/// A suite on a target is a run like others: its folder is read by `report`, `compare` and
/// `history`, and its plan comes to the same figures again.
#[test]
fn a_suite_on_a_target_is_a_run() {
    let place = place();
    let run = place.path().join("run");
    let arguments = ["-s", "time=2s", "-s", "ramp=0s", "-s", "tests=[\"random read 512\"]"];
    let output =
        command("devtest", Path::new(MODEL), &arguments, &place).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for name in ["plan.toml", "plan.resolved.json", "host.json", "trials.jsonl", "report.html"] {
        assert!(run.join(name).is_file(), "{name} is missing");
    }
    let again = place.path().join("again");
    let texts = |path: &Path| path.to_str().expect("a text").to_owned();
    let plan = texts(&run.join("plan.toml"));
    printed(&["run", &plan, "-o", &texts(&again)]);
    let trials = |run: &Path| std::fs::read(run.join("trials.jsonl")).expect("trials");
    assert_eq!(trials(&run), trials(&again));
    assert!(printed(&["report", &texts(&run)]).contains("random read 512"));
    assert!(printed(&["report", "history", &texts(place.path())]).contains("random read 512"));
    let card = texts(&place.path().join("card.svg"));
    printed(&["report", &texts(&run), "--card", &card]);
    let compared = raidloom().args(["compare"]).args([&run, &again]).output().expect("it runs");
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stderr));
}
