//! The workloads of a plan: which suite, which of its rows, and with which settings on which clock.
//!
//! ```text
//!   [[workload]]             suite.settings ──> prefix.NAME, or prefix.wall.NAME and prefix.virtual.NAME
//!   suite = "crystal"        suite.phases(settings) ──> workloads `crystal: SEQ1M Q8T1 read`, …
//! ```
//!
//! Every suite is read by its own definition. Settings are kept as texts, so that the resolved plan
//! shows them as they were written. Of the keys that fit a row on a clock, the first holds:
//!
//! ```text
//! devtest.sequential.virtual.time    [workload.sequential]  time = …, or = { virtual = … }
//! devtest.virtual.time               [[workload]]           time = { virtual = … }
//! devtest.time                       [[workload]]           time = …
//! ```
//!
//! A setting with a list of values is an axis of the configurations, as one that `[matrix]` names:
//! it holds for all workloads, and is no key here.

use std::collections::BTreeMap;
use std::time::Duration;

use bench::suite::{self, Kind, Phase, Rows, Setting, Settings, Suite, TargetKind, Value, pull};
use results::safety;
use results::{Clock, Configuration, Group, Judge, ModelError, ModelErrors, Plan, Workload};
use stack::{Order, Work, size};

use super::catalogue;
use super::document::{
    Item, LocatedValue, Reader, SourceLocation, Value as Given, given_twice, suggestion, values,
};
use crate::cell::names::axis_name;
use crate::cell::{Cell, suite_axis};
use crate::stacks::{self, DryRuns};
use host::Error;
use words::{Message, Text, statement};

/// How often a suite runs each of its rows itself.
pub(crate) const RUNS: &str = "runs";

/// The groups of rows whose settings may differ from the rest of the workload.
const GROUPS: [(Group, &str); 3] =
    [(Group::Sequential, "sequential"), (Group::Random, "random"), (Group::Mixed, "mixed")];

const CLOCKS: [(Clock, &str); 2] = [(Clock::Wall, "wall"), (Clock::Virtual, "virtual")];

/// The value of a setting from its text.
///
/// # Errors
/// One line: what was found and what is expected.
pub fn setting_value(kind: Kind, text: &str) -> Result<Value, Text> {
    kind.read(text, &|text| Ok(stacks::parse_size(text)?), &|text| Ok(size::parse_duration(text)?))
}

fn its_clock(clock: Clock) -> block::Clock {
    match clock {
        Clock::Wall => block::Clock::Wall,
        Clock::Virtual => block::Clock::Virtual,
    }
}

