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

use block::Stripe;
use confine::Confinement;
use export::{tool, users};
use rustix::io::Errno;
use tracing::debug;
use words::{Text, statement};

use crate::guard::{find_signature, patiently};
use crate::{Error, catalogue, file_system_options, make, mount_call, system};

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
    /// Whether a program serves it, and no kernel does.
    served: bool,
}

/// What can be made and mounted.
pub const FILE_SYSTEMS: &[FileSystem] = &[
    FileSystem {
        name: "ext4",
        maker: &["mkfs.ext4", "-q", "-F"],
        kind: "ext4",
        package: "e2fsprogs",
        served: false,
    },
    FileSystem {
        name: "ext3",
        maker: &["mkfs.ext3", "-q", "-F"],
        kind: "ext3",
        package: "e2fsprogs",
        served: false,
    },
    FileSystem {
        name: "ext2",
        maker: &["mkfs.ext2", "-q", "-F"],
        kind: "ext2",
        package: "e2fsprogs",
        served: false,
    },
    FileSystem {
        name: "xfs",
        maker: &["mkfs.xfs", "-q", "-f"],
        kind: "xfs",
        package: "xfsprogs",
        served: false,
    },
    FileSystem {
        name: "btrfs",
        maker: &["mkfs.btrfs", "-q", "-f"],
        kind: "btrfs",
        package: "btrfs-progs",
        served: false,
    },
    FileSystem {
        name: "ntfs",
        maker: &["mkfs.ntfs", "-Q", "-q", "-F"],
        kind: "ntfs-3g",
        package: "ntfs-3g",
        served: true,
    },
    FileSystem {
        name: "vfat",
        maker: &["mkfs.vfat"],
        kind: "vfat",
        package: "dosfstools",
        served: false,
    },
    FileSystem {
        name: "exfat",
        maker: &["mkfs.exfat"],
        kind: "exfat",
        package: "exfatprogs",
        served: false,
    },
    FileSystem {
        name: "udf",
        maker: &["mkfs.udf"],
        kind: "udf",
        package: "udftools",
        served: false,
    },
    FileSystem {
        name: "f2fs",
        maker: &["mkfs.f2fs", "-q", "-f"],
        kind: "f2fs",
        package: "f2fs-tools",
        served: false,
    },
    FileSystem {
        name: "jfs",
        maker: &["mkfs.jfs", "-q"],
        kind: "jfs",
        package: "jfsutils",
        served: false,
    },
    FileSystem {
        name: "nilfs2",
        maker: &["mkfs.nilfs2", "-q", "-f"],
        kind: "nilfs2",
        package: "nilfs-tools",
        served: false,
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
            "xfs" | "btrfs" | "nilfs2" => Some("-K"),
            "f2fs" => Some("-t0"),
            _ => None,
        }
    }

    /// What `mount` calls it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// What the program that makes one is told of an array's stripes, on a device of so many bytes.
    #[must_use]
    pub fn words_on(&self, stripe: Option<Stripe>, size_bytes: u64) -> Vec<String> {
        const SECTOR_BYTES: u32 = 512;
        make::words(self.name, "", stripe, (size_bytes, SECTOR_BYTES))
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
            Error::usage(statement!(catalogue::NO_SUCH_FILE_SYSTEM, name = name, names = known()))
        })
    }

    /// What is missing for mounting one here, if anything is: the kernel has it, or a module for
    /// it, or there is a program that serves it.
    #[must_use]
    pub fn missing_driver(&self) -> Option<MissingDriver> {
        let known = read(Path::new("/proc/filesystems"));
        missing_driver(self.kind, self.served, &known, &modules(), has_helper(self.kind))
    }

    /// Whether one can be mounted here.
    ///
    /// # Errors
    /// That it cannot, and what would help.
    pub fn check_mountable(&self) -> Result<(), Error> {
        let Some(missing) = self.missing_driver() else { return Ok(()) };
        let remedy = missing.remedy(self.package);
        let advice = statement!(catalogue::LEFT_AS_IT_WAS, remedy = remedy);
        Err(Error::refused(missing.text()).at(self.name).then(advice))
    }

    /// Makes one on `device`, which holds nothing, if it can be mounted then.
    ///
    /// # Errors
    /// When something is there already, when it could not be mounted, or what the program says.
    pub fn make(&self, device: &Path) -> Result<(), Error> {
        self.make_with(device, None, None, &|| true)
    }

    /// The same with further options, as the program that makes it takes them, separated by blanks,
    /// and the stripes of the array below, which it is told of. The program is ended when the file
    /// system is not wanted any more, which is asked again and again.
    ///
    /// # Errors
    /// As [`FileSystem::make`], and that it was ended.
    pub fn make_with(
        &self,
        device: &Path,
        options: Option<&str>,
        stripe: Option<Stripe>,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        if let Some(found) = holds(device)? {
            let said = statement!(catalogue::HOLDS_SOMETHING, what = found);
            return Err(Error::refused(said).at(device.display()));
        }
        self.check_mountable()?;
        let given = self.make_words(options.unwrap_or_default())?.join(" ");
        let device = std::path::absolute(device)
            .map_err(|error| Error::from_io(device.display(), &error))?;
        let make = |stripe: Option<Stripe>| {
            let words = make::words(self.name, &given, stripe, size_of(&device)?);
            let mut command = tool::command(self.maker[0]);
            command.args(&self.maker[1..]).args(words).arg(&device).current_dir("/");
            let confinement = Confinement::writing_to([device.clone()]);
            run_confined(&mut command, self.package, (&confinement, is_wanted))
        };
        // Hints are no conditions: what they make impossible on a small device is made without.
        let made = make(stripe).or_else(|error| match stripe.is_some() && is_wanted() {
            true => make(None),
            false => Err(error),
        });
        // What a program says that was ended is not why.
        made.map_err(|error| match is_wanted() {
            true => error,
            false => Error::interrupted(catalogue::MAKING_ENDED).at(self.maker()),
        })
    }

    /// The words of options for the program that makes one, all of which are on the list of what
    /// is passed on to it.
    ///
    /// # Errors
    /// The first that is not.
    pub fn make_words(&self, options: &str) -> Result<Vec<String>, Error> {
        file_system_options::make_words(self.name, options).map_err(|refused| {
            let place = statement!(catalogue::MAKE_OPTIONS, maker = self.maker());
            Error::usage(refused.text()).at(place)
        })
    }

    /// Whether one can be mounted with these options, as `mount -o` takes them: asked before one is
    /// made.
    ///
    /// # Errors
    /// The option that is not passed on, or that the kernel does not know.
    pub fn check_options(&self, options: Option<&str>) -> Result<(), Error> {
        check_mount_options(Some(self), options)?;
        match options {
            Some(options) if !has_helper(self.kind) => {
                mount_call::check_options(self.kind, options)
            }
            _ => Ok(()),
        }
    }

    /// Mounts the one on `device`; `options` as `mount -o` takes them.
    ///
    /// # Errors
    /// The option that it does not know, or what `mount` says.
    pub fn mount(&self, device: &Path, point: &Path, options: Option<&str>) -> Result<(), Error> {
        self.check_options(options)?;
        let mut command = tool::command("mount");
        command.args(["-t", self.kind]).args(options.map(|options| format!("-o{options}")));
        run(command.arg("--").arg(device).arg(point), "mount")
    }

    /// The same without a program where the kernel does all of it, for a process that serves
    /// nothing of what it mounts: it waits for the device.
    ///
    /// # Errors
    /// As [`FileSystem::mount`], in the kernel's words.
    pub fn mount_here(
        &self,
        device: &Path,
        point: &Path,
        options: Option<&str>,
    ) -> Result<(), Error> {
        check_mount_options(Some(self), options)?;
        let by_kernel = !self.served && !has_helper(self.kind);
        let mounted = by_kernel
            .then(|| mount_call::mount(self.kind, (device, point), options.unwrap_or_default()))
            .flatten();
        mounted.unwrap_or_else(|| self.mount(device, point, options))
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
        let place = match kind {
            Some(kind) => statement!(catalogue::MOUNT_OPTIONS_OF, kind = kind.name),
            None => catalogue::MOUNT_OPTIONS.into(),
        };
        Error::usage(refused.text()).at(place)
    })
}

