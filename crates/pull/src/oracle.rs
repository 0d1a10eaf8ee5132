//! What had been promised at a cut, and what is there of it: only what was acknowledged by whom is
//! held against the file system, and everything else is counted apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use words::{Text, statement};

use crate::catalogue;
use crate::content::{BLOCK_BYTES, BlockContent, Class, SECRET, identify};
use crate::database;
use crate::generated::{Difference, Scenario};
use crate::program::{Promise, Verdict, WrongKey};
use crate::work::{Mark, Work, name};

/// What a file has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// This version or a later one, block by block: fsync had returned (O1, O2, O5, O8).
    Promised {
        /// The version.
        version: u32,
    },
    /// One whole version, this one or a later one: rename between two fsyncs (O3).
    Replaced {
        /// The version.
        version: u32,
    },
    /// One whole version: rename without fsync, which nobody promises (O4).
    Atomic,
    /// So many blocks: a log (O6).
    Log {
        /// The count.
        blocks: u32,
    },
    /// So many transactions, whole and in order: a database (O11).
    Transactions {
        /// The count.
        count: u32,
    },
    /// All that a generated work has made up to this version, but for what its next operation
    /// touches where that has begun (O12).
    Tree {
        /// The version.
        version: u32,
    },
    /// The old or the new file, whole, of a generated work's rename without fsync, which nobody
    /// promises but ext4 (O4).
    Replacing {
        /// The version that puts the new one there.
        version: u32,
    },
    /// It is gone (O7).
    Gone,
    /// It was closed, and nothing was promised (O9).
    Closed,
    /// Whatever it holds, nothing of the past (O10).
    Free,
}

impl Rule {
    /// Whether somebody has acknowledged it.
    fn is_promised(self) -> bool {
        !matches!(self, Self::Atomic | Self::Replacing { .. } | Self::Closed | Self::Free)
    }

    /// What had to be there, in words.
    #[must_use]
    pub fn text(self) -> Text {
        match self {
            Rule::Promised { version } => statement!(catalogue::MUST_BE, version = version),
            Rule::Replaced { version } => statement!(catalogue::MUST_BE_WHOLE, version = version),
            Rule::Atomic => catalogue::MUST_BE_ONE.into(),
            Rule::Log { blocks } => statement!(catalogue::MUST_BE_BLOCKS, count = blocks),
            Rule::Transactions { count } => {
                statement!(catalogue::MUST_BE_TRANSACTIONS, count = count)
            }
            Rule::Tree { version } => statement!(catalogue::MUST_BE_TREE, version = version),
            Rule::Replacing { version } => {
                statement!(catalogue::MUST_BE_EITHER, version = version)
            }
            Rule::Gone => catalogue::MUST_BE_GONE.into(),
            Rule::Closed => catalogue::MUST_BE_CLOSED.into(),
            Rule::Free => catalogue::MUST_BE_FREE.into(),
        }
    }
}

/// A file as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedFile {
    /// Its number.
    pub file: u32,
    /// What holds for it.
    pub rule: Rule,
    /// The blocks of its versions.
    pub blocks: u32,
    /// The last version that was begun.
    pub newest: u32,
    /// When it was acknowledged, or closed, in nanoseconds of the recording.
    pub since_nanoseconds: u64,
}

