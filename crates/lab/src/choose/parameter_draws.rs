//! What the parameters' own uncertainty makes of the answer: the pick and what is compared with it
//! are run once more with each of twenty sets of parameters, drawn from between what the models say
//! that they lie.
//!
//! The largest of twenty is their 95 % quantile as split conformal prediction takes it
//! (docs/models.md), so the widest of the sets counts, and comes on top of the error of the class.
//! Only the runner-up, and what would be called sure, is worth the time; and of a recording a part.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use host::Error;
use results::Run;
use results::analysis::analyse;
use results::choice::Choice;

use super::answer::of_all_work;
use super::candidates::{Candidates, Shape};
use super::plan_text::{list, set_name};
use super::question::{FEW_REQUESTS, Question};
use super::scratch_run::passing_run;
use crate::plan::ResolvedPlan;

/// Sets of parameters.
const SETS: u32 = 20;

/// A layout, and how the answer was told of it.
type Drawn = (Shape, Option<u64>);

impl Question {
    /// Draws sets of parameters for the pick and its rivals: what was sure and is not any more by
    /// more than they move it, and how often the runner-up is ahead. Nothing changes where no
    /// parameter of the drives' models has an interval, or the drives are measured.
    ///
    /// # Errors
    /// As [`Question::plan`], and what a run of it could not do.
    pub fn draw(&self, choice: &mut Choice, stop: &AtomicBool) -> Result<(), Error> {
        if !self.drives.are_modelled() || self.is_in_guests() || !self.drives.any_interval() {
            return Ok(());
        }
        let Some(pick) = self.shape_of(&choice.pick)? else { return Ok(()) };
        let mut drawn: Vec<(usize, Drawn)> = Vec::new();
        for (place, rival) in choice.rivals.iter().enumerate() {
            if place == 0 || rival.contrast.is_sure() {
                let shape = self.shape_of(&rival.layout)?;
                drawn.extend(shape.map(|shape| (place, shape)));
            }
        }
        if drawn.is_empty() {
            return Ok(());
        }
        let others: Vec<Drawn> = drawn.iter().map(|(_, other)| *other).collect();
        let run = passing_run(&self.drawn_plan(pick, &others)?, stop)?;
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let sets = self.ratios(&run, pick, &others);
        for (column, (place, _)) in drawn.into_iter().enumerate() {
            let ratios: Vec<f64> =
                sets.iter().filter_map(|set| set.get(column).copied()?).collect();
            choice.rivals[place].widen(&ratios);
        }
        Ok(())
    }

    /// Gains of others over the pick, with each set.
    fn ratios(&self, run: &Run, pick: Drawn, others: &[Drawn]) -> Vec<Vec<Option<f64>>> {
        let analysis = analyse(run);
        let Ok((_, overall)) = of_all_work(&analysis) else { return Vec::new() };
        let score = |set: u32, (shape, chunk_bytes): Drawn| {
            let members = drawn_name(self, shape, set);
            let found = self.configuration_of(run, members, (shape, chunk_bytes))?;
            Some(overall.score(&found.id)?.ratio)
        };
        let of_set = |set: u32| {
            let gain = |other: &Drawn| Some(score(set, *other)? / score(set, pick)?);
            others.iter().map(gain).collect()
        };
        (1..=SETS).map(of_set).collect()
    }

    /// The pick and the others with each of the sets, all against the pick with the first.
    fn drawn_plan(&self, pick: Drawn, others: &[Drawn]) -> Result<ResolvedPlan, Error> {
        let question = format!("How far do {SETS} sets of parameters move the answer?");
        let mut text = self.heading("draw", &question);
        let all = || std::iter::once(&pick).chain(others);
        let mut shapes: Vec<Shape> = Vec::new();
        for (shape, _) in all() {
            if shapes.iter().all(|known| known.members != shape.members) {
                shapes.push(*shape);
            }
        }
        for set in 1..=SETS {
            for shape in &shapes {
                let models = self.models_with(shape.members, &format!("draw={set}"));
                let name = drawn_name(self, *shape, set);
                let _ = writeln!(text, "\n[members.{name}]\nmodels = {}", list(models.into_iter()));
            }
        }
        for set in 1..=SETS {
            for drawn in all() {
                self.put_layout(&mut text, "[[add]]", &drawn_name(self, drawn.0, set), *drawn);
            }
        }
        self.put_layout(&mut text, "[baseline]", &drawn_name(self, pick.0, 1), pick);
        let kept = all().map(|(shape, _)| *shape).collect();
        let candidates = Candidates { kept, removed: Vec::new() };
        let share = self.share_of(FEW_REQUESTS).map(|percent| ("share", percent));
        self.put_workloads(&mut text, &candidates, share.as_slice());
        // A set is one draw already.
        text.push_str("\n[trials]\nblocks = 1\nseed = 42\n\n[report]\nmargin = \"3%\"\n");
        crate::plan::resolve("the plan of drawn parameters", &text, &[])
    }
}

/// The set of members of a shape whose parameters are those of a set.
fn drawn_name(question: &Question, shape: Shape, set: u32) -> String {
    format!("{}-set{set}", set_name(question, shape))
}
