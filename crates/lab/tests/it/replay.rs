//! How faithful a replay is: work that is recorded on one layout and replayed on another takes as
//! long there as the work itself does. All of it on modelled drives.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

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

/// What replays of one work on all layouts, recorded on each of them, come to.
struct Faithful {
    /// The least and the most of the work's own time on the layout that it is replayed on.
    ratios: [f64; 2],
    /// The pair of which the time is furthest off: recorded on, replayed on.
    furthest: (&'static str, &'static str),
    /// Pairs of layouts that the work itself tells apart by 1 %, once for each recording.
    pairs: usize,
    /// Those of them that the replays put in the same order.
    held: usize,
}

/// What is less apart is as fast.
const APART: f64 = 0.01;

impl Faithful {
    /// Of a work's own times by layout, and of those of its replays by the layout that it was
    /// recorded on.
    fn of(names: &[&'static str], own: &[f64], replayed: &[Vec<f64>]) -> Faithful {
        let mut found =
            Faithful { ratios: [1.0; 2], furthest: (names[0], names[0]), pairs: 0, held: 0 };
        let mut far = 0.0;
        for (from, times) in replayed.iter().enumerate() {
            for (to, time) in times.iter().enumerate() {
                let ratio = time / own[to];
                let [least, most] = &mut found.ratios;
                (*least, *most) = (least.min(ratio), most.max(ratio));
                if (ratio - 1.0).abs() > far {
                    far = (ratio - 1.0).abs();
                    found.furthest = (names[from], names[to]);
                }
                for (other, other_time) in times.iter().enumerate().skip(to + 1) {
                    if (own[to] / own[other]).ln().abs() > APART {
                        found.pairs += 1;
                        found.held += usize::from((own[to] < own[other]) == (*time < *other_time));
                    }
                }
            }
        }
        found
    }

    /// As a row of the table of docs/record.md.
    fn row(&self, work: &str) -> String {
        let Faithful { ratios: [least, most], furthest: (from, to), pairs, held } = self;
        format!(
            "| {work} | {least:.3} – {most:.3} | recorded on {from}, replayed on {to} | {held} of \
            {pairs} |"
        )
    }
}

/// A replay takes as long as the work that was recorded, within 5 %, and on another layout as long
/// as the work itself does there, within 10 %; and it puts any two layouts in the order in which
/// the work itself does. The table of docs/record.md is what it prints.
#[test]
fn a_replay_takes_as_long_as_the_work_itself() {
    let folder = tempfile::tempdir().unwrap();
    let layouts = layouts();
    let names: Vec<&'static str> = layouts.iter().map(|(name, _)| *name).collect();
    let mut table = Vec::new();
    let mut far = Vec::new();
    for (number, work) in Work::all().iter().enumerate() {
        let mut own = Vec::new();
        let mut files = Vec::new();
        for (place, (_, layout)) in layouts.iter().enumerate() {
            let file = folder.path().join(format!("{number}-{place}.rec"));
            own.push(work.seconds(&format!("record(file:{}, {layout})", file.display())));
            files.push(file);
        }
        let on_all = |file: &std::path::PathBuf| -> Vec<f64> {
            layouts.iter().map(|(_, layout)| replayed(file, layout)).collect()
        };
        let again: Vec<Vec<f64>> = files.iter().map(on_all).collect();
        for (from, times) in again.iter().enumerate() {
            for (to, time) in times.iter().enumerate() {
                let ratio = time / own[to];
                let most = if from == to { 0.05 } else { 0.10 };
                if (ratio - 1.0).abs() > most {
                    far.push(format!(
                        "{}: {} -> {}: {ratio:.3}",
                        work.name, names[from], names[to]
                    ));
                }
            }
        }
        let faithful = Faithful::of(&names, &own, &again);
        assert!(faithful.held * 100 >= faithful.pairs * 99, "{}", faithful.row(work.name));
        table.push(faithful.row(work.name));
    }
    println!("{}", table.join("\n"));
    assert!(far.is_empty(), "{far:#?}");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/record.md");
    let page = std::fs::read_to_string(page).unwrap();
    for row in &table {
        assert!(page.contains(row), "docs/record.md lacks a row:\n{}", table.join("\n"));
    }
}

/// Planted: a replay that has two layouts the wrong way round is counted.
#[test]
fn an_order_that_is_not_held_is_counted() {
    let own = [1.0, 2.0, 2.001];
    let found = Faithful::of(&["a", "b", "c"], &own, &[own.to_vec(), vec![1.0, 0.9, 2.0]]);
    assert_eq!((found.pairs, found.held, found.furthest), (4, 3, ("b", "b")));
    assert!((found.ratios[0] - 0.45).abs() < 1e-9 && found.row("w").contains("3 of 4"));
}
