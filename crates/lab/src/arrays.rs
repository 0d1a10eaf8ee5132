//! md arrays on files and disks: finding and reading members' superblocks, and making new ones.
//!
//! ```text
//! paths ──> examine (reads at most a few KiB of each) ──> Examined ──> array::md::assemble ──> Assembly
//! NewArray ──> array::md ──> superblocks ──> guard opens every member ──> written and synced
//! ```
//!
//! Everything about the format is `array::md`; here are only the reads and writes around it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use array::md::{self, BitmapHeader, Candidate, ChecksumVerdict, Consistency, NewArray, NewMember, Role, Superblock, TimeStamp, Version};

use crate::guard::{Access, Guard, read_up_to};
use crate::{Error, host};

const SECTOR_BYTES: u64 = block::SECTOR_BYTES;
/// What a superblock may take up; a bitmap's head is smaller.
const SUPERBLOCK_BYTES: usize = 4096;

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
}

/// Reads the superblocks of one file or device. It is opened for reading only.
///
/// # Errors
/// When it cannot be opened or read.
pub fn examine(guard: &Guard, path: &Path) -> Result<Examined, Error> {
    let file = guard.open(path, Access::Read)?;
    let failed = |error: io::Error| Error::from_io(format_args!("{}: reading its superblock", path.display()), &error);
    let size_bytes = size_of(&file).map_err(failed)?;
    let member_sectors = size_bytes / SECTOR_BYTES;
    let mut found = Vec::new();
    for version in Version::ALL {
        let Some(offset) = version.offset_sectors(member_sectors) else { continue };
        let bytes = read_up_to(&file, offset * SECTOR_BYTES, SUPERBLOCK_BYTES).map_err(failed)?;
        let Ok(superblock) = Superblock::decode(&bytes) else { continue };
        let problems = superblock.problems(version, member_sectors).iter().map(ToString::to_string).collect();
        let bitmap = match bitmap_offset(&superblock, offset) {
            Some(offset) => BitmapHeader::decode(&read_up_to(&file, offset * SECTOR_BYTES, SUPERBLOCK_BYTES).map_err(failed)?).ok(),
            None => None,
        };
        found.push(Found { version, checksum: superblock.checksum_verdict(), problems, superblock, bitmap });
    }
    Ok(Examined { path: path.to_owned(), size_bytes, found })
}

/// The sector on the member at which the superblock says that a bitmap lies.
fn bitmap_offset(superblock: &Superblock, superblock_sector: u64) -> Option<u64> {
    let has_bitmap = superblock.features.contains(md::Features::BITMAP) && !superblock.features.has_ppl();
    has_bitmap.then(|| superblock_sector.checked_add_signed(superblock.bitmap_offset_sectors.into())).flatten()
}

impl Examined {
    /// The member for assembling, by the superblock that was written last where there are several.
    #[must_use]
    pub fn candidate(&self) -> Option<Candidate> {
        let newest = self.found.iter().max_by_key(|found| (found.checksum == ChecksumVerdict::Correct, found.superblock.created))?;
        Some(Candidate {
            name: self.path.display().to_string(),
            size_sectors: self.size_bytes / SECTOR_BYTES,
            version: newest.version,
            superblock: newest.superblock.clone(),
            bitmap: newest.bitmap.clone(),
        })
    }
}

/// The files and block devices that the paths name: a folder stands for the files in it, in the order of their names.
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
        let failed = |error: io::Error| Error::usage(format!("{}: reading the folder: {error}", path.display()));
        let entries: Result<Vec<_>, io::Error> = fs::read_dir(path).map_err(failed)?.collect();
        let mut files: Vec<PathBuf> =
            entries.map_err(failed)?.into_iter().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        files.sort();
        members.extend(files);
    }
    Ok(members)
}

/// What to make besides the format's own settings.
#[derive(Clone, Debug)]
pub struct Create {
    /// The array's name.
    pub name: String,
    /// Its level.
    pub level: md::Level,
    /// Its layout.
    pub layout: md::Layout,
    /// Chunk in bytes; 0 where the level has none.
    pub chunk_bytes: u64,
    /// The members in the order of their roles; `None` is a missing one.
    pub members: Vec<Option<PathBuf>>,
    /// Those that wait.
    pub spares: Vec<PathBuf>,
    /// What happens after a crash.
    pub consistency: Consistency,
    /// Members that are not there are made as files of this size, full of zeroes.
    pub create_bytes: Option<u64>,
    /// The user says that the members agree already.
    pub assume_clean: bool,
}

