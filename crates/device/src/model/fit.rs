//! Parameters of a disk from published figures of that disk alone.
//!
//! ```text
//!   facts (spec, assumed) --+
//!                           +--> stage 1  rates            sequential reads of large requests
//!   rows (sequential,       |    stage 2  interface        sequential writes that are slower than the media
//!         random)        ---+    stage 3  overheads        sequential rows that are slower than the media
//!                                stage 4  seek_root        random reads
//!                                stage 5  window, settle   random writes, against the model itself
//!                                         |
//!   check rows (mixed) ------------------ | ---------->  never read by the fit, only predicted
//!                                         v
//!                                model file + error of every row
//! ```
//!
//! Each stage is a closed form over rows that no later stage touches; only the last one bisects,
//! because what a drive gains by choosing among cached writes has no closed form. The type
//! [`FitRow`] cannot hold a mixed row, so a check row cannot get into the fit.
//!
//! Closed forms, with a request of S bytes, c the link's time a command, L the slower of interface
//! and link, R0 and R1 the rates at start and end, T the revolution:
//!
//! ```text
//!   sequential, overhead-bound   t = overhead + c + S / L
//!   random read                  t = overhead + E[seek] + T / 2 + S * 2 / (R0 + R1) + 512 / L + H
//!   E[seek]                      = base + root * (8/15 - 8/135 * ((R0 - R1) / (R0 + R1))^2)
//! ```
//!
//! H is what is left of the read-ahead's hold when the next read comes, which is overhead + 512 / L
//! after the last one: nothing where that is sooner than read-ahead begins to hold.
//! 2 / (R0 + R1) is the mean of 1 / R over all addresses, and the last line the mean of the square
//! root of the distance between two addresses drawn uniformly, the density over the stroke being
//! proportional to the rate.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::Deserialize;
use words::{Message, statement};

use super::messages;
use super::parameters::{
    DiskFacts, DiskParameters, LinkParameters, ModelError, Origin, Parameters, Quantity,
};
use super::quantity::{Value, check_quantity, on_one_line, refuse};
use super::replay::{Pattern, Rate, Test, mixed, random, replay, span};

/// The seed of every replay of the fit.
const SEED: u64 = 1;
/// Requests below this are bound by overheads, never by the media.
const LARGE_REQUEST_BYTES: u64 = 16 << 10;
/// A sequential row slower than this share of the media rate is bound by overhead and link.
const MEDIA_BOUND_SHARE: f64 = 0.97;
/// Random writes counted in one replay of the last stage.
const BISECTION_REQUESTS: u64 = 20_000;
/// Windows that are tried: no drive's figures ask for more.
const WINDOW_LIMIT: u64 = 64;

/// Known of the drive, and of how its figures were taken, before they are read: a
/// `NAME.facts.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFacts {
    /// What the model will be called.
    pub name: String,
    /// Maker and product.
    pub title: String,
    /// What the figures are.
    pub published: PublishedFigures,
    /// Stated and assumed parameters.
    pub disk: DiskFacts,
    /// What the disk hung on when it was measured.
    pub link: LinkParameters,
    /// For figures of bonnie++: how it was run.
    pub bonnie: Option<BonnieFacts>,
    /// For a link that is held by the command: what two of the drives did on it.
    pub channel: Option<ChannelFacts>,
}

/// Two of the drives on one link, striped, read and written in sequence: the only figures of an
/// array that a fit may read, because nothing that a drive does alone shows what changing drives
/// costs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelFacts {
    /// What both together read, in the table's kB or K a second.
    pub two_drives: Quantity<f64>,
    /// What both together wrote, by what one alone wrote: what a file system costs is in both.
    pub two_drives_write: Quantity<f64>,
    /// What one command moved, in bytes.
    pub command: Quantity<u64>,
}

/// What a change of drive costs, in milliseconds.
struct ChangeOfDrive {
    read: f64,
    write: f64,
}

