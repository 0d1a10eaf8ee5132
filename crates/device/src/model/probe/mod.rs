//! A model of a drive from its own answers: to reads only, unless a range is named that may be
//! written (module `writes`).
//!
//! ```text
//!   device --measure--> samples (CSV) --solve--> parameters, what could not be found out,
//!                                                and whether reads that no stage used are explained
//!   probe     what is read                                  what it tells
//!   cached    one block again and again, 512 B to 1 MiB     overhead of a read, rate of the interface
//!   rate      runs of 1 MiB at 32 places                    rate along the disk
//!   turn      one sector again, its copy thrown out         revolution; whether anything turns
//!   seek      a far sector after a near one, all angles     seek curve: the least time of each distance
//!   hold      the same after pauses                         when read-ahead holds the arm, and how long
//!   ahead     a sector behind one that was read             length of read-ahead
//!   queue     many at once, the last one nearest            depth of the queue
//!   check     random reads                                  nothing: they are predicted
//! ```
//!
//! Where nothing turns, four others take the place of `turn` to `queue`:
//!
//! ```text
//!   command   a block in a die's register: alone, and many at once    time of a command, its share in the controller
//!   stream    many large reads at once, one behind the other          rate
//!   random    4 KiB anywhere                                          how long cells are read
//!   stride    two pages at a time, ever farther apart                 dies: at their number they wait for one another
//! ```
//!
//! The least time over all angles of a track is found by halving: as the target moves on along its
//! track, the wait for it grows until it falls by a whole turn, and just behind that place the
//! sector comes round when the head arrives.

mod flash;
mod links;
mod measure;
mod solve;
mod writes;
mod written;

use std::fmt::Write as _;

pub use flash::solve;
pub use links::{LinkShare, measure_links};
pub use measure::{MeasureError, measure};
pub use solve::{Check, FitFailure, MissingReason, NotFound, Solution};
pub use writes::SCRATCH_MIN;

use words::{Text, statement};

use super::messages;
use super::parameters::ModelError;

/// A part of a page of flash, and a block of its map.
const SMALL_BYTES: u64 = 4096;

/// What a sample was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Brings the head or the buffer to where the next one needs it.
    Approach,
    /// One block again and again.
    Cached,
    /// A run at one place.
    Rate,
    /// One sector, read from the media each time.
    Turn,
    /// A sector at a distance.
    Seek,
    /// A sector after a pause.
    Hold,
    /// A sector behind one that was read.
    Ahead,
    /// One of many at once.
    Queue,
    /// A random read that nothing is fitted to.
    Check,
    /// A block that is in a register: series 0 alone, 1 many at once.
    Command,
    /// Large reads one behind the other, many at once.
    Stream,
    /// 4 KiB anywhere, one at a time.
    Random,
    /// One of two pages at so many pages' distance.
    Stride,
    /// A write that the cache takes.
    Write,
    /// One of many small writes, until the cache is full.
    Entries,
    /// One of many large writes, until the cache is full.
    Fill,
    /// A durable write at a distance.
    Settle,
    /// A read there.
    SettleRead,
    /// A flush after a write and a pause.
    Idle,
    /// A flush that nothing is fitted to: all that was written is on the media then.
    Flush,
    /// A durable write that nothing is fitted to.
    Durable,
    /// A small write that the buffer takes, anywhere: series 0 alone, 1 many at once.
    Buffered,
    /// A large write behind another, many at once.
    StreamWrite,
    /// A write that nothing is fitted to.
    CheckWrite,
}

const PROBES: [(Probe, &str); 24] = [
    (Probe::Approach, "approach"),
    (Probe::Cached, "cached"),
    (Probe::Rate, "rate"),
    (Probe::Turn, "turn"),
    (Probe::Seek, "seek"),
    (Probe::Hold, "hold"),
    (Probe::Ahead, "ahead"),
    (Probe::Queue, "queue"),
    (Probe::Check, "check"),
    (Probe::Command, "command"),
    (Probe::Stream, "stream"),
    (Probe::Random, "random"),
    (Probe::Stride, "stride"),
    (Probe::Write, "write"),
    (Probe::Entries, "entries"),
    (Probe::Fill, "fill"),
    (Probe::Settle, "settle"),
    (Probe::SettleRead, "settle_read"),
    (Probe::Idle, "idle"),
    (Probe::Flush, "flush"),
    (Probe::Durable, "durable"),
    (Probe::Buffered, "buffered"),
    (Probe::StreamWrite, "stream_write"),
    (Probe::CheckWrite, "check_write"),
];

