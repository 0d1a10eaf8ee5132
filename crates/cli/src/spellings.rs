//! What is typed and is no verb or option: old spellings, which go on working for one release, and
//! words of other programs or of another verb, which are answered with the command to type.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bench::suite;
use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use words::{Message, Text};

use crate::catalogue::{self, say, statement};

/// A verb that is spelt otherwise now.
struct Verb {
    old: &'static [&'static str],
    new: &'static [&'static str],
    /// The key that its second argument became.
    key: Option<&'static str>,
}

const fn verb(old: &'static [&'static str], new: &'static [&'static str]) -> Verb {
    Verb { old, new, key: None }
}

/// Longer ones before those that they begin with.
const VERBS: &[Verb] = &[
    verb(&["drives"], &["check", "drives"]),
    verb(&["guest", "check"], &["check", "guest"]),
    verb(&["plan", "new"], &["run", "--print-plan"]),
    verb(&["plan", "list"], &["run", "plan"]),
    verb(&["plan", "check"], &["run", "plan"]),
    verb(&["plan", "show"], &["run", "plan"]),
    verb(&["plan"], &["run", "plan"]),
    verb(&["watch"], &["run", "watch"]),
    verb(&["merge"], &["run", "merge"]),
    verb(&["history"], &["report", "history"]),
    verb(&["export"], &["report", "export"]),
    verb(&["bench", "list"], &["bench", "explain"]),
    verb(&["model", "list"], &["model", "show"]),
    verb(&["array", "scan"], &["array", "assemble", "--scan"]),
    verb(&["array", "list"], &["array", "status"]),
    verb(&["array", "guess"], &["array", "rescue"]),
    verb(&["array", "speed"], &["array", "set"]),
    Verb { old: &["array", "log"], new: &["array", "set"], key: Some("log=") },
    Verb { old: &["cache", "resize"], new: &["array", "set"], key: Some("cache_size=") },
    verb(&["cache"], &["array", "cache"]),
    verb(&["overlay", "show"], &["array", "overlay"]),
    verb(&["overlay", "commit"], &["array", "overlay", "--commit"]),
    verb(&["overlay", "discard"], &["array", "overlay", "--discard"]),
    verb(&["overlay"], &["array", "overlay"]),
    verb(&["monitor"], &["array", "monitor"]),
    verb(&["completions"], &["man", "--completions"]),
];

/// An option that is a key now.
struct Flag {
    /// The verb, as it is called now.
    verb: &'static [&'static str],
    old: &'static str,
    /// What stands before its value: a key of `-s`, or of the verb itself.
    new: &'static str,
    value: FlagValue,
}

/// What an option took.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlagValue {
    /// A value, in the next word or behind `=`.
    Needed,
    /// None: this is the key's.
    Given(&'static str),
    /// `true` or `false` behind `=`, or nothing: the key says `on` or `off`.
    Switch,
}

const fn key(verb: &'static [&'static str], old: &'static str, new: &'static str) -> Flag {
    Flag { verb, old, new, value: FlagValue::Needed }
}

const SET: &[&str] = &["array", "set"];
const PULL: &[&str] = &["pull"];
const GUEST: &[&str] = &["guest", "run"];
const GUEST_BUILD: &[&str] = &["guest", "build"];
const SIMULATE: &[&str] = &["array", "cache", "simulate"];

