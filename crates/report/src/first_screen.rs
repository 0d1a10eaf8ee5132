//! What the first screen of the page says, as values: the answer, the one chart that shows it, what
//! it costs, and what it rests on.

use results::analysis::{Analysis, Comparison, KindResult, Reservation, Score, StartRecipe};
use results::claim::Answer;
use results::doubt::Bearing;
use results::types::{Run, Workload};

use crate::decision::{self, ComparedDecision, Sentence, decided, joint, of_place};
use crate::sentences;
use crate::table::{self, Table, number, words};
use crate::words::{names, say};
use crate::{numbers, safety};

/// Most rows of a chart or table that has to be seen at once.
const ROWS_MAX: usize = 9;
/// Most answers that stand on the first screen where nothing joins them.
const ANSWERS_MAX: usize = 4;
/// Most configurations side by side that are not compared.
const FIGURES_MAX: usize = 2;
/// Most lines of a chart: as many as there are colours.
const CURVES_MAX: usize = 4;
/// Most sentences of what is not known: all of them are among the reasons.
const NOT_KNOWN_MAX: usize = 1;
/// Fewest values along an axis that make a line.
const VALUES_MIN: usize = 3;

/// What is read first.
pub(crate) struct FirstScreen<'a> {
    /// The answer, a paragraph each.
    pub(crate) answer: Vec<Sentence>,
    /// Why there is none, or what else belongs to it.
    pub(crate) why: String,
    /// How sure that is and of what.
    pub(crate) sure: Vec<String>,
    /// What is lost by it and what it costs.
    pub(crate) costs: Vec<String>,
    /// Whose figures these are and what they rest on.
    pub(crate) trust: Vec<String>,
    /// What is not known, a sentence each.
    pub(crate) not_known: Vec<String>,
    /// What builds it, where that is one thing.
    pub(crate) start: Option<&'a StartRecipe>,
    /// The chart that shows it.
    pub(crate) chart: AnswerChart<'a>,
}

/// The one chart of an answer.
pub(crate) enum AnswerChart<'a> {
    /// Scores along the only axis, a line with its band for each comparison.
    Curves(Curves),
    /// Scores by configuration.
    Rows(Vec<Group<'a>>),
    /// Nothing is compared: figures.
    Figures(Vec<Table>),
}

/// A point of a curve.
pub(crate) struct Point {
    /// In times of the baseline.
    pub(crate) ratio: f64,
    /// Where that may lie.
    pub(crate) ends: Option<[f64; 2]>,
    /// Whether it is surely ahead or behind.
    pub(crate) is_decided: bool,
    /// Whether it is taken.
    pub(crate) is_taken: bool,
    /// Its ratio and where that may lie.
    pub(crate) figure: String,
    /// What it says when it is pointed at.
    pub(crate) text: String,
}

/// One comparison along the axis.
pub(crate) struct Curve {
    pub(crate) name: String,
    /// Along the axis; none where there is no score.
    pub(crate) points: Vec<Option<Point>>,
}

/// Scores by the values of an axis.
pub(crate) struct Curves {
    pub(crate) title: String,
    /// Values along the axis.
    pub(crate) values: Vec<String>,
    pub(crate) curves: Vec<Curve>,
}

/// A row of a forest.
pub(crate) struct ForestRow<'a> {
    pub(crate) name: String,
    pub(crate) score: &'a Score,
    pub(crate) is_baseline: bool,
    /// Whether nothing is surely ahead of it.
    pub(crate) is_best: bool,
    pub(crate) is_taken: bool,
}

/// Rows of a forest that belong together.
pub(crate) struct Group<'a> {
    /// What they share; empty where that is said elsewhere.
    pub(crate) title: String,
    pub(crate) rows: Vec<ForestRow<'a>>,
}

