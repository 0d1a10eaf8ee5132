//! fio's JSON, of fio 2 and 3.
//!
//! Of a job these are used: `jobname`, `groupid`, `error`, `job options` (`rw`, `bs`, `iodepth`,
//! `numjobs`, with `global options` below them), and of `read`, `write` and `mixed` each
//! `total_ios`, `bw_bytes` or `bw` (KiB/s), `iops`, `lat_ns` and `clat_ns` with `percentile` (fio
//! 2: `lat` and `clat`, in microseconds). Jobs of one name in one group ran at the same time: their
//! rates are added up. With `--client` the list is called `client_stats`, and the jobs of all
//! clients ran at the same time.

use std::collections::BTreeMap;

use results::{Clock, Group};
use serde_json::Value;
use words::{Text, statement};

use super::{ImportedResult, ImportedRow, LATENCY_MAX, LATENCY_MEAN, OPERATIONS, THROUGHPUT};
use crate::format::catalogue;
use crate::suite::crystal::NAME;

/// The list of jobs where clients ran them.
pub(super) const CLIENTS: &str = "client_stats";
/// What fio calls its own sum over all clients.
const ALL_CLIENTS: &str = "All clients";

/// Reads fio's output.
///
/// # Errors
/// What is missing, and in which job.
pub fn read(document: &Value) -> Result<ImportedResult, Text> {
    let list = if document.get("jobs").is_some() { "jobs" } else { CLIENTS };
    let all =
        document[list].as_array().ok_or_else(|| statement!(catalogue::NO_LIST, list = list))?;
    // fio's own sum over its clients would count everything twice.
    let is_sum = |job: &&Value| all.len() > 1 && job["jobname"] == ALL_CLIENTS;
    let jobs: Vec<&Value> = all.iter().filter(|job| !is_sum(job)).collect();
    let global = document.get("global options").and_then(Value::as_object);
    let tool = document["fio version"].as_str().unwrap_or("fio").to_owned();
    let time = document["time"].as_str().map(|time| ("time".to_owned(), time.to_owned()));
    let facts = time.into_iter().chain(clients(&jobs)).collect();
    let mut imported = ImportedResult {
        tool,
        suite: NAME.to_owned(),
        clock: Clock::Wall,
        facts,
        part: None,
        rows: Vec::new(),
        notes: Vec::new(),
    };
    // Name and group of the jobs that were read, and the row they went to.
    let mut read: Vec<(String, u64, usize)> = Vec::new();
    for (number, job) in jobs.into_iter().enumerate() {
        let name = job["jobname"]
            .as_str()
            .ok_or_else(|| statement!(catalogue::NO_JOBNAME, list = list, number = number))?;
        if job["error"].as_i64().unwrap_or(0) != 0 {
            imported
                .notes
                .push(format!("job {name} was left out: it ended with error {}", job["error"]));
            continue;
        }
        let option = |key: &str| {
            let own = job.get("job options").and_then(|options| options.get(key));
            own.or_else(|| global.and_then(|options| options.get(key))).and_then(Value::as_str)
        };
        let Some(row) = read_job(job, name, number, &option)? else {
            imported.notes.push(format!("job {name} was left out: it moved nothing"));
            continue;
        };
        let group = job["groupid"].as_u64().unwrap_or(0);
        match read.iter().find(|(known, known_group, _)| known == name && *known_group == group) {
            Some((.., index)) => join(&mut imported.rows[*index], &row),
            None => {
                read.push((name.to_owned(), group, imported.rows.len()));
                let run = imported.rows.iter().filter(|known| known.phase == row.phase).count()
                    as u32
                    + 1;
                imported.rows.push(ImportedRow { run, ..row });
            }
        }
    }
    Ok(imported)
}

/// The machines that measured, where fio names them.
fn clients(jobs: &[&Value]) -> Option<(String, String)> {
    let mut names: Vec<String> = Vec::new();
    for job in jobs {
        let Some(host) = job["hostname"].as_str() else { continue };
        let name = format!("{host}:{}", job["port"]);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| ("clients".to_owned(), names.join(", ")))
}

/// The figures of jobs that ran at the same time, together.
///
/// # Errors
/// What is missing, in which job, and a job that ended with an error.
pub(crate) fn group(jobs: &[Value]) -> Result<BTreeMap<String, f64>, Text> {
    let mut whole: Option<ImportedRow> = None;
    for (number, job) in jobs.iter().enumerate() {
        let name = job["jobname"].as_str().unwrap_or("without a name");
        if job["error"].as_i64().unwrap_or(0) != 0 {
            return Err(statement!(
                catalogue::JOB_ERROR,
                name = name,
                number = job["error"].to_string()
            ));
        }
        let Some(row) = read_job(job, name, number, &|_| None)? else { continue };
        match &mut whole {
            Some(whole) => join(whole, &row),
            None => whole = Some(row),
        }
    }
    whole.map(|row| row.metrics).ok_or_else(|| catalogue::JOBS_IDLE.into())
}

