//! `raidloom array overlay`: looks at deltas, writes them back or throws them away.

use std::sync::Arc;

use block::{Device, Node, SECTOR_BYTES, size_text};
use cache::{DeltaState, Facts};
use clap::Args;
use host::guard::{Consent, Guard};
use serde_json::json;
use stack::{BuildContext, Stack};
use words::Message;

use crate::catalogue::{self, say};
use crate::consent::UseConsent;
use crate::failure::Failure;
use crate::output::{Output, labelled};

/// `array overlay`.
#[derive(Args, Debug)]
pub(crate) struct OverlayArguments {
    /// The delta: a file, or the stack text of what it lies on; with --commit the overlay as it is
    /// used: overlay(DELTA, DEVICE)
    #[arg(value_name = "DELTA|OVERLAY")]
    pub overlay: String,

    /// Write what is in the delta to the device below, and empty the delta
    #[arg(long)]
    pub commit: bool,

    /// Throw away what is in the delta; the device below is as it was
    #[arg(long, conflicts_with = "commit")]
    pub discard: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: UseConsent,
}

/// Shows what a delta holds, or does with it what is asked for.
pub(crate) fn overlay(output: &Output, arguments: &OverlayArguments) -> Result<(), Failure> {
    let text = &arguments.overlay;
    if arguments.commit {
        return commit(output, text, &Guard::new(arguments.consent.clone().into()));
    }
    if arguments.discard {
        let guard = Guard::new(Consent { in_place: true, ..Consent::default() });
        let device = open(output, &parse(text)?, &guard, false)?;
        return done(output, catalogue::DISCARDED, cache::discard(device)?);
    }
    show(output, text)
}

pub(super) fn parse(text: &str) -> Result<Node, Failure> {
    stack::parse(text).map_err(|error| block::Error::from(error).into())
}

/// A device alone, for what has no array that keeps metadata in it.
pub(super) fn open(
    output: &Output,
    node: &Node,
    guard: &Guard,
    read_only: bool,
) -> Result<Arc<dyn Device>, Failure> {
    build(output, node, guard, read_only).map(|stack| stack.device)
}

pub(super) fn build(
    output: &Output,
    node: &Node,
    guard: &Guard,
    read_only: bool,
) -> Result<Stack, Failure> {
    let context = BuildContext { read_only, ..BuildContext::new(guard) };
    let stack = stack::build(node, &context)?;
    stack.notes.iter().for_each(|note| output.note(note));
    Ok(stack)
}

fn show(output: &Output, text: &str) -> Result<(), Failure> {
    let guard = Guard::new(Consent::default());
    let delta = open(output, &parse(text)?, &guard, true)?;
    let Some(changes) = cache::examine(&*delta)? else {
        return Err(Failure::failed(catalogue::NO_OVERLAY_SUPERBLOCK).at(text));
    };
    let state = match changes.state {
        DeltaState::InUse => catalogue::DELTA_IN_USE,
        DeltaState::Committing => catalogue::COMMIT_BROKEN_OFF,
        DeltaState::Clearing => catalogue::BEING_CLEARED,
    };
    if output.json {
        return output.document(&json!({
            "state": state.english,
            "device": changes.name,
            "device_bytes": changes.size_bytes,
            "block_bytes": changes.block_bytes,
            "changed_bytes": changes.changed_bytes,
        }));
    }
    let share = 100.0 * changes.changed_bytes as f64 / changes.size_bytes as f64;
    output.result(&labelled(&[
        (say!(LABEL_STATE), state.template().to_owned()),
        (say!(LABEL_DEVICE), changes.name.clone()),
        (say!(LABEL_SIZE), size_text(changes.size_bytes)),
        (say!(LABEL_BLOCK), size_text(changes.block_bytes.into())),
        (say!(LABEL_CHANGED), format!("{} ({share:.1} %)", size_text(changes.changed_bytes))),
    ]))
}

fn commit(output: &Output, text: &str, guard: &Guard) -> Result<(), Failure> {
    let (believe_sample, delta, lower) = match parse(text)? {
        Node::Layer { name, options, children } if name == "overlay" => {
            if options.iter().any(|(name, value)| name == "keep" && value == "no") {
                return Err(Failure::usage(catalogue::NOTHING_KEPT));
            }
            let believe_sample =
                options.iter().any(|(name, value)| name == "believe" && value == "sample");
            let [delta, lower] = <[Node; 2]>::try_from(children)
                .map_err(|_| Failure::usage(catalogue::OVERLAY_SHAPE))?;
            (believe_sample, delta, lower)
        }
        _ => {
            return Err(Failure::usage(catalogue::NAME_OVERLAY).at(text));
        }
    };
    let lower = build(output, &lower, guard, false)?;
    let facts = Facts { believe_sample, ..lower.facts() };
    let block_bytes = lower.device.info().block_bytes;
    let delta = match delta {
        // As the overlay itself opens it.
        Node::Leaf { ref options, .. }
            if u64::from(block_bytes) > SECTOR_BYTES
                && !options.iter().any(|(name, _)| name == "block") =>
        {
            delta.with("block", block_bytes)
        }
        delta => delta,
    };
    let delta = open(output, &delta, guard, false)?;
    let committed = cache::commit(Arc::clone(&delta), Arc::clone(&lower.device), &facts)?;
    // Arrays below are written to once more when they end.
    cache::seal_delta(delta, &lower.end()?)?;
    done(output, catalogue::COMMITTED, committed)
}

pub(super) fn done(output: &Output, what: Message, bytes: u64) -> Result<(), Failure> {
    if output.json {
        return output.document(&json!({ "action": what.english, "bytes": bytes }));
    }
    output.result(&format!("{} {}", what.template(), size_text(bytes)))
}