impl ChannelFacts {
    /// What a change of drive costs when the drives take turns with one command each: what is left
    /// of a command's share of the time when overhead and data are paid. Read data come from the
    /// media in the command's own turn, written ones go to the cache.
    fn change_of_drive(
        &self,
        kilobyte_bytes: u64,
        disk: &DiskFacts,
        link: &LinkParameters,
    ) -> Result<ChangeOfDrive, ModelError> {
        let bytes = self.command.value as f64;
        let moving_ms = |interface: f64| bytes / interface.min(link.bandwidth.value) * 1e3;
        let command_ms = |overhead_us: f64| (overhead_us + link.command_time.value) / 1e3;
        let media = needed(disk.rate_at_start.as_ref(), "rate_at_start")?.value;
        let media_ms = bytes / media * 1e3;
        let left = |key: &str, bytes_per_second: f64, paid_ms: f64| {
            let penalty = bytes / bytes_per_second * 1e3 - paid_ms;
            if penalty < 0.0 {
                let penalty = format!("{penalty:.3}");
                let text = statement!(messages::NO_CHANGE_LEFT, key = key, penalty = penalty);
                return Err(ModelError::new(text));
            }
            Ok(penalty)
        };
        let read_ms = moving_ms(needed(disk.link_rate_read.as_ref(), "link_rate_read")?.value);
        let overhead = needed(disk.read_overhead.as_ref(), "read_overhead")?.value;
        let read = left(
            "two_drives",
            self.two_drives.value * kilobyte_bytes as f64,
            command_ms(overhead) + read_ms.max(media_ms),
        )?;
        let write_ms = moving_ms(needed(disk.link_rate_write.as_ref(), "link_rate_write")?.value);
        let overhead = needed(disk.write_overhead.as_ref(), "write_overhead")?.value;
        let write = left(
            "two_drives_write",
            self.two_drives_write.value * media,
            command_ms(overhead) + write_ms,
        )?;
        Ok(ChangeOfDrive { read, write })
    }
}

/// What the figures are.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedFigures {
    /// Which suite they come from.
    pub kind: Kind,
    /// How many bytes their kB or K is.
    pub kilobyte: Quantity<u64>,
}

/// Suites whose figures can be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Rows of the suite `devtest`.
    Devtest,
    /// A row of bonnie++.
    Bonnie,
}

/// How bonnie++ was run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonnieFacts {
    /// Size of the file, in bytes.
    pub file_size: Quantity<u64>,
    /// Memory of the machine, in bytes.
    pub memory: Quantity<u64>,
    /// Which share of it held pages of the file.
    pub memory_share: Quantity<f64>,
    /// What one seek reads, in bytes.
    pub seek_bytes: Quantity<u64>,
    /// Which share of the seeks writes it back.
    pub seek_write_share: Quantity<f64>,
}

impl KnownFacts {
    /// Facts from the text of their file.
    ///
    /// # Errors
    /// When a key is unknown or missing: which.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let facts: KnownFacts = toml::from_str(text).map_err(|error| on_one_line(text, &error))?;
        facts.link.check()?;
        within("published.kilobyte", &facts.published.kilobyte, "bytes", 1..=1 << 20)?;
        if let Some(bonnie) = &facts.bonnie {
            bonnie.check(&facts.disk)?;
        }
        Ok(facts)
    }
}

impl BonnieFacts {
    /// Whether it could be run on the disk.
    fn check(&self, disk: &DiskFacts) -> Result<(), ModelError> {
        let capacity = disk.capacity.as_ref().map_or(u64::MAX, |capacity| capacity.value);
        within("bonnie.file_size", &self.file_size, "bytes", *REQUESTS.end()..=capacity)?;
        within("bonnie.seek_bytes", &self.seek_bytes, "bytes", REQUESTS)?;
        check_quantity("bonnie.memory", &self.memory, "bytes")?;
        for (name, share) in [
            ("bonnie.memory_share", &self.memory_share),
            ("bonnie.seek_write_share", &self.seek_write_share),
        ] {
            within(name, share, "share", 0.0..=1.0)?;
        }
        Ok(())
    }
}

/// Refuses a fact that lies outside of the range.
fn within<T: Value + PartialOrd + Display>(
    name: &str,
    quantity: &Quantity<T>,
    unit: &str,
    range: RangeInclusive<T>,
) -> Result<(), ModelError> {
    check_quantity(name, quantity, unit)?;
    refuse(
        !range.contains(&quantity.value),
        statement!(
            messages::VALUE_NOT_WITHIN,
            name = name,
            value = quantity.value.text(),
            unit = unit,
            from = range.start().to_string(),
            to = range.end().to_string()
        ),
    )
}

/// A published figure that the fit may read: sequential or random, one direction, one request size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitRow {
    /// What was measured.
    pub test: Test,
    /// The figure, in bytes a second.
    pub bytes_per_second: f64,
}

impl FitRow {
    /// Time of one request, in nanoseconds.
    fn request_nanoseconds(&self) -> f64 {
        self.test.request_bytes as f64 / self.bytes_per_second * 1e9
    }
}

/// A published figure that the fit never sees: one direction of a mixed test.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckRow {
    /// Its name in the table.
    pub name: String,
    /// Reads among the requests: as it came out where both directions' figures are known, else as
    /// it was meant.
    pub read_share: f64,
    /// Whether it is the writes' figure.
    pub write: bool,
    /// The figure, in bytes a second.
    pub bytes_per_second: f64,
}

/// A row of the fit's report.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorRow {
    /// The row's name in the published table.
    pub test: String,
    /// Its request size as published, such as `512` or `512-65536`.
    pub request_bytes: String,
    /// What `published` and `model` are given in.
    pub unit: &'static str,
    /// The published figure.
    pub published: f64,
    /// What the model does.
    pub model: f64,
    /// Model over published, less 1.
    pub relative_error: f64,
    /// The fit did not read this row.
    pub check: bool,
}

