//! One owner's requests on a faulty device. Each has at most one request below at a time, so the
//! depth below is ours.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use block::{
    Buf, BufMut, Channel, Completion, Error, ErrorKind, Op, Reactor, Request, ReturnedBuffer,
};
use reactor::{Slots, Source};

use super::Shared;
use super::state::{Mishap, Verdict, WriteBack};
use crate::messages;

/// The longest write in which the cache goes below, in bytes.
const WRITE_BACK_BYTES: u64 = 256 << 10;
/// How long until it asks again whether another channel has written the cache back.
const TURN_RETRY: Duration = Duration::from_micros(20);

pub(super) struct FaultChannel {
    shared: Arc<Shared>,
    below: Box<dyn Channel>,
    source: Source,
    number: u64,
    epoch: u64,
    /// Requests below carry their key here as tag.
    running: Slots<Running>,
    /// Tells a timer that was set for an earlier request in the same slot.
    serial: u32,
    /// Keys of those that wait for their turn to write the cache back.
    waiting: VecDeque<u32>,
    /// The timer after which to ask again; gone with the question, since an event that is not taken
    /// would keep the owner from sleeping.
    turn: Option<Source>,
    /// Requests that nothing below will answer, for the moment.
    kept: usize,
    answered: Vec<Completion>,
    raw: Vec<Completion>,
}

struct Running {
    serial: u32,
    stage: Stage,
}

enum Stage {
    /// Until a timer goes off; a write to a device without a cache is on view in `State::held`.
    Delayed {
        request: Request,
        held: Option<u64>,
        aside: MishapRest,
    },
    Stuck(Request),
    /// The owner's request is below; what the cache holds of a read goes over it.
    Below {
        tag: u64,
        changes: Option<(u64, u64)>,
        overlay: Vec<(usize, Buf)>,
        aside: MishapRest,
    },
    /// Waits to write the cache back: a range, or everything.
    Waiting {
        tag: u64,
        buffer: ReturnedBuffer,
        range: Option<(u64, u64)>,
    },
    /// Writes the cache back, piece by piece, then flushes below.
    WritingBack {
        tag: u64,
        buffer: ReturnedBuffer,
        work: WriteBack,
        under_way: FaultStep,
    },
}

/// What a mishap keeps beside a request.
#[derive(Default)]
struct MishapRest {
    /// It is answered and not carried out.
    lost: bool,
    /// The owner's bytes of a write that carries others: these go back to it.
    own: Option<Buf>,
    /// The bit of a read that changes.
    flip: Option<u64>,
}

impl MishapRest {
    /// What its owner gets back.
    fn returned(self, returned: ReturnedBuffer) -> ReturnedBuffer {
        self.own.map_or(returned, ReturnedBuffer::Written)
    }
}

enum FaultStep {
    Piece,
    Flush,
}

impl FaultChannel {
    pub(super) fn new(
        shared: &Arc<Shared>,
        below: Box<dyn Channel>,
        reactor: &Reactor,
    ) -> FaultChannel {
        let mut state = shared.state();
        // On the virtual clock there is one thread, which needs no waking.
        let number = state.enter(reactor.ringer().ok());
        FaultChannel {
            shared: Arc::clone(shared),
            below,
            source: reactor.source(),
            number,
            epoch: state.epoch,
            running: Slots::default(),
            serial: 0,
            waiting: VecDeque::new(),
            turn: None,
            kept: 0,
            answered: Vec::new(),
            raw: Vec::new(),
        }
    }

    fn keep(&mut self, key: u32, stage: Stage) {
        self.serial = self.serial.wrapping_add(1);
        self.running.put(key, Running { serial: self.serial, stage });
    }

    fn answer(&mut self, key: u32, tag: u64, buffer: ReturnedBuffer, result: Result<(), Error>) {
        self.running.remove(key);
        self.answered.push(Completion {
            tag,
            buffer,
            result: result.map_err(|error| error.at("fault")),
        });
    }