/// What must hold behind these marks.
#[must_use]
pub fn expected(work: Work, marks: &[(u64, Mark)]) -> Vec<ExpectedFile> {
    let mut files: BTreeMap<u32, ExpectedFile> = BTreeMap::new();
    for &(time, mark) in marks {
        let mut set = |file: u32, rule: Rule| {
            if let Some(known) = files.get_mut(&file) {
                (known.rule, known.since_nanoseconds) = (rule, time);
            }
        };
        match mark {
            Mark::Begun { file, version, blocks } => {
                let new = ExpectedFile {
                    file,
                    rule: Rule::Free,
                    blocks,
                    newest: version,
                    since_nanoseconds: time,
                };
                let known = files.entry(file).or_insert(new);
                (known.newest, known.blocks) = (version, blocks);
            }
            Mark::Closed { file, .. } => set(file, Rule::Closed),
            Mark::Placed { file, version } if work == Work::Generated => {
                set(file, Rule::Replacing { version });
            }
            // It was there before, durably.
            Mark::Placed { file, .. } => set(file, Rule::Atomic),
            Mark::Synced { file, version } => set(
                file,
                match work {
                    Work::Append => Rule::Log { blocks: version },
                    _ if work.is_database() => Rule::Transactions { count: version },
                    Work::Rename => Rule::Replaced { version },
                    Work::Generated => Rule::Tree { version },
                    _ => Rule::Promised { version },
                },
            ),
            Mark::Removing { file } => set(file, Rule::Free),
            Mark::Removed { file } => set(file, Rule::Gone),
            Mark::AllSynced => {
                for known in files.values_mut() {
                    let version = known.newest;
                    known.rule = match (work, known.rule) {
                        (Work::Rename, _) if known.file % 2 == 1 => Rule::Atomic,
                        (Work::Rename, _) => Rule::Replaced { version },
                        (_, Rule::Closed) => Rule::Promised { version },
                        (_, other) => other,
                    };
                    known.since_nanoseconds = time;
                }
            }
        }
    }
    files.into_values().collect()
}

/// A file that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongFile {
    /// Its number.
    pub file: u32,
    /// What it should have been.
    pub rule: Rule,
    /// What was found, the worst of it.
    pub class: Class,
    /// How many bytes of it.
    pub bytes: u64,
    /// Since when it was acknowledged or closed.
    pub since_nanoseconds: u64,
}

/// What was found on the file system after a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Promises that were broken.
    pub broken: Vec<WrongFile>,
    /// What the check of a program of the user's own has found: promises of its that were broken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<WrongKey>,
    /// Files that were closed and never synced, and are not whole.
    pub lost: Vec<WrongFile>,
    /// Renames without fsync that have left neither the old nor the new file.
    pub torn_renames: Vec<WrongFile>,
    /// Files in which something of the past came to light.
    pub exposed: u32,
    /// Blocks torn between what was promised and what was being written, which is permitted.
    pub torn_blocks: u32,
    /// Files looked at.
    pub files: u32,
    /// Those of them of which something was promised.
    #[serde(default)]
    pub promises: u32,
}

impl Findings {
    /// What a check has found of what a program had promised.
    #[must_use]
    pub fn of_check(promised: &[Promise], keys: Vec<WrongKey>) -> Findings {
        let lines: BTreeSet<&str> = promised.iter().map(|promise| &*promise.line).collect();
        let promises = lines.len() as u32;
        Findings { keys, files: promises, promises, ..Findings::default() }
    }

    /// The same where nothing can be read any more.
    #[must_use]
    pub fn of_nothing(promised: &[Promise]) -> Findings {
        let newest: BTreeMap<&str, u64> =
            promised.iter().map(|promise| (&*promise.line, promise.since_nanoseconds)).collect();
        let lost = |(line, since): (&str, u64)| WrongKey {
            key: Some(line.to_owned()),
            verdict: Verdict::Lost,
            since_nanoseconds: Some(since),
        };
        Findings::of_check(promised, newest.into_iter().map(lost).collect())
    }

    /// How many promises are broken.
    #[must_use]
    pub fn broken_count(&self) -> u64 {
        (self.broken.len() + self.keys.len()) as u64
    }

    /// When the oldest of them was made, in nanoseconds of the recording.
    #[must_use]
    pub fn oldest_broken(&self) -> Option<u64> {
        let files = self.broken.iter().map(|wrong| wrong.since_nanoseconds);
        files.chain(self.keys.iter().filter_map(|wrong| wrong.since_nanoseconds)).min()
    }
}

