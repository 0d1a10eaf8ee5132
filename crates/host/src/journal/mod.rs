//! The clean-up journal: what a run or a server makes and must not stay behind. An entry is on
//! stable storage before the thing it names holds any data, so that after `kill -9` the next start
//! finds and undoes it, last made first.
//!
//! What is undone is what this run demonstrably made, and nothing that a line merely names:
//!
//! * a journal is obeyed only in a folder of the caller's own that no other user may write to,
//!   and so is the file itself;
//! * what lies below the folder is named by its path from there, and reached without following a
//!   link;
//! * a file is told by device, inode and birth, a loop device by its number, the kernel's count of
//!   its uses and the file under it, a mount by its source, which must be the same use of that
//!   device;
//! * what lies elsewhere (members in folders that a plan names, mount points) is undone only if the
//!   journal's first line tells this very folder: a journal that was copied or unpacked here says
//!   nothing about the rest of the machine.

mod undo;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use serde::{Deserialize, Serialize};

use words::{Text, statement};

use crate::{Error, catalogue};
use undo::undo_entries;
pub use undo::{WaitingDevice, undo_around, undo_left_behind, waiting_device};

/// Name of the journal in a run's folder.
pub const NAME: &str = "cleanup.jsonl";

/// What tells a file or folder from every other that was ever there: an inode number is given anew
/// once it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    device: u64,
    inode: u64,
    /// When it was made, in nanoseconds since 1970; `None` where the file system does not keep
    /// that.
    #[serde(default)]
    born: Option<i64>,
}

impl Mark {
    /// Of what is open.
    fn of(file: impl AsFd) -> io::Result<Mark> {
        Mark::at(file, OsStr::new(""), AtFlags::EMPTY_PATH)
    }

    fn at(folder: impl AsFd, name: &OsStr, flags: AtFlags) -> io::Result<Mark> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let data = rustix::fs::statx(folder, name, flags | AtFlags::SYMLINK_NOFOLLOW, wanted)?;
        let born = (data.stx_mask & StatxFlags::BTIME.bits() != 0)
            .then(|| {
                data.stx_btime
                    .tv_sec
                    .checked_mul(1_000_000_000)?
                    .checked_add(data.stx_btime.tv_nsec.into())
            })
            .flatten();
        Ok(Mark {
            device: rustix::fs::makedev(data.stx_dev_major, data.stx_dev_minor),
            inode: data.stx_ino,
            born,
        })
    }
}

/// One thing that was made. Paths are from the journal's folder on for what lies below it, and
/// absolute for the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "made")]
enum Entry {
    /// The journal: the folder that it was begun in.
    Journal(Mark),
    /// A file, to be removed while it is still the same one.
    File {
        path: PathBuf,
        #[serde(flatten)]
        mark: Mark,
    },
    /// A folder, to be removed when it is empty.
    Folder { path: PathBuf },
    /// A device served as a file, to be taken away.
    Served { path: PathBuf },
    /// There is going to be a loop device over a file, to be taken away.
    Loop { over: PathBuf },
    /// The loop device that there is: its path, and the kernel's count of its uses.
    LoopDevice { over: PathBuf, path: PathBuf, sequence: Option<String> },
    /// A block device of the kernel's ublk driver, to be taken away: the number by which the driver
    /// tells it, and what it stands for, for whoever goes on with it.
    Ublk { identity: u64, of: String },
    /// A file system of this source, to be unmounted; of a loop device also the count of its uses.
    Mount {
        point: PathBuf,
        source: PathBuf,
        #[serde(default)]
        sequence: Option<String>,
    },
}

/// The journal of one folder.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    made: Vec<Entry>,
    /// What a dead process has made that is to outlive it: left as it is, and in the journal, until
    /// this one goes on with it.
    left: Vec<Entry>,
    /// The journal and its folder, once the first entry was written.
    open: Option<(File, JournalFolder)>,
}

impl Journal {
    /// The journal of a folder, empty so far. What an earlier process left there has been undone
    /// with [`undo_left_behind`].
    #[must_use]
    pub fn new(folder: &Path) -> Journal {
        Journal { folder: folder.to_owned(), made: Vec::new(), left: Vec::new(), open: None }
    }

    /// Makes a folder that will be removed again, unless it is there already.
    ///
    /// # Errors
    /// What the system says.
    pub fn make_folder(&mut self, path: &Path) -> Result<(), Error> {
        self.write(|place| Entry::Folder { path: place.as_named(path) })?;
        match fs::create_dir(path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            Err(error) => Err(Error::from_io(
                words::statement!(crate::catalogue::MAKING_FOLDER, path = path.display()),
                &error,
            )),
        }
    }

