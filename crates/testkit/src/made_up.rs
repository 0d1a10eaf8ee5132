//! Made-up runs: what a run of known truth would have recorded, under noise of many kinds, for the
//! tests that count how often the program's claims are false.
//!
//! ```text
//! MadeUp { configurations, workloads, blocks, truth, noise, seed } ── run() ──> results::Run
//!   trial = base rate · truth(configuration, workload) · exp(noise at that moment of the run)
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use results::Metrics;
use results::balance;
use results::course::Course;
use results::types::{
    Axis, BetterDirection, Clock, Configuration, Group, Host, Judge, Plan, Run, Schedule, Terms,
    Trial, WorkTarget, Workload, cell_id, configuration_id,
};

/// Name of the metric that made-up runs are judged by.
pub const THROUGHPUT: &str = "throughput_bytes_per_second";
/// Name of the other metric that they have.
pub const LATENCY: &str = "latency_mean_seconds";

/// What chance does to a trial. Sizes are in units of the run's deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Normal.
    Normal,
    /// Student's t with 3 degrees of freedom: heavy tails.
    HeavyTails,
    /// Exponential towards the slow side.
    Skewed,
    /// Normal, and 8 % of the trials are slower by 15 %.
    Contaminated,
    /// Each moment remembers nine tenths of the one before.
    Autocorrelated,
    /// Normal, and from a random moment on everything is slower by six deviations.
    Stepped,
    /// Normal, and now and then a few trials in a row are slower by eight deviations.
    Bursty,
    /// Normal, and everything becomes slower by four tenths of a deviation with each visit.
    Drifting,
    /// Normal, and whatever follows the first configuration is slower by 5 %.
    CarriedOver,
    /// Normal, and the last configuration is slower by 5 % after the first.
    CarriedOverToLast,
    /// Normal, and everything is faster and slower by five deviations as a wave that comes back
    /// after so many visits, from a random moment on.
    Periodic {
        /// So many.
        visits: u32,
    },
    /// Normal, and every so many visits one is slower by fifteen deviations, from a random one on.
    Recurring {
        /// So many.
        visits: u32,
    },
}

impl Noise {
    /// All kinds that leave equal configurations equal.
    pub const FAIR: [Noise; 8] = [
        Noise::Normal,
        Noise::HeavyTails,
        Noise::Skewed,
        Noise::Contaminated,
        Noise::Autocorrelated,
        Noise::Stepped,
        Noise::Bursty,
        Noise::Drifting,
    ];
}

/// A run to be made up.
#[derive(Clone, Debug)]
pub struct MadeUp {
    /// Number of configurations; the first is the baseline of the others.
    pub configurations: usize,
    /// Number of workloads of each group.
    pub workloads: Vec<(Group, usize)>,
    /// Number of blocks.
    pub blocks: u32,
    /// What chance does.
    pub noise: Noise,
    /// Its deviation, of logarithms.
    pub deviation: f64,
    /// How many times as large it is for the last configuration.
    pub last_times: f64,
    /// Whether every configuration runs a workload before any runs the next.
    pub interleaved: bool,
    /// Whether two configurations strictly take turns, AB BA AB BA, as the lab once had them.
    pub is_alternating: bool,
    /// Everything random follows from it.
    pub seed: u64,
    /// How its trials are spent and judged.
    pub terms: Terms,
}

/// What trials have from those before them.
struct Disturbance {
    /// The visit at which a step comes.
    step_at: f64,
    /// Where in its period something periodic begins.
    phase: f64,
    /// What is left of the noise before.
    memory: f64,
    /// For how many more trials a burst goes on.
    burst_left: f64,
    /// How many visits there were, of all workloads together.
    visit: f64,
    /// The configuration before.
    before: Option<usize>,
}

impl MadeUp {
    /// A run of one workload in one group.
    #[must_use]
    pub fn one_workload(configurations: usize, blocks: u32, noise: Noise, seed: u64) -> Self {
        Self {
            configurations,
            workloads: vec![(Group::Random, 1)],
            blocks,
            noise,
            deviation: 0.03,
            last_times: 1.0,
            is_alternating: false,
            interleaved: false,
            seed,
            terms: Terms::default(),
        }
    }

    /// Makes the run; `truth` is the true ratio to the baseline by configuration and workload.
    #[must_use]
    pub fn run(&self, truth: impl Fn(usize, usize) -> f64) -> Run {
        let host = Host {
            schema: 1,
            started: "2026-01-01T00:00:00Z".to_owned(),
            facts: Vec::new(),
            one_disk: Vec::new(),
            shared_disks: Vec::new(),
            machines: BTreeMap::new(),
        };
        let mut run = Run {
            plan: self.plan(),
            host,
            trials: Vec::new(),
            notes: Vec::new(),
            steps: Vec::new(),
        };
        self.go_on(&mut run, truth);
        run
    }

