//! `depth` as a suite among the others.

use std::time::Duration;

use block::{Device, Error, ErrorKind, size_text};
use reactor::derive_seed;
use results::doubt::UnverifiedReason;
use results::{BetterDirection, Group};
use words::{Text, statement};

use super::open::{self, OPEN_DEPTH, OpenLoad};
use super::{NAME, curves};
use crate::load::{Direction, Hooks, Sequential, Uniform};
use crate::suite::access::{self, AccessKind, BlockContents, Options, Order, Row as Access, View};
use crate::suite::catalogue;
use crate::suite::rounds::{self, STEADY};
use crate::suite::{
    AfterPhase, Kind, Phase, Rows, Scope, Session, Setting, Settings, Suite, Target, TargetKind,
    Value, WorkDone,
};

const MIB: u64 = 1 << 20;
/// Each block size is so many times the one before it.
const BLOCK_STEP: u32 = 16;
const BLOCK_MIN_BYTES: u64 = 4096;
const BLOCK_MAX_BYTES: u64 = 16 << 20;
/// Shares of the most that the closed loop reached, in per cent.
const SHARES: [u32; 4] = [25, 50, 75, 90];

/// `depth`.
pub static SUITE: Suite = Suite {
    name: NAME,
    summary: "Throughput against latency at 1 to 256 outstanding requests, and the knee where more \
        stop paying.",
    about: "Every kind of access and every block size is measured with 1, 2, 4, … outstanding \
        requests, one after the other. In such a \
            closed loop throughput and mean latency are tied (depth = requests per second x mean \
            latency). The knee is the depth with \
            the most throughput for its mean latency: the largest requests per second over mean \
            latency. With `loop = open`, the \
            largest rate of each curve is taken, and requests are then meant for moments that come \
            by chance at 25, 50, 75 and 90 % of \
            it, whether earlier ones were answered or not; latency counts from the moment a \
            request was meant for, so that a stall \
            shows in the percentiles of all who had to wait. Devices up to `prepare` are filled \
            first: what a \
            closed loop reads is held against what was written last by the mark in the first 32 \
            bytes of every 4 KiB, and after the last \
            point all of it is read back and every byte compared, outside any time, unless an open \
            loop wrote over it. Larger ones, and \
            what open loops move, are not compared.",
    targets: &[TargetKind::Folder, TargetKind::Device],
    settings: &[
        Setting::new(
            "access",
            Kind::Word(&["random", "sequential", "both"]),
            Value::word("both"),
            "Where requests go.",
        ),
        Setting::new(
            "way",
            Kind::Word(&["read", "write", "both"]),
            Value::word("read"),
            "Which way data go.",
        ),
        Setting::new(
            "block_min",
            Kind::Bytes,
            Value::Bytes(BLOCK_MIN_BYTES),
            "Smallest request, a power of two from 4KiB on; each further size is 16 times \
                the one before it.",
        ),
        Setting::new("block_max", Kind::Bytes, Value::Bytes(MIB), "Largest request, up to 16MiB."),
        Setting::new(
            "depth_max",
            Kind::Count(1, 4096),
            Value::Count(256),
            "Most requests outstanding.",
        ),
        Setting::new("time", Kind::Time, Value::Time(Duration::from_secs(1)), "Time of a point."),
        STEADY,
        Setting::new(
            "runs",
            Kind::Count(1, 100),
            Value::Count(1),
            "How often each point is measured.",
        ),
        Setting::new(
            "loop",
            Kind::Word(&["closed", "open"]),
            Value::word("closed"),
            "Whether open loops follow the curves.",
        ),
        Setting::new(
            "size",
            Kind::Bytes,
            Value::Bytes(0),
            "Bytes that are used, whole MiB; 0 is the whole device, and 1GiB in a folder.",
        ),
        Setting::new(
            "prepare",
            Kind::Bytes,
            Value::Bytes(4 << 30),
            "Devices up to this size are filled first; larger ones are not verified.",
        )
        .only(Scope::Writing),
    ],
    rows: Rows::InOrder,
    phases,
    prepared_bytes: |settings, device_bytes| {
        let asked = settings.bytes("size");
        let bytes = if asked == 0 { device_bytes.unwrap_or(1 << 30) } else { asked };
        if bytes > settings.bytes("prepare") { 0 } else { bytes }
    },
    run,
};

/// One kind of access at one block size.
#[derive(Clone, Copy)]
struct Series {
    order: Order,
    way: AccessKind,
    request_bytes: u32,
}

