//! The ways by which a notice reaches somebody. One that fails is said on the error output, and the
//! others are tried all the same.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::json;
use words::Text;

use super::notices::Notice;
use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::output::Output;

/// Who is told besides the standard output.
#[derive(Args, Debug)]
pub(super) struct NoticeTargets {
    /// Run this program for each notice, with RAIDLOOM_ARRAY, RAIDLOOM_EVENT and RAIDLOOM_TEXT set
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,

    /// Mail each notice to this address, with the machine's own `sendmail`
    #[arg(long, value_name = "ADDRESS")]
    mail: Option<String>,

    /// Send each notice to this address as JSON, by `curl`
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
}

impl NoticeTargets {
    /// Whether they can be taken at all, before something happens.
    ///
    /// # Errors
    /// For what is no address, and a program that is not there.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if let Some(program) = self.run.as_ref().filter(|program| !program.is_file()) {
            return Err(Failure::usage(catalogue::NO_NOTICE_PROGRAM)
                .at(format!("--run {}", program.display())));
        }
        if let Some(address) = &self.mail {
            let is_one = address.contains('@') && !address.contains(char::is_whitespace);
            if !is_one || address.starts_with('-') {
                return Err(
                    Failure::usage(catalogue::NO_MAIL_ADDRESS).at(format!("--mail {address}"))
                );
            }
            needs("sendmail", "--mail", catalogue::MAIL_PROGRAM.into())?;
        }
        if let Some(url) = &self.webhook {
            if !url.starts_with("http://") && !url.starts_with("https://") {
                return Err(
                    Failure::usage(catalogue::NO_WEB_ADDRESS).at(format!("--webhook {url}"))
                );
            }
            needs("curl", "--webhook", "`apt-get install curl`".into())?;
        }
        Ok(())
    }

    /// Tells it.
    ///
    /// # Errors
    /// When the standard output takes no more.
    pub(super) fn tell(&self, output: &Output, notice: &Notice) -> Result<(), Failure> {
        let Notice { server, kind, text } = notice;
        // What programs read is English.
        let english = text.english();
        let document = json!({"array": server, "event": kind, "text": english});
        if output.json {
            output.result(&document.to_string())?;
        } else {
            output.result(&format!("{server}: {}: {text}", kind.name()))?;
        }
        if let Some(program) = &self.run {
            let mut command = Command::new(program);
            command.env("RAIDLOOM_ARRAY", server);
            command.env("RAIDLOOM_EVENT", kind.name()).env("RAIDLOOM_TEXT", english);
            told(output, command, "");
        }
        if let Some(address) = &self.mail {
            let mut command = Command::new("sendmail");
            command.args(["-i", "--", address]);
            let subject = format!("raidloom: {server} {}", kind.name());
            told(
                output,
                command,
                &format!("To: {address}\nSubject: {subject}\n\n{server}: {text}\n"),
            );
        }
        if let Some(url) = &self.webhook {
            let mut command = Command::new("curl");
            command.args(["--silent", "--show-error", "--fail", "--max-time", "10"]);
            command.args(["--header", "Content-Type: application/json", "--data-binary", "@-"]);
            command.args(["--output", "/dev/null", "--url", url]);
            told(output, command, &document.to_string());
        }
        Ok(())
    }
}

/// Whether a program is there.
fn needs(program: &str, flag: &str, advice: Text) -> Result<(), Failure> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&paths).any(|folder| folder.join(program).is_file());
    if is_there {
        return Ok(());
    }
    Err(Failure::usage(statement!(
        NOTICE_NEEDS_PROGRAM,
        flag = flag,
        program = program,
        advice = advice
    )))
}

/// Runs a program with `input`, and says when it did not end well.
fn told(output: &Output, mut command: Command, input: &str) {
    let name = command.get_program().to_string_lossy().into_owned();
    let result = (|| {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn()?;
        // One that does not read it may have ended by now.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        child.wait()
    })();
    match result {
        Ok(status) if status.success() => (),
        Ok(status) => output.note(&say!(NOTICE_MAY_NOT_HAVE_ARRIVED, name = name, why = status)),
        Err(error) => output.note(&say!(NOTICE_NOT_ARRIVED, name = name, why = error)),
    }
}
