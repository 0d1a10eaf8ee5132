//! A link that several disks share: a PCI bus, a PATA channel, a USB host.
//!
//! With `hold = "burst"` the link belongs to a disk only while data moves, in bursts so short that
//! disks with data ready share it evenly:
//!
//! ```text
//!   share  1 |====A====|
//!        1/2 |         |====A====|         A alone, then A and B, then B alone;
//!            |         |====B====|         the sum never exceeds the link
//!          1 |                   |==B==|
//!            +---------------------------- time
//! ```
//!
//! A transfer costs the link its time per command plus bytes over bandwidth. A disk whose own
//! interface is slower than the link takes only the share it can use. With `hold = "command"` a
//! disk owns the link from the start of a command to its end, seek included; that gate is kept by
//! the machine, in arrival order.

use std::collections::VecDeque;

use super::geometry::whole_nanoseconds;
use super::parameters::{Hold, Parameters};

/// One transfer on its way over the link.
#[derive(Clone, Debug)]
struct Flow {
    /// What is left, in nanoseconds of the whole link.
    work: f64,
    /// The largest share of the link that the disk's own interface can use, 0..=1.
    limit: f64,
    share: f64,
    finish: u64,
}

/// A shared link: at most one transfer of each disk at a time.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) hold: Hold,
    nanoseconds_per_byte: f64,
    command_nanoseconds: f64,
    /// What a change of disk costs: any transfer where the link is held in bursts, else a read.
    pub(super) switch_nanoseconds: f64,
    /// What it costs a write, where the link is held by the command.
    pub(super) write_switch_nanoseconds: f64,
    flows: Vec<Option<Flow>>,
    active: usize,
    changed: u64,
    next: u64,
    last_user: Option<usize>,
    /// With `hold = "command"`: the drive whose command it is, and those that wait for their turn.
    owner: Option<usize>,
    turns: VecDeque<usize>,
    granted: Option<usize>,
    /// Nanoseconds of the link used so far, for the tests that it is never used twice.
    pub(super) used_nanoseconds: f64,
}

