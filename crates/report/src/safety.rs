//! Grades: the sentence beside a speed, what a run of power cuts alone comes to, and the table.

use std::collections::BTreeMap;

use results::analysis::{Analysis, Comparison};
use results::claim::Answer;
use results::safety::{Grade, PullTotals, Safety, Tally};
use results::types::setting_text;

use crate::numbers;
use crate::table::{self, Column, Table};
use crate::words::catalogue::{
    ACKNOWLEDGED_HEAD, AT_MOST_HEAD, BYTES_OF_IT, COPIES_LOST_HEAD, ERRORS_FOUND, GRADE_OF_ONE,
    GRADE_OF_SEVERAL, IN_PULLS, LOST_FOR_GOOD, NOT_SHOWN_TWICE, OF_IT_LOST, OLD_DATA,
    POSSIBLE_HEAD, PULLS_HEAD, RECOVERY, RENAMES_TORN, SECONDS_OF_IT, UNMOUNTABLE,
};
use crate::words::{self, Message, say};

/// Longest list of configurations in a sentence.
const LIST_LENGTH_MAX: usize = 10;

/// What columns mean, for people.
pub(crate) fn note() -> String {
    say!(GRADES_MEAN)
}

/// Some of all pulls.
fn of_pulls(count: u64, pulls: u64) -> String {
    say!(OF_PULLS, count = numbers::grouped(count), pulls = numbers::grouped(pulls))
}

/// `grade B (simulated): loses at most 35 s of copies, 0 of 64,000 acknowledged (3,000 pulls, below
/// 0.1 %)`.
pub(crate) fn sentence(whole: &PullTotals) -> String {
    let tally = &whole.tally;
    let mut parts = Vec::new();
    if tally.lost_for_good > 0 {
        parts.push(say!(PULLS_LOST, pulls = of_pulls(tally.lost_for_good, tally.pulls)));
    }
    let repaired = tally.unmountable - tally.lost_for_good.min(tally.unmountable);
    if repaired > 0 {
        parts.push(say!(PULLS_REPAIRED, pulls = of_pulls(repaired, tally.pulls)));
    }
    if tally.exposed > 0 {
        parts.push(say!(PULLS_EXPOSED, pulls = of_pulls(tally.exposed, tally.pulls)));
    }
    let mut losses = Vec::new();
    if tally.copies_seconds_lost > 0.0 {
        losses.push(say!(COPIES_LOST, time = numbers::time(tally.copies_seconds_lost)));
    }
    losses.extend(acknowledged(tally));
    if !losses.is_empty() {
        parts.push(say!(PULLS_LOSE, losses = losses.join(&say!(BETWEEN_PLACES))));
    }
    if tally.promises == 0 {
        parts.push(say!(PULLS_WITHOUT_PROMISES, pulls = numbers::grouped(tally.pulls)));
    }
    let drives = if tally.is_dishonest() { say!(ON_LYING_DRIVES) } else { String::new() };
    let found = parts.join(&say!(BETWEEN_PLACES));
    say!(GRADE_SENTENCE, grade = whole.grade, drives = drives, found = found)
}

/// What became of promises; none where nothing had been promised.
fn acknowledged(tally: &Tally) -> Option<String> {
    let bound = numbers::at_most(tally.broken_at_most_percent()?);
    let [broken, all, pulls] =
        [tally.promises_broken, tally.promises, tally.promising].map(numbers::grouped);
    Some(match tally.promise_broken {
        0 => say!(NONE_OF_PROMISES_LOST, all = all, pulls = pulls, bound = bound),
        states => say!(
            SOME_OF_PROMISES_LOST,
            broken = broken,
            all = all,
            time = numbers::time(tally.promised_seconds_lost),
            pulls = of_pulls(states, tally.promising),
            bound = bound,
        ),
    })
}

fn of<'a>(analysis: &'a Analysis, configuration: &str) -> Option<&'a Safety> {
    analysis.safety.iter().find(|safety| safety.configuration == configuration)
}

/// The grade of a configuration, or that it has none; nothing where the plan asks for none.
pub(crate) fn of_configuration(analysis: &Analysis, configuration: &str) -> Option<String> {
    let safety = of(analysis, configuration)?;
    Some(match &safety.whole {
        Some(whole) => sentence(whole),
        None => say!(NO_GRADE_MEASURED, reason = unmeasured(safety)),
    })
}