/// A fitted model, and how well it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct FitReport {
    /// The fitted model; [`Parameters::to_toml`] is its file.
    pub parameters: Parameters,
    /// One row for every published figure.
    pub rows: Vec<ErrorRow>,
}

/// Figures and facts that are part of the binary: name, CSV, facts.
const BUILT_IN: [(&str, &str, &str); 2] = [
    (
        "maxtor-6y200p0",
        include_str!("../../../../models/data/maxtor-6y200p0.csv"),
        include_str!("../../../../models/data/maxtor-6y200p0.facts.toml"),
    ),
    (
        "st340015a",
        include_str!("../../../../models/data/st340015a.csv"),
        include_str!("../../../../models/data/st340015a.facts.toml"),
    ),
];

/// The CSV and the facts that a built-in model was fitted to.
#[must_use]
pub fn built_in_data(name: &str) -> Option<(&'static str, &'static str)> {
    BUILT_IN.iter().find(|(known, ..)| *known == name).map(|(_, csv, facts)| (*csv, *facts))
}

/// Fits a model to the text of a CSV file, with the text of the facts beside it.
///
/// # Errors
/// When the table cannot be read, a row that is needed is missing, or the result makes no disk.
pub fn fit_csv(csv_text: &str, facts_text: &str) -> Result<FitReport, ModelError> {
    let facts = KnownFacts::parse(facts_text)?;
    let parameters = match facts.published.kind {
        Kind::Devtest => {
            fit(&DevtestTable::parse(csv_text, facts.published.kilobyte.value)?.rows, &facts)?
        }
        Kind::Bonnie => {
            fit_bonnie(&BonnieRow::parse(csv_text, facts.published.kilobyte.value)?, &facts)?
        }
    };
    let rows = errors_csv(&parameters, csv_text, facts_text)?;
    Ok(FitReport { parameters, rows })
}

/// What a model does for every published figure of a CSV file.
///
/// # Errors
/// When the table or the facts cannot be read.
pub fn errors_csv(
    parameters: &Parameters,
    csv_text: &str,
    facts_text: &str,
) -> Result<Vec<ErrorRow>, ModelError> {
    let facts = KnownFacts::parse(facts_text)?;
    let kilobyte = facts.published.kilobyte.value;
    match facts.published.kind {
        Kind::Devtest => Ok(DevtestTable::parse(csv_text, kilobyte)?.errors(parameters, kilobyte)),
        Kind::Bonnie => BonnieRow::parse(csv_text, kilobyte)?.errors(parameters, &facts),
    }
}

/// The published error rows of a built-in model, or none for a model without published figures.
///
/// # Errors
/// When the built-in table cannot be read.
pub fn errors_built_in(parameters: &Parameters) -> Result<Vec<ErrorRow>, ModelError> {
    built_in_data(&parameters.name)
        .map_or(Ok(Vec::new()), |(csv, facts)| errors_csv(parameters, csv, facts))
}

// ---- tables
// -------------------------------------------------------------------------------------------------

/// Figures of the suite `devtest`, those to fit apart from those to check.
#[derive(Clone, Debug, PartialEq)]
pub struct DevtestTable {
    /// Sequential and random rows.
    pub rows: Vec<FitRow>,
    /// Mixed rows.
    pub checks: Vec<CheckRow>,
}

const SINGLE_NAMES: [(&str, Pattern, bool); 6] = [
    ("sequential read at start", Pattern::SequentialAtStart, false),
    ("sequential read at end", Pattern::SequentialAtEnd, false),
    ("random read", Pattern::Random, false),
    ("sequential write at start", Pattern::SequentialAtStart, true),
    ("sequential write at end", Pattern::SequentialAtEnd, true),
    ("random write", Pattern::Random, true),
];

/// A line's fields, and a message that names the line.
fn fields(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    text.lines()
        .enumerate()
        .skip(1)
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| (number + 1, line.split(',').map(str::trim).collect()))
}

/// Rates that a table may hold, in its kB or seeks a second.
const RATES: RangeInclusive<f64> = 1e-3..=1e9;
/// Requests that a table may tell of, in bytes.
const REQUESTS: RangeInclusive<u64> = 512..=16 << 20;

/// A number that lies in the range; what is no number, or another, is refused with its line.
fn number<T: FromStr + PartialOrd + Display>(
    line: usize,
    field: Option<&&str>,
    what: &str,
    range: &RangeInclusive<T>,
    refusal: Message,
) -> Result<T, ModelError> {
    let text = field.copied().unwrap_or("");
    text.parse::<T>().ok().filter(|value| range.contains(value)).ok_or_else(|| {
        ModelError::new(statement!(
            refusal,
            line = line,
            what = what,
            text = text,
            from = range.start().to_string(),
            to = range.end().to_string()
        ))
    })
}

