//! The answer for a terminal in a few lines: what was asked, what it comes to, how sure that is and
//! of what, what it costs, what is not known. `report --full` says the rest.

use escape::{Paint, StyledText, width};
use results::analysis::Analysis;
use results::safety::speeds;
use results::types::Run;

use crate::decision::{self, ComparedDecision, Decision, decided, in_line, of_place};
use crate::first_screen::trust as trust_of;
use crate::sentences;
use crate::text::{Style, TextOutput};
use crate::words::say;
use crate::{numbers, safety};

/// Lines of a report of one question.
const LINES_MAX: usize = 12;
/// Columns that prose is broken at, however wide the terminal is.
const COLUMNS_MAX: usize = 80;
/// Lines of what is not known, and of each kind of work.
const PARAGRAPH_MAX: usize = 2;

/// A line and how soon it is left out where there are too many: 0 never.
type RankedLine = (usize, StyledText);

/// The answer as text, lines ended by `\n`: at most twelve of one question, with `last` where there
/// is one.
#[must_use]
pub fn brief(run: &Run, analysis: &Analysis, style: Style, last: Option<&str>) -> StyledText {
    let style = style.at_least();
    let style = Style { width: style.width.min(COLUMNS_MAX), ..style };
    let mut out = TextOutput::new(style);
    out.line(style.paint(Paint::Bold, &cut(sentences::title(run), style.width)));
    let run = &*speeds(run);
    let decided = decided(analysis);
    let joint = decision::joint(analysis);
    let mut lines: Vec<RankedLine> = Vec::new();
    match &joint {
        Some((parts, is_sure)) => {
            let sentence = decision::joined(parts);
            put(&mut lines, &out, (0, 0), &sentence, *is_sure);
            lines.extend(decided.iter().flat_map(|one| of_family(&out, analysis, one)));
            lines.extend(price_of_all(&out, &decided));
        }
        None => {
            let shown = if decision::alike(&decided).is_some() { 1 } else { decided.len() };
            let all = decided.iter().take(shown);
            lines.extend(all.flat_map(|one| of_one(&out, analysis, one, shown > 1)));
        }
    }
    for sentence in safety::by_grade(analysis) {
        put(&mut lines, &out, (1, 2), &sentence, false);
    }
    put(&mut lines, &out, (0, 2), &trust(run, analysis), false);
    lines.extend(commands(&decided, joint.is_some()));
    let most = match joint {
        Some(_) => LINES_MAX,
        None => LINES_MAX * analysis.comparisons.len().max(1),
    };
    within(&mut lines, most - 1 - usize::from(last.is_some()), style.width);
    lines.into_iter().for_each(|(_, line)| out.line(line));
    last.into_iter().for_each(|last| out.line(&*escape::line(last)));
    out.text
}

fn is_taken((comparison, _): &&ComparedDecision<'_>) -> bool {
    comparison.takes()
}

/// The beginning of a line that is too long.
fn cut(text: &str, columns: usize) -> String {
    let text = escape::line(text);
    if width(&text) <= columns {
        return text.into_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if width(&format!("{kept}{letter}…")) > columns {
            break;
        }
        kept.push(letter);
    }
    format!("{}…", kept.trim_end())
}

/// Leaves out what is least worth, the last of it first; a paragraph that loses its end shows it.
fn within(lines: &mut Vec<RankedLine>, most: usize, columns: usize) {
    while lines.len() > most {
        let last = lines.iter().map(|(rank, _)| *rank).max().filter(|rank| *rank > 0);
        let Some(place) = lines.iter().rposition(|(rank, _)| Some(*rank) == last) else { return };
        let (_, removed) = lines.remove(place);
        let is_end = removed.to_string().ends_with(['.', '。', '…']);
        if let Some((rank, before)) = place.checked_sub(1).map(|before| &mut lines[before])
            && Some(*rank) == last
            && is_end
            && !before.to_string().ends_with(['.', '。', '…'])
        {
            *before = StyledText::from(&*cut_off(&before.to_string(), columns));
        }
    }
}

/// A line whose paragraph goes on, with the sign for it.
fn cut_off(line: &str, columns: usize) -> String {
    format!("{}…", cut(line, columns - 1).trim_end_matches('…'))
}

/// A paragraph, cut after a few lines where it may be left out.
fn put(
    lines: &mut Vec<RankedLine>,
    out: &TextOutput,
    (rank, indent): (usize, usize),
    text: &str,
    is_bold: bool,
) {
    if rank > 0 {
        return put_some(lines, out, (rank, indent), text, PARAGRAPH_MAX);
    }
    lines.extend(out.broken(indent, text).into_iter().map(|line| match is_bold {
        true => (rank, out.style.paint(Paint::Bold, &line)),
        false => (rank, StyledText::from(&*line)),
    }));
}

/// The first lines of a paragraph.
fn put_some(
    lines: &mut Vec<RankedLine>,
    out: &TextOutput,
    (rank, indent): (usize, usize),
    text: &str,
    most: usize,
) {
    let mut broken = out.broken(indent, text);
    if broken.len() > most {
        broken.truncate(most);
        if let Some(last) = broken.last_mut() {
            *last = cut_off(last, out.style.width);
        }
    }
    lines.extend(broken.into_iter().map(|line| (rank, StyledText::from(&*line))));
}