fn unmeasured(safety: &Safety) -> String {
    let reason = safety.rows.iter().find_map(|row| row.unmeasured.as_ref());
    reason.map_or_else(|| say!(NO_TRIAL_YET), crate::doubts::without_stop)
}

/// What power cuts come to: the configurations of each grade, the best first, with what was lost
/// and how sure that is, how fast each is where speeds were compared, what to change, and the other
/// end of what is assumed of the drives.
pub(crate) fn by_grade(analysis: &Analysis) -> Vec<String> {
    let mut sentences = Vec::new();
    for grade in Grade::ALL {
        let of_grade: Vec<(&Safety, &PullTotals)> = analysis
            .safety
            .iter()
            .filter_map(|safety| Some((safety, safety.whole.as_ref()?)))
            .filter(|(_, whole)| whole.grade == grade)
            .collect();
        if !of_grade.is_empty() {
            sentences.push(of_one_grade(analysis, grade, &of_grade));
        }
    }
    sentences.extend(change(analysis));
    sentences.extend(other_end(analysis));
    let has_none = |safety: &&Safety| safety.whole.is_none();
    let none: Vec<String> = analysis
        .safety
        .iter()
        .filter(has_none)
        .map(|safety| in_brackets(&numbers::spaced_sizes(&safety.label), &[unmeasured(safety)]))
        .collect();
    if !none.is_empty() {
        sentences.push(say!(NO_GRADE, labels = listed(none)));
    }
    sentences
}

/// A name, and what is said of it.
fn in_brackets(name: &str, said: &[String]) -> String {
    match said {
        [] => name.to_owned(),
        said => say!(LIST_WITH_SCORE, names = name, score = said.join(&say!(BETWEEN_TIES))),
    }
}

/// `Grade A: nothing lost but the last second in 300 cuts each, at most 1 %: ext4, xfs.`
///
/// Where there are several, the bound is that of the one with the fewest cuts. What lost anything
/// says itself how much.
fn of_one_grade(analysis: &Analysis, grade: Grade, of_grade: &[(&Safety, &PullTotals)]) -> String {
    let is_lossy = grade >= Grade::D;
    let labels = of_grade.iter().map(|(safety, whole)| {
        let mut says: Vec<String> = Vec::new();
        says.extend(speed(analysis, &safety.configuration));
        if is_lossy {
            says.push(lost(&whole.tally));
        }
        says.extend(at_worst(safety, whole.grade));
        if whole.tally.is_dishonest() {
            says.push(say!(ON_LYING_DRIVES).trim_start().to_owned());
        }
        in_brackets(&numbers::spaced_sizes(&safety.label), &says)
    });
    let labels = listed(labels.collect());
    let found = match grade {
        Grade::A => say!(GRADE_A_FOUND),
        Grade::B => say!(GRADE_B_FOUND),
        Grade::C => say!(GRADE_C_FOUND),
        Grade::D => return say!(GRADE_D, labels = labels),
        Grade::E => return say!(GRADE_E, labels = labels),
    };
    // Where nothing was promised, of what no cut has shown.
    let cuts = of_grade.iter().map(|(_, whole)| match whole.broken_at_most_percent {
        Some(bound) => (whole.tally.promising, bound),
        None => (whole.tally.pulls, whole.unseen_at_most_percent),
    });
    let (fewest, bound) = cuts.min_by_key(|(cuts, _)| *cuts).unwrap_or((0, 100.0));
    let message = if of_grade.len() > 1 { GRADE_OF_SEVERAL } else { GRADE_OF_ONE };
    words::filled(
        message,
        &[
            ("grade", &grade),
            ("found", &found),
            ("cuts", &numbers::grouped(fewest)),
            ("bound", &numbers::at_most(bound)),
            ("labels", &labels),
        ],
    )
}