/// What the page shows first.
pub(crate) fn first_screen<'a>(run: &Run, analysis: &'a Analysis) -> FirstScreen<'a> {
    let decided = decided(analysis);
    let is_joint = joint(analysis).is_some();
    let taken = || decided.iter().filter(|(one, _)| one.takes());
    let mut starts: Vec<&StartRecipe> = taken().filter_map(|(_, one)| one.start).collect();
    starts.truncate(if is_joint { 1 } else { starts.len() });
    let mut not_known = match (taken().next_back(), &decided[..]) {
        (Some((_, last)), _) if is_joint => last.not_known.clone(),
        (_, [(_, only)]) => only.not_known.clone(),
        _ => Vec::new(),
    };
    not_known.truncate(NOT_KNOWN_MAX);
    // What is in the way of an answer belongs to it.
    let takes = |(one, _): &ComparedDecision<'_>| {
        one.overall().is_some_and(|kind| kind.headline.take.is_some())
    };
    let why = decision::alike(&decided).filter(|_| !decided.iter().any(takes));
    let why = why.map_or_else(String::new, |one| one.rest.clone());
    FirstScreen {
        answer: answers(analysis, &decided),
        why,
        sure: how_sure(analysis, &decided),
        costs: costs(analysis),
        trust: trust(run, analysis),
        not_known,
        start: if let [only] = starts[..] { Some(only) } else { None },
        chart: chart(run, analysis),
    }
}

/// How sure each answer is; what is the same of all is said once.
fn how_sure(analysis: &Analysis, decided: &[ComparedDecision<'_>]) -> Vec<String> {
    let said = || decided.iter().filter(|(_, decision)| !decision.sure.is_empty());
    let Some((_, first)) = said().next() else { return Vec::new() };
    if said().all(|(_, one)| one.sure == first.sure) {
        return vec![first.sure.clone()];
    }
    said().map(|(comparison, one)| of_place(analysis, comparison, &one.sure)).collect()
}

/// What is lost by what is taken and what it costs, each once: by the baseline where that stays
/// everywhere.
fn costs(analysis: &Analysis) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let any_takes = analysis.comparisons.iter().any(Comparison::takes);
    let taken = analysis.comparisons.iter().filter(|one| one.takes() || !any_takes);
    for kind in taken.filter_map(Comparison::overall) {
        let losses = sentences::losses(&kind.headline);
        let own = sentences::cost_parts(&kind.headline).into_iter().chain(losses);
        let new: Vec<String> = own.filter(|part| !parts.contains(part)).collect();
        parts.extend(new);
    }
    parts
}

/// The answer, a paragraph each.
fn answers(analysis: &Analysis, decided: &[ComparedDecision<'_>]) -> Vec<Sentence> {
    if let Some((sentences, _)) = joint(analysis) {
        return sentences;
    }
    let is_alike = decision::alike(decided).is_some();
    let of_one = |(comparison, decision): &ComparedDecision<'_>| {
        let lead = format!("{}{}", decision.lead, say!(SENTENCE_END));
        let text = if is_alike { lead } else { of_place(analysis, comparison, &lead) };
        Sentence { text, is_sure: decision.is_sure }
    };
    let shown = if is_alike { 1 } else { ANSWERS_MAX };
    let mut said: Vec<Sentence> = decided.iter().take(shown).map(of_one).collect();
    let mut more = safety::by_grade(analysis);
    if decided.len() > ANSWERS_MAX && !is_alike {
        more.insert(0, say!(MORE_BELOW, count = decided.len() - ANSWERS_MAX));
    }
    said.extend(more.into_iter().map(|text| Sentence { text, is_sure: false }));
    said
}

/// What a run comes to, in sentences: what every surface says first.
#[must_use]
pub fn answer(analysis: &Analysis) -> Vec<String> {
    answers(analysis, &decided(analysis)).into_iter().map(|said| said.text).collect()
}

/// Whose figures these are and how far they are off, how many trials, from when, and what a cache
/// answered.
pub(crate) fn trust(run: &Run, analysis: &Analysis) -> Vec<String> {
    // The largest error of those that are called alike.
    let mut kinds: Vec<(String, Option<f64>, bool)> = Vec::new();
    for comparison in &analysis.comparisons {
        let (figures, error) = (table::figures(comparison), model_error(comparison));
        match kinds.iter_mut().find(|(known, ..)| *known == figures) {
            Some((_, known, _)) => *known = known.zip(error).map(|(one, other)| one.max(other)),
            None => kinds.push((figures, error, comparison.modelled)),
        }
    }
    let said = |(figures, error, modelled): (String, Option<f64>, bool)| match error {
        _ if !modelled => figures,
        Some(error) => say!(MODEL_WITHIN, figures = figures, error = numbers::percent(error)),
        None => say!(ERROR_NOT_KNOWN, figures = figures),
    };
    let mut parts: Vec<String> = kinds.into_iter().map(said).collect();
    parts.push(sentences::trials_of(analysis));
    parts.push(sentences::moment(&run.host.started));
    parts.extend(answered_by_cache(run, analysis));
    parts.retain(|part| !part.is_empty());
    parts
}

