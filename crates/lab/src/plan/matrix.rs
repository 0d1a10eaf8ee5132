//! From the axes of a plan to its configurations, and from each to the one it is compared with.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use block::Node;
use guest::ArrayCompleteness;
use results::{Clock, Configuration, WorkTarget, configuration_id};

use super::axes::{Names, Selection, TEXT_AXES, is_known, read_size, text_of};
use super::catalogue;
use super::document::{CONFIGURATIONS_MAX, Item, LocatedValue, Reader, SourceLocation, values};
use super::members::{MemberSet, keeping_data, keeping_first};
use super::terms;
use crate::cell::names::{
    AXES, CHUNK, FILE_SYSTEM, LEVEL, MAKE_OPTIONS, MEMBERS, MOUNT_OPTIONS, OUTER_FILE_SYSTEM,
    OUTER_MAKE_OPTIONS, OUTER_MOUNT_OPTIONS, PROCESSORS, STATE, axis_name, is_of_suites,
};
use crate::cell::values::{ArrayMaker, Consistency, Machine, Metadata, NONE};
use crate::cell::{self, Axes, Cell, Level, Nature};
use crate::stacks::{self, without_containers};
use host::Error;
use host::mount::{FileSystem, check_mount_options};
use words::{Text, statement};

/// A configuration that is left out.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SkippedConfiguration {
    /// Its settings.
    pub settings: BTreeMap<String, String>,
    /// Why, in the plan's words.
    pub why: String,
}

/// A configuration that has no baseline yet, and where the plan asks for it.
pub(super) struct PlacedCell {
    cell: Cell,
    place: SourceLocation,
}

impl PlacedCell {
    fn settings(&self) -> &BTreeMap<String, String> {
        &self.cell.record.settings
    }
}

pub(super) struct ConfigurationMatrix {
    pub(super) cells: Vec<PlacedCell>,
    pub(super) skipped: Vec<SkippedConfiguration>,
}

/// All configurations of a plan.
pub(super) fn read(
    names: &Names<'_>,
    matrix: Option<&Reader<'_>>,
    add: &[Reader<'_>],
    skip: Vec<Reader<'_>>,
    document: &SourceLocation,
) -> Result<ConfigurationMatrix, Error> {
    if matrix.is_none() && add.is_empty() {
        return Err(document.error(catalogue::NO_CONFIGURATION));
    }
    let mut usual = Selection::usual(names, document);
    let mut selections = Vec::new();
    for (number, table) in matrix.into_iter().chain(add).enumerate() {
        let selection = Selection::read(names, &usual, table)?;
        if number == 0 && matrix.is_some() {
            usual = selection.clone();
        }
        selections.push((table, selection));
    }
    // Counted before one of them is made.
    let count =
        selections.iter().fold(0_u64, |sum, (_, selection)| sum.saturating_add(count(selection)));
    if count > CONFIGURATIONS_MAX {
        let (said, most) = (catalogue::TOO_MANY_CONFIGURATIONS, CONFIGURATIONS_MAX);
        return Err(document.error(statement!(said, count = count, most = most)));
    }
    let mut cells: Vec<PlacedCell> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    for (table, selection) in &selections {
        for cell in product(names, selection)? {
            if !known.insert(cell.cell.record.id.clone()) {
                let (table, shown) = (&table.name, shown(cell.settings()));
                let text = statement!(catalogue::ADDED_TWICE, table = table, cell = shown);
                return Err(cell.place.error(text));
            }
            cells.push(cell);
        }
    }
    let mut found = ConfigurationMatrix { cells, skipped: Vec::new() };
    for table in skip {
        leave_out(names, &mut found, table)?;
    }
    if found.cells.is_empty() {
        return Err(document.error(catalogue::ALL_SKIPPED));
    }
    let all: Vec<&Selection<'_>> = selections.iter().map(|(_, selection)| selection).collect();
    found.cells.iter().try_for_each(|cell| check_options(cell, &all))?;
    Ok(found)
}

/// Whether the options of a configuration's file systems are such that are passed on.
fn check_options(placed: &PlacedCell, selections: &[&Selection<'_>]) -> Result<(), Error> {
    let axes = &placed.cell.axes;
    let make = |kind: &FileSystem, text: &str| kind.make_words(text).map(|_| ());
    let mount = |kind: &FileSystem, text: &str| check_mount_options(Some(kind), Some(text));
    let check = |axis: &str, text: Option<&String>, result: &dyn Fn(&str) -> Result<(), Error>| {
        let Some(text) = text else { return Ok(()) };
        result(text).map_err(|error| {
            // It was given in one of these, and where does not change what is wrong with it.
            let given = selections.iter().flat_map(|selection| selection.texts(axis));
            let place = given.into_iter().find(|at| at.value == *text);
            place.map_or(&placed.place, |at| &at.place).error(error)
        })
    };
    if let Some(kind) = axes.file_system.value() {
        check(MAKE_OPTIONS, axes.make_options.value(), &|text| make(kind, text))?;
        check(MOUNT_OPTIONS, axes.mount_options.value(), &|text| mount(kind, text))?;
    }
    if let Some(kind) = &axes.outer_file_system {
        check(OUTER_MAKE_OPTIONS, axes.outer_make_options.value(), &|text| make(kind, text))?;
        check(OUTER_MOUNT_OPTIONS, axes.outer_mount_options.value(), &|text| mount(kind, text))?;
    }
    Ok(())
}

/// `members = …, level = …`, for people.
pub(super) fn shown(settings: &BTreeMap<String, String>) -> String {
    cell::shown(settings, " = ", ", ")
}

/// The axes of a configuration that are settings of suites.
pub(super) fn of_suites(settings: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    settings.keys().map(String::as_str).filter(|axis| is_of_suites(axis))
}

/// The values of one axis, or one time none where it is not given.
fn or_none<T>(values: &[LocatedValue<T>]) -> Vec<Option<&LocatedValue<T>>> {
    if values.is_empty() { vec![None] } else { values.iter().map(Some).collect() }
}

/// What lies upon the members: axes and their values, and a file system or none.
type AxesAbove<'a> = Vec<(&'a str, &'a LocatedValue<String>)>;

/// The value of an axis in a combination.
fn value_of<'a>(above: &AxesAbove<'a>, axis: &str) -> Option<&'a str> {
    above.iter().find(|(known, _)| *known == axis).map(|(_, at)| at.value.as_str())
}

