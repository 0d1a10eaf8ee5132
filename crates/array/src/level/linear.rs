//! Members one behind the other.

use block::{Info, size_text};

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
    /// What of the first member lies before the data, for the array's description, in bytes.
    offset_bytes: u64,
}

impl LinearLevel {
    pub(crate) fn new(geometry: Linear) -> LinearLevel {
        LinearLevel { geometry, offset_bytes: 0 }
    }

    /// The same, described as beginning at this offset of the first member.
    pub(crate) fn with_offset(self, offset_bytes: u64) -> LinearLevel {
        LinearLevel { offset_bytes, ..self }
    }
}

impl Level for LinearLevel {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn options(&self) -> Vec<(String, String)> {
        let metadata = ("metadata".to_owned(), "none".to_owned());
        let offset = match self.offset_bytes {
            0 => None,
            bytes => Some(("offset".to_owned(), size_text(bytes))),
        };
        [metadata].into_iter().chain(offset).collect()
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