/// How fast a configuration is, where that was compared: the figure of the only workload, else in
/// times of its baseline.
fn speed(analysis: &Analysis, configuration: &str) -> Option<String> {
    let is_of = |comparison: &&Comparison| {
        comparison.configurations.iter().any(|one| one.id == configuration)
    };
    let comparison = analysis.comparisons.iter().find(is_of)?;
    let kind = comparison.overall()?;
    if let [workload] = &kind.workloads[..] {
        return table::figure(comparison, configuration, workload)
            .map(|figure| figure.trim_end().to_owned());
    }
    if configuration == comparison.baseline {
        return Some(say!(BASELINE_SCORE));
    }
    let score = kind.score(configuration)?;
    Some(match score.answer()? {
        Answer::Open => say!(SPEED_NOT_TOLD),
        Answer::Same => say!(AS_FAST),
        Answer::Ahead | Answer::Behind => {
            say!(TIMES_AS_FAST, ratio = numbers::ratio(score.ratio, score.interval()))
        }
    })
}

/// `121 of 129 acknowledged writes in 40 of 43 cuts`.
fn lost(tally: &Tally) -> String {
    let [broken, all, cuts, promising] =
        [tally.promises_broken, tally.promises, tally.promise_broken, tally.promising]
            .map(numbers::grouped);
    let [gone, pulls] = [tally.lost_for_good, tally.pulls].map(numbers::grouped);
    let gone = match tally.lost_for_good {
        0 => String::new(),
        _ => say!(ALL_GONE_IN, gone = gone, pulls = pulls),
    };
    say!(WRITES_LOST, broken = broken, all = all, cuts = cuts, promising = promising, gone = gone)
}

/// The grade that all hunts of a configuration came to, with cuts and losses as hostile as they are
/// permitted; none where there was none.
fn hunted(safety: &Safety) -> Option<Grade> {
    safety.rows.iter().filter_map(|row| row.hunt.as_ref()).map(|hunt| hunt.grade).max()
}

/// The other end of what is assumed of the drives, where that is a worse grade.
fn at_worst(safety: &Safety, grade: Grade) -> Option<String> {
    let worst = hunted(safety).filter(|worst| *worst > grade)?;
    Some(say!(HOSTILE_GRADE, grade = worst))
}

/// What the grades rest on: how much drives have in their caches, for how long, and what they tear
/// is assumed. Where nothing was hunted for, the other end of that is not known.
fn other_end(analysis: &Analysis) -> Option<String> {
    let graded = || analysis.safety.iter().filter_map(|one| Some((one, one.whole.as_ref()?.grade)));
    let mut hunts = graded().filter_map(|(one, grade)| Some((hunted(one)?, grade))).peekable();
    if hunts.peek().is_none() {
        return graded().next().is_some().then(|| say!(HOSTILE_NOT_TRIED));
    }
    let is_any_as_good = hunts.any(|(worst, grade)| worst <= grade);
    is_any_as_good.then(|| say!(HOSTILE_NO_WORSE))
}

/// What one setting saves: of two configurations that differ in it alone, of which one lost what
/// was acknowledged and the other one nothing, the two that differ most.
fn change(analysis: &Analysis) -> Option<String> {
    let known = || {
        analysis.safety.iter().filter_map(|safety| Some((safety, &safety.whole.as_ref()?.tally)))
    };
    let mut best: Option<(f64, String)> = None;
    for (bad, tally) in known().filter(|(_, tally)| tally.promises_broken > 0) {
        let sound = known().filter(|(_, tally)| {
            tally.promises_broken == 0 && tally.promising > 0 && tally.lost_for_good == 0
        });
        for (good, _) in sound {
            let Some((axis, kept, other)) = only_difference(&good.settings, &bad.settings) else {
                continue;
            };
            let share = tally.promises_broken as f64 / tally.promises.max(1) as f64;
            if best.as_ref().is_some_and(|(known, _)| *known >= share) {
                continue;
            }
            let [broken, all] = [tally.promises_broken, tally.promises].map(numbers::grouped);
            let sentence = match is_without_barriers(other) && !is_without_barriers(kept) {
                true => say!(KEEP_BARRIERS, broken = broken, all = all),
                false => {
                    let [kept, other] = [kept, other]
                        .map(|value| numbers::spaced_sizes(&setting_text(axis, value)));
                    say!(TAKE_INSTEAD, kept = kept, other = other, broken = broken, all = all)
                }
            };
            best = Some((share, sentence));
        }
    }
    best.map(|(_, sentence)| sentence)
}

