//! A pull test in a process of its own, as a run starts one for a row: a mount namespace is a
//! process's, and a run that is killed takes the test with it.
//!
//! ```text
//!   raidloom run ── options, a line of JSON ──> standard input; its end ends the test
//!        <── how far, then what came out: lines of JSON on standard output ──
//! ```

use super::catalogue;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use host::Error;
use serde::{Deserialize, Serialize};
use words::Text;

use super::ground::MountHost;
use super::options::Options;
use super::outcome::Outcome;
use super::place::{KEEPS, enter};
use super::power_test::run;
use super::worker::{Output, Program};

/// How long the wish to stop may go unnoticed.
const LOOK: Duration = Duration::from_millis(100);

/// What the process is told beside the program's own arguments where it needs no namespace.
const IN_GUEST: &str = "--guest";

/// What the process says.
#[derive(Debug, Serialize, Deserialize)]
enum ProcessMessage {
    Told(String),
    Ended(Box<Outcome>),
    Failed(Text),
}

/// A test that runs. Dropping it ends it.
struct Test {
    child: Child,
    /// The test ends with it.
    _input: ChildStdin,
    said: Receiver<ProcessMessage>,
}

impl Drop for Test {
    fn drop(&mut self) {
        // One that has ended by itself cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a test in a process of its own. `None` when it was stopped.
///
/// # Errors
/// As [`run`], and what keeps the process from being started.
pub(crate) fn run_apart(
    options: &Options,
    program: &Program,
    tell: &mut dyn FnMut(&str),
    stop: &AtomicBool,
) -> Result<Option<Outcome>, Error> {
    let test = start(options, program)?;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match test.said.recv_timeout(LOOK) {
            Ok(ProcessMessage::Told(text)) => tell(&text),
            Ok(ProcessMessage::Ended(outcome)) => return Ok(Some(*outcome)),
            Ok(ProcessMessage::Failed(text)) => return Err(Error::failed(text)),
            Err(RecvTimeoutError::Timeout) => (),
            // The signal that asks for an end reaches it too.
            Err(RecvTimeoutError::Disconnected) if stop.load(Ordering::Relaxed) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::failed(catalogue::TEST_ENDED));
            }
        }
    }
}

fn start(options: &Options, program: &Program) -> Result<Test, Error> {
    let failed = |error: &std::io::Error| Error::from_io(catalogue::STARTING_TEST, error);
    let mut line = serde_json::to_vec(options)
        .map_err(|error| Error::failed(Text::verbatim(&error)).at(catalogue::TEST_OPTIONS))?;
    line.push(b'\n');
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    if options.guest_memory_bytes.is_some() {
        command.arg(IN_GUEST);
    }
    command.envs(options.keep_failing.iter().map(|folder| (KEEPS, folder)));
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    let mut input = child.stdin.take().expect("it was piped");
    let output = BufReader::new(child.stdout.take().expect("it was piped"));
    let (sender, said) = mpsc::channel();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let Ok(said) = serde_json::from_str(&line) else { break };
            if sender.send(said).is_err() {
                break;
            }
        }
    });
    let written = input.write_all(&line).and_then(|()| input.flush());
    let test = Test { child, _input: input, said };
    // What it has said before it ended tells more than a broken pipe.
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(failed(&error)),
        _ => Ok(test),
    }
}

/// The process's side: enters a namespace unless all is done in guests, reads its options, tests,
/// and says what came out. `worker` is what mounts and works.
///
/// # Errors
/// When nobody listens any more. What kept the test from being made is said, and no error here.
pub fn serve_test(worker: &Program, in_guest: bool, output: &mut Output<'_>) -> Result<(), Error> {
    let said = match test(worker, in_guest, output) {
        Ok(outcome) => ProcessMessage::Ended(Box::new(outcome)),
        Err(error) => ProcessMessage::Failed(error.into()),
    };
    say(output, &said).map_err(|error| Error::from_io(catalogue::THE_TEST, &error))
}

fn say(output: &mut Output<'_>, said: &ProcessMessage) -> std::io::Result<()> {
    output(&(serde_json::to_string(said).map_err(std::io::Error::other)? + "\n"))
}

fn test(worker: &Program, in_guest: bool, output: &mut Output<'_>) -> Result<Outcome, Error> {
    if !in_guest {
        // Nothing was read yet: the program begins anew in there.
        enter()?;
    }
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|error| Error::from_io(catalogue::TEST_OPTIONS, &error))?;
    let options: Options = serde_json::from_str(&line)
        .map_err(|error| Error::usage(Text::verbatim(&error)).at(catalogue::TEST_OPTIONS))?;
    std::thread::spawn(|| {
        // Nothing more comes: this is the end of the run that has started it.
        let _ = std::io::stdin().read_line(&mut String::new());
        std::process::exit(1);
    });
    let ground = MountHost::new(options.guest_memory_bytes, options.guest_kernel.as_deref())?;
    let mut gone = None;
    let mut tell = |text: &str| {
        if let Err(error) = say(output, &ProcessMessage::Told(text.to_owned())) {
            gone = Some(error);
        }
    };
    let outcome = run(&options, &ground, worker, &mut tell, &Arc::default())?;
    match gone {
        Some(error) => Err(Error::from_io(catalogue::THE_TEST, &error)),
        None => Ok(outcome),
    }
}
