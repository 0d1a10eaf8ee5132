//! Kernel I/O through one io_uring.
//!
//! Every operation owns what the kernel uses (buffer, file, vector of addresses) in a slot of this
//! module until its completion is reaped, so dropping a channel, or the reactor, with operations
//! under way frees nothing too early. All of the `unsafe` that io_uring needs is in this file.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use io_uring::{IoUring, opcode, squeue, types};
use rustix::io::Errno;

use crate::buffer::{Buf, BufMut, RawSpan, Registration};
use crate::ublk::{REQUEST_BYTES, UblkAnswer};
use crate::{Event, Mailbox, Outcome};

const ENTRIES: u32 = 256;
/// Completions the kernel keeps for us before it has to allocate.
const COMPLETION_ENTRIES: u32 = 4096;
/// Handed over without waiting for more, so that the device starts on these while the owner
/// prepares the rest. Measured at depth 32 on a virtio disk: 4 to 16 are alike for reads, and
/// writes like the fewer; one by one costs a tenth more CPU, all at once a tenth of the throughput.
const BATCH: u32 = 4;
const FILE_SLOTS: u32 = 256;
const BUFFER_SLOTS: u16 = 1024;
/// Pieces of memory that the kernel takes in one operation (UIO_MAXIOV of <linux/uio.h>).
pub(crate) const PIECES_MAX: usize = 1024;
/// Durable when it completes, without a flush of its own (RWF_DSYNC of <linux/fs.h>).
const RWF_DSYNC: i32 = 0x2;

/// What a submission asks of the kernel.
pub(crate) enum Operation {
    Read {
        offset: u64,
        into: BufMut,
    },
    Write {
        offset: u64,
        from: Buf,
        durable: bool,
    },
    SyncData,
    Allocate {
        offset: u64,
        length: u64,
        mode: i32,
    },
    /// From a socket; with `all`, the kernel goes on until the buffer is full or the stream ends.
    Receive {
        into: BufMut,
        all: bool,
    },
    /// To a socket.
    Send {
        from: Buf,
    },
    /// Eight bytes from an eventfd: the bell of [`crate::Ringer`].
    Bell {
        into: BufMut,
    },
    /// Until something can be read from it.
    Readable,
    /// Until something can be written to it.
    Writable,
    /// A request of a ublk device, whose data go into the buffer or were read from it.
    Ublk {
        answer: UblkAnswer,
        into: BufMut,
    },
}

enum RingBuffer {
    Read(BufMut),
    Write(Buf),
    Nothing,
}

struct InFlight {
    held: RingBuffer,
    mailbox: Option<Rc<Mailbox>>,
    token: u64,
    _file: RingFile,
    // Boxes stay where they are while the table of slots grows.
    _vectors: Box<[Vector]>,
    _message: Option<Message>,
}

impl InFlight {
    fn ended(self, result: io::Result<u32>) -> Event {
        let outcome = match self.held {
            RingBuffer::Read(buffer) => Outcome::Read { buffer, result },
            RingBuffer::Write(buffer) => Outcome::Written { buffer, result },
            RingBuffer::Nothing => Outcome::Done { result: result.map(drop) },
        };
        Event { token: self.token, outcome }
    }
}

/// `struct iovec`: address and length, as readv and writev take them.
#[repr(C)]
struct Vector {
    pointer: *mut u8,
    length: usize,
}

/// `struct msghdr` around a list of vectors, as sendmsg and recvmsg take them.
struct Message(Box<libc::msghdr>);

impl Message {
    fn over(vectors: &[Vector]) -> Message {
        // SAFETY: a msghdr of zeroes is a message without an address, data or control information.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = vectors.as_ptr().cast_mut().cast();
        header.msg_iovlen = vectors.len() as _;
        Message(Box::new(header))
    }
}

/// A file that a ring knows; cheaper to use than a descriptor. It stays open until the last handle
/// and the last operation on it are gone and the reactor has waited, turned or registered something
/// once more.
#[derive(Clone)]
pub struct RingFile(Rc<FileEntry>);