/// What the `[[workload]]` tables come to.
#[derive(Default)]
pub(super) struct Workloads {
    pub(super) workloads: Vec<Workload>,
    pub(super) settings: BTreeMap<String, String>,
    /// The suites, with the place where each is named.
    pub(super) suites: Vec<(&'static Suite, SourceLocation)>,
    /// Settings that were given a list of values, each of which is an axis of the plan.
    pub(super) axes: Vec<SuiteAxis>,
    /// Settings that were given one value, or some for groups of rows, with their places.
    given: Vec<(&'static str, SourceLocation)>,
    /// Settings that were given a list, before all suites are known.
    lists: Vec<(&'static Setting, Item)>,
}

/// A setting of the plan's suites whose values are an axis of its configurations.
#[derive(Clone, Debug)]
pub(super) struct SuiteAxis {
    /// Its name in the configurations' settings.
    pub(super) name: String,
    pub(super) values: Vec<LocatedValue<String>>,
}

impl Workloads {
    /// The settings that all suites of the plan have, of which each may be an axis.
    pub(super) fn settings_of_all(&self) -> Vec<&'static Setting> {
        let Some(((first, _), others)) = self.suites.split_first() else { return Vec::new() };
        let everywhere = |setting: &&Setting| {
            others.iter().all(|(suite, _)| suite.setting(setting.name).is_some())
        };
        first.settings.iter().filter(everywhere).collect()
    }

    /// Whether power is cut, and nothing else measured.
    pub(super) fn has_pulls_only(&self) -> bool {
        !self.workloads.is_empty() && self.workloads.iter().all(safety::is_pull)
    }

    /// How far predictions for a configuration of modelled drives were off, by workload.
    pub(super) fn model_errors(&self, cell: &Cell, runs: &DryRuns) -> Option<ModelErrors> {
        let modelled = runs.modelled(&cell.stack, cell.file_system.is_some())?;
        let of_suite = |workload: &Workload| {
            (workload.suite.clone(), split_name(workload).0.to_owned(), workload.group)
        };
        let mut workloads = BTreeMap::new();
        // Rows of one suite and kind of work lie side by side, and have their phases in common.
        for rows in self.workloads.chunk_by(|one, next| of_suite(one) == of_suite(next)) {
            let prefix = split_name(&rows[0]).0;
            let Ok(suite) = suite_of(&rows[0]) else { continue };
            let Ok(settings) = settings_of(suite, &self.settings, prefix, &cell.record) else {
                continue;
            };
            let phases = (suite.phases)(&settings.of_group(rows[0].group));
            workloads.extend(rows.iter().filter_map(|workload| {
                let row = split_name(workload).1;
                let phase = phases.iter().find(|phase| phase.name == row)?;
                let stack::PredictionError { error, cases } = modelled.error(work(phase)?);
                Some((workload.name.clone(), ModelError { error, cases }))
            }));
        }
        Some(ModelErrors { is_one_drive: modelled.is_one_drive(), workloads })
    }

    /// The values of an axis over a setting, each checked for every suite of the plan.
    pub(super) fn axis_values(
        &self,
        name: &str,
        item: &Item,
    ) -> Result<Vec<LocatedValue<String>>, Error> {
        let kinds: Vec<Kind> =
            self.suites.iter().filter_map(|(suite, _)| Some(suite.setting(name)?.kind)).collect();
        let one = |item: &Item| {
            let text = item.scalar()?;
            let mut shown = text.clone();
            for kind in &kinds {
                shown = setting_value(*kind, &text).map_err(|text| item.error(text))?.to_string();
            }
            Ok(LocatedValue { value: shown, place: item.place.clone() })
        };
        let values: Vec<LocatedValue<String>> =
            values(item, name)?.iter().map(one).collect::<Result<_, Error>>()?;
        for (index, at) in values.iter().enumerate() {
            if values[..index].iter().any(|other| other.value == at.value) {
                return Err(at.place.error(given_twice(&at.value)));
            }
        }
        Ok(values)
    }

    /// Refuses what is said of a setting that means nothing to any of the configurations.
    fn refuse_without_meaning(&self, cells: &[Cell]) -> Result<(), Error> {
        for (name, place) in &self.given {
            let its = |(suite, _): &(&'static Suite, SourceLocation)| suite.setting(name);
            let Some(scope) = self.suites.iter().find_map(its).map(|setting| setting.scope) else {
                continue;
            };
            let why = |cell: &Cell| scope.refusal(cell.target(), cell.is_read_only());
            let whys: Option<Vec<Message>> = cells.iter().map(why).collect();
            if let Some(why) = whys.and_then(|whys| whys.first().copied()) {
                let said = catalogue::SETTING_REFUSED;
                return Err(place.error(statement!(said, setting = *name, why = why)));
            }
        }
        Ok(())
    }

    /// Refuses configurations for which the workloads are not what was read: a setting that is an
    /// axis and given a value besides, or one that decides which rows there are.
    pub(super) fn refuse_unfit(
        &self,
        cells: &[Cell],
        document: &SourceLocation,
    ) -> Result<(), Error> {
        let is_axis = |setting: &str| {
            cells.iter().any(|cell| suite_axis(&cell.record.settings, setting).is_some())
        };
        self.refuse_without_meaning(cells)?;
        if let Some((name, place)) = self.given.iter().find(|(name, _)| is_axis(name)) {
            return Err(place.error(statement!(catalogue::SETTING_IS_AXIS, setting = *name)));
        }
        let axes: Vec<&str> = self
            .settings_of_all()
            .into_iter()
            .map(|setting| setting.name)
            .filter(|name| is_axis(name))
            .collect();
        if axes.is_empty() {
            return Ok(());
        }
        for workload in &self.workloads {
            let (prefix, row) = split_name(workload);
            let suite = suite_of(workload)?;
            for cell in cells {
                let settings = settings_of(suite, &self.settings, prefix, &cell.record)
                    .map_err(|text| document.error(text))?;
                if !(suite.phases)(&settings).iter().any(|phase| phase.name == row) {
                    let (said, axes) = (catalogue::ROWS_DIFFER, axes.join(", "));
                    let text = statement!(said, suite = suite.name, row = row, axes = axes);
                    return Err(document.error(text));
                }
            }
        }
        Ok(())
    }
}

/// Reads the `[[workload]]` tables.
pub(super) fn read(tables: Vec<Reader<'_>>, document: &SourceLocation) -> Result<Workloads, Error> {
    if tables.is_empty() {
        return Err(document.error(catalogue::NO_WORKLOAD));
    }
    let mut found = Workloads::default();
    let mut prefixes: Vec<String> = Vec::new();
    for table in tables {
        let prefix = found.read_table(table, &prefixes)?;
        prefixes.push(prefix);
    }
    for (setting, item) in std::mem::take(&mut found.lists) {
        found.add_axis(setting.name, &item)?;
    }
    Ok(found)
}

/// The suite that a table names.
fn named_suite(item: &Item) -> Result<&'static Suite, Error> {
    let word = item.text()?;
    suite::find(word).ok_or_else(|| {
        let names: Vec<&str> = suite::all().iter().map(|suite| suite.name).collect();
        let hint = suggestion(word, names.iter().copied());
        item.error(statement!(catalogue::UNKNOWN_SUITE, name = word, hint = hint))
    })
}

/// What stands in front of the names of a table's rows: its `name`, or its suite's. No other table
/// may have it.
fn read_prefix(table: &Reader<'_>, suite: &Item, others: &[String]) -> Result<String, Error> {
    let name = table.get("name");
    let prefix = name.unwrap_or(suite).text()?.to_owned();
    let place = name.map_or(&table.place, |item| &item.place);
    if prefix.is_empty() || prefix.contains(": ") || prefix.contains('.') {
        return Err(place.error(catalogue::WORKLOAD_NAME));
    }
    if others.contains(&prefix) {
        return Err(place.error(statement!(catalogue::WORKLOAD_TWICE, name = &prefix)));
    }
    Ok(prefix)
}

/// How much a table's rows count in a score.
fn read_weight(table: &Reader<'_>, suite: &Suite) -> Result<f64, Error> {
    match table.get("weight") {
        Some(item) if suite.name == pull::NAME => Err(item.error(catalogue::PULL_HAS_NO_WEIGHT)),
        // A grade is in no score.
        None if suite.name == pull::NAME => Ok(0.0),
        item => item.map_or(Ok(1.0), Item::positive),
    }
}

impl Workloads {
    /// Adds what one table asks for; returns what stands in front of the names of its rows.
    fn read_table(&mut self, table: Reader<'_>, others: &[String]) -> Result<String, Error> {
        let item = table.require("suite", catalogue::WHICH_SUITE)?;
        let suite = named_suite(item)?;
        let prefix = read_prefix(&table, item, others)?;
        let weight = read_weight(&table, suite)?;
        let judge = table.get("judge").map_or(Ok(Judge::default()), read_judge)?;
        read_settings(suite, &table, &prefix, self)?;
        let phases = read_rows(suite, &table, &prefix, &self.settings)?;
        let is_plain = matches!(suite.rows, Rows::Alone) && table.get("name").is_none();
        let named = |phase: &str| match is_plain {
            true => phase.to_owned(),
            false => format!("{prefix}: {phase}"),
        };
        self.workloads.extend(phases.into_iter().map(|phase| Workload {
            name: named(&phase.name),
            suite: suite.name.to_owned(),
            group: phase.group,
            metric: phase.metric.into_owned(),
            better: phase.better,
            weight,
            judge,
            buffered_of: phase.buffered_of.as_deref().map(named),
        }));
        self.suites.push((suite, item.place.clone()));
        table.finish()?;
        Ok(prefix)
    }

    /// Makes a setting that was given as a list an axis of the plan.
    fn add_axis(&mut self, setting: &str, item: &Item) -> Result<(), Error> {
        if !self.settings_of_all().iter().any(|known| known.name == setting) {
            return Err(item.error(statement!(catalogue::ONE_SETTING_OF_ALL, setting = setting)));
        }
        let axis = SuiteAxis { name: axis_name(setting), values: self.axis_values(setting, item)? };
        let same = |values: &[LocatedValue<String>]| {
            values.iter().map(|at| at.value.clone()).collect::<Vec<_>>()
        };
        match self.axes.iter().find(|known| known.name == axis.name) {
            None => self.axes.push(axis),
            Some(known) if same(&known.values) == same(&axis.values) => (),
            Some(_) => {
                return Err(item.error(statement!(catalogue::ONE_AXIS_OF_ALL, setting = setting)));
            }
        }
        Ok(())
    }
}

/// What a phase asks of a device; none of what is not fast or slow.
fn work(phase: &Phase) -> Option<Work> {
    let order = match phase.group {
        Group::Sequential => Order::Sequential,
        Group::Random => Order::Random,
        Group::Mixed => Order::Mixed,
        Group::Files => Order::Files,
        Group::Safety => return None,
    };
    Some(Work::new(order, phase.writes, phase.is_deep))
}

fn read_judge(item: &Item) -> Result<Judge, Error> {
    match item.text()? {
        "durable" => Ok(Judge::Durable),
        "acknowledged" => Ok(Judge::Acknowledged),
        other => {
            let hint = suggestion(other, ["durable", "acknowledged"]);
            Err(item.error(statement!(catalogue::JUDGE_EXPECTED, word = other, hint = hint)))
        }
    }
}

/// The rows that a table asks for: all that its settings give, or those that `tests = […]` names,
/// in the suite's order.
fn read_rows(
    suite: &'static Suite,
    table: &Reader<'_>,
    prefix: &str,
    settings: &BTreeMap<String, String>,
) -> Result<Vec<Phase>, Error> {
    let phases = |clock| {
        settings_on(suite, settings, prefix, clock)
            .map(|settings| (suite.phases)(&settings))
            .map_err(|text| table.place.error(text))
    };
    let all = phases(Clock::Wall)?;
    if all.is_empty() {
        return Err(table.place.error(statement!(catalogue::NO_ROW_LEFT, suite = suite.name)));
    }
    let names =
        |phases: &[Phase]| phases.iter().map(|phase| phase.name.clone()).collect::<Vec<_>>();
    if names(&all) != names(&phases(Clock::Virtual)?) {
        return Err(table.place.error(statement!(catalogue::OTHER_ROWS, suite = suite.name)));
    }
    let Some(item) = table.get("tests") else { return Ok(all) };
    let chosen = item.texts()?;
    if chosen.is_empty() {
        return Err(item.error(catalogue::NO_TESTS));
    }
    let known = names(&all);
    for (name, item) in chosen.iter().zip(item.list()) {
        if !known.contains(name) {
            let hint = suggestion(name, known.iter().map(String::as_str));
            return Err(item.error(statement!(catalogue::NO_SUCH_ROW, name = name, hint = hint)));
        }
    }
    Ok(all.into_iter().filter(|phase| chosen.contains(&phase.name)).collect())
}

fn read_settings(
    suite: &'static Suite,
    table: &Reader<'_>,
    prefix: &str,
    found: &mut Workloads,
) -> Result<(), Error> {
    for setting in suite.settings {
        let mut given = match given(table, setting)? {
            Some(item) if matches!(item.value, Given::List(_)) && setting.kind != Kind::Lines => {
                found.lists.push((setting, item.clone()));
                [None, None]
            }
            item => {
                found.given.extend(item.map(|item| (setting.name, item.place.clone())));
                texts_by_clock(item, setting)?
            }
        }
        .into_iter();
        let texts = CLOCKS.map(|(clock, _)| {
            let default = || setting.default_in_plans(its_clock(clock)).to_string();
            given.next().flatten().unwrap_or_else(default)
        });
        keep(&mut found.settings, prefix, setting.name, texts);
    }
    if !suite.settings.iter().any(|setting| setting.by_group) {
        return Ok(());
    }
    for (_, group) in GROUPS {
        let Some(item) = table.get(group) else { continue };
        let below = item.reader(format!("[workload.{group}]"))?;
        for setting in suite.settings.iter().filter(|setting| setting.by_group) {
            let item = given(&below, setting)?;
            found.given.extend(item.map(|item| (setting.name, item.place.clone())));
            for ((_, clock), text) in CLOCKS.iter().zip(texts_by_clock(item, setting)?) {
                found.settings.extend(
                    text.map(|text| (format!("{prefix}.{group}.{clock}.{}", setting.name), text)),
                );
            }
        }
        below.finish()?;
    }
    Ok(())
}

/// What a table gives for a setting, under its name or an older spelling of it.
fn given<'a>(table: &Reader<'a>, setting: &Setting) -> Result<Option<&'a Item>, Error> {
    let item = table.get(setting.name);
    let Some(alias) = setting.alias else { return Ok(item) };
    match (item, table.get_unlisted(alias)) {
        (Some(_), Some(older)) => {
            let said = catalogue::OLDER_SPELLING;
            Err(older.error(statement!(said, older = alias, name = setting.name)))
        }
        (item, older) => Ok(item.or(older)),
    }
}

