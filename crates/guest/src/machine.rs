//! A guest from its start to its end: its own folder, its processes, its disks.
//!
//! ```text
//!   FOLDER/            the kernel's working folder, so that all paths it is told are the same text
//!     linux            the kernel                     (link)
//!     random.so        chance from the seed           (copy)
//!     init             its first process
//!     time, d0, d1 …   sockets, which we listen on
//!     own/             job, power-off, status; bin/ with what stands before the host's programs
//!     out/             what the job leaves behind     (writable, /mnt/out inside)
//!     uml/             the kernel's own
//!     memory           where its memory is kept       (link to a folder of its own)
//!     before           what another guest has left    (link, /mnt/before inside)
//!     console          what the kernel says
//! ```
//!
//! Root in a guest is not held back by it: `mount -o remount,rw /` works there. What holds is that
//! the host's kernel lets the guest's processes write to `own`, `out` and `uml`, and nowhere else
//! ([`Confinement`]). Where root has started it, they also read only what [`public`] says.
//!
//! Two processes belong to a guest: the kernel, which leads a process group of its own, and a
//! watchdog that waits for the end of a pipe of ours. Whichever way we end, `kill -9` included, the
//! pipe ends, and the watchdog kills the group and removes the folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use block::{Error, ErrorKind, Reactor, Time};
use confine::{Confinement, Teller, Watchdog};
use export::vhost_user::AnsweredRequest;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{OFlags, StatVfsMountFlags};
use rustix::process::{Pid, Signal};
use rustix::thread::CpuSet;
use words::{Message, Text, statement};

use crate::bounds::BoundWatch;
use crate::catalogue;
use crate::scheduler::DATE;
use crate::{
    Cut, Disk, Drive, GoOn, GuestEnding, GuestSign, Kernel, Scheduler, TimeBounds, public,
};

/// What is run first inside.
const INIT: &str = include_str!("inside/init.sh");
/// What is run in the place of the host's program of that name.
const FIO: (&str, &str) = ("fio", include_str!("inside/fio.sh"));
/// The most that is taken of a file that a guest has left.
const LEFT_BYTES_MAX: u64 = 64 << 20;
/// The least memory that a guest starts with.
const MEMORY_MIN_BYTES: u64 = 32 << 20;
/// File systems in memory, by statfs.
const TMPFS: u64 = 0x0102_1994;

/// A guest that is to be started.
pub struct Boot<'a> {
    /// Its kernel.
    pub kernel: &'a Kernel,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
    /// What all chance in it comes from.
    pub seed: u64,
    /// Its disks: `/dev/vda` is the first.
    pub disks: Vec<Drive>,
    /// The most requests that it gives a disk at a time; `None` for the kernel's own 256.
    pub queue_depth: Option<u32>,
    /// The shell script that it runs. `$DISK` and `$TMPDIR` are folders to mount on and to write
    /// to, what is put into `$OUT` is in [`Outcome::folder`] afterwards.
    pub job: &'a str,
    /// More for the kernel's command line.
    pub parameters: &'a str,
    /// Where its processes run.
    pub processor: Processor,
    /// How long it may take in real time.
    pub bounds: TimeBounds,
    /// When its power fails.
    pub cut: Option<Cut>,
    /// A folder of the host that it finds as `$BEFORE`: what a guest has left whose power failed.
    pub before: Option<&'a Path>,
}

/// Where the processes of a guest run. On one processor it is twice as fast, for only one of them
/// works at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// Wherever the host puts them.
    Any,
    /// All on that on which the caller runs.
    Same,
    /// All on this one of those that the caller may use, counted from 0; beyond the last, from the
    /// first again.
    Number(usize),
}

/// How it went.
#[derive(Debug)]
pub struct Outcome {
    /// When it ended, on its own clock.
    pub time: Time,
    /// Messages about time that it has sent.
    pub messages: u64,
    /// How long it took in real time.
    pub took: Duration,
    /// The exit code of the job; `None` where the power failed before it had ended.
    pub status: Option<i32>,
    /// What the job printed.
    pub output: String,
    /// What the job printed as errors.
    pub errors: String,
    /// What the kernel said.
    pub console: String,
    /// What each disk was asked for, in the order in which it was done.
    pub logs: Vec<Vec<AnsweredRequest>>,
    /// What the job has left in `$OUT`; gone with this value.
    folder: Folder,
}

impl Outcome {
    /// When the work of a [`Setup`](crate::Setup) began and ended; `None` where it did not come to
    /// that.
    #[must_use]
    pub fn work(&self) -> Option<(Time, Time)> {
        let text = self.folder.read("out/work");
        let (begin, end) = text.trim().split_once(' ')?;
        let time = |text: &str| Some(modelled(text.parse::<u64>().ok()?));
        Some((time(begin)?, time(end)?))
    }

