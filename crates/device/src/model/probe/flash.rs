//! A model of a drive that does not turn, from its own answers: a data sheet's file with measured
//! values.
//!
//! ```text
//!   alone, in a register:   |command|..overhead..|bus|link|
//!   anywhere:               |command|..overhead..|== cells ==|bus|link|      less the one above: the cells
//!   many, in a register:    |command|command|command|...                     the controller's share
//!   two of one die:         |== cells ==|== cells ==|                        dies: the least such distance
//!   a write alone:          |command|..overhead..|link|                      it is answered from the buffer
//!   many writes:            |command|command|command|...                     the controller's share
//! ```

use std::fmt::Write as _;

use super::super::data_sheet::Interface;
use super::super::flash_sheet::PAGE;
use super::super::parameters::Parameters;
use super::solve::{self, FitFailure, MissingReason, NotFound, Solution};
use super::{Probe, SMALL_BYTES, Sample, Samples, written};

/// A page, as such flash has.
pub(super) const PAGE_BYTES: u64 = PAGE as u64;
/// Reads of one block at a time.
pub(super) const AT_ONCE: usize = 32;
/// Most pages that two reads lie apart: more dies are not found.
pub(super) const STRIDES: u32 = 512;
/// Pairs of one distance that all have to wait.
pub(super) const PAIRS: usize = 24;
/// Of what the cells take: two that follow each other so closely were read at the same time.
const TOGETHER: f64 = 0.6;
/// Cells that take a smaller share of a read are not seen: a cache of the host lies before them.
const CELLS_MIN: f64 = 0.1;
/// No cell is programmed in so many nanoseconds: what is flushed sooner was safe before.
const PROTECTED: f64 = 100_000.0;
/// Writes that follow each other within so many times of what the link takes wait for it.
const LINK_BOUND: f64 = 1.25;
/// Fewer tell no mean.
const READS_MIN: usize = 200;

fn mean(times: impl Iterator<Item = f64>) -> Option<f64> {
    let times: Vec<f64> = times.collect();
    (times.len() >= READS_MIN).then(|| times.iter().sum::<f64>() / times.len() as f64)
}

fn series(samples: &Samples, probe: Probe, series: u32) -> impl Iterator<Item = &Sample> {
    samples.of(probe).filter(move |sample| sample.series == series)
}

/// What a small read takes whose page is in a register, and how long cells are read: means, in
/// nanoseconds.
fn small_read(samples: &Samples) -> Option<(f64, f64)> {
    let ready = mean(series(samples, Probe::Command, 0).map(Sample::took))?;
    let anywhere = mean(samples.of(Probe::Random).map(Sample::took))?;
    (anywhere - ready > CELLS_MIN * ready).then_some((ready, anywhere - ready))
}

/// Two reads that end within so many nanoseconds did not wait for one die.
pub(super) fn together_within(samples: &Samples) -> Option<f64> {
    small_read(samples).map(|(_, cells)| TOGETHER * cells)
}

/// How long after one another the two reads of each pair of this distance ended, in nanoseconds.
pub(super) fn gaps(samples: &Samples, stride: u32) -> Vec<f64> {
    let all: Vec<&Sample> = series(samples, Probe::Stride, stride).collect();
    all.chunks_exact(2).map(|pair| pair[0].ended.abs_diff(pair[1].ended) as f64).collect()
}

/// Whether all pairs of a distance had to wait for one another.
pub(super) fn waits(samples: &Samples, stride: u32, together: f64) -> bool {
    let gaps = gaps(samples, stride);
    gaps.len() >= PAIRS && gaps.iter().all(|gap| *gap >= together)
}

fn dies(samples: &Samples) -> Option<u32> {
    let together = together_within(samples)?;
    (1..=STRIDES).find(|stride| waits(samples, *stride, together))
}

/// How long a request occupies the controller, in nanoseconds: many at once end one after the
/// other.
fn controller(samples: &Samples, probe: Probe) -> Option<f64> {
    let all: Vec<&Sample> = series(samples, probe, 1).collect();
    let bursts = all.chunks_exact(AT_ONCE);
    let count = bursts.len() * (AT_ONCE - 1);
    let took: f64 = bursts
        .map(|burst| {
            let ends = || burst.iter().map(|sample| sample.ended);
            (ends().max().unwrap_or(0) - ends().min().unwrap_or(0)) as f64
        })
        .sum();
    (count >= READS_MIN && took > 0.0).then(|| took / count as f64)
}

