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

fn is_built() -> bool {
    match guest::Kernel::find() {
        Ok(_) => true,
        Err(error) => {
            testkit::missing!("{error}");
            false
        }
    }
}

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
    /// What its report says of each kind of work.
    sentences: Vec<String>,
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
        let headlines = report["headlines"].as_array().unwrap().iter();
        let sentences = headlines.map(|one| one["sentence"].as_str().unwrap().to_owned()).collect();
        Study { folder, trials, sentences, cached: report["cached"].clone() }
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

/// "two on two channels nearly double; two on one channel are *slower than one disk*; three and
/// four gain over one but stay below two on two; linear is one disk".
#[test]
fn two_disks_on_one_channel() {
    if !is_built() {
        return;
    }
    let study = Study::run("shared-channel-bonnie", &["-s", "size=short"]);
    let alone = ["members=one"];
    // A drive lets go of the cable while it writes what is in its cache, and holds it for a read.
    for (work, metric, most) in [("block write", DURABLE, 1.0), ("block read", READ, 0.8)] {
        let workload = format!("bonnie: {work}");
        let of_one = |members: &str, level: &str| {
            let settings = [&format!("members={members}")[..], &format!("level={level}")];
            study.figure(&settings, &workload, metric) / study.figure(&alone, &workload, metric)
        };
        let shared = of_one("two-on-one-channel", "raid0");
        let apart = of_one("two-on-two-channels", "raid0");
        let three = of_one("three-on-two-channels", "raid0");
        let four = of_one("four-on-two-channels", "raid0");
        let linear = of_one("four-on-two-channels", "linear");
        tell("shared channel", work, &[shared, apart, three, four, linear]);
        assert!(apart > 1.75, "{work}: two on two channels: {apart}");
        assert!(shared < most, "{work}: two on one channel: {shared}");
        assert!(four > 1.0 && four < apart, "{work}: four on two channels: {four}");
        // Three gain little over one, and docs/studies.md says why.
        assert!(three > shared && three < four, "{work}: three on two channels: {three}");
        assert!((0.8..1.2).contains(&linear), "{work}: linear: {linear}");
        // Two of the three share a channel, and the third waits for them.
        let third_waits = 1.5 * shared;
        assert!((0.9..1.1).contains(&(three / third_waits)), "{work}: {three} and {third_waits}");
    }
    // In the short form little may be dirty, so the disks of every array wait for Linux, and one
    // disk goes to and fro.
    for array in ["two-on-one-channel", "two-on-two-channels", "four-on-two-channels"] {
        let of = [&format!("members={array}")[..], "level=raid0"];
        let rewrite = "bonnie: rewrite";
        let ratio = study.figure(&of, rewrite, DURABLE) / study.figure(&alone, rewrite, DURABLE);
        tell("shared channel", &format!("rewrite, {array}"), &[ratio]);
        assert!((1.4..5.0).contains(&ratio), "{array}: rewrite: {ratio}");
    }
    // A line of bonnie++ 1.03, as the plan asks, for each configuration and block.
    let lines = study.report_as("--bonnie-csv");
    assert_eq!(lines.lines().count(), 6 * 3, "{lines}");
    for line in lines.lines() {
        assert_eq!(line.split(',').count(), 27, "{line}");
        assert!(line.contains("modelled "), "{line}");
    }
    let sequential = &study.sentences[0];
    assert!(sequential.starts_with("sequential work: two-on-two-channels"), "{sequential}");
    assert!(sequential.contains("Ahead of one single"), "{sequential}");
}

