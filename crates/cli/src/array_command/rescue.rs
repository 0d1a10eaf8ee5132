//! `array rescue`: whatever is there, which arrays it was, and what opening them loses.

use std::path::{Path, PathBuf};
use std::time::Instant;

use escape::{Lines, add};
use host::guard::{Consent, Guard};
use mdtools::guess::WHOLE;
use mdtools::rescue::{
    MemberFinding, OpeningWay, OtherContent, RescueLoss, RescueReport, RescuedArray, rescue as look,
};
use serde_json::{Value, json};
use serve::{Attach, Client, Command, Launch, Settings};
use words::Text;

use super::rescue_arguments::RescueArguments;
use super::start::{absolute, serve_with};
use super::{guess, members_named};
use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::output::{Output, said};
use crate::progress::Line;

/// How many members and others of an array are told one by one.
const LINES_MAX: usize = 10;

pub(super) fn rescue(output: &Output, arguments: &RescueArguments) -> Result<(), Failure> {
    let is_missing = |path: &PathBuf| path == Path::new("missing");
    let is_guess = arguments.show.is_some()
        || !arguments.level.is_empty()
        || !arguments.chunk.is_empty()
        || !arguments.data_offset.is_empty()
        || arguments.paths.iter().any(is_missing);
    if is_guess {
        if arguments.mount.is_some() {
            return Err(Failure::usage(catalogue::CANDIDATES_NOT_MOUNTED));
        }
        return guess::guess(output, arguments);
    }
    if let Some(folder) = arguments.mount.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(
            Failure::usage(catalogue::NO_MOUNT_FOLDER).at(format!("--mount {}", folder.display()))
        );
    }
    let report = looked(output, arguments)?;
    match &arguments.mount {
        None if output.json => output.document(&document(&report))?,
        None => output.result(&text(&report))?,
        Some(folder) => return mount(output, &report, folder),
    }
    match report.arrays.iter().find_map(|array| array.way.as_ref().err()) {
        Some(reasons) => Err(Failure::failed(Text::joined(reasons, "; "))),
        None if report.arrays.is_empty() => Err(Failure::failed(catalogue::NO_ARRAY_FOUND)),
        None => Ok(()),
    }
}

fn looked(output: &Output, arguments: &RescueArguments) -> Result<RescueReport, Failure> {
    let limit = stack::size::parse_duration(&arguments.time);
    let limit = limit.map_err(|error| Failure::usage(error).at(said("--time", &arguments.time)))?;
    let guard = Guard::new(Consent { raw: arguments.raw, ..Consent::default() });
    let sources = members_named(&arguments.paths)?;
    let line = Line::new(output);
    let begin = Instant::now();
    let report =
        look(&guard, &sources, &mdtools::guess::SearchLimits::default(), &mut |done, total| {
            if total > 0 {
                line.show(&say!(SHAPES_TRIED, done = done, total = total));
            }
            begin.elapsed() < limit
        });
    line.clear();
    let report = report?;
    report.notes.iter().for_each(|note| output.note(note));
    if report.interrupted {
        output.note(&say!(SEARCH_ENDED, time = arguments.time));
    }
    Ok(report)
}

/// What the file with a passphrase is called where nobody has named one.
const PASSPHRASE_FILE: &str = "PASSPHRASE-FILE";

fn command(way: &OpeningWay) -> String {
    let stack = way.decrypted(PASSPHRASE_FILE).unwrap_or_else(|| way.stack.clone());
    format!("raidloom array start --read-only --attach {}", escape::shell(&stack.to_string()))
}

