//! `devtest` as a suite among the others: its phases in words, its settings, and its results as
//! rows.

use std::time::Duration;

use block::{Error, Traffic};
use words::statement;

use super::super::definition::{
    FILE_SIZE, Kind as ValueKind, Rows, Scope, Setting, Settings as Values, Suite, Target,
    TargetKind, Value,
};
use super::super::phase::Phase;
use super::super::rounds::{self, STEADY};
use super::super::row::WorkDone;
use super::super::session::{AfterPhase, Session};
use super::{
    DeviceEnd, Kind, NAME, Outcome, PreparedContent, RequestBytes, Settings, Test, TestFigures,
    Verify, prepare, run_test, tests,
};
use crate::load::{Direction, Hooks};
use crate::suite::catalogue;

/// `devtest`.
pub static SUITE: Suite = Suite {
    name: NAME,
    summary: "Raw requests on a whole device: sequential at its start and end, random, and mixed, \
        with the data verified.",
    about: "The raw-device test of 2004. One request is outstanding unless told otherwise; \
        sequential tests ascend in a region at one end \
            of the device; random places are multiples of the device's block. Before the tests, \
            what they will read is filled with data \
            that name their place. What a test reads is held against the last write by the mark in \
            every 512 bytes, or by every byte \
            (verify); what a test wrote is read back after it, and everything after the last test, \
            outside any test's time, and every \
            byte compared. Every test starts from a flushed, idle \
            device.",
    targets: &[TargetKind::Device, TargetKind::Folder],
    settings: &[
        Setting::new("depth", ValueKind::Count(1, 4096), Value::Count(1), "Requests outstanding.")
            .by_group(),
        Setting::new(
            "time",
            ValueKind::SomeTime,
            Value::Time(Duration::from_secs(3)),
            "How long a test issues requests.",
        )
        .on_virtual(Value::Time(Duration::from_secs(60)))
        .alias("time_per_test")
        .by_group(),
        Setting::new(
            "max_operations",
            ValueKind::Limit,
            Value::Limit(None),
            "Ends a test after this many requests, if that comes first.",
        )
        .by_group(),
        Setting::new(
            "ramp",
            ValueKind::Time,
            Value::Time(Duration::ZERO),
            "Time at the start of tests that write at random which is not counted.",
        )
        .on_virtual(Value::Time(Duration::from_secs(60)))
        .by_group()
        .only(Scope::Writing),
        STEADY.by_group(),
        Setting::new(
            "verify",
            ValueKind::Word(&["off", "words", "full"]),
            Value::word("words"),
            "What is compared of what a test reads, inside its time: nothing, the mark in every \
            512 bytes (32 of them), every byte. What is read back outside of it is compared byte \
            by byte, unless off.",
        )
        .by_group()
        .only(Scope::Writing),
        Setting::new(
            "region",
            ValueKind::Bytes,
            Value::Bytes(512 << 20),
            "The longest region of a sequential test.",
        ),
        Setting::new(
            "prepare",
            ValueKind::Bytes,
            Value::Bytes(1 << 30),
            "Devices up to this size are filled before they are read.",
        )
        .only(Scope::Writing),
        FILE_SIZE,
    ],
    rows: Rows::Alone,
    phases: |settings| {
        let is_deep = settings.count("depth") > 1;
        tests().iter().map(|test| Phase { is_deep, ..phase(test) }).collect()
    },
    prepared_bytes: |values, device_bytes| {
        device_bytes.unwrap_or(values.bytes("size")).min(values.bytes("prepare"))
    },
    run,
};

fn phase(test: &Test) -> Phase {
    let size = match test.request_bytes {
        RequestBytes::Fixed(bytes) => statement!(catalogue::SO_MANY_BYTES, bytes = bytes),
        RequestBytes::Range(from, to) => {
            statement!(catalogue::BYTES_IN_RANGE, from = from, to = to)
        }
    };
    let verb = |direction| match direction {
        Direction::Read => catalogue::PHASE_READS,
        Direction::Write => catalogue::PHASE_WRITES,
    };
    let what = match test.kind {
        Kind::Sequential { direction, place, .. } => {
            let message = match place {
                DeviceEnd::Start => catalogue::ASCENDING_AT_START,
                DeviceEnd::End => catalogue::ASCENDING_AT_END,
            };
            statement!(message, way = verb(direction), size = size)
        }
        Kind::Random { direction, .. } => {
            statement!(catalogue::AT_DRAWN_PLACES, way = verb(direction), size = size)
        }
        Kind::Mixed { read_percent } => statement!(
            catalogue::MIXED_AT_DRAWN_PLACES,
            reads = read_percent,
            writes = 100 - read_percent,
            size = size,
        ),
        Kind::Load(_) => unreachable!("a load has a phase of its own"),
    };
    Phase {
        name: test.workload.clone(),
        what,
        group: test.group,
        metric: test.metric.into(),
        better: test.better,
        writes: test.writes(),
        is_deep: false,
        buffered_of: None,
    }
}

