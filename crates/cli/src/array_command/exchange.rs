//! `array fail`, `remove`, `add`, `replace` and `scrub`: what is done to the members of arrays that
//! run.

use block::Node;
use clap::{Args, ValueEnum};
use mdtools::{ArrayStatus, WorkStatus};
use serde_json::Value;
use serve::{Client, Command, GivenConsent, Runtime, ScrubAction};
use words::Text;

use super::start::absolute;
use crate::catalogue::{self, statement};
use crate::consent::Consent;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Line;

/// `array fail` and `array remove`.
#[derive(Args, Debug)]
pub(crate) struct MemberArguments {
    /// The name of a running array
    pub name: String,

    /// Which member: its slot (0, 1, ...) or its device
    pub member: String,

    /// Which array, where the stack has several
    #[arg(long, value_name = "ARRAY")]
    pub array: Option<String>,
}

/// `array add`.
#[derive(Args, Debug)]
pub(crate) struct AddArguments {
    /// The name of a running array
    pub name: String,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub new: NewMemberArguments,
}

/// `array replace`.
#[derive(Args, Debug)]
pub(crate) struct ReplaceArguments {
    /// The name of a running array
    pub name: String,

    /// Which member: its slot (0, 1, ...) or its device
    pub member: String,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub new: NewMemberArguments,
}

/// A device that joins an array.
#[derive(Args, Debug)]
pub(crate) struct NewMemberArguments {
    /// A file or block device; what it holds is given up
    pub device: String,

    /// Which array, where the stack has several
    #[arg(long, value_name = "ARRAY")]
    pub array: Option<String>,

    /// Return when the new member has all data
    #[arg(short, long)]
    pub wait: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

/// `array scrub`.
#[derive(Args, Debug)]
pub(crate) struct ScrubArguments {
    /// The name of a running array
    pub name: String,

    /// What to do
    #[arg(value_enum, default_value = "check")]
    pub action: ScrubWord,

    /// Which array, where the stack has several
    #[arg(long, value_name = "ARRAY")]
    pub array: Option<String>,

    /// Return when it is done
    #[arg(short, long)]
    pub wait: bool,
}

/// What to do about a scrub.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum ScrubWord {
    /// Read everything, and say what does not agree and which member is wrong, where that can be
    /// told
    Check,
    /// The same, and mend the member that is wrong; with one parity or two copies nothing tells
    /// which, and they are made to agree with the data or the first copy
    Repair,
    /// Trust the data: make all parity anew from them, and all copies from the first
    Resync,
    /// Pause what is under way
    Pause,
    /// Go on with it
    Resume,
    /// End it
    Cancel,
}

/// What is done to one member.
#[derive(Clone, Copy)]
pub(super) enum MemberAction {
    /// Out of service.
    Fail,
    /// Out of the array.
    Remove,
}

/// Takes members out of service, or lets go of them.
pub(super) fn act(
    output: &Output,
    arguments: &MemberArguments,
    deed: MemberAction,
) -> Result<(), Failure> {
    let mut client = Client::connect(&Runtime::find()?, &arguments.name)?;
    let (array, member) = member_of(&mut client, arguments.array.as_deref(), &arguments.member)?;
    let array = Some(array);
    let (called, name) = (&arguments.member, &arguments.name);
    let (command, done) = match deed {
        MemberAction::Fail => {
            (Command::Fail { array, member }, statement!(SET_FAULTY, member = called, array = name))
        }
        MemberAction::Remove => (
            Command::Remove { array, member },
            statement!(MEMBER_REMOVED, member = called, array = name),
        ),
    };
    client.ask(command)?;
    say(output, &done)?;
    finish(output, &mut client, None, false)
}

pub(super) fn add(output: &Output, arguments: &AddArguments) -> Result<(), Failure> {
    let AddArguments { name, new } = arguments;
    let mut client = Client::connect(&Runtime::find()?, name)?;
    let (device, consent) = (device(&new.device)?, given(&new.consent));
    client.ask(Command::Add { array: new.array.clone(), device, consent })?;
    say(output, &statement!(MEMBER_ADDED, device = &new.device, array = name))?;
    finish(output, &mut client, new.array.as_deref(), new.wait)
}

pub(super) fn replace(output: &Output, arguments: &ReplaceArguments) -> Result<(), Failure> {
    let ReplaceArguments { name, member: old, new } = arguments;
    let mut client = Client::connect(&Runtime::find()?, name)?;
    let (array, member) = member_of(&mut client, new.array.as_deref(), old)?;
    let (device, consent) = (device(&new.device)?, given(&new.consent));
    client.ask(Command::Replace { array: Some(array.clone()), member, device, consent })?;
    let done = statement!(MEMBER_TAKES_OVER, device = &new.device, member = old, array = name);
    say(output, &done)?;
    finish(output, &mut client, Some(&array), new.wait)
}

