//! `model:NAME`: a modelled disk as a device.
//!
//! ```text
//!   channel --submit, poll--> [ one lock: machine of all disks on the link ] --answers--> mailbox of each channel
//!      |                                       ^
//!      +-- timer on its own reactor, at the    | asked at that time: an answer, or the next such time?
//!          earliest time at which an answer can come
//! ```
//!
//! The machine's time is the reactor's, shifted: on the virtual clock the disk is as fast as it is
//! computed, on the wall clock the same code answers in real time. When all channels are closed the
//! disks stand still, and the next channel goes on from there; so a device may be used on one
//! reactor after another. On the virtual clock all channels that are open at a time, on disks of
//! one link, must be on one reactor. On the wall clock each may have its own.
//!
//! A modelled disk keeps no data unless it is told to (`data=keep`, `keep_first=SIZE`): a read then
//! leaves its buffer as it is.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{
    Blocking, Channel, Clock, Completion, Device, DiscardSupport, Error, ErrorKind, Info, Node, Op,
    Reactor, Request, SECTOR_BYTES, Support, Time, TracedChannel, size_text,
};
use reactor::{Signal, Slots, Source, TimerAction};

use words::statement;

use super::machine::Machine;
use super::messages;
use super::notes::MediaNote;
use super::parameters::{LinkParameters, Parameters};
use super::request::Operation;
use super::unflushed::{Survival, UnflushedSectors};
use crate::ram::RamDevice;

/// How a modelled disk is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// Keep written data in memory, so that it can be read back.
    pub keep_data: bool,
    /// Without that, keep what is written to so many bytes of the start: where md's superblocks
    /// are.
    pub keep_first_bytes: u64,
    /// The link it hangs on, if not the one that the model names.
    pub link: Option<String>,
    /// No more than so many bytes of its start are used: the outer tracks.
    pub size_bytes: Option<u64>,
    /// Which set of parameters is drawn from their intervals; those of the model without it.
    pub draw: Option<u64>,
}

/// The links of one machine: disks that name the same one share it, in one stack or in several. A
/// clone has the same links.
#[derive(Clone, Debug, Default)]
pub struct Links {
    by_name: Arc<Mutex<ByName>>,
}

/// What the first disk on a link says of it, and the disks on it.
type ByName = HashMap<String, (LinkParameters, Arc<LinkedDisks>)>;

/// All disks on a link.
struct LinkedDisks(Mutex<State>);

impl fmt::Debug for LinkedDisks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Shared")
    }
}

struct State {
    machine: Machine,
    clients: Vec<Client>,
    /// Of the open channels.
    clock: Option<Clock>,
    /// What the open channels add to their reactor's time, wrapping, to have the machine's.
    shift: u64,
    /// Disks whose way to the media is noted, with what was noted of each, in the time of the
    /// reactor on which it was used.
    notes: Vec<(usize, Vec<MediaNote>)>,
}

/// A channel, as the machine's side sees it.
struct Client {
    open: bool,
    /// Requests in the machine.
    outstanding: u32,
    /// Slots of requests that are done.
    mailbox: Vec<u32>,
}

impl LinkedDisks {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves nothing here half done that matters to others.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes over what the machine has noted, while its shift is known.
    fn collect_notes(&mut self) {
        let State { machine, notes, shift, .. } = self;
        let on_reactor = |time: u64| time.wrapping_sub(*shift);
        for (disk, notes) in notes {
            notes.extend(machine.take_notes(*disk).into_iter().map(|note| match note {
                MediaNote::Arrived { time, start, end } => {
                    MediaNote::Arrived { time: on_reactor(time), start, end }
                }
                MediaNote::Written { taken, begins, ends, start, end } => MediaNote::Written {
                    taken: on_reactor(taken),
                    begins: on_reactor(begins),
                    ends: on_reactor(ends),
                    start,
                    end,
                },
            }));
        }
    }

    /// The machine's time at a reactor's `now`. A channel that lags behind what another reactor's
    /// has seen catches up.
    fn time(&self, now: Time, shift: &Cell<u64>) -> u64 {
        let now = now.nanoseconds();
        let behind = self.machine.now().wrapping_sub(now).wrapping_sub(shift.get()) as i64;
        if behind > 0 {
            shift.set(shift.get().wrapping_add(behind as u64));
        }
        now.wrapping_add(shift.get())
    }

    fn advance(&mut self, now: u64) {
        let clients = &mut self.clients;
        self.machine.advance(now, &mut |answer| {
            let client = &mut clients[answer.client as usize];
            client.outstanding -= 1;
            if client.open {
                client.mailbox.push(answer.tag as u32);
            }
        });
    }
}

