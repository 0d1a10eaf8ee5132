//! The process that touches mounted file systems, on this machine or in a guest.
//!
//! It is one of its own because a process that is killed while it waits for a file system that it
//! serves itself would wait for ever. Tasks come as lines of JSON on its standard input, marks and
//! answers go back on its standard output, or both on a disk of a guest; it ends with its input.

#![expect(
    clippy::disallowed_methods,
    reason = "how long this machine takes until files are there again after a crash"
)]

use super::catalogue;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use block::Stripe;
use confine::Confinement;
use export::tool;
use host::Error;
use host::mount::{FileSystem, unmount_here, unmount_patiently};
use pull::{
    ExpectedFile, Extent, Findings, Judgement, Mark, NoVerdict, Promise, Statement, Work, judge,
};
use serde::{Deserialize, Serialize};
use words::{Text, statement};

use super::program::{self, CheckResult, OwnProgram};

/// How long a state may take to be mounted, repaired and read where nothing else is said.
pub const STATE_TIME: Duration = Duration::from_secs(60);
/// How long everything else may take.
pub(super) const TASK_TIME: Duration = Duration::from_secs(600);
/// How long the wish to stop may go unnoticed.
const LOOK: Duration = Duration::from_millis(100);

/// The longest that an array may take to be whole, in modelled time.
pub(super) const WHOLE_MOST: Duration = Duration::from_secs(24 * 60 * 60);
/// How often md is looked at meanwhile.
const WHOLE_LOOK: Duration = Duration::from_millis(10);

/// What is to be done.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Task {
    /// Runs a command of the shell.
    Run {
        command: String,
    },
    Make {
        device: PathBuf,
        file_system: String,
        options: Option<String>,
        /// Chunk in bytes and chunks in a row, of an array of ours.
        stripe: Option<(u32, u32)>,
    },
    Mount {
        device: PathBuf,
        point: PathBuf,
        file_system: String,
        options: Option<String>,
    },
    Prepare {
        point: PathBuf,
        work: Work,
        run: u64,
    },
    Work {
        point: PathBuf,
        work: Work,
        run: u64,
        seed: u64,
        extent: Extent,
    },
    /// Sets the folder of a program of the user's own up.
    SetUp {
        point: PathBuf,
        own: OwnProgram,
    },
    /// Runs it.
    WorkOwn {
        point: PathBuf,
        own: OwnProgram,
    },
    /// Runs its check where nothing has crashed.
    Check {
        point: PathBuf,
        check: String,
        at_top: bool,
        promised: Vec<Promise>,
    },
    Unmount {
        point: PathBuf,
    },
    /// Starts an array of md, runs the commands that fill its empty slots, and waits until it is
    /// whole.
    UntilWhole {
        array: Array,
        fill: Vec<String>,
    },
    Judge(Box<StateToJudge>),
}

/// A state to be judged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StateToJudge {
    /// A file that is mounted as a loop device, or a block device.
    pub(super) image: PathBuf,
    pub(super) is_device: bool,
    /// What makes the device, where that is an array of md.
    pub(super) array: Option<Array>,
    /// Mounting it as it is has failed before, in a way of which nothing could be said any more.
    pub(super) repair_first: bool,
    pub(super) point: PathBuf,
    pub(super) file_system: String,
    pub(super) options: Option<String>,
    pub(super) promised: Promises,
}

/// What had been promised before a cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Promises {
    /// Files of a built-in work, with the run in their content.
    Files { run: u64, expected: Vec<ExpectedFile> },
    /// What a program of the user's own has said, and what looks at it.
    Program { check: String, at_top: bool, promises: Vec<Promise> },
}

/// What stands in a log between the requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Entry {
    /// Of a built-in work.
    Mark(Mark),
    /// Of a program of the user's own.
    Statement(Statement),
}

/// Commands of the shell for an array of md.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Array {
    /// Puts it together.
    pub(super) start: String,
    /// The same where something may be lost by it.
    pub(super) force: String,
    /// Lets go of its disks.
    pub(super) stop: String,
}

/// What the worker says.
#[derive(Debug, Serialize, Deserialize)]
enum WorkerMessage {
    /// To be written down; it waits for an empty line.
    Entry(Entry),
    Done,
    /// All is mounted, and the check of the user's begins.
    Checking,
    Checked(CheckResult),
    Judged(Box<Judgement>),
    /// How long it took, in milliseconds of its clock.
    Whole(Option<u64>),
    Failed(Text),
}

