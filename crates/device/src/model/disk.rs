//! One disk of a [`Machine`](super::Machine): what happens to a command between the host and the
//! platters.
//!
//! ```text
//!   waiting --> front --------> read ----> hit (cache, read-ahead) ------> link --> done
//!   (host)      overhead   |     |
//!               one at a   |     +-------> media pool --> mechanism -----> link --> done
//!               time       |                                ^   ^
//!                          +---> write --> room? --> link --+---|--------> done (cached)
//!                          |                         cache -+   |
//!                          +---> flush --> cache empty?         read-ahead          --> done
//! ```
//!
//! Three things run at the same time: the front (the electronics' overhead), the data phase on the
//! link, and the mechanism (arm and head), which does one operation at a time and is never
//! interrupted in one. Every timer of a disk is one of four fields, so nothing is allocated or
//! sorted on the way of a request.
//!
//! What the mechanism does while no command waits for it, writing out the cache and reading ahead,
//! neither touches the link nor ends a command: when it is worked out cannot be seen from outside.
//! So it has no events of its own ([`Disk::next`]), and is made up for when the disk is next
//! touched ([`Disk::catch_up`]).

use std::collections::VecDeque;

use super::cache::{Piece, WriteCache};
use super::geometry::{nanoseconds, whole_nanoseconds};
use super::link::Link;
use super::notes::Notes;
use super::parameters::{DestageRule, Hold, Parameters};
use super::platters::{Approach, Platters, SECTOR_BYTES};
use super::request::{Answer, Operation};
use super::slots::Slots;

/// No event.
pub(super) const NEVER: u64 = u64::MAX;

/// A command of the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) client: u32,
    pub(super) tag: u64,
    pub(super) operation: Operation,
    /// Bytes of a write that are in the drive.
    pub(super) arrived: u64,
    /// Bytes of a write now crossing the link.
    pub(super) part: u64,
}

/// A host command's turn at the platters.
#[derive(Clone, Copy, Debug)]
struct Media {
    slot: u32,
    start: u64,
    end: u64,
    revolutions: f64,
    write: bool,
}

/// Data that crosses the link from `start_at` on.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    start_at: u64,
    slot: u32,
    bytes: u64,
    read: bool,
}

#[derive(Clone, Copy, Debug)]
enum Mechanism {
    Idle,
    Media(Media),
    /// Writing out a piece of the cache: in the background, or not to be stopped.
    Destage(Option<Background>),
    /// The arm still moves to where a write-out that was given up would have begun.
    Arriving,
    ReadAhead,
}

/// A write-out in the background, which a read may stop until data moves.
#[derive(Clone, Copy, Debug)]
struct Background {
    to: f64,
    /// When the arm is there.
    arm_at: u64,
    /// When data begins to move.
    data_at: u64,
}

/// What the buffer holds of the media: one run of addresses, read for the host or ahead of it.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    /// Everything before this is in the buffer; read-ahead under way may have come further.
    end: u64,
    /// The host has asked for everything before this.
    asked: u64,
    /// The host has asked for some of it since read-ahead last stopped.
    wanted: bool,
}

/// Read-ahead under way.
#[derive(Clone, Copy, Debug)]
struct Stream {
    from_revolutions: f64,
    /// When the head is at `from_revolutions`; ahead of now while the arm moves.
    from: u64,
    /// Where it will stop.
    limit: u64,
    limit_at: u64,
    /// Until then it keeps the mechanism, for what the host has asked for.
    held_until: u64,
    /// From when until when it keeps the mechanism because it has run for a while.
    holds: (u64, u64),
}

impl Stream {
    /// Nothing is read ahead.
    const NONE: Stream = Stream {
        from_revolutions: 0.0,
        from: 0,
        limit: 0,
        limit_at: NEVER,
        held_until: 0,
        holds: (0, 0),
    };

    /// Until when it keeps the mechanism from what comes now.
    fn kept_until(&self, now: u64) -> u64 {
        let (from, until) = self.holds;
        if (from..until).contains(&now) { self.held_until.max(until) } else { self.held_until }
    }
}

