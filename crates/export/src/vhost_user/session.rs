//! What one client has set up: features, memory, rings.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use block::{DiscardSupport, Error, Info, SECTOR_BYTES};

use super::memory::GuestMemory;
use super::message::{self, Request, RingAddresses, broken};
use super::ring::Ring;
use super::socket::ReceivedMessage;

// Bits of VIRTIO 1.2: the disk's (5.2.3) and those of every device (6).
const SEG_MAX: u64 = 1 << 2;
const READ_ONLY: u64 = 1 << 5;
const BLOCK_SIZE: u64 = 1 << 6;
const FLUSH: u64 = 1 << 9;
const TOPOLOGY: u64 = 1 << 10;
const SEVERAL_RINGS: u64 = 1 << 12;
const DISCARD: u64 = 1 << 13;
const ZEROES: u64 = 1 << 14;
const INDIRECT: u64 = 1 << 28;
const PROTOCOL: u64 = 1 << 30;
const VERSION_1: u64 = 1 << 32;

// Bits of the vhost-user protocol.
const PROTOCOL_RINGS: u64 = 1 << 0;
const PROTOCOL_ACK: u64 = 1 << 3;
const PROTOCOL_BACKEND: u64 = 1 << 5;
const PROTOCOL_CONFIG: u64 = 1 << 9;
const PROTOCOL_IN_BAND: u64 = 1 << 14;

const CONFIG_BYTES: usize = 60;
/// The most sectors of one discard or write of zeroes: 1 GiB.
const CLEAR_MAX_SECTORS: u32 = 1 << 21;

/// What a client is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    features: u64,
    protocol: u64,
    config: [u8; CONFIG_BYTES],
    rings: u16,
}

impl Offer {
    /// A disk like `info`, with `rings` rings. With `cache` the client flushes what has to be
    /// durable; otherwise every write is. Requests have at most `segments` pieces of memory. With
    /// `in_band` kicks and calls are messages.
    #[must_use]
    pub fn new(
        info: &Info,
        read_only: bool,
        cache: bool,
        rings: u16,
        segments: u32,
        in_band: bool,
    ) -> Offer {
        let discards = info.discard != DiscardSupport::None;
        let features = [
            (SEG_MAX | BLOCK_SIZE | TOPOLOGY | INDIRECT | PROTOCOL | VERSION_1, true),
            (READ_ONLY, read_only),
            (FLUSH, cache),
            (SEVERAL_RINGS, rings > 1),
            (DISCARD, discards && !read_only),
            (ZEROES, !read_only),
        ];
        let protocol = [
            // User-mode Linux has no interrupt for a disk without the second channel.
            (PROTOCOL_RINGS | PROTOCOL_ACK | PROTOCOL_CONFIG | PROTOCOL_BACKEND, true),
            (PROTOCOL_IN_BAND, in_band),
        ];
        let set = |bits: &[(u64, bool)]| {
            bits.iter().filter(|(_, set)| *set).fold(0, |all, (bits, _)| all | bits)
        };
        let mut config = [0; CONFIG_BYTES];
        let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
        let optimal = info.optimal_bytes / info.block_bytes;
        let chunk = info.stripe.map_or(1, |stripe| stripe.chunk_bytes / info.block_bytes);
        let chunk = u16::try_from(chunk).unwrap_or(1).max(1);
        put(0, &(info.size_bytes / SECTOR_BYTES).to_le_bytes());
        put(12, &segments.to_le_bytes());
        put(20, &info.block_bytes.to_le_bytes());
        put(26, &chunk.to_le_bytes());
        put(28, &(if optimal > 1 { optimal } else { 0 }).to_le_bytes());
        put(32, &[u8::from(cache)]);
        put(34, &rings.to_le_bytes());
        if discards {
            put(36, &CLEAR_MAX_SECTORS.to_le_bytes());
            put(40, &1_u32.to_le_bytes());
            put(44, &(info.block_bytes / SECTOR_BYTES as u32).to_le_bytes());
        }
        put(48, &CLEAR_MAX_SECTORS.to_le_bytes());
        put(52, &1_u32.to_le_bytes());
        put(56, &[1]);
        Offer { features: set(&features), protocol: set(&protocol), config, rings }
    }
}

