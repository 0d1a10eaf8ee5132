//! Starting an array that was stopped while its shape was being changed.

use std::sync::Arc;

use block::{Device, Error, Node, SECTOR_BYTES};
use words::statement;

use super::running::RunningArray;
use super::start_member::{StartMember, refused};
use crate::catalogue;
use crate::device::{ArrayDevice, MemberAtStart};
use crate::geometry::{Linear, Raid10};
use crate::level::{Level, LinearLevel, MirrorLevel, ParityLevel};
use crate::md::{Assembly, Layout, Level as MdLevel, Reshape, Shape, Superblock, Version};
use crate::ranges::Ranges;
use crate::sync::Control;

/// An array in the middle of a reshape, for reading: a piece in each of its two shapes, one behind
/// the other. Members that are being rebuilt meanwhile are not used.
pub(super) fn two_shapes(
    reshape: &Reshape,
    assembly: &Assembly,
    master: &Superblock,
    members: &[Option<StartMember>],
) -> Result<RunningArray, Error> {
    let size_bytes = reshape.array_sectors.saturating_mul(SECTOR_BYTES);
    let position = reshape.position_sectors.saturating_mul(SECTOR_BYTES).min(size_bytes);
    let version = version_of(master);
    let old = in_shape(&reshape.old, false, assembly, members, version)?;
    let new = in_shape(&reshape.new, true, assembly, members, version)?;
    let [first, second] = if reshape.is_backwards { [&old, &new] } else { [&new, &old] };
    let parts = [(first, 0..position), (second, position..size_bytes)];
    let parts = parts.into_iter().filter(|(_, range)| !range.is_empty());
    let (starts, sizes): (Vec<_>, Vec<u64>) = parts
        .map(|(part, range)| {
            let device = Arc::clone(&part.device);
            let length = range.end - range.start;
            (
                Some(MemberAtStart {
                    device,
                    data_offset: range.start,
                    unrecovered: Ranges::none(),
                    lost: Ranges::none(),
                }),
                length,
            )
        })
        .unzip();
    let level = Box::new(LinearLevel::new(Linear::new(&sizes, SECTOR_BYTES)));
    let device =
        ArrayDevice::resume_with_metadata(level, starts, Ranges::none(), None, true, version)?;
    let nodes = members
        .iter()
        .map(|member| member.as_ref().map_or(Node::Missing, |member| member.device.describe()))
        .collect();
    let node = Node::layer(&assembly.level.to_string(), nodes).with("metadata", version);
    // Questions about members are about those of the wider shape.
    let wider = if reshape.old.disks > reshape.new.disks { old.control } else { new.control };
    Ok(RunningArray::of_pieces(Arc::new(device), wider, node, assembly))
}

/// One shape of an array that is changing it.
struct ShapePart {
    device: Arc<dyn Device>,
    control: Control,
}

fn in_shape(
    shape: &Shape,
    is_new: bool,
    assembly: &Assembly,
    members: &[Option<StartMember>],
    version: Version,
) -> Result<ShapePart, Error> {
    let used = assembly.size_sectors * SECTOR_BYTES;
    let start = |member: &Option<StartMember>| {
        let member = member.as_ref().filter(|member| member.unrecovered.is_empty());
        member.map(|member| start_in_shape(member, is_new, used)).transpose()
    };
    let starts = members[..shape.disks].iter().map(start).collect::<Result<Vec<_>, Error>>()?;
    let level = level_in_shape(shape, assembly, used)?;
    let device =
        ArrayDevice::resume_with_metadata(level, starts, Ranges::none(), None, true, version)?;
    let control = device.control();
    Ok(ShapePart { device: Arc::new(device), control })
}

/// A member as it is in one of the shapes; `used` is what the array uses of it, in bytes.
fn start_in_shape(member: &StartMember, is_new: bool, used: u64) -> Result<MemberAtStart, Error> {
    let sector = if is_new {
        member.superblock.new_data_offset_sectors()
    } else {
        Some(member.superblock.data_offset_sectors)
    };
    let data_offset = sector.and_then(|sector| sector.checked_mul(SECTOR_BYTES));
    let fits = |&offset: &u64| {
        offset.checked_add(used).is_some_and(|end| end <= member.device.info().size_bytes)
    };
    let data_offset = data_offset.filter(fits).ok_or_else(|| {
        let (from, moved) =
            (member.superblock.data_offset_sectors, member.superblock.new_offset_sectors);
        refused(statement!(
            catalogue::NEW_DATA_START,
            name = &member.name,
            moved = moved,
            from = from
        ))
    })?;
    let block = u64::from(member.device.info().block_bytes);
    if !data_offset.is_multiple_of(block) {
        return Err(refused(statement!(
            catalogue::DATA_NOT_ON_BLOCK,
            name = &member.name,
            data_offset = data_offset,
            block = block
        )));
    }
    // Bad blocks are counted from where the data were before.
    let moved = i128::from(data_offset) - i128::from(member.data_offset);
    let here = |byte: u64| u64::try_from(i128::from(byte) - moved).unwrap_or(0);
    let lost = member
        .lost
        .iter()
        .map(|range| here(range.start)..here(range.end))
        .filter(|range| !range.is_empty())
        .collect();
    Ok(MemberAtStart {
        device: Arc::clone(&member.device),
        data_offset,
        unrecovered: Ranges::none(),
        lost,
    })
}

fn level_in_shape(shape: &Shape, assembly: &Assembly, used: u64) -> Result<Box<dyn Level>, Error> {
    let chunk = u64::from(shape.chunk_sectors) * SECTOR_BYTES;
    let (count, whole) = (shape.disks, used / chunk * chunk);
    Ok(match (assembly.level, shape.layout) {
        (MdLevel::Raid10, Layout::Raid10(layout)) => {
            Box::new(MirrorLevel::raid10(Raid10::new(count, used, chunk, layout)))
        }
        (MdLevel::Raid4, _) => Box::new(ParityLevel::raid4(count, whole, chunk)),
        (MdLevel::Raid5, Layout::Parity(layout)) => {
            Box::new(ParityLevel::raid5(count, whole, chunk, layout))
        }
        (MdLevel::Raid6, Layout::Parity(layout)) => {
            Box::new(ParityLevel::raid6(count, whole, chunk, layout))
        }
        (level, layout) => {
            return Err(refused(statement!(
                catalogue::NO_KNOWN_RESHAPE,
                level = level.to_string(),
                layout = layout.to_string()
            )));
        }
    })
}

/// Which version a superblock has that was found where it says it is.
pub(super) fn version_of(superblock: &Superblock) -> Version {
    match superblock.super_offset_sectors {
        _ if superblock.old_checksum.is_some() => Version::V0_90,
        8 => Version::V1_2,
        0 => Version::V1_1,
        _ => Version::V1_0,
    }
}
