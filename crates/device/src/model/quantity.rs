//! A value of a model file: with its unit, its origin, and what there is to say about it.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Deserialize;
use words::{Text, statement};

use super::messages;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Fitted to published or own measurements.
    Measured,
    /// Stated by the maker, or by the standard the part follows.
    Spec,
    /// Neither measured nor stated: a usual value for drives of its kind.
    Assumed,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Origin::Measured => "measured",
            Origin::Spec => "spec",
            Origin::Assumed => "assumed",
        })
    }
}

/// A value with its unit, its origin and what there is to say about it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity<T> {
    /// The number, in `unit`.
    pub value: T,
    /// The unit; for every parameter there is just one that is accepted.
    pub unit: String,
    /// Where the value comes from.
    pub origin: Origin,
    /// Between what it lies as far as is known, in `unit`; none where the value is the only one.
    pub interval: Option<[T; 2]>,
    /// How it was found, or why it was assumed.
    pub note: String,
}

impl<T: Clone> Quantity<T> {
    /// The same quantity with another value.
    #[must_use]
    pub fn with(&self, value: T) -> Self {
        Quantity { value, ..self.clone() }
    }
}

/// Draws the value from its interval, if it has one; `share` is asked for from 0 to 1. What is
/// counted stays whole.
pub(super) fn draw<T: Value>(quantity: &mut Quantity<T>, share: &mut dyn FnMut() -> f64) {
    if let Some([low, high]) = &quantity.interval {
        let drawn = T::between(low, high, share());
        quantity.value = if quantity.unit == "count" { drawn.whole() } else { drawn };
    }
}

/// How values are written to a model file and shown, and drawn from an interval.
pub(super) trait Value: Clone {
    fn text(&self) -> String;
    /// What lies at this share of the way from one to the other; the first where nothing lies
    /// between.
    fn between(low: &Self, high: &Self, share: f64) -> Self;
    /// The nearest whole number.
    fn whole(self) -> Self {
        self
    }
    /// Whether what it counts lies in the range.
    fn is_within(&self, _: &RangeInclusive<f64>) -> bool {
        true
    }
}

impl Value for u64 {
    fn text(&self) -> String {
        self.to_string()
    }
    fn is_within(&self, range: &RangeInclusive<f64>) -> bool {
        range.contains(&(*self as f64))
    }
    fn between(low: &u64, high: &u64, share: f64) -> u64 {
        // Sizes are whole sectors.
        let unit = if low.is_multiple_of(512) && high.is_multiple_of(512) { 512 } else { 1 };
        let drawn = *low as f64 + (*high as f64 - *low as f64) * share;
        (drawn / unit as f64).round() as u64 * unit
    }
}

impl Value for f64 {
    fn text(&self) -> String {
        format!("{self:?}")
    }
    fn between(low: &f64, high: &f64, share: f64) -> f64 {
        low + (high - low) * share
    }
    fn whole(self) -> f64 {
        self.round()
    }
    fn is_within(&self, range: &RangeInclusive<f64>) -> bool {
        range.contains(self)
    }
}

impl Value for Vec<[f64; 2]> {
    fn between(low: &Self, high: &Self, share: f64) -> Self {
        let knots = low.iter().zip(high);
        knots.map(|(low, high)| [low[0], f64::between(&low[1], &high[1], share)]).collect()
    }
    fn text(&self) -> String {
        let knots: Vec<String> =
            self.iter().map(|[at, rate]| format!("[{at:?}, {rate:?}]")).collect();
        format!("[{}]", knots.join(", "))
    }
    fn is_within(&self, range: &RangeInclusive<f64>) -> bool {
        self.iter().all(|[_, rate]| range.contains(rate))
    }
}

/// One parameter as `raidloom model show` prints it.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterRow {
    /// Table and key, as in the file: `disk.seek_root`.
    pub name: String,
    /// The value as it stands in the file.
    pub value: String,
    /// Its unit.
    pub unit: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Between what it lies, as it stands in the file; empty where nothing is said.
    pub interval: String,
    /// How it was found, or why it was assumed.
    pub note: String,
}

