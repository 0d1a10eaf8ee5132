//! A device for the tests: memory with a delay for every request, a log, and faults planted at
//! chosen requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use block::{
    Buf, Channel, Completion, ContractCheck, Device, Error, ErrorKind, Info, Node, Op, Reactor,
    Request,
};
use reactor::Source;

/// What goes wrong with one read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A write is acknowledged and never arrives.
    Lost,
    /// Only the first bytes of a write arrive.
    Torn(usize),
    /// It goes to this offset instead.
    Misdirected(u64),
    /// A bit of this byte, counted from the request's start, changes on the way.
    Flipped(usize),
    /// It fails.
    Failed,
    /// It is never answered.
    Swallowed,
}

/// A request as it arrived: its name, offset and length.
pub(crate) type MemoryLogEntry = (&'static str, u64, u64);

#[derive(Default)]
struct MemoryState {
    bytes: Vec<u8>,
    log: Vec<MemoryLogEntry>,
    faults: HashMap<usize, Fault>,
    most_in_flight: usize,
    /// What writes carried, if it is to be kept.
    kept: Option<Vec<(u64, Buf)>>,
}

pub(crate) struct Memory {
    info: Info,
    delay: fn(usize) -> Duration,
    state: Arc<Mutex<MemoryState>>,
}

impl Memory {
    pub(crate) fn new(size_bytes: u64) -> Memory {
        let state = MemoryState { bytes: vec![0; size_bytes as usize], ..MemoryState::default() };
        Memory {
            info: Info::plain(size_bytes),
            delay: |_| Duration::from_micros(10),
            state: Arc::new(Mutex::new(state)),
        }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Info)) -> Memory {
        change(&mut self.info);
        self
    }

    /// How long a request takes, by its number in the log.
    pub(crate) fn delayed(mut self, delay: fn(usize) -> Duration) -> Memory {
        self.delay = delay;
        self
    }

    /// Holds on to the buffers of all writes, as a cache does.
    pub(crate) fn keeping(self) -> Memory {
        self.state.lock().unwrap().kept = Some(Vec::new());
        self
    }

    pub(crate) fn kept(&self) -> Vec<(u64, Buf)> {
        self.state.lock().unwrap().kept.clone().unwrap()
    }

    /// Plants a fault at the request that will be `ahead` after the ones that have been.
    pub(crate) fn plant(&self, ahead: usize, fault: Fault) {
        let mut state = self.state.lock().unwrap();
        let number = state.log.len() + ahead;
        state.faults.insert(number, fault);
    }

    pub(crate) fn log(&self) -> Vec<MemoryLogEntry> {
        self.state.lock().unwrap().log.clone()
    }

    pub(crate) fn clear_log(&self) {
        self.state.lock().unwrap().log.clear();
    }

    pub(crate) fn most_in_flight(&self) -> usize {
        self.state.lock().unwrap().most_in_flight
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut [u8])) {
        change(&mut self.state.lock().unwrap().bytes);
    }

    /// The device with all checks on top, and a handle to what is below.
    pub(crate) fn shared(self) -> (Arc<dyn Device>, Arc<Memory>) {
        let memory = Arc::new(self);
        let below: Arc<dyn Device> = Arc::<Memory>::clone(&memory);
        (ContractCheck::over(below), memory)
    }
}

impl Device for Memory {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        Node::leaf("memory", "")
    }

    fn open(&self, _: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let state = Arc::clone(&self.state);
        let (stores_data, delay) = (self.info.stores_data, self.delay);
        Ok(Box::new(MemoryChannel {
            source: reactor.source(),
            state,
            stores_data,
            delay,
            open: HashMap::new(),
            started: 0,
        }))
    }
}

struct MemoryChannel {
    source: Source,
    state: Arc<Mutex<MemoryState>>,
    stores_data: bool,
    delay: fn(usize) -> Duration,
    open: HashMap<u64, Completion>,
    started: u64,
}

impl Channel for MemoryChannel {
    fn submit(&mut self, mut request: Request) {
        let mut state = self.state.lock().unwrap();
        let number = state.log.len();
        let (offset, length) = request.op.range().unwrap_or((0, 0));
        state.log.push((request.op.name(), offset, length));
        let fault = state.faults.remove(&number);
        if let (Some(kept), Op::Write { offset, from, .. }) = (&mut state.kept, &request.op) {
            kept.push((*offset, from.clone()));
        }
        let bytes = &mut state.bytes;
        let place = match fault {
            Some(Fault::Misdirected(elsewhere)) => elsewhere as usize,
            _ => offset as usize,
        };
        let end = place + length as usize;
        if self.stores_data && !matches!(fault, Some(Fault::Lost | Fault::Failed)) {
            match &mut request.op {
                Op::Read { into, .. } => {
                    into.copy_from_slice(&bytes[place..end]);
                    if let Some(Fault::Flipped(byte)) = fault {
                        into.as_mut_slice().unwrap()[byte] ^= 4;
                    }
                }
                Op::Write { from, .. } => {
                    let arrives =
                        if let Some(Fault::Torn(count)) = fault { count } else { from.len() };
                    bytes[place..place + arrives]
                        .copy_from_slice(&from.as_slice().unwrap()[..arrives]);
                    if let Some(Fault::Flipped(byte)) = fault {
                        bytes[place + byte] ^= 4;
                    }
                }
                _ => (),
            }
        }
        let result = match fault {
            Some(Fault::Failed) => Err(Error::new(ErrorKind::Media, "a bad block")),
            _ => Ok(()),
        };
        self.open.insert(self.started, request.complete(result));
        state.most_in_flight = state.most_in_flight.max(self.open.len());
        if fault != Some(Fault::Swallowed) {
            self.source.at(self.source.reactor().now() + (self.delay)(number), self.started);
        }
        self.started += 1;
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        while let Some(event) = self.source.take() {
            done.push(self.open.remove(&event.token).unwrap());
        }
    }

    fn in_flight(&self) -> u32 {
        self.open.len() as u32
    }
}
