//! Prose made from the analysis: every name and number in it is the one that the charts and tables
//! show.

use std::collections::BTreeMap;

use results::analysis::{Analysis, Comparison, Headline, KindResult, Reservation, Score, Warning};
use results::claim::{Answer as Word, PAIRS_MIN};
use results::course::LOOKS;
use results::types::Run;

use crate::numbers;
use crate::table::{comparison_title, label};

/// Blocks of the first look.
const LOOK: u32 = LOOKS[0];

/// Longest list of configurations in a sentence.
const LIST_LENGTH_MAX: usize = 10;

/// The headline of one kind of work.
pub(crate) struct Answer {
    /// `sequential`, `random`, `mixed`, `files` or `all`.
    pub(crate) kind: &'static str,
    /// The configuration to take; a dash when there is none.
    pub(crate) pick: String,
    /// Its score with the interval; empty when there is none.
    pub(crate) score: String,
    /// `sure`, `not sure`, or nothing where there is nothing to be sure of.
    pub(crate) sure: &'static str,
    /// Whether it may stand out: what is not sure may not.
    pub(crate) is_sure: bool,
    /// What else is known, a sentence each.
    pub(crate) known: Vec<String>,
    /// What is not known, or not surely, a sentence each.
    pub(crate) open: Vec<String>,
}

impl Answer {
    /// What else is to be said, a sentence each.
    pub(crate) fn details(&self) -> impl Iterator<Item = &str> {
        self.known.iter().chain(&self.open).map(String::as_str)
    }

    /// All of it in one line.
    pub(crate) fn sentence(&self) -> String {
        let score = if self.score.is_empty() { String::new() } else { format!(" {}", self.score) };
        let sure = if self.sure.is_empty() { String::new() } else { format!(", {}", self.sure) };
        format!("{} work: {}{score}{sure}. {}", self.kind, self.pick, join(self.details()))
    }
}

/// Sentences, one after the other.
pub(crate) fn join<'a>(sentences: impl Iterator<Item = &'a str>) -> String {
    sentences.collect::<Vec<_>>().join(" ")
}

/// What a comparison says about one kind of work.
pub(crate) fn answer(analysis: &Analysis, comparison: &Comparison, kind: &KindResult) -> Answer {
    let name = numbers::kind(kind.group);
    let headline = &kind.headline;
    let Some(take) = &headline.take else {
        return Answer {
            kind: name,
            pick: "–".into(),
            score: String::new(),
            sure: "",
            is_sure: false,
            known: Vec::new(),
            open: no_answer(analysis, comparison, kind),
        };
    };
    let is_baseline = *take == comparison.baseline;
    let score = if is_baseline {
        "1× (baseline)".to_string()
    } else {
        kind.score(take).map_or_else(String::new, numbers::score_whole)
    };
    let mut known = vec![how_it_stands(comparison, headline, is_baseline)];
    let mut open = Vec::new();
    known.extend(analysis.goal.as_ref().map(|goal| format!("Judged by the goal: {goal}.")));
    known.extend(named(analysis, comparison, kind));
    if !headline.same.is_empty() {
        known.push(format!(
            "The same within {}: {}.",
            numbers::percent(analysis.margin),
            list(comparison, kind, headline.same.iter())
        ));
    }
    if !headline.open.is_empty() {
        open.push(format!(
            "Not decided between it and {}{}.",
            list(comparison, kind, headline.open.iter()),
            settling(analysis, kind, headline)
        ));
    }
    let baseline = label(comparison, &comparison.baseline);
    let also = if is_baseline { "" } else { " too" };
    for (word, words, also) in [(Word::Ahead, "Ahead of", also), (Word::Behind, "Behind", "")] {
        let those: Vec<&String> = kind
            .scores
            .iter()
            .filter(|score| {
                score.answer() == Some(word)
                    && score.configuration != *take
                    && !headline.same.contains(&score.configuration)
                    && !headline.open.contains(&score.configuration)
            })
            .map(|score| &score.configuration)
            .collect();
        if !those.is_empty() {
            known.push(format!(
                "{words} {baseline}{also}: {}.",
                list(comparison, kind, those.into_iter())
            ));
        }
    }
    open.extend(reservations(comparison, headline));
    Answer {
        kind: name,
        pick: label(comparison, take),
        score,
        sure: match (headline.sure, is_baseline) {
            (true, _) => "sure",
            (false, false) => "not sure",
            (false, true) => "",
        },
        is_sure: headline.sure,
        known,
        open,
    }
}

