//! The server: a socket, and a thread for each client that comes to it.

#![expect(
    clippy::disallowed_methods,
    reason = "how long threads of clients are waited for at the end"
)]

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use block::{Device, EmulatingDevice, Error, ErrorKind};
use reactor::{Reactor, RingFile, Source};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::{Errno, ReadWriteFlags};
use rustix::net::Shutdown;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use words::{Text, statement};

use super::disk::Disk;
use super::message::broken;
use super::session::{FollowUp, Offer, Session};
use super::socket::{read_message, send_all};
use crate::catalogue;
use crate::nbd::{Address, Listener};
use crate::{Gate, RemovalPolicy};

/// Clients at a time. One that has no ring yet makes way for another; where all have, more are
/// turned away.
const CLIENTS_MAX: usize = 16;
/// Rings of a client: as many as a machine may have processors for them.
const RINGS: u16 = 64;
/// Pieces of memory of a request: what a ring of 128 entries holds besides header and answer.
const SEGMENTS: u32 = 126;
/// How long the rest of a message may take, and how long a client may leave its answers unread.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one that makes way may take to end: nothing is under way for it.
const LEAVE_PATIENCE: Duration = Duration::from_secs(1);
/// How long clients may take to end once the server stops.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// How long the listener rests after it could not take a client.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How a device is served.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Its serial number, as guests read it; 20 bytes of it.
    pub name: String,
    /// Whether writes are refused.
    pub read_only: bool,
    /// When writes are durable.
    pub policy: RemovalPolicy,
    /// What its writes pass; the same for all exports of a device.
    pub gate: Arc<Gate>,
}

/// What a server is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Clients that are connected.
    pub clients: usize,
    /// Requests that were answered.
    pub requests: u64,
    /// Why a client was cut off, the last time that happened.
    pub trouble: Option<Text>,
}

struct FrontEndCore {
    device: Arc<dyn Device>,
    offer: Offer,
    options: Options,
    stop: AtomicBool,
    bell: OwnedFd,
    clients: Mutex<Vec<Client>>,
    requests: AtomicU64,
    trouble: Mutex<Option<Text>>,
}

struct Client {
    socket: Arc<OwnedFd>,
    thread: JoinHandle<()>,
    /// Closed when the thread ends.
    ended: Receiver<()>,
    /// It has had a ring: a guest is behind it.
    has_rings: Arc<AtomicBool>,
}

impl Client {
    fn hang_up(&self) {
        // One that is gone already needs no end.
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
    }
}

impl FrontEndCore {
    fn clients(&self) -> MutexGuard<'_, Vec<Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complain(&self, error: &Error) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.text());
    }
}