fn member_text(state: &MemberFinding) -> Text {
    match state {
        MemberFinding::UpToDate => catalogue::UP_TO_DATE.into(),
        MemberFinding::Missing => catalogue::MISSING_MEMBER.into(),
        MemberFinding::Stale { events, seconds } => {
            statement!(STALE_MEMBER, age = age_text(*events, *seconds))
        }
        MemberFinding::Recovering(bytes) => {
            statement!(MEMBER_REBUILT_UP_TO, size = block::size_text(*bytes))
        }
        MemberFinding::Spare => catalogue::SPARE_MEMBER.into(),
        MemberFinding::Journal => catalogue::HOLDS_JOURNAL.into(),
        MemberFinding::ByContent => catalogue::BY_WHAT_IT_HOLDS.into(),
        MemberFinding::LeftOut(reason) => statement!(NOT_USED, reason = reason),
    }
}

fn age_text(events: u64, seconds: u64) -> Text {
    let time = match seconds {
        0 => String::new(),
        seconds => format!(", {}", block::duration_text(std::time::Duration::from_secs(seconds))),
    };
    statement!(EVENTS_BEHIND, events = events, time = time)
}

fn loss_text(loss: &RescueLoss) -> Text {
    match loss {
        RescueLoss::Degraded(1) => catalogue::ONE_MADE_FROM_OTHERS.into(),
        RescueLoss::Degraded(count) => {
            statement!(MADE_FROM_OTHERS, count = *count)
        }
        RescueLoss::Forced(reason) => reason.clone(),
        RescueLoss::Stale { source, events, seconds } => {
            statement!(WRITES_LEFT_BEHIND, source = source, age = age_text(*events, *seconds))
        }
        RescueLoss::Torn(source) => {
            statement!(TAKEN_AS_IT_STANDS, source = source)
        }
        RescueLoss::Chosen { used, other } => {
            statement!(CLAIM_ONE_PLACE, used = used, other = other)
        }
        RescueLoss::ByContent(share) => {
            let tenths = u64::from(*share) * 1000 / u64::from(WHOLE);
            statement!(AGREES_BY_CONTENT, whole = tenths / 10, tenths = tenths % 10)
        }
        RescueLoss::Undecided(more) => statement!(OTHER_WAYS, more = *more),
    }
}

/// What a member's state is, as a value.
fn member_value(state: &MemberFinding) -> Value {
    let (code, more) = match state {
        MemberFinding::UpToDate => ("up-to-date", json!({})),
        MemberFinding::Missing => ("missing", json!({})),
        MemberFinding::Stale { events, seconds } => {
            ("stale", json!({ "events": events, "seconds": seconds }))
        }
        MemberFinding::Recovering(bytes) => ("recovering", json!({ "recovered_bytes": bytes })),
        MemberFinding::Spare => ("spare", json!({})),
        MemberFinding::Journal => ("journal", json!({})),
        MemberFinding::ByContent => ("by-content", json!({})),
        MemberFinding::LeftOut(reason) => ("left-out", json!({ "reason": reason.english() })),
    };
    coded(code, more)
}

/// What is lost, as a value.
fn loss_value(loss: &RescueLoss) -> Value {
    let (code, more) = match loss {
        RescueLoss::Degraded(members) => ("degraded", json!({ "members": members })),
        RescueLoss::Forced(reason) => ("forced", json!({ "reason": reason.english() })),
        RescueLoss::Stale { source, events, seconds } => {
            ("stale", json!({ "source": source, "events": events, "seconds": seconds }))
        }
        RescueLoss::Torn(source) => ("torn", json!({ "source": source })),
        RescueLoss::Chosen { used, other } => ("chosen", json!({ "used": used, "other": other })),
        RescueLoss::ByContent(share) => {
            ("by-content", json!({ "agreement": f64::from(*share) / f64::from(WHOLE) }))
        }
        RescueLoss::Undecided(others) => ("undecided", json!({ "others": others })),
    };
    coded(code, more)
}

fn coded(code: &str, mut value: Value) -> Value {
    value["code"] = code.into();
    value
}

