//! Keeping two servers off the same members, where other hosts reach them: when an array is free,
//! and until when its server may write. Nothing here reads a clock or a member.
//!
//! What is written is md's own: each update of the superblocks has a new count of events, and the
//! microseconds of its time (`utime`), which md and mdadm leave at zero, are those of the server
//! that wrote it. Zero is free: the array was ended in order.
//!
//! ```text
//!   one that starts                                  one that runs
//!     reads the superblocks again and again,           every second:
//!     unless they are free ── watch                      reads the superblocks (a look):
//!     changed meanwhile: in use, refused                   all its own: it may write for 4 s from
//!     writes its own ── claim                              when it began to read
//!     keeps them alive, and sends no data,                 one is not: it never writes again
//!     until an earlier server can write no more          writes them with one more event
//!     looks: one is not its own: refused
//! ```
//!
//! Why there are never two: the one that starts has more than half of the members, one that runs
//! has at least half, so they share one. What the one that starts wrote there is found by the next
//! look of the one that runs, whose right from its last look has ended before data are sent
//! ([`Terms::settle`]). Of two that start together, the one whose superblock was written over
//! finds that out when it looks, and where each wrote over the other's neither goes on.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::md::{Superblock, TimeStamp};

/// How long what takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Between two updates, and two looks, of one that runs.
    pub(crate) keep_alive: Duration,
    /// How long a look gives the right to write.
    pub(crate) lease: Duration,
    /// How long superblocks that a server has claimed have to stay as they are to be free.
    pub(crate) watch: Duration,
    /// Where they are free, a claim is written within this or takes as long as any other.
    pub(crate) quick: Duration,
    /// What clocks and the way from a look at the clock to the kernel may take.
    pub(crate) margin: Duration,
}

/// Those of every server: they have to be the same on all hosts.
pub(crate) const TERMS: Terms = Terms {
    keep_alive: Duration::from_secs(1),
    lease: Duration::from_secs(4),
    watch: Duration::from_secs(5),
    quick: Duration::from_secs(1),
    margin: Duration::from_secs(1),
};

impl Terms {
    /// From a claim that is written until data may be sent: by then the right of any earlier server
    /// has ended, and what it sent before has arrived or never will.
    pub(crate) fn settle(&self, in_flight: Duration) -> Duration {
        self.lease + in_flight + self.margin
    }

    /// The same where the superblocks were free: only others that claim them at this moment may
    /// have written meanwhile, and they had as long as [`Terms::quick`].
    fn settle_quick(&self) -> Duration {
        self.quick + self.quick / 10
    }
}

/// Whether an array may be started with so many of its places taken.
pub(crate) fn may_start(places: usize, there: usize) -> bool {
    2 * there > places
}

/// Whether one that runs may go on with so many.
pub(crate) fn may_go_on(places: usize, there: usize) -> bool {
    2 * there >= places
}

/// What changes with each update of a superblock, and says whose it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) events: u64,
    pub(crate) updated: TimeStamp,
}

impl Stamp {
    /// That of a superblock; where there is none it is free.
    pub(crate) fn of(superblock: Option<&Superblock>) -> Stamp {
        let nobodys = Stamp { events: 0, updated: TimeStamp::default() };
        superblock.map_or(nobodys, |found| Stamp { events: found.events, updated: found.updated })
    }

    pub(crate) fn server(self) -> u32 {
        self.updated.microseconds
    }

    fn is_nobodys(self) -> bool {
        self.server() == 0
    }
}

/// What a server writes as the microseconds of an update: of no other, as far as chance goes.
pub(crate) fn server_of(random: u32) -> u32 {
    1 + random % 999_999
}

/// A look at superblocks that are to be claimed.
#[derive(Debug)]
pub(crate) struct Watch {
    terms: Terms,
    first: Option<(Duration, Vec<Stamp>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FenceReading {
    /// They are to be looked at again.
    Again,
    Free(Freedom),
    /// This one was written meanwhile.
    InUse(usize),
}

/// Superblocks that no server keeps alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freedom {
    /// When the look began that found them so, since the machine's start.
    looked: Duration,
    is_nobodys: bool,
}

impl Freedom {
    /// Whether what was found may still be acted on.
    pub(crate) fn is_fresh(self, now: Duration) -> bool {
        now < self.looked + TERMS.lease
    }
}

impl Watch {
    pub(crate) fn new(terms: Terms) -> Watch {
        Watch { terms, first: None }
    }

