//! A recording made again: the requests of real work on another target.
//!
//! ```text
//!   file ──> Recording ── Waits: what waited for what ─┐
//!                 └────── Fit: where on the target ────┴─> engine ──> figures, by windows
//! ```

mod batches;
mod buffers;
mod engine;
mod fit;
mod recording;
mod waits;

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use block::{Clock, Device, Error, ErrorKind, Traffic};
use results::doubt::{ReplayWindow, ReplayedOperation, UnverifiedReason};
use results::{BetterDirection, Doubt, Group};
use words::{Text, statement};

use super::definition::{
    FILE_SIZE, Kind, Rows, Scope, Setting, Settings, Suite, Target, TargetKind, VERIFY, Value,
};
use super::depth::open::OPEN_DEPTH;
use super::phase::Phase;
use super::session::Session;
use super::{WorkDone, steps};
use crate::known::{VerifiedContent, WriteLedger, joined};
use crate::load::{Direction, Hooks, Ramp, Sides};
use crate::suite::catalogue;

use engine::{NOT_ANSWERED, Pace, Replay, ReplayResult};
use fit::{Fit, Rule};
use recording::{Recording, Selection};

/// Name of the suite, and of its only row.
pub const NAME: &str = "replay";

/// Parts of a recording that are told apart.
const WINDOWS: u64 = 20;
/// A replay of which more than this share was late is none.
const LATE_SHARE_MAX: f64 = 0.01;

/// `replay`.
pub static SUITE: Suite = Suite {
    name: NAME,
    summary: "A recording made again: the requests of real work, with their times and waits.",
    about: "The requests of file, a recording of `raidloom record` or of another program, are made \
        on the target. mode says when. closed: each request goes as long after the answer that it \
        waited for as it did, so that a faster target is done earlier; what waited for what is \
        inferred. open: at the recorded times, whatever the answers; latency counts from these. \
        fast: in order, as many at a time as depth says. Addresses stay where they fit; fit says \
        what becomes of them where not. Contents are the program's own, and what it reads of \
        its own writes is held against them. The slowest of 20 parts of the recording are named. A \
        replay that is late by more than 1 ms for more than 1 of 100 requests is flagged, and its \
        figures do not vote. Durable rates count the flush at the end.",
    targets: &[TargetKind::Device, TargetKind::Folder],
    settings: &[
        Setting::new("file", Kind::Path, Value::word(""), "The recording.").checked(check_file),
        Setting::new(
            "device",
            Kind::Text,
            Value::word(""),
            "The one device whose requests are replayed, by its name in a recording of several.",
        ),
        Setting::new(
            "mode",
            Kind::Word(&["closed", "open", "fast"]),
            Value::word("closed"),
            "When requests go: after what they waited for, at the recorded times, or as soon as \
            there is room.",
        ),
        Setting::new(
            "speed",
            Kind::Count(1, 1_000_000),
            Value::Count(1),
            "Times of the recording, and thinking, are divided by this.",
        ),
        Setting::new(
            "share",
            Kind::Count(1, 100),
            Value::Count(100),
            "How many of 100 requests are replayed, from the first on.",
        ),
        Setting::new(
            "requests",
            Kind::Limit,
            Value::Limit(None),
            "How many requests are replayed at most, from the first on.",
        ),
        Setting::new(
            "operations",
            Kind::Word(&["all", "reads"]),
            Value::word("all"),
            "What is replayed of it; with reads nothing is written to the target.",
        ),
        Setting::new(
            "writes",
            Kind::Count(1, 100),
            Value::Count(1),
            "How often each write is made: at its time, and further on.",
        ),
        Setting::new(
            "fit",
            Kind::Word(&["keep", "fold", "scale", "exact"]),
            Value::word("keep"),
            "Where requests go. keep: where they were; where the target is too small, the space \
            between what is touched is made narrower, and a target smaller than what is touched \
            is refused. fold: the same, but such a target begins anew at its start. scale: the \
            space between is made wider or narrower, so that the recorded device spans the \
            target. exact: where they were, or refused.",
        ),
        Setting::new(
            "depth",
            Kind::Count(1, 4096),
            Value::Count(32),
            "Requests outstanding with mode = \"fast\".",
        ),
        VERIFY,
        Setting::new(
            "prepare",
            Kind::Bytes,
            Value::Bytes(1 << 30),
            "What is touched is written before, if it is no more than this.",
        )
        .only(Scope::Writing),
        FILE_SIZE,
    ],
    rows: Rows::Alone,
    phases: |settings| vec![phase(settings)],
    prepared_bytes: |settings, device_bytes| match settings.text("operations") {
        "reads" => 0,
        _ => device_bytes.unwrap_or(settings.bytes("size")).min(settings.bytes("prepare")),
    },
    run,
};

