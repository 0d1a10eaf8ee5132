//! `luks(passphrase_file=FILE, DEVICE)`: what is read is decrypted, what is written is encrypted.
//!
//! ```text
//!   read    goes below as it is; decrypted in its own buffer when it has come
//!   write   encrypted into a buffer of the layer's, which goes below; the caller's comes back
//! ```
//!
//! Zeroes are not written by a command of their own: they are encrypted like all else. A discard
//! tells whoever reads the device below where nothing lies, so that it has to be asked for.

use std::sync::Arc;

use block::{
    Blocking, Buf, BufMut, Channel, Completion, Device, DiscardSupport, Error, ErrorKind, Info,
    Lease, Node, Op, Reactor, Request, ReturnedBuffer, Slots, Support, TracedChannel,
};
use words::{Text, statement};
use zeroize::Zeroizing;

use crate::catalogue;
use crate::cipher::SectorCipher;
use crate::header::LuksHeader;
use crate::secret::Passphrase;

/// How a container is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LuksOptions {
    /// Whether discards go below, where they tell which blocks hold nothing.
    pub discard: bool,
    /// The layer's options as they stand in stack text.
    pub said: Vec<(String, String)>,
}

/// The data of a container.
pub struct LuksDevice {
    core: Arc<Core>,
    options: LuksOptions,
    note: Option<Text>,
}

struct Core {
    below: Arc<dyn Device>,
    info: Info,
    cipher: SectorCipher,
    /// Where the data begin on the device below, in bytes.
    start: u64,
}

impl LuksDevice {
    /// Opens the container on `below` with a passphrase; its header is read from `header` where
    /// that is another device. `promise_memory` is asked whether so many bytes can be had.
    ///
    /// # Errors
    /// As [`LuksHeader::read`] and [`LuksHeader::unlock`]; [`ErrorKind::Invalid`] when the data do
    /// not fit the device, and whatever the devices say.
    pub fn open(
        below: Arc<dyn Device>,
        header: Option<&dyn Device>,
        passphrase: &Passphrase,
        options: LuksOptions,
        promise_memory: &dyn Fn(u64) -> Result<(), Error>,
    ) -> Result<LuksDevice, Error> {
        let mut channel = Blocking::beside(header.unwrap_or(&*below))?;
        let mut read = |offset: u64, target: &mut [u8]| header_bytes(&mut channel, offset, target);
        let header = LuksHeader::read(&mut read)?;
        let info = info(&header, below.info(), options.discard)?;
        let key = header.unlock(passphrase, &mut read, promise_memory)?;
        let cipher = header.cipher(&key)?;
        let note = header.note().cloned();
        let start = header.segment.offset_bytes;
        Ok(LuksDevice { core: Arc::new(Core { below, info, cipher, start }), options, note })
    }

    /// What the user should know: a copy of the header that is damaged.
    #[must_use]
    pub fn note(&self) -> Option<&Text> {
        self.note.as_ref()
    }
}

/// What the data of a container on such a device are like.
fn info(header: &LuksHeader, below: &Info, discard: bool) -> Result<Info, Error> {
    let segment = &header.segment;
    let block_bytes = segment.sector_bytes.max(below.block_bytes);
    let block = u64::from(block_bytes);
    let invalid = |text: Text| Error::new(ErrorKind::Invalid, text);
    if block_bytes > below.block_bytes && !below.read_only {
        return Err(invalid(statement!(
            catalogue::SECTORS_TORN,
            block_bytes = block_bytes,
            below = below.block_bytes
        )));
    }
    if !segment.offset_bytes.is_multiple_of(block) {
        return Err(invalid(statement!(
            catalogue::DATA_MISALIGNED,
            offset = segment.offset_bytes,
            block = block
        )));
    }
    let room = below.size_bytes.saturating_sub(segment.offset_bytes);
    let size_bytes = segment.size_bytes.unwrap_or(room / block * block);
    if size_bytes == 0 || size_bytes > room || !size_bytes.is_multiple_of(block) {
        return Err(invalid(statement!(
            catalogue::DATA_DO_NOT_FIT,
            size = segment.size_bytes.map_or("no".to_owned(), |bytes| bytes.to_string()),
            offset = segment.offset_bytes,
            device = below.size_bytes
        )));
    }
    let takes_discards = discard && below.discard != DiscardSupport::None;
    let max_request_bytes = below.max_request_bytes / block_bytes * block_bytes;
    if max_request_bytes == 0 {
        return Err(invalid(statement!(catalogue::REQUESTS_TOO_SHORT, block = block)));
    }
    Ok(Info {
        size_bytes,
        block_bytes,
        optimal_bytes: below.optimal_bytes.next_multiple_of(block_bytes),
        max_request_bytes,
        zeroes: Support::None,
        discard: match takes_discards {
            // What reads find is what zeroes, or anything, are decrypted to.
            true => DiscardSupport::Indeterminate,
            false => DiscardSupport::None,
        },
        ..below.clone()
    })
}

impl Device for LuksDevice {
    fn info(&self) -> &Info {
        &self.core.info
    }

