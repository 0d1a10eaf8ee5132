//! Chunks dealt out in turn.

use block::{Info, Stripe};

use super::definition::{Faults, Level, PlanResult, optimal_bytes};
use crate::geometry::{Raid0, Raid0Layout};
use crate::member::MemberSet;
use crate::part::{Action, Part, Spot};
use crate::plan::{Access, Plan, content_of};
use crate::queues::Queues;

/// The striped array.
#[derive(Debug)]
pub struct Raid0Level {
    geometry: Raid0,
    layout: Raid0Layout,
    member_count: usize,
}

impl Raid0Level {
    pub(crate) fn new(geometry: Raid0, layout: Raid0Layout, member_count: usize) -> Raid0Level {
        Raid0Level { geometry, layout, member_count }
    }
}

impl Level for Raid0Level {
    fn name(&self) -> &'static str {
        "raid0"
    }

    fn options(&self) -> Vec<(String, String)> {
        let mut options = vec![("chunk".to_owned(), block::size_text(self.geometry.chunk_bytes()))];
        if !self.geometry.layouts_agree() {
            options.push(("layout".to_owned(), self.layout.name().to_owned()));
        }
        options.push(("metadata".to_owned(), "none".to_owned()));
        options
    }

    fn size_bytes(&self) -> u64 {
        self.geometry.size_bytes()
    }

    fn refine(&self, info: &mut Info) {
        let stripe = self.geometry.chunk_bytes().saturating_mul(self.member_count as u64);
        info.optimal_bytes = optimal_bytes(stripe, info.block_bytes);
        info.stripe = Stripe::new(self.geometry.chunk_bytes(), self.member_count as u64);
    }

    #[inline]
    fn whole(&self, part: Part, _missing: &MemberSet, _queues: &Queues) -> Option<Spot> {
        part.spot_in(self.geometry.locate(part.offset, part.length))
    }

    fn piece_bytes(&self, part: Part, _faults: &Faults) -> u64 {
        part.length
    }

    fn plan(&self, piece: Part, _faults: &Faults, _queues: &Queues, plan: &mut Plan) -> PlanResult {
        match piece.action {
            Action::Read | Action::Write => {
                plan.add_runs(piece, |offset, length| self.geometry.locate(offset, length));
            }
            // These may span the whole array: listing its chunks would take longer than the members
            // do.
            Action::Zeroes | Action::Discard => {
                let shares = (0..self.member_count)
                    .filter_map(|member| self.geometry.share(piece.offset, piece.length, member));
                let content = content_of(piece.action, 0);
                plan.write.extend(shares.map(|share| Access {
                    member: share.member,
                    offset: share.offset,
                    length: share.length,
                    content,
                }));
            }
        }
        Ok(())
    }
}