fn rate(line: usize, field: Option<&&str>, what: &str) -> Result<f64, ModelError> {
    number(line, field, what, &RATES, messages::TABLE_NO_NUMBER)
}

impl DevtestTable {
    /// Reads `test,request_bytes,kB_per_s,io_per_s`.
    ///
    /// # Errors
    /// When a line is not of that form: which line, and what was expected.
    pub fn parse(text: &str, kilobyte_bytes: u64) -> Result<Self, ModelError> {
        let mut table = DevtestTable { rows: Vec::new(), checks: Vec::new() };
        for (line, fields) in fields(text) {
            let name = fields[0];
            let bytes_per_second = rate(line, fields.get(2), "kB_per_s")? * kilobyte_bytes as f64;
            if let Some(&(_, pattern, write)) =
                SINGLE_NAMES.iter().find(|(known, ..)| *known == name)
            {
                let request_bytes = number(
                    line,
                    fields.get(1),
                    "request_bytes",
                    &REQUESTS,
                    messages::TABLE_NO_WHOLE_NUMBER,
                )?;
                table.rows.push(FitRow {
                    test: Test { pattern, write, request_bytes },
                    bytes_per_second,
                });
                continue;
            }
            let mix = name.strip_prefix("mixed ").and_then(|rest| {
                let (share, direction) = rest.split_once(' ')?;
                let (reads, writes) = share.split_once(':')?;
                let (reads, writes) = (reads.parse::<f64>().ok()?, writes.parse::<f64>().ok()?);
                matches!(direction, "read" | "write")
                    .then_some((reads / (reads + writes), direction == "write"))
            });
            let Some((read_share, write)) = mix else {
                let text = statement!(messages::TABLE_NO_TEST, line = line, name = name);
                return Err(ModelError::new(text));
            };
            table.checks.push(CheckRow {
                name: name.to_owned(),
                read_share,
                write,
                bytes_per_second,
            });
        }
        table.realise_shares();
        Ok(table)
    }

    /// Sizes are drawn without regard to the direction, so a mixed test's share of reads, as it
    /// came out in the seconds that the test ran, is that of the bytes. The two rows of a test
    /// stand one after the other.
    fn realise_shares(&mut self) {
        for pair in self.checks.chunks_exact_mut(2) {
            let [one, other] = pair else { continue };
            if one.read_share != other.read_share || one.write == other.write {
                continue;
            }
            let read = if one.write { other.bytes_per_second } else { one.bytes_per_second };
            let share = read / (one.bytes_per_second + other.bytes_per_second);
            (one.read_share, other.read_share) = (share, share);
        }
    }

    /// What a model does for every row.
    #[must_use]
    pub fn errors(&self, parameters: &Parameters, kilobyte_bytes: u64) -> Vec<ErrorRow> {
        let kilobyte = kilobyte_bytes as f64;
        let mut errors = Vec::new();
        let mut push =
            |test: String, request_bytes: String, published: f64, model: &Rate, check: bool| {
                let relative_error = model.bytes_per_second / published - 1.0;
                let (published, model) = (published / kilobyte, model.bytes_per_second / kilobyte);
                errors.push(ErrorRow {
                    test,
                    request_bytes,
                    unit: "KiB/s",
                    published,
                    model,
                    relative_error,
                    check,
                });
            };
        for row in &self.rows {
            let (name, ..) = SINGLE_NAMES
                .iter()
                .find(|(_, pattern, write)| {
                    (*pattern, *write) == (row.test.pattern, row.test.write)
                })
                .expect("a listed test");
            push(
                (*name).to_owned(),
                row.test.request_bytes.to_string(),
                row.bytes_per_second,
                &replay(parameters, row.test, SEED),
                false,
            );
        }
        let mut last: Option<(f64, (Rate, Rate))> = None;
        for row in &self.checks {
            let rates = match last {
                Some((share, rates)) if share == row.read_share => rates,
                _ => mixed(parameters, row.read_share, SEED),
            };
            last = Some((row.read_share, rates));
            let model = if row.write { rates.1 } else { rates.0 };
            push(row.name.clone(), "512-65536".to_owned(), row.bytes_per_second, &model, true);
        }
        errors
    }
}

/// The figures of one run of bonnie++, in bytes a second and seeks a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BonnieRow {
    /// Block output.
    pub output: f64,
    /// Block input.
    pub input: f64,
    /// Random seeks.
    pub seeks: f64,
}