/// Writes the superblocks of a new array. Nothing is written before every member was opened and every superblock computed.
///
/// # Errors
/// What is wrong with the settings (nothing was written), a member that was refused, or one that could not be written.
pub fn create(guard: &Guard, wanted: &Create) -> Result<Vec<Superblock>, Error> {
    let present: Vec<(&PathBuf, Role)> = (wanted.members.iter().zip(0_u16..))
        .filter_map(|(member, role)| Some((member.as_ref()?, Role::Active(role))))
        .chain(wanted.spares.iter().map(|spare| (spare, Role::Spare)))
        .collect();
    let absent: Vec<&PathBuf> = present.iter().map(|(path, _)| *path).filter(|path| !path.exists()).collect();
    if let (Some(path), None) = (absent.first(), wanted.create_bytes) {
        return Err(Error::usage(format!("{}: no such file; --size SIZE makes the members that are not there", path.display())));
    }
    // Fresh files are zero, and zero is in sync with zero at every level.
    let in_sync = wanted.assume_clean || absent.len() == present.len();
    let made = absent.iter().try_for_each(|path| guard.make_file(path, wanted.create_bytes.unwrap_or(0), |_| Ok::<(), block::Error>(())));
    made.map_err(Error::from).and_then(|()| write_superblocks(guard, wanted, &present, in_sync)).map_err(|error| {
        let left: String = guard.remove_made().iter().map(|problem| format!("; {problem}")).collect();
        error.and_then_some(&left)
    })
}

fn write_superblocks(guard: &Guard, wanted: &Create, present: &[(&PathBuf, Role)], in_sync: bool) -> Result<Vec<Superblock>, Error> {
    let mut random = reactor::Random::new();
    let mut uuid = || {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        bytes
    };
    let set_uuid = uuid();
    let (mut files, mut members) = (Vec::new(), Vec::new());
    for (path, role) in present {
        let file = guard.open(path, Access::Write)?;
        let size_bytes = size_of(&file).map_err(|error| Error::from_io(path.display(), &error))?;
        let name = path.display().to_string();
        members.push(NewMember { name, size_sectors: size_bytes / SECTOR_BYTES, device_uuid: uuid(), role: *role, write_mostly: false });
        files.push(file);
    }
    let array = NewArray {
        set_uuid,
        name: wanted.name.clone(),
        created: TimeStamp { seconds: host::unix_seconds(), microseconds: 0 },
        level: wanted.level,
        layout: wanted.layout,
        chunk_sectors: u32::try_from(wanted.chunk_bytes / SECTOR_BYTES).map_err(|_| Error::usage("the chunk is too large"))?,
        raid_disks: wanted.members.len() as u32,
        members,
        consistency: wanted.consistency,
        in_sync,
    };
    let superblocks = array.superblocks().map_err(|error| Error::usage(error.to_string()))?;
    let bitmap = array.bitmap(&superblocks).map_err(|error| Error::usage(error.to_string()))?.map(|bitmap| bitmap.encode());
    for ((file, superblock), (path, _)) in files.iter().zip(&superblocks).zip(present) {
        let failed = |error: io::Error| Error::from_io(format_args!("{}: writing its superblock", path.display()), &error);
        let mut bytes = superblock.encode();
        bytes.resize(SUPERBLOCK_BYTES, 0);
        let at = superblock.super_offset_sectors * SECTOR_BYTES;
        if let (Some(bitmap), Some(sector)) = (&bitmap, bitmap_offset(superblock, superblock.super_offset_sectors)) {
            file.write_all_at(bitmap, sector * SECTOR_BYTES).map_err(failed)?;
        }
        if superblock.bad_block_size_sectors > 0
            && let Some(sector) = superblock.super_offset_sectors.checked_add_signed(superblock.bad_block_offset_sectors.into())
        {
            // All ones: the log is empty.
            let empty = vec![0xff; usize::from(superblock.bad_block_size_sectors) * SECTOR_BYTES as usize];
            file.write_all_at(&empty, sector * SECTOR_BYTES).map_err(failed)?;
        }
        file.write_all_at(&bytes, at).and_then(|()| file.sync_all()).map_err(failed)?;
    }
    Ok(superblocks)
}

/// Size of a file or block device in bytes.
fn size_of(mut file: &File) -> io::Result<u64> {
    io::Seek::seek(&mut file, io::SeekFrom::End(0))
}
