//! How what is written comes to a disk's media, noted while it happens: what a power cut at any
//! moment leaves can be told from it afterwards.

use super::geometry::whole_nanoseconds;

/// What a disk notes of how written data come to its media. Times are in nanoseconds, places in
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaNote {
    /// Data have arrived in the drive: in its cache, or for a write with FUA on their way past it.
    Arrived {
        /// When it was.
        time: u64,
        /// First byte.
        start: u64,
        /// Behind the last byte.
        end: u64,
    },
    /// What had arrived until `taken` of a range goes to the media, block by block.
    Written {
        /// What arrives later is written by another.
        taken: u64,
        /// When the first byte passes under the head.
        begins: u64,
        /// When the last one has.
        ends: u64,
        /// First byte.
        start: u64,
        /// Behind the last byte.
        end: u64,
    },
}

/// What a disk notes, where it is asked to.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Option<Vec<MediaNote>>);

impl Notes {
    /// Notes are taken from now on.
    pub(super) fn begin(&mut self) {
        self.0.get_or_insert_default();
    }

    /// What was noted, and is no longer.
    pub(super) fn take(&mut self) -> Vec<MediaNote> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn arrived(&mut self, time: u64, (start, end): (u64, u64)) {
        if let Some(notes) = &mut self.0 {
            notes.push(MediaNote::Arrived { time, start, end });
        }
    }

    /// `begins` and `ends` are counted from now on.
    pub(super) fn written(
        &mut self,
        now: u64,
        (start, end): (u64, u64),
        (begins, ends): (f64, f64),
    ) {
        if let Some(notes) = &mut self.0 {
            let begins = now + begins.max(0.0) as u64;
            let ends = now + whole_nanoseconds(ends);
            notes.push(MediaNote::Written { taken: now, begins, ends, start, end });
        }
    }

    /// The last write was given up before its data moved.
    pub(super) fn given_up(&mut self) {
        let Some(notes) = &mut self.0 else { return };
        let is_write = |note: &MediaNote| matches!(note, MediaNote::Written { .. });
        if let Some(last) = notes.iter().rposition(is_write) {
            notes.remove(last);
        }
    }
}