/// A disk and everything that is under way in it. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    index: usize,
    platters: Platters,
    settle: f64,
    read_overhead: u64,
    write_overhead: u64,
    read_nanoseconds_per_byte: f64,
    write_nanoseconds_per_byte: f64,
    queue_depth: usize,
    rule: DestageRule,
    watermark_bytes: u64,
    idle_after: u64,
    read_ahead_bytes: u64,
    read_ahead_start: u64,
    read_ahead_hold: u64,
    piece_bytes: u64,
    part_bytes: u64,

    waiting: VecDeque<Command>,
    commands: Slots<Command>,
    active: usize,
    front: Option<u32>,
    front_until: u64,
    room_wait: VecDeque<u32>,
    pool: Vec<Media>,
    transfers: VecDeque<Transfer>,
    moving: Option<Transfer>,
    mechanism: Mechanism,
    mechanism_until: u64,
    head: f64,
    /// The last operation of the mechanism was for a host command.
    served_host: bool,
    segment: Segment,
    stream: Stream,
    cache: WriteCache,
    flush: Option<u32>,
    idle: bool,
    idle_at: u64,
    pub(super) notes: Notes,
}

impl Disk {
    pub(super) fn new(index: usize, parameters: &Parameters, seed: u64) -> Self {
        let disk = &parameters.disk;
        let platters = Platters::new(parameters, seed);
        let block_bytes = platters.block_bytes;
        let size = disk.cache_size.value;
        let idle_after = disk.destage_idle_after.as_ref().map_or(0.0, |after| after.value);
        let watermark = disk.destage_watermark.as_ref().map_or(0.0, |mark| mark.value);
        let sectors = |bytes: u64| bytes / SECTOR_BYTES * SECTOR_BYTES;
        let verify_after = disk.verify_after.as_ref().map(|after| after.value);
        let cache_entries = disk.cache_entries.as_ref().map(|entries| entries.value as usize);
        let read_ahead_start = disk.read_ahead_start.as_ref().map_or(0.0, |start| start.value);
        Disk {
            index,
            platters,
            settle: disk.settle.value * 1e6,
            read_overhead: (disk.read_overhead.value * 1e3).round() as u64,
            write_overhead: (disk.write_overhead.value * 1e3).round() as u64,
            read_nanoseconds_per_byte: 1e9 / disk.link_rate_read.value,
            write_nanoseconds_per_byte: 1e9 / disk.link_rate_write.value,
            queue_depth: disk.queue_depth.value as usize,
            rule: disk.destage_rule.value,
            watermark_bytes: (watermark * size as f64) as u64,
            idle_after: (idle_after * 1e6) as u64,
            read_ahead_bytes: disk.read_ahead_length.value,
            read_ahead_start: (read_ahead_start * 1e6) as u64,
            read_ahead_hold: (disk.read_ahead_hold.value * 1e6) as u64,
            // Short enough that room comes free steadily while a long run is written out, and whole
            // blocks of the media, where there are some.
            piece_bytes: verify_after.unwrap_or(sectors(size / 64).max(64 << 10).max(block_bytes)),
            // A write that is larger than the cache goes through it in parts.
            part_bytes: sectors(size / 8).max(SECTOR_BYTES),
            waiting: VecDeque::new(),
            commands: Slots::new(),
            active: 0,
            front: None,
            front_until: NEVER,
            room_wait: VecDeque::new(),
            pool: Vec::new(),
            transfers: VecDeque::new(),
            moving: None,
            mechanism: Mechanism::Idle,
            mechanism_until: NEVER,
            head: 0.0,
            served_host: false,
            segment: Segment { start: 0, end: 0, asked: 0, wanted: false },
            stream: Stream::NONE,
            cache: WriteCache::new(
                size,
                disk.write_window.value as usize,
                cache_entries.unwrap_or(usize::MAX),
                block_bytes,
            ),
            flush: None,
            idle: true,
            idle_at: NEVER,
            notes: Notes::default(),
        }
    }

    /// The unit in which data come to the media, in bytes.
    pub(super) fn block_bytes(&self) -> u64 {
        self.platters.block_bytes
    }

    pub(super) fn capacity(&self) -> u64 {
        self.platters.geometry.capacity()
    }

    /// Bytes in the write cache.
    pub(super) fn dirty_bytes(&self) -> u64 {
        self.cache.bytes()
    }

    /// What is in the write cache and not on the media yet, as starts and ends in bytes, in order.
    pub(super) fn dirty_ranges(&self) -> Vec<(u64, u64)> {
        self.cache.ranges()
    }