/// A modelled disk.
pub struct ModelDevice {
    info: Info,
    node: Node,
    shared: Arc<LinkedDisks>,
    disk: usize,
    /// Most data of one command, in bytes.
    command_limit: u64,
    /// What is kept, from the start on.
    data: Option<RamDevice>,
    /// What a power cut would lose, where that is asked for.
    unflushed: Option<Arc<Mutex<UnflushedSectors>>>,
}

/// What a power cut did to a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerCut {
    /// What was in its write cache and not on the media, in bytes.
    pub cached_bytes: u64,
    /// What of that is not as it was written last, in bytes.
    pub lost_bytes: u64,
}

fn lock(unflushed: &Mutex<UnflushedSectors>) -> MutexGuard<'_, UnflushedSectors> {
    unflushed.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ModelDevice {
    /// The disk `model:ADDRESS`: a model's name or the path of its file. Its spindle's speed and
    /// phase come from the seed.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when there is no such model, its file makes no disk, or its link has
    /// the name of another one that is different.
    pub fn load(
        address: &str,
        options: &ModelOptions,
        seed: u64,
        links: &Links,
    ) -> Result<ModelDevice, Error> {
        let parameters = Parameters::load(address).map_err(|error| {
            let text = words::Text::from(&error);
            Error::with_source(ErrorKind::Invalid, "", error).retold(text)
        })?;
        let drawn = options.draw.map(|set| parameters.drawn(set)).transpose().map_err(|error| {
            Error::with_source(ErrorKind::Invalid, "", error)
                .at("draw")
                .at(format!("model:{address}"))
        })?;
        Self::new(address, &drawn.unwrap_or(parameters), options, seed, links)
    }

    /// A disk of these parameters, which calls itself `model:ADDRESS`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when its link has the name of another one that is different.
    pub fn new(
        address: &str,
        parameters: &Parameters,
        options: &ModelOptions,
        seed: u64,
        links: &Links,
    ) -> Result<ModelDevice, Error> {
        let mut node = Node::leaf("model", address);
        if options.keep_data {
            node = node.with("data", "keep");
        }
        if options.keep_first_bytes > 0 {
            node = node.with("keep_first", size_text(options.keep_first_bytes));
        }
        if let Some(link) = &options.link {
            node = node.with("link", link);
        }
        if let Some(bytes) = options.size_bytes {
            node = node.with("size", size_text(bytes));
        }
        if let Some(set) = options.draw {
            node = node.with("draw", set);
        }
        let name = options.link.as_ref().unwrap_or(&parameters.link.name);
        let new_link = || {
            let state = State {
                machine: Machine::new(parameters),
                clients: Vec::new(),
                clock: None,
                shift: 0,
                notes: Vec::new(),
            };
            (parameters.link.clone(), Arc::new(LinkedDisks(Mutex::new(state))))
        };
        let mut by_name = links.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let (link, shared) = by_name.entry(name.clone()).or_insert_with(new_link);
        if !link.is_same_as(&parameters.link) {
            let text =
                statement!(messages::LINK_OF_OTHER_VALUES, node = node.to_string(), name = name);
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let shared = Arc::clone(shared);
        drop(by_name);
        let disk = shared.lock().machine.add_disk(parameters, seed);
        let capacity = parameters.disk.capacity.value;
        let size_bytes = options.size_bytes.map_or(capacity, |bytes| bytes.min(capacity));
        let size_bytes = size_bytes - size_bytes % SECTOR_BYTES;
        let info = Info {
            rotational: parameters.rotates(),
            volatile_cache: true,
            stores_data: options.keep_data,
            modelled: true,
            fua: Support::Native,
            zeroes: Support::None,
            discard: DiscardSupport::None,
            ..Info::plain(size_bytes)
        };
        let kept_bytes =
            if options.keep_data { size_bytes } else { options.keep_first_bytes.min(size_bytes) };
        let data = (kept_bytes > 0)
            .then(|| RamDevice::new(kept_bytes, info.block_bytes))
            .transpose()
            .map_err(|error| error.at(node.to_string()))?;
        let command_limit =
            parameters.disk.command_limit.as_ref().map_or(u64::MAX, |limit| limit.value);
        Ok(ModelDevice { info, node, shared, disk, command_limit, data, unflushed: None })
    }

    /// The same disk with these data, where it keeps all and they are as large.
    #[must_use]
    pub fn with_data(mut self, data: RamDevice) -> ModelDevice {
        if self.info.stores_data && data.info().size_bytes == self.info.size_bytes {
            self.data = Some(data);
        }
        self
    }

    /// The same disk, which remembers what a power cut would lose ([`ModelDevice::cut_power`]).
    #[must_use]
    pub fn losing(mut self) -> ModelDevice {
        self.unflushed =
            self.info.stores_data.then(|| Arc::new(Mutex::new(UnflushedSectors::new())));
        self
    }

    /// The same disk, which notes how what is written comes to its media
    /// ([`ModelDevice::take_media_notes`]).
    #[must_use]
    pub fn noting(self) -> ModelDevice {
        let mut state = self.shared.lock();
        state.machine.note_media(self.disk);
        state.notes.push((self.disk, Vec::new()));
        drop(state);
        self
    }

    /// What was noted since the last time, in the time of the reactors on which it was used, and
    /// the unit in which data come to its media, in bytes. While nothing uses it: what has not
    /// begun by now never does.
    #[must_use]
    pub fn take_media_notes(&self) -> (Vec<MediaNote>, u64) {
        let mut state = self.shared.lock();
        state.collect_notes();
        let unit = state.machine.media_block_bytes(self.disk);
        let own = state.notes.iter_mut().find(|(disk, _)| *disk == self.disk);
        (own.map(|(_, notes)| std::mem::take(notes)).unwrap_or_default(), unit)
    }

    /// What it keeps of all that is written to it, if it keeps everything.
    #[must_use]
    pub fn data(&self) -> Option<&RamDevice> {
        self.data.as_ref().filter(|_| self.info.stores_data)
    }

    /// Its own time, in nanoseconds: how long its spindle has turned.
    #[must_use]
    pub fn turned(&self) -> u64 {
        self.shared.lock().machine.now()
    }

    /// Lets it turn on until its own time is this, where that is later; while nothing uses it.
    pub fn turn_until(&self, nanoseconds: u64) {
        self.shared.lock().advance(nanoseconds);
    }

    /// Cuts the power at a time on the virtual clock on which it was used: its data become what the
    /// media hold then. Nothing uses it any more; [`ModelDevice::with_data`] makes it one that can
    /// be used. Writes that were not answered are lost.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a disk that does not remember what that is.
    pub fn cut_power(&self, time: Time, survival: Survival, seed: u64) -> Result<PowerCut, Error> {
        let (Some(unflushed), Some(data)) = (&self.unflushed, &self.data) else {
            let text = statement!(messages::REMEMBERS_NOTHING, node = self.node.to_string());
            return Err(Error::new(ErrorKind::Invalid, text));
        };
        let mut state = self.shared.lock();
        let now = time.nanoseconds().wrapping_add(state.shift).max(state.machine.now());
        state.advance(now);
        let cached = state.machine.dirty_ranges(self.disk);
        drop(state);
        let mut unflushed = lock(unflushed);
        unflushed.settle(&cached);
        let cached_bytes = unflushed.count() as u64 * SECTOR_BYTES;
        let left = unflushed.cut(survival, seed);
        let mut channel = Blocking::open(data, &Reactor::virtual_clock())?;
        for (sector, content) in &left {
            let zeroes = [0; SECTOR_BYTES as usize];
            let bytes = content.as_deref().unwrap_or(&zeroes);
            channel.write_slice(sector * SECTOR_BYTES, bytes)?;
        }
        Ok(PowerCut { cached_bytes, lost_bytes: left.len() as u64 * SECTOR_BYTES })
    }
}

impl Device for ModelDevice {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        self.node.clone()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let data = self.data.as_ref().map(|data| data.open(depth, reactor)).transpose()?;
        let kept_bytes = self.data.as_ref().map_or(0, |data| data.info().size_bytes);
        let mut state = self.shared.lock();
        let clock = reactor.clock();
        let now = reactor.now().nanoseconds();
        let in_step = state.machine.now().wrapping_sub(now);
        let shift = match state.clock {
            None => in_step,
            Some(Clock::Virtual) if clock == Clock::Virtual => state.shift,
            Some(Clock::Wall) if clock == Clock::Wall => in_step,
            Some(_) => {
                let node = self.node.to_string();
                let text = statement!(messages::LINK_ON_OTHER_CLOCK, node = node);
                return Err(Error::new(ErrorKind::Busy, text));
            }
        };
        if state.clock.is_none() {
            state.collect_notes();
        }
        (state.clock, state.shift) = (Some(clock), shift);
        let idle = state.clients.iter().position(|client| !client.open && client.outstanding == 0);
        let client = idle.unwrap_or(state.clients.len());
        let fresh = Client { open: true, outstanding: 0, mailbox: Vec::new() };
        if idle.is_some() {
            state.clients[client] = fresh;
        } else {
            state.clients.push(fresh);
        }
        drop(state);
        let link = Rc::new(LinkSide {
            shared: Arc::clone(&self.shared),
            disk: self.disk,
            client,
            shift: Cell::new(shift),
            armed: Cell::new(NEVER),
        });
        let asked = Rc::clone(&link);
        let channel = ModelChannel {
            info: self.info.clone(),
            link,
            source: reactor.source_asked_first(move |now| asked.due(now)),
            command_limit: self.command_limit,
            requests: Slots::default(),
            done: Vec::new(),
            mailbox: Vec::new(),
            in_flight: 0,
            data,
            kept_bytes,
            losing: self.losing_channel(reactor)?,
        };
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }
}