/// What was given for a setting on each clock, each text checked: one value for both, or a table by
/// clock.
fn texts_by_clock(item: Option<&Item>, setting: &Setting) -> Result<[Option<String>; 2], Error> {
    let items = match item.map(|item| (item, &item.value)) {
        Some((item, Given::Table(_))) => {
            let reader = item.reader(setting.name)?;
            let items = CLOCKS.map(|(_, clock)| reader.get(clock));
            reader.finish()?;
            items
        }
        _ => [item, item],
    };
    let text = |item: &Item| -> Result<String, Error> {
        let text = match setting.kind {
            Kind::Lines if matches!(item.value, Given::List(_)) => item.texts()?.join("\n"),
            _ => item.scalar()?,
        };
        let value = setting_value(setting.kind, &text).map_err(|text| item.error(text))?;
        // What a file holds belongs to the plan, and its name says nothing; of a file that is too
        // large for that, where it is.
        let is_of_file = matches!(setting.kind, Kind::File | Kind::Path);
        Ok(if is_of_file { value.to_string() } else { text })
    };
    let [wall, modelled] = items.map(|item| item.map(text).transpose());
    Ok([wall?, modelled?])
}

/// Keeps what a setting is on each clock: under one key where that is the same.
fn keep(found: &mut BTreeMap<String, String>, prefix: &str, name: &str, texts: [String; 2]) {
    if texts[0] == texts[1] {
        let [text, _] = texts;
        found.insert(format!("{prefix}.{name}"), text);
    } else {
        found.extend(
            CLOCKS
                .iter()
                .zip(texts)
                .map(|((_, clock), text)| (format!("{prefix}.{clock}.{name}"), text)),
        );
    }
}