const FLAGS: &[Flag] = &[
    key(SET, "--min", "sync_speed_min="),
    key(SET, "--max", "sync_speed_max="),
    key(SET, "--cache", "cache="),
    key(PULL, "--cache", "-s drive_cache="),
    key(PULL, "--cache-age", "-s cache_age="),
    key(PULL, "--tear", "-s tear="),
    key(PULL, "--spread", "-s spread="),
    key(PULL, "--recordings", "-s recordings="),
    key(PULL, "--policy", "-s policy="),
    key(PULL, "--state-time", "-s state_time="),
    key(PULL, "--make-options", "-s make_options="),
    Flag {
        verb: PULL,
        old: "--unflushed",
        new: "-s write_cache=",
        value: FlagValue::Given("unflushed"),
    },
    Flag { verb: GUEST_BUILD, old: "--again", new: "-s again=", value: FlagValue::Given("yes") },
    key(GUEST, "--scheduler", "-s scheduler="),
    key(GUEST, "--read-ahead", "-s read_ahead="),
    key(GUEST, "--max-request", "-s max_request="),
    key(GUEST, "--queue-depth", "-s queue_depth="),
    Flag { verb: GUEST, old: "--write-cache", new: "-s write_cache=", value: FlagValue::Switch },
    key(GUEST, "--image", "-s image="),
    key(GUEST, "--image-size", "-s image_size="),
    key(GUEST, "--image-io", "-s image_io="),
    key(GUEST, "--make-options", "-s make_options="),
    key(GUEST, "--real-time-limit", "-s real_time_limit="),
    key(GUEST, "--outer-fs", "-s outer_file_system="),
    key(GUEST, "--outer-make-options", "-s outer_make_options="),
    key(GUEST, "--outer-mount-options", "-s outer_mount_options="),
    key(SIMULATE, "--zipf", "-s zipf="),
    key(SIMULATE, "--scan", "-s scan="),
    key(SIMULATE, "--scan-blocks", "-s scan_blocks="),
    key(SIMULATE, "--blocks", "-s blocks="),
    key(SIMULATE, "--accesses", "-s accesses="),
    key(SIMULATE, "--seed", "-s seed="),
    key(SIMULATE, "--block", "-s block="),
    key(SIMULATE, "--sequential-cutoff", "-s sequential_cutoff="),
    key(SIMULATE, "--promote-after", "-s promote_after="),
];

/// A command line as it is spelt now, and what is said of it where it was spelt otherwise.
pub(crate) fn modern(words: &[OsString]) -> (Vec<OsString>, Option<Text>) {
    let mut modern = words.to_owned();
    respell_verb(&mut modern);
    respell_flags(&mut modern);
    let note = (modern != words).then(|| {
        let line: Vec<String> = modern[1..].iter().map(|word| shown(word)).collect();
        statement!(SPELT_NOW, line = line.join(" "))
    });
    (modern, note)
}

fn shown(word: &OsStr) -> String {
    escape::shell(&word.to_string_lossy())
}

/// Where the words are that are no options, from the first verb on.
fn plain(words: &[OsString], from: usize) -> impl Iterator<Item = usize> {
    let is_plain = |word: &OsString| !word.as_bytes().starts_with(b"-");
    (from..words.len()).filter(move |&at| is_plain(&words[at]))
}

fn respell_verb(words: &mut Vec<OsString>) {
    let mut first = plain(words, 1).take(3).collect::<Vec<_>>();
    if first.first().is_some_and(|&at| words[at] == "help") {
        first.remove(0);
    }
    let is_said = |verb: &&Verb| {
        verb.old.len() <= first.len()
            && first.iter().zip(verb.old).all(|(&at, word)| words[at] == **word)
    };
    let Some(verb) = VERBS.iter().find(is_said) else { return };
    if let Some(key) = verb.key {
        // The array's name, then the value; none of their options takes one in a word of its own
        // before these.
        let value = plain(words, first[verb.old.len() - 1] + 1).nth(1);
        if let Some(at) = value {
            let mut word = OsString::from(key);
            word.push(&words[at]);
            words[at] = word;
        }
    }
    for &at in first[1..verb.old.len().max(1)].iter().rev() {
        words.remove(at);
    }
    words.splice(first[0]..=first[0], verb.new.iter().map(OsString::from));
}

