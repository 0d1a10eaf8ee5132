use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use block::{Error, ErrorKind, Reactor};

use super::*;
use crate::suite::{NoAudit, Observer, Row, Session, Ticker};

const MIB: u64 = 1 << 20;

/// Small enough for a test, and each phase once.
fn small(said: &[(&'static str, Value)]) -> Settings {
    let mut settings = SUITE.defaults(block::Clock::Wall);
    let base = [
        ("size", Value::Bytes(4 * MIB)),
        ("check_memory", Value::Switch(false)),
        ("per_character_size", Value::Bytes(64 << 10)),
        ("files", Value::Count(100)),
        ("min_time", Value::Time(Duration::ZERO)),
    ];
    for (name, value) in base.iter().chain(said) {
        settings.set(&SUITE, name, value.clone()).unwrap();
    }
    settings
}

struct RunEnding {
    rows: Vec<Row>,
    result: Result<(), Error>,
}

fn run_in(
    folder: &Path,
    settings: &Settings,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> RunEnding {
    let reactor = Reactor::wall().unwrap();
    let (ticker, mut meter) = (Ticker::new(), NoAudit);
    let mut session = Session::new(&reactor, stop, &ticker, &mut meter, observer);
    let result = (SUITE.run)(Target::Folder(folder), settings, &mut session);
    RunEnding { rows: session.into_rows(), result }
}

fn rows(said: &[(&'static str, Value)]) -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let ended =
        run_in(folder.path(), &small(said), &AtomicBool::new(false), &mut crate::suite::NoProgress);
    ended.result.unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files were left behind");
    ended.rows
}

fn by_name(rows: &[Row]) -> BTreeMap<&str, &crate::suite::PhaseFigures> {
    rows.iter().map(|row| (row.phase.as_str(), row.measured().unwrap())).collect()
}

#[test]
fn every_phase_does_what_it_says_and_no_rate_is_blank() {
    for style in ["1.03", "2.00"] {
        let rows = rows(&[("style", Value::word(style))]);
        let names: Vec<&str> = rows.iter().map(|row| row.phase.as_str()).collect();
        let expected = [
            "character write",
            "block write",
            "rewrite",
            "character read",
            "block read",
            "seeks",
            "sequential create",
            "sequential stat",
            "sequential delete",
            "random create",
            "random stat",
            "random delete",
        ];
        assert_eq!(names, expected);
        let found = by_name(&rows);
        let moved = |name: &str| {
            (found[name].done.read_bytes, found[name].done.written_bytes, found[name].done.bytes())
        };
        assert_eq!(moved("character write"), (0, 64 << 10, 64 << 10));
        assert_eq!(moved("block write"), (0, 4 * MIB, 4 * MIB));
        assert_eq!(moved("rewrite"), (4 * MIB, 4 * MIB, 4 * MIB), "a rewrite counts the file once");
        assert_eq!(moved("character read").0, 64 << 10);
        assert_eq!(moved("block read").0, 4 * MIB);
        assert_eq!((found["seeks"].done.operations, moved("seeks").0), (8192, 8192 * 8192));
        for name in &expected[6..] {
            assert_eq!(found[name].done.operations, 100, "{style} {name}");
        }
        for row in &rows {
            let measured = row.measured().unwrap();
            assert!(
                measured.operations_per_second() > 0.0 && measured.done.latency.count() > 0,
                "{style} {}",
                row.phase
            );
            let writes = !["character read", "block read", "sequential stat", "random stat"]
                .contains(&row.phase.as_str());
            assert_eq!(
                measured.durable_operations_per_second().is_some(),
                writes,
                "{style} {}",
                row.phase
            );
        }
    }
}

#[test]
fn copies_at_the_same_time_each_do_all_of_it() {
    let rows = rows(&[("concurrency", Value::Count(3))]);
    let found = by_name(&rows);
    assert_eq!(found["block write"].done.written_bytes, 12 * MIB);
    assert_eq!(found["seeks"].done.operations, 3 * 8192);
    assert_eq!(found["random create"].done.operations, 300);
}

#[test]
fn direct_io_holds_for_every_phase_where_the_folder_takes_it() {
    // In the build's own folder: the one for temporary files may lie in memory.
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let settings = small(&[("direct", Value::Switch(true)), ("seeks", Value::Count(100))]);
    let ended =
        run_in(folder.path(), &settings, &AtomicBool::new(false), &mut crate::suite::NoProgress);
    match ended.result {
        Ok(()) => assert_eq!(ended.rows.len(), 12),
        Err(error) => assert!(
            error.kind() == ErrorKind::Refused && error.to_string().contains("direct I/O"),
            "{error}"
        ),
    }
}

#[test]
fn files_have_sizes_links_and_folders_as_asked_for() {
    let sized = rows(&[
        ("io", Value::Switch(false)),
        ("file_size_min", Value::Bytes(1000)),
        ("file_size_max", Value::Bytes(3000)),
        ("folders", Value::Count(7)),
    ]);
    let found = by_name(&sized);
    let written = found["sequential create"].done.written_bytes;
    assert!((150_000..250_000).contains(&written), "100 files of 2000 bytes on average: {written}");
    assert_eq!(found["sequential stat"].done.read_bytes, written, "files with content are read");
    for links in ["hard", "symbolic"] {
        let rows = rows(&[("io", Value::Switch(false)), ("links", Value::word(links))]);
        assert_eq!(rows.len(), 6, "{links}");
    }
}

#[test]
fn a_phase_that_is_over_too_soon_is_repeated() {
    let rows = rows(&[
        ("min_time", Value::Time(Duration::from_millis(60))),
        ("per_character", Value::Switch(false)),
    ]);
    let found = by_name(&rows);
    for (name, measured) in &found {
        let total = measured.done.durable_elapsed();
        // A phase that deletes can only delete what was made.
        assert!(
            total >= Duration::from_millis(60) || name.ends_with("delete"),
            "{name}: {total:?}"
        );
    }
    assert_eq!(
        found["sequential create"].done.operations,
        found["sequential delete"].done.operations
    );
}

/// Looks at the files while they are there.
struct Looks<F: FnMut(&Path, &str)>(std::path::PathBuf, F);

impl<F: FnMut(&Path, &str)> Observer for Looks<F> {
    fn finished(&mut self, row: &Row) {
        let work = fs::read_dir(&self.0).unwrap().next().unwrap().unwrap().path();
        (self.1)(&work.join("copy0"), &row.phase);
    }
}

#[test]
fn data_do_not_compress_unless_they_are_the_originals() {
    for (data, least, most) in [("random", 0.99, 1.1), ("bonnie", 0.0, 0.05)] {
        let folder = tempfile::tempdir().unwrap();
        let settings = small(&[
            ("data", Value::word(data)),
            ("files", Value::Count(0)),
            ("size", Value::Bytes(MIB)),
        ]);
        let mut ratio = None;
        let mut looks = Looks(folder.path().to_owned(), |copy, phase| {
            if phase == "block write" {
                let bytes = fs::read(copy.join("bonnie.000")).unwrap();
                let packed = miniz_oxide::deflate::compress_to_vec(&bytes, 6);
                ratio = Some(packed.len() as f64 / bytes.len() as f64);
            }
        });
        run_in(folder.path(), &settings, &AtomicBool::new(false), &mut looks).result.unwrap();
        let ratio = ratio.unwrap();
        assert!((least..=most).contains(&ratio), "{data}: compressed to {ratio:.3}");
    }
}

/// A folder where syncing costs nothing, if this machine has one.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Runs the suite and lets `damage` at the folder of the copy behind the phase `after`.
fn damaged(
    said: &[(&'static str, Value)],
    after: &str,
    damage: &mut dyn FnMut(&Path),
) -> Result<(), Error> {
    let folder = in_memory();
    let mut done = false;
    let mut damages = Looks(folder.path().to_owned(), |copy: &Path, phase: &str| {
        if phase == after && !done {
            done = true;
            damage(copy);
        }
    });
    let ended = run_in(folder.path(), &small(said), &AtomicBool::new(false), &mut damages);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files were left behind");
    assert!(done, "nothing was damaged");
    ended.result
}

fn change_file(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// "every byte that is read is compared": one bit, wherever it is in the chunk, a write that was
/// lost, and two that went to each other's place, each found by the next phase that reads, with the
/// data of either kind and chunks below a sector.
#[test]
fn every_phase_that_reads_the_large_file_compares_every_byte() {
    type Damage = fn(&mut Vec<u8>);
    let flips: [(&str, Damage); 4] = [
        ("the first byte", |bytes| bytes[16384] ^= 1),
        ("behind the mark", |bytes| bytes[16384 + 40] ^= 0x80),
        ("the middle", |bytes| bytes[16384 + 130] ^= 4),
        ("the byte that is counted up", |bytes| bytes[16384 + 8191] ^= 1),
    ];
    let base = [
        ("files", Value::Count(0)),
        ("size", Value::Bytes(64 << 10)),
        ("seeks", Value::Count(3000)),
    ];
    for data in ["random", "bonnie"] {
        for chunk in [256, 8192] {
            let mut said = base.to_vec();
            said.extend([("data", Value::word(data)), ("chunk", Value::Bytes(chunk))]);
            // Which phase finds what is done behind one.
            let phases = ["block write", "rewrite", "character read", "block read", "seeks"];
            for (index, (after, finder)) in phases.iter().zip(&phases[1..]).enumerate() {
                // Every phase meets every flip once, in one of the four combinations.
                let turn = index + usize::from(data == "random") + 2 * usize::from(chunk == 256);
                let (name, flip) = flips[turn % flips.len()];
                let result =
                    damaged(&said, after, &mut |copy| change_file(&copy.join("bonnie.000"), flip));
                let text = result
                    .expect_err(&format!("{data}, {chunk}: {name} behind {after}"))
                    .to_string();
                assert!(
                    text.contains(finder) && text.contains("wrong data at offset "),
                    "{data}, {chunk}, {name}: {text}"
                );
            }
        }
        // The rewrite of one chunk is lost, the rest of it is there.
        let mut said = base.to_vec();
        said.push(("data", Value::word(data)));
        let mut before = Vec::new();
        let folder_of = |copy: &Path| copy.join("bonnie.000");
        let folder = in_memory();
        let mut loses = Looks(folder.path().to_owned(), |copy: &Path, phase: &str| match phase {
            "block write" => before = fs::read(folder_of(copy)).unwrap()[8192..16384].to_vec(),
            "rewrite" => {
                change_file(&folder_of(copy), |bytes| bytes[8192..16384].copy_from_slice(&before));
            }
            _ => (),
        });
        let lost = run_in(folder.path(), &small(&said), &AtomicBool::new(false), &mut loses)
            .result
            .unwrap_err();
        assert!(
            lost.kind() == ErrorKind::Corrupt && lost.to_string().contains("wrong data at offset "),
            "{lost}"
        );
        let swapped = damaged(&said, "rewrite", &mut |copy| {
            change_file(&copy.join("bonnie.000"), |bytes| {
                let (low, high) = bytes.split_at_mut(32 << 10);
                low[..8192].swap_with_slice(&mut high[..8192]);
            });
        });
        assert_eq!(swapped.unwrap_err().kind(), ErrorKind::Corrupt, "{data}: misdirected");
    }
}

/// Reads of the small files are checked as those of the large one are: their bytes, their sizes,
/// and whose data they are.
#[test]
fn every_byte_of_the_small_files_is_compared() {
    let first = |copy: &Path, count: usize| {
        let mut paths: Vec<_> =
            fs::read_dir(copy.join("set0")).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.truncate(count);
        paths
    };
    for (style, order, data) in [
        ("1.03", "sequential", "random"),
        ("2.00", "random", "random"),
        ("2.00", "sequential", "bonnie"),
    ] {
        let said = [
            ("io", Value::Switch(false)),
            ("style", Value::word(style)),
            ("data", Value::word(data)),
            ("files", Value::Count(20)),
            ("file_size_min", Value::Bytes(700)),
            ("file_size_max", Value::Bytes(2000)),
        ];
        let found = |damage: &mut dyn FnMut(&Path)| {
            let text = damaged(&said, &format!("{order} create"), damage)
                .expect_err("nobody noticed")
                .to_string();
            assert!(text.contains(&format!("{order} stat")), "{text}");
            text
        };
        for at in [0, 100, 699] {
            let text = found(&mut |copy| change_file(&first(copy, 1)[0], |bytes| bytes[at] ^= 2));
            assert!(text.contains("wrong data at offset "), "{text}");
        }
        let text = found(&mut |copy| change_file(&first(copy, 1)[0], |bytes| bytes.truncate(600)));
        assert!(text.contains("it has 600 bytes instead of "), "{text}");
        let text = found(&mut |copy| change_file(&first(copy, 1)[0], Vec::clear));
        assert!(text.contains("it has 0 bytes instead of "), "{text}");
        if data == "random" {
            found(&mut |copy| {
                let two = first(copy, 2);
                let aside = two[0].with_extension("aside");
                fs::rename(&two[0], &aside).unwrap();
                fs::rename(&two[1], &two[0]).unwrap();
                fs::rename(&aside, &two[1]).unwrap();
            });
        }
    }
}

#[test]
fn when_it_is_stopped_what_was_measured_stays_and_the_files_go() {
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let mut stops = Looks(folder.path().to_owned(), |_, phase| {
        stop.store(phase == "rewrite", Ordering::Relaxed);
    });
    let ended = run_in(folder.path(), &small(&[]), &stop, &mut stops);
    ended.result.unwrap();
    assert_eq!(ended.rows.last().unwrap().phase, "rewrite");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn runs_differ_in_their_order_and_one_seed_gives_the_same_again() {
    let names = |seed: u64| {
        let folder = tempfile::tempdir().unwrap();
        let mut seen: Vec<Vec<String>> = Vec::new();
        let mut looks = Looks(folder.path().to_owned(), |copy, phase| {
            if phase == "random create" {
                let mut names: Vec<String> = fs::read_dir(copy.join("set0"))
                    .unwrap()
                    .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                    .collect();
                names.sort();
                seen.push(names);
            }
        });
        let settings = small(&[("io", Value::Switch(false)), ("runs", Value::Count(2))]);
        let reactor = Reactor::wall().unwrap();
        let (stop, ticker, mut meter) = (AtomicBool::new(false), Ticker::new(), NoAudit);
        let mut session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut looks);
        session.seed = seed;
        (SUITE.run)(Target::Folder(folder.path()), &settings, &mut session).unwrap();
        assert_eq!(session.rows().last().unwrap().run, 2);
        seen
    };
    let first = names(7);
    assert_ne!(first[0], first[1], "the second run has names of its own");
    assert_eq!(first, names(7));
}

#[test]
fn the_old_style_makes_pieces_and_truncates_the_new_one_makes_one_file() {
    let options = |style: &'static str| {
        let size = Value::Bytes(2048 * MIB + 8192);
        Options::new(&small(&[("style", Value::word(style)), ("size", size)]))
            .unwrap()
            .needs()
            .longest_file_bytes
    };
    assert_eq!(options("1.03"), 1024 * MIB);
    assert_eq!(options("2.00"), 2048 * MIB + 8192);
    let folder = tempfile::tempdir().unwrap();
    let mut modes = Vec::new();
    let mut looks = Looks(folder.path().to_owned(), |copy, phase| {
        if phase == "sequential create" {
            modes.extend(
                fs::read_dir(copy.join("set0"))
                    .unwrap()
                    .map(|entry| entry.unwrap().metadata().unwrap().mode() & 0o777),
            );
        }
    });
    run_in(
        folder.path(),
        &small(&[("io", Value::Switch(false))]),
        &AtomicBool::new(false),
        &mut looks,
    )
    .result
    .unwrap();
    assert_eq!(modes, [0o600; 100]);
}

/// The lines of the original, field by field.
#[test]
fn csv_has_the_originals_fields_and_none_is_blank_that_was_measured() {
    for (style, fields) in [("1.03", 27), ("2.00", 50)] {
        let said = [
            ("style", Value::word(style)),
            ("chunk", Value::Bytes(16 << 10)),
            ("folders", Value::Count(3)),
        ];
        let options = Options::new(&small(&said)).unwrap();
        let rows = rows(&said);
        let found = |name: &str| {
            let measured = rows.iter().find(|row| row.phase == name)?.measured()?;
            Some(csv::Figures {
                operations_per_second: measured.operations_per_second(),
                bytes_per_second: measured.bytes_per_second(),
                cpu_percent: measured.cpu_percent(),
                longest_seconds: measured.done.latency.max_seconds(),
            })
        };
        let line = csv::line(&options, "a,machine", 9, &found);
        let split: Vec<&str> = line.split(',').collect();
        assert_eq!(
            (split.len(), csv::head(options.style).split(',').count()),
            (fields, fields),
            "{line}"
        );
        assert!(!line.contains('+'), "{line}");
        let rates = if fields == 27 { [2..14, 15..27] } else { [9..21, 26..38] };
        for index in rates.into_iter().flatten().step_by(2) {
            assert!(split[index].parse::<f64>().unwrap() > 0.0, "{style}: field {index} of {line}");
        }
        if fields == 50 {
            assert_eq!(
                split[..9],
                ["1.98", "2.00a", "a_machine", "1", "9", "4M", "16k", "8192", "5"]
            );
            assert_eq!(
                split[21..26],
                ["0.09765625", "", "", "", "3"],
                "the chunk of files is empty, folders come last"
            );
            for latency in &split[38..] {
                assert!(
                    latency.ends_with("us") || latency.ends_with("ms") || latency.ends_with('s'),
                    "{line}"
                );
            }
        } else {
            assert_eq!(
                (split[0], split[1], split[14]),
                ("a_machine", "4M:16k", "0.09765625:0:0/3")
            );
        }
    }
}
