//! Where the mounts of a pull test are: in a namespace of its own, over a folder of memory that
//! exists nowhere else.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use host::Error;

/// Says to the program that it is inside already.
const INSIDE: &str = "RAIDLOOM_PULL_NAMESPACE";

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
    Err(Error::refused(
        "pull mounts file systems, damaged ones among them, with this machine's kernel, which \
        only root may do: let it be done in a guest, which needs no root (--guest, after \
        `raidloom guest build`), or run it as root, in a virtual machine if there is one",
    ))
}

/// Goes on with this very program in a mount namespace of its own, unless that was done before.
/// What is mounted there goes with its last process.
///
/// # Errors
/// What is needed, where that is not permitted. Else it does not return.
pub fn enter() -> Result<(), Error> {
    if std::env::var_os(INSIDE).is_some_and(|id| id == *std::process::id().to_string()) {
        return Ok(());
    }
    may_mount_or_why()?;
    let program = std::env::current_exe()
        .map_err(|error| Error::from_io("where this program lies", &error))?;
    // `unshare` becomes the program: the process stays the same.
    let error = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "--"])
        .arg(program)
        .args(std::env::args_os().skip(1))
        .env(INSIDE, std::process::id().to_string())
        .exec();
    Err(match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::failed("unshare is not there: apt-get install util-linux")
        }
        _ => Error::from_io("a mount namespace", &error),
    })
}

/// The folder.
pub struct Place {
    folder: PathBuf,
}

impl Place {
    /// Makes it, in the namespace that was entered.
    ///
    /// # Errors
    /// What the system says.
    pub fn new() -> Result<Place, Error> {
        let failed = |error: &std::io::Error| Error::from_io("a folder for mounts", error);
        let covered = Path::new(COVERED);
        if !covered.is_dir() {
            return Err(Error::failed(format!(
                "{COVERED} is not there: the kernel has no FUSE; `modprobe fuse` may bring it"
            )));
        }
        let flags = rustix::mount::MountFlags::NOSUID | rustix::mount::MountFlags::NODEV;
        rustix::mount::mount("raidloom", covered, "tmpfs", flags, Some(c"mode=0700"))
            .map_err(|error| failed(&error.into()))?;
        let folder = covered.join(format!("pull-{}", std::process::id()));
        let place = Place { folder };
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
