//! A chain of a ring as a request to a disk. Pure.
//!
//! ```text
//!   readable  type 4 | reserved 4 | sector 8 | data of a write ...
//!   writable  data of a read ...             | status 1
//! ```
//!
//! Where one part ends and the next begins in the client's memory is the client's business. Source:
//! "Virtual I/O Device (VIRTIO) Version 1.2", section 5.2.6.

use block::{Error, SECTOR_BYTES};

use super::array_at;
use super::memory::{GuestMemory, Span};
use super::message::broken;
use super::ring::Chain;

const HEADER_BYTES: u64 = 16;
/// The most data of one request, in bytes.
pub const DATA_MAX_BYTES: u64 = 32 << 20;
/// Length of the name of a disk.
pub const NAME_BYTES: usize = 20;
/// A range of a discard or of zeroes: sector, count, flags.
const RANGE_BYTES: u64 = 16;
/// In the flags of such a range: its space may be given back.
const UNMAP: u32 = 1;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is done.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// It is not known here.
    Unsupported = 2,
}

/// What is asked for. Offsets and lengths are in bytes, and not checked against the disk's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Read into the request's data.
    Read {
        /// Where on the disk.
        offset: u64,
    },
    /// Write the request's data.
    Write {
        /// Where on the disk.
        offset: u64,
    },
    /// Make all durable that was answered.
    Flush,
    /// The disk's name.
    Name,
    /// Give a range back.
    Discard {
        /// Where on the disk.
        offset: u64,
        /// How much.
        length: u64,
    },
    /// Make a range read as zeroes.
    Zero {
        /// Where on the disk.
        offset: u64,
        /// How much.
        length: u64,
        /// Whether its space may be given back.
        unmap: bool,
    },
    /// Nothing that can be done; this is the answer.
    Nothing(Status),
}

/// A request, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedRequest {
    /// Its number in the ring.
    pub head: u16,
    /// What is asked for.
    pub ask: Ask,
    /// Where its data lie.
    pub data: Vec<Span>,
    /// How long they are.
    pub data_bytes: u64,
    /// Where the answer goes.
    pub status: u64,
}

impl ParsedRequest {
    /// From a chain, whose header is read from `memory`.
    ///
    /// # Errors
    /// A chain without header or answer, or with memory that is not there.
    pub fn parse(chain: Chain, memory: &GuestMemory) -> Result<ParsedRequest, Error> {
        let Chain { head, mut readable, mut writable } = chain;
        let header = cut_front(&mut readable, HEADER_BYTES)
            .ok_or_else(|| broken("a request of less than its header of 16 bytes"))?;
        let status = writable
            .last_mut()
            .map(|last| {
                last.length -= 1;
                last.address + last.length
            })
            .ok_or_else(|| broken("a request without a place for its answer"))?;
        writable.retain(|span| span.length > 0);
        let header = read(&header, memory)?;
        let kind = u32::from_le_bytes(array_at(&header, 0));
        let offset = u64::from_le_bytes(array_at(&header, 8)).checked_mul(SECTOR_BYTES);
        let (data, other) = match kind {
            READ | NAME => (writable, readable),
            _ => (readable, writable),
        };
        let data_bytes: u64 = data.iter().map(|span| span.length).sum();
        let whole = data_bytes > 0
            && data_bytes <= DATA_MAX_BYTES
            && data_bytes.is_multiple_of(SECTOR_BYTES)
            && other.is_empty();
        let ask = match (kind, offset) {
            (READ, Some(offset)) if whole => Ask::Read { offset },
            (WRITE, Some(offset)) if whole => Ask::Write { offset },
            (READ | WRITE, _) => Ask::Nothing(Status::Failed),
            (FLUSH, _) => Ask::Flush,
            (NAME, _) => Ask::Name,
            (DISCARD | ZEROES, _) if data_bytes == RANGE_BYTES => {
                range(kind, &read(&data, memory)?)
            }
            _ => Ask::Nothing(Status::Unsupported),
        };
        Ok(ParsedRequest { head, ask, data, data_bytes, status })
    }
}

const READ: u32 = 0;
const WRITE: u32 = 1;
const FLUSH: u32 = 4;
const NAME: u32 = 8;
const DISCARD: u32 = 11;
const ZEROES: u32 = 13;

