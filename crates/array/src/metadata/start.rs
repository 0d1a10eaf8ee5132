//! Starting an array from the superblocks of its members.
//!
//! ```text
//!   whole devices ──> examine ──> md::assemble ──> start ──> Running
//!                                                   superblocks once more, bitmap,
//!                                                   bad blocks; PPL replayed
//! ```
//!
//! A start for reading only writes nothing at all, and so needs force where parity would have to be
//! made again for what is read to be true. Any other writes nothing before the first write of the
//! host, but for parity that a partial parity log makes again.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use block::{Device, Error, ErrorKind, Reactor, SECTOR_BYTES, size_text};
use reactor::since_boot;
use words::{Text, statement};

use super::examine::{SUPERBLOCK_BYTES, bitmap_offset, read};
use super::log::{LogWriter, Source, replay};
use super::options::StartOptions;
use super::planted::planted;
use super::reshape::{two_shapes, version_of};
use super::running::RunningArray;
use super::start_member::{Purpose, StartMember, open_member, refused};
use super::state::{Metadata, MetadataState};
use super::update::MetadataDevice;
use crate::catalogue;
use crate::device::{ArrayDevice, MemberAtStart};
use crate::fence;
use crate::geometry::{Linear, Parity, ParityLayout, Raid0, Raid0Layout, Raid10};
use crate::level::{Level, LinearLevel, MirrorLevel, ParityLevel, Raid0Level};
use crate::md::{
    self, Assembly, Bitmap, BitmapHeader, Candidate, Features, Layout, PPL_HEADER_BYTES, Role,
    Slot, Superblock,
};
use crate::member::MEMBERS_MAX;
use crate::ranges::Ranges;
use crate::record::{DeviceRecord, Facts, Record, RecordedState, WriteIntentBitmap, superblock_of};

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
) -> Result<RunningArray, Error> {
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

fn open(
    assembly: &Assembly,
    devices: &[Option<Arc<dyn Device>>],
    options: &StartOptions,
    purpose: Purpose<'_>,
    reactor: &Reactor,
) -> Result<RunningArray, Error> {
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
        return Err(refused(catalogue::NO_MEMBER_THERE));
    };
    members.iter_mut().flatten().for_each(|member| follow(&mut member.superblock, &master));
    let mut assembly = assembly.clone();
    assembly.notes.extend(members.iter().flatten().filter_map(|member| member.damage.clone()));
    if let Some(reshape) = &assembly.reshape {
        return two_shapes(reshape, &assembly, &master, &members);
    }
    let level = level_of(&assembly, &members)?;
    let logs = match parity_level(&assembly, members.len()) {
        Some(level) if master.features.has_ppl() => {
            // A replay writes before the claim does.
            if options.freedom.is_some_and(|freedom| !freedom.is_fresh(since_boot())) {
                return Err(refused(catalogue::LOOKED_TOO_LONG));
            }
            let geometry = *level.geometry();
            replay_logs(geometry, &assembly, &master, &mut members, options, purpose)?
        }
        _ => None,
    };
    finish(level, &assembly, &master, members, logs, options)
}

/// The level of an array that is not changing its shape.
fn level_of(assembly: &Assembly, members: &[Option<StartMember>]) -> Result<Box<dyn Level>, Error> {
    let member_bytes = assembly.size_sectors * SECTOR_BYTES;
    Ok(match assembly.level {
        md::Level::Linear => {
            let sizes = data_sizes(assembly, u64::from(assembly.chunk_sectors))?;
            let blocks = members.iter().flatten().map(|member| member.device.info().block_bytes);
            let block = blocks.max().unwrap_or(512);
            Box::new(LinearLevel::new(Linear::new(&sizes, block.into())))
        }
        md::Level::Raid0 => {
            let layout = match assembly.layout {
                Layout::Raid0(Some(layout)) => layout,
                _ => Raid0Layout::Original,
            };
            let sizes = data_sizes(assembly, 1)?;
            let geometry = Raid0::new(&sizes, chunk_bytes(assembly), layout);
            Box::new(Raid0Level::new(geometry, layout, sizes.len()))
        }
        md::Level::Raid1 => Box::new(MirrorLevel::raid1(members.len(), member_bytes)),
        md::Level::Raid10 => {
            let Layout::Raid10(layout) = assembly.layout else {
                return Err(refused(statement!(
                    catalogue::UNKNOWN_LAYOUT,
                    layout = assembly.layout.to_string()
                )));
            };
            let chunk = chunk_bytes(assembly);
            let geometry = Raid10::new(members.len(), member_bytes, chunk, layout);
            Box::new(MirrorLevel::raid10(geometry))
        }
        other => match parity_level(assembly, members.len()) {
            Some(level) => Box::new(level),
            None => {
                return Err(refused(statement!(catalogue::LEVEL_UNSERVED, other = other)));
            }
        },
    })
}

