//! Equal things, measured as if they were two: how often a report finds a difference between them.
//!
//! Two configurations differ in nothing but a time limit that is never reached, so that every word
//! of difference is false, and every cell without the word *same* shows what the noise of the
//! machine costs.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::table::{Aim, Row, Section};
use super::{Bench, child};

/// One question, asked of this machine.
struct Ground {
    /// Where the members lie, in words.
    name: &'static str,
    /// The members of the plan.
    members: &'static str,
    /// Length of a test.
    time: &'static str,
    /// Reports for each round of the effort.
    reports_per_round: u32,
}

const FILES: Ground = Ground {
    name: "on files",
    members: "files = { count = 2, size = \"32MiB\" }",
    time: "300ms",
    reports_per_round: 4,
};

const MEMORY: Ground = Ground {
    name: "on `ram:`",
    members: "stacks = [\"ram:32MiB\", \"ram:32MiB\"]",
    time: "1s",
    reports_per_round: 1,
};

/// Workloads of the plan.
const TESTS: [&str; 3] =
    ["sequential read at start 65536", "random read 16384", "random write 16384"];

impl Ground {
    fn plan(&self) -> String {
        let Ground { members, time, .. } = self;
        format!(
            "schema = 1\n\
            name = \"equal\"\n\
            [members.both]\n\
            {members}\n\
            [matrix]\n\
            level = \"raid0\"\n\
            chunk = \"64KiB\"\n\
            member_timeout = [\"30s\", \"31s\"]\n\
            [baseline]\n\
            member_timeout = \"30s\"\n\
            [[workload]]\n\
            suite = \"devtest\"\n\
            tests = {TESTS:?}\n\
            time = \"{time}\"\n"
        )
    }
}

/// What one report says of two equal configurations.
#[derive(Debug, Default, PartialEq)]
struct ReportCounts {
    cells: u32,
    different: u32,
    same: u32,
    /// Headlines that call one of them ahead of the other.
    headlines: u32,
}

impl ReportCounts {
    /// Counts the answers of a report's document.
    fn of(document: &Value) -> Result<ReportCounts, String> {
        let verdicts = document["verdicts"].as_array().filter(|all| !all.is_empty());
        let verdicts = verdicts.ok_or("the report has no verdicts")?;
        let count = |words: &[&str]| {
            let has = |one: &&Value| one["verdict"].as_str().is_some_and(|it| words.contains(&it));
            verdicts.iter().filter(has).count() as u32
        };
        let headlines = document["headlines"].as_array().ok_or("the report has no headlines")?;
        Ok(ReportCounts {
            cells: verdicts.len() as u32,
            different: count(&["ahead", "behind"]),
            same: count(&["same"]),
            headlines: headlines.iter().filter(|one| one["sure"] == true).count() as u32,
        })
    }
}

/// Runs the plan on files and on memory and counts what the reports say.
///
/// # Errors
/// When raidloom fails, or a report cannot be read.
pub(crate) fn measure(bench: &Bench) -> Result<Section, String> {
    let folder = bench.target.join("bench").join("aa");
    // An earlier run that was broken off may have left it.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = reports(bench, &folder, &FILES)?;
    let memory = reports(bench, &folder, &MEMORY)?;
    // Runs are of no use once they are counted; what cannot be removed is removed next time.
    let _ = fs::remove_dir_all(&folder);

    let with = |all: &[ReportCounts], wanted: fn(&ReportCounts) -> u32| {
        f64::from(all.iter().filter(|one| wanted(one) > 0).count() as u32)
    };
    let same = |all: &[ReportCounts]| {
        let sum = |of: fn(&ReportCounts) -> u32| f64::from(all.iter().map(of).sum::<u32>());
        100.0 * sum(|one| one.same) / sum(|one| one.cells)
    };
    let row = |load: String, measure, ours, aim| Row {
        load,
        measure,
        ours: vec![ours],
        other: None,
        aim,
    };
    let of = |ground: &Ground, count: usize| format!("{}, {count} reports", ground.name);
    // A fifth of the reports: three rows of a table, each false with at most 5 %, and room for
    // chance.
    let most = (files.len() as f64 / 5.0).ceil();
    let rows = vec![
        row(
            format!("{}: any word of difference", of(&FILES, files.len())),
            "reports",
            with(&files, |one| one.different),
            Aim::AtMost(most),
        ),
        row(
            format!("{}: a headline that is sure of one", of(&FILES, files.len())),
            "reports",
            with(&files, |one| one.headlines),
            Aim::AtMost(most),
        ),
        row(
            format!("{}: any word of difference", of(&MEMORY, memory.len())),
            "reports",
            with(&memory, |one| one.different),
            Aim::AtMost((memory.len() as f64 / 5.0).ceil()),
        ),
        row(
            format!("{}: called the same", of(&MEMORY, memory.len())),
            "% of cells",
            same(&memory),
            Aim::AtLeast(50.0),
        ),
    ];
    let how = format!(
        "Two configurations that differ in a time limit which is never reached (`member_timeout`), \
        a RAID 0 over two members, {} in tests of {} and {} in tests of {}, 8 blocks, margin 2 %: \
        whatever a report calls different is not. How many cells are called the same tells how \
        quiet the machine was. A report has {} rows, each of which may hold a false word with 5 %.",
        FILES.name,
        FILES.time,
        MEMORY.name,
        MEMORY.time,
        TESTS.len()
    );
    let measured = Some(format!(
        "Measured in {} and {} runs of 48 trials each ({:.0} % of the cells on files were called \
        the same)",
        files.len(),
        memory.len(),
        same(&files)
    ));
    Ok(Section { title: "Equal configurations", how, measured, sides: ("raidloom", ""), rows })
}

/// What the reports of so many runs say.
fn reports(bench: &Bench, folder: &Path, ground: &Ground) -> Result<Vec<ReportCounts>, String> {
    let plan = folder.join("equal.toml");
    fs::write(&plan, ground.plan()).map_err(|error| format!("{}: {error}", plan.display()))?;
    (0..bench.effort.rounds * ground.reports_per_round)
        .map(|number| {
            let run = folder.join("run");
            // Each run has a seed of its own, and so another order and other places.
            let seed = format!("trials.seed={}", 1000 + number);
            let mut command = bench.program("raidloom");
            command.current_dir(folder).args(["--quiet", "run"]).arg(&plan).args(["-s", &seed]);
            child::succeed(command.arg("--output").arg(&run))?;
            let mut command = bench.program("raidloom");
            let report = child::succeed(command.args(["--json", "report"]).arg(&run))?;
            let document: Value = serde_json::from_str(&report.output)
                .map_err(|error| format!("report --json: {error}"))?;
            let said = ReportCounts::of(&document)?;
            eprintln!("   {}, seed {}: {said:?}", ground.name, 1000 + number);
            fs::remove_dir_all(&run).map_err(|error| format!("{}: {error}", run.display()))?;
            Ok(said)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_and_a_report_without_any_is_an_error() {
        let verdict = |word: &str| serde_json::json!({ "verdict": word });
        let document = serde_json::json!({
            "verdicts": [verdict("ahead"), verdict("same"), verdict("no answer"), verdict("same")],
            "headlines": [{ "sure": false }, { "sure": true }],
        });
        let said = ReportCounts { cells: 4, different: 1, same: 2, headlines: 1 };
        assert_eq!(ReportCounts::of(&document), Ok(said));
        assert!(ReportCounts::of(&serde_json::json!({ "verdicts": [], "headlines": [] })).is_err());
    }
}
