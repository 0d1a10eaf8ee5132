//! What redundancy is for: members that die or cannot read, mended and dropped, and a scrub at the
//! end of it. The mistakes that these tests are there for are planted and found.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use array::geometry::{Parity, Raid10};
use array::{
    ArrayDevice, ByteSite, Computation, Level, MirrorLevel, ParityLayout, ParityLevel, Plan,
    Raid10Layout,
};
use block::{Blocking, ContractCheck, CountingDevice, Device, ErrorKind, Reactor, Request};
use common::{Mortal, Twisted, bytes, finish, mirror_image, parity_image, read, write};
use reactor::{Random, WakeReason};
use testkit::model::{self, Load};
use testkit::{Fault, Memory};

const CHUNK: u64 = 2 << 9;
const MEMBER_BYTES: u64 = 24 << 9;

/// What lies where: to see whether members hold what they should.
#[derive(Clone, Copy)]
enum Scheme {
    Parity(Parity),
    Copies(Raid10),
}

impl Scheme {
    fn member_count(&self) -> usize {
        match self {
            Scheme::Parity(geometry) => geometry.member_count(),
            Scheme::Copies(geometry) => geometry.member_count(),
        }
    }

    fn tolerated(&self) -> usize {
        match self {
            Scheme::Parity(geometry) => geometry.parity_count(),
            Scheme::Copies(geometry) => geometry.layout().copies() as usize - 1,
        }
    }

    fn image(&self, data: &[u8]) -> Vec<Vec<u8>> {
        match self {
            Scheme::Parity(geometry) => parity_image(geometry, data),
            Scheme::Copies(geometry) => mirror_image(geometry, data, MEMBER_BYTES),
        }
    }
}

/// An array over memory that may die and go bad.
struct Bench {
    scheme: Scheme,
    memories: Vec<Arc<Memory>>,
    mortals: Vec<Arc<Mortal>>,
    array: Arc<ArrayDevice>,
}

impl Bench {
    fn new(level: impl Level, scheme: Scheme, seed: u64, absent: &[usize]) -> Bench {
        let seeds = (0..scheme.member_count() as u64).map(|member| seed * 100 + member);
        let memories: Vec<Arc<Memory>> = seeds
            .map(|seed| {
                Arc::new(Memory::new(MEMBER_BYTES).delayed(seed, Duration::from_micros(20)))
            })
            .collect();
        let mortals: Vec<Arc<Mortal>> =
            memories.iter().map(|memory| Mortal::over(memory.clone(), "mortal")).collect();
        let members = mortals.iter().enumerate().map(|(number, mortal)| {
            let member: Arc<dyn Device> = mortal.clone();
            (!absent.contains(&number)).then(|| ContractCheck::over(member))
        });
        let array = Arc::new(ArrayDevice::assemble(level, members.collect()).expect("an array"));
        Bench { scheme, memories, mortals, array }
    }

    fn checked(&self) -> Arc<dyn Device> {
        ContractCheck::over(Arc::clone(&self.array) as Arc<dyn Device>)
    }

    /// Whether every member that is not out holds what it should, by what the array reads as.
    fn scrub(&self) -> Result<(), String> {
        let data = bytes(&*self.array);
        let failed = self.array.failed_members();
        for (member, expected) in self
            .scheme
            .image(&data)
            .iter()
            .enumerate()
            .filter(|(member, _)| !failed.contains(*member))
        {
            let found = bytes(&*self.memories[member]);
            if let Some(at) = (0..expected.len()).find(|&at| found[at] != expected[at]) {
                return Err(format!(
                    "member {member} at {at}: {:#04x} instead of {:#04x}",
                    found[at], expected[at]
                ));
            }
        }
        Ok(())
    }
}

fn raid5(layout: ParityLayout) -> (ParityLevel, Scheme) {
    let level = ParityLevel::raid5(4, MEMBER_BYTES, CHUNK, layout);
    let scheme = Scheme::Parity(*level.geometry());
    (level, scheme)
}

fn raid6(layout: ParityLayout) -> (ParityLevel, Scheme) {
    let level = ParityLevel::raid6(5, MEMBER_BYTES, CHUNK, layout);
    let scheme = Scheme::Parity(*level.geometry());
    (level, scheme)
}