impl ModelDevice {
    fn losing_channel(&self, reactor: &Reactor) -> Result<Option<LossTracker>, Error> {
        let (Some(unflushed), Some(data)) = (&self.unflushed, &self.data) else { return Ok(None) };
        let before = Blocking::open(data, reactor)?;
        Ok(Some(LossTracker { unflushed: Arc::clone(unflushed), before, bytes: Vec::new() }))
    }
}

/// What remembers for a channel what a power cut would lose.
struct LossTracker {
    unflushed: Arc<Mutex<UnflushedSectors>>,
    /// Reads what is about to be overwritten; memory answers at once.
    before: Blocking,
    bytes: Vec<u8>,
}

impl LossTracker {
    /// A request is answered, and a write's data are about to be kept.
    fn end(&mut self, request: &Request, mark: u64) -> Result<(), Error> {
        match &request.op {
            Op::Write { offset, from, fua } => {
                self.bytes.resize(from.len(), 0);
                self.before.read_slice(*offset, &mut self.bytes)?;
                lock(&self.unflushed).written(*offset, &self.bytes, *fua);
            }
            Op::Flush => lock(&self.unflushed).flushed(mark),
            _ => (),
        }
        Ok(())
    }
}

/// A request in the machine.
struct Pending {
    request: Request,
    /// Of a flush: writes answered before it have lower numbers.
    mark: u64,
    /// Commands of it that have no answer yet.
    commands: u32,
}

