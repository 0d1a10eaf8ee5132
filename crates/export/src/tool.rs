//! Programs of the system that do something for us and whose answers are shown or read.
//!
//! They speak the language of whoever started us, unless they are told otherwise: what they say
//! stands in our own sentences, and what is read of it is in the form that their manuals give.

use std::ffi::OsStr;
use std::io;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How often it is looked whether what is waited for is still wanted.
pub const LOOK: Duration = Duration::from_millis(200);
/// How often a program is asked to end before it is killed: for five seconds.
const ASKED_MAX: u32 = 25;

/// A program that answers in English, whatever the language here, and is asked nothing.
#[must_use]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C").env_remove("LANGUAGE").stdin(Stdio::null());
    command
}

/// Waits for a program whose output is captured. It is ended when it is not wanted any more, which
/// is asked every [`LOOK`]: asked to end, and killed where that does nothing.
///
/// # Errors
/// What the system says about waiting for it.
pub fn output_while(program: Child, is_wanted: &(dyn Fn() -> bool + '_)) -> io::Result<Output> {
    // Before Linux 5.3 it cannot be told for certain, and has to come to its end.
    let Ok(process) = pidfd_open(Pid::from_child(&program), PidfdFlags::empty()) else {
        return program.wait_with_output();
    };
    let (sender, ended) = mpsc::channel();
    let wait = move || {
        let _ = sender.send(program.wait_with_output());
    };
    std::thread::Builder::new().name("program".to_owned()).spawn(wait)?;
    let mut asked = 0;
    loop {
        match ended.recv_timeout(LOOK) {
            Ok(output) => return output,
            Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::BrokenPipe.into()),
            Err(RecvTimeoutError::Timeout) if is_wanted() => (),
            // One that is gone already needs no word.
            Err(RecvTimeoutError::Timeout) => {
                let signal = if asked < ASKED_MAX { Signal::TERM } else { Signal::KILL };
                let _ = pidfd_send_signal(&process, signal);
                asked += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_answers_in_english_in_any_language() {
        let script = "echo \"$LC_ALL$LANGUAGE\"; cat";
        let said = command("sh").args(["-c", script]).output().unwrap();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), "C\n");
    }

    #[test]
    fn a_program_that_is_not_wanted_any_more_is_ended() {
        let start = |script: &str| {
            let mut command = command("sh");
            command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let output = output_while(start("echo made; exit 3"), &|| true).unwrap();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"made\n"[..]));
        let output = output_while(start("echo begun; exec sleep 1000"), &|| false).unwrap();
        assert_eq!((output.status.code(), &output.stdout[..]), (None, &b"begun\n"[..]));
        let deaf = start("trap '' TERM; echo begun; exec sleep 1000");
        let output = output_while(deaf, &|| false).unwrap();
        assert_eq!((output.status.code(), &output.stdout[..]), (None, &b"begun\n"[..]));
    }
}
