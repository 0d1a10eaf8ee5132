//! Modelled disks: every suite that is run whole, or every row that stands alone, on a fresh stack
//! and a fresh clock, by threads that work ahead of the run.

use bench::suite::Rows;
use host::Error;

use super::method::{Method, RowGroup, VisitResult, Work};
use crate::order;
use crate::plan::suite;
use crate::run::lookahead::{Unit, UnitEnd};
use crate::run::rows::{Recorder, RowSink};
use crate::run::visits::{Visit, Visits};
use crate::run::workload_result::VisitFailure;

/// Nothing stays open between the suites.
pub(super) struct OnModels;

impl Method for OnModels {
    fn open(_: &mut Work<'_, '_, '_>, _: &Visit<'_>) -> Result<OnModels, VisitFailure> {
        Ok(OnModels)
    }

    fn run_rows(
        &mut self,
        work: &mut Work<'_, '_, '_>,
        (visit, group): RowGroup<'_>,
    ) -> VisitResult {
        for part in parts(work.visits, visit, group)? {
            if work.visits.is_spent() {
                return Ok(());
            }
            // What is shown as under way is what the run waits for.
            for workload in work.visits.missing(visit, &part).into_iter().take(1) {
                work.visits.tell(visit, workload, work.observer);
            }
            let ahead = work.ahead.as_mut().expect("modelled trials are worked on ahead");
            let threads = ahead.threads();
            let UnitEnd { rows, suite, closed } = ahead.take().ok_or(VisitFailure::Stopped)??;
            let mut recorder = Recorder::new(work.visits, visit, &part, work.observer);
            for row in rows {
                if recorder.wants_no_more() {
                    break;
                }
                recorder.found_in(row.took / threads, &row.phase, row.run, row.found);
            }
            recorder.conclude(suite)?;
            closed?;
        }
        Ok(())
    }
}

/// The workloads of a suite in a visit that are run together on one stack, in their order: all of
/// them, where later ones need what earlier ones left. None where nothing is missing.
fn parts(
    visits: &Visits<'_>,
    visit: &Visit<'_>,
    group: &[usize],
) -> Result<Vec<Vec<usize>>, Error> {
    let missing = visits.missing(visit, group);
    Ok(match suite::suite_of(&visits.plan().workloads[group[0]])?.rows {
        _ if missing.is_empty() => Vec::new(),
        Rows::InOrder => vec![group.to_vec()],
        Rows::Alone => missing.into_iter().map(|row| vec![row]).collect(),
    })
}

/// What is missing of visits on modelled disks, in the order in which it is recorded.
pub(in crate::run) fn units<'a>(
    visits: &Visits<'a>,
    of: &[Visit<'a>],
) -> Result<Vec<Unit<'a>>, Error> {
    let plan = visits.plan();
    let mut units = Vec::new();
    for visit in of {
        for group in visits.parts(visit) {
            for part in parts(visits, visit, &group)? {
                let cell = visit.cell;
                let workload = &plan.workloads[part[0]].name;
                let disks_seed = order::trial_seed(plan, &cell.record, workload, visit.block);
                let (missing, seeds) = (visits.missing(visit, &part), visits.seeds(visit));
                let drawn_set = plan.schedule.drawn_parameters.then_some(visit.block + 1);
                units.push(Unit { cell, group: part, missing, seeds, disks_seed, drawn_set });
            }
        }
    }
    Ok(units)
}
