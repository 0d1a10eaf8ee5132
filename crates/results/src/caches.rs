//! Which accesses are cached: of what was asked for, how much the drives had moved when the calls
//! had returned.
//!
//! ```text
//! rows past the page cache and through it ──> share that the drives had, by configuration
//!                                             reads │ writes   x   direct │ buffered
//!        from 90 % on the drive's, up to 10 % a cache's, between them in part
//! ```
//!
//! It rests on the bytes that were counted at the members and on no rate: a fast figure proves
//! nothing. Of writes it is what had reached them before the flush that follows.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::shared::Metrics;
use crate::statistics;
use crate::types::{Configuration, Plan, Workload, settings_text};
use crate::voices::Table;

/// Metric of a trial: bytes that members read for one that was asked for.
pub const READ: &str = "member_read_ratio";
/// Metric of a trial: bytes that members wrote for one that was asked for, the flush at its end
/// included.
pub const WRITTEN: &str = "member_write_ratio";
/// Metric of a trial: of what the layout makes of the bytes that were written, the share that
/// members had when the calls had returned, before the flush.
pub const ACKNOWLEDGED: &str = "member_write_acknowledged_ratio";

/// From this share on the drives had it all: metadata and read-ahead blur the rest, as in the audit
/// of a trial.
const DRIVE_MIN: f64 = 0.9;
/// Up to this share a cache had it.
const CACHE_MAX: f64 = 0.1;

/// Who had what was read, or has what was written, when the calls had returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// The drives.
    Drive,
    /// The drives have some of it.
    Part,
    /// A cache in memory.
    Cache,
}

/// One way of access in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Access {
    /// What it comes to.
    pub holder: Holder,
    /// The share of the bytes asked for that the drives had moved, of the row where that is least:
    /// the median of its trials.
    pub drive_share_min: f64,
    /// The same of the row where it is most.
    pub drive_share_max: f64,
    /// Rows that it rests on.
    pub rows: usize,
    /// Trials of the row that has most.
    pub trials: usize,
}

/// What is cached in a configuration; an access of which nothing was counted is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheEffect {
    /// Its identity.
    pub configuration: String,
    /// The values by which it differs from others, for people.
    pub label: String,
    /// Its settings.
    pub settings: BTreeMap<String, String>,
    /// Whether its file system is mounted for quick removal.
    pub quick_removal: bool,
    /// Reads past the page cache.
    pub reads_direct: Option<Access>,
    /// Reads through it.
    pub reads_buffered: Option<Access>,
    /// Writes past the page cache.
    pub writes_direct: Option<Access>,
    /// Writes through it.
    pub writes_buffered: Option<Access>,
}

/// What is cached, one for each configuration of which anything was counted, in the plan's order;
/// nothing where the plan has no rows both past the page cache and through it.
pub(crate) fn cached(plan: &Plan, table: &Table<'_>) -> Vec<CacheEffect> {
    let pairs = pairs(&plan.workloads);
    if pairs.is_empty() {
        return Vec::new();
    }
    let axes = plan.telling_axes();
    let of = |(index, configuration): (usize, &Configuration)| {
        let access = |buffered: bool, share: fn(&Metrics) -> Option<f64>| {
            let rows = pairs.iter().map(|pair| if buffered { pair.buffered } else { pair.direct });
            let shares = rows.map(|row| {
                let trials = table.cell(index, row);
                trials.filter_map(|(_, trial)| share(&trial.metrics)).collect::<Vec<f64>>()
            });
            access(shares)
        };
        let found = CacheEffect {
            configuration: configuration.id.clone(),
            label: settings_text(&axes, &configuration.settings),
            settings: configuration.settings.clone(),
            quick_removal: configuration.quick_removal,
            reads_direct: access(false, read_share),
            reads_buffered: access(true, read_share),
            writes_direct: access(false, write_share),
            writes_buffered: access(true, write_share),
        };
        let is_known =
            [found.reads_direct, found.reads_buffered, found.writes_direct, found.writes_buffered]
                .iter()
                .any(Option::is_some);
        is_known.then_some(found)
    };
    plan.configurations.iter().enumerate().filter_map(of).collect()
}

