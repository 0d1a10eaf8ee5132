//! What a modelled SSD is made of, beside what every drive has (`disk.capacity`, overheads, link
//! rates, buffer, queue).

use super::messages;
use super::quantity::{ModelError, Origin, ParameterRow, Quantity, check_quantity, refuse, row};

/// The most that a die programs at a time, in bytes.
const PROGRAM_UNIT_MAX: f64 = 67_108_864.0;

/// The flash of an SSD and what looks after it.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashParameters {
    /// Buses between controller and dies.
    pub channels: Quantity<f64>,
    /// Dies that read and program at a time.
    pub dies: Quantity<f64>,
    /// What a die reads at a time, in bytes.
    pub page: Quantity<f64>,
    /// What a die programs at a time, in bytes: a page of each plane.
    pub program_unit: Quantity<f64>,
    /// How long a die reads a page, in microseconds.
    pub read_time: Quantity<f64>,
    /// How long a die programs a unit with one bit in a cell, in microseconds.
    pub region_program_time: Quantity<f64>,
    /// How long a die programs a unit with all its bits, in microseconds; what erasing takes is in
    /// it.
    pub program_time: Quantity<f64>,
    /// How long a die takes to put a program aside for a read, in microseconds.
    pub suspend_time: Quantity<f64>,
    /// What a bus moves, in bytes a second.
    pub channel_rate: Quantity<f64>,
    /// How long a read occupies the controller, in microseconds.
    pub read_command_time: Quantity<f64>,
    /// How long a write occupies the controller, in microseconds.
    pub write_command_time: Quantity<f64>,
    /// How long it takes while the region has to be folded to make room for what is written, in
    /// microseconds.
    pub folding_program_time: Quantity<f64>,
    /// Bits in a cell: what one bit in a cell takes of the room of as many.
    pub bits: Quantity<f64>,
    /// Written with one bit in a cell, and folded later; 0 without one. In bytes.
    pub region: Quantity<f64>,
    /// How fast an idle drive folds it, in bytes a second.
    pub fold_rate: Quantity<f64>,
    /// After how long without a command it begins to, in milliseconds.
    pub fold_after: Quantity<f64>,
    /// Flash beyond the capacity, as a share of it.
    pub spare: Quantity<f64>,
    /// What a flush costs beside programming what is in the buffer: the map. In microseconds.
    pub flush_time: Quantity<f64>,
    /// Whether what is in the buffer outlives a power cut.
    pub power_loss_protection: bool,
}

impl FlashParameters {
    /// Name, unit and quantity of all, in the order in which they are shown.
    pub(super) fn quantities(&self) -> [(&'static str, &'static str, &Quantity<f64>); 18] {
        [
            ("channels", "count", &self.channels),
            ("dies", "count", &self.dies),
            ("page", "bytes", &self.page),
            ("program_unit", "bytes", &self.program_unit),
            ("read_time", "us", &self.read_time),
            ("region_program_time", "us", &self.region_program_time),
            ("program_time", "us", &self.program_time),
            ("folding_program_time", "us", &self.folding_program_time),
            ("bits", "count", &self.bits),
            ("suspend_time", "us", &self.suspend_time),
            ("channel_rate", "bytes/s", &self.channel_rate),
            ("read_command_time", "us", &self.read_command_time),
            ("write_command_time", "us", &self.write_command_time),
            ("region", "bytes", &self.region),
            ("fold_rate", "bytes/s", &self.fold_rate),
            ("fold_after", "ms", &self.fold_after),
            ("spare", "share", &self.spare),
            ("flush_time", "us", &self.flush_time),
        ]
    }

    /// The quantities that may be drawn: all that have an interval somewhere.
    pub(super) fn quantities_mut(&mut self) -> [&mut Quantity<f64>; 18] {
        [
            &mut self.channels,
            &mut self.dies,
            &mut self.page,
            &mut self.program_unit,
            &mut self.read_time,
            &mut self.region_program_time,
            &mut self.program_time,
            &mut self.folding_program_time,
            &mut self.bits,
            &mut self.suspend_time,
            &mut self.channel_rate,
            &mut self.read_command_time,
            &mut self.write_command_time,
            &mut self.region,
            &mut self.fold_rate,
            &mut self.fold_after,
            &mut self.spare,
            &mut self.flush_time,
        ]
    }

    /// Every parameter, as `model show` prints it.
    pub(super) fn rows(&self) -> Vec<ParameterRow> {
        let named = |(name, _, quantity): (&str, &str, &Quantity<f64>)| {
            row(&format!("flash.{name}"), quantity)
        };
        let mut rows: Vec<ParameterRow> = self.quantities().into_iter().map(named).collect();
        rows.push(ParameterRow {
            name: "flash.power_loss_protection".to_owned(),
            value: self.power_loss_protection.to_string(),
            unit: "yes or no".to_owned(),
            origin: Origin::Spec,
            interval: String::new(),
            note: "whether what is in the buffer outlives a power cut".to_owned(),
        });
        rows
    }

    /// Whether the values make an SSD.
    pub(super) fn check(&self) -> Result<(), ModelError> {
        for (name, unit, quantity) in self.quantities() {
            check_quantity(&format!("flash.{name}"), quantity, unit)?;
        }
        let parts = 1.0..=4096.0;
        refuse(
            !parts.contains(&self.dies.value) || !parts.contains(&self.channels.value),
            messages::FLASH_DIES,
        )?;
        let unit = self.page.value..=PROGRAM_UNIT_MAX;
        refuse(
            self.page.value < 512.0 || !unit.contains(&self.program_unit.value),
            messages::FLASH_PAGE,
        )?;
        refuse(!(0.01..=4.0).contains(&self.spare.value), messages::FLASH_SPARE)
    }
}
