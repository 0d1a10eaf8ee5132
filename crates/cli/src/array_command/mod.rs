//! `raidloom array`: looking at the members of md arrays, making new ones, and finding out what lost ones were.

pub(crate) mod arguments;
mod assemble;
mod create;
mod destroy;
mod examine;
mod guess;
mod status;

use crate::arguments::ArrayVerb;
use crate::failure::Failure;
use crate::output::Output;

const SECTOR_BYTES: u64 = block::SECTOR_BYTES;

/// Runs one of the verbs.
pub(crate) fn array(output: &Output, verb: &ArrayVerb) -> Result<(), Failure> {
    match verb {
        ArrayVerb::Examine { paths } => examine::examine(output, paths),
        ArrayVerb::Scan { paths } => assemble::scan(output, paths),
        ArrayVerb::Assemble(arguments) => assemble::assemble(output, arguments),
        ArrayVerb::Status(arguments) => status::status(output, arguments),
        ArrayVerb::Destroy(arguments) => destroy::destroy(output, arguments),
        ArrayVerb::Create(arguments) => create::create(output, arguments),
        ArrayVerb::Guess(arguments) => guess::guess(output, arguments),
    }
}
