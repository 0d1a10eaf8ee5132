//! This program again, as a child: the verbs that the page asks for, one at a time.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::words::{Language, Text, statement};
use axum::http::StatusCode;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{ChildStderr, Command};

use crate::catalogue;
use crate::refusal::Refusal;

/// This program, and the process of it that is at work.
pub(crate) struct Program {
    path: PathBuf,
    child: Mutex<Child>,
}

/// The process that is at work.
#[derive(Debug, Default)]
struct Child {
    process: Option<u32>,
    /// Whether it was told to end, and nothing else is to begin.
    ends: bool,
}

impl Program {
    pub(crate) fn new(path: PathBuf) -> Program {
        Program { path, child: Mutex::default() }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs verbs that speak this language.
    pub(crate) fn runner(&self, language: Language) -> Runner<'_> {
        Runner { program: self, language, commands: Mutex::default() }
    }

    /// Forgets that what was at work before was told to end.
    pub(crate) fn may_run(&self) {
        self.child().ends = false;
    }

    /// Whether what is at work was told to end.
    pub(crate) fn ends(&self) -> bool {
        self.child().ends
    }

    /// Tells what is at work to end; whether anything was.
    pub(crate) fn stop(&self) -> bool {
        let mut child = self.child();
        child.ends = true;
        let process = child.process.and_then(|process| Pid::from_raw(process.cast_signed()));
        process.is_some_and(|process| kill_process(process, Signal::TERM).is_ok())
    }
}

/// Runs the program's verbs, and remembers which.
pub(crate) struct Runner<'a> {
    program: &'a Program,
    language: Language,
    commands: Mutex<Vec<String>>,
}

/// How a verb has ended.
pub(crate) struct VerbEnd {
    /// Its standard output.
    pub(crate) said: String,
    /// What it said when it failed.
    pub(crate) error: Option<Text>,
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
    pub(crate) async fn run(&self, arguments: &[String]) -> Result<VerbEnd, Refusal> {
        self.run_in(None, arguments).await
    }

    /// The same in another folder than the page's server is in.
    pub(crate) async fn run_in(
        &self,
        folder: Option<&Path>,
        arguments: &[String],
    ) -> Result<VerbEnd, Refusal> {
        self.run_heard(folder, arguments, &mut |_| ()).await
    }

    /// The same; `on_line` hears each line of its standard error as it comes.
    async fn run_heard(
        &self,
        folder: Option<&Path>,
        arguments: &[String],
        on_line: &mut (dyn FnMut(&str) + Send),
    ) -> Result<VerbEnd, Refusal> {
        let failed = |error: std::io::Error| {
            Refusal::failed(host::Error::from_io(catalogue::STARTING, &error))
        };
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).push(shell(arguments));
        let mut command = Command::new(&self.program.path);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        command.args(arguments).env("RAIDLOOM_LANG", self.language.tag());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C in the terminal goes to the page's server, which tells its child by itself: told
        // twice, it would end at once and leave things behind.
        command.process_group(0);
        let mut child = {
            let mut known = self.program.child();
            if known.ends {
                return Err(Refusal::failed(catalogue::TOLD_TO_END));
            }
            let child = command.spawn().map_err(failed)?;
            known.process = child.id();
            child
        };
        let lines = heard(child.stderr.take(), on_line);
        let (stderr, output) = tokio::join!(lines, child.wait_with_output());
        self.program.child().process = None;
        Ok(ended(&Output { stderr, ..output.map_err(failed)? }))
    }

    /// Runs one verb; its standard output.
    ///
    /// # Errors
    /// What it says when it fails.
    pub(crate) async fn done(&self, arguments: &[String]) -> Result<String, Refusal> {
        self.run(arguments).await?.done()
    }

    /// The same in a folder; `on_line` hears each line of its standard error as it comes.
    ///
    /// # Errors
    /// As [`Runner::done`].
    pub(crate) async fn told(
        &self,
        folder: &Path,
        arguments: &[String],
        on_line: &mut (dyn FnMut(&str) + Send),
    ) -> Result<String, Refusal> {
        self.run_heard(Some(folder), arguments, on_line).await?.done()
    }
}

impl VerbEnd {
    /// Its standard output, or what it said when it failed.
    fn done(self) -> Result<String, Refusal> {
        match self.error {
            Some(error) => Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error)),
            None => Ok(self.said),
        }
    }
}

/// All that a verb writes to its standard error, heard line by line.
async fn heard(stderr: Option<ChildStderr>, on_line: &mut (dyn FnMut(&str) + Send)) -> Vec<u8> {
    let mut all = Vec::new();
    let Some(stderr) = stderr else { return all };
    let mut stderr = BufReader::new(stderr);
    loop {
        let begin = all.len();
        match stderr.read_until(b'\n', &mut all).await {
            Ok(0) | Err(_) => return all,
            Ok(_) => on_line(String::from_utf8_lossy(&all[begin..]).trim_end()),
        }
    }
}

/// A command line of this program as a shell would take it.
pub(crate) fn shell(arguments: &[String]) -> String {
    let words = arguments.iter().map(|word| escape::shell(word));
    ["raidloom".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

fn ended(output: &Output) -> VerbEnd {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return VerbEnd { said, error: None };
    }
    let told = String::from_utf8_lossy(&output.stderr);
    // Notes come before it.
    let error = match (of_document(&told), told.rfind("raidloom: ")) {
        (Some(error), _) => error,
        (None, Some(at)) => told[at + "raidloom: ".len()..].trim_end().into(),
        (None, None) if told.trim().is_empty() => {
            statement!(catalogue::ENDED_WITH, status = output.status.to_string())
        }
        (None, None) => told.trim_end().into(),
    };
    VerbEnd { said, error: Some(error) }
}

/// What a verb with `--json` says when it fails.
#[derive(Deserialize)]
struct ErrorDocument {
    error: ErrorText,
}

#[derive(Deserialize)]
struct ErrorText {
    parts: Text,
}

/// The error of a verb that says what goes wrong as a document.
fn of_document(told: &str) -> Option<Text> {
    let document = told.lines().rev().find_map(|line| serde_json::from_str(line).ok());
    document.map(|ErrorDocument { error }| error.parts)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn of(code: i32, stderr: &str) -> Option<String> {
        let status = ExitStatus::from_raw(code << 8);
        let ended = ended(&Output { status, stdout: Vec::new(), stderr: stderr.into() });
        ended.error.map(|error| error.to_string())
    }

    #[test]
    fn of_what_a_verb_says_the_error_is_shown() {
        assert_eq!(of(0, "note: nothing"), None);
        let said = "note: K is 1024\nraidloom: a.img: it is mounted\nunmount it first\n";
        assert_eq!(of(4, said).as_deref(), Some("a.img: it is mounted\nunmount it first"));
        assert_eq!(of(2, "error: no such flag\n").as_deref(), Some("error: no such flag"));
        assert_eq!(of(3, "").as_deref(), Some("it ended with exit status: 3"));
        let document = "note: no\n{\"error\":{\"exit_code\":4,\"text\":\"b: no\",\"parts\":\
            [{\"at\":\"a\"},{\"code\":\"no\",\"names\":{},\"en\":\"no\",\"ja\":\"x\"}]}}\n";
        assert_eq!(of(4, document).as_deref(), Some("a: no"));
    }
}
