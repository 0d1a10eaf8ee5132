//! The recording that a replay is of, read once for all configurations that it is replayed on.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use block::{Error, ErrorKind};
use results::Doubt;
use trace::{ProblemKind, Problems, ReadOptions, Record, RecordedOp};
use words::{Text, statement};

use super::waits::Dependencies;
use crate::suite::{catalogue, machine_memory};

/// Which part of a file is replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    /// The file.
    pub(super) path: PathBuf,
    /// The one device of it that counts, where it is of several.
    pub(super) device: Option<String>,
    /// How many of 100 requests, from the first on.
    pub(super) percent: u64,
    /// So many at most.
    pub(super) requests_max: Option<u64>,
    /// Only those that change nothing.
    pub(super) reads_only: bool,
    /// How often each write is made.
    pub(super) writes: u64,
}

impl Selection {
    /// All that the file has of it.
    fn whole(&self) -> Selection {
        let (path, device) = (self.path.clone(), self.device.clone());
        let (percent, requests_max, reads_only, writes) = (100, None, false, 1);
        Selection { path, device, percent, requests_max, reads_only, writes }
    }

    /// How many of so many requests are replayed, from the first on.
    fn count(&self, requests: usize) -> usize {
        let part = (requests as u64).saturating_mul(self.percent).div_ceil(100);
        let count = self.requests_max.map_or(part, |most| most.min(part));
        usize::try_from(count).unwrap_or(usize::MAX).max(1).min(requests)
    }
}

/// What is replayed.
#[derive(Debug)]
pub(super) struct Recording {
    /// Requests in the order of their submission.
    pub(super) records: Vec<Record>,
    /// Size of the device that they were recorded on, where it is known.
    pub(super) recorded_bytes: Option<u64>,
    /// What of the file could not be replayed; none where it is whole.
    pub(super) damage: Option<Doubt>,
    /// Whether it says when requests were submitted.
    pub(super) has_times: bool,
    waits: OnceLock<Result<Dependencies, Text>>,
}

impl Recording {
    /// What waited for what.
    ///
    /// # Errors
    /// Why that is not known.
    pub(super) fn waits(&self) -> Result<&Dependencies, Text> {
        self.waits.get_or_init(|| Dependencies::of(&self.records)).as_ref().map_err(Clone::clone)
    }

    /// So many requests of it, from the first on.
    fn first(&self, count: usize) -> Recording {
        Recording {
            records: self.records[..count].to_vec(),
            recorded_bytes: self.recorded_bytes,
            damage: self.damage.clone(),
            has_times: self.has_times,
            waits: OnceLock::new(),
        }
    }

    /// From the first submission to the last, in nanoseconds.
    pub(super) fn span(&self) -> u64 {
        self.records.last().map_or(0, |last| last.time_nanoseconds)
    }
}

/// What was read last, and what of.
struct CachedRecording {
    selection: Selection,
    /// Length and time of the file.
    version: (u64, Option<SystemTime>),
    recording: Arc<Recording>,
}

/// So many requests are kept for the next configuration, in all recordings together.
const KEPT_REQUESTS_MAX: usize = 20_000_000;
/// A request of a closed replay is numbered in 32 bits.
const REQUESTS_MAX: usize = u32::MAX as usize - 1;
/// What a request takes of memory at most, in bytes: its record, in a list that grows, what it
/// waits for, and what is looked at to find that out.
const REQUEST_BYTES: u64 = 200;

/// How many requests are replayed at most by a machine of so much memory: half of it is theirs.
fn requests_max(memory_bytes: u64) -> usize {
    let most = usize::try_from(memory_bytes / 2 / REQUEST_BYTES).unwrap_or(usize::MAX);
    most.clamp(1, REQUESTS_MAX)
}

/// The most recent last.
static KEPT: Mutex<Vec<CachedRecording>> = Mutex::new(Vec::new());

