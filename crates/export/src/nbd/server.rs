//! The server: its listeners, its workers, and what they share.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use block::{Device, DiscardSupport, EmulatingDevice, Error, ErrorKind, Support};
use reactor::{Bell, Reactor, Ringer};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use words::{Text, statement};

use super::admission::Admission;
use super::limits::Limits;
use super::listen::{Address, Listener};
use super::shape::Shape;
use super::shared::{Counters, ExportEntry, Mail, ServerCore};
use super::tls::Tls;
use super::worker::Worker;
use crate::catalogue;
use crate::{Gate, RemovalPolicy};
use nbd_wire::STRING_MAX_BYTES;

/// A device that clients can ask for.
pub struct Export {
    /// Its name; clients that give none get the first export.
    pub name: String,
    /// A line for people.
    pub description: String,
    /// What is served. FUA and write-zeroes are emulated where it has not got them.
    pub device: Arc<dyn Device>,
    /// Whether writes are refused; a device that is read-only itself always refuses them.
    pub read_only: bool,
    /// When writes are durable.
    pub policy: RemovalPolicy,
    /// What its writes pass; the same for all exports of a device.
    pub gate: Arc<Gate>,
}

/// How to serve.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads that serve; 0 is one for each processor, at most four.
    pub workers: usize,
    /// Certificates. With them TCP clients have to use TLS, and others may.
    pub tls: Option<Tls>,
    /// Whether TCP may be reached from other machines without TLS.
    pub insecure: bool,
    /// Bounds on what clients can make the server use.
    pub limits: Limits,
}

/// What a server has done for one export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportStatus {
    /// Its name.
    pub name: String,
    /// Whether writes are refused.
    pub read_only: bool,
    /// When writes are durable.
    pub policy: RemovalPolicy,
    /// Connections now.
    pub connections: u64,
    /// Read requests so far.
    pub reads: u64,
    /// Bytes of all read requests.
    pub read_bytes: u64,
    /// Write requests so far.
    pub writes: u64,
    /// Bytes of all write requests.
    pub written_bytes: u64,
    /// Writes of zeroes and trims so far.
    pub clears: u64,
    /// Flushes so far.
    pub flushes: u64,
    /// Requests that were answered with an error.
    pub errors: u64,
    /// Why the device could not be opened, the last time that happened.
    pub trouble: Option<Text>,
}

/// What a server is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Connections that use an export.
    pub connections: usize,
    /// Connections that were cut off: too many, too slow, or against the protocol.
    pub turned_away: u64,
    /// Each export, in the order given.
    pub exports: Vec<ExportStatus>,
    /// Why a worker has ended before its time.
    pub trouble: Option<Text>,
}

struct WorkerHandle {
    mail: Sender<Mail>,
    ringer: Ringer,
}

impl WorkerHandle {
    fn tell(&self, mail: Mail) -> bool {
        let told = self.mail.send(mail).is_ok();
        self.ringer.ring();
        told
    }
}

/// A running server. It stops when it is dropped.
pub struct Server {
    shared: Arc<ServerCore>,
    listeners: Arc<Vec<Listener>>,
    handles: Arc<Vec<WorkerHandle>>,
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
}

struct Stop {
    wanted: AtomicBool,
    bell: Bell,
}

