//! `nbd://HOST[:PORT]/EXPORT` and `nbd+unix:///EXPORT?socket=PATH`: an export of an NBD server, in
//! another process or another machine; with `nbds` over TLS.
//!
//! ```text
//!   device ── open ──> connections for each channel ── requests ──> server
//!     │                                                <─ replies, simple or in chunks
//!     └── extents ───> one more connection, made when it is first asked (block status)
//! ```
//!
//! A connection that is lost is made again as long as the server may take ([`NbdOptions`]), where
//! nothing can have been lost with it: reads are asked again. A write that was under way may still
//! reach the medium from the old connection, after whatever follows it, and one that was answered
//! and not flushed may be gone with the server; with either the device is gone, as a disk would be.
//!
//! A flush of a server that has not said otherwise is for its connection alone. Every write is then
//! sent with FUA, and where the server has neither, the export is read and never written.

mod channel;
mod gate;
mod greet;
mod inbox;
mod limited;
mod several;
mod status;
#[cfg(test)]
mod tests;
mod tls;
mod work;

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use block::{
    Channel, Device, DiscardSupport, Error, ErrorKind, Extents, Info, Lease, Node, Reactor,
    Support, TracedChannel,
};
use nbd_wire::transmission_flags as can;
use words::{Text, statement};

pub use greet::NbdAddress;
pub use tls::NbdTls;

use channel::NbdChannel;
use greet::{Export, NbdConnection};
use several::ConnectionPool;
use status::Status;
use tls::Secure;

use crate::messages;

/// The longest read or write that is sent as one request, in bytes, whatever the server takes.
const MAX_REQUEST_BYTES: u32 = nbd_wire::REQUEST_MAX_BYTES;
/// The largest block that is taken from a server, in bytes.
const MAX_BLOCK_BYTES: u32 = 64 << 10;

/// How an export becomes a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NbdOptions {
    /// Refuse writes.
    pub read_only: bool,
    /// How long a lost connection is tried to be made again; zero is never.
    pub reconnect: Duration,
    /// How many connections each channel has, from 1 to [`NbdOptions::CONNECTIONS_MAX`].
    pub connections: u32,
}

impl NbdOptions {
    /// The most connections that a channel can have.
    pub const CONNECTIONS_MAX: u32 = 16;
}

impl Default for NbdOptions {
    fn default() -> NbdOptions {
        NbdOptions { read_only: false, reconnect: Duration::from_secs(10), connections: 1 }
    }
}

/// An export of an NBD server.
pub struct NbdDevice {
    shared: Arc<Shared>,
    node: Node,
    status: Mutex<Status>,
}

/// What all channels share.
struct Shared {
    address: NbdAddress,
    secure: Option<Secure>,
    options: NbdOptions,
    info: Info,
    export: Export,
    /// Writes go with FUA, for a flush would be for its connection alone.
    always_fua: bool,
    /// Writes without FUA that were answered.
    answered: AtomicU64,
    /// So many of them as had been answered when a flush began that has succeeded.
    flushed: AtomicU64,
    /// The first failed flush, for every later one.
    flush_failed: OnceLock<Error>,
    /// Why the device is gone, for good.
    gone: OnceLock<Error>,
    /// Ends a server of our own, after the last channel.
    _server: Option<Box<dyn Any + Send + Sync>>,
    /// Until when writes may be sent.
    lease: Arc<Lease>,
}

impl Shared {
    /// Whether an answered write may still be lost with the server.
    fn has_unflushed(&self) -> bool {
        self.answered.load(Ordering::Acquire) > self.flushed.load(Ordering::Acquire)
    }

    /// Notes that the device is gone, whatever kind of error has told so: where its server listens
    /// no more, no file is missing. Of several reasons the first counts.
    fn end(&self, error: &Error) -> Error {
        let gone = || Error::with_source(ErrorKind::Gone, "", error.repeat());
        self.gone.get_or_init(|| gone().retold(error)).repeat()
    }

    /// A connection to the export as it was at first.
    ///
    /// # Errors
    /// As [`greet::connect`], and where another export is there now.
    fn connect(&self) -> Result<NbdConnection, Error> {
        let connected =
            greet::connect(&self.address, self.secure.as_ref(), self.lease.is_limited())?;
        if let Some(gate) = &connected.gate {
            let _ = gate.lease.set(Arc::clone(&self.lease));
        }
        Ok(connected)
    }

    /// Why the device is gone, if it is: also where another server has its array.
    fn gone(&self) -> Option<&Error> {
        if let Some(reason) = self.lease.ended() {
            let text = format!("{}: {reason}", self.address);
            return Some(self.gone.get_or_init(|| Error::new(ErrorKind::Gone, text)));
        }
        self.gone.get()
    }
}

