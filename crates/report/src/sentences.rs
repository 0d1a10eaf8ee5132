//! Prose made from the analysis: every name and number in it is the one that the charts and tables
//! show.

use std::collections::BTreeMap;

use results::analysis::{
    Analysis, Comparison, Headline, KindResult, MODEL_CASES_MIN, PickedBy, Reservation, Score,
    Verdict, Warning,
};
use results::claim::{Answer as Word, PAIRS_MIN};
use results::course::LOOKS;
use results::types::{Run, Survival};

use crate::table::{comparison_title, label};
use crate::words::catalogue::{
    NOT_COMPARED, NOT_TO_BE_TAKEN, SAME_AS, SAME_AS_SEVERAL, SAYS_NOTHING_OF, TIED_WITH,
    TIED_WITH_SEVERAL,
};
use crate::words::{self, Language, Message, say};
use crate::{doubts, numbers, survival};

/// Blocks of the first look.
const LOOK: u32 = LOOKS[0];

/// Longest list of configurations in a sentence.
const LIST_LENGTH_MAX: usize = 10;

/// Most losses that are named in a sentence.
const LOSSES_MAX: usize = 4;

/// Most configurations that are named on the line of a kind of work.
const TIES_MAX: usize = 2;

/// The headline of one kind of work.
pub(crate) struct Answer {
    /// `sequential`, `random`, `mixed`, `files` or `all`.
    pub(crate) kind: String,
    /// The configuration to take; a dash when there is none.
    pub(crate) pick: String,
    /// Its score with the interval; empty when there is none.
    pub(crate) score: String,
    /// `sure`, `not sure`, or nothing where there is nothing to be sure of.
    pub(crate) sure: String,
    /// Whether it may stand out: what is not sure may not.
    pub(crate) is_sure: bool,
    /// What is as good as it, or may be, in few words each.
    pub(crate) ties: Vec<String>,
    /// Where what is taken is surely behind; empty where nowhere.
    pub(crate) losses: String,
    /// What else is known, a sentence each.
    pub(crate) known: Vec<String>,
    /// What it was not told apart from; empty when it stands alone.
    pub(crate) undecided: String,
    /// What else is not known, or not surely, a sentence each.
    pub(crate) open: Vec<String>,
}

impl Answer {
    /// What else is to be said, a sentence each.
    pub(crate) fn details(&self) -> impl Iterator<Item = &str> {
        let losses = Some(self.losses.as_str()).filter(|sentence| !sentence.is_empty());
        losses.into_iter().chain(self.known.iter().map(String::as_str)).chain(self.not_known())
    }

    /// What is not known, or not surely, a sentence each.
    pub(crate) fn not_known(&self) -> impl Iterator<Item = &str> {
        let undecided = Some(&self.undecided).filter(|sentence| !sentence.is_empty());
        undecided.into_iter().chain(&self.open).map(String::as_str)
    }

    /// All of it in one line.
    pub(crate) fn sentence(&self) -> String {
        let score = if self.score.is_empty() { String::new() } else { format!(" {}", self.score) };
        let sure = if self.sure.is_empty() { String::new() } else { format!(", {}", self.sure) };
        let details = join(self.details());
        say!(
            SENTENCE_OF_KIND,
            kind = self.kind,
            pick = self.pick,
            score = score,
            sure = sure,
            details = details,
        )
    }
}

/// Sentences, one after the other; Japanese has no space between them.
pub(crate) fn join<'a>(sentences: impl Iterator<Item = &'a str>) -> String {
    let between = match words::language() {
        Language::English => " ",
        Language::Japanese => "",
    };
    sentences.collect::<Vec<_>>().join(between)
}

