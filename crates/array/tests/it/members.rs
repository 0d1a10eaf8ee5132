//! What an array does about its members: commands merged, errors named, failures planned around.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use array::{ArrayDevice, Level, ParityLevel, Raid0Layout};
use block::{
    Blocking, BufMut, Channel, Completion, ContractCheck, CountingDevice, Device, ErrorKind, Info,
    Op, Reactor, Request, ReturnedBuffer,
};
use common::{Mortal, finish, read, without_locks, write};
use reactor::{Random, WakeReason};
use testkit::{Fault, Memory};

fn memory(size_bytes: u64) -> Arc<dyn Device> {
    Arc::new(Memory::new(size_bytes))
}

fn submit(channel: &mut dyn Channel, reactor: &Reactor, op: Op) -> Completion {
    channel.submit(Request::new(7, op));
    let mut done = finish(channel, reactor);
    assert_eq!((done.len(), done[0].tag), (1, 7));
    done.remove(0)
}

#[test]
fn chunks_of_one_member_go_out_as_one_command() {
    let members: Vec<CountingDevice> =
        (0..3).map(|_| CountingDevice::over(memory(1 << 20))).collect();
    let counters: Vec<_> = members.iter().map(CountingDevice::counters).collect();
    let members = members.into_iter().map(|member| ContractCheck::over(Arc::new(member))).collect();
    let array = ArrayDevice::raid0(members, 4096, Raid0Layout::Original).expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(1, &reactor).expect("a channel");
    // 64 KiB from the middle of a chunk: 17 chunks, 6 + 6 + 5.
    for op in [read(2048, 64 << 10), write(2048, 64 << 10, 1)] {
        assert!(submit(&mut *channel, &reactor, op).result.is_ok());
    }
    for counters in &counters {
        let traffic = counters.read();
        assert_eq!((traffic.reads, traffic.writes), (1, 1));
    }
    assert_eq!(
        counters.iter().map(|counters| counters.read().written_bytes).sum::<u64>(),
        64 << 10
    );
}

#[test]
fn zones_of_unequal_members_do_not_cut_commands() {
    let members: Vec<CountingDevice> = [16 << 10, 24 << 10, 64 << 10]
        .into_iter()
        .map(|size| CountingDevice::over(memory(size)))
        .collect();
    let counters: Vec<_> = members.iter().map(CountingDevice::counters).collect();
    let members = members.into_iter().map(|member| ContractCheck::over(Arc::new(member))).collect();
    let array = ArrayDevice::raid0(members, 4096, Raid0Layout::Original).expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(1, &reactor).expect("a channel");
    let size = array.info().size_bytes;
    assert_eq!(size, 104 << 10);
    assert!(submit(&mut *channel, &reactor, read(0, size)).result.is_ok());
    assert!(
        submit(&mut *channel, &reactor, Op::Discard { offset: 4096, length: size - 4096 })
            .result
            .is_ok()
    );
    let reads: Vec<u64> = counters.iter().map(|counters| counters.read().reads).collect();
    assert_eq!(reads, [1, 1, 1]);
}

#[test]
fn an_error_names_its_member_and_the_buffer_comes_back_whole() {
    let mortal = Mortal::over(memory(1 << 20), "b.img");
    let array =
        ArrayDevice::raid0(vec![memory(1 << 20), mortal.clone()], 4096, Raid0Layout::Original)
            .expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(4, &reactor).expect("a channel");
    mortal.dies_after(0);
    for (offset, length) in [(4096, 4096), (0, 64 << 10)] {
        let mut buffer = BufMut::zeroed(length);
        let place = buffer.as_mut_slice().expect("one piece").as_ptr();
        let done = submit(&mut *channel, &reactor, Op::Read { offset, into: buffer });
        let error = done.result.expect_err("half of it is gone");
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::Gone, "member 1 (file:b.img): the device is gone")
        );
        let buffer = done.buffer.read();
        assert_eq!(
            (buffer.len(), buffer.as_slice().expect("one piece again").as_ptr()),
            (length, place)
        );
    }
    assert!(
        submit(&mut *channel, &reactor, read(0, 4096)).result.is_ok(),
        "the other member goes on"
    );
    mortal.dies_after(u64::MAX);
    assert!(
        submit(&mut *channel, &reactor, read(0, 64 << 10)).result.is_ok(),
        "an array without redundancy judges nobody"
    );
    assert_eq!(array.failed_members().count(), 0);
}

