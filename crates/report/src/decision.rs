//! The decision: what to take, said first and in one sentence, with what that costs, the command
//! that builds it and what is not known. It says what the headline over all work says, and nothing
//! else.

use results::analysis::{
    Analysis, Cell, Comparison, JointPart, KindResult, StartRecipe, Tie, Verdict,
};
use results::doubt::Bearing;
use results::statistics::Interval;

use crate::sentences::{self, Answer, join};
use crate::words::{names, say};
use crate::{numbers, safety, table};

/// Most figures of a configuration that are in a headline.
const FIGURES_MAX: usize = 4;
/// Most configurations that a tie names.
const NAMES_MAX: usize = 4;

/// What a comparison comes to.
#[derive(Default)]
pub(crate) struct Decision<'a> {
    /// Whether it may stand out.
    pub(crate) is_sure: bool,
    /// What is taken, or that nothing is.
    pub(crate) lead: String,
    /// Its score with the interval; empty when there is none.
    pub(crate) score: String,
    /// What is sure and what is not, or nothing.
    pub(crate) sure: String,
    /// What is lost by it and what it costs, in sentences; empty when nothing is taken.
    pub(crate) price: String,
    /// How it stands, in sentences.
    pub(crate) rest: String,
    /// What builds it.
    pub(crate) start: Option<&'a StartRecipe>,
    /// What is not known, a sentence each.
    pub(crate) not_known: Vec<String>,
    /// What each kind of work says, where there are several.
    pub(crate) kinds: Vec<Answer>,
}

/// A comparison and what it comes to.
pub(crate) type ComparedDecision<'a> = (&'a Comparison, Decision<'a>);

/// All comparisons that come to anything.
pub(crate) fn decided(analysis: &Analysis) -> Vec<ComparedDecision<'_>> {
    let all = analysis.comparisons.iter();
    all.filter_map(|one| Some((one, decision(analysis, one)?))).collect()
}

/// What a comparison comes to: the headline over all work, or over the only kind there is.
pub(crate) fn decision<'a>(
    analysis: &'a Analysis,
    comparison: &Comparison,
) -> Option<Decision<'a>> {
    let results: Vec<&KindResult> = comparison.results().collect();
    let (whole, kinds) = results.split_last()?;
    if whole.headline.verdict == Verdict::Figures {
        return Some(of_figures(comparison));
    }
    let answer = |kind: &KindResult| sentences::answer(analysis, comparison, kind);
    let of_all = answer(whole);
    let of_kind = |kind: &&KindResult| {
        let mut own = answer(kind);
        // What is said of all work need not be said again of each kind.
        own.open.retain(|sentence| !of_all.open.contains(sentence));
        own
    };
    let kinds: Vec<Answer> = kinds.iter().map(of_kind).collect();
    let not_known: Vec<String> = of_all.not_known().map(str::to_owned).collect();
    let lead = lead(analysis, comparison, whole);
    let Some(take) = &whole.headline.take else {
        let rest = join(not_known.iter().map(String::as_str));
        return Some(Decision { lead, rest, kinds, ..Decision::default() });
    };
    let work = match whole.group {
        Some(group) => say!(FOR_KIND, kind = numbers::kind(Some(group))),
        None => say!(FOR_ALL),
    };
    let known = of_all.known.into_iter().chain(with_grade(analysis, comparison, take));
    let known: Vec<String> = known.collect();
    let known = join(known.iter().map(String::as_str));
    let costs = sentences::costs(&whole.headline).unwrap_or_default();
    let price = [of_all.losses.as_str(), costs.as_str()];
    Some(Decision {
        is_sure: of_all.is_sure,
        lead,
        score: of_all.score,
        sure: sentences::sure(&whole.headline, *take == comparison.baseline, true),
        price: join(price.into_iter().filter(|sentence| !sentence.is_empty())),
        rest: join([work.as_str(), known.as_str()].into_iter()),
        start: analysis.starts.iter().find(|start| start.configuration == *take),
        not_known,
        kinds,
    })
}

/// The only one, or what all say alike that take nothing: said once, and not of each.
pub(crate) fn alike<'a, 'b>(decided: &'b [ComparedDecision<'a>]) -> Option<&'b Decision<'a>> {
    let ((_, first), rest) = decided.split_first()?;
    let says_no_more = |(comparison, one): &ComparedDecision<'_>| {
        let takes_nothing =
            comparison.overall().is_some_and(|kind| !kind.headline.verdict.is_answer());
        takes_nothing && (&one.lead, &one.rest) == (&first.lead, &first.rest)
    };
    (rest.is_empty() || decided.iter().all(says_no_more)).then_some(first)
}

