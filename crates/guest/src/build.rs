//! Building a kernel for guests.
//!
//! ```text
//!   source ── unpack ── configure ── compile ──┐
//!   what is asked: ours, and a fragment ─┘      ├──> linux *.so power-off config, then made
//!   inside/*.c ────────────── cc ──────────────┘
//! ```

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use block::{Error, ErrorKind};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal};
use words::{Text, statement};
use xxhash_rust::xxh3::xxh3_128;

use crate::catalogue;
#[cfg(test)]
use crate::kernel::check_kernel_name;
use crate::kernel::{
    BUILD_IDENTITY, CLOCK, CONFIG, Kernel, PARTS, POWER_OFF, RANDOM, REGISTERS, USUAL_KERNEL,
    has_linux, hash_of, origin, origin_beside, said_of,
};

/// Where Debian's package of the source lies.
const SOURCE: &str = "/usr/src/linux-source-6.1.tar.xz";
/// How the paths of all such packages begin and end, with the version between.
const SOURCES: &str = "/usr/src/linux-source-";
const SOURCE_ENDS: &str = ".tar.xz";
/// What building needs, and the package that has it.
const TOOLS: [(&str, &str); 9] = [
    ("make", "make"),
    ("cc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("setarch", "util-linux"),
];
/// Room that the unpacked source and what is compiled take, in bytes.
const ROOM_BYTES: u64 = 2 << 30;
/// Lines that `make` prints while it compiles this configuration of Linux 6.1, about.
const STEPS: u64 = 1150;

/// All that make said of the build that came last.
const LOG: &str = "build.log";

/// How far building is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStep {
    /// The source is being unpacked.
    Unpack,
    /// The configuration is being made.
    Configure,
    /// So many steps of `make` are done, of so many where that is known.
    Compile(u64, Option<u64>),
}

/// A kernel that is to be built.
#[derive(Clone, Copy, Debug)]
pub struct KernelOrder<'a> {
    /// What it is called.
    pub name: &'a str,
    /// A tarball of Linux, the folder in which one is unpacked, which is then built in place, or
    /// the version of another package of Debian's (`6.12`); else Debian's package of 6.1.
    pub source: Option<&'a Path>,
    /// A file with what its configuration has beside ours, or instead of it: lines as in `.config`.
    pub config: Option<&'a Path>,
    /// Also where it is there already.
    pub again: bool,
}

/// What a kernel is made from.
struct Recipe {
    /// A tarball of Linux or the folder in which one is unpacked.
    source: PathBuf,
    /// What its configuration has beside ours, or instead of it.
    fragment: String,
}

impl Recipe {
    /// What is ordered; what an order leaves out is as it was for the kernel in this folder.
    fn of(order: &KernelOrder<'_>, folder: &Path) -> Result<Recipe, Error> {
        let invalid = |text: Text| Err(Error::new(ErrorKind::Invalid, text));
        let is_usual = order.name == USUAL_KERNEL;
        if is_usual && order.config.is_some() {
            return invalid(statement!(catalogue::USUAL_KERNEL_ALONE, usual_kernel = USUAL_KERNEL));
        }
        let fragment = match order.config {
            Some(path) => {
                let text = fs::read_to_string(path).map_err(|error| failed(path, error))?;
                check_fragment(&text).map_err(|error| error.at(path.display().to_string()))?;
                text
            }
            None if is_usual => String::new(),
            None => fs::read_to_string(folder.join("fragment")).unwrap_or_default(),
        };
        let known = if is_usual { None } else { said_of(folder, "source") };
        if !is_usual && known.is_none() && order.source.is_none() && order.config.is_none() {
            return invalid(statement!(catalogue::NO_KERNEL_YET, name = order.name));
        }
        let source = match order.source {
            Some(source) => named_source(source)?,
            None => known.map_or_else(|| PathBuf::from(SOURCE), PathBuf::from),
        };
        Ok(Recipe { source, fragment })
    }

    fn fragment_hash(&self) -> String {
        format!("{:032x}", xxh3_128(self.fragment.as_bytes()))
    }

