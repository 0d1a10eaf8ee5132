//! The workloads of a plan: which suite, which of its tests, and with which settings on which
//! clock.
//!
//! `devtest` runs test by test and has settings by kind of test; every other suite is run whole, by
//! its own definition (see [`super::rows`]). Settings are kept as texts, so that the resolved plan
//! shows them as they were written. Of the keys that fit a test on a clock, the first holds:
//!
//! ```text
//! devtest.sequential.virtual.time_per_test    [workload.sequential]  time_per_test = …, or = { virtual = … }
//! devtest.virtual.time_per_test               [[workload]]           time_per_test = { virtual = … }
//! devtest.time_per_test                       [[workload]]           time_per_test = …
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use bench::suite::devtest::{self, Settings, Test, Verify};
use bench::suite::{self, Suite};
use results::{Clock, Group, Judge, Plan, Workload};
use stack::size;

use super::document::{Item, Place, Reader, Value, suggestion};
use super::rows;
use host::Error;

/// A setting of the suite `devtest`: its name, and its way to text and back.
struct Setting {
    name: &'static str,
    /// Whether it may differ between the kinds of tests of one workload. Preparing is done once for
    /// all of them.
    by_kind: bool,
    write: fn(&Settings) -> String,
    read: fn(&mut Settings, &str) -> Result<(), String>,
}

fn number(text: &str, most: u64) -> Result<u64, String> {
    let parsed = text.parse().ok().filter(|number| (1..=most).contains(number));
    parsed.ok_or_else(|| format!("`{text}`: expected a whole number from 1 to {most}"))
}

fn duration(text: &str) -> Result<Duration, String> {
    size::parse_duration(text).map_err(|error| error.to_string())
}

fn bytes(text: &str) -> Result<u64, String> {
    crate::stacks::parse_size(text)
}

const UNLIMITED: &str = "unlimited";
const VERIFY: [(&str, Verify); 3] =
    [("off", Verify::Off), ("words", Verify::Words), ("full", Verify::Full)];

const SETTINGS: &[Setting] = &[
    Setting {
        name: "depth",
        by_kind: true,
        write: |settings| settings.depth.to_string(),
        read: |settings, text| {
            settings.depth = number(text, 4096)? as u32;
            Ok(())
        },
    },
    Setting {
        name: "time_per_test",
        by_kind: true,
        write: |settings| size::duration_text(settings.time_per_test),
        read: |settings, text| {
            settings.time_per_test = duration(text)?;
            if settings.time_per_test.is_zero() {
                Err("a test needs more than no time".to_owned())
            } else {
                Ok(())
            }
        },
    },
    Setting {
        name: "max_operations",
        by_kind: true,
        write: |settings| {
            settings
                .max_operations_per_test
                .map_or(UNLIMITED.to_owned(), |operations| operations.to_string())
        },
        read: |settings, text| {
            settings.max_operations_per_test =
                if text == UNLIMITED { None } else { Some(number(text, u64::MAX)?) };
            Ok(())
        },
    },
    Setting {
        name: "ramp",
        by_kind: true,
        write: |settings| size::duration_text(settings.ramp),
        read: |settings, text| {
            settings.ramp = duration(text)?;
            Ok(())
        },
    },
    Setting {
        name: "verify",
        by_kind: true,
        write: |settings| {
            VERIFY
                .iter()
                .find(|(_, verify)| *verify == settings.verify)
                .map_or("", |(name, _)| name)
                .to_owned()
        },
        read: |settings, text| {
            let known = VERIFY.iter().find(|(name, _)| *name == text);
            settings.verify =
                known.ok_or_else(|| format!("`{text}`: expected off, words or full"))?.1;
            Ok(())
        },
    },
    Setting {
        name: "region",
        by_kind: false,
        write: |settings| size::text(settings.region_bytes),
        read: |settings, text| {
            settings.region_bytes = bytes(text)?;
            Ok(())
        },
    },
    Setting {
        name: "prepare",
        by_kind: false,
        write: |settings| size::text(settings.prepare_bytes),
        read: |settings, text| {
            settings.prepare_bytes = bytes(text)?;
            Ok(())
        },
    },
];

fn suite_defaults(clock: Clock) -> Settings {
    Settings::for_clock(match clock {
        Clock::Wall => reactor::Clock::Wall,
        Clock::Virtual => reactor::Clock::Virtual,
    })
}

