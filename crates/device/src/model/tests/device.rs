//! The modelled disk behind the pair of traits.

use std::sync::Arc;

use block::{
    Blocking, BufMut, Channel, Completion, ContractCheck, Device, ErrorKind, Op, Reactor, Request,
    ReturnedBuffer,
};
use reactor::WakeReason;

use super::super::random::Random;
use super::super::{Links, ModelDevice, ModelOptions, Operation, Parameters};

fn kept() -> ModelOptions {
    ModelOptions { keep_data: true, ..ModelOptions::default() }
}

fn device(options: &ModelOptions, seed: u64, links: &Links) -> Arc<dyn Device> {
    let device =
        ModelDevice::new("planted", &super::parameters(), options, seed, links).expect("a device");
    ContractCheck::over(Arc::new(device))
}

fn buffer(length: usize) -> BufMut {
    BufMut::zeroed(length)
}

/// Waits until the channels have nothing in flight.
fn finish(channels: &mut [Box<dyn Channel>], reactor: &Reactor) -> Vec<Completion> {
    let mut done = Vec::new();
    loop {
        for channel in channels.iter_mut() {
            channel.poll(&mut done);
        }
        if channels.iter().all(|channel| channel.in_flight() == 0) {
            return done;
        }
        let deadline = reactor.now() + std::time::Duration::from_secs(60);
        let woken = reactor.wait(Some(deadline)).expect("a reactor that works");
        assert!(!matches!(woken, WakeReason::Deadline | WakeReason::Idle), "requests never ended");
    }
}

#[test]
fn it_says_what_it_is() {
    let links = Links::default();
    let plain =
        ModelDevice::load("maxtor-6y200p0", &ModelOptions::default(), 1, &links).expect("built in");
    let info = plain.info();
    assert!(
        info.modelled
            && info.rotational
            && info.volatile_cache
            && !info.stores_data
            && !info.read_only
    );
    assert_eq!(info.size_bytes, 203_928_109_056);
    assert_eq!(plain.describe().to_string(), "model:maxtor-6y200p0");
    let options =
        ModelOptions { keep_data: true, link: Some("other".to_owned()), ..ModelOptions::default() };
    let other = ModelDevice::load("st340015a", &options, 1, &links).expect("built in");
    assert!(other.info().stores_data);
    assert_eq!(other.describe().to_string(), "model:st340015a?data=keep&link=other");
    let error = ModelDevice::load("st340016a", &options, 1, &links).err().expect("no such model");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("st340015a"), "{error}");
}

#[test]
fn one_name_cannot_stand_for_two_kinds_of_links() {
    let links = Links::default();
    ModelDevice::load("maxtor-6y200p0", &ModelOptions::default(), 1, &links).expect("built in");
    let options = ModelOptions { link: Some("pci".to_owned()), ..ModelOptions::default() };
    let error =
        ModelDevice::load("st340015a", &options, 2, &links).err().expect("another kind of link");
    assert!(error.to_string().contains("link=NAME"), "{error}");
}

/// Two channels on two disks of one link see, through the traits, just the times that the machine
/// gives.
#[test]
fn its_times_on_the_virtual_clock_are_the_machines() {
    let parameters = super::parameters();
    let mut machine = super::machine(&parameters, 2);
    let links = Links::default();
    let reactor = Reactor::virtual_clock();
    let mut channels: Vec<Box<dyn Channel>> = (1..=2)
        .map(|seed| {
            device(&ModelOptions::default(), seed, &links).open(1, &reactor).expect("a channel")
        })
        .collect();
    let mut random = Random::new(5);
    let mut now = 0;
    for tag in 0..500 {
        let length = 512 * (1 + random.below(64));
        let offset = if tag % 3 == 0 { tag * 65536 } else { random.below(1 << 20) * 4096 };
        let write = random.below(2) == 0;
        for (disk, channel) in channels.iter_mut().enumerate() {
            let op = if write {
                machine.submit(now, disk, 0, tag, Operation::Write { offset, length, fua: false });
                Op::Write { offset, from: buffer(length as usize).freeze(), fua: false }
            } else {
                machine.submit(now, disk, 0, tag, Operation::Read { offset, length });
                Op::Read { offset, into: buffer(length as usize) }
            };
            channel.submit(Request::new(tag, op));
        }
        let mut answers = 0;
        while answers < 2 {
            let next = machine.next().expect("requests in flight");
            machine.advance(next, &mut |answer| {
                answers += 1;
                now = answer.time;
            });
        }
        let done = finish(&mut channels, &reactor);
        assert!(
            done.len() == 2
                && done.iter().all(|completion| completion.tag == tag && completion.result.is_ok())
        );
        assert_eq!(reactor.now().nanoseconds(), now, "request {tag}");
    }
}

