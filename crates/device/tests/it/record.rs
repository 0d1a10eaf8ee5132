//! The recorder: it changes nothing, and what it wrote is what was asked.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use block::{Buf, BufMut, Channel, Device, ErrorKind, Op, Reactor, Request};
use device::model::{Links, ModelDevice, ModelOptions};
use device::{RamDevice, RecordDevice};
use testkit::conformance;
use trace::{ReadOptions, Reader, Record, RecordedOp};

fn ram() -> Arc<dyn Device> {
    Arc::new(RamDevice::new(96 << 10, 512).expect("a device"))
}

fn recorder(below: Arc<dyn Device>) -> (RecordDevice, File) {
    let file = tempfile::tempfile().expect("a file");
    let device = RecordDevice::new(
        below,
        file.try_clone().expect("a second handle"),
        Path::new("run.trace"),
    )
    .expect("a recorder");
    (device, file)
}

fn records(mut file: File) -> (Vec<Record>, bool) {
    file.seek(SeekFrom::Start(0)).expect("it is a file");
    let mut reader = Reader::new(file, &ReadOptions::default()).expect("a trace");
    let records = reader.by_ref().map(|record| record.expect("no damage")).collect();
    (records, reader.is_complete())
}

#[test]
fn it_keeps_the_contract() {
    for seed in 0..3 {
        conformance::run(|| Arc::new(recorder(ram()).0), Reactor::virtual_clock, seed)
            .unwrap_or_else(|violation| panic!("{violation}"));
    }
    conformance::run(|| Arc::new(recorder(ram()).0), || Reactor::wall().expect("an io_uring"), 1)
        .unwrap_or_else(|violation| panic!("{violation}"));
}

fn data(bytes: usize) -> Buf {
    BufMut::zeroed(bytes).freeze()
}

fn run(channel: &mut dyn Channel, op: Op) {
    channel.submit(Request::new(1, op));
    channel.poll(&mut Vec::new());
}

#[test]
fn what_was_asked_is_in_the_trace() {
    let (device, file) = recorder(ram());
    let reactor = Reactor::virtual_clock();
    reactor.wait(Some(reactor.now() + Duration::from_secs(9))).expect("no kernel");
    let mut channel = device.open(4, &reactor).expect("a channel");
    run(&mut *channel, Op::Read { offset: 4096, into: BufMut::zeroed(1024) });
    reactor.wait(Some(reactor.now() + Duration::from_millis(2))).expect("no kernel");
    run(&mut *channel, Op::Write { offset: 5120, from: data(1024), fua: true });
    run(&mut *channel, Op::Write { offset: 100, from: data(1024), fua: true });
    run(&mut *channel, Op::WriteZeroes { offset: 0, length: 512, fua: false });
    run(&mut *channel, Op::Discard { offset: 512, length: 65536 });
    run(&mut *channel, Op::Flush);
    // A later channel goes on where the trace is, whatever its own reactor's clock says.
    let other = Reactor::virtual_clock();
    let mut second = device.open(1, &other).expect("a channel");
    other.wait(Some(other.now() + Duration::from_millis(1))).expect("no kernel");
    run(&mut *second, Op::Read { offset: 0, into: BufMut::zeroed(512) });
    assert!(device.failure().is_none());
    drop((device, channel, second));

    let record = |ms: u64, op, fua, offset, length| Record {
        time_nanoseconds: ms * 1_000_000,
        latency_nanoseconds: Some(0),
        op,
        fua,
        offset,
        length,
        stream: if ms < 3 { 1 } else { 2 },
    };
    let expected = vec![
        record(0, RecordedOp::Read, false, 4096, 1024),
        record(2, RecordedOp::Write, true, 5120, 1024),
        record(2, RecordedOp::WriteZeroes, false, 0, 512),
        record(2, RecordedOp::Discard, false, 512, 65536),
        record(2, RecordedOp::Flush, false, 0, 0),
        record(3, RecordedOp::Read, false, 0, 512),
    ];
    assert_eq!(records(file), (expected, true), "and what the device refused is not among them");
}

