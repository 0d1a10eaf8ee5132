//! Formats in which traces were published: of Microsoft Research Cambridge, the Storage Performance
//! Council, Alibaba's block storage, and what DiskSim reads.
//!
//! ```text
//!   MSR       128166372003061629,hm,1,Read,383496192,32768,413   ticks of 100 ns, host, disk, …, ticks
//!   SPC       0,303567,3584,w,0.026214                           unit, sector, bytes, …, seconds
//!   Alibaba   419,W,8792731648,16384,1577808144360767            device, …, offset, bytes, microseconds
//!   DiskSim   26.214 0 303567 7 1                                ms, device, sector, sectors, flags
//! ```

use block::SECTOR_BYTES;
use words::{Message, Text, statement};

use crate::catalogue;
use crate::csv::nanoseconds;
use crate::source::{Contents, Devices, Lines, ParsedLine};
use crate::{Record, RecordedOp};

/// A tick of Windows' clock, in nanoseconds.
const TICK_NANOSECONDS: u64 = 100;
/// Alibaba's clock counts from 1970: this is 2001.
const ALIBABA_MICROSECONDS_MIN: u64 = 1_000_000_000_000_000;
/// DiskSim's flag for a read; without it a request writes.
const DISKSIM_READ: u64 = 1;

const TIMES: Contents =
    Contents { times: true, completions: false, streams: false, flushes: false, discards: false };

pub(crate) struct Msr;
pub(crate) struct Spc;
pub(crate) struct Alibaba;
pub(crate) struct DiskSim;

fn operation(text: &str) -> Result<RecordedOp, Text> {
    match text {
        "Read" | "read" | "R" | "r" => Ok(RecordedOp::Read),
        "Write" | "write" | "W" | "w" => Ok(RecordedOp::Write),
        _ => Err(statement!(catalogue::NEITHER_READS_NOR_WRITES, text = text)),
    }
}

fn number(text: &str, what: Message) -> Result<u64, Text> {
    text.parse().map_err(|_| statement!(catalogue::NO_SUCH_FIELD, text = text, what = what))
}

/// A number of units, in what it is made of.
fn times(text: &str, what: Message, unit: u64) -> Result<u64, Text> {
    let number = number(text, what)?;
    number
        .checked_mul(unit)
        .ok_or_else(|| statement!(catalogue::TOO_LARGE_FOR, text = text, what = what))
}

/// The cells of a line, if it has exactly so many.
fn cells<const COUNT: usize>(line: &str) -> Option<[&str; COUNT]> {
    let mut cells = [""; COUNT];
    let mut found = line.split(',').map(str::trim);
    for cell in &mut cells {
        *cell = found.next()?;
    }
    found.next().is_none().then_some(cells)
}

fn record(time_nanoseconds: u64, op: RecordedOp, offset: u64, length: u64) -> Record {
    let (latency_nanoseconds, fua, stream) = (None, false, 0);
    Record { time_nanoseconds, latency_nanoseconds, op, fua, offset, length, stream }
}

/// What a line is when it holds nothing or names the columns.
fn is_head(line: &str, first: &str) -> bool {
    line.is_empty() || line.to_ascii_lowercase().starts_with(first)
}

impl Msr {
    pub(crate) fn begins(line: &str) -> bool {
        Msr.parse(line, &mut Devices::default()).is_ok()
    }
}

impl Lines for Msr {
    const CONTENTS: Contents = Contents { completions: true, ..TIMES };

    fn parse(&mut self, line: &str, devices: &mut Devices) -> ParsedLine {
        let form = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";
        if is_head(line, "timestamp,hostname") {
            return Ok(None);
        }
        let [time, host, disk, op, offset, length, latency] =
            cells(line).ok_or_else(|| statement!(catalogue::A_LINE_IS, form = form))?;
        number(disk, catalogue::DISK_NUMBER)?;
        let latency = times(latency, catalogue::RESPONSE_TIME, TICK_NANOSECONDS)?;
        let record = Record {
            latency_nanoseconds: Some(latency),
            ..record(
                times(time, catalogue::TIME, TICK_NANOSECONDS)?,
                operation(op)?,
                number(offset, catalogue::OFFSET)?,
                number(length, catalogue::FIELD_SIZE)?,
            )
        };
        Ok(Some((record, devices.number(&format!("{host}_{disk}")))))
    }
}

