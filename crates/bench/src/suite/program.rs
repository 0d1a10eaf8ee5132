//! A program of the user's: started by a shell in a process group of its own, timed, its output
//! kept, and ended with all that it has started.
//!
//! ```text
//!   sh -c TEXT ── stdout, stderr ──> kept          the wait ends with the program, at its limit,
//!      │                                           or when the session is stopped
//!   pidfd ── poll ──────────────────> elapsed      whatever is left of its group is killed, by a
//!                                                  watchdog where this process was killed
//! ```

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind as IoKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use block::{Error, ErrorKind, duration_text};
use confine::{Confinement, Teller, Watchdog};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal};
use serde_json::Value;
use words::{Text, statement};

use super::Session;
use crate::suite::catalogue;

/// The most that is kept of what a program says.
const OUTPUT_MAX: usize = 64 << 20;
/// How many of its last lines an error shows.
const LAST_LINES: usize = 8;
/// How often a wait looks whether the session is stopped.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// How long a program may take to end by itself when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// What is run, and where.
#[derive(Clone, Debug)]
pub(super) struct Program<'a> {
    /// What an error calls it.
    pub(super) what: Text,
    /// What the shell is told.
    pub(super) text: &'a str,
    /// Where it works.
    pub(super) folder: Option<&'a Path>,
    /// What is added to the environment.
    pub(super) environment: &'a [(String, String)],
    /// How long it may take.
    pub(super) limit: Duration,
    /// Whether it is run to its end although the session is stopped.
    pub(super) to_the_end: bool,
    /// What it is held to; a program of the user's own is held to nothing.
    pub(super) confinement: Option<&'a Confinement>,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct ProgramResult {
    /// What it said.
    pub(super) output: Output,
    /// From its start until it had ended.
    pub(super) elapsed: Duration,
    /// What it has left running; killed when this is dropped.
    pub(super) left: Group,
}

/// What a program said.
#[derive(Clone, Debug, Default)]
pub(super) struct Output {
    /// On standard output.
    pub(super) out: String,
    /// On standard error.
    pub(super) err: String,
}

/// How a program failed, and what it said: what is behind the error that tells of it.
#[derive(Debug)]
pub(super) struct ProgramFailure {
    status: ExitStatus,
    /// What it said.
    pub(super) output: Output,
}

/// What sh ends with where there is no program of that name.
const NOT_THERE: i32 = 127;

impl ProgramFailure {
    /// The one behind an error, if the error tells of one.
    pub(super) fn behind(error: &Error) -> Option<&ProgramFailure> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// Whether the shell found no program of that name.
    pub(super) fn is_not_there(&self) -> bool {
        self.status.code() == Some(NOT_THERE)
    }
}

impl fmt::Display for ProgramFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)
    }
}

impl std::error::Error for ProgramFailure {}

impl Output {
    /// The last lines of both, the errors last.
    fn last_lines(&self) -> Vec<&str> {
        let said = self.out.lines().chain(self.err.lines()).map(str::trim_end);
        let lines: Vec<&str> = said.filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].to_vec()
    }

    /// The end of an error: what it said last.
    pub(super) fn shown(&self) -> Text {
        match self.last_lines()[..] {
            [] => catalogue::PROGRAM_SAID_NOTHING.into(),
            ref lines => statement!(catalogue::LAST_LINES, lines = lines.join("\n  ")),
        }
    }

    /// The JSON document in what it said; lines before it do not belong to it.
    pub(super) fn json(&self) -> Result<Value, Text> {
        let text = self.out.as_str();
        let begins = |line: &str| line.trim_start().starts_with(['{', '[']);
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if begins(line) {
                break;
            }
            start += line.len();
        }
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => {
                Err(statement!(catalogue::OUTPUT_NO_JSON, error = Text::verbatim(&error)))
            }
            None => Err(catalogue::NO_JSON_IN_OUTPUT.into()),
        }
    }
}

/// A number as programs print it: with commas between the thousands, with spaces around.
pub(super) fn number(text: &str) -> Result<f64, Text> {
    let bare = text.trim().replace(',', "");
    let number = bare.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| statement!(catalogue::FIGURE_NO_NUMBER, text = text))
}

/// A process group. Dropping it kills what is left of it.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    gone: Option<Teller>,
    /// It ends after the group.
    _watchdog: Watchdog,
}

impl Drop for Group {
    fn drop(&mut self) {
        // There may be none of it left.
        let _ = rustix::process::kill_process_group(self.leader, Signal::KILL);
        if let Some(teller) = self.gone.take() {
            teller.gone();
        }
    }
}

