//! What a worker does with what a client says: options, requests, data of writes, and the answers
//! of devices.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use block::{BufMut, Device, Extents, ReturnedBuffer};

use super::connection::{Activity, INPUT_BYTES, Payload, Phase, Piece, RunningOrder};
use super::handshake::{OPTION_MAX_BYTES, Verdict};
use super::memory::Grant;
use super::shared::Counters;
use super::tls::Tunnel;
use super::transmission::{self, Command, Decision, Session};
use super::worker::Worker;
use crate::serve::{self, Answer, Order, OrderQueue};
use nbd_wire::{OPTION_BYTES, REQUEST_BYTES};

/// Requests that a device gets from one worker at a time.
const ORDERS_DEPTH: u32 = 256;
/// A write's data go to the device in pieces of about this size, in bytes, so that a client that
/// falls silent in the middle holds no more than that.
const PIECE_BYTES: u32 = 1 << 20;

/// What the range holds, or its beginning: so many bytes, and whether they are a hole.
fn runs_within(device: &dyn Device, offset: u64, length: u64) -> Vec<(u32, bool)> {
    let block = u64::from(device.info().block_bytes);
    let start = offset - offset % block;
    let mut found = Extents::new();
    device.extents(start, (offset + length).next_multiple_of(block) - start, &mut found);
    let (mut at, mut runs) = (start, Vec::new());
    for run in found.runs() {
        let from = at.max(offset);
        at += run.length;
        let to = at.min(offset + length);
        runs.push((to.saturating_sub(from) as u32, run.is_hole));
    }
    runs
}

impl Worker {
    /// Answers one option; whether there may be another.
    pub(super) fn negotiate(&mut self, index: u32) -> bool {
        let mut out = std::mem::take(&mut self.small);
        out.clear();
        let shared = Arc::clone(&self.shared);
        let connection = self.get(index);
        let (Phase::Handshake(handshake), false) =
            (&mut connection.phase, connection.output.is_full())
        else {
            self.small = out;
            return false;
        };
        let (taken, verdict) =
            handshake.advance(connection.input.bytes(), &shared.shapes, &mut out);
        connection.input.consume(taken);
        connection.output.push_small(&out);
        self.small = out;
        match verdict {
            Verdict::More => {
                let connection = self.get(index);
                if taken == 0 && connection.input.is_full() {
                    connection.input.grow(OPTION_BYTES + OPTION_MAX_BYTES);
                }
                taken > 0
            }
            Verdict::Answered => {
                self.touch(index);
                true
            }
            Verdict::Close(_) => {
                self.drain(index);
                false
            }
            Verdict::StartTls => self.start_tls(index),
            Verdict::Transmission(session) => self.enter(index, session),
        }
    }

    fn start_tls(&mut self, index: u32) -> bool {
        let Some(config) = self.shared.tls.clone() else {
            unreachable!("it is offered only where there is a certificate")
        };
        let connection = self.get(index);
        let Ok(mut tunnel) = Tunnel::new(&config) else {
            self.kill(index);
            return false;
        };
        // The answer in the clear goes ahead of TLS; what has come already is TLS or nothing.
        tunnel.received(connection.input.bytes());
        let waiting = connection.input.bytes().len();
        connection.input.consume(waiting);
        connection.output.in_the_clear(&mut tunnel);
        connection.tunnel = Some(tunnel);
        if let Phase::Handshake(handshake) = &mut connection.phase {
            handshake.secured();
        }
        self.touch(index);
        true
    }