/// Every combination of the axes that lie above the members. What means nothing to a level, or to
/// what the axes before it say, is left out.
fn above<'a>(selection: &'a Selection<'_>, level: Level) -> Vec<AxesAbove<'a>> {
    let mut all: Vec<AxesAbove<'a>> = vec![Vec::new()];
    for axis in TEXT_AXES {
        let mut next: Vec<AxesAbove<'a>> = Vec::new();
        for before in all {
            let applies = is_known(level, axis, |axis| value_of(&before, axis));
            let values = if applies { or_none(selection.texts(axis)) } else { vec![None] };
            next.extend(values.into_iter().map(|value| {
                before.iter().copied().chain(value.map(|value| (axis, value))).collect()
            }));
        }
        all = next;
    }
    for axis in &selection.suites {
        let with = |before: &AxesAbove<'a>, at: &'a LocatedValue<String>| {
            before.iter().copied().chain([(axis.name.as_str(), at)]).collect()
        };
        all = all
            .iter()
            .flat_map(|before| axis.values.iter().map(move |at| with(before, at)))
            .collect();
    }
    all
}

/// How many combinations of these axes there are after those `before`, without making them: values
/// that are alike to the axes after them are counted as one.
fn count_above<'a>(
    selection: &'a Selection<'_>,
    level: Level,
    axes: &[&'static str],
    before: &AxesAbove<'a>,
) -> u64 {
    let Some((&axis, rest)) = axes.split_first() else { return 1 };
    let applies = is_known(level, axis, |axis| value_of(before, axis));
    let values = if applies { selection.texts(axis) } else { &[] };
    if values.is_empty() {
        return count_above(selection, level, rest, before);
    }
    let telling = [
        NONE.to_owned(),
        Consistency::Bitmap.to_string(),
        Machine::Guest.to_string(),
        ArrayMaker::Md.to_string(),
    ];
    let kind = |at: &LocatedValue<String>| telling.each_ref().map(|word| at.value == *word);
    let mut kinds: Vec<(&LocatedValue<String>, u64)> = Vec::new();
    for value in values {
        match kinds.iter_mut().find(|(known, _)| kind(known) == kind(value)) {
            Some((_, count)) => *count += 1,
            None => kinds.push((value, 1)),
        }
    }
    let count = |(value, count): (&'a LocatedValue<String>, u64)| {
        let with = before.iter().copied().chain([(axis, value)]).collect();
        count.saturating_mul(count_above(selection, level, rest, &with))
    };
    kinds.into_iter().map(count).fold(0, u64::saturating_add)
}

