//! The messages of vhost-user, from bytes and to bytes. Pure.
//!
//! ```text
//!    0        4        8        12
//!   |request | flags  | size   | payload ... |      all numbers in the host's order
//!              bits 0-1 version (1), 2 this is a reply, 3 a reply is wanted
//! ```
//!
//! Source: "Vhost-user Protocol" in QEMU's documentation (docs/interop/vhost-user.rst).

use block::{Error, ErrorKind};
use words::{Text, statement};

use crate::catalogue;

/// Bytes before the payload.
pub const HEADER_BYTES: usize = 12;
/// The longest payload of a message that is understood here, in bytes.
pub const PAYLOAD_MAX_BYTES: usize = 1024;
/// Regions of memory that a client may share.
pub const REGIONS_MAX: usize = 8;
/// The longest part of the configuration space that is asked for at a time, in bytes.
const CONFIG_MAX_BYTES: u32 = 256;

const VERSION_MASK: u32 = 0x3;
const VERSION: u32 = 0x1;
const REPLY: u32 = 0x4;
const NEED_REPLY: u32 = 0x8;
/// In the number of a ring: no descriptor comes with the message.
const NO_DESCRIPTOR: u64 = 0x100;

/// What stands before a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What is asked for.
    pub request: u32,
    /// Version and wishes.
    pub flags: u32,
    /// Length of the payload in bytes.
    pub size: u32,
}

impl Header {
    /// From the first bytes of a message.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`]: another version, or a payload that no message has.
    pub fn parse(bytes: [u8; HEADER_BYTES]) -> Result<Header, Error> {
        let header = Header {
            request: u32_at(&bytes, 0),
            flags: u32_at(&bytes, 4),
            size: u32_at(&bytes, 8),
        };
        if header.flags & VERSION_MASK != VERSION {
            return Err(broken(format!(
                "request {} has version {}; this server speaks version 1",
                header.request,
                header.flags & VERSION_MASK
            )));
        }
        if header.size as usize > PAYLOAD_MAX_BYTES {
            return Err(broken(format!(
                "request {} has {} bytes; at most {PAYLOAD_MAX_BYTES} are taken",
                header.request, header.size
            )));
        }
        Ok(header)
    }

    /// Whether the client waits for a word also where the request has no reply of its own.
    #[must_use]
    pub fn wants_reply(&self) -> bool {
        self.flags & NEED_REPLY != 0
    }
}

/// A piece of the client's memory: where the guest sees it, where the client's own process does,
/// and where it lies in the file that came with the message. All in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its address in the guest.
    pub guest: u64,
    /// Its length.
    pub size: u64,
    /// Its address in the client's process, in which rings are named.
    pub user: u64,
    /// Where it begins in its file.
    pub offset: u64,
}

/// Where the parts of a ring lie, as addresses in the client's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingAddresses {
    /// The table of descriptors.
    pub descriptors: u64,
    /// What the client has made ready.
    pub available: u64,
    /// What the server has done with.
    pub used: u64,
}

/// What a client says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Which features of the device there are.
    GetFeatures,
    /// Which of them are used.
    SetFeatures(u64),
    /// This client is the one.
    SetOwner,
    /// An old word for stopping everything.
    ResetOwner,
    /// The memory; a descriptor comes for each region.
    SetMemory(Vec<Region>),
    /// Entries of a ring.
    SetRingSize(u32, u32),
    /// Where a ring lies.
    SetRingAddresses(u32, RingAddresses),
    /// The index at which a ring begins.
    SetRingBase(u32, u32),
    /// Stop a ring, and say how far it has come.
    GetRingBase(u32),
    /// The descriptor through which the client tells of new requests, if one comes.
    SetRingKick(u32, bool),
    /// The descriptor through which it is told of done ones, if one comes.
    SetRingCall(u32, bool),
    /// The descriptor through which it is told of errors, if one comes.
    SetRingError(u32, bool),
    /// Which features of the protocol there are.
    GetProtocolFeatures,
    /// Which of them are used.
    SetProtocolFeatures(u64),
    /// How many rings there may be.
    GetRingCount,
    /// Whether a ring is served.
    SetRingEnabled(u32, bool),
    /// The socket for what the server asks; one descriptor comes.
    SetBackendChannel,
    /// A part of the configuration space: offset, length, flags.
    GetConfig(u32, u32, u32),
    /// A change of it.
    SetConfig,
    /// There are new requests in a ring.
    RingKick(u32),
    /// Anything else.
    Other(u32),
}