/// What a race has named, and what of it is shown.
fn named(analysis: &Analysis, comparison: &Comparison, kind: &KindResult) -> Option<String> {
    let (looks, named) = (analysis.looks?, kind.named.as_ref()?);
    Some(format!(
        "{} was named after a race of {} blocks, and {} fresh blocks say this.",
        label(comparison, named),
        looks.raced_blocks?,
        looks.reached
    ))
}

/// How what is taken stands to the baseline and to the others.
fn how_it_stands(comparison: &Comparison, headline: &Headline, is_baseline: bool) -> String {
    let baseline = label(comparison, &comparison.baseline);
    let alone = comparison.configurations.len() == 1;
    if is_baseline {
        return match (headline.sure, headline.ahead_of_all) {
            _ if alone => "The only configuration.".into(),
            (true, _) => "The baseline itself, surely ahead of all others.".into(),
            (false, true) => "The baseline itself, ahead of all others.".into(),
            (false, false) => "The baseline itself: none is surely ahead of it.".into(),
        };
    }
    let surely = if headline.sure { "Surely ahead" } else { "Ahead" };
    match headline.claim.as_ref().map(|claim| claim.answer) {
        Some(Word::Ahead) if headline.ahead_of_all && comparison.configurations.len() > 2 => {
            format!("{surely} of {baseline} and of all others.")
        }
        Some(Word::Ahead) => format!("{surely} of {baseline}."),
        _ => format!("Highest score, not yet told apart from {baseline}."),
    }
}

/// What would decide between what is taken and those that may be better.
fn settling(analysis: &Analysis, kind: &KindResult, headline: &Headline) -> String {
    let claims = kind.scores.iter().filter(|score| headline.open.contains(&score.configuration));
    let settles: Vec<_> = claims
        .filter_map(|score| score.versus_take.as_ref().or(score.versus_baseline.as_ref()))
        .filter_map(|claim| claim.settle)
        .collect();
    if settles.iter().any(|settle| settle.measuring) {
        return ": they differ by less than the model's error, so measure them".into();
    }
    let quiet = if settles.iter().any(|settle| settle.quieter_machine) {
        ", fewer on a quieter machine"
    } else {
        ", fewer with longer tests"
    };
    let needed: Vec<_> = settles.iter().filter(|settle| settle.blocks.is_some()).collect();
    // The one that takes longest: none of the looks may be late enough for it.
    let more = needed.iter().map(|settle| settle.more).collect::<Option<Vec<u32>>>();
    match more.as_ref().and_then(|more| more.iter().max()) {
        Some(more) => {
            let time = analysis.block_seconds.map_or_else(String::new, |seconds| {
                format!(", {}", numbers::about(seconds * f64::from(*more)))
            });
            format!(": about {more} more blocks would tell (--more {more}{time}){quiet}")
        }
        None => needed
            .iter()
            .filter_map(|settle| settle.blocks)
            .max()
            .map_or_else(String::new, |blocks| {
                format!(": a run of {}{quiet}", numbers::blocks_needed(blocks))
            }),
    }
}

/// Why there is no answer.
fn no_answer(analysis: &Analysis, comparison: &Comparison, kind: &KindResult) -> Vec<String> {
    if let Some(looks) = analysis.looks.filter(|looks| looks.reached == 0) {
        return vec![match looks.raced_blocks {
            None if looks.race => "No answer yet: the race goes on, and it claims nothing.".into(),
            None => format!("No answer before the first look, at {} blocks.", looks.wanted),
            Some(_) => match &kind.named {
                Some(named) => format!(
                    "No answer yet: {} was named, and the first look is after {LOOK} fresh blocks.",
                    label(comparison, named)
                ),
                None => "No answer: too few trials voted in the race to name anything.".into(),
            },
        }];
    }
    let is_met = |reservation: &Reservation| !matches!(reservation, Reservation::RuledOut { .. });
    let claims = || kind.scores.iter().filter_map(|score| score.versus_baseline.as_ref());
    let is_compared = claims().any(|claim| claim.invalid.is_none());
    if is_compared && !kind.headline.reservations.iter().all(is_met) {
        let mut details = vec!["None: nothing that was compared meets the plan's terms.".into()];
        details.extend(reservations(comparison, &kind.headline));
        return details;
    }
    let most = claims().map(|claim| claim.pairs).max();
    let mut details = vec![match most {
        None if analysis.trials_finished < analysis.trials_planned => {
            "No answer yet: no block is finished.".into()
        }
        None => format!(
            "No answer: in no block were all workloads of this kind measured with {} and with \
            another.",
            label(comparison, &comparison.baseline)
        ),
        Some(blocks) => format!(
            "No answer: {blocks} {}, and {PAIRS_MIN} are the fewest.",
            if blocks == 1 { "block votes" } else { "blocks vote" }
        ),
    }];
    // Who was not compared for want of trials goes without saying.
    let mut said = kind.headline.clone();
    said.reservations.retain(|reservation| {
        !matches!(reservation, Reservation::NotCompared { reason: None, .. })
    });
    details.extend(reservations(comparison, &said));
    details
}

