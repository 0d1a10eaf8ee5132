//! A log as dm-log-writes has it, replayed by others: to each of its marks, and to its end, byte by
//! byte what this crate says is durable there.
//!
//! A replayer of this test's own does it always. It follows Linux's description of the format
//! (`Documentation/admin-guide/device-mapper/log-writes.rst`, and what `drivers/md/dm-log-writes.c`
//! says of `struct log_write_super` and `struct log_write_entry`) and shares nothing with what
//! writes the log. xfstests' `replay-log` does it too, where it is in `PATH`: no
//! package of Debian's has it.

use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use block::{Blocking, BufMut, Op, Reactor, Request};
use pull::{AdvertisedTraits, Cut, DriveFault, History, Log, Policy, Recorder, write_log_writes};
use reactor::{Random, derive_seed};
use testkit::Memory;

/// A drive so small that much is written again before it is flushed.
const SECTORS: u64 = 96;
const DRIVE_BYTES: usize = SECTORS as usize * 512;
const STEPS: u64 = 250;
const DEPTH: usize = 6;
/// The name of the mark at the end.
const END: &str = "end";

/// Random writes, discards and flushes, several at a time and answered in any order, with marks
/// between them. None lies where another one is under way: the drive might put either last.
fn recorded(seed: u64, volatile_cache: bool) -> Arc<Log> {
    let recorder = Recorder::in_memory(None);
    let memory = Memory::new(DRIVE_BYTES as u64).delayed(seed, Duration::from_micros(50));
    let drive = recorder.drive(Arc::new(memory), AdvertisedTraits { volatile_cache, fua: true });
    let reactor = Reactor::virtual_clock();
    let mut channel = drive.open(DEPTH as u32, &reactor).expect("a channel");
    let mut random = Random::with_seed(derive_seed(seed, "work", 0));
    let mut under_way: Vec<(u64, Range<u64>)> = Vec::new();
    let mut done = Vec::new();
    let (mut tag, mut marks) = (0, 0);
    while tag < STEPS || !under_way.is_empty() {
        let first = random.u64(..SECTORS);
        let range = first..(first + random.u64(1..=8)).min(SECTORS);
        let touches =
            |other: &(u64, Range<u64>)| other.1.start < range.end && range.start < other.1.end;
        let is_free = under_way.len() < DEPTH && !under_way.iter().any(touches);
        if tag < STEPS && is_free && random.u8(..4) != 0 {
            tag += 1;
            let (offset, length) = (range.start * 512, (range.end - range.start) * 512);
            let fua = random.u8(..5) == 0;
            let op = match random.u8(..12) {
                0..2 => Op::Flush,
                2 => Op::WriteZeroes { offset, length, fua },
                3 => Op::Discard { offset, length },
                _ => {
                    let (mut buffer, mut bytes) =
                        (BufMut::zeroed(length as usize), vec![0; length as usize]);
                    random.fill(&mut bytes);
                    buffer.copy_from_slice(&bytes);
                    Op::Write { offset, from: buffer.freeze(), fua }
                }
            };
            under_way.push((tag, if matches!(op, Op::Flush) { 0..0 } else { range }));
            channel.submit(Request::new(tag, op));
            continue;
        }
        if random.u8(..8) == 0 {
            marks += 1;
            recorder.mark(format!("mark {marks}").as_bytes());
        }
        done.clear();
        channel.poll(&mut done);
        under_way.retain(|(tag, _)| !done.iter().any(|answer| answer.tag == *tag));
        if done.is_empty() && !under_way.is_empty() {
            reactor.wait(None).expect("the virtual clock does not fail");
        }
    }
    recorder.mark(END.as_bytes());
    Arc::new(recorder.finish().expect("in memory"))
}

fn exported(log: &Log) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_log_writes(log, 0, &mut <[u8]>::to_vec, &mut bytes).expect("written");
    bytes
}

