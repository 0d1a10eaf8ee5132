//! One table model behind the terminal, Markdown and the page.

use results::analysis::{Cell, Comparison, KindResult, Metric, Score};
use results::claim::Claim;
use results::types::{Group, Run, Workload};

use crate::numbers::{self, Unit};
use crate::words::{names, say};

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
    let name = names::settings(&numbers::spaced_sizes(&comparison.name));
    let modelled = if comparison.modelled { figures(comparison) } else { String::new() };
    let parts: Vec<&str> =
        [name.as_str(), modelled.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
    match parts.is_empty() {
        true => say!(ALL_CONFIGURATIONS_SMALL),
        false => parts.join(&say!(BETWEEN_PLACES)),
    }
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

/// Most axes that the head of a comparison names.
const SUBJECT_AXES_MAX: usize = 3;

/// What is compared with what: `raid0 by chunk, against single`.
pub(crate) fn comparison_subject(comparison: &Comparison) -> String {
    let shared = comparison
        .shared
        .iter()
        .map(|value| numbers::spaced_sizes(value))
        .collect::<Vec<_>>()
        .join(" ");
    let by = match comparison.axes.len() {
        0 => String::new(),
        1..=SUBJECT_AXES_MAX => {
            let axes: Vec<String> = comparison.axes.iter().map(|axis| names::axis(axis)).collect();
            say!(SUBJECT_BY, axes = axes.join(&say!(AND)))
        }
        count => say!(SUBJECT_BY_MANY, count = count),
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

/// The scores of a comparison: of each kind of work where there are several, then of all of it with
/// the interval and what that comes to.
pub(crate) fn scores(comparison: &Comparison) -> Option<Table> {
    let mut kinds: Vec<&KindResult> = comparison.results().collect();
    let whole = kinds.pop().filter(|kind| !kind.scores.is_empty())?;
    kinds.retain(|kind| !kind.scores.is_empty());
    let decimals = |kind: &KindResult| {
        let scores = kind.scores.iter().filter(|one| one.configuration != comparison.baseline);
        numbers::column_decimals(scores.map(|one| (one.ratio, one.interval())))
    };
    let figures = |kind: &KindResult, score: &Score| match &score.versus_baseline {
        None => ["1".to_owned(), String::new()],
        Some(_) => numbers::ratio_in_column(score.ratio, score.interval(), decimals(kind)),
    };
    let of_kind = |kind: &&KindResult, configuration: &str| {
        let Some(score) = kind.score(configuration) else { return "–".to_owned() };
        let [ratio, _] = figures(kind, score);
        let mark = score.versus_baseline.as_ref().map_or("", |claim| numbers::mark(claim));
        format!("{ratio}{}", mark.trim_end())
    };
    let row = |score: &Score| {
        let own = &score.configuration;
        let [ratio, interval] = figures(whole, score);
        let mut cells = vec![label(comparison, own)];
        cells.extend(kinds.iter().map(|kind| of_kind(kind, own)));
        cells.extend([ratio, interval, score_answer(score)]);
        cells.push(if whole.best_set.contains(own) { say!(YES) } else { say!(NO) });
        cells.push(match &score.versus_take {
            None if whole.recommended.as_ref() == Some(own) => say!(RECOMMENDED),
            None => String::new(),
            Some(claim) => numbers::answer(claim),
        });
        cells
    };
    let mut columns = vec![words(say!(CONFIGURATION))];
    columns.extend(kinds.iter().map(|kind| number(format!("{}, ×", numbers::kind(kind.group)))));
    columns.extend([number(say!(SCORE)), number(say!(INTERVAL)), words(say!(AGAINST_BASELINE))]);
    columns.extend([words(say!(BEST_SET)), words(say!(AGAINST_RECOMMENDED))]);
    let (kind, place) = (numbers::kind(whole.group), comparison_title(comparison));
    let caption = say!(SCORE_OF, kind = kind, place = place);
    Some(Table { caption, columns, rows: whole.scores.iter().map(row).collect() })
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

/// Largest requests of work that is spoken of by its operations.
const SMALL_BYTES_MAX: f64 = 65_536.0;

/// The row of CrystalDiskMark that a workload is, whose rates all are in MB/s there, and `read` or
/// `write`.
pub(crate) fn crystal_row(name: &str) -> Option<(&str, &str)> {
    let name = name.rsplit_once(": ").map_or(name, |(_, name)| name);
    let (row, way) = name.rsplit_once(' ')?;
    let is_known = (row.starts_with("SEQ") || row.starts_with("RND")) && row.contains(" Q");
    let is_way = way == "read" || way == "write";
    (is_known && is_way).then_some((row, way))
}

/// The unit that a cell's own figure has wherever it is shown: IO/s for small random work, MB/s for
/// other work that moves bytes and for the rows of CrystalDiskMark, which are known by it.
pub(crate) fn unit(comparison: &Comparison, cell: &Cell, metric: &Metric) -> Unit {
    let plain = numbers::unit_in(comparison, &metric.name);
    if crystal_row(&cell.workload).is_some() {
        return plain;
    }
    let is_random = comparison
        .kinds
        .iter()
        .any(|kind| kind.group == Some(Group::Random) && kind.workloads.contains(&cell.workload));
    let median = |name: &str| {
        let known = cell.metrics.iter().find(|metric| metric.name == name);
        known.map(|metric| metric.median)
    };
    let bytes = median("throughput_bytes_per_second").zip(median("io_per_second"));
    // Of requests of one size: what is not a whole number comes from rounding.
    let bytes = bytes.map(|(bytes, requests)| (bytes / requests).round());
    match bytes.filter(|bytes| (1.0..=SMALL_BYTES_MAX).contains(bytes)) {
        Some(bytes) if is_random && metric.name.ends_with("throughput_bytes_per_second") => {
            Unit::operations(bytes)
        }
        _ => plain,
    }
}

/// What a cell's own figure is called: `durable operations` where that is its unit.
pub(crate) fn judged_by(unit: Unit, metric: &Metric) -> String {
    // Rates of bytes alone have another unit for some workloads.
    let counted = unit.is_operations() && metric.name.ends_with("bytes_per_second");
    match (counted, metric.name.starts_with("durable_")) {
        (false, _) => numbers::spoken(&metric.name),
        (true, false) => say!(OPERATIONS),
        (true, true) => say!(DURABLE_OPERATIONS),
    }
}

/// The figure of a cell with its unit.
pub(crate) fn figure(
    comparison: &Comparison,
    configuration: &str,
    workload: &str,
) -> Option<String> {
    let cell = comparison.cell(configuration, workload)?;
    let metric = cell.metrics.first()?;
    let unit = unit(comparison, cell, metric);
    Some(numbers::with_unit(metric.median, metric.interval, unit))
}

/// The claim of a cell's own figure against the baseline.
fn versus<'a>(
    comparison: &'a Comparison,
    configuration: &str,
    workload: &str,
) -> Option<&'a Claim> {
    comparison.cell(configuration, workload)?.metrics.first()?.versus_baseline.as_ref()
}

/// The ratio of a cell with its mark, its figure when there is none to compare it with, a dash when
/// there is neither; then `!` when any trial that it rests on is doubtful, also one of the
/// baseline.
fn heat_text(
    comparison: &Comparison,
    configuration: &str,
    workload: &str,
    decimals: usize,
) -> String {
    let cell = comparison.cell(configuration, workload);
    let versus = versus(comparison, configuration, workload);
    let text = versus.map_or_else(
        || figure(comparison, configuration, workload).unwrap_or_else(|| "–\u{2007}".into()),
        |versus| {
            let [ratio, _] = numbers::ratio_in_column(versus.gain(), None, decimals);
            format!("{ratio}{}", numbers::mark(versus))
        },
    );
    let baseline = versus.and_then(|_| comparison.cell(&comparison.baseline, workload));
    let doubtful = [cell, baseline].into_iter().flatten().any(|cell| !cell.flags.is_empty());
    if doubtful { format!("{}!", text.trim_end()) } else { text }
}

/// Rows of a map: each workload with the baseline's figure and the ratios of a panel.
pub(crate) fn heat_rows(run: &Run, comparison: &Comparison, panel: &Panel) -> Vec<Vec<String>> {
    let ids = || panel.columns.iter().map(|(configuration, _)| configuration);
    let workloads = &run.plan.workloads;
    let claims = workloads
        .iter()
        .flat_map(|one| ids().filter_map(move |id| versus(comparison, id, &one.name)));
    let decimals =
        numbers::column_decimals(claims.map(|claim| (claim.gain(), claim.gain_interval())));
    let row = |workload: &Workload| {
        let ratios = ids().map(|id| heat_text(comparison, id, &workload.name, decimals));
        let baseline = figure(comparison, &comparison.baseline, &workload.name);
        let baseline = baseline.unwrap_or_else(|| "–".into());
        [numbers::workload(&workload.name), baseline].into_iter().chain(ratios).collect()
    };
    workloads.iter().map(row).collect()
}

/// Ratio of each workload in each configuration of a panel.
pub(crate) fn heat(run: &Run, comparison: &Comparison, panel: &Panel) -> Table {
    let shared = if panel.name.is_empty() { String::new() } else { format!("{}, ", panel.name) };
    Table {
        caption: say!(
            RATIO_TABLE,
            baseline = label(comparison, &comparison.baseline),
            axis = names::axis(&panel.axis),
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
        rows: heat_rows(run, comparison, panel),
    }
}