struct FileEntry {
    descriptor: Arc<OwnedFd>,
    ring: u64,
    /// Place in the ring's table, and the list it goes to when this is dropped.
    fixed: Option<(u32, Rc<RefCell<Vec<u32>>>)>,
}

impl Drop for FileEntry {
    fn drop(&mut self) {
        // Operations hold their file's entry, so no queued one can meet the table's next tenant.
        if let Some((slot, retired)) = &self.fixed {
            retired.borrow_mut().push(*slot);
        }
    }
}

pub(crate) struct Ring {
    // Before `slots`: a ring that is gone uses no memory of theirs.
    uring: IoUring,
    door: Door,
    at_once: AtOnce,
    identity: u64,
    slots: Vec<Option<InFlight>>,
    free: Vec<u32>,
    queued: u32,
    in_flight: u32,
    free_files: Vec<u32>,
    /// Places whose file is not used any more, but which the kernel still keeps open.
    retired_files: Rc<RefCell<Vec<u32>>>,
    free_buffers: Vec<u16>,
    /// Places whose buffer is freed, but whose pages the kernel still keeps; filled from any
    /// thread.
    retired_buffers: Arc<Mutex<Vec<u16>>>,
}

impl Ring {
    pub(crate) fn new() -> io::Result<Ring> {
        static IDENTITIES: AtomicU64 = AtomicU64::new(0);
        let uring = IoUring::builder()
            .setup_cqsize(COMPLETION_ENTRIES)
            .setup_single_issuer()
            .setup_defer_taskrun()
            // Without this only a sleeper would learn of deferred completions.
            .setup_taskrun_flag()
            .build(ENTRIES)
            // Kernels before 6.1 do not know these flags.
            .or_else(|_| IoUring::builder().setup_cqsize(COMPLETION_ENTRIES).build(ENTRIES))?;
        let door = Door::of(&uring);
        // Both tables only save time; a kernel or a memory limit that refuses them costs nothing
        // else.
        let file_slots = if uring.submitter().register_files_sparse(FILE_SLOTS).is_ok() {
            FILE_SLOTS
        } else {
            0
        };
        let buffer_slots =
            if uring.submitter().register_buffers_sparse(u32::from(BUFFER_SLOTS)).is_ok() {
                BUFFER_SLOTS
            } else {
                0
            };
        Ok(Ring {
            uring,
            door,
            at_once: AtOnce::default(),
            identity: IDENTITIES.fetch_add(1, Ordering::Relaxed),
            slots: Vec::new(),
            free: Vec::new(),
            queued: 0,
            in_flight: 0,
            free_files: (0..file_slots).rev().collect(),
            retired_files: Rc::default(),
            free_buffers: (0..buffer_slots).rev().collect(),
            retired_buffers: Arc::default(),
        })
    }

    pub(crate) fn register_file(&mut self, descriptor: Arc<OwnedFd>) -> RingFile {
        self.close_retired_files();
        let fixed = self.free_files.pop().and_then(|slot| {
            if self.uring.submitter().register_files_update(slot, &[descriptor.as_raw_fd()]).is_ok()
            {
                Some((slot, Rc::clone(&self.retired_files)))
            } else {
                self.free_files.push(slot);
                None
            }
        });
        RingFile(Rc::new(FileEntry { descriptor, ring: self.identity, fixed }))
    }

    /// Lets the kernel close what is not used any more; otherwise a lock on such a file, or its
    /// space, would stay taken.
    fn close_retired_files(&mut self) {
        for slot in self.retired_files.borrow_mut().drain(..) {
            // A place that cannot be emptied is not used again.
            if self.uring.submitter().register_files_update(slot, &[-1]).is_ok() {
                self.free_files.push(slot);
            }
        }
    }

