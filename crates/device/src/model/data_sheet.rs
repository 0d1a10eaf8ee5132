//! A model from a maker's data sheet: what the sheet states, and the rest by laws that such drives
//! follow, each with its spread.
//!
//! ```text
//!   models/catalogue/NAME.toml     from = "data sheet"
//!      [hard_disk]  capacity, spindle, outer_rate, ...  --laws--> every parameter, with origin,
//!                                                                 interval and the law as its note
//! ```
//!
//! The laws read no figure that such a model is held against (`models/data/drives.csv`).

use serde::Deserialize;

use words::{Message, statement};

use super::flash_sheet::{self, FlashSheet};
use super::messages;
use super::parameters::{DestageRule, DiskFacts, DiskParameters, Hold, LinkParameters, Parameters};
use super::quantity::{
    ModelError, Origin, Quantity, Value, check_stated, on_one_line, other_unit, refuse,
};

/// What a drive is where drives are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Hard disks.
    Spinning,
    /// Flash over SATA.
    SataSsd,
    /// Flash over PCIe.
    Nvme,
    /// Flash over USB.
    Removable,
}

impl Group {
    /// Every group, in the order in which they are listed.
    pub const ALL: [Group; 4] = [Group::Spinning, Group::SataSsd, Group::Nvme, Group::Removable];

    /// Its heading, and its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Group::Spinning => "spinning",
            Group::SataSsd => "SATA SSD",
            Group::Nvme => "NVMe",
            Group::Removable => "removable",
        }
    }
}

/// Of what kind a drive is whose model was made from a data sheet: errors are known by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Kind {
    /// It spins.
    #[serde(rename = "hard disk")]
    HardDisk,
    /// It is of flash.
    #[serde(rename = "SSD")]
    Ssd,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Kind::HardDisk => "hard disk",
            Kind::Ssd => "SSD",
        })
    }
}

/// What is to be known of a model that was made from a data sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SheetModel {
    /// Where it is listed.
    pub group: Group,
    /// What its errors are known by.
    pub kind: Kind,
    /// What the drive does and the model does not, if anything.
    pub not_modelled: Option<Message>,
}

/// What a file says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum ModelOrigin {
    #[serde(rename = "data sheet")]
    DataSheet,
}

/// What hangs a drive on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum Interface {
    #[serde(rename = "SATA 1.5 Gb/s")]
    Sata1,
    #[serde(rename = "SATA 3 Gb/s")]
    Sata2,
    #[serde(rename = "SATA 6 Gb/s")]
    Sata3,
    #[serde(rename = "SAS 12 Gb/s")]
    Sas3,
    #[serde(rename = "USB 5 Gb/s")]
    Usb3,
    #[serde(rename = "PCIe 3 x4")]
    Pcie3,
    #[serde(rename = "PCIe 4 x4")]
    Pcie4,
    #[serde(rename = "PCIe 5 x4")]
    Pcie5,
}

impl Interface {
    /// Those of SSDs, the slowest first.
    pub(super) const FLASH: [Interface; 4] =
        [Interface::Sata3, Interface::Pcie3, Interface::Pcie4, Interface::Pcie5];