/// What a comparison says about one kind of work.
pub(crate) fn answer(analysis: &Analysis, comparison: &Comparison, kind: &KindResult) -> Answer {
    let name = numbers::kind(kind.group);
    let headline = &kind.headline;
    let Some(take) = &headline.take else {
        return Answer {
            kind: name,
            pick: say!(NO_ANSWER_LEAD),
            score: String::new(),
            sure: String::new(),
            is_sure: false,
            ties: Vec::new(),
            losses: String::new(),
            known: Vec::new(),
            undecided: String::new(),
            open: no_answer(analysis, comparison, kind),
        };
    };
    let is_baseline = *take == comparison.baseline;
    let score = if is_baseline {
        say!(BASELINE_SCORE)
    } else {
        kind.score(take).map_or_else(String::new, numbers::score_whole)
    };
    let mut known = vec![how_it_stands(analysis, comparison, headline, is_baseline)];
    known.extend(headline.in_model.then(|| {
        let blocks =
            headline.claim.as_ref().map_or(analysis.blocks_planned, |own| own.pairs as u32);
        say!(IN_MODEL_ALONE, blocks = blocks_text(blocks))
    }));
    known.extend(picked_by(comparison, headline));
    known.extend(analysis.goal.as_ref().map(|goal| say!(JUDGED_BY, goal = goal)));
    known.extend(named(analysis, comparison, kind));
    if !headline.same.is_empty() {
        known.push(say!(
            SAME_WITHIN,
            margin = numbers::percent(analysis.margin),
            list = list(comparison, kind, headline.same.iter()),
        ));
    }
    let undecided = match headline.open.is_empty() {
        true => String::new(),
        false => say!(
            NOT_DECIDED,
            configuration = label(comparison, take),
            list = list(comparison, kind, headline.open.iter()),
            settling = settling(analysis, kind, headline),
        ),
    };
    known.extend(others(comparison, kind, take, is_baseline));
    Answer {
        kind: name,
        pick: label(comparison, take),
        score,
        sure: sure(headline, is_baseline, false),
        is_sure: headline.sure,
        ties: ties(comparison, headline),
        losses: losses(headline).unwrap_or_default(),
        known,
        undecided,
        open: reservations(comparison, headline),
    }
}

/// What else is surely ahead of the baseline or behind it.
fn others(
    comparison: &Comparison,
    kind: &KindResult,
    take: &String,
    is_baseline: bool,
) -> Vec<String> {
    let headline = &kind.headline;
    let baseline = label(comparison, &comparison.baseline);
    let of_word = |word: Word| {
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
        let list = list(comparison, kind, those.iter().copied());
        (!those.is_empty()).then(|| match (word, is_baseline) {
            (Word::Ahead, true) => say!(AHEAD_OF, baseline = baseline, list = list),
            (Word::Ahead, false) => say!(AHEAD_OF_TOO, baseline = baseline, list = list),
            _ => say!(BEHIND_LIST, baseline = baseline, list = list),
        })
    };
    [Word::Ahead, Word::Behind].into_iter().filter_map(of_word).collect()
}

/// What is sure, and of what: `1.34× or more: sure; which of them: not known`.
/// `of_tie` says it of all of a tie, and not of what is taken of it.
pub(crate) fn sure(headline: &Headline, is_baseline: bool, of_tie: bool) -> String {
    let claim = headline.claim.as_ref().filter(|_| !is_baseline);
    let range = headline.tie.as_ref().filter(|_| of_tie).and_then(|tie| tie.range);
    let held = range.or_else(|| claim?.shown_interval());
    let first = match (headline.sure, held) {
        _ if headline.in_model => say!(IN_MODEL),
        (true, Some(interval)) => {
            let value = (interval.low * interval.high).sqrt();
            match numbers::at_least(value, interval) {
                Some(low) => say!(SURE_FROM, low = low),
                None => say!(SURE_FASTER),
            }
        }
        (true, None) => say!(SURE),
        // What it rests on may be shaken, and nothing else keeps it from being so.
        (false, _) if is_baseline && !was_busy(headline) => return String::new(),
        (false, _) => say!(NOT_SURE),
    };
    match headline.tie.is_some() && !headline.open.is_empty() {
        true => [first, say!(WHICH_NOT_KNOWN)].join(&say!(BETWEEN_TIES)),
        false => first,
    }
}

/// Whether most of what a headline rests on was measured on a busy machine.
fn was_busy(headline: &Headline) -> bool {
    headline.reservations.iter().any(|one| matches!(one, Reservation::Busy { .. }))
}

