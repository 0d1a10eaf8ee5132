//! How a command ends when it does not end well: one line and an exit code.

use std::process::ExitCode;

use crate::output::Output;

/// Why the command ends, and with which exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    text: String,
}

impl Failure {
    /// Something failed while running: exit code 1.
    pub(crate) fn failed(text: impl Into<String>) -> Failure {
        Failure { code: 1, text: text.into() }
    }

    /// Wrong use, or a wrong plan: exit code 2.
    pub(crate) fn usage(text: impl Into<String>) -> Failure {
        Failure { code: 2, text: text.into() }
    }

    /// Finished, but the results are not valid: exit code 5.
    pub(crate) fn invalid_results(text: impl Into<String>) -> Failure {
        Failure { code: 5, text: text.into() }
    }

    /// Done, but a limit that was given is passed: exit code 3.
    pub(crate) fn limit_passed(text: impl Into<String>) -> Failure {
        Failure { code: 3, text: text.into() }
    }

    /// Interrupted; the text says how to go on: exit code 130.
    pub(crate) fn interrupted(text: impl Into<String>) -> Failure {
        Failure { code: 130, text: text.into() }
    }

    /// An exit code that says all there is to say.
    pub(crate) fn silent(code: u8) -> Failure {
        Failure { code, text: String::new() }
    }

    /// The same with another exit code.
    pub(crate) fn with_code(self, code: u8) -> Failure {
        Failure { code, ..self }
    }

    /// Says so, and gives the exit code.
    pub(crate) fn report(self, output: &Output) -> ExitCode {
        if !self.text.is_empty() {
            output.error(&self.text);
        }
        ExitCode::from(self.code)
    }
}

impl From<host::Error> for Failure {
    fn from(error: host::Error) -> Failure {
        Failure { code: error.exit_code(), text: error.to_string() }
    }
}

impl From<block::Error> for Failure {
    fn from(error: block::Error) -> Failure {
        host::Error::from(error).into()
    }
}
