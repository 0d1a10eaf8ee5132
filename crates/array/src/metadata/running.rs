//! An array that was started from superblocks.

use std::sync::Arc;
use std::time::Duration;

use block::{
    Blocking, Channel, Device, EmulatingDevice, Error, ErrorKind, Extents, Info, Node, Reactor,
    SECTOR_BYTES, duration_text,
};
use reactor::since_boot;
use words::{Text, statement};

use super::claim::{ANSWER_TIME, takeover_time, watch};
use super::examine::examine;
use super::looks::Looks;
use super::state::Metadata;
use super::update::MetadataDevice;
use super::writer::MetadataWriter;
use crate::catalogue;
use crate::device::ArrayDevice;
use crate::md::{Assembly, Features, Role, Superblock, Usability, Version};
use crate::member::{MemberState, Snapshot};
use crate::ranges::Ranges;
use crate::record::{DeviceRecord, Facts, WriteIntentBitmap, superblock_of};
use crate::shared::ArrayCore;
use crate::sync::{Control, NewDevice};

/// A running array: a device, and what acts on it. Clones are the same array.
#[derive(Clone)]
pub struct RunningArray {
    device: Arc<dyn Device>,
    control: Control,
    with_metadata: Option<Arc<ArrayCore>>,
    assembly: Arc<Assembly>,
    /// How to open it again, where its device does not say that: it consists of pieces.
    node: Option<Node>,
}

/// What can be said of a running array.
#[derive(Clone, Debug)]
pub struct Status {
    /// The members' states.
    pub members: Snapshot,
    /// Whether the superblocks say that it is being written to; false too where nothing is
    /// recorded.
    pub is_active: bool,
    /// The superblocks' events.
    pub events: u64,
    /// Regions that the bitmap has marked; `None` without a bitmap.
    pub dirty_regions: Option<u64>,
    /// Why metadata cannot be written any more, if so. Nothing else is written then either.
    pub broken: Option<Text>,
    /// What can be done with it.
    pub usability: Usability,
}

impl Status {
    /// md's way to show the slots: `U` for up, `_` for not.
    #[must_use]
    pub fn slots_text(&self) -> String {
        let letter = |state: &MemberState| if *state == MemberState::InSync { 'U' } else { '_' };
        format!("[{}]", self.members.members.iter().map(letter).collect::<String>())
    }
}

impl RunningArray {
    pub(super) fn new(device: Arc<ArrayDevice>, assembly: &Assembly) -> RunningArray {
        let (control, with_metadata) = (device.control(), device.with_metadata());
        RunningArray {
            device,
            control,
            with_metadata,
            assembly: Arc::new(assembly.clone()),
            node: None,
        }
    }

    /// An array that consists of others, for reading only.
    pub(super) fn of_pieces(
        device: Arc<dyn Device>,
        control: Control,
        node: Node,
        assembly: &Assembly,
    ) -> RunningArray {
        RunningArray {
            device,
            control,
            with_metadata: None,
            assembly: Arc::new(assembly.clone()),
            node: Some(node),
        }
    }

    /// What it was started from.
    #[must_use]
    pub fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// What it is called in messages.
    pub(super) fn name(&self) -> &str {
        &self.assembly.name
    }