fn range(kind: u32, bytes: &[u8]) -> Ask {
    let sector = u64::from_le_bytes(array_at(bytes, 0));
    let length = u64::from(u32::from_le_bytes(array_at(bytes, 8))) * SECTOR_BYTES;
    let flags = u32::from_le_bytes(array_at(bytes, 12));
    match (kind, sector.checked_mul(SECTOR_BYTES), flags) {
        (_, None, _) | (_, _, 2..) => Ask::Nothing(Status::Unsupported),
        // A discard has no flags.
        (DISCARD, Some(offset), 0) => Ask::Discard { offset, length },
        (DISCARD, ..) => Ask::Nothing(Status::Unsupported),
        (_, Some(offset), flags) => Ask::Zero { offset, length, unmap: flags & UNMAP != 0 },
    }
}

/// Takes the first `length` bytes off.
fn cut_front(spans: &mut Vec<Span>, mut length: u64) -> Option<Vec<Span>> {
    let mut front = Vec::new();
    while length > 0 {
        let first = spans.first_mut()?;
        let now = first.length.min(length);
        front.push(Span { address: first.address, length: now });
        first.address += now;
        first.length -= now;
        length -= now;
        if first.length == 0 {
            spans.remove(0);
        }
    }
    Some(front)
}

/// The few bytes of a header.
fn read(spans: &[Span], memory: &GuestMemory) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    for span in spans {
        let start = bytes.len();
        bytes.resize(start + span.length as usize, 0);
        memory.read(span.address, &mut bytes[start..])?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::memory::tests::file;
    use super::super::message::{Region, RingAddresses};
    use super::super::ring::Ring;
    use super::*;
    use reactor::Random;

    const SIZE: u64 = 1 << 16;
    const ADDRESSES: RingAddresses =
        RingAddresses { descriptors: 0, available: 0x1000, used: 0x2000 };

    fn memory() -> GuestMemory {
        let region = Region { guest: 0, size: SIZE, user: 0, offset: 0 };
        GuestMemory::new(vec![region], vec![file(SIZE)]).unwrap()
    }

    fn descriptor(memory: &GuestMemory, at: u64, parts: (u64, u32, u16, u16)) {
        let (address, length, flags, next) = parts;
        let mut bytes = address.to_le_bytes().to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        memory.write(at, &bytes).unwrap();
    }

    fn offer(memory: &GuestMemory, index: u16, heads: &[u16]) {
        for (place, head) in heads.iter().enumerate() {
            memory.write(0x1004 + 2 * place as u64, &head.to_le_bytes()).unwrap();
        }
        memory.write(0x1002, &index.to_le_bytes()).unwrap();
    }

    fn header(memory: &GuestMemory, at: u64, kind: u32, sector: u64) {
        memory.write(at, &kind.to_le_bytes()).unwrap();
        memory.write(at + 8, &sector.to_le_bytes()).unwrap();
    }

    #[test]
    fn a_write_in_pieces_and_a_read_through_an_indirect_table() {
        let memory = memory();
        header(&memory, 0x3000, 1, 5);
        // The header in two pieces, data in two that lie together and one that does not.
        for (index, (address, length, writable)) in [
            (0x3000, 10, 0),
            (0x300a, 6, 0),
            (0x4000, 512, 0),
            (0x4200, 512, 0),
            (0x5000, 1024, 0),
            (0x3020, 1, 2),
        ]
        .into_iter()
        .enumerate()
        {
            let last = index == 5;
            let flags = writable | u16::from(!last);
            descriptor(&memory, 16 * index as u64, (address, length, flags, index as u16 + 1));
        }
        header(&memory, 0x3100, 0, 9);
        for (index, parts) in
            [(0x3100, 16, 1, 1), (0x6000, 4096, 3, 2), (0x3120, 1, 2, 0)].into_iter().enumerate()
        {
            descriptor(&memory, 0x7000 + 16 * index as u64, parts);
        }
        descriptor(&memory, 16 * 7, (0x7000, 48, 4, 0));
        offer(&memory, 2, &[0, 7]);
        let mut ring = Ring::new(8, ADDRESSES, 0, &memory).unwrap();
        let write = ParsedRequest::parse(ring.take(&memory).unwrap().unwrap(), &memory).unwrap();
        let spans = |spans: &[Span]| {
            spans.iter().map(|span| (span.address, span.length)).collect::<Vec<_>>()
        };
        assert_eq!((write.head, write.ask), (0, Ask::Write { offset: 2560 }));
        assert_eq!(spans(&write.data), [(0x4000, 1024), (0x5000, 1024)]);
        assert_eq!((write.data_bytes, write.status), (2048, 0x3020));
        let read = ParsedRequest::parse(ring.take(&memory).unwrap().unwrap(), &memory).unwrap();
        assert_eq!((read.head, read.ask), (7, Ask::Read { offset: 4608 }));
        assert_eq!((spans(&read.data), read.status), (vec![(0x6000, 4096)], 0x3120));
        assert_eq!((ring.take(&memory).unwrap(), ring.base()), (None, 2));
        ring.give_back(7, 4097, &memory).unwrap();
        let mut used = [0; 12];
        memory.read(0x2000, &mut used).unwrap();
        assert_eq!(used, [0, 0, 1, 0, 7, 0, 0, 0, 1, 16, 0, 0]);
        assert!(ring.wants_call(&memory).unwrap());
        memory.write(0x1000, &[1, 0]).unwrap();
        assert!(!ring.wants_call(&memory).unwrap());
    }

    #[test]
    fn circles_and_claims_beyond_the_ring_are_refused() {
        type Plant = fn(&GuestMemory);
        let cases: [(&str, Plant); 6] = [
            ("circle", |memory| descriptor(memory, 0, (0x3000, 16, 1, 0))),
            ("not in its table", |memory| descriptor(memory, 0, (0x3000, 16, 1, 8))),
            ("indirect table", |memory| descriptor(memory, 0, (0x7000, 47, 4, 0))),
            ("within a chain", |memory| {
                descriptor(memory, 0, (0x7000, 16, 4, 0));
                descriptor(memory, 0x7000, (0x7000, 16, 4, 0));
            }),
            ("bytes at", |memory| descriptor(memory, 0, (u64::MAX, 16, 0, 0))),
            ("claims", |memory| offer(memory, 9, &[0])),
        ];
        for (expected, plant) in cases {
            let memory = memory();
            offer(&memory, 1, &[0]);
            plant(&memory);
            let mut ring = Ring::new(8, ADDRESSES, 0, &memory).unwrap();
            let error = ring.take(&memory).expect_err(expected).to_string();
            assert!(error.contains(expected), "{expected}: {error}");
        }
        for (size, base) in [(0, 0), (3, 0), (2048, 0), (1 << 20, 0), (8, SIZE - 8)] {
            let addresses = RingAddresses { descriptors: base, ..ADDRESSES };
            assert!(Ring::new(size, addresses, 0, &memory()).is_err(), "{size} {base}");
        }
    }

    #[test]
    fn indices_go_round_past_their_highest_number() {
        let memory = memory();
        memory.write(0x2002, &u16::MAX.to_le_bytes()).unwrap();
        offer(&memory, 1, &[3, 0, 0, 0, 0, 0, 0, 2]);
        for index in [2, 3] {
            descriptor(&memory, 16 * index, (0x3000, 17, 2, 0));
        }
        let mut ring = Ring::new(8, ADDRESSES, u16::MAX, &memory).unwrap();
        let heads: Vec<u16> =
            std::iter::from_fn(|| ring.take(&memory).unwrap()).map(|chain| chain.head).collect();
        assert_eq!((heads, ring.base()), (vec![2, 3], 1));
        for head in [2, 3] {
            ring.give_back(head, 1, &memory).unwrap();
        }
        let mut used = [0; 12];
        memory.read(0x2000, &mut used).unwrap();
        assert_eq!(used, [0, 0, 1, 0, 3, 0, 0, 0, 1, 0, 0, 0]);
    }

    /// A hostile ring ends its client with one line: never a panic, never a walk without end.
    #[test]
    fn any_memory_is_requests_or_an_error() {
        for seed in 0..3000 {
            let mut random = Random::with_seed(seed);
            let memory = memory();
            let mut bytes = vec![0; 0x100];
            random.fill(&mut bytes);
            if random.bool() {
                // Mostly small numbers, so that chains come about.
                bytes.iter_mut().for_each(|byte| *byte %= 8);
                for entry in bytes.chunks_exact_mut(16) {
                    entry[2..8].fill(0);
                    entry[9..12].fill(0);
                    (entry[13], entry[15]) = (0, 0);
                }
            }
            memory.write(0, &bytes).unwrap();
            random.fill(&mut bytes[..64]);
            memory.write(0x1000, &bytes[..64]).unwrap();
            if random.bool() {
                offer(&memory, random.u16(0..9), &[random.u16(0..9), random.u16(0..9)]);
            }
            let Ok(mut ring) = Ring::new(8, ADDRESSES, 0, &memory) else { continue };
            for _ in 0..10 {
                let Ok(Some(chain)) = ring.take(&memory) else { break };
                let length: u64 =
                    chain.readable.iter().chain(&chain.writable).map(|span| span.length).sum();
                if length < 1 << 20
                    && let Ok(framed) = ParsedRequest::parse(chain, &memory)
                {
                    assert!(framed.data_bytes <= length, "seed {seed}: {framed:?}");
                }
            }
        }
    }
}
