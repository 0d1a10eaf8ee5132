//! What `[matrix]` and each `[[add]]` say for every axis, checked value by value.

use std::collections::HashSet;
use std::fmt::Display;

use array::md;
use block::Node;
use export::RemovalPolicy;
use export::image::ImageKind;

use super::catalogue;
use super::document::{
    Item, LocatedValue, Reader, SourceLocation, given_twice, suggestion, unknown_key, values,
};
use super::members::{self, MemberSet};
use super::suite::{SuiteAxis, Workloads};
use crate::cell::names::*;
use crate::cell::values::{
    ArrayMaker, Consistency, DEFAULTS, ImageIo, Machine, Metadata, NONE, Scheduler, Switch,
    WriteCache,
};
use crate::cell::{LEVELS, Level};
use crate::{processor, stacks};
use host::Error;
use host::limits::promise_memory;
use host::mount::{FILE_SYSTEMS, FileSystem};
use words::{Text, statement};

/// Those whose values are texts, and which an `[[add]]` takes from the matrix when it does not name
/// them; in the order in which one may leave another without meaning.
pub(super) const TEXT_AXES: [&str; 30] =
    *AXES.last_chunk().expect("members, level and chunk come before them");
/// Those that mean something only to a file system.
const ON_FILE_SYSTEMS: [&str; 4] = [MAKE_OPTIONS, MOUNT_OPTIONS, POLICY, IMAGE];
/// Those that mean something only to an image.
const ON_IMAGES: [&str; 5] =
    [IMAGE_SIZE, IMAGE_IO, OUTER_FILE_SYSTEM, OUTER_MAKE_OPTIONS, OUTER_MOUNT_OPTIONS];
/// Those that mean something only to a guest.
const ON_GUESTS: [&str; 10] = [
    ARRAY,
    KERNEL,
    MEMORY,
    PROCESSOR,
    SCHEDULER,
    READ_AHEAD,
    MAX_REQUEST,
    QUEUE_DEPTH,
    WRITE_CACHE,
    DISK_SIZE,
];
/// Those that mean something only to one level: an `[[add]]`, which names its own, takes none from
/// elsewhere.
const OF_LEVEL: [&str; 1] = [LAYOUT];

/// Where the device below stands in the template of a cache.
const DEVICE: &str = "{device}";
/// Where a file stands that the run makes for the cache, empty at the start of every visit.
const STORE: &str = "{store}";

/// md's layouts, for those who name another.
const LAYOUTS: &str = "left-symmetric (ls), left-asymmetric (la), right-symmetric (rs), \
    right-asymmetric (ra), n2, f2, o2, original, alternate, …";

/// The smallest unit of a chunk in bytes.
const SECTOR_BYTES: u64 = block::SECTOR_BYTES;

/// Whether an axis of texts means something to a configuration of a level that has these values on
/// the axes before it.
pub(super) fn is_known<'a>(
    level: Level,
    axis: &str,
    value: impl Fn(&str) -> Option<&'a str>,
) -> bool {
    let has = |axis: &str| value(axis).is_some_and(|value| value != NONE);
    let is = |axis: &str, word: &dyn Display| value(axis).is_some_and(|it| it == word.to_string());
    let has_cache = has(CACHE);
    let in_guest = is(PLACE, &Machine::Guest);
    let by_md = is(ARRAY, &ArrayMaker::Md);
    let has_metadata = level.is_array()
        && (by_md || value(METADATA).map_or(level.is_redundant, |metadata| metadata != NONE));
    match axis {
        ARRAY => in_guest && level.is_array(),
        STATE => has_metadata && level.is_redundant,
        METADATA => level.is_array() && !by_md,
        MEMBER_TIMEOUT => level.is_array() && !in_guest,
        LAYOUT => level.has_layouts,
        CONSISTENCY => has_metadata && level.is_redundant,
        BITMAP => is(CONSISTENCY, &Consistency::Bitmap) && !by_md,
        UPKEEP => (has_metadata || has_cache) && !in_guest,
        axis if ON_GUESTS.contains(&axis) => in_guest,
        axis if ON_FILE_SYSTEMS.contains(&axis) => has(FILE_SYSTEM),
        axis if ON_IMAGES.contains(&axis) => has(IMAGE),
        _ => true,
    }
}

/// A named cache: a stack text with a place for what is below.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    pub(super) name: String,
    template: Node,
}