    pub(crate) fn allocate(&mut self, length: usize) -> BufMut {
        self.unpin_retired_buffers();
        BufMut::registered(length, |pointer, length| {
            let index = self.free_buffers.pop()?;
            let registration = Registration {
                ring: self.identity,
                index,
                retired: Arc::downgrade(&self.retired_buffers),
            };
            let vector = [libc_iovec(pointer, length)];
            // SAFETY: the bytes live as long as the allocation that holds the registration. An
            // entry that outlives it pins the pages it was made of and is never used again before
            // it is replaced.
            let done = unsafe {
                self.uring.submitter().register_buffers_update(u32::from(index), &vector, None)
            };
            done.is_ok().then_some(registration)
        })
    }

    /// Gives back the pages of freed buffers, which count against the limit on locked memory.
    fn unpin_retired_buffers(&mut self) {
        let Ok(mut retired) = self.retired_buffers.lock() else { return };
        for index in retired.drain(..) {
            let nothing = [libc_iovec(std::ptr::null_mut(), 0)];
            // SAFETY: an entry without memory; no operation uses the old one, for each holds the
            // allocation it works on.
            let done = unsafe {
                self.uring.submitter().register_buffers_update(u32::from(index), &nothing, None)
            };
            if done.is_ok() {
                self.free_buffers.push(index);
            }
        }
    }