/// What a headline does not say, or not surely, and why.
fn reservations(comparison: &Comparison, headline: &Headline) -> Vec<String> {
    // Reason -> what it is about.
    let mut left_out: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut not_compared: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut ruled_out: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut details = Vec::new();
    for reservation in &headline.reservations {
        match reservation {
            Reservation::LeftOut(out) => {
                left_out.entry(short(&out.reason)).or_default().push(out.workload.clone());
            }
            Reservation::NotCompared { configuration, reason } => not_compared
                .entry(reason.as_deref().map_or("too few trials", short))
                .or_default()
                .push(label(comparison, configuration)),
            Reservation::RuledOut { configuration, reason } => {
                ruled_out.entry(reason).or_default().push(label(comparison, configuration));
            }
            Reservation::MayNotHold { bound, workload, metric, figure, high } => {
                let unit = numbers::unit(metric);
                let shown =
                    |value: f64| format!("{} {}", numbers::figure(value, None, unit), unit.name);
                let reach = match high {
                    Some(high) => format!("it may be up to {}", shown(*high)),
                    None => "too few trials vote to tell".to_owned(),
                };
                details.push(format!(
                    "Not called sure: {bound} may not hold in {workload} ({}, {reach}).",
                    shown(*figure)
                ));
            }
            Reservation::Busy { busy, pairs } => details.push(format!(
                "Not called sure: {busy} of {pairs} pairs of trials were measured on a busy machine."
            )),
            Reservation::Modelled { error: Some(error) } => details.push(format!(
                "Modelled, by a model that is off by up to {} where it was checked.",
                numbers::percent(*error)
            )),
            Reservation::Modelled { error: None } => {
                details.push("Modelled, by a model that does not state its error.".into());
            }
        }
    }
    for (reasons, words) in [
        (left_out, "Says nothing of"),
        (not_compared, "Not compared:"),
        (ruled_out, "Not to be taken:"),
    ] {
        details.extend(reasons.into_iter().map(|(reason, mut names)| {
            let more = names.len().saturating_sub(LIST_LENGTH_MAX);
            names.truncate(LIST_LENGTH_MAX);
            if more > 0 {
                names.push(format!("{more} more"));
            }
            format!("{words} {} ({reason}).", names.join(", "))
        }));
    }
    details
}

/// A flag without what follows its name.
fn short(flag: &str) -> &str {
    match flag.split_once(": ") {
        Some(("not measured", reason)) => reason.trim_end_matches('.'),
        Some((name, _)) => name,
        None => flag,
    }
}

/// Whether anything has a score.
pub(crate) fn has_scores(analysis: &Analysis) -> bool {
    analysis.comparisons.iter().flat_map(Comparison::results).any(|kind| !kind.scores.is_empty())
}

/// Names, then their scores or the range of them: `64 KiB, 256 KiB (1.85× to 1.86×)`.
fn list<'a>(
    comparison: &Comparison,
    kind: &KindResult,
    configurations: impl Iterator<Item = &'a String>,
) -> String {
    let configurations: Vec<&String> = configurations.collect();
    let mut names: Vec<String> = configurations
        .iter()
        .take(LIST_LENGTH_MAX)
        .map(|configuration| label(comparison, configuration))
        .collect();
    if configurations.len() > LIST_LENGTH_MAX {
        names.push(format!("and {} more", configurations.len() - LIST_LENGTH_MAX));
    }
    let own = configurations.iter().filter(|configuration| ***configuration != comparison.baseline);
    let scores: Vec<&Score> = own.filter_map(|configuration| kind.score(configuration)).collect();
    let text = |score: &&Score| format!("{}×", numbers::ratio(score.ratio, score.interval()));
    let lowest = scores.iter().min_by(|left, right| left.ratio.total_cmp(&right.ratio)).map(text);
    let highest = scores.iter().max_by(|left, right| left.ratio.total_cmp(&right.ratio)).map(text);
    match (lowest, highest) {
        (Some(lowest), Some(highest)) if lowest == highest => {
            format!("{} ({lowest})", names.join(", "))
        }
        (Some(lowest), Some(highest)) => format!("{} ({lowest} to {highest})", names.join(", ")),
        _ => names.join(", "),
    }
}

