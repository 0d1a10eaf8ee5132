//! From a run to its answer: what to take, what stands beside it, what is not known.
//!
//! ```text
//!   run ── analyse ──> scores against one drive ──> the fastest, and all that are as fast within the margin
//!                                                        │ more space, more drives that may die, the simpler, md's chunk
//!                                                      pick
//!   run with the pick as baseline ── analyse ──> claims ─┴──> rivals, chunks that are the same
//! ```

use std::cmp::Reverse;

use array::sync::Limits;
use host::Error;
use results::analysis::{Analysis, Comparison, KindResult, MODEL_CASES_MIN, Reservation, analyse};
use results::choice::{
    Choice, Condition, Contrast, Figures, Layout, Rebuild, RemovedLayout, Rival, WorkloadRatio,
};
use results::claim::Claim;
use results::{Configuration, ModelError, Run};
use words::statement;

use super::candidates::Shape;
use super::layout::{ChosenLayout, Member};
use super::plan_text::set_name;
use super::power_cuts::power_cuts;
use super::question::Question;
use crate::catalogue;

/// What the kernel's array is called in an answer's commands, as `choose --do` calls it.
const MD_DEVICE: &str = "/dev/md/tank";
/// What is as fast as the fastest, within this share, is as good: half of that is chance.
pub(super) const AS_FAST: f64 = 0.03;
/// The best of so many other schemes are told.
const RIVALS_MAX: usize = 3;
/// Taken as the share of drives that die in a year: what fleets of hard disks have reported for
/// years lies between 1 and 2 %.
const ANNUAL_FAILURE_RATE: f64 = 0.015;
const YEAR_SECONDS: f64 = 365.25 * 86_400.0;

/// A configuration of the run that may be taken.
struct Entry<'a> {
    shape: Shape,
    chunk_bytes: Option<u64>,
    configuration: &'a Configuration,
    score: f64,
}

impl Question {
    pub(super) fn figures(&self) -> Figures {
        let has_own = self.drives.all.iter().any(|one| matches!(one.member, Member::Path(_)));
        match (self.drives.are_modelled(), self.drives.are_made()) {
            (true, _) if has_own => Figures::StandIns,
            (true, _) => Figures::Modelled,
            (false, true) => Figures::Files,
            (false, false) => Figures::Measured,
        }
    }

    /// What a run of its plan comes to: the answer, and the layout to make.
    ///
    /// # Errors
    /// When nothing can be compared, or nothing meets what was asked: which condition removed what.
    pub fn answer(&self, run: &Run) -> Result<(Choice, ChosenLayout), Error> {
        let candidates = self.candidates()?;
        let analysis = analyse(run);
        let overall = of_all_work(&analysis)?.1;
        let mut removed = candidates.removed.clone();
        removed.extend(self.raced.iter().cloned());
        let mut entries = Vec::new();
        for shape in &candidates.kept {
            for chunk_bytes in self.chunks(*shape) {
                let Some(configuration) = self.configuration(run, *shape, chunk_bytes) else {
                    continue;
                };
                let Some(score) = overall.score(&configuration.id) else { continue };
                if is_ruled_out(overall, &configuration.id) {
                    let layout = self.facts(*shape, chunk_bytes);
                    removed.push(RemovedLayout { layout, by: Condition::Latency });
                    continue;
                }
                let score = score.ratio;
                entries.push(Entry { shape: *shape, chunk_bytes, configuration, score });
            }
        }
        let Some(pick) = self.pick(&entries) else {
            return Err(match &self.p99 {
                Some(time) if removed.iter().any(|one| one.by == Condition::Latency) => {
                    let slow = removed.iter().filter(|one| one.by == Condition::Latency).count();
                    let count = entries.len() + slow;
                    Error::usage(statement!(catalogue::ALL_TOO_SLOW, time = time, count = count))
                }
                _ => Error::usage(catalogue::NO_LAYOUT_FIGURES),
            });
        };
        let beside = analyse(&against(run, &pick.configuration.id));
        let (comparison, versus) = of_all_work(&beside)?;
        let error = self.drives.are_modelled().then(|| model_error(pick.configuration)).flatten();
        let layout = self.layout(pick.shape, pick.chunk_bytes);
        let facts = self.facts(pick.shape, pick.chunk_bytes);
        let rivals = self.rivals(&entries, pick, comparison, versus, error);
        let choice = Choice {
            configuration: pick.configuration.id.clone(),
            figures: self.figures(),
            file_system_was_run: self.file_system_is_run,
            work_was_in_guests: self.is_in_guests(),
            bitmap_was_run: self.runs_bitmaps(),
            same_chunks: same_chunks(&entries, pick),
            rivals,
            model_error: error,
            ..self.choice_not_run(pick.shape, facts, &layout, removed)
        };
        Ok((choice, layout))
    }