    /// Whether the work of a [`Setup`](crate::Setup) has begun: all is made and mounted.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.folder.path.join("out/begun").exists()
    }

    /// The folder that was `$OUT`.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path.join("out")
    }
}

/// The modelled time at which the date in a guest is this, in nanoseconds since 1970.
#[must_use]
pub fn modelled(date: u64) -> Time {
    Time(date.saturating_sub(DATE))
}

/// Whether a guest starts with so many bytes of memory.
///
/// # Errors
/// [`ErrorKind::Invalid`] where it does not.
pub fn check_memory(bytes: u64) -> Result<(), Error> {
    if bytes < MEMORY_MIN_BYTES {
        let text = statement!(catalogue::TOO_LITTLE_MEMORY, bytes = bytes);
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    Ok(())
}

impl Boot<'_> {
    /// Runs the guest to its end; `go_on` is asked now and then whether it is to.
    ///
    /// # Errors
    /// What is missing on the host; a kernel that ends without having done its job, with the last
    /// that it said; a device that fails to open; [`ErrorKind::TimedOut`] where it has passed one
    /// of its bounds.
    pub fn run(&self, go_on: &(dyn Fn() -> bool + Sync)) -> Result<Outcome, Error> {
        check_memory(self.memory_bytes)?;
        check_confined(rustix::process::geteuid().is_root(), confine::supported().is_ok())?;
        // A thread of its own, for it takes its processor with it.
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.processor.stay();
                self.run_here(go_on)
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn run_here(&self, go_on: &dyn Fn() -> bool) -> Result<Outcome, Error> {
        let wall = Reactor::wall()?;
        let mut folder = self.make_folder()?;
        let call = folder.listen("time")?;
        let reactor = Reactor::virtual_clock();
        let mut disks = Vec::new();
        for (number, drive) in self.disks.iter().enumerate() {
            let line = folder.listen(&format!("d{number}"))?;
            disks.push(Disk::new(drive, &format!("disk{number}"), line, &reactor)?);
        }
        let mut processes = self.start(&mut folder)?;
        let watch = BoundWatch::new(self.bounds, folder.path.join("out/output"));
        let taken = || Duration::from_nanos(wall.now().nanoseconds());
        let go_on = |sign: GuestSign| watch.goes_on(taken(), sign) && go_on();
        let served = self.serve(&mut processes, &call, disks, (&reactor, &wall), &go_on);
        drop(processes);
        let (ended, disks) = match (served, watch.error(reactor.now(), folder.last_words())) {
            (Err(_), Some(over)) => return Err(over),
            (served, _) => served?,
        };
        let Some(ended) = ended else {
            return Err(folder.ended_early(catalogue::KERNEL_ENDED_EARLY));
        };
        let said = parse_status(&folder.read("own/status")).filter(|_| !ended.cut);
        let (status, date) = match said {
            Some((status, date)) => (Some(status), date),
            None if ended.cut => (None, 0),
            None => return Err(folder.ended_early(catalogue::JOB_ENDED_EARLY)),
        };
        Ok(Outcome {
            // It tells us the time only when it has to.
            time: ended.time.max(Time(date.saturating_sub(DATE))),
            messages: ended.messages,
            took: taken(),
            status,
            output: folder.read("out/output"),
            errors: folder.read("out/errors"),
            console: folder.read("console"),
            logs: disks.into_iter().map(Disk::into_log).collect(),
            folder,
        })
    }

    /// Serves its kernel until that has hung up, or its power has failed; nothing where it ended
    /// before it began.
    fn serve(
        &self,
        processes: &mut Processes,
        call: &UnixListener,
        disks: Vec<Disk>,
        (reactor, wall): (&Reactor, &Reactor),
        go_on: &GoOn<'_>,
    ) -> Result<(Option<GuestEnding>, Vec<Disk>), Error> {
        let Some(kernel) = processes.first_call(call, go_on)? else {
            return Ok((None, disks));
        };
        let mut scheduler = Scheduler::new(kernel, disks, reactor);
        scheduler.asking(go_on);
        if let Some(cut) = self.cut {
            scheduler.cut(cut);
        }
        let ended = scheduler.run()?;
        let disks = std::mem::take(&mut scheduler.disks);
        // It has hung up, and now it goes, or is made to.
        drop(scheduler);
        if !ended.cut {
            processes.wait_for_kernel(wall)?;
        }
        Ok((Some(ended), disks))
    }

    fn make_folder(&self) -> Result<Folder, Error> {
        let folder = Folder::make(&memory_folder(self.memory_bytes)?)
            .map_err(|error| failed(catalogue::GUEST_FOLDERS, error))?;
        let at = |name: &str| folder.path.join(name);
        let make = || -> io::Result<()> {
            fs::create_dir(at("own"))?;
            fs::create_dir(at("out"))?;
            fs::create_dir(at("uml"))?;
            symlink(self.kernel.linux(), at("linux"))?;
            symlink(&folder.memory, at("memory"))?;
            if let Some(before) = self.before {
                symlink(before, at("before"))?;
            }
            fs::copy(self.kernel.random(), at("random.so"))?;
            fs::copy(self.kernel.power_off(), at("own/power-off"))?;
            fs::write(at("own/job"), self.job)?;
            self.put_before_hosts(&at("own/bin"))?;
            write_program(&at("init"), INIT)
        };
        make().map_err(|error| failed(folder.path.display(), error))?;
        Ok(folder)
    }

    /// Makes the folder of what the guest finds before the host's programs of the same names.
    fn put_before_hosts(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)?;
        let (name, text) = FIO;
        let path = std::env::var_os("PATH").unwrap_or_default();
        if std::env::split_paths(&path).any(|folder| folder.join(name).is_file()) {
            fs::copy(self.kernel.clock(), folder.join("clock.so"))?;
            write_program(&folder.join(name), text)?;
        }
        Ok(())
    }

    fn start(&self, folder: &mut Folder) -> Result<Processes, Error> {
        let console = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.path.join("console"))
            .map_err(|error| failed(catalogue::GUEST_CONSOLE, error))?;
        let errors =
            console.try_clone().map_err(|error| failed(catalogue::GUEST_CONSOLE, error))?;
        let mut command = Command::new("setarch");
        // Without -R it would lie elsewhere in memory each time.
        command.args(["-R", "./linux", "time-travel=ext:time"]);
        command.arg(format!("mem={}K", self.memory_bytes >> 10));
        command.args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]);
        command.args(["con=null", "con0=null,fd:1", "con1=null", "panic=-1"]);
        command.args(["umid=guest", "uml_dir=./uml/", "init=/proc/self/cwd/init"]);
        command.args((0..self.disks.len()).map(|number| format!("virtio_uml.device=d{number}:2")));
        command.args(self.queue_depth.map(|depth| format!("virtio_blk.queue_depth={depth}")));
        command.args(self.parameters.split_whitespace());
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        command.env_clear().env("PATH", path).env("HOME", ".");
        command.env("TMPDIR", "./memory");
        command.env("LD_PRELOAD", "./random.so");
        command.env("RAIDLOOM_GUEST_SEED", self.seed.to_string());
        command.current_dir(&folder.path).process_group(0);
        command.stdin(Stdio::null()).stdout(console).stderr(errors);
        let confinement = self.confinement(folder);
        let kernel = confinement.spawn(&mut command).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, catalogue::SETARCH_MISSING),
            _ => failed(catalogue::STARTING_GUEST, error),
        })?;
        let mut processes = Processes { kernel, gone: None };
        let teller = folder.watchdog.watch(&processes.kernel);
        processes.gone = Some(teller.map_err(|error| failed(catalogue::STARTING_WATCHDOG, error))?);
        Ok(processes)
    }

    /// What the guest's processes may do on the host.
    fn confinement(&self, folder: &Folder) -> Confinement {
        let own = ["own", "out", "uml"].map(|name| folder.path.join(name));
        let confinement = Confinement::writing_to(own.into_iter().chain([folder.memory.clone()]));
        if !rustix::process::geteuid().is_root() {
            return confinement;
        }
        let kernel = [folder.path.clone(), self.kernel.linux().to_owned()];
        let before = self.before.map(Path::to_owned);
        let work = public::of_system().into_iter().chain(public::named_in(self.job));
        confinement.reading(kernel.into_iter().chain(before).chain(work))
    }
}

