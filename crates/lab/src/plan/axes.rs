//! What `[matrix]` and each `[[add]]` say for every axis, checked value by value.

use std::collections::HashSet;

use array::md;
use block::Node;
use export::RemovalPolicy;
use export::image::ImageKind;

use super::document::{Item, Place, Reader, suggestion};
use super::matrix::CONFIGURATIONS_MAX;
use super::members::{self, MemberSet};
use super::suite::{SuiteAxis, Workloads, axis_name};
use crate::{processor, stacks};
use host::Error;
use host::limits::promise_memory;
use host::mount::{FILE_SYSTEMS, FileSystem};

pub(crate) const MEMBERS: &str = "members";
pub(crate) const LEVEL: &str = "level";
pub(crate) const CHUNK: &str = "chunk";
pub(crate) const CACHE: &str = "cache";
pub(crate) const FILE_SYSTEM: &str = "file_system";
pub(crate) const MAKE_OPTIONS: &str = "make_options";
pub(crate) const MOUNT_OPTIONS: &str = "mount_options";
pub(crate) const POLICY: &str = "policy";
/// What carries the file system instead of the device: an image, a file of an outer file system.
pub(crate) const IMAGE: &str = "image";
pub(crate) const IMAGE_SIZE: &str = "image_size";
/// Whether what goes to an image passes the page cache of the outer file system by.
pub(crate) const IMAGE_IO: &str = "image_io";
pub(crate) const OUTER_FILE_SYSTEM: &str = "outer_file_system";
pub(crate) const OUTER_MAKE_OPTIONS: &str = "outer_make_options";
pub(crate) const OUTER_MOUNT_OPTIONS: &str = "outer_mount_options";
/// What an array is by its members: superblocks of a version, or nothing.
pub(crate) const METADATA: &str = "metadata";
pub(crate) const LAYOUT: &str = "layout";
/// What brings the members to agree after a crash.
pub(crate) const CONSISTENCY: &str = "consistency";
/// What a bit of the write-intent bitmap covers.
pub(crate) const BITMAP: &str = "bitmap";
/// How long a member may take for an answer.
pub(crate) const MEMBER_TIMEOUT: &str = "member_timeout";
pub(crate) const UPKEEP: &str = "upkeep";
/// Where the work is done: on this machine, or in a guest on modelled disks.
pub(crate) const PLACE: &str = "place";
/// Whose array it is, in a guest: raidloom's, or the guest's own md.
pub(crate) const ARRAY: &str = "array";
/// How many processors the work may run on.
pub(crate) const PROCESSORS: &str = "processors";
/// A guest's memory, its page cache included.
pub(crate) const MEMORY: &str = "memory";
pub(crate) const SCHEDULER: &str = "scheduler";
pub(crate) const READ_AHEAD: &str = "read_ahead";
/// The longest request that a guest's disk is given.
pub(crate) const MAX_REQUEST: &str = "max_request";
/// The most requests that a guest's disk is given at a time.
pub(crate) const QUEUE_DEPTH: &str = "queue_depth";
/// What a request and its bytes cost the processor of a guest, where its suite is one that loads
/// devices.
pub(crate) const PROCESSOR: &str = "processor";
/// Whether writes may stay in the cache of a guest's disk until they are flushed.
pub(crate) const WRITE_CACHE: &str = "write_cache";
/// A guest's disks are no larger than this.
pub(crate) const DISK_SIZE: &str = "disk_size";
/// Whether all members of a guest's array are there.
pub(crate) const STATE: &str = "state";
/// Every axis there is, in the order in which they are shown.
pub(crate) const AXES: [&str; 32] = [
    MEMBERS,
    LEVEL,
    CHUNK,
    PLACE,
    ARRAY,
    LAYOUT,
    METADATA,
    CONSISTENCY,
    BITMAP,
    MEMBER_TIMEOUT,
    CACHE,
    UPKEEP,
    FILE_SYSTEM,
    MAKE_OPTIONS,
    MOUNT_OPTIONS,
    POLICY,
    IMAGE,
    IMAGE_SIZE,
    IMAGE_IO,
    OUTER_FILE_SYSTEM,
    OUTER_MAKE_OPTIONS,
    OUTER_MOUNT_OPTIONS,
    PROCESSORS,
    MEMORY,
    PROCESSOR,
    SCHEDULER,
    READ_AHEAD,
    MAX_REQUEST,
    QUEUE_DEPTH,
    WRITE_CACHE,
    DISK_SIZE,
    STATE,
];
/// Those whose values are texts, and which an `[[add]]` takes from the matrix when it does not name
/// them; in the order in which one may leave another without meaning.
pub(super) const TEXT_AXES: [&str; 29] =
    *AXES.last_chunk().expect("members, level and chunk come before them");
