//! A tree to devices.
//!
//! Every leaf gets counters on top, so that what each member moved is known exactly. Files are
//! opened by what the caller names: one module of raidloom alone decides what may be opened for
//! writing.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use array::md::TimeStamp;
use array::metadata::RunningArray;
use array::{ArrayDevice, ParityLayout, Raid0Layout, Raid10Layout};
use block::{
    Clock, Counters, CountingDevice, Device, EmulatingDevice, Error, ErrorKind, Node, SECTOR_BYTES,
    Time, text_path,
};
use cache::{
    AdmissionOptions, Cache, CacheHandle, CacheMode, CacheOptions, Facts, KeepingOptions,
    LeafFacts, Overlay, OverlayOptions, PolicyKind, StoreSeal,
};
use device::model::{Links, ModelDevice, ModelOptions, PowerCut, Survival};
use device::{
    BadRange, DeadlineDevice, DeadlineWatch, Direct, FaultDevice, FaultOptions, FileDevice,
    FileOptions, NbdDevice, NullDevice, RamDevice, RecordDevice, ServiceTime,
};
use image::{ImageDevice, ImageHeader, ImageOptions, ImageUse};
use luks::{LuksDevice, LuksHeader, LuksOptions};
use reactor::{Reactor, derive_seed};
use words::{Text, statement};

use crate::disk_image::{FileGrowth, ImageFile, image_leaf, image_use, is_whole_file, tail_of};
use crate::encryption;
use crate::facts::{Leaf, OpenedFile};
use crate::identity::refuse_members_named_twice;
use crate::messages;
use crate::settings::{Settings, refusal};
use crate::superblocks::{self, Arrays, Mark};
use crate::table;
use crate::{ImageServer, RbdImage, nbd, parse, size};

/// Runs longer than this go past a cache unless it holds the whole device: a backup or a scan would
/// flush it.
const SEQUENTIAL_CUTOFF_BYTES: u64 = 4 << 20;

/// A cache in memory can become as large as the device, or as this: far more than machines have,
/// and even room that is never used costs a word for each 32 MiB.
const CACHE_GROWTH_BYTES_MAX: u64 = 256 << 30;
/// How long a server may take to say what its export holds, where no time is given for members.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Opens files and block devices for a stack, or refuses to.
pub trait OpenFiles {
    /// Opens `path`, for reading only or for both; with `create` a file that is not there is made
    /// with that many bytes.
    ///
    /// # Errors
    /// Why not, in one line for the user.
    fn open(&self, path: &Path, read_only: bool, create: Option<u64>) -> Result<File, Error>;

    /// Asked before anything is built: whether so many bytes of memory can be had, for all `ram:`
    /// leaves, the memory of caches among them, and for what caches note of their blocks.
    ///
    /// # Errors
    /// How much there is instead.
    fn promise_memory(&self, _bytes: u64) -> Result<(), Error> {
        Ok(())
    }

    /// What tells the time that md's superblocks are given when they are written; without it they
    /// keep what they have.
    fn time(&self) -> fn() -> Option<TimeStamp> {
        || None
    }

    /// How long a member of an array may take for an answer before it counts as failed; for ever
    /// where nothing is said.
    fn member_time(&self) -> Option<Duration> {
        None
    }

    /// Makes the array of a layer with metadata, where that is to be made anew: called with the
    /// devices of its members before their superblocks are read. Nothing else is under way on the
    /// reactor.
    ///
    /// # Errors
    /// What kept it from being made.
    fn make_array(
        &self,
        _layer: &Node,
        _members: &[Option<Arc<dyn Device>>],
        _reactor: &Reactor,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Makes the container of a layer `luks`, where that is to be made anew: called with the device
    /// below before its header is read.
    ///
    /// # Errors
    /// What kept it from being made.
    fn make_container(&self, _below: &dyn Device) -> Result<(), Error> {
        Ok(())
    }

    /// The reactor on which superblocks are read; one of their own on the wall clock where nothing
    /// is said.
    fn reactor(&self) -> Option<Reactor> {
        None
    }

    /// The modelled disks beside which those of this stack stand; alone where nothing is said.
    fn models(&self) -> Option<Models> {
        None
    }

    /// A device that stands for the file of this name, which is not opened then: drives that are
    /// recorded, or as a crash has left them.
    fn stand_in(&self, _path: &Path) -> Option<Arc<dyn Device>> {
        None
    }

    /// The same for a drive of another machine, which no connection is made to then.
    fn stand_in_remote(&self, _leaf: &Node) -> Option<Arc<dyn Device>> {
        None
    }

    /// Has an image of a Ceph cluster served to this process.
    ///
    /// # Errors
    /// Why not, in one line for the user.
    fn serve_image(&self, image: &RbdImage) -> Result<ImageServer, Error> {
        let text = statement!(messages::NO_PROGRAMS, image = image.to_string());
        Err(Error::new(ErrorKind::Refused, text))
    }

    /// Whether a drive of another machine, which is open, may be written to.
    ///
    /// # Errors
    /// Why not, in one line for the user.
    fn admit_remote(&self, _leaf: &Node, _device: &Arc<dyn Device>) -> Result<(), Error> {
        Ok(())
    }

    /// Opens the file of a disk image: the disk in it is used, and not its bytes.
    ///
    /// # Errors
    /// As [`OpenFiles::open`].
    fn open_disk_image(&self, path: &Path, read_only: bool) -> Result<File, Error> {
        self.open(path, read_only, None)
    }

    /// Opens for writing what a layer keeps for itself, an overlay's delta or a trace. A file that
    /// is not there is made sparse, with that many bytes, and stays.
    ///
    /// # Errors
    /// As [`OpenFiles::open`].
    fn open_kept(&self, path: &Path, size_bytes: u64) -> Result<File, Error> {
        self.open(path, false, Some(size_bytes))
    }
}

/// Opens nothing: for stacks of memory, models and servers only.
pub struct NoFiles;

impl OpenFiles for NoFiles {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, Error> {
        let text = statement!(messages::NO_FILES, path = path.display());
        Err(Error::new(ErrorKind::Refused, text))
    }
}

/// The modelled disks of several stacks that are used side by side, as those of a guest: links of
/// the same name are one, and each disk has a seed of its own, so that the same disks are the same
/// in whatever stacks they stand. Clones stand for the same disks.
#[derive(Clone, Default)]
pub struct Models(Arc<Mutex<NumberedDevices>>);

/// Modelled disks that name the same link share it; each disk and each faulty layer has a seed by
/// its number.
#[derive(Default)]
struct NumberedDevices {
    links: Links,
    disks: Vec<Arc<ModelDevice>>,
    faults: u64,
    /// Whether disks remember what a power cut would lose.
    losing: bool,
    /// Whether disks note how data come to their media.
    noting: bool,
    /// What disks hold in the beginning, by their numbers.
    data: Vec<RamDevice>,
}

impl NumberedDevices {
    fn load(
        &mut self,
        address: &str,
        options: &ModelOptions,
        seed: u64,
    ) -> Result<Arc<ModelDevice>, Error> {
        let number = self.disks.len();
        let seed = derive_seed(seed, "model", number as u64);
        let mut disk = ModelDevice::load(address, options, seed, &self.links)?;
        if let Some(data) = self.data.get(number) {
            disk = disk.with_data(data.clone());
        }
        let disk = if self.losing { disk.losing() } else { disk };
        let disk = Arc::new(if self.noting { disk.noting() } else { disk });
        self.disks.push(Arc::clone(&disk));
        Ok(disk)
    }
}

impl Models {
    /// Disks that remember what a power cut would lose ([`Models::cut_power`]).
    #[must_use]
    pub fn losing() -> Models {
        let models = Models::default();
        models.with(|numbered| numbered.losing = true);
        models
    }

