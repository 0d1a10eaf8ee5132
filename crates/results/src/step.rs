//! What is decided while a run goes on, and when it may be.

use serde::{Deserialize, Serialize};

use crate::types::Group;

/// After how many blocks a run that may go on makes claims.
pub const LOOKS: [u32; 4] = [8, 16, 32, 60];

/// The first look after more than `blocks` blocks; none after the last.
#[must_use]
pub fn look_after(blocks: u32) -> Option<u32> {
    LOOKS.into_iter().find(|look| *look > blocks)
}

/// Something that was decided while a run went on: a line of `course.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Configurations that are not measured any more.
    Dropped {
        /// After so many blocks of the race.
        after_blocks: u32,
        /// Their identities.
        configurations: Vec<String>,
    },
    /// The race is over: all trials from here on are fresh ones.
    Named {
        /// Blocks that the race took.
        after_blocks: u32,
        /// What is measured from here on.
        picks: Vec<Pick>,
    },
    /// The run goes on to a look.
    Look {
        /// Blocks that there are to be, of a race fresh ones: one of [`LOOKS`].
        blocks: u32,
    },
    /// The run goes on from look to look until its headlines are decided.
    UntilDecided,
    /// From here on the run may cost so much, whatever its plan says.
    Budget {
        /// Whole milliseconds of measuring; none for no limit.
        milliseconds: Option<u64>,
        /// Bytes written to any one member; none for no limit.
        written_bytes_per_member: Option<u64>,
    },
    /// So much time was spent when this was written: of a run with a budget.
    Spent {
        /// Whole milliseconds, of all processes that worked on the run.
        milliseconds: u64,
    },
}

/// What a race has named for one kind of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pick {
    /// Identity of the baseline, which tells the comparison.
    pub baseline: String,
    /// Kind of work; none for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// Identity of the configuration that is to show what it is worth.
    pub named: String,
    /// Those that came next, the best first.
    pub runners_up: Vec<String>,
}

impl Pick {
    /// Identities of all that are confirmed for it, the baseline first.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        [self.baseline.as_str(), self.named.as_str()]
            .into_iter()
            .chain(self.runners_up.iter().map(String::as_str))
    }
}
