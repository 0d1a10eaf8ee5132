//! One owner's requests on a file: each is one operation of the ring, or several when the kernel
//! does it by halves.
//!
//! A write behind the end of a file that was cut short makes it longer again, and what was cut off
//! reads as zeroes without an error. So a file is looked at after each write and before its request
//! ends, and after each read that a write may have gone before:
//!
//! ```text
//!   write ──> ring ──> done ── as long as when it was opened? ──> answer
//!                                  no: error, for this and all that follow
//! ```

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use block::{
    Buf, BufMut, Channel, Completion, Error, ErrorKind, Op, Request, ReturnedBuffer, size_text,
};
use reactor::{Event, Outcome, RingFile, Signal, Slots, Source};
use rustix::fs::{AtFlags, FallocateFlags, StatxFlags};
use rustix::io::Errno;
use words::{Message, statement};

use super::Shared;
use crate::messages;

const KEEP_SIZE: i32 = mode(FallocateFlags::KEEP_SIZE);
const PUNCH_HOLE: i32 = mode(FallocateFlags::PUNCH_HOLE);
const ZERO_RANGE: i32 = mode(FallocateFlags::ZERO_RANGE);
/// The most pieces of memory one operation takes (UIO_MAXIOV).
const MAX_PIECES: usize = 1024;

/// The kernel counts the flags as signed.
const fn mode(flags: FallocateFlags) -> i32 {
    flags.bits().cast_signed()
}

pub(super) struct FileChannel {
    shared: Arc<Shared>,
    file: RingFile,
    source: Source,
    /// Operations carry the key of their request as token.
    running: Slots<Running>,
    /// What never reached the ring.
    answered: Vec<Completion>,
}

/// A request under way.
struct Running {
    tag: u64,
    /// Where in the file the request starts.
    start: u64,
    length: u64,
    work: Work,
}

enum Work {
    Read(Transfer<BufMut>),
    Write {
        transfer: Transfer<Buf>,
        durable: bool,
    },
    /// A fallocate with this mode; with `sync`, a sync follows.
    Clear {
        mode: i32,
        sync: bool,
    },
    SyncAfterClear,
    Flush,
}

/// What a request does next, when one of its operations has ended.
enum NextOperation {
    Read(BufMut),
    Write {
        rest: Buf,
        durable: bool,
    },
    /// A fallocate with this mode.
    Clear(i32),
    Sync,
    End(Result<(), Error>),
}

/// Progress through the buffer of a read or a write. All three are `None` as long as the kernel
/// takes it in one go.
struct Transfer<B> {
    moved: Option<B>,
    /// Waits behind the operation under way, which takes no more pieces.
    behind: Option<B>,
    /// The owner's buffer, where its place in memory does not suit direct I/O and another stands in
    /// for it.
    owners: Option<B>,
}

/// What both kinds of buffer can do.
trait Bytes: Sized {
    fn pieces(&self) -> impl Iterator<Item = &[u8]>;
    fn length(&self) -> usize;
    fn take_front(&mut self, length: usize) -> Self;
    fn join(&mut self, other: Self);
}

macro_rules! bytes {
    ($buffer:ty) => {
        impl Bytes for $buffer {
            fn pieces(&self) -> impl Iterator<Item = &[u8]> {
                self.slices()
            }
            fn length(&self) -> usize {
                self.len()
            }
            fn take_front(&mut self, length: usize) -> Self {
                self.split_to(length)
            }
            fn join(&mut self, other: Self) {
                self.append(other);
            }
        }
    };
}
bytes!(Buf);
bytes!(BufMut);

fn join<B: Bytes>(front: Option<B>, back: B) -> B {
    match front {
        Some(mut front) => {
            front.join(back);
            front
        }
        None => back,
    }
}

impl<B: Bytes> Transfer<B> {
    fn new(owners: Option<B>) -> Transfer<B> {
        Transfer { moved: None, behind: None, owners }
    }