/// "SSD's block transfer is about one disk's and far below RAID 6; its seeks are far above both;
/// XFS … wins block output; barriers cost ten times in metadata work".
#[test]
fn an_ssd_or_six_disks() {
    if !is_built() {
        return;
    }
    let study = Study::run("ssd-or-raid6", &["-s", "size=short"]);
    let ext3 = ["file_system=ext3", "mount_options=data=writeback", "write_cache=on"];
    let figure = |of: &[&str], workload: &str, metric: &str| {
        study.figure(&[&ext3[..], of].concat(), workload, metric)
    };
    let drives: [&[&str]; 3] = [&["members=ssd"], &["members=disk"], &["members=six", "array=md"]];
    for (work, metric) in [("block write", DURABLE), ("block read", READ)] {
        let rates = drives.map(|drive| figure(drive, &format!("bonnie: {work}"), metric));
        tell("SSD or RAID 6", work, &rates.map(|rate| rate / 1e6));
        let [ssd, disk, six] = rates;
        assert!((0.7..1.7).contains(&(ssd / disk)), "{work}: the SSD is about one disk");
        assert!(six > 2.0 * ssd, "{work}: and far below RAID 6");
    }
    let [ssd, disk, six] = drives.map(|drive| figure(drive, "bonnie: seeks", SEEKS));
    tell("SSD or RAID 6", "seeks", &[ssd, disk, six]);
    assert!(ssd > 5.0 * disk && ssd > 4.0 * six, "its seeks are far above both");
    assert!(six > disk);

    // On one disk, with barriers and without.
    let on = |file_system: &str, cache: &str, workload: &str, metric: &str| {
        let axes = ["members=disk".to_owned(), format!("file_system={file_system}")];
        let axes = [&axes[..], &[format!("write_cache={cache}")]].concat();
        let mut axes: Vec<&str> = axes.iter().map(String::as_str).collect();
        if file_system == "ext3" {
            axes.push("mount_options=defaults");
        }
        study.figure(&axes, workload, metric)
    };
    let output = ["xfs", "ext3"].map(|system| on(system, "on", "bonnie: block write", DURABLE));
    tell("SSD or RAID 6", "block output, XFS and ext3", &output.map(|rate| rate / 1e6));
    assert!(output[0] > output[1], "XFS wins block output");
    for system in ["xfs", "ext3"] {
        for work in ["create", "delete"] {
            let workload = format!("synced: sequential {work}");
            let rates = ["unflushed", "on"].map(|cache| on(system, cache, &workload, FILES));
            tell("SSD or RAID 6", &format!("{system}, {work}, barriers off and on"), &rates);
        }
        let workload = "synced: sequential create";
        let [without, with] = ["unflushed", "on"].map(|cache| on(system, cache, workload, FILES));
        assert!(without > 2.0 * with, "{system}: barriers cost: {without} and {with}");
        // XFS writes its log once for a file and waits one turn of the platter, 8.3 ms; ext3 writes
        // a transaction and its commit block, and waits for both.
        let turns = 120.0 / with;
        let expected = if system == "xfs" { 0.95..1.15 } else { 1.9..2.3 };
        assert!(expected.contains(&turns), "{system}: turns of the platter a file: {turns}");
    }
}

