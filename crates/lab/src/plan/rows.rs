//! Suites that are run whole, by their own definition: each of their rows is a workload of the
//! plan.
//!
//! ```text
//!   [[workload]]             suite.settings ──> prefix.NAME, or prefix.wall.NAME and prefix.virtual.NAME
//!   suite = "crystal"        suite.phases(settings) ──> workloads `crystal: SEQ1M Q8T1 read`, …
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use bench::suite::{self, Kind, Phase, Settings, Suite, Value};
use results::{Clock, Plan, Workload};
use stack::size;

use super::document::{Reader, suggestion};
use super::suite::{CLOCKS, keep, split_name, texts_by_clock};
use crate::stacks;
use host::Error;

/// Within a plan, blocks are what repeats: a suite runs each row once unless the plan says
/// otherwise.
const RUNS: &str = "runs";

/// The value of a setting from its text.
fn value(kind: Kind, text: &str) -> Result<Value, String> {
    let expected = || format!("`{text}`: expected {kind}");
    let value = match kind {
        Kind::Bytes => Value::Bytes(stacks::parse_size(text)?),
        Kind::Time => Value::Time(size::parse_duration(text).map_err(|error| error.to_string())?),
        Kind::Count(..) => Value::Count(text.parse().map_err(|_| expected())?),
        Kind::Switch => Value::Switch(text.parse().map_err(|_| expected())?),
        Kind::Word(_) | Kind::Text => Value::from(text.to_owned()),
    };
    kind.check(&value).map(|()| value)
}

/// The settings of a suite from their texts.
fn settings_of(suite: &Suite, text: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
    let mut settings = suite.defaults();
    for setting in suite.settings {
        if let Some(text) = text(setting.name) {
            let value = value(setting.kind, &text)
                .map_err(|error| format!("`{}`: {error}", setting.name))?;
            settings.set(suite, setting.name, value)?;
        }
    }
    Ok(settings)
}

/// Reads the settings of a suite that is run whole, and which of its rows are wanted.
pub(super) fn read(
    suite: &'static Suite,
    table: &Reader<'_>,
    prefix: &str,
    found: &mut BTreeMap<String, String>,
) -> Result<Vec<Phase>, Error> {
    let mut own = BTreeMap::new();
    for setting in suite.settings {
        let given =
            texts_by_clock(table, setting.name, &|text| value(setting.kind, text).map(drop))?;
        let usual = if setting.name == RUNS { Value::Count(1) } else { setting.default.clone() };
        keep(
            &mut own,
            prefix,
            setting.name,
            given.map(|text| text.unwrap_or_else(|| usual.to_string())),
        );
    }
    let wrong = |text: String| table.place.error(text);
    let phases = |clock: &str| {
        let settings = settings_of(suite, |name| {
            text(&own, prefix, clock, name).map(|(_, text)| text.clone())
        });
        settings.map(|settings| (suite.phases)(&settings))
    };
    let [(_, wall), (_, modelled)] = CLOCKS;
    let all = phases(wall).map_err(wrong)?;
    let names =
        |phases: &[Phase]| phases.iter().map(|phase| phase.name.clone()).collect::<Vec<_>>();
    if names(&all) != names(&phases(modelled).map_err(wrong)?) {
        return Err(wrong(format!(
            "{} has other rows on the virtual clock than on the wall's; give what decides that one \
            value",
            suite.name
        )));
    }
    found.extend(own);
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

/// The text of a setting on a clock, and its key.
fn text<'a>(
    texts: &'a BTreeMap<String, String>,
    prefix: &str,
    clock: &str,
    name: &str,
) -> Option<(String, &'a String)> {
    let keys = [format!("{prefix}.{clock}.{name}"), format!("{prefix}.{name}")];
    keys.into_iter().find_map(|key| texts.get(&key).map(|text| (key, text)))
}

/// The suite of a workload.
///
/// # Errors
/// When this raidloom does not have it.
pub(crate) fn suite_of(workload: &Workload) -> Result<&'static Suite, Error> {
    suite::find(&workload.suite)
        .ok_or_else(|| Error::usage(format!("this raidloom has no suite `{}`", workload.suite)))
}

/// The settings of a workload's suite on a clock.
///
/// # Errors
/// When the resolved plan holds a setting that this raidloom cannot read, or this raidloom does not
/// have the suite.
pub(crate) fn settings(plan: &Plan, workload: &Workload, clock: Clock) -> Result<Settings, Error> {
    let (prefix, _) = split_name(workload);
    let clock = CLOCKS.iter().find(|(known, _)| *known == clock).map_or("", |(_, name)| name);
    settings_of(suite_of(workload)?, |name| {
        text(&plan.suite_settings, prefix, clock, name).map(|(_, text)| text.clone())
    })
    .map_err(|text| Error::usage(format!("the resolved plan, {prefix}: {text}")))
}

/// The suite's own name of the row that a workload is.
pub(crate) fn row(workload: &Workload) -> &str {
    split_name(workload).1
}

/// How long a row takes when nothing else is known of it.
const ROW: Duration = Duration::from_secs(2);

/// How long a row takes by the plan: what its suite's settings say of time, or a guess.
pub(super) fn planned_time(plan: &Plan, workload: &Workload) -> Duration {
    let Ok(suite) = suite_of(workload) else { return ROW };
    let Ok(settings) = settings(plan, workload, Clock::Wall) else { return ROW };
    let has =
        |name: &str, kind: Kind| suite.setting(name).is_some_and(|setting| setting.kind == kind);
    if !has("time", Kind::Time) || settings.time("time").is_zero() {
        return ROW;
    }
    let runs = u32::try_from(settings.count(RUNS)).unwrap_or(1);
    let rest = if has("interval", Kind::Time) { settings.time("interval") } else { Duration::ZERO };
    settings.time("time") * runs + rest
}
