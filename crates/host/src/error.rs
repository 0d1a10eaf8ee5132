//! One error type for the lab: what a person reads, and which exit code it means.

use std::fmt;
use std::io;

/// What kind of end an error is, as far as the command line has to tell cases apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The plan or the command makes no sense, or names something that is not there. Nothing was
    /// written.
    Usage,
    /// A member was refused for safety's sake. Nothing was written to it.
    Refused,
    /// Something failed while running; the run can be resumed when it had begun.
    Failed,
}

/// An error: how it ends the command, and one line for the person who reads it.
#[derive(Debug)]
pub struct Error {
    ending: Ending,
    text: String,
}

impl Error {
    /// An error in the plan or the command.
    #[must_use]
    pub fn usage(text: impl Into<String>) -> Error {
        Error { ending: Ending::Usage, text: text.into() }
    }

    /// A member that must not be opened.
    #[must_use]
    pub fn refused(text: impl Into<String>) -> Error {
        Error { ending: Ending::Refused, text: text.into() }
    }

    /// A failure of the machine, a device or a file.
    #[must_use]
    pub fn failed(text: impl Into<String>) -> Error {
        Error { ending: Ending::Failed, text: text.into() }
    }

    /// A failure of the system at `place`.
    #[must_use]
    pub fn from_io(place: impl fmt::Display, error: &io::Error) -> Error {
        Error::failed(format!("{place}: {error}"))
    }

    /// How it ends the command.
    #[must_use]
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The exit code of the command: 2 for a plan or usage error, 4 for a refused device, 1 for the
    /// rest.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.ending {
            Ending::Failed => 1,
            Ending::Usage => 2,
            Ending::Refused => 4,
        }
    }

    /// The same error with what to do next.
    #[must_use]
    pub fn then(mut self, advice: impl fmt::Display) -> Error {
        self.text = format!("{}\n{advice}", self.text);
        self
    }

    /// The same error with the place in front: `place: what it was`.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Error {
        self.text = format!("{place}: {}", self.text);
        self
    }
}

impl Error {
    /// The same error with more to say at its end.
    #[must_use]
    pub fn and_then_some(mut self, more: &str) -> Error {
        self.text.push_str(more);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl From<block::Error> for Error {
    fn from(error: block::Error) -> Error {
        use block::ErrorKind as Kind;
        let ending = match error.kind() {
            Kind::Refused | Kind::Busy | Kind::Permission => Ending::Refused,
            Kind::Invalid | Kind::NotFound | Kind::Unsupported | Kind::Misaligned => Ending::Usage,
            _ => Ending::Failed,
        };
        Error { ending, text: error.to_string() }
    }
}