/// By what one of several was taken.
fn picked_by(comparison: &Comparison, headline: &Headline) -> Option<String> {
    let tie = headline.tie.as_ref()?;
    let configuration = label(comparison, headline.take.as_ref()?);
    Some(match tie.picked_by {
        PickedBy::Race => say!(PICKED_BY_RACE, configuration = configuration),
        PickedBy::LeastRegret => say!(PICKED_BY_REGRET, configuration = configuration),
        PickedBy::MdDefault => say!(PICKED_BY_DEFAULT, configuration = configuration),
        PickedBy::Middle => say!(PICKED_BY_MIDDLE, configuration = configuration),
    })
}

/// What is taken in spite of: where it is surely behind the baseline, the worst first. Figures of
/// one workload that say the same thing are said once, by the worst of them.
pub(crate) fn losses(headline: &Headline) -> Option<String> {
    let mut said: Vec<(&str, bool)> = Vec::new();
    let mut shown = Vec::new();
    for loss in &headline.losses {
        let is_rate = !loss.metric.contains("latency_p") && !loss.metric.contains("latency_max");
        if said.contains(&(&loss.workload, is_rate)) {
            continue;
        }
        said.push((&loss.workload, is_rate));
        let workload = numbers::workload(&loss.workload);
        let ratio = numbers::ratio(loss.ratio, loss.interval);
        // Of work of one size both say the same.
        let rates = ["throughput_bytes_per_second", "io_per_second"];
        shown.push(match rates.iter().any(|rate| loss.metric.ends_with(rate)) {
            true => say!(LOSS, workload = workload, ratio = ratio),
            false => {
                let metric = numbers::spoken(&loss.metric);
                say!(LOSS_OF_METRIC, workload = workload, metric = metric, ratio = ratio)
            }
        });
    }
    let more = shown.len().saturating_sub(LOSSES_MAX);
    shown.truncate(LOSSES_MAX);
    if more > 0 {
        shown.push(say!(AND_MORE, count = more));
    }
    (!shown.is_empty()).then(|| say!(LOSES, losses = shown.join(", ")))
}

/// What is taken costs, in a sentence; nothing where nothing is known of it.
pub(crate) fn costs(headline: &Headline) -> Option<String> {
    let parts = cost_parts(headline);
    (!parts.is_empty()).then(|| say!(COSTS, costs = parts.join(&say!(BETWEEN_TIES))))
}

/// What of it survives, what space it leaves, and what it writes: what is known of these.
pub(crate) fn cost_parts(headline: &Headline) -> Vec<String> {
    let Some(cost) = &headline.cost else { return Vec::new() };
    let survives = cost.survives.as_ref().map(|survives| match survives {
        Survival::Members { count: 0, .. } => say!(COST_SURVIVES_NONE),
        Survival::Members { count: 1, .. } => say!(COST_SURVIVES_ONE),
        Survival::Members { count, .. } => say!(COST_SURVIVES_SOME, count = count),
        pool @ Survival::Pool { .. } => {
            say!(COST_SURVIVES, losses = survival::drives(Some(pool)))
        }
    });
    let space = cost.usable.map(|usable| {
        let share = usable.bytes as f64 / usable.members_bytes.max(1) as f64;
        say!(
            COST_SPACE,
            usable = numbers::size(usable.bytes),
            members = numbers::size(usable.members_bytes),
            share = numbers::percent(share),
        )
    });
    let written = cost
        .write_amplification
        .map(|factor| say!(COST_WRITES, factor = numbers::ratio(factor, None)));
    [survives, space, written].into_iter().flatten().collect()
}

/// Those that are as good as what is taken, and those that may be: by name where they are few.
fn ties(comparison: &Comparison, headline: &Headline) -> Vec<String> {
    let named = |those: &[String], few: Message, many: Message| {
        let names: Vec<String> = those.iter().map(|one| label(comparison, one)).collect();
        match names.len() {
            0 => None,
            1..=TIES_MAX => Some(words::filled(few, &[("names", &names.join(", "))])),
            count => Some(words::filled(many, &[("count", &count)])),
        }
    };
    let same = named(&headline.same, SAME_AS, SAME_AS_SEVERAL);
    same.into_iter().chain(named(&headline.open, TIED_WITH, TIED_WITH_SEVERAL)).collect()
}