    /// When something next happens in this disk that may use the link or end a command (the link's
    /// own time not counted).
    pub(super) fn next(&self) -> u64 {
        let transfer = match (&self.moving, self.transfers.front()) {
            (None, Some(transfer)) => transfer.start_at,
            _ => NEVER,
        };
        let mechanism = if self.is_waited_for() { self.mechanism_until } else { NEVER };
        self.front_until.min(mechanism).min(transfer)
    }

    /// When anything at all next happens in this disk (the link not counted), whether or not it can
    /// be seen.
    #[cfg(test)]
    pub(super) fn next_timer(&self) -> u64 {
        self.next().min(self.mechanism_until).min(self.idle_at)
    }

    /// Whether a command waits for the mechanism to come free. A read from the media does not: its
    /// transfer is set already.
    fn is_waited_for(&self) -> bool {
        !self.pool.is_empty()
            || !self.room_wait.is_empty()
            || self.flush.is_some()
            || matches!(self.mechanism, Mechanism::Media(Media { write: true, .. }))
    }

    /// Does what was due until `now` and not waited for.
    pub(super) fn catch_up(&mut self, now: u64, link: &mut Link, answers: &mut VecDeque<Answer>) {
        loop {
            let next = self.mechanism_until.min(self.idle_at);
            if next > now || next == NEVER {
                return;
            }
            if self.mechanism_until == next {
                self.mechanism_done(next, link, answers);
            } else {
                self.become_idle(next, link);
            }
        }
    }

    /// A time before which no command that is in this disk now can end, whatever else is submitted;
    /// exact for a transfer that has the link to itself. The owner need not look earlier.
    pub(super) fn next_answer(&self, link: &Link) -> u64 {
        let least = |bytes: u64, read: bool| link.least(bytes, self.nanoseconds_per_byte(read));
        let mut bound = if self.moving.is_some() { link.next() } else { NEVER };
        if let Some(slot) = self.front {
            let data = match self.commands[slot].operation {
                Operation::Read { length, .. } => least(length, true),
                Operation::Write { length, .. } => least(length.min(self.part_bytes), false),
                Operation::Flush => 0,
            };
            bound = bound.min(self.front_until + data);
            if self.active < self.queue_depth && !self.waiting.is_empty() {
                bound = bound.min(self.front_until + self.read_overhead.min(self.write_overhead));
            }
        }
        let link_free = if self.moving.is_some() { link.next() } else { 0 };
        for transfer in &self.transfers {
            bound =
                bound.min(transfer.start_at.max(link_free) + least(transfer.bytes, transfer.read));
        }
        if self.is_waited_for() {
            let only_for_room = self.room_wait.front().filter(|_| {
                let writes = matches!(self.mechanism, Mechanism::Media(media) if media.write);
                !writes && self.pool.is_empty() && self.flush.is_none()
            });
            // A write that waits for room has its way over the link before it.
            let data = only_for_room.map_or(0, |&slot| least(self.next_part(slot).1, false));
            bound = bound.min(self.mechanism_until.saturating_add(data));
        }
        bound
    }

    /// Whether commands wait for a link that another disk holds.
    pub(super) fn is_held_up(&self) -> bool {
        self.active == 0 && !self.waiting.is_empty()
    }

    /// Does what is due now; one thing at a time.
    pub(super) fn step(&mut self, now: u64, link: &mut Link, answers: &mut VecDeque<Answer>) {
        if self.front_until <= now {
            self.front_done(now, link, answers);
        } else if self.mechanism_until <= now {
            self.mechanism_done(now, link, answers);
        } else if self.idle_at <= now {
            self.become_idle(now, link);
        } else {
            self.start_transfer(now, link);
        }
    }

    fn become_idle(&mut self, now: u64, link: &mut Link) {
        self.idle_at = NEVER;
        self.idle = true;
        self.direct(now, link);
    }

    pub(super) fn submit(
        &mut self,
        now: u64,
        client: u32,
        tag: u64,
        operation: Operation,
        link: &mut Link,
    ) {
        self.idle = false;
        self.idle_at = NEVER;
        let command = Command { client, tag, operation, arrived: 0, part: 0 };
        if self.waiting.is_empty() && self.can_take(operation, link) {
            self.take(now, command, link);
        } else {
            self.waiting.push_back(command);
        }
    }

    // ---- the front
    // ---------------------------------------------------------------------------------------------

    /// Takes the next command from the host, if one can be taken.
    pub(super) fn accept(&mut self, now: u64, link: &mut Link) {
        if let Some(command) = self.waiting.front()
            && self.can_take(command.operation, link)
            && let Some(command) = self.waiting.pop_front()
        {
            self.take(now, command, link);
        }
    }