#[test]
fn it_keeps_data_only_when_told_to() {
    let reactor = Reactor::virtual_clock();
    let links = Links::default();
    let device = device(&kept(), 1, &links);
    let mut channel = Blocking::open(&*device, &reactor).expect("a channel");
    let far = device.info().size_bytes - 4096;
    channel.write_slice(far, &[7; 4096]).expect("a write");
    let mut found = [0; 8192];
    channel.read_slice(far - 4096, &mut found).expect("a read");
    assert_eq!(found, [[0; 4096], [7; 4096]].concat()[..]);
}

#[test]
fn it_keeps_the_contract() {
    for (number, parameters) in super::variants().into_iter().enumerate() {
        let mut parameters = parameters;
        parameters.disk.capacity.value = 64 << 20;
        let make = || -> Arc<dyn Device> {
            Arc::new(
                ModelDevice::new("planted", &parameters, &kept(), 3, &Links::default())
                    .expect("a device"),
            )
        };
        if let Err(violation) =
            testkit::conformance::run(make, Reactor::virtual_clock, number as u64)
        {
            panic!("variant {number}: {violation}");
        }
    }
}

/// Phases of a benchmark each have a reactor of their own, whose time begins at zero: the disk goes
/// on where it was.
#[test]
fn it_goes_on_where_it_was_when_it_is_opened_on_another_reactor() {
    let links = Links::default();
    let device = device(&ModelOptions::default(), 1, &links);
    let miss = || {
        let reactor = Reactor::virtual_clock();
        let mut channels = [device.open(1, &reactor).expect("a channel")];
        channels[0].submit(Request::new(0, Op::Read { offset: 1 << 30, into: buffer(4096) }));
        assert_eq!(finish(&mut channels, &reactor).len(), 1);
        reactor.now().nanoseconds()
    };
    let (first, second) = (miss(), miss());
    assert!(first > 1_000_000, "the platters must turn: {first} ns");
    assert!(second < 1_000_000, "what was just read is in the buffer: {second} ns");
}

#[test]
fn a_channel_that_is_dropped_leaves_nothing_for_the_next() {
    let links = Links::default();
    let device = device(&ModelOptions::default(), 1, &links);
    let reactor = Reactor::virtual_clock();
    for round in 0..20 {
        let mut abandoned = device.open(4, &reactor).expect("a channel");
        for tag in 0..4 {
            abandoned.submit(Request::new(
                tag,
                Op::Read { offset: (tag + round) << 30, into: buffer(4096) },
            ));
        }
        drop(abandoned);
        let mut channels = [device.open(1, &reactor).expect("a channel")];
        channels[0].submit(Request::new(99, Op::Flush));
        let done = finish(&mut channels, &reactor);
        assert_eq!(done.iter().map(|completion| completion.tag).collect::<Vec<_>>(), [99]);
    }
}

#[test]
fn what_it_cannot_take_ends_as_an_error() {
    let links = Links::default();
    // Not through `Checked`, which would find the mistake first.
    let device =
        ModelDevice::new("planted", &super::parameters(), &ModelOptions::default(), 1, &links)
            .expect("a device");
    let reactor = Reactor::virtual_clock();
    let mut channels = [device.open(4, &reactor).expect("a channel")];
    let end = device.info().size_bytes;
    channels[0].submit(Request::new(0, Op::Read { offset: end, into: buffer(512) }));
    channels[0].submit(Request::new(1, Op::Read { offset: 0, into: buffer(512) }));
    channels[0].submit(Request::new(2, Op::Discard { offset: 0, length: 512 }));
    assert_eq!(channels[0].in_flight(), 3);
    let mut done = finish(&mut channels, &reactor);
    done.sort_by_key(|completion| completion.tag);
    let kinds: Vec<_> = done
        .iter()
        .map(|completion| completion.result.as_ref().err().map(block::Error::kind))
        .collect();
    assert_eq!(kinds, [Some(ErrorKind::OutOfRange), None, Some(ErrorKind::Unsupported)]);
    assert!(matches!(done[1].buffer, ReturnedBuffer::Read(_)), "the buffer comes back");
}

