//! The process that serves a stack to the kernel while a cell with a file system is measured.
//!
//! ```text
//!   raidloom run ── socket ── this process ── stack ── members (opened by the run's guard, handed over the socket)
//!        │                        └── FUSE file ── loop device ── file system ── folder
//!        └── suite, mkfs, mount, umount ─────────────────────────────────────────┘
//! ```
//!
//! It is a process of its own because a process that was killed while it waited for a device it
//! serves itself would wait for ever. It ends with its socket: when the run is killed, it unmounts
//! what was mounted and takes its devices away.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use block::{Blocking, ErrorKind, Traffic};
use export::RemovalPolicy;
use export::fuse::{FuseFile, FuseOptions};
use export::loop_device::LoopDevice;
use mdtools::NewArraySettings;
use reactor::Reactor;
use rustix::event::{PollFd, PollFlags};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::time::{ClockId, clock_gettime};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serve::{OpenOptions, Opened};
use stack::{OpenFiles, Stack};

use crate::stacks;

use host::guard::patiently;
use host::{Error, mount, system};

/// What is to be served. One file comes over the socket for each of `files`, after it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// Stack text, its files by their paths.
    pub(super) stack: String,
    pub(super) seed: u64,
    /// The array that is made first.
    pub(super) new_array: Option<NewArraySettings>,
    /// How long members of arrays may take for an answer; for ever without it.
    pub(super) member_time: Option<Duration>,
    /// Whether arrays and caches are kept up.
    pub(super) upkeep: bool,
    /// The paths that the stack names, in the order in which their files come.
    pub(super) files: Vec<PathBuf>,
    /// The placeholder that becomes the device.
    pub(super) disk: PathBuf,
    /// Where the run is going to mount it.
    pub(super) point: PathBuf,
    /// Removal policy.
    pub(super) policy: String,
}

/// What the run asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Question {
    /// How much was moved so far.
    Moved,
    /// Take the devices away.
    End,
}

/// What it is told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The loop device, and what the user should know.
    Ready { device: PathBuf, notes: Vec<String> },
    /// What each member moved, and the processor time of this process.
    Moved { members: Vec<Moved>, cpu: Duration },
    /// Everything is taken away.
    Ended,
    /// This machine cannot serve it to the kernel, in words.
    NotHere(String),
    /// Something broke, in words.
    Failed(String),
}

/// What a member moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Moved {
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
}

impl From<Traffic> for Moved {
    fn from(traffic: Traffic) -> Moved {
        Moved { read_bytes: traffic.read_bytes, written_bytes: traffic.written_bytes }
    }
}

/// How long a device may be busy after it was unmounted: a file system in user space lets go of it
/// a moment later.
const BUSY_ATTEMPTS: u32 = 100;

/// Serves one stack, as told over the socket that is this process's standard input, until it is
/// told to end or nobody is there to tell it. This is what `raidloom lab-serve` runs.
///
/// # Errors
/// When the socket carries something that no run says.
pub fn serve_cell() -> Result<(), Error> {
    let socket = io::stdin();
    let socket = socket.as_fd();
    let order: Order = receive(socket)
        .map_err(|error| Error::from_io("raidloom lab-serve: standard input", &error))?;
    let files = order
        .files
        .iter()
        .map(|path| receive_file(socket).map(|file| (path.clone(), file)))
        .collect::<io::Result<Vec<_>>>();
    let files =
        files.map_err(|error| Error::from_io("raidloom lab-serve: receiving files", &error))?;
    let mut serving = match Serving::start(&order, Handed(files)) {
        Ok(serving) => serving,
        Err(failure) => return answer(socket, &failure),
    };
    let ready = Answer::Ready {
        device: serving.device.path().to_owned(),
        notes: serving.stack.iter().flat_map(|stack| stack.notes.clone()).collect(),
    };
    answer(socket, &ready)?;
    loop {
        match receive(socket) {
            Ok(Question::Moved) => answer(socket, &serving.moved())?,
            Ok(Question::End) => {
                let ended = serving.end();
                return answer(
                    socket,
                    &ended
                        .map_or_else(|error| Answer::Failed(error.to_string()), |()| Answer::Ended),
                );
            }
            Err(_) => {
                // The run is gone. What is mounted answers only as long as this process lives.
                if system::mounts().iter().any(|mount| mount.point == order.point) {
                    let _ = mount::unmount_by_force(&order.point);
                }
                return serving.end();
            }
        }
    }
}

fn answer(socket: impl AsFd, answer: &Answer) -> Result<(), Error> {
    send(socket, answer)
        .map_err(|error| Error::from_io("raidloom lab-serve: standard input", &error))
}

/// The files that came over the socket, by path.
struct Handed(Vec<(PathBuf, File)>);

