//! Grades: the sentence beside a speed, what a run of power cuts alone comes to, and the table.

use std::collections::BTreeMap;

use results::analysis::Analysis;
use results::safety::{Grade, Safety, Tally, Whole};
use results::types::setting_text;

use crate::numbers;
use crate::table::{Column, Table};

/// Longest list of configurations in a sentence.
const LIST_LENGTH_MAX: usize = 10;

/// What columns mean, for people.
pub(crate) const NOTE: &str = "Grade A: nothing is lost but the last second of copies; B: nothing \
    acknowledged is lost; C: it takes a repair, or old data come to light; D: acknowledged work is \
    lost; E: all is lost, sometimes. Times are the longest. Of what no pull has shown, so many in a \
    hundred stay possible (95 %); what was found nowhere has no column. Simulated: drives in memory \
    stand for all that a configuration names, and nothing is known of the drives themselves. A hunt looks for what may \
    go wrong with cuts and losses as hostile as they are permitted: it counts for no other line.";

/// Some of all pulls.
fn of_pulls(count: u64, pulls: u64) -> String {
    format!("{} of {} pulls", numbers::grouped(count), numbers::grouped(pulls))
}

/// `grade B (simulated): loses at most 35 s of copies, 0 of 64,000 acknowledged (3,000 pulls, below
/// 0.1 %)`.
pub(crate) fn sentence(whole: &Whole) -> String {
    let tally = &whole.tally;
    let mut parts = Vec::new();
    if tally.lost_for_good > 0 {
        parts.push(format!("all is lost in {}", of_pulls(tally.lost_for_good, tally.pulls)));
    }
    let repaired = tally.unmountable - tally.lost_for_good.min(tally.unmountable);
    if repaired > 0 {
        parts.push(format!("takes a repair in {}", of_pulls(repaired, tally.pulls)));
    }
    if tally.exposed > 0 {
        parts.push(format!("shows old data in {}", of_pulls(tally.exposed, tally.pulls)));
    }
    let mut losses = Vec::new();
    if tally.copies_seconds_lost > 0.0 {
        losses.push(format!("at most {} of copies", numbers::time(tally.copies_seconds_lost)));
    }
    losses.extend(acknowledged(tally));
    if !losses.is_empty() {
        parts.push(format!("loses {}", losses.join(", ")));
    }
    if tally.promises == 0 {
        let pulls = numbers::grouped(tally.pulls);
        parts.push(format!("{pulls} pulls, in which nothing had been acknowledged"));
    }
    let drives = if tally.is_dishonest() { " on drives that do not do what they say" } else { "" };
    format!("grade {} (simulated){drives}: {}", whole.grade, parts.join(", "))
}

