//! Copies: RAID 1 and RAID 10.
//!
//! Reads go to one copy, writes to all. After a crash the copies may differ where a resync is to be
//! done: there reads go to the first copy that is there, which is also the one that the resync
//! takes; any other could be read and be gone later.
//!
//! A write locks what it writes: two that meet must reach all copies in the same order, or the
//! copies would differ for good. The lock is a range of the array's own bytes, whatever the chunk.

use std::ops::Range;

use block::{Info, Stripe, size_text};

use super::definition::{
    Faults, Level, LevelTraits, PlanResult, SYNC_PLAN_BYTES, TooManyAbsent, optimal_bytes,
};
use crate::geometry::{Raid10, Raid10Layout};
use crate::member::MemberSet;
use crate::part::{Action, Part, Spot, SyncRange, SyncTask};
use crate::plan::{Access, ByteSite, Computation, Content, Plan, RowLock, content_of};
use crate::queues::Queues;
use crate::ranges::Ranges;

/// What the array's bytes are cut into for locking; a plan stays within one. Large, for a discard
/// may span the array.
const REGION_BYTES: u64 = 16 << 20;
/// A plan reads at most so many chunks: each may be a command of its own.
const READ_CHUNKS: u64 = 16;

/// The mirror, and mirrors striped.
#[derive(Debug)]
pub struct MirrorLevel {
    geometry: Raid10,
    name: &'static str,
}

impl MirrorLevel {
    /// RAID 1 over `members` slots of which each gives `member_bytes`.
    ///
    /// # Panics
    /// When there is no member, more than 255, or no byte.
    #[must_use]
    pub fn raid1(members: usize, member_bytes: u64) -> MirrorLevel {
        let copies = u32::try_from(members).expect("at most 255 members");
        MirrorLevel {
            geometry: Raid10::new(members, member_bytes, member_bytes, Raid10Layout::near(copies)),
            name: "raid1",
        }
    }

    /// RAID 10.
    #[must_use]
    pub fn raid10(geometry: Raid10) -> MirrorLevel {
        MirrorLevel { geometry, name: "raid10" }
    }

    fn is_raid1(&self) -> bool {
        self.name == "raid1"
    }

    /// The copies of what starts at `offset` on members that `may` be used.
    fn copies(&self, offset: u64, may: impl Fn(usize) -> bool) -> impl Iterator<Item = Spot> {
        let copies = (0..self.geometry.layout().copies())
            .map(move |copy| self.geometry.locate(offset, 1, copy));
        copies
            .filter(move |copy| may(copy.member))
            .map(|copy| Spot { member: copy.member, offset: copy.offset })
    }

    /// The piece's parts of chunks as start in the piece and length.
    fn parts(&self, piece: Part) -> impl Iterator<Item = (u64, u64)> {
        let chunk = self.geometry.chunk_bytes();
        let mut start = 0;
        std::iter::from_fn(move || {
            let length = (chunk - (piece.offset + start) % chunk).min(piece.length - start);
            let part = (start, length);
            start += length;
            (length > 0).then_some(part)
        })
    }

    fn lock(piece: Part) -> RowLock {
        let from = piece.offset % REGION_BYTES;
        RowLock { row: piece.offset / REGION_BYTES, from, to: from + piece.length }
    }

    fn plan_read(
        &self,
        piece: Part,
        faults: &Faults,
        queues: &Queues,
        plan: &mut Plan,
    ) -> PlanResult {
        for (start, length) in self.parts(piece) {
            let offset = piece.offset + start;
            // What goes on where an earlier chunk of the piece ended joins its command.
            let joins = |copy: Spot| {
                let ends = plan.read.iter().map(|read| (read.member, read.offset + read.length));
                ends.rev().any(|end| end == (copy.member, copy.offset))
            };
            let copy = queues
                .choose(self.copies(offset, |member| !faults.hide(member)), joins)
                .ok_or(faults.lost())?;
            let host = ByteSite::Host { start };
            let mut place = host;
            for bad in self.copies(offset, |member| faults.mend(member)) {
                if place == host {
                    // A read's own buffer cannot be written from.
                    place = ByteSite::Scratch { buffer: plan.scratch.len(), start: 0 };
                    plan.scratch.push(length);
                    plan.compute.push(Computation::Copy { from: place, into: host, length });
                    // What is written back must not overtake a newer write.
                    plan.lock = Some(Self::lock(piece));
                }
                plan.write.push(Access {
                    member: bad.member,
                    offset: bad.offset,
                    length,
                    content: place.into(),
                });
            }
            let Spot { member, offset } = copy;
            plan.read.push(Access { member, offset, length, content: place });
        }
        Ok(())
    }

