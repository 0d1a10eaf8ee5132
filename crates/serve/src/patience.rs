//! How long a server may take to be ready and to end, and who waits for it meanwhile.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use export::tool::LOOK;
use host::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use words::statement;

use crate::catalogue;
use crate::client::Process;

/// How long the end may take: flushing the cache of a slow disk takes minutes.
pub(crate) const END_TIME: Duration = Duration::from_secs(20 * 60);
/// How long a start may take in all, as its unit has it (`TimeoutStartSec`): a file system may have
/// to be made on large drives, or one mounted that was not unmounted.
const START_TIME: Duration = Duration::from_secs(30 * 60);

/// For how long somebody waits for a server that starts.
#[derive(Debug)]
pub struct Patience<'a> {
    stop: &'a AtomicBool,
    looks: Cell<u32>,
}

impl<'a> Patience<'a> {
    /// Until `stop` is set, or a start has had its time.
    #[must_use]
    pub fn until(stop: &'a AtomicBool) -> Patience<'a> {
        Patience { stop, looks: Cell::new(0) }
    }

    /// Whether it is at its end; asked every [`LOOK`].
    pub(crate) fn ends(&self) -> bool {
        let looks = self.looks.replace(self.looks.get() + 1);
        self.stop.load(Ordering::Relaxed) || LOOK * looks >= START_TIME
    }

    /// Why it was not waited for any longer.
    pub(crate) fn error(&self) -> Error {
        match self.stop.load(Ordering::Relaxed) {
            true => Error::interrupted(catalogue::START_ENDED),
            false => {
                let time = block::duration_text(START_TIME);
                Error::failed(statement!(catalogue::START_TOO_LONG, time = time))
            }
        }
    }

    /// The server's one line, if it comes in time.
    pub(crate) fn line(&self, starter: &UnixStream) -> io::Result<Option<String>> {
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        while !self.ends() {
            match poll(&mut [PollFd::new(starter, PollFlags::IN)], Some(&look)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => (),
                Ok(_) => return line(starter).map(Some),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Ends a server that is waited for no longer, in order, ready or not; what is said of that.
    pub(crate) fn end(&self, mut process: Child) -> Error {
        let _ = kill_process(Pid::from_child(&process), Signal::TERM);
        let time = Timespec { tv_sec: END_TIME.as_secs().cast_signed(), tv_nsec: 0 };
        if !Process::of(process.id()).ends(Some(&time)) {
            return self.error().and_then_some("; ").and_then_some(catalogue::PROCESS_NOT_ENDED);
        }
        let _ = process.wait();
        self.error()
    }
}

/// What a server says first.
pub(crate) fn line(starter: &UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(starter).read_line(&mut line).map(|_| line)
}