/// How the worker is started.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How long it may take to mount, repair and read a state, in real time: what takes longer is
    /// lost.
    pub state_time: Duration,
}

/// A line of a worker's.
pub(super) struct Line {
    pub(super) text: String,
    /// When it was said, on the clock of the guest that it comes from.
    pub(super) time_nanoseconds: Option<u64>,
}

/// What a worker lives in.
pub(super) trait Life {
    /// Gives it a line.
    fn send(&mut self, line: &str) -> Result<(), Error>;
    /// Lets it end in order.
    fn end(&mut self);
    /// Why it has ended, where that is no fault of the test's: a guest's kernel that stopped.
    fn last_words(&mut self) -> Option<Text>;
}

/// A process of this machine. Dropping it kills it.
struct Process {
    child: Child,
    input: Option<ChildStdin>,
}

impl Life for Process {
    fn send(&mut self, line: &str) -> Result<(), Error> {
        let input = self.input.as_mut().expect("open until the end");
        let sent = input.write_all(line.as_bytes()).and_then(|()| input.flush());
        sent.map_err(|error| Error::from_io(catalogue::THE_WORKER, &error))
    }

    fn end(&mut self) {
        self.input = None;
        // Whatever it says, it has nothing mounted any more.
        let _ = self.child.wait();
    }

