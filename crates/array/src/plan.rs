//! What has to be done for one piece of a request, as plain data.
//!
//! ```text
//!   lock a range of a row ──> read all ──> compute, step by step ──> write all ──> unlock
//! ```
//!
//! Bytes are in the request's own buffer (`Host`) or in scratch buffers that live as long as the
//! plan. Accesses of one phase run at the same time; neighbours on a member go out as one command.

use crate::geometry::Extent;
use crate::member::MemberSet;
use crate::part::{Action, Part, Spot};

/// Where the bytes of an access or a step are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteSite {
    /// In the request's buffer, `start` bytes from the beginning of the planned part.
    Host {
        /// In bytes.
        start: u64,
    },
    /// In scratch buffer `slot` (its length is `Plan::scratch[slot]`), `start` bytes from its
    /// beginning.
    Scratch {
        /// Which buffer.
        buffer: usize,
        /// In bytes.
        start: u64,
    },
}

impl ByteSite {
    /// The place `by` bytes further on.
    pub(crate) fn after(self, by: u64) -> ByteSite {
        match self {
            ByteSite::Host { start } => ByteSite::Host { start: start + by },
            ByteSite::Scratch { buffer, start } => ByteSite::Scratch { buffer, start: start + by },
        }
    }
}

/// What a command of the write phase carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// These bytes.
    Bytes(ByteSite),
    /// Zeroes that are not sent.
    Zeroes,
    /// Nothing: the blocks are given back.
    Discard,
    /// Nothing: the member is flushed; such an access has no range.
    Flush,
}

/// What a part that changes something brings, `start` bytes from its beginning.
pub(crate) fn content_of(action: Action, start: u64) -> Content {
    match action {
        Action::Read | Action::Write => Content::Bytes(ByteSite::Host { start }),
        Action::Zeroes => Content::Zeroes,
        Action::Discard => Content::Discard,
    }
}

impl From<ByteSite> for Content {
    fn from(place: ByteSite) -> Content {
        Content::Bytes(place)
    }
}

/// One run of bytes on one member: of the read phase with the [`ByteSite`] that they go to, of the
/// write phase with the [`Content`] that the member gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access<C> {
    /// Which member.
    pub member: usize,
    /// Where on it, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub length: u64,
    /// Where the bytes go to (read), or what is written.
    pub content: C,
}

/// A range of a row that no other piece may work on meanwhile. Each level decides what a row is: it
/// is a stripe where there is parity, and the range lies within a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLock {
    /// Which row.
    pub row: u64,
    /// Where the range begins.
    pub from: u64,
    /// Where it ends; past `from`.
    pub to: u64,
}

impl RowLock {
    /// Whether two have anything in common.
    #[must_use]
    pub fn meets(self, other: RowLock) -> bool {
        self.row == other.row && self.from < other.to && other.from < self.to
    }
}

