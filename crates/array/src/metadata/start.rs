//! Starting an array from the superblocks of its members.
//!
//! ```text
//!   whole devices ──> examine ──> md::assemble ──> start ──> Running
//!                                                   superblocks once more, bitmap, bad blocks; PPL replayed
//! ```
//!
//! A start for reading only writes nothing at all, and so needs force where parity would have to be
//! made again for what is read to be true. Any other writes nothing before the first write of the
//! host, but for parity that a partial parity log makes again.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use block::{Blocking, Device, Emulated, Error, ErrorKind, Node, Reactor, SECTOR_BYTES, size_text};
use reactor::since_boot;

use super::facts::{Facts, RecordedState, superblock_of};
use super::log::{LogWriter, Replayed, Source, replay};
use super::write_intent::WriteIntentBitmap;
use super::{Metadata, MetadataDevice, Running, State, planted};
use crate::device::{ArrayDevice, Start};
use crate::fence::{self, Freedom};
use crate::geometry::{Linear, Raid0, Raid10};
use crate::health::MEMBERS_MAX;
use crate::md::{
    Assembly, Bitmap, BitmapHeader, Candidate, ChecksumVerdict, Features, Layout, PPL_HEADER_BYTES,
    Problem, Reshape, Role, Shape, Slot, Superblock, TimeStamp, Version, decode_bad_blocks,
};
use crate::sync::{Control, Ranges};
use crate::{
    Level, LinearLevel, MirrorLevel, ParityLayout, ParityLevel, Raid0Layout, Raid0Level, md,
};

/// What a superblock may take up, in bytes.
const SUPERBLOCK_BYTES: u64 = 4096;

/// How to start an array.
#[derive(Clone, Copy, Debug)]
pub struct StartOptions {
    /// Nothing is ever written to the members.
    pub read_only: bool,
    /// Also where something may be lost by it: see [`md::Start::NeedsForce`].
    pub force: bool,
    /// What time it is, for the superblocks; `None` leaves the time that they have.
    pub time: fn() -> Option<TimeStamp>,
    /// A random number that tells this server from others, where they reach a member.
    pub server: u32,
    /// What [`watch`](super::watch()) found of the members, where others reach one.
    pub freedom: Option<Freedom>,
    /// A mistake for a test to find.
    #[cfg(feature = "planted-mistakes")]
    pub planted: super::PlantedMistake,
}

impl Default for StartOptions {
    fn default() -> StartOptions {
        StartOptions {
            read_only: false,
            force: false,
            time: || None,
            server: 0,
            freedom: None,
            #[cfg(feature = "planted-mistakes")]
            planted: super::PlantedMistake::None,
        }
    }
}

/// Reads the superblock of a whole device, if it has one; of several, the one that was written
/// last. Nothing else may be under way on the reactor.
///
/// # Errors
/// When the device cannot be read.
pub fn examine(
    device: &dyn Device,
    name: &str,
    reactor: &Reactor,
) -> Result<Option<Candidate>, Error> {
    let mut channel = Blocking::open(device, reactor).map_err(|error| error.at(name))?;
    let size_sectors = device.info().size_bytes / SECTOR_BYTES;
    let mut found: Vec<(Version, Superblock)> = Vec::new();
    for version in Version::ALL {
        let Some(sector) = version.offset_sectors(size_sectors) else { continue };
        let bytes = read(&mut channel, device, sector * SECTOR_BYTES, SUPERBLOCK_BYTES)
            .map_err(|error| error.at(name))?;
        if let Ok(superblock) = Superblock::decode_as(version, &bytes, size_sectors)
            && superblock.super_offset_sectors == sector
        {
            found.push((version, superblock));
        }
    }
    let is_correct =
        |superblock: &Superblock| superblock.checksum_verdict() == ChecksumVerdict::Correct;
    let newest = found
        .into_iter()
        .max_by_key(|(_, superblock)| (is_correct(superblock), superblock.created));
    let Some((version, superblock)) = newest else { return Ok(None) };
    let bitmap = match bitmap_offset(&superblock) {
        Some(place) => match read(&mut channel, device, place, SUPERBLOCK_BYTES) {
            Ok(bytes) => BitmapHeader::decode_for(version, &bytes).ok(),
            // As one that makes no sense.
            Err(error) if error.kind() == ErrorKind::Media => None,
            Err(error) => return Err(error.at(name)),
        },
        None => None,
    };
    Ok(Some(Candidate { name: name.to_owned(), size_sectors, version, superblock, bitmap }))
}

