//! `raidloom array cache status` and `flush` of stores of caches that are not in use.

use std::path::PathBuf;
use std::sync::Arc;

use block::{Device, Node, size_text};
use cache::SalvagedStore;
use clap::Args;
use host::guard::{Consent, Guard};
use serde_json::json;
use stack::{BuildContext, Stack};
use words::Text;

use super::overlay::{build, done, open, parse};
use super::running;
use crate::catalogue::{self, say, statement};
use crate::consent::UseConsent;
use crate::failure::Failure;
use crate::output::{Output, is_there, labelled};

/// `array cache salvage`.
#[derive(Args, Debug)]
pub(crate) struct SalvageArguments {
    /// The store: a file, or the stack text of what it lies on; it is only read
    pub store: String,

    /// The device that the cache was made for: how it has changed since is said
    pub device: Option<String>,

    /// Write the blocks to their places on the device, over what it has there now
    #[arg(long, requires = "device")]
    pub write: bool,

    /// Write the blocks to their places in a new sparse file, as large as the device
    #[arg(long, value_name = "PATH", conflicts_with = "write")]
    pub file: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: UseConsent,
}

/// Shows what a store holds, or what the caches of a running array do.
pub(super) fn status(output: &Output, text: &str) -> Result<(), Failure> {
    if running::status(output, text)? {
        return Ok(());
    }
    let guard = Guard::new(Consent::default());
    let store = open(output, &parse(text)?, &guard, true)?;
    let Some(contents) = cache::examine_store(&*store)? else {
        return Err(Failure::failed(catalogue::NO_CACHE_SUPERBLOCK).at(text));
    };
    if output.json {
        return output.document(&json!({
            "state": if contents.in_use { "in use" } else { "closed" },
            "device": contents.name,
            "device_bytes": contents.device_bytes,
            "block_bytes": contents.block_bytes,
            "size_bytes": contents.size_bytes,
            "used_bytes": contents.used_bytes,
            "dirty_bytes": contents.dirty_bytes,
        }));
    }
    let state = if contents.in_use { say!(STORE_IN_USE) } else { say!(STORE_CLOSED) };
    output.result(&labelled(&[
        (say!(LABEL_STATE), state),
        (say!(LABEL_DEVICE), format!("{}, {}", contents.name, size_text(contents.device_bytes))),
        (say!(LABEL_BLOCK), size_text(contents.block_bytes.into())),
        (say!(LABEL_SIZE), size_text(contents.size_bytes)),
        (say!(LABEL_USED), size_text(contents.used_bytes)),
        (say!(LABEL_DIRTY), size_text(contents.dirty_bytes)),
    ]))
}

/// Writes out what is dirty.
pub(super) fn flush(output: &Output, text: &str, consent: &UseConsent) -> Result<(), Failure> {
    let node = match parse(text)? {
        node @ Node::Layer { .. } => node,
        _ => return running::flush(output, text),
    };
    if !matches!(&node, Node::Layer { name, .. } if name == "cache") {
        return Err(running::unknown(text));
    }
    let guard = Guard::new(consent.clone().into());
    let context = BuildContext::new(&guard);
    let stack = stack::build(&node, &context)?;
    stack.notes.iter().for_each(|note| output.note(note));
    // The outermost is the one that was named.
    let written = stack.caches.last().map_or(Ok(0), cache::CacheHandle::flush)?;
    done(output, catalogue::WRITTEN_OUT, written)
}

