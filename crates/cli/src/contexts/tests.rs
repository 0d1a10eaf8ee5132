//! All verbs, in the contexts that they have, with each of their options: what means something is
//! read, and all else is refused.

use clap::{Arg, CommandFactory};

use super::*;
use crate::arguments::Arguments;
use crate::cache_command::SimulateKeys;
use crate::guest_command::GuestKeys;
use crate::pull_command::PullKeys;

/// Which options of a verb mean something in a context.
enum Mean {
    All,
    AllBut(&'static [&'static [&'static str]]),
    Only(&'static [&'static [&'static str]]),
}

use Mean::{All, AllBut, Only};

impl Mean {
    fn has(&self, id: &str) -> bool {
        match self {
            All => true,
            AllBut(lists) => !lists.iter().any(|ids| ids.contains(&id)),
            Only(lists) => lists.iter().any(|ids| ids.contains(&id)),
        }
    }
}

const CONSENTS: &[&str] = &["erase", "erase_signature", "allow_device"];
/// What shapes a plan of one line.
#[rustfmt::skip]
const LINE: &[&str] = &["prepare", "cleanup", "figures", "level", "fs", "chunk", "members",
    "member_size", "member_dir"];
/// What a run is told that begins.
#[rustfmt::skip]
const BEGINS: &[&str] = &["set", "output", "shard", "until", "budget", "on", "partition", "nodes",
    "shards"];
/// How a recording is read.
const READING: &[&str] = &["format", "device", "strict"];
/// Nothing of these is in the plan that `choose` prints.
const NOT_OF_PLAN: &[&str] = &["from", "output", "card", "make", "name", "mount"];
/// With these a run's array is made anew.
const FROM: &[&str] = &["member", "store", "mount", "erase", "erase_signature"];

/// Verb, the rest of the line, and what means something there. A verb with one context has a line;
/// every verb has one.
#[rustfmt::skip]
const CONTEXTS: &[(&str, &str, Mean)] = &[
    ("check", "", All),
    ("choose", "a b", AllBut(&[CONSENTS, &["from", "name", "mount"]])),
    ("choose", "a b --measure", AllBut(&[&["budget", "from", "name", "mount"]])),
    ("choose", "a b --print-plan", AllBut(&[CONSENTS, NOT_OF_PLAN])),
    ("choose", "--from RUN", Only(&[&["make"]])),
    ("choose", "--from RUN --do", Only(&[CONSENTS, &["name", "mount"]])),
    ("bench", "--import x", Only(&[&["output"]])),
    ("bench explain", "", Only(&[&[]])),
    ("bench explain", "crystal", AllBut(&[&["set"]])),
    ("bench explain", "crystal --fio dir", All),
    ("bench", "bonnie dir", AllBut(&[&["import"]])),
    ("bench", "devtest model:x --guest", AllBut(&[CONSENTS, &["import", "read_only"]])),
    ("bench", "crystal file.img --read-only", AllBut(&[CONSENTS, &["import", "guest"]])),
    ("bench", "hdparm file.img", AllBut(&[CONSENTS, &["import"]])),
    ("array examine", "a", All),
    ("array create", "t --level 5 --member a b c", All),
    ("array assemble", "a", All),
    ("array status", "", All),
    ("array status", "a", All),
    ("array start", "ram:1MiB", AllBut(&[FROM])),
    ("array start", "x --read-only", AllBut(&[FROM, &["create", "size"]])),
    ("array start", "--from RUN", All),
    ("array start", "x --foreground", AllBut(&[FROM, &["run"]])),
    ("array incremental", "a", All),
    ("array serve", "", All),
    ("array stop", "t", All),
    ("array mount", "t dir", All),
    ("array umount", "t", All),
    ("array fail", "t 1", All),
    ("array remove", "t 1", All),
    ("array add", "t a", All),
    ("array replace", "t 1 a", All),
    ("array scrub", "t", All),
    ("array scrub", "t pause", AllBut(&[&["wait"]])),
    ("array set", "t", All),
    ("array destroy", "a", All),
    ("array rescue", "a b", All),
    ("array write", "a b", All),
    ("array cache simulate", "run.trace", All),
    ("array cache simulate", "-s zipf=1", AllBut(&[READING])),
    ("array cache simulate", "-s zipf=1 -s scan=0.2", AllBut(&[READING])),
    ("record", "/dev/x --output y", All),
    ("trace", "show x", Only(&[READING, &["html"]])),
    ("trace", "cut x", Only(&[READING, &["from", "to", "output"]])),
    ("trace", "scale x", Only(&[READING, &["speed", "size", "output"]])),
    ("trace", "convert x", Only(&[READING, &["output"]])),
    ("array cache status", "t", All),
    ("array cache salvage", "store", AllBut(&[&["write", "allow_device", "raw"]])),
    ("array cache salvage", "store disk --write", AllBut(&[&["file"]])),
    ("array cache flush", "tank", AllBut(&[&["allow_device", "raw"]])),
    ("array cache flush", "cache(a,b)", All),
    ("array overlay", "d", AllBut(&[&["allow_device", "raw"]])),
    ("array overlay", "d --discard", AllBut(&[&["commit", "allow_device", "raw"]])),
    ("array overlay", "o --commit", AllBut(&[&["discard"]])),
    // Whether `--more` names a finished run is seen when it is looked at.
    ("run", "p.toml", Only(&[BEGINS, CONSENTS, &["more", "fail_if", "print_plan"]])),
    ("run", "p.toml --print-plan", Only(&[&[]])),
    ("run", "--command c", Only(&[LINE, BEGINS, CONSENTS, &["print_plan", "fail_if"]])),
    ("run", "--command c --print-plan", Only(&[LINE])),
    ("run", "--resume RUN", Only(&[&["budget", "allow_change", "on", "fail_if", "erase",
        "erase_signature", "allow_device"]])),
    ("run", "--on slurm p.toml", Only(&[&["set", "output", "budget", "partition", "nodes",
        "shards", "erase", "erase_signature", "allow_device"]])),
    ("run", "--on slurm --resume RUN", Only(&[])),
    ("run", "--shard 1/2 p.toml", Only(&[&["set", "output", "budget", "erase", "erase_signature",
        "allow_device"]])),
    ("run", "--more 8 RUN", Only(&[&["budget", "allow_change", "fail_if", "erase",
        "erase_signature", "allow_device", "set", "output"]])),
    ("run", "--until decided RUN", Only(&[&["budget", "allow_change", "fail_if", "erase",
        "erase_signature", "allow_device", "set", "output"]])),
    ("run plan", "", Only(&[&[]])),
    ("run plan", "p.toml", All),
    ("run watch", "RUN", All),
    ("run merge", "a b --output c", All),
    ("report", "RUN", All),
    ("report", "RUN --json", Only(&[])),
    ("report", "RUN --csv -", AllBut(&[&["full"]])),
    ("compare", "a b", All),
    ("report history", "dir", All),
    ("report history", "dir --json", AllBut(&[&["svg"]])),
    ("report export", "RUN", AllBut(&[&["hide"]])),
    ("array monitor", "", AllBut(&[&["once"]])),
    ("array monitor", "--once --state f", AllBut(&[&["every", "metrics"]])),
    ("ui", "", All),
    ("pull", "ram:1MiB", AllBut(&[&["replay", "images"]])),
    ("pull", "ram:1MiB --import f --check c", AllBut(&[&["replay", "images", "work_command",
        "setup", "log_writes", "create", "scratch", "steps", "array", "start_with",
        "state", "consistency", "work"]])),
    ("pull", "--replay f", Only(&[&["set", "images"]])),
    ("pull-worker", "", All),
    ("pull-test", "", All),
    ("model show", "", All),
    ("model show", "m", All),
    ("model fit", "m", AllBut(&[&["device", "time", "samples", "scratch"]])),
    ("model fit", "--device x", AllBut(&[&["facts"]])),
    ("guest build", "", All),
    ("guest run", "--stack model:x true", AllBut(&[&["cut_loses", "then", "images"]])),
    ("guest run", "--cut-at 1s --fs ext4 true", AllBut(&[&["cut_at_request"]])),
    ("guest work", "t", All),
    ("man", "", All),
    ("man", "--to d", AllBut(&[&["completions"]])),
];

/// What has one form alone and cannot be JSON.
const NO_JSON: &[&str] = &["array serve", "guest work", "man"];

/// Words that go with an option that asks for another one.
const WITH: &[(&str, &str, &str)] = &[
    ("array start", "tls_cert", "--tls-key k"),
    ("array start", "tls_key", "--tls-cert c"),
    ("array start", "tls_clients", "--tls-cert c --tls-key k"),
    ("array start", "size", "--create"),
    ("array cache salvage", "write", "disk"),
    ("run", "partition", "--on slurm"),
    ("run", "nodes", "--on slurm"),
    ("run", "shards", "--on slurm"),
    ("report", "badge_of", "--badge b"),
    ("report", "lang", "--md -"),
    ("pull", "work_command", "--check c"),
    ("pull", "check", "--work-command c"),
    ("pull", "setup", "--work-command c --check c"),
    ("report export", "hide", "--anonymous"),
    ("array monitor", "once", "--state f"),
    ("bench", "mount_options", "--fs ext4"),
    ("guest run", "mount_options", "--fs ext4"),
];

/// A value that an option of a verb takes.
fn sample(verb: &str, argument: &Arg) -> String {
    let known = argument.get_possible_values();
    if let Some(last) = known.last() {
        return last.get_name().to_owned();
    }
    match argument.get_id().as_str() {
        "set" if verb == "pull" => "state_time=5s",
        "set" if verb == "guest run" => "queue_depth=2",
        "set" if verb == "guest build" => "again=yes",
        "set" if verb == "array cache simulate" => "block=8KiB",
        "shard" => "1/2",
        "metrics" => "127.0.0.1:0",
        "lose_member" => "random",
        "state" => "degraded",
        "seed" | "margin" => "2",
        _ => match argument.get_value_names().and_then(|names| names.first()).map(|name| &**name) {
            Some("N" | "BLOCKS" | "K" | "MIB") => "2",
            _ => "x",
        },
    }
    .to_owned()
}

/// The option as it is typed; `None` for what stands in its place without a name.
fn typed(verb: &str, argument: &Arg) -> Option<Vec<String>> {
    let name = match (argument.get_long(), argument.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(letter)) => format!("-{letter}"),
        (None, None) => return None,
    };
    if !argument.get_action().takes_values() {
        return Some(vec![name]);
    }
    let value = sample(verb, argument);
    Some(match argument.is_require_equals_set() {
        true => vec![format!("{name}={value}")],
        false => vec![name, value],
    })
}

/// Why a line is refused; `None` when it is not.
fn refusal(words: &[String]) -> Option<String> {
    let mut command = Arguments::command();
    let line = std::iter::once("raidloom".to_owned()).chain(words.iter().cloned());
    match crate::parse(&mut command, line.map(Into::into)) {
        Err(error) => Some(error.to_string()),
        Ok((_, matches)) => check(&command, &matches).err().map(|failure| failure.to_string()),
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace().map(str::to_owned)
}

/// The verbs that can be named, hidden ones too, with their options.
fn verbs(command: &Command, path: &str, found: &mut Vec<(String, Vec<Arg>)>) {
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let path = format!("{path} {}", verb.get_name()).trim().to_owned();
        let own = |argument: &&Arg| {
            !argument.is_global_set() && !["help", "version"].contains(&argument.get_id().as_str())
        };
        let does_something = !verb.has_subcommands() || verb.get_positionals().next().is_some();
        if does_something {
            found.push((path.clone(), verb.get_arguments().filter(own).cloned().collect()));
        }
        verbs(verb, &path, found);
    }
}

fn all_verbs() -> Vec<(String, Vec<Arg>)> {
    let mut command = Arguments::command();
    command.build();
    let mut found = Vec::new();
    verbs(&command, "", &mut found);
    found
}

/// "An option that means nothing here is refused", each option of each verb in each context.
#[test]
fn an_option_means_something_or_is_refused() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for (verb, options) in all_verbs() {
        let contexts: Vec<_> = CONTEXTS.iter().filter(|(known, ..)| *known == verb).collect();
        assert!(!contexts.is_empty(), "{verb}: in which contexts is it used?");
        for (_, rest, mean) in contexts {
            let base: Vec<String> = words(&verb).collect();
            let tail: Vec<String> = words(rest).collect();
            for option in &options {
                let id = option.get_id().as_str();
                let Some(typed) = typed(&verb, option) else { continue };
                // What is there already, and what it is told twice.
                if tail.iter().any(|word| typed[0].starts_with(word.as_str())) {
                    continue;
                }
                tried += 1;
                let with = WITH
                    .iter()
                    .find(|(of, known, _)| verb.starts_with(of) && *known == id)
                    .map_or("", |(_, _, with)| *with);
                let with = if mean.has(id) { with } else { "" };
                // A flag that is there already is not said twice, nor is its value.
                let mut is_there = false;
                let with = words(with).filter(|word| {
                    is_there = if word.starts_with('-') { tail.contains(word) } else { is_there };
                    !is_there
                });
                let takes_many = option.get_num_args().is_some_and(|count| count.max_values() > 1);
                let (first, last) = match takes_many {
                    true => (tail.clone(), typed),
                    false => (typed, tail.clone()),
                };
                let line: Vec<String> =
                    base.iter().cloned().chain(with).chain(first).chain(last).collect();
                match (refusal(&line), mean.has(id)) {
                    (None, false) => wrong.push(format!("{}: passed over", line.join(" "))),
                    (Some(why), true) => wrong.push(format!("{}: {why}", line.join(" "))),
                    _ => (),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 500, "only {tried} were tried");
}

/// The table above can be wrong: every line without a further option is one that can be typed.
#[test]
fn every_context_is_one_that_can_be_typed() {
    for (verb, rest, mean) in CONTEXTS {
        let line: Vec<String> = words(verb).chain(words(rest)).collect();
        // A context with nothing in it is there for being refused.
        let is_refused = matches!(mean, Only([])) && !rest.contains("RUN");
        let why = refusal(&line);
        assert_eq!(why.is_some(), is_refused, "{}: {why:?}", line.join(" "));
    }
}

/// Where there is only one form, `--json` is not passed over.
#[test]
fn json_is_refused_where_nothing_is_json() {
    for (verb, rest, _) in CONTEXTS {
        let line: Vec<String> = words(verb).chain(words("--json")).chain(words(rest)).collect();
        if refusal(&words(verb).chain(words(rest)).collect::<Vec<_>>()).is_some()
            || rest.contains("--json")
        {
            continue;
        }
        let one_form = NO_JSON.contains(verb)
            || ["--print-plan", "--csv"].iter().any(|flag| rest.contains(flag));
        assert_eq!(refusal(&line).is_some(), one_form, "{}", line.join(" "));
    }
}

/// A rule that no verb has, or an option that no verb of it has, is a misspelling.
#[test]
fn rules_are_about_verbs_and_options_that_there_are() {
    let all = all_verbs();
    for rule in RULES {
        for verb in rule.verbs {
            let below: Vec<_> = all
                .iter()
                .filter(|(name, _)| {
                    name.strip_prefix(*verb)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
                })
                .collect();
            assert!(!below.is_empty(), "{verb}");
        }
        if let Options::Keys(keys) = &rule.options {
            let known = match rule.verbs {
                ["pull"] => PullKeys::command(),
                ["guest run"] => GuestKeys::command(),
                ["array cache simulate"] => SimulateKeys::command(),
                other => panic!("{other:?} has no keys"),
            };
            for key in *keys {
                let is_there = known.get_arguments().any(|one| one.get_long() == Some(key));
                assert!(is_there, "{:?}: {key}", rule.verbs);
            }
        }
        let Options::Named(ids) = &rule.options else { continue };
        for id in ids.iter().filter(|id| **id != "json") {
            let is_there = all.iter().any(|(name, options)| {
                rule.verbs.iter().any(|verb| name.starts_with(verb))
                    && options.iter().any(|option| option.get_id() == *id)
            });
            assert!(is_there, "{:?}: {id}", rule.verbs);
        }
    }
}

/// Keys that mean nothing in a context are refused as options are.
#[test]
fn a_key_means_something_or_is_refused() {
    let line = |text: &str| refusal(&words(text).collect::<Vec<_>>());
    for (text, key) in [
        ("pull ram:1MiB --event kill", "cache_age=5s"),
        ("pull ram:1MiB --device strict", "drive_cache=1MiB"),
        ("pull ram:1MiB --device model", "tear=512"),
        ("pull --replay f", "recordings=2"),
        ("array cache simulate -s zipf=1", "scan_blocks=2"),
        ("array cache simulate", "seed=2"),
        ("array cache simulate run.trace", "zipf=1"),
        ("pull --import f ram:1MiB --check c", "make_options=-K"),
        ("guest run --stack model:x", "make_options=-K"),
        ("guest run --stack model:x", "image=raw"),
        ("guest run --stack model:x --fs ext4", "image_size=1GiB"),
    ] {
        let work = if text.starts_with("guest") { "true" } else { "" };
        let why = line(&format!("{text} -s {key} {work}")).unwrap_or_default();
        let name = key.split('=').next().unwrap();
        assert!(why.starts_with(&format!("-s {name}: ")), "{text} -s {key}: {why}");
    }
    for text in [
        "pull ram:1MiB -s cache_age=5s -s tear=512 -s drive_cache=1MiB",
        "array cache simulate -s zipf=1 -s scan=0.2 -s scan_blocks=2",
        "guest run --stack model:x --fs ext4 -s image=raw -s image_size=1GiB true",
    ] {
        assert_eq!(line(text), None, "{text}");
    }
}
