//! Jobs one by one: checks that find what is wrong, repairs, pauses, paces, checkpoints, and what
//! ends a job.

use std::sync::Arc;
use std::time::Duration;

use array::sync::{
    Ending, Limits, NewDevice, Notice, Outcome, Ranges, SyncAction, SyncRunner, SyncScheduler,
};
use array::{ArrayDevice, Level, MemberAtStart, MemberState, ParityLayout, ParityLevel};
use block::{Blocking, Device, ErrorKind, Info, Reactor};
use reactor::{Random, WakeReason};
use testkit::{Fault, Memory};

use super::bench::{
    Bench, CHUNK, LIVELY, MEMBER_BYTES, Scheme, differing, each_array, findings, keep, raid1,
    raid5, raid6,
};
use crate::common::bytes;

/// Whether a check counts a byte that is wrong anywhere, in data, parity or a copy, and a repair
/// mends it.
fn find_each_corruption<L: Level>(name: &str, made: (L, Scheme)) {
    let bench = Bench::new(made, 7);
    assert_eq!(differing(&bench.control, SyncAction::Check(None)), Ok(0), "{name}");
    let mut random = Random::with_seed(7);
    for member in 0..bench.scheme.member_count() {
        let offset = (0..)
            .map(|_| random.u64(0..MEMBER_BYTES))
            .find(|&offset| bench.scheme.uses(member, offset))
            .expect("one");
        bench.corrupt(member, offset);
        let found = differing(&bench.control, SyncAction::Check(None))
            .unwrap_or_else(|text| panic!("{name}: {text}"));
        // Data are wrong to both parities, or to every other copy if they are the first one.
        let most = bench.scheme.tolerated() as u64;
        assert!(
            (1..=most.max(1)).contains(&found),
            "{name}: member {member} at {offset}: {found} sectors"
        );
        assert_eq!(
            differing(&bench.control, SyncAction::Check(None)),
            Ok(found),
            "{name}: a check changes nothing"
        );
        assert_eq!(differing(&bench.control, SyncAction::Repair(None)), Ok(found), "{name}");
        assert_eq!(differing(&bench.control, SyncAction::Check(None)), Ok(0), "{name}: repaired");
        assert_eq!(bench.scrub(), Ok(()), "{name}");
    }
}

#[test]
fn a_check_finds_a_wrong_byte_wherever_it_is() {
    each_array(find_each_corruption, find_each_corruption);
}

/// What a level says of one wrong byte on each member by itself: with two parities or three copies
/// which one and where, and the repair brings the data back; else nothing is known, and parity or
/// copies are made to agree.
fn blame_each_corruption<L: Level>(name: &str, (level, scheme): (L, Scheme)) {
    let bench = Bench::new((level, scheme), 9);
    let data = bytes(&*bench.array);
    let mut random = Random::with_seed(9);
    for member in 0..scheme.member_count() {
        let offset = (0..)
            .map(|_| random.u64(0..MEMBER_BYTES))
            .find(|&offset| scheme.uses(member, offset))
            .expect("one");
        bench.corrupt(member, offset);
        let sector = offset / 512 * 512..offset / 512 * 512 + 512;
        for work in [SyncAction::Check(None), SyncAction::Repair(None)] {
            let what = format!("{name}: {work} with {offset} of member {member} wrong");
            let repairs = matches!(work, SyncAction::Repair(_));
            let found = findings(&bench.control, work).unwrap_or_else(|text| panic!("{text}"));
            if scheme.tells() {
                let wrong: Vec<_> = found
                    .wrong
                    .iter()
                    .map(|(member, ranges)| (*member, ranges.first().clone(), ranges.bytes()))
                    .collect();
                assert_eq!(wrong, [(member, Ranges::one(sector.clone()), 512)], "{what}");
                assert_eq!((found.undecided.bytes(), found.made_to_agree_bytes), (0, 0), "{what}");
            } else {
                assert!(found.wrong.is_empty(), "{what}: {found:?}");
                assert_eq!(found.undecided.bytes(), 512, "{what}");
                assert_eq!(found.made_to_agree_bytes, if repairs { 512 } else { 0 }, "{what}");
            }
        }
        if scheme.tells() {
            assert!(bytes(&*bench.array) == data, "{name}: member {member}: the data are back");
        }
        assert_eq!(bench.scrub(), Ok(()), "{name}");
    }
}

