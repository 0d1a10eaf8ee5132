//! How a suite is defined: once, as plain data. `bench list`, `bench explain`, `docs/suites.md`,
//! the flags' meaning and the workloads of plans all come from it.
//!
//! ```text
//!   Suite ── settings ── Setting: name, kind, default, meaning ──> Settings: every one with its value
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

use block::{Device, Error, duration_text, size_text};
use results::{Better, Group};

use super::session::Session;

/// What a suite is run on.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    /// A device: a stack of ours, a disk, an image file. Everything on it may be overwritten.
    Device(&'a dyn Device),
    /// A folder on somebody's file system. The suite works in a fresh sub-folder and removes it.
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
    /// The phases that these settings ask for, in order.
    pub phases: fn(&Settings) -> Vec<Phase>,
    /// Runs them. Rows go to the session as soon as they are measured; what was measured before an
    /// error stays there.
    pub run: fn(Target<'_>, &Settings, &mut Session<'_>) -> Result<(), Error>,
}

impl Suite {
    /// Every setting at its default.
    #[must_use]
    pub fn defaults(&self) -> Settings {
        Settings(
            self.settings.iter().map(|setting| (setting.name, setting.default.clone())).collect(),
        )
    }

    /// A setting by its name.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }

    /// The phases with every setting at its default.
    #[must_use]
    pub fn default_phases(&self) -> Vec<Phase> {
        (self.phases)(&self.defaults())
    }
}

/// One phase of a suite: one row of its results, one workload of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Name, unique in the suite: `block write`.
    pub name: String,
    /// What is done, in a sentence or two.
    pub what: Cow<'static, str>,
    /// Kind of access.
    pub group: Group,
    /// The metric that verdicts are about: one of those that [`super::Measured::metrics`] has.
    pub metric: &'static str,
    /// Which direction of that metric is better.
    pub better: Better,
    /// Whether it changes what is stored, so that it has an acknowledged and a durable rate.
    pub writes: bool,
}

/// A setting of a suite.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name in plans and in results: words with `_` between them.
    pub name: &'static str,
    /// Which values it takes.
    pub kind: Kind,
    /// Its value when nothing is said.
    pub default: Value,
    /// What it means, in a sentence.
    pub what: &'static str,
}

/// Which values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size: `64KiB`.
    Bytes,
    /// A time: `5s`.
    Time,
    /// A whole number between these two.
    Count(u64, u64),
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text; the suite says what is wrong with it.
    Text,
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
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match (self, value) {
            (Kind::Bytes, Value::Bytes(_))
            | (Kind::Time, Value::Time(_))
            | (Kind::Switch, Value::Switch(_)) => Ok(()),
            (Kind::Count(least, most), Value::Count(count)) if (least..=most).contains(&count) => {
                Ok(())
            }
            (Kind::Word(words), Value::Text(text)) if words.iter().any(|word| word == text) => {
                Ok(())
            }
            (Kind::Text, Value::Text(_)) => Ok(()),
            _ => Err(format!("`{value}`: expected {self}")),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Bytes => f.write_str("a size such as 64KiB"),
            Kind::Time => f.write_str("a time such as 5s"),
            Kind::Count(least, u64::MAX) => write!(f, "a whole number from {least} on"),
            Kind::Count(least, most) => write!(f, "a whole number from {least} to {most}"),
            Kind::Switch => f.write_str("true or false"),
            Kind::Word(words) => f.write_str(&words.join(", ")),
            Kind::Text => f.write_str("a text"),
        }
    }
}

/// Every setting of a suite with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings(BTreeMap<&'static str, Value>);

impl Settings {
    /// Gives a setting another value.
    ///
    /// # Errors
    /// When the suite has no such setting, or the value is not of its kind.
    pub fn set(&mut self, suite: &Suite, name: &str, value: Value) -> Result<(), String> {
        let setting = suite
            .setting(name)
            .ok_or_else(|| format!("the suite {} has no setting `{name}`", suite.name))?;
        setting.kind.check(&value).map_err(|error| format!("{name}: {error}"))?;
        self.0.insert(setting.name, value);
        Ok(())
    }

    /// Names and values in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    fn of(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or_else(|| panic!("the suite defines the setting {name}"))
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
