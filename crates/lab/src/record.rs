//! `trials.jsonl`: append only, one line a trial, each synced by itself. It is the source of
//! truth of a run; everything else in the folder can be made again from it.
//!
//! ```text
//! {"cell":…}\n            whole lines count
//! {"cell":…}\n
//! {"cell":…,"metr         a torn last line (power cut, full disk) is dropped, and cut off before the next one is appended
//! ```

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use results::Trial;

use host::Error;
use words::{Text, statement};

use crate::catalogue;

/// The lines of a `trials.jsonl` and what was wrong with its end.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) trials: Vec<Trial>,
    /// Bytes of the lines that count.
    whole_bytes: u64,
    /// What was dropped, in words.
    pub(crate) note: Option<Text>,
}

/// Reads lines one after the other, so that never more than one of them is there beside the trials;
/// `path` is for messages.
pub(crate) fn read_lines(path: &Path, mut from: impl BufRead) -> Result<Lines, Error> {
    let failed = |error: io::Error| Error::from_io(path.display(), &error);
    let mut lines = Lines { trials: Vec::new(), whole_bytes: 0, note: None };
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = from.read_until(b'\n', &mut line).map_err(failed)?;
        if length == 0 {
            return Ok(lines);
        }
        let whole = line.strip_suffix(b"\n");
        match serde_json::from_slice(whole.unwrap_or(&line)) {
            Ok(trial) if whole.is_some() => lines.trials.push(trial),
            // A crash may also leave a last line whose blocks were never written: it is no more
            // than a torn one.
            _ if from.fill_buf().map_err(failed)?.is_empty() => {
                let path = path.display();
                let text = catalogue::TORN_LINE_DROPPED;
                lines.note = Some(statement!(text, path = path, bytes = length));
                return Ok(lines);
            }
            Ok(_) => unreachable!("a line without its end is the last"),
            Err(error) => {
                let number = lines.trials.len() + 1;
                let text = statement!(catalogue::NO_TRIAL_LINE, why = Text::verbatim(&error));
                return Err(Error::failed(text).at(format!("{}:{number}", path.display())));
            }
        }
        lines.whole_bytes += length as u64;
    }
}

/// A run's folder may be another user's: no link that stands in a file's place is followed.
pub(crate) const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;

/// A `trials.jsonl` opened for appending. While it is open, no other process can append to it.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
    path: PathBuf,
    /// Bytes of the lines that are on stable storage.
    whole_bytes: u64,
    /// The sync under way, and the bytes of its lines.
    under_way: Option<(JoinHandle<io::Result<()>>, u64)>,
    /// Bytes of lines that were written since it began.
    waiting_bytes: u64,
}

