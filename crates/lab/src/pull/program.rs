//! A program of the user's own in the place of a built-in work, and its check: run by the worker,
//! in a folder of the file system under test.
//!
//! ```text
//!   sh -c TEXT ── $MARKS, a pipe by its name ──┐
//!      │       ── standard output ─────────────┼── poll ──> lines, each as it comes
//!      │       ── standard error: its last line┘
//!   pidfd ── poll ──> its end; what it has left running is killed then
//! ```
//!
//! It may write to its folder, to `$TMPDIR`, which is emptied before each, and to nothing else. In
//! a guest the worker runs before every other program, so that a line is in the log before the
//! program that has said it goes on.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use confine::{Confinement, Watchdog};
use host::Error;
use pull::{NoVerdict, Promise, Statement, Stream, WrongKey, verdict, wrong_keys};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde::{Deserialize, Serialize};
use words::statement;

use crate::pull::catalogue;

/// The folder of the file system in which programs work.
const FOLDER: &str = "work";
/// What they have beside it, next to where the file system is mounted: in memory.
const SCRATCH: &str = "scratch";
/// The most bytes that a line may have: what a pipe takes in one piece.
const LINE_MAX: usize = 4096;
/// The most lines that a check may say which are verdicts.
const VERDICTS_MAX: usize = 10_000;
/// What a shell ends with that cannot run a program.
const NOT_RUN: [i32; 2] = [126, 127];

/// What the user runs in the place of a built-in work, as the shell reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnProgram {
    /// What sets its folder up, before anything is promised.
    #[serde(default)]
    pub setup: Option<String>,
    /// What works, and says what it has promised.
    pub work_command: String,
    /// What looks at the folder after a crash.
    pub check: String,
    /// What is `$STEPS` to the first two.
    pub steps: u32,
    /// It has no folder of its own: the check begins in the top folder of the file system.
    #[serde(default)]
    pub at_top: bool,
}

impl OwnProgram {
    /// A check of what others have recorded.
    #[must_use]
    pub fn only_check(check: String) -> OwnProgram {
        let (setup, work_command, steps, at_top) = (None, String::new(), 0, true);
        OwnProgram { setup, work_command, check, steps, at_top }
    }
}

/// What a check has said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CheckResult {
    /// What is wrong; nothing where it has found nothing.
    Verdict(Vec<WrongKey>),
    /// Nothing: why.
    Unjudged(NoVerdict),
}

/// Makes the program's folder and sets it up, durably.
pub(super) fn set_up(point: &Path, own: &OwnProgram) -> Result<(), Error> {
    let failed = |error: io::Error| Error::from_io(catalogue::PROGRAMS_FOLDER, &error);
    let folder = point.join(FOLDER);
    fs::create_dir(&folder).map_err(failed)?;
    if let Some(setup) = &own.setup {
        let (what, steps) = ("--setup", Some(own.steps));
        let run = Run { what, text: setup, point, folder: FOLDER, steps };
        run.to_the_end(&mut |_| Ok(()))?.succeeded("--setup")?;
    }
    let folder = File::open(&folder).map_err(failed)?;
    rustix::fs::syncfs(folder).map_err(|error| failed(error.into()))
}

/// Works; each line that the program says is told as it comes, and standard output only until
/// something comes by `$MARKS`.
pub(super) fn work(
    point: &Path,
    own: &OwnProgram,
    tell: &mut dyn FnMut(Statement) -> io::Result<()>,
) -> Result<(), Error> {
    const WHAT: &str = "--work-command";
    let failed = |error: io::Error| Error::from_io(WHAT, &error);
    let (text, steps) = (&own.work_command, Some(own.steps));
    let run = Run { what: WHAT, text, point, folder: FOLDER, steps };
    let mut has_marks = false;
    let ended = run.to_the_end(&mut |line| match line {
        Line::Of(Stream::Output, _) if has_marks => Ok(()),
        Line::Of(stream, bytes) => {
            has_marks |= stream == Stream::Marks;
            let line = match String::from_utf8(bytes.to_vec()) {
                Ok(line) => line,
                Err(_) if stream == Stream::Marks => {
                    return Err(Error::failed(statement!(catalogue::MARKS_NOT_UTF_8, what = WHAT)));
                }
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            };
            tell(Statement { stream, line }).map_err(failed)
        }
        Line::TooLong(Stream::Output) => Ok(()),
        Line::TooLong(Stream::Marks) => Err(Error::failed(statement!(
            catalogue::MARKS_TOO_LONG,
            what = WHAT,
            line_max = LINE_MAX
        ))),
        // What was not handed over whole would be promised by nobody.
        Line::Unended(Stream::Output) => Ok(()),
        Line::Unended(Stream::Marks) => {
            Err(Error::failed(statement!(catalogue::MARKS_UNENDED, what = WHAT)))
        }
    })?;
    ended.succeeded(WHAT)
}