    /// The answer where nothing can be run: of the layouts that are what was asked for, the one
    /// that is taken where all are as fast.
    ///
    /// # Errors
    /// When nothing meets what was asked: which condition removed what.
    pub fn answer_without_run(&self) -> Result<Choice, Error> {
        let candidates = self.candidates()?;
        let of_shape = |shape: &Shape| {
            let shape = *shape;
            self.chunks(shape).into_iter().map(move |chunk_bytes| (shape, chunk_bytes))
        };
        let all = candidates.kept.iter().flat_map(of_shape);
        let taken = all.max_by_key(|(shape, chunk_bytes)| self.preference(*shape, *chunk_bytes));
        let (shape, chunk_bytes) =
            taken.ok_or_else(|| Error::usage(catalogue::NO_LAYOUT_FIGURES))?;
        let layout = self.layout(shape, chunk_bytes);
        let facts = self.facts(shape, chunk_bytes);
        Ok(self.choice_not_run(shape, facts, &layout, candidates.removed))
    }

    /// What is known of a layout before anything is run.
    fn choice_not_run(
        &self,
        shape: Shape,
        facts: Layout,
        layout: &ChosenLayout,
        removed: Vec<RemovedLayout>,
    ) -> Choice {
        Choice {
            drives: self.drive_groups(),
            cost: self.cost(facts.drives + facts.spares),
            lost_drives: self.lost.iter().map(|path| path.display().to_string()).collect(),
            work: self.work.title.clone(),
            recorded_requests: self.work.recording.as_ref().map(|recording| recording.requests),
            survive: self.survive,
            figures: Figures::NotRun,
            configuration: String::new(),
            file_system: self.file_system.clone(),
            file_system_was_run: false,
            work_was_in_guests: false,
            bitmap_was_run: false,
            bitmap_ratio: None,
            same_chunks: None,
            rivals: Vec::new(),
            degraded: None,
            rebuild: self.rebuild(shape, &facts),
            power_cuts: power_cuts(layout, self.file_system.as_deref()),
            has_flash: self.drives.any_of_flash(),
            writes_are_modelled: self.drives.writes_are_modelled(),
            model_error: None,
            removed,
            command: layout.create_command("tank"),
            md_commands: match layout.file_member() {
                Some(_) => Vec::new(),
                None => layout.md_commands(facts.usable_bytes, MD_DEVICE, true),
            },
            pick: facts,
        }
    }

