//! A loop device over a served file, so that it is a block device to the kernel: partitions, file systems, anything.
//!
//! Loop devices are made and taken away by `losetup` of util-linux, which every Linux has. Direct I/O keeps the kernel from
//! caching the blocks a second time, and lets many requests be under way at once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use block::{Error, ErrorKind};

const TOOL: &str = "losetup";

/// A loop device. Dropping it takes it away, as soon as nobody uses it any more.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    /// The number of this use of the device (Linux 5.15 and later). Its name is given to the next who asks.
    sequence: Option<String>,
    attached: bool,
}

impl LoopDevice {
    /// Makes a loop device over `file` with the logical block size of what is served.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where `losetup` or loop devices are missing, [`ErrorKind::Permission`] without the right to
    /// them, or what `losetup` says.
    pub fn attach(file: &Path, block_bytes: u32, read_only: bool) -> Result<LoopDevice, Error> {
        let place = || format!("a loop device over {}", file.display());
        if !Path::new("/dev/loop-control").exists() {
            let text = format!("{}: the kernel has no loop devices here (/dev/loop-control); the file itself works without them", place());
            return Err(Error::new(ErrorKind::NotFound, text));
        }
        let mut command = Command::new(TOOL);
        command.args(["--find", "--show", "--direct-io=on"]).arg(format!("--sector-size={block_bytes}"));
        command.args(read_only.then_some("--read-only")).arg("--").arg(file);
        let output = run(&mut command).map_err(|error| error.at(place()))?;
        let path = PathBuf::from(output.trim());
        if !path.starts_with("/dev") {
            return Err(Error::new(ErrorKind::Other, format!("{}: {TOOL} names no device: {output:?}", place())));
        }
        let mut device = LoopDevice { path, sequence: None, attached: true };
        device.sequence = device.setting("diskseq");
        Ok(device)
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

    fn setting(&self, name: &str) -> Option<String> {
        let folder = Path::new("/sys/block").join(self.path.file_name()?);
        Some(fs::read_to_string(folder.join(name)).ok()?.trim().to_owned())
    }

    /// Whether it still stands on our file, and not on that of somebody who was given the same name after us.
    fn is_ours(&self) -> bool {
        self.setting("loop/backing_file").is_some() && self.setting("diskseq") == self.sequence
    }

    /// Takes the device away.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when a file system on it is mounted or a program has it open.
    pub fn detach(&mut self) -> Result<(), Error> {
        if self.attached && self.is_ours() {
            detach(&self.path)?;
        }
        if self.attached && self.is_ours() {
            // The kernel took the request and carries it out when the last user is gone.
            return Err(Error::new(ErrorKind::Busy, format!("{}: a program still has it open", self.path.display())));
        }
        self.attached = false;
        Ok(())
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if self.attached && self.is_ours() {
            // It goes by itself with its last user.
            let _ = detach(&self.path);
        }
    }
}

/// Takes a loop device away that may still be there.
///
/// # Errors
/// What `losetup` says; nothing when there is no such device any more.
pub fn detach(path: &Path) -> Result<(), Error> {
    match run(Command::new(TOOL).arg("--detach").arg(path)) {
        Err(error) if error.kind() == ErrorKind::Gone => Ok(()),
        other => other.map(drop),
    }
}

fn run(command: &mut Command) -> Result<String, Error> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, format!("{TOOL} is not there: apt-get install mount")),
        _ => Error::from_io(TOOL, error),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("failed and said nothing").to_owned();
    // The tool tells errors apart only in words.
    let kind = match &said {
        said if said.contains("No such device") => ErrorKind::Gone,
        said if said.contains("Permission denied") || said.contains("not permitted") => ErrorKind::Permission,
        said if said.contains("busy") => ErrorKind::Busy,
        _ => ErrorKind::Other,
    };
    Err(Error::new(kind, said))
}
