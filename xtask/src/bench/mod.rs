//! `cargo xtask bench`: speed against fio and against itself, measured side by side in one run.
//!
//! Every measured load runs in a child process of its own (`xtask/probe` for raidloom, `fio` for
//! fio), the two sides take turns, and who goes first changes from round to round. A table shows
//! medians with the smallest and the largest round, what was aimed at, and what holds a missed aim
//! back. Nothing is pinned, and nothing is dropped between rounds.

mod aa;
mod against;
mod attach;
mod cache;
mod child;
mod demo;
mod encryption;
mod fio;
mod growth;
mod host;
mod md;
mod nbd;
mod nbd_leaf;
mod parity;
mod probe;
mod report;
mod suites;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use table::Section;

use crate::build_folder::target_folder;

/// How much to measure.
pub(crate) struct Effort {
    /// Rounds, each with every side once.
    rounds: u32,
    /// Length of one load, in seconds.
    seconds: u32,
    /// Requests of one modelled load.
    requests: u64,
}

impl Effort {
    /// Whether it is what `docs/benchmarks.md` is made with.
    fn is_full(&self) -> bool {
        self.rounds >= FULL.rounds
    }
}

const FULL: Effort = Effort { rounds: 5, seconds: 4, requests: 2_000_000 };
const SHORT: Effort = Effort { rounds: 3, seconds: 1, requests: 500_000 };
const QUICK: Effort = Effort { rounds: 1, seconds: 1, requests: 200_000 };

/// What a case needs to run.
pub(crate) struct Bench {
    root: PathBuf,
    /// Where cargo puts what it builds, and where files to measure on are made.
    target: PathBuf,
    effort: Effort,
}

type Case = fn(&Bench) -> Result<Section, String>;

/// Name, the packages that have to be built for it, and how it is measured.
const CASES: &[(&str, &[&str], Case)] = &[
    ("fio", &["probe"], fio::compare),
    ("layers", &["probe"], probe::layers),
    ("nbd", &["probe"], nbd::compare),
    ("leaf", &["probe"], nbd_leaf::compare),
    ("kernels", &["probe"], parity::kernels),
    ("arrays", &["probe"], parity::arrays),
    ("encryption", &["probe"], encryption::measure),
    ("md", &[], md::compare),
    ("cache", &["probe"], cache::measure),
    ("suites", &["raidloom"], suites::compare),
    ("virtual", &["probe"], probe::virtual_clock),
    ("threads", &["probe"], probe::threads),
    ("attach", &["probe"], attach::compare),
    ("demo", &["raidloom"], demo::measure),
    ("report", &[], report::measure),
    ("growth", &["raidloom", "probe"], growth::measure),
    ("aa", &["raidloom"], aa::measure),
];

