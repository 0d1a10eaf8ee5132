//! The ways in which a configuration is measured. Each is opened for a visit, runs the rows of its
//! suites one suite after the other, and is closed.
//!
//! ```text
//!   ground        clock     method
//!   device        virtual   OnModels       a fresh stack for each suite, or for each row, on all processors
//!   device        wall      OnDevice       the stack, opened once
//!   file system   wall      OnFileSystem   the same, served and mounted
//!   folder        wall      InFolder       a folder that is there already
//!   guest         virtual   InGuest        a boot for each suite, several at a time
//!   pull tests    either    PowerCuts      drives of their own, in a process of its own
//! ```

mod device;
mod file_system;
mod folder;
mod guest;
mod method;
mod models;
mod power_cuts;

use results::{Clock, WorkTarget, safety};

use super::visits::Visit;
use super::workload_result::VisitFailure;
use crate::cell::Cell;
use device::OnDevice;
use file_system::OnFileSystem;
use folder::InFolder;
use guest::InGuest;
use method::Method;
pub(super) use method::{BootedGuests, Work};
use models::OnModels;
pub(super) use models::units;
use power_cuts::PowerCuts;
use words::Text;

/// Measures suites of a visit in one way.
fn measure<M: Method>(
    work: &mut Work<'_, '_, '_>,
    visit: &Visit<'_>,
    groups: &[Vec<usize>],
) -> Result<(), VisitFailure> {
    let mut method = M::open(work, visit)?;
    for group in groups {
        if work.visits.is_spent() {
            break;
        }
        method.run_rows(work, (visit, group))?;
    }
    method.close(work, visit)
}

/// Whether a configuration's trials are worked on ahead of the run, as nothing but modelled disks
/// has a part in them.
pub(super) fn is_on_models(cell: &Cell) -> bool {
    (cell.record.ground, cell.record.clock) == (WorkTarget::Device, Clock::Virtual)
}

/// Measures what is missing of a visit. `unfit` says why this machine cannot have the
/// configuration, if it cannot.
pub(super) fn visit(
    work: &mut Work<'_, '_, '_>,
    visit: &Visit<'_>,
    unfit: Option<&Text>,
) -> Result<(), VisitFailure> {
    let groups = work.visits.parts(visit);
    let (ground, clock) = (visit.cell.record.ground, visit.cell.record.clock);
    match (ground, clock) {
        (WorkTarget::Device, Clock::Virtual) => measure::<OnModels>(work, visit, &groups),
        (WorkTarget::Device, Clock::Wall) => measure::<OnDevice>(work, visit, &groups),
        (WorkTarget::Folder, _) => measure::<InFolder>(work, visit, &groups),
        (WorkTarget::FileSystem, _) => visit_file_system(work, visit, groups, unfit),
        (WorkTarget::Guest | WorkTarget::Pull, _) => {
            if let Some(reason) = unfit {
                return work.visits.skip(visit, &groups.concat(), reason, work.observer);
            }
            let plan = work.visits.plan();
            let is_cut = |group: &[usize]| safety::is_pull(&plan.workloads[group[0]]);
            for groups in groups.chunk_by(|one, next| is_cut(one) == is_cut(next)) {
                match is_cut(&groups[0]) {
                    true => measure::<PowerCuts>(work, visit, groups)?,
                    false => measure::<InGuest>(work, visit, groups)?,
                }
            }
            Ok(())
        }
    }
}

/// Every suite in the folder of the file system, and then what is left of it when the power fails.
fn visit_file_system(
    work: &mut Work<'_, '_, '_>,
    visit: &Visit<'_>,
    groups: Vec<Vec<usize>>,
    unfit: Option<&Text>,
) -> Result<(), VisitFailure> {
    let (pulled, measured): (Vec<_>, Vec<_>) =
        groups.into_iter().partition(|group| work.visits.is_pull(group));
    let is_missing = |group: &Vec<usize>| !work.visits.missing(visit, group).is_empty();
    if measured.iter().any(is_missing) {
        match unfit {
            Some(reason) => {
                work.visits.pass_mounting(visit, &measured);
                work.visits.skip(visit, &measured.concat(), reason, work.observer)?;
            }
            None => measure::<OnFileSystem>(work, visit, &measured)?,
        }
    }
    // When nothing stands on the members any more.
    measure::<PowerCuts>(work, visit, &pulled)
}
