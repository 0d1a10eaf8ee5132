//! What pull tests found of each configuration, and the grades that they come to.
//!
//! ```text
//! pull test ── Tally ── metrics of a trial ──> trials.jsonl
//!                                                 │  Tally::of, one for each block, added up
//!   Safety of a configuration ── Row, Row, …  <───┘  a grade and a bound each
//!        └── Whole: the worst grade, all pulls       what sentences, tables and `must` go by
//! ```
//!
//! Only counts and longest times are recorded, since these alone can be added up over blocks.
//! Figures of drives that do not do what they say are never added to those of honest ones.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use words::{Text, statement};

use crate::catalogue;
use crate::doubt::Doubt;
use crate::shared::Metrics;
use crate::types::{Configuration, Group, Plan, Run, Terms, Trial, Workload, settings_text};

pub use crate::grade::{Grade, LeastGrade};

words::with_parts!(unmeasured_parts: Option<Text>, "unmeasured", "unmeasured_parts");

/// The most states in a hundred that `count` of `all` leave possible, exactly, at 95 %.
#[must_use]
pub fn at_most_percent(count: u64, all: u64) -> f64 {
    if all == 0 || count >= all {
        return 100.0;
    }
    // The chance that at most `count` of `all` fall in, of a share of `share`.
    let below = |share: f64| -> f64 {
        let mut logarithm = all as f64 * (1.0 - share).ln();
        let mut sum = logarithm.exp();
        for k in 1..=count {
            let (all, k) = (all as f64, k as f64);
            logarithm += ((all - k + 1.0) / k).ln() + share.ln() - (1.0 - share).ln();
            sum += logarithm.exp();
        }
        sum
    };
    let (mut low, mut high) = (count as f64 / all as f64, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) > 0.05 { low = middle } else { high = middle }
    }
    100.0 * high
}

/// What pulls of one kind came to, in counts that can be added up. Of what is called a number of
/// pulls, each pull counts once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Pulls.
    pub pulls: u64,
    /// Pulls after which it could not be mounted as it was.
    pub unmountable: u64,
    /// Pulls after which it could not be mounted after a repair either.
    pub lost_for_good: u64,
    /// Pulls after which a check was run.
    pub checked: u64,
    /// Those of them after which it found errors.
    pub check_failed: u64,
    /// Pulls before which something had been promised.
    pub promising: u64,
    /// Promises that were held against what was left, over all pulls.
    pub promises: u64,
    /// Pulls that broke a promise.
    pub promise_broken: u64,
    /// Promises broken, over all pulls.
    pub promises_broken: u64,
    /// Bytes of them.
    pub promised_bytes_lost: u64,
    /// Pulls that lost more than a second of copies.
    pub copies_late: u64,
    /// Pulls after which a rename without fsync had left neither file.
    pub rename_torn: u64,
    /// Pulls after which something of the past came to light.
    pub exposed: u64,
    /// Pulls whose second try came out otherwise; none of what they showed is counted.
    pub unsteady: u64,
    /// Drives that do not do what they say, in recordings.
    pub dishonest: u64,
    /// From the oldest promise that was broken to the cut, in seconds, the longest.
    pub promised_seconds_lost: f64,
    /// From the oldest file that was closed and lost to the cut, in seconds, the longest.
    pub copies_seconds_lost: f64,
    /// Until the files were there again, in seconds, the longest.
    pub recovery_seconds: f64,
}

