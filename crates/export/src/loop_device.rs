//! A loop device over a served file, so that it is a block device to the kernel: partitions, file
//! systems, anything.
//!
//! Loop devices are made and taken away by `losetup` of util-linux, which every Linux has: whoever
//! asks the kernel for it waits until the partitions are read, or what was written is, and that
//! must not be the process that serves the file. What came of it is asked of the kernel and not
//! read from what the tool says.
//!
//! Direct I/O keeps the kernel from caching the blocks a second time, and lets many requests be
//! under way at once. Of its geometry a loop device takes the logical block size alone: smallest
//! and best access, which tell makers of file systems the stripes of an array, cannot be set.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use block::{Error, ErrorKind};
use rustix::event::{PollFd, PollFlags, Timespec};
use words::{Text, statement};

use crate::catalogue;
use crate::tool;
use crate::users::{self, User};

const TOOL: &str = "losetup";
const CONTROL: &str = "/dev/loop-control";

/// How a loop device stands on its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopOptions {
    /// The logical block size of the device in bytes; the kernel's own choice without it.
    pub block_bytes: Option<u32>,
    /// Nothing is written to it.
    pub read_only: bool,
    /// Requests are handed on past the page cache of what the file lies in.
    pub direct: bool,
    /// The device ends after so many bytes of the file: what lies behind them is not its own.
    pub size_bytes: Option<u64>,
    /// The kernel looks for a partition table and makes devices of what it finds.
    pub partitions: bool,
}

/// A loop device. Dropping it takes it away, as soon as nothing uses it any more.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    /// The number of this use of the device (Linux 5.15 and later). Its name is given to the next
    /// process that asks.
    sequence: Option<String>,
    attached: bool,
    /// Who had it open when it was to be taken away, and how many others before. One that has it
    /// open for a moment only, to look at it, is gone the next time.
    user: Option<User>,
    looks: u32,
    /// Whether the kernel takes it away with its last user.
    goes: bool,
    /// Whether the kernel was told something that it keeps for the next use of the device.
    told: bool,
}

impl LoopDevice {
    /// Makes a loop device over `file` with the logical block size of what is served, and devices
    /// for its partitions.
    ///
    /// # Errors
    /// As [`LoopDevice::attach_with`].
    pub fn attach(file: &Path, block_bytes: u32, read_only: bool) -> Result<LoopDevice, Error> {
        let options = LoopOptions {
            block_bytes: Some(block_bytes),
            read_only,
            direct: true,
            size_bytes: None,
            partitions: true,
        };
        LoopDevice::attach_with(file, &options)
    }

    /// Makes a loop device over `file`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where `losetup` or loop devices are missing,
    /// [`ErrorKind::Permission`] without the right to them, or what `losetup` says.
    pub fn attach_with(file: &Path, options: &LoopOptions) -> Result<LoopDevice, Error> {
        let place = || statement!(catalogue::LOOP_OVER, file = file.display());
        match File::options().read(true).write(true).open(CONTROL) {
            Ok(_) => (),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let text =
                    statement!(catalogue::NO_LOOP_DEVICES, place = place(), control = CONTROL);
                return Err(Error::with_source(ErrorKind::NotFound, "", error).retold(text));
            }
            Err(error) => {
                return Err(Error::from_io(CONTROL, error).at(place()));
            }
        }
        let flag = |set: bool, flag: &'static str| set.then_some(flag);
        let command = || {
            let mut command = tool::command(TOOL);
            command
                .args(["--find", "--show"])
                .args(flag(options.direct, "--direct-io=on"))
                .args(flag(options.read_only, "--read-only"))
                .args(flag(options.partitions, "--partscan"))
                .args(options.block_bytes.map(|bytes| format!("--sector-size={bytes}")))
                .args(options.size_bytes.map(|bytes| format!("--sizelimit={bytes}")))
                .arg("--")
                .arg(file);
            command
        };
        let output = attach_patiently(command).map_err(|error| error.at(place()))?;
        let path = PathBuf::from(output.trim());
        if !path.starts_with("/dev") {
            return Err(Error::new(
                ErrorKind::Other,
                statement!(
                    catalogue::NAMES_NO_DEVICE,
                    place = place(),
                    tool = TOOL,
                    output = format!("{output:?}")
                ),
            ));
        }
        let sequence = sequence(&path);
        let (user, looks, goes, told) = (None, 0, false, false);
        Ok(LoopDevice { path, sequence, attached: true, user, looks, goes, told })
    }

    /// The device's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the kernel hands requests on without caching them.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.setting("loop/dio").is_some_and(|text| text == "1")
    }

    /// Tells the kernel that whatever was written is durable when it is answered, so that it asks
    /// for no flushes. Without the right to it, the kernel only knows less.
    pub fn write_through(&mut self) {
        self.told = true;
        set_write_cache(&self.path, "write through");
    }

    fn setting(&self, name: &str) -> Option<String> {
        setting(&self.path, name)
    }

    /// Whether it still stands on our file, and not on that of a process that was given the same
    /// name after us.
    fn is_ours(&self) -> bool {
        self.setting("loop/backing_file").is_some() && sequence(&self.path) == self.sequence
    }

    /// Takes the device away. To be tried again while it is busy: programs that look at every
    /// device (udev, `blkid`) have it open for a moment, and where there are many of them one
    /// always has. So when several that had it open are gone again, the kernel is told to take it
    /// away with its last user.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when a program has it open, or a file system on it is mounted.
    pub fn detach(&mut self) -> Result<(), Error> {
        if self.attached && self.is_ours() {
            if let Some(user) = self.user_before_it_goes() {
                return Err(self.busy(user));
            }
            self.let_go()?;
            if self.is_ours() {
                let user = users::of_disk(&self.path);
                let user = user.map_or_else(|| catalogue::A_PROGRAM.into(), |it| Text::from(&it));
                return Err(self.busy(user));
            }
        } else if self.attached && self.told {
            // Somebody else has taken it away.
            write_back(&self.path);
        }
        self.attached = false;
        Ok(())
    }

    /// Who has it open for longer than a look, as far as that is known by now.
    fn user_before_it_goes(&mut self) -> Option<Text> {
        if self.goes {
            return None;
        }
        if !self.user.as_ref().is_some_and(|user| user.has_open(&self.path)) {
            self.user = users::of_disk(&self.path);
            self.looks += u32::from(self.user.is_some());
        }
        self.user.as_ref().filter(|_| self.looks <= LOOKS_MAX).map(Text::from)
    }

    fn busy(&self, user: Text) -> Error {
        Error::new(
            ErrorKind::Busy,
            statement!(catalogue::STILL_OPEN, path = self.path.display(), user = user),
        )
    }

    /// Tells the kernel to take the device away with its last user, whoever that is. Until then it
    /// is there, over whatever its file still is.
    ///
    /// # Errors
    /// What `losetup` says.
    pub fn let_go(&mut self) -> Result<(), Error> {
        if !self.goes {
            detach_if(&self.path, || self.is_ours())?;
            self.goes = true;
        }
        Ok(())
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if self.attached {
            // An error has no taker any more.
            let _ = self.let_go();
        }
    }
}

