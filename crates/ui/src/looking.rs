//! What the page shows without changing anything: the same data as the verbs' `--json`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ::words::{Language, Text};
use host::Error;
use lab::watch::{self, RunState, Stage, Stamp};
use results::analysis::Analysis;
use serde::Serialize;
use serde_json::{Value, json};
use serve::{Runtime, Status};

use crate::catalogue;

/// Arrays that run, as `array status --json` has them, and what could not be asked. What servers
/// that were killed have left behind is left alone.
pub(crate) fn arrays() -> Value {
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
    json!({ "arrays": statuses, "problems": problems })
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

/// How many runs are shown.
const RUNS_SHOWN: usize = 100;

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
        let folders = watch::runs_in(&self.folder);
        let more = folders.len().saturating_sub(RUNS_SHOWN);
        let shown: Vec<ListedRun> = folders
            .into_iter()
            .take(RUNS_SHOWN)
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
        json!({ "folder": self.folder, "runs": shown, "more": more })
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
        let analysis = lab::alone::with_starts(&folder, &run, results::analyse(&run));
        Ok(::words::in_language(language, || report::html(&run, &analysis)))
    }
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
