use results::Doubt;
use results::doubt::UnverifiedReason;
use std::collections::BTreeMap;
use std::sync::Arc;

use block::{DiscardSupport, ErrorKind};

use super::*;
use crate::memory::{Fault, Memory};

const MEBIBYTE: u64 = 1 << 20;

fn test(workload: &str) -> Test {
    tests().into_iter().find(|test| test.workload == workload).unwrap()
}

fn settings() -> Settings {
    Settings { time_per_test: Duration::from_millis(2), ..Settings::default() }
}

struct Bench {
    device: Arc<dyn Device>,
    memory: Arc<Memory>,
    reactor: Reactor,
    settings: Settings,
    prepared: PreparedContent,
}

impl Bench {
    fn new(memory: Memory, settings: Settings) -> Bench {
        let (device, memory) = memory.shared();
        let reactor = Reactor::virtual_clock();
        let prepared =
            prepare(&*device, &reactor, &tests(), &settings, &mut Hooks::default()).unwrap();
        memory.clear_log();
        Bench { device, memory, reactor, settings, prepared }
    }

    fn run(&mut self, workload: &str) -> Result<TestResult, Error> {
        let Bench { device, reactor, settings, prepared, .. } = self;
        run_test(&**device, reactor, &test(workload), settings, prepared, &mut Hooks::default())
    }

    fn measured(&mut self, workload: &str) -> TestResult {
        let result = self.run(workload).unwrap();
        assert!(result.measured().is_some(), "{workload}: {:?}", result.outcome);
        result
    }

    fn corrupt(&mut self, workload: &str) -> String {
        let error = self.run(workload).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        error.to_string()
    }
}

/// A result as a row of the suite.
fn row(result: TestResult) -> super::super::row::Row {
    let Outcome::Measured(measured) = result.outcome else {
        panic!("{} was measured", result.test.workload)
    };
    let measured = super::super::row::PhaseFigures {
        done: definition::done(&result.test, *measured),
        facts: crate::audit::Facts::default(),
        flags: Vec::new(),
    };
    let result_row = super::super::row::Result::Measured(Box::new(measured));
    super::super::row::Row { phase: result.test.workload, run: 1, result: result_row }
}

/// The figures of a trial.
fn metrics(result: TestResult) -> BTreeMap<String, f64> {
    row(result).measured().unwrap().metrics()
}

/// Name and request size of every row of the figures of 2004.
fn rows_of_2004() -> Vec<(String, String)> {
    let table = include_str!("../../../../../models/data/maxtor-6y200p0.csv");
    let mut rows = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with(['#']) && !line.starts_with("test,"))
    {
        let mut fields = line.split(',');
        rows.push((fields.next().unwrap().to_owned(), fields.next().unwrap().to_owned()));
    }
    rows
}

#[test]
fn runs_exactly_the_tests_of_2004_in_their_order() {
    let mut bench = Bench::new(Memory::new(4 * MEBIBYTE), settings());
    let results: Vec<TestResult> =
        tests().iter().map(|test| bench.measured(&test.workload)).collect();
    let names: Vec<(String, String)> = results
        .iter()
        .flat_map(|result| {
            let size = result.test.request_bytes.to_string();
            result.test.lines().into_iter().map(move |(name, _)| (name, size.clone()))
        })
        .collect();
    assert_eq!(names, rows_of_2004());
    assert_eq!((results.len(), names.len()), (21, 24));
}

#[test]
fn workloads_have_names_of_their_own_and_groups() {
    let tests = tests();
    let names: std::collections::BTreeSet<&str> =
        tests.iter().map(|test| test.workload.as_str()).collect();
    assert_eq!(names.len(), tests.len());
    let group = |workload: &str| test(workload).group;
    assert_eq!(group("sequential write at end 512"), Group::Sequential);
    assert_eq!(group("random read 65536"), Group::Random);
    assert_eq!(group("mixed 90:10"), Group::Mixed);
    assert_eq!(tests.iter().filter(|test| test.writes()).count(), 12);
}

