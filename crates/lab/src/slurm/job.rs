//! An array job of Slurm: what a run's folder tells of it, and what Slurm does.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output};

use export::tool;
use host::{Error, files};
use serde::{Deserialize, Serialize};

use crate::catalogue;
use crate::run;
use crate::run_status::Stage;
use words::statement;

/// What was submitted.
const JOB: &str = "job.json";

/// An array job, as its folder tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Slurm's numbers, the latest last: what was interrupted is submitted again.
    pub jobs: Vec<String>,
    /// What the plan is called.
    pub name: String,
    /// When it was submitted, in RFC 3339.
    pub submitted: String,
    /// Into how many shards the run is cut.
    pub shards: u32,
    /// How many trials it has.
    pub trials: usize,
    /// Whether a task has its node for itself: something is measured.
    pub exclusive: bool,
    /// Slurm's partition; its default without it.
    #[serde(default)]
    pub partition: Option<String>,
    /// How many tasks there are at a time, at most.
    #[serde(default)]
    pub nodes: Option<u32>,
}

/// What a folder tells of its job; `None` where it is none of a job.
///
/// # Errors
/// Where it cannot be read.
pub(crate) fn read(folder: &Path) -> Result<Option<Job>, Error> {
    let path = folder.join(JOB);
    match run::read_file(folder, JOB) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map(Some).map_err(|error| run::damaged(&path, &error))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::from_io(path.display(), &error)),
    }
}

pub(crate) fn write(folder: &Path, job: &Job) -> Result<(), Error> {
    files::write_whole(&folder.join(JOB), &run::json(job))
}

/// What Slurm has in its queue of a job: by shard, whether it runs or waits.
///
/// # Errors
/// Where squeue is not there, or does not reach Slurm.
pub(crate) fn queue(job: &Job) -> Result<BTreeMap<u32, Stage>, Error> {
    let mut found = BTreeMap::new();
    for number in &job.jobs {
        let mut command = tool::command("squeue");
        command.args(["--noheader", "--array", "--format=%K %t", "--jobs", number]);
        let (name, output) = output_of(&mut command)?;
        // Some minutes after its end.
        if is_forgotten(&output) {
            continue;
        }
        found.extend(answer(&name, &output)?.lines().filter_map(task_in_queue));
    }
    Ok(found)
}

/// Whether squeue says that there is no such job. It has one exit status for all that it cannot
/// answer, and tells which in words alone; Slurm has them in no other language.
fn is_forgotten(output: &Output) -> bool {
    !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("Invalid job id")
}

/// A line of squeue: the number of a task and its state, as `man squeue` lists them.
fn task_in_queue(line: &str) -> Option<(u32, Stage)> {
    let (number, state) = line.trim().split_once(' ')?;
    let stage = match state.trim() {
        "PD" | "CF" | "RF" | "RH" | "RQ" | "RD" | "RS" | "RV" | "SE" => Stage::Waiting,
        _ => Stage::Running,
    };
    Some((number.parse().ok()?, stage))
}

/// What one of Slurm's commands prints.
pub(crate) fn ask(command: &mut Command) -> Result<String, Error> {
    let (name, output) = output_of(command)?;
    answer(&name, &output)
}

/// The name of one of them, and what came of it.
fn output_of(command: &mut Command) -> Result<(String, Output), Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::failed(statement!(catalogue::NO_SLURM, program = &name)),
        _ => Error::from_io(&name, &error),
    })?;
    Ok((name, output))
}

fn answer(name: &str, output: &Output) -> Result<String, Error> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let prefix = format!("{name}: ");
    let lines = said.lines().map(|line| {
        let line = line.trim();
        let line = line.strip_prefix(prefix.as_str()).unwrap_or(line);
        line.strip_prefix("error: ").or(line.strip_prefix("fatal: ")).unwrap_or(line)
    });
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    Err(Error::failed(match &lines[..] {
        [] => {
            let status = output.status.to_string();
            statement!(catalogue::SCHEDULER_ENDED_WITH, name = name, status = status)
        }
        lines => format!("{name}: {}", lines.join("; ")).into(),
    }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn a_line_of_the_queue_is_a_task_and_how_it_stands() {
        assert_eq!(task_in_queue("3 R"), Some((3, Stage::Running)));
        assert_eq!(task_in_queue(" 12 PD"), Some((12, Stage::Waiting)));
        assert_eq!(task_in_queue("8 CG"), Some((8, Stage::Running)));
        assert_eq!(task_in_queue("N/A R"), None);
        assert_eq!(task_in_queue(""), None);
    }

    #[test]
    fn what_sbatch_says_is_one_line() {
        let of = |code: i32, stderr: &str| Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: b"12\n".to_vec(),
            stderr: stderr.into(),
        };
        assert_eq!(answer("sbatch", &of(0, "")).unwrap(), "12\n");
        let said = "sbatch: error: invalid partition specified: x\nsbatch: error: Batch job \
            submission failed: Invalid partition name specified\n";
        assert_eq!(
            answer("sbatch", &of(1, said)).unwrap_err().to_string(),
            "sbatch: invalid partition specified: x; Batch job submission failed: Invalid \
            partition name specified"
        );
        let forgotten = "slurm_load_jobs error: Invalid job id specified\n";
        assert!(is_forgotten(&of(1, forgotten)) && !is_forgotten(&of(1, said)));
        let silent = answer("sbatch", &of(3, "")).unwrap_err().to_string();
        assert_eq!(silent, "sbatch ended with exit status: 3");
    }
}
