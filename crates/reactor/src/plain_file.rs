//! Files that a stranger may have made, or that something of a stranger's names: a pipe would be
//! waited for, a link leads anywhere, and `/dev/zero` has no end.

use std::error::Error;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Whether a link is taken for the file that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Folders of one's own may have them.
    Followed,
    /// In a folder that a stranger may have made.
    Refused,
}

/// Why a file is not read. It is inside the [`io::Error`], so that other languages can have it
/// further up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is a folder, a pipe, a device.
    NotPlain,
    /// It is a link, and those are not followed here.
    Link,
    /// It has more bytes than any file of its kind.
    TooLarge {
        /// What it may have.
        most_bytes: u64,
    },
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::NotPlain => f.write_str("it is no plain file (a folder, a pipe, a device)"),
            Unread::Link => f.write_str("it is a link; only plain files are read here"),
            Unread::TooLarge { most_bytes } => {
                write!(f, "it has more than {most_bytes} bytes, and no such file has")
            }
        }
    }
}

impl Error for Unread {}

impl From<Unread> for io::Error {
    fn from(unread: Unread) -> io::Error {
        let kind = match unread {
            Unread::NotPlain | Unread::Link => io::ErrorKind::InvalidInput,
            Unread::TooLarge { .. } => io::ErrorKind::FileTooLarge,
        };
        io::Error::new(kind, unread)
    }
}

/// Opens a plain file for reading. Nothing is waited for.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for anything but a plain file; what the system says.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    flags.set(OFlags::NOFOLLOW, links == Links::Refused);
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let file = file.map_err(|error| {
        let is_link = || fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink());
        match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::LOOP) if links == Links::Refused && is_link() => {
                Unread::Link.into()
            }
            // A socket cannot be opened at all.
            Some(rustix::io::Errno::NXIO) => Unread::NotPlain.into(),
            _ => error,
        }
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(Unread::NotPlain.into()) }
}

/// Reads all of it.
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`] for more than `most_bytes`; what the system says.
pub fn read_bounded(file: File, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One more tells that there is more.
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        return Err(Unread::TooLarge { most_bytes }.into());
    }
    Ok(bytes)
}

/// Bytes as a text.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
