//! Arrays of modelled disks, asked what published arrays were asked: stripes and mirrors, on one
//! link or on a link for each disk.

use super::super::random::Random;
use super::super::{Machine, Operation, Parameters};

/// Long enough for two caches to fill even where the host is only a little faster than the media.
const WARM_UP_NANOSECONDS: u64 = 8_000_000_000;
/// Two spindles of nearly the same speed keep their phase for minutes: what reads is the mean over
/// pairs of disks.
const PAIRS: u64 = 6;
/// A mixed test's sizes: k sectors, k uniform from 1 to this.
const MIXED_SECTORS: u64 = 128;

/// How the disks of an array hold its data.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Level {
    Stripe,
    Mirror,
}

/// What is measured: disks, how many links they hang on, and how they hold the data.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) level: Level,
    pub(super) disks: u64,
    pub(super) links: u64,
    pub(super) chunk: u64,
}

/// One disk, whose chunks follow each other.
pub(super) const ALONE: Layout =
    Layout { level: Level::Stripe, disks: 1, links: 1, chunk: 64 << 10 };

/// Two on one link.
pub(super) fn pair(chunk: u64) -> Layout {
    Layout { disks: 2, chunk, ..ALONE }
}

/// An array, and what is outstanding on it.
struct Array {
    layout: Layout,
    /// One for each link.
    machines: Vec<Machine>,
    size: u64,
    now: u64,
    /// Parts that are outstanding, of each request by its tag.
    open: Vec<(u64, usize)>,
}

impl Array {
    fn new(parameters: &Parameters, layout: Layout, seed: u64) -> Self {
        let Layout { level, disks, links, chunk } = layout;
        let mut machines: Vec<Machine> = (0..links).map(|_| Machine::new(parameters)).collect();
        for disk in 0..disks {
            machines[(disk % links) as usize].add_disk(parameters, seed + disk);
        }
        let own = machines[0].capacity(0) / chunk * chunk;
        let size = if level == Level::Stripe { own * disks } else { own };
        Array { layout, machines, size, now: 0, open: Vec::new() }
    }

    /// The commands of a request: member, first byte and length; one for each member.
    fn commands(&self, write: bool, offset: u64, length: u64) -> Vec<(u64, u64, u64)> {
        let Layout { level, disks, chunk, .. } = self.layout;
        if level == Level::Mirror {
            let members = if write { disks } else { 1 };
            return (0..members).map(|disk| (disk, offset, length)).collect();
        }
        let mut commands: Vec<(u64, u64, u64)> = Vec::new();
        let mut at = offset;
        while at < offset + length {
            let (index, inside) = (at / chunk, at % chunk);
            let piece = (chunk - inside).min(offset + length - at);
            match commands.iter_mut().find(|(disk, ..)| *disk == index % disks) {
                Some((_, _, length)) => *length += piece,
                None => commands.push((index % disks, index / disks * chunk + inside, piece)),
            }
            at += piece;
        }
        commands.sort_unstable();
        commands
    }

    /// Hands a request in: one command for each member.
    fn start(&mut self, tag: u64, write: bool, offset: u64, length: u64) {
        let commands = self.commands(write, offset, length);
        self.open.push((tag, commands.len()));
        for (disk, offset, length) in commands {
            let operation = if write {
                Operation::Write { offset, length, fua: false }
            } else {
                Operation::Read { offset, length }
            };
            let links = self.layout.links;
            let (machine, own) = ((disk % links) as usize, (disk / links) as usize);
            self.machines[machine].submit(self.now, own, 0, tag, operation);
        }
    }

    /// Lets time pass until the last command of a request is answered; its tag.
    fn wait(&mut self) -> u64 {
        loop {
            let machines = self.machines.iter().enumerate();
            let first = machines.filter_map(|(place, one)| Some((one.next()?, place))).min();
            let (next, place) = first.expect("a request in flight has a next event");
            let (mut answered, mut now) = (Vec::new(), self.now);
            self.machines[place].advance(next, &mut |answer| {
                answered.push(answer.tag);
                now = now.max(answer.time);
            });
            self.now = now;
            for tag in answered {
                let open = self.open.iter().position(|(other, _)| *other == tag).expect("open");
                self.open[open].1 -= 1;
                if self.open[open].1 == 0 {
                    self.open.swap_remove(open);
                    return tag;
                }
            }
        }
    }

    /// Hands a request in and waits for it.
    fn request(&mut self, write: bool, offset: u64, length: u64) {
        self.start(0, write, offset, length);
        self.wait();
    }

    /// Requests a second at random places of the first `span` bytes, so many outstanding, each a
    /// write with this probability.
    fn seeks(mut self, span: u64, request: u64, outstanding: u64, write_share: f64) -> f64 {
        let mut random = Random::new(7);
        let places = span / request;
        let (warm_up, counted) = (1000, 6000);
        let mut began = 0;
        for count in 0..warm_up + counted {
            let write = random.fraction() < write_share;
            self.start(count, write, random.below(places) * request, request);
            if self.open.len() as u64 >= outstanding {
                self.wait();
            }
            if count == warm_up {
                began = self.now;
            }
        }
        counted as f64 / ((self.now - began) as f64 / 1e9)
    }

