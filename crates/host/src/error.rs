//! The one error type above the layers: what a person reads, which exit code it means, and what was
//! behind it, down to the number that the kernel gave.
//!
//! ```text
//!   errno ─> io::Error ─> block::Error ─> host::Error ─> one line and an exit code
//!            └────────── source() leads all the way back ──────────┘
//! ```

use std::error::Error as StdError;
use std::fmt;
use std::io;

/// What kind of end an error is, as far as the command line has to tell cases apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Something failed while running; the run can be resumed when it had begun.
    Failed,
    /// The plan or the command makes no sense, or names something that is not there. Nothing was
    /// written.
    Usage,
    /// Done, but a limit that was given is passed.
    LimitPassed,
    /// A member was refused for safety's sake. Nothing was written to it.
    Refused,
    /// Finished, but the results are not valid.
    InvalidResults,
    /// Interrupted; the text says how to go on.
    Interrupted,
    /// An exit code that another part has chosen.
    Code(u8),
}

/// An error: how it ends the command, and one line for the person who reads it.
#[derive(Debug)]
pub struct Error {
    ending: Ending,
    text: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    fn new(ending: Ending, text: impl Into<String>) -> Error {
        Error { ending, text: text.into(), source: None }
    }

    /// An error in the plan or the command.
    #[must_use]
    pub fn usage(text: impl Into<String>) -> Error {
        Error::new(Ending::Usage, text)
    }

    /// A member that must not be opened.
    #[must_use]
    pub fn refused(text: impl Into<String>) -> Error {
        Error::new(Ending::Refused, text)
    }

    /// A failure of the machine, a device or a file.
    #[must_use]
    pub fn failed(text: impl Into<String>) -> Error {
        Error::new(Ending::Failed, text)
    }

    /// Finished, with results that are not valid.
    #[must_use]
    pub fn invalid_results(text: impl Into<String>) -> Error {
        Error::new(Ending::InvalidResults, text)
    }

    /// Done, with a limit passed.
    #[must_use]
    pub fn limit_passed(text: impl Into<String>) -> Error {
        Error::new(Ending::LimitPassed, text)
    }

    /// Interrupted; the text says how to go on.
    #[must_use]
    pub fn interrupted(text: impl Into<String>) -> Error {
        Error::new(Ending::Interrupted, text)
    }

    /// An exit code that says all there is to say.
    #[must_use]
    pub fn silent(code: u8) -> Error {
        Error::new(Ending::Code(code), "")
    }

    /// A failure of the system at `place`.
    #[must_use]
    pub fn from_io(place: impl fmt::Display, error: &io::Error) -> Error {
        // The number is all that an error of the kernel consists of.
        let source = error.raw_os_error().map(io::Error::from_raw_os_error);
        Error { source: source.map(Into::into), ..Error::failed(format!("{place}: {error}")) }
    }

    /// The same error with what was behind it. The text has told of it already.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        self.source = Some(source.into());
        self
    }

    /// How it ends the command.
    #[must_use]
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The exit code of the command, as `docs/` and `--help` name them.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.ending {
            Ending::Failed => 1,
            Ending::Usage => 2,
            Ending::LimitPassed => 3,
            Ending::Refused => 4,
            Ending::InvalidResults => 5,
            Ending::Interrupted => 130,
            Ending::Code(code) => code,
        }
    }

    /// The same with another exit code.
    #[must_use]
    pub fn with_code(mut self, code: u8) -> Error {
        self.ending = Ending::Code(code);
        self
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

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}

impl From<block::Error> for Error {
    fn from(error: block::Error) -> Error {
        use block::ErrorKind as Kind;
        let ending = match error.kind() {
            Kind::Refused | Kind::Busy | Kind::Permission => Ending::Refused,
            Kind::Invalid | Kind::NotFound | Kind::Unsupported | Kind::Misaligned => Ending::Usage,
            _ => Ending::Failed,
        };
        Error::new(ending, error.to_string()).because(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errno(error: &(dyn StdError + 'static)) -> Option<i32> {
        let kernel = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        kernel.or_else(|| errno(error.source()?))
    }

    /// Issue 12: "One error type from the device to the exit code, source kept."
    #[test]
    fn the_kernels_number_is_found_behind_the_last_line() {
        let leaf = || {
            let kernel = io::Error::from(rustix::io::Errno::IO);
            block::Error::from_io("b.img: read of 4096 bytes at 8192", kernel)
        };
        let line = "raid0: member 1: b.img: read of 4096 bytes at 8192: Input/output error \
            (os error 5)";
        let number = Some(rustix::io::Errno::IO.raw_os_error());
        for below in [leaf(), leaf().repeat()] {
            let error = Error::from(below.at("member 1").at("raid0"));
            assert_eq!((error.to_string().as_str(), error.exit_code()), (line, 1));
            assert_eq!(errno(&error), number);
        }
        let error = leaf().retold("the cache's device has failed");
        assert_eq!(error.to_string(), "the cache's device has failed");
        assert_eq!(errno(&Error::from(error).then("give it another").with_code(9)), number);
        let place = Error::from_io("making a.sock", &io::Error::from(rustix::io::Errno::IO));
        assert_eq!(place.to_string(), "making a.sock: Input/output error (os error 5)");
        assert_eq!(errno(&place), number);
        assert_eq!(errno(&Error::failed("nothing was asked of the kernel")), None);
    }

    #[test]
    fn exit_codes_are_those_of_the_help() {
        let codes = [
            Error::failed(""),
            Error::usage(""),
            Error::limit_passed(""),
            Error::refused(""),
            Error::invalid_results(""),
            Error::interrupted(""),
            Error::silent(9),
        ]
        .map(|error| error.exit_code());
        assert_eq!(codes, [1, 2, 3, 4, 5, 130, 9]);
    }
}
