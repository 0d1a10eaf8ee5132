//! What a server does for its arrays beside serving: their metadata, rebuilds, resyncs and scrubs,
//! and for its caches, which write out what is dirty and change their size; on a thread of its own.
//!
//! ```text
//!   control socket ──Order──> thread: a metadata writer and a scheduler for each array ──> members
//!                  <─answer─          │
//!   status <── progress, what happened┘
//! ```

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use array::metadata::{MetadataWriter, RunningArray};
use array::sync::{Ending, Limits, Notice, Outcome, Progress, SyncAction, SyncScheduler};
use block::{Device, Error, ErrorKind};
use cache::{CacheHandle, CacheUpkeep};
use host::facts;
use mdtools::{WorkStatus, device_text};
use reactor::{Reactor, Ringer};
use serde::{Deserialize, Serialize};
use stack::DeadlineWatch;
use words::{Text, statement};

use crate::catalogue;
use crate::protocol::ScrubAction;

/// How many events are remembered.
const EVENTS_MAX: usize = 64;
/// How often something is looked at that rings no bell: paced work goes on by its own timers, this
/// is for what is shown.
const ROUND: Duration = Duration::from_secs(1);

/// Something that happened to an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, in seconds since 1970.
    pub unix_seconds: u64,
    /// The array's name.
    pub array: String,
    /// What, in one line. In JSON `text` is its English, and `parts` has codes and names.
    #[serde(flatten, with = "event_parts")]
    pub text: Text,
}

words::with_parts!(event_parts: Text, "text", "parts");

/// What status shows of the upkeep.
#[derive(Default)]
struct Board {
    /// The job under way, by array.
    progress: Vec<Option<Progress>>,
    /// Whether nothing is under way and nothing is due, by array.
    idle: Vec<bool>,
    /// The job that ended last, by array.
    ended: Vec<Option<WorkStatus>>,
    /// The check or repair that ended last, by array.
    scrubs: Vec<Option<WorkStatus>>,
    events: VecDeque<Event>,
    /// Why upkeep has ended before its time.
    trouble: Option<Text>,
}

impl Board {
    fn note(&mut self, array: &str, text: Text) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(Event {
            unix_seconds: facts::unix_seconds(),
            array: array.to_owned(),
            text,
        });
    }
}

enum Order {
    Scrub(usize, ScrubAction, Sender<Result<(), Error>>),
    /// How fast: the least and the most, where they are to change.
    Speed(usize, [Option<u64>; 2], Sender<Result<Limits, Error>>),
    /// Something was changed; the answer is sent once it has been looked at.
    Look(Sender<()>),
    /// Give a cache another size; the answer is sent once that has ended.
    Resize(usize, u64, Sender<Result<(), Error>>),
    End,
}

