//! Acting on an array while it runs, from any thread.

use std::sync::Arc;

use block::{Device, Error, ErrorKind, Reactor, Support, size_text};

use super::runner::SyncRunner;
use crate::catalogue;
use crate::health::Health;
use crate::member::{Member, MemberSet, MemberState, ReplacementCopy, Snapshot, name};
use crate::ranges::Ranges;
use crate::shared::ArrayCore;
use words::{Text, statement};

/// A device that becomes a member.
#[derive(Clone)]
pub struct NewDevice {
    /// The device.
    pub device: Arc<dyn Device>,
    /// Where on it the array's data begin, in bytes.
    pub data_offset: u64,
}

impl NewDevice {
    /// A device whose data begin at its beginning.
    #[must_use]
    pub fn whole(device: Arc<dyn Device>) -> NewDevice {
        NewDevice { device, data_offset: 0 }
    }
}

/// Acts on a running array. Clones act on the same one.
#[derive(Clone)]
pub struct Control {
    shared: Arc<ArrayCore>,
}

impl Control {
    pub(crate) fn new(shared: &Arc<ArrayCore>) -> Control {
        Control { shared: Arc::clone(shared) }
    }

    pub(crate) fn shared(&self) -> &Arc<ArrayCore> {
        &self.shared
    }

    fn health(&self) -> &Health {
        &self.shared.health
    }

