//! The drives of this machine, and what the guard says of each. Nothing is opened for writing.
//!
//! ```text
//!   /sys/block ──> whole drives ──> a thread each ──> Guard::check without consent   why not, and which consent there is
//!                       ^                             Guard::check with every one    whether any consent would do
//!                       └── after 5 s without it: it does not answer
//! ```

#![expect(clippy::disallowed_methods, reason = "a drive that does not answer tells no reactor so")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use block::{Error, ErrorKind};
use export::loop_device::bounded;
use rustix::event::Timespec;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use words::{Text, statement};

use super::{Consent, Guard, by_id_name, catalogue, serial};
use crate::system;

/// What comes of asking the guard to write to a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// With a consent, which the reason names.
    WithConsent,
    /// Never as it is now.
    Refused,
    /// It could not be looked at.
    NotKnown,
}

/// A whole drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drive {
    /// The kernel's name for it: `sda`. It may mean another drive after the next start.
    pub name: String,
    /// What to call it when it is named: its path below `/dev/disk/by-id` where it has one.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// What it says of itself.
    pub model: Option<String>,
    /// Its serial number, which `--erase` takes.
    pub serial: Option<String>,
    /// Whether its medium turns.
    pub rotational: bool,
    /// Whether its medium can be taken out.
    pub removable: bool,
    /// How many partitions it has.
    pub partitions: usize,
    /// What the guard says.
    pub answer: Answer,
    /// Why, in one line, and what to do. In JSON `reason` is its English, and `reason_parts` has
    /// codes and names.
    #[serde(flatten, serialize_with = "with_parts")]
    pub reason: Text,
}

fn with_parts<S: Serializer>(reason: &Text, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("reason", &reason.english())?;
    map.serialize_entry("reason_parts", reason)?;
    map.end()
}

/// How long a drive may take to be looked at.
const LOOK_TIME: Duration = Duration::from_secs(5);

/// Drives that have a size, by the kernel's names. Loop devices without a file and RAM disks of the
/// kernel are none. One that does not answer is told as that after five seconds.
#[must_use]
pub fn drives() -> Vec<Drive> {
    let mut names: Vec<String> = fs::read_dir("/sys/block")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !["ram", "fd"].iter().any(|kind| name.starts_with(kind)))
        .collect();
    names.sort();
    let drives: Vec<Drive> = names.iter().filter_map(|name| drive(name)).collect();
    let look = |drive: &Drive| {
        let (path, serial) = (drive.path.clone(), drive.serial.clone());
        move || {
            if answers(&path) { ask(&path, serial.as_ref()) } else { (Answer::NotKnown, silent()) }
        }
    };
    let looks = drives.iter().map(|drive| (drive.name.clone(), look(drive))).collect();
    let answers = looks_within(LOOK_TIME, looks);
    let with_answer = |(mut drive, answer): (Drive, Option<(Answer, Text)>)| {
        if let Some(answer) = answer {
            (drive.answer, drive.reason) = answer;
        }
        drive
    };
    drives.into_iter().zip(answers).map(with_answer).collect()
}

/// What the kernel knows of a block device, by whatever name; none of what is no whole drive. The
/// guard is not asked.
#[must_use]
pub fn look_at(path: &Path) -> Option<Drive> {
    let path = fs::canonicalize(path).ok()?;
    let name = path.strip_prefix("/dev").ok()?.to_str()?.replace('/', "!");
    drive(&name)
}

fn silent() -> Text {
    statement!(catalogue::LOOK_HANGS, seconds = LOOK_TIME.as_secs())
}

/// Those that do not answer a read within three seconds, or answer with an error: drives that have
/// died, or are about to, and those that end before the end that the kernel knows of. All are asked
/// at once, and one that hangs keeps nobody waiting.
#[must_use]
pub fn silent_drives(paths: &[PathBuf]) -> Vec<PathBuf> {
    let look = |path: &PathBuf| {
        let asked = path.clone();
        let name = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        // One that was pulled out, or has lost its medium, has nothing to read. Where a loop
        // device's image was cut short, it is the end that is not there.
        let last = look_at(path).map(|drive| (drive.size_bytes / LOOK_BYTES).saturating_sub(1));
        let has_bytes = move || {
            let is_there =
                |block: u64| matches!(read_of(&asked, block), Ok(Some(bytes)) if !bytes.is_empty());
            is_there(0) && last.is_none_or(is_there)
        };
        (name.display().to_string(), has_bytes)
    };
    let answers = looks_within(LOOK_TIME, paths.iter().map(look).collect());
    let is_silent = |(_, answer): &(&PathBuf, Option<bool>)| *answer != Some(true);
    paths.iter().zip(answers).filter(is_silent).map(|(path, _)| path.clone()).collect()
}