    /// Whether a command of the host can be taken now. Of a link that is held by the command the
    /// disk has its turn then.
    fn can_take(&self, operation: Operation, link: &mut Link) -> bool {
        if self.front.is_some() || self.flush.is_some() || self.active >= self.queue_depth {
            return false;
        }
        let whole_link = link.hold == Hold::Command;
        // A flush is not queued beside others, nor is anything on a link that is held by the
        // command.
        if self.active > 0 && (whole_link || matches!(operation, Operation::Flush)) {
            return false;
        }
        !whole_link || link.acquire(self.index)
    }

    fn take(&mut self, now: u64, command: Command, link: &mut Link) {
        let mut overhead = if matches!(command.operation, Operation::Read { .. }) {
            self.read_overhead
        } else {
            self.write_overhead
        };
        if link.hold == Hold::Command && link.is_change_to(self.index) {
            overhead += self.toll(command.operation, link) as u64;
        }
        let slot = self.commands.put(command);
        self.active += 1;
        self.front = Some(slot);
        self.front_until = now + overhead;
    }

    /// What a change over to this drive costs, on a link that a command holds. A read that goes on
    /// where this drive's last one ended finds no read-ahead, which was lost while another drive
    /// was selected: it is read from the media in its own turn. Any other read had none to lose.
    fn toll(&self, operation: Operation, link: &Link) -> f64 {
        match operation {
            Operation::Read { offset, length } if offset == self.segment.asked => {
                let turned = |address| self.platters.geometry.revolutions(address);
                let media = (turned(offset + length) - turned(offset)) * self.platters.period;
                let transfer = link.alone(length, self.nanoseconds_per_byte(true));
                link.switch_nanoseconds + (media - transfer).max(0.0)
            }
            Operation::Write { .. } => link.write_switch_nanoseconds,
            Operation::Read { .. } | Operation::Flush => 0.0,
        }
    }

    fn front_done(&mut self, now: u64, link: &mut Link, answers: &mut VecDeque<Answer>) {
        let slot = self.front.take().expect("a command was at the front");
        self.front_until = NEVER;
        match self.commands[slot].operation {
            Operation::Read { offset, length } => {
                self.read(now, slot, offset, offset + length, link);
            }
            Operation::Write { .. } => self.receive(now, slot, link),
            Operation::Flush if self.cache.is_clean() => self.complete(now, slot, link, answers),
            Operation::Flush => self.flush = Some(slot),
        }
        self.direct(now, link);
        self.accept(now, link);
    }

    fn complete(&mut self, now: u64, slot: u32, link: &mut Link, answers: &mut VecDeque<Answer>) {
        let Command { client, tag, .. } = self.commands[slot];
        answers.push_back(Answer { client, tag, time: now });
        self.commands.free(slot);
        self.active -= 1;
        if self.active == 0 {
            if link.hold == Hold::Command {
                link.release();
            }
            if self.waiting.is_empty() && self.rule != DestageRule::AtOnce {
                self.idle_at = now + self.idle_after;
            }
        }
        self.accept(now, link);
    }

    // ---- reads
    // ---------------------------------------------------------------------------------------------

    fn read(&mut self, now: u64, slot: u32, start: u64, end: u64, link: &mut Link) {
        if let Some(ready_at) = self.in_segment(now, start, end) {
            self.segment.asked = self.segment.asked.max(end);
            self.segment.wanted = true;
            self.queue_transfer(
                now,
                Transfer { start_at: now, slot, bytes: end - start, read: true },
                now,
                ready_at,
                link,
            );
            return;
        }
        if self.cache.covers(start, end) {
            self.queue_transfer(
                now,
                Transfer { start_at: now, slot, bytes: end - start, read: true },
                now,
                now,
                link,
            );
            return;
        }
        // What the buffer already has of it need not be read again.
        let from = if (self.segment_start()..=self.segment.end).contains(&start) {
            self.segment.end.min(end)
        } else {
            start
        };
        let (from, end) = self.platters.pages(from, end);
        let revolutions = self.platters.geometry.revolutions(from);
        self.pool.push(Media { slot, start: from, end, revolutions, write: false });
    }

    /// Room for read data: the cache is one memory.
    fn read_room(&self) -> u64 {
        self.cache.size() - self.cache.bytes()
    }

