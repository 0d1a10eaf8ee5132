//! What of a large run its page holds: a page that nobody can load answers nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use results::Settings;
use results::analysis::{Analysis, Comparison};
use results::types::Run;

/// Most configurations that a page shows, over all comparisons.
const SHOWN_MAX: usize = 256;

/// A run and its analysis with the configurations that a page shows.
pub(super) struct Excerpt {
    pub(super) run: Run,
    pub(super) analysis: Analysis,
    /// How many configurations there are in all.
    pub(super) all: usize,
}

impl Excerpt {
    /// That of a run with more configurations than a page shows; none of a smaller one.
    pub(super) fn of(run: &Run, analysis: &Analysis) -> Option<Self> {
        let all: usize = analysis.comparisons.iter().map(|one| one.configurations.len()).sum();
        if all <= SHOWN_MAX {
            return None;
        }
        // Each comparison has its share, and no fewer than a baseline and one other.
        let share = (SHOWN_MAX / analysis.comparisons.len().max(1)).max(2);
        let mut analysis = analysis.clone();
        analysis.comparisons.iter_mut().for_each(|comparison| keep_best(comparison, share));
        let kept: BTreeSet<&str> = analysis
            .comparisons
            .iter()
            .flat_map(|comparison| &comparison.configurations)
            .map(|member| member.id.as_str())
            .collect();
        let mut plan = run.plan.clone();
        plan.configurations.retain(|known| kept.contains(known.id.as_str()));
        let settings: HashSet<Settings> =
            plan.configurations.iter().map(|known| known.settings.clone().into()).collect();
        let trials = run.trials.iter().filter(|trial| settings.contains(&trial.settings));
        let trials = trials.cloned().collect();
        let (host, notes, steps) = (run.host.clone(), run.notes.clone(), run.steps.clone());
        let run = Run { plan, host, trials, notes, steps };
        Some(Self { run, analysis, all })
    }
}

/// Leaves a comparison so many configurations: the baseline, what is taken or tied with it, and
/// those with the highest scores.
fn keep_best(comparison: &mut Comparison, share: usize) {
    let mut ranks: BTreeMap<&str, f64> = BTreeMap::new();
    for score in comparison.overall().into_iter().flat_map(|kind| &kind.scores) {
        ranks.insert(&score.configuration, score.ratio);
    }
    for kind in comparison.results() {
        let headline = &kind.headline;
        let tied = headline.tie.iter().flat_map(|tie| &tie.configurations);
        for id in headline.take.iter().chain(&kind.leader).chain(tied) {
            ranks.insert(id, f64::INFINITY);
        }
    }
    ranks.insert(&comparison.baseline, f64::INFINITY);
    let mut ids: Vec<&str> = comparison.configurations.iter().map(|one| one.id.as_str()).collect();
    let rank = |id: &str| ranks.get(id).copied().unwrap_or(f64::NEG_INFINITY);
    // The sort is stable: of equal ones the plan's order decides.
    ids.sort_by(|one, other| rank(other).total_cmp(&rank(one)));
    let kept: BTreeSet<String> = ids.into_iter().take(share).map(str::to_owned).collect();
    comparison.configurations.retain(|member| kept.contains(&member.id));
    comparison.cells.retain(|cell| kept.contains(&cell.configuration));
    for kind in comparison.kinds.iter_mut().chain(&mut comparison.whole) {
        kind.scores.retain(|score| kept.contains(&score.configuration));
        kind.best_set.retain(|id| kept.contains(id));
    }
}
