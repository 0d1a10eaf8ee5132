//! What a headline comes to, decided once: every surface prints it, and an exit code follows from
//! it.

use std::borrow::Borrow;

use serde::Serialize;

use crate::claim::{self, Answer, Claim, PAIRS_MIN};
use crate::statistics::Interval;
use crate::types::{Configuration, Survival, UsableSpace};

/// What a headline comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Verdict {
    /// One is to be taken, alone or as one of a tie.
    Take,
    /// Nothing that was compared can be faster than the baseline by as much as would matter: all
    /// intervals exclude it.
    NothingFaster,
    /// There is nothing to compare: figures are the result.
    Figures,
    /// Nothing was compared: fewer than [`PAIRS_MIN`] blocks vote on both sides.
    #[default]
    NotCompared,
    /// Nothing that was compared meets what the plan demands.
    NoneMeetsTerms,
    /// The intervals hold both no gain and one that would matter.
    TooNoisy {
        /// How many times smaller the noise would have to be for most such questions to be settled.
        factor: f64,
        /// By how many blocks this run is to go on instead; none where no look is late enough.
        more: Option<u32>,
    },
    /// The same, and only for the error of the model.
    WithinModel {
        /// That error, as a fraction.
        error: f64,
    },
}

impl Verdict {
    /// Whether it answers what was asked.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Take | Self::NothingFaster | Self::Figures)
    }

    /// Its name, as in JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::NothingFaster => "nothing_faster",
            Self::Figures => "figures",
            Self::NotCompared => "not_compared",
            Self::NoneMeetsTerms => "none_meets_terms",
            Self::TooNoisy { .. } => "too_noisy",
            Self::WithinModel { .. } => "within_model",
        }
    }

    /// How far it is from an answer: the factor of the noise, or the model's error.
    pub(super) fn size(&self) -> f64 {
        match self {
            Self::TooNoisy { factor, .. } => *factor,
            Self::WithinModel { error } => *error,
            _ => 0.0,
        }
    }
}

/// By what one of a tie is taken, so that chance does not choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PickedBy {
    /// A race named it before the trials that tell.
    Race,
    /// In the kind of work where it is furthest behind another one, it is less so than the others
    /// of the tie in theirs.
    LeastRegret,
    /// It has more of md's defaults.
    MdDefault,
    /// It is the middle one in the plan's order.
    Middle,
}

/// Several that were not told apart, each surely ahead of the baseline; or, where the baseline may
/// not be taken, not told apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tie {
    /// Their identities, in the plan's order.
    pub configurations: Vec<String>,
    /// From where to where they lie, in times of the baseline: all of their intervals together.
    pub range: Option<Interval>,
    /// Where they are neighbours on the only axis by which they differ: its name, the first and the
    /// last value.
    pub span: Option<Span>,
    /// By what one of them is taken.
    pub picked_by: PickedBy,
}

/// Neighbours on one axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Name of the axis.
    pub axis: String,
    /// Its first value.
    pub from: String,
    /// Its last value.
    pub to: String,
}

/// Something in which what is taken is surely behind the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// Name of the workload.
    pub workload: String,
    /// Name of the metric.
    pub metric: String,
    /// Its figure / the baseline's.
    pub ratio: f64,
    /// Where that may lie.
    pub interval: Option<Interval>,
    /// The ratio with "more is better": below 1.
    pub gain: f64,
}

/// What a configuration costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Identity of the configuration.
    pub configuration: String,
    /// What it offers of its members' space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable: Option<UsableSpace>,
    /// What may be lost of it without data being lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub survives: Option<Survival>,
    /// Bytes that its members wrote for one that was asked for, in the workload where that is most;
    /// none where nothing was written, or counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
}

/// What undefeated others leave to be said of the one that they did not surpass. `None` where every
/// interval excludes a gain of `matters`; `done` is the number of blocks of a run that can go on.
pub(super) fn undecided(
    claims: impl Iterator<Item = impl Borrow<Claim>>,
    matters: f64,
    done: Option<u32>,
) -> Option<Verdict> {
    let reach_max = matters.ln_1p();
    let (mut factor, mut blocks, mut error_max) = (0.0_f64, 0.0_f64, 0.0_f64);
    let mut is_open = false;
    for claim in claims {
        let claim = claim.borrow();
        let Some(interval) = claim.interval else { continue };
        if claim.answer != Answer::Open || interval.high < 1.0 + matters {
            continue;
        }
        is_open = true;
        let error = claim.model_error.unwrap_or(0.0);
        let centre = claim.ratio.ln();
        let reach = interval.high.ln() - centre;
        let chance = (reach.powi(2) - error.ln_1p().powi(2)).max(0.0).sqrt();
        error_max = error_max.max(error);
        // Without the model's error this one would be settled.
        if error > 0.0 && (centre + chance < reach_max || centre - chance > 0.0) {
            continue;
        }
        // Wherever the estimate lies, an interval of this width holds no gain or none that matters.
        let own = (2.0 * chance / reach_max).max(1.0);
        factor = factor.max(own);
        blocks = blocks.max((claim.pairs.max(PAIRS_MIN) as f64 * own.powi(2)).ceil());
    }
    if !is_open {
        return None;
    }
    if factor == 0.0 {
        return Some(Verdict::WithinModel { error: error_max });
    }
    // `as` saturates.
    let more = done.and_then(|done| claim::more_blocks(blocks as u32, done));
    Some(Verdict::TooNoisy { factor, more })
}

/// What md makes where nobody says otherwise.
const MD_DEFAULTS: [(&str, &str); 6] = [
    ("chunk", "512KiB"),
    ("layout", "left-symmetric"),
    ("layout", "n2"),
    ("metadata", "1.2"),
    ("consistency", "bitmap"),
    ("bitmap", "defaults"),
];

