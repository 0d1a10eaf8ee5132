//! The processes that use a path, as far as `/proc` tells this user: for the error when it is to be
//! taken away.

use std::fs;
use std::path::{Path, PathBuf};

use words::{Text, statement};

use crate::catalogue;

/// A process.
#[derive(Debug, PartialEq, Eq)]
pub struct User {
    process: u32,
    name: String,
}

impl From<&User> for Text {
    fn from(user: &User) -> Text {
        statement!(catalogue::PROCESS_OF, process = user.process, name = &user.name)
    }
}

impl User {
    /// Whether the process still has `path` open under this name.
    pub(crate) fn has_open(&self, path: &Path) -> bool {
        open_in(self.process).any(|target| target == path)
    }
}

/// A process that has `path` open under this name.
#[must_use]
pub fn of(path: &Path) -> Option<User> {
    find(|process| open_in(process).any(|target| target == path))
}

/// A process that has a disk open, or a partition of it.
#[must_use]
pub fn of_disk(disk: &Path) -> Option<User> {
    find(|process| open_in(process).any(|target| target == disk || is_partition(&target, disk)))
}

/// Whether `path` is how the kernel calls a partition of `disk`: `/dev/loop0p1`, `/dev/sda1`.
fn is_partition(path: &Path, disk: &Path) -> bool {
    let rest =
        path.as_os_str().as_encoded_bytes().strip_prefix(disk.as_os_str().as_encoded_bytes());
    let Some(rest) = rest else { return false };
    let digits = match disk.as_os_str().as_encoded_bytes().last() {
        // Where the disk's own name ends with a digit, a letter parts the two.
        Some(last) if last.is_ascii_digit() => rest.strip_prefix(b"p"),
        _ => Some(rest),
    };
    digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// A process that works in `folder`, or has something in it open.
#[must_use]
pub fn below(folder: &Path) -> Option<User> {
    let links = |process| {
        ["cwd", "root", "exe"]
            .into_iter()
            .filter_map(move |link| fs::read_link(format!("/proc/{process}/{link}")).ok())
    };
    find(|process| links(process).chain(open_in(process)).any(|target| target.starts_with(folder)))
}

fn find(uses: impl Fn(u32) -> bool) -> Option<User> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let process = processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|process| uses(*process))?;
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    Some(User { process, name: name.trim_end().to_owned() })
}

/// What a process has open. The links are read and not followed: following one could wait for a
/// server that is gone.
fn open_in(process: u32) -> impl Iterator<Item = PathBuf> {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_told_from_other_disks() {
        let is = |path: &str, disk: &str| is_partition(Path::new(path), Path::new(disk));
        assert!(is("/dev/loop1p2", "/dev/loop1") && is("/dev/sda12", "/dev/sda"));
        for (path, disk) in [
            ("/dev/loop12", "/dev/loop1"),
            ("/dev/loop1", "/dev/loop1"),
            ("/dev/loop1p", "/dev/loop1"),
            ("/dev/sdab", "/dev/sda"),
            ("/dev/loop1p2", "/dev/loop2"),
        ] {
            assert!(!is(path, disk), "{path} {disk}");
        }
    }

    #[test]
    fn whoever_has_a_file_open_is_found_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let open = fs::File::create(&path).unwrap();
        let user = of(&path).unwrap();
        assert_eq!(user.process, std::process::id());
        let said = Text::from(&user).to_string();
        assert!(said.starts_with(&format!("process {} (", user.process)), "{said}");
        assert_eq!(below(folder.path()), Some(user));
        assert_eq!(below(&folder.path().join("other")), None);
        drop(open);
        assert_eq!((of(&path), below(folder.path())), (None, None));
    }
}