    /// Takes what a look found that began at `started`; always the same members in the same order.
    pub(crate) fn looked(&mut self, started: Duration, stamps: Vec<Stamp>) -> FenceReading {
        let Some((began, first)) = &self.first else {
            if stamps.iter().all(|stamp| stamp.is_nobodys()) {
                return FenceReading::Free(Freedom { looked: started, is_nobodys: true });
            }
            self.first = Some((started, stamps));
            return FenceReading::Again;
        };
        match first.iter().zip(&stamps).position(|(first, now)| first != now) {
            Some(changed) => FenceReading::InUse(changed),
            None if started >= *began + self.terms.watch => {
                FenceReading::Free(Freedom { looked: started, is_nobodys: false })
            }
            None => FenceReading::Again,
        }
    }
}

/// The right of a server to write to the members of an array.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    terms: Terms,
    /// What it writes as the microseconds of an update.
    server: u32,
    freedom: Freedom,
    settle: Duration,
    until: Duration,
    /// From when on a look that finds all its own is the end of the claim.
    settled: Option<Duration>,
    is_granted: bool,
    looked: Duration,
    written: Duration,
}

impl Hold {
    /// A claim to superblocks that are free. Nothing that was sent before is on its way for
    /// longer than `in_flight`.
    pub(crate) fn claim(terms: Terms, server: u32, freedom: Freedom, in_flight: Duration) -> Hold {
        let mut hold = Hold {
            terms,
            server,
            freedom,
            settle: terms.settle(in_flight),
            until: freedom.looked,
            settled: None,
            is_granted: false,
            looked: freedom.looked,
            written: Duration::ZERO,
        };
        hold.until += hold.first_right();
        hold
    }

    /// The right of a server that none can dispute: no member was reached by others before.
    pub(crate) fn granted(terms: Terms, server: u32, now: Duration) -> Hold {
        let freedom = Freedom { looked: now, is_nobodys: false };
        let claim = Hold::claim(terms, server, freedom, Duration::ZERO);
        Hold { settled: Some(now), is_granted: true, ..claim }
    }

    pub(crate) fn server(&self) -> u32 {
        self.server
    }

    /// Until when writes may be sent.
    pub(crate) fn until(&self) -> Duration {
        self.until
    }

    /// Whether data may be written, as long as [`Hold::until`] is not over.
    pub(crate) fn is_granted(&self) -> bool {
        self.is_granted
    }

    /// Whether they have still to be claimed: then those of before are not yet its own, and are to
    /// be as they were.
    pub(crate) fn is_unclaimed(&self) -> bool {
        self.settled.is_none()
    }

    /// Whether superblocks that are claimed have to be free.
    pub(crate) fn is_from_nobody(&self) -> bool {
        self.freedom.is_nobodys
    }

    /// When superblocks are to be looked at next.
    pub(crate) fn look_at(&self) -> Duration {
        let next = self.looked + self.terms.keep_alive;
        match self.settled {
            // The claim has not been sent in time.
            None => self.until,
            Some(settled) if !self.is_granted && settled >= self.looked => next.min(settled),
            Some(_) => next,
        }
    }

    /// When they are to be written next.
    pub(crate) fn write_at(&self) -> Duration {
        self.written + self.terms.keep_alive
    }

    /// All of them are written, and that was known at `now`.
    pub(crate) fn wrote(&mut self, now: Duration) {
        self.written = now;
        if self.settled.is_none() {
            let Freedom { looked, is_nobodys } = self.freedom;
            let is_quick = is_nobodys && now <= looked + self.terms.quick;
            let settle = if is_quick { self.terms.settle_quick() } else { self.settle };
            self.settled = Some(now + settle);
            // What is there now is looked at at once.
            self.looked = now.saturating_sub(self.terms.keep_alive);
        }
    }

    /// They could not be written, and are tried again as if they had been.
    pub(crate) fn put_off(&mut self, now: Duration) {
        self.written = now;
    }

    /// A look that began at `started` has ended: `is_own` says that all of them are this server's.
    /// One that could not be told gives no right and takes none.
    pub(crate) fn looked(&mut self, started: Duration, is_own: bool) {
        self.looked = self.looked.max(started);
        if !is_own {
            return;
        }
        match self.settled {
            None => {
                self.freedom.looked = self.freedom.looked.max(started);
                self.until = self.until.max(started + self.first_right());
            }
            Some(settled) => {
                self.until = self.until.max(started + self.terms.lease);
                self.is_granted |= started >= settled;
            }
        }
    }

    /// How long a look gives the right to write a claim.
    fn first_right(&self) -> Duration {
        if self.freedom.is_nobodys { self.terms.quick } else { self.terms.lease }
    }
}

/// The keeping apart of servers, where other hosts reach a member.
pub(crate) struct Fence {
    pub(crate) hold: Hold,
    /// Start and go on also with fewer members than it takes to be the only one.
    pub(crate) is_forced: bool,
    /// The superblocks say that no server has the array, or are about to.
    pub(crate) is_released: bool,
    pub(crate) is_releasing: bool,
    /// Another server has it.
    pub(crate) is_lost: bool,
}

impl Fence {
    pub(crate) fn of(hold: Hold, is_forced: bool) -> Fence {
        Fence { hold, is_forced, is_released: false, is_releasing: false, is_lost: false }
    }
}
