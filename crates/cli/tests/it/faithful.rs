//! Work in a guest that is recorded and replayed: on the layout that it was recorded on it takes as
//! long as it did, and on another one as long as the work itself does there. The tables of
//! docs/record.md are what it prints.
//!
//! Without the kernel (`raidloom guest build`) it is skipped; in CI that is a failure.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bench::suite::{NoAudit, NoProgress, Session, Target, Ticker, Value, replay};
use block::{Clock, Error, ErrorKind, Reactor};
use serde_json::Value as Json;
use stack::{BuildContext, Models, OpenFiles};

use crate::guest::is_built;

/// Work in a file system in a guest of 48 MiB.
struct Work {
    name: &'static str,
    words: &'static str,
    /// Whether it lasts for a time, so that as fast is what does as much in a second.
    lasts: bool,
}

const WORKS: [Work; 3] = [
    Work {
        name: "bonnie",
        words: "bonnie . --size 96 -s files=0 -s per_character=false -s check_memory=false",
        lasts: false,
    },
    Work {
        name: "crystal",
        words: "crystal . --size 128MiB --time 10s --runs 1 -s interval=0s -s 'only=RND4K Q32T1 \
            read'",
        lasts: true,
    },
    Work { name: "copy", words: "copy . -s bytes=32MiB -s drop_caches=true", lasts: false },
];

const DISK: &str = "model:st340015a?size=1GiB";
/// What all chance comes from, the angles of the spindles among it.
const SEED: u64 = 1;