pub(super) fn settings(values: &Values, seed: u64, data_seed: u64) -> Settings {
    Settings {
        depth: u32::try_from(values.count("depth")).expect("the kind says at most 4096"),
        time_per_test: values.time("time"),
        max_operations_per_test: values.limit("max_operations"),
        ramp: values.time("ramp"),
        steady: rounds::is_asked(values.text(STEADY.name)),
        verify: Verify::of(values.text("verify")),
        region_bytes: values.bytes("region"),
        prepare_bytes: values.bytes("prepare"),
        seed,
        data_seed,
        ..Settings::default()
    }
}

fn run(target: Target<'_>, values: &Values, session: &mut Session<'_>) -> Result<(), Error> {
    target.on_device(NAME, values.bytes("size"), session, |device, session| {
        measure(device, values, session)
    })
}

fn measure(
    device: &dyn block::Device,
    values: &Values,
    session: &mut Session<'_>,
) -> Result<(), Error> {
    let of = |values: &Values| settings(values, session.seed, session.data_seed);
    let own = |test: Test| {
        let (phase, own) = (phase(&test), of(&values.of_group(test.group)));
        (test, phase, own)
    };
    let tests: Vec<(Test, Phase, Settings)> = tests().into_iter().map(own).collect();
    measure_all(device, &tests, &of(values), session)
}

/// Prepares a device with the settings `all`, runs each test with its own, and reads everything
/// back.
pub(crate) fn measure_all(
    device: &dyn block::Device,
    tests: &[(Test, Phase, Settings)],
    all: &Settings,
    session: &mut Session<'_>,
) -> Result<(), Error> {
    let stop = session.stop;
    let stopped = || stop.load(std::sync::atomic::Ordering::Relaxed);
    let mut prepared = prepare(
        device,
        session.reactor,
        &tests.iter().map(|(test, _, _)| test.clone()).collect::<Vec<_>>(),
        all,
        &mut Hooks { stop: Some(&stopped), progress: None },
    )?;
    for (test, phase, settings) in tests {
        if let Some(reason) = test.impossible(device.info(), settings) {
            session.skip(phase, 1, reason);
            continue;
        }
        let next = session
            .measure(phase, 1, |session| one(device, test, settings, &mut prepared, session))?;
        if next == AfterPhase::Stop {
            return Ok(());
        }
    }
    let mut hooks = Hooks { stop: Some(&stopped), progress: None };
    super::read_back(device, session.reactor, all, &mut prepared, &mut hooks).map(drop)
}

fn one(
    device: &dyn block::Device,
    test: &Test,
    settings: &Settings,
    prepared: &mut PreparedContent,
    session: &mut Session<'_>,
) -> Result<Option<WorkDone>, Error> {
    let stop = session.stop;
    let stopped = || stop.load(std::sync::atomic::Ordering::Relaxed);
    let mut hooks = Hooks { stop: Some(&stopped), progress: None };
    let result = run_test(device, session.reactor, test, settings, prepared, &mut hooks)?;
    Ok(match result.outcome {
        Outcome::Measured(measured) => Some(done(test, *measured)),
        Outcome::Skipped(_) | Outcome::Stopped => None,
    })
}

pub(super) fn done(test: &Test, measured: TestFigures) -> WorkDone {
    let sample = measured.sample;
    WorkDone {
        operations: sample.operations(),
        read_bytes: sample.read.bytes,
        written_bytes: sample.write.bytes,
        rated_bytes: None,
        elapsed: sample.elapsed,
        flush: measured.flush,
        beside: Traffic { read_bytes: measured.read_back_bytes, ..Traffic::default() },
        latency: sample.latency(),
        ramp: sample.ramp,
        sides: test.has_both_sides().then(|| Box::new(sample.sides())),
        service: None,
        told: None,
        notes: measured.notes,
    }
}
