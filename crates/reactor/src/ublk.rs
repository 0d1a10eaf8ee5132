//! What a server of a ublk device needs of the kernel beside I/O: commands to the driver, and the
//! table in which the driver describes requests.
//!
//! ```text
//!   /dev/ublk-control   make, start, stop a device    command()        entries of 128 bytes
//!   /dev/ublkcN         requests of the device        Source::ublk     entries of 64 bytes
//!                       their descriptions            UblkTable        mapped, read only
//! ```
//!
//! The formats are those of `<linux/ublk_cmd.h>`. What commands mean is their caller's business:
//! here are the addresses that go into them, and the `unsafe` that comes with those.
#![allow(unsafe_code)]

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use rustix::io::Errno;

/// Length of `struct ublksrv_ctrl_cmd` in bytes.
pub const COMMAND_BYTES: usize = 32;
/// Length of `struct ublksrv_io_cmd` in bytes.
pub(crate) const REQUEST_BYTES: usize = 16;
/// Length of `struct ublksrv_io_desc` in bytes.
const DESCRIPTION_BYTES: usize = 24;
/// Descriptions of one queue for which there is room in a device's file: each queue's begin there.
const QUEUE_DEPTH_MAX: usize = 4096;

/// A command to the driver about one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UblkCommand {
    /// Which command; as an ioctl where the driver knows them so.
    pub code: u32,
    /// Which device; `u32::MAX` for one that has no number yet.
    pub device: u32,
    /// A number that goes with it.
    pub data: u64,
    /// How much of the payload is the path of the device's file, as it stands before the rest.
    pub path_bytes: u16,
}

/// How long a command that was called off may take to end, before what it has is left to it.
const CALL_OFF_TIME: Duration = Duration::from_secs(1);

/// Carries out a command on `/dev/ublk-control` and waits for its end, for `limit` at most. The
/// payload goes with it, and has the driver's answer afterwards, where there is one.
///
/// # Errors
/// What the driver says; `InvalidInput` for a payload of more than 64 KiB; `TimedOut` where the
/// command has not ended in time. It is called off then, and one that does not end by that either
/// is carried out later or never: its memory is left to the kernel for good, some 10 KiB.
pub fn command(
    control: impl AsFd,
    command: UblkCommand,
    payload: &mut [u8],
    limit: Duration,
) -> io::Result<()> {
    let length = u16::try_from(payload.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut bytes = [0; 80];
    bytes[..4].copy_from_slice(&command.device.to_ne_bytes());
    // It is for no queue in particular.
    bytes[4..6].copy_from_slice(&u16::MAX.to_ne_bytes());
    bytes[6..8].copy_from_slice(&length.to_ne_bytes());
    bytes[16..24].copy_from_slice(&command.data.to_ne_bytes());
    bytes[24..26].copy_from_slice(&command.path_bytes.to_ne_bytes());
    let descriptor = types::Fd(control.as_fd().as_raw_fd());
    let mut sent = SentCommand::send(payload.to_vec(), |memory| {
        if length > 0 {
            bytes[8..16].copy_from_slice(&address(memory));
        }
        opcode::UringCmd80::new(descriptor, command.code).cmd(bytes).build()
    })?;
    match sent.result(limit).or_else(|| sent.called_off()) {
        None => Err(io::ErrorKind::TimedOut.into()),
        Some(errno @ ..0) => Err(io::Error::from_raw_os_error(-errno)),
        Some(_) => {
            payload.copy_from_slice(&sent.memory);
            Ok(())
        }
    }
}

type CommandRing = IoUring<squeue::Entry128, cqueue::Entry>;

/// What completions are told apart by.
const COMMAND: u64 = 0;
const CALL_OFF: u64 = 1;

/// A command that the kernel has. As long as it has not ended the kernel may write to its memory,
/// so that this and the ring outlive a caller that gives up waiting.
struct SentCommand {
    ring: ManuallyDrop<CommandRing>,
    memory: ManuallyDrop<Vec<u8>>,
    has_ended: bool,
}

impl SentCommand {
    /// Sends the command that `entry` makes for its memory.
    fn send(
        memory: Vec<u8>,
        entry: impl FnOnce(*mut u8) -> squeue::Entry128,
    ) -> io::Result<SentCommand> {
        let ring = IoUring::builder().build(2)?;
        let mut sent = SentCommand {
            ring: ManuallyDrop::new(ring),
            memory: ManuallyDrop::new(memory),
            has_ended: true,
        };
        let entry = entry(sent.memory.as_mut_ptr()).user_data(COMMAND);
        // SAFETY: the memory stays where it is and unused until the command has ended.
        unsafe { sent.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        while let Err(error) = sent.ring.submit() {
            if Errno::from_io_error(&error) != Some(Errno::INTR) {
                sent.has_ended = !sent.ring.submission().is_empty();
                return Err(error);
            }
        }
        sent.has_ended = false;
        Ok(sent)
    }

    /// What the kernel says of it, where it ends within this time.
    #[expect(clippy::disallowed_methods, reason = "the kernel is waited for, whatever time is")]
    fn result(&mut self, limit: Duration) -> Option<i32> {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            let timespec = types::Timespec::from(left);
            let arguments = types::SubmitArgs::new().timespec(&timespec);
            let entered = self.ring.submitter().submit_with_args(1, &arguments);
            let ended = self.ring.completion().find(|it| it.user_data() == COMMAND);
            if let Some(ended) = ended {
                self.has_ended = true;
                return Some(ended.result());
            }
            let goes_on = match &entered {
                Ok(_) => true,
                Err(error) => Errno::from_io_error(error) == Some(Errno::INTR),
            };
            if !goes_on || left.is_zero() {
                return None;
            }
        }
    }

    /// Calls it off. Its result where it had ended by itself; `None` where it has not, be it that
    /// it ends by this.
    fn called_off(&mut self) -> Option<i32> {
        let entry = opcode::AsyncCancel::new(COMMAND).build().user_data(CALL_OFF);
        // SAFETY: it has no memory.
        unsafe { self.ring.submission().push(&entry.into()) }.ok()?;
        let was_called_off = [Errno::CANCELED, Errno::INTR].map(|errno| -errno.raw_os_error());
        self.result(CALL_OFF_TIME).filter(|result| !was_called_off.contains(result))
    }
}

impl Drop for SentCommand {
    fn drop(&mut self) {
        if self.has_ended {
            // SAFETY: they are used no more, and this is where they end.
            unsafe {
                ManuallyDrop::drop(&mut self.ring);
                ManuallyDrop::drop(&mut self.memory);
            }
        }
    }
}

fn address(pointer: *mut u8) -> [u8; 8] {
    (pointer.expose_provenance() as u64).to_ne_bytes()
}

/// What is told to the driver of one request of a device: that there is room for one, or what came
/// of one and that there is room again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UblkAnswer {
    /// Which command; as an ioctl where the driver knows them so.
    pub code: u32,
    /// The queue.
    pub queue: u16,
    /// Which of its requests.
    pub tag: u16,
    /// Bytes that were read or written, or an error as `-errno`.
    pub result: i32,
}