#[test]
fn figures_are_those_of_the_requests_and_of_both_directions() {
    let mut bench = Bench::new(Memory::new(MEBIBYTE), settings());
    // 200 requests of 10 us each in 2 ms.
    let read = metrics(bench.measured("sequential read at start 16384"));
    assert!((1e-5..1.001e-5).contains(&read["latency_p99_seconds"]));
    assert_eq!(
        ["throughput_bytes_per_second", "io_per_second", "latency_mean_seconds"]
            .map(|name| read[name]),
        [1_600_000.0 * 1024.0, 100_000.0, 1e-5]
    );
    let mixed = metrics(bench.measured("mixed 50:50"));
    let both = mixed["read_io_per_second"] + mixed["write_io_per_second"];
    assert!((both - 100_000.0).abs() < 1e-6);
    // Only what was written can be durable later than it was acknowledged: here one flush of 10 us
    // after 2 ms.
    assert!(!read.contains_key("durable_throughput_bytes_per_second"));
    let [acknowledged, durable] =
        ["throughput_bytes_per_second", "durable_throughput_bytes_per_second"]
            .map(|name| mixed[name]);
    assert!((acknowledged / durable - 2.01 / 2.0).abs() < 1e-9, "{acknowledged} {durable}");
}

#[test]
fn metrics_agree_with_one_another() {
    let slow_flush =
        |number| Duration::from_micros(if number == 0 || number == 101 { 1000 } else { 10 });
    let settings =
        Settings { verify: Verify::Off, max_operations_per_test: Some(100), ..settings() };
    let mut bench = Bench::new(Memory::new(MEBIBYTE).delayed(slow_flush), settings);
    let figures = metrics(bench.measured("random write 512"));
    let figure = |name: &str| figures[name];
    assert_eq!(figure("throughput_bytes_per_second"), 51_200_000.0);
    assert_eq!(figure("io_per_second"), 100_000.0);
    assert_eq!(figure("operations_count"), 100.0);
    assert_eq!(figure("latency_mean_seconds"), 1e-5);
    assert_eq!(figure("latency_max_seconds"), 1e-5);
    // 51 200 bytes in 1 ms, and another one for the flush.
    assert_eq!(figure("durable_throughput_bytes_per_second"), 25_600_000.0);
    assert!(!figures.contains_key("read_io_per_second"));

    bench.settings.max_operations_per_test = None;
    let figures = metrics(bench.measured("mixed 90:10"));
    assert_eq!(
        figures["read_io_per_second"] + figures["write_io_per_second"],
        figures["io_per_second"]
    );
    assert_eq!(
        figures["read_operations_count"] + figures["write_operations_count"],
        figures["operations_count"]
    );
    let figures = metrics(bench.measured("random read 512"));
    assert!(
        !figures.contains_key("durable_throughput_bytes_per_second"),
        "nothing was to be made durable"
    );
}

#[test]
fn sequential_tests_stay_at_their_end_and_wrap() {
    let size = MEBIBYTE + 1536;
    for (workload, request, start, end) in [
        ("sequential read at start 16384", 16384, 0, 32 * 16384),
        ("sequential read at end 16384", 16384, size - 32 * 16384, size),
        ("sequential read at end 512", 512, size - 1025 * 512, size),
    ] {
        let settings = Settings {
            max_operations_per_test: Some(1100),
            time_per_test: Duration::MAX,
            ..settings()
        };
        let mut bench = Bench::new(Memory::new(size), settings);
        bench.measured(workload);
        let reads: Vec<u64> = bench
            .memory
            .log()
            .iter()
            .filter(|(op, ..)| *op == "read")
            .map(|(_, offset, _)| *offset)
            .collect();
        let expected: Vec<u64> = (start..end).step_by(request).cycle().take(1100).collect();
        assert_eq!(reads, expected, "{workload}");
    }
    // On a large device the region is the setting's.
    let settings = Settings { region_bytes: 65536, ..settings() };
    let region = settings.region_bytes(&Info::plain(200 << 30));
    assert_eq!(region, MEBIBYTE, "never less than a preparing request");
    assert_eq!(Settings::default().region_bytes(&Info::plain(200 << 30)), 512 << 20);
}

