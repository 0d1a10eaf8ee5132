//! Plan files: TOML in, everything resolved out, before anything is written or opened for writing.
//!
//! ```text
//! plan.toml + overrides ──> document (keys and values with their places)
//!     members · matrix · add · skip · baseline      ──> configurations, each with its stack text and its baseline
//!     workload                                      ──> workloads and the settings of their suites
//!     trials · report                               ──> seed, blocks, margin
//! ```
//!
//! The format is described in `docs/plan-files.md`.

mod axes;
mod catalogue;
mod document;
mod matrix;
mod members;
mod one_cell;
mod one_line;
mod schedule;
mod shipped;
pub(crate) mod suite;
pub(crate) mod terms;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bench::suite::{Suite, TargetKind, explain, pull};
use results::{Axis, Budget, Clock, Configuration, Design, Plan, Schedule, Terms, WorkTarget};

use crate::cell::{Cell, names};
use crate::pull::catalogue::PULL_HEADER;
use crate::stacks::{self, Leaf, has_header_elsewhere, leaves};
pub(crate) use document::suggestion;
use document::{Override, Reader, SourceLocation};
use host::Error;
pub use matrix::SkippedConfiguration;
pub use one_cell::{OneCell, axes as configuration_keys, folder, is_key, suite_with};
pub use one_line::OneLine;
pub use shipped::{ShippedPlan, shipped};
pub use suite::{row, setting_value, settings as suite_settings, suite_of};
use words::statement;

/// How much of what was typed the name of a plan that is made of it has, in letters.
const NAME_MAX: usize = 60;

/// A plan file with every default filled in, and what it was read from.
#[derive(Clone, Debug)]
pub struct ResolvedPlan {
    /// What will be run.
    pub plan: Plan,
    /// The text of the plan file, with the overrides of the command line as comments on top.
    pub text: String,
    /// Configurations that the plan leaves out, with the reason it gives.
    pub skipped: Vec<SkippedConfiguration>,
}

/// A commented plan to start from.
#[must_use]
pub fn starter() -> &'static str {
    include_str!("starter.toml")
}

/// Reads and resolves a plan file, or the plan of that name that came with the program. `overrides`
/// are `dotted.key=value` settings from the command line.
///
/// # Errors
/// A usage error of one line with file, line and column: what is wrong, and what was expected.
pub fn load(path: &Path, overrides: &[String]) -> Result<ResolvedPlan, Error> {
    let (origin, text) = read(path)?;
    resolve(&origin, &text, overrides)
}

/// What messages call a plan file, or a plan that came with the program, and its text.
///
/// # Errors
/// A usage error when it cannot be read.
pub fn read(path: &Path) -> Result<(String, String), Error> {
    shipped::read(path)
}

/// Resolves the text of a plan; `origin` is what messages call it.
///
/// # Errors
/// As [`load`].
pub fn resolve(origin: &str, text: &str, overrides: &[String]) -> Result<ResolvedPlan, Error> {
    let changes: Vec<Override> =
        overrides.iter().map(|setting| Override::read(setting)).collect::<Result<_, _>>()?;
    let resolved = resolve_changed(origin, text, &changes)?;
    Ok(ResolvedPlan { text: changed_text(text, overrides), ..resolved })
}