/// The prefix of a workload's settings, and the suite's own name of the row.
fn split_name(workload: &Workload) -> (&str, &str) {
    workload.name.split_once(": ").unwrap_or((&workload.suite, &workload.name))
}

/// The suite's own name of the row that a workload is.
#[must_use]
pub fn row(workload: &Workload) -> &str {
    split_name(workload).1
}

/// The suite of a workload.
///
/// # Errors
/// When this raidloom does not have it.
pub fn suite_of(workload: &Workload) -> Result<&'static Suite, Error> {
    let missing = || Error::usage(statement!(catalogue::NO_SUITE_HERE, name = &workload.suite));
    suite::find(&workload.suite).ok_or_else(missing)
}

/// The settings of a suite for a configuration: those of the plan, but for its axes.
fn settings_of(
    suite: &Suite,
    texts: &BTreeMap<String, String>,
    prefix: &str,
    configuration: &Configuration,
) -> Result<Settings, Text> {
    let mut settings = settings_on(suite, texts, prefix, configuration.clock)?;
    for setting in suite.settings {
        if let Some(text) = suite_axis(&configuration.settings, setting.name) {
            let place = || statement!(catalogue::THE_AXIS, axis = axis_name(setting.name));
            let value = setting_value(setting.kind, text).map_err(|text| text.at(place()))?;
            settings.set(suite, setting.name, value)?;
        }
    }
    Ok(settings)
}