#[test]
fn a_test_starts_flushed_and_ends_flushed_when_it_wrote() {
    let mut bench = Bench::new(
        Memory::new(MEBIBYTE),
        Settings { max_operations_per_test: Some(3), ..settings() },
    );
    bench.measured("sequential write at start 512");
    let names: Vec<&str> = bench.memory.log().iter().map(|(op, ..)| *op).collect();
    assert_eq!(names, ["flush", "write", "write", "write", "flush", "read"]);
    // The three are read back in one request.
    assert_eq!(bench.memory.log()[5], ("read", 0, 1536));
    bench.memory.clear_log();
    bench.measured("random read 512");
    let names: Vec<&str> = bench.memory.log().iter().map(|(op, ..)| *op).collect();
    assert_eq!(names, ["flush", "read", "read", "read"]);
}

#[test]
fn everything_is_checked_at_any_depth() {
    for (depth, verify) in [(1, Verify::Words), (8, Verify::Full)] {
        let mut bench =
            Bench::new(Memory::new(2 * MEBIBYTE), Settings { depth, verify, ..settings() });
        assert_eq!(bench.prepared.written_bytes, 2 * MEBIBYTE);
        // Twice, so that the second round reads what the first one wrote.
        for test in tests().iter().chain(&tests()) {
            let result = bench.measured(&test.workload);
            let measured = result.measured().unwrap();
            assert_eq!(measured.checked_bytes, measured.sample.read.bytes, "{}", test.workload);
            assert_eq!(measured.read_back_bytes > 0, test.writes(), "{}", test.workload);
            assert!(measured.notes.is_empty(), "{:?}", measured.notes);
        }
    }
}

#[test]
fn large_devices_are_checked_as_exactly() {
    let mut bench = Bench::new(
        Memory::new(2 * MEBIBYTE),
        Settings { depth: 8, verify: Verify::Full, read_only: true, ..settings() },
    );
    bench.settings.read_only = false;
    bench.prepared.known = WriteLedger::as_extents(1);
    for test in tests().iter().filter(|test| test.writes()).chain(&tests()) {
        let result = bench.measured(&test.workload);
        let measured = result.measured().unwrap();
        assert_eq!(measured.read_back_bytes > 0, test.writes(), "{}", test.workload);
        // Each sequential write fills its region.
        let whole = test.name.starts_with("sequential read")
            && test.request_bytes == RequestBytes::Fixed(16384);
        assert!(
            !whole || measured.checked_bytes == measured.sample.read.bytes,
            "{}: {:?}",
            test.workload,
            measured.notes
        );
    }
    bench.settings.max_operations_per_test = Some(20);
    bench.memory.plant(1 + 5, Fault::Lost);
    assert!(
        bench
            .corrupt("sequential write at start 16384")
            .contains("wrong data at offset 81920: an older write")
    );
}

#[test]
fn every_place_that_was_written_is_read_back_once() {
    let mut bench = Bench::new(Memory::new(8 * MEBIBYTE), settings());
    let result = bench.measured("random write 512");
    let log = bench.memory.log();
    let written: std::collections::BTreeSet<u64> =
        log.iter().filter(|(op, ..)| *op == "write").map(|(_, offset, _)| *offset).collect();
    assert_eq!(result.measured().unwrap().read_back_bytes, written.len() as u64 * 512);
    let mut read: Vec<u64> = Vec::new();
    for (_, offset, length) in log.iter().filter(|(op, ..)| *op == "read") {
        read.extend((*offset..offset + length).step_by(512));
    }
    assert_eq!(read, written.into_iter().collect::<Vec<u64>>());
}