/// The same of a text and what is changed in it, which stands in no text yet.
fn resolve_changed(origin: &str, text: &str, changes: &[Override]) -> Result<ResolvedPlan, Error> {
    let mut document = document::parse(origin, text)?;
    let size = change(&mut document, changes)?;
    let reader = Reader::document(&document, origin);
    let schema = reader.require("schema", catalogue::PLAN_VERSION)?;
    if schema.whole(0, u64::MAX)? != 1 {
        return Err(schema.error(catalogue::OTHER_VERSION));
    }
    let name = reader.require("name", catalogue::PLAN_IS_CALLED)?;
    if name.text()?.trim().is_empty() || name.text()?.contains(char::is_control) {
        return Err(name.error(catalogue::NAME_IS_LINE));
    }
    // Both were looked at when the form was chosen.
    reader.get(document::SIZE);
    reader.get(document::SIZES);
    let sections = Sections::read(&reader)?;
    let (goal, must, budget) = (reader.get("goal"), reader.get("must"), reader.table("budget")?);
    let question = match reader.get("question") {
        Some(item) => Some(terms::question(item)?),
        None => terms::first_question(text),
    };
    let place = reader.place.clone();
    reader.finish()?;

    let said = schedule::trials(sections.trials)?;
    let (blocks, seed) = (said.blocks, said.seed);
    let (margin, matters) = judging(sections.report)?;
    let work = suite::read(sections.workloads, &place)?;
    let members = members::read(sections.members, &place, work.has_pulls_only())?;
    let caches = axes::read_caches(sections.caches)?;
    let runs = stacks::DryRuns::default();
    let known = axes::Names { sets: &members, caches: &caches, work: &work, runs: &runs };
    let found =
        matrix::read(&known, sections.matrix.as_ref(), &sections.add, sections.skip, &place)?;
    refuse_endless(&place, found.cells.len(), work.workloads.len(), blocks)?;
    let cells = matrix::with_baselines(&known, found.cells, sections.baseline, &place)?;
    refuse_unfit(&cells, &work.suites)?;
    schedule::refuse_undrawable(&cells, blocks, said.drawn_parameters)?;
    work.refuse_unfit(&cells, &place)?;
    let configurations: Vec<Configuration> = cells.iter().map(|cell| cell.record.clone()).collect();
    let plan = Plan {
        schema: 1,
        name: called(name.text()?.trim(), size.as_deref()),
        seed,
        blocks,
        margin,
        axes: axes(&configurations),
        configurations,
        workloads: work.workloads,
        suite_settings: work.settings,
        terms: Terms { question, matters, ..Terms::default() },
        schedule: Schedule {
            interleaved: false,
            rest_seconds: said.rest_seconds,
            limit_seconds: said.limit_seconds,
            drawn_parameters: said.drawn_parameters.is_some(),
        },
    };
    let mut plan = schedule::with_design(plan, said.design)?;
    plan.schedule.interleaved = schedule::interleaved(&plan, (&cells, &runs), said.interleave)?;
    if let Some(budget) = budget {
        plan.terms.budget = terms::budget(budget)?;
    }
    if let Some(goal) = goal {
        terms::goal(&mut plan, goal)?;
    }
    if let Some(must) = must {
        terms::must(&mut plan, &cells, must)?;
    }
    Ok(ResolvedPlan { plan, text: text.to_owned(), skipped: found.skipped })
}

/// The text of a plan with what the command line says besides as comments on top.
fn changed_text(text: &str, overrides: &[String]) -> String {
    let said = overrides.iter().map(|setting| {
        format!("# changed on the command line: -s {}\n", setting.replace('\n', " "))
    });
    said.chain([text.to_owned()]).collect()
}

/// Changes a plan by what the command line says, in the form that is chosen: its size.
fn change(document: &mut document::Table, changes: &[Override]) -> Result<Option<String>, Error> {
    // What is said besides changes the form that is chosen.
    let (sizes, others): (Vec<&Override>, Vec<&Override>) =
        changes.iter().partition(|change| change.key == document::SIZE);
    sizes.into_iter().try_for_each(|change| change.apply(document))?;
    let size = document::choose_size(document)?;
    others.into_iter().try_for_each(|change| change.apply(document))?;
    Ok(size)
}

/// Refuses a plan of too many trials.
fn refuse_endless(
    place: &SourceLocation,
    configurations: usize,
    workloads: usize,
    blocks: u32,
) -> Result<(), Error> {
    let trials = configurations as u64 * workloads as u64 * u64::from(blocks);
    if trials <= TRIALS_MAX {
        return Ok(());
    }
    Err(place.error(statement!(
        catalogue::TOO_MANY_TRIALS,
        trials = trials,
        configurations = configurations,
        workloads = workloads,
        blocks = blocks,
        most = TRIALS_MAX,
    )))
}