/// The settings of a suite on a clock from the texts of a plan.
fn settings_on(
    suite: &Suite,
    texts: &BTreeMap<String, String>,
    prefix: &str,
    clock: Clock,
) -> Result<Settings, Text> {
    let clock_name = CLOCKS.iter().find(|(known, _)| *known == clock).map_or("", |(_, name)| name);
    let mut settings = suite.defaults(its_clock(clock));
    for setting in suite.settings {
        let value = |key: &str, text: &str| {
            setting_value(setting.kind, text).map_err(|text| text.at(format!("`{key}`")))
        };
        // Plans of older runs have the older spelling.
        let names = || [Some(setting.name), setting.alias].into_iter().flatten();
        let text = |key: String| texts.get(&key).map(|text| (key, text));
        let general = names().find_map(|name| {
            text(format!("{prefix}.{clock_name}.{name}"))
                .or_else(|| text(format!("{prefix}.{name}")))
        });
        let value_of_all = match general {
            Some((key, text)) => value(&key, text)?,
            None => setting.default_in_plans(its_clock(clock)).clone(),
        };
        settings.set(suite, setting.name, value_of_all)?;
        for (group, group_name) in GROUPS.into_iter().filter(|_| setting.by_group) {
            let own =
                names().find_map(|name| text(format!("{prefix}.{group_name}.{clock_name}.{name}")));
            if let Some((key, text)) = own {
                settings.set_of_group(suite, group, setting.name, value(&key, text)?)?;
            }
        }
    }
    Ok(settings)
}

