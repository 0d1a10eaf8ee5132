use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use block::{Channel, Completion, Info, Node, Op, Reactor, Request};
use results::doubt::{AddressFit, Bearing};
use trace::{Record, RecordedOp};

use super::engine::{LATE, ReplayResult};
use super::waits::Dependencies;
use super::*;
use crate::load::{self, Load, Mixed, UnverifiedContent};
use crate::memory::{Fault, Memory};
use crate::suite::{NoAudit, NoProgress, Row, Ticker};

/// A request as a device saw it.
#[derive(Clone, Copy, Debug)]
struct SeenRequest {
    record: Record,
    tag: u64,
}

/// Writes down what a device is asked, and when it answers.
struct Recorder {
    below: Memory,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
}

impl Recorder {
    fn over(below: Memory) -> Recorder {
        Recorder { below, seen: Arc::default() }
    }

    fn seen(&self) -> Vec<SeenRequest> {
        self.seen.lock().unwrap().clone()
    }

    fn records(&self) -> Vec<Record> {
        self.seen().iter().map(|seen| seen.record).collect()
    }
}

impl Device for Recorder {
    fn info(&self) -> &Info {
        self.below.info()
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(RecorderChannel {
            below: self.below.open(depth, reactor)?,
            seen: Arc::clone(&self.seen),
            reactor: reactor.clone(),
            open: HashMap::new(),
        }))
    }
}

struct RecorderChannel {
    below: Box<dyn Channel>,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
    reactor: Reactor,
    open: HashMap<u64, usize>,
}

impl Channel for RecorderChannel {
    fn submit(&mut self, request: Request) {
        let (op, fua) = RecordedOp::of(&request.op);
        let (offset, length) = request.op.range().unwrap_or_default();
        let time_nanoseconds = self.reactor.now().nanoseconds();
        let record = Record {
            time_nanoseconds,
            latency_nanoseconds: None,
            op,
            fua,
            offset,
            length,
            stream: 0,
        };
        let mut seen = self.seen.lock().unwrap();
        self.open.insert(request.tag, seen.len());
        seen.push(SeenRequest { record, tag: request.tag });
        drop(seen);
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let before = done.len();
        self.below.poll(done);
        let now = self.reactor.now().nanoseconds();
        let mut seen = self.seen.lock().unwrap();
        for completion in &done[before..] {
            let record = &mut seen[self.open[&completion.tag]].record;
            record.latency_nanoseconds = Some(now - record.time_nanoseconds);
        }
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }
}

const SIZE: u64 = 16 << 20;

/// Requests take 0.2 to 2 ms, by chance.
fn uneven(number: usize) -> Duration {
    let bits = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    Duration::from_micros(200 + bits % 1800)
}

/// Three times as long.
fn slower(number: usize) -> Duration {
    uneven(number + 77) * 3
}

/// A closed load of 2000 requests, as a device saw it, and how long it took.
fn recorded(
    depth: u32,
    think: Duration,
    delay: fn(usize) -> Duration,
) -> (Vec<SeenRequest>, Duration) {
    let reactor = Reactor::virtual_clock();
    let device = Recorder::over(Memory::new(SIZE).delayed(delay));
    let load = Load { depth, think, operations: Some(2000), ..Load::default() };
    let mut requests = Mixed::new(0.6, 16, SIZE, 512, 5);
    let sample = load::run(
        &device,
        &reactor,
        &load,
        &mut requests,
        &mut UnverifiedContent::Random,
        &mut Hooks::default(),
    )
    .expect("it runs");
    (device.seen(), sample.elapsed)
}

fn records(seen: &[SeenRequest]) -> Vec<Record> {
    seen.iter().map(|seen| seen.record).collect()
}

/// Replays records on a device without verifying.
fn replayed(
    device: &dyn Device,
    records: &[Record],
    pace: Pace<'_>,
    depth: u32,
) -> Result<ReplayResult, Error> {
    let info = device.info();
    let fit = Fit::new(records, None, (info.size_bytes, info.block_bytes), Rule::Keep).unwrap();
    let replay = Replay { records, fit: &fit, pace, speed: 1, depth, known: None };
    engine::run(device, &Reactor::virtual_clock(), replay, &|_| false)
}

