//! `command`: a program of the user's own as the workload.
//!
//! ```text
//!   prepare ── sync ── run ── sync ── cleanup        once for each run, in a fresh folder or on a device
//!                      │      │
//!                   elapsed   │                       wall and processor time, bytes moved: the frame's
//!                      └──────┴─> durable elapsed     figures in its output: figures.rs, formats.rs
//! ```
//!
//! Who moved what on behalf of a program cannot be told from outside, so there is nothing that the
//! bytes moved could be held against: what was read may have come from a cache. The audit judges
//! the machine alone.

mod figures;
mod formats;

use std::path::{Path, PathBuf};
use std::time::Duration;

use block::{Error, ErrorKind, Traffic};
use results::{BetterDirection, Doubt, Group};
use words::{Text, statement};

use self::figures::FigureList;
use super::folder::{Needs, WorkFolder};
use super::program::{self, Group as ProcessGroup, Program};
use super::{
    AfterPhase, Kind, Phase, Rows, Session, Setting, Settings, Suite, Target, TargetKind, Value,
    WorkDone,
};
use crate::latency::Latency;
use crate::suite::catalogue;

/// Name of the suite.
pub const NAME: &str = "command";
/// What stands for the folder in a command.
pub(super) const FOLDER: &str = "{dir}";
/// What stands for the device in a command.
pub(super) const DEVICE: &str = "{device}";
/// The page cache of the whole machine.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// `command`.
pub static SUITE: Suite = Suite {
    name: NAME,
    summary: "A command of your own: how long it takes, what it costs, and figures that it prints.",
    about: "The command is run by sh, with numbers as in C (LC_ALL=C), and works in a fresh folder \
        of the target, whose path is {dir}, or on the device {device}. It is ready when the \
        command has ended, and durable when the file system has written everything out. A command \
        that ends with another status than 0 is an error that shows its last lines, and no figure; \
        what it leaves running is ended. Without `figures` the row is its wall time; with them \
        each is a row: pgbench, sysbench, dd, rsync or fio (its JSON) for what these print, or a \
        line such as `commit_seconds in ms regex average = ([0-9.]+)` or `mail_per_second json \
        $.jobs[0].rate`. Names end in their base unit; of several matches the last one counts. \
        Which bytes a command asked for cannot be told from outside, so the audit judges the \
        machine and not whether a cache answered: use `drop_caches`, or a command that says \
        what it did past the cache.",
    targets: &[TargetKind::Folder, TargetKind::Device],
    settings: &[
        Setting::new("run", Kind::Text, Value::word(""), "The command, as sh reads it.")
            .checked(check_run),
        Setting::new(
            "prepare",
            Kind::Text,
            Value::word(""),
            "What is run before it, and is not counted.",
        ),
        Setting::new(
            "cleanup",
            Kind::Text,
            Value::word(""),
            "What is run after it, also when it failed.",
        ),
        Setting::new(
            "environment",
            Kind::Lines,
            Value::word(""),
            "NAME=VALUE for all three, one a line.",
        )
        .checked(check_environment),
        Setting::new(
            "figures",
            Kind::Lines,
            Value::word(""),
            "Figures in its output, one a line; none is the wall time.",
        )
        .checked(check_figures),
        Setting::new(
            "time_limit",
            Kind::SomeTime,
            Value::Time(Duration::from_secs(3600)),
            "How long each of the three may take.",
        ),
        Setting::new(
            "drop_caches",
            Kind::Switch,
            Value::Switch(false),
            "Empty the machine's page cache before the command.",
        ),
        Setting::new("runs", Kind::Count(1, 1000), Value::Count(1), "How often it is run."),
    ],
    rows: Rows::InOrder,
    phases: |settings| match FigureList::parse(settings.text("figures")) {
        Ok(wanted) => phases(&wanted),
        // The setting's own check has said what is wrong.
        Err(_) => Vec::new(),
    },
    prepared_bytes: |_, _| 0,
    run,
};

fn check_run(text: &str) -> Result<(), Text> {
    if text.trim().is_empty() {
        return Err(catalogue::NAME_THE_COMMAND.into());
    }
    Ok(())
}

