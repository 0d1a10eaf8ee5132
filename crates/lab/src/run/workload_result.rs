//! What came of a workload, before it is a trial.

use host::Error;
use results::{Doubt, MemberTraffic, Metrics};
use words::Text;

/// What came of a workload.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkloadResult {
    pub(super) metrics: Metrics,
    pub(super) members: Vec<MemberTraffic>,
    pub(super) flags: Vec<Doubt>,
    /// A member that has failed meanwhile, with why: these are figures of two arrays.
    pub(super) lost: Option<Text>,
}

/// Why a visit did not come to its end.
#[derive(Debug)]
pub(super) enum VisitFailure {
    Stopped,
    Failed(Error),
}

impl<E: Into<Error>> From<E> for VisitFailure {
    fn from(error: E) -> VisitFailure {
        VisitFailure::Failed(error.into())
    }
}
