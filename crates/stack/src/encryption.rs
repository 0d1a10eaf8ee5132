//! The layer `luks`: what its options mean.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use block::{Device, Error, ErrorKind, Node, text_path};
use device::{Direct, FileDevice, FileOptions};
use luks::{LuksHeader, Passphrase};
use words::{Message, Text, statement};
use zeroize::Zeroizing;

use crate::messages;
use crate::settings::Settings;

/// Longer key files than cryptsetup reads, in bytes.
const PASSPHRASE_BYTES_MAX: u64 = 8 << 20;
/// What a read to the end wants to have behind it, in bytes.
const SPARE_BYTES: usize = 64;
/// Its group and all others may read the file.
const OTHERS: u32 = 0o044;

/// The file that holds the passphrase of a layer.
pub(crate) fn passphrase_file(settings: &Settings<'_>) -> Result<PathBuf, Error> {
    settings
        .get("passphrase_file")
        .map(text_path)
        .ok_or_else(|| Error::new(ErrorKind::Invalid, messages::NO_PASSPHRASE_FILE))
}

/// The passphrase that an open file holds, all of it, and what is to be said of the file, which is
/// called `path`.
///
/// # Errors
/// [`ErrorKind::Invalid`] when it is empty or longer than 8 MiB, and what the system says.
pub fn read_passphrase(mut file: File, path: &Path) -> Result<(Passphrase, Option<Text>), Error> {
    let fail = |error| Error::from_io(path.display().to_string(), error);
    // Opened once for several containers, it was read to its end before. A pipe has no beginning.
    let _ = file.rewind();
    let data = file.metadata().map_err(fail)?;
    let mode = data.mode();
    // Room for all of it: a vector that grows leaves what it held behind.
    let room = data.len().min(PASSPHRASE_BYTES_MAX) as usize + SPARE_BYTES;
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    file.take(PASSPHRASE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(fail)?;
    let invalid = |what: Message| Err(Error::new(ErrorKind::Invalid, what).at(path.display()));
    match bytes.len() as u64 {
        0 => return invalid(messages::PASSPHRASE_FILE_EMPTY),
        length if length > PASSPHRASE_BYTES_MAX => {
            return invalid(messages::PASSPHRASE_TOO_LONG);
        }
        _ => (),
    }
    let note =
        (mode & OTHERS != 0).then(|| statement!(messages::OTHERS_MAY_READ, path = path.display()));
    Ok((Passphrase::new(std::mem::take(&mut *bytes)), note))
}

/// The file of a header that does not lie in front of its data: only read.
pub(crate) fn header_device(file: File, path: &Path) -> Result<FileDevice, Error> {
    let options = FileOptions {
        read_only: true,
        direct: Direct::No,
        offset_bytes: 0,
        size_bytes: None,
        block_bytes: None,
        grows: false,
    };
    FileDevice::new(file, path, &options)
}

/// A container's leaf once more with blocks as long as its sectors, where it does not say how long
/// they are: as dm-crypt takes it.
pub(crate) fn with_sectors(leaf: &Node, below: &dyn Device, header: &LuksHeader) -> Option<Node> {
    let Node::Leaf { scheme, options, .. } = leaf else { return None };
    let says = options.iter().any(|(name, _)| name == "block");
    let is_longer = header.sector_bytes() > below.info().block_bytes;
    let takes_blocks = matches!(scheme.as_str(), "file" | "ram");
    (is_longer && takes_blocks && !says).then(|| leaf.clone().with("block", header.sector_bytes()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The guard opens each file once, so that all containers get the same.
    #[test]
    fn one_file_opens_several_containers() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"secret").expect("room");
        for _ in 0..2 {
            let same = file.try_clone().expect("the same file");
            read_passphrase(same, Path::new("key")).expect("a passphrase");
        }
        let (from, mut to) = std::io::pipe().expect("a pipe");
        to.write_all(b"secret").expect("room");
        drop(to);
        let from = File::from(std::os::fd::OwnedFd::from(from));
        read_passphrase(from, Path::new("pipe")).expect("a passphrase");
    }
}