/// The largest error that the models of a comparison state: of what is taken, or of all that is
/// compared where nothing is.
fn model_error(comparison: &Comparison) -> Option<f64> {
    let reservations = comparison.results().flat_map(|kind| &kind.headline.reservations);
    let errors = reservations.filter_map(|reservation| match reservation {
        Reservation::Modelled { error, .. } => *error,
        _ => None,
    });
    let compared = || {
        let scores = comparison.results().flat_map(|kind| &kind.scores);
        scores.filter_map(|score| score.versus_baseline.as_ref()?.model_error)
    };
    errors.reduce(f64::max).or_else(|| compared().reduce(f64::max))
}

/// What a cache answered of what was measured, or that it answered nothing; nothing where nobody
/// counted what the members moved.
fn answered_by_cache(run: &Run, analysis: &Analysis) -> Option<String> {
    let measured = || analysis.comparisons.iter().filter(|one| !one.modelled);
    // A guest has caches too.
    let cells = analysis.comparisons.iter().flat_map(|one| &one.cells);
    let mut names: Vec<String> = cells
        .filter(|cell| {
            cell.flags.iter().any(|counted| counted.doubt.bearing() == Bearing::NotTheMedium)
        })
        .map(|cell| numbers::workload(&cell.workload))
        .collect();
    names.dedup();
    if names.is_empty() {
        let is_counted = run.trials.iter().any(|trial| !trial.members.is_empty());
        return (is_counted && measured().next().is_some()).then(|| say!(NO_CACHE_ANSWERED));
    }
    names.sort();
    names.dedup();
    let more = names.len().saturating_sub(2);
    names.truncate(2);
    if more > 0 {
        names.push(say!(AND_MORE, count = more));
    }
    Some(say!(CACHE_ANSWERED_SOME, workloads = names.join(", ")))
}

fn chart<'a>(run: &Run, analysis: &'a Analysis) -> AnswerChart<'a> {
    if let Some(curves) = curves(run, analysis) {
        return AnswerChart::Curves(curves);
    }
    let groups = match &analysis.comparisons[..] {
        [only] => vec![narrowed(group(only, String::new()))],
        several => vec![taken_of_each(analysis, several)],
    };
    let groups: Vec<Group<'a>> = groups.into_iter().filter(|group| group.rows.len() > 1).collect();
    if !groups.is_empty() {
        return AnswerChart::Rows(groups);
    }
    let mut tables: Vec<Table> =
        analysis.comparisons.iter().filter_map(|one| figures(run, one)).take(1).collect();
    tables.iter_mut().for_each(|table| table.rows.truncate(ROWS_MAX));
    AnswerChart::Figures(tables)
}

/// The figure of each workload where there is nothing to compare it with.
fn figures(run: &Run, comparison: &Comparison) -> Option<Table> {
    let members = &comparison.configurations;
    let members = &members[..members.len().min(FIGURES_MAX)];
    let figure = |id: &str, workload: &str| {
        let cell = comparison.cell(id, workload)?;
        let mark = if decision::silence(cell).is_some() { "!" } else { "" };
        Some(format!("{}{mark}", table::figure(comparison, id, workload)?))
    };
    let row = |workload: &Workload| {
        let own: Vec<Option<String>> =
            members.iter().map(|member| figure(&member.id, &workload.name)).collect();
        own.iter().any(Option::is_some).then(|| {
            let shown = own.into_iter().map(|text| text.unwrap_or_else(|| "–".to_owned()));
            std::iter::once(numbers::workload(&workload.name)).chain(shown).collect()
        })
    };
    let rows: Vec<Vec<String>> = run.plan.workloads.iter().filter_map(row).collect();
    let heads = members.iter().map(|member| number(table::label(comparison, &member.id)));
    (!rows.is_empty()).then(|| Table {
        caption: say!(MEASURED_FIGURES),
        columns: std::iter::once(words(say!(WORKLOAD))).chain(heads).collect(),
        rows,
    })
}

