//! What the charts show, as plain values: one list behind the drawing and behind its table.

use std::collections::HashMap;

use results::Settings;
use results::analysis::{Analysis, Cell, Comparison, Member, Metric, Score};
use results::claim::Answer;
use results::safety::Grade;
use results::shape;
use results::types::{Run, Workload};

use crate::doubts;
use crate::numbers::{self, Unit};
use crate::safety;
use crate::table::{self, Panel};

/// Most lines of one chart that a reader tells apart.
pub(crate) const SERIES_TOLD_APART: usize = 8;
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

fn with_unit(metric: &Metric, unit: Unit) -> String {
    numbers::with_unit(metric.median, metric.interval, unit)
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
        text: with_unit(metric, unit),
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
        let mut cells = comparison.cells.iter().filter(|cell| cell.workload == workload.name);
        let (first, shown) = cells.find_map(|cell| Some((cell, cell.metrics.first()?)))?;
        let unit = table::unit(comparison, first, shown);
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
            metric: table::judged_by(unit, shown),
            unit: unit.name,
            axis: axis.clone(),
            values: values.clone(),
            grows: values.iter().all(|value| is_amount(value)),
            series: panels.iter().map(series).collect(),
            baseline: baseline
                .and_then(|baseline| own(baseline))
                .map(|(_, metric)| (numbers::scaled(metric.median, unit), with_unit(metric, unit))),
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
    let mut points: Vec<Point<'_>> = Vec::new();
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
    let of_one = |access| curves(run, analysis, access, &points);
    accesses.into_iter().filter_map(of_one).collect()
}

/// A measured point of a load curve: access, name of the curve, depth, cell.
type Point<'a> = (&'a str, String, u32, &'a Cell);

/// The curves of one access; none where all are of one depth, where nothing was timed, or where
/// there are more than can be told apart.
fn curves(run: &Run, analysis: &Analysis, access: &str, points: &[Point<'_>]) -> Option<Load> {
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
    let unit = |name: &str| match analysis.comparisons.first() {
        Some(comparison) => numbers::unit_in(comparison, name),
        None => numbers::unit(name),
    };
    let figure = |cell: &Cell, name: &str| {
        let metric = cell.metrics.iter().find(|metric| metric.name == name)?;
        Some((metric.clone(), mark(run, cell, metric, unit(name))))
    };
    // Workloads without bytes have their operations alone; small random ones are known by them.
    let has_rate = own.iter().any(|(.., cell)| figure(cell, RATE).is_some());
    let is_counted = analysis.comparisons.iter().any(|one| {
        let unit = |cell: &Cell| Some(table::unit(one, cell, cell.metrics.first()?));
        own.iter().filter_map(|(.., cell)| unit(cell)).any(Unit::is_operations)
    });
    let rated = if has_rate && !is_counted { RATE } else { OPERATIONS };
    let timed = own.iter().any(|(.., cell)| figure(cell, LATENCY).is_some());
    if depths.len() < 2 || !timed || names.len() > SERIES_TOLD_APART {
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
            unit: unit(metric).name,
            axis: "depth".to_owned(),
            values: depths.iter().map(u32::to_string).collect(),
            grows: true,
            series: series.collect(),
            baseline: None,
        }
    };
    Some(Load { rate: lines(rated), latency: lines(LATENCY), access: called })
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
    /// What they are given in, `ms` or `us`.
    pub(crate) unit: &'static str,
    /// Those of the configurations, in the plan's order.
    pub(crate) series: Vec<Percentiles>,
}

/// Of what is taken beside the baseline: each workload in which a percentile of the one is surely
/// another than that of the other, where three or more were recorded.
pub(crate) fn tails(run: &Run, comparison: &Comparison) -> Vec<Tails> {
    let headline = comparison.overall().map(|kind| &kind.headline);
    let take = headline.and_then(|headline| headline.take.as_ref());
    let Some(take) = take.filter(|take| **take != comparison.baseline) else { return Vec::new() };
    let members = [&comparison.baseline, take];
    let unit = numbers::unit_in(comparison, TAIL);
    let of = |workload: &Workload| {
        let find = |configuration: &str, name: &str| {
            let cell = comparison.cell(configuration, &workload.name)?;
            cell.metrics.iter().find(|metric| metric.name == name)
        };
        let shown: Vec<(&'static str, &'static str)> = PERCENTILES
            .into_iter()
            .filter(|(_, metric)| members.iter().any(|one| find(one, metric).is_some()))
            .collect();
        let differs = |(_, metric): &(&str, &str)| find(take, metric).is_some_and(is_decided);
        let series = |id: &&String| {
            let found: Vec<Option<&Metric>> =
                shown.iter().map(|(_, metric)| find(id, metric)).collect();
            let value = |metric: &&Metric| numbers::scaled(metric.median, unit);
            let text = |metric: &&Metric| numbers::figure(metric.median, metric.interval, unit);
            found.iter().any(Option::is_some).then(|| Percentiles {
                name: table::label(comparison, id),
                is_baseline: **id == comparison.baseline,
                values: found.iter().map(|metric| metric.as_ref().map(value)).collect(),
                texts: found.iter().map(|metric| metric.as_ref().map(text)).collect(),
            })
        };
        let series: Vec<Percentiles> = members.iter().filter_map(series).collect();
        (shown.len() >= 3 && shown.iter().any(differs)).then(|| Tails {
            name: numbers::workload(&workload.name),
            heads: shown.iter().map(|(head, _)| *head).collect(),
            unit: unit.name,
            series,
        })
    };
    run.plan.workloads.iter().filter_map(of).collect()
}