    /// Queues an operation; one that the ring cannot take ends at once with the error as its
    /// result.
    #[expect(
        clippy::too_many_lines,
        reason = "an arm for each operation, beside the unsafe code that takes what they make"
    )]
    pub(crate) fn push(
        &mut self,
        file: &RingFile,
        operation: Operation,
        mailbox: Option<Rc<Mailbox>>,
        token: u64,
    ) -> Result<(), Event> {
        assert_eq!(
            file.0.ring, self.identity,
            "a file is used on the reactor it was registered on"
        );
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 operations")
        });
        let identity = self.identity;
        let mut vectors: Box<[Vector]> = Box::default();
        let mut message = None;
        // Fixed files and plain descriptors are different types to the crate.
        macro_rules! on_file {
            ($make:expr) => {
                match &file.0.fixed {
                    Some((slot, _)) => $make(types::Fixed(*slot).into()),
                    None => $make(types::Fd(file.0.descriptor.as_raw_fd()).into()),
                }
            };
        }
        let (entry, held): (squeue::Entry, RingBuffer) = match operation {
            Operation::Read { offset, into } => {
                let entry = match Shape::of(into.raw_spans(), identity) {
                    Shape::Registered(pointer, length, index) => {
                        on_file!(|f: Target| f.read_fixed(pointer, length, index, offset))
                    }
                    Shape::Plain(pointer, length) => {
                        on_file!(|f: Target| f.read(pointer, length, offset))
                    }
                    Shape::Vector(list) => {
                        vectors = list;
                        on_file!(|f: Target| f.readv(&vectors, offset))
                    }
                };
                (entry, RingBuffer::Read(into))
            }
            Operation::Write { offset, from, durable } => {
                let flags = if durable { RWF_DSYNC } else { 0 };
                let entry = match Shape::of(from.raw_spans(), identity) {
                    Shape::Registered(pointer, length, index) => {
                        on_file!(|f: Target| f.write_fixed(pointer, length, index, offset, flags))
                    }
                    Shape::Plain(pointer, length) => {
                        on_file!(|f: Target| f.write(pointer, length, offset, flags))
                    }
                    Shape::Vector(list) => {
                        vectors = list;
                        on_file!(|f: Target| f.writev(&vectors, offset, flags))
                    }
                };
                (entry, RingBuffer::Write(from))
            }
            Operation::SyncData => (on_file!(|f: Target| f.sync_data()), RingBuffer::Nothing),
            Operation::Allocate { offset, length, mode } => {
                (on_file!(|f: Target| f.allocate(offset, length, mode)), RingBuffer::Nothing)
            }
            Operation::Receive { into, all } => {
                let flags = if all { libc::MSG_WAITALL } else { 0 };
                let entry = match Shape::of(into.raw_spans(), identity) {
                    Shape::Registered(pointer, length, _) | Shape::Plain(pointer, length) => {
                        on_file!(|f: Target| f.receive(pointer, length, flags))
                    }
                    Shape::Vector(list) => {
                        vectors = list;
                        let header = message.insert(Message::over(&vectors));
                        on_file!(|f: Target| f.receive_message(&mut header.0, flags))
                    }
                };
                (entry, RingBuffer::Read(into))
            }
            Operation::Send { from } => {
                // A peer that is gone is an error to its owner, not a signal to the process. Short
                // sends are gone on with.
                let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
                let entry = match Shape::of(from.raw_spans(), identity) {
                    Shape::Registered(pointer, length, _) | Shape::Plain(pointer, length) => {
                        on_file!(|f: Target| f.send(pointer, length, flags))
                    }
                    Shape::Vector(list) => {
                        vectors = list;
                        let header = message.insert(Message::over(&vectors));
                        on_file!(|f: Target| f.send_message(&header.0, flags))
                    }
                };
                (entry, RingBuffer::Write(from))
            }
            Operation::Bell { into } => {
                let span = into.raw_spans().next().expect("a buffer has a span");
                (on_file!(|f: Target| f.read(span.pointer, 8, 0)), RingBuffer::Read(into))
            }
            Operation::Readable => {
                (on_file!(|f: Target| f.polled(libc::POLLIN)), RingBuffer::Nothing)
            }
            Operation::Writable => {
                (on_file!(|f: Target| f.polled(libc::POLLOUT)), RingBuffer::Nothing)
            }
            Operation::Ublk { answer, into } => {
                let mut spans = into.raw_spans();
                let span = spans.next().expect("a buffer has a span");
                assert!(spans.next().is_none(), "the driver takes one address");
                drop(spans);
                let bytes = answer.bytes(span.pointer);
                (on_file!(|f: Target| f.driver_command(answer.code, bytes)), RingBuffer::Read(into))
            }
        };
        let entry = entry.user_data(u64::from(slot));
        let in_flight = InFlight {
            held,
            mailbox,
            token,
            _file: file.clone(),
            _vectors: vectors,
            _message: message,
        };
        self.slots[slot as usize] = Some(in_flight);
        let room = if self.queued >= BATCH { self.enter(0, None).map(drop) } else { Ok(()) };
        // SAFETY: everything the entry points to is held in the slot until its completion is
        // reaped.
        let pushed = room.and_then(|()| {
            unsafe { self.uring.submission().push(&entry) }.map_err(io::Error::other)
        });
        if let Err(error) = pushed {
            // The entry never reached the kernel, so the slot may go.
            let lost = self.slots[slot as usize].take().expect("filled above");
            self.free.push(slot);
            return Err(lost.ended(Err(error)));
        }
        self.queued += 1;
        self.in_flight += 1;
        Ok(())
    }

    /// Whether submissions wait for the next [`Ring::enter`].
    pub(crate) fn has_queued(&self) -> bool {
        self.queued > 0
    }

    /// Whether the kernel keeps completions that only an [`Ring::enter`] brings out: deferred ones,
    /// or more than its queue holds.
    pub(crate) fn has_hidden(&mut self) -> bool {
        let queue = self.uring.submission();
        queue.taskrun() || queue.cq_overflow()
    }

    /// Hands what is queued to the kernel and waits for `want` completions, at most for `timeout`.
    /// Returns false when the time ran out or a signal came first.
    pub(crate) fn enter(&mut self, want: usize, timeout: Option<Duration>) -> io::Result<bool> {
        self.close_retired_files();
        if want > 0 && self.queued > 0 && self.at_once.is_likely() {
            let result = self.call(0, None);
            let is_there = result.is_ok() && !self.uring.completion().is_empty();
            self.at_once.was(is_there);
            if is_there {
                return Ok(true);
            }
        }
        let result = self.call(want, timeout);
        match result {
            // A call that has submitted something reports that, and not what ended its sleep.
            Ok(_) => Ok(want == 0 || self.queued > 0 || !self.uring.completion().is_empty()),
            Err(error) if is_one_of(&error, &[Errno::TIME, Errno::INTR]) => Ok(false),
            // Completions are waiting to be reaped first; the caller reaps and comes again.
            Err(error) if is_one_of(&error, &[Errno::AGAIN, Errno::BUSY]) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The call itself.
    fn call(&mut self, want: usize, timeout: Option<Duration>) -> io::Result<usize> {
        let result = match timeout {
            Some(timeout) if want > 0 => {
                let timespec = types::Timespec::from(timeout);
                let arguments = types::SubmitArgs::new().timespec(&timespec);
                self.uring.submitter().submit_with_args(want, &arguments)
            }
            _ => self.door.enter(&mut self.uring, want),
        };
        // What the kernel has not consumed stays in the queue, whatever the call returned.
        self.queued =
            u32::try_from(self.uring.submission().len()).expect("a queue of at most 2^15");
        result
    }

    /// Takes finished operations; each becomes an event for `deliver`, or, without a mailbox, a
    /// ring of the bell.
    pub(crate) fn reap(&mut self, mut deliver: impl FnMut(Option<Rc<Mailbox>>, Event)) {
        let mut completions = self.uring.completion();
        completions.sync();
        for completion in &mut completions {
            let slot = u32::try_from(completion.user_data()).expect("our own slot number");
            let Some(done) = self.slots[slot as usize].take() else { continue };
            self.free.push(slot);
            self.in_flight -= 1;
            let result = match completion.result() {
                count @ 0.. => Ok(count.unsigned_abs()),
                errno => Err(io::Error::from_raw_os_error(-errno)),
            };
            let mailbox = done.mailbox.clone();
            deliver(mailbox, done.ended(result));
        }
    }
}

/// How the kernel is told which ring is meant: by its place in the table of the thread that uses
/// it, which saves the search for its descriptor at every call, where the kernel has such a table
/// (Linux 5.18).
enum Door {
    Place(u32),
    Descriptor,
}

impl Door {
    fn of(uring: &IoUring) -> Door {
        /// Any place that is free.
        const ANY: u32 = u32::MAX;
        let descriptor = u64::try_from(uring.as_raw_fd()).expect("no descriptor is negative");
        let mut update = RingUpdate { offset: ANY, reserved: 0, data: descriptor };
        if update.tell(uring, REGISTER_RING_FDS) {
            Door::Place(update.offset)
        } else {
            Door::Descriptor
        }
    }

    /// Gives the place back, which would keep the ring open as long as the thread lives.
    fn close(&mut self, uring: &IoUring) {
        if let Door::Place(offset) = std::mem::replace(self, Door::Descriptor) {
            RingUpdate { offset, reserved: 0, data: 0 }.tell(uring, UNREGISTER_RING_FDS);
        }
    }

    /// Hands over what is queued and waits for `want` completions.
    fn enter(&self, uring: &mut IoUring, want: usize) -> io::Result<usize> {
        let Door::Place(place) = self else { return uring.submitter().submit_and_wait(want) };
        let queue = uring.submission();
        let mut flags = ENTER_REGISTERED_RING;
        if want > 0 || queue.taskrun() || queue.cq_overflow() {
            flags |= ENTER_GETEVENTS;
        }
        let queued = queue.len();
        drop(queue);
        // SAFETY: the entries own what they point to, as `Ring::push` has it, and no argument is
        // memory.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                *place,
                queued,
                want,
                flags,
                std::ptr::null::<libc::sigset_t>(),
                0,
            )
        };
        usize::try_from(taken).map_err(|_| io::Error::last_os_error())
    }
}

