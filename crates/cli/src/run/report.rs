//! What is said of a run when it has ended.

use std::path::PathBuf;

use lab::{Outcome, Shard};
use results::Run;
use results::analysis::{Analysis, analyse};
use results::compare::against_baseline;
use serde_json::json;

use crate::catalogue::say;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::output::Output;
use crate::report_command;

/// A run whose report is written.
pub(crate) struct Report {
    pub(crate) folder: PathBuf,
    pub(crate) run: Run,
    pub(crate) analysis: Analysis,
    pub(crate) page: PathBuf,
}

impl Report {
    pub(crate) fn of(folder: PathBuf, run: Run) -> Result<Report, Failure> {
        let analysis = lab::configuration_start::with_starts(&folder, &run, analyse(&run));
        let page = report_command::write_files(&folder, &run, &analysis)?;
        Ok(Report { folder, run, analysis, page })
    }

    pub(crate) fn tell(&self, output: &Output, limits: &Limits<'_>) -> Result<(), Failure> {
        let Report { folder, run, analysis, page } = self;
        let changes = against_baseline(analysis);
        // A limit about nothing is said when the report is there.
        let verdict = limits.judge(&changes);
        if output.json {
            let mut document = json!({
                "run": folder,
                "report": page,
                "trials": run.trials.len(),
                "flagged": run.trials.iter().filter(|trial| !trial.flags.is_empty()).count(),
            });
            if let (false, Ok(verdict)) = (limits.is_empty(), &verdict) {
                let [passed, blind, unseen] = verdict.values();
                document["limits_passed"] = passed;
                document["limits_blind"] = blind;
                document["limits_unseen"] = unseen;
            }
            output.document(&document)?;
        } else {
            let page = say!(RUN_REPORT, path = page.display());
            report_command::terminal(output, run, analysis, false, Some(&page))?;
        }
        if limits.is_empty() || changes.cells.is_empty() {
            report_command::has_result(run, analysis)?;
        }
        if limits.is_empty() {
            return Ok(());
        }
        let verdict = verdict?;
        verdict.note().iter().for_each(|note| output.note(note));
        verdict.passed()?;
        // What limits ask is what was asked: a run without a headline may answer it.
        verdict.blind()
    }
}

/// Says that a part is there. What its trials say alone is not what the run will say.
pub(super) fn part(output: &Output, shard: Shard, outcome: &Outcome) -> Result<(), Failure> {
    let (folder, trials) = (outcome.folder.display(), outcome.run.trials.len());
    if output.json {
        let shard = shard.to_string();
        return output.document(&json!({
            "run": outcome.folder, "shard": shard, "trials": trials
        }));
    }
    output.result(&say!(SHARD_DONE, shard = shard, trials = trials, folder = folder))
}