    /// The handshake is over.
    fn enter(&mut self, index: u32, session: Session) -> bool {
        if !self.get(index).ticket.establish() {
            self.turn_away(index);
            return false;
        }
        self.handshakes -= 1;
        self.quiet += 1;
        self.counters(session.export).connections.fetch_add(1, Ordering::Relaxed);
        let now = self.now;
        let connection = self.get(index);
        connection.asked = Activity::NothingSince(now);
        connection.input.grow(INPUT_BYTES);
        connection.phase = Phase::Transmission(session);
        connection.deadline = None;
        self.touch(index);
        // Devices are opened for clients that use them.
        if self.order_queues[session.export].is_none() {
            let export = &self.shared.exports[session.export];
            match OrderQueue::open(
                &*export.device,
                ORDERS_DEPTH,
                export.policy,
                &export.gate,
                &self.reactor,
            ) {
                Ok(orders) => self.order_queues[session.export] = Some(orders),
                Err(error) => {
                    export.complain(&error);
                    self.drain(index);
                    return false;
                }
            }
        }
        true
    }

    /// Takes requests and their data off the input; whether anything was taken.
    pub(super) fn understand(&mut self, index: u32, session: Session) -> bool {
        let mut went_on = false;
        loop {
            let connection = self.get(index);
            if connection.payload.is_some() {
                match self.take_payload(index, session) {
                    true => went_on = true,
                    false => return went_on,
                }
                continue;
            }
            if connection.skip_bytes > 0 {
                let now = connection.skip_bytes.min(connection.input.bytes().len() as u64);
                connection.skip_bytes -= now;
                connection.input.consume(now as usize);
                went_on |= now > 0;
                if connection.skip_bytes > 0 {
                    return went_on;
                }
            }
            if connection.is_waiting() {
                return went_on;
            }
            let Some(head) = connection.input.bytes().first_chunk::<REQUEST_BYTES>() else {
                return went_on;
            };
            let head = *head;
            if !self.take_request(index, session, &head) {
                return went_on;
            }
            went_on = true;
        }
    }

    /// Takes one request; not when it has to wait, or the connection has ended with it.
    fn take_request(&mut self, index: u32, session: Session, head: &[u8; REQUEST_BYTES]) -> bool {
        match self.get(index).has_asked() {
            Activity::NothingSince(_) => self.quiet -= 1,
            Activity::NothingForLong => self.get(index).ticket.has_asked(),
            Activity::Something => (),
        }
        let (cookie, decision) =
            transmission::decide(head, &self.shared.shapes[session.export], session);
        match decision {
            Decision::Do(command) => self.carry_out(index, session, cookie, command),
            Decision::Refuse { errno, why, payload_bytes } => {
                self.count(session, |counters| &counters.errors, 1);
                let connection = self.get(index);
                connection.input.consume(REQUEST_BYTES);
                connection.skip_bytes = u64::from(payload_bytes);
                // Answered before its data are passed over: the client reads while it sends, or it
                // would not get anywhere.
                self.reply(index, |out| {
                    transmission::put_error(out, session.structured, cookie, errno, why);
                });
                true
            }
            Decision::Goodbye => {
                self.drain(index);
                false
            }
            Decision::Drop(_) => {
                self.turn_away(index);
                false
            }
        }
    }

