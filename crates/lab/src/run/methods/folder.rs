//! A folder on a file system in use: suites work in fresh folders of their own there.

use std::path::PathBuf;

use host::Error;
use reactor::Reactor;
use words::statement;

use super::method::{Method, RowGroup, VisitResult, Work};
use crate::catalogue;
use crate::run::rows::OpenedTarget;
use crate::run::visits::Visit;
use crate::run::workload_result::VisitFailure;
use crate::stacks;

/// A folder that is there already.
pub(super) struct InFolder {
    folder: PathBuf,
    reactor: Reactor,
}

impl Method for InFolder {
    fn open(work: &mut Work<'_, '_, '_>, visit: &Visit<'_>) -> Result<InFolder, VisitFailure> {
        let stack = &visit.cell.stack;
        let folder = stacks::folder_of(stack)
            .ok_or_else(|| Error::failed(statement!(catalogue::IS_NO_FOLDER, stack = stack)))?;
        let reactor = Reactor::wall()?;
        work.visits.rest(&reactor)?;
        Ok(InFolder { folder, reactor })
    }

    fn run_rows(&mut self, work: &mut Work<'_, '_, '_>, rows: RowGroup<'_>) -> VisitResult {
        let target = OpenedTarget::Existing(&self.folder);
        work.run_on(&target, &[], &self.reactor, rows)
    }
}