/// A model that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError(Text);

impl ModelError {
    pub(super) fn new(text: impl Into<Text>) -> ModelError {
        ModelError(text.into())
    }

    /// The same with where it was in front.
    pub(super) fn at(self, place: impl Into<Text>) -> ModelError {
        ModelError(self.0.at(place))
    }
}

impl From<ModelError> for Text {
    fn from(error: ModelError) -> Text {
        error.0
    }
}

impl From<&ModelError> for Text {
    fn from(error: &ModelError) -> Text {
        error.0.clone()
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

impl std::error::Error for ModelError {}

/// A figure in another unit than the one that is read.
pub(super) fn other_unit(name: &str, given: &str, unit: &str) -> ModelError {
    ModelError::new(statement!(messages::OTHER_UNIT, name = name, given = given, unit = unit))
}

/// Between what a figure lies, by its unit: wider than any drive is, and so that the model can
/// still count what follows from it in nanoseconds and turns.
fn range(unit: &str) -> RangeInclusive<f64> {
    match unit {
        // 10 kB a second to 1 TB a second.
        "bytes/s" => 1e4..=1e12,
        "MB/s" => 1e-2..=1e6,
        // Up to an hour.
        "ms" => 0.0..=3.6e6,
        "us" => 0.0..=3.6e9,
        // Up to a PiB.
        "bytes" => 0.0..=1_125_899_906_842_624.0,
        "GB" | "MB" => 0.0..=1e6,
        "share" => 0.0..=4.0,
        "rpm" | "io/s" => 1e-2..=1e9,
        // What is counted: requests, extents, dies.
        _ => 0.0..=1e6,
    }
}

fn check_within<T: Value>(
    name: &str,
    value: &T,
    unit: &str,
    range: &RangeInclusive<f64>,
) -> Result<(), ModelError> {
    refuse(
        !value.is_within(range),
        statement!(
            messages::VALUE_NOT_WITHIN,
            name = name,
            value = value.text(),
            unit = unit,
            from = range.start().to_string(),
            to = range.end().to_string()
        ),
    )
}

/// Refuses a stated figure that lies outside of the range of its unit, or is next to nothing.
pub(super) fn check_stated(name: &str, value: f64, unit: &str) -> Result<(), ModelError> {
    let range = range(unit);
    check_within(name, &value, unit, &(range.start().max(1e-3)..=*range.end()))
}

pub(super) fn check_quantity<T: Value>(
    name: &str,
    quantity: &Quantity<T>,
    unit: &str,
) -> Result<(), ModelError> {
    if quantity.unit != unit {
        return Err(other_unit(name, &quantity.unit, unit));
    }
    let within = quantity.interval.iter().flatten();
    std::iter::once(&quantity.value)
        .chain(within)
        .try_for_each(|value| check_within(name, value, unit, &range(unit)))
}

pub(super) fn row<T: Value>(name: &str, quantity: &Quantity<T>) -> ParameterRow {
    ParameterRow {
        name: name.to_owned(),
        value: quantity.value.text(),
        unit: quantity.unit.clone(),
        origin: quantity.origin,
        interval: quantity
            .interval
            .as_ref()
            .map_or_else(String::new, |[low, high]| format!("[{}, {}]", low.text(), high.text())),
        note: quantity.note.clone(),
    }
}

/// What is wrong with a file's form, and in which line.
pub(super) fn on_one_line(text: &str, error: &toml::de::Error) -> ModelError {
    let line =
        error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let message = error.message().lines().next().unwrap_or_default();
    ModelError::new(match line {
        Some(line) => statement!(messages::ON_LINE, line = line, message = message),
        None => message.into(),
    })
}

pub(super) fn refuse(condition: bool, text: impl Into<Text>) -> Result<(), ModelError> {
    if condition { Err(ModelError::new(text)) } else { Ok(()) }
}
