//! Hit ratio against size of the cache, for a terminal and as SVG. Sizes stand on a logarithmic
//! axis.

use std::fmt::Write;

use cache::PolicyKind;
use cache::simulate::{Options, Outcome};

use crate::catalogue;
use crate::output::about;

/// Lines of the chart in a terminal.
const ROWS: usize = 16;
/// What stands left of the axis.
const LABEL_COLUMNS: usize = 7;
const COLUMNS_MAX: usize = 90;

/// The letter of a policy.
fn letter(policy: PolicyKind) -> char {
    match policy {
        PolicyKind::S3Fifo => 'S',
        PolicyKind::Sieve => 'V',
        PolicyKind::Lru => 'L',
        PolicyKind::Clock => 'C',
        PolicyKind::TwoQ => '2',
        PolicyKind::Arc => 'A',
        PolicyKind::Lfu => 'F',
    }
}

/// Where a size stands between the smallest and the largest: 0 to 1.
fn place(size: u64, sizes: &[u64]) -> f64 {
    let (first, last) = (sizes[0] as f64, sizes[sizes.len() - 1] as f64);
    if first == last { 0.5 } else { (size as f64 / first).ln() / (last / first).ln() }
}

/// The ratio between two sizes, on a straight line over the logarithm.
fn between(of_policy: &[Outcome], at: f64, sizes: &[u64]) -> f64 {
    let places: Vec<f64> = sizes.iter().map(|&size| place(size, sizes)).collect();
    let right = places.iter().position(|&place| place >= at).unwrap_or(places.len() - 1);
    let left = right.saturating_sub(1);
    let (low, high) = (of_policy[left].hit_ratio(), of_policy[right].hit_ratio());
    let width = places[right] - places[left];
    if width <= 0.0 {
        high
    } else {
        low + (high - low) * ((at - places[left]) / width).clamp(0.0, 1.0)
    }
}

/// A chart of letters.
pub(super) fn text(options: &Options, outcomes: &[Outcome], width: usize) -> String {
    let sizes = &options.sizes;
    let columns = (width.saturating_sub(LABEL_COLUMNS + 2)).clamp(20, COLUMNS_MAX);
    let top =
        (outcomes.iter().map(Outcome::hit_ratio).fold(0.0, f64::max) * 10.0).ceil().max(1.0) / 10.0;
    let row_at = |of_policy: &[Outcome], column: usize| {
        let ratio = between(of_policy, column as f64 / (columns - 1) as f64, sizes);
        (((1.0 - ratio / top) * (ROWS - 1) as f64).round() as usize).min(ROWS - 1)
    };
    let mut grid = vec![vec![' '; columns]; ROWS];
    // The first policy is drawn last, over the others.
    for of_policy in outcomes.chunks(sizes.len()).rev() {
        (0..columns).for_each(|column| {
            grid[row_at(of_policy, column)][column] = letter(of_policy[0].policy);
        });
    }
    let mut text = String::new();
    for (number, row) in grid.iter().enumerate() {
        let ratio = top * (1.0 - number as f64 / (ROWS - 1) as f64);
        let label = if number % 5 == 0 { format!("{:.0} %", 100.0 * ratio) } else { String::new() };
        let line: String = row.iter().collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{label:>LABEL_COLUMNS$} |{}", line.trim_end());
    }
    let _ = writeln!(text, "{:LABEL_COLUMNS$} +{}", "", "-".repeat(columns));
    let ends = [sizes[0], sizes[sizes.len() - 1]].map(|size| about(size * options.block_bytes));
    let gap = columns.saturating_sub(ends[0].len() + ends[1].len());
    let _ = writeln!(
        text,
        "{:LABEL_COLUMNS$}  {}{}{}",
        "",
        ends[0],
        " ".repeat(gap),
        if sizes.len() > 1 { &ends[1] } else { "" }
    );
    let legend: Vec<String> =
        options.policies.iter().map(|&policy| format!("{} {policy}", letter(policy))).collect();
    let _ = writeln!(text, "{:LABEL_COLUMNS$}  {}", "", legend.join("  "));
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

const SVG_WIDTH: f64 = 760.0;
const SVG_HEIGHT: f64 = 420.0;
/// Left, top, right, bottom.
const MARGIN: [f64; 4] = [56.0, 48.0, 96.0, 52.0];

/// Colours that can be told apart with any eyes (Okabe and Ito).
fn color(policy: PolicyKind) -> &'static str {
    match policy {
        PolicyKind::S3Fifo => "#d55e00",
        PolicyKind::Sieve => "#0072b2",
        PolicyKind::Lru => "#000000",
        PolicyKind::Clock => "#999999",
        PolicyKind::TwoQ => "#009e73",
        PolicyKind::Arc => "#cc79a7",
        PolicyKind::Lfu => "#e69f00",
    }
}