fn read_job<'a>(
    job: &Value,
    name: &str,
    number: usize,
    option: &dyn Fn(&str) -> Option<&'a str>,
) -> Result<Option<ImportedRow>, Text> {
    let moved = |section: &str| {
        // The first versions with JSON did not count.
        let figures = &job[section];
        let counted = figures["total_ios"].as_f64().or_else(|| figures["iops"].as_f64());
        counted.is_some_and(|operations| operations > 0.0)
    };
    let sections: Vec<&str> =
        ["read", "write", "mixed"].into_iter().filter(|section| moved(section)).collect();
    let Some(first) = sections.first() else { return Ok(None) };
    let way = if sections.len() > 1 || *first == "mixed" { "mix" } else { first };
    let order = option("rw")
        .or(option("readwrite"))
        .map(|rw| if rw.starts_with("rand") { "RND" } else { "SEQ" });
    // As fio's own defaults.
    let depth = option("iodepth").unwrap_or("1");
    let jobs = option("numjobs").unwrap_or("1");
    let size = option("bs").or(option("blocksize")).map_or(Some(4096), block_bytes);
    let phase = match (order, size) {
        (Some(order), Some(bytes)) => format!("{order}{} Q{depth}T{jobs} {way}", size_text(bytes)),
        _ => format!("{name} {way}"),
    };
    // Of a job whose options are not told it is not known.
    let is_buffered = order.is_some() && option("direct").unwrap_or("0") == "0";
    let buffered_of = is_buffered.then(|| phase.clone());
    let phase = if is_buffered { format!("{phase} buffered") } else { phase };
    let group = match (way, order) {
        ("mix", _) => Group::Mixed,
        (_, Some("SEQ")) => Group::Sequential,
        _ => Group::Random,
    };
    let mut row = ImportedRow { buffered_of, ..ImportedRow::new(phase, group, THROUGHPUT) };
    let (mut bytes, mut operations, mut counted, mut seconds, mut longest) =
        (0.0, 0.0, 0.0, 0.0, 0.0_f64);
    for section in &sections {
        let figures = &job[*section];
        let rate =
            figures["bw_bytes"].as_f64().or_else(|| figures["bw"].as_f64().map(|kib| kib * 1024.0));
        bytes += rate.ok_or_else(|| {
            statement!(catalogue::NO_BANDWIDTH, number = number, section = section)
        })?;
        operations += figures["iops"]
            .as_f64()
            .ok_or_else(|| statement!(catalogue::NO_IOPS, number = number, section = section))?;
        let (latency, unit) = times(figures, "lat");
        let count = figures["total_ios"].as_f64().unwrap_or(0.0);
        counted += count;
        seconds += latency["mean"].as_f64().unwrap_or(0.0) * unit * count;
        longest = longest.max(latency["max"].as_f64().unwrap_or(0.0) * unit);
    }
    row.put(THROUGHPUT, bytes);
    row.put(OPERATIONS, operations);
    row.put("operations_count", counted);
    if seconds > 0.0 {
        row.put(LATENCY_MEAN, seconds / counted);
        row.put(LATENCY_MAX, longest);
    }
    // Percentiles of two directions cannot be put together from the percentiles of each.
    if let [section] = &sections[..] {
        let (completion, unit) = times(&job[*section], "clat");
        let percentiles = &completion["percentile"];
        for (name, key) in
            [("latency_p50_seconds", "50.000000"), ("latency_p99_seconds", "99.000000")]
        {
            if let Some(time) = percentiles[key].as_f64() {
                row.put(name, time * unit);
            }
        }
    }
    Ok(Some(row))
}

/// Times of a direction, and their unit in seconds: nanoseconds, in version 2 microseconds.
fn times<'a>(figures: &'a Value, name: &str) -> (&'a Value, f64) {
    match figures.get(format!("{name}_ns")) {
        Some(times) => (times, 1e-9),
        None => (&figures[name], 1e-6),
    }
}

/// Adds what ran beside it.
fn join(row: &mut ImportedRow, other: &ImportedRow) {
    let figure = |metrics: &BTreeMap<String, f64>, name: &str| metrics.get(name).copied();
    let (own, beside) = (
        figure(&row.metrics, "operations_count").unwrap_or(0.0),
        figure(&other.metrics, "operations_count").unwrap_or(0.0),
    );
    let mean = figure(&row.metrics, LATENCY_MEAN).zip(figure(&other.metrics, LATENCY_MEAN));
    let longest = figure(&row.metrics, LATENCY_MAX).zip(figure(&other.metrics, LATENCY_MAX));
    for name in [THROUGHPUT, OPERATIONS, "operations_count"] {
        let sum =
            figure(&row.metrics, name).unwrap_or(0.0) + figure(&other.metrics, name).unwrap_or(0.0);
        row.put(name, sum);
    }
    row.metrics.retain(|name, _| !name.starts_with("latency_"));
    if let Some((mean, other_mean)) = mean {
        row.put(LATENCY_MEAN, (mean * own + other_mean * beside) / (own + beside));
    }
    if let Some((longest, other_longest)) = longest {
        row.put(LATENCY_MAX, longest.max(other_longest));
    }
}

/// A block size in fio's words, of which a bare `k` is 1024; of a list the first.
fn block_bytes(text: &str) -> Option<u64> {
    let first = text.split([',', '-']).next()?.trim();
    let digits = first.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(first.len());
    let number: u64 = first[..digits].parse().ok()?;
    let unit = first[digits..].to_ascii_lowercase();
    let shift = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

fn size_text(bytes: u64) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        bytes => bytes.to_string(),
    }
}
