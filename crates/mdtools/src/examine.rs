//! Reading what members say of themselves.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use array::md::{self, BitmapHeader, Candidate, ChecksumVerdict, Superblock, Version};

use super::partitions::{Partition, partitions};
use super::source::{Purpose, Region};
use super::{MemberSource, SECTOR_BYTES, SUPERBLOCK_BYTES};
use crate::catalogue;
use host::Error;
use host::guard::Guard;
use stack::Identity;
use words::{Text, statement};

/// A superblock that was found on a member.
#[derive(Clone, Debug)]
pub struct FoundSuperblock {
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
pub struct ExaminedPath {
    /// What was looked at.
    pub source: MemberSource,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its superblocks: none on what is no member, more than one where an old one was left behind.
    pub found: Vec<FoundSuperblock>,
    /// Superblocks that are there and cannot be decoded: where they lie, and what is wrong.
    pub damaged: Vec<(Version, md::Problem)>,
}

/// Reads the superblocks of one file or device, or of a part of it. It is opened for reading only,
/// without regard to what else has it open: an array that runs can be looked at, and what was
/// looked at can be opened for writing afterwards.
///
/// # Errors
/// When it cannot be opened or read.
pub fn examine(guard: &Guard, source: &MemberSource) -> Result<ExaminedPath, Error> {
    examine_region(source, &source.open(guard, Purpose::Look)?)
}

fn examine_region(source: &MemberSource, region: &Region) -> Result<ExaminedPath, Error> {
    let failed = |error: io::Error| {
        Error::from_io(statement!(catalogue::READING_SUPERBLOCK, source = source), &error)
    };
    let member_sectors = region.size_bytes / SECTOR_BYTES;
    let (mut found, mut damaged) = (Vec::new(), Vec::new());
    for version in Version::ALL {
        let Some(offset) = version.offset_sectors(member_sectors) else { continue };
        let bytes = read_again(region, offset * SECTOR_BYTES).map_err(failed)?;
        let Ok(superblock) = Superblock::decode_as(version, &bytes, member_sectors) else {
            let problem = Superblock::damage(&bytes).filter(|_| version != Version::V0_90);
            damaged.extend(problem.map(|problem| (version, problem)));
            continue;
        };
        let problems =
            superblock.problems(version, member_sectors).iter().map(ToString::to_string).collect();
        let bitmap = match bitmap_offset(&superblock, offset) {
            Some(offset) => {
                let bytes =
                    read_again(region, offset.saturating_mul(SECTOR_BYTES)).map_err(failed)?;
                BitmapHeader::decode_for(version, &bytes).ok()
            }
            None => None,
        };
        found.push(FoundSuperblock {
            version,
            checksum: superblock.checksum_verdict(),
            problems,
            superblock,
            bitmap,
        });
    }
    let (source, size_bytes) = (source.clone(), region.size_bytes);
    Ok(ExaminedPath { source, size_bytes, found, damaged })
}

/// What a superblock may take up. What cannot be read is tried once more.
fn read_again(region: &Region, offset: u64) -> io::Result<Vec<u8>> {
    let read = || region.read_up_to(offset, SUPERBLOCK_BYTES);
    read().or_else(|_| read())
}

/// Reads the superblocks of a file or device and of the partitions in it: the image of a whole
/// disk is looked into. Of a device whose partitions the kernel shows these are named by
/// themselves. Only what carries a superblock is in the answer, or the whole alone where nothing
/// does.
///
/// # Errors
/// As [`examine`].
pub fn look(guard: &Guard, source: &MemberSource) -> Result<Vec<ExaminedPath>, Error> {
    let region = source.open(guard, Purpose::Look)?;
    let mut whole = examine_region(source, &region)?;
    let mut all = Vec::new();
    for partition in partitions_of(source, &region)? {
        let part = source.part(partition.offset_bytes, Some(partition.size_bytes));
        all.push(examine_region(&part, &part.open(guard, Purpose::Look)?)?);
    }
    all.retain(|part| !part.found.is_empty() || !part.damaged.is_empty());
    // One at the end of the last partition may be at the end of the disk too.
    whole.found.retain(|found| {
        let place = whole_place(source, region.size_bytes, found.version);
        !all.iter().any(|part| {
            part.found
                .iter()
                .any(|own| whole_place(&part.source, part.size_bytes, own.version) == place)
        })
    });
    if all.is_empty() || !whole.found.is_empty() {
        all.insert(0, whole);
    }
    Ok(all)
}

/// Where on its file or device a superblock of a version lies, in bytes.
fn whole_place(source: &MemberSource, size_bytes: u64, version: Version) -> Option<u64> {
    let sectors = version.offset_sectors(size_bytes / SECTOR_BYTES)?;
    Some(source.offset_bytes + sectors * SECTOR_BYTES)
}

fn partitions_of(source: &MemberSource, region: &Region) -> Result<Vec<Partition>, Error> {
    // What is on another machine is a member as a whole: no text of a stack names a part of it.
    if source.path().is_none_or(shows_partitions) {
        return Ok(Vec::new());
    }
    partitions(region).map_err(|error| {
        Error::from_io(statement!(catalogue::READING_PARTITIONS, source = source), &error)
    })
}

/// The one partition of a disk's image that is said to be a member of an array, if there is just
/// one such.
///
/// # Errors
/// When it cannot be opened or read.
pub fn raid_partition(guard: &Guard, source: &MemberSource) -> Result<Option<MemberSource>, Error> {
    let region = source.open(guard, Purpose::Look)?;
    let mut raid = partitions_of(source, &region)?.into_iter().filter(|part| part.is_raid);
    let (one, other) = (raid.next(), raid.next());
    let part = |part: Partition| source.part(part.offset_bytes, Some(part.size_bytes));
    Ok(one.filter(|_| other.is_none()).map(part))
}

/// A folder of sysfs that tells of a block device; `None` of what is no block device.
fn device_folder(path: &Path) -> Option<PathBuf> {
    let data = fs::metadata(path).ok().filter(|data| data.file_type().is_block_device())?;
    let (major, minor) = (rustix::fs::major(data.rdev()), rustix::fs::minor(data.rdev()));
    Some(PathBuf::from(format!("/sys/dev/block/{major}:{minor}")))
}

/// Whether the kernel has devices for the partitions of a block device.
fn shows_partitions(path: &Path) -> bool {
    let entries = device_folder(path).and_then(|folder| fs::read_dir(folder).ok());
    entries.into_iter().flatten().flatten().any(|entry| entry.path().join("partition").exists())
}

/// Whether one block device is a partition of the other.
pub(super) fn is_partition_of(part: &Path, disk: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(device_folder(path)?).ok();
    real(part).zip(real(disk)).is_some_and(|(part, disk)| part.parent() == Some(&disk))
}

/// Whether there is a medium in a block device.
fn has_size(path: &Path) -> bool {
    let size = device_folder(path).and_then(|folder| fs::read_to_string(folder.join("size")).ok());
    size.is_none_or(|size| size.trim() != "0")
}

/// The sector on the member at which the superblock says that a bitmap lies.
pub(super) fn bitmap_offset(superblock: &Superblock, superblock_sector: u64) -> Option<u64> {
    let has_bitmap =
        superblock.features.contains(md::Features::BITMAP) && !superblock.features.has_ppl();
    has_bitmap
        .then(|| superblock_sector.checked_add_signed(superblock.bitmap_offset_sectors.into()))
        .flatten()
}

impl ExaminedPath {
    /// Why there is nothing to go by, of what has no superblock that can be read.
    #[must_use]
    pub fn no_superblock_text(&self) -> Text {
        let path = &self.source;
        match self.damaged.first() {
            Some((version, problem)) => {
                statement!(
                    catalogue::SUPERBLOCK_DAMAGED,
                    path = path,
                    version = version.to_string(),
                    problem = problem
                )
            }
            None => statement!(catalogue::NO_SUPERBLOCK, path = path, version = Version::ALL_TEXT),
        }
    }