/// A configuration in speed and grade.
pub(crate) struct GradedConfiguration<'a> {
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

impl GradedConfiguration<'_> {
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
pub(crate) fn graded<'a>(
    analysis: &Analysis,
    comparison: &'a Comparison,
) -> Vec<GradedConfiguration<'a>> {
    let Some(all) = comparison.whole.as_ref().or(comparison.kinds.last()) else {
        return Vec::new();
    };
    let graded = |score: &'a Score| {
        let id = &score.configuration;
        let own = analysis.safety.iter().find(|safety| safety.configuration == *id)?;
        let whole = own.whole.as_ref()?;
        Some(GradedConfiguration {
            name: table::label(comparison, id),
            grade: whole.grade,
            sentence: safety::sentence(whole),
            score,
            is_baseline: *id == comparison.baseline,
        })
    };
    let mut all: Vec<GradedConfiguration<'a>> = all.scores.iter().filter_map(graded).collect();
    all.sort_by(|one, other| {
        let speed = other.score.ratio.total_cmp(&one.score.ratio);
        one.grade.cmp(&other.grade).then(speed)
    });
    if all.len() < 2 { Vec::new() } else { all }
}

/// What the members of a configuration moved.
pub(crate) struct Traffic {
    /// The configuration's label.
    pub(crate) name: String,
    /// Of each member, bytes read and bytes written by all trials together.
    pub(crate) members: Vec<[f64; 2]>,
    /// The most that members read and wrote for a byte of a workload, of all workloads: medians.
    pub(crate) ratios: [Option<f64>; 2],
}

/// Of each configuration of a comparison whose members were counted.
pub(crate) fn traffic(run: &Run, comparison: &Comparison) -> Vec<Traffic> {
    let mut sums: HashMap<&Settings, Vec<[f64; 2]>> = HashMap::new();
    for trial in run.trials.iter().filter(|trial| !trial.members.is_empty()) {
        let members = sums.entry(&trial.settings).or_default();
        if members.len() < trial.members.len() {
            members.resize(trial.members.len(), [0.0, 0.0]);
        }
        for (sum, one) in members.iter_mut().zip(&trial.members) {
            sum[0] += one.read_bytes as f64;
            sum[1] += one.written_bytes as f64;
        }
    }
    let of_one = |member: &Member| {
        let members = sums.get(&Settings::from(member.settings.clone()))?.clone();
        let cells = comparison.cells.iter().filter(|cell| cell.configuration == member.id);
        let metrics: Vec<&Metric> = cells.flat_map(|cell| &cell.metrics).collect();
        let most = |name: &str| {
            let known = metrics.iter().filter(|metric| metric.name == name);
            known.map(|metric| metric.median).reduce(f64::max)
        };
        let has_moved = members.iter().any(|[read, written]| *read + *written > 0.0);
        has_moved.then(|| Traffic {
            name: table::label(comparison, &member.id),
            members,
            ratios: [most("member_read_ratio"), most("member_write_ratio")],
        })
    };
    comparison.configurations.iter().filter_map(of_one).collect()
}

/// All figures of a cell in one line, with units: `75.0 IO/s, 1.23 MB/s, 13.3 ms (p99 21.2 ms)`,
/// and what is doubtful about them.
pub(crate) fn figures(comparison: &Comparison, cell: &Cell) -> String {
    let find = |name: &str| cell.metrics.iter().find(|metric| metric.name == name);
    let plain = |metric: &Metric| with_unit(metric, numbers::unit_in(comparison, &metric.name));
    let flags = cell.flags.iter();
    let Some(own) = cell.metrics.first() else {
        return flags.map(|one| doubts::doubt_sentence(&one.doubt)).collect::<Vec<_>>().join("; ");
    };
    let mut parts = vec![with_unit(own, table::unit(comparison, cell, own))];
    // The same rate as the one that it is judged by, in the other unit.
    let other = |metric: &&Metric| {
        numbers::unit(&metric.name).name != table::unit(comparison, cell, own).name
    };
    parts.extend([RATE, OPERATIONS].into_iter().filter_map(find).find(other).map(plain));
    let tail = find(TAIL).filter(|metric| metric.name != own.name).map(plain);
    match (find(LATENCY).filter(|metric| metric.name != own.name), tail) {
        (Some(mean), Some(tail)) => parts.push(format!("{} (p99 {tail})", plain(mean))),
        (Some(mean), None) => parts.push(plain(mean)),
        (None, Some(tail)) => parts.push(format!("p99 {tail}")),
        (None, None) => {}
    }
    parts.extend(find("cpu_ratio").map(|metric| format!("CPU {}", plain(metric))));
    parts.extend(flags.map(|counted| format!("! {}", doubts::name(&counted.doubt))));
    parts.join(", ")
}