impl BonnieRow {
    /// Reads the first line of `configuration,block_output_K_per_s,...,seeks_per_s,...`.
    ///
    /// # Errors
    /// When a column is missing or holds no number: which.
    pub fn parse(text: &str, kilobyte_bytes: u64) -> Result<Self, ModelError> {
        let header: Vec<&str> =
            text.lines().next().unwrap_or("").split(',').map(str::trim).collect();
        let Some((line, fields)) = fields(text).next() else {
            return Err(ModelError::new(messages::TABLE_NO_ROW));
        };
        let column = |name: &str| {
            rate(
                line,
                header.iter().position(|known| *known == name).and_then(|place| fields.get(place)),
                name,
            )
        };
        let kilobyte = kilobyte_bytes as f64;
        Ok(BonnieRow {
            output: column("block_output_K_per_s")? * kilobyte,
            input: column("block_input_K_per_s")? * kilobyte,
            seeks: column("seeks_per_s")?,
        })
    }

    fn errors(
        &self,
        parameters: &Parameters,
        facts: &KnownFacts,
    ) -> Result<Vec<ErrorRow>, ModelError> {
        let bonnie = facts.bonnie.as_ref().ok_or_else(missing_bonnie)?;
        let sequential = |write| {
            replay(
                parameters,
                Test { pattern: Pattern::SequentialAtStart, write, request_bytes: 64 << 10 },
                SEED,
            )
            .bytes_per_second
        };
        let (write_share, operations) = bonnie_operations(bonnie);
        let disk = span(
            parameters,
            bonnie.file_size.value,
            bonnie.seek_bytes.value,
            write_share / operations,
            SEED,
        )
        .io_per_second;
        let row =
            |test: &str, request_bytes: String, unit, published: f64, model: f64, check| ErrorRow {
                test: test.to_owned(),
                request_bytes,
                unit,
                published,
                model,
                relative_error: model / published - 1.0,
                check,
            };
        let kilobyte = facts.published.kilobyte.value as f64;
        Ok(vec![
            row(
                "block output",
                "65536".to_owned(),
                "KiB/s",
                self.output / kilobyte,
                sequential(true) / kilobyte,
                true,
            ),
            row(
                "block input",
                "65536".to_owned(),
                "KiB/s",
                self.input / kilobyte,
                sequential(false) / kilobyte,
                false,
            ),
            row(
                "seeks",
                bonnie.seek_bytes.value.to_string(),
                "seeks/s",
                self.seeks,
                disk / operations,
                false,
            ),
        ])
    }
}

fn missing_bonnie() -> ModelError {
    ModelError::new(messages::FACTS_NO_BONNIE)
}

/// What one of bonnie++'s seeks costs the disk: writes, and operations in all. The rest is answered
/// from memory.
fn bonnie_operations(bonnie: &BonnieFacts) -> (f64, f64) {
    let cached = (bonnie.memory.value as f64 * bonnie.memory_share.value
        / bonnie.file_size.value as f64)
        .min(0.95);
    (bonnie.seek_write_share.value, 1.0 - cached + bonnie.seek_write_share.value)
}

// ---- the stages
// -------------------------------------------------------------------------------------------------

pub(super) fn measured<T>(value: T, unit: &str, note: String) -> Quantity<T> {
    Quantity { value, unit: unit.to_owned(), origin: Origin::Measured, interval: None, note }
}

/// The mean of what rows tell, and between what they lie where there are several.
fn measured_by_rows(
    values: &[f64],
    places: i32,
    unit: &str,
    note: String,
) -> Option<Quantity<f64>> {
    let end = |of: fn(f64, f64) -> f64| values.iter().copied().reduce(of);
    let (low, high) = (end(f64::min)?, end(f64::max)?);
    let interval = [rounded(low, places), rounded(high, places)];
    Some(Quantity {
        interval: (values.len() > 1).then_some(interval),
        ..measured(rounded(mean(values)?, places), unit, note)
    })
}

fn needed<'a, T>(
    quantity: Option<&'a Quantity<T>>,
    name: &str,
) -> Result<&'a Quantity<T>, ModelError> {
    quantity.ok_or_else(|| ModelError::new(statement!(messages::FACTS_LACK, name = name)))
}