/// How many configurations [`product`] makes of a selection.
fn count(selection: &Selection<'_>) -> u64 {
    let of_level = |level: &LocatedValue<Level>| {
        let chunks = if level.value.has_chunks { selection.chunks.len().max(1) as u64 } else { 1 };
        chunks.saturating_mul(count_above(selection, level.value, &TEXT_AXES, &Vec::new()))
    };
    let levels = selection.levels.iter().map(of_level).fold(0, u64::saturating_add);
    let suites = selection.suites.iter().map(|axis| axis.values.len() as u64);
    (selection.members.len() as u64)
        .saturating_mul(levels)
        .saturating_mul(suites.fold(1, u64::saturating_mul))
}

fn product(names: &Names<'_>, selection: &Selection<'_>) -> Result<Vec<PlacedCell>, Error> {
    let mut cells = Vec::new();
    for members in &selection.members {
        for level in &selection.levels {
            let chunks =
                if level.value.has_chunks { or_none(&selection.chunks) } else { vec![None] };
            for chunk in chunks {
                for above in above(selection, level.value) {
                    cells.push(placed(names, members.value, level, chunk, &above)?);
                }
            }
        }
    }
    Ok(cells)
}

/// A combination of values as a configuration: its axes, its stack, and what it is.
fn placed(
    names: &Names<'_>,
    set: &MemberSet,
    level: &LocatedValue<Level>,
    chunk: Option<&LocatedValue<u64>>,
    above: &AxesAbove<'_>,
) -> Result<PlacedCell, Error> {
    let place = chunk.map_or(&level.place, |chunk| &chunk.place).clone();
    let texts = above.iter().map(|(axis, at)| ((*axis).to_owned(), at.value.clone())).collect();
    let mut axes = Axes::read(&texts).map_err(|error| place.error(error))?;
    axes.members = Some(set.name.clone());
    axes.level = Some(level.value);
    axes.chunk_bytes = chunk.map(|chunk| chunk.value);
    if level.value.is_redundant || axes.is_by_md() {
        axes.metadata.get_or_insert(Metadata::Superblocks);
    }
    let node = array(set, level, &axes, &place)?;
    let cache = axes.cache.value().map(|name| {
        let cache = names.caches.iter().find(|cache| cache.name == *name);
        cache.expect("the name was checked")
    });
    // Modelled memory is as the disks are: its times count, and nobody reads what it holds.
    let keeps_all = axes.file_system.value().is_some()
        || axes.is_in_guest()
        || cache.is_some_and(|cache| !cache.is_modelled_memory());
    let node = if keeps_all { keeping_data(node)? } else { node };
    let node = match cache {
        Some(cache) => cache.over(&node)?,
        None => node,
    };
    let mut cell =
        with_stack(names, set, axes, node, keeps_all).map_err(|error| place.error(error))?;
    cell.record.model_errors = names.work.model_errors(&cell, names.runs);
    Ok(PlacedCell { cell, place })
}

