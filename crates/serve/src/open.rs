//! A stack that is open and kept up: what a server serves and what a cell of a run measures.
//!
//! ```text
//!   wall clock      stack ── upkeep on a thread of its own
//!   virtual clock   stack ── device that polls the upkeep on its user's reactor
//! ```

use std::cell::RefCell;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use array::md::{TimeStamp, Version};
use array::metadata::RunningArray;
use block::{
    Blocking, Channel, Clock, Completion, Device, Extents, Info, Node, Reactor, Request,
    SECTOR_BYTES,
};
use cache::CacheHandle;
use host::Error;
use mdtools::NewArraySettings;
use reactor::derive_seed;
use stack::{Arrays, BuildContext, ImageServer, Models, OpenFiles, RbdImage, Stack};
use words::{Message, Text, statement};

use crate::catalogue;
use crate::upkeep::{PolledUpkeep, Upkeep};

/// How long members of arrays may take for an answer: what Linux gives a disk.
pub const MEMBER_TIME: Duration = Duration::from_secs(30);

/// How a stack is opened.
pub struct OpenOptions<'a> {
    /// Opens files and disks.
    pub files: &'a dyn OpenFiles,
    /// Everything random in the devices follows from it.
    pub seed: u64,
    /// Nothing is opened for writing.
    pub read_only: bool,
    /// Files that are not there are made with so many bytes, or with those that they name.
    pub create_bytes: Option<u64>,
    /// How long a member of an array may take for an answer before it counts as failed; for ever
    /// without it.
    pub member_time: Option<Duration>,
    /// Whether arrays and caches are kept up: rebuilds, superblocks and bitmaps between writes,
    /// what caches write out.
    pub upkeep: bool,
    /// Makes the outermost array with metadata anew, of whatever its members hold, and erases its
    /// superblocks in the end.
    pub new_array: Option<&'a NewArraySettings>,
    /// The reactor of a stack that is used on the virtual clock. Without it the clock is the
    /// wall's.
    pub reactor: Option<&'a Reactor>,
    /// The modelled disks beside which those of the stack stand.
    pub models: Option<&'a Models>,
}

/// A stack that is open and kept up.
pub struct OpenStack {
    pub(crate) stack: Stack,
    pub(crate) upkeep: Option<Upkeep>,
    /// Of the virtual clock.
    pub(crate) reactor: Option<Reactor>,
    /// Members that got superblocks for as long as it is open.
    pub(crate) marked: Vec<Arc<dyn Device>>,
}

impl Deref for OpenStack {
    type Target = Stack;

    fn deref(&self) -> &Stack {
        &self.stack
    }
}

impl OpenStack {
    /// Opens a stack and begins to keep it up.
    ///
    /// # Errors
    /// What cannot be built, or a member that is refused.
    pub fn open(node: &Node, options: &OpenOptions<'_>) -> Result<OpenStack, block::Error> {
        let members = Members {
            options,
            new_array: options.new_array.zip(array_with_metadata(node)),
            marked: RefCell::default(),
        };
        let context = BuildContext {
            files: &members,
            seed: options.seed,
            read_only: options.read_only,
            create_bytes: options.create_bytes,
            emulate: true,
        };
        let mut stack = stack::build(node, &context)?;
        let mut upkeep = None;
        match options.reactor {
            _ if !options.upkeep => {
                if stack.arrays.running().iter().any(RunningArray::is_shared) {
                    let text = catalogue::SHARED_WITHOUT_UPKEEP;
                    return Err(block::Error::new(block::ErrorKind::Invalid, text));
                }
            }
            None => {
                let (arrays, caches) = (stack.arrays.running(), &stack.caches);
                upkeep = Some(Upkeep::start(arrays, caches, &stack.deadlines)?);
            }
            Some(_) => stack.device = PolledDevice::over(&stack),
        }
        let (reactor, marked) = (options.reactor.cloned(), members.marked.into_inner());
        Ok(OpenStack { stack, upkeep, reactor, marked })
    }

    /// The members of the array that was made for it, with their superblocks.
    #[must_use]
    pub fn members_made(&self) -> &[Arc<dyn Device>] {
        &self.marked
    }

    /// Takes the last member of the array that was made for it out, and with `rebuild` puts it back
    /// as a new one, which has none of the array's data. Before anything uses the stack, on the
    /// virtual clock.
    ///
    /// # Errors
    /// [`block::ErrorKind::Invalid`] where no array was made, or it needs all of its members.
    pub fn degrade(&self, rebuild: bool, seed: u64) -> Result<(), block::Error> {
        let invalid = |text: Message| block::Error::new(block::ErrorKind::Invalid, text);
        let array = self.stack.arrays.running().last().zip(self.marked.last());
        let (Some((running, device)), Some(reactor)) = (array, &self.reactor) else {
            return Err(invalid(catalogue::COULD_LOSE_NONE));
        };
        let last = self.marked.len() - 1;
        running.control().fail(last)?;
        running.remove(last)?;
        if rebuild {
            erase(&**device, reactor)?;
            let uuid = u128::from(derive_seed(seed, "uuid", 1)).to_be_bytes();
            running.add_to_slot(last, device, uuid, reactor)?;
        }
        Ok(())
    }

