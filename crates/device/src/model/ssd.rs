//! One SSD of a [`Machine`](super::Machine): what happens to a command between the host and the
//! cells.
//!
//! ```text
//!   waiting --> controller --> read  --> die (read) --> bus --> link --> done
//!   (host)      one at a  |
//!               time      +--> write --> room? --> link --> buffer ----> done
//!                         |                           |
//!                         |                           +--> die (program) --> garbage collection
//!                         +--> flush --> buffer empty, map written --------> done
//! ```
//!
//! Dies, buses and the controller serve in order of arrival, so how long each is busy is known when
//! a command comes: a command needs two events at most, that its data are ready and that they have
//! crossed the link. What is programmed needs none, unless a write waits for room in the buffer.
//!
//! A read goes before a program that is under way on its die, which is put aside. Programs take
//! turns over the dies; while the region of cells with one bit has room, they take a shorter time.
//! An idle drive folds the region.
//!
//! How long the controller works on a command is not always the same: its times are drawn from an
//! exponential distribution of the stated mean, as queueing networks of computers have it (Lazowska
//! and others 1984). So a curve over depth bends before the controller is busy all the time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::collector::Collector;
use super::flash::FlashParameters;
use super::link::Link;
use super::notes::Notes;
use super::parameters::Parameters;
use super::random::Random;
use super::request::{Answer, Operation};
use super::slots::Slots;

const NEVER: u64 = u64::MAX;

/// How finely the controller's times are drawn.
const DRAWS: usize = 256;

/// Means of equally likely parts of an exponential distribution of mean 1: together they have that
/// mean. Rounded, so that they are the same whatever maths library is at hand.
fn exponential_parts() -> [f64; DRAWS] {
    let below = |share: f64| if share > 0.0 { share - share * share.ln() } else { 0.0 };
    let count = DRAWS as f64;
    std::array::from_fn(|index| {
        let (from, to) = (index as f64 / count, (index + 1) as f64 / count);
        (count * (below(to) - below(from)) * 1e6).round() / 1e6
    })
}

/// What fills no unit yet is programmed after so long.
const PARTIAL_NANOSECONDS: u64 = 10_000_000;

#[derive(Clone, Copy, Debug)]
struct Command {
    client: u32,
    tag: u64,
    operation: Operation,
}

#[derive(Clone, Copy, Debug)]
struct Die {
    read_free: u64,
    program_free: u64,
    /// The pages in the registers of its planes lie in this row, and which they are.
    row: u64,
    held: u64,
    /// The read for which they were read: it may have others of the row read at the same time.
    reader: u64,
}

/// An SSD and everything that is under way in it. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Ssd {
    index: usize,
    capacity: u64,
    queue_depth: usize,
    read_overhead: u64,
    write_overhead: u64,
    read_command: f64,
    write_command: f64,
    interface: [f64; 2],
    page: u64,
    planes: u64,
    unit: u64,
    read_time: u64,
    suspend_time: u64,
    region_program: f64,
    program: f64,
    folding_program: f64,
    bits: f64,
    nanoseconds_per_bus_byte: f64,
    region: f64,
    fold_per_nanosecond: f64,
    fold_after: u64,
    buffer: u64,
    flush_time: u64,
    is_protected: bool,

    waiting: VecDeque<Command>,
    commands: Slots<Command>,
    active: usize,
    controller_free: u64,
    parts: [f64; DRAWS],
    random: Random,
    dies: Vec<Die>,
    buses: Vec<u64>,
    /// When a command's data are ready, or it is done: time, order of arrival, slot.
    ready: BinaryHeap<Reverse<(u64, u64, u32)>>,
    order: u64,
    room_wait: VecDeque<u32>,
    /// Reads that are ready and writes that have room, in turn.
    transfers: VecDeque<u32>,
    moving: Option<u32>,
    /// Bytes in the buffer, those on their way over the link among them.
    buffered: u64,
    /// Bytes that fill no unit yet, and when the last of them came.
    partial: u64,
    partial_at: u64,
    next_die: usize,
    /// When programs end, and what room each frees.
    programs: BinaryHeap<Reverse<(u64, u64)>>,
    last_program: u64,
    last_answer: u64,
    /// In the region and not folded, in bytes.
    in_region: f64,
    /// Written since it was new, up to its capacity, in bytes.
    filled: f64,
    collector: Collector,
    /// What is in the buffer, in the order in which it came.
    dirty: VecDeque<(u64, u64)>,
    /// What of it no program has taken.
    unprogrammed: VecDeque<(u64, u64)>,
    pub(super) notes: Notes,
}