/// So many programs may have a device open one after the other before all of them are taken for
/// ones that only look.
const LOOKS_MAX: u32 = 3;
/// How often a device is asked for that others had first, or is looked for that others look at.
const ATTEMPTS: u32 = 20;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The tool has one exit code for all that fails, so that whatever does is tried again: whether
/// this user may is known by now, and what else is wrong stays so for the second that this takes.
fn attach_patiently(command: impl Fn() -> Command) -> Result<String, Error> {
    for _ in 1..ATTEMPTS {
        match run(command()) {
            Err(error) if error.kind() == ErrorKind::Other => {
                let _ = rustix::event::poll(&mut [], Some(&PAUSE));
            }
            result => return result,
        }
    }
    run(command())
}

fn setting(device: &Path, name: &str) -> Option<String> {
    let folder = Path::new("/sys/block").join(device.file_name()?);
    Some(fs::read_to_string(folder.join(name)).ok()?.trim_end_matches('\n').to_owned())
}

/// Has the kernel flush a loop device again, whoever uses it now: it keeps what
/// [`LoopDevice::write_through`] said for the next use of the device, which may need flushes.
pub fn write_back(device: &Path) {
    set_write_cache(device, "write back");
}

fn set_write_cache(device: &Path, mode: &str) {
    let name = device.file_name().filter(|name| name.as_encoded_bytes().starts_with(b"loop"));
    if let Some(name) = name {
        let _ = fs::write(Path::new("/sys/block").join(name).join("queue/write_cache"), mode);
    }
}

/// What loop devices stand on as the kernel has it open: their path, and device and inode number of
/// the backing file. Only whom the kernel answers, root as a rule, gets a line; empty too where the
/// tool is missing or waits for a file system that hangs.
#[must_use]
pub fn backing_files() -> Vec<(PathBuf, u64, u64)> {
    let mut command = tool::command(TOOL);
    command.args(["--list", "--raw", "--noheadings", "--output", "NAME,BACK-INO,BACK-MAJ:MIN"]);
    let hangs = LIST_HANGS.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(lives);
    if hangs {
        return Vec::new();
    }
    match bounded(command, LIST_TIME) {
        Ok(text) => text.map(|text| parse_backing_files(&text)).unwrap_or_default(),
        Err(process) => {
            *LIST_HANGS.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
            Vec::new()
        }
    }
}

/// How long the tool may take to list what there is.
const LIST_TIME: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
/// The process of the tool that has not come to its end: another would hang as well.
static LIST_HANGS: Mutex<Option<u32>> = Mutex::new(None);