/// A running server. It stops when it is dropped.
pub struct Server {
    shared: Arc<FrontEndCore>,
    path: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves `device` to clients that come to the socket `path`, which is made and goes again with
    /// the server; only its owner may use it.
    ///
    /// # Errors
    /// [`block::ErrorKind::Busy`] where another process listens, or what the system says.
    pub fn start(device: Arc<dyn Device>, path: &Path, options: Options) -> Result<Server, Error> {
        let failed = |error: io::Error| Error::from_io(catalogue::VHOST_SERVER, error);
        let device = if device.info().read_only { device } else { EmulatingDevice::over(device) };
        let listener = Listener::open(&Address::Unix(path.to_owned()), false, false)?;
        let read_only = options.read_only || device.info().read_only;
        let cache = !options.policy.writes_durably();
        let offer = Offer::new(device.info(), read_only, cache, RINGS, SEGMENTS, false);
        let shared = Arc::new(FrontEndCore {
            device,
            offer,
            options,
            stop: AtomicBool::new(false),
            bell: rustix::event::eventfd(0, EventfdFlags::CLOEXEC)
                .map_err(|error| failed(error.into()))?,
            clients: Mutex::default(),
            requests: AtomicU64::new(0),
            trouble: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("vhost-user".to_owned())
            .spawn(move || listener.iter().for_each(|listener| accept(&accepting, listener)))
            .map_err(failed)?;
        Ok(Server { shared, path: path.to_owned(), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is doing.
    #[must_use]
    pub fn status(&self) -> Status {
        Status {
            clients: self.shared.clients().iter().filter(|it| !it.thread.is_finished()).count(),
            requests: self.shared.requests.load(Ordering::Relaxed),
            trouble: self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        // The bell can only fail to ring when it has rung 2^64 times.
        let _ = rustix::io::write(&self.shared.bell, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so already.
            let _ = thread.join();
        }
        let clients = std::mem::take(&mut *self.shared.clients());
        clients.iter().for_each(Client::hang_up);
        let end = Instant::now() + STOP_PATIENCE;
        for client in clients {
            let left = end.saturating_duration_since(Instant::now());
            // One whose client or device keeps it waiting is left to the end of the process.
            if client.ended.recv_timeout(left) == Err(RecvTimeoutError::Disconnected) {
                let _ = client.thread.join();
            }
        }
    }
}

fn accept(shared: &Arc<FrontEndCore>, listener: &Listener) {
    while !shared.stop.load(Ordering::Acquire) {
        let mut watched = [
            PollFd::from_borrowed_fd(shared.bell.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
        ];
        if rustix::event::poll(&mut watched, None).is_err() || watched[1].revents().is_empty() {
            continue;
        }
        match listener.accept() {
            Ok((socket, _)) => welcome(shared, socket),
            // The client has gone again, or there are no descriptors: a moment's rest, unless the
            // bell rings.
            Err(_) => _ = rustix::event::poll(&mut watched[..1], Some(&PAUSE)),
        }
    }
}

/// Whether there is room for one more. Many may come and say nothing; a machine that means it has
/// its rings in a moment, so the one that has taken longest goes.
fn make_room(shared: &FrontEndCore) -> bool {
    let mut clients = shared.clients();
    clients.retain(|client| !client.thread.is_finished());
    if clients.len() < CLIENTS_MAX {
        return true;
    }
    let is_idle = |client: &Client| !client.has_rings.load(Ordering::Acquire);
    let Some(oldest) = clients.iter().position(is_idle) else {
        drop(clients);
        let text = statement!(catalogue::TOO_MANY_MACHINES, most = CLIENTS_MAX);
        shared.complain(&Error::new(ErrorKind::Busy, text));
        return false;
    };
    let client = clients.remove(oldest);
    drop(clients);
    client.hang_up();
    if client.ended.recv_timeout(LEAVE_PATIENCE) == Err(RecvTimeoutError::Timeout) {
        shared.clients().push(client);
        return false;
    }
    // One that panicked has said so already.
    let _ = client.thread.join();
    true
}

fn welcome(shared: &Arc<FrontEndCore>, socket: OwnedFd) {
    if !make_room(shared) {
        return;
    }
    let timeouts = [Timeout::Recv, Timeout::Send]
        .into_iter()
        .try_for_each(|which| set_socket_timeout(&socket, which, Some(PATIENCE)));
    if timeouts.is_err() {
        return;
    }
    let socket = Arc::new(socket);
    let (ends, ended) = mpsc::channel();
    let has_rings = Arc::new(AtomicBool::new(false));
    let (serving, own, rings) = (Arc::clone(shared), Arc::clone(&socket), Arc::clone(&has_rings));
    let serve = move || {
        let _ends = ends;
        if let Err(error) = serve(&serving, &own, &rings)
            && !serving.stop.load(Ordering::Acquire)
        {
            serving.complain(&error);
        }
        let _ = rustix::net::shutdown(&own, Shutdown::Both);
    };
    if let Ok(thread) = std::thread::Builder::new().name("vhost-client".to_owned()).spawn(serve) {
        shared.clients().push(Client { socket, thread, ended, has_rings });
    }
}

/// Serves one client until it hangs up, the server stops, or it breaks the protocol.
fn serve(
    shared: &FrontEndCore,
    socket: &Arc<OwnedFd>,
    has_rings: &AtomicBool,
) -> Result<(), Error> {
    let failed = |error: io::Error| Error::from_io(catalogue::SERVING_VHOST, error);
    let reactor = Reactor::wall()?;
    let options = &shared.options;
    let disk = Disk::open(
        &*shared.device,
        options.read_only,
        options.policy,
        &options.gate,
        &options.name,
        &reactor,
    )?;
    let source = reactor.source();
    let session = Session::new(shared.offer.clone());
    let mut client = FrontEndSession {
        kicks: (0..session.rings()).map(|_| Bell::default()).collect(),
        session,
        disk,
        listening: reactor.register(Arc::clone(socket)).map_err(failed)?,
        stopping: Vec::new(),
        reactor,
        source,
    };
    let ended = client.run(shared, socket, has_rings);
    // What the device has been given is brought to its end, whichever client asked for it.
    let drained = client.drain();
    ended.and(drained)
}

/// A descriptor that the client has given for a ring.
#[derive(Default)]
struct Bell {
    file: Option<(RingFile, Arc<OwnedFd>)>,
    /// Tells events of this descriptor from those of earlier ones.
    generation: u32,
}

impl Bell {
    /// Takes `wanted` in the place of what was there; whether it is another one.
    fn renew(&mut self, wanted: Option<&Arc<OwnedFd>>, reactor: &Reactor) -> Result<bool, Error> {
        if self.file.as_ref().map(|(_, descriptor)| Arc::as_ptr(descriptor))
            == wanted.map(Arc::as_ptr)
        {
            return Ok(false);
        }
        self.generation = self.generation.wrapping_add(1);
        self.file = None;
        if let Some(descriptor) = wanted {
            let file = reactor
                .register(Arc::clone(descriptor))
                .map_err(|error| Error::from_io(catalogue::RING_DESCRIPTOR, error))?;
            self.file = Some((file, Arc::clone(descriptor)));
        }
        Ok(true)
    }
}

struct FrontEndSession {
    session: Session,
    disk: Disk,
    source: Source,
    listening: RingFile,
    kicks: Vec<Bell>,
    /// Rings whose stop is to be answered.
    stopping: Vec<usize>,
    reactor: Reactor,
}

/// The token of the socket; rings have others.
const SOCKET: u64 = u64::MAX;

impl FrontEndSession {
    fn run(
        &mut self,
        shared: &FrontEndCore,
        socket: &OwnedFd,
        has_rings: &AtomicBool,
    ) -> Result<(), Error> {
        let failed = |error: io::Error| Error::from_io(catalogue::SERVING_VHOST, error);
        self.source.readable(&self.listening, SOCKET);
        loop {
            while let Some(event) = self.source.take() {
                if event.token == SOCKET {
                    let Some(message) = read_message(socket)? else {
                        return Ok(());
                    };
                    let reaction = self.session.take(message)?;
                    match reaction.then {
                        FollowUp::Nothing => (),
                        FollowUp::Look(ring) => {
                            has_rings.store(true, Ordering::Release);
                            self.listen(ring)?;
                            self.disk.look(&mut self.session, ring)?;
                        }
                        FollowUp::Stop(ring) => self.stopping.push(ring),
                    }
                    if let Some(reply) = reaction.reply {
                        send_all(socket, &reply).map_err(failed)?;
                    }
                    self.source.readable(&self.listening, SOCKET);
                } else {
                    self.kicked(event.token)?;
                }
            }
            while self.disk.collect() {
                let (mut calls, mut done) = (Vec::new(), Vec::new());
                self.disk.deliver(&mut self.session, &mut calls, &mut done)?;
                shared.requests.fetch_add(done.len() as u64, Ordering::Relaxed);
                calls.into_iter().for_each(|ring| self.call(ring));
            }
            for ring in std::mem::take(&mut self.stopping) {
                if self.session.is_idle(ring) {
                    send_all(socket, &self.session.stopped(ring)).map_err(failed)?;
                } else {
                    self.stopping.push(ring);
                }
            }
            self.reactor.wait(None).map_err(failed)?;
        }
    }

    /// Takes the descriptors that a ring has now.
    fn listen(&mut self, ring: usize) -> Result<(), Error> {
        let kick = &mut self.kicks[ring];
        if kick.renew(self.session.kick(ring), &self.reactor)?
            && let Some((file, _)) = &kick.file
        {
            self.source.readable(file, token(ring, kick.generation));
        }
        Ok(())
    }

    fn kicked(&mut self, event: u64) -> Result<(), Error> {
        let ring = (event >> 32) as usize;
        let kick = &self.kicks[ring];
        let Some((file, descriptor)) = &kick.file else { return Ok(()) };
        if event != token(ring, kick.generation) {
            return Ok(());
        }
        // It is taken back before the ring is looked at, so that a kick during that is seen. The
        // client may hold it as well, and have taken it back already: it is not waited for here.
        let taken = rustix::io::preadv2(
            descriptor,
            &mut [IoSliceMut::new(&mut [0; 8])],
            u64::MAX,
            ReadWriteFlags::NOWAIT,
        );
        match taken {
            Ok(1..) | Err(Errno::AGAIN | Errno::INTR) => (),
            Ok(0) => return Err(broken(format!("the kicks of ring {ring} are at their end"))),
            Err(error) => return Err(Error::from_io(catalogue::KICK_DESCRIPTOR, error.into())),
        }
        self.source.readable(file, event);
        self.disk.look(&mut self.session, ring)
    }

    /// Tells the client that requests of a ring are given back. An eventfd that takes no more tells
    /// it already, and writing to it would wait for as long as the client likes.
    fn call(&self, ring: usize) {
        let Some(descriptor) = self.session.call(ring) else { return };
        let mut call = [PollFd::new(descriptor, PollFlags::OUT)];
        let polled = rustix::event::poll(&mut call, Some(&Timespec::default()));
        if polled.is_ok() && call[0].revents().contains(PollFlags::OUT) {
            let _ = rustix::io::write(descriptor, &1_u64.to_ne_bytes());
        }
    }

    /// Waits for what the device has been given; no client is told any more.
    fn drain(&mut self) -> Result<(), Error> {
        while self.disk.is_busy() {
            if !self.disk.forget() {
                self.reactor
                    .wait(None)
                    .map_err(|error| Error::from_io(catalogue::END_OF_CLIENT, error))?;
                while self.source.take().is_some() {}
            }
        }
        Ok(())
    }
}

fn token(ring: usize, generation: u32) -> u64 {
    (ring as u64) << 32 | u64::from(generation)
}
