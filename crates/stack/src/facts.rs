//! What the system knows of files and disks besides their data: whether they are those that they
//! were, and whether they have been written to since.
//!
//! ```text
//!              which one                           what every write moves                 for how long
//!   file       inode, time of birth                change time, size                      for ever
//!   disk       serial number or UUID, partition    the kernel's counters of writes        until the machine starts again
//!   loop       those of the file behind it
//!   array      UUID                                events of its superblocks          for ever
//! ```
//!
//! The number of a file's file system is no part of it: it may be another one after each start of
//! the machine. It stands in for the time of birth where a file system keeps none.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use array::metadata::RunningArray;
use cache::{LeafFacts, fact};

/// A leaf of a stack, or an array by its UUID, and what was known of it before anything was written
/// to it.
pub(crate) struct Leaf {
    source: Source,
    pub(crate) opened: LeafFacts,
}

/// The file or block device of a leaf, as it was opened.
#[derive(Clone, Debug)]
pub struct OpenedFile {
    /// The name by which it was opened.
    pub path: PathBuf,
    /// What is open.
    pub file: Arc<File>,
    /// Its size in bytes when it was opened; that of a block device is not asked for.
    pub size_bytes: u64,
}

enum Source {
    /// Memory, or a model: nothing is known of it.
    Nameless,
    File(Arc<File>),
    Array(RunningArray),
}

impl Leaf {
    fn new(source: Source) -> Leaf {
        let mut leaf = Leaf { source, opened: LeafFacts::default() };
        leaf.opened = leaf.now();
        leaf
    }

    /// Memory, or a model.
    pub(crate) fn nameless() -> Leaf {
        Leaf::new(Source::Nameless)
    }

    pub(crate) fn of(file: &File) -> Leaf {
        Leaf::new(file.try_clone().map_or(Source::Nameless, |file| Source::File(Arc::new(file))))
    }

    /// An array that keeps metadata, which its members are exchanged under.
    pub(crate) fn of_array(running: &RunningArray) -> Leaf {
        Leaf::new(Source::Array(running.clone()))
    }

    /// The file that was opened by this name, where it is one.
    pub(crate) fn file(&self, path: &Path) -> Option<OpenedFile> {
        let Source::File(file) = &self.source else { return None };
        let size_bytes = file.metadata().ok()?.len();
        Some(OpenedFile { path: path.to_owned(), file: Arc::clone(file), size_bytes })
    }

    /// How it is now.
    pub(crate) fn now(&self) -> LeafFacts {
        match &self.source {
            Source::Nameless => LeafFacts::default(),
            Source::File(file) => facts_of(file),
            Source::Array(running) => {
                LeafFacts::of_array(&running.assembly().set_uuid, running.events())
            }
        }
    }

    /// Makes its time stamps durable, and has the kernel count what it still held back. What fails
    /// here is found different the next time, which is safe.
    pub(crate) fn settle(&self) {
        if let Source::File(file) = &self.source {
            let _ = file.sync_all();
        }
    }
}

fn facts_of(file: &File) -> LeafFacts {
    match file.metadata() {
        Ok(data) if data.file_type().is_block_device() => of_disk(&data),
        Ok(data) => of_file(&data),
        Err(_) => LeafFacts::default(),
    }
}

fn of_file(data: &Metadata) -> LeafFacts {
    let birth = data.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let born = birth
        .map_or_else(|| format!("on {}", data.dev()), |birth| format!("born {}", birth.as_nanos()));
    LeafFacts {
        identity: fact(format!("file {} {born}", data.ino()).as_bytes()),
        epoch: 0,
        state: fact(format!("{} {} {}", data.len(), data.ctime(), data.ctime_nsec()).as_bytes()),
    }
}

fn of_disk(data: &Metadata) -> LeafFacts {
    let (major, minor) = (rustix::fs::major(data.rdev()), rustix::fs::minor(data.rdev()));
    let Ok(folder) = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) else {
        return LeafFacts::default();
    };
    of_folder(&folder)
}

/// Facts of a disk or a partition by its folder in sysfs.
fn of_folder(folder: &Path) -> LeafFacts {
    let partition = attribute(folder, "partition");
    let disk = match (&partition, folder.parent()) {
        (Some(_), Some(parent)) => parent.to_owned(),
        _ => folder.to_owned(),
    };
    let place = format!(
        "{} {}",
        partition.unwrap_or_default(),
        attribute(folder, "start").unwrap_or_default()
    );
    if let Some(path) = attribute(&disk, "loop/backing_file") {
        // Its own counters say nothing of what writes to the file.
        let Ok(data) = fs::metadata(path) else { return LeafFacts::default() };
        let offset = attribute(&disk, "loop/offset").unwrap_or_default();
        let behind = of_file(&data);
        return LeafFacts {
            identity: fact(format!("loop {} {offset} {place}", behind.identity).as_bytes()),
            ..behind
        };
    }
    let named = ["wwid", "device/wwid", "serial", "device/serial", "dm/uuid", "md/uuid"];
    let name = named
        .into_iter()
        .find_map(|name| Some((name, attribute(&disk, name).filter(|value| !value.is_empty())?)));
    let start = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let epoch = start
        .zip(attribute(&disk, "diskseq"))
        .map_or(0, |(start, sequence)| fact(format!("{start} {sequence}").as_bytes()));
    let counts = attribute(&disk, "queue/iostats").as_deref() == Some("1");
    LeafFacts {
        identity: name
            .map_or(0, |(name, value)| fact(format!("disk {name} {value} {place}").as_bytes())),
        epoch,
        state: if counts && epoch != 0 {
            written(folder, &disk).map_or(0, |written| fact(written.as_bytes()))
        } else {
            0
        },
    }
}

