//! How a run stands, whether it goes on, was interrupted or is finished: from its folder alone,
//! which nothing is changed in.
//!
//! ```text
//!   raidloom run ── trials.jsonl (locked while it goes on) ──┐
//!               └── progress.json (every few seconds)  ──────┴──> RunState   raidloom run watch, raidloom ui
//!   shards of a run in one folder (whole.rs), and squeue   ────────┘
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use host::Error;
use results::analysis::{Analysis, Comparison, KindResult, Score, Verdict, analyse};
use results::course::Course;
use results::{Configuration, Run};
use serde::Serialize;

use crate::run::{self, COURSE, PLAN, PROGRESS, TRIALS};
use crate::run_status::told;
use crate::shard;
use crate::shard_set::ShardSet;

pub use crate::run_status::{RunPosition, Stage, tell, tell_no_more, worker};
pub use crate::shard_set::ShardState;

/// A run at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunState {
    /// Its folder.
    pub folder: PathBuf,
    /// What its plan is called.
    pub name: String,
    /// When it began, in RFC 3339.
    pub started: String,
    /// How it stands.
    pub stage: Stage,
    /// Blocks of which every trial is there.
    pub blocks_finished: u32,
    /// All blocks, as far as it is known: not before a race is over.
    pub blocks: Option<u32>,
    /// Trials that are there.
    pub trials_finished: usize,
    /// All trials; of a race the most that it may come to.
    pub trials: usize,
    /// Trials of which something is doubtful.
    pub trials_flagged: usize,
    /// What is being measured; nothing where no process is at work, or it has not said yet.
    pub now: Option<RunPosition>,
    /// What is ahead so far, for each kind of work, and for all of it where there are several.
    pub best: Vec<Leader>,
    /// Every configuration, in the plan's order.
    pub configurations: Vec<ConfigurationScore>,
    /// The shards, where the folder holds those of a run; empty where it holds a run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardState>,
    /// The job of Slurm that measures them, as it numbers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// What a finished run comes to; none of shards that lie in a folder.
    #[serde(skip)]
    pub analysis: Option<Box<Analysis>>,
}

/// What is ahead so far. Only the report says what may be claimed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leader {
    /// What tells the comparison from others; empty where there is one.
    pub comparison: String,
    /// The kind of work; `all work` for all of it.
    pub work: String,
    /// The configuration.
    pub configuration: String,
    /// Whether it is the baseline itself.
    pub is_baseline: bool,
    /// Its score against the baseline; above 1 is better.
    pub ratio: f64,
    /// Lower end of the interval that its answer rests on.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
    /// What the report says as it stands.
    pub verdict: Verdict,
    /// Whether the report would call it sure as it stands.
    pub is_sure: bool,
    /// `measured`, `modelled` and the like.
    pub figures: String,
}

/// A configuration so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigurationScore {
    /// What tells its comparison from others; empty where there is one.
    pub comparison: String,
    /// The configuration.
    pub configuration: String,
    /// Whether it is the baseline of its comparison.
    pub is_baseline: bool,
    /// Its trials that are there.
    pub trials: usize,
    /// Whether a race has dropped it.
    pub is_dropped: bool,
    /// Its score against the baseline, for all of its work; none as long as it has none.
    pub ratio: Option<f64>,
    /// Lower end of the interval that its answer rests on.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
}

/// Looks at a run, or at the shards of one that lie in a folder. Nothing is changed and nothing is
/// locked.
///
/// # Errors
/// When the folder holds no run, or a file in it was damaged; of shards also where they are of
/// different runs, or Slurm does not say how their job stands.
pub fn look(folder: &Path) -> Result<RunState, Error> {
    if !folder.join(PLAN).exists()
        && let Some(whole) = ShardSet::read(folder)?
    {
        return Ok(look_at_shards(folder, whole));
    }
    let run = run::read(folder)?;
    let analysis = analyse(&run);
    let course = Course::new(&run.plan, &run.steps);
    let worker = worker(folder);
    let part = run::read_part(folder)?.map(|part| part.shard);
    let trials = shard::trials(part, &course, &run.plan);
    let stage = match worker {
        Some(_) => Stage::Running,
        None if run.trials.len() >= trials => Stage::Finished,
        None => Stage::Interrupted,
    };
    Ok(RunState {
        folder: folder.to_owned(),
        name: run.plan.name.clone(),
        started: run.host.started.clone(),
        stage,
        blocks_finished: whole_blocks(&course, &run),
        blocks: course.blocks(),
        trials_finished: run.trials.len(),
        trials,
        trials_flagged: flagged(&run),
        now: told(folder).filter(|now| Some(now.process) == worker),
        best: best(&analysis),
        configurations: configurations(&course, &run, &analysis),
        shards: Vec::new(),
        job: None,
        analysis: (stage == Stage::Finished).then(|| Box::new(analysis)),
    })
}