/// What a plan is called in a form of itself: its figures are not those of the whole.
fn called(name: &str, size: Option<&str>) -> String {
    size.map_or_else(|| name.to_owned(), |size| format!("{name}, {size}"))
}

/// Every suite has to be able to run on every configuration.
fn refuse_unfit(cells: &[Cell], suites: &[(&'static Suite, SourceLocation)]) -> Result<(), Error> {
    let shown = |cell: &Cell| matrix::shown(&cell.record.settings);
    let has_processor = |cell: &&Cell| cell.axes.processor.value().is_some();
    if let (Some((_, place)), Some(cell)) = (suites.first(), cells.iter().find(has_processor))
        && !suites.iter().any(|(suite, _)| bench::suite::loads_devices(suite))
    {
        let able: Vec<&str> = bench::suite::all()
            .into_iter()
            .filter(|suite| bench::suite::loads_devices(suite))
            .map(|suite| suite.name)
            .collect();
        return Err(place.error(statement!(
            catalogue::PROCESSOR_NEEDS_LOAD,
            cell = shown(cell),
            suites = able.join(", "),
            axis = names::PROCESSOR,
        )));
    }
    for (suite, place) in suites {
        let is_closed = |cell: &&Cell| {
            cell.target() == TargetKind::Device
                && !cell.record.is_in_guest()
                && cell.device_path().is_none()
        };
        let closed = cells.iter().find(is_closed);
        if let Some(cell) = closed.filter(|_| bench::suite::runs_programs(suite)) {
            let said = catalogue::RUNS_PROGRAMS;
            return Err(place.error(statement!(said, suite = suite.name, cell = shown(cell))));
        }
        let nested = cells.iter().find(|cell| cell.image_bytes() > 0);
        if let Some(cell) = nested.filter(|_| suite.name == pull::SUITE.name) {
            let said = catalogue::PULL_IN_IMAGE;
            return Err(place.error(statement!(said, suite = suite.name, cell = shown(cell))));
        }
        let is_apart = |cell: &Cell| has_header_elsewhere(&cell.stack);
        if suite.name == pull::SUITE.name && cells.iter().any(is_apart) {
            return Err(place.error(PULL_HEADER));
        }
        let unfit = |cell: &&Cell| !suite.targets.contains(&cell.target());
        let Some(cell) = cells.iter().find(unfit) else { continue };
        let why = match cell.target() {
            TargetKind::Device => catalogue::LACKS_FILE_SYSTEM,
            TargetKind::Folder => catalogue::HAS_FILE_SYSTEM,
        };
        return Err(place.error(statement!(
            catalogue::SUITE_UNFIT,
            suite = suite.name,
            targets = explain::targets(suite),
            cell = shown(cell),
            why = why,
        )));
    }
    Ok(())
}

struct Sections<'a> {
    members: Option<Reader<'a>>,
    caches: Option<Reader<'a>>,
    matrix: Option<Reader<'a>>,
    add: Vec<Reader<'a>>,
    skip: Vec<Reader<'a>>,
    baseline: Option<Reader<'a>>,
    workloads: Vec<Reader<'a>>,
    trials: Option<Reader<'a>>,
    report: Option<Reader<'a>>,
}

impl<'a> Sections<'a> {
    fn read(reader: &Reader<'a>) -> Result<Sections<'a>, Error> {
        Ok(Sections {
            members: reader.table("members")?,
            caches: reader.table("caches")?,
            matrix: reader.table("matrix")?,
            add: reader.tables("add")?,
            skip: reader.tables("skip")?,
            baseline: reader.table("baseline")?,
            workloads: reader.tables("workload")?,
            trials: reader.table("trials")?,
            report: reader.table("report")?,
        })
    }
}

/// More trials than this are a slip, not a plan: at a second each they take eleven days.
const TRIALS_MAX: u64 = 1_000_000;
const MARGIN_DEFAULT: f64 = 0.02;

/// The half-width of "same", and the gain that would matter.
fn judging(section: Option<Reader<'_>>) -> Result<(f64, Option<f64>), Error> {
    let Some(section) = section else { return Ok((MARGIN_DEFAULT, None)) };
    let (margin, matters) = (section.get("margin"), section.get("matters"));
    section.finish()?;
    let margin = margin.map_or(Ok(MARGIN_DEFAULT), document::Item::share)?;
    let share = matters.map(document::Item::share).transpose()?;
    if let (Some(item), Some(_)) = (matters, share.filter(|share| *share < margin)) {
        return Err(item.error(catalogue::MATTERS_BELOW_MARGIN));
    }
    Ok((margin, share))
}

/// The axes with their values in the order in which the configurations show them.
fn axes(configurations: &[Configuration]) -> Vec<Axis> {
    let mut names: Vec<&str> = names::AXES.to_vec();
    for name in configurations.iter().flat_map(|cell| matrix::of_suites(&cell.settings)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let values = |name: &str| {
        let mut seen: HashSet<&str> = HashSet::new();
        let given = configurations.iter().filter_map(|known| known.settings.get(name));
        let mut values: Vec<String> =
            given.filter(|value| seen.insert(value.as_str())).cloned().collect();
        if name == names::CHUNK {
            // An added chunk size belongs between the others.
            values.sort_by_key(|value| stacks::parse_size(value).unwrap_or(u64::MAX));
        }
        Axis { name: name.to_owned(), values }
    };
    names.into_iter().map(values).filter(|axis| !axis.values.is_empty()).collect()
}

/// A file or device that a run writes to.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct WriteTarget {
    /// Its path; `{members}` stands for a folder of the run's own, and `…` for what suites make in
    /// a folder that is there.
    pub path: String,
    /// Its size in bytes; 0 for what is made in a folder.
    pub size_bytes: u64,
    /// Whether the run makes it, and removes it at its end.
    pub made: bool,
    /// Bytes that preparing alone writes to it in the whole run; what the tests write comes on top.
    pub prepared_bytes: u64,
}

/// What a plan comes to, before it is started.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Outline {
    /// Number of configurations.
    pub configurations: usize,
    /// Number of workloads.
    pub workloads: usize,
    /// Number of blocks.
    pub blocks: u32,
    /// Number of trials; of a race the most that it may come to.
    pub trials: usize,
    /// How they are spent.
    pub design: Design,
    /// Whether all configurations run one workload before any runs the next.
    pub interleaved: bool,
    /// What the run may cost.
    pub budget: Budget,
    /// How long it will take, roughly, in seconds.
    pub estimated_seconds: f64,
    /// Everything that will be written to.
    pub written: Vec<WriteTarget>,
}

/// What a plan comes to.
///
/// # Errors
/// When a stack of the plan cannot be made sense of, or a file or device it names is gone.
pub fn outline(plan: &Plan) -> Result<Outline, Error> {
    let mut written: Vec<WriteTarget> = Vec::new();
    // Where each path stands in it.
    let mut places: HashMap<String, usize> = HashMap::new();
    let runs = stacks::DryRuns::default();
    let mut seconds = 0.0;
    for configuration in &plan.configurations {
        let cell = Cell::of(configuration)?;
        let size_bytes = cell.dry(&runs)?.size_bytes;
        let leaves = leaves(&cell.stack)?;
        let groups = if plan.schedule.interleaved {
            (0..plan.workloads.len()).map(|workload| vec![workload]).collect()
        } else {
            suite::groups(plan)
        };
        let prepared_bytes = suite::visit_bytes(plan, &groups, &cell, size_bytes);
        if configuration.clock == Clock::Wall {
            let visits = if plan.schedule.interleaved { plan.workloads.len() } else { 1 };
            seconds += plan.schedule.rest_seconds * visits as f64 * f64::from(plan.blocks);
        }
        for leaf in &leaves {
            let share =
                (prepared_bytes / leaves.len() as u64).saturating_mul(u64::from(plan.blocks));
            let (path, size_bytes, made) = match leaf {
                Leaf::Made(file) => (file.address.clone(), file.size_bytes, true),
                Leaf::Existing { path, size_bytes, read_only: false } => {
                    (path.display().to_string(), *size_bytes, false)
                }
                // Suites work in a folder of their own in it.
                Leaf::Folder(folder) => (folder.join("…").display().to_string(), 0, true),
                Leaf::Existing { .. } | Leaf::Kept(_) | Leaf::Remote(_) | Leaf::Other => continue,
            };
            let place = *places.entry(path.clone()).or_insert_with(|| {
                written.push(WriteTarget { path, size_bytes, made, prepared_bytes: 0 });
                written.len() - 1
            });
            let prepared_bytes = &mut written[place].prepared_bytes;
            *prepared_bytes = prepared_bytes.saturating_add(share);
        }
        seconds += visit_time(plan, &cell, prepared_bytes).as_secs_f64() * f64::from(plan.blocks);
    }
    let (configurations, workloads) = (plan.configurations.len(), plan.workloads.len());
    let trials = configurations * workloads * plan.blocks as usize;
    Ok(Outline {
        configurations,
        workloads,
        blocks: plan.blocks,
        trials,
        design: plan.terms.design,
        interleaved: plan.schedule.interleaved,
        budget: plan.terms.budget,
        estimated_seconds: seconds,
        written,
    })
}

/// Refuses a plan whose files do not fit where they are made: each is written whole, all of them
/// are there at the same time. `folder` is where the run's own ones would lie; it need not be there
/// yet.
///
/// # Errors
/// A usage error with the folder, what the files take and what is free; what a file system answers
/// otherwise.
pub fn room(plan: &Plan, folder: &Path) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let mut counted: HashSet<String> = HashSet::new();
    // By file system: a folder on it, and what all files there take.
    let mut needed: BTreeMap<u64, (PathBuf, u64)> = BTreeMap::new();
    for cell in Cell::all(plan)? {
        for leaf in leaves(&cell.stack)? {
            let Leaf::Made(file) = leaf else { continue };
            if !counted.insert(file.address.clone()) {
                continue;
            }
            let folder = host::files::absolute(file.folder.as_deref().unwrap_or(folder))?;
            let there =
                folder.ancestors().find_map(|above| Some((above, fs::metadata(above).ok()?)));
            let Some((there, data)) = there else { continue };
            let bytes = &mut needed.entry(data.dev()).or_insert_with(|| (there.to_owned(), 0)).1;
            *bytes = bytes.saturating_add(file.size_bytes);
        }
    }
    for (there, bytes) in needed.values() {
        let system = rustix::fs::statvfs(there)
            .map_err(|error| Error::from_io(there.display(), &error.into()))?;
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        if *bytes > free {
            let shown = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
            return Err(Error::usage(statement!(
                catalogue::NO_ROOM,
                needed = shown(*bytes),
                folder = there.display(),
                free = shown(free),
            )));
        }
    }
    Ok(())
}

/// How long it takes to attach a device, to make and mount a file system on it, and to end both,
/// when nothing is known yet: what `plans/cache-effect-here.toml` took on two processors.
const FILE_SYSTEM: Duration = Duration::from_secs(2);

fn visit_time(plan: &Plan, cell: &Cell, prepared_bytes: u64) -> Duration {
    let tests: Duration =
        plan.workloads.iter().map(|workload| suite::planned_time(plan, workload, cell)).sum();
    tests + planned_mounting(cell) + suite::planned_preparing(prepared_bytes)
}

/// How long a visit takes to make the file systems of a configuration and to take them away again.
/// In a guest that is part of its boot, and of a power cut part of the test.
pub(crate) fn planned_mounting(cell: &Cell) -> Duration {
    if cell.record.ground != WorkTarget::FileSystem {
        return Duration::ZERO;
    }
    match cell.image_bytes() {
        0 => FILE_SYSTEM,
        _ => FILE_SYSTEM * 2,
    }
}

#[cfg(test)]
mod tests;
