//! A file system: made and mounted for the visit, and suites in its folder.

#![expect(
    clippy::disallowed_methods,
    reason = "the time left, and whether the host was busy, are about this machine"
)]

use std::time::{Duration, Instant};

use reactor::Reactor;
use results::Doubt;

use super::method::{Method, RowGroup, VisitResult, Work};
use crate::order;
use crate::run::mounted_export::MountedExport;
use crate::run::rows::OpenedTarget;
use crate::run::visits::Visit;
use crate::run::workload_result::VisitFailure;

/// A file system that is mounted.
pub(super) struct OnFileSystem {
    reactor: Reactor,
    attached: MountedExport,
    /// How long that took.
    attaching: Duration,
    notes: Vec<Doubt>,
}

impl Method for OnFileSystem {
    fn open(work: &mut Work<'_, '_, '_>, visit: &Visit<'_>) -> Result<OnFileSystem, VisitFailure> {
        let seed = order::visit_seed(work.visits.plan(), &visit.cell.record, visit.block);
        let begun = Instant::now();
        let attached = work.resources.attach(visit.cell, seed)?;
        let attaching = begun.elapsed();
        let reactor = Reactor::wall()?;
        work.visits.rest(&reactor)?;
        let notes = work.resources.notes(visit.cell, &attached.notes());
        Ok(OnFileSystem { reactor, attached, attaching, notes })
    }

    fn run_rows(&mut self, work: &mut Work<'_, '_, '_>, rows: RowGroup<'_>) -> VisitResult {
        let target = OpenedTarget::Folder(&self.attached);
        work.run_on(&target, &self.notes, &self.reactor, rows)
    }

    fn close(self, work: &mut Work<'_, '_, '_>, visit: &Visit<'_>) -> VisitResult {
        // Its ring may hold files of the suites.
        drop(self.reactor);
        let ending = Instant::now();
        self.attached.take_away()?;
        work.visits.mounted(visit, self.attaching + ending.elapsed());
        Ok(())
    }
}