impl Server {
    /// Serves `exports` to clients that come to `addresses`.
    ///
    /// # Errors
    /// What is wrong with an export, a certificate or an address; [`ErrorKind::Refused`] where the
    /// drive would be open to a network.
    pub fn start(
        exports: Vec<Export>,
        addresses: &[Address],
        options: &Options,
    ) -> Result<Server, Error> {
        if addresses.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, catalogue::NO_ADDRESS));
        }
        let workers = match options.workers {
            0 => std::thread::available_parallelism().map_or(1, |count| count.get().min(4)),
            count => count,
        };
        let (exports, shapes) = prepare(exports, workers)?;
        let tls = options.tls.as_ref().map(Tls::load).transpose()?;
        let mut listeners = Vec::new();
        for address in addresses {
            listeners.append(&mut Listener::open(address, tls.is_some(), options.insecure)?);
        }
        let failed = |error: io::Error| Error::from_io(catalogue::NBD_SERVER, error);
        let bell = Bell::new().map_err(failed)?;
        let shared = Arc::new(ServerCore {
            exports,
            shapes,
            tls,
            limits: options.limits,
            workers,
            loads: (0..workers).map(|_| AtomicUsize::new(0)).collect(),
            admission: Admission::new(options.limits),
            trouble: Mutex::new(None),
        });
        let mut server = Server {
            shared: Arc::clone(&shared),
            listeners: Arc::new(listeners),
            handles: Arc::default(),
            stop: Arc::new(Stop { wanted: AtomicBool::new(false), bell }),
            threads: Vec::new(),
        };
        let mut handles = Vec::new();
        for number in 0..workers {
            let (handle, thread) = start_worker(&shared, number)?;
            handles.push(handle);
            server.threads.push(thread);
        }
        server.handles = Arc::new(handles);
        let (listeners, handles, stop) =
            (Arc::clone(&server.listeners), Arc::clone(&server.handles), Arc::clone(&server.stop));
        let accept = move || accept(&shared, &listeners, &handles, &stop);
        server.threads.push(
            std::thread::Builder::new()
                .name("nbd-accept".to_owned())
                .spawn(accept)
                .map_err(failed)?,
        );
        Ok(server)
    }

    /// NBD URIs under which clients reach the export `name`, one for each listener.
    #[must_use]
    pub fn uris(&self, name: &str) -> Vec<String> {
        self.listeners.iter().map(|listener| listener.uri(name)).collect()
    }

    /// What it is doing.
    #[must_use]
    pub fn status(&self) -> Status {
        let sum = |export: &ExportEntry, counter: &dyn Fn(&Counters) -> &AtomicU64| {
            export.counters.iter().map(|counters| counter(counters).load(Ordering::Relaxed)).sum()
        };
        let exports = self.shared.exports.iter().zip(&self.shared.shapes).map(|(export, shape)| {
            ExportStatus {
                name: shape.name.clone(),
                read_only: shape.read_only,
                policy: export.policy,
                connections: sum(export, &|counters| &counters.connections),
                reads: sum(export, &|counters| &counters.reads),
                read_bytes: sum(export, &|counters| &counters.read_bytes),
                writes: sum(export, &|counters| &counters.writes),
                written_bytes: sum(export, &|counters| &counters.written_bytes),
                clears: sum(export, &|counters| &counters.clears),
                flushes: sum(export, &|counters| &counters.flushes),
                errors: sum(export, &|counters| &counters.errors),
                trouble: export.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            }
        });
        Status {
            connections: self.shared.admission.established(),
            turned_away: self.shared.admission.turned_away(),
            exports: exports.collect(),
            trouble: self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Takes no more requests, answers those that are under way, and ends; what takes longer than
    /// [`Limits::stop_time`] is given up. Nothing is flushed that no client has flushed: the
    /// owner of the device does that.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.wanted.store(true, Ordering::Release);
        self.stop.bell.ring();
        self.handles.iter().for_each(|handle| _ = handle.tell(Mail::Stop));
        for thread in self.threads.drain(..) {
            // A worker that panicked has said so already.
            let _ = thread.join();
        }
    }
}

fn prepare(exports: Vec<Export>, workers: usize) -> Result<(Vec<ExportEntry>, Vec<Shape>), Error> {
    let invalid = |text: Text| Err(Error::new(ErrorKind::Invalid, text));
    if exports.is_empty() {
        return invalid(catalogue::NOTHING_TO_EXPORT.into());
    }
    let (mut prepared, mut shapes) = (Vec::new(), Vec::<Shape>::new());
    for export in exports {
        if export.name.len().max(export.description.len()) > STRING_MAX_BYTES {
            return invalid(statement!(
                catalogue::EXPORT_NAME_TOO_LONG,
                string_max_bytes = STRING_MAX_BYTES
            ));
        }
        if shapes.iter().any(|other| other.name == export.name) {
            return invalid(statement!(catalogue::SAME_NAME, name = export.name));
        }
        let device = if export.device.info().read_only {
            export.device
        } else {
            EmulatingDevice::over(export.device)
        };
        let info = device.info();
        shapes.push(Shape {
            name: export.name,
            description: export.description,
            size_bytes: info.size_bytes,
            block_bytes: info.block_bytes,
            optimal_bytes: info.optimal_bytes,
            read_only: export.read_only || info.read_only,
            rotational: info.rotational,
            // Also for devices without a cache: programs that are told to flush fail where they
            // cannot.
            needs_flush: !export.policy.writes_durably(),
            discards: info.discard != DiscardSupport::None,
            fast_zeroes: info.zeroes == Support::Native,
        });
        let counters = (0..workers).map(|_| Counters::default()).collect();
        prepared.push(ExportEntry {
            device,
            policy: export.policy,
            gate: export.gate,
            counters,
            trouble: Mutex::new(None),
        });
    }
    Ok((prepared, shapes))
}