/// The array of a set of members, or the first of them.
fn array(
    set: &MemberSet,
    level: &LocatedValue<Level>,
    axes: &Axes,
    place: &SourceLocation,
) -> Result<Node, Error> {
    let name = level.value.name;
    let mut node = match level.value.is_array() {
        true => Node::layer(name, set.nodes.clone()),
        false => set.nodes[0].clone(),
    };
    if let Some(bytes) = axes.chunk_bytes {
        let text = stacks::size_text(bytes);
        if bytes > set.smallest_bytes {
            let member = stacks::size_text(set.smallest_bytes);
            let (said, name) = (catalogue::CHUNK_PAST_MEMBER, &set.name);
            return Err(place.error(statement!(said, chunk = text, name = name, member = member)));
        }
        node = node.with("chunk", text);
    }
    if let Some(text) = &axes.layout {
        let known = mdtools::level(name)
            .map_or(Err(catalogue::NO_LAYOUT), |level| mdtools::layout(level, Some(text)));
        let layout = known.map_err(|expected| {
            let said = catalogue::LEVEL_HAS_NO_LAYOUT;
            level.place.error(statement!(said, level = name, text = text, layouts = expected))
        })?;
        node = node.with("layout", layout);
    }
    Ok(match axes.metadata {
        Some(metadata) => node.with("metadata", metadata),
        None => node,
    })
}

/// A configuration of these axes on a stack, once both are found to fit. Modelled disks that do not
/// keep all of their data keep what superblocks need.
fn with_stack(
    names: &Names<'_>,
    set: &MemberSet,
    axes: Axes,
    node: Node,
    keeps_all: bool,
) -> Result<Cell, Error> {
    let in_guest = axes.is_in_guest();
    refuse_folder(&node, &axes).map_err(Error::usage)?;
    if in_guest {
        axes.refuse_unfit(&node).map_err(Error::usage)?;
    }
    let serving = axes.serving()?;
    let new_array = serving.new_array.as_ref();
    let mut sized = axes.sized(&node);
    if names.work.has_pulls_only() {
        sized = without_containers(&sized);
    }
    let info = names.runs.info(&sized, new_array)?;
    let usable = terms::usable(names.runs, &sized, &axes, info.size_bytes)?;
    let file_system = axes.file_system()?;
    if let Some(nested) = file_system.as_ref().and_then(|it| it.nested.as_ref()) {
        nested.refuse_unfit(info.size_bytes).map_err(Error::usage)?;
    }
    let node = match new_array {
        Some(new_array) if !keeps_all => {
            let bytes = names.runs.metadata_bytes(&node, new_array)?;
            keeping_first(node, bytes)?
        }
        _ => node,
    };
    // The kernel keeps no other time than the wall's; nor do caches in memory have a modelled
    // speed where none is stated.
    // A guest's kernel keeps the modelled one.
    let clock = match () {
        () if in_guest => Clock::Virtual,
        () if file_system.is_some() || !stacks::is_modelled(&node) => Clock::Wall,
        () => set.clock,
    };
    refuse_processors(&axes, clock).map_err(Error::usage)?;
    let is_modelled = in_guest || (clock == Clock::Virtual && !names.work.has_pulls_only());
    if let Some(state) =
        axes.state.filter(|state| !is_modelled && *state != ArrayCompleteness::Whole)
    {
        let said = statement!(catalogue::STATE_OF_MODELS, axis = STATE, state = state.to_string());
        return Err(Error::usage(said));
    }
    let settings = axes.texts();
    let Nature { ground, modelled, caches, quick_removal } =
        Nature::of(Some(&node), &axes, clock, names.work.has_pulls_only());
    // What lies under a folder is not the plan's, and changes meanwhile.
    let has_members = ground != WorkTarget::Folder;
    let record = Configuration {
        id: configuration_id(&settings),
        survives: terms::survives(&node, &axes, set.pool.as_ref()).filter(|_| has_members),
        settings,
        stack: node.to_string(),
        clock,
        ground,
        modelled,
        caches,
        quick_removal,
        baseline: String::new(),
        model_errors: None,
        model_error: None,
        model_cases: 0,
        usable: Some(usable).filter(|_| has_members),
    };
    Ok(Cell { record, stack: node, serving, file_system, axes })
}

/// Why a folder cannot be the target of a configuration, if it is one and cannot.
fn refuse_folder(node: &Node, axes: &Axes) -> Result<(), Text> {
    let Some(folder) = node.leaves().into_iter().find_map(stacks::folder_of) else {
        return Ok(());
    };
    let folder = folder.display();
    match axes.file_system.value() {
        _ if matches!(node, Node::Layer { .. }) => {
            Err(statement!(catalogue::FOLDER_NO_DEVICE, folder = folder))
        }
        Some(_) => Err(statement!(
            catalogue::FOLDER_HAS_SYSTEM,
            folder = folder,
            file_system = FILE_SYSTEM
        )),
        None => Ok(()),
    }
}