/// `struct io_uring_rsrc_update` of <linux/io_uring.h>.
#[repr(C)]
struct RingUpdate {
    offset: u32,
    reserved: u32,
    data: u64,
}

impl RingUpdate {
    /// Whether the kernel has done that with one of them.
    fn tell(&mut self, uring: &IoUring, what: u32) -> bool {
        let ring = uring.as_raw_fd();
        // SAFETY: the kernel reads and writes this structure, which outlives the call.
        let done =
            unsafe { libc::syscall(libc::SYS_io_uring_register, ring, what, &raw mut *self, 1) };
        done == 1
    }
}

/// Of <linux/io_uring.h>.
const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;
const ENTER_GETEVENTS: u32 = 1;
const ENTER_REGISTERED_RING: u32 = 1 << 4;

/// Whether what is handed over is there when the call returns, as it is from memory: then nothing
/// has to be set up for a wait.
#[derive(Default)]
struct AtOnce {
    was_there: bool,
    waits: u8,
}

impl AtOnce {
    /// Each so many waits it is looked whether that has changed.
    const WAITS: u8 = 64;

    fn is_likely(&mut self) -> bool {
        self.waits = (self.waits + 1) % Self::WAITS;
        self.was_there || self.waits == 0
    }

    fn was(&mut self, there: bool) {
        self.was_there = there;
    }
}