fn raid10(members: usize, name: &str) -> (MirrorLevel, Scheme) {
    let geometry =
        Raid10::new(members, MEMBER_BYTES, CHUNK, Raid10Layout::from_name(name).expect("a layout"));
    (MirrorLevel::raid10(geometry), Scheme::Copies(geometry))
}

fn raid1(members: usize) -> (MirrorLevel, Scheme) {
    let geometry =
        Raid10::new(members, MEMBER_BYTES, MEMBER_BYTES, Raid10Layout::near(members as u32));
    (MirrorLevel::raid1(members, MEMBER_BYTES), Scheme::Copies(geometry))
}

/// Random requests while as many members as may be die one by one, or one has bad places; then a
/// scrub.
fn survive<L: Level>(make: impl Fn() -> (L, Scheme), seed: u64) -> Result<(), String> {
    let (level, scheme) = make();
    let mut random = Random::with_seed(seed);
    let mut order: Vec<usize> = (0..scheme.member_count()).collect();
    random.shuffle(&mut order);
    let absent_count = random.usize(0..=scheme.tolerated());
    let (absent, rest) = order.split_at(absent_count);
    let bench = Bench::new(level, scheme, seed, absent);
    let (dying, rest) = rest.split_at(random.usize(0..=scheme.tolerated() - absent_count));
    dying.iter().for_each(|&member| bench.mortals[member].dies_after(random.u64(0..400)));
    if absent_count + dying.len() < scheme.tolerated() {
        (0..8)
            .for_each(|_| bench.mortals[rest[0]].goes_bad(random.u64(0..MEMBER_BYTES / 512) * 512));
    }
    let load = Load { requests: 400, depth: 8, channels: 2, longest_blocks: 9 };
    model::drive(&bench.checked(), &Reactor::virtual_clock(), &load, seed)
        .map_err(|violation| violation.to_string())?;
    bench
        .scrub()
        .map_err(|text| format!("{text} (seed {seed}, absent {absent:?}, dying {dying:?})"))
}

#[test]
fn whatever_may_fail_nothing_is_lost() {
    for seed in 0..12 {
        for &layout in ParityLayout::RAID5 {
            survive(|| raid5(layout), seed)
                .unwrap_or_else(|text| panic!("raid5 {}: {text}", layout.name()));
        }
        for &layout in ParityLayout::RAID6 {
            survive(|| raid6(layout), seed)
                .unwrap_or_else(|text| panic!("raid6 {}: {text}", layout.name()));
        }
        for (members, name) in
            [(3, "n2"), (4, "n3"), (3, "f2"), (4, "f3"), (3, "o2"), (5, "n2f2"), (4, "n2o2")]
        {
            survive(|| raid10(members, name), seed)
                .unwrap_or_else(|text| panic!("raid10 {name}: {text}"));
        }
        survive(|| raid1(3), seed).unwrap_or_else(|text| panic!("raid1: {text}"));
    }
}

/// Which seeds find a mistake.
fn found<L: Level>(make: impl Fn() -> (L, Scheme), twist: fn(&mut Plan)) -> usize {
    let twisted = || {
        let (level, scheme) = make();
        (Twisted { twist, ..Twisted::straight(level) }, scheme)
    };
    (0..12).filter(|&seed| survive(twisted, seed).is_err()).count()
}

#[test]
fn parity_that_is_not_written_is_found() {
    let skip: fn(&mut Plan) = |plan| {
        plan.write.retain(|access| {
            !matches!(access.content, array::Content::Bytes(ByteSite::Scratch { .. }))
        });
    };
    assert!(found(|| raid5(ParityLayout::LeftSymmetric), skip) > 6);
    assert!(found(|| raid6(ParityLayout::LeftSymmetric), skip) > 6);
}

#[test]
fn a_wrong_order_in_q_is_found() {
    let reverse: fn(&mut Plan) = |plan| {
        for step in &plan.compute {
            if let Computation::Parity { first, count, q: Some(_), .. } = *step {
                plan.sources[first..first + count].reverse();
            }
        }
    };
    assert!(found(|| raid6(ParityLayout::LeftSymmetric), reverse) > 6);
    assert!(found(|| raid6(ParityLayout::DdfNRestart), reverse) > 6);
    let other_coefficient: fn(&mut Plan) = |plan| {
        for step in &mut plan.compute {
            if let Computation::MultiplyXor { coefficient, .. } = step {
                *coefficient = array::parity::double(*coefficient);
            }
        }
    };
    assert!(found(|| raid6(ParityLayout::LeftAsymmetric), other_coefficient) > 6);
}