/// What the drive holds at each mark when its power fails there and nothing is left that need not
/// be, and behind the last mark with all that was written.
fn states(log: &Arc<Log>) -> Vec<(Option<String>, Vec<u8>)> {
    let mut history = History::new(Arc::clone(log), DriveFault::None, Some(512));
    let end = log.events().len() as u32;
    let marks = log.marks().expect("in memory").into_iter();
    let marks =
        marks.map(|(event, _, text)| (Some(String::from_utf8(text).expect("ASCII")), event + 1));
    let mut states = Vec::new();
    for (mark, events) in marks.chain([(None, end)]) {
        let cut = Cut::behind(log, events);
        history.advance(cut).expect("marks are in order");
        let policy = if mark.is_some() { Policy::KeepNone } else { Policy::KeepAll };
        let crash = history.crash(cut, policy, 1).expect("in memory");
        let mut bytes = vec![0; DRIVE_BYTES];
        let reactor = Reactor::virtual_clock();
        let drive = &crash.drives()[0];
        let mut drive = Blocking::open(&**drive, &reactor).expect("a channel");
        drive.read_slice(0, &mut bytes).expect("read");
        states.push((mark, bytes));
    }
    states
}

/// The entries of a log: sector, count, flags, and all of the bytes.
fn entries(log: &[u8]) -> Vec<([u64; 3], &[u8])> {
    let long = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().expect("eight bytes"));
    assert_eq!((long(0), long(8)), (0x006a_7366_7773_6872, 1));
    let sector_bytes = u32::from_le_bytes(log[24..28].try_into().expect("four bytes")) as usize;
    let mut at = sector_bytes;
    let mut entries = Vec::new();
    for _ in 0..long(16) {
        let numbers = [long(at), long(at + 8), long(at + 16)];
        let data = if numbers[2] & DISCARD == 0 { numbers[1] as usize } else { 0 };
        let length = (1 + data) * sector_bytes;
        entries.push((numbers, &log[at..at + length]));
        at += length;
    }
    assert_eq!(at, log.len(), "nothing is behind the last entry");
    entries
}

const DISCARD: u64 = 4;
const MARK: u64 = 8;

/// What a drive of zeroes holds when a log was replayed to a mark, or to its end.
fn replayed(log: &[u8], mark: Option<&str>) -> Vec<u8> {
    let mut drive = vec![0; DRIVE_BYTES];
    for ([sector, count, flags], bytes) in entries(log) {
        if flags & MARK != 0 {
            let text = bytes[32..].split(|byte| *byte == 0).next().unwrap_or_default();
            if mark.is_some_and(|mark| mark.as_bytes() == text) {
                return drive;
            }
            continue;
        }
        let place = sector as usize * 512..(sector + count) as usize * 512;
        match flags & DISCARD {
            0 => drive[place].copy_from_slice(&bytes[512..]),
            _ => drive[place].fill(0),
        }
    }
    assert!(mark.is_none(), "{mark:?} is not in the log");
    drive
}

/// The same by xfstests' tool; nothing where it is not there.
fn replayed_by_tool(folder: &Path, log: &[u8], mark: Option<&str>) -> Option<Vec<u8>> {
    let (log_path, drive) = (folder.join("log"), folder.join("drive"));
    std::fs::write(&log_path, log).expect("written");
    std::fs::write(&drive, vec![0; DRIVE_BYTES]).expect("written");
    let mut command = Command::new("replay-log");
    command.arg("--log").arg(&log_path).arg("--replay").arg(&drive);
    command.args(mark.iter().flat_map(|mark| ["--end-mark", mark]));
    let output = command.output().ok()?;
    assert!(output.status.success(), "{mark:?}: {output:?}");
    Some(std::fs::read(&drive).expect("read"))
}

/// The marks at which a log does not replay to what was durable there.
fn differing(log: &Arc<Log>, bytes: &[u8]) -> Vec<String> {
    let differs = |(mark, state): &(Option<String>, Vec<u8>)| {
        let at_mark = mark.as_deref();
        (replayed(bytes, at_mark) != *state).then(|| at_mark.unwrap_or("behind all").to_owned())
    };
    states(log).iter().filter_map(differs).collect()
}