/// A ring as far as it has been set up.
#[derive(Debug, Default)]
struct Setup {
    size: u32,
    addresses: Option<RingAddresses>,
    base: u16,
    ring: Option<Ring>,
    kick: Option<Arc<OwnedFd>>,
    call: Option<Arc<OwnedFd>>,
    enabled: Option<bool>,
    in_flight: u32,
    stopping: bool,
}

impl Setup {
    /// What was set up is changed, so the ring begins anew where it stands.
    fn pause(&mut self) {
        if let Some(ring) = self.ring.take() {
            self.base = ring.base();
        }
    }
}

/// What is to be done about a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// What is to be sent back, once it is done.
    pub reply: Option<Vec<u8>>,
    /// What that is.
    pub then: FollowUp,
}

/// What a message asks of the thread that serves the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FollowUp {
    /// Nothing more.
    #[default]
    Nothing,
    /// Look for new requests in a ring; its descriptors may be other ones.
    Look(usize),
    /// Wait until nothing of a ring is under way, then send [`Session::stopped`].
    Stop(usize),
}

/// One client's side of the protocol.
#[derive(Debug)]
pub struct Session {
    offer: Offer,
    features: u64,
    protocol: u64,
    memory: Option<Arc<GuestMemory>>,
    rings: Vec<Setup>,
    channel: Option<OwnedFd>,
}

impl Session {
    /// A client that has said nothing yet.
    #[must_use]
    pub fn new(offer: Offer) -> Session {
        let rings = (0..offer.rings).map(|_| Setup::default()).collect();
        Session { offer, features: 0, protocol: 0, memory: None, rings, channel: None }
    }

    /// Takes a message. What it says to be done is done before its reply goes out.
    ///
    /// # Errors
    /// [`block::ErrorKind::Invalid`]: it makes no sense, and the client is to be cut off.
    pub fn take(&mut self, message: ReceivedMessage) -> Result<Reaction, Error> {
        let ReceivedMessage { header, payload, mut descriptors } = message;
        let request = Request::parse(header, &payload)?;
        let number = |number| Some(message::reply_number(header.request, number));
        let mut reaction = Reaction {
            reply: header.wants_reply().then(|| number(0)).flatten(),
            ..Reaction::default()
        };
        match request {
            Request::GetFeatures => reaction.reply = number(self.offer.features),
            Request::GetProtocolFeatures => reaction.reply = number(self.offer.protocol),
            Request::GetRingCount => reaction.reply = number(self.offer.rings.into()),
            Request::SetFeatures(bits) => {
                self.features = subset(bits, self.offer.features, "features")?;
            }
            Request::SetProtocolFeatures(bits) => {
                self.protocol = subset(bits, self.offer.protocol, "features of the protocol")?;
            }
            Request::SetOwner | Request::SetConfig => (),
            Request::ResetOwner => self.rings.iter_mut().for_each(Setup::pause),
            Request::SetMemory(regions) => {
                self.memory = Some(Arc::new(GuestMemory::new(regions, descriptors)?));
            }
            Request::SetBackendChannel => self.channel = one(&mut descriptors, true)?,
            Request::GetConfig(offset, size, flags) => {
                let mut answer = [offset, size, flags].map(u32::to_ne_bytes).concat();
                answer.extend(
                    (offset..offset + size)
                        .map(|at| self.offer.config.get(at as usize).copied().unwrap_or_default()),
                );
                reaction.reply = Some(message::reply(header.request, &answer));
            }
            Request::Other(request) if header.wants_reply() => {
                reaction.reply = Some(message::reply_number(request, 1));
            }
            Request::Other(request) => {
                return Err(broken(format!("request {request}, which was not offered")));
            }
            of_ring => {
                reaction.then = self.set_ring(&of_ring, &mut descriptors)?;
                // It is answered when the ring has stopped.
                if matches!(reaction.then, FollowUp::Stop(_)) {
                    reaction.reply = None;
                }
            }
        }
        Ok(reaction)
    }