    /// As much from the front of `buffer` as one operation takes.
    fn fit(&mut self, mut buffer: B) -> B {
        if buffer.pieces().nth(MAX_PIECES).is_none() {
            return buffer;
        }
        let length = buffer.pieces().take(MAX_PIECES).map(<[u8]>::len).sum();
        let front = buffer.take_front(length);
        self.behind = Some(buffer);
        front
    }

    /// Notes that the first `count` bytes of `buffer` are done; what to do next, or `None` at the
    /// end.
    fn advance(&mut self, mut buffer: B, count: usize) -> Option<B> {
        if count == buffer.length() && self.behind.is_none() {
            self.moved = Some(join(self.moved.take(), buffer));
            return None;
        }
        let front = buffer.take_front(count);
        self.moved = Some(join(self.moved.take(), front));
        if let Some(behind) = self.behind.take() {
            buffer.join(behind);
        }
        Some(self.fit(buffer))
    }

    /// The whole buffer of a transfer that ended early, `buffer` being the part that was under way.
    fn abandon(&mut self, buffer: B) {
        let mut whole = join(self.moved.take(), buffer);
        if let Some(behind) = self.behind.take() {
            whole.join(behind);
        }
        self.moved = Some(whole);
    }

    fn moved_bytes(&self) -> u64 {
        self.moved.as_ref().map_or(0, |moved| moved.length() as u64)
    }
}

impl FileChannel {
    pub(super) fn new(
        shared: Arc<Shared>,
        file: RingFile,
        source: Source,
        depth: u32,
    ) -> FileChannel {
        FileChannel {
            shared,
            file,
            source,
            running: Slots::with_capacity(depth.min(1024) as usize),
            answered: Vec::new(),
        }
    }

    /// Whether direct I/O takes the buffer where it lies.
    fn suits(&self, buffer: &impl Bytes) -> bool {
        let Some(alignment) = self.shared.alignment else { return true };
        let (memory, length) = (alignment.memory as usize, alignment.offset as usize);
        buffer.pieces().all(|piece| {
            piece.as_ptr().addr().is_multiple_of(memory) && piece.len().is_multiple_of(length)
        })
    }

    fn start_write(&self, offset: u64, from: Buf, durable: bool, token: u64) {
        if self.shared.whole_bytes.is_some() {
            self.shared.unseen_writes.fetch_add(1, Ordering::Relaxed);
        }
        self.source.write(&self.file, offset, from, durable, token);
    }

    fn start(&mut self, tag: u64, op: Op) {
        let (offset, length) = op.range().unwrap_or((0, 0));
        let start = self.shared.offset_bytes + offset;
        let key = self.running.reserve();
        let token = u64::from(key);
        let work = match op {
            Op::Read { into, .. } => {
                let (buffer, owners) = if self.suits(&into) {
                    (into, None)
                } else {
                    (BufMut::zeroed(into.len()), Some(into))
                };
                let mut transfer = Transfer::new(owners);
                self.source.read(&self.file, start, transfer.fit(buffer), token);
                Work::Read(transfer)
            }
            Op::Write { from, fua, .. } => {
                let (buffer, owners) = if self.suits(&from) {
                    (from, None)
                } else {
                    (aligned_copy(&from), Some(from))
                };
                let mut transfer = Transfer::new(owners);
                self.start_write(start, transfer.fit(buffer), fua, token);
                Work::Write { transfer, durable: fua }
            }
            Op::WriteZeroes { fua, .. } => {
                let mode = if self.shared.is_block_device {
                    ZERO_RANGE | KEEP_SIZE
                } else {
                    PUNCH_HOLE | KEEP_SIZE
                };
                self.source.allocate(&self.file, start, length, mode, token);
                Work::Clear { mode, sync: fua }
            }
            Op::Discard { .. } => {
                let mode = PUNCH_HOLE | KEEP_SIZE;
                self.source.allocate(&self.file, start, length, mode, token);
                Work::Clear { mode, sync: false }
            }
            Op::Flush => {
                self.source.sync_data(&self.file, token);
                Work::Flush
            }
        };
        self.running.put(key, Running { tag, start, length, work });
    }