/// The upkeep of all arrays of a server. Dropping it ends the thread; what was under way goes on
/// with the next start.
pub(crate) struct Upkeep {
    orders: Sender<Order>,
    ringer: Ringer,
    board: Arc<SharedBoard>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread shows, and a bell for threads that wait for a change.
#[derive(Default)]
struct SharedBoard {
    board: Mutex<Board>,
    changed: Condvar,
}

impl SharedBoard {
    fn of(arrays: usize) -> SharedBoard {
        let board = Board {
            progress: vec![None; arrays],
            idle: vec![true; arrays],
            ended: vec![None; arrays],
            scrubs: vec![None; arrays],
            ..Board::default()
        };
        SharedBoard { board: Mutex::new(board), changed: Condvar::new() }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upkeep {
    /// Begins to keep these arrays up.
    ///
    /// # Errors
    /// What the system says to a thread or a reactor, and members to being opened.
    pub(crate) fn start(
        arrays: &[RunningArray],
        caches: &[CacheHandle],
        deadlines: &[DeadlineWatch],
    ) -> Result<Upkeep, Error> {
        let (orders, inbox) = mpsc::channel();
        let (ready, made) = mpsc::channel::<Result<Ringer, Error>>();
        let board = Arc::new(SharedBoard::of(arrays.len()));
        let (arrays, caches, shared) = (arrays.to_vec(), caches.to_vec(), Arc::clone(&board));
        let deadlines = deadlines.to_vec();
        // The reactor belongs to this thread, so it is made here.
        let open = move || {
            let reactor = Reactor::wall()?;
            let failed = |error| Error::from_io(catalogue::BELL_FOR_UPKEEP, error);
            let ringer = reactor.ringer().map_err(failed)?;
            let mut upkeep = StackUpkeep::open(&arrays, &caches, shared, &reactor)?;
            upkeep.deadlines = deadlines.into_iter().map(|watch| (watch, false)).collect();
            Ok((upkeep, ringer))
        };
        let keep = move || match open() {
            Ok((mut thread, ringer)) => {
                let _ = ready.send(Ok(ringer));
                thread.run(&inbox);
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        };
        let failed = |error| Error::from_io(catalogue::STARTING_UPKEEP, error);
        let thread =
            std::thread::Builder::new().name("upkeep".to_owned()).spawn(keep).map_err(failed)?;
        let ringer = made
            .recv()
            .map_err(|_| Error::new(ErrorKind::Other, catalogue::UPKEEP_ENDED_AT_ONCE))??;
        Ok(Upkeep { orders, ringer, board, thread: Mutex::new(Some(thread)) })
    }

    /// The job under way at an array.
    pub(crate) fn progress(&self, array: usize) -> Option<Progress> {
        self.board.board().progress[array].clone()
    }

    /// The job under way at an array, and whether nothing is under way and nothing is due.
    pub(crate) fn work(&self, array: usize) -> (Option<Progress>, bool) {
        let board = self.board.board();
        (board.progress[array].clone(), board.idle[array])
    }

    /// Waits for a second at most until nothing is under way and nothing is due at an array;
    /// whether that is so.
    pub(crate) fn wait_until_idle(&self, array: usize) -> bool {
        let busy = |board: &mut Board| !board.idle[array] && board.trouble.is_none();
        let waited = self.board.changed.wait_timeout_while(self.board.board(), ROUND, busy);
        let (board, _) = waited.unwrap_or_else(PoisonError::into_inner);
        board.idle[array]
    }

    /// The job that ended last at an array.
    pub(crate) fn last_ended(&self, array: usize) -> Option<WorkStatus> {
        self.board.board().ended[array].clone()
    }

    /// The check or repair that ended last at an array.
    pub(crate) fn last_scrub(&self, array: usize) -> Option<WorkStatus> {
        self.board.board().scrubs[array].clone()
    }

    /// Ends the thread.
    pub(crate) fn end(&self) {
        self.tell(Order::End);
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
    }

    /// What has happened of late, the latest last.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.board.board().events.iter().cloned().collect()
    }

    /// Why nothing is kept up any more, if so.
    pub(crate) fn trouble(&self) -> Option<Text> {
        self.board.board().trouble.clone()
    }

    /// Notes something that was seen.
    pub(crate) fn record(&self, array: &str, text: impl Into<Text>) {
        self.board.board().note(array, text.into());
    }

    /// Notes something that was done from outside, and has what follows from it begun before this
    /// returns.
    pub(crate) fn note(&self, array: &str, text: impl Into<Text>) {
        self.board.board().note(array, text.into());
        let (sender, seen) = mpsc::channel();
        self.tell(Order::Look(sender));
        let _ = seen.recv();
    }

    /// Asks for a scrub, or acts on what is under way.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where nothing is kept up, or upkeep has ended.
    pub(crate) fn scrub(&self, array: usize, action: ScrubAction) -> Result<(), Error> {
        self.ask("arrays", |sender| Order::Scrub(array, action, sender))
    }

    /// Changes how fast members are brought up to date and compared, in bytes of a member per
    /// second: the least while the array has requests and the most while it has none. The limits
    /// from now on.
    ///
    /// # Errors
    /// As [`Upkeep::scrub`], and for rates that make no sense.
    pub(crate) fn set_speed(
        &self,
        array: usize,
        least: Option<u64>,
        most: Option<u64>,
    ) -> Result<Limits, Error> {
        self.ask("arrays", |sender| Order::Speed(array, [least, most], sender))
    }

    /// Gives a cache another size, and waits until it has it.
    ///
    /// # Errors
    /// As [`CacheUpkeep::resize`], and why it could not be done.
    pub(crate) fn resize_cache(&self, cache: usize, size_bytes: u64) -> Result<(), Error> {
        self.ask("caches", |sender| Order::Resize(cache, size_bytes, sender))
    }

    /// Gives an order about `whose`, and waits for its answer.
    fn ask<T>(
        &self,
        whose: &str,
        order: impl FnOnce(Sender<Result<T, Error>>) -> Order,
    ) -> Result<T, Error> {
        let (sender, answer) = mpsc::channel();
        self.tell(order(sender));
        answer.recv().unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Other,
                statement!(catalogue::UPKEEP_HAS_ENDED, whose = whose),
            ))
        })
    }

    fn tell(&self, order: Order) {
        let _ = self.orders.send(order);
        self.ringer.ring();
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.end();
    }
}