fn lives(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// What a command says, if it succeeds.
///
/// # Errors
/// The number of its process, which does not come to its end in time. It is told to, and left
/// behind: it may wait for what hangs, where no signal reaches it.
pub fn bounded(mut command: Command, time: Timespec) -> Result<Option<String>, u32> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else { return Ok(None) };
    let Some(mut said) = child.stdout.take() else { return Ok(None) };
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    let ended = loop {
        let mut ready = [PollFd::new(&said, PollFlags::IN)];
        match rustix::event::poll(&mut ready, Some(&time)) {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(1..) => (),
            _ => break false,
        }
        match said.read(&mut buffer) {
            Ok(0) => break true,
            Ok(count) => text.extend_from_slice(&buffer[..count]),
            Err(_) => break false,
        }
    };
    if !ended {
        let process = child.id();
        let _ = child.kill();
        std::thread::spawn(move || child.wait());
        return Err(process);
    }
    let succeeded = child.wait().is_ok_and(|status| status.success());
    Ok(succeeded.then(|| String::from_utf8_lossy(&text).into_owned()))
}

/// `/dev/loop0 9994354 \x20\x20254:0\x20`: blanks within a column are escaped, and a column may be
/// empty.
fn parse_backing_files(text: &str) -> Vec<(PathBuf, u64, u64)> {
    let line = |line: &str| {
        let line = line.replace("\\x20", "");
        let mut fields = line.split_ascii_whitespace();
        let (name, inode) = (fields.next()?, fields.next()?.parse().ok()?);
        let (major, minor) = fields.next()?.split_once(':')?;
        Some((
            PathBuf::from(name),
            rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?),
            inode,
        ))
    };
    text.lines().filter_map(line).collect()
}

/// The number of the present use of a loop device (Linux 5.15 and later): its name is given to the
/// next process that asks, this is not.
#[must_use]
pub fn sequence(path: &Path) -> Option<String> {
    setting(path, "diskseq")
}

/// Takes the loop device `path` away if it stands on the file `over`, which may be gone. It goes
/// with its last user, for which this waits a second: programs that look at every device have it
/// open for a moment.
///
/// # Errors
/// What `losetup` says; nothing when there is no such device any more.
pub fn detach_from(path: &Path, over: &Path) -> Result<(), Error> {
    let is_there =
        || setting(path, "loop/backing_file").is_some_and(|backing| Path::new(&backing) == over);
    detach_if(path, is_there)?;
    for _ in 0..ATTEMPTS {
        if !is_there() {
            break;
        }
        let _ = rustix::event::poll(&mut [], Some(&PAUSE));
    }
    Ok(())
}

/// Takes a loop device away while it is held open. As long as a process has it open the kernel
/// leaves it over its file, so that what `is_meant` has found is still true when the tool acts on
/// the name.
///
/// It is the tool that holds it last: the process that closes a device last waits for what is still
/// to be written to it, which must not be the process that would have to serve that.
fn detach_if(path: &Path, is_meant: impl Fn() -> bool) -> Result<(), Error> {
    let held = match File::open(path) {
        Ok(held) => held,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // There is nothing under the name.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            return Ok(());
        }
        Err(error) => return Err(Error::from_io(path.display().to_string(), error)),
    };
    if !is_meant() {
        return Ok(());
    }
    write_back(path);
    let mut command = tool::command(TOOL);
    command.arg("--detach").arg(path).stdin(held);
    match run(command) {
        // Somebody else was quicker.
        Err(_) if !is_meant() => Ok(()),
        other => other.map(drop),
    }
}

fn run(mut command: Command) -> Result<String, Error> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::new(ErrorKind::NotFound, statement!(catalogue::TOOL_MISSING, tool = TOOL))
        }
        _ => Error::from_io(TOOL, error),
    };
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    // With its standard input, if that is ours.
    drop(command);
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().map_or_else(|| catalogue::FAILED_SILENTLY.into(), Text::from);
    Err(Error::new(ErrorKind::Other, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_list_is_read_with_its_escapes_and_its_empty_columns() {
        let text = "/dev/loop0 9994354 \\x20\\x20\\x20254:3\\x20\\x20\n/dev/loop1  \n/dev/loop12 7 \
            259:70000\nnonsense\n";
        let found = parse_backing_files(text);
        let numbers = |major, minor| rustix::fs::makedev(major, minor);
        assert_eq!(
            found,
            [
                (PathBuf::from("/dev/loop0"), numbers(254, 3), 9_994_354),
                (PathBuf::from("/dev/loop12"), numbers(259, 70000), 7)
            ]
        );
    }

    #[test]
    fn a_tool_that_fails_or_is_not_there_has_said_nothing() {
        assert_eq!(bounded(Command::new("no-tool-of-that-name"), LIST_TIME), Ok(None));
        assert_eq!(bounded(Command::new("false"), LIST_TIME), Ok(None));
        let mut command = Command::new("echo");
        command.arg("a word");
        assert_eq!(bounded(command, LIST_TIME), Ok(Some("a word\n".to_owned())));
        let mut command = Command::new("sleep");
        command.arg("600");
        let process = bounded(command, Timespec::default()).unwrap_err();
        // Its end is waited for by a thread.
        while lives(process) {
            std::thread::yield_now();
        }
    }
}
