//! How a suite is defined: once, as plain data. `bench explain`, `docs/suites.md`
//! and the workloads of plans all come from it.
//!
//! ```text
//!   Suite ── settings ── Setting: name, kind, defaults, meaning ──> Settings: every one with its value
//!     │
//!     ├── phases(settings) ── Phase: name, what is done, group, metric      one row of results each
//!     │
//!     └── run(target, settings, session) ──> rows                           in suite/row.rs, suite/session.rs
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use block::{Clock, Device, Error, duration_text, size_text};
use results::Group;
use words::{Message, Text, statement};

use super::catalogue;
use super::phase::Phase;
use super::session::Session;

/// The value of a limit that is none.
const UNLIMITED: &str = "unlimited";

/// What a suite is run on.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    /// A device: a stack of ours, a disk, an image file. Everything on it may be overwritten.
    Device(&'a dyn Device),
    /// A folder on a file system in use. The suite works in a fresh sub-folder and removes it.
    Folder(&'a Path),
}

/// Kinds of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A stack, an image file or a block device.
    Device,
    /// A folder.
    Folder,
}

impl Target<'_> {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> TargetKind {
        match self {
            Target::Device(_) => TargetKind::Device,
            Target::Folder(_) => TargetKind::Folder,
        }
    }

    /// Runs `work` on the device, or on a file of `size_bytes` in a fresh folder below the folder,
    /// past the page cache; both are removed at the end.
    ///
    /// # Errors
    /// When the size is no whole number of MiB, or there is no room; what the file could not do;
    /// those of `work`.
    pub(super) fn on_device(
        self,
        suite: &str,
        size_bytes: u64,
        session: &mut Session<'_>,
        work: impl FnOnce(&dyn Device, &mut Session<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Target::Device(device) => work(device, session),
            Target::Folder(folder) => {
                let (_folder, device) = session.device_in(folder, suite, size_bytes)?;
                work(&*device, session)
            }
        }
    }
}

/// A suite.
#[derive(Debug)]
pub struct Suite {
    /// Its name on the command line and in plans.
    pub name: &'static str,
    /// One line: what it measures.
    pub summary: &'static str,
    /// What its users should know, in paragraphs.
    pub about: &'static str,
    /// What it can be run on.
    pub targets: &'static [TargetKind],
    /// Its settings.
    pub settings: &'static [Setting],
    /// How its rows depend on one another.
    pub rows: Rows,
    /// The phases that these settings ask for, in order.
    pub phases: fn(&Settings) -> Vec<Phase>,
    /// How many bytes it writes before its first row, on a device of so many bytes or, where that
    /// is `None`, in a folder.
    pub prepared_bytes: fn(&Settings, Option<u64>) -> u64,
    /// Runs them. Rows go to the session as soon as they are measured; what was measured before an
    /// error stays there.
    pub run: fn(Target<'_>, &Settings, &mut Session<'_>) -> Result<(), Error>,
}

/// How the rows of a suite depend on one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Each begins on a flushed, idle target and needs nothing of the others. A plan runs those
    /// that are missing and no others, each on modelled disks of its own, and calls them by their
    /// own names.
    Alone,
    /// Later rows need what earlier ones left: all are run, from the first on.
    InOrder,
}

impl Suite {
    /// Every setting at its default on a clock.
    #[must_use]
    pub fn defaults(&self, clock: Clock) -> Settings {
        let default = |setting: &Setting| (setting.name, setting.default(clock).clone());
        Settings { values: self.settings.iter().map(default).collect(), of_groups: BTreeMap::new() }
    }

    /// A setting by its name.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }

    /// The phases with every setting at its default.
    #[must_use]
    pub fn default_phases(&self) -> Vec<Phase> {
        (self.phases)(&self.defaults(Clock::Wall))
    }
}

/// What is wrong with a text, if anything is.
pub type Check = fn(&str) -> Result<(), Text>;

/// A setting of a suite, defined here and nowhere else: the keys of plans and of `bench`,
/// `bench explain` and the docs follow from it.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name in plans and in results: words with `_` between them.
    pub name: &'static str,
    /// An older spelling of its name, still read in plans and on the command line.
    pub alias: Option<&'static str>,
    /// Which values it takes.
    pub kind: Kind,
    /// What it means, in a sentence.
    pub what: &'static str,
    /// Whether a plan may give it another value for some groups of rows.
    pub by_group: bool,
    /// Where it means something.
    pub scope: Scope,
    check: Option<Check>,
    /// Whether one more run comes before those that it counts.
    pub warms_up: bool,
    default: Value,
    default_modelled: Option<Value>,
    default_in_plans: Option<Value>,
}

