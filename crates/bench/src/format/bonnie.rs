//! bonnie++'s CSV: 27 fields of version 1.03, 48 of 1.96 and 1.97, 50 of 1.98 (written by 2.00).
//!
//! ```text
//! 1.03   name, size, six (value, %CPU), files, six (value, %CPU)
//! 1.97   version, version, name, concurrency, seed, size, chunk, six (value, %CPU), files, max, min, folders, chunk, six …, twelve latencies
//! 1.98   the same with seeks and seekers after the chunk
//! ```
//!
//! Rates of the first five are KiB/s. Blank fields and plus signs are phases that were left out or too short to say. The
//! latencies are those of the slowest single operation.

use results::{Clock, Group};

use super::{Imported, ImportedRow, LATENCY_MAX, OPERATIONS, THROUGHPUT};

/// Name of the suite.
const SUITE: &str = "bonnie";

/// Our names of the twelve phases in the order of the CSV, their kind of access, and whether they count KiB or operations.
const PHASES: [(&str, Group, bool); 12] = [
    ("character write", Group::Sequential, true),
    ("block write", Group::Sequential, true),
    ("rewrite", Group::Sequential, true),
    ("character read", Group::Sequential, true),
    ("block read", Group::Sequential, true),
    ("seeks", Group::Random, false),
    ("sequential create", Group::Files, false),
    ("sequential stat", Group::Files, false),
    ("sequential delete", Group::Files, false),
    ("random create", Group::Files, false),
    ("random stat", Group::Files, false),
    ("random delete", Group::Files, false),
];

/// Reads the lines; `None` when not one is a line of bonnie++'s.
///
/// # Errors
/// A line among them that is none.
pub(super) fn read(text: &str) -> Result<Option<Imported>, String> {
    let mut imported: Option<Imported> = None;
    let mut run = 0;
    for (number, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.trim().split(',').collect();
        // Versions 2 and 1.9x print a head line first.
        if line.trim().is_empty() || fields[0] == "name" || fields[0] == "format_version" {
            continue;
        }
        let Some(layout) = Layout::of(&fields) else {
            if imported.is_some() {
                return Err(format!("line {}: it has {} fields; bonnie++ writes 27, 48 or 50", number + 1, fields.len()));
            }
            continue;
        };
        run += 1;
        let into = imported.get_or_insert_with(|| Imported {
            tool: format!("bonnie++ {}", layout.version),
            suite: SUITE.to_owned(),
            clock: Clock::Wall,
            facts: vec![
                ("machine".to_owned(), fields[layout.name].to_owned()),
                ("size".to_owned(), fields[layout.name_of_size].to_owned()),
            ],
            rows: Vec::new(),
            notes: Vec::new(),
        });
        let places = (0..6).map(|index| layout.rates + 2 * index).chain((0..6).map(|index| layout.files + 2 * index));
        for (index, place) in places.enumerate() {
            let (phase, group, in_bytes) = PHASES[index];
            let Ok(value) = fields[place].trim().parse::<f64>() else { continue };
            let metric = if in_bytes { THROUGHPUT } else { OPERATIONS };
            let mut row = ImportedRow { run, ..ImportedRow::new(phase, group, metric) };
            row.put(metric, if in_bytes { value * 1024.0 } else { value });
            if let Ok(percent) = fields[place + 1].trim().parse::<f64>() {
                row.put("cpu_ratio", percent / 100.0);
            }
            if let Some(latency) = layout.latencies.and_then(|first| seconds(fields[first + index])) {
                row.put(LATENCY_MAX, latency);
            }
            into.rows.push(row);
        }
    }
    if let Some(imported) = &mut imported {
        imported.notes.push("bonnie++ counts what the calls accepted; without -b part of what it wrote was still in memory".to_owned());
    }
    Ok(imported)
}

/// Where things stand in a line.
struct Layout<'a> {
    version: &'a str,
    name: usize,
    name_of_size: usize,
    rates: usize,
    files: usize,
    latencies: Option<usize>,
}

impl<'a> Layout<'a> {
    fn of(fields: &[&'a str]) -> Option<Layout<'a>> {
        let modern =
            |rates: usize| Layout { version: fields[1], name: 2, name_of_size: 5, rates, files: rates + 17, latencies: Some(rates + 29) };
        match fields.len() {
            27 => Some(Layout { version: "1.03", name: 0, name_of_size: 1, rates: 2, files: 15, latencies: None }),
            48 if fields[0].starts_with("1.9") => Some(modern(7)),
            50 if fields[0].starts_with("1.9") => Some(modern(9)),
            _ => None,
        }
    }
}

/// `45us`, `120ms`, `3s`.
fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|letter: char| letter.is_ascii_alphabetic())?);
    let scale = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * scale)
}
