//! The small files: made, looked at and deleted, in order and at random.
//!
//! Those with content are read when they are looked at, and every byte is compared: where a file's
//! data begin in the stream of all data follows from the sizes of those that were made before it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use block::{BufMut, Error, ErrorKind};
use reactor::{Random, derive_seed};
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use words::{Message, Text, statement};

use super::options::{Links, Style};
use super::work::{Tally, Worker};
use crate::catalogue::WRONG_DATA;
use crate::pattern::{self, SECTOR_BYTES};
use crate::suite::catalogue;

/// Letters of the random part of a name, at most.
const LETTERS_MAX: u64 = 12;
const ALPHABET: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Content is written and read in calls of at most this size.
const CALL_BYTES: usize = 64 << 10;

/// In which order files are named and visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As their numbers are, and as the folder lists them.
    Sequential,
    /// Anyhow.
    Random,
}

impl Order {
    pub(super) fn name(self) -> &'static str {
        match self {
            Order::Sequential => "sequential",
            Order::Random => "random",
        }
    }
}

/// One set of small files.
struct Set<'a> {
    worker: &'a Worker<'a>,
    order: Order,
    seed: u64,
    path: PathBuf,
}

/// One file of a set.
struct SmallFile {
    folder: usize,
    name: String,
    bytes: u64,
}

impl<'a> Set<'a> {
    fn new(worker: &'a Worker<'a>, order: Order, number: u64) -> Set<'a> {
        let seed = derive_seed(worker.seed, order.name(), number);
        Set { worker, order, seed, path: worker.folder.join(format!("set{number}")) }
    }

    fn small(&self, index: u64) -> SmallFile {
        let options = self.worker.options;
        let mut random = Random::with_seed(derive_seed(self.seed, "file", index));
        let letters: String = (0..random.u64(0..=LETTERS_MAX))
            .map(|_| char::from(ALPHABET[random.usize(..ALPHABET.len())]))
            .collect();
        let number = match options.style {
            Style::Old => format!("{index:07}"),
            Style::New => format!("{index:010x}"),
        };
        let name = match self.order {
            Order::Sequential => format!("{number}{letters}"),
            Order::Random => format!("{letters}{number}"),
        };
        let bytes = random.u64(options.file_bytes.0..=options.file_bytes.1);
        let folder = index / options.files.div_ceil(options.folders);
        SmallFile {
            folder: usize::try_from(folder).expect("a folder has a small number"),
            name,
            bytes,
        }
    }

    /// The number in a file's name.
    fn index_of(&self, name: &str) -> Option<u64> {
        let (radix, least) = match self.worker.options.style {
            Style::Old => (10, 7),
            Style::New => (16, 10),
        };
        let number = |width: usize| {
            let digits = match self.order {
                Order::Sequential => name.get(..width)?,
                Order::Random => name.get(name.len().checked_sub(width)?..)?,
            };
            u64::from_str_radix(digits, radix)
                .ok()
                .filter(|index| *index < self.worker.options.files)
        };
        // Numbers of more digits than the format has can only be told from the letters beside them
        // by the whole name.
        let most = if radix == 10 {
            self.worker.options.files.to_string().len().max(least)
        } else {
            least
        };
        if most == least {
            number(least)
        } else {
            (least..=most).filter_map(number).find(|index| self.small(*index).name == name)
        }
    }

    /// Where the data of each file begin, and how long they are; nothing when no file has any.
    fn contents(&self) -> Vec<(u64, u64)> {
        let options = self.worker.options;
        if options.file_bytes.1 == 0 {
            return Vec::new();
        }
        let mut next = 0;
        let place = |index| {
            let bytes = self.small(index).bytes;
            let start = next;
            next += bytes.next_multiple_of(SECTOR_BYTES as u64);
            (start, bytes)
        };
        let made = if options.links == Links::No { options.files } else { 1 };
        (0..made).map(place).collect()
    }

    fn all(&self) -> Vec<SmallFile> {
        (0..self.worker.options.files).map(|index| self.small(index)).collect()
    }

    /// In an order that has nothing to do with that in which they were made.
    fn shuffled(&self) -> Vec<SmallFile> {
        let mut all = self.all();
        Random::with_seed(derive_seed(self.seed, "order", 0)).shuffle(&mut all);
        all
    }

    fn folder_path(&self, index: usize) -> PathBuf {
        if self.worker.options.folders == 1 {
            self.path.clone()
        } else {
            self.path.join(format!("{index:05}"))
        }
    }

    fn open_folder(&self, index: usize) -> Result<OwnedFd, Error> {
        let path = self.folder_path(index);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(&path, flags, Mode::empty())
            .map_err(|error| Error::from_io(path.display().to_string(), error.into()))
    }

    fn open_folders(&self) -> Result<Vec<OwnedFd>, Error> {
        (0..self.folders()).map(|index| self.open_folder(index)).collect()
    }

    fn folders(&self) -> usize {
        usize::try_from(self.worker.options.folders).expect("folders have small numbers")
    }

    fn path_of(&self, small: &SmallFile) -> PathBuf {
        self.folder_path(small.folder).join(&small.name)
    }

    /// What the system says when `what` is done to a file.
    fn failed(&self, what: Message, small: &SmallFile) -> impl Fn(std::io::Error) -> Error {
        move |error| Error::from_io(statement!(what, path = self.path_of(small).display()), error)
    }

    /// What the style makes durable at the end of a phase that made or deleted files, inside the
    /// time or after it.
    fn sync_all(&self) -> Result<(), Error> {
        let folder = File::open(&self.worker.folder)
            .map_err(|error| Error::from_io(self.worker.folder.display().to_string(), error))?;
        rustix::fs::syncfs(&folder)
            .map_err(|error| Error::from_io(catalogue::SYNCING_FILE_SYSTEM, error.into()))
    }

    fn sync_folder(&self, folder: &OwnedFd) -> Result<(), Error> {
        let place = || statement!(catalogue::SYNCING, path = self.path.display());
        rustix::fs::fsync(folder).map_err(|error| Error::from_io(place(), error.into()))
    }
}