#[test]
fn a_lost_write_is_found_by_the_read_back() {
    for verify in [Verify::Words, Verify::Full] {
        let mut bench = Bench::new(
            Memory::new(MEBIBYTE),
            Settings { verify, max_operations_per_test: Some(20), ..settings() },
        );
        // The flush comes first.
        bench.memory.plant(1 + 5, Fault::Lost);
        let text = bench.corrupt("sequential write at start 16384");
        assert!(
            text.starts_with(
                "sequential write at start 16384: reading back what was written: read of "
            ),
            "{text}"
        );
        assert!(text.contains("wrong data at offset 81920: an older write"), "{text}");
    }
}

#[test]
fn a_misdirected_write_is_found_by_the_read_back() {
    let mut bench = Bench::new(
        Memory::new(MEBIBYTE),
        Settings { max_operations_per_test: Some(10), ..settings() },
    );
    bench.memory.plant(1 + 5, Fault::Misdirected(512));
    let text = bench.corrupt("sequential write at start 512");
    assert!(
        text.contains("wrong data at offset 512: data that belong at offset 2560: misdirected"),
        "{text}"
    );
}

#[test]
fn a_torn_write_is_found_by_the_read_back() {
    let mut bench = Bench::new(
        Memory::new(MEBIBYTE),
        Settings { max_operations_per_test: Some(10), ..settings() },
    );
    bench.memory.plant(1 + 5, Fault::Torn(4096));
    let text = bench.corrupt("sequential write at start 16384");
    assert!(
        text.contains(
            "wrong data at offset 86016: a torn write: new and old data meet at byte 4096 of it"
        ),
        "{text}"
    );
}

#[test]
fn a_read_from_the_wrong_place_is_found_at_once() {
    let mut bench = Bench::new(Memory::new(MEBIBYTE), settings());
    bench.memory.plant(1 + 3, Fault::Misdirected(65536));
    let text = bench.corrupt("sequential read at start 512");
    let expected = "sequential read at start 512: read of 512 bytes at offset 1536: wrong data at \
        offset 1536: ";
    assert_eq!(text, format!("{expected}data that belong at offset 65536: misdirected"));
    assert_eq!(bench.memory.log().len(), 5, "nothing is asked for after it");
}

#[test]
fn a_flipped_bit_is_found_in_the_mark_by_words_and_elsewhere_only_by_full() {
    for (verify, byte, found) in [
        (Verify::Words, 513, true),
        (Verify::Words, 600, false),
        (Verify::Full, 600, true),
        (Verify::Off, 513, false),
    ] {
        let mut bench = Bench::new(Memory::new(MEBIBYTE), Settings { verify, ..settings() });
        bench.memory.plant(1 + 3, Fault::Flipped(byte));
        if found {
            let text = bench.corrupt("sequential read at start 16384");
            let expected = format!(
                "wrong data at offset 49664: 1 bits changed, the first in byte {} of the sector",
                byte - 512
            );
            assert!(text.contains(&expected), "{text}");
        } else {
            bench.measured("sequential read at start 16384");
        }
    }
}

#[test]
fn damage_between_tests_is_found_by_the_next_one() {
    let mut bench = Bench::new(Memory::new(MEBIBYTE), settings());
    bench.measured("sequential read at start 16384");
    bench.memory.change(|bytes| bytes[512..1024].fill(0));
    let text = bench.corrupt("sequential read at start 16384");
    assert!(text.contains("wrong data at offset 512"), "{text}");
}