impl Link {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let link = &parameters.link;
        Link {
            hold: link.hold,
            nanoseconds_per_byte: 1e9 / link.bandwidth.value,
            command_nanoseconds: link.command_time.value * 1e3,
            switch_nanoseconds: link.switch_penalty.value * 1e6,
            write_switch_nanoseconds: link
                .write_switch_penalty
                .as_ref()
                .map_or(link.switch_penalty.value, |penalty| penalty.value)
                * 1e6,
            flows: Vec::new(),
            active: 0,
            changed: 0,
            next: u64::MAX,
            last_user: None,
            owner: None,
            turns: VecDeque::new(),
            granted: None,
            used_nanoseconds: 0.0,
        }
    }

    pub(super) fn add_disk(&mut self) {
        self.flows.push(None);
    }

    /// Time of a transfer that has the link to itself, in nanoseconds.
    pub(super) fn alone(&self, bytes: u64, interface_nanoseconds_per_byte: f64) -> f64 {
        self.command_nanoseconds
            + bytes as i64 as f64 * interface_nanoseconds_per_byte.max(self.nanoseconds_per_byte)
    }

    /// The least time that a transfer takes: exact for one that has the link to itself.
    pub(super) fn least(&self, bytes: u64, interface_nanoseconds_per_byte: f64) -> u64 {
        let (work, limit) = self.work(bytes, interface_nanoseconds_per_byte);
        whole_nanoseconds(work / limit).max(1)
    }

    /// What a transfer takes of the whole link, in nanoseconds, and the largest share of the link
    /// that it can use.
    fn work(&self, bytes: u64, interface_nanoseconds_per_byte: f64) -> (f64, f64) {
        let work = self.command_nanoseconds + bytes as i64 as f64 * self.nanoseconds_per_byte;
        (work, work / self.alone(bytes, interface_nanoseconds_per_byte))
    }

    /// Whether using it now is a change over to `disk`; the link then counts as its.
    pub(super) fn is_change_to(&mut self, disk: usize) -> bool {
        self.last_user.replace(disk).is_some_and(|last| last != disk)
    }

    /// Whether a disk may start a command that holds the whole link; if not, it gets its turn.
    pub(super) fn acquire(&mut self, disk: usize) -> bool {
        if self.owner.is_none() {
            self.owner = Some(disk);
        }
        if self.owner != Some(disk) && !self.turns.contains(&disk) {
            self.turns.push_back(disk);
        }
        self.owner == Some(disk)
    }

    /// The command that held the link is over: the next disk in turn has it.
    pub(super) fn release(&mut self) {
        self.owner = self.turns.pop_front();
        self.granted = self.owner;
    }

    /// The disk that has just got its turn.
    pub(super) fn take_granted(&mut self) -> Option<usize> {
        self.granted.take()
    }

    /// Starts a transfer of `bytes` for a disk.
    pub(super) fn start(
        &mut self,
        now: u64,
        disk: usize,
        bytes: u64,
        interface_nanoseconds_per_byte: f64,
    ) {
        let is_change = self.hold == Hold::Burst && self.is_change_to(disk);
        let switch = if is_change { self.switch_nanoseconds } else { 0.0 };
        let (work, limit) = self.work(bytes, interface_nanoseconds_per_byte);
        self.used_nanoseconds += work + switch;
        debug_assert!(self.flows[disk].is_none(), "a disk has one transfer at a time");
        if self.active == 0 {
            let finish = now + whole_nanoseconds((work + switch) / limit).max(1);
            self.flows[disk] = Some(Flow { work: work + switch, limit, share: limit, finish });
            self.active = 1;
            self.changed = now;
            self.next = finish;
            return;
        }
        self.progress(now);
        self.flows[disk] = Some(Flow { work: work + switch, limit, share: 0.0, finish: u64::MAX });
        self.active += 1;
        self.divide(now);
    }

    /// When the next transfer ends.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Takes the transfer that ends now; the disk it belonged to.
    pub(super) fn finish(&mut self, now: u64) -> usize {
        let disk = self
            .flows
            .iter()
            .position(|flow| flow.as_ref().is_some_and(|flow| flow.finish <= now))
            .expect("a transfer ends now");
        self.flows[disk] = None;
        self.active -= 1;
        if self.active == 0 {
            self.next = u64::MAX;
        } else {
            self.progress(now);
            self.divide(now);
        }
        disk
    }

    /// Books what every transfer moved since the shares last changed.
    fn progress(&mut self, now: u64) {
        let passed = (now - self.changed) as f64;
        for flow in self.flows.iter_mut().flatten() {
            flow.work = (flow.work - passed * flow.share).max(0.0);
        }
        self.changed = now;
    }

    /// Divides the link evenly, no drive getting more than it can use.
    fn divide(&mut self, now: u64) {
        for flow in self.flows.iter_mut().flatten() {
            flow.share = 0.0;
        }
        let (mut left, mut takers) = (1.0, self.active);
        while takers > 0 {
            let even = left / takers as f64;
            let mut settled = false;
            for flow in self.flows.iter_mut().flatten().filter(|flow| flow.share == 0.0) {
                if flow.limit < even {
                    flow.share = flow.limit;
                    left -= flow.limit;
                    takers -= 1;
                    settled = true;
                }
            }
            if !settled {
                for flow in self.flows.iter_mut().flatten().filter(|flow| flow.share == 0.0) {
                    flow.share = even;
                }
                break;
            }
        }
        self.next = u64::MAX;
        for flow in self.flows.iter_mut().flatten() {
            flow.finish = now + whole_nanoseconds(flow.work / flow.share);
            self.next = self.next.min(flow.finish);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parameters;
    use super::*;

    fn link() -> Link {
        let mut parameters = parameters();
        parameters.link.bandwidth = parameters.link.bandwidth.with(100e6);
        parameters.link.command_time = parameters.link.command_time.with(0.0);
        let mut link = Link::new(&parameters);
        for _ in 0..3 {
            link.add_disk();
        }
        link
    }

    #[test]
    fn alone_a_transfer_has_the_whole_link() {
        let mut link = link();
        link.start(1000, 0, 100_000, 0.0);
        assert_eq!(link.next(), 1_001_000);
        assert_eq!(link.finish(1_001_000), 0);
        assert_eq!(link.next(), u64::MAX);
    }

    #[test]
    fn two_transfers_share_it_evenly() {
        let mut link = link();
        link.start(0, 0, 100_000, 0.0);
        link.start(500_000, 1, 100_000, 0.0);
        assert_eq!(link.next(), 1_500_000);
        assert_eq!(link.finish(1_500_000), 0);
        assert_eq!(link.next(), 2_000_000);
        assert_eq!(link.finish(2_000_000), 1);
    }

    #[test]
    fn a_slow_interface_leaves_its_rest_to_the_others() {
        let mut link = link();
        // 40 ns a byte is a quarter of the link: the others get three eighths each.
        link.start(0, 0, 100_000, 40.0);
        link.start(0, 1, 75_000, 0.0);
        link.start(0, 2, 75_000, 0.0);
        assert_eq!(link.next(), 2_000_000);
        assert_eq!(link.finish(2_000_000), 1);
        assert_eq!(link.finish(2_000_000), 2);
        assert_eq!(link.next(), 4_000_000);
    }
}
