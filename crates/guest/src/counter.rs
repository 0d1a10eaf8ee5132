//! Programs that read the processor's own counter. It runs in real time, whatever the guest's clock
//! says: figures that a program takes from it are not modelled.
//!
//! A processor can be told to forbid the instruction, but then no program starts at all, for the
//! dynamic linker reads the counter too (and throws away what it read). So the program's file is
//! looked at: for the instruction, and close behind it the shift with which a compiler makes one
//! number of the two halves that it gives.

use std::fmt;
use std::path::{Path, PathBuf};

use words::say;

use crate::catalogue;

/// `rdtsc`.
const READ: [u8; 2] = [0x0f, 0x31];
/// `rdtscp`.
const READ_IN_ORDER: [u8; 3] = [0x0f, 0x01, 0xf9];
/// `shl $32, %rdx`.
const SHIFT: [u8; 4] = [0x48, 0xc1, 0xe2, 0x20];
/// How far behind the instruction the shift is looked for, in bytes.
const NEAR: usize = 24;
/// Programs that read the counter unless they are told not to, and how they are told.
const TOLD: [(&str, &str); 1] = [("fio", "--clocksource=clock_gettime")];

/// Whether the code in these bytes reads the counter.
#[must_use]
pub fn is_read_in(bytes: &[u8]) -> bool {
    let shifts = |from: usize| {
        bytes[from..bytes.len().min(from + NEAR)].windows(SHIFT.len()).any(|it| it == SHIFT)
    };
    let reads = |instruction: &[u8]| {
        let found = bytes.windows(instruction.len()).enumerate();
        found.filter(|(_, it)| *it == instruction).any(|(at, _)| shifts(at + instruction.len()))
    };
    bytes.starts_with(b"\x7fELF") && (reads(&READ) || reads(&READ_IN_ORDER))
}

/// A program of a command that reads the processor's counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterReader {
    /// As the command names it.
    pub program: String,
    /// The option with which it would leave the counter alone, where there is one.
    pub remedy: Option<&'static str>,
}

impl fmt::Display for CounterReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = &self.program;
        f.write_str(&say!(catalogue::READS_COUNTER, program = program))?;
        let give = |remedy| f.write_str(&say!(catalogue::GIVE_IT, remedy = remedy));
        self.remedy.map_or(Ok(()), give)
    }
}

/// The programs in a command for the shell that read the counter, and were not told to leave it
/// alone. Programs are looked for in `PATH`.
#[must_use]
pub fn readers(command: &str) -> Vec<CounterReader> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    readers_in(command, &std::env::split_paths(&path).collect::<Vec<_>>())
}

fn readers_in(command: &str, folders: &[PathBuf]) -> Vec<CounterReader> {
    let is_separator = |letter: char| letter.is_whitespace() || ";&|(){}'\"`<>$".contains(letter);
    let mut readers = Vec::new();
    let mut seen = Vec::new();
    for word in command.split(is_separator).filter(|word| !word.is_empty()) {
        if seen.contains(&word) {
            continue;
        }
        seen.push(word);
        let told = TOLD.iter().find(|(name, _)| Path::new(word).ends_with(name));
        if told.is_some_and(|(_, how)| command.contains(how)) {
            continue;
        }
        let paths: Vec<PathBuf> = match word.contains('/') {
            true => vec![word.into()],
            false => folders.iter().map(|folder| folder.join(word)).collect(),
        };
        let Some(program) = paths.iter().find(|path| path.is_file()) else { continue };
        if std::fs::read(program).is_ok_and(|bytes| is_read_in(&bytes)) {
            let remedy = told.map(|(_, how)| *how);
            readers.push(CounterReader { program: word.to_owned(), remedy });
        }
    }
    readers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_found_where_it_becomes_a_number() {
        let program = |code: &[u8]| [b"\x7fELF", code].concat();
        let halves = [0x89, 0xc0];
        assert!(is_read_in(&program(&[&READ[..], &halves, &SHIFT].concat())));
        assert!(is_read_in(&program(&[&READ_IN_ORDER[..], &SHIFT].concat())));
        // The same bytes by chance, or in what is no program.
        assert!(!is_read_in(&program(&[&READ[..], &[0; NEAR], &SHIFT].concat())));
        assert!(!is_read_in(&[&READ[..], &SHIFT].concat()));
        assert!(!is_read_in(b"\x7fELF\x0f"));
    }

    #[test]
    fn a_command_is_flagged_for_the_programs_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, code: &[u8]| {
            std::fs::write(folder.path().join(name), [b"\x7fELF", code].concat()).unwrap();
        };
        put("fio", &[&READ[..], &SHIFT].concat());
        put("timer", &[&READ_IN_ORDER[..], &SHIFT].concat());
        put("copy", &[]);
        let folders = [folder.path().to_owned()];
        let flagged = |command: &str| readers_in(command, &folders);
        assert_eq!(flagged("copy a b; nothing here"), []);
        assert_eq!(flagged("fio --clocksource=clock_gettime --name=a"), []);
        let found = flagged("cd x && (timer 3; timer 4)|fio --name=a");
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].program.as_str(), found[0].remedy), ("timer", None));
        assert_eq!(found[1].remedy, Some("--clocksource=clock_gettime"));
        let path = folder.path().join("timer");
        assert_eq!(flagged(&format!("'{}' 3", path.display())).len(), 1);
    }
}