#[test]
fn off_checks_nothing_and_reads_nothing_back() {
    let mut bench = Bench::new(
        Memory::new(MEBIBYTE),
        Settings { verify: Verify::Off, max_operations_per_test: Some(5), ..settings() },
    );
    assert_eq!(bench.prepared.written_bytes, MEBIBYTE, "reads find data, not holes");
    bench.memory.plant(1 + 2, Fault::Lost);
    bench.measured("sequential write at start 512");
    assert_eq!(bench.memory.log().len(), 7, "two flushes and five writes");
    // Unverified writes are unknown afterwards, not wrong.
    bench.settings.verify = Verify::Full;
    let result = bench.measured("sequential read at start 512");
    let measured = result.measured().unwrap();
    // Only where the lost write left what had been prepared is there a mark.
    assert_eq!(measured.checked_bytes, 512);
    assert_eq!(measured.notes, [Doubt::PartlyUnverified { share: 0.8 }]);
}

#[test]
fn read_only_sends_nothing_but_reads() {
    let mut bench = Bench::new(Memory::new(MEBIBYTE), Settings { read_only: true, ..settings() });
    for test in tests() {
        let result = bench.run(&test.workload).unwrap();
        match result.outcome {
            Outcome::Measured(measured) => {
                assert!(!test.writes());
                assert_eq!(measured.checked_bytes, 0);
            }
            Outcome::Skipped(reason) => {
                assert!(test.writes());
                assert_eq!(reason, catalogue::WRITES_NOT_ASKED.into());
            }
            Outcome::Stopped => panic!("nobody stopped it"),
        }
    }
    let log = bench.memory.log();
    assert!(!log.is_empty() && log.iter().all(|(op, ..)| *op == "read"));
    bench.memory.change(|bytes| assert!(bytes.iter().all(|byte| *byte == 0)));
}

#[test]
fn read_only_checks_what_carries_our_marks() {
    let mut bench = Bench::new(Memory::new(MEBIBYTE), settings());
    bench.memory.change(|bytes| bytes[..8192].fill(1));
    bench.settings = Settings { read_only: true, max_operations_per_test: Some(32), ..settings() };
    let memory = Arc::clone(&bench.memory);
    // Another session, which knows nothing of the first.
    let prepared =
        prepare(&*bench.device, &bench.reactor, &tests(), &bench.settings, &mut Hooks::default())
            .unwrap();
    assert_eq!(prepared.written_bytes, 0);
    bench.prepared = prepared;
    let result = bench.measured("sequential read at start 512");
    let measured = result.measured().unwrap();
    assert_eq!(measured.checked_bytes, 32 * 512 - 8192);
    assert_eq!(measured.notes, [Doubt::PartlyUnverified { share: 0.5 }]);
    // Behind a right mark every byte has to be right.
    bench.settings.verify = Verify::Full;
    memory.change(|bytes| bytes[8192 + 100] ^= 1);
    assert!(
        bench
            .corrupt("sequential read at start 512")
            .contains("wrong data at offset 8192: 1 bits changed")
    );
}

#[test]
fn devices_that_cannot_be_written_are_only_read() {
    let mut bench =
        Bench::new(Memory::new(MEBIBYTE).with(|info| info.read_only = true), settings());
    let result = bench.run("mixed 90:10").unwrap();
    assert!(matches!(&result.outcome, Outcome::Skipped(reason)
            if *reason == catalogue::WRITES_TO_READ_ONLY.into()));
    assert!(result.measured().is_none());
    bench.measured("random read 512");
}

#[test]
fn devices_without_content_are_measured_and_say_so() {
    for (modelled, because) in
        [(true, UnverifiedReason::Modelled), (false, UnverifiedReason::NoData)]
    {
        let memory = Memory::new(64 * MEBIBYTE)
            .with(|info| (info.stores_data, info.modelled) = (false, modelled));
        let mut bench = Bench::new(memory, settings());
        assert_eq!(bench.prepared.written_bytes, 0);
        for workload in ["random write 512", "random read 512", "mixed 50:50"] {
            let result = bench.measured(workload);
            let measured = result.measured().unwrap();
            assert_eq!(measured.notes, [Doubt::Unverified { because }]);
            assert_eq!(measured.read_back_bytes + measured.checked_bytes, 0);
        }
    }
}