impl Setting {
    /// A setting with one default for both clocks.
    #[must_use]
    pub const fn new(
        name: &'static str,
        kind: Kind,
        default: Value,
        what: &'static str,
    ) -> Setting {
        Setting {
            name,
            alias: None,
            kind,
            what,
            by_group: false,
            scope: Scope::Everywhere,
            check: None,
            warms_up: false,
            default,
            default_modelled: None,
            default_in_plans: None,
        }
    }

    /// The same with another default on the virtual clock.
    #[must_use]
    pub const fn on_virtual(mut self, default: Value) -> Setting {
        // A constant drops nothing, and there was nothing.
        std::mem::forget(self.default_modelled.replace(default));
        self
    }

    /// The same with another default in plans, on both clocks.
    #[must_use]
    pub const fn in_plans(mut self, default: Value) -> Setting {
        // A constant drops nothing, and there was nothing.
        std::mem::forget(self.default_in_plans.replace(default));
        self
    }

    /// The same, and a plan may give it another value for some groups of rows.
    #[must_use]
    pub const fn by_group(mut self) -> Setting {
        self.by_group = true;
        self
    }

    /// The same; it means something here only.
    #[must_use]
    pub const fn only(mut self, scope: Scope) -> Setting {
        self.scope = scope;
        self
    }

    /// The same; a text has to pass this check, which says what is wrong with it.
    #[must_use]
    pub const fn checked(mut self, check: Check) -> Setting {
        self.check = Some(check);
        self
    }

    /// The same of a number of runs, before which one more warms up.
    #[must_use]
    pub const fn after_a_warm_up(mut self) -> Setting {
        self.warms_up = true;
        self
    }

    /// The same with an older spelling of its name.
    #[must_use]
    pub const fn alias(mut self, name: &'static str) -> Setting {
        self.alias = Some(name);
        self
    }

    /// Its value when nothing is said, on a clock.
    #[must_use]
    pub fn default(&self, clock: Clock) -> &Value {
        match (clock, &self.default_modelled) {
            (Clock::Virtual, Some(modelled)) => modelled,
            _ => &self.default,
        }
    }

    /// Its value when a plan says nothing, on a clock.
    #[must_use]
    pub fn default_in_plans(&self, clock: Clock) -> &Value {
        self.default_in_plans.as_ref().unwrap_or_else(|| self.default(clock))
    }

    /// Its value when nothing is said on the command line: `3s; 1min on the virtual clock`.
    fn default_on_clocks(&self) -> Text {
        let default = self.default.to_string();
        match &self.default_modelled {
            None => default.into(),
            Some(modelled) => {
                let modelled = modelled.to_string();
                statement!(catalogue::DEFAULT_ON_CLOCKS, default = default, modelled = modelled)
            }
        }
    }

    /// The same, and what it is in a plan: `5; 1 in a plan`.
    #[must_use]
    pub fn default_words(&self) -> Text {
        let default = self.default_on_clocks();
        match &self.default_in_plans {
            None => default,
            Some(in_plans) => {
                let in_plans = in_plans.to_string();
                statement!(catalogue::DEFAULT_IN_PLANS, default = default, in_plans = in_plans)
            }
        }
    }
}

/// Where a setting means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// On every target.
    Everywhere,
    /// In a folder, where the suite makes a file that stands for the device.
    Folders,
    /// Where the suite writes, and does not only read what is there.
    Writing,
}

impl Scope {
    /// Why a setting with this scope means nothing on a target, if it does not.
    #[must_use]
    pub fn refusal(self, target: TargetKind, read_only: bool) -> Option<Message> {
        match self {
            Scope::Folders if target == TargetKind::Device => Some(catalogue::FOR_FOLDERS),
            Scope::Writing if read_only => Some(catalogue::FOR_WRITTEN),
            _ => None,
        }
    }
}

/// The size of the file that a suite of devices works on in a folder.
pub(crate) const FILE_SIZE: Setting = Setting::new(
    "size",
    Kind::Bytes,
    Value::Bytes(256 << 20),
    "In a folder: size of the file that stands for the device, past the page cache.",
)
.only(Scope::Folders);

/// How much of what is read is compared.
pub(crate) const VERIFY: Setting = Setting::new(
    "verify",
    Kind::Word(&["off", "words", "full"]),
    Value::word("words"),
    "What is compared of what it reads, inside its time: nothing, the mark in every 512 bytes, \
    every byte.",
)
.only(Scope::Writing);

