//! Real time: the stack is opened once for the visit, and each suite prepares its content once.

use reactor::Reactor;
use results::Doubt;
use serve::OpenStack;

use super::method::{Method, RowGroup, VisitResult, Work};
use crate::order;
use crate::run::rows::OpenedTarget;
use crate::run::visits::Visit;
use crate::run::workload_result::VisitFailure;

/// A stack that is open.
pub(super) struct OnDevice {
    reactor: Reactor,
    stack: OpenStack,
    notes: Vec<Doubt>,
}

impl Method for OnDevice {
    fn open(work: &mut Work<'_, '_, '_>, visit: &Visit<'_>) -> Result<OnDevice, VisitFailure> {
        let reactor = Reactor::wall()?;
        work.visits.rest(&reactor)?;
        let seed = order::visit_seed(work.visits.plan(), &visit.cell.record, visit.block);
        let stack = work.resources.opener.open(visit.cell, seed, None)?;
        let notes = work.resources.notes(visit.cell, &stack.notes);
        Ok(OnDevice { reactor, stack, notes })
    }

    fn run_rows(&mut self, work: &mut Work<'_, '_, '_>, rows: RowGroup<'_>) -> VisitResult {
        let target = OpenedTarget::Device(&self.stack);
        work.run_on(&target, &self.notes, &self.reactor, rows)
    }

    fn close(self, _: &mut Work<'_, '_, '_>, _: &Visit<'_>) -> VisitResult {
        // Its ring may hold the members' files.
        drop(self.reactor);
        Ok(self.stack.end()?)
    }
}
