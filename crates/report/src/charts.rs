//! What the charts show, as plain values: one list behind the drawing and behind its table.

use std::collections::BTreeMap;

use results::analysis::{Analysis, Cell, Comparison, Metric, Score};
use results::claim::Answer;
use results::safety::Grade;
use results::shape;
use results::types::{Run, Workload};

use crate::numbers::{self, Unit};
use crate::safety;
use crate::table::{self, Panel};

const RATE: &str = "throughput_bytes_per_second";
const OPERATIONS: &str = "io_per_second";
const LATENCY: &str = "latency_mean_seconds";
const TAIL: &str = "latency_p99_seconds";

/// Where a cell stands in the page's list of cells.
pub(crate) fn place(run: &Run, configuration: &str, workload: &str) -> String {
    let plan = &run.plan;
    let row = plan.configurations.iter().position(|known| known.id == configuration);
    let column = plan.workloads.iter().position(|known| known.name == workload);
    row.zip(column).map_or_else(String::new, |(row, column)| format!("{row} {column}"))
}

/// One figure in a chart.
pub(crate) struct Mark {
    /// In the chart's unit.
    pub(crate) value: f64,
    /// Its interval, in the chart's unit.
    pub(crate) interval: Option<[f64; 2]>,
    /// Whether a claim says that it is ahead of its baseline or behind.
    pub(crate) is_decided: bool,
    /// Whether it stands out: the knee of its curve.
    pub(crate) is_knee: bool,
    /// Its cell ([`place`]).
    pub(crate) cell: String,
    /// With its unit.
    pub(crate) text: String,
}

/// Figures that belong together, one for each value along the axis.
pub(crate) struct Series {
    /// What they share; empty where there is one series and nothing to tell apart.
    pub(crate) name: String,
    /// Along the axis; none where nothing was measured.
    pub(crate) marks: Vec<Option<Mark>>,
}

/// Figures by the values of an axis.
pub(crate) struct Lines {
    /// What is shown.
    pub(crate) name: String,
    /// Name of the metric for people.
    pub(crate) metric: String,
    /// Unit of the figures.
    pub(crate) unit: &'static str,
    /// Name of the axis.
    pub(crate) axis: String,
    /// Its values, as they are printed.
    pub(crate) values: Vec<String>,
    /// Whether these grow, so that a line may join figures; else they are drawn as bars.
    pub(crate) grows: bool,
    /// The figures.
    pub(crate) series: Vec<Series>,
    /// The baseline's, where it is not one of them: in the unit, and as text.
    pub(crate) baseline: Option<(f64, String)>,
}

fn is_decided(metric: &Metric) -> bool {
    let answer = metric.versus_baseline.as_ref().map(|claim| claim.answer);
    matches!(answer, Some(Answer::Ahead | Answer::Behind))
}

fn with_unit(metric: &Metric) -> String {
    let unit = numbers::unit(&metric.name);
    let figure = numbers::figure(metric.median, metric.interval, unit);
    format!("{figure} {}", unit.name).trim_end().to_owned()
}

fn mark(run: &Run, cell: &Cell, metric: &Metric, unit: Unit) -> Mark {
    Mark {
        value: numbers::scaled(metric.median, unit),
        interval: metric.interval.map(|interval| {
            [numbers::scaled(interval.low, unit), numbers::scaled(interval.high, unit)]
        }),
        is_decided: is_decided(metric),
        is_knee: false,
        cell: place(run, &cell.configuration, &cell.workload),
        text: with_unit(metric),
    }
}

