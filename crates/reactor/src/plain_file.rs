//! Files that a stranger may have made, or that something of a stranger's names: a pipe would be
//! waited for, a link leads anywhere, and `/dev/zero` has no end.

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

/// Opens a plain file for reading. Nothing is waited for.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for anything but a plain file; what the system says.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    let refused = |text| io::Error::new(io::ErrorKind::InvalidInput, text);
    let not_plain = || refused("it is no plain file (a folder, a pipe, a device)");
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    flags.set(OFlags::NOFOLLOW, links == Links::Refused);
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let file = file.map_err(|error| {
        let is_link = || fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink());
        match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::LOOP) if links == Links::Refused && is_link() => {
                refused("it is a link; only plain files are read here")
            }
            // A socket cannot be opened at all.
            Some(rustix::io::Errno::NXIO) => not_plain(),
            _ => error,
        }
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_plain()) }
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
        let text = format!("it has more than {most_bytes} bytes, and no such file has");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
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