/// What a drive has done since the machine was started and what it is doing, as the kernel counts
/// it: requests that have ended, and those that are under way. The drive is not asked. None of what
/// is no block device.
#[must_use]
pub fn requests_of(path: &Path) -> Option<(u64, u64)> {
    let path = fs::canonicalize(path).ok()?;
    let name = path.strip_prefix("/dev").ok()?.to_str()?.replace('/', "!");
    let stat = fs::read_to_string(Path::new("/sys/class/block").join(name).join("stat")).ok()?;
    let fields: Vec<u64> =
        stat.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    // Reads, writes, discards and flushes (Documentation/block/stat.rst).
    let ended = [0, 4, 11, 15].iter().filter_map(|place| fields.get(*place)).sum();
    Some((ended, *fields.get(8)?))
}

/// Whether a drive answers a read, asked by a process of its own: one that waits for a drive where
/// no signal reaches it cannot end before the drive answers, and is left behind.
fn answers(path: &Path) -> bool {
    read_of(path, 0).is_ok()
}

/// What a look at a drive reads, in bytes.
const LOOK_BYTES: u64 = 4096;

/// What comes of a read of one block of a drive, counted from its begin, as text: nothing where it
/// fails, and an error where it has not come to its end.
fn read_of(path: &Path, block: u64) -> Result<Option<String>, u32> {
    let mut read = Command::new("dd");
    read.arg(format!("if={}", path.display()))
        .args([format!("bs={LOOK_BYTES}"), format!("skip={block}")])
        .args(["count=1", "iflag=direct", "status=none"])
        .stdin(Stdio::null());
    let time = Timespec { tv_sec: 3, tv_nsec: 0 };
    bounded(read, time)
}

/// Drives at which a look has not come to its end yet, and since when: after its time another would
/// hang as well.
static LOOKED_AT: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());

/// Looks at all at once, each in a thread of its own. One that does not come to its end is left
/// behind, and ends with the process at the latest.
fn looks_within<T: Send + 'static, L: FnOnce() -> T + Send + 'static>(
    time: Duration,
    looks: Vec<(String, L)>,
) -> Vec<Option<T>> {
    let looked_at = || LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner);
    let end = Instant::now() + time;
    let start = |(name, look): (String, L)| {
        if looked_at().entry(name.clone()).or_insert_with(Instant::now).elapsed() >= time {
            return None;
        }
        let (sender, answer) = mpsc::channel();
        let thread_name = format!("look-{name}");
        let looking = move || {
            let found = look();
            looked_at().remove(&name);
            let _ = sender.send(found);
        };
        thread::Builder::new().name(thread_name).spawn(looking).ok().map(|_| answer)
    };
    let started: Vec<_> = looks.into_iter().map(start).collect();
    let left = || end.saturating_duration_since(Instant::now());
    let wait = |answer: Option<mpsc::Receiver<T>>| answer?.recv_timeout(left()).ok();
    started.into_iter().map(wait).collect()
}

