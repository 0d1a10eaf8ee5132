use results::Doubt;
use results::doubt::UnverifiedReason;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use block::{BufMut, Clock, Error, Reactor};

use super::*;
use crate::load::{Access, Content, Hooks};
use crate::memory::{Fault, Memory};
use crate::suite::access::content::{BLOCK_BYTES, StampedPart};
use crate::suite::access::{BlockContents, View, prepare, read_back, run};
use crate::suite::{AfterPhase, NoAudit, NoProgress, Row as SuiteRow, Session, Ticker};

#[test]
fn the_profiles_have_the_rows_of_the_originals_in_their_order() {
    let names = |profile: Profile, mix| profile.rows(mix).iter().map(Row::name).collect::<Vec<_>>();
    assert_eq!(
        names(Profile::Three, None),
        [
            "SEQ1M Q1T1 read",
            "SEQ1M Q1T1 write",
            "RND512K Q1T1 read",
            "RND512K Q1T1 write",
            "RND4K Q1T1 read",
            "RND4K Q1T1 write",
            "RND4K Q32T1 read",
            "RND4K Q32T1 write",
        ]
    );
    assert_eq!(
        names(Profile::Eight, None),
        [
            "SEQ1M Q8T1 read",
            "SEQ1M Q1T1 read",
            "RND4K Q32T1 read",
            "RND4K Q1T1 read",
            "SEQ1M Q8T1 write",
            "SEQ1M Q1T1 write",
            "RND4K Q32T1 write",
            "RND4K Q1T1 write",
        ]
    );
    assert_eq!(
        names(Profile::EightNvme, None)[..4],
        ["SEQ1M Q8T1 read", "SEQ128K Q32T1 read", "RND4K Q32T16 read", "RND4K Q1T1 read"]
    );
    assert_eq!(
        names(Profile::Peak, Some(70)),
        [
            "SEQ1M Q8T1 read",
            "RND4K Q32T1 read",
            "SEQ1M Q8T1 write",
            "RND4K Q32T1 write",
            "SEQ1M Q8T1 mix",
            "RND4K Q32T1 mix",
        ]
    );
    assert_eq!(
        names(Profile::Real, None),
        ["SEQ1M Q1T1 read", "RND4K Q1T1 read", "SEQ1M Q1T1 write", "RND4K Q1T1 write"]
    );
}

#[test]
fn rows_say_what_they_do() {
    let rows = Profile::EightNvme.rows(Some(70));
    let what = |name: &str| {
        let row = rows.iter().find(|row| row.name() == name);
        row.map(|row| row.what(false).english()).unwrap_or_default()
    };
    assert_eq!(
        what("SEQ1M Q8T1 read"),
        "Adjacent reads of 1 MiB, 8 outstanding; past the page cache."
    );
    assert_eq!(
        what("RND4K Q32T16 write"),
        "Randomly placed writes of 4 KiB, 32 outstanding in each of 16 threads, then a flush; past \
        the page cache."
    );
    assert_eq!(
        what("RND4K Q1T1 mix"),
        "Randomly placed reads and writes, 70 to 30 by number, of 4 KiB, one at a time, then a \
        flush; past the page cache."
    );
}

#[test]
fn options_that_make_no_sense_are_named() {
    let wrong = |change: fn(&mut Options)| {
        let mut options = Profile::Eight.options();
        change(&mut options);
        options.check().err().unwrap_or_default().to_string()
    };
    assert_eq!(wrong(|_| ()), "");
    assert!(
        wrong(|options| options.size_bytes = (1 << 20) + 4096)
            .starts_with("a test size of 1052672 bytes is not possible")
    );
    assert!(wrong(|options| options.size_bytes = 65 << 30).contains("64 GiB"));
    assert!(wrong(|options| options.runs = 10).contains("1 to 9"));
    let none = wrong(|options| options.only = "RND5K".to_owned());
    assert!(none.contains("RND5K") && none.contains("SEQ1M Q1T1 read"), "{none}");
    assert!(wrong(|options| options.mix_read_percent = Some(100)).contains("1 to 99"));
    assert!(wrong(|options| options.time = Duration::ZERO).contains("no time"));
}

