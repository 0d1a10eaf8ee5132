//! An SSD from a maker's data sheet: what is stated of it, and the rest by laws.

use serde::Deserialize;
use words::statement;

use super::data_sheet::{
    Interface, capacity_bytes, checked, law, needed, optional, stated, within,
};
use super::flash::FlashParameters;
use super::messages;
use super::parameters::{DestageRule, DiskParameters};
use super::quantity::{ModelError, Origin, Quantity, refuse};

/// Bits in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Cells {
    #[serde(rename = "SLC")]
    One,
    #[serde(rename = "MLC")]
    Two,
    #[serde(rename = "TLC")]
    Three,
    #[serde(rename = "QLC")]
    Four,
}

impl Cells {
    /// How long a page is read, in microseconds, and between what such flash lies.
    fn read_time(self) -> (f64, [f64; 2]) {
        match self {
            Cells::One => (25.0, [15.0, 30.0]),
            Cells::Two => (50.0, [35.0, 60.0]),
            Cells::Three => (55.0, [40.0, 80.0]),
            Cells::Four => (100.0, [70.0, 150.0]),
        }
    }

    /// How long a page of the map is programmed, in microseconds.
    fn map_time(self) -> (f64, [f64; 2]) {
        match self {
            Cells::One => (250.0, [150.0, 400.0]),
            Cells::Two => (600.0, [400.0, 1000.0]),
            Cells::Three => (700.0, [400.0, 1500.0]),
            Cells::Four => (1500.0, [800.0, 2500.0]),
        }
    }

    fn bits(self) -> f64 {
        match self {
            Cells::One => 1.0,
            Cells::Two => 2.0,
            Cells::Three => 3.0,
            Cells::Four => 4.0,
        }
    }

    /// The size of a die, in GB, of drives below 1 TB and from there on.
    fn die(self, capacity: f64) -> f64 {
        match self {
            Cells::One | Cells::Two | Cells::Three if capacity < 900.0 => 32.0,
            Cells::One | Cells::Two | Cells::Three => 64.0,
            Cells::Four => 128.0,
        }
    }
}

/// What a data sheet states of an SSD.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlashSheet {
    cells: Cells,
    pub(super) interface: Interface,
    #[serde(default)]
    power_loss_protection: bool,
    capacity: Option<Quantity<f64>>,
    read_rate: Option<Quantity<f64>>,
    write_rate: Option<Quantity<f64>>,
    random_read: Option<Quantity<f64>>,
    random_write: Option<Quantity<f64>>,
    read_latency: Option<Quantity<f64>>,
    read_time: Option<Quantity<f64>>,
    write_latency: Option<Quantity<f64>>,
    region: Option<Quantity<f64>>,
    rate_after_region: Option<Quantity<f64>>,
    rate_while_folding: Option<Quantity<f64>>,
    dies: Option<Quantity<f64>>,
    spare: Option<Quantity<f64>>,
}

/// A page of flash of the last ten years, and a page of each of four planes.
pub(super) const PAGE: f64 = 16_384.0;
const UNIT: f64 = 4.0 * PAGE;

/// A rate that is stated and that the interface moves.
fn rate<'a>(
    sheet: &FlashSheet,
    name: &str,
    quantity: Option<&'a Quantity<f64>>,
) -> Result<&'a Quantity<f64>, ModelError> {
    let name = format!("flash.{name}");
    let quantity = needed(&name, quantity, "MB/s")?;
    let most = sheet.interface.rate();
    refuse(
        quantity.value > most,
        statement!(
            messages::PAST_INTERFACE,
            name = name,
            rate = quantity.value,
            interface = sheet.interface.name(),
            most = most
        ),
    )?;
    Ok(quantity)
}

/// What a command occupies the controller for: stated as requests a second, or usual.
fn command_time(
    name: &str,
    quantity: Option<&Quantity<f64>>,
    usual: f64,
) -> Result<Quantity<f64>, ModelError> {
    Ok(match optional(name, quantity, "io/s")? {
        Some(most) => stated(most, 1e6 / most.value, "us"),
        None => {
            let note = format!("law: {usual} requests a second, as such drives state");
            law(1e6 / usual, "us", Some([0.5e6 / usual, 2e6 / usual]), &note)
        }
    })
}

/// What is left of the time of one request alone.
fn overhead(
    name: &str,
    alone: Option<&Quantity<f64>>,
    usual: f64,
    rest: f64,
) -> Result<Quantity<f64>, ModelError> {
    let Some(alone) = optional(name, alone, "us")? else {
        let note = format!("law: {usual} us beside the cells, the bus and the controller");
        return Ok(law(usual, "us", Some([usual / 2.0, usual * 2.0]), &note));
    };
    refuse(
        alone.value < rest,
        statement!(
            messages::ALONE_TOO_SHORT,
            name = name,
            value = alone.value,
            rest = format!("{rest:.1}")
        ),
    )?;
    let from = stated(alone, alone.value - rest, "us");
    Ok(Quantity { note: format!("{}; less what is modelled of it", from.note), ..from })
}

