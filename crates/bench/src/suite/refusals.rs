//! What suites refuse is said in the reader's language, whatever is wrong.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use block::{Clock, Error, Reactor};
use words::{Language, Text, in_language};

use super::{
    Kind, NoAudit, NoProgress, Session, Setting, Suite, Target, Ticker, Value, all, bonnie, copy,
    crystal, depth, fio, hdparm, load, pull, replay,
};
use crate::memory::Memory;

/// A refusal in English and in Japanese: no letter of the one, words in the other.
fn is_said_in_both(what: &str, text: &Text) {
    let [english, japanese] =
        Language::ALL.map(|language| in_language(language, || text.to_string()));
    let is_japanese = |letter| matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}');
    assert!(english.is_ascii() && !english.is_empty(), "{what}: {english}");
    assert!(japanese.contains(is_japanese), "{what}: {japanese}");
    assert!(!text.codes().is_empty(), "{what}: {english}");
}

/// A value of another kind.
fn of_another_kind(kind: Kind) -> Value {
    match kind {
        Kind::Text | Kind::Lines | Kind::File | Kind::Path => Value::Switch(true),
        _ => Value::word("no such value"),
    }
}

/// Texts that one check or another refuses.
const WRONG_TEXTS: [&str; 16] = [
    "",
    "x",
    "a:b:c",
    "8KiB..4KiB",
    "4KiB * 0",
    "1,2,3,4,5,6,7,8,9",
    "hot 100:0",
    "a, a",
    "rw=read",
    "include x",
    "[a]\nnew_group",
    "[a]\nexec_prerun=id",
    "[a]\nfilename=/dev/sda",
    "[a]\nioengine=net",
    "[a]\n[a]",
    "[${X}]",
];

#[test]
fn wrong_values_of_settings_are_refused_in_the_readers_language() {
    for suite in all() {
        let mut settings = suite.defaults(Clock::Wall);
        let mut refused = |name, value| settings.set(suite, name, value).err();
        is_said_in_both(suite.name, &refused("no_such_setting", Value::Count(1)).expect("none"));
        for setting in suite.settings {
            let what = format!("{}: {}", suite.name, setting.name);
            let error = refused(setting.name, of_another_kind(setting.kind));
            is_said_in_both(&what, &error.expect("it is of another kind"));
            if matches!(of_another_kind(setting.kind), Value::Switch(_)) {
                for text in WRONG_TEXTS {
                    if let Some(error) = refused(setting.name, Value::word(text)) {
                        is_said_in_both(&format!("{what}: {text:?}"), &error);
                    }
                }
            }
            has_words_for_its_kind(&what, setting);
        }
    }
}

fn has_words_for_its_kind(what: &str, setting: &Setting) {
    let words = in_language(Language::Japanese, || setting.kind.text().to_string());
    let is_word = matches!(setting.kind, Kind::Word(_));
    assert!(is_word || !words.is_ascii(), "{what}: {words}");
}

