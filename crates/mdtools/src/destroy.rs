//! Members that are to be members no more: their superblocks are erased.

use crate::catalogue;
use array::md::uuid_text;

use super::overwrite::{Image, Overwrite, overwrite};
use super::source::Purpose;
use super::{ExaminedPath, MemberSource, SECTOR_BYTES, SUPERBLOCK_BYTES, bitmap_offset, examine};
use host::Error;
use host::guard::Guard;
use words::{Text, statement};

/// A member whose superblocks were erased.
#[derive(Clone, Debug)]
pub struct ErasedMember {
    /// What it lies on.
    pub source: MemberSource,
    /// What it was, one text for each superblock.
    pub was: Vec<Text>,
    /// The array's identity.
    pub set_uuid: [u8; 16],
    /// How many members the array has.
    pub members: u32,
}

/// Erases the superblocks of the members, and the heads of their bitmaps. What they hold otherwise
/// is left as it is. Every member is opened before anything is written to one; all are erased or
/// none; the guard refuses those that run, and asks for consent to the signature.
///
/// # Errors
/// A path without a superblock, members of several arrays, a member that the guard refuses, or one
/// that cannot be written.
pub fn destroy<S: Clone + Into<MemberSource>>(
    guard: &Guard,
    sources: &[S],
) -> Result<Vec<ErasedMember>, Error> {
    let examined: Vec<ExaminedPath> = sources
        .iter()
        .map(|source| examine(guard, &source.clone().into()))
        .collect::<Result<_, _>>()?;
    if let Some(none) = examined.iter().find(|examined| examined.found.is_empty()) {
        return Err(Error::usage(none.no_superblock_text()));
    }
    let uuids = |examined: &ExaminedPath| {
        examined.candidate().map(|candidate| candidate.superblock.set_uuid)
    };
    if let Some(other) = examined.iter().find(|other| uuids(other) != uuids(&examined[0])) {
        let text = |examined: &ExaminedPath| {
            uuids(examined).map(|uuid| uuid_text(&uuid)).unwrap_or_default()
        };
        let (first, one, two) = (&examined[0].source, text(&examined[0]), text(other));
        return Err(Error::usage(statement!(
            catalogue::TWO_ARRAYS,
            first = first,
            one = one,
            second = &other.source,
            two = two
        )));
    }
    let open = |ExaminedPath { source, .. }: &ExaminedPath| source.open(guard, Purpose::Write);
    let regions = examined.iter().map(open).collect::<Result<Vec<_>, Error>>()?;
    guard.refuse_stray_consent()?;
    let writes: Vec<Overwrite<'_>> = (examined.iter().zip(&regions))
        .map(|(examined, region)| Overwrite {
            source: &examined.source,
            region,
            image: zeroes(examined),
        })
        .collect();
    overwrite(&writes, catalogue::ERASING_SUPERBLOCK)?;
    let erased = |examined: &ExaminedPath| {
        let superblock = &examined.found.first()?.superblock;
        Some(ErasedMember {
            source: examined.source.clone(),
            was: examined
                .found
                .iter()
                .map(|found| {
                    let (role, array) = (found.superblock.role(), found.superblock.name());
                    statement!(catalogue::WAS_OF_ARRAY, role = role, array = array)
                })
                .collect(),
            set_uuid: superblock.set_uuid,
            members: superblock.raid_disks,
        })
    };
    Ok(examined.iter().filter_map(erased).collect())
}

/// Zeroes over the superblocks and the heads of their bitmaps.
fn zeroes(examined: &ExaminedPath) -> Image {
    let mut image = Image::new();
    let mut erase = |sector: u64| image.push((sector * SECTOR_BYTES, vec![0; SUPERBLOCK_BYTES]));
    for found in &examined.found {
        // A superblock that is not where it says it is is a copy of another device's.
        let Some(own) = found.version.offset_sectors(examined.size_bytes / SECTOR_BYTES) else {
            continue;
        };
        if let Some(bitmap) = bitmap_offset(&found.superblock, own)
            && found.bitmap.is_some()
        {
            erase(bitmap);
        }
        erase(own);
    }
    image
}
