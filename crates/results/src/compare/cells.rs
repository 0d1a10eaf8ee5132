//! The cells that two runs have in common, and what is claimed of each.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::ComparisonNote;
use crate::analysis::shown_trials;
use crate::claim::{
    self, Answer, Claim, Decision, ErrorScope, Estimate, Family, Invalid, LEVEL, Quantiles,
    Question, Sample, Settle,
};
use crate::doubt::Silence;
use crate::statistics;
use crate::types::{BetterDirection, Configuration, Plan, Run, better_of, settings_text};
use crate::voices::{Machines, Table, Voice, Voices, drawn, judged_metrics, pair};

/// Fewest voting trials on each side for a word, and for passing a limit.
pub const TRIALS_MIN: usize = 4;

/// One metric of one cell in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellChange {
    /// Axis name to value.
    pub settings: BTreeMap<String, String>,
    /// Name of the workload.
    pub workload: String,
    /// Whether it is the metric that the workload is judged by.
    pub judged: bool,
    /// Voting trials of the first run and of the second.
    pub trials: [usize; 2],
    /// Trials of each that do not vote.
    pub silent: [usize; 2],
    /// How many requests a trial has to make for this metric, where some made fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_needed: Option<u64>,
    /// Medians in the first run and in the second, of what votes.
    pub medians: [f64; 2],
    /// The second against the first.
    #[serde(flatten)]
    pub claim: Claim,
    /// What the claim was made from; none with too few trials.
    #[serde(skip)]
    pub estimate: Option<Estimate>,
}

/// What every cell is judged beside: its change less that of this configuration, block by block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceCell {
    /// The baseline of each configuration.
    Baseline,
    /// The only configuration that has this value: of this axis, or of any where none is said.
    Value {
        /// Name of the axis.
        axis: Option<String>,
        /// The value.
        value: String,
    },
}

impl ReferenceCell {
    /// Index of the configuration that one is judged beside; none where there is no such, or are
    /// several.
    fn of(&self, plan: &Plan, configuration: &Configuration) -> Option<usize> {
        let has = |one: &Configuration| match self {
            Self::Baseline => one.id == configuration.baseline,
            Self::Value { axis: Some(axis), value } => one.settings.get(axis) == Some(value),
            Self::Value { axis: None, value } => one.settings.values().any(|own| own == value),
        };
        let mut found = plan.configurations.iter().enumerate().filter(|(_, one)| has(one));
        let (index, _) = found.next()?;
        found.next().is_none().then_some(index)
    }
}

/// One metric of a cell, before anything is claimed.
pub(super) struct MetricVoices {
    pub(super) configuration: usize,
    workload: usize,
    metric: String,
    judged: bool,
    voices: [Voices; 2],
    /// Of what it is judged beside.
    beside: Option<[Voices; 2]>,
}

