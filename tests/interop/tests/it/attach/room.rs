//! Where raidloom's own program runs arrays: a folder with a runtime folder of its own, which
//! leaves nothing behind.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use interop::raidloom;
use serde_json::Value;

/// How long a program may take before it counts as hanging, in seconds.
const PATIENCE_SECONDS: &str = "240";

/// Whether the test can go on: as root, with loop devices, FUSE and these programs. What it lacks
/// is said; in CI that is a failure.
pub(crate) fn is_possible(test: &str, programs: &[(&str, &str)]) -> bool {
    if !has_programs(test, programs) {
        return false;
    }
    let missing = if !rustix::process::geteuid().is_root() {
        "only root may make loop devices and mount"
    } else if !Path::new("/dev/loop-control").exists() || !Path::new("/dev/fuse").exists() {
        "no loop devices or no FUSE in this kernel: modprobe loop fuse"
    } else {
        return true;
    };
    testkit::missing!("{test}: {missing}");
    false
}

/// Whether these programs are there, each with the package that it is in.
pub(crate) fn has_programs(test: &str, programs: &[(&str, &str)]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).collect();
    let is_there = |program: &str| folders.iter().any(|folder| folder.join(program).exists());
    let packages: Vec<&str> = programs
        .iter()
        .filter(|(program, _)| !is_there(program))
        .map(|(_, package)| *package)
        .collect();
    if !packages.is_empty() {
        testkit::missing!("{test}: apt-get install {}", packages.join(" "));
    }
    packages.is_empty()
}

/// Whether this kernel knows a file system.
pub(crate) fn kernel_knows(file_system: &str) -> bool {
    let known = || fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let is_known = |text: &str| {
        text.lines().any(|line| line.split_whitespace().next_back() == Some(file_system))
    };
    // Looking does not load a module, so it is asked for once.
    is_known(&known())
        || (Command::new("modprobe").arg(file_system).output().is_ok() && is_known(&known()))
}

/// Runs a program to its end; its output, or what it said when it failed. One that hangs is a
/// failure.
pub(crate) fn run<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> Result<String, String> {
    finish(&mut command(program, arguments))
}

fn command<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", PATIENCE_SECONDS]).arg(program).args(arguments);
    command
}

fn finish(command: &mut Command) -> Result<String, String> {
    let Output { status, stdout, stderr } =
        command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(text);
    }
    Err(format!("{command:?}: {status}\n{text}\n{}", String::from_utf8_lossy(&stderr)))
}

/// The same for what has to work.
pub(crate) fn succeed<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> String {
    run(program, arguments).unwrap_or_else(|error| panic!("{error}"))
}

/// A folder with arrays of its own.
pub(crate) struct Room {
    folder: tempfile::TempDir,
    /// Processes that were started.
    servers: Mutex<Vec<u32>>,
}

/// An array that runs.
pub(crate) struct Running {
    pub(crate) name: String,
    pub(crate) process: u32,
    pub(crate) block_device: PathBuf,
}

