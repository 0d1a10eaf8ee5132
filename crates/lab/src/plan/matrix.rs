//! From the axes of a plan to its configurations, and from each to the one it is compared with.

use std::collections::{BTreeMap, HashSet};

use block::Node;
use results::{Clock, Configuration, configuration_id};

use super::Skipped;
use super::axes::{
    ARRAY, AXES, At, CACHE, CHUNK, DEFAULTS, FILE_SYSTEM, GUEST, LAYOUT, LEVEL, Level,
    MAKE_OPTIONS, MD, MEMBERS, METADATA, MOUNT_OPTIONS, NONE, Names, OUTER_FILE_SYSTEM,
    OUTER_MAKE_OPTIONS, OUTER_MOUNT_OPTIONS, PLACE, PROCESSORS, SINGLE, Selection, TEXT_AXES,
    VERSION, WITH_BITMAP,
};
use super::axes::{read_size, text_of, values};
use super::document::{Item, Place, Reader};
use super::members::{MemberSet, keeping_data, keeping_first};
use super::suite::axis_name;
use super::terms;
use crate::cell::{CellSettings, Nature};
use crate::image::Nested;
use crate::run::in_guest;
use crate::stacks;
use host::Error;
use host::mount::{FileSystem, check_mount_options};

/// More configurations than this are a slip, not a plan.
pub(super) const CONFIGURATIONS_MAX: u64 = 10_000;

/// A configuration that has no baseline yet.
pub(super) struct Cell {
    configuration: Configuration,
    place: Place,
}

pub(super) struct Found {
    pub(super) cells: Vec<Cell>,
    pub(super) skipped: Vec<Skipped>,
}

/// All configurations of a plan.
pub(super) fn read(
    names: &Names<'_>,
    matrix: Option<&Reader<'_>>,
    add: &[Reader<'_>],
    skip: Vec<Reader<'_>>,
    document: &Place,
) -> Result<Found, Error> {
    if matrix.is_none() && add.is_empty() {
        return Err(document.error("the plan has no [matrix] and no [[add]]: no configuration"));
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
        let text = format!(
            "the plan has {count} configurations, [[skip]] left out; at most {CONFIGURATIONS_MAX} \
            are taken"
        );
        return Err(document.error(text));
    }
    let mut cells: Vec<Cell> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    for (table, selection) in &selections {
        for cell in product(names, selection)? {
            if !known.insert(cell.configuration.id.clone()) {
                let text = format!(
                    "{} adds a configuration that is there already: {}",
                    table.name,
                    shown(&cell.configuration.settings)
                );
                return Err(cell.place.error(text));
            }
            cells.push(cell);
        }
    }
    let mut found = Found { cells, skipped: Vec::new() };
    for table in skip {
        leave_out(names, &mut found, table)?;
    }
    if found.cells.is_empty() {
        return Err(document.error("every configuration is skipped"));
    }
    let all: Vec<&Selection<'_>> = selections.iter().map(|(_, selection)| selection).collect();
    found.cells.iter().try_for_each(|cell| check_options(cell, &all))?;
    Ok(found)
}

/// Whether the options of a configuration's file systems are such that are passed on.
fn check_options(cell: &Cell, selections: &[&Selection<'_>]) -> Result<(), Error> {
    let settings = &cell.configuration.settings;
    let of = |axis: &str| settings.get(axis).map(String::as_str);
    for (kind, make, mount) in [
        (FILE_SYSTEM, MAKE_OPTIONS, MOUNT_OPTIONS),
        (OUTER_FILE_SYSTEM, OUTER_MAKE_OPTIONS, OUTER_MOUNT_OPTIONS),
    ] {
        let Some(name) = of(kind).filter(|name| *name != NONE) else { continue };
        let kind = FileSystem::named(name)?;
        for axis in [make, mount] {
            let Some(text) = of(axis).filter(|text| *text != DEFAULTS) else { continue };
            let checked = match axis == make {
                true => kind.make_words(text).map(|_| ()),
                false => check_mount_options(Some(&kind), Some(text)),
            };
            checked.map_err(|error| {
                // It was given in one of these, and where does not change what is wrong with it.
                let given = selections.iter().flat_map(|selection| selection.texts(axis));
                let place = given.into_iter().find(|at| at.value == text);
                place.map_or(&cell.place, |at| &at.place).error(error.to_string())
            })?;
        }
    }
    Ok(())
}

/// `members = …, level = …`, for people.
pub(super) fn shown(settings: &BTreeMap<String, String>) -> String {
    let of_arrays = AXES.iter().filter_map(|axis| Some((*axis, settings.get(*axis)?)));
    let of_suites = of_suites(settings).filter_map(|axis| Some((axis, settings.get(axis)?)));
    let parts: Vec<String> =
        of_arrays.chain(of_suites).map(|(axis, value)| format!("{axis} = {value}")).collect();
    parts.join(", ")
}

/// The axes of a configuration that are settings of suites.
pub(super) fn of_suites(settings: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    settings.keys().map(String::as_str).filter(|axis| !AXES.contains(axis))
}

/// The values of one axis, or one time none where it is not given.
fn or_none<T>(values: &[At<T>]) -> Vec<Option<&At<T>>> {
    if values.is_empty() { vec![None] } else { values.iter().map(Some).collect() }
}

/// What lies upon the members: axes and their values, and a file system or none.
type Above<'a> = Vec<(&'a str, &'a At<String>)>;

/// The value of an axis in a combination.
fn value_of<'a>(above: &Above<'a>, axis: &str) -> Option<&'a str> {
    above.iter().find(|(known, _)| *known == axis).map(|(_, at)| at.value.as_str())
}

