//! What a run of one configuration has measured, row by row.

use bench::suite::{Settings, Suite};
use results::statistics::{self, Median};
use results::{Doubt, Run, Trial, Workload};

use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::output::figure;

pub(super) const RATE: &str = "throughput_bytes_per_second";
pub(super) const OPERATIONS: &str = "io_per_second";

/// What a run of one configuration has measured.
pub(super) struct Rows<'a> {
    pub(super) run: &'a Run,
    pub(super) suite: &'static Suite,
    pub(super) settings: Settings,
    pub(super) rows: Vec<Row<'a>>,
}

/// One row of a suite with what was measured of it.
pub(super) struct Row<'a> {
    pub(super) name: &'a str,
    pub(super) workload: &'a Workload,
    /// Those that have figures, in the order of the blocks.
    pub(super) trials: Vec<&'a Trial>,
}

impl<'a> Rows<'a> {
    /// Those of a run of one suite on one configuration.
    ///
    /// # Errors
    /// A plan that says otherwise.
    pub(super) fn of(run: &'a Run) -> Result<Rows<'a>, Failure> {
        let plan = &run.plan;
        let (Some(first), Some(configuration)) =
            (plan.workloads.first(), plan.configurations.first())
        else {
            return Err(Failure::failed(catalogue::RUN_WITHOUT_ROWS));
        };
        let row = |workload: &'a Workload| {
            let its = |trial: &&Trial| trial.workload == workload.name && !trial.metrics.is_empty();
            let mut trials: Vec<&Trial> = run.trials.iter().filter(its).collect();
            trials.sort_by_key(|trial| trial.block);
            Row { name: lab::plan::row(workload), workload, trials }
        };
        Ok(Rows {
            run,
            suite: lab::plan::suite_of(first)?,
            settings: lab::plan::suite_settings(plan, first, configuration)?,
            rows: plan.workloads.iter().map(row).collect(),
        })
    }

    /// Rows that have figures.
    pub(super) fn measured(&self) -> impl Iterator<Item = &Row<'a>> {
        self.rows.iter().filter(|row| !row.trials.is_empty())
    }

    /// Rows that could not be measured, with the reason.
    pub(super) fn left_out(&self) -> Vec<String> {
        let reason = |trial: &Trial| {
            let why = trial.flags.iter().find_map(Doubt::why_not_measured)?;
            let workload = self.rows.iter().find(|row| row.workload.name == trial.workload)?;
            Some((workload.name, why.to_string()))
        };
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for (row, why) in self.run.trials.iter().filter_map(reason) {
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, rows)) if rows.contains(&row) => (),
                Some((_, rows)) => rows.push(row),
                None => reasons.push((why, vec![row])),
            }
        }
        let line = |(why, rows): (String, Vec<&str>)| {
            let who = match rows.len() {
                count if count > 4 => say!(SO_MANY_ROWS, count = count, first = rows[0]),
                _ => rows.join(", "),
            };
            say!(ROWS_NOT_MEASURED, rows = who, why = why)
        };
        reasons.into_iter().map(line).collect()
    }
}

impl Row<'_> {
    /// The figures of a metric, a trial each.
    pub(super) fn all(&self, metric: &str) -> Vec<f64> {
        self.trials.iter().filter_map(|trial| trial.metrics.get(metric).copied()).collect()
    }

    pub(super) fn median(&self, metric: &str) -> Option<f64> {
        statistics::median(&self.all(metric)).map(|median| median.median)
    }

    /// The median of a metric in its shape; a dash where there is none.
    pub(super) fn middle(&self, metric: &str, shape: impl FnOnce(f64) -> String) -> String {
        self.median(metric).map_or_else(|| "-".to_owned(), shape)
    }

    pub(super) fn doubts(&self) -> impl Iterator<Item = &Doubt> {
        self.trials.iter().flat_map(|trial| &trial.flags)
    }

    /// The marks of all that is doubtful, each once.
    pub(super) fn marks_once(&self) -> Vec<&'static str> {
        let mut marks: Vec<&str> = self.doubts().map(Doubt::mark).collect();
        marks.sort_unstable();
        marks.dedup();
        marks
    }

    pub(super) fn marks(&self) -> String {
        self.marks_once().join(" ")
    }
}

pub(super) fn least(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::INFINITY, f64::min)
}

pub(super) fn most(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// A median and its interval in MB/s: `194.8 (193.0 to 196.1)`.
pub(super) fn middle(figures: &[f64]) -> String {
    match statistics::median(figures) {
        None => "-".to_owned(),
        Some(Median { median, interval: None }) => figure(median / 1e6),
        Some(Median { median, interval: Some(interval) }) => format!(
            "{} ({} to {})",
            figure(median / 1e6),
            figure(interval.low / 1e6),
            figure(interval.high / 1e6)
        ),
    }
}
