//! One update of the metadata on its way to the members: a [`Draft`] as commands, and what becomes
//! of it.

use std::collections::VecDeque;
use std::sync::Arc;

use block::{BufMut, Device, Op};

use crate::md::Superblock;
use crate::record::{Draft, PAGE_BYTES, Phase, Record, UpdateOutcome};

/// A device that carries a superblock of the array.
pub(super) struct MetadataDevice {
    pub(super) whole: Arc<dyn Device>,
    pub(super) name: String,
}

/// Commands to a device each, which go out together.
type Commands = Vec<(usize, Op)>;

/// Phases of commands to the devices, and the draft that they come from.
pub(crate) struct MetadataUpdate {
    pub(super) phases: VecDeque<Commands>,
    /// That of the members' states that it writes down.
    pub(super) generation: u64,
    pub(super) draft: Draft,
    /// How many phases were sent.
    sent: usize,
}

impl MetadataUpdate {
    /// A draft as commands to the devices of the record, which are in the same order.
    pub(super) fn of(
        draft: Draft,
        generation: u64,
        record: &Record,
        devices: &[MetadataDevice],
    ) -> MetadataUpdate {
        let encoder = Encoder { record, devices };
        let phases = draft.phases.iter().map(|phase| encoder.commands(phase)).collect();
        MetadataUpdate { phases, generation, draft, sent: 0 }
    }

    /// The commands of its next phase, which go out now: all before it have ended.
    pub(super) fn next_phase(&mut self) -> Option<Commands> {
        let commands = self.phases.pop_front()?;
        self.sent += 1;
        Some(commands)
    }

    /// Ends it before its next phase, because a device failed: the next update is made without it.
    pub(super) fn cut(&mut self) {
        self.phases.clear();
    }

    /// How it has ended when all that was sent has.
    pub(super) fn outcome(&self, has_failed: bool) -> UpdateOutcome {
        if !has_failed {
            UpdateOutcome::Done
        } else if self.sent == self.draft.phases.len() {
            UpdateOutcome::Failed
        } else {
            UpdateOutcome::Abandoned { phases_done: self.sent }
        }
    }

    /// How it has ended when its last phase is given up half done.
    pub(super) fn abandoned(&self) -> UpdateOutcome {
        UpdateOutcome::Abandoned { phases_done: self.sent.saturating_sub(1) }
    }
}

/// Makes commands of a draft.
struct Encoder<'a> {
    record: &'a Record,
    devices: &'a [MetadataDevice],
}

impl Encoder<'_> {
    /// A phase as commands.
    fn commands(&self, phase: &Phase) -> Commands {
        match phase {
            Phase::Flush(devices) => devices.iter().map(|&device| (device, Op::Flush)).collect(),
            Phase::EmptyLogs(devices) => self.empty_logs(devices),
            Phase::BadBlockLogs(logs) => {
                let log = |(device, bytes): &(usize, Vec<u8>)| {
                    let offset = self.superblock(*device).bad_block_offset_sectors;
                    self.write(*device, offset, &self.whole_blocks(*device, bytes, 0xff))
                };
                logs.iter().map(log).collect()
            }
            Phase::BitmapPages { devices, first, bytes } => {
                let before = i32::try_from(*first as u64 * PAGE_BYTES / block::SECTOR_BYTES);
                let before = before.expect("a bitmap has fewer sectors than 2^31");
                let pages = |&device: &usize| {
                    let offset = self.superblock(device).bitmap_offset_sectors;
                    self.write(device, offset + before, bytes)
                };
                devices.iter().map(pages).collect()
            }
            Phase::Superblocks(written) => {
                let superblock = |(device, superblock): &(usize, Superblock)| {
                    self.write(*device, 0, &self.whole_blocks(*device, &superblock.encode(), 0))
                };
                written.iter().map(superblock).collect()
            }
        }
    }

    fn empty_logs(&self, devices: &[usize]) -> Commands {
        let Some(empty) = &self.record.empty_log else { return Vec::new() };
        let emptied = devices.iter().filter_map(|&device| {
            let area = self.superblock(device).ppl_area()?;
            // All of it: what is left of an earlier life must not look like this one's next log.
            let mut bytes = vec![0; usize::from(area.size_sectors) * block::SECTOR_BYTES as usize];
            bytes[..empty.len()].copy_from_slice(empty);
            Some(self.write(device, area.offset_sectors.into(), &bytes))
        });
        emptied.collect()
    }

    fn superblock(&self, device: usize) -> &Superblock {
        &self.record.devices[device].superblock
    }

    /// Bytes filled up to whole blocks of a device.
    fn whole_blocks(&self, device: usize, bytes: &[u8], fill: u8) -> Vec<u8> {
        let block = self.devices[device].whole.info().block_bytes as usize;
        let mut whole = bytes.to_vec();
        whole.resize(bytes.len().next_multiple_of(block), fill);
        whole
    }

    /// A durable write to a device, so many sectors from its superblock.
    fn write(&self, device: usize, offset_sectors: i32, bytes: &[u8]) -> (usize, Op) {
        let mut buffer = BufMut::zeroed(bytes.len());
        buffer.copy_from_slice(bytes);
        let offset = self.record.devices[device].byte_at(offset_sectors);
        (device, Op::Write { offset, from: buffer.freeze(), fua: true })
    }
}
