//! An NBD server: devices for qemu, the kernel's nbd client, libnbd and what else speaks the
//! protocol.
//!
//! ```text
//!   listen ─> accept ──┬─> worker ── reactor ── connections ── one order queue an export ── device
//!    (one thread)      └─> worker ── …                                              (shared)
//! ```
//!
//! Fixed newstyle with structured replies, block status, FUA, flush, trim, write zeroes, several
//! exports and several connections; Unix and TCP sockets, sockets from a service manager, TLS. The
//! protocol itself is pure and stands in
//! [`handshake`] and [`transmission`]: bytes in, bytes and decisions out, so that it can be fuzzed.
//!
//! What clients can make the server use is bounded ([`Limits`]): memory by a budget of which each
//! connection may always have 1 MiB, connections by their number, in all and for each address,
//! handshakes by number and time. A connection over a bound is turned away before anything
//! is allocated for it (`admission`). A client that breaks the protocol is cut off; others do not
//! notice.

mod admission;
mod connection;
mod converse;
pub mod handshake;
mod limits;
mod listen;
mod memory;
mod rounds;
mod server;
pub mod shape;
mod shared;
mod tls;
pub mod transmission;
mod worker;

pub use limits::Limits;
pub(crate) use listen::Listener;
pub use listen::{Address, PORT};
pub use nbd_wire::REQUEST_BYTES;
pub use server::{Export, ExportStatus, Options, Server, Status};
pub use tls::Tls;