/// The same as a picture.
pub(super) fn svg(title: &str, options: &Options, outcomes: &[Outcome]) -> String {
    let sizes = &options.sizes;
    let [left, top, right, bottom] = MARGIN;
    let (width, height) = (SVG_WIDTH - left - right, SVG_HEIGHT - top - bottom);
    let highest =
        (outcomes.iter().map(Outcome::hit_ratio).fold(0.0, f64::max) * 10.0).ceil().max(1.0) / 10.0;
    let x = |size: u64| left + width * place(size, sizes);
    let y = |ratio: f64| top + height * (1.0 - ratio / highest);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SVG_WIDTH} {SVG_HEIGHT}\" \
        font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{0}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n<text \
         x=\"{left}\" y=\"24\" font-size=\"15\">{0}</text>\n",
        escape::markup(title)
    );
    // Writing to a string does not fail.
    for tenth in 0..=(highest * 10.0).round() as u32 {
        let ratio = f64::from(tenth) / 10.0;
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{1:.1}\" y2=\"{1:.1}\" \
            stroke=\"#dddddd\"/><text x=\"{2:.1}\" y=\"{3:.1}\" text-anchor=\"end\">{4} %</text>",
            left + width,
            y(ratio),
            left - 8.0,
            y(ratio) + 4.0,
            10 * tenth
        );
    }
    for &size in sizes {
        let label = about(size * options.block_bytes);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            x(size),
            top + height + 20.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        left + width / 2.0,
        SVG_HEIGHT - 10.0,
        catalogue::SIZE_OF_CACHE.template()
    );
    for (number, of_policy) in outcomes.chunks(sizes.len()).enumerate() {
        let policy = of_policy[0].policy;
        let points: Vec<String> = of_policy
            .iter()
            .map(|outcome| format!("{:.1},{:.1}", x(outcome.size), y(outcome.hit_ratio())))
            .collect();
        let stroke = if policy == PolicyKind::default() { 3 } else { 2 };
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{stroke}\"/>",
            points.join(" "),
            color(policy)
        );
        let line = top + 14.0 + 18.0 * number as f64;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{line:.1}\" fill=\"{}\">{policy}</text>",
            left + width + 14.0,
            color(policy)
        );
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use cache::AdmissionOptions;

    use super::*;

    fn outcome(policy: PolicyKind, size: u64, read_hits: u64) -> Outcome {
        Outcome { policy, size, reads: 100, read_hits, writes: 0, write_hits: 0, insertions: 0 }
    }

    fn case() -> (Options, Vec<Outcome>) {
        let options = Options {
            block_bytes: 4096,
            sizes: vec![256, 1024, 4096],
            policies: vec![PolicyKind::S3Fifo, PolicyKind::Lru],
            admission: AdmissionOptions::default(),
        };
        let hits = [(PolicyKind::S3Fifo, [20, 50, 80]), (PolicyKind::Lru, [0, 40, 80])];
        let outcomes = hits.iter().flat_map(|(policy, hits)| {
            options.sizes.iter().zip(hits).map(|(&size, &hits)| outcome(*policy, size, hits))
        });
        let outcomes = outcomes.collect();
        (options, outcomes)
    }

    #[test]
    fn letters_stand_where_the_ratios_are() {
        let (options, outcomes) = case();
        let chart = text(&options, &outcomes, 60);
        let lines: Vec<&str> = chart.lines().collect();
        assert!(lines[0].starts_with("   80 % |") && lines[0].ends_with('S'), "{chart}");
        assert!(lines[ROWS - 1].starts_with("    0 % |L"), "{chart}");
        assert!(
            lines[ROWS - 1 - 4].contains("|S"),
            "20 of 80 are a quarter of the way up: {chart}"
        );
        assert_eq!(
            lines[ROWS + 1].split_whitespace().collect::<Vec<_>>(),
            ["1", "MiB", "16", "MiB"]
        );
        assert_eq!(lines[ROWS + 2].trim(), "S s3-fifo  L lru");
    }

    #[test]
    fn one_size_alone_is_drawn_too() {
        let (options, outcomes) = case();
        let options = Options { sizes: vec![256], ..options };
        let alone = [outcomes[0], outcomes[3]];
        assert!(text(&options, &alone, 60).contains('S'));
        assert!(svg("one", &options, &alone).contains("polyline"));
    }

    #[test]
    fn the_picture_has_a_line_for_each_policy_and_foreign_text_is_escaped() {
        let (options, outcomes) = case();
        let svg = svg("a<b>&\"c\"", &options, &outcomes);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("a&lt;b&gt;&amp;&quot;c&quot;") && !svg.contains("a<b>"));
        // 80 % of a scale that ends at 80 % is at the top.
        assert!(svg.contains(&format!("{:.1},{:.1}", SVG_WIDTH - MARGIN[2], MARGIN[1])), "{svg}");
    }
}