/// What a race has named, and what of it is shown.
fn named(analysis: &Analysis, comparison: &Comparison, kind: &KindResult) -> Option<String> {
    let (looks, named) = (analysis.looks?, kind.named.as_ref()?);
    Some(say!(
        NAMED_AFTER,
        named = label(comparison, named),
        raced = looks.raced_blocks?,
        fresh = looks.reached,
    ))
}

/// How what is taken stands to the baseline and to the others.
fn how_it_stands(
    analysis: &Analysis,
    comparison: &Comparison,
    headline: &Headline,
    is_baseline: bool,
) -> String {
    let baseline = label(comparison, &comparison.baseline);
    if is_baseline {
        return match (headline.sure, headline.ahead_of_all) {
            (true, _) => say!(BASELINE_SURELY_BEST),
            (false, true) => say!(BASELINE_BEST),
            (false, false) => {
                say!(BASELINE_STAYS, matters = numbers::percent(analysis.matters))
            }
        };
    }
    match headline.claim.as_ref().map(|claim| claim.answer) {
        Some(Word::Ahead) if headline.ahead_of_all && comparison.configurations.len() > 2 => {
            match headline.sure {
                true => say!(SURELY_AHEAD_OF_ALL, baseline = baseline),
                false => say!(AHEAD_OF_ALL, baseline = baseline),
            }
        }
        Some(Word::Ahead) if headline.sure => say!(SURELY_AHEAD, baseline = baseline),
        Some(Word::Ahead) => say!(AHEAD_OF_BASELINE, baseline = baseline),
        _ => say!(NOT_TOLD_APART, baseline = baseline),
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
        return say!(MEASURE_THEM);
    }
    let quiet = if settles.iter().any(|settle| settle.quieter_machine) {
        say!(FEWER_WHEN_QUIETER)
    } else {
        say!(FEWER_WITH_LONGER)
    };
    let needed: Vec<_> = settles.iter().filter(|settle| settle.blocks.is_some()).collect();
    // The one that takes longest: none of the looks may be late enough for it.
    let more = needed.iter().map(|settle| settle.more).collect::<Option<Vec<u32>>>();
    match more.as_ref().and_then(|more| more.iter().max()) {
        Some(more) => {
            let time = time_of(analysis, *more);
            say!(MORE_WOULD_TELL, more = more, time = time, quiet = quiet)
        }
        None => needed
            .iter()
            .filter_map(|settle| settle.noise_factor)
            .reduce(f64::max)
            .map_or_else(String::new, |factor| {
                say!(TOO_NOISY_FOR_THAT, noisy = numbers::too_noisy(factor))
            }),
    }
}

/// What would give an answer where it is too noisy for one.
fn would_tell(
    analysis: &Analysis,
    comparison: &Comparison,
    kind: &KindResult,
    more: Option<u32>,
) -> String {
    let claims = || kind.scores.iter().filter_map(|score| score.versus_baseline.as_ref());
    let Some(more) = more else {
        // Of a few blocks an interval is wide whatever the noise is.
        let is_short = claims().any(|claim| claim.pairs < LOOK as usize);
        return match (is_short, comparison.modelled) {
            (true, _) => say!(WOULD_TELL_BLOCKS, fewest = LOOK),
            // A modelled drive is not faster when the machine is quiet.
            (false, true) => say!(WOULD_TELL_LONGER),
            (false, false) => say!(WOULD_TELL_QUIETER),
        };
    };
    let is_busy = claims().filter_map(|claim| claim.settle).any(|settle| settle.quieter_machine);
    let quiet = if is_busy { say!(FEWER_WHEN_QUIETER) } else { say!(FEWER_WITH_LONGER) };
    say!(WOULD_TELL_MORE, more = more, time = time_of(analysis, more), quiet = quiet)
}

/// How long so many blocks take: `, some 40 min`.
fn time_of(analysis: &Analysis, blocks: u32) -> String {
    let text = |seconds: f64| format!(", {}", numbers::about(seconds * f64::from(blocks)));
    analysis.block_seconds.map_or_else(String::new, text)
}

