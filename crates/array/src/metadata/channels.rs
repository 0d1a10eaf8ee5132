//! What a channel writes metadata with: channels of its own onto the whole members, opened when
//! they are first needed.

use block::{Completion, Error, Op, Request};
use reactor::{Buf, Reactor};

use super::state::Metadata;
use super::update::MetadataUpdate;
use crate::signalled::SignalledChannel;

/// The tag of an update's command; those of logs are one more than their piece.
const UPDATE: u64 = 0;
/// A command of an update and one of the log, which one piece has at a time.
const DEPTH: u32 = 2;

/// Channels onto the devices with metadata, and the update under way.
#[derive(Default)]
pub(crate) struct MetadataChannels {
    channels: Vec<Option<SignalledChannel>>,
    in_flight: Vec<u32>,
    /// Commands of devices whose channel could not be opened.
    refused: Vec<(usize, u64, Error)>,
    update: Option<MetadataUpdate>,
    outstanding: u32,
    failures: Vec<(usize, Error)>,
    done: Vec<Completion>,
    /// Counts what was sent, to see whether polling sent more.
    pub(crate) sent: u64,
}

/// What has ended.
pub(crate) enum EndedCommand {
    /// A log write for a piece.
    Log(u32, Result<(), Error>),
    /// The update, with the devices that failed.
    Update(Box<MetadataUpdate>, Vec<(usize, Error)>),
}

impl MetadataChannels {
    /// Whether there is anything to poll for.
    pub(crate) fn is_busy(&self) -> bool {
        self.update.is_some()
            || !self.refused.is_empty()
            || self.in_flight.iter().any(|&count| count > 0)
    }

    pub(crate) fn has_update(&self) -> bool {
        self.update.is_some()
    }

    /// Starts an update; one at a time.
    pub(crate) fn begin(&mut self, update: MetadataUpdate, metadata: &Metadata, reactor: &Reactor) {
        debug_assert!(self.update.is_none(), "one update at a time");
        self.update = Some(update);
        self.next_phase(metadata, reactor);
        self.sent += 1;
    }

    /// Writes to a member's log for a piece.
    pub(crate) fn write_log(
        &mut self,
        device: usize,
        offset: u64,
        from: Buf,
        piece: u32,
        metadata: &Metadata,
        reactor: &Reactor,
    ) {
        let op = Op::Write { offset, from, fua: true };
        self.send(device, u64::from(piece) + 1, op, metadata, reactor);
    }

    fn next_phase(&mut self, metadata: &Metadata, reactor: &Reactor) {
        if self.outstanding == 0
            && !self.failures.is_empty()
            && let Some(update) = &mut self.update
        {
            // The next phase relies on the failed device too: that its data are flushed, that its
            // bits are set.
            update.cut();
        }
        while self.outstanding == 0
            && let Some(phase) = self.update.as_mut().and_then(MetadataUpdate::next_phase)
        {
            for (device, op) in phase {
                self.outstanding += 1;
                self.send(device, UPDATE, op, metadata, reactor);
            }
        }
    }

    fn send(&mut self, device: usize, tag: u64, op: Op, metadata: &Metadata, reactor: &Reactor) {
        self.sent += 1;
        if self.channels.len() <= device {
            self.channels.resize_with(device + 1, || None);
            self.in_flight.resize(device + 1, 0);
        }
        let channel = &mut self.channels[device];
        if channel.is_none() {
            match metadata.device(device).open(DEPTH, reactor) {
                Ok(opened) => *channel = Some(SignalledChannel::over(opened)),
                Err(error) => return self.refused.push((device, tag, error)),
            }
        }
        let channel = channel.as_mut().expect("opened above");
        channel.submit(Request::new(tag, op));
        self.in_flight[device] += 1;
    }

    /// Takes what has completed, and goes on with the update.
    pub(crate) fn poll(
        &mut self,
        metadata: &Metadata,
        reactor: &Reactor,
        ended: &mut Vec<EndedCommand>,
    ) {
        for (device, tag, error) in std::mem::take(&mut self.refused) {
            self.take(device, tag, Err(error), ended);
        }
        for device in 0..self.channels.len() {
            let Some(channel) =
                self.channels[device].as_mut().filter(|_| self.in_flight[device] > 0)
            else {
                continue;
            };
            let mut done = std::mem::take(&mut self.done);
            channel.poll(&mut done);
            self.in_flight[device] -= done.len() as u32;
            for completion in done.drain(..) {
                self.take(device, completion.tag, completion.result, ended);
            }
            self.done = done;
        }
        if self.update.is_some() && self.outstanding == 0 {
            self.next_phase(metadata, reactor);
            if self.outstanding == 0
                && let Some(update) = self.update.take()
            {
                ended.push(EndedCommand::Update(
                    Box::new(update),
                    std::mem::take(&mut self.failures),
                ));
            }
        }
    }

    /// Polls channels without a request of this array: an event left in their mailboxes would wake
    /// the owner again and again.
    pub(crate) fn poll_idle(&mut self, done: &mut Vec<Completion>) {
        for (channel, _) in
            self.channels.iter_mut().zip(&self.in_flight).filter(|(_, in_flight)| **in_flight == 0)
        {
            channel.iter_mut().for_each(|channel| channel.poll(done));
        }
    }

    fn take(
        &mut self,
        device: usize,
        tag: u64,
        result: Result<(), Error>,
        ended: &mut Vec<EndedCommand>,
    ) {
        if tag == UPDATE {
            self.outstanding -= 1;
            self.failures.extend(result.err().map(|error| (device, error)));
        } else {
            ended.push(EndedCommand::Log((tag - 1) as u32, result));
        }
    }

    /// The update under way, which is given up.
    pub(crate) fn give_up(&mut self) -> Option<MetadataUpdate> {
        self.update.take()
    }
}