impl Decision<'_> {
    /// Its score, and what is sure of it, in a line; empty when there is neither.
    pub(crate) fn score_and_sure(&self) -> String {
        in_line(&[&self.score, &self.sure])
    }

    /// The answer, its score and what is sure of it, as a sentence; `lead` as it is to stand there.
    pub(crate) fn sentence(&self, lead: &str) -> String {
        let score = self.score_and_sure();
        let said = match score.is_empty() {
            true => lead.to_owned(),
            false => say!(WITH_REASON, word = lead, reason = score),
        };
        said + &say!(SENTENCE_END)
    }

    /// What is not known, as one paragraph; empty when nothing is open.
    pub(crate) fn open(&self) -> String {
        join(self.not_known.iter().map(String::as_str))
    }
}

/// The answer in a sentence, without its end.
fn lead(analysis: &Analysis, comparison: &Comparison, kind: &KindResult) -> String {
    let headline = &kind.headline;
    let baseline = table::label(comparison, &comparison.baseline);
    let Some(take) = &headline.take else { return say!(NO_ANSWER_LEAD) };
    let configuration = table::full_label(comparison, take);
    if headline.verdict == Verdict::NothingFaster {
        let matters = numbers::percent(analysis.matters);
        let lead = say!(NOTHING_FASTER, matters = matters, baseline = baseline);
        return say!(STAY_WITH, lead = lead, configuration = configuration);
    }
    let Some(tie) = &headline.tie else { return say!(TAKE, configuration = configuration) };
    in_times(Some(tied(comparison, tie)), tie.range, &baseline, &configuration)
}

/// Those of the parts that are there, in a line.
pub(crate) fn in_line(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join(&say!(BETWEEN_TIES))
}

/// `depth 4: ` and a text; of the only comparison the text alone.
pub(crate) fn of_place(analysis: &Analysis, comparison: &Comparison, text: &str) -> String {
    match analysis.comparisons.len() {
        1 => text.to_owned(),
        _ => say!(WITH_REASON, word = place(analysis, comparison), reason = text),
    }
}

/// A sentence of an answer.
pub(crate) struct Sentence {
    pub(crate) text: String,
    /// Whether it may stand out.
    pub(crate) is_sure: bool,
}

/// Sentences, one after the other.
pub(crate) fn joined(said: &[Sentence]) -> String {
    join(said.iter().map(|one| one.text.as_str()))
}

/// What several comparisons say together, a sentence each part, and whether all that is taken in it
/// is sure; nothing where they are not of one question.
pub(crate) fn joint(analysis: &Analysis) -> Option<(Vec<Sentence>, bool)> {
    if !analysis.joint.iter().any(|part| part.verdict.is_answer()) {
        return None;
    }
    let sentence = |part: &JointPart| {
        let first = &analysis.comparisons[*part.comparisons.first()?];
        let titles: Vec<String> = part
            .comparisons
            .iter()
            .map(|number| place(analysis, &analysis.comparisons[*number]))
            .collect();
        let places = titles.join(&say!(BETWEEN_PLACES));
        let baseline = table::label(first, &first.baseline);
        let said = match (&part.verdict, &part.take) {
            (Verdict::Take, Some(take)) => {
                let configuration = table::full_label(first, take);
                let tie = part.tie.as_ref().map(|tie| tied(first, tie));
                in_times(tie, part.range, &baseline, &configuration)
            }
            (Verdict::NothingFaster, _) => {
                let matters = numbers::percent(analysis.matters);
                say!(NOTHING_FASTER, matters = matters, baseline = baseline)
            }
            _ => say!(NO_ANSWER_LEAD),
        };
        let text = say!(JOINT_PART, place = places, said = said);
        Some(Sentence { text, is_sure: part.sure })
    };
    let sentences: Vec<Sentence> = analysis.joint.iter().filter_map(sentence).collect();
    let mut taken = analysis.joint.iter().filter(|part| part.take.is_some());
    let is_sure = analysis.joint.iter().any(|part| part.sure)
        && taken.all(|part| part.sure || part.verdict == Verdict::NothingFaster);
    Some((sentences, is_sure))
}

/// What a comparison is called among those of one question: whose figures these are is not said of
/// each where it is the same of all.
pub(crate) fn place(analysis: &Analysis, comparison: &Comparison) -> String {
    let mut all = analysis.comparisons.iter();
    match all.all(|one| one.figures() == comparison.figures()) && !comparison.name.is_empty() {
        true => names::settings(&numbers::spaced_sizes(&comparison.name)),
        false => table::comparison_title(comparison),
    }
}

/// A tie, or the only one, with where it lies.
fn in_times(
    tie: Option<String>,
    range: Option<Interval>,
    baseline: &str,
    configuration: &str,
) -> String {
    let ends = range.map(numbers::ratio_ends);
    match (tie, ends) {
        (Some(tie), Some([low, high])) => say!(
            TIE_IN_TIMES,
            tie = tie,
            low = low,
            high = high,
            baseline = baseline,
            configuration = configuration,
        ),
        (Some(tie), None) => say!(TIE_ALONE, tie = tie, configuration = configuration),
        (None, Some([low, high])) => say!(
            TAKE_IN_TIMES,
            low = low,
            high = high,
            baseline = baseline,
            configuration = configuration,
        ),
        (None, None) => say!(TAKE, configuration = configuration),
    }
}