/// What is done for one array. The scheduler is polled before the writer, which writes down what it
/// did.
struct ArrayUpkeep {
    name: String,
    running: RunningArray,
    scheduler: Option<SyncScheduler>,
    limits: Limits,
    metadata_writer: Option<MetadataWriter>,
    /// Names of the members that have failed, as was noted last, and the revision of the members'
    /// states that had them.
    failed: Vec<String>,
    seen: Option<u64>,
}

/// What is done for one cache.
struct CacheEntry {
    upkeep: CacheUpkeep,
    /// The command that waits for its new size.
    waiting: Option<Sender<Result<(), Error>>>,
}

impl CacheEntry {
    fn resize(&mut self, size_bytes: u64, answer: Sender<Result<(), Error>>) {
        match self.upkeep.resize(size_bytes) {
            Ok(()) => self.waiting = Some(answer),
            Err(error) => _ = answer.send(Err(error)),
        }
    }

    fn poll(&mut self) {
        if let Some(result) = self.upkeep.poll()
            && let Some(waiting) = self.waiting.take()
        {
            let _ = waiting.send(result);
        }
    }
}

/// What is told of a device that has failed.
pub(crate) fn has_failed(name: &str, cause: Option<&Text>) -> Text {
    statement!(catalogue::DEVICE_HAS_FAILED, name = name, cause = after_colon(cause))
}

/// The same of an array's member, which has a number beside its name.
fn member_has_failed(member: usize, name: &str, cause: Option<&Text>) -> Text {
    statement!(
        catalogue::NUMBERED_HAS_FAILED,
        member = member,
        device = device_text(name),
        cause = after_colon(cause)
    )
}

fn after_colon(cause: Option<&Text>) -> Text {
    cause.map_or_else(Text::default, |cause| Text::from(": ").and(cause))
}

impl ArrayUpkeep {
    /// The members that have failed since this was asked last, each as a line.
    fn new_failures(&mut self) -> Vec<Text> {
        let control = self.running.control();
        let revision = Some(control.revision());
        if std::mem::replace(&mut self.seen, revision) == revision {
            return Vec::new();
        }
        let failed = control.snapshot().faulty();
        let news = failed
            .iter()
            .filter(|(_, name, _)| !self.failed.contains(name))
            .map(|(slot, name, cause)| member_has_failed(*slot, name, cause.as_ref()))
            .collect();
        self.failed = failed.into_iter().map(|(_, name, _)| name).collect();
        news
    }

    fn set_speed(&mut self, least: Option<u64>, most: Option<u64>) -> Result<Limits, Error> {
        let scheduler = self.scheduler.as_mut().ok_or_else(nothing_to_keep_up)?;
        let least_bytes_per_second = least.unwrap_or(self.limits.least_bytes_per_second);
        let most_bytes_per_second = most.unwrap_or(self.limits.most_bytes_per_second);
        if least_bytes_per_second == 0 || least_bytes_per_second > most_bytes_per_second {
            let (least, most) =
                (block::size_text(least_bytes_per_second), block::size_text(most_bytes_per_second));
            return Err(Error::new(
                ErrorKind::Invalid,
                statement!(catalogue::NO_PACE, least = least, most = most),
            ));
        }
        self.limits = Limits { least_bytes_per_second, most_bytes_per_second, ..self.limits };
        scheduler.set_limits(self.limits);
        Ok(self.limits)
    }
}

/// The upkeep of a stack on the virtual clock: its owner polls it on the reactor that the stack's
/// user waits on.
pub(crate) struct PolledUpkeep(StackUpkeep);

