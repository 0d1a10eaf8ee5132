//! What is asked of the caches of a stack that runs.

use cache::CacheHandle;
use host::Error;
use host::limits::promise_memory;
use serde_json::{Value, json};
use words::statement;

use crate::catalogue;
use crate::upkeep::Upkeep;

/// Writes out what is dirty in all of them; they stay warm.
pub(crate) fn flush(server: &str, caches: &[CacheHandle]) -> Result<Value, Error> {
    if caches.is_empty() {
        return Err(none(server));
    }
    let mut written_bytes = 0;
    // Those above write to those below.
    for cache in caches.iter().rev() {
        written_bytes += cache.flush().map_err(|error| Error::from(error).at(server))?;
    }
    Ok(json!({ "written_bytes": written_bytes }))
}

/// Gives one of them another size: the one of that number, or the only one in memory.
pub(crate) fn resize(
    server: &str,
    caches: &[CacheHandle],
    upkeep: &Upkeep,
    number: Option<usize>,
    size_bytes: u64,
) -> Result<Value, Error> {
    let number = match number {
        Some(number) => number,
        None => only_in_memory(server, caches)?,
    };
    let Some(cache) = caches.get(number) else {
        let text = statement!(catalogue::NO_CACHE_NUMBERED, server = server, number = number);
        return Err(if caches.is_empty() { none(server) } else { Error::usage(text) });
    };
    let has = cache.status().map_or(0, |status| status.size_bytes);
    let at_cache = |error: block::Error| Error::from(error).at(format!("{server}: cache {number}"));
    promise_memory(catalogue::LARGER_SIZE, size_bytes.saturating_sub(has)).map_err(at_cache)?;
    upkeep.resize_cache(number, size_bytes).map_err(at_cache)?;
    let size_bytes = cache.status().map_or(size_bytes, |status| status.size_bytes);
    Ok(json!({ "cache": number, "size_bytes": size_bytes }))
}

fn only_in_memory(server: &str, caches: &[CacheHandle]) -> Result<usize, Error> {
    let in_memory = |cache: &CacheHandle| cache.status().is_some_and(|status| !status.is_kept);
    let mut numbers = (0..caches.len()).filter(|&number| in_memory(&caches[number]));
    match (numbers.next(), numbers.next()) {
        (Some(number), None) => Ok(number),
        (Some(_), Some(_)) => {
            Err(Error::usage(statement!(catalogue::SEVERAL_CACHES, server = server)))
        }
        // The only one there is says itself why it cannot.
        (None, _) if !caches.is_empty() => Ok(0),
        (None, _) => Err(none(server)),
    }
}

fn none(server: &str) -> Error {
    Error::usage(catalogue::SERVER_WITHOUT_CACHE).at(server)
}