/// The requests of each stream in the order of their answers.
fn answers(records: &[Record]) -> HashMap<u32, Vec<(u64, u32)>> {
    let mut answers: HashMap<u32, Vec<(u64, u32)>> = HashMap::new();
    for (request, record) in (0_u32..).zip(records) {
        let at = record.time_nanoseconds + record.latency_nanoseconds.unwrap();
        answers.entry(record.stream).or_default().push((at, request));
    }
    answers.values_mut().for_each(|stream| stream.sort_unstable());
    answers
}

/// Of requests that waited for another one of their slot, the share of which that one was found.
fn share_found(seen: &[SeenRequest], records: &[Record], waits: &Dependencies) -> f64 {
    let answers = answers(records);
    let mut last: HashMap<u64, u32> = HashMap::new();
    let (mut found, mut all) = (0, 0);
    for (request, seen) in (0_u32..).zip(seen) {
        if let Some(before) = last.insert(seen.tag, request) {
            let needed = waits.needs(request).0 as usize;
            all += 1;
            let its = &answers[&records[request as usize].stream];
            // Of several that come at one moment it may be any.
            let moment = |request: u32| {
                let record = &records[request as usize];
                record.time_nanoseconds + record.latency_nanoseconds.unwrap()
            };
            found += u32::from(needed > 0 && its[needed - 1].0 == moment(before));
        }
    }
    f64::from(found) / f64::from(all)
}

/// Of the load generator's own loads it is known who waited for whom. It is found out where they
/// think for less time than an answer takes (1.1 ms), and where it is known who they are; then the
/// time on a device that takes three times as long is right as well. Where many think longer and
/// are not told apart, they are taken for fewer.
#[test]
fn what_waited_for_what_is_found_in_loads_of_which_it_is_known() {
    let mut table = String::from("depth  think  known    found   on the same   on a slower one\n");
    for (depth, think, is_known) in [
        (1, 0, false),
        (1, 10_000, false),
        (4, 0, false),
        (4, 100, false),
        (4, 1000, false),
        (32, 0, false),
        (32, 100, false),
        (4, 10_000, true),
        (32, 10_000, true),
        (32, 1000, false),
        (4, 10_000, false),
        (32, 10_000, false),
    ] {
        let think = Duration::from_micros(think);
        let (seen, took) = recorded(depth, think, uneven);
        let mut records = records(&seen);
        for (record, seen) in records.iter_mut().zip(&seen) {
            record.stream = if is_known { 1 + seen.tag as u32 } else { 0 };
        }
        let waits = Dependencies::of(&records).expect("answers are known");
        let found = share_found(&seen, &records, &waits);
        let on = |delay: fn(usize) -> Duration| {
            let device = Memory::new(SIZE).delayed(delay);
            let done = replayed(&device, &records, Pace::Closed(&waits), 1024);
            done.expect("it is replayed").elapsed.as_secs_f64()
        };
        let (_, took_slower) = recorded(depth, think, slower);
        let same = on(uneven) / took.as_secs_f64();
        let other = on(slower) / took_slower.as_secs_f64();
        let think_text = format!("{think:?}");
        let _ = writeln!(
            table,
            "{depth:5}  {think_text:5}  {is_known:5}  {found:7.3}  {same:12.4}  {other:16.4}"
        );
        let is_hard = think >= Duration::from_millis(1) && depth > 4 && !is_known
            || think > Duration::from_millis(1) && depth > 1 && !is_known;
        let (least, bound) = if is_hard { (0.0, 0.6) } else { (0.99, 0.05) };
        let what = || format!("depth {depth}, think {think:?}, {is_known}\n{table}");
        assert!(found >= least, "{}", what());
        assert!((same - 1.0).abs() < 0.001, "{}", what());
        assert!((other - 1.0).abs() < bound, "{}", what());
        assert!(waits.share > 0.97, "{}", what());
    }
    println!("{table}");
}

