//! `raidloom record`: what a disk is asked for, written down while it works.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use block::SECTOR_BYTES;
use clap::Args;
use host::block_trace::BlockTrace;
use host::system::{
    DeviceNumber, block_bytes, block_number, devices_below, mount_of, mounts, queue_setting,
    sys_folder, whole_disk,
};
use serde_json::json;
use trace::{
    Anonymous, Contents, Event, Fold, Follower, Header, Record, RecordedOp, Writer, in_blocks,
};

use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::output::{Output, about, figure, new_file};
use crate::signals;
use crate::trace_command::clock;

/// Between two looks at what the kernel has told. Its buffers hold more than a hundred thousand
/// requests of each processor.
const LOOK: Duration = Duration::from_millis(100);

/// What a recorder that is killed loses at most, and how late a disk that is full is noticed.
const KEPT_BACK: Duration = Duration::from_secs(1);

/// What the kernel's block tracing tells.
const CONTENTS: Contents =
    Contents { times: true, completions: true, streams: true, flushes: true, discards: true };

/// `record`.
#[derive(Args, Debug)]
pub(crate) struct RecordArguments {
    /// A disk, a partition, or a folder where one is mounted
    #[arg(value_name = "DEVICE|MOUNT")]
    pub target: PathBuf,

    /// The recording, a new file on another disk (raidloom trace looks at it)
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,

    /// Hide where on the disk requests go: regions of 64 MiB, and processes, are numbered in the
    /// order in which they come up
    #[arg(long)]
    pub anonymous: bool,

    /// Consent to a recording on the disk that is recorded: what it writes is in it, too
    #[arg(long, help_heading = "Consent")]
    pub feedback: bool,
}

/// Examples of the verb.
pub(crate) const EXAMPLES: &str = "\
Examples:
  sudo raidloom record /dev/sda -o /dev/shm/load.rec --time 5min
  sudo raidloom record /home -o /mnt/usb/home.rec
  raidloom trace show /dev/shm/load.rec

It holds when, where and how long each request was, and the number of its process: no data and no
names. The kernel's block tracing tells it, to root alone; what a stack of raidloom's is asked for
any user records: `array start --record FILE`, or the layer record(file:FILE, DEVICE).
Ctrl-C, or a disk that is full, ends the recording and not the work.";

/// What is recorded.
struct Target {
    path: PathBuf,
    number: DeviceNumber,
    size_bytes: u64,
    block_bytes: u32,
    /// Where a partition begins on its disk, in bytes.
    start_bytes: u64,
}

impl Target {
    fn find(named: &Path) -> Result<Target, Failure> {
        let path =
            fs::canonicalize(named).map_err(|error| Failure::from_io(named.display(), &error))?;
        let number = match block_number(&path) {
            Some(number) => number,
            None => mounted(&path)?,
        };
        let folder = sys_folder(number)
            .ok_or_else(|| Failure::usage(catalogue::NO_KERNEL_DEVICE).at(named.display()))?;
        let size_bytes = block_bytes(number)
            .filter(|size| *size > 0)
            .ok_or_else(|| Failure::usage(catalogue::DEVICE_WITHOUT_SIZE).at(named.display()))?;
        let sectors = |file: &str| -> Option<u64> {
            fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
        };
        let block_bytes = queue_setting(whole_disk(number), "logical_block_size")
            .and_then(|text| text.parse().ok())
            .unwrap_or(SECTOR_BYTES as u32);
        // The kernel's names have a `!` where a path has a `/`.
        let name = folder.file_name().unwrap_or_default().to_string_lossy().replace('!', "/");
        Ok(Target {
            path: Path::new("/dev").join(name),
            number,
            size_bytes,
            block_bytes,
            start_bytes: sectors("start").unwrap_or(0) * SECTOR_BYTES,
        })
    }
}

