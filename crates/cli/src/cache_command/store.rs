//! `raidloom cache status` and `raidloom cache flush` of stores of caches that nobody uses now.

use std::sync::Arc;

use block::{Device, Node, size_text};
use cache::Salvaged;
use host::guard::{Consent, Guard};
use serde_json::json;
use stack::BuildContext;

use super::arguments::SalvageArguments;
use super::overlay::{build, done, open, parse};
use super::running;
use crate::arguments::UseConsent;
use crate::failure::Failure;
use crate::output::Output;

/// Shows what a store holds, or what the caches of a running array do.
pub(super) fn status(output: &Output, text: &str) -> Result<(), Failure> {
    if running::status(output, text)? {
        return Ok(());
    }
    let guard = Guard::new(Consent::default());
    let store = open(output, &parse(text)?, &guard, true)?;
    let Some(contents) = cache::examine_store(&*store)? else {
        return Err(Failure::failed(format!("{text}: it has no cache's superblock: no cache has used it")));
    };
    let state = if contents.in_use { "in use, or left without being closed" } else { "closed" };
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
    output.result(&format!(
        "state    {state}\ndevice   {}, {}\nblock    {}\nsize     {}\nused     {}\ndirty    {}",
        contents.name,
        size_text(contents.device_bytes),
        size_text(contents.block_bytes.into()),
        size_text(contents.size_bytes),
        size_text(contents.used_bytes),
        size_text(contents.dirty_bytes),
    ))
}

/// Writes out what is dirty.
pub(super) fn flush(output: &Output, text: &str, consent: &UseConsent) -> Result<(), Failure> {
    // No array's name has parentheses.
    if !text.contains('(') {
        return running::flush(output, text);
    }
    let node = parse(text)?;
    if !matches!(&node, Node::Layer { name, .. } if name == "cache") {
        return Err(running::unknown(text));
    }
    let guard = Guard::new(consent.clone().into());
    let context = BuildContext { files: &guard, seed: 0, read_only: false, create_bytes: None, emulate: false };
    let stack = stack::build(&node, &context)?;
    stack.notes.iter().for_each(|note| output.note(note));
    // The outermost is the one that was named.
    let written = stack.caches.last().map_or(Ok(0), cache::CacheHandle::flush)?;
    done(output, "written out", written)
}

/// Shows the dirty blocks of a store whose device has changed, or writes them out of it.
pub(super) fn salvage(output: &Output, arguments: &SalvageArguments) -> Result<(), Failure> {
    let reading = Guard::new(Consent::default());
    let store = open(output, &parse(&arguments.store)?, &reading, true)?;
    let guard = Guard::new(arguments.consent.clone().into());
    let device = match &arguments.device {
        Some(text) => Some(build(output, &parse(text)?, if arguments.write { &guard } else { &reading }, !arguments.write)?),
        None => None,
    };
    let facts = device.as_ref().map(stack::Stack::facts).unwrap_or_default();
    let lower = device.as_ref().map(|stack| (&*stack.device as &dyn Device, &facts));
    let found = cache::salvage(&*store, lower, None)?;
    if let Some(device) = &found.device {
        output.note(&format!("the cache was made for {}, and the device {device}", found.name));
    }
    let (found, written) = match (&arguments.file, &device) {
        (Some(path), _) => {
            if path.exists() {
                return Err(Failure::usage(format!("{}: it is there already; name a new file", path.display())));
            }
            guard.make_kept_file(path, found.device_bytes)?;
            let leaf = Node::leaf("file", path.display().to_string()).with("block", store.info().block_bytes);
            (cache::salvage(&*store, None, Some(&open(output, &leaf, &guard, false)?))?, true)
        }
        (None, Some(stack)) if arguments.write => {
            let target: Arc<dyn Device> = Arc::clone(&stack.device);
            (cache::salvage(&*store, None, Some(&target))?, true)
        }
        _ => (found, false),
    };
    if let Some(stack) = device {
        stack.end()?;
    }
    say(output, &found, written)?;
    if found.lost.is_empty() { Ok(()) } else { Err(Failure::failed(format!("not salvaged: {}", found.lost.join("; ")))) }
}

fn say(output: &Output, found: &Salvaged, written: bool) -> Result<(), Failure> {
    if output.json {
        return output.document(&json!({
            "device": found.name,
            "dirty_bytes": found.bytes(),
            "ranges": found.ranges,
            "lost": found.lost,
            "written": written,
        }));
    }
    let what = if written { "written" } else { "dirty" };
    let mut text = format!("{what:<9}{}", size_text(found.bytes()));
    for (offset, length) in &found.ranges {
        text += &format!("\n{offset}+{length}");
    }
    output.result(&text)
}