type Count = (&'static str, fn(&mut Tally) -> &mut u64);
type LongestTime = (&'static str, fn(&mut Tally) -> &mut f64);

const PULLS: &str = "pulls_count";
/// How the metrics of a hunt begin.
const HUNT: &str = "hunt_";

/// The metrics of a trial, each with its field.
const COUNTS: [Count; 15] = [
    (PULLS, |tally| &mut tally.pulls),
    ("unmountable_pulls_count", |tally| &mut tally.unmountable),
    ("lost_for_good_pulls_count", |tally| &mut tally.lost_for_good),
    ("checked_pulls_count", |tally| &mut tally.checked),
    ("check_failed_pulls_count", |tally| &mut tally.check_failed),
    ("promising_pulls_count", |tally| &mut tally.promising),
    ("promises_count", |tally| &mut tally.promises),
    ("promise_broken_pulls_count", |tally| &mut tally.promise_broken),
    ("promises_broken_count", |tally| &mut tally.promises_broken),
    ("promised_lost_bytes", |tally| &mut tally.promised_bytes_lost),
    ("copies_late_pulls_count", |tally| &mut tally.copies_late),
    ("rename_torn_pulls_count", |tally| &mut tally.rename_torn),
    ("exposed_pulls_count", |tally| &mut tally.exposed),
    ("unsteady_pulls_count", |tally| &mut tally.unsteady),
    ("dishonest_recordings_count", |tally| &mut tally.dishonest),
];

const LONGEST: [LongestTime; 3] = [
    ("promised_lost_max_seconds", |tally| &mut tally.promised_seconds_lost),
    ("copies_lost_max_seconds", |tally| &mut tally.copies_seconds_lost),
    ("recovery_max_seconds", |tally| &mut tally.recovery_seconds),
];

impl Tally {
    /// As the metrics of a trial.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let mut own = self.clone();
        let mut metrics = Metrics::default();
        for (name, field) in COUNTS {
            metrics.insert(name, *field(&mut own) as f64);
        }
        for (name, field) in LONGEST {
            metrics.insert(name, *field(&mut own));
        }
        metrics
    }

    /// The same of a hunt, which stands beside the figures and is never added to them.
    #[must_use]
    pub fn hunt_metrics(&self) -> Metrics {
        self.metrics().iter().map(|(name, figure)| (format!("{HUNT}{name}"), figure)).collect()
    }

    /// From the metrics of a trial; none where they are of no pull.
    #[must_use]
    pub fn of(metrics: &Metrics) -> Option<Self> {
        Self::named(metrics, "")
    }

    /// What a hunt came to, from the metrics of a trial; none where there was none.
    #[must_use]
    pub fn of_hunt(metrics: &Metrics) -> Option<Self> {
        Self::named(metrics, HUNT)
    }

    fn named(metrics: &Metrics, prefix: &str) -> Option<Self> {
        let figure = |name: &str| metrics.get(&format!("{prefix}{name}")).copied();
        let mut tally = Self::default();
        for (name, field) in COUNTS {
            *field(&mut tally) = figure(name).map_or(0, |count| count as u64);
        }
        for (name, field) in LONGEST {
            *field(&mut tally) = figure(name).unwrap_or_default();
        }
        (tally.pulls > 0).then_some(tally)
    }

    /// Adds further pulls.
    pub fn add(&mut self, more: &Self) {
        let mut more = more.clone();
        for (_, field) in COUNTS {
            *field(self) += *field(&mut more);
        }
        for (_, field) in LONGEST {
            let longest = field(self).max(*field(&mut more));
            *field(self) = longest;
        }
    }

    /// The grade.
    #[must_use]
    pub fn grade(&self) -> Grade {
        // The smallest number that has at least 95 of 100 pulls at or below it is more than a
        // second.
        let late = self.copies_late > self.pulls - (0.95 * self.pulls as f64).ceil() as u64;
        if self.lost_for_good > 0 {
            Grade::E
        } else if self.promise_broken > 0 {
            Grade::D
        } else if self.unmountable > 0 || self.exposed > 0 {
            Grade::C
        } else if self.check_failed > 0 || self.rename_torn > 0 || late {
            Grade::B
        } else {
            Grade::A
        }
    }

    /// The most pulls in a hundred that may break a promise, at 95 %; none where nothing had been
    /// promised.
    #[must_use]
    pub fn broken_at_most_percent(&self) -> Option<f64> {
        (self.promising > 0).then(|| at_most_percent(self.promise_broken, self.promising))
    }

    /// Whether the drives did not do what they said.
    #[must_use]
    pub fn is_dishonest(&self) -> bool {
        self.dishonest > 0
    }
}

/// Whether a workload is a pull test, which has a grade and no score.
#[must_use]
pub fn is_pull(workload: &Workload) -> bool {
    workload.group == Group::Safety
}

/// One pull test of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the workload.
    pub workload: String,
    /// Trials that have figures.
    pub trials: usize,
    /// What they come to together; none where none has.
    pub whole: Option<PullTotals>,
    /// What their hunts came to: cuts and losses as hostile as they are permitted, which say
    /// nothing of how often anything happens and count for no grade of the configuration. None
    /// where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunt: Option<PullTotals>,
    /// Why trials have no figures, the first reason; none where all have.
    #[serde(
        flatten,
        serialize_with = "unmeasured_parts::serialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub unmeasured: Option<Text>,
}

/// What pulls come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PullTotals {
    /// The grade.
    pub grade: Grade,
    /// The most pulls in a hundred of which anything that none has shown may be true, at 95 %.
    pub unseen_at_most_percent: f64,
    /// The most pulls in a hundred that may break a promise, at 95 %; none where nothing had been
    /// promised.
    pub broken_at_most_percent: Option<f64>,
    /// The counts.
    pub tally: Tally,
}

impl PullTotals {
    fn of(grade: Grade, tally: Tally) -> Self {
        Self {
            grade,
            unseen_at_most_percent: at_most_percent(0, tally.pulls),
            broken_at_most_percent: tally.broken_at_most_percent(),
            tally,
        }
    }
}

/// What pull tests found of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Safety {
    /// Identity of the configuration.
    pub configuration: String,
    /// The values by which it differs from others, for people.
    pub label: String,
    /// Its settings.
    pub settings: BTreeMap<String, String>,
    /// Whether its drives and the kernel that opens them again are those of a guest.
    pub in_guest: bool,
    /// One for each pull test of the plan.
    pub rows: Vec<Row>,
    /// All of them together, with the worst grade: those on honest drives, where there are any.
    /// None where none has figures.
    pub whole: Option<PullTotals>,
}