    /// Notes a file that was just made and holds nothing yet.
    ///
    /// # Errors
    /// What the system says; as with all notes, the thing must not be made then.
    pub fn note_file(&mut self, path: &Path, file: &File) -> Result<(), Error> {
        let mark = Mark::of(file).map_err(|error| Error::from_io(path.display(), &error))?;
        self.write(|place| Entry::File { path: place.as_named(path), mark })
    }

    /// Notes that a device will be served in the place of the file `path`.
    ///
    /// # Errors
    /// As [`Journal::note_file`].
    pub fn note_served(&mut self, path: &Path) -> Result<(), Error> {
        self.write(|place| Entry::Served { path: place.as_named(path) })
    }

    /// Notes that there will be a loop device over the file `over`.
    ///
    /// # Errors
    /// As [`Journal::note_file`].
    pub fn note_loop(&mut self, over: &Path) -> Result<(), Error> {
        self.write(|place| Entry::Loop { over: place.as_named(over) })
    }

    /// Notes the loop device that was made over the file `over`.
    ///
    /// # Errors
    /// As [`Journal::note_file`].
    pub fn note_loop_device(&mut self, over: &Path, device: &Path) -> Result<(), Error> {
        let sequence = export::loop_device::sequence(device);
        self.write(|place| Entry::LoopDevice {
            over: place.as_named(over),
            path: device.to_owned(),
            sequence,
        })
    }

    /// Notes that there will be a block device of the ublk driver, which stands for `of`. The
    /// number by which the driver is to tell it from all others, now and later.
    ///
    /// # Errors
    /// As [`Journal::note_file`].
    pub fn note_ublk(&mut self, of: &str) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
        random.map_err(|error| Error::from_io(catalogue::RANDOM_FOR_DEVICE, &error))?;
        let identity = u64::from_ne_bytes(bytes);
        self.write(|_| Entry::Ublk { identity, of: of.to_owned() })?;
        Ok(identity)
    }

    /// Leaves the block device that was noted to the next process: the driver does not answer, and
    /// may still make it.
    pub fn leave_ublk(&mut self) {
        let is_it = |made: &mut Entry| matches!(made, Entry::Ublk { .. });
        self.left.extend(self.made.extract_if(.., is_it));
    }

    /// The number of the block device that a dead process has left and this one is to go on with.
    #[must_use]
    pub fn left_ublk(&self) -> Option<u64> {
        self.left.iter().find_map(|made| match made {
            Entry::Ublk { identity, .. } => Some(*identity),
            _ => None,
        })
    }

    /// Says that this process goes on with what was left: it is this one that undoes it.
    ///
    /// # Errors
    /// What the system says.
    pub fn go_on(&mut self) -> Result<(), Error> {
        let left = std::mem::take(&mut self.left);
        // Written once more: this opens the journal.
        left.into_iter().try_for_each(|made| self.write(|_| made))
    }

    /// Where the file systems are mounted that are to be unmounted, those first that were first.
    #[must_use]
    pub fn mounts(&self) -> Vec<PathBuf> {
        let point = |made: &Entry| match made {
            Entry::Mount { point, .. } => Some(self.folder.join(point)),
            _ => None,
        };
        self.made.iter().filter_map(point).collect()
    }

    /// Notes that `source` will be mounted at `point`.
    ///
    /// # Errors
    /// As [`Journal::note_file`].
    pub fn note_mount(&mut self, point: &Path, source: &Path) -> Result<(), Error> {
        let sequence = export::loop_device::sequence(source);
        self.write(|place| Entry::Mount {
            point: place.as_named(point),
            source: source.to_owned(),
            sequence,
        })
    }

    fn write(&mut self, made: impl FnOnce(&JournalFolder) -> Entry) -> Result<(), Error> {
        let path = self.folder.join(NAME);
        let failed = |error| Error::from_io(path.display(), &error);
        let (file, place) = match &mut self.open {
            Some(open) => open,
            None => {
                let place = JournalFolder::open(&self.folder).map_err(failed)?;
                let flags = OFlags::NOFOLLOW.bits() as i32;
                let file = OpenOptions::new()
                    .append(true)
                    .create(true)
                    .mode(0o600)
                    .custom_flags(flags)
                    .open(&path)
                    .map_err(failed)?;
                sync_folder(&self.folder).map_err(failed)?;
                append(&file, &Entry::Journal(place.mark)).map_err(failed)?;
                self.open.insert((file, place))
            }
        };
        let made = made(place);
        append(file, &made).map_err(failed)?;
        self.made.push(made);
        Ok(())
    }

    /// Undoes everything; what could not be undone is said in words and stays in the journal.
    #[must_use]
    pub fn undo(mut self) -> Vec<Text> {
        self.undo_all()
    }

    fn undo_all(&mut self) -> Vec<Text> {
        let mut made = std::mem::take(&mut self.made);
        // It goes with what serves it, and may do so still.
        made.retain(|made| !matches!(made, Entry::Ublk { .. }));
        let Some((_, place)) = self.open.take() else { return Vec::new() };
        // It was this process that made them: everywhere.
        let notes = undo_entries(&place, made, true);
        if notes.is_empty() && self.left.is_empty() {
            place.remove_journal();
        }
        notes
    }
}

