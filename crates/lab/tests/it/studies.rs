//! The plans of `plans/`: each is a good one, in each of its forms, and those that need no guest
//! run in the smallest version of themselves; the others are run by the command line's tests. What
//! this machine cannot have is a trial that says why.

#![expect(clippy::print_stdout, reason = "says with what seed it ran and what it found")]
#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lab::{NoObserver, RunEnd, RunOptions};
use results::analysis::{Comparison, Member, Verdict, analyse};
use results::claim::{Answer, Claim};
use results::{Run, Trial};
use testkit::study::Finding;

use crate::support::serve_with;

/// Paths of models in the plans are relative to the folder above `plans/`.
fn in_the_workspace() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    std::env::set_current_dir(&workspace).unwrap();
    workspace
}

fn plans() -> Vec<PathBuf> {
    let files = std::fs::read_dir(in_the_workspace().join("plans"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut plans: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    plans.sort();
    plans
}

/// Runs a plan of `plans/`, made small.
fn run(name: &str, overrides: &[&str]) -> Run {
    run_as(name, &[overrides, &["trials.blocks=1"]].concat())
}

/// Runs a plan of `plans/` with these keys.
fn run_as(name: &str, overrides: &[&str]) -> Run {
    let plan = in_the_workspace().join("plans").join(name);
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let resolved = lab::plan::load(&plan, &overrides).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let serve_with = Some(serve_with(folder.path()));
    let options =
        RunOptions { output: Some(folder.path().join("run")), serve_with, ..RunOptions::default() };
    let outcome =
        lab::start(&resolved, &options, &AtomicBool::new(false), &mut NoObserver).unwrap();
    assert_eq!(outcome.ended, RunEnd::Complete);
    let left = std::fs::read_dir(folder.path().join("run"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert!(
        !left.into_iter().any(|name| name == "attached" || name == "members"),
        "something was left behind"
    );
    let run = outcome.run;
    let cells = run.plan.configurations.len() * run.plan.workloads.len();
    assert_eq!(run.trials.len(), cells * run.plan.blocks as usize);
    for trial in &run.trials {
        let measured = trial.metrics.contains_key("operations_count");
        let says_why = trial.flags.iter().any(|doubt| doubt.why_not_measured().is_some());
        assert!(measured != says_why, "a trial has figures or a reason: {trial:?}");
    }
    if let Some(note) = run.notes.first() {
        println!("{name}: {note}");
    }
    run
}

/// Whether trials of this file system have to have figures here.
fn must_measure(trial: &Trial) -> bool {
    let possible = rustix::process::geteuid().is_root()
        && Path::new("/dev/fuse").exists()
        && Path::new("/dev/loop-control").exists();
    possible && trial.settings.get("file_system").is_some_and(|name| name.starts_with("ext"))
}

#[track_caller]
fn assert_measured(run: &Run) {
    for trial in run.trials.iter().filter(|trial| must_measure(trial)) {
        assert!(!trial.metrics.is_empty(), "{trial:?}");
    }
}

#[test]
fn every_plan_is_a_good_one() {
    let plans = plans();
    assert!(plans.len() >= 6, "{plans:?}");
    for path in plans {
        let outline = |said: &[String]| {
            let resolved = lab::plan::load(&path, said).unwrap();
            lab::plan::outline(&resolved.plan).unwrap()
        };
        assert!(outline(&[]).trials > 0, "{}", path.display());
        // A title of one line.
        let resolved = lab::plan::load(&path, &[]).unwrap();
        let title = resolved.plan.terms.question.unwrap_or_default();
        assert!((1..=80).contains(&title.len()), "{}: {title}", path.display());
        if std::fs::read_to_string(&path).unwrap().contains("[sizes.short]") {
            let short = outline(&["size=short".to_owned()]);
            assert!(short.trials > 0, "{}", path.display());
        }
    }
}

/// The channel study's arrays in the order of its table in docs/models.md.
const ARRAYS: [(&str, &str, &str); 6] = [
    ("one", "single", "one disk"),
    ("two-on-one-channel", "raid0", "two on one channel"),
    ("two-on-two-channels", "raid0", "two on two channels"),
    ("three-on-two-channels", "raid0", "three, two of them on one"),
    ("four-on-two-channels", "raid0", "four on two channels"),
    ("four-on-two-channels", "linear", "four, linear"),
];

/// What the models say in all rows of the channel study, in KiB/s: medians over the blocks.
struct Channels {
    rows: Vec<(String, [f64; ARRAYS.len()])>,
}

impl Channels {
    fn of(run: &Run) -> Channels {
        let rates = |workload: &str| {
            ARRAYS.map(|(members, level, _)| {
                let is_it = |trial: &&Trial| {
                    trial.settings["members"] == members
                        && trial.settings["level"] == level
                        && trial.workload == workload
                };
                let trials = run.trials.iter().filter(is_it);
                let mut rates: Vec<f64> =
                    trials.map(|trial| trial.metrics["throughput_bytes_per_second"]).collect();
                rates.sort_by(f64::total_cmp);
                rates[rates.len() / 2] / 1024.0
            })
        };
        let rows = run.plan.workloads.iter().map(|one| (one.name.clone(), rates(&one.name)));
        Channels { rows: rows.collect() }
    }

    fn table(&self) -> String {
        let names = ARRAYS.map(|(_, _, name)| name).join(" | ");
        let mut text = format!("| row, KiB/s | {names} |\n| --- |");
        text += &" ---: |".repeat(ARRAYS.len());
        text.push('\n');
        for (row, rates) in &self.rows {
            let rates = rates.map(|rate| format!("{rate:.1}")).join(" | ");
            text += &format!("| {} | {rates} |\n", row.trim_start_matches("crystal: "));
        }
        text
    }
}

/// "two on two channels nearly double; two on one channel are slower than one disk; four gain over
/// one but stay below two on two; linear is one disk". docs/studies.md says why three gain when
/// they are written to and not when they are read. The whole table is in docs/models.md.
#[test]
fn two_on_one_channel_are_slower_than_one_disk() {
    let channels = Channels::of(&run_as("shared-channel.toml", &["trials.blocks=3"]));
    let document = in_the_workspace().join("docs/models.md");
    testkit::golden::check_blocks(document, &[("channels", &channels.table())]);
    let sequential: Vec<_> =
        channels.rows.iter().filter(|(row, _)| row.contains("SEQ1M Q8T1")).collect();
    assert_eq!(sequential.len(), 2);
    for (row, rates) in sequential {
        let [_, shared, apart, three, four, linear] = rates.map(|rate| rate / rates[0]);
        println!("{row}: {shared:.3}, {apart:.3}, {three:.3}, {four:.3}, {linear:.3}");
        assert!(apart > 1.9, "{row}: two on two channels: {apart}");
        assert!(shared < 0.95, "{row}: two on one channel: {shared}");
        assert!(four > 1.05 && four < apart, "{row}: four on two: {four}");
        assert!(three > shared && three < four, "{row}: three on two: {three}");
        // Three gain when they are written to, and nothing when they are read.
        assert_eq!(three > 1.0, row.ends_with("write"), "{row}: three on two: {three}");
        assert!((0.9..1.1).contains(&linear), "{row}: linear: {linear}");
    }
}

/// What the report of the stripe study says of each row and chunk, against one disk.
struct Stripes {
    comparison: Comparison,
    workloads: Vec<String>,
}

impl Stripes {
    fn of(run: &Run) -> Stripes {
        let comparison = analyse(run).comparisons.swap_remove(0);
        assert!(comparison.modelled && comparison.configurations.len() == 9);
        let workloads: Vec<String> =
            run.plan.workloads.iter().map(|workload| workload.name.clone()).collect();
        assert_eq!(workloads.len(), 21);
        Stripes { comparison, workloads }
    }

    /// The report's claim about a row with this chunk.
    fn claim(&self, workload: &str, chunk: &str) -> &Claim {
        let is_it = |one: &&Member| one.settings.get("chunk").is_some_and(|found| found == chunk);
        let configuration = &self.comparison.configurations.iter().find(is_it).unwrap().id;
        let cell = self.comparison.cell(configuration, workload).unwrap();
        cell.metrics[0].versus_baseline.as_ref().unwrap()
    }

    /// Whether it claims this of every row whose name begins so.
    #[track_caller]
    fn says(&self, rows: &str, chunk: &str, answer: Answer) {
        let rows: Vec<&String> =
            self.workloads.iter().filter(|name| name.starts_with(rows)).collect();
        assert!(!rows.is_empty());
        for row in rows {
            let claim = self.claim(row, chunk);
            assert_eq!(claim.answer, answer, "{row}, {chunk}: {}", claim.ratio);
        }
    }

    fn ratio(&self, workload: &str, chunk: &str) -> f64 {
        self.claim(workload, chunk).ratio
    }

    /// What its authors said, and what is said here of chunks of 4 and 512 KiB.
    fn found(&self) -> Vec<Finding> {
        let [small, large] = [CHUNKS[0], CHUNKS[CHUNKS.len() - 1]];
        let ratios = |row: &str| [small, large].map(|chunk| self.ratio(row, chunk));
        let shown = |[small, large]: [f64; 2]| {
            format!("{small:.2} of one disk in chunks of 4 KiB, {large:.2} of 512 KiB")
        };
        let sequential = ratios("sequential read at end 65536");
        let mixed = ratios("mixed 50:50");
        let random = ratios("random read 16384");
        let written = ratios("random write 65536");
        vec![
            Finding::new(
                "small stripes help sequential work",
                sequential[0] > 1.1,
                shown(sequential),
            ),
            Finding::new(
                "more than large ones",
                sequential[0] > 1.1 * sequential[1],
                shown(sequential),
            )
            .or_not_here("these drives are assumed to read ahead into half of their buffer"),
            Finding::new("small stripes cost mixed work", mixed[0] < 0.9, shown(mixed)),
            Finding::new(
                "nothing helps random reads one at a time",
                random.iter().all(|ratio| *ratio < 1.02),
                shown(random),
            ),
            Finding::new("large stripes for random writes", written[1] > 1.1, shown(written)),
        ]
    }
}

/// "small stripes help sequential work and cost mixed work; nothing helps random reads one at a
/// time; large stripes for random writes". docs/studies.md says why large ones help sequential work
/// as much.
#[test]
fn what_stripes_help() {
    // One block of a model is an answer in it, and called so.
    let short = run_as("stripe-size.toml", &["size=short"]);
    let analysis = analyse(&short);
    let headline = &analysis.comparisons[0].overall().unwrap().headline;
    assert!(headline.in_model && headline.verdict == Verdict::Take && !headline.sure);
    // Three have intervals, the model's error among them.
    let stripes = Stripes::of(&run_as("stripe-size.toml", &["size=short", "trials.blocks=3"]));
    for row in ["sequential read at start", "sequential write at end", "random write", "mixed"] {
        let rows = stripes.workloads.iter().filter(|name| name.starts_with(row));
        for row in rows {
            let ratios = CHUNKS.map(|chunk| format!("{:.2}", stripes.ratio(row, chunk)));
            println!("stripe size: {row}: {}", ratios.join(", "));
        }
    }
    for chunk in CHUNKS {
        for direction in ["read", "write"] {
            for place in ["start", "end"] {
                let row = format!("sequential {direction} at {place} 65536");
                // 1.65 at the start, which written is within what such predictions are off by.
                let is_within = direction == "write" && place == "start";
                stripes.says(&row, chunk, if is_within { Answer::Open } else { Answer::Ahead });
                let (this, small) = (stripes.ratio(&row, chunk), stripes.ratio(&row, CHUNKS[0]));
                assert!((this / small - 1.0).abs() < 0.05, "{row}: no chunk is better by much");
            }
            // The overhead of a command is all.
            stripes.says(&format!("sequential {direction} at start 512"), chunk, Answer::Open);
        }
        for row in stripes.workloads.iter().filter(|name| name.starts_with("random read")) {
            assert!(stripes.ratio(row, chunk) < 1.02, "{row}, {chunk}");
        }
        // Nine published cases: too few, and what is beside them is wide.
        stripes.says("random write", chunk, Answer::Open);
        assert!(stripes.ratio("random write 512", chunk) > 1.4, "two caches are written out");
    }
    for chunk in ["4KiB", "8KiB"] {
        for row in ["random read 16384", "random read 65536", "mixed 50:50", "mixed 90:10"] {
            stripes.says(row, chunk, Answer::Behind);
        }
        for row in ["mixed 10:90", "random write 16384", "random write 65536"] {
            assert!(stripes.ratio(row, chunk) < 0.9, "{row}, {chunk}");
        }
    }
    for chunk in ["256KiB", "512KiB"] {
        stripes.says("mixed 10:90", chunk, Answer::Ahead);
        for row in ["random write 16384", "random write 65536", "mixed 50:50"] {
            assert!(stripes.ratio(row, chunk) > 1.1, "{row}, {chunk}");
        }
    }
    let document = in_the_workspace().join("docs/studies.md");
    testkit::study::check(document, "stripe-size", &Stripes::of(&short).found());
    for row in ["random write 65536", "mixed 50:50", "mixed 90:10", "mixed 10:90"] {
        assert!(stripes.ratio(row, "4KiB") < stripes.ratio(row, "64KiB") + 0.02, "{row}");
        assert!(stripes.ratio(row, "64KiB") < stripes.ratio(row, "512KiB"), "{row}");
    }
}

const CHUNKS: [&str; 8] = ["4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "128KiB", "256KiB", "512KiB"];

#[test]
fn cache_effect_runs() {
    let small = [
        "matrix.file_system=[\"ext4\", \"xfs\", \"udf\"]",
        "workload.size=4MiB",
        "workload.time=20ms",
    ];
    assert_measured(&run("cache-effect-here.toml", &small));
}
