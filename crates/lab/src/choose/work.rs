//! What drives are chosen for: a profile of weighted workloads, from a file.

use std::path::Path;

use bench::suite::replay;
use host::Error;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use words::{Text, statement};

use crate::catalogue;

/// Name and text of every profile of the source's folder `plans/work`.
const SHIPPED: [(&str, &str); 5] = [
    ("files", include_str!("../../../../plans/work/files.toml")),
    ("vm", include_str!("../../../../plans/work/vm.toml")),
    ("database", include_str!("../../../../plans/work/database.toml")),
    ("media", include_str!("../../../../plans/work/media.toml")),
    ("backup", include_str!("../../../../plans/work/backup.toml")),
];

/// A kind of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// How it was named: a name of [`Work::names`], or the path of its file: a profile, or a
    /// recording.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Its workloads, as `[[workload]]` tables of a plan; their suite is `load` where they name
    /// none.
    pub workloads: Vec<Table>,
    /// The recording that is the work, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordedWork>,
}

/// What is known of a recording before it is replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedWork {
    /// Its requests.
    pub requests: u64,
    /// Bytes that it touches: what offers less has no room for it.
    pub touched_bytes: u64,
}

/// The suite that runs commands.
const COMMAND_SUITE: &str = "command";

/// Characters of a title: it is part of the question of a plan.
const TITLE_MAX: usize = 80;

impl Work {
    /// The names of the profiles that came with the program.
    #[must_use]
    pub fn names() -> [&'static str; 5] {
        SHIPPED.map(|(name, _)| name)
    }

    /// The profile of a name, or of a file.
    ///
    /// # Errors
    /// A usage error when there is none, or its file makes no sense.
    pub fn read(name: &str) -> Result<Work, Error> {
        if let Some((_, text)) = SHIPPED.iter().find(|(known, _)| *known == name) {
            return Work::parse(name, text);
        }
        let path = Path::new(name);
        if !path.exists() {
            let near = crate::plan::suggestion(name, Work::names());
            let said = statement!(catalogue::NO_WORK, name = name, hint = near);
            return Err(Error::usage(said));
        }
        let is_profile = path.extension().is_some_and(|extension| extension == "toml");
        let recorded = (!is_profile).then(|| Work::recorded(name, path));
        if let Some(Ok(work)) = recorded {
            return Ok(work);
        }
        let text = host::files::read_named_text(path).map_err(|error| {
            let place = statement!(catalogue::READING_PROFILE, name = name);
            Error::from_io(place, &error).as_usage()
        });
        match (recorded, text) {
            // What is no text of this form was meant to be a recording.
            (Some(no_recording), text) if text.as_ref().map_or(true, |text| !is_toml(text)) => {
                no_recording
            }
            (_, text) => Work::parse(name, &text?),
        }
    }

    /// A command of one's own, as `sh` reads it: the suite `command` runs it in a folder.
    ///
    /// # Errors
    /// A usage error when there is none.
    pub fn of_command(command: &str) -> Result<Work, Error> {
        let first = command.trim().lines().next().unwrap_or_default();
        if first.is_empty() {
            return Err(Error::usage(catalogue::NO_COMMAND));
        }
        let mut title = escape::line(first).into_owned();
        if title.chars().count() > TITLE_MAX {
            title = title.chars().take(TITLE_MAX - 1).chain(['…']).collect();
        }
        let workload = [("suite", COMMAND_SUITE), ("run", command)];
        let workload = workload.map(|(key, value)| (key.to_owned(), Value::String(value.into())));
        Ok(Work {
            name: "command".to_owned(),
            title,
            workloads: vec![workload.into_iter().collect()],
            recording: None,
        })
    }

    /// Whether it is a command of one's own.
    #[must_use]
    pub fn is_command(&self) -> bool {
        let is_one =
            |workload: &Table| workload.get("suite").and_then(Value::as_str) == Some(COMMAND_SUITE);
        self.workloads.iter().all(is_one)
    }