impl UblkAnswer {
    /// `struct ublksrv_io_cmd`, with the memory at `pointer`.
    pub(crate) fn bytes(self, pointer: *mut u8) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..2].copy_from_slice(&self.queue.to_ne_bytes());
        bytes[2..4].copy_from_slice(&self.tag.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.result.to_ne_bytes());
        bytes[8..].copy_from_slice(&address(pointer));
        bytes
    }
}

/// What the driver asks for: `struct ublksrv_io_desc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UblkRequest {
    /// What to do in the lowest eight bits, flags above.
    pub op_flags: u32,
    /// How much, in sectors of 512 bytes.
    pub sectors: u32,
    /// Where, in sectors of 512 bytes.
    pub start_sector: u64,
}

/// The descriptions of the requests of one queue, which the driver writes.
#[derive(Debug)]
pub struct UblkTable {
    start: NonNull<u8>,
    length: usize,
    depth: u16,
}

impl UblkTable {
    /// The table of a queue of so many requests, of a device's file `/dev/ublkcN`.
    ///
    /// # Errors
    /// What the system says.
    pub fn map(device: impl AsFd, queue: u16, depth: u16) -> io::Result<UblkTable> {
        let page = rustix::param::page_size();
        let of_a_queue = (QUEUE_DEPTH_MAX * DESCRIPTION_BYTES).next_multiple_of(page);
        let length = (usize::from(depth) * DESCRIPTION_BYTES).max(1).next_multiple_of(page);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                rustix::mm::ProtFlags::READ,
                rustix::mm::MapFlags::SHARED,
                device,
                usize::from(queue) as u64 * of_a_queue as u64,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(UblkTable { start, length, depth })
    }

