//! What became of the chunks of a large file since it was written.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How often each chunk of a copy's large file was changed, and which chunks a thread is at.
pub(super) struct Changes {
    /// Modulo 256, as the byte itself.
    counts: Vec<AtomicU8>,
    pub(super) chunk_bytes: u64,
    visited: Mutex<Vec<u64>>,
    left: Condvar,
}

impl Changes {
    pub(super) fn new(size_bytes: u64, chunk_bytes: usize) -> Changes {
        let chunk_bytes = chunk_bytes as u64;
        let counts = (0..size_bytes / chunk_bytes).map(|_| AtomicU8::new(0)).collect();
        Changes { counts, chunk_bytes, visited: Mutex::new(Vec::new()), left: Condvar::new() }
    }

    /// The file is made anew.
    pub(super) fn clear(&self) {
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }

    pub(super) fn of(&self, offset: u64) -> &AtomicU8 {
        let index =
            usize::try_from(offset / self.chunk_bytes).expect("a chunk has a number in memory");
        &self.counts[index]
    }

    /// Waits until no other seeker is at this chunk: of two changes at once one could be lost, and
    /// no read could be held against either.
    pub(super) fn visit(&self, offset: u64) -> Visit<'_> {
        let mut visited = self.visited.lock().unwrap_or_else(PoisonError::into_inner);
        while visited.contains(&offset) {
            visited = self.left.wait(visited).unwrap_or_else(PoisonError::into_inner);
        }
        visited.push(offset);
        Visit { changes: self, offset }
    }
}

/// A seeker is at a chunk until this goes.
pub(super) struct Visit<'a> {
    changes: &'a Changes,
    offset: u64,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.changes
            .visited
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|offset| *offset != self.offset);
        self.changes.left.notify_all();
    }
}
