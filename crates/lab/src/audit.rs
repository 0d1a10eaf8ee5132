//! The facts that a suite's audit judges: what the devices under a target and the machine have done
//! so far, from `/proc` and from the counters of our own stacks.
//!
//! ```text
//!   folder ── its file system ── block device ── /proc/diskstats ┐
//!   stack  ── leaves ── their counters ──────────────────────────┼──> bench::audit::Reading
//!   machine ── /proc/stat, /proc/pressure/io, kernel threads ────┘
//! ```

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bench::audit::{Machine, Reading};
use bench::suite::Meter;
use block::{Counters, Device, Extents, Node, Traffic};
use rustix::fs::SeekFrom;
use rustix::time::{ClockId, clock_gettime};
use stack::{Member, Stack};

use crate::run::audit_ratios;
use host::system::{self, DeviceNumber};

/// Sectors of `/proc/diskstats`, whatever the device's own are.
const SECTOR_BYTES: u64 = 512;

/// Where the bytes that a target moves are counted.
#[derive(Debug)]
enum Source {
    /// The devices under a folder's file system.
    Devices(Vec<DeviceNumber>),
    /// The leaves of a stack of ours.
    Leaves(Vec<Leaf>),
}

/// A leaf of a stack of ours, and what was read of it where nothing was ever written.
#[derive(Debug)]
struct Leaf {
    counters: Arc<Counters>,
    /// What it stands on, if that can have holes.
    ground: Option<HoleSource>,
    /// Bytes of reads in each region when the facts were read last.
    seen: Vec<u64>,
    hole_bytes: u64,
}

/// What tells of holes.
#[derive(Debug)]
enum HoleSource {
    /// The device itself.
    Device(Weak<dyn Device>),
    /// The file under a loop device, and where the device begins in it, in bytes.
    Backing(fs::File, u64),
}

impl HoleSource {
    /// What a leaf stands on; `None` for memory and models, which answer the same whether written
    /// or not.
    fn of(member: &Member) -> Option<HoleSource> {
        let Node::Leaf { scheme, address, .. } = member.device.upgrade()?.describe() else {
            return None;
        };
        if scheme != "file" {
            return (scheme == "nbd").then(|| HoleSource::Device(member.device.clone()));
        }
        let number = system::block_number(Path::new(&address));
        let Some((backing, offset)) = number.and_then(system::loop_backing) else {
            return Some(HoleSource::Device(member.device.clone()));
        };
        // Not everybody may read it; then nothing is known.
        Some(HoleSource::Backing(fs::File::open(backing).ok()?, offset))
    }

    /// How much of a range lies in holes, in bytes.
    fn holes(&self, range: &Range<u64>) -> u64 {
        match self {
            HoleSource::Device(device) => {
                let Some(device) = device.upgrade() else { return 0 };
                let mut found = Extents::new();
                device.extents(range.start, range.end - range.start, &mut found);
                found.runs().iter().filter(|run| run.is_hole).map(|run| run.length).sum()
            }
            HoleSource::Backing(file, offset) => holes_of_file(file, range, *offset),
        }
    }
}

/// How many runs of a file are asked for at most.
const RUNS_MAX: usize = 1024;

/// How much of a range of a file lies in holes, the range moved by `offset`.
fn holes_of_file(file: &fs::File, range: &Range<u64>, offset: u64) -> u64 {
    let (mut at, end) = (range.start + offset, range.end + offset);
    let mut holes = 0;
    for _ in 0..RUNS_MAX {
        if at >= end {
            break;
        }
        let data = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.min(end),
            Err(rustix::io::Errno::NXIO) => end,
            Err(_) => break,
        };
        holes += data - at;
        if data == end {
            break;
        }
        at = rustix::fs::seek(file, SeekFrom::Hole(data)).map_or(end, |hole| hole.min(end));
    }
    holes
}

impl Leaf {
    fn new(member: &Member) -> Leaf {
        let counters = Arc::clone(&member.counters);
        let seen = counters.read_at().map(|(_, bytes)| bytes).collect();
        Leaf { counters, ground: HoleSource::of(member), seen, hole_bytes: 0 }
    }