fn look_at_shards(folder: &Path, whole: ShardSet) -> RunState {
    let stage = whole.stage();
    let ShardSet { run, job, shards } = whole;
    let sum = shards.iter().map(|shard| shard.trials).sum::<Option<usize>>();
    let state = RunState {
        folder: folder.to_owned(),
        name: job.as_ref().map_or_else(String::new, |job| job.name.clone()),
        started: job.as_ref().map_or_else(String::new, |job| job.submitted.clone()),
        stage,
        blocks_finished: 0,
        blocks: None,
        trials_finished: shards.iter().map(|shard| shard.trials_finished).sum(),
        trials: sum.or(job.as_ref().map(|job| job.trials)).unwrap_or_default(),
        trials_flagged: 0,
        now: None,
        best: Vec::new(),
        configurations: Vec::new(),
        shards,
        job: job.and_then(|job| job.jobs.last().cloned()),
        analysis: None,
    };
    let Some(run) = run else { return state };
    let analysis = analyse(&run);
    let course = Course::new(&run.plan, &run.steps);
    RunState {
        name: run.plan.name.clone(),
        started: run.host.started.clone(),
        blocks_finished: whole_blocks(&course, &run),
        blocks: course.blocks(),
        trials_flagged: flagged(&run),
        best: best(&analysis),
        configurations: configurations(&course, &run, &analysis),
        ..state
    }
}

fn flagged(run: &Run) -> usize {
    run.trials.iter().filter(|trial| !trial.flags.is_empty()).count()
}

/// What a run's state is made of, without reading it: as long as this is the same, so is the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The process that is at work.
    pub worker: Option<u32>,
    /// Length and time of change of the files that are read.
    files: [Option<(u64, SystemTime)>; 4],
}

/// Looks at the files of a run, and at who is at work on it: a few `stat`.
#[must_use]
pub fn stamp(folder: &Path) -> Stamp {
    let of = |name: &str| {
        let data = fs::metadata(folder.join(name)).ok()?;
        Some((data.len(), data.modified().ok()?))
    };
    Stamp { worker: worker(folder), files: [PLAN, TRIALS, COURSE, PROGRESS].map(of) }
}

/// The runs in a folder, in that of runs within it, and the folder itself where it is one; the
/// latest first, by when their plans were written.
#[must_use]
pub fn runs_in(folder: &Path) -> Vec<PathBuf> {
    let begun = |folder: PathBuf| {
        let data = fs::metadata(folder.join(PLAN)).ok().filter(fs::Metadata::is_file)?;
        Some((data.modified().ok()?, folder))
    };
    let within = |folder: PathBuf| {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
    };
    let mut runs: Vec<(SystemTime, PathBuf)> = within(folder.to_owned())
        .chain(within(folder.join(run::RUNS)))
        .chain([folder.to_owned()])
        .filter_map(begun)
        .collect();
    // Names by default begin with the time: that tells copies apart that were made at once.
    runs.sort_by(|(left, left_folder), (right, right_folder)| {
        right.cmp(left).then_with(|| right_folder.file_name().cmp(&left_folder.file_name()))
    });
    runs.into_iter().map(|(_, folder)| folder).collect()
}

fn whole_blocks(course: &Course<'_>, run: &Run) -> u32 {
    let count = |block| run.trials.iter().filter(|trial| trial.block == block).count();
    let is_whole = |block: &u32| {
        let visits = course.visited(*block).len();
        visits > 0 && count(*block) >= visits * run.plan.workloads.len()
    };
    (0..).take_while(is_whole).count() as u32
}

fn best(analysis: &Analysis) -> Vec<Leader> {
    let ahead = |comparison: &Comparison, kind: &KindResult| {
        let id = kind.headline.take.as_ref().or(kind.leader.as_ref())?;
        let score = kind.score(id)?;
        let interval = score.interval();
        Some(Leader {
            comparison: comparison.name.clone(),
            work: kind.group.map_or("all work", group_text).to_owned(),
            configuration: comparison.label(id).to_owned(),
            is_baseline: *id == comparison.baseline,
            ratio: score.ratio,
            ratio_low: interval.map(|interval| interval.low),
            ratio_high: interval.map(|interval| interval.high),
            verdict: kind.headline.verdict.clone(),
            is_sure: kind.headline.sure && kind.headline.take.as_ref() == Some(id),
            figures: comparison.figures().to_owned(),
        })
    };
    let all = analysis.comparisons.iter();
    all.flat_map(|one| one.results().filter_map(move |kind| ahead(one, kind))).collect()
}

fn configurations(course: &Course<'_>, run: &Run, analysis: &Analysis) -> Vec<ConfigurationScore> {
    let plan = &run.plan;
    let scored = |one: &Configuration| {
        let comparison =
            analysis.comparisons.iter().find(|comparison| comparison.baseline == one.baseline);
        let kind = comparison.and_then(|comparison| comparison.overall());
        let score = kind.and_then(|kind| kind.score(&one.id));
        let interval = score.and_then(Score::interval);
        ConfigurationScore {
            comparison: comparison.map_or_else(String::new, |comparison| comparison.name.clone()),
            configuration: plan.label(&one.settings),
            is_baseline: one.baseline == one.id,
            trials: run.trials.iter().filter(|trial| trial.settings == one.settings).count(),
            is_dropped: course.dropped(&one.id).is_some(),
            ratio: score.map(|score| score.ratio),
            ratio_low: interval.map(|interval| interval.low),
            ratio_high: interval.map(|interval| interval.high),
        }
    };
    plan.configurations.iter().map(scored).collect()
}

fn group_text(group: results::Group) -> &'static str {
    match group {
        results::Group::Sequential => "sequential",
        results::Group::Random => "random",
        results::Group::Mixed => "mixed",
        results::Group::Files => "files",
        results::Group::Safety => "safety",
    }
}