    /// Does what the request asks for, the dice having let it pass.
    fn carry_out(&mut self, key: u32, request: Request, aside: MishapRest) {
        let shared = Arc::clone(&self.shared);
        let tag = request.tag;
        if aside.lost {
            return self.answer(key, tag, request.op.into_buffer(), Ok(()));
        }
        let mut overlay = Vec::new();
        match (&request.op, shared.options.volatile) {
            (Op::Flush, _) if shared.options.lying_flush => {
                return self.answer(key, tag, ReturnedBuffer::Nothing, Ok(()));
            }
            (Op::Flush, true) => {
                return self.wait_for_turn(key, tag, ReturnedBuffer::Nothing, None);
            }
            (Op::Write { offset, from, fua }, true) => {
                let range = (*offset, from.len() as u64);
                shared.state().bad.remove(range.0, range.1);
                let fua = *fua;
                let buffer = aside.returned(request.op.into_buffer());
                return if fua {
                    self.wait_for_turn(key, tag, buffer, Some(range));
                } else {
                    self.answer(key, tag, buffer, Ok(()));
                };
            }
            (Op::Read { offset, into }, true) => {
                overlay = shared.state().cache.overlay(*offset, into.len() as u64);
            }
            _ => (),
        }
        let changes = request.op.range().filter(|_| request.op.changes_data());
        if changes.is_some() {
            shared.state().changes_below += 1;
        }
        self.keep(key, Stage::Below { tag, changes, overlay, aside });
        self.below.submit(Request::new(key.into(), request.op));
    }

    fn wait_for_turn(
        &mut self,
        key: u32,
        tag: u64,
        buffer: ReturnedBuffer,
        range: Option<(u64, u64)>,
    ) {
        self.keep(key, Stage::Waiting { tag, buffer, range });
        self.kept += 1;
        self.waiting.push_back(key);
        self.take_turn();
    }

    /// Starts to write the cache back for the first that waits, if no other channel is doing so.
    fn take_turn(&mut self) {
        let Some(&key) = self.waiting.front() else { return };
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state();
        match state.writing_back {
            // Its end will come by here.
            Some(number) if number == self.number => return,
            Some(_) => {
                drop(state);
                let reactor = self.source.reactor();
                self.turn.get_or_insert_with(|| {
                    let turn = reactor.source();
                    turn.at(reactor.now() + TURN_RETRY, 0);
                    turn
                });
                return;
            }
            // The end of requests on a dead channel is made in `poll`.
            None if state.check(self.epoch).is_err() => return,
            None => state.writing_back = Some(self.number),
        }
        self.turn = None;
        self.waiting.pop_front();
        self.kept -= 1;
        let Some(Running { stage: Stage::Waiting { tag, buffer, range }, .. }) =
            self.running.take(key)
        else {
            unreachable!("the queue holds what waits")
        };
        let longest = WRITE_BACK_BYTES.min(u64::from(shared.info.max_request_bytes));
        let work = state.cache.write_back(range, longest);
        drop(state);
        self.write_back(key, tag, buffer, work);
    }

    /// Sends the next piece below, or the flush behind the last.
    fn write_back(&mut self, key: u32, tag: u64, buffer: ReturnedBuffer, mut work: WriteBack) {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state();
        if let Err(error) = state.check(self.epoch) {
            // The turn went to the next life of the device.
            state.counts.gone += 1;
            drop(state);
            return self.answer(key, tag, buffer, Err(error));
        }
        let (op, under_way) = match work.pieces.pop() {
            Some((offset, from)) => {
                state.piece = Some((offset, from.clone()));
                state.changes_below += 1;
                (Op::Write { offset, from, fua: false }, FaultStep::Piece)
            }
            None => (Op::Flush, FaultStep::Flush),
        };
        drop(state);
        self.keep(key, Stage::WritingBack { tag, buffer, work, under_way });
        self.below.submit(Request::new(key.into(), op));
    }

    fn ended(&mut self, completion: Completion) {
        let key = u32::try_from(completion.tag).expect("our own key");
        let running =
            self.running.take(key).expect("an answer from below belongs to a request under way");
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state();
        match running.stage {
            Stage::Below { tag, changes, overlay, aside } => {
                let mut result = completion.result;
                if let Some((offset, length)) = changes {
                    state.changes_below -= 1;
                    if result.is_ok() {
                        state.bad.remove(offset, length);
                    }
                }
                if let Err(error) = state.check(self.epoch) {
                    state.counts.gone += 1;
                    result = Err(error);
                }
                drop(state);
                let mut buffer = completion.buffer;
                if let (ReturnedBuffer::Read(into), Ok(())) = (&mut buffer, &result) {
                    overlay.iter().for_each(|(at, bytes)| patch(into, *at, bytes));
                    if let Some(bit) = aside.flip {
                        flip(into, bit);
                    }
                }
                self.answer(key, tag, aside.returned(buffer), result);
            }
            Stage::WritingBack { tag, buffer, work, under_way } => {
                if matches!(under_way, FaultStep::Piece) {
                    state.piece = None;
                    state.changes_below -= 1;
                }
                let alive = state.check(self.epoch);
                let result = match (alive, completion.result, under_way) {
                    (Ok(()), Ok(()), FaultStep::Piece) => {
                        drop(state);
                        return self.write_back(key, tag, buffer, work);
                    }
                    (Ok(()), Ok(()), FaultStep::Flush) => {
                        state.cache.settle(&work);
                        Ok(())
                    }
                    (Ok(()), Err(error), _) => {
                        state.flush_failed = true;
                        Err(error)
                    }
                    (Err(error), _, _) => {
                        state.counts.gone += 1;
                        Err(error)
                    }
                };
                // After a crash the turn may be another channel's.
                if state.writing_back == Some(self.number) {
                    state.writing_back = None;
                }
                drop(state);
                self.answer(key, tag, buffer, result);
                self.take_turn();
            }
            Stage::Delayed { .. } | Stage::Stuck(_) | Stage::Waiting { .. } => {
                unreachable!("nothing below was asked")
            }
        }
    }

