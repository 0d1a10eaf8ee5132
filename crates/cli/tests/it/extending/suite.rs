//! A suite: one phase, which reads the first 64 KiB of a device again and again.

use std::sync::atomic::AtomicBool;

use bench::load::{self, Direction, Hooks, Load, Sequential, UnverifiedContent};
use bench::suite::{
    Kind, NoAudit, NoProgress, Phase, Rows, Session, Setting, Settings, Suite, Target, TargetKind,
    Ticker, Value, WorkDone,
};
use block::{Device, Error, ErrorKind, Reactor, Traffic};
use results::{BetterDirection, Group};

static SUITE: Suite = Suite {
    name: "again",
    summary: "Reads the first 64 KiB again and again.",
    about: "What is nearest to the reader answers: a cache, or the device's own.",
    targets: &[TargetKind::Device],
    settings: &[Setting::new(
        "reads",
        Kind::Count(1, 1_000_000),
        Value::Count(1000),
        "How many reads.",
    )],
    rows: Rows::Alone,
    phases: |_| vec![phase()],
    prepared_bytes: |_, _| 0,
    run,
};

fn phase() -> Phase {
    Phase {
        name: "read again".to_owned(),
        what: "Reads of 64 KiB at offset 0, one at a time.".into(),
        group: Group::Sequential,
        metric: "throughput_bytes_per_second".into(),
        better: BetterDirection::Higher,
        writes: false,
        is_deep: false,
        buffered_of: None,
    }
}

fn run(target: Target<'_>, settings: &Settings, session: &mut Session<'_>) -> Result<(), Error> {
    let Target::Device(device) = target else {
        return Err(Error::new(ErrorKind::Unsupported, "again: a device is needed"));
    };
    session.measure(&phase(), 1, |session| read(device, settings.count("reads"), session))?;
    Ok(())
}

fn read(device: &dyn Device, reads: u64, session: &Session<'_>) -> Result<Option<WorkDone>, Error> {
    let stop = || session.stopped();
    let sample = load::run(
        device,
        session.reactor,
        &Load { operations: Some(reads), ..Load::default() },
        &mut Sequential::new(Direction::Read, 0, 64 << 10, 64 << 10),
        &mut UnverifiedContent::Random,
        &mut Hooks { stop: Some(&stop), progress: None },
    )?;
    Ok((!sample.stopped).then(|| WorkDone {
        operations: sample.operations(),
        read_bytes: sample.read.bytes,
        written_bytes: 0,
        rated_bytes: None,
        elapsed: sample.elapsed,
        ramp: load::Ramp::default(),
        flush: None,
        beside: Traffic::default(),
        latency: sample.latency(),
        sides: None,
        service: None,
        told: None,
        notes: Vec::new(),
    }))
}

#[test]
fn a_suite_measures_what_it_says() {
    let (reactor, stop, ticker) = (Reactor::virtual_clock(), AtomicBool::new(false), Ticker::new());
    let device = testkit::Memory::new(1 << 20);
    let mut settings = SUITE.defaults(reactor.clock());
    settings.set(&SUITE, "reads", Value::Count(10)).expect("a setting");
    let (mut blind, mut silent) = (NoAudit, NoProgress);
    let mut session = Session::new(&reactor, &stop, &ticker, &mut blind, &mut silent);
    (SUITE.run)(Target::Device(&device), &settings, &mut session).expect("it runs");
    let rows = session.into_rows();
    let done = &rows[0].measured().expect("a figure").done;
    assert_eq!((done.operations, done.read_bytes), (10, 640 << 10));
}
