//! What verbs say to people follows the locale; what programs read does not.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::process::{Command, Output};

fn raidloom(folder: &Path, locale: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_raidloom"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("RAIDLOOM_LANG")
        .env("LC_ALL", locale)
        .env("RAIDLOOM_RUNTIME_DIR", folder.join("servers"))
        .output()
        .unwrap()
}

/// All that was said, to both streams.
fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}

/// What was asked of a drive, as `trace` reads it.
const LOAD: &str = "time,op,offset,length\n0,read,0,4096\n1,write,8192,4096\n2,read,4096,4096\n";

/// Verbs with words that only their Japanese has, and those that their English has.
const SPOKEN: [(&[&str], &[&str], &[&str]); 15] = [
    (&["--help"], &["使い方: raidloom", "終了コード"], &["Usage:", "Exit codes"]),
    (&["check"], &["項目", "用途", "root 権限"], &["WHAT", "loop devices"]),
    (&["bench", "explain"], &["スイート", "測定内容"], &["MEASURES"]),
    (
        &["bench", "devtest", "model:maxtor-6y200p0", "--time", "1s", "-o", "devtest"],
        &["測定:", "残り時間", "数値はモデル", "平均レイテンシ", "レポート:"],
        &["time left", "the figures are", "MEAN LATENCY", "report:"],
    ),
    (
        &[
            "bench",
            "crystal",
            "model:wd-red-plus-8tb",
            "--time",
            "1s",
            "--runs",
            "1",
            "-o",
            "crystal",
        ],
        &["直接 最高", "中央値"],
        &["DIRECT BEST"],
    ),
    (&["run", "devtest", "--more", "2"], &[], &["finished"]),
    (
        &["array", "examine", "load.csv"],
        &["バージョン 0.90、1.0、1.1、1.2 の md スーパーブロックがありません"],
        &["1.1 or 1.2", "no md superblock"],
    ),
    (&["array", "status"], &["動作中のものはありません"], &["nothing runs"]),
    (
        &["trace", "show", "load.csv"],
        &["3 要求", "使用範囲", "バースト"],
        &["requests", "footprint", "working set", "under way"],
    ),
    (
        &["model", "show", "wd-red-plus-8tb"],
        &["パラメーター", "レビューの測定値との比較"],
        &["PARAMETER", "OFF BY", "fewer than"],
    ),
    (&["model", "show"], &["回転式"], &["SPINNING", "REMOVABLE"]),
    (&["run", "plan"], &["プラン", "調べること"], &["WHAT IT ASKS"]),
    (
        &["run", "plan", "stripe-size"],
        &["ワークロード", "比較相手"],
        &["Workloads", "COMPARED WITH", "(baseline)"],
    ),
    (&["bench", "explain", "bonnie"], &["フェーズ", "シーカー"], &["The file is", "Five seekers"]),
    (
        &["compare", "devtest", "devtest"],
        &["セル", "判定"],
        &["CELL", "SECOND IS", "no answer", "same"],
    ),
];

#[test]
fn verbs_speak_the_language_of_the_locale() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("load.csv"), LOAD).unwrap();
    for (arguments, japanese, english) in SPOKEN {
        let text = said(&raidloom(folder.path(), "ja_JP.UTF-8", arguments));
        for part in japanese {
            assert!(text.contains(part), "{arguments:?} says {part} in Japanese: {text}");
        }
        for part in english {
            assert!(!text.contains(part), "{arguments:?} says {part} in Japanese: {text}");
        }
    }
}

