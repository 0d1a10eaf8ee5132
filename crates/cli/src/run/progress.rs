//! How far a run is, while it runs: a line on a terminal, a log elsewhere.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lab::{Observer, Progress, TimeLeft, watch};
use results::course::CourseEvent;
use results::{Plan, Trial};
use words::Text;

use crate::catalogue::say;
use crate::output::{Output, figure};
use crate::progress::{Line, duration};

/// Shows how far the run is: one line drawn over on a terminal, one line a visit elsewhere. Those
/// that look at its folder (`raidloom ui`) are told as well.
pub(super) struct RunProgress<'a> {
    pub(super) output: &'a Output,
    pub(super) line: Line,
    folder: Option<PathBuf>,
    told: Option<Instant>,
    /// Whether nothing is said of the run before its first trial begins.
    pub(super) waits: bool,
    /// What is to be said then.
    begins: Option<String>,
}

impl<'a> RunProgress<'a> {
    pub(super) fn new(output: &'a Output) -> RunProgress<'a> {
        let line = Line::new(output);
        RunProgress { output, line, folder: None, told: None, waits: false, begins: None }
    }
}

/// Labels of configurations in the log are at least so wide.
const LABEL_COLUMNS: usize = 24;

/// How often they are told at most: each time is a small file, written before a trial begins.
const TOLD_EVERY: Duration = Duration::from_secs(2);

impl Drop for RunProgress<'_> {
    fn drop(&mut self) {
        self.folder.iter().for_each(|folder| watch::tell_no_more(folder));
    }
}

fn left(left: TimeLeft) -> String {
    let (low, high) = (duration(left.low), duration(left.high));
    let range = if low == high { low } else { say!(RUN_RANGE, low = low, high = high) };
    if left.rough { say!(ROUGH, range = range) } else { range }
}

fn label(plan: &Plan, progress: &Progress<'_>) -> String {
    plan.label(&progress.configuration.settings)
}

impl Observer for RunProgress<'_> {
    fn begun(&mut self, folder: &Path, [finished, trials]: [usize; 2], time_left: TimeLeft) {
        self.folder = Some(folder.to_owned());
        let (folder, left) = (folder.display(), left(time_left));
        let text = match finished {
            0 => say!(RUN_BEGUN, folder = folder, left = left),
            _ => say!(
                RUN_GOES_ON,
                folder = folder,
                finished = finished,
                trials = trials,
                left = left
            ),
        };
        match self.waits {
            true => self.begins = Some(text),
            false => self.output.progress(&text),
        }
    }

    fn trial_begun(&mut self, plan: &Plan, progress: &Progress<'_>) {
        self.begins.take().iter().for_each(|text| self.output.progress(text));
        if let Some(folder) = &self.folder
            && self.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY)
        {
            watch::tell(folder, &watch::RunPosition::of(plan, progress));
            self.told = Some(Instant::now());
        }
        // What is longest stands last: a narrow terminal shows the beginning.
        let text = say!(
            RUN_LINE,
            percent = 100 * progress.finished / progress.trials.max(1),
            trial = progress.finished + 1,
            trials = progress.trials,
            left = left(progress.left),
            block = progress.block,
            blocks = progress.blocks,
            label = label(plan, progress),
            workload = progress.workload,
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
            self.output.progress(&say!(
                RUN_VISIT,
                block = progress.block,
                blocks = progress.blocks,
                label = escape::padded(&label(plan, progress), LABEL_COLUMNS),
                trial = progress.finished,
                trials = progress.trials,
                workload = progress.workload,
                rate = rate,
                elapsed = duration(progress.elapsed.max(Duration::from_secs(1))),
                left = left(progress.left),
            ));
        }
    }

    fn decided(&mut self, plan: &Plan, step: &CourseEvent) {
        self.line.clear();
        let label = |id: &String| {
            let found = plan.configurations.iter().find(|one| one.id == *id);
            found.map_or_else(|| id.clone(), |one| plan.label(&one.settings))
        };
        self.output.progress(&match step {
            CourseEvent::Dropped { after_blocks, configurations } => {
                say!(RACE_DROPPED, count = configurations.len(), blocks = after_blocks)
            }
            CourseEvent::Named { after_blocks, picks } => {
                let mut named: Vec<String> = picks.iter().map(|pick| label(&pick.named)).collect();
                named.dedup();
                say!(RACE_OVER, blocks = after_blocks, names = named.join(", "))
            }
            CourseEvent::Look { blocks } => say!(RUN_LOOK, blocks = blocks),
            CourseEvent::UntilDecided => say!(RUN_UNTIL),
            CourseEvent::Budget { .. } | CourseEvent::Spent { .. } => return,
        });
    }

    fn note(&mut self, text: &Text) {
        self.line.clear();
        self.output.note(text);
    }
}
