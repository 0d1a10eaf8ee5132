//! How a cache ends: nothing that only it has is lost.

use block::{Blocking, Buf, BufMut, Error, ErrorKind};

use super::options::CacheMode;
use super::plan::{self, Segment};
use super::shared::CacheCore;
use super::state::CacheState;
use crate::catalogue;

impl Drop for CacheCore {
    /// The cache is not used any more. What cannot be done now is told to no request: what had to
    /// be durable has been flushed.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = self.close();
        }
    }
}

impl CacheCore {
    /// Ends the cache, once; what is asked of it later is refused.
    ///
    /// # Errors
    /// Whatever the devices say. A kept store is then as after a crash.
    pub(super) fn close(&self) -> Result<(), Error> {
        let ended = Error::new(ErrorKind::Gone, catalogue::CLOSED);
        let usable =
            !self.is_distrusted() && self.stop_reason().is_none() && self.flush_failure().is_none();
        if !self.stop(ended) || !usable {
            return Ok(());
        }
        match self.kept.clone() {
            Some(kept) => kept.close(&*self.store, &*self.lower, &self.state()),
            None if self.options.mode == CacheMode::WriteBack => self.write_all_out(),
            None => Ok(()),
        }
    }

    /// Writes everything dirty to the device below and makes it durable; for when no channel is
    /// open.
    fn write_all_out(&self) -> Result<(), Error> {
        let mut state = self.state();
        let dirty = state.dirty_blocks();
        if dirty.is_empty() {
            return Ok(());
        }
        let (mut store, mut lower) =
            (Blocking::beside(&*self.store)?, Blocking::beside(&*self.lower)?);
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
            whole.append(
                store.read(self.shape.slot_offset(first), BufMut::zeroed(length as usize))?,
            );
        }
        Ok(whole.freeze())
    }
}

fn mark_clean(state: &mut CacheState, segment: &Segment) {
    segment.dirty.iter().for_each(|&slot| state.set_clean(slot));
    state.counts.written_out += segment.dirty.len() as u64;
}