fn drive(name: &str) -> Option<Drive> {
    let folder = Path::new("/sys/block").join(name);
    let setting = |setting: &str| {
        let text = fs::read_to_string(folder.join(setting)).ok()?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let size_bytes = setting("size")?.parse::<u64>().ok()?.saturating_mul(block::SECTOR_BYTES);
    if size_bytes == 0 {
        return None;
    }
    // The kernel writes `!` for the `/` in a name.
    let node = Path::new("/dev").join(name.replace('!', "/"));
    let number = system::block_number(&node);
    let path = number.and_then(by_id_name).unwrap_or(node);
    let serial = number.and_then(serial);
    Some(Drive {
        name: name.to_owned(),
        size_bytes,
        model: model(setting("device/vendor"), setting("device/model")),
        rotational: setting("queue/rotational").as_deref() == Some("1"),
        removable: setting("removable").as_deref() == Some("1"),
        partitions: number.map_or(0, |number| system::partitions(number).len()),
        path,
        serial,
        answer: Answer::NotKnown,
        reason: silent(),
    })
}

/// A drive's own name; what only says how it is attached stays out of it.
fn model(vendor: Option<String>, model: Option<String>) -> Option<String> {
    let vendor = vendor.filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"));
    match (vendor, model) {
        (Some(vendor), Some(model)) => Some(format!("{vendor} {model}")),
        (_, model) => model,
    }
}

/// What the guard says without consent, and whether it says more with every consent there is.
fn ask(path: &Path, serial: Option<&String>) -> (Answer, Text) {
    let check = |consent: Consent| Guard::new(consent).check(path);
    let every = Consent {
        erase_serials: serial.into_iter().cloned().collect(),
        erase_signature: true,
        devices: vec![path.to_owned()],
        ..Consent::default()
    };
    judge(check(Consent::default()), check(every))
}

fn judge(without: Result<(), Error>, with_every: Result<(), Error>) -> (Answer, Text) {
    // The path stands beside it.
    let in_short = |error: &Error| error.text().without_place();
    match (without, with_every) {
        (_, Err(error)) if error.kind() == ErrorKind::Refused => {
            (Answer::Refused, in_short(&error))
        }
        (_, Err(error)) => (Answer::NotKnown, in_short(&error)),
        (Err(error), Ok(())) => (Answer::WithConsent, in_short(&error)),
        (Ok(()), Ok(())) => (Answer::WithConsent, catalogue::NOTHING_AGAINST.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Refused, text).at("/dev/sdx"))
    }

    #[test]
    fn what_no_consent_helps_against_is_the_reason_that_is_given() {
        let by_name = || refused("use /dev/disk/by-id/ata-x");
        let mounted = refused("it is mounted at /; unmount it first");
        assert_eq!(
            judge(by_name(), mounted),
            (Answer::Refused, "it is mounted at /; unmount it first".into())
        );
        assert_eq!(
            judge(by_name(), Ok(())),
            (Answer::WithConsent, "use /dev/disk/by-id/ata-x".into())
        );
        let unreadable =
            || Err(Error::new(ErrorKind::Permission, catalogue::LOOKING).at("/dev/sdx"));
        assert_eq!(
            judge(unreadable(), unreadable()),
            (Answer::NotKnown, catalogue::LOOKING.into())
        );
    }

    #[test]
    fn a_drive_that_does_not_answer_keeps_no_other_waiting() {
        type Look = Box<dyn FnOnce() -> u32 + Send>;
        let (let_go, held) = mpsc::channel::<()>();
        let hangs = move || {
            let _ = held.recv();
            1
        };
        let name = |name: &str| format!("test-{name}");
        let looks: Vec<(String, Look)> =
            vec![(name("hangs"), Box::new(hangs)), (name("answers"), Box::new(|| 2))];
        assert_eq!(looks_within(Duration::from_millis(500), looks), [None, Some(2)]);
        // As long as the first look at it goes on there is no second.
        let again = || vec![(name("hangs"), || 3)];
        assert_eq!(looks_within(Duration::from_millis(500), again()), [None]);
        drop(let_go);
        let looked = || looks_within(Duration::from_millis(500), again());
        assert!((0..100_000).any(|_| looked() == [Some(3)]), "it was let go");
    }

    #[test]
    fn the_bus_is_no_part_of_a_model() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(model(some("ATA"), some("WDC WD80")), some("WDC WD80"));
        assert_eq!(model(some("0x1af4"), None), None);
        assert_eq!(model(some("Kingston"), some("DT 50")), some("Kingston DT 50"));
    }

    /// Whatever this machine has: the drive that the running system lies on is refused, and every
    /// drive has a reason in one line.
    #[test]
    fn every_drive_has_a_reason_and_that_of_the_system_is_refused() {
        let system = system::disks_under(&system::mounts(), Path::new("/"));
        for drive in drives() {
            let reason = drive.reason.to_string();
            assert!(!reason.is_empty() && !reason.contains('\n'), "{drive:?}");
            assert_eq!(serde_json::to_value(&drive).unwrap()["reason"], reason);
            let number = system::block_number(&drive.path);
            let is_system = number.is_some_and(|number| system.contains(&number));
            assert!(!is_system || drive.answer != Answer::WithConsent, "{drive:?}");
        }
    }
}
