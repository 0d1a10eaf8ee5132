//! The runtime folder: which servers there are, and a place for what each has while it lives.

#![expect(
    clippy::disallowed_methods,
    reason = "somebody else's lock on a folder passes by itself and rings nobody"
)]

use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use host::journal::{self, Journal};
use host::{Error, facts};
use rustix::fs::OFlags;
use words::{Text, statement};

use crate::catalogue;

/// Names of the things in a server's folder.
const LOCK: &str = "lock";
pub(crate) const SOCKET: &str = "control";
pub(crate) const DISK: &str = "disk";
pub(crate) const NBD: &str = "nbd";
pub(crate) const LOG: &str = "log";
/// What the log of a server is called that has no folder yet; the process that starts it follows.
const START_LOG: &str = ".log-";
/// The members' files, each with a NUL behind it.
const FILES: &str = "files";
/// The longest name; the socket's path has to fit into 108 bytes.
const MAX_NAME_BYTES: usize = 32;

/// The folder of all servers of a user.
#[derive(Clone, Debug)]
pub struct Runtime {
    folder: PathBuf,
    /// Whether it lies where all users may make folders, so that it may be another user's.
    shared_parent: bool,
}

/// A name that is taken, by a server that lives or one that has died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The array's name.
    pub name: String,
    /// The server's process id; `None` when it has died without cleaning up, or is dying.
    pub process: Option<u32>,
}

/// What becomes of a block device that a dead server has left and that waits.
enum Waiting<'a> {
    /// Whoever uses it gets errors, and it is taken away.
    GivenUp,
    /// The server of this content goes on with it, if it stands for that.
    GoesOn(Option<&'a str>),
}

/// A server's right to its name. It ends with the process, or when this is dropped.
#[derive(Debug)]
pub struct Claim {
    name: String,
    folder: PathBuf,
    _lock: File,
    /// What a dead server of that name had left behind and was undone.
    pub notes: Vec<Text>,
    /// The journal with the block device that it has left, and that this server goes on with.
    pub(crate) left: Option<Journal>,
}

impl Runtime {
    /// The variable in the environment that names the folder.
    pub(crate) const VARIABLE: &str = "RAIDLOOM_RUNTIME_DIR";

    /// The user's folder: `RAIDLOOM_RUNTIME_DIR`, for root `/run/raidloom`, else below
    /// `XDG_RUNTIME_DIR`, and where that is not set or another user's (after `su`), one of the
    /// user's own below the folder for temporary files.
    ///
    /// # Errors
    /// When that last one is there already and another user's, or another user may enter it.
    pub fn find() -> Result<Runtime, Error> {
        let runtime = Runtime::choose(
            |name| env::var_os(name).map(PathBuf::from),
            rustix::process::geteuid().as_raw(),
        );
        if runtime.shared_parent && fs::symlink_metadata(&runtime.folder).is_ok() {
            runtime.check()?;
        }
        Ok(runtime)
    }

    fn choose(variable: impl Fn(&str) -> Option<PathBuf>, user: u32) -> Runtime {
        if let Some(folder) = variable(Runtime::VARIABLE) {
            return Runtime::at(folder);
        }
        if user == 0 {
            return Runtime::at(PathBuf::from("/run/raidloom"));
        }
        let is_own = |folder: &PathBuf| {
            folder.is_absolute()
                && fs::metadata(folder).is_ok_and(|data| data.is_dir() && data.uid() == user)
        };
        if let Some(folder) = variable("XDG_RUNTIME_DIR").filter(is_own) {
            return Runtime::at(folder.join("raidloom"));
        }
        let temporary = variable("TMPDIR")
            .filter(|folder| folder.is_absolute())
            .unwrap_or_else(|| PathBuf::from("/tmp"));
        Runtime { folder: temporary.join(format!("raidloom-{user}")), shared_parent: true }
    }

    /// What a process has to have in its environment to find this folder too; nothing where it does
    /// by the rules.
    pub(crate) fn for_child(&self) -> Option<(&'static str, PathBuf)> {
        let folder = std::path::absolute(&self.folder).ok().filter(|_| !self.shared_parent);
        folder.map(|folder| (Runtime::VARIABLE, folder))
    }

    /// The folder of that path; it need not be there yet.
    #[must_use]
    pub fn at(folder: PathBuf) -> Runtime {
        Runtime { folder, shared_parent: false }
    }