impl Room {
    pub(crate) fn new() -> Room {
        Room { folder: tempfile::tempdir().expect("a folder"), servers: Mutex::default() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs raidloom here.
    pub(crate) fn raidloom<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, String> {
        finish(command(raidloom(), arguments).env("RAIDLOOM_RUNTIME_DIR", self.path("run")))
    }

    pub(crate) fn must<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> String {
        self.raidloom(arguments).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn json<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Value {
        let mut all: Vec<std::ffi::OsString> = vec!["--json".into()];
        all.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        let text = self.must(all);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Makes the members of an array with superblocks; its stack text.
    pub(crate) fn create(
        &self,
        name: &str,
        level: &str,
        members: usize,
        member_mib: u64,
    ) -> String {
        let paths: Vec<PathBuf> =
            (0..members).map(|number| self.path(&format!("{name}.{number}"))).collect();
        let size = format!("{member_mib}MiB");
        let mut create: Vec<&OsStr> =
            ["array", "create", name, "--level", level, "--size", &size].map(OsStr::new).into();
        if level == "5" {
            // Members full of zeroes agree.
            create.push(OsStr::new("--assume-clean"));
        }
        if level != "linear" {
            create.extend(["--chunk", "64KiB"].map(OsStr::new));
        }
        create.push(OsStr::new("--member"));
        create.extend(paths.iter().map(|path| path.as_os_str()));
        self.must(create);
        self.assembled(&paths)
    }

    /// The stack text of what these members make up.
    pub(crate) fn assembled(&self, members: &[PathBuf]) -> String {
        let mut assemble = vec![OsStr::new("array"), OsStr::new("assemble")];
        assemble.extend(members.iter().map(|path| path.as_os_str()));
        let found = self.json(assemble);
        found[0]["stack"].as_str().unwrap_or_else(|| panic!("no stack text in {found}")).to_owned()
    }

    /// Starts and attaches a stack.
    pub(crate) fn start(&self, name: &str, stack: &str) -> Running {
        let status = self.json(["array", "start", "--attach", "--name", name, stack]);
        let process = status["process"].as_u64().and_then(|process| u32::try_from(process).ok());
        let process = process.unwrap_or_else(|| panic!("no process in {status}"));
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        let block_device = status["attached"]["block_device"]
            .as_str()
            .unwrap_or_else(|| panic!("no block device in {status}"));
        Running { name: name.to_owned(), process, block_device: block_device.into() }
    }

    /// Mounts it, with a file system made first where there is none; where.
    pub(crate) fn mount(&self, running: &Running, file_system: &str) -> PathBuf {
        let point = self.path(&format!("{}-mounted", running.name));
        fs::create_dir_all(&point).expect("a folder");
        let mount = [
            OsStr::new("array"),
            OsStr::new("mount"),
            OsStr::new(&running.name),
            point.as_os_str(),
        ];
        self.must(mount.into_iter().chain([OsStr::new("--fs"), OsStr::new(file_system)]));
        point
    }

    pub(crate) fn unmount(&self, running: &Running) {
        self.must(["array", "umount", &running.name]);
    }

    pub(crate) fn stop(&self, running: &Running) {
        self.must(["array", "stop", &running.name]);
    }

    /// What of this room can still be seen elsewhere on the machine.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        let own = self.folder.path();
        let mut left: Vec<String> =
            mounts_under(own).iter().map(|point| format!("mounted: {}", point.display())).collect();
        for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
            let backing =
                fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
            if Path::new(backing.trim()).starts_with(own) {
                left.push(format!("{}: over {}", entry.path().display(), backing.trim()));
            }
        }
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        left.extend(
            servers
                .iter()
                .filter(|process| is_ours(**process))
                .map(|process| format!("process {process}")),
        );
        left
    }
}

/// Whether a process is a server of the program under test.
fn is_ours(process: u32) -> bool {
    fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|program| program == raidloom())
}

fn mounts_under(folder: &Path) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4).map(PathBuf::from));
    points.filter(|point| point.starts_with(folder)).collect()
}

/// Ends a process at once.
pub(crate) fn kill(process: u32) {
    succeed("kill", ["-KILL", &process.to_string()]);
}

/// Ends a process at once, and waits until nothing of it is left.
pub(crate) fn kill_and_wait(process: u32) {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let identity = Pid::from_raw(process.cast_signed()).expect("a process has a number");
    let ended = pidfd_open(identity, PidfdFlags::empty()).expect("it runs");
    kill(process);
    let mut ended = [PollFd::new(&ended, PollFlags::IN)];
    while poll(&mut ended, None) == Err(rustix::io::Errno::INTR) {}
}

impl Drop for Room {
    fn drop(&mut self) {
        // After a test that passed nothing of this finds anything to do.
        let own = self.folder.path();
        for point in
            mounts_under(own).iter().rev().filter(|point| !point.starts_with(own.join("run")))
        {
            let _ = Command::new("umount").arg("--lazy").arg(point).output();
        }
        let servers =
            std::mem::take(&mut *self.servers.lock().unwrap_or_else(PoisonError::into_inner));
        for process in servers.into_iter().filter(|process| is_ours(*process)) {
            let _ = run("kill", ["-KILL", &process.to_string()]);
        }
        // Undoes what a dead server has left behind.
        let _ = self.raidloom(["array", "status"]);
    }
}
