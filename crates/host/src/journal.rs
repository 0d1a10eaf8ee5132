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

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use serde::{Deserialize, Serialize};

use crate::{Error, mount, system};

/// Name of the journal in a run's folder.
const NAME: &str = "cleanup.jsonl";

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
    /// The journal and its folder, once the first entry was written.
    open: Option<(File, JournalFolder)>,
}

impl Journal {
    /// The journal of a folder, empty so far. What an earlier process left there has been undone
    /// with [`undo_left_behind`].
    #[must_use]
    pub fn new(folder: &Path) -> Journal {
        Journal { folder: folder.to_owned(), made: Vec::new(), open: None }
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
            Err(error) => {
                Err(Error::from_io(format!("making the folder {}", path.display()), &error))
            }
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
    pub fn undo(mut self) -> Vec<String> {
        self.undo_all()
    }

    fn undo_all(&mut self) -> Vec<String> {
        let made = std::mem::take(&mut self.made);
        match self.open.take() {
            // It was this process that made them: everywhere.
            Some((_, place)) => undo_entries(&place, made, true),
            None => Vec::new(),
        }
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
pub fn distrust(folder: &Path) -> Option<String> {
    match fs::symlink_metadata(folder) {
        Ok(data) => distrust_data(&data, true),
        Err(error) => Some(error.to_string()),
    }
}

fn distrust_data(data: &fs::Metadata, folder: bool) -> Option<String> {
    if if folder { !data.is_dir() } else { !data.is_file() || data.nlink() != 1 } {
        return Some("it is not what it should be".to_owned());
    }
    if data.uid() != rustix::process::geteuid().as_raw() {
        return Some(format!("it belongs to somebody else (user {})", data.uid()));
    }
    (data.mode() & 0o022 != 0)
        .then(|| "others may write to it (`chmod go-w` changes that)".to_owned())
}

/// The journal that a killed process has left, if it may be obeyed: the folder, and the journal's
/// text.
fn read_left_behind(folder: &Path) -> Result<Option<(JournalFolder, String)>, String> {
    let path = folder.join(NAME);
    if fs::symlink_metadata(&path).is_err() {
        return Ok(None);
    }
    let left = |reason: &str| format!("what {} names was left as it is: {reason}", path.display());
    let failed = |error: io::Error| left(&error.to_string());
    let refuse = |reason: Option<String>| reason.map_or(Ok(()), |reason| Err(left(&reason)));
    let mut place = JournalFolder::open(folder).map_err(failed)?;
    let opened = File::from(place.folder);
    refuse(
        opened
            .metadata()
            .map_or_else(|error| Some(error.to_string()), |data| distrust_data(&data, true)),
    )?;
    place.folder = opened.into();
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&place.folder, NAME, flags, Mode::empty())
        .map_err(|error| failed(error.into()))?;
    let mut file = File::from(file);
    refuse(
        file.metadata()
            .map_or_else(|error| Some(error.to_string()), |data| distrust_data(&data, false)),
    )?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    Ok(Some((place, text)))
}

/// Undoes what a killed process has left behind in a folder. The caller holds the folder's lock.
/// Says in words what was done, and nothing when there was nothing to do.
#[must_use]
pub fn undo_left_behind(folder: &Path) -> Vec<String> {
    let (place, text) = match read_left_behind(folder) {
        Ok(Some(found)) => found,
        Ok(None) => return Vec::new(),
        Err(reason) => return vec![reason],
    };
    // A torn last line names nothing that was made: the entry comes first.
    let mut made: Vec<Entry> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for made in &made {
        // Taken away by hand: its next use may need the flushes that the killed one did not.
        if let Entry::LoopDevice { path, sequence, .. } = made
            && export::loop_device::sequence(path) != *sequence
        {
            export::loop_device::write_back(path);
        }
    }
    let begun_here = made.contains(&Entry::Journal(place.mark)) && place.mark.born.is_some();
    made.retain(|made| !matches!(made, Entry::Journal(_)));
    let mut notes = Vec::new();
    if !made.is_empty() {
        notes.push(format!(
            "removed what an interrupted command had left behind in {}",
            folder.display()
        ));
    }
    notes.extend(undo_entries(&place, made, begun_here));
    notes
}

/// Last made, first undone. The journal goes when nothing is left. `elsewhere` says whether also
/// what lies outside of the folder is known to be this journal's.
fn undo_entries(place: &JournalFolder, made: Vec<Entry>, elsewhere: bool) -> Vec<String> {
    let mut answered = HashSet::new();
    let notes: Vec<String> = made
        .into_iter()
        .rev()
        .filter_map(|made| undo_one(place, made, elsewhere, &mut answered))
        .collect();
    if notes.is_empty() {
        let _ = rustix::fs::unlinkat(&place.folder, NAME, AtFlags::empty());
    }
    notes
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Where what the journal names lies, and its whole path.
///
/// # Errors
/// What is to be said where it is left alone.
fn located(
    place: &JournalFolder,
    path: &Path,
    elsewhere: bool,
) -> Result<(Location, PathBuf), String> {
    let location = place.find(path);
    let whole = match &location {
        Location::Below(path) => place.real.join(path),
        Location::Elsewhere(path) if elsewhere => path.clone(),
        Location::Elsewhere(_) | Location::Nowhere => {
            let (path, folder) = (path.display(), place.real.display());
            return Err(format!(
                "left {path} alone: it does not lie in {folder}, and the journal that names it was \
                not begun there"
            ));
        }
    };
    Ok((location, whole))
}

/// `answered` holds the files whose loop devices are told one by one further on in the journal.
fn undo_one(
    place: &JournalFolder,
    made: Entry,
    elsewhere: bool,
    answered: &mut HashSet<PathBuf>,
) -> Option<String> {
    let (Entry::File { path, .. }
    | Entry::Folder { path }
    | Entry::Served { path }
    | Entry::Loop { over: path }
    | Entry::LoopDevice { over: path, .. }
    | Entry::Mount { point: path, .. }) = &made
    else {
        return None;
    };
    let (location, whole) = match located(place, path, elsewhere) {
        Ok(found) => found,
        Err(note) => return Some(note),
    };
    match made {
        Entry::Journal(_) => None,
        Entry::File { mark, .. } => remove_file(location.parent(place), &mark, &whole),
        Entry::Folder { .. } => {
            let removed = location.parent(place).and_then(|(folder, name)| {
                Ok(rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR)?)
            });
            let error = removed.err().filter(|error| !is_gone(error))?;
            Some(format!("could not remove the folder {}: {error}", whole.display()))
        }
        Entry::Served { .. } => {
            let is_it = |mount: &system::Mount| {
                mount.point == whole && mount.kind == export::fuse::MOUNT_KIND
            };
            system::mounts().iter().find(|mount| is_it(mount))?;
            // What has the file open gets errors already.
            let error = export::fuse::detach(&whole).err()?;
            Some(format!("could not unmount {}: {error}", whole.display()))
        }
        Entry::LoopDevice { over, path, sequence } => {
            answered.insert(over);
            if export::loop_device::sequence(&path) != sequence {
                return None;
            }
            detach(&whole, &[path])
        }
        // Which it is was noted after this, unless the process was killed in between.
        Entry::Loop { over } if answered.remove(&over) => None,
        Entry::Loop { .. } => {
            let over: Vec<PathBuf> = system::loops()
                .into_iter()
                .filter(|found| found.backing == whole)
                .map(|found| found.device)
                .collect();
            detach(&whole, &over)
        }
        Entry::Mount { source, sequence, .. } => {
            let is_it =
                |mount: &system::Mount| mount.point == whole && Path::new(&mount.source) == source;
            if !system::mounts().iter().any(is_it)
                || export::loop_device::sequence(&source) != sequence
            {
                return None;
            }
            mount::unmount_by_force(&whole).err().map(|error| error.to_string())
        }
    }
}

/// Removes a file of `mark` by its folder and its name there; what is to be said if it stays.
fn remove_file(at: io::Result<(OwnedFd, OsString)>, mark: &Mark, whole: &Path) -> Option<String> {
    let removed = at.and_then(|(folder, name)| {
        let now = Mark::at(&folder, &name, AtFlags::empty())?;
        // A birth that was not noted says nothing.
        if (now.device, now.inode) != (mark.device, mark.inode)
            || mark.born.is_some_and(|born| now.born != Some(born))
        {
            return Ok(false);
        }
        rustix::fs::unlinkat(&folder, &name, AtFlags::empty())?;
        Ok(true)
    });
    match removed {
        Ok(true) => None,
        Ok(false) => {
            Some(format!("left {} alone: it is not the file that was made here", whole.display()))
        }
        Err(error) if is_gone(&error) => None,
        Err(error) => Some(format!("could not remove {}: {error}", whole.display())),
    }
}

/// Takes those of the loop devices away that stand on `over`.
fn detach(over: &Path, devices: &[PathBuf]) -> Option<String> {
    let errors: Vec<String> = devices
        .iter()
        .filter_map(|device| export::loop_device::detach_from(device, over).err())
        .map(|error| error.to_string())
        .collect();
    (!errors.is_empty()).then(|| {
        format!(
            "could not take the loop device over {} away: {}",
            over.display(),
            errors.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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
        fs::write(
            folder.path().join(NAME),
            [fs::read(folder.path().join(NAME)).unwrap(), b"{\"made\":\"fi".to_vec()].concat(),
        )
        .unwrap();
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
            assert!(notes.len() == 1 && notes[0].contains("others may write to it"), "{notes:?}");
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
                notes.len() == 1 && notes[0].contains("belongs to somebody else (user 65534)"),
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
        assert_eq!(notes.iter().filter(|note| note.contains("alone")).count(), 2, "{notes:?}");
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
        assert!(undo_left_behind(&run)[1].contains("is not the file that was made here"));
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
        assert!(
            system::loops().iter().any(|found| found.device == theirs.path()),
            "another use of the device was undone"
        );
        left(&|journal| {
            journal.note_loop(&over).unwrap();
            journal.note_loop_device(&over, theirs.path()).unwrap();
        });
        assert_eq!(undo_left_behind(&run).len(), 1);
        assert!(
            !system::loops().iter().any(|found| found.device == theirs.path()),
            "the noted use is still there"
        );
        // Killed between making it and noting which it is.
        let Some(ours) = attach() else { return };
        left(&|journal| journal.note_loop(&over).unwrap());
        assert_eq!(undo_left_behind(&run).len(), 1);
        assert!(!system::loops().iter().any(|found| found.device == ours.path()));
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