/// What is known of a recording without replaying it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its requests.
    pub requests: u64,
    /// Bytes that any of them touches.
    pub touched_bytes: u64,
    /// Whether it says when any of them was answered, so that it can be replayed closed.
    pub has_answers: bool,
    /// Whether it says when they were submitted; without it can be replayed fast only.
    pub has_times: bool,
}

/// Looks at all of a recording.
///
/// # Errors
/// What the file could not do, or what is wrong with it; [`ErrorKind::Invalid`] when there is
/// nothing to replay.
pub fn look_at(path: &Path) -> Result<Look, Error> {
    let whole = Selection {
        path: path.to_owned(),
        device: None,
        percent: 100,
        requests_max: None,
        reads_only: false,
        writes: 1,
    };
    let recording = recording::read(&whole)?;
    let records = &recording.records;
    let ranges = records.iter().filter(|record| record.length > 0);
    let ranges = ranges.map(|record| (record.offset, record.offset + record.length));
    Ok(Look {
        requests: records.len() as u64,
        touched_bytes: joined(ranges.collect()).iter().map(|(start, end)| end - start).sum(),
        has_answers: records.iter().any(|record| record.latency_nanoseconds.is_some()),
        has_times: recording.has_times,
    })
}

fn check_file(path: &str) -> Result<(), Text> {
    if path.is_empty() {
        return Err(catalogue::WHICH_RECORDING.into());
    }
    Ok(trace::open(path.as_ref()).map(drop)?)
}

