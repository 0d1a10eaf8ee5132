//! The rows of CrystalDiskMark, direct and through the page cache side by side.
//!
//! ```text
//! file or device  |####|####|####|####|####|####|####|####|      written once with data of its own in every 4 KiB
//!
//! SEQ1M Q8T1      |===>===>===>===>                              ascending, 8 requests of 1 MiB outstanding
//! RND4K Q32T16       <=>   <=> <=>      <=>   <=>   <=>          16 threads, each with 32 outstanding, 4 KiB aligned
//!
//! a row:   warm-up   run 1   run 2  …  run N        best of N as the original prints it, and the median with its interval
//!          direct, buffered, direct, buffered …     the two take turns, so that neither has the quieter minutes
//! ```
//!
//! * The rows, their order and their durations are those of version 3 (2013), of version 8 and of
//!   its presets. `Q` is the number of requests that one thread keeps outstanding and `T` the
//!   number of threads.
//! * Random places are multiples of the request, as in the original. With several threads each has
//!   a part of the file to itself, together all of it: then every read can be checked.
//! * What a row reads is held against the last write by the 32 bytes that mark every block of 4
//!   KiB, or by every byte (`verify`); behind the last row the whole file is read back and every
//!   byte compared, outside of all times.
//! * Version 3 looks at its clock only after a whole pass over the file (sequential), 20 requests
//!   (512 KiB) or 160 (4 KiB).
//! * A write has two rates: acknowledged, when its calls had returned, and durable, to the end of
//!   the flush that follows. Version 3 prints the second, version 8 the first.
//! * No two blocks of 4 KiB that are written carry the same data, unless zeroes or ones were asked
//!   for ([`access`]).
//! * On the virtual clock there are no threads: one owner keeps `Q * T` requests outstanding.

mod definition;
mod fio;

use std::time::Duration;

use words::{Text, statement};

pub use definition::{SUITE, options};
pub use fio::Job;

use super::access;
pub use super::access::{AccessKind, Data, Order, Row, Verify};
use crate::suite::catalogue;

/// Name of the suite.
pub const NAME: &str = "crystal";

/// Which rows, as the original groups them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Version 3: Seq, 512K, 4K, 4K QD32.
    Three,
    /// Version 8, its default.
    Eight,
    /// Version 8, for NVMe drives.
    EightNvme,
    /// Version 8, "Real World Performance".
    Real,
    /// Version 8, "Peak Performance".
    Peak,
}

const WHOLE_PASS: Option<u64> = Some(0);
const THREE: &[Row] = &[
    Row::new(Order::Sequential, 1024, 1, 1, WHOLE_PASS),
    Row::new(Order::Random, 512, 1, 1, Some(20)),
    Row::new(Order::Random, 4, 1, 1, Some(160)),
    Row::new(Order::Random, 4, 32, 1, None),
];
const SEQ1M_Q8: Row = Row::new(Order::Sequential, 1024, 8, 1, None);
const SEQ1M_Q1: Row = Row::new(Order::Sequential, 1024, 1, 1, None);
const SEQ128K_Q32: Row = Row::new(Order::Sequential, 128, 32, 1, None);
const RND4K_Q32: Row = Row::new(Order::Random, 4, 32, 1, None);
const RND4K_Q32T16: Row = Row::new(Order::Random, 4, 32, 16, None);
const RND4K_Q1: Row = Row::new(Order::Random, 4, 1, 1, None);

/// Name, profile and what it is for.
pub const PROFILES: [(&str, Profile, &str); 5] = [
    ("3", Profile::Three, "version 3: Seq, 512K, 4K, 4K QD32; read then write of each"),
    (
        "8",
        Profile::Eight,
        "version 8, default: SEQ1M Q8T1, SEQ1M Q1T1, RND4K Q32T1, RND4K Q1T1; all reads, then all \
        writes",
    ),
    (
        "8-nvme",
        Profile::EightNvme,
        "version 8, NVMe: SEQ1M Q8T1, SEQ128K Q32T1, RND4K Q32T16, RND4K Q1T1",
    ),
    ("real", Profile::Real, "version 8, real world: SEQ1M Q1T1 and RND4K Q1T1"),
    ("peak", Profile::Peak, "version 8, peak: SEQ1M Q8T1 and RND4K Q32T1"),
];