/// Writes a script that everybody may run.
fn write_program(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Whether a guest may be started: with root's rights on a kernel that holds it to nothing, root in
/// the guest could write to any file of the host.
fn check_confined(is_root: bool, is_held: bool) -> Result<(), Error> {
    if is_root && !is_held {
        return Err(Error::new(ErrorKind::Refused, catalogue::NO_LANDLOCK_FOR_ROOT));
    }
    Ok(())
}

/// A guest's own folders, removed with this value, and the watchdog, which removes them where this
/// process does not come to it.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Where the kernel keeps the guest's memory.
    memory: PathBuf,
    watchdog: Watchdog,
}

impl Folder {
    /// Makes both, that of the memory in `memory_in`. The watchdog knows them before they are
    /// there, so that nothing is left of them at whatever moment this process is killed.
    fn make(memory_in: &Path) -> io::Result<Folder> {
        let memory_in = std::path::absolute(memory_in)?;
        let made = tempfile::Builder::new().prefix("raidloom-guest-").make(|path| {
            let mut memory = path.file_name().unwrap_or_default().to_owned();
            memory.push("-memory");
            let memory = memory_in.join(memory);
            let watchdog = Watchdog::start([path, &memory])?;
            let make = |path: &Path| fs::DirBuilder::new().mode(0o700).create(path);
            make(path)?;
            make(&memory).inspect_err(|_| drop(fs::remove_dir(path)))?;
            Ok((memory, watchdog))
        })?;
        let ((memory, watchdog), path) = made.keep().map_err(|error| error.error)?;
        Ok(Folder { path, memory, watchdog })
    }

