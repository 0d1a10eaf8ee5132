//! The large file: by characters, by blocks, read and rewritten.
//!
//! Every byte that is read is compared, inside the time, as the data are made inside the time: a
//! chunk's data follow from its place and from how often its last byte was counted up, which
//! [`Changes`] keeps.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use block::{BufMut, Error, ErrorKind};
use rustix::fs::OFlags;
use words::{Text, statement};

use super::changes::Changes;
use super::options::Style;
use super::work::{Tally, Worker};
use crate::catalogue::WRONG_DATA;
use crate::pattern::{self, SECTOR_BYTES};
use crate::suite::catalogue;

const NAME: &str = "bonnie";
/// bonnie++ 1.03 divides its data into files of this size.
const PIECE_BYTES: u64 = 1 << 30;
/// The buffer of putc() and getc(), and the smallest that direct I/O takes everywhere.
const CHARACTER_BUFFER: usize = 4096;

/// The large file of a copy, in one piece or several.
pub(super) struct LargeFile {
    pieces: Vec<(File, PathBuf)>,
    piece_bytes: u64,
}

fn pieces(worker: &Worker<'_>) -> (u64, u64) {
    let piece = if worker.options.style == Style::Old { PIECE_BYTES } else { u64::MAX };
    (worker.options.size_bytes.div_ceil(piece), piece)
}

fn piece_path(folder: &Path, index: u64) -> PathBuf {
    folder.join(format!("{NAME}.{index:03}"))
}

impl LargeFile {
    fn with(worker: &Worker<'_>, how: &OpenOptions) -> Result<LargeFile, Error> {
        let (count, piece_bytes) = pieces(worker);
        let mut how = how.clone();
        if worker.options.direct {
            how.custom_flags(OFlags::DIRECT.bits().cast_signed());
        }
        let open = |index| {
            let path = piece_path(&worker.folder, index);
            how.open(&path)
                .map(|file| (file, path.clone()))
                .map_err(|error| Error::from_io(path.display().to_string(), error))
        };
        Ok(LargeFile { pieces: (0..count).map(open).collect::<Result<_, _>>()?, piece_bytes })
    }

    /// Made anew, in the place of what was there.
    fn create(worker: &Worker<'_>) -> Result<LargeFile, Error> {
        remove(&worker.folder)?;
        worker.changes.clear();
        LargeFile::with(
            worker,
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600),
        )
    }

    pub(super) fn open(worker: &Worker<'_>) -> Result<LargeFile, Error> {
        LargeFile::with(worker, OpenOptions::new().read(true).write(true))
    }

    fn at(&mut self, offset: u64) -> &mut (File, PathBuf) {
        let index = usize::try_from(offset / self.piece_bytes).expect("a piece has a small number");
        &mut self.pieces[index]
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Error> {
        let (file, path) = self.at(offset);
        file.write_all(data).map_err(|error| {
            Error::from_io(statement!(catalogue::SUITE_WRITES, path = path.display()), error)
        })
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let (file, path) = self.at(offset);
        file.read_exact(buffer).map_err(|error| {
            Error::from_io(statement!(catalogue::SUITE_READS, path = path.display()), error)
        })
    }

    pub(super) fn seek(&mut self, offset: u64) -> Result<(), Error> {
        let within = offset % self.piece_bytes;
        let (file, path) = self.at(offset);
        file.seek(SeekFrom::Start(within))
            .map(drop)
            .map_err(|error| Error::from_io(path.display().to_string(), error))
    }

    fn back(&mut self, offset: u64, length: usize) -> Result<(), Error> {
        let (file, path) = self.at(offset);
        let by = SeekFrom::Current(-i64::try_from(length).expect("a chunk is short"));
        file.seek(by).map(drop).map_err(|error| Error::from_io(path.display().to_string(), error))
    }

    pub(super) fn sync(&self) -> Result<(), Error> {
        let sync = |(file, path): &(File, PathBuf)| {
            file.sync_all().map_err(|error| Error::from_io(path.display().to_string(), error))
        };
        self.pieces.iter().try_for_each(sync)
    }

    /// Reads and checks the chunk at a place, and changes and rewrites it when `update`.
    pub(super) fn visit(
        &mut self,
        offset: u64,
        chunk: &mut Chunk,
        changes: &Changes,
        update: bool,
    ) -> Result<(), Error> {
        let _alone = changes.visit(offset);
        self.seek(offset)?;
        self.read(offset, chunk.bytes())?;
        chunk.check(offset, changes)?;
        if update {
            chunk.change(offset, changes);
            self.seek(offset)?;
            self.write(offset, chunk.bytes())?;
        }
        Ok(())
    }
}

/// Removes the large file of a copy, if there is one.
pub(super) fn remove(folder: &Path) -> Result<(), Error> {
    for index in 0.. {
        let path = piece_path(folder, index);
        match fs::remove_file(&path) {
            Ok(()) => (),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
            Err(error) => return Err(Error::from_io(path.display().to_string(), error)),
        }
    }
    Ok(())
}