impl Series {
    fn name(&self) -> String {
        let order = if self.order == Order::Sequential { "sequential" } else { "random" };
        format!("{order} {} {}", self.way, size_text(u64::from(self.request_bytes)))
    }

    fn row(&self, depth: u32) -> Access {
        let row = Access::new(self.order, self.request_bytes >> 10, depth, 1, None);
        Access { way: self.way, ..row }
    }

    fn phase(
        &self,
        name: String,
        what: Text,
        metric: &'static str,
        better: BetterDirection,
    ) -> Phase {
        let group = if self.order == Order::Sequential { Group::Sequential } else { Group::Random };
        Phase {
            name,
            what,
            group,
            metric: metric.into(),
            better,
            writes: self.way.writes(),
            is_deep: true,
            buffered_of: None,
        }
    }

    fn what(&self) -> Text {
        let message = match (self.order, self.way.writes()) {
            (Order::Sequential, false) => catalogue::ADJACENT_READS,
            (Order::Sequential, true) => catalogue::ADJACENT_WRITES,
            (Order::Random, false) => catalogue::PLACED_READS,
            (Order::Random, true) => catalogue::PLACED_WRITES,
        };
        statement!(message, size = size_text(u64::from(self.request_bytes)))
    }

    fn closed(&self, depth: u32) -> Phase {
        let what = statement!(catalogue::SO_MANY_OUTSTANDING, what = self.what(), depth = depth);
        let phase = self.phase(
            format!("{} Q{depth}", self.name()),
            what,
            "throughput_bytes_per_second",
            BetterDirection::Higher,
        );
        Phase { is_deep: depth > 1, ..phase }
    }

    fn open(&self, share: u32) -> Phase {
        let what = statement!(catalogue::BY_CHANCE, what = self.what(), share = share);
        self.phase(
            format!("{} open {share}%", self.name()),
            what,
            "latency_p99_seconds",
            BetterDirection::Lower,
        )
    }
}

fn series(settings: &Settings) -> Vec<Series> {
    let orders = match settings.text("access") {
        "random" => vec![Order::Random],
        "sequential" => vec![Order::Sequential],
        _ => vec![Order::Random, Order::Sequential],
    };
    let ways = match settings.text("way") {
        "read" => vec![AccessKind::Read],
        "write" => vec![AccessKind::Write],
        _ => vec![AccessKind::Read, AccessKind::Write],
    };
    let first = u32::try_from(settings.bytes("block_min")).unwrap_or(u32::MAX);
    let most = settings.bytes("block_max").min(BLOCK_MAX_BYTES);
    let sizes = std::iter::successors(Some(first), |size| size.checked_mul(BLOCK_STEP))
        .take_while(|size| u64::from(*size) <= most);
    let sizes: Vec<u32> = sizes.collect();
    let mut series = Vec::new();
    for way in ways {
        for order in &orders {
            series.extend(sizes.iter().map(|request_bytes| Series {
                order: *order,
                way,
                request_bytes: *request_bytes,
            }));
        }
    }
    series
}

fn depths(settings: &Settings) -> impl Iterator<Item = u32> + use<> {
    let most = u32::try_from(settings.count("depth_max")).unwrap_or(4096);
    std::iter::successors(Some(1_u32), |depth| depth.checked_mul(2))
        .take_while(move |depth| *depth <= most)
}

fn phases(settings: &Settings) -> Vec<Phase> {
    let shares = if settings.text("loop") == "open" { &SHARES[..] } else { &[] };
    let each = |series: &Series| {
        let closed = depths(settings).map(|depth| series.closed(depth));
        closed.chain(shares.iter().map(|share| series.open(*share))).collect::<Vec<_>>()
    };
    series(settings).iter().flat_map(each).collect()
}

fn check(settings: &Settings) -> Result<(), Text> {
    let (least, most) = (settings.bytes("block_min"), settings.bytes("block_max"));
    if !least.is_power_of_two() || least < BLOCK_MIN_BYTES {
        return Err(statement!(catalogue::BLOCK_MIN_POWER, size = size_text(least)));
    }
    if !(least..=BLOCK_MAX_BYTES).contains(&most) {
        return Err(statement!(
            catalogue::BLOCK_MAX_RANGE,
            size = size_text(most),
            least = size_text(least)
        ));
    }
    if !settings.bytes("size").is_multiple_of(MIB) {
        let size = size_text(settings.bytes("size"));
        return Err(statement!(catalogue::SIZE_OF_MEBIBYTES, size = size));
    }
    if settings.time("time").is_zero() { Err(catalogue::POINT_WITHOUT_TIME.into()) } else { Ok(()) }
}

