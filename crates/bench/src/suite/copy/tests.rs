use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::suite::{NoAudit, NoProgress, Observer, Row, Ticker};

fn run_in(
    folder: &Path,
    said: &[(&'static str, Value)],
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> (Vec<Row>, Result<(), Error>) {
    let mut settings = SUITE.defaults(block::Clock::Wall);
    settings.set(&SUITE, "bytes", Value::Bytes(1 << 20)).unwrap();
    for (name, value) in said {
        settings.set(&SUITE, name, value.clone()).unwrap();
    }
    let reactor = Reactor::wall().unwrap();
    let (ticker, mut meter) = (Ticker::new(), NoAudit);
    let mut session = Session::new(&reactor, stop, &ticker, &mut meter, observer);
    session.data_seed = 99;
    let result = (SUITE.run)(Target::Folder(folder), &settings, &mut session);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "files were left behind");
    (session.into_rows(), result)
}

/// Looks at the files while they are there.
struct Looks<F: FnMut(&Path)>(PathBuf, F);

impl<F: FnMut(&Path)> Observer for Looks<F> {
    fn finished(&mut self, row: &Row) {
        if row.phase == "write" {
            (self.1)(&fs::read_dir(&self.0).unwrap().next().unwrap().unwrap().path());
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

#[test]
fn all_bytes_are_written_read_and_deleted() {
    for fsync in ["never", "file", "folder"] {
        let folder = tempfile::tempdir().unwrap();
        let said = [
            ("fsync", Value::word(fsync)),
            ("drop_caches", Value::Switch(fsync == "file")),
            ("access_times", Value::Switch(false)),
        ];
        let (rows, result) = run_in(folder.path(), &said, &AtomicBool::new(false), &mut NoProgress);
        result.unwrap();
        let moved: Vec<_> = rows
            .iter()
            .map(|row| row.measured().unwrap())
            .map(|row| (row.done.read_bytes, row.done.written_bytes))
            .collect();
        assert_eq!(moved, [(0, 1 << 20), (1 << 20, 0), (0, 0)]);
        let durable: Vec<bool> = rows
            .iter()
            .map(|row| row.measured().unwrap().durable_operations_per_second().is_some())
            .collect();
        assert_eq!(durable, [true, false, true]);
        assert!(rows.iter().all(|row| row.measured().unwrap().operations_per_second() > 0.0));
    }
}

#[test]
fn folders_hold_no_more_than_they_should_and_lie_as_deep() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    let mut looks = Looks(folder.path().to_owned(), |work: &Path| {
        found = files_below(work)
            .iter()
            .map(|path| path.strip_prefix(work).unwrap().display().to_string())
            .collect();
    });
    let said = [
        ("files", Value::Count(7)),
        ("max_folder_files", Value::Count(3)),
        ("depth", Value::Count(3)),
    ];
    run_in(folder.path(), &said, &AtomicBool::new(false), &mut looks).1.unwrap();
    let expected = [
        "00000/1/2/0000000",
        "00000/1/2/0000001",
        "00000/1/2/0000002",
        "00001/1/2/0000003",
        "00001/1/2/0000004",
        "00001/1/2/0000005",
        "00002/1/2/0000006",
    ];
    assert_eq!(found, expected);
}

#[test]
fn one_wrong_byte_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut damages = Looks(folder.path().to_owned(), |work: &Path| {
        let path = &files_below(work)[3];
        let mut bytes = fs::read(path).unwrap();
        bytes[600] ^= 4;
        fs::write(path, bytes).unwrap();
    });
    let (rows, result) = run_in(
        folder.path(),
        &[("files", Value::Count(10))],
        &AtomicBool::new(false),
        &mut damages,
    );
    let error = result.unwrap_err();
    assert!(
        error.kind() == ErrorKind::Corrupt && error.to_string().contains("0000003, byte 600"),
        "{error}"
    );
    assert_eq!(rows.len(), 1, "what was measured before stays");
}

#[test]
fn direct_io_leaves_files_of_the_same_length() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let mut lengths = 0;
    let mut looks = Looks(folder.path().to_owned(), |work: &Path| {
        lengths = files_below(work).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    });
    let said = [
        ("direct", Value::Switch(true)),
        ("files", Value::Count(20)),
        ("bytes", Value::Bytes(1_000_003)),
    ];
    match run_in(folder.path(), &said, &AtomicBool::new(false), &mut looks).1 {
        Ok(()) => assert_eq!(lengths, 1_000_003),
        Err(error) => assert!(
            error.kind() == ErrorKind::Refused && error.to_string().contains("direct I/O"),
            "{error}"
        ),
    }
}

#[test]
fn when_it_is_stopped_the_files_go() {
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let mut stops = Looks(folder.path().to_owned(), |_: &Path| stop.store(true, Ordering::Relaxed));
    let (rows, result) = run_in(folder.path(), &[], &stop, &mut stops);
    result.unwrap();
    assert_eq!(rows.len(), 1);
}
