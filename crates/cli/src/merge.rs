//! `raidloom run merge`: the shards of a run become the run.

use std::path::PathBuf;

use clap::Args;

use crate::catalogue;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::output::Output;
use crate::run::Report;

/// `merge`: which shards, and where to.
#[derive(Args, Debug)]
pub(crate) struct MergeArguments {
    /// The folders of all shards of a run, in any order, or the one that they lie in; they stay as
    /// they are
    #[arg(required = true, value_name = "RUN")]
    pub shards: Vec<PathBuf>,

    /// The folder of the joined run, empty or not there
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// Joins shards to a run, and says what it says.
pub(crate) fn merge(output: &Output, arguments: &MergeArguments) -> Result<(), Failure> {
    let merged = lab::merge(&arguments.shards, &arguments.output)?;
    let message = match merged.machines {
        1 => catalogue::MERGED_OF_ONE_MACHINE,
        _ => catalogue::MERGED_OF_MACHINES,
    };
    output.progress(&words::say!(
        message,
        folder = merged.folder.display(),
        trials = merged.run.trials.len(),
        shards = merged.shards,
        machines = merged.machines
    ));
    Report::of(merged.folder, merged.run)?.tell(output, &Limits::default())
}