    /// Whether the kernel in a folder was made by it. A tree may have changed since.
    fn has_made(&self, order: &KernelOrder<'_>, folder: &Path) -> bool {
        let was = |name: &str, now: &str| said_of(folder, name).is_none_or(|was| was == now);
        let is_source = match order.source {
            Some(_) => !self.source.is_dir() && was("source", &self.source.display().to_string()),
            None => true,
        };
        is_source && was("fragment", &self.fragment_hash())
    }
}

/// Where a source lies: what is there by that name, or the package of that version.
fn named_source(source: &Path) -> Result<PathBuf, Error> {
    let is_version = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_digit())
            && text.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
    };
    match source.to_str() {
        Some(version) if is_version(version) && !source.exists() => {
            Ok(format!("{SOURCES}{version}{SOURCE_ENDS}").into())
        }
        _ => std::path::absolute(source).map_err(|error| failed(source, error)),
    }
}

/// Whether each line of a fragment says something of an option.
fn check_fragment(text: &str) -> Result<(), Error> {
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        let is_comment = line.starts_with('#') || line.is_empty();
        let why = match option_of(line) {
            Some(_) if line.ends_with("=m") => catalogue::NO_MODULES,
            None if !is_comment => catalogue::OPTION_LINE_EXPECTED,
            _ => continue,
        };
        let text = statement!(catalogue::FRAGMENT_LINE, number = number, line = line, why = why);
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    Ok(())
}

/// The option that a line of a configuration is about.
fn option_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let name = match line.strip_prefix("# ") {
        Some(rest) => rest.strip_suffix(" is not set")?,
        None => line.split_once('=')?.0,
    };
    name.starts_with("CONFIG_").then_some(name)
}