fn respell_flags(words: &mut Vec<OsString>) {
    let verb: Vec<usize> = plain(words, 1).take(3).collect();
    let is_of = |flag: &&Flag| {
        flag.verb.len() <= verb.len()
            && verb.iter().zip(flag.verb).all(|(&at, word)| words[at] == **word)
    };
    let flags: Vec<&Flag> = FLAGS.iter().filter(is_of).collect();
    let mut at = 1;
    while at < words.len() && words[at] != "--" {
        let text = words[at].as_bytes();
        let name_ends = text.iter().position(|&byte| byte == b'=').unwrap_or(text.len());
        let flag = flags.iter().find(|flag| flag.old.as_bytes() == &text[..name_ends]);
        // What a guest runs has options of its own.
        if flag.is_none() && is_work(words, at, verb.first()) {
            return;
        }
        if let Some(flag) = flag {
            respell(words, at, flag);
        }
        at += 1;
    }
}

/// Whether `guest run`'s command begins there: the first word that is neither an option nor the
/// value of one.
fn is_work(words: &[OsString], at: usize, verb: Option<&usize>) -> bool {
    let is_option = |word: &OsString| word.as_bytes().starts_with(b"-");
    let before = &words[at - 1];
    // Those of every verb take no value.
    let takes_value = is_option(before)
        && !before.as_bytes().contains(&b'=')
        && !before.as_bytes().starts_with(b"-v")
        && !["-q", "--quiet", "--json", "--no-color", "--verbose"].iter().any(|own| before == own);
    verb.is_some_and(|&verb| words[verb] == "guest" && at > verb + 1)
        && !is_option(&words[at])
        && !takes_value
}

fn respell(words: &mut Vec<OsString>, at: usize, flag: &Flag) {
    let text = words[at].clone();
    let bytes = text.as_bytes();
    let inline = bytes.iter().position(|&byte| byte == b'=');
    let inline = inline.map(|at| OsStr::from_bytes(&bytes[at + 1..]));
    let value = match (flag.value, inline) {
        (FlagValue::Given(value), None) => OsString::from(value),
        (FlagValue::Switch, inline) => match inline {
            Some(word) if word != "true" => "off".into(),
            _ => "on".into(),
        },
        (_, Some(value)) => value.into(),
        (FlagValue::Needed, None) if at + 1 < words.len() => words.remove(at + 1),
        (FlagValue::Needed, None) => return,
    };
    let (option, key) = match flag.new.split_once(' ') {
        Some((option, key)) => (Some(OsString::from(option)), key),
        None => (None, flag.new),
    };
    let mut word = OsString::from(key);
    word.push(value);
    words.splice(at..=at, option.into_iter().chain([word]));
}

/// Words of other programs, and what people type who look for a verb: below which verb, and what to
/// type. What begins with a verb gets what else was typed.
const WORDS: &[(&[&str], &[&str], &str)] = &[
    (
        &[],
        &["test", "measure", "benchmark", "speed", "speedtest"],
        "bench SUITE TARGET (raidloom bench explain lists the suites)",
    ),
    (&[], &["diskspd", "cdm", "crystaldiskmark", "kdiskmark"], "bench crystal FOLDER"),
    (&[], &["bonnie++"], "bench bonnie FOLDER"),
    (&[], &["iozone", "dd"], "bench devtest FILE --size 1GiB"),
    (&[], &["list", "ls"], "array status (drives: raidloom check drives, plans: run plan)"),
    (&[], &["ps", "info", "detail", "query"], "array status"),
    (&[], &["scan"], "array assemble --scan"),
    (&[], &["fio"], "bench fio FOLDER -s job=FILE"),
    (&[], &["disks", "disk", "lsblk", "devices", "drive"], "check drives"),
    (&[], &["doctor", "version", "setup"], "check"),
    (&[], &["mkfs", "format"], "array mount NAME FOLDER --fs ext4"),
    (&[], &["unmount"], "array umount NAME"),
    (&[], &["plans", "new", "init"], "run plan"),
    (&[], &["resume", "continue"], "run --resume RUN"),
    (&[], &["diff"], "compare RUN RUN"),
    (&[], &["results", "result", "card"], "report RUN"),
    (&[], &["models", "catalogue", "catalog"], "model show"),
    (&[], &["suites"], "bench explain"),
    (&[], &["web", "gui", "page"], "ui"),
    (&[], &["crash", "powercut", "plug"], "pull TARGET"),
    (&["array"], &["detail", "info", "query", "show", "ls", "ps"], "array status"),
    (&["array"], &["build", "run", "attach", "up"], "array start"),
    (&["array"], &["down", "detach", "eject"], "array stop NAME"),
    (&["array"], &["follow", "watch"], "array monitor"),
    (&["array"], &["unmount"], "array umount NAME"),
    (&["array"], &["mkfs", "format"], "array mount NAME FOLDER --fs ext4"),
    (&["array"], &["check", "repair"], "array scrub NAME"),
    (&["array"], &["delete", "zero-superblock", "wipe"], "array destroy MEMBER..."),
    (&["array"], &["recover", "salvage"], "array rescue MEMBER..."),
    (&["array", "cache"], &["show", "list", "ls", "info", "detail"], "array cache status NAME"),
];