/// Bursts of writes, each waited for as a whole, a flush behind it, and some reads one after the
/// other, as a device saw them, and how long they took.
fn bursts(delay: fn(usize) -> Duration) -> (Vec<Record>, Duration) {
    let reactor = Reactor::virtual_clock();
    let device = Recorder::over(Memory::new(SIZE).delayed(delay));
    let mut channel = device.open(64, &reactor).unwrap();
    let begin = reactor.now();
    let mut offset = 0;
    let mut next = || {
        offset = (offset + 4096) % SIZE;
        offset
    };
    let wait = |channel: &mut dyn Channel| {
        let mut done = Vec::new();
        while channel.in_flight() > 0 {
            channel.poll(&mut done);
            if channel.in_flight() > 0 {
                reactor.wait(Some(reactor.now() + Duration::from_secs(1))).unwrap();
            }
        }
    };
    for round in 0..60_u64 {
        for tag in 0..5 + round * 7 % 40 {
            let from = reactor.allocate(512).freeze();
            channel.submit(Request::new(tag, Op::Write { offset: next(), from, fua: false }));
        }
        wait(&mut *channel);
        channel.submit(Request::new(0, Op::Flush));
        wait(&mut *channel);
        for _ in 0..round % 8 {
            let into = reactor.allocate(512);
            channel.submit(Request::new(0, Op::Read { offset: next(), into }));
            wait(&mut *channel);
        }
    }
    (device.records(), reactor.now().since(begin))
}

/// What comes right after a sync waited for all of it, however many were outstanding before.
#[test]
fn bursts_that_are_waited_for_take_as_long_on_another_device() {
    let (records, took) = bursts(uneven);
    let (_, took_slower) = bursts(slower);
    let waits = Dependencies::of(&records).expect("answers are known");
    let on = |delay: fn(usize) -> Duration| {
        let device = Recorder::over(Memory::new(SIZE).delayed(delay));
        let done = replayed(&device, &records, Pace::Closed(&waits), 1024).expect("it is replayed");
        (done.elapsed.as_secs_f64(), device.records())
    };
    let (same, _) = on(uneven);
    assert!((same / took.as_secs_f64() - 1.0).abs() < 0.001, "{same} for {took:?}");
    let (other, seen) = on(slower);
    let ratio = other / took_slower.as_secs_f64();
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    // In order, and as many at one moment.
    let burst = |records: &[Record]| {
        let first =
            records.iter().filter(|one| one.time_nanoseconds == records[0].time_nanoseconds);
        first.count()
    };
    assert_eq!(burst(&seen), burst(&records));
    let operations = |records: &[Record]| -> Vec<_> {
        records.iter().map(|record| (record.op, record.offset)).collect()
    };
    assert_eq!(operations(&seen), operations(&records));
}

/// What is wrong with a replay.
#[derive(Debug, PartialEq, Eq)]
enum Flaw {
    /// A request was never made.
    Dropped(u32),
    /// A request was made before what it waited for was answered.
    Early(u32),
    /// A request was made later than it was due.
    Late(u32),
}

/// Holds what a device saw against what is to be replayed; every request has an offset of its own.
fn flaws(records: &[Record], waits: &Dependencies, seen: &[Record]) -> Vec<Flaw> {
    let made: HashMap<u64, &Record> = seen.iter().map(|record| (record.offset, record)).collect();
    let made = |record: &Record| {
        let made = made.get(&record.offset).copied()?;
        Some(Record { stream: record.stream, ..*made })
    };
    let all: Vec<Record> = records.iter().filter_map(made).collect();
    let answers = answers(&all);
    let mut flaws = Vec::new();
    for (request, record) in (0_u32..).zip(records) {
        let (needed, gap) = waits.needs(request);
        let Some(own) = made(record) else {
            flaws.push(Flaw::Dropped(request));
            continue;
        };
        let event = match needed {
            0 => 0,
            needed => answers[&record.stream][needed as usize - 1].0,
        };
        if own.time_nanoseconds < event + gap {
            flaws.push(Flaw::Early(request));
        } else if own.time_nanoseconds > event + gap + LATE.as_nanos() as u64 {
            flaws.push(Flaw::Late(request));
        }
    }
    flaws
}

