//! The time that a suite, a guest or a pull test of a run may take, in real time: what hangs ends,
//! and the run goes on.

#![expect(
    clippy::disallowed_methods,
    reason = "what hangs is ended after real time, whatever clock it runs on"
)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use results::Plan;
use words::{Text, statement};

use crate::catalogue;
use crate::cell::Cell;
use crate::plan::suite;

/// Where the plan says nothing: so long, and so many times what is planned for it besides.
const LIMIT: Duration = Duration::from_secs(2 * 60 * 60);
const TIMES_PLANNED: u32 = 10;
/// How long the wish to stop may go unnoticed.
const LOOK: Duration = Duration::from_millis(100);

/// How long these workloads of a configuration may take together.
pub(super) fn limit_of(plan: &Plan, group: &[usize], cell: &Cell) -> Duration {
    let said = plan.schedule.limit_seconds.map(Duration::from_secs_f64);
    said.unwrap_or_else(|| {
        let planned =
            |workload: &usize| suite::planned_time(plan, &plan.workloads[*workload], cell);
        LIMIT + group.iter().map(planned).sum::<Duration>() * TIMES_PLANNED
    })
}

/// Why there are no figures of what has taken its time.
pub(super) fn over(limit: Duration) -> Text {
    let shown = block::duration_text(Duration::from_secs(limit.as_secs().max(1)));
    statement!(catalogue::ENDED_AFTER, time = shown)
}

/// Does what ends when the flag is set that it is given: when `stop` is, or after so much time.
/// With whether the time was over.
pub(super) fn within<T>(
    limit: Duration,
    stop: &AtomicBool,
    work: impl FnOnce(&AtomicBool) -> T,
) -> (T, bool) {
    let halt = AtomicBool::new(stop.load(Ordering::Relaxed));
    let is_over = AtomicBool::new(false);
    let end = Instant::now() + limit;
    let done = thread::scope(|scope| {
        let (ends, ended) = mpsc::channel::<()>();
        let (halt, is_over) = (&halt, &is_over);
        scope.spawn(move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                is_over.store(Instant::now() >= end, Ordering::Relaxed);
                if stop.load(Ordering::Relaxed) || is_over.load(Ordering::Relaxed) {
                    halt.store(true, Ordering::Relaxed);
                    return;
                }
            }
        });
        let done = work(halt);
        drop(ends);
        done
    });
    let is_over = is_over.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed);
    (done, is_over)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until_halted(halt: &AtomicBool) {
        while !halt.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    }

    #[test]
    fn what_hangs_is_ended_by_its_time_or_by_the_user() {
        let stop = AtomicBool::new(false);
        assert!(within(Duration::from_millis(1), &stop, until_halted).1);
        assert_eq!(within(Duration::from_secs(600), &stop, |_| 7), (7, false));
        stop.store(true, Ordering::Relaxed);
        assert!(!within(Duration::from_secs(600), &stop, until_halted).1, "the user has");
        assert_eq!(
            over(Duration::from_secs(7200)).english(),
            "it was ended after 2h of real time (trials.real_time_limit)"
        );
    }
}
