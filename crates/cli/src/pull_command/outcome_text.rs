//! What a test has found, on the screen and as JSON.

use block::Node;
use lab::pull::{
    DEFAULT_MODEL, Guests, LostMember, MountHost, Options, Outcome, Sample, WorkSource,
};
use pull::{ScoreCard, Share, Spread, TimedStates, Work};
use serde_json::{Value, json};
use words::Message;

use super::arguments::{DeviceName, EventName, PullArguments};
use crate::catalogue::{self, say};
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
    let stood_for = stood_for(arguments);
    let simulated = simulated(&stood_for);
    if output.json {
        return output.document(&document(arguments, options, guest, outcome));
    }
    let samples = [(say!(PULL_UNIFORM), &outcome.figure), (say!(PULL_HUNT), &outcome.hunt)];
    let samples: Vec<(String, &Sample)> =
        samples.into_iter().filter_map(|(name, sample)| Some((name, sample.as_ref()?))).collect();
    let mut lines = grades(&samples, simulated.as_deref());
    lines.extend(subject(arguments, options, guest, outcome));
    // What is longer goes on on the next line, further in.
    let columns = output.width().min(COLUMNS_MAX).saturating_sub(2);
    let mut text: String = lines
        .iter()
        .map(|line| format!("{}\n", escape::wrapped(line, columns).join("\n  ")))
        .collect();
    for (name, sample) in &samples {
        text += &format!("\n{}", card(name, sample, guest.is_some(), &options.work));
    }
    if let (Some(first), Some(folder)) = (outcome.kept.first(), &options.keep_failing) {
        let count = outcome.kept.len();
        text += &format!("\n{}\n", say!(PULL_KEPT, count = count, folder = folder.display()));
        text += &format!("  raidloom pull --replay {}\n", first.display());
    }
    output.result(&text)
}

/// The answer: a line for each sample.
fn grades(samples: &[(String, &Sample)], simulated: Option<&str>) -> Vec<String> {
    let simulated = simulated.map_or(String::new(), |simulated| format!(" ({simulated})"));
    let line = |(name, sample): &(String, &Sample)| {
        let name = if samples.len() > 1 { format!("{name}: ") } else { String::new() };
        format!("{name}{}{simulated}", headline(&sample.card))
    };
    samples.iter().map(line).collect()
}

/// What was cut off from its power, and what it had done.
fn subject(
    arguments: &PullArguments,
    options: &Options,
    guest: Option<&Guests>,
    outcome: &Outcome,
) -> Vec<String> {
    let mounted = arguments.mount_options.as_deref();
    let recorded = recorded(options, outcome);
    let of_md = if options.md.is_some() { say!(PULL_OF_MD) } else { String::new() };
    let mut lines = vec![say!(
        PULL_ON,
        file_system = options.file_system.name,
        target = arguments.target.as_deref().unwrap_or_default(),
        of_md = of_md,
        mounted = mounted.map(|mounted| say!(PULL_MOUNTED, options = mounted)).unwrap_or_default(),
        recorded = recorded,
    )];
    lines.extend(guest.map(|guest| {
        say!(
            PULL_IN_GUEST,
            version = guest.version(),
            memory = about(guest.memory_bytes()),
            model = DEFAULT_MODEL,
        )
    }));
    let drives = drives(arguments, options);
    let drives = match options.lost_member {
        LostMember::None => drives,
        LostMember::Random => say!(PULL_LOST_ANY, drives = drives),
        LostMember::RandomTwo => say!(PULL_LOST_TWO, drives = drives),
        LostMember::Two(first, second) => {
            say!(PULL_LOST_THESE, drives = drives, first = first, second = second)
        }
        LostMember::Number(number) => say!(PULL_LOST_NUMBER, drives = drives, number = number),
        LostMember::Stale(number) => say!(PULL_STALE, drives = drives, number = number),
        LostMember::StaleAndLost(number, lost) => {
            say!(PULL_STALE_AND_LOST, drives = drives, number = number, lost = lost)
        }
    };
    lines.push(say!(
        PULL_WRITTEN,
        drives = drives,
        written = about(outcome.written_bytes),
        requests = outcome.requests,
        flushes = outcome.flushes,
        promises = outcome.promises,
    ));
    lines
}

