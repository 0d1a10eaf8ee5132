//! The guest's kernel: where it is kept, whether it is what was built, and building it.
//!
//! ```text
//!   linux-source-6.1.tar.xz ── unpack ── configure ── compile ──┐
//!   inside/*.c ─────────────────────────── cc ──────────────────┤
//!                                                              v
//!      ~/.cache/raidloom/guest/   linux  random.so  power-off  config  made
//! ```
//!
//! `made` is written last and has a line for each of the others with the hash of what it holds, and
//! one each with the hash of what the kernel and what is beside it were made from: after an update
//! of raidloom that asks for another configuration the kernel counts as missing. What is beside it
//! is made anew in a second.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use block::{Error, ErrorKind};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal};
use xxhash_rust::xxh3::xxh3_128;

/// What is asked of the kernel's configuration.
const CONFIG: &str = include_str!("inside/guest.config");
const RANDOM: &str = include_str!("inside/random.c");
const REGISTERS: &str = include_str!("inside/registers.c");
const POWER_OFF: &str = include_str!("inside/power-off.c");
/// The files that make up a kernel.
const PARTS: [&str; 4] = ["linux", "random.so", "power-off", "config"];
/// Where Debian's package of the source lies.
const SOURCE: &str = "/usr/src/linux-source-6.1.tar.xz";
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

/// A kernel that has been built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    folder: PathBuf,
    version: String,
}

/// How far building is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStep {
    /// The source is being unpacked.
    Unpack,
    /// The configuration is being made.
    Configure,
    /// So many files of about so many are compiled.
    Compile(u64, u64),
}

impl Kernel {
    /// The folder in which this user's kernel is kept: `$XDG_CACHE_HOME/raidloom/guest`, or below
    /// `~/.cache`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]: neither variable is set.
    pub fn folder() -> Result<PathBuf, Error> {
        let set = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
        cache.map(|cache| cache.join("raidloom/guest")).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "HOME is not set, so there is no cache folder")
        })
    }

    /// The kernel in this user's cache folder.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]: it has not been built, or for another raidloom.
    /// [`ErrorKind::Corrupt`]: it is not what was built.
    pub fn find() -> Result<Kernel, Error> {
        Kernel::find_in(&Kernel::folder()?)
    }

    /// The kernel in a folder.
    ///
    /// # Errors
    /// As [`Kernel::find`].
    pub fn find_in(folder: &Path) -> Result<Kernel, Error> {
        let missing = |why: &str| {
            let text = format!("{why}: `raidloom guest build` makes it, once, in about 10 minutes");
            Error::new(ErrorKind::NotFound, text)
        };
        let Ok(made) = fs::read_to_string(folder.join("made")) else {
            return Err(missing("there is no kernel for guests"));
        };
        let said =
            |name: &str| made.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        if said("configured") != Some(origin().as_str()) {
            return Err(missing("the kernel for guests was made for another version of raidloom"));
        }
        if said("beside") != Some(origin_beside().as_str()) {
            let text = "what is beside the kernel for guests was made for another version of \
                raidloom: `raidloom guest build` makes it anew, at once";
            return Err(Error::new(ErrorKind::NotFound, text));
        }
        for part in PARTS {
            let path = folder.join(part);
            if said(part) != hash_of(&path).ok().as_deref() {
                let text = format!(
                    "{}: not what was built; `raidloom guest build` makes it again",
                    path.display()
                );
                return Err(Error::new(ErrorKind::Corrupt, text));
            }
        }
        let version = said("version").unwrap_or("of unknown version").to_owned();
        Ok(Kernel { folder: folder.to_owned(), version })
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

    pub(crate) fn power_off(&self) -> PathBuf {
        self.folder.join("power-off")
    }
}

/// What a kernel is made from, beside Linux itself.
fn origin() -> String {
    format!("{:032x}", xxh3_128(CONFIG.as_bytes()))
}

/// What is made from our own code.
fn origin_beside() -> String {
    format!("{:032x}", xxh3_128([RANDOM, REGISTERS, POWER_OFF].concat().as_bytes()))
}

