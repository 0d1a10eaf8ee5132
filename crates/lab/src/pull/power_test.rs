//! A whole test: recordings, cuts, and what is left of each.

use super::catalogue;
use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use guest::Processor;
use host::Error;
use host::mount::check_mount_options;
use pull::{Cut, History, NoVerdict, Policy, hot_cuts, uniform_cuts};
use reactor::derive_seed;

use super::ground::{MountHost, Site};
use super::options::Options;
use super::outcome::{Outcome, Samples};
use super::recording::{Recording, import, record, write_log_writes};
use super::state::{StateOrigin, States, origins};
use super::worker::Program;
use words::{in_language, language, say, statement};

/// Runs the test until its end, or until `stop` is set: then what is under way is given up.
///
/// # Errors
/// What kept it from being recorded, or a state from being made. What a state showed is no error.
pub fn run(
    options: &Options,
    ground: &MountHost,
    program: &Program,
    tell: &mut dyn FnMut(&str),
    stop: &Arc<AtomicBool>,
) -> Result<Outcome, Error> {
    if matches!(ground, MountHost::Host(_)) {
        options.file_system.check_mountable()?;
    }
    options.file_system.make_words(options.make_options.as_deref().unwrap_or_default())?;
    check_mount_options(Some(&options.file_system), options.mount_options.as_deref())?;
    let mut parts = side_by_side(options, (ground, stop), program, tell)?;
    parts.sort_unstable_by_key(|part| part.place);
    let mut outcome = Outcome::default();
    let mut samples = [Samples::default(), Samples::default()];
    for part in parts {
        outcome.append(part.outcome);
        samples[usize::from(part.place.is_hunt)].append(part.sample);
    }
    outcome.interrupted = stop.load(Ordering::Relaxed);
    if let Some((count, why)) = never_judged(&samples).filter(|_| !outcome.interrupted) {
        return Err(Error::failed(statement!(
            catalogue::CHECK_GAVE_NONE,
            count = count,
            why = why.to_string()
        )));
    }
    let [figure, hunt] = samples;
    (outcome.figure, outcome.hunt) = (figure.ended(), hunt.ended());
    Ok(outcome)
}

/// So many states are judged by one guest, one after another: as many however many processors
/// there are, so that what a guest has seen before a state is always the same.
const BATCH_STATES: usize = 50;

/// Where what was done belongs among all of it: the order in which it is put together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OutcomeOrder {
    recording: u64,
    is_hunt: bool,
    batch: usize,
}

/// What became of a recording, without states, or of a batch of its states.
struct Part {
    place: OutcomeOrder,
    outcome: Outcome,
    sample: Samples,
}

/// States of a recording that one guest judges.
struct Batch {
    place: OutcomeOrder,
    recording: Arc<Recording>,
    /// Before the work began.
    history: Arc<History>,
    origins: Vec<StateOrigin>,
    /// How many there are before them in their sample, and in all of it.
    before: (usize, usize),
}

/// What there is to do.
#[derive(Default)]
struct Queue {
    /// The number of the next recording that is to be made.
    next: u64,
    /// How many are being made: batches will come of them.
    recording: usize,
    batches: VecDeque<Batch>,
    /// Nothing more is begun.
    is_over: bool,
}

/// Something to do.
enum Item {
    Record(u64),
    Judge(Batch),
}

/// What one test shares among its threads.
struct Test<'a> {
    options: &'a Options,
    ground: &'a MountHost,
    program: &'a Program,
    stop: &'a Arc<AtomicBool>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// Makes the recordings and judges their states, in guests one on each processor. A batch of
/// states is judged by a guest of its own, whatever else goes on: they come out the same.
fn side_by_side(
    options: &Options,
    (ground, stop): (&MountHost, &Arc<AtomicBool>),
    program: &Program,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Part>, Error> {
    let threads = match ground {
        // There is one place for mounts.
        MountHost::Host(_) => 1,
        MountHost::Guest(_) => std::thread::available_parallelism().map_or(1, NonZero::get),
    };
    let queue = Mutex::default();
    let test = &Test { options, ground, program, stop, queue, changed: Condvar::new() };
    let (sender, told) = mpsc::channel();
    let reader = language();
    std::thread::scope(|scope| {
        let start = |number| {
            let processor = match threads {
                1 => Processor::Same,
                _ => Processor::Number(number),
            };
            let sender = sender.clone();
            scope.spawn(move || in_language(reader, || test.work(processor, &sender)))
        };
        let threads: Vec<_> = (0..threads).map(start).collect();
        drop(sender);
        told.iter().for_each(|text| tell(&text));
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(all)
    })
}

/// A recording that is being made. Dropping it says that it is no more, however it ended.
struct UnderWay<'a>(&'a Test<'a>);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.queue().recording -= 1;
        self.0.changed.notify_all();
    }
}