#[test]
fn a_copy_that_is_not_written_is_found() {
    let skip: fn(&mut Plan) = |plan| {
        if plan.write.len() > 1 {
            plan.write.pop();
        }
    };
    assert!(found(|| raid1(3), skip) > 6 && found(|| raid10(4, "f2"), skip) > 6);
}

#[test]
fn rows_that_are_not_locked_are_found() {
    assert!(found(|| raid5(ParityLayout::LeftSymmetric), |plan| plan.lock = None) > 6);
    assert!(found(|| raid6(ParityLayout::LeftSymmetric), |plan| plan.lock = None) > 6);
    assert!(found(|| raid1(3), |plan| plan.lock = None) > 3);
}

/// Writes in flight when their channel is dropped. Whether the rows are whole afterwards.
fn rows_are_whole_after_a_drop<L: Level>(
    make: impl Fn() -> (L, Scheme),
    seed: u64,
) -> Result<(), String> {
    let (level, scheme) = make();
    let bench = Bench::new(level, scheme, seed, &[]);
    let reactor = Reactor::virtual_clock();
    let mut random = Random::with_seed(seed);
    let size = bench.array.info().size_bytes;
    let mut other = bench.array.open(4, &reactor).expect("a channel");
    for round in 0..6 {
        let mut dropped = bench.array.open(8, &reactor).expect("a channel");
        for tag in 0..8_u64 {
            let length = random.u64(1..12) * 512;
            let offset = random.u64(0..=(size - length) / 512) * 512;
            dropped.submit(Request::new(tag, write(offset, length, (round * 8 + tag) as u8)));
        }
        for tag in 0..4 {
            other.submit(Request::new(
                tag,
                write(random.u64(0..size / 512) * 512, 512, 0x80 + tag as u8),
            ));
        }
        let mut done = Vec::new();
        for _ in 0..random.u32(0..30) {
            dropped.poll(&mut done);
            // The other's events stay with it.
            reactor.wait_for_new(None).map_err(|error| error.to_string())?;
        }
        // The other has polled, so it may rely on being woken.
        other.poll(&mut done);
        drop(dropped);
        while other.in_flight() > 0 {
            if reactor.wait(None).expect("no kernel") == WakeReason::Idle {
                return Err(format!("seed {seed}: a row was not handed on"));
            }
            other.poll(&mut done);
        }
    }
    drop(other);
    assert_eq!(bench.array.failed_members().count(), 0);
    bench.scrub().map_err(|text| format!("seed {seed}: {text}"))
}

#[test]
fn a_channel_dropped_while_it_writes_leaves_no_row_half_written() {
    for seed in 0..40 {
        rows_are_whole_after_a_drop(|| raid5(ParityLayout::LeftSymmetric), seed)
            .unwrap_or_else(|text| panic!("raid5: {text}"));
        rows_are_whole_after_a_drop(|| raid6(ParityLayout::RightAsymmetric), seed)
            .unwrap_or_else(|text| panic!("raid6: {text}"));
        rows_are_whole_after_a_drop(|| raid1(2), seed)
            .unwrap_or_else(|text| panic!("raid1: {text}"));
    }
}

#[test]
fn what_cannot_be_read_is_made_up_for_and_written_back() {
    let (level, scheme) = raid6(ParityLayout::LeftSymmetric);
    let bench = Bench::new(level, scheme, 1, &[]);
    let reactor = Reactor::virtual_clock();
    let array = bench.checked();
    let mut channel = Blocking::open(&*array, &reactor).expect("a channel");
    let data: Vec<u8> = (0..array.info().size_bytes).map(|at| (at / 512) as u8).collect();
    channel.write_slice(0, &data).expect("written");
    // Two members of the first row, in the same place.
    let geometry = raid6(ParityLayout::LeftSymmetric).0;
    let row = geometry.geometry().row(0);
    [row.member(0), row.member(1)]
        .into_iter()
        .for_each(|member| bench.mortals[member].goes_bad(512));
    let mut found = vec![0; data.len()];
    channel.read_slice(0, &mut found).expect("made up for");
    assert!(found == data);
    assert!(bench.mortals.iter().all(|mortal| mortal.bad_count() == 0), "written back");
    assert_eq!(bench.array.failed_members().count(), 0);
    drop(channel);
    assert_eq!(bench.scrub(), Ok(()));
}