/// The level of an array with parity.
fn parity_level(assembly: &Assembly, count: usize) -> Option<ParityLevel> {
    let chunk = chunk_bytes(assembly);
    let layout = match assembly.layout {
        Layout::Parity(layout) => layout,
        _ => ParityLayout::ParityLast,
    };
    let member_bytes = || assembly.size_sectors * SECTOR_BYTES / chunk * chunk;
    match assembly.level {
        md::Level::Raid4 => Some(ParityLevel::raid4(count, member_bytes(), chunk)),
        md::Level::Raid5 => Some(ParityLevel::raid5(count, member_bytes(), chunk, layout)),
        md::Level::Raid6 => Some(ParityLevel::raid6(count, member_bytes(), chunk, layout)),
        _ => None,
    }
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
            return Err(refused(statement!(
                catalogue::OTHER_HOSTS,
                name = &assembly.name,
                there = there,
                count = count
            )));
        }
    }
    if count > MEMBERS_MAX {
        return Err(refused(statement!(
            catalogue::RAID_DISKS_MAX,
            count = count,
            members_max = MEMBERS_MAX
        )));
    }
    Ok(())
}

fn check_start(assembly: &Assembly, options: &StartOptions) -> Result<(), Error> {
    let reasons = match &assembly.start {
        md::Startability::Ready
            if options.read_only && !options.force && assembly.reads_wrong_without_log() =>
        {
            statement!(catalogue::ONLY_WITH_FORCE, why = Assembly::WITHOUT_LOG)
        }
        md::Startability::Ready => return Ok(()),
        md::Startability::ReadOnly(_) if options.read_only => return Ok(()),
        md::Startability::ReadOnlyOrForce(_) if options.read_only || options.force => return Ok(()),
        md::Startability::NeedsForce(_) if options.force => return Ok(()),
        md::Startability::ReadOnly(reasons) => {
            statement!(catalogue::MAY_ONLY_BE_READ, why = Text::joined(reasons, "; "))
        }
        md::Startability::ReadOnlyOrForce(reasons) => {
            statement!(catalogue::READ_OR_FORCE, why = Text::joined(reasons, "; "))
        }
        md::Startability::NeedsForce(reasons) => {
            statement!(catalogue::ONLY_WITH_FORCE, why = Text::joined(reasons, "; "))
        }
        md::Startability::Refused(reasons) => Text::joined(reasons, "; "),
    };
    Err(refused(statement!(catalogue::ARRAY_NOT_STARTED, name = &assembly.name, why = reasons)))
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
    sizes.ok_or_else(|| refused(statement!(catalogue::NEEDS_ALL_MEMBERS, level = assembly.level)))
}

/// What is known of partial parity logs at the start.
struct LogsAtStart {
    /// How to log from now on.
    writer: LogWriter,
    /// Parity is true by them of all that was being written: each could be read, and all that was
    /// in it was made again.
    are_complete: bool,
}

