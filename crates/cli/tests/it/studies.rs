//! The studies of `plans/` in their short forms, on modelled drives: each comes out as its authors
//! found it, in sign and order, or as docs/studies.md says and why.
//!
//! Those in guests need the kernel (`raidloom guest build`): without it they are skipped, and in CI
//! that is a failure.

#![expect(clippy::print_stdout, reason = "says with what seed it ran and what it found")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use testkit::study::Finding;

use crate::guest::is_built;

fn raidloom(arguments: &[&str]) -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ended = Command::new(env!("CARGO_BIN_EXE_raidloom"))
        .args(arguments)
        .current_dir(workspace)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ended.status.success(), "{arguments:?}: {}", text(&ended.stderr));
    text(&ended.stdout)
}

/// The trials of a study that was run.
struct Study {
    folder: TempDir,
    trials: Vec<Value>,
    /// What its report says of each comparison, in all work, and what that comes to.
    answers: Vec<(String, String)>,
    /// What it says is cached, by configuration.
    cached: Value,
}

/// A figure of a trial, and how it is called.
const DURABLE: &str = "durable_throughput_bytes_per_second";
const READ: &str = "throughput_bytes_per_second";
const FILES: &str = "durable_io_per_second";
const SEEKS: &str = "io_per_second";

impl Study {
    fn run(name: &str, more: &[&str]) -> Study {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run").to_str().unwrap().to_owned();
        let plan = format!("plans/{name}.toml");
        let size = ["run", &plan, "--output", &run];
        raidloom(&[&size[..], more].concat());
        let lines = std::fs::read_to_string(format!("{run}/trials.jsonl")).unwrap();
        let trials: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for trial in &trials {
            let flags = trial["flags"].as_array().unwrap();
            let is_missing = |flag: &Value| flag["code"] == "not-measured";
            assert!(!flags.iter().any(is_missing), "{trial}");
            assert_eq!(trial["clock"], "virtual", "{trial}");
        }
        let report = raidloom(&["report", &run, "--json"]);
        let report: Value = serde_json::from_str(&report).unwrap();
        let headlines = report["headlines"].as_array().unwrap();
        // The last of a comparison is over all work.
        let is_last = |place: &usize| {
            let of = |place: usize| headlines.get(place).map(|one| &one["comparison"]);
            of(*place) != of(place + 1)
        };
        let answer = |place: usize| {
            let [sentence, answer] = ["sentence", "answer"]
                .map(|name| headlines[place][name].as_str().unwrap().to_owned());
            println!("{name}: {answer}: {sentence}");
            (sentence, answer)
        };
        let answers = (0..headlines.len()).filter(is_last).map(answer).collect();
        Study { folder, trials, answers, cached: report["cached"].clone() }
    }

    /// Each question of its short form has an answer, which is called one of the model.
    #[track_caller]
    fn answers_in_the_model(&self) {
        assert!(!self.answers.is_empty());
        for (sentence, answer) in &self.answers {
            assert!(["take", "nothing_faster"].contains(&answer.as_str()), "{sentence}");
            assert!(sentence.contains("in the model"), "{sentence}");
        }
    }

    /// What was found of the sentences of its authors is the table in docs/studies.md.
    #[track_caller]
    fn holds(name: &str, findings: &[Finding]) {
        let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/studies.md");
        testkit::study::check(document, name, findings);
    }

    /// Its report as the original tool would have written it.
    fn report_as(&self, original: &str) -> String {
        raidloom(&["report", self.folder.path().join("run").to_str().unwrap(), original])
    }

    /// The trials of one workload of the configurations that have these settings, as `axis=value`.
    fn of(&self, settings: &[&str], workload: &str) -> Vec<&Value> {
        let has = |trial: &&Value| {
            trial["workload"] == workload
                && settings.iter().all(|setting| {
                    let (axis, value) = setting.split_once('=').unwrap();
                    trial["settings"].get(axis).is_some_and(|found| found == value)
                })
        };
        self.trials.iter().filter(has).collect()
    }

    /// The median over the blocks of the one configuration that has these settings.
    fn figure(&self, settings: &[&str], workload: &str, metric: &str) -> f64 {
        let trials = self.of(settings, workload);
        let first = trials.first().unwrap_or_else(|| panic!("{settings:?}: no {workload}"));
        let mut figures: Vec<f64> = trials
            .iter()
            .map(|trial| {
                assert_eq!(trial["settings"], first["settings"], "{settings:?} name one");
                trial["metrics"][metric].as_f64().unwrap()
            })
            .collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    }