#[test]
fn modelled_disks_can_be_recorded() {
    let disk = ModelDevice::load("st340015a", &ModelOptions::default(), 1, &Links::default())
        .expect("a model");
    let (device, file) = recorder(Arc::new(disk));
    let reactor = Reactor::virtual_clock();
    let mut channel = device.open(1, &reactor).expect("a channel");
    for block in 0..40_u64 {
        channel.submit(Request::new(
            block,
            Op::Read { offset: block * (7919 << 12), into: BufMut::zeroed(4096) },
        ));
        let mut done = Vec::new();
        while done.is_empty() {
            reactor.wait(None).expect("no kernel");
            channel.poll(&mut done);
        }
    }
    drop((device, channel));
    let (records, complete) = records(file);
    assert!(complete && records.len() == 40);
    for pair in records.windows(2) {
        let completed =
            pair[0].latency_nanoseconds.map(|latency| pair[0].time_nanoseconds + latency);
        assert_eq!(completed, Some(pair[1].time_nanoseconds), "one after the other");
    }
    let gaps: Vec<u64> = records
        .windows(2)
        .map(|pair| pair[1].time_nanoseconds - pair[0].time_nanoseconds)
        .collect();
    assert!(gaps.iter().all(|&gap| gap > 100_000), "a disk of 2004 takes its time: {gaps:?}");
}

#[test]
fn what_never_completed_is_in_the_trace_without_a_time() {
    let (device, file) = recorder(ram());
    let reactor = Reactor::virtual_clock();
    let mut first = device.open(1, &reactor).expect("a channel");
    // Its completion is never asked for.
    first.submit(Request::new(1, Op::Read { offset: 8192, into: BufMut::zeroed(4096) }));
    let mut second = device.open(1, &reactor).expect("a channel");
    run(&mut *second, Op::Read { offset: 4096, into: BufMut::zeroed(4096) });
    drop((device, first, second));
    let (records, complete) = records(file);
    let told: Vec<_> = records
        .iter()
        .map(|record| (record.offset, record.stream, record.latency_nanoseconds))
        .collect();
    assert_eq!((told, complete), (vec![(8192, 1, None), (4096, 2, Some(0))], true));
}

#[test]
fn a_trace_has_its_end_whenever_no_channel_is_open() {
    let (device, file) = recorder(ram());
    let reactor = Reactor::virtual_clock();
    for count in 1..4 {
        let mut channel = device.open(1, &reactor).expect("a channel");
        run(&mut *channel, Op::Read { offset: 4096 * count, into: BufMut::zeroed(4096) });
        drop(channel);
        let (records, complete) = records(file.try_clone().expect("a second handle"));
        assert!(complete && records.len() as u64 == count, "{records:?}");
    }
}

#[test]
fn a_stack_that_is_only_looked_at_leaves_the_file_empty() {
    let (device, file) = recorder(ram());
    drop(device);
    assert_eq!(file.metadata().expect("a file").len(), 0);
}

#[test]
fn a_file_that_holds_something_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "do not lose this").expect("a file");
    let file = File::options().read(true).write(true).open(&path).expect("a file");
    let error = RecordDevice::new(ram(), file, &path).err().expect("it is not empty");
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "do not lose this");
}

/// A run opens its stack for every trial: what it has recorded goes on, in time and in streams. A
/// device of another size begins no other trace in the same file.
#[test]
fn what_this_process_has_recorded_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.rec");
    let open = |below| {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path);
        RecordDevice::new(below, file.expect("a file"), &path)
    };
    for round in 0..3_u64 {
        let device = open(ram()).expect("a recorder");
        let reactor = Reactor::virtual_clock();
        let mut channel = device.open(1, &reactor).expect("a channel");
        reactor.wait(Some(reactor.now() + Duration::from_secs(1))).expect("no kernel");
        run(&mut *channel, Op::Write { offset: round * 4096, from: data(512), fua: false });
        drop(channel);
        drop(device);
        let (records, is_complete) = records(File::open(&path).expect("a file"));
        let told: Vec<(u64, u64, u32)> = (records.iter())
            .map(|record| (record.time_nanoseconds, record.offset, record.stream))
            .collect();
        let second = 1_000_000_000;
        let expected: Vec<(u64, u64, u32)> =
            (0..=round).map(|at| ((at + 1) * second, at * 4096, at as u32 + 1)).collect();
        assert!(is_complete && told == expected, "{told:?}");
    }
    let larger = Arc::new(RamDevice::new(128 << 10, 512).expect("a device"));
    assert_eq!(open(larger).err().map(|error| error.kind()), Some(ErrorKind::Refused));
}
