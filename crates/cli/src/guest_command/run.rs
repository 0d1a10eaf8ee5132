//! `raidloom guest run`: work in a guest, on disks that are stacks.

use std::sync::atomic::AtomicBool;

use clap::Args;
use stack::Models;

use super::cut::{self, CutArguments};
use super::guest_run::{Conditions, GuestArguments, GuestRun};
use crate::failure::Failure;
use crate::output::Output;

/// `guest run`.
#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub guest: GuestArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub cut: CutArguments,

    /// What is run, in the file system if there is one; a single word is a line for the shell
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<String>,
}

/// `guest run`.
pub(super) fn run(
    output: &Output,
    arguments: &RunArguments,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let work = match &arguments.command[..] {
        [line] => line.clone(),
        words => words.iter().map(|word| escape::shell(word)).collect::<Vec<_>>().join(" "),
    };
    let flags = note_counters(output, &work);
    let cut = arguments.cut.cut()?;
    // What cannot be is said before anything is booted.
    let then = cut.map(|_| arguments.cut.then(arguments.guest.fs.as_deref())).transpose()?;
    let models = if cut.is_some() { Models::losing() } else { Models::default() };
    let conditions = Conditions { models, is_there: false, cut, before: None };
    let mut run = GuestRun::new(output, &arguments.guest, &work, &conditions, stop)?;
    run.flags = flags;
    if let Some(then) = then {
        return cut::after(output, &arguments.cut, (&run, &conditions.models), &then, stop);
    }
    if output.json {
        output.document(&run.full_document())?;
    } else {
        output.file(&run.outcome.output)?;
        run.tell(output);
    }
    run.judge(output)
}

/// Says which programs of a command read the processor's own counter.
fn note_counters(output: &Output, work: &str) -> Vec<String> {
    let flags = guest::counter::readers(work).into_iter().map(|reader| reader.to_string());
    flags.inspect(|flag| output.note(flag)).collect()
}
