//! Results of other tools, read and written: old runs sit beside new ones, and new ones go where
//! old ones went.
//!
//! ```text
//!   CrystalDiskMark text, KDiskMark text, fio's JSON, bonnie++ CSV, our own JSON ──> import ──> Imported
//!   rows of the suite crystal ──> CrystalDiskMark's text, fio's JSON
//! ```
//!
//! Units of the originals become base units, and rows get the names that our own suites give them,
//! so that the same workload is found again. What a tool prints wrongly is put right here, with a
//! note.

pub mod bonnie;
pub mod crystal;
pub mod fio;
mod own;

use std::collections::BTreeMap;

use results::{Better, Clock, Group};

/// What was read of one configuration: a file holds one, or several where it says so itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
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
    /// Which run it is, from 1.
    pub run: u32,
    /// Kind of access.
    pub group: Group,
    /// The metric that verdicts are about.
    pub metric: std::borrow::Cow<'static, str>,
    /// Which direction of it is better.
    pub better: Better,
    /// Metric name to figure, in base units.
    pub metrics: BTreeMap<String, f64>,
}

const THROUGHPUT: &str = "throughput_bytes_per_second";
const OPERATIONS: &str = "io_per_second";
const LATENCY_MEAN: &str = "latency_mean_seconds";
const LATENCY_MAX: &str = "latency_max_seconds";

impl ImportedRow {
    fn new(phase: impl Into<String>, group: Group, metric: &'static str) -> ImportedRow {
        ImportedRow {
            phase: phase.into(),
            run: 1,
            group,
            metric: metric.into(),
            better: Better::Higher,
            metrics: BTreeMap::new(),
        }
    }

    fn put(&mut self, name: &str, figure: f64) {
        self.metrics.insert(name.to_owned(), figure);
    }
}

/// Reads a result file of any tool that is known: one configuration, or one for each machine of a
/// bonnie++ CSV.
///
/// # Errors
/// One line: which formats there are, or what is wrong with the file and where.
pub fn import(text: &str) -> Result<Vec<Imported>, String> {
    // Saved on Windows: a byte order mark, and both ends of a line.
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let imported = if let Some(document) = json(&text) {
        vec![document?]
    } else if text.contains(" MB/s")
        && (text.contains("CrystalDiskMark") || text.contains("KDiskMark"))
    {
        vec![crystal::read(&text)?]
    } else {
        bonnie::read(&text)?
    };
    if imported.is_empty() {
        let known = "bonnie++ CSV (1.03, 1.97, 2.00), CrystalDiskMark text (3 to 9), KDiskMark \
            text, fio JSON, and raidloom bench --json";
        return Err(format!("none of the formats that are known: {known}"));
    }
    if imported.iter().all(|imported| imported.rows.is_empty()) {
        Err("there is no figure in it".to_owned())
    } else {
        Ok(imported)
    }
}

/// The first JSON document in a text whose lines before it do not belong to it: fio prints notes
/// and warnings where it prints its results, before and after them. `None` when no line begins one.
fn json(text: &str) -> Option<Result<Imported, String>> {
    let mut start = 0;
    while !text[start..].trim_start_matches([' ', '\t']).starts_with('{') {
        start += text[start..].find('\n')? + 1;
    }
    let (before, document) = text.split_at(start);
    let mut values = serde_json::Deserializer::from_str(document).into_iter::<serde_json::Value>();
    let value = match values.next()? {
        Ok(value) => value,
        Err(error) => {
            return Some(Err(format!(
                "line {}: no JSON: {error}",
                before.matches('\n').count() + error.line()
            )));
        }
    };
    let after = &document[values.byte_offset()..];
    let read = if value.get("jobs").is_some() { fio::read(&value) } else { own::read(&value) };
    Some(read.map(|mut imported| {
        let said =
            before.lines().chain(after.lines()).map(str::trim).filter(|line| !line.is_empty());
        imported.notes.extend(said.map(|line| format!("beside its results the file says: {line}")));
        imported
    }))
}

#[cfg(test)]
mod tests;
