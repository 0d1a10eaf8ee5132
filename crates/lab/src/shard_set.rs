//! The shards of a run that lie in one folder, looked at as the one run that they will be.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use host::Error;
use results::{Plan, Run};
use serde::Serialize;

use crate::catalogue;
use crate::run;
use crate::run_status::{self, RunPosition, Stage};
use crate::shard::Shard;
use crate::slurm::job::{self, Job};
use words::statement;

/// A shard at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShardState {
    /// Which.
    #[serde(flatten)]
    pub shard: Shard,
    /// Its folder; none as long as it has not begun.
    pub folder: Option<PathBuf>,
    /// How it stands.
    pub stage: Stage,
    /// Trials that are there.
    pub trials_finished: usize,
    /// All its trials; none where no shard has told its plan yet.
    pub trials: Option<usize>,
    /// What it is at, as its process says it.
    pub now: Option<RunPosition>,
}

/// All shards of a run.
pub(crate) struct ShardSet {
    /// The run as far as it is there; nothing before a shard has begun.
    pub(crate) run: Option<Run>,
    /// The job that measures it, where there is one.
    pub(crate) job: Option<Job>,
    /// By number.
    pub(crate) shards: Vec<ShardState>,
}

/// The folders in one that hold shards, by their number.
///
/// # Errors
/// Where one was damaged.
pub(crate) fn folders(folder: &Path) -> Result<Vec<(Shard, PathBuf)>, Error> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found = Vec::new();
    for path in entries.filter(|path| path.join(run::PLAN).is_file()) {
        if let Some(part) = run::read_part(&path)? {
            found.push((part.shard, path));
        }
    }
    found.sort_by_key(|(shard, path)| (shard.number(), path.clone()));
    Ok(found)
}

impl ShardSet {
    /// Looks at the shards in a folder; `None` where there are none and no job is to make them.
    ///
    /// # Errors
    /// Where shards are of different runs, one was damaged, or Slurm does not say how its job
    /// stands.
    pub(crate) fn read(folder: &Path) -> Result<Option<ShardSet>, Error> {
        let job = job::read(folder)?;
        let found = folders(folder)?;
        let Some(count) =
            found.first().map(|(shard, _)| shard.count()).or(job.as_ref().map(|job| job.shards))
        else {
            return Ok(None);
        };
        let mut parts: BTreeMap<u32, (PathBuf, Run)> = BTreeMap::new();
        let mut plan: Option<Plan> = None;
        for (shard, path) in found {
            let read = run::read(&path)?;
            let is_same = plan.as_ref().is_none_or(|plan| *plan == read.plan);
            if shard.count() != count || !is_same {
                return Err(Error::usage(statement!(
                    catalogue::FOLDER_OF_TWO_RUNS,
                    other = path.display()
                ))
                .at(folder.display()));
            }
            plan.get_or_insert_with(|| read.plan.clone());
            if let Some((other, _)) = parts.insert(shard.number(), (path.clone(), read)) {
                return Err(Error::usage(statement!(
                    catalogue::SHARD_IN_TWO_FOLDERS,
                    folder = folder.display(),
                    shard = shard.to_string(),
                    one = other.display(),
                    other = path.display()
                )));
            }
        }
        let wanted = |shard: Shard| plan.as_ref().map(|plan| shard.trials(plan));
        let is_finished = |shard: Shard| {
            let there = parts.get(&shard.number()).map(|(_, run)| run.trials.len());
            there.is_some_and(|there| Some(there) >= wanted(shard))
        };
        // Slurm is asked only while there is something to ask for.
        let queue = match &job {
            Some(job) if !Shard::all(count).all(is_finished) => job::queue(job)?,
            _ => BTreeMap::new(),
        };
        let state = |shard: Shard| {
            let number = shard.number();
            let part = parts.get(&number);
            let here = part.and_then(|(path, _)| run_status::worker(path));
            let stage = match queue.get(&number) {
                _ if is_finished(shard) => Stage::Finished,
                _ if here.is_some() => Stage::Running,
                Some(stage) => *stage,
                None if part.is_some() || job.is_some() => Stage::Interrupted,
                None => Stage::Waiting,
            };
            let at_work = part.and_then(|(path, _)| run_status::told(path));
            ShardState {
                shard,
                folder: part.map(|(path, _)| path.clone()),
                stage,
                trials_finished: part.map_or(0, |(_, run)| run.trials.len()),
                trials: wanted(shard),
                now: at_work.filter(|_| stage == Stage::Running),
            }
        };
        let shards = Shard::all(count).map(state).collect();
        Ok(Some(ShardSet { run: joined(parts), job, shards }))
    }

    /// How all of it stands.
    pub(crate) fn stage(&self) -> Stage {
        let has = |stage: Stage| self.shards.iter().any(|shard| shard.stage == stage);
        let is_queued = self.job.is_some() && has(Stage::Waiting);
        if self.shards.iter().all(|shard| shard.stage == Stage::Finished) {
            Stage::Finished
        } else if has(Stage::Running) {
            Stage::Running
        } else if is_queued {
            Stage::Waiting
        } else {
            Stage::Interrupted
        }
    }
}

/// What is there of a run, in the order of its plan.
fn joined(parts: BTreeMap<u32, (PathBuf, Run)>) -> Option<Run> {
    let mut whole: Option<Run> = None;
    for (_, run) in parts.into_values() {
        match &mut whole {
            None => whole = Some(Run { notes: Vec::new(), steps: Vec::new(), ..run }),
            Some(whole) => {
                let started = run.host.started;
                whole.host.started = started.min(std::mem::take(&mut whole.host.started));
                whole.trials.extend(run.trials);
            }
        }
    }
    if let Some(whole) = &mut whole {
        whole.trials.sort_by_key(|trial| (trial.block, trial.order));
    }
    whole
}
