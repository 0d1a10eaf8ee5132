//! Rows of the pull suite, each in a process of its own on drives of its own.

use host::Error;

use super::method::{Method, RowGroup, VisitResult, Work};
use crate::catalogue;
use crate::pull::run_apart;
use crate::run::visits::Visit;
use crate::run::workload_result::{VisitFailure, WorkloadResult};
use crate::run::{limit, pull_rows};

/// Nothing is open between the tests.
pub(super) struct PowerCuts;

impl Method for PowerCuts {
    fn open(_: &mut Work<'_, '_, '_>, _: &Visit<'_>) -> Result<PowerCuts, VisitFailure> {
        Ok(PowerCuts)
    }

    fn run_rows(
        &mut self,
        work: &mut Work<'_, '_, '_>,
        (visit, group): RowGroup<'_>,
    ) -> VisitResult {
        for workload in work.visits.missing(visit, group) {
            if work.visits.is_spent() {
                return Ok(());
            }
            work.visits.tell(visit, workload, work.observer);
            match pull(work, visit, workload) {
                Ok(Some(found)) => {
                    work.visits.trial_found(visit, workload, found, work.observer)?;
                }
                Ok(None) => return Err(VisitFailure::Stopped),
                // No right to mount, no program that makes the file system, drives too small.
                Err(error) => {
                    work.visits.skip(visit, &[workload], error.text(), work.observer)?;
                }
            }
        }
        Ok(())
    }
}

/// What one test finds; nothing where the run was asked to stop.
fn pull(
    work: &Work<'_, '_, '_>,
    visit: &Visit<'_>,
    workload: usize,
) -> Result<Option<WorkloadResult>, Error> {
    let plan = work.visits.plan();
    let row = &plan.workloads[workload];
    let options =
        pull_rows::options(plan, row, visit.cell, visit.block, work.resources.opener.folder)?;
    let Some(program) = work.resources.puller else {
        return Err(Error::failed(catalogue::NOTHING_CUTS));
    };
    let mut tell = |text: &str| tracing::debug!("{text}");
    let limit = limit::limit_of(plan, &[workload], visit.cell);
    let (outcome, is_over) = limit::within(limit, work.visits.stop(), |halt| {
        run_apart(&options, program, &mut tell, halt)
    });
    if is_over {
        return Err(Error::failed(limit::over(limit)));
    }
    Ok(outcome?.map(|outcome| pull_rows::found(&options, &outcome)))
}
