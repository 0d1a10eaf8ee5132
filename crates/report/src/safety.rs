//! Grades: the sentence beside a speed, what a run of power cuts alone comes to, and the table.

use results::analysis::Analysis;
use results::safety::{Grade, Safety, Tally, Whole};

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

/// What a run of power cuts alone comes to: the configurations of each grade, a sentence each.
/// Nothing where speeds were compared.
pub(crate) fn by_grade(analysis: &Analysis) -> Vec<String> {
    if !analysis.comparisons.is_empty() {
        return Vec::new();
    }
    let label = |safety: &Safety| numbers::spaced_sizes(&safety.label);
    let mut sentences = Vec::new();
    for grade in Grade::ALL {
        let has = |safety: &&Safety| safety.whole.as_ref().is_some_and(|one| one.grade == grade);
        let labels: Vec<String> = analysis.safety.iter().filter(has).map(label).collect();
        if !labels.is_empty() {
            sentences.push(format!("Grade {grade}: {}.", listed(labels)));
        }
    }
    let has_none = |safety: &&Safety| safety.whole.is_none();
    let none: Vec<String> = analysis
        .safety
        .iter()
        .filter(has_none)
        .map(|safety| format!("{} ({})", label(safety), unmeasured(safety)))
        .collect();
    if !none.is_empty() {
        sentences.push(format!("No grade: {}.", listed(none)));
    }
    sentences
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
    use results::safety::at_most_percent;

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