/// What is asked of a configuration: ours, but for what a fragment says otherwise, and that.
fn asked_with(fragment: &str) -> String {
    let others: Vec<&str> = fragment.lines().filter_map(option_of).collect();
    let is_left = |line: &&str| option_of(line).is_none_or(|name| !others.contains(&name));
    let lines = CONFIG.lines().filter(is_left).chain(fragment.lines().map(str::trim));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Builds a kernel into this user's cache folder, and says whether it was there already: one that
/// is whole and was made from the same stays, and only what is beside it is made where that is
/// missing. A source that is a folder is always made again, in as long as `make` takes for what has
/// changed in it.
///
/// # Errors
/// What is missing, with the command that installs it; what `make` said first of what is wrong, and
/// where all that it said lies; a configuration that has lost something on the way; an order that
/// makes no sense.
pub fn build(
    order: &KernelOrder<'_>,
    tell: &mut dyn FnMut(BuildStep),
    go_on: &dyn Fn() -> bool,
) -> Result<(Kernel, bool), Error> {
    build_in(&Kernel::folder(order.name)?, order, tell, go_on)
}

fn build_in(
    target: &Path,
    order: &KernelOrder<'_>,
    tell: &mut dyn FnMut(BuildStep),
    go_on: &dyn Fn() -> bool,
) -> Result<(Kernel, bool), Error> {
    let recipe = Recipe::of(order, target)?;
    if !order.again
        && recipe.has_made(order, target)
        && let Some(version) = has_linux(target)
    {
        let found = Kernel::find_in(target, order.name);
        let was_there = found.is_ok();
        if !was_there {
            build_beside(target, (&version, &recipe), go_on)?;
        }
        return Ok((Kernel::find_in(target, order.name)?, was_there));
    }
    let source = recipe.source.as_path();
    if let Some(text) = missing(&lacking_tools(), source) {
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    fs::create_dir_all(target).map_err(|error| failed(target, error))?;
    // Where it stays behind after `kill -9`, the next build takes its place.
    let work = target.join("building");
    let _cleared = Cleared::new(&work)?;
    let tree = if source.is_dir() {
        source.to_owned()
    } else {
        check_room(&work)?;
        tell(BuildStep::Unpack);
        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(source).arg("-C").arg(&work).arg("--strip-components=1");
        run(&mut tar, go_on, |_| ())?;
        work.clone()
    };
    let asked = work.join("guest.config");
    fs::write(&asked, asked_with(&recipe.fragment)).map_err(|error| failed(&asked, error))?;
    let path = target.join(LOG);
    let log = File::create(&path).map_err(|error| failed(&path, error))?;
    // Of another configuration nobody knows before how much there is to compile.
    let steps = (source == Path::new(SOURCE) && recipe.fragment.is_empty()).then_some(STEPS);
    let version =
        Compilation { tree: &tree, log, steps, go_on }.linux(&asked, tell).map_err(|error| {
            match error.kind() {
                ErrorKind::Other if go_on() => {
                    let whole = statement!(catalogue::ALL_OF_MAKE, path = path.display());
                    let text = error.text().and(whole);
                    error.retold(text)
                }
                _ => error.at(source.display().to_string()),
            }
        })?;
    let ready = work.join("ready");
    fs::create_dir(&ready).map_err(|error| failed(&ready, error))?;
    for (from, to) in [(tree.join("linux"), "linux"), (tree.join(".config"), "config")] {
        fs::copy(&from, ready.join(to)).map_err(|error| failed(&from, error))?;
    }
    compile_beside(&work, &ready, go_on)?;
    install(&ready, target, (&version, &recipe))?;
    Ok((Kernel::find_in(target, order.name)?, false))
}

/// An unpacked tree that is compiled.
struct Compilation<'a> {
    tree: &'a Path,
    /// All that `make` says.
    log: File,
    /// How many steps it takes, where that is known.
    steps: Option<u64>,
    go_on: &'a dyn Fn() -> bool,
}

impl Compilation<'_> {
    fn make(&mut self, words: &[&OsStr], mut line: impl FnMut(&str)) -> Result<(), Error> {
        let mut make = Command::new("make");
        make.arg("-C")
            .arg(self.tree)
            .args(["ARCH=um", "LC_ALL=C"])
            .args(BUILD_IDENTITY)
            .args(words);
        let log = &mut self.log;
        run(&mut make, self.go_on, |text| {
            // A log that cannot be written is no reason to build nothing.
            let _ = writeln!(log, "{text}");
            line(text);
        })
    }

    /// Configures it as is asked in a file, and compiles it. The version of the kernel.
    fn linux(&mut self, asked: &Path, tell: &mut dyn FnMut(BuildStep)) -> Result<String, Error> {
        tell(BuildStep::Configure);
        let mut asked_for = OsString::from("KCONFIG_ALLCONFIG=");
        asked_for.push(asked);
        self.make(&[OsStr::new("allnoconfig"), &asked_for], |_| ())?;
        let read = |path: &Path| fs::read_to_string(path).map_err(|error| failed(path, error));
        let (got, all_asked) = (read(&self.tree.join(".config"))?, read(asked)?);
        if let Some(lost) = lost_option(&all_asked, &got) {
            let without = option_of(lost).unwrap_or(lost);
            let text = statement!(catalogue::OPTION_LOST, lost = lost, without = without);
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let (mut done, steps) = (0, self.steps);
        tell(BuildStep::Compile(0, steps));
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = OsString::from(format!("-j{jobs}"));
        self.make(&[&jobs, OsStr::new("linux")], |line| {
            if line.starts_with("  ") {
                done += 1;
                tell(BuildStep::Compile(done, steps.filter(|steps| done <= *steps)));
            }
        })?;
        let mut version = String::new();
        self.make(&["-s", "kernelversion"].map(OsStr::new), |line| {
            if line.starts_with(|first: char| first.is_ascii_digit()) {
                line.clone_into(&mut version);
            }
        })?;
        Ok(version)
    }
}

/// Makes what is beside a kernel that is there.
fn build_beside(
    target: &Path,
    (version, recipe): (&str, &Recipe),
    go_on: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let work = target.join("building");
    let _cleared = Cleared::new(&work)?;
    let ready = work.join("ready");
    fs::create_dir(&ready).map_err(|error| failed(&ready, error))?;
    for part in ["linux", "config"] {
        let from = target.join(part);
        fs::copy(&from, ready.join(part)).map_err(|error| failed(&from, error))?;
    }
    compile_beside(&work, &ready, go_on)?;
    let source = said_of(target, "source").map_or_else(|| recipe.source.clone(), PathBuf::from);
    let recipe = Recipe { source, fragment: recipe.fragment.clone() };
    install(&ready, target, (version, &recipe))
}

fn compile_beside(work: &Path, ready: &Path, go_on: &dyn Fn() -> bool) -> Result<(), Error> {
    for (code, library) in [(&*[RANDOM, REGISTERS].concat(), "random.so"), (CLOCK, "clock.so")] {
        compile(work, code, &ready.join(library), &["-shared", "-fPIC"], go_on)?;
    }
    compile(work, POWER_OFF, &ready.join("power-off"), &["-static"], go_on)
}

/// Puts what was built in its place; what says that it is whole comes last.
fn install(ready: &Path, target: &Path, (version, recipe): (&str, &Recipe)) -> Result<(), Error> {
    let mut made = format!(
        "version {version}\nconfigured {}\nbeside {}\nsource {}\nfragment {}\n",
        origin(),
        origin_beside(),
        recipe.source.display(),
        recipe.fragment_hash()
    );
    let made_path = target.join("made");
    match fs::remove_file(&made_path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed(&made_path, error));
        }
        _ => (),
    }
    let fragment = target.join("fragment");
    fs::write(&fragment, &recipe.fragment).map_err(|error| failed(&fragment, error))?;
    for part in PARTS {
        let (from, to) = (ready.join(part), target.join(part));
        made += &format!("{part} {}\n", hash_of(&from).map_err(|error| failed(&from, error))?);
        fs::rename(&from, &to).map_err(|error| failed(&to, error))?;
    }
    let whole = ready.join("made");
    fs::write(&whole, made).map_err(|error| failed(&whole, error))?;
    fs::rename(&whole, &made_path).map_err(|error| failed(&made_path, error))
}

