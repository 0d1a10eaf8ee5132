//! A device as a block device of the kernel's, through ublk (Linux 6.0 and later): no file and no
//! loop device in between.
//!
//! ```text
//!   program ── /dev/ublkbN ── kernel (ublk) ── /dev/ublkcN ══ a thread for each queue: reactor, OrderQueue ── device
//!                                              /dev/ublk-control: made, stopped, taken away
//! ```
//!
//! The kernel learns more of it than of a loop device: a cache to be flushed, FUA, discards,
//! zeroes, smallest and best access, that it is read-only.
//!
//! Where its server is killed, the device stays if it was made so: whatever uses it waits, and the
//! next server of the same device goes on with it ([`UblkDevice::recover`]). Which device that is,
//! is told by a number of the server's own that the driver keeps. Otherwise programs get errors.

mod control;
mod protocol;
mod worker;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use block::{Device, EmulatingDevice, Error, ErrorKind};
use rustix::event::Timespec;
use rustix::fs::OFlags;
use rustix::io::Errno;
use words::{Text, statement};

use crate::catalogue;
use crate::gate::Gate;
use crate::policy::RemovalPolicy;
use crate::users::{self, User};
pub use control::{CONTROL, is_there};
use control::{Control, Verb, block_path, server_path};
use protocol::{DEAD, DeviceInfo, PARAMETER_BYTES, RECOVERS};
use worker::{QueueWorker, UblkShared};

/// Requests of a queue at a time; others wait in the kernel.
const DEPTH: u16 = 64;
/// The longest request, in bytes. Each request has so much memory, of which pages are taken as they
/// are used.
const MAX_REQUEST_BYTES: u32 = 1 << 20;
/// How long the threads may take to end once the device is stopped.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// How often the driver is asked for a device whose server has died, and how long in between: it
/// looks every five seconds whether one has, and then waits until nothing of it is left.
const RECOVERY_ATTEMPTS: u32 = 300;
const RECOVERY_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// So many programs may have the device open one after the other before all of them are taken for
/// ones that only look.
const LOOKS_MAX: u32 = 3;

/// How a device is served.
#[derive(Clone, Debug, Default)]
pub struct UblkOptions {
    /// Threads that serve, each a queue; 0 chooses by the number of processors.
    pub workers: usize,
    /// Whether writes are refused.
    pub read_only: bool,
    /// When writes are durable.
    pub policy: RemovalPolicy,
    /// What its writes pass; the same for all exports of a device.
    pub gate: Arc<Gate>,
    /// Tells the device from all others that there are, also after the end of this process.
    pub identity: u64,
    /// Whether the device outlives this process, and waits for the next one with this identity.
    pub recovers: bool,
}

/// A block device that is served. Dropping it takes the device away, also from programs that have
/// it open.
pub struct UblkDevice {
    control: Control,
    number: u32,
    path: PathBuf,
    /// It is this process that takes it away.
    is_ours: bool,
    /// The server's file, until the device is stopped.
    server: Option<Arc<OwnedFd>>,
    threads: Vec<JoinHandle<()>>,
    /// Each thread says once how it ended.
    ended: mpsc::Receiver<Result<(), Error>>,
    /// Who had it open when it was to be taken away, and how many others before.
    user: Option<User>,
    looks: u32,
}

impl UblkDevice {
    /// Makes a block device over `device`. When this returns, programs can use it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where the kernel has no ublk, [`ErrorKind::Permission`] without the
    /// right to it, [`ErrorKind::Unsupported`] for blocks larger than a page,
    /// [`ErrorKind::TimedOut`] where the driver does not answer (it may have a device then that is
    /// to be taken away later, with [`remove`]), or what the driver says.
    pub fn attach(device: Arc<dyn Device>, options: &UblkOptions) -> Result<UblkDevice, Error> {
        let plan = Plan::new(device, options)?;
        let control = Control::open()?;
        let wanted = DeviceInfo {
            queues: options.queues(),
            depth: DEPTH,
            max_bytes: plan.max_bytes,
            identity: options.identity,
            ..DeviceInfo::default()
        };
        let made = control.add(wanted, options.recovers)?;
        // Whatever goes wrong from here on takes the device away again.
        let ours = UblkDevice::serve(control, made, &plan, options, |ours| {
            ours.control.set_parameters(ours.number, &plan.parameters)
        })?;
        ours.control
            .tell(Verb::Start, ours.number)
            .map_err(|error| Error::from_io(catalogue::STARTING_UBLK, error))?;
        ours.control.open_file(&ours.path, File::options().read(true))?;
        Ok(ours)
    }

