//! A cache in memory before the layout that was taken: replayed on the models beside the layout
//! alone, so that what it gains is a claim as any other.
//!
//! The cache is empty at first. Memory takes a stated time for each request; what it holds is not
//! kept, and modelled drives keep nothing either, so that nothing is written before the replay and
//! the cache begins cold.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use host::Error;
use results::Run;
use results::analysis::analyse;
use results::choice::{CacheWrites, CachedPick, Layout};

use super::answer::{contrast, is_ruled_out, model_error, of_all_work};
use super::candidates::{Candidates, Shape};
use super::plan_text::{list, quoted, set_name};
use super::question::Question;
use super::scratch_run::passing_run;
use crate::plan::ResolvedPlan;

/// What a request to memory takes, and what is copied in a second. A hit of 4 KiB takes 2 us by
/// it: `cargo xtask bench` measures 0.3 (docs/benchmarks.md, Caches), so that a cache is not
/// praised for the speed of this machine.
const MEMORY_TIME: &str = "latency=1us&rate=4GiB";
/// The layout alone.
const NO_CACHE: &str = "none";

impl Question {
    /// What was taken, with a cache of so many bytes of memory before it, beside itself alone: the
    /// whole recording, on the models. Nothing for other work, and for drives that are measured.
    ///
    /// # Errors
    /// As [`Question::race`], and memory that this machine does not have.
    pub fn cached(
        &self,
        pick: &Layout,
        size_bytes: u64,
        modes: &[CacheWrites],
        stop: &AtomicBool,
    ) -> Result<Vec<CachedPick>, Error> {
        if self.work.recording.is_none() || !self.drives.are_modelled() {
            return Ok(Vec::new());
        }
        let Some((shape, chunk_bytes)) = self.shape_of(pick)? else { return Ok(Vec::new()) };
        let run = passing_run(&self.cached_plan((shape, chunk_bytes), size_bytes, modes)?, stop)?;
        Ok(self.cached_picks(&run, size_bytes, modes))
    }

    /// The candidate that a layout is.
    pub(super) fn shape_of(&self, pick: &Layout) -> Result<Option<(Shape, Option<u64>)>, Error> {
        let kept = self.candidates()?.kept;
        let all = kept.into_iter().flat_map(|shape| {
            self.chunks(shape).into_iter().map(move |chunk_bytes| (shape, chunk_bytes))
        });
        Ok(all.into_iter().find(|(shape, chunk_bytes)| self.facts(*shape, *chunk_bytes) == *pick))
    }

    fn cached_plan(
        &self,
        (shape, chunk_bytes): (Shape, Option<u64>),
        size_bytes: u64,
        modes: &[CacheWrites],
    ) -> Result<ResolvedPlan, Error> {
        let size = block::size_text(size_bytes);
        let question = format!("Does {size} of memory help {}?", self.work.title);
        let mut text = self.heading("cache", &question);
        text.push_str("\n[caches]\n");
        for mode in modes {
            let stack = format!("cache(mode={mode}, ram:{size}?{MEMORY_TIME}, {{device}})");
            let _ = writeln!(text, "{mode} = {}", quoted(&stack));
        }
        let (name, members) = (set_name(self, shape), self.members(shape.members));
        let _ = writeln!(text, "\n[members.{name}]\n{members}");
        self.put_layout(&mut text, "[[add]]", &name, (shape, chunk_bytes));
        let names =
            std::iter::once(NO_CACHE.to_owned()).chain(modes.iter().map(CacheWrites::to_string));
        let _ = writeln!(text, "cache = {}\n\n[baseline]\ncache = \"{NO_CACHE}\"", list(names));
        let candidates = Candidates { kept: vec![shape], removed: Vec::new() };
        self.put_workloads(&mut text, &candidates, &[]);
        self.put_trials(&mut text);
        crate::plan::resolve("the plan of the cache", &text, &[])
    }

    fn cached_picks(&self, run: &Run, size_bytes: u64, modes: &[CacheWrites]) -> Vec<CachedPick> {
        let analysis = analyse(run);
        let Ok((_, overall)) = of_all_work(&analysis) else { return Vec::new() };
        let pick = |mode: &CacheWrites| {
            let name = mode.to_string();
            let is_it = |one: &&results::Configuration| one.settings.get("cache") == Some(&name);
            let configuration = run.plan.configurations.iter().find(is_it)?;
            let claim = overall.score(&configuration.id)?.versus_baseline.as_ref()?;
            Some(CachedPick {
                mode: *mode,
                size_bytes,
                ratio: claim.gain(),
                interval: claim.gain_interval().map(Into::into),
                contrast: contrast(claim, self.figures(), model_error(configuration)),
                is_too_late: is_ruled_out(overall, &configuration.id),
            })
        };
        modes.iter().filter_map(pick).collect()
    }
}