/// The device that is mounted on a folder.
fn mounted(path: &Path) -> Result<DeviceNumber, Failure> {
    let mounts = mounts();
    let shown = path.display();
    let Some(mount) = mount_of(&mounts, path).filter(|mount| path.is_dir() || mount.point == path)
    else {
        return Err(Failure::usage(catalogue::NO_DISK_OR_FOLDER).at(shown));
    };
    if mount.point != path {
        let point = mount.point.display();
        return Err(Failure::usage(statement!(NOT_MOUNTED_THERE, point = point)).at(shown));
    }
    let number = sys_folder(mount.number)
        .map(|_| mount.number)
        .or_else(|| block_number(Path::new(&mount.source)));
    number.ok_or_else(|| Failure::usage(statement!(NO_OWN_DISK, kind = &mount.kind)).at(shown))
}

/// Refuses a recording on what it records.
fn refuse_feedback(target: &Target, arguments: &RecordArguments) -> Result<bool, Failure> {
    let output = std::path::absolute(&arguments.output)
        .map_err(|error| Failure::from_io(arguments.output.display(), &error))?;
    let folder = output.parent().unwrap_or(Path::new("/"));
    let folder =
        fs::canonicalize(folder).map_err(|error| Failure::from_io(folder.display(), &error))?;
    let is_same = devices_below(&mounts(), &folder).contains(&target.number);
    if is_same && !arguments.feedback {
        return Err(Failure::refused(catalogue::LIES_ON_RECORDED).at(arguments.output.display()));
    }
    Ok(is_same)
}

/// Requests on their way into the file.
struct Recording {
    follower: Follower,
    writer: Writer<File>,
    anonymous: Option<(Anonymous, Fold)>,
    start_bytes: u64,
    size_bytes: u64,
    block_bytes: u64,
    /// When the kernel's clock was at the beginning of the recording.
    begun_nanoseconds: Option<u64>,
    last_nanoseconds: u64,
    count: u64,
    bytes: u64,
    failure: Option<block::Error>,
}

impl Recording {
    fn take(&mut self, event: &Event) {
        self.follower.take(event);
        while let Some((record, _)) = self.follower.next_ended() {
            self.write(record);
        }
    }

    fn finish(&mut self, lost: u64) {
        while let Some((record, _)) = self.follower.next_left() {
            self.write(record);
        }
        if self.failure.is_none() {
            self.failure = self.writer.finish(lost).err();
        }
    }

    fn flush(&mut self) {
        if self.failure.is_none() {
            self.failure = self.writer.flush().err();
        }
    }

    fn write(&mut self, mut record: Record) {
        let begun = *self.begun_nanoseconds.get_or_insert(record.time_nanoseconds);
        // Two processors' clocks may differ by a little.
        record.time_nanoseconds =
            record.time_nanoseconds.saturating_sub(begun).max(self.last_nanoseconds);
        if record.op != RecordedOp::Flush {
            // What lies outside is another partition's.
            let Some(offset) = record.offset.checked_sub(self.start_bytes) else { return };
            (record, _) = in_blocks(Record { offset, ..record }, self.block_bytes);
            let end = record.offset.checked_add(record.length);
            if end.is_none_or(|end| end > self.size_bytes) || record.length == 0 {
                return;
            }
        }
        if let Some((anonymous, fold)) = &mut self.anonymous {
            record = fold.apply(anonymous.apply(record));
        }
        self.last_nanoseconds = record.time_nanoseconds;
        self.count += 1;
        self.bytes += record.length;
        if self.failure.is_none() {
            self.failure = self.writer.write(&record).err();
        }
    }
}