/// What was recorded, and for how long.
fn recorded(options: &Options, outcome: &Outcome) -> String {
    match &options.import {
        Some(source) => say!(PULL_IMPORTED, log = source.log.display()),
        None => say!(
            PULL_RECORDED,
            done = done(options),
            seconds = format_args!("{:.1}", outcome.recorded_seconds),
            recordings = options.recordings,
        ),
    }
}

/// What was done while it was recorded.
fn done(options: &Options) -> String {
    let steps = options.extent.steps * options.recordings;
    let message = match &options.work {
        WorkSource::Program(_) => return say!(PULL_OWN_PROGRAM),
        WorkSource::BuiltIn(Work::Copy) => catalogue::PULL_COPIED,
        WorkSource::BuiltIn(Work::Fsync) => catalogue::PULL_FSYNC,
        WorkSource::BuiltIn(Work::Rename) => catalogue::PULL_RENAMES,
        WorkSource::BuiltIn(Work::Append) => catalogue::PULL_APPENDED,
        WorkSource::BuiltIn(Work::Database | Work::DatabaseExtra | Work::DatabaseWal) => {
            catalogue::PULL_TRANSACTIONS
        }
        WorkSource::BuiltIn(Work::Generated) => catalogue::PULL_SMALL_WORKS,
    };
    words::say!(message, count = steps)
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
            json!({
                "kernel": guest.version(), "name": guest.kernel_name(),
                "memory_bytes": guest.memory_bytes(),
            })
        }),
        "outcome": outcome,
    })
}