    /// The oldest read data still in the buffer.
    fn segment_start(&self) -> u64 {
        self.segment.start.max(self.segment.end.saturating_sub(self.read_room()))
    }

    /// When the last byte of start..end is in the buffer, if it is or soon will be without moving
    /// the arm.
    fn in_segment(&mut self, now: u64, start: u64, end: u64) -> Option<u64> {
        if start < self.segment_start() {
            return None;
        }
        if end <= self.segment.end {
            return Some(now);
        }
        if start > self.stream.limit || !matches!(self.mechanism, Mechanism::ReadAhead) {
            return None;
        }
        self.segment.end = self.segment.end.max(self.reached(now));
        if end <= self.segment.end {
            return Some(now);
        }
        let (start_at, end_at) = (self.reached_at(start), self.reached_at(end));
        if start > self.segment.end {
            // Further ahead: go there, if that is sooner than waiting until the stream comes by.
            let direct = self.platters.positioning(
                now,
                self.head_now(now),
                self.platters.geometry.revolutions(start),
                0.0,
            );
            if start_at > now + direct as u64 {
                return None;
            }
        }
        self.stream.held_until = self.stream.held_until.max(end_at);
        if end > self.stream.limit {
            self.extend_stream(end);
        }
        Some(end_at)
    }

    // ---- read-ahead
    // ---------------------------------------------------------------------------------------------

    /// How far read-ahead goes: its length beyond what the host has asked for, as far as there is
    /// room.
    fn read_ahead_limit(&self) -> u64 {
        (self.segment.asked + self.read_ahead_bytes.min(self.read_room()))
            .min(self.platters.geometry.capacity())
    }

    /// Reads on from the end of the segment, which lies at `from_revolutions` and is under the head
    /// at `from`.
    fn start_stream(&mut self, from_revolutions: f64, from: u64, now: u64) {
        let holds_from = now + self.read_ahead_start;
        self.stream = Stream {
            from_revolutions,
            from,
            limit: 0,
            limit_at: NEVER,
            held_until: now,
            holds: (holds_from, holds_from + self.read_ahead_hold),
        };
        self.mechanism = Mechanism::ReadAhead;
        self.extend_stream(self.read_ahead_limit());
    }

    fn extend_stream(&mut self, limit: u64) {
        self.stream.limit = limit;
        self.stream.limit_at = self.reached_at(limit);
        self.mechanism_until = self.stream.limit_at;
    }

    /// When the stream passes an address.
    fn reached_at(&self, address: u64) -> u64 {
        let turned = self.platters.geometry.revolutions(address) - self.stream.from_revolutions;
        self.stream.from + whole_nanoseconds((turned * self.platters.period).max(0.0))
    }

    fn stream_revolutions(&self, now: u64) -> f64 {
        self.stream.from_revolutions
            + now.saturating_sub(self.stream.from) as f64 * self.platters.per_period
    }

    /// The whole sectors the stream has read by now.
    fn reached(&self, now: u64) -> u64 {
        if now >= self.stream.limit_at {
            return self.stream.limit;
        }
        (self.platters.geometry.address(self.stream_revolutions(now)) / SECTOR_BYTES * SECTOR_BYTES)
            .min(self.stream.limit)
    }

    fn stop_stream(&mut self, now: u64) {
        self.segment.end = self.segment.end.max(self.reached(now));
        self.head = self.head_now(now);
        self.segment.wanted = false;
        self.segment.start = self.segment_start();
        self.mechanism = Mechanism::Idle;
        self.mechanism_until = NEVER;
    }

    // ---- writes
    // ---------------------------------------------------------------------------------------------

    /// What of a write crosses the link next: its first byte, and how many.
    fn next_part(&self, slot: u32) -> (u64, u64) {
        let Command { operation, arrived, .. } = &self.commands[slot];
        let Operation::Write { offset, length, .. } = operation else {
            unreachable!("only writes are received")
        };
        (offset + arrived, (length - arrived).min(self.part_bytes))
    }

