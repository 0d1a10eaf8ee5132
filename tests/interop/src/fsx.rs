//! A file-system exerciser: random operations on one file, each held against a copy of the file in
//! memory.
//!
//! ```text
//!   seed ──> operation ──┬──> file: write, truncate, mmap, punch, sync, reopen …
//!                        └──> copy in memory ──> what the next read of the file has to find
//! ```
//!
//! The idea is that of `fsx`, which Apple published: whatever a file system or the device below
//! loses, mixes up or leaves behind shows up as a byte that differs from the copy. A seed and a
//! number of operations replay a run.

use std::collections::VecDeque;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use rustix::fs::{Advice, FallocateFlags};
use rustix::io::Errno;
use vmap::{Map, MapMut};

/// Operations that a failure tells of.
const REMEMBERED: usize = 12;

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What all is drawn from.
    pub seed: u64,
    /// How many operations.
    pub operations: u64,
    /// How long the file becomes at most, in bytes.
    pub size_bytes: u64,
    /// How much one operation covers at most, in bytes.
    pub longest_bytes: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { seed: 0, operations: 1000, size_bytes: 256 << 10, longest_bytes: 64 << 10 }
    }
}

/// One operation. Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read and compare.
    Read(u64, u64),
    /// The same through a mapping.
    MappedRead(u64, u64),
    /// Write, also behind the end.
    Write(u64, u64),
    /// Write through a mapping; the file is made long enough first.
    MappedWrite(u64, u64),
    /// Make the file this long.
    Truncate(u64),
    /// Make the range a hole.
    Punch(u64, u64),
    /// Make all durable.
    Sync,
    /// Make all durable, have the kernel forget it, and open the file anew.
    Reopen,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Read(offset, length) => write!(f, "read {length} at {offset}"),
            Operation::MappedRead(offset, length) => write!(f, "mapped read {length} at {offset}"),
            Operation::Write(offset, length) => write!(f, "write {length} at {offset}"),
            Operation::MappedWrite(offset, length) => {
                write!(f, "mapped write {length} at {offset}")
            }
            Operation::Truncate(size) => write!(f, "truncate to {size}"),
            Operation::Punch(offset, length) => write!(f, "punch {length} at {offset}"),
            Operation::Sync => f.write_str("sync"),
            Operation::Reopen => f.write_str("reopen"),
        }
    }
}

/// The file that is exercised. Ranges that are read lie within it.
pub trait Subject {
    /// Its length in bytes.
    ///
    /// # Errors
    /// What the system says, here and below.
    fn size_bytes(&mut self) -> io::Result<u64>;
    /// Fills `into` from `offset`.
    ///
    /// # Errors
    /// Also when the file ends before.
    fn read(&mut self, offset: u64, into: &mut [u8], mapped: bool) -> io::Result<()>;
    /// Writes at `offset`; mapped writes lie within the file.
    ///
    /// # Errors
    /// What the system says.
    fn write(&mut self, offset: u64, from: &[u8], mapped: bool) -> io::Result<()>;
    /// Makes it `size` bytes long.
    ///
    /// # Errors
    /// What the system says.
    fn truncate(&mut self, size: u64) -> io::Result<()>;
    /// Makes a range a hole.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where there are no holes.
    fn punch(&mut self, offset: u64, length: u64) -> io::Result<()>;
    /// Makes it durable.
    ///
    /// # Errors
    /// What the system says.
    fn sync(&mut self) -> io::Result<()>;
    /// Makes it durable and begins again from what the device has.
    ///
    /// # Errors
    /// What the system says.
    fn reopen(&mut self) -> io::Result<()>;
}

/// A file of the system.
#[derive(Debug)]
pub struct PlainFile {
    path: PathBuf,
    file: File,
}

impl PlainFile {
    /// Makes the file; one that is there becomes empty.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(path: &Path) -> io::Result<PlainFile> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(PlainFile { path: path.to_owned(), file })
    }
}

fn mapping_failed(error: &vmap::Error) -> io::Error {
    io::Error::other(format!("mmap: {error}"))
}

impl Subject for PlainFile {
    fn size_bytes(&mut self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&mut self, offset: u64, into: &mut [u8], mapped: bool) -> io::Result<()> {
        if !mapped {
            return self.file.read_exact_at(into, offset);
        }
        let map = Map::with_options()
            .offset(offset as usize)
            .len(into.len())
            .map(&self.file)
            .map_err(|error| mapping_failed(&error))?;
        into.copy_from_slice(&map);
        Ok(())
    }

