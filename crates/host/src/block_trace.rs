//! What the kernel tells of the requests of one block device: its tracepoints of the block layer,
//! in an instance of tracefs that is made for it and taken away again.
//!
//! ```text
//!   instances/raidloom-PID   events/block/{block_bio_queue,block_bio_complete,block_rq_complete}
//!                            filter: the device   ──> per_cpu/cpuN/trace_pipe_raw, a page at a time
//!   pages of all processors ──> events in order of time
//! ```
//!
//! blktrace's own way asks for ioctls and for files of debugfs that a kernel in lockdown, as with
//! Secure Boot, does not open. An instance disturbs no other tracing, and one that a killed process
//! left behind is taken away by the next. tracefs is mounted for this process alone where it is not
//! mounted: such a mount has no place and goes with its file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use block::SECTOR_BYTES;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use trace::{Event, EventKind, RecordedOp};

use crate::system::{DeviceNumber, mounts, partitions, whole_disk};
use crate::{Error, catalogue};

const NAMES: [(&str, EventKind); 3] = [
    ("block_bio_queue", EventKind::Queued),
    ("block_bio_complete", EventKind::Completed),
    ("block_rq_complete", EventKind::Completed),
];
/// Buffer of each processor: more than a hundred thousand events.
const BUFFER_KIB: u32 = 8 << 10;
/// The largest page that is read, in bytes.
const PAGE_BYTES: usize = 64 << 10;
/// Pages that are read of one processor before the next has its turn.
const PAGES_MAX: usize = 4096;
/// Events that are held back for their order; when there are more, they go as they are.
const HELD_MAX: usize = 1 << 20;
/// What instances of ours are called, before the number of their process.
const PREFIX: &str = "raidloom-";

/// Tracing of one device.
pub struct BlockTrace {
    /// The root of tracefs.
    root: OwnedFd,
    instance: String,
    processors: Vec<Processor>,
    layouts: Vec<Layout>,
    /// Read, and not given out: another processor may have an earlier one.
    held: Vec<Event>,
    /// The last event of the round before: what is not later can have no earlier one to come.
    settled_nanoseconds: u64,
    last_nanoseconds: u64,
}

struct Processor {
    name: String,
    file: File,
}

/// Where the fields of an event stand.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layout {
    id: u16,
    kind: EventKind,
    pid: usize,
    sector: usize,
    sectors: usize,
    letters: (usize, usize),
}

impl Layout {
    /// Reads a `format` file of tracefs.
    fn parse(text: &str, kind: EventKind) -> Option<Layout> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: "))?.trim().parse().ok()?;
        let field = |name: &str| -> Option<(usize, usize)> {
            let is_it = |line: &&str| {
                let declared =
                    line.trim().strip_prefix("field:").and_then(|rest| rest.split(';').next());
                let word = declared.and_then(|declared| declared.split_whitespace().last());
                word.and_then(|word| word.split('[').next()) == Some(name)
            };
            let line = text.lines().find(is_it)?;
            let number = |what: &str| line.split(what).nth(1)?.split(';').next()?.parse().ok();
            Some((number("offset:")?, number("size:")?))
        };
        Some(Layout {
            id,
            kind,
            pid: field("common_pid")?.0,
            sector: field("sector")?.0,
            sectors: field("nr_sector")?.0,
            letters: field("rwbs")?,
        })
    }

    /// The event in these bytes.
    fn event(&self, bytes: &[u8], time_nanoseconds: u64) -> Option<Event> {
        let word = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        let sector = u64::from_ne_bytes(*bytes.get(self.sector..)?.first_chunk()?);
        let (at, size) = self.letters;
        let letters = bytes.get(at..at + size)?;
        let letters = str::from_utf8(letters.split(|byte| *byte == 0).next()?).ok()?;
        let length = u64::from(word(self.sectors)?) * SECTOR_BYTES;
        let event = Event {
            time_nanoseconds,
            kind: self.kind,
            op: RecordedOp::Read,
            flush_first: false,
            fua: false,
            offset: sector.saturating_mul(SECTOR_BYTES),
            length,
            stream: word(self.pid)?,
            device: 0,
        };
        event.with_letters(letters).flatten()
    }
}

fn only_root() -> Error {
    Error::refused(catalogue::ROOT_RECORDS)
}