    /// The member for assembling, by the superblock that was written last where there are several.
    #[must_use]
    pub fn candidate(&self) -> Option<Candidate> {
        let newest = self.found.iter().max_by_key(|found| {
            (found.checksum == ChecksumVerdict::Correct, found.superblock.created)
        })?;
        Some(Candidate {
            name: self.source.to_string(),
            size_sectors: self.size_bytes / SECTOR_BYTES,
            version: newest.version,
            superblock: newest.superblock.clone(),
            bitmap: newest.bitmap.clone(),
        })
    }
}

/// The files and block devices that the words name: a folder stands for the files and block
/// devices in it, by whatever links, in the order of their names. Without a word all block devices
/// of this machine are meant.
///
/// # Errors
/// When a folder cannot be read, or a word is no path.
pub fn members_in(words: &[PathBuf]) -> Result<Vec<MemberSource>, Error> {
    if words.is_empty() {
        return block_devices();
    }
    let mut members = Vec::new();
    for word in words {
        if word.is_dir() {
            members.extend(in_folder(word)?);
        } else {
            members.push(MemberSource::parse(word)?);
        }
    }
    Ok(members)
}

fn in_folder(folder: &Path) -> Result<Vec<MemberSource>, Error> {
    let failed = |error: io::Error| {
        Error::from_io(catalogue::READING_FOLDER, &error).at(folder.display()).as_usage()
    };
    let entries: Result<Vec<_>, io::Error> = fs::read_dir(folder).map_err(failed)?.collect();
    let mut paths: Vec<PathBuf> =
        entries.map_err(failed)?.into_iter().map(|entry| entry.path()).collect();
    let is_member = |path: &Path| {
        fs::metadata(path).is_ok_and(|data| {
            data.is_file() || data.file_type().is_block_device() && has_size(path)
        })
    };
    paths.retain(|path| is_member(path));
    // Of a device and the links to it the device counts; the names of a disk are many.
    paths.sort_by_cached_key(|path| (path.is_symlink(), path.clone()));
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(Identity::of(path)) || !path.is_symlink());
    paths.sort();
    Ok(paths.into_iter().map(MemberSource::from).collect())
}

/// All block devices of this machine that have a medium.
fn block_devices() -> Result<Vec<MemberSource>, Error> {
    const ALL: &str = "/sys/class/block";
    let failed = |error: io::Error| Error::from_io(ALL, &error);
    let entries: Result<Vec<_>, io::Error> = fs::read_dir(ALL).map_err(failed)?.collect();
    let mut names: Vec<_> =
        entries.map_err(failed)?.into_iter().map(|entry| entry.file_name()).collect();
    names.sort();
    // A slash in the name of a device is an exclamation mark there.
    let paths =
        names.iter().filter_map(|name| Some(format!("/dev/{}", name.to_str()?.replace('!', "/"))));
    let paths = paths.map(PathBuf::from).filter(|path| path.exists() && has_size(path));
    Ok(paths.map(MemberSource::from).collect())
}
