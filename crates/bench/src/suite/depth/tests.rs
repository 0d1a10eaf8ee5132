use std::sync::atomic::AtomicBool;
use std::time::Duration;

use block::{Channel, Device, Error, Info, Node, Reactor};

use super::open::{OpenLoad, OpenSample, run};
use super::*;
use crate::load::{Direction, Uniform};
use crate::memory::Memory;
use crate::suite::{NoAudit, NoProgress, Session, Target, Ticker, Value};

fn point(depth: u32, io_per_second: f64) -> Point {
    // Little's law: what a closed loop can show.
    let latency = f64::from(depth) / io_per_second;
    Point {
        depth,
        io_per_second,
        throughput_bytes_per_second: io_per_second * 4096.0,
        durable_throughput_bytes_per_second: None,
        flags: Vec::new(),
        latency_mean_seconds: latency,
        latency_p99_seconds: latency,
    }
}

#[test]
fn the_knee_of_a_device_with_eight_servers_is_at_eight() {
    let curve = |servers: u32| {
        [1, 2, 4, 8, 16, 32].map(|depth: u32| point(depth, 100.0 * f64::from(depth.min(servers))))
    };
    for (servers, knee_at) in [(1, 0), (2, 1), (8, 3), (100, 5)] {
        assert_eq!(knee(&curve(servers)), Some(knee_at), "{servers} servers");
    }
    assert_eq!(knee(&[]), None);
    assert_eq!(
        knee(&[Point { latency_mean_seconds: 0.0, ..point(1, 5.0) }]),
        None,
        "no time, no knee"
    );
    // A rate that no longer grows in proportion: 190 for 2, 300 for 4. Power 18050 and 22500, then
    // 32/8 falls.
    assert_eq!(
        knee(&[point(1, 100.0), point(2, 190.0), point(4, 300.0), point(8, 330.0)]),
        Some(2)
    );
}

/// `servers` requests are served at a time, each in 100 us of virtual time; the others wait.
fn disk() -> Memory {
    Memory::new(4 << 20)
        .delayed(|_| Duration::from_micros(100))
        .with(|info| info.stores_data = false)
}

fn opened(rate: f64, delay: fn(usize) -> Duration, depth: u32) -> OpenSample {
    let reactor = Reactor::virtual_clock();
    let memory = Memory::new(4 << 20).delayed(delay);
    let mut requests = Uniform::new(Direction::Read, 4 << 20, 4096, 4096, 5);
    let load = OpenLoad { rate, time: Duration::from_secs(2), depth, seed: 9 };
    run(&memory, &reactor, &load, &mut requests, &|| false).expect("the memory answers")
}

#[test]
fn an_open_loop_keeps_its_rate_whatever_the_answers_take() {
    for delay in
        [|_| Duration::from_micros(10), |_| Duration::from_millis(3)] as [fn(usize) -> Duration; 2]
    {
        let sample = opened(1000.0, delay, 1024);
        // Poisson: 2000 +- 45 in two seconds.
        assert!((1800..2200).contains(&sample.operations), "{}", sample.operations);
        assert_eq!((sample.left_over, sample.written_bytes), (0, 0));
        let mean = delay(0).as_secs_f64();
        assert!((sample.latency.mean_seconds() / mean - 1.0).abs() < 0.01, "{:?}", sample.latency);
    }
}

/// Coordinated omission: one stall of half a second. A closed loop sees one slow request; all
/// that were to begin meanwhile waited, and the open loop's percentiles say so.
#[test]
fn a_stall_shows_in_the_latency_of_all_who_waited() {
    let stall = |number: usize| {
        if number == 500 { Duration::from_millis(500) } else { Duration::from_micros(100) }
    };
    let sample = opened(1000.0, stall, 1);
    assert!(sample.service.quantile_seconds(0.99) < 0.001, "{:?}", sample.service);
    assert!(sample.latency.quantile_seconds(0.99) > 0.4, "{:?}", sample.latency);
    assert!(sample.latency.quantile_seconds(0.80) > 0.1, "a quarter of the time was the stall's");
    assert_eq!(sample.left_over, 0);
}

#[test]
fn a_rate_that_cannot_be_kept_leaves_requests_over() {
    // One at a time, 1 ms each: 1000/s at most.
    let sample = opened(5000.0, |_| Duration::from_millis(1), 1);
    assert!(
        (3900..=4001).contains(&sample.operations),
        "{}: the time, and as long again",
        sample.operations
    );
    assert!(
        (5000..7000).contains(&(sample.left_over as i64)),
        "{} of about 10000",
        sample.left_over
    );
}