    /// Goes on with the device of this identity, whose server has died. What was under way there is
    /// asked for again.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where there is none, [`ErrorKind::Refused`] where it is another than
    /// `device` would be (size, blocks, cache), or what the driver says. The device stays as it is
    /// then.
    pub fn recover(device: Arc<dyn Device>, options: &UblkOptions) -> Result<UblkDevice, Error> {
        let plan = Plan::new(device, options)?;
        let control = Control::open()?;
        let found = control.devices().into_iter().find(|it| it.identity == options.identity);
        let Some(found) = found else {
            return Err(Error::new(ErrorKind::NotFound, catalogue::UBLK_GONE));
        };
        let place = block_path(found.number).display().to_string();
        if found.flags & RECOVERS == 0
            || found.max_bytes != plan.max_bytes
            || !protocol::is_same_device(&plan.parameters, &control.parameters(found.number)?)
        {
            let text = Text::from(catalogue::UBLK_OF_ANOTHER).at(place);
            return Err(Error::new(ErrorKind::Refused, text));
        }
        let failed =
            |error| Error::from_io(statement!(catalogue::GOING_ON_WITH, device = &place), error);
        begin_recovery(&control, found.number).map_err(failed)?;
        let mut ours = UblkDevice::serve(control, found, &plan, options, |ours| {
            // Until it is whole again it goes on waiting for whoever tries next.
            ours.is_ours = false;
            Ok(())
        })?;
        ours.control.tell(Verb::EndRecovery, ours.number).map_err(failed)?;
        ours.is_ours = true;
        Ok(ours)
    }

    /// Opens the server's file, and has a thread for each queue of the device. When this returns
    /// the driver has what it needs for the device to be started.
    fn serve(
        control: Control,
        found: DeviceInfo,
        plan: &Plan,
        options: &UblkOptions,
        first: impl FnOnce(&mut UblkDevice) -> Result<(), Error>,
    ) -> Result<UblkDevice, Error> {
        let (ended_sender, ended) = mpsc::channel();
        let mut ours = UblkDevice {
            control,
            number: found.number,
            path: block_path(found.number),
            is_ours: true,
            server: None,
            threads: Vec::new(),
            ended,
            user: None,
            looks: 0,
        };
        // Before all else: who is not root is obeyed only once the file is this user's.
        let path = server_path(found.number);
        let server = ours.control.open_file(&path, File::options().read(true).write(true))?;
        let server = Arc::new(OwnedFd::from(server));
        ours.server = Some(Arc::clone(&server));
        first(&mut ours)?;
        let shared = Arc::new(UblkShared {
            device: Arc::clone(&plan.device),
            policy: options.policy,
            gate: Arc::clone(&options.gate),
            numbering: ours.control.numbering,
            depth: found.depth,
            max_bytes: plan.max_bytes,
        });
        for queue in 0..found.queues {
            ours.threads.push(start(queue, &shared, &server, ended_sender.clone())?);
        }
        Ok(ours)
    }