/// Those that mean something only to a file system.
const ON_FILE_SYSTEMS: [&str; 4] = [MAKE_OPTIONS, MOUNT_OPTIONS, POLICY, IMAGE];
/// Those that mean something only to an image.
const ON_IMAGES: [&str; 5] =
    [IMAGE_SIZE, IMAGE_IO, OUTER_FILE_SYSTEM, OUTER_MAKE_OPTIONS, OUTER_MOUNT_OPTIONS];
/// Those that mean something only to a guest.
const ON_GUESTS: [&str; 10] = [
    ARRAY,
    MEMORY,
    PROCESSOR,
    SCHEDULER,
    READ_AHEAD,
    MAX_REQUEST,
    QUEUE_DEPTH,
    WRITE_CACHE,
    DISK_SIZE,
    STATE,
];
/// Those that mean something only to one level: an `[[add]]`, which names its own, takes none from
/// elsewhere.
const OF_LEVEL: [&str; 1] = [LAYOUT];

/// The version of the superblocks that `array create` makes.
pub(crate) const VERSION: &str = "1.2";
/// The values of `consistency`; the first is what `array create` makes.
pub(crate) const CONSISTENCIES: [&str; 3] = ["resync", WITH_BITMAP, WITH_PPL];
/// The value of `consistency` for a write-intent bitmap.
pub(crate) const WITH_BITMAP: &str = "bitmap";
/// The value of `consistency` for a partial parity log.
pub(crate) const WITH_PPL: &str = "ppl";
/// The values of `upkeep`.
pub(crate) const ON: &str = "on";
pub(crate) const OFF: &str = "off";

/// The value of `write_cache` for one that Linux is not told of.
pub(crate) const UNFLUSHED: &str = "unflushed";

/// The values of `place`.
pub(crate) const HOST: &str = "host";
pub(crate) const GUEST: &str = "guest";
/// The values of `array`.
const RAIDLOOM: &str = "raidloom";
pub(crate) const MD: &str = "md";
/// The schedulers of Linux.
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The values of `image_io`: through the page cache of the outer file system, or past it.
const BUFFERED: &str = "buffered";
pub(crate) const DIRECT: &str = "direct";

/// The value of `cache`, `file_system` and `image` for none.
pub(crate) const NONE: &str = "none";
/// The value of `make_options` and `mount_options` for none.
pub(crate) const DEFAULTS: &str = "defaults";

/// Where the device below stands in the template of a cache.
const DEVICE: &str = "{device}";
/// Where a file stands that the run makes for the cache, empty at the start of every visit.
const STORE: &str = "{store}";

/// The smallest unit of a chunk in bytes.
const SECTOR_BYTES: u64 = block::SECTOR_BYTES;

/// How members become one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// Its name in plans, and in stack texts where it is a layer.
    pub(super) name: &'static str,
    /// Whether it deals members out in chunks.
    pub(super) has_chunks: bool,
    /// Whether it may do without a member.
    pub(super) is_redundant: bool,
    /// Whether there is more than one way to deal them out.
    pub(super) has_layouts: bool,
}

