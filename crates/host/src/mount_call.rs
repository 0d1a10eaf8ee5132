//! What the kernel is asked about mounts besides `mount` and `umount` themselves: which option a
//! file system does not know, and whether a mount is in use, are numbers and no sentences.
//!
//! The two programs do the mounting, for it waits for the device: a server that was killed while it
//! waited for a device that it serves itself would wait for ever. Nothing here waits but [`mount`]
//! and [`unmount_now`], which are for a process that serves nothing, in a guest, where starting a
//! program takes longer than mounting.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, unmount,
};

use words::{Text, statement};

use crate::{Error, catalogue};

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
    set_options(&context, kind, options)
}

fn set_options(context: &OwnedFd, kind: &str, options: &str) -> Result<(), Error> {
    for (key, value) in own(options) {
        let set = match value {
            Some(value) => fsconfig_set_string(context, key, value),
            None => fsconfig_set_flag(context, key),
        };
        set.map_err(|error| {
            let word = value.map_or(key.to_owned(), |value| format!("{key}={value}"));
            let error = io::Error::from(error);
            let why = told(context).map_or_else(|| block::io_text(&error), Text::from);
            let said = catalogue::MOUNT_OPTION_REFUSED;
            Error::usage(statement!(said, kind = kind, word = word, why = why)).because(error)
        })?;
    }
    Ok(())
}

/// What the options of a text say of the mount itself; nothing where one of them is for programs
/// only, which have to do the mounting then. Later ones count before earlier ones.
fn attributes(options: &str) -> Option<MountAttrFlags> {
    let mut flags = MountAttrFlags::empty();
    for word in options.split(',').map(str::trim) {
        let (flag, is_set) = match word {
            "nosuid" => (MountAttrFlags::MOUNT_ATTR_NOSUID, true),
            "suid" => (MountAttrFlags::MOUNT_ATTR_NOSUID, false),
            "nodev" => (MountAttrFlags::MOUNT_ATTR_NODEV, true),
            "dev" => (MountAttrFlags::MOUNT_ATTR_NODEV, false),
            "noexec" => (MountAttrFlags::MOUNT_ATTR_NOEXEC, true),
            "exec" => (MountAttrFlags::MOUNT_ATTR_NOEXEC, false),
            "noatime" => (MountAttrFlags::MOUNT_ATTR_NOATIME, true),
            "nodiratime" => (MountAttrFlags::MOUNT_ATTR_NODIRATIME, true),
            "diratime" => (MountAttrFlags::MOUNT_ATTR_NODIRATIME, false),
            "strictatime" => (MountAttrFlags::MOUNT_ATTR_STRICTATIME, true),
            "nosymfollow" => (MountAttrFlags::MOUNT_ATTR_NOSYMFOLLOW, true),
            "ro" => (MountAttrFlags::MOUNT_ATTR_RDONLY, true),
            "rw" => (MountAttrFlags::MOUNT_ATTR_RDONLY, false),
            _ if NOT_ITS_OWN.contains(&word) => return None,
            _ => continue,
        };
        flags.set(flag, is_set);
    }
    Some(flags)
}

/// Mounts a file system that the kernel has itself, without a program, and waits for the device.
/// `None` where the options are such that a program has to do it.
///
/// # Errors
/// The option that it does not know, or why it does not mount, in the kernel's own words where it
/// has any.
pub(crate) fn mount(
    kind: &str,
    (device, point): (&Path, &Path),
    options: &str,
) -> Option<Result<(), Error>> {
    let attributes = attributes(options)?;
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).ok()?;
    let mounted = || {
        set_options(&context, kind, options)?;
        fsconfig_set_string(&context, "source", device)
            .and_then(|()| fsconfig_create(&context))
            .and_then(|()| fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes))
            .and_then(|tree| {
                move_mount(&tree, "", CWD, point, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
            })
            .map_err(|error| {
                let error = io::Error::from(error);
                let why = told(&context).map_or(String::new(), |why| format!("{why}: "));
                let why = Text::from(why).and(block::io_text(&error));
                let said = statement!(catalogue::NOT_MOUNTABLE, kind = kind, why = why);
                Error::failed(said).at(device.display()).because(error)
            })
    };
    Some(mounted())
}

/// Takes a mount away without a program, and waits for the device.
///
/// # Errors
/// [`Errno::BUSY`] where something uses it.
pub(crate) fn unmount_now(point: &Path) -> Result<(), Errno> {
    unmount(point, UnmountFlags::NOFOLLOW)
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

    #[test]
    fn what_is_said_of_the_mount_itself_is_no_option_of_the_file_system() {
        use MountAttrFlags as Flags;
        let own = Flags::MOUNT_ATTR_NOSUID | Flags::MOUNT_ATTR_NODEV | Flags::MOUNT_ATTR_NOEXEC;
        assert_eq!(attributes("nosuid,nodev,noexec"), Some(own));
        assert_eq!(attributes("nosuid,commit=3,data=ordered,suid"), Some(Flags::empty()));
        assert_eq!(
            attributes("nosuid,ro"),
            Some(Flags::MOUNT_ATTR_NOSUID | Flags::MOUNT_ATTR_RDONLY)
        );
        assert_eq!(attributes("nosuid,loop"), None, "mount makes the loop device");
    }

    /// "'wrong fs type' for a mount option that ext4 does not know".
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