/// The only axis in which two have other values, with these.
fn only_difference<'a>(
    one: &'a BTreeMap<String, String>,
    other: &'a BTreeMap<String, String>,
) -> Option<(&'a str, &'a str, &'a str)> {
    if !one.keys().eq(other.keys()) {
        return None;
    }
    let mut differing = one.iter().filter(|(axis, value)| other.get(*axis) != Some(*value));
    let (axis, value) = differing.next()?;
    differing.next().is_none().then(|| (axis.as_str(), value.as_str(), other[axis].as_str()))
}

/// Whether mount options, or a write cache that is never flushed, switch barriers off.
fn is_without_barriers(value: &str) -> bool {
    value == "unflushed"
        || value.split(',').any(|option| matches!(option, "barrier=0" | "nobarrier"))
}

fn listed(mut labels: Vec<String>) -> String {
    let more = labels.len().saturating_sub(LIST_LENGTH_MAX);
    labels.truncate(LIST_LENGTH_MAX);
    if more > 0 {
        labels.push(say!(AND_MORE, count = more));
    }
    labels.join(&say!(BETWEEN_PLACES))
}

/// Every pull test of every configuration; none where there are none. Columns of what was never
/// found are left out.
pub(crate) fn table(analysis: &Analysis) -> Option<Table> {
    if analysis.safety.is_empty() {
        return None;
    }
    let mut lines: Vec<(String, Option<&PullTotals>, String)> = Vec::new();
    let mut is_modelled = Vec::new();
    for safety in &analysis.safety {
        let label = numbers::spaced_sizes(&safety.label);
        for row in &safety.rows {
            let why = row.unmeasured.as_ref().map(|reason| say!(NOT_MEASURED_FOR, reason = reason));
            let why = why.or_else(|| row.whole.is_none().then(|| say!(NO_TRIAL_YET)));
            let name = format!("{label}, {}", row.workload);
            lines.push((name, row.whole.as_ref(), why.unwrap_or_default()));
            if let Some(hunt) = &row.hunt {
                let name = say!(HUNT_OF, label = label, workload = row.workload);
                lines.push((name, Some(hunt), String::new()));
            }
        }
        if safety.rows.len() > 1 && safety.whole.is_some() {
            lines.push((say!(ALL_TESTS_OF, label = label), safety.whole.as_ref(), String::new()));
        }
        is_modelled.resize(lines.len(), safety.in_guest);
    }
    let mut columns = vec![
        Column { name: say!(CONFIGURATION_AND_TEST), number: false },
        Column { name: say!(GRADE), number: false },
    ];
    let mut rows: Vec<Vec<String>> = lines
        .iter()
        .map(|(name, whole, _)| vec![name.clone(), whole.map_or("–".to_owned(), graded)])
        .collect();
    let mut add = |name: String, number: bool, cells: Vec<String>| {
        columns.push(Column { name, number });
        rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    };
    for (head, is_always_shown, cell) in COLUMNS {
        let name = words::filled(head, &[]);
        let shown =
            |((_, whole, _), &is_modelled): (&(String, Option<&PullTotals>, String), &bool)| {
                let shown = whole.and_then(cell);
                let shown = shown.map(|text| {
                    if is_time(head) && is_modelled {
                        format!("{text}, {}", say!(MODELLED))
                    } else {
                        text
                    }
                });
                shown.unwrap_or("–".to_owned())
            };
        let cells: Vec<String> = lines.iter().zip(&is_modelled).map(shown).collect();
        if is_always_shown || cells.iter().any(|cell| cell != "–" && cell != "0") {
            add(name, true, cells);
        }
    }
    if lines.iter().any(|(.., why)| !why.is_empty()) {
        add(say!(WHY_NO_MORE), false, lines.into_iter().map(|(.., why)| why).collect());
    }
    Some(Table { caption: String::new(), columns, rows })
}

/// Its head, whether it is shown whatever it holds, and what it holds; nothing where that was not
/// asked.
type SafetyColumn = (Message, bool, fn(&PullTotals) -> Option<String>);

/// Whether it is the head of the one column that is a time of its own: in guests it is that of the
/// drives alone.
fn is_time(head: Message) -> bool {
    head == RECOVERY
}

