//! The folder of a run: how it comes to be, what is read from it, and how it goes when nothing came of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use results::{Host, Plan};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::record::Record;
use host::{Error, facts, journal};

pub(super) const PLAN_TEXT: &str = "plan.toml";
pub(super) const PLAN: &str = "plan.resolved.json";
pub(super) const HOST: &str = "host.json";
pub(super) const TRIALS: &str = "trials.jsonl";
pub(super) const NOTES: &str = "notes.txt";
pub(super) const MEMBERS: &str = "members";

/// `raidloom-runs/2026-11-21T074002Z-stripe-size`, below the current folder.
pub(super) fn by_default(plan_name: &str) -> PathBuf {
    let letters = plan_name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let words: String = letters.collect();
    let slug: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    let time = facts::now().replace(':', "");
    let name = if slug.is_empty() { time } else { format!("{time}-{}", slug.join("-")) };
    Path::new("raidloom-runs").join(name)
}

/// Makes the folder of a run, or takes an empty one.
pub(super) fn make(folder: &Path) -> Result<(), Error> {
    let refuse = |error: &io::Error| {
        let text = format!("the run's folder {}: {error}", folder.display());
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Error::refused(text),
            _ => Error::usage(text),
        }
    };
    fs::create_dir_all(folder).map_err(|error| refuse(&error))?;
    let mut entries = fs::read_dir(folder).map_err(|error| refuse(&error))?;
    if folder.join(PLAN).exists() {
        let text = format!("{} holds a run already; go on with it (raidloom run --resume {0}) or choose another folder", folder.display());
        return Err(Error::usage(text));
    }
    // What a start leaves that was killed before there was a run.
    let remains = [TRIALS, HOST, PLAN_TEXT];
    if entries.any(|entry| entry.is_ok_and(|entry| !remains.iter().any(|name| entry.file_name() == *name))) {
        return Err(Error::usage(format!("the run's folder {} is not empty; choose one that is empty or not there", folder.display())));
    }
    Ok(())
}

/// Removes the folder of a run of which nothing came.
pub(super) fn forget(folder: &Path, was_there: bool) {
    for name in [TRIALS, HOST, PLAN_TEXT, PLAN] {
        let _ = fs::remove_file(folder.join(name));
    }
    if !was_there {
        // Not when somebody else has put something there.
        let _ = fs::remove_dir(folder);
    }
}

/// Cleans up after killed runs beside this one. A run that goes on holds its lock and is left alone.
pub(super) fn undo_siblings(folder: &Path) -> Vec<String> {
    let siblings = folder.parent().and_then(|parent| fs::read_dir(parent).ok()).into_iter().flatten().flatten().map(|entry| entry.path());
    let left_behind = siblings.filter(|sibling| sibling != folder && journal::exists(sibling) && sibling.join(PLAN).exists());
    let undo = |sibling: PathBuf| match Record::open(&sibling.join(TRIALS)) {
        Ok((_lock, _)) => journal::undo_left_behind(&sibling),
        Err(_) => Vec::new(),
    };
    left_behind.flat_map(undo).collect()
}

/// A value as the text of a file.
pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain data");
    text.push(b'\n');
    text
}

/// Writes a file so that after a crash it is whole or not there.
pub(super) fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = folder.join(name);
    let temporary = folder.join(format!("{name}.part"));
    let write = || {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)?;
        journal::sync_folder(folder)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&temporary);
        Error::from_io(format!("writing {}", path.display()), &error)
    })
}

/// Notes what happened to the run, with the time.
pub(super) fn add_note(folder: &Path, text: &str) -> Result<(), Error> {
    let path = folder.join(NOTES);
    let line = format!("{} {}\n", facts::now(), text.replace('\n', " "));
    let append = || OpenOptions::new().append(true).create(true).open(&path)?.write_all(line.as_bytes());
    append().map_err(|error| Error::from_io(path.display(), &error))
}

pub(super) fn read_plan(folder: &Path) -> Result<Plan, Error> {
    let plan: Plan = read_json(folder, PLAN)?;
    if plan.schema != 1 {
        return Err(Error::usage(format!(
            "{}: written by another version of raidloom (schema {})",
            folder.join(PLAN).display(),
            plan.schema
        )));
    }
    Ok(plan)
}

pub(super) fn read_host(folder: &Path) -> Result<Host, Error> {
    read_json(folder, HOST)
}

fn read_json<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T, Error> {
    let path = folder.join(name);
    let bytes = fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if !folder.is_dir() => Error::usage(format!("there is no run at {}", folder.display())),
        io::ErrorKind::NotFound => Error::usage(format!(
            "{} holds no run ({name} is not there); if a run was stopped before it had begun, start it again",
            folder.display()
        )),
        _ => Error::from_io(path.display(), &error),
    })?;
    serde_json::from_slice(&bytes).map_err(|error| Error::failed(format!("{}: {error}; the file was changed or damaged", path.display())))
}
