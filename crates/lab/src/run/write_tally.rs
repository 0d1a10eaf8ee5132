//! What a run has written to its members so far, preparing included: its budget is in such bytes.

use std::collections::BTreeMap;

use results::{MemberTraffic, Plan};

use crate::cell::Cell;
use crate::plan::suite;
use crate::stacks::DryRuns;

/// The groups of rows that were prepared for a trial: all with the first of a visit, its own where
/// configurations take turns row by row.
pub(super) fn prepared_for(plan: &Plan, workload: usize, first: bool) -> Vec<Vec<usize>> {
    match (plan.schedule.interleaved, first) {
        (true, _) => vec![vec![workload]],
        (false, true) => suite::groups(plan),
        (false, false) => Vec::new(),
    }
}

/// Adds what a trial has written to each member, and what preparing these groups writes to it.
pub(super) fn add_written(
    written: &mut BTreeMap<String, u64>,
    plan: &Plan,
    cell: &Cell,
    members: &[MemberTraffic],
    groups: &[Vec<usize>],
) {
    let leaves: Vec<String> = cell.stack.leaves().iter().map(ToString::to_string).collect();
    let prepared: u64 = match (!groups.is_empty()).then(|| cell.dry(&DryRuns::default())) {
        Some(Ok(info)) => suite::visit_bytes(plan, groups, cell, info.size_bytes),
        _ => 0,
    };
    let share = prepared / leaves.len().max(1) as u64;
    for (index, leaf) in leaves.into_iter().enumerate() {
        let traffic = members.get(index).map_or(0, |member| member.written_bytes);
        *written.entry(leaf).or_default() += share + traffic;
    }
}