const COLUMNS: [SafetyColumn; 16] = [
    (PULLS_HEAD, true, |whole| count(whole.tally.pulls)),
    (POSSIBLE_HEAD, true, |whole| Some(numbers::at_most(whole.unseen_at_most_percent))),
    (ACKNOWLEDGED_HEAD, true, |whole| promised(whole, whole.tally.promises)),
    (OF_IT_LOST, true, |whole| promised(whole, whole.tally.promises_broken)),
    (IN_PULLS, true, |whole| promised(whole, whole.tally.promise_broken)),
    (AT_MOST_HEAD, true, |whole| whole.broken_at_most_percent.map(numbers::at_most)),
    (SECONDS_OF_IT, false, |whole| time(whole.tally.promised_seconds_lost)),
    (BYTES_OF_IT, false, |whole| count(whole.tally.promised_bytes_lost)),
    (COPIES_LOST_HEAD, true, |whole| time(whole.tally.copies_seconds_lost)),
    (UNMOUNTABLE, false, |whole| count(whole.tally.unmountable)),
    (LOST_FOR_GOOD, false, |whole| count(whole.tally.lost_for_good)),
    (ERRORS_FOUND, false, |whole| {
        (whole.tally.checked > 0).then(|| numbers::grouped(whole.tally.check_failed))
    }),
    (RENAMES_TORN, false, |whole| count(whole.tally.rename_torn)),
    (OLD_DATA, false, |whole| count(whole.tally.exposed)),
    (NOT_SHOWN_TWICE, false, |whole| count(whole.tally.unsteady)),
    (RECOVERY, true, |whole| {
        time(whole.tally.recovery_seconds).filter(|_| whole.tally.recovery_seconds > 0.0)
    }),
];

fn count(count: u64) -> Option<String> {
    Some(numbers::grouped(count))
}

fn promised(whole: &PullTotals, count: u64) -> Option<String> {
    whole.broken_at_most_percent.map(|_| numbers::grouped(count))
}

fn time(seconds: f64) -> Option<String> {
    Some(if seconds == 0.0 { "0".to_owned() } else { numbers::time(seconds) })
}