/// Looks at what is left of what was promised, from the program's folder on or from the top one.
pub(super) fn check(
    point: &Path,
    (text, at_top): (&str, bool),
    promised: &[Promise],
) -> Result<CheckResult, Error> {
    let folder = if at_top { "" } else { FOLDER };
    let run = Run { what: "--check", text, point, folder, steps: None };
    let mut lines = Vec::new();
    let promise = |promise: &Promise| format!("{}\n", promise.line);
    let text = promised.iter().map(promise).collect::<String>();
    let begun = run.begin(Some(&text))?;
    let ended = run.wait(begun, &mut |line| {
        if let Line::Of(Stream::Output, bytes) = line {
            let line = String::from_utf8_lossy(bytes).into_owned();
            if lines.len() < VERDICTS_MAX && verdict(&line).is_some() {
                lines.push(line);
            }
        }
        Ok(())
    })?;
    let EndedProgram { status, .. } = ended;
    Ok(match (status.signal(), status.code()) {
        (Some(number), _) => CheckResult::Unjudged(NoVerdict::Signal(number)),
        (_, Some(code)) if NOT_RUN.contains(&code) => {
            CheckResult::Unjudged(NoVerdict::NotRun(code))
        }
        _ => CheckResult::Verdict(wrong_keys(&lines, status.success(), promised)),
    })
}

/// Whether the folder, which was durable before anything was promised, is there.
pub(super) fn is_there(point: &Path) -> bool {
    point.join(FOLDER).is_dir()
}

/// A program that is to be run.
struct Run<'a> {
    /// What an error calls it.
    what: &'static str,
    text: &'a str,
    point: &'a Path,
    /// Where it begins, below that.
    folder: &'a str,
    steps: Option<u32>,
}

/// What a program says.
enum Line<'a> {
    Of(Stream, &'a [u8]),
    TooLong(Stream),
    /// Something stood behind the last end of a line.
    Unended(Stream),
}

type LineSink<'a> = dyn FnMut(Line<'_>) -> Result<(), Error> + 'a;

/// A program that runs.
struct RunningProgram {
    child: Child,
    watchdog: Watchdog,
    marks: Lines<File>,
    output: Lines<OwnedFd>,
    errors: Lines<OwnedFd>,
}

/// A program that has ended.
struct EndedProgram {
    status: ExitStatus,
    /// The last line of its standard error that is not empty.
    last_error: String,
}

impl EndedProgram {
    fn succeeded(self, what: &str) -> Result<(), Error> {
        let how = match (self.status.code(), self.status.signal()) {
            (Some(0), _) => return Ok(()),
            (Some(code), _) => statement!(catalogue::ENDED_WITH_CODE, code = code),
            (_, signal) => {
                statement!(catalogue::ENDED_BY_SIGNAL, number = signal.unwrap_or_default())
            }
        };
        let said = match &*self.last_error {
            "" => String::new(),
            line => format!(": {line}"),
        };
        Err(Error::failed(statement!(
            catalogue::PROGRAM_ENDED,
            what = what,
            how = how,
            said = said
        )))
    }
}

