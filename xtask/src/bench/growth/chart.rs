//! Costs over sizes as small charts, both axes logarithmic, for `docs/images`.

use std::fmt::Write;

use crate::bench::table::{exponent, number};

/// One chart: what is done, what its size counts, and medians of what each size cost.
pub(crate) struct Curve {
    pub(crate) title: String,
    pub(crate) size: &'static str,
    pub(crate) cost: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

const COLUMNS: usize = 3;
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 200.0;
/// Around the field of a chart: left, top, right, bottom.
const MARGINS: [f64; 4] = [14.0, 46.0, 14.0, 30.0];

/// All charts as one picture. The dashed line of each is a cost that grows as the size does.
pub(crate) fn svg(curves: &[Curve]) -> String {
    let rows = curves.len().div_ceil(COLUMNS);
    let (width, height) = (WIDTH * COLUMNS as f64, HEIGHT * rows as f64);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
        font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" \
        fill=\"#fff\"/>\n"
    );
    for (at, curve) in curves.iter().enumerate() {
        let (x, y) = ((at % COLUMNS) as f64 * WIDTH, (at / COLUMNS) as f64 * HEIGHT);
        // Writing to a string does not fail.
        let _ = write!(text, "<g transform=\"translate({x} {y})\">\n{}</g>\n", field(curve));
    }
    text + "</svg>\n"
}

fn field(curve: &Curve) -> String {
    let [left, top, right, bottom] = MARGINS;
    let (wide, high) = (WIDTH - left - right, HEIGHT - top - bottom);
    let logs = |of: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = curve.points.iter().map(|point| of(point).ln()).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (low, high)
    };
    let (sizes, costs) = (logs(|point| point.0), logs(|point| point.1));
    let grown = (sizes.1 - sizes.0).max(f64::EPSILON);
    // A decade is as long upwards as to the right, so that slopes are what they look like; what
    // falls, as little as it may, has its place too.
    let bottom_cost = costs.0;
    let span = grown.max(costs.1 - costs.0);
    let place = |size: f64, cost: f64| {
        let x = left + wide * (size.ln() - sizes.0) / grown;
        let y = top + high * (1.0 - (cost.ln() - bottom_cost) / span);
        (x, y)
    };
    let mut text = format!(
        "<text x=\"{left}\" y=\"16\" font-weight=\"bold\">{}</text>\n\
        <text x=\"{left}\" y=\"32\" fill=\"#555\">{}, exponent {:.2}</text>\n\
        <rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\" fill=\"none\" \
        stroke=\"#ccc\"/>\n",
        escaped(&curve.title),
        escaped(curve.cost),
        exponent(&curve.points),
    );
    let (first, last) = (curve.points[0], curve.points[curve.points.len() - 1]);
    let (from, to) = (place(first.0, first.1), place(last.0, first.1 * last.0 / first.0));
    // Where it leaves the field it is cut off.
    let share = ((from.1 - top) / (from.1 - to.1).max(f64::EPSILON)).min(1.0);
    let cut = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
    let _ = writeln!(
        text,
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"#999\" stroke-dasharray=\"4 4\"/>",
        from.0, from.1, cut.0, cut.1
    );
    let mut path = String::new();
    for (at, (size, cost)) in curve.points.iter().enumerate() {
        let (x, y) = place(*size, *cost);
        let _ = write!(path, "{}{x:.1} {y:.1}", if at == 0 { "M" } else { "L" });
        let _ = writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"#0b62a8\"/>");
    }
    let _ = writeln!(text, "<path d=\"{path}\" fill=\"none\" stroke=\"#0b62a8\"/>");
    let mut label = |x: f64, y: f64, anchor: &str, value: String| {
        let _ = writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#555\">{value}</text>"
        );
    };
    let below = HEIGHT - bottom + 14.0;
    label(left, below, "start", number(first.0));
    label(left + wide, below, "end", format!("{} {}", number(last.0), escaped(curve.size)));
    let (start, end) = (place(first.0, first.1), place(last.0, last.1));
    let beside = |y: f64| if y < top + 20.0 { y + 16.0 } else { y - 8.0 };
    label(start.0 + 6.0, beside(start.1), "start", number(first.1));
    label(end.0 - 6.0, beside(end.1), "end", number(last.1));
    text
}

fn escaped(text: &str) -> String {
    text.replace('`', "").replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_curve_has_its_chart_with_its_exponent() {
        let curve = |power: f64| Curve {
            title: "a & b".to_owned(),
            size: "files",
            cost: "s",
            points: [1.0, 10.0, 100.0].map(|size: f64| (size, size.powf(power))).to_vec(),
        };
        let picture = svg(&[curve(1.0), curve(0.0), curve(2.0), curve(1.5)]);
        let document = roxmltree::Document::parse(&picture).expect("it is XML");
        let charts = document.descendants().filter(|node| node.has_tag_name("g"));
        let texts: Vec<String> = charts
            .map(|chart| chart.descendants().filter_map(|node| node.text()).collect::<String>())
            .collect();
        assert_eq!(texts.len(), 4);
        for (text, exponent) in texts.iter().zip(["1.00", "0.00", "2.00", "1.50"]) {
            assert!(text.contains("a & b") && text.contains(exponent), "{text}");
        }
        // Nothing lies outside of its chart.
        let circles = document.descendants().filter(|node| node.has_tag_name("circle"));
        for circle in circles {
            let place = |name| circle.attribute(name).and_then(|text| text.parse::<f64>().ok());
            let (x, y) = (place("cx").expect("a place"), place("cy").expect("a place"));
            assert!((0.0..=WIDTH).contains(&x) && (0.0..=HEIGHT).contains(&y), "{x} {y}");
        }
    }
}
