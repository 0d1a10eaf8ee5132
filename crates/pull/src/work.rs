//! What runs on the file system while it is recorded, and what of it was promised.
//!
//! Each step tells what it is about to do and what the system has answered. These marks stand in
//! the recording between the requests, so that for every cut it is known what had been
//! acknowledged.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use reactor::{Random, Reactor, derive_seed};
use serde::{Deserialize, Serialize};

use crate::content::{BLOCK_BYTES, BlockName, SECRET, block};
use crate::database::{Database, Journal};
use crate::generated::{self, Scenario};

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Many files are copied and closed, and nothing is synced before the end.
    Copy,
    /// Files are written and overwritten with fsync, and removed with fsync of the folder.
    Fsync,
    /// Files are replaced by rename: half with fsync before and after, half without.
    Rename,
    /// A log grows block by block, with fdatasync behind each.
    Append,
    /// Transactions of SQLite as it comes: a journal that is removed, `synchronous=FULL`.
    Database,
    /// The same with `synchronous=EXTRA`.
    DatabaseExtra,
    /// Transactions of SQLite with a write-ahead log.
    DatabaseWal,
    /// Small works of one to three operations, each made durable as POSIX says: all operations
    /// alone, and combinations of them by the seed.
    Generated,
}

impl Work {
    /// Whether it is a database's.
    pub(crate) fn is_database(self) -> bool {
        self.journal().is_some()
    }

    /// How its database commits, if it has one.
    fn journal(self) -> Option<Journal> {
        match self {
            Work::Database => Some(Journal::Removed),
            Work::DatabaseExtra => Some(Journal::RemovedExtra),
            Work::DatabaseWal => Some(Journal::WriteAhead),
            Work::Copy | Work::Fsync | Work::Rename | Work::Append | Work::Generated => None,
        }
    }
}

/// All of them.
pub const WORKS: [(&str, Work); 8] = [
    ("copy", Work::Copy),
    ("fsync", Work::Fsync),
    ("rename", Work::Rename),
    ("append", Work::Append),
    ("database", Work::Database),
    ("database-extra", Work::DatabaseExtra),
    ("database-wal", Work::DatabaseWal),
    ("generated", Work::Generated),
];

/// What the work says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "mark")]
pub enum Mark {
    /// A version of a file is going to be written, in so many blocks; of a log, up to so many.
    Begun {
        /// The file's number.
        file: u32,
        /// The version.
        version: u32,
        /// Its blocks.
        blocks: u32,
    },
    /// It was written and closed, and nothing was synced.
    Closed {
        /// The file's number.
        file: u32,
        /// The version.
        version: u32,
    },
    /// A rename has put it into its place, and nothing was synced.
    Placed {
        /// The file's number.
        file: u32,
        /// The version.
        version: u32,
    },
    /// The system has promised it.
    Synced {
        /// The file's number.
        file: u32,
        /// The version.
        version: u32,
    },
    /// It is going to be removed.
    Removing {
        /// The file's number.
        file: u32,
    },
    /// The system has promised that it is gone.
    Removed {
        /// The file's number.
        file: u32,
    },
    /// The system has promised everything so far.
    AllSynced,
}

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Steps: files of a copy, calls of fsync.
    pub steps: u32,
    /// They are spread over so many milliseconds; 0 is as fast as it goes.
    pub spread_milliseconds: u64,
}

/// Rename targets of each kind.
const TARGETS: u32 = 8;

/// The name of a file.
#[must_use]
pub(crate) fn name(file: u32) -> String {
    format!("f{file:05}")
}