impl Cache {
    /// Whether all that it has of its own is memory with a modelled time.
    pub(super) fn is_modelled_memory(&self) -> bool {
        let own = self.template.leaves().into_iter().filter(|leaf| !is_place(leaf));
        own.into_iter().all(stacks::is_modelled_memory)
    }

    /// The cache in front of a device.
    pub(super) fn over(&self, device: &Node) -> Result<Node, Error> {
        stacks::map_leaves(self.template.clone(), &|leaf| {
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
    let read = |(name, place, item): (&str, &SourceLocation, &Item)| {
        if name == NONE {
            return Err(place.error(catalogue::CACHE_CALLED_NONE));
        }
        let template = stacks::parse(item.text()?).map_err(|error| item.error(error))?;
        let template = with_store(name, template).map_err(|error| item.error(error))?;
        if template.leaves().into_iter().filter(|leaf| is_place(leaf)).count() != 1 {
            return Err(item.error(statement!(catalogue::CACHE_PLACE, place = DEVICE)));
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
        let example = format!("file:{STORE}?size=100MiB");
        return Err(Error::usage(statement!(catalogue::CACHE_FILE, example = example)));
    }
    if !stores.is_empty()
        && !name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    {
        return Err(Error::usage(statement!(catalogue::CACHE_NAME, name = name)));
    }
    stacks::map_leaves(template, &|leaf| match leaf {
        Node::Leaf { scheme, address, options } if scheme == "file" && address == STORE => {
            Ok(Node::Leaf {
                scheme,
                address: stacks::own_file(&format!("cache-{name}.img")),
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
    /// Stacks that this check has tried out.
    pub(super) runs: &'a stacks::DryRuns,
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
        let below =
            below.map(|item| item.reader(statement!(catalogue::OF_TABLE, table = &table.name)));
        let below = below.transpose()?;
        let mut found = Vec::new();
        for setting in self.work.settings_of_all() {
            let plain = match AXES.contains(&setting.name) {
                true => None,
                false => table.get_unlisted(setting.name),
            };
            let item = below.as_ref().and_then(|below| below.get(setting.name));
            if let (Some(_), Some(item)) = (plain, item) {
                return Err(item.error(given_twice(&format!("`{}`", setting.name))));
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
    pub(super) members: Vec<LocatedValue<&'a MemberSet>>,
    pub(super) levels: Vec<LocatedValue<Level>>,
    pub(super) chunks: Vec<LocatedValue<u64>>,
    /// By axis, in the order of [`TEXT_AXES`]; an axis that is not given has none.
    texts: [Vec<LocatedValue<String>>; TEXT_AXES.len()],
    /// Axes over settings of the plan's suites.
    pub(super) suites: Vec<SuiteAxis>,
}

impl<'a> Selection<'a> {
    /// What is taken where a table names nothing: all sets of members, and no other axis.
    pub(super) fn usual(names: &Names<'a>, place: &SourceLocation) -> Selection<'a> {
        let members = names
            .sets
            .iter()
            .map(|set| LocatedValue { value: set, place: place.clone() })
            .collect();
        Selection {
            members,
            levels: Vec::new(),
            chunks: Vec::new(),
            texts: Default::default(),
            suites: names.work.axes.clone(),
        }
    }

    /// Values of an axis of texts.
    pub(super) fn texts(&self, axis: &str) -> &[LocatedValue<String>] {
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
                return Err(place.error(unknown_key(key, &table.name, suggestion(key, AXES))));
            }
        }
        let members = match members {
            Some(item) => each(item, MEMBERS, |item| named_set(names.sets, item))?,
            None => usual
                .members
                .iter()
                .map(|at| LocatedValue { value: at.value, place: table.place.clone() })
                .collect(),
        };
        let levels = each(level, LEVEL, named_level)?;
        let chunks = chunk.map_or(Ok(Vec::new()), read_chunks)?;
        let stripes = levels.iter().find(|level| level.value.has_chunks);
        match (stripes, chunk) {
            (Some(level), None) => {
                let (said, name) = (catalogue::LEVEL_NEEDS_CHUNK, level.value.name);
                return Err(level.place.error(statement!(said, level = name, table = &table.name)));
            }
            (None, Some(item)) => {
                let said = catalogue::LEVELS_WITHOUT_CHUNKS;
                return Err(item.error(statement!(said, table = &table.name)));
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
            return Err(item.error(statement!(catalogue::AXIS_OF_WORKLOAD, setting = setting)));
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
) -> Result<[Vec<LocatedValue<String>>; TEXT_AXES.len()], Error> {
    let names_own = |axis: &str| match axis {
        MAKE_OPTIONS | MOUNT_OPTIONS => table.get(FILE_SYSTEM).is_some(),
        OUTER_MAKE_OPTIONS | OUTER_MOUNT_OPTIONS => table.get(OUTER_FILE_SYSTEM).is_some(),
        axis => OF_LEVEL.contains(&axis),
    };
    let mut texts: [Vec<LocatedValue<String>>; TEXT_AXES.len()] = Default::default();
    for (axis, values) in TEXT_AXES.into_iter().zip(&mut texts) {
        *values = match table.get(axis) {
            Some(item) => each(item, axis, |item| text_of(axis, item, names))?,
            None if names_own(axis) => Vec::new(),
            None => usual.texts(axis).to_vec(),
        };
    }
    let any = |axis: &str, is_it: fn(&str) -> bool| {
        let index = TEXT_AXES.iter().position(|known| *known == axis);
        index.is_some_and(|index| {
            texts[index].iter().any(|at: &LocatedValue<String>| is_it(&at.value))
        })
    };
    let refuse = |axes: &'static [&'static str], why: Text| {
        let Some((axis, item)) = axes.iter().find_map(|axis| Some((*axis, table.get(axis)?)))
        else {
            return Ok(());
        };
        Err(item.error(statement!(catalogue::AXIS_MEANS_NOTHING, axis = axis, why = why)))
    };
    if !any(FILE_SYSTEM, |name| name != NONE) {
        let why = statement!(catalogue::WITHOUT_FILE_SYSTEM, axis = FILE_SYSTEM);
        refuse(&ON_FILE_SYSTEMS, why)?;
    }
    // `image = "none"` beside them is for an [[add]] to change.
    if table.get(IMAGE).is_none() && !any(IMAGE, |kind| kind != NONE) {
        refuse(&ON_IMAGES, statement!(catalogue::WITHOUT_IMAGE, axis = IMAGE))?;
    }
    if !any(PLACE, |place| place == Machine::Guest.to_string()) {
        let (axis, word) = (PLACE, Machine::Guest.to_string());
        refuse(&ON_GUESTS, statement!(catalogue::WITHOUT_GUEST, axis = axis, word = word))?;
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
    if let Some(words) = words_of(axis) {
        return one_of(item, text, words);
    }
    match axis {
        CACHE if text != NONE && !names.caches.iter().any(|cache| cache.name == text) => {
            let known: Vec<&str> =
                names.caches.iter().map(|cache| cache.name.as_str()).chain([NONE]).collect();
            let hint = suggestion(text, known.iter().copied());
            Err(item.error(statement!(catalogue::NO_SUCH_CACHE, name = text, hint = hint)))
        }
        FILE_SYSTEM | OUTER_FILE_SYSTEM
            if (text != NONE || axis == OUTER_FILE_SYSTEM) && FileSystem::named(text).is_err() =>
        {
            // An image is a file of some file system.
            let none = (axis == FILE_SYSTEM).then_some(NONE);
            let known: Vec<&str> =
                FILE_SYSTEMS.iter().map(|known| known.name).chain(none).collect();
            let hint = suggestion(text, known.iter().copied());
            Err(item.error(statement!(catalogue::UNKNOWN_FILE_SYSTEM, name = text, hint = hint)))
        }
        IMAGE if text == NONE => Ok(text.to_owned()),
        IMAGE => one_of(item, text, &ImageKind::NAMES),
        IMAGE_SIZE | READ_AHEAD | MAX_REQUEST | DISK_SIZE => {
            Ok(stacks::size_text(read_size(item)?))
        }
        MEMORY => {
            let bytes = read_size(item)?;
            promise_memory(MEMORY, bytes).map_err(|error| item.error(error))?;
            Ok(stacks::size_text(bytes))
        }
        KERNEL => guest::check_kernel_name(text)
            .map(|()| text.to_owned())
            .map_err(|error| item.error(error)),
        PROCESSOR if text == NONE => Ok(text.to_owned()),
        PROCESSOR => processor::parse(text)
            .map(|processor| processor.to_string())
            .map_err(|error| item.error(error)),
        QUEUE_DEPTH => number_to(item, text, 256),
        PROCESSORS => number_to(item, text, 1024),
        LAYOUT => layout(text).ok_or_else(|| {
            item.error(statement!(catalogue::NO_MD_LAYOUT, text = text, layouts = LAYOUTS))
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
            .map_err(|error| item.error(error)),
        MAKE_OPTIONS | MOUNT_OPTIONS | OUTER_MAKE_OPTIONS | OUTER_MOUNT_OPTIONS
            if text.is_empty() =>
        {
            Err(item.error(statement!(catalogue::EMPTY_OPTIONS, word = DEFAULTS)))
        }
        _ => Ok(text.to_owned()),
    }
}

fn number_to(item: &Item, text: &str, most: u32) -> Result<String, Error> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    let wrong =
        || item.error(statement!(catalogue::NUMBER_BETWEEN, text = text, least = 1, most = most));
    number.map(|number| number.to_string()).ok_or_else(wrong)
}

/// The words that an axis takes, where it takes no others.
fn words_of(axis: &str) -> Option<&'static [&'static str]> {
    Some(match axis {
        METADATA => Metadata::WORDS,
        CONSISTENCY => Consistency::WORDS,
        UPKEEP => Switch::WORDS,
        WRITE_CACHE => WriteCache::WORDS,
        PLACE => Machine::WORDS,
        ARRAY => ArrayMaker::WORDS,
        SCHEDULER => Scheduler::WORDS,
        STATE => &guest::ArrayCompleteness::NAMES,
        IMAGE_IO => ImageIo::WORDS,
        _ => return None,
    })
}

fn one_of(item: &Item, text: &str, words: &[&str]) -> Result<String, Error> {
    if words.contains(&text) {
        return Ok(text.to_owned());
    }
    let hint = suggestion(text, words.iter().copied());
    let words = words.join(", ");
    Err(item.error(statement!(catalogue::WORD_EXPECTED, text = text, words = words, hint = hint)))
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
) -> Result<Vec<LocatedValue<T>>, Error> {
    values(item, axis)?
        .iter()
        .map(|item| Ok(LocatedValue { value: read(item)?, place: item.place.clone() }))
        .collect()
}

fn twice<'a>(values: impl Iterator<Item = (String, &'a SourceLocation)>) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for (value, place) in values {
        if let Some(value) = seen.replace(value) {
            return Err(place.error(given_twice(&value)));
        }
    }
    Ok(())
}

fn named_set<'a>(sets: &'a [MemberSet], item: &Item) -> Result<&'a MemberSet, Error> {
    let name = item.text()?;
    let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    let set = sets.iter().find(|set| set.name == name);
    set.ok_or_else(|| {
        let hint = suggestion(name, names.iter().copied());
        item.error(statement!(catalogue::NO_SUCH_SET, name = name, hint = hint))
    })
}

fn named_level(item: &Item) -> Result<Level, Error> {
    let name = item.text()?;
    Level::named(name).ok_or_else(|| {
        let hint = suggestion(name, LEVELS.iter().map(|known| known.name));
        item.error(statement!(catalogue::UNKNOWN_LEVEL, name = name, hint = hint))
    })
}

pub(super) fn read_size(item: &Item) -> Result<u64, Error> {
    stacks::parse_size(&item.scalar()?).map_err(|error| item.error(error))
}

/// A list of sizes, or `{ from = "4KiB", to = "512KiB", times = 2 }`.
fn read_chunks(item: &Item) -> Result<Vec<LocatedValue<u64>>, Error> {
    let chunks = match item.reader(CHUNK) {
        Ok(range) => {
            let from = range.require("from", catalogue::FIRST_SIZE)?;
            let to = range.require("to", catalogue::LAST_SIZE)?;
            let times = range.get("times").map_or(Ok(2), |item| item.whole(2, 1 << 20))?;
            range.finish()?;
            let (first, last) = (read_size(from)?, read_size(to)?);
            if first > last {
                return Err(to.error(catalogue::RANGE_IS_EMPTY));
            }
            if first == 0 {
                return Err(from.error(catalogue::CHUNK_OF_NONE));
            }
            let sizes = std::iter::successors(Some(first), |size| size.checked_mul(times))
                .take_while(|size| *size <= last);
            sizes.map(|value| LocatedValue { value, place: item.place.clone() }).collect()
        }
        Err(_) => each(item, CHUNK, read_size)?,
    };
    for LocatedValue { value, place } in &chunks {
        if *value == 0 || !value.is_multiple_of(SECTOR_BYTES) {
            let size = stacks::size_text(*value);
            let text = statement!(catalogue::CHUNK_STEP, size = size, step = SECTOR_BYTES);
            return Err(place.error(text));
        }
    }
    Ok(chunks)
}
