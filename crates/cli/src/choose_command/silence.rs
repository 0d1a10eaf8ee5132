//! Drives that die while `choose --measure` is at work: which of them do not answer, before it
//! begins, meanwhile, and after it has failed.

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use host::guard;
use lab::choose::{Drives, Member};

use super::ChooseArguments;
use crate::failure::Failure;

/// How often drives are looked at, by what the kernel counts of them: they are not asked.
const LOOK: Duration = Duration::from_secs(1);
/// After so many looks without an answer a drive is named.
const LOOKS_MAX: u32 = 5;

/// The drives that are there.
fn paths(drives: &Drives) -> Vec<PathBuf> {
    let path = |member: &Member| match member {
        Member::Path(path) => Some(path.clone()),
        Member::Model(_) | Member::Made(_) => None,
    };
    drives.all.iter().filter_map(|drive| path(&drive.member)).collect()
}

fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}

/// Refuses drives that do not answer, before anything waits for one of them.
pub(super) fn refuse(drives: &Drives) -> Result<(), Failure> {
    let silent = guard::silent_drives(&paths(drives));
    match silent.is_empty() {
        true => Ok(()),
        false => Err(Failure::refused(format!(
            "{}: no answer to a read within 3 s; choose without it, or look at its cable",
            names(&silent)
        ))),
    }
}

/// What a run has failed with, and the command without the drives that do not answer any more, if
/// they are why.
pub(super) fn without_lost(
    error: Failure,
    drives: &Drives,
    arguments: &ChooseArguments,
) -> Failure {
    let all = paths(drives);
    let silent = guard::silent_drives(&all);
    if silent.is_empty() {
        return error;
    }
    let mut more = format!("\n  {} does not answer any more", names(&silent));
    let left: Vec<String> = all
        .iter()
        .filter(|path| !silent.contains(path))
        .map(|path| escape::shell(&path.to_string_lossy()))
        .collect();
    if left.len() > 1 {
        more += &format!(
            "; what was measured was of all {}. Without it:\n  raidloom choose {} --measure{}",
            all.len(),
            left.join(" "),
            arguments.words()
        );
    }
    error.and_then_some(&more)
}

/// What is known of a drive by looks at it.
#[derive(Default)]
struct Looks {
    /// Requests that had ended when one was last seen to have; none before the first look.
    ended: Option<u64>,
    without_answer: u32,
}

impl Looks {
    /// Takes another look, by what has ended and what is under way; whether it is time to say that
    /// it does not answer. That is said once.
    fn look(&mut self, (ended, under_way): (u64, u64)) -> bool {
        if under_way == 0 || self.ended != Some(ended) {
            *self = Looks { ended: Some(ended), without_answer: 0 };
            return false;
        }
        self.without_answer += 1;
        self.without_answer == LOOKS_MAX
    }
}

/// Does what may wait for drives, and hears meanwhile of those that have not answered for five
/// seconds.
pub(super) fn watched<T>(
    drives: &Drives,
    say: &(dyn Fn(&str) + Sync),
    work: impl FnOnce() -> T,
) -> T {
    let mut looks: Vec<(PathBuf, Looks)> =
        paths(drives).into_iter().map(|path| (path, Looks::default())).collect();
    let (ends, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                for (path, looks) in &mut looks {
                    if guard::requests_of(path).is_some_and(|counted| looks.look(counted)) {
                        say(&format!(
                            "{}: no answer for {LOOKS_MAX} s; Ctrl-C twice ends this without \
                            waiting for it",
                            path.display()
                        ));
                    }
                }
            }
        });
        let done = work();
        drop(ends);
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_named_once_when_its_requests_do_not_end() {
        let named = |looks: &[(u64, u64)]| {
            let mut known = Looks::default();
            looks.iter().filter(|counted| known.look(**counted)).count()
        };
        let hangs: Vec<(u64, u64)> = vec![(7, 1); 30];
        assert_eq!((named(&hangs[..5]), named(&hangs[..6]), named(&hangs)), (0, 1, 1));
        assert_eq!(named(&vec![(7, 0); 30]), 0, "it rests");
        let works: Vec<(u64, u64)> = (0..30).map(|ended| (ended, 4)).collect();
        assert_eq!(named(&works), 0);
        let slow: Vec<(u64, u64)> = (0..60).map(|look| (look / 5, 1)).collect();
        assert_eq!(named(&slow), 0, "an answer every five seconds is one");
        // It answers again, and is silent once more.
        let twice = [hangs.clone(), vec![(8, 0)], vec![(9, 1); 30]].concat();
        assert_eq!(named(&twice), 2);
    }
}
