//! Generated works: many small ones, each of one to three operations with a point behind each from
//! which on the file system has promised it.
//!
//! ```text
//!   scenario n   a folder with files and folders, durable          Begun 1 · Synced 1
//!                operation · what makes it durable by POSIX        Begun 2 · Synced 2 …
//!   afterwards   the tree behind the last promise, whole; what the operation under way touches
//!                may be as it likes
//! ```
//!
//! The first scenarios are all operations, each with all that makes it durable; those behind them
//! are two and three, drawn by the seed. The same run and number are the same scenario, so that
//! whoever judges it makes it again and needs nothing but the marks.
//!
//! What is durable when (POSIX.1-2017 `fsync`, `fdatasync`, `msync`; open(2), fsync(2),
//! rename(2)): `fsync` makes a file's content, size and attributes durable, `fdatasync` content
//! and size, writes with `O_DSYNC` themselves, `msync` with `MS_SYNC` what was stored into a
//! shared mapping, and `fsync` of a folder its names. One thing that POSIX does not say is looked
//! at and counted apart: a rename without `fsync` leaves the old or the new file, whole, as ext4
//! says of itself (`auto_da_alloc`, Documentation/admin-guide/ext4.rst).

mod carry_out;
mod look;
mod tree;

use reactor::{Random, derive_seed};

pub(crate) use self::carry_out::set_up;
pub(crate) use self::look::Difference;
use self::tree::Tree;

/// The version that a scenario starts from; its first operation makes the next one.
pub(crate) const BASE: u32 = 1;
/// So many scenarios are set up together.
pub(crate) const TOGETHER: u32 = 16;

/// The operations, and a table of all of them.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What is done with files and folders.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Operation {
            $($(#[$doc])* $name,)*
        }

        const OPERATIONS: &[Operation] = &[$(Operation::$name,)*];
    };
}

operations! {
    Create,
    Overwrite,
    /// With `O_DSYNC`.
    OverwriteDurably,
    /// With `O_DIRECT`.
    OverwriteDirectly,
    /// With both.
    OverwriteDirectlyDurably,
    Append,
    /// Behind the end room is reserved before.
    AppendReserved,
    Shrink,
    Grow,
    Allocate,
    Punch,
    SetAttribute,
    Link,
    SymbolicLink,
    Rename,
    RenameOver,
    Move,
    RenameFolder,
    MakeFolder,
    RemoveFolder,
    Unlink,
    /// A new file is written, synced, and renamed over the old one.
    Replace,
    /// The same without any sync.
    ReplaceUnsynced,
    /// One file is overwritten and synced while another thread writes to another.
    Beside,
    /// By stores into memory that the file is mapped to, and `msync`.
    OverwriteMapped,
}

use Operation::*;

/// What makes an operation durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Persistence {
    /// What POSIX asks for, and no more.
    Least,
    /// `syncfs`.
    Everything,
}

/// An operation, on what, and what makes it durable.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    operation: Operation,
    persistence: Persistence,
    /// What it is done with.
    name: String,
    /// Where it goes, or what else takes part.
    other: String,
}

/// A small work.
#[derive(Debug)]
pub(crate) struct Scenario {
    run: u64,
    number: u32,
    steps: Vec<Step>,
}

/// All that one operation can be.
fn singles() -> Vec<(Operation, Persistence)> {
    let ways = |operation| match operation {
        OverwriteDurably | OverwriteDirectlyDurably | ReplaceUnsynced => {
            vec![(operation, Persistence::Least)]
        }
        _ => vec![(operation, Persistence::Least), (operation, Persistence::Everything)],
    };
    OPERATIONS.iter().copied().flat_map(ways).collect()
}

impl Scenario {
    /// The one of this number of a run.
    pub(crate) fn of(run: u64, number: u32) -> Scenario {
        let mut random = Random::with_seed(derive_seed(run, "scenario", number.into()));
        let singles = singles();
        let single = singles.get(number as usize);
        let count = if single.is_some() { 1 } else { 2 + number as usize % 2 };
        let (mut steps, mut tree) = (Vec::<Step>::new(), Tree::base());
        while steps.len() < count {
            let drawn = single.copied().unwrap_or_else(|| singles[random.usize(..singles.len())]);
            let is_last = steps.len() + 1 == count;
            if drawn.0 == ReplaceUnsynced && !is_last {
                // What is there behind it nobody knows.
                continue;
            }
            let version = BASE + 1 + steps.len() as u32;
            let Some(step) = tree.draw(drawn, version, &mut random) else { continue };
            tree.apply(&step, version);
            steps.push(step);
        }
        Scenario { run, number, steps }
    }

    /// The name of its folder.
    fn folder(&self) -> String {
        format!("w{:05}", self.number)
    }

    /// The step that makes this version, where it has one.
    fn step(&self, version: u32) -> Option<&Step> {
        self.steps.get(version.checked_sub(BASE + 1)? as usize)
    }

    /// The tree behind this version.
    fn tree(&self, version: u32) -> Tree {
        let mut tree = Tree::base();
        for version in BASE + 1..=version {
            if let Some(step) = self.step(version) {
                tree.apply(step, version);
            }
        }
        tree
    }

    /// The versions that its operations make, in order.
    pub(crate) fn versions(&self) -> std::ops::Range<u32> {
        BASE + 1..BASE + 1 + self.steps.len() as u32
    }

    /// The blocks of all of its files at a version.
    pub(crate) fn blocks(&self, version: u32) -> u32 {
        self.tree(version).blocks()
    }

    /// Whether a version is a rename that nobody syncs.
    pub(crate) fn is_unsynced(&self, version: u32) -> bool {
        self.step(version).is_some_and(|step| step.operation == ReplaceUnsynced)
    }
}

#[cfg(test)]
mod tests;