/// Reads at offsets of their own, in two streams that think.
fn two_streams() -> Vec<Record> {
    (0..400_u64)
        .map(|number| Record {
            time_nanoseconds: number * 700_000,
            // Both streams have begun before anything is answered.
            latency_nanoseconds: Some(300_000 + (number + 6) % 7 * 100_000),
            op: RecordedOp::Read,
            fua: false,
            offset: number * 4096,
            length: 4096,
            stream: 1 + (number % 2) as u32,
        })
        .collect()
}

#[test]
fn a_replay_drops_nothing_and_keeps_order_and_times_and_what_does_not_is_found() {
    let records = two_streams();
    let waits = Dependencies::of(&records).unwrap();
    let device = Recorder::over(Memory::new(SIZE).delayed(slower));
    replayed(&device, &records, Pace::Closed(&waits), 1024).expect("it is replayed");
    let seen = device.records();
    assert_eq!(flaws(&records, &waits, &seen), []);

    // The two streams begin at once, and each has one outstanding at a time.
    let at = |request: u64| {
        let is_it = |record: &Record| record.offset == request * 4096;
        seen.iter().position(is_it).expect("it was made")
    };
    let mut dropped = seen.clone();
    dropped.remove(at(399));
    assert_eq!(flaws(&records, &waits, &dropped), [Flaw::Dropped(399)]);
    let mut early = seen.clone();
    early[at(100)].time_nanoseconds = early[at(98)].time_nanoseconds;
    assert!(flaws(&records, &waits, &early).contains(&Flaw::Early(100)));
    let mut late = seen.clone();
    late[at(100)].time_nanoseconds += 5_000_000;
    assert!(flaws(&records, &waits, &late).contains(&Flaw::Late(100)));
}

#[test]
fn open_keeps_the_times_and_fast_keeps_the_depth() {
    let records = two_streams();
    let device = Recorder::over(Memory::new(SIZE).delayed(slower));
    let done = replayed(&device, &records, Pace::Open, 1024).unwrap();
    assert_eq!((done.late, done.latest), (0, Duration::ZERO));
    let times = |records: &[Record]| -> Vec<u64> {
        records.iter().map(|record| record.time_nanoseconds).collect()
    };
    assert_eq!(times(&device.records()), times(&records));

    let device = Memory::new(SIZE).delayed(|_| Duration::from_millis(2));
    let done = replayed(&device, &records, Pace::Fast, 8).unwrap();
    assert_eq!(device.most_in_flight(), 8);
    assert_eq!(done.elapsed, Duration::from_millis(100), "400 requests of 2 ms, 8 at a time");
}