    /// The configuration of a shape and chunk in the run.
    pub(super) fn configuration<'a>(
        &self,
        run: &'a Run,
        shape: Shape,
        chunk_bytes: Option<u64>,
    ) -> Option<&'a Configuration> {
        self.configuration_of(run, set_name(self, shape), (shape, chunk_bytes))
    }

    /// The same over a set of members.
    pub(super) fn configuration_of<'a>(
        &self,
        run: &'a Run,
        members: String,
        (shape, chunk_bytes): (Shape, Option<u64>),
    ) -> Option<&'a Configuration> {
        let layout = self.layout(shape, chunk_bytes);
        let wanted = [
            ("members", Some(members)),
            ("level", Some(layout.level_name().to_owned())),
            ("layout", layout.md_layout()),
            ("chunk", chunk_bytes.map(block::size_text)),
        ];
        run.plan.configurations.iter().find(|one| {
            wanted.iter().all(|(axis, value)| one.settings.get(*axis) == value.as_ref())
        })
    }

    /// The fastest; of those as fast the one with the most space, then the one that survives the
    /// most, then the simplest, with md's own chunk.
    fn pick<'e, 'a>(&self, entries: &'e [Entry<'a>]) -> Option<&'e Entry<'a>> {
        let best = entries.iter().map(|entry| entry.score).fold(0.0, f64::max);
        let as_fast = entries.iter().filter(|entry| entry.score * (1.0 + AS_FAST) >= best);
        as_fast.max_by_key(|entry| self.preference(entry.shape, entry.chunk_bytes))
    }

    /// What is taken of layouts that are as fast is the greatest.
    pub(super) fn preference(&self, shape: Shape, chunk_bytes: Option<u64>) -> impl Ord + use<> {
        let facts = self.facts(shape, chunk_bytes);
        (
            facts.usable_bytes,
            facts.survives,
            Reverse(shape.scheme),
            chunk_bytes == Some(mdtools::CHUNK_BYTES),
            Reverse(chunk_bytes),
        )
    }

    /// The best of each other shape, fastest first.
    fn rivals(
        &self,
        entries: &[Entry<'_>],
        pick: &Entry<'_>,
        comparison: &Comparison,
        versus: &KindResult,
        error: Option<ModelError>,
    ) -> Vec<Rival> {
        let own = self.facts(pick.shape, None);
        let mut best: Vec<&Entry<'_>> = Vec::new();
        for entry in entries.iter().filter(|entry| entry.shape != pick.shape) {
            match best.iter_mut().find(|known| known.shape == entry.shape) {
                Some(known) if known.score >= entry.score => (),
                Some(known) => *known = entry,
                None => best.push(entry),
            }
        }
        best.sort_by(|one, other| other.score.total_cmp(&one.score));
        let rival = |entry: &&Entry<'_>| {
            let id = &entry.configuration.id;
            let claim = versus.score(id)?.versus_baseline.as_ref()?;
            let layout = self.facts(entry.shape, entry.chunk_bytes);
            // Of the two sides of a comparison the wider class counts, and the fewer cases.
            let both = error.and_then(|own| Some(own.and(model_error(entry.configuration)?)));
            Some(Rival {
                ratio: claim.gain(),
                interval: claim.gain_interval().map(Into::into),
                contrast: contrast(claim, self.figures(), both),
                model_error: both,
                drawn: None,
                extremes: extremes(comparison, id),
                more_bytes: difference(layout.usable_bytes, own.usable_bytes),
                layout,
            })
        };
        best.iter().filter_map(rival).take(RIVALS_MAX).collect()
    }

    fn rebuild(&self, shape: Shape, facts: &Layout) -> Option<Rebuild> {
        if shape.losses() == 0 {
            return None;
        }
        let members = &self.drives.all[..shape.members];
        // Of larger ones no more is used; a model that stands for a drive has a size of its own.
        let used_bytes = members.iter().map(|drive| drive.size_bytes).min()?;
        let seconds = members
            .iter()
            .map(|drive| {
                let facts = drive.facts()?;
                Some(facts.whole_seconds? * (used_bytes as f64 / facts.size_bytes as f64))
            })
            .collect::<Option<Vec<f64>>>()?;
        let limits = Limits::default();
        let at_rate = |rate: u64| used_bytes as f64 / rate as f64;
        let fastest = at_rate(limits.most_bytes_per_second);
        let idle_seconds = seconds.into_iter().fold(fastest, f64::max);
        let busy_seconds = at_rate(limits.least_bytes_per_second).max(idle_seconds);
        let loss_chance = |seconds: f64| {
            // One drive fails meanwhile with this chance.
            let one = ANNUAL_FAILURE_RATE * seconds / YEAR_SECONDS;
            let count = shape.members as f64;
            match shape.losses() {
                // Of a drive that died, so many others are in a pair with it that it does not
                // survive.
                1 => 2.0 * (facts.pairs.of - facts.pairs.count) as f64 / count * one,
                _ => (count - 1.0) * (count - 2.0) / 2.0 * one.powi(2),
            }
        };
        Some(Rebuild {
            idle_seconds,
            busy_seconds,
            loss_chance: loss_chance(idle_seconds),
            busy_loss_chance: loss_chance(busy_seconds),
            annual_failure_rate: ANNUAL_FAILURE_RATE,
            work_ratio: None,
        })
    }
}

/// What the only comparison of the run says of all work.
pub(super) fn of_all_work(analysis: &Analysis) -> Result<(&Comparison, &KindResult), Error> {
    let comparison = analysis.comparisons.first();
    comparison
        .and_then(|comparison| Some((comparison, comparison.overall()?)))
        .ok_or_else(|| Error::usage(catalogue::NO_CHOICE_FIGURES))
}

pub(super) fn is_ruled_out(overall: &KindResult, id: &str) -> bool {
    overall.headline.reservations.iter().any(
        |one| matches!(one, Reservation::RuledOut { configuration, .. } if configuration == id),
    )
}

/// The run with another baseline for all: claims are about it then.
fn against(run: &Run, baseline: &str) -> Run {
    let mut run = run.clone();
    for configuration in &mut run.plan.configurations {
        baseline.clone_into(&mut configuration.baseline);
    }
    run
}

fn difference(one: u64, other: u64) -> i64 {
    let gain = i64::try_from(one.abs_diff(other)).unwrap_or(i64::MAX);
    if one >= other { gain } else { -gain }
}

