//! A client's memory, reached through the files that it sends.
//!
//! It is read and written with `pread` and `pwrite` and never mapped: a client that shortens its
//! file, or names what is not there, gives an error here and no signal, and no byte of it is ever
//! borrowed.

use std::os::fd::OwnedFd;

use block::Error;
use rustix::fs::FileType;
use words::{Message, statement};

use super::message::{Region, broken};
use crate::catalogue;

/// A range of the guest's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its address in the guest.
    pub address: u64,
    /// Its length.
    pub length: u64,
}

/// The memory that a client shares.
#[derive(Debug)]
pub struct GuestMemory {
    regions: Vec<(Region, OwnedFd)>,
}

impl GuestMemory {
    /// The memory of these regions, each with its file.
    ///
    /// # Errors
    /// [`block::ErrorKind::Invalid`]: a region without a file, past the end of its file or of all
    /// addresses, or over another one.
    pub fn new(regions: Vec<Region>, files: Vec<OwnedFd>) -> Result<GuestMemory, Error> {
        if regions.len() != files.len() {
            return Err(broken(format!(
                "{} regions of memory came with {} files",
                regions.len(),
                files.len()
            )));
        }
        let memory = GuestMemory { regions: regions.into_iter().zip(files).collect() };
        for (index, (region, file)) in memory.regions.iter().enumerate() {
            let ends = [region.guest, region.user, region.offset]
                .map(|start| start.checked_add(region.size));
            let within = ends.iter().all(Option::is_some)
                && ends[2].is_some_and(|end| i64::try_from(end).is_ok());
            if region.size == 0 || !within {
                return Err(broken(format!(
                    "region {index} of the memory, {} bytes at {:#x}, is not within what can be \
                    addressed",
                    region.size, region.guest
                )));
            }
            let facts = rustix::fs::fstat(file)
                .map_err(|error| Error::from_io(catalogue::MEMORY_FILE, error.into()))?;
            let plain = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
            if !plain || region.offset + region.size > facts.st_size.unsigned_abs() {
                return Err(broken(format!(
                    "region {index} of the memory needs {} bytes of its file; it has {}",
                    region.offset + region.size,
                    if plain { facts.st_size } else { 0 }
                )));
            }
            let over = memory.regions[..index].iter().any(|(other, _)| {
                region.guest < other.guest + other.size && other.guest < region.guest + region.size
            });
            if over {
                return Err(broken(format!("region {index} of the memory lies over another")));
            }
        }
        Ok(memory)
    }

    /// The address in the guest of an address in the client's process, `length` bytes of which are
    /// in one region.
    ///
    /// # Errors
    /// [`block::ErrorKind::Invalid`] when they are not.
    pub fn guest_address(&self, user: u64, length: u64) -> Result<u64, Error> {
        let inside = |region: &Region| {
            user >= region.user
                && length <= region.size
                && user - region.user <= region.size - length
        };
        self.regions
            .iter()
            .find(|(region, _)| inside(region))
            .map(|(region, _)| region.guest + (user - region.user))
            .ok_or_else(|| {
                broken(format!(
                    "{length} bytes of a ring at {user:#x} are in no region of the memory"
                ))
            })
    }

    /// Fills `bytes` from the guest's memory.
    ///
    /// # Errors
    /// Where there is none, or its file has been shortened.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let (file, offset, room) = self.place(at)?;
            let end = bytes.len().min(done.saturating_add(room));
            match rustix::io::pread(file, &mut bytes[done..end], offset) {
                Ok(0) => return Err(ended(at)),
                Ok(count) => done += count,
                Err(rustix::io::Errno::INTR) => (),
                Err(error) => return Err(failed(catalogue::READING_MEMORY, at, error)),
            }
        }
        Ok(())
    }

    /// Writes `bytes` into the guest's memory.
    ///
    /// # Errors
    /// As [`GuestMemory::read`].
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let (file, offset, room) = self.place(at)?;
            let end = bytes.len().min(done.saturating_add(room));
            match rustix::io::pwrite(file, &bytes[done..end], offset) {
                Ok(0) => return Err(ended(at)),
                Ok(count) => done += count,
                Err(rustix::io::Errno::INTR) => (),
                Err(error) => return Err(failed(catalogue::WRITING_MEMORY, at, error)),
            }
        }
        Ok(())
    }

    /// The eight bytes at `address`, as they were at one moment.
    ///
    /// The kernel copies eight bytes within one cache line in one access, but promises nothing;
    /// so they are read until they are the same twice. Indices only move on, so a value that was
    /// read in two halves is not read so again.
    ///
    /// # Errors
    /// As [`GuestMemory::read`]; a client that changes them without end.
    pub fn read_steady(&self, address: u64) -> Result<[u8; 8], Error> {
        let mut last = [0; 8];
        self.read(address, &mut last)?;
        for _ in 0..STEADY_ATTEMPTS {
            let mut now = [0; 8];
            self.read(address, &mut now)?;
            if now == last {
                return Ok(now);
            }
            last = now;
        }
        Err(broken(format!("the ring at {address:#x} never stands still")))
    }

    fn place(&self, address: u64) -> Result<(&OwnedFd, u64, usize), Error> {
        self.regions
            .iter()
            .find(|(region, _)| address >= region.guest && address - region.guest < region.size)
            .map(|(region, file)| {
                let within = address - region.guest;
                let room = usize::try_from(region.size - within).unwrap_or(usize::MAX);
                (file, region.offset + within, room)
            })
            .ok_or_else(|| broken(format!("address {address:#x} is in no region of the memory")))
    }
}