/// Reads the selected part of a file, or has it already.
///
/// # Errors
/// What the file could not do, or what is wrong with it; [`ErrorKind::Invalid`] when nothing is
/// left to be replayed.
pub(super) fn read(selection: &Selection) -> Result<Arc<Recording>, Error> {
    let at = |error: std::io::Error| {
        let place = statement!(catalogue::THE_RECORDING, path = selection.path.display());
        Error::from_io(place, error)
    };
    let found = std::fs::metadata(&selection.path).map_err(at)?;
    let version = (found.len(), found.modified().ok());
    // Others wait: they want the same, mostly.
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same = |kept: &CachedRecording| kept.selection == *selection && kept.version == version;
    if let Some(known) = kept.iter().find(|kept| is_same(kept)) {
        return Ok(Arc::clone(&known.recording));
    }
    let whole = selection.whole();
    let is_whole = |kept: &&CachedRecording| kept.selection == whole && kept.version == version;
    let whole = kept.iter().find(is_whole).map(|kept| Arc::clone(&kept.recording));
    let recording = Arc::new(load(selection, whole.as_deref())?);
    kept.push(CachedRecording {
        selection: selection.clone(),
        version,
        recording: Arc::clone(&recording),
    });
    let sum = |kept: &[CachedRecording]| {
        kept.iter().map(|one| one.recording.records.len()).sum::<usize>()
    };
    while kept.len() > 1 && sum(&kept) > KEPT_REQUESTS_MAX {
        kept.remove(0);
    }
    Ok(recording)
}

/// Reads a recording to its end, or so many requests of it; no more than there is memory for.
fn read_whole(
    selection: &Selection,
    most: Option<u64>,
    requests_max: usize,
) -> Result<Recording, Error> {
    let path = &selection.path;
    let options = ReadOptions { device: selection.device.clone(), ..ReadOptions::default() };
    let mut reader = trace::open_with(path, &options)?;
    let mut records = Vec::new();
    while most.is_none_or(|most| (records.len() as u64) < most) {
        let Some(record) = reader.next() else { break };
        let record = record.map_err(|error| error.at(path.display()))?;
        if record.op == RecordedOp::Flush || record.length > 0 {
            records.push(record);
        }
        if records.len() > requests_max {
            let why = match requests_max {
                REQUESTS_MAX => catalogue::REQUESTS_NOT_NUMBERED,
                _ => catalogue::REQUESTS_TAKE_MEMORY,
            };
            let text = statement!(why, most = requests_max);
            return Err(Error::new(ErrorKind::Invalid, text).at(path.display()));
        }
    }
    Ok(Recording {
        records,
        recorded_bytes: reader.size_bytes(),
        damage: damage(reader.problems()),
        has_times: reader.contents().times,
        waits: OnceLock::new(),
    })
}

fn damage(problems: &Problems) -> Option<Doubt> {
    use ProblemKind::{CutOff, Empty, Lost, PastEnd, Unpaired, Unreadable};
    let count = |kind| problems.count(kind);
    let skipped = [Unreadable, Empty, PastEnd, Unpaired].map(count).iter().sum();
    let (lost, is_cut_off) = (count(Lost), count(CutOff) > 0);
    let is_whole = skipped == 0 && lost == 0 && !is_cut_off;
    (!is_whole).then_some(Doubt::RecordingDamaged { skipped, lost, is_cut_off })
}

/// Space between a write and the next one that is made of it is of whole MiB, so that it lies in
/// its chunk as it did.
const APART_BYTES: u64 = 1 << 20;

/// Has each write made so often: at its time, and further on by equal parts of what is reached, so
/// that sequential runs are as many sequential runs.
fn repeat_writes(records: &mut Vec<Record>, times: u64) {
    if times < 2 {
        return;
    }
    let ends = records.iter().map(|record| record.offset.saturating_add(record.length));
    let reached = ends.max().unwrap_or(0);
    let around = reached.next_multiple_of(APART_BYTES);
    let apart = (around / times).next_multiple_of(APART_BYTES);
    let repeated = |record: &Record| {
        let count = if record.op == RecordedOp::Write { times } else { 1 };
        let Record { offset, length, .. } = *record;
        let moved = move |by: u64| {
            let offset = (offset + by * apart) % around;
            if offset + length > reached { offset % APART_BYTES } else { offset }
        };
        let record = *record;
        (0..count).map(move |by| match by {
            0 => record,
            by => Record { offset: moved(by), ..record },
        })
    };
    *records = records.iter().flat_map(repeated).collect();
}

