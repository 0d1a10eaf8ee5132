//! A whole test: recordings, cuts, and what is left of each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use host::Error;
use host::mount::check_mount_options;
use pull::{Unjudged, hot_cuts, uniform_cuts};
use reactor::derive_seed;

use super::ground::Ground;
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
    ground: &Ground,
    program: &Program,
    tell: &mut dyn FnMut(&str),
    stop: &Arc<AtomicBool>,
) -> Result<Outcome, Error> {
    if matches!(ground, Ground::Host(_)) {
        options.file_system.check_mountable()?;
    }
    options.file_system.make_words(options.make_options.as_deref().unwrap_or_default())?;
    check_mount_options(Some(&options.file_system), options.mount_options.as_deref())?;
    let mut outcome = Outcome {
        figure: None,
        hunt: None,
        recorded_seconds: 0.0,
        requests: 0,
        flushes: 0,
        written_bytes: 0,
        promises: 0,
        kept: Vec::new(),
        interrupted: false,
    };
    let mut samples = [Samples::default(), Samples::default()];
    let count = u64::from(options.recordings.max(1));
    for number in 0..count {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        tell(&format!("recording {} of {count}", number + 1));
        let recording = match record(options, (ground, stop), program, number) {
            Err(_) if stop.load(Ordering::Relaxed) => break,
            recording => recording?,
        };
        outcome.add(&recording);
        if let (0, Some(path)) = (number, &options.log_writes) {
            write_log_writes(&recording.log, path)?;
        }
        let up_to = |number: u64, all: u32| (number * u64::from(all) / count) as u32;
        let share = |all: u32| up_to(number + 1, all) - up_to(number, all);
        let seed = derive_seed(options.seed, "cuts", number);
        let figure = uniform_cuts(&recording.log, recording.between, share(options.pulls), seed);
        let hunt = hot_cuts(&recording.log, recording.between, share(options.hunt), seed);
        let mut states = States::new(options, (ground, stop), program, &recording, number);
        for ((sample, cuts), is_hunt) in samples.iter_mut().zip([figure, hunt]).zip([false, true]) {
            match states.pull(&cuts, is_hunt, sample, &mut outcome.kept, tell) {
                Err(_) if stop.load(Ordering::Relaxed) => break,
                pulled => pulled?,
            }
        }
        states.end_worker();
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

/// How many states of a sample there are of which none was judged, and why.
fn never_judged(samples: &[Samples]) -> Option<(u64, Unjudged)> {
    let none = samples.iter().find(|sample| sample.states.is_empty() && sample.unjudged > 0)?;
    Some((none.unjudged, *none.unjudged_why.first()?))
}
