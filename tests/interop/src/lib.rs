//! What the tests that exchange arrays with the Linux kernel have in common: which arrays there are, the machine that runs the
//! kernel, and raidloom's way from a set of members to a device.
//!
//! ```text
//!   Shape ──> job ──> arrays.sh inside user-mode Linux ──> members' images, what the kernel says
//!   members' images ──> superblocks ──> assembly ──> tree of the stack ──> device
//! ```

pub mod fsx;

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use array::Raid0Layout;
use array::geometry::{ParityLayout, Raid10Layout};
use array::md::{AssembleOptions, Assembly, Layout, Level, Start, assemble};
use block::{Blocking, Node, Reactor, SECTOR_BYTES};
use lab::arrays;
use lab::guard::{Consent, Guard};
use stack::BuildContext;

/// Sizes of the members that redundant arrays get, in bytes. Behind the first MiB they have an odd number of chunks of 64 KiB, and
/// what is left over is no whole chunk.
pub const EQUAL_MEMBERS: [u64; 5] = [5200 << 10; 5];
/// Sizes of those that linear and level 0 get, in bytes: with chunks of 64 KiB, 339 chunks are dealt out to all three before two of
/// them go on, so that the two layouts of level 0 differ.
pub const UNEQUAL_MEMBERS: [u64; 3] = [8272 << 10, 16384 << 10, 12304 << 10];

/// An array to exchange.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its level as mdadm names it.
    pub level: &'static str,
    /// Its layout as mdadm names it; empty for levels with only one.
    pub layout: &'static str,
    /// How many members.
    pub members: usize,
    /// Chunk in KiB; 0 for levels without.
    pub chunk_kib: u64,
    /// Whether the members are [`UNEQUAL_MEMBERS`].
    pub unequal: bool,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "level-{}", self.level)?;
        if !self.layout.is_empty() {
            write!(f, "-{}", self.layout)?;
        }
        write!(f, "-{}{}members", self.members, if self.unequal { "-unequal-" } else { "-" })?;
        if self.chunk_kib > 0 { write!(f, "-{}KiB", self.chunk_kib) } else { Ok(()) }
    }
}

const fn shape(level: &'static str, layout: &'static str, members: usize, chunk_kib: u64) -> Shape {
    Shape { level, layout, members, chunk_kib, unequal: false }
}

const fn unequal(level: &'static str, layout: &'static str, chunk_kib: u64) -> Shape {
    Shape { level, layout, members: UNEQUAL_MEMBERS.len(), chunk_kib, unequal: true }
}

/// Every array that is exchanged, in both directions.
pub const SHAPES: &[Shape] = &[
    unequal("linear", "", 0),
    unequal("0", "original", 64),
    unequal("0", "alternate", 64),
    shape("0", "original", 3, 16),
    shape("1", "", 2, 0),
    shape("1", "", 3, 0),
    shape("4", "", 3, 64),
    shape("5", "left-asymmetric", 4, 64),
    shape("5", "right-asymmetric", 4, 4),
    shape("5", "left-symmetric", 3, 512),
    shape("5", "left-symmetric", 5, 64),
    shape("5", "right-symmetric", 3, 32),
    shape("5", "parity-first", 4, 64),
    shape("5", "parity-last", 4, 64),
    shape("6", "left-asymmetric", 5, 64),
    shape("6", "right-asymmetric", 4, 64),
    shape("6", "left-symmetric", 4, 512),
    shape("6", "left-symmetric", 5, 16),
    shape("6", "right-symmetric", 5, 64),
    shape("6", "parity-first", 5, 64),
    shape("6", "parity-last", 4, 64),
    shape("6", "ddf-zero-restart", 5, 64),
    shape("6", "ddf-N-restart", 5, 64),
    shape("6", "ddf-N-continue", 5, 64),
    shape("6", "left-asymmetric-6", 5, 64),
    shape("6", "right-asymmetric-6", 5, 64),
    shape("6", "left-symmetric-6", 5, 64),
    shape("6", "right-symmetric-6", 5, 64),
    shape("6", "parity-first-6", 5, 64),
    shape("10", "n2", 3, 64),
    shape("10", "n2", 4, 64),
    shape("10", "n3", 5, 32),
    shape("10", "f2", 3, 64),
    shape("10", "f2", 4, 16),
    shape("10", "o2", 3, 64),
    shape("10", "o2", 4, 64),
];