/// What is wrong with the superblocks of a whole device that are there and cannot be decoded, and
/// the version of each by its place. Nothing else may be under way on the reactor.
///
/// # Errors
/// When the device cannot be read.
pub fn damage(device: &dyn Device, reactor: &Reactor) -> Result<Vec<(Version, Problem)>, Error> {
    let mut channel = Blocking::open(device, reactor)?;
    let size_sectors = device.info().size_bytes / SECTOR_BYTES;
    let mut damaged = Vec::new();
    for version in Version::ALL.into_iter().filter(|version| *version != Version::V0_90) {
        let Some(sector) = version.offset_sectors(size_sectors) else { continue };
        let bytes = read(&mut channel, device, sector * SECTOR_BYTES, SUPERBLOCK_BYTES)?;
        damaged.extend(Superblock::damage(&bytes).map(|problem| (version, problem)));
    }
    Ok(damaged)
}

/// Bytes from an offset on; fewer at the end of the device. What cannot be read is tried once more.
fn read(
    channel: &mut Blocking,
    device: &dyn Device,
    offset: u64,
    length: u64,
) -> Result<Vec<u8>, Error> {
    let block = u64::from(device.info().block_bytes);
    let start = offset - offset % block;
    let end = (offset + length).next_multiple_of(block).min(device.info().size_bytes);
    let mut bytes = vec![0; end.saturating_sub(start) as usize];
    channel.read_slice(start, &mut bytes).or_else(|_| channel.read_slice(start, &mut bytes))?;
    let bytes = bytes.get((offset - start) as usize..).unwrap_or_default();
    Ok(bytes[..bytes.len().min(length as usize)].to_vec())
}

/// Where the bitmap of a member is, in bytes.
fn bitmap_offset(superblock: &Superblock) -> Option<u64> {
    let has_bitmap =
        superblock.features.contains(Features::BITMAP) && !superblock.features.has_ppl();
    let sector =
        superblock.super_offset_sectors.checked_add_signed(superblock.bitmap_offset_sectors.into());
    has_bitmap.then_some(sector?.checked_mul(SECTOR_BYTES)).flatten()
}

/// A member that is used.
struct StartMember {
    device: Arc<dyn Device>,
    name: String,
    superblock: Superblock,
    channel: Blocking,
    data_offset: u64,
    unrecovered: Ranges,
    lost: Ranges,
    /// Its superblock counts for all.
    is_newest: bool,
    /// What of its metadata is damaged, and what is done without it.
    damage: Option<String>,
}

impl StartMember {
    /// Members in the order of their age; the last is the one to believe.
    fn age(&self) -> (bool, u64, TimeStamp) {
        (self.is_newest, self.superblock.events, self.superblock.updated)
    }
}

/// Starts the array that an assembly describes. `devices` are the whole members, one for each
/// candidate of the assembly in their order; those that it does not use may be left out. Nothing
/// else may be under way on the reactor.
///
/// # Errors
/// [`ErrorKind::Refused`] with the assembly's reasons, or what on a member does not fit what was
/// assembled; what kept a member from being read.
pub fn start(
    assembly: &Assembly,
    devices: &[Option<Arc<dyn Device>>],
    options: &StartOptions,
    reactor: &Reactor,
) -> Result<Running, Error> {
    open(assembly, devices, options, Purpose::Start, reactor)
}

/// Whether [`start`] would start the array, from members that are open for reading at least.
/// Nothing is written, and nothing is kept open.
///
/// # Errors
/// As [`start`]; members are called as the candidates are.
pub fn check(
    assembly: &Assembly,
    candidates: &[Candidate],
    devices: &[Option<Arc<dyn Device>>],
    options: &StartOptions,
    reactor: &Reactor,
) -> Result<(), Error> {
    open(assembly, devices, options, Purpose::Look(candidates), reactor).map(drop)
}

/// What members are opened for.
#[derive(Clone, Copy)]
enum Purpose<'a> {
    Start,
    /// To find out whether it could be started: nothing is written.
    Look(&'a [Candidate]),
}