fn quick(profile: Profile, data: Data) -> Options {
    Options {
        size_bytes: 4 << 20,
        runs: 2,
        time: Duration::from_millis(4),
        interval: Duration::ZERO,
        data,
        ..profile.options()
    }
}

/// What a row is run on, and by whom.
struct Bench {
    memory: Memory,
    reactor: Reactor,
    options: Options,
    filled: BlockContents,
    stop: AtomicBool,
}

impl Bench {
    fn new(options: Options) -> Bench {
        Bench::on(Reactor::wall().expect("io_uring"), options)
    }

    fn on(reactor: Reactor, options: Options) -> Bench {
        let memory = Memory::new(options.size_bytes);
        let filled = prepare(&memory, &reactor, &options.access(), &mut Hooks::default())
            .expect("the memory takes it");
        Bench { memory, reactor, options, filled, stop: AtomicBool::new(false) }
    }

    /// Runs a row on two views, and returns what came of it.
    /// Reads everything back.
    fn read_back(&mut self) -> Result<(), Error> {
        let access = self.options.access();
        read_back(&self.memory, &self.reactor, &access, &mut self.filled, &mut Hooks::default())
    }

    fn run(&mut self, row: &Row) -> Result<(AfterPhase, Vec<SuiteRow>), Error> {
        let (ticker, mut meter, mut observer) = (Ticker::new(), NoAudit, NoProgress);
        let mut session =
            Session::new(&self.reactor, &self.stop, &ticker, &mut meter, &mut observer);
        let views = [false, true].map(|buffered| {
            (View { buffered, device: &self.memory }, definition::phase(row, buffered))
        });
        let next = run(&views, row, &self.options.access(), &mut self.filled, &mut session)?;
        Ok((next, session.into_rows()))
    }

    fn row(&self, name: &str) -> Row {
        *self.options.rows().iter().find(|row| row.name() == name).expect("a row of the profile")
    }
}

/// Runs a row, and holds its figures and what it has checked against each other.
fn check_row(bench: &mut Bench, row: &Row, what: &str) {
    let checked_before = bench.filled.checked_bytes;
    let (next, rows) = bench.run(row).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(next, AfterPhase::Go);
    let order: Vec<_> =
        rows.iter().map(|row| (row.phase.ends_with(" buffered"), row.run)).collect();
    assert_eq!(
        order,
        [(false, 1), (true, 1), (false, 2), (true, 2)],
        "the views take turns, and the warm-up does not count"
    );
    let (mut read_bytes, mut written_bytes) = (0, 0);
    for measured in rows.iter().filter_map(SuiteRow::measured) {
        let done = &measured.done;
        assert!(done.operations > 0, "{}", row.name());
        assert_eq!(done.bytes(), done.operations * u64::from(row.request_bytes), "{}", row.name());
        assert_eq!(done.flush.is_some(), row.way.writes(), "{}", row.name());
        assert!(
            measured.durable_bytes_per_second().unwrap_or(0.0) <= measured.bytes_per_second(),
            "{}",
            row.name()
        );
        read_bytes += done.read_bytes;
        written_bytes += done.written_bytes;
    }
    match row.way {
        AccessKind::Read => assert_eq!(written_bytes, 0),
        AccessKind::Write => assert_eq!(read_bytes, 0),
        AccessKind::Mix { .. } if bench.reactor.clock() == Clock::Wall => (),
        AccessKind::Mix { .. } => assert!(
            read_bytes > written_bytes && written_bytes > 0,
            "{}: 70 of 100 read",
            row.name()
        ),
    }
    let checked = bench.filled.checked_bytes - checked_before;
    assert!(checked >= read_bytes, "{}: {checked} of {read_bytes} bytes were checked", row.name());
}

