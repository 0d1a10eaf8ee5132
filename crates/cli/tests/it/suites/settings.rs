//! "`bench depth --help` states a default that does not exist": what help and `bench explain` say
//! of every setting of every suite is held against what a run says it was run with, and against
//! the time that its rows then take. On the virtual clock all of it; on the wall clock all but what
//! makes it quick.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::suites::{figure, measured, raidloom, rows};

const MODEL: &str = "model:maxtor-6y200p0";

/// What a command prints.
fn printed(arguments: &[&str]) -> String {
    let output = raidloom().args(arguments).env("COLUMNS", "100").output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// What the help of a suite says of each of its settings, on the wall clock and on the virtual one.
fn helped(suite: &str) -> BTreeMap<String, [String; 2]> {
    let help = printed(&["bench", suite, "--help"]);
    let help: String = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let explained: Value =
        serde_json::from_str(&printed(&["bench", "explain", suite, "--json"])).expect("JSON");
    let mut found = BTreeMap::new();
    for setting in explained["settings"].as_array().expect("settings") {
        let [name, flag] = ["name", "flag"].map(|key| setting[key].as_str().expect("a text"));
        assert_eq!(flag, format!("--{}", name.replace('_', "-")), "flag and key have one name");
        let its = [" <", " [<", "[=<"]
            .iter()
            .find_map(|then| Some(help.split_once(&format!("{flag}{then}"))?.1))
            .unwrap_or_else(|| panic!("{suite} has no flag {flag}: {help}"));
        let (_, default) = its.split_once("[default: ").expect("a default");
        let (default, _) = default.split_once(']').expect("its end");
        let clocks = match default.split_once("; ") {
            None => [default, default],
            Some((wall, modelled)) => {
                [wall, modelled.strip_suffix(" on the virtual clock").expect("a clock")]
            }
        };
        let said = ["wall", "virtual"].map(|clock| setting["defaults"][clock].as_str());
        assert_eq!(said, clocks.map(Some), "{suite}: explain of {name}");
        found.insert(name.to_owned(), clocks.map(str::to_owned));
    }
    found
}

/// Holds the settings of a run against what help says, but for those that were named.
fn compare(suite: &str, document: &Value, clock: usize, named: &[&str]) {
    let said = helped(suite);
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
fn help_says_what_a_run_does_on_the_virtual_clock() {
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
    compare("crystal", &measured("crystal", Path::new(MODEL), &["--only", "Q1T1"]), 1, &["only"]);
}

#[test]
fn help_says_what_a_run_does_on_the_wall_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("a text");
    let cases: [(&str, &str, &[&str], &[&str]); 6] = [
        ("devtest", "ram:4MiB", &["--time", "1ms"], &["time"]),
        ("depth", "ram:2MiB", &["--time", "1ms", "--depth-max", "1"], &["time", "depth_max"]),
        (
            "crystal",
            "ram:2MiB",
            &["--time", "1ms", "--interval", "0s", "--runs", "1", "--access", "direct"],
            &["time", "interval", "runs", "access"],
        ),
        (
            "hdparm",
            "ram:4MiB",
            &["--cached-time", "1ms", "--device-time", "1ms"],
            &["cached_time", "device_time"],
        ),
        ("copy", folder, &["--bytes", "64KiB"], &["bytes"]),
        (
            "bonnie",
            folder,
            &["--io=false", "--files", "4", "--min-time", "1ns"],
            &["io", "files", "min_time"],
        ),
    ];
    for (suite, target, arguments, named) in cases {
        compare(suite, &measured(suite, Path::new(target), arguments), 0, named);
    }
}

/// Older spellings of flags still say the same.
#[test]
fn older_spellings_of_flags_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["--bytes", "64KiB", "--max-dir-files", "7", "--no-access-times"];
    let document = measured("copy", folder.path(), &arguments);
    let settings = &document["settings"];
    assert_eq!(
        (&settings["max_folder_files"], &settings["access_times"]),
        (&"7".into(), &"false".into())
    );
    let arguments = ["--open-loop", "--depth-max", "1", "--time", "100ms", "--access", "random"];
    assert_eq!(measured("depth", Path::new(MODEL), &arguments)["settings"]["loop"], "open");
    let arguments = ["--time-per-test", "2s", "--ramp", "0s"];
    assert_eq!(measured("devtest", Path::new(MODEL), &arguments)["settings"]["time"], "2s");
}
