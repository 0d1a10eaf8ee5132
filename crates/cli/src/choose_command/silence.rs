//! Drives that die while `choose --measure` is at work: which of them do not answer, before it
//! begins, meanwhile, and after it has failed; and what is left to choose with then.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use host::guard;
use lab::choose::{Drive, Drives, Member, Question};

use crate::catalogue::{self, say, statement};
use crate::consent::Consent;
use crate::failure::Failure;

/// How often drives are looked at, by what the kernel counts of them: they are not asked.
const LOOK: Duration = Duration::from_secs(1);
/// After so many looks without an answer a drive is named.
const LOOKS_MAX: u32 = 5;

/// The drives that are there.
fn paths(drives: &Drives) -> Vec<PathBuf> {
    drives.all.iter().filter_map(|drive| drive.member.path()).map(Path::to_owned).collect()
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
        false => Err(Failure::refused(catalogue::SILENT_DRIVE).at(names(&silent))),
    }
}

/// The drives that do not answer any more, or not with all of the bytes that they had.
pub(super) fn lost(drives: &Drives) -> Vec<PathBuf> {
    let silent = guard::silent_drives(&paths(drives));
    let size_of = |path: &Path| match fs::metadata(path) {
        Ok(data) if data.is_file() => Some(data.len()),
        _ => guard::look_at(path).map(|drive| drive.size_bytes),
    };
    let has_shrunk = |drive: &Drive| match &drive.member {
        Member::Path(path) => size_of(path).is_some_and(|now| now < drive.size_bytes),
        Member::Model(_) | Member::Made(_) => false,
    };
    let shrunk = drives.all.iter().filter(|drive| has_shrunk(drive)).cloned().collect();
    let shrunk = paths(&Drives { all: shrunk, ..Drives::default() });
    paths(drives)
        .into_iter()
        .filter(|path| silent.contains(path) || shrunk.contains(path))
        .collect()
}

/// What a run has failed with, where drives that were lost leave nothing to choose from.
pub(super) fn of_no_use(
    error: Failure,
    drives: &Drives,
    lost: &[PathBuf],
    why: &Failure,
) -> Failure {
    let (names, count) = (names(lost), drives.all.len());
    error
        .and_then_some("\n  ")
        .and_then_some(statement!(LOST_OF_NO_USE, names = names, count = count, why = why.text()))
        .with_code(1)
}

/// What is said before the rest of the drives is measured.
pub(super) fn rest_text(question: &Question, rest: &Question, lost: &[PathBuf]) -> String {
    let (count, others) = (question.drives.all.len(), rest.drives.all.len());
    say!(REST_IS_MEASURED, names = names(lost), count = count, others = others)
}

/// What drives are called by those who consent to erasing them, learnt while they answer.
pub(super) struct DriveNames(Vec<DriveName>);

struct DriveName {
    path: PathBuf,
    device: PathBuf,
    serial: Option<String>,
}

fn device_of(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

impl DriveNames {
    pub(super) fn of(drives: &Drives) -> DriveNames {
        let name = |path: PathBuf| DriveName {
            device: device_of(&path),
            serial: guard::look_at(&path).and_then(|drive| drive.serial),
            path,
        };
        DriveNames(paths(drives).into_iter().map(name).collect())
    }

    /// A consent without what it says of drives that were lost.
    pub(super) fn without(&self, consent: &Consent, lost: &[PathBuf]) -> Consent {
        let gone: Vec<&DriveName> = self.0.iter().filter(|one| lost.contains(&one.path)).collect();
        let mut consent = consent.clone();
        consent.erase.retain(|said| gone.iter().all(|one| one.serial.as_ref() != Some(said)));
        consent.allow_device.retain(|said| {
            let device = device_of(said);
            gone.iter().all(|one| one.device != device && one.path != *said)
        });
        consent
    }
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
    tell: &(dyn Fn(&str) + Sync),
    work: impl FnOnce() -> T,
) -> T {
    let mut looks: Vec<(PathBuf, Looks)> =
        paths(drives).into_iter().map(|path| (path, Looks::default())).collect();
    let (ends, ended) = mpsc::channel::<()>();
    let language = words::language();
    thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                for (path, looks) in &mut looks {
                    if guard::requests_of(path).is_some_and(|counted| looks.look(counted)) {
                        let hangs =
                            || say!(DRIVE_HANGS, path = path.display(), seconds = LOOKS_MAX);
                        tell(&words::in_language(language, hangs));
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
