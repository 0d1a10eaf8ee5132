//! Until when what is written may be sent to a medium that other hosts reach too.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reactor::since_boot;
use words::Text;

/// The right to write to one medium, which all channels onto it share. A device that sends a write
/// looks at it just before that, and holds the write back while it has run out.
///
/// Times are those of [`since_boot`]: a process that was stopped, or a machine that slept, finds
/// out.
#[derive(Debug)]
pub struct Lease {
    /// In nanoseconds; `u64::MAX` while no limit is set.
    until: AtomicU64,
    in_flight: Duration,
    ended: OnceLock<Text>,
}

impl Lease {
    /// One without a limit. Nothing that was sent is on its way for longer than `in_flight`.
    #[must_use]
    pub fn unlimited(in_flight: Duration) -> Lease {
        Lease { until: AtomicU64::new(u64::MAX), in_flight, ended: OnceLock::new() }
    }

    /// How long what was sent may be on its way to the medium's server.
    #[must_use]
    pub fn in_flight(&self) -> Duration {
        self.in_flight
    }

    /// From now on writes are sent until then.
    pub fn limit(&self, until: Duration) {
        let nanoseconds = u64::try_from(until.as_nanos()).unwrap_or(u64::MAX - 1);
        self.until.store(nanoseconds, Ordering::Release);
    }

    /// Whether a limit was ever set.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.until.load(Ordering::Acquire) != u64::MAX
    }

    /// Whether a write may be sent now.
    #[must_use]
    pub fn holds(&self) -> bool {
        let until = self.until.load(Ordering::Acquire);
        until == u64::MAX
            || self.ended.get().is_none() && since_boot() < Duration::from_nanos(until)
    }

    /// Nothing is sent any more, for good; of several reasons the first counts.
    pub fn end(&self, reason: impl Into<Text>) {
        let _ = self.ended.set(reason.into());
        self.limit(Duration::ZERO);
    }

    /// Why nothing is sent any more, if so.
    #[must_use]
    pub fn ended(&self) -> Option<&Text> {
        self.ended.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_holds_until_its_time_or_its_end() {
        let lease = Lease::unlimited(Duration::ZERO);
        assert!(lease.holds() && !lease.is_limited());
        lease.limit(since_boot() + Duration::from_secs(3600));
        assert!(lease.holds() && lease.is_limited());
        lease.limit(since_boot());
        assert!(!lease.holds());
        lease.limit(since_boot() + Duration::from_secs(3600));
        assert!(lease.holds(), "it may be renewed");
        lease.end("another server has it");
        lease.limit(since_boot() + Duration::from_secs(3600));
        lease.end("later");
        assert!(!lease.holds() && lease.ended() == Some(&"another server has it".into()));
    }
}