/// What the drives keep and lose, as it was assumed.
fn drives(arguments: &PullArguments, options: &Options) -> String {
    match (arguments.event, arguments.device) {
        (EventName::Cable | EventName::Kill, _) => {
            say!(DRIVES_KEEP)
        }
        (_, DeviceName::Typical) => say!(
            DRIVES_TYPICAL,
            cache = about(options.cache_bytes),
            age = arguments.keys.cache_age,
            tear = about(options.tear_bytes.into()),
        ),
        (_, DeviceName::Strict) => {
            say!(DRIVES_STRICT, tear = about(options.tear_bytes.into()))
        }
        (_, DeviceName::WriteThrough) => say!(DRIVES_THROUGH),
        (_, DeviceName::Lying) => say!(DRIVES_LYING),
        (_, DeviceName::LyingFua) => say!(DRIVES_LYING_FUA),
        (_, DeviceName::Model) => say!(DRIVES_MODEL),
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
    let names = stood_for.join(", ");
    Some(match stood_for.len() {
        1 => say!(PULL_SIMULATED_ONE, names = names),
        _ => say!(PULL_SIMULATED, names = names),
    })
}

/// Columns that the names of figures have.
const LABEL_COLUMNS: usize = 30;
/// Of a terminal.
const COLUMNS_MAX: usize = 80;

/// A sample as a table. Nothing but promises is known of a program of the user's own.
fn card(name: &str, sample: &Sample, in_guest: bool, work: &WorkSource) -> String {
    let ScoreCard { pulls, .. } = sample.card;
    let card = &sample.card;
    let is_own = matches!(work, WorkSource::Program(_));
    let mut rows: Vec<(Message, String)> = vec![(catalogue::NOT_MOUNTED, shown(&card.unmountable))];
    if card.unmountable.count > 0 {
        rows.push((catalogue::REPAIRED, shown(&card.repaired)));
        rows.push((catalogue::NOT_REPAIRED, shown(&card.lost_for_good)));
    }
    if let Some(check) = &card.check_failed {
        rows.push((catalogue::CHECK_ERRORS, shown(check)));
    }
    rows.push((catalogue::WORK_LOST, shown(&card.promise_broken)));
    if card.promise_broken.count > 0 {
        let bytes = match is_own {
            true => String::new(),
            false => format!(", {}", about(card.promised_bytes_lost)),
        };
        rows.push((catalogue::PROMISES_BROKEN, format!("{}{bytes}", card.promises_broken)));
        rows.push((catalogue::SECONDS_OF_IT, spread(&card.promised_seconds_lost)));
    }
    if let WorkSource::BuiltIn(work) = work {
        rows.extend(unpromised(card, *work));
    }
    let recovery = if in_guest { catalogue::RECOVERY_MODELLED } else { catalogue::RECOVERY };
    rows.push((recovery, spread(&card.recovery_seconds)));
    if let Some(TimedStates { states, seconds }) = &card.whole_again {
        let text = say!(WHOLE_OF, spread = spread(seconds), states = states);
        rows.push((catalogue::WHOLE_AGAIN, text));
    }
    if sample.unjudged > 0 {
        let why: Vec<String> = sample.unjudged_why.iter().map(ToString::to_string).collect();
        let text = say!(NOT_COUNTED, count = sample.unjudged, why = why.join("; "));
        rows.push((catalogue::NO_VERDICT, text));
    }
    if sample.unsteady > 0 {
        rows.push((catalogue::NOT_TWICE, sample.unsteady.to_string()));
    }
    let rows = rows.into_iter().map(|(label, value)| {
        format!("  {}{value}\n", escape::padded(label.template(), LABEL_COLUMNS))
    });
    format!("{}\n{}", say!(PULL_CARD, name = name, pulls = pulls), rows.collect::<String>())
}

/// The one line that goes beside a speed.
pub(crate) fn headline(card: &ScoreCard) -> String {
    let time = |seconds: f64| match seconds < 1.0 {
        true => format!("{:.0} ms", seconds * 1e3),
        false => format!("{seconds:.1} s"),
    };
    let promises = match card.promise_broken.count {
        0 => say!(PULL_NOTHING_LOST),
        states => say!(
            PULL_WORK_LOST,
            states = states,
            pulls = card.pulls,
            time = time(card.promised_seconds_lost.max),
        ),
    };
    let found = match card.closed_seconds_lost.max {
        0.0 => promises,
        max => say!(PULL_COPIES_LOST, promises = promises, time = time(max)),
    };
    let (grade, pulls) = (card.grade, card.pulls);
    let percent = format!("{:.2}", card.promise_broken.at_most_percent);
    match card.promise_broken.count {
        0 => say!(PULL_GRADE, grade = grade, found = found, pulls = pulls, percent = percent),
        _ => say!(
            PULL_GRADE_WITH_LOSSES,
            grade = grade,
            found = found,
            pulls = pulls,
            percent = percent
        ),
    }
}

/// What nobody promises, which only built-in works look at, as far as the work can lose it.
fn unpromised(card: &ScoreCard, work: Work) -> Vec<(Message, String)> {
    let mut rows = Vec::new();
    if work == Work::Copy || card.closed_files_lost.max > 0.0 {
        rows.push((catalogue::COPIES_SECONDS, spread(&card.closed_seconds_lost)));
        rows.push((catalogue::COPIES_FILES, spread(&card.closed_files_lost)));
        rows.push((catalogue::COPIES_BYTES, sizes(&card.closed_bytes_lost)));
    }
    if matches!(work, Work::Rename | Work::Generated) || card.rename_torn.count > 0 {
        rows.push((catalogue::RENAME_TORN, shown(&card.rename_torn)));
    }
    rows.push((catalogue::OLD_DATA, shown(&card.exposed)));
    if card.exposed_files > 0 {
        rows.push((catalogue::IN_FILES, card.exposed_files.to_string()));
    }
    if card.torn_blocks > 0 {
        rows.push((catalogue::BLOCKS_TORN, card.torn_blocks.to_string()));
    }
    rows
}

fn shown(share: &Share) -> String {
    let Share { count, percent, at_most_percent } = share;
    match count {
        0 => say!(SHARE_NONE, percent = figure(*at_most_percent)),
        _ => say!(
            SHARE_SOME,
            count = count,
            percent = figure(*percent),
            most = figure(*at_most_percent),
        ),
    }
}

fn spread(spread: &Spread) -> String {
    spread_in(spread, catalogue::SPREAD_LONGEST, figure)
}

fn sizes(spread: &Spread) -> String {
    spread_in(spread, catalogue::SPREAD_MOST, |bytes| about(bytes as u64))
}

fn spread_in(spread: &Spread, message: Message, shown: impl Fn(f64) -> String) -> String {
    let Spread { median, p95, max } = *spread;
    if max == 0.0 {
        return "0".to_owned();
    }
    words::say!(message, median = shown(median), p95 = shown(p95), max = shown(max))
}
