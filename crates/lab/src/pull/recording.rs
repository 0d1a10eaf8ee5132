//! A work on a file system, and what the drives were asked for meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host::Error;
use pull::{Log, Mark, Media, Recorder};
use reactor::derive_seed;

use super::ground::{Ground, Stage};
use super::guests::Guests;
use super::options::{Behaviour, Options, RecordedDrives};
use super::worker::{Program, Task, Worker};

/// A recording of a work on a file system.
pub(super) struct Recording {
    pub(super) log: Arc<Log>,
    /// Of the work, by the numbers of events.
    pub(super) between: (u32, u32),
    /// Event, time and mark.
    pub(super) marks: Vec<(u32, u64, Mark)>,
}

/// Serves the stack over fresh drives, makes the file system, works on it, and records all of it.
pub(super) fn record(
    options: &Options,
    (ground, stop): (&Ground, &Arc<AtomicBool>),
    program: &Program,
    number: u64,
) -> Result<Recording, Error> {
    let recorder = Recorder::in_memory(ground.clock());
    let reactor = ground.reactor();
    let RecordedDrives { drives, models, modelled } = options.drives(&recorder)?;
    let opened = match options.md {
        Some(_) => None,
        None => Some(options.open(&options.stack, drives.clone(), true, reactor.as_ref())?),
    };
    if let Some(opened) = opened.as_ref().filter(|_| options.state != guest::State::Whole) {
        let rebuild = options.state == guest::State::Rebuilding;
        opened.degrade(rebuild, options.seed)?;
    }
    let stripe = opened.as_ref().and_then(|opened| opened.device.info().stripe);
    let disks = opened.as_ref().map_or(drives, |opened| vec![Arc::clone(&opened.device)]);
    let seed = derive_seed(options.seed, "guest", number);
    let mut stage = ground.stage(options, &disks, program, seed, stop)?;
    let run = derive_seed(options.seed, "run", number);
    let (worker, point) = (&mut stage.worker, &stage.point);
    let stripe = stripe.map(|stripe| (stripe.chunk_bytes, stripe.width_chunks));
    make_and_mount(options, worker, (&stage.device, point), stripe)?;
    // Guests say when it was, on the clock of their disks.
    let at = |text: &[u8], time: Option<u64>| match time {
        Some(time) => recorder.mark_at(text, time),
        None => recorder.mark(text),
    };
    let mut mark = |mark: &Mark, time: Option<u64>| {
        let text = serde_json::to_vec(mark).expect("a mark is plain data");
        at(&text, time)
    };
    let prepared = worker.carry_out_marking(
        &Task::Prepare { point: point.clone(), work: options.work, run },
        &mut mark,
    )?;
    let begin = at(BEGIN, prepared);
    let seed = derive_seed(options.seed, "work", number);
    let (work, extent) = (options.work, options.extent);
    let worked = worker.carry_out_marking(
        &Task::Work { point: point.clone(), work, run, seed, extent },
        &mut mark,
    )?;
    let end = at(END, worked);
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
    Ok(Recording { marks: marks(&log)?, log, between: (begin + 1, end) })
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

const BEGIN: &[u8] = b"begin";
const END: &[u8] = b"end";

/// The marks of the work in a log.
pub(super) fn marks(log: &Log) -> Result<Vec<(u32, u64, Mark)>, Error> {
    let all = log.marks()?.into_iter();
    let is_ours = |text: &[u8]| text != BEGIN && text != END && !Media::is_mark(text);
    let ours = all.filter(|(.., text)| is_ours(text));
    ours.map(|(event, time, text)| {
        let mark = serde_json::from_slice(&text).map_err(|error| {
            Error::failed(format!("a mark of the pull log: {error}")).because(error)
        })?;
        Ok((event, time, mark))
    })
    .collect()
}

pub(super) fn write_log_writes(log: &Log, path: &std::path::Path) -> Result<(), Error> {
    for number in 0..log.drives().len() as u16 {
        let path = match number {
            0 => path.to_owned(),
            number => PathBuf::from(format!("{}.{number}", path.display())),
        };
        let mut bytes = Vec::new();
        pull::write_log_writes(log, number, &mut bytes)?;
        host::files::write_named(&path, &bytes)?;
    }
    Ok(())
}