fn check_environment(text: &str) -> Result<(), Text> {
    environment(text).map(drop)
}

fn check_figures(text: &str) -> Result<(), Text> {
    FigureList::parse(text).map(|_| ())
}

fn environment(text: &str) -> Result<Vec<(String, String)>, Text> {
    let pair = |line: &str| {
        let (name, value) = line
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| statement!(catalogue::ENVIRONMENT_LINE, line = line))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(pair).collect()
}

fn phases(wanted: &FigureList) -> Vec<Phase> {
    let rows = wanted.rows();
    if rows.is_empty() {
        return vec![Phase {
            name: "wall time".to_owned(),
            what: catalogue::COMMAND_UNTIL_END.into(),
            group: Group::Files,
            metric: "elapsed_seconds".into(),
            better: BetterDirection::Lower,
            writes: true,
            is_deep: false,
            buffered_of: None,
        }];
    }
    let phase = |figure: figures::Figure| Phase {
        name: figure.row,
        what: statement!(catalogue::FIGURE_IN_OUTPUT, metric = &figure.metric),
        group: Group::Files,
        metric: figure.metric.into(),
        better: figure.better,
        writes: true,
        is_deep: false,
        buffered_of: None,
    };
    rows.into_iter().map(phase).collect()
}

/// Where a command works.
pub(super) enum CommandSite {
    /// In a folder of its own.
    Folder(WorkFolder),
    /// On a device that the kernel knows by this path.
    Device(PathBuf),
}

impl CommandSite {
    /// The place on a target.
    ///
    /// # Errors
    /// A device that no other program can open, and what is wrong with a folder.
    pub(super) fn new(
        target: Target<'_>,
        suite: &str,
        session: &Session<'_>,
    ) -> Result<CommandSite, Error> {
        // The command works in the folder, where a relative path would lead elsewhere.
        let absolute = |path: &Path| {
            std::path::absolute(path)
                .map_err(|error| Error::from_io(path.display().to_string(), error))
        };
        match (target, &session.device_path) {
            (Target::Folder(parent), _) => {
                let parent = absolute(parent)?;
                Ok(CommandSite::Folder(WorkFolder::new(&parent, suite, &Needs::default())?))
            }
            (Target::Device(_), Some(path)) => Ok(CommandSite::Device(absolute(path)?)),
            (Target::Device(_), None) => {
                Err(Error::new(ErrorKind::Unsupported, catalogue::STACK_NOT_OPENED))
            }
        }
    }

    /// The folder, if it is one.
    pub(super) fn folder(&self) -> Option<&Path> {
        match self {
            CommandSite::Folder(folder) => Some(folder.path()),
            CommandSite::Device(_) => None,
        }
    }

    /// Where data end up.
    pub(super) fn path(&self) -> &Path {
        match self {
            CommandSite::Folder(folder) => folder.path(),
            CommandSite::Device(path) => path,
        }
    }

    /// A text with the place in it.
    ///
    /// # Errors
    /// When it asks for a folder on a device, or for a device in a folder.
    pub(super) fn put_in(&self, text: &str, quote: fn(&str) -> String) -> Result<String, Error> {
        let (own, other, is) = match self {
            CommandSite::Folder(_) => (FOLDER, DEVICE, catalogue::FOLDER_NAMED),
            CommandSite::Device(_) => (DEVICE, FOLDER, catalogue::DEVICE_NAMED),
        };
        if text.contains(other) {
            return Err(Error::new(
                ErrorKind::Invalid,
                statement!(catalogue::WRITE_OWN, other = other, is = is, own = own),
            ));
        }
        Ok(text.replace(own, &quote(&self.path().to_string_lossy())))
    }
}

struct Commands<'a> {
    settings: &'a Settings,
    wanted: &'a FigureList,
    environment: Vec<(String, String)>,
}

