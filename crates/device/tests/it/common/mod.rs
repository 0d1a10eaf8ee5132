//! What the tests of several devices share.
#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use block::{
    Blocking, Buf, BufMut, Channel, Completion, Device, DiscardSupport, Info, Op, Reactor, Request,
    ReturnedBuffer, Support,
};
use reactor::{Random, WakeReason};

/// Where a test file lies: a disk's file system, or memory.
pub(crate) fn folder_on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A new file of zeroes, open for reading and writing.
pub(crate) fn new_file(path: &Path, size_bytes: u64) -> File {
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).unwrap();
    file.set_len(size_bytes).unwrap();
    file
}

/// A folder on tmpfs, if the machine has one.
pub(crate) fn folder_in_memory() -> Option<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").ok()
}

/// Waits until `channel` has nothing in flight. No other channel of the reactor may have anything
/// under way.
pub(crate) fn finish(channel: &mut dyn Channel, reactor: &Reactor) -> Vec<Completion> {
    finish_all(&mut [channel], reactor)
}

/// Waits until none of a reactor's channels has anything in flight.
pub(crate) fn finish_all(channels: &mut [&mut dyn Channel], reactor: &Reactor) -> Vec<Completion> {
    let mut done = Vec::new();
    loop {
        channels.iter_mut().for_each(|channel| channel.poll(&mut done));
        let in_flight: u32 = channels.iter().map(|channel| channel.in_flight()).sum();
        if in_flight == 0 {
            return done;
        }
        let deadline = reactor.now() + std::time::Duration::from_secs(60);
        let woken = reactor.wait(Some(deadline)).unwrap();
        assert!(
            !matches!(woken, WakeReason::Deadline | WakeReason::Idle),
            "{in_flight} requests never ended"
        );
    }
}

/// Random bytes.
pub(crate) fn noise(random: &mut Random, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    random.fill(&mut bytes);
    bytes
}

/// A buffer of these bytes that lies in `pieces` pieces of memory, cut at multiples of `block`.
pub(crate) fn rope(bytes: &[u8], pieces: usize, block: usize) -> BufMut {
    let mut whole = BufMut::zeroed(0);
    let length = (bytes.len() / block).div_ceil(pieces) * block;
    for (index, part) in bytes.chunks(length).enumerate() {
        // Each from the middle of an allocation, so that none continues in the next.
        let mut piece = BufMut::zeroed(part.len() + 2 * 4096);
        drop(piece.split_to(4096));
        let mut piece = piece.split_to(part.len());
        piece.copy_from_slice(part);
        if index == 0 {
            whole = piece;
        } else {
            whole.append(piece);
        }
    }
    whole
}

pub(crate) fn bytes_of(buffer: &BufMut) -> Vec<u8> {
    let mut bytes = vec![0; buffer.len()];
    buffer.copy_to_slice(&mut bytes);
    bytes
}

pub(crate) fn frozen(bytes: &[u8]) -> Buf {
    let mut buffer = BufMut::zeroed(bytes.len());
    buffer.copy_from_slice(bytes);
    buffer.freeze()
}

/// A request on a range that the device can take; `expected` is what it holds afterwards.
fn random_op(info: &Info, random: &mut Random, expected: &mut [u8], range: Range<usize>) -> Op {
    let (offset, length, block) = (range.start as u64, range.len(), info.block_bytes as usize);
    let pieces = random.usize(1..=4);
    match random.u32(0..10) {
        0..=3 => Op::Read { offset, into: rope(&noise(random, length), pieces, block) },
        4..=7 => {
            let bytes = noise(random, length);
            expected[range].copy_from_slice(&bytes);
            let fua = info.fua != Support::None && random.u32(0..4) == 0;
            Op::Write { offset, from: rope(&bytes, pieces, block).freeze(), fua }
        }
        8 if info.zeroes != Support::None => {
            expected[range].fill(0);
            Op::WriteZeroes {
                offset,
                length: length as u64,
                fua: info.fua != Support::None && random.bool(),
            }
        }
        9 if info.discard == DiscardSupport::ReadsZero => {
            expected[range].fill(0);
            Op::Discard { offset, length: length as u64 }
        }
        _ => Op::Flush,
    }
}

/// Runs rounds of random requests that do not overlap within a round, over two channels, against
/// plain memory. Returns what the device holds at the end.
pub(crate) fn run_against_memory(
    device: &Arc<dyn Device>,
    reactor: &Reactor,
    seed: u64,
    rounds: usize,
) -> Vec<u8> {
    let info = device.info().clone();
    let block = u64::from(info.block_bytes);
    let blocks = info.size_bytes / block;
    let mut random = Random::with_seed(seed);
    let mut expected = vec![0; info.size_bytes as usize];
    let mut first = Blocking::open(&**device, reactor).unwrap();
    first.read_slice(0, &mut expected).unwrap();
    let mut channels = [device.open(16, reactor).unwrap(), device.open(16, reactor).unwrap()];
    for round in 0..rounds {
        let place = format!("seed {seed}, round {round}, {}", device.describe());
        // The device is cut into one range for each request.
        let count = random.u64(1..=16);
        let share = blocks / count;
        let mut reads = Vec::new();
        for number in 0..count {
            let length_blocks =
                random.u64(1..=share.min(u64::from(info.max_request_bytes) / block).min(256));
            let offset = (number * share + random.u64(0..=share - length_blocks)) * block;
            let range = offset as usize..(offset + length_blocks * block) as usize;
            let op = random_op(&info, &mut random, &mut expected, range.clone());
            if matches!(op, Op::Read { .. }) {
                reads.push((number, range));
            }
            channels[random.usize(0..2)].submit(Request::new(number, op));
        }
        let [left, right] = &mut channels;
        for completion in finish_all(&mut [&mut **left, &mut **right], reactor) {
            completion.result.unwrap_or_else(|error| panic!("{place}: {error}"));
            if let ReturnedBuffer::Read(buffer) = completion.buffer {
                let (_, range) =
                    reads.iter().find(|(number, _)| *number == completion.tag).unwrap();
                assert!(
                    bytes_of(&buffer) == expected[range.clone()],
                    "{place}: a read of {range:?} found other bytes"
                );
            }
        }
    }
    let mut found = vec![0; expected.len()];
    first.read_slice(0, &mut found).unwrap();
    let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert_eq!(
        wrong,
        None,
        "seed {seed}, {}: the device holds other bytes in the end",
        device.describe()
    );
    expected
}
