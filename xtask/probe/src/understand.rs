//! `probe understand`: what the NBD server does with the bytes of a request, without a socket and
//! without a device.

use std::hint::black_box;
use std::time::Instant;

use export::nbd::REQUEST_BYTES;
use export::nbd::shape::Shape;
use export::nbd::transmission::{
    Command, Decision, Session, decide, put_done, put_read_head, read_head_bytes,
};

const BLOCK_BYTES: u32 = 4096;

/// A request of 4 KiB as it goes over the wire: read or write, cookie, offset.
fn request(is_write: bool, number: u64) -> [u8; REQUEST_BYTES] {
    let mut bytes = [0; REQUEST_BYTES];
    bytes[..4].copy_from_slice(&0x2560_9513_u32.to_be_bytes());
    bytes[6..8].copy_from_slice(&u16::from(is_write).to_be_bytes());
    bytes[8..16].copy_from_slice(&number.to_be_bytes());
    let offset = number.wrapping_mul(0x9E37_79B9) % (1 << 18) * u64::from(BLOCK_BYTES);
    bytes[16..24].copy_from_slice(&offset.to_be_bytes());
    bytes[24..].copy_from_slice(&BLOCK_BYTES.to_be_bytes());
    bytes
}

/// Understands and answers so many requests, every other one a write.
///
/// # Errors
/// When the number is missing or a request is not understood.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> Result<String, String> {
    let count =
        arguments.next().and_then(|text| text.strip_prefix("--requests=").map(str::to_owned));
    let count: u64 = super::number(&count.ok_or("--requests=N is missing")?)?;
    let shape = Shape {
        name: "probe".to_owned(),
        description: String::new(),
        size_bytes: 1 << 30,
        block_bytes: 512,
        optimal_bytes: BLOCK_BYTES,
        read_only: false,
        rotational: false,
        needs_flush: true,
        discards: true,
        fast_zeroes: true,
    };
    let session = Session { export: 0, structured: true, allocation: true };
    let (start, mut notes) = (Instant::now(), Vec::with_capacity(4096));
    for number in 0..count {
        let bytes = black_box(request(number % 2 == 1, number));
        let (cookie, decision) = decide(&bytes, &shape, session);
        if notes.len() > 3072 {
            black_box(&notes);
            notes.clear();
        }
        match decision {
            Decision::Do(Command::Read { offset, length }) => {
                let at = notes.len();
                notes.resize(at + read_head_bytes(session.structured), 0);
                put_read_head(&mut notes[at..], cookie, offset, length);
            }
            Decision::Do(Command::Write { .. }) => put_done(&mut notes, session.structured, cookie),
            other => return Err(format!("request {number} was taken for {other:?}")),
        }
    }
    black_box(&notes);
    let seconds = start.elapsed().as_secs_f64();
    Ok(format!("{{\"operations\": {count}, \"seconds\": {seconds}}}"))
}
