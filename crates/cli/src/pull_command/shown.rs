//! What a test has found, on the screen and as JSON.

use block::Node;
use lab::pull::{
    DEFAULT_MODEL, Guests, LostMember, MountHost, Options, Outcome, Sample, WorkSource,
};
use pull::{ScoreCard, Share, Spread, Work};
use serde_json::{Value, json};

use super::arguments::{DeviceName, EventName, PullArguments};
use crate::failure::Failure;
use crate::output::{Output, about, figure};

pub(super) fn show(
    output: &Output,
    arguments: &PullArguments,
    (options, ground): (&Options, &MountHost),
    outcome: &Outcome,
) -> Result<(), Failure> {
    let guest = match ground {
        MountHost::Guest(guests) => Some(guests),
        MountHost::Host(_) => None,
    };
    let mounted = arguments.mount_options.as_deref();
    let stood_for = stood_for(arguments);
    let simulated = simulated(&stood_for);
    if output.json {
        return output.document(&document(arguments, options, guest, outcome));
    }
    let recorded = match &options.import {
        Some(source) => format!("of {}, which knows no times", source.log.display()),
        None => format!(
            "{} in {:.1} s of {} recordings",
            done(options),
            outcome.recorded_seconds,
            options.recordings
        ),
    };
    let of_md = if options.md.is_some() { " of md" } else { "" };
    let mut text = simulated.as_ref().map_or(String::new(), |simulated| format!("{simulated}\n"));
    text += &format!(
        "{} on {}{of_md}{}, {recorded}\n",
        options.file_system.name,
        arguments.target.as_deref().unwrap_or_default(),
        mounted.map(|mounted| format!(", mounted with {mounted}")).unwrap_or_default(),
    );
    if let Some(guest) = guest {
        text += &format!(
            "in a guest with Linux {} and {} of memory; times are modelled, processors take none, \
            and drives without a model of their own the time of {DEFAULT_MODEL}\n",
            guest.version(),
            about(guest.memory_bytes())
        );
    }
    let cache = drives(arguments, options);
    let lost = match options.lost_member {
        LostMember::None => String::new(),
        LostMember::Random => ", and one of them, another each time, is lost".to_owned(),
        LostMember::RandomTwo => ", and two of them, others each time, are lost".to_owned(),
        LostMember::Two(first, second) => {
            format!(", and numbers {first} and {second} of them are lost")
        }
        LostMember::Number(number) => format!(", and number {number} of them is lost"),
    };
    text += &format!(
        "{cache}{lost}; {} written in {} requests, {} flushes; {} promises made\n",
        about(outcome.written_bytes),
        outcome.requests,
        outcome.flushes,
        outcome.promises
    );
    for (name, sample) in [
        ("cuts uniform in time", &outcome.figure),
        ("the hunt: hot cuts, hostile losses", &outcome.hunt),
    ] {
        if let Some(sample) = sample {
            let is_own = options.own_program().is_some();
            let card = card(name, sample, (guest.is_some(), is_own), simulated.as_deref());
            text += &format!("\n{card}\n");
        }
    }
    if let (Some(first), Some(folder)) = (outcome.kept.first(), &options.keep_failing) {
        let count = outcome.kept.len();
        text += &format!("\n{count} kept in {}; look at one:\n", folder.display());
        text += &format!("  raidloom pull --replay {}\n", first.display());
    }
    output.result(&text)
}

/// What was done while it was recorded.
fn done(options: &Options) -> String {
    let steps = options.extent.steps * options.recordings;
    let of = match &options.work {
        WorkSource::Program(_) => return "a program of one's own".to_owned(),
        WorkSource::BuiltIn(Work::Copy) => "files copied",
        WorkSource::BuiltIn(Work::Fsync) => "steps with fsync",
        WorkSource::BuiltIn(Work::Rename) => "renames",
        WorkSource::BuiltIn(Work::Append) => "blocks appended",
        WorkSource::BuiltIn(Work::Database | Work::DatabaseExtra | Work::DatabaseWal) => {
            "transactions of SQLite"
        }
        WorkSource::BuiltIn(Work::Generated) => "small works",
    };
    format!("{steps} {of}")
}

/// What `--json` prints.
fn document(
    arguments: &PullArguments,
    options: &Options,
    guest: Option<&Guests>,
    outcome: &Outcome,
) -> Value {
    let stood_for = stood_for(arguments);
    let simulated = simulated(&stood_for);
    json!({
        "target": arguments.target,
        "file_system": options.file_system.name,
        "make_options": options.make_options,
        "mount_options": arguments.mount_options,
        "work": options.work,
        "policy": arguments.keys.policy,
        "device": options.behaviour,
        // What a drive in memory does says nothing of the one that it stands for.
        "is_honest_device": stood_for.is_empty().then(|| options.behaviour.is_honest()),
        "simulated": simulated,
        "stands_for": stood_for,
        "event": options.happening,
        "cache_bytes": options.cache_bytes,
        "cache_milliseconds": options.cache_milliseconds,
        "tear_bytes": options.tear_bytes,
        "md": options.md,
        "start_with": options.starter,
        "state": options.state.to_string(),
        "unflushed": options.unflushed,
        "lost_member": options.lost_member.to_string(),
        "seed": options.seed,
        "place": if guest.is_some() { "guest" } else { "host" },
        "guest": guest.map(|guest| {
            json!({"kernel": guest.version(), "memory_bytes": guest.memory_bytes()})
        }),
        "outcome": outcome,
    })
}