/// Does something to each file in turn and times it; `None` when it was stopped.
fn each<T>(
    worker: &Worker<'_>,
    tally: &mut Tally,
    files: impl Iterator<Item = Result<T, Error>>,
    mut act: impl FnMut(&T, &mut Tally) -> Result<(), Error>,
) -> Result<Option<()>, Error> {
    for small in files {
        if worker.stopped() {
            return Ok(None);
        }
        let small = small?;
        let begun = worker.now();
        act(&small, tally)?;
        tally.latency.record_duration(worker.now().since(begun));
        tally.operations += 1;
        worker.tick(1);
    }
    Ok(Some(()))
}

/// The phases "create".
pub(super) fn create(
    worker: &Worker<'_>,
    order: Order,
    number: u64,
) -> Result<Option<Tally>, Error> {
    let set = Set::new(worker, order, number);
    let make = |path: PathBuf| {
        std::fs::create_dir(&path)
            .map_err(|error| Error::from_io(path.display().to_string(), error))
    };
    make(set.path.clone())?;
    if set.folders() > 1 {
        (0..set.folders()).try_for_each(|index| make(set.folder_path(index)))?;
    }
    let folders = set.open_folders()?;
    let mut content = Content::new(worker);
    let first = set.small(0);
    // Names are made beforehand: the phase is about the file system.
    let all = set.all();
    let mut tally = Tally::new();
    worker.plan_operations(worker.options.files);
    let start = worker.now();
    let done = each(worker, &mut tally, all.into_iter().map(Ok), |small, tally| {
        let folder = &folders[small.folder];
        let failed = set.failed(catalogue::SUITE_MAKES, small);
        let is_link = small.name != first.name || small.folder != first.folder;
        match worker.options.links {
            Links::Hard if is_link => {
                rustix::fs::linkat(
                    &folders[first.folder],
                    &first.name,
                    folder,
                    &small.name,
                    AtFlags::empty(),
                )
                .map_err(|error| failed(error.into()))?;
            }
            Links::Symbolic if is_link => {
                rustix::fs::symlinkat(&first.name, folder, &small.name)
                    .map_err(|error| failed(error.into()))?;
            }
            _ => {
                tally.written_bytes +=
                    make_file(worker, folder, small, &mut content).map_err(&failed)?;
            }
        }
        if worker.options.sync { set.sync_folder(folder) } else { Ok(()) }
    })?;
    if done.is_none() {
        return Ok(None);
    }
    finish(&set, &mut tally, start)?;
    Ok(Some(tally))
}