    /// Makes the trials that a run lacks by its plan and its steps, and takes the steps that these
    /// lead to.
    pub fn go_on(&self, run: &mut Run, truth: impl Fn(usize, usize) -> f64) {
        let seed = self.seed.wrapping_add(0x9e37_79b9 * run.trials.len() as u64);
        let mut random = Random(seed ^ 0x6d61_6465_2d75_7021);
        let Run { plan, trials, steps, .. } = run;
        let first = trials.last().map_or(0, |last| last.block + 1);
        let mut disturbance = self.disturbance(&mut random, first);
        for block in first.. {
            while let Some(step) = Course::new(plan, steps).next_step(trials, block) {
                steps.push(step);
            }
            let visited = Course::new(plan, steps).visited(block);
            if visited.is_empty() {
                break;
            }
            let mut place = 0;
            for (configuration, workloads) in self.turns(plan, block, &visited) {
                for index in workloads.clone() {
                    let workload = &plan.workloads[index];
                    let noise = self.noise(&mut disturbance, configuration, &mut random);
                    let rate = 1e8 * truth(configuration, index) * noise.exp();
                    let settings = &plan.configurations[configuration].settings;
                    trials.push(Trial {
                        cell: cell_id(settings, &workload.name),
                        settings: settings.clone().into(),
                        workload: workload.name.clone(),
                        block,
                        order: place,
                        clock: Clock::Wall,
                        metrics: Metrics::from_iter([
                            (THROUGHPUT.to_owned(), rate),
                            (LATENCY.to_owned(), 65_536.0 / rate),
                        ]),
                        members: Vec::new(),
                        flags: Vec::new(),
                    });
                    place += 1;
                }
                disturbance.before = Some(configuration);
                disturbance.visit += workloads.len() as f64 / plan.workloads.len() as f64;
            }
        }
    }

    /// Where its disturbance begins, at a block.
    fn disturbance(&self, random: &mut Random, first: u32) -> Disturbance {
        let visits_in_all = self.configurations as f64 * f64::from(self.blocks);
        Disturbance {
            step_at: random.uniform() * visits_in_all,
            phase: random.uniform(),
            memory: random.normal(),
            burst_left: 0.0,
            visit: f64::from(first),
            before: None,
        }
    }

    /// By what logarithm the next trial is off.
    fn noise(&self, now: &mut Disturbance, configuration: usize, random: &mut Random) -> f64 {
        if random.uniform() < 0.03 {
            now.burst_left = (4.0 * random.uniform()).ceil();
        }
        now.memory = 0.9 * now.memory + (1.0_f64 - 0.81).sqrt() * random.normal();
        let is_last = configuration + 1 == self.configurations;
        let times = if is_last { self.last_times } else { 1.0 };
        let own = times * self.deviation * random.normal();
        let noise = match self.noise {
            Noise::Normal => own,
            Noise::HeavyTails => self.deviation * random.student_3(),
            Noise::Skewed => self.deviation * (1.0 + random.uniform().ln()),
            Noise::Contaminated if random.uniform() < 0.08 => own + 0.85_f64.ln(),
            Noise::Contaminated => own,
            Noise::Autocorrelated => self.deviation * now.memory,
            Noise::Stepped if now.visit >= now.step_at => own - 6.0 * self.deviation,
            Noise::Stepped => own,
            Noise::Bursty if now.burst_left > 0.0 => own - 8.0 * self.deviation,
            Noise::Bursty => own,
            Noise::Drifting => own - 0.4 * self.deviation * now.visit,
            Noise::CarriedOver if now.before == Some(0) => own + 0.95_f64.ln(),
            Noise::CarriedOverToLast if now.before == Some(0) && is_last => own + 0.95_f64.ln(),
            Noise::CarriedOver | Noise::CarriedOverToLast => own,
            Noise::Periodic { visits } => {
                let turn = now.visit / f64::from(visits) + now.phase;
                own + 5.0 * self.deviation * (std::f64::consts::TAU * turn).sin()
            }
            Noise::Recurring { visits } => {
                let turn = (now.visit / f64::from(visits) + now.phase).fract();
                let is_hit = turn * f64::from(visits) < 1.0;
                own - if is_hit { 15.0 * self.deviation } else { 0.0 }
            }
        };
        now.burst_left -= 1.0;
        noise
    }

