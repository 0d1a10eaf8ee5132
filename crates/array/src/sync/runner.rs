//! One sync action at a time, done in ranges, a few of them in flight.
//!
//! ```text
//!   todo ──issue──> in flight ──done──> finished ──flush──> noted in the array's health:
//!    ^                  |                                   a checkpoint
//!    └── two halves ────┘ failed; one block that fails is lost, and named
//! ```

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use block::{Channel, Error, ErrorKind, Op, Reactor, Request, Time};
use reactor::Source;

use super::findings::Findings;
use crate::catalogue;
use crate::execute::ArrayChannel;
use crate::health::Health;
use crate::member::{Member, MemberState};
use crate::part::{SyncRange, SyncTask};
use crate::ranges::Ranges;
use crate::shared::ArrayCore;
use words::{Text, statement};

/// The tag of the flush before a checkpoint.
const FLUSH: u64 = u64::MAX;
/// A checkpoint is made after this share of the whole, or this time.
const CHECKPOINT_SHARE: u64 = 16;
const CHECKPOINT_TIME: Duration = Duration::from_secs(30);
/// For so long after a request of the host sync actions keep to the lower rate.
const BUSY_TIME: Duration = Duration::from_millis(100);
/// The rate is that of the last so many samples, so far apart.
const SAMPLES: usize = 10;
const SAMPLE_TIME: Duration = Duration::from_secs(3);

/// A sync action, as in md's `sync_action`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncAction {
    /// Recover what a member lacks.
    Rebuild {
        /// Which member.
        member: usize,
    },
    /// Copy a member to its replacement.
    Replace {
        /// Which member.
        member: usize,
    },
    /// Make redundancy true where it may not be.
    Resync,
    /// Read everything, or a range, and count what does not agree, in bytes of
    /// [`Control::sync_bytes`](super::Control::sync_bytes).
    Check(Option<Range<u64>>),
    /// As a check, and make it agree.
    Repair(Option<Range<u64>>),
}

impl From<&SyncAction> for Text {
    fn from(action: &SyncAction) -> Text {
        match action {
            SyncAction::Rebuild { member } => statement!(catalogue::REBUILD_OF, member = *member),
            SyncAction::Replace { member } => {
                statement!(catalogue::REPLACEMENT_OF, member = *member)
            }
            SyncAction::Resync => catalogue::RESYNC.into(),
            SyncAction::Check(_) => catalogue::CHECK.into(),
            SyncAction::Repair(_) => catalogue::REPAIR.into(),
        }
    }
}

impl fmt::Display for SyncAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Text::from(self))
    }
}

/// How fast sync actions go, and in what portions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// While the host has requests, in bytes of a member per second. A sync action never goes
    /// slower by itself.
    pub least_bytes_per_second: u64,
    /// While the host has none.
    pub most_bytes_per_second: u64,
    /// How long one range is, in bytes.
    pub range_bytes: u64,
    /// How many ranges are in flight at a time at most.
    pub ranges_in_flight: u32,
    /// So many bytes are issued before the rate is looked at: a disk that has other work to do goes
    /// there and back once for all of them.
    pub burst_bytes: u64,
}

impl Default for Limits {
    /// The rates are md's defaults. Short ranges, many of them in flight, go through members in
    /// order: while one is written to the next are read from the others.
    fn default() -> Limits {
        Limits {
            least_bytes_per_second: 1000 << 10,
            most_bytes_per_second: 200_000 << 10,
            range_bytes: 128 << 10,
            ranges_in_flight: RANGES_MAX,
            burst_bytes: 1 << 20,
        }
    }
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub action: SyncAction,
    /// In bytes of a member, or of the array for checks and resyncs of RAID 10.
    pub done_bytes: u64,
    /// All of it.
    pub total_bytes: u64,
    /// What did not agree, and which members are wrong.
    pub findings: Findings,
    /// What could not be read nor made up for. In a member that was rebuilt these ranges are bad
    /// blocks until they are written.
    pub lost: Ranges,
    /// Of late.
    pub bytes_per_second: u64,
    /// What the rest takes at this rate.
    pub remaining: Option<Duration>,
    /// It has been told to wait.
    pub paused: bool,
}

/// How a job ended.
#[derive(Debug)]
pub struct Outcome {
    /// What it came to.
    pub progress: Progress,
    /// How.
    pub ending: Ending,
}

