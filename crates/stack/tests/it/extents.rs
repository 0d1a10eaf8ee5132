//! Where a stack holds nothing: what leaves know of holes, seen through every layer.

use std::sync::Arc;

use block::{Blocking, BufMut, Device, Extents, Reactor};
use stack::{BuildContext, parse_and_build};

use crate::files::Files;

fn build(text: &str) -> Arc<dyn Device> {
    let context = BuildContext {
        seed: 1,
        create_bytes: Some(4 << 20),
        emulate: true,
        ..BuildContext::new(&Files)
    };
    parse_and_build(text, &context).expect(text).device
}

/// Offset and end of all that is no hole, asked for until all is known.
fn data(device: &dyn Device) -> Vec<(u64, u64)> {
    let (mut runs, mut at, size): (Vec<(u64, u64)>, u64, u64) =
        (Vec::new(), 0, device.info().size_bytes);
    while at < size {
        let mut found = Extents::new();
        device.extents(at, size - at, &mut found);
        for run in found.runs() {
            match runs.last_mut() {
                _ if run.is_hole => (),
                Some((_, end)) if *end == at => *end += run.length,
                _ => runs.push((at, at + run.length)),
            }
            at += run.length;
        }
    }
    runs
}

const WRITTEN: [u64; 3] = [0, 1 << 20, (3 << 20) + 4096];

/// Writes a block at three places; all that is data then lies within `slack` bytes of one of them.
fn finds_holes(text: &str, slack: u64) {
    let device = build(text);
    let reactor = Reactor::wall().expect("an io_uring");
    assert_eq!(data(&*device), [], "{text}, new");
    let block = u64::from(device.info().block_bytes).max(4096);
    let mut channel = Blocking::open(&*device, &reactor).expect(text);
    for offset in WRITTEN {
        let mut buffer = BufMut::zeroed(block as usize);
        buffer.fill(0x5a);
        channel.write(offset, buffer.freeze()).expect(text);
    }
    let found = data(&*device);
    for offset in WRITTEN {
        assert!(
            found.iter().any(|(start, end)| (*start..*end).contains(&offset)),
            "{text}: {offset} of {found:?}"
        );
    }
    for (start, end) in &found {
        let near = WRITTEN
            .iter()
            .any(|offset| *start + slack >= *offset && *end <= offset + block + slack);
        assert!(near, "{text}: {start} to {end} is said to be data");
    }
}

#[test]
fn holes_are_seen_through_every_layer() {
    for text in [
        "ram:4MiB",
        "linear(ram:1MiB, ram:3MiB)",
        "raid0(chunk=64KiB, ram:1MiB, ram:4MiB, ram:2MiB)",
        "raid1(ram:4MiB, missing, ram:4MiB)",
        "raid10(chunk=64KiB, layout=o2, ram:4MiB, ram:4MiB, missing)",
        "raid4(chunk=64KiB, ram:4MiB, ram:4MiB)",
        "raid5(chunk=64KiB, ram:4MiB, ram:4MiB, ram:4MiB)",
        "raid6(chunk=64KiB, ram:4MiB, ram:4MiB, ram:4MiB, ram:4MiB)",
        "overlay(ram:16MiB, ram:4MiB)",
        "cache(mode=write-back, ram:1MiB, ram:4MiB)",
        "cache(ram:1MiB, ram:4MiB)",
        "overlay(keep=no, ram:16MiB, cache(mode=write-back, ram:1MiB, raid0(chunk=64KiB, ram:2MiB, \
        ram:2MiB)))",
    ] {
        finds_holes(text, 64 << 10);
    }
}

#[test]
fn holes_of_files_are_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (a, b, c) = (path("a"), path("b"), path("c"));
    finds_holes(&format!("file:{a}"), 64 << 10);
    finds_holes(&format!("raid5(chunk=64KiB, file:{b}, file:{c}, ram:4MiB)"), 64 << 10);
    // A window into a file, where the file's blocks are not the device's.
    let shifted = format!("file:{}?offset=512&size=4094KiB&direct=no", path("d"));
    finds_holes(&shifted, 64 << 10);
}

#[test]
fn what_has_to_be_computed_is_data_and_nothing_else_is() {
    // One of three members is missing: a third of the data has to be made from parity.
    let device = build("raid5(chunk=64KiB, ram:4MiB, ram:4MiB, missing)");
    let bytes: u64 = data(&*device).iter().map(|(start, end)| end - start).sum();
    let size = device.info().size_bytes;
    assert!(bytes > 0 && bytes < size * 2 / 5, "{bytes} of {size}");
}
