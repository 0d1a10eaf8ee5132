//! A load of one's own: sizes, shares, places, depth or rate, flushes. `devtest` is three fixed
//! kinds of it, and what they share (preparing, verifying, ramp, rounds) is `devtest`'s.
//!
//! ```text
//!   sizes ─┐
//!   read ──┤                    depth ──> closed loop: each answer lets the next one go, verified
//!   sequential, streams ──> Mixture ─┤
//!   places, align ─┘                 rate ───> open loop: requests are meant for moments of their own
//! ```

use block::{Device, Error, ErrorKind, size_text};
use reactor::derive_seed;
use results::BetterDirection;
use words::{Text, statement};

use super::definition::{
    FILE_SIZE, Kind, Rows, Scope, Setting, Settings, Suite, Target, TargetKind, VERIFY, Value,
};
use super::depth::open::{self, OPEN_DEPTH, OpenLoad};
use super::devtest::{self, Test, Verify};
use super::phase::Phase;
use super::rounds::{self, STEADY};
use super::session::Session;
use crate::load::{
    self, Direction, Hooks, Load, Mixture, Places, Sequential, Sizes, Syncs, UnverifiedContent,
};
use crate::suite::catalogue;

/// Name of the suite, and of its only row.
pub const NAME: &str = "load";
/// Key of what is written before.
const FILL: &str = "fill";
/// Key of what writes carry.
const CONTENT: &str = "content";
const ZEROS: &str = "zeros";
/// How it is written.
const FILL_REQUEST: u32 = 1 << 20;
const FILL_DEPTH: u32 = 8;
/// Keys that mean nothing to an open loop, which verifies nothing and keeps no depth.
const CLOSED: [&str; 9] = [
    "depth",
    "think",
    "flush_every",
    "fua",
    "max_operations",
    "ramp",
    "steady",
    "verify",
    "prepare",
];

/// `load`.
pub static SUITE: Suite = Suite {
    name: NAME,
    summary: "Requests as your own work makes them: sizes, shares, places, depth or rate, flushes.",
    about: "One row, made of what the keys say: read = 70, sizes = 4KiB, depth = 16 are reads and \
        writes of 4 KiB at random places, 70 to 30, with 16 outstanding. Several kinds of work \
        are several workloads of a plan, each with a name and a weight. With depth a closed loop \
        is kept: an answer lets the next request go, after its think time. With rate requests are \
        meant for moments that come by chance at so many a second, whether earlier ones were \
        answered or not; latency counts from that moment and is what is compared. What a closed \
        loop reads is held against the last write, and everything is read back afterwards \
        (verify); an open loop is not verified. Durable rates count the flush at the end.",
    targets: &[TargetKind::Device, TargetKind::Folder],
    settings: &[
        Setting::new(
            "sizes",
            Kind::Text,
            Value::word("4KiB"),
            "Size of a request: 4KiB, a range 512..64KiB of which every multiple of 512 is as \
            frequent, or several with weights: 4KiB * 3, 64KiB..256KiB * 1.",
        )
        .checked(|text| Sizes::read(text).map(drop)),
        Setting::new(
            "read",
            Kind::Count(0, 100),
            Value::Count(100),
            "How many of 100 requests read; the others write.",
        ),
        Setting::new(
            "sequential",
            Kind::Count(0, 100),
            Value::Count(0),
            "How many of 100 requests go on where one of the streams is; the others go to places.",
        ),
        Setting::new(
            "streams",
            Kind::Count(1, 4096),
            Value::Count(1),
            "Sequential streams, each in an equal part of the device.",
        ),
        Setting::new(
            "places",
            Kind::Text,
            Value::word("uniform"),
            "Where requests go that are in no stream: uniform; hot 80:20 (80 % of them to the \
            first 20 % of the bytes); zipf 0.9 (pieces of 1 MiB by Zipf's law with this exponent).",
        )
        .checked(|text| Places::read(text).map(drop)),
        Setting::new(
            "align",
            Kind::Bytes,
            Value::Bytes(4096),
            "Those places are multiples of so many bytes, and of the device's block.",
        ),
        Setting::new("depth", Kind::Count(1, 4096), Value::Count(1), "Requests outstanding."),
        Setting::new(
            "rate",
            Kind::Count(0, 100_000_000),
            Value::Count(0),
            "Requests a second, whatever the answers; 0 keeps depth of them outstanding instead.",
        ),
        Setting::new(
            "think",
            Kind::Time,
            Value::Time(std::time::Duration::ZERO),
            "How long each of them waits between an answer and its next request.",
        ),
        Setting::new(
            "flush_every",
            Kind::Limit,
            Value::Limit(None),
            "Every so many writes are followed by a flush, which counts as part of the last one.",
        )
        .only(Scope::Writing),
        Setting::new(
            "fua",
            Kind::Count(0, 100),
            Value::Count(0),
            "How many of 100 writes are answered only once they are durable.",
        )
        .only(Scope::Writing),
        Setting::new(
            "time",
            Kind::SomeTime,
            Value::Time(std::time::Duration::from_secs(10)),
            "How long requests are issued.",
        )
        .on_virtual(Value::Time(std::time::Duration::from_secs(60))),
        Setting::new(
            "max_operations",
            Kind::Limit,
            Value::Limit(None),
            "Ends it after this many requests, if that comes first.",
        ),
        Setting::new(
            "ramp",
            Kind::Time,
            Value::Time(std::time::Duration::ZERO),
            "Time at its start which is not counted, where it writes.",
        )
        .on_virtual(Value::Time(std::time::Duration::from_secs(60)))
        .only(Scope::Writing),
        STEADY,
        VERIFY,
        Setting::new(
            CONTENT,
            Kind::Word(&["random", ZEROS]),
            Value::word("random"),
            "What is written where nothing is compared (verify = off): random bytes, or zeros, of \
            which drives in memory and in guests keep no copy. Drives that compress take zeros for \
            nothing.",
        )
        .only(Scope::Writing),
        Setting::new(
            "used",
            Kind::Bytes,
            Value::Bytes(0),
            "How many bytes of the device are used, from its start; 0 is all of them.",
        ),
        Setting::new(
            "prepare",
            Kind::Bytes,
            Value::Bytes(1 << 30),
            "Devices up to this size are filled before they are read.",
        )
        .only(Scope::Writing),
        Setting::new(
            FILL,
            Kind::Bytes,
            Value::Bytes(0),
            "So many bytes are written one behind the other before, and not counted: more than an \
            SSD's cache holds, and the row is its speed when that is full.",
        )
        .only(Scope::Writing),
        FILE_SIZE,
    ],
    rows: Rows::Alone,
    phases: |settings| vec![phase(settings)],
    prepared_bytes: |settings, device_bytes| {
        let size = device_bytes.unwrap_or(settings.bytes("size"));
        size.min(settings.bytes("prepare")).saturating_add(settings.bytes(FILL))
    },
    run,
};