/// "an image on a hard disk and then one sequential `write` beats everything; NTFS with access
/// times makes reading slower than writing; write-through caches help reading many times, and
/// writing only by what is read for it; UDF writes two to three times as fast as FAT32; with 300 MB
/// the system's cache hides all of it".
#[test]
#[expect(clippy::too_many_lines, reason = "not yet split")]
fn many_small_files() {
    if !is_built() {
        return;
    }
    let study = Study::run("many-small-files", &["-s", "size=short"]);
    let plain = ["cache=none", "drop_caches=true"];
    let figure = |of: &[&str], workload: &str, metric: &str| {
        study.figure(of, &format!("copy: {workload}"), metric) / 1e6
    };
    let of = |more: &[&'static str]| [&plain[..], &["policy=performance"], more].concat();

    // The image is written to the disc in one pass, as long as what it holds.
    let megabyte = 1e6;
    let pass = one_pass() / megabyte;
    let systems: [(&str, &[&str]); 3] = [
        ("FAT32", &["file_system=vfat"]),
        ("UDF", &["file_system=udf"]),
        ("NTFS", &["file_system=ntfs", "mount_options=atime"]),
    ];
    for (name, system) in systems {
        let disc = figure(&[&of(&["members=dvd-ram"])[..], system].concat(), "write", DURABLE);
        let image = figure(&[&of(&["members=hard-disk"])[..], system].concat(), "write", DURABLE);
        // Seconds for a megabyte add up.
        let both = 1.0 / (1.0 / image + 1.0 / pass);
        tell("many small files", &format!("{name}, disc, image, both steps"), &[disc, image, both]);
        assert!(both > 1.5 * disc, "{name}: an image and one pass beat the files themselves");
        let read = figure(&[&of(&["members=dvd-ram"])[..], system].concat(), "read", READ);
        tell("many small files", &format!("{name}, written and read"), &[disc, read]);
        if name == "NTFS" {
            assert!(read < disc, "NTFS reads slower than it writes");
        }
    }
    // Why, by what the disc was asked for with each file.
    let moved = |system: &[&'static str], work: &str, moved: &str| {
        let settings = [&of(&["members=dvd-ram", "memory=512MiB"])[..], system].concat();
        study.member_bytes(&settings, &format!("copy: {work}"), moved)
    };
    let [fat, udf, ntfs] = systems.map(|(_, system)| moved(system, "read", MEMBERS_READ));
    tell("many small files", "bytes a file read, FAT32, UDF, NTFS", &[fat, udf, ntfs]);
    assert!(ntfs > fat + 4096.0, "NTFS reads a record beside each file");
    assert!(udf < fat + 4096.0, "UDF has its entries in front of the files");
    let [fat, udf, ntfs] = systems.map(|(_, system)| moved(system, "write", MEMBERS_WROTE));
    tell("many small files", "bytes a file written, FAT32, UDF, NTFS", &[fat, udf, ntfs]);
    let entry = 1500.0..4096.0;
    assert!(entry.contains(&(udf - fat)), "UDF writes an entry beside each file");
    let noatime = ["file_system=ntfs", "mount_options=noatime"];
    let times = [systems[2].1, &noatime].map(|system| moved(system, "read", MEMBERS_WROTE));
    tell("many small files", "bytes a file for access times, with and without", &times);
    assert!(times[0] > 500.0 && times[1] < 100.0, "access times are written: {times:?}");
    let for_writing = moved(systems[2].1, "write", MEMBERS_READ);
    tell("many small files", "NTFS: bytes a file read for writing", &[for_writing]);
    assert!(for_writing < 0.05 * ntfs, "Linux's NTFS reads next to nothing for writing");

    let quick = ["vfat", "udf"].map(|system| {
        let system = format!("file_system={system}");
        figure(&[&plain[..], &["policy=quick", &system]].concat(), "write", DURABLE)
    });
    tell("many small files", "FAT32 and UDF where nothing waits", &quick);
    assert!(quick[1] > 2.0 * quick[0], "UDF writes twice as fast as FAT32");

    for (name, system) in [("FAT32", "file_system=vfat"), ("NTFS", "file_system=ntfs")] {
        let with = |cache: &'static str, work: &str, metric: &str| {
            let mut axes = vec!["members=dvd-ram", "policy=performance", "memory=512MiB", cache];
            axes.push(system);
            if name == "NTFS" {
                axes.push("mount_options=atime");
            }
            figure(&axes, work, metric)
        };
        let caches = ["cache=none", "cache=tenth", "cache=third", "cache=whole"];
        let read = caches.map(|cache| with(cache, "read", READ));
        let written = caches.map(|cache| with(cache, "write", DURABLE));
        tell("many small files", &format!("{name}, read with caches"), &read);
        tell("many small files", &format!("{name}, written with caches"), &written);
        // Each file is read once, so a cache helps by what is read again: above all what NTFS keeps
        // of its files.
        let gain = if name == "NTFS" { 2.0 } else { 1.15 };
        assert!(read[3] > gain * read[0], "{name}: a cache as large as the disc");
        let change = written[3] / written[0];
        assert!((0.9..2.0).contains(&change), "{name}: caches help writing less: {change}");
    }

    let times = study.report_as("--fcv-table");
    assert!(
        times.lines().next().unwrap().ends_with("minutes and seconds, once, modelled"),
        "{times}"
    );
    assert!(times.matches("(100 %)").count() >= 4 * 3, "of each bare disc: {times}");

    let cached = figure(&["drop_caches=false"], "read", READ);
    tell("many small files", "read from the system's cache", &[cached]);
    assert!(cached > 100.0, "the system's cache hides the medium");
}

