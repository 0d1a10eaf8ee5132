//! `pull`: what is left when the power fails, as rows of a plan.
//!
//! The rows are defined here and carried out by the lab, which alone knows stacks and file systems:
//! the test makes drives of its own, the stack over them, and its power cuts. By hand the same is
//! `raidloom pull`.

use std::time::Duration;

use block::{Error, ErrorKind};
use results::{BetterDirection, Group};
use words::Message;

use super::{Kind, Phase, Rows, Session, Setting, Settings, Suite, Target, TargetKind, Value};
use crate::suite::catalogue;

/// Name of the suite.
pub const NAME: &str = "pull";
/// How the name of each row begins, before the kind of work.
pub const ROW: &str = "pull ";
/// The kind of work that is spread over a time of its own.
const COPY: &str = "copy";

/// The row of a program of one's own.
pub const OWN: &str = "command";

/// Each kind of work, with what its row says.
const WORKS: [(&str, Message); 8] = [
    (COPY, catalogue::WORK_COPY),
    ("fsync", catalogue::WORK_FSYNC),
    ("rename", catalogue::WORK_RENAME),
    ("append", catalogue::WORK_APPEND),
    ("database", catalogue::WORK_DATABASE),
    ("database-extra", catalogue::WORK_DATABASE_EXTRA),
    ("database-wal", catalogue::WORK_DATABASE_WAL),
    ("generated", catalogue::WORK_GENERATED),
];

/// How drives may behave.
pub const DEVICES: [&str; 6] =
    ["typical", "strict", "write-through", "lying", "lying-fua", "model"];
/// What a drive may write whole or not at all.
const TEARS: [&str; 6] = ["512", "1KiB", "2KiB", "4KiB", "8KiB", "16KiB"];
/// Which drive may be lost with the power.
pub const LOST: [&str; 2] = ["none", "random"];
/// What may happen.
pub const EVENTS: [&str; 4] = ["power", "yank", "cable", "kill"];

/// `pull`.
pub static SUITE: Suite = Suite {
    name: NAME,
    summary: "Power cuts, made on copies: what a layout and its file system lose, as a grade.",
    about: "The configuration's stack is served over drives in memory that stand for its members, \
        the file system is made on it, and the work is recorded at every drive. Then the power \
        fails at moments spread evenly over the recording, and what is left is mounted, repaired \
        where it has to be, and read. Grade A: nothing is lost but the last second of copies; B: \
        nothing acknowledged is lost; C: it takes a repair, or old data come to light; D: \
        acknowledged work is lost; E: all is lost, sometimes. A configuration has the worst grade \
        of its rows, shown with the number of pulls and with what so many leave possible; `must = \
        [\"grade >= B\"]` takes no other. It needs root and this machine's kernel, or with place = \
        \"guest\" a guest's, and opens none of the members. Rows have no score. In plans only: by hand it is `raidloom pull`.",
    targets: &[TargetKind::Folder],
    settings: &[
        Setting::new(
            "pulls",
            Kind::Count(1, 1_000_000),
            Value::Count(100),
            "Power cuts of a row in each block, at moments uniform in time.",
        ),
        Setting::new(
            "hunt",
            Kind::Count(0, 1_000_000),
            Value::Count(0),
            "Further power cuts around arrivals and flushes, with losses as hostile as they are \
            permitted: a sample of its own, shown beside the other and in no grade.",
        ),
        Setting::new(
            "keep_failing",
            Kind::Word(&["no", "yes"]),
            Value::word("no"),
            "Whether what makes states again that broke something stays in the run's folder \
            (failing/, for `raidloom pull --replay`).",
        ),
        Setting::new(
            "recordings",
            Kind::Count(1, 1000),
            Value::Count(1),
            "Recordings over which they are spread. Cuts of one recording are alike: several \
            blocks are several recordings.",
        ),
        Setting::new(
            "copies",
            Kind::Count(1, 100_000),
            Value::Count(240),
            "Files of the row that copies.",
        ),
        Setting::new(
            "copy_time",
            Kind::Time,
            Value::Time(Duration::from_secs(40)),
            "Time over which these are spread.",
        ),
        Setting::new(
            "steps",
            Kind::Count(1, 100_000),
            Value::Count(200),
            "Steps of each other row; `$STEPS` to a program of one's own.",
        ),
        Setting::new(
            "work_command",
            Kind::Text,
            Value::word(""),
            "A program of one's own as a row more, `pull command`, as sh reads it: it begins in a \
            folder of the file system, and each line that it writes to the file named in $MARKS is \
            a promise (each line that it prints, where it writes none there).",
        ),
        Setting::new(
            "check",
            Kind::Text,
            Value::word(""),
            "What looks at that folder after a cut: the promises before it stand in the file named \
            in $PROMISED, and it answers with lines `lost KEY`, `wrong KEY` and `torn KEY`, or with \
            an exit code that is not 0.",
        ),
        Setting::new(
            "setup",
            Kind::Text,
            Value::word(""),
            "What sets that folder up before anything is promised.",
        ),
        Setting::new(
            "drive_size",
            Kind::Bytes,
            Value::Bytes(128 << 20),
            "The drives are no larger than this, whatever their members are.",
        ),
        Setting::new(
            "device",
            Kind::Word(&DEVICES),
            Value::word("typical"),
            "How drives behave: with a volatile cache, losing whatever may be lost, without a \
            cache, or (to see what it costs) ignoring flushes or FUA; in guests also as their models \
            say, which know what of the cache had come to the media.",
        ),
        Setting::new(
            "event",
            Kind::Word(&EVENTS),
            Value::word("power"),
            "What happens: the power fails, drives without power of their own are pulled out, \
            drives with it (which write out what they cached), or the kernel alone ends.",
        ),
        Setting::new(
            "drive_cache",
            Kind::Bytes,
            Value::Bytes(32 << 20),
            "The volatile cache of each typical drive.",
        ),
        Setting::new(
            "cache_age",
            Kind::Time,
            Value::Time(Duration::from_secs(5)),
            "How long a write stays in it at most.",
        ),
        Setting::new(
            "lose_member",
            Kind::Word(&LOST),
            Value::word("none"),
            "Whether a drive, another each time, is lost together with the power: what resync, \
            bitmap and PPL differ in.",
        ),
        Setting::new(
            "tear",
            Kind::Word(&TEARS),
            Value::word("4KiB"),
            "What a drive writes whole or not at all.",
        ),
    ],
    rows: Rows::Alone,
    phases: |settings| {
        let own = !settings.text("work_command").trim().is_empty();
        let own = own.then_some((OWN, catalogue::WORK_OWN));
        WORKS.into_iter().chain(own).map(|(work, what)| phase(work, what)).collect()
    },
    prepared_bytes: |_, _| 0,
    run,
};

