//! Runs one load for `cargo xtask bench`, in a process of its own, so that its processor time can
//! be told apart.
//!
//! ```text
//! probe TARGET random-read|random-write|sequential-read|sequential-write
//!       --bytes=N --depth=N (--seconds=N | --requests=N) [--layers=N] [--threads=N] [--fill]
//! probe generate DATA --bytes=CHUNK --seconds=N           P and Q of DATA blocks, by the kernel that arrays use
//! probe stripes DATA PARITY --bytes=CHUNK --seconds=N     parity of whole stripes, and all of them copied to their members
//! probe hits ALPHA SCAN SIZE ACCESSES                     hit ratios of all policies, for accesses by Zipf's law with scans
//! probe written TARGET COUNT DEPTH                        modelled seconds of random writes of 4 KiB, answered and durable
//! probe understand --requests=N                           requests of NBD as they come over the wire, understood and answered
//! probe serve TARGET SOCKET                               a stack over NBD until the standard input ends
//! probe attach TARGET FILE [WORKERS]                      a stack as a file until the standard input ends
//! ```
//!
//! Prints one line of JSON: `{"operations": N, "seconds": S}`, seconds of real time, also on the
//! virtual clock; `hits` and `written` print what they are named for. The server prints `ready`
//! instead, when clients may come.

#![allow(clippy::print_stderr, reason = "a program that cargo xtask bench starts")]
#![allow(clippy::print_stdout, reason = "a program that cargo xtask bench starts")]
#![allow(clippy::disallowed_methods, reason = "a program that cargo xtask bench starts")]

mod attach;
mod cache;
mod parity;
mod serve;
mod understand;

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bench::load::{self, Direction, Hooks, Load, Requests, Sequential, Uniform, UnverifiedContent};
use block::{Clock, Device, Error, ErrorKind, Reactor};
use stack::{BuildContext, OpenFiles};
use testkit::Empty;

const FILL_BYTES: u32 = 1 << 20;

struct Settings {
    target: String,
    direction: Direction,
    random: bool,
    bytes: u32,
    depth: u32,
    limit: Limit,
    layers: u32,
    /// Each with a reactor and a channel of its own, over one device.
    threads: u32,
    fill: bool,
}

#[derive(Clone, Copy)]
enum Limit {
    Seconds(u32),
    Requests(u64),
}

fn main() -> ExitCode {
    let arguments = || std::env::args().skip(1);
    let outcome = match arguments().next().as_deref() {
        Some("generate" | "stripes") => parity::run(arguments()),
        Some("hits") => cache::hits(arguments().skip(1)),
        Some("written") => cache::written(arguments().skip(1)),
        Some("understand") => understand::run(arguments().skip(1)),
        Some("serve") => serve::nbd(arguments().skip(1)),
        Some("attach") => attach::fuse(arguments().skip(1)),
        _ => settings(arguments()).and_then(|settings| run(&settings)),
    };
    match outcome {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("probe: {message}");
            ExitCode::FAILURE
        }
    }
}