/// One block is bad on one member and the next one on another: taken together they are too many,
/// one by one they are not.
#[test]
fn bad_places_that_do_not_meet_are_made_up_for() {
    for length in [CHUNK, 2 * CHUNK, 3 * CHUNK, 9 * CHUNK] {
        let (level, scheme) = raid5(ParityLayout::LeftSymmetric);
        let bench = Bench::new(level, scheme, 5, &[]);
        let reactor = Reactor::virtual_clock();
        let array = bench.checked();
        let mut channel = Blocking::open(&*array, &reactor).expect("a channel");
        let data: Vec<u8> = (0..array.info().size_bytes).map(|at| (at / 512 * 7) as u8).collect();
        channel.write_slice(0, &data).expect("written");
        for (place, member) in [(0, 0), (512, 1), (1024, 1), (1536, 2)] {
            bench.mortals[member].goes_bad(place);
        }
        let mut found = vec![0; length as usize];
        channel.read_slice(0, &mut found).expect("made up for");
        assert!(found == data[..length as usize], "{length} bytes");
        channel.write_slice(512, &data[512..512 + length as usize]).expect("written");
        drop(channel);
        assert_eq!(bench.array.failed_members().count(), 0);
        assert_eq!(bench.scrub(), Ok(()), "{length} bytes");
    }
}

/// A member whose old data cannot be read still gets the new ones: it stays in the array.
#[test]
fn a_write_reaches_a_member_that_could_not_be_read() {
    for (offset, length) in [(0, 512), (512, 512), (CHUNK, CHUNK), (512, 3 * 512)] {
        for bad in 0..5 {
            let (level, scheme) = raid6(ParityLayout::LeftSymmetric);
            let bench = Bench::new(level, scheme, 2, &[]);
            let reactor = Reactor::virtual_clock();
            let array = bench.checked();
            let mut channel = Blocking::open(&*array, &reactor).expect("a channel");
            channel.write_slice(0, &vec![7; array.info().size_bytes as usize]).expect("written");
            (0..CHUNK / 512).for_each(|block| bench.mortals[bad].goes_bad(block * 512));
            channel.write_slice(offset, &vec![9; length as usize]).expect("written");
            drop(channel);
            assert_eq!(bench.array.failed_members().count(), 0);
            assert_eq!(bench.scrub(), Ok(()), "{length} at {offset}, member {bad}");
        }
    }
}

#[test]
fn a_member_with_many_bad_places_is_dropped() {
    const MEMBER: u64 = 4 << 20;
    for (bad, dropped) in [(20, false), (21, true)] {
        let members =
            ["a.img", "b.img"].map(|name| Mortal::over(Arc::new(Memory::new(MEMBER)), name));
        let array = ArrayDevice::raid1(
            members.iter().map(|member| Some(Arc::clone(member) as Arc<dyn Device>)).collect(),
        );
        let array = array.expect("an array");
        let reactor = Reactor::virtual_clock();
        let mut channel = Blocking::open(&array, &reactor).expect("a channel");
        channel.write_slice(0, &vec![3; MEMBER as usize]).expect("written");
        (0..bad).for_each(|place| members[0].goes_bad(place * (128 << 10)));
        let mut found = vec![0; MEMBER as usize];
        channel.read_slice(0, &mut found).expect("read");
        assert!(found.iter().all(|&byte| byte == 3));
        assert_eq!(array.failed_members().contains(0), dropped, "{bad} bad places");
        assert_eq!(members[0].bad_count() == 0, !dropped, "a member that stays is mended");
    }
}

