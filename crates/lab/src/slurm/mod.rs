//! A run as one array job of Slurm: a task for each shard, on storage that all nodes see.
//!
//! ```text
//!   folder/  job.json     what was submitted, and as which job
//!            plan.toml    the plan file, for the tasks
//!            task.sh      what a task does: raidloom run --shard I/K, or --resume where it was begun
//!            log/         what each task said
//!            part1/ …     the shards, each a run
//!            left/        what was measured of a shard on a machine that it had to leave
//! ```

pub(crate) mod job;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use export::tool;
use host::{Error, facts, files};
use words::statement;

use crate::catalogue;
use crate::plan::ResolvedPlan;
use crate::run;
use crate::run_status::Stage;
use crate::shard::{self, Shard};
use crate::shard_set::ShardSet;
use job::{ask, read, write};

pub use job::Job;

const PLAN_TEXT: &str = "plan.toml";
const TASK: &str = "task.sh";
const LOG: &str = "log";
/// Into how many shards a run is cut where nothing is said.
const SHARDS: u32 = 8;

/// What is submitted, and how.
#[derive(Clone, Debug)]
pub struct SlurmRequest<'a> {
    /// The plan as it was read, which every task reads again.
    pub text: &'a str,
    /// The changes of it that were said (`-s`).
    pub settings: &'a [String],
    /// The same plan, resolved.
    pub resolved: &'a ResolvedPlan,
    /// This program, where nodes have it too.
    pub program: &'a Path,
    /// Flags that every task is given besides.
    pub flags: &'a [String],
    /// The folder, empty or not there; `raidloom-runs/TIME-NAME` without it.
    pub output: Option<&'a Path>,
    /// Slurm's partition; its default without it.
    pub partition: Option<&'a str>,
    /// How many tasks there are at a time, at most.
    pub nodes: Option<u32>,
    /// Into how many shards the run is cut.
    pub shards: Option<u32>,
}

/// Submits a run; returns its folder and what Slurm calls it.
///
/// # Errors
/// A usage error where the plan cannot be cut, or the folder is not empty; otherwise what sbatch
/// says. Nothing is left behind then.
pub fn submit(wanted: &SlurmRequest<'_>) -> Result<(PathBuf, Job), Error> {
    let plan = &wanted.resolved.plan;
    let is_measured = shard::is_measured(plan);
    let most = if is_measured { plan.blocks } else { u32::MAX };
    let shards = wanted.shards.unwrap_or_else(|| wanted.nodes.unwrap_or(SHARDS).clamp(1, most));
    if let Some(reason) = Shard::uncut(plan, shards) {
        return Err(Error::usage(statement!(
            catalogue::SHARDS_ON_SLURM,
            shards = shards,
            reason = reason
        )));
    }
    let folder = wanted.output.map_or_else(|| run::folder_by_default(&plan.name), Path::to_owned);
    let folder = host::files::absolute(&folder)?;
    if let Some(job) = read(&folder)? {
        return Err(Error::usage(statement!(
            catalogue::FOLDER_OF_JOB,
            folder = folder.display(),
            jobs = job.jobs.join(", ")
        )));
    }
    let was_there = folder.exists();
    run::make_folder(&folder)?;
    let mut job = Job {
        jobs: Vec::new(),
        name: plan.name.clone(),
        submitted: facts::now(),
        shards,
        trials: Shard::all(shards).map(|shard| shard.trials(plan)).sum(),
        exclusive: is_measured,
        partition: wanted.partition.map(str::to_owned),
        nodes: wanted.nodes,
    };
    let submitted = (|| {
        files::write_whole(&folder.join(PLAN_TEXT), wanted.text.as_bytes())?;
        files::write_whole(&folder.join(TASK), task(wanted, &folder, &job).as_bytes())?;
        let log = folder.join(LOG);
        fs::create_dir(&log).map_err(|error| Error::from_io(log.display(), &error))?;
        let numbers: Vec<u32> = (1..=shards).collect();
        job.jobs.push(sbatch(&job, &folder, &numbers)?);
        write(&folder, &job)
    })();
    if let Err(error) = submitted {
        // No task can be at work there: either there is no job, or it is told that there is one.
        if job.jobs.is_empty() {
            let _ = fs::remove_dir(folder.join(LOG));
            for name in [PLAN_TEXT, TASK] {
                let _ = fs::remove_file(folder.join(name));
            }
            if !was_there {
                let _ = fs::remove_dir(&folder);
            }
            return Err(error);
        }
        return Err(error.then(statement!(catalogue::SUBMITTED_AS, jobs = job.jobs.join(", "))));
    }
    Ok((folder, job))
}