/// How often a moving index is read before its owner counts as one that plays.
const STEADY_ATTEMPTS: u32 = 10_000;

fn ended(address: u64) -> Error {
    broken(format!("the memory at {address:#x} is gone: its file has been shortened"))
}

fn failed(what: Message, address: u64, error: rustix::io::Errno) -> Error {
    let place = statement!(what, address = format!("{address:#x}"));
    Error::from_io(place, error.into())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use rustix::fs::MemfdFlags;

    /// A piece of memory of `size` bytes.
    pub(in crate::vhost_user) fn file(size: u64) -> OwnedFd {
        let file = rustix::fs::memfd_create("guest", MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, size).unwrap();
        file
    }

    fn region(guest: u64, size: u64, user: u64, offset: u64) -> Region {
        Region { guest, size, user, offset }
    }

    #[test]
    fn bytes_go_across_regions_that_touch_and_nowhere_else() {
        let regions = vec![
            region(0x1000, 0x1000, 0x7000_0000, 0),
            region(0x2000, 0x1000, 0x9000_0000, 0x800),
        ];
        let memory = GuestMemory::new(regions, vec![file(0x1000), file(0x1800)]).unwrap();
        let written: Vec<u8> = (0..0x1800).map(|byte| byte as u8).collect();
        memory.write(0x1400, &written).unwrap();
        let mut read = vec![0; written.len()];
        memory.read(0x1400, &mut read).unwrap();
        assert_eq!(read, written);
        assert_eq!(memory.guest_address(0x9000_0010, 16).unwrap(), 0x2010);
        for (user, length) in [(0x9000_0ff8, 16), (0x6fff_ffff, 1), (u64::MAX, 2)] {
            assert!(memory.guest_address(user, length).is_err(), "{user:#x} {length}");
        }
        for (address, length) in [(0xfff, 1), (0x2ff8, 9), (u64::MAX, 2), (0x3000, 1)] {
            assert!(memory.read(address, &mut vec![0; length]).is_err(), "{address:#x} {length}");
            assert!(memory.write(address, &vec![0; length]).is_err(), "{address:#x} {length}");
        }
        assert_eq!(memory.read_steady(0x1400).unwrap(), written[..8]);
    }

    #[test]
    fn a_table_of_memory_that_is_not_there_is_refused() {
        let top = u64::MAX - 0xfff;
        for (regions, files) in [
            (vec![region(0, 4096, 0, 0)], vec![]),
            (vec![region(0, 0, 0, 0)], vec![file(4096)]),
            (vec![region(0, 4097, 0, 0)], vec![file(4096)]),
            (vec![region(0, 4096, 0, 1)], vec![file(4096)]),
            (vec![region(top, 8192, 0, 0)], vec![file(8192)]),
            (vec![region(0, 8192, top, 0)], vec![file(8192)]),
            (vec![region(0, 8192, 0, top)], vec![file(8192)]),
            (vec![region(0, 4096, 0, i64::MAX as u64)], vec![file(8192)]),
            (
                vec![region(0, 4096, 0, 0), region(4095, 4096, 8192, 0)],
                vec![file(4096), file(4096)],
            ),
        ] {
            let text = format!("{regions:?}");
            assert!(GuestMemory::new(regions, files).is_err(), "{text}");
        }
        let bell = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        assert!(GuestMemory::new(vec![region(0, 4096, 0, 0)], vec![bell]).is_err());
    }

    #[test]
    fn a_file_that_is_shortened_afterwards_is_an_error_and_no_signal() {
        let shortened = file(8192);
        let copy = shortened.try_clone().unwrap();
        let memory = GuestMemory::new(vec![region(0, 8192, 0, 0)], vec![copy]).unwrap();
        rustix::fs::ftruncate(&shortened, 4096).unwrap();
        assert!(memory.read(4000, &mut [0; 200]).unwrap_err().to_string().contains("shortened"));
        assert!(memory.read(0, &mut [0; 4096]).is_ok());
    }
}
