//! File systems on devices that raidloom serves: making, mounting and unmounting them with the
//! system's own tools.
//!
//! A file system is made only where nothing known is: whatever carries a mark is mounted as it is,
//! or not at all. The programs that make and check them are told nothing that leads elsewhere
//! ([`FileSystem::make_words`], [`check_mount_options`]), and can write to nothing but the device.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use confine::Confinement;
use export::users;
use tracing::debug;

use crate::guard::{find_signature, patiently};
use crate::{Error, file_system_options, system};

/// A kind of file system, and the tools for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name on the command line.
    pub name: &'static str,
    /// The program that makes one, with what keeps it from asking and from being chatty.
    maker: &'static [&'static str],
    /// What `mount` calls it.
    kind: &'static str,
    /// The Debian package with the tools.
    package: &'static str,
}

/// What can be made and mounted.
pub const FILE_SYSTEMS: &[FileSystem] = &[
    FileSystem {
        name: "ext4",
        maker: &["mkfs.ext4", "-q", "-F"],
        kind: "ext4",
        package: "e2fsprogs",
    },
    FileSystem {
        name: "ext3",
        maker: &["mkfs.ext3", "-q", "-F"],
        kind: "ext3",
        package: "e2fsprogs",
    },
    FileSystem {
        name: "ext2",
        maker: &["mkfs.ext2", "-q", "-F"],
        kind: "ext2",
        package: "e2fsprogs",
    },
    FileSystem { name: "xfs", maker: &["mkfs.xfs", "-q", "-f"], kind: "xfs", package: "xfsprogs" },
    FileSystem {
        name: "btrfs",
        maker: &["mkfs.btrfs", "-q", "-f"],
        kind: "btrfs",
        package: "btrfs-progs",
    },
    FileSystem {
        name: "ntfs",
        maker: &["mkfs.ntfs", "-Q", "-q", "-F"],
        kind: "ntfs-3g",
        package: "ntfs-3g",
    },
    FileSystem { name: "vfat", maker: &["mkfs.vfat"], kind: "vfat", package: "dosfstools" },
    FileSystem { name: "exfat", maker: &["mkfs.exfat"], kind: "exfat", package: "exfatprogs" },
    FileSystem { name: "udf", maker: &["mkfs.udf"], kind: "udf", package: "udftools" },
    FileSystem {
        name: "f2fs",
        maker: &["mkfs.f2fs", "-q", "-f"],
        kind: "f2fs",
        package: "f2fs-tools",
    },
];

impl FileSystem {
    /// The program that makes one.
    #[must_use]
    pub fn maker(&self) -> &'static str {
        self.maker[0]
    }

    /// The same with what keeps it from asking and from being chatty.
    #[must_use]
    pub fn make_command(&self) -> &'static [&'static str] {
        self.maker
    }

    /// What keeps the program that makes one from discarding the blocks of the device first, where
    /// it would.
    #[must_use]
    pub fn without_discard(&self) -> Option<&'static str> {
        match self.name {
            "ext4" | "ext3" | "ext2" => Some("-Enodiscard"),
            "xfs" | "btrfs" => Some("-K"),
            "f2fs" => Some("-t0"),
            _ => None,
        }
    }

    /// What `mount` calls it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The Debian package with the tools.
    #[must_use]
    pub fn package(&self) -> &'static str {
        self.package
    }

    /// The one of this name.
    ///
    /// # Errors
    /// The names there are.
    pub fn named(name: &str) -> Result<FileSystem, Error> {
        let known = || FILE_SYSTEMS.iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
        let found = FILE_SYSTEMS.iter().find(|known| known.name == name).copied();
        found.ok_or_else(|| {
            Error::usage(format!("{name}: no such file system; there are {}", known()))
        })
    }

    /// Whether one can be mounted here: the kernel has it, or a module for it, or there is a
    /// program that serves it.
    ///
    /// # Errors
    /// That it cannot, and what would help.
    pub fn check_mountable(&self) -> Result<(), Error> {
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        let modules = Path::new("/lib/modules").join(release);
        let helper = format!("mount.{}", self.kind);
        let has_helper =
            ["/sbin", "/usr/sbin"].iter().any(|folder| Path::new(folder).join(&helper).exists());
        let known = read(Path::new("/proc/filesystems"));
        let modules = read(&modules.join("modules.dep")) + &read(&modules.join("modules.builtin"));
        if can_mount(self.kind, &known, &modules, has_helper) {
            return Ok(());
        }
        let text = format!(
            "{}: this kernel has neither this file system nor a module for it, and {helper} is not \
            there",
            self.name
        );
        Err(Error::refused(text).then(format!(
            "nothing was changed; `apt-get install {}` or a kernel with it helps, or another file \
            system (raidloom check)",
            self.package
        )))
    }

    /// Makes one on `device`, which holds nothing, if it can be mounted then.
    ///
    /// # Errors
    /// When something is there already, when it could not be mounted, or what the program says.
    pub fn make(&self, device: &Path) -> Result<(), Error> {
        self.make_with(device, None)
    }

    /// The same with further options, as the program that makes it takes them, separated by blanks.
    ///
    /// # Errors
    /// As [`FileSystem::make`].
    pub fn make_with(&self, device: &Path, options: Option<&str>) -> Result<(), Error> {
        if let Some(found) = holds(device)? {
            return Err(Error::refused(format!(
                "{}: it holds something already: {found}",
                device.display()
            )));
        }
        self.check_mountable()?;
        let own = self.make_words(options.unwrap_or_default())?;
        let device = std::path::absolute(device)
            .map_err(|error| Error::from_io(device.display(), &error))?;
        let mut command = Command::new(self.maker[0]);
        command.args(&self.maker[1..]).args(own).arg(&device).current_dir("/");
        run_confined(&mut command, self.package, &Confinement::writing_to([device]))
    }

    /// The words of options for the program that makes one, all of which are on the list of what
    /// is passed on to it.
    ///
    /// # Errors
    /// The first that is not.
    pub fn make_words(&self, options: &str) -> Result<Vec<String>, Error> {
        file_system_options::make_words(self.name, options)
            .map_err(|refused| Error::usage(format!("options for {}: {refused}", self.maker())))
    }

    /// Mounts the one on `device`; `options` as `mount -o` takes them.
    ///
    /// # Errors
    /// What `mount` says.
    pub fn mount(&self, device: &Path, point: &Path, options: Option<&str>) -> Result<(), Error> {
        check_mount_options(Some(self), options)?;
        let mut command = Command::new("mount");
        command
            .args(["-t", self.kind])
            .args(options.map(|options| format!("-o{options}")))
            .arg("--")
            .arg(device)
            .arg(point);
        run(&mut command, self.package)
    }
}

