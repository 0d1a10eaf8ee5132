//! bonnie++'s tables for people, of versions 1.02 to 2.00, without the line of CSV that it prints
//! with them.
//!
//! ```text
//! Version 1.03e       ------Sequential Output------ --Sequential Input- --Random-
//!                     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
//! Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
//! box             16G 50000  90 60000  20 40000  10 48000  88 70000  12 250.5   1
//! Latency             16000us    4069us ...                      from 1.9x on
//!                     ------Sequential Create------ --------Random Create--------
//!                     -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
//!               files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
//!                  16  5000  60 +++++ +++  9000  50  5100  61 +++++ +++  3000  20
//! ```
//!
//! Version 2.00 writes units behind its rates (`530k`, `45.3m`), and in the table of files their
//! number where the rate belongs.

use words::{Text, statement};

use super::outcome::{Figure, Outcome, PHASES, is_too_short, seconds};
use crate::format::catalogue;

/// A table as far as it was read.
pub(super) struct Table {
    version: String,
    machine: String,
    size: String,
    concurrency: Option<String>,
    files: Option<String>,
    figures: [Figure; 12],
    /// Of which half the next line of figures is.
    next: Half,
    /// Whether the figures of each half were there.
    has: [bool; 2],
}

/// Six of the twelve phases.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Data,
    Files,
}

impl Table {
    /// A line that begins one.
    pub(super) fn begun(line: &str) -> Option<Table> {
        let rest = unquoted(line).strip_prefix("Version")?;
        let version = rest.split_whitespace().next()?;
        rest.contains("Sequential Output").then(|| Table {
            version: version.to_owned(),
            machine: String::new(),
            size: String::new(),
            concurrency: None,
            files: None,
            figures: [Figure::default(); 12],
            next: Half::Data,
            has: [false; 2],
        })
    }

    /// Takes a line if it belongs to the table.
    ///
    /// # Errors
    /// A line of figures of which it cannot be told which phases they are of.
    pub(super) fn take(&mut self, number: usize, line: &str) -> Result<bool, Text> {
        let line = unquoted(line);
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.contains("Sequential Create-") || line.contains("-Create--") {
            self.next = Half::Files;
            return Ok(true);
        }
        if line.contains("-Per Chr-") {
            let said =
                line.strip_prefix("Concurrency").and_then(|rest| rest.split_whitespace().next());
            self.concurrency = said.map(str::to_owned);
            return Ok(true);
        }
        if line.contains("/sec %CP") {
            return Ok(true);
        }
        if words.first() == Some(&"Latency") && self.has[self.next as usize] {
            self.latencies(&words[1..]);
            return Ok(true);
        }
        if self.has[self.next as usize] {
            return Ok(false);
        }
        let named = if self.next == Half::Data { 2 } else { 1 };
        let figures = words.iter().rev().take_while(|word| is_figure(word)).count();
        // The number of files, and a size without a unit, look like figures.
        let figures = figures.min(words.len().saturating_sub(named));
        if figures < 6 {
            return Ok(false);
        }
        if ![8, 12].contains(&figures) || words.len() != named + figures {
            return Err(statement!(catalogue::BONNIE_TABLE, number = number));
        }
        self.figures(&words, named);
        Ok(true)
    }

    fn figures(&mut self, words: &[&str], named: usize) {
        let first = match self.next {
            Half::Data => {
                (self.machine, self.size) = (words[0].to_owned(), words[1].to_owned());
                0
            }
            Half::Files => {
                self.files = Some(words[0].to_owned());
                6
            }
        };
        self.has[self.next as usize] = true;
        let pairs = words[named..].chunks(2);
        for (phase, pair) in phases(words.len() - named == 8, first).into_iter().zip(pairs) {
            let figure = &mut self.figures[phase];
            figure.cpu_ratio = pair[1].parse::<f64>().ok().map(|percent| percent / 100.0);
            let counts_files = phase >= 6 && has_units(&self.version);
            figure.rate = rate(pair[0], PHASES[phase].2).filter(|_| !counts_files);
        }
    }

    fn latencies(&mut self, words: &[&str]) {
        let first = if self.next == Half::Data { 0 } else { 6 };
        for (phase, word) in phases(words.len() < 6, first).into_iter().zip(words) {
            self.figures[phase].longest_seconds = seconds(word);
        }
    }

    /// What the table says, if it has figures.
    pub(super) fn outcome(self) -> Option<Outcome> {
        let settings = [("concurrency", self.concurrency), ("files", self.files)];
        let settings = settings.into_iter().filter_map(|(what, value)| Some((what, value?)));
        (self.has != [false; 2]).then(|| Outcome {
            version: self.version,
            machine: self.machine,
            size: self.size,
            settings: settings.collect(),
            figures: self.figures,
        })
    }
}

/// What the reader has to know of a table: what is left out of it.
pub(super) fn note(outcome: &Outcome) -> Option<String> {
    let is_left_out = |figure: &Figure| figure.rate.is_none() && figure.cpu_ratio.is_some();
    let has_left_out = outcome.figures[6..].iter().any(is_left_out);
    (has_left_out && has_units(&outcome.version)).then(|| {
        "the table of bonnie++ 2.00 shows the number of files where their rate belongs: those \
        phases were left out"
            .to_owned()
    })
}

fn unquoted(line: &str) -> &str {
    line.trim_start_matches(['>', ' ', '\t']).trim_end()
}

/// The phases whose figures stand in a line, from `first` on. With -f there are none by
/// characters, and nothing stands in their place.
fn phases(without_characters: bool, first: usize) -> Vec<usize> {
    let is_there = |phase: &usize| !without_characters || ![0, 3].contains(phase);
    (first..first + 6).filter(is_there).collect()
}

/// Version 2 writes units behind its rates.
fn has_units(version: &str) -> bool {
    version.starts_with('2')
}

fn is_figure(word: &str) -> bool {
    is_too_short(word) || rate(word, true).is_some()
}

/// A rate in bytes or operations per second: KiB where no unit stands behind it.
fn rate(word: &str, in_bytes: bool) -> Option<f64> {
    let (number, thousands) = match word.as_bytes().last()? {
        b'k' => (&word[..word.len() - 1], 1),
        b'm' => (&word[..word.len() - 1], 2),
        b'g' => (&word[..word.len() - 1], 3),
        _ => (word, i32::from(in_bytes)),
    };
    let number: f64 = number.parse().ok()?;
    Some(number * if in_bytes { 1024_f64 } else { 1000.0 }.powi(thousands))
}