/// The longest request, in bytes, of a load that is told in requests a second.
const SMALL_BYTES_MAX: u32 = 64 << 10;

/// What a load asks for. Texts were checked when they were set.
fn mixture(settings: &Settings) -> Mixture {
    let count = |name| u32::try_from(settings.count(name)).expect("the kind says at most 4096");
    Mixture {
        sizes: Sizes::read(settings.text("sizes")).expect("checked"),
        read_percent: count("read"),
        sequential_percent: count("sequential"),
        streams: count("streams"),
        places: Places::read(settings.text("places")).expect("checked"),
        align_bytes: u32::try_from(settings.bytes("align").clamp(1, 1 << 30)).expect("clamped"),
    }
}

fn phase(settings: &Settings) -> Phase {
    let mixture = mixture(settings);
    let rate = settings.count("rate");
    // Small accesses at places are counted, and the bytes of large ones and of streams.
    let is_small = mixture.sequential_percent < 50 && mixture.sizes.bounds().1 <= SMALL_BYTES_MAX;
    let (metric, better) = match rate {
        0 if is_small => ("io_per_second", BetterDirection::Higher),
        0 => ("throughput_bytes_per_second", BetterDirection::Higher),
        _ => ("latency_p99_seconds", BetterDirection::Lower),
    };
    let directions = match mixture.read_percent {
        0 => catalogue::PHASE_WRITES.into(),
        100 => catalogue::PHASE_READS.into(),
        read => statement!(catalogue::READS_TO_WRITES, reads = read, writes = 100 - read),
    };
    let places = match (mixture.sequential_percent, mixture.streams) {
        (0, _) => statement!(catalogue::AT_PLACES, places = mixture.places.to_string()),
        (100, 1) => catalogue::ONE_BEHIND_THE_OTHER.into(),
        (100, streams) => statement!(catalogue::IN_STREAMS, streams = streams),
        (share, streams) => {
            let places = mixture.places.to_string();
            let message = catalogue::PARTLY_IN_STREAMS;
            statement!(message, share = share, streams = streams, places = places)
        }
    };
    let loops = match rate {
        0 => statement!(catalogue::OUTSTANDING, depth = settings.count("depth")),
        rate => statement!(catalogue::A_SECOND, rate = rate),
    };
    let filled = match settings.bytes(FILL) {
        0 => Text::default(),
        bytes => statement!(catalogue::BEHIND_WRITES, size = size_text(bytes)),
    };
    Phase {
        name: NAME.to_owned(),
        what: statement!(
            catalogue::LOAD_IS,
            way = directions,
            sizes = mixture.sizes.to_string(),
            places = places,
            loops = loops,
            filled = filled,
        ),
        group: mixture.group(),
        metric: metric.into(),
        better,
        writes: mixture.writes(),
        is_deep: rate > 0 || settings.count("depth") > 1,
        buffered_of: None,
    }
}

fn run(target: Target<'_>, settings: &Settings, session: &mut Session<'_>) -> Result<(), Error> {
    target.on_device(NAME, settings.bytes("size"), session, |device, session| {
        measure(device, settings, session)
    })
}