/// Whether all options for `mount -o` are on the list of what is passed on, for a kind of file
/// system or for whatever is found.
///
/// # Errors
/// The first that is not.
pub fn check_mount_options(kind: Option<&FileSystem>, options: Option<&str>) -> Result<(), Error> {
    let text = options.unwrap_or_default();
    file_system_options::check_mount(kind.map(|kind| kind.name), text).map_err(|refused| {
        let of = kind.map_or(String::new(), |kind| format!(" of {}", kind.name));
        Error::usage(format!("mount options{of}: {refused}"))
    })
}

/// Whether `mount` finds a driver for a kind of file system: `filesystems` is `/proc/filesystems`,
/// `modules` lists the kernel's modules, by path. A program that serves it does so through FUSE.
fn can_mount(kind: &str, filesystems: &str, modules: &str, has_helper: bool) -> bool {
    let knows = |kind: &str| {
        let known =
            filesystems.lines().any(|line| line.split_whitespace().next_back() == Some(kind));
        let file = format!("/{}.ko", kind.replace("fuseblk", "fuse"));
        let in_module =
            |line: &str| line.split(':').next().is_some_and(|path| path.contains(&file));
        known || modules.lines().any(in_module)
    };
    knows(kind) || (has_helper && knows("fuseblk"))
}

/// Mounts whatever file system is on `device`, an image of a disc included, and says which that is;
/// `options` as `mount -o` takes them.
///
/// # Errors
/// What `mount` says.
pub fn mount_found(device: &Path, point: &Path, options: Option<&str>) -> Result<String, Error> {
    check_mount_options(None, options)?;
    let mut command = Command::new("mount");
    command.args(options.map(|options| format!("-o{options}"))).arg("--").arg(device).arg(point);
    run(&mut command, "mount")?;
    // What was mounted last lies on top.
    let found = system::mounts()
        .into_iter()
        .rev()
        .find(|mount| mount.point == point)
        .map(|mount| mount.kind);
    Ok(found.unwrap_or_else(|| "a file system".to_owned()))
}

/// What a file or device holds, as far as it is known; `None` when there is no mark on it.
///
/// # Errors
/// What the system says about reading it.
pub fn holds(device: &Path) -> Result<Option<&'static str>, Error> {
    let look = || {
        let mut file = File::open(device)?;
        let size_bytes = io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
        find_signature(&file, size_bytes)
    };
    look().map_err(|error| {
        Error::from_io(format_args!("{}: looking what it holds", device.display()), &error)
    })
}

/// Where something of this device, or of a partition of it, is mounted.
#[must_use]
pub fn points_of(device: &Path) -> Vec<PathBuf> {
    let number = system::block_number(device);
    let own: Vec<_> =
        number.into_iter().chain(number.map(system::partitions).unwrap_or_default()).collect();
    let is_own = |mount: &system::Mount| {
        let source = Path::new(&mount.source);
        source == device
            || own.contains(&mount.number)
            || system::block_number(source).is_some_and(|source| own.contains(&source))
    };
    system::mounts().into_iter().filter(is_own).map(|mount| mount.point).collect()
}

/// Unmounts what is mounted at `point`.
///
/// # Errors
/// What `umount` says, and a program that still uses it.
pub fn unmount(point: &Path) -> Result<(), Error> {
    try_unmount(point).map_err(|error| match users::below(point) {
        Some(user) => error.then(format!("{user} uses it")),
        None => error,
    })
}

fn try_unmount(point: &Path) -> Result<(), Error> {
    run(Command::new("umount").arg("--").arg(point), "mount")
}

