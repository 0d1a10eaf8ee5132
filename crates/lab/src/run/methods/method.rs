//! What every way to measure is.

use std::collections::BTreeMap;
use std::time::Duration;

use reactor::Reactor;
use results::Doubt;
use words::Text;

use crate::run::in_guest::GuestRows;
use crate::run::lookahead::UnitReceiver;
use crate::run::observer::Observer;
use crate::run::resources::Resources;
use crate::run::rows::{self, OpenedTarget};
use crate::run::visits::{Visit, Visits};
use crate::run::workload_result::VisitFailure;

/// What guests found that were booted together with earlier ones.
#[derive(Default)]
pub(in crate::run) struct BootedGuests {
    /// By block, position and first workload.
    pub(super) ended: BTreeMap<(u32, usize, usize), GuestEnd>,
    /// How long one of the guests took that were booted last, side by side.
    pub(super) took: Duration,
}

/// How a guest has ended.
pub(super) enum GuestEnd {
    Rows(GuestRows),
    /// It was ended because of the time that it took, with why.
    Over(Text),
}

/// What a visit works with.
pub(in crate::run) struct Work<'a, 'b, 'c> {
    pub(in crate::run) visits: &'a mut Visits<'b>,
    pub(in crate::run) resources: &'a mut Resources<'b>,
    /// What guests found that were booted beside earlier ones.
    pub(in crate::run) booted: &'a mut BootedGuests,
    /// What is found on modelled disks, where the visit is on such.
    pub(in crate::run) ahead: Option<&'a mut UnitReceiver<'c>>,
    pub(in crate::run) observer: &'a mut dyn Observer,
}

impl Work<'_, '_, '_> {
    /// Runs what is missing of the rows of one suite on what is open, with what is to be known of
    /// every trial.
    pub(super) fn run_on(
        &mut self,
        target: &OpenedTarget<'_>,
        notes: &[Doubt],
        reactor: &Reactor,
        (visit, group): RowGroup<'_>,
    ) -> VisitResult {
        rows::run(self.visits, visit, group, target, notes, reactor, self.observer)
    }
}

/// A visit, and the workloads of one suite in it.
pub(super) type RowGroup<'a> = (&'a Visit<'a>, &'a [usize]);

/// How what was done in a visit ended.
pub(super) type VisitResult = Result<(), VisitFailure>;

/// A way to measure a configuration.
pub(super) trait Method: Sized {
    /// Opens what the rows of a visit are run on.
    fn open(work: &mut Work<'_, '_, '_>, visit: &Visit<'_>) -> Result<Self, VisitFailure>;

    /// Runs what is missing of the rows of one suite, and records it.
    fn run_rows(&mut self, work: &mut Work<'_, '_, '_>, rows: RowGroup<'_>) -> VisitResult;

    /// Takes it away again, where anything stays open between the suites.
    fn close(self, _: &mut Work<'_, '_, '_>, _: &Visit<'_>) -> VisitResult {
        Ok(())
    }
}
