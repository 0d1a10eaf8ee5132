//! What the kernel's ublk driver is told and says, as plain data: parameters of a device out of
//! what is served, orders out of the driver's requests, numbers out of errors.
//!
//! The formats are those of `<linux/ublk_cmd.h>`, in the machine's own byte order:
//!
//! ```text
//! device      0 queues:2 | 2 depth:2 | 4 state:2 | 8 longest request:4 | 12 number:4 | 16 process:4 | 24 flags:8 | 32 ours:8
//! parameters  0 length:4 | 4 which of them:4
//!             8 attributes:4 | 12 shifts: logical, physical, best, least:1 each | 16 longest:4 | 20 -:4 | 24 size:8 | 32 -:8
//!             40 -:4 | 44 granularity of discards:4 | 48 longest discard:4 | 52 longest zeroes:4 | 56 pieces:2
//! ```

use block::{DiscardSupport, Error, ErrorKind, Info, SECTOR_BYTES};
use reactor::ublk::UblkRequest;
use rustix::io::Errno;
use words::statement;

use crate::catalogue;
use crate::vhost_user::array_at;

/// Length of `struct ublksrv_ctrl_dev_info` in bytes.
pub(super) const DEVICE_BYTES: usize = 64;
/// Length of `struct ublk_params` with what Linux 6.1 knows of it, in bytes.
pub(super) const PARAMETER_BYTES: usize = 64;

/// Requests are brought to the server's own thread by its ring, whether the driver is a module or
/// not.
pub(super) const COMPLETE_IN_TASK: u64 = 1 << 1;
/// The device stays when its server dies, and requests wait for the next one.
pub(super) const RECOVERS: u64 = 1 << 3;
/// Requests that the dead server had are given to the next one, instead of failing.
pub(super) const REISSUES: u64 = 1 << 4;
/// The device of a user who is not root (Linux 6.3).
pub(super) const UNPRIVILEGED: u64 = 1 << 5;

/// State of a device that is stopped, or not started yet.
pub(super) const DEAD: u16 = 0;

/// A device as the driver knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeviceInfo {
    pub(super) queues: u16,
    pub(super) depth: u16,
    pub(super) state: u16,
    /// The longest request, in bytes.
    pub(super) max_bytes: u32,
    pub(super) number: u32,
    pub(super) flags: u64,
    /// A number of the server's, which the driver keeps and does not look at.
    pub(super) identity: u64,
}

impl DeviceInfo {
    pub(super) fn encode(self) -> [u8; DEVICE_BYTES] {
        let mut bytes = [0; DEVICE_BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &self.queues.to_ne_bytes());
        put(2, &self.depth.to_ne_bytes());
        put(4, &self.state.to_ne_bytes());
        put(8, &self.max_bytes.to_ne_bytes());
        put(12, &self.number.to_ne_bytes());
        put(24, &self.flags.to_ne_bytes());
        put(32, &self.identity.to_ne_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; DEVICE_BYTES]) -> DeviceInfo {
        DeviceInfo {
            queues: u16::from_ne_bytes(array_at(bytes, 0)),
            depth: u16::from_ne_bytes(array_at(bytes, 2)),
            state: u16::from_ne_bytes(array_at(bytes, 4)),
            max_bytes: u32::from_ne_bytes(array_at(bytes, 8)),
            number: u32::from_ne_bytes(array_at(bytes, 12)),
            flags: u64::from_ne_bytes(array_at(bytes, 24)),
            identity: u64::from_ne_bytes(array_at(bytes, 32)),
        }
    }
}

const READ_ONLY: u32 = 1 << 0;
const ROTATIONAL: u32 = 1 << 1;
const VOLATILE_CACHE: u32 = 1 << 2;
const FUA: u32 = 1 << 3;

const BASIC: u32 = 1 << 0;
const DISCARD: u32 = 1 << 1;

