//! bonnie++'s CSV: 27 fields of version 1.03, 48 of 1.96 and 1.97, 50 of 1.98 (written by 2.00).
//!
//! ```text
//! 1.03   name, size, six (value, %CPU), files, six (value, %CPU)
//! 1.97   version, version, name, concurrency, seed, size, chunk, six (value, %CPU), files, max, min, folders, chunk, six …, twelve latencies
//! 1.98   the same with seeks and seekers after the chunk
//! ```
//!
//! Rates of the first five are KiB/s. Blank fields and plus signs are phases that were left out or
//! too short to say. The latencies are those of the slowest single operation.

use results::{Clock, Group};

use super::{Imported, ImportedRow, LATENCY_MAX, OPERATIONS, THROUGHPUT};

/// Name of the suite.
const SUITE: &str = "bonnie";

/// Our names of the twelve phases in the order of the CSV, their kind of access, and whether they
/// count KiB or operations.
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

/// Reads the lines, one [`Imported`] for each machine and way of measuring; none when not one is a
/// line of bonnie++'s.
///
/// Lines that agree in machine, version, sizes and counts are repeats of one measurement; others
/// are not, whatever file they stand in.
///
/// # Errors
/// A line among them that is none.
pub(super) fn read(text: &str) -> Result<Vec<Imported>, String> {
    // What a line was measured on and how, in the order in which it first comes, and what was read
    // of it.
    let mut found: Vec<(Vec<Said<'_>>, Imported)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.trim().split(',').collect();
        // Versions 2 and 1.9x print a head line first.
        if line.trim().is_empty() || fields[0] == "name" || fields[0] == "format_version" {
            continue;
        }
        let Some(layout) = Layout::of(&fields) else {
            if !found.is_empty() {
                return Err(format!(
                    "line {}: it has {} fields; bonnie++ writes 27, 48 or 50",
                    number + 1,
                    fields.len()
                ));
            }
            continue;
        };
        let said = layout.said(&fields);
        let index = found.iter().position(|(known, _)| *known == said).unwrap_or_else(|| {
            found.push((said, empty(&layout, &fields)));
            found.len() - 1
        });
        let into = &mut found[index].1;
        let run = into.rows.last().map_or(0, |row| row.run) + 1;
        into.rows.extend(rows(&layout, &fields, run));
    }
    let names: Vec<Option<String>> = found.iter().map(|(said, _)| name(said, &found)).collect();
    Ok(found
        .into_iter()
        .zip(names)
        .map(|((_, imported), part)| Imported { part, ..imported })
        .collect())
}

/// Something that a line says of how it was measured: what it is called, and its value.
type Said<'a> = (&'static str, std::borrow::Cow<'a, str>);

/// What tells one way of measuring from the others of the file: its machine, and what differs from
/// others on that machine.
fn name(said: &[Said<'_>], all: &[(Vec<Said<'_>>, Imported)]) -> Option<String> {
    if all.len() < 2 {
        return None;
    }
    let machine = &said[0].1;
    let of_machine = || all.iter().map(|(other, _)| other).filter(|other| other[0].1 == *machine);
    let mut name = if machine.is_empty() { "no name".to_owned() } else { machine.to_string() };
    for (what, value) in &said[1..] {
        let differs = |other: &Vec<Said<'_>>| {
            other.iter().find(|(other, _)| other == what).is_none_or(|(_, other)| other != value)
        };
        if of_machine().any(differs) {
            name += &format!(", {what} {value}");
        }
    }
    Some(name)
}

fn empty(layout: &Layout<'_>, fields: &[&str]) -> Imported {
    Imported {
        tool: format!("bonnie++ {}", layout.version),
        suite: SUITE.to_owned(),
        clock: Clock::Wall,
        facts: vec![
            ("machine".to_owned(), fields[layout.name].to_owned()),
            ("size".to_owned(), fields[layout.name_of_size].to_owned()),
        ],
        part: None,
        rows: Vec::new(),
        notes: vec![
            "bonnie++ counts what the calls accepted; without -b part of what it wrote was \
            still in memory"
                .to_owned(),
        ],
    }
}

fn rows(layout: &Layout<'_>, fields: &[&str], run: u32) -> Vec<ImportedRow> {
    let places = (0..6)
        .map(|index| layout.rates + 2 * index)
        .chain((0..6).map(|index| layout.files + 2 * index));
    let row = |(index, place): (usize, usize)| {
        let (phase, group, in_bytes) = PHASES[index];
        let value = fields[place].trim().parse::<f64>().ok()?;
        let metric = if in_bytes { THROUGHPUT } else { OPERATIONS };
        let mut row = ImportedRow { run, ..ImportedRow::new(phase, group, metric) };
        row.put(metric, if in_bytes { value * 1024.0 } else { value });
        if let Ok(percent) = fields[place + 1].trim().parse::<f64>() {
            row.put("cpu_ratio", percent / 100.0);
        }
        if let Some(latency) = layout.latencies.and_then(|first| seconds(fields[first + index])) {
            row.put(LATENCY_MAX, latency);
        }
        Some(row)
    };
    places.enumerate().filter_map(row).collect()
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
        let modern = |rates: usize| Layout {
            version: fields[1],
            name: 2,
            name_of_size: 5,
            rates,
            files: rates + 17,
            latencies: Some(rates + 29),
        };
        match fields.len() {
            27 => Some(Layout {
                version: "1.03",
                name: 0,
                name_of_size: 1,
                rates: 2,
                files: 15,
                latencies: None,
            }),
            48 if fields[0].starts_with("1.9") => Some(modern(7)),
            50 if fields[0].starts_with("1.9") => Some(modern(9)),
            _ => None,
        }
    }
}

impl Layout<'_> {
    /// All that has to agree in lines that are repeats of each other, the machine first.
    fn said<'a>(&self, fields: &[&'a str]) -> Vec<Said<'a>> {
        let mut said: Vec<Said<'a>> = vec![
            ("machine", fields[self.name].trim().into()),
            ("bonnie++", self.version.to_owned().into()),
            ("size", fields[self.name_of_size].trim().into()),
        ];
        if self.latencies.is_none() {
            said.push(("files", fields[self.files - 1].trim().into()));
            return said;
        }
        said.extend([("concurrency", fields[3].trim().into()), ("chunk", fields[6].trim().into())]);
        if self.rates == 9 {
            said.extend([("seeks", fields[7].trim().into()), ("seekers", fields[8].trim().into())]);
        }
        // How many, largest, smallest, folders, chunk.
        said.push((
            "files",
            fields[self.files - 5..self.files].join(":").trim_end_matches(':').to_owned().into(),
        ));
        said
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