impl Ssd {
    pub(super) fn new(
        index: usize,
        parameters: &Parameters,
        flash: &FlashParameters,
        seed: u64,
    ) -> Self {
        let disk = &parameters.disk;
        let microseconds = |value: f64| (value * 1e3).round() as u64;
        let die = Die { read_free: 0, program_free: 0, row: u64::MAX, held: 0, reader: u64::MAX };
        Ssd {
            index,
            capacity: disk.capacity.value,
            queue_depth: disk.queue_depth.value as usize,
            read_overhead: microseconds(disk.read_overhead.value),
            write_overhead: microseconds(disk.write_overhead.value),
            read_command: flash.read_command_time.value * 1e3,
            write_command: flash.write_command_time.value * 1e3,
            interface: [1e9 / disk.link_rate_read.value, 1e9 / disk.link_rate_write.value],
            page: flash.page.value as u64,
            planes: (flash.program_unit.value / flash.page.value).clamp(1.0, 64.0) as u64,
            unit: flash.program_unit.value as u64,
            read_time: microseconds(flash.read_time.value),
            suspend_time: microseconds(flash.suspend_time.value),
            region_program: flash.region_program_time.value * 1e3,
            program: flash.program_time.value * 1e3,
            folding_program: flash.folding_program_time.value * 1e3,
            bits: flash.bits.value,
            nanoseconds_per_bus_byte: 1e9 / flash.channel_rate.value,
            region: flash.region.value,
            fold_per_nanosecond: flash.fold_rate.value / 1e9,
            fold_after: (flash.fold_after.value * 1e6) as u64,
            buffer: disk.cache_size.value,
            flush_time: microseconds(flash.flush_time.value),
            is_protected: flash.power_loss_protection,
            waiting: VecDeque::new(),
            commands: Slots::new(),
            active: 0,
            controller_free: 0,
            parts: exponential_parts(),
            random: Random::new(seed),
            dies: vec![die; flash.dies.value as usize],
            buses: vec![0; flash.channels.value as usize],
            ready: BinaryHeap::new(),
            order: 0,
            room_wait: VecDeque::new(),
            transfers: VecDeque::new(),
            moving: None,
            buffered: 0,
            partial: 0,
            partial_at: 0,
            next_die: 0,
            programs: BinaryHeap::new(),
            last_program: 0,
            last_answer: 0,
            in_region: 0.0,
            filled: 0.0,
            collector: Collector::new(disk.capacity.value, flash.spare.value),
            dirty: VecDeque::new(),
            unprogrammed: VecDeque::new(),
            notes: Notes::default(),
        }
    }

