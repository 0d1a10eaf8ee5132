//! What the page shows without changing anything: the same data as the verbs' `--json`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ::words::{Language, Text};
use host::Error;
use lab::watch::{self, RunState, Stage, Stamp};
use results::analysis::Analysis;
use results::claim::Answer;
use results::compare::{CellChange, compare};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serve::{Client, Runtime, Status};

use crate::catalogue;
use crate::machine::{Machine, is_measured};

/// Arrays that run, as `array status --json` has them, what the machine does with each beside, and
/// what could not be asked. What servers that were killed have left behind is left alone.
pub(crate) fn arrays(machine: &Machine, runs: &Runs) -> Value {
    let (mut statuses, mut problems): (Vec<Status>, Vec<Text>) = (Vec::new(), Vec::new());
    match Runtime::find() {
        Ok(runtime) => {
            for (_, status) in serve::statuses(&runtime) {
                match status {
                    Ok(status) => statuses.push(status),
                    Err(error) => problems.push(error.text().clone()),
                }
            }
        }
        Err(error) => problems.push(error.text().clone()),
    }
    let machine = machine.look(&statuses, &runs.running());
    json!({ "arrays": statuses, "machine": machine, "problems": problems })
}

/// Refuses what would be done with an array that a run measures. An array that cannot be asked is
/// the verb's to refuse.
///
/// # Errors
/// A refusal with the array's name.
pub(crate) fn need_unmeasured(name: &str, runs: &Runs) -> Result<(), Error> {
    let status = Runtime::find().and_then(|runtime| Client::connect(&runtime, name)?.status()).ok();
    match status.is_some_and(|status| is_measured(&status, &runs.running())) {
        true => Err(Error::refused(catalogue::MEASURED).at(name)),
        false => Ok(()),
    }
}

/// A run, and what the page calls it.
#[derive(Clone, Debug, Serialize)]
struct ListedRun {
    /// What the page names it by: its path from the folder of runs on.
    id: String,
    #[serde(flatten)]
    state: Option<RunState>,
    /// What the report of a finished run says first, by the tag of the language.
    answer: BTreeMap<&'static str, Vec<String>>,
    /// Why it cannot be read.
    problem: Option<Text>,
}

/// Two runs that are to be compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComparedRuns {
    first: String,
    second: String,
    /// Whatever differs between their conditions.
    #[serde(default)]
    allow: bool,
}

/// How many runs are shown.
const RUNS_SHOWN: usize = 100;
/// How many cells of two runs are shown.
const CELLS_SHOWN: usize = 300;

/// A run that goes on is not looked at again within so many seconds: its figures are analysed each
/// time, and it is measuring.
const RUNNING_SECONDS: u64 = 5;

/// The runs in a folder. Looking at one that has not changed since costs a few `stat`.
pub(crate) struct Runs {
    folder: PathBuf,
    known: Mutex<HashMap<PathBuf, SeenRun>>,
}

/// What was seen of a run, and when.
struct SeenRun {
    stamp: Stamp,
    unix_seconds: u64,
    shown: ListedRun,
}

impl SeenRun {
    fn still_holds(&self, stamp: &Stamp, now: u64) -> bool {
        let is_running =
            self.shown.state.as_ref().is_some_and(|state| state.stage == Stage::Running);
        let is_young = now.abs_diff(self.unix_seconds) < RUNNING_SECONDS;
        self.stamp == *stamp || is_running && is_young && self.stamp.worker == stamp.worker
    }
}

impl Runs {
    pub(crate) fn of(folder: PathBuf) -> Runs {
        Runs { folder, known: Mutex::default() }
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How they stand, the latest first.
    pub(crate) fn all(&self) -> Value {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut folders = watch::runs_in(&self.folder);
        let more = folders.len().saturating_sub(RUNS_SHOWN);
        folders.truncate(RUNS_SHOWN);
        known.retain(|folder, _| folders.contains(folder));
        let mut shown: Vec<ListedRun> = folders
            .into_iter()
            .map(|folder| {
                let (stamp, unix_seconds) = (watch::stamp(&folder), host::facts::unix_seconds());
                let before = known.get(&folder);
                if let Some(before) = before.filter(|one| one.still_holds(&stamp, unix_seconds)) {
                    return before.shown.clone();
                }
                let shown = self.look(&folder);
                known.insert(folder, SeenRun { stamp, unix_seconds, shown: shown.clone() });
                shown
            })
            .collect();
        // A run that was copied here is as old as it says itself.
        let begun = |run: &ListedRun| run.state.as_ref().map(|state| state.started.clone());
        shown.sort_by_key(|run| std::cmp::Reverse(begun(run)));
        json!({ "folder": self.folder, "runs": shown, "more": more })
    }

    /// The folders of those that went on when [`Runs::all`] looked last.
    pub(crate) fn running(&self) -> Vec<PathBuf> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let states = known.values().filter_map(|seen| seen.shown.state.as_ref());
        let running = states.filter(|state| state.stage == Stage::Running);
        running.map(|state| state.folder.clone()).collect()
    }

