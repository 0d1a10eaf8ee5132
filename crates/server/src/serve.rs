//! The server itself: what it starts, what it does when it is asked, and how it ends.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::Clock;
use export::RemovalPolicy;
use export::fuse::{FuseFile, FuseOptions};
use export::loop_device::LoopDevice;
use lab::guard::{Access, Consent, Guard};
use lab::journal::Journal;
use lab::mount::{self, FileSystem};
use lab::{Error, host};
use rustix::event::{EventfdFlags, PollFd, PollFlags};
use serde_json::{Value, json};
use stack::{BuildContext, OpenFiles, Stack};

use crate::control;
use crate::protocol::Command;
use crate::runtime::{Claim, DISK, SOCKET};
use crate::status::{Attached, MemberStatus, Status};

/// How a stack appears on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attach {
    /// Not at all.
    #[default]
    No,
    /// As a file, and as a block device where the kernel has loop devices and we may make them.
    Yes,
    /// As a file only.
    File,
}

/// What is to be served, and how.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The stack text.
    pub stack: String,
    /// Nothing is opened for writing, and writes are refused.
    pub read_only: bool,
    /// Files that are not there are made, of this size unless they name their own.
    pub create_bytes: Option<u64>,
    /// When writes are durable.
    pub policy: RemovalPolicy,
    /// How it appears on this machine.
    pub attach: Attach,
    /// Whether the kernel keeps what it reads in its page cache.
    pub page_cache: bool,
    /// Threads that serve the file; 0 chooses.
    pub workers: usize,
    /// Block devices without an identity that may be used.
    pub devices: Vec<PathBuf>,
}

/// Opens members through the guard, for use as they are.
struct Members(Guard);

impl OpenFiles for Members {
    fn open(&self, path: &Path, read_only: bool, create: Option<u64>) -> Result<File, block::Error> {
        if let Some(bytes) = create
            && !path.exists()
        {
            self.0.make_file(path, bytes, |_| Ok::<(), block::Error>(()))?;
        }
        self.0.open(path, if read_only { Access::Read } else { Access::Write })
    }

    fn open_kept(&self, path: &Path, size_bytes: u64) -> Result<File, block::Error> {
        OpenFiles::open_kept(&self.0, path, size_bytes)
    }
}

/// What is made outside this process, in the order in which it is undone.
#[derive(Default)]
struct Exports {
    block_device: Option<LoopDevice>,
    file: Option<FuseFile>,
}