#[test]
fn large_blocks_leave_the_small_tests_out() {
    let memory = Memory::new(MEBIBYTE)
        .with(|info| (info.block_bytes, info.discard) = (4096, DiscardSupport::None));
    let mut bench = Bench::new(memory, settings());
    let result = bench.run("random read 512").unwrap();
    let Outcome::Skipped(reason) = &result.outcome else { panic!("512 bytes are no block") };
    assert_eq!(reason.english(), "not possible on this device: its block is 4096 bytes");
    bench.measured("random read 16384");
    let result = bench.measured("mixed 50:50");
    assert_eq!(result.measured().unwrap().notes, [Doubt::SizesRounded { block_bytes: 4096 }]);
}

#[test]
fn tiny_devices_and_short_requests_leave_the_large_tests_out() {
    let mut bench = Bench::new(Memory::new(65536), settings());
    assert!(matches!(bench.run("random read 65536").unwrap().outcome,
            Outcome::Skipped(reason) if reason.english().contains("65536 bytes")));
    bench.measured("random write 16384");
    let mut bench =
        Bench::new(Memory::new(MEBIBYTE).with(|info| info.max_request_bytes = 32768), settings());
    let reason = "not possible on this device: it takes at most 32768 bytes in one request";
    assert!(matches!(bench.run("mixed 50:50").unwrap().outcome,
            Outcome::Skipped(found) if found.english() == reason));
    bench.measured("sequential write at end 16384");
}

#[test]
fn of_a_large_device_the_regions_and_the_first_places_are_prepared() {
    let settings = Settings {
        prepare_bytes: 4 * MEBIBYTE,
        region_bytes: MEBIBYTE,
        prepare_places: 20,
        ..settings()
    };
    let settings = Settings { max_operations_per_test: Some(20), ..settings };
    let mut bench = Bench::new(Memory::new(256 * MEBIBYTE), settings);
    assert!(bench.prepared.written_bytes < 10 * MEBIBYTE, "{} bytes", bench.prepared.written_bytes);
    for test in tests() {
        let result = bench.measured(&test.workload);
        let measured = result.measured().unwrap();
        assert_eq!(measured.checked_bytes, measured.sample.read.bytes, "{}", test.workload);
    }
    // What lies beyond what was prepared is unknown.
    bench.settings.max_operations_per_test = Some(200);
    let result = bench.measured("random read 512");
    assert!(
        matches!(result.measured().unwrap().notes[0], Doubt::PartlyUnverified { .. }),
        "{:?}",
        result.outcome
    );
}

#[test]
fn a_seed_gives_the_same_figures_again() {
    let figures = |seed| {
        let delay =
            |number: usize| Duration::from_nanos((number as u64).wrapping_mul(7919) % 20_000 + 1);
        let mut bench = Bench::new(
            Memory::new(MEBIBYTE).delayed(delay),
            Settings { seed, depth: 4, ..settings() },
        );
        tests()
            .iter()
            .map(|test| (metrics(bench.measured(&test.workload)), bench.memory.log()))
            .collect::<Vec<_>>()
    };
    assert_eq!(figures(1), figures(1));
    assert_ne!(figures(1), figures(2));
}

#[test]
fn errors_name_the_test_and_the_place() {
    let mut bench = Bench::new(Memory::new(MEBIBYTE), settings());
    bench.memory.plant(1 + 2, Fault::Failed);
    let error = bench.run("sequential write at start 512").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Media);
    assert_eq!(
        error.to_string(),
        "sequential write at start 512: write of 512 bytes at offset 1024: a bad block"
    );
    let (device, memory) = Memory::new(MEBIBYTE).shared();
    memory.plant(0, Fault::Failed);
    let error =
        prepare(&*device, &Reactor::virtual_clock(), &tests(), &settings(), &mut Hooks::default())
            .unwrap_err();
    assert_eq!(
        error.to_string(),
        "preparing the device: write of 1048576 bytes at offset 0: a bad block"
    );
}