    /// Lets the next part of a write cross the link, as soon as there is room for it.
    fn receive(&mut self, now: u64, slot: u32, link: &mut Link) {
        let (start, part) = self.next_part(slot);
        let has_begun = self.commands[slot].arrived > 0;
        let first = self.room_wait.front().copied();
        let behind_others = !has_begun && first.is_some_and(|first| first != slot);
        if behind_others || !self.cache.reserve(start, start + part) {
            if first != Some(slot) {
                if has_begun {
                    self.room_wait.push_front(slot);
                } else {
                    self.room_wait.push_back(slot);
                }
            }
            return;
        }
        if first == Some(slot) {
            self.room_wait.pop_front();
        }
        self.commands[slot].part = part;
        self.queue_transfer(
            now,
            Transfer { start_at: now, slot, bytes: part, read: false },
            now,
            now,
            link,
        );
    }

    /// Room came free: the writes that waited for it go on, in their order.
    fn admit(&mut self, now: u64, link: &mut Link) {
        while let Some(&slot) = self.room_wait.front() {
            self.receive(now, slot, link);
            if self.room_wait.front() == Some(&slot) {
                break;
            }
        }
    }

    fn part_arrived(
        &mut self,
        now: u64,
        slot: u32,
        link: &mut Link,
        answers: &mut VecDeque<Answer>,
    ) {
        let command = self.commands[slot];
        let Operation::Write { offset, length, fua } = command.operation else {
            unreachable!("only writes arrive in parts")
        };
        let (start, end) = (offset + command.arrived, offset + command.arrived + command.part);
        if fua {
            let revolutions = self.platters.geometry.revolutions(start);
            self.notes.arrived(now, (start, end));
            self.pool.push(Media { slot, start, end, revolutions, write: true });
        } else {
            self.notes.arrived(now, (start, end));
            let geometry = &self.platters.geometry;
            self.cache.insert(start, end, |address| geometry.revolutions(address));
            self.commands[slot].arrived += command.part;
            if command.arrived + command.part == length {
                self.complete(now, slot, link, answers);
            } else {
                self.receive(now, slot, link);
            }
        }
        self.direct(now, link);
    }

    /// Whether the host waits for data to be written out.
    fn destage_is_forced(&self) -> bool {
        self.flush.is_some() || !self.room_wait.is_empty()
    }

    /// An extent so large goes out at once.
    fn large_bytes(&self) -> u64 {
        self.cache.size() / 4
    }

    fn destage_is_due(&self) -> bool {
        if !self.cache.has_extents() {
            return false;
        }
        if self.destage_is_forced() {
            return true;
        }
        match self.rule {
            DestageRule::AtOnce => true,
            DestageRule::WhenIdle => self.idle || self.cache.last_is(self.large_bytes()),
            DestageRule::AtWatermark => self.idle || self.cache.bytes() >= self.watermark_bytes,
        }
    }

    // ---- the data phase
    // --------------------------------------------------------------------------------------------

    /// Of the drive's own interface.
    fn nanoseconds_per_byte(&self, read: bool) -> f64 {
        if read { self.read_nanoseconds_per_byte } else { self.write_nanoseconds_per_byte }
    }

    /// Queues a transfer whose first byte is there at `first_at` and whose last at `last_at`. It
    /// starts as late as it can without ending later, so that the link is not held while the
    /// platters turn.
    fn queue_transfer(
        &mut self,
        now: u64,
        mut transfer: Transfer,
        first_at: u64,
        last_at: u64,
        link: &mut Link,
    ) {
        if last_at > now {
            let per_byte = self.nanoseconds_per_byte(transfer.read);
            let tail = link.alone(SECTOR_BYTES, per_byte) - link.alone(0, per_byte);
            let latest = nanoseconds(last_at) + tail - link.alone(transfer.bytes, per_byte);
            transfer.start_at = (latest.max(0.0) as i64 as u64).max(first_at).max(now);
        }
        if transfer.start_at <= now && self.moving.is_none() && self.transfers.is_empty() {
            self.move_over_link(now, transfer, link);
            return;
        }
        let place = self
            .transfers
            .iter()
            .rposition(|other| other.start_at <= transfer.start_at)
            .map_or(0, |place| place + 1);
        self.transfers.insert(place, transfer);
        self.start_transfer(now, link);
    }

    fn start_transfer(&mut self, now: u64, link: &mut Link) {
        if self.moving.is_some()
            || self.transfers.front().is_none_or(|transfer| transfer.start_at > now)
        {
            return;
        }
        if let Some(transfer) = self.transfers.pop_front() {
            self.move_over_link(now, transfer, link);
        }
    }

    fn move_over_link(&mut self, now: u64, transfer: Transfer, link: &mut Link) {
        let per_byte = self.nanoseconds_per_byte(transfer.read);
        link.start(now, self.index, transfer.bytes, per_byte);
        self.moving = Some(transfer);
    }

