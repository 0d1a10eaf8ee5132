//! In which order a block's trials run, and which seed each trial gets: all of it follows from the plan's seed.
//!
//! ```text
//! block 0:  C  A  D  B      every configuration once, in a fresh random order;
//! block 1:  A  D  B  C      at each visit all workloads of the plan, in the suite's own order
//! ```
//!
//! A suite runs whole, because its later tests find what its earlier ones left behind, as its users know it; and because
//! the members' content is then prepared once for a visit. So machine drift is shared out fairly over the configurations,
//! which are what is compared, and not over the workloads, which are not.

use reactor::{Random, derive_seed};
use results::{Configuration, Plan, cell_id};

/// Indices of the plan's configurations in the order in which `block` visits them.
#[must_use]
pub fn visits(plan: &Plan, block: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..plan.configurations.len()).collect();
    Random::with_seed(derive_seed(plan.seed, "order of a block", u64::from(block))).shuffle(&mut order);
    order
}

/// The seed of everything random in one trial. It depends on the plan's seed, the cell and the block, and on nothing else:
/// not on the order, not on what ran before, not on whether the run was resumed.
#[must_use]
pub fn trial_seed(plan: &Plan, configuration: &Configuration, workload: &str, block: u32) -> u64 {
    derive_seed(plan.seed, &cell_id(&configuration.settings, workload), u64::from(block))
}

/// The seed of what the members hold before the first workload of a visit.
#[must_use]
pub fn content_seed(plan: &Plan, configuration: &Configuration, block: u32) -> u64 {
    derive_seed(plan.seed, &configuration.id, u64::from(block))
}
