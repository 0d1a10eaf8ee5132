//! `raidloom run`: executes a plan and writes its report.

use std::path::Path;
use std::time::Duration;

use lab::{Ended, Observer, Progress, RunOptions, TimeLeft};
use results::analysis::analyse;
use results::{Plan, Trial};
use serde_json::json;

use crate::arguments::RunArguments;
use crate::failure::Failure;
use crate::output::{Output, figure};
use crate::progress::{Line, duration};
use crate::{array_command, plan, report_command, signals};

/// Executes or resumes a run.
pub(crate) fn run(output: &Output, arguments: RunArguments) -> Result<(), Failure> {
    let stop = signals::stop_flag()?;
    let options = RunOptions {
        output: arguments.output,
        consent: arguments.consent.into(),
        allow_change: arguments.allow_change,
        serve_with: Some(array_command::serve_with()?),
    };
    let mut watch = Watch { output, line: Line::new(output), trials: 0 };
    let outcome = match (&arguments.plan, &arguments.resume) {
        (_, Some(folder)) => lab::resume(folder, &options, &stop, &mut watch),
        (Some(path), None) => lab::plan::load(path, &arguments.set).and_then(|resolved| {
            output.progress(&format!(
                "{}: {}",
                resolved.plan.name,
                plan::sentence(&lab::plan::outline(&resolved.plan)?)
            ));
            lab::start(&resolved, &options, &stop, &mut watch)
        }),
        (None, None) => return Err(Failure::usage("name a plan file, or a run with --resume")),
    };
    watch.line.clear();
    let outcome = outcome?;

    let analysis = lab::alone::with_starts(&outcome.folder, &outcome.run, analyse(&outcome.run));
    let page = report_command::write_files(&outcome.folder, &outcome.run, &analysis)?;
    if outcome.ended == Ended::Interrupted {
        return Err(Failure::interrupted(format!(
            "interrupted after {} trials; nothing measured is lost. To go on:\n  raidloom run \
            --resume {}",
            outcome.run.trials.len(),
            outcome.folder.display()
        )));
    }
    if output.json {
        output.document(&json!({
            "run": outcome.folder,
            "report": page,
            "trials": outcome.run.trials.len(),
            "flagged": outcome.run.trials.iter().filter(|trial| !trial.flags.is_empty()).count(),
        }))?;
        return report_command::has_result(&analysis);
    }
    report_command::terminal(output, &outcome.run, &analysis)?;
    output.result(&format!("report: {}", page.display()))?;
    report_command::has_result(&analysis)
}

/// Shows how far the run is: one line drawn over on a terminal, one line a visit elsewhere.
struct Watch<'a> {
    output: &'a Output,
    line: Line,
    trials: usize,
}

fn left(left: TimeLeft) -> String {
    let (low, high) = (duration(left.low), duration(left.high));
    let range = if low == high { low } else { format!("{low} to {high}") };
    if left.rough { format!("about {range} (rough)") } else { range }
}

fn label(plan: &Plan, progress: &Progress<'_>) -> String {
    let settings = &progress.configuration.settings;
    plan.axes
        .iter()
        .filter_map(|axis| settings.get(&axis.name))
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" ")
}

impl Observer for Watch<'_> {
    fn begun(&mut self, folder: &Path, plan: &Plan, finished: usize, time_left: TimeLeft) {
        self.trials = plan.configurations.len() * plan.workloads.len() * plan.blocks as usize;
        let done = if finished > 0 {
            format!(", {finished} of {} trials there already", self.trials)
        } else {
            String::new()
        };
        self.output.progress(&format!(
            "run: {}{done}; time left: {}",
            folder.display(),
            left(time_left)
        ));
    }

    fn trial_begun(&mut self, plan: &Plan, progress: &Progress<'_>) {
        let text = format!(
            "block {}/{}  {}  {}  trial {} of {}  left {}",
            progress.block,
            plan.blocks,
            label(plan, progress),
            progress.workload,
            progress.finished + 1,
            self.trials,
            left(progress.left)
        );
        if self.output.animates() {
            self.line.show(&text);
        }
    }

    fn trial_recorded(&mut self, plan: &Plan, progress: &Progress<'_>, trial: &Trial) {
        if self.output.animates() {
            return;
        }
        // One plain line for each visit's last trial: a log, not a flood.
        let Some(last) = plan.workloads.last() else { return };
        if last.name == progress.workload {
            let rate = trial
                .metrics
                .get("throughput_bytes_per_second")
                .map_or(String::new(), |rate| format!(" {} MB/s", figure(rate / 1e6)));
            self.output.progress(&format!(
                "block {}/{}  {:<24} trial {} of {}  {}{rate}  elapsed {}  left {}",
                progress.block,
                plan.blocks,
                label(plan, progress),
                progress.finished,
                self.trials,
                progress.workload,
                duration(progress.elapsed.max(Duration::from_secs(1))),
                left(progress.left)
            ));
        }
    }

    fn note(&mut self, text: &str) {
        self.line.clear();
        self.output.note(text);
    }
}
