//! What drives hold, as files that other programs take.

use super::catalogue;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use block::{Blocking, Device, Extents, Reactor};
use host::Error;
use words::{Text, statement};

/// How much is copied at once, in bytes.
const PART_BYTES: usize = 1 << 20;

/// Whether there may be images in a folder: it is new, or empty.
///
/// # Errors
/// That it holds something, or is none.
pub fn check_images(folder: &Path) -> Result<(), Error> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Error::usage(catalogue::IMAGES_NOT_EMPTY)
                .at(format!("--images {}", folder.display()))),
        },
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::from_io(format!("--images {}", folder.display()), &error))
        }
        _ => Ok(()),
    }
}

/// The name of the file beside the images with the passphrase of containers on them.
pub(super) const PASSPHRASE_NAME: &str = "passphrase";

/// Writes what each drive holds into a file of its own, sparse, `drive0.img` and so on by their
/// numbers, and the passphrase of containers on them where there are some. The files must not be
/// there yet. Where that fails, as on a full disk, the files and folders that were made are gone
/// again.
///
/// # Errors
/// What the system says, and what reading the drives says.
pub fn write_images(
    drives: &[(usize, &dyn Device)],
    passphrase: Option<&[u8]>,
    folder: &Path,
) -> Result<(), Error> {
    let new_folders: Vec<&Path> = folder
        .ancestors()
        .take_while(|above| !above.as_os_str().is_empty() && !above.exists())
        .collect();
    let mut files = Vec::new();
    let written = std::fs::create_dir_all(folder)
        .map_err(|error| Error::from_io(folder.display(), &error))
        .and_then(|()| {
            drives.iter().try_for_each(|(number, drive)| {
                let path = folder.join(image_name(*number));
                let failed = |error: io::Error| Error::from_io(path.display(), &error);
                let file = File::create_new(&path).map_err(failed)?;
                files.push(path.clone());
                write_image(*drive, &file, &path)
            })
        })
        .and_then(|()| {
            let Some(passphrase) = passphrase else { return Ok(()) };
            let path = folder.join(PASSPHRASE_NAME);
            let failed = |error: io::Error| Error::from_io(path.display(), &error);
            // As of any other passphrase, others may not read it.
            let mut new = File::options();
            let mut file =
                new.write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
            files.push(path.clone());
            file.write_all(passphrase).map_err(failed)
        });
    written.map_err(|error| {
        let removed = files.iter().map(|path| (path.as_path(), std::fs::remove_file(path)));
        let folders = new_folders.iter().map(|path| (*path, std::fs::remove_dir(path)));
        let is_left = |(path, removed): (&Path, io::Result<()>)| match removed {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => {
                let why = block::io_text(&problem);
                Some(statement!(catalogue::PATH_NOT_REMOVED, path = path.display(), why = why))
            }
            _ => None,
        };
        let left = removed.chain(folders).filter_map(is_left);
        error.and_then_some(Text::joined(left, ""))
    })
}

/// The name of a drive's image.
#[must_use]
pub fn image_name(number: usize) -> PathBuf {
    format!("drive{number}.img").into()
}

/// Writes what a device holds into a file that is empty, but for what is zeroes.
pub(super) fn write_image(device: &dyn Device, file: &File, path: &Path) -> Result<(), Error> {
    let failed = |error: io::Error| Error::from_io(path.display(), &error);
    let size = device.info().size_bytes;
    file.set_len(size).map_err(failed)?;
    let mut channel = Blocking::open(device, &Reactor::virtual_clock())?;
    let (mut offset, mut bytes) = (0, vec![0; PART_BYTES]);
    while offset < size {
        let mut found = Extents::new();
        device.extents(offset, size - offset, &mut found);
        for extent in found.runs() {
            let end = offset + extent.length;
            while offset < end && !extent.is_hole {
                let count = (end - offset).min(bytes.len() as u64);
                let part = &mut bytes[..count as usize];
                channel.read_slice(offset, part)?;
                if part.iter().any(|&byte| byte != 0) {
                    file.write_all_at(part, offset).map_err(failed)?;
                }
                offset += count;
            }
            offset = end;
        }
    }
    Ok(())
}