/// Why there is no answer.
fn no_answer(analysis: &Analysis, comparison: &Comparison, kind: &KindResult) -> Vec<String> {
    if let Some(looks) = analysis.looks.filter(|looks| looks.reached == 0) {
        return vec![match looks.raced_blocks {
            None if looks.race => say!(RACE_GOES_ON),
            None => say!(BEFORE_FIRST_LOOK, blocks = looks.wanted),
            Some(_) => match &kind.named {
                Some(named) => {
                    say!(NAMED_WAITS, named = label(comparison, named), blocks = LOOK)
                }
                None => say!(NOTHING_NAMED),
            },
        }];
    }
    let baseline = label(comparison, &comparison.baseline);
    let matters = numbers::percent(analysis.matters);
    let open = match &kind.headline.verdict {
        Verdict::TooNoisy { factor, more } => {
            let said = say!(
                UNDEFEATED_NOISY,
                baseline = baseline,
                matters = matters,
                factor = numbers::factor(*factor),
            );
            Some(vec![said, would_tell(analysis, comparison, kind, *more)])
        }
        Verdict::WithinModel { error } => {
            let error = numbers::percent(*error);
            Some(vec![say!(
                UNDEFEATED_MODEL,
                baseline = baseline,
                matters = matters,
                error = error
            )])
        }
        Verdict::NoneMeetsTerms => Some(vec![say!(NONE_MEETS_TERMS), say!(WOULD_TELL_TERMS)]),
        _ => None,
    };
    if let Some(mut details) = open {
        details.extend(reservations(comparison, &kind.headline));
        return details;
    }
    let claims = || kind.scores.iter().filter_map(|score| score.versus_baseline.as_ref());
    let lacks_baseline = analysis.without_baseline().any(|one| one.baseline == comparison.baseline);
    let most = claims().map(|claim| claim.pairs).max();
    let mut details = vec![match most {
        None if analysis.trials_finished < analysis.trials_planned && !lacks_baseline => {
            say!(NO_BLOCK_YET)
        }
        None => {
            say!(NO_COMMON_BLOCK, baseline = label(comparison, &comparison.baseline))
        }
        Some(blocks) => {
            say!(TOO_FEW_BLOCKS, voting = numbers::blocks_vote(blocks), fewest = PAIRS_MIN)
        }
    }];
    // Who was not compared for want of trials goes without saying.
    let mut said = kind.headline.clone();
    said.reservations.retain(|reservation| {
        !matches!(reservation, Reservation::NotCompared { reason: None, .. })
    });
    details.extend(reservations(comparison, &said));
    details
}

/// What something is so for, by reason, in the order in which reasons come up: the same in every
/// language.
#[derive(Default)]
struct NamesByReason(Vec<(String, Vec<String>)>);

impl NamesByReason {
    fn add(&mut self, reason: String, name: String) {
        match self.0.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => self.0.push((reason, vec![name])),
        }
    }
}