    /// Disks that note how data come to their media ([`ModelDevice::take_media_notes`]).
    #[must_use]
    pub fn noting() -> Models {
        let models = Models::default();
        models.with(|numbered| numbered.noting = true);
        models
    }

    /// The same disks once more, in stacks built in the same order: with the data that these hold
    /// now, and nothing under way.
    #[must_use]
    pub fn again(&self) -> Models {
        let data = self.disks().iter().filter_map(|disk| disk.data().cloned()).collect();
        let models = Models::default();
        models.with(|numbered| numbered.data = data);
        models
    }

    /// The disks, in the order in which they were built.
    #[must_use]
    pub fn disks(&self) -> Vec<Arc<ModelDevice>> {
        self.with(|numbered| numbered.disks.clone())
    }

    /// Lets all disks turn on until they have turned for as long as the one that was used longest:
    /// their angles to each other are then those of disks that were not used yet. While nothing
    /// uses them.
    pub fn align(&self) {
        let disks = self.disks();
        let last = disks.iter().map(|disk| disk.turned()).max().unwrap_or_default();
        disks.iter().for_each(|disk| disk.turn_until(last));
    }

    /// Cuts the power of all disks at a time on the virtual clock on which they were used, after
    /// their stacks have gone: their data become what the media hold then.
    ///
    /// # Errors
    /// As [`ModelDevice::cut_power`].
    pub fn cut_power(
        &self,
        time: Time,
        survival: Survival,
        seed: u64,
    ) -> Result<Vec<PowerCut>, Error> {
        let cut = |(number, disk): (u64, &Arc<ModelDevice>)| {
            disk.cut_power(time, survival, derive_seed(seed, "power cut", number))
        };
        (0..).zip(&self.disks()).map(cut).collect()
    }

    fn with<T>(&self, act: impl FnOnce(&mut NumberedDevices) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What building needs besides the tree.
pub struct BuildContext<'a> {
    /// Opens files and block devices.
    pub files: &'a dyn OpenFiles,
    /// Everything random in the devices follows from it.
    pub seed: u64,
    /// Open nothing for writing but traces.
    pub read_only: bool,
    /// Make files that are not there: of the size that the leaf names, or else of this many bytes.
    pub create_bytes: Option<u64>,
    /// Give the stack's outermost device the abilities that it lacks, made from those it has.
    pub emulate: bool,
}

impl<'a> BuildContext<'a> {
    /// Opens for reading and writing, makes no file and emulates nothing; the seed is 0.
    #[must_use]
    pub fn new(files: &'a dyn OpenFiles) -> BuildContext<'a> {
        BuildContext { files, seed: 0, read_only: false, create_bytes: None, emulate: false }
    }
}

/// A leaf of a stack.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its stack text.
    pub name: String,
    /// What it moves.
    pub counters: Arc<Counters>,
    /// The device, as long as the stack has it open.
    pub device: Weak<dyn Device>,
    /// The file or block device behind it, where it is one.
    pub opened: Option<OpenedFile>,
}

/// The inner layers of a stack that tell by themselves what has become of them, besides arrays with
/// metadata and caches.
#[derive(Clone, Debug, Default)]
pub struct InnerLayers {
    /// Arrays without metadata.
    pub arrays: Vec<Weak<ArrayDevice>>,
    /// Layers with planned faults, and what tells that one is gone.
    pub faults: Vec<(Weak<dyn Device>, Arc<Counters>)>,
}

/// The devices that a tree stands for.
#[derive(Debug)]
pub struct Stack {
    /// The outermost device.
    pub device: Arc<dyn Device>,
    /// The leaves, from left to right.
    pub members: Vec<Member>,
    /// What the user should know: direct I/O that is not there, a unit that could mean two things.
    pub notes: Vec<Text>,
    /// The clock that the stack runs on by itself: virtual when it is made of modelled disks alone,
    /// and of memory that caches them.
    pub clock: Clock,
    /// The caches in it, those below before those above.
    pub caches: Vec<CacheHandle>,
    /// What else in it tells how it is.
    pub inner: InnerLayers,
    /// What tells which members of arrays have not answered in time; none where they may take for
    /// ever.
    pub deadlines: Vec<DeadlineWatch>,
    /// The arrays in it that keep md's metadata. Last, so that they are ended when nothing else can
    /// use the stack any more.
    pub arrays: Arrays,
}

impl Stack {
    /// What was known of the stack's files and disks before anything was written to them.
    #[must_use]
    pub fn facts(&self) -> Facts {
        Facts { leaves: self.arrays.leaf_facts_at_first(), believe_sample: false }
    }