    /// The device's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What ended the serving of a queue before its time, if anything did.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.ended.try_iter().find_map(Result::err)
    }

    /// Takes the device away, unless something uses it. To be tried again while it is busy:
    /// programs that look at every device (udev, `blkid`) have it open for a moment.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when a program has it open, or a file system on it is mounted, and
    /// [`ErrorKind::TimedOut`] when the driver does not answer; then it stays.
    pub fn detach(&mut self) -> Result<(), Error> {
        if !self.is_ours {
            return Ok(());
        }
        let busy = |user: Text| {
            let text = statement!(catalogue::UBLK_STILL_OPEN, user = user);
            Error::new(ErrorKind::Busy, text.at(self.path.display()))
        };
        if !self.user.as_ref().is_some_and(|user| user.has_open(&self.path)) {
            self.user = users::of_disk(&self.path);
            self.looks += u32::from(self.user.is_some());
        }
        if let Some(user) = self.user.as_ref().filter(|_| self.looks <= LOOKS_MAX) {
            return Err(busy(user.into()));
        }
        // Whoever has it for itself alone (a file system, md, another program) keeps us out, and as
        // long as we have it nobody comes in.
        let held =
            File::options().read(true).custom_flags(OFlags::EXCL.bits() as i32).open(&self.path);
        match &held {
            Err(error) if Errno::from_io_error(error) == Some(Errno::BUSY) => {
                return Err(busy(catalogue::FILE_SYSTEM_OR_PROGRAM.into()));
            }
            _ => (),
        }
        // What lies in the page cache is written now, however long that takes, and not within the
        // time of a command. What cannot be written is lost by either.
        let _ = held.as_ref().map(File::sync_all);
        self.stop()?;
        drop(held);
        self.take_away()
    }

    /// Takes the device away, whoever has it open: that is left with errors.
    ///
    /// # Errors
    /// What the driver says.
    pub fn let_go(&mut self) -> Result<(), Error> {
        if !self.is_ours {
            return Ok(());
        }
        self.stop()?;
        self.take_away()
    }

    /// Has the driver bring no more requests, when all that it has brought are answered.
    fn stop(&self) -> Result<(), Error> {
        self.control
            .tell(Verb::Stop, self.number)
            .map_err(|error| Error::from_io(self.path.display().to_string(), error))
    }

    /// What is left of a device that is stopped.
    fn take_away(&mut self) -> Result<(), Error> {
        self.server = None;
        self.is_ours = false;
        for thread in self.threads.drain(..) {
            // A worker whose device does not answer is left to the end of the process, and so is
            // what the driver has of the device: it would wait for it here.
            if self.ended.recv_timeout(STOP_PATIENCE).err() == Some(RecvTimeoutError::Timeout) {
                let text = Text::from(catalogue::NOT_ANSWERED).at(self.path.display());
                return Err(Error::new(ErrorKind::TimedOut, text));
            }
            // One that panicked has said so already.
            let _ = thread.join();
        }
        self.control
            .tell(Verb::Delete, self.number)
            .map_err(|error| Error::from_io(server_path(self.number).display().to_string(), error))
    }
}

impl Drop for UblkDevice {
    fn drop(&mut self) {
        // An error has no taker any more.
        let _ = self.let_go();
    }
}

impl UblkOptions {
    /// One thread feeds the ring while programs use the other processors, as with FUSE.
    fn queues(&self) -> u16 {
        let chosen = match self.workers {
            0 => thread::available_parallelism().map_or(1, |count| (count.get() / 2).clamp(1, 4)),
            wanted => wanted,
        };
        u16::try_from(chosen).unwrap_or(u16::MAX)
    }
}

/// What is served, and what the driver is told of it.
struct Plan {
    device: Arc<dyn Device>,
    max_bytes: u32,
    parameters: [u8; PARAMETER_BYTES],
}