/// Takes the times at the end of a phase that made or deleted files.
fn finish(set: &Set<'_>, tally: &mut Tally, start: block::Time) -> Result<(), Error> {
    let over = set.worker.now();
    tally.elapsed = over.since(start);
    set.sync_all()?;
    tally.flush = Some(set.worker.now().since(over));
    Ok(())
}

/// What goes into the files.
struct Content {
    buffer: BufMut,
    seed: u64,
    next: u64,
    zeros: bool,
}

impl Content {
    fn new(worker: &Worker<'_>) -> Content {
        let buffer = worker.reactor.allocate(CALL_BYTES);
        Content {
            buffer,
            seed: derive_seed(worker.data_seed, "files", 0),
            next: 0,
            zeros: worker.options.zeros,
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        self.buffer.as_mut_slice().expect("a fresh buffer is in one piece")
    }

    /// So many bytes that were in no file before.
    fn fresh(&mut self, length: usize) -> &[u8] {
        let (seed, offset, zeros) = (self.seed, self.next, self.zeros);
        let whole = length.next_multiple_of(SECTOR_BYTES);
        self.next += whole as u64;
        if !zeros {
            pattern::fill(&mut self.bytes()[..whole], offset, seed, 1);
        }
        &self.bytes()[..length]
    }

    /// What is wrong with the first `length` bytes of the buffer, which were read at `done` of a
    /// file whose data begin at `begin`.
    fn check(&mut self, length: usize, begin: u64, done: u64) -> Option<Text> {
        let (seed, zeros) = (self.seed, self.zeros);
        let bytes = &self.bytes()[..length];
        if zeros {
            let at = bytes.iter().position(|byte| *byte != 0)?;
            let place = statement!(WRONG_DATA, offset = done + at as u64);
            return Some(Text::from(catalogue::SHOULD_BE_ZERO).at(place));
        }
        let mismatch = pattern::check_file(bytes, begin + done, seed, 1).err()?;
        // The pattern counts from the beginning of all files' data.
        Some(statement!(
            catalogue::FROM_BYTE_ON,
            byte = mismatch.offset - begin,
            mismatch = mismatch.text()
        ))
    }
}

fn make_file(
    worker: &Worker<'_>,
    folder: &OwnedFd,
    small: &SmallFile,
    content: &mut Content,
) -> std::io::Result<u64> {
    let exclusive = if worker.options.style == Style::Old { OFlags::TRUNC } else { OFlags::EXCL };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | exclusive;
    let mut file =
        File::from(rustix::fs::openat(folder, &small.name, flags, Mode::RUSR | Mode::WUSR)?);
    let mut left = small.bytes;
    while left > 0 {
        let length = left.min(CALL_BYTES as u64);
        file.write_all(content.fresh(usize::try_from(length).expect("a call is short")))?;
        left -= length;
    }
    if worker.options.sync {
        file.sync_all()?;
    }
    Ok(small.bytes)
}

/// The files of a folder as it lists them.
fn listed(
    set: &Set<'_>,
    index: usize,
) -> Result<impl Iterator<Item = Result<SmallFile, Error>>, Error> {
    let path = set.folder_path(index);
    let failed = move |error: rustix::io::Errno| {
        let place = statement!(catalogue::SUITE_LISTS, path = path.display());
        Error::from_io(place, error.into())
    };
    let dir = Dir::new(set.open_folder(index)?).map_err(&failed)?;
    let own = |name: &[u8]| name != b"." && name != b"..";
    Ok(dir
        .filter(move |entry| entry.as_ref().map_or(true, |entry| own(entry.file_name().to_bytes())))
        .map(move |entry| {
            let entry = entry.map_err(&failed)?;
            Ok(SmallFile {
                folder: index,
                name: entry.file_name().to_string_lossy().into_owned(),
                bytes: 0,
            })
        }))
}

/// The files of a set in the phase's order.
fn visited<'a>(set: &'a Set<'_>) -> Box<dyn Iterator<Item = Result<SmallFile, Error>> + 'a> {
    match set.order {
        Order::Random => Box::new(set.shuffled().into_iter().map(Ok)),
        Order::Sequential => {
            Box::new((0..set.folders()).flat_map(|index| match listed(set, index) {
                Ok(files) => Box::new(files) as Box<dyn Iterator<Item = Result<SmallFile, Error>>>,
                Err(error) => Box::new(std::iter::once(Err(error))),
            }))
        }
    }
}

/// The phases "stat".
pub(super) fn stat(worker: &Worker<'_>, order: Order, number: u64) -> Result<Option<Tally>, Error> {
    let set = Set::new(worker, order, number);
    let folders = set.open_folders()?;
    let mut content = Content::new(worker);
    let contents = set.contents();
    let mut tally = Tally::new();
    worker.plan_operations(worker.options.files);
    let files = visited(&set);
    let start = worker.now();
    let done = each(worker, &mut tally, files, |small, tally| {
        let failed = set.failed(catalogue::SUITE_LOOKS_AT, small);
        let wrong =
            |what: Text| Err(Error::new(ErrorKind::Corrupt, what).at(set.path_of(small).display()));
        let folder = &folders[small.folder];
        let data = rustix::fs::statat(folder, &small.name, AtFlags::empty())
            .map_err(|error| failed(error.into()))?;
        let (begin, bytes) = match (contents.len(), worker.options.links) {
            (0, _) => (0, 0),
            (_, Links::No) => {
                let place = set
                    .index_of(&small.name)
                    .and_then(|index| contents.get(usize::try_from(index).ok()?));
                let Some(place) = place else { return wrong(catalogue::NOBODY_MADE_IT.into()) };
                *place
            }
            _ => contents[0],
        };
        if u64::try_from(data.st_size) != Ok(bytes) {
            let (found, expected) = (data.st_size, bytes);
            return wrong(statement!(
                catalogue::HAS_BYTES_INSTEAD,
                found = found,
                expected = expected
            ));
        }
        if bytes > 0 {
            let found =
                read_file(folder, &small.name, bytes, begin, &mut content).map_err(&failed)?;
            tally.read_bytes += bytes;
            if let Some(at) = found {
                return wrong(at);
            }
        }
        Ok(())
    })?;
    tally.elapsed = worker.now().since(start);
    Ok(done.map(|()| tally))
}

/// Reads a file of so many bytes and holds them against the data that begin at `begin`; what is
/// wrong, if anything is.
fn read_file(
    folder: &OwnedFd,
    name: &str,
    bytes: u64,
    begin: u64,
    content: &mut Content,
) -> std::io::Result<Option<Text>> {
    let mut file = File::from(rustix::fs::openat(
        folder,
        name,
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?);
    let mut done = 0;
    while done < bytes {
        let part = usize::try_from((bytes - done).min(CALL_BYTES as u64)).expect("a call is short");
        file.read_exact(&mut content.bytes()[..part])?;
        if let Some(wrong) = content.check(part, begin, done) {
            return Ok(Some(wrong));
        }
        done += part as u64;
    }
    Ok(None)
}

/// The phases "delete", the folders included.
pub(super) fn delete(
    worker: &Worker<'_>,
    order: Order,
    number: u64,
) -> Result<Option<Tally>, Error> {
    let set = Set::new(worker, order, number);
    let folders = set.open_folders()?;
    let mut tally = Tally::new();
    worker.plan_operations(worker.options.files);
    let files = visited(&set);
    let start = worker.now();
    let done = each(worker, &mut tally, files, |small, _| {
        let folder = &folders[small.folder];
        rustix::fs::unlinkat(folder, &small.name, AtFlags::empty())
            .map_err(|error| set.failed(catalogue::SUITE_DELETES, small)(error.into()))?;
        if worker.options.sync { set.sync_folder(folder) } else { Ok(()) }
    })?;
    if done.is_none() {
        return Ok(None);
    }
    let remove = |path: PathBuf| {
        std::fs::remove_dir(&path)
            .map_err(|error| Error::from_io(path.display().to_string(), error))
    };
    if set.folders() > 1 {
        (0..set.folders()).try_for_each(|index| remove(set.folder_path(index)))?;
    }
    remove(set.path.clone())?;
    finish(&set, &mut tally, start)?;
    Ok(Some(tally))
}