#[test]
fn several_failures_are_counted() {
    let mortals: Vec<Arc<Mortal>> =
        ["a.img", "b.img", "c.img"].map(|name| Mortal::over(memory(1 << 20), name)).into();
    let members = mortals.iter().map(|mortal| Arc::clone(mortal) as Arc<dyn Device>).collect();
    let array = ArrayDevice::raid0(members, 4096, Raid0Layout::Original).expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(1, &reactor).expect("a channel");
    mortals.iter().for_each(|mortal| mortal.dies_after(0));
    for op in [read(0, 64 << 10), Op::Flush] {
        let error =
            submit(&mut *channel, &reactor, op).result.expect_err("all are gone").to_string();
        assert_eq!(
            error,
            "member 0 (file:a.img): the device is gone (and 2 more parts of the request failed)"
        );
    }
}

/// Whether what was read may be there: `None` may be anything.
fn is_among(found: &[u8], expected: &[Option<u8>]) -> bool {
    expected.iter().zip(found).all(|(byte, found)| byte.is_none_or(|byte| byte == *found))
}

/// Random requests against an array of bytes while a member dies: what lies on it fails and says
/// so, all else is exact.
#[test]
fn only_what_lies_on_a_dead_member_fails() {
    const CHUNK: u64 = 2048;
    for seed in 0..60 {
        let mut random = Random::with_seed(seed);
        let sizes = [random.u64(8..40) * 512, random.u64(8..40) * 512, random.u64(8..40) * 512];
        let mortal = Mortal::over(
            Arc::new(Memory::new(sizes[1]).delayed(seed, Duration::from_micros(9))),
            "b.img",
        );
        let members: Vec<Arc<dyn Device>> = vec![
            ContractCheck::over(Arc::new(
                Memory::new(sizes[0]).delayed(seed + 1, Duration::from_micros(9)),
            )),
            ContractCheck::over(mortal.clone()),
            ContractCheck::over(memory(sizes[2])),
        ];
        let layout = if random.bool() { Raid0Layout::Original } else { Raid0Layout::Alternate };
        let geometry = array::geometry::Raid0::new(&sizes, CHUNK, layout);
        let array = ContractCheck::over(Arc::new(
            ArrayDevice::raid0(members, CHUNK, layout).expect("an array"),
        ));
        let reactor = Reactor::virtual_clock();
        let mut channel = array.open(8, &reactor).expect("a channel");
        let size = array.info().size_bytes;
        // `None`: a write that failed may have got this far or not.
        let mut expected: Vec<Option<u8>> = vec![Some(0); size as usize];
        mortal.dies_after(random.u64(0..60));
        let (mut failed, mut succeeded) = (0, 0);
        for round in 0..60_u64 {
            // Requests of one round do not meet: each has an eighth of the array.
            let share = size / 512 / 8 * 512;
            let mut ranges = Vec::new();
            for tag in 0..8 {
                let from = random.u64(0..share / 512) * 512;
                let length = random.u64(1..=(share - from) / 512) * 512;
                let offset = tag * share + from;
                let writes = random.bool();
                let op = match writes {
                    true => write(offset, length, (round + tag) as u8),
                    false => read(offset, length),
                };
                channel.submit(Request::new(tag, op));
                ranges.push((offset, length, writes));
            }
            for done in finish(&mut *channel, &reactor) {
                let (offset, length, writes) = ranges[done.tag as usize];
                let bytes = &mut expected[offset as usize..(offset + length) as usize];
                let what = format!("seed {seed}: {length} bytes at {offset}");
                match (done.result, done.buffer) {
                    (Ok(()), ReturnedBuffer::Read(buffer)) => {
                        let found = buffer.as_slice().expect("one piece");
                        assert!(is_among(found, bytes), "{what} are not what was written");
                        succeeded += 1;
                    }
                    (Ok(()), _) => bytes.fill(Some((round + done.tag) as u8)),
                    (Err(error), _) => {
                        let text = error.to_string();
                        assert!(text.starts_with("member 1 (file:b.img)"), "{what}: {text}");
                        let share = geometry.share(offset, length, 1);
                        assert!(share.is_some(), "{what} do not touch the dead member");
                        if writes {
                            bytes.fill(None);
                        }
                        failed += 1;
                    }
                }
            }
        }
        assert!(failed > 0 && succeeded > 0, "seed {seed}: {failed} failed, {succeeded} succeeded");
    }
}

fn parity() -> ParityLevel {
    ParityLevel::raid4(4, 64 << 10, 4096)
}

fn parity_over(memories: &[Arc<Memory>], absent: Option<usize>, level: impl Level) -> ArrayDevice {
    let members = memories.iter().enumerate().map(|(member, memory)| {
        let device: Arc<dyn Device> = memory.clone();
        (Some(member) != absent).then(|| ContractCheck::over(device))
    });
    ArrayDevice::assemble(level, members.collect()).expect("an array")
}

