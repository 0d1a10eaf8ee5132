//! A guest is booted for each suite of the visit. Those of later visits of the block are booted
//! beside it, as many as there are processors.

#![expect(
    clippy::disallowed_methods,
    reason = "the time left, and whether the host was busy, are about this machine"
)]

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use host::Error;
use results::WorkTarget;
use words::Text;

use super::method::{GuestEnd, Method, RowGroup, VisitResult, Work};
use crate::catalogue;
use crate::order;
use crate::plan::suite;
use crate::run::in_guest::{self, Job};
use crate::run::visits::Visit;
use crate::run::workload_result::{VisitFailure, WorkloadResult};
use crate::run::{limit, rows};

/// Nothing stays booted between the suites.
pub(super) struct InGuest;

impl Method for InGuest {
    fn open(_: &mut Work<'_, '_, '_>, _: &Visit<'_>) -> Result<InGuest, VisitFailure> {
        Ok(InGuest)
    }

    fn run_rows(
        &mut self,
        work: &mut Work<'_, '_, '_>,
        (visit, group): RowGroup<'_>,
    ) -> VisitResult {
        let missing = work.visits.missing(visit, group);
        let Some(&first) = missing.first() else { return Ok(()) };
        work.visits.tell(visit, first, work.observer);
        let key = (visit.block, visit.position, group[0]);
        if !work.booted.ended.contains_key(&key) {
            boot(work, visit)?;
        }
        let rows = match work.booted.ended.remove(&key) {
            Some(GuestEnd::Rows(rows)) => rows,
            Some(GuestEnd::Over(why)) => {
                return work.visits.skip(visit, group, &why, work.observer);
            }
            None => Ok(Vec::new()),
        };
        if work.visits.stop().load(Ordering::Relaxed) {
            return Err(VisitFailure::Stopped);
        }
        let plan = work.visits.plan();
        let mut found: BTreeMap<usize, Vec<WorkloadResult>> = BTreeMap::new();
        for (phase, row) in rows? {
            let named = |workload: &&usize| suite::row(&plan.workloads[**workload]) == phase;
            if let Some(workload) = missing.iter().find(named) {
                found.entry(*workload).or_default().push(row);
            }
        }
        // All rows of a guest are there at once: each took its part of what booting it did.
        let part = work.booted.took / u32::try_from(found.len().max(1)).unwrap_or(u32::MAX);
        for (workload, rows) in found {
            work.visits.has_taken(part);
            work.visits.trial_found(visit, workload, rows::median(&rows), work.observer)?;
        }
        work.visits.skip(visit, group, &catalogue::ROW_NOT_GIVEN.into(), work.observer)
    }
}

/// Boots the next guests of a block, from those of a visit on, one for each processor.
fn boot(work: &mut Work<'_, '_, '_>, visit: &Visit<'_>) -> Result<(), Error> {
    let visits = &*work.visits;
    let Some(worker) = work.resources.worker else {
        return Err(Error::failed(catalogue::NOTHING_IN_GUEST));
    };
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    let (plan, block, first) = (visits.plan(), visit.block, visit.position);
    let (mut keys, mut jobs, mut limit) = (Vec::new(), Vec::new(), Duration::ZERO);
    'all: for visit in visits.onward(visit) {
        let cell = visit.cell;
        if cell.record.ground != WorkTarget::Guest {
            continue;
        }
        let kernel = match work.resources.find_kernel(cell, visits.cells()) {
            Ok(kernel) => kernel,
            Err(error) if visit.position == first => return Err(error),
            // Its own visit says so.
            Err(_) => continue,
        };
        for group in visits.parts(&visit) {
            let key = (block, visit.position, group[0]);
            let is_there = work.booted.ended.contains_key(&key) || visits.is_pull(&group);
            if is_there || visits.missing(&visit, &group).is_empty() {
                continue;
            }
            if jobs.len() == most {
                break 'all;
            }
            tracing::info!(block, stack = cell.record.stack, "guest boots");
            let seeds =
                (order::places_seed(plan, block), order::visit_seed(plan, &cell.record, block));
            limit = limit.max(limit::limit_of(plan, &group, cell));
            jobs.push(Job::new((plan, &group), cell, worker, kernel.clone(), seeds)?);
            keys.push(key);
        }
    }
    let begun = Instant::now();
    let (rows, is_over) =
        limit::within(limit, visits.stop(), |halt| in_guest::run_all(&jobs, halt));
    let ends = rows.into_iter().map(|rows| match rows {
        Err(_) if is_over => GuestEnd::Over(limit::over(limit)),
        Err(error) if in_guest::has_passed_bound(&error) => GuestEnd::Over(Text::from(error)),
        rows => GuestEnd::Rows(rows),
    });
    work.booted.ended.extend(keys.into_iter().zip(ends));
    let guests = u32::try_from(jobs.len().max(1)).unwrap_or(u32::MAX);
    work.booted.took = begun.elapsed() / guests;
    Ok(())
}
