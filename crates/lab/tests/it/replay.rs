//! How faithful a replay is: work that is recorded on one layout and replayed on another takes as
//! long there as the work itself does. All of it on modelled drives.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use bench::suite::{Suite, Value, load, replay};
use block::{Clock, Error};
use stack::{BuildContext, OpenFiles};

use crate::support::rows_of;

/// Makes the files of recordings.
struct Files;

impl OpenFiles for Files {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, Error> {
        let mut options = File::options();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| Error::from_io(path.display().to_string(), error))
    }
}

/// Settings of a suite.
type SuiteSettings = [(&'static str, Value)];

/// Runs a suite on a stack of models; how long its first row took, in seconds. What work leaves to
/// be flushed is flushed behind it, which its recording has as well.
fn seconds(suite: &'static Suite, said: &SuiteSettings, stack_text: &str) -> f64 {
    let context = BuildContext { seed: 3, emulate: true, ..BuildContext::new(&Files) };
    let stack = stack::parse_and_build(stack_text, &context).unwrap();
    let rows = rows_of(suite, Clock::Virtual, said, &*stack.device).unwrap();
    let done = &rows[0].measured().unwrap().done;
    match suite.name {
        replay::NAME => done.elapsed.as_secs_f64(),
        _ => done.durable_elapsed().as_secs_f64(),
    }
}

/// Work whose requests do not depend on where it is done.
struct Work {
    name: &'static str,
    said: Vec<(&'static str, Value)>,
}

/// What all layouts have room for.
const USED: u64 = 40 << 30;

impl Work {
    fn load(name: &'static str, said: &[(&'static str, Value)]) -> Work {
        let mut all = vec![
            ("max_operations", Value::Limit(Some(3000))),
            ("time", Value::Time(Duration::from_secs(3600))),
            ("ramp", Value::Time(Duration::ZERO)),
            ("verify", Value::word("off")),
            ("used", Value::Bytes(USED)),
        ];
        all.extend_from_slice(said);
        Work { name, said: all }
    }

    fn all() -> Vec<Work> {
        let count = Value::Count;
        vec![
            Work::load(
                "mixed, 8 outstanding",
                &[
                    ("sizes", Value::word("4KiB * 3, 64KiB * 1")),
                    ("read", count(60)),
                    ("sequential", count(30)),
                    ("streams", count(3)),
                    ("depth", count(8)),
                ],
            ),
            Work::load("reads, 32 outstanding", &[("depth", count(32))]),
            Work::load(
                "mails: one, thinks 2 ms, flushes",
                &[
                    ("sizes", Value::word("4KiB..32KiB")),
                    ("read", count(50)),
                    ("flush_every", Value::Limit(Some(4))),
                    ("think", Value::Time(Duration::from_millis(2))),
                ],
            ),
            Work::load(
                "streams of 256 KiB, 4 outstanding",
                &[
                    ("sizes", Value::word("256KiB")),
                    ("read", count(80)),
                    ("sequential", count(100)),
                    ("streams", count(4)),
                    ("depth", count(4)),
                ],
            ),
        ]
    }

    /// How long it takes on a layout.
    fn seconds(&self, layout: &str) -> f64 {
        seconds(&load::SUITE, &self.said, layout)
    }
}

/// Records random reads and writes of 4 and 64 KiB, 8 outstanding.
pub(crate) fn record_mixed(file: &Path, requests: u64) {
    let mut work = Work::all().remove(0);
    work.said.push(("max_operations", Value::Limit(Some(requests))));
    work.seconds(&format!("record(file:{}, {FLASH})", file.display()));
}

/// How long a recording takes on a layout.
fn replayed(file: &Path, layout: &str) -> f64 {
    let file = Value::from(file.to_string_lossy().into_owned());
    seconds(&replay::SUITE, &[("file", file)], layout)
}

const DISK: &str = "model:maxtor-6y200p0";
const FLASH: &str = "model:samsung-870-evo-1tb";

/// So many drives in an array.
fn array(level: &str, drive: &str, count: usize) -> String {
    format!("{level}({})", vec![drive; count].join(", "))
}

fn layouts() -> Vec<(&'static str, String)> {
    vec![
        ("disk", DISK.to_owned()),
        ("raid0 of 2", array("raid0", DISK, 2).replace("raid0(", "raid0(chunk=64KiB, ")),
        ("raid1 of 2", array("raid1", DISK, 2)),
        ("raid5 of 3", array("raid5", DISK, 3)),
        ("raid10 of 4", array("raid10", DISK, 4)),
        ("ssd", FLASH.to_owned()),
        ("raid5 of 3 ssds", array("raid5", FLASH, 3)),
    ]
}

/// From, to: by their places among the layouts. Every one is recorded on and replayed on.
const PAIRS: [(usize, usize); 12] = [
    (0, 1),
    (1, 0),
    (0, 2),
    (2, 3),
    (3, 0),
    (3, 4),
    (4, 3),
    (1, 4),
    (0, 5),
    (5, 0),
    (6, 3),
    (3, 6),
];

/// A replay takes as long as the work that was recorded, within 5 %, and on another layout as long
/// as the work itself does there, within 10 %.
#[test]
fn a_replay_takes_as_long_as_the_work_itself() {
    let folder = tempfile::tempdir().unwrap();
    let layouts = layouts();
    let mut table = String::from("work, recorded on -> replayed on, seconds: itself, replayed\n");
    let mut far = Vec::new();
    for (number, work) in Work::all().iter().enumerate() {
        let mut own = Vec::new();
        let mut files = Vec::new();
        for (place, (name, layout)) in layouts.iter().enumerate() {
            let file = folder.path().join(format!("{number}-{place}.rec"));
            let recorded = work.seconds(&format!("record(file:{}, {layout})", file.display()));
            own.push(recorded);
            let again = replayed(&file, layout);
            files.push(file);
            let ratio = again / recorded;
            let _ = writeln!(
                table,
                "{:34} {name:>15} -> itself           {recorded:9.3} {again:9.3} {ratio:.3}",
                work.name
            );
            if (ratio - 1.0).abs() > 0.05 {
                far.push(format!("{}: {name}: {ratio:.3}", work.name));
            }
        }
        for (from, to) in PAIRS {
            let again = replayed(&files[from], &layouts[to].1);
            let ratio = again / own[to];
            let (from, name) = (layouts[from].0, layouts[to].0);
            let _ = writeln!(
                table,
                "{:34} {from:>15} -> {name:15}  {:9.3} {again:9.3} {ratio:.3}",
                work.name, own[to]
            );
            if (ratio - 1.0).abs() > 0.10 {
                far.push(format!("{}: {from} -> {name}: {ratio:.3}", work.name));
            }
        }
    }
    println!("{table}");
    assert!(far.is_empty(), "{far:#?}\n{table}");
}
