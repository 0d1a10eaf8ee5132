//! What the devices really moved, held against what was asked for: pure judgement over plain
//! numbers.
//!
//! ```text
//!   asked for   64 MiB read      ┐
//!   moved        4 MiB read      ├──> read from a cache: the devices moved 6 % of it
//!   in           0.1 s           │
//!   machine     2 % stolen, …    ┘──> machine not quiet: …
//! ```
//!
//! The caller reads the facts before and after ([`Reading`]): the lab from `/proc` and from
//! the counters of its own stacks. This module says what they mean, in the same words for every
//! suite.

use std::time::Duration;

use block::Traffic;
use results::Doubt;

/// What the machine and the devices had done at one moment, counted since some moment before all of
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Bytes that the devices under the target have moved; `None` where nothing counts them (tmpfs,
    /// a network).
    pub moved: Option<Traffic>,
    /// Bytes that were read of the devices where nothing was ever written: holes of files, which no
    /// disk answers.
    pub hole_bytes: u64,
    /// Processor time of this process and its threads.
    pub own_cpu: Option<Duration>,
    /// Processor time of the kernel's own threads: writeback, loop devices, md, journals.
    pub kernel_cpu: Option<Duration>,
    /// Processor time of the whole machine.
    pub machine: Option<Machine>,
    /// Time in which at least one task of the machine waited for I/O (`/proc/pressure/io`, `some`).
    pub io_pressure: Option<Duration>,
}

/// Processor time of the whole machine since it was started, over all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// All time there was.
    pub total: Duration,
    /// Work of any process or of the kernel.
    pub busy: Duration,
    /// What a hypervisor gave to others.
    pub stolen: Duration,
    /// The unit that times are counted in, charged to the process that runs when it ends.
    pub tick: Duration,
}

/// What happened between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// Bytes that the test asked to read and write.
    pub asked: Traffic,
    /// Bytes that the devices moved.
    pub moved: Option<Traffic>,
    /// What they had moved of it when the calls had returned, before the flush; `None` where that
    /// was not looked at.
    pub acknowledged: Option<Traffic>,
    /// Bytes that were read where nothing was ever written.
    pub hole_bytes: u64,
    /// How long it took, the flush at its end included.
    pub elapsed: Duration,
    /// How many bytes a device writes for one that is asked for when all is as planned: 2 for two
    /// mirrors, 1 without redundancy.
    pub copies: f64,
    /// The highest rate that the devices together have shown in bytes/s, where it is known.
    pub fastest_bytes_per_second: Option<f64>,
    /// Processor time of this process.
    pub own_cpu: Option<Duration>,
    /// Processor time of the kernel's own threads.
    pub kernel_cpu: Option<Duration>,
    /// Processor time of the machine.
    pub machine: Option<Machine>,
    /// Time in which some task waited for I/O.
    pub io_pressure: Option<Duration>,
}

impl Facts {
    /// What happened from `before` to `after`.
    #[must_use]
    pub fn between(before: &Reading, after: &Reading, asked: Traffic, elapsed: Duration) -> Facts {
        let passed = |before: Option<Duration>, after: Option<Duration>| {
            Some(after?.saturating_sub(before?))
        };
        let machine = |before: Machine, after: Machine| Machine {
            total: after.total.saturating_sub(before.total),
            busy: after.busy.saturating_sub(before.busy),
            stolen: after.stolen.saturating_sub(before.stolen),
            tick: after.tick,
        };
        Facts {
            asked,
            moved: before.moved.zip(after.moved).map(|(before, after)| after.since(&before)),
            acknowledged: None,
            hole_bytes: after.hole_bytes.saturating_sub(before.hole_bytes),
            elapsed,
            copies: 1.0,
            fastest_bytes_per_second: None,
            own_cpu: passed(before.own_cpu, after.own_cpu),
            kernel_cpu: passed(before.kernel_cpu, after.kernel_cpu),
            machine: before
                .machine
                .zip(after.machine)
                .map(|(before, after)| machine(before, after)),
            io_pressure: passed(before.io_pressure, after.io_pressure),
        }
    }
}

/// The highest rate that the devices under a target have shown: what they could
/// do is written down nowhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct FastestTransfer {
    bytes_per_second: f64,
}

