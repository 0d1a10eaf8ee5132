//! The folder of a run: how it comes to be, what is read from it, and how it goes when nothing came
//! of it.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use reactor::plain_file::Unread;
use results::course::CourseEvent;
use results::{Host, Plan};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serve::ServeWith;
use words::{Text, statement};

use super::{mounted_export, old_plans};
use crate::catalogue;
use crate::record::{NO_LINK, Record};
use crate::shard::Part;
use host::{Error, facts, files, journal};

pub(crate) const PLAN_TEXT: &str = "plan.toml";
pub(crate) const PLAN: &str = "plan.resolved.json";
/// Length and checksum of the two, as they were when the run began.
pub(crate) const SUMS: &str = "plan.sums.json";
/// What was decided while the run went on; only where there was something to decide.
pub(crate) const COURSE: &str = "course.json";
/// Which part of a run it is; only of a run on several machines.
pub(crate) const SHARD: &str = "shard.json";
pub(crate) const HOST: &str = "host.json";
pub(crate) const TRIALS: &str = "trials.jsonl";
/// What the run is at, for those that look at it; only while it goes on.
pub(crate) const PROGRESS: &str = "progress.json";
pub(crate) const NOTES: &str = "notes.txt";
pub(super) const MEMBERS: &str = "members";
/// The most that is read of a file of a run, in bytes: somebody else may have made it.
pub(crate) fn most_bytes(name: &str) -> u64 {
    match name {
        TRIALS => 1 << 30,
        PLAN => 256 << 20,
        PLAN_TEXT | COURSE | NOTES => 16 << 20,
        _ => 4 << 20,
    }
}

/// Reads a file of a run.
pub(crate) fn read_file(folder: &Path, name: &str) -> io::Result<Vec<u8>> {
    files::read_untrusted(&folder.join(name), most_bytes(name))
}

/// Opens a file of a run, to be read piece by piece.
pub(super) fn open_file(folder: &Path, name: &str) -> io::Result<impl BufRead> {
    let file = files::open_untrusted(&folder.join(name))?;
    let most_bytes = most_bytes(name);
    if file.metadata()?.len() > most_bytes {
        return Err(Unread::TooLarge { most_bytes }.into());
    }
    Ok(BufReader::new(file.take(most_bytes)))
}

/// The folder of runs below the current one.
pub(crate) const RUNS: &str = "raidloom-runs";

/// `raidloom-runs/2026-11-21T074002Z-stripe-size`, below the current folder.
pub(crate) fn by_default(plan_name: &str) -> PathBuf {
    let letters = plan_name.chars().map(|letter| {
        if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' }
    });
    let words: String = letters.collect();
    let slug: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    let time = facts::now().replace(':', "");
    let name = if slug.is_empty() { time } else { format!("{time}-{}", slug.join("-")) };
    let free = Path::new(RUNS).join(&name);
    // Of two that begin within a second the second one has a number behind its name.
    let others = (2..100).map(|number| Path::new(RUNS).join(format!("{name}-{number}")));
    std::iter::once(free.clone()).chain(others).find(|folder| !folder.exists()).unwrap_or(free)
}

/// Makes the folder of a run, or takes an empty one.
pub(crate) fn make(folder: &Path) -> Result<(), Error> {
    let refuse = |error: &io::Error| {
        let text = block::io_text(error);
        let refused = match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Error::refused(text)
            }
            _ => Error::usage(text),
        };
        refused.at(statement!(catalogue::RUNS_FOLDER, folder = folder.display()))
    };
    files::refuse_link_of_another(folder)?;
    // Whatever the umask: a journal is obeyed only where no other user may write.
    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(|error| refuse(&error))?;
    let mut entries = fs::read_dir(folder).map_err(|error| refuse(&error))?;
    if folder.join(PLAN).exists() {
        let folder = folder.display();
        return Err(Error::usage(statement!(catalogue::HOLDS_RUN, folder = folder)));
    }
    // What a start leaves that was killed before there was a run.
    let remains = [TRIALS, HOST, PLAN_TEXT, SUMS, COURSE, SHARD, PROGRESS];
    let is_remains = |name: &OsStr| {
        remains.iter().any(|known| name == *known)
            || name.to_string_lossy().starts_with(files::PART)
    };
    if entries.any(|entry| entry.is_ok_and(|entry| !is_remains(&entry.file_name()))) {
        let folder = folder.display();
        return Err(Error::usage(statement!(catalogue::FOLDER_NOT_EMPTY, folder = folder)));
    }
    Ok(())
}

/// Removes the folder of a run of which nothing came.
pub(super) fn forget(folder: &Path, was_there: bool) {
    for name in [TRIALS, HOST, PLAN_TEXT, SUMS, COURSE, SHARD, PLAN, PROGRESS] {
        let _ = fs::remove_file(folder.join(name));
    }
    if !was_there {
        // Not when something was put there meanwhile.
        let _ = fs::remove_dir(folder);
    }
}

