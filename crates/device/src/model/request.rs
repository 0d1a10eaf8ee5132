//! What a host asks of a modelled disk, and the answer that it gets.

/// What a host asks of a disk; offsets and lengths in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read `length` bytes.
    Read {
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// Write `length` bytes.
    Write {
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
        /// Answer only when the data is on the media.
        fua: bool,
    },
    /// Answer when everything written before is on the media.
    Flush,
}

/// A request is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The drive that had asked.
    pub client: u32,
    /// The client's name for the request.
    pub tag: u64,
    /// When it was done, in nanoseconds.
    pub time: u64,
}