    /// Takes what is said of one ring.
    fn set_ring(
        &mut self,
        request: &Request,
        descriptors: &mut Vec<OwnedFd>,
    ) -> Result<FollowUp, Error> {
        Ok(match *request {
            Request::SetRingSize(ring, size) => {
                let setup = self.setup(ring)?;
                setup.pause();
                setup.size = size;
                FollowUp::Nothing
            }
            Request::SetRingAddresses(ring, addresses) => {
                let setup = self.setup(ring)?;
                setup.pause();
                setup.addresses = Some(addresses);
                FollowUp::Nothing
            }
            Request::SetRingBase(ring, base) => {
                let setup = self.setup(ring)?;
                setup.pause();
                setup.base = base as u16;
                FollowUp::Nothing
            }
            Request::GetRingBase(ring) => {
                let setup = self.setup(ring)?;
                setup.stopping = true;
                setup.kick = None;
                FollowUp::Stop(ring as usize)
            }
            Request::SetRingKick(ring, comes) => {
                let in_band = self.protocol & PROTOCOL_IN_BAND != 0;
                let kick = kick_of(descriptors, comes)?;
                if kick.is_none() && !in_band {
                    return Err(broken("a ring without a descriptor for its kicks"));
                }
                let setup = self.setup(ring)?;
                setup.kick = kick.map(Arc::new);
                setup.stopping = false;
                FollowUp::Look(ring as usize)
            }
            Request::SetRingCall(ring, comes) => {
                let call = call_of(descriptors, comes)?;
                self.setup(ring)?.call = call.map(Arc::new);
                FollowUp::Look(ring as usize)
            }
            // Errors end the client, which it notices.
            Request::SetRingError(ring, _) => {
                self.setup(ring)?;
                FollowUp::Nothing
            }
            Request::SetRingEnabled(ring, enabled) => {
                self.setup(ring)?.enabled = Some(enabled);
                FollowUp::Look(ring as usize)
            }
            Request::RingKick(ring) => {
                self.setup(ring)?;
                FollowUp::Look(ring as usize)
            }
            _ => FollowUp::Nothing,
        })
    }

    fn setup(&mut self, ring: u32) -> Result<&mut Setup, Error> {
        let count = self.rings.len();
        self.rings
            .get_mut(ring as usize)
            .ok_or_else(|| broken(format!("ring {ring} of a disk with {count}")))
    }

    /// How many rings there may be.
    #[must_use]
    pub fn rings(&self) -> usize {
        self.rings.len()
    }

    /// The descriptor through which the client tells of new requests in a ring.
    #[must_use]
    pub fn kick(&self, ring: usize) -> Option<&Arc<OwnedFd>> {
        self.rings[ring].kick.as_ref()
    }

    /// The descriptor through which it is told of requests of a ring that are given back.
    #[must_use]
    pub fn call(&self, ring: usize) -> Option<&Arc<OwnedFd>> {
        self.rings[ring].call.as_ref()
    }

    /// The socket on which the server asks something of the client.
    #[must_use]
    pub fn channel(&self) -> Option<&OwnedFd> {
        self.channel.as_ref()
    }

    /// Whether nothing of a ring is under way.
    #[must_use]
    pub fn is_idle(&self, ring: usize) -> bool {
        self.rings[ring].in_flight == 0
    }

    /// Whether the client flushes what has to be durable.
    pub(super) fn flushes(&self) -> bool {
        self.features & FLUSH != 0
    }