/// The buffer of one call, and what its data should be.
pub(super) struct Chunk {
    /// At least a sector of the pattern, also when the chunk is shorter.
    buffer: BufMut,
    length: usize,
    zeros: bool,
    seed: u64,
}

impl Chunk {
    pub(super) fn new(reactor: &block::Reactor, length: usize, zeros: bool, seed: u64) -> Chunk {
        Chunk { buffer: reactor.allocate(length.max(SECTOR_BYTES)), length, zeros, seed }
    }

    fn of(worker: &Worker<'_>, length: usize) -> Chunk {
        Chunk::new(worker.reactor, length, worker.options.zeros, worker.data_seed)
    }

    fn whole(&mut self) -> &mut [u8] {
        self.buffer.as_mut_slice().expect("a fresh buffer is in one piece")
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        let length = self.length;
        &mut self.whole()[..length]
    }

    /// The data that belong at `offset`.
    fn fill(&mut self, offset: u64) {
        if self.zeros {
            // As the original: a buffer of zeros in which one more byte is counted up for each
            // chunk.
            let index = usize::try_from(offset / self.length as u64).unwrap_or(0) % self.length;
            let byte = &mut self.bytes()[index];
            *byte = byte.wrapping_add(1);
        } else {
            let seed = self.seed;
            pattern::fill(self.whole(), offset, seed, 1);
        }
    }

    /// Counts up the last byte of a chunk, which is none of those that name the place.
    fn change(&mut self, offset: u64, changes: &Changes) {
        let last = self.bytes().last_mut().expect("a chunk is not empty");
        *last = last.wrapping_add(1);
        changes.of(offset).fetch_add(1, Ordering::Relaxed);
    }

    /// Whether every byte of what was read belongs at `offset`. It may be several chunks of the
    /// file.
    pub(super) fn check(&mut self, offset: u64, changes: &Changes) -> Result<(), Error> {
        let (zeros, seed, chunk_bytes) = (self.zeros, self.seed, changes.chunk_bytes);
        let step = usize::try_from(chunk_bytes).expect("at most 1 MiB");
        for (bytes, offset) in self.bytes().chunks_mut(step).zip((offset..).step_by(step)) {
            let count = changes.of(offset).load(Ordering::Relaxed);
            let counted_up = |bytes: &mut [u8], by: u8| {
                let last = bytes.last_mut().expect("a chunk is not empty");
                *last = last.wrapping_add(by);
            };
            // As it was first written.
            counted_up(bytes, count.wrapping_neg());
            let result = if zeros {
                check_zeros(bytes, offset / chunk_bytes)
                    .map_err(|at| corrupt(statement!(WRONG_DATA, offset = offset + at as u64)))
            } else {
                pattern::check_file(bytes, offset, seed, 1)
                    .map_err(|mismatch| corrupt(mismatch.text()))
            };
            counted_up(bytes, count);
            result?;
        }
        Ok(())
    }
}

/// Holds a chunk against the original's data: in chunk after chunk one more byte was counted up.
/// The error is where it is wrong.
fn check_zeros(bytes: &[u8], chunk: u64) -> Result<(), usize> {
    let length = bytes.len() as u64;
    // As often as the whole buffer was gone through, and once more up to the chunk's own byte. The
    // buffer counts modulo 256.
    let (rounds, own) = ((chunk / length) as u8, (chunk % length) as usize);
    let wrong = |(index, byte): (usize, &u8)| {
        (*byte != rounds.wrapping_add(u8::from(index <= own))).then_some(index)
    };
    bytes.iter().enumerate().find_map(wrong).map_or(Ok(()), Err)
}

fn corrupt(found: Text) -> Error {
    Error::new(ErrorKind::Corrupt, found.at(catalogue::THE_LARGE_FILE))
}

/// One way over the file.
struct Pass {
    /// Bytes from the beginning of the file.
    length: u64,
    /// Bytes in a step, each of which is timed.
    step: usize,
    /// Whether the data of a step are made before it.
    fills: bool,
    writes: bool,
}

/// Goes over the file in steps, timing each, and syncs at the end when the style does or something
/// was written.
fn go_over(
    worker: &Worker<'_>,
    mut large: LargeFile,
    pass: &Pass,
    mut each: impl FnMut(&mut LargeFile, &mut Chunk, u64) -> Result<(), Error>,
) -> Result<Option<Tally>, Error> {
    let step = pass.step as u64;
    let mut chunk = Chunk::of(worker, pass.step);
    let mut tally = Tally::new();
    worker.plan_bytes(pass.length);
    let start = worker.now();
    for offset in (0..pass.length).step_by(pass.step) {
        if worker.stopped() {
            return Ok(None);
        }
        if pass.fills {
            chunk.fill(offset);
        }
        let begun = worker.now();
        each(&mut large, &mut chunk, offset)?;
        tally.latency.record_duration(worker.now().since(begun));
        tally.operations += 1;
        worker.tick(step);
    }
    let over = worker.now();
    tally.elapsed = over.since(start);
    if pass.writes || worker.options.style == Style::New {
        large.sync()?;
    }
    let synced = worker.now().since(over);
    if pass.writes {
        tally.flush = Some(synced);
        tally.written_bytes = pass.length;
    } else {
        // Version 2.00 syncs what it has only read, too, inside the time.
        tally.elapsed += synced;
        tally.read_bytes = pass.length;
    }
    Ok(Some(tally))
}