/// One of the program's two pipes.
struct Pipe<R> {
    from: Option<R>,
    kept: Vec<u8>,
}

impl<R: Read + AsFd> Pipe<R> {
    fn new(from: Option<R>) -> Result<Pipe<R>, Error> {
        if let Some(from) = &from {
            rustix::fs::fcntl_setfl(from, OFlags::NONBLOCK)
                .map_err(|error| Error::from_io(catalogue::A_PIPE, error.into()))?;
        }
        Ok(Pipe { from, kept: Vec::new() })
    }

    /// Takes what is there.
    fn drain(&mut self, what: &Text) -> Result<(), Error> {
        let mut buffer = [0; 64 << 10];
        while let Some(from) = &mut self.from {
            match from.read(&mut buffer) {
                Ok(0) => self.from = None,
                Ok(count) => self.kept.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == IoKind::WouldBlock => break,
                Err(error) if error.kind() == IoKind::Interrupted => (),
                Err(error) => {
                    return Err(Error::from_io(
                        statement!(catalogue::ITS_OUTPUT, what = what),
                        error,
                    ));
                }
            }
            if self.kept.len() > OUTPUT_MAX {
                return Err(failed(statement!(
                    catalogue::SAID_TOO_MUCH,
                    what = what,
                    most = OUTPUT_MAX >> 20
                )));
            }
        }
        Ok(())
    }

    fn text(self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}

fn failed(text: Text) -> Error {
    Error::new(ErrorKind::Other, text)
}

/// Runs a program to its end. `None` when the session was stopped meanwhile.
///
/// # Errors
/// A shell that cannot be started, a limit that is over, a status that is not 0, with the last
/// lines that the program said.
pub(super) fn run(
    program: &Program<'_>,
    session: &Session<'_>,
) -> Result<Option<ProgramResult>, Error> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(program.text);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    // Figures are read from what it says: numbers as in C.
    command.env("LC_ALL", "C").envs(program.environment.iter().map(|(name, text)| (name, text)));
    if let Some(folder) = program.folder {
        command.current_dir(folder);
    }
    let failed_to_start =
        |error| Error::from_io(statement!(catalogue::STARTING_SHELL, what = &program.what), error);
    // Before the time begins.
    let mut watchdog = Watchdog::start([]).map_err(failed_to_start)?;
    let start = session.reactor.now();
    let spawned = match program.confinement {
        Some(confinement) => confinement.spawn(&mut command),
        None => command.spawn(),
    };
    let mut child = spawned.map_err(failed_to_start)?;
    let pid = Pid::from_child(&child);
    let gone = watchdog.watch(&child).ok();
    let group = Group { leader: pid, gone, _watchdog: watchdog };
    let ended = wait(program, session, &mut child, pid);
    if !matches!(ended, Ok(Some(_))) {
        // Its group is killed below; this takes away what is left of the process itself.
        drop(group);
        let _ = child.wait();
        return ended.map(|_| None);
    }
    let Some((status, output)) = ended? else { return Ok(None) };
    let elapsed = session.reactor.now().since(start);
    if status.success() {
        return Ok(Some(ProgramResult { output, elapsed, left: group }));
    }
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => statement!(catalogue::STATUS, code = code),
        (None, signal) => statement!(catalogue::SIGNAL, number = signal.unwrap_or_default()),
    };
    let text = statement!(
        catalogue::PROGRAM_ENDED_WITH,
        what = &program.what,
        how = how,
        said = output.shown()
    );
    Err(Error::with_source(ErrorKind::Other, "", ProgramFailure { status, output }).retold(text))
}

