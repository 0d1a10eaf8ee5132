//! A disk by which a program in a guest talks with its host: a block that is written is a piece of
//! a line for the host, one that is read is a piece of a line from it.
//!
//! ```text
//!   worker in the guest                    TalkDevice                     test
//!     "marked"  ── writes a block ──────>    line, with the guest's time ──>  Receiver
//!     next line <── reads a block ──────     waits, in real time only   <──  Sender
//! ```
//!
//! The guest's clock stands still while it waits, and so do its other disks: what the host does
//! meanwhile takes no modelled time, and every run of the same seed is the same.
//!
//! A block is two bytes of length and so much text; the first of an end has length 0.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{
    Channel, Completion, Device, Error as BlockError, Info, Node, Op, Reactor, Request,
    TracedChannel,
};
use host::Error;
use rustix::fs::OFlags;
use words::Text;

use super::catalogue;
use super::worker::{Line, serve_worker};

const BLOCK_BYTES: usize = 4096;
/// How much of a block is text.
const TEXT_BYTES: usize = BLOCK_BYTES - 2;
/// Where the blocks are read and written. What a kernel looks for on its disks lies elsewhere.
const PLACE: u64 = 8 << 20;
const SIZE_BYTES: u64 = 16 << 20;

/// The host's side.
pub(super) struct TalkDevice {
    info: Info,
    talk: Arc<Mutex<Talk>>,
}

struct Talk {
    to_host: Sender<Line>,
    to_guest: Receiver<String>,
    /// Of a line from the guest that has not ended yet.
    heard: Vec<u8>,
    /// Of lines to the guest.
    to_say: Vec<u8>,
}

impl Talk {
    /// The next piece for the guest, once there is one; nothing at the end.
    fn say(&mut self) -> Vec<u8> {
        if self.to_say.is_empty()
            && let Ok(line) = self.to_guest.recv()
        {
            self.to_say = line.into_bytes();
        }
        let count = self.to_say.len().min(TEXT_BYTES);
        self.to_say.drain(..count).collect()
    }

    fn hear(&mut self, text: &[u8], now: u64) {
        self.heard.extend_from_slice(text);
        while let Some(end) = self.heard.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line).into_owned();
            // When the host has gone the guest hears of it with its next question.
            let _ = self.to_host.send(Line { text, time_nanoseconds: Some(now) });
        }
    }
}

impl TalkDevice {
    pub(super) fn new(to_host: Sender<Line>, to_guest: Receiver<String>) -> TalkDevice {
        let info = Info { block_bytes: BLOCK_BYTES as u32, ..Info::plain(SIZE_BYTES) };
        let talk = Talk { to_host, to_guest, heard: Vec::new(), to_say: Vec::new() };
        TalkDevice { info, talk: Arc::new(Mutex::new(talk)) }
    }
}

impl Device for TalkDevice {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        Node::leaf("talk", SIZE_BYTES.to_string())
    }

    fn open(&self, _depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, BlockError> {
        let channel = TalkChannel {
            info: self.info.clone(),
            talk: Arc::clone(&self.talk),
            reactor: reactor.clone(),
            answered: Vec::new(),
        };
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }
}

struct TalkChannel {
    info: Info,
    talk: Arc<Mutex<Talk>>,
    reactor: Reactor,
    answered: Vec<Completion>,
}

impl TalkChannel {
    fn talk(&self) -> MutexGuard<'_, Talk> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carry_out(&mut self, op: &mut Op) -> Result<(), BlockError> {
        self.info.check(op)?;
        match op {
            Op::Read { offset, into } => {
                let text = if *offset == PLACE { self.talk().say() } else { Vec::new() };
                let block = framed(&text);
                // What a kernel reads elsewhere, or ahead, is empty.
                let mut rest = block.iter().copied().chain(std::iter::repeat(0));
                for slice in into.slices_mut() {
                    slice.iter_mut().zip(&mut rest).for_each(|(target, byte)| *target = byte);
                }
            }
            Op::Write { offset, from, .. } if *offset == PLACE => {
                let bytes: Vec<u8> = from.slices().flatten().copied().collect();
                let now = self.reactor.now().nanoseconds();
                self.talk().hear(text_in(&bytes), now);
            }
            _ => (),
        }
        Ok(())
    }
}