/// Why the number of processors of a configuration cannot be had, if it cannot.
fn refuse_processors(axes: &Axes, clock: Clock) -> Result<(), Text> {
    let Some(count) = axes.processors else { return Ok(()) };
    match clock {
        _ if axes.is_in_guest() && count == 1 => Ok(()),
        _ if axes.is_in_guest() => {
            Err(statement!(catalogue::ONE_PROCESSOR, processors = PROCESSORS, count = count))
        }
        Clock::Wall => Ok(()),
        Clock::Virtual => {
            Err(statement!(catalogue::PROCESSORS_MEAN_NOTHING, processors = PROCESSORS))
        }
    }
}

/// The values a `[[skip]]` or `[baseline]` gives for the axes, as settings; all of several match.
fn pattern(names: &Names<'_>, table: &Reader<'_>) -> Result<Vec<(String, Vec<String>)>, Error> {
    let mut pattern = Vec::new();
    for axis in AXES {
        let Some(item) = table.get(axis) else { continue };
        let text = |item: &Item| match axis {
            CHUNK => Ok(stacks::size_text(read_size(item)?)),
            MEMBERS | LEVEL => item.text().map(str::to_owned),
            axis => text_of(axis, item, names),
        };
        let texts = values(item, axis)?.iter().map(text).collect::<Result<_, Error>>()?;
        pattern.push((axis.to_owned(), texts));
    }
    for (setting, item) in names.suite_items(table)? {
        let values = names.work.axis_values(setting, item)?;
        pattern.push((axis_name(setting), values.into_iter().map(|at| at.value).collect()));
    }
    Ok(pattern)
}

fn matches(pattern: &[(String, Vec<String>)], settings: &BTreeMap<String, String>) -> bool {
    pattern
        .iter()
        .all(|(axis, values)| settings.get(axis).is_some_and(|value| values.contains(value)))
}

fn leave_out(
    names: &Names<'_>,
    found: &mut ConfigurationMatrix,
    table: Reader<'_>,
) -> Result<(), Error> {
    let pattern = pattern(names, &table)?;
    let why = table.require("why", catalogue::SKIP_REASON)?.text()?.to_owned();
    let place = table.place.clone();
    table.finish()?;
    let (left_out, left): (Vec<PlacedCell>, Vec<PlacedCell>) = std::mem::take(&mut found.cells)
        .into_iter()
        .partition(|cell| matches(&pattern, cell.settings()));
    if left_out.is_empty() {
        return Err(place.error(catalogue::SKIPS_NOTHING));
    }
    found.cells = left;
    found.skipped.extend(left_out.into_iter().map(|cell| SkippedConfiguration {
        settings: cell.cell.record.settings,
        why: why.clone(),
    }));
    Ok(())
}

/// Gives every configuration the one it is compared with: the configuration that `[baseline]`
/// describes and that agrees with it on every axis that `[baseline]` does not name and both have. A
/// file system that it names brings its own options.
pub(super) fn with_baselines(
    names: &Names<'_>,
    cells: Vec<PlacedCell>,
    section: Option<Reader<'_>>,
    document: &SourceLocation,
) -> Result<Vec<Cell>, Error> {
    let baselines = baselines(names, &cells, section, document)?;
    let with = |(placed, baseline): (PlacedCell, String)| {
        let mut cell = placed.cell;
        cell.record.baseline = baseline;
        cell
    };
    Ok(cells.into_iter().zip(baselines).map(with).collect())
}

/// The identity of the baseline of each.
fn baselines(
    names: &Names<'_>,
    cells: &[PlacedCell],
    section: Option<Reader<'_>>,
    document: &SourceLocation,
) -> Result<Vec<String>, Error> {
    let Some(table) = section else {
        let [cell] = cells else { return Err(document.error(catalogue::NO_BASELINE)) };
        return Ok(vec![cell.cell.record.id.clone()]);
    };
    let pattern = pattern(names, &table)?;
    let place = table.place.clone();
    table.finish()?;
    if pattern.is_empty() {
        return Err(place.error(catalogue::BASELINE_NAMES_NOTHING));
    }
    let candidates = Candidates::of(
        cells
            .iter()
            .map(|placed| &placed.cell.record)
            .filter(|cell| matches(&pattern, &cell.settings)),
    );
    if candidates.all.is_empty() {
        return Err(place.error(catalogue::BASELINE_ABSENT));
    }
    cells
        .iter()
        .map(|placed| baseline_of(&placed.cell.record, &candidates, &pattern, &place))
        .collect()
}