    /// Makes the folder unless it is there. No other user may look into it: control sockets
    /// stand there.
    fn make(&self) -> Result<(), Error> {
        let failed = |error: io::Error| {
            Error::from_io(
                statement!(catalogue::MAKING_RUNTIME_FOLDER, folder = self.folder.display()),
                &error,
            )
        };
        if !self.shared_parent {
            return DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.folder)
                .map_err(failed);
        }
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            _ => (),
        }
        self.check()
    }

    /// Whether a folder where all users may make some is ours alone, and stays it.
    fn check(&self) -> Result<(), Error> {
        check_own(&self.folder)?;
        let parent = self.folder.parent().unwrap_or(Path::new("/"));
        let data =
            fs::metadata(parent).map_err(|error| Error::from_io(parent.display(), &error))?;
        let writable = data.mode() & 0o022 != 0 && data.mode() & 0o1000 == 0;
        if writable || ![0, rustix::process::geteuid().as_raw()].contains(&data.uid()) {
            return Err(Error::refused(catalogue::OPEN_FOLDER).at(parent.display()));
        }
        Ok(())
    }

    /// The folder of the server of this name.
    ///
    /// # Errors
    /// When it is no name.
    pub fn folder_of(&self, name: &str) -> Result<PathBuf, Error> {
        check_name(name)?;
        Ok(self.folder.join(name))
    }

    /// Every name that is taken, in their order.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            folders.filter_map(|folder| folder.file_name().into_string().ok()).collect();
        names.sort();
        names.into_iter().filter_map(|name| self.entry(&name)).collect()
    }

    /// Which server has the name, if one has.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<Entry> {
        let path = self.folder_of(name).ok()?.join(LOCK);
        let file = File::open(&path).ok()?;
        let process = match file.try_lock_shared() {
            // One that is about to end is as good as dead: the clean-up waits for its lock.
            Err(TryLockError::WouldBlock) => {
                Some(fs::read_to_string(&path).ok()?.trim().parse().ok()?)
                    .filter(|process| facts::lives(*process))
            }
            _ => None,
        };
        Some(Entry { name: name.to_owned(), process })
    }

    /// The first of `array0`, `array1`, … that is not taken.
    #[must_use]
    pub fn free_name(&self) -> String {
        (0_u64..)
            .map(|number| format!("array{number}"))
            .find(|name| self.entry(name).is_none())
            .expect("numbers do not end")
    }

    /// A new file for what a server will say that has no folder yet.
    ///
    /// # Errors
    /// When the folder cannot be made, or the file in it.
    pub fn new_log(&self) -> Result<(PathBuf, File), Error> {
        let failed = |error: io::Error| {
            Error::from_io(
                statement!(catalogue::MAKING_LOG, folder = self.folder.display()),
                &error,
            )
        };
        self.make()?;
        // A process has started one server at a time.
        let path = self.folder.join(format!("{START_LOG}{}", std::process::id()));
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        Ok((path, file))
    }

    /// Takes a name, and undoes what a dead server of that name left behind.
    ///
    /// # Errors
    /// When a server of that name lives, or the folder cannot be made.
    pub fn claim(&self, name: &str) -> Result<Claim, Error> {
        self.take(name, &Waiting::GivenUp)
    }

    /// The same for a server of this content ([`Settings::lasting_content`]). Where a dead server
    /// of that name has left a block device that waits and stands for the same, the claim has it.
    ///
    /// # Errors
    /// As [`Runtime::claim`], and where it stands for something else.
    ///
    /// [`Settings::lasting_content`]: crate::Settings::lasting_content
    pub fn claim_to_serve(&self, name: &str, content: Option<&str>) -> Result<Claim, Error> {
        self.take(name, &Waiting::GoesOn(content))
    }

    fn take(&self, name: &str, waiting: &Waiting<'_>) -> Result<Claim, Error> {
        let folder = self.folder_of(name)?;
        let failed = |error: io::Error| {
            Error::from_io(
                statement!(catalogue::MAKING_RUNTIME_FOLDER, folder = folder.display()),
                &error,
            )
        };
        self.make()?;
        // No other user may look into it: the control socket stands there.
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        check_own(&folder)?;
        let mut lock = take_lock(name, &folder.join(LOCK))?;
        self.remove_start_logs();
        let device = match waiting {
            Waiting::GivenUp => None,
            Waiting::GoesOn(_) => journal::waiting_device(&folder),
        };
        let (left, mut notes) = match (device, waiting) {
            (Some(device), Waiting::GoesOn(content))
                if !content.is_some_and(|content| is_same_content(&device.of, content)) =>
            {
                let advice = format!("raidloom array stop {name}");
                let (device, message) = (device.path.display(), catalogue::WAITS_FOR_ANOTHER);
                let said = statement!(message, device = device, advice = advice);
                return Err(Error::refused(said).at(name));
            }
            (Some(device), _) => {
                let (journal, notes) = journal::undo_around(&folder, &device);
                (Some(journal), notes)
            }
            (None, _) => (None, journal::undo_left_behind(&folder)),
        };
        notes.extend(held_by_the_dead(&folder, FREE_TIME));
        for name in [SOCKET, NBD, LOG, DISK, FILES] {
            match fs::remove_file(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => (),
            }
        }
        let write = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
        write.map_err(failed)?;
        Ok(Claim { name: name.to_owned(), folder, _lock: lock, notes, left })
    }

    /// Undoes what dead servers have left behind, whatever their names; a block device that waits
    /// for its next server stays, and whoever uses it waits too. Says in words what was done, and
    /// what waits.
    #[must_use]
    pub fn clean_up(&self) -> Vec<Text> {
        self.remove_start_logs();
        let dead = self.entries().into_iter().filter(|entry| entry.process.is_none());
        let waits = |name: &str| journal::waiting_device(&self.folder_of(name).ok()?);
        let undone = dead.filter_map(|entry| match (waits(&entry.name), &entry.name) {
            (Some(device), name) => {
                let device = device.path.display();
                Some(vec![statement!(catalogue::DEVICE_WAITS, name = name, device = device)])
            }
            (None, name) => self.undo(name),
        });
        undone.flatten().collect()
    }

    /// Removes the logs of servers that never were ready, and whose starter is gone.
    fn remove_start_logs(&self) {
        for file in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = file.file_name();
            let starter = name.to_str().and_then(|name| name.strip_prefix(START_LOG)?.parse().ok());
            if starter.is_some_and(|process| !facts::lives(process)) {
                // One that stays only takes room.
                let _ = fs::remove_file(file.path());
            }
        }
    }

    fn undo(&self, name: &str) -> Option<Vec<Text>> {
        match self.claim(name) {
            Ok(mut claim) => Some(std::mem::take(&mut claim.notes)),
            // Another process was quicker.
            Err(_) => None,
        }
    }
}

