//! A work on a file system, and what the drives were asked for meanwhile.

use super::catalogue;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::Error;
use pull::{Drive, Log, Mark, Media, NoVerdict, Recorder, Role, Statement, Stream, promises};
use reactor::derive_seed;
use words::{Text, say, statement};

use super::ground::{Site, Stage};
use super::guests::Guests;
use super::options::{Behaviour, ImportSource, Options, RecordedDrives, WorkSource};
use super::program::{CheckResult, OwnProgram};
use super::worker::{Entry, Program, Task, Worker};

/// A recording of a work on a file system.
pub(super) struct Recording {
    pub(super) log: Arc<Log>,
    /// Of the work, by the numbers of events.
    pub(super) between: (u32, u32),
    /// Event, time and mark of a built-in work.
    pub(super) marks: Vec<(u32, u64, Mark)>,
    /// The same of what a program of the user's own has said.
    pub(super) statements: Vec<(u32, u64, Statement)>,
}

/// Serves the stack over fresh drives, makes the file system, works on it, and records all of it.
pub(super) fn record(
    options: &Options,
    site: Site<'_>,
    program: &Program,
    number: u64,
) -> Result<Recording, Error> {
    let recorder = Recorder::in_memory(site.ground.clock());
    let reactor = site.ground.reactor();
    let RecordedDrives { drives, models, modelled, falls_out } = options.drives(&recorder)?;
    let opened = match options.md {
        Some(_) => None,
        None => Some(options.open(&options.stack, drives.clone(), true, reactor.as_ref())?),
    };
    if let Some(opened) =
        opened.as_ref().filter(|_| options.state != guest::ArrayCompleteness::Whole)
    {
        let rebuild = options.state == guest::ArrayCompleteness::Rebuilding;
        opened.degrade(rebuild, options.seed)?;
    }
    let stripe = opened.as_ref().and_then(|opened| opened.device.info().stripe);
    let disks = opened.as_ref().map_or(drives, |opened| vec![Arc::clone(&opened.device)]);
    let seed = derive_seed(options.seed, "guest", number);
    let mut stage = site.stage(options, &disks, program, seed)?;
    let run = derive_seed(options.seed, "run", number);
    let (worker, point) = (&mut stage.worker, &stage.point);
    let stripe = stripe.map(|stripe| (stripe.chunk_bytes, stripe.width_chunks));
    make_and_mount(options, worker, (&stage.device, point), stripe)?;
    // Guests say when it was, on the clock of their disks.
    let at = |text: &[u8], time: Option<u64>| match time {
        Some(time) => recorder.mark_at(text, time),
        None => recorder.mark(text),
    };
    let mut said = Vec::new();
    let mut mark = |entry: &Entry, time: Option<u64>| {
        let text = serde_json::to_vec(entry).expect("a mark is plain data");
        let event = at(&text, time);
        if let Entry::Statement(statement) = entry {
            said.push((event, 0, statement.clone()));
        }
        event
    };
    let seed = derive_seed(options.seed, "work", number);
    let [prepare, work] = tasks(options, point, (run, seed));
    let prepared = worker.carry_out_marking(&prepare, &mut mark)?;
    let begin = at(BEGIN, prepared);
    // What it holds of the work is nothing: whoever takes it for the newest loses all of it.
    if let Some(drive) = falls_out {
        drive.vanish();
    }
    let worked = worker.carry_out_marking(&work, &mut mark)?;
    let end = at(END, worked);
    if let WorkSource::Program(own) = &options.work {
        try_check(worker, point, own, &said)?;
    }
    worker.carry_out(&Task::Unmount { point: point.clone() })?;
    let Stage { worker, _held: held, .. } = stage;
    worker.end();
    drop((held, disks, opened));
    if options.behaviour == Behaviour::Model {
        for (number, media) in RecordedDrives::media(&models, &modelled) {
            recorder.mark(media.mark(number).as_bytes());
        }
    }
    let log = Arc::new(recorder.finish()?);
    Recording::of(log, (begin + 1, end))
}

/// What the worker does before the recording counts, and what it does while it counts.
fn tasks(options: &Options, point: &Path, (run, seed): (u64, u64)) -> [Task; 2] {
    let point = || point.to_owned();
    match &options.work {
        WorkSource::BuiltIn(work) => {
            let (work, extent) = (*work, options.extent);
            let works = Task::Work { point: point(), work, run, seed, extent };
            [Task::Prepare { point: point(), work, run }, works]
        }
        WorkSource::Program(own) => [
            Task::SetUp { point: point(), own: own.clone() },
            Task::WorkOwn { point: point(), own: own.clone() },
        ],
    }
}

/// Whether the check of the user's has nothing to say of a file system that has lost nothing: else
/// its verdicts on others would say nothing.
fn try_check(
    worker: &mut Worker,
    point: &Path,
    own: &OwnProgram,
    said: &[(u32, u64, Statement)],
) -> Result<(), Error> {
    let (check, at_top) = (own.check.clone(), own.at_top);
    let promised = promises(said, u32::MAX);
    let task = Task::Check { point: point.to_owned(), check, at_top, promised };
    let text = match worker.try_check(&task)? {
        CheckResult::Verdict(wrong) => match &wrong[..] {
            [] => return Ok(()),
            [first, rest @ ..] => {
                let more = match rest.len() {
                    0 => String::new(),
                    count => say!(catalogue::AND_MORE_LINES, count = count),
                };
                let key = first.key.as_ref().map_or(String::new(), |key| format!(" {key}"));
                let said = format!("{}{key}", first.verdict);
                statement!(catalogue::CHECK_SAYS, said = said, more = more)
            }
        },
        CheckResult::Unjudged(NoVerdict::Hangs) => catalogue::CHECK_LATE.into(),
        CheckResult::Unjudged(why) => why.into(),
    };
    Err(Error::failed(statement!(catalogue::CHECK_FAILS_BEFORE, text = text)))
}

