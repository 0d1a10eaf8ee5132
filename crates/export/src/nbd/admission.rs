//! Which connections are admitted, how many of them one address may have, and which make way for
//! others.
//!
//! ```text
//!   accept ─> handshake ─> has chosen, asked nothing ─> has asked
//!             │ the oldest  │ those that did so too long │ stays
//!             └─────────────┴─ makes way when others come
//! ```
//!
//! All of this is decided before anything is allocated for a connection, by the one thread that
//! accepts. One that makes way has its socket shut down; its worker finds it at its end like any
//! other, and its memory counts until then.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::limits::Limits;

/// Connections that may be on their way out, or on their way to a worker, besides all that are
/// admitted.
const PASSING: usize = 256;

/// The connections of a server, as far as their number matters.
pub(super) struct Admission {
    limits: Limits,
    state: Mutex<State>,
    /// Rings when a connection has gone.
    gone: Condvar,
    turned_away: AtomicU64,
}

#[derive(Default)]
struct State {
    next: u64,
    /// Connections that are admitted, by age.
    admitted: BTreeMap<u64, AdmittedClient>,
    handshakes: BTreeSet<u64>,
    /// Those that have chosen an export and have not asked it anything for too long.
    silent: BTreeSet<u64>,
    by_address: HashMap<IpAddr, usize>,
    /// Connections that something is still allocated for.
    alive: usize,
}

struct AdmittedClient {
    descriptor: Arc<OwnedFd>,
    address: Option<IpAddr>,
}

impl State {
    fn established(&self) -> usize {
        self.admitted.len() - self.handshakes.len()
    }

    /// Takes a connection out, if it is still admitted.
    fn release(&mut self, number: u64) -> Option<AdmittedClient> {
        let connection = self.admitted.remove(&number)?;
        self.handshakes.remove(&number);
        self.silent.remove(&number);
        if let Some(address) = connection.address
            && let Some(count) = self.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
        Some(connection)
    }

    /// The connection of `address` that has been silent longest; of any, where none is given.
    fn silent_of(&self, address: Option<IpAddr>) -> Option<u64> {
        let is_one = |number: &&u64| {
            address.is_none()
                || self
                    .admitted
                    .get(*number)
                    .is_some_and(|connection| connection.address == address)
        };
        self.silent.iter().find(is_one).copied()
    }
}

impl Admission {
    pub(super) fn new(limits: Limits) -> Arc<Admission> {
        Arc::new(Admission {
            limits,
            state: Mutex::default(),
            gone: Condvar::new(),
            turned_away: AtomicU64::new(0),
        })
    }

    /// Connections that were refused, had to make way, or were cut off.
    pub(super) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    pub(super) fn note_turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    /// Connections that use an export.
    pub(super) fn established(&self) -> usize {
        self.lock().established()
    }

    /// Waits for `time` at most while too many connections are passing through; whether there is
    /// room for one more. Those that come meanwhile wait in the kernel.
    pub(super) fn wait_for_room(&self, time: Duration) -> bool {
        let bound =
            self.limits.connections.saturating_add(self.limits.handshakes).saturating_add(PASSING);
        let is_full = |state: &mut State| state.alive >= bound;
        let waited = self
            .gone
            .wait_timeout_while(self.lock(), time, is_full)
            .unwrap_or_else(PoisonError::into_inner);
        !waited.1.timed_out()
    }

    /// Admits a connection that has just come, or turns it away.
    pub(super) fn admit(
        self: &Arc<Admission>,
        descriptor: OwnedFd,
        address: Option<IpAddr>,
    ) -> Option<(Arc<OwnedFd>, Ticket)> {
        let address = address.map(network_of);
        let mut state = self.lock();
        let of_address =
            address.and_then(|address| state.by_address.get(&address)).copied().unwrap_or(0);
        if of_address >= self.limits.connections_per_address.max(1) {
            let Some(number) = state.silent_of(address) else {
                self.note_turned_away();
                return None;
            };
            self.evict(&mut state, number);
        }
        if state.established() >= self.limits.connections {
            let Some(number) = state.silent_of(None) else {
                self.note_turned_away();
                return None;
            };
            self.evict(&mut state, number);
        }
        // Many may come and say nothing; a client that means it is through in a moment, so the
        // one that has taken longest goes.
        if state.handshakes.len() >= self.limits.handshakes.max(1)
            && let Some(number) = state.handshakes.first().copied()
        {
            self.evict(&mut state, number);
        }
        let number = state.next;
        state.next += 1;
        let descriptor = Arc::new(descriptor);
        state
            .admitted
            .insert(number, AdmittedClient { descriptor: Arc::clone(&descriptor), address });
        state.handshakes.insert(number);
        state.alive += 1;
        if let Some(address) = address {
            *state.by_address.entry(address).or_default() += 1;
        }
        Some((descriptor, Ticket { admission: Arc::clone(self), number }))
    }

