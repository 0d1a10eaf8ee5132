//! fio's terse output (`--minimal`), of its versions 2 to 5: a line for each job, semicolons
//! between the figures.
//!
//! ```text
//! 3;fio-3.33;NAME;GROUP;ERROR; read …; write …; …          2 has no version of fio
//! a direction: KiB; KiB/s; IOPS; milliseconds; slat min, max, mean, deviation; clat the same;
//!              20 percentiles (50.000000%=72); lat min, max, mean, deviation; 5 of the rate
//!              (5: and 6 more); times in microseconds
//! ```
//!
//! How a job ran is not in it, so that its row has the job's name.

use serde_json::{Map, Value, json};
use words::{Text, statement};

use super::{ResultAtLine, fio};
use crate::format::catalogue;

/// Takes such lines. Those that follow each other are of one run.
#[derive(Default)]
pub(super) struct Reader {
    runs: Vec<Run>,
}

/// Lines of one run of fio.
struct Run {
    first: usize,
    last: usize,
    version: String,
    jobs: Vec<Value>,
}

/// Figures of a direction before its last five.
const FIGURES: usize = 41;

impl Reader {
    /// Takes a line if it is such a one.
    ///
    /// # Errors
    /// A line that is cut off.
    pub(super) fn take(&mut self, number: usize, line: &str) -> Result<bool, Text> {
        let fields: Vec<&str> =
            line.trim_start_matches(['>', ' ', '\t']).trim_end().split(';').collect();
        let (before, more) = match fields[0] {
            "2" => (4, 0),
            "3" | "4" => (5, 0),
            "5" => (5, 6),
            _ => return Ok(false),
        };
        let is_named = fields.get(1).is_some_and(|field| field.starts_with("fio-"));
        if fields.len() < 10 || is_named != (before == 5) {
            return Ok(false);
        }
        let each = FIGURES + more;
        if fields.len() < before + 2 * each {
            return Err(statement!(catalogue::TERSE_CUT_OFF, number = number));
        }
        let number_at = |index: usize| fields[index].parse::<f64>().unwrap_or(0.0);
        let job = json!({
            "jobname": fields[before - 3],
            "groupid": number_at(before - 2) as u64,
            "error": number_at(before - 1) as i64,
            "read": direction(&fields[before..before + each]),
            "write": direction(&fields[before + each..before + 2 * each]),
        });
        let version = if is_named { fields[1] } else { "fio" };
        match self.runs.last_mut().filter(|run| run.last + 1 == number && run.version == version) {
            Some(run) => {
                run.last = number;
                run.jobs.push(job);
            }
            None => self.runs.push(Run {
                first: number,
                last: number,
                version: version.to_owned(),
                jobs: vec![job],
            }),
        }
        Ok(true)
    }

    /// What was read.
    ///
    /// # Errors
    /// As [`fio::read`].
    pub(super) fn found(self) -> Result<Vec<ResultAtLine>, Text> {
        let read = |run: Run| {
            let document = json!({ "fio version": run.version, "jobs": run.jobs });
            Ok(ResultAtLine { line: run.first, imported: fio::read(&document)? })
        };
        self.runs.into_iter().map(read).collect()
    }
}

/// A direction as fio's JSON has it.
fn direction(fields: &[&str]) -> Value {
    let number = |index: usize| fields[index].parse::<f64>().unwrap_or(0.0);
    let percentiles: Map<String, Value> = fields[12..32]
        .iter()
        .filter_map(|field| {
            let (percent, time) = field.split_once("%=")?;
            Some((percent.to_owned(), json!(time.parse::<f64>().ok()?)))
        })
        .collect();
    // It does not say how many there were: as many as its rate comes to over its time.
    let operations = (number(2) * number(3) / 1e3).ceil();
    json!({
        "total_ios": operations,
        "bw": number(1),
        "iops": number(2),
        "lat": { "max": number(33), "mean": number(34) },
        "clat": { "percentile": percentiles },
    })
}