/// An operation as commands of at most `limit` bytes each.
fn commands(operation: Operation, limit: u64) -> impl Iterator<Item = Operation> {
    let length = match operation {
        Operation::Read { length, .. } | Operation::Write { length, .. } => length,
        Operation::Flush => 0,
    };
    (0..length.div_ceil(limit).max(1)).map(move |index| {
        let (skipped, bytes) = (index * limit, limit.min(length - index * limit));
        match operation {
            Operation::Read { offset, .. } => {
                Operation::Read { offset: offset + skipped, length: bytes }
            }
            Operation::Write { offset, fua, .. } => {
                Operation::Write { offset: offset + skipped, length: bytes, fua }
            }
            Operation::Flush => Operation::Flush,
        }
    })
}

/// No time at all.
const NEVER: Time = Time(u64::MAX);

/// A channel's place in the machine of all disks on its link.
struct LinkSide {
    shared: Arc<LinkedDisks>,
    disk: usize,
    client: usize,
    shift: Cell<u64>,
    /// The earliest timer that has not gone off: before it, no request can have been answered.
    armed: Cell<Time>,
}

impl LinkSide {
    /// The reactor's time of one of the machine's.
    fn time(&self, nanoseconds: u64) -> Time {
        Time(nanoseconds.wrapping_sub(self.shift.get()))
    }

    /// What a timer means whose time has come. A bound on the next answer is often too early, and
    /// the machine alone tells the next one.
    fn due(&self, now: Time) -> TimerAction {
        if now < self.armed.get() {
            // Another was set, or nothing is under way.
            return TimerAction::Never;
        }
        let mut state = self.shared.lock();
        let time = state.time(now, &self.shift);
        state.advance(time);
        if !state.clients[self.client].mailbox.is_empty() {
            return TimerAction::Now;
        }
        match state.machine.next_answer(self.disk) {
            Some(next) => {
                self.armed.set(self.time(next));
                TimerAction::At(self.armed.get())
            }
            None => TimerAction::Now,
        }
    }
}

struct ModelChannel {
    info: Info,
    link: Rc<LinkSide>,
    source: Source,
    command_limit: u64,
    requests: Slots<Pending>,
    /// Refused requests.
    done: Vec<Completion>,
    mailbox: Vec<u32>,
    in_flight: u32,
    data: Option<Box<dyn Channel>>,
    kept_bytes: u64,
    losing: Option<LossTracker>,
}