impl OpenFiles for Handed {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, block::Error> {
        let Some((_, file)) = self.0.iter().find(|(known, _)| known == path) else {
            return Err(block::Error::new(
                ErrorKind::Refused,
                format!("{}: it was not handed over", path.display()),
            ));
        };
        file.try_clone().map_err(|error| block::Error::from_io(path.display().to_string(), error))
    }
}

struct Serving {
    // In the order in which they are taken away.
    device: LoopDevice,
    file: FuseFile,
    /// Until it is ended.
    stack: Option<Opened>,
    _files: Handed,
}

impl Serving {
    fn start(order: &Order, files: Handed) -> Result<Serving, Answer> {
        let failed = |error: Error| Answer::Failed(error.to_string());
        let not_here = |error: block::Error| Answer::NotHere(error.to_string());
        let options = OpenOptions {
            files: &files,
            seed: order.seed,
            read_only: false,
            create_bytes: None,
            member_time: order.member_time,
            upkeep: order.upkeep,
            new_array: order.new_array.as_ref(),
            reactor: None,
        };
        let node = stacks::parse(&order.stack).map_err(failed)?;
        let stack = Opened::open(&node, &options).map_err(|error| failed(error.into()))?;
        wipe(&stack).map_err(failed)?;
        let policy: RemovalPolicy = order.policy.parse().map_err(Answer::Failed)?;
        let options = FuseOptions { policy, ..FuseOptions::default() };
        let file =
            FuseFile::mount(Arc::clone(&stack.device), &order.disk, &options).map_err(not_here)?;
        let device = LoopDevice::attach(&order.disk, stack.device.info().block_bytes, false)
            .map_err(not_here)?;
        Ok(Serving { device, file, stack: Some(stack), _files: files })
    }

    fn moved(&self) -> Answer {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let cpu = Duration::new(
            u64::try_from(time.tv_sec).unwrap_or(0),
            u32::try_from(time.tv_nsec).unwrap_or(0),
        );
        Answer::Moved {
            members: self
                .stack
                .iter()
                .flat_map(|stack| &stack.members)
                .map(|member| member.counters.read().into())
                .collect(),
            cpu,
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        let is_busy = |error: &block::Error| error.kind() == ErrorKind::Busy;
        patiently(BUSY_ATTEMPTS, || self.device.detach(), is_busy)?;
        patiently(BUSY_ATTEMPTS, || self.file.unmount(), is_busy)?;
        self.stack.take().map_or(Ok(()), Opened::end)
    }
}

/// Where marks of file systems are: enough of the start for all that are known, and the end.
const START_BYTES: u64 = 1 << 20;
const END_BYTES: u64 = 256 << 10;

/// Zeroes over what an earlier visit has left: a file system is made only where nothing known is.
fn wipe(stack: &Stack) -> Result<(), Error> {
    let size_bytes = stack.device.info().size_bytes;
    let reactor = Reactor::wall().map_err(|error| Error::failed(format!("io_uring: {error}")))?;
    let mut device = Blocking::open(&*stack.device, &reactor)?;
    let zeroes = vec![0; 64 << 10];
    for (from, to) in [
        (0, START_BYTES.min(size_bytes)),
        (size_bytes.saturating_sub(END_BYTES).max(START_BYTES.min(size_bytes)), size_bytes),
    ] {
        let mut offset = from;
        while offset < to {
            let length = (to - offset).min(zeroes.len() as u64);
            device
                .write_slice(offset, &zeroes[..usize::try_from(length).expect("at most 64 KiB")])?;
            offset += length;
        }
    }
    Ok(device.flush()?)
}

/// Sends a message: its length, then JSON.
pub(super) fn send(socket: impl AsFd, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(text);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        match rustix::net::send(&socket, rest, SendFlags::NOSIGNAL) {
            Ok(count) => rest = &rest[count..],
            Err(rustix::io::Errno::INTR) => (),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Receives a message; an end of the socket is an error.
pub(super) fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<T> {
    let mut length = [0; 4];
    receive_bytes(&socket, &mut length)?;
    let mut text = vec![0; u32::from_le_bytes(length) as usize];
    receive_bytes(&socket, &mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

fn receive_bytes(socket: &impl AsFd, bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        let mut ready = [PollFd::new(socket, PollFlags::IN)];
        match rustix::event::poll(&mut ready, None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        match rustix::io::read(socket, &mut bytes[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => (),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Hands an open file over, lock and all.
pub(super) fn send_file(socket: impl AsFd, file: &File) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::Error::other("a descriptor does not fit into its message"));
    }
    sendmsg(socket, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive_file(socket: impl AsFd) -> io::Result<File> {
    let mut byte = [0_u8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let found: Option<OwnedFd> = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    found.map(File::from).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