/// Whether a text is a number, a size or a time, so that it has a place on an axis.
fn is_amount(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

/// What each workload does along the axis that heat maps have along their columns, one line for
/// each panel. Nothing where that axis has one value.
pub(crate) fn by_axis(run: &Run, comparison: &Comparison) -> Vec<Lines> {
    let panels = table::panels(comparison);
    let Some(axis) = panels.first().map(|panel| panel.axis.clone()) else { return Vec::new() };
    let known = run.plan.axes.iter().find(|known| known.name == axis);
    let heads = |panel: &Panel| -> Vec<String> {
        panel.columns.iter().map(|(_, head)| head.clone()).collect()
    };
    let has = |value: &String| panels.iter().any(|panel| heads(panel).contains(value));
    let values: Vec<String> = known
        .into_iter()
        .flat_map(|axis| &axis.values)
        .map(|value| numbers::spaced_sizes(value))
        .filter(has)
        .collect();
    if values.len() < 2 {
        return Vec::new();
    }
    let lines = |workload: &Workload| {
        let shown = comparison
            .configurations
            .iter()
            .find_map(|member| comparison.cell(&member.id, &workload.name)?.metrics.first())?;
        let unit = numbers::unit(&shown.name);
        let own = |configuration: &str| {
            let cell = comparison.cell(configuration, &workload.name)?;
            Some((cell, cell.metrics.first().filter(|metric| metric.name == shown.name)?))
        };
        let series = |panel: &Panel| Series {
            name: panel.name.clone(),
            marks: values
                .iter()
                .map(|value| {
                    let (id, _) = panel.columns.iter().find(|(_, head)| head == value)?;
                    own(id).map(|(cell, metric)| mark(run, cell, metric, unit))
                })
                .collect(),
        };
        let is_column = |id: &String| {
            panels.iter().any(|panel| panel.columns.iter().any(|(column, _)| column == id))
        };
        let baseline = Some(&comparison.baseline).filter(|baseline| !is_column(baseline));
        Some(Lines {
            name: numbers::workload(&workload.name),
            metric: numbers::spoken(&shown.name),
            unit: unit.name,
            axis: axis.clone(),
            values: values.clone(),
            grows: values.iter().all(|value| is_amount(value)),
            series: panels.iter().map(series).collect(),
            baseline: baseline
                .and_then(|baseline| own(baseline))
                .map(|(_, metric)| (numbers::scaled(metric.median, unit), with_unit(metric))),
        })
    };
    run.plan.workloads.iter().filter_map(lines).collect()
}

/// How throughput and latency go with the number of requests outstanding.
pub(crate) struct Load {
    /// What is done.
    pub(crate) access: String,
    /// Throughput by depth.
    pub(crate) rate: Lines,
    /// Mean latency by depth.
    pub(crate) latency: Lines,
}

/// Name of the access and depth of a row of the suite `depth`: `random read 4KiB Q8`.
fn with_depth(workload: &Workload) -> Option<(&str, u32)> {
    let (access, depth) = workload.name.rsplit_once(" Q")?;
    (workload.suite == "depth").then_some(())?;
    Some((access, depth.parse().ok()?))
}

/// Axes of a plan that say how many requests are outstanding.
const DEPTH_AXES: [&str; 2] = ["depth", "workload.depth"];

/// The load curves of a run: of rows that differ in their depth, and of a plan's axis of depths.
pub(crate) fn loads(run: &Run, analysis: &Analysis) -> Vec<Load> {
    let plan = &run.plan;
    let axis = plan.axes.iter().find(|axis| DEPTH_AXES.contains(&axis.name.as_str()));
    // What is the same everywhere tells nothing.
    let differs = |name: &str| {
        let mut values = plan.configurations.iter().map(|known| known.settings.get(name));
        let first = values.next().flatten();
        values.any(|value| value != first)
    };
    let others: Vec<&String> = plan
        .axes
        .iter()
        .map(|known| &known.name)
        .filter(|name| axis.is_none_or(|axis| axis.name != **name) && differs(name))
        .collect();
    // Access, name of the curve, depth, cell.
    let mut points: Vec<(&str, String, u32, &Cell)> = Vec::new();
    for workload in &plan.workloads {
        for configuration in &plan.configurations {
            let mut cells = analysis.comparisons.iter();
            let cell = cells.find_map(|one| one.cell(&configuration.id, &workload.name));
            let Some(cell) = cell.filter(|cell| !cell.metrics.is_empty()) else { continue };
            let settings = &configuration.settings;
            match with_depth(workload) {
                Some((access, depth)) => {
                    let axes = plan.axes.iter().map(|known| &known.name);
                    let name = results::settings_text(axes.filter(|name| differs(name)), settings);
                    points.push((access, name, depth, cell));
                }
                None => {
                    let depth = axis.and_then(|axis| settings.get(&axis.name)?.parse().ok());
                    let Some(depth) = depth else { continue };
                    let name = results::settings_text(&others, settings);
                    points.push((&workload.name, name, depth, cell));
                }
            }
        }
    }
    let mut accesses: Vec<&str> = Vec::new();
    for (access, ..) in &points {
        if !accesses.contains(access) {
            accesses.push(access);
        }
    }
    accesses.into_iter().filter_map(|access| curves(run, access, &points)).collect()
}

/// The curves of one access; none where all are of one depth, or where nothing was timed.
fn curves(run: &Run, access: &str, points: &[(&str, String, u32, &Cell)]) -> Option<Load> {
    let own: Vec<_> = points.iter().filter(|(known, ..)| *known == access).collect();
    let mut depths: Vec<u32> = own.iter().map(|(_, _, depth, _)| *depth).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut names: Vec<&String> = Vec::new();
    for (_, name, ..) in &own {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let figure = |cell: &Cell, name: &str| {
        let metric = cell.metrics.iter().find(|metric| metric.name == name)?;
        Some((metric.clone(), mark(run, cell, metric, numbers::unit(name))))
    };
    // Workloads without bytes have their operations alone.
    let has_rate = own.iter().any(|(.., cell)| figure(cell, RATE).is_some());
    let rated = if has_rate { RATE } else { OPERATIONS };
    let timed = own.iter().any(|(.., cell)| figure(cell, LATENCY).is_some());
    if depths.len() < 2 || !timed {
        return None;
    }
    let called = numbers::workload(access);
    let lines = |metric: &str| {
        let series = names.iter().map(|name| {
            let cells: Vec<Option<&Cell>> = depths
                .iter()
                .map(|depth| {
                    let here = own.iter().find(|(_, known, at, _)| known == *name && at == depth);
                    here.map(|(.., cell)| *cell)
                })
                .collect();
            let pace = |cell: &Option<&Cell>| {
                let both = cell.and_then(|cell| {
                    Some((figure(cell, OPERATIONS)?.0.median, figure(cell, LATENCY)?.0.median))
                });
                both.unwrap_or((0.0, 0.0))
            };
            let knee = shape::knee(&cells.iter().map(pace).collect::<Vec<_>>());
            let marks = cells.iter().enumerate().map(|(index, cell)| {
                let (_, mark) = figure((*cell)?, metric)?;
                Some(Mark { is_knee: knee == Some(index), ..mark })
            });
            Series { name: numbers::spaced_sizes(name), marks: marks.collect() }
        });
        Lines {
            name: called.clone(),
            metric: numbers::spoken(metric),
            unit: numbers::unit(metric).name,
            axis: "depth".to_owned(),
            values: depths.iter().map(u32::to_string).collect(),
            grows: true,
            series: series.collect(),
            baseline: None,
        }
    };
    Some(Load { rate: lines(rated), latency: lines(LATENCY), access: called })
}

/// One configuration in throughput and latency.
pub(crate) struct Point {
    /// Its label.
    pub(crate) name: String,
    /// Rate in the chart's unit.
    pub(crate) rate: f64,
    /// The 99th percentile in milliseconds.
    pub(crate) tail: f64,
    /// Whether no other one is as good in both and better in one.
    pub(crate) is_front: bool,
    /// Whether it is what the others are compared with.
    pub(crate) is_baseline: bool,
    /// Its cell ([`place`]).
    pub(crate) cell: String,
}

/// Throughput against the 99th percentile of the latency, in one workload.
pub(crate) struct Front {
    /// The workload.
    pub(crate) name: String,
    /// Unit of the rates.
    pub(crate) unit: &'static str,
    /// The configurations, in the plan's order.
    pub(crate) points: Vec<Point>,
}

/// The rate that goes with a latency: bytes where they were moved, else operations.
fn rate_and_tail(cell: &Cell) -> Option<(&Metric, &Metric)> {
    let find = |name: &str| cell.metrics.iter().find(|metric| metric.name == name);
    Some((find(RATE).or_else(|| find(OPERATIONS))?, find(TAIL)?))
}

/// Of each workload with at least three configurations that were timed.
pub(crate) fn fronts(run: &Run, comparison: &Comparison) -> Vec<Front> {
    let front = |workload: &Workload| {
        let cells: Vec<(&Cell, &Metric, &Metric)> = comparison
            .configurations
            .iter()
            .filter_map(|member| {
                let cell = comparison.cell(&member.id, &workload.name)?;
                let (rate, tail) = rate_and_tail(cell)?;
                Some((cell, rate, tail))
            })
            .collect();
        let unit = numbers::unit(&cells.first()?.1.name);
        if cells.len() < 3 || cells.iter().any(|(_, rate, _)| rate.name != cells[0].1.name) {
            return None;
        }
        let pairs: Vec<(f64, f64)> =
            cells.iter().map(|(_, rate, tail)| (rate.median, tail.median)).collect();
        let front = shape::front(&pairs);
        let point = |(index, (cell, rate, tail)): (usize, &(&Cell, &Metric, &Metric))| Point {
            name: table::label(comparison, &cell.configuration),
            rate: numbers::scaled(rate.median, unit),
            tail: numbers::scaled(tail.median, numbers::unit(TAIL)),
            is_front: front.contains(&index),
            is_baseline: cell.configuration == comparison.baseline,
            cell: place(run, &cell.configuration, &cell.workload),
        };
        Some(Front {
            name: numbers::workload(&workload.name),
            unit: unit.name,
            points: cells.iter().enumerate().map(point).collect(),
        })
    };
    run.plan.workloads.iter().filter_map(front).collect()
}

/// Percentiles of a latency, from the fastest half to the slowest request, with their metrics.
pub(crate) const PERCENTILES: [(&str, &str); 5] = [
    ("p50", "latency_p50_seconds"),
    ("p90", "latency_p90_seconds"),
    ("p99", TAIL),
    ("p99.9", "latency_p99_9_seconds"),
    ("max", "latency_max_seconds"),
];

/// One configuration's percentiles in one workload.
pub(crate) struct Percentiles {
    /// The configuration's label.
    pub(crate) name: String,
    /// Whether it is what the others are compared with.
    pub(crate) is_baseline: bool,
    /// In milliseconds, for each that is shown; none where it was not recorded.
    pub(crate) values: Vec<Option<f64>>,
    /// The same with their intervals' digits, as they are printed.
    pub(crate) texts: Vec<Option<String>>,
}

/// How long requests of one workload took, from the middle to the slowest.
pub(crate) struct Tails {
    /// The workload.
    pub(crate) name: String,
    /// Names of the percentiles that any configuration has.
    pub(crate) heads: Vec<&'static str>,
    /// Those of the configurations, in the plan's order.
    pub(crate) series: Vec<Percentiles>,
}

/// Of each workload of which three percentiles or more were recorded that are not all the same, as
/// they are where a trial is one request.
pub(crate) fn tails(run: &Run, comparison: &Comparison) -> Vec<Tails> {
    let of = |workload: &Workload| {
        let find = |configuration: &str, name: &str| {
            let cell = comparison.cell(configuration, &workload.name)?;
            cell.metrics.iter().find(|metric| metric.name == name)
        };
        let members = &comparison.configurations;
        let shown: Vec<(&'static str, &'static str)> = PERCENTILES
            .into_iter()
            .filter(|(_, metric)| members.iter().any(|one| find(&one.id, metric).is_some()))
            .collect();
        let series = |member: &results::analysis::Member| {
            let found: Vec<Option<&Metric>> =
                shown.iter().map(|(_, metric)| find(&member.id, metric)).collect();
            let value = |metric: &&Metric| numbers::scaled(metric.median, numbers::unit(TAIL));
            let text = |metric: &&Metric| {
                numbers::figure(metric.median, metric.interval, numbers::unit(TAIL))
            };
            found.iter().any(Option::is_some).then(|| Percentiles {
                name: table::label(comparison, &member.id),
                is_baseline: member.id == comparison.baseline,
                values: found.iter().map(|metric| metric.as_ref().map(value)).collect(),
                texts: found.iter().map(|metric| metric.as_ref().map(text)).collect(),
            })
        };
        let series: Vec<Percentiles> = members.iter().filter_map(series).collect();
        let spreads = |one: &Percentiles| {
            let mut values = one.values.iter().flatten();
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let heads: Vec<&'static str> = shown.iter().map(|(head, _)| *head).collect();
        (heads.len() >= 3 && series.iter().any(spreads)).then(|| Tails {
            name: numbers::workload(&workload.name),
            heads,
            series,
        })
    };
    run.plan.workloads.iter().filter_map(of).collect()
}

/// A configuration in speed and grade.
pub(crate) struct Graded<'a> {
    /// Its label.
    pub(crate) name: String,
    /// Its grade.
    pub(crate) grade: Grade,
    /// The same with what it stands for.
    pub(crate) sentence: String,
    /// Its score of all work together, or of the one kind of work that there is.
    pub(crate) score: &'a Score,
    /// Whether it is what the others are compared with.
    pub(crate) is_baseline: bool,
}

impl Graded<'_> {
    /// Its score as a number.
    pub(crate) fn ratio(&self) -> String {
        match self.is_baseline {
            true => "1".to_owned(),
            false => numbers::ratio(self.score.ratio, self.score.interval()),
        }
    }
}

/// What has a score and a grade, by grade from best to worst, and of each grade the fastest first;
/// nothing where there is one such configuration alone.
pub(crate) fn graded<'a>(analysis: &Analysis, comparison: &'a Comparison) -> Vec<Graded<'a>> {
    let Some(all) = comparison.whole.as_ref().or(comparison.kinds.last()) else {
        return Vec::new();
    };
    let graded = |score: &'a Score| {
        let id = &score.configuration;
        let own = analysis.safety.iter().find(|safety| safety.configuration == *id)?;
        let whole = own.whole.as_ref()?;
        Some(Graded {
            name: table::label(comparison, id),
            grade: whole.grade,
            sentence: safety::sentence(whole),
            score,
            is_baseline: *id == comparison.baseline,
        })
    };
    let mut all: Vec<Graded<'a>> = all.scores.iter().filter_map(graded).collect();
    all.sort_by(|one, other| {
        let speed = other.score.ratio.total_cmp(&one.score.ratio);
        one.grade.cmp(&other.grade).then(speed)
    });
    if all.len() < 2 { Vec::new() } else { all }
}

