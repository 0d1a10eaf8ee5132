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

/// Each verb with words that only its Japanese has, and those that its English has.
#[test]
fn verbs_speak_the_language_of_the_locale() {
    let folder = tempfile::tempdir().unwrap();
    let disk = "model:maxtor-6y200p0";
    let cases: [(&[&str], &[&str], &[&str]); 7] = [
        (&["--help"], &["使い方: raidloom", "終了コード"], &["Usage:", "Exit codes"]),
        (&["check"], &["項目", "用途", "root 権限"], &["WHAT", "loop devices"]),
        (&["bench", "explain"], &["スイート", "測定内容"], &["MEASURES"]),
        (
            &["bench", "devtest", disk, "--time", "1s", "-o", "devtest"],
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
        (&["array", "status"], &["動作中のものはありません"], &["nothing runs"]),
    ];
    for (arguments, japanese, english) in cases {
        let text = said(&raidloom(folder.path(), "ja_JP.UTF-8", arguments));
        for part in japanese {
            assert!(text.contains(part), "{arguments:?} says {part} in Japanese: {text}");
        }
        for part in english {
            assert!(!text.contains(part), "{arguments:?} says {part} in Japanese: {text}");
        }
    }
}

/// JSON is the same in every language.
#[test]
fn what_programs_read_is_the_same_in_every_language() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["check", "--json"][..],
        &["bench", "explain", "--json"],
        &["array", "status", "--json"],
        &["bench", "devtest", "model:maxtor-6y200p0", "--time", "1s", "-o", "one", "--json"],
    ] {
        let [english, japanese] = ["C.UTF-8", "ja_JP.UTF-8"].map(|locale| {
            let _ = std::fs::remove_dir_all(folder.path().join("one"));
            let output = raidloom(folder.path(), locale, arguments);
            assert!(output.status.success(), "{arguments:?}: {}", said(&output));
            serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
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
