//! What this machine does with an array beside what its server says of itself: room on the file
//! systems that are mounted from it, whether it is started at boot, when its members are compared,
//! and whether a run works on it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use host::facts;
use serde::Serialize;
use serve::{Boot, ScrubCalendar, Status};

/// How long a look waits for file systems; one that does not answer shows what it said before.
const PATIENCE: Duration = Duration::from_millis(300);
/// The service manager is asked for a calendar again after so many seconds.
const CALENDAR_SECONDS: u64 = 60;

/// How full a file system is, as df(1) counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct UsedSpace {
    /// Where it is mounted.
    folder: PathBuf,
    used_bytes: u64,
    /// What anybody may still write; less than the rest where some is kept for root.
    free_bytes: u64,
    size_bytes: u64,
}

impl UsedSpace {
    fn of(folder: &Path) -> Option<UsedSpace> {
        let space = rustix::fs::statvfs(folder).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
        Some(UsedSpace {
            folder: folder.to_owned(),
            used_bytes: bytes(space.f_blocks.saturating_sub(space.f_bfree)),
            free_bytes: bytes(space.f_bavail),
            size_bytes: bytes(space.f_blocks),
        })
    }
}

/// What is known of file systems, asked on a thread of its own: one of them may not answer.
#[derive(Default)]
struct Spaces(Arc<Mutex<KnownSpaces>>);

#[derive(Default)]
struct KnownSpaces {
    by_folder: HashMap<PathBuf, UsedSpace>,
    /// Whether a thread is asking.
    is_asking: bool,
}

impl Spaces {
    fn all(&self, folders: Vec<PathBuf>) -> HashMap<PathBuf, UsedSpace> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !folders.is_empty() && !std::mem::replace(&mut lock().is_asking, true) {
            let (done, answer) = mpsc::channel();
            let known = Arc::clone(&self.0);
            let ask = move || {
                let spaces = folders.iter().filter_map(|folder| UsedSpace::of(folder));
                let by_folder = spaces.map(|space| (space.folder.clone(), space)).collect();
                *known.lock().unwrap_or_else(PoisonError::into_inner) =
                    KnownSpaces { by_folder, is_asking: false };
                let _ = done.send(());
            };
            match thread::Builder::new().name("space".to_owned()).spawn(ask) {
                Ok(_) => _ = answer.recv_timeout(PATIENCE),
                Err(_) => lock().is_asking = false,
            }
        }
        lock().by_folder.clone()
    }
}

/// What the page shows of an array beside its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ArrayOnMachine {
    /// Of the file systems that are mounted from it.
    space: Vec<UsedSpace>,
    /// None where no service manager could do it.
    starts_at_boot: Option<bool>,
    /// None likewise.
    scrubs: Option<ScrubCalendar>,
    /// When its members were compared last, as far as its server or the service manager knows.
    last_scrub_unix_seconds: Option<u64>,
    /// Whether a run that goes on works on it, so that nothing is to be done with it.
    is_measured: bool,
}

/// Looks at it.
pub(crate) struct Machine {
    boot: Boot,
    spaces: Spaces,
    /// By array: when it was asked, and what was said.
    calendars: Mutex<HashMap<String, (u64, ScrubCalendar)>>,
}

impl Machine {
    /// This one; `program` is raidloom's own.
    pub(crate) fn here(program: &Path) -> Machine {
        Machine {
            boot: Boot::here(program),
            spaces: Spaces::default(),
            calendars: Mutex::default(),
        }
    }

    /// What it does with each array, by name; `running` are the folders of runs that go on.
    pub(crate) fn look(
        &self,
        statuses: &[Status],
        running: &[PathBuf],
    ) -> BTreeMap<String, ArrayOnMachine> {
        let folders = statuses.iter().flat_map(|status| status.mounts.clone()).collect();
        let spaces = self.spaces.all(folders);
        let has_manager = self.boot.has_service_manager();
        let one = |status: &Status| {
            let name = &status.name;
            let scrubs = has_manager.then(|| self.calendar(name));
            let known = status.arrays.iter().filter_map(|array| array.scrub.as_ref());
            let ended = known.filter_map(|scrub| scrub.ended_unix_seconds);
            let by_calendar = scrubs.and_then(|scrubs| scrubs.last_unix_seconds);
            let on_machine = ArrayOnMachine {
                space: status.mounts.iter().filter_map(|at| spaces.get(at).cloned()).collect(),
                starts_at_boot: has_manager.then(|| self.boot.starts_at_boot(name)),
                scrubs,
                last_scrub_unix_seconds: ended.chain(by_calendar).max(),
                is_measured: is_measured(status, running),
            };
            (name.clone(), on_machine)
        };
        statuses.iter().map(one).collect()
    }

    fn calendar(&self, name: &str) -> ScrubCalendar {
        let now = facts::unix_seconds();
        let mut calendars = self.calendars.lock().unwrap_or_else(PoisonError::into_inner);
        let is_monthly = self.boot.is_scrubbed_monthly(name);
        if let Some((asked, known)) = calendars.get(name)
            && known.is_monthly == is_monthly
            && now.abs_diff(*asked) < CALENDAR_SECONDS
        {
            return *known;
        }
        let calendar = self.boot.scrub_calendar(name);
        calendars.insert(name.to_owned(), (now, calendar));
        calendar
    }
}

/// Whether an array serves a run, or a run that goes on has its folder on it.
pub(crate) fn is_measured(status: &Status, running: &[PathBuf]) -> bool {
    let lies_on_it = |run: &PathBuf| status.mounts.iter().any(|point| run.starts_with(point));
    status.is_measured || running.iter().any(lies_on_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_say_how_full_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let there = folder.path().to_owned();
        let nowhere = PathBuf::from("/nowhere");
        let spaces = Spaces::default();
        let all = spaces.all(vec![there.clone(), nowhere.clone()]);
        let space = &all[&there];
        assert!(space.used_bytes + space.free_bytes <= space.size_bytes, "{space:?}");
        assert!(space.size_bytes > 0 && !all.contains_key(&nowhere));
        // As long as one is asked that does not answer, nobody else waits.
        spaces.0.lock().expect("a lock").is_asking = true;
        assert_eq!(spaces.all(vec![nowhere]), all);
    }
}