fn run(target: Target<'_>, settings: &Settings, session: &mut Session<'_>) -> Result<(), Error> {
    let invalid =
        |name: &'static str| move |text: Text| Error::new(ErrorKind::Invalid, text).at(name);
    check_run(settings.text("run")).map_err(invalid("run"))?;
    let wanted = FigureList::parse(settings.text("figures")).map_err(invalid("figures"))?;
    let environment = environment(settings.text("environment"));
    let environment = environment.map_err(invalid("environment"))?;
    let commands = Commands { settings, wanted: &wanted, environment };
    for run in 1..=u32::try_from(settings.count("runs")).unwrap_or(1) {
        let place = CommandSite::new(target, NAME, session)?;
        let next = commands.once(&place, run, session);
        // What was prepared is put away also after a failure, whose error is the one that counts.
        let cleaned = commands.beside("cleanup", &place, true, session);
        if next? == AfterPhase::Stop {
            return Ok(());
        }
        cleaned?;
    }
    Ok(())
}

impl Commands<'_> {
    fn once(
        &self,
        place: &CommandSite,
        run: u32,
        session: &mut Session<'_>,
    ) -> Result<AfterPhase, Error> {
        // What preparing leaves running is there until all is over.
        let Some(_left) = self.beside("prepare", place, false, session)? else {
            return Ok(AfterPhase::Stop);
        };
        program::sync(place.path(), session)?;
        let mut notes = Vec::new();
        if self.settings.switch("drop_caches")
            && let Err(error) = std::fs::write(DROP_CACHES, "3")
        {
            notes.push(Doubt::CacheNotEmptied { reason: block::io_text(&error).at(DROP_CACHES) });
        }
        session.measure_together(&phases(self.wanted), run, |session| {
            self.measured(place, session).map(|done| {
                done.map(|done| {
                    let notes = [notes, done.notes.clone()].concat();
                    let one = WorkDone { notes, ..done };
                    vec![one; self.wanted.rows().len().max(1)]
                })
            })
        })
    }

    fn measured(
        &self,
        place: &CommandSite,
        session: &Session<'_>,
    ) -> Result<Option<WorkDone>, Error> {
        let text = place.put_in(self.settings.text("run"), escape::shell)?;
        let Some(ran) = program::run(&self.program("run", &text, place, false), session)? else {
            return Ok(None);
        };
        let flush = program::sync(place.path(), session)?;
        let figures = self.wanted.read(&ran.output, ran.elapsed);
        let figures =
            figures.map_err(|text| Error::new(ErrorKind::Other, text.and(ran.output.shown())))?;
        let failed = figures.get("failed_transactions_count").filter(|count| **count > 0.0);
        let notes = failed.map(|count| Doubt::TransactionsFailed { count: *count as u64 });
        let mut latency = Latency::new();
        latency.record_duration(ran.elapsed);
        Ok(Some(WorkDone {
            operations: 1,
            read_bytes: 0,
            written_bytes: 0,
            rated_bytes: None,
            elapsed: ran.elapsed,
            ramp: crate::load::Ramp::default(),
            flush: Some(flush),
            beside: Traffic::default(),
            latency,
            sides: None,
            service: None,
            told: Some(figures),
            notes: notes.into_iter().collect(),
        }))
    }

    /// Runs what is not counted. `None` when the session was stopped.
    fn beside(
        &self,
        name: &'static str,
        place: &CommandSite,
        to_the_end: bool,
        session: &Session<'_>,
    ) -> Result<Option<Option<ProcessGroup>>, Error> {
        let text = self.settings.text(name);
        if text.trim().is_empty() {
            return Ok(Some(None));
        }
        let text = place.put_in(text, escape::shell).map_err(|error| error.at(name))?;
        let ran = program::run(&self.program(name, &text, place, to_the_end), session)?;
        Ok(ran.map(|ran| Some(ran.left)))
    }

    fn program<'a>(
        &'a self,
        what: &'a str,
        text: &'a str,
        place: &'a CommandSite,
        to_the_end: bool,
    ) -> Program<'a> {
        Program {
            what: if what == "run" { catalogue::THE_COMMAND.into() } else { what.into() },
            text,
            folder: place.folder(),
            environment: &self.environment,
            limit: self.settings.time("time_limit"),
            to_the_end,
            // It is the user's own, and may do what the user may.
            confinement: None,
        }
    }
}

#[cfg(test)]
mod tests;