    /// Whether other hosts reach a member: then a [`MetadataWriter`] has to be polled at all times,
    /// for without it the right to write runs out.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        let with_metadata = self.with_metadata.as_ref();
        with_metadata.is_some_and(|array| array.metadata().writes_until().is_some())
    }

    /// How long what was sent to a member may be on its way to it.
    pub(super) fn in_flight(&self) -> Duration {
        let with_metadata = self.with_metadata.as_ref();
        with_metadata.map_or(Duration::ZERO, |array| array.metadata().in_flight())
    }

    /// Writes the superblocks as this server's where others reach a member, and waits until it is
    /// sure that no other server can write any more; at once where none do. Nothing may be read
    /// from or written to the array before that, and nothing else be under way on the reactor.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] where another server was faster; what kept the members from being
    /// written.
    pub fn claim(&self, reactor: &Reactor) -> Result<(), Error> {
        let Some(mut writer) = self.metadata_writer(reactor)? else { return Ok(()) };
        let end = reactor.now() + takeover_time(self.in_flight()) + ANSWER_TIME;
        loop {
            writer.poll();
            match writer.claimed() {
                Some(Ok(())) => return Ok(()),
                Some(Err(reason)) => {
                    let text =
                        statement!(catalogue::ARRAY_NOT_STARTED, name = self.name(), why = reason);
                    return Err(Error::new(ErrorKind::Busy, text));
                }
                None if reactor.now() >= end => {
                    let text = statement!(
                        catalogue::NOT_WRITTEN_WITHIN,
                        name = self.name(),
                        time = duration_text(ANSWER_TIME)
                    );
                    return Err(Error::new(ErrorKind::TimedOut, text));
                }
                None => reactor
                    .wait(Some(end))
                    .map(drop)
                    .map_err(|error| Error::from_io(catalogue::WAITING_FOR_MEMBERS, error))?,
            }
        }
    }

    /// What acts on its members: fail, remove, add, replace, rebuild and scrub. Devices that are
    /// added or that replace one need a superblock first: [`make_spare`](RunningArray::make_spare).
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// How it is.
    #[must_use]
    pub fn status(&self) -> Status {
        let members = self.control.snapshot();
        let mut status = Status {
            usability: self.usability(&members),
            members,
            is_active: false,
            events: 0,
            dirty_regions: None,
            broken: None,
        };
        if let Some(with_metadata) = &self.with_metadata {
            let state = with_metadata.metadata().state();
            status.is_active = state.record.is_active;
            status.events = state.record.events;
            status.dirty_regions =
                state.record.write_intent.as_ref().map(|noted| noted.bitmap().dirty_count());
            status.broken.clone_from(&state.broken);
        }
        if let (Usability::Writable { missing }, Some(_)) = (&status.usability, &status.broken) {
            status.usability = Usability::Readable { missing: missing.clone() };
        }
        status
    }

    fn usability(&self, members: &Snapshot) -> Usability {
        let states = members.members.iter().enumerate();
        let missing: Vec<usize> = states
            .filter(|(_, state)| **state != MemberState::InSync)
            .map(|(place, _)| place)
            .collect();
        if !self.assembly.makes_up_for(&missing) {
            return Usability::Failed { missing };
        }
        if self.device.info().read_only {
            Usability::Readable { missing }
        } else {
            Usability::Writable { missing }
        }
    }

    /// How often its superblocks have changed.
    #[must_use]
    pub fn events(&self) -> u64 {
        let with_metadata = self.with_metadata.as_ref();
        with_metadata.map_or(self.assembly.events, |array| array.metadata().events())
    }

    /// The writer that keeps the metadata up to date between writes; `None` where there is nothing
    /// to keep: levels without redundancy are never dirty, and an array that was started for
    /// reading only is left as it is.
    ///
    /// # Errors
    /// The kernel's for a bell.
    pub fn metadata_writer(&self, reactor: &Reactor) -> Result<Option<MetadataWriter>, Error> {
        self.with_metadata
            .as_ref()
            .map(|with_metadata| MetadataWriter::new(Arc::clone(with_metadata), reactor))
            .transpose()
    }

    /// Ends the array in order, when it is not in use any more. Nothing else may be under way on
    /// the reactor.
    ///
    /// # Errors
    /// As [`MetadataWriter::stop`].
    pub fn stop(&self, reactor: &Reactor) -> Result<(), Error> {
        self.metadata_writer(reactor)?.map_or(Ok(()), |mut metadata_writer| metadata_writer.stop())
    }

    /// Lets go of a member that has failed, as [`Control::remove`] does; its metadata are not
    /// written any more either.
    ///
    /// # Errors
    /// As [`Control::remove`].
    pub fn remove(&self, member: usize) -> Result<(), Error> {
        self.control.remove(member)?;
        if let Some(with_metadata) = &self.with_metadata {
            with_metadata.metadata().let_go(member);
        }
        Ok(())
    }

    /// The slot of a device that was a member of this array, if the slot is empty now.
    ///
    /// # Errors
    /// What kept its superblock from being read.
    pub fn empty_slot_of(
        &self,
        device: &Arc<dyn Device>,
        reactor: &Reactor,
    ) -> Result<Option<usize>, Error> {
        let Some(before) = self.before(&**device, reactor)? else { return Ok(None) };
        let Role::Active(role) = before.role() else { return Ok(None) };
        let is_vacant =
            self.control.snapshot().members.get(usize::from(role)) == Some(&MemberState::Missing);
        Ok(is_vacant.then_some(role.into()))
    }

    /// Puts a device into an empty slot, to be rebuilt there; it gets a superblock first, as by
    /// [`make_spare`](RunningArray::make_spare). One that was this slot's member before lacks what
    /// the bitmap says was written since, any other one everything. The ranges to recover, in bytes
    /// of its data.
    ///
    /// # Errors
    /// As [`RunningArray::make_spare`] and [`Control::add_to_slot`].
    pub fn add_to_slot(
        &self,
        member: usize,
        device: &Arc<dyn Device>,
        device_uuid: [u8; 16],
        reactor: &Reactor,
    ) -> Result<Ranges, Error> {
        self.control.check_empty(member)?;
        let is_known = self
            .before(&**device, reactor)?
            .is_some_and(|before| self.is_up_to_bitmap(member, &before));
        let new_device = self.make_spare(device, device_uuid, reactor)?;
        let mut unrecovered = Ranges::one(0..self.control.member_bytes());
        let missed = || {
            let missed = self.missed(member).filter(|_| is_known)?;
            unrecovered = missed.clone();
            Some(missed)
        };
        self.control.add_to_slot(member, new_device, missed)?;
        Ok(unrecovered)
    }

    /// What a device says of itself, if it was a member of this array.
    fn before(&self, device: &dyn Device, reactor: &Reactor) -> Result<Option<Superblock>, Error> {
        let candidate = examine(device, &device.describe().to_string(), reactor)?;
        Ok(candidate
            .map(|candidate| candidate.superblock)
            .filter(|before| before.set_uuid == self.assembly.set_uuid))
    }

    /// Whether a device that says this of itself lacks nothing but what the bitmap marks.
    fn is_up_to_bitmap(&self, member: usize, before: &Superblock) -> bool {
        let was_in_sync = before.role() == Role::Active(member as u16)
            && before.recovering_from_sectors().is_none();
        // Its bad-block log is emptied when it gets its new superblock.
        let was_in_sync = was_in_sync && !before.features.contains(Features::BAD_BLOCKS);
        let Some(metadata) =
            self.with_metadata.as_ref().map(|with_metadata| with_metadata.metadata())
        else {
            return false;
        };
        let cleared = metadata.events_cleared();
        // An old copy of a member may have as many events as there were at the start; then it was
        // not updated with the others.
        let is_old_copy =
            before.events == self.assembly.events && before.updated != self.assembly.updated;
        was_in_sync
            && !is_old_copy
            && cleared.is_some_and(|cleared| (cleared..=metadata.events()).contains(&before.events))
            && !self.has_gone_on_alone(member, before)
    }

    /// Whether a device was in use without a member that is in sync here: then it has writes of its
    /// own, which no bitmap here marks.
    fn has_gone_on_alone(&self, member: usize, before: &Superblock) -> bool {
        let states = self.control.snapshot().members;
        let others = (0_u16..)
            .zip(&states)
            .filter(|(slot, state)| usize::from(*slot) != member && **state == MemberState::InSync);
        others.into_iter().any(|(slot, _)| !before.roles.contains(&Role::Active(slot)))
    }

    /// What the bitmap says may have been written while a member was away, in bytes of its data.
    fn missed(&self, member: usize) -> Option<Ranges> {
        let ranges = self.with_metadata.as_ref()?.metadata().dirty_ranges()?;
        let level = &self.control.shared().level;
        Some(
            ranges
                .into_iter()
                .flat_map(|range| level.member_ranges(member, range).iter().collect::<Vec<_>>())
                .collect(),
        )
    }

    /// Gives a whole device a superblock of this array, as a spare, so that [`Control`] can take
    /// it. One that was a member of this array keeps its number. Nothing else may be under way on
    /// the reactor, and the caller has to know that the device may be overwritten. `device_uuid` is
    /// for a device that was no member.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the device is too small or the array keeps no metadata; what
    /// kept it from being written.
    pub fn make_spare(
        &self,
        device: &Arc<dyn Device>,
        device_uuid: [u8; 16],
        reactor: &Reactor,
    ) -> Result<NewDevice, Error> {
        let before = self.before(&**device, reactor)?;
        let (with_metadata, spare) = self.spare_of(device, before.as_ref(), device_uuid)?;
        let metadata = with_metadata.metadata();
        if let Some(lease) = spare.device.whole.lease() {
            if before.is_none_or(|before| !metadata.wrote(&before)) {
                watch(&[&spare.device.whole], reactor)?;
            }
            metadata.state().share();
            Looks::look_now(with_metadata, reactor)?;
            // The right that the look has found to be ours still, or one that was before it.
            let until = metadata.writes_until().filter(|until| *until > since_boot());
            let until = until.ok_or_else(|| {
                let text = statement!(catalogue::SPARE_UNWRITTEN, name = &spare.device.name);
                Error::new(ErrorKind::TimedOut, text)
            })?;
            lease.limit(until);
        }
        write_spare(&spare, metadata, reactor)?;
        Ok(take_spare(metadata, spare))
    }

    /// Takes a device that is a spare of this array by its own superblock, for [`Control`]. Nothing
    /// is written to it before it gets a place, or the others are told of a change.
    ///
    /// # Errors
    /// As [`RunningArray::make_spare`], and what kept it from being read.
    pub fn keep_spare(
        &self,
        device: &Arc<dyn Device>,
        reactor: &Reactor,
    ) -> Result<NewDevice, Error> {
        let before = self.before(&**device, reactor)?.filter(|before| before.role() == Role::Spare);
        let Some(before) = before else {
            let text =
                statement!(catalogue::NO_SPARE_ANY_MORE, name = device.describe().to_string());
            return Err(Error::new(ErrorKind::Invalid, text));
        };
        let (with_metadata, spare) = self.spare_of(device, Some(&before), before.device_uuid)?;
        let new_device = take_spare(with_metadata.metadata(), spare);
        with_metadata.metadata().state().limit_leases();
        Ok(new_device)
    }

    /// What a device becomes as a spare of this array, whose metadata come with it. Nothing is
    /// written.
    fn spare_of(
        &self,
        device: &Arc<dyn Device>,
        before: Option<&Superblock>,
        device_uuid: [u8; 16],
    ) -> Result<(&Arc<ArrayCore>, Spare), Error> {
        let name = device.describe().to_string();
        let refusal = |reason: Text| Error::new(ErrorKind::Invalid, reason.at(&name));
        let Some(with_metadata) = &self.with_metadata else {
            return Err(refusal(catalogue::TAKES_NO_MEMBERS.into()));
        };
        // One that discards less than the array promises would refuse what it is sent.
        let wanted = self.device.info().discard;
        let device = EmulatingDevice::discarding(Arc::clone(device), wanted);
        let metadata = with_metadata.metadata();
        let serving = before.and_then(|before| metadata.slot_of(&before.device_uuid));
        if let Some(slot) = serving.filter(|&slot| {
            !matches!(
                self.control.snapshot().members[slot],
                MemberState::Missing | MemberState::Faulty
            )
        }) {
            let reason = statement!(catalogue::IN_SERVICE, slot = slot);
            return Err(refusal(reason));
        }
        let template = metadata.template();
        let mut fresh =
            fresh_superblock(&*device, before, device_uuid, template).map_err(refusal)?;
        let data_offset = fresh.data_offset_sectors * SECTOR_BYTES;
        self.control.check_fits(&NewDevice { device: Arc::clone(&device), data_offset })?;
        let sectors = device.info().size_bytes / SECTOR_BYTES;
        if let Some(problem) = fresh.area_problem(sectors, metadata.bitmap_sectors()) {
            let reason = statement!(catalogue::DATA_CANNOT_BEGIN, problem = &problem);
            return Err(refusal(reason));
        }
        fresh.member_number = metadata.free_number(before);
        let record =
            DeviceRecord { superblock: fresh, corrected_before: 0, is_fresh: false, is_out: false };
        Ok((with_metadata, Spare { device: MetadataDevice { whole: device, name }, record }))
    }
}