    fn last_words(&mut self) -> Option<Text> {
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.input.take().is_some() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

impl Program {
    pub(super) fn start(&self, stop: &Arc<AtomicBool>) -> Result<Worker, Error> {
        let failed = |error: &io::Error| Error::from_io(catalogue::STARTING_WORKER, error);
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let input = child.stdin.take().expect("it was piped");
        let output = BufReader::new(child.stdout.take().expect("it was piped"));
        let (sender, said) = mpsc::channel();
        std::thread::spawn(move || {
            for text in output.lines().map_while(Result::ok) {
                if sender.send(Line { text, time_nanoseconds: None }).is_err() {
                    break;
                }
            }
        });
        let life = Process { child, input: Some(input) };
        Ok(Worker::new(Box::new(life), said, self.state_time, stop))
    }
}

/// A worker that works. Dropping it ends it at once.
pub(super) struct Worker {
    life: Box<dyn Life>,
    said: Receiver<Line>,
    /// How long a state may take, in real time.
    state_time: Duration,
    /// Nothing is waited for any more.
    stop: Arc<AtomicBool>,
}

/// How waiting for the worker ended.
pub(super) enum WaitEnd {
    Judged(Judgement),
    /// It has not answered in time.
    Hangs,
    /// The check of the user's has not ended in time.
    CheckHangs,
    /// The kernel on which it worked has stopped.
    Stopped(Text),
}

/// Why there is no answer.
enum NoAnswer {
    Late,
    Ended,
    /// The user has asked for the end.
    Interrupted,
}

impl Worker {
    pub(super) fn new(
        life: Box<dyn Life>,
        said: Receiver<Line>,
        state_time: Duration,
        stop: &Arc<AtomicBool>,
    ) -> Worker {
        Worker { life, said, state_time, stop: Arc::clone(stop) }
    }

    fn send_task(&mut self, task: &Task) -> Result<(), Error> {
        let line = serde_json::to_string(task).map_err(|error| {
            Error::failed(Text::verbatim(&error)).at(catalogue::TASK_FOR_WORKER)
        })?;
        self.life.send(&(line + "\n"))
    }

    fn hear(
        &mut self,
        time: Duration,
    ) -> Result<Result<(WorkerMessage, Option<u64>), NoAnswer>, Error> {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left.min(LOOK)) {
                Ok(line) => {
                    let said = serde_json::from_str(&line.text).map_err(|error| {
                        Error::failed(Text::verbatim(&error)).at(catalogue::WORKER_SAYS_NONSENSE)
                    })?;
                    return Ok(Ok((said, line.time_nanoseconds)));
                }
                // The signal that asks for the end may have reached the worker too.
                Err(_) if self.stop.load(Ordering::Relaxed) => {
                    return Ok(Err(NoAnswer::Interrupted));
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(Err(NoAnswer::Late)),
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => return Ok(Err(NoAnswer::Ended)),
            }
        }
    }

    pub(super) fn carry_out(&mut self, task: &Task) -> Result<Option<u64>, Error> {
        self.carry_out_marking(task, &mut |_, _| 0)
    }

    /// Carries out a task; what it marks is written down before it goes on. When it was done, on
    /// the clock of the guest, where it was done in one.
    pub(super) fn carry_out_marking(
        &mut self,
        task: &Task,
        mark: &mut dyn FnMut(&Entry, Option<u64>) -> u32,
    ) -> Result<Option<u64>, Error> {
        self.send_task(task)?;
        loop {
            match self.hear(TASK_TIME)? {
                Ok((WorkerMessage::Entry(entry), time)) => {
                    mark(&entry, time);
                    self.life.send("\n")?;
                }
                Ok((
                    WorkerMessage::Done
                    | WorkerMessage::Judged(_)
                    | WorkerMessage::Whole(_)
                    | WorkerMessage::Checked(_),
                    time,
                )) => return Ok(time),
                Ok((WorkerMessage::Checking, _)) => (),
                Ok((WorkerMessage::Failed(text), _)) => return Err(Error::failed(text)),
                Err(NoAnswer::Interrupted) => return Err(interrupted()),
                Err(NoAnswer::Late) => {
                    return Err(Error::failed(catalogue::WORK_HANGS));
                }
                Err(NoAnswer::Ended) => {
                    let why = self.life.last_words().map(|why| Text::from(": ").and(why));
                    let why = why.unwrap_or_default();
                    return Err(Error::failed(statement!(catalogue::WORK_ENDED, why = why)));
                }
            }
        }
    }

    pub(super) fn judge(&mut self, state: StateToJudge) -> Result<WaitEnd, Error> {
        self.send_task(&Task::Judge(Box::new(state)))?;
        let mut said = self.hear(self.state_time)?;
        let is_checking = matches!(said, Ok((WorkerMessage::Checking, _)));
        if is_checking {
            said = self.hear(self.state_time)?;
        }
        match said {
            Ok((WorkerMessage::Judged(judgement), _)) => Ok(WaitEnd::Judged(*judgement)),
            Ok((WorkerMessage::Failed(text), _)) => Err(Error::failed(text)),
            Ok(_) => Err(Error::failed(catalogue::WORKER_NO_SENSE)),
            Err(NoAnswer::Interrupted) => Err(interrupted()),
            Err(NoAnswer::Late) if is_checking => Ok(WaitEnd::CheckHangs),
            Err(NoAnswer::Late) => Ok(WaitEnd::Hangs),
            Err(NoAnswer::Ended) => match self.life.last_words() {
                Some(why) => Ok(WaitEnd::Stopped(why)),
                None => Err(Error::failed(catalogue::JUDGE_ENDED)),
            },
        }
    }

    /// Waits until an array is whole: how long it took, in milliseconds, where it is; nothing where
    /// there was no answer in time.
    pub(super) fn until_whole(&mut self, task: &Task) -> Result<Option<Option<u64>>, Error> {
        self.send_task(task)?;
        match self.hear(self.state_time)? {
            Ok((WorkerMessage::Whole(took), _)) => Ok(Some(took)),
            Ok((WorkerMessage::Failed(text), _)) => Err(Error::failed(text)),
            Ok(_) => Err(Error::failed(catalogue::WORKER_NO_SENSE)),
            Err(NoAnswer::Interrupted) => Err(interrupted()),
            Err(NoAnswer::Late | NoAnswer::Ended) => Ok(None),
        }
    }

    /// Runs a check where nothing has crashed: what it has to say of that.
    pub(super) fn try_check(&mut self, task: &Task) -> Result<CheckResult, Error> {
        self.send_task(task)?;
        match self.hear(self.state_time)? {
            Ok((WorkerMessage::Checked(checked), _)) => Ok(checked),
            Ok((WorkerMessage::Failed(text), _)) => Err(Error::failed(text)),
            Ok(_) => Err(Error::failed(catalogue::WORKER_NO_SENSE)),
            Err(NoAnswer::Interrupted) => Err(interrupted()),
            Err(NoAnswer::Late) => Ok(CheckResult::Unjudged(NoVerdict::Hangs)),
            Err(NoAnswer::Ended) => Err(Error::failed(catalogue::CHECK_ENDED)),
        }
    }

    /// Lets it end in order.
    pub(super) fn end(mut self) {
        self.life.end();
    }
}

fn interrupted() -> Error {
    Error::interrupted(catalogue::ASKED_TO_END)
}

/// Writes a whole line at once.
pub type Output<'a> = dyn FnMut(&str) -> io::Result<()> + 'a;

/// The worker's side: until its input ends.
///
/// # Errors
/// When nobody listens any more.
pub fn serve_worker(input: &mut dyn BufRead, output: &mut Output<'_>) -> Result<(), Error> {
    let failed = |error: io::Error| Error::from_io(catalogue::THE_WORKER, &error);
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line).map_err(failed)? == 0 {
            return Ok(());
        }
        let answer = match serde_json::from_str(&line) {
            Ok(task) => carry_out(task, input, output)
                .unwrap_or_else(|error| WorkerMessage::Failed(error.into())),
            Err(error) => WorkerMessage::Failed(Text::verbatim(&error).at(catalogue::NO_SUCH_TASK)),
        };
        say(output, &answer).map_err(failed)?;
    }
}