impl Purpose<'_> {
    fn is_start(self) -> bool {
        matches!(self, Purpose::Start)
    }
}

fn open(
    assembly: &Assembly,
    devices: &[Option<Arc<dyn Device>>],
    options: &StartOptions,
    purpose: Purpose<'_>,
    reactor: &Reactor,
) -> Result<Running, Error> {
    check_start(assembly, options)?;
    check_count(assembly, options)?;
    let mut members = Vec::new();
    for slot in &assembly.slots {
        members.push(open_member(slot, assembly, devices, options, purpose, reactor)?);
    }
    let Some(master) = members
        .iter()
        .flatten()
        .max_by_key(|member| member.age())
        .map(|member| member.superblock.clone())
    else {
        return Err(refused("no member is there".to_owned()));
    };
    members.iter_mut().flatten().for_each(|member| follow(&mut member.superblock, &master));
    let mut assembly = assembly.clone();
    assembly.notes.extend(members.iter().flatten().filter_map(|member| member.damage.clone()));
    let assembly = &assembly;
    if let Some(reshape) = &assembly.reshape {
        return two_shapes(reshape, assembly, &master, &members);
    }
    match assembly.level {
        md::Level::Linear => {
            let sizes = data_sizes(assembly, u64::from(assembly.chunk_sectors))?;
            let block = members
                .iter()
                .flatten()
                .map(|member| member.device.info().block_bytes)
                .max()
                .unwrap_or(512);
            finish(
                LinearLevel::new(Linear::new(&sizes, block.into())),
                assembly,
                &master,
                members,
                None,
                options,
            )
        }
        md::Level::Raid0 => {
            let layout = if let Layout::Raid0(Some(layout)) = assembly.layout {
                layout
            } else {
                Raid0Layout::Original
            };
            let sizes = data_sizes(assembly, 1)?;
            let geometry = Raid0::new(&sizes, chunk_bytes(assembly), layout);
            finish(
                Raid0Level::new(geometry, layout, sizes.len()),
                assembly,
                &master,
                members,
                None,
                options,
            )
        }
        md::Level::Raid1 => {
            let level = MirrorLevel::raid1(members.len(), assembly.size_sectors * SECTOR_BYTES);
            finish(level, assembly, &master, members, None, options)
        }
        md::Level::Raid10 => {
            let Layout::Raid10(layout) = assembly.layout else {
                return Err(refused(format!("layout {}", assembly.layout)));
            };
            let geometry = Raid10::new(
                members.len(),
                assembly.size_sectors * SECTOR_BYTES,
                chunk_bytes(assembly),
                layout,
            );
            finish(MirrorLevel::raid10(geometry), assembly, &master, members, None, options)
        }
        md::Level::Raid4 | md::Level::Raid5 | md::Level::Raid6 => {
            let (count, chunk) = (members.len(), chunk_bytes(assembly));
            let member_bytes = assembly.size_sectors * SECTOR_BYTES / chunk * chunk;
            let layout = if let Layout::Parity(layout) = assembly.layout {
                layout
            } else {
                ParityLayout::ParityLast
            };
            let level = match assembly.level {
                md::Level::Raid4 => ParityLevel::raid4(count, member_bytes, chunk),
                md::Level::Raid5 => ParityLevel::raid5(count, member_bytes, chunk, layout),
                _ => ParityLevel::raid6(count, member_bytes, chunk, layout),
            };
            let log = if master.features.has_ppl() {
                // A replay writes before the claim does.
                if options.freedom.is_some_and(|freedom| !freedom.is_fresh(since_boot())) {
                    let text = "it took too long to look at the members: start again";
                    return Err(refused(text.to_owned()));
                }
                replay_logs(&level, assembly, &master, &mut members, options, purpose)?
            } else {
                None
            };
            finish(level, assembly, &master, members, log, options)
        }
        other => Err(refused(format!("level {other} is not served"))),
    }
}

