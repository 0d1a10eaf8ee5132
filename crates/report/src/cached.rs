//! Which accesses are cached: the table, and what a drive that is set for quick removal leaves in
//! memory all the same.

use results::analysis::Analysis;
use results::caches::{Access, CacheEffect, Holder};

use crate::numbers;
use crate::safety;
use crate::table::{Table, words};
use crate::words::say;

/// Every configuration of which anything was counted; none where no row is there both past the page
/// cache and through it.
pub(crate) fn table(analysis: &Analysis) -> Option<Table> {
    if analysis.cached.is_empty() {
        return None;
    }
    let row = |found: &CacheEffect| {
        let read =
            |access: &Option<Access>| cell(access.as_ref(), say!(FROM_DRIVE), say!(FROM_CACHE));
        let written =
            |access: &Option<Access>| cell(access.as_ref(), say!(ON_DRIVE), say!(IN_CACHE));
        vec![
            numbers::spaced_sizes(&found.label),
            read(&found.reads_direct),
            read(&found.reads_buffered),
            written(&found.writes_direct),
            written(&found.writes_buffered),
        ]
    };
    Some(Table {
        caption: say!(CACHED_TABLE),
        columns: vec![
            words(say!(CONFIGURATION)),
            words(say!(READS_DIRECT)),
            words(say!(READS_BUFFERED)),
            words(say!(WRITES_DIRECT)),
            words(say!(WRITES_BUFFERED)),
        ],
        rows: analysis.cached.iter().map(row).collect(),
    })
}

fn cell(access: Option<&Access>, drive: String, cache: String) -> String {
    let Some(access) = access else { return "–".to_owned() };
    match access.holder {
        Holder::Drive => drive,
        Holder::Cache => cache,
        Holder::Part => say!(IN_PART, share = share(access)),
    }
}

/// What the drives had, in per cent, from the row where that is least to the one where it is most.
fn share(access: &Access) -> String {
    let [low, high] = [access.drive_share_min, access.drive_share_max]
        .map(|share| format!("{:.0}", 100.0 * share));
    if low == high {
        format!("{low} %")
    } else {
        format!("{} %", say!(RANGE, low = low, high = high))
    }
}

/// What the table rests on, and what quick removal still leaves in memory, with what power cuts
/// made of it where the run has them.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let accesses = analysis.cached.iter().flat_map(|found| {
        [found.reads_direct, found.reads_buffered, found.writes_direct, found.writes_buffered]
    });
    let accesses: Vec<Access> = accesses.flatten().collect();
    let most = |of: fn(&Access) -> usize| accesses.iter().map(of).max().unwrap_or(0);
    let mut sentences =
        vec![say!(CACHED_NOTE, rows = most(|one| one.rows), trials = most(|one| one.trials))];
    let mut kept = Vec::new();
    for found in analysis.cached.iter().filter(|found| found.quick_removal) {
        let label = numbers::spaced_sizes(&found.label);
        match &found.writes_buffered {
            None => (),
            Some(access) if access.holder == Holder::Drive => kept.push(label),
            Some(access) => {
                let grade = safety::of_configuration(analysis, &found.configuration);
                let cuts =
                    grade.map_or_else(|| say!(PULL_TELLS), |grade| say!(PULLS_SAID, grade = grade));
                let left = format!("{:.0} %", 100.0 * (1.0 - access.drive_share_min));
                sentences.push(say!(QUICK_LEAVES, label = label, left = left, cuts = cuts));
            }
        }
    }
    if !kept.is_empty() {
        sentences.push(say!(QUICK_KEEPS, list = kept.join(", ")));
    }
    sentences
}
