//! In which order a block's trials run, and which seed each trial gets: all of it follows from the
//! plan's seed.
//!
//! ```text
//! visits                     block 0:  C  A  D  B     every configuration once; at each visit
//!                            block 1:  A  D  B  C     all workloads, in the suite's own order
//!
//! interleaved   workload 0,  block 0:  C  A  D  B     every configuration with one workload, then
//!               workload 1,  block 0:  B  C  A  D     every one with the next
//! ```
//!
//! Interleaved, what is compared lies as near in time as can be, and a machine that changes within
//! a block does so for both sides. It needs a suite whose rows stand alone, and preparing the
//! members anew for each of them. Other suites are run whole, because their later tests find what
//! earlier ones left behind, as their users know it.

use reactor::{Random, derive_seed};
use results::{Configuration, Plan, balance, cell_id};

/// What is done on a stack that is opened once: some workloads of one configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Index of the configuration.
    pub configuration: usize,
    /// Indices of the workloads, in their order.
    pub workloads: Vec<usize>,
    /// Place in the block's order of the first of them, counted in trials.
    pub place: usize,
}

/// What is done in `block`, one after the other, where it visits these configurations.
#[must_use]
pub fn turns(plan: &Plan, block: u32, visited: &[usize]) -> Vec<Turn> {
    let (configurations, workloads) = (visited.len(), plan.workloads.len());
    if plan.schedule.interleaved {
        let of_workload = |workload: usize| {
            order(plan, workload, block, visited).into_iter().enumerate().map(
                move |(position, configuration)| Turn {
                    configuration,
                    workloads: vec![workload],
                    place: workload * configurations + position,
                },
            )
        };
        return (0..workloads).flat_map(of_workload).collect();
    }
    let visit = |(position, configuration)| Turn {
        configuration,
        workloads: (0..workloads).collect(),
        place: position * workloads,
    };
    order(plan, 0, block, visited).into_iter().enumerate().map(visit).collect()
}

/// These configurations in the order of a block, for one workload where workloads are interleaved
/// and for all where they are not.
///
/// Of two configurations the order of each block is drawn ([`balance::two`]): strict turns, AB BA
/// AB BA, would fall in step with whatever comes back every four visits. Three and more go through
/// balanced rows ([`balance::rows`]) in random order and under random names: none of them always
/// comes after the same one.
fn order(plan: &Plan, workload: usize, block: u32, visited: &[usize]) -> Vec<usize> {
    let count = visited.len();
    let rows = balance::rows(count);
    if rows.is_empty() {
        return Vec::new();
    }
    let names_of = |workload: usize, cycle: u64| {
        let label = match workload {
            0 => "order of a block".to_owned(),
            other => format!("order of a block, workload {other}"),
        };
        let mut random = Random::with_seed(derive_seed(plan.seed, &label, cycle));
        let mut names = visited.to_vec();
        random.shuffle(&mut names);
        (names, random)
    };
    if count <= 2 {
        let mut names = visited.to_vec();
        let (_, mut random) = names_of(workload, u64::from(block / balance::TWO_BLOCKS));
        let way = balance::two(random.u64(..balance::TWO_WAYS));
        if way[(block % balance::TWO_BLOCKS) as usize] {
            names.reverse();
        }
        return names;
    }
    let (cycle, row) = (block as usize / rows.len(), block as usize % rows.len());
    let (names, mut random) = names_of(workload, cycle as u64);
    let mut drawn: Vec<usize> = (0..rows.len()).collect();
    random.shuffle(&mut drawn);
    rows[drawn[row]].iter().map(|place| names[*place]).collect()
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
                ground: results::WorkTarget::Device,
                modelled: false,
                caches: Vec::new(),
                quick_removal: false,
                model_errors: None,
                model_error: None,
                model_cases: 0,
                survives: None,
                usable: None,
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
            schedule: results::Schedule::default(),
        }
    }

    fn visits(plan: &Plan, block: u32) -> Vec<usize> {
        let all: Vec<usize> = (0..plan.configurations.len()).collect();
        turns(plan, block, &all).into_iter().map(|turn| turn.configuration).collect()
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

    /// "Raw suites interleave test by test, the order balanced against who came before."
    #[test]
    fn interleaved_workloads_have_every_configuration_before_the_next_begins() {
        for configurations in [1, 2, 3, 8, 9] {
            let mut plan = plan(3, configurations);
            let workload = |name: &str| results::Workload {
                name: name.into(),
                suite: "devtest".into(),
                group: results::Group::Random,
                metric: "throughput_bytes_per_second".into(),
                better: results::BetterDirection::Higher,
                weight: 1.0,
                judge: results::Judge::default(),
                buffered_of: None,
            };
            plan.workloads = vec![workload("a"), workload("b"), workload("c")];
            let all: Vec<usize> = (0..configurations as usize).collect();
            let visits = turns(&plan, 0, &all);
            assert_eq!(visits.len(), configurations as usize);
            assert!(visits.iter().all(|turn| turn.workloads == [0, 1, 2]), "{visits:?}");
            plan.schedule.interleaved = true;
            for block in 0..20 {
                let turns = turns(&plan, block, &all);
                for (place, turn) in turns.iter().enumerate() {
                    assert_eq!(turn.workloads, [place / configurations as usize]);
                    assert_eq!(turn.place, place, "one trial a turn");
                }
                for of_one in turns.chunks(configurations as usize) {
                    let each: HashSet<usize> =
                        of_one.iter().map(|turn| turn.configuration).collect();
                    assert_eq!(each.len(), configurations as usize);
                }
            }
        }
    }

    /// Over a cycle of blocks each of 5 comes straight after each other equally often.
    #[test]
    fn the_order_is_balanced_against_who_came_before() {
        for seed in 0..5 {
            let plan = plan(seed, 5);
            let mut follows: BTreeMap<(usize, usize), u32> = BTreeMap::new();
            for block in 0..10 {
                for pair in visits(&plan, block).windows(2) {
                    *follows.entry((pair[0], pair[1])).or_default() += 1;
                }
            }
            assert!(
                follows.len() == 20 && follows.values().all(|times| *times == 2),
                "seed {seed}: {follows:?}"
            );
        }
    }

    /// Nothing that comes back at regular times meets the same one of two for long, and the order
    /// of every four blocks has both.
    #[test]
    fn the_order_of_two_is_drawn() {
        let mut turned = 0;
        for seed in 0..200 {
            let first: Vec<usize> = (0..12).map(|block| visits(&plan(seed, 2), block)[0]).collect();
            for four in first.chunks(4) {
                assert!(four.contains(&0) && four.contains(&1), "seed {seed}: {first:?}");
            }
            turned += first.windows(2).filter(|pair| pair[0] != pair[1]).count();
        }
        // Four of seven times within four blocks, and every second time between them.
        let rate = turned as f64 / (200.0 * 11.0);
        assert!((0.5..0.62).contains(&rate), "{rate}");
    }

    /// Where workloads are interleaved, each has an order of its own.
    #[test]
    fn the_order_of_two_is_drawn_for_each_interleaved_workload() {
        let mut plan = plan(1, 2);
        plan.schedule.interleaved = true;
        let orders: HashSet<Vec<usize>> = (0..6)
            .map(|workload| (0..8).map(|block| order(&plan, workload, block, &[0, 1])[0]).collect())
            .collect();
        assert!(orders.len() > 3, "{orders:?}");
    }
}