/// Why a kind of file system cannot be mounted here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingDriver {
    /// The kernel knows no file system of this name, and has no module for it.
    Kernel(String),
    /// The program that serves it is not there.
    Program(String),
}

impl MissingDriver {
    /// What helps; `package` has the programs for the file system.
    #[must_use]
    pub fn remedy(&self, package: &str) -> Text {
        match self {
            MissingDriver::Kernel(kind) => statement!(catalogue::OTHER_KERNEL, kind = kind),
            MissingDriver::Program(_) => statement!(catalogue::INSTALL_PACKAGE, package = package),
        }
    }

    /// What is missing, in words.
    #[must_use]
    pub fn text(&self) -> Text {
        match self {
            MissingDriver::Kernel(kind) => statement!(catalogue::KERNEL_LACKS, kind = kind),
            MissingDriver::Program(program) => {
                statement!(catalogue::PROGRAM_LACKS, program = program)
            }
        }
    }
}

impl std::fmt::Display for MissingDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.text())
    }
}

/// Whether the kernel has a driver as a module, loaded or not.
#[must_use]
pub fn has_module(name: &str) -> bool {
    Path::new("/sys/module").join(name).exists() || is_module(name, &modules())
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The kernel's modules, by path, a line each.
fn modules() -> String {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let folder = Path::new("/lib/modules").join(release);
    read(&folder.join("modules.dep")) + &read(&folder.join("modules.builtin"))
}

fn is_module(name: &str, modules: &str) -> bool {
    let file = format!("/{name}.ko");
    modules.lines().any(|line| line.split(':').next().is_some_and(|path| path.contains(&file)))
}

/// Whether there is a program that mounts a kind of file system, as `mount` looks for it.
fn has_helper(kind: &str) -> bool {
    let helper = format!("mount.{kind}");
    ["/sbin", "/usr/sbin"].iter().any(|folder| Path::new(folder).join(&helper).exists())
}

/// Size and sector size of a device or a file, in bytes.
fn size_of(device: &Path) -> Result<(u64, u32), Error> {
    let failed = |error: io::Error| Error::from_io(device.display(), &error);
    let mut file = File::open(device).map_err(failed)?;
    let size_bytes = io::Seek::seek(&mut file, io::SeekFrom::End(0)).map_err(failed)?;
    Ok((size_bytes, rustix::fs::ioctl_blksszget(&file).unwrap_or(512)))
}

/// What `mount` does not find for a kind of file system: `filesystems` is `/proc/filesystems`. A
/// program that serves it does so through FUSE; some are `served` by one only.
fn missing_driver(
    kind: &str,
    served: bool,
    filesystems: &str,
    modules: &str,
    has_helper: bool,
) -> Option<MissingDriver> {
    let knows = |kind: &str, module: &str| {
        let mut known = filesystems.lines().filter_map(|line| line.split_whitespace().next_back());
        known.any(|known| known == kind) || is_module(module, modules)
    };
    match (served, has_helper) {
        (false, _) if knows(kind, kind) => None,
        (_, true) if knows("fuseblk", "fuse") => None,
        (true, false) => Some(MissingDriver::Program(format!("mount.{kind}"))),
        (true, true) => Some(MissingDriver::Kernel("fuseblk".to_owned())),
        (false, _) => Some(MissingDriver::Kernel(kind.to_owned())),
    }
}

/// Mounts whatever file system is on `device`, an image of a disc included, and says which that is;
/// `options` as `mount -o` takes them.
///
/// # Errors
/// The option that it does not know, or what `mount` says.
pub fn mount_found(device: &Path, point: &Path, options: Option<&str>) -> Result<String, Error> {
    check_mount_options(None, options)?;
    if let Some(options) = options {
        let mut command = tool::command("blkid");
        // Read from the device now, and not from what it has kept of another time.
        command.args(["--probe", "--usages", "filesystem", "--match-tag", "TYPE"]);
        // Where it finds none, `mount` says so.
        let found = answer(command.args(["--output", "value"]).arg(device), "util-linux");
        if let Some(kind) = found.ok().as_deref().map(str::trim).filter(|kind| !has_helper(kind)) {
            mount_call::check_options(kind, options)?;
        }
    }
    let mut command = tool::command("mount");
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
    look().map_err(|error| Error::from_io(catalogue::LOOKING_WHAT, &error).at(device.display()))
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
        Some(user) if is_busy(&error) => error.then(statement!(catalogue::IN_USE_BY, user = &user)),
        _ => error,
    })
}

