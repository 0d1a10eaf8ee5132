//! The server itself: what it starts, what it does when it is asked, and how it ends.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use block::{Clock, Device, Node, Stripe};
use cache::CacheHandle;
use export::RemovalPolicy;
use export::loop_device::LoopDevice;
use host::guard::{Access, Consent, Guard};
use host::journal::Journal;
use host::mount::{self, FileSystem};
use host::{Error, facts};
use mdtools::ArrayStatus;
use reactor::Bell;
use rustix::event::{PollFd, PollFlags};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use stack::{Arrays, DeadlineWatch, Stack};
use tracing::{debug, info};

use crate::caches;
use crate::catalogue;
use crate::control;
use crate::exchange::MemberTable;
use crate::exports::{self, Exports};
use crate::image;
use crate::launch::{self, Launch};
use crate::log;
use crate::open::{self, MEMBER_TIME, OpenOptions, OpenStack};
use crate::patience::END_TIME;
use crate::protocol::Command;
use crate::runtime::{self, Claim, SOCKET};
use crate::settings::{ImageSettings, Settings, check_point};
use crate::status::{Attachment, CacheReport, MemberStatus, Status};
use crate::upkeep::{Upkeep, has_failed};
use crate::usability::{MissingPart, Usability};
use crate::watch::{ChangedFile, FileChange, Lengths, Watch};
use words::{Message, Text, statement};

/// A server that is ready.
pub struct Server {
    name: String,
    folder: PathBuf,
    /// Given up when everything has ended.
    claim: Mutex<Option<Claim>>,
    settings: Settings,
    device: Arc<dyn Device>,
    members: MemberTable,
    deadlines: Vec<DeadlineWatch>,
    caches: Vec<CacheHandle>,
    started_unix_seconds: u64,
    notes: Vec<Text>,
    exports: Mutex<Exports>,
    upkeep: Mutex<Option<Arc<Upkeep>>>,
    arrays: Mutex<Arrays>,
    /// Members that have superblocks for as long as it serves.
    marked: Vec<Arc<dyn Device>>,
    journal: Mutex<Journal>,
    /// Where this server itself has mounted file systems.
    mounted: Mutex<Vec<PathBuf>>,
    /// The loop device over an image in the first of them.
    image: Mutex<Option<LoopDevice>>,
    /// Held by whatever changes something, one at a time.
    operation: Mutex<()>,
    listener: UnixListener,
    ending: AtomicBool,
    bell: Bell,
    /// What is being done at the end.
    step: Mutex<Message>,
    watch: Watch,
    /// Closed at its other end when the run is gone that this serves.
    starter: Option<UnixStream>,
}

/// How a file system is made where there is none.
#[derive(Clone, Copy)]
struct Making<'a> {
    options: Option<&'a str>,
    stripe: Option<Stripe>,
    /// Whether it is still to be made.
    is_wanted: &'a dyn Fn() -> bool,
}

/// How long the end may take where a member does not answer: it has had its time.
const SILENT_END_TIME: Duration = Duration::from_secs(20);
/// How often it is looked whether a member does not answer.
const END_ROUND: Duration = Duration::from_secs(1);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is made before there is a server.
struct ServerParts {
    stack: Stack,
    journal: Journal,
    notes: Vec<Text>,
    exports: Exports,
    upkeep: Option<Upkeep>,
    marked: Vec<Arc<dyn Device>>,
    listener: UnixListener,
    bell: Bell,
}

