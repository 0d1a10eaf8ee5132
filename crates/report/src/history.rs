//! One figure over many runs, as a picture and as the cells of a table.

use maud::{Markup, PreEscaped, html};
use results::analysis::LatencyRange;
use results::history::{Point, Series};
use results::statistics::STEP_VALUES_MIN;

use crate::measure::{Face, fitted};
use crate::numbers::{self, Unit};
use crate::svg::{Decades, px};
use crate::words::say;

const WIDTH: f64 = 760.0;
const PANEL: f64 = 132.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 16.0;

/// The colours are those of the page; a picture is seen without it.
const STYLE: &str = "svg { background: #fff; font: 11px sans-serif } text { fill: #56616b } .head { \
    fill: #1c2126; font-weight: 600 } .grid { stroke: #e6eaed } .line { fill: none; stroke: #0072b2; \
    stroke-width: 1.6 } .dot { fill: #0072b2 } .change { stroke: #b35900; stroke-dasharray: 4 3 } \
    .told { fill: #b35900 } @media (prefers-color-scheme: dark) { svg { background: #1c2126 } text { \
    fill: #a6b0b9 } .head { fill: #e8ebee } .grid { stroke: #313940 } .line { stroke: #5cb8ee } .dot \
    { fill: #5cb8ee } .change { stroke: #f0a54a } .told { fill: #f0a54a } }";

/// The heads of the cells of [`history_row`]; those at 3, 4 and 5 are numbers.
#[must_use]
pub fn history_head() -> [String; 7] {
    [
        say!(WORKLOAD),
        say!(CONFIGURATION),
        say!(HISTORY_METRIC),
        say!(HISTORY_RUNS),
        say!(HISTORY_FIRST),
        say!(HISTORY_LAST),
        say!(HISTORY_CHANGE),
    ]
}

/// A series in words: the medians of its first and last run in units, and where it changed.
#[must_use]
pub fn history_row(series: &Series) -> [String; 7] {
    let unit = unit_of(series);
    let shown = |point: Option<&Point>| {
        point.map_or_else(
            || "-".to_owned(),
            |point| {
                let figure = numbers::figure(point.median, point.interval, unit);
                format!("{figure} {}", unit.name)
            },
        )
    };
    let change = match &series.change {
        Some(change) => say!(
            CHANGED_FROM,
            percent = format_args!("{:+.1}", (change.ratio - 1.0) * 100.0),
            run = series.points[change.from].run,
            p = format_args!("{:.3}", change.p),
        ),
        None if series.points.len() < STEP_VALUES_MIN => {
            say!(TOO_FEW_RUNS, needed = STEP_VALUES_MIN)
        }
        None => say!(NO_SURE_CHANGE),
    };
    [
        numbers::workload(&series.workload),
        named(series),
        numbers::spoken(&series.metric),
        series.points.len().to_string(),
        shown(series.points.first()),
        shown(series.points.last()),
        change,
    ]
}

/// The configuration, and what was not as in the latest run.
fn named(series: &Series) -> String {
    let configuration = numbers::spaced_sizes(&series.configuration);
    let mut others: Vec<String> = series
        .differing
        .iter()
        .take(CONDITIONS_SHOWN)
        .map(|one| match one.second.as_str() {
            "" => say!(WITHOUT_CONDITION, name = one.name),
            value => format!("{} {value}", one.name),
        })
        .collect();
    let rest = series.differing.len() - others.len();
    if rest > 0 {
        others.push(say!(MORE_NAMES, count = rest));
    }
    if others.is_empty() {
        configuration
    } else {
        format!("{configuration} ({})", others.join("; "))
    }
}

/// Longest list of conditions beside a name.
const CONDITIONS_SHOWN: usize = 2;

/// A panel for each series, the oldest run on the left, on a logarithmic axis; a broken line stands
/// where it changed.
#[must_use]
pub fn history_svg(series: &[Series]) -> String {
    let height = PANEL * series.len() as f64 + 8.0;
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox=(format!("0 0 {WIDTH} {height}"))
            width=(WIDTH) height=(height) {
            title { (say!(FIGURE_OVER_RUNS)) }
            style { (PreEscaped(STYLE)) }
            @for (place, one) in series.iter().enumerate() { (panel(one, PANEL * place as f64)) }
        }
    };
    format!("{}\n", escape::text(&svg.into_string()))
}

/// All points of a series have one unit.
fn unit_of(series: &Series) -> Unit {
    let largest = series.points.iter().map(|point| point.median).fold(0.0, f64::max);
    let largest = LatencyRange { mean_max_seconds: largest, p99_max_seconds: largest };
    numbers::unit_up_to(largest, &series.metric)
}

fn panel(series: &Series, top: f64) -> Markup {
    let unit = unit_of(series);
    let values: Vec<f64> =
        series.points.iter().map(|point| numbers::scaled(point.median, unit)).collect();
    let scale = Decades::new(values.iter().copied(), top + 104.0, top + 30.0);
    let last = (values.len().max(2) - 1) as f64;
    let x = |place: f64| LEFT + 8.0 + (RIGHT - LEFT - 16.0) * place / last;
    let points: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(place, value)| format!("{} {}", px(x(place as f64)), px(scale.place(*value))))
        .collect();
    let name = format!(
        "{}, {}: {}, {}",
        named(series),
        numbers::workload(&series.workload),
        numbers::spoken(&series.metric),
        unit.name
    );
    let day = |started: &str| started.split('T').next().unwrap_or_default().to_owned();
    let ends = [series.points.first(), series.points.last()];
    html! {
        text.head x="8" y=(px(top + 18.0)) { (fitted(&name, Face::Bold, WIDTH - 16.0)) }
        @for tick in scale.ticks(22.0) {
            line.grid x1=(px(LEFT)) x2=(px(RIGHT)) y1=(px(scale.place(tick)))
                y2=(px(scale.place(tick))) {}
            text x=(px(LEFT - 6.0)) y=(px(scale.place(tick) + 4.0)) text-anchor="end" {
                (numbers::plain(tick)) }
        }
        @if let Some(change) = &series.change {
            @let at = x(change.from as f64 - 0.5);
            line.change x1=(px(at)) x2=(px(at)) y1=(px(top + 26.0)) y2=(px(top + 108.0)) {}
            text.told x=(px(at)) y=(px(top + 122.0)) text-anchor="middle" {
                (format!("{:+.1} %", (change.ratio - 1.0) * 100.0)) }
        }
        path.line d=(format!("M{}", points.join("L"))) {}
        @for (place, value) in values.iter().enumerate() {
            circle.dot cx=(px(x(place as f64))) cy=(px(scale.place(*value))) r="3" {
                title { (format!("{}: {}", series.points[place].run,
                    numbers::figure(series.points[place].median, series.points[place].interval,
                        unit))) }
            }
        }
        @if let [Some(first), Some(last)] = ends {
            text x=(px(LEFT)) y=(px(top + 122.0)) { (day(&first.started)) }
            text x=(px(RIGHT)) y=(px(top + 122.0)) text-anchor="end" { (day(&last.started)) }
        }
    }
}