impl Level {
    /// Whether an axis of texts means something to a configuration of this level that has these
    /// values on the axes before it.
    pub(super) fn knows<'a>(self, axis: &str, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        let is_array = self.name != SINGLE;
        let has = |axis: &str| value(axis).is_some_and(|value| value != NONE);
        let has_cache = has(CACHE);
        let in_guest = value(PLACE) == Some(GUEST);
        let by_md = value(ARRAY) == Some(MD);
        let has_metadata = is_array
            && (by_md || value(METADATA).map_or(self.is_redundant, |metadata| metadata != NONE));
        match axis {
            ARRAY => in_guest && is_array,
            STATE => in_guest && has_metadata && self.is_redundant,
            METADATA => is_array && !by_md,
            MEMBER_TIMEOUT => is_array && !in_guest,
            LAYOUT => self.has_layouts,
            CONSISTENCY => has_metadata && self.is_redundant,
            BITMAP => value(CONSISTENCY) == Some(WITH_BITMAP) && !by_md,
            UPKEEP => (has_metadata || has_cache) && !in_guest,
            axis if ON_GUESTS.contains(&axis) => in_guest,
            axis if ON_FILE_SYSTEMS.contains(&axis) => has(FILE_SYSTEM),
            axis if ON_IMAGES.contains(&axis) => has(IMAGE),
            _ => true,
        }
    }
}

/// The first member alone.
pub(super) const SINGLE: &str = "single";

const fn level(name: &'static str, has_chunks: bool, is_redundant: bool) -> Level {
    Level { name, has_chunks, is_redundant, has_layouts: false }
}

const fn with_layouts(level: Level) -> Level {
    Level { has_layouts: true, ..level }
}

const LEVELS: [Level; 8] = [
    level(SINGLE, false, false),
    level("linear", false, false),
    with_layouts(level("raid0", true, false)),
    level("raid1", false, true),
    with_layouts(level("raid10", true, true)),
    level("raid4", true, true),
    with_layouts(level("raid5", true, true)),
    with_layouts(level("raid6", true, true)),
];

/// Whether a level deals its members out in chunks.
pub(super) fn has_chunks(name: &str) -> bool {
    LEVELS.iter().any(|level| level.name == name && level.has_chunks)
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) place: Place,
}

/// A named cache: a stack text with a place for what is below.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    pub(super) name: String,
    template: Node,
}

impl Cache {
    /// The cache in front of a device.
    pub(super) fn over(&self, device: &Node) -> Result<Node, Error> {
        members::map_leaves(self.template.clone(), &|leaf| {
            Ok(if is_place(&leaf) { device.clone() } else { leaf })
        })
    }
}

fn is_place(node: &Node) -> bool {
    matches!(node, Node::Leaf { scheme, address, .. } if scheme == "file" && address == DEVICE)
}

/// Reads `[caches]`: names and stack texts.
pub(super) fn read_caches(section: Option<Reader<'_>>) -> Result<Vec<Cache>, Error> {
    let Some(section) = section else { return Ok(Vec::new()) };
    let read = |(name, place, item): (&str, &Place, &Item)| {
        if name == NONE {
            return Err(
                place.error("a cache cannot be called `none`: that is the name of having none")
            );
        }
        let template = stacks::parse(item.text()?).map_err(|error| item.error(error))?;
        let template = with_store(name, template).map_err(|text| item.error(text))?;
        if template.leaves().into_iter().filter(|leaf| is_place(leaf)).count() != 1 {
            return Err(item.error(format!(
                "the text of a cache names the device below it once, as {DEVICE}"
            )));
        }
        Ok(Cache { name: name.to_owned(), template: members::absolute_paths(template)? })
    };
    section.named().map(read).collect()
}

/// The template with the file that the run makes in the place of `{store}`, if it has one.
fn with_store(name: &str, template: Node) -> Result<Node, Error> {
    let is_store = |node: &Node| {
        matches!(node,
        Node::Leaf { scheme, address, .. } if scheme == "file" && address == STORE)
    };
    let stores: Vec<&Node> = template.leaves().into_iter().filter(|leaf| is_store(leaf)).collect();
    let has_size = |node: &&Node| {
        matches!(node,
            Node::Leaf { options, .. } if options.iter().any(|(option, _)| option == "size"))
    };
    if stores.len() > 1 || !stores.iter().all(has_size) {
        return Err(Error::usage(format!(
            "a cache has its file once, and says how large it is: file:{STORE}?size=100MiB"
        )));
    }
    if !stores.is_empty()
        && !name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    {
        return Err(Error::usage(format!(
            "`{name}`: the name of a cache with a file consists of letters, digits, - and _"
        )));
    }
    members::map_leaves(template, &|leaf| match leaf {
        Node::Leaf { scheme, address, options } if scheme == "file" && address == STORE => {
            Ok(Node::Leaf {
                scheme,
                address: members::own_file(&format!("cache-{name}.img")),
                options,
            })
        }
        other => Ok(other),
    })
}