    /// KiB/s of a sequential test, after a warm-up.
    fn sequential(mut self, write: bool, at_end: bool, request: u64) -> f64 {
        let mut offset = if at_end { (self.size - (1 << 30)) / request * request } else { 0 };
        let (mut counted, mut began) = (0, 0);
        while self.now < WARM_UP_NANOSECONDS + 4_000_000_000 && offset + request <= self.size {
            self.request(write, offset, request);
            offset += request;
            if self.now < WARM_UP_NANOSECONDS {
                began = self.now;
            } else {
                counted += request;
            }
        }
        counted as f64 / 1024.0 / ((self.now - began) as f64 / 1e9)
    }

    /// KiB/s of a random test, after the caches have filled.
    fn random(mut self, write: bool, request: u64, counted: u64, cache: u64) -> f64 {
        let mut random = Random::new(7);
        let places = (self.size - request) / 512 + 1;
        let warm_up = if write { 3 * cache / request } else { 100 };
        for _ in 0..warm_up {
            self.request(write, random.below(places) * 512, request);
        }
        let began = self.now;
        for _ in 0..counted {
            self.request(write, random.below(places) * 512, request);
        }
        (counted * request) as f64 / 1024.0 / ((self.now - began) as f64 / 1e9)
    }

    /// A request of a mixed test; what it reads and writes, in bytes.
    fn mixed_request(&mut self, read_share: f64, random: &mut Random) -> [u64; 2] {
        let write = random.fraction() >= read_share;
        let length = 1 + random.below(MIXED_SECTORS);
        let offset = random.below(self.size / 512 - length + 1);
        self.request(write, offset * 512, length * 512);
        if write { [0, length * 512] } else { [length * 512, 0] }
    }

    /// KiB/s read and written of a mixed test, after the caches have filled.
    fn mixed(mut self, read_share: f64, counted: u64, cache: u64) -> [f64; 2] {
        let mut random = Random::new(7);
        for _ in 0..8 * cache / (512 * MIXED_SECTORS) * self.layout.disks {
            self.mixed_request(read_share, &mut random);
        }
        // The same requests are counted whatever the layout.
        let mut random = Random::new(8);
        let (mut moved, began) = ([0; 2], self.now);
        for _ in 0..counted {
            let [read, written] = self.mixed_request(read_share, &mut random);
            moved = [moved[0] + read, moved[1] + written];
        }
        let seconds = (self.now - began) as f64 / 1e9;
        moved.map(|bytes| bytes as f64 / 1024.0 / seconds)
    }
}

/// The mean time of what runs on pairs of disks, as a rate.
fn over_pairs(layout: Layout, rate: impl Fn(u64) -> f64) -> f64 {
    let seconds = |pair| 1.0 / rate(100 + layout.disks * pair);
    PAIRS as f64 / (0..PAIRS).map(seconds).sum::<f64>()
}

/// KiB/s of a test of one direction and one request size.
pub(super) fn figure(
    parameters: &Parameters,
    layout: Layout,
    pattern: &str,
    write: bool,
    request: u64,
) -> f64 {
    let cache = parameters.disk.cache_size.value;
    let array = |seed| Array::new(parameters, layout, seed);
    match pattern {
        "at start" => array(100).sequential(write, false, request),
        "at end" => array(100).sequential(write, true, request),
        _ if write => array(100).random(true, request, 6000, cache),
        _ => over_pairs(layout, |seed| array(seed).random(false, request, 2500, 0)),
    }
}

/// KiB/s read and written of a mixed test.
pub(super) fn mixed(parameters: &Parameters, layout: Layout, read_share: f64) -> [f64; 2] {
    let cache = parameters.disk.cache_size.value;
    let of = |seed| Array::new(parameters, layout, seed).mixed(read_share, 2500, cache);
    let all: Vec<[f64; 2]> = (0..PAIRS).map(|pair| of(100 + layout.disks * pair)).collect();
    [0, 1].map(|side| all.iter().map(|rates| rates[side]).sum::<f64>() / PAIRS as f64)
}

/// Seeks a second as bonnie++ makes them: a tenth of them write.
pub(super) fn seeks(
    parameters: &Parameters,
    layout: Layout,
    span: u64,
    request: u64,
    outstanding: u64,
) -> f64 {
    Array::new(parameters, layout, 100).seeks(span, request, outstanding, 0.1)
}

/// Requests a second of one drive at random places of its first `span` bytes, so many outstanding.
pub(super) fn at_random(
    parameters: &Parameters,
    span: u64,
    request: u64,
    outstanding: u64,
    write: bool,
) -> f64 {
    let share = if write { 1.0 } else { 0.0 };
    Array::new(parameters, ALONE, 100).seeks(span, request, outstanding, share)
}
