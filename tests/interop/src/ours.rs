//! raidloom's way from a set of members to a device: read without their metadata, or kept running
//! with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use array::md::{AssembleOptions, Assembly, Consistency, Startability, assemble};
use array::metadata::{RunningArray, StartOptions, start};
use array::sync::{Ending, Limits, Notice, Outcome, SyncAction, SyncScheduler};
use block::{Blocking, Device, Node, Reactor, SECTOR_BYTES};
use host::guard::{Consent, Guard};
use mdtools::Create;
use stack::BuildContext;

use crate::Shape;

/// Assembles the members, with those of the roles in `absent` left out.
///
/// # Errors
/// One line: a file that cannot be read, a member without a superblock, or members that make no
/// array.
pub fn assembled(
    members: &[PathBuf],
    absent: &[usize],
) -> Result<(Assembly, Vec<PathBuf>), String> {
    // What it opened for reading must not be in the way of writing later: it is gone at the end.
    let guard = Guard::new(Consent::default());
    let present: Vec<PathBuf> = members
        .iter()
        .enumerate()
        .filter(|(role, _)| !absent.contains(role))
        .map(|(_, path)| path.clone())
        .collect();
    let mut candidates = Vec::new();
    for path in &present {
        let examined =
            mdtools::examine(&guard, &path.clone().into()).map_err(|error| error.to_string())?;
        candidates.push(
            examined.candidate().ok_or_else(|| format!("{}: no superblock", path.display()))?,
        );
    }
    Ok((assemble(&candidates, AssembleOptions::default()).map_err(|why| why.to_string())?, present))
}

/// The tree of the stack that an assembly stands for without its metadata; a place without a member
/// is `missing`.
///
/// # Panics
/// For a level that raidloom does not serve.
#[must_use]
pub fn tree(assembly: &Assembly, paths: &[PathBuf]) -> Node {
    let mut node = mdtools::slices(assembly, paths)
        .unwrap_or_else(|| panic!("{} is not served", assembly.level));
    if let Node::Layer { children, .. } = &mut node {
        for child in children {
            // The images are written and read through the page cache too.
            *child = std::mem::replace(child, Node::Missing).with("direct", "no");
        }
    }
    node
}

/// What raidloom makes of a set of members.
pub enum OpenOutcome {
    /// It may not start; why.
    Refused(String),
    /// The device, its size in bytes, and its tree for messages.
    Ready(Blocking, u64, String),
}

/// Opens the array that the members make, with those of the roles in `absent` left out.
///
/// # Errors
/// One line when nothing can be made of them, or what is made has another size than the superblocks
/// say.
pub fn open(members: &[PathBuf], absent: &[usize], read_only: bool) -> Result<OpenOutcome, String> {
    let guard = Guard::new(Consent { erase_signature: true, ..Consent::default() });
    let (assembly, present) = assembled(members, absent)?;
    if assembly.start != Startability::Ready {
        return Ok(OpenOutcome::Refused(assembly.start.to_string()));
    }
    if !assembly.clean || !assembly.left_out.is_empty() || assembly.degraded_count() != absent.len()
    {
        return Err(format!(
            "clean {}, left out {:?}, places {}",
            assembly.clean,
            assembly.left_out,
            assembly.slots_text()
        ));
    }
    // Printed and read again: people reach such an array by its text.
    let text = tree(&assembly, &present).to_string();
    let context = BuildContext { read_only, ..BuildContext::new(&guard) };
    let stack =
        stack::parse_and_build(&text, &context).map_err(|error| format!("{text}: {error}"))?;
    let size = stack.device.info().size_bytes;
    if Some(size) != assembly.array_sectors.map(|sectors| sectors * SECTOR_BYTES) {
        return Err(format!(
            "{text}: has {size} bytes, and by the superblocks {:?} sectors",
            assembly.array_sectors
        ));
    }
    let reactor = Reactor::wall().map_err(|error| format!("no reactor: {error}"))?;
    let channel =
        Blocking::open(&*stack.device, &reactor).map_err(|error| format!("{text}: {error}"))?;
    Ok(OpenOutcome::Ready(channel, size, text))
}

/// Makes an array of files that are full of zeroes, which agree with each other at every level.
///
/// # Errors
/// One line.
pub fn create(members: &[PathBuf], shape: &Shape, consistency: Consistency) -> Result<(), String> {
    let guard = Guard::new(Consent::default());
    for (path, size) in members.iter().zip(shape.member_sizes()) {
        guard
            .make_file(path, size, |_| Ok::<(), block::Error>(()))
            .map_err(|error| error.to_string())?;
    }
    let wanted = Create {
        chunk_bytes: shape.chunk_kib << 10,
        consistency,
        assume_clean: true,
        ..Create::new("array", shape.md_level(), shape.md_layout(), members)
    };
    mdtools::create(&guard, &wanted, &std::sync::atomic::AtomicBool::new(false))
        .map(|_| ())
        .map_err(|error| error.to_string())
}