    /// The members' states.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.health().snapshot()
    }

    /// Whether the other members have all that is on these.
    #[must_use]
    pub fn makes_up_for(&self, missing: &[usize]) -> bool {
        let mut set = MemberSet::EMPTY;
        for &member in missing {
            set.insert(member);
        }
        self.shared.level.holds_all(&set).is_ok()
    }

    /// Changes with every snapshot that is not the same.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.health().revision()
    }

    /// What of a member's data is lost and has not been written since, in bytes: what a rebuild
    /// could not restore, and its bad blocks. With metadata it is kept in the member's bad-block
    /// log.
    #[must_use]
    pub fn lost(&self, member: usize) -> Ranges {
        self.health().lost(member)
    }

    /// How much of each member's data the array uses, in bytes; 0 without redundancy.
    #[must_use]
    pub fn member_bytes(&self) -> u64 {
        self.shared.level.member_bytes()
    }

    /// What resyncs and checks count to, in bytes
    /// ([`Level::sync_bytes`](crate::Level::sync_bytes)).
    #[must_use]
    pub fn sync_bytes(&self) -> u64 {
        self.shared.level.sync_bytes()
    }

    /// A runner of sync actions on `reactor`.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn sync_runner(&self, reactor: &Reactor) -> Result<SyncRunner, Error> {
        SyncRunner::open(&self.shared, reactor)
    }

    /// Takes a member out of service.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a slot that does not exist or has no member in service,
    /// [`ErrorKind::Busy`] when data would be lost.
    pub fn fail(&self, member: usize) -> Result<(), Error> {
        self.take_out(member, None)
    }

    /// The same for a reason, which is told of the member.
    ///
    /// # Errors
    /// As [`Control::fail`].
    pub fn fail_for(&self, member: usize, reason: Text) -> Result<(), Error> {
        self.take_out(member, Some(reason))
    }

    fn take_out(&self, member: usize, cause: Option<Text>) -> Result<(), Error> {
        self.check_slot(member)?;
        if self.health().member_in(member).is_none() {
            return Err(Error::new(
                ErrorKind::Invalid,
                statement!(catalogue::MEMBER_IS_OUT, member = member),
            ));
        }
        if self.shared.fail_on_request(member, cause) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Busy, statement!(catalogue::MEMBER_IS_NEEDED, member = member)))
    }

    /// Lets go of a member that has failed. Channels close it when they are used next.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when it is in service, [`ErrorKind::Invalid`] when the slot is empty.
    pub fn remove(&self, member: usize) -> Result<(), Error> {
        self.check_slot(member)?;
        if self.health().member_in(member).is_some() {
            return Err(Error::new(
                ErrorKind::Busy,
                statement!(catalogue::MEMBER_IN_SERVICE, member = member),
            ));
        }
        match self.health().empty_slot(member) {
            Some(_) => Ok(()),
            None => {
                Err(Error::new(ErrorKind::Invalid, catalogue::SLOT_IS_EMPTY).at(called(member)))
            }
        }
    }

    /// Adds a spare. A [`SyncScheduler`](super::SyncScheduler) puts it into the slot of the next
    /// member that fails.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the array has no redundancy or the device does not fit, with the
    /// reason.
    pub fn add(&self, new_device: NewDevice) -> Result<(), Error> {
        let spare = self.new_member(None, new_device)?;
        self.health().add_spare(spare);
        Ok(())
    }

    /// Puts a device into an empty slot, to be rebuilt there.
    ///
    /// One that was away for a while may lack less than everything. What it has missed is known for
    /// certain once it is in its slot, for from then on it gets what is written; so `missed` is
    /// called afterwards.
    ///
    /// # Errors
    /// As [`Control::add`], and [`ErrorKind::Busy`] when the slot is not empty.
    pub fn add_to_slot(
        &self,
        member: usize,
        new_device: NewDevice,
        missed: impl FnOnce() -> Option<Ranges>,
    ) -> Result<(), Error> {
        self.check_slot(member)?;
        let added = self.new_member(Some(member), new_device)?;
        if !self.health().fill_slot(
            member,
            Arc::clone(&added),
            Ranges::one(0..self.shared.level.member_bytes()),
        ) {
            return Err(taken(member));
        }
        self.health().settle(member, &added, missed());
        Ok(())
    }

    /// Gives a member's slot to another device. The old one serves until the new one has
    /// everything; a [`SyncScheduler`](super::SyncScheduler) sees to that. If the old one fails
    /// meanwhile, the new one becomes a spare.
    ///
    /// # Errors
    /// As [`Control::add`], and [`ErrorKind::Busy`] when the member is not in sync or is being
    /// replaced already.
    pub fn replace(&self, member: usize, new_device: NewDevice) -> Result<(), Error> {
        self.check_slot(member)?;
        let replacement = self.new_member(Some(member), new_device)?;
        let busy = || {
            Error::new(ErrorKind::Busy, statement!(catalogue::MEMBER_NOT_IN_SYNC, member = member))
        };
        let old = self.health().member_in(member).ok_or_else(busy)?;
        let replacing = ReplacementCopy::over(&old, &replacement, self.shared.level.member_bytes());
        let device: Arc<dyn Device> = Arc::clone(&replacing) as Arc<dyn Device>;
        let (name, data_offset, bad_blocks) =
            (old.name.clone(), old.data_offset, old.bad_blocks.clone());
        let both =
            Arc::new(Member { name, data_offset, device, bad_blocks, replacing: Some(replacing) });
        if self.health().begin_replacing(member, &old, both, replacement) {
            Ok(())
        } else {
            Err(busy())
        }
    }

    /// Says that redundancy may be untrue in these ranges, in bytes of [`Control::sync_bytes`]:
    /// after a crash, for example.
    pub fn require_resync(&self, ranges: &Ranges) {
        self.health().require_resync(ranges);
    }

    fn check_slot(&self, member: usize) -> Result<(), Error> {
        let count = self.health().membership().members.len();
        if member < count {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Invalid, statement!(catalogue::ARRAY_SLOTS, last = count - 1))
            .at(called(member)))
    }

    /// A member, or a spare, of a device that can do what the array says it can.
    fn new_member(
        &self,
        number: Option<usize>,
        new_device: NewDevice,
    ) -> Result<Arc<Member>, Error> {
        self.check_fits(&new_device)?;
        let NewDevice { device, data_offset } = new_device;
        let name = match number {
            Some(number) => name(number, &device),
            None => statement!(catalogue::SPARE_OF, device = device.describe().to_string()),
        };
        Ok(Arc::new(Member::with_bad_blocks(name, device, data_offset, &Ranges::none())))
    }

    /// Whether a device may become a member: to be asked before anything is written to it.
    ///
    /// # Errors
    /// As [`Control::add`].
    pub(crate) fn check_fits(
        &self,
        NewDevice { device, data_offset }: &NewDevice,
    ) -> Result<(), Error> {
        let refuse = |reason: Text| {
            Err(Error::new(ErrorKind::Invalid, reason.at(device.describe().to_string())))
        };
        if !self.shared.traits.is_redundant {
            return refuse(catalogue::NO_REDUNDANCY_TO_REBUILD.into());
        }
        let (info, array) = (device.info(), &self.shared.info);
        let needed = *data_offset + self.shared.level.member_bytes();
        if info.size_bytes < needed {
            return refuse(statement!(
                catalogue::SIZE_NEEDED,
                size = size_text(info.size_bytes),
                needed = size_text(needed)
            ));
        }
        if !array.block_bytes.is_multiple_of(info.block_bytes)
            || !data_offset.is_multiple_of(u64::from(info.block_bytes))
        {
            return refuse(statement!(
                catalogue::BLOCKS_OF,
                bytes = info.block_bytes,
                array = array.block_bytes
            ));
        }
        if info.max_request_bytes < array.max_request_bytes {
            return refuse(statement!(
                catalogue::REQUESTS_OF,
                bytes = info.max_request_bytes,
                array = array.max_request_bytes
            ));
        }
        let lacks = [
            (catalogue::NEW_READ_ONLY, info.read_only),
            (catalogue::NEW_HAS_CACHE, info.volatile_cache && !array.volatile_cache),
            (catalogue::NEW_KNOWS_NO_FUA, info.fua == Support::None && array.fua != Support::None),
            (
                catalogue::NEW_CANNOT_ZERO,
                info.zeroes == Support::None && array.zeroes != Support::None,
            ),
            (catalogue::NEW_KEEPS_NOTHING, !info.stores_data && array.stores_data),
        ];
        if let Some((reason, _)) = lacks.iter().find(|(_, lacks)| *lacks) {
            return refuse((*reason).into());
        }
        Ok(())
    }

    /// Whether a slot can take a member.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when there is none such, [`ErrorKind::Busy`] when it is not empty.
    pub(crate) fn check_empty(&self, member: usize) -> Result<(), Error> {
        self.check_slot(member)?;
        match self.snapshot().members[member] {
            MemberState::Missing => Ok(()),
            _ => Err(taken(member)),
        }
    }
}

fn called(member: usize) -> Text {
    statement!(catalogue::MEMBER, number = member)
}

fn taken(member: usize) -> Error {
    Error::new(ErrorKind::Busy, catalogue::SLOT_IS_TAKEN).at(called(member))
}
