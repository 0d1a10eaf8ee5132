//! Exercises a file on some file system: `fsx FILE [--seed N] [--operations N] [--size BYTES]`.
//!
//! A process of its own, because a mapping whose device fails ends the process that reads it.
//! Prints one line; exit code 1 and what differed when the file did not hold what was written.

#![expect(clippy::print_stderr, reason = "a program of its own")]
#![expect(clippy::print_stdout, reason = "a program of its own")]

use std::path::Path;
use std::process::ExitCode;

use interop::fsx::{PlainFile, Settings, exercise};

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("fsx: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: impl Iterator<Item = String>) -> Result<String, String> {
    let mut settings = Settings { seed: fastrand::u64(..), ..Settings::default() };
    let mut path = None;
    while let Some(argument) = arguments.next() {
        let target = match argument.as_str() {
            "--seed" => &mut settings.seed,
            "--operations" => &mut settings.operations,
            "--size" => &mut settings.size_bytes,
            _ if argument.starts_with("--") => return Err(format!("no such flag: {argument}")),
            _ if path.is_some() => return Err("one file is exercised, not several".to_owned()),
            _ => {
                path = Some(argument);
                continue;
            }
        };
        let value = arguments.next().ok_or_else(|| format!("{argument} needs a number"))?;
        *target = value.parse().map_err(|_| format!("{argument} {value}: no number"))?;
    }
    let path = path.ok_or("which file? fsx FILE [--seed N] [--operations N] [--size BYTES]")?;
    if settings.size_bytes == 0 {
        return Err("--size 0: nothing could be written".to_owned());
    }
    let mut file =
        PlainFile::create(Path::new(&path)).map_err(|error| format!("{path}: {error}"))?;
    let again = format!(
        "fsx {path} --seed {} --operations {} --size {}",
        settings.seed, settings.operations, settings.size_bytes
    );
    let summary = exercise(&mut file, &settings)
        .map_err(|error| format!("{path}: {error}\nagain: {again}"))?;
    let holes = if summary.has_holes { "" } else { "; no holes here, zeroes were written instead" };
    Ok(format!(
        "{} operations, {} bytes compared, {} bytes written{holes}",
        settings.operations, summary.compared_bytes, summary.written_bytes
    ))
}
