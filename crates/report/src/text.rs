//! The report for a terminal: verdict first, then warnings, scores with a small forest plot, and
//! the ratios.

use escape::{Paint, line as printable, width};
use results::analysis::{Analysis, Comparison, KindResult, Score};
use results::claim::Answer;
use results::safety::speeds;
use results::types::Run;

use crate::cached;
use crate::decision::decision;
use crate::numbers;
use crate::safety;
use crate::sentences;
use crate::svg::LogScale;
use crate::table::{self, Table};
use crate::words::say;

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour with ANSI sequences. Nothing is said by colour alone.
    pub color: bool,
    /// Columns of the terminal; below 60 counts as 60.
    pub width: usize,
}

const WIDTH_MIN: usize = 60;
/// The least that the name of a kind of work takes: the longest in English.
const KIND_WIDTH: usize = 11;

impl Style {
    fn paint(self, paint: Paint, text: &str) -> String {
        if self.color && !text.trim().is_empty() {
            escape::paint(paint, text)
        } else {
            printable(text).into_owned()
        }
    }
}

/// The report as text, lines ended by `\n`.
#[must_use]
pub fn text(run: &Run, analysis: &Analysis, style: Style) -> String {
    let style = Style { width: style.width.max(WIDTH_MIN), ..style };
    let mut out = Out { style, text: String::new() };
    out.line(&style.paint(Paint::Bold, &run.plan.name));
    out.wrapped(0, &sentences::scope(run, analysis).join(" · "));
    let run = &*speeds(run);
    out.heading(&say!(DECISION));
    for comparison in &analysis.comparisons {
        let title = format!(
            "{}: {}",
            table::comparison_title(comparison),
            table::comparison_subject(comparison)
        );
        out.line(&style.paint(Paint::Bold, &title));
        if let Some(banner) = sentences::one_disk(comparison) {
            out.wrapped(2, &banner);
        }
        let Some(decision) = decision(analysis, comparison) else { continue };
        let lead = match decision.is_sure {
            true => style.paint(Paint::Bold, &decision.lead),
            false => printable(&decision.lead).into_owned(),
        };
        let lead = format!("  {lead}  {}  {}", decision.score, decision.sure);
        out.line(lead.trim_end());
        out.wrapped(2, &decision.rest);
        if let Some(start) = decision.start {
            // Not wrapped: it is to be copied.
            out.line(&format!("    {}", printable(&start.command)));
        }
        if !decision.open.is_empty() {
            out.wrapped(2, &say!(NOT_KNOWN_TEXT, open = decision.open));
        }
        let kinds = decision.kinds.iter().map(|answer| width(&answer.kind));
        let across = kinds.max().unwrap_or(0).max(KIND_WIDTH);
        for answer in &decision.kinds {
            let pick = if answer.is_sure {
                style.paint(Paint::Bold, &answer.pick)
            } else {
                printable(&answer.pick).into_owned()
            };
            let kind = escape::padded(&answer.kind, across);
            let lead = format!("  {kind} {pick}  {}  {}", answer.score, answer.sure);
            out.line(lead.trim_end());
            out.wrapped(across + 3, &sentences::join(answer.details()));
        }
        if let Some(sentence) = sentences::pairing(comparison) {
            out.wrapped(2, &sentence);
        }
        out.line("");
    }
    for sentence in safety::by_grade(analysis) {
        out.wrapped(2, &sentence);
    }
    if !analysis.warnings.is_empty() {
        out.heading(&say!(READ_THIS_FIRST));
        for warning in &analysis.warnings {
            let start = out.text.len();
            out.wrapped(2, &sentences::warning(analysis, warning));
            out.text.replace_range(start..=start, &style.paint(Paint::Yellow, "!"));
        }
    }
    if sentences::has_scores(analysis) {
        out.heading(&say!(SCORES_SHORT));
        out.wrapped(0, &say!(TEXT_SCORES_NOTE));
        out.line("");
        for comparison in &analysis.comparisons {
            for kind in comparison.results().filter(|kind| !kind.scores.is_empty()) {
                out.forest(comparison, kind);
            }
        }
    }
    if let Some(table) = cached::table(analysis) {
        out.heading(&say!(CACHED));
        cached::sentences(analysis).iter().for_each(|sentence| out.wrapped(0, sentence));
        out.line("");
        out.table(&table);
    }
    if let Some(table) = safety::table(analysis) {
        out.heading(&say!(SAFETY));
        out.wrapped(0, safety::NOTE);
        out.line("");
        out.table(&table);
    }
    if !analysis.comparisons.is_empty() {
        out.heading(&say!(RATIOS_SHORT));
    }
    for comparison in &analysis.comparisons {
        for panel in table::panels(comparison) {
            out.table(&table::heat(run, comparison, &panel));
        }
    }
    let others = || analysis.starts.iter().filter(|start| !start.without_raidloom.is_empty());
    if others().next().is_some() {
        out.heading(&say!(WITHOUT_SHORT));
    }
    for start in others() {
        out.line(&style.paint(Paint::Bold, &start.label));
        // Not wrapped: they are to be copied.
        start.without_raidloom.iter().for_each(|line| out.line(&format!("  {}", printable(line))));
    }
    // Each value was escaped where it was put in, so that columns are counted as they are seen;
    // this is for one that was forgotten.
    escape::painted(&out.text)
}

struct Out {
    style: Style,
    text: String,
}

impl Out {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn heading(&mut self, heading: &str) {
        let heading = heading.to_uppercase();
        if !self.text.ends_with("\n\n") {
            self.line("");
        }
        let heading = self.style.paint(Paint::Bold, &heading);
        self.line(&heading);
    }