/// Which values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size: `64KiB`.
    Bytes,
    /// A size, of which a bare number counts MiB.
    Mebibytes,
    /// A time: `5s`.
    Time,
    /// A time that is not 0.
    SomeTime,
    /// A whole number from 1 on, or `unlimited`.
    Limit,
    /// A whole number between these two.
    Count(u64, u64),
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text; the suite says what is wrong with it.
    Text,
    /// Lines of text; in a plan also a list of them.
    Lines,
    /// Lines of text, or the path of a file that holds them.
    File,
    /// The path of a file that is read when the suite runs.
    Path,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A size in bytes.
    Bytes(u64),
    /// A time.
    Time(Duration),
    /// A number.
    Count(u64),
    /// A number, or none.
    Limit(Option<u64>),
    /// Yes or no.
    Switch(bool),
    /// A word or a text.
    Text(Cow<'static, str>),
}

impl Value {
    /// A word that is known when compiling.
    #[must_use]
    pub const fn word(text: &'static str) -> Value {
        Value::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(Cow::Owned(text))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bytes(bytes) => f.write_str(&size_text(*bytes)),
            Value::Time(time) => f.write_str(&duration_text(*time)),
            Value::Count(count) => write!(f, "{count}"),
            Value::Limit(Some(count)) => write!(f, "{count}"),
            Value::Limit(None) => f.write_str(UNLIMITED),
            Value::Switch(on) => write!(f, "{on}"),
            Value::Text(text) => f.write_str(text),
        }
    }
}

impl Kind {
    /// Whether a value is of this kind.
    ///
    /// # Errors
    /// What would be.
    pub fn check(&self, value: &Value) -> Result<(), Text> {
        match (self, value) {
            (Kind::Bytes | Kind::Mebibytes, Value::Bytes(_))
            | (Kind::Time, Value::Time(_))
            | (Kind::Limit, Value::Limit(None))
            | (Kind::Switch, Value::Switch(_)) => Ok(()),
            (Kind::Count(least, most), Value::Count(count)) if (least..=most).contains(&count) => {
                Ok(())
            }
            (Kind::SomeTime, Value::Time(time)) if !time.is_zero() => Ok(()),
            (Kind::Limit, Value::Limit(Some(count))) if *count > 0 => Ok(()),
            (Kind::Word(words), Value::Text(text)) if words.iter().any(|word| word == text) => {
                Ok(())
            }
            (Kind::Text | Kind::Lines | Kind::File | Kind::Path, Value::Text(_)) => Ok(()),
            _ => Err(self.expected(&value.to_string())),
        }
    }
}

impl Kind {
    /// What is said of a value that is not of this kind.
    fn expected(&self, value: &str) -> Text {
        statement!(catalogue::VALUE_EXPECTED, value = value, kind = self.text())
    }

    /// The value of this kind that a text says. `bytes` reads a size with a unit.
    ///
    /// # Errors
    /// What was found and what is expected.
    pub fn read(
        &self,
        text: &str,
        bytes: &dyn Fn(&str) -> Result<u64, Text>,
        time: &dyn Fn(&str) -> Result<Duration, Text>,
    ) -> Result<Value, Text> {
        let expected = || self.expected(text);
        let number = || text.parse::<u64>().map_err(|_| expected());
        let value = match self {
            Kind::Mebibytes if text.parse::<u64>().is_ok() => {
                Value::Bytes(number()?.checked_mul(1 << 20).ok_or_else(expected)?)
            }
            Kind::Bytes | Kind::Mebibytes => Value::Bytes(bytes(text)?),
            Kind::Time | Kind::SomeTime => Value::Time(time(text)?),
            Kind::Count(..) => Value::Count(number()?),
            Kind::Limit if text == UNLIMITED => Value::Limit(None),
            Kind::Limit => Value::Limit(Some(number()?)),
            Kind::Switch => Value::Switch(text.parse().map_err(|_| expected())?),
            Kind::Word(_) | Kind::Text | Kind::Lines => Value::from(text.to_owned()),
            // Wherever a run is resumed, it is the same file.
            Kind::Path => match std::path::absolute(text) {
                Ok(path) if !text.is_empty() => Value::from(path.to_string_lossy().into_owned()),
                _ => return Err(expected()),
            },
            Kind::File if text.contains('\n') => Value::from(text.to_owned()),
            Kind::File => {
                let read = std::fs::read_to_string(text);
                let place = || statement!(catalogue::THE_FILE, path = text);
                let read = read.map_err(|error| block::io_text(&error).at(place()));
                Value::from(read? + "\n")
            }
        };
        self.check(&value).map(|()| value)
    }
}