    /// The link has moved this disk's transfer.
    pub(super) fn transfer_done(
        &mut self,
        now: u64,
        link: &mut Link,
        answers: &mut VecDeque<Answer>,
    ) {
        let transfer = self.moving.take().expect("a transfer was under way");
        if transfer.read {
            self.complete(now, transfer.slot, link, answers);
        } else {
            self.part_arrived(now, transfer.slot, link, answers);
        }
        self.start_transfer(now, link);
    }

    // ---- the mechanism
    // ---------------------------------------------------------------------------------------------

    fn head_now(&self, now: u64) -> f64 {
        if matches!(self.mechanism, Mechanism::ReadAhead) {
            self.stream_revolutions(now)
        } else {
            self.head
        }
    }

    /// Gives the mechanism its next work, if it is free or may be taken from read-ahead.
    fn direct(&mut self, now: u64, link: &mut Link) {
        let destage = self.destage_is_due();
        let host = !self.pool.is_empty();
        match self.mechanism {
            Mechanism::Destage(Some(background)) if host && now < background.data_at => {
                self.stop_background(now, background);
                if matches!(self.mechanism, Mechanism::Arriving) {
                    return;
                }
            }
            Mechanism::Media(_) | Mechanism::Destage(_) | Mechanism::Arriving => return,
            Mechanism::ReadAhead => {
                if !host && !destage {
                    return;
                }
                let kept_until = self.stream.kept_until(now);
                if now < kept_until {
                    self.mechanism_until = self.mechanism_until.min(kept_until);
                    return;
                }
                self.stop_stream(now);
            }
            Mechanism::Idle => {}
        }
        // A write that waits for room is a host command too: it and the reads take turns.
        let write_first = destage && !self.room_wait.is_empty() && self.served_host;
        if host && !write_first {
            self.start_media(now, link);
        } else if destage {
            self.start_destage(now);
        } else if self.segment.wanted
            && self.read_ahead_limit()
                > self.segment.end + self.read_ahead_bytes.min(self.read_room()) / 2
        {
            let target = self.platters.geometry.revolutions(self.segment.end);
            let arrival = now + self.platters.positioning(now, self.head, target, 0.0) as u64;
            self.start_stream(target, arrival, now);
        }
    }

    fn start_media(&mut self, now: u64, link: &mut Link) {
        let place = if self.pool.len() == 1 {
            0
        } else {
            let cost = |media: &Media| {
                self.platters.positioning(
                    now,
                    self.head,
                    media.revolutions,
                    if media.write { self.settle } else { 0.0 },
                )
            };
            let costs = self.pool.iter().map(cost).enumerate();
            costs.min_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(0, |(place, _)| place)
        };
        let media = self.pool.remove(place);
        self.served_host = true;
        self.mechanism = Mechanism::Media(media);
        if media.write {
            let range = (media.start, media.end, media.revolutions);
            let written = self.platters.write(now, self.head, range, self.settle, Approach::Seek);
            self.head = written.head;
            self.mechanism_until = now + whole_nanoseconds(written.passed);
            let range = (media.start, media.end);
            self.notes.written(now, range, (written.begins, written.ends));
            return;
        }
        let first_at =
            nanoseconds(now) + self.platters.positioning(now, self.head, media.revolutions, 0.0);
        let end = self.platters.geometry.revolutions(media.end);
        let last_at =
            whole_nanoseconds(first_at + (end - media.revolutions) * self.platters.period);
        self.head = end;
        self.mechanism_until = last_at;
        let bytes = match self.commands[media.slot].operation {
            Operation::Read { length, .. } => length,
            _ => unreachable!("only reads are read from the media"),
        };
        let transfer = Transfer { start_at: now, slot: media.slot, bytes, read: true };
        self.queue_transfer(now, transfer, first_at as u64, last_at, link);
    }

    /// Gives up a write-out in the background for a read, while its data do not move yet. A seek
    /// once begun ends where it leads to: only the wait for the place to come round is saved.
    fn stop_background(&mut self, now: u64, background: Background) {
        let Background { to, arm_at, .. } = background;
        self.head = to;
        (self.mechanism, self.mechanism_until) =
            if now < arm_at { (Mechanism::Arriving, arm_at) } else { (Mechanism::Idle, NEVER) };
        self.notes.given_up();
        let geometry = &self.platters.geometry;
        self.cache.put_back(|address| geometry.revolutions(address));
    }

