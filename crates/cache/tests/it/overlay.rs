//! The overlay against `docs/contract.md` and `docs/formats/overlay.md`.

use std::sync::Arc;
use std::time::Duration;

use block::{
    Blocking, Channel, Completion, ContractCheck, Device, DiscardSupport, Error, ErrorKind, Info,
    Node, Reactor, Request, Support,
};
use cache::{
    DeltaState, Facts, LeafFacts, Overlay, OverlayOptions, commit, discard, examine, seal_delta,
};
use reactor::{Random, derive_seed};
use testkit::crash::{self, Crashable, Options, Rig};
use testkit::{Fault, LyingFlush, Memory, conformance};

const KEEP: OverlayOptions = OverlayOptions { keep: true };
const THROW_AWAY: OverlayOptions = OverlayOptions { keep: false };

/// Random bytes that must not change.
fn lower(size_bytes: u64, seed: u64) -> Arc<Memory> {
    let memory = Arc::new(Memory::new(size_bytes));
    let mut bytes = vec![0; size_bytes as usize];
    Random::with_seed(seed).fill(&mut bytes);
    blocking(&*memory).write_slice(0, &bytes).expect("memory takes writes");
    memory
}

/// A delta large enough, with a write cache and everything else.
fn delta_info(lower: &Info) -> Info {
    Info {
        volatile_cache: true,
        fua: Support::Native,
        zeroes: Support::Native,
        discard: DiscardSupport::ReadsZero,
        ..Info::plain(Overlay::delta_bytes(512, lower).expect("whole blocks"))
    }
}

fn slow(info: Info, seed: u64) -> Memory {
    Memory::with(info).delayed(seed, Duration::from_micros(50))
}

fn blocking(device: &dyn Device) -> Blocking {
    Blocking::open(device, &Reactor::virtual_clock()).expect("it opens")
}

fn contents(device: &dyn Device) -> Vec<u8> {
    let mut bytes = vec![0; device.info().size_bytes as usize];
    blocking(device).read_slice(0, &mut bytes).expect("it can be read");
    bytes
}

fn overlay(
    delta: Arc<dyn Device>,
    lower: Arc<dyn Device>,
    options: OverlayOptions,
) -> Arc<dyn Device> {
    Arc::new(
        Overlay::open(
            ContractCheck::over(delta),
            ContractCheck::over(lower),
            &Facts::none(),
            options,
        )
        .expect("an overlay"),
    )
}

#[test]
fn it_keeps_the_contract() {
    for (seed, options) in [(1, KEEP), (2, KEEP), (3, THROW_AWAY), (4, THROW_AWAY)] {
        // Three pages of the index and a bit.
        let lower = lower(3 * 3904 * 512 + 70 * 512, seed);
        let before = contents(&*lower);
        let make = || {
            let slow_lower = Arc::new(slow(lower.info().clone(), seed));
            overlay(Arc::new(slow(delta_info(lower.info()), seed + 9)), slow_lower, options)
        };
        conformance::run(make, Reactor::virtual_clock, seed)
            .unwrap_or_else(|violation| panic!("{options:?}: {violation}"));
        let make = || {
            overlay(
                Arc::new(Memory::with(delta_info(lower.info()))),
                Arc::clone(&lower) as Arc<dyn Device>,
                options,
            )
        };
        let wall = || Reactor::wall().expect("io_uring");
        conformance::run(make, wall, seed)
            .unwrap_or_else(|violation| panic!("{options:?}, threads: {violation}"));
        assert_eq!(
            contents(&*lower),
            before,
            "{options:?}: the device below was written (seed {seed})"
        );
    }
}

#[test]
fn so_it_does_with_large_blocks_and_a_delta_that_can_do_little() {
    for seed in 0..3 {
        let lower = lower(64 << 12, seed);
        let make = || {
            let size_bytes = Overlay::delta_bytes(4096, lower.info()).expect("whole blocks");
            let info = Info {
                block_bytes: 4096,
                volatile_cache: true,
                max_request_bytes: 8 << 12,
                ..Info::plain(size_bytes)
            };
            overlay(Arc::new(slow(info, seed)), Arc::clone(&lower) as Arc<dyn Device>, KEEP)
        };
        assert_eq!((make().info().block_bytes, make().info().fua), (4096, Support::Emulated));
        assert_eq!(make().info().discard, DiscardSupport::None);
        conformance::run(make, Reactor::virtual_clock, seed)
            .unwrap_or_else(|violation| panic!("{violation}"));
    }
}