    /// What `raidloom compare` says of two runs.
    ///
    /// # Errors
    /// When there is no such run, one cannot be read, or they have nothing in common.
    pub(crate) fn compare(&self, asked: &ComparedRuns) -> Result<Value, Error> {
        let read = |id: &str| lab::read(&self.find(id)?);
        let (first, second) = (read(&asked.first)?, read(&asked.second)?);
        let changes = compare(&first, &second, first.plan.margin, None);
        if changes.cells.is_empty() {
            return Err(Error::usage(catalogue::NOTHING_IN_COMMON));
        }
        if !changes.differing.is_empty() && !asked.allow {
            return Ok(json!({ "differing": changes.differing }));
        }
        let has_changed =
            |cell: &&CellChange| matches!(cell.claim.answer, Answer::Ahead | Answer::Behind);
        let judged = changes.cells.iter().filter(|cell| cell.judged);
        let others = changes.cells.iter().filter(|cell| !cell.judged).filter(has_changed);
        let cells: Vec<Value> = judged.chain(others).map(cell_shown).collect();
        Ok(json!({
            "differing": changes.differing,
            "summary": changes.summary,
            "common_shift": changes.common_shift,
            "notes": changes.notes.iter().map(report::comparison_note).collect::<Vec<_>>(),
            "more": cells.len().saturating_sub(CELLS_SHOWN),
            "cells": cells.into_iter().take(CELLS_SHOWN).collect::<Vec<_>>(),
        }))
    }

    /// Deletes a run, as [`lab::delete_run`] does it; what lies in its folder besides and was left.
    ///
    /// # Errors
    /// As there, and when there is no such run here, or it is the folder of runs itself.
    pub(crate) fn delete(&self, id: &str) -> Result<Value, Error> {
        let folder = self.find(id)?;
        if folder == self.folder {
            return Err(Error::refused(catalogue::FOLDER_OF_RUNS).at(folder.display()));
        }
        let left = lab::delete_run(&folder)?;
        Ok(json!({ "deleted": folder, "left": left }))
    }

    fn look(&self, folder: &Path) -> ListedRun {
        let (mut state, problem) = match watch::look(folder) {
            Ok(state) => (Some(state), None),
            Err(error) => (None, Some(error.text().clone())),
        };
        // What is kept of it is what is shown.
        let finished = state.as_mut().and_then(|state| state.analysis.take());
        let answer = finished.map_or_else(BTreeMap::new, |analysis| answers(&analysis));
        ListedRun { id: self.id(folder), state, answer, problem }
    }

    /// Its path from the folder of runs on; `.` for that itself.
    fn id(&self, run: &Path) -> String {
        let rest = run.strip_prefix(&self.folder).unwrap_or(run).to_string_lossy().into_owned();
        if rest.is_empty() { ".".to_owned() } else { rest }
    }

    /// The folder of what the page calls so.
    ///
    /// # Errors
    /// When there is no such run.
    pub(crate) fn find(&self, id: &str) -> Result<PathBuf, Error> {
        let mut folders = watch::runs_in(&self.folder).into_iter();
        folders.find(|run| self.id(run) == id).ok_or_else(|| Error::usage(catalogue::NO_RUN).at(id))
    }

    /// The page of a run's report, made from its figures. Only what [`Runs::all`] shows has one.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    pub(crate) fn report(&self, id: &str, language: Language) -> Result<String, Error> {
        let folder = self.find(id)?;
        let run = lab::read(&folder)?;
        let analysis = lab::configuration_start::with_starts(&folder, &run, results::analyse(&run));
        Ok(::words::in_language(language, || report::html(&run, &analysis)))
    }
}

/// A cell of two runs, as the page shows it.
fn cell_shown(cell: &CellChange) -> Value {
    json!({
        "settings": cell.settings.values().collect::<Vec<_>>(),
        "workload": cell.workload,
        "metric": cell.claim.metric,
        "judged": cell.judged,
        "medians": cell.medians,
        "ratio": cell.claim.ratio,
        "interval": cell.claim.shown_interval(),
        "better": cell.claim.better,
        "answer": cell.claim.answer,
    })
}

/// What the report of a run says first, in every language.
fn answers(analysis: &Analysis) -> BTreeMap<&'static str, Vec<String>> {
    let said = |language| ::words::in_language(language, || report::answer(analysis));
    Language::ALL.into_iter().map(|language| (language.tag(), said(language))).collect()
}

/// What a plan's text comes to: as `run plan --json` says it. Nothing is opened for writing.
///
/// # Errors
/// What is wrong with it: one line with line and column.
pub(crate) fn plan(text: &str, folder: &Path) -> Result<Value, Error> {
    let resolved = lab::plan::resolve("the plan", text, &[])?;
    let outline = lab::plan::outline(&resolved.plan)?;
    lab::plan::room(&resolved.plan, folder)?;
    Ok(json!({ "plan": resolved.plan, "skipped": resolved.skipped, "outline": outline }))
}