/// What a plan has names for.
pub(super) struct Names<'a> {
    pub(super) sets: &'a [MemberSet],
    pub(super) caches: &'a [Cache],
    pub(super) work: &'a Workloads,
}

/// Where the axes over settings of the suites may stand in a table, besides in it itself: as
/// `workload.depth = […]`.
const WORKLOAD: &str = "workload";

impl Names<'_> {
    /// What a table says of the settings of the plan's suites: axes by name, with what is given.
    pub(super) fn suite_items<'t>(
        &self,
        table: &Reader<'t>,
    ) -> Result<Vec<(&'static str, &'t Item)>, Error> {
        let below = table.get_unlisted(WORKLOAD);
        let below = below.map(|item| item.reader(format!("workload of {}", table.name)));
        let below = below.transpose()?;
        let mut found = Vec::new();
        for setting in self.work.settings_of_all() {
            let plain = match AXES.contains(&setting.name) {
                true => None,
                false => table.get_unlisted(setting.name),
            };
            let item = below.as_ref().and_then(|below| below.get(setting.name));
            if let (Some(_), Some(item)) = (plain, item) {
                return Err(item.error(format!("`{}` is given twice", setting.name)));
            }
            found.extend(plain.or(item).map(|item| (setting.name, item)));
        }
        below.map_or(Ok(()), Reader::finish)?;
        Ok(found)
    }
}

/// The values that `[matrix]` or one `[[add]]` gives for each axis.
#[derive(Clone)]
pub(super) struct Selection<'a> {
    pub(super) members: Vec<At<&'a MemberSet>>,
    pub(super) levels: Vec<At<Level>>,
    pub(super) chunks: Vec<At<u64>>,
    /// By axis, in the order of [`TEXT_AXES`]; an axis that is not given has none.
    texts: [Vec<At<String>>; TEXT_AXES.len()],
    /// Axes over settings of the plan's suites.
    pub(super) suites: Vec<SuiteAxis>,
}

impl<'a> Selection<'a> {
    /// What is taken where a table names nothing: all sets of members, and no other axis.
    pub(super) fn usual(names: &Names<'a>, place: &Place) -> Selection<'a> {
        let members =
            names.sets.iter().map(|set| At { value: set, place: place.clone() }).collect();
        Selection {
            members,
            levels: Vec::new(),
            chunks: Vec::new(),
            texts: Default::default(),
            suites: names.work.axes.clone(),
        }
    }

    /// Values of an axis of texts.
    pub(super) fn texts(&self, axis: &str) -> &[At<String>] {
        let index = TEXT_AXES.iter().position(|known| *known == axis).expect("an axis of texts");
        &self.texts[index]
    }

    /// Reads a table; what it does not name is as `usual`.
    pub(super) fn read(
        names: &Names<'a>,
        usual: &Selection<'a>,
        table: &Reader<'_>,
    ) -> Result<Selection<'a>, Error> {
        let (members, level, chunk) = (
            table.get(MEMBERS),
            table.require(LEVEL, "single, linear, raid0, …")?,
            table.get(CHUNK),
        );
        let suites = read_suite_axes(names, usual, table)?;
        let is_suites = |key: &str| {
            key == WORKLOAD || names.work.settings_of_all().iter().any(|known| known.name == key)
        };
        for (key, place, _) in table.named() {
            if !AXES.contains(&key) && !is_suites(key) {
                return Err(place.error(format!(
                    "unknown key `{key}` in {}{}",
                    table.name,
                    suggestion(key, AXES)
                )));
            }
        }
        let members = match members {
            Some(item) => each(item, MEMBERS, |item| named_set(names.sets, item))?,
            None => usual
                .members
                .iter()
                .map(|at| At { value: at.value, place: table.place.clone() })
                .collect(),
        };
        let levels = each(level, LEVEL, named_level)?;
        let chunks = chunk.map_or(Ok(Vec::new()), read_chunks)?;
        let stripes = levels.iter().find(|level| level.value.has_chunks);
        match (stripes, chunk) {
            (Some(level), None) => {
                return Err(level.place.error(format!(
                    "{} needs the axis `chunk` in {}",
                    level.value.name, table.name
                )));
            }
            (None, Some(item)) => {
                return Err(item.error(format!(
                    "`chunk` means nothing to the levels of {}; only striped levels have chunks",
                    table.name
                )));
            }
            _ => (),
        }
        let texts = read_texts(names, usual, table)?;
        let selection = Selection { members, levels, chunks, texts, suites };
        selection.refuse_twice()?;
        Ok(selection)
    }