    pub(super) fn name(self) -> &'static str {
        match self {
            Interface::Sata1 => "SATA 1.5 Gb/s",
            Interface::Sata2 => "SATA 3 Gb/s",
            Interface::Sata3 => "SATA 6 Gb/s",
            Interface::Sas3 => "SAS 12 Gb/s",
            Interface::Usb3 => "USB 5 Gb/s",
            Interface::Pcie3 => "PCIe 3 x4",
            Interface::Pcie4 => "PCIe 4 x4",
            Interface::Pcie5 => "PCIe 5 x4",
        }
    }

    /// What data it moves, in MB/s: the wire's rate less 8b10b or 128b/130b coding and frames.
    pub(super) fn rate(self) -> f64 {
        match self {
            Interface::Sata1 => 138.0,
            Interface::Sata2 => 275.0,
            Interface::Sata3 => 570.0,
            Interface::Sas3 => 1120.0,
            Interface::Usb3 => 450.0,
            Interface::Pcie3 => 3900.0,
            Interface::Pcie4 => 7800.0,
            Interface::Pcie5 => 15_500.0,
        }
    }

    pub(super) fn queue_depth(self) -> u64 {
        match self {
            Interface::Sata1 | Interface::Sata2 | Interface::Sata3 => 32,
            Interface::Sas3 => 128,
            Interface::Pcie3 | Interface::Pcie4 | Interface::Pcie5 => 256,
            // Without UASP a bridge takes one command at a time.
            Interface::Usb3 => 1,
        }
    }

    /// Requests a second that such SSDs state, reads and writes.
    pub(super) fn usual_requests(self) -> [f64; 2] {
        match self {
            Interface::Sata1 | Interface::Sata2 | Interface::Sata3 => [98e3, 88e3],
            Interface::Sas3 => [200e3, 100e3],
            Interface::Usb3 => [8e3, 2e3],
            Interface::Pcie3 => [500e3, 450e3],
            Interface::Pcie4 => [1000e3, 1000e3],
            Interface::Pcie5 => [1500e3, 1500e3],
        }
    }

    /// What one request alone takes beside cells, bus and controller, in us: a read and a write.
    pub(super) fn usual_overheads(self) -> [f64; 2] {
        match self {
            Interface::Sata1 | Interface::Sata2 | Interface::Sata3 => [30.0, 30.0],
            Interface::Sas3 => [25.0, 25.0],
            Interface::Usb3 => [100.0, 100.0],
            Interface::Pcie3 | Interface::Pcie4 | Interface::Pcie5 => [15.0, 12.0],
        }
    }

    /// Where an SSD with it is listed.
    fn group_of_flash(self) -> Group {
        match self {
            Interface::Pcie3 | Interface::Pcie4 | Interface::Pcie5 => Group::Nvme,
            Interface::Usb3 => Group::Removable,
            _ => Group::SataSsd,
        }
    }

    /// What the host's controller is called, what it moves for all its ports in MB/s, and why.
    fn host(self) -> (&'static str, f64, &'static str) {
        match self {
            Interface::Sata1 | Interface::Sata2 | Interface::Sata3 => {
                ("sata-ports", 3500.0, "a chipset's ports together, behind PCIe 3 x4")
            }
            Interface::Sas3 => ("sas-ports", 7000.0, "an adapter behind PCIe 3 x8"),
            Interface::Usb3 => ("usb-ports", 3500.0, "a host's ports together"),
            Interface::Pcie3 | Interface::Pcie4 | Interface::Pcie5 => {
                ("pcie", 60_000.0, "a processor's PCIe ports together: as much as PCIe 5 x16")
            }
        }
    }

    fn link(self) -> LinkParameters {
        let (name, rate, note) = self.host();
        LinkParameters {
            name: name.to_owned(),
            hold: Hold::Burst,
            bandwidth: law(rate * 1e6, "bytes/s", None, note),
            command_time: law(0.0, "us", None, "in the overhead of a command"),
            switch_penalty: law(0.0, "ms", None, "a port for each drive"),
            write_switch_penalty: None,
        }
    }
}

/// The size of a hard disk's case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum Form {
    #[default]
    #[serde(rename = "3.5 inch")]
    Large,
    #[serde(rename = "2.5 inch")]
    Small,
}

/// How tracks lie beside each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum Recording {
    #[default]
    #[serde(rename = "CMR")]
    Conventional,
    #[serde(rename = "SMR")]
    Shingled,
}

/// What a data sheet states of a hard disk.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DiskSheet {
    #[serde(default)]
    form: Form,
    #[serde(default)]
    recording: Recording,
    interface: Interface,
    capacity: Option<Quantity<f64>>,
    spindle: Option<Quantity<f64>>,
    outer_rate: Option<Quantity<f64>>,
    inner_rate: Option<Quantity<f64>>,
    cache: Option<Quantity<f64>>,
    mean_seek: Option<Quantity<f64>>,
    mean_write_seek: Option<Quantity<f64>>,
    track_seek: Option<Quantity<f64>>,
}

/// A file that says it is one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    name: String,
    title: String,
    #[serde(rename = "from")]
    _from: ModelOrigin,
    hard_disk: Option<DiskSheet>,
    flash: Option<FlashSheet>,
}

/// A value that follows from a law.
pub(super) fn law<T>(value: T, unit: &str, interval: Option<[T; 2]>, note: &str) -> Quantity<T> {
    Quantity {
        value,
        unit: unit.to_owned(),
        origin: Origin::Assumed,
        interval,
        note: note.to_owned(),
    }
}

/// A stated value in another unit.
pub(super) fn stated<T>(from: &Quantity<f64>, value: T, unit: &str) -> Quantity<T> {
    Quantity {
        value,
        unit: unit.to_owned(),
        origin: from.origin,
        interval: None,
        note: format!("{} {}: {}", from.value, from.unit, from.note),
    }
}

