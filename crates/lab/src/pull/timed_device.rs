//! A drive with the time of a model and the content of another device: what a crash has left, as
//! slow as the drive on which it lies.

use std::sync::Arc;

use block::{
    BufMut, Channel, Completion, Device, Error, Info, Node, Op, Reactor, Request, TracedChannel,
};

/// Both together.
pub(super) struct TimedDevice {
    info: Info,
    /// Keeps no data: a read leaves its buffer as it is.
    time: Arc<dyn Device>,
    /// Answers at once.
    data: Arc<dyn Device>,
}

impl TimedDevice {
    /// `time` is no smaller than `data`, and `data` takes no time.
    pub(super) fn new(time: Arc<dyn Device>, data: Arc<dyn Device>) -> TimedDevice {
        TimedDevice { info: data.info().clone(), time, data }
    }
}

impl Device for TimedDevice {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        self.time.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let channel = TimedChannel {
            time: self.time.open(depth, reactor)?,
            data: self.data.open(depth, reactor)?,
            requests: Vec::new(),
            answered: Vec::new(),
            info: self.info.clone(),
        };
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }
}

struct TimedChannel {
    time: Box<dyn Channel>,
    data: Box<dyn Channel>,
    /// Under way, by their tags.
    requests: Vec<Request>,
    answered: Vec<Completion>,
    info: Info,
}

impl TimedChannel {
    fn carry_out(&mut self, request: Request) {
        self.data.submit(request);
        self.data.poll(&mut self.answered);
    }
}

impl Channel for TimedChannel {
    fn submit(&mut self, request: Request) {
        if let Err(error) = self.info.check(&request.op) {
            return self.answered.push(request.complete(Err(error.at("timed"))));
        }
        // The same for the model, which neither reads nor keeps what is in it.
        let op = match &request.op {
            Op::Read { offset, into } => {
                Op::Read { offset: *offset, into: BufMut::zeroed(into.len()) }
            }
            Op::Write { offset, from, fua } => {
                let from = BufMut::zeroed(from.len()).freeze();
                Op::Write { offset: *offset, from, fua: *fua }
            }
            Op::Flush => Op::Flush,
            // No model knows how long these take.
            Op::WriteZeroes { .. } | Op::Discard { .. } => return self.carry_out(request),
        };
        self.time.submit(Request::new(request.tag, op));
        self.requests.push(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let mut timed = Vec::new();
        self.time.poll(&mut timed);
        for Completion { tag, result, .. } in timed {
            let Some(place) = self.requests.iter().position(|request| request.tag == tag) else {
                continue;
            };
            let request = self.requests.swap_remove(place);
            match result {
                Ok(()) => self.carry_out(request),
                Err(error) => self.answered.push(request.complete(Err(error))),
            }
        }
        done.append(&mut self.answered);
    }

    fn in_flight(&self) -> u32 {
        (self.requests.len() + self.answered.len()) as u32
    }
}