fn append(mut file: &File, made: &Entry) -> io::Result<()> {
    let mut line = serde_json::to_vec(made).expect("an entry is plain data");
    line.push(b'\n');
    file.write_all(&line).and_then(|()| file.sync_data())
}

impl Drop for Journal {
    /// Every way out undoes, also an early return with an error; only a killed process leaves that
    /// to the next one.
    fn drop(&mut self) {
        self.undo_all();
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

/// A journal's folder, held open: whatever is put into the place of its name meanwhile is another.
#[derive(Debug)]
struct JournalFolder {
    folder: OwnedFd,
    /// Its name as it was given, and its real one.
    named: PathBuf,
    real: PathBuf,
    mark: Mark,
}

const HOLD_FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl JournalFolder {
    fn open(folder: &Path) -> io::Result<JournalFolder> {
        let real = fs::canonicalize(folder)?;
        let opened = rustix::fs::open(&real, HOLD_FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        let mark = Mark::of(&opened)?;
        Ok(JournalFolder { folder: opened, named: folder.to_owned(), real, mark })
    }

    /// Removes the journal, when nothing is left to undo.
    fn remove_journal(&self) {
        let _ = rustix::fs::unlinkat(&self.folder, NAME, AtFlags::empty());
    }

    /// A path as the journal names it.
    fn as_named(&self, path: &Path) -> PathBuf {
        let below = path.strip_prefix(&self.real).or_else(|_| path.strip_prefix(&self.named));
        below.unwrap_or(path).to_owned()
    }

    /// Where what the journal names lies.
    fn find(&self, path: &Path) -> Location {
        // Journals of earlier versions name whole paths.
        let below =
            if path.is_absolute() { path.strip_prefix(&self.real).ok() } else { Some(path) };
        match below {
            Some(below) if below.components().all(|part| matches!(part, Component::Normal(_))) => {
                Location::Below(below.to_owned())
            }
            Some(_) => Location::Nowhere,
            None => Location::Elsewhere(path.to_owned()),
        }
    }
}

/// Where something that a journal names lies.
enum Location {
    /// Below the journal's folder: the path from there.
    Below(PathBuf),
    /// Outside: the whole path.
    Elsewhere(PathBuf),
    /// The path leads out of the folder and says otherwise.
    Nowhere,
}

impl Location {
    /// The folder that it is in, and its name there. Below the journal's folder no link is followed
    /// on the way.
    fn parent(&self, place: &JournalFolder) -> io::Result<(OwnedFd, OsString)> {
        let name = |path: &Path| {
            path.file_name()
                .map(OsStr::to_owned)
                .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
        };
        match self {
            Location::Below(path) => {
                let mut folder = place.folder.try_clone()?;
                for part in path.parent().into_iter().flat_map(Path::components) {
                    folder = rustix::fs::openat(
                        &folder,
                        part.as_os_str(),
                        HOLD_FOLDER | OFlags::NOFOLLOW,
                        Mode::empty(),
                    )?;
                }
                Ok((folder, name(path)?))
            }
            Location::Elsewhere(path) => {
                let parent = path.parent().unwrap_or(Path::new("/"));
                Ok((rustix::fs::open(parent, HOLD_FOLDER, Mode::empty())?, name(path)?))
            }
            Location::Nowhere => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

/// Why the journal of a folder is not obeyed; `None` where it is. The folder belongs to the caller,
/// and no other user may write to it.
#[must_use]
pub fn distrust(folder: &Path) -> Option<Text> {
    match fs::symlink_metadata(folder) {
        Ok(data) => distrust_data(&data, true),
        Err(error) => Some(block::io_text(&error)),
    }
}

fn distrust_data(data: &fs::Metadata, folder: bool) -> Option<Text> {
    if if folder { !data.is_dir() } else { !data.is_file() || data.nlink() != 1 } {
        return Some(catalogue::NOT_WHAT_IT_SHOULD_BE.into());
    }
    if data.uid() != rustix::process::geteuid().as_raw() {
        return Some(statement!(catalogue::OF_SOMEBODY_ELSE, user = data.uid()));
    }
    (data.mode() & 0o022 != 0).then(|| catalogue::OTHERS_MAY_WRITE.into())
}

/// The journal that a killed process has left, if it may be obeyed: the folder, and the journal's
/// text.
fn read_left_behind(folder: &Path) -> Result<Option<(JournalFolder, String)>, Text> {
    let path = folder.join(NAME);
    if fs::symlink_metadata(&path).is_err() {
        return Ok(None);
    }
    let left = |reason: Text| {
        statement!(catalogue::JOURNAL_NOT_OBEYED, path = path.display(), reason = reason)
    };
    let failed = |error: io::Error| left(block::io_text(&error));
    let refuse = |reason: Option<Text>| reason.map_or(Ok(()), |reason| Err(left(reason)));
    let mut place = JournalFolder::open(folder).map_err(failed)?;
    let opened = File::from(place.folder);
    refuse(
        opened
            .metadata()
            .map_or_else(|error| Some(block::io_text(&error)), |data| distrust_data(&data, true)),
    )?;
    place.folder = opened.into();
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&place.folder, NAME, flags, Mode::empty())
        .map_err(|error| failed(error.into()))?;
    let mut file = File::from(file);
    refuse(
        file.metadata()
            .map_or_else(|error| Some(block::io_text(&error)), |data| distrust_data(&data, false)),
    )?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    Ok(Some((place, text)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::system;

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
        assert_eq!(journal.undo(), Vec::<Text>::new());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_killed_process_leaves_a_journal_that_the_next_one_undoes() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::new(folder.path());
        make(&mut journal, &folder.path().join("a"));
        std::mem::forget(journal); // what a kill does: no destructor runs
        fs::write(
            folder.path().join(NAME),
            [fs::read(folder.path().join(NAME)).unwrap(), b"{\"made\":\"fi".to_vec()].concat(),
        )
        .unwrap();
        assert_eq!(undo_left_behind(folder.path()).len(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(undo_left_behind(folder.path()), Vec::<Text>::new());
    }

    #[test]
    fn a_block_device_that_waits_stays_until_somebody_goes_on_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut journal = Journal::new(folder.path());
        make(&mut journal, &path);
        let identity = journal.note_ublk("raid1(a, b)").unwrap();
        std::mem::forget(journal);
        let (path_of_device, of) = (PathBuf::from("/dev/no such device"), "raid1(a, b)".to_owned());
        let waiting = WaitingDevice { identity, path: path_of_device, of };
        // A start that fails changes nothing of it.
        for _ in 0..2 {
            let (journal, notes) = undo_around(folder.path(), &waiting);
            assert_eq!((journal.left_ublk(), notes), (Some(identity), Vec::new()));
            drop(journal);
            assert!(!path.exists() && folder.path().join(NAME).exists());
        }
        let (mut journal, _) = undo_around(folder.path(), &waiting);
        make(&mut journal, &path);
        journal.go_on().unwrap();
        assert_eq!((journal.left_ublk(), journal.mounts()), (None, Vec::new()));
        std::mem::forget(journal);
        let (mut journal, _) = undo_around(folder.path(), &waiting);
        journal.go_on().unwrap();
        assert_eq!(journal.undo(), Vec::<Text>::new());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_block_device_whose_driver_does_not_answer_is_left_to_the_next_process() {
        for leaves in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let mut journal = Journal::new(folder.path());
            journal.note_ublk("").unwrap();
            if leaves {
                journal.leave_ublk();
            }
            assert_eq!(journal.undo(), Vec::<Text>::new());
            assert_eq!(folder.path().join(NAME).exists(), leaves);
            assert_eq!(undo_left_behind(folder.path()).is_empty(), !leaves);
        }
    }

    #[test]
    fn a_block_device_that_is_gone_is_undone() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::new(folder.path());
        journal.note_ublk("").unwrap();
        std::mem::forget(journal);
        assert_eq!(waiting_device(folder.path()), None);
        assert_eq!(undo_left_behind(folder.path()).len(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
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
        assert!(notes[0].english().contains("is not the file that was made here"), "{notes:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's work");
    }

    /// A folder with a journal of these lines, below a folder that goes at the end.
    fn left_behind(folder: &Path, made: &[Entry]) -> PathBuf {
        let run = folder.join("run");
        fs::create_dir(&run).unwrap();
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
        let file = File::create(run.join(NAME)).unwrap();
        file.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
        made.iter().for_each(|made| append(&file, made).unwrap());
        run
    }

    fn file_entry(path: &Path, named: &Path) -> Entry {
        Entry::File { path: named.to_owned(), mark: Mark::of(File::open(path).unwrap()).unwrap() }
    }

    /// A file that another user's journal names, and an entry for it in which every number is
    /// right.
    fn victim(folder: &Path) -> (PathBuf, Entry) {
        let victim = folder.join("victim");
        fs::write(&victim, "somebody's work").unwrap();
        let entry = file_entry(&victim, &victim);
        (victim, entry)
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_obeyed() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o777, 0o775, 0o1777] {
            let run = left_behind(folder.path(), &[]);
            let own = run.join("own");
            fs::write(&own, "").unwrap();
            fs::write(
                run.join(NAME),
                serde_json::to_vec(&file_entry(&own, Path::new("own"))).unwrap(),
            )
            .unwrap();
            fs::set_permissions(&run, fs::Permissions::from_mode(mode)).unwrap();
            let notes = undo_left_behind(&run);
            assert!(
                notes.len() == 1 && notes[0].english().contains("others may write to it"),
                "{notes:?}"
            );
            assert!(own.exists() && run.join(NAME).exists());
            fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(undo_left_behind(&run).len(), 1);
            assert!(!own.exists() && !run.join(NAME).exists());
            fs::remove_dir(run).unwrap();
        }
    }

    /// Root undoes nothing that another user's folder names.
    #[test]
    fn a_folder_or_a_journal_of_somebody_else_is_not_obeyed() {
        if !rustix::process::geteuid().is_root() {
            testkit::skipped!("only root can give a folder to somebody else");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (victim, entry) = victim(folder.path());
        let run = left_behind(folder.path(), &[entry]);
        for theirs in [run.clone(), run.join(NAME)] {
            std::os::unix::fs::chown(&theirs, Some(65534), None).unwrap();
            let notes = undo_left_behind(&run);
            assert!(
                notes.len() == 1
                    && notes[0].english().contains("belongs to somebody else (user 65534)"),
                "{notes:?}"
            );
            assert!(victim.exists() && run.join(NAME).exists());
            std::os::unix::fs::chown(&theirs, Some(0), None).unwrap();
        }
    }

    #[test]
    fn a_journal_that_is_a_link_is_not_obeyed() {
        let folder = tempfile::tempdir().unwrap();
        let run = left_behind(folder.path(), &[]);
        let own = run.join("own");
        fs::write(&own, "").unwrap();
        fs::write(
            folder.path().join("elsewhere"),
            serde_json::to_vec(&file_entry(&own, Path::new("own"))).unwrap(),
        )
        .unwrap();
        fs::remove_file(run.join(NAME)).unwrap();
        std::os::unix::fs::symlink("../elsewhere", run.join(NAME)).unwrap();
        assert_eq!(undo_left_behind(&run).len(), 1);
        fs::remove_file(run.join(NAME)).unwrap();
        fs::hard_link(folder.path().join("elsewhere"), run.join(NAME)).unwrap();
        assert_eq!(undo_left_behind(&run).len(), 1);
        assert!(own.exists());
    }

    /// A journal that was copied or unpacked says nothing about the rest of the machine, whatever
    /// it names, and by any path.
    #[test]
    fn what_lies_elsewhere_is_left_alone_unless_the_journal_was_begun_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, entry) = victim(folder.path());
        let through_link = file_entry(&victim, Path::new("link/victim"));
        let upwards = file_entry(&victim, Path::new("../victim"));
        let other = Entry::Journal(Mark::of(File::open(folder.path()).unwrap()).unwrap());
        let run = left_behind(folder.path(), &[other, entry.clone(), through_link, upwards]);
        std::os::unix::fs::symlink(folder.path(), run.join("link")).unwrap();
        let notes = undo_left_behind(&run);
        assert_eq!(
            notes.iter().filter(|note| note.english().contains("alone")).count(),
            2,
            "{notes:?}"
        );
        assert!(victim.exists() && run.join(NAME).exists(), "{notes:?}");
        // The journal of this very folder.
        let mark = Mark::of(File::open(&run).unwrap()).unwrap();
        append(
            &OpenOptions::new().append(true).open(run.join(NAME)).unwrap(),
            &Entry::Journal(mark),
        )
        .unwrap();
        let _ = undo_left_behind(&run);
        assert_eq!(!victim.exists(), mark.born.is_some());
    }

    #[test]
    fn a_folder_that_was_moved_is_cleaned_up_where_it_is_now() {
        let folder = tempfile::tempdir().unwrap();
        let (before, now) = (folder.path().join("before"), folder.path().join("now"));
        fs::create_dir(&before).unwrap();
        fs::set_permissions(&before, fs::Permissions::from_mode(0o755)).unwrap();
        let mut journal = Journal::new(&before);
        journal.make_folder(&before.join("members")).unwrap();
        make(&mut journal, &before.join("members/a"));
        make(&mut journal, &folder.path().join("outside"));
        std::mem::forget(journal);
        fs::rename(&before, &now).unwrap();
        fs::create_dir_all(before.join("members")).unwrap();
        fs::write(before.join("members/a"), "another run's").unwrap();
        let notes = undo_left_behind(&now);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(fs::read_dir(&now).unwrap().count(), 0);
        assert!(before.join("members/a").exists() && !folder.path().join("outside").exists());
    }

    /// An inode number is given to another file once it is free; the birth tells them apart.
    #[test]
    fn a_file_of_the_same_number_and_another_birth_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mark = Mark::of(File::create(&path).unwrap()).unwrap();
        if mark.born.is_none() {
            testkit::skipped!("this file system does not keep when a file was made");
            return;
        }
        let run = left_behind(folder.path(), &[]);
        fs::rename(&path, run.join("a")).unwrap();
        let entry = |born| Entry::File { path: PathBuf::from("a"), mark: Mark { born, ..mark } };
        let journal =
            |born| fs::write(run.join(NAME), serde_json::to_vec(&entry(born)).unwrap()).unwrap();
        journal(mark.born.map(|born| born - 1));
        assert!(undo_left_behind(&run)[1].english().contains("is not the file that was made here"));
        journal(None);
        assert_eq!(
            undo_left_behind(&run).len(),
            1,
            "a journal of an earlier version has no births"
        );
        assert!(!run.join("a").exists());
    }

    #[test]
    fn only_the_noted_use_of_a_loop_device_and_of_a_mount_is_undone() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(1 << 20).unwrap();
        let run = folder.path().join("run");
        fs::create_dir(&run).unwrap();
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
        let over = run.join("disk");
        fs::hard_link(&image, &over).unwrap();
        let over = over.canonicalize().unwrap();
        let attach = || match export::loop_device::LoopDevice::attach(&over, 512, false) {
            Ok(attached) => Some(attached),
            Err(error) => {
                testkit::skipped!("no loop device to be had: {error}");
                None
            }
        };
        let Some(device) = attach() else { return };
        let name = device.path().to_owned();
        let is_there = |path: &Path| system::loops().iter().any(|found| found.device == path);
        // It goes with its last user, and programs that look at every device are users for a
        // moment.
        let goes = |path: &Path| {
            let gone = || if is_there(path) { Err(()) } else { Ok(()) };
            crate::guard::patiently(200, gone, |()| true).is_ok()
        };
        let left = |journal: &dyn Fn(&mut Journal)| {
            let mut own = Journal::new(&run);
            journal(&mut own);
            std::mem::forget(own);
        };
        left(&|journal| {
            journal.note_loop(&over).unwrap();
            journal.note_loop_device(&over, &name).unwrap();
        });
        drop(device);
        // Another process was given a device over the same file.
        let Some(theirs) = attach() else { return };
        assert_eq!(undo_left_behind(&run).len(), 1);
        assert!(is_there(theirs.path()), "another use of the device was undone");
        left(&|journal| {
            journal.note_loop(&over).unwrap();
            journal.note_loop_device(&over, theirs.path()).unwrap();
        });
        assert_eq!(undo_left_behind(&run).len(), 1);
        assert!(goes(theirs.path()), "the noted use is still there");
        // Killed between making it and noting which it is.
        let Some(ours) = attach() else { return };
        left(&|journal| journal.note_loop(&over).unwrap());
        assert_eq!(undo_left_behind(&run).len(), 1);
        assert!(goes(ours.path()), "the use that was not noted is still there");
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
