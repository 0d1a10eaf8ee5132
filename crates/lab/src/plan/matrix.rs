//! From the axes of a plan to its configurations, and from each to the one it is compared with.

use std::collections::BTreeMap;

use block::Node;
use results::{Configuration, configuration_id};

use super::Skipped;
use super::document::{Item, Place, Reader, suggestion};
use super::members::MemberSet;
use crate::{Error, stacks};

pub(super) const MEMBERS: &str = "members";
pub(super) const LEVEL: &str = "level";
pub(super) const CHUNK: &str = "chunk";
/// Every axis there is, in the order in which they are shown.
pub(super) const AXES: [&str; 3] = [MEMBERS, LEVEL, CHUNK];

/// The smallest unit of a chunk in bytes.
const SECTOR_BYTES: u64 = block::SECTOR_BYTES;
/// More configurations than this are a slip, not a plan.
const CONFIGURATIONS_MAX: usize = 10_000;

/// How members become one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// The first member alone.
    Single,
    /// One member after the other.
    Linear,
    /// Striped.
    Raid0,
}

const LEVELS: [(&str, Level); 3] = [("single", Level::Single), ("linear", Level::Linear), ("raid0", Level::Raid0)];

/// A value and where it stands.
#[derive(Clone, Debug)]
struct At<T> {
    value: T,
    place: Place,
}

/// The values that `[matrix]` or one `[[add]]` gives for each axis.
struct Selection<'a> {
    members: Vec<At<&'a MemberSet>>,
    levels: Vec<At<Level>>,
    chunks: Vec<At<u64>>,
}

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
    sets: &[MemberSet],
    matrix: Option<&Reader<'_>>,
    add: &[Reader<'_>],
    skip: Vec<Reader<'_>>,
    document: &Place,
) -> Result<Found, Error> {
    if matrix.is_none() && add.is_empty() {
        return Err(document.error("the plan has no [matrix] and no [[add]]: no configuration"));
    }
    let mut cells: Vec<Cell> = Vec::new();
    // What neither the matrix nor an `[[add]]` names are all sets; an `[[add]]` follows the matrix.
    let mut usual: Vec<&MemberSet> = sets.iter().collect();
    for (number, table) in matrix.into_iter().chain(add).enumerate() {
        let selection = select(sets, &usual, table)?;
        if number == 0 && matrix.is_some() {
            usual = selection.members.iter().map(|at| at.value).collect();
        }
        for cell in product(&selection)? {
            if cells.iter().any(|other| other.configuration.id == cell.configuration.id) {
                let text = format!("{} adds a configuration that is there already: {}", table.name, shown(&cell.configuration.settings));
                return Err(cell.place.error(text));
            }
            cells.push(cell);
            if cells.len() > CONFIGURATIONS_MAX {
                return Err(document.error(format!("the plan has more than {CONFIGURATIONS_MAX} configurations")));
            }
        }
    }
    let mut found = Found { cells, skipped: Vec::new() };
    for table in skip {
        leave_out(&mut found, table)?;
    }
    if found.cells.is_empty() {
        return Err(document.error("every configuration is skipped"));
    }
    Ok(found)
}

/// `members level chunk`, for people.
pub(super) fn shown(settings: &BTreeMap<String, String>) -> String {
    let parts: Vec<String> = AXES.iter().filter_map(|axis| Some(format!("{axis} = {}", settings.get(*axis)?))).collect();
    parts.join(", ")
}

fn values<'a>(item: &'a Item, axis: &str) -> Result<&'a [Item], Error> {
    let items = item.list();
    if items.is_empty() {
        return Err(item.error(format!("the axis `{axis}` is empty: it would leave no configuration")));
    }
    Ok(items)
}

fn select<'a>(sets: &'a [MemberSet], usual: &[&'a MemberSet], table: &Reader<'_>) -> Result<Selection<'a>, Error> {
    let (members, level, chunk) = (table.get(MEMBERS), table.require(LEVEL, "single, linear or raid0")?, table.get(CHUNK));
    for (key, place, _) in table.named() {
        if !AXES.contains(&key) {
            return Err(place.error(format!("unknown key `{key}` in {}{}", table.name, suggestion(key, AXES))));
        }
    }
    let members = match members {
        Some(item) => {
            let items = values(item, MEMBERS)?.iter();
            items.map(|item| Ok(At { value: named_set(sets, item)?, place: item.place.clone() })).collect::<Result<_, Error>>()?
        }
        None => usual.iter().map(|set| At { value: *set, place: table.place.clone() }).collect(),
    };
    let levels: Vec<At<Level>> = values(level, LEVEL)?
        .iter()
        .map(|item| Ok(At { value: named_level(item)?, place: item.place.clone() }))
        .collect::<Result<_, Error>>()?;
    let chunks = chunk.map_or(Ok(Vec::new()), read_chunks)?;
    let stripes = levels.iter().find(|level| level.value == Level::Raid0);
    match (stripes, chunk) {
        (Some(level), None) => return Err(level.place.error(format!("raid0 needs the axis `chunk` in {}", table.name))),
        (None, Some(item)) => {
            return Err(item.error(format!("`chunk` means nothing to the levels of {}; only raid0 has chunks", table.name)));
        }
        _ => (),
    }
    let selection = Selection { members, levels, chunks };
    twice(selection.members.iter().map(|at| (at.value.name.clone(), &at.place)))?;
    twice(selection.levels.iter().map(|at| (level_name(at.value).to_owned(), &at.place)))?;
    twice(selection.chunks.iter().map(|at| (stacks::size_text(at.value), &at.place)))?;
    Ok(selection)
}