/// What the drives keep and lose, as it was assumed.
fn drives(arguments: &PullArguments, options: &Options) -> String {
    match (arguments.event, arguments.device) {
        (EventName::Cable | EventName::Kill, _) => {
            "drives keep their power and what they cached".to_owned()
        }
        (_, DeviceName::Typical) => format!(
            "typical drives: cache {} and at most {} old, tear unit {}",
            about(options.cache_bytes),
            arguments.keys.cache_age,
            about(options.tear_bytes.into())
        ),
        (_, DeviceName::Strict) => {
            format!("strict drives: tear unit {}", about(options.tear_bytes.into()))
        }
        (_, DeviceName::WriteThrough) => "drives without a volatile cache".to_owned(),
        (_, DeviceName::Lying) => "DISHONEST drives: flushes are ignored".to_owned(),
        (_, DeviceName::LyingFua) => "DISHONEST drives: FUA is ignored".to_owned(),
        (_, DeviceName::Model) => "drives whose model says what is on the media, block by block, \
            tear unit 512 B or its own block"
            .to_owned(),
    }
}

/// The files and devices of the target for which drives in memory stand: they are not opened.
pub(super) fn stood_for(arguments: &PullArguments) -> Vec<String> {
    let node = arguments.target.as_deref().and_then(|text| stack::parse(text).ok());
    let leaves = node.iter().flat_map(Node::leaves);
    let file = |leaf: &Node| match leaf {
        Node::Leaf { scheme, address, .. } if scheme == "file" => Some(address.clone()),
        _ => None,
    };
    leaves.filter_map(file).collect()
}

/// That a grade is of drives in memory and of no drive that was named.
pub(super) fn simulated(stood_for: &[String]) -> Option<String> {
    if stood_for.is_empty() {
        return None;
    }
    let (names, itself) =
        (stood_for.join(", "), if stood_for.len() == 1 { "itself" } else { "themselves" });
    Some(format!("simulated: nothing is known of {names} {itself}"))
}

/// A sample as a table. Nothing but promises is known of a program of the user's own.
fn card(
    name: &str,
    sample: &Sample,
    (in_guest, is_own): (bool, bool),
    simulated: Option<&str>,
) -> String {
    let ScoreCard { pulls, .. } = sample.card;
    let card = &sample.card;
    let mut rows: Vec<(&str, String)> = vec![
        ("could not be mounted", shown(&card.unmountable)),
        ("  repaired", shown(&card.repaired)),
        ("  nor after a repair", shown(&card.lost_for_good)),
    ];
    if let Some(check) = &card.check_failed {
        rows.push(("errors found by a check", shown(check)));
    }
    rows.push(("acknowledged work lost", shown(&card.promise_broken)));
    if card.promise_broken.count > 0 {
        let bytes = match is_own {
            true => String::new(),
            false => format!(", {}", about(card.promised_bytes_lost)),
        };
        rows.push(("  promises broken", format!("{}{bytes}", card.promises_broken)));
        rows.push(("  seconds of it", spread(&card.promised_seconds_lost)));
    }
    if !is_own {
        rows.extend(unpromised(card));
    }
    let recovery = if in_guest { "recovery, modelled seconds" } else { "recovery, seconds" };
    rows.push((recovery, spread(&card.recovery_seconds)));
    if sample.unjudged > 0 {
        let why: Vec<String> = sample.unjudged_why.iter().map(ToString::to_string).collect();
        let text = format!("{}, not counted ({})", sample.unjudged, why.join("; "));
        rows.push(("the check gave no verdict", text));
    }
    if sample.unsteady > 0 {
        rows.push(("not shown twice, not counted", sample.unsteady.to_string()));
    }
    let rows = rows.into_iter().map(|(label, value)| format!("  {label:<30}{value}\n"));
    let simulated = simulated.map_or(String::new(), |simulated| format!(" ({simulated})"));
    format!("{name}, {pulls} pulls\n{}{}{simulated}", rows.collect::<String>(), card.headline())
}

/// What nobody promises, which only built-in works look at.
fn unpromised(card: &ScoreCard) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("seconds of copies lost", spread(&card.closed_seconds_lost)),
        ("files of copies lost", spread(&card.closed_files_lost)),
        ("bytes of copies lost", sizes(&card.closed_bytes_lost)),
        ("renames without fsync torn", shown(&card.rename_torn)),
        ("old data exposed", shown(&card.exposed)),
    ];
    if card.exposed_files > 0 {
        rows.push(("  in files", card.exposed_files.to_string()));
    }
    rows.push(("blocks torn, as permitted", card.torn_blocks.to_string()));
    rows
}

fn shown(share: &Share) -> String {
    let Share { count, percent, at_most_percent } = share;
    match count {
        0 => format!("none (below {} % at 95 %)", figure(*at_most_percent)),
        _ => format!("{count}: {} % (at most {} %)", figure(*percent), figure(*at_most_percent)),
    }
}

fn spread(spread: &Spread) -> String {
    spread_in(spread, "longest", figure)
}

fn sizes(spread: &Spread) -> String {
    spread_in(spread, "most", |bytes| about(bytes as u64))
}

fn spread_in(spread: &Spread, most: &str, shown: impl Fn(f64) -> String) -> String {
    let Spread { median, p95, max } = *spread;
    if max == 0.0 {
        return "0".to_owned();
    }
    format!("median {}, p95 {}, {most} {}", shown(median), shown(p95), shown(max))
}