pub(super) fn scrub(output: &Output, arguments: &ScrubArguments) -> Result<(), Failure> {
    let mut client = Client::connect(&Runtime::find()?, &arguments.name)?;
    let action = match arguments.action {
        ScrubWord::Check => ScrubAction::Check,
        ScrubWord::Repair => ScrubAction::Repair,
        ScrubWord::Resync => ScrubAction::Resync,
        ScrubWord::Pause => ScrubAction::Pause,
        ScrubWord::Resume => ScrubAction::Resume,
        ScrubWord::Cancel => ScrubAction::Cancel,
    };
    client.ask(Command::Scrub { array: arguments.array.clone(), action })?;
    // How it ended is said at the end, where that is waited for.
    if !arguments.wait {
        let done = match arguments.action {
            ScrubWord::Check => catalogue::CHECK_BEGUN,
            ScrubWord::Repair => catalogue::REPAIR_BEGUN,
            ScrubWord::Resync => catalogue::RESYNC_BEGUN,
            ScrubWord::Pause => catalogue::SCRUB_PAUSED,
            ScrubWord::Resume => catalogue::SCRUB_RESUMED,
            ScrubWord::Cancel => catalogue::SCRUB_CANCELLED,
        };
        say(output, &words::statement!(done, name = &arguments.name))?;
    }
    finish(output, &mut client, arguments.array.as_deref(), arguments.wait)
}

/// Says what was done, to people.
fn say(output: &Output, done: &Text) -> Result<(), Failure> {
    if output.json { Ok(()) } else { output.result(&done.to_string()) }
}

/// Waits if that was asked for, and says how the job ended that was waited for.
fn finish(
    output: &Output,
    client: &mut Client,
    array: Option<&str>,
    waits: bool,
) -> Result<(), Failure> {
    if !waits {
        return if output.json { output.document(&client.status()?) } else { Ok(()) };
    }
    let line = Line::new(output);
    let last = loop {
        let answer = client.ask(Command::Wait { array: array.map(str::to_owned) })?;
        let work = |key: &str| {
            serde_json::from_value::<Option<WorkStatus>>(answer[key].clone()).ok().flatten()
        };
        if answer["idle"] == Value::Bool(true) {
            break work("last");
        }
        if let Some(work) = work("work") {
            line.show(&format!("{}: {}", work.kind_name(), work.text()));
        }
    };
    line.clear();
    if output.json {
        output.document(&client.status()?)?;
    } else if let Some(last) = &last {
        output.result(&format!("{}: {}", last.kind_name(), last.ended_text()))?;
    }
    match last {
        Some(last) if last.lost_bytes > 0 => {
            let (kind, count) = (last.kind_text(), last.lost_bytes);
            Err(Failure::failed(statement!(BYTES_LOST, kind = kind, count = count)))
        }
        Some(last) if last.done_bytes < last.total_bytes => {
            Err(Failure::failed(statement!(MEMBER_ENDED_EARLY, kind = last.kind_text())))
        }
        _ => Ok(()),
    }
}

/// The slot that is meant: a number, `memberN`, or the path of the device that is there.
fn member_of(
    client: &mut Client,
    array: Option<&str>,
    text: &str,
) -> Result<(String, usize), Failure> {
    let status = client.status()?;
    let named = |status: &&ArrayStatus| array.is_none_or(|array| status.name == array);
    let candidates: Vec<&ArrayStatus> = status.arrays.iter().filter(named).collect();
    let by_device = |status: &&ArrayStatus| {
        let member = status
            .members
            .iter()
            .find(|member| member.name.as_deref().is_some_and(|name| same_device(name, text)))?;
        Some((status.name.clone(), member.slot?))
    };
    if let Some(found) = candidates.iter().find_map(by_device) {
        return Ok(found);
    }
    let Ok(place) = text.strip_prefix("member").unwrap_or(text).parse() else {
        return Err(Failure::usage(catalogue::NO_MEMBER).at(text));
    };
    match &candidates[..] {
        [array] => Ok((array.name.clone(), place)),
        [] => Err(Failure::usage(catalogue::NO_ARRAY_IN_STACK).at(&status.name)),
        several => {
            let names: Vec<&str> = several.iter().map(|array| array.name.as_str()).collect();
            Err(Failure::usage(statement!(ARRAYS_IN_STACK, names = names.join(", "))))
        }
    }
}

/// Whether a member's stack text is the device that was named by text or path.
fn same_device(name: &str, text: &str) -> bool {
    let part = |text: &str| {
        let node = stack::parse(text).ok()?;
        let path = node.file_path()?.canonicalize().ok()?;
        let Node::Leaf { options, .. } = node else { return None };
        let bytes = |wanted: &str| {
            let (_, value) = options.iter().find(|(name, _)| name == wanted)?;
            stack::size::parse(value).ok().map(|size| size.bytes)
        };
        Some((path, bytes("offset")))
    };
    // Two parts of one file are no members of one array: its path alone says which is meant.
    name == text
        || part(name).zip(part(text)).is_some_and(|((path, offset), (wanted, at))| {
            path == wanted && at.is_none_or(|at| at == offset.unwrap_or(0))
        })
}

/// A stack text for a server, which works in no particular folder.
fn device(text: &str) -> Result<String, Failure> {
    let node = stack::parse(text).map_err(block::Error::from)?;
    match node {
        Node::Leaf { scheme, address, options } if scheme == "file" => {
            let address = block::path_text(&absolute(&block::text_path(&address))?);
            Ok(Node::Leaf { scheme, address, options }.to_string())
        }
        Node::Leaf { .. } => Ok(node.to_string()),
        _ => Err(Failure::usage(catalogue::NO_MEMBER_DEVICE).at(text)),
    }
}

fn given(consent: &Consent) -> GivenConsent {
    GivenConsent {
        erase: consent.erase.clone(),
        erase_signature: consent.erase_signature,
        allow_device: consent.allow_device.clone(),
    }
}
