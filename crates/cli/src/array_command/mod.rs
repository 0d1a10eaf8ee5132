//! `raidloom array`: looking at the members of md arrays, making new ones, and finding out what lost ones were.

pub(crate) mod arguments;
mod create;
mod examine;
mod guess;
mod scan;

use crate::arguments::ArrayVerb;
use crate::failure::Failure;
use crate::output::Output;

const SECTOR_BYTES: u64 = block::SECTOR_BYTES;

/// Runs one of the verbs.
pub(crate) fn array(output: &Output, verb: &ArrayVerb) -> Result<(), Failure> {
    match verb {
        ArrayVerb::Examine { paths } => examine::examine(output, paths),
        ArrayVerb::Scan { paths } => scan::scan(output, paths),
        ArrayVerb::Create(arguments) => create::create(output, arguments),
        ArrayVerb::Guess(arguments) => guess::guess(output, arguments),
    }
}
