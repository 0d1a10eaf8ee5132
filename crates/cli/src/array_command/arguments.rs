//! What can be said to the verbs of `array`.

use std::path::PathBuf;

use clap::Args;

use crate::arguments::Consent;

/// `array guess`.
#[derive(Args, Debug)]
pub(crate) struct GuessArguments {
    /// Image files or block devices, in any order; `missing` stands for one that is lost
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,

    /// Only these levels: linear, 0, 1, 4, 5, 6, 10
    #[arg(short, long, value_name = "LEVEL", value_delimiter = ',')]
    pub level: Vec<String>,

    /// Only these chunk sizes [default: 4KiB to 4MiB]
    #[arg(short, long, value_name = "SIZE", value_delimiter = ',')]
    pub chunk: Vec<String>,

    /// Only these places for the start of data on the members [default: 0 and where mdadm puts it]
    #[arg(long, value_name = "SIZE", value_delimiter = ',')]
    pub data_offset: Vec<String>,

    /// How many candidates are shown; those as good as the first are counted in any case
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub show: usize,

    /// End the search after this time, with what was found until then
    #[arg(long, default_value = "10min", value_name = "DURATION")]
    pub time: String,
}

/// `array assemble`.
#[derive(Args, Debug)]
pub(crate) struct AssembleArguments {
    /// Image files or block devices, or folders of them
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,

    /// Take what is found: several arrays, and files that are no members
    #[arg(long)]
    pub scan: bool,

    /// The members are opened for reading only
    #[arg(long)]
    pub read_only: bool,

    /// The members are opened for reading only; what is written goes to a file in this folder
    #[arg(long, value_name = "DIR")]
    pub overlay: Option<PathBuf>,

    /// Also where something may be lost by it: a dirty array with a member missing
    #[arg(short, long)]
    pub force: bool,
}

/// `array status`.
#[derive(Args, Debug)]
pub(crate) struct StatusArguments {
    /// The name of an array that runs, a stack text, or members (also folders of them)
    #[arg(required = true, value_name = "NAME|STACK|PATH")]
    pub targets: Vec<String>,

    /// End with mdadm's exit code: 0 normal, 1 a member has failed, 2 unusable, 4 cannot tell
    #[arg(short, long)]
    pub test: bool,
}

/// `array destroy`.
#[derive(Args, Debug)]
pub(crate) struct DestroyArguments {
    /// The members, all of one array
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}