    /// A member's accesses come in ascending order, for neighbours go out as one command.
    fn plan_write(&self, piece: Part, faults: &Faults, plan: &mut Plan) -> PlanResult {
        plan.lock = Some(Self::lock(piece));
        let layout = self.geometry.layout();
        let near = u64::from(layout.near);
        // With `offset` the rows of one stripe lie together; otherwise those of one far part do.
        let group = match layout.offset {
            true => self.geometry.chunk_bytes() * self.geometry.member_count() as u64 / near,
            false => u64::MAX,
        };
        let mut start = 0;
        while start < piece.length {
            let length = (piece.length - start).min(group - (piece.offset + start) % group);
            let now = Part { offset: piece.offset + start, length, ..piece };
            for far in 0..u64::from(layout.far) {
                for (within, length) in self.parts(now) {
                    let copies = (far * near..(far + 1) * near)
                        .map(|copy| self.geometry.locate(now.offset + within, length, copy));
                    let content = content_of(piece.action, start + within);
                    let present = copies.filter(|copy| !faults.absent.contains(copy.member));
                    plan.write.extend(present.map(|copy| Access {
                        member: copy.member,
                        offset: copy.offset,
                        length,
                        content,
                    }));
                }
            }
            start += length;
        }
        let missing = faults.missing();
        let lacks_all = |(start, _)| {
            self.copies(piece.offset + start, |member| !missing.contains(member)).next().is_none()
        };
        if missing.count() > 0 && self.parts(piece).any(lacks_all) {
            Err(faults.lost())
        } else {
            Ok(())
        }
    }
}