/// Those that were not told apart: `Any chunk from 128 KiB to 512 KiB`.
fn tied(comparison: &Comparison, tie: &Tie) -> String {
    if let Some(span) = &tie.span {
        let axis = names::axis(&span.axis);
        let [from, to] = [&span.from, &span.to].map(|value| numbers::spaced_sizes(value));
        return say!(ANY_OF_SPAN, axis = axis, from = from, to = to);
    }
    let shown = tie.configurations.iter().take(NAMES_MAX);
    let mut names: Vec<String> = shown.map(|one| table::label(comparison, one)).collect();
    let more = tie.configurations.len() - names.len();
    let last = if more > 0 { Some(say!(MORE_NAMES, count = more)) } else { names.pop() };
    let (names, last) = (names.join(", "), last.unwrap_or_default());
    say!(ANY_OF, names = say!(OR, names = names, last = last))
}

/// Where there is nothing to compare, the figures are the result, with what a cache answered.
fn of_figures<'a>(comparison: &Comparison) -> Decision<'a> {
    let of_one = |id: &str| {
        let all: Vec<&Cell> =
            comparison.cells.iter().filter(|cell| cell.configuration == id).collect();
        let own: Vec<&Cell> = all.iter().copied().filter(|cell| !cell.metrics.is_empty()).collect();
        let mut shown: Vec<String> = own
            .iter()
            .take(FIGURES_MAX)
            .filter_map(|cell| {
                let figure = table::figure(comparison, id, &cell.workload)?;
                let mark = if silence(cell).is_some() { "!" } else { "" };
                let figure = format!("{}{mark}", figure.trim_end());
                Some(say!(FIGURE_OF, workload = numbers::workload(&cell.workload), figure = figure))
            })
            .collect();
        if own.len() > FIGURES_MAX {
            shown.push(say!(AND_MORE, count = own.len() - FIGURES_MAX));
        }
        say!(
            FIGURES_OF,
            configuration = table::full_label(comparison, id),
            figures = if shown.is_empty() { say!(NOT_MEASURED) } else { shown.join(", ") },
        )
    };
    let ids: Vec<&str> = comparison.configurations.iter().map(|one| one.id.as_str()).collect();
    let mut sentences: Vec<String> = Vec::new();
    let lead = match ids[..] {
        [only] => {
            sentences.push(say!(ONLY_CONFIGURATION));
            of_one(only)
        }
        _ => {
            sentences.extend(ids.iter().take(NAMES_MAX).map(|id| format!("{}.", of_one(id))));
            let shown = ids.iter().take(NAMES_MAX);
            let mut names: Vec<String> = shown.map(|id| table::label(comparison, id)).collect();
            if ids.len() > NAMES_MAX {
                names.push(say!(AND_MORE, count = ids.len() - NAMES_MAX));
            }
            say!(FIGURES_LEAD, names = names.join(", "))
        }
    };
    let silent = |why: Bearing| -> Option<String> {
        let cells = comparison.cells.iter().filter(|cell| silence(cell) == Some(why));
        let names: Vec<String> = cells.map(|cell| numbers::workload(&cell.workload)).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    sentences.extend(silent(Bearing::NotTheMedium).map(|of| say!(CACHE_ANSWERED, workloads = of)));
    sentences.extend(silent(Bearing::NoVote).map(|of| say!(COUNT_FOR_NOTHING, workloads = of)));
    let rest = join(sentences.iter().map(String::as_str));
    Decision { lead, rest, ..Decision::default() }
}

/// What keeps trials of a cell from voting, where a doubt does: that something else than the medium
/// answered, or else that the figures are not of what was to be measured.
pub(crate) fn silence(cell: &Cell) -> Option<Bearing> {
    let is_silent = cell.metrics.first().is_some_and(|metric| metric.silent > 0);
    let has = |why: &Bearing| cell.flags.iter().any(|counted| counted.doubt.bearing() == *why);
    [Bearing::NotTheMedium, Bearing::NoVote].into_iter().filter(|_| is_silent).find(has)
}

/// The grade of what is taken, behind its speed where there is only one: `412 MB/s, grade B: …`.
fn with_grade(analysis: &Analysis, comparison: &Comparison, take: &str) -> Option<String> {
    let grade = safety::of_configuration(analysis, take)?;
    let own = comparison.cells.iter().filter(|cell| cell.configuration == take);
    let workloads: Vec<&str> = own.map(|cell| cell.workload.as_str()).collect();
    let speed = match workloads[..] {
        [one] => table::figure(comparison, take, one),
        _ => None,
    };
    Some(match speed {
        Some(speed) => format!("{speed}, {grade}{}", say!(SENTENCE_END)),
        None => {
            let mut letters = grade.chars();
            let first: String = letters.next().iter().flat_map(|one| one.to_uppercase()).collect();
            format!("{first}{}{}", letters.as_str(), say!(SENTENCE_END))
        }
    })
}