fn twice<'a>(values: impl Iterator<Item = (String, &'a Place)>) -> Result<(), Error> {
    let mut seen: Vec<String> = Vec::new();
    for (value, place) in values {
        if seen.contains(&value) {
            return Err(place.error(format!("{value} is given twice")));
        }
        seen.push(value);
    }
    Ok(())
}

fn named_set<'a>(sets: &'a [MemberSet], item: &Item) -> Result<&'a MemberSet, Error> {
    let name = item.text()?;
    let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    let set = sets.iter().find(|set| set.name == name);
    set.ok_or_else(|| item.error(format!("there is no [members.{name}]{}", suggestion(name, names.iter().copied()))))
}

fn named_level(item: &Item) -> Result<Level, Error> {
    let name = item.text()?;
    let known = LEVELS.iter().find(|(known, _)| *known == name).map(|(_, level)| *level);
    known.ok_or_else(|| item.error(format!("unknown level `{name}`{}", suggestion(name, LEVELS.iter().map(|(name, _)| *name)))))
}

fn level_name(level: Level) -> &'static str {
    LEVELS.iter().find(|(_, known)| *known == level).map(|(name, _)| *name).expect("every level has a name")
}

fn read_size(item: &Item) -> Result<u64, Error> {
    stacks::parse_size(&item.scalar()?).map_err(|text| item.error(text))
}

/// A list of sizes, or `{ from = "4KiB", to = "512KiB", times = 2 }`.
fn read_chunks(item: &Item) -> Result<Vec<At<u64>>, Error> {
    let chunks = match item.reader(CHUNK) {
        Ok(range) => {
            let (from, to) = (range.require("from", "the first size")?, range.require("to", "the last size")?);
            let times = range.get("times").map_or(Ok(2), |item| item.whole(2, 1 << 20))?;
            range.finish()?;
            let (first, last) = (read_size(from)?, read_size(to)?);
            if first > last {
                return Err(to.error("`to` is smaller than `from`: the axis is empty"));
            }
            if first == 0 {
                return Err(from.error("a chunk of 0 bytes is no chunk"));
            }
            let sizes = std::iter::successors(Some(first), |size| size.checked_mul(times)).take_while(|size| *size <= last);
            sizes.map(|value| At { value, place: item.place.clone() }).collect()
        }
        Err(_) => {
            let items = values(item, CHUNK)?.iter();
            items.map(|item| Ok(At { value: read_size(item)?, place: item.place.clone() })).collect::<Result<Vec<_>, Error>>()?
        }
    };
    for At { value, place } in &chunks {
        if *value == 0 || !value.is_multiple_of(SECTOR_BYTES) {
            return Err(place.error(format!(
                "a chunk of {} is not possible: it has to be a multiple of {SECTOR_BYTES} bytes, and more than 0",
                stacks::size_text(*value)
            )));
        }
    }
    Ok(chunks)
}

fn product(selection: &Selection<'_>) -> Result<Vec<Cell>, Error> {
    let mut cells = Vec::new();
    for members in &selection.members {
        for level in &selection.levels {
            let chunks: Vec<Option<&At<u64>>> = match level.value {
                Level::Raid0 => selection.chunks.iter().map(Some).collect(),
                Level::Single | Level::Linear => vec![None],
            };
            for chunk in chunks {
                cells.push(cell(members.value, level, chunk)?);
            }
        }
    }
    Ok(cells)
}

