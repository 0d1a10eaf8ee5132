//! Runs one suite on one target: limits, clock, audit, progress, and what was measured, also when
//! it did not come to its end.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bench::processor::{OnProcessor, Processor};
use bench::suite::{
    self, Observer, OpenFile, Phase, Row, Session, Settings, Suite, Target, Ticker,
};
use block::{Clock, Device, Error, ErrorKind, Reactor, size_text};
use device::{Direct, FileDevice, FileOptions};
use host::limits::{self, Limits};
use lab::audit::TargetMeter;
use lab::processor;
use serde_json::{Value, json};

use super::arguments::TargetArguments;
use super::flags::Said;
use super::target::Subject;
use crate::arguments::ClockArgument;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::{Line, duration};
use crate::signals;

/// What came of a suite.
pub(super) struct Finished {
    /// What was measured.
    pub rows: Vec<Row>,
    /// The suite, its settings and the limits, for JSON and for people.
    pub heading: Value,
    /// The settings that it was run with.
    pub settings: Settings,
    /// Why it did not come to its end.
    pub failure: Option<Failure>,
}

/// Runs a suite with what was said of its settings, on the clock that the target has.
///
/// # Errors
/// What is wrong with the target or the limits, before anything is measured. What goes wrong later
/// is in the result, beside the rows so far.
#[expect(clippy::too_many_lines, reason = "not yet split")]
pub(super) fn run(
    output: &Output,
    said: &Said,
    arguments: &TargetArguments,
) -> Result<Finished, Failure> {
    let suite = said.suite;
    let stop = signals::stop_flag()?;
    let memory = match &arguments.memory {
        Some(text) => Some(output.size("--memory", text)?),
        None => None,
    };
    let limits = Limits::apply(memory, arguments.cpus.as_deref())?;
    let processor = processor(suite, arguments)?;
    let subject = Subject::open(output, said, arguments)?;
    let charged = match &subject {
        Subject::Stack { stack, .. } => {
            processor.map(|one| OnProcessor::new(Arc::clone(&stack.device) as _, one))
        }
        Subject::Folder(_) => None,
    };
    let (target, mut meter, clock) = match &subject {
        Subject::Folder(path) => (Target::Folder(path), TargetMeter::folder(path), Clock::Wall),
        Subject::Stack { stack, .. } => {
            let clock =
                if arguments.clock == ClockArgument::Wall { Clock::Wall } else { stack.clock };
            (
                match &charged {
                    Some(charged) => Target::Device(charged),
                    None => Target::Device(&*stack.device),
                },
                TargetMeter::stack(&stack.device.describe(), stack),
                clock,
            )
        }
    };
    let device_path = path_of(&subject);
    if let Some(path) = device_path.as_deref().filter(|_| suite::runs_programs(suite)) {
        meter = TargetMeter::path(path);
    }
    // In a guest time is modelled, whatever its own clock is called.
    let settings = said.on(if arguments.in_guest { Clock::Virtual } else { clock })?;
    let reactor = match clock {
        Clock::Virtual => {
            output.note(
                "every member is a modelled disk: the clock is virtual and the figures are \
                modelled",
            );
            meter = meter.without_machine();
            Reactor::virtual_clock()
        }
        Clock::Wall => Reactor::wall()?,
    };
    let ticker = Ticker::new();
    let watch = Watch::new(output, suite, &settings, &ticker);
    let mut told = Told(&watch);
    let mut session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut told);
    let files = Files(processor);
    session.files = &files;
    session.device_path = device_path;
    session.modelled_clock = arguments.in_guest;
    session.seed = arguments.seed;
    // What the data say of themselves differs from run to run, or a lost write could find the last
    // run's equal data.
    session.data_seed =
        if clock == Clock::Virtual { arguments.seed } else { reactor::Random::new().u64(..) };
    let result = watch.while_running(|| (suite.run)(target, &settings, &mut session));
    let rows = session.into_rows();
    watch.line.clear();
    let failure = match result {
        Err(error) => Some(ended(suite, error)),
        Ok(()) if stop.load(Ordering::Relaxed) => {
            Some(Failure::interrupted("interrupted: what is shown was finished before"))
        }
        Ok(()) if rows.iter().all(|row| row.measured().is_none()) => {
            Some(Failure::invalid_results("nothing could be measured on this target"))
        }
        Ok(()) => None,
    };
    let heading = heading(suite, &settings, arguments, &limits, clock);
    Ok(Finished { rows, heading, settings, failure })
}

/// What the processor is stated to cost that the suite runs on, inside a guest.
fn processor(suite: &Suite, arguments: &TargetArguments) -> Result<Option<Processor>, Failure> {
    let Some(text) = &arguments.disks.processor else { return Ok(None) };
    if !suite::loads_devices(suite) {
        return Err(Failure::usage(format!(
            "--processor: what the calls of {} cost is not known; it is for crystal, depth, devtest \
            and hdparm",
            suite.name
        )));
    }
    let parsed = processor::parse(text);
    parsed.map(Some).map_err(|why| Failure::usage(format!("--processor: {why}")))
}

/// Where other programs find a target that is one file or block device.
fn path_of(subject: &Subject) -> Option<PathBuf> {
    match subject {
        Subject::Stack { stack, .. } => {
            std::path::absolute(stack.device.describe().file_path()?).ok()
        }
        Subject::Folder(_) => None,
    }
}

/// Opens the files that a suite has made in its own folder.
struct Files(Option<Processor>);