    /// What was read in holes until now. Where a hole is now there was one when it was read.
    fn hole_bytes(&mut self) -> u64 {
        let Some(ground) = &self.ground else { return 0 };
        for ((range, bytes), seen) in self.counters.read_at().zip(&mut self.seen) {
            let (read, length) = (bytes - *seen, range.end.saturating_sub(range.start));
            *seen = bytes;
            if read > 0 && length > 0 {
                let share = ground.holes(&range) as f64 / length as f64;
                self.hole_bytes += (read as f64 * share) as u64;
            }
        }
        self.hole_bytes
    }
}

/// Reads the facts for one target.
#[derive(Debug)]
pub struct TargetMeter {
    source: Source,
    kernel: KernelThreads,
    copies: f64,
    /// Whether figures depend on the machine at all.
    machine: bool,
    /// Processor time of the readings themselves, which is no part of what lies between two of
    /// them.
    reading_cpu: Duration,
}

impl TargetMeter {
    /// For a folder: the block device under its file system is counted, and nothing where there is
    /// none (tmpfs, a network).
    #[must_use]
    pub fn folder(folder: &Path) -> TargetMeter {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let mounts = system::mounts();
        let number = system::mount_of(&mounts, &folder).and_then(|mount| {
            // btrfs and friends show a number of their own; their source still names a device.
            system::sys_folder(mount.number)
                .map(|_| mount.number)
                .or_else(|| system::block_number(Path::new(&mount.source)))
        });
        TargetMeter::new(Source::Devices(number.into_iter().collect()))
    }

    /// For a file or block device that other programs use: the block device that it is, or that is
    /// under its file system.
    #[must_use]
    pub fn path(path: &Path) -> TargetMeter {
        match system::block_number(path) {
            Some(number) => TargetMeter::new(Source::Devices(vec![number])),
            None => TargetMeter::folder(path),
        }
    }

    /// For a stack of this layout: its leaves count exactly, but for those that a cache keeps its
    /// copies on, and each byte is written as often as the levels say.
    #[must_use]
    pub fn stack(layout: &Node, stack: &Stack) -> TargetMeter {
        let leaves = audit_ratios::without_stores(layout, &stack.members, Leaf::new);
        TargetMeter {
            copies: audit_ratios::copies(layout),
            ..TargetMeter::new(Source::Leaves(leaves))
        }
    }

    /// For whatever is counted elsewhere.
    #[must_use]
    pub fn machine_only() -> TargetMeter {
        TargetMeter::new(Source::Devices(Vec::new()))
    }

    fn new(source: Source) -> TargetMeter {
        TargetMeter {
            source,
            kernel: KernelThreads::default(),
            copies: 1.0,
            machine: true,
            reading_cpu: Duration::ZERO,
        }
    }

    /// The same for modelled time, which takes no notice of the machine.
    #[must_use]
    pub fn without_machine(mut self) -> TargetMeter {
        self.machine = false;
        self
    }

    fn moved(&self) -> Option<Traffic> {
        match &self.source {
            Source::Devices(devices) if devices.is_empty() => None,
            Source::Devices(devices) => {
                device_traffic(&fs::read_to_string("/proc/diskstats").ok()?, devices)
            }
            Source::Leaves(leaves) => Some(sum(leaves.iter().map(|leaf| leaf.counters.read()))),
        }
    }

    fn hole_bytes(&mut self) -> u64 {
        match &mut self.source {
            Source::Devices(_) => 0,
            Source::Leaves(leaves) => leaves.iter_mut().map(Leaf::hole_bytes).sum(),
        }
    }
}

impl Meter for TargetMeter {
    fn read(&mut self) -> Reading {
        if !self.machine {
            let hole_bytes = self.hole_bytes();
            return Reading { moved: self.moved(), hole_bytes, ..Reading::default() };
        }
        let begun = own_cpu();
        let reading = Reading {
            kernel_cpu: self.kernel.read(),
            moved: self.moved(),
            hole_bytes: self.hole_bytes(),
            own_cpu: Some(begun.saturating_sub(self.reading_cpu)),
            machine: fs::read_to_string("/proc/stat").ok().and_then(|text| machine(&text)),
            io_pressure: fs::read_to_string("/proc/pressure/io")
                .ok()
                .and_then(|text| pressure(&text)),
        };
        self.reading_cpu += own_cpu().saturating_sub(begun);
        reading
    }

