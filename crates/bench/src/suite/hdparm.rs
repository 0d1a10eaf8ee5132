//! `hdparm -T` and `-t`: what a cache gives, and what the device gives from its start on.
//!
//! ```text
//!   cached reads   |==|             the first 2 MiB again and again, for 2 s        (-T)
//!   device reads   |==|==|==|==>    2 MiB after 2 MiB from the start on, for 3 s    (-t)
//! ```
//!
//! The original reads through the page cache, empties it before `-t`, runs once, and asks its user
//! to run it two or three times. Here each is run several times, so that the median has an
//! interval. In a folder both go through the page cache, as the original's do, or past it with
//! `direct`. A raw target is opened by its stack text, which says what is in between. The original
//! takes the time of a seek off its result; there is none here, as every read names its place.

use std::path::Path;
use std::time::Duration;

use block::{Device, Error, ErrorKind, Traffic};
use results::{BetterDirection, Doubt, Group};
use words::statement;

use super::access;
use super::folder::{Needs, WorkFolder};
use super::{
    AfterPhase, Kind, Phase, Rows, Scope, Session, Setting, Settings, Suite, Target, TargetKind,
    Value, WorkDone,
};
use crate::load::{self, Direction, Hooks, Load, Sequential, UnverifiedContent};
use crate::suite::catalogue;

/// Name of the suite.
pub const NAME: &str = "hdparm";
const REQUEST_BYTES: u32 = 2 << 20;
const CACHED: &str = "cached reads";
const DEVICE: &str = "device reads";

/// `hdparm`.
pub static SUITE: Suite = Suite {
    name: NAME,
    summary: "hdparm's -T and -t: cached reads, and reads from the start of the device on.",
    about: "Reads of 2 MiB, one at a time. Nothing is written to a device; in a folder a file is \
        written first. The original runs once; \
            here each test is run six times, the fewest with which the median has an interval.",
    targets: &[TargetKind::Folder, TargetKind::Device],
    settings: &[
        Setting::new("runs", Kind::Count(1, 100), Value::Count(6), "How often each test is run.")
            .in_plans(Value::Count(1)),
        Setting::new(
            "cached_time",
            Kind::Time,
            Value::Time(Duration::from_secs(2)),
            "Time of a run of the cached reads.",
        ),
        Setting::new(
            "device_time",
            Kind::Time,
            Value::Time(Duration::from_secs(3)),
            "Time of a run of the device reads, which also end at the end of the device.",
        ),
        Setting::new(
            "direct",
            Kind::Switch,
            Value::Switch(false),
            "In a folder: read past the page cache.",
        )
        .only(Scope::Folders),
        Setting::new(
            "size",
            Kind::Bytes,
            Value::Bytes(1 << 30),
            "In a folder: size of the file, whole MiB.",
        )
        .only(Scope::Folders),
    ],
    rows: Rows::InOrder,
    phases: |_| vec![phase(CACHED), phase(DEVICE)],
    prepared_bytes: |settings, device_bytes| {
        if device_bytes.is_some() { 0 } else { settings.bytes("size") }
    },
    run,
};

fn phase(name: &'static str) -> Phase {
    let what = match name {
        CACHED => catalogue::READS_FIRST_AGAIN,
        _ => catalogue::READS_FROM_START,
    };
    Phase {
        name: name.to_owned(),
        what: what.into(),
        group: Group::Sequential,
        metric: "throughput_bytes_per_second".into(),
        better: BetterDirection::Higher,
        writes: false,
        is_deep: false,
        buffered_of: None,
    }
}

fn run(target: Target<'_>, settings: &Settings, session: &mut Session<'_>) -> Result<(), Error> {
    match target {
        Target::Device(device) => measure(device, settings, &|| Ok(()), session),
        Target::Folder(folder) => {
            let size_bytes = settings.bytes("size");
            if size_bytes == 0
                || !size_bytes.is_multiple_of(1 << 20)
                || size_bytes < u64::from(REQUEST_BYTES)
            {
                let text = statement!(catalogue::WHOLE_MEBIBYTES, least = "2MiB");
                return Err(Error::new(ErrorKind::Invalid, text));
            }
            let direct = settings.switch("direct");
            let needs =
                Needs { bytes: size_bytes, longest_file_bytes: size_bytes, files: 2, direct };
            let folder = WorkFolder::new(folder, NAME, &needs)?;
            let path = folder.file("hdparm.dat", size_bytes)?;
            let device = session.files.open(&path, direct)?;
            let options = access::Options {
                size_bytes,
                data_seed: session.data_seed,
                ..access::Options::default()
            };
            let stop = || session.stopped();
            access::prepare(
                &*device,
                session.reactor,
                &options,
                &mut Hooks { stop: Some(&stop), progress: None },
            )?;
            measure(&*device, settings, &|| empty_cache(&path), session)
        }
    }
}

/// Gives up the pages that the kernel keeps of the file.
fn empty_cache(path: &Path) -> Result<(), Error> {
    let file = std::fs::File::open(path)
        .map_err(|error| Error::from_io(path.display().to_string(), error))?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).map_err(|error| {
        Error::from_io(catalogue::EMPTYING_PAGE_CACHE, error.into()).at(path.display())
    })
}

