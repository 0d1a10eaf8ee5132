//! Members one behind the other.

use block::Info;

use super::definition::{Faults, Level, PlanResult};
use crate::geometry::Linear;
use crate::member::MemberSet;
use crate::part::{Part, Spot};
use crate::plan::Plan;
use crate::queues::Queues;

/// The concatenation of its members.
#[derive(Debug)]
pub struct LinearLevel {
    geometry: Linear,
}

impl LinearLevel {
    pub(crate) fn new(geometry: Linear) -> LinearLevel {
        LinearLevel { geometry }
    }
}

impl Level for LinearLevel {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn options(&self) -> Vec<(String, String)> {
        vec![("metadata".to_owned(), "none".to_owned())]
    }

    fn size_bytes(&self) -> u64 {
        self.geometry.size_bytes()
    }

    fn refine(&self, info: &mut Info) {
        // Members' stripes begin anew at borders that are no multiples of them.
        info.stripe = None;
    }

    #[inline]
    fn whole(&self, part: Part, _missing: &MemberSet, _queues: &Queues) -> Option<Spot> {
        part.spot_in(self.geometry.locate(part.offset, part.length))
    }

    fn piece_bytes(&self, part: Part, _faults: &Faults) -> u64 {
        part.length
    }

    fn plan(&self, piece: Part, _faults: &Faults, _queues: &Queues, plan: &mut Plan) -> PlanResult {
        plan.add_runs(piece, |offset, length| self.geometry.locate(offset, length));
        Ok(())
    }
}