/// Overlapping writes on two channels; then the array is read once without each member. Whether all
/// readings are the same.
fn parity_survives_writers_that_meet<L: Level>(seed: u64, level: L) -> bool {
    let memories: Vec<Arc<Memory>> = (0..4)
        .map(|member| {
            Arc::new(Memory::new(64 << 10).delayed(seed * 4 + member, Duration::from_micros(20)))
        })
        .collect();
    let array = ContractCheck::over(Arc::new(parity_over(&memories, None, level)));
    let reactor = Reactor::virtual_clock();
    let mut random = Random::with_seed(seed);
    let mut channels = [
        array.open(16, &reactor).expect("a channel"),
        array.open(16, &reactor).expect("a channel"),
    ];
    for round in 0..30_u64 {
        for tag in 0..16 {
            for channel in &mut channels {
                let offset = random.u64(0..60) * 512;
                channel.submit(Request::new(
                    tag,
                    write(offset, random.u64(1..80) * 512, (round * 16 + tag) as u8),
                ));
            }
        }
        let mut done = Vec::new();
        loop {
            channels.iter_mut().for_each(|channel| channel.poll(&mut done));
            if channels.iter().all(|channel| channel.in_flight() == 0) {
                break;
            }
            let woken = reactor.wait(None).expect("the virtual clock does not fail");
            assert_ne!(woken, WakeReason::Idle, "seed {seed}: a row was not handed on");
        }
        assert!(done.iter().all(|done| done.result.is_ok()), "seed {seed}");
    }
    parity_is_that_of_the_data(&memories)
}

/// Reads the array once without each member.
fn parity_is_that_of_the_data(memories: &[Arc<Memory>]) -> bool {
    let reactor = Reactor::virtual_clock();
    let images = [None, Some(0), Some(1), Some(2), Some(3)].map(|absent| {
        let mut image = vec![0; 192 << 10];
        let array = parity_over(memories, absent, parity());
        Blocking::open(&array, &reactor)
            .and_then(|mut channel| channel.read_slice(0, &mut image))
            .expect("readable without one");
        image
    });
    images.iter().all(|image| *image == images[0])
}

#[test]
fn parity_holds_under_writers_that_meet() {
    for seed in 0..20 {
        assert!(
            parity_survives_writers_that_meet(seed, parity()),
            "seed {seed}: the parity is not that of the data"
        );
    }
}

#[test]
fn without_the_row_lock_it_would_not() {
    let broken = (0..5)
        .filter(|&seed| !parity_survives_writers_that_meet(seed, without_locks(parity())))
        .count();
    assert!(broken > 0, "writers never met: the test above proves nothing");
}

#[test]
fn one_bad_sector_is_read_from_the_others_and_the_member_stays() {
    let memories: Vec<Arc<Memory>> = (0..4).map(|_| Arc::new(Memory::new(64 << 10))).collect();
    let array = parity_over(&memories, None, parity());
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(2, &reactor).expect("a channel");
    assert!(submit(&mut *channel, &reactor, write(0, 24 << 10, 0x5a)).result.is_ok());
    // Once on the fast path and once in a plan of several chunks.
    for (offset, length) in [(4096, 512), (2048, 20 << 10)] {
        memories[1].fail_next(Fault::Read);
        let done = submit(&mut *channel, &reactor, read(offset, length));
        assert!(done.result.is_ok());
        assert!(done.buffer.read().as_slice().expect("one piece").iter().all(|&byte| byte == 0x5a));
    }
    assert_eq!(array.failed_members().count(), 0);
    memories[1].fail_next(Fault::Write);
    assert!(submit(&mut *channel, &reactor, write(4096, 4096, 0xa5)).result.is_ok());
    assert_eq!(
        array.failed_members().iter().collect::<Vec<_>>(),
        [1],
        "a member that does not take writes is out"
    );
    let done = submit(&mut *channel, &reactor, read(4096, 4096));
    assert!(done.buffer.read().as_slice().expect("one piece").iter().all(|&byte| byte == 0xa5));
}

#[test]
fn when_too_many_are_gone_the_first_word_is_told() {
    let mortals: Vec<Arc<Mortal>> =
        ["a.img", "b.img"].map(|name| Mortal::over(memory(64 << 10), name)).into();
    let members =
        mortals.iter().map(|mortal| Some(Arc::clone(mortal) as Arc<dyn Device>)).collect();
    let array = ArrayDevice::raid1(members).expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(1, &reactor).expect("a channel");
    mortals[0].dies_after(0);
    assert!(submit(&mut *channel, &reactor, read(0, 4096)).result.is_ok());
    mortals[1].dies_after(0);
    let error =
        submit(&mut *channel, &reactor, write(0, 2048, 1)).result.expect_err("nobody is left");
    let expected = "member 1 (file:b.img): the device is gone; members 0, 1 are not there, and the \
        rest does not make up for it";
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Gone, expected));
    // From now on no piece finds a plan, and none of several pieces sends a command.
    for op in [
        write(0, 64 << 10, 1),
        read(512, 32 << 10),
        Op::Discard { offset: 0, length: 8192 },
        Op::Flush,
    ] {
        let length = op.range().map_or(0, |(_, length)| length);
        let done = submit(&mut *channel, &reactor, op);
        match done.buffer {
            ReturnedBuffer::Read(buffer) => assert_eq!(buffer.len() as u64, length),
            ReturnedBuffer::Written(buffer) => assert_eq!(buffer.len() as u64, length),
            ReturnedBuffer::Nothing => (),
        }
        let error = done.result.expect_err("nobody is left").to_string();
        assert_eq!(error, "members 0, 1 are not there, and the rest does not make up for it");
    }
}