/// What raidloom does not do, and who does.
const ELSEWHERE: &[(&str, Message)] = &[
    ("smart", catalogue::NO_HEALTH_FIGURES),
    ("smartctl", catalogue::NO_HEALTH_FIGURES),
    ("health", catalogue::NO_HEALTH_FIGURES),
    ("grow", catalogue::NO_RESHAPING),
    ("reshape", catalogue::NO_RESHAPING),
    ("partition", catalogue::NO_PARTITIONING),
];

/// One line for a word that is no verb; `None` where nothing better is known than what clap says.
pub(crate) fn answer(error: &Error, root: &Command, words: &[OsString]) -> Option<String> {
    let word = match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) => word.as_str(),
        // `raidloom --create`, as mdadm has it.
        (ErrorKind::UnknownArgument, _) => match error.get(ContextKind::InvalidArg)? {
            ContextValue::String(option) => option.strip_prefix("--")?,
            _ => return None,
        },
        _ => return None,
    };
    let at = plain(words, 1).find(|&at| words[at] == word);
    let at = at.or_else(|| {
        words.iter().position(|typed| {
            typed.to_str().and_then(|typed| typed.strip_prefix("--")) == Some(word)
        })
    })?;
    let above: Vec<&str> = plain(&words[..at], 1).filter_map(|at| words[at].to_str()).collect();
    // Below a verb that does something it is an option that is not known.
    let command = above.iter().try_fold(root, |command, word| command.find_subcommand(word))?;
    if !command.is_subcommand_required_set() && !above.is_empty() {
        return None;
    }
    let rest: Vec<String> = words[at + 1..].iter().map(|word| shown(word)).collect();
    let instead = instead(root, &above, word, &rest)?;
    let said = above.iter().chain([&word]).copied().collect::<Vec<_>>().join(" ");
    Some(say!(NO_VERB, verb = escape::line(&said), instead = instead))
}

/// One line for a verb below `run` that was typed below `report`, or the other way round, which
/// would be taken for the name of a plan or of a run.
pub(crate) fn misplaced(root: &Command, words: &[OsString]) -> Option<String> {
    let mut plain = plain(words, 1);
    let (first, second) = (plain.next()?, plain.next()?);
    let (above, word) = (words[first].to_str()?, words[second].to_str()?);
    let other = match above {
        "run" => "report",
        "report" => "run",
        _ => return None,
    };
    root.find_subcommand(other)?.find_subcommand(word)?;
    if word == "help" || Path::new(word).exists() {
        return None;
    }
    let rest: Vec<String> = words[second + 1..].iter().map(|word| shown(word)).collect();
    let line = [&[format!("{other} {word}")], &rest[..]].concat().join(" ");
    let (verb, instead) = (format!("{above} {word}"), say!(TRY_LINE, line = line));
    Some(say!(NO_VERB, verb = verb, instead = instead))
}

