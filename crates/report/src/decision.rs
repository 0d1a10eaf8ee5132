//! The decision: what to take, said first and in one sentence, with the command that builds it and
//! with what is not known. It says what the headline over all work says, and nothing else.

use results::analysis::{Analysis, Comparison, KindResult, Start};

use crate::sentences::{self, Answer, join};
use crate::words::say;
use crate::{numbers, safety, table};

/// What a comparison comes to.
pub(crate) struct Decision<'a> {
    /// Whether it may stand out.
    pub(crate) is_sure: bool,
    /// What is taken, or that nothing is.
    pub(crate) lead: String,
    /// Its score with the interval; empty when there is none.
    pub(crate) score: String,
    /// `sure`, `not sure`, or nothing.
    pub(crate) sure: String,
    /// How it stands, in sentences.
    pub(crate) rest: String,
    /// What builds it.
    pub(crate) start: Option<&'a Start>,
    /// What is not known; empty when nothing is open.
    pub(crate) open: String,
    /// What each kind of work says, where there are several.
    pub(crate) kinds: Vec<Answer>,
}

/// What a comparison comes to: the headline over all work, or over the only kind there is.
pub(crate) fn decision<'a>(
    analysis: &'a Analysis,
    comparison: &Comparison,
) -> Option<Decision<'a>> {
    let results: Vec<&KindResult> = comparison.results().collect();
    let (whole, kinds) = results.split_last()?;
    let answer = |kind: &KindResult| sentences::answer(analysis, comparison, kind);
    let of_all = answer(whole);
    let of_kind = |kind: &&KindResult| {
        let mut own = answer(kind);
        // What is said of all work need not be said again of each kind.
        own.open.retain(|sentence| !of_all.open.contains(sentence));
        own
    };
    let kinds: Vec<Answer> = kinds.iter().map(of_kind).collect();
    let open = join(of_all.not_known());
    let Some(take) = &whole.headline.take else {
        let lead = say!(NO_DECISION);
        let (rest, open) = (open, String::new());
        // Of the only configuration there is nothing to say of each kind either.
        let alone = comparison.configurations.len() == 1;
        let kinds = if alone { Vec::new() } else { kinds };
        let (score, sure) = (String::new(), String::new());
        return Some(Decision {
            is_sure: false,
            lead,
            score,
            sure,
            rest,
            start: None,
            open,
            kinds,
        });
    };
    let work = match whole.group {
        Some(group) => say!(FOR_KIND, kind = numbers::kind(Some(group))),
        None => say!(FOR_ALL),
    };
    let known = of_all.known.into_iter().chain(with_grade(analysis, comparison, take));
    let known: Vec<String> = known.collect();
    let known = join(known.iter().map(String::as_str));
    Some(Decision {
        is_sure: of_all.is_sure,
        lead: say!(TAKE, configuration = table::full_label(comparison, take)),
        score: of_all.score,
        sure: of_all.sure,
        rest: join([work.as_str(), known.as_str()].into_iter()),
        start: analysis.starts.iter().find(|start| start.configuration == *take),
        open,
        kinds,
    })
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
        Some(speed) => format!("{speed}, {grade}."),
        None => {
            let (first, rest) = grade.split_at(1);
            format!("{}{rest}.", first.to_uppercase())
        }
    })
}