/// The longest range that is given back or zeroed at a time, in sectors: 1 GiB, so that a device
/// that is slow at it answers in between.
const CLEAR_SECTORS: u32 = 1 << 21;

/// The parameters of a device of this kind, whose requests carry at most `max_bytes`. `cached` says
/// that a completed write may still be lost until a flush.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for blocks that the driver has no room for.
pub(super) fn parameters(
    info: &Info,
    max_bytes: u32,
    read_only: bool,
    cached: bool,
) -> Result<[u8; PARAMETER_BYTES], Error> {
    let page = rustix::param::page_size();
    if info.block_bytes as usize > page || u64::from(info.block_bytes) < SECTOR_BYTES {
        let message = catalogue::UBLK_BLOCKS;
        let text = statement!(message, block = info.block_bytes, page = page);
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    let shift = |bytes: u32| bytes.trailing_zeros() as u8;
    let block = shift(info.block_bytes);
    // Both are powers of two there. Of a stripe of three chunks the chunk is told twice.
    let best = shift(info.optimal_bytes.max(1)).max(block);
    let least = info.stripe.map_or(block, |stripe| shift(stripe.chunk_bytes)).clamp(block, best);
    let attributes = [
        (READ_ONLY, read_only),
        (ROTATIONAL, info.rotational),
        (VOLATILE_CACHE, cached && !read_only),
        (FUA, cached && !read_only),
    ];
    let attributes = attributes.iter().filter(|(_, is)| *is).map(|(flag, _)| flag).sum::<u32>();
    let discards = info.discard != DiscardSupport::None && !read_only;
    let mut bytes = [0; PARAMETER_BYTES];
    let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
    put(0, &(PARAMETER_BYTES as u32).to_ne_bytes());
    put(4, &(BASIC | DISCARD).to_ne_bytes());
    put(8, &attributes.to_ne_bytes());
    put(12, &[block, block, best, least]);
    put(16, &(max_bytes / SECTOR_BYTES as u32).to_ne_bytes());
    put(24, &(info.size_bytes / SECTOR_BYTES).to_ne_bytes());
    put(44, &info.block_bytes.to_ne_bytes());
    put(48, &if discards { CLEAR_SECTORS } else { 0 }.to_ne_bytes());
    put(52, &if read_only { 0 } else { CLEAR_SECTORS }.to_ne_bytes());
    put(56, &1_u16.to_ne_bytes());
    Ok(bytes)
}

/// Whether a device that is there has these parameters, as far as both sides know them.
pub(super) fn is_same_device(
    wanted: &[u8; PARAMETER_BYTES],
    found: &[u8; PARAMETER_BYTES],
) -> bool {
    wanted[8..60] == found[8..60]
}

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Read { offset: u64, length: u32 },
    Write { offset: u64, length: u32, durable: bool },
    Flush,
    Discard { offset: u64, length: u64 },
    Zero { offset: u64, length: u64, durable: bool, allocate: bool },
}

const OP_READ: u32 = 0;
const OP_WRITE: u32 = 1;
const OP_FLUSH: u32 = 2;
const OP_DISCARD: u32 = 3;
const OP_WRITE_ZEROES: u32 = 5;
/// The write is durable when it is answered.
const FLAG_FUA: u32 = 1 << 13;
/// The zeroes keep their space.
const FLAG_NO_UNMAP: u32 = 1 << 15;