fn phase(work: &str, what: Message) -> Phase {
    Phase {
        name: format!("{ROW}{work}"),
        what: what.into(),
        group: Group::Safety,
        metric: "promise_broken_pulls_count".into(),
        better: BetterDirection::Lower,
        writes: true,
        is_deep: false,
        buffered_of: None,
    }
}

/// How many steps the work of a row has, and the time over which they are spread.
#[must_use]
pub fn extent(settings: &Settings, row: &str) -> (u64, Duration) {
    if row.strip_prefix(ROW) == Some(COPY) {
        (settings.count("copies"), settings.time("copy_time"))
    } else {
        (settings.count("steps"), Duration::ZERO)
    }
}

/// How long a row takes on this machine, when nothing is known yet: its recordings, and ten states
/// a second.
#[must_use]
pub fn planned_time(settings: &Settings, row: &str) -> Duration {
    let recordings = u32::try_from(settings.count("recordings")).unwrap_or(u32::MAX);
    let (_, spread) = extent(settings, row);
    let states = u32::try_from(states(settings)).unwrap_or(u32::MAX);
    (spread + Duration::from_millis(300)).saturating_mul(recordings)
        + Duration::from_millis(100).saturating_mul(states)
}

/// Processor time in seconds that a row takes in a guest, when nothing is known yet: its
/// recordings, in whose modelled time nobody waits, and four states a second.
#[must_use]
pub fn guest_processor_seconds(settings: &Settings) -> f64 {
    0.5 * settings.count("recordings") as f64 + 0.25 * states(settings) as f64
}

/// States of the drives that are looked at.
fn states(settings: &Settings) -> u64 {
    settings.count("pulls") + settings.count("hunt")
}

/// A device or folder that is there already cannot lose its power.
fn run(_: Target<'_>, _: &Settings, _: &mut Session<'_>) -> Result<(), Error> {
    Err(Error::new(ErrorKind::Unsupported, catalogue::PULL_MAKES_DRIVES).at("pull"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_take_their_recordings_and_ten_states_a_second() {
        let mut settings = SUITE.defaults(block::Clock::Wall);
        settings.set(&SUITE, "pulls", Value::Count(30)).unwrap();
        settings.set(&SUITE, "recordings", Value::Count(2)).unwrap();
        assert_eq!(extent(&settings, "pull copy"), (240, Duration::from_secs(40)));
        assert_eq!(extent(&settings, "pull append"), (200, Duration::ZERO));
        assert_eq!(planned_time(&settings, "pull copy"), Duration::from_millis(2 * 40_300 + 3_000));
        assert_eq!(planned_time(&settings, "pull fsync"), Duration::from_millis(2 * 300 + 3_000));
        assert!((guest_processor_seconds(&settings) - 8.5).abs() < 1e-9);
        assert!((SUITE.phases)(&settings).iter().all(|phase| phase.group == Group::Safety));
    }
}