    /// Carries out what a request asks for; as [`Worker::take_request`].
    fn carry_out(&mut self, index: u32, session: Session, cookie: u64, command: Command) -> bool {
        let head_bytes = transmission::read_head_bytes(session.structured);
        let (connection, pool, budget, order_queues) = self.split(index);
        let orders =
            order_queues[session.export].as_mut().expect("opened when the first client came");
        let mut running =
            RunningOrder { cookie, orders: 1, receiving: false, error: None, head: None };
        let order = match command {
            Command::Read { offset, length } => {
                match budget.take(&mut connection.held_bytes, u64::from(length)) {
                    Grant::Granted => (),
                    Grant::OwnLimit => return false,
                    Grant::TotalLimit => {
                        self.press(index);
                        return false;
                    }
                }
                let mut into = pool.take(head_bytes, length as usize);
                let mut front = into.split_to(head_bytes);
                let front_bytes = front.as_mut_slice().expect("one piece of memory");
                transmission::put_read_head(front_bytes, cookie, offset, length);
                running.head = Some(front);
                Order::Read { offset, into }
            }
            Command::Write { offset, length, durable } => {
                running.receiving = true;
                running.orders = 0;
                let request = connection.begin(running);
                connection.payload = Some(Payload {
                    request,
                    durable,
                    offset,
                    left_bytes: u64::from(length),
                    piece: None,
                });
                connection.input.consume(REQUEST_BYTES);
                self.count_data(
                    session,
                    |counters| (&counters.writes, &counters.written_bytes),
                    length,
                );
                return true;
            }
            Command::Zero { offset, length, durable, allocate } => {
                Order::Zero { offset, length: u64::from(length), durable, allocate }
            }
            Command::Discard { offset, length, durable } => {
                Order::Discard { offset, length: u64::from(length), durable }
            }
            Command::Flush => Order::Flush,
            Command::Status { offset, length, one } => {
                connection.input.consume(REQUEST_BYTES);
                let runs = runs_within(
                    &*self.shared.exports[session.export].device,
                    offset,
                    u64::from(length),
                );
                let count = if one { 1 } else { runs.len() };
                self.reply(index, |out| {
                    transmission::put_status(out, cookie, runs[..count].iter().copied());
                });
                return true;
            }
        };
        connection.input.consume(REQUEST_BYTES);
        connection.orders += 1;
        let request = connection.begin(running);
        orders.take(u64::from(index) << 32 | u64::from(request), order);
        self.count_ordered(index, session, command);
        true
    }

    fn count_ordered(&mut self, index: u32, session: Session, command: Command) {
        match command {
            Command::Read { length, .. } => {
                let enough = self.get(index).ordered(length as usize);
                self.count_data(
                    session,
                    |counters| (&counters.reads, &counters.read_bytes),
                    length,
                );
                if enough {
                    // A device that answers at once has answers now, and more requests wait until
                    // those are being sent.
                    self.poll_orders();
                }
            }
            Command::Flush => self.count(session, |counters| &counters.flushes, 1),
            _ => self.count(session, |counters| &counters.clears, 1),
        }
    }

    /// Moves data of a write from the input into its piece; whether anything was done.
    fn take_payload(&mut self, index: u32, session: Session) -> bool {
        let shared = Arc::clone(&self.shared);
        let info = shared.exports[session.export].device.info();
        let (connection, pool, budget, _) = self.split(index);
        let Some(payload) = &mut connection.payload else { return false };
        if payload.piece.is_none() {
            let length = serve::cut(info, payload.offset, payload.left_bytes, PIECE_BYTES);
            match budget.take(&mut connection.held_bytes, length) {
                Grant::Granted => (),
                Grant::OwnLimit => return false,
                Grant::TotalLimit => {
                    self.press(index);
                    return false;
                }
            }
            let rest = Some(pool.take(0, length as usize));
            payload.piece = Some(Piece { offset: payload.offset, filled: None, rest });
            payload.offset += length;
            payload.left_bytes -= length;
        }
        let piece = payload.piece.as_mut().expect("made above");
        let Some(mut rest) = piece.rest.take() else { return false };
        let count = rest.len().min(connection.input.bytes().len());
        if count == 0 {
            piece.rest = Some(rest);
            return false;
        }
        let mut source = connection.input.bytes();
        for slice in rest.slices_mut() {
            let (now, later) = source.split_at(slice.len().min(source.len()));
            slice[..now.len()].copy_from_slice(now);
            source = later;
        }
        connection.input.consume(count);
        self.piece_received(index, rest, count);
        true
    }