fn compile(
    work: &Path,
    code: &str,
    to: &Path,
    options: &[&str],
    go_on: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let from = work.join("inside.c");
    fs::write(&from, code).map_err(|error| failed(&from, error))?;
    run(
        Command::new("cc").args(["-O2", "-Wall"]).args(options).arg("-o").arg(to).arg(from),
        go_on,
        |_| {},
    )
}

/// The first line of what was asked that is not in what came out.
fn lost_option<'a>(asked: &'a str, got: &str) -> Option<&'a str> {
    let is_option = |line: &&str| line.starts_with("CONFIG_") || line.starts_with("# CONFIG_");
    asked.lines().filter(is_option).find(|&line| {
        // What an architecture has not got at all is as good as not set.
        let is_off = line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set"));
        match is_off {
            Some(name) => got.lines().any(|other| other == format!("{name}=y")),
            None => !got.lines().any(|other| other == line),
        }
    })
}

fn lacking_tools() -> Vec<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    TOOLS.iter().filter(|(name, _)| !there(name)).map(|(_, package)| *package).collect()
}

/// What is missing, in one line with the command that installs it.
fn missing(tools: &[&str], source: &Path) -> Option<Text> {
    let mut packages: Vec<String> = tools.iter().map(|&tool| tool.to_owned()).collect();
    let mut what: Vec<Text> = Vec::new();
    if !source.exists() {
        what.push(statement!(catalogue::LINUX_SOURCE, path = source.display()));
        let package = || source.to_str()?.strip_prefix(SOURCES)?.strip_suffix(SOURCE_ENDS);
        packages.extend(package().map(|version| format!("linux-source-{version}")));
    }
    if !tools.is_empty() {
        what.push(catalogue::BUILD_TOOLS.into());
    }
    let install: Text = match packages.is_empty() {
        true => catalogue::NAME_A_SOURCE.into(),
        false => format!("sudo apt-get install {}", packages.join(" ")).into(),
    };
    let both = match &what[..] {
        [] => return None,
        [source, tools] => statement!(catalogue::BOTH, one = source, other = tools),
        [one, ..] => one.clone(),
    };
    Some(statement!(catalogue::BUILD_LACKS, what = both, install = install))
}

