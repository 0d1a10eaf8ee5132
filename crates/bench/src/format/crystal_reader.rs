//! Reads CrystalDiskMark's text of versions 2 to 9, KDiskMark's, and ours in their form, as they
//! were saved or as people post them: in a fence, quoted, with the blanks gone.
//!
//! ```text
//! 2, 3:           Sequential Read :    46.012 MB/s
//!          Random Read 4KB (QD=1) :     0.487 MB/s [   118.8 IOPS]
//! 4 to 6:  Sequential Read (Q= 32,T= 1) :   120.825 MB/s                       blocks of 128 KiB
//!                Sequential Read (T= 1) :   160.513 MB/s                       blocks of 1 MiB
//! 7:       Sequential 1MiB (Q=  8, T= 1):  3500.123 MB/s [   3338.0 IOPS] <  2390.11 us>
//! 8, 9:      SEQ  128KiB (Q= 32, T= 1):  7429.732 MB/s [  56684.4 IOPS] <   546.67 us>
//! K:       Sequential   1 MiB (Q=  8, T= 1):    50.851 MB/s [     49.7 IOPS] <158255.28 us>
//! ```
//!
//! From 7 on the way stands above the rows: `[Read]`, `[Write]`, `[Mix] Read 70%/Write 30%`.
//! MB/s are 1,000,000 bytes/s. KDiskMark divides KiB/s by 1000 and calls that MB/s as well, 2.3 %
//! too low; reading puts that right where the requests per second show it.

use results::{Clock, Doubt, Group};
use words::{Text, statement};

use super::{
    ImportedResult, ImportedRow, LATENCY_MEAN, OPERATIONS, ResultAtLine, THROUGHPUT, crystal,
};
use crate::format::catalogue;
use crate::suite::crystal::{AccessKind, NAME};

/// What stands below the rows, by its name.
const FACTS: [&str; 8] = ["Test", "Test Size", "Date", "OS", "Profile", "Time", "Mode", "Comment"];
const COMMENT: &str = "Comment";
/// The tool where the text does not say it.
const TOOL: &str = "CrystalDiskMark";
const OTHER_TOOL: &str = "KDiskMark";
/// What marks of Markdown, and of those who quote, stand before a line.
const MARKS: [char; 6] = [' ', '\t', '>', '|', '*', '\u{a0}'];

/// Takes the lines that are of such a text, result by result.
#[derive(Default)]
pub(super) struct Reader {
    /// The line above, where it was none of those that are known.
    above: String,
    sections: Vec<Section>,
}

/// One result: what a head line, rows and facts say.
struct Section {
    line: usize,
    tool: Option<String>,
    way: Option<AccessKind>,
    /// The ways of which a head stood above rows.
    ways: Vec<AccessKind>,
    /// Names of all rows, those that were not measured too.
    named: Vec<String>,
    rows: Vec<ImportedRow>,
    facts: Vec<(String, String)>,
    /// Lines of the audit: a code, and the rows that it is of.
    findings: Vec<(String, Vec<String>)>,
    /// Whether the line above was the last that stands before the comment.
    comment_is_next: bool,
}

impl Section {
    fn new(line: usize, tool: Option<String>) -> Section {
        Section {
            line,
            tool,
            way: None,
            ways: Vec::new(),
            named: Vec::new(),
            rows: Vec::new(),
            facts: Vec::new(),
            findings: Vec::new(),
            comment_is_next: false,
        }
    }
}

impl Reader {
    /// Takes a line if it belongs to such a text.
    ///
    /// # Errors
    /// A row that is none of those known.
    pub(super) fn take(&mut self, number: usize, line: &str) -> Result<bool, Text> {
        let words = line.trim_start_matches(MARKS).trim();
        let comment_is_next =
            self.sections.last_mut().is_some_and(|last| std::mem::take(&mut last.comment_is_next));
        let is_ours = words.starts_with(crystal::FORMAT_OF);
        if is_ours || words.contains(TOOL) || words.contains(OTHER_TOOL) {
            // Of ours the name stands in the line above.
            let above = std::mem::take(&mut self.above);
            self.head(number, if is_ours && !above.is_empty() { &above } else { words });
            return Ok(true);
        }
        if let Some(way) = head_of_rows(words) {
            self.rows_of(number, way);
            return Ok(true);
        }
        if is_row(words) {
            let way = self.sections.last().and_then(|section| section.way);
            let (name, row) = read_row(words, way).ok_or_else(|| {
                statement!(catalogue::NO_KNOWN_ROW, number = number, words = words)
            })?;
            self.row(number, name, row);
            return Ok(true);
        }
        self.above.clear();
        self.above.push_str(words);
        let Some(section) = self.sections.last_mut().filter(|last| !last.named.is_empty()) else {
            return Ok(false);
        };
        let fact = words.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        let finding =
            fact.filter(|(name, _)| *name == crystal::AUDIT).and_then(|(_, is)| is.split_once(':'));
        if let Some((code, rows)) = finding {
            let rows = rows.split(',').map(|row| row.trim().to_owned()).collect();
            section.findings.push((code.trim().to_owned(), rows));
            return Ok(true);
        }
        if let Some((name, value)) = fact.filter(|(name, _)| FACTS.contains(name)) {
            let is_known = section.facts.iter().any(|(known, _)| known == name);
            if !is_known && !value.is_empty() {
                let words: Vec<&str> = value.split_whitespace().collect();
                section.facts.push((name.to_owned(), words.join(" ")));
            }
            section.comment_is_next = name == "OS";
            return Ok(true);
        }
        let is_words = !words.is_empty() && !words.starts_with(['`', '-', '[', '<']);
        if comment_is_next && is_words {
            section.facts.push((COMMENT.to_owned(), words.to_owned()));
            return Ok(true);
        }
        Ok(false)
    }