#[test]
fn a_repair_mends_the_member_that_is_wrong() {
    each_array(blame_each_corruption, blame_each_corruption);
}

/// All of a chunk of each member in one row, as after a disk has written to a wrong place.
#[test]
fn a_repair_mends_a_whole_chunk() {
    for &layout in ParityLayout::RAID6 {
        let bench = Bench::new(raid6(6, layout), 11);
        let data = bytes(&*bench.array);
        for member in 0..6 {
            let row = member as u64 % 5 * CHUNK;
            (row..row + CHUNK).for_each(|offset| bench.corrupt(member, offset));
            let found = findings(&bench.control, SyncAction::Repair(None)).expect("done");
            assert_eq!(found.differing_sectors, CHUNK / 512, "{layout:?}: member {member}");
            assert_eq!(found.wrong[&member].bytes(), CHUNK, "{layout:?}: member {member}");
            assert!(bytes(&*bench.array) == data, "{layout:?}: member {member}");
            assert_eq!(bench.scrub(), Ok(()), "{layout:?}: member {member}");
        }
    }
}

/// Where nothing tells which member is wrong a level that could tell with more leaves all as it is.
#[test]
fn a_repair_leaves_alone_what_it_cannot_tell() {
    fn spoilt<L: Level>(name: &str, made: (L, Scheme), absent: Option<usize>, wrong: &[usize]) {
        let bench = Bench::new(made, 13);
        if let Some(absent) = absent {
            bench.control.fail(absent).expect("it may go");
        }
        // Two members that are wrong in the same way would outvote the third.
        for (number, &member) in wrong.iter().enumerate() {
            (0..=number as u64).for_each(|byte| bench.corrupt(member, 600 + byte));
        }
        let parts = bench.parts.seated(&bench.control);
        let held = || {
            let parts = parts.iter().flatten();
            parts.map(|part| bytes(&*part.memory)).collect::<Vec<_>>()
        };
        let before = held();
        let found = findings(&bench.control, SyncAction::Repair(None)).expect("done");
        assert!(found.wrong.is_empty(), "{name}: {found:?}");
        assert_eq!((found.undecided.bytes(), found.made_to_agree_bytes), (512, 0), "{name}");
        assert!(held() == before, "{name}: nothing was written");
    }
    for absent in 0..5 {
        let wrong = (absent + 2) % 5;
        let level = raid6(5, ParityLayout::LeftSymmetric);
        spoilt(&format!("raid6 without {absent}"), level, Some(absent), &[wrong]);
        let level = raid6(5, ParityLayout::DdfNContinue);
        spoilt(&format!("raid6 with {absent} and {wrong} wrong"), level, None, &[absent, wrong]);
    }
    spoilt("three copies without one", raid1(3), Some(0), &[2]);
    spoilt("three copies, each another", raid1(3), None, &[0, 1]);
}

/// Where a resync is to be done no member is wrong: parity is made of the data, and the first copy
/// counts, whatever the rest says.
#[test]
fn a_repair_of_what_is_to_be_resynced_blames_nobody() {
    fn remade<L: Level>(name: &str, made: (L, Scheme), wrong: usize) {
        let bench = Bench::new(made, 17);
        bench.corrupt(wrong, 0);
        let data = bytes(&*bench.array);
        bench.control.require_resync(&Ranges::one(0..bench.control.sync_bytes()));
        let reactor = Reactor::virtual_clock();
        let mut runner = bench.control.sync_runner(&reactor).expect("a runner");
        runner.set_limits(LIVELY);
        runner.start(SyncAction::Repair(None)).expect("it begins");
        let outcome = finish(&mut runner, &reactor);
        assert!(matches!(outcome.ending, Ending::Done), "{name}: {outcome:?}");
        let found = outcome.progress.findings;
        assert!(found.wrong.is_empty() && found.made_to_agree_bytes > 0, "{name}: {found:?}");
        assert!(bytes(&*bench.array) == data, "{name}: what was read reads the same");
        assert_eq!(bench.scrub(), Ok(()), "{name}");
    }
    // The first data chunk of the first row, which P and Q together would call wrong.
    remade("raid6", raid6(5, ParityLayout::LeftAsymmetric), 0);
    remade("raid1", raid1(3), 0);
}

