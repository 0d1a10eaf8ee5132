//! What an update changes in the record: when it is sent, and when it has ended.

use super::draft::Draft;
use super::state::Record;

/// How an update ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdateOutcome {
    Done,
    /// Some members did not take all of it; the others have it.
    Failed,
    /// Its first so many phases are on all members; how far it got beyond them is unknown.
    Abandoned {
        phases_done: usize,
    },
}

impl Record {
    /// An update is sent: what it takes back does not count any more from now on. What it adds
    /// counts when it has ended.
    pub(crate) fn begin(&mut self, draft: &Draft) {
        for &device in &draft.falling_behind {
            self.devices[device].is_fresh = false;
        }
        if let (Some(write_intent), Some(change)) = (&mut self.write_intent, &draft.bitmap) {
            write_intent.set_events(change.events, change.events_cleared);
            write_intent.clear(&change.cleared);
        }
        self.wanted.clear();
        self.is_active &= draft.is_active;
    }

    /// An update has ended.
    pub(crate) fn end(&mut self, draft: Draft, outcome: UpdateOutcome) {
        // A member that has more is not taken back: what is between them may be called clean.
        self.events_least = match outcome {
            UpdateOutcome::Done | UpdateOutcome::Failed => draft.events,
            UpdateOutcome::Abandoned { phases_done } => {
                draft.events_after(phases_done).unwrap_or(self.events_least)
            }
        };
        for (device, superblock) in draft.superblocks.last {
            self.devices[device].superblock = superblock;
        }
        if outcome == UpdateOutcome::Done {
            draft.outdated.iter().for_each(|&device| self.devices[device].is_fresh = true);
        }
        let is_clean = !draft.is_active && draft.facts.resync_from.is_none();
        self.is_said_clean = is_clean && (outcome == UpdateOutcome::Done || self.is_said_clean);
        self.events = draft.events;
        self.times.extend(draft.superblocks.times);
        self.times = self.times.split_off(&self.events_least);
        if outcome != UpdateOutcome::Done {
            // What the members say now is somewhere between the two. Dirty is always safe, and the
            // next piece that asks has it written.
            self.is_active = true;
            self.facts = None;
            return;
        }
        let bitmap = draft.bitmap.and_then(|change| change.set);
        if let (Some(write_intent), Some(bitmap)) = (&mut self.write_intent, bitmap) {
            write_intent.is_written(bitmap);
        }
        self.is_active = draft.is_active;
        self.facts = Some(draft.facts);
    }
}