impl PolledUpkeep {
    /// Begins to keep these arrays and caches up.
    ///
    /// # Errors
    /// What members say to being opened.
    pub(crate) fn open(
        arrays: &[RunningArray],
        caches: &[CacheHandle],
        reactor: &Reactor,
    ) -> Result<PolledUpkeep, Error> {
        let board = Arc::new(SharedBoard::of(arrays.len()));
        StackUpkeep::open(arrays, caches, board, reactor).map(PolledUpkeep)
    }

    /// Does what is due and never waits.
    pub(crate) fn poll(&mut self) {
        self.0.poll();
    }

    /// Whether nothing is under way at any array, and nothing is due.
    pub(crate) fn is_idle(&self) -> bool {
        let is_idle =
            |array: &ArrayUpkeep| array.scheduler.as_ref().is_none_or(SyncScheduler::is_idle);
        self.0.arrays.iter().all(is_idle)
    }
}

struct StackUpkeep {
    arrays: Vec<ArrayUpkeep>,
    caches: Vec<CacheEntry>,
    /// Members that have to answer in time, and whether one was told to be late.
    deadlines: Vec<(DeadlineWatch, bool)>,
    board: Arc<SharedBoard>,
    reactor: Reactor,
}

impl StackUpkeep {
    fn open(
        arrays: &[RunningArray],
        caches: &[CacheHandle],
        board: Arc<SharedBoard>,
        reactor: &Reactor,
    ) -> Result<StackUpkeep, Error> {
        let array = |running: &RunningArray| {
            let keeps = running.assembly().level.is_redundant() && !running.info().read_only;
            let scheduler =
                keeps.then(|| SyncScheduler::open(running.control(), reactor)).transpose()?;
            let metadata_writer = running.metadata_writer(reactor)?;
            let (name, limits) = (running.assembly().name.clone(), Limits::default());
            Ok(ArrayUpkeep {
                name,
                running: running.clone(),
                scheduler,
                limits,
                metadata_writer,
                failed: Vec::new(),
                seen: None,
            })
        };
        let arrays = arrays.iter().map(array).collect::<Result<Vec<_>, Error>>()?;
        let upkeep = |cache: &CacheHandle| {
            Ok(CacheEntry { upkeep: CacheUpkeep::open(cache, reactor)?, waiting: None })
        };
        let caches = caches.iter().map(upkeep).collect::<Result<Vec<_>, Error>>()?;
        let (deadlines, reactor) = (Vec::new(), reactor.clone());
        Ok(StackUpkeep { arrays, caches, deadlines, board, reactor })
    }

    fn run(&mut self, inbox: &Receiver<Order>) {
        let mut seen: Vec<Box<dyn FnOnce()>> = Vec::new();
        loop {
            for order in inbox.try_iter() {
                match order {
                    Order::Scrub(array, action, answer) => {
                        let done = scrub(self.arrays[array].scheduler.as_mut(), action);
                        seen.push(Box::new(move || _ = answer.send(done)) as Box<dyn FnOnce()>);
                    }
                    Order::Resize(cache, size_bytes, answer) => {
                        self.caches[cache].resize(size_bytes, answer);
                    }
                    Order::Speed(array, [least, most], answer) => {
                        let _ = answer.send(self.arrays[array].set_speed(least, most));
                    }
                    Order::Look(answer) => seen.push(Box::new(move || _ = answer.send(()))),
                    Order::End => return,
                }
            }
            self.poll();
            // What was asked for shows in what is answered.
            seen.drain(..).for_each(|answer| answer());
            if let Err(error) = self.reactor.wait(Some(self.reactor.now() + ROUND)) {
                let text = block::io_text(&error).at(catalogue::NOT_KEPT_UP);
                self.board.board().trouble = Some(text);
                return;
            }
        }
    }

    /// Tells of members that are late, long before they count as failed, and when they answer
    /// again.
    fn look_at_deadlines(&mut self) {
        for (watch, was_late) in &mut self.deadlines {
            let is_late = watch.is_late();
            if std::mem::replace(was_late, is_late) == is_late || watch.failure().is_some() {
                continue;
            }
            let text = match is_late {
                true => watch.late_text(),
                false => Text::from(catalogue::ANSWERS_AGAIN).at(watch.name()),
            };
            let has_it = |array: &&ArrayUpkeep| {
                let names = array.running.control().snapshot().names;
                names.iter().any(|name| device_text(name) == watch.name())
            };
            let array = self.arrays.iter().find(has_it).or(self.arrays.first());
            self.board.board().note(array.map_or("", |array| &array.name), text);
        }
    }