/// What members moved for one workload.
pub(crate) struct Moved {
    /// The workload.
    pub(crate) workload: String,
    /// Of each member, bytes read and bytes written.
    pub(crate) members: Vec<[f64; 2]>,
    /// Median ratios of what was read and written to the workload's own bytes.
    pub(crate) ratios: [Option<f64>; 2],
}

/// What the members of a configuration moved.
pub(crate) struct Traffic {
    /// The configuration's label.
    pub(crate) name: String,
    /// Of each member, bytes read and bytes written by all trials together.
    pub(crate) members: Vec<[f64; 2]>,
    /// Of each workload that wrote, its name and the bytes that members wrote for each of its own.
    pub(crate) amplification: Vec<(String, f64)>,
    /// Of each workload, what its trials moved.
    pub(crate) workloads: Vec<Moved>,
}

/// Of each configuration of a comparison whose members were counted.
pub(crate) fn traffic(run: &Run, comparison: &Comparison) -> Vec<Traffic> {
    let mut trials: BTreeMap<(&BTreeMap<String, String>, &str), Vec<&results::Trial>> =
        BTreeMap::new();
    for trial in &run.trials {
        trials.entry((&trial.settings, &trial.workload)).or_default().push(trial);
    }
    let mut found = Vec::new();
    for member in &comparison.configurations {
        let mut whole = Traffic {
            name: table::label(comparison, &member.id),
            members: Vec::new(),
            amplification: Vec::new(),
            workloads: Vec::new(),
        };
        for workload in &run.plan.workloads {
            let Some(own) = trials.get(&(&member.settings, workload.name.as_str())) else {
                continue;
            };
            let count = own.iter().map(|trial| trial.members.len()).max().unwrap_or(0);
            let mut moved = vec![[0.0, 0.0]; count];
            for (sum, one) in own.iter().flat_map(|trial| trial.members.iter().enumerate()) {
                moved[sum][0] += one.read_bytes as f64;
                moved[sum][1] += one.written_bytes as f64;
            }
            if whole.members.len() < count {
                whole.members.resize(count, [0.0, 0.0]);
            }
            for (all, own) in whole.members.iter_mut().zip(&moved) {
                all[0] += own[0];
                all[1] += own[1];
            }
            let ratio = |name: &str| {
                let cell = comparison.cell(&member.id, &workload.name)?;
                Some(cell.metrics.iter().find(|metric| metric.name == name)?.median)
            };
            let ratios = [ratio("member_read_ratio"), ratio("member_write_ratio")];
            let workload = numbers::workload(&workload.name);
            whole.amplification.extend(ratios[1].map(|ratio| (workload.clone(), ratio)));
            whole.workloads.push(Moved { workload, members: moved, ratios });
        }
        if whole.members.iter().any(|[read, written]| *read + *written > 0.0) {
            found.push(whole);
        }
    }
    found
}

