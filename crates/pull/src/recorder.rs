//! The recorder: a layer over each drive, and one order over all that passes them.
//!
//! ```text
//!   submit  -> Arrival into the log     -> below
//!   poll    <- Completion into the log  <- below
//!   mark    -> Mark into the log
//! ```
//!
//! All three take the one lock of the log. So what a program did after it had seen a completion
//! stands behind that completion, on whatever drive, channel and thread.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{
    Channel, Clock, Completion, Device, Error, ErrorKind, Info, Node, Op, Reactor, Request,
    Support, TracedChannel,
};

use crate::catalogue;
use crate::format::{self, Record};
use crate::log::{Action, Bytes, Drive, Event, Log, LoggedRequest, Moment, Role};

/// What a recorded drive says of itself, whatever is below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvertisedTraits {
    /// Completed writes wait for a flush.
    pub volatile_cache: bool,
    /// It takes writes with FUA.
    pub fua: bool,
}

/// Writes down what the drives of a stack are asked, and what the work above says.
pub struct Recorder {
    recording: Mutex<Recording>,
    clock: Option<fn() -> u64>,
}

struct Recording {
    drives: Vec<Drive>,
    requests: Vec<LoggedRequest>,
    events: Vec<Event>,
    records: u64,
    sink: Sink,
    /// Once something could not be written nothing more is.
    failure: Option<Error>,
}

enum Sink {
    Memory(Vec<u8>),
    File {
        file: File,
        held: Vec<u8>,
        written: u64,
    },
    /// The log was taken.
    Closed,
}

/// Bytes that are kept back before they are written.
const HELD_BYTES: usize = 1 << 20;

impl Recorder {
    /// A recorder whose log stays in memory. `clock` tells the nanoseconds where the wall's clock
    /// runs, from whatever beginning; on a virtual clock the drives' reactors do.
    #[must_use]
    pub fn in_memory(clock: Option<fn() -> u64>) -> Arc<Recorder> {
        Recorder::with(Sink::Memory(Vec::new()), clock)
    }

    /// The same with the log in a file, which is open for both, and empty.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when the file holds something, and what the system says.
    pub fn in_file(file: File, clock: Option<fn() -> u64>) -> Result<Arc<Recorder>, Error> {
        let length =
            file.metadata().map_err(|error| Error::from_io(catalogue::THE_LOG, error))?.len();
        if length > 0 {
            return Err(Error::new(ErrorKind::Refused, catalogue::LOG_IS_THERE));
        }
        Ok(Recorder::with(Sink::File { file, held: Vec::new(), written: 0 }, clock))
    }

    fn with(sink: Sink, clock: Option<fn() -> u64>) -> Arc<Recorder> {
        let mut recording = Recording {
            drives: Vec::new(),
            requests: Vec::new(),
            events: Vec::new(),
            records: 0,
            sink,
            failure: None,
        };
        recording.append(&format::header());
        Arc::new(Recorder { recording: Mutex::new(recording), clock })
    }