    fn evict(&self, state: &mut State, number: u64) {
        if let Some(connection) = state.release(number) {
            self.note_turned_away();
            // One that is gone already needs no end.
            let _ = rustix::net::shutdown(&connection.descriptor, rustix::net::Shutdown::Both);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose an address is: one host of IPv4, one network of 64 bits of IPv6, in which a host has as
/// many addresses as it likes.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address => address,
    }
}

/// A connection that was admitted; dropped when nothing of the connection is in use any more.
pub(super) struct Ticket {
    admission: Arc<Admission>,
    number: u64,
}

impl Ticket {
    /// The handshake is over: whether there is room among those that use an export.
    pub(super) fn establish(&self) -> bool {
        let mut state = self.admission.lock();
        if !state.handshakes.contains(&self.number) {
            return false;
        }
        if state.established() >= self.admission.limits.connections {
            let Some(number) = state.silent_of(None) else { return false };
            self.admission.evict(&mut state, number);
        }
        state.handshakes.remove(&self.number)
    }

    /// It has chosen an export and has not asked anything for [`Limits::silent_time`].
    pub(super) fn is_silent(&self) {
        let mut state = self.admission.lock();
        if state.admitted.contains_key(&self.number) {
            state.silent.insert(self.number);
        }
    }

    /// It has asked something after all.
    pub(super) fn has_asked(&self) {
        self.admission.lock().silent.remove(&self.number);
    }

    /// It is being cut off, so that another may come in.
    pub(super) fn give_up(&self) {
        self.admission.lock().release(self.number);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.admission.lock();
        state.release(self.number);
        state.alive -= 1;
        drop(state);
        self.admission.gone.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn socket() -> OwnedFd {
        std::os::unix::net::UnixStream::pair().expect("two ends").0.into()
    }

    fn admission(
        connections: usize,
        handshakes: usize,
        connections_per_address: usize,
    ) -> Arc<Admission> {
        Admission::new(Limits {
            connections,
            handshakes,
            connections_per_address,
            ..Limits::default()
        })
    }

    fn host(number: u8) -> Option<IpAddr> {
        Some(Ipv4Addr::new(10, 0, 0, number).into())
    }

    #[test]
    fn who_chose_an_export_and_asks_nothing_makes_way_and_nobody_else_does() {
        let admission = admission(2, 8, 8);
        let come = || admission.admit(socket(), None).map(|(_, ticket)| ticket);
        let (first, second) = (come().expect("a place"), come().expect("a place"));
        assert!(first.establish() && second.establish());
        assert!(come().is_none(), "both are used");
        first.is_silent();
        first.has_asked();
        assert!(come().is_none(), "it has asked something");
        second.is_silent();
        let third = come().expect("the silent one's place");
        assert_eq!((admission.established(), admission.turned_away()), (1, 3));
        assert!(third.establish());
        assert!(!second.establish(), "it has none any more");
        drop(second);
        assert_eq!(admission.established(), 2);
    }

    #[test]
    fn one_address_leaves_room_for_others() {
        let admission = admission(8, 8, 3);
        let tickets: Vec<Ticket> =
            (0..3).map(|_| admission.admit(socket(), host(1)).expect("a place").1).collect();
        assert!(admission.admit(socket(), host(1)).is_none());
        assert!(admission.admit(socket(), host(2)).is_some());
        // Sockets of this machine have no address; only its owner may open them.
        assert!((0..4).all(|_| admission.admit(socket(), None).is_some()));
        tickets[0].establish();
        tickets[0].is_silent();
        let again = admission.admit(socket(), host(1)).expect("its own silent one makes way");
        assert!(admission.admit(socket(), host(1)).is_none());
        drop((tickets, again));
        assert!(admission.lock().by_address.is_empty());
    }

    #[test]
    fn addresses_of_one_host_are_one() {
        let mapped: IpAddr = Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped().into();
        assert_eq!(network_of(mapped), IpAddr::from(Ipv4Addr::new(10, 0, 0, 1)));
        let [one, other] =
            [1, 2].map(|last| network_of(Ipv6Addr::new(0x2001, 0xdb8, 0, 7, 0, 0, 0, last).into()));
        assert_eq!(one, other);
        assert_ne!(one, network_of(Ipv6Addr::new(0x2001, 0xdb8, 0, 8, 0, 0, 0, 1).into()));
    }

    #[test]
    fn the_oldest_handshake_makes_way_and_its_memory_counts_until_it_is_gone() {
        let admission = admission(2, 4, 8);
        let mut tickets: Vec<Ticket> =
            (0..4).map(|_| admission.admit(socket(), None).expect("a place").1).collect();
        for _ in 0..PASSING + 2 {
            assert!(admission.wait_for_room(Duration::ZERO));
            tickets.push(admission.admit(socket(), None).expect("a place").1);
        }
        assert_eq!(admission.turned_away(), PASSING as u64 + 2);
        assert!(!admission.wait_for_room(Duration::ZERO), "those who had to go are not gone yet");
        drop(tickets.remove(0));
        assert!(admission.wait_for_room(Duration::ZERO));
        let newest = tickets.last().expect("many");
        assert!(newest.establish() && !tickets[0].establish());
    }
}
