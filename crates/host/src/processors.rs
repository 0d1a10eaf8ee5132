//! The processors that a part of the work may run on.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use words::statement;

use crate::{Error, catalogue};

/// This thread, the threads and the processes that it starts run on so many processors only, until
/// this is dropped: then this thread has all of its own again. Threads of the kernel run anywhere.
#[derive(Debug)]
pub struct Processors {
    before: CpuSet,
}

impl Processors {
    /// Keeps to the first `count` of the processors that this thread may use.
    ///
    /// # Errors
    /// When there are fewer, or the system's answer.
    pub fn keep_to(count: usize) -> Result<Processors, Error> {
        let failed = |error: rustix::io::Errno| {
            Error::from_io(catalogue::OWN_PROCESSORS, &io::Error::from(error))
        };
        let before = sched_getaffinity(None).map_err(failed)?;
        let mut kept = CpuSet::new();
        let own = (0..CpuSet::MAX_CPU).filter(|number| before.is_set(*number));
        own.take(count).for_each(|number| kept.set(number));
        if count == 0 || (kept.count() as usize) < count {
            let here = before.count();
            let text = statement!(catalogue::FEW_PROCESSORS, wanted = count, here = here);
            return Err(Error::refused(text));
        }
        sched_setaffinity(None, &kept).map_err(failed)?;
        Ok(Processors { before })
    }
}

impl Drop for Processors {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count() -> u32 {
        sched_getaffinity(None).unwrap().count()
    }

    #[test]
    fn a_thread_keeps_to_its_processors_and_so_does_what_it_starts() {
        let before = count();
        let kept = Processors::keep_to(1).unwrap();
        assert_eq!(count(), 1);
        assert_eq!(std::thread::spawn(count).join().unwrap(), 1);
        let said = std::process::Command::new("nproc").output().unwrap().stdout;
        assert_eq!(String::from_utf8(said).unwrap().trim(), "1");
        drop(kept);
        assert_eq!(count(), before);
        for wrong in [0, before as usize + 1] {
            let error = Processors::keep_to(wrong).unwrap_err().to_string();
            assert!(error.ends_with(&format!("and there are {before} here")), "{error}");
        }
        assert_eq!(count(), before);
    }
}
