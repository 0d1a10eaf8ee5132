//! Many files: written, read back and compared, deleted.
//!
//! ```text
//!   00000/ 0000000 0000001 … 0000999        so many files in a folder at most
//!   00001/ 0001000 …                        with a depth of 3: 00001/1/2/0001000
//! ```
//!
//! A file's latency is from opening it to closing it, made durable on the way when `fsync` says so.
//! The rate is that of these times alone: making data and comparing them costs processor time, and
//! none of the rate.

mod sizes;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use block::{BufMut, Error, ErrorKind, Reactor, Traffic};
use results::{BetterDirection, Group};
use rustix::fs::{Advice, OFlags};
use words::{Message, statement};

use super::definition::{Kind, Rows, Setting, Settings, Suite, Target, TargetKind, Value};
use super::folder::{Needs, WorkFolder};
use super::phase::Phase;
use super::row::WorkDone;
use super::session::{AfterPhase, Session};
use crate::latency::Latency;
use crate::pattern::{self, SECTOR_BYTES};
use crate::suite::catalogue;

/// Name of the suite.
pub const NAME: &str = "copy";
/// Longest call.
const CALL_BYTES: usize = 1 << 20;
/// What direct I/O is aligned to everywhere.
const DIRECT_BYTES: usize = 4096;

/// `copy`.
pub static SUITE: Suite = Suite {
    name: NAME,
    summary: "Many files of mixed sizes, as when a tree is copied: written, read back and \
        compared, deleted.",
    about: "Sizes are drawn log-uniformly from 1 KiB to 283 KiB, the same for everybody: \
        314,572,800 bytes are 6,138 files and \
            3,879,731,200 bytes are 75,977. Every byte names the file and the place it belongs to, \
            and is compared when it is read. The \
            rate counts the time from opening each file to closing it; making and comparing data \
            is left out of it.",
    targets: &[TargetKind::Folder],
    settings: &[
        Setting::new("bytes", Kind::Bytes, Value::Bytes(300 << 20), "Bytes in all files together."),
        Setting::new(
            "files",
            Kind::Count(0, 1 << 32),
            Value::Count(0),
            "How many files share the bytes; 0 is what the sizes come to.",
        ),
        Setting::new(
            "max_folder_files",
            Kind::Count(1, 1 << 32),
            Value::Count(1000),
            "Files in one folder at most.",
        )
        .alias("max_dir_files"),
        Setting::new(
            "depth",
            Kind::Count(1, 32),
            Value::Count(1),
            "How many folders deep the files lie.",
        ),
        Setting::new(
            "fsync",
            Kind::Word(&["never", "file", "folder"]),
            Value::word("never"),
            "What is made durable at once: nothing, each file, each file and its folder.",
        ),
        Setting::new(
            "drop_caches",
            Kind::Switch,
            Value::Switch(false),
            "Empty the page cache between the phases: all of it where that is permitted, \
                else that of the files.",
        ),
        Setting::new(
            "access_times",
            Kind::Switch,
            Value::Switch(true),
            "Let reading update the files' access times, as the file system is mounted.",
        ),
        Setting::new("direct", Kind::Switch, Value::Switch(false), "Past the page cache."),
    ],
    rows: Rows::InOrder,
    phases: |_| CopyPhase::ALL.iter().map(|step| step.phase()).collect(),
    prepared_bytes: |_, _| 0,
    run,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CopyPhase {
    Write,
    Read,
    Delete,
}

impl CopyPhase {
    const ALL: [CopyPhase; 3] = [CopyPhase::Write, CopyPhase::Read, CopyPhase::Delete];

    fn phase(self) -> Phase {
        let (name, what, metric) = match self {
            CopyPhase::Write => ("write", catalogue::FILES_ARE_MADE, "throughput_bytes_per_second"),
            CopyPhase::Read => ("read", catalogue::FILES_ARE_READ, "throughput_bytes_per_second"),
            CopyPhase::Delete => ("delete", catalogue::FILES_ARE_DELETED, "io_per_second"),
        };
        Phase {
            name: name.into(),
            what: what.into(),
            group: Group::Files,
            metric: metric.into(),
            better: BetterDirection::Higher,
            writes: self != CopyPhase::Read,
            is_deep: false,
            buffered_of: None,
        }
    }
}

/// What is made durable at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fsync {
    Never,
    File,
    Folder,
}