/// Every row of every profile on memory: what is read is what was written, and bytes are requests
/// times their size.
#[test]
fn every_row_reads_what_was_written_last() {
    for data in [Data::Random, Data::Zero, Data::One] {
        for (name, profile, _) in PROFILES
            .into_iter()
            .filter(|(_, profile, _)| data == Data::Random || *profile == Profile::Real)
        {
            // Threads are there on the wall clock, how many requests fit into the time is certain
            // on the virtual one.
            for reactor in [Reactor::wall().expect("io_uring"), Reactor::virtual_clock()] {
                let time =
                    Duration::from_micros(if reactor.clock() == Clock::Wall { 4000 } else { 400 });
                let mut bench = Bench::on(
                    reactor,
                    Options { mix_read_percent: Some(70), time, ..quick(profile, data) },
                );
                assert_eq!(bench.filled.written_bytes, bench.options.size_bytes);
                let one_owner = bench.reactor.clock() == Clock::Virtual;
                for row in
                    bench.options.rows().into_iter().filter(|row| row.threads == 1 || !one_owner)
                {
                    check_row(&mut bench, &row, &format!("profile {name}, {data:?}"));
                }
            }
        }
    }
}

#[test]
fn a_lost_write_is_found_by_a_later_read() {
    // Requests that the row makes in so little time: all of them, and some.
    for (name, lost) in [("RND4K Q1T1 write", 6), ("RND4K Q32T16 write", 200)] {
        let mut bench = Bench::new(Options {
            time: Duration::from_nanos(1),
            ..quick(Profile::EightNvme, Data::Random)
        });
        (0..lost).for_each(|ahead| bench.memory.plant(ahead, Fault::Lost));
        let row = bench.row(name);
        bench.run(&row).expect("nobody noticed yet");
        bench.options.time = Duration::from_millis(4);
        let row = bench.row("SEQ1M Q8T1 read");
        let error = bench.run(&row).expect_err("a write was lost").to_string();
        assert!(error.contains("SEQ1M Q8T1 read") && error.contains("a write was lost"), "{error}");
    }
}

/// "the first 32 bytes of every 4 KiB, or every byte": where the mark is not, `words` is blind
/// inside a row's time and says so; `full` is not, and behind the last row neither is.
#[test]
fn a_flipped_bit_is_found_anywhere_in_a_block_by_full_and_by_the_reading_back() {
    for data in [Data::Random, Data::Zero, Data::One] {
        for (at, in_the_mark) in [
            (0, true),
            (31, true),
            (32, false),
            (511, false),
            (512, false),
            (512 + 24, false),
            (2000, false),
            (4095, false),
        ] {
            let mut bench = Bench::on(
                Reactor::virtual_clock(),
                Options { size_bytes: 1 << 20, ..quick(Profile::Real, data) },
            );
            bench.options.time = Duration::from_micros(400);
            bench.memory.change(|bytes| bytes[8192 + at] ^= 8);
            let row = bench.row("SEQ1M Q1T1 read");
            let words = bench.run(&row).err().map(|error| error.to_string());
            assert_eq!(words.is_some(), in_the_mark, "{data:?}, byte {at}: {words:?}");
            bench.options.verify = Verify::Full;
            let full = bench.run(&row).expect_err("every byte is compared").to_string();
            assert!(full.contains("wrong data at offset 8192"), "{data:?}, byte {at}: {full}");
            let back = bench.read_back();
            let back = back.expect_err("every byte is compared").to_string();
            assert!(
                back.contains("reading everything back")
                    && back.contains("wrong data at offset 8192"),
                "{data:?}, byte {at}: {back}"
            );
        }
    }
}