/// To so many places after the point: what stands in the file is what was fitted with.
pub(super) fn rounded(value: f64, places: i32) -> f64 {
    let scale = 10f64.powi(places);
    (value * scale).round() / scale
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// E[sqrt(distance)] over uniform pairs of addresses, as a share of the stroke.
fn mean_root_distance(rate_at_start: f64, rate_at_end: f64) -> f64 {
    let taper = (rate_at_start - rate_at_end) / (rate_at_start + rate_at_end);
    8.0 / 15.0 - 8.0 / 135.0 * taper * taper
}

/// The mean seek over uniform pairs of addresses, in milliseconds (for two rates and no linear
/// tail).
#[must_use]
pub fn mean_seek_ms(disk: &DiskParameters) -> f64 {
    disk.seek_base.value
        + disk.seek_root.value
            * mean_root_distance(disk.rate_at_start.value, disk.rate_at_end.value)
}

/// Fits a model to the sequential and random rows of one drive.
///
/// # Errors
/// When rows or facts that a stage needs are missing, or the result makes no disk.
pub fn fit(rows: &[FitRow], facts: &KnownFacts) -> Result<Parameters, ModelError> {
    let rows = Rows(rows);
    let link = &facts.link;
    let mut disk = facts.disk.clone();

    let outer = rows.media_rate(Pattern::SequentialAtStart)?;
    let inner = rows.media_rate(Pattern::SequentialAtEnd)?;
    let rates = Rates { outer: outer.value, inner: inner.value };
    (disk.rate_at_start, disk.rate_at_end) = (Some(outer), Some(inner));

    let interface = needed(disk.link_rate_read.as_ref(), "link_rate_read")?;
    let (interface, overhead) = rows.interface_and_overhead(false, &rates, interface, link)?;
    (disk.link_rate_read, disk.read_overhead) = (Some(interface), Some(overhead));
    let interface = needed(disk.link_rate_write.as_ref(), "link_rate_write")?;
    let (interface, overhead) = rows.interface_and_overhead(true, &rates, interface, link)?;
    (disk.link_rate_write, disk.write_overhead) = (Some(interface), Some(overhead));

    disk.seek_root = Some(rows.seek_root(&rates, &disk, link)?);

    let nominal = needed(disk.settle.as_ref(), "settle")?.value;
    disk.write_window = Some(measured(1, "extents", String::new()));
    let mut parameters = Parameters {
        name: facts.name.clone(),
        title: facts.title.clone(),
        sheet: None,
        flash: None,
        disk: disk.complete()?,
        link: facts.link.clone(),
    };
    parameters.check()?;
    let largest = rows.0.iter().map(|row| row.test.request_bytes).max().unwrap_or(0);
    let capacity = parameters.disk.capacity.value;
    refuse(
        largest > capacity,
        statement!(messages::REQUEST_PAST_DISK, bytes = largest, capacity = capacity),
    )?;
    let (window, settle) = rows.window_and_settle(&parameters, nominal)?;
    (parameters.disk.write_window, parameters.disk.settle) = (window, settle);
    parameters.check()?;
    Ok(parameters)
}

/// Media rates at start and end, in bytes a second.
struct Rates {
    outer: f64,
    inner: f64,
}

/// The rows of one drive, and what each stage makes of them.
struct Rows<'a>(&'a [FitRow]);

fn lacking(what: Message) -> ModelError {
    ModelError::new(statement!(messages::TABLE_LACKS, what = what))
}

