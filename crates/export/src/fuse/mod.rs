//! A device as a single file, through FUSE.
//!
//! ```text
//!   program ── file ── kernel (FUSE) ── /dev/fuse ══ workers, each with reactor and channel ── device
//! ```
//!
//! The mount covers one file: what was a placeholder is now the device's blocks. The kernel's page
//! cache does not sit in between unless it is asked for, so that what a program has been told is
//! written has reached the device. Reads and writes of any offset and length are served; whole
//! blocks are passed on as they are, and go fastest.
//!
//! The mount lives as long as the process: when that dies, programs get errors and nothing waits.

pub(crate) mod frame;
mod mount;
mod protocol;
mod steps;
mod worker;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use block::{Device, EmulatingDevice, Error, ErrorKind};
use reactor::Ringer;
use rustix::event::{PollFd, PollFlags, Timespec};
use words::{Text, statement};

use crate::catalogue;
use crate::gate::{Gate, GateTicket};
use crate::policy::RemovalPolicy;
use crate::users;
use protocol::{Attributes, Handshake};
pub(crate) use worker::errno_of;
use worker::{FuseMount, Worker};

/// The longest request, in bytes: what the kernel sends at most without being told otherwise by its
/// administrator.
const MAX_REQUEST_BYTES: u32 = 1 << 20;
/// How long the kernel may take for its first word.
const HANDSHAKE_PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// How long a worker may take to end once it has been told to.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// How a device is served.
#[derive(Clone, Debug, Default)]
pub struct FuseOptions {
    /// Threads that serve; 0 chooses by the number of processors.
    pub workers: usize,
    /// Whether writes are refused.
    pub read_only: bool,
    /// When writes are durable.
    pub policy: RemovalPolicy,
    /// Whether the kernel keeps what was read in its page cache.
    pub page_cache: bool,
    /// What its writes pass; the same for all exports of a device.
    pub gate: Arc<Gate>,
}

/// A device that is served as a file. Dropping it takes the file away, also from programs that have
/// it open.
pub struct FuseFile {
    path: PathBuf,
    shared: Arc<FuseMount>,
    workers: Vec<(Ringer, JoinHandle<()>)>,
    _served: Vec<GateTicket>,
    ended: mpsc::Receiver<Result<(), Error>>,
    mounted: bool,
}

impl FuseFile {
    /// Serves `device` in the place of the file `path`, which has to exist; what it holds is hidden
    /// meanwhile.
    ///
    /// # Errors
    /// [`ErrorKind::Permission`] or [`ErrorKind::NotFound`] when nothing may be mounted here,
    /// [`ErrorKind::Invalid`] when `path` is no file, or what the device says when it is opened.
    pub fn mount(
        device: Arc<dyn Device>,
        path: &Path,
        options: &FuseOptions,
    ) -> Result<FuseFile, Error> {
        let failed = |error: io::Error| Error::from_io(path.display().to_string(), error);
        let path = fs::canonicalize(path).map_err(failed)?;
        if !path.is_file() {
            return Err(Error::new(
                ErrorKind::Invalid,
                statement!(catalogue::ONLY_A_PLAIN_FILE, path = path.display()),
            ));
        }
        let device = EmulatingDevice::over(device);
        let info = device.info().clone();
        // The blocks at both ends of a range that is not aligned come on top of it.
        let longest = info.max_request_bytes.saturating_sub(2 * info.block_bytes) / 4096 * 4096;
        if longest == 0 {
            let text = statement!(
                catalogue::DEVICE_REQUESTS_TOO_SHORT,
                device = format!("{device:?}"),
                bytes = info.max_request_bytes
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let max_bytes = longest.min(MAX_REQUEST_BYTES);
        let read_only = options.read_only || info.read_only;
        let fuse = mount::mount(&path, read_only, max_bytes)?;
        let attributes = Attributes {
            size_bytes: info.size_bytes,
            block_bytes: info.block_bytes.max(4096),
            writable: !read_only,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
        };
        let shared = Arc::new(FuseMount {
            device,
            attributes,
            policy: options.policy,
            page_cache: options.page_cache,
            max_bytes,
            fuse: Arc::new(fuse),
            gate: Arc::clone(&options.gate),
            stop: AtomicBool::new(false),
        });
        let (ended_sender, ended) = mpsc::channel();
        // From here on whatever goes wrong takes the mount away again.
        let mut file = FuseFile {
            path,
            shared,
            workers: Vec::new(),
            _served: Vec::new(),
            ended,
            mounted: true,
        };
        shake_hands(&file.shared.fuse, max_bytes)?;
        let count = if options.workers == 0 { default_workers() } else { options.workers };
        for number in 0..count {
            let started = start_worker(number, Arc::clone(&file.shared), ended_sender.clone())?;
            file.workers.push(started);
        }
        let serve = |(ringer, _): &(Ringer, _)| file.shared.gate.serve(ringer.clone());
        file._served = file.workers.iter().map(serve).collect();
        // Until a process asks for it the kernel takes the size for 0, and older ones (6.1) make
        // empty loop devices of that.
        fs::metadata(&file.path).map_err(failed)?;
        Ok(file)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What ended the serving of the mount before its time, if anything did.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.ended.try_iter().find_map(Result::err)
    }

    /// Takes the file away, unless a process has it open.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when a program or a loop device has it open; then it stays.
    pub fn unmount(&mut self) -> Result<(), Error> {
        if !self.mounted {
            return Ok(());
        }
        mount::unmount(&self.path, false).map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => {
                let user = users::of(&self.path)
                    .map_or_else(|| catalogue::A_PROGRAM.into(), |user| Text::from(&user));
                Error::new(
                    ErrorKind::Busy,
                    statement!(catalogue::STILL_OPEN, path = self.path.display(), user = user),
                )
            }
            _ => Error::from_io(
                statement!(catalogue::UNMOUNTING_FILE, path = self.path.display()),
                error,
            ),
        })?;
        self.mounted = false;
        self.stop();
        Ok(())
    }

    fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        for (ringer, _) in &self.workers {
            ringer.ring();
        }
        for (_, thread) in self.workers.drain(..) {
            // A worker whose device does not answer is left to the end of the process.
            if self.ended.recv_timeout(STOP_PATIENCE).is_ok() {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for FuseFile {
    fn drop(&mut self) {
        if self.mounted {
            // An error has no taker any more; the kernel ends the mount with the process.
            let _ = mount::unmount(&self.path, true);
            self.stop();
        }
    }
}

/// A path that a killed server has left mounted is taken away, open or not.
///
/// # Errors
/// What the system says.
pub fn detach(path: &Path) -> io::Result<()> {
    mount::unmount(path, true)
}

/// How mounts of this module appear in the kernel's table.
pub const MOUNT_KIND: &str = mount::KIND;

/// One worker feeds the ring while programs use the other processors.
fn default_workers() -> usize {
    thread::available_parallelism().map_or(1, |count| (count.get() / 2).clamp(1, 4))
}

fn shake_hands(fuse: &OwnedFd, max_bytes: u32) -> Result<(), Error> {
    let failed = |error: rustix::io::Errno| Error::from_io(catalogue::FIRST_WORDS, error.into());
    let mut ready = [PollFd::new(fuse, PollFlags::IN)];
    if rustix::event::poll(&mut ready, Some(&HANDSHAKE_PATIENCE)).map_err(failed)? == 0 {
        return Err(Error::new(ErrorKind::TimedOut, catalogue::MOUNT_SILENT));
    }
    let mut request = vec![0; 64 << 10];
    let length = rustix::io::read(fuse, &mut request).map_err(failed)?;
    let handshake = Handshake::parse(&request[..length])
        .map_err(|text| Error::new(ErrorKind::Unsupported, text))?;
    rustix::io::write(fuse, &handshake.answer(max_bytes)).map_err(failed)?;
    Ok(())
}

fn start_worker(
    number: usize,
    shared: Arc<FuseMount>,
    ended: mpsc::Sender<Result<(), Error>>,
) -> Result<(Ringer, JoinHandle<()>), Error> {
    let (ready_sender, ready) = mpsc::channel();
    let serve = move || {
        // The reactor belongs to this thread, so it is made here.
        let made = Worker::new(shared).and_then(|worker| Ok((worker.ringer()?, worker)));
        match made {
            Ok((ringer, worker)) => {
                let _ = ready_sender.send(Ok(ringer));
                let _ = ended.send(worker.run());
            }
            Err(error) => {
                let _ = ready_sender.send(Err(error));
            }
        }
    };
    let thread = thread::Builder::new().name(format!("fuse-{number}")).spawn(serve);
    let thread = thread.map_err(|error| Error::from_io(catalogue::STARTING_THREAD, error))?;
    let ringer =
        ready.recv().map_err(|_| Error::new(ErrorKind::Other, catalogue::MOUNT_WORKER_ENDED))??;
    Ok((ringer, thread))
}