    fn listen(&self, name: &str) -> Result<UnixListener, Error> {
        // A socket's path is at most 107 bytes, which this folder's may be longer than.
        let folder =
            File::open(&self.path).map_err(|error| failed(catalogue::GUEST_FOLDER, error))?;
        let path = format!("/proc/self/fd/{}/{name}", folder.as_raw_fd());
        UnixListener::bind(path).map_err(|error| failed(catalogue::GUEST_SOCKET, error))
    }

    /// What a file holds, as text; nothing where there is none. The guest may have put anything in
    /// its place: no link is followed, and nothing but a file is read.
    fn read(&self, name: &str) -> String {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened =
            File::options().read(true).custom_flags(flags.bits() as i32).open(self.path.join(name));
        let mut bytes = Vec::new();
        if let Ok(file) = opened
            && file.metadata().is_ok_and(|data| data.is_file())
        {
            let _ = file.take(LEFT_BYTES_MAX).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn last_words(&self) -> Text {
        last_words(&self.read("console"))
    }

    fn ended_early(&self, what: Message) -> Error {
        Error::new(ErrorKind::Other, self.last_words().at(what))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is in the system's folder for such things, with a telling name.
        let _ = fs::remove_dir_all(&self.path);
        let _ = fs::remove_dir_all(&self.memory);
        // And the watchdog, which has nothing to remove any more.
    }
}

/// What the first process says at the end: the job's exit code, and the date in nanoseconds.
fn parse_status(text: &str) -> Option<(i32, u64)> {
    let (status, date) = text.trim().split_once(' ')?;
    Some((status.parse().ok()?, date.parse().ok()?))
}

/// The line of a console that says best why it ended: the first of a panic, or else the last.
fn last_words(console: &str) -> Text {
    let lines = || console.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().find(|line| line.contains("Kernel panic")).or_else(|| lines().next_back());
    let said = |line: &str| line.split_once("] ").map_or(line, |(_, text)| text).into();
    line.map_or_else(|| catalogue::GUEST_KERNEL_SILENT.into(), said)
}

/// The kernel with all that it has started.
struct Processes {
    kernel: Child,
    /// Where the watchdog is told that they are gone.
    gone: Option<Teller>,
}

impl Processes {
    /// The kernel's first call; `None` where it ended before.
    fn first_call(
        &mut self,
        listener: &UnixListener,
        go_on: &GoOn<'_>,
    ) -> Result<Option<OwnedFd>, Error> {
        let pause = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        loop {
            let mut watched = [PollFd::new(listener, PollFlags::IN)];
            match rustix::event::poll(&mut watched, Some(&pause)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => (),
                Ok(_) => {
                    let (socket, _) =
                        listener.accept().map_err(|error| failed(catalogue::HEARING, error))?;
                    return Ok(Some(socket.into()));
                }
                Err(error) => return Err(failed(catalogue::WAITING_FOR_GUEST, error.into())),
            }
            let ended =
                self.kernel.try_wait().map_err(|error| failed(catalogue::THE_GUEST, error))?;
            if ended.is_some() {
                return Ok(None);
            }
            if !go_on(GuestSign::Alive) {
                return Err(Error::new(ErrorKind::Other, catalogue::GIVEN_UP_AT_START));
            }
        }
    }

    /// It has closed its sockets, so it is about to end.
    fn wait_for_kernel(&mut self, wall: &Reactor) -> Result<(), Error> {
        let deadline = wall.now() + Duration::from_secs(5);
        while wall.now() < deadline && matches!(self.kernel.try_wait(), Ok(None)) {
            wall.wait(Some(wall.now() + Duration::from_millis(2)))
                .map_err(|error| failed(catalogue::WAITING_FOR_END, error))?;
        }
        Ok(())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // Processes of the guest's programs may outlive the kernel, as the host sees them.
        if let Some(group) = Pid::from_raw(self.kernel.id() as i32) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = self.kernel.wait();
        if let Some(teller) = self.gone.take() {
            teller.gone();
        }
    }
}

/// Where the kernel can keep the guest's memory: in a file of a file system in memory if possible,
/// from which programs can be run.
fn memory_folder(bytes: u64) -> Result<PathBuf, Error> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("TMPDIR").into_iter().map(Into::into).collect();
    let user = rustix::process::getuid().as_raw();
    folders.extend([format!("/run/user/{user}").into(), "/dev/shm".into()]);
    folders.extend(["/tmp", "/var/tmp"].map(PathBuf::from));
    let in_memory =
        |path: &Path| rustix::fs::statfs(path).is_ok_and(|data| data.f_type as u64 == TMPFS);
    let (memory, disk): (Vec<_>, Vec<_>) =
        folders.iter().partition(|folder| in_memory(folder.as_path()));
    memory.into_iter().chain(disk).find(|folder| holds_memory(folder, bytes)).cloned().ok_or_else(
        || {
            let text = statement!(catalogue::NO_ROOM_FOR_MEMORY, size = bytes >> 20);
            Error::new(ErrorKind::NoSpace, text)
        },
    )
}

fn holds_memory(folder: &Path, bytes: u64) -> bool {
    let writable = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok();
    rustix::fs::statvfs(folder).is_ok_and(|space| {
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        writable && !space.f_flag.contains(StatVfsMountFlags::NOEXEC) && free > bytes
    })
}

/// This thread and what it starts stay on the processor where it is.
impl Processor {
    /// Keeps this thread there, and what it starts.
    fn stay(self) {
        let mut set = CpuSet::new();
        match self {
            Processor::Any => return,
            Processor::Same => set.set(rustix::thread::sched_getcpu()),
            Processor::Number(number) => {
                let Ok(ours) = rustix::thread::sched_getaffinity(None) else { return };
                let mut known = (0..CpuSet::MAX_CPU).filter(|&index| ours.is_set(index));
                let Some(index) = known.nth(number % ours.count().max(1) as usize) else { return };
                set.set(index);
            }
        }
        // A machine that forbids it is only slower.
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

fn failed(what: impl Into<Text>, error: io::Error) -> Error {
    Error::from_io(what, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_those_of_a_panic_or_else_the_last() {
        let console =
            "[    0.00] a\n[    0.01] Kernel panic - not syncing: no init\n[    0.01] CPU: 0\n";
        assert_eq!(last_words(console).english(), "Kernel panic - not syncing: no init");
        assert_eq!(last_words("one\n\n  two \n\n").english(), "two");
        assert_eq!(last_words("").english(), "it said nothing");
    }

    #[test]
    fn how_a_job_ended_is_read_or_it_has_not() {
        assert_eq!(parse_status("3 1136073600000000256\n"), Some((3, DATE + 256)));
        assert_eq!([parse_status(""), parse_status("0"), parse_status("x 1")], [None; 3]);
    }

    #[test]
    fn root_starts_no_guest_that_nothing_holds() {
        let refused = check_confined(true, false).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        assert!(refused.to_string().contains("no Landlock"), "{refused}");
        for (is_root, is_held) in [(true, true), (false, true), (false, false)] {
            assert!(check_confined(is_root, is_held).is_ok());
        }
    }

    #[test]
    fn a_guest_leaves_nothing_that_leads_elsewhere() {
        let memory = tempfile::tempdir().unwrap();
        let folder = Folder::make(memory.path()).unwrap();
        let at = |name: &str| folder.path.join(name);
        fs::write(at("file"), "text").unwrap();
        symlink(at("file"), at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RWXU).unwrap();
        let read = ["file", "link", "pipe", "none"].map(|name| folder.read(name));
        assert_eq!(read, ["text", "", "", ""]);
        let made = [folder.path.clone(), folder.memory.clone()];
        assert!(made.iter().all(|path| path.is_dir()));
        drop(folder);
        assert!(made.iter().all(|path| !path.exists()));
    }

    #[test]
    fn memory_is_kept_where_there_is_room() {
        let folder = memory_folder(1 << 20).unwrap();
        assert!(holds_memory(&folder, 1 << 20));
        let error = memory_folder(u64::MAX).unwrap_err().to_string();
        assert!(error.contains("TMPDIR"), "{error}");
    }
}