    fn refuse_twice(&self) -> Result<(), Error> {
        twice(self.members.iter().map(|at| (at.value.name.clone(), &at.place)))?;
        twice(self.levels.iter().map(|at| (at.value.name.to_owned(), &at.place)))?;
        twice(self.chunks.iter().map(|at| (stacks::size_text(at.value), &at.place)))?;
        self.texts
            .iter()
            .try_for_each(|values| twice(values.iter().map(|at| (at.value.clone(), &at.place))))
    }
}

/// The axes over settings of the plan's suites: what the table gives, and what it does not name as
/// elsewhere.
fn read_suite_axes(
    names: &Names<'_>,
    usual: &Selection<'_>,
    table: &Reader<'_>,
) -> Result<Vec<SuiteAxis>, Error> {
    let mut axes = usual.suites.clone();
    for (setting, item) in names.suite_items(table)? {
        let (name, values) = (axis_name(setting), names.work.axis_values(setting, item)?);
        if names.work.axes.iter().any(|axis| axis.name == name) {
            return Err(item.error(format!(
                "`{setting}` is an axis by the list that a [[workload]] gives it"
            )));
        }
        match axes.iter_mut().find(|axis| axis.name == name) {
            Some(axis) => axis.values = values,
            None => axes.push(SuiteAxis { name, values }),
        }
    }
    Ok(axes)
}

/// The axes of texts. Options belong to a file system: a table that names its own takes none from
/// elsewhere.
fn read_texts(
    names: &Names<'_>,
    usual: &Selection<'_>,
    table: &Reader<'_>,
) -> Result<[Vec<At<String>>; TEXT_AXES.len()], Error> {
    let names_own = |axis: &str| match axis {
        MAKE_OPTIONS | MOUNT_OPTIONS => table.get(FILE_SYSTEM).is_some(),
        OUTER_MAKE_OPTIONS | OUTER_MOUNT_OPTIONS => table.get(OUTER_FILE_SYSTEM).is_some(),
        axis => OF_LEVEL.contains(&axis),
    };
    let mut texts: [Vec<At<String>>; TEXT_AXES.len()] = Default::default();
    for (axis, values) in TEXT_AXES.into_iter().zip(&mut texts) {
        *values = match table.get(axis) {
            Some(item) => each(item, axis, |item| text_of(axis, item, names))?,
            None if names_own(axis) => Vec::new(),
            None => usual.texts(axis).to_vec(),
        };
    }
    let any = |axis: &str, is_it: fn(&str) -> bool| {
        let index = TEXT_AXES.iter().position(|known| *known == axis);
        index.is_some_and(|index| texts[index].iter().any(|at: &At<String>| is_it(&at.value)))
    };
    let refuse = |axes: &'static [&'static str], why: &str| {
        axes.iter()
            .find_map(|axis| Some((axis, table.get(axis)?)))
            .map_or(Ok(()), |(axis, item)| Err(item.error(format!("`{axis}` means nothing {why}"))))
    };
    if !any(FILE_SYSTEM, |name| name != NONE) {
        refuse(&ON_FILE_SYSTEMS, &format!("without a file system: give the axis {FILE_SYSTEM}"))?;
    }
    // `image = "none"` beside them is for an [[add]] to change.
    if table.get(IMAGE).is_none() && !any(IMAGE, |kind| kind != NONE) {
        refuse(
            &ON_IMAGES,
            &format!("without an image: give the axis {IMAGE} = \"raw\" or \"vhd\""),
        )?;
    }
    if !any(PLACE, |place| place == GUEST) {
        refuse(
            &ON_GUESTS,
            &format!("on this machine itself: give the axis {PLACE} = \"{GUEST}\""),
        )?;
    }
    Ok(texts)
}