/// An array in the middle of a reshape, for reading: a piece in each of its two shapes, one behind
/// the other. Members that are being rebuilt meanwhile are not used.
fn two_shapes(
    reshape: &Reshape,
    assembly: &Assembly,
    master: &Superblock,
    members: &[Option<StartMember>],
) -> Result<Running, Error> {
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
                Some(Start {
                    device,
                    data_offset: range.start,
                    unrecovered: Ranges::none(),
                    lost: Ranges::none(),
                }),
                length,
            )
        })
        .unzip();
    let level = LinearLevel::new(Linear::new(&sizes, SECTOR_BYTES));
    let device =
        ArrayDevice::resume_with_metadata(level, starts, Ranges::none(), None, true, version)?;
    let nodes = members
        .iter()
        .map(|member| member.as_ref().map_or(Node::Missing, |member| member.device.describe()))
        .collect();
    let node = Node::layer(&assembly.level.to_string(), nodes).with("metadata", version);
    // Questions about members are about those of the wider shape.
    let wider = if reshape.old.disks > reshape.new.disks { old.control } else { new.control };
    Ok(Running::of_pieces(Arc::new(device), wider, node, assembly))
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
    let mut starts = Vec::new();
    for member in &members[..shape.disks] {
        let Some(member) = member.as_ref().filter(|member| member.unrecovered.is_empty()) else {
            starts.push(None);
            continue;
        };
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
            refused(format!(
                "{}: data of the new shape would begin {moved} sectors (new_offset) \
                after sector {from}",
                member.name
            ))
        })?;
        let block = u64::from(member.device.info().block_bytes);
        if !data_offset.is_multiple_of(block) {
            return Err(refused(format!(
                "{}: data at byte {data_offset} do not start on a block of {block} bytes",
                member.name
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
        starts.push(Some(Start {
            device: Arc::clone(&member.device),
            data_offset,
            unrecovered: Ranges::none(),
            lost,
        }));
    }
    let chunk = u64::from(shape.chunk_sectors) * SECTOR_BYTES;
    let (count, whole) = (shape.disks, used / chunk * chunk);
    match (assembly.level, shape.layout) {
        (md::Level::Raid10, Layout::Raid10(layout)) => shape_part(
            MirrorLevel::raid10(Raid10::new(count, used, chunk, layout)),
            starts,
            version,
        ),
        (md::Level::Raid4, _) => {
            shape_part(ParityLevel::raid4(count, whole, chunk), starts, version)
        }
        (md::Level::Raid5, Layout::Parity(layout)) => {
            shape_part(ParityLevel::raid5(count, whole, chunk, layout), starts, version)
        }
        (md::Level::Raid6, Layout::Parity(layout)) => {
            shape_part(ParityLevel::raid6(count, whole, chunk, layout), starts, version)
        }
        (level, layout) => Err(refused(format!(
            "{level} with the layout {layout} has no reshape that raidloom knows"
        ))),
    }
}

fn shape_part<L: Level>(
    level: L,
    members: Vec<Option<Start>>,
    version: Version,
) -> Result<ShapePart, Error> {
    let device =
        ArrayDevice::resume_with_metadata(level, members, Ranges::none(), None, true, version)?;
    let control = device.control();
    Ok(ShapePart { device: Arc::new(device), control })
}

/// Which version a superblock has that was found where it says it is.
fn version_of(superblock: &Superblock) -> Version {
    match superblock.super_offset_sectors {
        _ if superblock.old_checksum.is_some() => Version::V0_90,
        8 => Version::V1_2,
        0 => Version::V1_1,
        _ => Version::V1_0,
    }
}

fn refused(text: String) -> Error {
    Error::new(ErrorKind::Refused, text)
}

/// As in md, the newest member says for all whether there is a bitmap and how far from the
/// superblock.
fn follow(superblock: &mut Superblock, master: &Superblock) {
    let logs = Features::BITMAP.with(Features::PPL).with(Features::MULTIPLE_PPLS);
    // Each member says itself where its log lies; one without a log is refused later.
    if !master.features.has_ppl() {
        superblock.features = superblock.features.without(logs).with(master.features.only(logs));
        superblock.bitmap_offset_sectors = master.bitmap_offset_sectors;
    }
}

fn uses(slot: &Slot) -> bool {
    matches!(slot, Slot::Present(_) | Slot::Recovering { .. })
}

/// Whether so many places may be started, with so many of them taken.
fn check_count(assembly: &Assembly, options: &StartOptions) -> Result<(), Error> {
    let count = assembly.slots.len();
    if options.freedom.is_some() {
        let there = assembly.slots.iter().filter(|slot| uses(slot)).count();
        if !options.force && !fence::may_start(count, there) {
            return Err(refused(format!(
                "the array {} is not started: members are on other hosts, and with {there} of \
                {count} here another server may have the rest: only with force=yes, once none has",
                assembly.name
            )));
        }
    }
    if count > MEMBERS_MAX {
        return Err(refused(format!(
            "raid_disks (byte 92) is {count}; an array has at most {MEMBERS_MAX} members here"
        )));
    }
    Ok(())
}

fn check_start(assembly: &Assembly, options: &StartOptions) -> Result<(), Error> {
    let reasons = match &assembly.start {
        md::Start::Ready
            if options.read_only && !options.force && assembly.reads_wrong_without_log() =>
        {
            format!("only with --force: {}", Assembly::WITHOUT_LOG)
        }
        md::Start::Ready => return Ok(()),
        md::Start::ReadOnly(_) if options.read_only => return Ok(()),
        md::Start::ReadOnlyOrForce(_) if options.read_only || options.force => return Ok(()),
        md::Start::NeedsForce(_) if options.force => return Ok(()),
        md::Start::ReadOnly(reasons) => format!(
            "it may only be read (--read-only, or an overlay over it): {}",
            reasons.join("; ")
        ),
        md::Start::ReadOnlyOrForce(reasons) => {
            format!("only with --read-only or --force: {}", reasons.join("; "))
        }
        md::Start::NeedsForce(reasons) => format!("only with --force: {}", reasons.join("; ")),
        md::Start::Refused(reasons) => reasons.join("; "),
    };
    Err(refused(format!("the array {} is not started: {reasons}", assembly.name)))
}

fn chunk_bytes(assembly: &Assembly) -> u64 {
    u64::from(assembly.chunk_sectors) * SECTOR_BYTES
}

/// What linear and level 0 use of each member, in bytes.
fn data_sizes(assembly: &Assembly, rounding_sectors: u64) -> Result<Vec<u64>, Error> {
    let rounding = rounding_sectors.max(1);
    let size = |slot: &Slot| {
        slot.present().map(|used| used.data_size_sectors / rounding * rounding * SECTOR_BYTES)
    };
    let sizes: Option<Vec<u64>> = assembly.slots.iter().map(size).collect();
    sizes.ok_or_else(|| refused(format!("{} needs all of its members", assembly.level)))
}

fn open_member(
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
        refused(format!("the device of candidate {} was not given", used.candidate))
    })?;
    let name = match purpose {
        Purpose::Start => device.describe().to_string(),
        Purpose::Look(candidates) => candidates[used.candidate].name.clone(),
    };
    // All that is written to metadata is durable when it is done.
    let device =
        if options.read_only { Arc::clone(device) } else { Emulated::over(Arc::clone(device)) };
    let changed = || refused(format!("{name}: its superblock has changed since it was looked at"));
    let candidate = examine(&*device, &name, reactor)?.ok_or_else(changed)?;
    let superblock = candidate.superblock;
    if superblock.set_uuid != assembly.set_uuid
        || superblock.data_offset_sectors != used.data_offset_sectors
    {
        return Err(changed());
    }
    let block = u64::from(device.info().block_bytes);
    let misplaced = |what: &str, byte: u64| {
        refused(format!("{name}: {what} at byte {byte} does not start on a block of {block} bytes"))
    };
    let data_offset = used.data_offset_sectors * SECTOR_BYTES;
    let superblock_at = superblock.super_offset_sectors * SECTOR_BYTES;
    if !data_offset.is_multiple_of(block) {
        return Err(misplaced("the data (data_offset)", data_offset));
    }
    if !options.read_only
        && assembly.level.is_redundant()
        && (block > SUPERBLOCK_BYTES || !superblock_at.is_multiple_of(block))
    {
        return Err(misplaced("the superblock (super_offset)", superblock_at));
    }
    if device.info().read_only && !options.read_only && purpose.is_start() {
        return Err(refused(format!("{name}: is read-only: start the array read-only")));
    }
    let mut channel = Blocking::open(&*device, reactor)?;
    let (lost, damage) = match bad_blocks(&mut channel, &*device, &superblock) {
        Ok(lost) => (lost, None),
        Err(error) if options.read_only || options.force => {
            let without = "what it named may read as data";
            (
                Ranges::none(),
                Some(format!("{name}: the bad-block log is left out, {without}: {error}")),
            )
        }
        Err(error) => {
            let advice = "what it named would read as data: --read-only reads the array without it, \
                --force goes on without it";
            return Err(refused(format!("{name}: the bad-block log: {error}; {advice}")));
        }
    };
    let member_bytes = assembly.size_sectors * SECTOR_BYTES;
    let unrecovered = recovered.map_or(Ranges::none(), |sector| {
        Ranges::one(sector.saturating_mul(SECTOR_BYTES).min(member_bytes)..member_bytes)
    });
    let is_newest = used.candidate == assembly.newest;
    Ok(Some(StartMember {
        device,
        name,
        superblock,
        channel,
        data_offset,
        unrecovered,
        lost,
        is_newest,
        damage,
    }))
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
    let bytes = |range: md::BadRange| {
        let (start, end) = (
            range.sector.saturating_mul(SECTOR_BYTES),
            range.sector.saturating_add(range.sectors).saturating_mul(SECTOR_BYTES),
        );
        start / block * block..end.checked_next_multiple_of(block).unwrap_or(end)
    };
    Ok(ranges.into_iter().map(bytes).collect())
}