/// A device that becomes a spare, with the metadata that it gets.
struct Spare {
    device: MetadataDevice,
    record: DeviceRecord,
}

fn take_spare(metadata: &Metadata, Spare { device, record }: Spare) -> NewDevice {
    let new_device = NewDevice {
        device: Arc::clone(&device.whole),
        data_offset: record.superblock.data_offset_sectors * SECTOR_BYTES,
    };
    let state = &mut *metadata.state();
    state.devices.push(device);
    state.record.devices.push(record);
    new_device
}

/// The superblock of a device that becomes a spare, as `template` has it for all members but for
/// its number, or why it cannot be one.
fn fresh_superblock(
    device: &dyn Device,
    before: Option<&Superblock>,
    device_uuid: [u8; 16],
    template: Superblock,
) -> Result<Superblock, Text> {
    let block = u64::from(device.info().block_bytes);
    let sectors = device.info().size_bytes / SECTOR_BYTES;
    let data_offset =
        before.map_or(template.data_offset_sectors, |before| before.data_offset_sectors);
    let (super_offset, data_size) =
        places_on(&template, sectors, data_offset).ok_or_else(|| {
            statement!(
                catalogue::SECTORS_NEEDED,
                sectors = sectors,
                needed = data_offset + template.size_sectors
            )
        })?;
    if block > 4096
        || !(super_offset * SECTOR_BYTES).is_multiple_of(block)
        || !(data_offset * SECTOR_BYTES).is_multiple_of(block)
    {
        return Err(catalogue::BLOCKS_TOO_LARGE.into());
    }
    Ok(Superblock {
        device_uuid: before.map_or(device_uuid, |before| before.device_uuid),
        data_offset_sectors: data_offset,
        data_size_sectors: data_size,
        super_offset_sectors: super_offset,
        features: template.features.without(Features::BAD_BLOCKS),
        corrected_reads: 0,
        // What was asked for this very device holds when it is back.
        device_flags: before.map_or(0, |before| before.device_flags),
        ..template
    })
}