    fn timer(&mut self, token: u64) {
        let (key, serial) = (token as u32, (token >> 32) as u32);
        let due = self.running.get(key).is_some_and(|running| {
            running.serial == serial && matches!(running.stage, Stage::Delayed { .. })
        });
        if !due {
            return;
        }
        let Some(Running { stage: Stage::Delayed { request, held, aside }, .. }) =
            self.running.take(key)
        else {
            unreachable!("just seen")
        };
        self.kept -= 1;
        let mut state = self.shared.state();
        if let Some(held) = held {
            state.held.remove(&held);
        }
        let alive = state.check(self.epoch);
        state.counts.gone += u64::from(alive.is_err());
        drop(state);
        match alive {
            Ok(()) => self.carry_out(key, request, aside),
            Err(error) => {
                self.answer(key, request.tag, aside.returned(request.op.into_buffer()), Err(error));
            }
        }
    }

    /// Answers what nothing will answer any more: everything kept here when the device is gone, and
    /// what got stuck when it has come back and knows nothing of it.
    fn give_up(&mut self) {
        let mut state = self.shared.state();
        let alive = state.check(self.epoch);
        let stuck = state.stuck;
        let mut ended = Vec::new();
        for key in self.running.keys() {
            let over = match self.running.get(key).map(|running| &running.stage) {
                Some(Stage::Stuck(_)) => alive.is_err() || !stuck,
                Some(Stage::Delayed { .. } | Stage::Waiting { .. }) => alive.is_err(),
                Some(Stage::Below { .. } | Stage::WritingBack { .. }) | None => false,
            };
            if !over {
                continue;
            }
            let (tag, buffer) = match self.running.take(key).expect("just seen").stage {
                Stage::Stuck(request) => (request.tag, request.op.into_buffer()),
                Stage::Delayed { request, held, aside } => {
                    if let Some(held) = held {
                        state.held.remove(&held);
                    }
                    (request.tag, aside.returned(request.op.into_buffer()))
                }
                Stage::Waiting { tag, buffer, .. } => (tag, buffer),
                Stage::Below { .. } | Stage::WritingBack { .. } => unreachable!("not chosen"),
            };
            state.counts.gone += 1;
            ended.push((key, tag, buffer));
        }
        drop(state);
        if alive.is_err() {
            // Their timers would go off for nothing.
            self.source = self.source.reactor().source();
            self.turn = None;
        }
        for (key, tag, buffer) in ended {
            self.waiting.retain(|&waiting| waiting != key);
            self.kept -= 1;
            let error = match &alive {
                Err(error) => error.repeat(),
                Ok(()) => Error::new(ErrorKind::Gone, messages::HUNG),
            };
            self.answer(key, tag, buffer, Err(error));
        }
    }
}