fn begin(target: &Target, arguments: &RecordArguments) -> Result<Recording, Failure> {
    let file = new_file(&arguments.output)?;
    let hidden_bytes = Anonymous::size_bytes(target.size_bytes);
    let size_bytes = if arguments.anonymous { hidden_bytes } else { target.size_bytes };
    let header = Header {
        block_bytes: target.block_bytes,
        size_bytes,
        contents: CONTENTS,
        anonymous: arguments.anonymous,
    };
    Ok(Recording {
        follower: Follower::default(),
        writer: Writer::new(file, &header),
        anonymous: arguments.anonymous.then(|| (Anonymous::default(), Fold::new(hidden_bytes))),
        start_bytes: target.start_bytes,
        size_bytes: target.size_bytes,
        block_bytes: target.block_bytes.into(),
        begun_nanoseconds: None,
        last_nanoseconds: 0,
        count: 0,
        bytes: 0,
        failure: None,
    })
}

/// Records until the time is over, it is told to end, or the file cannot be written.
pub(crate) fn record(output: &Output, arguments: &RecordArguments) -> Result<(), Failure> {
    let time = arguments.time.as_deref().map(stack::size::parse_duration).transpose();
    let time = time.map_err(|error| Failure::usage(error).at("--time"))?;
    let target = Target::find(&arguments.target)?;
    let is_feedback = refuse_feedback(&target, arguments)?;
    let end = signals::End::new()?;
    let mut tracing = BlockTrace::start(target.number)?;
    let mut recording = begin(&target, arguments)?;
    let shown = target.path.display();
    let until = match time {
        Some(time) => say!(RECORDING_FOR, time = block::duration_text(time)),
        None => say!(RECORDING_UNTIL_CTRL_C),
    };
    output.progress(&say!(RECORDING_BEGUN, device = shown, until = until));
    if is_feedback {
        output.note(&say!(RECORDING_FEEDBACK, device = shown));
    }
    recording.flush();
    let begun = Instant::now();
    let mut flushed_at = begun;
    while recording.failure.is_none() {
        let left = time.map_or(LOOK, |time| time.saturating_sub(begun.elapsed()).min(LOOK));
        let is_over = end.comes_within(left) || time.is_some_and(|time| begun.elapsed() >= time);
        tracing.read(&mut |event| recording.take(event))?;
        if is_over {
            break;
        }
        if flushed_at.elapsed() >= KEPT_BACK {
            recording.flush();
            flushed_at = Instant::now();
        }
    }
    let elapsed = begun.elapsed();
    let dropped = tracing.stop(&mut |event| recording.take(event))?;
    recording.finish(dropped);
    say(output, arguments, &target, &recording, dropped, elapsed)
}

/// When the last request was asked for that a file without an end holds whole: what the system
/// took of it tells, and not what was handed over.
fn last_kept_nanoseconds(path: &Path) -> u64 {
    let Ok(reader) = trace::open(path) else { return 0 };
    reader.map_while(Result::ok).last().map_or(0, |record| record.time_nanoseconds)
}

fn say(
    output: &Output,
    arguments: &RecordArguments,
    target: &Target,
    recording: &Recording,
    dropped: u64,
    elapsed: Duration,
) -> Result<(), Failure> {
    let path = arguments.output.display();
    if dropped > 0 {
        output.note(&say!(EVENTS_DROPPED, count = dropped));
    }
    if let Some(failure) = &recording.failure {
        let time = clock(last_kept_nanoseconds(&arguments.output));
        let ended = statement!(RECORDING_ENDED_EARLY, time = time);
        return Err(Failure::from(failure.repeat()).at(path).then(ended));
    }
    let seconds = elapsed.as_secs_f64();
    if output.json {
        return output.document(&json!({
            "file": arguments.output,
            "device": target.path,
            "requests": recording.count,
            "bytes": recording.bytes,
            "dropped_events": dropped,
            "seconds": seconds,
            "anonymous": arguments.anonymous,
        }));
    }
    output.result(&say!(
        RECORDED,
        path = path,
        count = recording.count,
        bytes = about(recording.bytes),
        time = clock(elapsed.as_nanos() as u64),
        rate = figure(recording.count as f64 / seconds.max(1e-9)),
    ))
}