/// How often a file system may be found busy with what has just been closed on it.
const BUSY_ATTEMPTS: u32 = 100;

/// Unmounts what is mounted at `point` once nothing uses it any more: a ring lets go of its files
/// some time after it is closed, and there are programs that have a look at all that is new.
///
/// # Errors
/// As [`unmount`], after five seconds.
pub fn unmount_patiently(point: &Path) -> Result<(), Error> {
    let is_busy = |error: &Error| error.to_string().contains("busy");
    // The last attempt says what it is.
    patiently(BUSY_ATTEMPTS, || try_unmount(point), is_busy)
        .or_else(|error| if is_busy(&error) { unmount(point) } else { Err(error) })
}

/// Unmounts what is mounted at `point` even where it is in use: then it is out of sight now and
/// ends with its last user. For what a dead server has left behind, which answers with errors only.
///
/// # Errors
/// What `umount` says.
pub fn unmount_by_force(point: &Path) -> Result<(), Error> {
    try_unmount(point)
        .or_else(|_| run(Command::new("umount").arg("--lazy").arg("--").arg(point), "mount"))
}

fn run(command: &mut Command, package: &str) -> Result<(), Error> {
    ran(package, command, |command| command.stdin(Stdio::null()).output())
}

fn run_confined(
    command: &mut Command,
    package: &str,
    confinement: &Confinement,
) -> Result<(), Error> {
    ran(package, command, |command| confinement.output(command))
}

fn ran(
    package: &str,
    command: &mut Command,
    output: impl FnOnce(&mut Command) -> io::Result<Output>,
) -> Result<(), Error> {
    debug!(?command, "run");
    let name = command.get_program().to_string_lossy().into_owned();
    let output = output(command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::failed(format!("{name} is not there: apt-get install {package}"))
        }
        _ => Error::from_io(&name, &error),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stderr, output.stdout].concat();
    let said = String::from_utf8_lossy(&said);
    let line = said
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("failed and said nothing");
    let prefix = format!("{name}: ");
    Err(Error::failed(format!("{prefix}{}", line.strip_prefix(&prefix).unwrap_or(line))))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn a_file_system_is_not_made_over_something() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let file = File::create(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(holds(&path).unwrap(), None);
        file.write_all_at(b"XFSB", 0).unwrap();
        let error = FileSystem::named("ext4").unwrap().make(&path).unwrap_err();
        assert!(error.to_string().contains("holds something already: XFS"), "{error}");
    }

    #[test]
    fn what_the_kernel_could_not_mount_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        File::create(&path).unwrap().set_len(1 << 20).unwrap();
        let none = FileSystem {
            name: "none such",
            maker: &["sh", "-c", "echo made > \"$0\""],
            kind: "none-such",
            package: "none",
        };
        let error = none.make(&path).unwrap_err().to_string();
        assert!(
            error.contains("neither this file system nor a module")
                && error.contains("nothing was changed"),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), vec![0; 1 << 20], "as it was");
    }

    #[test]
    fn a_kernel_a_module_or_a_helper_can_mount() {
        let filesystems = "nodev\tproc\n\text4\n\tfuseblk\n";
        let modules = "kernel/fs/fat/vfat.ko.xz: kernel/fs/fat/fat.ko.xz\nkernel/fs/xfs/xfs.ko:\n";
        for (kind, filesystems, modules, has_helper, expected) in [
            ("ext4", filesystems, "", false, true),
            ("ext", filesystems, "", false, false),
            ("vfat", filesystems, "", false, false),
            ("vfat", filesystems, modules, false, true),
            ("fat", filesystems, "kernel/fs/fat/vfat.ko: kernel/fs/fat/fat.ko\n", false, false),
            ("xfs", "", modules, false, true),
            ("ntfs-3g", filesystems, "", true, true),
            ("ntfs-3g", "", "kernel/fs/fuse/fuse.ko:\n", true, true),
            ("ntfs-3g", "\text4\n", "", true, false),
        ] {
            assert_eq!(
                can_mount(kind, filesystems, modules, has_helper),
                expected,
                "{kind} {filesystems:?} {modules:?}"
            );
        }
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error = FileSystem::named("ext5").unwrap_err();
        assert!(error.to_string().contains("ext4, ext3, ext2, xfs, btrfs, ntfs"), "{error}");
    }

    #[test]
    fn a_tool_that_is_missing_names_its_package_and_one_that_fails_says_why() {
        let missing =
            run(&mut Command::new("mkfs.nothing-of-that-name"), "some-package").unwrap_err();
        assert!(missing.to_string().ends_with("apt-get install some-package"), "{missing}");
        let failed =
            run(Command::new("sh").args(["-c", "echo; echo sh: no luck >&2; exit 3"]), "dash")
                .unwrap_err();
        assert_eq!(failed.to_string(), "sh: no luck");
    }

    #[test]
    fn nothing_is_mounted_from_a_plain_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        File::create(&path).unwrap();
        assert_eq!(points_of(&path), Vec::<PathBuf>::new());
        assert!(unmount(folder.path()).is_err());
    }
}