/// All that was written to a disk or partition: through itself, and through the whole disk but no
/// partition of it.
fn written(folder: &Path, disk: &Path) -> Option<String> {
    let own = counted(folder)?;
    if folder == disk {
        return Some(format!("{own:?}"));
    }
    // The whole disk counts its partitions too. Another one may be written to right now; then it is
    // tried again.
    const TRIES: usize = 8;
    for _ in 0..TRIES {
        let whole = counted(disk)?;
        let mut past = whole;
        for part in parts(disk)? {
            let counted = counted(&part)?;
            past.iter_mut()
                .zip(counted)
                .for_each(|(past, counted)| *past = past.wrapping_sub(counted));
        }
        if counted(disk)? == whole {
            return Some(format!("{own:?} {past:?}"));
        }
    }
    None
}

fn parts(disk: &Path) -> Option<Vec<PathBuf>> {
    let entries = fs::read_dir(disk).ok()?.flatten().map(|entry| entry.path());
    Some(entries.filter(|path| path.join("partition").exists()).collect())
}

/// Requests and sectors written and discarded since the device came up.
fn counted(folder: &Path) -> Option<[u64; 4]> {
    // Documentation/block/stat.rst: write I/Os, write sectors, discard I/Os, discard sectors.
    const FIELDS: [usize; 4] = [4, 6, 11, 13];
    let text = attribute(folder, "stat")?;
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let field = |index: usize| fields.get(index).copied();
    // Kernels before 4.18 do not count what is discarded.
    Some([
        field(FIELDS[0])?,
        field(FIELDS[1])?,
        field(FIELDS[2]).unwrap_or(0),
        field(FIELDS[3]).unwrap_or(0),
    ])
}

fn attribute(folder: &Path, name: &str) -> Option<String> {
    fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of sysfs as far as it is read here.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        folder
    }

    const IDLE: &str = "9 0 72 1 5 0 40 1 0 1 1 0 0 0 0 0 0\n";
    const WRITTEN: &str = "9 0 72 1 6 0 48 1 0 1 1 0 0 0 0 0 0\n";

    #[test]
    fn a_partition_is_changed_by_writes_to_it_and_past_it_and_not_by_those_to_its_neighbours() {
        let seen = |disk: &str, one: &str, two: &str| {
            let folder = folder(&[
                ("stat", disk),
                ("diskseq", "3"),
                ("queue/iostats", "1"),
                ("serial", "S1"),
                ("p1/partition", "1"),
                ("p1/start", "2048"),
                ("p1/stat", one),
                ("p2/partition", "2"),
                ("p2/stat", two),
            ]);
            of_folder(&folder.path().join("p1"))
        };
        let at_first = seen(IDLE, IDLE, IDLE);
        assert!(at_first.identity != 0 && at_first.epoch != 0 && at_first.state != 0);
        assert_eq!(seen(IDLE, IDLE, IDLE), at_first);
        assert_eq!(
            seen(WRITTEN, IDLE, WRITTEN),
            at_first,
            "the neighbour's, which the disk counts too"
        );
        assert_ne!(seen(WRITTEN, WRITTEN, IDLE).state, at_first.state, "its own");
        assert_ne!(seen(WRITTEN, IDLE, IDLE).state, at_first.state, "past all partitions");
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_not_made_up() {
        let silent = folder(&[("stat", IDLE), ("diskseq", "3"), ("queue/iostats", "0")]);
        let facts = of_folder(silent.path());
        assert_eq!((facts.identity, facts.state), (0, 0));
        let (one, two) = (
            folder(&[("stat", IDLE), ("diskseq", "3"), ("queue/iostats", "1")]),
            folder(&[("stat", IDLE)]),
        );
        assert!(of_folder(one.path()).state != 0 && of_folder(two.path()).state == 0);
    }

    #[test]
    fn a_loop_device_is_the_file_behind_it() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let seen = || {
            let path = file.path().display().to_string();
            of_folder(folder(&[("loop/backing_file", &path), ("stat", IDLE)]).path())
        };
        let before = seen();
        file.as_file().set_len(4096).expect("it grows");
        assert_eq!(seen().identity, before.identity);
        assert_ne!(seen().state, before.state);
    }
}