#[test]
fn a_failed_flush_of_the_delta_sticks() {
    let lower = lower(64 << 9, 1);
    let delta = Arc::new(Memory::with(delta_info(lower.info())));
    let device = overlay(Arc::clone(&delta) as Arc<dyn Device>, lower, KEEP);
    assert_eq!(
        conformance::sticky_flush(
            &*device,
            &Reactor::virtual_clock(),
            || delta.fail_next(Fault::Flush),
            5
        ),
        Ok(())
    );
}

#[test]
fn a_failed_page_of_the_index_makes_flushes_fail_and_stick() {
    let lower = lower(64 << 9, 1);
    let delta = Arc::new(Memory::with(delta_info(lower.info())));
    let device = overlay(Arc::clone(&delta) as Arc<dyn Device>, lower, KEEP);
    let mut channel = blocking(&*device);
    channel.write_slice(512, &[7; 512]).expect("a write");
    delta.fail_next(Fault::Write);
    assert_eq!(channel.flush().expect_err("the page").kind(), ErrorKind::Media);
    assert_eq!(channel.flush().expect_err("still").kind(), ErrorKind::Media);
    assert_eq!(blocking(&*device).flush().expect_err("everywhere").kind(), ErrorKind::Media);
}

/// A rig whose delta `make_delta` puts on top of the memory that crashes.
fn crash_rig(seed: u64, make_delta: fn(Arc<dyn Device>) -> Arc<dyn Device>) -> Rig {
    let lower: Arc<dyn Device> = lower(96 << 9, seed);
    let delta = Arc::new(slow(delta_info(lower.info()), seed));
    let start = {
        let delta = Arc::clone(&delta);
        Box::new(move || {
            let delta = make_delta(Arc::clone(&delta) as Arc<dyn Device>);
            Ok(Arc::new(Overlay::open(delta, Arc::clone(&lower), &Facts::none(), KEEP)?)
                as Arc<dyn Device>)
        })
    };
    Rig { members: vec![delta], start }
}

fn crash_everywhere(
    seed: u64,
    make_delta: fn(Arc<dyn Device>) -> Arc<dyn Device>,
) -> Result<crash::Summary, testkit::Violation> {
    let info = (crash_rig(seed, make_delta).start)().expect("an overlay").info().clone();
    let steps = crash::history(&info, 50, seed);
    let options = Options { points: 120, ..Options::default() };
    crash::enumerate(|| crash_rig(seed, make_delta), Reactor::virtual_clock, &steps, &options, seed)
}

/// "Nothing durable is ever lost" and "A block is never torn".
#[test]
fn crashes_everywhere_lose_nothing_durable() {
    let mut crashes = 0;
    for seed in 0..6 {
        crashes += crash_everywhere(seed, |delta| delta)
            .unwrap_or_else(|violation| panic!("{violation}"))
            .crashes;
    }
    assert!(crashes > 2000, "{crashes} crashes");
}

#[test]
fn a_delta_that_does_not_flush_is_found_out() {
    let found =
        (0..6).filter_map(|seed| crash_everywhere(seed, |delta| Arc::new(LyingFlush(delta))).err());
    assert!(
        found.into_iter().any(|violation| violation.rule == "C28"),
        "a mistake that no crash shows"
    );
}