    fn ended(&mut self, event: Event, done: &mut Vec<Completion>) {
        let token = event.token;
        if self.shared.whole_bytes.is_some() && matches!(event.outcome, Outcome::Written { .. }) {
            // What this look has found is there for all that find it counted off.
            self.shared.unseen_writes.fetch_sub(1, Ordering::Release);
        }
        let key = u32::try_from(token).expect("our own key");
        let mut running =
            self.running.take(key).expect("an operation belongs to a request under way");
        let next = self.next(event.outcome, &mut running);
        let (file, start) = (&self.file, running.start);
        match next {
            NextOperation::Read(rest) => {
                self.source.read(file, start + running.work.moved_bytes(), rest, token);
            }
            NextOperation::Write { rest, durable } => {
                self.start_write(start + running.work.moved_bytes(), rest, durable, token);
            }
            NextOperation::Clear(mode) => {
                self.source.allocate(file, start, running.length, mode, token);
            }
            NextOperation::Sync => self.source.sync_data(file, token),
            NextOperation::End(result) => {
                self.running.remove(key);
                let result = result.and_then(|()| self.shared.still_whole());
                done.push(Completion {
                    tag: running.tag,
                    buffer: running.work.into_buffer(result.is_ok()),
                    result,
                });
                return;
            }
        }
        self.running.put(key, running);
    }

    /// What follows the end of a request's operation.
    fn next(&self, outcome: Outcome, running: &mut Running) -> NextOperation {
        match (outcome, &running.work) {
            (Outcome::Read { buffer, result }, Work::Read(_)) => {
                self.after_read(running, buffer, result)
            }
            (Outcome::Written { buffer, result }, Work::Write { durable, .. }) => {
                self.after_write(running, buffer, result, *durable)
            }
            (Outcome::Done { result: Err(error) }, Work::Clear { mode, .. })
                if is_transient(&error) =>
            {
                NextOperation::Clear(*mode)
            }
            (Outcome::Done { result: Ok(()) }, Work::Clear { sync: true, .. }) => {
                running.work = Work::SyncAfterClear;
                NextOperation::Sync
            }
            (Outcome::Done { result }, Work::Clear { .. }) => NextOperation::End(
                result.map_err(|error| failed(&self.shared, messages::CLEARING, running, error)),
            ),
            (Outcome::Done { result }, Work::Flush | Work::SyncAfterClear) => match result {
                // Another channel's flush may have met the failure that this one should have met.
                Ok(()) => NextOperation::End(self.shared.still_durable()),
                Err(error) if is_transient(&error) => NextOperation::Sync,
                Err(error) => {
                    let what = format!("{}: flush", self.shared.path.display());
                    NextOperation::End(Err(self
                        .shared
                        .never_durable_again(Error::from_io(what, error))))
                }
            },
            (outcome, _) => {
                unreachable!("{outcome:?} ends no operation that was started for this request")
            }
        }
    }

    fn after_read(
        &self,
        running: &mut Running,
        buffer: BufMut,
        result: io::Result<u32>,
    ) -> NextOperation {
        let Work::Read(transfer) = &mut running.work else { unreachable!("a read has ended") };
        match result {
            Ok(0) => {
                transfer.abandon(buffer);
                NextOperation::End(Err(cut_short(&self.shared, running)))
            }
            Ok(count) => match transfer.advance(buffer, count as usize) {
                None => NextOperation::End(Ok(())),
                // Direct I/O goes on in whole blocks only; less than one means the end of the file.
                Some(rest)
                    if self
                        .shared
                        .alignment
                        .is_some_and(|alignment| !count.is_multiple_of(alignment.offset)) =>
                {
                    transfer.abandon(rest);
                    NextOperation::End(Err(cut_short(&self.shared, running)))
                }
                Some(rest) => NextOperation::Read(rest),
            },
            Err(error) if is_transient(&error) => NextOperation::Read(buffer),
            Err(error) => {
                transfer.abandon(buffer);
                NextOperation::End(Err(failed(&self.shared, messages::READ, running, error)))
            }
        }
    }

