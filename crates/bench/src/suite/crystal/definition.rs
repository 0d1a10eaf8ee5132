//! `crystal` as a suite among the others: its settings, its rows in words, and what it is run on.

use std::time::Duration;

use block::{Device, Error, ErrorKind, size_text};
use results::{BetterDirection, Group};
use words::{Text, statement};

use super::{AccessKind, Data, NAME, Options, Order, Profile, RUNS_MAX, Row, Verify};
use crate::load::Hooks;
use crate::suite::access::{View, prepare, read_back, run};
use crate::suite::catalogue;
use crate::suite::folder::{Needs, WorkFolder};
use crate::suite::rounds::{self, STEADY};
use crate::suite::{
    AfterPhase, Kind, Phase, Rows, Session, Setting, Settings, Suite, Target, TargetKind, Value,
};

/// `crystal`.
pub static SUITE: Suite = Suite {
    name: NAME,
    summary: "The rows of CrystalDiskMark, each past the page cache and through it side by side.",
    about: "A test file, or a device, is written once with data of its own in every 4 KiB. Then \
        every row runs once to warm up and \
            several times to be measured, direct and buffered in turn, so that what the cache does \
            is a figure. The original prints the \
            best of its runs; that is given, and beside it the median with its interval. What a \
            row reads is \
            held against what was written last, by the mark in the first 32 bytes of every 4 KiB \
            or by every byte (verify); after the \
            last row all of it is read back and every byte compared, outside any row's time. Every \
            row that writes has two rates: acknowledged, when its calls had returned, and durable, \
            to the end of the flush \
            that follows. On a raw target there are only direct rows.",
    targets: &[TargetKind::Folder, TargetKind::Device],
    settings: &[
        Setting::new(
            "profile",
            Kind::Word(&["3", "8", "8-nvme", "real", "peak"]),
            Value::word("8"),
            "Which rows: those of version 3, of version 8, or of one of its presets.",
        ),
        Setting::new(
            "size",
            Kind::Bytes,
            Value::Bytes(0),
            "Size of the test file, whole MiB up to 64GiB; 0 is the original's: 1000MiB for \
                profile 3, else 1GiB.",
        ),
        Setting::new(
            "runs",
            Kind::Count(1, RUNS_MAX as u64),
            Value::Count(5),
            "Runs of a row after its warm-up.",
        )
        .after_a_warm_up()
        .in_plans(Value::Count(1)),
        Setting::new(
            "time",
            Kind::Time,
            Value::Time(Duration::ZERO),
            "Time of a run; 0s is the original's: at least 6s for profile 3, else 5s.",
        ),
        Setting::new("interval", Kind::Time, Value::Time(INTERVAL), "Rest before a row."),
        STEADY,
        Setting::new(
            "mix",
            Kind::Count(0, 99),
            Value::Count(0),
            "Mixed rows as well, with so many reads of 100 requests (70 in the original); 0 \
                is none.",
        ),
        Setting::new(
            "only",
            Kind::Text,
            Value::word(ALL),
            "Only rows whose name has this in it, such as RND4K Q1T1.",
        ),
        Setting::new(
            "data",
            Kind::Word(&["random", "zero", "one"]),
            Value::word("random"),
            "What is written: incompressible and different in every block, zeroes, or ones. \
                Where one byte is written all over, \
                   lost and misdirected writes look right.",
        ),
        Setting::new(
            "verify",
            Kind::Word(&["words", "full"]),
            Value::word("words"),
            "What is compared of what a row reads, inside its time: the first 32 bytes of \
                every 4 KiB, or every byte, which takes a \
                   processor some 0.2 ms for each MiB.",
        ),
        Setting::new(
            "access",
            Kind::Word(&["both", "direct", "buffered"]),
            Value::word("both"),
            "Past the page cache, through it, or both in turn.",
        ),
    ],
    rows: Rows::InOrder,
    phases: |settings| {
        let options = options(settings).unwrap_or_else(|_| Profile::Eight.options());
        options
            .rows()
            .iter()
            .flat_map(|row| ways(settings).map(|buffered| phase(row, buffered)))
            .collect()
    },
    prepared_bytes: |settings, device_bytes| {
        let bytes = options(settings).map_or(0, |options| options.size_bytes);
        device_bytes.map_or(bytes, |device_bytes| bytes.min(device_bytes))
    },
    run: suite,
};

/// No choice of rows.
const ALL: &str = "all";

/// As in version 8; of version 3 it is not known.
pub(super) const INTERVAL: Duration = Duration::from_secs(5);

/// Which views the settings ask for: `false` is direct.
fn ways(settings: &Settings) -> impl Iterator<Item = bool> + use<> {
    let (direct, buffered) = match settings.text("access") {
        "direct" => (true, false),
        "buffered" => (false, true),
        _ => (true, true),
    };
    [(direct, false), (buffered, true)].into_iter().filter_map(|(asked, way)| asked.then_some(way))
}

