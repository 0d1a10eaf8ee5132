//! Programs that raidloom starts on a target, and that can write nowhere else: Landlock, which the
//! kernel holds a process and all its children to, whatever user they run as.
//!
//! ```text
//!   Confinement::spawn ── a thread of its own ── restricts itself ── starts the program
//!                              └── ends; the program keeps the restriction
//! ```
//!
//! A restriction belongs to a thread and to what it starts. So the thread that starts the program
//! takes it upon itself, and nothing has to be run between fork and exec.
//!
//! And they end with their owner, `kill -9` included: [`Watchdog`].
//!
//! What Landlock does not cover stays possible: reading a file's attributes, changing its mode,
//! owner or times, and talking over sockets. A restricted program cannot mount anything or become
//! another user.

mod watchdog;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, PathFdError,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};

pub use watchdog::{Teller, Watchdog};

/// The newest Landlock ABI whose access rights are used here. An older kernel enforces those that
/// it knows.
const KNOWN: ABI = ABI::V6;
/// What every program may read and write: it keeps nothing.
const NOTHING_KEPT: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];
/// What every program may read.
const CHANCE: [&str; 2] = ["/dev/urandom", "/dev/random"];

/// What a program may write to, and perhaps read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    writable: Vec<PathBuf>,
    readable: Option<Vec<PathBuf>>,
}

/// Whether this kernel holds programs to a [`Confinement`].
///
/// # Errors
/// Why it does not.
pub fn supported() -> io::Result<()> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(ABI::V1))
        .and_then(Ruleset::create);
    ruleset.map(|_| ()).map_err(io::Error::other)
}

impl Confinement {
    /// A program that may write to these files, devices, and what is in these folders. It may read
    /// whatever its user may.
    pub fn writing_to<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Confinement {
        Confinement { writable: paths.into_iter().map(Into::into).collect(), readable: None }
    }

    /// The same, which may read what it may write to, these files, and what is in these folders,
    /// and nothing else. Paths where there is nothing are left out.
    #[must_use]
    pub fn reading(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Confinement {
        self.readable = Some(paths.into_iter().collect());
        self
    }

    /// Starts a program that is held to it, as far as this kernel can ([`supported`]).
    ///
    /// # Errors
    /// When a path that it may write to does not exist, or the program cannot be started.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let ruleset = self.ruleset()?;
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                ruleset.restrict_self().map_err(io::Error::other)?;
                command.spawn()
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs a confined program to its end, with empty standard input, and captures its output.
    ///
    /// # Errors
    /// As [`Confinement::spawn`].
    pub fn output(&self, command: &mut Command) -> io::Result<Output> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.spawn(command)?.wait_with_output()
    }

    fn ruleset(&self) -> io::Result<RulesetCreated> {
        let reads = match self.readable {
            Some(_) => AccessFs::from_read(KNOWN),
            None => BitFlags::EMPTY,
        };
        let handled = AccessFs::from_write(KNOWN) | reads;
        // A node made for a device is the device itself.
        let writes = AccessFs::from_write(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(handled)
            .and_then(|ruleset| ruleset.scope(Scope::from_all(KNOWN)))
            .and_then(Ruleset::create)
            .map_err(io::Error::other)?;
        for path in &self.writable {
            ruleset = allow(ruleset, path, writes | reads)?;
        }
        let kept = NOTHING_KEPT.map(|path| (Path::new(path), writes | reads));
        let chance = CHANCE.map(|path| (Path::new(path), reads));
        let readable = self.readable.iter().flatten().map(|path| (path.as_path(), reads));
        for (path, access) in kept.into_iter().chain(chance).chain(readable) {
            // Not every system has them all.
            if path.exists() {
                ruleset = allow(ruleset, path, access)?;
            }
        }
        Ok(ruleset)
    }
}

/// A ruleset that also allows this at a path and below it.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    if access.is_empty() {
        return Ok(ruleset);
    }
    let place = PathFd::new(path).map_err(|error| match error {
        PathFdError::OpenCall { source, .. } => source,
        error => io::Error::other(error),
    })?;
    // What has no meaning for a file is left out of what it is allowed.
    ruleset.add_rule(PathBeneath::new(place, access)).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Runs a shell script in a folder of its own, which it may write to, and says whether the
    /// script ended well and what it made outside.
    fn run(script: &str, confine: impl Fn(&Path) -> Option<Confinement>) -> (bool, bool) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("own")).unwrap();
        fs::write(at("secret"), "known").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(at("own")).stderr(Stdio::null());
        let status = match confine(&at("own")) {
            Some(confinement) => confinement.output(&mut command).unwrap().status,
            None => command.status().unwrap(),
        };
        (status.success(), at("outside").exists())
    }

    fn is_supported() -> bool {
        supported().map_err(|error| testkit::skipped!("no Landlock: {error}")).is_ok()
    }

    fn writing(own: &Path) -> Option<Confinement> {
        Some(Confinement::writing_to([own]))
    }

    #[test]
    fn what_is_not_named_is_not_written_to() {
        if !is_supported() {
            return;
        }
        // The script itself is sound: not held to anything it does what it says.
        assert_eq!(run("echo >../outside", |_| None), (true, true));
        assert_eq!(run("echo >../outside", writing), (false, false));
        let within = "echo >a && mv a b && mkdir c && rm b && rmdir c && echo >/dev/null";
        assert_eq!(run(within, writing), (true, false));
        // Nor by what it starts, by another name of the place, or by moving what it may change.
        assert_eq!(run("sh -c 'sh -c \"echo >../outside\"'", writing), (false, false));
        assert_eq!(run("ln -s .. up && echo >up/outside", writing), (false, false));
        assert_eq!(run("echo >a && mv a ../outside", writing), (false, false));
        // What is there is not opened for writing either.
        assert_eq!(run(": >>../secret", writing), (false, false));
    }

    #[test]
    fn what_is_not_named_is_not_read_where_reading_is_held_too() {
        if !is_supported() {
            return;
        }
        let system = || ["/usr", "/bin", "/lib", "/lib64"].map(PathBuf::from);
        let reading = |own: &Path| Some(Confinement::writing_to([own]).reading(system()));
        assert_eq!(run("cat ../secret", writing), (true, false));
        assert_eq!(run("cat ../secret", reading), (false, false));
        assert_eq!(run("echo a >a && cat a </dev/zero", reading), (true, false));
    }

    #[test]
    fn a_device_cannot_be_made_where_files_can() {
        if !is_supported() {
            return;
        }
        assert_eq!(run("mkfifo a", writing), (true, false));
        assert!(!run("mknod a b 7 0", writing).0);
    }

    #[test]
    fn what_is_to_be_written_to_has_to_be_there() {
        if !is_supported() {
            return;
        }
        let nothing = Confinement::writing_to(["/none/such"]);
        let error = nothing.output(&mut Command::new("true")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
    }
}
