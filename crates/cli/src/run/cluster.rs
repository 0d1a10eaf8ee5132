//! `run --on`: a run that a cluster measures.

use std::path::Path;

use lab::slurm::{self, Job};
use serde_json::json;

use super::arguments::RunArguments;
use crate::catalogue::say;
use crate::failure::{Failure, this_program};
use crate::output::Output;
use crate::plan;

/// Submits a run to Slurm, or what is left of one.
pub(super) fn submit(output: &Output, arguments: &RunArguments) -> Result<(), Failure> {
    let cluster = &arguments.cluster;
    if let Some(folder) = &arguments.resume {
        let (job, numbers) = slurm::resubmit(folder)?;
        return submitted(output, folder, &job, numbers.len());
    }
    let set = arguments.settings();
    let (origin, text) = match &arguments.plan {
        Some(path) => lab::plan::read(path)?,
        None => ("--command".to_owned(), arguments.line.plan().text()?),
    };
    let resolved = lab::plan::resolve(&origin, &text, &set)?;
    let outline = lab::plan::outline(&resolved.plan)?;
    output.progress(&format!("{}: {}", resolved.plan.name, plan::sentence(&outline)));
    let program = this_program()?;
    let (folder, job) = slurm::submit(&slurm::SlurmRequest {
        text: &text,
        settings: &set,
        resolved: &resolved,
        program: &program,
        flags: &arguments.consent.flags(),
        output: arguments.output.as_deref(),
        partition: cluster.partition.as_deref(),
        nodes: cluster.nodes,
        shards: cluster.shards,
    })?;
    submitted(output, &folder, &job, job.shards as usize)
}

/// Says what was submitted, and what to do with it.
fn submitted(output: &Output, folder: &Path, job: &Job, tasks: usize) -> Result<(), Failure> {
    let number = job.jobs.last().map_or("", String::as_str);
    if output.json {
        return output.document(&json!({
            "run": folder, "job": number, "shards": job.shards, "submitted": tasks,
            "trials": job.trials
        }));
    }
    let shown = folder.display();
    let what = if tasks == job.shards as usize {
        say!(ALL_SHARDS, count = tasks)
    } else {
        say!(SOME_SHARDS, count = tasks, all = job.shards)
    };
    output.result(&say!(
        JOB_SUBMITTED,
        number = number,
        shards = what,
        trials = job.trials,
        folder = shown
    ))
}