#[test]
fn what_was_flushed_is_there_when_it_is_opened_again() {
    let lower = lower(4096 << 9, 3);
    let delta = Arc::new(Memory::with(delta_info(lower.info())));
    let mut expected = contents(&*lower);
    let open = || {
        overlay(Arc::clone(&delta) as Arc<dyn Device>, Arc::clone(&lower) as Arc<dyn Device>, KEEP)
    };
    for seed in 0..5 {
        let device = open();
        assert_eq!(contents(&*device), expected);
        let mut channel = blocking(&*device);
        let mut random = Random::with_seed(seed);
        for _ in 0..20 {
            let length = random.usize(1..40) << 9;
            let offset = random.usize(0..=(expected.len() - length) >> 9) << 9;
            random.fill(&mut expected[offset..offset + length]);
            channel
                .write_slice(offset as u64, &expected[offset..offset + length])
                .expect("a write");
        }
        channel.flush().expect("a flush");
    }
    let changes = examine(&*delta).expect("it can be read").expect("it is one");
    assert_eq!(
        (changes.state, changes.size_bytes, changes.block_bytes),
        (DeltaState::InUse, 4096 << 9, 512)
    );
    assert!(changes.changed_bytes > 20 << 9 && changes.changed_bytes <= 4096 << 9);
    assert_eq!(changes.name, lower.describe().to_string());
}

#[test]
fn a_delta_of_another_device_is_refused_and_so_is_anything_else() {
    let (one, other, larger) = (lower(64 << 9, 1), lower(64 << 9, 2), lower(65 << 9, 1));
    let delta = Arc::new(Memory::with(delta_info(larger.info())));
    let open = |lower: &Arc<Memory>, options| {
        let opened = Overlay::open(
            Arc::clone(&delta) as Arc<dyn Device>,
            Arc::clone(lower) as Arc<dyn Device>,
            &Facts::none(),
            options,
        );
        opened.map(drop).map_err(|error| (error.kind(), error.to_string()))
    };
    assert_eq!(open(&one, KEEP), Ok(()));
    let (kind, text) = open(&other, KEEP).expect_err("another device");
    assert!(kind == ErrorKind::Refused && text.contains("another device"), "{text}");
    let (kind, text) = open(&larger, KEEP).expect_err("another size");
    assert!(kind == ErrorKind::Refused && text.contains("this device has"), "{text}");
    let (kind, text) = open(&one, THROW_AWAY).expect_err("there are changes in it");
    assert!(kind == ErrorKind::Refused && text.contains("keep=no"), "{text}");
    blocking(&*one).write_slice(0, &[1; 512]).expect("somebody writes below");
    let (kind, text) = open(&one, KEEP).expect_err("it has changed");
    assert!(kind == ErrorKind::Refused && text.contains("somebody has written"), "{text}");

    // A file system's superblock lies a little behind the start.
    for at in [0, 1024, 64 << 10] {
        let foreign = Arc::new(Memory::with(delta_info(one.info())));
        blocking(&*foreign).write_slice(at, &[0x53; 512]).expect("a write");
        for options in [KEEP, THROW_AWAY] {
            let error = Overlay::open(
                Arc::clone(&foreign) as Arc<dyn Device>,
                Arc::clone(&one) as Arc<dyn Device>,
                &Facts::none(),
                options,
            )
            .err();
            assert_eq!(error.expect("not ours").kind(), ErrorKind::Refused, "byte {at}");
        }
    }
    let small: Arc<dyn Device> = Arc::new(Memory::new(64 << 9));
    let error = Overlay::open(small, Arc::clone(&one) as Arc<dyn Device>, &Facts::none(), KEEP)
        .err()
        .expect("too small");
    assert!(error.to_string().contains("it needs"), "{error}");
}

