//! An image on what is served: a file of an outer file system, with a loop device over it that
//! carries the file system in which there is work.
//!
//! ```text
//!   the file system that is mounted
//!   image, a loop device        SERVER/outer/image.vhd
//!   outer file system           SERVER/outer
//!   the array's block device
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use export::image::Image;
use export::loop_device::LoopOptions;
use host::Error;
use rustix::fs::Advice;
use words::statement;

use crate::catalogue;

/// Where the outer file system is mounted, in the server's folder.
pub(crate) const OUTER: &str = "outer";
/// How much is written at a time.
const CALL_BYTES: usize = 1 << 20;

/// Makes the file of an image, written whole, unless it is there. A first write to a file costs
/// more than later ones, and belongs to no measurement.
///
/// # Errors
/// A file of another size that is there, or no room for it; then nothing of it is left.
pub(crate) fn make(image: &Image, path: &Path) -> Result<(), Error> {
    let failed = |error: &io::Error| Error::from_io(path.display(), error);
    let wanted = image.file_bytes();
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() == wanted => return Ok(()),
        Ok(found) => {
            return Err(Error::refused(statement!(
                catalogue::IMAGE_OF_OTHER_SIZE,
                found = found.len(),
                wanted = wanted
            ))
            .at(path.display()));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => (),
        Err(error) => return Err(failed(&error)),
    }
    let file = File::create_new(path).map_err(|error| failed(&error))?;
    write(image, &file).map_err(|error| {
        drop(fs::remove_file(path));
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => {
                let size = block::size_text(image.size_bytes);
                Error::from_io(statement!(catalogue::IMAGE_TOO_LARGE, size = size), &error)
            }
            _ => failed(&error),
        }
    })
}

fn write(image: &Image, mut file: &File) -> io::Result<()> {
    let zeroes = vec![0; CALL_BYTES];
    let mut left = image.size_bytes;
    while left > 0 {
        let length = left.min(CALL_BYTES as u64) as usize;
        file.write_all(&zeroes[..length])?;
        left -= length as u64;
    }
    file.write_all(&image.footer())?;
    file.sync_all()?;
    // What was written here is not to answer what is read later.
    let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
    Ok(())
}

/// How a loop device stands on an image.
pub(crate) fn loop_options(image: &Image, read_only: bool) -> LoopOptions {
    LoopOptions {
        block_bytes: None,
        read_only,
        direct: image.direct,
        size_bytes: Some(image.size_bytes),
        partitions: false,
    }
}
