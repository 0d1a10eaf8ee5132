//! What the kernel is asked about mounts besides `mount` and `umount` themselves: which option a
//! file system does not know, and whether a mount is in use, are numbers and no sentences.
//!
//! The two programs do the mounting, for it waits for the device: a server that was killed while it
//! waited for a device that it serves itself would wait for ever. Nothing here waits.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{
    FsOpenFlags, UnmountFlags, fsconfig_set_flag, fsconfig_set_string, fsopen, unmount,
};

use crate::Error;

/// Options for the mount itself, and for programs that mount what a table lists: no file system is
/// asked about them.
const NOT_ITS_OWN: &[&str] = &[
    "defaults",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "owner",
    "group",
    "nofail",
    "_netdev",
    "loud",
    "silent",
    "loop",
    "suid",
    "nosuid",
    "dev",
    "nodev",
    "exec",
    "noexec",
    "symfollow",
    "nosymfollow",
    "atime",
    "noatime",
    "diratime",
    "nodiratime",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "iversion",
    "noiversion",
];

/// The options of a text as `mount -o` takes it that are for the file system: keys with values.
fn own(options: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let words = options.split(',').map(str::trim).filter(|word| !word.is_empty());
    let pairs = words.map(|word| match word.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (word, None),
    });
    pairs.filter(|(key, _)| {
        let for_programs = ["x-", "X-"].iter().any(|start| key.starts_with(start));
        !NOT_ITS_OWN.contains(key) && !for_programs && *key != "comment"
    })
}

/// Whether a file system takes these options, as far as that can be told before it is mounted:
/// kinds that read them as one text look at them later.
///
/// # Errors
/// The option that it does not know, with the kernel's number.
pub(crate) fn check_options(kind: &str, options: &str) -> Result<(), Error> {
    // What cannot be asked, for want of the right to mount or of the file system, is said by what
    // mounts it.
    let Ok(context) = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC) else { return Ok(()) };
    for (key, value) in own(options) {
        let set = match value {
            Some(value) => fsconfig_set_string(&context, key, value),
            None => fsconfig_set_flag(&context, key),
        };
        set.map_err(|error| {
            let word = value.map_or(key.to_owned(), |value| format!("{key}={value}"));
            let why = told(&context).unwrap_or_else(|| io::Error::from(error).to_string());
            let text = format!("{kind} does not take the mount option {word}: {why}");
            Error::usage(text).because(io::Error::from(error))
        })?;
    }
    Ok(())
}

/// What the kernel has to say about an attempt, in its own words: a line each, behind a letter for
/// how bad it is (Documentation/filesystems/mount_api.rst).
fn told(context: &OwnedFd) -> Option<String> {
    let mut lines = Vec::new();
    let mut line = [0; 1024];
    while let Ok(length) = rustix::io::read(context, &mut line) {
        let text = String::from_utf8_lossy(line.get(..length)?);
        match text.trim_end().split_once(' ') {
            Some(("e", text)) => lines.push(text.to_owned()),
            Some(_) => (),
            None => break,
        }
    }
    lines.dedup();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// Why a mount cannot be taken away now: [`Errno::BUSY`] where something uses it, [`Errno::AGAIN`]
/// where nothing does any more. The kernel marks such a mount, and any use takes the mark off
/// again; only a mount that is marked already is taken away by this (umount(2), MNT_EXPIRE).
///
/// # Errors
/// As said.
pub(crate) fn expire(point: &Path) -> Result<(), Errno> {
    unmount(point, UnmountFlags::EXPIRE | UnmountFlags::NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_is_asked_about_its_own_options() {
        let all = "noatime,nosuid, sync,commit=30,ro,x-systemd.automount,defaults,,comment=a";
        let expected = [("sync", None), ("commit", Some("30")), ("ro", None)];
        assert_eq!(own(all).collect::<Vec<_>>(), expected);
    }

    /// Issue 29, number 30: "'wrong fs type' for a mount option that ext4 does not know".
    #[test]
    fn an_option_that_the_file_system_does_not_know_is_named() {
        if fsopen("ext4", FsOpenFlags::FSOPEN_CLOEXEC).is_err() {
            return testkit::missing!("no right to mount, or no ext4 in this kernel");
        }
        check_options("ext4", "noatime,commit=3,sync,ro,x-mine").unwrap();
        let error = check_options("ext4", "noatime,bogus=3").unwrap_err();
        assert_eq!((error.exit_code(), error.errno()), (2, Some(Errno::INVAL)));
        let begins = "ext4 does not take the mount option bogus=3: ";
        assert!(error.to_string().starts_with(begins), "{error}");
        check_options("none-such", "bogus").expect("another says that there is none");
    }

    #[test]
    fn what_is_not_mounted_is_told_by_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let is_root = rustix::process::geteuid().is_root();
        let expected = if is_root { Errno::INVAL } else { Errno::PERM };
        assert_eq!(expire(folder.path()), Err(expected));
    }
}