/// A row past the page cache and the same through it, by their places in the plan.
struct Pair {
    direct: usize,
    buffered: usize,
}

fn pairs(workloads: &[Workload]) -> Vec<Pair> {
    let pair = |(buffered, workload): (usize, &Workload)| {
        let name = workload.buffered_of.as_ref()?;
        let direct = workloads.iter().position(|other| other.name == *name)?;
        Some(Pair { direct, buffered })
    };
    workloads.iter().enumerate().filter_map(pair).collect()
}

fn read_share(metrics: &Metrics) -> Option<f64> {
    metrics.get(READ).copied()
}

/// What the flush wrote is no part of it. Where that was not told apart, only what the drives never
/// wrote is known.
fn write_share(metrics: &Metrics) -> Option<f64> {
    let whole = || metrics.get(WRITTEN).copied().filter(|share| *share < DRIVE_MIN);
    metrics.get(ACKNOWLEDGED).copied().or_else(whole)
}

fn access(rows: impl Iterator<Item = Vec<f64>>) -> Option<Access> {
    let rows: Vec<(f64, usize)> = rows
        .filter_map(|shares| {
            let median = statistics::median(&shares)?.median;
            // More than was asked for is still all of it.
            Some((median.clamp(0.0, 1.0), shares.len()))
        })
        .collect();
    let least = rows.iter().map(|(share, _)| *share).reduce(f64::min)?;
    let most = rows.iter().map(|(share, _)| *share).reduce(f64::max)?;
    let holder = match () {
        () if least >= DRIVE_MIN => Holder::Drive,
        () if most <= CACHE_MAX => Holder::Cache,
        () => Holder::Part,
    };
    Some(Access {
        holder,
        drive_share_min: least,
        drive_share_max: most,
        rows: rows.len(),
        trials: rows.iter().map(|(_, trials)| *trials).max().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[&[f64]]) -> Option<(Holder, f64, f64)> {
        let found = access(rows.iter().map(|shares| shares.to_vec()))?;
        Some((found.holder, found.drive_share_min, found.drive_share_max))
    }

    #[test]
    fn shares_say_who_had_it() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[&[]]), None, "nothing was counted");
        assert_eq!(of(&[&[1.0], &[0.93]]), Some((Holder::Drive, 0.93, 1.0)));
        assert_eq!(of(&[&[0.0], &[0.1]]), Some((Holder::Cache, 0.0, 0.1)));
        assert_eq!(of(&[&[0.0], &[1.0]]), Some((Holder::Part, 0.0, 1.0)), "rows differ");
        assert_eq!(of(&[&[0.5]]), Some((Holder::Part, 0.5, 0.5)));
        assert_eq!(of(&[&[8.0]]), Some((Holder::Drive, 1.0, 1.0)), "read-ahead, metadata");
        assert_eq!(of(&[&[0.0, 0.95, 0.97]]), Some((Holder::Drive, 0.95, 0.95)), "the median");
    }

    #[test]
    fn what_a_flush_wrote_was_not_there_when_the_calls_returned() {
        let metrics = |figures: &[(&str, f64)]| -> Metrics {
            figures.iter().map(|(name, figure)| ((*name).to_owned(), *figure)).collect()
        };
        assert_eq!(write_share(&metrics(&[(WRITTEN, 1.0), (ACKNOWLEDGED, 0.02)])), Some(0.02));
        assert_eq!(write_share(&metrics(&[(WRITTEN, 1.0)])), None, "the flush may have done it");
        assert_eq!(write_share(&metrics(&[(WRITTEN, 0.3)])), Some(0.3), "never written at all");
    }
}