/// The text of one value of an axis, as it stands in settings.
pub(super) fn text_of(axis: &str, item: &Item, names: &Names<'_>) -> Result<String, Error> {
    let scalar = item.scalar()?;
    let text = match axis {
        QUEUE_DEPTH | PROCESSORS => scalar.as_str(),
        _ => item.text()?.trim(),
    };
    match axis {
        CACHE if text != NONE && !names.caches.iter().any(|cache| cache.name == text) => {
            let known: Vec<&str> =
                names.caches.iter().map(|cache| cache.name.as_str()).chain([NONE]).collect();
            Err(item.error(format!(
                "there is no `{text}` in [caches]{}",
                suggestion(text, known.iter().copied())
            )))
        }
        FILE_SYSTEM | OUTER_FILE_SYSTEM
            if (text != NONE || axis == OUTER_FILE_SYSTEM) && FileSystem::named(text).is_err() =>
        {
            // An image is a file of some file system.
            let none = (axis == FILE_SYSTEM).then_some(NONE);
            let known: Vec<&str> =
                FILE_SYSTEMS.iter().map(|known| known.name).chain(none).collect();
            Err(item.error(format!(
                "unknown file system `{text}`{}",
                suggestion(text, known.iter().copied())
            )))
        }
        METADATA => one_of(item, text, &[NONE, VERSION]),
        CONSISTENCY => one_of(item, text, &CONSISTENCIES),
        UPKEEP => one_of(item, text, &[ON, OFF]),
        WRITE_CACHE => one_of(item, text, &[ON, OFF, UNFLUSHED]),
        PLACE => one_of(item, text, &[HOST, GUEST]),
        ARRAY => one_of(item, text, &[RAIDLOOM, MD]),
        SCHEDULER => one_of(item, text, &SCHEDULERS),
        STATE => one_of(item, text, &guest::State::NAMES),
        IMAGE if text == NONE => Ok(text.to_owned()),
        IMAGE => one_of(item, text, &ImageKind::NAMES),
        IMAGE_IO => one_of(item, text, &[BUFFERED, DIRECT]),
        IMAGE_SIZE | READ_AHEAD | MAX_REQUEST | DISK_SIZE => {
            Ok(stacks::size_text(read_size(item)?))
        }
        MEMORY => {
            let bytes = read_size(item)?;
            promise_memory(MEMORY, bytes).map_err(|error| item.error(error))?;
            Ok(stacks::size_text(bytes))
        }
        PROCESSOR if text == NONE => Ok(text.to_owned()),
        PROCESSOR => processor::parse(text)
            .map(|processor| processor.to_string())
            .map_err(|text| item.error(text)),
        QUEUE_DEPTH => match text.parse() {
            Ok(1..=256_u32) => Ok(text.to_owned()),
            _ => Err(item.error(format!("`{text}`: expected a number from 1 to 256"))),
        },
        PROCESSORS => match text.parse() {
            Ok(1..=1024_u32) => Ok(text.to_owned()),
            _ => Err(item.error(format!("`{text}`: expected a number from 1 to 1024"))),
        },
        LAYOUT => layout(text).ok_or_else(|| {
            item.error(format!(
                "`{text}` is no layout of md's: left-symmetric (ls), left-asymmetric (la), \
                right-symmetric (rs), right-asymmetric (ra), n2, f2, o2, original, alternate, …"
            ))
        }),
        BITMAP if text == DEFAULTS => Ok(text.to_owned()),
        BITMAP => Ok(stacks::size_text(read_size(item)?)),
        MEMBER_TIMEOUT if text == NONE => Ok(text.to_owned()),
        MEMBER_TIMEOUT => stack::size::parse_duration(text)
            .map(block::duration_text)
            .map_err(|error| item.error(error)),
        POLICY => text
            .parse::<RemovalPolicy>()
            .map(|policy| policy.to_string())
            .map_err(|text| item.error(text)),
        MAKE_OPTIONS | MOUNT_OPTIONS | OUTER_MAKE_OPTIONS | OUTER_MOUNT_OPTIONS
            if text.is_empty() =>
        {
            Err(item.error(format!("an empty text; \"{DEFAULTS}\" is for no options")))
        }
        _ => Ok(text.to_owned()),
    }
}