fn text(report: &RescueReport) -> String {
    let mut text = Lines::new();
    for array in &report.arrays {
        array_text(&mut text, array);
    }
    for other in report.others.iter().take(LINES_MAX) {
        let holds = match &other.holds {
            OtherContent::Signature(name) => statement!(NO_MEMBER_HOLDS, name = *name),
            OtherContent::Displaced(offset, name) => {
                statement!(DISPLACED_HOLDS, offset = block::size_text(*offset), name = *name)
            }
            OtherContent::Damaged(reason) => reason.clone(),
            OtherContent::Nothing => catalogue::NO_MEMBER_UNKNOWN.into(),
        };
        add!(text, "{}: {holds}", other.source);
    }
    text.into_text()
}

fn array_text(text: &mut Lines, array: &RescuedArray) {
    let unnamed = say!(WITHOUT_SUPERBLOCKS);
    let name = array.name.as_deref().unwrap_or(&unnamed);
    let size =
        array.size_bytes.map_or(String::new(), |size| format!(", {}", block::size_text(size)));
    add!(text, "{name}: {}{size}", array.shape);
    for member in array.members.iter().take(LINES_MAX) {
        let slot = member.slot.map_or("-".to_owned(), |slot| slot.to_string());
        let state = member_text(&member.state);
        // What is not used is named by the reason.
        let is_named = matches!(member.state, MemberFinding::LeftOut(_));
        match member.source.as_deref().filter(|_| !is_named) {
            None => add!(text, " {slot:>2} {state}"),
            Some(source) => add!(text, " {slot:>2} {source}: {state}"),
        }
    }
    if array.members.len() > LINES_MAX {
        add!(text, "    {}", say!(AND_SO_MANY_MORE, count = array.members.len() - LINES_MAX));
    }
    let way = match &array.way {
        Ok(way) => way,
        Err(reasons) => {
            for reason in reasons {
                add!(text, " {}", say!(CANNOT_BE_OPENED, reason = reason));
            }
            return;
        }
    };
    let holds = way.holds.map_or_else(|| say!(NOTHING_KNOWN), str::to_owned);
    add!(text, " {}", say!(ARRAY_HOLDS, what = holds));
    if way.losses.is_empty() {
        add!(text, " {}", say!(OPENING_LOSES_NOTHING));
    }
    let (losses, doubts): (Vec<_>, Vec<_>) = way.losses.iter().partition(|loss| loss.is_sure());
    for loss in losses {
        add!(text, " {}", say!(OPENING_LOSES, what = loss_text(loss)));
    }
    for doubt in doubts {
        add!(text, " {}", say!(NOT_SURE_OF_IT, what = loss_text(doubt)));
    }
    if way.decrypted(PASSPHRASE_FILE).is_some() {
        add!(text, " {}", say!(IT_IS_ENCRYPTED, passphrase_file = PASSPHRASE_FILE));
    }
    add!(text, " {}", say!(TO_OPEN_IT));
    add!(text, "   {}", command(way));
}

fn document(report: &RescueReport) -> Value {
    let array = |array: &RescuedArray| {
        let member = |member: &mdtools::rescue::RescuedMember| {
            json!({
                "slot": member.slot,
                "source": member.source,
                "state": member_value(&member.state),
            })
        };
        let way = array.way.as_ref();
        let losses = |way: &OpeningWay| way.losses.iter().map(loss_value).collect::<Vec<_>>();
        json!({
            "name": array.name,
            "shape": array.shape.english(),
            "size_bytes": array.size_bytes,
            "members": array.members.iter().map(member).collect::<Vec<_>>(),
            "stack": way.ok().map(|way| way.stack.to_string()),
            "command": way.ok().map(command),
            "holds": way.ok().and_then(|way| way.holds),
            "losses": way.ok().map(losses),
            "refusals": way.err().map(|all| all.iter().map(Text::english).collect::<Vec<_>>()),
        })
    };
    let other = |other: &mdtools::rescue::OtherSource| {
        let (holds, damage) = match &other.holds {
            OtherContent::Signature(name) | OtherContent::Displaced(_, name) => (Some(*name), None),
            OtherContent::Damaged(reason) => (None, Some(reason.english())),
            OtherContent::Nothing => (None, None),
        };
        json!({ "source": other.source, "holds": holds, "damage": damage })
    };
    json!({
        "arrays": report.arrays.iter().map(array).collect::<Vec<_>>(),
        "others": report.others.iter().map(other).collect::<Vec<_>>(),
        "notes": report.notes.iter().map(Text::english).collect::<Vec<_>>(),
    })
}