    fn write(&mut self, offset: u64, from: &[u8], mapped: bool) -> io::Result<()> {
        if !mapped {
            return self.file.write_all_at(from, offset);
        }
        let mut map = MapMut::with_options()
            .offset(offset as usize)
            .len(from.len())
            .map(&self.file)
            .map_err(|error| mapping_failed(&error))?;
        map.copy_from_slice(from);
        Ok(())
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.file.set_len(size)
    }

    fn punch(&mut self, offset: u64, length: u64) -> io::Result<()> {
        match rustix::fs::fallocate(
            &self.file,
            FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            offset,
            length,
        ) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Err(io::ErrorKind::Unsupported.into()),
            other => Ok(other?),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed)?;
        self.file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        Ok(())
    }
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Bytes that were read and compared.
    pub compared_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Whether the file can have holes; where it cannot, zeroes were written instead.
    pub has_holes: bool,
}

/// Draws an operation for a file that is `size` bytes long now.
#[must_use]
pub fn draw(random: &mut Rng, size: u64, settings: &Settings) -> Operation {
    // One in four begins at a page or ends there: what is partly within a page is where mistakes
    // live.
    let place = |random: &mut Rng, limit: u64| {
        let offset = random.u64(..limit);
        if random.u8(..) < 64 { offset / 4096 * 4096 } else { offset }
    };
    let within = |random: &mut Rng, limit: u64| {
        let offset = place(random, limit);
        (offset, random.u64(1..=settings.longest_bytes.min(limit - offset)))
    };
    let range = |kind: fn(u64, u64) -> Operation, (offset, length)| kind(offset, length);
    let kind = random.u8(..100);
    if size == 0 && matches!(kind, 0..40 | 82..90) {
        let (offset, length) = within(random, settings.size_bytes);
        return Operation::Write(offset, length);
    }
    match kind {
        0..24 => range(Operation::Read, within(random, size)),
        24..40 => range(Operation::MappedRead, within(random, size)),
        40..62 => range(Operation::Write, within(random, settings.size_bytes)),
        62..76 => range(Operation::MappedWrite, within(random, settings.size_bytes)),
        76..82 => Operation::Truncate(place(random, settings.size_bytes + 1)),
        82..90 => range(Operation::Punch, within(random, size)),
        90..95 => Operation::Sync,
        _ => Operation::Reopen,
    }
}

struct Run<'a> {
    subject: &'a mut dyn Subject,
    random: Rng,
    copy: Vec<u8>,
    summary: Summary,
}

impl Run<'_> {
    fn carry_out(&mut self, operation: Operation) -> Result<(), String> {
        match operation {
            Operation::Read(offset, length) => self.compare(offset, length, false)?,
            Operation::MappedRead(offset, length) => self.compare(offset, length, true)?,
            Operation::Write(offset, length) => self.write(offset, length, false)?,
            Operation::MappedWrite(offset, length) => {
                if offset + length > self.copy.len() as u64 {
                    self.truncate(offset + length)?;
                }
                self.write(offset, length, true)?;
            }
            Operation::Truncate(size) => self.truncate(size)?,
            Operation::Punch(offset, length) => self.punch(offset, length)?,
            Operation::Sync => self.subject.sync().map_err(|error| error.to_string())?,
            Operation::Reopen => self.subject.reopen().map_err(|error| error.to_string())?,
        }
        let size = self.subject.size_bytes().map_err(|error| error.to_string())?;
        if size == self.copy.len() as u64 {
            Ok(())
        } else {
            Err(format!("the file has {size} bytes instead of {}", self.copy.len()))
        }
    }

    fn compare(&mut self, offset: u64, length: u64, mapped: bool) -> Result<(), String> {
        // Not zeroes: a read that fills nothing is to be noticed.
        let mut found = vec![0xa5; length as usize];
        self.subject.read(offset, &mut found, mapped).map_err(|error| error.to_string())?;
        self.summary.compared_bytes += length;
        let expected = &self.copy[offset as usize..][..length as usize];
        let Some(first) =
            found.iter().zip(expected).position(|(found, expected)| found != expected)
        else {
            return Ok(());
        };
        let count =
            found.iter().zip(expected).filter(|(found, expected)| found != expected).count();
        Err(format!(
            "{count} bytes differ, the first at {}: {:#04x} instead of {:#04x}",
            offset + first as u64,
            found[first],
            expected[first]
        ))
    }

    fn write(&mut self, offset: u64, length: u64, mapped: bool) -> Result<(), String> {
        let mut data = vec![0; length as usize];
        self.random.fill(&mut data);
        self.subject.write(offset, &data, mapped).map_err(|error| error.to_string())?;
        self.put(offset, &data);
        Ok(())
    }

    fn put(&mut self, offset: u64, data: &[u8]) {
        let end = offset as usize + data.len();
        if self.copy.len() < end {
            self.copy.resize(end, 0);
        }
        self.copy[offset as usize..end].copy_from_slice(data);
        self.summary.written_bytes += data.len() as u64;
    }

    fn truncate(&mut self, size: u64) -> Result<(), String> {
        self.subject.truncate(size).map_err(|error| error.to_string())?;
        self.copy.resize(size as usize, 0);
        Ok(())
    }

    fn punch(&mut self, offset: u64, length: u64) -> Result<(), String> {
        let zeroes = vec![0; length as usize];
        if self.summary.has_holes {
            match self.subject.punch(offset, length) {
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    self.summary.has_holes = false;
                }
                other => {
                    other.map_err(|error| error.to_string())?;
                    self.copy[offset as usize..][..zeroes.len()].fill(0);
                    return Ok(());
                }
            }
        }
        self.subject.write(offset, &zeroes, false).map_err(|error| error.to_string())?;
        self.put(offset, &zeroes);
        Ok(())
    }
}