/// What is refused, its exit code, the code of the message, and words that only its English has.
const REFUSALS: [(&[&str], i32, &str, &str); 24] = [
    (&["array", "create", "t", "-l", "1", "--member", "xfs.img"], 4, "signature", "it carries"),
    (&["array", "create", "t", "-l", "7", "--member", "a.img"], 2, "level_expected", "expected"),
    (
        &["array", "create", "t", "-l", "1", "--member", "a.img", "--size", "9parsecs"],
        2,
        "unknown_unit",
        "unknown unit",
    ),
    (&["array", "stop", "nobody"], 2, "not_running", "no array of this name"),
    (&["array", "start", "raid1(xfs.img, xfs.img)", "--name", "a b"], 2, "server_name", "letters"),
    (&["bench", "explain", "nothing"], 2, "no_suite", "there is no suite"),
    (&["choose", "4", "x", "wd-red-plus-8tb"], 2, "nobody_to_ask", "nobody is here"),
    (&["run", "--allow-change", "devtest"], 2, "for_resumed_run", "goes on"),
    (&["run", "nowhere"], 2, "no_plan", "no plan of that name"),
    (&["bench", "crystal", "nowhere.img"], 2, "no_file", "no such file"),
    (
        &["choose", "1", "x", "wd-red-plus-8tb", "--work", "vm", "--survive", "1"],
        2,
        "one_drive",
        "one drive",
    ),
    (&["array", "examine", "nowhere.img"], 2, "no_entry", "opening it"),
    (&["run", "plan", "own.toml"], 2, "unknown_key", "unknown key"),
    (&["run", "plan", "stripe-size", "-s", "trials.blocks=none"], 2, "whole_between", "from 1 to"),
    (
        &["run", "plan", "stripe-size", "-s", "matrix.level=raid7"],
        2,
        "unknown_level",
        "unknown level",
    ),
    (
        &["run", "plan", "stripe-size", "-s", "workload.depth=0"],
        2,
        "value_expected",
        "a whole number",
    ),
    (&["run", "plan", "stripe-size", "-s", "trials"], 2, "key_and_value", "for example"),
    (&["bench", "devtest", "raid0(a.img, b.img"], 2, "ends_instead", "the text ends"),
    (&["bench", "devtest", "model:nothing-known"], 2, "unknown_model", "no model"),
    (&["report", "nowhere"], 2, "no_run_at", "there is no run"),
    (&["pull", "ram:8MiB", "--consistency", "often"], 2, "consistency_expected", "expected resync"),
    (&["pull", "xfs.img"], 4, "holds_data", "it holds data"),
    (&["bench", "devtest", "xfs.img", "-s", "depth=0"], 2, "value_expected", "a whole number"),
    (&["compare", "nowhere", "there"], 2, "no_run_at", "there is no run"),
];

/// Issue 30: "refusals of the guard and of verbs are values {code, names} that terminal, `--json`
/// and both languages print".
#[test]
fn refusals_are_values_that_every_language_prints() {
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(folder.path().join("xfs.img")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"XFSB", 0).unwrap();
    file.set_len(32 << 20).unwrap();
    std::fs::write(folder.path().join("own.toml"), "schema = 1\nname = \"x\"\nplanted = 1\n")
        .unwrap();
    for (arguments, exit_code, code, words) in REFUSALS {
        let refused = |locale: &str, more: &[&str]| {
            let output = raidloom(folder.path(), locale, &[arguments, more].concat());
            let text = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(exit_code), "{arguments:?}: {text}");
            text
        };
        let [english, japanese] = ["C.UTF-8", "ja_JP.UTF-8"].map(|locale| refused(locale, &[]));
        assert!(english.contains(words) && english.is_ascii(), "{arguments:?}: {english}");
        let is_japanese = |letter| matches!(letter, '\u{3040}'..='\u{30ff}');
        assert!(japanese.contains(is_japanese), "{arguments:?}: {japanese}");
        assert!(!japanese.contains(words), "{arguments:?}: {japanese}");
        // Programs read the same everywhere: codes, names, and the English line.
        let [document, other] =
            ["C.UTF-8", "ja_JP.UTF-8"].map(|locale| refused(locale, &["--json"]));
        assert_eq!(document, other, "{arguments:?}");
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        let error = &document["error"];
        assert_eq!(error["exit_code"], exit_code);
        assert_eq!(format!("raidloom: {}\n", error["text"].as_str().unwrap()), english);
        let parts = error["parts"].to_string();
        assert!(parts.contains(&format!("\"code\":\"{code}\"")), "{arguments:?}: {parts}");
    }
}