    /// A paragraph, indented, broken at spaces.
    fn wrapped(&mut self, indent: usize, paragraph: &str) {
        let mut line = " ".repeat(indent);
        for (has_blank, word) in escape::words(&printable(paragraph)) {
            let blank = usize::from(has_blank);
            if width(&line) > indent && width(&line) + blank + width(word) > self.style.width {
                self.line(line.trim_end());
                line = " ".repeat(indent);
            }
            if width(&line) > indent && has_blank {
                line.push(' ');
            }
            line.push_str(word);
        }
        if width(&line) > indent {
            self.line(&line);
        }
    }

    /// Scores as rows with their interval drawn on a log axis, where there is room for it.
    fn forest(&mut self, comparison: &Comparison, kind: &KindResult) {
        let title =
            format!("{}, {}", table::comparison_title(comparison), numbers::kind(kind.group));
        self.wrapped(0, &title);
        let rows: Vec<(&Score, [String; 3])> = kind
            .scores
            .iter()
            .map(|score| {
                let best = if kind.best_set.contains(&score.configuration) { "*" } else { " " };
                let label = format!(
                    "{best} {}",
                    printable(&table::label(comparison, &score.configuration))
                );
                if score.configuration == comparison.baseline {
                    return (score, [label, "1×".into(), say!(BASELINE)]);
                }
                (score, [label, numbers::score_whole(score), table::score_answer(score)])
            })
            .collect();
        let widths = [0, 1, 2]
            .map(|column| rows.iter().map(|(_, cells)| width(&cells[column])).max().unwrap_or(0));
        let room = self.style.width.saturating_sub(widths.iter().sum::<usize>() + 6).min(41);
        let ends = rows.iter().flat_map(|(score, _)| {
            let interval = score.interval();
            [Some(score.ratio), interval.map(|i| i.low), interval.map(|i| i.high)]
        });
        let scale = LogScale::new(ends.flatten(), 0.0, room.saturating_sub(1) as f64);
        for (score, [label, ratio, verdict]) in rows {
            let plot = if room < 15 { String::new() } else { drawn(&scale, score, room) + "  " };
            let label = escape::padded(&label, widths[0]);
            let ratio = escape::padded(&ratio, widths[1]);
            let paint = match score.answer() {
                Some(Answer::Ahead) => Some(Paint::Green),
                Some(Answer::Behind) => Some(Paint::Red),
                _ => None,
            };
            let fits = width(&label) + width(&plot) + width(&ratio) + width(&verdict) + 4
                <= self.style.width;
            let verdict = paint.map_or(verdict.clone(), |paint| self.style.paint(paint, &verdict));
            if fits {
                self.line(format!("{label}  {plot}{ratio}  {verdict}").trim_end());
            } else {
                self.line(format!("{label}  {ratio}").trim_end());
                self.line(&format!("{}{verdict}", " ".repeat(widths[0] + 2)));
            }
        }
        self.line("");
    }

    /// A table; columns that do not fit go into a further one below, each with the first column
    /// again.
    fn table(&mut self, table: &Table) {
        self.wrapped(0, &table.caption);
        let cell = |row: usize, column: usize| match row.checked_sub(1) {
            None => table.columns[column].name.as_str(),
            Some(row) => table.rows[row][column].as_str(),
        };
        let widest = |column| {
            (0..=table.rows.len())
                .map(|row| width(&printable(cell(row, column))))
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..table.columns.len()).map(widest).collect();
        let mut first = 1;
        while first < table.columns.len() {
            let mut after = first;
            let mut used = widths[0];
            while after < table.columns.len()
                && (after == first || used + 2 + widths[after] <= self.style.width)
            {
                used += 2 + widths[after];
                after += 1;
            }
            let shown: Vec<usize> = std::iter::once(0).chain(first..after).collect();
            let cells: Vec<Vec<&str>> = (0..=table.rows.len())
                .map(|row| shown.iter().map(|column| cell(row, *column)).collect())
                .collect();
            let right: Vec<usize> =
                (0..shown.len()).filter(|at| table.columns[shown[*at]].number).collect();
            for line in escape::columns(&cells, &right) {
                self.line(&line);
            }
            self.line("");
            first = after;
        }
    }
}

/// Whether a score is ahead or behind.
fn is_decided(score: &Score) -> bool {
    matches!(score.answer(), Some(Answer::Ahead | Answer::Behind))
}

/// `·····|··├─●─┤···`: the axis line of 1 as `|`, the interval and the score.
fn drawn(scale: &LogScale, score: &Score, room: usize) -> String {
    let place = |value: f64| (scale.place(value).round() as usize).min(room - 1);
    let mut cells = vec![' '; room];
    cells[place(1.0)] = '│';
    if let Some(interval) = score.interval() {
        let (low, high) = (place(interval.low), place(interval.high));
        cells[low..=high].fill('─');
        if high > low {
            cells[low] = '├';
            cells[high] = '┤';
        }
    }
    cells[place(score.ratio)] = if is_decided(score) { '●' } else { '○' };
    cells.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_break_at_the_width() {
        let mut out = Out { style: Style { color: false, width: 20 }, text: String::new() };
        out.wrapped(2, "one two three four five \x1b[31msix");
        assert_eq!(out.text, "  one two three four\n  five \\u{1b}[31msix\n");
    }

    #[test]
    fn wide_tables_are_continued_below() {
        let mut out = Out { style: Style { color: false, width: 12 }, text: String::new() };
        let column = |name: &str, number| table::Column { name: name.into(), number };
        out.table(&Table {
            caption: String::new(),
            columns: vec![column("name", false), column("a", true), column("bb", true)],
            rows: vec![vec!["x".into(), "1.25".into(), "2".into()]],
        });
        assert_eq!(out.text, "name     a\nx     1.25\n\nname  bb\nx      2\n\n");
    }
}
