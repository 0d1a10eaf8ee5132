//! How a command ends when it does not end well: one line and an exit code.

use std::process::ExitCode;

pub(crate) use host::Error as Failure;

use crate::output::Output;

/// Says why, and gives the exit code.
pub(crate) fn report(failure: &Failure, output: &Output) -> ExitCode {
    let text = failure.to_string();
    if !text.is_empty() {
        output.error(&text);
    }
    ExitCode::from(failure.exit_code())
}