impl Server {
    /// Opens the stack and makes its exports. When this returns, programs can use them. What takes
    /// minutes is ended when the server is not wanted any more, which is asked again and again.
    ///
    /// # Errors
    /// What is wrong with the stack, a member that is refused, or an export that cannot be made.
    /// Nothing is left behind then.
    pub fn start(
        claim: Claim,
        settings: Settings,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Arc<Server>, Error> {
        Server::launch(claim, Launch { settings, fresh: None }, Vec::new(), (None, is_wanted))
    }

    /// The same with members that are open already, for the run at the other end of `starter`.
    pub(crate) fn launch(
        mut claim: Claim,
        launch: Launch,
        files: Vec<File>,
        (starter, is_wanted): (Option<UnixStream>, &dyn Fn() -> bool),
    ) -> Result<Arc<Server>, Error> {
        let left = claim.left.take();
        let settings = &launch.settings;
        let consent = Consent {
            in_place: true,
            devices: settings.allow_device.clone(),
            raw: settings.raw,
            ..Consent::default()
        };
        let guard = Guard::new(consent);
        launch::adopt(&guard, files)?;
        let ServerParts { stack, journal, notes, exports, upkeep, marked, listener, bell } =
            make(&claim, left, &launch, &guard).inspect_err(|_| {
                // Files that were made for a stack that cannot be started are of no use.
                guard.undo_made();
            })?;
        let server = Arc::new(Server {
            name: claim.name().to_owned(),
            folder: claim.folder().to_owned(),
            claim: Mutex::new(Some(claim)),
            members: MemberTable::new(
                stack.arrays.running().to_vec(),
                stack.members,
                stack.inner,
                &stack.device,
                guard,
            ),
            device: stack.device,
            deadlines: stack.deadlines,
            caches: stack.caches,
            started_unix_seconds: facts::unix_seconds(),
            notes,
            exports: Mutex::new(exports),
            upkeep: Mutex::new(upkeep.map(Arc::new)),
            arrays: Mutex::new(stack.arrays),
            marked,
            // What a dead server has mounted from a block device that this one goes on with.
            mounted: Mutex::new(journal.mounts()),
            journal: Mutex::new(journal),
            image: Mutex::default(),
            operation: Mutex::new(()),
            listener,
            ending: AtomicBool::new(false),
            bell,
            step: Mutex::new(catalogue::THE_END),
            watch: Watch::default(),
            starter,
            settings: launch.settings,
        });
        // A run holds its members itself, and knows them.
        if server.starter.is_none() {
            server.watch_parts();
        }
        server.mount_as_set(is_wanted)?;
        info!(server = server.name, stack = %server.device.describe(), "serves");
        Ok(server)
    }

    /// Mounts what the settings say. Where that fails, it serves no more.
    fn mount_as_set(self: &Arc<Server>, is_wanted: &dyn Fn() -> bool) -> Result<(), Error> {
        let Some(wanted) = &self.settings.mount else { return Ok(()) };
        if wanted.folder.canonicalize().is_ok_and(|point| lock(&self.mounted).contains(&point)) {
            return Ok(());
        }
        let (options, make) = (wanted.options.as_deref(), wanted.make_options.as_deref());
        let mounted = self.mount(&wanted.folder, Some(&wanted.fs), options, (make, is_wanted));
        if let Err(error) = mounted {
            // An outer file system may be mounted already.
            self.stop(true)?;
            self.members.undo_made();
            return Err(error);
        }
        Ok(())
    }

    /// The array's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is served.
    #[must_use]
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// As what the stack appears on this machine.
    #[must_use]
    pub fn attached(&self) -> Option<Attachment> {
        lock(&self.exports).attached()
    }

    /// What a program is pointed to: the block device, the file where there is none, an NBD
    /// address, or the socket for virtual machines.
    #[must_use]
    pub fn address(&self) -> String {
        let exports = lock(&self.exports);
        let path = exports.attached().map(|attached| attached.path().display().to_string());
        let socket = || exports.vhost_user().map(|it| it.socket.display().to_string());
        path.or_else(|| exports.uris(&self.name).into_iter().next())
            .or_else(socket)
            .unwrap_or_default()
    }

    /// Where file systems on it are mounted, an outer one before what lies in its image.
    fn mounts(&self) -> Vec<PathBuf> {
        let Some(attached) = self.attached() else { return Vec::new() };
        let image = lock(&self.image).as_ref().map(|device| device.path().to_owned());
        attached
            .block_device
            .iter()
            .chain(&attached.file)
            .chain(&image)
            .flat_map(|device| mount::points_of(device))
            .collect()
    }

    /// What it serves and how that fares.
    #[must_use]
    pub fn status(&self) -> Status {
        let info = self.device.info();
        let members = self.members.leaves().into_iter().map(|member| {
            let moved = member.counters.read();
            MemberStatus {
                name: member.name,
                reads: moved.reads,
                read_bytes: moved.read_bytes,
                writes: moved.writes,
                written_bytes: moved.written_bytes,
            }
        });
        let (arrays, events, trouble) = match &*lock(&self.upkeep) {
            Some(upkeep) => {
                let status = |(number, running)| {
                    let (progress, is_idle) = upkeep.work(number);
                    ArrayStatus {
                        scrub: upkeep.last_scrub(number),
                        ..ArrayStatus::of_running(running, progress.as_ref(), is_idle)
                    }
                };
                (
                    self.members.running().iter().enumerate().map(status).collect(),
                    upkeep.events(),
                    upkeep.trouble(),
                )
            }
            None => (Vec::new(), Vec::new(), None),
        };
        let exports = lock(&self.exports);
        let silent = self.deadlines.iter().filter_map(DeadlineWatch::failure);
        let troubles = exports.troubles().into_iter().chain(trouble).chain(silent);
        Status {
            name: self.name.clone(),
            process: std::process::id(),
            usability: Some(self.usability()),
            is_measured: self.starter.is_some(),
            stack: self.device.describe().to_string(),
            size_bytes: info.size_bytes,
            block_bytes: info.block_bytes,
            read_only: self.is_read_only(),
            removal_policy: self.settings.policy.to_string(),
            rotational: info.rotational,
            started_unix_seconds: self.started_unix_seconds,
            processor_seconds: processor_seconds(),
            attached: exports.attached(),
            nbd: exports.uris(&self.name),
            nbd_clients: exports.clients(),
            vhost_user: exports.vhost_user(),
            notes: self.notes.iter().cloned().chain(troubles).chain(self.watch.notes()).collect(),
            mounts: {
                drop(exports);
                self.mounts()
            },
            members: members.collect(),
            arrays,
            caches: self
                .caches
                .iter()
                .filter_map(CacheHandle::status)
                .map(CacheReport::from)
                .collect(),
            events,
        }
    }

    /// What can be done with it now.
    fn usability(&self) -> Usability {
        self.members.usability(&self.caches, self.is_read_only())
    }

    /// Looks again and again what has become of the files that it stands on, and of parts that no
    /// array tells of, for as long as it serves.
    fn watch_parts(self: &Arc<Server>) {
        let mut noted = self.files();
        // Without it a clean-up after the server's death does not wait for the kernel.
        let _ = runtime::note_files(&self.folder, &noted);
        let (mut lengths, mut told) = (Lengths::default(), Vec::<MissingPart>::new());
        let server = Arc::downgrade(self);
        self.watch.start(move || {
            let Some(server) = server.upgrade() else { return false };
            let files = server.files();
            if files != noted {
                let _ = runtime::note_files(&server.folder, &files);
                noted = files;
            }
            for one in server.watch.note(lengths.look(&server.members.opened_files())) {
                server.file_has_changed(&one);
            }
            let missing = server.usability().missing;
            for part in missing.iter().filter(|part| !told.contains(part)) {
                // A place that was empty from the beginning has no cause.
                if let (None, Some(cause)) = (&part.told_by, &part.cause) {
                    server.tell(has_failed(&part.name, Some(cause)));
                }
            }
            told = missing;
            true
        });
    }

    /// The files that it stands on now.
    fn files(&self) -> Vec<PathBuf> {
        self.members.taken()
    }

    /// Tells of a member's file that is not what it was. One that was cut short is a member no
    /// more, where the others make up for it: a write behind its end would make a hole that reads
    /// as zeroes.
    fn file_has_changed(&self, changed: &ChangedFile) {
        let text = changed.text();
        let is_cut = matches!(changed.change, FileChange::CutShort { .. });
        // That a member has failed, and why, is an event of its own.
        if is_cut && self.members.fail_file(&changed.path, &text) {
            return;
        }
        if is_cut {
            self.members.note_gone(&changed.path, &text);
        }
        self.tell(text);
    }

    /// Has something shown among what has happened.
    fn tell(&self, text: Text) {
        if let Some(upkeep) = &*lock(&self.upkeep) {
            upkeep.record(&self.name, text);
        }
    }

    /// Whether it serves a run: what is served is made anew for it, and nobody else has anything in
    /// it.
    fn serves_a_run(&self) -> bool {
        self.starter.is_some()
    }

    fn is_read_only(&self) -> bool {
        self.device.info().read_only || self.settings.read_only
    }

    /// Serves until it is asked to end over its control socket or something can be read from
    /// `wake`: then it unmounts what it has mounted itself, and goes on serving if a process still
    /// uses that. When the run that it serves is gone, it ends in any case.
    ///
    /// # Errors
    /// What could not be done in order at the end.
    pub fn run(self: &Arc<Server>, wake: impl AsFd) -> Result<(), Error> {
        let failed =
            |error: std::io::Error| Error::from_io(catalogue::WAITING_FOR_REQUESTS, &error);
        let mut said = String::new();
        loop {
            let mut ready = vec![
                PollFd::new(&self.listener, PollFlags::IN),
                PollFd::new(&self.bell, PollFlags::IN),
                PollFd::new(&wake, PollFlags::IN),
            ];
            ready.extend(self.starter.iter().map(|run| PollFd::new(run, PollFlags::IN)));
            match rustix::event::poll(&mut ready, None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other.map_err(|error| failed(error.into()))?,
            };
            let is_ready: Vec<bool> =
                ready.iter().map(|descriptor| !descriptor.revents().is_empty()).collect();
            if self.ending.load(Ordering::Acquire) {
                return Ok(());
            }
            if is_ready.get(3) == Some(&true) {
                // What is mounted answers only as long as this process lives.
                let _ = self.take_image(mount::unmount_by_force);
                for point in lock(&self.mounted).iter().rev() {
                    let _ = mount::unmount_by_force(point);
                }
                return self.stop(true).and_then(|problems| in_order(&problems));
            }
            if is_ready[2] {
                let mut signals = [0; 64];
                let _ = rustix::io::read(&wake, &mut signals);
                match self.stop(true) {
                    Ok(problems) => return in_order(&problems),
                    // Ending now would tear the device away from under a file system.
                    Err(error) => {
                        // What is asked again and again need not be told again and again.
                        let why = error.to_string();
                        if said != why {
                            escape::err(&format!("raidloom: not ended: {why}"));
                            said = why;
                        }
                    }
                }
            }
            if is_ready[0] {
                match self.listener.accept() {
                    Ok((stream, _)) => self.answer(stream),
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => (),
                    Err(error) => return Err(failed(error)),
                }
            }
        }
    }

    /// Answers requests over a connection to the control socket.
    fn answer(self: &Arc<Server>, stream: UnixStream) {
        let [server, ended] = [self, self].map(Arc::clone);
        let carry_out = move |command| server.carry_out(command);
        control::answer(stream, &self.name, carry_out, move || ended.end());
    }

    /// Wakes [`Server::run`], which ends.
    fn end(&self) {
        info!(server = self.name, "ends");
        self.ending.store(true, Ordering::Release);
        self.bell.ring();
    }

    /// Does what a request asks for.
    fn carry_out(self: &Arc<Server>, command: Command) -> Result<Value, Error> {
        debug!(server = self.name, ?command, "asked");
        match command {
            Command::Status => return Ok(json!(self.status())),
            Command::Settings => return Ok(json!(self.settings)),
            // Other commands may be carried out meanwhile.
            Command::Wait { .. } => return self.exchange(command),
            Command::Log { filter } => {
                filter.iter().try_for_each(|filter| log::set(filter))?;
                return Ok(json!({ "filter": log::filter() }));
            }
            _ => (),
        }
        let _operation = lock(&self.operation);
        match command {
            Command::Stop => self.end_all().map(|problems| told(&problems)),
            Command::Mount { point, file_system, options } => {
                self.mount(&point, file_system.as_deref(), options.as_deref(), (None, &|| true))
            }
            Command::Unmount => self.unmount(),
            Command::FlushCaches => caches::flush(&self.name, &self.caches),
            Command::ResizeCache { cache, size_bytes } => {
                caches::resize(&self.name, &self.caches, &*self.upkeep()?, cache, size_bytes)
            }
            other => self.exchange(other),
        }
    }

    fn upkeep(&self) -> Result<Arc<Upkeep>, Error> {
        lock(&self.upkeep).clone().ok_or_else(|| Error::failed(catalogue::SERVER_ENDS))
    }

    fn exchange(&self, command: Command) -> Result<Value, Error> {
        self.members.carry_out(&*self.upkeep()?, command).map_err(|error| error.at(&self.name))
    }

    /// Ends everything in order, and says what could not be done so; with `unmounts` also file
    /// systems that this server has mounted itself.
    ///
    /// # Errors
    /// What still uses it. Then it is still served.
    pub fn stop(self: &Arc<Server>, unmounts: bool) -> Result<Vec<Text>, Error> {
        let _operation = lock(&self.operation);
        if unmounts {
            self.take_image(mount::unmount_patiently)?;
            let own = lock(&self.mounted).clone();
            self.mounts()
                .iter()
                .rev()
                .filter(|point| own.contains(point))
                .try_for_each(|point| mount::unmount_patiently(point))?;
        }
        self.end_all()
    }

    /// Ends everything in order, as far as devices answer. What does not come to its end is named.
    fn end_all(self: &Arc<Server>) -> Result<Vec<Text>, Error> {
        let (sender, ended) = mpsc::channel();
        let server = Arc::clone(self);
        let end = move || {
            let _ = sender.send(server.end_in_order());
        };
        let failed = |error| Error::from_io(catalogue::THREAD_TO_END_ON, &error);
        std::thread::Builder::new().name("end".to_owned()).spawn(end).map_err(failed)?;
        let mut waited = Duration::ZERO;
        loop {
            match ended.recv_timeout(END_ROUND) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::failed(statement!(
                        catalogue::ENDING_WENT_WRONG,
                        name = &self.name
                    )));
                }
                Err(RecvTimeoutError::Timeout) => waited += END_ROUND,
            }
            let silent: Vec<Text> =
                self.deadlines.iter().filter_map(DeadlineWatch::failure).collect();
            if waited >= if silent.is_empty() { END_TIME } else { SILENT_END_TIME } {
                let (name, step) = (&self.name, *lock(&self.step));
                let why = if silent.is_empty() {
                    Text::default()
                } else {
                    Text::from(" (").and(Text::joined(silent, "; ")).and(")")
                };
                let text = statement!(
                    catalogue::STEP_NOT_ENDED,
                    step = step,
                    time = block::duration_text(waited),
                    why = why,
                    process = std::process::id(),
                );
                return Ok(vec![text.at(name)]);
            }
        }
    }

    /// Exports, then the upkeep, then what they stood on.
    fn end_in_order(&self) -> Result<Vec<Text>, Error> {
        let name = &self.name;
        let step = |step| *lock(&self.step) = step;
        step(catalogue::TAKING_EXPORTS_AWAY);
        if let Some(point) = self.mounts().last() {
            let advice = format!("raidloom array umount {name}");
            let point = point.display();
            let said = statement!(catalogue::MOUNTED_FROM, point = point, advice = advice);
            return Err(Error::refused(said).at(name));
        }
        let changed = self.watch.look_now();
        self.refuse_to_lose(&changed)?;
        Exports::end(&self.exports, self.serves_a_run())
            .map_err(|error| Error::from(error).at(name))?;
        self.watch.end();
        // The others say that it has failed before they are called clean: so an old copy under its
        // name is found out by the next start.
        for changed in changed.iter().filter(|changed| changed.change.is_out_of_place()) {
            self.members.fail_file(&changed.path, &changed.text());
        }
        let mut problems: Vec<Text> = Vec::new();
        if self.serves_a_run() && !self.is_read_only() {
            step(catalogue::WIPING_RUN);
            let wiped = mdtools::erase_marks(&*self.device);
            problems.extend(wiped.err().map(|error| error.text().clone().at(name)));
        }
        step(catalogue::ENDING_UPKEEP);
        if let Some(upkeep) = lock(&self.upkeep).take() {
            upkeep.end();
        }
        let ended = open::Ending {
            device: &*self.device,
            caches: &self.caches,
            arrays: &mut lock(&self.arrays),
            marked: &self.marked,
            reactor: None,
        };
        let ended = ended.end(&mut |doing| step(doing));
        let harm = changed.iter().filter(|changed| changed.change.is_harm());
        let of_others = (ended.into_iter()).chain(harm.map(ChangedFile::text_at_end));
        problems.extend(of_others.map(|problem| problem.at(name)));
        let journal = std::mem::replace(&mut *lock(&self.journal), Journal::new(&self.folder));
        problems.extend(journal.undo());
        // A run's members stay locked: they are its own.
        if problems.is_empty() && !self.serves_a_run() {
            self.members.let_go();
        }
        drop(lock(&self.claim).take());
        Ok(problems)
    }

    /// Refuses the end where it would take the only copy of something with it.
    fn refuse_to_lose(&self, changed: &[ChangedFile]) -> Result<(), Error> {
        let lost: Vec<&ChangedFile> =
            changed.iter().filter(|changed| changed.change.is_lost_when_closed()).collect();
        let files: Vec<&Path> = lost.iter().map(|lost| lost.path.as_path()).collect();
        if files.is_empty() || self.members.can_do_without(&files) {
            return Ok(());
        }
        let lines = Text::joined(lost.iter().map(|lost| lost.text()), "; ");
        Err(Error::failed(statement!(
            catalogue::NOT_STOPPED,
            name = &self.name,
            lost = lines,
            process = std::process::id()
        )))
    }

    fn mount(
        &self,
        point: &Path,
        file_system: Option<&str>,
        options: Option<&str>,
        (make_options, is_wanted): (Option<&str>, &dyn Fn() -> bool),
    ) -> Result<Value, Error> {
        let kind = file_system.map(FileSystem::named).transpose()?;
        let Some(attached) = self.attached() else {
            return Err(Error::usage(catalogue::NOT_ATTACHED).at(&self.name));
        };
        let Some(device) = &attached.block_device else {
            return Err(Error::failed(catalogue::NO_DEVICE_TO_MOUNT).at(&self.name));
        };
        check_point(point)?;
        let image = self.settings.mount.as_ref().and_then(|wanted| wanted.image.as_ref());
        // A file of another file system lies on no stripes that this one could align to.
        let (device, stripe) = match image {
            Some(image) => (self.attach_image(device, image, is_wanted)?, None),
            None => (device.clone(), self.device.info().stripe),
        };
        let make = Making { options: make_options, stripe, is_wanted };
        let (file_system, made) = self.mount_on(&device, point, kind, options, make)?;
        Ok(json!({ "device": device, "point": point, "file_system": file_system, "made": made }))
    }

    /// Mounts the file system on a device of ours, and makes it where there is none. Says which it
    /// is, and whether it was made.
    fn mount_on(
        &self,
        device: &Path,
        point: &Path,
        kind: Option<FileSystem>,
        options: Option<&str>,
        make: Making<'_>,
    ) -> Result<(String, bool), Error> {
        let options = mount_options(self.settings.policy, self.is_read_only(), options);
        let options = options.as_deref();
        let found = mount::holds(device)?;
        if found.is_none() {
            if self.is_read_only() {
                return Err(Error::refused(catalogue::NO_FILE_SYSTEM).at(device.display()));
            }
            let Some(kind) = kind else {
                let text = statement!(catalogue::HOLDS_NO_FILE_SYSTEM, name = &self.name);
                return Err(Error::usage(text));
            };
            kind.check_options(options)?;
            kind.make_with(device, make.options, make.stripe, make.is_wanted)?;
        }
        // The kernel's table names the real path.
        let point =
            point.canonicalize().map_err(|error| Error::from_io(point.display(), &error))?;
        lock(&self.journal).note_mount(&point, device)?;
        let mounted = match kind {
            Some(kind) => kind.mount(device, &point, options).map(|()| kind.name.to_owned()),
            None => mount::mount_found(device, &point, options),
        };
        let file_system = mounted.map_err(|error| match found {
            Some(found) => error.then(statement!(
                catalogue::DEVICE_HOLDS,
                device = device.display(),
                found = found
            )),
            None => error,
        })?;
        lock(&self.mounted).push(point);
        Ok((file_system, found.is_none()))
    }

    /// Mounts the outer file system in the server's folder, makes the image in it unless it is
    /// there, and a loop device over it.
    fn attach_image(
        &self,
        device: &Path,
        wanted: &ImageSettings,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<PathBuf, Error> {
        let mut attached = lock(&self.image);
        if let Some(attached) = &*attached {
            return Ok(attached.path().to_owned());
        }
        let wanted_image = wanted.image()?;
        let kind = FileSystem::named(&wanted.outer_fs)?;
        let outer = self.folder.join(image::OUTER);
        lock(&self.journal).make_folder(&outer)?;
        let outer =
            outer.canonicalize().map_err(|error| Error::from_io(outer.display(), &error))?;
        let make = Making {
            options: wanted.outer_make_options.as_deref(),
            stripe: self.device.info().stripe,
            is_wanted,
        };
        self.mount_on(device, &outer, Some(kind), wanted.outer_options.as_deref(), make)?;
        let file = outer.join(wanted_image.file_name());
        image::make(&wanted_image, &file)?;
        lock(&self.journal).note_loop(&file)?;
        let options = image::loop_options(&wanted_image, self.is_read_only());
        let made = LoopDevice::attach_with(&file, &options)?;
        lock(&self.journal).note_loop_device(&file, made.path())?;
        exports::tell_kernel(made.path(), self.device.info().rotational);
        if wanted_image.direct && !made.is_direct() {
            return Err(Error::failed(catalogue::IMAGE_NOT_DIRECT).at(outer.display()));
        }
        Ok(attached.insert(made).path().to_owned())
    }

    /// Unmounts what this server has mounted from the image, and takes its loop device away.
    fn take_image(&self, unmount: fn(&Path) -> Result<(), Error>) -> Result<(), Error> {
        let mut image = lock(&self.image);
        let Some(device) = &mut *image else { return Ok(()) };
        let own = lock(&self.mounted).clone();
        let points = mount::points_of(device.path());
        let own = points.iter().rev().filter(|point| own.contains(point));
        own.cloned().try_for_each(|point| unmount(&point))?;
        exports::detach(device, self.serves_a_run())
            .map_err(|error| Error::from(error).at(&self.name))?;
        *image = None;
        Ok(())
    }

    fn unmount(&self) -> Result<Value, Error> {
        let mounts = self.mounts();
        if mounts.is_empty() {
            return Err(Error::usage(catalogue::NOTHING_IS_MOUNTED).at(&self.name));
        }
        let unmount = if self.serves_a_run() { end_mount } else { mount::unmount_patiently };
        self.take_image(unmount)?;
        // What was mounted over another goes first.
        self.mounts().iter().rev().try_for_each(|point| unmount(point))?;
        lock(&self.mounted).clear();
        Ok(json!({ "points": mounts }))
    }
}