/// Bytes a second of many large reads at once, one behind the other: the median of the places.
fn rate(samples: &Samples) -> Option<f64> {
    let places = (0..8).filter_map(|place| {
        let mut ends: Vec<&Sample> = series(samples, Probe::Stream, place).collect();
        ends.sort_by_key(|sample| sample.ended);
        let (first, last) = (ends.first()?, ends.last()?);
        let bytes = ends[1..].iter().map(|sample| sample.bytes).sum::<u64>() as f64;
        (last.ended > first.ended).then(|| bytes / (last.ended - first.ended) as f64 * 1e9)
    });
    solve::median(places.collect())
}

/// Bytes a second of large writes, one behind the other, once the buffer is full: of their second
/// half.
fn write_rate(samples: &Samples) -> Option<f64> {
    let all: Vec<&Sample> = samples.of(Probe::StreamWrite).collect();
    let (before, counted) = all.split_at(all.len() / 2);
    let begun = before.iter().map(|sample| sample.ended).max()?;
    let ended = counted.iter().map(|sample| sample.ended).max()?;
    let bytes = counted.iter().map(|sample| sample.bytes).sum::<u64>();
    (ended > begun).then(|| bytes as f64 / (ended - begun) as f64 * 1e9)
}

/// Whether what is in the buffer is safe there: a flush behind a write takes no time to speak of.
fn is_protected(samples: &Samples) -> Option<bool> {
    let flushes = samples.of(Probe::Idle).map(Sample::took);
    Some(solve::median(flushes.collect())? < PROTECTED)
}

/// Cells that are read about so fast, in microseconds.
fn cells(read_time: f64) -> &'static str {
    match read_time {
        ..=37.0 => "SLC",
        ..=75.0 => "TLC",
        _ => "QLC",
    }
}

/// The data sheet's gigabytes of a size: the size is worked out from them again.
fn gigabytes(size_bytes: u64) -> f64 {
    match size_bytes {
        ..50_000_000_000 => size_bytes as f64 / 1e9,
        _ => 50.0 + ((size_bytes / 512) as f64 - 97_696_368.0) / 1_953_504.0,
    }
}

/// A model of what was measured.
///
/// # Errors
/// Samples that lack what every model needs, or of a drive that neither turns nor shows its cells.
pub fn solve(samples: &Samples, name: &str, title: &str) -> Result<Solution, FitFailure> {
    match solve::turning_drive(samples, (name, title), written::found) {
        Err(hidden @ FitFailure::NotTurning { .. }) => still_drive(samples, (name, title), hidden),
        turning => turning,
    }
}