/// What to type instead of a word that is no verb, with what else was typed.
fn instead(root: &Command, above: &[&str], word: &str, rest: &[String]) -> Option<String> {
    if let Some((_, message)) = ELSEWHERE.iter().find(|(known, _)| *known == word) {
        return Some(message.template().to_owned());
    }
    let with = |line: &str| {
        let words = [&[line.to_owned()], rest].concat();
        Some(say!(TRY_LINE, line = words.join(" ")))
    };
    let known = WORDS.iter().find(|(below, words, _)| *below == above && words.contains(&word));
    if let Some((_, _, line)) = known {
        // What names its arguments shows where they go.
        return if line.contains(|sign: char| sign.is_uppercase() || sign == '(') {
            Some(say!(TRY_LINE, line = line))
        } else {
            with(line)
        };
    }
    let mut found = Vec::new();
    paths(root, "", word, &mut found);
    let of_array = |path: &&String| path.starts_with("array ") && path.split(' ').count() == 2;
    if let Some(path) = found.iter().find(of_array).or_else(|| found.first()) {
        return with(path);
    }
    if suite::find(word).is_some() {
        return with(&format!("bench {word}"));
    }
    if lab::plan::shipped().iter().any(|plan| plan.name == word) {
        return with(&format!("run {word}"));
    }
    let path = Path::new(word);
    let shown = escape::shell(word);
    match path.metadata() {
        Ok(_) if path.join("trials.jsonl").exists() => with(&format!("report {shown}")),
        Ok(_) if path.extension().is_some_and(|ending| ending == "toml") => {
            with(&format!("run {shown}"))
        }
        Ok(facts) if facts.is_dir() => with(&format!("bench crystal {shown}")),
        Ok(_) => with(&format!("bench devtest --read-only {shown}")),
        Err(_) => None,
    }
}

