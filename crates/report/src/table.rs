//! One table model behind the terminal, Markdown and the page.

use results::analysis::{Analysis, Comparison, KindResult, Score, Stage};
use results::types::{Run, Workload};

use crate::words::say;
use crate::{charts, doubts, numbers, survival};

/// A table of text with one head row.
pub(crate) struct Table {
    /// What it shows; empty where the heading above says it.
    pub(crate) caption: String,
    /// Heads of the columns.
    pub(crate) columns: Vec<Column>,
    /// Cells, row by row, as many as there are columns.
    pub(crate) rows: Vec<Vec<String>>,
}

/// Head of a column.
pub(crate) struct Column {
    /// Name, with the unit where the figures have one.
    pub(crate) name: String,
    /// Whether it holds numbers, which stand right.
    pub(crate) number: bool,
}

pub(crate) fn words(name: impl Into<String>) -> Column {
    Column { name: name.into(), number: false }
}

pub(crate) fn number(name: impl Into<String>) -> Column {
    Column { name: name.into(), number: true }
}

/// Title of a comparison: what its members share, the baseline, and whether it is modelled.
pub(crate) fn comparison_title(comparison: &Comparison) -> String {
    let name = numbers::spaced_sizes(&comparison.name);
    let modelled = if comparison.modelled { figures(comparison) } else { String::new() };
    let parts: Vec<&str> =
        [name.as_str(), modelled.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { say!(ALL_CONFIGURATIONS_SMALL) } else { parts.join(", ") }
}

/// Where a comparison's figures come from.
pub(crate) fn figures(comparison: &Comparison) -> String {
    match comparison.figures() {
        "measured" => say!(MEASURED),
        "modelled" => say!(MODELLED),
        "modelled, Linux in a guest" => say!(IN_GUEST),
        other => other.to_owned(),
    }
}

/// What is compared with what: `raid0 by chunk, against single`.
pub(crate) fn comparison_subject(comparison: &Comparison) -> String {
    let shared = comparison
        .shared
        .iter()
        .map(|value| numbers::spaced_sizes(value))
        .collect::<Vec<_>>()
        .join(" ");
    let by = if comparison.axes.is_empty() {
        String::new()
    } else {
        say!(SUBJECT_BY, axes = comparison.axes.join(&say!(AND)))
    };
    let against = say!(AGAINST, baseline = label(comparison, &comparison.baseline));
    let parts: Vec<&str> =
        [shared.as_str(), by.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { against } else { format!("{}, {against}", parts.join(" ")) }
}

/// Label of a configuration, for people.
pub(crate) fn label(comparison: &Comparison, configuration: &str) -> String {
    numbers::spaced_sizes(comparison.label(configuration))
}

/// The same with what all but the baseline share: `raid0 64 KiB`.
pub(crate) fn full_label(comparison: &Comparison, configuration: &str) -> String {
    let label = label(comparison, configuration);
    if configuration == comparison.baseline {
        return label;
    }
    let shared = comparison.shared.iter().map(|value| numbers::spaced_sizes(value));
    shared.chain([label]).collect::<Vec<_>>().join(" ")
}

/// Scores of one kind of access.
pub(crate) fn scores(comparison: &Comparison, kind: &KindResult) -> Table {
    let rows = kind.scores.iter().map(|score| {
        let best = kind.best_set.contains(&score.configuration);
        let taken = kind.recommended.as_ref() == Some(&score.configuration);
        vec![
            label(comparison, &score.configuration),
            match score.versus_baseline {
                None => "1".into(),
                Some(_) => numbers::ratio(score.ratio, score.interval()),
            },
            numbers::ratio_interval(score.ratio, score.interval()),
            score_answer(score),
            if best { say!(YES) } else { say!(NO) },
            match &score.versus_take {
                None if taken => say!(RECOMMENDED),
                None => String::new(),
                Some(claim) => numbers::answer(claim),
            },
        ]
    });
    Table {
        caption: say!(
            SCORE_OF,
            kind = numbers::kind(kind.group),
            place = comparison_title(comparison),
        ),
        rows: rows.collect(),
        columns: vec![
            words(say!(CONFIGURATION)),
            number(say!(SCORE)),
            number(say!(INTERVAL)),
            words(say!(AGAINST_BASELINE)),
            words(say!(BEST_SET)),
            words(say!(AGAINST_RECOMMENDED)),
        ],
    }
}

/// What a score comes to against the baseline.
pub(crate) fn score_answer(score: &Score) -> String {
    score.versus_baseline.as_ref().map_or_else(|| say!(BASELINE), numbers::answer)
}

/// Columns of a heat map: configurations that differ only in one of the comparison's axes.
pub(crate) struct Panel {
    /// What its configurations share; empty when there is only one panel and they share nothing
    /// worth saying.
    pub(crate) name: String,
    /// Name of the axis that runs along the columns.
    pub(crate) axis: String,
    /// Configuration and the head of its column.
    pub(crate) columns: Vec<(String, String)>,
}

/// Splits a comparison's configurations, without the baseline, into as few panels as one axis along
/// the columns allows; of axes that are equal in that, the last.
pub(crate) fn panels(comparison: &Comparison) -> Vec<Panel> {
    comparison
        .axes
        .iter()
        .rev()
        .map(|axis| panels_along(comparison, axis))
        .min_by_key(Vec::len)
        .unwrap_or_default()
}

fn panels_along(comparison: &Comparison, along: &String) -> Vec<Panel> {
    let mut panels: Vec<(Vec<Option<&String>>, Panel)> = Vec::new();
    for member in comparison.configurations.iter().filter(|member| member.id != comparison.baseline)
    {
        let others = comparison.axes.iter().filter(|axis| *axis != along);
        let shared: Vec<Option<&String>> = others.map(|axis| member.settings.get(axis)).collect();
        let head = member
            .settings
            .get(along)
            .map_or_else(|| "–".to_string(), |value| numbers::spaced_sizes(value));
        let column = (member.id.clone(), head);
        match panels.iter_mut().find(|(known, _)| *known == shared) {
            Some((_, panel)) => panel.columns.push(column),
            None => {
                let name = shared
                    .iter()
                    .flatten()
                    .map(|value| numbers::spaced_sizes(value))
                    .collect::<Vec<_>>()
                    .join(" ");
                panels.push((shared, Panel { name, axis: along.clone(), columns: vec![column] }));
            }
        }
    }
    panels.into_iter().map(|(_, panel)| panel).collect()
}

/// The figure of a cell with its unit.
pub(crate) fn figure(
    comparison: &Comparison,
    configuration: &str,
    workload: &str,
) -> Option<String> {
    let metric = comparison.cell(configuration, workload)?.metrics.first()?;
    let unit = numbers::unit(&metric.name);
    Some(format!("{} {}", numbers::figure(metric.median, metric.interval, unit), unit.name))
}

/// The ratio of a cell with its mark, its figure when there is none to compare it with, a dash when
/// there is neither; then `!` when any trial that it rests on is doubtful, also one of the
/// baseline.
pub(crate) fn heat_text(comparison: &Comparison, configuration: &str, workload: &str) -> String {
    let cell = comparison.cell(configuration, workload);
    let versus = cell
        .and_then(|cell| cell.metrics.first())
        .and_then(|metric| metric.versus_baseline.as_ref());
    let text = versus.map_or_else(
        || figure(comparison, configuration, workload).unwrap_or_else(|| "–\u{2007}".into()),
        |versus| {
            format!(
                "{}{}",
                numbers::ratio(versus.gain(), versus.gain_interval()),
                numbers::mark(versus)
            )
        },
    );
    let baseline = versus.and_then(|_| comparison.cell(&comparison.baseline, workload));
    let doubtful = [cell, baseline].into_iter().flatten().any(|cell| !cell.flags.is_empty());
    if doubtful { format!("{}!", text.trim_end()) } else { text }
}

/// Ratio of each workload in each configuration of a panel.
pub(crate) fn heat(run: &Run, comparison: &Comparison, panel: &Panel) -> Table {
    let row = |workload: &Workload| {
        let ratios = panel
            .columns
            .iter()
            .map(|(configuration, _)| heat_text(comparison, configuration, &workload.name));
        let cell = comparison.cell(&comparison.baseline, &workload.name);
        let baseline = cell
            .and_then(|cell| charts::operations(workload, cell))
            .or_else(|| figure(comparison, &comparison.baseline, &workload.name))
            .unwrap_or_else(|| "–".into());
        [numbers::workload(&workload.name), baseline].into_iter().chain(ratios).collect()
    };
    let shared = if panel.name.is_empty() { String::new() } else { format!("{}, ", panel.name) };
    Table {
        caption: say!(
            RATIO_TABLE,
            baseline = label(comparison, &comparison.baseline),
            axis = panel.axis,
            shared = shared,
            place = comparison_title(comparison),
            raced = if comparison.configurations.iter().any(|member| member.stage.is_some()) {
                say!(RACED_ONLY)
            } else {
                String::new()
            },
        ),
        columns: [words(say!(WORKLOAD)), number(label(comparison, &comparison.baseline))]
            .into_iter()
            .chain(panel.columns.iter().map(|(_, head)| number(head.clone())))
            .collect(),
        rows: run.plan.workloads.iter().map(row).collect(),
    }
}

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
                cell.map_or_else(String::new, charts::figures)
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

/// Every cell of a comparison by its workload's own metric.
pub(crate) fn cells(run: &Run, comparison: &Comparison) -> Table {
    let mut rows = Vec::new();
    for workload in &run.plan.workloads {
        for member in &comparison.configurations {
            let Some(cell) = comparison.cell(&member.id, &workload.name) else { continue };
            let metric = cell.metrics.first();
            if metric.is_none() && cell.flags.is_empty() {
                continue;
            }
            let versus = metric.and_then(|metric| metric.versus_baseline.as_ref());
            let trials = metric.map_or(0, |metric| metric.trials + metric.silent);
            let voting = metric.map_or(0, |metric| metric.trials);
            let flags = cell.flags.iter().map(|counted| {
                let flag = doubts::doubt_sentence(&counted.doubt);
                match trials {
                    0 => flag,
                    _ => say!(FLAG_OF, flag = flag, count = counted.trials, trials = trials),
                }
            });
            rows.push(vec![
                numbers::workload(&workload.name),
                label(comparison, &member.id),
                if voting == trials {
                    trials.to_string()
                } else {
                    say!(TRIALS_VOTING, trials = trials, voting = voting)
                },
                metric.map_or_else(String::new, |metric| numbers::spoken(&metric.name)),
                figure(comparison, &member.id, &workload.name).unwrap_or_else(|| "–".into()),
                metric.map_or_else(String::new, |metric| {
                    numbers::figure_interval(
                        metric.median,
                        metric.interval,
                        numbers::unit(&metric.name),
                    )
                }),
                versus.map_or_else(String::new, |versus| {
                    numbers::ratio(versus.ratio, versus.shown_interval())
                }),
                versus.map_or_else(String::new, |versus| {
                    numbers::ratio_interval(versus.ratio, versus.shown_interval())
                }),
                metric.map_or_else(|| say!(NOT_MEASURED), numbers::metric_answer),
                flags.collect::<Vec<_>>().join("; "),
            ]);
        }
    }
    let columns = vec![
        words(say!(WORKLOAD)),
        words(say!(CONFIGURATION)),
        number(say!(TRIALS_HEAD)),
        words(say!(JUDGED)),
        number(say!(MEDIAN)),
        number(say!(INTERVAL_95)),
        number(say!(RATIO)),
        number(say!(ITS_INTERVAL)),
        words(say!(ANSWER)),
        words(say!(FLAGS)),
    ];
    Table { caption: say!(EVERY_CELL_OF, place = comparison_title(comparison)), columns, rows }
}

/// How far each block lay from the run's median.
pub(crate) fn block_effects(comparison: &Comparison) -> Table {
    Table {
        caption: say!(BLOCK_TABLE, place = comparison_title(comparison)),
        columns: vec![number(say!(BLOCK)), number(say!(CHANGE))],
        rows: comparison
            .block_effects
            .iter()
            .map(|effect| {
                vec![(effect.block + 1).to_string(), format!("{:+.2}", effect.change * 100.0)]
            })
            .collect(),
    }
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