fn invalid(text: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

/// How many bytes of a device are used, once everything that is asked for fits there.
fn used_bytes(device: &dyn Device, settings: &Settings, mixture: &Mixture) -> Result<u64, Error> {
    let info = device.info();
    let block = u64::from(info.block_bytes);
    let used = match settings.bytes("used") {
        0 => info.size_bytes,
        used if used > info.size_bytes => {
            return Err(invalid(statement!(catalogue::USED_OF_TARGET, bytes = info.size_bytes)));
        }
        used => used,
    };
    let used = used - used % block;
    let longest = u64::from(mixture.sizes.bounds().1).next_multiple_of(block);
    if longest > used / u64::from(mixture.streams) / block * block {
        return Err(invalid(statement!(
            catalogue::NO_ROOM_IN_STREAMS,
            streams = mixture.streams,
            used = used,
            longest = longest
        )));
    }
    Ok(used)
}

fn measure(
    device: &dyn Device,
    settings: &Settings,
    session: &mut Session<'_>,
) -> Result<(), Error> {
    let mixture = mixture(settings);
    let used_bytes = used_bytes(device, settings, &mixture)?;
    let phase = phase(settings);
    let content = match settings.text(CONTENT) {
        ZEROS => UnverifiedContent::Zeros,
        _ => UnverifiedContent::Random,
    };
    let is_compared = settings.count("rate") == 0 && settings.text(VERIFY.name) != "off";
    if is_compared && content == UnverifiedContent::Zeros {
        return Err(invalid(catalogue::ZEROS_UNVERIFIED).at(CONTENT));
    }
    fill(device, used_bytes, (settings.bytes(FILL), content), session)?;
    let test = Test::new(devtest::Kind::Load(mixture));
    if settings.count("rate") > 0 {
        // The other one asks this itself.
        if let Some(reason) = test.impossible(device.info(), &devtest::Settings::default()) {
            session.skip(&phase, 1, reason);
            return Ok(());
        }
        return open_loop(device, settings, &mixture, used_bytes, &phase, session);
    }
    let own = devtest::Settings {
        depth: u32::try_from(settings.count("depth")).expect("the kind says at most 4096"),
        time_per_test: settings.time("time"),
        max_operations_per_test: settings.limit("max_operations"),
        ramp: settings.time("ramp"),
        steady: rounds::is_asked(settings.text(STEADY.name)),
        verify: Verify::of(settings.text("verify")),
        prepare_bytes: settings.bytes("prepare"),
        seed: session.seed,
        data_seed: session.data_seed,
        used_bytes: Some(used_bytes),
        syncs: Syncs {
            flush_every: settings.limit("flush_every"),
            fua_percent: u32::try_from(settings.count("fua")).expect("at most 100"),
        },
        think: settings.time("think"),
        content,
        ..devtest::Settings::default()
    };
    devtest::measure_all(device, &[(test, phase, own.clone())], &own, session)
}

/// Writes so many bytes one behind the other, from the start again when the used ones are full.
fn fill(
    device: &dyn Device,
    used_bytes: u64,
    (bytes, mut content): (u64, UnverifiedContent),
    session: &Session<'_>,
) -> Result<(), Error> {
    if bytes == 0 || device.info().read_only {
        return Ok(());
    }
    let stop = session.stop;
    let stopped = || stop.load(std::sync::atomic::Ordering::Relaxed);
    let mut hooks = Hooks { stop: Some(&stopped), progress: None };
    let length = u32::try_from(used_bytes).unwrap_or(FILL_REQUEST).min(FILL_REQUEST);
    let mut requests = Sequential::new(Direction::Write, 0, used_bytes, length);
    let amount = Load { depth: FILL_DEPTH, bytes: Some(bytes), ..Load::default() };
    load::run(device, session.reactor, &amount, &mut requests, &mut content, &mut hooks)
        .map(drop)
        .map_err(|error| error.at(FILL))
}

fn open_loop(
    device: &dyn Device,
    settings: &Settings,
    mixture: &Mixture,
    used_bytes: u64,
    phase: &Phase,
    session: &mut Session<'_>,
) -> Result<(), Error> {
    if let Some(name) = CLOSED.iter().find(|name| !is_default(settings, name, session)) {
        return Err(invalid(catalogue::FOR_CLOSED_LOOP).at(*name));
    }
    let load = OpenLoad {
        rate: settings.count("rate") as f64,
        time: settings.time("time"),
        depth: OPEN_DEPTH,
        seed: derive_seed(session.seed, NAME, 0),
    };
    let mut requests = mixture.requests(used_bytes, device.info().block_bytes, load.seed);
    session
        .measure(phase, 1, |session| open::measured(device, &load, &mut requests, session))
        .map(drop)
}

fn is_default(settings: &Settings, name: &str, session: &Session<'_>) -> bool {
    let default = SUITE.defaults(session.reactor.clock());
    let of = |settings: &Settings| {
        settings.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    };
    of(settings) == of(&default)
}

#[cfg(test)]
mod tests;
