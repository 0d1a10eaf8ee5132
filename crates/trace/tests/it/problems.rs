//! What is wrong with traces: each kind is counted and read past, or refused with its place.

use std::io::Cursor;

use reactor::Random;
use trace::{Contents, Format, Problem, ProblemKind, ProblemSite, Profiler, ReadOptions, Reader};

use super::formats::{Event, QUEUE_READ, reader};

const HEAD: &str = "time,op,offset,length\n";

fn strict() -> ReadOptions {
    ReadOptions { strict: true, ..ReadOptions::default() }
}

/// Times of the records, what was wrong, and what a strict reader says.
fn looked_at(text: &str) -> (Vec<u64>, Vec<Problem>, String) {
    let mut lenient = reader(text, &ReadOptions::default());
    let times = lenient.by_ref().map(|record| record.unwrap().time_nanoseconds).collect();
    let refused = reader(text, &strict()).find_map(Result::err);
    let refused = refused.map_or(String::new(), |error| error.to_string());
    (times, lenient.problems().all().to_vec(), refused)
}

fn problem(kind: ProblemKind, count: u64, line: u64) -> Vec<Problem> {
    vec![Problem { kind, count, first: ProblemSite::Line(line) }]
}

#[test]
fn requests_of_no_size_are_skipped() {
    let found = looked_at(&format!("{HEAD}0,read,0,512\n1,read,0,0\n2,write,0,0\n"));
    assert_eq!(found.0, [0]);
    assert_eq!(found.1, problem(ProblemKind::Empty, 2, 3));
    assert_eq!(found.2, "line 3: a request of size 0");
}

#[test]
fn requests_past_the_end_are_skipped() {
    let found = looked_at(&format!("{HEAD}0,read,0,512\n1,read,18446744073709551615,512\n"));
    assert_eq!(found.0, [0]);
    assert_eq!(found.1, problem(ProblemKind::PastEnd, 1, 3));
    assert_eq!(found.2, "line 3: a request that reaches past the end of the device");
    // Nor is there a device on which one as long as this lies.
    let found = looked_at(&format!("{HEAD}0,read,0,512\n1,write,0,9000000000000000000\n"));
    assert_eq!((found.0, found.1), (vec![0], problem(ProblemKind::PastEnd, 1, 3)));
}

#[test]
fn a_request_out_of_order_takes_the_time_before_it() {
    let found =
        looked_at(&format!("{HEAD}0,read,0,512\n2,read,0,512\n1.5,read,0,512\n3,read,0,512\n"));
    assert_eq!(found.0, [0, 2_000_000_000, 2_000_000_000, 3_000_000_000]);
    assert_eq!(found.1, problem(ProblemKind::Unordered, 1, 4));
    assert_eq!(found.2, "line 4: a request that is earlier than the one before it");
    // One that is far behind, but the next ones are not.
    let found =
        looked_at(&format!("{HEAD}0,read,0,512\n9,read,0,512\n1,read,0,512\n10,read,0,512\n"));
    assert_eq!(found.0, [0, 9_000_000_000, 9_000_000_000, 10_000_000_000]);
    assert_eq!(found.1[0].kind, ProblemKind::Unordered);
}

#[test]
fn a_clock_that_was_set_back_goes_on() {
    let found = looked_at(&format!(
        "{HEAD}100,read,0,512\n109,read,0,512\n50,read,0,512\n51,read,0,512\n52,read,0,512\n"
    ));
    assert_eq!(found.0, [0, 9, 9, 10, 11].map(|second: u64| second * 1_000_000_000));
    assert_eq!(found.1[0].kind, ProblemKind::ClockSetBack);
    assert_eq!(found.1[0].count, 1);
    assert!(found.2.ends_with("the clock was set back"), "{}", found.2);
}

