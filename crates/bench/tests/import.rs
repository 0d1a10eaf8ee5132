//! Other people's texts: what tools of many versions write, as they are saved and as they are
//! posted. The layouts are those of the tools, the figures are made up.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::Path;

use bench::format::{ImportedResult, decoded, import};

const RATE: &str = "throughput_bytes_per_second";
const OPERATIONS: &str = "io_per_second";
const MEAN: &str = "latency_mean_seconds";
const LONGEST: &str = "latency_max_seconds";
const P99: &str = "latency_p99_seconds";

/// A file, the tool that it says wrote it, how many rows it has, and figures of some of them:
/// phase, metric, value.
type Golden = (&'static str, &'static str, usize, &'static [(&'static str, &'static str, f64)]);

const GOLDEN: [Golden; 24] = [
    (
        "crystal-2.2.txt",
        "CrystalDiskMark 2.2",
        6,
        &[("SEQ1M Q1T1 read", RATE, 81.204e6), ("RND4K Q1T1 write", RATE, 1.337e6)],
    ),
    (
        "crystal-3.0.txt",
        "CrystalDiskMark 3.0.1 x64",
        8,
        &[
            ("SEQ1M Q1T1 write", RATE, 112.805e6),
            ("RND512K Q1T1 read", RATE, 41.272e6),
            ("RND4K Q32T1 read", RATE, 1.391e6),
            ("RND4K Q32T1 read", OPERATIONS, 339.6),
        ],
    ),
    (
        "crystal-4.0.txt",
        "CrystalDiskMark 4.0.3 x64",
        8,
        &[("SEQ128K Q32T1 read", RATE, 541.903e6), ("RND4K Q1T1 write", OPERATIONS, 21374.3)],
    ),
    (
        "crystal-5.1.txt",
        "CrystalDiskMark 5.1.2 x64",
        8,
        &[
            ("SEQ128K Q32T1 write", RATE, 1493.072e6),
            ("SEQ1M Q1T1 read", RATE, 1320.417e6),
            ("RND4K Q32T1 read", OPERATIONS, 149_376.0),
        ],
    ),
    (
        "crystal-6.0.txt",
        "CrystalDiskMark 6.0.2 x64",
        8,
        &[("RND4K Q8T8 write", OPERATIONS, 402_835.4), ("RND4K Q1T1 read", RATE, 44.271e6)],
    ),
    (
        "crystal-7.0.txt",
        "CrystalDiskMark 7.0.0 x64",
        8,
        &[("SEQ1M Q8T1 read", RATE, 3498.771e6), ("RND4K Q32T16 write", MEAN, 1156.02e-6)],
    ),
    (
        "crystal-8.0.txt",
        "CrystalDiskMark 8.0.4 x64",
        12,
        &[
            ("SEQ128K Q32T1 write", RATE, 5089.550e6),
            ("RND4K Q32T16 read", OPERATIONS, 979_707.0),
            ("RND4K Q1T1 mix", MEAN, 41.77e-6),
        ],
    ),
    (
        "crystal-9.0.txt",
        "CrystalDiskMark 9.0.1 x64",
        8,
        &[("SEQ1M Q8T1 read", RATE, 14_105.338e6), ("RND4K Q1T1 write", MEAN, 13.09e-6)],
    ),
    (
        "kdiskmark-3.2.txt",
        "KDiskMark (3.2.0)",
        8,
        // It prints 3380.736 and 36.002 MB/s.
        &[("SEQ1M Q8T1 read", RATE, 3_461_873_664.0), ("RND4K Q1T1 write", RATE, 36_866_048.0)],
    ),
    ("kdiskmark-bytes.txt", "KDiskMark (3.9.9)", 8, &[("SEQ1M Q8T1 read", RATE, 3461.874e6)]),
    (
        "bonnie-1.03.txt",
        "bonnie++ 1.03",
        10,
        &[("block read", RATE, 82917.0 * 1024.0), ("random delete", OPERATIONS, 1875.0)],
    ),
    (
        "bonnie-1.03-table.txt",
        "bonnie++ 1.03e",
        10,
        &[
            ("character write", RATE, 48211.0 * 1024.0),
            ("seeks", OPERATIONS, 187.4),
            ("random create", OPERATIONS, 2688.0),
            ("random create", "cpu_ratio", 0.13),
        ],
    ),
    (
        "bonnie-1.03-fast-table.txt",
        "bonnie++ 1.03e",
        4,
        &[("block write", RATE, 91022.0 * 1024.0), ("block read", RATE, 99370.0 * 1024.0)],
    ),
    ("bonnie-1.97.csv", "bonnie++ 1.97", 10, &[("rewrite", RATE, 52190.0 * 1024.0)]),
    ("bonnie-1.97.txt", "bonnie++ 1.97", 10, &[("block write", LONGEST, 0.812)]),
    (
        "bonnie-1.97-table.txt",
        "bonnie++ 1.97",
        10,
        &[
            ("block write", LONGEST, 0.812),
            ("seeks", OPERATIONS, 311.2),
            ("sequential delete", OPERATIONS, 14410.0),
            ("sequential delete", LONGEST, 1186e-6),
        ],
    ),
    (
        "bonnie-2.00.csv",
        "bonnie++ 2.00a",
        12,
        &[("block write", RATE, 46363.0 * 1024.0), ("random stat", OPERATIONS, 210_377.0)],
    ),
    ("bonnie-2.00.txt", "bonnie++ 2.00a", 12, &[("rewrite", RATE, 151_547.0 * 1024.0)]),
    (
        "bonnie-2.00-table.txt",
        "bonnie++ 2.00a",
        // Of files it prints their number: no rate.
        6,
        &[
            ("character write", RATE, 512.0 * 1024.0),
            ("block write", RATE, 45.3 * 1_048_576.0),
            ("seeks", OPERATIONS, 7730.0),
            ("seeks", LONGEST, 0.109),
        ],
    ),
    (
        "fio-2.json",
        "fio-2.16",
        2,
        &[
            ("RND4K Q16T1 read", RATE, 181_236.0 * 1024.0),
            ("RND4K Q16T1 read", MEAN, 352.71e-6),
            ("RND4K Q16T1 read", P99, 812e-6),
            ("SEQ1M Q8T1 write", LONGEST, 61_044e-6),
        ],
    ),
    (
        "fio-3.json",
        "fio-3.33",
        2,
        &[
            ("RND4K Q32T1 read", OPERATIONS, 293_800.0),
            ("RND4K Q32T1 read", P99, 246_784e-9),
            ("RND8K Q32T1 mix", RATE, 587_202_560.0),
        ],
    ),
    (
        "fio-3-client.json",
        "fio-3.36",
        1,
        &[
            ("RND4K Q4T1 read", RATE, 204_800_000.0),
            ("RND4K Q4T1 read", MEAN, 158_400e-9),
            ("RND4K Q4T1 read", LONGEST, 7e-3),
        ],
    ),
    (
        "fio-terse-3.txt",
        "fio-3.33",
        2,
        &[
            ("rj read", RATE, 71_234.0 * 1024.0),
            ("rj read", MEAN, 53.21e-6),
            ("rj read", P99, 188e-6),
            ("sw write", OPERATIONS, 160.0),
        ],
    ),
    (
        "fio-terse-5.txt",
        "fio-3.36",
        1,
        &[("rj mix", RATE, 92_160.0 * 1024.0), ("rj mix", OPERATIONS, 23_040.0)],
    ),
];

fn corpus(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn read(name: &str, bytes: &[u8]) -> Vec<ImportedResult> {
    import(&decoded(bytes)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn figure(imported: &ImportedResult, phase: &str, metric: &str) -> Option<f64> {
    let row = imported.rows.iter().find(|row| row.phase == phase)?;
    row.metrics.get(metric).copied()
}

#[test]
fn every_tool_and_version_is_read_to_its_golden_figures() {
    for (name, tool, rows, figures) in GOLDEN {
        let all = read(name, corpus(name).as_bytes());
        assert_eq!(all.len(), 1, "{name}: {all:?}");
        let phases: Vec<&str> = all[0].rows.iter().map(|row| row.phase.as_str()).collect();
        assert_eq!((all[0].tool.as_str(), phases.len()), (tool, rows), "{name}: {phases:?}");
        for (phase, metric, expected) in figures {
            let found = figure(&all[0], phase, metric);
            let near = found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-6);
            assert!(near, "{name}: {phase} {metric}: {found:?}, not {expected}; {phases:?}");
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    // And the one of several results.
    assert_eq!(fs::read_dir(folder).unwrap().count(), GOLDEN.len() + 2, "a file without figures");
}

/// The same figures whatever a program saves, an editor makes of it, and a page shows of it.
#[test]
fn every_way_to_save_and_to_post_a_text_gives_the_same() {
    for (name, ..) in GOLDEN {
        let text = corpus(name);
        let plain = read(name, text.as_bytes());
        let windows = text.replace('\n', "\r\n");
        let wide: Vec<u8> = windows.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
        let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
        let collapsed: String = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
            .collect();
        let mut ways = vec![
            ("with a mark", [&[0xef, 0xbb, 0xbf], text.as_bytes()].concat()),
            ("of Windows", windows.as_bytes().to_vec()),
            ("in UTF-16", [&[0xff, 0xfe], &wide[..]].concat()),
            ("in Shift-JIS", encoding_rs::SHIFT_JIS.encode(&windows).0.into_owned()),
            ("in a fence", format!("Some words: mine.\n\n```\n{text}```\nMore.\n").into_bytes()),
        ];
        if !name.ends_with(".json") {
            ways.push(("quoted", quoted.into_bytes()));
            ways.push(("indented", indented.into_bytes()));
            ways.push(("without its blanks", collapsed.into_bytes()));
        }
        for (way, bytes) in ways {
            let mut found = read(&format!("{name} {way}"), &bytes);
            // What stands around a document is told.
            found.iter_mut().for_each(|one| {
                one.notes.retain(|note| !note.starts_with("beside its results"));
            });
            assert_eq!(found, plain, "{name} {way}");
        }
    }
}

/// What a person wrote below is kept, in Japanese too.
#[test]
fn facts_and_comments_are_kept() {
    let fact = |name: &str, fact: &str| {
        let all = read(name, corpus(name).as_bytes());
        all[0].facts.iter().find(|(known, _)| known == fact).map(|(_, value)| value.clone())
    };
    assert_eq!(fact("crystal-3.0.txt", "Comment").as_deref(), Some("外付けのディスク"));
    assert_eq!(fact("crystal-5.1.txt", "Comment").as_deref(), Some("NVMe"));
    assert_eq!(fact("crystal-8.0.txt", "Comment").as_deref(), Some("東京の SSD"));
    assert_eq!(fact("crystal-8.0.txt", "Mix").as_deref(), Some("Read 60%"));
    assert_eq!(fact("crystal-2.2.txt", "Test Size").as_deref(), Some("100 MB"));
    let clients = fact("fio-3-client.json", "clients");
    assert_eq!(clients.as_deref(), Some("10.0.0.1:8765, 10.0.0.2:8765"));
}

/// No result of a file is swallowed by another one.
#[test]
fn every_result_of_a_file_is_kept() {
    let parts = |all: &[ImportedResult]| -> Vec<String> {
        all.iter().map(|one| one.part.clone().unwrap_or_default()).collect()
    };
    let several = read("several.md", corpus("several.md").as_bytes());
    assert_eq!(
        parts(&several),
        ["2016/03/04 05:06:07", "2016/03/05 09:08:07", "bonnie++ 1.97", "fio-3.33"]
    );
    let first = |one: &ImportedResult| one.rows[0].metrics[RATE] / 1e6;
    assert_eq!((first(&several[0]), first(&several[1])), (2204.551, 3507.112));
    assert!(several.iter().all(|one| one.notes.iter().all(|note| !note.contains("Windows"))));

    let twice = read("fio-3-twice.json", corpus("fio-3-twice.json").as_bytes());
    assert_eq!(parts(&twice), ["Tue Nov 14 22:13:20 2023", "Tue Nov 14 22:33:20 2023"]);
    let reads = |one: &ImportedResult| figure(one, "RND4K Q32T1 read", OPERATIONS);
    assert_eq!((reads(&twice[0]), reads(&twice[1])), (Some(293_800.0), Some(289_800.0)));

    // Every pair of files, one below the other: what either holds alone is there.
    for (one, ..) in GOLDEN {
        for (other, ..) in GOLDEN {
            // A table above the line of CSV that says the same is the same result.
            let run = one.strip_suffix("-table.txt");
            if run.is_some_and(|run| other.starts_with(run)) {
                continue;
            }
            let (first, second) = (corpus(one), corpus(other));
            let alone = [read(one, first.as_bytes()), read(other, second.as_bytes())].concat();
            let both = read(&format!("{one} and {other}"), (first + "\n" + &second).as_bytes());
            // Runs of bonnie++ that were made alike are repeats of one measurement.
            let rows = |all: &[ImportedResult]| all.iter().map(|one| one.rows.len()).sum::<usize>();
            assert_eq!(rows(&both), rows(&alone), "{one} and {other}: {both:?}");
        }
    }
}

/// Two results without a head line between them, as when only the rows are copied.
#[test]
fn rows_that_come_again_are_another_result() {
    for name in ["crystal-3.0.txt", "crystal-5.1.txt", "crystal-8.0.txt"] {
        let rows: String = corpus(name)
            .lines()
            .filter(|line| {
                (line.contains(" MB/s") && !line.starts_with('*')) || line.starts_with('[')
            })
            .map(|line| format!("{line}\n"))
            .collect();
        let all = read(name, format!("{rows}\n{rows}").as_bytes());
        assert_eq!(all.len(), 2, "{name}");
        assert_eq!(all[0].rows, all[1].rows, "{name}");
        let parts: Vec<_> = all.iter().map(|one| one.part.as_deref()).collect();
        assert_eq!(parts, [Some("result 1"), Some("result 2")], "{name}");
    }
}

/// What holds no result is told by name, with the way from there.
#[test]
fn what_is_no_result_is_called_by_its_name() {
    for (text, is, way) in [
        (
            "fio version 2 iolog\n/dev/sdb add\n/dev/sdb write 0 4096\n",
            "fio's iolog",
            "--read_iolog",
        ),
        ("fio version 3 iolog\n0 /dev/sdb add\n", "fio's iolog", "--read_iolog"),
        (
            "  8,0    3        1     0.000000000  697  G   W 223490 + 8 [kjournald]\n",
            "the text of blkparse",
            "--read_iolog",
        ),
        (
            "128166372003061629,srv,0,Read,7014609920,24576,41286\n",
            "a trace of Microsoft Research",
            "--read_iolog",
        ),
        ("0,20941264,8192,W,0.551706\n", "a trace of the SPC", "--read_iolog"),
        ("1538323199,155903, 8,1,1063\n", "a trace of Tencent", "--read_iolog"),
        (
            "rr: (groupid=0, jobs=1): err= 0: pid=7: Wed\n  read: IOPS=10.5k, BW=41.0MiB/s\n",
            "what fio prints for people",
            "--output-format=json",
        ),
        ("One, two: three.\n{noformat}\n", "none of the formats", "CrystalDiskMark's text"),
    ] {
        let error = import(text).unwrap_err().to_string();
        assert!(error.contains(is) && error.contains(way), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

/// What is damaged is said with its line, and never read as something else.
#[test]
fn what_is_cut_off_is_said_with_its_line() {
    let cut = |name: &str, at: &str| {
        let text = corpus(name);
        let end = text.rfind(at).unwrap();
        import(&text[..end]).unwrap_err().to_string()
    };
    assert_eq!(
        cut("bonnie-2.00.csv", ",33127"),
        "line 2: it has 30 fields; bonnie++ writes 27, 48 or 50"
    );
    assert!(cut("fio-3.json", "\"total_ios\"").contains("no JSON"));
    assert!(cut("fio-terse-3.txt", "6100").starts_with("line 2: a line of fio's terse output"));
    let shifted = corpus("bonnie-1.03-table.txt").replace(" 71305  21", " 71305    ");
    let error = import(&shifted).unwrap_err().to_string();
    assert!(error.starts_with("line 4: of this table of bonnie++"), "{error}");
}
