//! What is on the members, as far as this server knows it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::bad_block_log;
use super::facts::{Facts, RecordedState};
use super::write_intent::WriteIntentBitmap;
use crate::md::{Superblock, TimeStamp};
use crate::member::Snapshot;
use crate::ranges::Ranges;

/// The metadata of one device that carries a superblock of the array.
#[derive(Clone, Debug)]
pub(crate) struct DeviceRecord {
    /// What was written last.
    pub(crate) superblock: Superblock,
    /// What it said of read errors when it came.
    pub(crate) corrected_before: u32,
    /// Its bitmap and its log are up to date; those of a device that was just added are not.
    pub(crate) is_fresh: bool,
    /// No more is written to it.
    pub(crate) is_out: bool,
}

impl DeviceRecord {
    /// The byte at a number of sectors from the superblock.
    pub(crate) fn byte_at(&self, offset_sectors: i32) -> u64 {
        (self.superblock.super_offset_sectors as i64 + i64::from(offset_sectors)) as u64
            * block::SECTOR_BYTES
    }
}

/// What all superblocks, bitmaps and logs of the array say.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// All devices that carry a superblock of the array, spares and former members too.
    pub(crate) devices: Vec<DeviceRecord>,
    /// The device of each role.
    pub(crate) roles: Vec<Option<usize>>,
    /// The members' numbers by role; also of absent ones.
    pub(crate) numbers: Vec<Option<u32>>,
    /// How often the superblocks have changed.
    pub(crate) events: u64,
    /// The fewest events that a member in use may have on disk.
    pub(crate) events_least: u64,
    /// The time with which each count of events was written that a member may have on disk.
    pub(crate) times: BTreeMap<u64, TimeStamp>,
    /// The superblocks say that the array is being written to.
    pub(crate) is_active: bool,
    /// All members' superblocks say that it is clean, whatever else they say.
    pub(crate) is_said_clean: bool,
    /// What they say of the members; `None` when that is unknown.
    pub(crate) facts: Option<Facts>,
    pub(crate) write_intent: Option<WriteIntentBitmap>,
    /// What is written to the log of a device that was just added.
    pub(crate) empty_log: Option<Vec<u8>>,
    /// Ranges whose bits a piece waits for.
    pub(crate) wanted: Vec<Range<u64>>,
}

impl Record {
    /// A member that was added is the device with this number from now on.
    pub(crate) fn assign_role(&mut self, role: usize, device: usize) {
        self.roles[role] = Some(device);
        self.numbers[role] = Some(self.devices[device].superblock.member_number);
    }

    /// The role of a device, if it has one or had it last.
    pub(crate) fn role_of(&self, device: usize) -> Option<usize> {
        self.roles.iter().position(|held| *held == Some(device))
    }

    /// What there is to say of these states of the members, with what of each one's data is lost.
    pub(crate) fn facts_of(&self, snapshot: &Snapshot, lost: Vec<Ranges>) -> Facts {
        let takes = |member: usize, lost: &Ranges| {
            let device = self.roles.get(member).copied().flatten();
            device.is_some_and(|device| {
                bad_block_log::encode(&self.devices[device].superblock, lost).is_some()
            })
        };
        Facts::of(snapshot, &self.numbers, lost, takes)
    }

    /// What is to be said of an array with parity in the end that lacks a member and was being
    /// resynced: that it is clean, for otherwise it could be started by force only, and not at all
    /// by md. What is missing has been made from that parity for as long as the array ran. A member
    /// that is being rebuilt gets everything anew.
    pub(crate) fn facts_at_end(&self, mut facts: Facts) -> Facts {
        let has_parity =
            self.devices.first().is_some_and(|device| device.superblock.level.parity_count() > 0);
        if has_parity && facts.is_degraded() && facts.resync_from.take().is_some() {
            for state in &mut facts.members {
                if let RecordedState::Recovering(sector) = state {
                    *sector = 0;
                }
            }
        }
        facts
    }

    /// Whether bits are set that need not be, as far as these facts go.
    pub(crate) fn may_clear_bits(&self, facts: &Facts) -> bool {
        self.write_intent.as_ref().is_some_and(WriteIntentBitmap::is_dirty) && facts.is_whole()
    }

    /// The devices whose member is in service.
    pub(crate) fn in_use(&self, facts: &Facts) -> Vec<usize> {
        let used = facts.members.iter().zip(&self.roles);
        used.filter(|(state, _)| **state != RecordedState::Out)
            .filter_map(|(_, device)| *device)
            .filter(|&device| !self.devices[device].is_out)
            .collect()
    }

    /// The devices without a slot: spares.
    pub(crate) fn spares(&self) -> Vec<usize> {
        (0..self.devices.len())
            .filter(|device| !self.devices[*device].is_out && !self.roles.contains(&Some(*device)))
            .collect()
    }
}
