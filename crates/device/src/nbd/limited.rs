//! A stream that has to be done with what it is for by some time: a server that sends a byte now
//! and then answers every single read, and never all of it.

#![expect(
    clippy::disallowed_methods,
    reason = "connecting blocks, and a server on another machine has real time for it"
)]

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};

/// A stream with the end of its time.
pub(super) struct TimedStream<S> {
    stream: S,
    /// No read and no write goes on longer; for ever without it.
    end: Option<Instant>,
}

impl<S: AsFd> TimedStream<S> {
    /// Reads and writes end in so much time, all together.
    pub(super) fn new(stream: S, time: Duration) -> TimedStream<S> {
        TimedStream { stream, end: Some(Instant::now() + time) }
    }

    /// From now on all together end in so much time.
    pub(super) fn renew(&mut self, time: Duration) {
        self.end = Some(Instant::now() + time);
    }

    /// From now on nothing is limited.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn lift(&mut self) -> io::Result<()> {
        self.end = None;
        for direction in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(self.stream.as_fd(), direction, None)?;
        }
        Ok(())
    }

    /// The next read or write has what is left of the time.
    fn limit(&self, direction: Timeout) -> io::Result<()> {
        let Some(end) = self.end else { return Ok(()) };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // Zero would be no limit at all.
        let left = left.max(Duration::from_millis(1));
        Ok(set_socket_timeout(self.stream.as_fd(), direction, Some(left))?)
    }
}

impl<S: Read + AsFd> Read for TimedStream<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.limit(Timeout::Recv)?;
        self.stream.read(bytes)
    }
}

impl<S: Write + AsFd> Write for TimedStream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.limit(Timeout::Send)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl<S: AsFd> AsFd for TimedStream<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl<S: Into<OwnedFd>> From<TimedStream<S>> for OwnedFd {
    fn from(limited: TimedStream<S>) -> OwnedFd {
        limited.stream.into()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn bytes_that_come_do_not_make_the_time_longer() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        theirs.write_all(b"12").expect("room");
        let mut stream = TimedStream::new(ours, Duration::from_secs(60));
        stream.read_exact(&mut [0]).expect("there is time");
        stream.renew(Duration::ZERO);
        let error = stream.read_exact(&mut [0]).expect_err("it is over, and there is a byte");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let error = stream.write_all(b"1").expect_err("it is over, and there is room");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        stream.lift().expect("no limit");
        stream.read_exact(&mut [0]).expect("nothing is limited");
    }
}