    fn poll(&mut self) {
        self.look_at_deadlines();
        self.caches.iter_mut().for_each(CacheEntry::poll);
        for (number, array) in self.arrays.iter_mut().enumerate() {
            let (mut news, mut ended, mut scrub) = (Vec::new(), None, None);
            while let Some(notice) = array.scheduler.as_mut().and_then(SyncScheduler::poll) {
                news.push(told(&notice));
                if let Notice::Ended(outcome) = notice {
                    let work = WorkStatus {
                        ended_unix_seconds: Some(facts::unix_seconds()),
                        ..WorkStatus::from(&outcome.progress)
                    };
                    let action = &outcome.progress.action;
                    if matches!(action, SyncAction::Check(_) | SyncAction::Repair(_)) {
                        scrub = Some(work.clone());
                    }
                    ended = Some(work);
                }
            }
            if let Some(metadata_writer) = &mut array.metadata_writer {
                metadata_writer.poll();
            }
            let failures = array.new_failures();
            let mut board = self.board.board();
            failures.into_iter().for_each(|text| board.note(&array.name, text));
            news.into_iter().for_each(|text| board.note(&array.name, text));
            board.progress[number] = array.scheduler.as_ref().and_then(SyncScheduler::progress);
            let is_idle = array.scheduler.as_ref().is_none_or(SyncScheduler::is_idle);
            let has_changed = std::mem::replace(&mut board.idle[number], is_idle) != is_idle;
            if ended.is_some() {
                board.ended[number] = ended;
            }
            if scrub.is_some() {
                board.scrubs[number] = scrub;
            }
            drop(board);
            if has_changed {
                self.board.changed.notify_all();
            }
        }
    }
}

fn scrub(scheduler: Option<&mut SyncScheduler>, action: ScrubAction) -> Result<(), Error> {
    let scheduler = scheduler.ok_or_else(nothing_to_keep_up)?;
    match action {
        ScrubAction::Check => scheduler.ask(SyncAction::Check(None))?,
        ScrubAction::Repair => scheduler.ask(SyncAction::Repair(None))?,
        ScrubAction::Resync => scheduler.ask(SyncAction::Resync)?,
        ScrubAction::Pause => scheduler.pause(),
        ScrubAction::Resume => scheduler.resume(),
        ScrubAction::Cancel => scheduler.cancel(),
    }
    Ok(())
}

fn nothing_to_keep_up() -> Error {
    Error::new(ErrorKind::Invalid, catalogue::NOTHING_TO_SCRUB)
}

fn told(notice: &Notice) -> Text {
    match notice {
        Notice::SpareAssigned { member, name } => {
            let name = device_text(name);
            statement!(catalogue::SPARE_ASSIGNED, name = name, member = *member)
        }
        Notice::Began(action) => statement!(catalogue::WORK_BEGAN, work = work_text(action)),
        Notice::Ended(Outcome { progress, ending }) => {
            let work = work_text(&progress.action);
            let text = match ending {
                Ending::Done => statement!(catalogue::WORK_DONE, work = work),
                Ending::Cancelled => statement!(catalogue::WORK_CANCELLED, work = work),
                Ending::Failed(error) => {
                    statement!(catalogue::WORK_FAILED, work = work, why = Text::from(error))
                }
            };
            let found = WorkStatus::from(progress).found();
            found.into_iter().fold(text, |text, found| text.and("; ").and(found))
        }
    }
}

/// What a sync action is called.
fn work_text(action: &SyncAction) -> Text {
    match action {
        SyncAction::Rebuild { member } => statement!(catalogue::WORK_REBUILD, member = *member),
        SyncAction::Replace { member } => statement!(catalogue::WORK_REPLACEMENT, member = *member),
        SyncAction::Resync => catalogue::WORK_RESYNC.into(),
        SyncAction::Check(_) => catalogue::WORK_CHECK.into(),
        SyncAction::Repair(_) => catalogue::WORK_REPAIR.into(),
    }
}
