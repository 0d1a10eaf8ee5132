//! New arrays: superblocks for members that are given up for them.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use array::md::{self, Consistency, NewArray, NewMember, Role, Superblock, TimeStamp};

use super::{SECTOR_BYTES, SUPERBLOCK_BYTES, bitmap_offset, size_of};
use host::guard::{Access, Guard};
use host::{Error, facts};
use stack::{Identity, twice_text};

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

/// Writes the superblocks of a new array. Nothing is written before every member was opened and
/// every superblock computed.
///
/// # Errors
/// What is wrong with the settings (nothing was written), a member that was refused, or one that
/// could not be written.
pub fn create(guard: &Guard, wanted: &Create) -> Result<Vec<Superblock>, Error> {
    let present: Vec<(&PathBuf, Role)> = (wanted.members.iter().zip(0_u16..))
        .filter_map(|(member, role)| Some((member.as_ref()?, Role::Active(role))))
        .chain(wanted.spares.iter().map(|spare| (spare, Role::Spare)))
        .collect();
    if let Some((earlier, later)) =
        Identity::same_twice(present.iter().map(|(path, _)| path.as_path()))
    {
        return Err(Error::usage(twice_text(earlier, later)));
    }
    let absent: Vec<&PathBuf> =
        present.iter().map(|(path, _)| *path).filter(|path| !path.exists()).collect();
    if let (Some(path), None) = (absent.first(), wanted.create_bytes) {
        return Err(Error::usage(format!(
            "{}: no such file; --size SIZE makes the members that are not there",
            path.display()
        )));
    }
    // Fresh files are zero, and zero is in sync with zero at every level.
    let in_sync = wanted.assume_clean || absent.len() == present.len();
    let made = absent.iter().try_for_each(|path| {
        guard.make_file(path, wanted.create_bytes.unwrap_or(0), |_| Ok::<(), block::Error>(()))
    });
    made.map_err(Error::from)
        .and_then(|()| write_superblocks(guard, wanted, &present, in_sync))
        .map_err(|error| {
            let left: String =
                guard.remove_made().iter().map(|problem| format!("; {problem}")).collect();
            error.and_then_some(&left)
        })
}

fn write_superblocks(
    guard: &Guard,
    wanted: &Create,
    present: &[(&PathBuf, Role)],
    in_sync: bool,
) -> Result<Vec<Superblock>, Error> {
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
        members.push(NewMember {
            name,
            size_sectors: size_bytes / SECTOR_BYTES,
            device_uuid: uuid(),
            role: *role,
            write_mostly: false,
        });
        files.push(file);
    }
    guard.refuse_stray_consent()?;
    let array = NewArray {
        set_uuid,
        name: wanted.name.clone(),
        created: TimeStamp { seconds: facts::unix_seconds(), microseconds: 0 },
        level: wanted.level,
        layout: wanted.layout,
        chunk_sectors: u32::try_from(wanted.chunk_bytes / SECTOR_BYTES)
            .map_err(|_| Error::usage("the chunk is too large"))?,
        raid_disks: wanted.members.len() as u32,
        members,
        consistency: wanted.consistency,
        in_sync,
    };
    let superblocks = array.superblocks().map_err(|error| Error::usage(error.to_string()))?;
    let bitmap = array
        .bitmap(&superblocks)
        .map_err(|error| Error::usage(error.to_string()))?
        .map(|bitmap| bitmap.encode());
    for ((file, superblock), (path, _)) in files.iter().zip(&superblocks).zip(present) {
        let failed = |error: io::Error| {
            Error::from_io(format_args!("{}: writing its superblock", path.display()), &error)
        };
        let mut bytes = superblock.encode();
        bytes.resize(SUPERBLOCK_BYTES, 0);
        let at = superblock.super_offset_sectors * SECTOR_BYTES;
        if let (Some(bitmap), Some(sector)) =
            (&bitmap, bitmap_offset(superblock, superblock.super_offset_sectors))
        {
            file.write_all_at(bitmap, sector * SECTOR_BYTES).map_err(failed)?;
        }
        if superblock.bad_block_size_sectors > 0
            && let Some(sector) = superblock
                .super_offset_sectors
                .checked_add_signed(superblock.bad_block_offset_sectors.into())
        {
            // All ones: the log is empty.
            let empty =
                vec![0xff; usize::from(superblock.bad_block_size_sectors) * SECTOR_BYTES as usize];
            file.write_all_at(&empty, sector * SECTOR_BYTES).map_err(failed)?;
        }
        file.write_all_at(&bytes, at).and_then(|()| file.sync_all()).map_err(failed)?;
    }
    Ok(superblocks)
}
