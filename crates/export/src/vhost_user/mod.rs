//! A device as a disk of virtual machines: a vhost-user-blk server.
//!
//! ```text
//!   guest ── rings in its memory ──┐
//!     |                            |  pread, pwrite on the files that it sends
//!   monitor (QEMU, ...) ── socket ── Session ── Disk ── OrderQueue ── device
//!            messages, descriptors    (pure)    requests, answers
//! ```
//!
//! The monitor says over a Unix socket where the guest's memory is and where in it the rings lie;
//! from then on requests go through the memory alone, and two eventfds a ring say that something is
//! new. [`message`] is the protocol, [`ring`] and [`request`] what lies in memory, [`Session`] what
//! one client has set up, [`Disk`] what it has under way. None of them waits or owns a thread, so
//! the same serve real machines ([`Server`]) and a guest in modelled time.
//!
//! Whatever a client sends is checked before it is used. One that breaks the protocol, or names
//! memory that is not there, is cut off with one line, and no other notices.

mod disk;
pub mod memory;
pub mod message;
pub mod request;
pub mod ring;
mod server;
mod session;
mod socket;

pub use disk::{AnsweredRequest, Disk};
pub use server::{Options, Server, Status};
pub use session::{FollowUp, Offer, Reaction, Session};
pub use socket::{ReceivedMessage, read_message, send_all};

/// `N` bytes at `at`, which its caller knows to be there.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}