fn blocks(worker: &Worker<'_>, fills: bool, writes: bool) -> Pass {
    Pass { length: worker.options.size_bytes, step: worker.options.chunk_bytes, fills, writes }
}

/// The phase "block write".
pub(super) fn block_write(worker: &Worker<'_>) -> Result<Option<Tally>, Error> {
    let large = LargeFile::create(worker)?;
    go_over(worker, large, &blocks(worker, true, true), |large, chunk, offset| {
        large.write(offset, chunk.bytes())
    })
}

/// The phase "block read".
pub(super) fn block_read(worker: &Worker<'_>) -> Result<Option<Tally>, Error> {
    let large = LargeFile::open(worker)?;
    go_over(worker, large, &blocks(worker, false, false), |large, chunk, offset| {
        large.read(offset, chunk.bytes())?;
        chunk.check(offset, worker.changes)
    })
}

/// The phase "rewrite". Its rate counts the file once, though each byte is read and written.
pub(super) fn rewrite(worker: &Worker<'_>) -> Result<Option<Tally>, Error> {
    let large = LargeFile::open(worker)?;
    let length = worker.options.size_bytes;
    let tally = go_over(worker, large, &blocks(worker, false, true), |large, chunk, offset| {
        large.read(offset, chunk.bytes())?;
        chunk.check(offset, worker.changes)?;
        chunk.change(offset, worker.changes);
        large.back(offset, chunk.bytes().len())?;
        large.write(offset, chunk.bytes())
    })?;
    Ok(tally.map(|tally| Tally { read_bytes: length, rated_bytes: Some(length), ..tally }))
}

/// How characters go: one by one into the kernel, or through a buffer in this process.
fn characters(worker: &Worker<'_>, writes: bool) -> (Pass, bool) {
    let buffered = worker.options.style == Style::Old || worker.options.direct;
    let step = if buffered {
        worker.options.chunk_bytes.max(CHARACTER_BUFFER)
    } else {
        worker.options.chunk_bytes
    };
    let length = (worker.options.character_bytes / step as u64).max(1) * step as u64;
    (Pass { length: length.min(worker.options.size_bytes), step, fills: writes, writes }, buffered)
}

fn noted(worker: &Worker<'_>, tally: Tally) -> Tally {
    let impossible = worker.options.direct && worker.options.style == Style::New;
    Tally { note: impossible.then_some(catalogue::NO_SINGLE_BYTES), ..tally }
}

/// The phase "character write".
pub(super) fn character_write(worker: &Worker<'_>) -> Result<Option<Tally>, Error> {
    let large = LargeFile::create(worker)?;
    let (pass, buffered) = characters(worker, true);
    let mut staging = Chunk::of(worker, CHARACTER_BUFFER);
    let tally = go_over(worker, large, &pass, |large, chunk, offset| {
        if buffered {
            for (part, at) in
                chunk.bytes().chunks(CHARACTER_BUFFER).zip((offset..).step_by(CHARACTER_BUFFER))
            {
                put_characters(part, staging.bytes());
                large.write(at, &staging.bytes()[..part.len()])?;
            }
            return Ok(());
        }
        chunk
            .bytes()
            .iter()
            .zip(offset..)
            .try_for_each(|(byte, at)| large.write(at, std::slice::from_ref(byte)))
    })?;
    Ok(tally.map(|tally| noted(worker, tally)))
}

/// The phase "character read".
pub(super) fn character_read(worker: &Worker<'_>) -> Result<Option<Tally>, Error> {
    let large = LargeFile::open(worker)?;
    let (pass, buffered) = characters(worker, false);
    let mut staging = Chunk::of(worker, CHARACTER_BUFFER);
    let tally = go_over(worker, large, &pass, |large, chunk, offset| {
        if buffered {
            for (part, at) in
                chunk.bytes().chunks_mut(CHARACTER_BUFFER).zip((offset..).step_by(CHARACTER_BUFFER))
            {
                let length = part.len();
                large.read(at, &mut staging.bytes()[..length])?;
                put_characters(&staging.bytes()[..length], part);
            }
        } else {
            chunk
                .bytes()
                .iter_mut()
                .zip(offset..)
                .try_for_each(|(byte, at)| large.read(at, std::slice::from_mut(byte)))?;
        }
        chunk.check(offset, worker.changes)
    })?;
    Ok(tally.map(|tally| noted(worker, tally)))
}

/// Moves characters one by one: the phase is about what that costs, so it must not become one copy.
fn put_characters(from: &[u8], to: &mut [u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = std::hint::black_box(*from);
    }
}