/// How a file is noted that is not there.
pub(crate) const GONE: &str = "-";

/// Whether what is to be served is what a block device stands for. A file that is gone makes no
/// other array of it: whether that can be started without it is not decided here.
pub(crate) fn is_same_content(noted: &str, now: &str) -> bool {
    let (mut noted, mut now) = (noted.split('\n'), now.split('\n'));
    loop {
        match (noted.next(), now.next()) {
            (None, None) => return true,
            (Some(noted), Some(now)) if noted == now || now == GONE => (),
            _ => return false,
        }
    }
}

/// A folder of the caller's own, no link to one, that no other user may enter.
fn check_own(folder: &Path) -> Result<(), Error> {
    let data =
        fs::symlink_metadata(folder).map_err(|error| Error::from_io(folder.display(), &error))?;
    if !data.is_dir()
        || data.uid() != rustix::process::geteuid().as_raw()
        || data.mode() & 0o077 != 0
    {
        return Err(Error::refused(catalogue::NOT_OWN_FOLDER).at(folder.display()));
    }
    Ok(())
}

impl Claim {
    /// The array's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if journal::exists(&self.folder) {
            // Something could not be undone: the next start tries again.
            return;
        }
        for name in [SOCKET, NBD, DISK, LOG, FILES, LOCK] {
            let _ = fs::remove_file(self.folder.join(name));
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

/// How often a lock is tried whose holder is about to end, has ended, or only looks what holds it,
/// and how long in between.
const ATTEMPTS: u32 = 2000;
const PAUSE: Duration = Duration::from_millis(5);
/// How long a clean-up waits for the kernel to let go of what a killed server had open.
const FREE_TIME: Duration = Duration::from_secs(10);

fn take_lock(name: &str, path: &Path) -> Result<File, Error> {
    let failed = |error: io::Error| Error::from_io(path.display(), &error);
    let mut attempts = 0..ATTEMPTS;
    loop {
        let lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        let locked = match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        };
        // The last holder may have removed the file before we had the lock; then it keeps no
        // other out.
        let same = fs::metadata(path)
            .is_ok_and(|data| lock.metadata().is_ok_and(|own| own.ino() == data.ino()));
        if locked && same {
            return Ok(lock);
        }
        let holder = fs::read_to_string(path).unwrap_or_default();
        let lives = !locked && holder.trim().parse().is_ok_and(facts::lives);
        if lives || attempts.next().is_none() {
            let said = statement!(catalogue::RUNS_ALREADY, process = holder.trim());
            return Err(Error::refused(said).at(name));
        }
        thread::sleep(PAUSE);
    }
}