    /// Ends it in order: what was written is durable, caches are closed, arrays are called clean.
    /// Nothing may use the stack any more.
    ///
    /// # Errors
    /// The first that could not be done in order; the rest is done all the same.
    pub fn end(mut self) -> Result<(), Error> {
        if let Some(upkeep) = self.upkeep.take() {
            upkeep.end();
        }
        let mut problems = Vec::new();
        // Modelled disks that keep nothing have nothing to lose.
        let is_volatile = self.reactor.is_some()
            && self.stack.arrays.running().is_empty()
            && self.stack.caches.is_empty();
        if !is_volatile {
            let Stack { device, caches, arrays, .. } = &mut self.stack;
            let (marked, reactor) = (&self.marked, self.reactor.as_ref());
            problems =
                Ending { device: &**device, caches, arrays, marked, reactor }.end(&mut |_| ());
        }
        problems.into_iter().next().map_or(Ok(()), |problem| Err(Error::failed(problem)))
    }
}

/// What nothing uses and nothing keeps up any more.
pub(crate) struct Ending<'a> {
    pub(crate) device: &'a dyn Device,
    pub(crate) caches: &'a [CacheHandle],
    pub(crate) arrays: &'a mut Arrays,
    pub(crate) marked: &'a [Arc<dyn Device>],
    pub(crate) reactor: Option<&'a Reactor>,
}

impl Ending<'_> {
    /// Ends it, and says what could not be done in order. `step` is told what is being done.
    pub(crate) fn end(self, step: &mut dyn FnMut(Message)) -> Vec<Text> {
        let Ending { device, caches, arrays, marked, reactor } = self;
        let mut problems = Vec::new();
        step(catalogue::THE_LAST_FLUSH);
        if !device.info().read_only && device.info().volatile_cache {
            let flushed = reactor.map_or_else(wall, |reactor| Ok(reactor.clone()));
            let flushed = flushed.and_then(|reactor| Blocking::open(device, &reactor)?.flush());
            problems.extend(
                flushed.err().map(|error| statement!(catalogue::MAY_NOT_BE_DURABLE, why = error)),
            );
        }
        step(catalogue::CLOSING_CACHES);
        // Those above write to those below.
        for cache in caches.iter().rev() {
            problems.extend(cache.close().err().map(|error| error.text().at(catalogue::A_CACHE)));
        }
        step(catalogue::MARKING_CLEAN);
        let ended = match reactor {
            Some(reactor) => arrays.end_on(reactor),
            None => arrays.end(),
        };
        problems.extend(ended.err().map(|error| error.text()));
        step(catalogue::ERASING_SUPERBLOCKS);
        // On the virtual clock they go with their devices.
        if reactor.is_none() && !marked.is_empty() {
            let erased = wall().map(|reactor| {
                // All that still answer, whatever becomes of one.
                let all = marked.iter().filter_map(|member| erase(&**member, &reactor).err());
                all.reduce(|first, _| first)
            });
            let problem = erased.unwrap_or_else(Some);
            problems.extend(problem.map(|error| error.text().at(catalogue::ERASING_SUPERBLOCKS)));
        }
        problems
    }
}

fn wall() -> Result<Reactor, block::Error> {
    Ok(Reactor::wall()?)
}

/// The first layer from the outside that has superblocks on its members.
#[must_use]
pub fn array_with_metadata(node: &Node) -> Option<&Node> {
    let Node::Layer { options, children, .. } = node else { return None };
    if options.iter().any(|(name, value)| name == "metadata" && value != "none") {
        return Some(node);
    }
    children.iter().find_map(array_with_metadata)
}

/// The identity of the array that [`OpenOptions::new_array`] makes of the members of a layer.
///
/// # Errors
/// What makes no array.
pub fn new_array_uuid(
    settings: &NewArraySettings,
    layer: &Node,
    seed: u64,
) -> Result<[u8; 16], block::Error> {
    let Node::Layer { children, .. } = layer else {
        return Err(block::Error::new(block::ErrorKind::Invalid, catalogue::A_LEAF_IS_NO_ARRAY));
    };
    let (sizes, seed) = (vec![0; children.len()], derive_seed(seed, "uuid", 0));
    Ok(settings.array(layer, &sizes, seed, TimeStamp::default())?.set_uuid)
}

