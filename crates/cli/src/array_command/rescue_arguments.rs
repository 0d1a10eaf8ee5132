//! What `array rescue` takes.

use std::path::PathBuf;

use clap::Args;

/// `array rescue`.
#[derive(Args, Debug)]
pub(crate) struct RescueArguments {
    /// Image files, block devices, folders of them, drives of other machines; `missing` stands for
    /// a member that is lost
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,

    /// Mount what was found on this folder, for reading only
    #[arg(long, value_name = "DIR")]
    pub mount: Option<PathBuf>,

    /// By what members hold: only these levels: linear, 0, 1, 4, 5, 6, 10
    #[arg(short, long, value_name = "LEVEL", value_delimiter = ',')]
    pub level: Vec<String>,

    /// Only these chunk sizes [default: 4KiB to 4MiB]
    #[arg(short, long, value_name = "SIZE", value_delimiter = ',')]
    pub chunk: Vec<String>,

    /// Only these places for the start of data on the members [default: 0, where mdadm puts it, and
    /// where controllers do]
    #[arg(long, value_name = "SIZE", value_delimiter = ',')]
    pub data_offset: Vec<String>,

    /// Rank so many candidates by what members hold, whatever superblocks say
    #[arg(long, value_name = "N")]
    pub show: Option<usize>,

    /// End the search after this time, with what was found until then
    #[arg(long, default_value = "10min", value_name = "DURATION")]
    pub time: String,

    /// Take disk images (VHD, VHDX, qcow2, VDI, VMDK) for the bytes that they are made of
    #[arg(long)]
    pub raw: bool,
}
