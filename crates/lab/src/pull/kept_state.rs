//! States that were kept: read again, made again bit for bit, judged again, and put into the hand.

use std::path::Path;
use std::sync::Arc;

use export::RemovalPolicy;
use guest::Processor;
use host::Error;
use host::mount::FileSystem;
use pull::{Cut, Extent, History, Judgement, Log, Policy, Role};
use serde::Serialize;
use words::{Text, statement};

use super::drives;
use super::ground::{MountHost, Site};
use super::images::write_images;
use super::loss::{SmallestLoss, smallest_loss};
use super::options::{Options, PullEvent};
use super::recording::Recording;
use super::state::{FailingState, StateOrigin, States, what};
use super::worker::Program;
use crate::catalogue;
use crate::stacks::has_container;

/// A state that was kept, with the log from which it is made.
pub struct KeptState {
    /// What makes it again.
    pub failing: FailingState,
    log: Arc<Log>,
    policy: Policy,
    options: Options,
}

/// Reads a state that was kept, and its log.
///
/// # Errors
/// A file that is none or has gone, a log that is damaged or another's.
pub fn kept(path: &Path) -> Result<KeptState, Error> {
    let wrong = |text: Text| Error::usage(text).at(path.display());
    let text = host::files::read_named(path).map_err(|error| wrong(block::io_text(&error)))?;
    let failing: FailingState = serde_json::from_slice(&text)
        .map_err(|error| wrong(Text::verbatim(&error).at(catalogue::NO_KEPT_STATE)))?;
    // What lies elsewhere has not been kept with it.
    let is_beside = Path::new(&failing.log).file_name().is_some_and(|name| name == &*failing.log);
    if !is_beside {
        return Err(wrong(statement!(catalogue::LOG_BESIDE, log = &failing.log)));
    }
    let log_path = path.parent().unwrap_or(Path::new(".")).join(&failing.log);
    // What was named is wrong, and nothing was tried yet.
    let log = Log::open(&log_path).map_err(|error| Error::from(error).with_code(2))?;
    let policy: Policy = failing.policy.parse().map_err(wrong)?;
    check(&failing, &log).map_err(wrong)?;
    let options = options_of(&failing).map_err(|error| wrong(error.into()))?;
    Ok(KeptState { failing, log: Arc::new(log), policy, options })
}

/// Why a state cannot be made from a log, where it does not belong to it or makes no sense.
fn check(failing: &FailingState, log: &Log) -> Result<(), Text> {
    let drives = log.drives().iter().filter(|drive| drive.role == Role::Drive);
    let sizes: Vec<u64> = drives.map(|drive| drive.size_bytes).collect();
    let (log_name, events) = (&failing.log, log.events().len());
    if sizes != failing.drive_bytes {
        return Err(statement!(
            catalogue::DRIVES_DIFFER,
            own = format!("{:?}", failing.drive_bytes),
            log_name = log_name,
            sizes = format!("{sizes:?}")
        ));
    }
    if failing.cut_events as usize > events {
        return Err(statement!(
            catalogue::STATE_EVENTS,
            own = failing.cut_events,
            log_name = log_name,
            events = events
        ));
    }
    if !failing.unit_bytes.is_power_of_two() || failing.unit_bytes < 512 {
        return Err(statement!(catalogue::UNIT_BYTES_EXPECTED, bytes = failing.unit_bytes));
    }
    let lost = failing.lost_member;
    lost.check(sizes.len()).map_err(|why| why.at(format!("lost_member {lost}")))
}

/// What is done with a state that is made again, beside judging it.
#[derive(Clone, Copy, Debug)]
pub struct ReplayOptions<'a> {
    /// Where its drives are written to, as they were after the cut.
    pub images: Option<&'a Path>,
    /// Whether the smallest loss is looked for.
    pub smallest_loss: bool,
}