/// One file.
struct CopiedFile {
    path: PathBuf,
    bytes: u64,
    /// Where its data lie in the stream that all files are cut from, in whole sectors.
    offset: u64,
}

struct Copying<'a> {
    reactor: &'a Reactor,
    top: &'a Path,
    files: Vec<CopiedFile>,
    /// Every folder, the deepest of each chain first.
    folders: Vec<PathBuf>,
    buffer: BufMut,
    expected: BufMut,
    fsync: Fsync,
    direct: bool,
    access_times: bool,
    data_seed: u64,
}

fn run(target: Target<'_>, settings: &Settings, session: &mut Session<'_>) -> Result<(), Error> {
    let Target::Folder(parent) = target else {
        let text = statement!(catalogue::WORKS_ON_FILES, suite = NAME);
        return Err(Error::new(ErrorKind::Invalid, text));
    };
    // Sizes are drawn for every file, which takes memory: not for more than there is room for.
    WorkFolder::check(
        parent,
        &Needs {
            bytes: settings.bytes("bytes"),
            files: settings.count("files"),
            ..Needs::default()
        },
    )?;
    let sizes = sizes::sizes(settings.bytes("bytes"), settings.count("files"));
    if sizes.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, catalogue::NOTHING_TO_COPY));
    }
    let count = sizes.len() as u64;
    let folders = count.div_ceil(settings.count("max_folder_files")) * settings.count("depth");
    let needs = Needs {
        // The end of each file takes up a whole block.
        bytes: settings.bytes("bytes") + (count + folders) * DIRECT_BYTES as u64,
        longest_file_bytes: sizes.iter().copied().max().unwrap_or(0),
        files: count + folders,
        direct: settings.switch("direct"),
    };
    let folder = WorkFolder::new(parent, NAME, &needs)?;
    let mut copying = Copying::new(session, folder.path(), &sizes, settings);
    copying.make_folders()?;
    for step in CopyPhase::ALL {
        let next = session.measure(&step.phase(), 1, |session| copying.step(step, session))?;
        if next == AfterPhase::Stop {
            break;
        }
        if settings.switch("drop_caches") && step != CopyPhase::Delete {
            copying.drop_caches()?;
        }
    }
    Ok(())
}

/// What the system says when `what` is done to a file.
fn failed(what: Message, path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::from_io(statement!(what, path = path.display()), error)
}