type Said = [(&'static str, Value)];

const MIB: u64 = 1 << 20;

/// What a suite refuses when it is to run: of settings together, and of its target.
static ON_DEVICES: [(&Suite, &Said, &str); 18] = [
    (&bonnie::SUITE, &[], "works_on_files"),
    (&copy::SUITE, &[], "works_on_files"),
    (&pull::SUITE, &[], "pull_makes_drives"),
    (&fio::SUITE, &[("job", Value::word("[a]"))], "stack_not_opened"),
    (&crystal::SUITE, &[("size", Value::Bytes(1000))], "test_size"),
    (&crystal::SUITE, &[("size", Value::Bytes(64 * MIB))], "test_outgrows_target"),
    (&crystal::SUITE, &[("only", Value::word("RND5K"))], "no_row_named"),
    (&crystal::SUITE, &[("access", Value::word("buffered"))], "raw_rows_are_direct"),
    (&depth::SUITE, &[("block_min", Value::Bytes(3000))], "block_min_power"),
    (&depth::SUITE, &[("block_max", Value::Bytes(1024))], "block_max_range"),
    (&depth::SUITE, &[("size", Value::Bytes(1000))], "size_of_mebibytes"),
    (&depth::SUITE, &[("size", Value::Bytes(64 * MIB))], "test_outgrows_target"),
    (&depth::SUITE, &[("time", Value::Time(std::time::Duration::ZERO))], "point_without_time"),
    (&load::SUITE, &[("used", Value::Bytes(64 * MIB))], "used_of_target"),
    (&load::SUITE, &[("streams", Value::Count(4096))], "no_room_in_streams"),
    (&load::SUITE, &[("content", Value::word("zeros"))], "zeros_unverified"),
    (&load::SUITE, &[("rate", Value::Count(100)), ("depth", Value::Count(7))], "for_closed_loop"),
    (&hdparm::SUITE, &[], "target_has_only"),
];

static IN_FOLDERS: [(&Suite, &Said, &str); 12] = [
    (
        &bonnie::SUITE,
        &[("io", Value::Switch(false)), ("files", Value::Count(0))],
        "no_files_at_all",
    ),
    (&bonnie::SUITE, &[("chunk", Value::Bytes(3000))], "chunk_power"),
    (
        &bonnie::SUITE,
        &[("chunk", Value::Bytes(512)), ("direct", Value::Switch(true))],
        "chunk_for_direct",
    ),
    (&bonnie::SUITE, &[("size", Value::Bytes(MIB))], "cache_could_hold"),
    (
        &bonnie::SUITE,
        &[("size", Value::Bytes(1)), ("check_memory", Value::Switch(false))],
        "size_of_a_chunk",
    ),
    (
        &bonnie::SUITE,
        &[("io", Value::Switch(false)), ("file_size_min", Value::Bytes(1))],
        "smallest_is_larger",
    ),
    (
        &bonnie::SUITE,
        &[("io", Value::Switch(false)), ("folders", Value::Count(100_000))],
        "folders_for_files",
    ),
    (&copy::SUITE, &[("bytes", Value::Bytes(0))], "nothing_to_copy"),
    (&hdparm::SUITE, &[("size", Value::Bytes(MIB))], "whole_mebibytes"),
    (&load::SUITE, &[("size", Value::Bytes(1))], "whole_mebibytes"),
    (&fio::SUITE, &[("job", Value::word("[a]\nfilename={device}"))], "write_own"),
    (&bonnie::SUITE, &[("size", Value::Bytes(1 << 60))], "too_little_room"),
];

#[test]
fn what_cannot_be_run_is_refused_in_the_readers_language() {
    let folder = tempfile::tempdir().unwrap();
    let memory = |suite: &Suite| match suite.name {
        hdparm::NAME => Memory::new(512),
        _ => Memory::new(MIB),
    };
    for (suite, said, code) in &ON_DEVICES {
        refuses(suite, Target::Device(&memory(suite)), said, code);
    }
    for (suite, said, code) in &IN_FOLDERS {
        refuses(suite, Target::Folder(folder.path()), said, code);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something is left");
}

fn refuses(suite: &Suite, target: Target<'_>, said: &Said, code: &str) {
    let what = format!("{}: {said:?}", suite.name);
    let error = run(suite, target, said).expect_err(&what);
    let text = error.text();
    assert!(text.codes().contains(&code), "{what}: {text}: {:?}", text.codes());
    is_said_in_both(&what, &text);
}

fn run(suite: &Suite, target: Target<'_>, said: &Said) -> Result<(), Error> {
    let reactor = Reactor::virtual_clock();
    let (stop, ticker, mut meter, mut observer) =
        (AtomicBool::new(false), Ticker::new(), NoAudit, NoProgress);
    let mut settings = suite.defaults(Clock::Wall);
    for (name, value) in said {
        settings.set(suite, name, value.clone()).unwrap();
    }
    let mut session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut observer);
    (suite.run)(target, &settings, &mut session)
}

/// What is found of recordings, once they are read.
#[test]
fn recordings_are_refused_in_the_readers_language() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.csv");
    let head = "time,op,offset,length,latency\n";
    for (text, said, code) in [
        (head.to_owned(), [].as_slice(), "recording_is_empty"),
        (IOLOG.to_owned(), &[], "recording_has_no_times"),
        ("time,op,offset,length\n0,read,0,512\n".to_owned(), &[], "recording_has_no_answers"),
        (format!("{head}0,write,0,512,1\n"), &[("operations", "reads")], "no_read_in_it"),
        (format!("{head}0,read,0,2097152,1\n"), &[], "request_outgrows_target"),
        (format!("{head}0,read,9000000,512,1\n"), &[("fit", "exact")], "recording_reaches"),
        (format!("{head}{}", many()), &[], "recording_touches"),
    ] {
        replays(&path, &text, said, code);
    }
}

/// One request of which nobody knows when it was made.
const IOLOG: &str = "fio version 2 iolog\nx add\nx open\nx read 0 512\nx close\n";

/// More than the target has, in requests that it takes.
fn many() -> String {
    (0..2048).map(|number| format!("{number},write,{},4096,1\n", number * 4096)).collect()
}

fn replays(path: &Path, text: &str, said: &[(&'static str, &'static str)], code: &str) {
    std::fs::write(path, text).unwrap();
    let mut all = vec![("file", Value::from(path.display().to_string()))];
    all.extend(said.iter().map(|(name, word)| (*name, Value::word(word))));
    refuses(&replay::SUITE, Target::Device(&Memory::new(MIB)), &all, code);
}