    fn copies(&self) -> f64 {
        self.copies
    }
}

fn sum(traffic: impl Iterator<Item = Traffic>) -> Traffic {
    traffic.fold(Traffic::default(), |sum, one| Traffic {
        reads: sum.reads + one.reads,
        read_bytes: sum.read_bytes + one.read_bytes,
        writes: sum.writes + one.writes,
        written_bytes: sum.written_bytes + one.written_bytes,
        flushes: sum.flushes + one.flushes,
    })
}

/// Lines of `/proc/diskstats` (the kernel's Documentation/admin-guide/iostats.rst):
/// `major minor name reads merged sectors ms writes merged sectors ms …`.
fn device_traffic(text: &str, devices: &[DeviceNumber]) -> Option<Traffic> {
    let mut found = 0;
    let mut sum_of = Traffic::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
        let here = devices.iter().any(|device| {
            (number(0), number(1)) == (Some(device.major.into()), Some(device.minor.into()))
        });
        if here {
            found += 1;
            let one = Traffic {
                reads: number(3)?,
                read_bytes: number(5)? * SECTOR_BYTES,
                writes: number(7)?,
                written_bytes: number(9)? * SECTOR_BYTES,
                flushes: 0,
            };
            sum_of = sum([sum_of, one].into_iter());
        }
    }
    (found == devices.len()).then_some(sum_of)
}

/// Processor time of this process and its threads, and of the programs that it has run: what has
/// ended and was waited for, in ticks.
fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let own = Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    );
    own + fs::read_to_string("/proc/self/stat").map_or(Duration::ZERO, |text| children_cpu(&text))
}

/// The fields `cutime` and `cstime` of `/proc/PID/stat`, the 14th and 15th behind the name.
fn children_cpu(text: &str) -> Duration {
    let Some((_, fields)) = text.rsplit_once(')') else { return Duration::ZERO };
    let ticks = fields.split_ascii_whitespace().skip(13).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    let rate = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / rate))
}

/// The first line of `/proc/stat`: `cpu user nice system idle iowait irq softirq steal …`, in
/// ticks.
pub(crate) fn machine(text: &str) -> Option<Machine> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> =
        line.split_ascii_whitespace().take(8).map(|number| number.parse().unwrap_or(0)).collect();
    let [user, nice, system, idle, iowait, irq, softirq, stolen] = ticks[..] else { return None };
    let rate = rustix::param::clock_ticks_per_second().max(1);
    let time = |ticks: u64| Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / rate));
    let busy = user + nice + system + irq + softirq;
    Some(Machine {
        total: time(busy + idle + iowait + stolen),
        busy: time(busy),
        stolen: time(stolen),
        tick: time(1),
    })
}

/// The time in which some task waited: `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`, in
/// microseconds.
fn pressure(text: &str) -> Option<Duration> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let total = line.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?;
    total.parse().ok().map(Duration::from_micros)
}

/// Processor time of the kernel's own threads, which work for every writer: writeback, loop
/// devices, journals, md.
///
/// Threads come and go. What one did counts from the moment it was first seen; the last moments of
/// one that ends are lost.
#[derive(Debug, Default)]
struct KernelThreads {
    seen: HashMap<u32, Duration>,
    sum: Duration,
    begun: bool,
}

impl KernelThreads {
    /// `None` where the kernel's threads cannot be seen: in a container with a process space of its
    /// own.
    fn read(&mut self) -> Option<Duration> {
        let now = kernel_threads()?;
        for (thread, time) in &now {
            let before = match self.seen.get(thread) {
                Some(before) => *before,
                None if self.begun => Duration::ZERO,
                None => *time,
            };
            self.sum += time.saturating_sub(before);
        }
        self.seen = now;
        self.begun = true;
        Some(self.sum)
    }
}