/// A model's two halves.
pub(super) fn parameters(
    sheet: &FlashSheet,
) -> Result<(DiskParameters, FlashParameters), ModelError> {
    let capacity = within("flash.capacity", sheet.capacity.as_ref(), "GB", [1.0, 1e6])?;
    let read_rate = rate(sheet, "read_rate", sheet.read_rate.as_ref())?;
    let write_rate = rate(sheet, "write_rate", sheet.write_rate.as_ref())?;
    let flash = flash(sheet, capacity, write_rate)?;
    let moved = |rate: &Quantity<f64>| 4096.0 / rate.value;
    let read_rest = flash.read_command_time.value
        + flash.read_time.value
        + 4096.0 / flash.channel_rate.value * 1e6
        + moved(read_rate);
    let write_rest = flash.write_command_time.value + moved(write_rate);
    let [usual_read, usual_write] = sheet.interface.usual_overheads();
    let disk = DiskParameters {
        read_overhead: overhead(
            "flash.read_latency",
            sheet.read_latency.as_ref(),
            usual_read,
            read_rest,
        )?,
        write_overhead: overhead(
            "flash.write_latency",
            sheet.write_latency.as_ref(),
            usual_write,
            write_rest,
        )?,
        ..still(sheet, capacity, [read_rate, write_rate])
    };
    Ok((disk, flash))
}

/// What an SSD has of a disk; nothing of it turns.
fn still(
    sheet: &FlashSheet,
    capacity: &Quantity<f64>,
    [read, write]: [&Quantity<f64>; 2],
) -> DiskParameters {
    let none = |unit: &str| law(0.0, unit, None, "nothing turns or moves");
    let rate = |rate: &Quantity<f64>| stated(rate, rate.value * 1e6, "bytes/s");
    let depth = sheet.interface.queue_depth();
    DiskParameters {
        capacity: stated(capacity, capacity_bytes(capacity.value), "bytes"),
        revolution: none("ms"),
        spindle_tolerance: none("share"),
        rate_at_start: rate(read),
        rate_at_end: rate(read),
        seek_base: none("ms"),
        seek_root: none("ms"),
        read_overhead: none("us"),
        write_overhead: none("us"),
        link_rate_read: rate(read),
        link_rate_write: rate(write),
        cache_size: law(
            16 << 20,
            "bytes",
            Some([1 << 20, 64 << 20]),
            "law: what waits to be programmed; a drive's memory holds its map",
        ),
        write_window: law(1, "extents", None, "in the order in which it came"),
        settle: none("ms"),
        destage_rule: law(DestageRule::AtOnce, "rule", None, "as soon as a unit is full"),
        read_ahead_length: law(
            0,
            "bytes",
            None,
            "a page that was read stays in its die's register",
        ),
        read_ahead_hold: none("ms"),
        queue_depth: law(depth, "requests", None, "law: commands that the interface queues"),
        rate_knots: None,
        seek_linear_from: None,
        destage_watermark: None,
        destage_idle_after: None,
        read_ahead_start: None,
        cache_entries: None,
        physical_block: None,
        page: None,
        command_limit: Some(law(1 << 20, "bytes", None, "law: usual for a command")),
        verify_after: None,
    }
}

