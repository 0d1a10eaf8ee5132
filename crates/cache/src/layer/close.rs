//! How a cache ends: nothing that only it has is lost.

use block::{Blocking, Buf, BufMut, Error};

use super::plan::{self, Segment};
use super::state::State;
use super::{CacheMode, Shared};
use crate::beside::open_beside;

impl Drop for Shared {
    /// Nobody uses the cache any more. What cannot be done now has nobody to be told to: whoever needs it durable has flushed.
    fn drop(&mut self) {
        if std::thread::panicking() || self.is_distrusted() || self.stop_reason().is_some() || self.flush_failure().is_some() {
            return;
        }
        let _ = match self.kept.clone() {
            Some(kept) => kept.close(&*self.store, &*self.lower, &self.state()),
            None if self.options.mode == CacheMode::WriteBack => self.write_all_out(),
            None => Ok(()),
        };
    }
}

impl Shared {
    /// Writes everything dirty to the device below and makes it durable; for when no channel is open.
    fn write_all_out(&self) -> Result<(), Error> {
        let mut state = self.state();
        let dirty = state.dirty_blocks();
        if dirty.is_empty() {
            return Ok(());
        }
        let (mut store, mut lower) = (open_beside(&*self.store)?, open_beside(&*self.lower)?);
        let mut done = 0;
        for block in dirty {
            if block < done {
                continue;
            }
            let run = plan::run(&self.shape, &state, block);
            done = run.end;
            for segment in plan::segments(&self.shape, &state, run) {
                let data = self.load(&mut store, &segment)?;
                lower.write(segment.offset, data)?;
                mark_clean(&mut state, &segment);
            }
        }
        lower.flush()
    }

    fn load(&self, store: &mut Blocking, segment: &Segment) -> Result<Buf, Error> {
        let mut whole = BufMut::zeroed(0);
        for &(first, length) in &segment.pieces {
            whole.append(store.read(self.shape.slot_offset(first), BufMut::zeroed(length as usize))?);
        }
        Ok(whole.freeze())
    }
}

fn mark_clean(state: &mut State, segment: &Segment) {
    segment.dirty.iter().for_each(|&slot| state.set_clean(slot));
    state.counts.written_out += segment.dirty.len() as u64;
}