/// Makes parity again where it was being written, and says how to log from now on. `None` if
/// nothing will be written.
fn replay_logs(
    level: &ParityLevel,
    assembly: &Assembly,
    master: &Superblock,
    members: &mut [Option<StartMember>],
    options: &StartOptions,
    purpose: Purpose<'_>,
) -> Result<Option<LogWriter>, Error> {
    if options.read_only {
        return Ok(None);
    }
    let geometry = *level.geometry();
    let needed = PPL_HEADER_BYTES as u64 + geometry.chunk_bytes();
    let mut generation = 0;
    let mut areas = Vec::new();
    for member in members.iter_mut() {
        let Some(StartMember { device, name, superblock, channel, .. }) = member else {
            areas.push(None);
            continue;
        };
        let area = superblock
            .ppl_area()
            .ok_or_else(|| refused(format!("{name}: has no partial parity log (feature_map)")))?;
        let length = u64::from(area.size_sectors) * SECTOR_BYTES;
        let longest = u64::from(device.info().max_request_bytes);
        if length < needed || longest < length {
            let text = format!(
                "{name}: a log of {} (ppl.size) does not hold a chunk, or one request not the log",
                size_text(length)
            );
            return Err(refused(text));
        }
        let sector =
            superblock.super_offset_sectors.saturating_add_signed(area.offset_sectors.into());
        areas.push(Some(read(channel, &**device, sector * SECTOR_BYTES, length)?));
    }
    if !purpose.is_start() {
        return Ok(None);
    }
    for (role, area) in areas.iter().enumerate() {
        let Some(area) = area else { continue };
        if assembly.clean {
            let newest = md::find_newest_ppl(area, &master.set_uuid)
                .map_or(0, |(_, header)| header.generation);
            generation = generation.max(newest);
            continue;
        }
        let mut sources: Vec<Option<Source<'_>>> = (members.iter_mut())
            .map(|member| {
                let StartMember { channel, data_offset, unrecovered, .. } = member.as_mut()?;
                Some(Source {
                    channel,
                    data_offset: *data_offset,
                    valid_bytes: unrecovered.first().unwrap_or(u64::MAX),
                })
            })
            .collect();
        let Replayed { generation: newest, .. } =
            replay(&geometry, role, area, &master.set_uuid, &mut sources)?;
        generation = generation.max(newest);
    }
    if !assembly.clean {
        for member in members.iter_mut().flatten() {
            member.channel.flush().map_err(|error| error.at(&member.name))?;
        }
    }
    Ok(Some(LogWriter::new(geometry, &master.set_uuid, generation)))
}