/// What a sheet must state.
pub(super) fn needed<'a>(
    name: &str,
    quantity: Option<&'a Quantity<f64>>,
    unit: &str,
) -> Result<&'a Quantity<f64>, ModelError> {
    let Some(quantity) = quantity else {
        let text = statement!(messages::SHEET_LACKS, name = name, unit = unit);
        return Err(ModelError::new(text));
    };
    checked(name, quantity, unit)
}

/// What a sheet must state, and between what it lies.
pub(super) fn within<'a>(
    name: &str,
    quantity: Option<&'a Quantity<f64>>,
    unit: &str,
    [from, to]: [f64; 2],
) -> Result<&'a Quantity<f64>, ModelError> {
    let quantity = needed(name, quantity, unit)?;
    let text = statement!(
        messages::VALUE_NOT_WITHIN,
        name = name,
        value = quantity.value,
        unit = unit,
        from = from,
        to = to
    );
    refuse(!(from..=to).contains(&quantity.value), text)?;
    Ok(quantity)
}

pub(super) fn checked<'a>(
    name: &str,
    quantity: &'a Quantity<f64>,
    unit: &str,
) -> Result<&'a Quantity<f64>, ModelError> {
    if quantity.unit != unit {
        return Err(other_unit(name, &quantity.unit, unit));
    }
    if !quantity.value.is_finite() || quantity.value <= 0.0 {
        let text = statement!(messages::NOT_ABOVE_ZERO, name = name, value = quantity.value.text());
        return Err(ModelError::new(text));
    }
    check_stated(name, quantity.value, unit)?;
    Ok(quantity)
}

pub(super) fn optional<'a>(
    name: &str,
    quantity: Option<&'a Quantity<f64>>,
    unit: &str,
) -> Result<Option<&'a Quantity<f64>>, ModelError> {
    quantity.map(|quantity| checked(name, quantity, unit)).transpose()
}

/// What of a file tells what it is.
#[derive(Deserialize)]
struct Heading {
    from: Option<toml::Value>,
}

/// Whether a model's file is a data sheet's.
pub(super) fn is_one(text: &str) -> bool {
    toml::from_str::<Heading>(text).is_ok_and(|heading| heading.from.is_some())
}

/// A model from the text of a data sheet's file.
///
/// # Errors
/// When a key is unknown, a figure is missing or impossible: one line that says which.
pub(super) fn parse(text: &str) -> Result<Parameters, ModelError> {
    let sheet: Sheet = toml::from_str(text).map_err(|error| on_one_line(text, &error))?;
    let Sheet { name, title, hard_disk: spinning, flash, .. } = sheet;
    let parameters = match (spinning, flash) {
        (Some(sheet), None) => of_hard_disk(name, title, &sheet)?,
        (None, Some(sheet)) => of_flash(name, title, &sheet)?,
        _ => return Err(ModelError::new(messages::SHEET_TABLES)),
    };
    parameters.check()?;
    Ok(parameters)
}

fn of_hard_disk(name: String, title: String, sheet: &DiskSheet) -> Result<Parameters, ModelError> {
    let not_modelled =
        (sheet.recording == Recording::Shingled).then_some(messages::SHINGLES_NOT_MODELLED);
    Ok(Parameters {
        name,
        title,
        sheet: Some(SheetModel { group: Group::Spinning, kind: Kind::HardDisk, not_modelled }),
        disk: hard_disk(sheet)?,
        flash: None,
        link: sheet.interface.link(),
    })
}

fn of_flash(name: String, title: String, sheet: &FlashSheet) -> Result<Parameters, ModelError> {
    let (disk, flash) = flash_sheet::parameters(sheet)?;
    let (group, interface) = (sheet.interface.group_of_flash(), sheet.interface);
    Ok(Parameters {
        name,
        title,
        sheet: Some(SheetModel { group, kind: Kind::Ssd, not_modelled: None }),
        disk,
        flash: Some(flash),
        link: interface.link(),
    })
}

/// Sectors of 512 bytes that a drive of so many GB has, as the makers agreed (IDEMA LBA1-03); whole
/// MB below 50 GB, where they had not.
pub(super) fn capacity_bytes(gigabytes: f64) -> u64 {
    let whole = gigabytes.round();
    if whole < 50.0 {
        return (gigabytes * 1e3).round() as u64 * 1_000_000 / 4096 * 4096;
    }
    (97_696_368 + 1_953_504 * (whole as u64 - 50)) * 512
}

