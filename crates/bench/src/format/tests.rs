use results::Doubt;
use results::doubt::by_code;

use super::crystal::{Heading, Line};
use super::*;
use crate::suite::crystal::{Options, Profile, Row as CrystalRow};

fn heading() -> Heading {
    Heading {
        program: "raidloom 0.1.0".to_owned(),
        target: "/srv/disk".to_owned(),
        date: "2026/11/21 12:30:00".to_owned(),
        system: "Linux 6.12".to_owned(),
        comment: String::new(),
    }
}

fn lines(options: &Options) -> Vec<Line> {
    let line = |(index, row): (usize, &CrystalRow)| {
        let io_per_second = 100.25 * (index + 1) as f64;
        Line {
            row: *row,
            bytes_per_second: io_per_second * f64::from(row.request_bytes),
            io_per_second,
            latency_mean_seconds: 1.0 / io_per_second,
            findings: Vec::new(),
        }
    };
    options.rows().iter().enumerate().map(line).collect()
}

/// What a file with one configuration holds.
fn import_one(text: &str) -> Result<ImportedResult, Text> {
    let mut all = import(text)?;
    assert_eq!(all.len(), 1);
    Ok(all.remove(0))
}

#[test]
fn the_text_of_version_three_is_laid_out_as_the_original() {
    let options = Profile::Three.options();
    let text = crystal::text(&options, &lines(&options), &heading());
    let expected = "\
-----------------------------------------------------------------------
raidloom 0.1.0
                                     in the format of CrystalDiskMark 3
-----------------------------------------------------------------------
* MB/s = 1,000,000 byte/s [SATA/300 = 300,000,000 byte/s]

           Sequential Read :   105.120 MB/s
          Sequential Write :   210.239 MB/s
         Random Read 512KB :   157.680 MB/s
        Random Write 512KB :   210.239 MB/s
    Random Read 4KB (QD=1) :     2.053 MB/s [   501.2 IOPS]
   Random Write 4KB (QD=1) :     2.464 MB/s [   601.5 IOPS]
   Random Read 4KB (QD=32) :     2.874 MB/s [   701.8 IOPS]
  Random Write 4KB (QD=32) :     3.285 MB/s [   802.0 IOPS]

  Test : 1000 MB [/srv/disk] (x5)
  Date : 2026/11/21 12:30:00
    OS : Linux 6.12
\x20\x20
";
    assert_eq!(text, expected);
}

#[test]
fn the_text_of_version_eight_is_laid_out_as_the_original() {
    let options = Options { mix_read_percent: Some(70), ..Profile::EightNvme.options() };
    let text = crystal::text(&options, &lines(&options)[..9], &heading());
    let expected = "\
------------------------------------------------------------------------------
raidloom 0.1.0
                                            in the format of CrystalDiskMark 8
------------------------------------------------------------------------------
* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]
* KB = 1000 bytes, KiB = 1024 bytes

[Read]
  SEQ    1MiB (Q=  8, T= 1):   105.120 MB/s [    100.2 IOPS] <  9975.06 us>
  SEQ  128KiB (Q= 32, T= 1):    26.280 MB/s [    200.5 IOPS] <  4987.53 us>
  RND    4KiB (Q= 32, T=16):     1.232 MB/s [    300.8 IOPS] <  3325.02 us>
  RND    4KiB (Q=  1, T= 1):     1.642 MB/s [    401.0 IOPS] <  2493.77 us>

[Write]
  SEQ    1MiB (Q=  8, T= 1):   525.599 MB/s [    501.2 IOPS] <  1995.01 us>
  SEQ  128KiB (Q= 32, T= 1):    78.840 MB/s [    601.5 IOPS] <  1662.51 us>
  RND    4KiB (Q= 32, T=16):     2.874 MB/s [    701.8 IOPS] <  1425.01 us>
  RND    4KiB (Q=  1, T= 1):     3.285 MB/s [    802.0 IOPS] <  1246.88 us>

[Mix] Read 70%/Write 30%
  SEQ    1MiB (Q=  8, T= 1):   946.078 MB/s [    902.2 IOPS] <  1108.34 us>

Profile: NVMe [+Mix]
   Test: 1 GiB (x5) [/srv/disk]
   Mode:
   Time: Measure 5 sec / Interval 5 sec \n   Date: 2026/11/21 12:30:00
     OS: Linux 6.12
";
    assert_eq!(text, expected);
}

