//! `summary.csv`: one row for each cell and metric, as RFC 4180 has it. Figures are in base units
//! with nine significant digits: more than any measurement has, and the same on every machine. The
//! raw figures are in `trials.jsonl`.

use results::analysis::{Analysis, Cell, Comparison, Metric};
use results::claim::Claim;
use results::types::Run;

use crate::numbers;
use crate::words::{self, Language};

/// One row for each cell and metric: the axes, then
/// `workload,metric,trials,median,low,high,ratio,ratio_low,ratio_high,verdict`. A field without a
/// value is empty.
///
/// Pull tests follow, with the counts of all their trials together in the place of a median, or the
/// longest time of all, and their grade in that of a verdict; a hunt's metrics begin with `hunt_`.
#[must_use]
pub fn csv(run: &Run, analysis: &Analysis) -> String {
    // Programs read the same whatever the language.
    words::in_language(Language::English, || table(run, analysis))
}

fn table(run: &Run, analysis: &Analysis) -> String {
    let mut text = String::new();
    let axes = run.plan.axes.iter().map(|axis| axis.name.clone());
    let fixed = [
        "workload",
        "metric",
        "trials",
        "median",
        "low",
        "high",
        "ratio",
        "ratio_low",
        "ratio_high",
        "verdict",
    ];
    line(&mut text, axes.chain(fixed.map(String::from)).map(Field::Text));
    for (comparison, cell, metric) in rows(analysis) {
        let member =
            comparison.configurations.iter().find(|member| member.id == cell.configuration);
        let axes = run.plan.axes.iter().map(|axis| {
            member.and_then(|member| member.settings.get(&axis.name)).cloned().unwrap_or_default()
        });
        let named = axes.chain([cell.workload.clone(), metric.name.clone()]).map(Field::Text);
        let trials = Field::Figure(Some(metric.trials as f64));
        let figures = figures(metric)
            .map(|figure| Field::Figure(figure.map(|figure| significant(figure, 9))));
        line(&mut text, named.chain([trials]).chain(figures).chain([Field::Text(word(metric))]));
    }
    for safety in &analysis.safety {
        for row in &safety.rows {
            let whole = row.whole.iter().map(|whole| (whole, whole.tally.metrics()));
            let hunt = row.hunt.iter().map(|whole| (whole, whole.tally.hunt_metrics()));
            for (whole, metrics) in whole.chain(hunt) {
                for (name, figure) in metrics.iter() {
                    let axes =
                        run.plan.axes.iter().map(|axis| {
                            safety.settings.get(&axis.name).cloned().unwrap_or_default()
                        });
                    let named =
                        axes.chain([row.workload.clone(), name.to_owned()]).map(Field::Text);
                    let figures = [Some(row.trials as f64), Some(significant(figure, 9))];
                    let empty = [None; 5];
                    let figures = figures.into_iter().chain(empty).map(Field::Figure);
                    let grade = Field::Text(whole.grade.to_string());
                    line(&mut text, named.chain(figures).chain([grade]));
                }
            }
        }
    }
    text
}

/// Every metric of every cell that has trials, in the plan's order.
pub(crate) fn rows(analysis: &Analysis) -> impl Iterator<Item = (&Comparison, &Cell, &Metric)> {
    let cells = analysis
        .comparisons
        .iter()
        .flat_map(|comparison| comparison.cells.iter().map(move |cell| (comparison, cell)));
    cells.flat_map(|(comparison, cell)| {
        cell.metrics.iter().map(move |metric| (comparison, cell, metric))
    })
}

/// Median, its interval, ratio, its interval.
pub(crate) fn figures(metric: &Metric) -> [Option<f64>; 6] {
    let versus = metric.versus_baseline.as_ref();
    let ratio = versus.and_then(Claim::shown_interval);
    [
        Some(metric.median),
        metric.interval.map(|interval| interval.low),
        metric.interval.map(|interval| interval.high),
        versus.map(|versus| versus.ratio),
        ratio.map(|interval| interval.low),
        ratio.map(|interval| interval.high),
    ]
}

/// A figure rounded to a number of significant digits, of which there must be at least one.
pub(crate) fn significant(figure: f64, digits: usize) -> f64 {
    format!("{figure:.*e}", digits - 1).parse().unwrap_or(figure)
}

/// The bare word of its claim: empty where nothing is asked; of what only raced, how long it did.
pub(crate) fn word(metric: &Metric) -> String {
    match &metric.versus_baseline {
        None => "baseline".to_owned(),
        Some(claim) if claim.better.is_none() => String::new(),
        Some(claim) => numbers::raced(claim).unwrap_or_else(|| claim.answer.word().to_owned()),
    }
}

/// What stands in a cell.
enum Field {
    /// Text from outside, a label or a path: escaped.
    Text(String),
    /// A figure of ours; nothing where there is none. It may begin with a minus, which a text may
    /// not.
    Figure(Option<f64>),
}

fn line(text: &mut String, fields: impl Iterator<Item = Field>) {
    let written = |field: Field| match field {
        Field::Text(text) => escape::csv(&text),
        Field::Figure(figure) => figure.map_or_else(String::new, |figure| figure.to_string()),
    };
    text.push_str(&fields.map(written).collect::<Vec<_>>().join(","));
    text.push_str("\r\n");
}
