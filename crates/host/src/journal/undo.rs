//! Undoing what a journal names: everything at a process's own end, and what a dead one has left.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use words::{Text, statement};

use super::{Entry, Journal, JournalFolder, Location, Mark, read_left_behind};
use crate::{catalogue, mount, system};

/// Undoes what a killed process has left behind in a folder. The caller holds the folder's lock.
/// Says in words what was done, and nothing when there was nothing to do.
#[must_use]
pub fn undo_left_behind(folder: &Path) -> Vec<Text> {
    let (place, text) = match read_left_behind(folder) {
        Ok(Some(found)) => found,
        Ok(None) => return Vec::new(),
        Err(reason) => return vec![reason],
    };
    let (made, begun_here) = entries(&place, &text);
    let mut notes = Vec::new();
    if !made.is_empty() {
        notes.push(removed_note(folder));
    }
    let undone = undo_dead(&place, made, begun_here);
    if undone.is_empty() {
        place.remove_journal();
    }
    notes.extend(undone);
    notes
}

fn removed_note(folder: &Path) -> Text {
    statement!(catalogue::REMOVED_LEFT_BEHIND, folder = folder.display())
}

/// The entries of a journal that a killed process has left, and whether it was begun here.
fn entries(place: &JournalFolder, text: &str) -> (Vec<Entry>, bool) {
    // A torn last line names nothing that was made: the entry comes first.
    let mut made: Vec<Entry> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let begun_here = made.contains(&Entry::Journal(place.mark)) && place.mark.born.is_some();
    made.retain(|made| !matches!(made, Entry::Journal(_)));
    (made, begun_here)
}

/// Undoes what a dead process has made.
fn undo_dead(place: &JournalFolder, made: Vec<Entry>, begun_here: bool) -> Vec<Text> {
    for made in &made {
        match made {
            // Taken away by hand: its next use may need the flushes that the killed one did not.
            Entry::LoopDevice { path, sequence, .. }
                if export::loop_device::sequence(path) != *sequence =>
            {
                export::loop_device::write_back(path);
            }
            // What is mounted from it would wait for another server for ever.
            Entry::Ublk { identity, .. } if begun_here => {
                let _ = export::ublk::give_up(*identity);
            }
            _ => (),
        }
    }
    undo_entries(place, made, begun_here)
}

/// A block device that a killed process has left in a folder, and that waits for the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingDevice {
    pub(super) identity: u64,
    /// Its path.
    pub path: PathBuf,
    /// What it stands for, as it was noted.
    pub of: String,
}

/// The block device of a killed process that waits for the next one. The caller holds the folder's
/// lock, or takes the answer for what was so a moment ago.
#[must_use]
pub fn waiting_device(folder: &Path) -> Option<WaitingDevice> {
    let (place, text) = read_left_behind(folder).ok()??;
    let (made, begun_here) = entries(&place, &text);
    let noted = made.into_iter().rev().find_map(|made| match made {
        Entry::Ublk { identity, of } if begun_here => Some((identity, of)),
        _ => None,
    });
    let (identity, of) = noted?;
    let found = export::ublk::find(identity).filter(|device| device.waits)?;
    Some(WaitingDevice { identity, path: found.path, of })
}

/// Undoes what a killed process has left behind in a folder, but for the block device that waits
/// and what is mounted from it: they are in the new journal, for the caller to go on with. The
/// caller holds the folder's lock. Says in words what was done.
#[must_use]
pub fn undo_around(folder: &Path, waiting: &WaitingDevice) -> (Journal, Vec<Text>) {
    let mut journal = Journal::new(folder);
    let (place, text) = match read_left_behind(folder) {
        Ok(Some(found)) => found,
        Ok(None) => return (journal, Vec::new()),
        Err(reason) => return (journal, vec![reason]),
    };
    let (mut made, begun_here) = entries(&place, &text);
    let mounts = system::mounts();
    let stays = |made: &Entry| match made {
        Entry::Ublk { identity, .. } => *identity == waiting.identity,
        Entry::Mount { point, source, .. } => {
            let whole = place.real.join(point);
            *source == waiting.path && mounts.iter().any(|mount| mount.point == whole)
        }
        _ => false,
    };
    for entry in made.extract_if(.., |made| stays(made)) {
        if !journal.left.contains(&entry) {
            journal.left.push(entry);
        }
    }
    let notes = undo_dead(&place, made, begun_here);
    (journal, notes)
}