#[test]
fn a_stopped_test_has_no_figure() {
    let mut bench = Bench::new(Memory::new(MEBIBYTE), settings());
    let stop = || true;
    let mut hooks = Hooks { stop: Some(&stop), progress: None };
    let Bench { device, reactor, settings, prepared, .. } = &mut bench;
    let result =
        run_test(&**device, reactor, &test("random write 512"), settings, prepared, &mut hooks)
            .unwrap();
    assert!(matches!(result.outcome, Outcome::Stopped));
    assert!(result.measured().is_none());
    // What was written until then is known, so that the next test is right.
    bench.measured("random read 65536");
}

#[test]
fn works_on_real_time() {
    let (device, _) = Memory::new(2 * MEBIBYTE).delayed(|_| Duration::ZERO).shared();
    let reactor = Reactor::wall().unwrap();
    let settings = Settings {
        max_operations_per_test: Some(300),
        verify: Verify::Full,
        depth: 2,
        ..settings()
    };
    let mut prepared =
        prepare(&*device, &reactor, &tests(), &settings, &mut Hooks::default()).unwrap();
    for test in tests() {
        let result =
            run_test(&*device, &reactor, &test, &settings, &mut prepared, &mut Hooks::default())
                .unwrap();
        let figures = metrics(result);
        assert!(figures["throughput_bytes_per_second"] > 0.0, "{figures:?}");
    }
}

fn steady_settings() -> Settings {
    Settings { steady: true, ..settings() }
}

/// "Steady state by SNIA's rule for workloads that write": a device that slows down after a while
/// is measured slowed down, in the acknowledged and in the durable rate.
#[test]
fn what_a_drive_does_at_first_is_no_part_of_its_steady_state() {
    // Some 200 requests a round; the first 300 are fast.
    let memory = Memory::new(4 * MEBIBYTE)
        .delayed(|number| Duration::from_micros(if number < 300 { 10 } else { 30 }));
    let mut bench = Bench::new(memory, steady_settings());
    let metrics = metrics(bench.measured("random write 512"));
    let rounds = metrics["steady_rounds_count"];
    assert!((6.0..10.0).contains(&rounds), "{rounds} rounds");
    assert!(metrics["steady_range_ratio"] <= 0.2 && metrics["steady_slope_ratio"] <= 0.1);
    let mean = metrics["latency_mean_seconds"];
    assert!((29e-6..31e-6).contains(&mean), "{mean}");
    // Five rounds of 2 ms, and what they flushed.
    let elapsed = metrics["elapsed_seconds"];
    assert!((0.0099..0.0105).contains(&elapsed), "{elapsed}");
    let [acknowledged, durable] =
        ["throughput_bytes_per_second", "durable_throughput_bytes_per_second"]
            .map(|name| metrics[name]);
    assert!(durable <= acknowledged && durable > 0.9 * acknowledged, "{durable} {acknowledged}");
}

/// "If not met: 'not steady', numbers still shown, marked."
#[test]
fn what_never_becomes_steady_is_given_up_and_says_so() {
    // Each request takes 0.2 % longer than the one before.
    let memory = Memory::new(4 * MEBIBYTE)
        .delayed(|number| Duration::from_nanos((10_000.0 * 1.002_f64.powf(number as f64)) as u64));
    let mut bench = Bench::new(memory, steady_settings());
    let result = bench.measured("random write 512");
    let notes = result.measured().unwrap().notes.clone();
    assert_eq!(notes, [Doubt::NotSteady]);
    let metrics = metrics(result);
    assert_eq!(metrics["steady_rounds_count"], 25.0);
    assert!(metrics["throughput_bytes_per_second"] > 0.0, "the figures are shown");
}

#[test]
fn tests_that_only_read_have_no_rounds() {
    let mut bench = Bench::new(Memory::new(MEBIBYTE), steady_settings());
    let metrics = metrics(bench.measured("random read 512"));
    assert!(!metrics.contains_key("steady_rounds_count"));
}