/// The recording as lines that are read.
fn written(folder: &Path, records: &[Record]) -> std::path::PathBuf {
    let mut text = String::from("time,op,offset,length,latency,stream\n");
    for record in records {
        let op = match record.op {
            RecordedOp::Read => "read",
            RecordedOp::Write => "write",
            RecordedOp::WriteZeroes => "zeroes",
            RecordedOp::Discard => "discard",
            RecordedOp::Flush => "flush",
        };
        let seconds = |nanoseconds: u64| {
            format!("{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
        };
        let _ = writeln!(
            text,
            "{},{op},{},{},{},{}",
            seconds(record.time_nanoseconds),
            record.offset,
            record.length,
            record.latency_nanoseconds.map_or(String::new(), seconds),
            record.stream
        );
    }
    let path = folder.join("test.csv");
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs the suite on a file.
fn suite(
    target: &dyn Device,
    file: &Path,
    change: &[(&str, Value)],
) -> Result<(Row, String), Error> {
    let reactor = Reactor::virtual_clock();
    let (stop, ticker, mut meter, mut observer) =
        (AtomicBool::new(false), Ticker::new(), NoAudit, NoProgress);
    let mut settings = SUITE.defaults(Clock::Virtual);
    let file = ("file", Value::from(file.to_string_lossy().into_owned()));
    for (name, value) in [file].iter().chain(change) {
        settings.set(&SUITE, name, value.clone()).map_err(invalid)?;
    }
    let mut session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut observer);
    (SUITE.run)(Target::Device(target), &settings, &mut session)?;
    let row = session.into_rows().remove(0);
    let notes = row.measured().map(|measured| format!("{:?}", measured.done.notes));
    Ok((row, notes.unwrap_or_default()))
}

fn record(op: RecordedOp, offset: u64, length: u64) -> Record {
    Record {
        time_nanoseconds: 0,
        latency_nanoseconds: Some(1000),
        op,
        fua: false,
        offset,
        length,
        stream: 0,
    }
}

/// So many requests, one after the other.
fn in_turn(requests: &[(RecordedOp, u64, u64)]) -> Vec<Record> {
    let at = |(number, &(op, offset, length)): (u64, &(RecordedOp, u64, u64))| Record {
        time_nanoseconds: number * 10_000,
        ..record(op, offset, length)
    };
    (0_u64..).zip(requests).map(at).collect()
}

use RecordedOp::{Discard, Flush, Read, WriteZeroes};

#[test]
fn a_row_has_reads_and_writes_apart_and_names_its_slowest_parts() {
    let folder = tempfile::tempdir().unwrap();
    let (seen, _) = recorded(4, Duration::ZERO, uneven);
    let file = written(folder.path(), &records(&seen));
    let memory = Memory::new(SIZE).delayed(uneven);
    let (row, notes) = suite(&memory, &file, &[]).expect("it runs");
    let metrics = row.measured().unwrap().metrics();
    assert!((metrics["operations_count"] - 2000.0).abs() < 0.5);
    let sides = metrics["read_operations_count"] + metrics["write_operations_count"];
    assert!((sides - 2000.0).abs() < 0.5);
    for name in ["latency_p50_seconds", "read_latency_p99_seconds", "durable_io_per_second"] {
        assert!(metrics.contains_key(name), "{name}");
    }
    assert!(notes.contains("ReplayedWaits"), "{notes}");
    assert!(!notes.contains("ReplayBehind"), "{notes}");
    let windows = row.measured().unwrap().done.notes.iter().find_map(|note| match note {
        Doubt::ReplayedWindows { windows } => Some(windows.clone()),
        _ => None,
    });
    let windows = windows.expect("they are there");
    assert_eq!(windows.len(), 20);
    assert_eq!(windows.iter().map(|window| window.requests).sum::<u64>(), 2000);
    let worst = results::doubt::worst_windows(&windows, 3);
    assert!(windows.iter().all(|window| window.p99_seconds <= worst[0].p99_seconds));
}

/// A window of the recording that a target is slow in is the one that is named.
#[test]
fn the_slow_part_is_the_one_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &two_streams());
    let delay = |number: usize| match number {
        200..240 => Duration::from_millis(30),
        _ => Duration::from_micros(100),
    };
    let memory = Memory::new(SIZE).delayed(delay);
    let change = [("mode", Value::word("open")), ("operations", Value::word("reads"))];
    let (row, _) = suite(&memory, &file, &change).expect("it runs");
    let notes = &row.measured().unwrap().done.notes;
    let Some(Doubt::ReplayedWindows { windows }) = notes.last() else { panic!("{notes:?}") };
    let worst = results::doubt::worst_windows(windows, 2);
    // 400 requests of 0.7 ms: the 200th is in the middle.
    assert!(worst.iter().all(|window| (0.139..0.17).contains(&window.seconds[0])), "{worst:?}");
    assert!((worst[0].p99_seconds - 0.03).abs() < 1e-6);
}