/// Where the superblock of a new member lies whose data begin at `data_offset`, and how much data
/// it may hold, in sectors, as `template` has it; `None` where it is too small. Version 1.0 has the
/// superblock near the end, and what goes with it between data and superblock.
fn places_on(template: &Superblock, sectors: u64, data_offset: u64) -> Option<(u64, u64)> {
    let ends_data = |end: u64| {
        let data_size = end.checked_sub(data_offset)?;
        (data_size >= template.size_sectors).then_some(data_size)
    };
    let own_end = template.data_offset_sectors + template.data_size_sectors;
    match template.super_offset_sectors.checked_sub(own_end) {
        None => Some((template.super_offset_sectors, ends_data(sectors)?)),
        Some(gap) => {
            let super_offset = Version::V1_0.offset_sectors(sectors)?;
            Some((super_offset, ends_data(super_offset.checked_sub(gap)?)?))
        }
    }
}

/// Writes what a spare carries: its superblock and an empty bad-block log. Bitmap and log come with
/// its slot. What was there comes back where not all of it can be written.
fn write_spare(spare: &Spare, metadata: &Metadata, reactor: &Reactor) -> Result<(), Error> {
    let superblock = &spare.record.superblock;
    let mut channel = Blocking::open(&*spare.device.whole, reactor)?;
    let mut areas = Vec::new();
    if superblock.bad_block_size_sectors > 0 {
        let empty =
            vec![0xff; usize::from(superblock.bad_block_size_sectors) * SECTOR_BYTES as usize];
        areas.push((spare.record.byte_at(superblock.bad_block_offset_sectors), empty));
    }
    let mut bytes = metadata.spare_superblock(superblock).encode();
    bytes.resize(4096, 0);
    areas.push((spare.record.byte_at(0), bytes));
    let block = spare.device.whole.info().block_bytes as usize;
    let mut before = Vec::new();
    for (offset, bytes) in &mut areas {
        bytes.resize(bytes.len().next_multiple_of(block), 0xff);
        let mut held = vec![0; bytes.len()];
        // A place that cannot be read is written all the same, which may mend it.
        if channel.read_slice(*offset, &mut held).is_ok() {
            before.push((*offset, held));
        }
    }
    let mut write = |areas: &[(u64, Vec<u8>)]| {
        areas.iter().try_for_each(|(offset, bytes)| channel.write_slice(*offset, bytes))?;
        channel.flush()
    };
    write(&areas).inspect_err(|_| {
        // The device that has just failed may fail this too.
        let _ = write(&before);
    })
}

