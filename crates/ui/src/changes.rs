//! What is changed from the page: a verb of the command line, as a child of this program, one at a
//! time. There is no shell, and every value stands where it cannot be taken for a flag.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use host::{Ending, Error};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::{OwnedMutexGuard, watch};

use crate::board::Board;
use crate::verbs::Verb;

/// Why a request was not done: a status, and one line for people.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    text: String,
}

impl Refusal {
    fn new(status: StatusCode, text: impl Into<String>) -> Refusal {
        Refusal { status, text: text.into() }
    }

    /// What was sent makes no sense.
    pub(crate) fn bad(text: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, text)
    }

    /// It may not be done.
    pub(crate) fn forbidden(text: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, text)
    }

    /// There is no such thing.
    pub(crate) fn not_found(text: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, text)
    }

    /// The same with where it stands in front.
    pub(crate) fn at(self, place: &str) -> Refusal {
        Refusal { text: format!("{place}: {}", self.text), ..self }
    }

    /// It was tried and failed.
    pub(crate) fn failed(text: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let status = match error.ending() {
            Ending::Usage => StatusCode::BAD_REQUEST,
            Ending::Refused => StatusCode::FORBIDDEN,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal::new(status, error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let text = json!({ "error": self.text }).to_string();
        (self.status, [(CONTENT_TYPE, "application/json")], text).into_response()
    }
}

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
    error: Option<String>,
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
    error: Option<String>,
}

/// Carries out what is asked for.
pub(crate) struct Changes(Arc<Inner>);

struct Inner {
    program: PathBuf,
    /// Held while something is under way.
    busy: Arc<tokio::sync::Mutex<()>>,
    job: watch::Sender<String>,
    course: watch::Sender<String>,
    child: Mutex<Child>,
}

/// The process that is at work.
#[derive(Debug, Default)]
struct Child {
    process: Option<u32>,
    /// Whether it was told to end, and nothing else is to begin.
    ends: bool,
}

impl Changes {
    pub(crate) fn with(program: PathBuf) -> Changes {
        let job = watch::Sender::new(json!(Job::default()).to_string());
        let course = watch::Sender::new(json!(Course::default()).to_string());
        let (busy, child) = (Arc::default(), Mutex::default());
        Changes(Arc::new(Inner { program, busy, job, course, child }))
    }

    /// What the board does, as JSON, now and whenever it changes.
    pub(crate) fn watch(&self) -> watch::Receiver<String> {
        self.0.job.subscribe()
    }

    /// The run that was started from the page, as JSON, now and whenever it changes.
    pub(crate) fn watch_course(&self) -> watch::Receiver<String> {
        self.0.course.subscribe()
    }

    fn begin(&self) -> Result<OwnedMutexGuard<()>, Refusal> {
        let held = Arc::clone(&self.0.busy).try_lock_owned().map_err(|_| {
            Refusal::new(
                StatusCode::CONFLICT,
                "something is under way already, and one thing is done at a time: wait for it, or \
                stop it",
            )
        })?;
        self.0.child().ends = false;
        Ok(held)
    }

    /// Carries out a verb and says what it said. It is carried out to its end even where the asker
    /// goes away.
    pub(crate) async fn act(&self, verb: Verb) -> Result<Value, Refusal> {
        let held = self.begin()?;
        let inner = Arc::clone(&self.0);
        let work = async move {
            let _held = held;
            verb.carry_out(&inner.runner()).await
        };
        tokio::spawn(work)
            .await
            .unwrap_or_else(|_| Err(Refusal::failed("the verb could not be carried out")))
    }

    /// Starts the board; what comes of it is heard from [`Changes::watch`].
    pub(crate) fn start_board(&self, board: Board) -> Result<(), Refusal> {
        let rows = board.rows().map_err(Refusal::bad)?;
        let held = self.begin()?;
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            let _held = held;
            inner.run_board(&board, rows).await;
        });
        Ok(())
    }

    /// Starts a run in a folder; what comes of it is heard from [`Changes::watch_course`].
    pub(crate) fn start_run(
        &self,
        what: String,
        arguments: Vec<String>,
        folder: PathBuf,
    ) -> Result<(), Refusal> {
        let held = self.begin()?;
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            let _held = held;
            inner.run_plan(what, &arguments, &folder).await;
        });
        Ok(())
    }

    /// Tells what is under way to end; whether anything was.
    pub(crate) fn stop(&self) -> bool {
        let mut child = self.0.child();
        child.ends = true;
        let process = child.process.and_then(|process| Pid::from_raw(process.cast_signed()));
        process.is_some_and(|process| kill_process(process, Signal::TERM).is_ok())
    }

    /// Tells what is under way to end, and waits until it has.
    pub(crate) async fn end(&self) {
        self.stop();
        drop(self.0.busy.lock().await);
    }
}

