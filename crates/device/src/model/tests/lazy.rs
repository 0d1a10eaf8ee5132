//! The machine against one that does every event at its time: a million random operations on
//! random drives, the same to the nanosecond. Both have the same disks; what differs is that one of
//! them leaves alone what no request waits for.

use super::super::random::Random;
use super::super::{Answer, Machine, MediaNote, Operation, Parameters};
use super::{DestageRule, Hold, quantity, variants};

const OPERATIONS: u64 = 1_000_000;
const OPERATIONS_OF_A_CASE: u64 = 5_000;

/// Any drive: a model of ours or a planted one, with some of it changed.
fn any_drive(random: &mut Random) -> Parameters {
    let mut drives = variants();
    drives.extend(
        Parameters::built_in_names()
            .into_iter()
            .map(|name| Parameters::load(name).expect("a built-in model")),
    );
    let mut drive = drives.swap_remove(random.below(drives.len() as u64) as usize);
    let disk = &mut drive.disk;
    let mut often = |one_in: u64| random.below(one_in) == 0;
    let changes: [bool; 10] = std::array::from_fn(|_| often(4));
    if changes[0] {
        disk.queue_depth.value = 1 + random.below(32);
    }
    if changes[1] {
        disk.destage_rule.value =
            [DestageRule::AtOnce, DestageRule::WhenIdle, DestageRule::AtWatermark]
                [random.below(3) as usize];
    }
    if changes[1] || disk.destage_idle_after.is_none() {
        disk.destage_idle_after = Some(quantity(random.fraction() * 4.0, "ms"));
        disk.destage_watermark = Some(quantity(0.05 + random.fraction() * 0.9, "share"));
    }
    if changes[2] {
        disk.write_window.value = 1 + random.below(20);
    }
    if changes[2] || changes[3] {
        let entries = disk.write_window.value + random.below(60);
        disk.cache_entries = changes[3].then(|| quantity(entries, "extents"));
    }
    if changes[4] {
        disk.cache_size.value = (64 << 10) << random.below(8);
    }
    if changes[5] {
        disk.read_ahead_length.value = random.below(3) * (300 << 10);
        disk.read_ahead_hold.value = random.fraction() * 6.0;
        disk.read_ahead_start = Some(quantity(random.fraction() * 2.0, "ms"));
    }
    if changes[6] {
        disk.physical_block = Some(quantity(512 << random.below(8), "bytes"));
        disk.verify_after = (random.below(2) == 0).then(|| quantity(512 << 10, "bytes"));
    }
    if changes[7] {
        disk.settle.value = random.fraction() * 2.0;
        disk.seek_linear_from = Some(quantity(0.2 + random.fraction() * 0.7, "share"));
    }
    let link = &mut drive.link;
    if changes[8] {
        link.hold = [Hold::Burst, Hold::Command][random.below(2) as usize];
        link.switch_penalty.value = random.fraction();
        link.write_switch_penalty = Some(quantity(random.fraction(), "ms"));
        link.command_time.value = random.fraction() * 40.0;
    }
    if changes[9] {
        link.bandwidth.value *= 0.1 + random.fraction() * 2.0;
    }
    drive
}

/// Where the next operations go: all over the disk, where others are, or one behind the other.
struct Host {
    capacity: u64,
    /// Shares in 16 of reads, and of writes with FUA and flushes among the rest.
    reads: u64,
    forced: u64,
    sectors_max: u64,
    scattered: u64,
    stream: u64,
}

impl Host {
    fn new(capacity: u64, random: &mut Random) -> Host {
        Host {
            capacity,
            reads: random.below(17),
            forced: random.below(4) * random.below(2),
            sectors_max: [8, 8, 64, 256, 4000][random.below(5) as usize],
            scattered: random.below(17),
            stream: 0,
        }
    }

    fn next(&mut self, random: &mut Random) -> Operation {
        let length = 512 * (1 + random.below(self.sectors_max));
        let last = (self.capacity - length) / 512;
        let offset = match random.below(16) {
            place if place < self.scattered => random.below(last + 1) * 512,
            place if place % 2 == 0 => random.below(last.min(4000) + 1) * 512,
            _ => self.stream.min(last * 512),
        };
        self.stream = if random.below(500) == 0 { 0 } else { offset + length };
        if random.below(16) < self.reads {
            return Operation::Read { offset, length };
        }
        match random.below(16) {
            kind if kind >= self.forced => Operation::Write { offset, length, fua: false },
            0 => Operation::Flush,
            _ => Operation::Write { offset, length, fua: true },
        }
    }
}

/// Both machines, asked the same.
struct Pair {
    lazy: Machine,
    events: Machine,
    disks: usize,
    now: u64,
    in_flight: Vec<u32>,
}

impl Pair {
    fn new(drives: &[Parameters], others: &[Parameters], seed: u64) -> Pair {
        let mut lazy = Machine::new(&drives[0]);
        let mut events = Machine::eager(&others[0]);
        for (disk, (drive, other)) in drives.iter().zip(others).enumerate() {
            lazy.add_disk(drive, seed + disk as u64);
            events.add_disk(other, seed + disk as u64);
            if disk == 0 {
                lazy.note_media(disk);
                events.note_media(disk);
            }
        }
        Pair { lazy, events, disks: drives.len(), now: 0, in_flight: vec![0; drives.len()] }
    }

    fn submit(&mut self, disk: usize, tag: u64, operation: Operation) {
        self.lazy.submit(self.now, disk, disk as u32, tag, operation);
        self.events.submit(self.now, disk, disk as u32, tag, operation);
        self.in_flight[disk] += 1;
    }