impl Level for MirrorLevel {
    fn traits(&self) -> LevelTraits {
        LevelTraits {
            is_redundant: true,
            locks_rows: true,
            keeps_last_copy: true,
            has_copies: true,
        }
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn options(&self) -> Vec<(String, String)> {
        let mut options = Vec::new();
        if !self.is_raid1() {
            options.push(("chunk".to_owned(), size_text(self.geometry.chunk_bytes())));
            options.push(("layout".to_owned(), self.geometry.layout().to_string()));
        }
        options.push(("metadata".to_owned(), "none".to_owned()));
        options
    }

    fn size_bytes(&self) -> u64 {
        self.geometry.size_bytes()
    }

    fn refine(&self, info: &mut Info) {
        if !self.is_raid1() {
            // What can be read side by side, in whole chunks.
            let (members, near) =
                (self.geometry.member_count() as u64, u64::from(self.geometry.layout().near));
            let stripe = self.geometry.chunk_bytes() * (members / near);
            info.optimal_bytes = optimal_bytes(stripe, info.block_bytes);
            // Where copies do not fill whole rows, the pattern comes again after a row of each
            // member, as md tells makers of file systems too.
            let width = if members.is_multiple_of(near) { members / near } else { members };
            info.stripe = Stripe::new(self.geometry.chunk_bytes(), width);
        }
    }

    fn commands_per_member(&self) -> u32 {
        if self.is_raid1() {
            1
        } else {
            (READ_CHUNKS as u32).max(2 * self.geometry.layout().far + 1)
        }
    }

    fn pieces_at_once(&self) -> u32 {
        4
    }

    /// The copies of a chunk are on members that follow each other.
    fn holds_all(&self, absent: &MemberSet) -> Result<(), TooManyAbsent> {
        let members = self.geometry.member_count();
        let near = self.geometry.layout().near as usize;
        let copies = self.geometry.layout().copies() as usize;
        let lost =
            |chunk: usize| (0..copies).all(|copy| absent.contains((chunk * near + copy) % members));
        if (0..members).any(lost) { Err(TooManyAbsent { members: *absent }) } else { Ok(()) }
    }

    #[inline]
    fn whole(&self, part: Part, missing: &MemberSet, queues: &Queues) -> Option<Spot> {
        let chunk = self.geometry.chunk_bytes();
        if part.action != Action::Read || part.length > chunk - part.offset % chunk {
            return None;
        }
        queues.choose(self.copies(part.offset, |member| !missing.contains(member)), |_| false)
    }

    fn piece_bytes(&self, part: Part, faults: &Faults) -> u64 {
        let chunk = self.geometry.chunk_bytes();
        let in_region = part.length.min(REGION_BYTES - part.offset % REGION_BYTES);
        match part.action {
            Action::Read if faults.unreadable.count() == 0 => {
                part.length.min(chunk.saturating_mul(READ_CHUNKS) - part.offset % chunk)
            }
            Action::Read => in_region.min(chunk.saturating_mul(READ_CHUNKS) - part.offset % chunk),
            Action::Write | Action::Zeroes | Action::Discard => in_region,
        }
    }

    fn plan(&self, piece: Part, faults: &Faults, queues: &Queues, plan: &mut Plan) -> PlanResult {
        match piece.action {
            Action::Read => self.plan_read(piece, faults, queues, plan),
            Action::Write | Action::Zeroes | Action::Discard => {
                self.plan_write(piece, faults, plan)
            }
        }
    }

    fn member_bytes(&self) -> u64 {
        self.geometry.member_bytes()
    }

    fn sync_bytes(&self) -> u64 {
        self.geometry.size_bytes()
    }

    fn member_ranges(&self, member: usize, range: Range<u64>) -> Ranges {
        let end = range.end.min(self.size_bytes());
        let range = Part {
            action: Action::Read,
            offset: range.start.min(end),
            length: end.saturating_sub(range.start),
        };
        let mut ranges = Ranges::none();
        for (start, length) in self.parts(range) {
            for copy in self.copies(range.offset + start, |holder| holder == member) {
                ranges.add(copy.offset..copy.offset + length);
            }
        }
        ranges
    }

    /// Within one chunk, and one region of the array's bytes.
    fn sync_range_bytes(&self, range: SyncRange) -> u64 {
        let chunk = self.geometry.chunk_bytes();
        let in_chunk = range.length.min(SYNC_PLAN_BYTES).min(chunk - range.offset % chunk);
        let offset = match range.task {
            SyncTask::Recover { member } => self.geometry.at(member, range.offset),
            SyncTask::Check | SyncTask::Repair => Some(range.offset),
        };
        offset.map_or(in_chunk, |offset| in_chunk.min(REGION_BYTES - offset % REGION_BYTES))
    }

    fn plan_sync(&self, range: SyncRange, faults: &Faults, plan: &mut Plan) -> PlanResult {
        let (offset, target) = match range.task {
            SyncTask::Recover { member } if faults.absent.contains(member) => {
                return Err(faults.lost());
            }
            SyncTask::Recover { member } => match self.geometry.at(member, range.offset) {
                Some(offset) => (offset, Some(member)),
                // Nothing lies there.
                None => return Ok(()),
            },
            SyncTask::Check | SyncTask::Repair => (range.offset, None),
        };
        let length = range.length;
        plan.lock = Some(Self::lock(Part { action: Action::Write, offset, length }));
        let mut readable = self.copies(offset, |member| !faults.hide(member));
        // A member that serves is its own best source.
        let own =
            self.copies(offset, |member| Some(member) == target && !faults.hide(member)).next();
        let first = own.or_else(|| readable.next()).ok_or(faults.lost())?;
        let scratch = |buffer| ByteSite::Scratch { buffer, start: 0 };
        let read = |copy: Spot, buffer| Access {
            member: copy.member,
            offset: copy.offset,
            length,
            content: scratch(buffer),
        };
        let write = |copy: Spot| Access {
            member: copy.member,
            offset: copy.offset,
            length,
            content: Content::Bytes(scratch(0)),
        };
        plan.scratch.push(length);
        plan.read.push(read(first, 0));
        let wanted = self.copies(offset, |member| Some(member) == target || faults.mend(member));
        plan.write.extend(wanted.map(write));
        if target.is_some() {
            return Ok(());
        }
        // Three copies tell which one is wrong; a level that has them does not guess while it
        // cannot tell.
        let tells = self.geometry.layout().copies() > 2 && !faults.unsynced;
        let repairs = range.task == SyncTask::Repair;
        for copy in readable {
            let slot = plan.scratch.len();
            plan.scratch.push(length);
            plan.read.push(read(copy, slot));
            if !tells {
                plan.compute.push(Computation::Compare {
                    one: scratch(0),
                    other: scratch(slot),
                    length,
                });
                plan.amend.extend(repairs.then(|| write(copy)));
            }
        }
        if tells {
            plan.sources.extend(plan.read.iter().map(|read| Some(read.content)));
            plan.compute.push(Computation::Vote { first: 0, count: plan.sources.len(), length });
            let copies = plan.read.iter().filter(|_| repairs);
            plan.mend.extend(copies.map(|&Access { member, offset, length, content }| Access {
                member,
                offset,
                length,
                content: Content::Bytes(content),
            }));
        }
        Ok(())
    }
}