/// Submits the shards of a job again that are not finished and that nothing is at work on; returns
/// which.
///
/// # Errors
/// A usage error where the folder is not that of a job, or nothing is left to do; otherwise what
/// squeue or sbatch says.
pub fn resubmit(folder: &Path) -> Result<(Job, Vec<u32>), Error> {
    let folder = host::files::absolute(folder)?;
    let shown = folder.display();
    let mut job = read(&folder)?
        .ok_or_else(|| Error::usage(statement!(catalogue::NO_FOLDER_OF_SLURM, shown = &shown)))?;
    let whole = ShardSet::read(&folder)?;
    let left: Vec<u32> = whole
        .iter()
        .flat_map(|whole| &whole.shards)
        .filter(|shard| shard.stage == Stage::Interrupted)
        .map(|shard| shard.shard.number())
        .collect();
    if left.is_empty() {
        return Err(Error::usage(statement!(catalogue::ALL_SHARDS_DONE, shown = shown)));
    }
    job.jobs.push(sbatch(&job, &folder, &left)?);
    write(&folder, &job)?;
    Ok((job, left))
}

/// What a task does, for sh.
fn task(wanted: &SlurmRequest<'_>, folder: &Path, job: &Job) -> String {
    let word = |path: &Path| escape::shell(&path.to_string_lossy());
    let words = |flags: &[String]| -> String {
        flags.iter().map(|flag| format!(" {}", escape::shell(flag))).collect()
    };
    let settings = wanted.settings.iter().flat_map(|setting| ["-s".to_owned(), setting.clone()]);
    let settings = words(&settings.collect::<Vec<_>>());
    let flags = words(wanted.flags);
    let (program, here) = (word(wanted.program), word(folder));
    let mut text = format!(
        "#!/bin/sh\n\
        # A shard of a run, as a task of an array job of Slurm (raidloom run --on slurm).\n\
        here={here}\n\
        part=$here/part$SLURM_ARRAY_TASK_ID\n"
    );
    if job.exclusive {
        text.push_str(
            "# A block of measured trials stays on one machine: on another one it begins anew.\n\
            if [ -e \"$part\" ] && [ \"$(cat \"$part.node\")\" != \"$SLURMD_NODENAME\" ]; then\n    \
            mkdir -p \"$here/left\"\n    \
            mv \"$part\" \"$here/left/part$SLURM_ARRAY_TASK_ID-job$SLURM_JOB_ID-$SLURM_RESTART_COUNT\"\n\
            fi\n\
            echo \"$SLURMD_NODENAME\" > \"$part.node\"\n",
        );
    }
    let _ = write!(
        text,
        "if [ -e \"$part/{}\" ]; then\n    \
        exec {program} run --resume \"$part\"{flags}\n\
        fi\n\
        exec {program} run \"$here/{PLAN_TEXT}\"{settings} --shard \"$SLURM_ARRAY_TASK_ID/{}\" \
        --output \"$part\"{flags}\n",
        run::PLAN,
        job.shards
    );
    text
}