/// What a headline does not say, or not surely, and why.
fn reservations(comparison: &Comparison, headline: &Headline) -> Vec<String> {
    // Reason -> what it is about.
    let mut left_out = NamesByReason::default();
    let mut not_compared = NamesByReason::default();
    let mut ruled_out = NamesByReason::default();
    let mut details = Vec::new();
    for reservation in &headline.reservations {
        match reservation {
            Reservation::LeftOut(out) => {
                let reason = doubts::silence_name(&out.reason);
                left_out.add(reason, numbers::workload(&out.workload));
            }
            Reservation::NotCompared { configuration, reason } => {
                let too_few = || say!(TOO_FEW_TRIALS);
                let reason = reason.as_ref().map_or_else(too_few, doubts::silence_name);
                not_compared.add(reason, label(comparison, configuration));
            }
            Reservation::RuledOut { configuration, reason } => {
                ruled_out.add(reason.to_string(), label(comparison, configuration));
            }
            Reservation::MayNotHold { bound, workload, metric, figure, high } => {
                let unit = numbers::unit_in(comparison, metric);
                let shown =
                    |value: f64| format!("{} {}", numbers::figure(value, None, unit), unit.name);
                let reach = match high {
                    Some(high) => say!(MAY_BE_UP_TO, high = shown(*high)),
                    None => say!(TOO_FEW_TO_TELL),
                };
                details.push(say!(
                    BOUND_MAY_NOT_HOLD,
                    bound = bound,
                    workload = numbers::workload(workload),
                    figure = shown(*figure),
                    reach = reach,
                ));
            }
            Reservation::Busy { busy, pairs } => {
                details.push(say!(BUSY_PAIRS, busy = busy, pairs = pairs));
            }
            Reservation::WholeDesignOpen => details.push(say!(WHOLE_DESIGN_OPEN)),
            Reservation::Modelled { error: Some(error), cases } => {
                let error = numbers::percent(*error);
                if *cases >= MODEL_CASES_MIN {
                    details.push(say!(MODEL_OFF_BY, error = error, cases = cases));
                } else {
                    details.push(say!(NEAREST_MODELS_OFF_BY, error = error));
                    details.push(say!(
                        MODEL_WITHOUT_CLASS,
                        cases = cases,
                        fewest = MODEL_CASES_MIN
                    ));
                }
            }
            Reservation::Modelled { error: None, .. } => details.push(say!(MODEL_WITHOUT_ERROR)),
        }
    }
    for (reasons, message) in
        [(left_out, SAYS_NOTHING_OF), (not_compared, NOT_COMPARED), (ruled_out, NOT_TO_BE_TAKEN)]
    {
        details.extend(reasons.0.into_iter().map(|(reason, mut names)| {
            let more = names.len().saturating_sub(LIST_LENGTH_MAX);
            names.truncate(LIST_LENGTH_MAX);
            if more > 0 {
                names.push(say!(MORE_NAMES, count = more));
            }
            words::filled(message, &[("names", &names.join(", ")), ("reason", &reason)])
        }));
    }
    details
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
        names.push(say!(AND_MORE, count = configurations.len() - LIST_LENGTH_MAX));
    }
    let own = configurations.iter().filter(|configuration| ***configuration != comparison.baseline);
    let scores: Vec<&Score> = own.filter_map(|configuration| kind.score(configuration)).collect();
    let ends = scores.iter().map(|score| (score.ratio, score.interval()));
    let decimals = numbers::column_decimals(ends);
    let text = |score: &&Score| {
        let [ratio, _] = numbers::ratio_in_column(score.ratio, None, decimals);
        format!("{ratio}×")
    };
    let lowest = scores.iter().min_by(|left, right| left.ratio.total_cmp(&right.ratio)).map(text);
    let highest = scores.iter().max_by(|left, right| left.ratio.total_cmp(&right.ratio)).map(text);
    match (lowest, highest) {
        (Some(lowest), Some(highest)) if lowest == highest => {
            say!(LIST_WITH_SCORE, names = names.join(", "), score = lowest)
        }
        (Some(lowest), Some(highest)) => {
            say!(LIST_WITH_SCORES, names = names.join(", "), low = lowest, high = highest)
        }
        _ => names.join(", "),
    }
}

/// That further members, or other sets of members, are no further disks here.
pub(crate) fn same_disks(comparison: &Comparison) -> Vec<String> {
    let one_disk = comparison.one_disk.iter().map(|on| say!(ONE_DISK, disk = on));
    let shared = comparison
        .shared_disks
        .iter()
        .map(|shared| say!(SHARED_DISK, sets = shared.sets.join(", "), disk = &shared.disk));
    one_disk.chain(shared).collect()
}

/// What comparing within blocks was worth, and how much trials knew of each other.
pub(crate) fn pairing(comparison: &Comparison) -> Option<String> {
    let gain = comparison.pairing_gain?;
    let mut text = if gain >= 1.05 {
        say!(PAIRING_GAIN, gain = format!("{gain:.1}"))
    } else {
        say!(PAIRING_NO_GAIN)
    };
    if let Some(found) = comparison.autocorrelation {
        text += &say!(AUTOCORRELATION, lag = format!("{:.2}", found.lag_1));
    }
    Some(text)
}

/// `1 trial`, `12 trials`.
pub(crate) fn trials_text(trials: usize) -> String {
    if trials == 1 { say!(ONE_TRIAL) } else { say!(TRIALS, count = trials) }
}

fn blocks_text(blocks: u32) -> String {
    if blocks == 1 { say!(ONE_BLOCK) } else { say!(BLOCKS, count = blocks) }
}

/// What is asked, or the plan's name where it does not say.
pub(crate) fn title(run: &Run) -> &str {
    run.plan.terms.question.as_deref().unwrap_or(&run.plan.name)
}

