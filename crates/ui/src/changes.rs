//! What is changed from the page: a verb of the command line, as a child of this program, one at a
//! time. There is no shell, and every value stands where it cannot be taken for a flag.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::words::{Language, Text};
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedMutexGuard, watch};

use crate::board::Board;
use crate::catalogue;
use crate::creation::Creation;
use crate::program::{Program, Runner, shell};
use crate::refusal::Refusal;
use crate::verbs::Verb;

/// What the board does or has done.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Job {
    /// Counts the starts of the board.
    number: u64,
    stage: Stage,
    target: String,
    /// The accesses that were asked for: `SEQ1M Q8T1`.
    rows: Vec<String>,
    /// The one under way.
    now: Option<String>,
    /// The commands that were run, as a shell would take them.
    commands: Vec<String>,
    /// What each has printed with `--json`.
    documents: Vec<Value>,
    error: Option<Text>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Stage {
    #[default]
    Idle,
    Running,
    Done,
    Stopped,
    Failed,
}

/// The run that was started from the page last.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Course {
    stage: Stage,
    /// The plan's file or the run's folder, as it was asked for.
    what: String,
    /// The command that was run, as a shell would take it.
    command: Option<String>,
    error: Option<Text>,
}

/// What is made, or was made last, of the answer to the three questions.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct CreationProgress {
    stage: Stage,
    /// The array's name.
    name: String,
    /// The steps so far, in order; the last is under way while the stage is `running`.
    steps: Vec<String>,
    /// The commands that were run, as a shell would take them.
    commands: Vec<String>,
    /// What the verb says of what it made.
    made: Option<Value>,
    error: Option<Text>,
}

/// Carries out what is asked for.
pub(crate) struct Changes(Arc<Inner>);

struct Inner {
    program: Program,
    /// Held while something is under way.
    busy: Arc<tokio::sync::Mutex<()>>,
    job: watch::Sender<String>,
    course: watch::Sender<String>,
    making: watch::Sender<String>,
}

impl Changes {
    pub(crate) fn with(program: PathBuf) -> Changes {
        let job = watch::Sender::new(json!(Job::default()).to_string());
        let course = watch::Sender::new(json!(Course::default()).to_string());
        let making = watch::Sender::new(json!(CreationProgress::default()).to_string());
        let (program, busy) = (Program::new(program), Arc::default());
        Changes(Arc::new(Inner { program, busy, job, course, making }))
    }

    /// What the board does, as JSON, now and whenever it changes.
    pub(crate) fn watch(&self) -> watch::Receiver<String> {
        self.0.job.subscribe()
    }

    /// The run that was started from the page, as JSON, now and whenever it changes.
    pub(crate) fn watch_course(&self) -> watch::Receiver<String> {
        self.0.course.subscribe()
    }

    /// What is made of an answer, as JSON, now and whenever it changes.
    pub(crate) fn watch_making(&self) -> watch::Receiver<String> {
        self.0.making.subscribe()
    }

    /// Begins something that nothing else is done beside, as long as what this returns lives.
    ///
    /// # Errors
    /// A refusal while something is under way.
    pub(crate) fn begin(&self) -> Result<OwnedMutexGuard<()>, Refusal> {
        let held = Arc::clone(&self.0.busy)
            .try_lock_owned()
            .map_err(|_| Refusal::new(StatusCode::CONFLICT, catalogue::UNDER_WAY))?;
        self.0.program.may_run();
        Ok(held)
    }

    /// Carries out a verb and says what it said. It is carried out to its end even where the asker
    /// goes away.
    pub(crate) async fn act(&self, verb: Verb, language: Language) -> Result<Value, Refusal> {
        let held = self.begin()?;
        let inner = Arc::clone(&self.0);
        let work = async move {
            let _held = held;
            verb.carry_out(&inner.program.runner(language)).await
        };
        tokio::spawn(work)
            .await
            .unwrap_or_else(|_| Err(Refusal::failed(catalogue::NOT_CARRIED_OUT)))
    }