/// The settings of a workload's suite for a configuration.
///
/// # Errors
/// When the resolved plan holds a setting that this raidloom cannot read, or this raidloom does not
/// have the suite.
pub fn settings(
    plan: &Plan,
    workload: &Workload,
    configuration: &Configuration,
) -> Result<Settings, Error> {
    let prefix = split_name(workload).0;
    settings_of(suite_of(workload)?, &plan.suite_settings, prefix, configuration)
        .map_err(|text| Error::usage(text).at(catalogue::RESOLVED_PLAN))
}

/// Workloads that share one `[[workload]]` table, in order: they run on members prepared once.
pub(crate) fn groups(plan: &Plan) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, workload) in plan.workloads.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if split_name(&plan.workloads[group[0]]).0 == split_name(workload).0 => {
                group.push(index);
            }
            _ => groups.push(vec![index]),
        }
    }
    groups
}

/// Processor time in seconds that booting a guest and making its file system takes. This and the
/// following were taken from what the short forms of the shipped plans took (`docs/studies.md`).
const GUEST_BOOT_SECONDS: f64 = 0.6;
/// Processor time of a guest for each byte of one large file that is written.
const GUEST_FILE_SECONDS_PER_BYTE: f64 = 2.6e-9;
/// Processor time of a guest for each byte of bonnie's file, in all phases that move it.
const GUEST_BONNIE_SECONDS_PER_BYTE: f64 = 1.8e-8;
/// Processor time of a guest for each empty file that is made, looked at or deleted.
const GUEST_SECONDS_PER_EMPTY_FILE: f64 = 1e-4;
/// Processor time of a guest for each byte of small files, written, read and deleted.
const GUEST_COPY_SECONDS_PER_BYTE: f64 = 5e-8;
/// Processor time of a guest for each other row, and for each byte of its test file.
const GUEST_ROW_SECONDS: f64 = 0.1;
const GUEST_ROW_SECONDS_PER_BYTE: f64 = 1.2e-8;
/// Processor time of a guest for each byte that a load writes before, and for each second of its
/// modelled disks.
const GUEST_LOAD_SECONDS_PER_BYTE: f64 = 6e-10;
const GUEST_LOAD_SECONDS_PER_SECOND: f64 = 0.3;
/// How long a modelled trial takes on this clock, when nothing is known yet.
const MODELLED_TRIAL: Duration = Duration::from_millis(5);
/// A rate at which preparing is assumed to write, in bytes/s, when nothing is known yet.
const PREPARED_BYTES_PER_SECOND: f64 = 5e8;
/// How long a row takes when nothing else is known of it.
const ROW: Duration = Duration::from_secs(2);