    /// The unit in which a write can be torn by a power cut, in bytes.
    pub(super) fn block_bytes(&self) -> u64 {
        4096.min(self.page)
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes in the buffer.
    pub(super) fn dirty_bytes(&self) -> u64 {
        self.buffered
    }

    /// What a power cut would lose, as starts and ends in bytes, in order.
    pub(super) fn dirty_ranges(&self) -> Vec<(u64, u64)> {
        if self.is_protected {
            return Vec::new();
        }
        let mut ranges: Vec<(u64, u64)> = self.dirty.iter().copied().collect();
        ranges.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (start, end) in ranges {
            match joined.last_mut() {
                Some((_, last)) if *last >= start => *last = end.max(*last),
                _ => joined.push((start, end)),
            }
        }
        joined
    }

    /// When something next happens that may use the link or end a command (the link's own time not
    /// counted).
    pub(super) fn next(&self) -> u64 {
        let ready = self.ready.peek().map_or(NEVER, |Reverse((time, ..))| *time);
        let room = match self.programs.peek() {
            Some(Reverse((time, _))) if !self.room_wait.is_empty() => *time,
            _ => NEVER,
        };
        ready.min(room)
    }

    /// A time before which no command that is in this SSD now can end, whatever else is submitted.
    pub(super) fn next_answer(&self, link: &Link) -> u64 {
        let moved = if self.moving.is_some() { link.next() } else { NEVER };
        self.next().min(moved)
    }

    /// Does what was due until `now` and not waited for.
    pub(super) fn catch_up(&mut self, now: u64) {
        if self.partial > 0 && self.partial_at + PARTIAL_NANOSECONDS <= now {
            self.program_partial(self.partial_at + PARTIAL_NANOSECONDS);
        }
        while let Some(Reverse((time, bytes))) = self.programs.peek().copied() {
            if time > now {
                break;
            }
            self.programs.pop();
            self.buffered -= bytes;
            let mut left = bytes;
            while take_front(&mut self.dirty, &mut left).is_some() {}
        }
    }

    /// Does what is due now; one thing at a time.
    pub(super) fn step(&mut self, now: u64, link: &mut Link, answers: &mut VecDeque<Answer>) {
        self.catch_up(now);
        self.admit(now);
        if let Some(Reverse((time, _, slot))) = self.ready.peek().copied()
            && time <= now
        {
            self.ready.pop();
            self.is_ready(now, slot, answers);
        }
        self.start_transfer(now, link);
    }

    /// Lets the next data cross the link, if none do.
    fn start_transfer(&mut self, now: u64, link: &mut Link) {
        if self.moving.is_none()
            && let Some(slot) = self.transfers.pop_front()
        {
            let (bytes, write) = match self.commands[slot].operation {
                Operation::Read { length, .. } => (length, false),
                Operation::Write { length, .. } => (length, true),
                Operation::Flush => unreachable!("a flush has no data"),
            };
            self.moving = Some(slot);
            link.start(now, self.index, bytes, self.interface[usize::from(write)]);
        }
    }

    /// A command's data are ready to cross the link, or it is done.
    fn is_ready(&mut self, now: u64, slot: u32, answers: &mut VecDeque<Answer>) {
        match self.commands[slot].operation {
            Operation::Read { .. } => self.transfers.push_back(slot),
            WRITTEN | Operation::Flush => self.complete(now, slot, answers),
            Operation::Write { .. } => {
                self.room_wait.push_back(slot);
                self.admit(now);
            }
        }
    }

    /// Lets writes cross the link for which there is room, in their order.
    fn admit(&mut self, now: u64) {
        while let Some(&slot) = self.room_wait.front() {
            let Operation::Write { length, .. } = self.commands[slot].operation else {
                unreachable!("only writes wait for room")
            };
            // One that is larger than the buffer goes through it while it is empty.
            if self.buffered > 0 && self.buffered + length > self.buffer {
                if self.programs.is_empty() {
                    self.program_partial(now);
                }
                return;
            }
            self.buffered += length;
            self.room_wait.pop_front();
            self.transfers.push_back(slot);
        }
    }

    pub(super) fn submit(&mut self, now: u64, client: u32, tag: u64, operation: Operation) {
        if self.active == 0 {
            self.fold(now);
        }
        let command = Command { client, tag, operation };
        if self.active < self.queue_depth {
            self.take(now, command);
        } else {
            self.waiting.push_back(command);
        }
    }

    /// What an idle drive has folded until now.
    fn fold(&mut self, now: u64) {
        let idle_from = self.last_program.max(self.last_answer) + self.fold_after;
        if now > idle_from {
            let folded = (now - idle_from) as f64 * self.fold_per_nanosecond;
            self.in_region = (self.in_region - folded).max(0.0);
        }
    }

    fn take(&mut self, now: u64, command: Command) {
        let slot = self.commands.put(command);
        self.active += 1;
        let begin = now.max(self.controller_free);
        let ready = match command.operation {
            Operation::Read { offset, length } => {
                self.controller_free = begin + self.command_time(self.read_command);
                self.read(self.controller_free + self.read_overhead, offset, length)
            }
            Operation::Write { .. } => {
                self.controller_free = begin + self.command_time(self.write_command);
                self.controller_free + self.write_overhead
            }
            Operation::Flush => {
                self.controller_free = begin + self.command_time(self.write_command);
                self.flushed(self.controller_free + self.write_overhead)
            }
        };
        self.push_ready(ready, slot);
    }

    /// How long a command occupies the controller, of this mean in nanoseconds.
    fn command_time(&mut self, mean: f64) -> u64 {
        let part = self.random.below(DRAWS as u64) as usize;
        (mean * self.parts[part]) as u64
    }

    fn push_ready(&mut self, time: u64, slot: u32) {
        self.ready.push(Reverse((time, self.order, slot)));
        self.order += 1;
    }

    /// When a read's data can cross the link without a pause: its first page is through its bus,
    /// and the last one will be in time.
    fn read(&mut self, now: u64, offset: u64, length: u64) -> u64 {
        let (mut at, end, mut ready, mut first) = (offset, offset + length, now, u64::MAX);
        while at < end {
            let page = at / self.page;
            let next = ((page + 1) * self.page).min(end);
            let die = (page % self.dies.len() as u64) as usize;
            let in_register = self.read_page(now, die, page);
            let buses = self.buses.len();
            let bus = &mut self.buses[die % buses];
            let moved = ((next - at) as f64 * self.nanoseconds_per_bus_byte) as u64;
            *bus = in_register.max(*bus) + moved;
            ready = ready.max(*bus);
            first = first.min(*bus);
            at = next;
        }
        let crossing = (length as f64 * self.interface[0]) as u64;
        first.max(ready.saturating_sub(crossing))
    }

    /// When a page is in the register of its plane. Pages of one row lie on the planes of their
    /// die, and what one command asks of them is read at the same time.
    fn read_page(&mut self, now: u64, die: usize, page: u64) -> u64 {
        let place = page / self.dies.len() as u64;
        let (row, plane) = (place / self.planes, 1 << (place % self.planes));
        let die = &mut self.dies[die];
        if die.row == row {
            let is_held = die.held & plane != 0;
            if is_held || die.reader == self.order {
                die.held |= plane;
                return now.max(die.read_free);
            }
        }
        let begin = now.max(die.read_free);
        let mut end = begin + self.read_time;
        if begin < die.program_free {
            end += self.suspend_time;
            die.program_free += self.read_time + self.suspend_time;
        }
        *die = Die { read_free: end, row, held: plane, reader: self.order, ..*die };
        end
    }

    /// Programs a unit of the buffer, or what there is of one.
    fn program_unit(&mut self, now: u64, bytes: u64) {
        let mut time = self.program_time(bytes as f64);
        if bytes <= self.page {
            // The stated rate is that of whole units on all dies, which the link may limit; a page
            // alone takes what a page of the map takes.
            time = time.min(self.flush_time as f64);
        }
        let mut left = bytes;
        let die = self.next_die;
        self.next_die = (die + 1) % self.dies.len();
        let die = &mut self.dies[die];
        let end = now.max(die.program_free) + (time * self.collector.amplification()) as u64;
        let begin = die.program_free.max(now);
        die.program_free = end;
        while let Some(range) = take_front(&mut self.unprogrammed, &mut left) {
            self.notes.written(now, range, ((begin - now) as f64, (end - now) as f64));
        }
        self.last_program = self.last_program.max(end);
        self.programs.push(Reverse((end, bytes)));
    }

    /// How long programming a unit takes. What is in the region takes the room of all the bits that
    /// its cells could hold: once nothing is left beside it, what is written has to wait until as
    /// much is folded.
    fn program_time(&mut self, bytes: f64) -> f64 {
        let room = self.capacity as f64 - self.filled - (self.bits - 1.0) * self.in_region;
        self.filled = (self.filled + bytes).min(self.capacity as f64);
        if self.in_region + bytes <= self.region && room >= self.bits * bytes {
            self.in_region += bytes;
            self.region_program
        } else if room >= bytes || self.in_region == 0.0 {
            self.program
        } else {
            let folded = bytes / (self.bits - 1.0).max(1.0);
            self.in_region = (self.in_region - folded).max(0.0);
            self.folding_program
        }
    }

    fn program_partial(&mut self, now: u64) {
        if self.partial > 0 {
            let bytes = std::mem::take(&mut self.partial);
            self.program_unit(now, bytes);
        }
    }

    /// When what is in the buffer now is on the cells, and the map too.
    fn flushed(&mut self, now: u64) -> u64 {
        if self.is_protected {
            return now;
        }
        self.catch_up(now);
        self.program_partial(now);
        if self.programs.is_empty() { now } else { self.last_program.max(now) + self.flush_time }
    }

    /// A transfer over the link has ended.
    pub(super) fn transfer_done(
        &mut self,
        now: u64,
        link: &mut Link,
        answers: &mut VecDeque<Answer>,
    ) {
        let slot = self.moving.take().expect("a transfer was under way");
        match self.commands[slot].operation {
            Operation::Write { offset, length, fua } => {
                self.arrived(now, slot, (offset, length, fua), answers);
            }
            _ => self.complete(now, slot, answers),
        }
        self.admit(now);
        self.start_transfer(now, link);
    }

    /// A write's data are in the buffer.
    fn arrived(
        &mut self,
        now: u64,
        slot: u32,
        (offset, length, fua): (u64, u64, bool),
        answers: &mut VecDeque<Answer>,
    ) {
        let range = (offset, offset + length);
        self.notes.arrived(now, range);
        if self.is_protected {
            self.notes.written(now, range, (0.0, 0.0));
        } else {
            self.unprogrammed.push_back(range);
        }
        self.dirty.push_back(range);
        self.collector.written(offset, length);
        self.partial += length;
        self.partial_at = now;
        while self.partial >= self.unit {
            self.partial -= self.unit;
            self.program_unit(now, self.unit);
        }
        if fua && !self.is_protected {
            let done = self.flushed(now);
            self.commands[slot].operation = WRITTEN;
            self.push_ready(done, slot);
        } else {
            self.complete(now, slot, answers);
        }
    }

    fn complete(&mut self, now: u64, slot: u32, answers: &mut VecDeque<Answer>) {
        let Command { client, tag, .. } = self.commands[slot];
        answers.push_back(Answer { client, tag, time: now });
        self.commands.free(slot);
        self.active -= 1;
        self.last_answer = now;
        if let Some(command) = self.waiting.pop_front() {
            self.take(now, command);
        }
    }
}

/// Takes from the first of these ranges as many of the bytes that are left as it has.
fn take_front(ranges: &mut VecDeque<(u64, u64)>, left: &mut u64) -> Option<(u64, u64)> {
    let (start, end) = ranges.front_mut().filter(|_| *left > 0)?;
    let taken = (*start, (*start + *left).min(*end));
    *left -= taken.1 - taken.0;
    *start = taken.1;
    if *start == *end {
        ranges.pop_front();
    }
    Some(taken)
}

/// In place of a write that waits for nothing but the cells.
const WRITTEN: Operation = Operation::Write { offset: 0, length: 0, fua: true };
