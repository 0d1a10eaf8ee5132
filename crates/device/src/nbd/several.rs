//! Several connections of one channel, to an export whose server sees them as one.
//!
//! ```text
//!                ┌── connection ──┐
//!   requests ────┼── connection ──┼──> server, which shares one cache among them (can_multi_conn)
//!                └── connection ──┘
//! ```

use std::sync::Arc;

use block::{Channel, Completion, Error, Reactor, Request};

use super::Shared;
use super::channel::NbdChannel;

/// Each request goes to the connection with the fewest under way: its server's thread is the
/// nearest to being idle.
pub(super) struct ConnectionPool {
    shared: Arc<Shared>,
    connections: Vec<NbdChannel>,
    /// Where the search begins, so that of equals each has its turn.
    next: usize,
}

impl ConnectionPool {
    /// Makes all connections.
    pub(super) fn open(
        shared: &Arc<Shared>,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<ConnectionPool, Error> {
        let count = shared.options.connections;
        let each = depth.div_ceil(count);
        let open = |_| NbdChannel::open(Arc::clone(shared), each, reactor);
        let connections = (0..count).map(open).collect::<Result<Vec<_>, Error>>()?;
        Ok(ConnectionPool { shared: Arc::clone(shared), connections, next: 0 })
    }
}

impl Channel for ConnectionPool {
    fn submit(&mut self, request: Request) {
        let count = self.connections.len();
        let places = (0..count).map(|step| (self.next + step) % count);
        let least = places.min_by_key(|place| self.connections[*place].in_flight());
        let place = least.expect("there is a connection");
        self.next = (place + 1) % count;
        self.connections[place].submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.connections.iter_mut().for_each(|connection| connection.poll(done));
        // One that was polled before another lost the device has not heard of it.
        if self.shared.gone().is_some() {
            self.connections.iter_mut().for_each(|connection| connection.poll(done));
        }
    }

    fn in_flight(&self) -> u32 {
        self.connections.iter().map(Channel::in_flight).sum()
    }
}