/// Makes the file system on a disk and mounts it.
fn make_and_mount(
    options: &Options,
    worker: &mut Worker,
    (device, point): (&Path, &Path),
    stripe: Option<(u32, u32)>,
) -> Result<(), Error> {
    for command in Guests::commands(options)? {
        worker.carry_out(&Task::Run { command })?;
    }
    let file_system = options.file_system.name.to_owned();
    worker.carry_out(&Task::Make {
        device: device.to_owned(),
        file_system: file_system.clone(),
        options: options.make_options.clone(),
        stripe,
    })?;
    worker.carry_out(&Task::Mount {
        device: device.to_owned(),
        point: point.to_owned(),
        file_system,
        options: options.mount_options.clone(),
    })?;
    Ok(())
}

/// Reads a log of dm-log-writes in the place of a recording. States are made from its first mark
/// on, or of a log that we have written from where its work begins: before that nothing says that
/// there is a file system.
pub(super) fn import(options: &Options, source: &ImportSource) -> Result<Recording, Error> {
    let named = |path: &Path| {
        File::open(path).map_err(|error| Error::from_io(path.display(), &error).with_code(2))
    };
    let drive = Drive {
        role: Role::Drive,
        size_bytes: options.drive_bytes[0],
        block_bytes: block::SECTOR_BYTES as u32,
        volatile_cache: options.advertised().volatile_cache,
    };
    let mut base = source.base.as_deref().map(named).transpose()?.map(BufReader::new);
    let base = base.as_mut().map(|base| base as &mut dyn Read);
    let log = pull::read_log_writes(named(&source.log)?, &drive, base, &mut own_mark);
    let log =
        Arc::new(log.map_err(|error| Error::from(error.at(source.log.display())).with_code(2))?);
    let marks = log.marks()?;
    let ours = |text: &[u8]| marks.iter().find(|(.., mark)| mark == text).map(|(event, ..)| *event);
    let Some(begin) = ours(BEGIN).or_else(|| marks.first().map(|(event, ..)| *event)) else {
        return Err(Error::usage(catalogue::LOG_WITHOUT_MARK).at(source.log.display()));
    };
    let end = ours(END).unwrap_or(log.events().len() as u32);
    Recording::of(log, (begin + 1, end))
}

const BEGIN: &[u8] = b"begin";
const END: &[u8] = b"end";

/// A mark of a log of dm-log-writes as ours: one that is not ours is a line of a program's marks.
fn own_mark(text: &[u8]) -> Vec<u8> {
    let is_ours = text == BEGIN || text == END || serde_json::from_slice::<Entry>(text).is_ok();
    if is_ours {
        return text.to_vec();
    }
    let line = String::from_utf8_lossy(text).into_owned();
    let said = Entry::Statement(Statement { stream: Stream::Marks, line });
    serde_json::to_vec(&said).expect("a mark is plain data")
}

/// A mark of ours for a log of dm-log-writes: lines of a program's marks stand there as they are,
/// for `replay-log --end-mark LINE`, as far as they are read again as the same.
fn plain_mark(text: &[u8]) -> Vec<u8> {
    match serde_json::from_slice(text) {
        Ok(Entry::Statement(Statement { stream: Stream::Marks, line }))
            if own_mark(line.as_bytes()) == text && !line.contains('\0') =>
        {
            line.into_bytes()
        }
        _ => text.to_vec(),
    }
}

impl Recording {
    /// A log with what stands in it between the requests.
    pub(super) fn of(log: Arc<Log>, between: (u32, u32)) -> Result<Recording, Error> {
        let (mut marks, mut statements) = (Vec::new(), Vec::new());
        let is_ours = |text: &[u8]| text != BEGIN && text != END && !Media::is_mark(text);
        for (event, time, text) in log.marks()?.into_iter().filter(|(.., text)| is_ours(text)) {
            let entry = serde_json::from_slice(&text).map_err(|error| {
                Error::failed(Text::verbatim(&error)).at(catalogue::MARK_OF_LOG).because(error)
            })?;
            match entry {
                Entry::Mark(mark) => marks.push((event, time, mark)),
                Entry::Statement(said) => statements.push((event, time, said)),
            }
        }
        Ok(Recording { log, between, marks, statements })
    }

    /// How much of what the work has said stands before an event.
    pub(super) fn said_before(&self, event: u32) -> usize {
        self.marks.partition_point(|(said, ..)| *said < event)
            + self.statements.partition_point(|(said, ..)| *said < event)
    }
}

pub(super) fn write_log_writes(log: &Log, path: &std::path::Path) -> Result<(), Error> {
    for number in 0..log.drives().len() as u16 {
        let path = match number {
            0 => path.to_owned(),
            number => PathBuf::from(format!("{}.{number}", path.display())),
        };
        let mut bytes = Vec::new();
        pull::write_log_writes(log, number, &mut plain_mark, &mut bytes)?;
        host::files::write_named(&path, &bytes, &[])?;
    }
    Ok(())
}
