//! Modelled disks: every suite that is run whole, or every row that stands alone, on a fresh stack
//! and a fresh clock.

use bench::suite::Rows;
use reactor::Reactor;

use super::method::{Method, Work};
use crate::order;
use crate::plan::suite;
use crate::run::found::Broken;
use crate::run::rows::OpenedTarget;
use crate::run::visits::Visit;

/// Nothing stays open between the suites.
pub(super) struct OnModels;

impl Method for OnModels {
    fn open(_: &mut Work<'_, '_>, _: &Visit<'_>) -> Result<OnModels, Broken> {
        Ok(OnModels)
    }

    fn run_rows(
        &mut self,
        work: &mut Work<'_, '_>,
        visit: &Visit<'_>,
        group: &[usize],
    ) -> Result<(), Broken> {
        let plan = work.visits.plan();
        let parts: Vec<Vec<usize>> = match suite::suite_of(&plan.workloads[group[0]])?.rows {
            Rows::InOrder => vec![group.to_vec()],
            Rows::Alone => {
                work.visits.missing(visit, group).into_iter().map(|row| vec![row]).collect()
            }
        };
        for part in parts {
            if work.visits.is_spent() {
                return Ok(());
            }
            let workload = &plan.workloads[part[0]].name;
            let seed = order::trial_seed(plan, &visit.cell.record, workload, visit.block);
            let reactor = Reactor::virtual_clock();
            let stack = work.resources.build(visit.cell, seed, Some(&reactor))?;
            let target = OpenedTarget::Device(&stack);
            work.run_on(&target, &[], &reactor, (visit, &part))?;
            stack.end()?;
        }
        Ok(())
    }
}