/// Random work as it is spoken of, by operations and their latency: `78.0 IO/s, 12.8 ms`; none
/// where it is another kind of work, or lacks either.
pub(crate) fn operations(workload: &Workload, cell: &Cell) -> Option<String> {
    let find = |name: &str| cell.metrics.iter().find(|metric| metric.name == name).map(with_unit);
    let is_random = workload.group == results::Group::Random && workload.metric.ends_with(RATE);
    is_random.then_some(())?;
    Some(format!("{}, {}", find(OPERATIONS)?, find(LATENCY)?))
}

/// All figures of a cell in one line, with units: `1.23 MB/s, 75.0 IO/s, 13.3 ms (p99 21.2 ms)`.
pub(crate) fn figures(cell: &Cell) -> String {
    let find = |name: &str| cell.metrics.iter().find(|metric| metric.name == name);
    let Some(own) = cell.metrics.first() else { return String::new() };
    let mut parts = vec![with_unit(own)];
    let operations = find(OPERATIONS).filter(|metric| metric.name != own.name);
    parts.extend(operations.map(with_unit));
    let tail = find(TAIL).filter(|metric| metric.name != own.name).map(with_unit);
    match (find(LATENCY).filter(|metric| metric.name != own.name), tail) {
        (Some(mean), Some(tail)) => parts.push(format!("{} (p99 {tail})", with_unit(mean))),
        (Some(mean), None) => parts.push(with_unit(mean)),
        (None, Some(tail)) => parts.push(format!("p99 {tail}")),
        (None, None) => {}
    }
    parts.extend(find("cpu_ratio").map(|metric| format!("CPU {}", with_unit(metric))));
    if let Some(claim) = &own.versus_baseline {
        let ratio = numbers::ratio(claim.gain(), claim.gain_interval());
        parts.push(format!("{ratio}×{}", numbers::mark(claim).trim_end()));
    }
    parts.join(", ")
}
