//! How a cache works: what happens to writes, and what is written out when.

use std::fmt;
use std::time::Duration;

use crate::policy::{AdmissionOptions, PolicyKind};

/// What happens to writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheMode {
    /// A completed write is on the device, and in the store if there is room.
    #[default]
    WriteThrough,
    /// A completed write is on the device, and the store forgets what it had of it.
    WriteAround,
    /// A completed write is in the store; the device gets it later, at the latest when that is the
    /// only way to make it durable.
    WriteBack,
    /// Writes are refused.
    ReadOnly,
}

impl CacheMode {
    /// All of them, the default first.
    pub const ALL: [CacheMode; 4] = [
        CacheMode::WriteThrough,
        CacheMode::WriteAround,
        CacheMode::WriteBack,
        CacheMode::ReadOnly,
    ];

    /// Its name in stack text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CacheMode::WriteThrough => "write-through",
            CacheMode::WriteAround => "write-around",
            CacheMode::WriteBack => "write-back",
            CacheMode::ReadOnly => "read-only",
        }
    }

    /// The mode of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<CacheMode> {
        CacheMode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

impl fmt::Display for CacheMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a cache works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// What happens to writes.
    pub mode: CacheMode,
    /// What is cached as a whole, in bytes: a power of two from
    /// [`BLOCK_BYTES_MIN`](crate::Cache::BLOCK_BYTES_MIN) to
    /// [`BLOCK_BYTES_MAX`](crate::Cache::BLOCK_BYTES_MAX).
    pub block_bytes: u32,
    /// Which block goes for another.
    pub policy: PolicyKind,
    /// What comes in.
    pub admission: AdmissionOptions,
    /// Write-back: from how many dirty blocks on writes have to write some out, in percent of the
    /// store.
    pub dirty_percent: u8,
    /// Write-back: when a [`CacheUpkeep`](crate::CacheUpkeep) writes out.
    pub keeping: KeepingOptions,
}

/// When a [`CacheUpkeep`](crate::CacheUpkeep) writes dirty blocks out, before writes have to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepingOptions {
    /// After so long without a read or a write, everything; `None`: never for that reason.
    pub idle: Option<Duration>,
    /// From more than so many dirty blocks on, in percent of the store …
    pub high_percent: u8,
    /// … down to so many.
    pub low_percent: u8,
    /// No faster than so many bytes per second.
    pub rate_bytes_per_second: Option<u64>,
}

impl KeepingOptions {
    /// What suits a cache whose writes write out from `dirty_percent` on: four fifths of it are
    /// `high`, and half of it `low`.
    #[must_use]
    pub const fn below(dirty_percent: u8) -> KeepingOptions {
        KeepingOptions {
            idle: Some(Duration::from_secs(1)),
            high_percent: dirty_percent - dirty_percent / 5,
            low_percent: dirty_percent / 2,
            rate_bytes_per_second: None,
        }
    }
}

impl Default for CacheOptions {
    fn default() -> CacheOptions {
        CacheOptions {
            mode: CacheMode::WriteThrough,
            block_bytes: 4096,
            policy: PolicyKind::default(),
            admission: AdmissionOptions::default(),
            dirty_percent: 50,
            keeping: KeepingOptions::below(50),
        }
    }
}
