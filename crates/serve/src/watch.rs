//! Whether the names of the members' files still lead to what is open, and whether a part of the
//! stack has gone that no array tells of.
//!
//! ```text
//!   name ──stat──┐
//!                ├─ the same file? as long as it was? ──> FileChange ──> note, event, the end
//!   open ─fstat──┘
//! ```
//!
//! A file that is deleted or renamed over while it is open goes on serving, and is gone when the
//! server ends; one that is cut short has lost what lay behind. A thread of its own looks, because
//! a look may have to wait for the file system of a member that does not answer.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use block::size_text;
use rustix::io::Errno;
use stack::OpenedFile;
use words::{Message, Text, statement};

use crate::catalogue;

/// How often it is looked.
const ROUND: Duration = Duration::from_secs(1);
/// How long the last look may take: the file system of a member may not answer.
const LAST_LOOK_TIME: Duration = Duration::from_secs(5);

/// What has become of members' files.
#[derive(Default)]
pub(crate) struct Watch {
    /// The thread ends with it; what is sent is answered after one more look.
    sender: Mutex<Option<Sender<Sender<()>>>>,
    changed: Mutex<Vec<ChangedFile>>,
}

/// A file that is not what it was, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangedFile {
    /// The name by which it was opened.
    pub(crate) path: PathBuf,
    pub(crate) change: FileChange,
    /// The descriptor under which it is open in this process.
    descriptor: i32,
}

/// What has become of a file under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileChange {
    /// It has no name any more: what it holds goes when it is closed.
    Deleted(FoundInstead),
    /// It lies elsewhere now.
    Moved(PathBuf, FoundInstead),
    /// The name leads to the block device no more.
    Unnamed(FoundInstead),
    /// What lay behind the end is gone.
    CutShort { before_bytes: u64, now_bytes: u64 },
    /// It has become longer.
    Longer { before_bytes: u64, now_bytes: u64 },
}

/// What lies under the name now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundInstead {
    Nothing,
    Another,
}

impl FileChange {
    /// Whether what the file holds is lost when it is closed.
    pub(crate) fn is_lost_when_closed(&self) -> bool {
        matches!(self, FileChange::Deleted(_))
    }

    /// Whether the next start would not find this file, and might take another for it.
    pub(crate) fn is_out_of_place(&self) -> bool {
        matches!(self, FileChange::Deleted(_) | FileChange::Moved(_, FoundInstead::Another))
    }

    /// Whether the next start does not find the member as it is now.
    pub(crate) fn is_harm(&self) -> bool {
        !matches!(self, FileChange::Longer { .. })
    }
}

impl ChangedFile {
    /// What has become of it and how to save what it holds, in one line: while it is open.
    pub(crate) fn text(&self) -> Text {
        let path = self.path.display();
        match &self.change {
            FileChange::Deleted(found) => statement!(
                catalogue::DELETED_WHILE_OPEN,
                found = found.text(),
                process = std::process::id(),
                descriptor = self.descriptor,
                saved = escape::shell(&format!("{path}.saved")),
            ),
            _ => self.text_in_any_case(),
        }
        .at(path)
    }

    /// The same once it is closed, or about to be.
    pub(crate) fn text_at_end(&self) -> Text {
        match &self.change {
            FileChange::Deleted(found) => {
                statement!(catalogue::DELETED_AND_GONE, found = found.text())
            }
            _ => self.text_in_any_case(),
        }
        .at(self.path.display())
    }

    fn text_in_any_case(&self) -> Text {
        match &self.change {
            FileChange::Deleted(found) => statement!(catalogue::WAS_DELETED, found = found.text()),
            FileChange::Moved(to, found) => statement!(
                catalogue::WAS_RENAMED,
                to = to.display(),
                found = found.text(),
                from = escape::shell(&to.display().to_string()),
                back = escape::shell(&self.path.display().to_string()),
            ),
            FileChange::Unnamed(found) => {
                statement!(catalogue::LEADS_ELSEWHERE, found = found.text())
            }
            FileChange::CutShort { before_bytes, now_bytes } => statement!(
                catalogue::WAS_CUT_SHORT,
                before = size_text(*before_bytes),
                now = size_text(*now_bytes),
            ),
            FileChange::Longer { before_bytes, now_bytes } => statement!(
                catalogue::HAS_BECOME_LONGER,
                before = size_text(*before_bytes),
                now = size_text(*now_bytes),
            ),
        }
    }
}

