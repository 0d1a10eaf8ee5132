//! How a command ends when it does not end well: one line and an exit code.

use std::path::PathBuf;

pub(crate) use host::Error as Failure;

use crate::catalogue;

/// Where this program lies, to be started anew.
pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::from_io(catalogue::THIS_PROGRAM, &error))
}