impl Inner {
    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runner(&self) -> Runner<'_> {
        Runner { inner: self, commands: Mutex::default() }
    }

    async fn run_board(&self, board: &Board, rows: Vec<String>) {
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
            let runner = self.runner();
            let ended = runner.run(&board.arguments(&row)).await;
            job.commands.extend(runner.commands());
            match ended {
                Ok(ended) => {
                    // What was measured before something went wrong is shown too.
                    job.documents.extend(serde_json::from_str::<Value>(&ended.said).ok());
                    job.error = ended.error;
                }
                Err(refusal) => job.error = Some(refusal.text),
            }
            if job.error.is_some() || self.child().ends {
                break;
            }
        }
        job.now = None;
        job.stage = match (&job.error, self.child().ends) {
            (_, true) => Stage::Stopped,
            (Some(_), false) => Stage::Failed,
            (None, false) => Stage::Done,
        };
        // That it was told to end is no error.
        job.error = job.error.filter(|_| job.stage == Stage::Failed);
        self.tell(&job);
    }

    async fn run_plan(&self, what: String, arguments: &[String], folder: &Path) {
        let mut course = Course { stage: Stage::Running, what, ..Course::default() };
        course.command = Some(shell(arguments));
        self.course.send_replace(json!(course).to_string());
        let ended = self.runner().run_in(Some(folder), arguments).await;
        let error = match ended {
            Ok(ended) => ended.error,
            Err(refusal) => Some(refusal.text),
        };
        course.stage = match (&error, self.child().ends) {
            (_, true) => Stage::Stopped,
            (Some(_), false) => Stage::Failed,
            (None, false) => Stage::Done,
        };
        course.error = error.filter(|_| course.stage == Stage::Failed);
        self.course.send_replace(json!(course).to_string());
    }

    fn tell(&self, job: &Job) {
        self.job.send_replace(json!(job).to_string());
    }
}

/// Runs this program's verbs, and remembers which.
pub(crate) struct Runner<'a> {
    inner: &'a Inner,
    commands: Mutex<Vec<String>>,
}

/// How a verb has ended.
pub(crate) struct Ended {
    /// Its standard output.
    pub(crate) said: String,
    /// What it said when it failed.
    pub(crate) error: Option<String>,
}

impl Runner<'_> {
    /// The commands so far, as a shell would take them.
    pub(crate) fn commands(&self) -> Vec<String> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs one verb to its end.
    ///
    /// # Errors
    /// When it could not be started, or the page is being ended.
    pub(crate) async fn run(&self, arguments: &[String]) -> Result<Ended, Refusal> {
        self.run_in(None, arguments).await
    }

    /// The same in another folder than the page's server is in.
    async fn run_in(&self, folder: Option<&Path>, arguments: &[String]) -> Result<Ended, Refusal> {
        let failed = |error: std::io::Error| Refusal::failed(format!("starting the verb: {error}"));
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).push(shell(arguments));
        let mut command = Command::new(&self.inner.program);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C in the terminal goes to the page's server, which tells its child by itself: told
        // twice, it would end at once and leave things behind.
        command.process_group(0);
        let child = {
            let mut known = self.inner.child();
            if known.ends {
                return Err(Refusal::failed("it was told to end"));
            }
            let child = command.spawn().map_err(failed)?;
            known.process = child.id();
            child
        };
        let output = child.wait_with_output().await;
        self.inner.child().process = None;
        Ok(ended(&output.map_err(failed)?))
    }

    /// Runs one verb; its standard output.
    ///
    /// # Errors
    /// What it says when it fails.
    pub(crate) async fn done(&self, arguments: &[String]) -> Result<String, Refusal> {
        match self.run(arguments).await? {
            Ended { error: Some(error), .. } => {
                Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error))
            }
            Ended { said, .. } => Ok(said),
        }
    }
}

/// A command line of this program as a shell would take it.
fn shell(arguments: &[String]) -> String {
    let words = arguments.iter().map(|word| escape::shell(word));
    ["raidloom".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

fn ended(output: &Output) -> Ended {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ended { said, error: None };
    }
    let told = String::from_utf8_lossy(&output.stderr);
    // Notes come before it.
    let error = match told.rfind("raidloom: ") {
        Some(at) => told[at + "raidloom: ".len()..].trim_end().to_owned(),
        None if told.trim().is_empty() => format!("it ended with {}", output.status),
        None => told.trim_end().to_owned(),
    };
    Ended { said, error: Some(error) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn of(code: i32, stderr: &str) -> Option<String> {
        let status = ExitStatus::from_raw(code << 8);
        ended(&Output { status, stdout: Vec::new(), stderr: stderr.into() }).error
    }

    #[test]
    fn of_what_a_verb_says_the_error_is_shown() {
        assert_eq!(of(0, "note: nothing"), None);
        let said = "note: K is 1024\nraidloom: a.img: it is mounted\nunmount it first\n";
        assert_eq!(of(4, said).as_deref(), Some("a.img: it is mounted\nunmount it first"));
        assert_eq!(of(2, "error: no such flag\n").as_deref(), Some("error: no such flag"));
        assert_eq!(of(3, "").as_deref(), Some("it ended with exit status: 3"));
    }
}