impl NbdDevice {
    /// Asks the server about the export, with TLS or without. `node` is what it is called.
    ///
    /// # Panics
    /// Without a connection, or with more than [`NbdOptions::CONNECTIONS_MAX`].
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a host, a port, a socket or an export that is not there;
    /// [`ErrorKind::Refused`] for one that is to be written to and cannot make that durable;
    /// [`ErrorKind::Unsupported`] for a server that speaks otherwise; [`ErrorKind::Permission`]
    /// where a certificate is not accepted; [`ErrorKind::TimedOut`]; or what the system says.
    pub fn connect(
        address: NbdAddress,
        tls: Option<&NbdTls>,
        options: NbdOptions,
        node: Node,
    ) -> Result<NbdDevice, Error> {
        let (address, secure) = match tls {
            None => (address, None),
            Some(tls) => {
                let address = address.over_tls();
                // A socket is a server of this machine, unless the name says otherwise.
                let secure = tls.load(address.host().unwrap_or("localhost"));
                let secure = secure.map_err(|error| error.at(address.to_string()))?;
                (address, Some(secure))
            }
        };
        assert!((1..=NbdOptions::CONNECTIONS_MAX).contains(&options.connections));
        let found = greet::connect(&address, secure.as_ref(), false)?.export;
        let in_flight = address.host().map_or(Duration::ZERO, |_| greet::UNSENT_TIME);
        let info = info(&address, options, &found)?;
        let can = |flag: u16| found.flags & flag != 0;
        let shared = Shared {
            always_fua: !info.read_only && !can(can::CAN_MULTI_CONN) && can(can::SEND_FUA),
            address,
            secure,
            options,
            info,
            export: found,
            answered: AtomicU64::new(0),
            flushed: AtomicU64::new(0),
            flush_failed: OnceLock::new(),
            gone: OnceLock::new(),
            _server: None,
            lease: Arc::new(Lease::unlimited(in_flight)),
        };
        Ok(NbdDevice { shared: Arc::new(shared), node, status: Mutex::new(Status::new()) })
    }

    /// The same device, which keeps what serves it: it is dropped with the last channel.
    ///
    /// # Panics
    /// Once a channel was opened.
    #[must_use]
    pub fn keeping(mut self, server: Box<dyn Any + Send + Sync>) -> NbdDevice {
        let shared = Arc::get_mut(&mut self.shared).expect("nothing was opened yet");
        shared._server = Some(server);
        self
    }
}

/// What the server's words mean for a device.
fn info(address: &NbdAddress, options: NbdOptions, export: &Export) -> Result<Info, Error> {
    let can = |flag: u16| export.flags & flag != 0;
    let (least, best, most) = export.limits;
    let read_only = options.read_only || can(can::READ_ONLY);
    let refused = |kind, text: Text| Err(Error::new(kind, text.at(address.to_string())));
    if !options.read_only && can(can::READ_ONLY) {
        return refused(ErrorKind::ReadOnly, messages::EXPORT_READ_ONLY.into());
    }
    if options.connections > 1 && !can(can::CAN_MULTI_CONN) {
        return refused(
            ErrorKind::Refused,
            statement!(messages::CONNECTIONS_APART, count = options.connections),
        );
    }
    let flushes = can(can::SEND_FLUSH) && can(can::CAN_MULTI_CONN);
    if !read_only && !flushes && !can(can::SEND_FUA) {
        return refused(ErrorKind::Refused, messages::NEVER_DURABLE.into());
    }
    let block_bytes = least.max(512);
    if !block_bytes.is_power_of_two() || block_bytes > MAX_BLOCK_BYTES || most < block_bytes {
        return refused(
            ErrorKind::Unsupported,
            statement!(messages::NO_DISK_REQUESTS, least = least, most = most),
        );
    }
    let size_bytes = export.size_bytes / u64::from(block_bytes) * u64::from(block_bytes);
    if size_bytes == 0 || size_bytes > i64::MAX as u64 {
        return refused(
            ErrorKind::Invalid,
            statement!(messages::HAS_BYTES, bytes = export.size_bytes),
        );
    }
    Ok(Info {
        size_bytes,
        block_bytes,
        optimal_bytes: best.clamp(block_bytes, 1 << 30).next_multiple_of(block_bytes),
        // The protocol knows no chunks.
        stripe: None,
        max_request_bytes: most.min(MAX_REQUEST_BYTES) / block_bytes * block_bytes,
        read_only,
        rotational: can(can::ROTATIONAL),
        volatile_cache: !read_only && can(can::CAN_MULTI_CONN) && can(can::SEND_FLUSH),
        stores_data: true,
        modelled: false,
        fua: if !read_only && can(can::SEND_FUA) { Support::Native } else { Support::None },
        zeroes: match !read_only && can(can::SEND_WRITE_ZEROES) {
            true => Support::Native,
            false => Support::None,
        },
        discard: match !read_only && can(can::SEND_TRIM) {
            // The protocol leaves open what reads find.
            true => DiscardSupport::Indeterminate,
            false => DiscardSupport::None,
        },
    })
}

impl Device for NbdDevice {
    fn info(&self) -> &Info {
        &self.shared.info
    }

    fn describe(&self) -> Node {
        self.node.clone()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        if let Some(error) = self.shared.gone() {
            return Err(error.repeat());
        }
        if self.shared.options.connections > 1 {
            let channel = ConnectionPool::open(&self.shared, depth, reactor)?;
            return Ok(Box::new(TracedChannel::new(channel, &self.node)));
        }
        let channel = NbdChannel::open(Arc::clone(&self.shared), depth, reactor)?;
        Ok(Box::new(TracedChannel::new(channel, &self.node)))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        let Shared { address, secure, export, info, .. } = &*self.shared;
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let (block, before) = (u64::from(info.block_bytes), found.length());
        if let Some(id) = export.allocation {
            let _ = status.ask((address, secure.as_ref()), id, (offset, length), block, found);
        }
        // What is not known is data.
        if found.length() == before {
            found.push(length, false);
        }
    }

    fn lease(&self) -> Option<&Lease> {
        Some(&self.shared.lease)
    }
}
