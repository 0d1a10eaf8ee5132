//! `raidloom cache` and `raidloom overlay`: what lies in front of slow devices, and what keeps them
//! unchanged.

pub(crate) mod arguments;
mod chart;
mod overlay;
mod running;
mod simulate;
mod store;

pub(crate) use overlay::overlay;

use crate::failure::Failure;
use crate::output::Output;
use arguments::CacheVerb;

/// Runs one of the verbs of `cache`.
pub(crate) fn cache(output: &Output, verb: &CacheVerb) -> Result<(), Failure> {
    match verb {
        CacheVerb::Simulate(arguments) => simulate::simulate(output, arguments),
        CacheVerb::Status { cache } => store::status(output, cache),
        CacheVerb::Resize { name, size, cache } => running::resize(output, name, size, *cache),
        CacheVerb::Salvage(arguments) => store::salvage(output, arguments),
        CacheVerb::Flush { cache, consent } => store::flush(output, cache, consent),
    }
}