impl Plan {
    fn new(device: Arc<dyn Device>, options: &UblkOptions) -> Result<Plan, Error> {
        let read_only = options.read_only || device.info().read_only;
        let device = if device.info().read_only { device } else { EmulatingDevice::over(device) };
        let info = device.info();
        let max_bytes = info.max_request_bytes.min(MAX_REQUEST_BYTES) / 4096 * 4096;
        if max_bytes == 0 {
            let (device, most) = (format!("{device:?}"), info.max_request_bytes);
            let text = statement!(catalogue::REQUESTS_TOO_SMALL, device = device, most = most);
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let cached = !options.policy.writes_durably();
        let parameters = protocol::parameters(info, max_bytes, read_only, cached)?;
        Ok(Plan { device, max_bytes, parameters })
    }
}

/// Says that this process goes on with a device, as soon as the driver has noticed that the last
/// one is dead and nothing of it is left.
fn begin_recovery(control: &Control, number: u32) -> io::Result<()> {
    let mut begun = control.tell(Verb::StartRecovery, number);
    for _ in 1..RECOVERY_ATTEMPTS {
        let waits = |error: &io::Error| Errno::from_io_error(error) == Some(Errno::BUSY);
        if !begun.as_ref().is_err_and(waits) {
            break;
        }
        let _ = rustix::event::poll(&mut [], Some(&RECOVERY_PAUSE));
        begun = control.tell(Verb::StartRecovery, number);
    }
    begun
}

/// Has a thread serve a queue; when this returns the driver has its requests' memory.
fn start(
    queue: u16,
    shared: &Arc<UblkShared>,
    server: &Arc<OwnedFd>,
    ended: mpsc::Sender<Result<(), Error>>,
) -> Result<JoinHandle<()>, Error> {
    let (shared, server) = (Arc::clone(shared), Arc::clone(server));
    let (ready_sender, ready) = mpsc::channel();
    let serve = move || {
        // The reactor belongs to this thread, so it is made here.
        match QueueWorker::new(shared, server, queue) {
            Ok(worker) => {
                let _ = ready_sender.send(Ok(()));
                let _ = ended.send(worker.run());
            }
            Err(error) => _ = ready_sender.send(Err(error)),
        }
    };
    let thread = thread::Builder::new().name(format!("ublk-{queue}")).spawn(serve);
    let thread = thread.map_err(|error| Error::from_io(catalogue::STARTING_THREAD, error))?;
    let ended_at_once = |_| Error::new(ErrorKind::Other, catalogue::QUEUE_ENDED);
    ready.recv().map_err(ended_at_once)??;
    Ok(thread)
}

/// A device that a dead server has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftDevice {
    /// Its path.
    pub path: PathBuf,
    /// Whether it waits for another server; otherwise whoever uses it gets errors.
    pub waits: bool,
}

/// The device that a server of this identity has made, and that is there still. The server is dead:
/// it may take the driver a moment to notice.
#[must_use]
pub fn find(identity: u64) -> Option<LeftDevice> {
    let found = Control::open().ok()?.devices().into_iter().find(|it| it.identity == identity)?;
    let waits = found.flags & RECOVERS != 0 && found.state != DEAD;
    Some(LeftDevice { path: block_path(found.number), waits })
}

/// Has what uses the device of a dead server get errors from now on instead of waiting for another
/// one.
///
/// # Errors
/// What the driver says.
pub fn give_up(identity: u64) -> Result<(), Error> {
    tell_all(identity, &[Verb::Stop])
}

/// Takes the device of a dead server away.
///
/// # Errors
/// What the driver says.
pub fn remove(identity: u64) -> Result<(), Error> {
    tell_all(identity, &[Verb::Stop, Verb::Delete])
}

fn tell_all(identity: u64, verbs: &[Verb]) -> Result<(), Error> {
    let control = match Control::open() {
        Ok(control) => control,
        // Without a driver there is no device.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let own = |device: &DeviceInfo| device.identity == identity;
    let devices: Vec<DeviceInfo> = control.devices().into_iter().filter(own).collect();
    if let Some(hidden) = control.hidden().filter(|_| devices.is_empty()) {
        return Err(hidden);
    }
    for device in devices {
        let path = block_path(device.number);
        let failed = |error| Error::from_io(path.display().to_string(), error);
        verbs.iter().try_for_each(|verb| control.tell(*verb, device.number)).map_err(failed)?;
    }
    Ok(())
}