/// "The same for `overlay commit` over a changed lower device", wherever between the places of the
/// sample it was written.
#[test]
fn a_delta_over_a_device_that_was_written_to_is_neither_opened_nor_committed() {
    const BETWEEN: u64 = (3 << 20) + (40 << 10);
    let facts = |state, believe_sample| Facts {
        leaves: vec![LeafFacts { identity: 1, epoch: 0, state }],
        believe_sample,
    };
    let lower = lower(8 << 20, 3);
    let delta = Arc::new(Memory::with(delta_info(lower.info())));
    let both = || (Arc::clone(&delta) as Arc<dyn Device>, Arc::clone(&lower) as Arc<dyn Device>);
    let open = |facts: &Facts| Overlay::open(both().0, both().1, facts, KEEP);
    let device = open(&facts(1, false)).expect("an overlay");
    blocking(&device).write_slice(0, &[1; 4096]).expect("a write");
    blocking(&device).flush().expect("a flush");
    assert!(open(&facts(1, false)).expect("nobody has written").note().is_none());
    assert!(
        open(&Facts::none())
            .expect("nothing is known")
            .note()
            .is_some_and(|note| note.english().contains("sample"))
    );

    blocking(&*lower).write_slice(BETWEEN, &[9; 512]).expect("somebody writes below");
    let error = open(&facts(2, false)).err().expect("written to");
    assert!(
        error.kind() == ErrorKind::Refused && error.to_string().contains("was written to"),
        "{error}"
    );
    let error = commit(both().0, both().1, &facts(2, false)).expect_err("written to");
    assert!(
        error.kind() == ErrorKind::Refused && error.to_string().contains("was written to"),
        "{error}"
    );
    assert_eq!(open(&facts(2, true)).expect("vouched for").note(), None);
    assert_eq!(open(&facts(2, false)).expect("once is enough").note(), None);

    assert_eq!(commit(both().0, both().1, &facts(2, false)).expect("a commit"), 4096);
    seal_delta(both().0, &facts(3, false).leaves).expect("it is taken down");
    assert_eq!(open(&facts(3, false)).expect("as the commit left it").note(), None);
    assert_eq!(discard(both().0).expect("a discard"), 0);
    assert_eq!(open(&facts(3, false)).expect("as the commit left it").note(), None);
    assert!(open(&facts(4, false)).is_err(), "written to");
}

#[test]
fn damage_in_the_index_is_named() {
    let lower = lower(64 << 9, 1);
    let delta = Arc::new(Memory::with(delta_info(lower.info())));
    let open = || {
        Overlay::open(
            Arc::clone(&delta) as Arc<dyn Device>,
            Arc::clone(&lower) as Arc<dyn Device>,
            &Facts::none(),
            KEEP,
        )
    };
    let device = open().expect("an overlay");
    blocking(&device).write_slice(0, &[1; 512]).expect("a write");
    blocking(&device).flush().expect("a flush");
    let mut page = [0; 512];
    blocking(&*delta).read_slice(512, &mut page).expect("a read");
    page[30] ^= 1;
    blocking(&*delta).write_slice(512, &page).expect("a write");
    let error = open().err().expect("a damaged index");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("page 0 of the index"), "{error}");
}

/// A device of 8 MiB with a delta that says of three of its five pages that blocks were changed.
fn changed_in_three_pages() -> (Arc<Memory>, Arc<Memory>) {
    let lower = lower(8 << 20, 3);
    let delta = Arc::new(Memory::with(delta_info(lower.info())));
    let device =
        overlay(Arc::clone(&delta) as Arc<dyn Device>, Arc::clone(&lower) as Arc<dyn Device>, KEEP);
    let mut channel = blocking(&*device);
    for page in [0, 2, 3] {
        channel.write_slice(page * 3904 * 512, &[7; 4096]).expect("a write");
        channel.flush().expect("a flush");
    }
    drop((channel, device));
    (delta, lower)
}

/// Where the marks of a delta over 8 MiB lie: behind its first MiB, the data, and the witness.
const MARKS: u64 = (1 << 20) + (8 << 20) + (64 << 10);