/// The mean seek of a read where the sheet states none, and between what such drives lie, in ms.
fn usual_seek(form: Form, rpm: f64) -> (f64, [f64; 2]) {
    match form {
        _ if rpm >= 14_000.0 => (3.0, [2.7, 3.5]),
        _ if rpm >= 9_000.0 => (4.7, [4.0, 5.5]),
        Form::Large if rpm >= 7_000.0 => (8.2, [7.4, 9.0]),
        Form::Large => (9.5, [8.5, 12.0]),
        Form::Small => (12.0, [10.0, 14.0]),
    }
}

/// The mean of `sqrt(d)` over pairs of uniform addresses (see `docs/models.md`).
fn mean_root(outer: f64, inner: f64) -> f64 {
    8.0 / 15.0 - 8.0 / 135.0 * ((outer - inner) / (outer + inner)).powi(2)
}

/// What of a sheet moves: checked together, since one figure bounds the other.
struct Arm {
    turn: f64,
    base: Quantity<f64>,
    root: Quantity<f64>,
    settle: Quantity<f64>,
}

fn arm(sheet: &DiskSheet, spindle: &Quantity<f64>, root_share: f64) -> Result<Arm, ModelError> {
    let turn = 60_000.0 / spindle.value;
    let mean = optional("hard_disk.mean_seek", sheet.mean_seek.as_ref(), "ms")?;
    let write = optional("hard_disk.mean_write_seek", sheet.mean_write_seek.as_ref(), "ms")?;
    let track = optional("hard_disk.track_seek", sheet.track_seek.as_ref(), "ms")?;
    let (usual, between) = usual_seek(sheet.form, spindle.value);
    let mean_ms = mean.map_or(usual, |mean| mean.value);
    let below = |name: &str, value: f64, least: f64, share: Message| {
        let text = statement!(
            messages::SEEK_TOO_SHORT,
            name = name,
            value = value,
            share = share,
            turn = format!("{turn:.2}"),
            rpm = spindle.value
        );
        refuse(value < least, text)
    };
    below("mean_seek", mean_ms, turn / 4.0, messages::QUARTER)?;
    if let Some(track) = track {
        below("track_seek", track.value, turn / 100.0, messages::HUNDREDTH)?;
    }
    let base = track.map_or_else(
        || {
            let note = "law: from one track to the next; makers state 0.2 to 1 ms";
            law(0.5_f64.min(mean_ms / 4.0), "ms", Some([0.2, 1.0]), note)
        },
        |track| stated(track, track.value, "ms"),
    );
    refuse(
        base.value >= mean_ms,
        statement!(messages::TRACK_SEEK_TOO_LONG, value = base.value, mean = mean_ms),
    )?;
    let root_of = |mean: f64| ((mean - base.value) / root_share).max(0.0);
    let root = match mean {
        Some(mean) => {
            let note = "what makes the mean over uniform places the stated one";
            let from = stated(mean, root_of(mean.value), "ms");
            Quantity { note: format!("{}; {note}", from.note), ..from }
        }
        None => law(
            root_of(usual),
            "ms",
            Some(between.map(root_of)),
            &format!(
                "law: a mean seek of {usual} ms, as such drives state ({} to {})",
                between[0], between[1]
            ),
        ),
    };
    let settle = match (mean, write) {
        (Some(_), Some(write)) => stated(write, (write.value - mean_ms).max(0.0), "ms"),
        _ => {
            law(0.6, "ms", Some([0.0, 1.0]), "law: makers state 0 to 1 ms more for a write's seek")
        }
    };
    Ok(Arm { turn, base, root, settle })
}

/// The media rates at both edges, in bytes a second.
fn rates(sheet: &DiskSheet) -> Result<[Quantity<f64>; 2], ModelError> {
    let outer = needed("hard_disk.outer_rate", sheet.outer_rate.as_ref(), "MB/s")?;
    let most = sheet.interface.rate();
    refuse(
        outer.value > most,
        statement!(
            messages::PAST_INTERFACE,
            name = "hard_disk.outer_rate",
            rate = outer.value,
            interface = sheet.interface.name(),
            most = most
        ),
    )?;
    let inner = optional("hard_disk.inner_rate", sheet.inner_rate.as_ref(), "MB/s")?;
    let inner = match inner {
        Some(inner) => {
            refuse(
                inner.value > outer.value,
                statement!(messages::INNER_RATE, inner = inner.value, outer = outer.value),
            )?;
            stated(inner, inner.value * 1e6, "bytes/s")
        }
        None => law(
            outer.value * 0.48e6,
            "bytes/s",
            Some([outer.value * 0.43e6, outer.value * 0.60e6]),
            "law: the inner edge gives 0.48 of the outer one (0.43 to 0.6); a maker states 83 of \
            175",
        ),
    };
    Ok([stated(outer, outer.value * 1e6, "bytes/s"), inner])
}

