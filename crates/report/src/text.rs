//! The report for a terminal: the decision first, then warnings, and one table of configurations
//! for each comparison, with a small forest plot where there is room for it.

use escape::{Paint, StyledText, line as printable, width};
use results::analysis::{Analysis, Comparison, KindResult, Score};
use results::claim::Answer as Word;
use results::safety::speeds;
use results::types::{Run, Workload};

use crate::cached;
use crate::decision::{Decision, decision, joined, joint};
use crate::numbers;
use crate::run_tables;
use crate::safety;
use crate::sentences::{self, Answer};
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
/// Columns of an interval that is drawn: fewer show nothing, more say no more.
const PLOT_MIN: usize = 15;
const PLOT_MAX: usize = 41;
/// Columns of a label that has to make room for its figures.
const LABEL_MIN: usize = 16;
/// The least that the name of a kind of work takes: the longest in English.
const KIND_WIDTH: usize = 11;

impl Style {
    /// The same with as many columns as a report needs.
    pub(crate) fn at_least(self) -> Self {
        Self { width: self.width.max(WIDTH_MIN), ..self }
    }

    pub(crate) fn paint(self, paint: Paint, text: &str) -> StyledText {
        match self.color && !text.trim().is_empty() {
            true => StyledText::of(paint, text),
            false => StyledText::from(&*printable(text)),
        }
    }
}