    /// Ends the stack in order and says what is known of its files and disks now. The stack's
    /// device must have no other user.
    ///
    /// # Errors
    /// As [`Arrays::end`].
    pub fn end(self) -> Result<Vec<LeafFacts>, Error> {
        let Stack { device, mut arrays, .. } = self;
        drop(device);
        arrays.end()?;
        Ok(arrays.leaf_facts())
    }
}

/// Builds what a stack text stands for.
///
/// # Errors
/// As [`parse()`] and [`build`].
pub fn parse_and_build(text: &str, context: &BuildContext<'_>) -> Result<Stack, Error> {
    build(&parse(text)?, context)
}

/// Builds the devices of a tree.
///
/// # Errors
/// What cannot be built, and why: an unknown name or value, a file that is missing, refused or
/// named twice, sizes that do not fit.
pub fn build(node: &Node, context: &BuildContext<'_>) -> Result<Stack, Error> {
    let mut builder = Builder {
        context,
        read_only: context.read_only,
        create_bytes: context.create_bytes,
        kept_bytes: None,
        is_image: false,
        members: Vec::new(),
        notes: Vec::new(),
        common: context.files.models().unwrap_or_default(),
        models: 0,
        memory_stores: 0,
        caches: Vec::new(),
        inner: InnerLayers::default(),
        carriers: Vec::new(),
        running: Vec::new(),
        leaves: Vec::new(),
        seals: Vec::new(),
        deadlines: Vec::new(),
        exports: Vec::new(),
    };
    refuse_members_named_twice(node)?;
    context.files.promise_memory(promised_bytes(node))?;
    let device = builder.device(node)?;
    let device = if context.emulate { EmulatingDevice::over(device) } else { device };
    builder.notes.extend(builder.exports.iter().filter_map(|export| nbd::note(&**export)));
    let Builder {
        members,
        notes,
        models,
        memory_stores,
        caches,
        inner,
        running,
        leaves,
        seals,
        deadlines,
        ..
    } = builder;
    let clock = if models > 0 && models + memory_stores == members.len() as u64 {
        Clock::Virtual
    } else {
        Clock::Wall
    };
    let arrays =
        Arrays::new(running, leaves, seals, deadlines.clone(), context.files.reactor().is_some());
    Ok(Stack { device, members, notes, clock, caches, inner, deadlines, arrays })
}

/// What a cache notes of each of its blocks, in bytes: more than any policy takes.
const NOTED_BYTES: u64 = 16;

/// How much memory a tree asks for. What has no size that can be read is refused when it is built.
fn promised_bytes(node: &Node) -> u64 {
    let size = |text: &str| size::parse(text).map_or(0, |size| size.bytes);
    match node {
        Node::Leaf { scheme, address, .. } if scheme == "ram" => size(address),
        Node::Leaf { .. } | Node::Missing => 0,
        Node::Layer { name, options, children } => {
            let below = children.iter().map(promised_bytes).fold(0, u64::saturating_add);
            let (Some(Node::Leaf { scheme, address, options: own }), true) =
                (children.first(), name == "cache")
            else {
                return below;
            };
            let said = |options: &[(String, String)], wanted: &str| {
                options.iter().find(|(name, _)| name == wanted).map(|(_, text)| size(text))
            };
            let store = match scheme.as_str() {
                "ram" => Some(size(address)),
                _ => said(own, "size"),
            };
            let block = said(options, "block").unwrap_or(4096).max(512);
            below.saturating_add((store.unwrap_or(0) / block).saturating_mul(NOTED_BYTES))
        }
    }
}

struct Builder<'a> {
    context: &'a BuildContext<'a>,
    /// The context's, but below an overlay nothing is opened for writing and nothing is made.
    read_only: bool,
    create_bytes: Option<u64>,
    /// While what a layer keeps for itself is built, an overlay's delta or a cache's store: how
    /// large it has to be.
    kept_bytes: Option<u64>,
    /// While the file of a disk image is opened, which is not used as a disk itself.
    is_image: bool,
    members: Vec<Member>,
    notes: Vec<Text>,
    common: Models,
    /// How many modelled disks of its own there are so far.
    models: u64,
    /// Members that are the memory of a cache: they take no time where none is stated for them,
    /// modelled or not.
    memory_stores: u64,
    caches: Vec<CacheHandle>,
    inner: InnerLayers,
    /// Members below the layer that is being built that are marked as an array's: their stack text,
    /// and the mark.
    carriers: Vec<(String, Mark)>,
    /// Arrays with metadata, those below before those above.
    running: Vec<RunningArray>,
    /// What is known of each leaf, in the order in which they were opened.
    leaves: Vec<Leaf>,
    /// Stores of caches, and the leaves below each cache.
    seals: Vec<(StoreSeal, Range<usize>)>,
    deadlines: Vec<DeadlineWatch>,
    exports: Vec<Arc<NbdDevice>>,
}

impl Builder<'_> {
    fn device(&mut self, node: &Node) -> Result<Arc<dyn Device>, Error> {
        match node {
            Node::Missing => Err(Error::new(ErrorKind::Invalid, messages::MISSING_ONLY_MEMBER)),
            Node::Layer { name, options, children } => self.layer_of(node, name, options, children),
            Node::Leaf { scheme, address, options } => {
                self.counted_leaf(node, scheme, address, options)
            }
        }
    }