/// Every combination of the axes that lie above the members. What means nothing to a level, or to
/// what the axes before it say, is left out.
fn above<'a>(selection: &'a Selection<'_>, level: Level) -> Vec<Above<'a>> {
    let mut all: Vec<Above<'a>> = vec![Vec::new()];
    for axis in TEXT_AXES {
        let mut next: Vec<Above<'a>> = Vec::new();
        for before in all {
            let applies = level.knows(axis, |axis| value_of(&before, axis));
            let values = if applies { or_none(selection.texts(axis)) } else { vec![None] };
            next.extend(values.into_iter().map(|value| {
                before.iter().copied().chain(value.map(|value| (axis, value))).collect()
            }));
        }
        all = next;
    }
    for axis in &selection.suites {
        let with = |before: &Above<'a>, at: &'a At<String>| {
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
    before: &Above<'a>,
) -> u64 {
    let Some((&axis, rest)) = axes.split_first() else { return 1 };
    let applies = level.knows(axis, |axis| value_of(before, axis));
    let values = if applies { selection.texts(axis) } else { &[] };
    if values.is_empty() {
        return count_above(selection, level, rest, before);
    }
    let kind = |at: &At<String>| [NONE, WITH_BITMAP, GUEST, MD].map(|word| at.value == word);
    let mut kinds: Vec<(&At<String>, u64)> = Vec::new();
    for value in values {
        match kinds.iter_mut().find(|(known, _)| kind(known) == kind(value)) {
            Some((_, count)) => *count += 1,
            None => kinds.push((value, 1)),
        }
    }
    let count = |(value, count): (&'a At<String>, u64)| {
        let with = before.iter().copied().chain([(axis, value)]).collect();
        count.saturating_mul(count_above(selection, level, rest, &with))
    };
    kinds.into_iter().map(count).fold(0, u64::saturating_add)
}

/// How many configurations [`product`] makes of a selection.
fn count(selection: &Selection<'_>) -> u64 {
    let of_level = |level: &At<Level>| {
        let chunks = if level.value.has_chunks { selection.chunks.len().max(1) as u64 } else { 1 };
        chunks.saturating_mul(count_above(selection, level.value, &TEXT_AXES, &Vec::new()))
    };
    let levels = selection.levels.iter().map(of_level).fold(0, u64::saturating_add);
    let suites = selection.suites.iter().map(|axis| axis.values.len() as u64);
    (selection.members.len() as u64)
        .saturating_mul(levels)
        .saturating_mul(suites.fold(1, u64::saturating_mul))
}

fn product(names: &Names<'_>, selection: &Selection<'_>) -> Result<Vec<Cell>, Error> {
    let mut cells = Vec::new();
    for members in &selection.members {
        for level in &selection.levels {
            let chunks =
                if level.value.has_chunks { or_none(&selection.chunks) } else { vec![None] };
            for chunk in chunks {
                for above in above(selection, level.value) {
                    cells.push(cell(names, members.value, level, chunk, &above)?);
                }
            }
        }
    }
    Ok(cells)
}

fn cell(
    names: &Names<'_>,
    set: &MemberSet,
    level: &At<Level>,
    chunk: Option<&At<u64>>,
    above: &Above<'_>,
) -> Result<Cell, Error> {
    let mut settings = BTreeMap::from([
        (MEMBERS.to_owned(), set.name.clone()),
        (LEVEL.to_owned(), level.value.name.to_owned()),
    ]);
    settings.extend(above.iter().map(|(axis, at)| ((*axis).to_owned(), at.value.clone())));
    let place = chunk.map_or(&level.place, |chunk| &chunk.place).clone();
    let mut node = if level.value.name == SINGLE {
        set.nodes[0].clone()
    } else {
        Node::layer(level.value.name, set.nodes.clone())
    };
    if let Some(chunk) = chunk {
        let text = stacks::size_text(chunk.value);
        if chunk.value > set.smallest_bytes {
            let member = stacks::size_text(set.smallest_bytes);
            return Err(place.error(format!(
                "a chunk of {text} is larger than a member of [members.{}] ({member})",
                set.name
            )));
        }
        settings.insert(CHUNK.to_owned(), text.clone());
        node = node.with("chunk", text);
    }
    let in_guest = settings.get(PLACE).is_some_and(|place| place == GUEST);
    node = with_metadata(node, level, &mut settings)?;
    let has_file_system = settings.get(FILE_SYSTEM).is_some_and(|name| name != NONE);
    let cache = above.iter().find(|(axis, at)| *axis == CACHE && at.value != NONE);
    if has_file_system || in_guest || cache.is_some() {
        node = keeping_data(node)?;
    }
    if let Some((_, at)) = cache {
        let cache =
            names.caches.iter().find(|cache| cache.name == at.value).expect("the name was checked");
        node = cache.over(&node)?;
    }
    if in_guest {
        in_guest::refuse_unfit(&node, &settings).map_err(|text| place.error(text))?;
    }
    let sized = in_guest::sized(&node, &settings).map_err(|error| place.error(error))?;
    let cell = CellSettings::of(&settings).map_err(|error| place.error(error))?;
    let new_array = cell.new_array.as_ref();
    let info = stacks::dry(&sized, new_array).map_err(|error| place.error(error))?;
    if let Some(nested) = Nested::of(&settings).map_err(|error| place.error(error))? {
        nested.refuse_unfit(info.size_bytes).map_err(|text| place.error(text))?;
    }
    let keeps_all = has_file_system || in_guest || cache.is_some();
    if let (Some(new_array), false) = (new_array, keeps_all) {
        let bytes = stacks::metadata_bytes(&node, new_array).map_err(|error| place.error(error))?;
        node = keeping_first(node, bytes)?;
    }
    // The kernel keeps no other time than the wall's; nor do caches in memory have a modelled
    // speed.
    // A guest's kernel keeps the modelled one.
    let clock = match () {
        () if in_guest => Clock::Virtual,
        () if has_file_system || !stacks::is_modelled(&node) => Clock::Wall,
        () => set.clock,
    };
    refuse_processors(&settings, clock, in_guest).map_err(|text| place.error(text))?;
    let id = configuration_id(&settings);
    let survives = terms::survives(&node, &settings, set.pool.as_ref());
    let Nature { ground, modelled, caches, quick_removal } =
        Nature::of(Some(&node), &settings, clock, names.work.has_pulls_only());
    let configuration = Configuration {
        id,
        settings,
        survives,
        stack: node.to_string(),
        clock,
        ground,
        modelled,
        caches,
        quick_removal,
        baseline: String::new(),
        model_error: stack::model_error(&node),
    };
    Ok(Cell { configuration, place })
}

/// Why the number of processors of a configuration cannot be had, if it cannot.
fn refuse_processors(
    settings: &BTreeMap<String, String>,
    clock: Clock,
    in_guest: bool,
) -> Result<(), String> {
    let Some(count) = settings.get(PROCESSORS) else { return Ok(()) };
    match clock {
        _ if in_guest && count == "1" => Ok(()),
        _ if in_guest => Err(format!("{PROCESSORS} = {count}: a guest has one processor")),
        Clock::Wall => Ok(()),
        Clock::Virtual => Err(format!(
            "`{PROCESSORS}` means nothing on the virtual clock, where computing takes no time: \
            leave it out with an [[add]] of its own"
        )),
    }
}

/// The layer with its layout and with superblocks on its members, where the level has them: as
/// `array create` makes it unless something else is said.
fn with_metadata(
    node: Node,
    level: &At<Level>,
    settings: &mut BTreeMap<String, String>,
) -> Result<Node, Error> {
    let by_md = settings.get(ARRAY).is_some_and(|array| array == MD);
    if level.value.is_redundant || by_md {
        settings.entry(METADATA.to_owned()).or_insert_with(|| VERSION.to_owned());
    }
    let mut node = node;
    if let Some(text) = settings.get(LAYOUT) {
        let known = mdtools::level(level.value.name)
            .map_or(Err("no layout"), |level| mdtools::layout(level, Some(text)));
        let layout = known.map_err(|expected| {
            let name = level.value.name;
            level.place.error(format!(
                "{name} has no layout {text}, but {expected}; an [[add]] of its own gives each \
                level its own layouts"
            ))
        })?;
        node = node.with("layout", layout);
    }
    Ok(match settings.get(METADATA) {
        Some(metadata) => node.with("metadata", metadata),
        None => node,
    })
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

fn leave_out(names: &Names<'_>, found: &mut Found, table: Reader<'_>) -> Result<(), Error> {
    let pattern = pattern(names, &table)?;
    let why = table.require("why", "the reason, shown with the plan")?.text()?.to_owned();
    let place = table.place.clone();
    table.finish()?;
    let (left_out, left): (Vec<Cell>, Vec<Cell>) = std::mem::take(&mut found.cells)
        .into_iter()
        .partition(|cell| matches(&pattern, &cell.configuration.settings));
    if left_out.is_empty() {
        return Err(place.error("this [[skip]] matches no configuration"));
    }
    found.cells = left;
    found.skipped.extend(
        left_out
            .into_iter()
            .map(|cell| Skipped { settings: cell.configuration.settings, why: why.clone() }),
    );
    Ok(())
}

/// Gives every configuration the one it is compared with: the configuration that `[baseline]`
/// describes and that agrees with it on every axis that `[baseline]` does not name and both have.
pub(super) fn with_baselines(
    names: &Names<'_>,
    cells: Vec<Cell>,
    section: Option<Reader<'_>>,
    document: &Place,
) -> Result<Vec<Configuration>, Error> {
    let Some(table) = section else {
        let several = || {
            document.error(
                "the plan has no [baseline]: name the configuration that the others are \
                compared with, for example\n  [baseline]\n  level = \"single\"",
            )
        };
        let [cell] = &cells[..] else { return Err(several()) };
        let baseline = cell.configuration.id.clone();
        return Ok(vec![Configuration { baseline, ..cell.configuration.clone() }]);
    };
    let pattern = pattern(names, &table)?;
    let place = table.place.clone();
    table.finish()?;
    if pattern.is_empty() {
        return Err(
            place.error("[baseline] names nothing; give at least one axis, for example level")
        );
    }
    let candidates: Vec<&Configuration> = cells
        .iter()
        .map(|cell| &cell.configuration)
        .filter(|cell| matches(&pattern, &cell.settings))
        .collect();
    if candidates.is_empty() {
        return Err(place.error(
            "[baseline] is no configuration of this plan; add it with [[add]] or name another",
        ));
    }
    let baselines: Vec<String> = cells
        .iter()
        .map(|cell| baseline_of(&cell.configuration, &candidates, &pattern, &place))
        .collect::<Result<_, Error>>()?;
    Ok(cells
        .into_iter()
        .zip(baselines)
        .map(|(cell, baseline)| Configuration { baseline, ..cell.configuration })
        .collect())
}

fn baseline_of(
    cell: &Configuration,
    candidates: &[&Configuration],
    pattern: &[(String, Vec<String>)],
    place: &Place,
) -> Result<String, Error> {
    let free: Vec<&str> = AXES
        .into_iter()
        .chain(of_suites(&cell.settings))
        .filter(|axis| pattern.iter().all(|(named, _)| named != axis))
        .collect();
    let agrees = |other: &&&Configuration| {
        free.iter().all(|axis| match (cell.settings.get(*axis), other.settings.get(*axis)) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => true,
        })
    };
    let found: Vec<&Configuration> = candidates.iter().filter(agrees).copied().collect();
    let this = shown(&cell.settings);
    match found[..] {
        [baseline] if baseline.clock == cell.clock => Ok(baseline.id.clone()),
        [_] => Err(place.error(format!(
            "[baseline] compares measured with modelled figures for {this}; leave `members` out of \
            it, so that each set has its own"
        ))),
        [] => Err(place.error(format!(
            "[baseline] is no configuration for {this}; add it with \
            [[add]]"
        ))),
        _ => {
            let first = shown(&found[0].settings);
            let second = shown(&found[1].settings);
            Err(place.error(format!(
                "[baseline] is more than one configuration for {this}: \
                ({first}) and ({second}); name more axes"
            )))
        }
    }
}