fn md_defaults(configuration: &Configuration) -> usize {
    let has = |(axis, value): &&(&str, &str)| {
        configuration.settings.get(*axis).is_some_and(|own| own == value)
    };
    MD_DEFAULTS.iter().filter(has).count()
}

/// One of a tie, and by what: the smallest largest regret over the kinds of work, in steps of the
/// margin; of equal ones md's default; of equal ones the middle. `tie` is in the plan's order.
pub(super) fn pick(
    configurations: &[Configuration],
    tie: &[usize],
    regret: impl Fn(usize) -> f64,
    margin: f64,
) -> Option<(usize, PickedBy)> {
    let steps = |one: &usize| (regret(*one) / margin.max(1e-9).ln_1p()).floor() as u64;
    let least = tie.iter().map(steps).min()?;
    let kept: Vec<usize> = tie.iter().copied().filter(|one| steps(one) == least).collect();
    if let ([only], true) = (&kept[..], tie.len() > 1) {
        return Some((*only, PickedBy::LeastRegret));
    }
    let defaults = |one: &usize| md_defaults(&configurations[*one]);
    let most = kept.iter().map(defaults).max()?;
    let best: Vec<usize> = kept.iter().copied().filter(|one| defaults(one) == most).collect();
    if let ([only], true) = (&best[..], kept.len() > 1) {
        return Some((*only, PickedBy::MdDefault));
    }
    Some((best[(best.len() - 1) / 2], PickedBy::Middle))
}

/// Where configurations are neighbours on the only axis by which they differ.
pub(super) fn span(
    all: &[&Configuration],
    tie: &[&Configuration],
    axes: &[String],
) -> Option<Span> {
    let [first, rest @ ..] = tie else { return None };
    let differs = |axis: &&String| {
        rest.iter().any(|one| one.settings.get(*axis) != first.settings.get(*axis))
    };
    let mut differing = axes.iter().filter(differs);
    let (Some(axis), None) = (differing.next(), differing.next()) else { return None };
    // Others that have all else in common with them, in the plan's order.
    let is_like = |one: &&&Configuration| {
        one.settings.contains_key(axis)
            && axes
                .iter()
                .all(|other| other == axis || one.settings.get(other) == first.settings.get(other))
    };
    let row: Vec<&Configuration> = all.iter().filter(is_like).copied().collect();
    let place = |id: &str| row.iter().position(|one| one.id == id);
    let places: Option<Vec<usize>> = tie.iter().map(|one| place(&one.id)).collect();
    let places = places?;
    let [from, .., to] = places[..] else { return None };
    let is_whole = to - from + 1 == places.len() && places.is_sorted();
    let value = |place: usize| row[place].settings.get(axis).cloned();
    is_whole.then(|| Some(Span { axis: axis.clone(), from: value(from)?, to: value(to)? }))?
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::types::{Clock, WorkTarget};

    fn with_chunks(chunks: &[&str]) -> Vec<Configuration> {
        let of = |chunk: &&str| Configuration {
            id: (*chunk).to_owned(),
            settings: BTreeMap::from([("chunk".to_owned(), (*chunk).to_owned())]),
            stack: String::new(),
            clock: Clock::Wall,
            ground: WorkTarget::Device,
            modelled: false,
            caches: Vec::new(),
            quick_removal: false,
            baseline: String::new(),
            model_errors: None,
            model_error: None,
            model_cases: 0,
            survives: None,
            usable: None,
        };
        chunks.iter().map(of).collect()
    }

    /// The same in every kind of work, and no figure of a trial is in it.
    #[test]
    fn one_of_a_tie_is_taken_by_a_rule() {
        let all = with_chunks(&["64KiB", "128KiB", "256KiB", "512KiB", "1MiB"]);
        let picked = |tie: &[usize], regrets: [f64; 5]| {
            pick(&all, tie, |one| regrets[one], 0.02).map(|(one, by)| (all[one].id.as_str(), by))
        };
        let none = [0.0; 5];
        assert_eq!(picked(&[0, 1, 2], none), Some(("128KiB", PickedBy::Middle)));
        assert_eq!(picked(&[0, 1], none), Some(("64KiB", PickedBy::Middle)));
        assert_eq!(picked(&[1, 2, 3, 4], none), Some(("512KiB", PickedBy::MdDefault)));
        let loses = [0.3, 0.0, 0.1, 0.3, 0.3];
        assert_eq!(picked(&[0, 1, 2, 3], loses), Some(("128KiB", PickedBy::LeastRegret)));
        // Regrets that differ by less than the margin are none.
        let hardly = [0.001, 0.0, 0.015, 0.002, 0.3];
        assert_eq!(picked(&[0, 1, 2, 3], hardly), Some(("512KiB", PickedBy::MdDefault)));
        assert_eq!(picked(&[], none), None);
    }

    #[test]
    fn neighbours_have_a_span_and_others_have_none() {
        let all = with_chunks(&["64KiB", "128KiB", "256KiB", "512KiB"]);
        let all: Vec<&Configuration> = all.iter().collect();
        let of = |places: &[usize]| {
            let tie: Vec<&Configuration> = places.iter().map(|place| all[*place]).collect();
            span(&all, &tie, &["chunk".to_owned()]).map(|span| (span.from, span.to))
        };
        let ends = |from: &str, to: &str| Some((from.to_owned(), to.to_owned()));
        assert_eq!(of(&[1, 2, 3]), ends("128KiB", "512KiB"));
        assert_eq!(of(&[0, 1]), ends("64KiB", "128KiB"));
        assert_eq!(of(&[0, 2]), None);
        assert_eq!(of(&[2]), None);
    }
}