/// Unmounts what a run has mounted: somebody who has a look at it does not end the run.
fn end_mount(point: &Path) -> Result<(), Error> {
    mount::unmount_patiently(point).or_else(|_| mount::unmount_by_force(point))
}

/// A file system keeps what is written to it for itself for a while, whatever is below. On a drive
/// of quick removal it is mounted so that it does not, unless the options given say otherwise.
#[must_use]
pub fn mount_options(
    policy: RemovalPolicy,
    read_only: bool,
    given: Option<&str>,
) -> Option<String> {
    let says = given
        .is_some_and(|options| options.split(',').any(|option| matches!(option, "sync" | "async")));
    match given {
        given if !policy.writes_durably() || read_only || says => given.map(str::to_owned),
        Some(given) if !given.is_empty() => Some(format!("{given},sync")),
        _ => Some("sync".to_owned()),
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // In this order: what stands on another goes first. What is gone already is left alone.
        let journal = std::mem::replace(
            self.journal.get_mut().unwrap_or_else(PoisonError::into_inner),
            Journal::new(&self.folder),
        );
        for problem in journal.undo() {
            escape::err(&format!("raidloom: {problem}"));
        }
    }
}

/// What the end of a server is answered with.
fn told(problems: &[Text]) -> Value {
    let english: Vec<String> = problems.iter().map(Text::english).collect();
    let mut answer = json!({ "problems": english });
    if !problems.is_empty() {
        answer["problem_parts"] = json!(problems);
    }
    answer
}