/// Of RAID 6 the parity that no read needs is compared also without a member.
#[test]
fn a_check_of_a_degraded_array_compares_what_is_left() {
    for absent in 0..5 {
        let bench = Bench::new(raid6(5, ParityLayout::LeftSymmetric), 3);
        bench.control.fail(absent).expect("it may go");
        assert_eq!(differing(&bench.control, SyncAction::Check(None)), Ok(0));
        let member = (absent + 1) % 5;
        bench.corrupt(member, 600);
        assert!(
            differing(&bench.control, SyncAction::Check(None)).expect("done") > 0,
            "without {absent}"
        );
    }
    let bench = Bench::new(raid5(4, ParityLayout::LeftSymmetric), 3);
    bench.control.fail(0).expect("it may go");
    bench.corrupt(1, 600);
    assert_eq!(
        differing(&bench.control, SyncAction::Check(None)),
        Ok(0),
        "there is nothing to compare with"
    );
}

#[test]
fn a_range_is_checked_by_itself() {
    let bench = Bench::new(raid5(4, ParityLayout::LeftSymmetric), 5);
    bench.corrupt(1, 5 * 512);
    assert_eq!(differing(&bench.control, SyncAction::Check(Some(0..5 * 512))), Ok(0));
    assert_eq!(differing(&bench.control, SyncAction::Check(Some(5 * 512..6 * 512))), Ok(1));
    let mut runner = bench.control.sync_runner(&Reactor::virtual_clock()).expect("maintenance");
    for range in [0..0, 0..100, 0..1 << 40] {
        assert_eq!(
            runner.start(SyncAction::Check(Some(range))).expect_err("no such range").kind(),
            ErrorKind::Invalid
        );
    }
}

/// Polls until the job has ended.
fn finish(runner: &mut SyncRunner, reactor: &Reactor) -> Outcome {
    loop {
        if let Some(outcome) = runner.poll() {
            return outcome;
        }
        assert_ne!(
            reactor.wait(None).expect("no kernel"),
            WakeReason::Idle,
            "stuck at {:?}",
            runner.progress()
        );
    }
}

