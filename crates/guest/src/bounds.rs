//! How long a guest may take in real time: what hangs is ended, and told why.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use block::{Error, ErrorKind, Time, duration_text};
use words::{Text, statement};

use crate::catalogue;
use crate::scheduler::{ASK, GuestSign};

/// How long a guest may take, in real time. What takes longer is ended, and the error names the
/// bound ([`ErrorKind::TimedOut`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBounds {
    /// From its start until its job begins.
    pub boot: Duration,
    /// Without a word: with neither a look at its clock nor a request to a disk. Whatever computes
    /// says nothing, for computing takes no time in a guest.
    pub silence: Duration,
    /// From its start to its end; none where whoever has started it sees to that.
    pub whole: Option<Duration>,
}

impl TimeBounds {
    /// What is usual: a boot takes a second or two.
    pub const USUAL: TimeBounds = TimeBounds {
        boot: Duration::from_secs(5 * 60),
        silence: Duration::from_secs(10 * 60),
        whole: None,
    };
}

impl Default for TimeBounds {
    fn default() -> TimeBounds {
        TimeBounds::USUAL
    }
}

/// A bound that a guest has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PassedBound {
    Boot(Duration),
    Silence(Duration),
    Whole(Duration),
}

/// Holds a guest to its bounds: it is asked whether that is to go on.
pub(crate) struct BoundWatch {
    bounds: TimeBounds,
    /// A file that is there once the job has begun.
    begun: PathBuf,
    has_begun: Cell<bool>,
    /// For how long nothing was heard.
    quiet: Cell<Duration>,
    passed: Cell<Option<PassedBound>>,
}

impl BoundWatch {
    pub(crate) fn new(bounds: TimeBounds, begun: PathBuf) -> BoundWatch {
        let (has_begun, quiet, passed) = Default::default();
        BoundWatch { bounds, begun, has_begun, quiet, passed }
    }

    /// Whether a guest goes on that has run for so long.
    pub(crate) fn goes_on(&self, taken: Duration, sign: GuestSign) -> bool {
        self.quiet.set(match sign {
            GuestSign::Alive => Duration::ZERO,
            GuestSign::Silent => self.quiet.get() + ASK,
        });
        let TimeBounds { boot, silence, whole } = self.bounds;
        let whole = whole.filter(|whole| taken >= *whole).map(PassedBound::Whole);
        let passed = whole.or_else(|| match () {
            () if taken >= boot && !self.has_begun() => Some(PassedBound::Boot(boot)),
            () if self.quiet.get() >= silence => Some(PassedBound::Silence(silence)),
            () => None,
        });
        self.passed.set(self.passed.get().or(passed));
        self.passed.get().is_none()
    }

    /// Looked for only where the bound of the boot has passed.
    fn has_begun(&self) -> bool {
        self.has_begun.set(self.has_begun.get() || Path::exists(&self.begun));
        self.has_begun.get()
    }

    /// Why it was ended, if a bound has ended it, at a time of its own clock; `last_words` is what
    /// its kernel said last.
    pub(crate) fn error(&self, own: Time, last_words: impl Into<Text>) -> Option<Error> {
        let text = match self.passed.get()? {
            PassedBound::Boot(bound) => {
                statement!(catalogue::BOOT_BOUND, time = duration_text(bound))
            }
            PassedBound::Silence(bound) => {
                statement!(catalogue::SILENCE_BOUND, time = duration_text(bound))
            }
            PassedBound::Whole(bound) => {
                statement!(catalogue::WHOLE_BOUND, time = duration_text(bound))
            }
        };
        let seconds = own.nanoseconds() as f64 / 1e9;
        Some(Error::new(
            ErrorKind::TimedOut,
            statement!(
                catalogue::ENDED_AT_BOUND,
                seconds = format!("{seconds:.3}"),
                text = text,
                last_words = last_words
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn watch(bounds: TimeBounds, begun: &Path) -> BoundWatch {
        BoundWatch::new(bounds, begun.to_owned())
    }

    fn error(watch: &BoundWatch) -> String {
        let error = watch.error(Time(1_234_000_000), "a word").unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let text = error.to_string();
        assert!(text.contains("at 1.234 s of its own clock") && text.ends_with(": a word"));
        text
    }

    #[test]
    fn a_guest_that_does_not_boot_in_time_is_ended_and_one_that_has_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let begun = folder.path().join("output");
        let bounds = TimeBounds { boot: 2 * SECOND, ..TimeBounds::USUAL };
        let slow = watch(bounds, &begun);
        assert!(slow.goes_on(SECOND, GuestSign::Alive) && slow.error(Time(0), "").is_none());
        assert!(!slow.goes_on(2 * SECOND, GuestSign::Alive));
        assert!(error(&slow).contains("after 2s of real time, the bound of a boot"));
        std::fs::write(&begun, "").unwrap();
        assert!(!slow.goes_on(SECOND, GuestSign::Alive), "it stays ended");
        assert!(watch(bounds, &begun).goes_on(3 * SECOND, GuestSign::Alive));
    }

    #[test]
    fn a_guest_that_says_nothing_is_ended_and_a_word_in_time_is_enough() {
        let silent = watch(TimeBounds { silence: 2 * ASK, ..TimeBounds::USUAL }, Path::new("/"));
        for _ in 0..9 {
            assert!(silent.goes_on(SECOND, GuestSign::Silent));
            assert!(silent.goes_on(SECOND, GuestSign::Alive));
        }
        assert!(silent.goes_on(SECOND, GuestSign::Silent));
        assert!(!silent.goes_on(SECOND, GuestSign::Silent));
        assert!(error(&silent).contains("for 1s of real time, the bound of its silence"));
    }

    #[test]
    fn a_guest_that_does_not_end_is_ended() {
        let whole = Some(3600 * SECOND);
        let endless = watch(TimeBounds { whole, ..TimeBounds::USUAL }, Path::new("/"));
        assert!(endless.goes_on(3599 * SECOND, GuestSign::Alive));
        assert!(!endless.goes_on(3600 * SECOND, GuestSign::Alive));
        assert!(error(&endless).contains("it had run for 1h of real time, its bound"));
    }
}