/// What the driver asks for, of a device of so many bytes whose requests carry at most `max_bytes`.
///
/// # Errors
/// What it is told where that makes no sense.
pub(super) fn parse(request: UblkRequest, size_bytes: u64, max_bytes: u32) -> Result<Ask, Errno> {
    let op = request.op_flags & 0xff;
    if op == OP_FLUSH {
        return Ok(Ask::Flush);
    }
    let offset = request.start_sector.checked_mul(SECTOR_BYTES).ok_or(Errno::INVAL)?;
    let length = u64::from(request.sectors) * SECTOR_BYTES;
    if length == 0 || offset.checked_add(length).is_none_or(|end| end > size_bytes) {
        return Err(Errno::INVAL);
    }
    let durable = request.op_flags & FLAG_FUA != 0;
    let carried = u32::try_from(length).ok().filter(|length| *length <= max_bytes);
    match op {
        OP_READ => Ok(Ask::Read { offset, length: carried.ok_or(Errno::INVAL)? }),
        OP_WRITE => Ok(Ask::Write { offset, length: carried.ok_or(Errno::INVAL)?, durable }),
        OP_DISCARD => Ok(Ask::Discard { offset, length }),
        OP_WRITE_ZEROES => Ok(Ask::Zero {
            offset,
            length,
            durable,
            allocate: request.op_flags & FLAG_NO_UNMAP != 0,
        }),
        _ => Err(Errno::OPNOTSUPP),
    }
}

/// The result that the driver is told: bytes, or an error.
pub(super) fn result(outcome: Result<u32, Errno>) -> i32 {
    match outcome {
        Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
        Err(error) => -error.raw_os_error(),
    }
}

#[cfg(test)]
mod tests {
    use block::Stripe;

    use super::*;

    fn drive() -> Info {
        Info {
            optimal_bytes: 192 << 10,
            stripe: Stripe::new(64 << 10, 3),
            discard: DiscardSupport::ReadsZero,
            ..Info::plain(10 << 20)
        }
    }

    fn number(bytes: &[u8], at: usize) -> u32 {
        u32::from_ne_bytes(array_at(bytes, at))
    }

    #[test]
    fn a_device_is_read_as_it_is_written() {
        let device = DeviceInfo {
            queues: 2,
            depth: 64,
            state: 2,
            max_bytes: 1 << 20,
            number: 7,
            flags: RECOVERS | REISSUES,
            identity: 0x1234_5678_9abc_def0,
        };
        assert_eq!(DeviceInfo::decode(&device.encode()), device);
    }

    #[test]
    fn a_stripe_that_is_no_power_of_two_is_told_as_what_divides_it() {
        let told = parameters(&drive(), 1 << 20, false, true).unwrap();
        assert_eq!(told[12..16], [9, 9, 16, 16]);
        assert_eq!((number(&told, 16), number(&told, 24)), (2048, 20_480));
        assert_eq!(number(&told, 8), VOLATILE_CACHE | FUA);
        let even = Info { optimal_bytes: 128 << 10, stripe: Stripe::new(64 << 10, 2), ..drive() };
        assert_eq!(parameters(&even, 1 << 20, false, true).unwrap()[12..16], [9, 9, 17, 16]);
        let plain = Info { block_bytes: 4096, ..Info::plain(10 << 20) };
        assert_eq!(parameters(&plain, 1 << 20, false, true).unwrap()[12..16], [12, 12, 12, 12]);
    }

