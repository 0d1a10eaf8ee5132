//! Figures by the values of an axis: lines where these grow, bars where they are names; from zero.

use maud::{Markup, html};

use super::frame::{Chart, FromZero, px, sizes};
use crate::charts::{Lines, Mark, SERIES_TOLD_APART};
use crate::measure::{self, Face, fitted};
use crate::numbers;

/// Classes that tell series apart; what is beyond them is soft and has its name in the table.
const CLASSES: [&str; SERIES_TOLD_APART] = ["c0", "c1", "c2", "c3", "c0 d", "c1 d", "c2 d", "c3 d"];

/// Class of a series by its place.
pub(crate) fn class(place: usize) -> &'static str {
    CLASSES.get(place).copied().unwrap_or("cn")
}

/// Room for the values along the axis.
const PLOT: f64 = 236.0;
/// Widest bar.
const BAR_MAX: f64 = 40.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 132.0;
const HEIGHT: f64 = 154.0;
/// Height of a line of a name.
const LINE: f64 = 12.0;
/// Widest word of a name.
const NAME_MAX: f64 = 90.0;

fn small(text: &str) -> f64 {
    measure::width(text, Face::Small)
}

/// A name in lines that take no more than `room` pixels, broken at blanks and behind hyphens; a
/// word that takes more, or [`NAME_MAX`], loses its middle.
fn broken(name: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_inclusive([' ', '-']) {
        let joined = lines.last().map(|line| format!("{line}{word}"));
        match joined.filter(|joined| small(joined.trim_end()) <= room) {
            Some(joined) => *lines.last_mut().expect("it was joined to one") = joined,
            None => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| fitted(line.trim_end(), Face::Small, room.max(NAME_MAX))).collect()
}

/// The chart; `title` says what it shows.
pub(crate) fn lines(chart: &Lines, title: &str) -> Chart {
    let marks = || chart.series.iter().flat_map(|series| series.marks.iter().flatten());
    let ends = marks().map(|mark| mark.interval.map_or(mark.value, |[_, high]| high));
    let most = ends.chain(chart.baseline.iter().map(|(value, _)| *value)).fold(0.0, f64::max);
    let scale = FromZero::new(most, BOTTOM, TOP, 4);
    let unit = fitted(chart.unit, Face::Small, 60.0);
    let left = 10.0 + scale.room().max(measure::width(&unit, Face::Small));
    let count = chart.values.len() as f64;
    // Bars need their width, and each has its name, in several lines where it is long; of amounts,
    // which have an order, every second or third may do.
    let words = chart.values.iter().flat_map(|value| broken(value, 0.0)).map(|word| small(&word));
    let word = words.fold(0.0, f64::max).min(NAME_MAX) + 6.0;
    let bars = count * word.max(chart.series.len() as f64 * 7.0);
    let plot = if chart.grows { PLOT } else { PLOT.max(bars) };
    let step = plot / count;
    let x = |place: usize| left + step * (place as f64 + 0.5);
    let label = |value: &String| match chart.grows {
        true => vec![fitted(value, Face::Small, plot / 2.0)],
        false => broken(value, step - 6.0),
    };
    let labels: Vec<Vec<String>> = chart.values.iter().map(label).collect();
    let widest = labels.iter().flatten().map(|line| small(line)).fold(0.0, f64::max);
    let every = if chart.grows { ((widest + 6.0) / step).ceil().max(1.0) as usize } else { 1 };
    // Half a label hangs over at the end.
    let width = left + plot + ((widest - step) / 2.0).max(0.0) + 2.0;
    let lines = labels.iter().map(Vec::len).max().unwrap_or(1);
    let height = HEIGHT + LINE * (lines - 1) as f64;
    let grid: String = scale
        .ticks
        .iter()
        .map(|tick| format!("M{} {}h{}", px(left), px(scale.place(*tick)), px(plot)))
        .collect();
    let svg = html! {
        svg.lines role="img" viewBox=(format!("0 0 {} {}", px(width), px(height)))
            style=(sizes(width)) {
            title { (title) }
            path.grid d=(grid) {}
            @for tick in &scale.ticks {
                text.tick x=(px(left - 5.0)) y=(px(scale.place(*tick) + 4.0)) text-anchor="end" {
                    (numbers::plain(*tick)) }
            }
            text.tick x=(px(left - 5.0)) y="8" text-anchor="end" { (unit) }
            @for (place, label) in labels.iter().enumerate().step_by(every) {
                @for (line, text) in label.iter().enumerate() {
                    text.tick x=(px(x(place))) y=(px(BOTTOM + 16.0 + LINE * line as f64))
                        text-anchor="middle" { (text) }
                }
            }
            @if let Some((value, _)) = chart.baseline {
                path.base d=(format!("M{} {}h{}", px(left), px(scale.place(value)), px(plot))) {}
            }
            @for (index, series) in chart.series.iter().enumerate() {
                g class=(class(index)) {
                    @if chart.grows {
                        path.line d=(line(&series.marks, &x, &scale)) {}
                        path.reach d=(reaches(&series.marks, &x, &scale)) {}
                        @for (place, mark) in series.marks.iter().enumerate() {
                            @if let Some(mark) = mark { (dot(mark, x(place), &scale)) }
                        }
                    } @else {
                        @let count = chart.series.len() as f64;
                        @let wide = ((step - 6.0) / count).min(BAR_MAX);
                        @let at = |place: usize| x(place) + wide * (index as f64 + 0.5 - count / 2.0);
                        @for (place, mark) in series.marks.iter().enumerate() {
                            @if let Some(mark) = mark { (bar(mark, at(place), wide, &scale)) }
                        }
                        path.reach d=(reaches(&series.marks, &at, &scale)) {}
                    }
                }
            }
        }
    };
    Chart { width, svg }
}

/// Joins neighbours that were both measured.
fn line(marks: &[Option<Mark>], x: &dyn Fn(usize) -> f64, scale: &FromZero) -> String {
    let mut path = String::new();
    let mut command = 'M';
    for (place, mark) in marks.iter().enumerate() {
        let Some(mark) = mark else {
            command = 'M';
            continue;
        };
        path += &format!("{command}{} {}", px(x(place)), px(scale.place(mark.value)));
        command = 'L';
    }
    path
}

/// The intervals.
fn reaches(marks: &[Option<Mark>], x: &dyn Fn(usize) -> f64, scale: &FromZero) -> String {
    let reach = |(place, mark): (usize, &Option<Mark>)| {
        let [low, high] = mark.as_ref()?.interval?.map(|end| scale.place(end));
        // Less than the mark itself is not seen.
        (low - high > 6.0).then(|| format!("M{} {}V{}", px(x(place)), px(low), px(high)))
    };
    marks.iter().enumerate().filter_map(reach).collect()
}

fn dot(mark: &Mark, x: f64, scale: &FromZero) -> Markup {
    let y = px(scale.place(mark.value));
    html! {
        @if mark.is_knee { circle.knee cx=(px(x)) cy=(y) r="7" {} }
        circle.dot.open[!mark.is_decided] data-c=(mark.cell) cx=(px(x)) cy=(y) r="3.4" {}
    }
}

fn bar(mark: &Mark, x: f64, wide: f64, scale: &FromZero) -> Markup {
    let top = scale.place(mark.value);
    html! {
        rect.bar.open[!mark.is_decided] data-c=(mark.cell) x=(px(x - wide / 2.0 + 0.5)) y=(px(top))
            width=(px((wide - 1.0).max(1.0))) height=(px((scale.place(0.0) - top).max(0.5))) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_broken_and_nothing_of_them_is_lost() {
        assert_eq!(broken("raid0 64\u{202f}KiB", 200.0), ["raid0 64\u{202f}KiB"]);
        assert_eq!(broken("two-on-one-channel", 60.0), ["two-on-", "one-", "channel"]);
        assert_eq!(broken("", 60.0), [""; 0]);
        let long = broken(&"x".repeat(40), 60.0);
        assert!(long.len() == 1 && small(&long[0]) <= NAME_MAX, "{long:?}");
    }
}