    /// A line that names the tool: above its rows it is the head, below them another result begins.
    fn head(&mut self, number: usize, words: &str) {
        let name = words.split("(C)").next().unwrap_or(words);
        let name = name.split(": http").next().unwrap_or(name).trim().to_owned();
        match self.sections.last_mut() {
            Some(section) if section.named.is_empty() => {
                // Of a sentence and a head line the one with the version.
                let has_version = |text: &String| text.contains(|c: char| c.is_ascii_digit());
                if has_version(&name) || !section.tool.as_ref().is_some_and(has_version) {
                    section.tool = Some(name);
                }
            }
            _ => self.sections.push(Section::new(number, Some(name))),
        }
    }

    /// A line that says which way the rows below it go: the same way twice is another result.
    fn rows_of(&mut self, number: usize, way: AccessKind) {
        if self.sections.last().is_none_or(|last| last.ways.contains(&way)) {
            self.next(number);
        }
        if let Some(section) = self.sections.last_mut() {
            section.way = Some(way);
            section.ways.push(way);
            if let AccessKind::Mix { read_percent } = way {
                section.facts.push(("Mix".to_owned(), format!("Read {read_percent}%")));
            }
        }
    }

    /// A row: one that is there already belongs to another result.
    fn row(&mut self, number: usize, name: String, row: Option<ImportedRow>) {
        if self.sections.last().is_none_or(|last| last.named.contains(&name)) {
            self.next(number);
        }
        if let Some(section) = self.sections.last_mut() {
            section.named.push(name);
            section.rows.extend(row);
        }
    }

    /// Another result of the same tool, without a head of its own.
    fn next(&mut self, number: usize) {
        let last = self.sections.last();
        let (tool, way) = last.map_or((None, None), |last| (last.tool.clone(), last.way));
        self.sections.push(Section { way, ..Section::new(number, tool) });
    }

    /// What was read.
    pub(super) fn found(self) -> impl Iterator<Item = ResultAtLine> {
        let with_rows = self.sections.into_iter().filter(|section| !section.named.is_empty());
        with_rows.map(|section| ResultAtLine { line: section.line, imported: imported(section) })
    }
}

fn imported(section: Section) -> ImportedResult {
    let tool = section.tool.unwrap_or_else(|| TOOL.to_owned());
    let mut rows = section.rows;
    let note = if tool.contains(OTHER_TOOL) && counts_kib(&rows) {
        for row in &mut rows {
            row.metrics.entry(THROUGHPUT.to_owned()).and_modify(|rate| *rate *= 1.024);
        }
        "KDiskMark's MB/s are 1,024,000 bytes/s: its figures were multiplied by 1.024"
    } else {
        "each figure is the best of its runs, as the tool prints it; how far they lay apart is not \
        known"
    };
    let mut notes = vec![note.to_owned()];
    for (code, of) in section.findings {
        let Some(finding) = Doubt::of_audit(&code) else {
            notes.push(format!("`{code}` is no finding of the audit that is known"));
            continue;
        };
        for row in rows.iter_mut().filter(|row| of.contains(&row.phase)) {
            row.findings.push(finding.clone());
        }
    }
    ImportedResult {
        tool,
        suite: NAME.to_owned(),
        clock: Clock::Wall,
        facts: section.facts,
        part: None,
        rows,
        notes,
    }
}

/// Whether the rates are KiB/s by 1000: by what the requests of each second come to. Where no row
/// says how many there were, they are, as in every version that is known.
fn counts_kib(rows: &[ImportedRow]) -> bool {
    let (mut as_kib, mut as_bytes) = (0.0, 0.0);
    for row in rows {
        let size = row.phase.split(' ').next().and_then(request_bytes);
        let figures = (size, row.metrics.get(OPERATIONS), row.metrics.get(THROUGHPUT));
        if let (Some(bytes), Some(operations), Some(rate)) = figures {
            let moved = bytes * operations;
            as_kib += (1.024 * rate / moved - 1.0).abs();
            as_bytes += (rate / moved - 1.0).abs();
        }
    }
    as_kib <= as_bytes
}

