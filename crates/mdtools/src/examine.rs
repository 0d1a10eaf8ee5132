//! Reading what members say of themselves.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use array::md::{self, BitmapHeader, Candidate, ChecksumVerdict, Superblock, Version};

use super::{SECTOR_BYTES, SUPERBLOCK_BYTES, size_of};
use host::Error;
use host::guard::{Guard, read_up_to};

/// A superblock that was found on a member.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where it lies.
    pub version: Version,
    /// What it says.
    pub superblock: Superblock,
    /// Whether its checksum fits.
    pub checksum: ChecksumVerdict,
    /// What keeps it from being used, one line each; empty when nothing does.
    pub problems: Vec<String>,
    /// The head of the write-intent bitmap, where the superblock names one that can be read.
    pub bitmap: Option<BitmapHeader>,
}

/// A path that was looked at.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The path as it was named.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its superblocks: none on what is no member, more than one where an old one was left behind.
    pub found: Vec<Found>,
    /// Superblocks that are there and cannot be decoded: where they lie, and what is wrong.
    pub damaged: Vec<(Version, md::Problem)>,
}

/// Reads the superblocks of one file or device. It is opened for reading only, without regard to
/// what else has it open: an array that runs can be looked at, and what was looked at can be opened
/// for writing afterwards.
///
/// # Errors
/// When it cannot be opened or read.
pub fn examine(guard: &Guard, path: &Path) -> Result<Examined, Error> {
    let file = guard.peek(path)?;
    let failed = |error: io::Error| {
        Error::from_io(format_args!("{}: reading its superblock", path.display()), &error)
    };
    let size_bytes = size_of(&file).map_err(failed)?;
    let member_sectors = size_bytes / SECTOR_BYTES;
    let (mut found, mut damaged) = (Vec::new(), Vec::new());
    for version in Version::ALL {
        let Some(offset) = version.offset_sectors(member_sectors) else { continue };
        let bytes = read_again(&file, offset * SECTOR_BYTES).map_err(failed)?;
        let Ok(superblock) = Superblock::decode_as(version, &bytes, member_sectors) else {
            let problem = Superblock::damage(&bytes).filter(|_| version != Version::V0_90);
            damaged.extend(problem.map(|problem| (version, problem)));
            continue;
        };
        let problems =
            superblock.problems(version, member_sectors).iter().map(ToString::to_string).collect();
        let bitmap = match bitmap_offset(&superblock, offset) {
            Some(offset) => {
                let bytes = read_again(&file, offset * SECTOR_BYTES).map_err(failed)?;
                BitmapHeader::decode_for(version, &bytes).ok()
            }
            None => None,
        };
        found.push(Found {
            version,
            checksum: superblock.checksum_verdict(),
            problems,
            superblock,
            bitmap,
        });
    }
    Ok(Examined { path: path.to_owned(), size_bytes, found, damaged })
}

/// What a superblock may take up. What cannot be read is tried once more.
fn read_again(file: &fs::File, offset: u64) -> io::Result<Vec<u8>> {
    let read = || read_up_to(file, offset, SUPERBLOCK_BYTES);
    read().or_else(|_| read())
}

/// The sector on the member at which the superblock says that a bitmap lies.
pub(super) fn bitmap_offset(superblock: &Superblock, superblock_sector: u64) -> Option<u64> {
    let has_bitmap =
        superblock.features.contains(md::Features::BITMAP) && !superblock.features.has_ppl();
    has_bitmap
        .then(|| superblock_sector.checked_add_signed(superblock.bitmap_offset_sectors.into()))
        .flatten()
}

impl Examined {
    /// Why there is nothing to go by, of what has no superblock that can be read.
    #[must_use]
    pub fn no_superblock_text(&self) -> String {
        let path = self.path.display();
        match self.damaged.first() {
            Some((version, problem)) => {
                format!("{path}: its superblock of version {version} is damaged: {problem}")
            }
            None => format!("{path}: no md superblock of version {} on it", Version::ALL_TEXT),
        }
    }

    /// The member for assembling, by the superblock that was written last where there are several.
    #[must_use]
    pub fn candidate(&self) -> Option<Candidate> {
        let newest = self.found.iter().max_by_key(|found| {
            (found.checksum == ChecksumVerdict::Correct, found.superblock.created)
        })?;
        Some(Candidate {
            name: self.path.display().to_string(),
            size_sectors: self.size_bytes / SECTOR_BYTES,
            version: newest.version,
            superblock: newest.superblock.clone(),
            bitmap: newest.bitmap.clone(),
        })
    }
}

/// The files and block devices that the paths name: a folder stands for the files in it, in the
/// order of their names.
///
/// # Errors
/// When a folder cannot be read.
pub fn members_in(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut members = Vec::new();
    for path in paths {
        if !path.is_dir() {
            members.push(path.clone());
            continue;
        }
        let failed = |error: io::Error| {
            Error::usage(format!("{}: reading the folder: {error}", path.display()))
        };
        let entries: Result<Vec<_>, io::Error> = fs::read_dir(path).map_err(failed)?.collect();
        let mut files: Vec<PathBuf> = entries
            .map_err(failed)?
            .into_iter()
            .map(|entry| entry.path())
            .filter(|path| path.is_file())
            .collect();
        files.sort();
        members.extend(files);
    }
    Ok(members)
}