/// Configurations that may be baselines. Those that have the same axes are found by their values on
/// some of them at once: with thousands of either, each cell is not held against each candidate.
struct Candidates<'a> {
    all: Vec<&'a Configuration>,
    /// Axes, and the places in `all` of those that have these.
    groups: Vec<(Vec<&'a str>, Vec<usize>)>,
    /// By the place of a group and some of its axes: places by the values on these.
    known: RefCell<HashMap<(usize, Vec<&'a str>), PlacesByValues<'a>>>,
}

type PlacesByValues<'a> = HashMap<Vec<&'a str>, Vec<usize>>;

impl<'a> Candidates<'a> {
    fn of(configurations: impl Iterator<Item = &'a Configuration>) -> Candidates<'a> {
        let all: Vec<&Configuration> = configurations.collect();
        let mut groups: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
        for (place, one) in all.iter().enumerate() {
            let axes = one.settings.keys().map(String::as_str).collect();
            groups.entry(axes).or_default().push(place);
        }
        Candidates { all, groups: groups.into_iter().collect(), known: RefCell::default() }
    }

    /// Those that have the values of a cell on each of its axes that is free and that they have
    /// too, in the order of the plan.
    fn agreeing(
        &self,
        cell: &Configuration,
        is_free: impl Fn(&str) -> bool,
    ) -> Vec<&'a Configuration> {
        let mut places: Vec<usize> = Vec::new();
        for (group, (axes, members)) in self.groups.iter().enumerate() {
            let is_shared = |axis: &&str| is_free(axis) && cell.settings.contains_key(*axis);
            let shared: Vec<&'a str> = axes.iter().copied().filter(is_shared).collect();
            let values: Vec<&str> =
                shared.iter().map(|axis| cell.settings[*axis].as_str()).collect();
            let mut known = self.known.borrow_mut();
            let by_values = known.entry((group, shared.clone())).or_insert_with(|| {
                let mut by_values = PlacesByValues::new();
                for place in members {
                    let settings = &self.all[*place].settings;
                    let values = shared.iter().map(|axis| settings[*axis].as_str()).collect();
                    by_values.entry(values).or_default().push(*place);
                }
                by_values
            });
            places.extend(by_values.get(values.as_slice()).into_iter().flatten());
        }
        places.sort_unstable();
        places.into_iter().map(|place| self.all[place]).collect()
    }
}

fn baseline_of(
    cell: &Configuration,
    candidates: &Candidates<'_>,
    pattern: &[(String, Vec<String>)],
    place: &SourceLocation,
) -> Result<String, Error> {
    let is_named = |axis: &str| pattern.iter().any(|(named, _)| named == axis);
    // Options are a file system's own: where that is named, they go with it.
    let is_free = |axis: &str| match axis {
        MAKE_OPTIONS | MOUNT_OPTIONS => !is_named(axis) && !is_named(FILE_SYSTEM),
        OUTER_MAKE_OPTIONS | OUTER_MOUNT_OPTIONS => !is_named(axis) && !is_named(OUTER_FILE_SYSTEM),
        axis => !is_named(axis),
    };
    let found = candidates.agreeing(cell, is_free);
    let this = shown(&cell.settings);
    match found[..] {
        [baseline] if baseline.clock == cell.clock => Ok(baseline.id.clone()),
        [_] => Err(place.error(statement!(catalogue::BASELINE_CLOCK, cell = this))),
        [] => Err(place.error(statement!(catalogue::BASELINE_NONE_FOR, cell = this))),
        _ => {
            let first = shown(&found[0].settings);
            let second = shown(&found[1].settings);
            let said = catalogue::BASELINE_SEVERAL;
            Err(place.error(statement!(said, cell = this, first = first, second = second)))
        }
    }
}
