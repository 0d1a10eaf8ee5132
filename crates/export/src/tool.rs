//! Programs of the system that do something for us and whose answers are shown or read.
//!
//! They speak the language of whoever started us, unless they are told otherwise: what they say
//! stands in our own sentences, and what is read of it is in the form that their manuals give.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// A program that answers in English, whatever the language here, and is asked nothing.
#[must_use]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C").env_remove("LANGUAGE").stdin(Stdio::null());
    command
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
}
