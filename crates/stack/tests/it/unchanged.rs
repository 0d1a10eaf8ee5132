//! What a stack knows of the files it stands on: a cache's store, or a delta, that is older than
//! its device is not believed.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use block::{Blocking, Error, ErrorKind, Reactor};
use stack::{BuildContext, Stack, parse_and_build};

use crate::files::Files;

fn build(text: &str) -> Result<Stack, Error> {
    parse_and_build(text, &BuildContext { seed: 1, emulate: true, ..BuildContext::new(&Files) })
}

/// Files of 24 MiB with something in them.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn device(&self, name: &str) -> String {
        let bytes: Vec<u8> = (0..24_u64 << 17).flat_map(u64::to_le_bytes).collect();
        fs::write(self.path(name), bytes).expect("a file");
        self.text(name)
    }

    fn text(&self, name: &str) -> String {
        format!("file:{}", self.path(name).display())
    }

    /// Writes 8 bytes as another program would, in a moment that the file system tells from the one
    /// before.
    fn write(&self, name: &str, offset: u64, bytes: [u8; 8]) {
        let file = OpenOptions::new().write(true).open(self.path(name)).expect("it is there");
        let time = |file: &File| {
            file.metadata().map(|data| (data.ctime(), data.ctime_nsec())).expect("it has times")
        };
        let before = time(&file);
        while time(&file) == before {
            file.write_all_at(&bytes, offset).expect("a write");
        }
    }
}

fn read(stack: &Stack, offset: u64) -> [u8; 8] {
    let mut block = [0; 4096];
    let reactor = Reactor::wall().expect("io_uring");
    Blocking::open(&*stack.device, &reactor)
        .expect("it opens")
        .read_slice(offset, &mut block)
        .expect("a read");
    block[..8].try_into().expect("eight bytes")
}

fn write(stack: &Stack, offset: u64, byte: u8) {
    let reactor = Reactor::wall().expect("io_uring");
    let mut channel = Blocking::open(&*stack.device, &reactor).expect("it opens");
    channel.write_slice(offset, &[byte; 4096]).expect("a write");
    channel.flush().expect("a flush");
}

/// What came in, in blocks, since the cache was opened.
fn used(stack: &Stack) -> u64 {
    stack.caches[0].status().expect("it is open").used_bytes / 4096
}

const PLACES: [u64; 3] = [3 << 20, 20 << 20, (20 << 20) + (32 << 10)];

/// "8 bytes written alone at 3 or 20 MiB: stale reads": over one file, and over arrays with and
/// without superblocks.
#[test]
fn a_cache_over_files_is_warm_when_nobody_wrote_and_never_stale_when_somebody_did() {
    for lower in ["a", "raid1(a, b)"] {
        let folder = Folder::new();
        let (a, b) = (folder.device("a"), folder.device("b"));
        let lower = if lower == "a" { a } else { format!("raid1({a}, {b})") };
        let text = format!("cache({}?size=8MiB, {lower})", folder.text("store"));
        let stack = build(&text).expect("a cache");
        PLACES.iter().for_each(|&place| _ = read(&stack, place));
        drop(stack);

        let stack = build(&text).expect("a cache");
        assert_eq!(
            (used(&stack), &stack.notes[..]),
            (3, &[][..]),
            "{text}: warm, for nobody has written"
        );
        drop(stack);
        for place in PLACES {
            folder.write("a", place, [9; 8]);
            let stack = build(&text).expect("a cache");
            assert_eq!(used(&stack), 0, "{text}: byte {place}");
            assert!(
                stack.notes.iter().any(|note| note.english().contains("begins empty")),
                "{:?}",
                stack.notes
            );
            // Whichever copy RAID 1 reads from, it is none of the cache's.
            assert!(
                !text.contains("raid1")
                    || [[9; 8], (place / 8).to_le_bytes()].contains(&read(&stack, place))
            );
            assert!(
                text.contains("raid1") || read(&stack, place) == [9; 8],
                "{text}: byte {place}"
            );
        }
    }
}

#[test]
fn what_is_dirty_stays_when_nobody_wrote_and_is_refused_when_somebody_did() {
    let folder = Folder::new();
    let (device, store) = (folder.device("a"), folder.text("store"));
    let text = format!("cache(mode=write-back, {store}?size=8MiB, {device})");
    write(&build(&text).expect("a cache"), 3 << 20, 7);
    assert_eq!(read(&build(&text).expect("a cache"), 3 << 20), [7; 8]);
    folder.write("a", 20 << 20, [9; 8]);
    let error = build(&text).expect_err("written to");
    assert!(
        error.kind() == ErrorKind::Refused && error.to_string().contains("cache salvage"),
        "{error}"
    );
    let vouched = text.replace("cache(", "cache(believe=sample, ");
    assert_eq!(read(&build(&vouched).expect("vouched for"), 3 << 20), [7; 8]);
}

#[test]
fn an_overlay_over_a_file_that_was_written_to_is_refused_and_one_over_a_copy_too() {
    let folder = Folder::new();
    let (device, delta) = (folder.device("a"), folder.text("delta"));
    let text = format!("overlay({delta}, {device})");
    write(&build(&text).expect("an overlay"), 3 << 20, 7);
    let stack = build(&text).expect("nobody wrote");
    assert_eq!((read(&stack, 3 << 20), &stack.notes[..]), ([7; 8], &[][..]));
    drop(stack);
    fs::copy(folder.path("a"), folder.path("copy")).expect("a copy");
    let copied = text.replace(&device, &folder.text("copy"));
    assert!(build(&copied).expect_err("a copy").to_string().contains("believe=sample"));
    assert!(build(&copied.replace("overlay(", "overlay(believe=sample, ")).is_ok(), "vouched for");
    assert!(build(&copied).is_ok(), "once is enough");
    folder.write("copy", 20 << 20, [9; 8]);
    let error = build(&copied).expect_err("written to");
    assert!(
        error.kind() == ErrorKind::Refused && error.to_string().contains("was written to"),
        "{error}"
    );
}

/// A cache below another writes to its own store when it is closed, which is a leaf of the upper
/// one.
#[test]
fn a_cache_over_a_cache_is_warm_too() {
    let folder = Folder::new();
    let device = folder.device("a");
    let text = format!(
        "cache({}?size=8MiB, cache({}?size=8MiB, {device}))",
        folder.text("upper"),
        folder.text("lower")
    );
    PLACES.iter().for_each(|&place| _ = read(&build(&text).expect("caches"), place));
    let stack = build(&text).expect("caches");
    assert!(stack.notes.is_empty(), "{:?}", stack.notes);
    assert!(stack.caches.iter().all(|cache| cache.status().expect("it is open").used_bytes > 0));
}