    fn start_destage(&mut self, now: u64) {
        let (head, settle, platters) = (self.head, self.settle, &self.platters);
        let cost = |target: f64| platters.positioning(now, head, target, settle);
        let at = |address| platters.geometry.revolutions(address);
        let large = self.cache.last_is(self.large_bytes());
        let in_background = self.rule == DestageRule::WhenIdle && !self.destage_is_forced();
        let piece = if !in_background {
            self.cache.take_cheapest(cost, self.piece_bytes, at)
        } else if large {
            let piece = self.cache.take_last(self.piece_bytes, at);
            piece.map(|piece| (piece, cost(piece.revolutions)))
        } else {
            let piece = self.cache.take_oldest(self.piece_bytes, at);
            piece.map(|piece| (piece, cost(piece.revolutions)))
        };
        let Some((piece, way)) = piece else { return };
        let background = (in_background && !large).then(|| Background {
            to: piece.revolutions,
            arm_at: now + whole_nanoseconds(platters.geometry.seek(head, piece.revolutions)),
            data_at: now + whole_nanoseconds(way).max(1),
        });
        self.write_piece(now, &piece, Approach::Takes(way));
        self.mechanism = Mechanism::Destage(background);
        self.served_host = false;
    }

    /// Sets the mechanism to write a piece of the cache.
    fn write_piece(&mut self, now: u64, piece: &Piece, approach: Approach) {
        let Piece { start, end, revolutions } = *piece;
        let range = (start, end, revolutions);
        let written = self.platters.write(now, self.head, range, self.settle, approach);
        self.mechanism = Mechanism::Destage(None);
        self.mechanism_until = now + whole_nanoseconds(written.passed);
        self.head = written.head;
        self.notes.written(now, (start, end), (written.begins, written.ends));
    }

    fn mechanism_done(&mut self, now: u64, link: &mut Link, answers: &mut VecDeque<Answer>) {
        self.mechanism_until = NEVER;
        match self.mechanism {
            Mechanism::Idle => {}
            Mechanism::Arriving => self.mechanism = Mechanism::Idle,
            Mechanism::Media(media) if media.write => {
                self.mechanism = Mechanism::Idle;
                self.cache.release(media.end - media.start);
                let command = &mut self.commands[media.slot];
                command.arrived += media.end - media.start;
                let Operation::Write { length, .. } = command.operation else {
                    unreachable!("only writes are written")
                };
                if command.arrived == length {
                    self.complete(now, media.slot, link, answers);
                } else {
                    self.receive(now, media.slot, link);
                }
                self.admit(now, link);
            }
            Mechanism::Media(media) => {
                let follows = media.start == self.segment.end;
                let start = if follows { self.segment_start() } else { media.start };
                self.segment = Segment { start, end: media.end, asked: media.end, wanted: false };
                self.mechanism = Mechanism::Idle;
                if self.pool.is_empty()
                    && !self.destage_is_due()
                    && self.read_ahead_limit() > media.end
                {
                    self.start_stream(self.head, now, now);
                }
            }
            Mechanism::Destage(_) => {
                let end = self.cache.written();
                self.mechanism = Mechanism::Idle;
                self.admit(now, link);
                // An extent once begun goes out whole, unless a read waits.
                if self.pool.is_empty() {
                    self.continue_destage(now, end);
                }
            }
            Mechanism::ReadAhead => {
                if now >= self.stream.limit_at {
                    let limit = self.read_ahead_limit();
                    if limit > self.stream.limit {
                        self.segment.end = self.stream.limit;
                        self.extend_stream(limit);
                    } else {
                        self.stop_stream(now);
                    }
                } else {
                    self.mechanism_until = self.stream.limit_at;
                }
            }
        }
        if self.flush.is_some() && self.cache.is_clean() {
            let slot = self.flush.take().expect("a flush was waiting");
            self.complete(now, slot, link, answers);
        }
        self.direct(now, link);
    }

    /// Goes on writing where the last piece ended, without positioning, if data for that place is
    /// there.
    fn continue_destage(&mut self, now: u64, end: u64) {
        let geometry = &self.platters.geometry;
        let Some(piece) =
            self.cache.take_at(end, self.piece_bytes, |address| geometry.revolutions(address))
        else {
            return;
        };
        self.write_piece(now, &piece, Approach::Follows);
    }
}