impl Request {
    /// From a whole message.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`]: a payload that is not the request's.
    pub fn parse(header: Header, payload: &[u8]) -> Result<Request, Error> {
        let exact = |length: usize| {
            if payload.len() == length {
                return Ok(());
            }
            Err(broken(format!(
                "request {} has {} bytes; {length} are its length",
                header.request,
                payload.len()
            )))
        };
        let number = || exact(8).map(|()| u64_at(payload, 0));
        let state = || exact(8).map(|()| (u32_at(payload, 0), u32_at(payload, 4)));
        let descriptor = || {
            let word = number()?;
            Ok::<_, Error>(((word & 0xff) as u32, word & NO_DESCRIPTOR == 0))
        };
        Ok(match header.request {
            1 => Request::GetFeatures,
            2 => Request::SetFeatures(number()?),
            3 => Request::SetOwner,
            4 => Request::ResetOwner,
            5 => Request::SetMemory(regions(payload)?),
            8 => state().map(|(ring, size)| Request::SetRingSize(ring, size))?,
            9 => {
                exact(40)?;
                let addresses = RingAddresses {
                    descriptors: u64_at(payload, 8),
                    used: u64_at(payload, 16),
                    available: u64_at(payload, 24),
                };
                Request::SetRingAddresses(u32_at(payload, 0), addresses)
            }
            10 => state().map(|(ring, base)| Request::SetRingBase(ring, base))?,
            11 => Request::GetRingBase(state()?.0),
            12 => descriptor().map(|(ring, comes)| Request::SetRingKick(ring, comes))?,
            13 => descriptor().map(|(ring, comes)| Request::SetRingCall(ring, comes))?,
            14 => descriptor().map(|(ring, comes)| Request::SetRingError(ring, comes))?,
            15 => Request::GetProtocolFeatures,
            16 => Request::SetProtocolFeatures(number()?),
            17 => Request::GetRingCount,
            18 => state().map(|(ring, on)| Request::SetRingEnabled(ring, on != 0))?,
            21 => Request::SetBackendChannel,
            24 => {
                // Some clients send the room for the answer along, and some do not.
                if payload.len() < 12 {
                    exact(12)?;
                }
                let (offset, size) = (u32_at(payload, 0), u32_at(payload, 4));
                if size > CONFIG_MAX_BYTES || offset > CONFIG_MAX_BYTES - size {
                    return Err(broken(format!(
                        "{size} bytes at {offset} of the configuration were asked for; it has \
                        {CONFIG_MAX_BYTES}"
                    )));
                }
                Request::GetConfig(offset, size, u32_at(payload, 8))
            }
            25 => Request::SetConfig,
            35 => Request::RingKick(state()?.0),
            other => Request::Other(other),
        })
    }
}

fn regions(payload: &[u8]) -> Result<Vec<Region>, Error> {
    if payload.len() < 8 {
        return Err(broken(format!("a table of memory of {} bytes", payload.len())));
    }
    let count = u32_at(payload, 0) as usize;
    // The table may come at its full length, with room for regions that are not there.
    if count > REGIONS_MAX || payload.len() < 8 + 32 * count {
        return Err(broken(format!(
            "a table of memory of {} bytes names {count} regions; at most {REGIONS_MAX} of 32 \
            bytes each are taken",
            payload.len()
        )));
    }
    Ok(payload[8..]
        .chunks_exact(32)
        .take(count)
        .map(|bytes| Region {
            guest: u64_at(bytes, 0),
            size: u64_at(bytes, 8),
            user: u64_at(bytes, 16),
            offset: u64_at(bytes, 24),
        })
        .collect())
}

/// The answer to `request` with this payload.
#[must_use]
pub fn reply(request: u32, payload: &[u8]) -> Vec<u8> {
    message(request, VERSION | REPLY, payload)
}

/// The answer to `request` that is one number.
#[must_use]
pub fn reply_number(request: u32, number: u64) -> Vec<u8> {
    reply(request, &number.to_ne_bytes())
}