/// What the settings mean.
///
/// # Errors
/// The setting, its value and what is possible.
///
/// # Panics
/// When a profile is named that the setting's kind does not have.
pub fn options(settings: &Settings) -> Result<Options, Text> {
    let original = Profile::named(settings.text("profile")).expect("checked").options();
    let or = |given: u64, usual: u64| if given == 0 { usual } else { given };
    let time = settings.time("time");
    let options = Options {
        size_bytes: or(settings.bytes("size"), original.size_bytes),
        runs: u32::try_from(settings.count("runs")).unwrap_or(RUNS_MAX),
        time: if time.is_zero() { original.time } else { time },
        interval: settings.time("interval"),
        steady: rounds::is_asked(settings.text(STEADY.name)),
        only: Some(settings.text("only"))
            .filter(|only| *only != ALL)
            .unwrap_or_default()
            .to_owned(),
        mix_read_percent: u32::try_from(settings.count("mix")).ok().filter(|percent| *percent > 0),
        data: match settings.text("data") {
            "zero" => Data::Zero,
            "one" => Data::One,
            _ => Data::Random,
        },
        verify: if settings.text("verify") == "full" { Verify::Full } else { Verify::Words },
        ..original
    };
    options.check().map(|()| options)
}

pub(super) fn phase(row: &Row, buffered: bool) -> Phase {
    let group = match (row.way, row.order) {
        (AccessKind::Mix { .. }, _) => Group::Mixed,
        (_, Order::Sequential) => Group::Sequential,
        (_, Order::Random) => Group::Random,
    };
    Phase {
        name: if buffered { format!("{} buffered", row.name()) } else { row.name() },
        buffered_of: buffered.then(|| row.name()),
        what: row.what(buffered),
        group,
        metric: "throughput_bytes_per_second".into(),
        better: BetterDirection::Higher,
        writes: row.way.writes(),
        is_deep: row.queues * row.threads > 1,
    }
}

/// The name of the test file in its folder.
const FILE: &str = "crystal.dat";

fn suite(target: Target<'_>, settings: &Settings, session: &mut Session<'_>) -> Result<(), Error> {
    let options = options(settings).map_err(|text| Error::new(ErrorKind::Invalid, text))?;
    let mut options = Options { seed: session.seed, data_seed: session.data_seed, ..options };
    match target {
        Target::Device(device) => {
            let room = device.info().size_bytes >> 20 << 20;
            if settings.bytes("size") == 0 {
                options.size_bytes = options.size_bytes.min(room);
            }
            if options.size_bytes > room || room == 0 {
                let text = statement!(
                    catalogue::TEST_OUTGROWS_TARGET,
                    bytes = device.info().size_bytes,
                    size = size_text(options.size_bytes)
                );
                return Err(Error::new(ErrorKind::Invalid, text));
            }
            let views: Vec<_> =
                ways(settings).map(|buffered| (buffered, (!buffered).then_some(device))).collect();
            rows(&views, &options, session)
        }
        Target::Folder(folder) => {
            let direct = ways(settings).any(|buffered| !buffered);
            let needs = Needs {
                bytes: options.size_bytes,
                longest_file_bytes: options.size_bytes,
                files: 2,
                direct,
            };
            let folder = WorkFolder::new(folder, NAME, &needs)?;
            let path = folder.file(FILE, options.size_bytes)?;
            let mut devices = Vec::new();
            for buffered in ways(settings) {
                devices.push((buffered, session.files.open(&path, !buffered)?));
            }
            let views: Vec<_> =
                devices.iter().map(|(buffered, device)| (*buffered, Some(&**device))).collect();
            rows(&views, &options, session)
        }
    }
}

/// Every row on the views there are; `None` is a view that this target has not got.
fn rows(
    views: &[(bool, Option<&dyn Device>)],
    options: &Options,
    session: &mut Session<'_>,
) -> Result<(), Error> {
    let Some(first) = views.iter().find_map(|(_, device)| *device) else {
        return Err(Error::new(ErrorKind::Invalid, catalogue::RAW_ROWS_ARE_DIRECT));
    };
    if first.info().read_only {
        return Err(Error::new(ErrorKind::ReadOnly, catalogue::TEST_DATA_TO_READ_ONLY));
    }
    let access = options.access();
    let stop = || session.stopped();
    let mut filled =
        prepare(first, session.reactor, &access, &mut Hooks { stop: Some(&stop), progress: None })?;
    for row in options.rows() {
        let mut there = Vec::new();
        for (buffered, device) in views {
            let phase = phase(&row, *buffered);
            match device {
                Some(device) => there.push((View { buffered: *buffered, device: *device }, phase)),
                None => session.skip(&phase, 1, catalogue::RAW_HAS_NO_CACHE),
            }
        }
        if session.stopped()
            || run(&there, &row, &access, &mut filled, session)? == AfterPhase::Stop
        {
            return Ok(());
        }
    }
    let stop = || session.stopped();
    read_back(
        first,
        session.reactor,
        &access,
        &mut filled,
        &mut Hooks { stop: Some(&stop), progress: None },
    )
}
