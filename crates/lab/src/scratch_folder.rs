//! Folders of a moment in the folder for temporary files: locked while they are used, and removed
//! on any way out. What a killed process has left carries the same name and no lock: the next one
//! of the same user removes it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

/// How all of them begin, so that what is left says whose it is.
const PREFIX: &str = "raidloom-run-";
/// So often a new one may be taken for one that was left, in the moment before it is locked.
const TRIES: usize = 8;

/// A folder that goes with this value.
#[derive(Debug)]
pub(crate) struct ScratchFolder {
    folder: TempDir,
    /// Holds the lock.
    _lock: File,
}

impl ScratchFolder {
    pub(crate) fn new() -> io::Result<ScratchFolder> {
        ScratchFolder::make_in(&std::env::temp_dir())
    }

    fn make_in(parent: &Path) -> io::Result<ScratchFolder> {
        remove_left_behind(parent);
        for _ in 0..TRIES {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            let Ok(lock) = File::open(folder.path()) else { continue };
            let is_taken = match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Err(rustix::io::Errno::WOULDBLOCK) => true,
                // Where there are no locks, nothing is taken for one that was left.
                Ok(()) | Err(_) => !folder.path().exists(),
            };
            if !is_taken {
                return Ok(ScratchFolder { folder, _lock: lock });
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn remove_left_behind(parent: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let has_name = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let is_ours = || entry.metadata().is_ok_and(|data| data.is_dir() && data.uid() == user);
        if !has_name || !is_ours() {
            continue;
        }
        if let Ok(folder) = File::open(entry.path())
            && flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_has_left_is_removed_and_what_is_used_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let used = ScratchFolder::make_in(parent.path()).unwrap();
        fs::write(used.path().join("run"), "kept").unwrap();
        let left = parent.path().join("raidloom-run-left");
        let others = parent.path().join("raidloom-runs");
        for folder in [&left, &others] {
            fs::create_dir_all(folder.join("run")).unwrap();
        }
        let next = ScratchFolder::make_in(parent.path()).unwrap();
        assert!(!left.exists() && others.exists());
        assert_eq!(fs::read_to_string(used.path().join("run")).unwrap(), "kept");
        let paths = [used.path().to_owned(), next.path().to_owned()];
        drop((used, next));
        assert!(paths.iter().all(|path| !path.exists()));
    }

    /// Many at once take nothing from each other.
    #[test]
    fn a_new_one_is_not_taken_for_one_that_was_left() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let folder = ScratchFolder::make_in(parent.path()).unwrap();
                        fs::create_dir(folder.path().join("run")).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