/// Makes parity again where it was being written, and says how to log from now on. `None` if
/// nothing will be written.
fn replay_logs(
    geometry: Parity,
    assembly: &Assembly,
    master: &Superblock,
    members: &mut [Option<StartMember>],
    options: &StartOptions,
    purpose: Purpose<'_>,
) -> Result<Option<LogsAtStart>, Error> {
    if options.read_only {
        return Ok(None);
    }
    let needed = PPL_HEADER_BYTES as u64 + geometry.chunk_bytes();
    let mut generation = 0;
    let mut are_complete = members.iter().all(|member| is_whole(member.as_ref())) && !options.force;
    let mut areas = Vec::new();
    for member in members.iter_mut() {
        let Some(StartMember { device, name, superblock, channel, .. }) = member else {
            areas.push(None);
            continue;
        };
        let area = superblock
            .ppl_area()
            .ok_or_else(|| refused(statement!(catalogue::NO_PPL, name = name.to_string())))?;
        let length = u64::from(area.size_sectors) * SECTOR_BYTES;
        let longest = u64::from(device.info().max_request_bytes);
        if length < needed || longest < length {
            let text =
                statement!(catalogue::PPL_SIZE, name = name.to_string(), size = size_text(length));
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
        let replayed = replay(&geometry, role, area, &master.set_uuid, &mut sources)?;
        generation = generation.max(replayed.generation);
        are_complete &= replayed.is_complete();
    }
    if !assembly.clean {
        for member in members.iter_mut().flatten() {
            member.channel.flush().map_err(|error| error.at(&member.name))?;
        }
    }
    let writer = LogWriter::new(geometry, &master.set_uuid, generation);
    Ok(Some(LogsAtStart { writer, are_complete }))
}

/// Whether a member is there, holds all that it should, and has lost nothing.
fn is_whole(member: Option<&StartMember>) -> bool {
    member.is_some_and(|member| member.unrecovered.is_empty() && member.lost.is_empty())
}

/// The ranges that a dirty array has to resync, and the bitmap to go on with. One that cannot be
/// kept up is left out where `may_do_without`: its events fall behind, so it is not used later
/// either. How far members agree but for what is in partial parity logs counts where these are
/// complete.
fn resync_of(
    level: &dyn Level,
    assembly: &Assembly,
    members: &mut [Option<StartMember>],
    logs_are_complete: bool,
    may_do_without: bool,
) -> Result<(Ranges, Option<WriteIntentBitmap>), Error> {
    let newest = members.iter_mut().flatten().max_by_key(|member| member.age());
    let Some(newest) = newest else { return Ok((Ranges::none(), None)) };
    let said = match newest.superblock.features.has_ppl() && !logs_are_complete {
        true => 0,
        false => assembly.resync_offset_sectors.saturating_mul(SECTOR_BYTES),
    };
    let from = said.min(level.sync_bytes());
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

fn unkept_version(member: &StartMember, header: &BitmapHeader) -> Error {
    let StartMember { name, .. } = member;
    refused(statement!(
        catalogue::BITMAP_VERSION,
        name = name,
        version = header.version,
        without_bitmap = catalogue::WITHOUT_BITMAP
    ))
}

fn finish(
    level: Box<dyn Level>,
    assembly: &Assembly,
    master: &Superblock,
    mut members: Vec<Option<StartMember>>,
    logs: Option<LogsAtStart>,
    options: &StartOptions,
) -> Result<RunningArray, Error> {
    let traits = level.traits();
    let are_complete = logs.as_ref().is_some_and(|logs| logs.are_complete);
    let log = logs.map(|logs| logs.writer);
    let (resync, mut write_intent) = if traits.is_redundant {
        let may_do_without = options.read_only || options.force;
        resync_of(&*level, assembly, &mut members, are_complete, may_do_without)?
    } else {
        (Ranges::none(), None)
    };
    if traits.has_copies {
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
    let keeps_metadata = traits.is_redundant && !options.read_only;
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
            return Err(refused(Text::from(catalogue::WITHOUT_BITMAP).at(problem.to_string())));
        }
        Some(_) => write_intent = None,
        None => (),
    }
    let metadata =
        keeps_metadata.then(|| metadata(assembly, master, &members, write_intent, log, options));
    let places = members.into_iter().map(|member| {
        let StartMember { device, data_offset, unrecovered, lost, .. } = member?;
        Some(MemberAtStart { device, data_offset, unrecovered, lost })
    });
    let device = ArrayDevice::resume_with_metadata(
        level,
        places.collect(),
        resync,
        metadata,
        options.read_only,
        version_of(master),
    )?;
    Ok(RunningArray::new(Arc::new(device), assembly))
}

/// What is on the members at the start, and their devices.
fn record_of(
    assembly: &Assembly,
    master: &Superblock,
    members: &[Option<StartMember>],
    write_intent: Option<WriteIntentBitmap>,
    empty_log: Option<Vec<u8>>,
) -> (Record, Vec<MetadataDevice>) {
    let (mut devices, mut records) = (Vec::new(), Vec::new());
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
        devices
            .push(MetadataDevice { whole: Arc::clone(&member.device), name: member.name.clone() });
        records.push(DeviceRecord {
            // The roles in all superblocks are those of the newest.
            superblock: Superblock { roles: master.roles.clone(), ..member.superblock.clone() },
            corrected_before: member.superblock.corrected_reads,
            is_fresh: true,
            is_out: false,
        });
    }
    let facts = facts_at_start(members, &numbers);
    let is_said =
        assembly.clean && members.iter().flatten().all(|member| says(member, master, &facts));
    let record = Record {
        devices: records,
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
    };
    (record, devices)
}

fn facts_at_start(members: &[Option<StartMember>], numbers: &[Option<u32>]) -> Facts {
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
    Facts {
        members: members.iter().map(state).collect(),
        numbers: numbers.to_vec(),
        lost,
        resync_from: None,
    }
}

/// Whether the superblock of a member says these facts already, so that they need not be written.
fn says(member: &StartMember, master: &Superblock, facts: &Facts) -> bool {
    let found = &member.superblock;
    let said = superblock_of(found, facts, false, master.events, found.updated);
    let alike = |role: &Role, other: &Role| {
        role == other
            || matches!((role, other), (Role::Faulty | Role::Spare, Role::Faulty | Role::Spare))
    };
    let mut roles = said.roles.iter().zip(&found.roles);
    said.roles.len() == found.roles.len()
        && roles.all(|(role, other)| alike(role, other))
        && Superblock { roles: found.roles.clone(), ..said } == *found
}

fn metadata(
    assembly: &Assembly,
    master: &Superblock,
    members: &[Option<StartMember>],
    write_intent: Option<WriteIntentBitmap>,
    log: Option<LogWriter>,
    options: &StartOptions,
) -> Metadata {
    let empty_log = log.as_ref().map(LogWriter::empty);
    let (record, devices) = record_of(assembly, master, members, write_intent, empty_log);
    let is_said = record.facts.is_some();
    let mut state = MetadataState {
        record,
        devices,
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
        changes: AtomicU64::new(0),
        log,
        by_array_bytes,
        #[cfg(feature = "planted-mistakes")]
        planted: options.planted,
    }
}