    fn after_write(
        &self,
        running: &mut Running,
        buffer: Buf,
        result: io::Result<u32>,
        durable: bool,
    ) -> NextOperation {
        let Work::Write { transfer, .. } = &mut running.work else {
            unreachable!("a write has ended")
        };
        let rest = match result {
            Ok(0) => {
                transfer.abandon(buffer);
                Err(io::Error::from(io::ErrorKind::WriteZero))
            }
            Ok(count) => Ok(transfer.advance(buffer, count as usize)),
            Err(error) if is_transient(&error) => Ok(Some(buffer)),
            Err(error) => {
                transfer.abandon(buffer);
                Err(error)
            }
        };
        match rest {
            Ok(None) => NextOperation::End(Ok(())),
            Ok(Some(rest)) => NextOperation::Write { rest, durable },
            // Part of a durable write is a sync, which may have taken the only report of other
            // writes' loss.
            Err(error) if durable => {
                let error = failed(&self.shared, messages::DURABLE_WRITE, running, error);
                NextOperation::End(Err(self.shared.never_durable_again(error)))
            }
            Err(error) => {
                NextOperation::End(Err(failed(&self.shared, messages::WRITE, running, error)))
            }
        }
    }
}

impl Channel for FileChannel {
    fn submit(&mut self, request: Request) {
        let shared = &self.shared;
        let allowed =
            shared.info.check(&request.op).map_err(|error| error.at(shared.path.display()));
        let allowed = allowed.and_then(|()| {
            shared.look_before(&request.op);
            shared.still_whole()
        });
        let allowed = match &request.op {
            Op::Flush | Op::Write { fua: true, .. } | Op::WriteZeroes { fua: true, .. } => {
                allowed.and_then(|()| shared.still_durable())
            }
            _ => allowed,
        };
        if let Err(error) = allowed {
            self.answered.push(request.complete(Err(error)));
        } else if shared.info.read_only && matches!(request.op, Op::Flush) {
            self.answered.push(request.complete(Ok(())));
        } else {
            self.start(request.tag, request.op);
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.answered);
        // All that has ended so far is seen by one look.
        let mut is_seen = self.shared.whole_bytes.is_none();
        while let Some(event) = self.source.take() {
            if !is_seen && self.shared.unseen_writes.load(Ordering::Acquire) > 0 {
                self.shared.look();
                is_seen = true;
            }
            self.ended(event, done);
        }
    }

    fn in_flight(&self) -> u32 {
        u32::try_from(self.running.len() + self.answered.len()).unwrap_or(u32::MAX)
    }

    fn signal(&self) -> Option<Signal> {
        Some(self.source.signal())
    }
}

impl Shared {
    /// A write that ends where the file does makes one that was cut short as long as it was, so
    /// that no look behind it tells.
    fn look_before(&self, op: &Op) {
        if let Op::Write { offset, from, .. } = op
            && offset + from.len() as u64 == self.info.size_bytes
        {
            self.look();
        }
    }

    /// Looks whether the file is as long as it was; one that is not never counts as whole again.
    fn look(&self) {
        let Some(whole_bytes) = self.whole_bytes else { return };
        // No server of a network's file system is waited for. A file of which nothing can be told
        // fails by itself.
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        match rustix::fs::statx(&self.descriptor, "", flags, StatxFlags::SIZE) {
            Ok(stat) if stat.stx_size < whole_bytes => {
                let _ = self.cut_short.set(stat.stx_size);
            }
            _ => (),
        }
    }