impl Channel for TalkChannel {
    fn submit(&mut self, mut request: Request) {
        let result = self.carry_out(&mut request.op);
        self.answered.push(request.complete(result.map_err(|error| error.at("talk"))));
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.answered);
    }

    fn in_flight(&self) -> u32 {
        self.answered.len() as u32
    }
}

fn framed(text: &[u8]) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    block[..2].copy_from_slice(&(text.len() as u16).to_le_bytes());
    block[2..2 + text.len()].copy_from_slice(text);
    block
}

fn text_in(block: &[u8]) -> &[u8] {
    let Some((length, text)) = block.split_first_chunk::<2>() else { return &[] };
    &text[..usize::from(u16::from_le_bytes(*length)).min(text.len())]
}

/// Blocks of the disk, as the guest reads and writes them: past its page cache, so that each is a
/// request.
struct Blocks {
    file: File,
    bytes: Vec<u8>,
    /// Where a block begins in it that lies as the kernel wants it.
    start: usize,
}

impl Blocks {
    fn open(disk: &Path) -> io::Result<Blocks> {
        let direct = OFlags::DIRECT.bits() as i32;
        let file = OpenOptions::new().read(true).write(true).custom_flags(direct).open(disk)?;
        let bytes = vec![0; 2 * BLOCK_BYTES];
        let start = bytes.as_ptr().align_offset(BLOCK_BYTES).min(BLOCK_BYTES);
        Ok(Blocks { file, bytes, start })
    }

    fn block(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + BLOCK_BYTES]
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        for piece in text.chunks(TEXT_BYTES) {
            self.block().copy_from_slice(&framed(piece));
            let (start, bytes) = (self.start, &self.bytes);
            self.file.write_all_at(&bytes[start..start + BLOCK_BYTES], PLACE)?;
        }
        Ok(())
    }
}

impl Read for Blocks {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let (start, bytes) = (self.start, &mut self.bytes);
        self.file.read_exact_at(&mut bytes[start..start + BLOCK_BYTES], PLACE)?;
        let text = text_in(self.block());
        if text.len() > target.len() {
            return Err(io::Error::other(Text::from(catalogue::BLOCK_AS_A_WHOLE)));
        }
        target[..text.len()].copy_from_slice(text);
        Ok(text.len())
    }
}

/// The worker's side in a guest, over the disk by which it talks: until the host ends it.
///
/// # Errors
/// A disk that cannot be opened, or that nobody listens any more.
pub fn serve_worker_in_guest(disk: &Path) -> Result<(), Error> {
    let failed = |error: io::Error| Error::from_io(disk.display(), &error);
    let mut output = Blocks::open(disk).map_err(failed)?;
    let mut input = BufReader::with_capacity(BLOCK_BYTES, Blocks::open(disk).map_err(failed)?);
    serve_worker(&mut input, &mut |line| output.write(line.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use block::Blocking;

    use super::*;

    #[test]
    fn lines_of_any_length_pass_both_ways_and_the_end_is_heard() {
        let (to_host, heard) = channel();
        let (says, to_guest) = channel();
        let device = TalkDevice::new(to_host, to_guest);
        let reactor = Reactor::virtual_clock();
        let mut disk = Blocking::open(&device, &reactor).unwrap();
        let long = format!("{}\n", "x".repeat(3 * TEXT_BYTES + 7));
        for line in ["short\n", &long] {
            for piece in line.as_bytes().chunks(TEXT_BYTES) {
                disk.write_slice(PLACE, &framed(piece)).unwrap();
            }
            let Line { text, time_nanoseconds } = heard.recv().unwrap();
            assert_eq!((text.as_str(), time_nanoseconds), (line, Some(0)));
            says.send(line.to_owned()).unwrap();
            let mut got = Vec::new();
            let mut block = [0; BLOCK_BYTES];
            while !got.ends_with(b"\n") {
                disk.read_slice(PLACE, &mut block).unwrap();
                got.extend_from_slice(text_in(&block));
            }
            assert_eq!(got, line.as_bytes());
        }
        drop(says);
        let mut block = [1; BLOCK_BYTES];
        disk.read_slice(PLACE, &mut block).unwrap();
        assert_eq!(text_in(&block), b"", "it is the end");
        disk.write_slice(0, &framed(b"a label\n")).unwrap();
        disk.read_slice(0, &mut block).unwrap();
        assert_eq!(block, [0; BLOCK_BYTES], "elsewhere nobody is there");
        assert!(heard.try_recv().is_err());
    }
}