    /// Configurations of a block, each with the workloads that it runs at a time, as the lab orders
    /// them: balanced rows in random order, under random names; of two the order is drawn.
    fn turns(&self, plan: &Plan, block: u32, visited: &[usize]) -> Vec<(usize, Range<usize>)> {
        let rows = balance::rows(visited.len());
        let count = plan.workloads.len();
        // How many workloads a configuration runs at a time.
        let at_once = if self.interleaved { 1 } else { count };
        let parts = (0..count).step_by(at_once.max(1)).map(|first| first..first + at_once);
        let block = block as usize;
        let of_part = |(part, workloads): (usize, Range<usize>)| {
            let two = visited.len() == 2;
            let blocks = if two { balance::TWO_BLOCKS as usize } else { rows.len() };
            let cycle = if two && self.is_alternating { 0 } else { block / blocks };
            let drawn_for = part as u64;
            let mut random =
                Random(self.seed ^ 0x6f72_6465_7200 ^ (drawn_for << 32) ^ cycle as u64);
            let names = shuffled(visited.to_vec(), &mut random);
            let row = if two {
                let way = (random.uniform() * balance::TWO_WAYS as f64) as u64;
                usize::from(match self.is_alternating {
                    true => (part + block) % 2 == 1,
                    false => balance::two(way)[block % blocks],
                })
            } else {
                shuffled((0..rows.len()).collect(), &mut random)[block % rows.len()]
            };
            let turn = |place: &usize| (names[*place], workloads.clone());
            rows[row].iter().map(turn).collect::<Vec<_>>()
        };
        parts.enumerate().flat_map(of_part).collect()
    }

    fn plan(&self) -> Plan {
        let settings = |index: usize| BTreeMap::from([("made".to_owned(), format!("{index}"))]);
        let baseline = configuration_id(&settings(0));
        let configuration = |index: usize| Configuration {
            id: configuration_id(&settings(index)),
            settings: settings(index),
            stack: format!("file:{{members}}/{index}"),
            clock: Clock::Wall,
            ground: WorkTarget::Device,
            modelled: false,
            caches: Vec::new(),
            quick_removal: false,
            baseline: baseline.clone(),
            model_errors: None,
            model_error: None,
            model_cases: 0,
            survives: None,
            usable: None,
        };
        let workload = |group: Group, index: usize| Workload {
            name: format!("{group:?} {index}").to_lowercase(),
            suite: "devtest".to_owned(),
            group,
            metric: THROUGHPUT.to_owned(),
            better: BetterDirection::Higher,
            weight: 1.0,
            judge: Judge::default(),
            buffered_of: None,
        };
        Plan {
            schema: 1,
            name: "made up".to_owned(),
            seed: self.seed,
            blocks: self.blocks,
            margin: 0.02,
            axes: vec![Axis {
                name: "made".to_owned(),
                values: (0..self.configurations).map(|index| format!("{index}")).collect(),
            }],
            configurations: (0..self.configurations).map(configuration).collect(),
            workloads: self
                .workloads
                .iter()
                .flat_map(|(group, count)| (0..*count).map(|index| workload(*group, index)))
                .collect(),
            suite_settings: BTreeMap::new(),
            terms: self.terms.clone(),
            schedule: Schedule { interleaved: self.interleaved, ..Schedule::default() },
        }
    }
}

fn shuffled(mut order: Vec<usize>, random: &mut Random) -> Vec<usize> {
    for last in (1..order.len()).rev() {
        order.swap(last, (random.uniform() * (last + 1) as f64) as usize % (last + 1));
    }
    order
}

/// SplitMix64 (Steele, Lea and Flood 2014): the whole state is the seed.
struct Random(u64);

impl Random {
    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ (mixed >> 31)) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Normal with mean 0 and deviation 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t with 3 degrees of freedom, of deviation 1.
    fn student_3(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / squares.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean and the deviation of what a kind of noise adds to the first trials of many runs.
    fn moments(noise: Noise) -> (f64, f64) {
        let figures: Vec<f64> = (0..2000)
            .map(|seed| {
                let run = MadeUp::one_workload(2, 1, noise, seed).run(|_, _| 1.0);
                (run.trials[0].metrics[THROUGHPUT] / 1e8).ln()
            })
            .collect();
        let mean = figures.iter().sum::<f64>() / 2000.0;
        let squares = figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>();
        (mean, (squares / 2000.0).sqrt())
    }

    #[test]
    fn noise_has_the_deviation_that_was_asked_for() {
        for noise in [Noise::Normal, Noise::Skewed, Noise::Autocorrelated] {
            let (mean, deviation) = moments(noise);
            assert!(mean.abs() < 0.003 && (deviation - 0.03).abs() < 0.003, "{noise:?}: {mean}");
        }
        assert!(moments(Noise::Contaminated).1 > 0.045, "outliers are there");
    }

    #[test]
    fn the_same_seed_makes_the_same_run_and_the_truth_is_in_it() {
        let made = MadeUp {
            workloads: vec![(Group::Random, 2), (Group::Sequential, 1)],
            deviation: 0.0,
            ..MadeUp::one_workload(3, 4, Noise::Normal, 9)
        };
        let truth =
            |configuration: usize, workload: usize| (configuration + 10 * workload + 1) as f64;
        let run = made.run(truth);
        assert_eq!(run, made.run(truth));
        assert_eq!(run.trials.len(), 3 * 3 * 4);
        for trial in &run.trials {
            let configuration: usize = trial.settings["made"].parse().unwrap();
            let workload = run.plan.workloads.iter().position(|one| one.name == trial.workload);
            let expected = 1e8 * truth(configuration, workload.unwrap());
            assert!((trial.metrics[THROUGHPUT] / expected - 1.0).abs() < 1e-9);
        }
    }
}
