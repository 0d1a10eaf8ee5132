//! How a command ends when it does not end well: one line and an exit code.

pub(crate) use host::Error as Failure;