impl Profile {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        PROFILES.iter().find(|(_, profile, _)| *profile == self).map_or("", |(name, ..)| name)
    }

    /// The profile of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Profile> {
        PROFILES.iter().find(|(known, ..)| *known == name).map(|(_, profile, _)| *profile)
    }

    /// Its accesses in the original's order; each says "read".
    fn accesses(self) -> Vec<Row> {
        match self {
            Profile::Three => THREE.to_vec(),
            Profile::Eight => vec![SEQ1M_Q8, SEQ1M_Q1, RND4K_Q32, RND4K_Q1],
            Profile::EightNvme => vec![SEQ1M_Q8, SEQ128K_Q32, RND4K_Q32T16, RND4K_Q1],
            Profile::Real => vec![SEQ1M_Q1, RND4K_Q1],
            Profile::Peak => vec![SEQ1M_Q8, RND4K_Q32],
        }
    }

    /// The rows in the order in which they run: version 3 reads and writes each access in turn,
    /// version 8 first reads all, then writes all, then mixes all if `mix_read_percent` is given.
    #[must_use]
    pub fn rows(self, mix_read_percent: Option<u32>) -> Vec<Row> {
        let accesses = self.accesses();
        let each = |way: AccessKind| accesses.iter().map(move |row| Row { way, ..*row });
        let mut rows: Vec<Row> = match self {
            Profile::Three => accesses
                .iter()
                .flat_map(|row| {
                    [AccessKind::Read, AccessKind::Write].map(|way| Row { way, ..*row })
                })
                .collect(),
            _ => each(AccessKind::Read).chain(each(AccessKind::Write)).collect(),
        };
        if let Some(read_percent) = mix_read_percent {
            rows.extend(each(AccessKind::Mix { read_percent }));
        }
        rows
    }

    /// How the original runs it.
    #[must_use]
    pub fn options(self) -> Options {
        let three = self == Profile::Three;
        Options {
            profile: self,
            size_bytes: if three { 1000 << 20 } else { 1 << 30 },
            runs: 5,
            warms_up: true,
            time: Duration::from_secs(if three { 6 } else { 5 }),
            interval: definition::INTERVAL,
            steady: false,
            mix_read_percent: None,
            only: String::new(),
            data: Data::Random,
            verify: Verify::Words,
            seed: 1,
            data_seed: 1,
        }
    }
}

/// Smallest test size: a MiB holds one of the largest requests.
pub const SIZE_MIN_BYTES: u64 = 1 << 20;
/// Largest test size, as in the original.
pub const SIZE_MAX_BYTES: u64 = 64 << 30;
/// Most runs, as in the original.
pub const RUNS_MAX: u32 = 9;

/// How the suite is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which rows.
    pub profile: Profile,
    /// Bytes of the file or device that are used, whole MiB.
    pub size_bytes: u64,
    /// Runs of each row that count; one more before them does not.
    pub runs: u32,
    /// Whether there is such a run.
    pub warms_up: bool,
    /// How long a run issues requests, on the reactor's clock.
    pub time: Duration,
    /// Rest before each row.
    pub interval: Duration,
    /// Whether each run that writes is repeated in rounds until it is steady.
    pub steady: bool,
    /// Whether mixed rows follow, and how many of 100 requests are reads there; 70 in the original.
    pub mix_read_percent: Option<u32>,
    /// Only rows whose name has this in it; all of them when it is empty.
    pub only: String,
    /// What is written.
    pub data: Data,
    /// What is compared inside the time.
    pub verify: Verify,
    /// Where random requests go.
    pub seed: u64,
    /// What the data say of themselves.
    pub data_seed: u64,
}

impl Options {
    /// How each row is run.
    #[must_use]
    pub fn access(&self) -> access::Options {
        access::Options {
            size_bytes: self.size_bytes,
            runs: self.runs,
            warms_up: self.warms_up,
            time: self.time,
            interval: self.interval,
            steady: self.steady,
            data: self.data,
            verify: self.verify,
            seed: self.seed,
            data_seed: self.data_seed,
        }
    }

    /// The rows in order.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = self.profile.rows(self.mix_read_percent);
        rows.retain(|row| row.name().contains(&self.only));
        rows
    }

    /// What is wrong with the options.
    ///
    /// # Errors
    /// The setting, its value and what is possible.
    pub fn check(&self) -> Result<(), Text> {
        const MIB: u64 = 1 << 20;
        if !(SIZE_MIN_BYTES..=SIZE_MAX_BYTES).contains(&self.size_bytes)
            || !self.size_bytes.is_multiple_of(MIB)
        {
            return Err(statement!(catalogue::TEST_SIZE, bytes = self.size_bytes));
        }
        if !(1..=RUNS_MAX).contains(&self.runs) {
            return Err(statement!(catalogue::RUNS_TOO_MANY, runs = self.runs, most = RUNS_MAX));
        }
        if self.time.is_zero() {
            return Err(catalogue::RUN_WITHOUT_TIME.into());
        }
        if self.rows().is_empty() {
            let rows: Vec<String> =
                self.profile.rows(self.mix_read_percent).iter().map(Row::name).collect();
            return Err(statement!(
                catalogue::NO_ROW_NAMED,
                only = &self.only,
                rows = rows.join(", ")
            ));
        }
        match self.mix_read_percent {
            Some(percent) if !(1..=99).contains(&percent) => {
                Err(statement!(catalogue::NO_MIX, percent = percent))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