impl FastestTransfer {
    /// What they can do at least, by all that was seen so far, these facts included. `None` when
    /// nothing was seen.
    pub fn at_least(&mut self, facts: &Facts) -> Option<f64> {
        let seconds = facts.elapsed.as_secs_f64();
        if let Some(moved) = facts.moved.filter(|_| seconds > 0.0) {
            let rate = (moved.read_bytes + moved.written_bytes) as f64 / seconds;
            self.bytes_per_second = self.bytes_per_second.max(rate);
        }
        (self.bytes_per_second > 0.0).then_some(self.bytes_per_second)
    }
}

/// Below this share of what was asked for, devices are said to have moved too little. Metadata and
/// readahead blur the rest.
const TOO_LITTLE: f64 = 0.9;
/// Above this multiple of what was asked for, devices are said to have written too much.
const TOO_MUCH: f64 = 1.5;
/// Tests that asked for less are not judged: one journal commit would weigh more than their data.
const JUDGED_BYTES: u64 = 256 << 10;
/// Rates within this of the devices' highest may be chance, metadata and readahead.
const CHANCE: f64 = 1.2;
/// Shares of the machine's processor time that went elsewhere and count as "not quiet".
const STOLEN_SHARE: f64 = 0.02;
const OTHERS_SHARE: f64 = 0.10;
/// Processor time is counted in ticks, for the process that runs when one passes, so that a few
/// come to any by chance.
const CHANCE_TICKS: f64 = 3.0;

/// What is doubtful about a test of which these are the facts.
#[must_use]
pub fn judge(facts: &Facts) -> Vec<Doubt> {
    let mut flags = judge_traffic(facts);
    if let Some(machine) = facts.machine {
        flags.extend(judge_machine(
            machine,
            facts.own_cpu.unwrap_or_default() + facts.kernel_cpu.unwrap_or_default(),
        ));
    }
    flags
}

fn judge_traffic(facts: &Facts) -> Vec<Doubt> {
    let mut flags = Vec::new();
    let seconds = facts.elapsed.as_secs_f64();
    if let Some(moved) = facts.moved {
        let (read, written) = (facts.asked.read_bytes, facts.asked.written_bytes);
        if read >= JUDGED_BYTES {
            let share = moved.read_bytes as f64 / read as f64;
            if share < TOO_LITTLE {
                flags.push(Doubt::ReadFromCache { share: Some(share) });
            }
            let share = facts.hole_bytes as f64 / moved.read_bytes.max(1) as f64;
            if share > 1.0 - TOO_LITTLE {
                flags.push(Doubt::NeverWritten { share: Some(share) });
            }
        }
        if written >= JUDGED_BYTES {
            let factor = moved.written_bytes as f64 / written as f64;
            if factor < TOO_LITTLE * facts.copies {
                flags.push(Doubt::CompressedOrStillDirty { share: Some(factor) });
            } else if factor > TOO_MUCH * facts.copies {
                flags.push(Doubt::WriteAmplification { factor: Some(factor) });
            }
        }
    }
    if let Some(fastest) = facts.fastest_bytes_per_second.filter(|_| seconds > 0.0) {
        let bytes = facts.asked.read_bytes + facts.asked.written_bytes;
        let factor = bytes as f64 / seconds / fastest;
        if bytes >= JUDGED_BYTES && factor > CHANCE {
            flags.push(Doubt::Impossible { factor: Some(factor) });
        }
    }
    flags
}