/// The root of tracefs, mounted for us alone where it is not mounted.
fn tracefs() -> Result<OwnedFd, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mounted = mounts().into_iter().find(|mount| mount.kind == "tracefs");
    if let Some(root) =
        mounted.and_then(|mount| rustix::fs::open(&mount.point, flags, Mode::empty()).ok())
    {
        return Ok(root);
    }
    let own = || {
        let settings = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(settings.as_fd())?;
        fsmount(settings.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    };
    own().map_err(|errno: Errno| match errno {
        Errno::PERM | Errno::ACCESS => only_root(),
        Errno::NODEV => without_tracing(),
        errno => Error::from_io(catalogue::MOUNTING_TRACEFS, &errno.into()),
    })
}

fn without_tracing() -> Error {
    Error::failed(catalogue::NO_TRACING)
}

fn open_at(root: &OwnedFd, path: &str, flags: OFlags) -> io::Result<File> {
    Ok(openat(root, path, flags | OFlags::CLOEXEC, Mode::empty())?.into())
}

fn read_at(root: &OwnedFd, path: &str) -> io::Result<String> {
    let mut text = String::new();
    open_at(root, path, OFlags::RDONLY)?.read_to_string(&mut text)?;
    Ok(text)
}

fn write_at(root: &OwnedFd, path: &str, text: &str) -> io::Result<()> {
    open_at(root, path, OFlags::WRONLY)?.write_all(text.as_bytes())
}

/// Names in a folder of tracefs.
fn names_at(root: &OwnedFd, path: &str) -> io::Result<Vec<String>> {
    let folder =
        openat(root, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Takes away what killed processes left behind.
fn clean_up(root: &OwnedFd) {
    for name in names_at(root, "instances").unwrap_or_default() {
        let process = name.strip_prefix(PREFIX).and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
            // What others still read goes the next time.
            let _ = unlinkat(root, format!("instances/{name}"), AtFlags::REMOVEDIR);
        }
    }
}

/// The filter of a device's events: some kernels call requests of a partition its own, others its
/// disk's. What lies elsewhere on the disk is told by its place.
fn filter(number: DeviceNumber) -> String {
    let disk = whole_disk(number);
    let mut numbers = vec![disk];
    if number == disk {
        numbers.extend(partitions(disk));
    } else {
        numbers.push(number);
    }
    let one = |number: &DeviceNumber| {
        format!("dev == {}", u64::from(number.major) << 20 | u64::from(number.minor))
    };
    numbers.iter().map(one).collect::<Vec<_>>().join(" || ")
}

impl BlockTrace {
    /// Begins to trace a disk or a partition.
    ///
    /// # Errors
    /// In one line: no root, or a kernel without tracing.
    pub fn start(number: DeviceNumber) -> Result<BlockTrace, Error> {
        let root = tracefs()?;
        clean_up(&root);
        let instance = format!("instances/{PREFIX}{}", std::process::id());
        mkdirat(&root, instance.as_str(), Mode::from_raw_mode(0o700)).map_err(
            |errno| match errno {
                Errno::PERM | Errno::ACCESS => only_root(),
                errno => Error::from_io(catalogue::TRACING_INSTANCE, &errno.into()),
            },
        )?;
        let mut trace = BlockTrace {
            root,
            instance,
            processors: Vec::new(),
            layouts: Vec::new(),
            held: Vec::new(),
            settled_nanoseconds: 0,
            last_nanoseconds: 0,
        };
        // From here on dropping it takes it away.
        trace.set_up(number)?;
        Ok(trace)
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.instance)
    }

    fn set_up(&mut self, number: DeviceNumber) -> Result<(), Error> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => without_tracing(),
            io::ErrorKind::PermissionDenied => Error::refused(catalogue::LOCKED_DOWN),
            _ => Error::from_io(catalogue::SETTING_UP_TRACING, &error),
        };
        let write =
            |name: &str, text: &str| write_at(&self.root, &self.path(name), text).map_err(failed);
        write("trace_clock", "mono")?;
        write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        let mut layouts = Vec::new();
        for (name, kind) in NAMES {
            let format = self.path(&format!("events/block/{name}/format"));
            let text = read_at(&self.root, &format).map_err(failed)?;
            layouts.push(Layout::parse(&text, kind).ok_or_else(without_tracing)?);
            write(&format!("events/block/{name}/filter"), &filter(number))?;
        }
        let mut processors = Vec::new();
        for name in names_at(&self.root, &self.path("per_cpu")).map_err(failed)? {
            if name.starts_with("cpu") {
                let path = self.path(&format!("per_cpu/{name}/trace_pipe_raw"));
                let file = open_at(&self.root, &path, OFlags::RDONLY | OFlags::NONBLOCK);
                processors.push(Processor { name, file: file.map_err(failed)? });
            }
        }
        for (name, _) in NAMES {
            write(&format!("events/block/{name}/enable"), "1")?;
        }
        (self.layouts, self.processors) = (layouts, processors);
        Ok(())
    }

    /// Gives out what has come, in order of time; how many bytes were read for it.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&mut self, take: &mut dyn FnMut(&Event)) -> Result<usize, Error> {
        let mut count = 0;
        let mut page = vec![0; PAGE_BYTES];
        for processor in &mut self.processors {
            for _ in 0..PAGES_MAX {
                let read = match processor.file.read(&mut page) {
                    Ok(0) => break,
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => {
                        return Err(Error::from_io(catalogue::READING_KERNEL_TRACE, &error));
                    }
                };
                count += read;
                take_page(&page[..read], &self.layouts, &mut self.held);
            }
        }
        let settled = if self.held.len() > HELD_MAX { u64::MAX } else { self.settled_nanoseconds };
        self.give(settled, take);
        self.settled_nanoseconds = self.last_nanoseconds;
        Ok(count)
    }

    fn give(&mut self, settled: u64, take: &mut dyn FnMut(&Event)) {
        self.held.sort_by_key(|event| event.time_nanoseconds);
        if let Some(last) = self.held.last() {
            self.last_nanoseconds = self.last_nanoseconds.max(last.time_nanoseconds);
        }
        let count = self.held.partition_point(|event| event.time_nanoseconds <= settled);
        self.held.drain(..count).for_each(|event| take(&event));
    }

    /// Ends it and gives out the rest; how many events the kernel had to drop.
    ///
    /// # Errors
    /// As [`BlockTrace::read`].
    pub fn stop(mut self, take: &mut dyn FnMut(&Event)) -> Result<u64, Error> {
        write_at(&self.root, &self.path("tracing_on"), "0")
            .map_err(|error| Error::from_io(catalogue::ENDING_TRACE, &error))?;
        while self.read(take)? > 0 {}
        self.give(u64::MAX, take);
        Ok(self.processors.iter().map(|processor| self.dropped(processor)).sum())
    }

    fn dropped(&self, processor: &Processor) -> u64 {
        let path = self.path(&format!("per_cpu/{}/stats", processor.name));
        let text = read_at(&self.root, &path).unwrap_or_default();
        let lost = ["overrun: ", "commit overrun: ", "dropped events: "];
        let number = |line: &str| {
            let text = lost.iter().find_map(|name| line.strip_prefix(name))?;
            text.trim().parse::<u64>().ok()
        };
        text.lines().filter_map(number).sum()
    }
}

