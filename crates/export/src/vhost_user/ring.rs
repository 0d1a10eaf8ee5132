//! A split virtqueue in a client's memory.
//!
//! ```text
//!   available   flags idx | head head head ...        the client writes: these chains are new
//!   descriptors address length flags next | ...       what a chain consists of
//!   used        flags idx | id length | id length ... the server writes: these chains are done
//! ```
//!
//! Source: "Virtual I/O Device (VIRTIO) Version 1.2", section 2.7. Everything in it is the client's
//! and may change at any moment, so each value is read once and then checked.

use std::collections::VecDeque;
use std::sync::atomic::{Ordering, fence};

use block::Error;

use super::array_at;
use super::memory::{GuestMemory, Span};
use super::message::{RingAddresses, broken};

/// The most entries of a ring.
pub const RING_MAX: u16 = 1024;
/// The most descriptors of a chain, as in QEMU.
const CHAIN_MAX: usize = 1024;

const DESCRIPTOR_BYTES: u64 = 16;
const NEXT: u16 = 1;
const WRITABLE: u16 = 2;
const INDIRECT: u16 = 4;
/// In the available ring's flags: the client looks by itself.
const NO_CALL: u16 = 1;

/// A request as it lies in the ring: what the client gives, then what it wants filled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The number under which it is given back.
    pub head: u16,
    /// What the client has written.
    pub readable: Vec<Span>,
    /// What the server is to write.
    pub writable: Vec<Span>,
}

/// A ring that is served.
#[derive(Debug)]
pub struct Ring {
    size: u16,
    descriptors: u64,
    available: u64,
    used: u64,
    /// The next entry of the available ring that is taken.
    next: u16,
    /// Heads that were seen and not taken yet.
    seen: VecDeque<u16>,
    used_index: u16,
    /// The first entry's number in the used ring, which shares eight bytes with the index.
    first_id: u32,
}

impl Ring {
    /// A ring of `size` entries that goes on at `base`.
    ///
    /// # Errors
    /// [`block::ErrorKind::Invalid`]: a size that no ring has, or a place outside the memory.
    pub fn new(
        size: u32,
        addresses: RingAddresses,
        base: u16,
        memory: &GuestMemory,
    ) -> Result<Ring, Error> {
        let size = u16::try_from(size).ok().filter(|size| size.is_power_of_two());
        let Some(size) = size.filter(|size| *size <= RING_MAX) else {
            return Err(broken(format!("a ring's size is a power of two, at most {RING_MAX}")));
        };
        let entries = u64::from(size);
        let place = |user: u64, length: u64, alignment: u64| {
            if !user.is_multiple_of(alignment) {
                return Err(broken(format!("a ring at {user:#x}, no multiple of {alignment}")));
            }
            memory.guest_address(user, length)
        };
        let descriptors = place(addresses.descriptors, DESCRIPTOR_BYTES * entries, 16)?;
        let available = place(addresses.available, 4 + 2 * entries.max(2), 2)?;
        let used = place(addresses.used, 4 + 8 * entries, 4)?;
        let start = memory.read_steady(used)?;
        Ok(Ring {
            size,
            descriptors,
            available,
            used,
            next: base,
            seen: VecDeque::new(),
            used_index: u16::from_le_bytes(array_at(&start, 2)),
            first_id: u32::from_le_bytes(array_at(&start, 4)),
        })
    }

    /// Where a stopped ring goes on.
    #[must_use]
    pub fn base(&self) -> u16 {
        self.next
    }

    /// The next request, if there is one.
    ///
    /// # Errors
    /// A ring that makes no sense, or memory that is not there.
    pub fn take(&mut self, memory: &GuestMemory) -> Result<Option<Chain>, Error> {
        if self.seen.is_empty() {
            self.look(memory)?;
        }
        let Some(head) = self.seen.pop_front() else { return Ok(None) };
        let chain = self.chain(head, memory)?;
        self.next = self.next.wrapping_add(1);
        Ok(Some(chain))
    }

    fn look(&mut self, memory: &GuestMemory) -> Result<(), Error> {
        let index = u16::from_le_bytes(array_at(&memory.read_steady(self.available)?, 2));
        // What the index covers was written before it.
        fence(Ordering::SeqCst);
        let count = index.wrapping_sub(self.next);
        if count > self.size {
            return Err(broken(format!(
                "a ring of {} entries claims {count} new requests",
                self.size
            )));
        }
        let (first, mut left) = (self.next % self.size, count);
        for start in [first, 0] {
            let now = left.min(self.size - start);
            let mut bytes = vec![0; 2 * usize::from(now)];
            memory.read(self.available + 4 + 2 * u64::from(start), &mut bytes)?;
            self.seen
                .extend(bytes.chunks_exact(2).map(|head| u16::from_le_bytes(array_at(head, 0))));
            left -= now;
            if left == 0 {
                break;
            }
        }
        Ok(())
    }