    /// The bytes that the members of the one configuration read (or wrote) for each operation of a
    /// workload, in the first block.
    fn member_bytes(&self, settings: &[&str], workload: &str, moved: &str) -> f64 {
        let trials = self.of(settings, workload);
        let trial = trials.first().unwrap_or_else(|| panic!("{settings:?}: no {workload}"));
        assert!(trials.iter().all(|one| one["settings"] == trial["settings"]), "{settings:?}");
        let members = trial["members"].as_array().unwrap();
        let bytes: f64 = members.iter().map(|member| member[moved].as_f64().unwrap()).sum();
        bytes / trial["metrics"]["operations_count"].as_f64().unwrap()
    }
}

/// What the members of a trial did.
const MEMBERS_READ: &str = "read_bytes";
const MEMBERS_WROTE: &str = "written_bytes";

/// Says what was found, for those who read the log.
fn tell(study: &str, what: &str, figures: &[f64]) {
    let figures: Vec<String> = figures.iter().map(|figure| format!("{figure:.3}")).collect();
    println!("{study}: {what}: {}", figures.join(", "));
}

/// Figures of a finding, each with what it is of.
fn figures(named: &[(&str, f64)]) -> String {
    let one = |(name, figure): &(&str, f64)| format!("{name} {}", significant(*figure));
    named.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Two significant digits, and all of whole numbers.
fn significant(figure: f64) -> String {
    match figure {
        ..1.0 => format!("{figure:.2}"),
        ..10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}

/// "two on two channels nearly double; two on one channel are *slower than one disk*; three and
/// four gain over one but stay below two on two; linear is one disk".
#[test]
fn two_disks_on_one_channel() {
    if !is_built() {
        return;
    }
    let study = Study::run("shared-channel-bonnie", &["-s", "size=short"]);
    let alone = ["members=one"];
    let of_one = |members: &str, level: &str, workload: &str, metric: &str| {
        let settings = [&format!("members={members}")[..], &format!("level={level}")];
        study.figure(&settings, workload, metric) / study.figure(&alone, workload, metric)
    };
    let arrays = [
        ("two-on-one-channel", "raid0"),
        ("two-on-two-channels", "raid0"),
        ("three-on-two-channels", "raid0"),
        ("four-on-two-channels", "raid0"),
        ("four-on-two-channels", "linear"),
    ];
    let [written, read] = [("block write", DURABLE), ("block read", READ)].map(|(work, metric)| {
        let workload = format!("bonnie: {work}");
        let ratios = arrays.map(|(members, level)| of_one(members, level, &workload, metric));
        tell("shared channel", work, &ratios);
        ratios
    });
    // A drive lets go of the cable while it writes what is in its cache, and holds it for a read.
    for (work, ratios, most) in [("written", written, 1.0), ("read", read, 0.8)] {
        let [shared, apart, three, four, linear] = ratios;
        assert!(apart > 1.75, "{work}: two on two channels: {apart}");
        assert!(shared < most, "{work}: two on one channel: {shared}");
        assert!(four > 1.0 && four < apart, "{work}: four on two channels: {four}");
        // Three gain little over one, and docs/studies.md says why.
        assert!(three > shared && three < four, "{work}: three on two channels: {three}");
        assert!((0.8..1.2).contains(&linear), "{work}: linear: {linear}");
        // Two of the three share a channel, and the third waits for them.
        let third_waits = 1.5 * shared;
        assert!((0.85..1.15).contains(&(three / third_waits)), "{work}: {three} and {third_waits}");
    }
    // A line of bonnie++ 1.03, as the plan has it, for each configuration and block.
    let lines = study.report_as("--bonnie-csv");
    assert_eq!(lines.lines().count(), 6, "{lines}");
    for line in lines.lines() {
        assert_eq!(line.split(',').count(), 27, "{line}");
        assert!(line.contains("modelled "), "{line}");
    }
    study.answers_in_the_model();
    let (answer, _) = &study.answers[0];
    assert!(answer.starts_with("all work: two-on-two-channels"), "{answer}");
    assert!(answer.contains("Ahead of one"), "{answer}");
    Study::holds("shared-channel-bonnie", &channels_found(written, read));
}

fn channels_found(written: [f64; 5], read: [f64; 5]) -> Vec<Finding> {
    let both = |place: usize| figures(&[("written", written[place]), ("read", read[place])]);
    let holds = |place: usize, is_so: &dyn Fn(f64) -> bool| {
        [written[place], read[place]].into_iter().all(is_so)
    };
    let of_one = |text: String| format!("{text} of one disk");
    let is_between = (0..2).all(|side| {
        let [_, apart, _, four, _] = [written, read][side];
        four > 1.0 && four < apart
    });
    vec![
        Finding::new(
            "two on two channels nearly double one disk",
            holds(1, &|ratio| ratio > 1.75),
            of_one(both(1)),
        ),
        Finding::new(
            "two on one channel are slower than one disk",
            holds(0, &|ratio| ratio < 1.0),
            of_one(both(0)),
        ),
        Finding::new(
            "three gain over one, written",
            written[2] > 1.0,
            of_one(figures(&[("written", written[2])])),
        ),
        Finding::new(
            "three gain over one, read",
            read[2] > 1.0,
            of_one(figures(&[("read", read[2])])),
        )
        .or_not_here("two that share a channel read less than one, and the third waits for them"),
        Finding::new(
            "four gain over one and stay below two on two channels",
            is_between,
            of_one(both(3)),
        ),
        Finding::new(
            "linear is one disk",
            holds(4, &|ratio| (0.8..1.2).contains(&ratio)),
            of_one(both(4)),
        ),
    ]
}

/// "SSD's block transfer is about one disk's and far below RAID 6; its seeks are far above both;
/// XFS … wins block output; barriers cost ten times in metadata work".
#[test]
fn an_ssd_or_six_disks() {
    if !is_built() {
        return;
    }
    let study = Study::run("ssd-or-raid6", &["-s", "size=short"]);
    let mut found = drives_found(&study);
    found.extend(file_systems_found(&study));
    study.answers_in_the_model();
    Study::holds("ssd-or-raid6", &found);
}

/// The SSD, one disk, and six of them in RAID 6.
fn drives_found(study: &Study) -> Vec<Finding> {
    let ext3 = ["file_system=ext3", "mount_options=data=writeback", "write_cache=on"];
    let drives: [&[&str]; 3] = [&["members=ssd"], &["members=disk"], &["members=six", "array=md"]];
    let figure = |workload: &str, metric: &str| {
        drives.map(|of| study.figure(&[&ext3[..], of].concat(), workload, metric))
    };
    let named = |[ssd, disk, six]: [f64; 3], unit: f64| {
        figures(&[("SSD", ssd / unit), ("one disk", disk / unit), ("RAID 6", six / unit)])
    };
    let mut blocks = Vec::new();
    for (work, metric) in [("block write", DURABLE), ("block read", READ)] {
        let rates = figure(&format!("bonnie: {work}"), metric);
        tell("SSD or RAID 6", work, &rates.map(|rate| rate / 1e6));
        let [ssd, disk, six] = rates;
        assert!((0.7..1.7).contains(&(ssd / disk)), "{work}: the SSD is about one disk");
        assert!(six > 2.0 * ssd, "{work}: and far below RAID 6");
        blocks.push(rates);
    }
    let seeks = figure("bonnie: seeks", SEEKS);
    tell("SSD or RAID 6", "seeks", &seeks);
    let [ssd, disk, six] = seeks;
    assert!(ssd > 5.0 * disk && ssd > 4.0 * six, "its seeks are far above both");
    assert!(six > disk);
    let shown = |unit: f64| {
        let [written, read] = [blocks[0], blocks[1]].map(|rates| named(rates, unit));
        format!("MB/s written: {written}; read: {read}")
    };
    let all = |is_so: &dyn Fn(&[f64; 3]) -> bool| blocks.iter().all(is_so);
    vec![
        Finding::new(
            "the SSD's block transfer is about one disk's",
            all(&|[ssd, disk, _]| (0.7..1.7).contains(&(ssd / disk))),
            shown(1e6),
        ),
        Finding::new(
            "and far below RAID 6",
            all(&|[ssd, _, six]| *six > 2.0 * ssd),
            figures(&[
                ("written, RAID 6 by SSD", blocks[0][2] / blocks[0][0]),
                ("read", blocks[1][2] / blocks[1][0]),
            ]),
        ),
        Finding::new(
            "its seeks are far above both",
            ssd > 5.0 * disk && ssd > 4.0 * six,
            format!("seeks/s: {}", named(seeks, 1.0)),
        ),
    ]
}

/// ext3 and XFS, with barriers and without.
fn file_systems_found(study: &Study) -> Vec<Finding> {
    let on = |members: &str, of: [&str; 2], workload: &str, metric: &str| {
        let [file_system, cache] = of;
        let axes = [
            format!("members={members}"),
            format!("file_system={file_system}"),
            format!("write_cache={cache}"),
        ];
        let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
        study.figure(&axes, workload, metric)
    };
    let [on_disk, on_ssd] = ["disk", "ssd"].map(|members| {
        let output = ["xfs", "ext3"]
            .map(|system| on(members, [system, "on"], "bonnie: block write", DURABLE) / 1e6);
        tell("SSD or RAID 6", &format!("block output, {members}, XFS and ext3"), &output);
        output
    });
    assert!(on_disk[0] > on_disk[1], "XFS wins block output");
    let mut rates = Vec::new();
    for system in ["ext3", "xfs"] {
        for work in ["create", "delete"] {
            let workload = format!("synced: sequential {work}");
            let both =
                ["unflushed", "on"].map(|cache| on("disk", [system, cache], &workload, FILES));
            tell("SSD or RAID 6", &format!("{system}, {work}, barriers off and on"), &both);
            rates.push(both);
        }
        let [without, with] = rates[rates.len() - 2];
        assert!(without > 2.0 * with, "{system}: barriers cost: {without} and {with}");
        // XFS writes its log once for a file and waits one turn of the platter, 8.3 ms; ext3 writes
        // a transaction and its commit block, and waits for both.
        let turns = 120.0 / with;
        let expected = if system == "xfs" { 0.95..1.15 } else { 1.9..2.3 };
        assert!(expected.contains(&turns), "{system}: turns of the platter a file: {turns}");
    }
    let cost = |[without, with]: [f64; 2]| without / with;
    let [ext3, xfs] = [rates[0], rates[2]];
    let named = |[xfs, ext3]: [f64; 2]| figures(&[("XFS", xfs), ("ext3", ext3)]);
    let made = [xfs[1], ext3[1]];
    vec![
        Finding::new(
            "XFS wins block output, on one disk",
            on_disk[0] > on_disk[1],
            format!("MB/s: {}", named(on_disk)),
        ),
        Finding::new(
            "and considerably so on the SSD",
            on_ssd[0] > 1.1 * on_ssd[1],
            format!("MB/s: {}", named(on_ssd)),
        )
        .or_not_here("the drive's rate bounds both, and processor time is not modelled"),
        Finding::new(
            "barriers cost ten times in metadata work",
            cost(ext3).min(cost(xfs)) >= 10.0,
            format!("files made, times as fast without: {}", named([cost(xfs), cost(ext3)])),
        ),
        Finding::new(
            "XFS loses to ext3 in making files",
            made[0] < made[1],
            format!("synced files a second: {}", named(made)),
        )
        .or_not_here("that of 2008 wrote its log otherwise"),
    ]
}

/// "an image on a hard disk and then one sequential `write` beats everything; NTFS with access
/// times makes reading slower than writing; write-through caches help reading many times, and
/// writing only by what is read for it; UDF writes two to three times as fast as FAT32; with 300 MB
/// the system's cache hides all of it".
#[test]
fn many_small_files() {
    if !is_built() {
        return;
    }
    let small = SmallFiles(Study::run("many-small-files", &["-s", "size=short"]));
    let mut found = small.image_and_disc();
    small.what_the_disc_was_asked_for();
    found.extend(small.where_nothing_waits());
    found.extend(small.with_caches());

    let times = small.0.report_as("--fcv-table");
    assert!(
        times.lines().next().unwrap().ends_with("minutes and seconds, once, modelled"),
        "{times}"
    );
    assert!(times.matches("(100 %)").count() >= 3, "of the bare disc: {times}");

    let cached = small.figure(&["drop_caches=false"], "read", READ);
    tell("many small files", "read from the system's cache", &[cached]);
    assert!(cached > 100.0, "the system's cache hides the medium");
    found.push(Finding::new(
        "with 300 MB the system's cache hides all of it",
        cached > 100.0,
        figures(&[("MB/s read", cached)]),
    ));
    small.0.answers_in_the_model();
    Study::holds("many-small-files", &found);
}

struct SmallFiles(Study);

/// The file systems of the disc, as they are made and mounted.
const SYSTEMS: [(&str, &[&str]); 3] = [
    ("FAT32", &["file_system=vfat"]),
    ("UDF", &["file_system=udf"]),
    ("NTFS", &["file_system=ntfs", "mount_options=atime"]),
];

impl SmallFiles {
    /// In MB/s.
    fn figure(&self, of: &[&str], work: &str, metric: &str) -> f64 {
        self.0.figure(of, &format!("copy: {work}"), metric) / 1e6
    }

    /// Without a cache, set for performance.
    fn plain(of: &[&'static str]) -> Vec<&'static str> {
        [&["cache=none", "drop_caches=true", "policy=performance"], of].concat()
    }

    /// The files themselves, and an image that is written to the disc in one pass, as long as what
    /// it holds.
    fn image_and_disc(&self) -> Vec<Finding> {
        let pass = one_pass() / 1e6;
        let rates = SYSTEMS.map(|(name, system)| {
            let on = |members: &'static str, work: &str, metric: &str| {
                self.figure(&[&Self::plain(&[members])[..], system].concat(), work, metric)
            };
            let disc = on("members=dvd-ram", "write", DURABLE);
            let image = on("members=hard-disk", "write", DURABLE);
            // Seconds for a megabyte add up.
            let both = 1.0 / (1.0 / image + 1.0 / pass);
            tell(
                "many small files",
                &format!("{name}, disc, image, both steps"),
                &[disc, image, both],
            );
            assert!(both > 1.5 * disc, "{name}: an image and one pass beat the files themselves");
            let read = on("members=dvd-ram", "read", READ);
            tell("many small files", &format!("{name}, written and read"), &[disc, read]);
            [disc, both, read]
        });
        let [fat, udf, ntfs] = rates;
        assert!(ntfs[2] < ntfs[0], "NTFS reads slower than it writes");
        let best = |place: usize| rates.iter().map(|rates| rates[place]).fold(0.0, f64::max);
        let worst_image = rates.iter().map(|rates| rates[1]).fold(f64::INFINITY, f64::min);
        let named =
            |place: usize| [("FAT32", fat[place]), ("UDF", udf[place]), ("NTFS", ntfs[place])];
        vec![
            Finding::new(
                "an image on a hard disk and then one sequential write beat everything",
                worst_image > best(0),
                format!("MB/s: {}; on the disc {}", figures(&named(1)), figures(&named(0))),
            ),
            Finding::new(
                "NTFS reads slower than it writes",
                ntfs[2] < ntfs[0],
                format!("MB/s: {}", figures(&[("read", ntfs[2]), ("written", ntfs[0])])),
            ),
            Finding::new(
                "NTFS writes slower than FAT32",
                ntfs[0] < fat[0],
                format!("MB/s: {}", figures(&[("NTFS", ntfs[0]), ("FAT32", fat[0])])),
            )
            .or_not_here("another driver, ntfs-3g in place of Windows'"),
        ]
    }

    /// Why, by what the disc was asked for with each file.
    fn what_the_disc_was_asked_for(&self) {
        let moved = |system: &[&'static str], work: &str, moved: &str| {
            let of = Self::plain(&["members=dvd-ram", "memory=512MiB"]);
            self.0.member_bytes(&[&of[..], system].concat(), &format!("copy: {work}"), moved)
        };
        let [fat, udf, ntfs] = SYSTEMS.map(|(_, system)| moved(system, "read", MEMBERS_READ));
        tell("many small files", "bytes a file read, FAT32, UDF, NTFS", &[fat, udf, ntfs]);
        assert!(ntfs > fat + 4096.0, "NTFS reads a record beside each file");
        assert!(udf < fat + 4096.0, "UDF has its entries in front of the files");
        let for_writing = moved(SYSTEMS[2].1, "write", MEMBERS_READ);
        tell("many small files", "NTFS: bytes a file read for writing", &[for_writing]);
        assert!(for_writing < 0.05 * ntfs, "Linux's NTFS reads next to nothing for writing");
        let [fat, udf, ntfs] = SYSTEMS.map(|(_, system)| moved(system, "write", MEMBERS_WROTE));
        tell("many small files", "bytes a file written, FAT32, UDF, NTFS", &[fat, udf, ntfs]);
        let entry = 1500.0..4096.0;
        assert!(entry.contains(&(udf - fat)), "UDF writes an entry beside each file");
        let noatime: &[&str] = &["file_system=ntfs", "mount_options=noatime"];
        let times = [SYSTEMS[2].1, noatime].map(|system| moved(system, "read", MEMBERS_WROTE));
        tell("many small files", "bytes a file for access times, with and without", &times);
        assert!(times[0] > 500.0 && times[1] < 100.0, "access times are written: {times:?}");
    }

    fn where_nothing_waits(&self) -> Vec<Finding> {
        let quick = ["file_system=vfat", "file_system=udf"].map(|system| {
            let of = ["cache=none", "drop_caches=true", "policy=quick", system];
            self.figure(&of, "write", DURABLE)
        });
        tell("many small files", "FAT32 and UDF where nothing waits", &quick);
        assert!(quick[1] > 2.0 * quick[0], "UDF writes twice as fast as FAT32");
        vec![Finding::new(
            "UDF writes two to three times as fast as FAT32, where nothing waits in the system's cache",
            quick[1] > 2.0 * quick[0],
            format!("MB/s: {}", figures(&[("UDF", quick[1]), ("FAT32", quick[0])])),
        )]
    }

    fn with_caches(&self) -> Vec<Finding> {
        let [fat, _, ntfs] = SYSTEMS;
        let [fat, ntfs] = [fat, ntfs].map(|(name, system)| {
            let with = |cache: &'static str, work: &str, metric: &str| {
                let of = ["members=dvd-ram", "policy=performance", "memory=512MiB", cache];
                self.figure(&[&of[..], &["drop_caches=true"], system].concat(), work, metric)
            };
            let caches = ["cache=none", "cache=tenth", "cache=third", "cache=whole"];
            let read = caches.map(|cache| with(cache, "read", READ));
            let written = caches.map(|cache| with(cache, "write", DURABLE));
            tell("many small files", &format!("{name}, read with caches"), &read);
            tell("many small files", &format!("{name}, written with caches"), &written);
            // Each file is read once, so a cache helps by what is read again: above all what NTFS
            // keeps of its files.
            let gain = if name == "NTFS" { 2.0 } else { 1.15 };
            assert!(read[3] > gain * read[0], "{name}: a cache as large as the disc");
            let change = written[3] / written[0];
            assert!((0.9..2.0).contains(&change), "{name}: caches help writing less: {change}");
            [read[3] / read[0], change]
        });
        let both = |place: usize| figures(&[("FAT32", fat[place]), ("NTFS", ntfs[place])]);
        let times = |place: usize| format!("times as fast: {}", both(place));
        vec![
            Finding::new(
                "a write-through cache helps reading many times",
                fat[0] > 1.15 && ntfs[0] > 2.0,
                times(0),
            ),
            Finding::new("it halves the time of NTFS's writing", ntfs[1] > 1.5, times(1))
                .or_not_here("another driver, which reads next to nothing for writing"),
            Finding::new("a cache in memory makes FAT32 read slower", fat[0] < 1.0, times(0)),
        ]
    }
}

/// "NTFS is cached even under quick removal, so pulling loses data; FAT32 is not for writes; an
/// image inside is faster for small accesses". What its authors had is Windows' NTFS, which caches
/// on such a drive; Linux's caches in its driver, and past the page cache too, unless it is mounted
/// with `sync`: docs/studies.md says so.
#[test]
fn what_the_cache_does() {
    if !is_built() {
        return;
    }
    let stick = Stick(Study::run("cache-effect", &["-s", "size=short"]));
    let mut found = stick.who_holds_what();
    found.extend(stick.small_writes());
    let texts = stick.0.report_as("--crystal-text");
    assert_eq!(texts.matches("in the format of CrystalDiskMark 3").count(), 12, "{texts}");
    assert_eq!(texts.matches("OS : modelled, Linux in a guest").count(), 12, "{texts}");
    stick.0.answers_in_the_model();
    Study::holds("cache-effect", &found);
}

/// A file system on the stick itself, or in an image in another one on it: file system, removal
/// policy, mount options, outer file system.
type StickFileSystem = [&'static str; 4];

struct Stick(Study);

impl Stick {
    fn axes(on: StickFileSystem) -> Vec<String> {
        let [file_system, policy, options, outer] = on;
        let mut axes = vec![
            format!("file_system={file_system}"),
            format!("policy={policy}"),
            format!("mount_options={options}"),
        ];
        if outer == "none" {
            axes.push("image=none".to_owned());
        } else {
            axes.extend(["image=vhd".to_owned(), format!("outer_file_system={outer}")]);
        }
        axes
    }

    /// Who had the data of direct and buffered reads, and of direct and buffered writes.
    fn holders(&self, on: StickFileSystem) -> [String; 4] {
        let all = self.0.cached.as_array().unwrap();
        let axes = Self::axes(on);
        let has = |one: &&Value| {
            axes.iter().all(|setting| {
                let (axis, value) = setting.split_once('=').unwrap();
                one["settings"][axis] == *value
            })
        };
        let found = all.iter().find(has).unwrap_or_else(|| panic!("{axes:?}"));
        let ways = ["reads_direct", "reads_buffered", "writes_direct", "writes_buffered"];
        let holders = ways.map(|way| found[way]["holder"].as_str().unwrap().to_owned());
        println!("what the cache does: {}: {}", on.join(", "), holders.join(", "));
        holders
    }

    /// A row of 4 KiB, when the calls have returned and when all is durable, in MB/s.
    fn figures(&self, on: StickFileSystem, row: &str) -> [f64; 2] {
        let axes = Self::axes(on);
        let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
        let row = format!("crystal: RND4K Q1T1 {row}");
        let figures = [READ, DURABLE].map(|metric| self.0.figure(&axes, &row, metric) / 1e6);
        tell("what the cache does", &format!("{}, {row}", on.join(", ")), &figures);
        figures
    }

    fn who_holds_what(&self) -> Vec<Finding> {
        let holders = |on: StickFileSystem| self.holders(on);
        // Direct rows are cached by nobody, and buffered reads are, whatever the policy.
        let mut direct = Vec::new();
        for file_system in ["vfat", "ext4"] {
            let set_for_removal = holders([file_system, "quick", "defaults", "none"]);
            assert_eq!(set_for_removal, ["drive", "cache", "drive", "drive"]);
            let set_for_performance = holders([file_system, "performance", "defaults", "none"]);
            assert_eq!(set_for_performance[..3], ["drive", "cache", "drive"]);
            direct.push(set_for_removal);
            assert_ne!(set_for_performance[3], "drive", "{file_system}: writes wait in memory");
        }
        // NTFS is cached even under quick removal where the file system is left as it comes.
        for (policy, options) in [("quick", "async"), ("performance", "defaults")] {
            assert_eq!(holders(["ntfs", policy, options, "none"]), ["cache"; 4]);
        }
        let as_it_comes = holders(["ntfs", "quick", "async", "none"]);
        let synced = holders(["ntfs", "quick", "sync", "none"]);
        assert_eq!(synced, ["cache", "cache", "drive", "drive"]);
        // What is written in an image waits in memory, on a stick that is set for quick removal; in
        // FAT32, which is synced and passed by, direct rows still meet the stick.
        let in_fat32 = holders(["vfat", "quick", "async", "vfat"]);
        assert_eq!(in_fat32[..3], ["drive", "cache", "drive"]);
        assert_ne!(in_fat32[3], "drive", "writes wait in memory");
        for on in [
            ["vfat", "quick", "async", "ntfs"],
            ["ntfs", "quick", "async", "ntfs"],
            ["ntfs", "quick", "async", "vfat"],
            ["vfat", "performance", "defaults", "vfat"],
        ] {
            assert_eq!(holders(on), ["cache"; 4], "{on:?}");
        }
        let in_words = |holders: &[String; 4]| {
            let [reads, buffered, writes, written] = holders;
            format!("reads {reads}, {buffered}; writes {writes}, {written} (direct, buffered)")
        };
        vec![
            Finding::new(
                "NTFS is cached even under quick removal, so pulling loses data",
                as_it_comes == ["cache"; 4],
                in_words(&as_it_comes),
            ),
            Finding::new(
                "FAT32 is not, for writes",
                direct[0][2..] == ["drive", "drive"],
                in_words(&direct[0]),
            ),
            Finding::new(
                "direct rows are cached by nobody, on FAT32",
                direct[0][0] == "drive" && direct[0][2] == "drive",
                in_words(&direct[0]),
            ),
            Finding::new(
                "nor on NTFS",
                synced[0] == "drive" && synced[2] == "drive",
                in_words(&synced),
            )
            .or_not_here("another driver: ntfs-3g uses the stick through a cache of the kernel's"),
        ]
    }

    fn small_writes(&self) -> Vec<Finding> {
        let written = |on: StickFileSystem| self.figures(on, "write buffered");
        let cached = written(["vfat", "performance", "defaults", "none"]);
        let kept = written(["vfat", "quick", "defaults", "none"]);
        let synced = written(["ntfs", "quick", "sync", "none"]);
        assert!(cached[0] > 1000.0 * kept[0], "a rate of the cache is none of the stick");
        assert!((0.7..2.0).contains(&(cached[1] / kept[1])), "and in the end the stick is as slow");
        assert!(2.0 * synced[1] < kept[1], "ntfs-3g writes three bytes for one");

        // "An image inside is faster for small accesses": by what waits in memory.
        let images = ["vfat", "ntfs"].map(|outer| written(["vfat", "quick", "async", outer]));
        for (outer, image) in ["vfat", "ntfs"].iter().zip(images) {
            assert!(image[0] > 1000.0 * kept[0], "in {outer}: faster, as the calls return");
            assert!((1.0..2.0).contains(&(image[1] / kept[1])), "and in the end hardly");
        }
        let direct = |on: StickFileSystem| self.figures(on, "write")[0];
        let bare = direct(["vfat", "quick", "defaults", "none"]);
        let in_fat32 = direct(["vfat", "quick", "async", "vfat"]);
        assert!((0.8..1.2).contains(&(in_fat32 / bare)), "past both caches the stick is as it is");
        let in_ntfs = direct(["vfat", "quick", "async", "ntfs"]);
        assert!(in_ntfs > 1000.0 * bare, "but NTFS holds the image");
        vec![
            Finding::new(
                "an image inside is faster for small accesses, when the calls return",
                images.iter().all(|image| image[0] > 10.0 * kept[0]),
                format!(
                    "4 KiB, MB/s: {}",
                    figures(&[("in an image", images[0][0]), ("on the stick", kept[0])])
                ),
            ),
            Finding::new(
                "and when all is on the stick",
                images.iter().all(|image| image[1] > 1.5 * kept[1]),
                format!(
                    "4 KiB, MB/s: {}",
                    figures(&[("in an image", images[0][1]), ("on the stick", kept[1])])
                ),
            ),
        ]
    }
}

/// Bytes a second at which a disc is written in one pass, at its slow end.
fn one_pass() -> f64 {
    let work = "dd if=/dev/zero of=/dev/vda bs=1M count=64 oflag=direct conv=fsync";
    let boot = ["guest", "run", "--json", "--memory", "64MiB", "--stack", "model:dvd-ram-5x"];
    let said = raidloom(&[&boot[..], &["--disk-size", "64MiB", "--", work]].concat());
    let said: Value = serde_json::from_str(&said).unwrap();
    let seconds = said["work_seconds"].as_f64().unwrap();
    let rate = f64::from(64 << 20) / seconds;
    tell("many small files", "one pass where the disc is slowest", &[rate / 1e6]);
    rate
}

/// The power cuts that answers of `choose` quote are made again and come to the same: one layout,
/// one recording; with `RAIDLOOM_TEST_EVERYTHING` all of them.
#[test]
fn the_power_cuts_that_choose_quotes_are_made_again() {
    if !is_built() {
        return;
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read_to_string(workspace.join(name)).unwrap();
    let mut plan = read("plans/pull-layouts.toml");
    if std::env::var_os("RAIDLOOM_TEST_EVERYTHING").is_none() {
        let (matrix, rest) = plan.split_once("[[add]]").unwrap();
        let (_, rest) = rest.split_once("[baseline]").unwrap();
        let matrix = matrix.replace("[\"ext4\", \"xfs\", \"btrfs\"]", "\"ext4\"");
        plan = format!("{matrix}[baseline]{}", rest.replace("blocks = 3", "blocks = 1"));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("plan.toml"), plan).unwrap();
    raidloom(&["run", &path("plan.toml"), "--output", &path("run")]);
    let trials = std::fs::read_to_string(path("run/trials.jsonl")).unwrap();
    let kept = read("crates/lab/src/choose/power_cuts.csv");
    for trial in trials.lines() {
        let trial: Value = serde_json::from_str(trial).unwrap();
        let setting = |axis: &str| trial["settings"][axis].as_str().unwrap_or("-").to_owned();
        let count = |name: &str| trial["metrics"][name].as_f64().unwrap() as u64;
        let line = format!(
            "{},{},{},{},{},{},{}",
            setting("level"),
            setting("layout"),
            setting("file_system"),
            trial["block"],
            count("promising_pulls_count"),
            count("promise_broken_pulls_count") + count("lost_for_good_pulls_count"),
            count("promises_count")
        );
        assert!(kept.lines().any(|known| known == line), "it was not {line}");
    }
}
