//! Rows of `raidloom bench crystal` against the fio jobs that `bench explain crystal --fio` prints
//! for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::table::{Aim, Row, Section};
use super::{Bench, child};

const FILE_MIB: u64 = 512;
/// A median of fewer rounds says nothing about a few per cent.
const ROUNDS_MIN: u32 = 7;

/// The folder both work in, and what one row may take.
struct SuiteFolder<'a> {
    bench: &'a Bench,
    folder: PathBuf,
    seconds: u32,
}

impl SuiteFolder<'_> {
    /// What the rows are run with: direct rows only.
    fn keys(&self) -> Vec<String> {
        let keys = [
            "profile=8".to_owned(),
            "access=direct".to_owned(),
            "interval=0s".to_owned(),
            format!("size={FILE_MIB}MiB"),
            format!("time={}s", self.seconds),
        ];
        keys.into_iter().flat_map(|key| ["-s".to_owned(), key]).collect()
    }

    fn json(&self, words: &[&str]) -> Result<Value, String> {
        let mut command = self.bench.program("raidloom");
        let finished =
            child::succeed(command.args(["--json", "bench"]).args(words).args(self.keys()))?;
        serde_json::from_str(&finished.output).map_err(|error| format!("raidloom's JSON: {error}"))
    }

    /// `raidloom bench crystal` in the folder, one run after the warm-up.
    fn ours(&self, job: &Job) -> Result<f64, String> {
        let run = self.bench.target.join("bench").join("suites-run");
        let _ = fs::remove_dir_all(&run);
        let (folder, run, only) =
            (self.folder.display().to_string(), run.display().to_string(), &job.name);
        let only = format!("only={only}");
        let words = ["crystal", &folder, "--runs", "1", "--output", &run, "-s", &only];
        let measured = self.json(&words)?;
        let _ = fs::remove_dir_all(&run);
        rate(&measured, &job.name)
    }

    /// The job twice, of which the second counts: the row has a warm-up as well.
    fn theirs(job: &Job) -> Result<f64, String> {
        let once =
            || child::succeed(Command::new("fio").arg("--output-format=json").args(&job.arguments));
        once()?;
        fio_rate(&once()?.output)
    }

    fn jobs(&self) -> Result<Vec<Job>, String> {
        let folder = self.folder.display().to_string();
        let document = self.json(&["explain", "crystal", "--fio", &folder])?;
        let jobs = document.as_array().ok_or("--fio printed no list")?;
        jobs.iter()
            .map(|job| {
                let arguments = serde_json::from_value(job["arguments"].clone())
                    .map_err(|error| format!("--fio: {error}"))?;
                Ok(Job { name: job["name"].as_str().unwrap_or_default().to_owned(), arguments })
            })
            .collect()
    }
}

struct Job {
    name: String,
    arguments: Vec<String>,
}

/// What a row says; a write's rate counts the flush, as fio's does with `end_fsync`.
fn rate(document: &Value, name: &str) -> Result<f64, String> {
    let rows = document["rows"].as_array().ok_or("raidloom's JSON has no rows")?;
    let row = rows
        .iter()
        .find(|row| row["phase"] == name)
        .ok_or_else(|| format!("{name}: no such row"))?;
    let metrics = &row["metrics"];
    let durable = metrics["durable_throughput_bytes_per_second"].as_f64();
    let rate = durable.or_else(|| metrics["throughput_bytes_per_second"].as_f64());
    rate.map(|rate| rate / 1e6).ok_or_else(|| format!("{name}: no rate"))
}

/// Bytes of a job by its run time, which counts the sync at its end.
fn fio_rate(text: &str) -> Result<f64, String> {
    let json: Value = serde_json::from_str(text).map_err(|error| format!("fio's JSON: {error}"))?;
    let job = &json["jobs"][0];
    if job["error"].as_i64() != Some(0) {
        return Err(format!("fio reports error {}", job["error"]));
    }
    let sum = |field: &str| {
        ["read", "write"].iter().filter_map(|way| job[*way][field].as_f64()).sum::<f64>()
    };
    let (bytes, milliseconds) = (sum("io_bytes"), sum("runtime"));
    if bytes > 0.0 && milliseconds > 0.0 {
        Ok(bytes / milliseconds / 1e3)
    } else {
        Err("fio's job moved nothing".to_owned())
    }
}