/// What is made of a run's figures, beside them; a question of `choose`.
const MADE_OF_IT: [&str; 4] = ["report.html", "report.md", "summary.csv", "choose.json"];

/// Removes a run that nobody works on: the files that it is made of, and its folder. What else lies
/// in that stays, with the folder, and is returned.
///
/// # Errors
/// A refusal where the folder holds no run or is a link, the run goes on, or what a killed one has
/// left behind cannot be undone; what the system says.
pub fn delete_run(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |path: &Path, error: &io::Error| Error::from_io(path.display(), error);
    let data = fs::symlink_metadata(folder).map_err(|error| failed(folder, &error))?;
    if !data.is_dir() || !folder.join(PLAN).is_file() {
        return Err(Error::refused(catalogue::NO_RUN_TO_DELETE).at(folder.display()));
    }
    // Whoever works on it holds this; nobody begins to as long as we do.
    let _lock = Record::hold(&folder.join(TRIALS))?;
    let said = journal::undo_left_behind(folder);
    if journal::exists(folder) {
        return Err(Error::refused(catalogue::LEFT_BEHIND)
            .at(folder.display())
            .then(Text::joined(said, "\n")));
    }
    let remove = |name: &str| {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, &error)),
            _ => Ok(()),
        }
    };
    for name in
        MADE_OF_IT.into_iter().chain([HOST, PLAN_TEXT, SUMS, COURSE, SHARD, NOTES, PROGRESS])
    {
        remove(name)?;
    }
    // The last are what makes it a run: deleted halfway, it can be deleted again.
    [PLAN, TRIALS].into_iter().try_for_each(remove)?;
    let rest = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    let mut rest: Vec<PathBuf> = rest.flatten().map(|entry| entry.path()).collect();
    rest.sort();
    if rest.is_empty() {
        fs::remove_dir(folder).map_err(|error| failed(folder, &error))?;
    }
    Ok(rest)
}

/// Cleans up after killed runs beside this one. A run that goes on holds its lock and is left
/// alone, and so is whatever is not the caller's own: in a folder that others may write to, any
/// name may stand for anything.
pub(super) fn undo_siblings(folder: &Path, serve_with: Option<&ServeWith>) -> Vec<Text> {
    let siblings = folder
        .parent()
        .and_then(|parent| fs::read_dir(parent).ok())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_ours = |sibling: &PathBuf| journal::distrust(sibling).is_none();
    let siblings = siblings.filter(|sibling| sibling != folder && is_ours(sibling));
    let left_behind =
        siblings.filter(|sibling| journal::exists(sibling) && sibling.join(PLAN).exists());
    let undo = |sibling: PathBuf| match Record::open(&sibling.join(TRIALS)) {
        Ok((_lock, _)) => {
            let mut notes = mounted_export::end_left_behind(serve_with, &sibling);
            notes.extend(journal::undo_left_behind(&sibling));
            notes
        }
        Err(_) => Vec::new(),
    };
    left_behind.flat_map(undo).collect()
}

/// A value as the text of a file.
pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain data");
    text.push(b'\n');
    text
}

/// Writes a file so that after a crash it is whole or not there.
pub(super) fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    host::files::write_whole(&folder.join(name), bytes)
}

/// What the plan's files were when the run began.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sums {
    /// Of the plan as it was said.
    plan: Sum,
    /// Of the plan as it was meant.
    resolved: Sum,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sum {
    bytes: u64,
    crc32c: u32,
}

impl Sum {
    fn of(bytes: &[u8]) -> Sum {
        Sum { bytes: bytes.len() as u64, crc32c: crc32c::crc32c(bytes) }
    }
}

/// Writes the plan's files. Only the last one, the plan as it was meant, makes the folder a run
/// that can be resumed.
pub(super) fn write_plan(folder: &Path, text: &[u8], plan: &Plan) -> Result<(), Error> {
    let resolved = json(plan);
    write_whole(folder, PLAN_TEXT, text)?;
    write_whole(folder, SUMS, &json(&Sums { plan: Sum::of(text), resolved: Sum::of(&resolved) }))?;
    write_whole(folder, PLAN, &resolved)
}

/// Whether a file of the plan is another than when the run began: the plan as it was said, and as
/// it was meant. Runs of earlier versions do not tell.
pub(super) fn edited(folder: &Path) -> Result<(bool, bool), Error> {
    if !folder.join(SUMS).exists() {
        return Ok((false, false));
    }
    let sums: Sums = read_json(folder, SUMS)?;
    let is_other = |name: &str, sum: &Sum| {
        read_file(folder, name).map_or(true, |bytes| Sum::of(&bytes) != *sum)
    };
    Ok((is_other(PLAN_TEXT, &sums.plan), is_other(PLAN, &sums.resolved)))
}

/// Between a note in English, which whoever opens the file reads, and the same in its parts.
const BEFORE_PARTS: char = '\t';

