//! Prose made from the analysis: every name and number in it is the one that the charts and tables
//! show.

use results::analysis::{Analysis, Comparison, KindResult, Score, Warning};
use results::statistics::PAIRS_MIN;
use results::types::Run;

use crate::numbers;
use crate::table::{comparison_title, label};

/// Longest list of configurations in a sentence.
const LIST_LENGTH_MAX: usize = 10;

/// The answer for one kind of access.
pub(crate) struct Answer {
    /// `sequential`, `random` or `mixed`.
    pub(crate) kind: &'static str,
    /// The recommended configuration; a dash when there is none.
    pub(crate) pick: String,
    /// Its score with the interval; empty when there is none.
    pub(crate) score: String,
    /// What else is to be said, a sentence each.
    pub(crate) details: Vec<String>,
}

/// What a comparison says about one kind of access.
pub(crate) fn answer(analysis: &Analysis, comparison: &Comparison, kind: &KindResult) -> Answer {
    let name = numbers::kind(kind.group);
    let baseline = label(comparison, &comparison.baseline);
    let Some(recommended) = &kind.recommended else {
        let why = if analysis.trials_finished < analysis.trials_planned {
            "Not known yet: no block is finished.".into()
        } else {
            format!(
                "Nothing to compare: in no block were all workloads of this kind measured with \
                {baseline} and with another."
            )
        };
        return Answer { kind: name, pick: "–".into(), score: String::new(), details: vec![why] };
    };
    let is_baseline = *recommended == comparison.baseline;
    let score = kind.score(recommended);
    let mut details = Vec::new();
    if kind.best_set.is_empty() {
        details.push(format!(
            "Highest score, but with fewer than {PAIRS_MIN} blocks no difference \
            can be called real."
        ));
    } else {
        let others: Vec<&String> =
            kind.best_set.iter().filter(|other| *other != recommended).collect();
        if is_baseline && others.is_empty() {
            details.push("The baseline itself, surely ahead of all others.".into());
        } else if is_baseline {
            details.push("The baseline itself: none is surely ahead of it.".into());
        } else if others.is_empty() {
            details.push("Surely ahead of all others.".into());
        }
        if !others.is_empty() {
            details.push(format!(
                "Cannot be told apart from the best: {}.",
                list(comparison, kind, others.into_iter())
            ));
        }
        for (better, words) in [(true, "Surely faster"), (false, "Surely slower")] {
            let those: Vec<&String> = kind
                .scores
                .iter()
                .filter(|score| {
                    score.differs() == Some(better) && !kind.best_set.contains(&score.configuration)
                })
                .map(|score| &score.configuration)
                .collect();
            if !those.is_empty() {
                let also = if better && !is_baseline { " too" } else { "" };
                details.push(format!(
                    "{words} than {baseline}{also}: {}.",
                    list(comparison, kind, those.into_iter())
                ));
            }
        }
        let open: Vec<&String> = kind
            .scores
            .iter()
            .filter(|score| {
                score.configuration != comparison.baseline
                    && score.differs().is_none()
                    && !kind.best_set.contains(&score.configuration)
            })
            .map(|score| &score.configuration)
            .collect();
        if !open.is_empty() {
            details.push(format!(
                "No sure difference from {baseline}: {}.",
                list(comparison, kind, open.into_iter())
            ));
        }
    }
    let score = if is_baseline {
        "1× (baseline)".to_string()
    } else {
        score.map_or_else(String::new, numbers::score_whole)
    };
    Answer { kind: name, pick: label(comparison, recommended), score, details }
}

/// Whether anything has a score.
pub(crate) fn has_scores(analysis: &Analysis) -> bool {
    analysis
        .comparisons
        .iter()
        .flat_map(|comparison| &comparison.kinds)
        .any(|kind| !kind.scores.is_empty())
}

/// Names, then their scores or the range of them: `64 KiB, 256 KiB (1.85× to 1.86×)`.
fn list<'a>(
    comparison: &Comparison,
    kind: &KindResult,
    configurations: impl Iterator<Item = &'a String>,
) -> String {
    let configurations: Vec<&String> = configurations.collect();
    let mut names: Vec<String> = configurations
        .iter()
        .take(LIST_LENGTH_MAX)
        .map(|configuration| label(comparison, configuration))
        .collect();
    if configurations.len() > LIST_LENGTH_MAX {
        names.push(format!("and {} more", configurations.len() - LIST_LENGTH_MAX));
    }
    let own = configurations.iter().filter(|configuration| ***configuration != comparison.baseline);
    let scores: Vec<&Score> = own.filter_map(|configuration| kind.score(configuration)).collect();
    let text = |score: &&Score| format!("{}×", numbers::ratio(score.ratio, score.interval));
    let lowest = scores.iter().min_by(|left, right| left.ratio.total_cmp(&right.ratio)).map(text);
    let highest = scores.iter().max_by(|left, right| left.ratio.total_cmp(&right.ratio)).map(text);
    match (lowest, highest) {
        (Some(lowest), Some(highest)) if lowest == highest => {
            format!("{} ({lowest})", names.join(", "))
        }
        (Some(lowest), Some(highest)) => format!("{} ({lowest} to {highest})", names.join(", ")),
        _ => names.join(", "),
    }
}