/// Last made, first undone. `elsewhere` says whether also what lies outside of the folder is known
/// to be this journal's.
pub(super) fn undo_entries(place: &JournalFolder, made: Vec<Entry>, elsewhere: bool) -> Vec<Text> {
    let mut answered = HashSet::new();
    made.into_iter()
        .rev()
        .filter_map(|made| undo_one(place, made, elsewhere, &mut answered))
        .collect()
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
) -> Result<(Location, PathBuf), Text> {
    let location = place.find(path);
    let whole = match &location {
        Location::Below(path) => place.real.join(path),
        Location::Elsewhere(path) if elsewhere => path.clone(),
        Location::Elsewhere(_) | Location::Nowhere => {
            let (path, folder) = (path.display(), place.real.display());
            return Err(statement!(catalogue::LEFT_OUTSIDE, path = path, folder = folder));
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
) -> Option<Text> {
    if let Entry::Ublk { identity, .. } = made {
        // Another journal's number says nothing here.
        let error = elsewhere.then(|| export::ublk::remove(identity).err())??;
        return Some(statement!(catalogue::BLOCK_DEVICE_STAYS, why = error));
    }
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
        Entry::Journal(_) | Entry::Ublk { .. } => None,
        Entry::File { mark, .. } => remove_file(location.parent(place), &mark, &whole),
        Entry::Folder { .. } => {
            let removed = location.parent(place).and_then(|(folder, name)| {
                Ok(rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR)?)
            });
            let error = removed.err().filter(|error| !is_gone(error))?;
            Some(statement!(
                catalogue::FOLDER_STAYS,
                folder = whole.display(),
                why = block::io_text(&error)
            ))
        }
        Entry::Served { .. } => {
            let is_it = |mount: &system::Mount| {
                mount.point == whole && mount.kind == export::fuse::MOUNT_KIND
            };
            system::mounts().iter().find(|mount| is_it(mount))?;
            // What has the file open gets errors already.
            let error = export::fuse::detach(&whole).err()?;
            Some(statement!(
                catalogue::STAYS_MOUNTED,
                path = whole.display(),
                why = block::io_text(&error)
            ))
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
            // A device that is gone has no other in its place.
            let now = export::loop_device::sequence(&source);
            if !system::mounts().iter().any(is_it) || (now.is_some() && now != sequence) {
                return None;
            }
            mount::unmount_by_force(&whole).err().map(Text::from)
        }
    }
}

/// Removes a file of `mark` by its folder and its name there; what is to be said if it stays.
fn remove_file(at: io::Result<(OwnedFd, OsString)>, mark: &Mark, whole: &Path) -> Option<Text> {
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
        Ok(false) => Some(statement!(catalogue::LEFT_OTHER_FILE, path = whole.display())),
        Err(error) if is_gone(&error) => None,
        Err(error) => {
            let why = block::io_text(&error);
            Some(statement!(catalogue::FILE_STAYS, path = whole.display(), why = why))
        }
    }
}

/// Takes those of the loop devices away that stand on `over`.
fn detach(over: &Path, devices: &[PathBuf]) -> Option<Text> {
    let errors: Vec<block::Error> = devices
        .iter()
        .filter_map(|device| export::loop_device::detach_from(device, over).err())
        .collect();
    (!errors.is_empty()).then(|| {
        let why = Text::joined(&errors, ", ");
        statement!(catalogue::LOOP_DEVICE_STAYS, path = over.display(), why = why)
    })
}
