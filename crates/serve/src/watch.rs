//! Whether the members' files are still where the next start will look for them.
//!
//! A file that is deleted or renamed over while it is open goes on serving, and is gone when the
//! server ends. A thread of its own looks, because a look may have to wait for the file system of a
//! member that does not answer.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::runtime;
use crate::serve::Server;

/// How often it is looked.
const ROUND: Duration = Duration::from_secs(1);

/// What has become of members' files.
#[derive(Default)]
pub(crate) struct Watch {
    /// The thread ends with it.
    sender: Mutex<Option<Sender<()>>>,
    notes: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Device and inode.
type Identity = (u64, u64);

/// Files by the path under which they were found first.
#[derive(Default)]
struct Known {
    files: HashMap<PathBuf, Identity>,
    told: Vec<(PathBuf, String)>,
}

impl Known {
    /// Looks at each file, and says what has become of those that are not what they were.
    fn look(&mut self, files: &[PathBuf], find: impl Fn(&Path) -> Option<Identity>) {
        self.files.retain(|file, _| files.contains(file));
        self.told.clear();
        for file in files {
            let found = find(file);
            let text = match (self.files.get(file), found) {
                (Some(known), Some(found)) if *known == found => continue,
                (None, Some(found)) => {
                    self.files.insert(file.clone(), found);
                    continue;
                }
                (None, None) => continue,
                (Some(_), None) => {
                    "it was deleted or renamed; it serves until the array is stopped, and the next \
                    start will miss it"
                }
                (Some(_), Some(_)) => {
                    "another file lies under this name; the member serves until the array is \
                    stopped, and the next start will find the other"
                }
            };
            self.told.push((file.clone(), format!("{}: {text}", file.display())));
        }
    }
}

impl Watch {
    /// Begins to look, at once and then again and again.
    pub(crate) fn start(&self, server: &Arc<Server>) {
        let (sender, ended) = mpsc::channel();
        *lock(&self.sender) = Some(sender);
        let mut known = Known::default();
        let mut noted = server.files();
        // Without it a clean-up after the server's death does not wait for the kernel.
        let _ = runtime::note_files(server.folder(), &noted);
        known.look(&noted, identity);
        let server = Arc::downgrade(server);
        let run = move || {
            while ended.recv_timeout(ROUND) == Err(RecvTimeoutError::Timeout) {
                let Some(server) = server.upgrade() else { return };
                let files = server.files();
                if files != noted {
                    let _ = runtime::note_files(server.folder(), &files);
                }
                noted = files;
                known.look(&noted, identity);
                let notes: Vec<String> = known.told.iter().map(|(_, text)| text.clone()).collect();
                let before = std::mem::replace(&mut *lock(&server.watch().notes), notes.clone());
                notes
                    .into_iter()
                    .filter(|text| !before.contains(text))
                    .for_each(|text| server.tell(text));
            }
        };
        // Without it nothing but these notes is missing.
        let _ = std::thread::Builder::new().name("watch".to_owned()).spawn(run);
    }

    /// Looks no more.
    pub(crate) fn end(&self) {
        drop(lock(&self.sender).take());
    }

    /// What there is to say now.
    pub(crate) fn notes(&self) -> Vec<String> {
        lock(&self.notes).clone()
    }
}

fn identity(file: &Path) -> Option<Identity> {
    fs::metadata(file).ok().map(|data| (data.dev(), data.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_is_deleted_or_renamed_over_is_told_of_until_it_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let files: Vec<PathBuf> = ["a", "b", "c"].map(file).into();
        files.iter().for_each(|file| fs::write(file, "member").unwrap());
        let mut known = Known::default();
        for _ in 0..2 {
            known.look(&files, identity);
            assert_eq!(known.told, []);
        }
        fs::rename(&files[0], file("elsewhere")).unwrap();
        fs::write(file("other"), "other").unwrap();
        fs::rename(file("other"), &files[1]).unwrap();
        known.look(&files, identity);
        let told: Vec<&str> = known.told.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(told.len(), 2);
        assert!(
            told[0].contains("/a: it was deleted or renamed")
                && told[0].contains("the next start will miss it"),
            "{told:?}"
        );
        assert!(told[1].contains("/b: another file lies under this name"), "{told:?}");
        fs::rename(file("elsewhere"), &files[0]).unwrap();
        known.look(&files[..1], identity);
        assert_eq!(known.told, [], "it is back, and the other is no member any more");
    }
}