/// How long the kernel may take to take requests back, each time, and how often it is asked without
/// a request coming back.
const CANCEL_TIME: Duration = Duration::from_millis(100);
const CANCEL_ATTEMPTS: u32 = 25;

fn is_one_of(error: &io::Error, known: &[Errno]) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| known.contains(&errno))
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The kernel may still write into buffers that the slots hold: ask it to stop, then wait
        // until it has. What is still queued cannot be taken back, so it goes to the kernel first;
        // a signal may end any of the calls early.
        let mut fruitless = 0;
        while self.in_flight > 0 {
            let before = self.in_flight;
            let entered = if self.queued > 0 {
                self.enter(0, None)
            } else {
                let moment = types::Timespec::from(CANCEL_TIME);
                let _ = self
                    .uring
                    .submitter()
                    .register_sync_cancel(Some(moment), types::CancelBuilder::any());
                self.enter(1, Some(CANCEL_TIME))
            };
            self.reap(|_, _| ());
            fruitless = if self.in_flight < before { 0 } else { fruitless + 1 };
            if entered.is_err() || fruitless > CANCEL_ATTEMPTS {
                // A device that does not answer keeps what it was lent. Leaking is the one safe
                // answer left.
                std::mem::forget(std::mem::take(&mut self.slots));
                self.door.close(&self.uring);
                return;
            }
        }
        // The kernel takes a ring apart some time after it is closed, and until then its files
        // would be open and locked.
        let _ = self.uring.submitter().unregister_files();
        self.door.close(&self.uring);
    }
}

fn libc_iovec(pointer: *mut u8, length: usize) -> libc::iovec {
    libc::iovec { iov_base: pointer.cast(), iov_len: length }
}

/// How an operation's bytes are handed to the kernel.
enum Shape {
    Registered(*mut u8, u32, u16),
    Plain(*mut u8, u32),
    Vector(Box<[Vector]>),
}

impl Shape {
    fn of(mut spans: impl Iterator<Item = RawSpan>, ring: u64) -> Shape {
        let first = spans.next().expect("a buffer has a span");
        match (spans.next(), u32::try_from(first.length)) {
            (None, Ok(length)) => match first.registered {
                Some((owner, index)) if owner == ring => {
                    Shape::Registered(first.pointer, length, index)
                }
                _ => Shape::Plain(first.pointer, length),
            },
            (second, _) => Shape::Vector(
                std::iter::once(first)
                    .chain(second)
                    .chain(spans)
                    .take(PIECES_MAX)
                    .map(|span| Vector { pointer: span.pointer, length: span.length })
                    .collect(),
            ),
        }
    }
}

/// A file in the form that the crate's operations take.
enum Target {
    Fixed(types::Fixed),
    Descriptor(types::Fd),
}

impl From<types::Fixed> for Target {
    fn from(file: types::Fixed) -> Target {
        Target::Fixed(file)
    }
}

impl From<types::Fd> for Target {
    fn from(file: types::Fd) -> Target {
        Target::Descriptor(file)
    }
}