fn wait(
    program: &Program<'_>,
    session: &Session<'_>,
    child: &mut Child,
    pid: Pid,
) -> Result<Option<(ExitStatus, Output)>, Error> {
    let what = &program.what;
    let system = |error: rustix::io::Errno| {
        Error::from_io(statement!(catalogue::WAITING, what = what), error.into())
    };
    let process: OwnedFd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(system)?;
    let (mut out, mut err) = (Pipe::new(child.stdout.take())?, Pipe::new(child.stderr.take())?);
    let start = session.reactor.now();
    let mut asked_to_end = None;
    loop {
        let mut watched = vec![PollFd::new(&process, PollFlags::IN)];
        watched.extend(out.from.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        watched.extend(err.from.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        match poll(&mut watched, Some(&LOOK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => (),
            Err(error) => return Err(system(error)),
        }
        let has_ended = !watched[0].revents().is_empty();
        drop(watched);
        out.drain(what)?;
        err.drain(what)?;
        if has_ended {
            let status = child.wait().map_err(|error| {
                Error::from_io(statement!(catalogue::WAITING, what = what), error)
            })?;
            let output = Output { out: out.text(), err: err.text() };
            return Ok(asked_to_end.is_none().then_some((status, output)));
        }
        let now = session.reactor.now();
        if now.since(start) > program.limit {
            let output = Output { out: out.text(), err: err.text() };
            return Err(failed(statement!(
                catalogue::TOOK_TOO_LONG,
                what = what,
                limit = duration_text(program.limit),
                said = output.shown()
            )));
        }
        match asked_to_end {
            None if session.stopped() && !program.to_the_end => {
                let _ = rustix::process::kill_process_group(pid, Signal::TERM);
                asked_to_end = Some(now);
            }
            Some(then) if now.since(then) > GRACE => return Ok(None),
            _ => (),
        }
    }
}

/// Makes what was written so far durable, and says how long that took: of the file system that a
/// folder is on, or of a device.
pub(super) fn sync(place: &Path, session: &Session<'_>) -> Result<Duration, Error> {
    let at = |error| Error::from_io(statement!(catalogue::SYNCING, path = place.display()), error);
    let start = session.reactor.now();
    let file = File::open(place).map_err(at)?;
    if place.is_dir() {
        rustix::fs::syncfs(&file).map_err(|error| at(error.into()))?;
    } else {
        file.sync_all().map_err(at)?;
    }
    Ok(session.reactor.now().since(start))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use block::Reactor;

    use super::*;
    use crate::suite::{NoAudit, NoProgress, Ticker};

    fn run_text(text: &str, limit: Duration, stop: bool) -> Result<Option<ProgramResult>, Error> {
        let Ok(reactor) = Reactor::wall() else { panic!("no io_uring") };
        let (stop, ticker, mut meter, mut observer) =
            (AtomicBool::new(stop), Ticker::new(), NoAudit, NoProgress);
        let session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut observer);
        let environment = [("WORD".to_owned(), "two words".to_owned())];
        let program = Program {
            what: "the program".into(),
            text,
            folder: None,
            environment: &environment,
            limit,
            to_the_end: false,
            confinement: None,
        };
        run(&program, &session)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_it_says_is_kept_and_what_it_does_is_timed() {
        let text = "echo $WORD; echo no >&2; head -c 200000 /dev/zero | tr '\\0' x";
        let ran = run_text(text, LONG, false).unwrap().unwrap();
        assert!(ran.output.out.starts_with("two words\nxx") && ran.output.out.len() == 200_010);
        assert_eq!(ran.output.err, "no\n");
        assert!(ran.elapsed > Duration::ZERO);
    }

    #[test]
    fn a_status_that_is_not_0_is_an_error_with_the_last_lines() {
        let error = run_text("seq 20; echo broken >&2; exit 3", LONG, false).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("the program ended with status 3; its last lines:"), "{text}");
        assert!(text.ends_with("\n  20\n  broken") && !text.contains("\n  13\n"), "{text}");
        let failure = ProgramFailure::behind(&error).unwrap();
        assert!(failure.output.err == "broken\n" && !failure.is_not_there());
        let error = run_text("kill -9 $$", LONG, false).unwrap_err();
        assert_eq!(error.to_string(), "the program ended with signal 9 and said nothing");
        let error = run_text("exec no-such-program", LONG, false).unwrap_err();
        assert!(ProgramFailure::behind(&error).unwrap().is_not_there(), "{error}");
    }

    #[test]
    fn what_takes_too_long_or_is_stopped_is_ended_with_all_it_has_started() {
        let marker = format!("{}", 1_000_000 + std::process::id());
        let text = format!("echo begun; sleep {marker} & sleep {marker}");
        let error = run_text(&text, Duration::from_millis(100), false).unwrap_err();
        assert!(error.to_string().contains("time limit of 100ms"), "{error}");
        assert!(error.to_string().ends_with("\n  begun"), "{error}");
        assert!(run_text(&text, LONG, true).unwrap().is_none());
        // What it leaves running when it ends goes as well.
        drop(run_text(&format!("sleep {marker} >&- 2>&- &"), LONG, false).unwrap());
        let left = || {
            let sleeps = |entry: std::io::Result<std::fs::DirEntry>| {
                let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
                String::from_utf8(line).ok().filter(|line| line.contains(&marker))
            };
            std::fs::read_dir("/proc").unwrap().filter_map(sleeps).count()
        };
        // A killed process is gone when whoever waits for it has seen that.
        while left() > 0 {
            std::thread::yield_now();
        }
    }
}