/// Fills the folder with content that is removed again, durably, so that it can be told whether old
/// blocks come to light; then sets up what the work starts from.
///
/// # Errors
/// What the system says.
pub fn prepare(
    work: Work,
    folder: &Path,
    run: u64,
    tell: &mut dyn FnMut(Mark) -> io::Result<()>,
) -> io::Result<()> {
    let secret = folder.join("secret");
    let mut file = File::create(&secret)?;
    // Three quarters of what is free, and the rest for the file system itself.
    let free = rustix::fs::statvfs(folder)?;
    let blocks = free.f_bavail * free.f_frsize / 4 * 3 / BLOCK_BYTES as u64;
    for number in 0..blocks.min(1 << 18) as u32 {
        match file.write_all(&block(run, BlockName { file: SECRET, version: 1, block: number })) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull => break,
            other => other?,
        }
    }
    file.sync_all()?;
    drop(file);
    fs::remove_file(&secret)?;
    if work == Work::Rename {
        for file in 0..2 * TARGETS {
            write_new(folder, &name(file), run, (file, 1, 8), tell)?.sync_all()?;
        }
    }
    sync(folder)?;
    tell(Mark::AllSynced)
}

/// Works in the folder.
///
/// # Errors
/// What the system says.
pub fn work(
    work: Work,
    folder: &Path,
    (run, seed): (u64, u64),
    extent: Extent,
    tell: &mut dyn FnMut(Mark) -> io::Result<()>,
) -> io::Result<()> {
    let mut random = Random::with_seed(derive_seed(seed, "work", 0));
    let reactor = Reactor::wall()?;
    let begun = reactor.now();
    let spread = Duration::from_millis(extent.spread_milliseconds);
    let mut log = match work {
        Work::Append => Some(File::create(folder.join(name(0)))?),
        _ => None,
    };
    let create = |journal| Database::create(journal, &folder.join(name(0)));
    let mut database = work.journal().map(create).transpose()?;
    let mut state = WorkState::default();
    for step in 0..extent.steps {
        let due = begun + spread * step / extent.steps.max(1);
        while reactor.now() < due {
            reactor.wait(Some(due))?;
        }
        match work {
            Work::Copy => copy(folder, run, step, &mut random, &mut state, tell)?,
            Work::Fsync => fsync(folder, run, step, &mut random, &mut state, tell)?,
            Work::Rename => rename(folder, run, step, tell)?,
            Work::Generated => generated(folder, run, (step, extent.steps), tell)?,
            Work::Append => {
                let log = log.as_mut().expect("made above");
                tell(Mark::Begun { file: 0, version: 1, blocks: step + 1 })?;
                log.write_all(&block(run, BlockName { file: 0, version: 1, block: step }))?;
                log.sync_data()?;
                tell(Mark::Synced { file: 0, version: step + 1 })?;
            }
            Work::Database | Work::DatabaseExtra | Work::DatabaseWal => {
                let database = database.as_mut().expect("made above");
                tell(Mark::Begun { file: 0, version: 1, blocks: step + 1 })?;
                database.commit(run, step)?;
                tell(Mark::Synced { file: 0, version: step + 1 })?;
            }
        }
    }
    Ok(())
}

#[derive(Default)]
struct WorkState {
    /// Files that are there, with their version and blocks.
    files: Vec<(u32, u32, u32)>,
}