    /// The answer to a ring's stop, once nothing of it is under way.
    pub fn stopped(&mut self, ring: usize) -> Vec<u8> {
        let setup = &mut self.rings[ring];
        setup.pause();
        message::reply_ring_base(ring as u32, setup.base)
    }

    /// A ring from which requests may be taken, and the memory it lies in.
    pub(super) fn running(
        &mut self,
        ring: usize,
    ) -> Result<Option<(&mut Ring, &Arc<GuestMemory>)>, Error> {
        let by_default = self.features & PROTOCOL == 0;
        let setup = &mut self.rings[ring];
        let (Some(memory), Some(addresses)) = (&self.memory, setup.addresses) else {
            return Ok(None);
        };
        if setup.stopping || !setup.enabled.unwrap_or(by_default) {
            return Ok(None);
        }
        if setup.ring.is_none() {
            setup.ring = Some(Ring::new(setup.size, addresses, setup.base, memory)?);
        }
        Ok(setup.ring.as_mut().map(|ring| (ring, memory)))
    }

    pub(super) fn begun(&mut self, ring: usize) {
        self.rings[ring].in_flight += 1;
    }

    /// Gives a request back, in the memory in which it came; whether the client is to be told.
    pub(super) fn give_back(
        &mut self,
        ring: usize,
        head: u16,
        written: u32,
        memory: &GuestMemory,
    ) -> Result<(), Error> {
        let setup = &mut self.rings[ring];
        setup.in_flight -= 1;
        match &mut setup.ring {
            Some(ring) => ring.give_back(head, written, memory),
            // It was set up anew meanwhile: the client does not wait for this.
            None => Ok(()),
        }
    }

    /// Whether the client wants to be told that requests of a ring were given back.
    pub(super) fn wants_call(&self, ring: usize) -> Result<bool, Error> {
        match (&self.rings[ring].ring, &self.memory) {
            (Some(ring), Some(memory)) => ring.wants_call(memory),
            _ => Ok(false),
        }
    }
}

fn subset(bits: u64, offered: u64, what: &str) -> Result<u64, Error> {
    if bits & !offered != 0 {
        return Err(broken(format!("{what} {:#x}, which were not offered", bits & !offered)));
    }
    Ok(bits)
}

/// A descriptor for kicks. Only an eventfd is read without a wait that its owner alone can end.
fn kick_of(descriptors: &mut Vec<OwnedFd>, comes: bool) -> Result<Option<OwnedFd>, Error> {
    event(descriptors, comes, false)
}

/// A descriptor for calls: an eventfd, or the socket that Linux in user mode has for it. A pipe
/// that is full would be waited for.
fn call_of(descriptors: &mut Vec<OwnedFd>, comes: bool) -> Result<Option<OwnedFd>, Error> {
    event(descriptors, comes, true)
}

fn event(
    descriptors: &mut Vec<OwnedFd>,
    comes: bool,
    may_be_socket: bool,
) -> Result<Option<OwnedFd>, Error> {
    let descriptor = one(descriptors, comes)?;
    if let Some(descriptor) = &descriptor {
        let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        let kind = std::fs::read_link(&link).map_err(|error| Error::from_io(link, error))?;
        let is_socket = may_be_socket
            && rustix::fs::fstat(descriptor).is_ok_and(|data| {
                rustix::fs::FileType::from_raw_mode(data.st_mode) == rustix::fs::FileType::Socket
            });
        if kind.as_os_str() != "anon_inode:[eventfd]" && !is_socket {
            return Err(broken(format!(
                "a descriptor of a ring that is no eventfd: {}",
                kind.display()
            )));
        }
    }
    Ok(descriptor)
}

/// The one descriptor that comes with a message.
fn one(descriptors: &mut Vec<OwnedFd>, comes: bool) -> Result<Option<OwnedFd>, Error> {
    if !comes {
        return Ok(None);
    }
    let descriptor = descriptors.pop().ok_or_else(|| broken("a message without its descriptor"))?;
    Ok(Some(descriptor))
}
