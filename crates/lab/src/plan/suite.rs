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

use std::collections::BTreeMap;
use std::time::Duration;

use bench::suite::{self, Kind, Phase, Rows, Setting, Settings, Suite, TargetKind, Value};
use results::{Clock, Configuration, Group, Judge, Plan, Workload};
use stack::size;

use super::document::{Item, Place, Reader, Value as Given, suggestion};
use crate::stacks;
use host::Error;

/// How often a suite runs each of its rows itself.
const RUNS: &str = "runs";

/// The groups of rows whose settings may differ from the rest of the workload.
const GROUPS: [(Group, &str); 3] =
    [(Group::Sequential, "sequential"), (Group::Random, "random"), (Group::Mixed, "mixed")];

const CLOCKS: [(Clock, &str); 2] = [(Clock::Wall, "wall"), (Clock::Virtual, "virtual")];

/// The value of a setting from its text.
///
/// # Errors
/// One line: what was found and what is expected.
pub fn setting_value(kind: Kind, text: &str) -> Result<Value, String> {
    kind.read(text, &stacks::parse_size, &|text| {
        size::parse_duration(text).map_err(|error| error.to_string())
    })
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
    pub(super) suites: Vec<(&'static Suite, Place)>,
}

/// Reads the `[[workload]]` tables.
pub(super) fn read(tables: Vec<Reader<'_>>, document: &Place) -> Result<Workloads, Error> {
    if tables.is_empty() {
        return Err(document.error(
            "the plan has no [[workload]], for example\n  [[workload]]\n  suite = \"devtest\"",
        ));
    }
    let mut found = Workloads::default();
    let mut prefixes: Vec<String> = Vec::new();
    for table in tables {
        let item = table.require("suite", "which tests are run, for example devtest")?;
        let word = item.text()?;
        let Some(suite) = suite::find(word) else {
            let names: Vec<&str> = suite::all().iter().map(|suite| suite.name).collect();
            return Err(item.error(format!(
                "unknown suite `{word}`{}",
                suggestion(word, names.iter().copied())
            )));
        };
        let name = table.get("name");
        let prefix = name.map_or(Ok(word), Item::text)?.to_owned();
        let prefix_place = name.map_or(&table.place, |item| &item.place);
        if prefix.is_empty() || prefix.contains(": ") || prefix.contains('.') {
            return Err(prefix_place
                .error("a workload's name is not empty and has neither `: ` nor `.` in it"));
        }
        if prefixes.contains(&prefix) {
            return Err(prefix_place.error(format!(
                "there are two workloads called `{prefix}`; give one of them a `name` of its own"
            )));
        }
        let weight = table.get("weight").map_or(Ok(1.0), Item::positive)?;
        let judge = table.get("judge").map_or(Ok(Judge::default()), read_judge)?;
        read_settings(suite, &table, &prefix, &mut found.settings)?;
        let phases = read_rows(suite, &table, &prefix, &found.settings)?;
        let named = |phase: &str| match (suite.rows, name) {
            (Rows::Alone, None) => phase.to_owned(),
            _ => format!("{prefix}: {phase}"),
        };
        found.workloads.extend(phases.into_iter().map(|phase| Workload {
            name: named(&phase.name),
            suite: word.to_owned(),
            group: phase.group,
            metric: phase.metric.to_owned(),
            better: phase.better,
            weight,
            judge,
        }));
        found.suites.push((suite, item.place.clone()));
        table.finish()?;
        prefixes.push(prefix);
    }
    Ok(found)
}

fn read_judge(item: &Item) -> Result<Judge, Error> {
    match item.text()? {
        "durable" => Ok(Judge::Durable),
        "acknowledged" => Ok(Judge::Acknowledged),
        other => Err(item.error(format!(
            "`judge = \"{other}\"`: expected `durable` or `acknowledged`{}",
            suggestion(other, ["durable", "acknowledged"].into_iter())
        ))),
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
        settings_of(suite, settings, prefix, clock)
            .map(|settings| (suite.phases)(&settings))
            .map_err(|text| table.place.error(text))
    };
    let all = phases(Clock::Wall)?;
    let names =
        |phases: &[Phase]| phases.iter().map(|phase| phase.name.clone()).collect::<Vec<_>>();
    if names(&all) != names(&phases(Clock::Virtual)?) {
        return Err(table.place.error(format!(
            "{} has other rows on the virtual clock than on the wall's; give what decides that one \
            value",
            suite.name
        )));
    }
    let Some(item) = table.get("tests") else { return Ok(all) };
    let chosen = item.texts()?;
    if chosen.is_empty() {
        return Err(item.error("`tests` is empty; leave it out for all rows of the suite"));
    }
    let known = names(&all);
    for (name, item) in chosen.iter().zip(item.list()) {
        if !known.contains(name) {
            return Err(item.error(format!(
                "the suite has no row `{name}`{}",
                suggestion(name, known.iter().map(String::as_str))
            )));
        }
    }
    Ok(all.into_iter().filter(|phase| chosen.contains(&phase.name)).collect())
}

fn read_settings(
    suite: &'static Suite,
    table: &Reader<'_>,
    prefix: &str,
    found: &mut BTreeMap<String, String>,
) -> Result<(), Error> {
    for setting in suite.settings {
        let mut given = texts_by_clock(table, setting)?.into_iter();
        let texts = CLOCKS.map(|(clock, _)| {
            let default = || setting.default_in_plans(its_clock(clock)).to_string();
            given.next().flatten().unwrap_or_else(default)
        });
        keep(found, prefix, setting.name, texts);
    }
    if !suite.settings.iter().any(|setting| setting.by_group) {
        return Ok(());
    }
    for (_, group) in GROUPS {
        let Some(item) = table.get(group) else { continue };
        let below = item.reader(format!("[workload.{group}]"))?;
        for setting in suite.settings.iter().filter(|setting| setting.by_group) {
            let given = texts_by_clock(&below, setting)?;
            for ((_, clock), text) in CLOCKS.iter().zip(given) {
                found.extend(
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
        (Some(_), Some(older)) => Err(older.error(format!(
            "`{alias}` is an older spelling of `{}`, which is given too",
            setting.name
        ))),
        (item, older) => Ok(item.or(older)),
    }
}

/// What a table gives for a setting on each clock, each text checked: one value for both, or a
/// table by clock.
fn texts_by_clock(table: &Reader<'_>, setting: &Setting) -> Result<[Option<String>; 2], Error> {
    let item = given(table, setting)?;
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
        let text = item.scalar()?;
        setting_value(setting.kind, &text).map_err(|text| item.error(text))?;
        Ok(text)
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
pub(crate) fn row(workload: &Workload) -> &str {
    split_name(workload).1
}

/// The suite of a workload.
///
/// # Errors
/// When this raidloom does not have it.
pub(crate) fn suite_of(workload: &Workload) -> Result<&'static Suite, Error> {
    suite::find(&workload.suite)
        .ok_or_else(|| Error::usage(format!("this raidloom has no suite `{}`", workload.suite)))
}

/// The settings of a suite on a clock from the texts of a plan.
fn settings_of(
    suite: &Suite,
    texts: &BTreeMap<String, String>,
    prefix: &str,
    clock: Clock,
) -> Result<Settings, String> {
    let clock_name = CLOCKS.iter().find(|(known, _)| *known == clock).map_or("", |(_, name)| name);
    let mut settings = suite.defaults(its_clock(clock));
    for setting in suite.settings {
        let value = |key: &str, text: &str| {
            setting_value(setting.kind, text).map_err(|error| format!("`{key}`: {error}"))
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

/// The settings of a workload's suite on a clock.
///
/// # Errors
/// When the resolved plan holds a setting that this raidloom cannot read, or this raidloom does not
/// have the suite.
pub(crate) fn settings(plan: &Plan, workload: &Workload, clock: Clock) -> Result<Settings, Error> {
    settings_of(suite_of(workload)?, &plan.suite_settings, split_name(workload).0, clock)
        .map_err(|text| Error::usage(format!("the resolved plan: {text}")))
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
pub(crate) fn planned_time(plan: &Plan, workload: &Workload, clock: Clock) -> Duration {
    if clock == Clock::Virtual {
        return MODELLED_TRIAL;
    }
    let (Ok(suite), Ok(settings)) = (suite_of(workload), settings(plan, workload, clock)) else {
        return ROW;
    };
    let settings = settings.of_group(workload.group);
    let time = |name: &str| {
        let setting = suite.setting(name)?;
        matches!(setting.kind, Kind::Time | Kind::SomeTime).then(|| settings.time(name))
    };
    let Some(one) = time("time").filter(|time| !time.is_zero()) else { return ROW };
    let runs = u32::try_from(runs(&settings, suite)).unwrap_or(1);
    let before = time("interval").unwrap_or_default() + time("ramp").unwrap_or_default();
    one * runs + before
}

/// Bytes that preparing writes for the workloads of one table in one visit of a configuration,
/// whose device has so many.
pub(crate) fn prepared_bytes(
    plan: &Plan,
    group: &[usize],
    configuration: &Configuration,
    size_bytes: u64,
) -> u64 {
    if configuration.clock == Clock::Virtual {
        return 0;
    }
    let device_bytes =
        (super::target_of(configuration) == TargetKind::Device).then_some(size_bytes);
    let of = |workload: &Workload| {
        let settings = settings(plan, workload, configuration.clock).ok()?;
        Some((suite_of(workload).ok()?.prepared_bytes)(&settings, device_bytes))
    };
    group.first().and_then(|first| of(&plan.workloads[*first])).unwrap_or(0)
}

/// How long writing so many bytes takes while preparing, by the plan.
pub(crate) fn planned_preparing(bytes: u64) -> Duration {
    Duration::from_secs_f64(bytes as f64 / PREPARED_BYTES_PER_SECOND)
}
