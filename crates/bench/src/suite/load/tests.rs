use std::sync::atomic::AtomicBool;
use std::time::Duration;

use results::Group;

use super::*;
use crate::memory::Memory;
use crate::suite::{NoAudit, NoProgress, Row, Ticker};

fn settings(change: &[(&str, Value)]) -> Settings {
    let mut settings = SUITE.defaults(block::Clock::Virtual);
    // An open loop has no ramp to be set.
    let is_open = change.iter().any(|(name, _)| *name == "rate");
    let ramp = (!is_open).then_some(("ramp", Value::Time(Duration::ZERO)));
    for (name, value) in
        [("time", Value::Time(Duration::from_millis(100)))].iter().chain(&ramp).chain(change)
    {
        settings.set(&SUITE, name, value.clone()).expect("a setting of the suite");
    }
    settings
}

fn measured(target: &Memory, change: &[(&str, Value)]) -> Result<Row, Error> {
    let reactor = reactor::Reactor::virtual_clock();
    let (stop, ticker, mut meter, mut observer) =
        (AtomicBool::new(false), Ticker::new(), NoAudit, NoProgress);
    let settings = settings(change);
    let mut session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut observer);
    (SUITE.run)(Target::Device(target), &settings, &mut session)?;
    Ok(session.into_rows().remove(0))
}

#[test]
fn seventy_reads_to_thirty_writes_with_sixteen_outstanding() {
    let memory = Memory::new(4 << 20).delayed(|_| Duration::from_micros(100));
    let row = measured(
        &memory,
        &[("read", Value::Count(70)), ("depth", Value::Count(16)), ("verify", Value::word("full"))],
    )
    .expect("it runs");
    let figures = row.measured().expect("measured");
    let rate = figures.operations_per_second();
    assert!((rate / 160_000.0 - 1.0).abs() < 0.02, "sixteen answers in 100 us: {rate}");
    let log = memory.log();
    // What was prepared and read back lies around it.
    let count = |wanted: &str| {
        log.iter().filter(|(name, _, length)| *name == wanted && *length == 4096).count() as f64
    };
    let share = count("read") / (count("read") + count("write"));
    assert!((0.68..0.72).contains(&share), "{share}");
}

/// With zeros nothing else is written: neither before, nor by the load.
#[test]
fn zeros_are_all_that_is_written() {
    let is_zero = |content: &'static str, fill: u64| {
        let memory = Memory::new(8 << 20).delayed(|_| Duration::from_micros(100));
        let change = [
            ("read", Value::Count(50)),
            ("verify", Value::word("off")),
            ("content", Value::word(content)),
            ("fill", Value::Bytes(fill)),
        ];
        measured(&memory, &change).expect("it runs");
        let mut is_zero = false;
        memory.change(|bytes| is_zero = bytes.iter().all(|byte| *byte == 0));
        let log = memory.log();
        assert!(log.iter().filter(|(name, ..)| *name == "write").count() > 100);
        is_zero
    };
    for fill in [0, 8 << 20] {
        assert!(is_zero("zeros", fill) && !is_zero("random", fill));
    }
}

#[test]
fn an_open_loop_keeps_the_rate_and_is_judged_by_its_latency() {
    let memory = Memory::new(4 << 20).delayed(|_| Duration::from_micros(100));
    let change = [("rate", Value::Count(5000)), ("time", Value::Time(Duration::from_secs(1)))];
    let row = measured(&memory, &change).expect("it runs");
    let rate = row.measured().expect("measured").operations_per_second();
    assert!((rate / 5000.0 - 1.0).abs() < 0.06, "{rate}");
    let phase = &(SUITE.phases)(&settings(&change))[0];
    assert_eq!((&*phase.metric, phase.better), ("latency_p99_seconds", BetterDirection::Lower));
}

#[test]
fn small_accesses_at_places_are_counted_and_others_are_weighed() {
    let metric = |change: &[(&str, Value)]| (SUITE.phases)(&settings(change))[0].metric.clone();
    assert_eq!(metric(&[]), "io_per_second");
    assert_eq!(metric(&[("sizes", Value::word("512..64KiB"))]), "io_per_second");
    let weighed = "throughput_bytes_per_second";
    assert_eq!(metric(&[("sizes", Value::word("4KiB * 9, 128KiB"))]), weighed);
    assert_eq!(metric(&[("sequential", Value::Count(50))]), weighed);
}