/// How far models of this layout were off in any of the work.
pub(super) fn model_error(configuration: &Configuration) -> Option<ModelError> {
    let errors = configuration.model_errors.as_ref()?;
    errors.workloads.values().copied().reduce(ModelError::and)
}

/// What is said of a rival. A model's difference is more than how far such models were off, or it
/// is not sure. Measured, claims are of one pair each, and the pick was made among all: the best of
/// several looks better in its own trials than it is.
pub(super) fn contrast(claim: &Claim, figures: Figures, error: Option<ModelError>) -> Contrast {
    let found = Contrast::of(claim.answer);
    let known = error.filter(|known| figures.are_modelled() && known.cases >= MODEL_CASES_MIN);
    let is_sure = known.is_some_and(|known| {
        let (ratio, reach) = (claim.gain(), 1.0 + known.error);
        ratio.max(1.0 / ratio) >= reach
    });
    match found {
        Contrast::Slower | Contrast::Faster if !is_sure => Contrast::Indicated,
        found => found,
    }
}

/// The workload where a configuration is furthest behind its baseline, and that where it does best,
/// if there are several.
fn extremes(comparison: &Comparison, id: &str) -> Vec<WorkloadRatio> {
    let own = comparison.cells.iter().filter(|cell| cell.configuration == id);
    let mut ratios: Vec<WorkloadRatio> = own
        .filter_map(|cell| {
            let claim = cell.metrics.first()?.versus_baseline.as_ref()?;
            let name = cell.workload.split_once(": ").map_or(&*cell.workload, |(name, _)| name);
            Some(WorkloadRatio {
                workload: name.to_owned(),
                ratio: claim.gain(),
                interval: claim.gain_interval().map(Into::into),
            })
        })
        .collect();
    ratios.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
    if ratios.len() > 2 {
        ratios.drain(1..ratios.len() - 1);
    }
    ratios
}

/// The chunks around the pick's that are as fast.
fn same_chunks(entries: &[Entry<'_>], pick: &Entry<'_>) -> Option<[u64; 2]> {
    let mut row: Vec<(u64, f64)> = entries
        .iter()
        .filter(|entry| entry.shape == pick.shape)
        .filter_map(|entry| Some((entry.chunk_bytes?, entry.score)))
        .collect();
    row.sort_by_key(|(chunk, _)| *chunk);
    let place = row.iter().position(|(chunk, _)| Some(*chunk) == pick.chunk_bytes)?;
    let is_same = |(_, score): &&(u64, f64)| (score / pick.score).ln().abs() <= AS_FAST.ln_1p();
    let below = row[..place].iter().rev().take_while(is_same).count();
    let above = row[place + 1..].iter().take_while(is_same).count();
    (below + above > 0).then(|| [row[place - below].0, row[place + above].0])
}

#[cfg(test)]
mod tests {
    use super::super::{Drives, Work};
    use super::*;
    use results::choice::Scheme;

    fn rebuild(model: &str) -> (u64, Rebuild) {
        let words = ["4", "x", model].map(str::to_owned);
        let question = Question {
            drives: Drives::read(&words, false).unwrap(),
            work: Work::read("files").unwrap(),
            survive: 1,
            capacity_bytes: None,
            p99: None,
            file_system: None,
            file_system_is_run: false,
            raced: Vec::new(),
            lost: Vec::new(),
        };
        let shape = Shape { scheme: Scheme::NearCopies, copies: 2, members: 4, spares: 0 };
        let facts = question.facts(shape, Some(mdtools::CHUNK_BYTES));
        (question.drives.all[0].size_bytes, question.rebuild(shape, &facts).unwrap())
    }

    /// A disk is filled as fast as it can be, an SSD no faster than rebuilds go by default; both
    /// give way to work down to the same rate.
    #[test]
    fn a_rebuild_goes_between_the_rates_that_md_has_by_default() {
        let (bytes, disk) = rebuild("wd-red-plus-8tb");
        assert!(disk.idle_seconds > bytes as f64 / 204.8e6, "{disk:?}");
        assert_eq!(disk.busy_seconds, bytes as f64 / 1.024e6);
        let (bytes, flash) = rebuild("samsung-870-evo-1tb");
        assert_eq!(flash.idle_seconds, bytes as f64 / 204.8e6);
        assert_eq!(flash.busy_seconds, flash.idle_seconds * 200.0);
        let chances = flash.busy_loss_chance / flash.loss_chance;
        assert!((chances - 200.0).abs() < 1e-6, "{chances}");
    }
}