/// Notes what happened to the run, with the time, in a line.
pub(super) fn add_note(folder: &Path, text: &Text) -> Result<(), Error> {
    let path = folder.join(NOTES);
    let english = text.english().replace(['\n', BEFORE_PARTS], " ");
    let parts = serde_json::to_string(text).expect("a text is JSON");
    let line = format!("{} {english}{BEFORE_PARTS}{parts}\n", facts::now());
    let append = || {
        OpenOptions::new()
            .append(true)
            .create(true)
            .custom_flags(NO_LINK)
            .open(&path)?
            .write_all(line.as_bytes())
    };
    append().map_err(|error| Error::from_io(path.display(), &error))
}

/// A line of the notes: with its parts, or as earlier releases wrote it, in English alone.
pub(super) fn note_of(line: &str) -> Text {
    let said = |line: &str| -> Option<Text> {
        let (english, parts) = line.split_once(BEFORE_PARTS)?;
        let (time, _) = english.split_once(' ')?;
        let text: Text = serde_json::from_str(parts).ok()?;
        Some(Text::from(format!("{time} ")).and(text))
    };
    said(line).unwrap_or_else(|| line.into())
}

pub(super) fn read_plan(folder: &Path) -> Result<Plan, Error> {
    let plan = old_plans::plan(read_json(folder, PLAN)?)
        .map_err(|error| damaged(&folder.join(PLAN), &error))?;
    if plan.schema != 1 {
        return Err(Error::usage(statement!(catalogue::OTHER_SCHEMA, schema = plan.schema))
            .at(folder.join(PLAN).display()));
    }
    Ok(plan)
}

/// What was decided so far; nothing for a run in which nothing had to be.
pub(super) fn read_steps(folder: &Path) -> Result<Vec<CourseEvent>, Error> {
    if folder.join(COURSE).exists() { read_json(folder, COURSE) } else { Ok(Vec::new()) }
}

/// Writes what was decided so far.
pub(super) fn write_steps(folder: &Path, steps: &[CourseEvent]) -> Result<(), Error> {
    write_whole(folder, COURSE, &json(&steps))
}

/// Which part of a run the folder holds; `None` where it is all of it.
pub(crate) fn read_part(folder: &Path) -> Result<Option<Part>, Error> {
    if folder.join(SHARD).exists() { read_json(folder, SHARD).map(Some) } else { Ok(None) }
}

/// The plan as it was said.
pub(crate) fn read_text(folder: &Path) -> Result<String, Error> {
    let failed = |error| Error::from_io(folder.join(PLAN_TEXT).display(), &error);
    let bytes = read_file(folder, PLAN_TEXT).map_err(failed)?;
    let not_text = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    String::from_utf8(bytes).map_err(|error| failed(not_text(error)))
}

pub(super) fn read_host(folder: &Path) -> Result<Host, Error> {
    read_json(folder, HOST)
}

fn read_json<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T, Error> {
    let path = folder.join(name);
    let bytes = read_file(folder, name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if !folder.is_dir() => {
            Error::usage(statement!(catalogue::NO_RUN_AT, folder = folder.display()))
        }
        io::ErrorKind::NotFound => {
            let folder = folder.display();
            Error::usage(statement!(catalogue::HOLDS_NO_RUN, folder = folder, file = name))
        }
        _ => Error::from_io(path.display(), &error),
    })?;
    serde_json::from_slice(&bytes).map_err(|error| damaged(&path, &error))
}

/// What is said of a file of ours that cannot be read as what it is.
pub(crate) fn damaged(path: &Path, error: &serde_json::Error) -> Error {
    let why = Text::verbatim(error);
    Error::failed(statement!(catalogue::FILE_IS_DAMAGED, why = why)).at(path.display())
}

#[cfg(test)]
mod tests {
    use words::{Language, in_language};

    use super::*;

    /// "What earlier releases wrote is read as it stands", and a line is whole for whoever opens
    /// the file.
    #[test]
    fn a_note_is_read_with_its_parts_or_as_it_was_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = statement!(catalogue::ENDED_AFTER, time = "2h");
        add_note(folder.path(), &text).expect("written");
        add_note(folder.path(), &"torn\tline\nof words".into()).expect("written");
        let kept = std::fs::read_to_string(folder.path().join(NOTES)).expect("it is there");
        let notes: Vec<Text> = kept.lines().map(note_of).collect();
        assert!(notes[0].english().ends_with(&format!(" {}", text.english())), "{notes:?}");
        let said = in_language(Language::Japanese, || notes[0].to_string());
        assert!(said.ends_with(&in_language(Language::Japanese, || text.to_string())), "{said}");
        assert!(notes[1].english().ends_with(" torn\tline\nof words"), "{notes:?}");
        for before in ["2026-11-21T07:40Z a torn last line was dropped", "a\tno parts", "{}"] {
            assert_eq!(note_of(before), before.into());
        }
    }
}