/// What could not be done in order is an error.
fn in_order(problems: &[Text]) -> Result<(), Error> {
    if problems.is_empty() { Ok(()) } else { Err(Error::failed(Text::joined(problems, "\n"))) }
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Erases what a stack and its files and disks carry (arrays, file systems, caches), for a person
/// has given them up for what is made anew, which is made only where nothing known is. Files that
/// are not there are made, as the settings say; the guard opens what is there, with the consent
/// that it has, and lets go of nothing.
///
/// # Errors
/// What the guard refuses, what cannot be opened, or not be written.
pub fn erase(settings: &Settings, guard: &Guard) -> Result<(), Error> {
    let options = open_options(settings, guard)?;
    let node = settings.tree()?;
    let is_there = |leaf: &&Node| leaf.file_path().is_some_and(|path| path.exists());
    let leaves: Vec<&Node> = node.leaves().into_iter().filter(is_there).collect();
    // All are refused or none, before the first byte is written.
    for path in leaves.iter().filter_map(|leaf| leaf.file_path()) {
        guard.open(&path, Access::Write)?;
    }
    guard.refuse_stray_consent()?;
    for node in leaves.into_iter().chain([&node]) {
        let opened = OpenStack::open(node, &options)?;
        mdtools::erase_marks(&*opened.stack.device)?;
        opened.end()?;
    }
    Ok(())
}

/// How a stack is opened that is to be served as it is.
fn open_options<'a>(settings: &Settings, guard: &'a Guard) -> Result<OpenOptions<'a>, Error> {
    let size = settings.size.as_deref().map(stack::size::parse).transpose();
    let size = size.map_err(|error| Error::usage(error).at("--size"))?.map(|size| size.bytes);
    let create_bytes = match (settings.create, size) {
        (false, None) => None,
        (false, Some(_)) => {
            return Err(Error::usage(catalogue::SIZE_WITHOUT_CREATE));
        }
        (true, Some(size)) => Some(size),
        (true, None) => {
            check_sizes(&settings.tree()?)?;
            Some(0)
        }
    };
    let member_time =
        settings.member_timeout.as_deref().map(stack::size::parse_duration).transpose();
    let member_time = member_time
        .map_err(|error| Error::usage(error).at("--member-timeout"))?
        .unwrap_or(MEMBER_TIME);
    Ok(OpenOptions {
        files: guard,
        seed: 0,
        read_only: settings.read_only,
        create_bytes,
        member_time: (!member_time.is_zero()).then_some(member_time),
        upkeep: !settings.no_upkeep,
        new_array: None,
        reactor: None,
        models: None,
    })
}