/// A channel that is opened after a member has died serves, although the member cannot even be
/// opened.
#[test]
fn a_dead_member_keeps_no_channel_from_being_opened() {
    for is_noticed in [true, false] {
        let (level, scheme) = raid1(3);
        let bench = Bench::new(level, scheme, 4, &[]);
        let reactor = Reactor::virtual_clock();
        let mut early = Blocking::open(&*bench.array, &reactor).expect("a channel");
        bench.mortals[1].dies_after(0);
        if is_noticed {
            early.write_slice(0, &[5; 1024]).expect("written");
        }
        let mut late = Blocking::open(&*bench.array, &reactor).expect("a channel");
        assert!(bench.array.failed_members().contains(1), "noticed: {is_noticed}");
        late.write_slice(1024, &[6; 1024]).expect("written");
        late.flush().expect("durable on the others");
        let mut found = [0; 1024];
        early.read_slice(1024, &mut found).expect("read");
        assert_eq!(found, [6; 1024]);
        [0, 2].into_iter().for_each(|member: usize| bench.mortals[member].dies_after(0));
        let error = Blocking::open(&*bench.array, &reactor).err().expect("nobody is left");
        assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    }
}

#[test]
fn the_last_copy_is_kept_whatever_its_writes_do() {
    let (level, scheme) = raid1(2);
    let bench = Bench::new(level, scheme, 3, &[1]);
    let reactor = Reactor::virtual_clock();
    let mut channel = bench.array.open(1, &reactor).expect("a channel");
    bench.memories[0].fail_next(Fault::Write);
    channel.submit(Request::new(0, write(0, 1024, 1)));
    assert!(finish(&mut *channel, &reactor)[0].result.is_err());
    channel.submit(Request::new(0, read(4096, 1024)));
    assert!(finish(&mut *channel, &reactor)[0].result.is_ok(), "the rest can still be had");
}

#[test]
fn streams_stay_on_a_member_and_queues_are_shared_out() {
    let members: Vec<CountingDevice> =
        (0..2).map(|_| CountingDevice::over(Arc::new(Memory::new(1 << 20)))).collect();
    let counters: Vec<_> = members.iter().map(CountingDevice::counters).collect();
    let array = ArrayDevice::raid1(
        members.into_iter().map(|member| Some(Arc::new(member) as Arc<dyn Device>)).collect(),
    )
    .expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(8, &reactor).expect("a channel");
    for tag in 0..64 {
        channel.submit(Request::new(tag, read(tag * 4096, 4096)));
        finish(&mut *channel, &reactor);
    }
    let reads = || counters.iter().map(|counters| counters.read().reads).collect::<Vec<_>>();
    let stream = reads();
    assert!(stream.contains(&64) && stream.contains(&0), "{stream:?}");
    let mut random = Random::with_seed(5);
    for _ in 0..50 {
        (0..8).for_each(|tag| {
            channel.submit(Request::new(tag, read(random.u64(0..200) * 4096 + 512, 512)));
        });
        finish(&mut *channel, &reactor);
    }
    let spread = [reads()[0] - stream[0], reads()[1] - stream[1]];
    assert!(spread.iter().all(|&reads| reads > 150), "{spread:?}");
}

/// Two small writes to one stripe meet nowhere if their places in the chunks differ: they go out
/// together.
#[test]
fn small_writes_to_one_stripe_do_not_wait_for_each_other() {
    let (level, scheme) = raid5(ParityLayout::LeftSymmetric);
    let bench = Bench::new(level, scheme, 4, &[]);
    let reactor = Reactor::virtual_clock();
    let mut channel = bench.array.open(4, &reactor).expect("a channel");
    let mut time_of = |offsets: [u64; 2]| {
        let start = reactor.now();
        (0..)
            .zip(offsets)
            .for_each(|(tag, offset)| channel.submit(Request::new(tag, write(offset, 512, 1))));
        assert!(finish(&mut *channel, &reactor).iter().all(|done| done.result.is_ok()));
        (reactor.now() - start).as_nanos()
    };
    let (mut apart, mut together) = (0, 0);
    for _ in 0..200 {
        apart += time_of([0, 512]);
        together += time_of([0, CHUNK]);
    }
    assert!(apart * 3 < together * 2, "{apart} ns apart, {together} ns where parity meets");
}