impl<'a> Copying<'a> {
    fn new<'s: 'a>(
        session: &Session<'s>,
        top: &'a Path,
        sizes: &[u64],
        settings: &Settings,
    ) -> Copying<'a> {
        let (in_folder, depth) = (settings.count("max_folder_files"), settings.count("depth"));
        let chain = |number: u64| {
            let first = top.join(format!("{number:05}"));
            (1..depth)
                .scan(first.clone(), |path, level| {
                    path.push(level.to_string());
                    Some(path.clone())
                })
                .fold(vec![first], |mut chain, path| {
                    chain.insert(0, path);
                    chain
                })
        };
        let mut folders = Vec::new();
        let mut files = Vec::with_capacity(sizes.len());
        let mut offset = 0;
        for (index, bytes) in (0_u64..).zip(sizes) {
            if index.is_multiple_of(in_folder) {
                folders.push(chain(index / in_folder));
            }
            let deepest = &folders[folders.len() - 1][0];
            files.push(CopiedFile {
                path: deepest.join(format!("{index:07}")),
                bytes: *bytes,
                offset,
            });
            offset += bytes.next_multiple_of(DIRECT_BYTES as u64);
        }
        Copying {
            reactor: session.reactor,
            top,
            files,
            folders: folders.into_iter().flatten().collect(),
            buffer: session.reactor.allocate(CALL_BYTES),
            expected: session.reactor.allocate(CALL_BYTES),
            fsync: match settings.text("fsync") {
                "file" => Fsync::File,
                "folder" => Fsync::Folder,
                _ => Fsync::Never,
            },
            direct: settings.switch("direct"),
            access_times: settings.switch("access_times"),
            data_seed: session.data_seed,
        }
    }

    fn make_folders(&self) -> Result<(), Error> {
        self.folders.iter().rev().try_for_each(|path| {
            fs::create_dir_all(path).map_err(failed(catalogue::SUITE_MAKES, path))
        })
    }

    fn step(&mut self, step: CopyPhase, session: &Session<'_>) -> Result<Option<WorkDone>, Error> {
        let total: u64 = self.files.iter().map(|file| file.bytes).sum();
        if step == CopyPhase::Delete {
            session.ticker.plan_operations(self.files.len() as u64);
        } else {
            session.ticker.plan_bytes(total);
        }
        let mut latency = Latency::new();
        let mut elapsed = Duration::ZERO;
        for index in 0..self.files.len() {
            if session.stopped() {
                return Ok(None);
            }
            let time = match step {
                CopyPhase::Write => self.write(index)?,
                CopyPhase::Read => self.read(index)?,
                CopyPhase::Delete => self.delete(index)?,
            };
            latency.record_duration(time);
            elapsed += time;
            session.ticker.add(if step == CopyPhase::Delete { 1 } else { self.files[index].bytes });
        }
        if step == CopyPhase::Delete {
            elapsed += self.remove_folders()?;
        }
        let bytes = |of: CopyPhase| if step == of { total } else { 0 };
        Ok(Some(WorkDone {
            operations: self.files.len() as u64,
            read_bytes: bytes(CopyPhase::Read),
            written_bytes: bytes(CopyPhase::Write),
            rated_bytes: None,
            elapsed,
            flush: if step == CopyPhase::Read { None } else { Some(self.sync_all()?) },
            beside: Traffic::default(),
            latency,
            ramp: crate::load::Ramp::default(),
            sides: None,
            service: None,
            told: None,
            notes: Vec::new(),
        }))
    }

    fn sync_all(&self) -> Result<Duration, Error> {
        let start = self.reactor.now();
        let top = File::open(self.top).map_err(failed(catalogue::SUITE_OPENS, self.top))?;
        rustix::fs::syncfs(&top)
            .map_err(|error| failed(catalogue::SYNCING, self.top)(error.into()))?;
        Ok(self.reactor.now().since(start))
    }

    fn open(&self, path: &Path, writes: bool) -> Result<File, Error> {
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, self.direct);
        flags.set(OFlags::NOATIME, !writes && !self.access_times);
        let mut how = OpenOptions::new();
        how.read(!writes)
            .write(writes)
            .create_new(writes)
            .mode(0o600)
            .custom_flags(flags.bits().cast_signed());
        how.open(path).map_err(failed(catalogue::SUITE_OPENS, path))
    }

    /// What a call moves: direct I/O moves whole blocks.
    fn moved(&self, length: usize) -> usize {
        if self.direct { length.next_multiple_of(DIRECT_BYTES) } else { length }
    }

    fn write(&mut self, index: usize) -> Result<Duration, Error> {
        let CopiedFile { path, bytes, offset } = &self.files[index];
        let (path, bytes, offset) = (path.clone(), *bytes, *offset);
        let now = || self.reactor.now();
        let begun = now();
        let mut file = self.open(&path, true)?;
        let mut time = self.reactor.now().since(begun);
        let mut done = 0;
        while done < bytes {
            let length =
                usize::try_from((bytes - done).min(CALL_BYTES as u64)).expect("a call is short");
            let moved = self.moved(length);
            let seed = self.data_seed;
            let data = self.buffer.as_mut_slice().expect("a fresh buffer is in one piece");
            pattern::fill(
                &mut data[..length.next_multiple_of(SECTOR_BYTES).max(moved)],
                offset + done,
                seed,
                1,
            );
            let begun = self.reactor.now();
            file.write_all(&data[..moved]).map_err(failed(catalogue::SUITE_WRITES, &path))?;
            time += self.reactor.now().since(begun);
            done += length as u64;
        }
        let begun = self.reactor.now();
        if self.direct && !bytes.is_multiple_of(DIRECT_BYTES as u64) {
            file.set_len(bytes).map_err(failed(catalogue::SUITE_CUTS, &path))?;
        }
        if self.fsync != Fsync::Never {
            file.sync_all().map_err(failed(catalogue::SYNCING, &path))?;
        }
        drop(file);
        if self.fsync == Fsync::Folder {
            sync_folder(&path)?;
        }
        Ok(time + self.reactor.now().since(begun))
    }

    fn read(&mut self, index: usize) -> Result<Duration, Error> {
        let CopiedFile { path, bytes, offset } = &self.files[index];
        let (path, bytes, offset) = (path.clone(), *bytes, *offset);
        let begun = self.reactor.now();
        let mut file = self.open(&path, false)?;
        let mut time = self.reactor.now().since(begun);
        let mut done = 0;
        while done < bytes {
            let length =
                usize::try_from((bytes - done).min(CALL_BYTES as u64)).expect("a call is short");
            let moved = self.moved(length);
            let buffer = self.buffer.as_mut_slice().expect("a fresh buffer is in one piece");
            let begun = self.reactor.now();
            read_full(&mut file, &mut buffer[..moved], length)
                .map_err(failed(catalogue::SUITE_READS, &path))?;
            time += self.reactor.now().since(begun);
            let expected = self.expected.as_mut_slice().expect("a fresh buffer is in one piece");
            pattern::fill(
                &mut expected[..length.next_multiple_of(SECTOR_BYTES)],
                offset + done,
                self.data_seed,
                1,
            );
            if let Some(at) = buffer[..length]
                .iter()
                .zip(&expected[..length])
                .position(|(found, expected)| found != expected)
            {
                let place = statement!(
                    catalogue::BYTE_OF_FILE,
                    path = path.display(),
                    byte = done + at as u64
                );
                return Err(
                    Error::new(ErrorKind::Corrupt, catalogue::NOT_WHAT_WAS_WRITTEN).at(place)
                );
            }
            done += length as u64;
        }
        let begun = self.reactor.now();
        drop(file);
        Ok(time + self.reactor.now().since(begun))
    }

    fn delete(&self, index: usize) -> Result<Duration, Error> {
        let path = &self.files[index].path;
        let begun = self.reactor.now();
        fs::remove_file(path).map_err(failed(catalogue::SUITE_DELETES, path))?;
        if self.fsync == Fsync::Folder {
            sync_folder(path)?;
        }
        Ok(self.reactor.now().since(begun))
    }

    fn remove_folders(&self) -> Result<Duration, Error> {
        let begun = self.reactor.now();
        self.folders.iter().try_for_each(|path| {
            fs::remove_dir(path).map_err(failed(catalogue::SUITE_DELETES, path))
        })?;
        Ok(self.reactor.now().since(begun))
    }

    /// Empties the caches: all of the machine's where that is permitted, the pages of the files
    /// elsewhere.
    fn drop_caches(&self) -> Result<(), Error> {
        self.sync_all()?;
        if fs::write("/proc/sys/vm/drop_caches", "3").is_ok() {
            return Ok(());
        }
        self.files.iter().try_for_each(|file| {
            let opened =
                File::open(&file.path).map_err(failed(catalogue::SUITE_OPENS, &file.path))?;
            rustix::fs::fadvise(opened.as_fd(), 0, None, Advice::DontNeed)
                .map_err(|error| failed(catalogue::SUITE_UNCACHES, &file.path)(error.into()))
        })
    }
}

/// Fills the buffer up to `length`; the file may end within the block behind it.
fn read_full(file: &mut File, buffer: &mut [u8], length: usize) -> std::io::Result<()> {
    let mut found = 0;
    while found < length {
        match file.read(&mut buffer[found..])? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            more => found += more,
        }
    }
    Ok(())
}

fn sync_folder(path: &Path) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(path);
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(failed(catalogue::SYNCING, folder))
}

#[cfg(test)]
mod tests;
