//! Opening one member at the start of an array.

use std::sync::Arc;

use block::{Blocking, Device, EmulatingDevice, Error, ErrorKind, Reactor, SECTOR_BYTES};
use words::{Message, Text, statement};

use super::examine::{SUPERBLOCK_BYTES, examine, read};
use super::options::StartOptions;
use crate::catalogue;
use crate::md::{
    Assembly, BadRange, Candidate, Features, Slot, Superblock, TimeStamp, UsedDevice,
    decode_bad_blocks,
};
use crate::ranges::Ranges;

/// A member that is used.
pub(super) struct StartMember {
    pub(super) device: Arc<dyn Device>,
    pub(super) name: String,
    pub(super) superblock: Superblock,
    pub(super) channel: Blocking,
    pub(super) data_offset: u64,
    pub(super) unrecovered: Ranges,
    pub(super) lost: Ranges,
    /// Its superblock counts for all.
    pub(super) is_newest: bool,
    /// What of its metadata is damaged, and what is done without it.
    pub(super) damage: Option<Text>,
}

impl StartMember {
    /// Members in the order of their age; the last is the one to believe.
    pub(super) fn age(&self) -> (bool, u64, TimeStamp) {
        (self.is_newest, self.superblock.events, self.superblock.updated)
    }
}

/// What members are opened for.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    Start,
    /// To find out whether it could be started: nothing is written.
    Look(&'a [Candidate]),
}

impl Purpose<'_> {
    pub(super) fn is_start(self) -> bool {
        matches!(self, Purpose::Start)
    }
}

pub(super) fn refused(text: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Refused, text)
}

/// Opens the member in a slot, if it is to be used; its superblock has to be the one that was
/// assembled.
pub(super) fn open_member(
    slot: &Slot,
    assembly: &Assembly,
    devices: &[Option<Arc<dyn Device>>],
    options: &StartOptions,
    purpose: Purpose<'_>,
    reactor: &Reactor,
) -> Result<Option<StartMember>, Error> {
    let (used, recovered) = match slot {
        Slot::Present(used) => (used, None),
        Slot::Recovering { used, recovered_sectors } => (used, Some(*recovered_sectors)),
        Slot::Stale { .. } | Slot::Missing => return Ok(None),
    };
    let device = devices.get(used.candidate).and_then(Option::as_ref);
    let device = device.ok_or_else(|| {
        refused(statement!(catalogue::CANDIDATE_NOT_GIVEN, number = used.candidate))
    })?;
    let name = match purpose {
        Purpose::Start => device.describe().to_string(),
        Purpose::Look(candidates) => candidates[used.candidate].name.clone(),
    };
    // All that is written to metadata is durable when it is done.
    let device = if options.read_only {
        Arc::clone(device)
    } else {
        EmulatingDevice::over(Arc::clone(device))
    };
    let changed = || refused(statement!(catalogue::SUPERBLOCK_CHANGED, name = &name));
    let candidate = examine(&*device, &name, reactor)?.ok_or_else(changed)?;
    let superblock = candidate.superblock;
    if superblock.set_uuid != assembly.set_uuid
        || superblock.data_offset_sectors != used.data_offset_sectors
    {
        return Err(changed());
    }
    check_blocks(&*device, &name, &superblock, used, assembly, options)?;
    if device.info().read_only && !options.read_only && purpose.is_start() {
        return Err(refused(statement!(catalogue::MEMBER_READ_ONLY, name = name)));
    }
    let mut channel = Blocking::open(&*device, reactor)?;
    let (lost, damage) = lost_of(&mut channel, &*device, &name, &superblock, options)?;
    let member_bytes = assembly.size_sectors * SECTOR_BYTES;
    let unrecovered = recovered.map_or(Ranges::none(), |sector| {
        Ranges::one(sector.saturating_mul(SECTOR_BYTES).min(member_bytes)..member_bytes)
    });
    Ok(Some(StartMember {
        device,
        name,
        superblock,
        channel,
        data_offset: used.data_offset_sectors * SECTOR_BYTES,
        unrecovered,
        lost,
        is_newest: used.candidate == assembly.newest,
        damage,
    }))
}

/// Whether data and superblock of a member begin on a block of its device.
fn check_blocks(
    device: &dyn Device,
    name: &str,
    superblock: &Superblock,
    used: &UsedDevice,
    assembly: &Assembly,
    options: &StartOptions,
) -> Result<(), Error> {
    let block = u64::from(device.info().block_bytes);
    let misplaced = |what: Message, byte: u64| {
        Err(refused(statement!(
            catalogue::MISPLACED,
            name = name,
            what = what,
            byte = byte,
            block = block
        )))
    };
    let data_offset = used.data_offset_sectors * SECTOR_BYTES;
    let superblock_at = superblock.super_offset_sectors * SECTOR_BYTES;
    if !data_offset.is_multiple_of(block) {
        return misplaced(catalogue::THE_DATA, data_offset);
    }
    if !options.read_only
        && assembly.level.is_redundant()
        && (block > SUPERBLOCK_BYTES || !superblock_at.is_multiple_of(block))
    {
        return misplaced(catalogue::THE_SUPERBLOCK, superblock_at);
    }
    Ok(())
}

/// What of a member's data is lost, by its bad-block log; and what is done without the log, where
/// that is damaged and the array is started all the same.
fn lost_of(
    channel: &mut Blocking,
    device: &dyn Device,
    name: &str,
    superblock: &Superblock,
    options: &StartOptions,
) -> Result<(Ranges, Option<Text>), Error> {
    match bad_blocks(channel, device, superblock) {
        Ok(lost) => Ok((lost, None)),
        Err(error) if options.read_only || options.force => {
            let without = catalogue::LOST_READS_AS_DATA;
            let damage =
                statement!(catalogue::LOG_LEFT_OUT, name = name, without = without, error = error);
            Ok((Ranges::none(), Some(damage)))
        }
        Err(error) => {
            let advice = catalogue::LOG_ADVICE;
            let text = error.text().at(catalogue::BAD_BLOCK_LOG).at(name).and("; ").and(advice);
            Err(Error::new(ErrorKind::Refused, text))
        }
    }
}

/// What the member's bad-block log names, in bytes of its data. It reads as unreadable until it is
/// written.
fn bad_blocks(
    channel: &mut Blocking,
    device: &dyn Device,
    superblock: &Superblock,
) -> Result<Ranges, Error> {
    let length = u64::from(superblock.bad_block_size_sectors) * SECTOR_BYTES;
    let place = superblock
        .super_offset_sectors
        .checked_add_signed(superblock.bad_block_offset_sectors.into());
    let Some(place) =
        place.filter(|_| length > 0 && superblock.features.contains(Features::BAD_BLOCKS))
    else {
        return Ok(Ranges::none());
    };
    let bytes = read(channel, device, place * SECTOR_BYTES, length)?;
    let ranges = decode_bad_blocks(&bytes, superblock.bad_block_shift)?;
    // The array's blocks may be larger than the log's.
    let block = u64::from(device.info().block_bytes);
    let bytes = |range: BadRange| {
        let (start, end) = (
            range.sector.saturating_mul(SECTOR_BYTES),
            range.sector.saturating_add(range.sectors).saturating_mul(SECTOR_BYTES),
        );
        start / block * block..end.checked_next_multiple_of(block).unwrap_or(end)
    };
    Ok(ranges.into_iter().map(bytes).collect())
}