fn settings(arguments: impl Iterator<Item = String>) -> Result<Settings, String> {
    let (mut words, mut bytes, mut depth, mut limit) = (Vec::new(), None, None, None);
    let (mut layers, mut threads, mut fill) = (0, 1, false);
    for argument in arguments {
        match argument.split_once('=') {
            Some(("--bytes", text)) => bytes = Some(number(text)?),
            Some(("--depth", text)) => depth = Some(number(text)?),
            Some(("--seconds", text)) => limit = Some(Limit::Seconds(number(text)?)),
            Some(("--requests", text)) => limit = Some(Limit::Requests(number(text)?)),
            Some(("--layers", text)) => layers = number(text)?,
            Some(("--threads", text)) => threads = number(text)?,
            None if argument == "--fill" => fill = true,
            _ if argument.starts_with("--") => return Err(format!("no such flag: {argument}")),
            _ => words.push(argument),
        }
    }
    let (Some(bytes), Some(depth), Some(limit)) = (bytes, depth, limit) else {
        return Err("--bytes, --depth and one of --seconds and --requests are needed".to_owned());
    };
    let [target, pattern] = <[String; 2]>::try_from(words)
        .map_err(|_| "a target and a pattern are needed".to_owned())?;
    let (random, direction) = match pattern.as_str() {
        "random-read" => (true, Direction::Read),
        "random-write" => (true, Direction::Write),
        "sequential-read" => (false, Direction::Read),
        "sequential-write" => (false, Direction::Write),
        _ => return Err(format!("no such pattern: {pattern}")),
    };
    Ok(Settings { target, direction, random, bytes, depth, limit, layers, threads, fill })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

/// Opens files for reading and nothing else: what is measured here is made by others.
struct ReadOnly;

impl OpenFiles for ReadOnly {
    fn open(&self, path: &Path, read_only: bool, _create: Option<u64>) -> Result<File, Error> {
        if !read_only {
            return Err(Error::new(
                ErrorKind::Refused,
                format!("{}: files are only read here", path.display()),
            ));
        }
        File::open(path).map_err(|error| Error::from_io(path.display().to_string(), error))
    }
}

/// The tree of devices that a stack text means, and the clock it runs on.
fn build(target: &str) -> Result<(Arc<dyn Device>, Clock), String> {
    // Memory is written to, files are not.
    let read_only = target.starts_with("file:");
    let context = BuildContext { seed: 1, read_only, ..BuildContext::new(&ReadOnly) };
    let stack = stack::parse_and_build(target, &context).map_err(|error| error.to_string())?;
    for note in &stack.notes {
        eprintln!("probe: {note}");
    }
    Ok((stack.device, stack.clock))
}

fn reactor(clock: Clock) -> Result<Reactor, String> {
    match clock {
        Clock::Virtual => Ok(Reactor::virtual_clock()),
        Clock::Wall => Reactor::wall().map_err(|error| format!("io_uring: {error}")),
    }
}

fn run(settings: &Settings) -> Result<String, String> {
    let (mut device, clock) = build(&settings.target)?;
    for _ in 0..settings.layers {
        device = Arc::new(Empty(device));
    }
    if settings.fill {
        let size = device.info().size_bytes;
        let load = Load { depth: 1, bytes: Some(size), ..Load::default() };
        let requests = Sequential::new(Direction::Write, 0, size, FILL_BYTES);
        drive(&*device, &reactor(clock)?, &load, requests)?;
    }
    let one = |seed| measure(settings, &*device, &reactor(clock)?, seed);
    let done = std::thread::scope(|scope| {
        // All of them, before the first is waited for.
        let threads: Vec<_> =
            (1..=settings.threads.into()).map(|seed| scope.spawn(move || one(seed))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a load does not panic"))
            .collect::<Result<Vec<Done>, String>>()
    })?;
    let operations: u64 = done.iter().map(|done| done.operations).sum();
    let seconds = done.iter().map(|done| done.seconds).fold(0.0, f64::max);
    Ok(format!("{{\"operations\": {operations}, \"seconds\": {seconds}}}"))
}

fn measure(
    settings: &Settings,
    device: &dyn Device,
    reactor: &Reactor,
    seed: u64,
) -> Result<Done, String> {
    let info = device.info();
    let load = match settings.limit {
        Limit::Seconds(seconds) => Load {
            depth: settings.depth,
            time: Some(Duration::from_secs(seconds.into())),
            ..Load::default()
        },
        Limit::Requests(count) => {
            Load { depth: settings.depth, operations: Some(count), ..Load::default() }
        }
    };
    if settings.random {
        // Aligned to their own size, as fio does it.
        let (direction, bytes) = (settings.direction, settings.bytes);
        drive(device, reactor, &load, Uniform::new(direction, info.size_bytes, bytes, bytes, seed))
    } else {
        let requests = Sequential::new(settings.direction, 0, info.size_bytes, settings.bytes);
        drive(device, reactor, &load, requests)
    }
}

/// How many requests were done in how much real time.
struct Done {
    operations: u64,
    seconds: f64,
}

/// Loads the device.
fn drive<R: Requests>(
    device: &dyn Device,
    reactor: &Reactor,
    load: &Load,
    mut requests: R,
) -> Result<Done, String> {
    let start = Instant::now();
    let sample = load::run(
        device,
        reactor,
        load,
        &mut requests,
        &mut UnverifiedContent::Random,
        &mut Hooks::default(),
    )
    .map_err(|error| error.to_string())?;
    // On the wall clock the load's own time, which begins after its buffers were made; the virtual
    // clock's is modelled.
    let seconds = match reactor.clock() {
        Clock::Virtual => start.elapsed().as_secs_f64(),
        Clock::Wall => sample.elapsed.as_secs_f64(),
    };
    Ok(Done { operations: sample.operations(), seconds })
}