/// What is written is read again: every row with its name and figures, to the digits that are
/// printed.
#[test]
fn a_text_that_was_written_is_read_again() {
    for profile in
        [Profile::Three, Profile::Eight, Profile::EightNvme, Profile::Real, Profile::Peak]
    {
        let mix = (profile != Profile::Three).then_some(70);
        let options = Options { mix_read_percent: mix, ..profile.options() };
        let lines = lines(&options);
        for ends in ["\n", "\r\n"] {
            let text = crystal::text(&options, &lines, &heading()).replace('\n', ends);
            let imported = import_one(&text)
                .unwrap_or_else(|error| panic!("{}: {error}\n{text}", profile.name()));
            assert_eq!(imported.rows.len(), lines.len());
            assert_eq!((&*imported.suite, &*imported.tool), ("crystal", "raidloom 0.1.0"));
            assert!(
                imported.facts.contains(&("OS".to_owned(), "Linux 6.12".to_owned())),
                "{:?}",
                imported.facts
            );
            for (row, line) in imported.rows.iter().zip(&lines) {
                assert_eq!(row.phase, line.row.name());
                assert!(
                    (row.metrics[THROUGHPUT] - line.bytes_per_second).abs() <= 500.0,
                    "{}",
                    row.phase
                );
                if let Some(operations) = row.metrics.get(OPERATIONS) {
                    assert!((operations - line.io_per_second).abs() <= 0.051, "{}", row.phase);
                }
            }
        }
    }
}

/// What the audit found is read again with the row that it is of; a finding that nobody knows is
/// named, and is no finding.
#[test]
fn findings_of_the_audit_are_read_again() {
    let cached = Doubt::ReadFromCache { share: Some(0.06) };
    for profile in [Profile::Three, Profile::Eight] {
        let options = profile.options();
        let mut lines = lines(&options);
        lines[0].findings = vec![cached.clone(), Doubt::OtherWork { share: None }];
        lines[2].findings = vec![Doubt::ReadFromCache { share: None }];
        let text = crystal::text(&options, &lines, &heading());
        let names = |at: usize| lines[at].row.name();
        assert!(text.ends_with(&format!(
            "  Audit: other-work: {}\n  Audit: read-from-cache: {}, {}\n",
            names(0),
            names(0),
            names(2)
        )));
        let imported = import_one(&text).unwrap();
        for (at, row) in imported.rows.iter().enumerate() {
            let mut expected = match at {
                0 => vec![Doubt::OtherWork { share: None }, cached.without_figures()],
                2 => vec![cached.without_figures()],
                _ => vec![],
            };
            expected.sort_by(by_code);
            assert_eq!(row.findings, expected, "{}", row.phase);
        }
        assert_eq!(imported.notes.len(), 1);
        let damaged = text.replace("read-from-cache", "read-from-crash");
        let imported = import_one(&damaged).unwrap();
        assert!(imported.rows[2].findings.is_empty());
        assert_eq!(imported.notes[1], "`read-from-crash` is no finding of the audit that is known");
    }
}

/// Figures of a real drive in the layout of version 8, and of KDiskMark's.
#[test]
fn figures_are_put_into_base_units() {
    let eight = "CrystalDiskMark 8.0.4 x64 (C) 2007\n[Read]\n  RND    4KiB (Q= 32, T=16):  \
        4094.649 MB/s [ 999670.2 IOPS] <   494.56 us>\n";
    let row = &import_one(eight).unwrap().rows[0];
    assert_eq!((row.phase.as_str(), row.group), ("RND4K Q32T16 read", Group::Random));
    assert_eq!((row.metrics[THROUGHPUT], row.metrics[OPERATIONS]), (4_094_649_000.0, 999_670.2));
    assert!((row.metrics[LATENCY_MEAN] - 494.56e-6).abs() < 1e-12);

    let other = "KDiskMark (3.2.0): https://example.org\n[Write]\nSequential   1 MiB (Q=  8, T= \
        1):    85.271 MB/s [     83.3 IOPS] < 38704.24 us>\n";
    let imported = import_one(other).unwrap();
    assert_eq!(imported.tool, "KDiskMark (3.2.0)");
    let row = &imported.rows[0];
    assert_eq!(row.phase, "SEQ1M Q8T1 write");
    // 83.3 requests of 1 MiB a second: what it calls 85.271 MB/s are 87.3.
    assert!(
        (row.metrics[THROUGHPUT] / (83.3 * 1_048_576.0) - 1.0).abs() < 0.001,
        "{:?}",
        row.metrics
    );
    assert!(imported.notes[0].contains("1.024"));
}