/// Opens the stack and makes its exports; `left` is the journal with what a dead server has left of
/// them.
fn make(
    claim: &Claim,
    left: Option<Journal>,
    launch: &Launch,
    guard: &Guard,
) -> Result<ServerParts, Error> {
    let Launch { settings, fresh } = launch;
    let options = OpenOptions {
        seed: fresh.as_ref().map_or(0, |fresh| fresh.seed),
        new_array: fresh.as_ref().and_then(|fresh| fresh.new_array.as_ref()),
        ..open_options(settings, guard)?
    };
    let OpenStack { stack, upkeep, marked, .. } = OpenStack::open(&settings.tree()?, &options)?;
    // A run serves them too: paced in real time, for as long as it measures.
    if fresh.is_none() && stack.clock == Clock::Virtual {
        return Err(Error::usage(catalogue::NOTHING_TO_SERVE));
    }
    if fresh.is_some() {
        mdtools::erase_marks(&*stack.device)?;
    }
    let mut journal = left.unwrap_or_else(|| Journal::new(claim.folder()));
    let mut notes: Vec<Text> = claim.notes.iter().chain(&stack.notes).cloned().collect();
    let exports = Exports::make(claim, settings, &stack.device, &mut journal, &mut notes)?;
    let listener = control::listen(&claim.folder().join(SOCKET))?;
    let bell =
        Bell::nonblocking().map_err(|error| Error::from_io(catalogue::MAKING_EVENTFD, &error))?;
    Ok(ServerParts { stack, journal, notes, exports, upkeep, marked, listener, bell })
}

/// Files that are made have to say how large they are.
fn check_sizes(node: &Node) -> Result<(), Error> {
    for leaf in node.leaves() {
        let Node::Leaf { scheme, address, options } = leaf else { continue };
        if scheme == "file"
            && !options.iter().any(|(name, _)| name == "size")
            && !block::text_path(address).exists()
        {
            let said = statement!(catalogue::NOT_THERE, address = address);
            return Err(Error::usage(said).at(address));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `quick` must not promise what it does not give under a mounted file system.
    #[test]
    fn a_file_system_on_a_drive_of_quick_removal_is_mounted_so_that_it_writes_through() {
        let quick = |given| mount_options(RemovalPolicy::Quick, false, given);
        assert_eq!(quick(None).as_deref(), Some("sync"));
        assert_eq!(quick(Some("noatime")).as_deref(), Some("noatime,sync"));
        assert_eq!(
            quick(Some("async,noatime")).as_deref(),
            Some("async,noatime"),
            "who says so in so many words gets it"
        );
        assert_eq!(mount_options(RemovalPolicy::Quick, true, None), None);
        assert_eq!(
            mount_options(RemovalPolicy::Performance, false, Some("noatime")).as_deref(),
            Some("noatime")
        );
    }
}