/// That further members are no further disks here.
pub(crate) fn one_disk(comparison: &Comparison) -> Option<String> {
    let on = comparison.one_disk.as_ref()?;
    Some(format!(
        "All members lie on one and the same {on}: this shows what a layout costs there, and not \
        what more disks bring."
    ))
}

/// What comparing within blocks was worth, and how much trials knew of each other.
pub(crate) fn pairing(comparison: &Comparison) -> Option<String> {
    let gain = comparison.pairing_gain?;
    let mut text = if gain >= 1.05 {
        format!("Comparing within blocks makes variances {gain:.1} times smaller.")
    } else {
        "Comparing within blocks makes variances no smaller here.".to_owned()
    };
    if let Some(found) = comparison.autocorrelation {
        text += &format!(" Autocorrelation of one trial and the next: {:.2}.", found.lag_1);
    }
    Some(text)
}

/// What the run was, in a few words each: configurations, workloads, blocks, trials, beginning.
pub(crate) fn scope(run: &Run, analysis: &Analysis) -> [String; 5] {
    let plan = &run.plan;
    let count =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let trials = if analysis.trials_finished == analysis.trials_planned {
        count(analysis.trials_finished, "trial")
    } else {
        format!("{} of {} trials", analysis.trials_finished, analysis.trials_planned)
    };
    [
        count(plan.configurations.len(), "configuration"),
        count(plan.workloads.len(), "workload"),
        match &analysis.looks {
            Some(looks) if looks.race => match looks.raced_blocks {
                Some(raced) => format!("a race of {raced} blocks and {} fresh ones", looks.wanted),
                None => format!("a race of at most {} blocks", plan.blocks),
            },
            Some(looks) => count(plan.blocks.max(looks.wanted) as usize, "block"),
            None => count(plan.blocks as usize, "block"),
        },
        trials,
        moment(&run.host.started),
    ]
}

/// `2026-11-21 07:40 UTC` for `2026-11-21T07:40:00Z`; any other text as it is.
fn moment(started: &str) -> String {
    let minutes = started
        .split_once('T')
        .and_then(|(day, time)| Some((day, time.strip_suffix('Z')?.get(..5)?)));
    minutes.map_or_else(|| started.to_string(), |(day, time)| format!("{day} {time} UTC"))
}