    /// A layer over what `children` say.
    fn layer_of(
        &mut self,
        node: &Node,
        name: &str,
        options: &[(String, String)],
        children: &[Node],
    ) -> Result<Arc<dyn Device>, Error> {
        let row = table::layer(name).map_err(|problem| refusal(name, &problem))?;
        let settings = Settings::check(name, row.options, options)?;
        if children.len() < row.members.0 || children.len() > row.members.1 {
            let text = statement!(
                messages::DEVICE_COUNT,
                name = name,
                count = children.len(),
                least = row.members.0,
                most = row.members.1
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        if !row.redundant && children.contains(&Node::Missing) {
            let text = statement!(messages::NO_REDUNDANCY_FOR_MISSING, name = name);
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        match name {
            "overlay" => return self.overlay(&settings, children),
            "cache" => return self.cache(&settings, children),
            "record" => return self.record(children),
            "image" => return self.image(&settings, children),
            "luks" => return self.luks(&settings, options, children),
            _ => (),
        }
        let first_carrier = self.carriers.len();
        let member = |child: &Node| {
            if *child == Node::Missing { Ok(None) } else { self.device(child).map(Some) }
        };
        let mut members = children.iter().map(member).collect::<Result<Vec<_>, Error>>()?;
        if row.options.iter().any(|option| option.name == table::METADATA.name) {
            members.iter_mut().flatten().for_each(|member| self.bound(member));
            let carriers = self.carriers.split_off(first_carrier);
            match (settings.get("metadata"), carriers.first()) {
                (Some("none"), _) | (None, None) => (),
                (Some(metadata), _) => {
                    return self.recorded(node, metadata, &settings, &members);
                }
                // Used whole, the superblocks would be data to write over.
                (None, Some((member, mark))) => {
                    let text = mark.refusal(member).at(name);
                    return Err(Error::new(ErrorKind::Refused, text));
                }
            }
        }
        self.layer(name, &settings, members)
    }

    /// A leaf, whose traffic is counted.
    fn counted_leaf(
        &mut self,
        node: &Node,
        scheme: &str,
        address: &str,
        options: &[(String, String)],
    ) -> Result<Arc<dyn Device>, Error> {
        let row = table::leaf(scheme).map_err(|problem| refusal(scheme, &problem))?;
        row.address
            .check(address)
            .map_err(|problem| refusal(&format!("{scheme}:{address}"), &problem))?;
        let settings = Settings::check(scheme, row.options, options)?;
        let known = self.leaves.len();
        let leaf = self.leaf(node, scheme, address, &settings)?;
        if self.leaves.len() == known {
            self.leaves.push(Leaf::nameless());
        }
        let opened = self.leaves.last().and_then(|leaf| leaf.file(Path::new(address)));
        let counted = CountingDevice::over(leaf);
        let (name, counters) = (counted.describe().to_string(), counted.counters());
        let counted: Arc<dyn Device> = Arc::new(counted);
        let device = Arc::downgrade(&counted);
        self.members.push(Member { name, counters, device, opened });
        Ok(counted)
    }

    /// Bounds how long a member may take for an answer, if that is wanted.
    fn bound(&mut self, member: &mut Arc<dyn Device>) {
        if let Some(time) = self.context.files.member_time() {
            let bounded = DeadlineDevice::new(Arc::clone(member), time);
            self.deadlines.push(bounded.watch());
            *member = Arc::new(bounded);
        }
    }

    fn layer(
        &mut self,
        name: &str,
        settings: &Settings<'_>,
        members: Vec<Option<Arc<dyn Device>>>,
    ) -> Result<Arc<dyn Device>, Error> {
        match name {
            "linear" | "raid0" | "fault" => {
                self.plain_layer(name, settings, members.into_iter().flatten().collect())
            }
            "raid1" => self.raw_array(name, ArrayDevice::raid1(members)),
            name => {
                let chunk_bytes = self.size(settings, "chunk")?.unwrap_or(512 << 10);
                let layout = settings.get("layout");
                let parity = || {
                    layout.and_then(ParityLayout::from_name).unwrap_or(ParityLayout::LeftSymmetric)
                };
                match name {
                    "raid10" => {
                        let layout = layout
                            .and_then(Raid10Layout::from_name)
                            .unwrap_or(Raid10Layout::near(2));
                        self.raw_array(name, ArrayDevice::raid10(members, chunk_bytes, layout))
                    }
                    "raid4" => self.raw_array(name, ArrayDevice::raid4(members, chunk_bytes)),
                    "raid5" => {
                        self.raw_array(name, ArrayDevice::raid5(members, chunk_bytes, parity()))
                    }
                    "raid6" => {
                        self.raw_array(name, ArrayDevice::raid6(members, chunk_bytes, parity()))
                    }
                    name => unreachable!("the layer {name} is in the table"),
                }
            }
        }
    }

    /// An array by the superblocks of its members.
    fn recorded(
        &mut self,
        layer: &Node,
        metadata: &str,
        settings: &Settings<'_>,
        members: &[Option<Arc<dyn Device>>],
    ) -> Result<Arc<dyn Device>, Error> {
        let Node::Layer { name, .. } = layer else { unreachable!("a layer") };
        if settings.get("offset").is_some() {
            let error = Error::new(ErrorKind::Invalid, messages::OFFSET_WITH_SUPERBLOCKS);
            return Err(error.at(name));
        }
        let said = superblocks::StatedArray {
            level: name,
            metadata,
            layout: settings.get("layout"),
            chunk_bytes: self.size(settings, "chunk")?,
            force: settings.is("force", "yes"),
            read_only: self.read_only,
            time: self.context.files.time(),
        };
        let reactor = self.context.files.reactor().map_or_else(Reactor::wall, Ok)?;
        self.context.files.make_array(layer, members, &reactor).map_err(|error| error.at(name))?;
        let (running, notes) =
            superblocks::run(&said, members, &reactor).map_err(|error| error.at(name))?;
        self.notes.extend(notes);
        self.leaves.push(Leaf::of_array(&running));
        self.running.push(running.clone());
        Ok(Arc::new(running))
    }

    /// A layer without redundancy.
    fn plain_layer(
        &mut self,
        name: &str,
        settings: &Settings<'_>,
        members: Vec<Arc<dyn Device>>,
    ) -> Result<Arc<dyn Device>, Error> {
        match name {
            "linear" => {
                let offset_bytes = self.size(settings, "offset")?.unwrap_or(0);
                self.raw_array(name, ArrayDevice::linear_from(members, offset_bytes))
            }
            "raid0" => {
                let chunk_bytes = self.size(settings, "chunk")?.unwrap_or(64 << 10);
                let layout = if settings.is("layout", "alternate") {
                    Raid0Layout::Alternate
                } else {
                    Raid0Layout::Original
                };
                self.raw_array(name, ArrayDevice::raid0(members, chunk_bytes, layout))
            }
            _ => {
                let options = self.fault_options(settings)?;
                let [below] = <[_; 1]>::try_from(members).expect("the count was checked");
                let counted = CountingDevice::over(Arc::new(FaultDevice::new(below, options)?));
                let counters = counted.counters();
                let device: Arc<dyn Device> = Arc::new(counted);
                self.inner.faults.push((Arc::downgrade(&device), counters));
                Ok(device)
            }
        }
    }

    /// An array without metadata, or what is wrong with it.
    fn raw_array(
        &mut self,
        name: &str,
        array: Result<ArrayDevice, Error>,
    ) -> Result<Arc<dyn Device>, Error> {
        let array = Arc::new(array.map_err(|error| error.at(name))?);
        self.inner.arrays.push(Arc::downgrade(&array));
        Ok(array)
    }

    /// A delta and what is never written below it.
    fn overlay(
        &mut self,
        settings: &Settings<'_>,
        children: &[Node],
    ) -> Result<Arc<dyn Device>, Error> {
        let [delta, lower] = children else { unreachable!("the count was checked") };
        let (first, first_leaf) = (self.members.len(), self.leaves.len());
        let above = (self.read_only, self.create_bytes, self.kept_bytes);
        (self.read_only, self.create_bytes, self.kept_bytes) = (true, None, None);
        let lower = self.device(lower);
        (self.read_only, self.create_bytes, self.kept_bytes) = above;
        let lower = lower?;
        let lower_members = self.members.split_off(first);
        let facts = self.facts(settings, first_leaf..self.leaves.len());

        let block_bytes = lower.info().block_bytes;
        // The smaller the block, the larger the index: a delta of this size is large enough with
        // any.
        let above = self.kept_bytes.replace(Overlay::delta_bytes(block_bytes, lower.info())?);
        let says_block =
            |options: &[(String, String)]| options.iter().any(|(name, _)| name == "block");
        let delta = match delta {
            Node::Leaf { options, .. }
                if u64::from(block_bytes) > SECTOR_BYTES && !says_block(options) =>
            {
                self.device(&delta.clone().with("block", block_bytes))
            }
            delta => self.device(delta),
        };
        self.kept_bytes = above;
        self.members.extend(lower_members);
        let overlay = Overlay::open(
            delta?,
            lower,
            &facts,
            OverlayOptions { keep: !settings.is("keep", "no") },
        )?;
        self.notes.extend(overlay.note().cloned());
        Ok(Arc::new(overlay))
    }

    /// What is known of these leaves; the layer above may be told to believe more than that proves.
    fn facts(&self, settings: &Settings<'_>, leaves: Range<usize>) -> Facts {
        let leaves = self.leaves[leaves].iter().map(|leaf| leaf.opened).collect();
        Facts { leaves, believe_sample: settings.is("believe", "sample") }
    }

    /// A store and the device that it is to speed up.
    fn cache(
        &mut self,
        settings: &Settings<'_>,
        children: &[Node],
    ) -> Result<Arc<dyn Device>, Error> {
        let [store, lower] = children else { unreachable!("the count was checked") };
        let mode = settings.get("mode").and_then(CacheMode::from_name).unwrap_or_default();
        let (first, first_leaf) = (self.members.len(), self.leaves.len());
        let above = self.read_only;
        self.read_only |= mode == CacheMode::ReadOnly;
        let lower = self.device(lower);
        self.read_only = above;
        let lower = lower?;
        let lower_members = self.members.split_off(first);
        let below = first_leaf..self.leaves.len();

        let memory = match store {
            Node::Leaf { scheme, address, options } if scheme == "ram" => Some((address, options)),
            _ => None,
        };
        let cache = if let Some((address, options)) = memory {
            let size_bytes = self.parse_size(&store.to_string(), address)?;
            let memory = self.cache_memory(size_bytes, options, &*lower)?;
            self.memory_stores += 1;
            let options = self.cache_options(settings, mode, size_bytes, &*lower)?;
            Cache::in_memory(memory, size_bytes, lower, options)?
        } else {
            let store = self.kept_store(store, lower.info().block_bytes)?;
            let options = self.cache_options(settings, mode, store.info().size_bytes, &*lower)?;
            Cache::open(store, lower, &self.facts(settings, below.clone()), options)?
        };
        self.seals.extend(cache.seal().map(|seal| (seal, below)));
        self.notes.extend(cache.note().cloned());
        self.members.extend(lower_members);
        self.caches.push(cache.handle());
        Ok(Arc::new(cache))
    }

    /// Memory for a cache of so many bytes, with room to grow until it holds the whole device: what
    /// is not used takes none.
    fn cache_memory(
        &mut self,
        size_bytes: u64,
        options: &[(String, String)],
        lower: &dyn Device,
    ) -> Result<Arc<dyn Device>, Error> {
        let leaf = |bytes: u64| Node::Leaf {
            scheme: "ram".to_owned(),
            address: size::text(bytes),
            options: options.to_vec(),
        };
        let whole_bytes = lower
            .info()
            .size_bytes
            .min(CACHE_GROWTH_BYTES_MAX)
            .next_multiple_of(u64::from(Cache::BLOCK_BYTES_MAX));
        let memory = self.device(&leaf(size_bytes.max(whole_bytes)))?;
        if let Some(member) = self.members.last_mut() {
            member.name = leaf(size_bytes).to_string();
        }
        Ok(memory)
    }

    /// A store that outlives the cache. A file that is not there is made, of the size that its leaf
    /// names.
    fn kept_store(&mut self, store: &Node, block_bytes: u32) -> Result<Arc<dyn Device>, Error> {
        let Node::Leaf { options, .. } = store else { return self.device(store) };
        let option = |wanted: &str| {
            options.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        let size_bytes =
            option("size").and_then(|text| size::parse(text).ok()).map(|size| size.bytes);
        let above = std::mem::replace(&mut self.kept_bytes, size_bytes);
        let store = if u64::from(block_bytes) > SECTOR_BYTES && option("block").is_none() {
            self.device(&store.clone().with("block", block_bytes))
        } else {
            self.device(store)
        };
        self.kept_bytes = above;
        store
    }

    fn cache_options(
        &mut self,
        settings: &Settings<'_>,
        mode: CacheMode,
        store_bytes: u64,
        lower: &dyn Device,
    ) -> Result<CacheOptions, Error> {
        let plain = CacheOptions::default();
        let number = |name: &str, plain: u8| -> Result<u8, Error> {
            Ok(settings.number(name)?.unwrap_or(plain))
        };
        let promote_after = number("promote_after", plain.admission.promote_after)?;
        if !(1..=15).contains(&promote_after) {
            let text = statement!(messages::PROMOTE_AFTER, promote_after = promote_after);
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let cutoff = match self.size(settings, "sequential_cutoff")? {
            Some(0) => None,
            Some(bytes) => Some(bytes),
            // What holds the whole device can keep all of it.
            None => (store_bytes < lower.info().size_bytes).then_some(SEQUENTIAL_CUTOFF_BYTES),
        };
        let block = self.size(settings, "block")?.unwrap_or(plain.block_bytes.into());
        let dirty_percent = number("dirty", plain.dirty_percent)?;
        let keeping = self.keeping_options(settings, KeepingOptions::below(dirty_percent))?;
        Ok(CacheOptions {
            mode,
            block_bytes: u32::try_from(block).unwrap_or(u32::MAX),
            policy: settings.get("policy").and_then(PolicyKind::from_name).unwrap_or_default(),
            admission: AdmissionOptions { sequential_cutoff_bytes: cutoff, promote_after },
            dirty_percent,
            keeping,
        })
    }

    fn keeping_options(
        &mut self,
        settings: &Settings<'_>,
        plain: KeepingOptions,
    ) -> Result<KeepingOptions, Error> {
        let idle = settings.get("writeback_idle").map(size::parse_duration).transpose();
        let idle = idle
            .map_err(|error| Error::new(ErrorKind::Invalid, error).at("cache: writeback_idle"))?;
        Ok(KeepingOptions {
            idle: idle.map_or(plain.idle, |idle| (!idle.is_zero()).then_some(idle)),
            high_percent: settings.number("dirty_high")?.unwrap_or(plain.high_percent),
            low_percent: settings.number("dirty_low")?.unwrap_or(plain.low_percent),
            rate_bytes_per_second: self.size(settings, "writeback_rate")?.filter(|rate| *rate > 0),
        })
    }

    /// The disk in an image. What it lies over is never opened for writing, nor its file where that
    /// is not asked for.
    fn image(
        &mut self,
        settings: &Settings<'_>,
        children: &[Node],
    ) -> Result<Arc<dyn Device>, Error> {
        let [file, backing @ ..] = children else { unreachable!("the count was checked") };
        let at = |error: Error| error.at(format!("image({file})"));
        let image_use = image_use(settings, self.read_only).map_err(at)?;
        let first_carrier = self.carriers.len();
        let above = (self.read_only, self.create_bytes, self.kept_bytes, self.is_image);
        (self.create_bytes, self.kept_bytes) = (None, None);
        self.read_only = image_use != ImageUse::Write;
        self.is_image = true;
        let opened = self.image_file(file, &image_use);
        (self.is_image, self.read_only) = (false, true);
        let backing = opened.and_then(|opened| {
            let backing = backing.first().map(|backing| self.device(&image_leaf(backing)));
            Ok((opened, backing.transpose()?))
        });
        (self.read_only, self.create_bytes, self.kept_bytes, self.is_image) = above;
        let (ImageFile { device: opened, tail, growth }, backing) = backing?;
        let options = ImageOptions { image_use, tail };
        let device = ImageDevice::open(opened, backing, options).map_err(|error| {
            growth.iter().for_each(FileGrowth::undo);
            at(error)
        })?;
        self.notes.extend(device.note().map(|note| note.clone().at(format!("image({file})"))));
        // What the file looks like is nothing to the disk in it.
        self.carriers.truncate(first_carrier);
        self.carry(&device)?;
        Ok(Arc::new(device))
    }

    /// The file of an image, and what it has behind its last whole sector. One that is written to
    /// may grow, once all that it says of itself was found to be in order.
    fn image_file(&mut self, file: &Node, image_use: &ImageUse) -> Result<ImageFile, Error> {
        let (leaf, before) = (image_leaf(file), (self.members.len(), self.leaves.len()));
        let device = self.device(&leaf)?;
        let opened = self.members.last().filter(|_| is_whole_file(file));
        let opened = opened.and_then(|member| member.opened.clone());
        let tail = opened.as_ref().and_then(tail_of).unwrap_or_default();
        let Some(opened) = opened.filter(|opened| {
            let is_file = opened.file.metadata().is_ok_and(|data| data.is_file());
            *image_use == ImageUse::Write && is_file
        }) else {
            return Ok(ImageFile { device, tail, growth: None });
        };
        let at = |error: Error| error.at(format!("image({file})"));
        let header = ImageHeader::read_from(&*device, image_use, &tail).map_err(at)?;
        let Some(room) = header.room() else { return Ok(ImageFile { device, tail, growth: None }) };
        drop(device);
        self.members.truncate(before.0);
        self.leaves.truncate(before.1);
        let (growth, device) = FileGrowth::of(opened, room, || self.device(&leaf)).map_err(at)?;
        // It was longer when they were noted.
        if let (Some(member), Some(known)) = (self.members.last_mut(), self.leaves.last_mut()) {
            *known = Leaf::of(growth.file());
            member.opened = known.file(growth.path());
        }
        Ok(ImageFile { device, tail: Vec::new(), growth: Some(growth) })
    }

    /// Notes a device that is marked as an array's member.
    fn carry(&mut self, device: &dyn Device) -> Result<(), Error> {
        if !device.info().modelled
            && let Some(mark) = superblocks::mark_of(device)?
        {
            self.carriers.push((device.describe().to_string(), mark));
        }
        Ok(())
    }

    /// A container, opened with the passphrase that a file holds.
    fn luks(
        &mut self,
        settings: &Settings<'_>,
        said: &[(String, String)],
        children: &[Node],
    ) -> Result<Arc<dyn Device>, Error> {
        let [child] = children else { unreachable!("the count was checked") };
        let files = self.context.files;
        let at = |error: Error| error.at(format!("luks({child})"));
        let path = encryption::passphrase_file(settings).map_err(at)?;
        let file = files.open(&path, true, None).map_err(at)?;
        let (passphrase, note) = encryption::read_passphrase(file, &path).map_err(at)?;
        self.notes.extend(note);
        let header = settings.get("header").map(text_path);
        let open = |path: &Path| encryption::header_device(files.open(path, true, None)?, path);
        let header = header.map(|path| open(&path).map_err(at)).transpose()?;
        let (members, leaves, carriers) =
            (self.members.len(), self.leaves.len(), self.carriers.len());
        let mut below = self.device(child)?;
        files.make_container(&*below).map_err(at)?;
        let read = match &header {
            Some(file) => LuksHeader::read_from(file),
            None => LuksHeader::read_from(&*below),
        };
        if let Some(leaf) = encryption::with_sectors(child, &*below, &read.map_err(at)?) {
            self.members.truncate(members);
            self.leaves.truncate(leaves);
            self.carriers.truncate(carriers);
            drop(below);
            below = self.device(&leaf)?;
        }
        let options = LuksOptions { discard: settings.is("discard", "yes"), said: said.to_vec() };
        let header = header.as_ref().map(|file| file as &dyn Device);
        let promise = |bytes| {
            let spared = |error: Error| {
                let text = statement!(messages::PASSPHRASE_MEMORY, size = size::text(bytes));
                Error::with_source(error.kind(), "", error)
                    .retold(statement!(messages::PASSPHRASE_ARGON2, text = text))
            };
            files.promise_memory(bytes).map_err(spared)
        };
        let device = LuksDevice::open(below, header, &passphrase, options, &promise).map_err(at)?;
        self.notes.extend(device.note().map(|note| note.clone().at(format!("luks({child})"))));
        self.carry(&device)?;
        Ok(Arc::new(device))
    }

    /// A trace and what it is of. The trace is no device: it grows, on either clock, and also over
    /// what is only read.
    fn record(&mut self, children: &[Node]) -> Result<Arc<dyn Device>, Error> {
        let [trace, below] = children else { unreachable!("the count was checked") };
        let Node::Leaf { scheme, address, options } = trace else {
            return Err(Error::new(
                ErrorKind::Invalid,
                statement!(messages::TRACE_WHERE_NAMED, trace = trace),
            ));
        };
        if scheme != "file" || !options.is_empty() {
            let text = statement!(messages::NO_TRACE, trace = trace);
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let below = self.device(below)?;
        let path = text_path(address);
        let file = self.context.files.open_kept(&path, 0)?;
        Ok(Arc::new(RecordDevice::new(below, file, &path)?))
    }

    fn leaf(
        &mut self,
        leaf: &Node,
        scheme: &str,
        address: &str,
        settings: &Settings<'_>,
    ) -> Result<Arc<dyn Device>, Error> {
        if let Some(device) = self.context.files.stand_in_remote(leaf) {
            return Ok(device);
        }
        match scheme {
            "file" => self.file(&text_path(address), settings),
            "ram" | "null" => {
                let size_bytes = self.parse_size(&format!("{scheme}:{address}"), address)?;
                let block_bytes = self.block(settings)?.unwrap_or(512);
                Ok(match scheme {
                    "ram" => Arc::new(match self.service_time(settings)? {
                        Some(time) => RamDevice::modelled(size_bytes, block_bytes, time)?,
                        None => RamDevice::new(size_bytes, block_bytes)?,
                    }),
                    _ => Arc::new(NullDevice::new(size_bytes, block_bytes)?),
                })
            }
            "model" => {
                let options = ModelOptions {
                    keep_data: settings.is("data", "keep"),
                    keep_first_bytes: self.size(settings, "keep_first")?.unwrap_or(0),
                    link: settings.get("link").map(str::to_owned),
                    size_bytes: self.size(settings, "size")?,
                    draw: settings.number("draw")?,
                };
                self.models += 1;
                let seed = self.context.seed;
                Ok(self.common.with(|common| common.load(address, &options, seed))?)
            }
            "nbd" | "nbds" | "nbd+unix" | "nbds+unix" => {
                let device = nbd::open(leaf, scheme, address, settings, self.read_only)?;
                self.remote(leaf, device)
            }
            "rbd" => {
                let mut image = RbdImage::with(address, settings)?;
                image.read_only |= self.read_only;
                let server = self.context.files.serve_image(&image)?;
                self.notes.extend_from_slice(&server.notes);
                self.remote(leaf, server.connect(&image, leaf)?)
            }
            scheme => unreachable!("the leaf {scheme} is in the table"),
        }
    }

    /// A leaf that a server serves, which may be a member of an array.
    fn remote(&mut self, leaf: &Node, device: NbdDevice) -> Result<Arc<dyn Device>, Error> {
        let export = Arc::new(device);
        let device: Arc<dyn Device> = Arc::clone(&export) as _;
        if !device.info().read_only {
            self.context.files.admit_remote(leaf, &device)?;
        }
        // A server that greets may not answer, and no start waits for it for ever.
        let time = self.context.files.member_time().unwrap_or(ANSWER_TIME);
        let bounded = DeadlineDevice::new(Arc::clone(&device), time);
        let mark = superblocks::mark_of(&bounded)?;
        if let Some(silence) = bounded.watch().failure() {
            return Err(Error::new(ErrorKind::TimedOut, silence));
        }
        self.carriers.extend(mark.map(|mark| (device.describe().to_string(), mark)));
        self.exports.push(export);
        Ok(device)
    }

    fn file(&mut self, path: &Path, settings: &Settings<'_>) -> Result<Arc<dyn Device>, Error> {
        if let Some(device) = self.context.files.stand_in(path) {
            return Ok(device);
        }
        let options = FileOptions {
            read_only: self.read_only || settings.is("read_only", "yes"),
            direct: match settings.get("direct") {
                Some("yes") => Direct::Yes,
                Some("no") => Direct::No,
                _ => Direct::Auto,
            },
            offset_bytes: self.size(settings, "offset")?.unwrap_or(0),
            size_bytes: self.size(settings, "size")?,
            block_bytes: self.block(settings)?,
            grows: self.is_image,
        };
        let create = self
            .create_bytes
            .map(|bytes| options.size_bytes.unwrap_or(bytes).saturating_add(options.offset_bytes));
        let file = match self.kept_bytes.filter(|_| !options.read_only) {
            None if self.is_image => self.context.files.open_disk_image(path, options.read_only)?,
            Some(bytes) => {
                self.context.files.open_kept(path, bytes.saturating_add(options.offset_bytes))?
            }
            None => self.context.files.open(
                path,
                options.read_only,
                create.filter(|_| !options.read_only),
            )?,
        };
        let mark = if options.offset_bytes == 0 { superblocks::mark(&file) } else { None };
        self.leaves.push(Leaf::of(&file));
        let device = FileDevice::new(file, path, &options)?;
        if let Some(mark) = mark {
            self.carriers.push((device.describe().to_string(), mark));
        }
        if let Some(reason) = device.direct_refused() {
            let note = statement!(messages::THROUGH_PAGE_CACHE, reason = reason);
            self.notes.push(note.at(path.display()));
        }
        Ok(Arc::new(device))
    }

    fn fault_options(&mut self, settings: &Settings<'_>) -> Result<FaultOptions, Error> {
        let plain = FaultOptions::default();
        let bad = settings.get("bad").map(table::ranges).transpose();
        let bad = bad.map_err(|error| Error::new(ErrorKind::Invalid, error).at("bad"))?;
        let delay = settings.get("delay").map(size::parse_duration).transpose();
        let number = self.common.with(|common| {
            common.faults += 1;
            common.faults - 1
        });
        let seed = derive_seed(self.context.seed, "fault", number);
        Ok(FaultOptions {
            seed: settings.number("seed")?.unwrap_or(seed),
            read_error: settings.number("read_error")?.unwrap_or(plain.read_error),
            write_error: settings.number("write_error")?.unwrap_or(plain.write_error),
            flush_error: settings.number("flush_error")?.unwrap_or(plain.flush_error),
            read_flip: settings.number("read_flip")?.unwrap_or(plain.read_flip),
            write_flip: settings.number("write_flip")?.unwrap_or(plain.write_flip),
            write_lost: settings.number("write_lost")?.unwrap_or(plain.write_lost),
            write_misdirected: settings
                .number("write_misdirected")?
                .unwrap_or(plain.write_misdirected),
            bad: bad
                .unwrap_or_default()
                .into_iter()
                .map(|(offset, length)| BadRange { offset, length })
                .collect(),
            delay: delay
                .map_err(|error| Error::new(ErrorKind::Invalid, error).at("delay"))?
                .unwrap_or(plain.delay),
            delay_probability: settings
                .number("delay_probability")?
                .unwrap_or(plain.delay_probability),
            stuck_after: settings.number("stuck_after")?,
            vanish_after: settings.number("vanish_after")?,
            volatile: settings.is("volatile", "yes"),
            lying_flush: settings.is("lie", "flush"),
            shorn: settings.is("shorn", "yes"),
        })
    }

    fn size(&mut self, settings: &Settings<'_>, name: &str) -> Result<Option<u64>, Error> {
        settings
            .get(name)
            .map(|value| self.parse_size(&format!("{name}={value}"), value))
            .transpose()
    }

    /// What a request to memory takes, where that is stated.
    fn service_time(&mut self, settings: &Settings<'_>) -> Result<Option<ServiceTime>, Error> {
        let bytes_per_second = self.size(settings, "rate")?;
        let Some(latency) = settings.get("latency") else {
            return match bytes_per_second {
                None => Ok(None),
                Some(_) => {
                    let text = messages::RATE_WITHOUT_LATENCY;
                    Err(Error::new(ErrorKind::Invalid, text))
                }
            };
        };
        let per_request = size::parse_duration(latency)
            .map_err(|error| Error::new(ErrorKind::Invalid, error).at("latency"))?;
        Ok(Some(ServiceTime { per_request, bytes_per_second }))
    }

    fn block(&mut self, settings: &Settings<'_>) -> Result<Option<u32>, Error> {
        let Some(bytes) = self.size(settings, "block")? else { return Ok(None) };
        let too_large = |_| {
            Error::new(ErrorKind::Invalid, messages::BLOCK_TOO_LARGE)
                .at(format!("block={}", size::text(bytes)))
        };
        u32::try_from(bytes).map(Some).map_err(too_large)
    }

    fn parse_size(&mut self, place: &str, text: &str) -> Result<u64, Error> {
        let size = size::parse(text).map_err(|error| {
            let said = error.text().at(place);
            Error::with_source(ErrorKind::Invalid, "", error).retold(said)
        })?;
        if let Some(note) = size.note
            && !self.notes.contains(&note)
        {
            self.notes.push(note);
        }
        Ok(size.bytes)
    }
}