/// "NTFS is cached even under quick removal, so pulling loses data; FAT32 is not for writes; an
/// image inside is faster for small accesses". What its authors had is Windows' NTFS, which caches
/// on such a drive; Linux's caches in its driver, and past the page cache too, unless it is mounted
/// with `sync`: docs/studies.md says so.
#[test]
#[expect(clippy::too_many_lines, reason = "not yet split")]
fn what_the_cache_does() {
    if !is_built() {
        return;
    }
    let study = Study::run("cache-effect", &["-s", "size=short"]);
    // A file system on the stick itself, or in an image in another one on it.
    let axes = |on: [&str; 4]| {
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
    };
    let holders = |on: [&str; 4]| {
        let all = study.cached.as_array().unwrap();
        let axes = axes(on);
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
    };
    // Direct rows are cached by nobody, and buffered reads are, whatever the policy.
    for file_system in ["vfat", "ext4"] {
        let set_for_removal = holders([file_system, "quick", "defaults", "none"]);
        assert_eq!(set_for_removal, ["drive", "cache", "drive", "drive"]);
        let set_for_performance = holders([file_system, "performance", "defaults", "none"]);
        assert_eq!(set_for_performance[..3], ["drive", "cache", "drive"]);
        assert_ne!(set_for_performance[3], "drive", "{file_system}: writes wait in memory");
    }
    // NTFS is cached even under quick removal where the file system is left as it comes.
    for (policy, options) in [("quick", "async"), ("performance", "defaults")] {
        assert_eq!(holders(["ntfs", policy, options, "none"]), ["cache"; 4]);
    }
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

    let figures = |on: [&str; 4], row: &str| {
        let axes = axes(on);
        let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
        let row = format!("crystal: RND4K Q1T1 {row}");
        let figures = [READ, DURABLE].map(|metric| study.figure(&axes, &row, metric) / 1e6);
        tell("what the cache does", &format!("{}, {row}", on.join(", ")), &figures);
        figures
    };
    let written = |on: [&str; 4]| figures(on, "write buffered");
    let cached = written(["vfat", "performance", "defaults", "none"]);
    let kept = written(["vfat", "quick", "defaults", "none"]);
    let synced = written(["ntfs", "quick", "sync", "none"]);
    assert!(cached[0] > 1000.0 * kept[0], "a rate of the cache is none of the stick");
    assert!((0.7..2.0).contains(&(cached[1] / kept[1])), "and in the end the stick is as slow");
    assert!(2.0 * synced[1] < kept[1], "ntfs-3g writes three bytes for one");

    let texts = study.report_as("--crystal-text");
    assert_eq!(texts.matches("in the format of CrystalDiskMark 3").count(), 12, "{texts}");
    assert_eq!(texts.matches("OS : modelled, Linux in a guest").count(), 12, "{texts}");

    // "An image inside is faster for small accesses": by what waits in memory.
    for outer in ["vfat", "ntfs"] {
        let image = written(["vfat", "quick", "async", outer]);
        assert!(image[0] > 1000.0 * kept[0], "in {outer}: faster, as the calls return");
        assert!((1.0..2.0).contains(&(image[1] / kept[1])), "and in the end hardly");
    }
    let direct = |on: [&str; 4]| figures(on, "write")[0];
    let bare = direct(["vfat", "quick", "defaults", "none"]);
    let in_fat32 = direct(["vfat", "quick", "async", "vfat"]);
    assert!((0.8..1.2).contains(&(in_fat32 / bare)), "past both caches the stick is what it is");
    assert!(direct(["vfat", "quick", "async", "ntfs"]) > 1000.0 * bare, "but NTFS holds the image");
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
