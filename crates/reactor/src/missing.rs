//! What is said where the kernel gives no io_uring: the same sentence in every program and verb.

use std::error::Error;
use std::fmt;
use std::io;

use rustix::io::Errno;

/// There is no io_uring for a reactor, and what the kernel answered. It is a failure of the
/// machine: none of what the kernel says of a file or a device by the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingMissing(Errno);

impl RingMissing {
    pub(crate) fn new(error: &io::Error) -> RingMissing {
        Errno::from_io_error(error).unwrap_or(Errno::INVAL).into()
    }

    /// The kernel's number.
    #[must_use]
    pub fn errno(self) -> Errno {
        self.0
    }

    /// What helps.
    fn remedy(self) -> &'static str {
        match self.0 {
            Errno::MFILE | Errno::NFILE => "raise the limit of open files (ulimit -n)",
            Errno::NOMEM => {
                "raise the limits of memory, and before Linux 5.12 of locked memory (ulimit -l)"
            }
            _ => {
                "it needs Linux 5.19 or newer, sysctl kernel.io_uring_disabled=0 and, in a \
                container, a profile that allows it"
            }
        }
    }
}

impl fmt::Display for RingMissing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = io::Error::from(self.0);
        write!(f, "io_uring cannot be used here ({answer}): {}", self.remedy())
    }
}

impl Error for RingMissing {}

impl From<Errno> for RingMissing {
    fn from(errno: Errno) -> RingMissing {
        RingMissing(errno)
    }
}

impl From<RingMissing> for io::Error {
    fn from(missing: RingMissing) -> io::Error {
        io::Error::other(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "io_uring missing is one sentence".
    #[test]
    fn whatever_the_kernel_answers_io_uring_is_named_and_what_helps() {
        for errno in [Errno::PERM, Errno::NOSYS, Errno::ACCESS, Errno::INVAL] {
            let missing = RingMissing::new(&errno.into());
            assert_eq!(missing.errno(), errno);
            let text = missing.to_string();
            assert!(text.starts_with("io_uring cannot be used here ("), "{text}");
            assert!(text.contains("kernel.io_uring_disabled=0"), "{text}");
            assert_eq!(io::Error::from(missing).to_string(), text);
        }
        let files = RingMissing::new(&Errno::MFILE.into()).to_string();
        assert!(files.contains("ulimit -n") && !files.contains("5.19"), "{files}");
    }
}