impl Probe {
    /// Its name in a file of samples.
    #[must_use]
    pub fn name(self) -> &'static str {
        PROBES.iter().find(|(known, _)| *known == self).map_or("", |known| known.1)
    }
}

/// One read, write or flush; a flush has place and size of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// What it was taken for.
    pub probe: Probe,
    /// Samples of a probe that belong together have one number.
    pub series: u32,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// Pause before it, in nanoseconds.
    pub pause: u64,
    /// When it was asked for, in nanoseconds of the clock.
    pub begun: u64,
    /// When it was answered.
    pub ended: u64,
}

impl Sample {
    /// How long it took, in nanoseconds.
    fn took(&self) -> f64 {
        self.ended.saturating_sub(self.begun) as f64
    }
}

/// All that was measured of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Size of the device in bytes.
    pub size_bytes: u64,
    /// In the order in which they were asked for.
    pub all: Vec<Sample>,
}

/// Begins the file's first line; the size follows.
const FIRST_LINE: &str = "# raidloom model fit, size_bytes ";
const COLUMNS: &str = "probe,series,offset,bytes,pause_ns,begun_ns,ended_ns";

impl Samples {
    fn of(&self, probe: Probe) -> impl Iterator<Item = &Sample> {
        self.all.iter().filter(move |sample| sample.probe == probe)
    }

    /// Whether a text is a file of samples.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        text.starts_with(FIRST_LINE)
    }

    /// The text of their file.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = format!("{FIRST_LINE}{}\n{COLUMNS}\n", self.size_bytes);
        for sample in &self.all {
            let Sample { probe, series, offset, bytes, pause, begun, ended } = sample;
            let name = probe.name();
            let _ = writeln!(text, "{name},{series},{offset},{bytes},{pause},{begun},{ended}");
        }
        text
    }

    /// Samples from the text of their file.
    ///
    /// # Errors
    /// A line that is none: which.
    pub fn parse(text: &str) -> Result<Samples, ModelError> {
        let mut lines = text.lines().enumerate();
        let wrong = |line: usize, what: Text| {
            ModelError::new(statement!(messages::OF_SAMPLES, line = line + 1, what = what))
        };
        let size_bytes = lines
            .next()
            .and_then(|(_, line)| line.strip_prefix(FIRST_LINE)?.parse().ok())
            .ok_or_else(|| wrong(0, messages::SAMPLES_NO_SIZE.into()))?;
        if lines.next().map(|(_, line)| line) != Some(COLUMNS) {
            return Err(wrong(1, statement!(messages::SAMPLES_COLUMNS, columns = COLUMNS)));
        }
        let mut all = Vec::new();
        for (number, line) in lines {
            let fields: Vec<&str> = line.split(',').collect();
            let [name, figures @ ..] = &fields[..] else {
                return Err(wrong(number, messages::SAMPLE_EMPTY.into()));
            };
            let figures: Vec<u64> = figures.iter().filter_map(|one| one.parse().ok()).collect();
            let probe = PROBES.iter().find(|(_, known)| known == name);
            let (Some((probe, _)), [series, offset, bytes, pause, begun, ended], 7) =
                (probe, &figures[..], fields.len())
            else {
                let expected = statement!(messages::SAMPLE_COLUMNS, columns = COLUMNS);
                return Err(wrong(number, expected));
            };
            let (offset, bytes, ended) = (*offset, *bytes, *ended);
            let is_within = offset.checked_add(bytes).is_some_and(|end| end <= size_bytes);
            if !is_within || bytes == 0 || ended < *begun {
                return Err(wrong(number, messages::SAMPLE_BEYOND.into()));
            }
            let series = u32::try_from(*series).map_err(|_| wrong(number, "series".into()))?;
            let (pause, begun) = (*pause, *begun);
            all.push(Sample { probe: *probe, series, offset, bytes, pause, begun, ended });
        }
        Ok(Samples { size_bytes, all })
    }
}
