//! Steps that suites share: a target is filled with data of its own, requests of one kind are run
//! on it and checked, and all of it is read back.
//!
//! ```text
//!   prepare ──> Filled ──> run(row), run(row), … ──> read_back
//!                  └── what every block of 4 KiB holds (content)
//! ```

pub(super) mod content;
mod run;

use std::fmt;
use std::time::Duration;

use words::{Text, statement};

pub use content::{BlockContents, Data, Verify};
pub use run::{View, prepare, read_back, run};

use crate::load::Direction;
use crate::suite::catalogue;

/// How the places of a row's requests follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Adjacent and ascending, from the start again at the end.
    Sequential,
    /// Uniform over all multiples of the request.
    Random,
}

/// What a row's requests do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// All of them read.
    Read,
    /// All of them write.
    Write,
    /// So many of a hundred read, the others write.
    Mix {
        /// How many of 100 requests are reads.
        read_percent: u32,
    },
}

impl AccessKind {
    /// Whether anything is written.
    #[must_use]
    pub fn writes(self) -> bool {
        self != AccessKind::Read
    }

    /// The direction, when there is only one.
    #[must_use]
    pub fn direction(self) -> Option<Direction> {
        match self {
            AccessKind::Read => Some(Direction::Read),
            AccessKind::Write => Some(Direction::Write),
            AccessKind::Mix { .. } => None,
        }
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessKind::Read => f.write_str("read"),
            AccessKind::Write => f.write_str("write"),
            AccessKind::Mix { .. } => f.write_str("mix"),
        }
    }
}

/// One row: a kind of access and which way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Sequential or random.
    pub order: Order,
    /// Size of a request in bytes.
    pub request_bytes: u32,
    /// Requests that one thread keeps outstanding.
    pub queues: u32,
    /// Threads.
    pub threads: u32,
    /// Which way.
    pub way: AccessKind,
    /// The clock is looked at only after so many requests; `None` for after each one, and 0 for
    /// after each whole pass.
    pub(super) looks_every: Option<u64>,
}

impl Row {
    /// Unique name within the suite, the same in every profile: `SEQ1M Q8T1 read`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.access(), self.way)
    }

    /// The name without the direction: `RND4K Q32T16`.
    #[must_use]
    pub fn access(&self) -> String {
        let order = if self.order == Order::Sequential { "SEQ" } else { "RND" };
        format!("{order}{} Q{}T{}", self.size_text(), self.queues, self.threads)
    }

    /// The size of its requests as the original writes it: `1M`, `4K`.
    #[must_use]
    pub fn size_text(&self) -> String {
        let kib = self.request_bytes >> 10;
        if kib.is_multiple_of(1024) { format!("{}M", kib >> 10) } else { format!("{kib}K") }
    }

    /// What it does, in a sentence; through the page cache, or past it.
    #[must_use]
    pub fn what(&self, is_buffered: bool) -> Text {
        let places = match self.order {
            Order::Sequential => catalogue::ADJACENT,
            Order::Random => catalogue::RANDOMLY_PLACED,
        };
        let way: Text = match self.way {
            AccessKind::Read => catalogue::ROW_READS.into(),
            AccessKind::Write => catalogue::ROW_WRITES.into(),
            AccessKind::Mix { read_percent } => {
                let (reads, writes) = (read_percent, 100 - read_percent);
                statement!(catalogue::ROW_MIXED, reads = reads, writes = writes)
            }
        };
        let unit = if self.request_bytes >= 1 << 20 { "MiB" } else { "KiB" };
        let size = self.size_text();
        let size = format!("{} {unit}", &size[..size.len() - 1]);
        let outstanding: Text = match (self.queues, self.threads) {
            (1, 1) => catalogue::ONE_AT_A_TIME.into(),
            (queues, 1) => statement!(catalogue::OUTSTANDING, depth = queues),
            (queues, threads) => {
                statement!(catalogue::OUTSTANDING_IN_EACH, depth = queues, threads = threads)
            }
        };
        let flush = catalogue::THEN_A_FLUSH;
        statement!(
            catalogue::ROW_DOES,
            places = places,
            way = way,
            size = size,
            outstanding = outstanding,
            end = if self.way.writes() { Text::from(flush) } else { Text::default() },
            cache = if is_buffered { catalogue::THROUGH_CACHE } else { catalogue::PAST_CACHE },
        )
    }

    pub(super) const fn new(
        order: Order,
        kib: u32,
        queues: u32,
        threads: u32,
        looks_every: Option<u64>,
    ) -> Row {
        Row { order, request_bytes: kib << 10, queues, threads, way: AccessKind::Read, looks_every }
    }
}

/// How rows are run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Bytes of the file or device that are used, whole MiB.
    pub size_bytes: u64,
    /// Runs of each row that count; one more before them does not.
    pub runs: u32,
    /// Whether there is such a run.
    pub warms_up: bool,
    /// How long a run issues requests, on the reactor's clock.
    pub time: Duration,
    /// Rest before each row.
    pub interval: Duration,
    /// Whether each run that writes and counts is repeated in rounds until it is steady.
    pub steady: bool,
    /// What is written.
    pub data: Data,
    /// What is compared inside the time.
    pub verify: Verify,
    /// Where random requests go.
    pub seed: u64,
    /// What the data say of themselves.
    pub data_seed: u64,
}