/// One computation between the phases. A step's two ranges do not overlap; a write's host buffer is
/// never a target. Products are over GF(2^8), see [`parity`](crate::parity).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computation {
    /// `into` becomes zero.
    Zero {
        /// Target.
        into: ByteSite,
        /// In bytes.
        length: u64,
    },
    /// `into` becomes `from`.
    Copy {
        /// Source.
        from: ByteSite,
        /// Target.
        into: ByteSite,
        /// In bytes.
        length: u64,
    },
    /// `into` becomes `into XOR from`.
    Xor {
        /// Source.
        from: ByteSite,
        /// Target.
        into: ByteSite,
        /// In bytes.
        length: u64,
    },
    /// `into` becomes `into XOR coefficient * from`.
    MultiplyXor {
        /// Factor.
        coefficient: u8,
        /// Source.
        from: ByteSite,
        /// Target.
        into: ByteSite,
        /// In bytes.
        length: u64,
    },
    /// `into` becomes `coefficient * into`.
    Scale {
        /// Factor.
        coefficient: u8,
        /// Target.
        into: ByteSite,
        /// In bytes.
        length: u64,
    },
    /// Finds the sectors in which the two differ.
    Compare {
        /// One.
        one: ByteSite,
        /// The other.
        other: ByteSite,
        /// In bytes.
        length: u64,
    },
    /// Finds the sectors in which P and Q are not those of the data, and which one block of the row
    /// is wrong there, if all bytes of the sector say the same; that block is put right in its
    /// buffer. The data are `Plan::sources[first..first + count]`, as for [`Computation::Parity`].
    Locate {
        /// The first source.
        first: usize,
        /// How many sources.
        count: usize,
        /// P as it was read.
        p: ByteSite,
        /// Q as it was read.
        q: ByteSite,
        /// P of the data.
        expected_p: ByteSite,
        /// Q of the data.
        expected_q: ByteSite,
        /// In bytes.
        length: u64,
    },
    /// Finds the sectors in which the copies `Plan::sources[first..first + count]` differ. Where
    /// more than half of them are the same, the others are put right in their buffers.
    Vote {
        /// The first copy.
        first: usize,
        /// How many copies.
        count: usize,
        /// In bytes.
        length: u64,
    },
    /// `p` and `q` become the parity of `Plan::sources[first..first + count]`; the source at
    /// `first + i` counts for Q with the coefficient g^i. Both are in scratch buffers of their own.
    Parity {
        /// The first source.
        first: usize,
        /// How many sources.
        count: usize,
        /// Target.
        p: ByteSite,
        /// Target, if there is a Q.
        q: Option<ByteSite>,
        /// In bytes.
        length: u64,
    },
}

/// What to do for one piece. Made by a level, run by the executor, used again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The range that no other piece may work on meanwhile.
    pub lock: Option<RowLock>,
    /// Lengths of the scratch buffers in bytes; their contents are unspecified at first.
    pub scratch: Vec<u64>,
    /// What to read first. Accesses that go to the same buffer are in ascending order of their
    /// place and do not overlap.
    pub read: Vec<Access<ByteSite>>,
    /// What parity is computed from; where there is none, a block of zeroes.
    pub sources: Vec<Option<ByteSite>>,
    /// What to compute then, in this order.
    pub compute: Vec<Computation>,
    /// What to write then.
    pub write: Vec<Access<Content>>,
    /// What to write as well if something that was compared differs.
    pub amend: Vec<Access<Content>>,
    /// What to write as well of the buffers in which a sector was put right.
    pub mend: Vec<Access<Content>>,
}

impl Plan {
    /// Empties the plan and keeps its memory.
    pub fn clear(&mut self) {
        self.lock = None;
        self.scratch.clear();
        self.read.clear();
        self.sources.clear();
        self.compute.clear();
        self.write.clear();
        self.amend.clear();
        self.mend.clear();
    }

    /// Adds what a part asks of one run of `length` bytes, which begins `start` bytes into it: a
    /// read to what is read first, anything else to what is written then.
    pub fn add(&mut self, action: Action, run: Spot, length: u64, start: u64) {
        let Spot { member, offset } = run;
        if action == Action::Read {
            self.read.push(Access { member, offset, length, content: ByteSite::Host { start } });
        } else {
            self.write.push(Access { member, offset, length, content: content_of(action, start) });
        }
    }

    /// Adds what a part asks of the runs that it lies in, which `locate` tells from an offset and a
    /// length in the array: the first of them.
    pub(crate) fn add_runs(&mut self, part: Part, locate: impl Fn(u64, u64) -> Extent) {
        let mut start = 0;
        while start < part.length {
            let Extent { member, offset, length } =
                locate(part.offset + start, part.length - start);
            self.add(part.action, Spot { member, offset }, length, start);
            start += length;
        }
    }

    /// Flushes every member that is not absent: the plan of a flush at every level.
    pub(crate) fn flush_all(&mut self, members: usize, absent: &MemberSet) {
        let present = (0..members).filter(|&member| !absent.contains(member));
        self.write.extend(present.map(|member| Access {
            member,
            offset: 0,
            length: 0,
            content: Content::Flush,
        }));
    }
}
