//! Workers in guests: a Linux whose disks are the stacks, and which alone mounts them. It takes no
//! right on this machine, and what a damaged file system does to a kernel it does to that one.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use block::Device;
use guest::{Boot, Drive, Kernel, Outcome, Processor, Setup, TimeBounds, USUAL_KERNEL};
use host::Error;
use words::{Text, statement};

use super::catalogue;
use super::options::Options;
use super::program::OwnProgram;
use super::talk::TalkDevice;
use super::worker::{Life, Program, TASK_TIME, Worker};

/// Where file systems are mounted in a guest.
const POINT: &str = "/mnt/disk";

/// Guests for a pull test.
pub struct Guests {
    kernel: Kernel,
    memory_bytes: u64,
}

impl Guests {
    /// Guests with so much memory, the page cache included, and the kernel of this name.
    ///
    /// # Errors
    /// That their kernel has not been built, or is damaged, or needs more memory.
    pub fn new(memory_bytes: u64, kernel: &str) -> Result<Guests, Error> {
        guest::check_memory(memory_bytes)?;
        Ok(Guests { kernel: Kernel::find(kernel)?, memory_bytes })
    }

    /// Whether the usual kernel of guests was built.
    #[must_use]
    pub fn are_there() -> bool {
        Kernel::find(USUAL_KERNEL).is_ok()
    }

    /// The version of their kernel: `6.1.192`.
    #[must_use]
    pub fn version(&self) -> &str {
        self.kernel.version()
    }

    /// What their kernel is called.
    #[must_use]
    pub fn kernel_name(&self) -> &str {
        self.kernel.name()
    }

    /// The memory of each, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The device that is worked on and mounted.
    pub(super) fn device(options: &Options) -> PathBuf {
        setup(options).device().into()
    }

    /// The commands that set a guest's disks up, and make the array of its own md, where there is
    /// one; none on this machine, whose disks are what they are.
    pub(super) fn commands(options: &Options) -> Result<Vec<String>, Error> {
        Ok(setup(options).commands()?)
    }

    /// The device that is mounted after a crash.
    pub(super) fn device_after(options: &Options) -> PathBuf {
        let md = options.is_started_by_md().then(String::new);
        Setup { md, ..Setup::default() }.device().into()
    }

    pub(super) fn point() -> PathBuf {
        POINT.into()
    }

    /// Boots one with these disks, and starts the worker in it, on this processor. `seed` is where
    /// its chance comes from.
    pub(super) fn start(
        &self,
        (program, own): (&Program, Option<&OwnProgram>),
        disks: impl Iterator<Item = Arc<dyn Device>>,
        write_cache: bool,
        (processor, seed): (Processor, u64),
        stop: &Arc<AtomicBool>,
    ) -> Result<Worker, Error> {
        let (to_guest, tasks) = mpsc::channel();
        let (to_host, said) = mpsc::channel();
        let mut words = vec![escape::shell(guest::setup::program(&program.path)?)];
        words.extend(program.arguments.iter().map(|word| escape::shell(word)));
        let mut disks: Vec<Drive> = disks.map(|device| Drive { device, write_cache }).collect();
        let talk = guest::setup::disk_name(disks.len());
        let mut job = format!("exec {} /dev/{talk}", words.join(" "));
        if let Some(own) = own {
            // The worker goes before every other program, so that what one has said is in the log
            // before it goes on. A guest that root has started reads what its job names by a path.
            let texts = own.setup.iter().chain([&own.work_command, &own.check]);
            let texts: Vec<String> = texts.map(|text| escape::shell(text)).collect();
            let first = job.trim_start_matches("exec ");
            job = format!(": {}\nexec chrt --reset-on-fork --fifo 1 {first}", texts.join(" "));
        }
        let talk = Arc::new(TalkDevice::new(to_host, tasks));
        disks.push(Drive { device: talk, write_cache: false });
        let (kernel, memory_bytes) = (self.kernel.clone(), self.memory_bytes);
        let given_up = Arc::new(AtomicBool::new(false));
        let gives_up = Arc::clone(&given_up);
        // Whoever waits for its answers gives it up in time, and names that bound.
        let silence = TimeBounds::USUAL.silence.max(2 * program.state_time.max(TASK_TIME));
        let bounds = TimeBounds { silence, ..TimeBounds::USUAL };
        let thread = std::thread::spawn(move || {
            let boot = Boot {
                kernel: &kernel,
                memory_bytes,
                seed,
                disks,
                queue_depth: None,
                job: &job,
                parameters: "",
                processor,
                bounds,
                cut: None,
                before: None,
            };
            boot.run(&|| !gives_up.load(Ordering::Relaxed))
        });
        let life = LivingWorker { to_guest: Some(to_guest), thread: Some(thread), given_up };
        Ok(Worker::new(Box::new(life), said, program.state_time, stop))
    }
}

fn setup(options: &Options) -> Setup {
    let disks = if options.md.is_some() { options.drive_bytes.len() } else { 1 };
    let (md, state, unflushed) = (options.md.clone(), options.state, options.unflushed);
    Setup { disks, md, state, unflushed, ..Setup::default() }
}

/// A worker in a guest. Dropping it gives the guest up.
struct LivingWorker {
    to_guest: Option<Sender<String>>,
    thread: Option<JoinHandle<Result<Outcome, block::Error>>>,
    given_up: Arc<AtomicBool>,
}

impl LivingWorker {
    /// Waits for the guest, which has heard that it is to end or has ended by itself.
    fn join(&mut self) -> Option<Result<Outcome, block::Error>> {
        let thread = self.thread.take()?;
        Some(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Life for LivingWorker {
    fn send(&mut self, line: &str) -> Result<(), Error> {
        if let Some(to_guest) = &self.to_guest {
            // Where it has gone its last words say why, and they are asked for next.
            let _ = to_guest.send(line.to_owned());
        }
        Ok(())
    }

    fn end(&mut self) {
        self.to_guest = None;
        // Nothing is mounted in it: whatever it says now changes no figure.
        let _ = self.join();
    }

    fn last_words(&mut self) -> Option<Text> {
        Some(match self.join()? {
            Err(error) => error.into(),
            Ok(outcome) => {
                let last = outcome.errors.lines().next_back().map(Text::from);
                let last = last.unwrap_or_else(|| catalogue::WORKER_SAID_NOTHING.into());
                statement!(catalogue::WORKER_IN_GUEST_ENDED, last = last)
            }
        })
    }
}

impl Drop for LivingWorker {
    fn drop(&mut self) {
        self.to_guest = None;
        self.given_up.store(true, Ordering::Relaxed);
        // That is asked twice a second, of a guest that hangs too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