/// All configurations of a comparison that have a score of all of its work.
pub(crate) fn group<'a>(comparison: &'a Comparison, title: String) -> Group<'a> {
    let Some(kind) = comparison.overall() else { return Group { title, rows: Vec::new() } };
    let row = |score: &'a Score| row(comparison, kind, score);
    Group { title, rows: kind.scores.iter().map(row).collect() }
}

fn row<'a>(comparison: &'a Comparison, kind: &'a KindResult, score: &'a Score) -> ForestRow<'a> {
    let own = &score.configuration;
    ForestRow {
        name: table::label(comparison, own),
        score,
        is_baseline: *own == comparison.baseline,
        is_best: kind.best_set.contains(own),
        is_taken: kind.headline.take.as_ref() == Some(own),
    }
}

/// The rows that tell most: the baseline, what is taken, and the fastest of the others, in their
/// order.
fn narrowed(mut group: Group<'_>) -> Group<'_> {
    let weight = |row: &ForestRow<'_>| match row.is_taken || row.is_baseline {
        true => f64::INFINITY,
        false => row.score.ratio,
    };
    let mut order: Vec<usize> = (0..group.rows.len()).collect();
    order.sort_by(|one, other| weight(&group.rows[*other]).total_cmp(&weight(&group.rows[*one])));
    order.truncate(ROWS_MAX);
    let mut place = 0;
    group.rows.retain(|_| {
        place += 1;
        order.contains(&(place - 1))
    });
    group
}

/// What each comparison takes, or comes nearest to taking.
fn taken_of_each<'a>(analysis: &'a Analysis, all: &'a [Comparison]) -> Group<'a> {
    let of_one = |comparison: &'a Comparison| {
        let kind = comparison.overall()?;
        let take = kind.headline.take.as_ref().or(kind.leader.as_ref())?;
        let own = row(comparison, kind, kind.score(take)?);
        let name =
            say!(WITH_REASON, word = decision::place(analysis, comparison), reason = own.name);
        Some(ForestRow { name, is_best: false, ..own })
    };
    let rows = all.iter().filter_map(of_one).take(ROWS_MAX).collect();
    Group { title: String::new(), rows }
}

/// The scores along the only axis, where it is the same in all comparisons and its values grow.
fn curves(run: &Run, analysis: &Analysis) -> Option<Curves> {
    let all = &analysis.comparisons;
    let first = all.first()?;
    let axis = table::panels(first).first()?.axis.clone();
    let known = run.plan.axes.iter().find(|known| known.name == axis)?;
    let values: Vec<String> =
        known.values.iter().map(|value| numbers::spaced_sizes(value)).collect();
    let grows = values.iter().all(|value| value.starts_with(|first: char| first.is_ascii_digit()));
    let baseline = table::label(first, &first.baseline);
    let is_like = |one: &Comparison| {
        let panels = table::panels(one);
        matches!(&panels[..], [panel] if panel.axis == axis && panel.columns.len() >= VALUES_MIN)
            && table::label(one, &one.baseline) == baseline
    };
    if all.len() > CURVES_MAX || !grows || !all.iter().all(is_like) {
        return None;
    }
    let curves: Vec<Curve> = all.iter().filter_map(|one| curve(analysis, one, &values)).collect();
    let title = say!(SCORE_BY_AXIS, axis = names::axis(&axis), baseline = baseline);
    (!curves.is_empty()).then_some(Curves { title, values, curves })
}

fn curve(analysis: &Analysis, comparison: &Comparison, values: &[String]) -> Option<Curve> {
    let panels = table::panels(comparison);
    let columns = &panels.first()?.columns;
    let kind = comparison.overall()?;
    let point = |value: &String| {
        let (id, _) = columns.iter().find(|(_, head)| head == value)?;
        let score = kind.score(id)?;
        let figure = numbers::score_whole(score);
        Some(Point {
            ratio: score.ratio,
            ends: score.interval().map(|interval| [interval.low, interval.high]),
            is_decided: matches!(score.answer(), Some(Answer::Ahead | Answer::Behind)),
            is_taken: kind.headline.take.as_ref() == Some(id),
            text: format!("{value}: {figure}, {}", table::score_answer(score)),
            figure,
        })
    };
    let points: Vec<Option<Point>> = values.iter().map(point).collect();
    let name = match analysis.comparisons.len() {
        1 => String::new(),
        _ => decision::place(analysis, comparison),
    };
    let measured = points.iter().flatten().count();
    (measured >= VALUES_MIN).then_some(Curve { name, points })
}
