//! What can be said to the verbs of `array`.

use std::path::PathBuf;

use clap::Args;

/// `array guess`.
#[derive(Args, Debug)]
pub(crate) struct GuessArguments {
    /// Image files or block devices, in any order; `missing` stands for one that is lost
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,

    /// Only these levels: linear, 0, 1, 4, 5, 6, 10
    #[arg(short, long, num_args = 1.., value_name = "LEVEL", value_delimiter = ',')]
    pub level: Vec<String>,

    /// Only these chunk sizes [default: 4KiB to 4MiB]
    #[arg(short, long, num_args = 1.., value_name = "SIZE", value_delimiter = ',')]
    pub chunk: Vec<String>,

    /// Only these places for the start of data on the members [default: 0 and where mdadm puts it]
    #[arg(long, num_args = 1.., value_name = "SIZE", value_delimiter = ',')]
    pub data_offset: Vec<String>,

    /// How many candidates are shown; those as good as the first are counted in any case
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub show: usize,

    /// End the search after this time, with what was found until then
    #[arg(long, default_value = "10min", value_name = "DURATION")]
    pub time: String,
}