fn check_room(folder: &Path) -> Result<(), Error> {
    let space = rustix::fs::statvfs(folder).map_err(|error| failed(folder, error.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if free < ROOM_BYTES {
        let text = statement!(
            catalogue::NO_BUILD_ROOM,
            folder = folder.display(),
            free = free >> 20,
            needed = ROOM_BYTES >> 20
        );
        return Err(Error::new(ErrorKind::NoSpace, text));
    }
    Ok(())
}

/// A folder of its own, empty at first and removed at the end: by a process of its own, for tens of
/// thousands of files take seconds. What that leaves when the machine goes down, the next build
/// removes.
struct Cleared(PathBuf);

/// How the folder is called while it is being removed.
const REMOVED: &str = "removed";

impl Cleared {
    fn new(path: &Path) -> Result<Cleared, Error> {
        for old in [path, &path.with_extension(REMOVED)] {
            match fs::remove_dir_all(old) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed(old, error));
                }
                _ => (),
            }
        }
        fs::create_dir(path).map_err(|error| failed(path, error))?;
        Ok(Cleared(path.to_owned()))
    }
}

impl Drop for Cleared {
    fn drop(&mut self) {
        let removed = self.0.with_extension(REMOVED);
        let in_background = fs::rename(&self.0, &removed).and_then(|()| {
            let mut remove = Command::new("rm");
            remove.args(["-rf", "--"]).arg(&removed).process_group(0).current_dir("/");
            remove.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        });
        if in_background.is_err() {
            let _ = fs::remove_dir_all(&self.0);
            let _ = fs::remove_dir_all(&removed);
        }
    }
}

/// How often it is asked whether a program is to go on, in nanoseconds.
const ASK_NANOSECONDS: i64 = 100_000_000;

/// Runs a program, and hands over what it prints line by line. It ends, with all that it has
/// started, when `go_on` says no, whether it prints anything or not.
///
/// # Errors
/// With the last that it said, if it does not end well.
fn run(
    command: &mut Command,
    go_on: &dyn Fn() -> bool,
    mut line: impl FnMut(&str),
) -> Result<(), Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let at = |error| Error::from_io(name.clone(), error);
    let (mut reader, writer) = io::pipe().map_err(at)?;
    let errors = writer.try_clone().map_err(at)?;
    command.stdin(Stdio::null()).stdout(writer).stderr(errors).process_group(0);
    let mut child = ProcessGroup(command.spawn().map_err(at)?);
    // The command keeps its ends of the pipe open otherwise, and there would be no end of it.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut last = (Blame::None, String::new());
    let mut take = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).trim_end().to_owned();
        line(&text);
        let blame = Blame::of(&text);
        // What went wrong stands before what others say about it.
        if !text.is_empty() && (blame > last.0 || blame == Blame::None && last.0 == blame) {
            last = (blame, text);
        }
    };
    let (mut begun, mut bytes) = (Vec::new(), [0; 4096]);
    let pause = Timespec { tv_sec: 0, tv_nsec: ASK_NANOSECONDS };
    loop {
        if !go_on() {
            return Err(Error::new(ErrorKind::Other, catalogue::BUILD_GIVEN_UP));
        }
        let mut watched = [PollFd::new(&reader, PollFlags::IN)];
        match rustix::event::poll(&mut watched, Some(&pause)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            other => other.map_err(|error| at(error.into()))?,
        };
        let count = reader.read(&mut bytes).map_err(at)?;
        if count == 0 {
            break;
        }
        begun.extend_from_slice(&bytes[..count]);
        while let Some(end) = begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = begun.drain(..=end).collect();
            take(&line);
        }
    }
    if !begun.is_empty() {
        take(&begun);
    }
    let status = child.0.wait().map_err(at)?;
    if status.success() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Other,
        statement!(catalogue::PROGRAM_FAILED, name = name, said = last.1),
    ))
}

/// How much a line tells of why a program has failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Blame {
    None,
    /// It speaks of an error.
    Error,
    /// A compiler or linker says which.
    Compiler,
}

impl Blame {
    fn of(line: &str) -> Blame {
        let of_compilers = [": error: ", ": fatal error: ", ": undefined reference to "];
        match line {
            _ if of_compilers.iter().any(|text| line.contains(text)) => Blame::Compiler,
            // What make does for a file that is called so.
            _ if line.starts_with("  ") => Blame::None,
            _ if line.to_lowercase().contains("error") => Blame::Error,
            _ => Blame::None,
        }
    }
}