fn phase(settings: &Settings) -> Phase {
    let (metric, better) = match settings.text("mode") {
        "open" => ("latency_p99_seconds", BetterDirection::Lower),
        _ => ("io_per_second", BetterDirection::Higher),
    };
    let when = match settings.text("mode") {
        "open" => catalogue::AT_THEIR_TIMES,
        "fast" => catalogue::AS_THERE_IS_ROOM,
        _ => catalogue::AFTER_WHAT_IT_WAITED_FOR,
    };
    let writes = settings.text("operations") == "all";
    let what = if writes { catalogue::REQUESTS_REPLAYED } else { catalogue::READS_REPLAYED };
    Phase {
        name: NAME.to_owned(),
        what: statement!(what, when = when),
        group: Group::Mixed,
        metric: metric.into(),
        better,
        writes,
        is_deep: true,
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

fn measure(
    device: &dyn Device,
    settings: &Settings,
    session: &mut Session<'_>,
) -> Result<(), Error> {
    let (phase, info) = (phase(settings), device.info());
    let recording = recording::read(&Selection {
        path: settings.text("file").into(),
        device: Some(settings.text("device").to_owned()).filter(|name| !name.is_empty()),
        percent: settings.count("share"),
        requests_max: settings.limit("requests"),
        reads_only: settings.text("operations") == "reads",
        writes: settings.count("writes"),
    })?;
    if info.read_only && writes(&recording) {
        session.skip(&phase, 1, catalogue::REPLAY_WOULD_WRITE);
        return Ok(());
    }
    let rule = match settings.text("fit") {
        "exact" => Rule::Exact,
        "fold" => Rule::Fold,
        "scale" => Rule::Scale,
        _ => Rule::Keep,
    };
    let size = (info.size_bytes, info.block_bytes);
    let fit = Fit::new(&recording.records, recording.recorded_bytes, size, rule);
    let fit = fit.map_err(|text| invalid(text.at(settings.text("file"))))?;
    if !recording.has_times && settings.text("mode") != "fast" {
        return Err(invalid(catalogue::RECORDING_HAS_NO_TIMES));
    }
    let pace = match settings.text("mode") {
        "open" => Pace::Open,
        "fast" => Pace::Fast,
        _ => Pace::Closed(recording.waits().map_err(invalid)?),
    };
    let mut one =
        ReplayRun { device, settings, recording: &recording, fit, pace, notes: Vec::new() };
    let verify = one.verify(session);
    let keeps_data = info.stores_data && !info.read_only;
    let mut known = keeps_data.then(|| WriteLedger::new(info.size_bytes, session.data_seed));
    if let Some(known) = &mut known
        && phase.writes
        && !one.prepare(known, session)?
    {
        return Ok(());
    }
    let mut known = known.zip(verify);
    session.measure(&phase, 1, |session| one.replay(known.as_mut(), session)).map(drop)
}

/// One replay on one device.
struct ReplayRun<'a> {
    device: &'a dyn Device,
    settings: &'a Settings,
    recording: &'a Recording,
    fit: Fit,
    pace: Pace<'a>,
    notes: Vec<Doubt>,
}

impl ReplayRun<'_> {
    /// Whether reads are verified, and then whether every byte is; says why not.
    fn verify(&mut self, session: &Session<'_>) -> Option<bool> {
        let info = self.device.info();
        let because = match self.settings.text("verify") {
            "off" => UnverifiedReason::TurnedOff,
            _ if !info.stores_data && info.modelled => UnverifiedReason::Modelled,
            _ if !info.stores_data => UnverifiedReason::NoData,
            _ if info.read_only => UnverifiedReason::UnknownContent,
            words_or_full => return Some(words_or_full == "full"),
        };
        let is_told = because != UnverifiedReason::TurnedOff || !is_virtual(session);
        self.notes.extend(is_told.then_some(Doubt::Unverified { because }));
        None
    }

    /// Writes what the recording touches, so that no read finds a hole, and all are verified. False
    /// when the caller stopped it.
    fn prepare(&self, known: &mut WriteLedger, session: &Session<'_>) -> Result<bool, Error> {
        let has_data = |record: &&trace::Record| record.op != trace::RecordedOp::Flush;
        let places = self.recording.records.iter().filter(has_data).map(|record| {
            let (offset, length) = self.fit.place(record);
            (offset, offset + length)
        });
        let touched = joined(places.collect());
        let bytes: u64 = touched.iter().map(|(start, end)| end - start).sum();
        if bytes == 0 || bytes > self.settings.bytes("prepare") {
            return Ok(true);
        }
        let stop = || session.stopped();
        let mut hooks = Hooks { stop: Some(&stop), progress: None };
        let mut content = VerifiedContent::new(known, false);
        let on = (self.device, session.reactor);
        let what = (Direction::Write, touched, self.device.info().block_bytes);
        let sample = steps::cover(on, what, &mut content, &mut hooks)
            .map_err(|error| error.at(catalogue::WRITING_TOUCHED))?;
        if !sample.stopped {
            steps::flush(self.device, session.reactor, catalogue::FLUSH_BEFORE_REPLAY)?;
        }
        Ok(!sample.stopped)
    }

    /// Nothing when the caller stopped it.
    fn replay(
        &mut self,
        known: Option<&mut (WriteLedger, bool)>,
        session: &mut Session<'_>,
    ) -> Result<Option<WorkDone>, Error> {
        let depth = match self.pace {
            Pace::Fast => u32::try_from(self.settings.count("depth")).expect("at most 4096"),
            Pace::Open | Pace::Closed(_) => OPEN_DEPTH,
        };
        let replay = Replay {
            records: &self.recording.records,
            fit: &self.fit,
            pace: self.pace,
            speed: self.settings.count("speed"),
            depth,
            known: known.map(|(known, every_byte)| (known, *every_byte)),
        };
        session.ticker.plan_operations(self.recording.records.len() as u64);
        let told = Cell::new(0);
        let ask = |answered: u64| {
            session.ticker.add(answered - told.replace(answered));
            session.stopped()
        };
        let found = engine::run(self.device, session.reactor, replay, &ask)?;
        if found.stopped {
            return Ok(None);
        }
        let mut flush = None;
        if writes(self.recording) {
            session.returned();
            let when = catalogue::FLUSH_AFTER_REPLAY;
            flush = Some(steps::flush(self.device, session.reactor, when)?);
        }
        self.note(&found, session);
        Ok(Some(self.done(found, flush)))
    }

    /// Says what was done otherwise than recorded, and what was found.
    fn note(&mut self, found: &ReplayResult, session: &Session<'_>) {
        let submitted = found.latencies.len() as u64;
        let is_late = found.late as f64 > LATE_SHARE_MAX * submitted as f64;
        let fit = &self.fit;
        let moved = fit
            .done
            .map(|done| Doubt::AddressesFitted { fit: done, span_bytes: Some(fit.span_bytes) });
        let block_bytes = self.device.info().block_bytes;
        let rounded = fit.rounds.then_some(Doubt::SizesRounded { block_bytes });
        let behind = is_late.then_some(Doubt::ReplayBehind {
            requests: found.late,
            of: submitted,
            longest_seconds: found.latest.as_secs_f64(),
        });
        let waits = match self.pace {
            Pace::Closed(waits) => Some(Doubt::ReplayedWaits { share: waits.share }),
            Pace::Open | Pace::Fast => None,
        };
        let without = [
            (ReplayedOperation::DurableWrite, found.without_fua),
            (ReplayedOperation::Zeroes, found.without_zeroes),
            (ReplayedOperation::Discard, found.without_discards),
        ];
        let without = without.into_iter().filter(|(_, requests)| *requests > 0);
        let without =
            without.map(|(operation, requests)| Doubt::ReplayedWithout { operation, requests });
        let unknown = (found.unknown_bytes > 0).then(|| Doubt::PartlyUnverified {
            share: found.unknown_bytes as f64 / (found.checked_bytes + found.unknown_bytes) as f64,
        });
        let is_woken = !is_virtual(session) && !matches!(self.pace, Pace::Fast);
        let waking = is_woken.then_some(Doubt::WakingCounts);
        self.notes.extend(self.recording.damage.clone());
        let windows = Doubt::ReplayedWindows { windows: windows(self.recording, &found.latencies) };
        self.notes.extend([moved, rounded, behind, waits, unknown, waking].into_iter().flatten());
        self.notes.extend(without);
        self.notes.push(windows);
    }

    fn done(&mut self, found: ReplayResult, flush: Option<Duration>) -> WorkDone {
        let ReplayResult { read, write, other, service, elapsed, .. } = found;
        let all = read.merged(&write).merged(&other);
        WorkDone {
            operations: all.operations,
            read_bytes: read.bytes,
            written_bytes: write.bytes,
            rated_bytes: None,
            elapsed,
            ramp: Ramp::default(),
            flush,
            beside: Traffic::default(),
            latency: all.latency,
            sides: Some(Box::new(Sides { read, write })),
            service: matches!(self.pace, Pace::Open).then(|| Box::new(service)),
            told: None,
            notes: std::mem::take(&mut self.notes),
        }
    }
}