fn try_unmount(point: &Path) -> Result<(), Error> {
    let Err(error) = run(tool::command("umount").arg("--").arg(point), "mount") else {
        return Ok(());
    };
    // The program keeps the kernel's number to itself.
    match mount_call::expire(point) {
        Ok(()) => Ok(()),
        Err(Errno::BUSY | Errno::AGAIN) => Err(Error::from_io(
            statement!(catalogue::UNMOUNTING, point = point.display()),
            &io::Error::from(Errno::BUSY),
        )),
        Err(_) => Err(error),
    }
}

fn is_busy(error: &Error) -> bool {
    error.errno() == Some(Errno::BUSY)
}

/// How often a file system may be found busy with what has just been closed on it.
const BUSY_ATTEMPTS: u32 = 100;

/// Unmounts what is mounted at `point` once nothing uses it any more: a ring lets go of its files
/// some time after it is closed, and there are programs that have a look at all that is new.
///
/// # Errors
/// As [`unmount`], after five seconds.
pub fn unmount_patiently(point: &Path) -> Result<(), Error> {
    // The last attempt says what it is.
    patiently(BUSY_ATTEMPTS, || try_unmount(point), is_busy)
        .or_else(|error| if is_busy(&error) { unmount(point) } else { Err(error) })
}

/// The same without a program, for a process that serves nothing of what is mounted: it waits for
/// the device.
///
/// # Errors
/// As [`unmount_patiently`].
pub fn unmount_here(point: &Path) -> Result<(), Error> {
    match mount_call::unmount_now(point) {
        Ok(()) => Ok(()),
        Err(_) => unmount_patiently(point),
    }
}

