//! What a modelled disk is made of: every parameter with its unit, where its value comes from, and
//! a note.
//!
//! ```text
//!   models/NAME.toml                      [disk]  capacity, revolution, rates, seeks, overheads, cache, ...
//!   fitted by `raidloom model fit`        [link]  what it hangs on, and shares with disks on a link of the same name
//! ```
//!
//! The parameters are listed once, in `parameter_table!`; reading, writing, checking of units and
//! `model show` follow from that list. A key that is not in it is refused.

use std::path::Path;

use reactor::derive_seed;
use reactor::plain_file::{self, Links};
use serde::Deserialize;
use words::{Text, statement};

use super::catalogue::built_in;
use super::data_sheet::{self, SheetModel};
use super::flash::FlashParameters;
use super::messages;
use super::quantity::{Value, check_quantity, draw, on_one_line, refuse, row};
use super::random::Random;

pub use super::quantity::{ModelError, Origin, ParameterRow, Quantity};

/// When cached writes go to the media. One operation cannot be interrupted, and reads go before
/// further ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum DestageRule {
    /// As soon as the mechanism is free.
    #[serde(rename = "at once")]
    AtOnce,
    /// In the background: when the host has asked for nothing for a while, oldest first, and given
    /// up for a read until data moves. When room is needed, or the host waits for a flush, the
    /// nearest of the window. An extent of a quarter of the cache goes at once.
    #[serde(rename = "when idle")]
    WhenIdle,
    /// When the cache is filled to a mark, when the host has asked for nothing for a while, or room
    /// is needed.
    #[serde(rename = "at a watermark")]
    AtWatermark,
}

/// How long a disk keeps a shared link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hold {
    /// Only while data moves.
    Burst,
    /// From the start of a command to its end.
    Command,
}

impl Value for DestageRule {
    fn between(low: &DestageRule, _: &DestageRule, _: f64) -> DestageRule {
        *low
    }
    fn text(&self) -> String {
        let rule = match self {
            DestageRule::AtOnce => "at once",
            DestageRule::WhenIdle => "when idle",
            DestageRule::AtWatermark => "at a watermark",
        };
        format!("\"{rule}\"")
    }
}

impl Value for Hold {
    fn between(low: &Hold, _: &Hold, _: f64) -> Hold {
        *low
    }
    fn text(&self) -> String {
        let hold = match self {
            Hold::Burst => "burst",
            Hold::Command => "command",
        };
        format!("\"{hold}\"")
    }
}