/// The report as text, lines ended by `\n`.
#[must_use]
pub fn text(run: &Run, analysis: &Analysis, style: Style) -> StyledText {
    let style = style.at_least();
    let mut out = TextOutput::new(style);
    let title = out.broken(0, sentences::title(run));
    title.iter().for_each(|line| out.line(style.paint(Paint::Bold, line)));
    out.wrapped(0, &sentences::scope(run, analysis).join(" · "));
    let run = &*speeds(run);
    out.heading(&say!(DECISION));
    if let Some((parts, _)) = joint(analysis) {
        let sentence = joined(&parts);
        out.wrapped(0, &sentence);
        out.line("");
    }
    for comparison in &analysis.comparisons {
        out.comparison(analysis, comparison);
    }
    for sentence in safety::by_grade(analysis) {
        out.wrapped(2, &sentence);
    }
    out.figures(run, analysis);
    if !analysis.warnings.is_empty() {
        out.heading(&say!(READ_THIS_FIRST));
        for warning in sentences::warnings(analysis) {
            out.wrapped_behind(&style.paint(Paint::Yellow, "!"), 2, &warning);
        }
    }
    if sentences::has_scores(analysis) {
        out.heading(&say!(SCORES_SHORT));
        out.wrapped(0, &say!(TEXT_SCORES_NOTE));
        out.line("");
        for comparison in &analysis.comparisons {
            out.scores(run, comparison);
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
        out.wrapped(0, &safety::note());
        out.line("");
        out.table(&table);
    }
    let others = || analysis.starts.iter().filter(|start| !start.without_raidloom.is_empty());
    if others().next().is_some() {
        out.heading(&say!(WITHOUT_SHORT));
    }
    for start in others() {
        out.line(style.paint(Paint::Bold, &start.label));
        // Not wrapped: they are to be copied.
        let line = |line: &String| format!("  {}", printable(line));
        start.without_raidloom.iter().map(line).for_each(|line| out.line(&line));
    }
    out.text
}

/// Values are escaped where they are put into a line too, so that columns are counted as they are
/// seen.
pub(crate) struct TextOutput {
    pub(crate) style: Style,
    pub(crate) text: StyledText,
}

impl TextOutput {
    pub(crate) fn new(style: Style) -> Self {
        Self { style, text: StyledText::new() }
    }

    pub(crate) fn line(&mut self, line: impl Into<StyledText>) {
        self.text = std::mem::take(&mut self.text).with(&line.into()).and("\n");
    }

    fn heading(&mut self, heading: &str) {
        let heading = heading.to_uppercase();
        if !self.text.ends_with("\n\n") {
            self.line("");
        }
        self.line(self.style.paint(Paint::Bold, &heading));
    }

    /// What a comparison comes to.
    fn comparison(&mut self, analysis: &Analysis, comparison: &Comparison) {
        let title = format!(
            "{}: {}",
            table::comparison_title(comparison),
            table::comparison_subject(comparison)
        );
        self.line(self.style.paint(Paint::Bold, &title));
        for banner in sentences::same_disks(comparison) {
            self.wrapped(2, &banner);
        }
        let Some(decision) = decision(analysis, comparison) else { return };
        self.lead(&decision);
        if !decision.price.is_empty() {
            self.wrapped(2, &decision.price);
        }
        self.wrapped(2, &decision.rest);
        if let Some(start) = decision.start {
            // Not wrapped: it is to be copied.
            self.line(&*format!("    {}", printable(&start.command)));
        }
        if !decision.not_known.is_empty() {
            self.wrapped(2, &say!(NOT_KNOWN_TEXT, open = decision.open()));
        }
        let kinds = decision.kinds.iter().map(|answer| width(&answer.kind));
        let across = kinds.max().unwrap_or(0).max(KIND_WIDTH);
        decision.kinds.iter().for_each(|answer| self.kind(answer, across));
        if let Some(sentence) = sentences::pairing(comparison) {
            self.wrapped(2, &sentence);
        }
        self.line("");
    }

    /// What is taken, its score and what is sure of it: on one line where that fits.
    fn lead(&mut self, decision: &Decision<'_>) {
        let score = [decision.score.as_str(), &decision.sure].join("  ");
        let score = score.trim();
        let columns = width(&printable(&format!("  {}  {score}", decision.lead)));
        let fits = score.is_empty() || columns <= self.style.width;
        let lead = self.broken(2, &decision.lead);
        let style = self.style;
        let painted = |line: &String| match decision.is_sure {
            true => StyledText::from("  ").with(&style.paint(Paint::Bold, line.trim_start())),
            false => StyledText::from(&**line),
        };
        if let ([only], true) = (&lead[..], fits) {
            self.line(painted(only).and(format!("  {score}").trim_end()));
            return;
        }
        lead.iter().for_each(|line| self.line(painted(line)));
        let parts = [decision.score.as_str(), &decision.sure];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        self.wrapped(4, &parts.join(&say!(BETWEEN_TIES)));
    }

    /// What a kind of work says, in `across` columns behind its name.
    fn kind(&mut self, answer: &Answer, across: usize) {
        let pick = match answer.is_sure {
            true => self.style.paint(Paint::Bold, &answer.pick),
            false => StyledText::from(&*printable(&answer.pick)),
        };
        let kind = escape::padded(&answer.kind, across);
        let score = [answer.score.as_str(), &answer.sure].join("  ");
        let score = score.trim();
        let ties = answer.ties.join(&say!(BETWEEN_TIES));
        let parts = [score, &ties].map(str::to_owned);
        let tied = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        let tied = tied.join(&say!(BETWEEN_TIES));
        // Colour takes no room.
        let columns = |rest: &str| width(&printable(&format!("  {kind} {}  {rest}", answer.pick)));
        let lead = StyledText::from(&format!("  {kind} ")).with(&pick);
        let with = |rest: &str| lead.clone().and(format!("  {rest}").trim_end());
        if columns(&tied) <= self.style.width {
            self.line(with(&tied));
        } else if columns(score) <= self.style.width {
            self.line(with(score));
            self.wrapped(across + 3, &ties);
        } else {
            self.line(lead.clone());
            self.wrapped(across + 3, score);
            self.wrapped(across + 3, &ties);
        }
        // How it stands among them is in the table of scores.
        let losses = Some(answer.losses.as_str()).filter(|losses| !losses.is_empty());
        let open = losses.into_iter().chain(answer.open.iter().map(String::as_str));
        self.wrapped(across + 3, &sentences::join(open));
    }

    /// A paragraph, indented, broken at spaces.
    pub(crate) fn wrapped(&mut self, indent: usize, paragraph: &str) {
        self.broken(indent, paragraph).iter().for_each(|line| self.line(line));
    }

    /// The same with a mark of one column in the place of its first blank.
    fn wrapped_behind(&mut self, mark: &StyledText, indent: usize, paragraph: &str) {
        for (place, line) in self.broken(indent, paragraph).iter().enumerate() {
            match line.strip_prefix(' ').filter(|_| place == 0) {
                Some(rest) => self.line(mark.clone().and(rest)),
                None => self.line(line),
            }
        }
    }

    /// Its lines.
    pub(crate) fn broken(&self, indent: usize, paragraph: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = " ".repeat(indent);
        for (has_blank, word) in escape::words(&printable(paragraph)) {
            let blank = usize::from(has_blank);
            if width(&line) > indent && width(&line) + blank + width(word) > self.style.width {
                lines.push(line.trim_end().to_owned());
                line = " ".repeat(indent);
            }
            if width(&line) > indent && has_blank {
                line.push(' ');
            }
            line.push_str(word);
        }
        if width(&line) > indent {
            lines.push(line);
        }
        lines
    }

    /// What was measured, where there is nothing to compare it with.
    fn figures(&mut self, run: &Run, analysis: &Analysis) {
        let of = |comparison| run_tables::figures_of(run, comparison);
        let tables: Vec<Table> = analysis.comparisons.iter().filter_map(of).collect();
        if !tables.is_empty() {
            self.heading(&say!(MEASURED_FIGURES));
        }
        tables.iter().for_each(|table| self.table(table));
    }

    /// One row a configuration: its score in each kind of work, then in all of it with the
    /// interval, which is drawn on a log axis where there is room, and the answer. What does not
    /// fit is left out from the right; a mark says the answer too.
    fn scores(&mut self, run: &Run, comparison: &Comparison) {
        let mut kinds: Vec<&KindResult> =
            comparison.results().filter(|kind| !kind.scores.is_empty()).collect();
        let Some(whole) = kinds.pop() else { return };
        let title = match kinds.is_empty() {
            true => {
                let kind = numbers::kind(whole.group);
                format!("{}, {kind}", table::comparison_title(comparison))
            }
            false => table::comparison_title(comparison),
        };
        self.wrapped(0, &title);
        let made = |is_narrow| score_rows(run, comparison, &kinds, whole, is_narrow);
        let column = |rows: &[Vec<String>], column: usize| {
            rows.iter().map(|row| width(&row[column])).max().unwrap_or(0)
        };
        let others = |rows: &[Vec<String>]| -> usize {
            (1..rows[0].len()).map(|at| 2 + column(rows, at)).sum()
        };
        let mut rows = made(false);
        if column(&rows, 0).min(LABEL_MIN) + others(&rows) > self.style.width {
            rows = made(true);
        }
        let right: Vec<usize> = (1..rows[0].len() - 1).collect();
        let label = self.style.width.saturating_sub(others(&rows)).max(LABEL_MIN);
        let label = column(&rows, 0).min(label);
        rows.iter_mut().for_each(|row| row[0] = shortened(&row[0], label));
        let lines = escape::columns(&rows, &right);
        let used = lines.iter().map(|line| width(line)).max().unwrap_or(0);
        let answer = |score: &Score| match score.configuration == comparison.baseline {
            true => say!(BASELINE),
            false => table::score_answer(score),
        };
        let answers: Vec<String> = whole.scores.iter().map(answer).collect();
        let answer = answers.iter().map(|answer| width(answer)).max().unwrap_or(0);
        let room = self.style.width.saturating_sub(used + 2);
        let plot = room.saturating_sub(answer + 2).min(PLOT_MAX);
        let has_head = lines.len() - answers.len();
        let ends = whole.scores.iter().flat_map(|score| {
            let interval = score.interval();
            [Some(score.ratio), interval.map(|i| i.low), interval.map(|i| i.high)]
        });
        let scale = LogScale::new(ends.flatten(), 0.0, plot.saturating_sub(1) as f64);
        lines.iter().take(has_head).for_each(|line| self.line(line.trim_end()));
        for ((line, score), answer) in lines.iter().skip(has_head).zip(&whole.scores).zip(&answers)
        {
            let paint = match score.answer() {
                Some(Word::Ahead) => Some(Paint::Green),
                Some(Word::Behind) => Some(Paint::Red),
                _ => None,
            };
            let line = escape::padded(line, used);
            let line = match plot < PLOT_MIN {
                true => line,
                false => format!("{line}  {}", drawn(&scale, score, plot)),
            };
            match (room < width(answer), paint) {
                (true, _) => self.line(line.trim_end()),
                (false, None) => self.line(format!("{line}  {answer}").trim_end()),
                (false, Some(paint)) => {
                    let answer = self.style.paint(paint, answer);
                    self.line(StyledText::from(&format!("{line}  ")).with(&answer));
                }
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

/// The rows of the table of scores, below their head where there are several kinds of work; narrow
/// ones without intervals.
fn score_rows(
    run: &Run,
    comparison: &Comparison,
    kinds: &[&KindResult],
    whole: &KindResult,
    is_narrow: bool,
) -> Vec<Vec<String>> {
    let figures = figures(run, comparison);
    let decimals = |kind: &KindResult| {
        let others = kind.scores.iter().filter(|one| one.configuration != comparison.baseline);
        numbers::column_decimals(others.map(|one| (one.ratio, one.interval())))
    };
    let of_whole = decimals(whole);
    let of_kinds: Vec<usize> = kinds.iter().map(|kind| decimals(kind)).collect();
    let row = |score: &Score| {
        let configuration = &score.configuration;
        let best = if whole.best_set.contains(configuration) { "*" } else { " " };
        let mut cells =
            vec![format!("{best} {}", printable(&table::label(comparison, configuration)))];
        cells.extend(figures.as_ref().map(|of| of(configuration)));
        cells.extend(kinds.iter().zip(&of_kinds).map(|(kind, decimals)| {
            let own = kind.score(configuration);
            own.map_or_else(|| "–".to_owned(), |own| marked(own, comparison, *decimals))
        }));
        let interval = score.interval().filter(|_| *configuration != comparison.baseline);
        let own = marked(score, comparison, of_whole).trim_end().to_owned();
        let [_, ends] = numbers::ratio_in_column(score.ratio, interval, of_whole);
        cells.push(match ends.as_str() {
            "" => own,
            _ if is_narrow => own,
            ends => format!("{own} ({ends})"),
        });
        cells
    };
    let head: Option<Vec<String>> = (!kinds.is_empty()).then(|| {
        let names = kinds.iter().chain([&whole]).map(|kind| numbers::kind(kind.group));
        let before = 1 + usize::from(figures.is_some());
        std::iter::repeat_n(String::new(), before).chain(names).collect()
    });
    head.into_iter().chain(whole.scores.iter().map(row)).collect()
}

/// What says a configuration's figure, where a comparison has one workload.
fn figures<'a>(run: &'a Run, comparison: &'a Comparison) -> Option<impl Fn(&str) -> String + 'a> {
    let measured =
        |workload: &&Workload| comparison.cells.iter().any(|cell| cell.workload == workload.name);
    let mut workloads = run.plan.workloads.iter().filter(measured);
    let (Some(only), None) = (workloads.next(), workloads.next()) else { return None };
    Some(move |configuration: &str| {
        table::figure(comparison, configuration, &only.name).unwrap_or_else(|| "–".to_owned())
    })
}

/// `1.28×`, `0.88×?`, `1.01×=`; 1 for the baseline. What has no mark ends with room for it.
fn marked(score: &Score, comparison: &Comparison, decimals: usize) -> String {
    match &score.versus_baseline {
        Some(claim) if score.configuration != comparison.baseline => {
            let [ratio, _] = numbers::ratio_in_column(score.ratio, None, decimals);
            format!("{ratio}×{}", numbers::mark(claim))
        }
        _ => "1×\u{2007}".to_owned(),
    }
}

/// A label that takes no more than so many columns: what is too much is left out of its middle.
fn shortened(label: &str, columns: usize) -> String {
    let letters: Vec<char> = label.chars().collect();
    let mut kept = letters.len();
    let mut shown = label.to_owned();
    while width(&shown) > columns && kept > 3 {
        kept -= 1;
        let tail = kept / 2;
        let ends = [&letters[..kept - tail], &['…'], &letters[letters.len() - tail..]];
        shown = ends.concat().into_iter().collect();
    }
    shown
}

/// Whether a score is ahead or behind.
fn is_decided(score: &Score) -> bool {
    matches!(score.answer(), Some(Word::Ahead | Word::Behind))
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
        let mut out =
            TextOutput { style: Style { color: false, width: 20 }, text: StyledText::new() };
        out.wrapped(2, "one two three four five \x1b[31msix");
        assert_eq!(&*out.text, "  one two three four\n  five \\u{1b}[31msix\n");
    }

    #[test]
    fn wide_tables_are_continued_below() {
        let mut out =
            TextOutput { style: Style { color: false, width: 12 }, text: StyledText::new() };
        let column = |name: &str, number| table::Column { name: name.into(), number };
        out.table(&Table {
            caption: String::new(),
            columns: vec![column("name", false), column("a", true), column("bb", true)],
            rows: vec![vec!["x".into(), "1.25".into(), "2".into()]],
        });
        assert_eq!(&*out.text, "name     a\nx     1.25\n\nname  bb\nx      2\n\n");
    }
}