fn measure(
    device: &dyn Device,
    settings: &Settings,
    empty_cache: &dyn Fn() -> Result<(), Error>,
    session: &mut Session<'_>,
) -> Result<(), Error> {
    let info = device.info();
    let length = REQUEST_BYTES.min(info.max_request_bytes) / info.block_bytes * info.block_bytes;
    if info.size_bytes < u64::from(length) {
        let text = statement!(catalogue::TARGET_HAS_ONLY, bytes = info.size_bytes);
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    for run in 1..=u32::try_from(settings.count("runs")).unwrap_or(1) {
        // As the original: first what is cached, and a pass that is not counted to have it there.
        let cached = Load { time: Some(settings.time("cached_time")), ..Load::default() };
        let warm = Load { operations: Some(1), ..Load::default() };
        read(device, u64::from(length), length, &warm, session)?;
        let next = session.measure(&phase(CACHED), run, |session| {
            read(device, u64::from(length), length, &cached, session)
        })?;
        if next == AfterPhase::Stop {
            return Ok(());
        }
        empty_cache()?;
        let whole = info.size_bytes / u64::from(length) * u64::from(length);
        let load = Load {
            time: Some(settings.time("device_time")),
            bytes: Some(whole),
            ..Load::default()
        };
        if session
            .measure(&phase(DEVICE), run, |session| read(device, whole, length, &load, session))?
            == AfterPhase::Stop
        {
            return Ok(());
        }
    }
    Ok(())
}

fn read(
    device: &dyn Device,
    range_bytes: u64,
    length: u32,
    load: &Load,
    session: &Session<'_>,
) -> Result<Option<WorkDone>, Error> {
    let stop = || session.stopped();
    let mut requests = Sequential::new(Direction::Read, 0, range_bytes, length);
    let sample = load::run(
        device,
        session.reactor,
        load,
        &mut requests,
        &mut UnverifiedContent::Random,
        &mut Hooks { stop: Some(&stop), progress: None },
    )?;
    if sample.stopped {
        return Ok(None);
    }
    let notes = if length == REQUEST_BYTES {
        Vec::new()
    } else {
        vec![Doubt::RequestsLimited { bytes: length.into() }]
    };
    Ok(Some(WorkDone {
        operations: sample.operations(),
        read_bytes: sample.read.bytes,
        written_bytes: 0,
        rated_bytes: None,
        elapsed: sample.elapsed,
        flush: None,
        beside: Traffic::default(),
        latency: sample.latency(),
        ramp: crate::load::Ramp::default(),
        sides: None,
        service: None,
        told: None,
        notes,
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use block::Reactor;

    use super::*;
    use crate::memory::Memory;
    use crate::suite::{NoAudit, NoProgress, Row, Ticker};

    fn rows(memory: &Memory) -> Vec<Row> {
        let reactor = Reactor::virtual_clock();
        let (stop, ticker, mut meter, mut observer) =
            (AtomicBool::new(false), Ticker::new(), NoAudit, NoProgress);
        let mut settings = SUITE.defaults(block::Clock::Wall);
        settings.set(&SUITE, "runs", Value::Count(3)).expect("a setting of the suite");
        let mut session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut observer);
        (SUITE.run)(Target::Device(memory), &settings, &mut session).expect("it runs");
        session.into_rows()
    }

    #[test]
    fn it_reads_two_mib_again_and_again_and_then_the_device_once() {
        let memory = Memory::new(64 << 20).delayed(|_| Duration::from_millis(10));
        let rows = rows(&memory);
        let order: Vec<_> = rows.iter().map(|row| (row.phase.as_str(), row.run)).collect();
        assert_eq!(
            order,
            [(CACHED, 1), (DEVICE, 1), (CACHED, 2), (DEVICE, 2), (CACHED, 3), (DEVICE, 3)]
        );
        for row in &rows {
            let measured = row.measured().expect("measured");
            // 2 s of 10 ms each; the device ends before its 3 s are over.
            let operations = if row.phase == CACHED { 200 } else { 32 };
            assert_eq!((measured.done.operations, measured.done.written_bytes), (operations, 0));
            assert!(
                (measured.bytes_per_second() / (f64::from(REQUEST_BYTES) / 0.01) - 1.0).abs()
                    < 1e-6,
                "{}",
                row.phase
            );
        }
        let log = memory.log();
        assert!(
            log.iter().all(|(name, ..)| *name == "read"),
            "nothing is ever written to a device"
        );
        let device_reads: Vec<u64> = log[201..233].iter().map(|(_, offset, _)| *offset).collect();
        assert_eq!(device_reads, (0..32).map(|index| index << 21).collect::<Vec<u64>>());
    }

    #[test]
    fn a_target_of_small_requests_is_read_as_it_can() {
        let rows = rows(&Memory::new(1 << 20).with(|info| info.max_request_bytes = 128 << 10));
        let done = &rows[1].measured().expect("measured").done;
        assert_eq!((done.operations, done.read_bytes), (8, 1 << 20));
        assert_eq!(done.notes, [Doubt::RequestsLimited { bytes: 131_072 }]);
    }
}