/// A warning in words: what, and what follows from it.
pub(crate) fn warning(analysis: &Analysis, warning: &Warning) -> String {
    let trials =
        |count: usize| if count == 1 { "1 trial".to_string() } else { format!("{count} trials") };
    let place = |name: &str| {
        let found = analysis.comparisons.iter().find(|comparison| comparison.name == name);
        found.map_or_else(|| name.to_string(), comparison_title)
    };
    match warning {
        Warning::Note { text } => text.clone(),
        Warning::Incomplete { finished, planned } => {
            format!(
                "Incomplete: {finished} of {planned} trials are finished. Blocks that lack a \
                workload or the baseline do not count."
            )
        }
        Warning::Unknown { trials: count } => {
            format!("{} of no cell of the plan left out.", trials(*count))
        }
        Warning::Repeated { trials: count } => {
            format!("{} replaced by a later trial of the same cell and block.", trials(*count))
        }
        Warning::FewBlocks { comparison, blocks } => {
            let advice = if *blocks < PAIRS_MIN {
                "no intervals and no answers"
            } else {
                "intervals are wide"
            };
            format!(
                "Few trials, {}: at most {blocks} blocks a cell vote, so {advice}; 8 find most \
                differences of 3 %.",
                place(comparison)
            )
        }
        Warning::Drifted { comparison, change } => {
            let direction = if *change > 0.0 { "faster" } else { "slower" };
            format!(
                "Figures drifted to {} {direction} over the run ({}); comparing within blocks \
                removes it from the ratios.",
                numbers::percent(change.abs()),
                place(comparison)
            )
        }
        Warning::Stepped { comparison, block, change } => {
            let direction = if *change > 0.0 { "faster" } else { "slower" };
            format!(
                "From block {} on all figures were {} {direction} ({}): the machine changed. \
                Comparing within blocks keeps that out of the ratios, and medians have both in them.",
                block + 1,
                numbers::percent(change.abs()),
                place(comparison)
            )
        }
        Warning::Autocorrelated { comparison, lag_1 } => {
            let (like, why) = if *lag_1 > 0.0 {
                ("like", "the machine's noise lasts longer than a trial")
            } else {
                ("unlike", "something takes turns with the trials")
            };
            format!(
                "One trial is much {like} the one before (autocorrelation {lag_1:.2}, {}): {why}. \
                Comparing what lies close together takes most of it out (interleave = true).",
                place(comparison)
            )
        }
        Warning::CarriedOver { comparison, configuration, change } => {
            let name = analysis
                .comparisons
                .iter()
                .flat_map(|comparison| {
                    let mut members = comparison.configurations.iter();
                    members.find(|member| member.id == *configuration).map(|_| comparison)
                })
                .next()
                .map_or_else(|| configuration.clone(), |found| label(found, configuration));
            format!(
                "What runs after {name} is {} {} ({}): it leaves something behind, which words of \
                difference may be made of. Give every visit the same rest or the same first writes.",
                numbers::percent(change.abs()),
                if *change > 0.0 { "faster" } else { "slower" },
                place(comparison)
            )
        }
        Warning::Flagged { text, trials: count, cells, silent } => {
            let cells = if *cells == 1 { "1 cell".to_string() } else { format!("{cells} cells") };
            match text.strip_prefix("not measured: ") {
                Some(reason) => format!(
                    "{} in {cells} not measured: {}.",
                    trials(*count),
                    reason.trim_end_matches('.')
                ),
                None => {
                    let what = match silent {
                        0 => "kept and marked",
                        silent if silent == count => "shown and marked, without a vote",
                        _ => "shown and marked, most without a vote",
                    };
                    format!("{} in {cells}, {what}: {text}.", trials(*count))
                }
            }
        }
        Warning::NoRatio { trials: count } => {
            format!("{} without a figure above zero, left out of the comparisons.", trials(*count))
        }
        Warning::Outliers { trials: count } => {
            format!(
                "{} far off the rest of the same cell (10 median deviations or more), kept.",
                trials(*count)
            )
        }
    }
}

/// How the figures were made, a paragraph each.
pub(crate) fn method(analysis: &Analysis) -> Vec<String> {
    let margin = numbers::percent(analysis.margin);
    let mut method: Vec<String> = vec![
        "A block is every configuration with every workload once, in a fresh random order. Each \
        figure is compared with the baseline's \
         of the same block, as a ratio, so what the machine did meanwhile cancels out."
            .into(),
        "The ratio is the mean of the paired log ratios, turned back. Its interval is Student's t on \
        a variance that leans on those of the row (4 degrees of freedom of their median in rows of 8 \
        and more, less in shorter ones). Medians carry order-statistic intervals."
            .into(),
        format!(
            "Ahead and behind: the interval excludes 1. All such words of one row of a table hold \
            together with 95 %, and so does all that the headlines and scores say in one report \
            (Bonferroni). Same: two one-sided tests at 5 % put the ratio within {margin}; in tables \
            each such word stands for itself, and its interval is the one of 90 % that it rests on. \
            What is both is called the same. Otherwise there is no answer, and by how many blocks \
            the run is to go on for most such questions to get one."
        ),
        "A trial that a cache answered where the medium was asked about, whose bytes do not fit, or \
        that was faster than the medium can be, is shown and does not vote. A busy machine is noise: \
        its trials vote, intervals widen by themselves, and a headline most of whose trials were \
        busy is not called sure. Writes are judged by their durable rate unless the plan says \
        otherwise. A model's stated error is part of the intervals of its figures."
            .into(),
        "The score of a kind of work is the weighted geometric mean of its workloads' ratios, \
        taken block by block. The best set holds all that no other is surely ahead of; the baseline \
        is recommended whenever it is in there."
            .into(),
    ];
    let Some(looks) = &analysis.looks else { return method };
    if looks.race {
        method.push(
            "A race: from the third block on, what is clearly behind the leader in every kind of \
            work is not measured any more (never the baseline, never the last of a level). The race \
            claims nothing, and its ratios (·) have no word. When it is over, one is named, and only \
            fresh trials of it, of two runners-up and of the baseline make the claims."
                .into(),
        );
    }
    method.push(format!(
        "Claims are made at looks that were fixed beforehand, after {} and {} blocks and at no other \
        time, each at a fourth of the level, so that going on until there is an answer makes no \
        false one.",
        LOOKS[..LOOKS.len() - 1].iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        LOOKS[LOOKS.len() - 1]
    ));
    method
}