/// How many writes the cache holds and chooses among, by its size in MB.
fn write_window(cache: f64) -> [Quantity<u64>; 2] {
    let window = ((cache / 4.0).round() as u64).clamp(8, 128);
    let note = "law: one for 4 MB of cache, from 8 to 128; no data sheet states it";
    let entries = "law: twice as many as it chooses among; no data sheet states it";
    [
        law(window, "extents", Some([(window / 4).max(1), window * 4]), note),
        law(window * 2, "extents", Some([window, window * 16]), entries),
    ]
}

fn hard_disk(sheet: &DiskSheet) -> Result<DiskParameters, ModelError> {
    let capacity = within("hard_disk.capacity", sheet.capacity.as_ref(), "GB", [1.0, 1e6])?;
    let spindle = within("hard_disk.spindle", sheet.spindle.as_ref(), "rpm", [3e3, 2e4])?;
    let cache = needed("hard_disk.cache", sheet.cache.as_ref(), "MB")?;
    let [outer, inner] = rates(sheet)?;
    let arm = arm(sheet, spindle, mean_root(outer.value, inner.value))?;
    let known = DiskFacts {
        capacity: Some(stated(capacity, capacity_bytes(capacity.value), "bytes")),
        revolution: Some(stated(spindle, arm.turn, "ms")),
        rate_at_start: Some(outer),
        rate_at_end: Some(inner),
        seek_base: Some(arm.base),
        seek_root: Some(arm.root),
        settle: Some(arm.settle),
        physical_block: (capacity.value >= 1000.0)
            .then(|| law(4096, "bytes", None, "law: Advanced Format, as such drives since 2011")),
        ..DiskFacts::default()
    };
    electronics(sheet, cache, known).complete()
}

