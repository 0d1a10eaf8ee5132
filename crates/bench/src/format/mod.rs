//! Results of other tools, read and written: old runs sit beside new ones, and new ones go where
//! old ones went.
//!
//! ```text
//!   bytes ── decoded ──> text ── line by line ──┬─ CrystalDiskMark's and KDiskMark's text
//!                                               ├─ bonnie++'s CSV and tables            ──> Imported, one for each
//!                                               └─ fio's JSON and terse lines               result that is in it
//!   rows of the suite crystal ──> CrystalDiskMark's text
//! ```
//!
//! A file may hold several results, of several tools, with other text around them. Units of the
//! originals become base units, and rows get the names that our own suites give them, so that the
//! same workload is found again. What a tool prints wrongly is put right here, with a note.

pub mod bonnie;
mod catalogue;
pub mod crystal;
mod crystal_reader;
mod encoding;
pub mod fio;
mod fio_terse;
mod strangers;

use std::collections::BTreeMap;

use results::{BetterDirection, Clock, Doubt, Group};
use words::{Text, statement};

pub use encoding::decoded;

/// What was read of one configuration: a file holds one, or several where it says so itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedResult {
    /// The tool that wrote it, with its version as far as the file says.
    pub tool: String,
    /// The suite of ours whose rows they are.
    pub suite: String,
    /// Which clock the figures come from.
    pub clock: Clock,
    /// What the file says of the machine and the test, name and value.
    pub facts: Vec<(String, String)>,
    /// What tells it apart from the others in the same file, where there are others: the machine,
    /// and what else differs.
    pub part: Option<String>,
    /// The rows, in the file's order.
    pub rows: Vec<ImportedRow>,
    /// What the reader should know: what was put right, what could not be read.
    pub notes: Vec<String>,
}

/// One figure or several of one phase, from one run.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedRow {
    /// The name that our own suites give it.
    pub phase: String,
    /// As [`Phase::buffered_of`](crate::suite::Phase::buffered_of).
    pub buffered_of: Option<String>,
    /// Which run it is, from 1.
    pub run: u32,
    /// Kind of access.
    pub group: Group,
    /// The metric that verdicts are about.
    pub metric: std::borrow::Cow<'static, str>,
    /// Which direction of it is better.
    pub better: BetterDirection,
    /// Metric name to figure, in base units.
    pub metrics: BTreeMap<String, f64>,
    /// What the audit of whoever measured it found.
    pub findings: Vec<Doubt>,
}

const THROUGHPUT: &str = "throughput_bytes_per_second";
const OPERATIONS: &str = "io_per_second";
const LATENCY_MEAN: &str = "latency_mean_seconds";
const LATENCY_MAX: &str = "latency_max_seconds";

impl ImportedRow {
    fn new(phase: impl Into<String>, group: Group, metric: &'static str) -> ImportedRow {
        ImportedRow {
            phase: phase.into(),
            buffered_of: None,
            run: 1,
            group,
            metric: metric.into(),
            better: BetterDirection::Higher,
            metrics: BTreeMap::new(),
            findings: Vec::new(),
        }
    }

    fn put(&mut self, name: &str, figure: f64) {
        self.metrics.insert(name.to_owned(), figure);
    }
}

/// A result, and the line at which it begins.
struct ResultAtLine {
    line: usize,
    imported: ImportedResult,
}

/// Reads the results in a text, of any tool that is known, in the text's order: one configuration
/// for each result, and of bonnie++ one for each machine and way of measuring.
///
/// # Errors
/// One line: which formats there are, or what is wrong with the text and where.
pub fn import(text: &str) -> Result<Vec<ImportedResult>, Text> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let mut crystal = crystal_reader::Reader::default();
    let mut bonnie = bonnie::Reader::default();
    let mut terse = fio_terse::Reader::default();
    let mut found: Vec<ResultAtLine> = Vec::new();
    let mut others: Vec<&str> = Vec::new();
    let (mut rest, mut line) = (text.as_str(), 1);
    while !rest.is_empty() {
        if begins_json(rest) {
            let (imported, length) = json(rest, line)?;
            found.push(ResultAtLine { line, imported });
            line += rest[..length].matches('\n').count();
            rest = &rest[length..];
            continue;
        }
        let (own, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let is_taken =
            crystal.take(line, own)? || bonnie.take(line, own)? || terse.take(line, own)?;
        if !is_taken && !own.trim().is_empty() {
            others.push(own.trim());
        }
        (rest, line) = (after, line + 1);
    }
    let documents = found.len();
    found.extend(crystal.found());
    found.extend(bonnie.found());
    found.extend(terse.found()?);
    if found.is_empty() {
        return Err(strangers::refusal(&text));
    }
    if let ([one], 1, false) = (&mut found[..], documents, others.contains(&FENCE)) {
        // fio prints notes and warnings where it prints its results, before and after them.
        note_others(&mut one.imported, &others);
    }
    found.retain(|found| !found.imported.rows.is_empty());
    if found.is_empty() {
        return Err(catalogue::NO_FIGURE.into());
    }
    found.sort_by_key(|found| found.line);
    Ok(told_apart(found.into_iter().map(|found| found.imported).collect()))
}

/// Whether a text begins with a JSON object, and not with a word in braces.
fn begins_json(text: &str) -> bool {
    let Some(inside) = text.trim_start_matches([' ', '\t']).strip_prefix('{') else { return false };
    inside.trim_start().starts_with(['"', '}'])
}

/// A JSON document at the start of a text, and its length.
fn json(text: &str, line: usize) -> Result<(ImportedResult, usize), Text> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    let value = values.next().ok_or(catalogue::EMPTY_DOCUMENT)?;
    let value = value.map_err(|error| {
        Text::verbatim(&error).at(statement!(catalogue::NO_JSON, line = line - 1 + error.line()))
    })?;
    let is_fio = ["jobs", fio::CLIENTS].iter().any(|list| value.get(list).is_some());
    if !is_fio {
        return Err(catalogue::OTHER_JSON.into());
    }
    Ok((fio::read(&value)?, values.byte_offset()))
}

/// How a fence of Markdown ends: what stands around it are somebody's words.
const FENCE: &str = "```";
/// Lines around a document that are shown; of more only how many there are.
const OTHERS_MAX: usize = 10;

fn note_others(imported: &mut ImportedResult, others: &[&str]) {
    let shown = others.iter().take(OTHERS_MAX);
    imported.notes.extend(shown.map(|line| format!("beside its results the file says: {line}")));
    if let Some(more) = others.len().checked_sub(OTHERS_MAX).filter(|more| *more > 0) {
        imported.notes.push(format!("beside its results the file has {more} more lines"));
    }
}

/// Gives several results of one file names by what they say differently of themselves.
fn told_apart(mut all: Vec<ImportedResult>) -> Vec<ImportedResult> {
    if all.len() < 2 {
        return all;
    }
    let mut of_each: Vec<Vec<String>> = all
        .iter()
        .map(|one| {
            let facts = one.facts.iter().map(|(_, value)| value.clone());
            one.part.iter().cloned().chain([one.tool.clone()]).chain(facts).collect()
        })
        .collect();
    for index in 0..all.len() {
        if all[index].part.is_some() {
            continue;
        }
        let words = std::mem::take(&mut of_each[index]);
        let is_own = |word: &&String| !of_each.iter().any(|other| other.contains(word));
        let number = || format!("result {}", index + 1);
        all[index].part = Some(words.iter().find(is_own).cloned().unwrap_or_else(number));
        of_each[index] = words;
    }
    all
}

#[cfg(test)]
mod tests;
