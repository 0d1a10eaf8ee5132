//! Where the mounts of a pull test are: in a namespace of its own, over a folder of memory that
//! exists nowhere else.
//!
//! The namespace begins with all that is mounted on the machine, and what is mounted in one of them
//! is in use: no other could take its loop device or its stick away. So what is unmounted outside
//! is unmounted inside too where the system shares its mounts, and what is made to come and go is
//! unmounted inside at once.

use super::catalogue;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use words::statement;

use confine::Watchdog;
use host::Error;
use host::system::{self, Mount};
use rustix::mount::UnmountFlags;

/// Says to the program that it is inside already.
const INSIDE: &str = "RAIDLOOM_PULL_NAMESPACE";

/// Where a test of a run keeps what broke something.
pub(super) const KEEPS: &str = "RAIDLOOM_PULL_KEEPS";

/// A folder that the kernel keeps for mounts, and in which no file of a user can lie: in the
/// namespace it is covered with memory.
const COVERED: &str = "/sys/fs/fuse/connections";

/// Whether this user may mount file systems with this machine's kernel.
#[must_use]
pub fn may_mount() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this user may mount damaged file systems with this machine's kernel.
///
/// # Errors
/// A refusal that says why not, and what to do.
pub(crate) fn may_mount_or_why() -> Result<(), Error> {
    if may_mount() {
        return Ok(());
    }
    Err(Error::refused(catalogue::PULL_NEEDS_ROOT))
}

/// Goes on with this very program in a mount namespace of its own, unless that was done before.
/// What is mounted there goes with its last process.
///
/// # Errors
/// What is needed, where that is not permitted. Else it does not return.
pub fn enter() -> Result<(), Error> {
    if std::env::var_os(INSIDE).is_some_and(|id| id == *std::process::id().to_string()) {
        let_go_of_others(&used_paths());
        return Ok(());
    }
    may_mount_or_why()?;
    let program = std::env::current_exe()
        .map_err(|error| Error::from_io(catalogue::WHERE_PROGRAM_LIES, &error))?;
    // `unshare` becomes the program: the process stays the same.
    let error = Command::new("unshare")
        .args(["--mount", "--propagation", "slave", "--"])
        .arg(program)
        .args(std::env::args_os().skip(1))
        .env(INSIDE, std::process::id().to_string())
        .exec();
    Err(match error.kind() {
        std::io::ErrorKind::NotFound => Error::failed(catalogue::NO_UNSHARE),
        _ => Error::from_io(catalogue::MOUNT_NAMESPACE, &error),
    })
}

/// What this process may still open by its path: its folders, its program, and whatever an argument
/// names.
fn used_paths() -> Vec<PathBuf> {
    let words = std::env::args_os().skip(1).flat_map(|word| {
        let value = word.to_string_lossy().split_once('=').map(|(_, value)| value.into());
        [Some(PathBuf::from(word)), value]
    });
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let own = [std::env::current_dir().ok(), std::env::current_exe().ok()];
    let own = own.into_iter().chain([folder("HOME"), folder(KEEPS)]);
    let paths = words.chain(own).flatten().chain([std::env::temp_dir()]);
    let real = |path: PathBuf| {
        let whole = std::path::absolute(path).ok()?;
        whole.ancestors().find_map(|above| fs::canonicalize(above).ok())
    };
    paths.filter_map(real).collect()
}

/// Unmounts in this namespace what is there to be taken away again by others, unless it is used
/// here. What was unmounted outside meanwhile is no error.
fn let_go_of_others(used: &[PathBuf]) {
    for mount in others(&system::mounts(), used, is_removable).into_iter().rev() {
        let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
        if let Err(error) = rustix::mount::unmount(&mount.point, flags) {
            tracing::debug!(point = %mount.point.display(), %error, "stays mounted here");
        }
    }
}

/// Loop devices, exports of NBD, sticks, and what a process serves: those that come and go, and
/// under which nothing is that is used.
fn others<'a>(
    mounts: &'a [Mount],
    used: &[PathBuf],
    is_removable: impl Fn(&Mount) -> bool,
) -> Vec<&'a Mount> {
    let is_used = |mount: &&Mount| used.iter().any(|path| path.starts_with(&mount.point));
    mounts
        .iter()
        .filter(|mount| mount.kind.starts_with("fuse") || is_removable(mount))
        .filter(|mount| !is_used(mount))
        .collect()
}