/// How often a workload's row is run in one trial.
pub(crate) fn runs(settings: &Settings, suite: &Suite) -> u64 {
    suite.setting(RUNS).map_or(1, |_| settings.count(RUNS))
}

/// How long a trial takes by the plan: what its suite's settings say of time, or a guess.
pub(crate) fn planned_time(plan: &Plan, workload: &Workload, cell: &Cell) -> Duration {
    if cell.record.is_in_guest() {
        // As many guests as there are processors run side by side.
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let seconds = guest_processor_seconds(plan, workload, cell) / processors;
        return Duration::from_secs_f64(seconds);
    }
    let (Ok(suite), Ok(settings)) = (suite_of(workload), settings(plan, workload, &cell.record))
    else {
        return ROW;
    };
    if safety::is_pull(workload) {
        return pull::planned_time(&settings, row(workload));
    }
    let settings = settings.of_group(workload.group);
    let runs = u32::try_from(runs(&settings, suite)).unwrap_or(1);
    let warm_up = u32::from(suite.setting(RUNS).is_some_and(|runs| runs.warms_up));
    if cell.record.clock == Clock::Virtual {
        return MODELLED_TRIAL * (runs + warm_up);
    }
    let time = |name: &str| {
        let setting = suite.setting(name)?;
        matches!(setting.kind, Kind::Time | Kind::SomeTime).then(|| settings.time(name))
    };
    let Some(one) = time("time").filter(|time| !time.is_zero()) else { return ROW };
    let before = time("interval").unwrap_or_default() + time("ramp").unwrap_or_default();
    // The fewest rounds until a load can be called steady.
    let steady = suite.setting("steady").is_some_and(|_| settings.text("steady") == "snia");
    let writes =
        (suite.phases)(&settings).iter().any(|one| one.name == row(workload) && one.writes);
    let rounds = if steady && writes { results::steady::WINDOW as u32 } else { 1 };
    one * (runs * rounds + warm_up) + before
}

