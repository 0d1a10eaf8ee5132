//! The card: what was asked, what was decided on or the only configuration, and its figures in four
//! rows that people know, to be posted as a picture or pasted as text. Rows are CrystalDiskMark's
//! where they were measured, direct and through the page cache side by side; of other suites one of
//! each kind of work.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};
use results::Doubt;
use results::analysis::{Analysis, Cell, Comparison, Metric};
use results::doubt::Bearing;
use results::types::{Run, Workload};

use crate::decision::{self, decision};
use crate::measure::{self, Face, fitted};
use crate::numbers::{self, Unit};
use crate::table::{self, Column, Table};
use crate::words::say;
use crate::{doubts, sentences};

/// CrystalDiskMark's own four rows, in its order.
const KNOWN: [&str; 4] = ["SEQ1M Q8T1", "SEQ1M Q1T1", "RND4K Q32T1", "RND4K Q1T1"];
/// Rows of a card.
const ROWS: usize = 4;
/// The rate that CrystalDiskMark counts.
const THROUGHPUT: &str = "throughput_bytes_per_second";

/// The figures of one configuration.
pub(crate) struct Card {
    /// What was asked.
    title: String,
    /// What it came to, a sentence each.
    answer: Vec<String>,
    /// The configuration that the figures are of, and where they come from.
    under: String,
    /// Heads of the columns of figures, each in two parts.
    columns: Vec<[String; 2]>,
    rows: Vec<(String, Vec<String>)>,
    /// How to read them.
    foot: Vec<String>,
}

/// Which column of a card a workload is, and which row.
struct CardCell<'a> {
    row: &'a str,
    write: bool,
    buffered: bool,
}

fn place(workload: &Workload) -> Option<CardCell<'_>> {
    let (row, way) = table::crystal_row(workload.buffered_of.as_ref().unwrap_or(&workload.name))?;
    Some(CardCell { row, write: way == "write", buffered: workload.buffered_of.is_some() })
}