impl Shape {
    /// The level as raidloom has it.
    ///
    /// # Panics
    /// For a level that is not exchanged.
    #[must_use]
    pub fn md_level(&self) -> Level {
        match self.level {
            "linear" => Level::Linear,
            "0" => Level::Raid0,
            "1" => Level::Raid1,
            "4" => Level::Raid4,
            "5" => Level::Raid5,
            "6" => Level::Raid6,
            "10" => Level::Raid10,
            other => panic!("no level {other} is exchanged"),
        }
    }

    /// The layout as raidloom has it.
    ///
    /// # Panics
    /// For a layout that raidloom does not know.
    #[must_use]
    pub fn md_layout(&self) -> Layout {
        let layout = match (self.level, self.layout) {
            (_, "") => Some(Layout::Plain),
            ("0", "original") => Some(Layout::Raid0(Some(Raid0Layout::Original))),
            ("0", "alternate") => Some(Layout::Raid0(Some(Raid0Layout::Alternate))),
            ("10", name) => Raid10Layout::from_name(name).map(Layout::Raid10),
            (_, name) => ParityLayout::from_name(name).map(Layout::Parity),
        };
        layout.unwrap_or_else(|| panic!("level {} has no layout {}", self.level, self.layout))
    }

    /// Sizes of its members in bytes.
    #[must_use]
    pub fn member_sizes(&self) -> &'static [u64] {
        if self.unequal { &UNEQUAL_MEMBERS[..self.members] } else { &EQUAL_MEMBERS[..self.members] }
    }

    /// The devices inside the machine that its members are, by role, as [`Machine::new`] orders them.
    #[must_use]
    pub fn devices(&self) -> Vec<String> {
        let first = if self.unequal { EQUAL_MEMBERS.len() as u8 } else { 0 };
        (0..self.members as u8).map(|index| format!("/dev/ubd{}", char::from(b'a' + first + index))).collect()
    }

    /// What mdadm has to be told to make it.
    #[must_use]
    pub fn mdadm_options(&self) -> String {
        let mut options = format!("--level={} --raid-devices={}", self.level, self.members);
        if !self.layout.is_empty() {
            options += &format!(" --layout={}", self.layout);
        }
        if self.chunk_kib > 0 {
            options += &format!(" --chunk={}", self.chunk_kib);
        }
        if self.level == "linear" {
            options += " --rounding=64";
        }
        options
    }

    /// The sets of members that are left out in turn: each one, and each two where an array may live through that.
    #[must_use]
    pub fn subsets(&self) -> Vec<Vec<usize>> {
        let most = match self.level {
            "linear" | "0" => return Vec::new(),
            "6" | "10" => 2,
            _ => 1,
        };
        let singles = (0..self.members).map(|role| vec![role]);
        let pairs = (0..self.members).flat_map(|first| (first + 1..self.members).map(move |second| vec![first, second]));
        singles.chain(pairs.filter(|_| most == 2)).collect()
    }
}

