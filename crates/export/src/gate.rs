//! Which writes may be under way at the same time.
//!
//! Writes of whole blocks go together. A write of a part of a block reads the block, changes it and
//! writes it back; what another wrote there meanwhile would be lost, so it goes alone. Programs
//! that write so are rare, and ordinary writes pay for this with one uncontended lock. All exports
//! of a device share one gate: what comes as a file and what comes over NBD change the same blocks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reactor::Ringer;

/// How a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WritePath {
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
    /// A worker was turned away and has to be told when things change.
    parked: bool,
}

/// The gate that all writes to a device pass, whatever it is exported as.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<State>,
    bells: Mutex<Vec<(Arc<()>, Ringer)>>,
}

/// A worker that is told when it may try again, until this is dropped.
#[derive(Debug)]
pub(crate) struct GateTicket {
    gate: Arc<Gate>,
    mark: Arc<()>,
}

impl Drop for GateTicket {
    fn drop(&mut self) {
        self.gate.bells().retain(|(mark, _)| !Arc::ptr_eq(mark, &self.mark));
    }
}

impl Gate {
    /// Names a worker, which tries again when its bell rings.
    #[must_use]
    pub(crate) fn serve(self: &Arc<Gate>, bell: Ringer) -> GateTicket {
        let mark = Arc::new(());
        self.bells().push((Arc::clone(&mark), bell));
        GateTicket { gate: Arc::clone(self), mark }
    }

    /// Asks to pass; `again` when this one has been turned away before.
    pub(crate) fn enter(&self, way: WritePath, again: bool) -> bool {
        let mut state = self.lock();
        if way == WritePath::Alone && !again {
            state.waiting_alone += 1;
        }
        let free = match way {
            WritePath::Together => !state.alone && state.waiting_alone == 0,
            WritePath::Alone => !state.alone && state.together == 0,
        };
        match (free, way) {
            (false, _) => state.parked = true,
            (true, WritePath::Together) => state.together += 1,
            (true, WritePath::Alone) => {
                state.alone = true;
                state.waiting_alone -= 1;
            }
        }
        free
    }

    /// Ends what [`Gate::enter`] let pass.
    pub(crate) fn leave(&self, way: WritePath) {
        let mut state = self.lock();
        match way {
            WritePath::Together => state.together -= 1,
            WritePath::Alone => state.alone = false,
        }
        let changed = way == WritePath::Alone || state.together == 0;
        let ring = changed && std::mem::take(&mut state.parked);
        drop(state);
        if ring {
            self.bells().iter().for_each(|(_, bell)| bell.ring());
        }
    }

    /// Ends the waiting of one that was turned away and does not come again.
    pub(crate) fn give_up(&self, way: WritePath) {
        let mut state = self.lock();
        state.waiting_alone -= u32::from(way == WritePath::Alone);
        let ring = std::mem::take(&mut state.parked);
        drop(state);
        if ring {
            self.bells().iter().for_each(|(_, bell)| bell.ring());
        }
    }

    fn bells(&self) -> MutexGuard<'_, Vec<(Arc<()>, Ringer)>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert!(gate.enter(WritePath::Together, false) && gate.enter(WritePath::Together, false));
        assert!(!gate.enter(WritePath::Alone, false));
        assert!(
            !gate.enter(WritePath::Together, false),
            "nobody overtakes the one who waits to go alone"
        );
        gate.leave(WritePath::Together);
        assert!(!gate.enter(WritePath::Alone, true));
        gate.leave(WritePath::Together);
        assert!(gate.enter(WritePath::Alone, true));
        assert!(!gate.enter(WritePath::Together, true) && !gate.enter(WritePath::Alone, false));
        gate.leave(WritePath::Alone);
        assert!(gate.enter(WritePath::Alone, true));
        gate.leave(WritePath::Alone);
        assert!(gate.enter(WritePath::Together, true));
    }

    #[test]
    fn whoever_was_turned_away_is_told() {
        let reactor = reactor::Reactor::wall().unwrap();
        let gate = Arc::<Gate>::default();
        let served = gate.serve(reactor.ringer().unwrap());
        drop(gate.serve(reactor.ringer().unwrap()));
        assert_eq!(gate.bells().len(), 1, "a worker that has ended is forgotten");
        let rings = || {
            let woken =
                reactor.wait(Some(reactor.now() + std::time::Duration::from_millis(1))).unwrap();
            woken == reactor::WakeReason::Rung
        };
        assert!(gate.enter(WritePath::Together, false));
        gate.leave(WritePath::Together);
        assert!(!rings(), "nobody waits");
        assert!(gate.enter(WritePath::Alone, false) && !gate.enter(WritePath::Together, false));
        gate.leave(WritePath::Alone);
        assert!(rings());
        assert!(
            gate.enter(WritePath::Together, false)
                && !gate.enter(WritePath::Alone, false)
                && !gate.enter(WritePath::Together, false)
        );
        gate.give_up(WritePath::Alone);
        assert!(rings() && gate.enter(WritePath::Together, true), "nobody waits any more");
        drop(served);
        assert!(gate.bells().is_empty());
    }
}