/// Whether the machine was quiet, given how much of its work was the test's own.
#[must_use]
pub fn judge_machine(machine: Machine, own: Duration) -> Vec<Doubt> {
    let total = machine.total.as_secs_f64();
    let chance = CHANCE_TICKS * machine.tick.as_secs_f64();
    let stolen = machine.stolen.as_secs_f64();
    let others = machine.busy.saturating_sub(own).as_secs_f64();
    let mut flags = Vec::new();
    if stolen > STOLEN_SHARE * total + chance {
        flags.push(Doubt::Stolen { share: Some(stolen / total) });
    }
    if others > OTHERS_SHARE * total + chance {
        flags.push(Doubt::OtherWork { share: Some(others / total) });
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn traffic(read_mib: u64, written_mib: u64) -> Traffic {
        Traffic {
            read_bytes: read_mib * MIB,
            written_bytes: written_mib * MIB,
            ..Traffic::default()
        }
    }

    fn facts(asked: Traffic, moved: Traffic) -> Facts {
        Facts {
            asked,
            moved: Some(moved),
            elapsed: Duration::from_secs(1),
            copies: 1.0,
            ..Facts::default()
        }
    }

    fn names(facts: &Facts) -> Vec<&'static str> {
        judge(facts).iter().map(Doubt::mark).collect()
    }

    #[test]
    fn every_flag_has_its_cause_and_no_other() {
        assert_eq!(names(&facts(traffic(64, 64), traffic(64, 64))), [""; 0]);
        assert_eq!(names(&facts(traffic(64, 0), traffic(4, 0))), ["read-from-cache"]);
        assert_eq!(names(&facts(traffic(0, 64), traffic(0, 3))), ["compressed-or-still-dirty"]);
        assert_eq!(names(&facts(traffic(0, 64), traffic(0, 128))), ["write-amplification"]);
        assert_eq!(
            names(&facts(traffic(64, 64), traffic(0, 128))),
            ["read-from-cache", "write-amplification"]
        );
        let impossible =
            Facts { fastest_bytes_per_second: Some(30e6), ..facts(traffic(64, 0), traffic(64, 0)) };
        assert_eq!(names(&impossible), ["impossible"]);
        let possible = Facts { fastest_bytes_per_second: Some(70e6), ..impossible };
        assert_eq!(names(&possible), [""; 0]);
    }

    #[test]
    fn what_lies_in_holes_is_told_from_a_little_of_it() {
        let of = |hole_bytes| Facts { hole_bytes, ..facts(traffic(64, 0), traffic(64, 0)) };
        assert_eq!(names(&of(64 * MIB)), ["never-written"]);
        assert_eq!(names(&of(6 * MIB)), [""; 0]);
    }

    #[test]
    fn mirrors_are_expected_to_write_twice() {
        let mirrored = Facts { copies: 2.0, ..facts(traffic(0, 64), traffic(0, 128)) };
        assert_eq!(names(&mirrored), [""; 0]);
        let half = Facts { copies: 2.0, ..facts(traffic(0, 64), traffic(0, 64)) };
        assert_eq!(names(&half), ["compressed-or-still-dirty"]);
    }

    #[test]
    fn too_few_bytes_and_unknown_devices_are_not_judged() {
        assert_eq!(
            names(&facts(
                Traffic { read_bytes: 4096, written_bytes: 4096, ..Traffic::default() },
                traffic(0, 1)
            )),
            [""; 0]
        );
        let unknown = Facts { moved: None, ..facts(traffic(64, 64), traffic(0, 0)) };
        assert_eq!(names(&unknown), [""; 0]);
    }

    fn machine(total: u64, busy: u64, stolen: u64) -> Machine {
        let ticks = |count| Duration::from_millis(10 * count);
        Machine { total: ticks(total), busy: ticks(busy), stolen: ticks(stolen), tick: ticks(1) }
    }

    #[test]
    fn a_busy_machine_is_told_from_our_own_work_and_from_chance() {
        let own = Duration::from_secs(1);
        assert_eq!(judge_machine(machine(1000, 100, 0), own), []);
        assert!(matches!(judge_machine(machine(1000, 100, 40), own)[..],
                [Doubt::Stolen { share: Some(share) }] if (share - 0.04).abs() < 1e-9));
        assert!(matches!(judge_machine(machine(1000, 300, 0), own)[..],
                [Doubt::OtherWork { share: Some(share) }] if (share - 0.2).abs() < 1e-9));
        assert_eq!(
            judge_machine(machine(10, 6, 3), Duration::from_millis(40)),
            [],
            "three ticks may be chance"
        );
    }

    #[test]
    fn readings_become_facts_by_difference() {
        let at = |mib: u64, seconds: u64| Reading {
            moved: Some(traffic(mib, 2 * mib)),
            hole_bytes: mib * MIB,
            own_cpu: Some(Duration::from_secs(seconds)),
            kernel_cpu: None,
            machine: Some(machine(100 * seconds, 50 * seconds, seconds)),
            io_pressure: Some(Duration::from_secs(seconds)),
        };
        let facts = Facts::between(&at(10, 1), &at(15, 4), traffic(5, 10), Duration::from_secs(3));
        assert_eq!((facts.moved, facts.hole_bytes), (Some(traffic(5, 10)), 5 * MIB));
        assert_eq!(facts.own_cpu, Some(Duration::from_secs(3)));
        assert_eq!((facts.kernel_cpu, facts.io_pressure), (None, Some(Duration::from_secs(3))));
        assert_eq!(facts.machine, Some(machine(300, 150, 3)));
    }
}
