//! A whole test: recordings, cuts, and what is left of each.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};

use guest::Processor;
use host::Error;
use host::mount::check_mount_options;
use pull::{NoVerdict, hot_cuts, uniform_cuts};
use reactor::derive_seed;

use super::ground::{MountHost, Site};
use super::options::Options;
use super::outcome::{Outcome, Samples};
use super::recording::{record, write_log_writes};
use super::state::States;
use super::worker::Program;

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
    parts.sort_unstable_by_key(|(number, _)| *number);
    let mut outcome = Outcome::default();
    let mut samples = [Samples::default(), Samples::default()];
    for (_, part) in parts {
        outcome.append(part.outcome);
        samples.iter_mut().zip(part.samples).for_each(|(all, one)| all.append(one));
    }
    outcome.interrupted = stop.load(Ordering::Relaxed);
    if let Some((count, why)) = never_judged(&samples).filter(|_| !outcome.interrupted) {
        return Err(Error::failed(format!(
            "--check gave no verdict on any of {count} states: {why}"
        )));
    }
    let [figure, hunt] = samples;
    (outcome.figure, outcome.hunt) = (figure.ended(), hunt.ended());
    Ok(outcome)
}

/// What became of one recording.
#[derive(Default)]
struct Part {
    outcome: Outcome,
    samples: [Samples; 2],
}

/// Makes the recordings and judges their states, in guests one on each processor. A recording is
/// judged by one guest after the other, whatever else goes on: its states come out the same.
fn side_by_side(
    options: &Options,
    (ground, stop): (&MountHost, &Arc<AtomicBool>),
    program: &Program,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<(u64, Part)>, Error> {
    let count = u64::from(options.recordings.max(1));
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = match ground {
        // There is one place for mounts.
        MountHost::Host(_) => 1,
        MountHost::Guest(_) => processors.min(count as usize),
    };
    let next = AtomicU64::new(0);
    let has_failed = AtomicBool::new(false);
    let (sender, told) = mpsc::channel();
    let (next, has_failed) = (&next, &has_failed);
    let work = |processor: Processor, sender: &Sender<String>| -> Result<Vec<_>, Error> {
        let site = Site { ground, stop, processor };
        let mut parts = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let is_over = stop.load(Ordering::Relaxed) || has_failed.load(Ordering::Relaxed);
            if number >= count || is_over {
                return Ok(parts);
            }
            let mut tell = |text: &str| {
                // Who listens no more has ended the test.
                let _ = sender.send(text.to_owned());
            };
            let part = recorded_and_judged(options, site, program, number, &mut tell);
            has_failed.fetch_or(part.is_err(), Ordering::Relaxed);
            parts.push((number, part?));
        }
    };
    std::thread::scope(|scope| {
        let start = |number| {
            let processor = match threads {
                1 => Processor::Same,
                _ => Processor::Number(number),
            };
            let (work, sender) = (&work, sender.clone());
            scope.spawn(move || work(processor, &sender))
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

/// A recording and its states, or as much of it as was done until the end was asked for.
fn recorded_and_judged(
    options: &Options,
    site: Site<'_>,
    program: &Program,
    number: u64,
    tell: &mut dyn FnMut(&str),
) -> Result<Part, Error> {
    let count = u64::from(options.recordings.max(1));
    let mut part = Part::default();
    let is_over = || site.stop.load(Ordering::Relaxed);
    tell(&format!("recording {} of {count}", number + 1));
    let recording = match record(options, site, program, number) {
        Err(_) if is_over() => return Ok(part),
        recording => recording?,
    };
    part.outcome.add(&recording);
    if let (0, Some(path)) = (number, &options.log_writes) {
        write_log_writes(&recording.log, path)?;
    }
    let up_to = |number: u64, all: u32| (number * u64::from(all) / count) as u32;
    let share = |all: u32| up_to(number + 1, all) - up_to(number, all);
    let seed = derive_seed(options.seed, "cuts", number);
    let figure = uniform_cuts(&recording.log, recording.between, share(options.pulls), seed);
    let hunt = hot_cuts(&recording.log, recording.between, share(options.hunt), seed);
    let mut states = States::new(options, site, program, &recording, number);
    let Part { outcome, samples } = &mut part;
    for ((sample, cuts), is_hunt) in samples.iter_mut().zip([figure, hunt]).zip([false, true]) {
        match states.pull(&cuts, is_hunt, sample, &mut outcome.kept, tell) {
            Err(_) if is_over() => break,
            pulled => pulled?,
        }
    }
    states.end_worker();
    Ok(part)
}

/// How many states of a sample there are of which none was judged, and why.
fn never_judged(samples: &[Samples]) -> Option<(u64, NoVerdict)> {
    let none = samples.iter().find(|sample| sample.states.is_empty() && sample.unjudged > 0)?;
    Some((none.unjudged, *none.unjudged_why.first()?))
}
