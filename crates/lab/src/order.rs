//! In which order a block's trials run, and which seed each trial gets: all of it follows from the
//! plan's seed.
//!
//! ```text
//! block 0:  C  A  D  B      every configuration once, in a fresh random order;
//! block 1:  A  D  B  C      at each visit all workloads of the plan, in the suite's own order
//! ```
//!
//! A suite runs whole, because its later tests find what its earlier ones left behind, as its users
//! know it; and because the members' content is then prepared once for a visit. So machine drift is
//! shared out fairly over the configurations, which are what is compared, and not over the
//! workloads, which are not.

use reactor::{Random, derive_seed};
use results::{Configuration, Plan, cell_id};

/// Indices of the plan's configurations in the order in which `block` visits them.
///
/// Two configurations take turns, AB BA AB BA, whichever of them the seed puts first: so each comes
/// as often after the other as after itself, and what one leaves behind is no difference between
/// them. For three and more no order does that.
#[must_use]
pub fn visits(plan: &Plan, block: u32) -> Vec<usize> {
    visits_of(plan, block, (0..plan.configurations.len()).collect())
}

/// The same of a block that visits only some of them.
#[must_use]
pub fn visits_of(plan: &Plan, block: u32, mut order: Vec<usize>) -> Vec<usize> {
    let two = order.len() == 2;
    let drawn = if two { 0 } else { block };
    Random::with_seed(derive_seed(plan.seed, "order of a block", u64::from(drawn)))
        .shuffle(&mut order);
    if two && block % 2 == 1 {
        order.reverse();
    }
    order
}

/// The seed of the modelled disks of one trial. It depends on the plan's seed, the cell and the
/// block, and on nothing else: not on the order, not on what ran before, not on whether the run was
/// resumed.
#[must_use]
pub fn trial_seed(plan: &Plan, configuration: &Configuration, workload: &str, block: u32) -> u64 {
    derive_seed(plan.seed, &cell_id(&configuration.settings, workload), u64::from(block))
}

/// The seed of where requests go in a block (the suite derives another for each test): the same
/// places for all its configurations, so that where they happen to lie is no difference.
#[must_use]
pub fn places_seed(plan: &Plan, block: u32) -> u64 {
    derive_seed(plan.seed, "places of a block", u64::from(block))
}

/// The seed of one visit: of what the members hold, which must not be what another configuration
/// wrote there.
#[must_use]
pub fn visit_seed(plan: &Plan, configuration: &Configuration, block: u32) -> u64 {
    derive_seed(plan.seed, &configuration.id, u64::from(block))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use super::*;

    fn plan(seed: u64, configurations: u32) -> Plan {
        let configuration = |number: u32| {
            let settings = BTreeMap::from([("chunk".to_owned(), number.to_string())]);
            let id = results::configuration_id(&settings);
            Configuration {
                baseline: id.clone(),
                id,
                settings,
                stack: "ram:1MiB".into(),
                clock: results::Clock::Wall,
                model_error: None,
            }
        };
        Plan {
            schema: 1,
            name: "test".into(),
            seed,
            blocks: 1,
            margin: 0.02,
            axes: Vec::new(),
            configurations: (0..configurations).map(configuration).collect(),
            workloads: Vec::new(),
            suite_settings: BTreeMap::new(),
            terms: results::Terms::default(),
        }
    }

    #[test]
    fn a_block_visits_every_configuration_once() {
        for block in 0..50 {
            let mut order = visits(&plan(1, 18), block);
            order.sort_unstable();
            assert_eq!(order, (0..18).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_order_follows_from_seed_and_block_alone() {
        assert_eq!(visits(&plan(1, 18), 3), visits(&plan(1, 18), 3));
        assert_ne!(visits(&plan(1, 18), 3), visits(&plan(2, 18), 3));
        assert_ne!(visits(&plan(1, 18), 3), visits(&plan(1, 18), 4));
    }

    /// Each of 6 configurations comes first in a sixth of 6000 blocks, within five standard
    /// deviations.
    #[test]
    fn every_configuration_comes_first_equally_often() {
        let mut first = [0_u32; 6];
        let plan = plan(42, 6);
        for block in 0..6000 {
            first[visits(&plan, block)[0]] += 1;
        }
        let deviation = (6000.0_f64 * (1.0 / 6.0) * (5.0 / 6.0)).sqrt();
        assert!(
            first.iter().all(|count| (f64::from(*count) - 1000.0).abs() < 5.0 * deviation),
            "seed 42: {first:?}"
        );
    }

    #[test]
    fn seeds_of_trials_and_visits_do_not_meet() {
        let mut seeds = HashSet::new();
        for seed in 0..3 {
            let plan = plan(seed, 18);
            for block in 0..6 {
                assert!(seeds.insert(places_seed(&plan, block)));
                for configuration in &plan.configurations {
                    assert!(seeds.insert(visit_seed(&plan, configuration, block)));
                    for workload in ["random read 512", "random read 16384", "mixed 50:50"] {
                        assert!(seeds.insert(trial_seed(&plan, configuration, workload, block)));
                    }
                }
            }
        }
    }

    /// "For K = 2 the order AB BA repairs it."
    #[test]
    fn two_configurations_take_turns() {
        let mut first = HashSet::new();
        for seed in 0..20 {
            let order = |block| visits(&plan(seed, 2), block);
            for block in 0..8 {
                let mut turned = order(block);
                turned.reverse();
                assert_eq!(order(block + 1), turned, "seed {seed}, block {block}");
            }
            first.insert(order(0));
        }
        assert_eq!(first.len(), 2, "the seed says who begins");
    }
}