impl ModelChannel {
    /// Sets a timer for the earliest time at which an answer can come, unless an earlier one is set
    /// already.
    fn arm(&self, next: Option<u64>) {
        let Some(time) = next.map(|next| self.link.time(next)) else { return };
        if time < self.link.armed.get() {
            self.source.at(time, 0);
            self.link.armed.set(time);
        }
    }

    /// Ends a request whose commands the machine has answered.
    fn end(&mut self, slot: u32) -> Completion {
        let Pending { request, mark, .. } = self.requests.remove(slot).expect("in the machine");
        if let Some(losing) = &mut self.losing
            && let Err(error) = losing.end(&request, mark)
        {
            return request.complete(Err(error));
        }
        let end = match &request.op {
            Op::Read { offset, into } => offset + into.len() as u64,
            Op::Write { offset, from, .. } => offset + from.len() as u64,
            _ => 0,
        };
        let Some(data) = self.data.as_mut().filter(|_| end <= self.kept_bytes) else {
            return request.complete(Ok(()));
        };
        data.submit(request);
        data.poll(&mut self.done);
        self.done.pop().expect("memory answers at once")
    }
}

impl Channel for ModelChannel {
    fn submit(&mut self, request: Request) {
        self.in_flight += 1;
        if let Err(error) = self.info.check(&request.op) {
            self.done.push(request.complete(Err(error.at("model"))));
            return;
        }
        let operation = match &request.op {
            Op::Read { offset, into } => {
                Operation::Read { offset: *offset, length: into.len() as u64 }
            }
            Op::Write { offset, from, fua } => {
                Operation::Write { offset: *offset, length: from.len() as u64, fua: *fua }
            }
            _ => Operation::Flush,
        };
        let count = commands(operation, self.command_limit).count() as u32;
        let mut mark = 0;
        let link = Rc::clone(&self.link);
        let mut state = link.shared.lock();
        let now = state.time(self.source.reactor().now(), &link.shift);
        if let Some(losing) = &self.losing {
            let mut unflushed = lock(&losing.unflushed);
            mark = unflushed.mark();
            // What is overwritten may be on the media by now, and would be what is left there.
            let overwrites = match operation {
                Operation::Write { offset, length, .. } => unflushed.touches(offset, length),
                _ => false,
            };
            if overwrites || unflushed.is_large() {
                state.advance(now);
                unflushed.settle(&state.machine.dirty_ranges(link.disk));
            }
        }
        let slot = self.requests.insert(Pending { request, mark, commands: count });
        for command in commands(operation, self.command_limit) {
            state.machine.submit(now, link.disk, link.client as u32, u64::from(slot), command);
        }
        state.clients[link.client].outstanding += count;
        let next = state.machine.next_answer(link.disk);
        drop(state);
        self.arm(next);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if self.in_flight == 0 {
            while self.source.take().is_some() {}
            return;
        }
        self.in_flight -= self.done.len() as u32;
        done.append(&mut self.done);
        while self.source.take().is_some() {}
        let now = self.source.reactor().now();
        // Before that, nothing can have been answered.
        if self.in_flight == 0 || now < self.link.armed.get() {
            return;
        }
        self.link.armed.set(NEVER);
        let mut state = self.link.shared.lock();
        let now = state.time(now, &self.link.shift);
        state.advance(now);
        std::mem::swap(&mut self.mailbox, &mut state.clients[self.link.client].mailbox);
        let requests = &mut self.requests;
        self.mailbox.retain(|&slot| {
            let pending = requests.get_mut(slot).expect("in the machine");
            pending.commands -= 1;
            pending.commands == 0
        });
        let answered = self.mailbox.len() as u32;
        let next = if answered < self.in_flight {
            state.machine.next_answer(self.link.disk)
        } else {
            None
        };
        drop(state);
        self.arm(next);
        self.in_flight -= answered;
        let mut mailbox = std::mem::take(&mut self.mailbox);
        for slot in mailbox.drain(..) {
            let completion = self.end(slot);
            done.push(completion);
        }
        self.mailbox = mailbox;
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn signal(&self) -> Option<Signal> {
        Some(self.source.signal())
    }
}

impl Drop for ModelChannel {
    fn drop(&mut self) {
        let mut state = self.link.shared.lock();
        let client = &mut state.clients[self.link.client];
        client.open = false;
        client.mailbox.clear();
        if state.clients.iter().all(|client| !client.open) {
            state.clock = None;
        }
    }
}