/// A key that would be passed over, or has no room, is an error before anything moves.
#[test]
fn what_cannot_be_is_refused_with_its_key() {
    let refused: [(&[(&str, Value)], &str); 7] = [
        (&[("rate", Value::Count(5)), ("depth", Value::Count(4))], "depth: "),
        (&[("rate", Value::Count(5)), ("verify", Value::word("full"))], "verify: "),
        (&[("rate", Value::Count(5)), ("fua", Value::Count(5))], "fua: "),
        (&[("rate", Value::Count(5)), ("think", Value::Time(Duration::from_secs(1)))], "think: "),
        (&[("used", Value::Bytes(8 << 20))], "used: the target has 4194304 bytes"),
        (&[("streams", Value::Count(4096)), ("sizes", Value::word("4KiB"))], "sizes, streams: "),
        (&[("sizes", Value::word("8MiB"))], "sizes, streams: "),
    ];
    for (change, expected) in refused {
        let memory = Memory::new(4 << 20);
        let error = measured(&memory, change).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(memory.log(), [], "{expected}");
    }
    let mut values = SUITE.defaults(block::Clock::Wall);
    for (name, text) in [("sizes", "4K"), ("places", "hot"), ("sizes", "")] {
        assert!(values.set(&SUITE, name, Value::word(text)).is_err(), "{name}: {text}");
    }
}

/// The row has one name, so that every key may be an axis of a plan.
#[test]
fn whatever_is_asked_for_the_row_is_called_load() {
    for (change, group, writes, is_deep) in [
        (vec![], Group::Random, false, false),
        (
            vec![("sequential", Value::Count(100)), ("read", Value::Count(0))],
            Group::Sequential,
            true,
            false,
        ),
        (vec![("read", Value::Count(50)), ("depth", Value::Count(2))], Group::Mixed, true, true),
        (vec![("sequential", Value::Count(50))], Group::Mixed, false, false),
    ] {
        let phases = (SUITE.phases)(&settings(&change));
        assert_eq!(phases.len(), 1);
        let phase = &phases[0];
        assert_eq!((&*phase.name, phase.group), (NAME, group));
        assert_eq!((phase.writes, phase.is_deep), (writes, is_deep));
    }
}

/// What writes is not begun on what takes no writes, with a depth or a rate.
#[test]
fn a_device_that_is_only_read_is_not_written_to() {
    for rate in [0, 100] {
        let memory = Memory::new(4 << 20).with(|info| info.read_only = true);
        let change = [("read", Value::Count(50)), ("rate", Value::Count(rate))];
        let row = measured(&memory, &change).expect("left out, which is no error");
        assert!(row.measured().is_none(), "rate {rate}");
        assert_eq!(memory.log(), [], "rate {rate}");
    }
}

/// Only the part that is used is touched, and the streams stay in it.
#[test]
fn what_is_not_used_stays_as_it_was() {
    let memory = Memory::new(4 << 20);
    let change = [
        ("used", Value::Bytes(1 << 20)),
        ("read", Value::Count(50)),
        ("sequential", Value::Count(50)),
        ("streams", Value::Count(4)),
        ("flush_every", Value::Limit(Some(8))),
    ];
    measured(&memory, &change).expect("it runs");
    let log = memory.log();
    assert!(log.iter().all(|(_, offset, length)| offset + length <= 1 << 20));
    assert!(log.iter().filter(|(name, _, _)| *name == "flush").count() > 100);
}

/// "A row that fills the cache first": what is written before is no part of its figures.
#[test]
fn what_fills_a_cache_is_written_first_and_not_counted() {
    let memory = Memory::new(4 << 20).delayed(|_| Duration::from_micros(100));
    let change = [
        ("read", Value::Count(0)),
        ("fill", Value::Bytes(6 << 20)),
        ("verify", Value::word("off")),
        ("prepare", Value::Bytes(0)),
    ];
    let row = measured(&memory, &change).expect("it runs");
    let figures = row.measured().expect("measured");
    let log = memory.log();
    let whole: Vec<u64> = log
        .iter()
        .filter(|(name, _, length)| *name == "write" && *length == 1 << 20)
        .map(|(_, offset, _)| *offset >> 20)
        .collect();
    assert_eq!(whole, [0, 1, 2, 3, 0, 1], "in order, and from the start again");
    let small = log.iter().filter(|(name, _, length)| *name == "write" && *length == 4096).count();
    assert_eq!(figures.done.operations, small as u64);
    let what = (SUITE.phases)(&settings(&change))[0].what.english();
    assert!(what.ends_with("6MiB of writes: the speed when an SSD's cache is full."), "{what}");
    assert_eq!((SUITE.prepared_bytes)(&settings(&change), Some(4 << 20)), 6 << 20);
}