/// A server that is ready.
pub struct Server {
    claim: Claim,
    settings: Settings,
    stack: Stack,
    started_unix_seconds: u64,
    notes: Vec<String>,
    exports: Mutex<Exports>,
    journal: Mutex<Journal>,
    /// Held by whatever changes something, one at a time.
    operation: Mutex<()>,
    listener: UnixListener,
    ending: AtomicBool,
    bell: OwnedFd,
    // Last: locks of the members are let go of when all else is gone.
    _members: Members,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Opens the stack and makes its exports. When this returns, programs can use them.
    ///
    /// # Errors
    /// What is wrong with the stack, a member that is refused, or an export that cannot be made. Nothing is left behind then.
    pub fn start(claim: Claim, settings: Settings) -> Result<Server, Error> {
        let consent = Consent { in_place: true, devices: settings.devices.clone(), ..Consent::default() };
        let members = Members(Guard::new(consent));
        let context =
            BuildContext { files: &members, seed: 0, read_only: settings.read_only, create_bytes: settings.create_bytes, emulate: true };
        let made = Server::build(&settings, &context).and_then(|stack| {
            let mut journal = Journal::new(claim.folder());
            let mut notes: Vec<String> = claim.notes.iter().chain(&stack.notes).cloned().collect();
            let exports = make_exports(&claim, &settings, &stack, &mut journal, &mut notes)?;
            let listener = control::listen(&claim.folder().join(SOCKET))?;
            Ok((stack, journal, notes, exports, listener))
        });
        let (stack, journal, notes, exports, listener) = made.inspect_err(|_| {
            // Files that were made for a stack that cannot be started are of no use.
            members.0.remove_made();
        })?;
        let bell = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Server {
            claim,
            settings,
            stack,
            started_unix_seconds: host::unix_seconds(),
            notes,
            exports: Mutex::new(exports),
            journal: Mutex::new(journal),
            operation: Mutex::new(()),
            listener,
            ending: AtomicBool::new(false),
            bell: bell.map_err(|error| Error::from_io("making an eventfd", &error.into()))?,
            _members: members,
        })
    }

    fn build(settings: &Settings, context: &BuildContext<'_>) -> Result<Stack, Error> {
        let stack = stack::parse_and_build(&settings.stack, context)?;
        if stack.clock == Clock::Virtual {
            return Err(Error::usage(
                "a stack of modelled disks alone keeps no data and runs on a clock of its own; there is nothing to serve",
            ));
        }
        if !stack.device.info().stores_data && settings.attach == Attach::No {
            return Err(Error::usage("nothing that this stack is told is kept"));
        }
        Ok(stack)
    }

    /// As what the stack appears on this machine.
    #[must_use]
    pub fn attached(&self) -> Option<Attached> {
        let exports = lock(&self.exports);
        let file = exports.file.as_ref()?.path().to_owned();
        Some(Attached { file, block_device: exports.block_device.as_ref().map(|device| device.path().to_owned()) })
    }

    /// Where file systems on it are mounted.
    fn mounts(&self) -> Vec<PathBuf> {
        let Some(attached) = self.attached() else { return Vec::new() };
        attached.block_device.iter().chain([&attached.file]).flat_map(|device| mount::points_of(device)).collect()
    }

    /// What it serves and how that fares.
    #[must_use]
    pub fn status(&self) -> Status {
        let info = self.stack.device.info();
        let members = self.stack.members.iter().map(|member| {
            let moved = member.counters.read();
            MemberStatus {
                name: member.name.clone(),
                reads: moved.reads,
                read_bytes: moved.read_bytes,
                writes: moved.writes,
                written_bytes: moved.written_bytes,
            }
        });
        let failure = lock(&self.exports).file.as_ref().and_then(FuseFile::failure);
        Status {
            name: self.claim.name().to_owned(),
            process: std::process::id(),
            stack: self.stack.device.describe().to_string(),
            size_bytes: info.size_bytes,
            block_bytes: info.block_bytes,
            read_only: info.read_only || self.settings.read_only,
            removal_policy: self.settings.policy.to_string(),
            started_unix_seconds: self.started_unix_seconds,
            attached: self.attached(),
            nbd: Vec::new(),
            mounts: self.mounts(),
            members: members.collect(),
            notes: self.notes.iter().cloned().chain(failure.map(|error| format!("the file is not served any more: {error}"))).collect(),
        }
    }

    /// Serves until it is asked to end over its control socket or something can be read from `wake`.
    ///
    /// # Errors
    /// What could not be undone at the end.
    pub fn run(self: &Arc<Server>, wake: impl AsFd) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::from_io("waiting for requests", &error);
        loop {
            let mut ready =
                [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN), PollFd::new(&wake, PollFlags::IN)];
            match rustix::event::poll(&mut ready, None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other.map_err(|error| failed(error.into()))?,
            };
            let is_ready = ready.map(|descriptor| !descriptor.revents().is_empty());
            if self.ending.load(Ordering::Acquire) {
                return Ok(());
            }
            if is_ready[2] {
                let mut signals = [0; 64];
                let _ = rustix::io::read(&wake, &mut signals);
                match self.stop() {
                    Ok(()) => return Ok(()),
                    // Ending now would tear the device away from under a file system. A second signal does.
                    Err(error) => eprintln!("raidloom: not ended: {error}"),
                }
            }
            if is_ready[0] {
                match self.listener.accept() {
                    Ok((stream, _)) => control::answer(self, stream),
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => (),
                    Err(error) => return Err(failed(error)),
                }
            }
        }
    }

    /// Wakes [`Server::run`], which ends.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Release);
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Does what a request asks for.
    pub(crate) fn carry_out(&self, command: Command) -> Result<Value, Error> {
        if command == Command::Status {
            return Ok(json!(self.status()));
        }
        let _operation = lock(&self.operation);
        match command {
            Command::Status => unreachable!("answered above"),
            Command::Stop => self.stop_exports().map(|()| Value::Null),
            Command::Mount { point, file_system, options } => self.mount(&point, &file_system, options.as_deref()),
            Command::Unmount => self.unmount(),
            Command::Fail { .. } | Command::Remove { .. } | Command::Add { .. } | Command::Replace { .. } | Command::Scrub { .. } => {
                Err(Error::usage(format!("{}: its outermost layer has no members to exchange", self.claim.name())))
            }
        }
    }

    /// Ends everything in order, unless something is mounted from it.
    ///
    /// # Errors
    /// Who still uses it.
    pub fn stop(&self) -> Result<(), Error> {
        let _operation = lock(&self.operation);
        self.stop_exports()
    }

    fn stop_exports(&self) -> Result<(), Error> {
        let name = self.claim.name();
        if let Some(point) = self.mounts().first() {
            let advice = format!("raidloom array umount {name}");
            return Err(Error::refused(format!("{name}: it is mounted at {}; `{advice}` unmounts it", point.display())));
        }
        let mut exports = lock(&self.exports);
        let busy = |error: block::Error| Error::from(error).at(name);
        if let Some(device) = &mut exports.block_device {
            device.detach().map_err(busy)?;
        }
        exports.block_device = None;
        if let Some(file) = &mut exports.file {
            file.unmount().map_err(busy)?;
        }
        exports.file = None;
        Ok(())
    }

    fn mount(&self, point: &Path, file_system: &str, options: Option<&str>) -> Result<Value, Error> {
        let kind = FileSystem::named(file_system)?;
        let Some(attached) = self.attached() else {
            return Err(Error::usage(format!("{}: it is not attached; start it with --attach", self.claim.name())));
        };
        let Some(device) = &attached.block_device else {
            let text = "there is no block device to mount; the kernel has no loop devices here, or only root may make them";
            return Err(Error::failed(format!("{}: {text}", self.claim.name())));
        };
        if !point.is_absolute() || !point.is_dir() {
            return Err(Error::usage(format!("{}: it is no folder to mount on", point.display())));
        }
        let found = mount::holds(device)?;
        if found.is_none() {
            if self.status().read_only {
                return Err(Error::refused(format!("{}: it holds no file system, and it is read-only", device.display())));
            }
            kind.make(device)?;
        }
        // The kernel's table names the real path.
        let point = point.canonicalize().map_err(|error| Error::from_io(point.display(), &error))?;
        lock(&self.journal).note_mount(&point, device)?;
        kind.mount(device, &point, options).map_err(|error| match found {
            Some(found) => error.then(format!("{} holds: {found}", device.display())),
            None => error,
        })?;
        Ok(json!({ "device": device, "point": point, "file_system": kind.name, "made": found.is_none() }))
    }

    fn unmount(&self) -> Result<Value, Error> {
        let mounts = self.mounts();
        if mounts.is_empty() {
            return Err(Error::usage(format!("{}: nothing is mounted from it", self.claim.name())));
        }
        // What was mounted over another goes first.
        mounts.iter().rev().try_for_each(|point| mount::unmount(point))?;
        Ok(json!({ "points": mounts }))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // In this order: what stands on another goes first. What is gone already is left alone.
        let journal = std::mem::replace(self.journal.get_mut().unwrap_or_else(PoisonError::into_inner), Journal::new(self.claim.folder()));
        for problem in journal.undo() {
            eprintln!("raidloom: {problem}");
        }
    }
}