    fn describe(&self) -> Node {
        let node = Node::layer("luks", vec![self.core.below.describe()]);
        self.options.said.iter().fold(node, |node, (name, value)| node.with(name, value))
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let channel = LuksChannel {
            below: self.core.below.open(depth, reactor)?,
            core: Arc::clone(&self.core),
            under_way: Slots::with_capacity(depth.min(1024) as usize),
            answered: Vec::new(),
            refused: Vec::new(),
            spare: Vec::new(),
        };
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }

    fn lease(&self) -> Option<&Lease> {
        self.core.below.lease()
    }
}

/// A request that is below.
struct UnderWay {
    tag: u64,
    what: SentRequest,
}

enum SentRequest {
    /// A read at this offset of the container's data.
    Read(u64),
    /// A write, with the caller's buffer.
    Write(Buf),
    Other,
}

struct LuksChannel {
    below: Box<dyn Channel>,
    core: Arc<Core>,
    under_way: Slots<UnderWay>,
    /// What has come from below and was not looked at yet.
    answered: Vec<Completion>,
    refused: Vec<Completion>,
    /// Buffers that writes have left, to be used by others of the same length.
    spare: Vec<BufMut>,
}

/// Buffers that are kept for the next write.
const SPARE_MAX: usize = 64;

impl LuksChannel {
    /// What goes below for a write.
    fn encrypted(&mut self, offset: u64, from: &Buf) -> Buf {
        let spare = self.spare.iter().position(|buffer| buffer.len() == from.len());
        let mut buffer = match spare {
            Some(at) => self.spare.swap_remove(at),
            None => BufMut::zeroed(from.len()),
        };
        let bytes = buffer.as_mut_slice().expect("a buffer of our own lies in one piece");
        from.copy_to_slice(bytes);
        self.core.cipher.encrypt(offset, bytes);
        buffer.freeze()
    }

    fn decrypt(&self, offset: u64, buffer: &mut BufMut) {
        let cipher = &self.core.cipher;
        let sector = cipher.sector_bytes();
        if buffer.slices().all(|slice| slice.len().is_multiple_of(sector)) {
            let mut at = offset;
            for slice in buffer.slices_mut() {
                cipher.decrypt(at, slice);
                at += slice.len() as u64;
            }
            return;
        }
        // A rope that is cut within sectors.
        let mut whole = Zeroizing::new(vec![0; buffer.len()]);
        buffer.copy_to_slice(&mut whole);
        cipher.decrypt(offset, &mut whole);
        buffer.copy_from_slice(&whole);
    }

    fn end(&mut self, mut completion: Completion) -> Completion {
        let key = completion.tag as u32;
        let ended = self.under_way.remove(key).expect("a request that is under way");
        completion.tag = ended.tag;
        match ended.what {
            SentRequest::Read(offset) => {
                if let (Ok(()), ReturnedBuffer::Read(buffer)) =
                    (&completion.result, &mut completion.buffer)
                {
                    self.decrypt(offset, buffer);
                }
            }
            SentRequest::Write(from) => {
                let own = std::mem::replace(&mut completion.buffer, ReturnedBuffer::Written(from));
                if let ReturnedBuffer::Written(buffer) = own
                    && self.spare.len() < SPARE_MAX
                {
                    self.spare.extend(buffer.try_mut().ok());
                }
            }
            SentRequest::Other => (),
        }
        completion
    }
}

impl Channel for LuksChannel {
    fn submit(&mut self, request: Request) {
        if let Err(error) = self.core.info.check(&request.op) {
            return self.refused.push(request.complete(Err(error.at("luks"))));
        }
        let (tag, start) = (request.tag, self.core.start);
        let (op, what) = match request.op {
            Op::Read { offset, into } => {
                (Op::Read { offset: offset + start, into }, SentRequest::Read(offset))
            }
            Op::Write { offset, from, fua } => {
                let hidden = self.encrypted(offset, &from);
                (Op::Write { offset: offset + start, from: hidden, fua }, SentRequest::Write(from))
            }
            Op::Discard { offset, length } => {
                (Op::Discard { offset: offset + start, length }, SentRequest::Other)
            }
            // The check above lets only flushes pass.
            other => (other, SentRequest::Other),
        };
        let key = self.under_way.insert(UnderWay { tag, what });
        self.below.submit(Request::new(key.into(), op));
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.refused);
        let mut answered = std::mem::take(&mut self.answered);
        self.below.poll(&mut answered);
        done.extend(answered.drain(..).map(|completion| self.end(completion)));
        self.answered = answered;
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight() + self.refused.len() as u32
    }
}

impl LuksHeader {
    /// Reads the header that lies at the beginning of a device.
    ///
    /// # Errors
    /// As [`LuksHeader::read`].
    pub fn read_from(device: &dyn Device) -> Result<LuksHeader, Error> {
        let mut channel = Blocking::beside(device)?;
        LuksHeader::read(&mut |offset, target| header_bytes(&mut channel, offset, target))
    }
}

/// Reads what a header is in, wherever its bytes lie.
fn header_bytes(channel: &mut Blocking, offset: u64, target: &mut [u8]) -> Result<(), Error> {
    channel.read_bytes(offset, target).map_err(|error| match error.kind() {
        ErrorKind::OutOfRange => Error::new(ErrorKind::OutOfRange, catalogue::PAST_THE_END),
        _ => error,
    })
}
