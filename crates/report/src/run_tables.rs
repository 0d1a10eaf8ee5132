//! The tables of a run as a whole: its figures, what was compared, the plan and the machine.

use results::analysis::{Analysis, Comparison, Stage};
use results::types::{Run, Workload};

use crate::table::{Table, comparison_title, figures, label, number, words};
use crate::words::say;
use crate::{charts, numbers, survival};

/// The figures of every cell of a comparison, where they are what the report is for: there is
/// nothing to compare them with, or they were imported. `None` elsewhere, and where there are none.
pub(crate) fn figures_of(run: &Run, comparison: &Comparison) -> Option<Table> {
    let members = &comparison.configurations;
    if members.len() > 1 && !run.is_imported() {
        return None;
    }
    let row = |workload: &Workload| {
        let cells: Vec<String> = members
            .iter()
            .map(|member| {
                let cell = comparison.cell(&member.id, &workload.name);
                cell.map_or_else(String::new, |cell| charts::figures(comparison, cell))
            })
            .collect();
        let has_any = cells.iter().any(|cell| !cell.is_empty());
        has_any.then(|| [vec![numbers::workload(&workload.name)], cells].concat())
    };
    let rows: Vec<Vec<String>> = run.plan.workloads.iter().filter_map(row).collect();
    let heads = members.iter().map(|member| number(label(comparison, &member.id)));
    (!rows.is_empty()).then(|| Table {
        caption: match comparison.name.as_str() {
            "" => String::new(),
            _ => comparison_title(comparison),
        },
        columns: [words(say!(WORKLOAD))].into_iter().chain(heads).collect(),
        rows,
    })
}

/// What was compared: every configuration's stack.
pub(crate) fn configurations(analysis: &Analysis) -> Table {
    let mut rows = Vec::new();
    let members = || analysis.comparisons.iter().flat_map(|one| &one.configurations);
    let says_what_survives = members().any(|member| member.survives.is_some());
    for comparison in &analysis.comparisons {
        for member in &comparison.configurations {
            let role = match member.stage {
                _ if member.id == comparison.baseline => say!(BASELINE),
                None => String::new(),
                Some(Stage::Confirmed) => say!(CONFIRMED),
                Some(Stage::Raced) => say!(RACED),
                Some(Stage::Dropped { after_blocks }) => {
                    say!(DROPPED_AFTER, blocks = say!(BLOCKS, count = after_blocks))
                }
            };
            let mut row = vec![
                match numbers::spaced_sizes(&comparison.name) {
                    all if all.is_empty() => say!(ALL_WORK),
                    name => name,
                },
                label(comparison, &member.id),
                figures(comparison),
                role,
            ];
            let survives = || survival::drives(member.survives.as_ref());
            row.extend(says_what_survives.then(survives));
            row.push(member.stack.clone());
            rows.push(row);
        }
    }
    let survives = says_what_survives.then(|| words(say!(SURVIVES)));
    let first = [say!(COMPARISON), say!(CONFIGURATION), say!(FIGURES), say!(ROLE)].map(words);
    Table {
        caption: say!(CONFIGURATIONS_HEAD),
        columns: first.into_iter().chain(survives).chain([words(say!(STACK))]).collect(),
        rows,
    }
}

/// The plan and the machine, as facts.
pub(crate) fn facts(run: &Run) -> Table {
    let plan = &run.plan;
    let own = [
        (say!(RUN_STARTED), run.host.started.clone()),
        (say!(SEED), plan.seed.to_string()),
        (say!(BLOCKS_FACT), plan.blocks.to_string()),
        (say!(MARGIN), format!("±{}", numbers::percent(plan.margin))),
    ];
    let settings = plan.suite_settings.iter().map(|(name, value)| (name.clone(), value.clone()));
    let facts = run.host.facts.iter().map(|fact| (fact.name.clone(), fact.value.clone()));
    Table {
        caption: String::new(),
        columns: vec![words(say!(FACT)), words(say!(VALUE))],
        rows: own
            .into_iter()
            .chain(settings)
            .chain(facts)
            .map(|(name, value)| vec![name, value])
            .collect(),
    }
}
