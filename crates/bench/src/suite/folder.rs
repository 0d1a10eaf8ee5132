//! A fresh folder to work in, removed on any way out, and what is checked before anything is
//! written.
//!
//! ```text
//!   named folder/            the user's; nothing in it is touched
//!     raidloom-bench-bonnie-4711/      ours: locked while it is used, removed with all that is in it
//! ```
//!
//! What a killed process left behind carries that name and no lock: the next suite in the same
//! folder removes it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use block::{Error, ErrorKind, size_text};
use rustix::fs::{FlockOperation, Mode, OFlags, StatVfsMountFlags};
use words::{Text, statement};

use crate::suite::catalogue;

const PREFIX: &str = "raidloom-bench-";
/// File systems that live in memory (`statfs(2)`): direct I/O on them is another copy in memory.
const MEMORY_FILE_SYSTEMS: [i64; 2] = [0x0102_1994, 0x8584_58f6];

/// What a suite will need of a folder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// Bytes at the fullest moment.
    pub bytes: u64,
    /// Length of the longest file.
    pub longest_file_bytes: u64,
    /// Files and folders at the fullest moment.
    pub files: u64,
    /// Whether files are opened for direct I/O.
    pub direct: bool,
}

/// A fresh sub-folder. Dropping it removes it.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    /// Holds the lock.
    _lock: File,
}

impl WorkFolder {
    /// Checks that what will be needed is there, and makes nothing.
    ///
    /// # Errors
    /// As [`WorkFolder::new`].
    pub fn check(parent: &Path, needs: &Needs) -> Result<(), Error> {
        check_place(parent, needs).map_err(|error| error.at(parent.display()))
    }

    /// Makes one in `parent`, after checking that what will be needed is there.
    ///
    /// # Errors
    /// One line: what is wrong with the folder and what to do.
    pub fn new(parent: &Path, suite: &str, needs: &Needs) -> Result<WorkFolder, Error> {
        let at = |error: Error| error.at(parent.display());
        remove_left_behind(parent);
        check_place(parent, needs).map_err(at)?;
        let name = format!("{PREFIX}{suite}-{}", std::process::id());
        let path = parent.join(name);
        fs::create_dir(&path)
            .map_err(|error| at(Error::from_io(catalogue::NO_NEW_FOLDER, error)))?;
        let lock = File::open(&path).and_then(|folder| lock(&folder).map(|()| folder));
        let lock = lock.map_err(|error| Error::from_io(path.display().to_string(), error))?;
        let folder = WorkFolder { path, _lock: lock };
        if needs.direct {
            folder.try_direct().map_err(at)?;
        }
        Ok(folder)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a file of this size in it, whose blocks are all allocated where the file system can.
    ///
    /// # Errors
    /// What the system says.
    pub fn file(&self, name: &str, size_bytes: u64) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
        let failed = |error| {
            Error::from_io(statement!(catalogue::MAKING_TEST_FILE, path = path.display()), error)
        };
        let file = File::options().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(failed)?;
        match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size_bytes) {
            Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(size_bytes).map_err(failed)?,
            result => result.map_err(|error| failed(error.into()))?,
        }
        Ok(path)
    }

    fn try_direct(&self) -> Result<(), Error> {
        let path = self.path.join("direct");
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR);
        let removed = fs::remove_file(&path);
        match opened {
            Ok(_) => removed.map_err(|error| Error::from_io(path.display().to_string(), error)),
            Err(error) => Err(no_direct(statement!(
                catalogue::NO_DIRECT_IN_SYSTEM,
                error = error.to_string()
            ))),
        }
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // Nothing can be done about what cannot be removed; the next suite here tries again.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn no_direct(why: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Refused, statement!(catalogue::DIRECT_NOT_HAD, why = why))
}

fn lock(folder: &File) -> io::Result<()> {
    Ok(rustix::fs::flock(folder, FlockOperation::NonBlockingLockExclusive)?)
}