#[test]
fn on_the_wall_clock_it_takes_its_time() {
    let links = Links::default();
    let device = device(&ModelOptions::default(), 1, &links);
    let reactor = Reactor::wall().expect("io_uring");
    let mut channels = [device.open(2, &reactor).expect("a channel")];
    let began = reactor.now();
    // Half a stroke away: the arm alone needs more than 5 ms.
    channels[0].submit(Request::new(
        0,
        Op::Read { offset: device.info().size_bytes / 2, into: buffer(4096) },
    ));
    assert_eq!(finish(&mut channels, &reactor).len(), 1);
    assert!(reactor.now().since(began).as_millis() >= 5);
    let virtual_clock = Reactor::virtual_clock();
    let error = device.open(1, &virtual_clock).err().expect("two clocks at a time");
    assert_eq!(error.kind(), ErrorKind::Busy);
}

/// Each with a reactor of its own, on a disk of its own.
#[test]
fn threads_share_a_link() {
    let links = Links::default();
    let devices: Vec<_> =
        (0..3).map(|seed| device(&ModelOptions::default(), seed, &links)).collect();
    std::thread::scope(|scope| {
        for device in &devices {
            scope.spawn(move || {
                let reactor = Reactor::wall().expect("io_uring");
                let mut channels = [device.open(2, &reactor).expect("a channel")];
                for tag in 0..20 {
                    channels[0].submit(Request::new(
                        tag,
                        Op::Read { offset: tag * 4096, into: buffer(4096) },
                    ));
                    assert_eq!(finish(&mut channels, &reactor).len(), 1);
                }
            });
        }
    });
}

#[test]
fn parameters_that_were_loaded_make_the_same_disk() {
    let parameters = Parameters::load("maxtor-6y200p0").expect("built in");
    let device = ModelDevice::new(
        "maxtor-6y200p0",
        &parameters,
        &ModelOptions::default(),
        1,
        &Links::default(),
    )
    .expect("a device");
    assert_eq!(device.info().size_bytes, parameters.disk.capacity.value);
}

/// Reads or writes drives in a sequence each, requests of `length` bytes, two of each in flight;
/// KiB a second of all together.
fn moved_by(parameters: &Parameters, drives: u64, length: u64, write: bool) -> f64 {
    let links = Links::default();
    let reactor = Reactor::virtual_clock();
    let mut channels: Vec<Box<dyn Channel>> = (1..=drives)
        .map(|seed| {
            ModelDevice::new("planted", parameters, &ModelOptions::default(), seed, &links)
                .expect("a device")
                .open(2, &reactor)
                .expect("a channel")
        })
        .collect();
    let mut next = vec![0; channels.len()];
    let mut ask = |channel: &mut Box<dyn Channel>, drive: usize| {
        let (offset, data) = (next[drive], buffer(length as usize));
        let op = if write {
            Op::Write { offset, from: data.freeze(), fua: false }
        } else {
            Op::Read { offset, into: data }
        };
        channel.submit(Request::new(0, op));
        next[drive] += length;
    };
    let (mut bytes, mut done) = (0, Vec::new());
    while reactor.now().nanoseconds() < 5_000_000_000 {
        for (drive, channel) in channels.iter_mut().enumerate() {
            while channel.in_flight() < 2 {
                ask(channel, drive);
            }
            channel.poll(&mut done);
        }
        bytes += done.drain(..).count() as u64 * length;
        reactor.wait(None).expect("a reactor that works");
    }
    bytes as f64 / 1024.0 / reactor.now().nanoseconds() as f64 * 1e9
}

/// The figures of two drives that calibrate what changing over costs are met, and longer requests
/// do not get past it: a drive takes no longer commands.
#[test]
fn two_drives_on_one_channel_are_slower_than_one() {
    let drive = Parameters::load("st340015a").expect("built in");
    for length in [128 << 10, 1 << 20] {
        let [one, two] = [1, 2].map(|drives| moved_by(&drive, drives, length, false));
        assert!((two / 28_791.0 - 1.0).abs() < 0.01, "{length}: {two} KiB/s");
        assert!((one / 47_355.0 - 1.0).abs() < 0.02, "{length}: {one} KiB/s");
        let [one, two] = [1, 2].map(|drives| moved_by(&drive, drives, length, true));
        assert!((two / one - 0.865).abs() < 0.02, "{length}: {two} by {one} KiB/s");
    }
    // Planted: where changing over costs nothing, what goes to the caches shares the cable, and
    // what is read takes its time on the media one after the other.
    let mut free = drive;
    free.link.switch_penalty.value = 0.0;
    free.link.write_switch_penalty = None;
    let two = moved_by(&free, 2, 128 << 10, true);
    assert!(two > 70_000.0, "{two} KiB/s");
    let two = moved_by(&free, 2, 128 << 10, false);
    assert!((40_000.0..47_000.0).contains(&two), "{two} KiB/s");
}