impl Rows<'_> {
    fn select(&self, pattern: Pattern, write: bool) -> impl Iterator<Item = &FitRow> {
        self.0.iter().filter(move |row| row.test.pattern == pattern && row.test.write == write)
    }

    /// Stage 1: the mean of the large sequential reads that nothing but the media bounds.
    fn media_rate(&self, pattern: Pattern) -> Result<Quantity<f64>, ModelError> {
        let large =
            self.select(pattern, false).filter(|row| row.test.request_bytes >= LARGE_REQUEST_BYTES);
        let rates: Vec<f64> = large.map(|row| row.bytes_per_second).collect();
        let fastest = rates.iter().copied().fold(0.0, f64::max);
        let bound: Vec<f64> =
            rates.into_iter().filter(|rate| *rate >= fastest * MEDIA_BOUND_SHARE).collect();
        let (place, reads) = match pattern {
            Pattern::SequentialAtStart => ("at start", messages::READS_AT_START),
            _ => ("at end", messages::READS_AT_END),
        };
        let note = format!("stage 1: mean of the sequential reads {place} with large requests");
        measured_by_rows(&bound, -3, "bytes/s", note).ok_or_else(|| lacking(reads))
    }

    /// Stages 2 and 3: what the sequential rows that the media does not bound tell of interface and
    /// overhead.
    fn interface_and_overhead(
        &self,
        write: bool,
        rates: &Rates,
        stated: &Quantity<f64>,
        link: &LinkParameters,
    ) -> Result<(Quantity<f64>, Quantity<f64>), ModelError> {
        let slower = |pattern, media: f64| {
            self.select(pattern, write)
                .filter(move |row| row.bytes_per_second < media * MEDIA_BOUND_SHARE)
        };
        let bound: Vec<&FitRow> = slower(Pattern::SequentialAtStart, rates.outer)
            .chain(slower(Pattern::SequentialAtEnd, rates.inner))
            .collect();
        let smallest = bound.iter().map(|row| row.test.request_bytes).min().unwrap_or(0);
        let (small, larger): (Vec<&FitRow>, Vec<&FitRow>) =
            bound.iter().partition(|row| row.test.request_bytes == smallest);
        let small_times: Vec<f64> = small.iter().map(|row| row.request_nanoseconds()).collect();
        let small_time = mean(&small_times).ok_or_else(|| lacking(messages::SMALL_ROWS))?;
        let slope = |row: &&FitRow| {
            (row.test.request_bytes - smallest) as f64 * 1e9
                / (row.request_nanoseconds() - small_time)
        };
        let slopes: Vec<f64> = larger.iter().map(slope).collect();
        let mut interface = stated.clone();
        if let Some(slope) = mean(&slopes) {
            if slope > 0.0 && slope < stated.value.min(link.bandwidth.value) {
                let note =
                    "stage 2: what larger overhead-bound sequential rows add to the smallest";
                interface = Quantity {
                    origin: Origin::Measured,
                    note: note.to_owned(),
                    ..stated.with(rounded(slope, -4))
                };
            } else {
                let rate = slope / 1e6;
                interface.note = format!(
                    "{}; stage 2: the rows give {rate:.1}e6, which the link does not let through, \
                    so it stands",
                    stated.note
                );
            }
        }
        let per_byte = 1e9 / interface.value.min(link.bandwidth.value);
        let rest = |row: &&FitRow| {
            row.request_nanoseconds()
                - row.test.request_bytes as f64 * per_byte
                - link.command_time.value * 1e3
        };
        let overheads: Vec<f64> = bound.iter().map(|row| rest(row).max(0.0) / 1e3).collect();
        let note = format!(
            "stage 3: mean of the {} overhead-bound sequential rows, less link and command time",
            overheads.len()
        );
        let overhead = measured_by_rows(&overheads, 1, "us", note)
            .ok_or_else(|| lacking(messages::OVERHEAD_ROWS))?;
        Ok((interface, overhead))
    }

    /// Stage 4: the seek curve, from random reads.
    fn seek_root(
        &self,
        rates: &Rates,
        disk: &DiskFacts,
        link: &LinkParameters,
    ) -> Result<Quantity<f64>, ModelError> {
        let base_ms = needed(disk.seek_base.as_ref(), "seek_base")?.value;
        let revolution_ms = needed(disk.revolution.as_ref(), "revolution")?.value;
        let overhead_ms = needed(disk.read_overhead.as_ref(), "read_overhead")?.value / 1e3;
        let link_rate =
            needed(disk.link_rate_read.as_ref(), "link_rate_read")?.value.min(link.bandwidth.value);
        // The next read comes so long after the last one's data, read-ahead having begun then.
        let held_ms = {
            let gap = overhead_ms + 512e3 / link_rate;
            let start = disk.read_ahead_start.as_ref().map_or(0.0, |start| start.value);
            let until = start + disk.read_ahead_hold.as_ref().map_or(0.0, |hold| hold.value);
            if gap >= start { (until - gap).max(0.0) } else { 0.0 }
        };
        let root = |row: &FitRow| {
            let media_ms = row.test.request_bytes as f64 * 2e3 / (rates.outer + rates.inner);
            let seek_ms = row.request_nanoseconds() / 1e6
                - overhead_ms
                - revolution_ms / 2.0
                - media_ms
                - 512e3 / link_rate
                - held_ms;
            (seek_ms - base_ms) / mean_root_distance(rates.outer, rates.inner)
        };
        let roots: Vec<f64> = self.select(Pattern::Random, false).map(root).collect();
        let note =
            format!("stage 4: mean over the {} random reads, with seek_base given", roots.len());
        let quantity = measured_by_rows(&roots, 3, "ms", note)
            .ok_or_else(|| lacking(messages::RANDOM_READS))?;
        let root = quantity.value;
        if root <= 0.0 {
            let text = statement!(messages::NO_SEEK_LEFT, root = format!("{root:.3}"));
            return Err(ModelError::new(text));
        }
        Ok(quantity)
    }

    /// Stage 5: what the drive gains by choosing, and what settling costs, from random writes.
    fn window_and_settle(
        &self,
        parameters: &Parameters,
        nominal_ms: f64,
    ) -> Result<(Quantity<u64>, Quantity<f64>), ModelError> {
        let writes: Vec<&FitRow> = self.select(Pattern::Random, true).collect();
        if writes.is_empty() {
            return Err(lacking(messages::RANDOM_WRITES));
        }
        // How much longer the model takes than the rows say, on the mean over their request sizes.
        let excess = |parameters: &Parameters| -> f64 {
            let ratio = |row: &&FitRow| {
                row.bytes_per_second
                    / random(parameters, row.test, BISECTION_REQUESTS, SEED).bytes_per_second
            };
            writes.iter().map(ratio).sum::<f64>() / writes.len() as f64 - 1.0
        };
        let (window, settle) = bisect_writes(&mut parameters.clone(), nominal_ms, excess);
        let note = format!(
            "stage 5: the window for which random writes fit best with a settle of {nominal_ms:?} \
            ms; the two trade against each other"
        );
        let window = measured(window, "extents", note);
        let note = format!(
            "stage 5: bisected on random writes from the {nominal_ms:?} ms assumed, with that \
            window"
        );
        Ok((window, measured(settle, "ms", note)))
    }
}

