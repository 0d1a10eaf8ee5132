//! Undoing what a journal names: everything at a process's own end, and what a dead one has left.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;

use super::{Entry, Journal, JournalFolder, Location, Mark, read_left_behind};
use crate::{mount, system};

/// Undoes what a killed process has left behind in a folder. The caller holds the folder's lock.
/// Says in words what was done, and nothing when there was nothing to do.
#[must_use]
pub fn undo_left_behind(folder: &Path) -> Vec<String> {
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

fn removed_note(folder: &Path) -> String {
    format!("removed what an interrupted command had left behind in {}", folder.display())
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
fn undo_dead(place: &JournalFolder, made: Vec<Entry>, begun_here: bool) -> Vec<String> {
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
pub fn undo_around(folder: &Path, waiting: &WaitingDevice) -> (Journal, Vec<String>) {
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
pub(super) fn undo_entries(
    place: &JournalFolder,
    made: Vec<Entry>,
    elsewhere: bool,
) -> Vec<String> {
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
    if let Entry::Ublk { identity, .. } = made {
        // Another journal's number says nothing here.
        let error = elsewhere.then(|| export::ublk::remove(identity).err())??;
        return Some(format!("could not take a block device away: {error}"));
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
            // A device that is gone has no other in its place.
            let now = export::loop_device::sequence(&source);
            if !system::mounts().iter().any(is_it) || (now.is_some() && now != sequence) {
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