    /// The request of this tag. The driver leaves it as it is from the end of the command that
    /// brought it on until it is answered.
    ///
    /// # Panics
    /// For a tag that the queue does not have.
    #[must_use]
    pub fn request(&self, tag: u16) -> UblkRequest {
        assert!(tag < self.depth, "request {tag} of a queue of {}", self.depth);
        let at = usize::from(tag) * DESCRIPTION_BYTES;
        // SAFETY: within the mapping, which lives as long as this, and aligned: descriptions are
        // 24 bytes from a page's start on. Another writes there, so nothing is borrowed.
        unsafe {
            let at = self.start.as_ptr().add(at);
            UblkRequest {
                op_flags: at.cast::<u32>().read_volatile(),
                sectors: at.add(4).cast::<u32>().read_volatile(),
                start_sector: at.add(8).cast::<u64>().read_volatile(),
            }
        }
    }
}

impl Drop for UblkTable {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and nothing of it is borrowed.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn descriptions_are_read_where_the_driver_writes_them() {
        let mut file = tempfile::tempfile().unwrap();
        let mut bytes = vec![0; 98_304 + 8192];
        let at = 98_304 + 2 * DESCRIPTION_BYTES;
        bytes[at..at + 4].copy_from_slice(&0x2001_u32.to_ne_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&8_u32.to_ne_bytes());
        bytes[at + 8..at + 16].copy_from_slice(&77_u64.to_ne_bytes());
        file.write_all(&bytes).unwrap();
        let table = UblkTable::map(&file, 1, 3).unwrap();
        let expected = UblkRequest { op_flags: 0x2001, sectors: 8, start_sector: 77 };
        if rustix::param::page_size() == 4096 {
            assert_eq!(table.request(2), expected);
        }
        assert_eq!(table.request(0).sectors, 0);
        assert!(std::panic::catch_unwind(|| table.request(3)).is_err());
    }

    #[test]
    fn an_answer_lies_as_the_driver_reads_it() {
        let answer = UblkAnswer { code: 0, queue: 1, tag: 2, result: -5 };
        let bytes = answer.bytes(std::ptr::null_mut());
        assert_eq!(bytes[..2], 1_u16.to_ne_bytes());
        assert_eq!(bytes[2..4], 2_u16.to_ne_bytes());
        assert_eq!(bytes[4..8], (-5_i32).to_ne_bytes());
        assert_eq!(bytes[8..], [0; 8]);
    }

    /// A file that takes no commands says so, and the call comes back.
    #[test]
    fn what_takes_no_commands_refuses_them() {
        let file = OwnedFd::from(tempfile::tempfile().unwrap());
        let wanted = UblkCommand { code: 4, device: u32::MAX, ..UblkCommand::default() };
        let limit = Duration::from_secs(60);
        let error = command(&file, wanted, &mut [0; 64], limit).unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
        let error = command(&file, wanted, &mut vec![0; 1 << 16], limit).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    /// A read of a pipe in which nothing is: the kernel has the memory and does not answer.
    fn unanswered(pipe: &io::PipeReader) -> SentCommand {
        let descriptor = types::Fd(pipe.as_raw_fd());
        SentCommand::send(vec![0; 8], |memory| {
            opcode::Read::new(descriptor, memory, 8).build().into()
        })
        .unwrap()
    }

    #[test]
    fn a_command_that_is_not_answered_is_called_off() {
        let (ours, mut theirs) = io::pipe().unwrap();
        let mut sent = unanswered(&ours);
        assert_eq!(sent.result(Duration::from_millis(1)), None);
        assert!(!sent.has_ended);
        assert_eq!(sent.called_off(), None);
        assert!(sent.has_ended, "the kernel has given its memory back");
        drop(sent);
        // What has ended meanwhile is as good as ever.
        let mut sent = unanswered(&ours);
        assert_eq!(sent.result(Duration::ZERO), None);
        theirs.write_all(b"answered").unwrap();
        assert_eq!(sent.result(Duration::from_secs(60)), Some(8));
        assert_eq!(&sent.memory[..], b"answered");
    }

    /// What the kernel does not give back stays its own: a later answer goes where it was to go.
    #[test]
    fn memory_of_a_command_that_is_given_up_is_kept() {
        let (ours, mut theirs) = io::pipe().unwrap();
        let mut sent = unanswered(&ours);
        assert_eq!(sent.result(Duration::ZERO), None);
        let memory = sent.memory.as_mut_ptr();
        drop(sent);
        theirs.write_all(b"answered").unwrap();
        let mut others: Vec<Vec<u8>> = Vec::new();
        // SAFETY: it is not freed, which is what is tested.
        while unsafe { memory.cast::<[u8; 8]>().read_volatile() } != *b"answered" {
            std::thread::yield_now();
            others.push(vec![1; 8]);
            others.truncate(1000);
        }
        assert!(others.iter().all(|other| other[..] == [1; 8]));
    }
}