fn say(output: &mut Output<'_>, said: &WorkerMessage) -> io::Result<()> {
    output(&(serde_json::to_string(said).map_err(io::Error::other)? + "\n"))
}

fn carry_out(
    task: Task,
    input: &mut dyn BufRead,
    output: &mut Output<'_>,
) -> Result<WorkerMessage, Error> {
    if let Task::Judge(state) = &task {
        let checking = &mut || say(output, &WorkerMessage::Checking);
        return judge_state(state, checking).map(|found| WorkerMessage::Judged(Box::new(found)));
    }
    let mut tell = |entry: Entry| -> io::Result<()> {
        say(output, &WorkerMessage::Entry(entry))?;
        match input.read_line(&mut String::new())? {
            0 => Err(io::Error::other(Text::from(catalogue::TEST_IS_OVER))),
            _ => Ok(()),
        }
    };
    let failed = |point: &Path, error: &io::Error| match error.kind() {
        // Where it is mounted is our own affair.
        io::ErrorKind::StorageFull => Error::failed(catalogue::TARGET_FULL),
        _ => Error::from_io(statement!(catalogue::WORKING_IN, path = point.display()), error),
    };
    match task {
        Task::Run { command } => shell(&command)?,
        Task::Make { device, file_system, options, stripe } => {
            let stripe = stripe.and_then(|(chunk, width)| Stripe::new(chunk.into(), width.into()));
            FileSystem::named(&file_system)?.make_with(
                &device,
                options.as_deref(),
                stripe,
                &|| true,
            )?;
        }
        Task::Mount { device, point, file_system, options } => {
            let options = mount_options(options.as_deref(), false);
            FileSystem::named(&file_system)?.mount(&device, &point, Some(&options))?;
        }
        Task::Prepare { point, work, run } => {
            pull::prepare(work, &point, run, &mut |mark| tell(Entry::Mark(mark)))
                .map_err(|error| failed(&point, &error))?;
        }
        Task::Work { point, work, run, seed, extent } => {
            let tell = &mut |mark| tell(Entry::Mark(mark));
            pull::work(work, &point, (run, seed), extent, tell)
                .map_err(|error| failed(&point, &error))?;
        }
        Task::SetUp { point, own } => program::set_up(&point, &own)?,
        Task::WorkOwn { point, own } => {
            program::work(&point, &own, &mut |said| tell(Entry::Statement(said)))?;
        }
        Task::Check { point, check, at_top, promised } => {
            let checked = program::check(&point, (&check, at_top), &promised);
            return checked.map(WorkerMessage::Checked);
        }
        Task::Unmount { point } => unmount_patiently(&point)?,
        Task::UntilWhole { array, fill } => {
            return md_until_whole(&array, &fill).map(WorkerMessage::Whole);
        }
        Task::Judge(_) => unreachable!("it was judged above"),
    }
    Ok(WorkerMessage::Done)
}

/// Whatever is on an image, it may not be used to become somebody else.
fn mount_options(own: Option<&str>, is_image: bool) -> String {
    let loops = if is_image { "loop," } else { "" };
    let own = own.map(|own| format!(",{own}")).unwrap_or_default();
    format!("{loops}nosuid,nodev,noexec{own}")
}

/// How a kind of file system is checked and repaired.
struct Tools {
    check: &'static [&'static str],
    repair: Option<&'static [&'static str]>,
    /// It has no journal: it is checked before it is mounted, as systems do.
    first: bool,
    /// What brings it to what its journal says, where no kernel does.
    replay: Option<&'static [&'static str]>,
}