/// Writes down which files the server of this folder holds, for the clean-up when it is
/// killed.
pub(crate) fn note_files(folder: &Path, files: &[PathBuf]) -> io::Result<()> {
    let text: Vec<u8> =
        files.iter().flat_map(|file| [file.as_os_str().as_bytes(), b"\0"].concat()).collect();
    // Read only under the lock of a dead server, so never while it is written.
    fs::write(folder.join(FILES), text)
}

/// Waits until nothing holds the files of a server that was killed: the kernel takes its rings
/// apart some time after the process has ended, and what they use stays open and locked until then.
/// Names those that something goes on holding. A lock for reading, as other programs that only look
/// hold it, is in nobody's way: it is not waited for.
fn held_by_the_dead(folder: &Path, patience: Duration) -> Vec<Text> {
    let Ok(text) = fs::read(folder.join(FILES)) else { return Vec::new() };
    let files = text.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let mut pauses = patience.as_millis() / PAUSE.as_millis();
    let mut notes = Vec::new();
    for file in files.map(|path| Path::new(OsStr::from_bytes(path))) {
        // What cannot be opened any more is not held under this name. Opening a pipe does not wait
        // for its other end.
        let is_held = || {
            let file = OpenOptions::new()
                .read(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(file);
            file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
        };
        while is_held() {
            if pauses == 0 {
                notes.push(Text::from(catalogue::STILL_IN_USE).at(file.display()));
                break;
            }
            pauses -= 1;
            thread::sleep(PAUSE);
        }
    }
    notes
}

/// Names become folders, sockets and systemd units.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let letters = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':'));
    if letters && !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.starts_with(['.', '-'])
    {
        return Ok(());
    }
    let said = statement!(catalogue::SERVER_NAME, most = MAX_NAME_BYTES);
    Err(Error::usage(said).at(format!("{name:?}")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn runtime() -> (tempfile::TempDir, Runtime) {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::at(folder.path().join("run"));
        (folder, runtime)
    }

    #[test]
    fn files_that_something_still_holds_are_named_and_others_are_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["held", "free\nwith two lines", "gone"].map(|name| folder.path().join(name));
        paths[..2].iter().for_each(|path| drop(File::create(path).unwrap()));
        let holder = File::open(&paths[0]).unwrap();
        holder.lock().unwrap();
        assert_eq!(held_by_the_dead(folder.path(), Duration::ZERO), [], "nothing is noted");
        note_files(folder.path(), &paths).unwrap();
        let notes = held_by_the_dead(folder.path(), Duration::ZERO);
        assert!(notes.len() == 1 && notes[0].english().contains("held: still in use"), "{notes:?}");
        holder.unlock().unwrap();
        holder.lock_shared().unwrap();
        let notes = held_by_the_dead(folder.path(), Duration::ZERO);
        assert_eq!(notes, [], "who reads is not waited for");
    }

    #[test]
    fn a_name_has_one_server() {
        let (_folder, runtime) = runtime();
        assert_eq!(runtime.entries(), []);
        let claim = runtime.claim("tank").unwrap();
        let own = std::process::id();
        assert_eq!(runtime.entries(), [Entry { name: "tank".into(), process: Some(own) }]);
        let error = runtime.claim("tank").unwrap_err().to_string();
        assert_eq!(error, format!("tank: it is running already, as process {own}"));
        drop(claim);
        assert_eq!(runtime.entries(), []);
        runtime.claim("tank").unwrap();
    }

    #[test]
    fn what_a_dead_server_left_is_undone_by_the_next() {
        let (_folder, runtime) = runtime();
        let claim = runtime.claim("tank").unwrap();
        let folder = claim.folder().to_owned();
        let left = folder.join("left");
        let mut journal = journal::Journal::new(&folder);
        journal.note_file(&left, &File::create(&left).unwrap()).unwrap();
        // What a kill does: no destructor runs, and the kernel drops the lock.
        std::mem::forget(journal);
        claim._lock.unlock().unwrap();
        std::mem::forget(claim);
        assert_eq!(runtime.entries(), [Entry { name: "tank".into(), process: None }]);
        assert_eq!(runtime.clean_up().len(), 1);
        assert!(!left.exists() && !folder.exists());
    }

    #[test]
    fn the_log_of_a_start_that_was_killed_goes_with_what_is_left_behind() {
        let (_folder, runtime) = runtime();
        let (own, _) = runtime.new_log().unwrap();
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let left = runtime.folder.join(format!("{START_LOG}{}", gone.id()));
        let clean_ups: [fn(&Runtime); 2] =
            [|runtime| drop(runtime.clean_up()), |runtime| drop(runtime.claim("tank").unwrap())];
        for clean_up in clean_ups {
            File::create(&left).unwrap();
            clean_up(&runtime);
            assert!(!left.exists() && own.exists(), "that of a start under way stays");
        }
    }

    #[test]
    fn the_folder_is_the_first_that_is_ones_own() {
        let own = tempfile::tempdir().unwrap();
        let user = fs::metadata(own.path()).unwrap().uid();
        let (ours, other) = (if user == 0 { 1000 } else { user }, own.path().to_owned());
        let choose = |variables: &[(&str, &str)], user: u32| {
            let value = |name: &str| {
                variables
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| PathBuf::from(value))
            };
            Runtime::choose(value, user)
        };
        let at = |variables: &[(&str, &str)], user: u32| choose(variables, user).folder;
        let other = other.to_str().unwrap();
        assert_eq!(
            at(&[("RAIDLOOM_RUNTIME_DIR", "/a"), ("XDG_RUNTIME_DIR", other)], ours),
            Path::new("/a")
        );
        assert_eq!(at(&[("XDG_RUNTIME_DIR", other)], 0), Path::new("/run/raidloom"));
        if user == ours {
            assert_eq!(at(&[("XDG_RUNTIME_DIR", other)], ours), own.path().join("raidloom"));
        }
        // Not set, another user's as `su` leaves it, empty, of the current folder, not there.
        let temporary = PathBuf::from(format!("/tmp/raidloom-{}", user + 1));
        for variables in [
            &[][..],
            &[("XDG_RUNTIME_DIR", other)],
            &[("XDG_RUNTIME_DIR", "")],
            &[("XDG_RUNTIME_DIR", "."), ("TMPDIR", "t")],
        ] {
            let chosen = choose(variables, user + 1);
            assert_eq!((chosen.folder, chosen.shared_parent), (temporary.clone(), true));
        }
        assert_eq!(
            at(&[("TMPDIR", "/var/tmp"), ("XDG_RUNTIME_DIR", "/none")], 7),
            Path::new("/var/tmp/raidloom-7")
        );
    }

    #[test]
    fn a_folder_among_temporary_files_is_ones_own_alone_or_refused() {
        let parent = tempfile::tempdir().unwrap();
        let mode = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let runtime = Runtime { folder: parent.path().join("raidloom-1"), shared_parent: true };
        mode(parent.path(), 0o1777);
        drop(runtime.claim("tank").unwrap());
        assert_eq!(fs::metadata(&runtime.folder).unwrap().mode() & 0o7777, 0o700);
        let refused = |why: &str| {
            for error in [
                runtime.claim("tank").map(drop).unwrap_err(),
                runtime.new_log().map(drop).unwrap_err(),
            ] {
                assert!(error.exit_code() == 4 && error.to_string().contains(why), "{error}");
            }
        };
        for others in [0o750, 0o701, 0o777] {
            mode(&runtime.folder, others);
            refused("nobody else may enter");
        }
        mode(&runtime.folder, 0o700);
        mode(parent.path(), 0o777);
        refused("others may rename what is in it");
        mode(parent.path(), 0o1777);
        // A link to a folder that is in order.
        fs::rename(&runtime.folder, parent.path().join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", &runtime.folder).unwrap();
        refused("nobody else may enter");
        fs::remove_file(&runtime.folder).unwrap();
        fs::write(&runtime.folder, "").unwrap();
        refused("nobody else may enter");
        if rustix::process::geteuid().is_root() {
            fs::remove_file(&runtime.folder).unwrap();
            DirBuilder::new().mode(0o700).create(&runtime.folder).unwrap();
            std::os::unix::fs::chown(&runtime.folder, Some(65534), None).unwrap();
            refused("nobody else may enter");
        }
    }

    #[test]
    fn names_that_would_leave_the_folder_are_refused() {
        let (_folder, runtime) = runtime();
        for name in ["", "..", "a/b", "-a", "a b", &"x".repeat(33)] {
            assert_eq!(runtime.claim(name).unwrap_err().exit_code(), 2, "{name:?}");
        }
        assert_eq!(runtime.free_name(), "array0");
        let _claim = runtime.claim("array0").unwrap();
        assert_eq!(runtime.free_name(), "array1");
    }
}