/// Which configurations are good for every kind of access; `None` when there is only one kind, or
/// nothing can be told.
pub(crate) fn for_all(comparison: &Comparison) -> Option<String> {
    if comparison.kinds.len() < 2 || comparison.kinds.iter().any(|kind| kind.best_set.is_empty()) {
        return None;
    }
    let names: Vec<String> = comparison
        .good_for_all
        .iter()
        .take(LIST_LENGTH_MAX)
        .map(|configuration| label(comparison, configuration))
        .collect();
    Some(match names.len() {
        0 => "No configuration is among the best for every kind of work.".into(),
        _ => format!("Among the best for every kind of work: {}.", names.join(", ")),
    })
}

/// What the run was, in a few words each: configurations, workloads, blocks, trials, beginning.
pub(crate) fn scope(run: &Run, analysis: &Analysis) -> [String; 5] {
    let plan = &run.plan;
    let count =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let trials = if analysis.trials_finished == analysis.trials_planned {
        count(analysis.trials_finished, "trial")
    } else {
        format!("{} of {} trials", analysis.trials_finished, analysis.trials_planned)
    };
    [
        count(plan.configurations.len(), "configuration"),
        count(plan.workloads.len(), "workload"),
        count(plan.blocks as usize, "block"),
        trials,
        moment(&run.host.started),
    ]
}

/// `2026-11-21 07:40 UTC` for `2026-11-21T07:40:00Z`; any other text as it is.
fn moment(started: &str) -> String {
    let minutes = started
        .split_once('T')
        .and_then(|(day, time)| Some((day, time.strip_suffix('Z')?.get(..5)?)));
    minutes.map_or_else(|| started.to_string(), |(day, time)| format!("{day} {time} UTC"))
}

/// A warning in words: what, and what follows from it.
pub(crate) fn warning(analysis: &Analysis, warning: &Warning) -> String {
    let trials =
        |count: usize| if count == 1 { "1 trial".to_string() } else { format!("{count} trials") };
    let place = |name: &str| {
        let found = analysis.comparisons.iter().find(|comparison| comparison.name == name);
        found.map_or_else(|| name.to_string(), comparison_title)
    };
    match warning {
        Warning::Note { text } => text.clone(),
        Warning::Incomplete { finished, planned } => {
            format!(
                "Incomplete: {finished} of {planned} trials are finished. Blocks that lack a \
                workload or the baseline do not count."
            )
        }
        Warning::Unknown { trials: count } => {
            format!("{} of no cell of the plan left out.", trials(*count))
        }
        Warning::Repeated { trials: count } => {
            format!("{} replaced by a later trial of the same cell and block.", trials(*count))
        }
        Warning::FewBlocks { comparison, blocks } => {
            let advice = if *blocks < PAIRS_MIN {
                "no intervals and no verdicts"
            } else {
                "intervals lean on the noise being normal"
            };
            format!(
                "Few trials, {}: at most {blocks} blocks a cell, so {advice}; from 6 blocks on \
                they are exact.",
                place(comparison)
            )
        }
        Warning::Drifted { comparison, change } => {
            let direction = if *change > 0.0 { "faster" } else { "slower" };
            format!(
                "Figures drifted to {} {direction} over the run ({}); comparing within blocks \
                removes it from the ratios.",
                numbers::percent(change.abs()),
                place(comparison)
            )
        }
        Warning::Flagged { text, trials: count, cells } => {
            let cells = if *cells == 1 { "1 cell".to_string() } else { format!("{cells} cells") };
            match text.strip_prefix("not measured: ") {
                Some(reason) => format!(
                    "{} in {cells} not measured: {}.",
                    trials(*count),
                    reason.trim_end_matches('.')
                ),
                None => format!("{} in {cells}, kept and marked: {text}.", trials(*count)),
            }
        }
        Warning::NoRatio { trials: count } => {
            format!("{} without a figure above zero, left out of the comparisons.", trials(*count))
        }
        Warning::Outliers { trials: count } => {
            format!(
                "{} far off the rest of the same cell (10 median deviations or more), kept.",
                trials(*count)
            )
        }
    }
}

/// How the figures were made, a paragraph each.
pub(crate) fn method(analysis: &Analysis) -> Vec<String> {
    let margin = numbers::percent(analysis.margin);
    vec![
        "A block is every configuration with every workload once, in a fresh random order. Each \
        figure is compared with the baseline's \
         of the same block, as a ratio, so what the machine did meanwhile cancels out."
            .into(),
        "The ratio is the Hodges-Lehmann estimate of the paired log ratios, its interval the exact \
        signed-rank one of 95 % (6 blocks or \
         more), or Student's t (3 to 5 blocks, marked \"few trials\"). Medians carry \
         order-statistic intervals."
            .into(),
        format!(
            "Verdicts go by the interval of the ratio: faster or slower beyond {margin}, same \
            within {margin}, slightly faster or slower \
             when only the sign is sure, undecided otherwise. p-values are exact Wilcoxon ones, \
             adjusted by Holm over the cells of a \
             workload; with few blocks they cannot get small, so the words do not rest on them."
        ),
        "The score of a kind of work is the weighted geometric mean of its workloads' ratios, \
        taken block by block. The best set holds \
         the leader and all that a one-sided paired t test at 5 % / (configurations - 1) cannot \
         tell from it, or that lie within the \
         margin of it. A difference is called sure when it also holds with all configurations \
         looked at together (Bonferroni)."
            .into(),
        "The baseline is recommended whenever it is in the best set; otherwise the leader is.".into(),
    ]
}