/// Measures all rows of profile 8: in every round each row on both sides, one right after the
/// other.
///
/// # Errors
/// When raidloom or fio fails.
pub(crate) fn compare(bench: &Bench) -> Result<Section, String> {
    let place = SuiteFolder {
        bench,
        folder: bench.target.join("bench").join("suites"),
        seconds: bench.effort.seconds,
    };
    let said = |path: &Path| format!("{}", path.display());
    // An earlier run that was broken off may have left it.
    let _ = fs::remove_dir_all(&place.folder);
    fs::create_dir_all(&place.folder)
        .map_err(|error| format!("{}: {error}", said(&place.folder)))?;
    let result = rounds(&place);
    let _ = fs::remove_dir_all(&place.folder);
    result
}

fn rounds(place: &SuiteFolder<'_>) -> Result<Section, String> {
    let mut jobs = place.jobs()?;
    let fill = jobs
        .iter()
        .position(|job| job.name == "fill")
        .ok_or("--fio printed no job that fills the file")?;
    child::succeed(
        Command::new("fio").arg("--output-format=json").args(&jobs.remove(fill).arguments),
    )?;
    let rounds = place.bench.effort.rounds.max(ROUNDS_MIN);
    let mut rows: Vec<Row> = jobs
        .iter()
        .map(|job| Row {
            load: job.name.clone(),
            measure: "MB/s",
            ours: Vec::new(),
            other: Some(Vec::new()),
            aim: Aim::Within(0.05),
        })
        .collect();
    for round in 0..rounds as usize {
        eprintln!("   round {} of {rounds}", round + 1);
        for (place_in_round, (job, row)) in jobs.iter().zip(&mut rows).enumerate() {
            // Whatever else the machine does comes to both of a pair, and neither is always the
            // first.
            let (ours, theirs) = if (round + place_in_round) % 2 == 0 {
                let ours = place.ours(job)?;
                (ours, SuiteFolder::theirs(job)?)
            } else {
                let theirs = SuiteFolder::theirs(job)?;
                (place.ours(job)?, theirs)
            };
            row.ours.push(ours);
            row.other.get_or_insert_default().push(theirs);
        }
    }
    let how = format!(
        "`raidloom bench crystal -s profile=8 -s access=direct` on a file of {FILE_MIB} MiB on the \
        disk, and the jobs that `bench explain crystal --fio` prints for its \
        rows, {} s each after a warm-up as long; in each of {rounds} rounds every row on one side \
        right after the other. Both go past the page \
        cache; rates of writes count the flush. raidloom checks every byte it reads \
        and makes new data for every write, which fio does not.",
        place.seconds
    );
    Ok(Section {
        title: "Crystal's rows against fio's jobs",
        how,
        measured: None,
        sides: ("raidloom", "fio"),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_both_sides_are_in_mb_per_second() {
        let text = r#"{"jobs": [{"error": 0, "read": {"io_bytes": 0, "runtime": 0}, "write": {"io_bytes": 5000000, "runtime": 2500}}]}"#;
        assert_eq!(fio_rate(text), Ok(2.0));
        assert!(fio_rate(r#"{"jobs": [{"error": 0, "read": {}}]}"#).is_err());
        let document: Value = serde_json::from_str(
            r#"{"rows": [{"phase": "r", "metrics": {"throughput_bytes_per_second": 3e6}},
                         {"phase": "w", "metrics": {"throughput_bytes_per_second": 3e6,
                             "durable_throughput_bytes_per_second": 2e6}}]}"#,
        )
        .expect("JSON");
        assert_eq!((rate(&document, "r"), rate(&document, "w")), (Ok(3.0), Ok(2.0)));
        assert!(rate(&document, "x").is_err() && rate(&Value::Null, "r").is_err());
    }
}