/// How many trials are finished, of how many where it is not all.
pub(crate) fn trials_of(analysis: &Analysis) -> String {
    let (finished, planned) = (analysis.trials_finished, analysis.trials_planned);
    match finished == planned {
        true => trials_text(finished),
        false => say!(TRIALS_OF, finished = finished, planned = planned),
    }
}

/// What the run was, in a few words each: configurations, workloads, blocks, trials, beginning.
pub(crate) fn scope(run: &Run, analysis: &Analysis) -> [String; 5] {
    let plan = &run.plan;
    let trials = trials_of(analysis);
    [
        match plan.configurations.len() {
            1 => say!(ONE_CONFIGURATION),
            count => say!(CONFIGURATIONS, count = count),
        },
        match plan.workloads.len() {
            1 => say!(ONE_WORKLOAD),
            count => say!(WORKLOADS, count = count),
        },
        match &analysis.looks {
            Some(looks) if looks.race => match looks.raced_blocks {
                Some(raced) => say!(RACE_AND_FRESH, raced = raced, fresh = looks.wanted),
                None => say!(RACE_AT_MOST, blocks = plan.blocks),
            },
            Some(looks) => blocks_text(plan.blocks.max(looks.wanted)),
            None => blocks_text(plan.blocks),
        },
        trials,
        moment(&run.host.started),
    ]
}

/// `2026-11-21 07:40 UTC` for `2026-11-21T07:40:00Z`; any other text as it is.
pub(crate) fn moment(started: &str) -> String {
    let minutes = started
        .split_once('T')
        .and_then(|(day, time)| Some((day, time.strip_suffix('Z')?.get(..5)?)));
    minutes.map_or_else(|| started.to_string(), |(day, time)| format!("{day} {time} UTC"))
}

/// What a configuration is called, by its identity.
fn name_of(analysis: &Analysis, configuration: &str) -> String {
    analysis
        .comparisons
        .iter()
        .find(|comparison| comparison.configurations.iter().any(|one| one.id == configuration))
        .map_or_else(|| configuration.to_owned(), |found| label(found, configuration))
}

/// All warnings in words; what is to be said alike of several comparisons is said once.
pub(crate) fn warnings(analysis: &Analysis) -> Vec<String> {
    let mut few: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for warning in &analysis.warnings {
        if let Warning::FewBlocks { comparison, blocks } = warning {
            few.entry(*blocks).or_default().push(comparison);
        }
    }
    let mut said = Vec::new();
    for one in &analysis.warnings {
        let Warning::FewBlocks { comparison, blocks } = one else {
            said.push(warning(analysis, one));
            continue;
        };
        let alike = &few[blocks];
        if alike.first() == Some(&comparison.as_str()) {
            let places: Vec<String> = alike.iter().map(|name| place(analysis, name)).collect();
            said.push(few_blocks(&places.join("; "), *blocks));
        }
    }
    said
}

fn few_blocks(place: &str, blocks: usize) -> String {
    let advice = if blocks < PAIRS_MIN { say!(NO_INTERVALS) } else { say!(WIDE_INTERVALS) };
    say!(FEW_BLOCKS, place = place, blocks = blocks, advice = advice)
}

/// What a comparison is called.
fn place(analysis: &Analysis, name: &str) -> String {
    let found = analysis.comparisons.iter().find(|comparison| comparison.name == name);
    found.map_or_else(|| name.to_string(), comparison_title)
}