    /// The work that a recording is.
    fn recorded(name: &str, path: &Path) -> Result<Work, Error> {
        let found = replay::look_at(path).map_err(|error| {
            let why = Text::from(error).at(catalogue::NEITHER_WORK);
            Error::usage(why).at(format!("--work {name}"))
        })?;
        let path = host::files::absolute(path)?;
        // Without answers nobody knows what waited for what.
        let mode = match (found.has_times, found.has_answers) {
            (true, true) => "closed",
            (true, false) => "open",
            (false, _) => "fast",
        };
        let workload = [
            ("suite", replay::NAME.to_owned()),
            ("file", path.to_string_lossy().into_owned()),
            ("mode", mode.to_owned()),
            ("fit", "fold".to_owned()),
        ];
        let workload = workload.map(|(key, value)| (key.to_owned(), Value::String(value)));
        let title = path.file_name().unwrap_or_default().to_string_lossy();
        let title = escape::line(&title).into_owned();
        let recording =
            RecordedWork { requests: found.requests, touched_bytes: found.touched_bytes };
        Ok(Work {
            name: name.to_owned(),
            title,
            workloads: vec![workload.into_iter().collect()],
            recording: Some(recording),
        })
    }

    /// Reads a profile; `origin` is what messages call it.
    fn parse(origin: &str, text: &str) -> Result<Work, Error> {
        let wrong = |what: Text| Error::usage(what).at(origin);
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| wrong(error.message().replace('\n', ", ").into()))?;
        if let Some(key) = table.keys().find(|key| !["title", "workload"].contains(&key.as_str())) {
            return Err(wrong(statement!(catalogue::NO_KEY_OF_PROFILE, key = key)));
        }
        let title = match table.get("title") {
            Some(Value::String(title)) if !title.trim().is_empty() && !title.contains('\n') => {
                if title.trim().chars().count() > TITLE_MAX {
                    return Err(wrong(statement!(catalogue::LONG_TITLE, most = TITLE_MAX)));
                }
                title.trim().to_owned()
            }
            _ => return Err(wrong(catalogue::NO_TITLE.into())),
        };
        let workloads: Option<Vec<Table>> = match table.get("workload") {
            Some(Value::Array(all)) => all.iter().map(|one| one.as_table().cloned()).collect(),
            _ => None,
        };
        match workloads.filter(|all| !all.is_empty()) {
            Some(workloads) => {
                Ok(Work { name: origin.to_owned(), title, workloads, recording: None })
            }
            None => Err(wrong(catalogue::NO_WORKLOAD_IN_PROFILE.into())),
        }
    }
}

fn is_toml(text: &str) -> bool {
    text.parse::<Table>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_of_the_source_is_shipped() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans/work");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|file| {
                Some(file.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned())
            })
            .collect();
        files.sort();
        let mut names = Work::names();
        names.sort_unstable();
        assert_eq!(files, names);
        for name in names {
            assert!(Work::read(name).unwrap().workloads.len() > 1, "{name}");
        }
    }

    #[test]
    fn a_command_is_work_in_a_folder() {
        let work = Work::of_command("make -j2 &&\n  make check").unwrap();
        assert_eq!(work.title, "make -j2 &&");
        assert!(work.is_command() && !Work::read("files").unwrap().is_command());
        assert_eq!(work.workloads[0]["suite"].as_str(), Some("command"));
        assert_eq!(work.workloads[0]["run"].as_str(), Some("make -j2 &&\n  make check"));
        let long = Work::of_command(&"x".repeat(300)).unwrap();
        assert_eq!(long.title.chars().count(), TITLE_MAX);
        assert!(Work::of_command(" \n").is_err());
    }

    #[test]
    fn what_is_no_profile_is_told_in_a_line() {
        for (text, words) in [
            ("title = \"x\"", "no [[workload]]"),
            ("[[workload]]\nread = 1", "no `title`"),
            (&format!("title = \"{}\"", "x".repeat(81)), "longer than 80"),
            ("title = \"x\"\nname = 1", "unknown key `name`"),
            ("title = ", "x: "),
        ] {
            let error = Work::parse("x", text).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Work::read(&path.to_string_lossy()).map_err(|error| error.to_string())
        };
        let profile = "title = \"x\"\n[[workload]]\nread = 1\n";
        assert_eq!(read("mine", profile).unwrap().recording, None);
        let lines = "time,op,offset,length\n0,read,0,4096\n1,write,8192,4096\n";
        let work = read("evening.csv", lines).unwrap();
        assert_eq!(work.recording, Some(RecordedWork { requests: 2, touched_bytes: 8192 }));
        assert_eq!(work.workloads[0]["mode"].as_str(), Some("open"), "no answers are known");
        let error = read("nothing", "\u{1}\u{2}").unwrap_err();
        assert!(error.contains("neither a profile") && !error.contains('\n'), "{error}");
        let error = Work::read("databse").unwrap_err().to_string();
        assert!(error.ends_with("did you mean `database`?"), "{error}");
    }
}