/// The kernel's threads are the children of `kthreadd`, which is always process 2.
fn kernel_threads() -> Option<HashMap<u32, Duration>> {
    const KTHREADD: &str = "2";
    if fs::read_to_string("/proc/2/comm").ok()?.trim() != "kthreadd" {
        return None;
    }
    let mut threads = HashMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        // A thread may end between any two of these reads.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let parent =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1));
        if parent != Some(KTHREADD) {
            continue;
        }
        let Ok(text) = fs::read_to_string(entry.path().join("schedstat")) else { continue };
        let time =
            text.split_ascii_whitespace().next().and_then(|nanoseconds| nanoseconds.parse().ok());
        threads.extend(time.map(|nanoseconds| (process, Duration::from_nanos(nanoseconds))));
    }
    Some(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISKSTATS: &str = "   7       0 loop0 12 0 96 3 40 2 2048 9 0 8 12 0 0 0 0 0 0\n \
        254       0 vda 5 1 16 1 2 1 24 1 0 1 2 0 0 0 0 0 0\n";

    #[test]
    fn bytes_of_the_named_devices_are_summed() {
        let number = |major, minor| DeviceNumber { major, minor };
        let one = device_traffic(DISKSTATS, &[number(7, 0)]).unwrap();
        assert_eq!(
            (one.reads, one.read_bytes, one.writes, one.written_bytes),
            (12, 96 * 512, 40, 2048 * 512)
        );
        let both = device_traffic(DISKSTATS, &[number(7, 0), number(254, 0)]).unwrap();
        assert_eq!((both.read_bytes, both.written_bytes), (112 * 512, 2072 * 512));
        assert_eq!(
            device_traffic(DISKSTATS, &[number(8, 0)]),
            None,
            "a device that is not there is not zero"
        );
    }

    /// A file with a hole in its second half: of reads there nothing is the disk's, of reads in the
    /// first half all is, and what is written is the disk's from then on.
    #[test]
    fn reads_of_holes_are_counted_where_the_holes_are() {
        use std::os::unix::fs::FileExt;
        const HALF: u64 = 4 << 20;
        let file = tempfile::tempfile().unwrap();
        file.set_len(2 * HALF).unwrap();
        file.write_all_at(&vec![1; HALF as usize], 0).unwrap();
        file.sync_data().unwrap();
        let holes = |range: Range<u64>| holes_of_file(&file, &range, 0);
        assert_eq!([holes(0..HALF), holes(HALF..2 * HALF)], [0, HALF]);
        assert_eq!(holes(HALF / 2..3 * HALF / 2), HALF / 2);
        assert_eq!(holes_of_file(&file, &(0..HALF), HALF), HALF, "from where a device begins");
        file.write_all_at(&vec![1; HALF as usize], HALF).unwrap();
        assert_eq!(holes(0..2 * HALF), 0);
    }

    #[test]
    fn the_machine_is_read_in_ticks() {
        let machine = machine("cpu  100 1 100 1000 10 2 3 40 0 0\ncpu0 1 1 1 1 1 1 1 1\n").unwrap();
        assert_eq!(machine.busy, 206 * machine.tick);
        assert_eq!((machine.stolen, machine.total), (40 * machine.tick, 1256 * machine.tick));
        assert_eq!(super::machine("nothing of the kind"), None);
    }

    #[test]
    fn programs_that_have_ended_count() {
        let tick = Duration::from_nanos(1_000_000_000 / rustix::param::clock_ticks_per_second());
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 11 12 30 4 20 0 1 0";
        assert_eq!(children_cpu(stat), 34 * tick);
        assert_eq!(children_cpu("nothing of the kind"), Duration::ZERO);
    }

    #[test]
    fn pressure_is_the_time_in_which_some_task_waited() {
        let text = "some avg10=0.00 avg60=0.10 avg300=0.00 total=1234567\nfull avg10=0.00 \
            avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(pressure(text), Some(Duration::from_micros(1_234_567)));
        assert_eq!(pressure(""), None);
    }

    #[test]
    fn what_this_process_did_is_counted() {
        let mut meter = TargetMeter::folder(&std::env::temp_dir());
        let before = meter.read();
        let mut word = 1_u64;
        while own_cpu() < before.own_cpu.unwrap() + Duration::from_millis(20) {
            word = std::hint::black_box(word.wrapping_mul(6_364_136_223_846_793_005));
        }
        let after = meter.read();
        assert!(
            after.own_cpu > before.own_cpu && after.kernel_cpu >= before.kernel_cpu,
            "{before:?} {after:?}"
        );
    }
}