impl Record {
    /// Makes an empty record and takes its lock.
    pub(crate) fn create(path: &Path) -> Result<Record, Error> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .truncate(false)
            .custom_flags(NO_LINK)
            .open(path);
        let file = file.map_err(|error| Error::from_io(path.display(), &error))?;
        lock(&file, path)?;
        let length = file.metadata().map_err(|error| Error::from_io(path.display(), &error))?.len();
        if length > 0 {
            let path = path.display();
            return Err(Error::usage(statement!(catalogue::HAS_TRIALS, path = path)));
        }
        Ok(Record {
            file,
            path: path.to_owned(),
            whole_bytes: 0,
            under_way: None,
            waiting_bytes: 0,
        })
    }

    /// Opens a record to go on with it: takes its lock, reads what is there, and cuts a torn last
    /// line off.
    pub(crate) fn open(path: &Path) -> Result<(Record, Lines), Error> {
        let failed = |error| Error::from_io(path.display(), &error);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .custom_flags(NO_LINK)
            .open(path)
            .map_err(failed)?;
        // A pipe that is opened so has no end either.
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(Error::refused(catalogue::NO_PLAIN_FILE).at(path.display()));
        }
        lock(&file, path)?;
        let lines = read_lines(path, BufReader::new(&file))?;
        if lines.note.is_some() {
            file.set_len(lines.whole_bytes).and_then(|()| file.sync_data()).map_err(failed)?;
        }
        Ok((
            Record {
                file,
                path: path.to_owned(),
                whole_bytes: lines.whole_bytes,
                under_way: None,
                waiting_bytes: 0,
            },
            lines,
        ))
    }

    /// Takes the lock of a record without reading it; none where there is no record.
    pub(crate) fn hold(path: &Path) -> Result<Option<File>, Error> {
        // A pipe in its place is not waited for.
        let flags = NO_LINK | rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => lock(&file, path).map(|()| Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::from_io(path.display(), &error)),
        }
    }

    /// Appends one trial in one write and starts to sync it, or lets it be synced with those that
    /// follow when the sync under way has ended; [`Record::settle`] waits for all. When the write
    /// fails (a full disk), the half line is taken back, so that what is there stays whole.
    ///
    /// Only a modelled trial may run meanwhile: it takes no notice of what the machine does.
    pub(crate) fn append(&mut self, trial: &Trial) -> Result<(), Error> {
        if self.under_way.as_ref().is_some_and(|(sync, _)| sync.is_finished()) {
            self.end_sync()?;
        }
        let mut line = serde_json::to_vec(trial).expect("a trial is plain data");
        line.push(b'\n');
        let written = self.file.write(&line).and_then(|count| {
            // When not all of it fits, asking for the rest gives the reason.
            self.file.write_all(&line[count..])
        });
        written.map_err(|error| self.take_back(&error))?;
        self.waiting_bytes += line.len() as u64;
        if self.under_way.is_none() {
            self.begin_sync()?;
        }
        Ok(())
    }

    /// Waits until every line is on stable storage.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        self.end_sync()?;
        if self.waiting_bytes > 0 {
            self.begin_sync()?;
            self.end_sync()?;
        }
        Ok(())
    }

    fn begin_sync(&mut self) -> Result<(), Error> {
        let file = self.file.try_clone().map_err(|error| self.take_back(&error))?;
        let bytes = std::mem::take(&mut self.waiting_bytes);
        self.under_way = Some((thread::spawn(move || file.sync_data()), bytes));
        Ok(())
    }

    fn end_sync(&mut self) -> Result<(), Error> {
        let Some((sync, bytes)) = self.under_way.take() else { return Ok(()) };
        let synced = sync
            .join()
            .unwrap_or_else(|_| Err(io::Error::other(Text::from(catalogue::SYNC_PANICKED))));
        synced.map_err(|error| self.take_back(&error))?;
        self.whole_bytes += bytes;
        Ok(())
    }

    fn take_back(&mut self, error: &io::Error) -> Error {
        // A sync under way may still end well: what it covers is kept.
        if let Some((sync, bytes)) = self.under_way.take()
            && matches!(sync.join(), Ok(Ok(())))
        {
            self.whole_bytes += bytes;
        }
        self.waiting_bytes = 0;
        // Should this fail too, the torn line is dropped when the run is resumed.
        let _ = self.file.set_len(self.whole_bytes).and_then(|()| self.file.sync_data());
        Error::from_io(self.path.display(), error)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // Before the lock goes.
        let _ = self.settle();
    }
}

