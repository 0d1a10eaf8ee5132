//! What the protocol has to know of an export.

use nbd_wire::{REQUEST_MAX_BYTES, transmission_flags};

/// An export, as the protocol tells clients of it.
#[derive(Clone, Debug)]
pub struct Shape {
    /// What clients ask for; the empty name is the first export's.
    pub name: String,
    /// A line for people.
    pub description: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Requests that are multiples of this many bytes are served as they are, others by reading and
    /// writing around them.
    pub block_bytes: u32,
    /// The size of access it serves best, in bytes.
    pub optimal_bytes: u32,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Whether distance between requests costs time.
    pub rotational: bool,
    /// Whether what was written may be lost until a flush.
    pub needs_flush: bool,
    /// Whether blocks can be given back.
    pub discards: bool,
    /// Whether writing zeroes is cheaper than writing data.
    pub fast_zeroes: bool,
}

impl Shape {
    /// The transmission flags of the protocol.
    #[must_use]
    pub fn flags(&self, structured: bool) -> u16 {
        use transmission_flags::*;
        // A flush on any connection covers what any other has been told of, so clients may use
        // several.
        let mut flags = HAS_FLAGS | CAN_MULTI_CONN;
        let mut add = |condition: bool, more: u16| flags |= if condition { more } else { 0 };
        add(self.needs_flush, SEND_FLUSH);
        add(self.rotational, ROTATIONAL);
        add(structured, SEND_DF);
        add(self.read_only, READ_ONLY);
        add(!self.read_only, SEND_FUA | SEND_WRITE_ZEROES | SEND_FAST_ZERO);
        add(!self.read_only && self.discards, SEND_TRIM);
        flags
    }

    /// The preferred size of access, which has to be a power of two.
    pub(super) fn preferred_bytes(&self) -> u32 {
        let least = self.block_bytes.max(4096);
        let optimal = self.optimal_bytes.clamp(least, REQUEST_MAX_BYTES);
        1 << optimal.ilog2()
    }
}