macro_rules! parameter_table {
    (
        required { $($(#[$required_doc:meta])* $required:ident: $required_type:ty,
            $required_unit:literal;)* }
        optional { $($(#[$optional_doc:meta])* $optional:ident: $optional_type:ty,
            $optional_unit:literal;)* }
    ) => {
        /// A hard disk.
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct DiskParameters {
            $($(#[$required_doc])* pub $required: Quantity<$required_type>,)*
            $($(#[$optional_doc])* pub $optional: Option<Quantity<$optional_type>>,)*
        }

        /// What is known of a hard disk before its measurements are read.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct DiskFacts {
            $($(#[$required_doc])* pub $required: Option<Quantity<$required_type>>,)*
            $($(#[$optional_doc])* pub $optional: Option<Quantity<$optional_type>>,)*
        }

        impl DiskParameters {
            fn check(&self) -> Result<(), ModelError> {
                $(check_quantity(concat!("disk.", stringify!($required)), &self.$required,
                    $required_unit)?;)*
                $(if let Some(quantity) = &self.$optional {
                    check_quantity(concat!("disk.", stringify!($optional)), quantity,
                        $optional_unit)?;
                })*
                Ok(())
            }

            fn draw(&mut self, share: &mut dyn FnMut() -> f64) {
                $(draw(&mut self.$required, share);)*
                $(if let Some(quantity) = &mut self.$optional {
                    draw(quantity, share);
                })*
            }

            fn rows(&self) -> Vec<ParameterRow> {
                let mut rows = vec![$(row(concat!("disk.", stringify!($required)),
                    &self.$required)),*];
                $(if let Some(quantity) = &self.$optional {
                    rows.push(row(concat!("disk.", stringify!($optional)), quantity));
                })*
                rows
            }
        }

        impl DiskFacts {
            /// A whole disk.
            ///
            /// # Errors
            /// When a parameter is still missing: its name.
            pub fn complete(self) -> Result<DiskParameters, ModelError> {
                Ok(DiskParameters {
                    $($required: self.$required.ok_or_else(|| ModelError::new(statement!(
                        messages::NOT_AMONG_FACTS, name = stringify!($required)
                    )))?,)*
                    $($optional: self.$optional,)*
                })
            }
        }
    };
}

parameter_table! {
    required {
        /// Size.
        capacity: u64, "bytes";
        /// Spindle period; 0 for flash, which does not turn.
        revolution: f64, "ms";
        /// Spindles run free: each disk's period differs by up to this share, drawn from its seed.
        spindle_tolerance: f64, "share";
        /// Media rate at the first byte.
        rate_at_start: f64, "bytes/s";
        /// Media rate at the last byte.
        rate_at_end: f64, "bytes/s";
        /// Seek time is `seek_base + seek_root * sqrt(distance)`, distance as a share of the
        /// stroke. For flash the time until the first byte of an access that does not follow the
        /// one before.
        seek_base: f64, "ms";
        /// The other half of the seek time: what a full stroke adds to `seek_base`.
        seek_root: f64, "ms";
        /// Paid once by every read command.
        read_overhead: f64, "us";
        /// Paid once by every write command.
        write_overhead: f64, "us";
        /// The drive's own interface, from drive to host.
        link_rate_read: f64, "bytes/s";
        /// The drive's own interface, from host to drive.
        link_rate_write: f64, "bytes/s";
        /// Buffer: unwritten data and read-ahead together.
        cache_size: u64, "bytes";
        /// How many of the oldest cached extents the drive chooses among when it writes one out.
        write_window: u64, "extents";
        /// Added to the positioning of a write.
        settle: f64, "ms";
        /// When cached writes go to the media.
        destage_rule: DestageRule, "rule";
        /// After a read the drive reads on for this much.
        read_ahead_length: u64, "bytes";
        /// How long read-ahead keeps the mechanism, once it has run for `read_ahead_start`.
        read_ahead_hold: f64, "ms";
        /// Commands the drive takes at a time; above 1 it serves the one next in reach first.
        queue_depth: u64, "requests";
    }
    optional {
        /// 3 to 8 measured rates instead of the two: `[share of the capacity, bytes/s]`.
        rate_knots: Vec<[f64; 2]>, "bytes/s";
        /// From this distance on the arm moves at its top speed, and the seek time grows in a
        /// straight line.
        seek_linear_from: f64, "share";
        /// For the rule "at a watermark": the share of the cache.
        destage_watermark: f64, "share";
        /// For the rules "when idle" and "at a watermark": how long the host must have asked for
        /// nothing.
        destage_idle_after: f64, "ms";
        /// How long read-ahead must have run before it keeps the mechanism: what comes sooner takes
        /// the mechanism from it. 0 without it.
        read_ahead_start: f64, "ms";
        /// How many extents the write cache holds at most, whatever their size.
        cache_entries: u64, "extents";
        /// The unit that the media is read and written in, if it is more than a sector. A write
        /// that fills it in part reads it, changes it, and writes it a revolution later.
        physical_block: u64, "bytes";
        /// The unit that the media is read in, if less than `physical_block`: a page of flash.
        page: u64, "bytes";
        /// Most data of one command; the host splits what is longer.
        command_limit: u64, "bytes";
        /// Everything written is read back in a later turn, after at most so much.
        verify_after: u64, "bytes";
    }
}

/// What disks hang on; disks that name the same link share it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkParameters {
    /// The link a disk is on unless the stack text names another.
    pub name: String,
    /// How long a disk keeps it.
    pub hold: Hold,
    /// What all disks on it can move together, in bytes a second.
    pub bandwidth: Quantity<f64>,
    /// What every transfer costs the link beside its data, in microseconds.
    pub command_time: Quantity<f64>,
    /// What it costs when the next transfer is for another disk, in milliseconds. On a link that is
    /// held by the command: when the next command is for another disk and reads on where that
    /// disk's last read ended, beside that it reads its data from the media in its own turn.
    pub switch_penalty: Quantity<f64>,
    /// What it costs on a link that is held by the command when the next command is for another
    /// disk and writes, in milliseconds; without it as much as `switch_penalty`.
    pub write_switch_penalty: Option<Quantity<f64>>,
}

/// A modelled disk and the link it hangs on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// What the model is called in stack text.
    pub name: String,
    /// Maker and product.
    pub title: String,
    /// What is known of it where it was made from a data sheet.
    #[serde(skip)]
    pub sheet: Option<SheetModel>,
    /// The disk; of an SSD what it has of one.
    pub disk: DiskParameters,
    /// The flash of an SSD.
    #[serde(skip)]
    pub flash: Option<FlashParameters>,
    /// What it hangs on.
    pub link: LinkParameters,
}

impl LinkParameters {
    /// Name, unit and quantity of all that is given, in the order of the file.
    fn quantities(&self) -> impl Iterator<Item = (&'static str, &'static str, &Quantity<f64>)> {
        let writes = self.write_switch_penalty.as_ref();
        [
            ("bandwidth", "bytes/s", &self.bandwidth),
            ("command_time", "us", &self.command_time),
            ("switch_penalty", "ms", &self.switch_penalty),
        ]
        .into_iter()
        .chain(writes.map(|quantity| ("write_switch_penalty", "ms", quantity)))
    }

    /// Whether it is the same kind of link, whatever it is called and wherever its values come
    /// from.
    pub(super) fn is_same_as(&self, other: &LinkParameters) -> bool {
        let values = |link: &LinkParameters| -> Vec<(&str, f64)> {
            link.quantities().map(|(name, _, quantity)| (name, quantity.value)).collect()
        };
        self.hold == other.hold && values(self) == values(other)
    }

    pub(super) fn check(&self) -> Result<(), ModelError> {
        for (name, unit, quantity) in self.quantities() {
            check_quantity(&format!("link.{name}"), quantity, unit)?;
        }
        if self.name.is_empty() {
            return Err(ModelError::new(messages::LINK_NO_NAME));
        }
        Ok(())
    }
}

/// What an SSD has of a disk's parameters: the others are about what turns.
const DISK_OF_SSD: [&str; 8] = [
    "disk.capacity",
    "disk.read_overhead",
    "disk.write_overhead",
    "disk.link_rate_read",
    "disk.link_rate_write",
    "disk.cache_size",
    "disk.queue_depth",
    "disk.command_limit",
];

/// The folder, under the current one, whose models are found by name before the built-in ones.
pub const MODELS_FOLDER: &str = "models";
/// Intervals that bound one another are drawn anew where they do not fit, so often at most.
const DRAWS_MAX: u32 = 100;
/// The shortest turn, in milliseconds: 600,000 revolutions a minute.
const TURN_MIN_MS: f64 = 0.1;
/// The shortest part of the stroke in which a curve changes its law.
const SHARE_MIN: f64 = 1e-3;
/// The most that is read of a model's file, which a plan of a stranger's may name, in bytes.
const MODEL_MAX_BYTES: u64 = 4 << 20;

impl Parameters {
    /// Whether the media turns; flash does not.
    #[must_use]
    pub fn rotates(&self) -> bool {
        self.disk.revolution.value > 0.0
    }

    /// Names of the models that are part of the binary.
    #[must_use]
    pub fn built_in_names() -> Vec<&'static str> {
        built_in().map(|(name, _)| *name).collect()
    }

    /// A model by name (`models/NAME.toml` under the current folder, else built in) or by the path
    /// of its file (it ends in `.toml` or holds a `/`).
    ///
    /// # Errors
    /// When there is no such model, or its file cannot be used: what and where.
    pub fn load(name_or_path: &str) -> Result<Self, ModelError> {
        if name_or_path.contains('/')
            || Path::new(name_or_path).extension().is_some_and(|extension| extension == "toml")
        {
            return Self::read(Path::new(name_or_path));
        }
        let local = Path::new(MODELS_FOLDER).join(format!("{name_or_path}.toml"));
        if local.is_file() {
            return Self::read(&local);
        }
        match built_in().find(|(name, _)| *name == name_or_path) {
            Some((name, text)) => {
                let place = || statement!(messages::BUILT_IN_MODEL, name = *name);
                Self::parse(text).map_err(|error| error.at(place()))
            }
            None => Err(unknown(name_or_path)),
        }
    }

    fn read(path: &Path) -> Result<Self, ModelError> {
        let text = plain_file::open(path, Links::Followed)
            .and_then(|file| plain_file::read_bounded(file, MODEL_MAX_BYTES))
            .and_then(plain_file::text);
        let place = || statement!(messages::MODEL_FILE, path = path.display());
        let text = text.map_err(|error| ModelError::new(block::io_text(&error)).at(place()))?;
        Self::parse(&text).map_err(|error| error.at(place()))
    }

    /// A model from the text of its file.
    ///
    /// # Errors
    /// When a key is unknown or missing, or a value makes no sense: which.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        if data_sheet::is_one(text) {
            return data_sheet::parse(text);
        }
        let parameters: Parameters =
            toml::from_str(text).map_err(|error| on_one_line(text, &error))?;
        parameters.check()?;
        Ok(parameters)
    }

    /// Whether the values make a disk.
    ///
    /// # Errors
    /// The first parameter that does not: what is wrong with it.
    pub fn check(&self) -> Result<(), ModelError> {
        self.disk.check()?;
        self.link.check()?;
        self.flash.as_ref().map_or(Ok(()), FlashParameters::check)?;
        let disk = &self.disk;
        check_sizes_and_rates(disk)?;
        check_rate_knots(disk)?;
        check_blocks(disk)?;
        check_destage(disk)?;
        if let Some(from) = &disk.seek_linear_from {
            refuse(!(SHARE_MIN..=1.0).contains(&from.value), messages::SEEK_LINEAR_SHARE)?;
        }
        Ok(())
    }

    /// Whether anything is known only as between two values.
    #[must_use]
    pub fn has_intervals(&self) -> bool {
        self.rows().iter().any(|row| !row.interval.is_empty())
    }

    /// The same drive with parameters drawn from their intervals, each evenly and by itself; the
    /// same number draws the same set. The link, which others may share, stays as it is.
    ///
    /// # Errors
    /// Intervals of which no draw makes a disk: what is wrong with the last one.
    pub fn drawn(&self, set: u64) -> Result<Parameters, ModelError> {
        let mut random = Random::new(derive_seed(set, "drawn parameters", 0));
        let mut share = || random.fraction();
        let mut wrong = Ok(());
        for _ in 0..DRAWS_MAX {
            let mut drawn = self.clone();
            drawn.disk.draw(&mut share);
            if let Some(flash) = &mut drawn.flash {
                flash.quantities_mut().into_iter().for_each(|quantity| draw(quantity, &mut share));
            }
            wrong = drawn.check();
            if wrong.is_ok() {
                return Ok(drawn);
            }
        }
        wrong.map(|()| self.clone())
    }

    /// Every parameter, in the order of the file.
    #[must_use]
    pub fn rows(&self) -> Vec<ParameterRow> {
        let mut rows = self.disk.rows();
        if let Some(flash) = &self.flash {
            rows.retain(|row| DISK_OF_SSD.contains(&&*row.name));
            rows.extend(flash.rows());
        }
        for (name, _, quantity) in self.link.quantities() {
            rows.push(row(&format!("link.{name}"), quantity));
        }
        rows
    }

    /// The text of the model's file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.to_toml_under(&format!(
            "# Written by `raidloom model fit {name}`; a test fits it again and compares every \
            byte. Do not edit:\n\
             # change models/data/{name}.facts.toml or the measurements beside it.\n",
            name = self.name,
        ))
    }

    /// The text of the model's file, under a heading of comments.
    #[must_use]
    pub fn to_toml_under(&self, heading: &str) -> String {
        let mut text = format!(
            "{heading}name = {}\ntitle = {}\n\n[disk]\n",
            quoted(&self.name),
            quoted(&self.title),
        );
        let mut table = "disk";
        let rows = self.rows();
        for row in &rows {
            let (of, key) = row.name.split_once('.').expect("a row names its table");
            if of != table {
                table = of;
                text += &format!(
                    "\n[link]\nname = {}\nhold = {}\n",
                    quoted(&self.link.name),
                    self.link.hold.text()
                );
            }
            let interval = match &*row.interval {
                "" => String::new(),
                interval => format!("interval = {interval}, "),
            };
            text += &format!(
                "{key} = {{ value = {}, unit = {}, origin = \"{}\", {interval}note = {} }}\n",
                row.value,
                quoted(&row.unit),
                row.origin,
                quoted(&row.note)
            );
        }
        text
    }
}

/// What is said of a name that no model has: the one that begins most like it.
fn unknown(name: &str) -> ModelError {
    let alike = |known: &str| known.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let nearest = built_in().map(|(known, _)| *known).max_by_key(|known| alike(known));
    let nearest = nearest
        .filter(|known| alike(known) > 2)
        .map_or_else(Text::default, |known| statement!(messages::MODEL_MEANT, name = known));
    ModelError::new(statement!(messages::UNKNOWN_MODEL, name = name, hint = nearest))
}

fn check_sizes_and_rates(disk: &DiskParameters) -> Result<(), ModelError> {
    refuse(
        disk.capacity.value < 1 << 20 || !disk.capacity.value.is_multiple_of(512),
        statement!(messages::NO_MULTIPLE_OF_512, name = "disk.capacity", least = "1 MiB"),
    )?;
    refuse(
        disk.revolution.value != 0.0 && disk.revolution.value < TURN_MIN_MS,
        statement!(
            messages::TURN_TOO_SHORT,
            value = disk.revolution.value.text(),
            least = TURN_MIN_MS
        ),
    )?;
    refuse(
        disk.revolution.value == 0.0 && (disk.seek_root.value, disk.settle.value) != (0.0, 0.0),
        messages::DISK_STANDS_STILL,
    )?;
    refuse(disk.spindle_tolerance.value > 0.05, messages::SPINDLE_SHARE)?;
    refuse(
        disk.cache_size.value < 64 << 10 || !disk.cache_size.value.is_multiple_of(512),
        statement!(messages::NO_MULTIPLE_OF_512, name = "disk.cache_size", least = "64 KiB"),
    )?;
    refuse(disk.read_ahead_length.value > disk.cache_size.value, messages::READ_AHEAD_IN_CACHE)?;
    refuse(!disk.read_ahead_length.value.is_multiple_of(512), messages::READ_AHEAD_MULTIPLE)?;
    refuse(!(1..=4096).contains(&disk.write_window.value), messages::WRITE_WINDOW)?;
    refuse(!(1..=256).contains(&disk.queue_depth.value), messages::QUEUE_DEPTH)
}

fn check_rate_knots(disk: &DiskParameters) -> Result<(), ModelError> {
    if let Some(knots) = &disk.rate_knots {
        let knots = &knots.value;
        refuse(!(3..=8).contains(&knots.len()), messages::KNOTS_COUNT)?;
        let ends = (knots[0][0], knots[knots.len() - 1][0]);
        refuse(ends != (0.0, 1.0), messages::KNOTS_ENDS)?;
        let is_apart = |pair: &[[f64; 2]]| pair[1][0] - pair[0][0] >= SHARE_MIN;
        refuse(!knots.windows(2).all(is_apart), messages::KNOTS_ORDER)?;
    }
    Ok(())
}

/// The parameters of flash and of disks with large blocks.
fn check_blocks(disk: &DiskParameters) -> Result<(), ModelError> {
    if let Some(block) = &disk.physical_block {
        refuse(
            !block.value.is_power_of_two()
                || !(512..=1 << 20).contains(&block.value)
                || !disk.capacity.value.is_multiple_of(block.value)
                || disk.cache_size.value < 2 * block.value,
            messages::PHYSICAL_BLOCK,
        )?;
    }
    if let Some(page) = &disk.page {
        let block = disk.physical_block.as_ref().map_or(0, |block| block.value);
        refuse(
            !page.value.is_power_of_two() || !(512..=block).contains(&page.value),
            messages::PAGE,
        )?;
    }
    if let Some(entries) = &disk.cache_entries {
        refuse(entries.value < disk.write_window.value, messages::CACHE_ENTRIES)?;
    }
    if let Some(limit) = &disk.command_limit {
        refuse(
            limit.value < 4096 || !limit.value.is_multiple_of(512),
            statement!(messages::NO_MULTIPLE_OF_512, name = "disk.command_limit", least = "4096"),
        )?;
    }
    if let Some(after) = &disk.verify_after {
        let block = disk.physical_block.as_ref().map_or(512, |block| block.value);
        refuse(
            after.value == 0
                || !after.value.is_multiple_of(block)
                || after.value > disk.cache_size.value,
            messages::VERIFY_AFTER,
        )?;
    }
    Ok(())
}

fn check_destage(disk: &DiskParameters) -> Result<(), ModelError> {
    if disk.destage_rule.value != DestageRule::AtOnce {
        refuse(disk.destage_idle_after.is_none(), messages::NO_IDLE_AFTER)?;
    }
    if disk.destage_rule.value == DestageRule::AtWatermark {
        let fits = disk
            .destage_watermark
            .as_ref()
            .is_some_and(|mark| mark.value > 0.0 && mark.value <= 1.0);
        refuse(!fits, messages::NO_WATERMARK)?;
    }
    Ok(())
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{parameters, with_knots};
    use super::*;

    #[test]
    fn a_model_survives_its_file() {
        for parameters in [parameters(), with_knots()] {
            assert_eq!(Parameters::parse(&parameters.to_toml()).expect("its own text"), parameters);
        }
    }

    #[test]
    fn every_built_in_model_loads_and_is_written_back_unchanged() {
        for (name, text) in built_in() {
            if data_sheet::is_one(text) {
                continue;
            }
            let parameters = Parameters::load(name).expect("a built-in model");
            assert_eq!(parameters.name, *name);
            // Those that were not fitted are written by hand, with a heading of their own.
            let rows = |text: &str| -> Vec<String> {
                text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
            };
            assert_eq!(rows(&parameters.to_toml()), rows(text));
        }
    }

    /// Sets lie between what was said, differ, and are the same again; what has no interval stays.
    #[test]
    fn parameters_are_drawn_from_their_intervals() {
        for name in ["maxtor-6y200p0", "wd-red-plus-8tb", "samsung-870-evo-1tb"] {
            let model = Parameters::load(name).expect("a built-in model");
            assert!(model.has_intervals(), "{name}");
            let mut seen = Vec::new();
            for set in 1..=20 {
                let drawn = model.drawn(set).expect("a set that makes a disk");
                assert_eq!(drawn, model.drawn(set).expect("the same"), "{name}, set {set}");
                for (row, own) in drawn.rows().iter().zip(model.rows()) {
                    if own.interval.is_empty() {
                        assert_eq!(row.value, own.value, "{name}, set {set}: {}", own.name);
                        continue;
                    }
                    let ends: Vec<f64> = own
                        .interval
                        .trim_matches(['[', ']'])
                        .split(", ")
                        .map(|end| end.parse().expect("a number"))
                        .collect();
                    let value: f64 = row.value.parse().expect("a number");
                    let near = 512.0_f64.min(ends[1]);
                    let is_in = (ends[0] - near..=ends[1] + near).contains(&value);
                    assert!(is_in, "{name}, set {set}: {} of {value}", own.name);
                }
                assert!(!seen.contains(&drawn), "{name}, set {set}");
                seen.push(drawn);
            }
        }
        let mut planted = parameters();
        planted.disk.write_window.interval = Some([0, 0]);
        let error = planted.drawn(1).expect_err("no window").to_string();
        assert!(error.contains("disk.write_window"), "{error}");
    }

    #[test]
    fn bad_files_are_refused_with_the_name_of_the_parameter() {
        let good = parameters().to_toml();
        let cases = [
            (good.replace("seek_root =", "seek_rot ="), "seek_rot"),
            (good.replace("unit = \"us\"", "unit = \"ms\""), "disk.read_overhead"),
            (
                good.replace("queue_depth = { value = 1,", "queue_depth = { value = 0,"),
                "disk.queue_depth",
            ),
            (
                good.replace("revolution = { value = 8.0", "revolution = { value = 1e-308"),
                "disk.revolution is 1e-308 ms: it must be 0, for what does not turn, or at least",
            ),
            (
                good.replace("command_time = { value = 5.0", "command_time = { value = 1e18"),
                "link.command_time is 1e18 us: it must be 0 to 3600000000",
            ),
            (good.replace("\"at once\"", "\"at will\""), "at will"),
            (good.replace("\"at once\"", "\"when idle\""), "disk.destage_idle_after"),
            (good.replace("[link]", "[bus]"), "bus"),
            (good.replacen("value = ", "value = .", 1), "line "),
            (good[..good.len() / 2].to_owned(), "line "),
        ];
        for (text, expected) in cases {
            assert_ne!(text, good);
            let error = Parameters::parse(&text).expect_err("a bad file").to_string();
            assert!(error.contains(expected), "{error:?} does not name {expected}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let error = Parameters::load("maxtor-6y200p1").expect_err("no such model").to_string();
        assert!(error.contains("maxtor-6y200p0"), "{error}");
        let error = Parameters::load("./none.toml").expect_err("no such file").to_string();
        assert!(error.contains("./none.toml"), "{error}");
    }
}
