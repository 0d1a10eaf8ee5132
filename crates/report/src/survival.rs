//! What each configuration survives: its drives, the machines that they are in, the machine that
//! runs it, and who may write it.

use std::collections::BTreeSet;

use results::analysis::Analysis;
use results::types::{RemoteMembers, Survival};

use crate::table::{Table, label, words};
use crate::words::say;

/// How many drives or copies may be lost, in words.
pub(crate) fn drives(survives: Option<&Survival>) -> String {
    match survives {
        None => say!(SURVIVES_UNKNOWN),
        Some(Survival::Members { count: 0, .. }) => say!(SURVIVES_NOTHING),
        Some(Survival::Members { count: 1, .. }) => say!(SURVIVES_ONE),
        Some(Survival::Members { count, .. }) => say!(SURVIVES_MEMBERS, count = count),
        Some(pool @ Survival::Pool { size, needed, .. }) => {
            let (losses, kept) = (pool.losses(), size.saturating_sub(*needed));
            match needed {
                1 => say!(SURVIVES_COPIES, losses = losses, kept = kept, size = size),
                _ => say!(SURVIVES_PARTS, losses = losses, kept = kept, size = size),
            }
        }
    }
}

/// A row for each configuration, where any of them stands on more than the machine that runs it.
pub(crate) fn table(analysis: &Analysis) -> Option<Table> {
    let comparisons = analysis.comparisons.iter();
    let members =
        comparisons.flat_map(|one| one.configurations.iter().map(move |member| (one, member)));
    let is_alone =
        |survives: &Survival| matches!(survives, Survival::Members { elsewhere: None, .. });
    if members.clone().filter_map(|(_, member)| member.survives.as_ref()).all(is_alone) {
        return None;
    }
    let mut known = BTreeSet::new();
    let rows = members
        .filter(|(_, member)| known.insert(&member.id))
        .map(|(comparison, member)| {
            let survives = member.survives.as_ref();
            let [host, runner, writers] = survives.map_or_else(
                || [say!(SURVIVES_UNKNOWN), say!(SURVIVES_UNKNOWN), say!(SURVIVES_UNKNOWN)],
                machines,
            );
            vec![label(comparison, &member.id), drives(survives), host, runner, writers]
        })
        .collect();
    let heads =
        [say!(CONFIGURATION), say!(DRIVES_LOST), say!(HOST_LOST), say!(RUNNER_LOST), say!(WRITERS)];
    Some(Table { caption: String::new(), columns: heads.map(words).into(), rows })
}

/// What the loss of a host with members does, what that of the machine that runs it, and who may
/// write it.
fn machines(survives: &Survival) -> [String; 3] {
    match survives {
        Survival::Members { elsewhere: None, .. } => {
            [say!(HOST_NONE), say!(RUNNER_DOWN), say!(WRITERS_ONE)]
        }
        Survival::Members { elsewhere: Some(RemoteMembers { hosts, all }), .. } => {
            let host = match hosts {
                None => say!(HOST_OF_CLUSTER),
                Some(0) => say!(HOSTS_NOT_ONE),
                Some(1) => say!(HOSTS_ONE),
                Some(count) => say!(HOSTS_SOME, count = count),
            };
            let runner = if *all { say!(RUNNER_TAKEN_OVER) } else { say!(RUNNER_DOWN) };
            [host, runner, say!(WRITERS_FENCED)]
        }
        Survival::Pool { apart, .. } => {
            let host = match apart.as_deref() {
                None => say!(APART_UNKNOWN),
                Some("osd") => say!(APART_OSD),
                Some(kind) => say!(APART_KIND, kind = kind),
            };
            [host, say!(RUNNER_CLIENT), say!(WRITERS_MANY)]
        }
    }
}