    #[test]
    fn what_a_device_does_not_take_is_not_offered() {
        let offered = |told: &[u8]| (number(told, 8), number(told, 48), number(told, 52));
        let of =
            |info: &Info, read_only, cached| parameters(info, 1 << 20, read_only, cached).unwrap();
        assert_eq!(offered(&of(&drive(), true, true)), (READ_ONLY, 0, 0));
        assert_eq!(offered(&of(&drive(), false, false)), (0, CLEAR_SECTORS, CLEAR_SECTORS));
        let seeks = Info { rotational: true, discard: DiscardSupport::None, ..drive() };
        assert_eq!(offered(&of(&seeks, false, false)), (ROTATIONAL, 0, CLEAR_SECTORS));
        // Without a granularity the driver refuses all parameters.
        assert_eq!(number(&of(&seeks, true, false), 44), 512);
        let large = Info { block_bytes: 1 << 20, ..drive() };
        let error = parameters(&large, 1 << 20, false, true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn another_size_is_another_device() {
        let (one, other) = (drive(), Info { size_bytes: 11 << 20, ..drive() });
        let told = |info: &Info| parameters(info, 1 << 20, false, true).unwrap();
        let mut newer = told(&one);
        // A later driver says of what else it knows parameters.
        newer[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        assert!(is_same_device(&told(&one), &newer));
        assert!(!is_same_device(&told(&one), &told(&other)));
    }

    #[test]
    fn requests_are_taken_as_they_are_meant_or_refused() {
        let ask = |op_flags, start_sector, sectors| {
            parse(UblkRequest { op_flags, sectors, start_sector }, 1 << 20, 64 << 10)
        };
        assert_eq!(ask(OP_READ, 8, 2), Ok(Ask::Read { offset: 4096, length: 1024 }));
        let (offset, length) = (0, 64 << 10);
        assert_eq!(ask(OP_WRITE, 0, 128), Ok(Ask::Write { offset, length, durable: false }));
        // Flags that only say how it came about change nothing.
        let flags = FLAG_FUA | 1 << 8 | 1 << 16;
        assert_eq!(ask(OP_WRITE | flags, 0, 128), Ok(Ask::Write { offset, length, durable: true }));
        assert_eq!(ask(OP_FLUSH, 0, 0), Ok(Ask::Flush));
        let length = 1 << 20;
        assert_eq!(ask(OP_DISCARD, 0, 2048), Ok(Ask::Discard { offset, length }));
        let zero = |durable, allocate| Ok(Ask::Zero { offset, length, durable, allocate });
        assert_eq!(ask(OP_WRITE_ZEROES, 0, 2048), zero(false, false));
        assert_eq!(ask(OP_WRITE_ZEROES | FLAG_NO_UNMAP | FLAG_FUA, 0, 2048), zero(true, true));
        for (op, start, sectors) in [
            (OP_READ, 0, 129),
            (OP_WRITE, 0, 0),
            (OP_WRITE, 2047, 2),
            (OP_DISCARD, u64::MAX, 1),
            (OP_WRITE_ZEROES, u64::MAX / 512, 1),
        ] {
            assert_eq!(ask(op, start, sectors), Err(Errno::INVAL), "{op} {start} {sectors}");
        }
        assert_eq!(ask(4, 0, 1), Err(Errno::OPNOTSUPP), "nobody asks for this any more");
    }

    /// Whatever the driver describes, what is done lies within the device and the request's memory.
    #[test]
    fn nothing_is_asked_of_the_device_beyond_its_end() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Small numbers and those around the bounds are as likely as others.
            let bits = state >> 58;
            let number = state & (u64::MAX >> bits);
            if state & 1 == 0 { number } else { (1_u64 << 55).wrapping_sub(number) }
        };
        for _ in 0..200_000 {
            let request = UblkRequest {
                op_flags: random() as u32,
                sectors: random() as u32,
                start_sector: random(),
            };
            let (size_bytes, max_bytes) = (random() & !511, random() as u32 & !4095);
            let (offset, length) = match parse(request, size_bytes, max_bytes) {
                Err(_) | Ok(Ask::Flush) => continue,
                Ok(Ask::Read { offset, length } | Ask::Write { offset, length, .. }) => {
                    assert!(length <= max_bytes, "{request:?}");
                    (offset, u64::from(length))
                }
                Ok(Ask::Discard { offset, length } | Ask::Zero { offset, length, .. }) => {
                    (offset, length)
                }
            };
            let is_within = offset.checked_add(length).is_some_and(|end| end <= size_bytes);
            assert!(length > 0 && is_within, "{request:?} of {size_bytes} bytes");
        }
    }

    #[test]
    fn the_driver_is_told_bytes_or_an_error() {
        assert_eq!(result(Ok(4096)), 4096);
        assert_eq!(result(Err(Errno::NOSPC)), -28);
    }
}