#[test]
fn a_log_replays_to_what_was_durable_at_each_mark() {
    let mut marks = 0;
    for (seed, has_cache) in (1..=40).flat_map(|seed| [(seed, true), (seed, false)]) {
        let log = recorded(seed, has_cache);
        let found = differing(&log, &exported(&log));
        assert!(found.is_empty(), "seed {seed}, cache {has_cache}: {found:?}");
        marks += log.marks().expect("in memory").len();
    }
    assert!(marks > 1000, "{marks}");
}

#[test]
fn a_log_replays_to_the_same_by_xfstests_own_tool() {
    let folder = tempfile::tempdir().expect("a folder");
    for (seed, has_cache) in [(101, true), (102, true), (103, false)] {
        let log = recorded(seed, has_cache);
        let bytes = exported(&log);
        for (mark, state) in states(&log) {
            let Some(found) = replayed_by_tool(folder.path(), &bytes, mark.as_deref()) else {
                return testkit::skipped!("replay-log of xfstests is not there, nor in Debian");
            };
            assert!(found == state, "seed {seed}, {mark:?}");
        }
    }
}

/// What would be wrong in a log is seen: an entry that is missing, and one behind its flush.
#[test]
fn a_log_that_was_written_wrongly_is_found() {
    let log = recorded(7, true);
    let bytes = exported(&log);
    let all = entries(&bytes);
    let written = |entries: &[([u64; 3], &[u8])]| {
        let mut head = bytes[..512].to_vec();
        head[16..24].copy_from_slice(&(entries.len() as u64).to_le_bytes());
        entries.iter().fold(head, |all, (_, entry)| [&all[..], entry].concat())
    };
    assert_eq!(written(&all), bytes);
    let is_flush = |entry: &([u64; 3], &[u8])| entry.0[2] == 1;
    let is_mark = |entry: &([u64; 3], &[u8])| entry.0[2] == MARK;
    // Writes that some flush covers, and the mark behind that flush: what else is written there
    // before the mark hides some of them.
    let covered = |&at: &usize| all[at].0[2] == 0 && is_flush(&all[at + 1]);
    let (mut tried, mut missing, mut late) = (0, 0, 0);
    for at in (0..all.len() - 1).filter(covered) {
        let Some(mark) = all[at..].iter().position(is_mark).map(|behind| at + behind) else {
            break;
        };
        tried += 1;
        let mut without = all.clone();
        without.remove(at);
        missing += u32::from(!differing(&log, &written(&without)).is_empty());
        let mut moved = all.clone();
        moved[at..=mark].rotate_left(1);
        late += u32::from(!differing(&log, &written(&moved)).is_empty());
    }
    assert!(tried > 3 && 2 * missing > tried && 2 * late > tried, "{tried}: {missing}, {late}");
}

/// A write that waits for a flush, and one with FUA over a part of it that does not.
#[test]
fn what_counts_first_is_not_replaced_by_what_was_written_before_it() {
    let recorder = Recorder::in_memory(None);
    let advertised = AdvertisedTraits { volatile_cache: true, fua: true };
    let drive = recorder.drive(Arc::new(Memory::new(DRIVE_BYTES as u64)), advertised);
    let reactor = Reactor::virtual_clock();
    let mut drive = Blocking::open(&*drive, &reactor).expect("a channel");
    drive.write_slice(0, &[1; 3 * 512]).expect("written");
    let mut newer = BufMut::zeroed(512);
    newer.fill(2);
    drive.run(Op::Write { offset: 512, from: newer.freeze(), fua: true }).expect("written");
    recorder.mark(b"newer");
    drive.flush().expect("flushed");
    recorder.mark(END.as_bytes());
    drop(drive);
    let log = Arc::new(recorder.finish().expect("in memory"));
    let bytes = exported(&log);
    let at = |mark| [0, 512, 1024].map(|at| replayed(&bytes, Some(mark))[at]);
    assert_eq!((at("newer"), at(END)), ([0, 2, 0], [1, 2, 1]));
    assert!(differing(&log, &bytes).is_empty());
}