impl Test<'_> {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Does what there is to do until there is nothing more.
    fn work(&self, processor: Processor, sender: &Sender<String>) -> Result<Vec<Part>, Error> {
        let site = Site { ground: self.ground, stop: self.stop, processor };
        let mut tell = |text: &str| {
            // Who listens no more has ended the test.
            let _ = sender.send(text.to_owned());
        };
        let mut parts = Vec::new();
        while let Some(item) = self.next_item() {
            let done = match item {
                Item::Record(number) => {
                    let _under_way = UnderWay(self);
                    self.record(site, number, &mut tell).map(|(part, batches)| {
                        self.queue().batches.extend(batches);
                        part
                    })
                }
                Item::Judge(batch) => self.judge(site, batch, &mut tell),
            };
            self.queue().is_over |= done.is_err();
            self.changed.notify_all();
            parts.push(done?);
        }
        Ok(parts)
    }

    /// The next thing to do: states before further recordings, which stay in memory as long as
    /// theirs are not judged.
    fn next_item(&self) -> Option<Item> {
        let mut queue = self.queue();
        loop {
            if queue.is_over || self.is_over() {
                return None;
            }
            if let Some(batch) = queue.batches.pop_front() {
                return Some(Item::Judge(batch));
            }
            if queue.next < u64::from(self.options.recordings.max(1)) {
                (queue.next, queue.recording) = (queue.next + 1, queue.recording + 1);
                return Some(Item::Record(queue.next - 1));
            }
            if queue.recording == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Makes a recording, and says which states of it there are to be judged; none where the end
    /// was asked for meanwhile.
    fn record(
        &self,
        site: Site<'_>,
        number: u64,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(Part, Vec<Batch>), Error> {
        let options = self.options;
        let count = u64::from(options.recordings.max(1));
        let place = OutcomeOrder { recording: number, is_hunt: false, batch: 0 };
        let mut part = Part { place, outcome: Outcome::default(), sample: Samples::default() };
        tell(&say!(catalogue::TELL_RECORDING, number = number + 1, count = count));
        let recorded = match &options.import {
            Some(source) => import(options, source),
            None => record(options, site, self.program, number),
        };
        let recording = match recorded {
            Err(_) if self.is_over() => return Ok((part, Vec::new())),
            recording => Arc::new(recording?),
        };
        part.outcome.add(&recording);
        if let (0, Some(path)) = (number, &options.log_writes) {
            write_log_writes(&recording.log, path)?;
        }
        let up_to = |number: u64, all: u32| (number * u64::from(all) / count) as u32;
        let share = |all: u32| up_to(number + 1, all) - up_to(number, all);
        let (seed, between) = (derive_seed(options.seed, "cuts", number), recording.between);
        let log = &recording.log;
        let figure = uniform_cuts(log, between, share(options.pulls), seed);
        let hunt = hot_cuts(log, between, share(options.hunt), seed);
        if options.import.is_some() {
            self.check_whole(site, &recording)?;
        }
        let mut batches = Vec::new();
        for (cuts, is_hunt) in [(figure, false), (hunt, true)] {
            let all = origins(options, number, &cuts, is_hunt);
            let Some(first) = all.first() else { continue };
            let mut history = History::new(Arc::clone(log), options.fault(), Some(first.unit));
            history.advance(Cut::behind(log, between.0))?;
            let history = Arc::new(history);
            for (origins, batch) in all.chunks(BATCH_STATES).zip(1..) {
                batches.push(Batch {
                    place: OutcomeOrder { recording: number, is_hunt, batch },
                    recording: Arc::clone(&recording),
                    history: Arc::clone(&history),
                    origins: origins.to_vec(),
                    before: ((batch - 1) * BATCH_STATES, all.len()),
                });
            }
        }
        Ok((part, batches))
    }

    /// Whether the check of the user's has nothing to say of the state at the end of an imported
    /// log, where nothing is lost: else its verdicts on others would say nothing.
    fn check_whole(&self, site: Site<'_>, recording: &Recording) -> Result<(), Error> {
        let (log, unit) = (&recording.log, 512);
        let cut = Cut::behind(log, recording.between.1);
        let made = StateOrigin { cut, policy: Policy::KeepAll, seed: 0, unit };
        let mut history = History::new(Arc::clone(log), self.options.fault(), Some(unit));
        let mut states = States::new(self.options, site, self.program, recording, 0);
        let judgement = states.judge(&mut history, made)?;
        states.end_worker();
        let broken = judgement.findings.as_ref().map_or(0, pull::Findings::broken_count);
        let why = match (&judgement.lost_for_good, judgement.unjudged, broken) {
            (Some(why), ..) => why.clone(),
            (_, Some(why), _) => why.into(),
            (_, _, 0) => return Ok(()),
            _ => statement!(catalogue::PROMISES_ARE_BROKEN, count = broken),
        };
        Err(Error::failed(statement!(catalogue::WRONG_AT_END, why = why)))
    }

    /// Judges a batch of states, or as much of it as was done until the end was asked for.
    fn judge(
        &self,
        site: Site<'_>,
        batch: Batch,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Part, Error> {
        let Batch { place, recording, history, origins, before: (before, all) } = batch;
        let mut part = Part { place, outcome: Outcome::default(), sample: Samples::default() };
        let number = place.recording;
        let mut states = States::new(self.options, site, self.program, &recording, number);
        let label = match place.is_hunt {
            true => catalogue::SAMPLE_HUNT,
            false => catalogue::SAMPLE_FIGURE,
        };
        let mut tell = |index: usize| {
            let state = before + index;
            tell(&say!(
                catalogue::TELL_STATE,
                number = number + 1,
                sample = label.template(),
                state = state,
                all = all
            ));
        };
        let (sample, kept) = (&mut part.sample, &mut part.outcome.kept);
        let pulled = states.pull(&origins, history.fork(), sample, kept, &mut tell);
        states.end_worker();
        match pulled {
            Err(error) if !self.is_over() => Err(error),
            _ => Ok(part),
        }
    }
}

/// How many states of a sample there are of which none was judged, and why.
fn never_judged(samples: &[Samples]) -> Option<(u64, NoVerdict)> {
    let none = samples.iter().find(|sample| sample.states.is_empty() && sample.unjudged > 0)?;
    Some((none.unjudged, *none.unjudged_why.first()?))
}