    fn chain(&self, head: u16, memory: &GuestMemory) -> Result<Chain, Error> {
        if head >= self.size {
            return Err(broken(format!("request {head} in a ring of {} entries", self.size)));
        }
        let read = |table: u64, index: u16| {
            let mut bytes = [0; DESCRIPTOR_BYTES as usize];
            memory.read(table.wrapping_add(DESCRIPTOR_BYTES * u64::from(index)), &mut bytes)?;
            Ok::<_, Error>(Descriptor::parse(&bytes))
        };
        let mut walk = Walk::new(head);
        let first = read(self.descriptors, head)?;
        if first.flags & INDIRECT != 0 {
            // The table is read at once, and walked in our copy.
            let length = first.length as usize;
            let entries = length / DESCRIPTOR_BYTES as usize;
            if !length.is_multiple_of(DESCRIPTOR_BYTES as usize)
                || !(1..=CHAIN_MAX).contains(&entries)
            {
                return Err(broken(format!("an indirect table of {length} bytes")));
            }
            let mut table = vec![0; length];
            memory.read(first.address, &mut table)?;
            let mut index = 0_usize;
            while let Some(next) = walk.step(&Descriptor::parse(
                table.get(index * 16..index * 16 + 16).ok_or_else(|| outside(index))?,
            ))? {
                index = usize::from(next);
            }
            return Ok(walk.chain);
        }
        let mut next = walk.step(&first)?;
        while let Some(index) = next {
            if index >= self.size {
                return Err(outside(usize::from(index)));
            }
            next = walk.step(&read(self.descriptors, index)?)?;
        }
        Ok(walk.chain)
    }

    /// Gives a request back, of which `written` bytes of its writable part hold something new.
    ///
    /// # Errors
    /// Memory that is not there any more.
    pub fn give_back(
        &mut self,
        head: u16,
        written: u32,
        memory: &GuestMemory,
    ) -> Result<(), Error> {
        let slot = self.used_index % self.size;
        let mut entry = u32::from(head).to_le_bytes().to_vec();
        entry.extend(written.to_le_bytes());
        memory.write(self.used + 4 + 8 * u64::from(slot), &entry)?;
        if slot == 0 {
            self.first_id = u32::from(head);
        }
        self.used_index = self.used_index.wrapping_add(1);
        // The entry is seen before the index. Flags, index and the first entry's number are
        // written together: the kernel copies eight bytes as one, but two of them one by one,
        // and a client on another processor would see half an index.
        fence(Ordering::SeqCst);
        let mut word = [0; 8];
        word[2..4].copy_from_slice(&self.used_index.to_le_bytes());
        word[4..].copy_from_slice(&self.first_id.to_le_bytes());
        memory.write(self.used, &word)
    }

    /// Whether the client wants to be told of what was given back.
    ///
    /// # Errors
    /// Memory that is not there any more.
    pub fn wants_call(&self, memory: &GuestMemory) -> Result<bool, Error> {
        // The index is seen before the flags are looked at, or both sides would wait.
        fence(Ordering::SeqCst);
        let mut flags = [0; 2];
        memory.read(self.available, &mut flags)?;
        Ok(u16::from_le_bytes(flags) & NO_CALL == 0)
    }
}

fn outside(index: usize) -> Error {
    broken(format!("descriptor {index} is not in its table"))
}

struct Descriptor {
    address: u64,
    length: u32,
    flags: u16,
    next: u16,
}

impl Descriptor {
    fn parse(bytes: &[u8]) -> Descriptor {
        Descriptor {
            address: u64::from_le_bytes(array_at(bytes, 0)),
            length: u32::from_le_bytes(array_at(bytes, 8)),
            flags: u16::from_le_bytes(array_at(bytes, 12)),
            next: u16::from_le_bytes(array_at(bytes, 14)),
        }
    }
}

/// A chain as far as it has been followed.
struct Walk {
    chain: Chain,
    count: usize,
}

impl Walk {
    fn new(head: u16) -> Walk {
        Walk { chain: Chain { head, ..Chain::default() }, count: 0 }
    }

    /// Takes a descriptor; the one that follows it, if any.
    fn step(&mut self, descriptor: &Descriptor) -> Result<Option<u16>, Error> {
        self.count += 1;
        if self.count > CHAIN_MAX {
            return Err(broken(format!(
                "a chain of more than {CHAIN_MAX} descriptors, or a circle"
            )));
        }
        if descriptor.flags & INDIRECT != 0 {
            return Err(broken("an indirect table within a chain"));
        }
        let length = u64::from(descriptor.length);
        if descriptor.address.checked_add(length).is_none() {
            return Err(broken(format!("{length} bytes at {:#x}", descriptor.address)));
        }
        let span = Span { address: descriptor.address, length };
        let writable = descriptor.flags & WRITABLE != 0;
        if !writable && !self.chain.writable.is_empty() {
            return Err(broken("a chain with something to read after something to write"));
        }
        let spans = if writable { &mut self.chain.writable } else { &mut self.chain.readable };
        match spans.last_mut() {
            // Neighbours are moved together.
            Some(last) if last.address + last.length == span.address => last.length += length,
            _ if length == 0 => (),
            _ => spans.push(span),
        }
        Ok((descriptor.flags & NEXT != 0).then_some(descriptor.next))
    }
}