/// The ranges that a dirty array has to resync, and the bitmap to go on with. One that cannot be
/// kept up is left out where `may_do_without`: its events fall behind, so it is not used later
/// either.
fn resync_of<L: Level>(
    level: &L,
    assembly: &Assembly,
    members: &mut [Option<StartMember>],
    may_do_without: bool,
) -> Result<(Ranges, Option<WriteIntentBitmap>), Error> {
    let newest = members.iter_mut().flatten().max_by_key(|member| member.age());
    let Some(newest) = newest else { return Ok((Ranges::none(), None)) };
    let from = assembly.resync_offset_sectors.saturating_mul(SECTOR_BYTES).min(level.sync_bytes());
    let whole = if assembly.clean { Ranges::none() } else { Ranges::one(from..level.sync_bytes()) };
    let Some(place) = bitmap_offset(&newest.superblock) else { return Ok((whole, None)) };
    let area = (newest.superblock.data_offset_sectors * SECTOR_BYTES).saturating_sub(place);
    let longest =
        if area == 0 { newest.device.info().size_bytes.saturating_sub(place) } else { area };
    let head = match read(&mut newest.channel, &*newest.device, place, SUPERBLOCK_BYTES) {
        Err(error) if error.kind() == ErrorKind::Media => return Ok((whole, None)),
        head => head?,
    };
    // A bitmap that makes no sense is left alone.
    let Ok(header) = BitmapHeader::decode(&head) else { return Ok((whole, None)) };
    if header.version != 4 {
        return if may_do_without {
            Ok((whole, None))
        } else {
            Err(unkept_version(newest, &header))
        };
    }
    if header.size_bytes().next_multiple_of(4096) > longest {
        return Ok((whole, None));
    }
    let bytes = read(
        &mut newest.channel,
        &*newest.device,
        place,
        header.size_bytes().next_multiple_of(4096),
    )?;
    let Ok(mut bitmap) = Bitmap::decode(&bytes) else { return Ok((whole, None)) };
    let superblock = &newest.superblock;
    if header.accept(&superblock.set_uuid, superblock.events).is_err()
        || header.sync_size_sectors.saturating_mul(SECTOR_BYTES) < level.sync_bytes()
    {
        bitmap.set(0..header.sync_size_sectors);
        bitmap.set_events(superblock.events, superblock.events);
    }
    let write_intent = WriteIntentBitmap::new(bitmap);
    let unrecovered: Ranges = write_intent
        .dirty_ranges()
        .map(|range| range.start..range.end.min(level.sync_bytes()))
        .collect();
    Ok((if assembly.clean { Ranges::none() } else { unrecovered }, Some(write_intent)))
}