/// Zeroes where the superblock of version 1.2 is.
fn erase(member: &dyn Device, reactor: &Reactor) -> Result<(), block::Error> {
    let mut channel = Blocking::open(member, reactor)?;
    let sector = Version::V1_2.offset_sectors(member.info().size_bytes / SECTOR_BYTES);
    channel.write_slice(sector.unwrap_or(0) * SECTOR_BYTES, &[0; SUPERBLOCK_BYTES])?;
    channel.flush()
}

/// What a superblock takes up.
const SUPERBLOCK_BYTES: usize = 4096;

/// Opens members as the options say.
struct Members<'a> {
    options: &'a OpenOptions<'a>,
    /// The array that is made anew, and how.
    new_array: Option<(&'a NewArraySettings, &'a Node)>,
    marked: RefCell<Vec<Arc<dyn Device>>>,
}

impl OpenFiles for Members<'_> {
    fn open(
        &self,
        path: &Path,
        read_only: bool,
        create: Option<u64>,
    ) -> Result<File, block::Error> {
        self.options.files.open(path, read_only, create)
    }

    fn open_kept(&self, path: &Path, size_bytes: u64) -> Result<File, block::Error> {
        self.options.files.open_kept(path, size_bytes)
    }

    fn admit_remote(&self, leaf: &Node, device: &Arc<dyn Device>) -> Result<(), block::Error> {
        self.options.files.admit_remote(leaf, device)
    }

    fn open_disk_image(&self, path: &Path, read_only: bool) -> Result<File, block::Error> {
        self.options.files.open_disk_image(path, read_only)
    }

    fn serve_image(&self, image: &RbdImage) -> Result<ImageServer, block::Error> {
        self.options.files.serve_image(image)
    }

    fn promise_memory(&self, bytes: u64) -> Result<(), block::Error> {
        self.options.files.promise_memory(bytes)
    }

    fn time(&self) -> fn() -> Option<TimeStamp> {
        self.options.files.time()
    }

    fn stand_in(&self, path: &Path) -> Option<Arc<dyn Device>> {
        self.options.files.stand_in(path)
    }

    fn member_time(&self) -> Option<Duration> {
        self.options.member_time
    }

    fn make_array(
        &self,
        layer: &Node,
        members: &[Option<Arc<dyn Device>>],
        reactor: &Reactor,
    ) -> Result<(), block::Error> {
        let Some((settings, _)) = self.new_array.filter(|(_, array)| *array == layer) else {
            return Ok(());
        };
        let created = self.time()().unwrap_or_default();
        let seed = derive_seed(self.options.seed, "uuid", 0);
        self.marked.borrow_mut().extend(members.iter().flatten().cloned());
        settings.make(layer, members, seed, created, reactor)
    }

    fn make_container(&self, below: &dyn Device) -> Result<(), block::Error> {
        self.options.files.make_container(below)
    }

    fn reactor(&self) -> Option<Reactor> {
        self.options.reactor.cloned()
    }

    fn models(&self) -> Option<Models> {
        self.options.models.cloned()
    }
}

/// A device on the virtual clock. The owner of one of its channels polls the upkeep of what is
/// below with it: there is no other thread on that clock.
struct PolledDevice {
    below: Arc<dyn Device>,
    arrays: Vec<RunningArray>,
    caches: Vec<CacheHandle>,
    /// Whether one of the open channels polls the upkeep.
    is_polled: Arc<AtomicBool>,
}

impl PolledDevice {
    /// The device of a stack, with its upkeep if there is something to keep up.
    fn over(stack: &Stack) -> Arc<dyn Device> {
        let (arrays, caches) = (stack.arrays.running().to_vec(), stack.caches.clone());
        let below = Arc::clone(&stack.device);
        if arrays.is_empty() && caches.is_empty() {
            return below;
        }
        Arc::new(PolledDevice { below, arrays, caches, is_polled: Arc::default() })
    }
}

impl Device for PolledDevice {
    fn info(&self) -> &Info {
        self.below.info()
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, block::Error> {
        let below = self.below.open(depth, reactor)?;
        if reactor.clock() != Clock::Virtual || self.is_polled.swap(true, Ordering::AcqRel) {
            return Ok(below);
        }
        let is_polled = PollGuard(Arc::clone(&self.is_polled));
        let upkeep = PolledUpkeep::open(&self.arrays, &self.caches, reactor)?;
        Ok(Box::new(PolledChannel { upkeep, below, _is_polled: is_polled }))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        self.below.extents(offset, length, found);
    }
}

/// Another channel may poll the upkeep when this one is closed.
struct PollGuard(Arc<AtomicBool>);

impl Drop for PollGuard {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

struct PolledChannel {
    upkeep: PolledUpkeep,
    below: Box<dyn Channel>,
    _is_polled: PollGuard,
}

impl Channel for PolledChannel {
    fn submit(&mut self, request: Request) {
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.upkeep.poll();
        self.below.poll(done);
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }
}
