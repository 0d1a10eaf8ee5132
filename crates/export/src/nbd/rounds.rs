//! The rounds of a worker: what came is taken, what is there is sent, what is over ends.

//!
//! ```text
//!   socket ──bytes──> handshake / transmission ──Order──> OrderQueue ──> device
//!          <─ropes──  Output                  <─Answer──
//! ```
//!
//! Whatever is ready is taken before anything is sent, so replies that are ready together go out
//! together. A connection's place is used again only when neither the kernel nor a device uses
//! anything of it.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use block::BufMut;
use reactor::{Event, Outcome, Time};

use super::admission::Ticket;
use super::connection::{Activity, Connection, Ending, Phase, ReceiveTarget};
use super::handshake::{Handshake, TlsRule};
use super::memory::Pool;
use super::shared::Mail;
use super::tls::Tunnel;
use super::worker::{PATIENCE, Worker};

/// A rest of a write's data that is at least this long is received where it is needed; a shorter
/// one with what follows it.
const DIRECT_BYTES: usize = 16 << 10;
/// Bytes of TLS that are received at once.
const CIPHER_BYTES: usize = 64 << 10;
const TICK: Duration = Duration::from_secs(1);

impl Worker {
    /// Serves until it is told to stop and all connections have ended, or its time is up.
    ///
    /// # Errors
    /// What the kernel says when the ring itself fails.
    pub(super) fn run(mut self) -> std::io::Result<()> {
        loop {
            self.now = self.reactor.now();
            self.read_mail();
            while let Some(event) = self.source.take() {
                self.socket_event(event);
            }
            self.poll_orders();
            if self.now >= self.next_tick {
                self.tick();
            }
            self.relieve();
            for place in 0..self.touched.len() {
                self.advance(self.touched[place]);
            }
            // Devices that answer at once wake no thread.
            self.poll_orders();
            while let Some(index) = self.touched.pop() {
                self.settle(index);
            }
            let over =
                |worker: &Worker, stop_at| worker.now >= stop_at || worker.connections.is_empty();
            if self.stop_at.is_some_and(|stop_at| over(&self, stop_at)) {
                return Ok(());
            }
            self.reactor.wait(self.deadline())?;
        }
    }

    /// The next moment at which a connection's time may be up; none with only quiet clients.
    fn deadline(&self) -> Option<Time> {
        let watched = self.handshakes + self.quiet > 0
            || self.draining > 0
            || !self.pressed.is_empty()
            || self.stop_at.is_some();
        watched.then_some(self.next_tick)
    }

    /// Lets those try again that wait for memory.
    fn relieve(&mut self) {
        for index in std::mem::take(&mut self.pressed) {
            if let Some(connection) = self.connections.get_mut(index) {
                connection.pressed = false;
                self.touch(index);
            }
        }
    }