impl Channel for FaultChannel {
    fn submit(&mut self, mut request: Request) {
        let shared = Arc::clone(&self.shared);
        let key = self.running.reserve();
        if let Err(error) = shared.info.check(&request.op) {
            return self.answer(key, request.tag, request.op.into_buffer(), Err(error));
        }
        let mut state = shared.state();
        match state.judge(&shared.options, &request.op, self.epoch) {
            Verdict::Fail(error) => {
                drop(state);
                self.answer(key, request.tag, request.op.into_buffer(), Err(error));
            }
            Verdict::Stuck => {
                drop(state);
                self.kept += 1;
                self.keep(key, Stage::Stuck(request));
            }
            Verdict::Go { delay, mishap } => {
                let aside =
                    mishap.map(|mishap| befall(&mut request.op, mishap)).unwrap_or_default();
                let mut held = None;
                if let Op::Write { offset, from, .. } = &request.op
                    && !aside.lost
                {
                    // A crash may keep any part of a write that has arrived.
                    if shared.options.volatile {
                        state.cache.record(*offset, from);
                    } else if delay.is_some() {
                        held = Some(state.hold(*offset, from.clone()));
                    }
                }
                drop(state);
                let Some(delay) = delay else { return self.carry_out(key, request, aside) };
                self.kept += 1;
                self.keep(key, Stage::Delayed { request, held, aside });
                let token = u64::from(key) | u64::from(self.serial) << 32;
                self.source.at(self.source.reactor().now() + delay, token);
            }
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        loop {
            let mut moved = false;
            while let Some(event) = self.source.take() {
                moved = true;
                self.timer(event.token);
            }
            if self.turn.as_ref().is_some_and(|turn| turn.take().is_some()) {
                moved = true;
                self.turn = None;
                self.take_turn();
            }
            let mut raw = std::mem::take(&mut self.raw);
            self.below.poll(&mut raw);
            for completion in raw.drain(..) {
                moved = true;
                self.ended(completion);
            }
            self.raw = raw;
            // What was started may have been answered at once.
            if !moved {
                break;
            }
        }
        if self.kept > 0 {
            self.give_up();
        }
        done.append(&mut self.answered);
    }

    fn in_flight(&self) -> u32 {
        u32::try_from(self.running.len() + self.answered.len()).unwrap_or(u32::MAX)
    }
}

impl Drop for FaultChannel {
    fn drop(&mut self) {
        // What has ended below must not look as if it were still under way.
        let mut raw = std::mem::take(&mut self.raw);
        self.below.poll(&mut raw);
        let mut state = self.shared.state();
        state.leave(self.number);
        for completion in raw {
            let ended = u32::try_from(completion.tag).ok().and_then(|key| self.running.take(key));
            match ended.map(|running| running.stage) {
                Some(Stage::Below { changes: Some(_), .. }) => state.changes_below -= 1,
                Some(Stage::WritingBack { under_way: FaultStep::Piece, .. }) => {
                    state.piece = None;
                    state.changes_below -= 1;
                }
                _ => (),
            }
        }
        for (_, running) in self.running.iter() {
            if let Stage::Delayed { held: Some(held), .. } = &running.stage {
                state.held.remove(held);
            }
        }
        if state.writing_back == Some(self.number) {
            state.writing_back = None;
            // A piece that is still under way could land on top of a newer version.
            state.flush_failed |= state.piece.is_some();
        }
    }
}

/// Lets a mishap befall a request, and says what has to be kept beside it.
fn befall(op: &mut Op, mishap: Mishap) -> MishapRest {
    match (mishap, op) {
        (Mishap::Lost, _) => MishapRest { lost: true, ..MishapRest::default() },
        (
            Mishap::Misdirected { offset: elsewhere },
            Op::Write { offset, .. } | Op::WriteZeroes { offset, .. },
        ) => {
            *offset = elsewhere;
            MishapRest::default()
        }
        (Mishap::Flipped { bit }, Op::Read { .. }) => {
            MishapRest { flip: Some(bit), ..MishapRest::default() }
        }
        (Mishap::Flipped { bit }, Op::Write { from, .. }) => {
            let mut changed = BufMut::zeroed(from.len());
            patch(&mut changed, 0, from);
            flip(&mut changed, bit);
            MishapRest {
                own: Some(std::mem::replace(from, changed.freeze())),
                ..MishapRest::default()
            }
        }
        _ => unreachable!("the dice are rolled for requests that this can happen to"),
    }
}

/// Changes one bit of a buffer that may lie in several pieces.
fn flip(buffer: &mut BufMut, bit: u64) {
    let mut at = (bit / 8) as usize;
    for slice in buffer.slices_mut() {
        if let Some(byte) = slice.get_mut(at) {
            *byte ^= 1 << (bit % 8);
            return;
        }
        at -= slice.len();
    }
}

/// Copies `bytes` into a buffer that may lie in several pieces, from `at` on.
fn patch(buffer: &mut BufMut, at: usize, bytes: &Buf) {
    let mut flat = vec![0; bytes.len()];
    bytes.copy_to_slice(&mut flat);
    let end = at + flat.len();
    let mut start = 0;
    for slice in buffer.slices_mut() {
        let (from, to) = (at.max(start), end.min(start + slice.len()));
        if from < to {
            slice[from - start..to - start].copy_from_slice(&flat[from - at..to - at]);
        }
        start += slice.len();
    }
}