/// "For the kind, look for the third": an overlay's delta has an index too, and zeroes in it are
/// blocks that are forgotten.
#[test]
fn zeroes_in_a_delta_are_damage_and_not_a_delta_with_less_in_it() {
    let cases: [(&str, u64, usize, &str); 7] = [
        ("a page", 512, 512, "page 0 of the index is damaged: it is all zero"),
        ("another", 512 * 3, 512, "page 2 of the index is damaged: it is all zero"),
        ("all pages", 512, 5 * 512, "page 0 of the index is damaged: it is all zero"),
        ("the marks", MARKS, 512, "page 0 of the marks of the index is damaged: it is all zero"),
        ("the superblock", 0, 512, "is not empty (byte 512 is not zero)"),
        ("the start", 0, 4096, "has lost its beginning"),
        ("all before the data", 0, 1 << 20, "has lost its beginning"),
    ];
    for (what, offset, length, expected) in cases {
        let (delta, lower) = changed_in_three_pages();
        blocking(&*delta).write_slice(offset, &vec![0; length]).expect("a write");
        let (before, below) = (contents(&*delta), contents(&*lower));
        let both =
            || (Arc::clone(&delta) as Arc<dyn Device>, Arc::clone(&lower) as Arc<dyn Device>);
        for options in [KEEP, THROW_AWAY].into_iter().take(if offset == 0 { 2 } else { 1 }) {
            let opened = Overlay::open(both().0, both().1, &Facts::none(), options).err();
            let error = opened.unwrap_or_else(|| panic!("{what}: it is opened with less in it"));
            assert!(error.to_string().contains(expected), "{what}: {error}");
        }
        if offset > 0 {
            let error = examine(&*delta).expect_err("nothing is shown of it");
            assert!(
                error.kind() == ErrorKind::Corrupt && error.to_string().contains(expected),
                "{what}: {error}"
            );
        }
        assert!(
            commit(both().0, both().1, &Facts::none()).is_err(),
            "{what}: no part of it is committed"
        );
        assert!(
            contents(&*lower) == below && contents(&*delta) == before,
            "{what}: nothing was written"
        );
    }
    // What was never changed is zero, and that is right.
    let (delta, lower) = changed_in_three_pages();
    blocking(&*delta).write_slice(512 * 2, &[0; 512]).expect("a write");
    drop(overlay(delta, lower, KEEP));
}

#[test]
fn a_delta_of_version_1_is_read_and_gets_its_marks() {
    let (delta, lower) = changed_in_three_pages();
    let both = || (Arc::clone(&delta) as Arc<dyn Device>, Arc::clone(&lower) as Arc<dyn Device>);
    let mut expected = contents(&*lower);
    [0, 2, 3].into_iter().for_each(|page: usize| expected[page * 3904 * 512..][..4096].fill(7));
    let make_old = || {
        let mut superblock = [0; 512];
        let mut channel = blocking(&*delta);
        channel.read_slice(0, &mut superblock).expect("a read");
        assert_eq!(superblock[16], 2, "the version");
        superblock[16] = 1;
        let checksum = crc32c::crc32c(&superblock[..508]);
        superblock[508..].copy_from_slice(&checksum.to_le_bytes());
        channel.write_slice(0, &superblock).expect("a write");
        channel.write_slice(MARKS, &[0; 512]).expect("a write");
    };
    make_old();
    assert_eq!(examine(&*delta).expect("readable").expect("a delta").changed_bytes, 3 * 4096);
    assert_eq!(contents(&*overlay(both().0, both().1, KEEP)), expected);
    assert_eq!(contents(&*overlay(both().0, both().1, KEEP)), expected, "as version 2");
    blocking(&*delta).write_slice(512 * 4, &[0; 512]).expect("a write");
    assert!(Overlay::open(both().0, both().1, &Facts::none(), KEEP).is_err(), "it has marks");

    let (delta, lower) = changed_in_three_pages();
    let both = || (Arc::clone(&delta) as Arc<dyn Device>, Arc::clone(&lower) as Arc<dyn Device>);
    assert_eq!(commit(both().0, both().1, &Facts::none()).expect("a commit"), 3 * 4096);
    assert_eq!(
        contents(&*overlay(both().0, both().1, KEEP)),
        expected,
        "cleared, with marks of the new generation"
    );
}

#[test]
fn a_commit_writes_below_and_a_discard_forgets() {
    let lower = lower(4096 << 9, 3);
    let delta = Arc::new(Memory::with(delta_info(lower.info())));
    let dynamic = || (Arc::clone(&delta) as Arc<dyn Device>, Arc::clone(&lower) as Arc<dyn Device>);
    let open = || overlay(dynamic().0, dynamic().1, KEEP);
    let mut expected = contents(&*lower);
    let change = |bytes: &[u8], offset: usize| {
        let device = open();
        blocking(&*device).write_slice(offset as u64, bytes).expect("a write");
        blocking(&*device).flush().expect("a flush");
        contents(&*device)
    };
    change(&[1; 3 << 9], 5 << 9);
    assert_eq!(discard(dynamic().0).expect("a discard"), 3 << 9);
    assert_eq!(contents(&*open()), expected, "the changes are gone");
    expected[7 << 9..9 << 9].fill(2);
    expected[4000 << 9..4010 << 9].fill(3);
    change(&[2; 2 << 9], 7 << 9);
    assert_eq!(change(&[3; 10 << 9], 4000 << 9), expected);
    assert_eq!(commit(dynamic().0, dynamic().1, &Facts::none()).expect("a commit"), 12 << 9);
    assert_eq!(contents(&*lower), expected);
    assert_eq!(contents(&*open()), expected, "the delta fits the device as it is now");
    assert_eq!(examine(&*delta).expect("readable").expect("a delta").changed_bytes, 0);
    let nothing: Arc<dyn Device> = Arc::new(Memory::new(1 << 20));
    assert_eq!(discard(nothing).expect_err("no delta").kind(), ErrorKind::Refused);
}