fn make_exports(
    claim: &Claim,
    settings: &Settings,
    stack: &Stack,
    journal: &mut Journal,
    notes: &mut Vec<String>,
) -> Result<Exports, Error> {
    let mut exports = Exports::default();
    if settings.attach == Attach::No {
        return Ok(exports);
    }
    let path = claim.folder().join(DISK);
    let placeholder = File::create_new(&path).map_err(|error| Error::from_io(path.display(), &error))?;
    journal.note_file(&path, &placeholder)?;
    drop(placeholder);
    let path = path.canonicalize().map_err(|error| Error::from_io(path.display(), &error))?;
    journal.note_served(&path)?;
    let options =
        FuseOptions { workers: settings.workers, read_only: settings.read_only, policy: settings.policy, page_cache: settings.page_cache };
    exports.file = Some(FuseFile::mount(Arc::clone(&stack.device), &path, &options)?);
    if settings.attach == Attach::Yes {
        journal.note_loop(&path)?;
        let info = stack.device.info();
        let read_only = settings.read_only || info.read_only;
        match LoopDevice::attach(&path, info.block_bytes, read_only) {
            Ok(device) => {
                if !device.is_direct() {
                    notes.push(format!(
                        "{}: the kernel caches its blocks a second time, for it refuses direct I/O",
                        device.path().display()
                    ));
                }
                exports.block_device = Some(device);
            }
            Err(error) => notes.push(format!("it is attached as a file only: {error}")),
        }
    }
    Ok(exports)
}
