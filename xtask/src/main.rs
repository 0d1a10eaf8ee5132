//! What developers and CI run: `cargo xtask ci`, `cargo xtask tidy`, `cargo xtask fuzz`,
//! `cargo xtask bench`, `cargo xtask validate`.

#![allow(clippy::print_stderr, reason = "it measures, and prints what developers read")]
#![allow(clippy::print_stdout, reason = "it measures, and prints what developers read")]
#![allow(clippy::disallowed_methods, reason = "it measures, and prints what developers read")]

mod bench;
mod build_folder;
mod ci;
mod fuzz;
mod instructions;
mod nextest;
mod tidy;
mod validate;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

Commands:
  ci [STEP…]     everything CI runs: format, tidy, dependencies, clippy, test, docs, rest, locale,
                 miri, instructions, fuzz, package, static; or only the steps named
  instructions WHY
                 counts the instructions of a request on ten paths and keeps what has changed, with the reason, in xtask/instructions.toml
  tidy           the rules of the project that no compiler knows
  fuzz [--seconds N] [--seed N] [TARGET…]
                 bytes from strangers: 60 s each, two at a time; an input that breaks something is named
  validate [DIR] the models against published arrays: writes models/errors.toml and the tables of docs/models.md; with a folder,
                 against recordings of real drives in it
  bench [CASE…]  speed against peers and against itself, written to docs/benchmarks.md; --short is a tenth of it, --quick only prints
  bench --against REV [PATH…]
                 the same ten paths as they are here and at a commit, in turns; only prints

Exit code 0: all is well; 1: something failed; 2: the command line is wrong.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let outcome = match command.as_str() {
        "ci" => ci::run(&root(), rest),
        "tidy" if rest.is_empty() => tidy::run(&root()),
        "fuzz" => fuzz::run(&root(), rest),
        "bench" => bench::run(&root(), rest),
        "instructions" => instructions::renew(&root(), rest),
        "validate" => validate::run(&root(), rest),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(true)
        }
        _ => Err(format!("no such command: {}\n{USAGE}", arguments.join(" "))),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::from(2)
        }
    }
}

/// The workspace's root: the parent of this package.
fn root() -> PathBuf {
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    package.parent().map_or(package.clone(), PathBuf::from)
}