impl Metadata {
    /// A member's superblock, for what all have in common.
    fn template(&self) -> Superblock {
        let state = self.state();
        let devices = &state.record.devices;
        devices.iter().find(|device| !device.is_out).unwrap_or(&devices[0]).superblock.clone()
    }

    /// What the bitmap takes on each member, in sectors; 1 where there is none.
    fn bitmap_sectors(&self) -> u64 {
        let record = &self.state().record;
        record.write_intent.as_ref().map_or(1, WriteIntentBitmap::bitmap_sectors)
    }

    /// The slot of the device with this UUID, if it has one or had it last.
    fn slot_of(&self, device_uuid: &[u8; 16]) -> Option<usize> {
        let record = &self.state().record;
        let is_it = |device: &DeviceRecord| device.superblock.device_uuid == *device_uuid;
        record
            .roles
            .iter()
            .position(|held| held.is_some_and(|device| is_it(&record.devices[device])))
    }

    /// Nothing is written any more to the last member of a slot.
    fn let_go(&self, member: usize) {
        let record = &mut self.state().record;
        if let Some(device) = record.roles.get(member).copied().flatten() {
            record.devices[device].is_out = true;
        }
    }

    /// The number that a member had, if no other has it now, or the lowest that is free.
    fn free_number(&self, before: Option<&Superblock>) -> u32 {
        let record = &mut self.state().record;
        if let Some(before) = before {
            // A device that is added again is one device, not two.
            let own =
                |device: &&mut DeviceRecord| device.superblock.device_uuid == before.device_uuid;
            record.devices.iter_mut().filter(own).for_each(|device| device.is_out = true);
        }
        let is_held = |number: u32| {
            record
                .devices
                .iter()
                .any(|device| !device.is_out && device.superblock.member_number == number)
        };
        let before = before.map(|before| before.member_number).filter(|number| !is_held(*number));
        let is_free = |number: &u32| !is_held(*number) && !record.numbers.contains(&Some(*number));
        before.or_else(|| (record.numbers.len() as u32..).find(is_free)).expect("numbers go on")
    }

    fn spare_superblock(&self, fresh: &Superblock) -> Superblock {
        let record = &self.state().record;
        let facts = record.facts.clone().unwrap_or(Facts {
            members: Vec::new(),
            numbers: Vec::new(),
            lost: Vec::new(),
            resync_from: None,
        });
        // Never the newest: what it says of the array does not count.
        let events = record.events_least.saturating_sub(1);
        let mut spare = superblock_of(fresh, &facts, !record.is_said_clean, events, fresh.updated);
        if let Some(role) = spare.roles.get_mut(fresh.member_number as usize) {
            *role = Role::Spare;
        }
        spare
    }
}

impl Device for RunningArray {
    fn info(&self) -> &Info {
        self.device.info()
    }

    fn describe(&self) -> Node {
        self.node.clone().unwrap_or_else(|| self.device.describe())
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        self.device.open(depth, reactor)
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        self.device.extents(offset, length, found);
    }
}
