//! A small disk of its own with a file system: a loop device over a file in memory, gone at the end
//! of the test.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::{NamedTempFile, TempDir};

/// What the kernel counts of a disk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DiskTraffic {
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
}

/// A disk with nothing on it.
pub(crate) struct RawDisk {
    device: PathBuf,
    image: NamedTempFile,
}

impl RawDisk {
    /// One of so many MiB.
    pub(crate) fn new(mebibytes: u64) -> RawDisk {
        let image = NamedTempFile::new_in("/dev/shm").expect("memory for a disk");
        image.as_file().set_len(mebibytes << 20).expect("memory for a disk");
        let output = succeed(Command::new("losetup").args(["--find", "--show"]).arg(image.path()));
        RawDisk {
            device: PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim()),
            image,
        }
    }

    /// The loop device.
    pub(crate) fn path(&self) -> &Path {
        &self.device
    }

    /// The file under it is cut off, and the device does not hear of it: reads of what is not there
    /// any more fail, and writes make the file longer again, with nothing between.
    pub(crate) fn cut_short(&self) {
        self.image.as_file().set_len(0).expect("a disk");
    }

    /// As if it were pulled out: from now on it has no sector, and whatever is asked fails.
    pub(crate) fn die(&self) {
        let name = self.device.file_name().expect("a device has a name");
        let size = Path::new("/sys/block").join(name).join("size");
        // What is under way may still make the file longer.
        while fs::read_to_string(&size).is_ok_and(|sectors| sectors.trim() != "0") {
            self.image.as_file().set_len(0).expect("a disk");
            succeed(Command::new("losetup").arg("--set-capacity").arg(&self.device));
        }
    }
}

impl Drop for RawDisk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

/// The disk, mounted. The mount goes first.
pub(crate) struct Disk {
    point: MountPoint,
    raw: RawDisk,
}

/// Where it is mounted.
struct MountPoint(TempDir);

/// Whether a test can run here: as root, with loop devices and these programs. If not, that is
/// said; in CI it is a failure.
pub(crate) fn is_possible(test: &str, programs: &[&str]) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&folders).chain(["/usr/sbin".into(), "/sbin".into()]).collect();
    let mut missing: Vec<String> = ["losetup", "mkfs.ext4"]
        .iter()
        .chain(programs)
        .filter(|name| !folders.iter().any(|folder| folder.join(name).exists()))
        .map(|name| format!("no {name}"))
        .collect();
    if !rustix::process::geteuid().is_root() {
        missing.push("not root".to_owned());
    }
    if !Path::new("/dev/loop-control").exists() {
        missing.push("no loop devices in this kernel".to_owned());
    }
    if missing.is_empty() {
        return true;
    }
    let missing = missing.join(", ");
    testkit::missing!("{test}: {missing}");
    false
}

/// Runs a program that has to succeed.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

impl Disk {
    /// One of so many MiB, with ext4 that writes nothing on its own account.
    pub(crate) fn new(mebibytes: u64) -> Disk {
        let raw = RawDisk::new(mebibytes);
        let disk = Disk { point: MountPoint(tempfile::tempdir().expect("a folder")), raw };
        let options = ["-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0"];
        succeed(Command::new("mkfs.ext4").args(options).arg(disk.device()));
        succeed(Command::new("mount").arg(disk.device()).arg(disk.folder()));
        disk
    }

    /// Where it is mounted.
    pub(crate) fn folder(&self) -> &Path {
        self.point.0.path()
    }

    /// The loop device.
    pub(crate) fn device(&self) -> &Path {
        self.raw.path()
    }

    /// Mounts it again so that nothing can be written.
    pub(crate) fn make_read_only(&self) {
        succeed(Command::new("mount").args(["-o", "remount,ro"]).arg(self.folder()));
    }

    /// What it has moved since it was made (`/sys/block/NAME/stat`: requests, merged, sectors and
    /// time, of reads and of writes).
    pub(crate) fn moved(&self) -> DiskTraffic {
        let name = self.device().file_name().expect("a device has a name");
        let text = fs::read_to_string(Path::new("/sys/block").join(name).join("stat"))
            .expect("the kernel counts");
        let fields: Vec<u64> =
            text.split_whitespace().map(|field| field.parse().expect("a number")).collect();
        DiskTraffic { read_bytes: fields[2] * 512, written_bytes: fields[6] * 512 }
    }

    /// Bytes that files can still take.
    pub(crate) fn free_bytes(&self) -> u64 {
        let room = rustix::fs::statvfs(self.folder()).expect("a file system");
        room.f_bavail * room.f_frsize
    }

    /// What lies in it, but for what mkfs put there.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name());
        entries
            .map(|name| name.to_string_lossy().into_owned())
            .filter(|name| name != "lost+found")
            .collect()
    }
}

impl MountPoint {
    fn is_mounted(&self) -> bool {
        let above = self.0.path().parent().and_then(|above| fs::metadata(above).ok());
        let here = fs::metadata(self.0.path()).ok();
        here.zip(above).is_some_and(|(here, above)| here.dev() != above.dev())
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        if self.is_mounted() {
            let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
        }
    }
}