    fn recording(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A drive that is recorded, over what holds its data meanwhile. It is the drive under test
    /// that `advertised` describes, not what is below.
    #[must_use]
    pub fn drive(
        self: &Arc<Recorder>,
        below: Arc<dyn Device>,
        advertised: AdvertisedTraits,
    ) -> Arc<dyn Device> {
        let AdvertisedTraits { volatile_cache, fua } = advertised;
        let fua = if fua { Support::Native } else { Support::None };
        let info = Info { volatile_cache, fua, ..below.info().clone() };
        self.device(below, info, Role::Drive)
    }

    /// A device above the drives, whose users are promised something: it is recorded as it is.
    #[must_use]
    pub fn above(self: &Arc<Recorder>, below: Arc<dyn Device>) -> Arc<dyn Device> {
        let info = below.info().clone();
        self.device(below, info, Role::Above)
    }

    fn device(
        self: &Arc<Recorder>,
        below: Arc<dyn Device>,
        info: Info,
        role: Role,
    ) -> Arc<dyn Device> {
        let mut recording = self.recording();
        let number = u16::try_from(recording.drives.len()).expect("fewer drives than 65,536");
        let drive = Drive {
            role,
            size_bytes: info.size_bytes,
            block_bytes: info.block_bytes,
            volatile_cache: info.volatile_cache,
        };
        recording.record(&Record::drive(number, &drive), &[]);
        recording.drives.push(drive);
        let strips_fua = below.info().fua == Support::None;
        Arc::new(RecordedDevice { below, info, number, strips_fua, recorder: Arc::clone(self) })
    }

    /// Writes down what the work has to say: it stands behind every completion that the work knows
    /// of, and before whatever it sends from now on. Returns the number of its event.
    pub fn mark(&self, text: &[u8]) -> u32 {
        self.mark_at(text, self.clock.map_or(0, |clock| clock()))
    }

    /// The same of work that knows the time on the drives' virtual clock, in nanoseconds.
    pub fn mark_at(&self, text: &[u8], now_nanoseconds: u64) -> u32 {
        let mut recording = self.recording();
        let time = recording.time(now_nanoseconds);
        let length = u32::try_from(text.len()).expect("marks are short");
        let data = recording.record(&Record::mark(length, time), &[text]);
        recording.event(time, Moment::Mark { data, length })
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// What kept the log from being written, or that it was ended before.
    pub fn finish(&self) -> Result<Log, Error> {
        let mut recording = self.recording();
        let (time, records) = (recording.time(0), recording.records);
        recording.record(&Record::end(records, time), &[]);
        recording.write_held();
        if let Some(failure) = &recording.failure {
            return Err(failure.repeat());
        }
        let bytes = match std::mem::replace(&mut recording.sink, Sink::Closed) {
            Sink::Memory(bytes) => Bytes::Memory(bytes),
            Sink::File { file, .. } => Bytes::File(file),
            Sink::Closed => {
                return Err(Error::new(ErrorKind::Invalid, catalogue::RECORDING_ENDED));
            }
        };
        Ok(Log {
            drives: recording.drives.clone(),
            requests: std::mem::take(&mut recording.requests),
            events: std::mem::take(&mut recording.events),
            bytes,
        })
    }

    fn arrival(&self, drive: u16, op: &Op, now: u64) -> Option<u32> {
        let (action, fua) = match op {
            Op::Read { .. } => return None,
            Op::Write { fua, .. } => (Action::Write, *fua),
            Op::WriteZeroes { fua, .. } => (Action::WriteZeroes, *fua),
            Op::Discard { .. } => (Action::Discard, false),
            Op::Flush => (Action::Flush, false),
        };
        let mut recording = self.recording();
        let time = recording.time(self.clock.map_or(now, |clock| clock()));
        let (offset, length) = op.range().unwrap_or_default();
        let number = recording.requests.len() as u32;
        let arrival = recording.events.len() as u32;
        let mut request = LoggedRequest {
            drive,
            action,
            fua,
            offset,
            length,
            arrival,
            completion: None,
            data: 0,
        };
        let slices: Vec<&[u8]> = match op {
            Op::Write { from, .. } => from.slices().collect(),
            _ => Vec::new(),
        };
        request.data = recording.record(&Record::arrival(&request, time), &slices);
        recording.requests.push(request);
        recording.event(time, Moment::Arrival(number));
        Some(number)
    }

    fn completion(&self, request: u32, failed: bool, now: u64) {
        let mut recording = self.recording();
        let time = recording.time(self.clock.map_or(now, |clock| clock()));
        recording.record(&Record::completion(request, failed, time), &[]);
        let event = recording.event(time, Moment::Completion { request, failed });
        if let Some(request) = recording.requests.get_mut(request as usize).filter(|_| !failed) {
            request.completion = Some(event);
        }
    }
}

impl Recording {
    /// Times never go back in a log.
    fn time(&self, now: u64) -> u64 {
        self.events.last().map_or(now, |last| last.time_nanoseconds.max(now))
    }

    fn event(&mut self, time_nanoseconds: u64, moment: Moment) -> u32 {
        self.events.push(Event { time_nanoseconds, moment });
        self.events.len() as u32 - 1
    }

    /// Appends a record and its data; where the data lie.
    fn record(&mut self, record: &Record, data: &[&[u8]]) -> u64 {
        let checksum = data.iter().fold(0, |sum, part| crc32c::crc32c_append(sum, part));
        let bytes = record.encode(self.records, checksum);
        self.records += 1;
        self.append(&bytes);
        let place = match &self.sink {
            Sink::Memory(bytes) => bytes.len() as u64,
            Sink::File { held, written, .. } => written + held.len() as u64,
            Sink::Closed => 0,
        };
        data.iter().for_each(|part| self.append(part));
        place
    }

    fn append(&mut self, bytes: &[u8]) {
        match &mut self.sink {
            Sink::Memory(all) => all.extend_from_slice(bytes),
            Sink::File { held, .. } => {
                held.extend_from_slice(bytes);
                if held.len() >= HELD_BYTES {
                    self.write_held();
                }
            }
            Sink::Closed => (),
        }
    }

    fn write_held(&mut self) {
        let Sink::File { file, held, written } = &mut self.sink else { return };
        if self.failure.is_none()
            && let Err(error) = file.write_all(held)
        {
            self.failure = Some(Error::from_io(catalogue::WRITING_LOG, error));
        }
        *written += held.len() as u64;
        held.clear();
    }
}

struct RecordedDevice {
    below: Arc<dyn Device>,
    info: Info,
    number: u16,
    /// What is below has no FUA: the log alone needs to know of it.
    strips_fua: bool,
    recorder: Arc<Recorder>,
}

impl Device for RecordedDevice {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        if reactor.clock() == Clock::Wall && self.recorder.clock.is_none() {
            return Err(Error::new(ErrorKind::Unsupported, catalogue::VIRTUAL_CLOCK_ONLY));
        }
        let channel = RecordedChannel {
            below: self.below.open(depth, reactor)?,
            info: self.info.clone(),
            number: self.number,
            strips_fua: self.strips_fua,
            recorder: Arc::clone(&self.recorder),
            reactor: reactor.clone(),
            changing: HashMap::new(),
            refused: Vec::new(),
        };
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }
}

struct RecordedChannel {
    below: Box<dyn Channel>,
    info: Info,
    number: u16,
    strips_fua: bool,
    recorder: Arc<Recorder>,
    reactor: Reactor,
    /// The numbers in the log of what is in flight, by tag.
    changing: HashMap<u64, u32>,
    /// Requests that the drive under test would not know; they move nothing and stand in no log.
    refused: Vec<Completion>,
}

impl Channel for RecordedChannel {
    fn submit(&mut self, mut request: Request) {
        if let Err(error) = self.info.check(&request.op) {
            return self.refused.push(request.complete(Err(error.at("record"))));
        }
        let now = self.reactor.now().nanoseconds();
        if let Some(number) = self.recorder.arrival(self.number, &request.op, now) {
            self.changing.insert(request.tag, number);
        }
        if self.strips_fua
            && let Op::Write { fua, .. } | Op::WriteZeroes { fua, .. } = &mut request.op
        {
            *fua = false;
        }
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.refused);
        let before = done.len();
        self.below.poll(done);
        let now = self.reactor.now().nanoseconds();
        for completion in &done[before..] {
            if let Some(number) = self.changing.remove(&completion.tag) {
                self.recorder.completion(number, completion.result.is_err(), now);
            }
        }
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight() + self.refused.len() as u32
    }
}