/// On the wall clock a channel that waits for a row sleeps, and is rung by the one that hands it
/// on.
#[test]
fn writers_on_threads_of_their_own_hand_rows_on() {
    let memories: Vec<Arc<Memory>> = (0..4).map(|_| Arc::new(Memory::new(64 << 10))).collect();
    let array = parity_over(&memories, None, parity());
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let array = &array;
            scope.spawn(move || {
                let reactor = Reactor::wall().expect("an io_uring");
                let mut channel = array.open(8, &reactor).expect("a channel");
                let mut random = Random::with_seed(seed);
                let mut done = Vec::new();
                for round in 0..200_u64 {
                    for tag in 0..8 {
                        let offset = random.u64(0..20) * 512;
                        channel.submit(Request::new(
                            tag,
                            write(offset, random.u64(1..60) * 512, (round + tag) as u8),
                        ));
                    }
                    let deadline = reactor.now() + Duration::from_secs(60);
                    loop {
                        channel.poll(&mut done);
                        if channel.in_flight() == 0 {
                            break;
                        }
                        let woken = reactor.wait(Some(deadline)).expect("the ring works");
                        assert_ne!(
                            woken,
                            WakeReason::Deadline,
                            "thread {seed}: a row was not handed on"
                        );
                    }
                    assert!(done.drain(..).all(|done| done.result.is_ok()));
                }
            });
        }
    });
    assert!(parity_is_that_of_the_data(&memories));
}

#[test]
fn a_dropped_channel_leaves_no_row_locked() {
    let memories: Vec<Arc<Memory>> = (0..4).map(|_| Arc::new(Memory::new(64 << 10))).collect();
    let array = parity_over(&memories, None, parity());
    let reactor = Reactor::virtual_clock();
    let mut first = array.open(4, &reactor).expect("a channel");
    let mut second = array.open(4, &reactor).expect("a channel");
    first.submit(Request::new(0, write(0, 4096, 1)));
    first.submit(Request::new(1, write(0, 512, 2)));
    second.submit(Request::new(0, write(0, 4096, 3)));
    drop(first);
    let done = finish(&mut *second, &reactor);
    assert!(done[0].result.is_ok());
}

#[test]
fn refusals_of_requests_do_not_cost_a_member_its_place() {
    let read_only = Memory::with(Info { read_only: true, ..Info::plain(64 << 10) });
    let members: Vec<Option<Arc<dyn Device>>> =
        vec![Some(Arc::new(read_only)), Some(memory(64 << 10))];
    let array = ArrayDevice::raid1(members).expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(1, &reactor).expect("a channel");
    let error = submit(&mut *channel, &reactor, write(0, 4096, 1))
        .result
        .expect_err("one member takes no writes");
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    assert_eq!(array.failed_members().count(), 0);
}

#[test]
fn abilities_are_those_of_the_weakest_member() {
    use block::{DiscardSupport, Support};
    let able = Memory::new(1 << 20).info().clone();
    let weak = Info {
        fua: Support::None,
        discard: DiscardSupport::Indeterminate,
        volatile_cache: true,
        max_request_bytes: 10_000,
        block_bytes: 512,
        rotational: true,
        ..able.clone()
    };
    let strong = Info { block_bytes: 4096, ..able };
    let members: Vec<Arc<dyn Device>> =
        vec![Arc::new(Memory::with(strong)), Arc::new(Memory::with(weak))];
    let array = ArrayDevice::raid0(members, 64 << 10, Raid0Layout::Original).expect("an array");
    let info = array.info();
    assert_eq!(
        (info.fua, info.zeroes, info.discard),
        (Support::None, Support::Native, DiscardSupport::Indeterminate)
    );
    assert_eq!(
        (info.block_bytes, info.max_request_bytes, info.optimal_bytes),
        (4096, 8192, 128 << 10)
    );
    assert!(info.volatile_cache && info.rotational && info.stores_data && !info.read_only);
}