fn lock(file: &File, path: &Path) -> Result<(), Error> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let holder = host::system::lock_holder(file)
                .map(|process| statement!(catalogue::PROCESS_IN_BRACKETS, process = process))
                .unwrap_or_default();
            let said = statement!(catalogue::GOING_ON, holder = holder);
            Err(Error::refused(said).at(path.display()))
        }
        Err(TryLockError::Error(error)) => {
            Err(Error::from_io(statement!(catalogue::LOCKING_PATH, path = path.display()), &error))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    fn trial(block: u32) -> Trial {
        Trial {
            cell: "0123456789ab".into(),
            settings: BTreeMap::from([("chunk".into(), "4KiB".into())]).into(),
            workload: "random read 512".into(),
            block,
            order: 3,
            clock: results::Clock::Virtual,
            metrics: results::Metrics::from_iter([(
                "throughput_bytes_per_second",
                0.1 + f64::from(block),
            )]),
            members: vec![results::MemberTraffic { read_bytes: 512, written_bytes: 0 }],
            flags: Vec::new(),
        }
    }

    fn path(folder: &tempfile::TempDir) -> PathBuf {
        folder.path().join("trials.jsonl")
    }

    #[test]
    fn what_was_appended_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::create(&path(&folder)).unwrap();
        for block in 0..3 {
            record.append(&trial(block)).unwrap();
        }
        drop(record);
        let (_record, lines) = Record::open(&path(&folder)).unwrap();
        assert_eq!((lines.trials, lines.note), ((0..3).map(trial).collect(), None));
    }

    #[test]
    fn a_record_torn_at_any_byte_keeps_its_whole_lines_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::create(&path(&folder)).unwrap();
        (0..2).for_each(|block| record.append(&trial(block)).unwrap());
        drop(record);
        let whole = fs::read(path(&folder)).unwrap();
        let line = whole.len() / 2;
        for length in 0..=whole.len() {
            fs::write(path(&folder), &whole[..length]).unwrap();
            let kept = length / line;
            let read = read_lines(&path(&folder), &whole[..length]).unwrap();
            assert_eq!(
                (read.trials.len(), read.note.is_some()),
                (kept, !length.is_multiple_of(line)),
                "torn after {length} bytes"
            );
            // Each of these costs several fsyncs.
            if !length.is_multiple_of(31) && length < whole.len() - 2 {
                continue;
            }
            let (mut record, lines) = Record::open(&path(&folder)).unwrap();
            assert_eq!(lines.trials.len(), kept);
            record.append(&trial(9)).unwrap();
            drop(record);
            let blocks: Vec<u32> = Record::open(&path(&folder))
                .unwrap()
                .1
                .trials
                .iter()
                .map(|trial| trial.block)
                .collect();
            assert_eq!(
                blocks,
                (0..kept as u32).chain([9]).collect::<Vec<_>>(),
                "torn after {length} bytes"
            );
        }
    }

    #[test]
    fn a_last_line_of_zeroes_is_torn_and_a_damaged_line_before_it_is_an_error() {
        let mut bytes = serde_json::to_vec(&trial(0)).unwrap();
        bytes.extend_from_slice(b"\n\0\0\0\0\n");
        let lines = read_lines(Path::new("t"), &bytes[..]).unwrap();
        assert!(lines.trials.len() == 1 && lines.note.is_some());
        bytes.extend(serde_json::to_vec(&trial(1)).unwrap());
        bytes.push(b'\n');
        let error = read_lines(Path::new("t"), &bytes[..]).unwrap_err().to_string();
        assert!(error.starts_with("t:2: this line is no trial"), "{error}");
    }

    #[test]
    fn one_process_appends_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::create(&path(&folder)).unwrap();
        let error = Record::open(&path(&folder)).unwrap_err();
        assert!(
            error.exit_code() == 4 && error.to_string().contains("going on in another process"),
            "{error}"
        );
        drop(record);
        Record::open(&path(&folder)).unwrap();
    }

    /// `/dev/full` takes no byte: the append fails and counts nothing.
    #[test]
    fn a_full_disk_leaves_no_half_line() {
        let mut record = Record {
            file: OpenOptions::new().append(true).open("/dev/full").unwrap(),
            path: "/dev/full".into(),
            whole_bytes: 0,
            under_way: None,
            waiting_bytes: 0,
        };
        let error = record.append(&trial(0)).unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
        assert_eq!(record.whole_bytes, 0);
    }
}
