//! The one bell: what wakes a thread that waits in the kernel, from any other.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::EventfdFlags;

/// An eventfd. Clones are the same bell. It is rung from any thread; what waits sleeps in a ring
/// ([`crate::Reactor::ringer`]) or polls its descriptor beside others.
#[derive(Clone, Debug)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    /// A bell that has not been rung.
    ///
    /// # Errors
    /// What the kernel says when no descriptor is left.
    pub fn new() -> io::Result<Bell> {
        Bell::with(EventfdFlags::empty())
    }

    /// A bell that [`Bell::silence`] puts to rest, for threads that poll it again and again.
    ///
    /// # Errors
    /// As [`Bell::new`].
    pub fn nonblocking() -> io::Result<Bell> {
        Bell::with(EventfdFlags::NONBLOCK)
    }

    fn with(flags: EventfdFlags) -> io::Result<Bell> {
        Ok(Bell(Arc::new(rustix::event::eventfd(0, flags | EventfdFlags::CLOEXEC)?)))
    }

    /// Rings; it stays rung until notice is taken, and rings before that are one.
    pub fn ring(&self) {
        // It can only fail when 2^64 rings are outstanding, and then it is rung already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Takes notice of all rings so far, of a bell made by [`Bell::nonblocking`].
    pub fn silence(&self) {
        // One that has not been rung has nothing to read, which is as good.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }

    pub(crate) fn descriptor(&self) -> &Arc<OwnedFd> {
        &self.0
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    #[test]
    fn a_bell_stays_rung_until_notice_is_taken() {
        let bell = Bell::nonblocking().unwrap();
        let is_rung = || {
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut [PollFd::new(&bell, PollFlags::IN)], Some(&now)).unwrap() == 1
        };
        assert!(!is_rung());
        bell.silence();
        bell.ring();
        bell.clone().ring();
        assert!(is_rung() && is_rung());
        bell.silence();
        assert!(!is_rung());
    }
}