/// A program that leads a process group, and does not outlive this value with it.
struct ProcessGroup(Child);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            if let Some(group) = Pid::from_raw(self.0.id() as i32) {
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
            }
            let _ = self.0.wait();
        }
    }
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::from_io(path.display().to_string(), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_a_configuration_has_lost_is_named() {
        let asked = "# words\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"x\"\n";
        assert_eq!(lost_option(asked, "CONFIG_C=\"x\"\nCONFIG_A=y\n"), None);
        assert_eq!(lost_option(asked, "CONFIG_C=\"x\"\n"), Some("CONFIG_A=y"));
        assert_eq!(
            lost_option(asked, "CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=\"x\"\n"),
            Some("# CONFIG_B is not set")
        );
        assert_eq!(lost_option(asked, "CONFIG_A=y\nCONFIG_C=\"y\"\n"), Some("CONFIG_C=\"x\""));
    }

    /// What ends a program that prints nothing, with what it has started.
    #[test]
    fn a_program_ends_at_once_when_it_is_to_whether_it_says_anything_or_not() {
        let asked = std::cell::Cell::new(0);
        let go_on = || {
            asked.set(asked.get() + 1);
            asked.get() < 4
        };
        let (told, mut said) = (std::cell::Cell::new(0), Vec::new());
        let script = "echo one; printf two >&2; echo; sleep 1000 & echo $!; wait";
        let mut command = Command::new("sh");
        let ended = run(command.args(["-c", script]), &go_on, |line| {
            told.set(told.get() + 1);
            said.push(line.to_owned());
        });
        assert!(ended.unwrap_err().to_string().contains("given up"));
        // Asked once for each look, of which the last ones found nothing.
        assert!(asked.get() == 4 && told.get() <= 3, "{said:?}");
        let mut command = Command::new("sh");
        let mut said = Vec::new();
        let ended = run(command.args(["-c", "echo one; printf two"]), &|| true, |line| {
            said.push(line.to_owned());
        });
        ended.unwrap();
        assert_eq!(said, ["one", "two"]);
        let mut command = Command::new("sh");
        let ended = run(command.args(["-c", "echo an error; exit 3"]), &|| true, |_| ());
        assert!(ended.unwrap_err().to_string().ends_with("an error"));
    }

    #[test]
    fn a_folder_that_is_cleared_is_gone_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("building");
        let cleared = Cleared::new(&path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        drop(cleared);
        assert!(!path.exists());
        // What was left of it is no hindrance.
        drop(Cleared::new(&path).unwrap());
    }

    #[test]
    fn what_is_missing_is_said_with_the_line_that_installs_it() {
        let nowhere = Path::new("/nowhere/linux.tar");
        assert_eq!(missing(&[], Path::new("/")), None);
        assert_eq!(
            missing(&["flex", "bc"], Path::new("/")).map(|text| text.english()).as_deref(),
            Some("tools to build it not there: sudo apt-get install flex bc")
        );
        assert_eq!(
            missing(&[], nowhere).map(|text| text.english()).as_deref(),
            Some(
                "the source of Linux (/nowhere/linux.tar) not there: name a tarball or a folder \
                that is there"
            )
        );
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let run = |script: &str| {
            let mut seen = Vec::new();
            let ended = run(Command::new("sh").args(["-c", script]), &|| true, |line| {
                seen.push(line.to_owned());
            });
            (seen, ended.map_err(|error| error.to_string()))
        };
        assert_eq!(run("echo a; echo b >&2"), (vec!["a".to_owned(), "b".to_owned()], Ok(())));
        let (_, ended) = run("echo 'x.c: error: no'; echo 'make: *** Error 2'; exit 2");
        assert_eq!(ended.unwrap_err(), "sh failed: x.c: error: no");
        let (_, ended) = run("echo '  CC      lib/error-inject.o'; echo 'HOSTCC: an error'
            echo 'a.c:1:2: error: first'; echo 'b.c:3:4: error: second'; exit 2");
        assert_eq!(ended.unwrap_err(), "sh failed: a.c:1:2: error: first");
        let (_, ended) = run("echo '  CC      lib/error-inject.o'; echo killed; exit 2");
        assert_eq!(ended.unwrap_err(), "sh failed: killed");
    }

    #[test]
    fn a_kernel_is_what_was_built_or_it_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let find =
            || Kernel::find_in(folder.path(), USUAL_KERNEL).map_err(|error| error.to_string());
        assert!(find().unwrap_err().contains("raidloom guest build"));
        let ready = folder.path().join("ready");
        fs::create_dir(&ready).unwrap();
        PARTS.iter().for_each(|part| fs::write(ready.join(part), part).unwrap());
        let recipe = Recipe { source: PathBuf::from(SOURCE), fragment: String::new() };
        install(&ready, folder.path(), ("6.1.1", &recipe)).unwrap();
        assert_eq!(find().unwrap().version(), "6.1.1");
        fs::write(folder.path().join("random.so"), "other").unwrap();
        assert!(find().unwrap_err().contains("random.so: not what was built"));
        let made = fs::read_to_string(folder.path().join("made")).unwrap();
        let other = made.replace(&origin(), "0");
        fs::write(folder.path().join("made"), other).unwrap();
        assert!(find().unwrap_err().contains("another version"), "{made}");
        assert_eq!(has_linux(folder.path()), None);
        // What is beside the kernel is another matter.
        let other = made.replace(&origin_beside(), "0");
        fs::write(folder.path().join("made"), other).unwrap();
        assert!(find().unwrap_err().contains("makes it anew, at once"), "{made}");
        assert_eq!(has_linux(folder.path()).as_deref(), Some("6.1.1"));
    }

    /// A tree in the place of Linux: it takes what is asked for its configuration, but for what it
    /// does not know, and compiles what it has.
    const MAKEFILE: &str = "\
allnoconfig:
\t@grep -v 'CONFIG_UNKNOWN=' $(KCONFIG_ALLCONFIG) >.config
linux: code.c
\t@echo '  CC      error.o'
\t@cc -c -o linux code.c
kernelversion:
\t@echo 9.8.7
";

    struct Stand {
        folder: tempfile::TempDir,
    }

    impl Stand {
        fn new(code: &str) -> Stand {
            let folder = tempfile::tempdir().unwrap();
            let stand = Stand { folder };
            fs::create_dir(stand.at("tree")).unwrap();
            fs::write(stand.at("tree/Makefile"), MAKEFILE).unwrap();
            fs::write(stand.at("tree/code.c"), code).unwrap();
            stand
        }

        fn at(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn fragment(&self, text: &str) -> PathBuf {
            let path = self.at("more.config");
            fs::write(&path, text).unwrap();
            path
        }

        fn build(
            &self,
            (name, source, config): (&str, Option<&Path>, Option<&Path>),
            steps: &mut Vec<BuildStep>,
        ) -> Result<(Kernel, bool), String> {
            let order = KernelOrder { name, source, config, again: false };
            let target = self.at("kept");
            let tell = &mut |step| steps.push(step);
            build_in(&target, &order, tell, &|| true).map_err(|error| error.to_string())
        }
    }

    fn lacks_tools() -> bool {
        let lacking = lacking_tools();
        if !lacking.is_empty() {
            testkit::missing!("{lacking:?}");
        }
        !lacking.is_empty()
    }

    #[test]
    fn file_systems_of_the_usual_kernel_are_those_of_its_configuration() {
        let mounted = ["ext2", "ext3", "ext4", "xfs", "btrfs", "vfat", "udf", "ntfs3"];
        assert!(mounted.iter().all(|kind| Kernel::usual_mounts(kind)));
        assert!(!["f2fs", "exfat", "jfs", "nilfs2"].iter().any(|kind| Kernel::usual_mounts(kind)));
    }

    #[test]
    fn a_tree_of_ones_own_is_built_with_what_a_fragment_asks_for() {
        if lacks_tools() {
            return;
        }
        let stand = Stand::new("int answer;\n");
        let (tree, mut steps) = (stand.at("tree"), Vec::new());
        let fragment = stand.fragment("# more\nCONFIG_F2FS_FS=y\n# CONFIG_XFS_FS is not set\n");
        let order = ("more", Some(tree.as_path()), Some(fragment.as_path()));
        let (kernel, was_there) = stand.build(order, &mut steps).unwrap();
        assert_eq!((kernel.name(), kernel.version(), was_there), ("more", "9.8.7", false));
        let compiled = [BuildStep::Compile(0, None), BuildStep::Compile(1, None)];
        assert_eq!(steps[1..], compiled, "how much there is nobody knows");
        let config = fs::read_to_string(stand.at("kept/config")).unwrap();
        let lines: Vec<&str> = config.lines().collect();
        assert!(lines.contains(&"CONFIG_F2FS_FS=y") && lines.contains(&"CONFIG_EXT4_FS=y"));
        assert!(lines.contains(&"# CONFIG_XFS_FS is not set"));
        assert!(!lines.contains(&"CONFIG_XFS_FS=y"), "ours goes where the fragment says otherwise");
        // What the order leaves out is as it was, and a kernel that is there stays.
        let (again, was_there) = stand.build(("more", None, None), &mut steps).unwrap();
        assert!(was_there && again == kernel);
        // A tree is made again: it may have changed.
        assert!(!stand.build(order, &mut steps).unwrap().1);
        let other = stand.fragment("CONFIG_JFS_FS=y\n");
        let config = fs::read_to_string(stand.at("kept/config")).unwrap();
        assert!(config.contains("CONFIG_F2FS_FS=y"));
        assert!(!stand.build(("more", None, Some(&other)), &mut steps).unwrap().1);
        let config = fs::read_to_string(stand.at("kept/config")).unwrap();
        assert!(config.contains("CONFIG_JFS_FS=y") && !config.contains("F2FS"));
    }

    #[test]
    fn a_tree_that_does_not_build_is_told_by_the_compilers_first_error_and_where_the_rest_lies() {
        if lacks_tools() {
            return;
        }
        let stand = Stand::new("int answer;\nint other = unknown;\nint last = nothing;\n");
        let tree = stand.at("tree");
        let error = stand.build((USUAL_KERNEL, Some(&tree), None), &mut Vec::new()).unwrap_err();
        assert!(error.contains("code.c:2:13: error: ") && !error.contains("code.c:3"), "{error}");
        let log = stand.at("kept/build.log");
        assert!(error.ends_with(&format!("all that make said is in {}", log.display())), "{error}");
        let said = fs::read_to_string(log).unwrap();
        assert!(
            said.contains("CC      error.o") && said.contains("code.c:3:12: error: "),
            "{said}"
        );
        assert!(!stand.at("kept/building").exists());
    }

    #[test]
    fn an_order_that_makes_no_sense_is_told_before_anything_is_built() {
        let stand = Stand::new("");
        let tree = stand.at("tree");
        let refused = |name: &str, source: Option<&Path>, config: Option<&Path>| {
            stand.build((name, source, config), &mut Vec::new()).unwrap_err()
        };
        let named = |text: &str| refused("more", Some(&tree), Some(&stand.fragment(text)));
        assert!(named("CONFIG_A=y\nF2FS=y\n").contains("more.config: line 2: `F2FS=y`: expected"));
        assert!(named("CONFIG_F2FS_FS=m\n").contains("a guest loads no modules"));
        let unknown = refused("more", None, None);
        assert!(unknown.contains("there is no kernel `more` yet"), "{unknown}");
        let usual = refused(USUAL_KERNEL, None, Some(&stand.fragment("CONFIG_A=y\n")));
        assert!(usual.contains("-s name=NAME"), "{usual}");
        let absent = refused("more", Some(Path::new("6.99")), None);
        assert!(absent.contains("apt-get install") && absent.contains("linux-source-6.99"));
        for name in ["", "..", "a/b", "-a", ".a", "a b"] {
            assert!(check_kernel_name(name).is_err(), "{name}");
        }
        if !lacks_tools() {
            let lost = named("CONFIG_UNKNOWN=y\n");
            assert!(lost.contains("does not keep `CONFIG_UNKNOWN=y`"), "{lost}");
        }
    }
}