const WITHOUT_BITMAP: &str = "--read-only reads the array, --force goes on without the bitmap";

fn unkept_version(member: &StartMember, header: &BitmapHeader) -> Error {
    let StartMember { name, .. } = member;
    refused(format!(
        "{name}: the bitmap's version is {}; only 4 can be kept up: {WITHOUT_BITMAP}",
        header.version
    ))
}

fn finish<L: Level>(
    level: L,
    assembly: &Assembly,
    master: &Superblock,
    mut members: Vec<Option<StartMember>>,
    log: Option<LogWriter>,
    options: &StartOptions,
) -> Result<Running, Error> {
    let (resync, mut write_intent) = if L::REDUNDANT {
        resync_of(&level, assembly, &mut members, options.read_only || options.force)?
    } else {
        (Ranges::none(), None)
    };
    if L::HAS_COPIES {
        // What a member that is being rebuilt has got already may differ where a resync is to be
        // done, and until it has everything others are read there. It gets that anew, or what was
        // read would change when it counts again.
        for (role, member) in members.iter_mut().enumerate() {
            let Some(member) = member.as_mut().filter(|member| !member.unrecovered.is_empty())
            else {
                continue;
            };
            let anew = resync
                .iter()
                .flat_map(|range| level.member_ranges(role, range).iter().collect::<Vec<_>>());
            anew.for_each(|range| member.unrecovered.add(range));
        }
    }
    let keeps_metadata = L::REDUNDANT && !options.read_only;
    let mut problem = None;
    if let Some(write_intent) = write_intent.as_ref().filter(|_| keeps_metadata) {
        for StartMember { device, name, superblock, .. } in members.iter().flatten() {
            if let Some(found) = superblock.area_problem(
                device.info().size_bytes / SECTOR_BYTES,
                write_intent.bitmap_sectors(),
            ) {
                problem = Some(format!("{name}: {found}"));
            }
        }
    }
    match problem {
        Some(problem) if !options.force => {
            return Err(refused(format!("{problem}: {WITHOUT_BITMAP}")));
        }
        Some(_) => write_intent = None,
        None => (),
    }
    let metadata =
        keeps_metadata.then(|| metadata(assembly, master, &members, write_intent, log, options));
    let places = members.into_iter().map(|member| {
        let StartMember { device, data_offset, unrecovered, lost, .. } = member?;
        Some(Start { device, data_offset, unrecovered, lost })
    });
    let device = ArrayDevice::resume_with_metadata(
        level,
        places.collect(),
        resync,
        metadata,
        options.read_only,
        version_of(master),
    )?;
    Ok(Running::new(Arc::new(device), assembly))
}