#[test]
fn an_open_replay_that_cannot_keep_up_has_no_vote() {
    let folder = tempfile::tempdir().unwrap();
    let many: Vec<Record> = (0..3000).map(|_| record(Read, 0, 512)).collect();
    let file = written(folder.path(), &many);
    let memory = Memory::new(SIZE).delayed(|_| Duration::from_millis(20));
    let change = [("mode", Value::word("open")), ("operations", Value::word("reads"))];
    let (row, _) = suite(&memory, &file, &change).expect("it runs");
    let notes = &row.measured().unwrap().done.notes;
    let behind = notes.iter().find(|note| note.bearing() == Bearing::NoVote);
    let Some(Doubt::ReplayBehind { requests, of, longest_seconds }) = behind else {
        panic!("{notes:?}")
    };
    assert_eq!((*requests, *of), (3000 - u64::from(OPEN_DEPTH), 3000));
    assert!((longest_seconds - 0.04).abs() < 1e-6);
}

/// Contents are the program's own: what does not come back as it was written is found, by the
/// request that read it.
#[test]
fn wrong_data_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let requests = [
        (RecordedOp::Write, 0, 8192),
        (Read, 4096, 4096),
        (WriteZeroes, 0, 4096),
        (Read, 0, 8192),
        (Discard, 8192, 4096),
        (Read, 8192, 4096),
    ];
    let file = written(folder.path(), &in_turn(&requests));
    let run = |fault: Option<(usize, Fault)>, prepare: u64| {
        let memory = Memory::new(SIZE).with(|info| {
            info.zeroes = block::Support::Native;
            info.discard = block::DiscardSupport::Indeterminate;
        });
        if let Some((ahead, fault)) = fault {
            memory.plant(ahead, fault);
        }
        suite(&memory, &file, &[("prepare", Value::Bytes(prepare))])
    };
    run(None, 0).expect("nothing is wrong");
    run(None, 1 << 20).expect("nothing is wrong");
    for (ahead, fault) in [(0, Fault::Lost), (0, Fault::Flipped(4096)), (1, Fault::Flipped(0))] {
        let error = run(Some((ahead, fault)), 0).expect_err("wrong data").to_string();
        assert!(error.contains("request 2, a read of 4096 bytes at offset 4096"), "{error}");
    }
}

/// Of requests that touch the same bytes at once nobody knows which was first: that is no fault.
#[test]
fn what_overlaps_in_flight_is_not_taken_for_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let at_once = |number: u64| {
        let op = if number.is_multiple_of(3) { Read } else { RecordedOp::Write };
        Record { time_nanoseconds: number * 300, ..record(op, number % 4 * 512, 4096) }
    };
    let file = written(folder.path(), &(0..500).map(at_once).collect::<Vec<_>>());
    for mode in ["open", "closed", "fast"] {
        let memory = Memory::new(SIZE).delayed(uneven);
        let change = [("mode", Value::word(mode))];
        suite(&memory, &file, &change).expect(mode);
    }
}

#[test]
fn what_the_target_does_not_know_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = in_turn(&[
        (RecordedOp::Write, 0, 4096),
        (WriteZeroes, 0, 4096),
        (Discard, 0, 4096),
        (Discard, 0, 4096),
        (Flush, 0, 0),
        (Read, 0, 4096),
    ]);
    all[0].fua = true;
    let file = written(folder.path(), &all);
    let memory = Memory::new(SIZE);
    let (row, notes) = suite(&memory, &file, &[]).expect("it runs");
    for said in ["Zeroes, requests: 1", "Discard, requests: 2"] {
        assert!(notes.contains(said), "{notes}");
    }
    assert_eq!(row.measured().unwrap().done.operations, 3);
    assert!(memory.log().iter().any(|(name, _, _)| *name == "flush"));
}