/// The same with what the laws say of its electronics.
fn electronics(sheet: &DiskSheet, cache: &Quantity<f64>, known: DiskFacts) -> DiskFacts {
    let cache_bytes = ((cache.value * f64::from(1 << 20)) as u64).max(1 << 20) / 512 * 512;
    let [window, entries] = write_window(cache.value);
    let link = || {
        let note = format!("{} less coding and frames", sheet.interface.name());
        law(sheet.interface.rate() * 1e6, "bytes/s", None, &note)
    };
    let overhead =
        || law(100.0, "us", Some([50.0, 200.0]), "law: usual for a command over a serial link");
    let spindles = "law: spindles run free; the usual accuracy of their motors";
    let firmware = "law: as such firmware is documented";
    DiskFacts {
        spindle_tolerance: Some(law(0.0005, "share", None, spindles)),
        read_overhead: Some(overhead()),
        write_overhead: Some(overhead()),
        link_rate_read: Some(link()),
        link_rate_write: Some(link()),
        cache_size: Some(stated(cache, cache_bytes, "bytes")),
        write_window: Some(window),
        destage_rule: Some(law(DestageRule::WhenIdle, "rule", None, firmware)),
        read_ahead_length: Some(law(
            (cache_bytes / 8).min(1 << 20) / 512 * 512,
            "bytes",
            None,
            "law: a segment of the buffer",
        )),
        read_ahead_hold: Some(law(
            0.0,
            "ms",
            None,
            "law: none; only a sweep of pauses would show it",
        )),
        queue_depth: Some(law(
            sheet.interface.queue_depth(),
            "requests",
            None,
            "law: commands that the interface queues",
        )),
        destage_idle_after: Some(law(1.0, "ms", Some([0.5, 10.0]), firmware)),
        cache_entries: Some(entries),
        ..known
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_refused;
    use super::*;

    const SHEET: &str = r#"
name = "planted"
title = "A planted drive"
from = "data sheet"

[hard_disk]
interface = "SATA 6 Gb/s"
capacity = { value = 4000.0, unit = "GB", origin = "spec", note = "planted" }
spindle = { value = 7200.0, unit = "rpm", origin = "spec", note = "planted" }
outer_rate = { value = 240.0, unit = "MB/s", origin = "spec", note = "planted" }
cache = { value = 256.0, unit = "MB", origin = "spec", note = "planted" }
mean_seek = { value = 7.4, unit = "ms", origin = "spec", note = "planted" }
mean_write_seek = { value = 8.2, unit = "ms", origin = "spec", note = "planted" }
track_seek = { value = 0.23, unit = "ms", origin = "spec", note = "planted" }
"#;

    #[test]
    fn what_is_stated_is_kept_and_the_rest_follows_from_the_laws() {
        let model = Parameters::parse(SHEET).expect("a sheet");
        let disk = &model.disk;
        assert_eq!(disk.capacity.value, 7_814_037_168 * 512, "as every drive of 4 TB has");
        assert!((disk.revolution.value - 8.333_333).abs() < 1e-5);
        assert_eq!((disk.rate_at_start.value, disk.rate_at_start.origin), (240e6, Origin::Spec));
        assert_eq!(disk.rate_at_end.origin, Origin::Assumed);
        let [low, high] = disk.rate_at_end.interval.expect("a spread");
        assert!((low..=high).contains(&disk.rate_at_end.value));
        let share = mean_root(240e6, disk.rate_at_end.value);
        let mean = disk.seek_base.value + disk.seek_root.value * share;
        assert!((mean - 7.4).abs() < 1e-9, "{mean}");
        assert!((disk.settle.value - 0.8).abs() < 1e-9);
        assert_eq!(disk.queue_depth.value, 32);
        // Every parameter says where it comes from.
        assert!(model.rows().iter().all(|row| !row.note.is_empty()));
        assert_eq!(model.sheet.and_then(|sheet| sheet.not_modelled), None);
        let shingled = SHEET.replace("interface", "recording = \"SMR\"\ninterface");
        let shingled = Parameters::parse(&shingled).expect("a sheet").sheet.expect("of one");
        assert!(shingled.not_modelled.is_some_and(|what| what == messages::SHINGLES_NOT_MODELLED));
    }

    /// Every law over what can be asked of it: the value lies within its spread.
    #[test]
    fn laws_lie_within_their_spread() {
        for form in [Form::Large, Form::Small] {
            for rpm in [4200.0, 5400.0, 5640.0, 7200.0, 10_000.0, 15_000.0] {
                let (seek, [low, high]) = usual_seek(form, rpm);
                assert!(low < seek && seek < high && seek > 60_000.0 / rpm / 4.0, "{rpm}");
            }
        }
        for cache in [2.0, 8.0, 16.0, 64.0, 256.0, 512.0, 1024.0] {
            for quantity in write_window(cache) {
                let [low, high] = quantity.interval.expect("a spread");
                assert!((low..=high).contains(&quantity.value), "{cache}");
            }
        }
        for (gigabytes, sectors) in
            [(80, 156_301_488), (500, 976_773_168), (1000, 1_953_525_168), (8000, 15_628_053_168)]
        {
            assert_eq!(capacity_bytes(f64::from(gigabytes)), sectors * 512_u64);
        }
    }

    #[test]
    fn what_no_drive_can_do_is_refused_in_one_line() {
        assert_refused(
            SHEET,
            &[
                (
                    "outer_rate = { value = 240.0",
                    "# = { value = 240.0",
                    "hard_disk.outer_rate is missing",
                ),
                ("value = 240.0", "value = 40000.0", "SATA 6 Gb/s moves at most 570"),
                ("value = 240.0", "value = 0.0", "hard_disk.outer_rate is 0"),
                ("value = 7.4", "value = 0.5", "no arm moves in less than a quarter of a turn"),
                ("value = 0.23", "value = 0.01", "less than a hundredth of a turn"),
                ("value = 0.23", "value = 9.0", "it must be below the mean seek, 7.4 ms"),
                ("value = 7200.0", "value = 72.0", "hard_disk.spindle is 72 rpm"),
                ("value = 4000.0", "value = 0.001", "hard_disk.capacity is 0.001 GB"),
                ("unit = \"rpm\"", "unit = \"Hz\"", "hard_disk.spindle has the unit \"Hz\""),
                ("SATA 6 Gb/s", "SATA 7", "line 7: unknown variant `SATA 7`"),
                ("\"data sheet\"", "\"memory\"", "line 4: unknown variant `memory`"),
                ("mean_seek =", "mean_sick =", "unknown field `mean_sick`"),
            ],
        );
    }
}