    fn still_whole(&self) -> Result<(), Error> {
        match self.cut_short.get() {
            None => Ok(()),
            Some(now) => {
                let text = statement!(
                    messages::SEEN_CUT_SHORT,
                    path = self.path.display(),
                    now = size_text(*now),
                    end = size_text(self.offset_bytes + self.info.size_bytes)
                );
                Err(Error::new(ErrorKind::Gone, text))
            }
        }
    }

    /// Remembers that something completed may be lost, for every later flush.
    fn never_durable_again(&self, error: Error) -> Error {
        // Of several failures the first is the one to tell.
        let _ = self.flush_failed.set(error.repeat());
        error
    }

    fn still_durable(&self) -> Result<(), Error> {
        match self.flush_failed.get() {
            None => Ok(()),
            Some(first) => {
                let text = statement!(
                    messages::FLUSH_FAILED_OPEN_AGAIN,
                    path = self.path.display(),
                    first = first
                );
                Err(first.repeat().retold(text))
            }
        }
    }
}

impl Work {
    /// How much of a read or a write is done.
    fn moved_bytes(&self) -> u64 {
        match self {
            Work::Read(transfer) => transfer.moved_bytes(),
            Work::Write { transfer, .. } => transfer.moved_bytes(),
            Work::Clear { .. } | Work::SyncAfterClear | Work::Flush => 0,
        }
    }

    fn into_buffer(self, read_well: bool) -> ReturnedBuffer {
        match self {
            Work::Read(Transfer { moved: Some(moved), owners, .. }) => {
                ReturnedBuffer::Read(match owners {
                    None => moved,
                    Some(mut owners) => {
                        if read_well {
                            copy(&moved, &mut owners);
                        }
                        owners
                    }
                })
            }
            Work::Write { transfer: Transfer { moved: Some(moved), owners, .. }, .. } => {
                ReturnedBuffer::Written(owners.unwrap_or(moved))
            }
            Work::Read(_) | Work::Write { .. } => {
                unreachable!("the end of a transfer hands its buffer back")
            }
            Work::Clear { .. } | Work::SyncAfterClear | Work::Flush => ReturnedBuffer::Nothing,
        }
    }
}

fn aligned_copy(from: &Buf) -> Buf {
    let mut copy = BufMut::zeroed(from.len());
    from.copy_to_slice(copy.as_mut_slice().expect("a new buffer is one piece"));
    copy.freeze()
}

fn copy(from: &BufMut, to: &mut BufMut) {
    let mut rest = from.as_slice().expect("a stand-in is one piece");
    for slice in to.slices_mut() {
        let (now, later) = rest.split_at(slice.len());
        slice.copy_from_slice(now);
        rest = later;
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::INTR | Errno::AGAIN))
}

fn failed(shared: &Shared, what: Message, running: &Running, error: io::Error) -> Error {
    Error::from_io(
        statement!(
            messages::PART_OF_FILE,
            path = shared.path.display(),
            what = what,
            length = running.length,
            start = running.start
        ),
        error,
    )
}

/// The file ends where the device does not.
fn cut_short(shared: &Shared, running: &Running) -> Error {
    let now = rustix::fs::fstat(&shared.descriptor).map_or_else(
        |error| block::io_text(&error.into()),
        |stat| statement!(messages::NOW_BYTES, bytes = stat.st_size),
    );
    let (name, end) = (shared.path.display(), shared.offset_bytes + shared.info.size_bytes);
    let text = statement!(
        messages::CUT_SHORT,
        name = name,
        length = running.length,
        start = running.start,
        now = now,
        end = end
    );
    // No place that cannot be read: what was cut off is gone, and a write behind it would make a
    // hole that reads as zeroes.
    Error::new(ErrorKind::Gone, text)
}