    fn read_mail(&mut self) {
        loop {
            match self.inbox.try_recv() {
                Ok(Mail::Connection(descriptor, ticket, rule)) => {
                    self.welcome(descriptor, ticket, rule);
                }
                Err(TryRecvError::Empty) => return,
                Ok(Mail::Stop) | Err(TryRecvError::Disconnected) if self.stop_at.is_none() => {
                    self.stop();
                }
                Ok(Mail::Stop) => (),
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    fn stop(&mut self) {
        self.stop_at = Some(self.now + self.shared.limits.stop_time);
        for index in self.connections.keys() {
            match self.connections.get(index).map(|connection| &connection.phase) {
                Some(Phase::Handshake(_)) => self.kill(index),
                Some(Phase::Transmission(_)) => self.drain(index),
                None => (),
            }
        }
    }

    fn welcome(&mut self, descriptor: Arc<OwnedFd>, ticket: Ticket, rule: TlsRule) {
        let registered = self.reactor.register(Arc::clone(&descriptor));
        let (Ok(socket), None) = (registered, self.stop_at) else {
            self.shared.loads[self.number].fetch_sub(1, Ordering::Relaxed);
            return;
        };
        let (handshake, greeting) = Handshake::new(rule);
        let deadline = self.now + self.shared.limits.handshake_time;
        let mut connection =
            Connection::new(socket, descriptor, ticket, handshake, self.now, deadline);
        connection.output.push_small(&greeting);
        let index = self.connections.insert(Box::new(connection));
        self.handshakes += 1;
        self.touch(index);
    }

    fn tick(&mut self) {
        self.next_tick = self.now + TICK;
        let pressed = self.connections.iter().any(|(_, connection)| connection.pressed);
        for index in self.connections.keys() {
            let Some(connection) = self.connections.get(index) else { continue };
            let late = connection.deadline.is_some_and(|deadline| deadline <= self.now);
            let stuck = pressed
                && connection.output.is_sending()
                && self.now.since(connection.moved) >= PATIENCE;
            if connection.ending != Ending::Dead && (late || stuck) {
                self.turn_away(index);
            } else if let Activity::NothingSince(since) = connection.asked
                && self.now.since(since) >= self.shared.limits.silent_time
            {
                self.quiet -= 1;
                let connection = self.get(index);
                connection.asked = Activity::NothingForLong;
                connection.ticket.is_silent();
            }
        }
    }

    fn socket_event(&mut self, event: Event) {
        let index = (event.token >> 1) as u32;
        let now = self.now;
        let (connection, pool, budget, _) = self.split(index);
        connection.moved = now;
        match event.outcome {
            Outcome::Read { buffer, result } => match result {
                Ok(count) => {
                    self.received(index, buffer, count as usize);
                    if count == 0 { self.drain(index) } else { self.touch(index) }
                }
                Err(_) => {
                    connection.receiving = ReceiveTarget::Nothing;
                    self.kill(index);
                }
            },
            Outcome::Written { buffer, result: Err(_) } => {
                let data_bytes = connection.output.end(buffer, pool);
                budget.give_back(&mut connection.held_bytes, data_bytes);
                self.kill(index);
            }
            Outcome::Written { buffer, result: Ok(count) } => {
                match connection.output.sent(buffer, count as usize, pool) {
                    Err(rest) if connection.ending != Ending::Dead => {
                        let socket = connection.socket.clone();
                        self.source.send(&socket, rest, event.token);
                    }
                    Err(rest) => {
                        let data_bytes = connection.output.end(rest, pool);
                        budget.give_back(&mut connection.held_bytes, data_bytes);
                        self.touch(index);
                    }
                    Ok(data_bytes) => {
                        budget.give_back(&mut connection.held_bytes, data_bytes);
                        self.touch(index);
                    }
                }
            }
            outcome => unreachable!("{outcome:?} was not started here"),
        }
    }

    /// Puts what was received where it belongs.
    fn received(&mut self, index: u32, buffer: BufMut, count: usize) {
        let connection = self.get(index);
        match std::mem::replace(&mut connection.receiving, ReceiveTarget::Nothing) {
            ReceiveTarget::Input => connection.input.returned(buffer, count),
            ReceiveTarget::Cipher => {
                if let (Some(tunnel), Some(bytes)) = (&mut connection.tunnel, buffer.as_slice()) {
                    tunnel.received(&bytes[..count]);
                }
                connection.cipher = Some(buffer);
            }
            ReceiveTarget::Piece => self.piece_received(index, buffer, count),
            ReceiveTarget::Nothing => unreachable!("a receive was started"),
        }
    }

    /// Understands what a connection has sent, as far as it may have more, and receives more.
    fn advance(&mut self, index: u32) {
        while self.get(index).ending == Ending::Open {
            if self.decrypt(index).is_err() {
                // What TLS has to say about it is on its way already.
                self.drain(index);
                break;
            }
            let went_on = match self.get(index).phase {
                Phase::Handshake(_) => self.negotiate(index),
                Phase::Transmission(session) => self.understand(index, session),
            };
            if !went_on {
                break;
            }
        }
        self.receive(index);
    }

    /// Takes what the client said out of TLS; whether it was TLS.
    fn decrypt(&mut self, index: u32) -> std::io::Result<()> {
        let connection = self.get(index);
        let Some(tunnel) = &mut connection.tunnel else { return Ok(()) };
        loop {
            let space = connection.input.space();
            let count = if space.is_empty() { 0 } else { tunnel.read(space)? };
            if count == 0 {
                return Ok(());
            }
            connection.input.filled(count);
        }
    }

    /// Starts to receive, unless that is under way or the connection has to wait.
    fn receive(&mut self, index: u32) {
        let connection = self.connections.get_mut(index).expect("a connection in use");
        if connection.ending != Ending::Open || connection.receiving != ReceiveTarget::Nothing {
            return;
        }
        let token = u64::from(index) << 1;
        if let Some(tunnel) = &connection.tunnel {
            if !tunnel.has_waiting() && !connection.is_waiting() {
                let space =
                    connection.cipher.take().unwrap_or_else(|| BufMut::zeroed(CIPHER_BYTES));
                connection.receiving = ReceiveTarget::Cipher;
                self.source.receive(&connection.socket, space, false, token);
            }
            return;
        }
        let rest = connection
            .payload
            .as_mut()
            .and_then(|payload| payload.piece.as_mut())
            .map(|piece| &mut piece.rest);
        if connection.input.bytes().is_empty()
            && let Some(rest) =
                rest.and_then(|rest| rest.take_if(|rest| rest.len() >= DIRECT_BYTES))
        {
            connection.receiving = ReceiveTarget::Piece;
            self.source.receive(&connection.socket, rest, true, token);
        } else if !connection.is_waiting()
            && let Some(space) = connection.input.lend()
        {
            connection.receiving = ReceiveTarget::Input;
            self.source.receive(&connection.socket, space, false, token);
        }
    }

    /// Sends what there is to send, and removes a connection that is at its end.
    fn settle(&mut self, index: u32) {
        if self.get(index).ending != Ending::Dead && self.flush(index).is_err() {
            self.kill(index);
        }
        let connection = self.get(index);
        let done = connection.orders == 0
            && connection.output.is_empty()
            && !connection.output.is_sending();
        if connection.ending == Ending::Draining && done {
            if connection.tunnel.as_mut().is_some_and(Tunnel::goodbye) && self.flush(index).is_ok()
            {
                // Its end is settled when that has gone out.
                self.get(index).touched = false;
                return;
            }
            self.kill(index);
        }
        let connection = self.get(index);
        connection.touched = false;
        if connection.ending == Ending::Dead && !connection.is_in_use() {
            self.remove(index);
        }
    }

    fn flush(&mut self, index: u32) -> std::io::Result<()> {
        let (connection, pool, budget, _) = self.split(index);
        if let Some(tunnel) = &mut connection.tunnel {
            if connection.output.is_sending() {
                return Ok(());
            }
            if tunnel.is_up()
                && let Some(rope) = connection.output.start()
            {
                rope.slices().try_for_each(|slice| tunnel.write(slice))?;
                let data_bytes = connection.output.end(rope, pool);
                budget.give_back(&mut connection.held_bytes, data_bytes);
            }
            let bytes = tunnel.outgoing()?;
            if !bytes.is_empty() {
                let mut buffer = BufMut::zeroed(bytes.len());
                buffer.copy_from_slice(&bytes);
                connection.output.push_bytes(buffer.freeze());
            }
        }
        if let Some(rope) = connection.output.start() {
            let socket = connection.socket.clone();
            self.source.send(&socket, rope, u64::from(index) << 1 | 1);
        }
        Ok(())
    }

    fn remove(&mut self, index: u32) {
        let mut connection = self.connections.remove(index).expect("a connection in use");
        let held = connection.held_bytes;
        self.budget.give_back(&mut connection.held_bytes, held);
        self.shared.loads[self.number].fetch_sub(1, Ordering::Relaxed);
        match connection.phase {
            Phase::Handshake(_) => self.handshakes -= 1,
            Phase::Transmission(session) => {
                self.counters(session.export).connections.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.quiet -= usize::from(matches!(connection.asked, Activity::NothingSince(_)));
        drop(connection);
        if self.connections.is_empty() {
            // No connection is left to use it again.
            self.pool = Pool::default();
        }
    }
}