/// The answer to a ring's stop: how far it has come.
#[must_use]
pub fn reply_ring_base(ring: u32, base: u16) -> Vec<u8> {
    let mut payload = ring.to_ne_bytes().to_vec();
    payload.extend(u32::from(base).to_ne_bytes());
    reply(11, &payload)
}

/// The server's word that a ring has done requests, which the client is to answer.
#[must_use]
pub fn ring_call(ring: u32) -> Vec<u8> {
    let mut payload = ring.to_ne_bytes().to_vec();
    payload.extend(0_u32.to_ne_bytes());
    message(4, VERSION | NEED_REPLY, &payload)
}

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    bytes.extend(request.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend((payload.len() as u32).to_ne_bytes());
    bytes.extend(payload);
    bytes
}

/// An error of a client against the protocol. What exactly, in the protocol's words, is for those
/// who wrote the client.
pub(super) fn broken(detail: impl Into<Text>) -> Error {
    let text = statement!(catalogue::BROKE_VHOST_USER, detail = detail.into());
    Error::new(ErrorKind::Invalid, text)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(super::array_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(super::array_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reactor::Random;

    fn parse(request: u32, payload: &[u8]) -> Result<Request, Error> {
        Request::parse(Header { request, flags: 1, size: payload.len() as u32 }, payload)
    }

    #[test]
    fn a_header_of_another_version_or_of_no_messages_length_is_refused() {
        let header = |flags: u32, size: u32| {
            let mut bytes = [0; HEADER_BYTES];
            bytes[4..8].copy_from_slice(&flags.to_ne_bytes());
            bytes[8..].copy_from_slice(&size.to_ne_bytes());
            Header::parse(bytes)
        };
        assert!(header(9, 8).unwrap().wants_reply() && !header(1, 8).unwrap().wants_reply());
        for (flags, size) in [(0, 8), (2, 8), (1, 1025), (1, u32::MAX)] {
            assert_eq!(header(flags, size).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }

    #[test]
    fn requests_are_read_as_the_protocol_lays_them_out() {
        let words =
            |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        assert_eq!(parse(2, &words(&[7])).unwrap(), Request::SetFeatures(7));
        let table = words(&[2, 0, 4096, 1 << 40, 0, 1 << 20, 8192, 2 << 40, 4096]);
        let Request::SetMemory(regions) = parse(5, &table).unwrap() else { panic!("memory") };
        let second = Region { guest: 1 << 20, size: 8192, user: 2 << 40, offset: 4096 };
        assert_eq!((regions.len(), regions[1]), (2, second));
        assert_eq!(
            parse(9, &words(&[3, 10, 20, 30, 40])).unwrap(),
            Request::SetRingAddresses(
                3,
                RingAddresses { descriptors: 10, used: 20, available: 30 }
            )
        );
        assert_eq!(parse(12, &words(&[0x102])).unwrap(), Request::SetRingKick(2, false));
        assert_eq!(parse(13, &words(&[0x2])).unwrap(), Request::SetRingCall(2, true));
        assert_eq!(parse(200, b"abc").unwrap(), Request::Other(200));
        assert_eq!(reply_ring_base(1, 9)[..12], reply(11, &[0; 8])[..12]);
    }

    #[test]
    fn what_is_not_a_requests_length_is_refused() {
        for (request, payload) in [
            (2, &[0; 4][..]),
            (5, &[0; 4]),
            (5, &[9; 8]),
            (5, &[1, 0, 0, 0, 0, 0, 0, 0]),
            (8, &[0; 16]),
            (9, &[0; 39]),
            (24, &[0; 8]),
            (24, &[0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]),
            (24, &[255, 255, 255, 255, 1, 0, 0, 0, 0, 0, 0, 0]),
        ] {
            let refused = parse(request, payload);
            assert!(refused.is_err(), "{request} {payload:?}: {refused:?}");
        }
    }

    /// Whatever comes, it is understood or refused.
    #[test]
    fn any_bytes_are_a_request_or_an_error() {
        let mut random = Random::with_seed(13);
        for _ in 0..20_000 {
            let mut payload = vec![0; random.usize(0..320)];
            random.fill(&mut payload);
            if random.bool() && payload.len() > 8 {
                payload[1..8].fill(0);
            }
            let request = random.u32(0..45);
            if let Ok(Request::SetMemory(regions)) = parse(request, &payload) {
                assert!(regions.len() <= REGIONS_MAX);
            }
        }
    }
}
