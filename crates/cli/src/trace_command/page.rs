//! What `trace show` says as a page of its own, with charts.

use std::fmt::Write;

use trace::{OPERATIONS, RecordedOp};

use super::show::{
    Course, TraceProfile, clock, courses, facts, headline, joined, op_word, operations,
};
use crate::catalogue;
use crate::output::{about, figure};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 180.0;
/// Left, top, right, bottom.
const MARGIN: [f64; 4] = [64.0, 14.0, 96.0, 26.0];
/// Points of a line.
const POINTS: usize = 600;
/// Colours that can be told apart with any eyes (Okabe and Ito).
const COLORS: [&str; 2] = ["#0072b2", "#d55e00"];

const STYLE: &str = "\
body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
color:#222;background:#fff}table{border-collapse:collapse}td,th{padding:.2rem .7rem;\
text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}\
dt{font-weight:600}dd{margin:0 0 .5rem 0}svg{width:100%;height:auto}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}td,th{border-color:#444}\
svg text{fill:#ddd}}";

/// The page.
pub(super) fn page(shown: &TraceProfile<'_>) -> String {
    let title = escape::markup(&headline(shown));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"{}\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
        content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
        <h1>{title}</h1>\n",
        words::language().tag()
    );
    let (head, rows) = operations(shown.profile);
    page += "<table>\n<tr>";
    head.iter().for_each(|cell| page += &format!("<th>{cell}</th>"));
    page += "</tr>\n";
    for row in rows {
        page += "<tr>";
        row.iter().for_each(|cell| page += &format!("<td>{}</td>", escape::markup(cell)));
        page += "</tr>\n";
    }
    page += "</table>\n<dl>\n";
    for (name, fact) in facts(shown) {
        page += &format!("<dt>{name}</dt><dd>{}</dd>\n", escape::markup(&fact));
    }
    page += "</dl>\n";
    if shown.profile.burstiness.is_some() {
        for course in courses(shown.profile) {
            page += &format!("<h2>{}</h2>\n{}", course.title, over_time(&course, shown));
        }
    }
    let heading = catalogue::TRACE_SIZES_HEADING.template();
    page + &format!("<h2>{heading}</h2>\n{}</html>\n", sizes(shown))
}

fn svg(title: &str, inner: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-size=\"12\" role=\"img\"><title>{}</title>\n\
        {inner}</svg>\n",
        escape::markup(title)
    )
}

/// Lines over time, from zero.
fn over_time(course: &Course, shown: &TraceProfile<'_>) -> String {
    let [left, top, right, bottom] = MARGIN;
    let (width, height) = (WIDTH - left - right, HEIGHT - top - bottom);
    let (windows, each) = joined(shown.profile, POINTS);
    let seconds = each as f64 / 1e9;
    let of = |value: fn(&trace::Window, f64) -> f64| -> Vec<f64> {
        windows.iter().map(|window| value(window, seconds)).collect()
    };
    let series: Vec<(&str, Vec<f64>)> =
        course.series.iter().map(|(name, value)| (*name, of(*value))).collect();
    let most = series.iter().flat_map(|(_, values)| values).copied().fold(0.0, f64::max).max(1e-9);
    let x = |number: usize| left + width * (number as f64 + 0.5) / windows.len() as f64;
    let y = |value: f64| top + height * (1.0 - value / most);
    let mut inner = String::new();
    // Writing to a string does not fail.
    for (value, label) in
        [(0.0, "0".to_owned()), (most, format!("{} {}", figure(most), course.unit))]
    {
        let _ = writeln!(
            inner,
            "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{1:.1}\" y2=\"{1:.1}\" stroke=\"#8886\"/>\
            <text x=\"{2:.1}\" y=\"{3:.1}\" text-anchor=\"end\">{label}</text>",
            left + width,
            y(value),
            left - 6.0,
            y(value) + 4.0
        );
    }
    for (number, (name, values)) in series.iter().enumerate() {
        let points: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(number, value)| format!("{:.1},{:.1}", x(number), y(*value)))
            .collect();
        let color = COLORS[number % COLORS.len()];
        let _ = writeln!(
            inner,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>\
            <text x=\"{:.1}\" y=\"{:.1}\" style=\"fill:{color}\">{name}</text>",
            points.join(" "),
            left + width + 8.0,
            top + 12.0 + 16.0 * number as f64
        );
    }
    let _ = writeln!(
        inner,
        "<text x=\"{left}\" y=\"{0:.1}\">0</text><text x=\"{1:.1}\" y=\"{0:.1}\" \
        text-anchor=\"end\">{2}</text>",
        HEIGHT - 8.0,
        left + width,
        clock(each * windows.len() as u64)
    );
    svg(course.title, &inner)
}

/// The usual sizes, a bar each.
fn sizes(shown: &TraceProfile<'_>) -> String {
    let all = OPERATIONS.iter().zip(&shown.profile.operations);
    let bars: Vec<(RecordedOp, String, u64)> = all
        .flat_map(|(op, one)| {
            one.lengths.iter().take(4).map(|(length, count)| {
                (*op, format!("{} {}", op_word(*op), about(*length)), *count)
            })
        })
        .take(10)
        .collect();
    let most = bars.iter().map(|(.., count)| *count).max().unwrap_or(1) as f64;
    let mut inner = String::new();
    for (number, (op, name, count)) in bars.iter().enumerate() {
        let y = 16.0 * number as f64 + 4.0;
        // Writing to a string does not fail.
        let _ = writeln!(
            inner,
            "<text x=\"130\" y=\"{:.1}\" text-anchor=\"end\">{name}</text><rect x=\"138\" \
            y=\"{y:.1}\" width=\"{:.1}\" height=\"12\" fill=\"{}\"/><text x=\"{:.1}\" \
            y=\"{0:.1}\">{count}</text>",
            y + 10.0,
            560.0 * *count as f64 / most,
            COLORS[usize::from(matches!(op, RecordedOp::Write))],
            146.0 + 560.0 * *count as f64 / most,
        );
    }
    svg(catalogue::TRACE_SIZES_TITLE.template(), &inner)
}