impl Kind {
    /// Which values it takes, in words.
    #[must_use]
    pub fn text(&self) -> Text {
        match self {
            Kind::Bytes => catalogue::SIZE_VALUE.into(),
            Kind::Mebibytes => catalogue::MEBIBYTES_VALUE.into(),
            Kind::Time => catalogue::TIME_VALUE.into(),
            Kind::SomeTime => catalogue::SOME_TIME_VALUE.into(),
            Kind::Limit => statement!(catalogue::LIMIT_VALUE, none = UNLIMITED),
            Kind::Count(least, u64::MAX) => statement!(catalogue::COUNT_FROM_VALUE, least = *least),
            Kind::Count(least, most) => {
                statement!(catalogue::COUNT_VALUE, least = *least, most = *most)
            }
            Kind::Switch => catalogue::SWITCH_VALUE.into(),
            Kind::Word(words) => statement!(catalogue::WORDS_VALUE, words = words.join(", ")),
            Kind::Text => catalogue::TEXT_VALUE.into(),
            Kind::Lines => catalogue::LINES_VALUE.into(),
            Kind::File => catalogue::FILE_VALUE.into(),
            Kind::Path => catalogue::PATH_VALUE.into(),
        }
    }
}

fn checked<'a>(suite: &'a Suite, name: &str, value: &Value) -> Result<&'a Setting, Text> {
    let setting = suite
        .setting(name)
        .ok_or_else(|| statement!(catalogue::NO_SETTING, suite = suite.name, name = name))?;
    setting.kind.check(value).map_err(|text| text.at(name))?;
    if let (Some(check), Value::Text(text)) = (setting.check, value) {
        check(text).map_err(|wrong| wrong.at(name))?;
    }
    Ok(setting)
}

/// Every setting of a suite with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<&'static str, Value>,
    /// Other values for the rows of one group.
    of_groups: BTreeMap<(Group, &'static str), Value>,
}

impl Settings {
    /// Gives a setting another value.
    ///
    /// # Errors
    /// When the suite has no such setting, or the value is not of its kind.
    pub fn set(&mut self, suite: &Suite, name: &str, value: Value) -> Result<(), Text> {
        let setting = checked(suite, name, &value)?;
        self.values.insert(setting.name, value);
        Ok(())
    }

    /// Gives a setting another value for the rows of one group.
    ///
    /// # Errors
    /// As [`Settings::set`], and when the suite has one value for all rows.
    pub fn set_of_group(
        &mut self,
        suite: &Suite,
        group: Group,
        name: &str,
        value: Value,
    ) -> Result<(), Text> {
        let setting = checked(suite, name, &value)?;
        if !setting.by_group {
            return Err(statement!(catalogue::ONE_FOR_ALL_ROWS, suite = suite.name).at(name));
        }
        self.of_groups.insert((group, setting.name), value);
        Ok(())
    }

    /// The settings that hold for the rows of one group.
    #[must_use]
    pub fn of_group(&self, group: Group) -> Settings {
        let mut values = self.values.clone();
        let own = self.of_groups.iter().filter(|((its, _), _)| *its == group);
        values.extend(own.map(|((_, name), value)| (*name, value.clone())));
        Settings { values, of_groups: BTreeMap::new() }
    }

    /// Names and values in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    fn of(&self, name: &str) -> &Value {
        self.values.get(name).unwrap_or_else(|| panic!("the suite defines the setting {name}"))
    }

    /// A size in bytes.
    ///
    /// # Panics
    /// When the suite defines no such setting of this kind; so do all that follow.
    #[must_use]
    pub fn bytes(&self, name: &str) -> u64 {
        match self.of(name) {
            Value::Bytes(bytes) => *bytes,
            other => panic!("{name} is a size and not {other}"),
        }
    }

    /// A time.
    ///
    /// # Panics
    /// As [`Settings::bytes`].
    #[must_use]
    pub fn time(&self, name: &str) -> Duration {
        match self.of(name) {
            Value::Time(time) => *time,
            other => panic!("{name} is a time and not {other}"),
        }
    }

    /// A number.
    ///
    /// # Panics
    /// As [`Settings::bytes`].
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        match self.of(name) {
            Value::Count(count) => *count,
            other => panic!("{name} is a number and not {other}"),
        }
    }

    /// A number, or `None` where there is no limit.
    ///
    /// # Panics
    /// As [`Settings::bytes`].
    #[must_use]
    pub fn limit(&self, name: &str) -> Option<u64> {
        match self.of(name) {
            Value::Limit(limit) => *limit,
            other => panic!("{name} is a limit and not {other}"),
        }
    }

    /// Yes or no.
    ///
    /// # Panics
    /// As [`Settings::bytes`].
    #[must_use]
    pub fn switch(&self, name: &str) -> bool {
        match self.of(name) {
            Value::Switch(on) => *on,
            other => panic!("{name} is a switch and not {other}"),
        }
    }

    /// A word or a text.
    ///
    /// # Panics
    /// As [`Settings::bytes`].
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        match self.of(name) {
            Value::Text(text) => text,
            other => panic!("{name} is a text and not {other}"),
        }
    }
}
