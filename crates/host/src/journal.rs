//! The clean-up journal: what a run or a server makes and must not stay behind. An entry is on stable storage before the
//! thing it names holds any data, so that after `kill -9` the next start finds and undoes it, last made first.
//!
//! A file is named with its device and inode numbers: another file that somebody has put in its place since is left alone.
//! A mount is named with its source, and a loop device by the file under it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Error, mount, system};

/// Name of the journal in a run's folder.
const NAME: &str = "cleanup.jsonl";

/// One thing that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "made")]
enum Made {
    /// A file, to be removed while it is still the same one.
    File { path: PathBuf, device: u64, inode: u64 },
    /// A folder, to be removed when it is empty.
    Folder { path: PathBuf },
    /// A device served as a file, to be taken away.
    Served { path: PathBuf },
    /// Loop devices over a file, to be taken away.
    Loop { over: PathBuf },
    /// A file system of this source, to be unmounted.
    Mount { point: PathBuf, source: PathBuf },
}

/// The journal of one folder.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    made: Vec<Made>,
    /// Open once the first entry was written.
    file: Option<File>,
}

impl Journal {
    /// The journal of a folder, empty so far. What an earlier process left there has been undone with [`undo_left_behind`].
    #[must_use]
    pub fn new(folder: &Path) -> Journal {
        Journal { folder: folder.to_owned(), made: Vec::new(), file: None }
    }

    /// Makes a folder that will be removed again, unless it is there already.
    ///
    /// # Errors
    /// What the system says.
    pub fn make_folder(&mut self, path: &Path) -> Result<(), Error> {
        self.write(Made::Folder { path: path.to_owned() })?;
        match fs::create_dir(path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            Err(error) => Err(Error::from_io(format!("making the folder {}", path.display()), &error)),
        }
    }

    /// Notes a file that was just made and holds nothing yet.
    ///
    /// # Errors
    /// What the system says; as with all notes, the thing must not be made then.
    pub fn note_file(&mut self, path: &Path, file: &File) -> Result<(), Error> {
        let data = file.metadata().map_err(|error| Error::from_io(path.display(), &error))?;
        self.write(Made::File { path: path.to_owned(), device: data.dev(), inode: data.ino() })
    }

    /// Notes that a device will be served in the place of the file `path`.
    ///
    /// # Errors
    /// As [`Journal::note_file`].
    pub fn note_served(&mut self, path: &Path) -> Result<(), Error> {
        self.write(Made::Served { path: path.to_owned() })
    }

    /// Notes that there will be a loop device over the file `over`.
    ///
    /// # Errors
    /// As [`Journal::note_file`].
    pub fn note_loop(&mut self, over: &Path) -> Result<(), Error> {
        self.write(Made::Loop { over: over.to_owned() })
    }

    /// Notes that `source` will be mounted at `point`.
    ///
    /// # Errors
    /// As [`Journal::note_file`].
    pub fn note_mount(&mut self, point: &Path, source: &Path) -> Result<(), Error> {
        self.write(Made::Mount { point: point.to_owned(), source: source.to_owned() })
    }

    fn write(&mut self, made: Made) -> Result<(), Error> {
        let path = self.folder.join(NAME);
        let failed = |error| Error::from_io(path.display(), &error);
        if self.file.is_none() {
            self.file = Some(OpenOptions::new().append(true).create(true).open(&path).map_err(failed)?);
            sync_folder(&self.folder).map_err(failed)?;
        }
        let mut line = serde_json::to_vec(&made).expect("an entry is plain data");
        line.push(b'\n');
        let file = self.file.as_mut().expect("opened above");
        file.write_all(&line).and_then(|()| file.sync_data()).map_err(failed)?;
        self.made.push(made);
        Ok(())
    }

    /// Undoes everything; what could not be undone is said in words and stays in the journal.
    #[must_use]
    pub fn undo(mut self) -> Vec<String> {
        undo_entries(&self.folder, std::mem::take(&mut self.made))
    }
}

impl Drop for Journal {
    /// Every way out undoes, also an early return with an error; only a killed process leaves that to the next one.
    fn drop(&mut self) {
        if !self.made.is_empty() {
            undo_entries(&self.folder, std::mem::take(&mut self.made));
        }
    }
}

/// Whether a folder has a journal.
#[must_use]
pub fn exists(folder: &Path) -> bool {
    folder.join(NAME).exists()
}