fn is_removable(mount: &Mount) -> bool {
    let Some(number) = system::sys_folder(mount.number)
        .map(|_| mount.number)
        .or_else(|| system::block_number(Path::new(&mount.source)))
    else {
        return false;
    };
    let disk = system::whole_disk(number);
    let name = system::sys_folder(disk).and_then(|folder| folder.file_name().map(OsString::from));
    let comes_and_goes = |name: OsString| {
        ["loop", "nbd"].iter().any(|kind| name.as_encoded_bytes().starts_with(kind.as_bytes()))
    };
    name.is_some_and(comes_and_goes)
        || system::queue_setting(disk, "removable").as_deref() == Some("1")
}

/// The folder.
pub struct PullFolder {
    folder: PathBuf,
    /// The last process of the namespace, however this one ends. Whoever is the last unmounts what
    /// is mounted there, which waits for the disks under it; this process serves them, and would
    /// wait for itself in the kernel, and every `sync` of the machine with it.
    _last: Watchdog,
}

impl PullFolder {
    /// Makes it, in the namespace that was entered.
    ///
    /// # Errors
    /// What the system says.
    pub fn new() -> Result<PullFolder, Error> {
        let failed = |error: &std::io::Error| Error::from_io(catalogue::FOLDER_FOR_MOUNTS, error);
        let covered = Path::new(COVERED);
        if !covered.is_dir() {
            return Err(Error::failed(statement!(catalogue::PULL_NEEDS_FUSE, path = COVERED)));
        }
        let flags = rustix::mount::MountFlags::NOSUID | rustix::mount::MountFlags::NODEV;
        rustix::mount::mount("raidloom", covered, "tmpfs", flags, Some(c"mode=0700"))
            .map_err(|error| failed(&error.into()))?;
        let folder = covered.join(format!("pull-{}", std::process::id()));
        let last = Watchdog::start([]).map_err(|error| failed(&error))?;
        let place = PullFolder { folder, _last: last };
        fs::create_dir_all(place.point()).map_err(|error| failed(&error))?;
        for file in [place.disk(), place.image()] {
            fs::File::create_new(file).map_err(|error| failed(&error))?;
        }
        Ok(place)
    }

    /// What stands for the disk that is recorded.
    pub(super) fn disk(&self) -> PathBuf {
        self.folder.join("disk")
    }

    /// What stands for a disk after a crash.
    pub(super) fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    /// Where file systems are mounted.
    pub(super) fn point(&self) -> PathBuf {
        self.folder.join("mounted")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_and_goes_is_let_go_of_unless_it_is_used() {
        let mounts = system::parse_mounts(
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
             2 1 7:0 / /mnt/image rw - ext4 /dev/loop0 rw\n\
             3 1 0:50 / /run/raidloom/a/disk rw - fuse.raidloom raidloom rw\n\
             4 1 8:17 / /media/stick rw - vfat /dev/sdb1 rw\n\
             5 1 0:4 / /proc rw - proc proc rw\n\
             6 1 7:1 / /snap/tool rw - squashfs /dev/loop1 rw\n",
        );
        let is_removable = |mount: &Mount| {
            mount.number.major == 7 || mount.number == system::DeviceNumber { major: 8, minor: 17 }
        };
        let points = |used: &[&str]| -> Vec<String> {
            let used: Vec<PathBuf> = used.iter().map(PathBuf::from).collect();
            let found = others(&mounts, &used, is_removable);
            found.into_iter().map(|mount| mount.point.display().to_string()).collect()
        };
        assert_eq!(
            points(&["/srv/own", "/snap/tool/bin"]),
            ["/mnt/image", "/run/raidloom/a/disk", "/media/stick"]
        );
        assert_eq!(points(&["/media/stick/kept", "/mnt/image", "/snap/tool"])[..].len(), 1);
    }
}
