//! A folder on a file system in use: suites work in fresh folders of their own there.

use reactor::Reactor;

use super::method::{Method, Work};
use crate::run::found::Broken;
use crate::run::rows::OpenedTarget;
use crate::run::visits::Visit;
use crate::stacks;

/// A folder that is there already.
pub(super) struct InFolder {
    reactor: Reactor,
}

impl Method for InFolder {
    fn open(work: &mut Work<'_, '_>, _: &Visit<'_>) -> Result<InFolder, Broken> {
        let reactor = Reactor::wall()?;
        work.visits.rest(&reactor)?;
        Ok(InFolder { reactor })
    }

    fn run_rows(
        &mut self,
        work: &mut Work<'_, '_>,
        visit: &Visit<'_>,
        group: &[usize],
    ) -> Result<(), Broken> {
        let Some(folder) = stacks::folder_of(&visit.cell.stack) else { return Ok(()) };
        let target = OpenedTarget::Existing(&folder);
        work.run_on(&target, &[], &self.reactor, (visit, group))
    }
}