/// Rows that follow each other are neighbours on every member: what a request writes of them goes
/// out as one command, and a member that does not take it is out of all of them.
#[test]
fn what_a_request_writes_of_many_rows_is_one_command_for_each_member() {
    let rows = 6;
    let bytes: Vec<u8> = (0..rows * 3 * CHUNK).map(|at| (at * 31 % 251) as u8).collect();
    for absent in [None, Some(2)] {
        let members: Vec<CountingDevice> =
            (0..4).map(|_| CountingDevice::over(Arc::new(Memory::new(MEMBER_BYTES)))).collect();
        let counters: Vec<_> = members.iter().map(CountingDevice::counters).collect();
        let members = members.into_iter().enumerate().map(|(slot, member)| {
            (Some(slot) != absent).then(|| Arc::new(member) as Arc<dyn Device>)
        });
        let (level, _) = raid5(ParityLayout::LeftSymmetric);
        let array = ArrayDevice::assemble(level, members.collect()).expect("an array");
        let mut channel = Blocking::open(&array, &Reactor::virtual_clock()).expect("a channel");
        channel.write_slice(0, &bytes).expect("written");
        for (slot, counters) in counters.iter().enumerate() {
            let expected = u64::from(Some(slot) != absent);
            let found = counters.read();
            assert_eq!((found.writes, found.reads), (expected, 0), "member {slot} of {absent:?}");
        }
        let mut found = vec![0; bytes.len()];
        channel.read_slice(0, &mut found).expect("read");
        assert!(found == bytes, "without {absent:?}");
    }
    let (level, scheme) = raid5(ParityLayout::LeftSymmetric);
    let bench = Bench::new(level, scheme, 8, &[]);
    bench.memories[1].fail_next(Fault::Write);
    let mut channel = Blocking::open(&*bench.array, &Reactor::virtual_clock()).expect("a channel");
    channel.write_slice(0, &bytes).expect("the others have it");
    assert!(bench.array.failed_members().contains(1));
    let mut found = vec![0; bytes.len()];
    channel.read_slice(0, &mut found).expect("made from the others");
    assert!(found == bytes);
    bench.scrub().expect("every row is whole");
}

/// Writes one after the other that are shorter than a row, several at a time: rows are filled
/// before they are written, which takes a third of the commands; nothing is forgotten at the end,
/// and a member that fails on the way is made up for.
#[test]
fn writes_of_a_stream_fill_their_rows_together() {
    let writes = 12 * 3;
    let stream = |bench: &Bench, depth: u64| {
        let left = || bench.mortals.iter().map(|mortal| mortal.left()).sum::<u64>();
        let before = left();
        let reactor = Reactor::virtual_clock();
        let mut channel = bench.array.open(depth as u32, &reactor).expect("a channel");
        let (mut sent, mut ended, mut done) = (0, 0, Vec::new());
        while ended < writes {
            while sent < writes && sent < ended + depth {
                channel.submit(Request::new(sent, write(sent * CHUNK, CHUNK, sent as u8)));
                sent += 1;
            }
            channel.poll(&mut done);
            for completion in done.drain(..) {
                completion.result.expect("written");
                ended += 1;
            }
            if ended < sent {
                assert_ne!(
                    reactor.wait(None).expect("no kernel"),
                    WakeReason::Idle,
                    "one is forgotten"
                );
            }
        }
        before - left()
    };
    for absent in [None, Some(1)] {
        let commands = [1, 8].map(|depth| {
            let (level, scheme) = raid5(ParityLayout::LeftSymmetric);
            let absent: Vec<usize> = absent.into_iter().collect();
            let bench = Bench::new(level, scheme, 9, &absent);
            bench.mortals.iter().for_each(|mortal| mortal.dies_after(1 << 20));
            let commands = stream(&bench, depth);
            bench.mortals.iter().for_each(|mortal| mortal.lives_on());
            let expected: Vec<u8> =
                (0..writes).flat_map(|write| vec![write as u8; CHUNK as usize]).collect();
            assert!(bytes(&*bench.array)[..expected.len()] == expected, "depth {depth}");
            bench.scrub().expect("every row is whole");
            commands
        });
        let [alone, together] = commands;
        assert!(together * 2 < alone, "{together} commands instead of {alone}, {absent:?} absent");
    }
    let (level, scheme) = raid5(ParityLayout::LeftSymmetric);
    let bench = Bench::new(level, scheme, 10, &[]);
    bench.mortals.iter().for_each(|mortal| mortal.dies_after(1 << 20));
    bench.mortals[2].dies_after(10);
    stream(&bench, 8);
    bench.mortals.iter().for_each(|mortal| mortal.lives_on());
    assert!(bench.array.failed_members().contains(2));
    bench.scrub().expect("every row is whole");
}