impl Run<'_> {
    fn failed(&self, error: &io::Error) -> Error {
        Error::from_io(self.what, error)
    }

    fn to_the_end(&self, hear: &mut LineSink<'_>) -> Result<EndedProgram, Error> {
        let begun = self.begin(None)?;
        self.wait(begun, hear)
    }

    fn begin(&self, promised: Option<&str>) -> Result<RunningProgram, Error> {
        self.start(promised).map_err(|error| self.failed(&error))
    }

    /// Starts it, with what was promised in a file of its own where it is a check.
    fn start(&self, promised: Option<&str>) -> io::Result<RunningProgram> {
        let folder = self.point.join(self.folder);
        let scratch = self.point.with_file_name(SCRATCH);
        match fs::remove_dir_all(&scratch) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir(&scratch)?,
        }
        let at = |name: &str| scratch.join(name);
        fs::create_dir(at("tmp"))?;
        rustix::fs::mknodat(CWD, at("marks"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        // Open for both it does not end with the first of its writers.
        let marks = rustix::fs::open(
            at("marks"),
            OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let mut command = Command::new("sh");
        command.args(["-c", self.text]).current_dir(&folder).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("HOME", at("tmp")).env("TMPDIR", at("tmp")).env("LC_ALL", "C");
        match (promised, self.steps) {
            (Some(text), _) => {
                fs::write(at("promised"), text)?;
                command.env("PROMISED", at("promised"));
            }
            (None, steps) => {
                command.env("MARKS", at("marks"));
                command.envs(steps.map(|steps| ("STEPS", steps.to_string())));
            }
        }
        let mut watchdog = Watchdog::start([])?;
        let writable: [PathBuf; 2] = [folder, scratch];
        let mut child = Confinement::writing_to(writable).spawn(&mut command)?;
        drop(watchdog.watch(&child)?);
        let output = OwnedFd::from(child.stdout.take().expect("it was piped"));
        let errors = OwnedFd::from(child.stderr.take().expect("it was piped"));
        for pipe in [&output, &errors] {
            rustix::fs::fcntl_setfl(pipe, OFlags::NONBLOCK)?;
        }
        Ok(RunningProgram {
            child,
            watchdog,
            marks: Lines::of(File::from(marks)),
            output: Lines::of(output),
            errors: Lines::of(errors),
        })
    }

    /// Hears all that it says, until it has ended, and ends what it has left running.
    fn wait(
        &self,
        mut begun: RunningProgram,
        hear: &mut LineSink<'_>,
    ) -> Result<EndedProgram, Error> {
        let failed = |error: io::Error| self.failed(&error);
        let process = Pid::from_child(&begun.child);
        let mut last_error = String::new();
        let heard = (|| {
            let end =
                pidfd_open(process, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
            loop {
                let has_ended = begun.await_something(&end).map_err(failed)?;
                if has_ended {
                    // What it has left running says nothing any more.
                    let _ = kill_process_group(process, Signal::KILL);
                }
                let RunningProgram { marks, output, errors, .. } = &mut begun;
                marks.drain(Stream::Marks, hear).map_err(failed)??;
                output.drain(Stream::Output, hear).map_err(failed)??;
                let mut last = |line: Line<'_>| {
                    if let Line::Of(_, bytes) = line
                        && !bytes.trim_ascii().is_empty()
                    {
                        last_error = String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
                    }
                    Ok(())
                };
                errors.drain(Stream::Output, &mut last).map_err(failed)??;
                if has_ended {
                    marks.end(Stream::Marks, hear)?;
                    return output.end(Stream::Output, hear);
                }
            }
        })();
        let _ = kill_process_group(process, Signal::KILL);
        let status = begun.child.wait().map_err(failed)?;
        drop(begun.watchdog);
        heard.map(|()| EndedProgram { status, last_error })
    }
}

impl RunningProgram {
    /// Waits until it says something or ends; whether it has ended.
    fn await_something(&self, end: &OwnedFd) -> io::Result<bool> {
        let pipes = [self.output.from.as_ref(), self.errors.from.as_ref()];
        let mut watched = vec![PollFd::new(end, PollFlags::IN)];
        watched.extend(self.marks.from.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        watched.extend(pipes.into_iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        loop {
            match poll(&mut watched, None) {
                Err(rustix::io::Errno::INTR) => (),
                result => {
                    result?;
                    return Ok(!watched[0].revents().is_empty());
                }
            }
        }
    }
}

/// Lines that come through a pipe which does not wait.
struct Lines<R> {
    from: Option<R>,
    held: VecDeque<u8>,
    /// The rest of a line that was too long is passed over.
    is_skipping: bool,
}

impl<R: AsFd> Lines<R> {
    fn of(from: R) -> Lines<R> {
        Lines { from: Some(from), held: VecDeque::new(), is_skipping: false }
    }

    /// Takes what is there.
    fn drain(&mut self, stream: Stream, hear: &mut LineSink<'_>) -> io::Result<Result<(), Error>> {
        let mut buffer = [0; 16 << 10];
        while let Some(from) = &self.from {
            match rustix::io::read(from, &mut buffer) {
                Ok(0) => self.from = None,
                Ok(count) => {
                    if let Err(error) = self.take(&buffer[..count], stream, hear) {
                        return Ok(Err(error));
                    }
                }
                Err(rustix::io::Errno::AGAIN) => break,
                Err(rustix::io::Errno::INTR) => (),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Ok(()))
    }

    fn take(&mut self, bytes: &[u8], stream: Stream, hear: &mut LineSink<'_>) -> Result<(), Error> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let has_ended = piece.ends_with(b"\n");
            if !self.is_skipping {
                self.held.extend(piece.iter().filter(|&&byte| byte != b'\n'));
            }
            if self.held.len() > LINE_MAX {
                self.held.clear();
                self.is_skipping = true;
                hear(Line::TooLong(stream))?;
            }
            if has_ended {
                if !std::mem::take(&mut self.is_skipping) {
                    hear(Line::Of(stream, self.held.make_contiguous()))?;
                }
                self.held.clear();
            }
        }
        Ok(())
    }

    /// Nothing more comes.
    fn end(&mut self, stream: Stream, hear: &mut LineSink<'_>) -> Result<(), Error> {
        if self.held.is_empty() { Ok(()) } else { hear(Line::Unended(stream)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(work_command: &str) -> OwnProgram {
        let check = "true".to_owned();
        OwnProgram {
            setup: None,
            work_command: work_command.to_owned(),
            check,
            steps: 3,
            at_top: false,
        }
    }

    /// What a work says in a folder of its own, or the line of its failure.
    fn said(text: &str) -> Result<Vec<(Stream, String)>, String> {
        let folder = tempfile::tempdir().unwrap();
        let point = folder.path().join("mounted");
        fs::create_dir(&point).unwrap();
        set_up(&point, &own(text)).unwrap();
        let mut all = Vec::new();
        let mut tell = |Statement { stream, line }| {
            all.push((stream, line));
            Ok(())
        };
        work(&point, &own(text), &mut tell).map_err(|error| error.to_string())?;
        Ok(all)
    }

    #[test]
    fn lines_come_by_marks_or_are_printed() {
        let of = |stream, line: &str| (stream, line.to_owned());
        let marks = "for i in $(seq $STEPS); do echo $i >>$MARKS; done; echo printed";
        let [one, two, three] = ["1", "2", "3"].map(|line| of(Stream::Marks, line));
        assert_eq!(said(marks).unwrap()[..3], [one, two, three]);
        assert_eq!(said("echo a; printf b").unwrap(), [of(Stream::Output, "a")]);
        assert_eq!(said("exec 5>$MARKS; echo x >&5").unwrap(), [of(Stream::Marks, "x")]);
        // What it has left running is ended, and is not waited for.
        assert_eq!(said("sleep 1000 & echo a").unwrap(), [of(Stream::Output, "a")]);
    }

    #[test]
    fn what_goes_wrong_is_said_in_one_line() {
        for (text, expected) in [
            ("echo no >&2; exit 3", "--work-command ended with exit code 3: no"),
            ("kill -9 $$", "--work-command was ended by signal 9"),
            ("printf half >$MARKS", "no end of line"),
            ("head -c 5000 /dev/zero >$MARKS; echo >$MARKS", "longer than 4096 bytes"),
            ("printf '\\377\\n' >$MARKS", "not UTF-8"),
        ] {
            let error = said(text).unwrap_err();
            assert!(error.contains(expected) && error.lines().count() == 1, "{text}: {error}");
        }
        if confine::supported().is_ok() {
            let folder = tempfile::tempdir().unwrap();
            let outside = folder.path().join("outside");
            let error = said(&format!("echo >{}", outside.display())).unwrap_err();
            assert!(error.contains("it may write to the folder"), "{error}");
            assert!(!outside.exists());
        }
    }

    #[test]
    fn a_check_judges_or_says_why_it_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let point = folder.path().join("mounted");
        fs::create_dir(&point).unwrap();
        set_up(&point, &own("true")).unwrap();
        let promised =
            ["a", "b"].map(|line| Promise { line: line.to_owned(), since_nanoseconds: 5 });
        let check = |text: &str| check(&point, (text, false), &promised).unwrap();
        let text = "while read -r key; do [ -e $key ] || echo lost $key; done <$PROMISED";
        let CheckResult::Verdict(wrong) = check(text) else { panic!("it judges") };
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert_eq!(check("true"), CheckResult::Verdict(Vec::new()));
        assert!(matches!(check("exit 1"), CheckResult::Verdict(wrong) if wrong.len() == 1));
        assert_eq!(check("kill -11 $$"), CheckResult::Unjudged(NoVerdict::Signal(11)));
        assert_eq!(check("/none/such"), CheckResult::Unjudged(NoVerdict::NotRun(127)));
    }
}