fn sync(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

fn write_new(
    folder: &Path,
    as_name: &str,
    run: u64,
    (file, version, blocks): (u32, u32, u32),
    tell: &mut dyn FnMut(Mark) -> io::Result<()>,
) -> io::Result<File> {
    tell(Mark::Begun { file, version, blocks })?;
    let mut target = File::create(folder.join(as_name))?;
    for number in 0..blocks {
        target.write_all(&block(run, BlockName { file, version, block: number }))?;
    }
    Ok(target)
}

/// A file of 20 to 180 KB, as in a folder of documents; now and then an earlier one goes.
fn copy(
    folder: &Path,
    run: u64,
    step: u32,
    random: &mut Random,
    state: &mut WorkState,
    tell: &mut dyn FnMut(Mark) -> io::Result<()>,
) -> io::Result<()> {
    let blocks = random.u32(5..45);
    drop(write_new(folder, &name(step), run, (step, 1, blocks), tell)?);
    tell(Mark::Closed { file: step, version: 1 })?;
    state.files.push((step, 1, blocks));
    if step % 8 == 7 {
        let (file, ..) = state.files.swap_remove(random.usize(..state.files.len()));
        tell(Mark::Removing { file })?;
        fs::remove_file(folder.join(name(file)))?;
    }
    Ok(())
}

fn fsync(
    folder: &Path,
    run: u64,
    step: u32,
    random: &mut Random,
    state: &mut WorkState,
    tell: &mut dyn FnMut(Mark) -> io::Result<()>,
) -> io::Result<()> {
    match step % 6 {
        // Some blocks of an old file, in place.
        3 | 4 if !state.files.is_empty() => {
            let at = random.usize(..state.files.len());
            let (file, version, blocks) = &mut state.files[at];
            *version += 1;
            let (file, version, blocks) = (*file, *version, *blocks);
            tell(Mark::Begun { file, version, blocks })?;
            let target = OpenOptions::new().write(true).open(folder.join(name(file)))?;
            for number in 0..blocks {
                let content = block(run, BlockName { file, version, block: number });
                target.write_all_at(&content, u64::from(number) * BLOCK_BYTES as u64)?;
            }
            target.sync_data()?;
            tell(Mark::Synced { file, version })
        }
        5 if state.files.len() > 4 => {
            let (file, ..) = state.files.swap_remove(random.usize(..state.files.len()));
            tell(Mark::Removing { file })?;
            fs::remove_file(folder.join(name(file)))?;
            File::open(folder)?.sync_all()?;
            tell(Mark::Removed { file })
        }
        _ => {
            let blocks = random.u32(1..=16);
            write_new(folder, &name(step), run, (step, 1, blocks), tell)?.sync_all()?;
            // What POSIX asks for to find it by its name.
            File::open(folder)?.sync_all()?;
            state.files.push((step, 1, blocks));
            tell(Mark::Synced { file: step, version: 1 })
        }
    }
}

fn rename(
    folder: &Path,
    run: u64,
    step: u32,
    tell: &mut dyn FnMut(Mark) -> io::Result<()>,
) -> io::Result<()> {
    let file = step % (2 * TARGETS);
    let version = step / (2 * TARGETS) + 2;
    let new = format!("{}.new", name(file));
    let is_synced = file.is_multiple_of(2);
    let target = write_new(folder, &new, run, (file, version, 8), tell)?;
    if is_synced {
        target.sync_all()?;
    }
    drop(target);
    fs::rename(folder.join(new), folder.join(name(file)))?;
    if is_synced {
        File::open(folder)?.sync_all()?;
        return tell(Mark::Synced { file, version });
    }
    tell(Mark::Placed { file, version })
}

/// A small work; before the first of some, what all of these start from.
fn generated(
    folder: &Path,
    run: u64,
    (step, steps): (u32, u32),
    tell: &mut dyn FnMut(Mark) -> io::Result<()>,
) -> io::Result<()> {
    let begun = |scenario: &Scenario, file, version| Mark::Begun {
        file,
        version,
        blocks: scenario.blocks(version),
    };
    if step.is_multiple_of(generated::TOGETHER) {
        let numbers = step..steps.min(step + generated::TOGETHER);
        let scenarios: Vec<_> = numbers.clone().map(|number| Scenario::of(run, number)).collect();
        for (scenario, file) in scenarios.iter().zip(numbers.clone()) {
            tell(begun(scenario, file, generated::BASE))?;
        }
        generated::set_up(&scenarios, folder)?;
        for file in numbers {
            tell(Mark::Synced { file, version: generated::BASE })?;
        }
    }
    let (scenario, file) = (Scenario::of(run, step), step);
    for version in scenario.versions() {
        tell(begun(&scenario, file, version))?;
        if !scenario.carry_out(folder, version)? {
            break;
        }
        tell(match scenario.is_unsynced(version) {
            true => Mark::Placed { file, version },
            false => Mark::Synced { file, version },
        })?;
    }
    Ok(())
}
