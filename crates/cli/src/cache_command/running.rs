//! Caches of arrays that run: `raidloom array cache status` and `flush` with an array's name.

use block::size_text;
use escape::{Lines, add};
use serde_json::json;
use serve::{CacheReport, Client, Command, Runtime};

use super::overlay::done;
use crate::catalogue;
use crate::failure::Failure;
use crate::output::{Output, about};

/// Where the server of this name is found, if one runs or has died.
fn find(name: &str) -> Result<Option<Runtime>, Failure> {
    // No array's name has a slash or a parenthesis.
    if name.contains(['(', '/']) {
        return Ok(None);
    }
    let runtime = Runtime::find()?;
    Ok(runtime.entry(name).is_some().then_some(runtime))
}

/// Shows the caches of an array that runs. False when there is none of this name.
pub(super) fn status(output: &Output, name: &str) -> Result<bool, Failure> {
    let Some(runtime) = find(name)? else { return Ok(false) };
    let caches = Client::connect(&runtime, name)?.status()?.caches;
    if caches.is_empty() {
        return Err(Failure::usage(catalogue::NO_CACHE_IN_IT).at(name));
    }
    if output.json {
        return output.document(&json!(caches)).map(|()| true);
    }
    let texts: Vec<String> =
        caches.iter().enumerate().map(|(number, cache)| text(number, cache)).collect();
    output.result(&texts.join("\n\n")).map(|()| true)
}

fn text(number: usize, cache: &CacheReport) -> String {
    let share = |part: u64, of: u64| {
        if of > 0 { format!(" ({:.1} %)", 100.0 * part as f64 / of as f64) } else { String::new() }
    };
    let hits = |hits: u64, misses: u64| match hits + misses {
        0 => "none".to_owned(),
        asked => {
            format!("{hits} of {asked} blocks hit ({:.1} %)", 100.0 * hits as f64 / asked as f64)
        }
    };
    let memory = if cache.kept { "kept" } else { "in memory" };
    let mut text = Lines::new();
    add!(text, "cache {number}  {}", cache.name);
    add!(text, "mode     {}, {}, {memory}", cache.mode, cache.policy);
    add!(text, "block    {}", size_text(cache.block_bytes));
    add!(
        text,
        "size     {}, and {} for its index",
        size_text(cache.size_bytes),
        about(cache.metadata_bytes)
    );
    add!(text, "used     {}{}", about(cache.used_bytes), share(cache.used_bytes, cache.size_bytes));
    add!(
        text,
        "dirty    {}{}",
        about(cache.dirty_bytes),
        share(cache.dirty_bytes, cache.size_bytes)
    );
    add!(text, "reads    {}", hits(cache.read_hits, cache.read_misses));
    add!(text, "writes   {}", hits(cache.write_hits, cache.write_misses));
    add!(text, "blocks   {} came in, {} went", cache.insertions, cache.evictions);
    add!(
        text,
        "written  {} out, {} per second of late",
        about(cache.written_out_bytes),
        about(cache.write_out_bytes_per_second)
    );
    if let Some(failure) = &cache.failure {
        add!(text, "failure  {failure}");
    }
    text.into_text().trim_end().to_owned()
}

/// Writes out what is dirty in the caches of an array that runs.
pub(super) fn flush(output: &Output, name: &str) -> Result<(), Failure> {
    let Some(runtime) = find(name)? else { return Err(unknown(name)) };
    let flushed = Client::connect(&runtime, name)?.ask(Command::FlushCaches)?;
    done(output, "written out", flushed["written_bytes"].as_u64().unwrap_or_default())
}

pub(super) fn unknown(text: &str) -> Failure {
    Failure::usage(catalogue::NO_ARRAY_OR_CACHE).at(text)
}
