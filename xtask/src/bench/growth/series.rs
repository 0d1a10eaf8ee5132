//! Sizes and what each costs, and the exponent fitted to them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::chart::Curve;
use crate::bench::table::{Aim, Row, Spread, exponent};
use crate::bench::{Bench, child};

/// Nothing grows faster without a reason beside it.
pub(super) const EXPONENT: Aim = Aim::AtMost(1.1);

/// Sizes and what each costs, in one round or several.
pub(super) struct Series {
    /// What is done, before the size.
    pub(super) load: String,
    /// What the size counts.
    pub(super) of: &'static str,
    pub(super) measure: &'static str,
    /// Of the exponent.
    pub(super) exponent: &'static str,
    /// What each cost is held against.
    pub(super) aim: Aim,
    /// Sizes, each with what it cost in each round.
    pub(super) points: Vec<(u32, Vec<f64>)>,
}

impl Series {
    /// The median of each size.
    pub(super) fn curve(&self) -> Curve {
        let middle = |(size, rounds): &(u32, Vec<f64>)| ((*size).into(), Spread::of(rounds).median);
        Curve {
            title: self.load.clone(),
            size: self.of,
            cost: self.measure,
            points: self.points.iter().map(middle).collect(),
        }
    }

    /// A row for each size, and the exponent's.
    pub(super) fn rows(self) -> Vec<Row> {
        let rounds = self.points.iter().map(|(_, rounds)| rounds.len()).min().unwrap_or(0);
        let fitted = |round: usize| {
            let points: Vec<(f64, f64)> =
                self.points.iter().map(|(size, rounds)| ((*size).into(), rounds[round])).collect();
            exponent(&points)
        };
        let fitted = Row {
            load: self.load.clone(),
            measure: self.exponent,
            ours: (0..rounds).map(fitted).collect(),
            other: None,
            aim: EXPONENT,
        };
        let row = |(size, ours): (u32, Vec<f64>)| Row {
            load: format!("{}, {size} {}", self.load, self.of),
            measure: self.measure,
            ours,
            other: None,
            aim: self.aim,
        };
        self.points.into_iter().map(row).chain([fitted]).collect()
    }
}

/// A folder of this case, empty.
pub(super) fn empty_folder(bench: &Bench, name: &str) -> Result<PathBuf, String> {
    let folder = bench.target.join("bench").join(name);
    // An earlier run that was broken off may have left it.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// What raidloom uses of the processor in each round; the clock of processes counts in hundredths.
pub(super) fn processor_seconds(
    bench: &Bench,
    mut once: impl FnMut() -> Result<Command, String>,
) -> Result<Vec<f64>, String> {
    let mut round = || Ok(child::succeed(&mut once()?)?.cpu_seconds.max(0.01));
    (0..bench.effort.rounds).map(|_| round()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_is_a_row_and_the_exponent_the_last() {
        let series = Series {
            load: "work".to_owned(),
            of: "members",
            measure: "instructions a request",
            exponent: "exponent",
            aim: Aim::AtMost(1.0),
            points: vec![(2, vec![20.0, 40.0]), (4, vec![40.0, 160.0]), (8, vec![80.0, 640.0])],
        };
        let rows = series.rows();
        let loads: Vec<&str> = rows.iter().map(|row| row.load.as_str()).collect();
        assert_eq!(loads, ["work, 2 members", "work, 4 members", "work, 8 members", "work"]);
        let fitted: Vec<i64> =
            rows[3].ours.iter().map(|found| (found * 1000.0).round() as i64).collect();
        assert_eq!(fitted, [1000, 2000]);
    }
}
