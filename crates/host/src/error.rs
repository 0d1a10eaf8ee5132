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

use rustix::io::Errno;
use words::Text;

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

/// An error: how it ends the command, and one line for the person who reads it, which is in a
/// language where it is shown.
#[derive(Debug)]
pub struct Error {
    ending: Ending,
    text: Text,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    fn new(ending: Ending, text: impl Into<Text>) -> Error {
        Error { ending, text: text.into(), source: None }
    }

    /// An error in the plan or the command.
    #[must_use]
    pub fn usage(text: impl Into<Text>) -> Error {
        Error::new(Ending::Usage, text)
    }

    /// A member that must not be opened.
    #[must_use]
    pub fn refused(text: impl Into<Text>) -> Error {
        Error::new(Ending::Refused, text)
    }

    /// A failure of the machine, a device or a file.
    #[must_use]
    pub fn failed(text: impl Into<Text>) -> Error {
        Error::new(Ending::Failed, text)
    }

    /// Finished, with results that are not valid.
    #[must_use]
    pub fn invalid_results(text: impl Into<Text>) -> Error {
        Error::new(Ending::InvalidResults, text)
    }

    /// Done, with a limit passed.
    #[must_use]
    pub fn limit_passed(text: impl Into<Text>) -> Error {
        Error::new(Ending::LimitPassed, text)
    }

    /// Interrupted; the text says how to go on.
    #[must_use]
    pub fn interrupted(text: impl Into<Text>) -> Error {
        Error::new(Ending::Interrupted, text)
    }

    /// An exit code that says all there is to say.
    #[must_use]
    pub fn silent(code: u8) -> Error {
        Error::new(Ending::Code(code), "")
    }

    /// A failure of the system at `place`.
    #[must_use]
    pub fn from_io(place: impl Into<Text>, error: &io::Error) -> Error {
        // The number is all that an error of the kernel consists of.
        let source = error.raw_os_error().map(io::Error::from_raw_os_error);
        Error { source: source.map(Into::into), ..Error::failed(block::io_text(error).at(place)) }
    }

    /// The same as an error of the command, which has named what cannot be used.
    #[must_use]
    pub fn as_usage(mut self) -> Error {
        self.ending = Ending::Usage;
        self
    }

    /// The same error with what was behind it. The text has told of it already.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        self.source = Some(source.into());
        self
    }

    /// The number that the kernel gave, where one is behind it.
    #[must_use]
    pub fn errno(&self) -> Option<Errno> {
        let mut source = self.source();
        while let Some(error) = source {
            if let Some(number) = error.downcast_ref().and_then(Errno::from_io_error) {
                return Some(number);
            }
            source = error.source();
        }
        None
    }

    /// What it says, as its parts.
    #[must_use]
    pub fn text(&self) -> &Text {
        &self.text
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
    pub fn then(mut self, advice: impl Into<Text>) -> Error {
        self.text = self.text.and("\n").and(advice);
        self
    }

    /// The same error in other words, which tell what there is to tell of its source.
    #[must_use]
    pub fn retold(mut self, text: impl Into<Text>) -> Error {
        self.text = text.into();
        self
    }

    /// The same error with the place in front: `place: what it was`.
    #[must_use]
    pub fn at(mut self, place: impl Into<Text>) -> Error {
        self.text = self.text.at(place);
        self
    }

    /// The same error with more to say at its end.
    #[must_use]
    pub fn and_then_some(mut self, more: impl Into<Text>) -> Error {
        self.text = self.text.and(more);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}

impl From<Error> for Text {
    /// What it says; what was behind it is not kept.
    fn from(error: Error) -> Text {
        error.text
    }
}

impl From<&Error> for Text {
    fn from(error: &Error) -> Text {
        error.text.clone()
    }
}

impl From<block::RingMissing> for Error {
    fn from(missing: block::RingMissing) -> Error {
        Error::failed(block::ring_missing_text(missing)).because(missing)
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
        Error::new(ending, error.text()).because(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "One error type from the device to the exit code, source kept."
    #[test]
    fn the_kernels_number_is_found_behind_the_last_line() {
        let leaf = || {
            let kernel = io::Error::from(Errno::IO);
            block::Error::from_io("b.img: read of 4096 bytes at 8192", kernel)
        };
        let line = "raid0: member 1: b.img: read of 4096 bytes at 8192: Input/output error \
            (os error 5)";
        let number = Some(Errno::IO);
        for below in [leaf(), leaf().repeat()] {
            let error = Error::from(below.at("member 1").at("raid0"));
            assert_eq!((error.to_string().as_str(), error.exit_code()), (line, 1));
            assert_eq!(error.errno(), number);
        }
        let error = leaf().retold("the cache's device has failed");
        assert_eq!(error.to_string(), "the cache's device has failed");
        assert_eq!(Error::from(error).then("give it another").with_code(9).errno(), number);
        let place = Error::from_io("making a.sock", &io::Error::from(Errno::IO));
        assert_eq!(place.to_string(), "making a.sock: Input/output error (os error 5)");
        assert_eq!(place.errno(), number);
        assert_eq!(Error::failed("nothing was asked of the kernel").errno(), None);
    }

    /// "an errno alone is no message".
    #[test]
    fn what_the_systems_words_do_not_tell_is_said() {
        let texts = |error: fn() -> io::Error| {
            let below = Error::from(block::Error::from_io("a.sock", error()));
            assert_eq!(below.to_string(), Error::from_io("a.sock", &error()).to_string());
            below.to_string()
        };
        let again = texts(|| Errno::AGAIN.into());
        assert!(again.contains("(os error 11): no answer in time, or "), "{again}");
        // As the standard library has it of a file that ends, and as it would show it.
        let short = || io::Read::read_exact(&mut &b"x"[..], &mut [0; 2]).unwrap_err();
        assert_eq!(short().to_string(), "failed to fill whole buffer");
        assert_eq!(texts(short), "a.sock: it ends too early");
        assert_eq!(texts(|| Errno::IO.into()), "a.sock: Input/output error (os error 5)");
    }

    /// "one exit code everywhere": a filter answers EPERM and an old kernel
    /// ENOSYS, which are refusals and usage errors where a file is meant.
    #[test]
    fn no_io_uring_is_a_failure_of_the_machine_on_every_way_up() {
        let planted = Error::from(block::Error::from_io("io_uring", Errno::PERM.into()));
        assert_eq!(planted.exit_code(), 4, "the errno alone, as it was");
        let missing = reactor::RingMissing::from(Errno::PERM);
        let text = missing.to_string();
        for error in [
            Error::from(missing),
            Error::from(block::Error::from(missing)),
            Error::from_io("x", &io::Error::from(missing)),
        ] {
            assert_eq!(error.exit_code(), 1);
            assert!(error.to_string().ends_with(&text), "{error}");
        }
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