impl Safety {
    /// Why the configuration may not be taken, if it may not.
    fn reason_against(&self, least: &LeastGrade) -> Option<Text> {
        let text = &least.text;
        let unmeasured = self.rows.iter().find(|row| row.whole.is_none());
        match (&self.whole, unmeasured) {
            (Some(whole), _) if whole.grade > least.grade => {
                let (grade, pulls) = (whole.grade.to_string(), whole.tally.pulls);
                Some(statement!(
                    catalogue::GRADE_TOO_LOW,
                    asked = text,
                    grade = grade,
                    pulls = pulls
                ))
            }
            (_, Some(row)) => {
                let why = row.unmeasured.clone().unwrap_or_else(|| catalogue::NO_TRIAL_YET.into());
                Some(statement!(catalogue::NO_GRADE_MEASURED, asked = text, why = why))
            }
            _ => None,
        }
    }
}

/// What the pull tests of a plan found, one for each configuration in the plan's order; nothing
/// where the plan has none.
#[must_use]
pub fn safety(plan: &Plan, trials: &[Trial]) -> Vec<Safety> {
    let pulls: Vec<&Workload> = plan.workloads.iter().filter(|one| is_pull(one)).collect();
    if pulls.is_empty() {
        return Vec::new();
    }
    let mut cells: BTreeMap<Cell<'_>, BTreeMap<u32, &Trial>> = BTreeMap::new();
    for trial in trials {
        // A later trial of the same cell and block replaces an earlier one.
        cells.entry((&trial.settings, &trial.workload)).or_default().insert(trial.block, trial);
    }
    // What all have says nothing beside a grade.
    let axes = plan.telling_axes();
    let of_configuration = |configuration: &Configuration| {
        let row = |workload: &&Workload| {
            let found = cells.get(&(&configuration.settings, workload.name.as_str()));
            row(workload, found.into_iter().flat_map(BTreeMap::values).copied())
        };
        let rows: Vec<Row> = pulls.iter().map(row).collect();
        Safety {
            configuration: configuration.id.clone(),
            label: settings_text(&axes, &configuration.settings),
            settings: configuration.settings.clone(),
            in_guest: configuration.is_in_guest(),
            whole: whole(&rows),
            rows,
        }
    };
    plan.configurations.iter().map(of_configuration).collect()
}

/// Settings and workload.
type Cell<'a> = (&'a BTreeMap<String, String>, &'a str);

fn row<'a>(workload: &Workload, trials: impl Iterator<Item = &'a Trial>) -> Row {
    let name = workload.name.clone();
    let mut row = Row { workload: name, trials: 0, whole: None, hunt: None, unmeasured: None };
    let (mut sum, mut hunted) = (Tally::default(), Tally::default());
    for trial in trials {
        if let Some(tally) = Tally::of_hunt(&trial.metrics) {
            hunted.add(&tally);
        }
        match Tally::of(&trial.metrics) {
            Some(tally) => {
                sum.add(&tally);
                row.trials += 1;
            }
            None if row.unmeasured.is_none() => {
                let reason = trial.flags.iter().find_map(Doubt::why_not_measured);
                let none = || catalogue::NO_FIGURES.into();
                row.unmeasured = Some(reason.cloned().unwrap_or_else(none));
            }
            None => (),
        }
    }
    row.whole = (row.trials > 0).then(|| PullTotals::of(sum.grade(), sum));
    row.hunt = (hunted.pulls > 0).then(|| PullTotals::of(hunted.grade(), hunted));
    row
}

fn whole(rows: &[Row]) -> Option<PullTotals> {
    let all: Vec<&PullTotals> = rows.iter().filter_map(|row| row.whole.as_ref()).collect();
    let honest = all.iter().any(|row| !row.tally.is_dishonest());
    let counted = all.into_iter().filter(|row| !honest || !row.tally.is_dishonest());
    let mut sum = Tally::default();
    let mut worst = None;
    for row in counted {
        sum.add(&row.tally);
        worst = worst.max(Some(row.grade));
    }
    Some(PullTotals::of(worst?, sum))
}

/// The plan's terms with what its grades rule out, so that everything that goes by them need know
/// of no pulls.
#[must_use]
pub fn judged(terms: &Terms, found: &[Safety]) -> Terms {
    let mut terms = terms.clone();
    if let Some(least) = &terms.grade {
        for safety in found {
            if let Some(reason) = safety.reason_against(least) {
                terms.ruled_out.entry(safety.configuration.clone()).or_insert(reason);
            }
        }
    }
    terms
}

/// The run without its pull tests: what is compared, and what charts are made of.
#[must_use]
pub fn speeds(run: &Run) -> Cow<'_, Run> {
    if !run.plan.workloads.iter().any(is_pull) {
        return Cow::Borrowed(run);
    }
    let mut run = run.clone();
    let pulls: Vec<String> = run
        .plan
        .workloads
        .extract_if(.., |workload| is_pull(workload))
        .map(|workload| workload.name)
        .collect();
    run.trials.retain(|trial| !pulls.contains(&trial.workload));
    Cow::Owned(run)
}

#[cfg(test)]
mod tests;