#[test]
fn a_spare_takes_the_place_of_a_member_that_fails() {
    let bench = Bench::new(raid5(4, ParityLayout::LeftSymmetric), 6);
    bench.control.add(bench.parts.new_device()).expect("it fits");
    let reactor = Reactor::virtual_clock();
    let mut scheduler = SyncScheduler::open(&bench.control, &reactor).expect("a scheduler");
    assert!(scheduler.poll().is_none() && scheduler.is_idle());
    bench.control.fail(2).expect("it may go");
    let text = |notice: Option<Notice>| match notice {
        Some(Notice::SpareAssigned { member, name }) => format!("{name} in place {member}"),
        Some(Notice::Began(work)) => work.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(text(scheduler.poll()), "member 2 (file:m4) in place 2");
    assert_eq!(text(scheduler.poll()), "rebuild of member 2");
    assert!(bench.control.remove(2).is_err(), "the spare is in service");
    loop {
        match scheduler.poll() {
            Some(Notice::Ended(Outcome { ending: Ending::Done, progress })) => {
                assert_eq!((progress.done_bytes, progress.total_bytes), (24 << 9, 24 << 9));
                break;
            }
            Some(notice) => panic!("{notice:?}"),
            None => assert_ne!(reactor.wait(None).expect("no kernel"), WakeReason::Idle),
        }
    }
    assert_eq!(bench.control.snapshot().members, [MemberState::InSync; 4]);
    assert_eq!(bench.scrub(), Ok(()));
}

/// What was noted as done need not be done again by the next job.
#[test]
fn a_rebuild_goes_on_from_its_checkpoint() {
    let arrays: [fn() -> (ParityLevel, Scheme); 2] =
        [|| raid5(4, ParityLayout::LeftSymmetric), || raid6(5, ParityLayout::DdfNContinue)];
    for make in arrays {
        let bench = Bench::new(make(), 1);
        let data = crate::common::bytes(&*bench.array);
        bench.control.fail(1).expect("it may go");
        bench.control.remove(1).expect("it has failed");
        bench.control.add_to_slot(1, bench.parts.new_device(), || None).expect("it fits");
        let reactor = Reactor::virtual_clock();
        let mut runner = bench.control.sync_runner(&reactor).expect("maintenance");
        runner.set_limits(Limits { ranges_in_flight: 1, ..LIVELY });
        runner.start(SyncAction::Rebuild { member: 1 }).expect("it lacks all");
        assert_eq!(
            runner.start(SyncAction::Check(None)).expect_err("one at a time").kind(),
            ErrorKind::Busy
        );
        let position = loop {
            assert!(runner.poll().is_none());
            match bench.control.snapshot().members[1] {
                MemberState::Recovering { recovery_offset, partly: false }
                    if recovery_offset > 4096 =>
                {
                    break recovery_offset;
                }
                MemberState::Recovering { .. } => drop(reactor.wait(None).expect("no kernel")),
                condition => panic!("{condition:?}"),
            }
        };
        drop(runner);
        assert!(position < 24 << 9 && position % 512 == 0);
        // The array is started again from what its metadata would say.
        let lacks_1 = Ranges::one(position..24 << 9);
        let seated = bench.parts.seated(&bench.control);
        let starts = seated.iter().enumerate().map(|(member, part)| {
            let unrecovered = if member == 1 { lacks_1.clone() } else { Ranges::none() };
            let device = part.as_ref().expect("somebody").device();
            Some(MemberAtStart { device, data_offset: 0, unrecovered, lost: Ranges::none() })
        });
        let array = Arc::new(
            ArrayDevice::resume(make().0, starts.collect(), Ranges::none()).expect("an array"),
        );
        let again = Bench {
            scheme: bench.scheme,
            parts: Arc::clone(&bench.parts),
            control: array.control(),
            array,
        };
        let mut runner = again.control.sync_runner(&reactor).expect("maintenance");
        runner.start(SyncAction::Rebuild { member: 1 }).expect("it lacks the rest");
        assert_eq!(runner.progress().expect("a job").done_bytes, position);
        assert!(matches!(finish(&mut runner, &reactor).ending, Ending::Done));
        assert_eq!(again.scrub(), Ok(()));
        assert!(crate::common::bytes(&*again.array) == data);
    }
}

/// A member that was away gets what it missed, and that is all that is read and written for it.
#[test]
fn a_member_that_comes_back_is_rebuilt_only_where_it_missed_writes() {
    let bench = Bench::new(raid5(4, ParityLayout::LeftSymmetric), 8);
    let part = bench.parts.seated(&bench.control)[2].clone().expect("somebody");
    bench.control.fail(2).expect("it may go");
    bench.control.remove(2).expect("it has failed");
    let mut channel = Blocking::open(&*bench.array, &Reactor::virtual_clock()).expect("a channel");
    channel.write_slice(0, &[9; 512]).expect("written");
    channel.write_slice(20 << 10, &[7; 4096]).expect("written");
    drop(channel);
    // Rows 0 and 6 to 8 of two blocks each.
    let missed: Ranges = [0..1024, 6 * 1024..9 * 1024].into_iter().collect();
    let reactor = Reactor::virtual_clock();
    let mut runner = bench.control.sync_runner(&reactor).expect("maintenance");
    // Another scheduler of the array may look at it in this very moment.
    let found_out = || {
        let early = runner
            .start(SyncAction::Rebuild { member: 2 })
            .expect_err("it would begin with everything");
        assert!(early.to_string().contains("what it lacks is being found out"), "{early}");
        Some(missed)
    };
    bench.control.add_to_slot(2, NewDevice::whole(part.device()), found_out).expect("it fits");
    assert_eq!(
        bench.control.snapshot().members[2],
        MemberState::Recovering { recovery_offset: 0, partly: true }
    );
    let outcomes = keep(&bench.control, &[]).expect("rebuilt");
    assert_eq!(outcomes.len(), 1);
    assert_eq!(bench.control.snapshot().members[2], MemberState::InSync);
    assert_eq!(bench.scrub(), Ok(()));
}

#[test]
fn a_resync_makes_redundancy_true_where_it_may_not_be() {
    let bench = Bench::new(raid1(3), 9);
    bench.corrupt(1, 3 * 512);
    bench.corrupt(2, 9 * 512);
    let unrecovered: Ranges = [3 * 512..4 * 512, 8 * 512..10 * 512].into_iter().collect();
    bench.control.require_resync(&unrecovered);
    assert_eq!(bench.control.snapshot().resync, Some(3 * 512));
    let outcomes = keep(&bench.control, &[]).expect("resynced");
    assert_eq!(
        outcomes
            .iter()
            .map(|outcome| outcome.progress.findings.differing_sectors)
            .collect::<Vec<_>>(),
        [2]
    );
    assert_eq!((bench.control.snapshot().resync, bench.scrub()), (None, Ok(())));
}

#[test]
fn pace_and_progress_are_those_of_the_clock() {
    // 32 MiB of each member.
    let array = ArrayDevice::raid1(
        (0..2).map(|_| Some(Arc::new(Memory::new(32 << 20)) as Arc<dyn Device>)).collect(),
    )
    .expect("an array");
    let control = array.control();
    let reactor = Reactor::virtual_clock();
    let mut runner = control.sync_runner(&reactor).expect("maintenance");
    let megabyte = 1 << 20;
    runner.set_limits(Limits {
        most_bytes_per_second: megabyte,
        least_bytes_per_second: megabyte / 4,
        ..Limits::default()
    });
    runner.start(SyncAction::Check(None)).expect("a check");
    let start = reactor.now();
    while reactor.now().since(start) < Duration::from_secs(16) {
        assert!(runner.poll().is_none());
        let _ = reactor.wait(None).expect("no kernel");
    }
    let progress = runner.progress().expect("a job");
    assert!((15 << 20..=17 << 20).contains(&progress.done_bytes), "{progress:?}");
    assert!(progress.bytes_per_second.abs_diff(megabyte) < megabyte / 10, "{progress:?}");
    assert!(progress.remaining.expect("known").as_secs().abs_diff(16) <= 2, "{progress:?}");
    // While it is paused, nothing moves.
    runner.pause();
    while runner.poll().is_none()
        && reactor.wait(Some(start + Duration::from_secs(30))).expect("no kernel")
            != WakeReason::Deadline
    {}
    let paused = runner.progress().expect("a job");
    assert!(
        paused.paused
            && paused.remaining.is_none()
            && paused.done_bytes - progress.done_bytes <= 2 << 20
    );
    runner.resume();
    // A host that asks for something every 10 ms slows it down to a quarter.
    let mut channel = Blocking::open(&array, &reactor).expect("a channel");
    let (before, start) = (runner.progress().expect("a job").done_bytes, reactor.now());
    while reactor.now().since(start) < Duration::from_secs(24) {
        channel.write_slice(0, &[1; 512]).expect("written");
        assert!(runner.poll().is_none());
        let _ = reactor.wait(Some(reactor.now() + Duration::from_millis(10))).expect("no kernel");
    }
    let slowly = runner.progress().expect("a job").done_bytes - before;
    assert!((5 << 20..=8 << 20).contains(&slowly), "{slowly}");
    runner.cancel();
    assert!(matches!(finish(&mut runner, &reactor).ending, Ending::Cancelled));
    assert!(runner.progress().is_none());
}

/// A host whose requests take longer than it would have to be quiet for is busy all the same: else
/// a sync action that slows it down takes it for idle, and slows it down more.
#[test]
fn a_host_that_waits_for_an_answer_is_not_idle() {
    let member = || {
        let memory = Memory::new(32 << 20).taking(Duration::from_millis(300));
        Some(Arc::new(memory) as Arc<dyn Device>)
    };
    let array = ArrayDevice::raid1(vec![member(), member()]).expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(1, &reactor).expect("a channel");
    let mut runner = array.control().sync_runner(&reactor).expect("maintenance");
    runner.set_limits(Limits {
        most_bytes_per_second: 1 << 20,
        least_bytes_per_second: 1 << 18,
        ..Limits::default()
    });
    runner.start(SyncAction::Check(None)).expect("a check");
    let (start, mut done) = (reactor.now(), Vec::new());
    while reactor.now().since(start) < Duration::from_secs(24) {
        if channel.in_flight() == 0 {
            let from = block::BufMut::zeroed(512).freeze();
            channel
                .submit(block::Request::new(0, block::Op::Write { offset: 0, from, fua: false }));
        }
        channel.poll(&mut done);
        assert!(runner.poll().is_none());
        if channel.in_flight() > 0 {
            let _ = reactor.wait(None).expect("no kernel");
        }
    }
    assert!(done.len() > 40 && done.iter().all(|one| one.result.is_ok()), "{}", done.len());
    let bytes = runner.progress().expect("a job").done_bytes;
    assert!((5 << 20..=8 << 20).contains(&bytes), "{bytes}");
    runner.cancel();
    assert!(matches!(finish(&mut runner, &reactor).ending, Ending::Cancelled));
}

/// Size of the members on which a sync action's pace is measured.
const PACED_MEMBER_BYTES: u64 = 8 << 20;

/// Whether each sync action goes at the higher rate, with all members and with some missing.
fn at_full_pace<L: Level>(name: &str, make: impl Fn() -> L, members: usize, spared: usize) {
    let memory = || Arc::new(Memory::new(PACED_MEMBER_BYTES)) as Arc<dyn Device>;
    let works = [
        SyncAction::Resync,
        SyncAction::Rebuild { member: 1 },
        SyncAction::Replace { member: 1 },
        SyncAction::Check(None),
        SyncAction::Repair(None),
    ];
    for (missing, work) in
        (0..=spared).flat_map(|missing| works.iter().map(move |work| (missing, work)))
    {
        let level = make();
        let lacks = |what| if *work == what { PACED_MEMBER_BYTES } else { 0 };
        let start = |member: usize| MemberAtStart {
            device: memory(),
            data_offset: 0,
            unrecovered: Ranges::one(
                0..if member == 1 { lacks(SyncAction::Rebuild { member }) } else { 0 },
            ),
            lost: Ranges::none(),
        };
        let there = members - missing;
        let starts = (0..members).map(|member| (member < there).then(|| start(member))).collect();
        let resync =
            Ranges::one(0..if lacks(SyncAction::Resync) > 0 { level.sync_bytes() } else { 0 });
        // With as many missing as it lives through, none can be rebuilt besides.
        let Ok(array) = ArrayDevice::resume(level, starts, resync) else { continue };
        let control = array.control();
        if matches!(work, SyncAction::Replace { .. }) {
            control.replace(1, NewDevice::whole(memory())).expect("it is in sync");
        }
        let reactor = Reactor::virtual_clock();
        // It was in use, and is not any more.
        Blocking::open(&array, &reactor)
            .expect("a channel")
            .write_slice(0, &[1; 512])
            .expect("written");
        let mut runner = control.sync_runner(&reactor).expect("maintenance");
        runner.set_limits(Limits {
            least_bytes_per_second: 1 << 20,
            most_bytes_per_second: 100 << 20,
            ..Limits::default()
        });
        runner.start(work.clone()).expect("it is due");
        let began = reactor.now();
        let outcome = finish(&mut runner, &reactor);
        assert!(matches!(outcome.ending, Ending::Done), "{name} without {missing}: {outcome:?}");
        let took = reactor.now().since(began).as_secs_f64();
        let due = outcome.progress.total_bytes as f64 / f64::from(100 << 20);
        assert!(took < due + 0.02, "{name} without {missing}, {work}: {took} s instead of {due}");
    }
}

/// A sync action on an array that is not in use goes at the higher rate from its beginning to its
/// end, with the flushes of its checkpoints and whatever else it does for itself: a resync and a
/// rebuild, also with a member missing, a replacement, a check and a repair.
#[test]
fn a_sync_action_does_not_take_its_own_requests_for_use() {
    const MEMBER: u64 = PACED_MEMBER_BYTES;
    let chunk = 64 << 10;
    let copies = |name, members| {
        let layout = array::geometry::Raid10Layout::from_name(name).expect("a layout");
        move || {
            array::MirrorLevel::raid10(array::geometry::Raid10::new(members, MEMBER, chunk, layout))
        }
    };
    at_full_pace("raid1", || array::MirrorLevel::raid1(3, MEMBER), 3, 1);
    at_full_pace("raid10 n2", copies("n2", 4), 4, 1);
    at_full_pace("raid10 f2", copies("f2", 4), 4, 1);
    at_full_pace(
        "raid5",
        || ParityLevel::raid5(4, MEMBER, chunk, ParityLayout::LeftSymmetric),
        4,
        1,
    );
    at_full_pace(
        "raid6",
        || ParityLevel::raid6(5, MEMBER, chunk, ParityLayout::LeftSymmetric),
        5,
        2,
    );
}

#[test]
fn what_cannot_be_done_is_refused_with_its_reason() {
    let bench = Bench::new(raid5(3, ParityLayout::LeftSymmetric), 2);
    let control = &bench.control;
    let small: Arc<dyn Device> = Arc::new(Memory::new(MEMBER_BYTES - 1024));
    let coarse: Arc<dyn Device> =
        Arc::new(Memory::with(Info { block_bytes: 4096, ..Memory::new(1 << 20).info().clone() }));
    let frozen: Arc<dyn Device> =
        Arc::new(Memory::with(Info { read_only: true, ..Memory::new(1 << 20).info().clone() }));
    let text = |result: Result<(), block::Error>| result.expect_err("refused").to_string();
    assert!(
        text(control.add(NewDevice::whole(small)))
            .ends_with("11776; a member of this array needs 12KiB")
    );
    assert!(
        text(control.add(NewDevice::whole(coarse)))
            .ends_with("blocks of 4096 bytes; the array has 512")
    );
    assert!(text(control.add(NewDevice::whole(frozen))).ends_with("is read-only"));
    assert_eq!(text(control.remove(1)), "member 1 is in service: fail it first");
    assert_eq!(text(control.fail(3)), "member 3: the array has slots 0 to 2");
    assert_eq!(
        text(control.add_to_slot(1, bench.parts.new_device(), || None)),
        "member 1: the slot is taken: fail and remove its member first"
    );
    control.fail(1).expect("it may go");
    assert_eq!(text(control.fail(1)), "member 1 is out already");
    assert_eq!(text(control.fail(0)), "member 0 is needed: without it data would be lost");
    assert_eq!(
        text(control.replace(1, bench.parts.new_device())),
        "member 1 is not in sync, or is being replaced already"
    );
    control.replace(0, bench.parts.new_device()).expect("it is in sync");
    assert_eq!(
        text(control.replace(0, bench.parts.new_device())),
        "member 0 is not in sync, or is being replaced already"
    );
    control.remove(1).expect("it has failed");
    assert_eq!(text(control.remove(1)), "member 1: the slot is empty already");
    let mut runner = control.sync_runner(&Reactor::virtual_clock()).expect("maintenance");
    assert_eq!(
        text(runner.start(SyncAction::Rebuild { member: 2 })),
        "rebuild of member 2: it lacks nothing"
    );
    assert_eq!(
        text(runner.start(SyncAction::Replace { member: 2 })),
        "replacement of member 2: it has no replacement"
    );
    assert_eq!(
        text(runner.start(SyncAction::Rebuild { member: 7 })),
        "rebuild of member 7: there is no such member"
    );
    let striped = ArrayDevice::raid0(
        vec![Arc::new(Memory::new(1 << 20))],
        4096,
        array::Raid0Layout::Original,
    )
    .expect("an array");
    let spare = NewDevice::whole(Arc::new(Memory::new(1 << 20)));
    assert!(
        text(striped.control().add(spare))
            .ends_with("the array has no redundancy to rebuild a member from")
    );
    assert_eq!(
        text(striped.control().fail(0)),
        "member 0 is needed: without it data would be lost"
    );
}

/// The member serves while it is copied, and its replacement afterwards.
#[test]
fn a_member_is_replaced_while_it_serves() {
    let bench = Bench::new(raid5(3, ParityLayout::LeftSymmetric), 4);
    let old = bench.parts.seated(&bench.control)[1].clone().expect("somebody");
    bench.control.replace(1, bench.parts.new_device()).expect("it is in sync");
    assert_eq!(
        (bench.control.snapshot().replaced, bench.control.snapshot().members[1]),
        (vec![1], MemberState::InSync)
    );
    keep(&bench.control, &[]).expect("replaced");
    let new = bench.parts.seated(&bench.control)[1].clone().expect("somebody");
    assert_eq!((new.name, bench.control.snapshot().replaced.len()), ("m3", 0));
    old.mortal.dies_after(0);
    assert_eq!(bench.scrub(), Ok(()));
    // A replacement that fails is left behind.
    let broken = bench.parts.make();
    bench.control.replace(1, NewDevice::whole(broken.device())).expect("it is in sync");
    broken.memory.fail_next(Fault::Write);
    let outcomes = keep(&bench.control, &[]).expect("it ended");
    let Some(Outcome { ending: Ending::Failed(error), .. }) = outcomes.last() else {
        panic!("{outcomes:?}")
    };
    let text = "replacement of member 1: member 1 (file:m4) has failed meanwhile; the member \
        serves as before";
    assert_eq!(error.to_string(), text);
    assert_eq!(bench.control.snapshot().members, [MemberState::InSync; 3]);
    assert_eq!(bench.scrub(), Ok(()));
}

#[test]
fn a_second_failure_ends_a_rebuild_that_cannot_go_on() {
    let bench = Bench::new(raid5(3, ParityLayout::LeftSymmetric), 4);
    bench.control.fail(0).expect("it may go");
    bench.control.add(bench.parts.new_device()).expect("it fits");
    bench.parts.seated(&bench.control)[2].clone().expect("somebody").mortal.dies_after(5);
    let outcomes = keep(&bench.control, &[]).expect("it ended");
    assert_eq!(outcomes.len(), 1, "it is not tried again and again: {outcomes:?}");
    let Ending::Failed(error) = &outcomes[0].ending else { panic!("{outcomes:?}") };
    let text = error.to_string();
    assert!(
        text.starts_with("rebuild of member 0: ")
            && text.ends_with("members 0, 2 are not there, and the rest does not make up for it"),
        "{text}"
    );
    // RAID 6 goes on, and then rebuilds the other one.
    let bench = Bench::new(raid6(5, ParityLayout::LeftSymmetric), 4);
    bench.control.fail(0).expect("it may go");
    (0..2).for_each(|_| bench.control.add(bench.parts.new_device()).expect("it fits"));
    bench.parts.seated(&bench.control)[2].clone().expect("somebody").mortal.dies_after(5);
    keep(&bench.control, &[]).expect("done");
    assert_eq!(
        (bench.control.snapshot().members, bench.scrub()),
        (vec![MemberState::InSync; 5], Ok(()))
    );
}