fn one_of(item: &Item, text: &str, words: &[&str]) -> Result<String, Error> {
    if words.contains(&text) {
        return Ok(text.to_owned());
    }
    let known = words.join(", ");
    Err(item.error(format!(
        "`{text}`: expected one of {known}{}",
        suggestion(text, words.iter().copied())
    )))
}

/// A layout by its long name.
fn layout(text: &str) -> Option<String> {
    [md::Level::Raid6, md::Level::Raid10, md::Level::Raid0]
        .into_iter()
        .find_map(|level| mdtools::layout(level, Some(text)).ok())
        .map(|layout| layout.to_string())
}

fn each<T>(
    item: &Item,
    axis: &str,
    read: impl Fn(&Item) -> Result<T, Error>,
) -> Result<Vec<At<T>>, Error> {
    values(item, axis)?
        .iter()
        .map(|item| Ok(At { value: read(item)?, place: item.place.clone() }))
        .collect()
}

/// The values that an axis is given.
pub(super) fn values<'a>(item: &'a Item, axis: &str) -> Result<&'a [Item], Error> {
    let items = item.list();
    if items.is_empty() {
        return Err(
            item.error(format!("the axis `{axis}` is empty: it would leave no configuration"))
        );
    }
    // Before one of them is read.
    if items.len() as u64 > CONFIGURATIONS_MAX {
        return Err(item.error(format!(
            "the axis `{axis}` has {} values; at most {CONFIGURATIONS_MAX} configurations are taken",
            items.len()
        )));
    }
    Ok(items)
}

fn twice<'a>(values: impl Iterator<Item = (String, &'a Place)>) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for (value, place) in values {
        if let Some(value) = seen.replace(value) {
            return Err(place.error(format!("{value} is given twice")));
        }
    }
    Ok(())
}

fn named_set<'a>(sets: &'a [MemberSet], item: &Item) -> Result<&'a MemberSet, Error> {
    let name = item.text()?;
    let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    let set = sets.iter().find(|set| set.name == name);
    set.ok_or_else(|| {
        item.error(format!(
            "there is no [members.{name}]{}",
            suggestion(name, names.iter().copied())
        ))
    })
}

fn named_level(item: &Item) -> Result<Level, Error> {
    let name = item.text()?;
    let known = LEVELS.into_iter().find(|known| known.name == name);
    known.ok_or_else(|| {
        item.error(format!(
            "unknown level `{name}`{}",
            suggestion(name, LEVELS.iter().map(|known| known.name))
        ))
    })
}

pub(super) fn read_size(item: &Item) -> Result<u64, Error> {
    stacks::parse_size(&item.scalar()?).map_err(|text| item.error(text))
}

/// A list of sizes, or `{ from = "4KiB", to = "512KiB", times = 2 }`.
fn read_chunks(item: &Item) -> Result<Vec<At<u64>>, Error> {
    let chunks = match item.reader(CHUNK) {
        Ok(range) => {
            let (from, to) =
                (range.require("from", "the first size")?, range.require("to", "the last size")?);
            let times = range.get("times").map_or(Ok(2), |item| item.whole(2, 1 << 20))?;
            range.finish()?;
            let (first, last) = (read_size(from)?, read_size(to)?);
            if first > last {
                return Err(to.error("`to` is smaller than `from`: the axis is empty"));
            }
            if first == 0 {
                return Err(from.error("a chunk of 0 bytes is no chunk"));
            }
            let sizes = std::iter::successors(Some(first), |size| size.checked_mul(times))
                .take_while(|size| *size <= last);
            sizes.map(|value| At { value, place: item.place.clone() }).collect()
        }
        Err(_) => each(item, CHUNK, read_size)?,
    };
    for At { value, place } in &chunks {
        if *value == 0 || !value.is_multiple_of(SECTOR_BYTES) {
            return Err(place.error(format!(
                "a chunk of {} is not possible: it has to be a multiple of {SECTOR_BYTES} bytes, \
                and more than 0",
                stacks::size_text(*value)
            )));
        }
    }
    Ok(chunks)
}
