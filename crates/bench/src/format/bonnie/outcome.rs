//! What one run of bonnie++ came to, whichever way it was printed.

use results::Group;

use crate::format::{ImportedRow, LATENCY_MAX, OPERATIONS, THROUGHPUT};

/// Our names of the twelve phases in the order of the CSV, their kind of access, and whether they
/// count KiB or operations.
pub(super) const PHASES: [(&str, Group, bool); 12] = [
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

/// Something that a line says of how it was measured: what it is called, and its value.
pub(super) type Setting = (&'static str, String);

/// One run of the program, from a line of CSV or from a table.
pub(super) struct Outcome {
    pub(super) version: String,
    pub(super) machine: String,
    pub(super) size: String,
    /// What else has to agree in runs that are repeats of each other.
    pub(super) settings: Vec<Setting>,
    pub(super) figures: [Figure; 12],
}

/// What a phase came to, in base units.
#[derive(Clone, Copy, Default)]
pub(super) struct Figure {
    /// Bytes or operations per second.
    pub(super) rate: Option<f64>,
    pub(super) cpu_ratio: Option<f64>,
    pub(super) longest_seconds: Option<f64>,
}

impl Outcome {
    /// All that has to agree in runs that are repeats of each other, the machine first.
    pub(super) fn how(&self) -> Vec<Setting> {
        let own = [
            ("machine", self.machine.clone()),
            ("bonnie++", self.version.clone()),
            ("size", self.size.clone()),
        ];
        own.into_iter().chain(self.settings.iter().cloned()).collect()
    }

    /// Whether this says what another one says, with fewer digits.
    pub(super) fn is_rounded(&self, other: &Outcome) -> bool {
        let near = |(own, other): (&Figure, &Figure)| match (own.rate, other.rate) {
            (Some(own), Some(other)) => (own / other - 1.0).abs() < 0.02,
            (own, _) => own.is_none(),
        };
        self.machine == other.machine && self.figures.iter().zip(&other.figures).all(near)
    }

    pub(super) fn rows(&self, run: u32) -> impl Iterator<Item = ImportedRow> {
        PHASES.into_iter().zip(self.figures).filter_map(
            move |((phase, group, in_bytes), figure)| {
                let metric = if in_bytes { THROUGHPUT } else { OPERATIONS };
                let mut row = ImportedRow { run, ..ImportedRow::new(phase, group, metric) };
                row.put(metric, figure.rate?);
                figure.cpu_ratio.into_iter().for_each(|ratio| row.put("cpu_ratio", ratio));
                figure.longest_seconds.into_iter().for_each(|time| row.put(LATENCY_MAX, time));
                Some(row)
            },
        )
    }
}

/// Plus signs: the phase was too short to say.
pub(super) fn is_too_short(field: &str) -> bool {
    !field.is_empty() && field.bytes().all(|byte| byte == b'+')
}

/// `45us`, `120ms`, `3s`.
pub(super) fn seconds(text: &str) -> Option<f64> {
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
