//! Members that are to be members no more: their superblocks are erased.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use array::md::uuid_text;

use super::{Examined, SECTOR_BYTES, SUPERBLOCK_BYTES, bitmap_offset, examine};
use host::Error;
use host::guard::{Access, Guard};

/// A member whose superblocks were erased.
#[derive(Clone, Debug)]
pub struct Erased {
    /// Its path.
    pub path: PathBuf,
    /// What it was, one text for each superblock.
    pub was: Vec<String>,
}

/// Erases the superblocks of the members, and the heads of their bitmaps. What they hold otherwise
/// is left as it is. Every member is opened before anything is written to one; the guard refuses
/// those that run, and asks for consent to the signature.
///
/// # Errors
/// A path without a superblock, members of several arrays, a member that the guard refuses, or one
/// that cannot be written.
pub fn destroy(guard: &Guard, paths: &[PathBuf]) -> Result<Vec<Erased>, Error> {
    let examined: Vec<Examined> =
        paths.iter().map(|path| examine(guard, path)).collect::<Result<_, _>>()?;
    if let Some(none) = examined.iter().find(|examined| examined.found.is_empty()) {
        return Err(Error::usage(none.no_superblock_text()));
    }
    let uuids =
        |examined: &Examined| examined.candidate().map(|candidate| candidate.superblock.set_uuid);
    if let Some(other) = examined.iter().find(|other| uuids(other) != uuids(&examined[0])) {
        let text =
            |examined: &Examined| uuids(examined).map(|uuid| uuid_text(&uuid)).unwrap_or_default();
        let (first, one, two) = (examined[0].path.display(), text(&examined[0]), text(other));
        return Err(Error::usage(format!(
            "{first} is of array {one} and {} of array {two} (set_uuid): name the members of one \
            array",
            other.path.display()
        )));
    }
    let files =
        paths.iter().map(|path| guard.open(path, Access::Write)).collect::<Result<Vec<_>, _>>()?;
    guard.refuse_stray_consent()?;
    let erase = |(examined, file): (&Examined, &std::fs::File)| {
        for found in &examined.found {
            // A superblock that is not where it says it is is a copy of another device's.
            let Some(own) = found.version.offset_sectors(examined.size_bytes / SECTOR_BYTES) else {
                continue;
            };
            let write =
                |sector: u64| file.write_all_at(&[0; SUPERBLOCK_BYTES], sector * SECTOR_BYTES);
            let bitmap = bitmap_offset(&found.superblock, own).filter(|_| found.bitmap.is_some());
            bitmap
                .map_or(Ok(()), write)
                .and_then(|()| write(own))
                .map_err(|error| failed(&examined.path, &error))?;
        }
        file.sync_all().map_err(|error| failed(&examined.path, &error))?;
        let was = examined
            .found
            .iter()
            .map(|found| format!("{} of {}", found.superblock.role(), found.superblock.name()))
            .collect();
        Ok(Erased { path: examined.path.clone(), was })
    };
    examined.iter().zip(&files).map(erase).collect()
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::from_io(format_args!("{}: erasing its superblock", path.display()), error)
}