/// The version of the kernel in a folder, if it is what this raidloom asks for, whatever is beside
/// it.
fn has_linux(folder: &Path) -> Option<String> {
    let made = fs::read_to_string(folder.join("made")).ok()?;
    let said =
        |name: &str| made.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let is_whole = |part: &str| said(part) == hash_of(&folder.join(part)).ok().as_deref();
    let is_ours = said("configured") == Some(origin().as_str());
    (is_ours && is_whole("linux") && is_whole("config"))
        .then(|| said("version"))?
        .map(str::to_owned)
}

fn hash_of(path: &Path) -> io::Result<String> {
    Ok(format!("{:032x}", xxh3_128(&fs::read(path)?)))
}

/// Builds the kernel into this user's cache folder. `source` is a tarball of Linux 6.1 or a folder
/// in which one is unpacked, which is then built in place; otherwise Debian's package. A kernel
/// that is whole stays, and only what is beside it is made, unless it is to be built `again`.
///
/// # Errors
/// What is missing, with the command that installs it; what `make` said last; a configuration that
/// has lost something on the way.
pub fn build(
    source: Option<&Path>,
    again: bool,
    tell: &mut dyn FnMut(BuildStep),
    go_on: &dyn Fn() -> bool,
) -> Result<Kernel, Error> {
    let target = Kernel::folder()?;
    if !again
        && source.is_none()
        && let Some(version) = has_linux(&target)
    {
        build_beside(&target, &version, go_on)?;
        return Kernel::find_in(&target);
    }
    let source = source.unwrap_or(Path::new(SOURCE));
    if let Some(text) = missing(&lacking_tools(), source) {
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    fs::create_dir_all(&target).map_err(|error| failed(&target, error))?;
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
    let version = compile_linux(&tree, &work, source, tell, go_on)?;
    let ready = work.join("ready");
    fs::create_dir(&ready).map_err(|error| failed(&ready, error))?;
    for (from, to) in [(tree.join("linux"), "linux"), (tree.join(".config"), "config")] {
        fs::copy(&from, ready.join(to)).map_err(|error| failed(&from, error))?;
    }
    compile_beside(&work, &ready, go_on)?;
    install(&ready, &target, &version)?;
    Kernel::find_in(&target)
}

/// Configures and compiles the kernel of an unpacked tree, which came from `source`. Its version.
fn compile_linux(
    tree: &Path,
    work: &Path,
    source: &Path,
    tell: &mut dyn FnMut(BuildStep),
    go_on: &dyn Fn() -> bool,
) -> Result<String, Error> {
    tell(BuildStep::Configure);
    let asked = work.join("guest.config");
    fs::write(&asked, CONFIG).map_err(|error| failed(&asked, error))?;
    let make = || {
        let mut make = Command::new("make");
        make.arg("-C").arg(tree).args(["ARCH=um", "LC_ALL=C"]);
        make
    };
    let mut asked_for = std::ffi::OsString::from("KCONFIG_ALLCONFIG=");
    asked_for.push(&asked);
    run(make().arg("allnoconfig").arg(asked_for), go_on, |_| ())?;
    let config = tree.join(".config");
    let got = fs::read_to_string(&config).map_err(|error| failed(&config, error))?;
    if let Some(lost) = lost_option(CONFIG, &got) {
        let text = format!(
            "{}: this Linux does not keep `{lost}` in its configuration; Debian 12's \
            linux-source-6.1 does",
            source.display()
        );
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    let mut steps = 0;
    tell(BuildStep::Compile(0, STEPS));
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    run(make().arg(format!("-j{jobs}")).arg("linux"), go_on, |line| {
        if line.starts_with("  ") {
            steps += 1;
            tell(BuildStep::Compile(steps, STEPS.max(steps)));
        }
    })?;
    let mut version = String::new();
    run(make().args(["-s", "kernelversion"]), go_on, |line| {
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            line.clone_into(&mut version);
        }
    })?;
    Ok(version)
}

/// Makes what is beside a kernel that is there.
fn build_beside(target: &Path, version: &str, go_on: &dyn Fn() -> bool) -> Result<(), Error> {
    let work = target.join("building");
    let _cleared = Cleared::new(&work)?;
    let ready = work.join("ready");
    fs::create_dir(&ready).map_err(|error| failed(&ready, error))?;
    for part in ["linux", "config"] {
        let from = target.join(part);
        fs::copy(&from, ready.join(part)).map_err(|error| failed(&from, error))?;
    }
    compile_beside(&work, &ready, go_on)?;
    install(&ready, target, version)
}

fn compile_beside(work: &Path, ready: &Path, go_on: &dyn Fn() -> bool) -> Result<(), Error> {
    let library = [RANDOM, REGISTERS].concat();
    compile(work, &library, &ready.join("random.so"), &["-shared", "-fPIC"], go_on)?;
    compile(work, POWER_OFF, &ready.join("power-off"), &["-static"], go_on)
}

/// Puts what was built in its place; what says that it is whole comes last.
fn install(ready: &Path, target: &Path, version: &str) -> Result<(), Error> {
    let mut made =
        format!("version {version}\nconfigured {}\nbeside {}\n", origin(), origin_beside());
    let made_path = target.join("made");
    match fs::remove_file(&made_path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed(&made_path, error));
        }
        _ => (),
    }
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
fn missing(tools: &[&str], source: &Path) -> Option<String> {
    let mut packages = tools.to_vec();
    let mut what = Vec::new();
    if !source.exists() {
        what.push(format!("the source of Linux ({})", source.display()));
        if source == Path::new(SOURCE) {
            packages.push("linux-source-6.1");
        }
    }
    if !tools.is_empty() {
        what.push("tools to build it".to_owned());
    }
    let install = match packages.is_empty() {
        true => "name a tarball or a folder that is there".to_owned(),
        false => format!("sudo apt-get install {}", packages.join(" ")),
    };
    (!what.is_empty()).then(|| format!("{} not there: {install}", what.join(" and ")))
}

