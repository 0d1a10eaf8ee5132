//! Whether what a plan demands of figures holds, such as `p99 < 20 ms`.
//!
//! ```text
//! trials of a cell that vote ── logarithms ── mean: the figure ──────────────── holds, or not
//!                                         └── Student's t: where it may lie ─── surely, or by chance
//! ```
//!
//! A configuration is taken only when all its figures are below their bounds, and what is taken is
//! called sure only when they surely are. A race leaves out what is surely above.

use crate::claim::{self, PAIRS_MIN, Quantiles, Sample};
use crate::model_error::model_error;
use crate::statistics::{self, Interval};
use crate::types::Bound;
use crate::voices::{Table, drawn};

/// How one cell stands to one bound.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BoundMargin<'a> {
    pub(crate) bound: &'a Bound,
    /// Index of the workload in the plan.
    pub(crate) workload: usize,
    /// Its figure / the bound: the geometric mean of the trials that vote, of all where none does.
    pub(crate) ratio: f64,
    /// Where that may lie, a model's error included; none below [`PAIRS_MIN`] trials that vote.
    pub(crate) interval: Option<Interval>,
}

impl BoundMargin<'_> {
    /// Whether the figure is below the bound, by chance or not.
    pub(crate) fn holds(&self) -> bool {
        self.ratio < 1.0
    }

    /// Whether it surely is.
    pub(crate) fn surely_holds(&self) -> bool {
        self.interval.is_some_and(|interval| interval.high < 1.0)
    }

    /// Whether it surely is not.
    pub(crate) fn surely_fails(&self) -> bool {
        self.interval.is_some_and(|interval| interval.low >= 1.0)
    }
}

/// How the cells of a configuration stand to the plan's bounds. `tail` is the probability with
/// which each interval leaves its figure out on either side.
pub(crate) fn held<'a>(
    table: &Table<'a>,
    configuration: usize,
    tail: f64,
    quantiles: &mut Quantiles,
) -> Vec<BoundMargin<'a>> {
    let plan = table.plan();
    let mut found = Vec::new();
    for bound in &plan.terms.bounds {
        for workload in 0..plan.workloads.len() {
            let model = model_error(plan, [configuration; 2], &[workload]);
            let error = model.map_or(0.0, |known| known.error);
            let voices = table.voices(configuration, workload, &bound.metric);
            let voting: Vec<(u32, f64)> = voices
                .iter()
                .filter(|(_, voice)| voice.silent.is_none())
                .map(|(block, voice)| (*block, voice.logarithm - bound.below.ln()))
                .collect();
            let voting = drawn(&voting, table.machines);
            // Where none votes, what is shown is all that there is to go by.
            let all: Vec<f64> =
                voices.values().map(|voice| voice.logarithm - bound.below.ln()).collect();
            if all.is_empty() {
                continue;
            }
            let shown = if voting.is_empty() { &all } else { &voting };
            let sample = Sample::paired(&voting).filter(|_| voting.len() >= PAIRS_MIN);
            let estimate = claim::leaning(&[sample], 0.0).pop().flatten();
            found.push(BoundMargin {
                bound,
                workload,
                ratio: statistics::mean(shown).exp(),
                interval: estimate
                    .map(|estimate| claim::interval(&estimate, tail, error, quantiles)),
            });
        }
    }
    found
}

/// How many such questions these configurations are asked.
pub(crate) fn asked(table: &Table<'_>, configurations: &[usize]) -> usize {
    let plan = table.plan();
    let has = |configuration: usize, bound: &Bound| {
        let of = (0..plan.workloads.len())
            .filter(|workload| !table.voices(configuration, *workload, &bound.metric).is_empty());
        of.count()
    };
    let of_one =
        |one: &usize| -> usize { plan.terms.bounds.iter().map(|bound| has(*one, bound)).sum() };
    configurations.iter().map(of_one).sum()
}