/// Makes the entries of a folder durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Undoes what a killed process has left behind in a folder. The caller holds the folder's lock. Says in words what was
/// done, and nothing when there was nothing to do.
#[must_use]
pub fn undo_left_behind(folder: &Path) -> Vec<String> {
    let path = folder.join(NAME);
    let Ok(text) = fs::read_to_string(&path) else { return Vec::new() };
    // A torn last line names nothing that was made: the entry comes first.
    let made: Vec<Made> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut notes = Vec::new();
    if !made.is_empty() {
        notes.push(format!("removed what an interrupted command had left behind in {}", folder.display()));
    }
    notes.extend(undo_entries(folder, made));
    notes
}

/// Last made, first undone. The journal goes when nothing is left.
fn undo_entries(folder: &Path, made: Vec<Made>) -> Vec<String> {
    let notes: Vec<String> = made.into_iter().rev().filter_map(undo_one).collect();
    if notes.is_empty() {
        let _ = fs::remove_file(folder.join(NAME));
    }
    notes
}

fn undo_one(made: Made) -> Option<String> {
    let gone = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    match made {
        Made::File { path, device, inode } => match fs::symlink_metadata(&path) {
            Err(error) if gone(&error) => None,
            Err(error) => Some(format!("could not remove {}: {error}", path.display())),
            Ok(data) if (data.dev(), data.ino()) != (device, inode) => {
                Some(format!("left {} alone: it is not the file that was made here", path.display()))
            }
            Ok(_) => fs::remove_file(&path).err().map(|error| format!("could not remove {}: {error}", path.display())),
        },
        Made::Folder { path } => match fs::remove_dir(&path) {
            Err(error) if !gone(&error) => Some(format!("could not remove the folder {}: {error}", path.display())),
            _ => None,
        },
        Made::Served { path } => {
            let there = system::mounts().iter().any(|mount| mount.point == path && mount.kind == export::fuse::MOUNT_KIND);
            if !there {
                return None;
            }
            // Whoever has the file open gets errors already.
            export::fuse::detach(&path).err().map(|error| format!("could not unmount {}: {error}", path.display()))
        }
        Made::Loop { over } => {
            let detached = |device: String| export::loop_device::detach_from(Path::new(&device), &over).err();
            let errors: Vec<String> = system::loops_over(&over).into_iter().filter_map(detached).map(|error| error.to_string()).collect();
            (!errors.is_empty()).then(|| format!("could not take the loop device over {} away: {}", over.display(), errors.join(", ")))
        }
        Made::Mount { point, source } => {
            let there = system::mounts().iter().any(|mount| mount.point == point && Path::new(&mount.source) == source);
            if !there {
                return None;
            }
            mount::unmount_by_force(&point).err().map(|error| error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(journal: &mut Journal, path: &Path) {
        let file = File::create_new(path).unwrap();
        journal.note_file(path, &file).unwrap();
    }

    #[test]
    fn everything_is_undone_in_reverse_order_and_the_journal_goes() {
        let folder = tempfile::tempdir().unwrap();
        let members = folder.path().join("members");
        let mut journal = Journal::new(folder.path());
        journal.make_folder(&members).unwrap();
        make(&mut journal, &members.join("a"));
        make(&mut journal, &members.join("b"));
        assert!(folder.path().join(NAME).exists());
        assert_eq!(journal.undo(), Vec::<String>::new());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_killed_process_leaves_a_journal_that_the_next_one_undoes() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::new(folder.path());
        make(&mut journal, &folder.path().join("a"));
        std::mem::forget(journal); // what a kill does: no destructor runs
        fs::write(folder.path().join(NAME), [fs::read(folder.path().join(NAME)).unwrap(), b"{\"made\":\"fi".to_vec()].concat()).unwrap();
        assert_eq!(undo_left_behind(folder.path()).len(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(undo_left_behind(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_took_the_place_of_ours_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut journal = Journal::new(folder.path());
        make(&mut journal, &path);
        fs::rename(&path, folder.path().join("ours")).unwrap();
        fs::write(&path, "somebody's work").unwrap();
        let notes = journal.undo();
        assert!(notes[0].contains("is not the file that was made here"), "{notes:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's work");
    }

    #[test]
    fn a_folder_with_somebody_elses_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let members = folder.path().join("members");
        let mut journal = Journal::new(folder.path());
        journal.make_folder(&members).unwrap();
        fs::write(members.join("not-ours"), "").unwrap();
        assert_eq!(journal.undo().len(), 1);
        assert!(members.join("not-ours").exists());
    }
}