fn metadata(
    assembly: &Assembly,
    master: &Superblock,
    members: &[Option<StartMember>],
    write_intent: Option<WriteIntentBitmap>,
    log: Option<LogWriter>,
    options: &StartOptions,
) -> Metadata {
    let mut devices = Vec::new();
    let (mut roles, mut numbers) = (Vec::new(), Vec::new());
    for (role, member) in members.iter().enumerate() {
        let Some(member) = member else {
            roles.push(None);
            let number = master.roles.iter().position(|known| *known == Role::Active(role as u16));
            numbers.push(number.map(|number| number as u32));
            continue;
        };
        roles.push(Some(devices.len()));
        numbers.push(Some(member.superblock.member_number));
        // The roles in all superblocks are those of the newest.
        let superblock = Superblock { roles: master.roles.clone(), ..member.superblock.clone() };
        let (device, name, corrected_before) =
            (Arc::clone(&member.device), member.name.clone(), superblock.corrected_reads);
        devices.push(MetadataDevice {
            whole: device,
            name,
            superblock,
            corrected_before,
            is_fresh: true,
            is_out: false,
        });
    }
    let state = |member: &Option<StartMember>| match member {
        None => RecordedState::Out,
        Some(member) => member
            .unrecovered
            .first()
            .map_or(RecordedState::InSync, |byte| RecordedState::Recovering(byte / SECTOR_BYTES)),
    };
    let lost = members
        .iter()
        .map(|member| member.as_ref().map_or(Ranges::none(), |member| member.lost.clone()))
        .collect();
    let facts = Facts {
        members: members.iter().map(state).collect(),
        numbers: numbers.clone(),
        lost,
        resync_from: None,
    };
    // What all superblocks say already need not be written.
    let says_so = |member: &StartMember| {
        let said = superblock_of(
            &member.superblock,
            &facts,
            false,
            master.events,
            member.superblock.updated,
        );
        let alike = |role: &Role, other: &Role| {
            role == other
                || matches!((role, other), (Role::Faulty | Role::Spare, Role::Faulty | Role::Spare))
        };
        let roles = said.roles.len() == member.superblock.roles.len()
            && said
                .roles
                .iter()
                .zip(&member.superblock.roles)
                .all(|(role, other)| alike(role, other));
        roles && Superblock { roles: member.superblock.roles.clone(), ..said } == member.superblock
    };
    let is_said = assembly.clean && members.iter().flatten().all(says_so);
    let empty_log = log.as_ref().map(LogWriter::empty);
    let mut state = State {
        devices,
        roles,
        numbers,
        events: master.events,
        // One event less is what a crash between two superblocks leaves.
        events_least: master.events.saturating_sub(u64::from(!is_said)),
        times: BTreeMap::from([(master.events, master.updated)]),
        is_active: false,
        is_said_clean: members.iter().flatten().all(|member| member.superblock.is_clean()),
        facts: is_said.then_some(facts),
        write_intent,
        empty_log,
        wanted: Vec::new(),
        is_writing: false,
        parked: Vec::new(),
        writers: Vec::new(),
        in_flight: 0,
        admitted: 0,
        is_stopped: false,
        broken: None,
        updates: 0,
        fence: None,
        server: fence::server_of(options.server),
        time: options.time,
        #[cfg(feature = "planted-mistakes")]
        planted: options.planted,
    };
    if let Some(freedom) = options.freedom {
        state.claim(freedom, options.force);
    }
    let by_array_bytes = matches!(assembly.level, md::Level::Raid1 | md::Level::Raid10);
    let log = log.filter(|_| !planted!(options, SkipsLog));
    Metadata {
        state: Mutex::new(state),
        written: AtomicU64::new(u64::from(is_said)),
        log,
        by_array_bytes,
        #[cfg(feature = "planted-mistakes")]
        planted: options.planted,
    }
}