    /// Takes `count` new bytes at the front of a piece's rest, and writes the piece when it is
    /// whole.
    pub(super) fn piece_received(&mut self, index: u32, rest: BufMut, count: usize) {
        let (connection, _, _, order_queues) = self.split(index);
        let session = connection.session().expect("data come after the handshake");
        let payload = connection.payload.as_mut().expect("its data were received");
        let piece = payload.piece.as_mut().expect("a piece was received into");
        let Some(whole) = piece.fill(rest, count) else { return };
        let (request, offset, durable, last) =
            (payload.request, piece.offset, payload.durable, payload.left_bytes == 0);
        payload.piece = None;
        if last {
            connection.payload = None;
        }
        connection.orders += 1;
        let running = connection.requests[request as usize].as_mut().expect("a write under way");
        running.orders += 1;
        running.receiving = !last;
        let orders =
            order_queues[session.export].as_mut().expect("opened when the first client came");
        orders.take(
            u64::from(index) << 32 | u64::from(request),
            Order::Write { offset, from: whole.freeze(), durable },
        );
    }

    /// Takes what devices have answered.
    pub(super) fn poll_orders(&mut self) {
        let mut answers = std::mem::take(&mut self.answers);
        self.order_queues.iter_mut().flatten().for_each(|orders| orders.poll(&mut answers));
        for answer in answers.drain(..) {
            self.answered(answer);
        }
        self.answers = answers;
    }

    /// A device has answered.
    fn answered(&mut self, answer: Answer) {
        let (index, request) = ((answer.token >> 32) as u32, answer.token as u32);
        self.touch(index);
        let (connection, pool, budget, _) = self.split(index);
        let session = connection.session().expect("orders come after the handshake");
        connection.orders -= 1;
        let running = connection.requests[request as usize].as_mut().expect("a request under way");
        running.orders -= 1;
        if let Err(error) = &answer.result {
            running.failed(error);
        }
        let is_read = matches!(answer.buffer, ReturnedBuffer::Read(_));
        match answer.buffer {
            ReturnedBuffer::Written(from) => {
                budget.give_back(&mut connection.held_bytes, from.len() as u64);
                if let Ok(buffer) = from.try_mut() {
                    pool.give_back(0, buffer);
                }
            }
            ReturnedBuffer::Read(data) => {
                let mut whole = running.head.take().expect("a read has a head");
                let (head_bytes, data_bytes) = (whole.len(), data.len() as u64);
                whole.append(data);
                if answer.result.is_ok() {
                    connection.output.push_data(whole, head_bytes);
                } else {
                    budget.give_back(&mut connection.held_bytes, data_bytes);
                    pool.give_back(head_bytes, whole);
                }
            }
            ReturnedBuffer::Nothing => (),
        }
        if running.orders > 0 || running.receiving {
            return;
        }
        let ended = connection.end(request);
        let (structured, cookie) = (session.structured, ended.cookie);
        match ended.error {
            Some((errno, why)) => {
                self.count(session, |counters| &counters.errors, 1);
                self.reply(index, |out| {
                    transmission::put_error(out, structured, cookie, errno, &why);
                });
            }
            None if is_read => (),
            None => self.reply(index, |out| transmission::put_done(out, structured, cookie)),
        }
    }

    /// Queues a reply without data.
    fn reply(&mut self, index: u32, put: impl FnOnce(&mut Vec<u8>)) {
        let mut out = std::mem::take(&mut self.small);
        out.clear();
        put(&mut out);
        self.get(index).output.push_small(&out);
        self.small = out;
        self.touch(index);
    }

    fn count(&self, session: Session, counter: impl Fn(&Counters) -> &AtomicU64, more: u64) {
        counter(self.counters(session.export)).fetch_add(more, Ordering::Relaxed);
    }

    fn count_data(
        &self,
        session: Session,
        counters: impl Fn(&Counters) -> (&AtomicU64, &AtomicU64),
        length: u32,
    ) {
        let (requests, bytes) = counters(self.counters(session.export));
        requests.fetch_add(1, Ordering::Relaxed);
        bytes.fetch_add(u64::from(length), Ordering::Relaxed);
    }
}
