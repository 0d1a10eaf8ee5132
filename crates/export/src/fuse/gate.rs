//! Who may write at the same time.
//!
//! Writes of whole blocks go together. A write of a part of a block reads the block, changes it and writes it back; what
//! another wrote there meanwhile would be lost, so it goes alone. Programs that write so are rare, and ordinary writes
//! pay for this with one uncontended lock.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use block::Error;
use reactor::Ringer;

/// How a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// With others of its kind.
    Together,
    /// While no other write is under way.
    Alone,
}

#[derive(Debug, Default)]
struct State {
    together: u32,
    alone: bool,
    /// Writes that want to go alone; while there is one, no other may start.
    waiting_alone: u32,
    /// Somebody was turned away and has to be told when things change.
    parked: bool,
}

/// The gate that the writes of all workers pass.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    bells: OnceLock<Vec<Ringer>>,
}

impl Gate {
    /// Names the workers, who try again when their bell rings.
    pub(super) fn serve(&self, bells: Vec<Ringer>) -> Result<(), Error> {
        self.bells.set(bells).map_err(|_| Error::new(block::ErrorKind::Invalid, "the workers of a gate are named once"))
    }

    /// Asks to pass; `again` when this one has been turned away before.
    pub(super) fn enter(&self, way: Way, again: bool) -> bool {
        let mut state = self.lock();
        if way == Way::Alone && !again {
            state.waiting_alone += 1;
        }
        let free = match way {
            Way::Together => !state.alone && state.waiting_alone == 0,
            Way::Alone => !state.alone && state.together == 0,
        };
        match (free, way) {
            (false, _) => state.parked = true,
            (true, Way::Together) => state.together += 1,
            (true, Way::Alone) => {
                state.alone = true;
                state.waiting_alone -= 1;
            }
        }
        free
    }

    /// Ends what [`Gate::enter`] let pass.
    pub(super) fn leave(&self, way: Way) {
        let mut state = self.lock();
        match way {
            Way::Together => state.together -= 1,
            Way::Alone => state.alone = false,
        }
        let changed = way == Way::Alone || state.together == 0;
        let ring = changed && std::mem::take(&mut state.parked);
        drop(state);
        if ring {
            self.bells.get().into_iter().flatten().for_each(Ringer::ring);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_go_together_and_parts_go_alone() {
        let gate = Gate::default();
        assert!(gate.enter(Way::Together, false) && gate.enter(Way::Together, false));
        assert!(!gate.enter(Way::Alone, false));
        assert!(!gate.enter(Way::Together, false), "nobody overtakes the one who waits to go alone");
        gate.leave(Way::Together);
        assert!(!gate.enter(Way::Alone, true));
        gate.leave(Way::Together);
        assert!(gate.enter(Way::Alone, true));
        assert!(!gate.enter(Way::Together, true) && !gate.enter(Way::Alone, false));
        gate.leave(Way::Alone);
        assert!(gate.enter(Way::Alone, true));
        gate.leave(Way::Alone);
        assert!(gate.enter(Way::Together, true));
    }

    #[test]
    fn whoever_was_turned_away_is_told() {
        let reactor = reactor::Reactor::wall().unwrap();
        let gate = Gate::default();
        gate.serve(vec![reactor.ringer().unwrap()]).unwrap();
        let rings = || {
            let woken = reactor.wait(Some(reactor.now() + std::time::Duration::from_millis(1))).unwrap();
            woken == reactor::Woken::Rung
        };
        assert!(gate.enter(Way::Together, false));
        gate.leave(Way::Together);
        assert!(!rings(), "nobody waits");
        assert!(gate.enter(Way::Alone, false) && !gate.enter(Way::Together, false));
        gate.leave(Way::Alone);
        assert!(rings());
    }
}