/// Whether a recording changes what is stored.
fn writes(recording: &Recording) -> bool {
    recording.records.iter().any(|record| engine::changes_data(record.op))
}

fn is_virtual(session: &Session<'_>) -> bool {
    session.reactor.clock() == Clock::Virtual
}

/// The latencies of a recording's parts, which are equal shares of its time.
fn windows(recording: &Recording, latencies: &[u64]) -> Vec<ReplayWindow> {
    let span = recording.span().max(1);
    let records = &recording.records;
    let mut from = 0;
    let mut windows = Vec::new();
    for number in 1..=WINDOWS {
        let end = (u128::from(span) * u128::from(number) / u128::from(WINDOWS)) as u64;
        let is_before = |record: &trace::Record| record.time_nanoseconds < end || number == WINDOWS;
        let to = from + records[from..].partition_point(is_before);
        let part = latencies[from..to].iter().copied();
        let mut answered: Vec<u64> = part.filter(|one| *one != NOT_ANSWERED).collect();
        from = to;
        answered.sort_unstable();
        let Some(max) = answered.last() else { continue };
        // The smallest that is not exceeded by more than the rest.
        let at =
            |share: f64| answered[((answered.len() as f64 * share).ceil() as usize).max(1) - 1];
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let begin = (u128::from(span) * u128::from(number - 1) / u128::from(WINDOWS)) as u64;
        windows.push(ReplayWindow {
            seconds: [seconds(begin), seconds(end)],
            requests: answered.len() as u64,
            p50_seconds: seconds(at(0.5)),
            p99_seconds: seconds(at(0.99)),
            max_seconds: seconds(*max),
        });
    }
    windows
}

#[cfg(test)]
mod tests;