macro_rules! operation {
    ($self:ident, $file:ident => $make:expr) => {
        match $self {
            Target::Fixed($file) => $make.build(),
            Target::Descriptor($file) => $make.build(),
        }
    };
}

impl Target {
    fn read(self, pointer: *mut u8, length: u32, offset: u64) -> squeue::Entry {
        operation!(self, file => opcode::Read::new(file, pointer, length).offset(offset))
    }

    fn read_fixed(self, pointer: *mut u8, length: u32, index: u16, offset: u64) -> squeue::Entry {
        operation!(self, file => opcode::ReadFixed::new(file, pointer, length, index)
            .offset(offset))
    }

    fn readv(self, vectors: &[Vector], offset: u64) -> squeue::Entry {
        let count = u32::try_from(vectors.len()).expect("fewer than 2^32 pieces");
        operation!(self, file => opcode::Readv::new(file, vectors.as_ptr().cast(), count)
            .offset(offset))
    }

    fn write(self, pointer: *mut u8, length: u32, offset: u64, flags: i32) -> squeue::Entry {
        operation!(self, file => opcode::Write::new(file, pointer, length)
            .offset(offset).rw_flags(flags))
    }

    fn write_fixed(
        self,
        pointer: *mut u8,
        length: u32,
        index: u16,
        offset: u64,
        flags: i32,
    ) -> squeue::Entry {
        operation!(self, file => opcode::WriteFixed::new(file, pointer, length, index)
            .offset(offset).rw_flags(flags))
    }

    fn writev(self, vectors: &[Vector], offset: u64, flags: i32) -> squeue::Entry {
        let count = u32::try_from(vectors.len()).expect("fewer than 2^32 pieces");
        operation!(self, file => opcode::Writev::new(file, vectors.as_ptr().cast(), count)
            .offset(offset).rw_flags(flags))
    }

    fn sync_data(self) -> squeue::Entry {
        operation!(self, file => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC))
    }

    fn polled(self, events: libc::c_short) -> squeue::Entry {
        operation!(self, file => opcode::PollAdd::new(file, events as u32))
    }

    fn receive(self, pointer: *mut u8, length: u32, flags: i32) -> squeue::Entry {
        operation!(self, file => opcode::Recv::new(file, pointer, length).flags(flags))
    }

    fn receive_message(self, header: &mut libc::msghdr, flags: i32) -> squeue::Entry {
        operation!(self, file => opcode::RecvMsg::new(file, header).flags(flags as u32))
    }

    fn send(self, pointer: *const u8, length: u32, flags: i32) -> squeue::Entry {
        operation!(self, file => opcode::Send::new(file, pointer, length).flags(flags))
    }

    fn send_message(self, header: &libc::msghdr, flags: i32) -> squeue::Entry {
        operation!(self, file => opcode::SendMsg::new(file, header).flags(flags as u32))
    }

    fn driver_command(self, code: u32, bytes: [u8; REQUEST_BYTES]) -> squeue::Entry {
        operation!(self, file => opcode::UringCmd16::new(file, code).cmd(bytes))
    }

    fn allocate(self, offset: u64, length: u64, mode: i32) -> squeue::Entry {
        operation!(self, file => opcode::Fallocate::new(file, length).offset(offset).mode(mode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread's table has 16 places.
    #[test]
    fn a_ring_that_is_gone_has_given_its_place_back() {
        let has_place = |ring: &Ring| matches!(ring.door, Door::Place(_));
        let first = has_place(&Ring::new().unwrap());
        for _ in 0..40 {
            assert_eq!(has_place(&Ring::new().unwrap()), first);
        }
    }

    /// More rings than places: the others are told by their descriptors.
    #[test]
    fn a_thread_may_have_more_rings_than_places() {
        let mut rings: Vec<Ring> = (0..20).map(|_| Ring::new().unwrap()).collect();
        for ring in &mut rings {
            assert!(ring.enter(0, None).unwrap());
        }
        assert!(matches!(rings[19].door, Door::Descriptor));
    }
}