/// Carries out as many operations as the settings say, and compares the whole file at the end.
///
/// # Errors
/// What went wrong in which operation, the last operations before it, and the seed.
pub fn exercise(subject: &mut dyn Subject, settings: &Settings) -> Result<Summary, String> {
    let summary = Summary { has_holes: true, ..Summary::default() };
    let mut run = Run { subject, random: Rng::with_seed(settings.seed), copy: Vec::new(), summary };
    let mut last: VecDeque<String> = VecDeque::new();
    let failed = |number: u64, last: &VecDeque<String>, what: &str| {
        let before: String = last.iter().map(|line| format!("\n  {line}")).collect();
        format!(
            "operation {number} of seed {}: {what}; the last operations were{before}",
            settings.seed
        )
    };
    for number in 0..settings.operations {
        let operation = draw(&mut run.random, run.copy.len() as u64, settings);
        if last.len() == REMEMBERED {
            last.pop_front();
        }
        last.push_back(format!("{number}: {operation}"));
        run.carry_out(operation).map_err(|what| failed(number, &last, &what))?;
    }
    let whole = run.copy.len() as u64;
    run.carry_out(Operation::Reopen)
        .and_then(|()| run.carry_out(Operation::Read(0, whole)))
        .map_err(|what| {
            failed(settings.operations, &last, &format!("reading it all at the end: {what}"))
        })?;
    Ok(run.summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file in memory does wrong.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum PlantedMistake {
        Nothing,
        /// The write of this number is told to have been done, and is not.
        LosesWrite(u32),
        /// What was behind the end before comes back when the file grows again.
        KeepsBehindTheEnd,
        /// A hole begins at the next page.
        PunchesTooLittle,
        /// What a mapping wrote is gone when the file is opened anew.
        LosesMappedWrites,
        /// The last byte of a write that is no whole page is another one's.
        TearsTheLastByte,
    }

    struct InMemory {
        planted: PlantedMistake,
        bytes: Vec<u8>,
        behind: Vec<u8>,
        writes: u32,
        mapped: Vec<(u64, Vec<u8>)>,
    }

    impl InMemory {
        fn new(planted: PlantedMistake) -> InMemory {
            InMemory {
                planted,
                bytes: Vec::new(),
                behind: Vec::new(),
                writes: 0,
                mapped: Vec::new(),
            }
        }
    }

    impl Subject for InMemory {
        fn size_bytes(&mut self) -> io::Result<u64> {
            Ok(self.bytes.len() as u64)
        }

        fn read(&mut self, offset: u64, into: &mut [u8], _: bool) -> io::Result<()> {
            into.copy_from_slice(&self.bytes[offset as usize..][..into.len()]);
            Ok(())
        }

        fn write(&mut self, offset: u64, from: &[u8], mapped: bool) -> io::Result<()> {
            self.writes += 1;
            let (start, end) = (offset as usize, offset as usize + from.len());
            if self.bytes.len() < end {
                self.bytes.resize(end, 0);
            }
            if mapped && self.planted == PlantedMistake::LosesMappedWrites {
                self.mapped.push((offset, self.bytes[start..end].to_vec()));
            }
            if self.planted != PlantedMistake::LosesWrite(self.writes) {
                self.bytes[start..end].copy_from_slice(from);
            }
            if self.planted == PlantedMistake::TearsTheLastByte && !from.len().is_multiple_of(4096)
            {
                self.bytes[end - 1] ^= 1;
            }
            Ok(())
        }

        fn truncate(&mut self, size: u64) -> io::Result<()> {
            let size = size as usize;
            if size < self.bytes.len() {
                self.behind = self.bytes.clone();
            }
            let before = self.bytes.len();
            self.bytes.resize(size, 0);
            if self.planted == PlantedMistake::KeepsBehindTheEnd
                && size > before
                && self.behind.len() > before
            {
                let end = size.min(self.behind.len());
                self.bytes[before..end].copy_from_slice(&self.behind[before..end]);
            }
            Ok(())
        }

        fn punch(&mut self, offset: u64, length: u64) -> io::Result<()> {
            let end = (offset + length) as usize;
            let start = if self.planted == PlantedMistake::PunchesTooLittle {
                offset.next_multiple_of(4096) as usize
            } else {
                offset as usize
            };
            if start < end {
                self.bytes[start..end].fill(0);
            }
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn reopen(&mut self) -> io::Result<()> {
            for (offset, before) in self.mapped.drain(..) {
                let end = (offset as usize + before.len()).min(self.bytes.len());
                if offset as usize <= end {
                    let length = end - offset as usize;
                    self.bytes[offset as usize..end].copy_from_slice(&before[..length]);
                }
            }
            Ok(())
        }
    }

    fn settings(seed: u64) -> Settings {
        Settings { seed, operations: 400, size_bytes: 64 << 10, longest_bytes: 16 << 10 }
    }

    #[test]
    fn a_file_that_keeps_what_it_is_told_passes() {
        for seed in 0..20 {
            let summary = exercise(&mut InMemory::new(PlantedMistake::Nothing), &settings(seed))
                .unwrap_or_else(|error| panic!("{error}"));
            assert!(
                summary.compared_bytes > 100_000 && summary.written_bytes > 100_000,
                "{summary:?}"
            );
        }
    }

    #[test]
    fn every_planted_mistake_is_caught() {
        use PlantedMistake::{
            KeepsBehindTheEnd, LosesMappedWrites, LosesWrite, PunchesTooLittle, TearsTheLastByte,
        };
        for planted in [
            LosesWrite(1),
            LosesWrite(20),
            KeepsBehindTheEnd,
            PunchesTooLittle,
            LosesMappedWrites,
            TearsTheLastByte,
        ] {
            let caught = (0..10)
                .filter(|seed| exercise(&mut InMemory::new(planted), &settings(*seed)).is_err())
                .count();
            // A lost write may be overwritten before it is read; the others happen again and
            // again.
            let least = if matches!(planted, LosesWrite(_)) { 5 } else { 10 };
            assert!(caught >= least, "{planted:?} was caught by {caught} of 10 seeds");
        }
    }

    #[test]
    fn a_failure_names_operation_place_and_seed_and_happens_again() {
        let fail = || {
            exercise(&mut InMemory::new(PlantedMistake::TearsTheLastByte), &settings(7))
                .expect_err("a planted mistake")
        };
        let error = fail();
        assert!(
            error.contains("of seed 7: ")
                && error.contains("differ, the first at ")
                && error.contains("\n  "),
            "{error}"
        );
        assert_eq!(error, fail());
    }

    #[test]
    fn operations_stay_within_their_limits() {
        let limits = settings(3);
        let mut random = Rng::with_seed(3);
        let mut seen = [false; 8];
        for size in (0..=limits.size_bytes).step_by(13) {
            let operation = draw(&mut random, size, &limits);
            let (kind, range, limit) = match operation {
                Operation::Read(offset, length) => (0, Some((offset, length)), size),
                Operation::MappedRead(offset, length) => (1, Some((offset, length)), size),
                Operation::Write(offset, length) => (2, Some((offset, length)), limits.size_bytes),
                Operation::MappedWrite(offset, length) => {
                    (3, Some((offset, length)), limits.size_bytes)
                }
                Operation::Truncate(size) => (4, Some((size, 0)), limits.size_bytes),
                Operation::Punch(offset, length) => (5, Some((offset, length)), size),
                Operation::Sync => (6, None, 0),
                Operation::Reopen => (7, None, 0),
            };
            seen[kind] = true;
            if let Some((offset, length)) = range {
                assert!(
                    offset + length <= limit && length <= limits.longest_bytes,
                    "{operation} at size {size}"
                );
                assert!(length > 0 || matches!(operation, Operation::Truncate(_)), "{operation}");
            }
        }
        assert_eq!(seen, [true; 8]);
    }

    #[test]
    fn a_file_of_this_system_passes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let seed = fastrand::u64(..);
        let mut file = PlainFile::create(&path).expect("a file");
        let summary =
            exercise(&mut file, &settings(seed)).unwrap_or_else(|error| panic!("{error}"));
        assert!(summary.compared_bytes > 0);
        assert!(std::fs::metadata(&path).expect("a file").len() <= settings(seed).size_bytes);
    }
}