/// Where it is done.
fn layouts() -> [(&'static str, String); 4] {
    let of = |head: &str, count: usize| format!("{head}, {})", vec![DISK; count].join(", "));
    [
        ("one disk", DISK.to_owned()),
        ("RAID 0 of 2", of("raid0(chunk=64KiB", 2)),
        ("RAID 10 of 4", of("raid10(chunk=64KiB", 4)),
        ("RAID 5 of 3", of("raid5(chunk=64KiB", 3)),
    ]
}

/// Work, and the layouts that it was recorded and replayed on, where the replay is further off than
/// is aimed at; docs/record.md says why.
const MISSES: [(&str, &str, &str); 1] = [("copy", "RAID 10 of 4", "one disk")];

/// How far off a replay may be on the layout of the recording, and on another.
const AIMS: [f64; 2] = [0.05, 0.10];

fn json(folder: &Path, words: &[&str]) -> Json {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    let ended = command.arg("--json").args(words).current_dir(folder).output().unwrap();
    let [said, errors] = [&ended.stdout, &ended.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(ended.status.success(), "{words:?}: {errors}{said}");
    serde_json::from_str(&said).unwrap()
}

/// What was done, and in how many seconds.
#[derive(Clone, Copy, Debug)]
struct Done {
    requests: f64,
    seconds: f64,
    /// How long the drives had turned when it began.
    turned: Duration,
}

impl Work {
    /// What a time is compared by: all of the work, or what is done in a second.
    fn time(&self, done: Done) -> f64 {
        if self.lasts { done.seconds / done.requests } else { done.seconds }
    }

    /// Does it in a guest on a layout, and leaves a recording of it alone.
    fn record(&self, folder: &Path, recording: &str, layout: &str) -> Done {
        let whole = folder.join("whole.rec");
        let program = env!("CARGO_BIN_EXE_raidloom");
        let work = format!("{program} bench {} -o $OUT/run", self.words);
        let stack = format!("record(file:{}, {layout})", whole.display());
        let seed = SEED.to_string();
        let guest = ["guest", "run", "-z", &seed, "--memory", "48MiB", "--fs", "ext4"];
        let said = json(folder, &[&guest[..], &["--stack", &stack, "--", &work]].concat());
        let number = |key: &str| said[key].as_f64().unwrap();
        let (begin, seconds) = (number("work_begin_seconds"), number("work_seconds"));
        let [from, to] = [begin, begin + seconds].map(|time| format!("{time:.9}s"));
        let cut = ["trace", "cut", "whole.rec", "--from", &from, "--to", &to, "-o", recording];
        let requests = json(folder, &cut)["requests"].as_f64().unwrap();
        fs::remove_file(whole).unwrap();
        Done { requests, seconds, turned: Duration::from_secs_f64(begin) }
    }
}

/// Opens nothing but modelled drives, beside these.
struct OnModels(Models);

impl OpenFiles for OnModels {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, Error> {
        Err(Error::new(ErrorKind::Invalid, path.display().to_string()))
    }

    fn models(&self) -> Option<Models> {
        Some(self.0.clone())
    }
}

/// Replays a recording on a layout, of the very drives that the guest had: their spindles stand as
/// they did when the work began on that layout.
fn replayed(recording: &Path, layout: &str, turned: Duration) -> Done {
    let models = Models::default();
    let files = OnModels(models.clone());
    let context = BuildContext { seed: SEED, ..BuildContext::new(&files) };
    let stack = stack::parse_and_build(layout, &context).unwrap();
    models.disks().iter().for_each(|disk| disk.turn_until(turned.as_nanos() as u64));
    let suite = &replay::SUITE;
    let mut settings = suite.defaults(Clock::Virtual);
    let file = Value::from(recording.display().to_string());
    settings.set(suite, "file", file).unwrap();
    let reactor = Reactor::virtual_clock();
    let (stop, ticker, mut meter, mut observer) =
        (AtomicBool::new(false), Ticker::new(), NoAudit, NoProgress);
    let mut session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut observer);
    (suite.run)(Target::Device(&*stack.device), &settings, &mut session).unwrap();
    let rows = session.into_rows();
    let done = &rows[0].measured().unwrap().done;
    Done { requests: done.operations as f64, seconds: done.elapsed.as_secs_f64(), turned }
}

/// A ratio between two layouts, of the work's own there.
struct RatioOfTwo {
    layouts: [&'static str; 2],
    error: f64,
}

/// How well ratios between two layouts are held: how many within the aim, and the furthest.
fn held(ratios: &[RatioOfTwo]) -> String {
    let within = ratios.iter().filter(|one| (one.error - 1.0).abs() <= AIMS[0]).count();
    let far = |one: &&RatioOfTwo| (one.error.ln().abs() * 1e9) as u64;
    let furthest = ratios.iter().max_by_key(far).unwrap();
    let [one, other] = furthest.layouts;
    format!("{within} of {} | {one} : {other}, {:.3}", ratios.len(), furthest.error)
}

/// The row of a work in the table of ratios between two layouts. `ratios` are the times of replays
/// of the work's own, by the layout of the recording and that of the replay.
fn ratio_row(work: &Work, names: &[&'static str], ratios: &[Vec<f64>]) -> String {
    let pairs = (0..names.len()).flat_map(|one| (one + 1..names.len()).map(move |two| [one, two]));
    let of = |[one, two]: [usize; 2], error: f64| RatioOfTwo {
        layouts: [names[one], names[two]],
        error,
    };
    // Each of the two recorded where it is replayed; and one recording on both.
    let own: Vec<RatioOfTwo> = pairs
        .clone()
        .map(|pair| of(pair, ratios[pair[0]][pair[0]] / ratios[pair[1]][pair[1]]))
        .collect();
    let same: Vec<RatioOfTwo> = ratios
        .iter()
        .flat_map(|row| pairs.clone().map(|pair| of(pair, row[pair[0]] / row[pair[1]])))
        .collect();
    format!("| {} | {} | {} |", work.name, held(&own), held(&same))
}

/// A row of crystal's alone on two layouts; with `RAIDLOOM_TEST_EVERYTHING` three kinds of work on
/// four, which are twelve pairs of each.
#[test]
fn a_replay_of_work_in_a_guest_takes_as_long_as_it_does() {
    if !is_built() {
        return;
    }
    let is_all = std::env::var_os("RAIDLOOM_TEST_EVERYTHING").is_some();
    let (works, layouts) = (&WORKS[..], &layouts()[..]);
    let (works, layouts) = if is_all { (works, layouts) } else { (&works[1..2], &layouts[..2]) };
    let (mut table, mut far) = (Vec::new(), Vec::new());
    for work in works {
        let folder = tempfile::tempdir().unwrap();
        let file = |place: usize| format!("{place}.rec");
        let record = |(place, (_, layout)): (usize, &(&str, String))| {
            work.record(folder.path(), &file(place), layout)
        };
        let own: Vec<Done> = layouts.iter().enumerate().map(record).collect();
        let mut ratios = vec![Vec::new(); layouts.len()];
        for (from, (recorded_on, _)) in layouts.iter().enumerate() {
            let mut row = format!("| {}, {recorded_on} | {:.1} s |", work.name, own[from].seconds);
            for (to, (replayed_on, layout)) in layouts.iter().enumerate() {
                let recording = folder.path().join(file(from));
                let again = replayed(&recording, layout, own[to].turned);
                let ratio = work.time(again) / work.time(own[to]);
                row += &format!(" {ratio:.3} |");
                ratios[from].push(ratio);
                let is_known = MISSES.contains(&(work.name, recorded_on, replayed_on));
                if (ratio - 1.0).abs() > AIMS[usize::from(from != to)] && !is_known {
                    far.push(format!("{} {recorded_on} -> {replayed_on}: {ratio:.3}", work.name));
                }
            }
            println!("{row}");
            table.push(row);
        }
        let names: Vec<&str> = layouts.iter().map(|(name, _)| *name).collect();
        let row = ratio_row(work, &names, &ratios);
        println!("{row}");
        table.push(row);
    }
    assert!(far.is_empty(), "{far:#?}");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/record.md");
    let page = fs::read_to_string(page).unwrap();
    for row in table.iter().filter(|_| is_all) {
        assert!(page.contains(row), "docs/record.md lacks a row:\n{}", table.join("\n"));
    }
}
