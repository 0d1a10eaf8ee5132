//! `raidloom bench devtest`: the raw-device test, shown as its users know it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bench::load::Hooks;
use bench::suite::Value;
use bench::suite::devtest::{self, Outcome, Row, SUITE, Settings, TestResult, Verify};
use block::{Clock, Reactor};
use stack::{BuildContext, Stack};

use super::arguments::TargetArguments;
use super::target::Opener;
use super::{Said, run, show};
use crate::arguments::{ClockArgument, DevtestArguments, VerifyArgument};
use crate::failure::Failure;
use crate::output::{Output, figure, seconds, table};
use crate::progress::Line;
use crate::signals;

/// Runs devtest on one target.
pub(crate) fn devtest(output: &Output, arguments: &DevtestArguments) -> Result<(), Failure> {
    if Path::new(&arguments.target).is_dir() && arguments.create.is_none() {
        return in_folder(output, arguments);
    }
    let create = match &arguments.create {
        Some(text) => Some(output.size("--create", text)?),
        None => None,
    };
    let stop = signals::stop_flag()?;
    let opener = Opener::new(arguments.consent.clone().into());
    let context =
        BuildContext { files: &opener, seed: arguments.seed, read_only: arguments.read_only, create_bytes: create, emulate: false };
    let stack = stack::parse_and_build(&arguments.target, &context)?;
    stack.notes.iter().for_each(|note| output.note(note));

    let clock = if arguments.clock == ClockArgument::Wall { Clock::Wall } else { stack.clock };
    let reactor = match clock {
        Clock::Virtual => Reactor::virtual_clock(),
        Clock::Wall => {
            Reactor::wall().map_err(|error| Failure::failed(format!("io_uring: {error}; `raidloom check` says what it needs")))?
        }
    };
    let settings = settings(arguments, clock)?;
    if clock == Clock::Virtual {
        output.note("every member is a modelled disk: the clock is virtual and the figures are modelled");
    }
    let results = run_tests(output, &stack, &reactor, &settings, &stop)?;

    for note in notes(&results) {
        output.note(&note);
    }
    print(output, &devtest::rows(&results))?;
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::interrupted("interrupted: the rows above are those that were finished"));
    }
    if results.iter().all(|result| result.measured().is_none()) {
        return Err(Failure::invalid_results("no test could be run on this target; the notes above say why"));
    }
    Ok(())
}

/// Runs the tests on a file of their own in a folder, in the frame of the suites.
fn in_folder(output: &Output, arguments: &DevtestArguments) -> Result<(), Failure> {
    if arguments.read_only {
        return Err(Failure::usage("--read-only: in a folder a file is made and written; name a device"));
    }
    let meant = settings(arguments, Clock::Wall)?;
    let mut said = Said::new(&SUITE);
    said.set("depth", Value::Count(u64::from(meant.depth)))?;
    said.set("time_per_test", Value::Time(meant.time_per_test))?;
    if let Some(most) = meant.max_operations_per_test {
        said.set("max_operations", Value::from(most.to_string()))?;
    }
    let verify = match meant.verify {
        Verify::Off => "off",
        Verify::Words => "words",
        Verify::Full => "full",
    };
    said.set("verify", Value::word(verify))?;
    let target = TargetArguments {
        target: arguments.target.clone(),
        seed: arguments.seed,
        memory: None,
        cpus: None,
        clock: arguments.clock,
        create: None,
        consent: arguments.consent.clone(),
        read_only: false,
    };
    let finished = run::run(output, &SUITE, &said.settings, &target)?;
    let phases = (SUITE.phases)(&said.settings);
    show::finish(output, finished, |rows| format!("{}{}", show::rows_table(rows, &phases), show::flag_words(rows)))
}

/// What the tests have to say, each thing once with the tests that say it.
fn notes(results: &[TestResult]) -> Vec<String> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for result in results {
        let texts = match &result.outcome {
            Outcome::Skipped(reason) => vec![format!("not run: {reason}")],
            Outcome::Measured(measured) => measured.notes.clone(),
            Outcome::Stopped => Vec::new(),
        };
        for text in texts {
            match said.iter_mut().find(|(known, _)| *known == text) {
                Some((_, tests)) => tests.push(&result.test.workload),
                None => said.push((text, vec![&result.test.workload])),
            }
        }
    }
    let who = |tests: &[&str]| match tests.len() {
        count if count == results.len() => "all tests".to_owned(),
        count if count > 4 => format!("{count} tests, the first {}", tests[0]),
        _ => tests.join(", "),
    };
    said.iter().map(|(text, tests)| format!("{}: {text}", who(tests))).collect()
}

fn settings(arguments: &DevtestArguments, clock: Clock) -> Result<Settings, Failure> {
    let defaults = Settings::for_clock(clock);
    let time_per_test = match &arguments.time {
        None => defaults.time_per_test,
        Some(text) => match stack::size::parse_duration(text) {
            Ok(time) if time > Duration::ZERO => time,
            Ok(_) => return Err(Failure::usage(format!("--time {text}: a test needs some time; 2s, say"))),
            Err(error) => return Err(Failure::usage(format!("--time {text}: {error}"))),
        },
    };
    if arguments.max_operations == Some(0) {
        return Err(Failure::usage("--max-operations 0: a test needs at least one request"));
    }
    // What the data say of themselves differs from run to run, or a lost write could find the last run's equal data.
    let data_seed = match clock {
        Clock::Virtual => arguments.seed,
        Clock::Wall => reactor::Random::new().u64(..),
    };
    Ok(Settings {
        depth: arguments.depth,
        time_per_test,
        max_operations_per_test: arguments.max_operations,
        verify: match arguments.verify {
            VerifyArgument::Off => Verify::Off,
            VerifyArgument::Words => Verify::Words,
            VerifyArgument::Full => Verify::Full,
        },
        read_only: arguments.read_only,
        seed: arguments.seed,
        data_seed,
        ..defaults
    })
}

fn run_tests(
    output: &Output,
    stack: &Stack,
    reactor: &Reactor,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Vec<TestResult>, Failure> {
    let stopped = || stop.load(Ordering::Relaxed);
    let device = &*stack.device;
    let line = Line::new(output);
    line.show("preparing: writing what the tests will read");
    let mut hooks = Hooks { stop: Some(&stopped), progress: None };
    let mut prepared = devtest::prepare(device, reactor, settings, &mut hooks)?;
    let tests = devtest::tests();
    let mut results = Vec::with_capacity(tests.len());
    for (number, test) in tests.iter().enumerate() {
        if stopped() {
            break;
        }
        line.show(&format!("{:2} of {}: {}", number + 1, tests.len(), test.workload));
        let mut hooks = Hooks { stop: Some(&stopped), progress: None };
        results.push(devtest::run_test(device, reactor, test, settings, &mut prepared, &mut hooks)?);
    }
    line.clear();
    Ok(results)
}

fn print(output: &Output, rows: &[Row]) -> Result<(), Failure> {
    if output.json {
        return output.document(&rows);
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.test.clone(),
                row.request_bytes.to_string(),
                figure(row.kib_per_second),
                figure(row.io_per_second),
                seconds(row.latency_mean_seconds),
                seconds(row.latency_p99_seconds),
            ]
        })
        .collect();
    output.result(&table(&["TEST", "REQUEST", "KiB/s", "IO/s", "MEAN LATENCY", "P99 LATENCY"], &cells, &[1, 2, 3, 4, 5]))
}