/// Catalogues whose messages are refusals, with the codes that programs ask for.
const CATALOGUES: [&str; 26] = [
    include_str!("../../src/catalogue/mod.rs"),
    include_str!("../../src/catalogue/results.rs"),
    include_str!("../../src/contexts/catalogue.rs"),
    include_str!("../../../array/src/catalogue.rs"),
    include_str!("../../../bench/src/catalogue.rs"),
    include_str!("../../../bench/src/format/catalogue.rs"),
    include_str!("../../../bench/src/suite/catalogue.rs"),
    include_str!("../../../block/src/catalogue.rs"),
    include_str!("../../../cache/src/catalogue.rs"),
    include_str!("../../../device/src/messages.rs"),
    include_str!("../../../device/src/model/messages.rs"),
    include_str!("../../../export/src/catalogue.rs"),
    include_str!("../../../guest/src/catalogue.rs"),
    include_str!("../../../host/src/catalogue.rs"),
    include_str!("../../../host/src/guard/catalogue.rs"),
    include_str!("../../../image/src/catalogue.rs"),
    include_str!("../../../lab/src/catalogue.rs"),
    include_str!("../../../lab/src/plan/catalogue.rs"),
    include_str!("../../../lab/src/pull/catalogue.rs"),
    include_str!("../../../luks/src/catalogue.rs"),
    include_str!("../../../mdtools/src/catalogue.rs"),
    include_str!("../../../serve/src/catalogue.rs"),
    include_str!("../../../stack/src/messages.rs"),
    include_str!("../../../stack/src/size.rs"),
    include_str!("../../../trace/src/catalogue.rs"),
    include_str!("../../../ui/src/catalogue.rs"),
];

/// Codes that stand in two of them, or twice in one.
fn codes_that_are_double(catalogues: &[&str]) -> Vec<String> {
    let is_code = |name: &str| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
    };
    let lines = catalogues.iter().flat_map(|text| text.lines());
    let mut codes: Vec<&str> = lines
        .filter_map(|line| line.trim().split_once(": \"").map(|(name, _)| name))
        .filter(|name| is_code(name))
        .collect();
    codes.sort_unstable();
    assert!(codes.len() > 100 || catalogues.len() < 3, "{} codes", codes.len());
    codes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_owned()).collect()
}

#[test]
fn a_code_means_one_thing() {
    assert_eq!(codes_that_are_double(&CATALOGUES), Vec::<String>::new());
    let planted = ["    BUSY: \"it is busy\", \"x\";", "    BUSY: \"wait\", \"y\";"];
    assert_eq!(codes_that_are_double(&planted), ["BUSY"]);
}

/// JSON is the same in every language.
#[test]
fn what_programs_read_is_the_same_in_every_language() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("load.csv"), LOAD).unwrap();
    for arguments in [
        &["check", "--json"][..],
        &["bench", "explain", "--json"],
        &["array", "status", "--json"],
        &["bench", "explain", "bonnie", "--json"],
        &["model", "show", "wd-red-plus-8tb", "--json"],
        &["trace", "show", "load.csv", "--json"],
        &["bench", "devtest", "model:maxtor-6y200p0", "--time", "1s", "-o", "one", "--json"],
    ] {
        let [english, japanese] = ["C.UTF-8", "ja_JP.UTF-8"].map(|locale| {
            let _ = std::fs::remove_dir_all(folder.path().join("one"));
            let output = raidloom(folder.path(), locale, arguments);
            assert!(output.status.success(), "{arguments:?}: {}", said(&output));
            let mut document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            // How much is free changes while others work here.
            if let Some(rows) = document.as_array_mut() {
                rows.retain(|row| row["name"] != "free space here");
            }
            document
        });
        assert_eq!(english, japanese, "{arguments:?}");
    }
}

/// The own variable is asked before the locale.
#[test]
fn a_reader_of_another_language_than_the_locale_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let english = Command::new(env!("CARGO_BIN_EXE_raidloom"))
        .arg("check")
        .current_dir(folder.path())
        .env("LC_ALL", "ja_JP.UTF-8")
        .env("RAIDLOOM_LANG", "en")
        .output()
        .unwrap();
    assert!(said(&english).starts_with("WHAT"), "{}", said(&english));
}