/// Reads everything and compares.
#[must_use]
pub fn judge(folder: &Path, run: u64, expected: &[ExpectedFile]) -> Findings {
    let mut findings = Findings { files: expected.len() as u32, ..Findings::default() };
    for file in expected {
        let look = look(folder, run, file);
        findings.promises += u32::from(file.rule.is_promised());
        findings.torn_blocks += look.torn_blocks;
        findings.exposed += u32::from(look.is_exposed);
        let Some(class) = look.class else { continue };
        let wrong = WrongFile {
            file: file.file,
            rule: file.rule,
            class,
            bytes: look.wrong_bytes,
            since_nanoseconds: file.since_nanoseconds,
        };
        match file.rule {
            Rule::Free => (),
            Rule::Closed => findings.lost.push(wrong),
            Rule::Atomic | Rule::Replacing { .. } => findings.torn_renames.push(wrong),
            _ => findings.broken.push(wrong),
        }
    }
    findings
}

/// What a state comes to of which nothing can be read any more: all that was promised is broken,
/// and all that was closed is lost.
#[must_use]
pub fn nothing_left(expected: &[ExpectedFile]) -> Findings {
    let mut findings = Findings { files: expected.len() as u32, ..Findings::default() };
    for file in expected {
        let wrong = WrongFile {
            file: file.file,
            rule: file.rule,
            class: Class::Unreadable,
            bytes: u64::from(file.blocks) * BLOCK_BYTES as u64,
            since_nanoseconds: file.since_nanoseconds,
        };
        match file.rule {
            Rule::Free | Rule::Atomic | Rule::Replacing { .. } => (),
            Rule::Closed => findings.lost.push(wrong),
            _ => findings.broken.push(wrong),
        }
    }
    findings.promises = findings.broken.len() as u32;
    findings
}

#[derive(Default)]
struct Look {
    class: Option<Class>,
    wrong_bytes: u64,
    torn_blocks: u32,
    is_exposed: bool,
}

impl Look {
    fn wrong(&mut self, class: Class, bytes: u64) {
        self.class = self.class.max(Some(class));
        self.wrong_bytes += bytes;
    }

    /// A database of which so many transactions were acknowledged.
    fn transactions(&mut self, path: &Path, run: u64, count: u32) {
        let (class, found) = database::look(path, run, count);
        if let Some(class) = class {
            // A block for each that is missing stands for what it held.
            self.wrong(class, u64::from(count - found.min(count)) * BLOCK_BYTES as u64);
        }
    }

    /// What a file holds, of `whole` bytes, if it is there and is to be.
    fn file(&mut self, folder: &Path, expected: &ExpectedFile, whole: u64) -> Option<Vec<u8>> {
        match read(folder, expected.file) {
            Ok(_) if expected.rule == Rule::Gone => self.wrong(Class::Present, 0),
            Ok(bytes) => return Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !matches!(expected.rule, Rule::Gone | Rule::Free) {
                    self.wrong(Class::Missing, whole);
                }
            }
            Err(_) => self.wrong(Class::Unreadable, whole),
        }
        None
    }
}