/// Makes a state again that was kept, and judges it. The answer says whether it is the same, bit
/// for bit, and what was found.
///
/// # Errors
/// What keeps it from being judged, or its drives from being written.
pub fn replay(
    kept: &KeptState,
    ground: &MountHost,
    program: &Program,
    with: ReplayOptions<'_>,
) -> Result<ReplayedState, Error> {
    let KeptState { failing, log, policy, options } = kept;
    let policy = *policy;
    let recording = Recording::of(Arc::clone(log), (0, 0))?;
    let cut = Cut { events: failing.cut_events, time_nanoseconds: failing.cut_nanoseconds };
    let unit = failing.unit_bytes;
    let made = StateOrigin { cut, policy, seed: failing.seed, unit };
    let mut history = History::new(Arc::clone(&recording.log), options.fault(), Some(unit));
    let stop = Arc::default();
    let site = Site { ground, stop: &stop, processor: Processor::Same };
    let mut states = States::new(options, site, program, &recording, 0);
    states.run = failing.run;
    let judgement = states.judge(&mut history, made)?;
    // What looked at it has changed it.
    let crash = history.crash(made.cut, made.policy, made.seed)?;
    let mut images = None;
    if let Some(folder) = with.images {
        let drives = crash.drives();
        let gone = states.gone(made.seed);
        let left = drives.iter().map(|drive| &**drive).enumerate();
        let left: Vec<_> = left.filter(|(number, _)| !gone.contains(number)).collect();
        let passphrase = has_container(&options.stack).then_some(drives::PASSPHRASE);
        write_images(&left, passphrase, folder)?;
        images = Some(drives::on_images(&options.stack, folder, &gone).to_string());
    }
    let smallest_loss = match with.smallest_loss {
        true => smallest_loss(&mut states, &history, made, &judgement)?,
        false => None,
    };
    states.end_worker();
    Ok(ReplayedState {
        images,
        smallest_loss,
        is_own_check: options.own_program().is_some(),
        file_system: failing.file_system.clone(),
        is_same_state: crash.checksum() == failing.checksum,
        is_same_judgement: what(&judgement) == what(&failing.judgement),
        judgement,
    })
}

/// A state that was made again.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayedState {
    /// Bit for bit.
    pub is_same_state: bool,
    /// And it showed the same.
    pub is_same_judgement: bool,
    /// What it showed.
    pub judgement: Judgement,
    /// Whether a check of the user's own judged it.
    pub is_own_check: bool,
    /// The stack over the images of its drives, where they were written.
    pub images: Option<String>,
    /// The file system on it.
    pub file_system: String,
    /// What of its loss alone breaks the same; nothing where nothing is broken, or it was not
    /// looked for.
    pub smallest_loss: Option<SmallestLoss>,
}

/// What a state that was kept needs to be started and judged again.
fn options_of(failing: &FailingState) -> Result<Options, Error> {
    Ok(Options {
        stack: crate::stacks::parse(&failing.stack)?,
        drive_bytes: failing.drive_bytes.clone(),
        drive_models: failing.drive_models.clone(),
        guest_memory_bytes: failing.guest_memory_bytes,
        guest_kernel: failing.guest_kernel.clone(),
        md: failing.md.clone(),
        starter: failing.starter,
        state: failing.state,
        unflushed: failing.unflushed,
        new_array: None,
        upkeep: true,
        file_system: FileSystem::named(&failing.file_system)?,
        make_options: None,
        mount_options: failing.mount_options.clone(),
        removal: RemovalPolicy::default(),
        work: failing.work.clone(),
        extent: Extent { steps: 0, spread_milliseconds: 0 },
        pulls: 0,
        hunt: 0,
        recordings: 0,
        behaviour: failing.behaviour,
        happening: PullEvent::Power,
        cache_bytes: 0,
        cache_milliseconds: 0,
        tear_bytes: 512,
        lost_member: failing.lost_member,
        seed: 0,
        keep_failing: None,
        log_writes: None,
        import: None,
    })
}
