//! `raidloom cache status` and `raidloom cache flush` of stores of caches that nobody uses now.

use std::path::PathBuf;

use block::{Node, size_text};
use host::guard::{Consent, Guard};
use serde_json::json;
use stack::BuildContext;

use super::overlay::{done, open, parse};
use super::running;
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
pub(super) fn flush(output: &Output, text: &str, allow_device: &[PathBuf]) -> Result<(), Failure> {
    // No array's name has parentheses.
    if !text.contains('(') {
        return running::flush(output, text);
    }
    let node = parse(text)?;
    if !matches!(&node, Node::Layer { name, .. } if name == "cache") {
        return Err(running::unknown(text));
    }
    let guard = Guard::new(Consent { in_place: true, devices: allow_device.to_vec(), ..Consent::default() });
    let context = BuildContext { files: &guard, seed: 0, read_only: false, create_bytes: None, emulate: false };
    let stack = stack::build(&node, &context)?;
    stack.notes.iter().for_each(|note| output.note(note));
    // The outermost is the one that was named.
    let written = stack.caches.last().map_or(Ok(0), cache::CacheHandle::flush)?;
    done(output, "written out", written)
}