impl Spc {
    pub(crate) fn begins(line: &str) -> bool {
        Spc.parse(line, &mut Devices::default()).is_ok()
    }
}

impl Lines for Spc {
    const CONTENTS: Contents = TIMES;

    fn parse(&mut self, line: &str, devices: &mut Devices) -> ParsedLine {
        if is_head(line, "asu,") {
            return Ok(None);
        }
        // Further fields are optional.
        let mut found = line.split(',').map(str::trim);
        let mut cell = || found.next().ok_or(catalogue::SPC_LINE);
        let [unit, sector, length, op, time] = [cell()?, cell()?, cell()?, cell()?, cell()?];
        number(unit, catalogue::UNIT)?;
        let seconds =
            nanoseconds(time).ok_or_else(|| statement!(catalogue::NO_SECONDS, time = time))?;
        let record = record(
            seconds,
            operation(op)?,
            times(sector, catalogue::SECTOR, SECTOR_BYTES)?,
            number(length, catalogue::FIELD_SIZE)?,
        );
        Ok(Some((record, devices.number(unit))))
    }
}

impl Alibaba {
    pub(crate) fn begins(line: &str) -> bool {
        Alibaba.parse(line, &mut Devices::default()).is_ok()
            && cells::<5>(line).is_none_or(|[.., time]| {
                time.parse().is_ok_and(|time: u64| time >= ALIBABA_MICROSECONDS_MIN)
            })
    }
}

impl Lines for Alibaba {
    const CONTENTS: Contents = TIMES;

    fn parse(&mut self, line: &str, devices: &mut Devices) -> ParsedLine {
        if is_head(line, "device_id,") {
            return Ok(None);
        }
        let [device, op, offset, length, time] = cells(line).ok_or(catalogue::ALIBABA_LINE)?;
        number(device, catalogue::DEVICE)?;
        let record = record(
            times(time, catalogue::TIME, 1000)?,
            operation(op)?,
            number(offset, catalogue::OFFSET)?,
            number(length, catalogue::LENGTH)?,
        );
        Ok(Some((record, devices.number(device))))
    }
}

impl DiskSim {
    pub(crate) fn begins(line: &str) -> bool {
        !line.is_empty() && DiskSim.parse(line, &mut Devices::default()).is_ok()
    }
}

impl Lines for DiskSim {
    const CONTENTS: Contents = TIMES;

    fn parse(&mut self, line: &str, devices: &mut Devices) -> ParsedLine {
        if line.is_empty() {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let mut word = || words.next().ok_or(catalogue::DISKSIM_LINE);
        let [time, device, sector, sectors, flags] = [word()?, word()?, word()?, word()?, word()?];
        if words.next().is_some() {
            return Err(catalogue::DISKSIM_LINE.into());
        }
        let milliseconds: Option<f64> = time.parse().ok();
        let milliseconds = milliseconds.filter(|time| time.is_finite() && *time >= 0.0);
        let milliseconds =
            milliseconds.ok_or_else(|| statement!(catalogue::NO_MILLISECONDS, time = time))?;
        number(device, catalogue::DEVICE)?;
        let flags = u64::from_str_radix(flags.trim_start_matches("0x"), 16)
            .map_err(|_| statement!(catalogue::NO_FLAGS, flags = flags))?;
        let op = if flags & DISKSIM_READ != 0 { RecordedOp::Read } else { RecordedOp::Write };
        let record = record(
            (milliseconds * 1e6).round() as u64,
            op,
            times(sector, catalogue::BLOCK, SECTOR_BYTES)?,
            times(sectors, catalogue::NUMBER_OF_BLOCKS, SECTOR_BYTES)?,
        );
        Ok(Some((record, devices.number(device))))
    }
}