#[test]
fn a_trace_that_is_cut_off_is_good_up_to_there() {
    let found = looked_at(&format!("{HEAD}0,read,0,512\n1,read,0"));
    assert_eq!(found.0, [0]);
    assert_eq!(found.1, problem(ProblemKind::CutOff, 1, 3));
    assert!(found.2.starts_with("line 3: no length"), "{}", found.2);
    let event = Event { time: 5, action: QUEUE_READ, sector: 8, bytes: 4096, pid: 1 };
    let bytes = [event.bytes(true, 7), event.bytes(true, 7)].concat();
    let mut cut = reader(&bytes[..bytes.len() - 10], &ReadOptions::default());
    assert_eq!(cut.by_ref().filter(Result::is_ok).count(), 1);
    assert_eq!(cut.problems().count(ProblemKind::CutOff), 1);
}

#[test]
fn a_trace_of_several_devices_is_refused_with_their_names() {
    let text = "\
128166372003061629,hm,1,Read,383496192,32768,413
128166372003061630,hm,0,Read,0,4096,413
128166372003061631,web,2,Read,8192,4096,413
";
    let error = reader(text, &ReadOptions::default()).find_map(Result::err).unwrap().to_string();
    assert_eq!(
        error,
        "the trace is of 3 devices (hm_1, hm_0, web_2); say which one counts: --device NAME"
    );
    let of = |device: &str| {
        let options = ReadOptions { device: Some(device.to_owned()), ..ReadOptions::default() };
        reader(text, &options).collect::<Result<Vec<_>, _>>()
    };
    let found = of("hm_0").unwrap();
    assert_eq!((found.len(), found[0].offset, found[0].time_nanoseconds), (1, 0, 0));
    let error = of("sda").unwrap_err().to_string();
    assert_eq!(error, "there is no device sda in the trace, only: hm_1, hm_0, web_2");
}

#[test]
fn what_is_unreadable_in_the_middle_is_skipped_and_at_first_refused() {
    let text = "0,303567,3584,w,0.0\n0,303574,3584,x,0.1\n0,303581,3584,w,0.2\n";
    let found = looked_at(text);
    assert_eq!(found.0, [0, 200_000_000]);
    assert_eq!(found.1, problem(ProblemKind::Unreadable, 1, 2));
    assert_eq!(found.2, "line 2: `x` neither reads nor writes");
    let error = reader("these are\nno requests\n", &ReadOptions::default());
    let error = error.map(|record| record.unwrap_err().to_string()).next().unwrap();
    assert!(error.starts_with("line 1: no op"), "{error}");
    assert_eq!(reader("", &ReadOptions::default()).count(), 0);
}

#[test]
fn bytes_that_are_no_event_end_a_binary_trace() {
    let event = Event { time: 5, action: QUEUE_READ, sector: 8, bytes: 4096, pid: 1 };
    let bytes = [event.bytes(true, 7), vec![0x55; 100]].concat();
    let error = reader(&bytes, &ReadOptions::default()).find_map(Result::err).unwrap().to_string();
    assert!(error.starts_with("no event of blktrace stands behind event 1"), "{error}");
    // A completion without its submission: the recording began while it was under way.
    let orphan = Event { action: super::formats::COMPLETE_READ, ..event };
    let mut reader = reader(orphan.bytes(true, 7), &ReadOptions::default());
    assert_eq!(reader.by_ref().count(), 0);
    assert_eq!(reader.problems().count(ProblemKind::Unpaired), 1);
}

#[test]
fn no_bytes_break_a_reader() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/trace");
    let mut random = Random::with_seed(7);
    let mut formats = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(seeds).unwrap() {
        let seed = std::fs::read(entry.unwrap().path()).unwrap();
        formats.insert(reader(&seed, &ReadOptions::default()).format().name());
        for _ in 0..500 {
            let mut bytes = seed.clone();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            bytes.truncate(random.usize(bytes.len() / 2..bytes.len() + 1));
            let Ok(reader) = Reader::new(Cursor::new(bytes), &ReadOptions::default()) else {
                continue;
            };
            let mut profiler = Profiler::new();
            reader.filter_map(Result::ok).for_each(|record| profiler.take(&record));
            let _ = profiler.finish(Contents::default());
        }
    }
    assert_eq!(formats.len(), Format::ALL.len(), "{formats:?}");
}