/// Processor time in seconds that a trial in a guest takes, with its share of the boot: what the
/// kernel does there grows with the bytes and the number of the files.
pub(crate) fn guest_processor_seconds(plan: &Plan, workload: &Workload, cell: &Cell) -> f64 {
    let (Ok(suite), Ok(settings)) = (suite_of(workload), settings(plan, workload, &cell.record))
    else {
        return GUEST_ROW_SECONDS;
    };
    if safety::is_pull(workload) {
        return pull::guest_processor_seconds(&settings);
    }
    let table = split_name(workload).0;
    let rows: Vec<&Workload> =
        plan.workloads.iter().filter(|other| split_name(other).0 == table).collect();
    let image_bytes = cell.image_bytes() as f64;
    let boot = GUEST_BOOT_SECONDS + image_bytes * GUEST_FILE_SECONDS_PER_BYTE;
    let own = match suite.name {
        suite::copy::NAME => {
            settings.bytes("bytes") as f64 * GUEST_COPY_SECONDS_PER_BYTE / rows.len() as f64
        }
        suite::bonnie::NAME if workload.group == Group::Files => {
            settings.count("files") as f64 * GUEST_SECONDS_PER_EMPTY_FILE
        }
        suite::bonnie::NAME => {
            let twice = || cell.axes.memory_bytes.map(|bytes| 2 * bytes);
            let said = Some(settings.bytes("size")).filter(|bytes| *bytes > 0);
            let bytes = said.or_else(twice).unwrap_or(0) as f64;
            let moving = rows.iter().filter(|row| row.group != Group::Files).count();
            bytes * GUEST_BONNIE_SECONDS_PER_BYTE / moving.max(1) as f64
        }
        suite::crystal::NAME => {
            GUEST_ROW_SECONDS + settings.bytes("size") as f64 * GUEST_ROW_SECONDS_PER_BYTE
        }
        suite::load::NAME => {
            let seconds = settings.time("time") + settings.time("ramp");
            let written = (suite.prepared_bytes)(&settings, None) as f64;
            GUEST_ROW_SECONDS
                + written * GUEST_LOAD_SECONDS_PER_BYTE
                + seconds.as_secs_f64() * GUEST_LOAD_SECONDS_PER_SECOND
        }
        _ => GUEST_ROW_SECONDS,
    };
    own + boot / rows.len() as f64
}

/// Bytes that preparing writes for the workloads of one table in one visit of a configuration,
/// whose device has so many.
pub(crate) fn prepared_bytes(plan: &Plan, group: &[usize], cell: &Cell, size_bytes: u64) -> u64 {
    if cell.record.clock == Clock::Virtual {
        return 0;
    }
    let device_bytes = (cell.target() == TargetKind::Device).then_some(size_bytes);
    let of = |workload: &Workload| {
        let settings = settings(plan, workload, &cell.record).ok()?;
        Some((suite_of(workload).ok()?.prepared_bytes)(&settings, device_bytes))
    };
    group.first().and_then(|first| of(&plan.workloads[*first])).unwrap_or(0)
}

/// Bytes that are written before the tests of a visit, for workloads of these tables: what their
/// suites prepare, and the image that they work in.
pub(crate) fn visit_bytes(plan: &Plan, groups: &[Vec<usize>], cell: &Cell, size_bytes: u64) -> u64 {
    let of = |group: &Vec<usize>| prepared_bytes(plan, group, cell, size_bytes);
    let image_bytes = match cell.record.clock {
        Clock::Wall => cell.image_bytes(),
        Clock::Virtual => 0,
    };
    groups.iter().map(of).sum::<u64>() + image_bytes
}

/// How long writing so many bytes takes while preparing, by the plan.
pub(crate) fn planned_preparing(bytes: u64) -> Duration {
    Duration::from_secs_f64(bytes as f64 / PREPARED_BYTES_PER_SECOND)
}