#[test]
fn bonnie_lines_are_read_in_each_of_their_layouts() {
    let old = "box,16G,50000,90,100000,20,40000,10,48000,88,110000,12,250.5,1,16,5000,60,+++++,+++,9000,50,5100,61,+++++,+++,3000,20\n";
    let imported = import_one(old).unwrap();
    assert_eq!((imported.tool.as_str(), imported.rows.len()), ("bonnie++ 1.03", 10));
    let figure = |phase: &str, metric: &str| {
        imported
            .rows
            .iter()
            .find(|row| row.phase == phase)
            .and_then(|row| row.metrics.get(metric).copied())
    };
    assert_eq!(figure("block write", THROUGHPUT), Some(102_400_000.0));
    assert_eq!(figure("seeks", OPERATIONS), Some(250.5));
    assert_eq!(figure("random delete", "cpu_ratio"), Some(0.2));
    assert_eq!(figure("sequential stat", OPERATIONS), None, "too short to say");

    let rates = "1,2,3,4,5,6,7,8,9,10,11.5,12";
    let files = "21,22,23,24,25,26,27,28,29,30,31,32";
    let latencies = "101us,102us,103ms,104us,105us,2s,107us,108us,109us,110us,111us,112us";
    let new =
        format!("1.98,2.00a,box,1,1605968000,512M,,8192,5,{rates},16,,,,,{files},{latencies}");
    let middle = format!("1.97,1.97,box,1,1605968000,512M,,{rates},16,,,,,{files},{latencies}");
    let twice = format!("{new}\n{new}\n");
    for (text, runs) in [(new.as_str(), 1), (middle.as_str(), 1), (twice.as_str(), 2)] {
        let imported = import_one(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(imported.rows.len(), 12 * runs);
        let last = imported.rows.last().expect("rows");
        assert_eq!(
            (last.phase.as_str(), last.run as usize, last.metrics[OPERATIONS]),
            ("random delete", runs, 31.0)
        );
        let seeks = &imported.rows[5];
        assert_eq!(
            (seeks.metrics[OPERATIONS], seeks.metrics[LATENCY_MAX], seeks.metrics["cpu_ratio"]),
            (11.5, 2.0, 0.12)
        );
    }
    let error = import(&format!("{new}\n1.98,2.00a,box\n")).unwrap_err().to_string();
    assert_eq!(error, "line 2: it has 3 fields; bonnie++ writes 27, 48 or 50");
}

/// As the shell gets it: what fio has to say stands before its JSON, and sometimes behind it.
#[test]
fn fios_notes_around_its_json_are_kept_as_notes() {
    let document = r#"{
  "fio version" : "fio-3.33",
  "jobs" : [ { "jobname" : "s", "error" : 0, "job options" : { "rw" : "read", "bs" : "1m", "direct" : "1" },
    "read" : { "total_ios" : 2, "bw_bytes" : 3, "iops" : 4 }, "write" : { "total_ios" : 0 } } ]
}
"#;
    let note = "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will \
        be capped at 1";
    let imported = import_one(&format!("{note}\n{note}\n{document}\nfio: a last word\n"))
        .expect("it is fio's format");
    assert_eq!(imported.rows.len(), 1);
    let said = |line: &str| format!("beside its results the file says: {line}");
    assert_eq!(imported.notes, [said(note), said(note), said("fio: a last word")]);
    let damaged = import(&format!("{note}\n{{ \"jobs\": [ }}")).unwrap_err().to_string();
    assert!(damaged.starts_with("line 2: no JSON"), "{damaged}");
    assert!(import_one(&format!("  {document}")).is_ok(), "an indented document is one too");
}

#[test]
fn jobs_that_ran_side_by_side_are_added_up() {
    let job = |ios: u64, mean: f64| {
        serde_json::json!({ "jobname": "r", "groupid": 0, "error": 0,
            "job options": { "rw": "randread", "bs": "4k" },
            "read": { "total_ios": ios, "bw": 4 * ios, "iops": ios,
                "lat_ns": { "mean": mean, "max": 2.0 * mean } },
            "write": { "total_ios": 0 } })
    };
    let failed = serde_json::json!({ "jobname": "w", "error": 5 });
    let document = serde_json::json!({ "fio version": "fio-3.33",
        "global options": { "iodepth": "4", "direct": "1", "numjobs": "2" },
        "jobs": [job(100, 1e6), job(300, 2e6), failed] });
    let imported = import_one(&document.to_string()).expect("it is fio's format");
    assert_eq!(imported.rows.len(), 1);
    let row = &imported.rows[0];
    assert_eq!(row.phase, "RND4K Q4T2 read");
    assert_eq!((row.metrics[THROUGHPUT], row.metrics[OPERATIONS]), (400.0 * 4096.0, 400.0));
    assert!(
        (row.metrics[LATENCY_MEAN] - 0.00175).abs() < 1e-9
            && (row.metrics[LATENCY_MAX] - 0.004).abs() < 1e-9
    );
    assert_eq!(imported.notes, ["job w was left out: it ended with error 5"]);
}

#[test]
fn what_is_none_of_them_is_refused_in_one_line() {
    for (text, says) in [
        ("", "none of the formats"),
        ("hello\nworld\n", "none of the formats"),
        ("{ \"a\": 1 }", "none of fio's `jobs`"),
        ("{ \"jobs\": 3 }", "`jobs` is no list"),
        ("{ \"jobs\": [] }", "no figure"),
        ("{ \"jobs\": [ ", "line 1: no JSON"),
        (
            "CrystalDiskMark 8\n[Read]\n  ABC 1MiB (Q=1, T=1): 3.0 MB/s\n",
            "line 3: `ABC 1MiB (Q=1, T=1): 3.0 MB/s` is no row",
        ),
    ] {
        let error = import(text).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{text:?}: {error}");
    }
}