/// Reads what is selected of a file; a part of what was read whole is a copy of that part.
fn load(selection: &Selection, whole: Option<&Recording>) -> Result<Recording, Error> {
    // A share of all is known only once all are counted.
    let most = selection.requests_max.filter(|_| selection.percent == 100);
    let invalid = |text| Error::new(ErrorKind::Invalid, text).at(selection.path.display());
    let mut recording = match whole {
        // What is wrong with the file behind the last that is read is not told.
        Some(whole) if most.is_none() => whole.first(selection.count(whole.records.len())),
        _ => {
            let mut recording = read_whole(selection, most, requests_max(machine_memory()))?;
            recording.records.truncate(selection.count(recording.records.len()));
            recording
        }
    };
    let records = &mut recording.records;
    if records.is_empty() {
        return Err(invalid(catalogue::RECORDING_IS_EMPTY));
    }
    if selection.reads_only {
        records.retain(|record| record.op == RecordedOp::Read);
        if records.is_empty() {
            return Err(invalid(catalogue::NO_READ_IN_IT));
        }
    }
    repeat_writes(records, selection.writes);
    let first = records.first().map_or(0, |record| record.time_nanoseconds);
    records.iter_mut().for_each(|record| record.time_nanoseconds -= first);
    records.shrink_to_fit();
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three writes for one, apart, within what was reached; sequential runs stay such.
    #[test]
    fn writes_are_made_several_times() {
        let mebibyte = 1 << 20;
        let record = |number: u64, op, offset| Record {
            time_nanoseconds: number,
            latency_nanoseconds: Some(5),
            op,
            fua: false,
            offset,
            length: 4096,
            stream: 1,
        };
        let mut records = vec![record(0, RecordedOp::Read, 9 * mebibyte - 4096)];
        records.extend((1..4).map(|number| record(number, RecordedOp::Write, number * 4096)));
        records.push(record(4, RecordedOp::Flush, 0));
        let before = records.clone();
        repeat_writes(&mut records, 1);
        assert_eq!(records, before);
        repeat_writes(&mut records, 3);
        let writes: Vec<&Record> =
            records.iter().filter(|record| record.op == RecordedOp::Write).collect();
        assert_eq!((records.len(), writes.len()), (11, 9));
        for (place, write) in (0_u64..).zip(writes) {
            let (number, by) = (place / 3 + 1, place % 3);
            let expected = number * 4096 + by * 3 * mebibyte;
            assert_eq!((write.time_nanoseconds, write.offset), (number, expected));
        }
    }

    /// All requests of a recording.
    fn all_of(path: PathBuf) -> Selection {
        Selection {
            path,
            device: None,
            percent: 100,
            requests_max: None,
            reads_only: false,
            writes: 1,
        }
    }

    /// "A trace of 40 GB": what does not fit into memory is refused, and a part of it is not.
    #[test]
    fn more_requests_than_memory_takes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("load.csv");
        let line = |number: u64| format!("{number},read,{},512\n", number * 512);
        std::fs::write(&path, (0..100).map(line).collect::<String>()).unwrap();
        let all = all_of(path);
        let most = requests_max(99 * 2 * REQUEST_BYTES);
        assert_eq!(most, 99);
        let error = read_whole(&all, None, most).unwrap_err().to_string();
        assert!(error.contains("of more than 99 requests"), "{error}");
        assert_eq!(read_whole(&all, Some(99), most).unwrap().records.len(), 99);
        assert_eq!(read_whole(&all, None, most + 1).unwrap().records.len(), 100);
        assert_eq!((requests_max(0), requests_max(u64::MAX)), (1, REQUESTS_MAX));
    }

    /// A part of what was read whole is what is read of the file.
    #[test]
    fn a_part_of_a_whole_is_as_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("load.csv");
        let mut text = "time,op,offset,length,latency\n".to_owned();
        for number in 5..1005_u64 {
            let op = if number % 3 == 0 { "read" } else { "write" };
            text += &format!("0.{number:06},{op},{},4096,0.000001\n", number * 8192);
        }
        std::fs::write(&path, text).unwrap();
        let all = all_of(path);
        let whole = load(&all, None).unwrap();
        assert_eq!((whole.records.len(), all.whole()), (1000, all.clone()));
        for (percent, requests_max, reads_only, writes) in [
            (1, None, false, 1),
            (10, None, true, 1),
            (10, Some(7), false, 3),
            (100, Some(40), false, 1),
            (100, None, true, 1),
        ] {
            let part = Selection { percent, requests_max, reads_only, writes, ..all.clone() };
            let (copied, read) = (load(&part, Some(&whole)).unwrap(), load(&part, None).unwrap());
            assert_eq!(copied.records, read.records, "{part:?}");
            assert_eq!((copied.has_times, copied.damage), (read.has_times, read.damage));
            assert!(copied.records.len() < 1000 && copied.records[0].time_nanoseconds == 0);
        }
    }
}