fn check_place(parent: &Path, needs: &Needs) -> Result<(), Error> {
    let data =
        fs::metadata(parent).map_err(|error| Error::from_io(catalogue::NO_SUCH_FOLDER, error))?;
    if !data.is_dir() {
        return Err(Error::new(ErrorKind::Invalid, catalogue::NO_WORK_FOLDER));
    }
    let system =
        |error: rustix::io::Errno| Error::from_io(catalogue::ITS_FILE_SYSTEM, error.into());
    let room = rustix::fs::statvfs(parent).map_err(system)?;
    if room.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(Error::new(ErrorKind::Refused, catalogue::FOLDER_READ_ONLY));
    }
    let kind = rustix::fs::statfs(parent).map_err(system)?.f_type;
    if needs.direct && MEMORY_FILE_SYSTEMS.contains(&kind) {
        return Err(no_direct(catalogue::FOLDER_IN_MEMORY));
    }
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    if free < needs.bytes {
        let text = statement!(
            catalogue::TOO_LITTLE_ROOM,
            needed = rounded(needs.bytes),
            free = rounded(free)
        );
        return Err(Error::new(ErrorKind::Refused, text));
    }
    // File systems without a table of inodes say that there are none at all.
    if room.f_files > 0 && room.f_favail < needs.files {
        let text = statement!(catalogue::TOO_FEW_FILES, needed = needs.files, room = room.f_favail);
        return Err(Error::new(ErrorKind::Refused, text));
    }
    check_limit(needs.longest_file_bytes)
}

/// Checks the limit on the size of a process's files (`ulimit -f`, `RLIMIT_FSIZE`).
///
/// # Errors
/// One line: what is needed and what the limit is.
pub fn check_limit(longest: u64) -> Result<(), Error> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    match limit {
        Some(limit) if limit < longest => {
            let text = statement!(
                catalogue::FILE_SIZE_LIMIT,
                needed = rounded(longest),
                limit = rounded(limit)
            );
            Err(Error::new(ErrorKind::Refused, text))
        }
        _ => Ok(()),
    }
}

/// A size for people: exact in its unit when it is whole, otherwise in MiB.
fn rounded(bytes: u64) -> String {
    let text = size_text(bytes);
    if text.len() <= 8 { text } else { format!("{}MiB", bytes >> 20) }
}

/// Removes the folders of suites that were killed: they carry our name and their lock is free.
fn remove_left_behind(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if let Ok(folder) = File::open(entry.path())
            && lock(&folder).is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn it_goes_with_all_that_is_in_it_and_touches_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("somebody's"), "data").unwrap();
        let folder = WorkFolder::new(parent.path(), "test", &Needs::default()).unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("below/file"), "x").unwrap();
        drop(folder);
        assert_eq!(names(parent.path()), ["somebody's"]);
    }

    #[test]
    fn what_a_killed_process_left_behind_is_removed_and_what_is_in_use_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let used = WorkFolder::new(parent.path(), "used", &Needs::default()).unwrap();
        let left = parent.path().join(format!("{PREFIX}bonnie-1"));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("file"), "x").unwrap();
        let fresh = WorkFolder::new(parent.path(), "fresh", &Needs::default()).unwrap();
        assert!(!left.exists() && used.path().exists() && fresh.path().exists());
    }

    #[test]
    fn what_is_not_there_is_said_before_anything_is_written() {
        let parent = tempfile::tempdir().unwrap();
        let refusal = |needs: Needs| WorkFolder::new(parent.path(), "test", &needs).unwrap_err();
        let large = refusal(Needs { bytes: u64::MAX, ..Needs::default() });
        assert!(
            large.kind() == ErrorKind::Refused && large.to_string().contains("too small"),
            "{large}"
        );
        let missing =
            WorkFolder::new(&parent.path().join("missing"), "test", &Needs::default()).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(
            WorkFolder::new(&file, "test", &Needs::default()).unwrap_err().kind(),
            ErrorKind::Invalid
        );
        assert_eq!(names(parent.path()), ["file"]);
    }

    #[test]
    fn direct_io_in_memory_is_refused() {
        let memory = Path::new("/dev/shm");
        if !memory.is_dir()
            || rustix::fs::statfs(memory).map_or(0, |data| data.f_type) != MEMORY_FILE_SYSTEMS[0]
        {
            testkit::skipped!("/dev/shm is no tmpfs here");
            return;
        }
        let parent = tempfile::tempdir_in(memory).unwrap();
        let error =
            WorkFolder::new(parent.path(), "test", &Needs { direct: true, ..Needs::default() })
                .unwrap_err();
        assert!(
            error.kind() == ErrorKind::Refused && error.to_string().contains("tmpfs"),
            "{error}"
        );
        assert!(names(parent.path()).is_empty());
    }
}