impl Drop for BlockTrace {
    fn drop(&mut self) {
        self.processors.clear();
        // What cannot be taken away now is by the next recording.
        let _ = unlinkat(&self.root, self.instance.as_str(), AtFlags::REMOVEDIR);
    }
}

// Of a word in front of each entry of a page: five bits of type or length, the rest is time.
const TYPE_BITS: u32 = 5;
const TYPE_MASK: u32 = (1 << TYPE_BITS) - 1;
const TIME_BITS: u32 = 27;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Of a page's length, what is no length: that events before it were lost.
const LENGTH_MASK: u64 = (1 << 30) - 1;
const PAGE_HEADER_BYTES: usize = 16;

/// The events of a page of the ring buffer (`Documentation/trace/ring-buffer-design.rst`): its
/// time, its length, and entries with the time since the one before.
fn take_page(page: &[u8], layouts: &[Layout], events: &mut Vec<Event>) {
    let Some(header) = page.first_chunk::<PAGE_HEADER_BYTES>() else { return };
    let long = |at: usize| {
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7].map(|byte| header[at + byte]);
        u64::from_ne_bytes(bytes)
    };
    let mut time = long(0);
    let length = (long(8) & LENGTH_MASK) as usize;
    let entries = &page[PAGE_HEADER_BYTES..];
    let mut rest = &entries[..length.min(entries.len())];
    let word = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    while let Some(head) = word(rest, 0) {
        let (kind, delta) = (head & TYPE_MASK, u64::from(head >> TYPE_BITS));
        let second = || word(rest, 4).map(u64::from);
        let (begin, length) = match kind {
            PADDING if delta == 0 => return,
            PADDING => {
                let Some(length) = second() else { return };
                time += delta;
                (4, length as usize)
            }
            TIME_EXTEND => {
                let Some(high) = second() else { return };
                time += delta | high << TIME_BITS;
                (8, 0)
            }
            TIME_STAMP => {
                let Some(high) = second() else { return };
                time = delta | high << TIME_BITS;
                (8, 0)
            }
            0 => {
                let Some(length) = second().filter(|length| *length >= 4) else { return };
                time += delta;
                (8, length as usize - 4)
            }
            words => {
                time += delta;
                (4, words as usize * 4)
            }
        };
        let end = begin + length.next_multiple_of(4);
        if let Some(data) = rest.get(begin..begin + length).filter(|data| data.len() >= 2) {
            let id = u16::from_ne_bytes([data[0], data[1]]);
            let is_event = kind != PADDING;
            let layout = layouts.iter().find(|layout| is_event && layout.id == id);
            events.extend(layout.and_then(|layout| layout.event(data, time)));
        }
        rest = rest.get(end..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "\
name: block_bio_queue
ID: 1207
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:char rwbs[10];\toffset:28;\tsize:10;\tsigned:0;
\tfield:char comm[16];\toffset:38;\tsize:16;\tsigned:0;
";

    fn layout() -> Layout {
        Layout::parse(FORMAT, EventKind::Queued).expect("a format")
    }

    fn data(sector: u64, sectors: u32, letters: &str) -> Vec<u8> {
        let mut data = vec![0; 56];
        data[..2].copy_from_slice(&1207_u16.to_ne_bytes());
        data[4..8].copy_from_slice(&42_u32.to_ne_bytes());
        data[16..24].copy_from_slice(&sector.to_ne_bytes());
        data[24..28].copy_from_slice(&sectors.to_ne_bytes());
        data[28..28 + letters.len()].copy_from_slice(letters.as_bytes());
        data
    }

    fn page(entries: &[u8]) -> Vec<u8> {
        let mut page = 1_000_u64.to_ne_bytes().to_vec();
        // Events before it were lost.
        page.extend((entries.len() as u64 | 1 << 31).to_ne_bytes());
        page.extend(entries);
        page.resize(4096, 0);
        page
    }

    #[test]
    fn entries_of_a_page_have_their_times() {
        let layouts = [layout()];
        assert_eq!(layouts[0].letters, (28, 10));
        let mut entries = Vec::new();
        let mut word = |number: u32| entries.extend(number.to_ne_bytes());
        word(14 | 5 << TYPE_BITS);
        entries.extend(data(8, 16, "RA"));
        let mut word = |number: u32| entries.extend(number.to_ne_bytes());
        // More than 27 bits of time, and an event of another kind, with its length behind.
        word(TIME_EXTEND | 1 << TYPE_BITS);
        word(2);
        word(0);
        word(4 + 6);
        entries.extend([9; 8]);
        let mut word = |number: u32| entries.extend(number.to_ne_bytes());
        word(PADDING | 3 << TYPE_BITS);
        word(12);
        entries.extend([0; 8]);
        let mut word = |number: u32| entries.extend(number.to_ne_bytes());
        word(14 | 7 << TYPE_BITS);
        entries.extend(data(0, 0, "FWS"));
        entries.extend(PADDING.to_ne_bytes());
        let mut events = Vec::new();
        take_page(&page(&entries), &layouts, &mut events);
        let told: Vec<_> = events
            .iter()
            .map(|event| (event.time_nanoseconds, event.op, event.offset, event.length))
            .collect();
        let late = 1_005 + 1 + (2 << 27) + 3 + 7;
        assert_eq!(told, [(1_005, RecordedOp::Read, 4096, 8192), (late, RecordedOp::Flush, 0, 0)]);
        assert!(events.iter().all(|event| event.stream == 42));
    }

    #[test]
    fn no_bytes_break_a_page() {
        let mut random = reactor::Random::with_seed(3);
        for _ in 0..2000 {
            let entries: Vec<u8> = (0..random.usize(..400)).map(|_| random.u8(..)).collect();
            take_page(&page(&entries)[..random.usize(..4096)], &[layout()], &mut Vec::new());
        }
    }
}