fn graded(whole: &PullTotals) -> String {
    match whole.tally.is_dishonest() {
        true => say!(GRADE_DISHONEST, grade = whole.grade),
        false => whole.grade.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::safety::{Row, at_most_percent};
    use results::types::Group;
    use testkit::made_up::{MadeUp, Noise};

    fn safety(options: &str, tally: Tally) -> Safety {
        Safety {
            configuration: options.to_owned(),
            label: options.to_owned(),
            settings: BTreeMap::from([
                ("file_system".to_owned(), "ext4".to_owned()),
                ("mount_options".to_owned(), options.to_owned()),
            ]),
            in_guest: false,
            rows: Vec::new(),
            whole: Some(whole(tally)),
        }
    }

    fn cuts(lost: u64) -> Tally {
        Tally {
            pulls: 300,
            promising: 300,
            promises: 129,
            promise_broken: lost.min(300),
            promises_broken: lost,
            ..Tally::default()
        }
    }

    #[test]
    fn the_best_grade_is_first_with_its_bound_and_what_to_change_follows() {
        let all = [
            safety("barrier=0", cuts(121)),
            safety("defaults", cuts(0)),
            safety("data=journal", cuts(0)),
        ];
        let analysis = Analysis { safety: all.to_vec(), ..nothing() };
        assert_eq!(
            by_grade(&analysis),
            [
                "Grade A: nothing lost but the last second in 300 cuts each, at most 1 %: defaults, \
                data=journal.",
                "Grade D: acknowledged writes are lost: barrier=0 (121 of 129 acknowledged writes in \
                121 of 300 cuts).",
                "Keep barriers on: 121 of 129 acknowledged writes were lost without.",
                NOT_TRIED,
            ]
        );
        // Two settings differ: nothing says which of them it was.
        let mut other = all.to_vec();
        other.iter_mut().skip(1).for_each(|one| {
            one.settings.insert("file_system".to_owned(), "xfs".to_owned());
        });
        let said = by_grade(&Analysis { safety: other, ..nothing() });
        assert!(said.len() == 3, "{said:?}");
        // Hostile drives are the other end of what is assumed.
        let mut hunted = all[1].clone();
        hunted.rows.push(Row {
            workload: "fsync".to_owned(),
            trials: 1,
            whole: hunted.whole.clone(),
            hunt: Some(whole(cuts(3))),
            unmeasured: None,
        });
        let said = by_grade(&Analysis { safety: vec![hunted.clone()], ..nothing() });
        assert_eq!(
            said,
            [
                "Grade A: nothing lost but the last second in 300 cuts, at most 1 %: defaults (D with \
                drives as hostile as they may be)."
            ]
        );
        // Both ends are said where they are the same.
        hunted.rows[0].hunt = Some(whole(cuts(0)));
        let said = by_grade(&Analysis { safety: vec![hunted], ..nothing() });
        assert!(said[1].starts_with("With drives as hostile as they may be"), "{said:?}");
    }

    /// What is said where nothing was hunted for.
    const NOT_TRIED: &str = "Sizes of caches, how long they keep what was written, and what drives \
        tear are assumed; drives as hostile as they may be were not tried (hunt = 100 does).";

    /// "The speed beside the grade where the run knows it."
    #[test]
    fn a_grade_has_the_speed_beside_it() {
        let made = MadeUp::one_workload(3, 6, Noise::Normal, 1);
        let of = |times: usize| MadeUp {
            workloads: vec![(Group::Random, times)],
            deviation: 0.005,
            ..made.clone()
        };
        for (workloads, speeds) in
            [(1, ["99.5 MB/s", "49.78 MB/s"]), (2, ["1× (baseline)", "0.502× as fast"])]
        {
            let run = of(workloads).run(|configuration, _| [1.0, 0.5, 1.0][configuration]);
            let analysis = results::analyse(&run);
            let safety = run
                .plan
                .configurations
                .iter()
                .map(|one| Safety { configuration: one.id.clone(), ..safety("defaults", cuts(0)) });
            let analysis = Analysis { safety: safety.collect(), ..analysis };
            let said = by_grade(&analysis)[0].replace('\u{202f}', " ");
            for speed in speeds {
                assert!(said.contains(&format!("defaults ({speed}")), "{speed}: {said}");
            }
        }
    }

    /// An analysis of nothing.
    fn nothing() -> Analysis {
        let made = MadeUp::one_workload(1, 0, Noise::Normal, 1);
        Analysis { comparisons: Vec::new(), ..results::analyse(&made.run(|_, _| 1.0)) }
    }

    fn whole(tally: Tally) -> PullTotals {
        PullTotals {
            grade: tally.grade(),
            unseen_at_most_percent: at_most_percent(0, tally.pulls),
            broken_at_most_percent: tally.broken_at_most_percent(),
            tally,
        }
    }

    #[test]
    fn grades_are_sentences_with_their_bounds() {
        let sound = Tally {
            pulls: 3300,
            promising: 3000,
            promises: 64_000,
            copies_late: 200,
            copies_seconds_lost: 35.2,
            ..Tally::default()
        };
        assert_eq!(
            sentence(&whole(sound.clone())),
            "grade B (simulated): loses at most 35 s of copies, 0 of 64,000 acknowledged (3,000 \
            pulls, below 0.1 %)"
        );
        let broken = Tally {
            promise_broken: 28,
            promises_broken: 61,
            promised_seconds_lost: 0.153,
            copies_seconds_lost: 0.0,
            promising: 30,
            unmountable: 3,
            ..sound
        };
        assert_eq!(
            sentence(&whole(broken.clone())),
            "grade D (simulated): takes a repair in 3 of 3,300 pulls, loses 61 of 64,000 acknowledged, up to \
            153 ms of it (in 28 of 30 pulls, at most 98.9 %)"
        );
        let gone = Tally { lost_for_good: 3, exposed: 1, dishonest: 1, promising: 0, ..broken };
        assert_eq!(
            sentence(&whole(Tally { promises: 0, ..gone })),
            "grade E (simulated) on drives that do not do what they say: all is lost in 3 of 3,300 \
            pulls, shows old data in 1 of 3,300 pulls, 3,300 pulls, in which nothing had been acknowledged"
        );
    }
}
