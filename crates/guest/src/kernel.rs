//! The guest's kernel: where it is kept, and whether it is what was built.
//!
//! ```text
//!   linux-source-6.1.tar.xz ── unpack ── configure ── compile ──┐
//!   inside/*.c ─────────────────────────── cc ──────────────────┤
//!                                                              v
//!      ~/.cache/raidloom/guest/   linux  random.so  clock.so  power-off  config  made
//! ```
//!
//! Others may stand beside the usual one, each in a folder `kernels/NAME` below that: of another
//! tree, or with more in its configuration.
//!
//! `made` is written last and has a line for each of the others with the hash of what it holds, and
//! one each with the hash of what the kernel and what is beside it were made from: after an update
//! of raidloom that asks for another configuration the kernel counts as missing. What is beside it
//! is made anew in a second.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use block::{Error, ErrorKind};
use words::{Text, statement};
use xxhash_rust::xxh3::xxh3_128;

use crate::catalogue;

/// What is asked of the kernel's configuration.
pub(crate) const CONFIG: &str = include_str!("inside/guest.config");
pub(crate) const RANDOM: &str = include_str!("inside/random.c");
pub(crate) const REGISTERS: &str = include_str!("inside/registers.c");
pub(crate) const CLOCK: &str = include_str!("inside/clock.c");
pub(crate) const POWER_OFF: &str = include_str!("inside/power-off.c");
/// The files that make up a kernel.
pub(crate) const PARTS: [&str; 5] = ["linux", "random.so", "clock.so", "power-off", "config"];
/// Where those kernels lie that are not the usual one.
const NAMED: &str = "kernels";

/// What the kernel is called that guests have where no other is named.
pub const USUAL_KERNEL: &str = "usual";

/// A kernel that has been built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    folder: PathBuf,
    name: String,
    version: String,
}

/// Whether a kernel can be called so.
///
/// # Errors
/// [`ErrorKind::Invalid`] where it cannot.
pub fn check_kernel_name(name: &str) -> Result<(), Error> {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let begins = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if begins && name.len() <= 64 && name.chars().all(is_fit) {
        return Ok(());
    }
    let text = statement!(catalogue::KERNEL_NAME, name = name);
    Err(Error::new(ErrorKind::Invalid, text))
}

impl Kernel {
    /// The folder in which this user's kernel of this name is kept: of the usual one
    /// `$XDG_CACHE_HOME/raidloom/guest`, or below `~/.cache`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]: neither variable is set. As [`check_kernel_name`].
    pub fn folder(name: &str) -> Result<PathBuf, Error> {
        check_kernel_name(name)?;
        let usual = Kernel::usual_folder()?;
        Ok(if name == USUAL_KERNEL { usual } else { usual.join(NAMED).join(name) })
    }

    fn usual_folder() -> Result<PathBuf, Error> {
        let set = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
        cache
            .map(|cache| cache.join("raidloom/guest"))
            .ok_or_else(|| Error::new(ErrorKind::NotFound, catalogue::NO_HOME))
    }

    /// The kernel of this name in this user's cache folder.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]: it has not been built, or for another raidloom.
    /// [`ErrorKind::Corrupt`]: it is not what was built. As [`Kernel::folder`].
    pub fn find(name: &str) -> Result<Kernel, Error> {
        Kernel::find_in(&Kernel::folder(name)?, name)
    }

    /// Whether a usual kernel has the file system that `mount` calls so.
    #[must_use]
    pub fn usual_mounts(kind: &str) -> bool {
        // What ext2 and ext3 are mounted by.
        let driver = if kind.starts_with("ext") { "ext4" } else { kind };
        let line = format!("CONFIG_{}_FS=y", driver.to_uppercase());
        CONFIG.lines().any(|known| known == line)
    }