/// Shows the dirty blocks of a store whose device has changed, or writes them out of it.
pub(super) fn salvage(output: &Output, arguments: &SalvageArguments) -> Result<(), Failure> {
    if let Some(path) = arguments.file.as_ref().filter(|path| path.symlink_metadata().is_ok()) {
        return Err(is_there(path));
    }
    let reading = Guard::new(Consent::default());
    let store = open(output, &parse(&arguments.store)?, &reading, true)?;
    let writing = Guard::new(arguments.consent.clone().into());
    let device = match &arguments.device {
        Some(text) => Some(build(
            output,
            &parse(text)?,
            if arguments.write { &writing } else { &reading },
            !arguments.write,
        )?),
        None => None,
    };
    let facts = device.as_ref().map(Stack::facts).unwrap_or_default();
    let lower = device.as_ref().map(|stack| (&*stack.device as &dyn Device, &facts));
    let at_store = |error: block::Error| error.at(arguments.store.as_str());
    let seen = cache::salvage(&*store, lower, None).map_err(at_store)?;
    let salvaged = || -> Result<(Option<NamedDevice>, SalvagedStore), Failure> {
        // What nothing is written of is shown as it is.
        if seen.ranges.is_empty() {
            return Ok((None, seen));
        }
        let target = target(output, arguments, &seen, device.as_ref(), &*store, &writing)?;
        let found = match &target {
            Some((_, target)) => SalvagedStore {
                device: seen.device,
                ..cache::salvage(&*store, None, Some(target))?
            },
            None => seen,
        };
        Ok((target, found))
    };
    let (target, found) = salvaged().inspect_err(|_| {
        // A file that has only some of it would pass for all.
        writing.undo_made().iter().for_each(|problem| output.note(problem));
    })?;
    let place = target.map(|(place, _)| place);
    if let Some(stack) = device {
        stack.end()?;
    }
    show(output, &found, place.as_deref())?;
    if found.lost.is_empty() {
        Ok(())
    } else {
        Err(Failure::failed(statement!(NOT_SALVAGED, blocks = Text::joined(&found.lost, "; "))))
    }
}

/// A device and the name that it has in messages.
type NamedDevice = (String, Arc<dyn Device>);

/// Where the blocks are to go, with its name; `None` when they are only to be shown.
fn target(
    output: &Output,
    arguments: &SalvageArguments,
    seen: &SalvagedStore,
    device: Option<&Stack>,
    store: &dyn Device,
    guard: &Guard,
) -> Result<Option<NamedDevice>, Failure> {
    if let Some(path) = &arguments.file {
        guard.make_kept_file(path, seen.device_bytes)?;
        let leaf = Node::file(path).with("block", store.info().block_bytes);
        return Ok(Some((path.display().to_string(), open(output, &leaf, guard, false)?)));
    }
    let (true, Some(stack)) = (arguments.write, device) else { return Ok(None) };
    let bytes = stack.device.info().size_bytes;
    if bytes < seen.device_bytes {
        let text = catalogue::MADE_FOR_LARGER;
        return Err(Failure::usage(statement!(
            SIZES_OF_BOTH,
            device = stack.device.describe().to_string(),
            text = text,
            bytes = bytes,
            before = seen.device_bytes
        )));
    }
    // Said before anything is written.
    let now = seen.device.clone().unwrap_or_default();
    let size = size_text(seen.bytes());
    output.note(&statement!(WRITTEN_OVER_NOW, name = &seen.name, now = now, size = size));
    Ok(Some((stack.device.describe().to_string(), Arc::clone(&stack.device))))
}

/// Ranges that are listed for people; programs get all.
const LISTED: usize = 16;

fn show(output: &Output, found: &SalvagedStore, place: Option<&str>) -> Result<(), Failure> {
    if output.json {
        return output.document(&json!({
            "device": found.name,
            "device_bytes": found.device_bytes,
            "device_now": found.device.as_ref().map(Text::english),
            "dirty_bytes": found.bytes(),
            "ranges": found.ranges,
            "lost": found.lost.iter().map(Text::english).collect::<Vec<_>>(),
            "written_to": place,
        }));
    }
    let device = format!("{}, {}", found.name, size_text(found.device_bytes));
    let mut rows = vec![(say!(LABEL_DEVICE), device)];
    rows.extend(found.device.as_ref().map(|now| (say!(LABEL_NOW), now.to_string())));
    rows.push((say!(LABEL_DIRTY), size_text(found.bytes())));
    let ranges = found.ranges.iter().take(LISTED);
    let ranges = ranges.map(|(offset, length)| format!("{offset}+{length}"));
    let labels = std::iter::once(say!(LABEL_AT_BYTES)).chain(std::iter::repeat(String::new()));
    rows.extend(labels.zip(ranges));
    let more = found.ranges.len().saturating_sub(LISTED);
    rows.extend((more > 0).then(|| (String::new(), say!(PLACES_NOT_LISTED, count = more))));
    rows.extend(place.map(|place| (say!(LABEL_WRITTEN), say!(WRITTEN_TO, place = place))));
    output.result(&labelled(&rows))
}
