//! bonnie++'s CSV: 27 fields of version 1.03, 48 of 1.96 and 1.97, 50 of 1.98 (written by 2.00).
//! Its tables for people are read by `table.rs`.
//!
//! ```text
//! 1.03   name, size, six (value, %CPU), files, six (value, %CPU)
//! 1.97   version, version, name, concurrency, seed, size, chunk, six (value, %CPU), files, max, min, folders, chunk, six …, twelve latencies
//! 1.98   the same with seeks and seekers after the chunk
//! ```
//!
//! Rates of the first five are KiB/s. Blank fields and plus signs are phases that were left out or
//! too short to say. The latencies are those of the slowest single operation.

mod outcome;
mod table;

use results::Clock;
use words::{Text, statement};

use self::outcome::{Figure, Outcome, PHASES, Setting, is_too_short, seconds};
use self::table::Table;
use super::{ImportedResult, ResultAtLine};
use crate::format::catalogue;

/// Name of the suite.
const SUITE: &str = "bonnie";

/// Takes lines of CSV, and tables.
#[derive(Default)]
pub(super) struct Reader {
    outcomes: Vec<(usize, Outcome)>,
    /// The table that is being read, or that was read last.
    table: Option<(usize, Table)>,
}

impl Reader {
    /// Takes a line if it is bonnie++'s.
    ///
    /// # Errors
    /// A line that is cut off, or a table in which it cannot be told what is whose.
    pub(super) fn take(&mut self, number: usize, line: &str) -> Result<bool, Text> {
        let fields: Vec<&str> =
            line.trim_start_matches('>').trim().split(',').map(str::trim).collect();
        // Versions 2 and 1.9x print a head line first.
        if ["name", "format_version"].contains(&fields[0]) && fields.len() >= 27 {
            return Ok(true);
        }
        if let Some(outcome) = of_fields(&fields) {
            // What stands below a table says the same as the table, with more digits.
            let table = self.table.take().and_then(|(line, table)| Some((line, table.outcome()?)));
            self.outcomes.extend(table.filter(|(_, known)| !known.is_rounded(&outcome)));
            self.outcomes.push((number, outcome));
            return Ok(true);
        }
        let is_cut = fields[0].starts_with("1.9") && fields.len() > 2;
        let values = fields.iter().skip(1).filter(|field| is_value(field)).count();
        if is_cut || (values >= 16 && values + 4 >= fields.len()) {
            return Err(statement!(
                catalogue::BONNIE_FIELDS,
                number = number,
                count = fields.len()
            ));
        }
        if let Some(table) = Table::begun(line) {
            self.end_table();
            self.table = Some((number, table));
            return Ok(true);
        }
        match &mut self.table {
            Some((_, table)) => table.take(number, line),
            None => Ok(false),
        }
    }

    fn end_table(&mut self) {
        let table = self.table.take().and_then(|(line, table)| Some((line, table.outcome()?)));
        self.outcomes.extend(table);
    }

    /// What was read: one for each machine and way of measuring. Runs that agree in machine,
    /// version, sizes and counts are repeats of one measurement; others are not, whatever file they
    /// stand in.
    pub(super) fn found(mut self) -> Vec<ResultAtLine> {
        self.end_table();
        // In the order in which each first comes.
        let mut all: Vec<(Vec<Setting>, ResultAtLine)> = Vec::new();
        for (line, outcome) in self.outcomes {
            let how = outcome.how();
            let index = all.iter().position(|(known, _)| *known == how).unwrap_or_else(|| {
                all.push((how, ResultAtLine { line, imported: empty(&outcome) }));
                all.len() - 1
            });
            let into = &mut all[index].1.imported;
            let run = into.rows.last().map_or(0, |row| row.run) + 1;
            into.rows.extend(outcome.rows(run));
        }
        let names: Vec<Option<String>> = all.iter().map(|(how, _)| name(how, &all)).collect();
        let named = all.into_iter().zip(names).map(|((_, mut found), part)| {
            found.imported.part = part;
            found
        });
        named.collect()
    }
}

/// What tells one way of measuring from the others of the file: its machine, and what differs from
/// others on that machine.
fn name(how: &[Setting], all: &[(Vec<Setting>, ResultAtLine)]) -> Option<String> {
    if all.len() < 2 {
        return None;
    }
    let machine = &how[0].1;
    let of_machine = || all.iter().map(|(other, _)| other).filter(|other| other[0].1 == *machine);
    let mut name = if machine.is_empty() { "no name".to_owned() } else { machine.clone() };
    for (what, value) in &how[1..] {
        let differs = |other: &Vec<Setting>| {
            other.iter().find(|(other, _)| other == what).is_none_or(|(_, other)| other != value)
        };
        if of_machine().any(differs) {
            name += &format!(", {what} {value}");
        }
    }
    Some(name)
}

fn empty(outcome: &Outcome) -> ImportedResult {
    let mut notes = vec![
        "bonnie++ counts what the calls accepted; without -b part of what it wrote was still in \
        memory"
            .to_owned(),
    ];
    notes.extend(table::note(outcome));
    ImportedResult {
        tool: format!("bonnie++ {}", outcome.version),
        suite: SUITE.to_owned(),
        clock: Clock::Wall,
        facts: vec![
            ("machine".to_owned(), outcome.machine.clone()),
            ("size".to_owned(), outcome.size.clone()),
        ],
        part: None,
        rows: Vec::new(),
        notes,
    }
}

/// A value of a phase, or of none that was measured.
fn is_value(field: &str) -> bool {
    field.is_empty() || is_too_short(field) || field.parse::<f64>().is_ok()
}

/// Reads a line of CSV; `None` when it is none, or not whole.
fn of_fields(fields: &[&str]) -> Option<Outcome> {
    let is_modern = fields[0].starts_with("1.9");
    // Where the rates, the rates of files and the latencies stand.
    let (rates, files, latencies) = match fields.len() {
        27 if !is_modern => (2, 15, None),
        48 if is_modern => (7, 24, Some(36)),
        50 if is_modern => (9, 26, Some(38)),
        _ => return None,
    };
    let values = || fields[rates..rates + 12].iter().chain(&fields[files..files + 12]);
    if !values().all(|field| is_value(field)) {
        return None;
    }
    let mut figures = [Figure::default(); 12];
    for (index, figure) in figures.iter_mut().enumerate() {
        let place = if index < 6 { rates + 2 * index } else { files + 2 * (index - 6) };
        let scale = if PHASES[index].2 { 1024.0 } else { 1.0 };
        figure.rate = fields[place].parse::<f64>().ok().map(|rate| rate * scale);
        figure.cpu_ratio = fields[place + 1].parse::<f64>().ok().map(|percent| percent / 100.0);
        figure.longest_seconds = latencies.and_then(|first| seconds(fields[first + index]));
    }
    let text = |index: usize| fields[index].to_owned();
    if !is_modern {
        return Some(Outcome {
            version: "1.03".to_owned(),
            machine: text(0),
            size: text(1),
            settings: vec![("files", text(14))],
            figures,
        });
    }
    let mut settings = vec![("concurrency", text(3)), ("chunk", text(6))];
    if rates == 9 {
        settings.extend([("seeks", text(7)), ("seekers", text(8))]);
    }
    // How many, largest, smallest, folders, chunk.
    let counts = fields[files - 5..files].join(":");
    settings.push(("files", counts.trim_end_matches(':').to_owned()));
    Some(Outcome { version: text(1), machine: text(2), size: text(5), settings, figures })
}