    /// The kernel in a folder.
    ///
    /// # Errors
    /// As [`Kernel::find`].
    pub fn find_in(folder: &Path, name: &str) -> Result<Kernel, Error> {
        let is_usual = name == USUAL_KERNEL;
        let whose = if is_usual { String::new() } else { format!(" `{name}`") };
        let builds = match is_usual {
            true => "raidloom guest build".to_owned(),
            false => format!("raidloom guest build -s name={name}"),
        };
        let missing = |why: Text| {
            let text = statement!(catalogue::KERNEL_IS_MADE_BY, why = why, builds = &builds);
            Error::new(ErrorKind::NotFound, text)
        };
        let Ok(made) = fs::read_to_string(folder.join("made")) else {
            return Err(missing(statement!(catalogue::NO_GUEST_KERNEL, whose = whose)));
        };
        let said =
            |name: &str| made.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        if said("configured") != Some(origin().as_str()) {
            return Err(missing(statement!(catalogue::KERNEL_OF_ANOTHER, whose = whose)));
        }
        if said("beside") != Some(origin_beside().as_str()) {
            let text = statement!(catalogue::BESIDE_OF_ANOTHER, whose = whose, builds = &builds);
            return Err(Error::new(ErrorKind::NotFound, text));
        }
        for part in PARTS {
            let path = folder.join(part);
            if said(part) != hash_of(&path).ok().as_deref() {
                let text = statement!(
                    catalogue::NOT_WHAT_WAS_BUILT,
                    path = path.display(),
                    builds = &builds
                );
                return Err(Error::new(ErrorKind::Corrupt, text));
            }
        }
        let version = said("version").unwrap_or("of unknown version").to_owned();
        Ok(Kernel { folder: folder.to_owned(), name: name.to_owned(), version })
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version: `6.1.192`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The kernel, a program.
    #[must_use]
    pub fn linux(&self) -> PathBuf {
        self.folder.join("linux")
    }

    pub(crate) fn random(&self) -> PathBuf {
        self.folder.join("random.so")
    }

    pub(crate) fn clock(&self) -> PathBuf {
        self.folder.join("clock.so")
    }

    pub(crate) fn power_off(&self) -> PathBuf {
        self.folder.join("power-off")
    }
}

/// What would differ with each build. Linux mixes its version, in which the date of its build is,
/// into what all chance in it comes from: a kernel that is built again would have other identifiers
/// and places of files, and figures that differ by some tenths of a percent.
pub(crate) const BUILD_IDENTITY: [&str; 4] = [
    "KBUILD_BUILD_TIMESTAMP=Sun Jan 01 00:00:00 UTC 2006",
    "KBUILD_BUILD_VERSION=1",
    "KBUILD_BUILD_USER=raidloom",
    "KBUILD_BUILD_HOST=raidloom",
];

/// What a kernel is made from, beside Linux itself.
pub(crate) fn origin() -> String {
    format!("{:032x}", xxh3_128([CONFIG, &BUILD_IDENTITY.concat()].concat().as_bytes()))
}

/// What is made from our own code.
pub(crate) fn origin_beside() -> String {
    format!("{:032x}", xxh3_128([RANDOM, REGISTERS, CLOCK, POWER_OFF].concat().as_bytes()))
}

/// The version of the kernel in a folder, if it is what this raidloom asks for, whatever is beside
/// it.
pub(crate) fn has_linux(folder: &Path) -> Option<String> {
    let made = fs::read_to_string(folder.join("made")).ok()?;
    let said =
        |name: &str| made.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let is_whole = |part: &str| said(part) == hash_of(&folder.join(part)).ok().as_deref();
    let is_ours = said("configured") == Some(origin().as_str());
    (is_ours && is_whole("linux") && is_whole("config"))
        .then(|| said("version"))?
        .map(str::to_owned)
}

pub(crate) fn hash_of(path: &Path) -> io::Result<String> {
    Ok(format!("{:032x}", xxh3_128(&fs::read(path)?)))
}

/// What is written down of the kernel in a folder.
pub(crate) fn said_of(folder: &Path, name: &str) -> Option<String> {
    let made = fs::read_to_string(folder.join("made")).ok()?;
    made.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(str::to_owned)
}
