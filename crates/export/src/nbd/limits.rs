//! Bounds on what clients can make a server use.

use std::time::Duration;

/// Bounds on what clients can make a server use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections that have chosen an export; more are turned away, unless a silent one makes way.
    pub connections: usize,
    /// Connections from one address over TCP, whether they have chosen an export or not; more are
    /// turned away in the same way.
    pub connections_per_address: usize,
    /// How long a connection that has chosen an export may ask it nothing at all before it makes
    /// way for another. Where there is room, it may stay silent.
    pub silent_time: Duration,
    /// Connections that have not chosen an export yet; when there are more, the oldest makes way.
    pub handshakes: usize,
    /// How long a handshake may take.
    pub handshake_time: Duration,
    /// Memory for the data of requests and replies, in bytes, besides 1 MiB that each connection
    /// may always have. At least 64 MiB for each worker.
    pub memory_bytes: u64,
    /// How long [`Server::stop`](super::Server::stop) waits for requests that are under way.
    pub stop_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 256,
            connections_per_address: 64,
            silent_time: Duration::from_secs(30),
            handshakes: 256,
            handshake_time: Duration::from_secs(10),
            memory_bytes: 256 << 20,
            stop_time: Duration::from_secs(5),
        }
    }
}