/// The kinds of tests, whose settings may differ from the rest of the workload.
const KINDS: [(Group, &str); 3] =
    [(Group::Sequential, "sequential"), (Group::Random, "random"), (Group::Mixed, "mixed")];

pub(super) const CLOCKS: [(Clock, &str); 2] = [(Clock::Wall, "wall"), (Clock::Virtual, "virtual")];

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
        let judge = match table.get("judge") {
            None => Judge::default(),
            Some(item) => match item.text()? {
                "durable" => Judge::Durable,
                "acknowledged" => Judge::Acknowledged,
                other => {
                    return Err(item.error(format!(
                        "`judge = \"{other}\"`: expected `durable` or `acknowledged`{}",
                        suggestion(other, ["durable", "acknowledged"].into_iter())
                    )));
                }
            },
        };
        if word == devtest::NAME {
            let tests = chosen_tests(table.get("tests"))?;
            read_settings(&table, &prefix, &mut found.settings)?;
            let named = |test: &Test| {
                if name.is_some() {
                    format!("{prefix}: {}", test.workload)
                } else {
                    test.workload.clone()
                }
            };
            found.workloads.extend(tests.iter().map(|test| Workload {
                name: named(test),
                suite: word.to_owned(),
                group: test.group,
                metric: test.metric.to_owned(),
                better: test.better,
                weight,
                judge,
            }));
        } else {
            let phases = rows::read(suite, &table, &prefix, &mut found.settings)?;
            found.workloads.extend(phases.into_iter().map(|phase| Workload {
                name: format!("{prefix}: {}", phase.name),
                suite: word.to_owned(),
                group: phase.group,
                metric: phase.metric.to_owned(),
                better: phase.better,
                weight,
                judge,
            }));
        }
        found.suites.push((suite, item.place.clone()));
        table.finish()?;
        prefixes.push(prefix);
    }
    Ok(found)
}

/// All tests of the suite, or those that `tests = […]` names, in the suite's order.
fn chosen_tests(item: Option<&Item>) -> Result<Vec<Test>, Error> {
    let all = devtest::tests();
    let Some(item) = item else { return Ok(all) };
    let chosen = item.texts()?;
    if chosen.is_empty() {
        return Err(item.error("`tests` is empty; leave it out for all tests of the suite"));
    }
    for (name, item) in chosen.iter().zip(item.list()) {
        if !all.iter().any(|test| test.workload == *name) {
            return Err(item.error(format!(
                "the suite has no test `{name}`{}",
                suggestion(name, all.iter().map(|test| test.workload.as_str()))
            )));
        }
    }
    Ok(all.into_iter().filter(|test| chosen.contains(&test.workload)).collect())
}

fn read_settings(
    table: &Reader<'_>,
    prefix: &str,
    found: &mut BTreeMap<String, String>,
) -> Result<(), Error> {
    for setting in SETTINGS {
        let name = setting.name;
        let given = by_clock(table, setting)?;
        let mut texts = CLOCKS.map(|(clock, _)| (setting.write)(&suite_defaults(clock)));
        for (text, given) in texts.iter_mut().zip(given) {
            *text = given.unwrap_or_else(|| std::mem::take(text));
        }
        keep(found, prefix, name, texts);
    }
    for (_, kind) in KINDS {
        let Some(item) = table.get(kind) else { continue };
        let below = item.reader(format!("[workload.{kind}]"))?;
        for setting in SETTINGS.iter().filter(|setting| setting.by_kind) {
            let given = by_clock(&below, setting)?;
            for ((_, clock), text) in CLOCKS.iter().zip(given) {
                found.extend(
                    text.map(|text| (format!("{prefix}.{kind}.{clock}.{}", setting.name), text)),
                );
            }
        }
        below.finish()?;
    }
    Ok(())
}

/// What a table gives for a setting on each clock: one value for both, or a table by clock.
fn by_clock(table: &Reader<'_>, setting: &Setting) -> Result<[Option<String>; 2], Error> {
    texts_by_clock(table, setting.name, &|text| (setting.read)(&mut Settings::default(), text))
}

