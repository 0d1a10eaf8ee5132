//! `raidloom bench bonnie`: the original's options become the suite's settings.

use bench::suite::bonnie::{Options, SUITE, csv};
use bench::suite::{Row, Value};
use block::Clock;

use super::arguments::BonnieArguments;
use super::flags::Said;
use super::run::{self, Finished};
use super::show;
use crate::failure::Failure;
use crate::output::Output;

/// Runs bonnie in a folder.
pub(crate) fn bonnie(output: &Output, arguments: &BonnieArguments) -> Result<(), Failure> {
    let said = said(output, arguments)?;
    let finished = run::run(output, &said, &arguments.target)?;
    let phases = (SUITE.phases)(&finished.settings);
    if arguments.format != "bonnie-csv" || output.json {
        let words =
            |rows: &[Row]| format!("{}{}", show::rows_table(rows, &phases), show::flag_words(rows));
        return show::finish(output, finished, words);
    }
    let options = Options::new(&finished.settings)?;
    show::beside(output, &finished, &phases);
    let Finished { rows, failure, .. } = finished;
    let machine = arguments
        .machine
        .clone()
        .unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
    let runs = rows.iter().map(|row| row.run).max().unwrap_or(0);
    for run in 1..=runs {
        let of_run: Vec<Row> = rows.iter().filter(|row| row.run == run).cloned().collect();
        output.result(&csv::line(&options, &machine, arguments.target.seed, &of_run))?;
    }
    failure.map_or(Ok(()), Err)
}

fn said(output: &Output, arguments: &BonnieArguments) -> Result<Said, Failure> {
    let mut said = Said::new(output, &arguments.flags)?;
    if let Some(text) = &arguments.large {
        large(&mut said, text)?;
    }
    if let Some(text) = &arguments.small {
        small(&mut said, text)?;
    }
    match arguments.fast {
        None => (),
        Some(0) => said.set("per_character", Value::Switch(false))?,
        Some(mebibytes) => said.set("per_character_size", Value::Bytes(mebibytes << 20))?,
    }
    match (arguments.ram_mebibytes, &arguments.target.memory) {
        (Some(0), _) => said.set("check_memory", Value::Switch(false))?,
        (Some(mebibytes), _) => said.set("ram", Value::Bytes(mebibytes << 20))?,
        // A cache has no more than the cgroup.
        (None, Some(text)) if !said.has("ram") => {
            said.set("ram", Value::Bytes(output.size("--memory", text)?))?;
        }
        (None, _) => (),
    }
    // What contradicts is said before anything is touched.
    Options::new(&said.on(Clock::Wall)?)?;
    Ok(said)
}

/// A size as the original reads it: without a unit in `bare` bytes, with k, m or g in 1024-based
/// ones; ours as everywhere.
fn size(flag: &str, text: &str, bare: u64) -> Result<u64, Failure> {
    let failed = |why: String| Failure::usage(format!("{flag} {text}: {why}"));
    if let Ok(number) = text.parse::<u64>() {
        return number.checked_mul(bare).ok_or_else(|| failed("too large".to_owned()));
    }
    stack::size::parse(&text.to_uppercase())
        .or_else(|_| stack::size::parse(text))
        .map(|size| size.bytes)
        .map_err(|error| failed(error.to_string()))
}

fn count(flag: &str, text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| Failure::usage(format!("{flag} {text}: expected a whole number")))
}

/// `-s SIZE:CHUNK:SEEKS:SEEKERS`.
fn large(said: &mut Said, text: &str) -> Result<(), Failure> {
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > 4 {
        return Err(Failure::usage(format!(
            "-s {text}: expected SIZE:CHUNK:SEEKS:SEEKERS at most"
        )));
    }
    let part = |index: usize| parts.get(index).copied().filter(|part| !part.is_empty());
    match size("-s", parts[0], 1 << 20)? {
        0 => said.set("io", Value::Switch(false))?,
        bytes => said.set("size", Value::Bytes(bytes))?,
    }
    if let Some(chunk) = part(1) {
        said.set("chunk", Value::Bytes(size("-s", chunk, 1)?))?;
    }
    for (index, name) in [(2, "seeks"), (3, "seekers")] {
        if let Some(text) = part(index) {
            said.set(name, Value::Count(count("-s", text)?))?;
        }
    }
    Ok(())
}

/// `-n FILES:MAX:MIN:FOLDERS`, FILES in multiples of 1024, MAX -1 or -2 for links.
fn small(said: &mut Said, text: &str) -> Result<(), Failure> {
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > 4 {
        return Err(Failure::usage(format!("-n {text}: expected FILES:MAX:MIN:FOLDERS at most")));
    }
    let part = |index: usize| parts.get(index).copied().filter(|part| !part.is_empty());
    let files = count("-n", parts[0])?
        .checked_mul(1024)
        .ok_or_else(|| Failure::usage(format!("-n {text}: too many files")))?;
    said.set("files", Value::Count(files))?;
    match part(1) {
        None => (),
        Some("-1") => said.set("links", Value::word("hard"))?,
        Some("-2") => said.set("links", Value::word("symbolic"))?,
        Some(max) => said.set("file_size_max", Value::Bytes(size("-n", max, 1)?))?,
    }
    if let Some(min) = part(2) {
        said.set("file_size_min", Value::Bytes(size("-n", min, 1)?))?;
    }
    match part(3) {
        None | Some("0") => Ok(()),
        Some(folders) => said.set("folders", Value::Count(count("-n", folders)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_the_original_reads_them() {
        assert_eq!(size("-s", "300", 1 << 20).unwrap(), 300 << 20);
        assert_eq!(size("-s", "16g", 1 << 20).unwrap(), 16 << 30);
        assert_eq!(size("-s", "64k", 1).unwrap(), 64 << 10);
        assert_eq!(size("-s", "2GiB", 1 << 20).unwrap(), 2 << 30);
        assert!(size("-s", "much", 1).is_err());
    }

    #[test]
    fn the_parts_of_s_and_n_keep_their_places() {
        let mut said = Said::nothing(&SUITE);
        large(&mut said, "64:16k:1000:2").unwrap();
        small(&mut said, "4:-1:0:10").unwrap();
        let settings = said.on(Clock::Wall).unwrap();
        assert_eq!((settings.bytes("size"), settings.bytes("chunk")), (64 << 20, 16 << 10));
        assert_eq!((settings.count("seeks"), settings.count("seekers")), (1000, 2));
        assert_eq!(
            (settings.count("files"), settings.text("links"), settings.count("folders")),
            (4096, "hard", 10)
        );
        large(&mut said, "0").unwrap();
        assert!(!said.on(Clock::Wall).unwrap().switch("io"));
        assert!(large(&mut said, "1:2:3:4:5").is_err() && small(&mut said, "x").is_err());
    }
}