/// An array that is kept running with its metadata, over whole members that are files.
pub struct KeptArray {
    /// The array.
    pub array: RunningArray,
    /// What it runs on.
    pub reactor: Reactor,
    guard: Guard,
}

/// As fast as it goes, in portions that small arrays have several of.
pub const LIMITS: Limits = Limits {
    least_bytes_per_second: 1 << 40,
    most_bytes_per_second: 1 << 40,
    range_bytes: 96 << 10,
    ranges_in_flight: 4,
    burst_bytes: 0,
};
/// How long an array may take for its upkeep, or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

impl KeptArray {
    /// Starts the array with those of the roles in `absent` left out.
    ///
    /// # Errors
    /// One line.
    pub fn start(members: &[PathBuf], absent: &[usize]) -> Result<KeptArray, String> {
        let (assembly, present) = assembled(members, absent)?;
        let guard = Guard::new(Consent { erase_signature: true, ..Consent::default() });
        let reactor = Reactor::wall().map_err(|error| error.to_string())?;
        let devices = present
            .iter()
            .map(|path| file(&guard, path).map(Some))
            .collect::<Result<Vec<_>, String>>()?;
        let array = start(&assembly, &devices, &StartOptions::default(), &reactor)
            .map_err(|error| error.to_string())?;
        Ok(KeptArray { array, reactor, guard })
    }

    /// All that it holds.
    ///
    /// # Errors
    /// One line.
    pub fn read_all(&self) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; self.array.info().size_bytes as usize];
        let mut channel =
            Blocking::open(&self.array, &self.reactor).map_err(|error| error.to_string())?;
        channel.read_slice(0, &mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Writes and flushes.
    ///
    /// # Errors
    /// One line.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), String> {
        let mut channel =
            Blocking::open(&self.array, &self.reactor).map_err(|error| error.to_string())?;
        channel
            .write_slice(offset, bytes)
            .and_then(|()| channel.flush())
            .map_err(|error| error.to_string())
    }

    /// Fills an empty slot. How much of the device has to be recovered, in bytes.
    ///
    /// # Errors
    /// One line.
    pub fn admit(&self, role: usize, path: &Path) -> Result<u64, String> {
        let device = file(&self.guard, path)?;
        let missed = self.array.add_to_slot(role, &device, [role as u8 + 0x70; 16], &self.reactor);
        missed.map(|missed| missed.bytes()).map_err(|error| error.to_string())
    }

    /// Does what is due and then compares copies and parity: what was done.
    ///
    /// # Errors
    /// One line when a job did not end well, or what was compared differs.
    pub fn scrub(&self) -> Result<Vec<Outcome>, String> {
        let mut scheduler = SyncScheduler::open(self.array.control(), &self.reactor)
            .map_err(|error| error.to_string())?;
        let mut writer =
            self.array.metadata_writer(&self.reactor).map_err(|error| error.to_string())?;
        scheduler.set_limits(LIMITS);
        scheduler.ask(SyncAction::Check(None)).map_err(|error| error.to_string())?;
        let deadline = self.reactor.now() + PATIENCE;
        let mut outcomes = Vec::new();
        while !scheduler.is_idle() {
            match scheduler.poll() {
                Some(Notice::Ended(outcome)) => outcomes.push(outcome),
                Some(_) => continue,
                None => (),
            }
            if let Some(writer) = &mut writer {
                writer.poll();
            }
            if scheduler.progress().is_some() {
                self.reactor.wait(Some(deadline)).map_err(|error| error.to_string())?;
            }
            if self.reactor.now() >= deadline {
                return Err(format!("not done within {PATIENCE:?}: {:?}", scheduler.progress()));
            }
        }
        let is_good = |outcome: &&Outcome| {
            matches!(outcome.ending, Ending::Done)
                && outcome.progress.findings.differing_sectors == 0
        };
        match outcomes.iter().find(|outcome| !is_good(outcome)) {
            Some(bad) => Err(format!("{bad:?}")),
            None if outcomes.is_empty() => Err("nothing was checked".to_owned()),
            None => Ok(outcomes),
        }
    }

    /// Ends it in order.
    ///
    /// # Errors
    /// One line.
    pub fn stop(self) -> Result<(), String> {
        self.array.stop(&self.reactor).map_err(|error| error.to_string())
    }
}

/// A whole member as a device that may be written.
fn file(guard: &Guard, path: &Path) -> Result<Arc<dyn Device>, String> {
    let context = BuildContext::new(guard);
    let text = format!("file:{}?block={SECTOR_BYTES}&direct=no", path.display());
    Ok(stack::parse_and_build(&text, &context).map_err(|error| format!("{text}: {error}"))?.device)
}