/// What a table gives for a key on each clock, each text checked.
pub(super) fn texts_by_clock(
    table: &Reader<'_>,
    key: &'static str,
    check: &dyn Fn(&str) -> Result<(), String>,
) -> Result<[Option<String>; 2], Error> {
    let item = table.get(key);
    let items = match item.map(|item| (item, &item.value)) {
        Some((item, Value::Table(_))) => {
            let reader = item.reader(key)?;
            let items = CLOCKS.map(|(_, clock)| reader.get(clock));
            reader.finish()?;
            items
        }
        _ => [item, item],
    };
    let text = |item: &Item| -> Result<String, Error> {
        let text = item.scalar()?;
        check(&text).map_err(|text| item.error(text))?;
        Ok(text)
    };
    let [wall, modelled] = items.map(|item| item.map(text).transpose());
    Ok([wall?, modelled?])
}

/// Keeps what a setting is on each clock: under one key where that is the same.
pub(super) fn keep(
    found: &mut BTreeMap<String, String>,
    prefix: &str,
    name: &str,
    texts: [String; 2],
) {
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

/// The prefix of a workload's settings, and the suite's own name of the test.
pub(super) fn split_name(workload: &Workload) -> (&str, &str) {
    workload.name.split_once(": ").unwrap_or((&workload.suite, &workload.name))
}

/// The settings of a workload on a clock. The seeds are left at their defaults.
///
/// # Errors
/// When the resolved plan holds a setting that this raidloom cannot read.
pub(crate) fn settings(plan: &Plan, workload: &Workload, clock: Clock) -> Result<Settings, Error> {
    let (prefix, _) = split_name(workload);
    let clock = CLOCKS.iter().find(|(known, _)| *known == clock).map_or("", |(_, name)| name);
    let kind =
        KINDS.iter().find(|(known, _)| *known == workload.group).map_or("", |(_, name)| name);
    let mut settings = Settings::default();
    for setting in SETTINGS {
        let name = setting.name;
        let keys = [
            format!("{prefix}.{kind}.{clock}.{name}"),
            format!("{prefix}.{clock}.{name}"),
            format!("{prefix}.{name}"),
        ];
        let Some((key, text)) =
            keys.iter().find_map(|key| Some((key, plan.suite_settings.get(key)?)))
        else {
            return Err(Error::usage(format!("the resolved plan has no setting `{}`", keys[2])));
        };
        (setting.read)(&mut settings, text)
            .map_err(|text| Error::usage(format!("the resolved plan: `{key}`: {text}")))?;
    }
    Ok(settings)
}

/// The test of the suite that a workload is.
///
/// # Errors
/// When this raidloom does not have it.
pub(crate) fn test(workload: &Workload) -> Result<Test, Error> {
    let (_, name) = split_name(workload);
    let test = devtest::tests()
        .into_iter()
        .find(|test| test.workload == name && workload.suite == devtest::NAME);
    test.ok_or_else(|| {
        Error::usage(format!("this raidloom has no test `{name}` in a suite `{}`", workload.suite))
    })
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

/// How long a trial takes by the plan.
pub(crate) fn planned_time(plan: &Plan, workload: &Workload, clock: Clock) -> Duration {
    match clock {
        Clock::Virtual => MODELLED_TRIAL,
        Clock::Wall if workload.suite != devtest::NAME => rows::planned_time(plan, workload),
        Clock::Wall => settings(plan, workload, clock)
            .map_or(Duration::ZERO, |settings| settings.time_per_test + settings.ramp),
    }
}

/// Bytes that preparing writes in one visit of a configuration.
pub(crate) fn prepared_bytes(plan: &Plan, clock: Clock, size_bytes: u64) -> u64 {
    if clock == Clock::Virtual {
        return 0;
    }
    let of = |group: &Vec<usize>| {
        let first = &plan.workloads[group[0]];
        // Whatever else a suite prepares is part of its rows' time.
        let own =
            (first.suite == devtest::NAME).then(|| settings(plan, first, clock).ok()).flatten();
        own.map_or(0, |settings| size_bytes.min(settings.prepare_bytes))
    };
    groups(plan).iter().map(of).sum()
}

/// How long preparing a configuration takes by the plan, in one visit.
pub(crate) fn planned_preparing(plan: &Plan, clock: Clock, size_bytes: u64) -> Duration {
    Duration::from_secs_f64(
        prepared_bytes(plan, clock, size_bytes) as f64 / PREPARED_BYTES_PER_SECOND,
    )
}
