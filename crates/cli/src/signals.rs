//! Ctrl-C, `kill` and a terminal that is closed: ask for a tidy end once, end at once the second
//! time.

use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXFSZ,
};

use crate::catalogue;
use crate::failure::Failure;

/// The signals that ask for the end. A process that was started with SIGHUP ignored (`nohup`) is to
/// outlive the terminal.
pub(crate) fn to_end() -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    [SIGINT, SIGTERM].into_iter().chain((!is_ignored(&status, SIGHUP)).then_some(SIGHUP)).collect()
}

/// Whether a process ignores a signal, by its `/proc/PID/status`: bit 0 of `SigIgn` is signal 1.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// What the first such signal sets, once it is waited for: whoever asks later hears of it too.
static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// A flag that the first such signal sets; the second ends the process with the usual code. It is
/// the same one for all who ask.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    if let Some(flag) = ASKED.get() {
        return Ok(Arc::clone(flag));
    }
    let flag = Arc::new(AtomicBool::new(false));
    for signal in to_end() {
        // In this order: the second signal finds the flag set and ends the process before anything
        // else runs.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| not_set_up(&error))?;
    }
    Ok(Arc::clone(ASKED.get_or_init(|| flag)))
}

/// What is said where signals cannot be waited for.
pub(crate) fn not_set_up(error: &io::Error) -> Failure {
    Failure::from_io(catalogue::FOR_CTRL_C, error)
}

/// The end that is asked for, to be waited for without looking for it again and again.
pub(crate) struct End {
    flag: Arc<AtomicBool>,
    bell: UnixStream,
}

impl End {
    /// As [`stop_flag`].
    pub(crate) fn new() -> Result<End, Failure> {
        let flag = stop_flag()?;
        let failed = |error: io::Error| not_set_up(&error);
        let (bell, rope) = UnixStream::pair().map_err(failed)?;
        for signal in to_end() {
            rope.try_clone()
                .and_then(|rope| signal_hook::low_level::pipe::register(signal, rope))
                .map_err(failed)?;
        }
        Ok(End { flag, bell })
    }

    /// Whether the end has been asked for.
    pub(crate) fn is_here(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Waits for so long, or until the end is asked for; whether it is.
    pub(crate) fn comes_within(&self, time: Duration) -> bool {
        let begun = Instant::now();
        loop {
            let left = time.saturating_sub(begun.elapsed());
            if self.is_here() || left.is_zero() {
                return self.is_here();
            }
            // What is read, or why nothing is, is of no interest: the flag says it.
            let _ = self.bell.set_read_timeout(Some(left));
            let _ = (&self.bell).read(&mut [0]);
        }
    }
}

/// Signals that end a process by default and that nobody sends to a server to end it: a script that
/// means another process, a timer or a profiler that was left behind.
const STRAY: [i32; 6] = [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO];

/// Has signals that ask a server for nothing do nothing to it. What it starts has them as ever.
///
/// # Errors
/// What the system says.
pub(crate) fn outlive_stray() -> io::Result<()> {
    STRAY
        .into_iter()
        .try_for_each(|signal| signal_hook::flag::register(signal, Arc::default()).map(drop))
}

/// By default a file that outgrows `ulimit -f` ends the process, in the middle of whatever it was
/// writing; so it fails the call instead, and there is a tidy end.
pub(crate) fn fail_at_file_limit() {
    // Where it cannot be set up, it is as it was.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_read_from_the_mask() {
        let status = |mask: &str| {
            format!(
                "Name:\traidloom\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\nSigCgt:\t0000000000000001\n"
            )
        };
        for (mask, ignored) in [
            ("0000000000000001", true),
            ("0000000000001001", true),
            ("0000000000001000", false),
            ("", false),
        ] {
            assert_eq!(is_ignored(&status(mask), SIGHUP), ignored, "{mask}");
        }
        assert!(is_ignored(&status("0000000000001000"), 13) && !is_ignored("", SIGHUP));
    }
}