/// A device that is gone after so many requests.
struct Mortal(Arc<Memory>, Arc<std::sync::atomic::AtomicI64>);
struct MortalChannel(Box<dyn Channel>, Arc<std::sync::atomic::AtomicI64>, Vec<Completion>);

impl Device for Mortal {
    fn info(&self) -> &Info {
        self.0.info()
    }
    fn describe(&self) -> Node {
        self.0.describe()
    }
    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(MortalChannel(self.0.open(depth, reactor)?, Arc::clone(&self.1), Vec::new())))
    }
}

impl Channel for MortalChannel {
    fn submit(&mut self, request: Request) {
        if self.1.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) > 0 {
            self.0.submit(request);
        } else {
            self.2.push(request.complete(Err(Error::new(ErrorKind::Gone, "the power is gone"))));
        }
    }
    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.0.poll(done);
        done.append(&mut self.2);
    }
    fn in_flight(&self) -> u32 {
        self.0.in_flight() + self.2.len() as u32
    }
}

#[test]
fn a_commit_that_is_cut_off_anywhere_can_be_finished() {
    let mut refused = 0;
    for seed in 0..4 {
        let mut cut_off = true;
        for requests in 0.. {
            if !cut_off {
                assert!(requests > 20, "a commit has more requests than {requests}");
                break;
            }
            let lower = lower(96 << 9, seed);
            let able = Info { volatile_cache: true, ..lower.info().clone() };
            let below = Arc::new(Memory::with(able));
            blocking(&*below).write_slice(0, &contents(&*lower)).expect("a write");
            blocking(&*below).flush().expect("a flush");
            let delta = Arc::new(Memory::with(delta_info(below.info())));
            let open = || {
                Overlay::open(
                    Arc::clone(&delta) as Arc<dyn Device>,
                    Arc::clone(&below) as Arc<dyn Device>,
                    &Facts::none(),
                    KEEP,
                )
            };
            let device = open().expect("an overlay");
            for run in 0..7 {
                blocking(&device)
                    .write_slice((run * 13) << 9, &[run as u8; 4 << 9])
                    .expect("a write");
            }
            blocking(&device).flush().expect("a flush");
            let expected = contents(&device);
            drop(device);

            let left = Arc::new(std::sync::atomic::AtomicI64::new(requests));
            let mortal = |memory: &Arc<Memory>| {
                Arc::new(Mortal(Arc::clone(memory), Arc::clone(&left))) as Arc<dyn Device>
            };
            cut_off = commit(mortal(&delta), mortal(&below), &Facts::none()).is_err();
            for (number, memory) in [&delta, &below].into_iter().enumerate() {
                memory.crash(derive_seed(seed, "crash", number as u64 + 2 * requests as u64));
                memory.power_on();
            }
            match open() {
                Ok(device) => {
                    assert_eq!(contents(&device), expected, "seed {seed}, {requests} requests");
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(
                        error.kind(),
                        ErrorKind::Refused,
                        "seed {seed}, {requests} requests: {error}"
                    );
                    commit(
                        Arc::clone(&delta) as Arc<dyn Device>,
                        Arc::clone(&below) as Arc<dyn Device>,
                        &Facts::none(),
                    )
                    .expect("a commit");
                    assert_eq!(contents(&*below), expected, "seed {seed}, {requests} requests");
                    assert_eq!(contents(&open().expect("an empty delta")), expected);
                }
            }
        }
    }
    assert!(refused > 20, "the interesting part was reached only {refused} times");
}