/// The verbs of this name below others.
fn paths(command: &Command, path: &str, name: &str, found: &mut Vec<String>) {
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let path = format!("{path} {}", verb.get_name()).trim().to_owned();
        if verb.get_name() == name && !verb.is_hide_set() {
            found.push(path.clone());
        }
        paths(verb, &path, name, found);
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    fn line(text: &str) -> Vec<OsString> {
        std::iter::once("raidloom").chain(text.split_whitespace()).map(Into::into).collect()
    }

    fn text(words: &[OsString]) -> String {
        words[1..].iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Old, and as it is spelt now; each new one can be typed.
    const PAIRS: &[(&str, &str)] = &[
        ("drives --json", "check drives --json"),
        ("guest check", "check guest"),
        ("plan new", "run --print-plan"),
        ("plan new stripe-size", "run --print-plan stripe-size"),
        ("plan list", "run plan"),
        ("plan check p.toml -s a=b", "run plan p.toml -s a=b"),
        ("--json plan show p.toml", "--json run plan p.toml"),
        ("plan --json show p.toml", "run plan --json p.toml"),
        ("watch RUN", "run watch RUN"),
        ("merge a b -o c", "run merge a b -o c"),
        ("history dir --svg -", "report history dir --svg -"),
        ("export RUN -o f", "report export RUN -o f"),
        ("bench list", "bench explain"),
        ("model list", "model show"),
        ("array scan", "array assemble --scan"),
        ("array scan a b", "array assemble --scan a b"),
        ("array list --json", "array status --json"),
        ("array guess a b", "array rescue a b"),
        ("array speed t", "array set t"),
        (
            "array speed t --max 1MiB --min=2KiB",
            "array set t sync_speed_max=1MiB sync_speed_min=2KiB",
        ),
        ("array log t", "array set t"),
        ("array log t request=trace", "array set t log=request=trace"),
        ("cache resize t 8GiB", "array set t cache_size=8GiB"),
        ("cache resize t 8GiB --cache 1", "array set t cache_size=8GiB cache=1"),
        ("cache status t", "array cache status t"),
        ("cache flush t", "array cache flush t"),
        ("cache salvage s --file f", "array cache salvage s --file f"),
        ("cache simulate --zipf 1.0 --seed=2", "array cache simulate -s zipf=1.0 -s seed=2"),
        ("overlay show d", "array overlay d"),
        ("overlay commit overlay(d,x)", "array overlay --commit overlay(d,x)"),
        ("overlay discard d", "array overlay --discard d"),
        ("monitor --once --state f", "array monitor --once --state f"),
        ("completions bash", "man --completions bash"),
        ("pull ram:1MiB --cache 1MiB", "pull ram:1MiB -s drive_cache=1MiB"),
        ("pull --guest --unflushed ram:1MiB", "pull --guest -s write_cache=unflushed ram:1MiB"),
        (
            "guest run --stack model:x --write-cache=false --queue-depth 4 fio --image x",
            "guest run --stack model:x -s write_cache=off -s queue_depth=4 fio --image x",
        ),
        (
            "guest run --stack=model:x -q fio --image x",
            "guest run --stack=model:x -q fio --image x",
        ),
        (
            "guest run --stack model:x -- fio --image x",
            "guest run --stack model:x -- fio --image x",
        ),
    ];

    #[test]
    fn an_old_spelling_is_read_as_the_new_one_and_that_is_said_in_a_line() {
        for (old, new) in PAIRS {
            let (words, note) = modern(&line(old));
            assert_eq!(text(&words), *new, "{old}");
            assert_eq!(note.is_some(), old != new, "{old}");
            if let Some(note) = note.map(|note| note.to_string()) {
                assert!(note.contains(": raidloom ") && note.lines().count() == 1, "{note}");
            }
            let read = Arguments::command().try_get_matches_from(words);
            assert!(read.is_ok(), "{new}: {read:?}");
            // What is spelt as it should be is left alone.
            let (again, note) = modern(&line(new));
            assert_eq!((text(&again).as_str(), note), (*new, None));
        }
        for verb in VERBS {
            let old = verb.old.join(" ");
            let is_tried =
                PAIRS.iter().any(|(line, _)| line.replace("--json ", "").starts_with(&old));
            assert!(is_tried || ["plan", "cache", "overlay"].contains(&&*old), "{old}");
            // It would be passed over in silence if a verb of that name came.
            let mut at = &Arguments::command();
            let is_there = verb.old.iter().all(|word| match at.find_subcommand(word) {
                Some(below) => {
                    at = below;
                    true
                }
                None => false,
            });
            assert!(!is_there, "{old} is a verb");
        }
        let (help, _) = modern(&line("help plan show"));
        assert_eq!(text(&help), "help run plan");
        let (help, _) = modern(&line("overlay --help"));
        assert_eq!(text(&help), "array overlay --help");
    }

    #[test]
    fn words_that_are_no_verbs_lead_to_the_right_one() {
        for (typed, expected) in [
            ("test", "try: raidloom bench SUITE TARGET (raidloom bench explain lists the suites)"),
            ("status", "try: raidloom array status"),
            ("status tank", "try: raidloom array status tank"),
            ("create tank --level 5", "try: raidloom array create tank --level 5"),
            ("list", "try: raidloom array status (drives: raidloom check drives, plans: run plan)"),
            ("mount tank /mnt", "try: raidloom array mount tank /mnt"),
            ("scan", "try: raidloom array assemble --scan"),
            ("fio job.fio", "try: raidloom bench fio FOLDER -s job=FILE"),
            ("crystal /mnt", "try: raidloom bench crystal /mnt"),
            ("mkfs tank", "try: raidloom array mount NAME FOLDER --fs ext4"),
            ("smart", "raidloom reads no health figures: smartctl -a DEVICE does"),
            ("simulate run.trace", "try: raidloom array cache simulate run.trace"),
            ("fit x", "try: raidloom model fit x"),
            ("explain bonnie", "try: raidloom bench explain bonnie"),
            ("stripe-size", "try: raidloom run stripe-size"),
            ("--assemble a b", "try: raidloom array assemble a b"),
            ("--detail", "try: raidloom array status"),
            ("array detail tank", "try: raidloom array status tank"),
            ("array cache show", "try: raidloom array cache status NAME"),
            ("array simulate x", "try: raidloom array cache simulate x"),
            ("array grow tank", "raidloom does not reshape arrays: mdadm --grow does"),
            ("/", "try: raidloom bench crystal /"),
        ] {
            let words = line(typed);
            let root = Arguments::command();
            let error = Arguments::command().try_get_matches_from(&words).unwrap_err();
            let said = answer(&error, &root, &words).unwrap_or_else(|| panic!("{typed}: {error}"));
            assert!(
                said.contains(&format!("`; {expected}")) && said.lines().count() == 1,
                "{typed}: {said}"
            );
        }
        // clap's own words where nothing better is known, and of an option of a verb.
        for typed in ["zebra", "bnech", "report --create x", "array status --detail"] {
            let words = line(typed);
            let error = Arguments::command().try_get_matches_from(&words).unwrap_err();
            assert_eq!(answer(&error, &Arguments::command(), &words), None, "{typed}");
        }
    }

    #[test]
    fn a_verb_below_the_wrong_one_is_found() {
        let said = |text: &str| misplaced(&Arguments::command(), &line(text));
        let said_of = |text: &str| said(text).unwrap_or_default();
        assert!(said_of("run history dir").ends_with("; try: raidloom report history dir"));
        assert!(said_of("report watch x").ends_with("; try: raidloom run watch x"));
        for text in ["run plan", "run stripe-size", "report history", "report help", "run src"] {
            assert_eq!(said(text), None, "{text}");
        }
    }

    /// Every line of the tables is one that there is.
    #[test]
    fn what_is_said_instead_can_be_typed() {
        let root = Arguments::command();
        for (below, words, line) in WORDS {
            let mut command = &root;
            for word in line.split(' ').filter(|word| word.starts_with(char::is_lowercase)) {
                match command.find_subcommand(word) {
                    Some(verb) => command = verb,
                    None => break,
                }
            }
            assert_ne!(command.get_name(), root.get_name(), "{line}");
            let above = below.iter().try_fold(&root, |at, word| at.find_subcommand(word)).unwrap();
            for word in *words {
                assert!(above.find_subcommand(word).is_none(), "{word} is a verb");
            }
        }
    }

    /// Every command in the documents, plans, units and messages is spelt as it is today.
    #[test]
    fn what_is_printed_is_spelt_as_it_is_today() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (mut files, mut tried, mut old) = (Vec::new(), 0, Vec::new());
        for place in [
            "README.md",
            "CONTRIBUTING.md",
            "Makefile",
            "docs",
            "plans",
            "packaging",
            "models",
            "tests",
            "crates",
        ] {
            files_in(&root.join(place), &mut files);
        }
        // The table, and what is said of old spellings.
        let left_out = ["spellings.rs", "spellings.trycmd", "guard/tests.rs"];
        files.retain(|file| !left_out.iter().any(|name| file.ends_with(name)));
        for file in files {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            for (at, _) in text.match_indices("raidloom ") {
                let line_begins = text[..at].rfind('\n').map_or(0, |end| end + 1);
                // What stands on disks begins so too.
                let before = &text[line_begins..at];
                if before.ends_with("b\"") || before.contains("| magic |") {
                    continue;
                }
                let rest = text[at..].lines().next().unwrap_or_default();
                let command = rest.split(['`', '"', '|', ';', '&', '#', ')', '(']).next();
                let words = line(command.unwrap_or_default().trim_start_matches("raidloom"));
                tried += 1;
                if let (_, Some(note)) = modern(&words) {
                    old.push(format!("{}: {rest}: {note}", file.display()));
                }
            }
        }
        assert!(old.is_empty(), "{}", old.join("\n"));
        assert!(tried > 500, "{tried}");
    }

    fn files_in(path: &Path, found: &mut Vec<std::path::PathBuf>) {
        match std::fs::read_dir(path) {
            Ok(entries) => entries.flatten().for_each(|entry| files_in(&entry.path(), found)),
            Err(_) => found.push(path.to_owned()),
        }
    }
}