/// Two runs, and how their cells find each other.
pub(super) struct BothRuns<'a> {
    runs: [&'a Run; 2],
    tables: [Table<'a>; 2],
    /// The metric that each workload is judged by.
    judged: [Vec<String>; 2],
    /// Each has one configuration, and these are compared whatever they are.
    is_alone: bool,
    beside: Option<&'a ReferenceCell>,
}

impl<'a> BothRuns<'a> {
    pub(super) fn new(
        runs: [&'a Run; 2],
        is_alone: bool,
        beside: Option<&'a ReferenceCell>,
    ) -> BothRuns<'a> {
        let tables = runs.map(shown_trials);
        let judged = [0, 1].map(|side: usize| judged_metrics(&runs[side].plan, &tables[side]));
        BothRuns { runs, tables, judged, is_alone, beside }
    }

    /// What a configuration of a side is judged beside.
    pub(super) fn reference(&self, side: usize, configuration: usize) -> Option<usize> {
        let plan = &self.runs[side].plan;
        self.beside?.of(plan, &plan.configurations[configuration])
    }

    /// Every metric that a cell has in both runs, the judged one first, and how many cells of the
    /// first have no figures in both.
    pub(super) fn metrics(&self, notes: &mut Vec<ComparisonNote>) -> (Vec<MetricVoices>, usize) {
        let [first, second] = self.runs;
        let (mut found, mut missing) = (Vec::new(), 0);
        for (own, configuration) in first.plan.configurations.iter().enumerate() {
            let mut others = second.plan.configurations.iter();
            let other = match self.is_alone {
                true => Some(0),
                false => others.position(|other| other.id == configuration.id),
            };
            for (index, workload) in first.plan.workloads.iter().enumerate() {
                let known =
                    second.plan.workloads.iter().position(|other| other.name == workload.name);
                let Some((other, known)) = other.zip(known) else {
                    missing += 1;
                    continue;
                };
                if second.plan.configurations[other].clock != configuration.clock {
                    let configuration = label(configuration);
                    notes.push(ComparisonNote::ModelledAndMeasured { configuration });
                    break;
                }
                let cells = [(own, index), (other, known)];
                let beside = match self.beside {
                    Some(_) => match [self.reference(0, own), self.reference(1, other)] {
                        // The yardstick is not measured by itself.
                        [Some(one), Some(_)] if one == own => break,
                        [Some(one), Some(two)] => Some([(one, index), (two, known)]),
                        _ => {
                            missing += 1;
                            continue;
                        }
                    },
                    None => None,
                };
                let metrics = self.of_cell(cells, beside);
                missing += usize::from(!metrics.iter().any(|one| one.judged));
                found.extend(metrics);
            }
        }
        (found, missing)
    }

    /// The metrics that a cell has on both sides. Cells are (configuration, workload).
    fn of_cell(
        &self,
        cells: [(usize, usize); 2],
        beside: Option<[(usize, usize); 2]>,
    ) -> Vec<MetricVoices> {
        let [(configuration, workload), (_, other)] = cells;
        // An older run may have no durable rate: then the two are judged by what both have.
        let judged = if self.judged[0][workload] == self.judged[1][other] {
            &self.judged[0][workload]
        } else {
            &self.runs[0].plan.workloads[workload].metric
        };
        let of_metric = |metric: String| {
            let voices = |cells: [(usize, usize); 2]| {
                [0, 1].map(|side| {
                    let (configuration, workload) = cells[side];
                    self.tables[side].voices(configuration, workload, &metric)
                })
            };
            MetricVoices {
                configuration,
                workload,
                judged: metric == *judged,
                voices: voices(cells),
                beside: beside.map(voices),
                metric,
            }
        };
        metrics(&self.tables, cells, judged).into_iter().map(of_metric).collect()
    }

    /// Makes the claims; variances lean on each other over the configurations of one workload and
    /// metric.
    pub(super) fn claims(
        &self,
        found: &[MetricVoices],
        subject: impl Fn(usize) -> String,
        margin: f64,
    ) -> Vec<CellChange> {
        let plan = &self.runs[0].plan;
        let machines = self.runs.map(|run| run.host.drawn_machines());
        let sides: Vec<[Vec<f64>; 2]> = found.iter().map(|one| one.logarithms(machines)).collect();
        let estimates = estimates(found, &sides);
        let comparisons = |judged: bool| {
            let counted = found.iter().zip(&estimates).filter(|(one, estimate)| {
                one.judged == judged && estimate.is_some() && one.better(plan).is_some()
            });
            counted.count().max(1) as f64
        };
        let families = [false, true].map(|judged| Family {
            over: ErrorScope::Comparison,
            comparisons: comparisons(judged),
        });
        let mut quantiles = Quantiles::default();
        let mut changes = Vec::new();
        for ((one, sides), estimate) in found.iter().zip(&sides).zip(estimates) {
            let family = families[usize::from(one.judged)];
            let question = Question {
                better: one.better(plan),
                margin,
                level: family.level(),
                same_level: LEVEL,
                model_error: 0.0,
                by_order: None,
                by_draw: None,
            };
            let decision =
                estimate.map(|estimate| claim::decide(&estimate, &question, &mut quantiles));
            changes.push(CellChange {
                settings: plan.configurations[one.configuration].settings.clone(),
                workload: plan.workloads[one.workload].name.clone(),
                judged: one.judged,
                trials: [sides[0].len(), sides[1].len()],
                silent: [0, 1].map(|side| one.silent(side).len()),
                requests_needed: one.requests_needed(),
                medians: one.medians(sides),
                claim: Claim {
                    subject: subject(one.configuration),
                    against: plan.configurations[one.configuration].id.clone(),
                    ..one.claim(sides, family, &question, estimate, decision)
                },
                estimate,
            });
        }
        changes
    }
}

impl MetricVoices {
    /// What votes on each side.
    fn logarithms(&self, machines: [Option<&Machines>; 2]) -> [Vec<f64>; 2] {
        [0, 1].map(|side| {
            if let Some(beside) = &self.beside {
                return pair(&self.voices[side], &beside[side], machines[side]).differences;
            }
            let voting = self.voices[side].iter().filter(|(_, voice)| voice.silent.is_none());
            let voting: Vec<(u32, f64)> =
                voting.map(|(block, voice)| (*block, voice.logarithm)).collect();
            drawn(&voting, machines[side])
        })
    }

    /// Which direction is better.
    fn better(&self, plan: &Plan) -> Option<BetterDirection> {
        let workload = &plan.workloads[self.workload];
        if self.judged { Some(workload.better) } else { better_of(&self.metric) }
    }

    /// Why trials of a side do not vote.
    fn silent(&self, side: usize) -> Vec<&Silence> {
        self.voices[side].values().filter_map(|voice| voice.silent.as_deref()).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Voice> {
        self.voices.iter().flat_map(Voices::values)
    }

    fn requests_needed(&self) -> Option<u64> {
        self.all().find_map(|voice| match voice.silent.as_deref() {
            Some(Silence::TooFewRequests { needed }) => Some(needed.round() as u64),
            _ => None,
        })
    }

    /// The figures of both sides: of what votes, or of everything where nothing does.
    fn medians(&self, sides: &[Vec<f64>; 2]) -> [f64; 2] {
        [0, 1].map(|side| {
            let all: Vec<f64> =
                self.voices[side].values().map(|voice| voice.logarithm.exp()).collect();
            let voting = self.voices[side].values().filter(|voice| voice.silent.is_none());
            let voting: Vec<f64> = match self.beside {
                Some(_) => voting.map(|voice| voice.logarithm.exp()).collect(),
                None => sides[side].iter().map(|logarithm| logarithm.exp()).collect(),
            };
            let shown = if voting.is_empty() { all } else { voting };
            statistics::median(&shown).map_or(f64::NAN, |median| median.median)
        })
    }

    /// The claim that both sides come to; of whom it is, the caller says.
    fn claim(
        &self,
        sides: &[Vec<f64>; 2],
        family: Family,
        question: &Question,
        estimate: Option<Estimate>,
        decision: Option<Decision>,
    ) -> Claim {
        let answer = decision.map_or(Answer::Open, |decision| decision.answer);
        let medians = self.medians(sides);
        let voting = sides[0].len().min(sides[1].len());
        let busy = self.all().filter(|voice| voice.silent.is_none() && voice.busy > 0.5).count();
        let (before, after) = (self.silent(0), self.silent(1));
        let silent = before.len().max(after.len());
        Claim {
            subject: String::new(),
            against: String::new(),
            metric: self.metric.clone(),
            better: question.better,
            pairs: voting,
            silent,
            busy: busy.div_ceil(2),
            family,
            ratio: estimate.map_or(medians[1] / medians[0], |estimate| estimate.centre.exp()),
            interval: decision.map(|decision| decision.interval),
            same_interval: decision.map(|decision| decision.same_interval),
            model_error: None,
            by_order: None,
            answer,
            invalid: decision.is_none().then(|| Invalid::TooFew {
                voting,
                silent,
                reason: before.first().or(after.first()).map(|reason| reason.without_figures()),
            }),
            settle: (answer == Answer::Open && question.better.is_some()).then(|| Settle {
                blocks: decision.and_then(|decision| decision.blocks).map(|blocks| 2 * blocks),
                ..Settle::default()
            }),
        }
    }
}

/// What each metric is estimated to, row by row.
fn estimates(found: &[MetricVoices], sides: &[[Vec<f64>; 2]]) -> Vec<Option<Estimate>> {
    let mut rows: BTreeMap<(usize, &str), Vec<usize>> = BTreeMap::new();
    for (index, one) in found.iter().enumerate() {
        rows.entry((one.workload, one.metric.as_str())).or_default().push(index);
    }
    let mut estimates: Vec<Option<Estimate>> = vec![None; found.len()];
    for row in rows.values() {
        let sample = |index: &usize| {
            let [before, after] = &sides[*index];
            Sample::unpaired(before, after)
                .filter(|_| before.len() >= TRIALS_MIN && after.len() >= TRIALS_MIN)
        };
        let samples: Vec<Option<Sample>> = row.iter().map(sample).collect();
        for (index, estimate) in row.iter().zip(claim::estimates(&samples)) {
            estimates[*index] = estimate;
        }
    }
    estimates
}

/// The metrics that both sides have figures above 0 of, the judged one first.
fn metrics(tables: &[Table<'_>; 2], sides: [(usize, usize); 2], judged: &str) -> Vec<String> {
    let [before, after] = [0, 1].map(|side| {
        let (configuration, workload) = sides[side];
        let trials = tables[side].cell(configuration, workload);
        trials
            .flat_map(|(_, trial)| trial.metrics.iter())
            .filter(|(_, figure)| figure.is_finite() && *figure > 0.0)
            .map(|(name, _)| name.to_owned())
            .collect::<BTreeSet<String>>()
    });
    let mut both: Vec<String> = before.intersection(&after).cloned().collect();
    both.sort_by_key(|metric| metric != judged);
    both
}

/// A configuration by its settings.
pub(super) fn label(configuration: &Configuration) -> String {
    settings_text(configuration.settings.keys(), &configuration.settings)
}