/// A warning in words: what, and what follows from it.
fn warning(analysis: &Analysis, warning: &Warning) -> String {
    let trials = |count: usize| trials_text(count);
    let direction = |change: f64| if change > 0.0 { say!(FASTER) } else { say!(SLOWER) };
    let place = |name: &str| place(analysis, name);
    match warning {
        Warning::Note { text } => text.to_string(),
        Warning::Incomplete { finished, planned } => {
            say!(INCOMPLETE, finished = finished, planned = planned)
        }
        Warning::Unknown { trials: count } => say!(UNKNOWN_TRIALS, trials = trials(*count)),
        Warning::Repeated { trials: count } => say!(REPEATED_TRIALS, trials = trials(*count)),
        Warning::FewBlocks { comparison, blocks } => few_blocks(&place(comparison), *blocks),
        Warning::Drifted { comparison, change } => say!(
            DRIFTED,
            change = numbers::percent(change.abs()),
            direction = direction(*change),
            place = place(comparison),
        ),
        Warning::Stepped { comparison, block, change } => say!(
            STEPPED,
            block = block + 1,
            change = numbers::percent(change.abs()),
            direction = direction(*change),
            place = place(comparison),
        ),
        Warning::Autocorrelated { comparison, lag_1 } => {
            let (lag, place) = (format!("{lag_1:.2}"), place(comparison));
            match *lag_1 > 0.0 {
                true => say!(AUTOCORRELATED_LIKE, lag = lag, place = place),
                false => say!(AUTOCORRELATED_UNLIKE, lag = lag, place = place),
            }
        }
        Warning::CarriedOver { comparison, configuration, change } => say!(
            CARRIED_OVER,
            name = name_of(analysis, configuration),
            change = numbers::percent(change.abs()),
            direction = direction(*change),
            place = place(comparison),
        ),
        Warning::ByOrder { comparison, configuration, ratios } => say!(
            BY_ORDER,
            name = name_of(analysis, configuration),
            low = format!("{:.2}", ratios.low),
            high = format!("{:.2}", ratios.high),
            place = place(comparison),
        ),
        Warning::Unsettled { configuration, workload, change, settled_after, cells } => say!(
            UNSETTLED,
            cells = cells_text(*cells),
            change = numbers::percent(change.abs()),
            direction = direction(*change),
            workload = numbers::workload(workload),
            name = name_of(analysis, configuration),
            advice = settling_advice(*settled_after),
        ),
        Warning::Flagged { doubt, trials, cells, silent } => {
            flagged(doubt, *trials, *cells, *silent)
        }
        Warning::NothingMoved { trials: count } => say!(NOTHING_MOVED, trials = trials(*count)),
        Warning::NoRatio { trials: count } => say!(NO_RATIO, trials = trials(*count)),
        Warning::Outliers { trials: count } => say!(OUTLIERS, trials = trials(*count)),
    }
}

/// After how long figures settle, if that is known.
fn settling_advice(settled_after: Option<f64>) -> String {
    match settled_after {
        Some(seconds) if seconds > 0.0 => say!(SETTLES_AFTER, time = numbers::time(seconds)),
        _ => String::new(),
    }
}

fn cells_text(count: usize) -> String {
    if count == 1 { say!(ONE_CELL) } else { say!(CELLS, count = count) }
}

/// That so many trials of so many cells are in doubt, `silent` of them so much that they do not
/// vote.
fn flagged(doubt: &results::Doubt, count: usize, cells: usize, silent: usize) -> String {
    let (trials, cells) = (trials_text(count), cells_text(cells));
    if let Some(reason) = doubt.why_not_measured() {
        let reason = doubts::without_stop(reason);
        return say!(TRIALS_NOT_MEASURED, trials = trials, cells = cells, reason = reason);
    }
    let what = match silent {
        0 => say!(KEPT_AND_MARKED),
        silent if silent == count => say!(SHOWN_WITHOUT_VOTE),
        _ => say!(MOST_WITHOUT_VOTE),
    };
    let text = doubts::doubt_sentence(doubt);
    say!(TRIALS_MARKED, trials = trials, cells = cells, what = what, text = text)
}

/// How the figures were made, a paragraph each.
pub(crate) fn method(analysis: &Analysis) -> Vec<String> {
    let mut method = vec![
        say!(METHOD_BLOCKS),
        say!(METHOD_RATIOS),
        say!(METHOD_WORDS, margin = numbers::percent(analysis.margin)),
        say!(METHOD_VOTES),
        say!(METHOD_SCORES, matters = numbers::percent(analysis.matters)),
    ];
    if let Some(machines) = analysis.machines {
        method.insert(1, say!(METHOD_MACHINES, machines = machines));
    }
    let Some(looks) = &analysis.looks else { return method };
    if looks.race {
        method.push(say!(METHOD_RACE));
    }
    let (last, before) = (LOOKS[LOOKS.len() - 1], &LOOKS[..LOOKS.len() - 1]);
    let before: Vec<String> = before.iter().map(u32::to_string).collect();
    method.push(say!(METHOD_LOOKS, looks = before.join(", "), last = last));
    method
}