    /// Starts the board; what comes of it is heard from [`Changes::watch`].
    pub(crate) fn start_board(&self, board: Board, language: Language) -> Result<(), Refusal> {
        let rows = board.rows().map_err(Refusal::bad)?;
        let held = self.begin()?;
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            let _held = held;
            inner.run_board(&board, rows, language).await;
        });
        Ok(())
    }

    /// Starts a run in a folder; what comes of it is heard from [`Changes::watch_course`].
    pub(crate) fn start_run(
        &self,
        what: String,
        arguments: Vec<String>,
        folder: PathBuf,
        language: Language,
    ) -> Result<(), Refusal> {
        let held = self.begin()?;
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            let _held = held;
            let runner = inner.program.runner(language);
            inner.run_plan(&runner, what, &arguments, &folder).await;
        });
        Ok(())
    }

    /// Starts to make what was answered; what comes of it is heard from
    /// [`Changes::watch_making`].
    pub(crate) fn start_making(
        &self,
        creation: Creation,
        runs: PathBuf,
        language: Language,
    ) -> Result<(), Refusal> {
        let held = self.begin()?;
        let inner = Arc::clone(&self.0);
        let name = creation.name().to_owned();
        let making =
            CreationProgress { stage: Stage::Running, name, ..CreationProgress::default() };
        // Who asks next hears of this one and of none before it.
        inner.making.send_replace(json!(making).to_string());
        tokio::spawn(async move {
            let _held = held;
            let runner = inner.program.runner(language);
            inner.make(&runner, making, &creation, &runs).await;
        });
        Ok(())
    }

    /// Tells what is under way to end; whether anything was.
    pub(crate) fn stop(&self) -> bool {
        self.0.program.stop()
    }

    /// Tells what is under way to end, and waits until it has.
    pub(crate) async fn end(&self) {
        self.stop();
        drop(self.0.busy.lock().await);
    }
}

impl Inner {
    async fn run_board(&self, board: &Board, rows: Vec<String>, language: Language) {
        let before: Value = serde_json::from_str(&self.job.borrow()).unwrap_or_default();
        let mut job = Job {
            number: before["number"].as_u64().unwrap_or(0) + 1,
            stage: Stage::Running,
            target: board.target.clone(),
            rows,
            ..Job::default()
        };
        for row in job.rows.clone() {
            job.now = Some(row.clone());
            self.tell(&job);
            let runner = self.program.runner(language);
            let ended = runner.run(&board.arguments(&row)).await;
            job.commands.extend(runner.commands());
            match ended {
                Ok(ended) => {
                    // What was measured before something went wrong is shown too.
                    job.documents.extend(serde_json::from_str::<Value>(&ended.said).ok());
                    job.error = ended.error;
                }
                Err(refusal) => job.error = Some(refusal.text().clone()),
            }
            if job.error.is_some() || self.program.ends() {
                break;
            }
        }
        job.now = None;
        job.stage = match (&job.error, self.program.ends()) {
            (_, true) => Stage::Stopped,
            (Some(_), false) => Stage::Failed,
            (None, false) => Stage::Done,
        };
        // That it was told to end is no error.
        job.error = job.error.filter(|_| job.stage == Stage::Failed);
        self.tell(&job);
    }

    async fn run_plan(
        &self,
        runner: &Runner<'_>,
        what: String,
        arguments: &[String],
        folder: &Path,
    ) {
        let mut course = Course { stage: Stage::Running, what, ..Course::default() };
        course.command = Some(shell(arguments));
        self.course.send_replace(json!(course).to_string());
        let ended = runner.run_in(Some(folder), arguments).await;
        let error = match ended {
            Ok(ended) => ended.error,
            Err(refusal) => Some(refusal.text().clone()),
        };
        course.stage = match (&error, self.program.ends()) {
            (_, true) => Stage::Stopped,
            (Some(_), false) => Stage::Failed,
            (None, false) => Stage::Done,
        };
        course.error = error.filter(|_| course.stage == Stage::Failed);
        self.course.send_replace(json!(course).to_string());
    }

    async fn make(
        &self,
        runner: &Runner<'_>,
        mut making: CreationProgress,
        creation: &Creation,
        runs: &Path,
    ) {
        let mut on_step = |step: &str| {
            making.steps.push(step.to_owned());
            making.commands = runner.commands();
            self.making.send_replace(json!(making).to_string());
        };
        let made = creation.carry_out(runner, runs, &mut on_step).await;
        making.commands = runner.commands();
        match made {
            Ok(made) => (making.stage, making.made) = (Stage::Done, Some(made)),
            // What was told to end says what it has taken back.
            Err(refusal) => {
                let ends = self.program.ends();
                making.stage = if ends { Stage::Stopped } else { Stage::Failed };
                making.error = Some(refusal.text().clone());
            }
        }
        self.making.send_replace(json!(making).to_string());
    }

    fn tell(&self, job: &Job) {
        self.job.send_replace(json!(job).to_string());
    }
}