/// How `mount` reads a file system of which nothing may be written, its journal neither; by the
/// name of its mark.
fn read_only_options(holds: &str) -> &'static str {
    match holds {
        "ext2/ext3/ext4" => "ro,noload",
        "XFS" => "ro,norecovery",
        "btrfs" => "ro,rescue=nologreplay",
        _ => "ro",
    }
}

/// Serves the one array that was found and mounts it, with nothing replayed: a journal would have
/// to be written to.
fn mount(output: &Output, report: &RescueReport, folder: &Path) -> Result<(), Failure> {
    let ways: Vec<(&RescuedArray, &OpeningWay)> =
        report.arrays.iter().filter_map(|array| Some((array, array.way.as_ref().ok()?))).collect();
    let [(array, way)] = ways[..] else {
        return Err(Failure::usage(match ways.len() {
            0 => catalogue::NOTHING_RESCUED.into(),
            count => {
                statement!(SEVERAL_TO_MOUNT, count = count)
            }
        }));
    };
    let Some(holds) = way.holds else {
        return Err(Failure::failed(catalogue::NO_KNOWN_FILE_SYSTEM));
    };
    let options = read_only_options(holds);
    let mut settings = Settings::find(&way.stack.to_string())?;
    settings.read_only = true;
    settings.attach = Attach::Yes;
    let serve_with = serve_with()?;
    let started = serve_with.launch(&Launch { settings, fresh: None }, &[])?;
    let name = started.status.name.clone();
    let asked = || {
        let mut client = Client::connect(&serve_with.runtime, &name)?;
        client.ask(Command::Mount {
            point: absolute(folder)?,
            file_system: None,
            options: Some(options.to_owned()),
        })
    };
    let done = asked().inspect_err(|_| {
        // It was started for this alone.
        let _ = Client::connect(&serve_with.runtime, &name).and_then(Client::stop);
    })?;
    if output.json {
        return output
            .document(&json!({ "name": name, "mounted": done, "found": document(report) }));
    }
    let mut text = Lines::new();
    array_text(&mut text, array);
    add!(text, "{}", say!(RESCUE_MOUNTED, folder = folder.display()));
    add!(text, "   raidloom array umount {name} && raidloom array stop {name}");
    output.result(&text.into_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is lost is one thing, and whether this is the way to open it is another.
    #[test]
    fn doubts_stand_under_a_heading_of_their_own() {
        let told = |losses: Vec<RescueLoss>| {
            let stack = stack::parse("raid5(metadata=none, a, missing, c)").expect("a stack");
            let array = RescuedArray {
                name: None,
                shape: "raid5".into(),
                size_bytes: None,
                members: Vec::new(),
                way: Ok(OpeningWay { stack, losses, holds: None }),
            };
            let mut text = Lines::new();
            array_text(&mut text, &array);
            text.into_text()
        };
        let lost = |told: &str| told.matches("opening it loses: ").count();
        let doubted = |told: &str| told.matches("not sure: ").count();
        let text = told(vec![
            RescueLoss::ByContent(WHOLE),
            RescueLoss::Undecided(21),
            RescueLoss::Degraded(1),
        ]);
        assert_eq!((lost(&text), doubted(&text)), (1, 2), "{text}");
        assert!(text.contains("opening it loses: redundancy: "), "{text}");
        assert!(text.contains("not sure: other layouts that fit as well: 21;"), "{text}");
        let nothing = told(Vec::new());
        assert!(nothing.contains("opening it loses: nothing"), "{nothing}");
        let guessed = told(vec![RescueLoss::ByContent(WHOLE)]);
        assert_eq!((lost(&guessed), doubted(&guessed)), (0, 1), "{guessed}");
    }
}