/// Runs the cases named, or all of them, and writes their sections of `docs/benchmarks.md`;
/// `--quick` only prints them. With `--against REV` paths of requests are held against that commit.
///
/// # Errors
/// A case that does not exist, or something that could not be measured. A missed aim is no error:
/// it stands in the table.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let short = arguments.iter().any(|argument| argument == "--short");
    let against = arguments.iter().position(|argument| argument == "--against");
    let revision = against
        .map(|place| arguments.get(place + 1).ok_or_else(|| "--against takes a commit".to_owned()));
    let revision = revision.transpose()?;
    let only: Vec<&String> = arguments
        .iter()
        .enumerate()
        .filter(|(place, argument)| {
            let is_against = against.is_some_and(|at| *place == at || *place == at + 1);
            !is_against && !["--quick", "--short"].contains(&argument.as_str())
        })
        .map(|(_, argument)| argument)
        .collect();
    let effort = if quick {
        QUICK
    } else if short {
        SHORT
    } else {
        FULL
    };
    if let Some(revision) = revision {
        against::chosen(&only)?;
        let bench = Bench { root: root.to_path_buf(), target: target_folder(root)?, effort };
        return against::compare(&bench, revision, &only).map(|()| true);
    }
    if let Some(unknown) = only.iter().find(|name| !CASES.iter().any(|(case, ..)| case == **name)) {
        let known: Vec<&str> = CASES.iter().map(|(name, ..)| *name).collect();
        return Err(format!(
            "no such case: {unknown}; the cases are {}, the flags --quick, --short and \
            --against REV",
            known.join(", ")
        ));
    }
    let bench = Bench { root: root.to_path_buf(), target: target_folder(root)?, effort };
    let path = root.join("docs/benchmarks.md");
    let mut page = format!("{HEAD}{}", host::facts(root));
    if !only.is_empty() {
        // A case by itself takes the place of its section; what was measured before stays.
        page = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let wanted: Vec<_> = CASES
        .iter()
        .filter(|(name, ..)| only.is_empty() || only.iter().any(|case| case == name))
        .collect();
    // All of them first: what does not build should not be found out after minutes of measuring.
    for package in wanted.iter().flat_map(|(_, packages, _)| *packages) {
        bench.build(package)?;
    }
    for (name, _, case) in wanted {
        eprintln!("== {name}");
        let state = host::state(root);
        let section = case(&bench).map_err(|error| format!("{name}: {error}"))?;
        let seconds = bench.effort.seconds;
        // A case may have needed more of them.
        let rounds = section
            .rows
            .iter()
            .map(|row| row.ours.len())
            .fold(bench.effort.rounds as usize, usize::max);
        let measured = section.measured.clone().unwrap_or_else(|| {
            format!("Measured in {rounds} rounds, loads in real time for {seconds} s each")
        });
        let text = format!("{}\n{measured}; {state}.\n", section.markdown());
        println!("{text}");
        page = with_section(&page, &text);
        if !quick {
            fs::write(&path, &page).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(true)
}

const HEAD: &str = "# Benchmarks\n\n\
    Written by `cargo xtask bench` (or `make bench`) and never by hand: run it again to get the \
    numbers of your machine, \
    or name a case to measure its section alone. Each number is the median of the rounds, with the \
    smallest and the largest in \
    brackets; the two sides of a ratio take turns within one run, and the ratio is the median of \
    the rounds' own ratios. A section that names a processor was measured alone, on that one.\n\n";

/// The page with this section in the place of the one of the same heading, or at the end.
fn with_section(page: &str, section: &str) -> String {
    let heading = section.lines().next().unwrap_or_default();
    let lines: Vec<&str> = page.lines().collect();
    let start = lines.iter().position(|line| *line == heading).unwrap_or(lines.len());
    let end = lines
        .iter()
        .skip(start + 1)
        .position(|line| line.starts_with("## "))
        .map_or(lines.len(), |next| start + 1 + next);
    let before = lines[..start].join("\n");
    let after = lines.get(end..).unwrap_or_default().join("\n");
    let parts = [before.trim_end(), section.trim_end(), after.trim_end()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n") + "\n"
}

impl Bench {
    /// Builds a package of the workspace as users do.
    fn build(&self, package: &str) -> Result<(), String> {
        let mut cargo = Command::new("cargo");
        cargo
            .args(["build", "--release", "--locked", "--package", package])
            .current_dir(&self.root);
        match cargo.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("cargo build: {status}")),
            Err(error) => Err(format!("cargo build: {error}")),
        }
    }

    /// Measures both sides once in every round; who goes first changes.
    ///
    /// # Errors
    /// When a side cannot be measured.
    fn rounds<T>(
        &self,
        ours: impl Fn() -> Result<T, String>,
        other: impl Fn() -> Result<T, String>,
    ) -> Result<(Vec<T>, Vec<T>), String> {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for round in 0..self.effort.rounds {
            if round % 2 == 0 {
                a.push(ours()?);
                b.push(other()?);
            } else {
                b.push(other()?);
                a.push(ours()?);
            }
        }
        Ok((a, b))
    }

    /// Writes a picture that a section of the page shows, where the page is written.
    ///
    /// # Errors
    /// When it cannot be written.
    fn picture(&self, name: &str, svg: &str) -> Result<(), String> {
        if self.effort.rounds <= QUICK.rounds {
            return Ok(());
        }
        let path = self.root.join("docs/images").join(name);
        fs::write(&path, svg).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// A program that was built.
    fn program(&self, name: &str) -> Command {
        Command::new(self.target.join("release").join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_does_not_exist_is_named() {
        let error = run(Path::new("."), &["--quick".to_owned(), "fioo".to_owned()])
            .expect_err("no such case");
        assert!(error.contains("fioo") && error.contains("virtual"), "{error}");
    }

    #[test]
    fn a_section_takes_the_place_of_its_like() {
        let page = "# Benchmarks\n\nHow.\n\n## One\n\n1\n\n## Two\n\n2\n";
        assert_eq!(
            with_section(page, "## One\n\nnew\n"),
            "# Benchmarks\n\nHow.\n\n## One\n\nnew\n\n## Two\n\n2\n"
        );
        assert_eq!(
            with_section(page, "## Two\n\nnew\n"),
            "# Benchmarks\n\nHow.\n\n## One\n\n1\n\n## Two\n\nnew\n"
        );
        assert_eq!(with_section(page, "## Three\n\n3\n"), format!("{page}\n## Three\n\n3\n"));
    }
}