/// Bytes of a request by the name of its row, `SEQ1M`, `RND4K`.
fn request_bytes(name: &str) -> Option<f64> {
    let size = name.get(3..)?;
    let (number, unit) = size.split_at(size.len().checked_sub(1)?);
    let number: f64 = number.parse().ok()?;
    Some(number * if unit == "M" { 1_048_576.0 } else { 1024.0 })
}

fn head_of_rows(words: &str) -> Option<AccessKind> {
    match words {
        "[Read]" => return Some(AccessKind::Read),
        "[Write]" => return Some(AccessKind::Write),
        _ => {}
    }
    let share = words.strip_prefix("[Mix]")?.trim().strip_prefix("Read");
    let read_percent = share.and_then(|share| share.split('%').next()?.trim().parse().ok());
    Some(AccessKind::Mix { read_percent: read_percent.unwrap_or(70) })
}

/// Whether a line looks like a row, known or not.
fn is_row(words: &str) -> bool {
    let Some((name, figures)) = words.rsplit_once(':') else { return false };
    let begins =
        ["Sequential ", "Random ", "SEQ", "RND"].iter().any(|order| name.starts_with(order));
    let is_named = begins || name.contains("(Q=") || name.contains("(QD=");
    is_named && before(figures, "MB/s").is_some()
}

/// The name of a row of any version, and its figures, if it was measured.
fn read_row(line: &str, above: Option<AccessKind>) -> Option<(String, Option<ImportedRow>)> {
    let (name, figures) = line.rsplit_once(':')?;
    let rate = before(figures, "MB/s")?;
    let (access, way) = read_name(name.trim(), above)?;
    let group = match (way, access.order) {
        (AccessKind::Mix { .. }, _) => Group::Mixed,
        (_, "SEQ") => Group::Sequential,
        _ => Group::Random,
    };
    let Access { order, size, queues, threads } = access;
    let name = format!("{order}{size} Q{queues}T{threads} {way}");
    if rate == 0.0 {
        return Some((name, None));
    }
    let mut row = ImportedRow::new(name.clone(), group, THROUGHPUT);
    row.put(THROUGHPUT, rate * 1e6);
    if let Some(operations) = before(figures, "IOPS") {
        row.put(OPERATIONS, operations);
    }
    if let Some(latency) = before(figures, "us>").filter(|latency| *latency > 0.0) {
        row.put(LATENCY_MEAN, latency * 1e-6);
    }
    Some((name, Some(row)))
}

/// The number that stands before a unit.
fn before(text: &str, unit: &str) -> Option<f64> {
    let text = text.split_once(unit)?.0.trim_end();
    let start = text
        .rfind(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
        .map_or(0, |index| index + 1);
    text.get(start..)?.parse().ok()
}

/// What the name of a row says of its requests.
struct Access {
    order: &'static str,
    size: String,
    queues: u32,
    threads: u32,
}

fn read_name(name: &str, above: Option<AccessKind>) -> Option<(Access, AccessKind)> {
    let (what, how) = name.split_once('(').unwrap_or((name, ""));
    let order = match what.split_whitespace().next()? {
        word if word == "Sequential" || word.starts_with("SEQ") => "SEQ",
        word if word == "Random" || word.starts_with("RND") => "RND",
        _ => return None,
    };
    let way = match what.split_whitespace().nth(1) {
        // Until version 6 each line says which way it goes.
        Some("Read") => Some(AccessKind::Read),
        Some("Write") => Some(AccessKind::Write),
        _ => above,
    };
    let number = |key: &str| -> Option<Option<u32>> {
        let Some((_, rest)) = how.split_once(key) else { return Some(None) };
        let digits = rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok().map(Some)
    };
    let depth = number("QD=")?;
    let queues = if depth.is_some() { depth } else { number("Q=")? };
    let size = match size_of(what) {
        Some(size) => size,
        // Version 4 to 6 have blocks of 128 KiB where the queue is deep, and all of 1 MiB else.
        None if order == "SEQ" && queues.is_some() => "128K".to_owned(),
        None if order == "SEQ" => "1M".to_owned(),
        None => return None,
    };
    let threads = number("T=")?.unwrap_or(1);
    Some((Access { order, size, queues: queues.unwrap_or(1), threads }, way?))
}

/// `512KB`, `4KiB`, `1 MiB` in the name of a row as `512K`, `4K`, `1M`.
fn size_of(what: &str) -> Option<String> {
    let start = what.find(|c: char| c.is_ascii_digit())?;
    let digits = what[start..].find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = what[start..].split_at(digits);
    let unit = match unit.trim_start().chars().next()? {
        'M' => 'M',
        'K' => 'K',
        _ => return None,
    };
    Some(format!("{number}{unit}"))
}