/// Two writes that each left some sectors of one block: a mark alone looks right.
#[test]
fn a_block_that_is_torn_inside_is_found_by_the_reading_back() {
    let mut bench = Bench::on(Reactor::virtual_clock(), quick(Profile::Real, Data::Random));
    bench.options.time = Duration::from_micros(400);
    let mut before = Vec::new();
    bench.memory.change(|bytes| before = bytes.to_vec());
    let row = bench.row("RND4K Q1T1 write");
    bench.run(&row).expect("it runs");
    bench.memory.change(|bytes| {
        let changed = bytes
            .chunks(4096)
            .zip(before.chunks(4096))
            .position(|(now, then)| now[..512] != then[..512])
            .expect("a write");
        let half = changed * 4096 + 2048..changed * 4096 + 4096;
        bytes[half.clone()].copy_from_slice(&before[half]);
    });
    let back = bench.read_back();
    let back = back.expect_err("half of a block is older").to_string();
    assert!(back.contains("other bytes behind its mark"), "{back}");
}

/// "No two blocks of 4 KiB that are written carry the same data".
#[test]
fn every_block_that_is_written_is_unlike_every_other() {
    let mut filled = BlockContents::nothing(1 << 20, Data::Random, 3);
    let (data, seed, numbers) = (filled.data, filled.seed, &mut filled.numbers);
    let mut stamped = StampedPart {
        data,
        seed,
        numbers,
        first_block: 0,
        last: 0,
        verify: Verify::Words,
        checked_bytes: 0,
    };
    let mut buffer = BufMut::zeroed(64 << 10);
    stamped.prepare(0, &mut buffer);
    let mut seen = std::collections::HashSet::new();
    for round in 0..3 {
        for offset in (0..1 << 20).step_by(64 << 10) {
            let bytes = buffer.as_mut_slice().expect("one piece");
            stamped.fill(
                &Access { direction: crate::load::Direction::Write, offset, length: 64 << 10 },
                bytes,
            );
            for block in bytes.chunks(BLOCK_BYTES) {
                assert!(seen.insert(block.to_vec()), "round {round}, offset {offset}");
            }
        }
    }
    let bytes = buffer.as_slice().expect("one piece");
    let packed = miniz_oxide::deflate::compress_to_vec(bytes, 9);
    assert!(
        packed.len() > bytes.len() * 99 / 100,
        "{} of {} bytes left",
        packed.len(),
        bytes.len()
    );
}

/// Version 3 looks at its clock after whole passes, 20 and 160 requests, so that counts are
/// multiples of those.
#[test]
fn version_three_looks_at_its_clock_after_whole_batches() {
    for reactor in [Reactor::wall().expect("io_uring"), Reactor::virtual_clock()] {
        let mut bench = Bench::on(reactor, quick(Profile::Three, Data::Random));
        for (row, batch) in bench.options.rows().iter().zip([4, 4, 20, 20, 160, 160]) {
            let (_, rows) = bench.run(row).expect("it runs");
            for measured in rows.iter().filter_map(SuiteRow::measured) {
                assert_eq!(measured.done.operations % batch, 0, "{}", row.name());
                assert!(measured.done.elapsed >= bench.options.time, "{}", row.name());
            }
        }
    }
}

#[test]
fn a_row_that_the_target_cannot_do_says_why() {
    let mut bench = Bench::new(quick(Profile::Eight, Data::Random));
    bench.memory = Memory::new(4 << 20).with(|info| info.max_request_bytes = 64 << 10);
    let row = bench.row("SEQ1M Q8T1 read");
    let (_, rows) = bench.run(&row).expect("no error");
    let reasons = rows.iter().filter_map(|row| Some(row.document().skipped?.english()));
    assert_eq!(
        reasons.collect::<Vec<_>>(),
        ["the target takes at most 65536 bytes in one request"; 2]
    );
}

#[test]
fn a_stopped_row_has_no_figure() {
    let mut bench = Bench::new(quick(Profile::Eight, Data::Random));
    bench.stop = AtomicBool::new(true);
    let row = bench.row("SEQ1M Q8T1 read");
    let (next, rows) = bench.run(&row).expect("no error");
    assert!(next == AfterPhase::Stop && rows.is_empty());
}