    /// Lets time pass in both.
    fn advance(&mut self, now: u64) -> Result<(), String> {
        self.now = self.now.max(now);
        let (mut lazy, mut events): (Vec<Answer>, Vec<Answer>) = (Vec::new(), Vec::new());
        self.lazy.advance(self.now, &mut |answer| lazy.push(answer));
        self.events.advance(self.now, &mut |answer| events.push(answer));
        for answer in &events {
            self.in_flight[answer.client as usize] -= 1;
        }
        if lazy == events { Ok(()) } else { Err(format!("answers {lazy:?}, not {events:?}")) }
    }

    /// When an answer may come at the earliest.
    fn next_answer(&self) -> Option<u64> {
        (0..self.disks)
            .filter(|&disk| self.in_flight[disk] > 0)
            .filter_map(|disk| self.lazy.next_answer(disk))
            .min()
    }

    /// Waits for an answer as a device does, which would see one too late that comes earlier than
    /// it was to be expected.
    fn wait(&mut self) -> Result<(), String> {
        let before = self.in_flight.clone();
        while self.in_flight == before {
            let next = self.next_answer().ok_or("no answer is to be expected")?;
            let is_event_before = self.events.next().is_some_and(|first| first + 2 <= next);
            if next > self.now + 2 && is_event_before {
                // Whenever its shares change the link rounds anew: a nanosecond more or less.
                self.advance(next - 2)?;
                if self.in_flight != before {
                    return Err(format!("an answer came before {next}"));
                }
            }
            self.advance(next)?;
        }
        Ok(())
    }

    /// What only a power cut shows.
    fn compare_insides(&mut self) -> Result<(), String> {
        for disk in 0..self.disks {
            let lazy = (self.lazy.dirty_bytes(disk), self.lazy.dirty_ranges(disk));
            let events = (self.events.dirty_bytes(disk), self.events.dirty_ranges(disk));
            if lazy != events {
                return Err(format!("disk {disk} holds {lazy:?}, not {events:?}"));
            }
            let (lazy, events): (Vec<MediaNote>, Vec<MediaNote>) =
                (self.lazy.take_notes(disk), self.events.take_notes(disk));
            if lazy != events {
                return Err(format!("disk {disk} noted {lazy:?}, not {events:?}"));
            }
        }
        Ok(())
    }
}

/// Runs both machines; what differed first.
fn compare(
    drives: &[Parameters],
    others: &[Parameters],
    seed: u64,
    operations: u64,
) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut pair = Pair::new(drives, others, seed);
    let mut hosts: Vec<Host> =
        (0..pair.disks).map(|disk| Host::new(pair.lazy.capacity(disk), &mut random)).collect();
    let depth = 1 + random.below(8) * random.below(2);
    let patience = [0, 3_000_000, 40_000_000][random.below(3) as usize];
    for tag in 0..operations {
        let disk = random.below(pair.disks as u64) as usize;
        let operation = hosts[disk].next(&mut random);
        pair.submit(disk, tag, operation);
        while u64::from(pair.in_flight.iter().sum::<u32>()) >= depth {
            pair.wait()?;
        }
        if patience > 0 && random.below(4) == 0 {
            pair.advance(pair.now + random.below(patience))?;
        }
        if random.below(64) == 0 {
            pair.compare_insides()?;
        }
    }
    // Long enough for all caches to be empty.
    pair.advance(pair.now + 1_000_000_000_000)?;
    pair.compare_insides()?;
    let (lazy, events) = (pair.lazy.link_used_nanoseconds(), pair.events.link_used_nanoseconds());
    if lazy == events { Ok(()) } else { Err(format!("the link was used {lazy} ns, not {events}")) }
}

fn any_drives(random: &mut Random) -> Vec<Parameters> {
    let mut drives: Vec<Parameters> = (0..1 + random.below(3)).map(|_| any_drive(random)).collect();
    let link = drives[0].link.clone();
    drives.iter_mut().for_each(|drive| drive.link = link.clone());
    drives
}

#[test]
fn a_million_operations_end_as_if_every_event_were_done_at_its_time() {
    for seed in 0..OPERATIONS / OPERATIONS_OF_A_CASE {
        let drives = any_drives(&mut Random::new(seed ^ 0x6472_6976));
        if let Err(difference) = compare(&drives, &drives, seed, OPERATIONS_OF_A_CASE) {
            panic!("seed {seed}: {difference}\n{drives:#?}");
        }
    }
}

/// What is off by the least that a drive can be off is noticed.
#[test]
fn a_drive_that_is_another_by_a_nanosecond_is_found() {
    type Change = fn(&mut Parameters);
    let changes: [(&str, Change); 6] = [
        ("write overhead", |drive| drive.disk.write_overhead.value += 0.001),
        ("settle", |drive| drive.disk.settle.value += 1e-6),
        ("window", |drive| drive.disk.write_window.value -= 1),
        ("entries", |drive| drive.disk.cache_entries = Some(quantity(31, "extents"))),
        ("idle after", |drive| {
            drive.disk.destage_idle_after = Some(quantity(1.000_002, "ms"));
        }),
        ("command time", |drive| drive.link.command_time.value += 0.001),
    ];
    let drive = Parameters::load("maxtor-6y200p0").expect("a built-in model");
    for (name, change) in changes {
        let mut other = drive.clone();
        change(&mut other);
        let (drives, others) = (vec![drive.clone(); 2], vec![other; 2]);
        let found = (0..40).any(|seed| compare(&drives, &others, seed, 500).is_err());
        assert!(found, "{name}: nothing was noticed");
    }
}