fn flash(
    sheet: &FlashSheet,
    capacity: &Quantity<f64>,
    write_rate: &Quantity<f64>,
) -> Result<FlashParameters, ModelError> {
    let die = sheet.cells.die(capacity.value);
    let dies = match optional("flash.dies", sheet.dies.as_ref(), "count")? {
        Some(dies) => stated(dies, dies.value.round().max(1.0), "count"),
        None => {
            let dies = (capacity.value / die).round().max(2.0);
            let note = format!("law: a die for each {die} GB");
            law(dies, "count", Some([(dies / 2.0).max(1.0), dies * 2.0]), &note)
        }
    };
    // What all dies program a second is the stated rate.
    let programmed = |rate: f64| dies.value * UNIT / rate;
    let region_time = stated(write_rate, programmed(write_rate.value), "us");
    let region = optional("flash.region", sheet.region.as_ref(), "GB")?;
    let after = match (region, &sheet.rate_after_region) {
        (_, None) => write_rate,
        (None, Some(_)) => return Err(ModelError::new(messages::AFTER_NO_REGION)),
        (Some(_), Some(after)) => checked("flash.rate_after_region", after, "MB/s")?,
    };
    let folding = optional("flash.rate_while_folding", sheet.rate_while_folding.as_ref(), "MB/s")?
        .unwrap_or(after);
    let [read, write] = sheet.interface.usual_requests();
    let (read_time, read_between) = sheet.cells.read_time();
    let (map_time, map_between) = sheet.cells.map_time();
    Ok(FlashParameters {
        channels: law(dies.value.min(8.0), "count", None, "law: eight, or one for each die"),
        page: law(PAGE, "bytes", None, "law: as such flash has"),
        program_unit: law(UNIT, "bytes", None, "law: a page of each of four planes"),
        read_time: match optional("flash.read_time", sheet.read_time.as_ref(), "us")? {
            Some(read_time) => stated(read_time, read_time.value, "us"),
            None => law(read_time, "us", Some(read_between), "law: as such cells take"),
        },
        region_program_time: region_time,
        program_time: stated(after, programmed(after.value), "us"),
        folding_program_time: stated(folding, programmed(folding.value), "us"),
        bits: law(sheet.cells.bits(), "count", None, "law: of such cells"),
        suspend_time: law(
            20.0,
            "us",
            Some([5.0, 50.0]),
            "law: usual where a program can be put aside",
        ),
        channel_rate: law(1.2e9, "bytes/s", Some([0.4e9, 2.4e9]), "law: as such buses move"),
        read_command_time: command_time("flash.random_read", sheet.random_read.as_ref(), read)?,
        write_command_time: command_time("flash.random_write", sheet.random_write.as_ref(), write)?,
        region: match region {
            Some(region) => stated(region, region.value * 1e9, "bytes"),
            None => law(0.0, "bytes", None, "none is stated"),
        },
        fold_rate: Quantity {
            origin: Origin::Assumed,
            note: "law: as fast as the cells are written with all their bits".to_owned(),
            ..stated(after, after.value * 1e6, "bytes/s")
        },
        fold_after: law(500.0, "ms", Some([50.0, 5000.0]), "law: no data sheet states it"),
        spare: match optional("flash.spare", sheet.spare.as_ref(), "share")? {
            Some(spare) => stated(spare, spare.value, "share"),
            None => law(0.07, "share", Some([0.07, 0.28]), "law: GiB of flash sold as GB"),
        },
        flush_time: law(map_time, "us", Some(map_between), "law: a page of the map"),
        power_loss_protection: sheet.power_loss_protection,
        dies,
    })
}

#[cfg(test)]
mod tests {
    use super::super::parameters::Parameters;
    use super::super::tests::assert_refused;

    const SHEET: &str = r#"
name = "planted"
title = "A planted SSD"
from = "data sheet"

[flash]
cells = "TLC"
interface = "SATA 6 Gb/s"
capacity = { value = 500.0, unit = "GB", origin = "spec", note = "planted" }
read_rate = { value = 560.0, unit = "MB/s", origin = "spec", note = "planted" }
write_rate = { value = 530.0, unit = "MB/s", origin = "spec", note = "planted" }
read_latency = { value = 120.0, unit = "us", origin = "spec", note = "planted" }
region = { value = 22.0, unit = "GB", origin = "spec", note = "planted" }
rate_after_region = { value = 300.0, unit = "MB/s", origin = "spec", note = "planted" }
"#;

    #[test]
    fn what_is_stated_of_an_ssd_is_kept() {
        let model = Parameters::parse(SHEET).expect("a sheet");
        assert!(!model.rotates());
        let flash = model.flash.as_ref().expect("an SSD");
        assert_eq!((flash.region.value, flash.dies.value), (22e9, 16.0));
        let slower = flash.program_time.value / flash.region_program_time.value;
        assert!((slower - 530.0 / 300.0).abs() < 1e-9, "{slower}");
        let rows = model.rows();
        assert!(rows.iter().all(|row| !row.note.is_empty() && row.name != "disk.seek_root"));
        assert!(rows.iter().any(|row| row.name == "flash.power_loss_protection"));
    }

    #[test]
    fn what_no_ssd_can_do_is_refused_in_one_line() {
        assert_refused(
            SHEET,
            &[
                ("value = 560.0", "value = 40000.0", "SATA 6 Gb/s moves at most 570"),
                ("write_rate = { value", "# = { value", "flash.write_rate is missing"),
                ("value = 120.0", "value = 20.0", "flash.read_latency is 20 us: cells, controller"),
                ("region = { value", "# = { value", "flash.rate_after_region needs flash.region"),
                ("\"GB\"", "\"TB\"", "flash.capacity has the unit \"TB\""),
                ("[flash]", "[tape]", "unknown field `tape`"),
                ("\"TLC\"", "\"PLC\"", "line 7: unknown variant `PLC`"),
            ],
        );
        let no_table = SHEET.split_once("[flash]").expect("a table").0;
        let error = Parameters::parse(no_table).expect_err("no table").to_string();
        assert!(error.contains("[hard_disk] or [flash]"), "{error}");
    }
}