/// "Steady state by SNIA's rule for workloads that write": a target that slows down after a while
/// is measured slowed down; its reads have no rounds.
#[test]
fn what_writes_is_repeated_until_it_is_steady() {
    let options =
        Options { steady: true, warms_up: false, runs: 1, ..quick(Profile::Eight, Data::Random) };
    let mut bench = Bench::on(Reactor::virtual_clock(), options);
    // Some 400 requests a round; the first 600 are fast.
    bench.memory = Memory::new(4 << 20)
        .with(|info| info.stores_data = false)
        .delayed(|number| Duration::from_micros(if number < 600 { 10 } else { 30 }));
    bench.filled =
        prepare(&bench.memory, &bench.reactor, &bench.options.access(), &mut Hooks::default())
            .expect("nothing to write");
    let measured = |bench: &mut Bench, row: &str| {
        let row = bench.row(row);
        let (_, rows) = bench.run(&row).expect("it runs");
        rows[0].measured().expect("it was measured").metrics()
    };
    let metrics = measured(&mut bench, "RND4K Q1T1 write");
    let rounds = metrics["steady_rounds_count"];
    assert!((6.0..=10.0).contains(&rounds), "{rounds} rounds");
    let mean = metrics["latency_mean_seconds"];
    assert!((29e-6..31e-6).contains(&mean), "{mean}");
    let elapsed = metrics["elapsed_seconds"];
    assert!((0.0199..0.0205).contains(&elapsed), "five rounds of 4 ms: {elapsed}");
    assert!(metrics["durable_throughput_bytes_per_second"] > 0.0);
    assert!(!measured(&mut bench, "RND4K Q1T1 read").contains_key("steady_rounds_count"));
}

/// On the virtual clock a modelled disk keeps no data: the rows are measured all the same, and say
/// so.
#[test]
fn a_target_without_content_is_only_measured() {
    let mut bench = Bench::new(quick(Profile::EightNvme, Data::Random));
    bench.memory = Memory::new(4 << 20).with(|info| info.stores_data = false);
    bench.reactor = Reactor::virtual_clock();
    bench.filled =
        prepare(&bench.memory, &bench.reactor, &bench.options.access(), &mut Hooks::default())
            .expect("nothing to write");
    assert_eq!((bench.filled.written_bytes, bench.memory.log().len()), (0, 0));
    let row = bench.row("RND4K Q32T16 write");
    let (_, rows) = bench.run(&row).expect("it runs");
    let notes = &rows[0].measured().expect("it was measured").done.notes;
    assert_eq!(
        notes[..],
        [
            Doubt::Unverified { because: UnverifiedReason::NoData },
            Doubt::OneOwner { outstanding: 512, threads: 16 },
        ]
    );
}

#[test]
fn the_job_for_fio_asks_the_same() {
    let options = Options { size_bytes: 1 << 30, ..Profile::EightNvme.options() };
    let rows = options.rows();
    let command = |index: usize, direct| {
        Job::new(&rows[index], &options, Path::new("/a b/test"), direct).command()
    };
    assert_eq!(
        command(0, true),
        "fio --name='SEQ1M Q8T1 read' --filename='/a b/test' --ioengine=io_uring --direct=1 \
        --rw=read --bs=1048576 --iodepth=8 --numjobs=1 \
         --size=1073741824 --time_based=1 --runtime=5 --norandommap=1 --randrepeat=0 \
         --group_reporting=1 --invalidate=0 --readonly"
    );
    let threads = command(6, false);
    assert!(
        threads.contains("--rw=randwrite --bs=4096 --iodepth=32 --numjobs=16 --size=67108864"),
        "{threads}"
    );
    assert!(
        threads.contains("--offset_increment=67108864")
            && threads.ends_with("--scramble_buffers=1 --end_fsync=1"),
        "{threads}"
    );
}
