//! A channel that goes away.

use block::{Error, ErrorKind};
use reactor::Woken;

use super::ArrayChannel;
use super::gate::LogState;
use super::piece::{Phase, Piece};
use crate::Level;

impl<L: Level> ArrayChannel<L> {
    /// Gives up what waits for a row.
    fn stop_waiting(&mut self) {
        let mut others = false;
        for (index, piece) in self.pieces.iter_mut().enumerate() {
            let Some(piece) = piece.as_mut().filter(|piece| piece.phase == Phase::WaitingForRow)
            else {
                continue;
            };
            let Some(row) = piece.held_row.take() else { continue };
            let cancelled = self.shared.rows.cancel(row, &self.waiter, index as u32);
            others |= cancelled.unwrap_or_else(|| self.shared.rows.release(row, &self.waiter)).0;
        }
        if others {
            self.reactor.nudge();
        }
    }

    fn is_writing(&self) -> bool {
        let writes = |piece: &Piece| {
            piece.phase == Phase::Writing && piece.held_row.is_some()
                || piece.log == LogState::Writing
        };
        self.metadata_channels.has_update()
            || self.pieces.iter().flatten().any(|piece| writes(piece))
    }

    /// Waits for the next event. True when there is none to come.
    fn reactor_stands(&self) -> bool {
        !matches!(self.reactor.wait_for_more(), Ok(woken) if woken != Woken::Idle)
    }
}

/// A row of which some members were written and others not must not be left to the next piece that
/// locks it: what is made from it for an absent member would be rubbish, and copies would differ.
/// So a channel that is dropped begins nothing more, but sees the writes through that it has sent.
impl<L: Level> Drop for ArrayChannel<L> {
    fn drop(&mut self) {
        if !L::LOCKS_ROWS {
            return;
        }
        self.closing = true;
        self.stop_waiting();
        let mut done = Vec::new();
        while self.is_writing() && !std::thread::panicking() {
            let before = self.sent + self.metadata_channels.sent;
            for slot in 0..self.members.len() {
                if self.members[slot].in_flight > 0 {
                    self.poll_member(slot, &mut done);
                }
            }
            self.poll_retired(&mut done);
            self.poll_metadata();
            if done.is_empty()
                && self.sent + self.metadata_channels.sent == before
                && self.is_writing()
                && self.reactor_stands()
            {
                break;
            }
            done.clear();
        }
        self.stop_waiting();
        // A member whose answer to a write is missing now never gives one. What it holds is
        // unknown.
        let silent = Error::new(ErrorKind::TimedOut, "a write was never answered");
        for piece in self
            .pieces
            .iter()
            .flatten()
            .filter(|piece| piece.phase == Phase::Writing && piece.held_row.is_some())
        {
            for command in &piece.commands {
                let queue = &self.members[command.member];
                if queue.in_flight > 0 {
                    self.shared.drop_member(command.member, queue.member.as_ref(), &silent);
                }
            }
        }
        for slot in self
            .pieces
            .iter()
            .flatten()
            .filter(|piece| piece.log == LogState::Writing)
            .map(|piece| piece.log_member)
        {
            self.shared.drop_member(slot, self.members[slot].member.as_ref(), &silent);
        }
        self.abandon_update();
        let mut others = false;
        for index in 0..self.pieces.len() {
            let Some(mut piece) = self.pieces[index].take() else { continue };
            if let Some(row) = piece.held_row.take() {
                others |= self.shared.rows.release(row, &self.waiter).0;
            }
            self.release_log(index as u32, &mut piece);
            self.leave_metadata(&mut piece);
        }
        if others {
            self.reactor.nudge();
        }
    }
}
