//! Caches of arrays that run: `raidloom array cache status` and `flush` with an array's name.

use block::size_text;
use serde_json::json;
use serve::{CacheReport, Client, Command, Runtime};

use super::overlay::done;
use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::output::{Output, about, labelled};

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
        0 => say!(NO_BLOCKS_ASKED),
        asked => {
            let percent = format!("{:.1}", 100.0 * hits as f64 / asked as f64);
            say!(BLOCKS_HIT, hits = hits, asked = asked, percent = percent)
        }
    };
    let part = |bytes: u64| about(bytes) + &share(bytes, cache.size_bytes);
    let memory = if cache.kept { say!(CACHE_KEPT) } else { say!(CACHE_IN_MEMORY) };
    let (size, index) = (size_text(cache.size_bytes), about(cache.metadata_bytes));
    let (came, went) = (cache.insertions, cache.evictions);
    let (out, rate) = (about(cache.written_out_bytes), about(cache.write_out_bytes_per_second));
    let name = say!(LABEL_CACHE, number = number);
    let mut rows = vec![
        (name, cache.name.clone()),
        (say!(LABEL_MODE), format!("{}, {}, {memory}", cache.mode, cache.policy)),
        (say!(LABEL_BLOCK), size_text(cache.block_bytes)),
        (say!(LABEL_SIZE), say!(SIZE_AND_INDEX, size = size, index = index)),
        (say!(LABEL_USED), part(cache.used_bytes)),
        (say!(LABEL_DIRTY), part(cache.dirty_bytes)),
        (say!(LABEL_READS), hits(cache.read_hits, cache.read_misses)),
        (say!(LABEL_WRITES), hits(cache.write_hits, cache.write_misses)),
        (say!(LABEL_BLOCKS), say!(BLOCKS_CAME_AND_WENT, came = came, went = went)),
        (say!(LABEL_WRITTEN), say!(WRITTEN_OUT_OF_LATE, size = out, rate = rate)),
    ];
    rows.extend(cache.failure.as_ref().map(|failure| (say!(LABEL_FAILURE), failure.to_string())));
    labelled(&rows)
}

/// Writes out what is dirty in the caches of an array that runs.
pub(super) fn flush(output: &Output, name: &str) -> Result<(), Failure> {
    let Some(runtime) = find(name)? else { return Err(unknown(name)) };
    let flushed = Client::connect(&runtime, name)?.ask(Command::FlushCaches)?;
    done(output, catalogue::WRITTEN_OUT, flushed["written_bytes"].as_u64().unwrap_or_default())
}

pub(super) fn unknown(text: &str) -> Failure {
    Failure::usage(catalogue::NO_ARRAY_OR_CACHE).at(text)
}