/// Submits tasks of a job; returns Slurm's number.
fn sbatch(job: &Job, folder: &Path, numbers: &[u32]) -> Result<String, Error> {
    let throttle = job.nodes.map_or_else(String::new, |nodes| format!("%{nodes}"));
    // A percent sign of the path is none of sbatch's.
    let log = folder.join(LOG).to_string_lossy().replace('%', "%%");
    let mut command = tool::command("sbatch");
    command
        .arg("--parsable")
        .arg(format!("--array={}{throttle}", ranges(numbers)))
        .args(["--requeue", "--nodes=1", "--ntasks=1", "--open-mode=append"])
        .arg(format!("--job-name=raidloom {}", job.name))
        .arg(format!("--output={log}/%a.txt"));
    if job.exclusive {
        command.arg("--exclusive");
    }
    if let Some(partition) = &job.partition {
        command.arg(format!("--partition={partition}"));
    }
    let said = ask(command.arg(folder.join(TASK)))?;
    // `NUMBER`, or `NUMBER;CLUSTER`.
    let number = said.trim().split(';').next().unwrap_or_default();
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::failed(statement!(catalogue::SBATCH_SAID, said = said.trim())));
    }
    Ok(number.to_owned())
}

/// `1-3,5` for 1, 2, 3 and 5, which are in order.
fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let texts = runs.map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => unreachable!("a chunk holds something"),
    });
    texts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use std::process::Command;

    use super::*;

    #[test]
    fn shards_in_order_are_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 4]), "1-4");
        assert_eq!(ranges(&[2, 4, 5, 8]), "2,4-5,8");
        assert_eq!(ranges(&[7]), "7");
    }

    /// "Requeue after a node fails goes on like `--resume`"; what is compared stays on one machine.
    #[test]
    fn a_task_goes_on_where_it_was_and_begins_measured_blocks_anew_on_another_machine() {
        let place = tempfile::tempdir().unwrap();
        // What it would run says its arguments, and begins a run.
        let program = place.path().join("it's raidloom");
        fs::write(&program, "#!/bin/sh\necho \"$@\"\nmkdir -p here/part3\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let resolved = crate::plan::resolve("plan", crate::plan::starter(), &[]).unwrap();
        let here = place.path().join("here");
        let wanted = SlurmRequest {
            text: "",
            settings: &["trials.seed=7 # a".to_owned()],
            resolved: &resolved,
            program: &program,
            flags: &["--erase=AB C".to_owned()],
            output: None,
            partition: None,
            nodes: None,
            shards: None,
        };
        let job = |exclusive| Job {
            jobs: Vec::new(),
            name: String::new(),
            submitted: String::new(),
            shards: 8,
            trials: 0,
            exclusive,
            partition: None,
            nodes: None,
        };
        fs::create_dir(&here).unwrap();
        let run = |exclusive, node: &str, restarts: &str| {
            let mut command = Command::new("sh");
            let text = task(&wanted, &here, &job(exclusive));
            let said = command
                .args(["-c", &text])
                .current_dir(place.path())
                .env("SLURM_ARRAY_TASK_ID", "3")
                .env("SLURM_JOB_ID", "12")
                .env("SLURM_RESTART_COUNT", restarts)
                .env("SLURMD_NODENAME", node)
                .output()
                .unwrap();
            assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
            fs::write(here.join("part3").join(run::PLAN), "").unwrap();
            String::from_utf8(said.stdout).unwrap().replace(here.to_str().unwrap(), "DIR")
        };
        let fresh = "run DIR/plan.toml -s trials.seed=7 # a --shard 3/8 --output DIR/part3 \
            --erase=AB C\n";
        let further = "run --resume DIR/part3 --erase=AB C\n";
        assert_eq!([run(false, "one", ""), run(false, "two", "1")], [fresh, further]);
        fs::remove_dir_all(here.join("part3")).unwrap();
        assert_eq!(
            [run(true, "one", ""), run(true, "one", "1"), run(true, "two", "2")],
            [fresh, further, fresh]
        );
        assert!(here.join("left/part3-job12-2").join(run::PLAN).exists(), "nothing is thrown away");
        assert_eq!(run(true, "two", "3"), further);
    }
}