/// How a job ended.
#[derive(Debug)]
pub enum Ending {
    /// All of it is done.
    Done,
    /// It was told to stop.
    Cancelled,
    /// It cannot go on.
    Failed(Error),
}

/// What there is to do of an action.
struct Extent {
    /// The member that is rebuilt or replaced.
    target: Option<Arc<Member>>,
    todo: Ranges,
    /// With what an earlier run has done.
    total_bytes: u64,
}

struct Job {
    action: SyncAction,
    /// The member that is rebuilt or replaced.
    target: Option<Arc<Member>>,
    todo: Ranges,
    /// What has failed, to be done in smaller portions: the last comes first.
    again: Vec<Range<u64>>,
    in_flight: HashMap<u64, Range<u64>>,
    /// Done, but perhaps not durable; and what the flush under way covers.
    finished: Ranges,
    flushing: Option<Ranges>,
    last_checkpoint: Time,
    done_bytes: u64,
    total_bytes: u64,
    findings: Findings,
    lost: Ranges,
    samples: VecDeque<(Time, u64)>,
    /// The job ends so once nothing is in flight.
    end: Option<Ending>,
}

impl Job {
    fn task(&self) -> SyncTask {
        match self.action {
            SyncAction::Rebuild { member } | SyncAction::Replace { member } => {
                SyncTask::Recover { member }
            }
            SyncAction::Resync | SyncAction::Repair(_) => SyncTask::Repair,
            SyncAction::Check(_) => SyncTask::Check,
        }
    }

    /// The next range of at most `most` bytes.
    fn take_next(&mut self, most: u64) -> Option<Range<u64>> {
        if let Some(range) = self.again.pop() {
            return Some(range);
        }
        let range = self.todo.iter().next()?;
        let range = range.start..range.end.min(range.start + most);
        self.todo.remove(&range);
        Some(range)
    }

    /// Where a resync is done redundancy is not true yet: only how much of it is said.
    fn note(&mut self, found: &Findings) {
        if self.action == SyncAction::Resync {
            self.findings.differing_sectors += found.differing_sectors;
        } else {
            self.findings.merge(found);
        }
    }

    fn is_all_done(&self) -> bool {
        self.todo.is_empty() && self.again.is_empty() && self.in_flight.is_empty()
    }

    fn note_sample(&mut self, now: Time) {
        if self.samples.back().is_none_or(|(time, _)| now.since(*time) >= SAMPLE_TIME) {
            self.samples.push_back((now, self.done_bytes));
            if self.samples.len() > SAMPLES {
                self.samples.pop_front();
            }
        }
    }

    fn progress(&self, now: Time, paused: bool) -> Progress {
        let (since, before) = self.samples.front().copied().unwrap_or((now, self.done_bytes));
        let (seconds, bytes) = (now.since(since).as_secs_f64(), (self.done_bytes - before) as f64);
        let rate = if seconds > 0.0 { bytes / seconds } else { 0.0 };
        let left = (self.total_bytes - self.done_bytes) as f64;
        Progress {
            action: self.action.clone(),
            done_bytes: self.done_bytes,
            total_bytes: self.total_bytes,
            findings: self.findings.clone(),
            lost: self.lost.clone(),
            bytes_per_second: rate as u64,
            remaining: if rate > 0.0 && !paused {
                Duration::try_from_secs_f64(left / rate).ok()
            } else {
                None
            },
            paused,
        }
    }
}

/// Runs sync actions on one reactor, whose owner polls it.
pub struct SyncRunner {
    shared: Arc<ArrayCore>,
    channel: ArrayChannel,
    source: Source,
    limits: Limits,
    job: Option<Job>,
    paused: bool,
    next_tag: u64,
    /// What may still be issued of a burst, in bytes.
    burst_left: u64,
    /// No burst begins before: while the host has requests, and while it has none.
    next_busy: Time,
    next_idle: Time,
    /// What the timer is set to.
    timer: Option<Time>,
    busy_until: Time,
    /// What was seen of the host's requests.
    host_seen: u32,
    done: Vec<block::Completion>,
}

/// More ranges in flight would hold more rows than the host should wait for.
const RANGES_MAX: u32 = 16;