fn tools(file_system: &str) -> Option<Tools> {
    let with = |check, repair, first| Some(Tools { check, repair, first, replay: None });
    match file_system {
        "ext4" | "ext3" => with(&["e2fsck", "-fn"], Some(&["e2fsck", "-fy"]), false),
        "ext2" => with(&["e2fsck", "-fn"], Some(&["e2fsck", "-fy"]), true),
        "xfs" => with(&["xfs_repair", "-n", "-f"], Some(&["xfs_repair", "-f", "-L"]), false),
        "btrfs" => with(&["btrfs", "check", "--readonly"], None, false),
        "vfat" => with(&["fsck.vfat", "-n"], Some(&["fsck.vfat", "-a"]), true),
        "ntfs" => with(&["ntfsfix", "-n"], Some(&["ntfsfix"]), true),
        // Linux mounts none whose log holds something (jfs_fsck(8)).
        "jfs" => Some(Tools {
            check: &["jfs_fsck", "-n"],
            repair: Some(&["jfs_fsck", "-f"]),
            first: false,
            replay: Some(&["jfs_fsck", "-a"]),
        }),
        _ => None,
    }
}

/// Takes the mark off a FAT that says that it was not unmounted, as it is after any cut: to a check
/// it is an error like those that it looks for.
///
/// The state byte of the boot sector, bit 0: at 65 on FAT32, whose 16-bit count of sectors a FAT is
/// 0, else at 37 (Linux, `include/uapi/linux/msdos_fs.h`: `struct fat_boot_sector`).
fn clear_fat_mark(image: &Path) -> io::Result<()> {
    const MARK: u8 = 1;
    let disk = File::options().read(true).write(true).open(image)?;
    let mut sector = [0; 512];
    disk.read_exact_at(&mut sector, 0)?;
    let is_32 = sector[22..24] == [0, 0];
    let place = if is_32 { 65 } else { 37 };
    if sector[510..] == [0x55, 0xaa] && sector[place] & MARK != 0 {
        disk.write_all_at(&[sector[place] & !MARK], place as u64)?;
        disk.sync_data()?;
    }
    Ok(())
}

/// Whether a tool finds nothing to say about an image; nothing where there is no tool.
fn passes(
    words: &[&str],
    state: &StateToJudge,
    codes: std::ops::RangeInclusive<i32>,
) -> Option<bool> {
    let mut command = tool::command(words[0]);
    // What tells this tool that an image is a file.
    let is_for_files = |word: &str| words[0] == "xfs_repair" && word == "-f";
    let words = words[1..].iter().filter(|word| !(state.is_device && is_for_files(word)));
    command.args(words).arg(&state.image);
    let ran = Confinement::writing_to([&state.image]).output(&mut command).ok()?;
    Some(ran.status.code().is_some_and(|code| codes.contains(&code)))
}