/// All of one comparison, with its name where there are others.
fn of_one(
    out: &TextOutput,
    analysis: &Analysis,
    (comparison, decision): &ComparedDecision<'_>,
    has_name: bool,
) -> Vec<RankedLine> {
    let mut lines = Vec::new();
    let lead = format!("{}{}", decision.lead, say!(SENTENCE_END));
    let lead = match has_name {
        true => of_place(analysis, comparison, &lead),
        false => lead,
    };
    put(&mut lines, out, (0, 0), &lead, decision.is_sure);
    for banner in sentences::same_disks(comparison) {
        put(&mut lines, out, (2, 2), &banner, false);
    }
    let score = decision.score_and_sure();
    if !score.is_empty() {
        put(&mut lines, out, (0, 2), &score, false);
    }
    let kinds = kinds_alike(decision);
    // Many kinds of work leave a line to each of the others.
    let few = if kinds.len() > 2 { 1 } else { PARAGRAPH_MAX };
    match decision.price.as_str() {
        // What is in the way of an answer.
        "" if score.is_empty() => put(&mut lines, out, (1, 2), &decision.rest, false),
        "" => put_some(&mut lines, out, (1, 2), &decision.rest, few),
        price => put(&mut lines, out, (1, 2), price, false),
    }
    for kind in kinds {
        put(&mut lines, out, (2, 2), &kind, false);
    }
    if !decision.not_known.is_empty() {
        let open = say!(NOT_KNOWN_TEXT, open = decision.open());
        put_some(&mut lines, out, (3, 2), &open, few);
    }
    lines
}

/// What each kind of work says: `sequential, random: raid10; 1× (baseline)` of those that say the
/// same.
fn kinds_alike(decision: &Decision<'_>) -> Vec<String> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for answer in &decision.kinds {
        let score = in_line(&[&answer.pick, &answer.score, &answer.sure]);
        match said.iter_mut().find(|(known, _)| *known == score) {
            Some((_, kinds)) => kinds.push(&answer.kind),
            None => said.push((score, vec![&answer.kind])),
        }
    }
    let line = |(score, kinds): (String, Vec<&str>)| {
        say!(WITH_REASON, word = kinds.join(&say!(BETWEEN_PLACES)), reason = score)
    };
    said.into_iter().map(line).collect()
}

/// One of several that are said together: what of it is sure.
fn of_family(
    out: &TextOutput,
    analysis: &Analysis,
    (comparison, decision): &ComparedDecision<'_>,
) -> Vec<RankedLine> {
    let mut lines = Vec::new();
    let said = match comparison.overall().is_some_and(|kind| kind.headline.take.is_some()) {
        true => decision.score_and_sure(),
        false => decision.rest.clone(),
    };
    let text = format!("{}: {said}", decision::place(analysis, comparison));
    put(&mut lines, out, (2, 2), &text, false);
    lines
}

/// What it costs that is taken somewhere, once, and what is not known of the last of it.
fn price_of_all(out: &TextOutput, decided: &[ComparedDecision<'_>]) -> Vec<RankedLine> {
    let mut lines = Vec::new();
    let mut said: Vec<&str> = Vec::new();
    for (_, decision) in decided.iter().filter(is_taken) {
        if !decision.price.is_empty() && !said.contains(&&*decision.price) {
            said.push(&decision.price);
        }
    }
    for price in said {
        put(&mut lines, out, (1, 2), price, false);
    }
    let last = decided.iter().rfind(is_taken);
    if let Some((_, decision)) = last.filter(|(_, decision)| !decision.not_known.is_empty()) {
        put(&mut lines, out, (3, 2), &say!(NOT_KNOWN_TEXT, open = decision.open()), false);
    }
    lines
}

/// What it rests on, and what is to be read first.
fn trust(run: &Run, analysis: &Analysis) -> String {
    let mut parts = trust_of(run, analysis);
    let warnings = analysis.warnings.len();
    if warnings > 0 {
        parts.push(say!(WARNINGS_COUNT, count = numbers::grouped(warnings as u64)));
    }
    parts.push(say!(FULL_REPORT));
    parts.join(" · ")
}

/// What builds it, not wrapped: it is to be copied. Of several that are said together once each.
fn commands(decided: &[ComparedDecision<'_>], is_joint: bool) -> Vec<RankedLine> {
    let starts = decided.iter().filter(is_taken).filter_map(|(_, decision)| decision.start);
    let mut known: Vec<&str> = starts.map(|start| start.command.as_str()).collect();
    if is_joint {
        known.truncate(1);
    }
    let line = |command: &str| format!("    {}", escape::line(command));
    known.into_iter().map(|command| (4, StyledText::from(&*line(command)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_least_worth_is_left_out_first() {
        let line = |rank: usize, text: &str| (rank, StyledText::from(text));
        let mut lines = vec![line(0, "a"), line(2, "b"), line(1, "c"), line(2, "d"), line(0, "e")];
        within(&mut lines, 3, 80);
        let kept: Vec<String> = lines.iter().map(|(_, line)| line.to_string()).collect();
        assert_eq!(kept, ["a", "c", "e"]);
        within(&mut lines, 1, 80);
        assert_eq!(lines.len(), 2, "what must be said is");
        let mut lines = vec![line(0, "a"), line(2, "begins here and"), line(2, "ends there.")];
        within(&mut lines, 2, 80);
        assert_eq!(lines[1].1.to_string(), "begins here and…");
    }
}
