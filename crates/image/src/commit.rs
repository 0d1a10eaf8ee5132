//! A flush of an image that is written to: its data, and then its tables, in the order that
//! `tables` has them in. One at a time, over all channels.

use std::collections::VecDeque;
use std::sync::Arc;

use block::{BufMut, Error, Op};

use crate::channel::{ImageChannel, Whose, Work};
use crate::image_core::Claimed;
use crate::tables::TableWrite;

/// What of a flush is still to be done.
#[derive(Default)]
pub(crate) struct Commit {
    phases: VecDeque<Vec<TableWrite>>,
    /// Writes have ended behind which the file is to be flushed.
    is_unflushed: bool,
}

impl ImageChannel {
    pub(crate) fn flush(&mut self, tag: u64) {
        let failure = self.core.flush_failure().as_ref().map(Error::repeat);
        let request = self.start(Whose::Owner(tag), Work::Flush(Commit::default()));
        match failure {
            Some(error) => self.end_piece(request, Some(error)),
            None => self.claim(request, Claimed::Tables),
        }
    }

    /// The turn is this request's.
    pub(crate) fn begin_flush(&mut self, request: u32) {
        let core = Arc::clone(&self.core);
        let mut state = core.state_mut();
        let state = &mut *state;
        let tables = state.tables.as_mut().expect("an image that is written to");
        let mut phases: VecDeque<_> = tables.draft(&state.map).into();
        let counts = phases.pop_front().unwrap_or_default();
        self.running(request).work = Work::Flush(Commit { phases, is_unflushed: true });
        self.write_tables(request, counts);
    }

    fn write_tables(&mut self, request: u32, writes: Vec<TableWrite>) {
        let longest = self.core.piece_bytes_max as usize;
        for (offset, bytes) in writes {
            for (piece, at) in bytes.chunks(longest).zip((offset..).step_by(longest)) {
                let mut from = BufMut::zeroed(piece.len());
                from.copy_from_slice(piece);
                self.send(request, Op::Write { offset: at, from: from.freeze(), fua: false });
            }
        }
    }

    /// Begins what comes after the step that has ended. False when nothing does.
    pub(crate) fn go_on_with_flush(&mut self, request: u32) -> bool {
        let running = self.running(request);
        let Work::Flush(commit) = &mut running.work else { return false };
        if let Some(error) = &running.failure {
            let error = error.repeat();
            self.core.flush_failure().get_or_insert(error);
            return false;
        }
        if std::mem::take(&mut commit.is_unflushed) {
            self.send(request, Op::Flush);
            return true;
        }
        while let Some(writes) = commit.phases.pop_front() {
            if !writes.is_empty() {
                // Counts that have become less, the last phase, may be lost.
                commit.is_unflushed = !commit.phases.is_empty();
                self.write_tables(request, writes);
                return true;
            }
        }
        false
    }
}
