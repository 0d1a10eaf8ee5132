//! Rows of `raidloom bench crystal` against the fio jobs that `--show-fio` prints for them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::table::{Aim, Row, Section};
use super::{Bench, child};

const FILE_MIB: u64 = 512;
/// A median of fewer rounds says nothing about a few per cent.
const ROUNDS_MIN: u32 = 3;

/// Rates by row, in MB/s.
type Rates = BTreeMap<String, f64>;

/// The folder both work in, and what one row may take.
struct Place<'a> {
    bench: &'a Bench,
    folder: PathBuf,
    seconds: u32,
}

impl Place<'_> {
    /// `raidloom bench crystal` in the folder, direct rows only, one run after the warm-up.
    fn crystal(&self, more: &[&str]) -> Result<Value, String> {
        let mut command = self.bench.program("raidloom");
        command.args(["--json", "bench", "crystal"]).arg(&self.folder).args(["--profile", "8", "--access", "direct"]);
        command.args(["--runs", "1", "--interval", "0s", "--size", &format!("{FILE_MIB}MiB"), "--time", &format!("{}s", self.seconds)]);
        let finished = child::succeed(command.args(more))?;
        serde_json::from_str(&finished.output).map_err(|error| format!("raidloom's JSON: {error}"))
    }

    fn ours(&self) -> Result<Rates, String> {
        rates(&self.crystal(&[])?)
    }

    /// Each job twice, of which the second counts: the rows have a warm-up as well.
    fn theirs(&self, jobs: &[Job]) -> Result<Rates, String> {
        let mut rates = Rates::new();
        for job in jobs {
            let once = || child::succeed(Command::new("fio").arg("--output-format=json").args(&job.arguments));
            once()?;
            rates.insert(job.name.clone(), fio_rate(&once()?.output)?);
        }
        Ok(rates)
    }

    fn jobs(&self) -> Result<Vec<Job>, String> {
        let document = self.crystal(&["--show-fio"])?;
        let jobs = document.as_array().ok_or("--show-fio printed no list")?;
        jobs.iter()
            .map(|job| {
                let arguments = serde_json::from_value(job["arguments"].clone()).map_err(|error| format!("--show-fio: {error}"))?;
                Ok(Job { name: job["name"].as_str().unwrap_or_default().to_owned(), arguments })
            })
            .collect()
    }
}

struct Job {
    name: String,
    arguments: Vec<String>,
}

/// What the rows say; a write's rate counts the flush, as fio's does with `end_fsync`.
fn rates(document: &Value) -> Result<Rates, String> {
    let rows = document["rows"].as_array().ok_or("raidloom's JSON has no rows")?;
    rows.iter()
        .map(|row| {
            let metrics = &row["metrics"];
            let durable = metrics["durable_throughput_bytes_per_second"].as_f64();
            let rate = durable.or_else(|| metrics["throughput_bytes_per_second"].as_f64());
            let name = row["phase"].as_str().unwrap_or_default().to_owned();
            rate.map(|rate| (name.clone(), rate / 1e6)).ok_or_else(|| format!("{name}: no rate"))
        })
        .collect()
}

/// Bytes of a job by its run time, which counts the sync at its end.
fn fio_rate(text: &str) -> Result<f64, String> {
    let json: Value = serde_json::from_str(text).map_err(|error| format!("fio's JSON: {error}"))?;
    let job = &json["jobs"][0];
    if job["error"].as_i64() != Some(0) {
        return Err(format!("fio reports error {}", job["error"]));
    }
    let sum = |field: &str| ["read", "write"].iter().filter_map(|way| job[*way][field].as_f64()).sum::<f64>();
    let (bytes, milliseconds) = (sum("io_bytes"), sum("runtime"));
    if bytes > 0.0 && milliseconds > 0.0 { Ok(bytes / milliseconds / 1e3) } else { Err("fio's job moved nothing".to_owned()) }
}

/// Measures all rows of profile 8 on both sides in turn.
///
/// # Errors
/// When raidloom or fio fails.
pub(crate) fn compare(bench: &Bench) -> Result<Section, String> {
    let place = Place { bench, folder: bench.target.join("bench").join("suites"), seconds: bench.effort.seconds };
    let said = |path: &Path| format!("{}", path.display());
    // An earlier run that was broken off may have left it.
    let _ = fs::remove_dir_all(&place.folder);
    fs::create_dir_all(&place.folder).map_err(|error| format!("{}: {error}", said(&place.folder)))?;
    let result = rounds(&place);
    let _ = fs::remove_dir_all(&place.folder);
    result
}

fn rounds(place: &Place<'_>) -> Result<Section, String> {
    let mut jobs = place.jobs()?;
    let fill = jobs.iter().position(|job| job.name == "fill").ok_or("--show-fio printed no job that fills the file")?;
    child::succeed(Command::new("fio").arg("--output-format=json").args(&jobs.remove(fill).arguments))?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..place.bench.effort.rounds.max(ROUNDS_MIN) {
        eprintln!("   round {}", round + 1);
        if round % 2 == 0 {
            ours.push(place.ours()?);
            theirs.push(place.theirs(&jobs)?);
        } else {
            theirs.push(place.theirs(&jobs)?);
            ours.push(place.ours()?);
        }
    }
    let each = |rounds: &[Rates], name: &str| -> Result<Vec<f64>, String> {
        rounds.iter().map(|rates| rates.get(name).copied().ok_or_else(|| format!("{name}: not measured"))).collect()
    };
    let row = |job: &Job| {
        let (ours, other) = (each(&ours, &job.name)?, Some(each(&theirs, &job.name)?));
        Ok(Row { load: job.name.clone(), measure: "MB/s", ours, other, aim: Aim::Within(0.05) })
    };
    let rows = jobs.iter().map(row).collect::<Result<Vec<_>, String>>()?;
    let how = format!(
        "`raidloom bench crystal --profile 8 --access direct` on a file of {FILE_MIB} MiB on the disk, and the jobs that `--show-fio` prints for its \
        rows, {} s each after a warm-up as long. Both go past the page cache; rates of writes count the flush. raidloom checks every byte it reads \
        and makes new data for every write, which fio does not.",
        place.seconds
    );
    Ok(Section { title: "Crystal's rows against fio's jobs", how, sides: ("raidloom", "fio"), rows })
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
                         {"phase": "w", "metrics": {"throughput_bytes_per_second": 3e6, "durable_throughput_bytes_per_second": 2e6}}]}"#,
        )
        .expect("JSON");
        assert_eq!(rates(&document), Ok(Rates::from([("r".to_owned(), 3.0), ("w".to_owned(), 2.0)])));
        assert!(rates(&Value::Null).is_err());
    }
}
