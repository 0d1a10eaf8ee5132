//! A worker: one thread, one reactor, its share of the connections, and an order queue for each
//! export that they use. What it does with them stands in `converse` and, above it, in `rounds`.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use reactor::{Reactor, Slots, Source, Time};

use super::connection::{Connection, Ending};
use super::memory::{Budget, Pool};
use super::shared::{Counters, Mail, ServerCore};
use crate::serve::{Answer, OrderQueue};
use nbd_wire::REQUEST_MAX_BYTES;

/// A client that takes nothing for so long while others wait for the memory, or while it should go,
/// is cut off.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Worker {
    pub(super) reactor: Reactor,
    pub(super) source: Source,
    pub(super) shared: Arc<ServerCore>,
    pub(super) number: usize,
    pub(super) inbox: Receiver<Mail>,
    pub(super) order_queues: Vec<Option<OrderQueue>>,
    pub(super) connections: Slots<Box<Connection>>,
    /// Connections for which something may have to be done.
    pub(super) touched: Vec<u32>,
    /// Connections that wait for memory that others hold.
    pub(super) pressed: Vec<u32>,
    /// Connections that are answered their last.
    pub(super) draining: usize,
    pub(super) pool: Pool,
    pub(super) budget: Budget,
    pub(super) handshakes: usize,
    /// Connections that have chosen an export, asked nothing, and may do so for some time yet.
    pub(super) quiet: usize,
    pub(super) now: Time,
    pub(super) next_tick: Time,
    /// When everything has to be over.
    pub(super) stop_at: Option<Time>,
    // Kept between rounds for their memory alone.
    pub(super) answers: Vec<Answer>,
    pub(super) small: Vec<u8>,
}

impl Worker {
    pub(super) fn new(
        shared: Arc<ServerCore>,
        number: usize,
        inbox: Receiver<Mail>,
        reactor: Reactor,
    ) -> Worker {
        let share = (shared.limits.memory_bytes / shared.workers as u64)
            .max(2 * u64::from(REQUEST_MAX_BYTES));
        Worker {
            source: reactor.source(),
            now: reactor.now(),
            reactor,
            number,
            inbox,
            order_queues: shared.shapes.iter().map(|_| None).collect(),
            connections: Slots::default(),
            touched: Vec::new(),
            pressed: Vec::new(),
            draining: 0,
            pool: Pool::default(),
            budget: Budget::new(share, u64::from(REQUEST_MAX_BYTES)),
            handshakes: 0,
            quiet: 0,
            next_tick: Time::ZERO,
            stop_at: None,
            answers: Vec::new(),
            small: Vec::new(),
            shared,
        }
    }

    /// Notes that a connection waits for memory that others hold.
    pub(super) fn press(&mut self, index: u32) {
        self.get(index).pressed = true;
        self.pressed.push(index);
    }

    pub(super) fn turn_away(&mut self, index: u32) {
        self.shared.admission.note_turned_away();
        self.kill(index);
    }

    pub(super) fn get(&mut self, index: u32) -> &mut Connection {
        self.connections.get_mut(index).expect("a connection stays until nothing uses it")
    }

    /// A connection, and what it needs of the worker to go on.
    pub(super) fn split(
        &mut self,
        index: u32,
    ) -> (&mut Connection, &mut Pool, &mut Budget, &mut [Option<OrderQueue>]) {
        let connection =
            self.connections.get_mut(index).expect("a connection stays until nothing uses it");
        (connection, &mut self.pool, &mut self.budget, &mut self.order_queues)
    }

    pub(super) fn counters(&self, export: usize) -> &Counters {
        &self.shared.exports[export].counters[self.number]
    }

    pub(super) fn touch(&mut self, index: u32) {
        if !std::mem::replace(&mut self.get(index).touched, true) {
            self.touched.push(index);
        }
    }

    /// Takes no more requests from it and lets it go when all that came whole are answered.
    pub(super) fn drain(&mut self, index: u32) {
        let deadline = self.now + PATIENCE;
        let connection = self.get(index);
        if connection.ending == Ending::Open {
            connection.ending = Ending::Draining;
            connection.deadline = Some(deadline);
            self.draining += 1;
        }
        self.touch(index);
    }

    pub(super) fn kill(&mut self, index: u32) {
        let connection = self.get(index);
        let before = std::mem::replace(&mut connection.ending, Ending::Dead);
        if before != Ending::Dead {
            connection.deadline = None;
            connection.ticket.give_up();
            // Ends whatever the kernel still does with it. One that is gone already needs no end.
            let _ = rustix::net::shutdown(&connection.descriptor, rustix::net::Shutdown::Both);
        }
        self.draining -= usize::from(before == Ending::Draining);
        self.touch(index);
    }
}