fn read(folder: &Path, file: u32) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(folder.join(name(file)))?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn look(folder: &Path, run: u64, expected: &ExpectedFile) -> Look {
    let mut look = Look::default();
    if let Rule::Transactions { count } = expected.rule {
        look.transactions(&folder.join(name(expected.file)), run, count);
        return look;
    }
    let scenario = || Scenario::of(run, expected.file);
    let difference = match expected.rule {
        Rule::Tree { version } => Some(scenario().look(folder, version, expected.newest)),
        Rule::Replacing { version } => Some(scenario().look_replaced(folder, version)),
        _ => None,
    };
    if let Some(Difference { class, bytes, is_exposed }) = difference {
        return Look { class, wrong_bytes: bytes, is_exposed, ..look };
    }
    let whole = u64::from(expected.blocks) * BLOCK_BYTES as u64;
    let Some(bytes) = look.file(folder, expected, whole) else { return look };
    let found: Vec<BlockContent> = (0..)
        .zip(bytes.chunks(BLOCK_BYTES))
        .map(|(place, bytes)| identify(run, expected.file, place, bytes))
        .collect();
    let is_secret =
        |found: &BlockContent| matches!(found, BlockContent::Whole(name) if name.file == SECRET);
    look.is_exposed = found.iter().any(is_secret);
    let (least, needed) = match expected.rule {
        Rule::Promised { version } | Rule::Replaced { version } => (version, expected.blocks),
        Rule::Log { blocks } => (1, blocks),
        Rule::Atomic | Rule::Closed => (1, expected.blocks),
        Rule::Transactions { .. }
        | Rule::Tree { .. }
        | Rule::Replacing { .. }
        | Rule::Gone
        | Rule::Free => return look,
    };
    if (found.len() as u32) < needed {
        look.wrong(Class::Short, u64::from(needed - found.len() as u32) * BLOCK_BYTES as u64);
    }
    let may_be_torn =
        matches!(expected.rule, Rule::Promised { version } if expected.newest > version);
    let mut versions = Vec::new();
    for (place, found) in (0..needed).zip(&found) {
        let class = match found {
            BlockContent::Whole(name) if name.file == SECRET => Class::Stale,
            BlockContent::Whole(name) if (name.file, name.block) != (expected.file, place) => {
                Class::Foreign
            }
            BlockContent::Whole(name) if name.version < least => Class::Old,
            BlockContent::Whole(name) => {
                versions.push(name.version);
                continue;
            }
            BlockContent::Torn if may_be_torn => {
                look.torn_blocks += 1;
                continue;
            }
            BlockContent::Torn => Class::Torn,
            BlockContent::Zero => Class::Zero,
            BlockContent::Garbage => Class::Garbage,
        };
        look.wrong(class, BLOCK_BYTES as u64);
    }
    versions.sort_unstable();
    versions.dedup();
    if matches!(expected.rule, Rule::Replaced { .. } | Rule::Atomic) && versions.len() > 1 {
        look.wrong(Class::Torn, whole);
    }
    look
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::content::{BlockName, block};

    fn blocks(file: u32, version: u32, count: u32) -> Vec<u8> {
        (0..count).flat_map(|number| block(1, BlockName { file, version, block: number })).collect()
    }

    fn found(work: Work, marks: &[Mark], content: Option<&[u8]>) -> Findings {
        let folder = tempfile::tempdir().unwrap();
        if let Some(content) = content {
            fs::write(folder.path().join(name(1)), content).unwrap();
        }
        let marks: Vec<(u64, Mark)> = (0..).zip(marks.iter().copied()).collect();
        judge(folder.path(), 1, &expected(work, &marks))
    }

    const BEGUN: Mark = Mark::Begun { file: 1, version: 1, blocks: 3 };
    const AGAIN: Mark = Mark::Begun { file: 1, version: 2, blocks: 3 };
    const SYNCED: Mark = Mark::Synced { file: 1, version: 1 };

    #[test]
    fn what_was_promised_has_to_be_there() {
        let class = |marks: &[Mark], content: Option<&[u8]>| {
            found(Work::Fsync, marks, content).broken.first().map(|wrong| wrong.class)
        };
        let (one, two) = (blocks(1, 1, 3), blocks(1, 2, 3));
        assert_eq!(class(&[BEGUN], None), None, "nothing was promised");
        assert_eq!(class(&[BEGUN, SYNCED], Some(&one)), None);
        assert_eq!(class(&[BEGUN, SYNCED], None), Some(Class::Missing));
        assert_eq!(class(&[BEGUN, SYNCED], Some(&one[..8192])), Some(Class::Short));
        assert_eq!(class(&[BEGUN, SYNCED, AGAIN], Some(&two)), None, "it came in time");
        let later = Mark::Synced { file: 1, version: 2 };
        assert_eq!(class(&[BEGUN, SYNCED, AGAIN, later], Some(&one)), Some(Class::Old));
        let mut torn = one.clone();
        torn[..512].copy_from_slice(&two[..512]);
        let being_written = found(Work::Fsync, &[BEGUN, SYNCED, AGAIN], Some(&torn));
        assert_eq!((being_written.broken.len(), being_written.torn_blocks), (0, 1));
        assert_eq!(class(&[BEGUN, SYNCED, AGAIN, later], Some(&torn)), Some(Class::Torn));
        let mut zeroes = one.clone();
        zeroes[4096..8192].fill(0);
        assert_eq!(class(&[BEGUN, SYNCED], Some(&zeroes)), Some(Class::Zero));
        assert_eq!(class(&[BEGUN, SYNCED], Some(&blocks(2, 1, 3))), Some(Class::Foreign));
        let gone = [BEGUN, SYNCED, Mark::Removing { file: 1 }, Mark::Removed { file: 1 }];
        assert_eq!(class(&gone, None), None);
        assert_eq!(class(&gone, Some(&one)), Some(Class::Present));
        assert_eq!(class(&gone[..3], Some(&one)), None);
        assert_eq!(class(&gone[..3], None), None);
    }

    #[test]
    fn of_what_cannot_be_read_every_promise_is_broken() {
        let closed = Mark::Closed { file: 2, version: 1 };
        let other = Mark::Begun { file: 2, version: 1, blocks: 5 };
        let marks: Vec<(u64, Mark)> = (0..).zip([BEGUN, SYNCED, other, closed]).collect();
        let found = nothing_left(&expected(Work::Fsync, &marks));
        assert_eq!((found.promises, found.broken.len(), found.lost.len()), (1, 1, 1));
        assert_eq!((found.broken[0].bytes, found.broken[0].since_nanoseconds), (3 * 4096, 1));
        assert_eq!(nothing_left(&expected(Work::Fsync, &marks[..1])).promises, 0);
    }

    #[test]
    fn what_was_not_promised_is_counted_apart() {
        let closed = [BEGUN, Mark::Closed { file: 1, version: 1 }];
        let lost = found(Work::Copy, &closed, None);
        assert_eq!((lost.broken.len(), lost.lost.len(), lost.lost[0].bytes), (0, 1, 3 * 4096));
        let promised = [closed[0], closed[1], Mark::AllSynced];
        assert_eq!(found(Work::Copy, &promised, None).broken.len(), 1, "syncfs promises it");
        let placed = [BEGUN, Mark::AllSynced, AGAIN, Mark::Placed { file: 1, version: 2 }];
        assert_eq!(
            found(Work::Rename, &placed, Some(&blocks(1, 1, 3))),
            Findings { files: 1, ..Findings::default() }
        );
        let empty = found(Work::Rename, &placed, Some(&[]));
        assert_eq!((empty.broken.len(), empty.torn_renames.len()), (0, 1));
        let secret = found(Work::Copy, &[BEGUN], Some(&blocks(SECRET, 1, 3)));
        assert_eq!((secret.broken.len(), secret.exposed), (0, 1));
    }

    #[test]
    fn a_log_is_whole_up_to_where_it_was_promised() {
        let marks = [
            Mark::Begun { file: 1, version: 1, blocks: 1 },
            Mark::Synced { file: 1, version: 1 },
            Mark::Begun { file: 1, version: 1, blocks: 2 },
            Mark::Synced { file: 1, version: 2 },
            Mark::Begun { file: 1, version: 1, blocks: 3 },
        ];
        let class = |content: &[u8]| {
            found(Work::Append, &marks, Some(content)).broken.first().map(|wrong| wrong.class)
        };
        assert_eq!(class(&blocks(1, 1, 3)), None);
        assert_eq!(class(&blocks(1, 1, 2)), None);
        assert_eq!(class(&blocks(1, 1, 1)), Some(Class::Short));
        let mut tail = blocks(1, 1, 3);
        tail[8192..].fill(0);
        assert_eq!(class(&tail), None, "the third block was not promised");
    }
}