fn shell(command: &str) -> Result<(), Error> {
    let output = tool::command("sh").args(["-c", command]).output();
    let output = output.map_err(|error| Error::from_io("sh", &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    Err(Error::failed(line.unwrap_or(command).to_owned()))
}

/// In the guest: starts an array of md, fills its empty slots, and waits until it is whole. How
/// long that took, in milliseconds; nothing where it does not start or is not whole in time.
fn md_until_whole(array: &Array, fill: &[String]) -> Result<Option<u64>, Error> {
    let begun = Instant::now();
    if shell(&array.start).is_err() {
        // What was put together without being started holds its disks.
        let _ = shell(&array.stop);
        if shell(&array.force).is_err() {
            let _ = shell(&array.stop);
            return Ok(None);
        }
    }
    let mut is_filled = true;
    for command in fill {
        is_filled &= shell(command).is_ok();
    }
    let mut took = None;
    while is_filled && took.is_none() && begun.elapsed() < WHOLE_MOST {
        took = is_whole(Path::new("/sys/block/md0/md")).then(|| begun.elapsed().as_millis() as u64);
        if took.is_none() {
            std::thread::sleep(WHOLE_LOOK);
        }
    }
    shell(&array.stop)?;
    Ok(took)
}

/// Whether md has nothing to bring up to date, by what it says of an array in this folder (Linux,
/// Documentation/admin-guide/md.rst: `sync_action`, `resync_start`, `degraded`).
fn is_whole(folder: &Path) -> bool {
    let says = |name: &str, expected: &str| {
        std::fs::read_to_string(folder.join(name)).is_ok_and(|text| text.trim() == expected)
    };
    says("sync_action", "idle") && says("resync_start", "none") && says("degraded", "0")
}

/// Says that the check of the user's begins.
type CheckNotice<'a> = dyn FnMut() -> io::Result<()> + 'a;

fn judge_state(state: &StateToJudge, checking: &mut CheckNotice<'_>) -> Result<Judgement, Error> {
    let begun = Instant::now();
    let Some(array) = &state.array else { return judge_device(state, begun, checking) };
    let refused = shell(&array.start)
        .err()
        .map(|error| statement!(catalogue::MD_DOES_NOT_START, why = error));
    if let Some(why) = &refused {
        // What was put together without being started holds its disks.
        let _ = shell(&array.stop);
        if shell(&array.force).is_err() {
            let _ = shell(&array.stop);
            let lost_for_good = Some(why.clone());
            return Ok(Judgement { unmountable: refused, lost_for_good, ..Judgement::default() });
        }
    }
    let mut judgement = judge_device(state, begun, checking)?;
    shell(&array.stop)?;
    judgement.unmountable = refused.or(judgement.unmountable);
    Ok(judgement)
}

fn judge_device(
    state: &StateToJudge,
    begun: Instant,
    checking: &mut CheckNotice<'_>,
) -> Result<Judgement, Error> {
    let file_system = FileSystem::named(&state.file_system)?;
    let tools = tools(file_system.name);
    let options = mount_options(state.options.as_deref(), !state.is_device);
    let mut judgement = Judgement::default();
    let repair = || {
        let repair = tools.as_ref().and_then(|tools| tools.repair)?;
        // 1 says that errors were corrected.
        passes(repair, state, 0..=1)
    };
    if state.repair_first {
        repair();
    }
    if let Some(replay) = tools.as_ref().and_then(|tools| tools.replay) {
        passes(replay, state, 0..=1);
    }
    if file_system.name == "vfat" {
        // What cannot be read is found by the check.
        let _ = clear_fat_mark(&state.image);
    }
    if let Some(tools) = tools.as_ref().filter(|tools| tools.first) {
        judgement.check_failed = passes(tools.check, state, 0..=0).map(|passes| !passes);
        if judgement.check_failed == Some(true) {
            repair();
        }
    }
    let mount = || match state.is_device {
        true => file_system.mount_here(&state.image, &state.point, Some(&options)),
        false => file_system.mount(&state.image, &state.point, Some(&options)),
    };
    let mut mounted = mount();
    if let Err(error) = &mounted {
        judgement.unmountable = Some(error.into());
        repair();
        mounted = mount();
    }
    judgement.recovery_milliseconds = begun.elapsed().as_millis() as u64;
    if let Err(error) = mounted {
        judgement.lost_for_good = Some(error.into());
        return Ok(judgement);
    }
    look(state, &mut judgement, checking)?;
    match state.is_device {
        true => unmount_here(&state.point)?,
        false => unmount_patiently(&state.point)?,
    }
    if let Some(tools) = tools.filter(|tools| !tools.first && judgement.unmountable.is_none()) {
        judgement.check_failed = passes(tools.check, state, 0..=0).map(|passes| !passes);
    }
    Ok(judgement)
}

/// Holds what is mounted against what was promised.
fn look(
    state: &StateToJudge,
    judgement: &mut Judgement,
    checking: &mut CheckNotice<'_>,
) -> Result<(), Error> {
    judgement.findings = match &state.promised {
        Promises::Files { run, expected } => Some(judge(&state.point, *run, expected)),
        Promises::Program { promises, at_top: false, .. } if !program::is_there(&state.point) => {
            Some(Findings::of_nothing(promises))
        }
        Promises::Program { check, at_top, promises } => {
            checking().map_err(|error| Error::from_io(catalogue::THE_WORKER, &error))?;
            match program::check(&state.point, (check, *at_top), promises)? {
                CheckResult::Verdict(wrong) => Some(Findings::of_check(promises, wrong)),
                CheckResult::Unjudged(why) => {
                    judgement.unjudged = Some(why);
                    None
                }
            }
        }
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both kinds of FAT, marked and not; what is no FAT stays as it is.
    #[test]
    fn the_mark_of_a_fat_is_taken_off_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("fat.img");
        for (is_32, place) in [(true, 65), (false, 37)] {
            let mut sector = [0xa5_u8; 1024];
            (sector[510], sector[511]) = (0x55, 0xaa);
            sector[22..24].copy_from_slice(if is_32 { &[0, 0] } else { &[9, 0] });
            let cleared = {
                let mut cleared = sector;
                cleared[place] &= !1;
                cleared
            };
            for (before, after) in [(sector, cleared), (cleared, cleared)] {
                std::fs::write(&image, before).unwrap();
                clear_fat_mark(&image).unwrap();
                assert_eq!(std::fs::read(&image).unwrap(), after, "FAT32: {is_32}");
            }
            sector[511] = 0;
            std::fs::write(&image, sector).unwrap();
            clear_fat_mark(&image).unwrap();
            assert_eq!(std::fs::read(&image).unwrap(), sector, "it is no FAT");
        }
    }

    #[test]
    fn an_array_of_md_is_whole_when_it_says_so_in_all_of_three_ways() {
        let folder = tempfile::tempdir().unwrap();
        let say = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let whole = [("sync_action", "idle\n"), ("resync_start", "none\n"), ("degraded", "0\n")];
        assert!(!is_whole(folder.path()), "there is none");
        whole.iter().for_each(|(name, text)| say(name, text));
        assert!(is_whole(folder.path()));
        for (name, text) in
            [("sync_action", "resync\n"), ("resync_start", "128\n"), ("degraded", "1\n")]
        {
            say(name, text);
            assert!(!is_whole(folder.path()), "{name}");
            whole.iter().for_each(|(name, text)| say(name, text));
        }
    }

    fn state() -> StateToJudge {
        StateToJudge {
            image: PathBuf::from("/none"),
            is_device: true,
            array: None,
            repair_first: false,
            point: PathBuf::from("/none"),
            file_system: "ext4".to_owned(),
            options: None,
            promised: Promises::Files { run: 1, expected: Vec::new() },
        }
    }

    fn shell(script: &str, state_time: Duration) -> Worker {
        let arguments = ["-c", script].map(str::to_owned).to_vec();
        let program = Program { path: PathBuf::from("/bin/sh"), arguments, state_time };
        program.start(&Arc::default()).unwrap()
    }

    /// A kernel that hangs in a mount: what waits for it says nothing any more, and is killed.
    #[test]
    fn what_never_answers_hangs_and_is_killed() {
        let mut worker = shell("while read -r task; do :; done", Duration::from_millis(20));
        assert!(matches!(worker.judge(state()), Ok(WaitEnd::Hangs)));
        // It waits for the process, which ends only because it is killed.
        drop(worker);
    }

    #[test]
    fn nothing_is_waited_for_once_the_end_is_asked_for() {
        let mut worker = shell("while read -r task; do :; done", Duration::from_secs(600));
        worker.stop.store(true, Ordering::Relaxed);
        let Err(error) = worker.judge(state()) else { panic!("it never answers") };
        assert_eq!(error.exit_code(), Error::interrupted("").exit_code(), "{error}");
        let task = Task::Run { command: String::new() };
        let error = worker.carry_out(&task).unwrap_err();
        assert_eq!(error.exit_code(), Error::interrupted("").exit_code(), "{error}");
    }

    #[test]
    fn what_ends_without_an_answer_is_an_error_and_no_state() {
        let judge = |script| shell(script, STATE_TIME).judge(state());
        let Err(error) = judge("read -r task") else { panic!("it has ended") };
        assert!(error.to_string().contains("ended early"), "{error}");
        let Err(error) = judge("read -r task; echo nonsense; read -r more") else {
            panic!("it makes no sense")
        };
        assert!(error.to_string().contains("makes no sense"), "{error}");
    }

    /// A life in a guest whose kernel has stopped.
    struct StoppedLife;

    impl Life for StoppedLife {
        fn send(&mut self, _: &str) -> Result<(), Error> {
            Ok(())
        }

        fn end(&mut self) {}

        fn last_words(&mut self) -> Option<Text> {
            Some("Kernel panic - not syncing".into())
        }
    }

    #[test]
    fn a_kernel_that_stops_is_what_a_state_showed() {
        let (_, said) = mpsc::channel();
        let mut worker = Worker::new(Box::new(StoppedLife), said, STATE_TIME, &Arc::default());
        let Ok(WaitEnd::Stopped(why)) = worker.judge(state()) else { panic!("it has stopped") };
        assert_eq!(why.to_string(), "Kernel panic - not syncing");
    }
}