impl OpenFile for Files {
    fn open(&self, path: &Path, direct: bool) -> Result<Box<dyn Device>, Error> {
        let failed = |error| Error::from_io(path.display().to_string(), error);
        let file = File::options().read(true).write(true).open(path).map_err(failed)?;
        let direct = if direct { Direct::Yes } else { Direct::No };
        let options = FileOptions { direct, ..FileOptions::default() };
        Ok(processor::under(Box::new(FileDevice::new(file, path, &options)?), self.0))
    }
}

/// A full disk is a result that is not valid; everything else is what the kind of error says.
fn ended(suite: &Suite, error: Error) -> Failure {
    match error.kind() {
        ErrorKind::NoSpace => Failure::invalid_results(format!(
            "{error}: the target is full; the files of {} are removed",
            suite.name
        )),
        _ => error.into(),
    }
}

fn heading(
    suite: &Suite,
    settings: &Settings,
    arguments: &TargetArguments,
    limits: &Limits,
    clock: Clock,
) -> Value {
    let said: serde_json::Map<String, Value> =
        settings.iter().map(|(name, value)| (name.to_owned(), json!(value.to_string()))).collect();
    json!({
        "suite": suite.name,
        "target": arguments.target,
        "clock": if clock == Clock::Virtual { "virtual" } else { "wall" },
        "seed": arguments.seed,
        "settings": said,
        "memory_limit_bytes": limits.memory_bytes(),
        "memory_bytes": limits::memory_bytes(),
        "cpus": limits.cpus(),
    })
}

/// What people are told of the limits, above the figures.
pub(super) fn limits_note(output: &Output, heading: &Value) {
    let mut said = Vec::new();
    said.extend(
        heading["memory_limit_bytes"]
            .as_u64()
            .map(|bytes| format!("memory limited to {}", size_text(bytes))),
    );
    said.extend(heading["cpus"].as_str().map(|cpus| format!("processors {cpus}")));
    if !said.is_empty() {
        output.note(&said.join(", "));
    }
}

/// How often it is said how far it is where there is no terminal: a log, not a flood.
const SAID_EVERY: Duration = Duration::from_secs(30);

/// Shows how far it is, from a thread of its own, so that nothing that is measured draws.
struct Watch<'a> {
    output: &'a Output,
    line: Line,
    shown: bool,
    ticker: &'a Ticker,
    phases: usize,
    now: Mutex<Option<(usize, String, Instant)>>,
    over: AtomicBool,
}

impl<'a> Watch<'a> {
    fn new(
        output: &'a Output,
        suite: &Suite,
        settings: &Settings,
        ticker: &'a Ticker,
    ) -> Watch<'a> {
        let phases = (suite.phases)(settings).len();
        let watch = Watch {
            output,
            line: Line::new(output),
            shown: output.animates(),
            ticker,
            phases,
            now: Mutex::new(None),
            over: AtomicBool::new(false),
        };
        watch.line.show(PREPARING);
        watch
    }

    fn while_running<T>(&self, work: impl FnOnce() -> T) -> T {
        let every = if self.shown { Duration::from_millis(250) } else { SAID_EVERY };
        thread::scope(|scope| {
            let drawer = scope.spawn(|| {
                let mut told = Instant::now();
                while !self.over.load(Ordering::Relaxed) {
                    if self.shown {
                        self.line.show(&self.text());
                    } else if told.elapsed() >= every {
                        self.output.progress(&self.text());
                        told = Instant::now();
                    }
                    let since = if self.shown { Duration::ZERO } else { told.elapsed() };
                    thread::park_timeout(every.saturating_sub(since));
                }
            });
            let result = work();
            self.over.store(true, Ordering::Relaxed);
            drawer.thread().unpark();
            result
        })
    }

    /// Where it is: the phase, and how far that is or how long it has been running.
    fn text(&self) -> String {
        let now = self.now.lock().map(|now| now.clone()).unwrap_or_default();
        let Some((number, phase, begun)) = now else { return PREPARING.to_owned() };
        let elapsed = begun.elapsed();
        let far = match far(self.ticker.far(), elapsed) {
            far if far.is_empty() => format!("  {}", duration(elapsed)),
            far => far,
        };
        format!("{number:2} of {}: {phase}{far}", self.phases)
    }
}

/// What is said until the first phase begins.
const PREPARING: &str = "preparing";

/// How far, how fast and how long still: `  37 %  812 MB/s  9 s left`.
fn far((done, total, in_bytes): (u64, u64, bool), elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if done == 0 || seconds < 0.2 {
        return String::new();
    }
    let rate = done as f64 / seconds;
    let speed =
        if in_bytes { format!("  {:.0} MB/s", rate / 1e6) } else { format!("  {rate:.0}/s") };
    if total == 0 || done > total {
        return speed;
    }
    let left = Duration::from_secs_f64((total - done) as f64 / rate);
    format!("  {:.0} %{speed}  {} left", 100.0 * done as f64 / total as f64, duration(left))
}

struct Told<'a, 'b>(&'a Watch<'b>);

impl Observer for Told<'_, '_> {
    fn begun(&mut self, phase: &Phase, _: u32) {
        if let Ok(mut now) = self.0.now.lock() {
            let number = now.as_ref().map_or(1, |(number, ..)| number + 1);
            *now = Some((number, phase.name.clone(), Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_share_rate_and_time_left() {
        assert_eq!(
            far((50_000_000, 100_000_000, true), Duration::from_secs(5)),
            "  50 %  10 MB/s  5 s left"
        );
        assert_eq!(far((300, 1200, false), Duration::from_secs(1)), "  25 %  300/s  3 s left");
        assert_eq!(far((300, 0, false), Duration::from_secs(1)), "  300/s");
        assert_eq!(far((0, 100, true), Duration::from_secs(1)), "");
    }
}