/// A model of a drive that does not turn; `hidden` is the failure of one whose cells are not seen.
fn still_drive(
    samples: &Samples,
    (name, title): (&str, &str),
    hidden: FitFailure,
) -> Result<Solution, FitFailure> {
    let lacking = FitFailure::Lacking;
    for (probe, least) in [(Probe::Command, READS_MIN), (Probe::Random, READS_MIN)] {
        if samples.of(probe).count() < least {
            return Err(lacking(probe));
        }
    }
    let rate = rate(samples).ok_or(lacking(Probe::Stream))?;
    let (ready, cell_time) = small_read(samples).ok_or(hidden)?;
    let write_rate = write_rate(samples);
    let most = rate.max(write_rate.unwrap_or(0.0)) / 1e6;
    let interface = Interface::FLASH.into_iter().find(|one| most <= one.rate()).ok_or(hidden)?;
    let mut sheet = SheetText {
        text: format!(
            "name = \"{name}\"\ntitle = \"{title}\"\nfrom = \"data sheet\"\n\n[flash]\ncells = \
            \"{}\"\ninterface = \"{}\"\n",
            cells(cell_time / 1e3),
            interface.name()
        ),
        not_found: Vec::new(),
    };
    let note = "the device's size";
    sheet.measured("capacity", gigabytes(samples.size_bytes), "GB", note);
    sheet.measured("read_rate", rate / 1e6, "MB/s", "16 reads of 1 MiB at a time, in order");
    let alone = (ready + cell_time) / 1e3;
    sheet.measured("read_latency", alone, "us", "mean of 4 KiB anywhere, one at a time");
    sheet.measured("read_time", cell_time / 1e3, "us", "the same less a page that was ready");
    match dies(samples) {
        Some(dies) => {
            let note = "the least distance in pages at which two reads wait for one another";
            sheet.measured("dies", f64::from(dies), "count", note);
        }
        None => sheet.lacks("flash.dies", MissingReason::TooMany),
    }
    // What is left of a small read has to have room for it.
    match controller(samples, Probe::Command).filter(|time| *time < 0.9 * ready) {
        Some(time) => {
            let note = "reads of one block that is ready, 32 at a time";
            sheet.measured("random_read", 1e9 / time, "io/s", note);
        }
        None => sheet.lacks("flash.random_read", MissingReason::Time),
    }
    match write_rate {
        Some(write_rate) => sheet.writes(samples, write_rate),
        None => {
            let note = "as reads: nothing was written";
            sheet.state("write_rate", (rate / 1e6, "MB/s"), "assumed", note);
            for parameter in ["flash.write_rate", "flash.write_latency", "flash.random_write"] {
                sheet.lacks(parameter, MissingReason::Writes);
            }
        }
    }
    let why = if write_rate.is_some() { MissingReason::Volume } else { MissingReason::Writes };
    sheet.lacks("flash.region", why);
    sheet.lacks("flash.spare", why);
    let SheetText { text, not_found } = sheet;
    let parameters = Parameters::parse(&text).map_err(|_| hidden)?;
    let check = solve::check(samples, &parameters, 0.0);
    Ok(Solution { parameters, not_found, check, sheet: Some(text) })
}

/// A data sheet's file in the making.
struct SheetText {
    text: String,
    not_found: Vec<NotFound>,
}

impl SheetText {
    fn state(&mut self, key: &str, (value, unit): (f64, &str), origin: &str, note: &str) {
        let value = (value * 1e4).round() / 1e4;
        let _ = writeln!(
            self.text,
            "{key} = {{ value = {value:?}, unit = \"{unit}\", origin = \"{origin}\", note = \
            \"{note}\" }}"
        );
    }

    fn measured(&mut self, key: &str, value: f64, unit: &str, note: &str) {
        self.state(key, (value, unit), "measured", note);
    }

    fn lacks(&mut self, parameter: &'static str, why: MissingReason) {
        self.not_found.push(NotFound { parameter, why });
    }

    /// What writes tell.
    fn writes(&mut self, samples: &Samples, write_rate: f64) {
        let note = "16 writes of 1 MiB at a time, in order, once the buffer was full";
        self.measured("write_rate", write_rate / 1e6, "MB/s", note);
        let alone = mean(series(samples, Probe::Buffered, 0).map(Sample::took));
        if let Some(alone) = alone {
            let note = "mean of 4 KiB anywhere in the scratch range, one at a time";
            self.measured("write_latency", alone / 1e3, "us", note);
        } else {
            self.lacks("flash.write_latency", MissingReason::Time);
        }
        // What is left of a small write has to have room for it, and for its way over the link:
        // where that takes longer, many at once wait for the link.
        let moved = SMALL_BYTES as f64 / write_rate * 1e9;
        let room = alone.map_or(0.0, |alone| 0.9 * (alone - moved));
        match controller(samples, Probe::Buffered) {
            Some(time) if time > LINK_BOUND * moved && time < room => {
                let note = "writes of 4 KiB anywhere in the scratch range, 32 at a time";
                self.measured("random_write", 1e9 / time, "io/s", note);
            }
            Some(time) if alone.is_some() => {
                let note = "no fewer than the link moves";
                self.state("random_write", (1e9 / time.min(room), "io/s"), "assumed", note);
                self.lacks("flash.random_write", MissingReason::Link);
            }
            _ => self.lacks("flash.random_write", MissingReason::Time),
        }
        if is_protected(samples) == Some(true) {
            self.text += "power_loss_protection = true\n";
        }
    }
}