/// Roles as `arrays.sh` writes them.
#[must_use]
pub fn roles_text(roles: &[usize]) -> String {
    roles.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// The name of a member's image.
#[must_use]
pub fn member_path(folder: &Path, name: impl fmt::Display, role: usize) -> PathBuf {
    folder.join(format!("{name}.{role}"))
}

/// A machine with the real kernel and md on the images of one folder.
#[derive(Debug)]
pub struct Machine {
    folder: PathBuf,
    images: Vec<PathBuf>,
}

impl Machine {
    /// A machine with a disk for each of [`EQUAL_MEMBERS`] and then of [`UNEQUAL_MEMBERS`]. The disks are full of old data.
    ///
    /// # Errors
    /// What kept the images from being made.
    pub fn new(folder: &Path, seed: u64) -> io::Result<Machine> {
        let sizes = EQUAL_MEMBERS.iter().chain(&UNEQUAL_MEMBERS);
        let images = sizes.zip(0_u64..).map(|(size, number)| {
            let image = folder.join(format!("disk{number}"));
            std::fs::write(&image, noise(seed + number, *size as usize))?;
            Ok(image)
        });
        Ok(Machine { folder: folder.to_owned(), images: images.collect::<io::Result<_>>()? })
    }

    /// What is missing for such a machine, with the command that installs it; `None` when all is there.
    #[must_use]
    pub fn missing() -> Option<String> {
        let in_path = |name: &str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).any(|folder| folder.join(name).exists())
        };
        let there = |variable: &str, otherwise: &str| Path::new(&std::env::var_os(variable).unwrap_or(otherwise.into())).exists();
        let kernel = std::env::var_os("UML_KERNEL").map_or_else(|| in_path("linux.uml"), |path| Path::new(&path).exists());
        let uml = kernel && there("UML_MODULES", "/usr/lib/uml/modules");
        let packages: Vec<&str> =
            [(uml, "user-mode-linux"), (in_path("mdadm"), "mdadm")].iter().filter(|(there, _)| !there).map(|(_, name)| *name).collect();
        (!packages.is_empty()).then(|| format!("{} not there: apt-get install {}", packages.join(" and "), packages.join(" ")))
    }

    /// Whether the test can go on. Without what it needs it is skipped, which is said; in CI that is a failure.
    ///
    /// # Panics
    /// When something is missing and the variable `CI` is `true`.
    #[must_use]
    pub fn is_there(test: &str) -> bool {
        let Some(missing) = Machine::missing() else { return true };
        assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "{test}: {missing}");
        // Past the harness, which swallows what is printed.
        let _ = writeln!(io::stderr(), "skipped: {test}: {missing}");
        false
    }

    /// Does the jobs and returns the lines that were printed about them.
    ///
    /// # Errors
    /// What the machine said when it did not do all of them.
    pub fn run(&self, jobs: &[String]) -> Result<Vec<String>, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let failed = |error: io::Error| format!("{}: {error}", self.folder.display());
        std::fs::write(self.folder.join("jobs"), jobs.join("\n") + "\n").map_err(failed)?;
        let mut command = Command::new(here.join("uml.sh"));
        command.args(["-t", "1800"]).arg("-w").arg(&self.folder).arg(here.join("arrays.sh"));
        let output = command.args(&self.images).arg("--").arg(&self.folder).output().map_err(failed)?;
        let (text, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            return Err(format!("{}\n{text}\n{log}", output.status));
        }
        Ok(text.lines().map(str::to_owned).collect())
    }
}

/// What the kernel printed about the array of this name under this key; empty when nothing.
#[must_use]
pub fn said<'a>(lines: &'a [String], name: &str, key: &str) -> &'a str {
    lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.strip_prefix(key)?.strip_prefix(' ')).unwrap_or_default()
}

/// A line of the job file; see `arrays.sh`.
#[must_use]
pub fn job(what: &str, name: &str, devices: &[String], content: &Path, skip: u64, subsets: &[Vec<usize>], options: &str) -> String {
    let subsets: Vec<String> = subsets.iter().map(|roles| roles_text(roles)).collect();
    format!("{what}|{name}|{}|{}|{skip}|{}|{options}", devices.join(" "), content.display(), subsets.join(" "))
}

/// Pseudo-random bytes.
#[must_use]
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