impl SyncRunner {
    pub(crate) fn open(shared: &Arc<ArrayCore>, reactor: &Reactor) -> Result<SyncRunner, Error> {
        Ok(SyncRunner {
            shared: Arc::clone(shared),
            channel: ArrayChannel::open(shared, RANGES_MAX + 1, reactor)?.for_sync(),
            source: reactor.source(),
            limits: Limits::default(),
            job: None,
            paused: false,
            next_tag: 0,
            burst_left: 0,
            next_busy: Time::ZERO,
            next_idle: Time::ZERO,
            timer: None,
            busy_until: Time::ZERO,
            host_seen: 0,
            done: Vec::new(),
        })
    }

    /// Changes the pace, of a job under way too. Rates, portions and numbers of 0 count as 1.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.go_on_from(self.now());
    }

    /// Begins a job.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when one is under way, [`ErrorKind::Invalid`] when there is nothing of
    /// the kind to do.
    pub fn start(&mut self, action: SyncAction) -> Result<(), Error> {
        if let Some(job) = &self.job {
            return Err(Error::new(
                ErrorKind::Busy,
                statement!(catalogue::WORK_UNDER_WAY, work = &job.action),
            ));
        }
        let Extent { target, todo, total_bytes } = self
            .extent_of(&action)
            .map_err(|reason| Error::new(ErrorKind::Invalid, reason.at(&action)))?;
        let now = self.now();
        self.go_on_from(now);
        // What was asked for before the job says nothing of now.
        let _ = self.shared.host.is_there(&mut self.host_seen);
        self.job = Some(Job {
            action,
            target,
            // What an earlier run has done already counts.
            done_bytes: total_bytes - todo.bytes().min(total_bytes),
            todo,
            again: Vec::new(),
            in_flight: HashMap::new(),
            finished: Ranges::none(),
            flushing: None,
            last_checkpoint: now,
            total_bytes,
            findings: Findings::default(),
            lost: Ranges::none(),
            samples: VecDeque::new(),
            end: None,
        });
        Ok(())
    }

    /// What there is to do of an action, or why there is nothing.
    fn extent_of(&self, action: &SyncAction) -> Result<Extent, Text> {
        let ArrayCore { health, level, info, traits, .. } = &*self.shared;
        if !traits.is_redundant {
            return Err(catalogue::NO_REDUNDANCY.into());
        }
        let members = health.snapshot().members;
        let all_of = |target, todo: Ranges, total_bytes| Extent { target, todo, total_bytes };
        Ok(match action {
            SyncAction::Rebuild { member } | SyncAction::Replace { member }
                if *member >= members.len() =>
            {
                return Err(catalogue::NO_SUCH_MEMBER.into());
            }
            SyncAction::Rebuild { member } => {
                let target = health
                    .member_in(*member)
                    .filter(|_| matches!(members[*member], MemberState::Recovering { .. }))
                    .ok_or(catalogue::LACKS_NOTHING)?;
                if !health.is_settled(*member) {
                    return Err(catalogue::BEING_FOUND_OUT.into());
                }
                all_of(Some(target), health.unrecovered(*member), level.member_bytes())
            }
            SyncAction::Replace { member } => {
                let target = health.member_in(*member).filter(|target| target.replacing.is_some());
                let target = target.ok_or(catalogue::NO_REPLACEMENT)?;
                let bytes = level.member_bytes();
                all_of(Some(target), Ranges::one(0..bytes), bytes)
            }
            SyncAction::Resync => all_of(None, health.resync_ranges(), level.sync_bytes()),
            SyncAction::Check(range) | SyncAction::Repair(range) => {
                let all = 0..level.sync_bytes();
                let range = range.clone().unwrap_or_else(|| all.clone());
                let block = u64::from(info.block_bytes);
                if range.is_empty()
                    || range.end > all.end
                    || !(range.start | range.end).is_multiple_of(block)
                {
                    return Err(statement!(
                        catalogue::RANGE_OF_BLOCKS,
                        block = block,
                        end = all.end
                    ));
                }
                let bytes = range.end - range.start;
                all_of(None, Ranges::one(range), bytes)
            }
        })
    }

    /// Issues nothing more for the time being.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Goes on.
    pub fn resume(&mut self) {
        self.paused = false;
    }

    /// Ends the job early; what is in flight comes to its end first. What has been done stays done.
    pub fn cancel(&mut self) {
        if let Some(job) = &mut self.job {
            job.end.get_or_insert(Ending::Cancelled);
        }
    }

    /// How far the job is, if there is one.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        self.job.as_ref().map(|job| job.progress(self.now(), self.paused))
    }

    fn now(&self) -> Time {
        self.source.reactor().now()
    }

    fn health(&self) -> &Health {
        &self.shared.health
    }

    /// Goes as far as it goes without waiting; the reactor wakes the owner when there is more to
    /// do. A job that has ended is handed out once.
    pub fn poll(&mut self) -> Option<Outcome> {
        while self.source.take().is_some() {
            self.timer = None;
        }
        let mut done = std::mem::take(&mut self.done);
        loop {
            self.channel.poll(&mut done);
            let found = self.channel.take_findings();
            let mut job = self.job.take()?;
            job.note(&found);
            for completion in done.drain(..) {
                if completion.tag == FLUSH {
                    self.end_flush(&mut job, completion.result);
                } else {
                    self.end_range(&mut job, completion.tag, completion.result);
                }
            }
            self.check(&mut job);
            let before = self.channel.in_flight();
            self.issue(&mut job);
            self.checkpoint(&mut job);
            let now = self.now();
            job.note_sample(now);
            if job.in_flight.is_empty()
                && job.flushing.is_none()
                && let Some(ending) = job.end.take()
            {
                self.done = done;
                return Some(Outcome { progress: job.progress(now, false), ending });
            }
            self.job = Some(job);
            if self.channel.in_flight() == before {
                self.done = done;
                return None;
            }
        }
    }

    /// Without a job: lets what is idle below go on with what is its own. False where there is a
    /// job.
    pub(super) fn poll_idle(&mut self) -> bool {
        if self.job.is_some() {
            return false;
        }
        while self.source.take().is_some() {
            self.timer = None;
        }
        self.channel.poll(&mut self.done);
        self.done.clear();
        true
    }

    /// Whether the job still makes sense.
    fn check(&self, job: &mut Job) {
        if job.action == SyncAction::Resync
            && !job.todo.is_empty()
            && self.health().resync_ranges().is_empty()
        {
            job.end.get_or_insert(Ending::Cancelled);
        }
        let (Some(target), SyncAction::Rebuild { member } | SyncAction::Replace { member }) =
            (&job.target, &job.action)
        else {
            return;
        };
        let failed =
            |what: Text| Some(Ending::Failed(Error::new(ErrorKind::Gone, what.at(&job.action))));
        if job.end.is_some() {
            return;
        }
        if !self.health().member_in(*member).is_some_and(|present| Arc::ptr_eq(&present, target)) {
            job.end = failed(catalogue::FAILED_MEANWHILE.into());
        } else if let Some(replacing) =
            target.replacing.as_ref().filter(|replacing| replacing.has_failed())
        {
            self.health().end_replacing(*member, target, Some(Arc::clone(replacing.old())));
            job.end = failed(statement!(
                catalogue::TARGET_FAILED,
                target = &replacing.replacement().name
            ));
        }
    }

    fn end_range(&mut self, job: &mut Job, tag: u64, result: Result<(), Error>) {
        let range = job.in_flight.remove(&tag).expect("a range is in flight");
        let Err(error) = result else {
            job.done_bytes += range.end - range.start;
            job.finished.add(range);
            return;
        };
        self.check(job);
        if job.end.is_some() {
            return;
        }
        let snapshot = self.health().snapshot();
        let missing = snapshot.absent().union(&snapshot.recovering());
        if self.shared.level.holds_all(&missing).is_err() {
            job.end = Some(Ending::Failed(error.at(&job.action)));
            return;
        }
        // Something in there cannot be read: find out what.
        let block = u64::from(self.shared.info.block_bytes);
        let blocks = (range.end - range.start) / block;
        if blocks > 1 {
            let middle = range.start + blocks / 2 * block;
            job.again.push(middle..range.end);
            job.again.push(range.start..middle);
            return;
        }
        job.done_bytes += block;
        if let Some(target) = &job.target {
            let target =
                target.replacing.as_ref().map_or(target, |replacing| replacing.replacement());
            if let Some(bad_blocks) = &target.bad_blocks {
                bad_blocks.add(range.start + target.data_offset..range.end + target.data_offset);
            }
        }
        job.finished.add(range.clone());
        job.lost.add(range);
    }

    /// What was issued before counts no more.
    fn go_on_from(&mut self, now: Time) {
        (self.burst_left, self.next_busy, self.next_idle) = (0, now, now);
    }

    fn issue(&mut self, job: &mut Job) {
        let now = self.now();
        while !self.paused
            && job.end.is_none()
            && job.in_flight.len() < self.limits.ranges_in_flight.clamp(1, RANGES_MAX) as usize
        {
            if self.shared.host.is_there(&mut self.host_seen) {
                self.busy_until = now + BUSY_TIME;
            }
            let is_busy = now < self.busy_until;
            let next = if is_busy { self.next_busy } else { self.next_idle };
            if self.burst_left == 0 && now < next {
                // The host may have stopped by then.
                let look = if is_busy { next.min(self.busy_until) } else { next };
                if !job.is_all_done() && self.timer.is_none_or(|timer| timer > look) {
                    self.source.at(look, 0);
                    self.timer = Some(look);
                }
                return;
            }
            let block = u64::from(self.shared.info.block_bytes);
            let most = (self.limits.range_bytes - self.limits.range_bytes % block).max(block);
            let Some(range) = job.take_next(most) else { return };
            let length = range.end - range.start;
            if self.burst_left == 0 {
                self.burst_left = self.limits.burst_bytes;
            }
            self.burst_left = self.burst_left.saturating_sub(length);
            let Limits { least_bytes_per_second: least, most_bytes_per_second: most, .. } =
                self.limits;
            self.next_busy =
                self.next_busy.max(now) + time_of(length, if is_busy { least } else { most });
            self.next_idle = self.next_idle.max(now) + time_of(length, most);
            let tag = self.next_tag;
            self.next_tag = (self.next_tag + 1) % FLUSH;
            self.channel
                .submit_sync(tag, SyncRange { task: job.task(), offset: range.start, length });
            job.in_flight.insert(tag, range);
        }
    }

    /// Flushes when it is time to, so that what is noted as done is durable.
    fn checkpoint(&mut self, job: &mut Job) {
        if job.flushing.is_some() || job.end.is_some() {
            return;
        }
        let all_done = job.is_all_done();
        let keeps = matches!(job.action, SyncAction::Rebuild { .. } | SyncAction::Resync);
        let due = !job.finished.is_empty()
            && (job.finished.bytes() >= job.total_bytes / CHECKPOINT_SHARE
                || self.now().since(job.last_checkpoint) >= CHECKPOINT_TIME);
        if all_done && matches!(job.action, SyncAction::Check(_)) {
            job.end = Some(Ending::Done);
        } else if all_done || (keeps && due) {
            job.flushing = Some(std::mem::take(&mut job.finished));
            self.channel.submit(Request::new(FLUSH, Op::Flush));
        }
    }

    fn end_flush(&mut self, job: &mut Job, result: Result<(), Error>) {
        let covered = job.flushing.take().expect("a flush is under way");
        job.last_checkpoint = self.now();
        if let Err(error) = result {
            job.end.get_or_insert_with(|| {
                Ending::Failed(error.at(catalogue::FLUSHING).at(&job.action))
            });
            return;
        }
        let health = self.health();
        match (&job.action, &job.target) {
            (SyncAction::Rebuild { member }, Some(target)) => {
                covered.iter().for_each(|range| health.recovered(*member, target, &range));
            }
            (SyncAction::Resync, _) => covered.iter().for_each(|range| health.resynced(&range)),
            _ => (),
        }
        if !job.is_all_done() || !job.finished.is_empty() || job.end.is_some() {
            return;
        }
        self.check(job);
        if job.end.is_some() {
            return;
        }
        match (&job.action, &job.target) {
            (SyncAction::Rebuild { member }, Some(target)) => {
                self.health().in_sync(*member, target);
            }
            (SyncAction::Replace { member }, Some(target)) => {
                self.health().end_replacing(*member, target, None);
            }
            _ => (),
        }
        job.end = Some(Ending::Done);
    }
}

/// How long so many bytes take at a rate in bytes per second.
fn time_of(bytes: u64, rate: u64) -> Duration {
    let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}