fn cell(set: &MemberSet, level: &At<Level>, chunk: Option<&At<u64>>) -> Result<Cell, Error> {
    let mut settings = BTreeMap::from([(MEMBERS.to_owned(), set.name.clone()), (LEVEL.to_owned(), level_name(level.value).to_owned())]);
    let place = chunk.map_or(&level.place, |chunk| &chunk.place).clone();
    let node = match (level.value, chunk) {
        (Level::Single, _) => set.nodes[0].clone(),
        (Level::Linear, _) => Node::layer("linear", set.nodes.clone()),
        (Level::Raid0, chunk) => {
            let chunk_bytes = chunk.expect("a stripe has a chunk").value;
            let text = stacks::size_text(chunk_bytes);
            if chunk_bytes > set.smallest_bytes {
                let member = stacks::size_text(set.smallest_bytes);
                return Err(place.error(format!("a chunk of {text} is larger than a member of [members.{}] ({member})", set.name)));
            }
            settings.insert(CHUNK.to_owned(), text.clone());
            stacks::raid0(&text, set.nodes.clone())
        }
    };
    stacks::dry(&node).map_err(|error| place.error(error))?;
    let id = configuration_id(&settings);
    let configuration = Configuration { id, settings, stack: node.to_string(), clock: set.clock, baseline: String::new() };
    Ok(Cell { configuration, place })
}

/// The values a `[[skip]]` or `[baseline]` gives for the axes, as settings; all of several match.
fn pattern(table: &Reader<'_>) -> Result<Vec<(&'static str, Vec<String>)>, Error> {
    let mut pattern = Vec::new();
    for axis in AXES {
        let Some(item) = table.get(axis) else { continue };
        let text = |item: &Item| if axis == CHUNK { Ok(stacks::size_text(read_size(item)?)) } else { item.text().map(str::to_owned) };
        pattern.push((axis, values(item, axis)?.iter().map(text).collect::<Result<_, Error>>()?));
    }
    Ok(pattern)
}

fn matches(pattern: &[(&str, Vec<String>)], settings: &BTreeMap<String, String>) -> bool {
    pattern.iter().all(|(axis, values)| settings.get(*axis).is_some_and(|value| values.contains(value)))
}

fn leave_out(found: &mut Found, table: Reader<'_>) -> Result<(), Error> {
    let pattern = pattern(&table)?;
    let why = table.require("why", "the reason, shown with the plan")?.text()?.to_owned();
    let place = table.place.clone();
    table.finish()?;
    let (left_out, left): (Vec<Cell>, Vec<Cell>) =
        std::mem::take(&mut found.cells).into_iter().partition(|cell| matches(&pattern, &cell.configuration.settings));
    if left_out.is_empty() {
        return Err(place.error("this [[skip]] matches no configuration"));
    }
    found.cells = left;
    found.skipped.extend(left_out.into_iter().map(|cell| Skipped { settings: cell.configuration.settings, why: why.clone() }));
    Ok(())
}

/// Gives every configuration the one it is compared with: the configuration that `[baseline]` describes and that agrees with
/// it on every axis that `[baseline]` does not name and both have.
pub(super) fn with_baselines(cells: Vec<Cell>, section: Option<Reader<'_>>, document: &Place) -> Result<Vec<Configuration>, Error> {
    let Some(table) = section else {
        let several = || {
            document.error("the plan has no [baseline]: name the configuration that the others are compared with, for example\n  [baseline]\n  level = \"single\"")
        };
        let [cell] = &cells[..] else { return Err(several()) };
        let baseline = cell.configuration.id.clone();
        return Ok(vec![Configuration { baseline, ..cell.configuration.clone() }]);
    };
    let pattern = pattern(&table)?;
    let place = table.place.clone();
    table.finish()?;
    if pattern.is_empty() {
        return Err(place.error("[baseline] names nothing; give at least one of members, level, chunk"));
    }
    let candidates: Vec<&Configuration> =
        cells.iter().map(|cell| &cell.configuration).filter(|cell| matches(&pattern, &cell.settings)).collect();
    if candidates.is_empty() {
        return Err(place.error("[baseline] is no configuration of this plan; add it with [[add]] or name another"));
    }
    let baselines: Vec<String> =
        cells.iter().map(|cell| baseline_of(&cell.configuration, &candidates, &pattern, &place)).collect::<Result<_, Error>>()?;
    Ok(cells.into_iter().zip(baselines).map(|(cell, baseline)| Configuration { baseline, ..cell.configuration }).collect())
}

fn baseline_of(
    cell: &Configuration,
    candidates: &[&Configuration],
    pattern: &[(&str, Vec<String>)],
    place: &Place,
) -> Result<String, Error> {
    let free: Vec<&str> = AXES.into_iter().filter(|axis| pattern.iter().all(|(named, _)| named != axis)).collect();
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
            "[baseline] compares measured with modelled figures for {this}; leave `members` out of it, so that each set has its own"
        ))),
        [] => Err(place.error(format!("[baseline] is no configuration for {this}; add it with [[add]]"))),
        _ => {
            let first = shown(&found[0].settings);
            let second = shown(&found[1].settings);
            Err(place.error(format!("[baseline] is more than one configuration for {this}: ({first}) and ({second}); name more axes")))
        }
    }
}