/// What became of promises; none where nothing had been promised.
fn acknowledged(tally: &Tally) -> Option<String> {
    let bound = numbers::at_most(tally.broken_at_most_percent()?);
    let [broken, all, pulls] =
        [tally.promises_broken, tally.promises, tally.promising].map(numbers::grouped);
    Some(match tally.promise_broken {
        0 => format!("0 of {all} acknowledged ({pulls} pulls, below {bound} %)"),
        states => format!(
            "{broken} of {all} acknowledged, up to {} of it (in {}, at most {bound} %)",
            numbers::time(tally.promised_seconds_lost),
            of_pulls(states, tally.promising)
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
        None => format!("no grade was measured: {}", unmeasured(safety)),
    })
}

fn unmeasured(safety: &Safety) -> &str {
    let reason = safety.rows.iter().find_map(|row| row.unmeasured.as_deref());
    reason.map_or("there is no trial yet", |reason| reason.trim_end_matches('.'))
}

/// What a run of power cuts alone comes to: the configurations of each grade, the best first, with
/// what was lost and how sure that is, and what to change. Nothing where speeds were compared.
pub(crate) fn by_grade(analysis: &Analysis) -> Vec<String> {
    if !analysis.comparisons.is_empty() {
        return Vec::new();
    }
    let mut sentences = Vec::new();
    for grade in Grade::ALL {
        let of_grade: Vec<(&Safety, &Whole)> = analysis
            .safety
            .iter()
            .filter_map(|safety| Some((safety, safety.whole.as_ref()?)))
            .filter(|(_, whole)| whole.grade == grade)
            .collect();
        if !of_grade.is_empty() {
            sentences.push(of_one_grade(grade, &of_grade));
        }
    }
    sentences.extend(change(analysis));
    let has_none = |safety: &&Safety| safety.whole.is_none();
    let none: Vec<String> = analysis
        .safety
        .iter()
        .filter(has_none)
        .map(|safety| format!("{} ({})", numbers::spaced_sizes(&safety.label), unmeasured(safety)))
        .collect();
    if !none.is_empty() {
        sentences.push(format!("No grade: {}.", listed(none)));
    }
    sentences
}

/// `Grade A: nothing lost but the last second in 300 cuts each, at most 1 %: ext4, xfs.`
///
/// Where there are several, the bound is that of the one with the fewest cuts. What lost anything
/// says itself how much.
fn of_one_grade(grade: Grade, of_grade: &[(&Safety, &Whole)]) -> String {
    let is_lossy = grade >= Grade::D;
    let labels = of_grade.iter().map(|(safety, whole)| {
        let mut says: Vec<String> = Vec::new();
        if is_lossy {
            says.push(lost(&whole.tally));
        }
        says.extend(at_worst(safety, whole.grade));
        if whole.tally.is_dishonest() {
            says.push("on drives that do not do what they say".to_owned());
        }
        let label = numbers::spaced_sizes(&safety.label);
        if says.is_empty() { label } else { format!("{label} ({})", says.join("; ")) }
    });
    let labels = listed(labels.collect());
    let found = match grade {
        Grade::A => "nothing lost but the last second",
        Grade::B => "nothing acknowledged lost",
        Grade::C => "nothing acknowledged lost, but a repair or old data",
        Grade::D => return format!("Grade {grade}: acknowledged writes are lost: {labels}."),
        Grade::E => return format!("Grade {grade}: all is lost now and then: {labels}."),
    };
    // Where nothing was promised, of what no cut has shown.
    let cuts = of_grade.iter().map(|(_, whole)| match whole.broken_at_most_percent {
        Some(bound) => (whole.tally.promising, bound),
        None => (whole.tally.pulls, whole.unseen_at_most_percent),
    });
    let (fewest, bound) = cuts.min_by_key(|(cuts, _)| *cuts).unwrap_or((0, 100.0));
    let each = if of_grade.len() > 1 { " each" } else { "" };
    format!(
        "Grade {grade}: {found} in {} cuts{each}, at most {} %: {labels}.",
        numbers::grouped(fewest),
        numbers::at_most(bound)
    )
}

/// `121 of 129 acknowledged writes in 40 of 43 cuts`.
fn lost(tally: &Tally) -> String {
    let [broken, all, cuts, promising] =
        [tally.promises_broken, tally.promises, tally.promise_broken, tally.promising]
            .map(numbers::grouped);
    let gone = match tally.lost_for_good {
        0 => String::new(),
        gone => format!(
            ", all of it in {} of {}",
            numbers::grouped(gone),
            numbers::grouped(tally.pulls)
        ),
    };
    format!("{broken} of {all} acknowledged writes in {cuts} of {promising} cuts{gone}")
}

/// The other end of what is assumed of the drives: the grade that its hunts came to, with cuts and
/// losses as hostile as they are permitted, where that is a worse one.
fn at_worst(safety: &Safety, grade: Grade) -> Option<String> {
    let hunts = safety.rows.iter().filter_map(|row| row.hunt.as_ref());
    let worst = hunts.map(|hunt| hunt.grade).max().filter(|worst| *worst > grade)?;
    Some(format!("{worst} with drives as hostile as they may be"))
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
            let lost = format!("{broken} of {all} acknowledged writes were lost");
            let sentence = match is_without_barriers(other) && !is_without_barriers(kept) {
                true => format!("Keep barriers on: {lost} without."),
                false => {
                    let [kept, other] = [kept, other]
                        .map(|value| numbers::spaced_sizes(&setting_text(axis, value)));
                    format!("Take {kept} instead of {other}, with which {lost}.")
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
        labels.push(format!("and {more} more"));
    }
    labels.join(", ")
}

/// Every pull test of every configuration; none where there are none. Columns of what was never
/// found are left out.
pub(crate) fn table(analysis: &Analysis) -> Option<Table> {
    if analysis.safety.is_empty() {
        return None;
    }
    let mut lines: Vec<(String, Option<&Whole>, String)> = Vec::new();
    let mut is_modelled = Vec::new();
    for safety in &analysis.safety {
        let label = numbers::spaced_sizes(&safety.label);
        for row in &safety.rows {
            let why = row.unmeasured.as_ref().map(|reason| format!("not measured: {reason}"));
            let why = why.or_else(|| row.whole.is_none().then(|| "no trial yet".to_owned()));
            let name = format!("{label}, {}", row.workload);
            lines.push((name, row.whole.as_ref(), why.unwrap_or_default()));
            if let Some(hunt) = &row.hunt {
                let name = format!("{label}, {}, hunt", row.workload);
                lines.push((name, Some(hunt), String::new()));
            }
        }
        if safety.rows.len() > 1 && safety.whole.is_some() {
            lines.push((format!("{label}, all"), safety.whole.as_ref(), String::new()));
        }
        is_modelled.resize(lines.len(), safety.in_guest);
    }
    let mut columns = vec![
        Column { name: "configuration, test".to_owned(), number: false },
        Column { name: "grade".to_owned(), number: false },
    ];
    let mut rows: Vec<Vec<String>> = lines
        .iter()
        .map(|(name, whole, _)| vec![name.clone(), whole.map_or("–".to_owned(), graded)])
        .collect();
    let mut add = |name: &str, number: bool, cells: Vec<String>| {
        columns.push(Column { name: name.to_owned(), number });
        rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    };
    for (name, is_always_shown, cell) in COLUMNS {
        let shown = |((_, whole, _), &is_modelled): (&(String, Option<&Whole>, String), &bool)| {
            let shown = whole.and_then(cell);
            let shown = shown.map(|text| {
                if name == RECOVERY && is_modelled { format!("{text}, modelled") } else { text }
            });
            shown.unwrap_or("–".to_owned())
        };
        let cells: Vec<String> = lines.iter().zip(&is_modelled).map(shown).collect();
        if is_always_shown || cells.iter().any(|cell| cell != "–" && cell != "0") {
            add(name, true, cells);
        }
    }
    if lines.iter().any(|(.., why)| !why.is_empty()) {
        add("why there is no more", false, lines.into_iter().map(|(.., why)| why).collect());
    }
    Some(Table { caption: String::new(), columns, rows })
}

/// Its head, whether it is shown whatever it holds, and what it holds; nothing where that was not
/// asked.
type Shown = (&'static str, bool, fn(&Whole) -> Option<String>);

/// The head of the one column that is a time of its own: in guests it is that of the drives alone.
const RECOVERY: &str = "recovery";

const COLUMNS: [Shown; 16] = [
    ("pulls", true, |whole| count(whole.tally.pulls)),
    ("possible, %", true, |whole| Some(numbers::at_most(whole.unseen_at_most_percent))),
    ("acknowledged", true, |whole| promised(whole, whole.tally.promises)),
    ("of it lost", true, |whole| promised(whole, whole.tally.promises_broken)),
    ("in pulls", true, |whole| promised(whole, whole.tally.promise_broken)),
    ("at most, %", true, |whole| whole.broken_at_most_percent.map(numbers::at_most)),
    ("seconds of it", false, |whole| time(whole.tally.promised_seconds_lost)),
    ("bytes of it", false, |whole| count(whole.tally.promised_bytes_lost)),
    ("copies lost", true, |whole| time(whole.tally.copies_seconds_lost)),
    ("unmountable", false, |whole| count(whole.tally.unmountable)),
    ("lost for good", false, |whole| count(whole.tally.lost_for_good)),
    ("errors found", false, |whole| {
        (whole.tally.checked > 0).then(|| numbers::grouped(whole.tally.check_failed))
    }),
    ("renames torn", false, |whole| count(whole.tally.rename_torn)),
    ("old data", false, |whole| count(whole.tally.exposed)),
    ("not shown twice", false, |whole| count(whole.tally.unsteady)),
    (RECOVERY, true, |whole| {
        time(whole.tally.recovery_seconds).filter(|_| whole.tally.recovery_seconds > 0.0)
    }),
];

fn count(count: u64) -> Option<String> {
    Some(numbers::grouped(count))
}

fn promised(whole: &Whole, count: u64) -> Option<String> {
    whole.broken_at_most_percent.map(|_| numbers::grouped(count))
}

fn time(seconds: f64) -> Option<String> {
    Some(if seconds == 0.0 { "0".to_owned() } else { numbers::time(seconds) })
}

fn graded(whole: &Whole) -> String {
    let dishonest = if whole.tally.is_dishonest() { ", dishonest drives" } else { "" };
    format!("{}{dishonest}", whole.grade)
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::safety::{Row, at_most_percent};
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
            ]
        );
        // Two settings differ: nothing says which of them it was.
        let mut other = all.to_vec();
        other.iter_mut().skip(1).for_each(|one| {
            one.settings.insert("file_system".to_owned(), "xfs".to_owned());
        });
        let said = by_grade(&Analysis { safety: other, ..nothing() });
        assert!(said.len() == 2, "{said:?}");
        // Hostile drives are the other end of what is assumed.
        let mut hunted = all[1].clone();
        hunted.rows.push(Row {
            workload: "fsync".to_owned(),
            trials: 1,
            whole: hunted.whole.clone(),
            hunt: Some(whole(cuts(3))),
            unmeasured: None,
        });
        let said = by_grade(&Analysis { safety: vec![hunted], ..nothing() });
        assert_eq!(
            said,
            [
                "Grade A: nothing lost but the last second in 300 cuts, at most 1 %: defaults (D with \
                drives as hostile as they may be)."
            ]
        );
    }

    /// An analysis of nothing.
    fn nothing() -> Analysis {
        let made = MadeUp::one_workload(1, 0, Noise::Normal, 1);
        Analysis { comparisons: Vec::new(), ..results::analyse(&made.run(|_, _| 1.0)) }
    }

    fn whole(tally: Tally) -> Whole {
        Whole {
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