fn start_worker(
    shared: &Arc<ServerCore>,
    number: usize,
) -> Result<(WorkerHandle, JoinHandle<()>), Error> {
    let failed = |error: io::Error| Error::from_io(catalogue::STARTING_NBD_WORKER, error);
    let (mail, inbox) = mpsc::channel();
    let (ready, made) = mpsc::channel();
    let shared = Arc::clone(shared);
    // A reactor stays on the thread that made it.
    let serve = move || {
        let open = || {
            let reactor = Reactor::wall()?;
            let ringer = reactor.ringer().map_err(failed)?;
            Ok((reactor, ringer))
        };
        let opened: Result<_, Error> = open();
        let (reactor, ringer) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // The thread that started this waits for it.
                let _ = ready.send(Err(error));
                return;
            }
        };
        if ready.send(Ok(ringer)).is_err() {
            return;
        }
        if let Err(error) = Worker::new(Arc::clone(&shared), number, inbox, reactor).run() {
            let error =
                Error::from_io(statement!(catalogue::NBD_WORKER_OF, number = number), error);
            *shared.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.text());
        }
    };
    let thread = std::thread::Builder::new().name(format!("nbd-{number}")).spawn(serve);
    let thread = thread.map_err(failed)?;
    let ended = |_| Error::new(ErrorKind::Other, catalogue::NBD_WORKER_ENDED);
    let ringer = made.recv().map_err(ended)??;
    Ok((WorkerHandle { mail, ringer }, thread))
}

/// How long the accepting of connections rests when there is no room, before it looks whether it
/// should end.
const PAUSE: Duration = Duration::from_millis(100);

/// Deals connections out to the workers, to the one with the fewest first.
fn accept(shared: &ServerCore, listeners: &[Listener], handles: &[WorkerHandle], stop: &Stop) {
    // Out of descriptors: connections are left to wait until others have gone.
    let mut exhausted = false;
    while !stop.wanted.load(Ordering::Acquire) {
        let mut watched = vec![PollFd::from_borrowed_fd(stop.bell.as_fd(), PollFlags::IN)];
        if !exhausted {
            watched.extend(
                listeners
                    .iter()
                    .map(|listener| PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)),
            );
        }
        let pause = Timespec { tv_sec: 0, tv_nsec: PAUSE.subsec_nanos().into() };
        if rustix::event::poll(&mut watched, exhausted.then_some(&pause)).is_err() {
            continue;
        }
        exhausted = false;
        for listener in listeners {
            // Connections that come faster than others go wait in the kernel, where they take no
            // memory of ours.
            if !shared.admission.wait_for_room(PAUSE) {
                break;
            }
            match listener.accept() {
                Ok((descriptor, address)) => {
                    let Some((descriptor, ticket)) = shared.admission.admit(descriptor, address)
                    else {
                        continue;
                    };
                    let loads = shared.loads.iter().map(|load| load.load(Ordering::Relaxed));
                    let number = loads
                        .enumerate()
                        .min_by_key(|(_, load)| *load)
                        .map_or(0, |(number, _)| number);
                    shared.loads[number].fetch_add(1, Ordering::Relaxed);
                    handles[number].tell(Mail::Connection(descriptor, ticket, listener.tls));
                }
                Err(error)
                    if matches!(
                        Errno::from_io_error(&error),
                        Some(Errno::NFILE | Errno::MFILE | Errno::NOBUFS | Errno::NOMEM)
                    ) =>
                {
                    exhausted = true;
                }
                // No connection is there, or it has gone again.
                Err(_) => (),
            }
        }
    }
}