/// The card of what a comparison decided on, or of its only configuration; none where it decided on
/// nothing, or where nothing of that was measured.
fn card(run: &Run, analysis: &Analysis, comparison: &Comparison) -> Option<Card> {
    let take = taken(comparison)?;
    let cells: Vec<(&Workload, &Cell)> = run
        .plan
        .workloads
        .iter()
        .filter_map(|workload| Some((workload, comparison.cell(take, &workload.name)?)))
        .collect();
    let placed: Vec<(CardCell<'_>, &Cell)> =
        cells.iter().filter_map(|(workload, cell)| Some((place(workload)?, *cell))).collect();
    let mut doubts: Vec<String> = Vec::new();
    let (columns, rows) = if placed.is_empty() {
        of_any_suite(comparison, &cells, &mut doubts)
    } else {
        of_crystal(&placed, &mut doubts)
    };
    if rows.is_empty() {
        return None;
    }
    let trials = cells.iter().flat_map(|(_, cell)| &cell.metrics).map(|metric| metric.trials);
    let medians = match trials.max().unwrap_or(0) {
        1 => say!(CARD_ONE_TRIAL),
        trials => say!(CARD_MEDIANS, trials = trials),
    };
    let mut foot = vec![if placed.is_empty() {
        say!(CARD_FOOT, medians = medians)
    } else {
        say!(CARD_FOOT_MB, medians = medians)
    }];
    if !placed.is_empty() {
        foot.push(say!(CARD_RETURNED));
    }
    foot.extend(origin(run, comparison, take));
    let is_imported = |cell: &Cell| cell.flags.iter().any(|one| one.doubt == Doubt::Imported);
    if cells.iter().any(|(_, cell)| is_imported(cell)) {
        foot.push(say!(CARD_IMPORTED));
    }
    if !doubts.is_empty() {
        doubts.dedup();
        foot.push(say!(CARD_DOUBTFUL, doubts = doubts.join(", ")));
    }
    let under = [table::full_label(comparison, take), table::figures(comparison)].join(" · ");
    let title = sentences::title(run).to_owned();
    Some(Card { title, answer: answer(analysis, comparison), under, columns, rows, foot })
}

/// What was decided in times of the baseline and how sure that is; nothing of the only
/// configuration.
fn answer(analysis: &Analysis, comparison: &Comparison) -> Vec<String> {
    let Some(decision) = decision(analysis, comparison) else { return Vec::new() };
    if comparison.configurations.len() < 2 {
        return Vec::new();
    }
    let of_place = |text: &str| decision::of_place(analysis, comparison, text);
    let sure = decision.score_and_sure();
    let mut lines = match decision::joint(analysis) {
        Some((parts, _)) => parts.into_iter().map(|part| part.text).collect(),
        None => vec![of_place(&decision.lead)],
    };
    if !sure.is_empty() {
        lines.push(of_place(&sure));
    }
    lines
}

/// Drives and size of a configuration; when, on which machine and with which version it was
/// measured.
fn origin(run: &Run, comparison: &Comparison, take: &str) -> Vec<String> {
    let member = comparison.configurations.iter().find(|member| member.id == take);
    let known = run.plan.configurations.iter().find(|known| known.id == take);
    let fact = |name: &str| {
        let known = run.host.facts.iter().find(|fact| fact.name == name);
        known.map(|fact| fact.value.clone())
    };
    let drives = member.and_then(|member| {
        let mut own = run.trials.iter().filter(|trial| trial.settings == member.settings);
        let count = own.find(|trial| !trial.members.is_empty())?.members.len();
        Some(match (count, member.settings.get("members")) {
            (1, Some(name)) => say!(CARD_ONE_DRIVE, name = name),
            (_, Some(name)) => say!(CARD_DRIVES, count = count, name = name),
            (1, None) => say!(CARD_ONE_DRIVE_ALONE),
            (_, None) => say!(CARD_DRIVES_ALONE, count = count),
        })
    });
    let usable = known.and_then(|known| known.usable);
    let size = usable.map(|usable| say!(CARD_USABLE, size = numbers::size(usable.bytes)));
    let version = fact("raidloom").map(|version| format!("raidloom {version}"));
    let date = Some(sentences::moment(&run.host.started)).filter(|date| !date.is_empty());
    [[drives, size, None], [date, fact("processor"), version]]
        .map(|line| line.into_iter().flatten().collect::<Vec<_>>().join(" · "))
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect()
}

/// What was decided on, or the only configuration that there is.
pub(crate) fn taken(comparison: &Comparison) -> Option<&String> {
    let decided = comparison.overall().and_then(|result| result.headline.take.as_ref());
    let only = || {
        let first = &comparison.cells.first()?.configuration;
        comparison.cells.iter().all(|cell| cell.configuration == *first).then_some(first)
    };
    decided.or_else(only)
}

/// What makes a cell's figure doubtful, by name.
fn doubts_of(cell: &Cell, buffered: bool) -> impl Iterator<Item = String> {
    let counts = move |doubt: &Doubt| match doubt.bearing() {
        // That a cache answers is what is asked for there.
        Bearing::NotTheMedium => !buffered,
        Bearing::NoVote | Bearing::Busy => true,
        Bearing::Note => false,
    };
    let own = cell.flags.iter().filter(move |counted| counts(&counted.doubt));
    own.map(|counted| doubts::name(&counted.doubt))
}

/// A figure with its mark where it is doubtful.
fn shown(
    metric: &Metric,
    unit: Unit,
    own: impl Iterator<Item = String>,
    doubts: &mut Vec<String>,
) -> String {
    let before: Vec<String> = own.collect();
    let mark = if before.is_empty() { "" } else { "!" };
    for doubt in before {
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }
    format!("{}{mark}", numbers::figure(metric.median, metric.interval, unit))
}

type FilledCard = (Vec<[String; 2]>, Vec<(String, Vec<String>)>);

fn of_crystal(placed: &[(CardCell<'_>, &Cell)], doubts: &mut Vec<String>) -> FilledCard {
    let mut names: Vec<&str> = Vec::new();
    for (place, _) in placed {
        if !names.contains(&place.row) {
            names.push(place.row);
        }
    }
    // CrystalDiskMark's first, in its order; the others as the plan has them.
    names.sort_by_key(|name| KNOWN.iter().position(|known| known == name).unwrap_or(ROWS));
    names.truncate(ROWS);
    let ways = [(false, false), (false, true), (true, false), (true, true)];
    let is = |place: &CardCell<'_>, (write, buffered): (bool, bool)| {
        place.write == write && place.buffered == buffered
    };
    let ways: Vec<(bool, bool)> =
        ways.into_iter().filter(|way| placed.iter().any(|(place, _)| is(place, *way))).collect();
    let head = |(write, buffered): &(bool, bool)| {
        [
            if *write { say!(CARD_WRITE) } else { say!(CARD_READ) },
            if *buffered { say!(CARD_CACHED) } else { say!(CARD_DIRECT) },
        ]
    };
    let row = |name: &&str| {
        let figure = |way: &(bool, bool)| {
            let here = placed.iter().find(|(place, _)| place.row == *name && is(place, *way));
            let metric = |cell: &&Cell| {
                cell.metrics.iter().find(|metric| metric.name == THROUGHPUT).cloned()
            };
            here.and_then(|(_, cell)| Some((*cell, metric(cell)?))).map_or(
                "–".to_owned(),
                |(cell, metric)| {
                    let unit = numbers::unit(&metric.name);
                    shown(&metric, unit, doubts_of(cell, way.1), doubts)
                },
            )
        };
        ((*name).to_owned(), ways.iter().map(figure).collect())
    };
    let mut row = row;
    let rows = names.iter().map(&mut row).collect();
    (ways.iter().map(head).collect(), rows)
}

/// Rows of a suite whose users know no card: what each is judged by.
fn of_any_suite(
    comparison: &Comparison,
    cells: &[(&Workload, &Cell)],
    doubts: &mut Vec<String>,
) -> FilledCard {
    let judged = |workload: &Workload, cell: &Cell| {
        let durable = format!("durable_{}", workload.metric);
        let named = |name: &str| cell.metrics.iter().find(|metric| metric.name == name).cloned();
        named(&durable).or_else(|| named(&workload.metric))
    };
    // One of each kind of work and direction, the last as its largest requests.
    let mut chosen: Vec<(&Workload, &Cell, Metric)> = Vec::new();
    for (workload, cell) in cells {
        let Some(metric) = judged(workload, cell) else { continue };
        let is_like = |(known, _, other): &&mut (&Workload, &Cell, Metric)| {
            known.group == workload.group && other.name == metric.name
        };
        match chosen.iter_mut().find(is_like) {
            Some(like) => *like = (workload, cell, metric),
            None => chosen.push((workload, cell, metric)),
        }
    }
    chosen.truncate(ROWS);
    let mut rows = Vec::new();
    for (workload, cell, metric) in chosen {
        let unit = table::unit(comparison, cell, &metric);
        let figure = shown(&metric, unit, doubts_of(cell, false), doubts);
        let figure = format!("{figure} {}", unit.name).trim_end().to_owned();
        rows.push((numbers::workload(&workload.name), vec![figure]));
    }
    (vec![[String::new(), String::new()]], rows)
}

/// With several columns of figures, and with one: that fits a small screen.
const WIDTHS: [f64; 2] = [560.0, 400.0];
const EDGE: f64 = 16.0;
const ROW: f64 = 46.0;
const GAP: f64 = 6.0;
const HEAD: f64 = 34.0;
/// Height of a line of text.
const LINE: f64 = 18.0;
/// Colours of its own, so that the picture is the same wherever it is posted; dark where its reader
/// prefers that.
const STYLE: &str = ".card-page{fill:#fff}.card-box{fill:#eef2f5}.card-name{fill:#0b4a70}\
.card-ink{fill:#1c2126}.card-soft{fill:#56616b}.card-on{fill:#fff}\
@media (prefers-color-scheme:dark){.card-page{fill:#15191d}.card-box{fill:#2a323a}\
.card-name{fill:#12557f}.card-ink{fill:#e8ebee}.card-soft{fill:#a6b0b9}}\
.card text{font:12px -apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"Liberation Sans\",\
\"DejaVu Sans\",sans-serif;font-variant-numeric:tabular-nums}\
.card text.card-title{font-size:16px;font-weight:600}.card text.card-answer{font-weight:600}.card text.card-figure{font-size:18px;\
font-weight:600}";

impl Card {
    /// As a picture that needs nothing else.
    pub(crate) fn svg(&self) -> Markup {
        let names =
            self.rows.iter().map(|(name, _)| measure::width(name, Face::Bold)).fold(80.0, f64::max);
        let count = self.columns.len().max(1) as f64;
        let has_head = self.columns.iter().any(|head| !head[0].is_empty());
        let width = WIDTHS[usize::from(!has_head)];
        let label = (names + 24.0).min(130.0);
        let inner = width - 2.0 * EDGE;
        let cell = (inner - label - count * GAP) / count;
        // The title is set a third larger than measured, the answer in bold.
        let title = measure::broken(&self.title, Face::Bold, inner / 1.4, 3);
        let broken = |text: &String, face| measure::broken(text, face, inner, 3);
        let answer: Vec<String> =
            self.answer.iter().flat_map(|text| broken(text, Face::Bold)).collect();
        let foot: Vec<String> =
            self.foot.iter().flat_map(|text| broken(text, Face::Text)).collect();
        let above = HEAD + 22.0 * (title.len() as f64 - 1.0);
        let under = above + LINE * answer.len() as f64 + 16.0;
        let top = under + if has_head { 44.0 } else { 10.0 };
        let bottom = top + self.rows.len() as f64 * (ROW + GAP);
        let height = bottom + 8.0 + foot.len() as f64 * LINE + 6.0;
        html! {
            svg.card role="img" width=(width) height=(height)
                viewBox=(format!("0 0 {width} {height}")) {
                title { (say!(CARD_TITLE, title = self.title)) }
                style { (PreEscaped(STYLE)) }
                rect.card-page width=(width) height=(height) rx="10" {}
                @for (line, text) in title.iter().enumerate() {
                    text.card-ink.card-title x=(EDGE) y=(30.0 + 22.0 * line as f64) { (text) }
                }
                @for (line, text) in answer.iter().enumerate() {
                    text.card-ink.card-answer x=(EDGE) y=(above + LINE * (line as f64 + 1.0)) {
                        (text) }
                }
                text.card-soft x=(EDGE) y=(under + 2.0) {
                    (fitted(&self.under, Face::Text, inner)) }
                @if has_head { (self.heads(under, label, cell)) }
                @for (row, (name, figures)) in self.rows.iter().enumerate() {
                    @let y = top + row as f64 * (ROW + GAP);
                    @if let (false, [figure]) = (has_head, &figures[..]) {
                        rect.card-box x=(EDGE) y=(y) width=(inner) height=(ROW) rx="5" {}
                        text.card-soft x=(EDGE + 10.0) y=(y + 17.0) {
                            (fitted(name, Face::Text, inner - 20.0)) }
                        text.card-ink.card-figure x=(EDGE + inner - 8.0) y=(y + ROW - 7.0)
                            text-anchor="end" { (figure) }
                    } @else {
                        (Card::row(name, figures, (y, label, cell)))
                    }
                }
                @for (line, text) in foot.iter().enumerate() {
                    text.card-soft x=(EDGE) y=(bottom + 16.0 + line as f64 * LINE) { (text) }
                }
            }
        }
    }

    /// Heads of the columns, below a height.
    fn heads(&self, under: f64, label: f64, cell: f64) -> Markup {
        let middle = |column: usize| EDGE + label + GAP + column as f64 * (cell + GAP) + cell / 2.0;
        html! {
            @for (column, head) in self.columns.iter().enumerate() {
                text.card-ink x=(middle(column)) y=(under + 22.0) text-anchor="middle"
                    font-weight="600" { (head[0]) }
                text.card-soft x=(middle(column)) y=(under + 37.0) text-anchor="middle" {
                    (head[1]) }
            }
        }
    }

    /// A row with its name at the left and figures in columns.
    fn row(name: &str, figures: &[String], (y, label, cell): (f64, f64, f64)) -> Markup {
        let left = |column: usize| EDGE + label + GAP + column as f64 * (cell + GAP);
        // A figure is set half as large again as measured.
        let large = |text: &str| fitted(text, Face::Bold, (cell - 12.0) / 1.5);
        html! {
            rect.card-name x=(EDGE) y=(y) width=(label) height=(ROW) rx="5" {}
            text.card-on x=(EDGE + 10.0) y=(y + ROW / 2.0 + 4.0) {
                (fitted(name, Face::Bold, label - 16.0)) }
            @for (column, figure) in figures.iter().enumerate() {
                rect.card-box x=(left(column)) y=(y) width=(cell) height=(ROW) rx="5" {}
                text.card-ink.card-figure x=(left(column) + cell - 8.0)
                    y=(y + ROW / 2.0 + 6.0) text-anchor="end" { (large(figure)) }
            }
        }
    }

    /// The same figures as a table.
    pub(crate) fn table(&self) -> Table {
        let head = |[way, how]: &[String; 2]| Column {
            name: match [way.as_str(), how.as_str()].join(" ").trim() {
                "" => say!(FIGURE),
                head => head.to_owned(),
            },
            number: true,
        };
        let first = Column { name: say!(ROW), number: false };
        Table {
            caption: say!(CARD_TITLE, title = self.title),
            columns: std::iter::once(first).chain(self.columns.iter().map(head)).collect(),
            rows: self
                .rows
                .iter()
                .map(|(name, figures)| {
                    std::iter::once(name.clone()).chain(figures.iter().cloned()).collect()
                })
                .collect(),
        }
    }

    /// As text with columns, for where there are no pictures.
    pub(crate) fn text(&self) -> String {
        let mut lines = vec![self.title.clone()];
        lines.extend(self.answer.iter().cloned());
        lines.extend([self.under.clone(), String::new()]);
        let mut cells: Vec<Vec<String>> = Vec::new();
        if self.columns.iter().any(|head| !head[0].is_empty()) {
            let heads = |part: usize| self.columns.iter().map(move |head| head[part].clone());
            cells.push(std::iter::once(String::new()).chain(heads(0)).collect());
            cells.push(std::iter::once(String::new()).chain(heads(1)).collect());
        }
        for (name, figures) in &self.rows {
            cells.push(std::iter::once(name.clone()).chain(figures.iter().cloned()).collect());
        }
        let cells: Vec<Vec<&str>> =
            cells.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
        let right: Vec<usize> = (1..=self.columns.len()).collect();
        lines.extend(escape::columns(&cells, &right));
        lines.push(String::new());
        lines.extend(self.foot.iter().cloned());
        let mut text = String::new();
        for line in lines {
            let _ = writeln!(text, "{}", escape::line(line.trim_end()));
        }
        text
    }
}

/// The cards of a run, those first that take something.
pub(crate) fn cards(run: &Run, analysis: &Analysis) -> Vec<Card> {
    let (first, others): (Vec<_>, Vec<_>) =
        analysis.comparisons.iter().partition(|one| one.takes());
    first.into_iter().chain(others).filter_map(|one| card(run, analysis, one)).collect()
}

/// The card of what a run decided on, as an SVG file: of its first comparison that has one.
#[must_use]
pub fn card_svg(run: &Run, analysis: &Analysis) -> Option<String> {
    let svg = cards(run, analysis).first()?.svg().into_string();
    // Within a page that is understood; on its own it has to be said.
    let svg = svg.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
    Some(format!("{}\n", escape::text(&svg)))
}

/// The cards of a run as text, one for each comparison that decided on something.
#[must_use]
pub fn card_text(run: &Run, analysis: &Analysis) -> Option<String> {
    let texts: Vec<String> = cards(run, analysis).iter().map(Card::text).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