/// Assembles the members, with those of the roles in `absent` left out.
///
/// # Errors
/// One line: a file that cannot be read, a member without a superblock, or members that make no array.
pub fn assembled(members: &[PathBuf], absent: &[usize]) -> Result<(Assembly, Vec<PathBuf>), String> {
    // What it opened for reading must not be in the way of writing later: it is gone at the end.
    let guard = Guard::new(Consent::default());
    let present: Vec<PathBuf> =
        members.iter().enumerate().filter(|(role, _)| !absent.contains(role)).map(|(_, path)| path.clone()).collect();
    let mut candidates = Vec::new();
    for path in &present {
        let examined = arrays::examine(&guard, path).map_err(|error| error.to_string())?;
        candidates.push(examined.candidate().ok_or_else(|| format!("{}: no superblock", path.display()))?);
    }
    Ok((assemble(&candidates, AssembleOptions::default())?, present))
}

/// The tree of the stack that an assembly stands for without its metadata; a place without a member is `missing`.
///
/// # Panics
/// For a level that raidloom does not serve.
#[must_use]
pub fn tree(assembly: &Assembly, paths: &[PathBuf]) -> Node {
    let mut node = arrays::slices(assembly, paths).unwrap_or_else(|| panic!("{} is not served", assembly.level));
    if let Node::Layer { children, .. } = &mut node {
        for child in children {
            // The images are written and read through the page cache too.
            *child = std::mem::replace(child, Node::Missing).with("direct", "no");
        }
    }
    node
}

/// What raidloom makes of a set of members.
pub enum Opened {
    /// It may not start; why.
    Refused(String),
    /// The device, its size in bytes, and its tree for messages.
    Ready(Blocking, u64, String),
}

/// Opens the array that the members make, with those of the roles in `absent` left out.
///
/// # Errors
/// One line when nothing can be made of them, or what is made has another size than the superblocks say.
pub fn open(members: &[PathBuf], absent: &[usize], read_only: bool) -> Result<Opened, String> {
    let guard = Guard::new(Consent { erase_signature: true, ..Consent::default() });
    let (assembly, present) = assembled(members, absent)?;
    if assembly.start != Start::Ready {
        return Ok(Opened::Refused(assembly.start.to_string()));
    }
    if !assembly.clean || !assembly.left_out.is_empty() || assembly.degraded_count() != absent.len() {
        return Err(format!("clean {}, left out {:?}, places {}", assembly.clean, assembly.left_out, assembly.places_text()));
    }
    // Printed and read again: people reach such an array by its text.
    let text = tree(&assembly, &present).to_string();
    let context = BuildContext { files: &guard, seed: 0, read_only, create_bytes: None, emulate: false };
    let stack = stack::parse_and_build(&text, &context).map_err(|error| format!("{text}: {error}"))?;
    let size = stack.device.info().size_bytes;
    if Some(size) != assembly.array_sectors.map(|sectors| sectors * SECTOR_BYTES) {
        return Err(format!("{text}: has {size} bytes, and by the superblocks {:?} sectors", assembly.array_sectors));
    }
    let reactor = Reactor::wall().map_err(|error| format!("no reactor: {error}"))?;
    let channel = Blocking::open(&*stack.device, &reactor).map_err(|error| format!("{text}: {error}"))?;
    Ok(Opened::Ready(channel, size, text))
}

/// Where two slices differ first, and how much of them does.
#[must_use]
pub fn difference(found: &[u8], expected: &[u8]) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} bytes instead of {}", found.len(), expected.len()));
    }
    let first = found.iter().zip(expected).position(|(found, expected)| found != expected)?;
    let sectors = found.chunks(SECTOR_BYTES as usize).zip(expected.chunks(SECTOR_BYTES as usize));
    let wrong = sectors.filter(|(found, expected)| found != expected).count();
    Some(format!("first at byte {first} (sector {}); {wrong} sectors differ", first as u64 / SECTOR_BYTES))
}