#[test]
fn a_failed_request_ends_the_open_loop_with_its_place() {
    let reactor = Reactor::virtual_clock();
    let memory = Memory::new(4 << 20);
    memory.plant(3, crate::memory::Fault::Failed);
    let mut requests = Uniform::new(Direction::Write, 4 << 20, 4096, 4096, 5);
    let load = OpenLoad { rate: 1000.0, time: Duration::from_secs(1), depth: 8, seed: 9 };
    let error =
        run(&memory, &reactor, &load, &mut requests, &|| false).expect_err("planted").to_string();
    assert!(error.starts_with("write of 4096 bytes at offset "), "{error}");
}

/// A device that takes its time to open; none of it is latency.
#[test]
fn getting_ready_counts_for_no_request() {
    struct Slow(Memory);
    impl Device for Slow {
        fn info(&self) -> &Info {
            self.0.info()
        }
        fn describe(&self) -> Node {
            self.0.describe()
        }
        fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
            reactor
                .wait(Some(reactor.now() + Duration::from_secs(5)))
                .expect("the virtual clock moves");
            self.0.open(depth, reactor)
        }
    }
    let (memory, reactor) = (Slow(disk()), Reactor::virtual_clock());
    let load = OpenLoad { rate: 1000.0, time: Duration::from_secs(1), depth: 64, seed: 9 };
    let mut requests = Uniform::new(Direction::Read, memory.info().size_bytes, 4096, 4096, 9);
    let sample = run(&memory, &reactor, &load, &mut requests, &|| false).expect("it runs");
    assert!(
        sample.operations > 900 && sample.left_over == 0,
        "{} operations, {} left over",
        sample.operations,
        sample.left_over
    );
    assert!(sample.latency.max_seconds() < 0.001, "{}", sample.latency.max_seconds());
}

fn suite(target: &Memory, change: &[(&str, Value)]) -> Vec<Row> {
    let reactor = Reactor::virtual_clock();
    let (stop, ticker, mut meter, mut observer) =
        (AtomicBool::new(false), Ticker::new(), NoAudit, NoProgress);
    let mut settings = SUITE.defaults(block::Clock::Wall);
    for (name, value) in change {
        settings.set(&SUITE, name, value.clone()).expect("a setting of the suite");
    }
    let mut session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut observer);
    (SUITE.run)(Target::Device(target), &settings, &mut session).expect("it runs");
    let rows = session.into_rows();
    let names: Vec<String> = rows.iter().map(|row| row.phase.clone()).collect();
    let promised: Vec<String> =
        (SUITE.phases)(&settings).iter().map(|phase| phase.name.clone()).collect();
    assert_eq!(names, promised, "the rows are the phases that were promised");
    rows
}

/// Every request takes 100 us whatever the depth, so that the rate grows with it and the knee is
/// the deepest queue.
#[test]
fn the_suite_makes_a_curve_for_each_access_and_block_size() {
    let rows = suite(
        &disk(),
        &[
            ("time", Value::Time(Duration::from_millis(100))),
            ("depth_max", Value::Count(16)),
            ("way", Value::word("both")),
        ],
    );
    let curves = curves(points(&rows));
    assert_eq!(curves.len(), 12, "2 ways x 2 accesses x 3 sizes");
    assert_eq!(curves[0].access, "random read 4KiB");
    for curve in &curves {
        let depths: Vec<u32> = curve.points.iter().map(|point| point.depth).collect();
        assert_eq!(depths, [1, 2, 4, 8, 16], "{}", curve.access);
        assert_eq!(curve.knee_depth, Some(16), "{}", curve.access);
        for point in &curve.points {
            let expected = f64::from(point.depth) / 100e-6;
            assert!(
                (point.io_per_second / expected - 1.0).abs() < 0.01,
                "{}: {point:?}",
                curve.access
            );
            // The flush takes 100 us as well.
            let durable = point.durable_throughput_bytes_per_second;
            assert_eq!(durable.is_some(), curve.access.contains("write"), "{}", curve.access);
            assert!(
                durable.is_none_or(|durable| durable < point.throughput_bytes_per_second),
                "{}: {point:?}",
                curve.access
            );
        }
    }
}

#[test]
fn open_loops_follow_at_shares_of_the_curves_largest_rate() {
    let rows = suite(
        &disk(),
        &[
            ("time", Value::Time(Duration::from_millis(500))),
            ("depth_max", Value::Count(2)),
            ("access", Value::word("random")),
            ("block_max", Value::Bytes(4096)),
            ("loop", Value::word("open")),
        ],
    );
    let most = 2.0 / 100e-6;
    for (name, share) in [("open 25%", 0.25), ("open 90%", 0.9)] {
        let row = rows.iter().find(|row| row.phase.ends_with(name)).expect("a row");
        let rate = row.measured().expect("measured").operations_per_second();
        // Poisson: of 2500 and more requests the rate is off by some per cent at most.
        assert!((rate / (most * share) - 1.0).abs() < 0.1, "{name}: {rate}");
    }
}