fn run(target: Target<'_>, settings: &Settings, session: &mut Session<'_>) -> Result<(), Error> {
    check(settings).map_err(|text| Error::new(ErrorKind::Invalid, text))?;
    let size_bytes = if settings.bytes("size") == 0 { 1 << 30 } else { settings.bytes("size") };
    target
        .on_device(NAME, size_bytes, session, |device, session| measure(device, settings, session))
}

fn measure(
    device: &dyn Device,
    settings: &Settings,
    session: &mut Session<'_>,
) -> Result<(), Error> {
    let info = device.info();
    let room = info.size_bytes / MIB * MIB;
    let asked = settings.bytes("size");
    let size_bytes = if asked == 0 { room } else { asked };
    if size_bytes > room || size_bytes == 0 {
        let text = statement!(
            catalogue::TEST_OUTGROWS_TARGET,
            bytes = info.size_bytes,
            size = size_text(size_bytes.max(MIB))
        );
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    let options = Options {
        size_bytes,
        runs: u32::try_from(settings.count("runs")).unwrap_or(1),
        warms_up: false,
        time: settings.time("time"),
        steady: rounds::is_asked(settings.text(STEADY.name)),
        seed: session.seed,
        data_seed: session.data_seed,
        ..Options::default()
    };
    let halt = session.stop;
    let stop = || halt.load(std::sync::atomic::Ordering::Relaxed);
    let mut filled = if info.read_only {
        BlockContents::unverified(UnverifiedReason::UnknownContent)
    } else if size_bytes > settings.bytes("prepare") && info.stores_data {
        BlockContents::unverified(UnverifiedReason::PartlyPrepared)
    } else {
        access::prepare(
            device,
            session.reactor,
            &options,
            &mut Hooks { stop: Some(&stop), progress: None },
        )?
    };
    for series in series(settings) {
        for depth in depths(settings) {
            let view = View { buffered: false, device };
            let next = access::run(
                &[(view, series.closed(depth))],
                &series.row(depth),
                &options,
                &mut filled,
                session,
            )?;
            if next == AfterPhase::Stop {
                return Ok(());
            }
        }
        if settings.text("loop") == "open" {
            let next = open_loops(device, &series, &options, session)?;
            if series.way.writes() {
                filled.forget();
            }
            if next == AfterPhase::Stop {
                return Ok(());
            }
        }
    }
    access::read_back(
        device,
        session.reactor,
        &options,
        &mut filled,
        &mut Hooks { stop: Some(&stop), progress: None },
    )
}

/// Open loops at shares of the largest rate that the curve of this series has.
fn open_loops(
    device: &dyn Device,
    series: &Series,
    options: &Options,
    session: &mut Session<'_>,
) -> Result<AfterPhase, Error> {
    let curve = curves(super::points(session.rows()))
        .into_iter()
        .find(|curve| curve.access == series.name());
    let most = curve
        .and_then(|curve| curve.points.iter().map(|point| point.io_per_second).reduce(f64::max));
    for (share, run) in
        SHARES.iter().flat_map(|share| (1..=options.runs).map(move |run| (*share, run)))
    {
        let phase = series.open(share);
        let Some(most) = most.filter(|most| *most > 0.0) else {
            session.skip(&phase, run, catalogue::NO_RATE_OF_CURVE);
            continue;
        };
        let load = OpenLoad {
            rate: most * f64::from(share) / 100.0,
            time: options.time,
            depth: OPEN_DEPTH,
            seed: derive_seed(session.seed, &phase.name, u64::from(run)),
        };
        if session
            .measure(&phase, run, |session| open_loop(device, series, options, &load, session))?
            == AfterPhase::Stop
        {
            return Ok(AfterPhase::Stop);
        }
    }
    Ok(AfterPhase::Go)
}

fn open_loop(
    device: &dyn Device,
    series: &Series,
    options: &Options,
    load: &OpenLoad,
    session: &Session<'_>,
) -> Result<Option<WorkDone>, Error> {
    let direction = series.way.direction().unwrap_or(Direction::Read);
    let length = series.request_bytes;
    match series.order {
        Order::Sequential => {
            let mut requests = Sequential::new(direction, 0, options.size_bytes, length);
            open::measured(device, load, &mut requests, session)
        }
        Order::Random => {
            let mut requests =
                Uniform::new(direction, options.size_bytes, length, length, load.seed);
            open::measured(device, load, &mut requests, session)
        }
    }
}
