//! What is left of the work's speed on the layout that was taken: with a drive missing, with its
//! write-intent bitmap, and beside a rebuild. Each is run on the models beside the layout whole,
//! always on the array alone: a file system is on neither side of these ratios.
//!
//! ```text
//!   resync, whole        the layout without its bitmap
//!   resync, degraded     a drive has died
//!   bitmap, whole        each write to a region that none has gone to of late marks it first
//!   resync, rebuilding   a drive has died, and an empty one is in its place
//! ```

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use host::Error;
use results::Run;
use results::analysis::analyse;
use results::choice::Choice;
use toml::Value;

use super::answer::of_all_work;
use super::candidates::{Candidates, Shape};
use super::plan_text::set_name;
use super::question::Question;
use super::scratch_run::passing_run;
use crate::cell::names::{CONSISTENCY, STATE};
use crate::plan::ResolvedPlan;

/// Consistency policy and state of the layout whole, with a drive missing, with its bitmap, and
/// while a drive is rebuilt.
const WHOLE: [&str; 2] = ["resync", "whole"];
const DEGRADED: [&str; 2] = ["resync", "degraded"];
const WITH_BITMAP: [&str; 2] = ["bitmap", "whole"];
const REBUILDING: [&str; 2] = ["resync", "rebuilding"];

/// A rebuild beside work goes by the second, which is longer than drives of flash are run for.
const OF_FLASH: [(&str, &str); 2] = [("time", "1s"), ("ramp", "200ms")];
/// Of a recording so many requests, which take disks minutes.
const REQUESTS: u64 = 50_000;

impl Question {
    /// Adds to an answer what the work comes to with a drive missing, beside a rebuild and with the
    /// write-intent bitmap. Nothing where nothing is redundant, of drives that are measured, and of
    /// a command, which needs a file system; of a bitmap on flash nothing, for the moments that
    /// models run are over before all regions were written to once.
    ///
    /// # Errors
    /// As [`Question::plan`], and what a run of it could not do.
    pub fn add_upkeep_cost(&self, choice: &mut Choice, stop: &AtomicBool) -> Result<(), Error> {
        if !self.drives.are_modelled() || self.work.is_command() || choice.pick.survives == 0 {
            return Ok(());
        }
        let Some((shape, chunk_bytes)) = self.shape_of(&choice.pick)? else { return Ok(()) };
        let plan = self.for_seconds().upkeep_plan((shape, chunk_bytes))?;
        let run = passing_run(&plan, stop)?;
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let analysis = analyse(&run);
        let Ok((_, overall)) = of_all_work(&analysis) else { return Ok(()) };
        // How fast all of the work is then, beside the layout whole.
        let ratio = |state| Some(overall.score(&configuration(&run, state)?.id)?.ratio);
        choice.degraded = ratio(DEGRADED);
        choice.bitmap_ratio = ratio(WITH_BITMAP);
        if let Some(rebuild) = &mut choice.rebuild {
            rebuild.work_ratio = ratio(REBUILDING);
        }
        Ok(())
    }

    /// The same on the array alone, with work that lasts as long as this takes, whatever its
    /// profile says: before its first requests a rebuild has the drives to itself.
    fn for_seconds(&self) -> Question {
        let mut longer = Question { file_system_is_run: false, ..self.clone() };
        let is_load = |workload: &&mut toml::Table| {
            workload.get("suite").is_none_or(|suite| suite.as_str() == Some("load"))
        };
        for workload in longer.work.workloads.iter_mut().filter(is_load) {
            // Of a file.
            workload.remove("size");
            for (key, time) in OF_FLASH {
                // Without them disks have the time that models of disks are run for.
                workload.remove(key);
                if !self.drives.any_rotates() {
                    workload.insert(key.to_owned(), Value::String(time.to_owned()));
                }
            }
        }
        longer
    }

    fn upkeep_plan(&self, taken: (Shape, Option<u64>)) -> Result<ResolvedPlan, Error> {
        let question = format!("What do its bitmap and a rebuild cost {}?", self.work.title);
        let mut text = self.heading("upkeep", &question);
        let name = set_name(self, taken.0);
        let _ = writeln!(text, "\n[members.{name}]\n{}", self.members(taken.0.members));
        let of_flash = !self.drives.any_rotates();
        let states = [WHOLE, DEGRADED, WITH_BITMAP, REBUILDING];
        for state in states.into_iter().filter(|state| !of_flash || *state != WITH_BITMAP) {
            self.put_layout(&mut text, "[[add]]", &name, taken);
            put_state(&mut text, state);
        }
        text.push_str("\n[baseline]\n");
        put_state(&mut text, WHOLE);
        let candidates = Candidates { kept: vec![taken.0], removed: Vec::new() };
        let share = self.share_of(REQUESTS).map(|percent| ("share", percent));
        self.put_workloads(&mut text, &candidates, share.as_slice());
        text.push_str("\n[trials]\nblocks = 1\nseed = 42\n\n[report]\nmargin = \"3%\"\n");
        crate::plan::resolve("the plan of upkeep", &text, &[])
    }
}

fn put_state(text: &mut String, [consistency, state]: [&str; 2]) {
    let _ = write!(text, "{CONSISTENCY} = \"{consistency}\"\n{STATE} = \"{state}\"\n");
}

/// The configuration that is so.
fn configuration<'a>(
    run: &'a Run,
    [consistency, state]: [&str; 2],
) -> Option<&'a results::Configuration> {
    let is = |one: &results::Configuration, axis: &str, value: &str| {
        one.settings.get(axis).is_some_and(|own| own == value)
    };
    let is_it =
        |one: &&results::Configuration| is(one, CONSISTENCY, consistency) && is(one, STATE, state);
    run.plan.configurations.iter().find(is_it)
}
