//! Where file systems are mounted: by this machine's kernel, or by that of a guest.

#![expect(
    clippy::disallowed_methods,
    reason = "one clock for requests on all threads and for marks, in the order of one log"
)]

use super::catalogue;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use block::{Device, Reactor};
use export::fuse::{FuseFile, FuseOptions};
use export::loop_device::LoopDevice;
use guest::{Processor, USUAL_KERNEL};
use host::Error;

use super::guests::Guests;
use super::options::Options;
use super::place::PullFolder;
use super::worker::{Program, Worker};

/// Where file systems are mounted.
pub enum MountHost {
    /// By this machine's kernel.
    Host(PullFolder),
    /// By that of a guest.
    Guest(Guests),
}

impl MountHost {
    /// Guests with so much memory and a kernel of this name, the usual one without it, or this
    /// machine, in the namespace that was entered.
    ///
    /// # Errors
    /// What is missing for it.
    pub fn new(guest_memory_bytes: Option<u64>, kernel: Option<&str>) -> Result<MountHost, Error> {
        Ok(match guest_memory_bytes {
            Some(bytes) => MountHost::Guest(Guests::new(bytes, kernel.unwrap_or(USUAL_KERNEL))?),
            None => MountHost::Host(PullFolder::new()?),
        })
    }

    /// The clock of a recording; that of a guest's disks is their reactor's.
    pub(super) fn clock(&self) -> Option<fn() -> u64> {
        match self {
            MountHost::Host(_) => Some(clock),
            MountHost::Guest(_) => None,
        }
    }

    /// What a stack is opened on; on the wall's clock without it.
    pub(super) fn reactor(&self) -> Option<Reactor> {
        match self {
            MountHost::Host(_) => None,
            MountHost::Guest(_) => Some(Reactor::virtual_clock()),
        }
    }
}

/// Where a test is made: on which ground, until when, and where its guests run.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) ground: &'a MountHost,
    /// Nothing is begun or waited for once it is set.
    pub(super) stop: &'a Arc<AtomicBool>,
    /// The processor of its guests.
    pub(super) processor: Processor,
}

impl Site<'_> {
    /// Serves disks, and starts a worker that finds them.
    pub(super) fn stage(
        &self,
        options: &Options,
        disks: &[Arc<dyn Device>],
        program: &Program,
        seed: u64,
    ) -> Result<Stage, Error> {
        match self.ground {
            MountHost::Host(place) => {
                let [device] = disks else { return Err(md_on_host()) };
                let fuse =
                    FuseOptions { workers: 1, policy: options.removal, ..FuseOptions::default() };
                let block_bytes = device.info().block_bytes;
                let device = Arc::clone(device);
                let file = FuseFile::mount(device, &place.disk(), &fuse)?;
                let device = LoopDevice::attach(file.path(), block_bytes, false)?;
                // With its last user it goes by itself, and that is this process or the mount.
                let held = std::fs::File::open(device.path())
                    .map_err(|error| Error::from_io(device.path().display(), &error))?;
                Ok(Stage {
                    worker: program.start(self.stop)?,
                    device: device.path().to_owned(),
                    point: place.point(),
                    _held: Some((held, file)),
                })
            }
            MountHost::Guest(guests) => {
                let write_cache = !options.removal.writes_durably();
                let program = (program, options.own_program());
                let disks = disks.iter().cloned();
                let processor = (self.processor, seed);
                Ok(Stage {
                    worker: guests.start(program, disks, write_cache, processor, self.stop)?,
                    device: Guests::device(options),
                    point: Guests::point(),
                    _held: None,
                })
            }
        }
    }
}

/// Why the md of this machine is left alone.
pub(super) fn md_on_host() -> Error {
    Error::usage(catalogue::MD_OF_GUEST)
}

/// A disk, and a worker that can make and mount a file system on it.
pub(super) struct Stage {
    pub(super) worker: Worker,
    pub(super) device: PathBuf,
    pub(super) point: PathBuf,
    /// What the disk stands on, in the order in which it goes.
    pub(super) _held: Option<(std::fs::File, FuseFile)>,
}

/// Nanoseconds on a clock that all threads share.
pub(super) fn clock() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    u64::try_from(BEGUN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}
