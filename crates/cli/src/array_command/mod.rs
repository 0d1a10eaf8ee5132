//! `raidloom array`: looking at the members of md arrays, making new ones, running them, and
//! finding out what lost ones were.

pub(crate) mod arguments;
mod assemble;
mod create;
mod destroy;
mod examine;
mod exchange;
mod guess;
mod incremental;
mod running;
mod server_status;
mod start;
mod status;
mod write;

use crate::arguments::ArrayVerb;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) use start::serve_with;

const SECTOR_BYTES: u64 = block::SECTOR_BYTES;

/// Runs one of the verbs.
pub(crate) fn array(output: &Output, verb: &ArrayVerb) -> Result<(), Failure> {
    match verb {
        ArrayVerb::Examine { paths } => examine::examine(output, paths),
        ArrayVerb::Scan { paths } => assemble::scan(output, paths),
        ArrayVerb::Assemble(arguments) => assemble::assemble(output, arguments),
        ArrayVerb::Status(arguments) => status::status(output, arguments),
        ArrayVerb::Start(arguments) => start::start(output, arguments),
        ArrayVerb::Incremental(arguments) => incremental::incremental(output, arguments),
        ArrayVerb::Serve { log } => start::serve(log.as_deref()),
        ArrayVerb::Stop { names } => running::stop(output, names),
        ArrayVerb::List => running::list(output),
        ArrayVerb::Mount(arguments) => running::mount(output, arguments),
        ArrayVerb::Fail(arguments) => {
            exchange::act(output, arguments, exchange::MemberAction::Fail)
        }
        ArrayVerb::Remove(arguments) => {
            exchange::act(output, arguments, exchange::MemberAction::Remove)
        }
        ArrayVerb::Add(arguments) => exchange::add(output, arguments),
        ArrayVerb::Replace(arguments) => exchange::replace(output, arguments),
        ArrayVerb::Scrub(arguments) => exchange::scrub(output, arguments),
        ArrayVerb::Speed(arguments) => exchange::speed(output, arguments),
        ArrayVerb::Log(arguments) => running::log(output, arguments),
        ArrayVerb::Umount { name } => running::umount(output, name),
        ArrayVerb::Destroy(arguments) => destroy::destroy(output, arguments),
        ArrayVerb::Create(arguments) => create::create(output, arguments),
        ArrayVerb::Guess(arguments) => guess::guess(output, arguments),
        ArrayVerb::Write(arguments) => write::write(output, arguments),
    }
}