/// Unmounts what is mounted at `point` even where it is in use: then it is out of sight now and
/// ends with its last user. For what a dead server has left behind, which answers with errors only.
///
/// # Errors
/// What `umount` says.
pub fn unmount_by_force(point: &Path) -> Result<(), Error> {
    try_unmount(point)
        .or_else(|_| run(tool::command("umount").arg("--lazy").arg("--").arg(point), "mount"))
}

fn run(command: &mut Command, package: &str) -> Result<(), Error> {
    answer(command, package).map(drop)
}

fn run_confined(
    command: &mut Command,
    package: &str,
    (confinement, is_wanted): (&Confinement, &dyn Fn() -> bool),
) -> Result<(), Error> {
    let output = |command: &mut Command| {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        tool::output_while(confinement.spawn(command)?, is_wanted)
    };
    said(package, command, output).map(drop)
}

/// What a program of the system prints.
fn answer(command: &mut Command, package: &str) -> Result<String, Error> {
    said(package, command, Command::output)
}

fn said(
    package: &str,
    command: &mut Command,
    output: impl FnOnce(&mut Command) -> io::Result<Output>,
) -> Result<String, Error> {
    debug!(?command, "run");
    let name = command.get_program().to_string_lossy().into_owned();
    let output = output(command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let said = catalogue::PROGRAM_MISSING;
            Error::failed(statement!(said, program = &name, package = package))
        }
        _ => Error::from_io(&name, &error),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stderr, output.stdout].concat();
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    let prefix = format!("{name}: ");
    let why = line.map_or(catalogue::SAID_NOTHING.into(), |line| {
        Text::from(line.strip_prefix(&prefix).unwrap_or(line))
    });
    Err(Error::failed(why).at(name))
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
            served: false,
        };
        let error = none.make(&path).unwrap_err().to_string();
        assert!(
            error.contains("neither none-such nor a module")
                && error.contains("nothing was changed"),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), vec![0; 1 << 20], "as it was");
    }

    #[test]
    fn what_is_missing_for_a_mount_is_named_as_kernel_or_program() {
        let filesystems = "nodev\tproc\n\text4\n\tfuseblk\n";
        let modules = "kernel/fs/fat/vfat.ko.xz: kernel/fs/fat/fat.ko.xz\nkernel/fs/xfs/xfs.ko:\n";
        let kernel = |kind: &str| Some(MissingDriver::Kernel(kind.to_owned()));
        let program = Some(MissingDriver::Program("mount.ntfs-3g".to_owned()));
        for (kind, filesystems, modules, has_helper, expected) in [
            ("ext4", filesystems, "", false, None),
            ("ext", filesystems, "", false, kernel("ext")),
            ("vfat", filesystems, "", false, kernel("vfat")),
            ("vfat", filesystems, modules, false, None),
            (
                "fat",
                filesystems,
                "kernel/fs/fat/vfat.ko: kernel/fs/fat/fat.ko\n",
                false,
                kernel("fat"),
            ),
            ("xfs", "", modules, false, None),
            ("exfat", filesystems, "", true, None),
            ("ntfs-3g", filesystems, "", true, None),
            ("ntfs-3g", "", "kernel/fs/fuse/fuse.ko:\n", true, None),
            ("ntfs-3g", filesystems, "", false, program),
            ("ntfs-3g", "\text4\n", "", true, kernel("fuseblk")),
        ] {
            let served = kind == "ntfs-3g";
            assert_eq!(
                missing_driver(kind, served, filesystems, modules, has_helper),
                expected,
                "{kind} {filesystems:?} {modules:?}"
            );
        }
        let advice = |missing: MissingDriver| missing.remedy("exfatprogs").to_string();
        let module = advice(MissingDriver::Kernel("exfat".to_owned()));
        assert!(module.contains("a kernel with exfat") && !module.contains("apt-get"), "{module}");
        assert!(advice(MissingDriver::Program("mount.x".to_owned())).contains("apt-get install"));
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error = FileSystem::named("ext5").unwrap_err();
        assert!(error.to_string().contains("ext4, ext3, ext2, xfs, btrfs, ntfs"), "{error}");
    }

    #[test]
    fn a_tool_that_is_missing_names_its_package_and_one_that_fails_says_why() {
        let missing =
            run(&mut tool::command("mkfs.nothing-of-that-name"), "some-package").unwrap_err();
        assert!(missing.to_string().ends_with("apt-get install some-package"), "{missing}");
        let failed =
            run(tool::command("sh").args(["-c", "echo; echo sh: no luck >&2; exit 3"]), "dash")
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