impl FoundInstead {
    fn text(self) -> Message {
        match self {
            FoundInstead::Nothing => catalogue::NEXT_START_MISSES_IT,
            FoundInstead::Another => catalogue::SOMETHING_ELSE_THERE,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shortest that files have been, which no write that makes them longer again undoes.
#[derive(Default)]
pub(crate) struct Lengths(HashMap<PathBuf, u64>);

impl Lengths {
    /// Looks at each file, and says which are not what they were.
    pub(crate) fn look(&mut self, files: &[OpenedFile]) -> Vec<ChangedFile> {
        self.0.retain(|path, _| files.iter().any(|file| file.path == *path));
        let mut changed = Vec::new();
        for opened in files {
            let Ok(own) = opened.file.metadata() else { continue };
            let shortest = self.0.entry(opened.path.clone()).or_insert(opened.size_bytes);
            *shortest = (*shortest).min(own.len());
            changed.extend(change_of(opened, &own, *shortest).map(|change| ChangedFile {
                path: opened.path.clone(),
                change,
                descriptor: opened.file.as_raw_fd(),
            }));
        }
        changed
    }
}

/// What has become of a file. One whose name cannot be looked up, for want of a permission or
/// because its file system fails, is as it was.
fn change_of(opened: &OpenedFile, own: &Metadata, shortest: u64) -> Option<FileChange> {
    let found = match fs::metadata(&opened.path) {
        Ok(found) if is_same(&found, own) => None,
        Ok(_) => Some(FoundInstead::Another),
        Err(error) if is_absent(&error) => Some(FoundInstead::Nothing),
        Err(_) => None,
    };
    let (before_bytes, now_bytes) = (opened.size_bytes, own.len());
    match found {
        Some(found) if own.file_type().is_block_device() => Some(FileChange::Unnamed(found)),
        Some(found) if own.nlink() == 0 => Some(FileChange::Deleted(found)),
        Some(found) => Some(FileChange::Moved(name_of(opened), found)),
        None if own.file_type().is_block_device() => None,
        None if shortest < before_bytes => {
            Some(FileChange::CutShort { before_bytes, now_bytes: shortest })
        }
        None if now_bytes > before_bytes => Some(FileChange::Longer { before_bytes, now_bytes }),
        None => None,
    }
}

fn is_same(found: &Metadata, own: &Metadata) -> bool {
    if own.file_type().is_block_device() {
        return found.file_type().is_block_device() && found.rdev() == own.rdev();
    }
    (found.dev(), found.ino()) == (own.dev(), own.ino())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

/// The name that an open file has now.
fn name_of(opened: &OpenedFile) -> PathBuf {
    let link = format!("/proc/self/fd/{}", opened.file.as_raw_fd());
    fs::read_link(Path::new(&link)).unwrap_or_else(|_| opened.path.clone())
}

impl Watch {
    /// Begins to look: `look` is called every second, and when it is asked for, on a thread of its
    /// own, until it says that there is nothing left to look at.
    pub(crate) fn start(&self, mut look: impl FnMut() -> bool + Send + 'static) {
        let (sender, asked) = mpsc::channel::<Sender<()>>();
        *lock(&self.sender) = Some(sender);
        let run = move || {
            loop {
                let answer = match asked.recv_timeout(ROUND) {
                    Ok(answer) => Some(answer),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                if !look() {
                    return;
                }
                // Nobody may wait for it any more.
                answer.map(|answer| answer.send(()));
            }
        };
        // Without it nothing but these notes is missing.
        let _ = std::thread::Builder::new().name("watch".to_owned()).spawn(run);
    }

    /// Notes which files are not what they were, and says which of them are new.
    pub(crate) fn note(&self, changed: Vec<ChangedFile>) -> Vec<ChangedFile> {
        let before = std::mem::replace(&mut *lock(&self.changed), changed.clone());
        changed.into_iter().filter(|one| !before.contains(one)).collect()
    }

    /// Looks once more, and says which files are not what they were: what is known where that
    /// takes too long.
    pub(crate) fn look_now(&self) -> Vec<ChangedFile> {
        let (answer, answered) = mpsc::channel();
        let asked = lock(&self.sender).as_ref().is_some_and(|sender| sender.send(answer).is_ok());
        if asked {
            let _ = answered.recv_timeout(LAST_LOOK_TIME);
        }
        lock(&self.changed).clone()
    }

    /// Looks no more.
    pub(crate) fn end(&self) {
        drop(lock(&self.sender).take());
    }

    /// What there is to say now.
    pub(crate) fn notes(&self) -> Vec<Text> {
        lock(&self.changed).iter().map(ChangedFile::text).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    use super::*;

    const MEMBER_BYTES: u64 = 8192;

    /// A member that was opened under this name.
    fn opened(path: &Path) -> OpenedFile {
        fs::write(path, vec![7; MEMBER_BYTES as usize]).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        OpenedFile { path: path.to_owned(), file: Arc::new(file), size_bytes: MEMBER_BYTES }
    }

    type Harm = fn(&Path);

    /// What is done to a member's file, and what has become of it then.
    fn harms() -> [(&'static str, Harm, Option<FileChange>); 9] {
        use FoundInstead::{Another, Nothing};
        [
            ("as it was", |_| (), None),
            (
                "a hard link more",
                |path| fs::hard_link(path, path.with_extension("b")).unwrap(),
                None,
            ),
            ("deleted", |path| fs::remove_file(path).unwrap(), Some(FileChange::Deleted(Nothing))),
            (
                "renamed over",
                |path| {
                    fs::write(path.with_extension("new"), "another").unwrap();
                    fs::rename(path.with_extension("new"), path).unwrap();
                },
                Some(FileChange::Deleted(Another)),
            ),
            (
                "a folder in its place",
                |path| fs::remove_file(path).and_then(|()| fs::create_dir(path)).unwrap(),
                Some(FileChange::Deleted(Another)),
            ),
            (
                "a link to another file in its place",
                |path| {
                    fs::rename(path, path.with_extension("moved")).unwrap();
                    symlink("/etc/passwd", path).unwrap();
                },
                Some(FileChange::Moved(PathBuf::from("m.moved"), Another)),
            ),
            (
                "a link to nothing in its place",
                |path| fs::remove_file(path).and_then(|()| symlink("m.img", path)).unwrap(),
                Some(FileChange::Deleted(Nothing)),
            ),
            (
                "cut short, and longer again",
                |path| {
                    let file = OpenOptions::new().write(true).open(path).unwrap();
                    file.set_len(4096).unwrap();
                },
                Some(FileChange::CutShort { before_bytes: MEMBER_BYTES, now_bytes: 4096 }),
            ),
            (
                "longer",
                |path| {
                    let file = OpenOptions::new().write(true).open(path).unwrap();
                    file.set_len(2 * MEMBER_BYTES).unwrap();
                },
                Some(FileChange::Longer {
                    before_bytes: MEMBER_BYTES,
                    now_bytes: 2 * MEMBER_BYTES,
                }),
            ),
        ]
    }

    /// Every way in which a name stops leading to the open file, and none where it still does.
    #[test]
    fn a_name_that_leads_elsewhere_is_told_of_until_it_leads_back() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let sub = |path: &Path| path.parent().unwrap().to_owned();
        for (number, (how, harm, expected)) in harms().into_iter().enumerate() {
            let folder = top.join(number.to_string());
            fs::create_dir(&folder).unwrap();
            let files = [opened(&folder.join("m.img")), opened(&folder.join("other.img"))];
            let mut lengths = Lengths::default();
            assert_eq!(lengths.look(&files), [], "{how}");
            harm(&files[0].path);
            let expected = expected.map(|change| match change {
                FileChange::Moved(to, found) => {
                    FileChange::Moved(sub(&files[0].path).join(to), found)
                }
                other => other,
            });
            let seen = lengths.look(&files);
            assert_eq!(
                seen.iter().map(|one| (&one.path, &one.change)).collect::<Vec<_>>(),
                expected.iter().map(|change| (&files[0].path, change)).collect::<Vec<_>>(),
                "{how}"
            );
            assert!(seen.iter().all(|one| !one.text().english().contains('\n')), "{how}: one line");
        }
    }

    #[test]
    fn what_was_moved_away_and_is_back_is_as_it_was_and_what_was_cut_off_stays_so() {
        let folder = tempfile::tempdir().unwrap();
        let above = folder.path().join("a");
        fs::create_dir(&above).unwrap();
        let files = [opened(&above.join("m.img"))];
        let mut lengths = Lengths::default();
        fs::rename(&above, folder.path().join("b")).unwrap();
        assert!(matches!(
            &lengths.look(&files)[..],
            [ChangedFile { change: FileChange::Moved(to, FoundInstead::Nothing), .. }]
                if to.ends_with("b/m.img")
        ));
        fs::rename(folder.path().join("b"), &above).unwrap();
        assert_eq!(lengths.look(&files), []);
        files[0].file.set_len(0).unwrap();
        assert_eq!(lengths.look(&files).len(), 1);
        files[0].file.set_len(MEMBER_BYTES).unwrap();
        assert!(
            matches!(
                lengths.look(&files)[..],
                [ChangedFile { change: FileChange::CutShort { .. }, .. }]
            ),
            "a write behind the end makes it longer again, and brings nothing back"
        );
        assert_eq!(lengths.look(&[]), [], "it is no member any more");
    }

    #[test]
    fn what_a_deleted_file_holds_is_saved_by_the_line_that_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let files = [opened(&folder.path().join("it's here.img"))];
        fs::remove_file(&files[0].path).unwrap();
        let text = Lengths::default().look(&files)[0].text().english();
        let command = text.split('`').nth(1).unwrap();
        let status = std::process::Command::new("sh").arg("-c").arg(command).status().unwrap();
        assert!(status.success(), "{command}");
        let saved = fs::read(folder.path().join("it's here.img.saved")).unwrap();
        assert_eq!(saved, vec![7; MEMBER_BYTES as usize]);
    }
}