#[test]
fn what_is_no_recording_to_replay_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str, change: &[(&str, Value)]| {
        let path = folder.path().join("test.csv");
        std::fs::write(&path, text).unwrap();
        let memory = Memory::new(1 << 20);
        let error = suite(&memory, &path, change).expect_err(text).to_string();
        assert_eq!(memory.log(), [], "{text}: nothing was asked of the target");
        assert!(!error.contains('\n'), "{error}");
        error
    };
    let head = "time,op,offset,length,latency\n";
    let error = refused(head, &[]);
    assert!(error.contains("no request"), "{error}");
    let error = refused("time,op,offset,length\n0,read,0,512\n1,read,0,512\n", &[]);
    assert!(error.contains("when requests were answered"), "{error}");
    let error =
        refused(&format!("{head}0,write,0,512,0.1\n"), &[("operations", Value::word("reads"))]);
    assert!(error.contains("no read in it"), "{error}");
    let error = refused(&format!("{head}0,read,0,2097152,0.1\n"), &[]);
    assert!(error.contains("longer than the target"), "{error}");
    let far = format!("{head}0,read,900000000000,512,0.1\n");
    let error = refused(&far, &[("fit", Value::word("exact"))]);
    assert!(error.contains("fit = \"keep\""), "{error}");
    let error = check_file("").unwrap_err().to_string();
    assert!(error.contains("file = "), "{error}");
    assert!(check_file("/no/such/file").is_err());
}

/// What could not be read of a recording is counted.
#[test]
fn a_recording_that_is_not_whole_is_replayed_and_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.csv");
    let text =
        "time,op,offset,length,latency\n0,read,0,512,0.1\n1,read,0,0,0.1\n2,read,0,512,0.1\n";
    std::fs::write(&path, text).unwrap();
    let (row, _) = suite(&Memory::new(1 << 20), &path, &[]).expect("it runs");
    let done = &row.measured().unwrap().done;
    let damaged = Doubt::RecordingDamaged { skipped: 1, lost: 0, is_cut_off: false };
    assert!(done.operations == 2 && done.notes.contains(&damaged), "{:?}", done.notes);
}

/// A recording of nothing but flushes is one.
#[test]
fn only_flushes_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &in_turn(&[(Flush, 0, 0); 7]));
    let memory = Memory::new(1 << 20);
    let (row, _) = suite(&memory, &file, &[]).expect("it runs");
    assert_eq!(row.measured().unwrap().done.operations, 7);
}

/// Longer requests than the target takes go in parts, which count as one.
#[test]
fn a_long_request_goes_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &in_turn(&[(RecordedOp::Write, 0, 1 << 20), (Read, 0, 512)]));
    let memory = Memory::new(SIZE).with(|info| info.max_request_bytes = 256 << 10);
    let change = [("prepare", Value::Bytes(0))];
    let (row, _) = suite(&memory, &file, &change).expect("it runs");
    let done = &row.measured().unwrap().done;
    assert_eq!((done.operations, done.written_bytes), (2, 1 << 20));
    assert_eq!(memory.log().iter().filter(|(name, _, _)| *name == "write").count(), 4);
}

/// The addresses are made to fit, and the row says so.
#[test]
fn a_target_that_is_smaller_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let requests = [(Read, 0, 4096), (Read, 900 << 20, 4096)];
    let file = written(folder.path(), &in_turn(&requests));
    let memory = Memory::new(2 << 20);
    let (row, _) = suite(&memory, &file, &[]).expect("it runs");
    let fitted = Doubt::AddressesFitted {
        fit: AddressFit::Narrowed,
        span_bytes: Some([(900 << 20) + 4096, (1 << 20) + 4096]),
    };
    assert!(row.measured().unwrap().done.notes.contains(&fitted));
}

#[test]
fn a_device_that_is_only_read_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &in_turn(&[(RecordedOp::Write, 0, 4096), (Read, 0, 4096)]));
    let memory = Memory::new(4 << 20).with(|info| info.read_only = true);
    let (row, _) = suite(&memory, &file, &[]).expect("left out, which is no error");
    assert!(row.measured().is_none());
    assert_eq!(memory.log(), []);
    let change = [("operations", Value::word("reads"))];
    let (row, _) = suite(&memory, &file, &change).expect("it runs");
    assert_eq!(row.measured().unwrap().done.operations, 1);
    assert_eq!(memory.log(), [("read", 0, 4096)]);
    let mut settings = SUITE.defaults(Clock::Wall);
    settings.set(&SUITE, "operations", Value::word("reads")).unwrap();
    assert!(!phase(&settings).writes && (SUITE.prepared_bytes)(&settings, Some(1 << 30)) == 0);
}