fn check_room(folder: &Path) -> Result<(), Error> {
    let space = rustix::fs::statvfs(folder).map_err(|error| failed(folder, error.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if free < ROOM_BYTES {
        let text = format!(
            "{}: {} MiB free, and building the kernel takes {} MiB meanwhile",
            folder.display(),
            free >> 20,
            ROOM_BYTES >> 20
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
    let mut last = String::new();
    let mut take = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).trim_end().to_owned();
        line(&text);
        // What went wrong stands before make's own words about it.
        if !text.is_empty() && !last.to_lowercase().contains("error") {
            last = text;
        }
    };
    let (mut begun, mut bytes) = (Vec::new(), [0; 4096]);
    let pause = Timespec { tv_sec: 0, tv_nsec: ASK_NANOSECONDS };
    loop {
        if !go_on() {
            return Err(Error::new(ErrorKind::Other, "building the kernel was given up"));
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
    Err(Error::new(ErrorKind::Other, format!("{name} failed: {last}")))
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
            missing(&["flex", "bc"], Path::new("/")).as_deref(),
            Some("tools to build it not there: sudo apt-get install flex bc")
        );
        assert_eq!(
            missing(&[], nowhere).as_deref(),
            Some(
                "the source of Linux (/nowhere/linux.tar) not there: name a tarball or a folder \
                that is there"
            )
        );
    }

    #[test]
    fn a_kernel_is_what_was_built_or_it_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let find = || Kernel::find_in(folder.path()).map_err(|error| error.to_string());
        assert!(find().unwrap_err().contains("raidloom guest build"));
        let ready = folder.path().join("ready");
        fs::create_dir(&ready).unwrap();
        PARTS.iter().for_each(|part| fs::write(ready.join(part), part).unwrap());
        install(&ready, folder.path(), "6.1.1").unwrap();
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
    }
}