/// The window that fits best at the nominal settle, then the settle that fits with that window.
fn bisect_writes(
    parameters: &mut Parameters,
    nominal_ms: f64,
    excess: impl Fn(&Parameters) -> f64,
) -> (u64, f64) {
    let unit = parameters.disk.settle.clone();
    let mut excess_at = |window: u64, settle: f64| {
        parameters.disk.write_window.value = window;
        parameters.disk.settle = unit.with(settle);
        excess(parameters)
    };
    // The time falls as the window grows: find the first window that is fast enough.
    let (mut slow, mut fast) = (0, WINDOW_LIMIT);
    while fast - slow > 1 {
        let middle = slow.midpoint(fast);
        if excess_at(middle, nominal_ms) > 0.0 { slow = middle } else { fast = middle }
    }
    let window =
        if slow > 0 && excess_at(slow, nominal_ms).abs() < excess_at(fast, nominal_ms).abs() {
            slow
        } else {
            fast
        };
    // The time grows with settling.
    let (mut low, mut high) = (0.0, 4.0 * nominal_ms.max(0.5));
    for _ in 0..14 {
        let middle = f64::midpoint(low, high);
        if excess_at(window, middle) > 0.0 { high = middle } else { low = middle }
    }
    (window, rounded(f64::midpoint(low, high), 3))
}

/// Fits what little a run of bonnie++ on a file system tells of its disk: the rate at the start,
/// and from the seeks what a full stroke adds. A seek of bonnie++ reads a chunk of a file at the
/// start of the disk, which memory holds in part, and changes every tenth one:
///
/// ```text
///   operations a seek   k = 1 - cached + written          cached = memory * share / file
///   time an operation   t = 1 / (seeks * k) = overhead + base + root * 8/15 * sqrt(span) + T / 2 + S / R0
///   span                    = file / capacity * (R0 + R1) / (2 * R0), the file's share of the stroke
/// ```
///
/// Weak, because `cached` is assumed, the file system's own reads count as seeks, and the kernel
/// sorted what three processes asked for.
///
/// # Errors
/// When the facts lack what is needed, or leave nothing for the seek.
pub fn fit_bonnie(row: &BonnieRow, facts: &KnownFacts) -> Result<Parameters, ModelError> {
    let bonnie = facts.bonnie.as_ref().ok_or_else(missing_bonnie)?;
    let mut disk = facts.disk.clone();
    let outer = rounded(row.input, -3);
    disk.rate_at_start = Some(measured(
        outer,
        "bytes/s",
        "block input of a file at the start of the disk; the file system's share is in it"
            .to_owned(),
    ));
    let inner = needed(disk.rate_at_end.as_ref(), "rate_at_end")?.value;
    let capacity = needed(disk.capacity.as_ref(), "capacity")?.value as f64;
    let stroke = bonnie.file_size.value as f64 / capacity * (outer + inner) / (2.0 * outer);
    let (write_share, operations) = bonnie_operations(bonnie);
    let operation_ms = 1e3 / (row.seeks * operations);
    let reads = 1.0 - write_share / operations;
    let overhead_ms = (reads * needed(disk.read_overhead.as_ref(), "read_overhead")?.value
        + (1.0 - reads) * needed(disk.write_overhead.as_ref(), "write_overhead")?.value)
        / 1e3;
    let rest_ms = overhead_ms
        + needed(disk.seek_base.as_ref(), "seek_base")?.value
        + needed(disk.revolution.as_ref(), "revolution")?.value / 2.0
        + bonnie.seek_bytes.value as f64 * 1e3 / outer;
    let root = (operation_ms - rest_ms) / (8.0 / 15.0 * stroke.sqrt());
    if root <= 0.0 {
        return Err(ModelError::new(statement!(
            messages::NO_SEEK_LEFT_BY_BONNIE,
            seeks = row.seeks,
            root = format!("{root:.3}")
        )));
    }
    disk.seek_root = Some(measured(
        rounded(root, 3),
        "ms",
        "from bonnie++'s seeks within the first gigabyte, by the closed form of docs/models.md: \
        weak"
            .to_owned(),
    ));
    let mut link = facts.link.clone();
    if let Some(channel) = &facts.channel {
        let change = channel.change_of_drive(facts.published.kilobyte.value, &disk, &link)?;
        link.switch_penalty = measured(
            rounded(change.read, 3),
            "ms",
            "two of these drives striped on one channel, which read in turns of one command: what \
            a change of drive costs beside the media time of its data, for its read-ahead is lost; \
            a figure of an array"
                .to_owned(),
        );
        link.write_switch_penalty = Some(measured(
            rounded(change.write, 3),
            "ms",
            "the same two drives, written: what is left of a turn when its data are in the cache; \
            a figure of an array"
                .to_owned(),
        ));
    }
    let parameters = Parameters {
        name: facts.name.clone(),
        title: facts.title.clone(),
        sheet: None,
        flash: None,
        disk: disk.complete()?,
        link,
    };
    parameters.check()?;
    Ok(parameters)
}
