//! What `raidloom choose` answers: the layout to take, what else there is, and what is not known.
//! Values only: `lab` makes them, `report` puts them into words.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::claim::Answer;
use crate::statistics::Interval;
use crate::types::ModelError;

/// Where the figures come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figures {
    /// Of modelled drives.
    Modelled,
    /// Of models that stand for drives that are there, and were not measured.
    StandIns,
    /// Measured on files, which may lie on one disk.
    Files,
    /// Measured on the drives.
    Measured,
    /// There are none: the work takes a guest, and there is no kernel for guests here.
    NotRun,
}

impl Figures {
    /// Whether they are a model's.
    #[must_use]
    pub fn are_modelled(self) -> bool {
        matches!(self, Self::Modelled | Self::StandIns)
    }
}

/// Drives that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveGroup {
    /// How many.
    pub count: usize,
    /// Maker and product, or what else is known of it.
    pub title: String,
    /// Bytes of each.
    pub size_bytes: u64,
    /// The model that was measured in its place; none where that is what it is, or none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<String>,
}

/// What drives cost, by the prices that were said.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Those that are taken, together.
    pub total: f64,
    /// What they may; none where nothing was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Of so many drives they were taken.
    pub offered: usize,
}

/// How redundancy is had, as people call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// RAID 0: none.
    Stripe,
    /// RAID 1: every drive holds everything.
    Mirror,
    /// RAID 10, copies beside each other (md's `near`).
    NearCopies,
    /// RAID 10, copies in the second half of the next drive (md's `far`).
    FarCopies,
    /// RAID 5.
    Parity,
    /// RAID 6.
    DoubleParity,
}

/// A layout and what it offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// How redundancy is had.
    pub scheme: Scheme,
    /// Copies of everything; 1 where there are none.
    pub copies: u32,
    /// Drives that hold data.
    pub drives: usize,
    /// Drives that stand by.
    pub spares: usize,
    /// Bytes on one drive before the next has its turn; none of a mirror.
    pub chunk_bytes: Option<u64>,
    /// Bytes that it offers, before superblocks and file system.
    pub usable_bytes: u64,
    /// How many drives may die, whichever they are.
    pub survives: u32,
    /// Of how many pairs of its drives it survives the loss.
    pub pairs: Share,
}

/// So many of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// So many.
    pub count: usize,
    /// Of so many.
    pub of: usize,
}

/// One kind of access, compared with the pick's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadRatio {
    /// The workload's name in the profile.
    pub workload: String,
    /// Times as fast as the pick.
    pub ratio: f64,
    /// Where that may lie; none for figures in the model alone.
    pub interval: Option<Bounds>,
}

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl From<Interval> for Bounds {
    fn from(interval: Interval) -> Self {
        Self { low: interval.low, high: interval.high }
    }
}

/// What the claim about two layouts comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contrast {
    /// It is surely faster than the pick.
    Faster,
    /// It is surely slower.
    Slower,
    /// They differ by less than matters.
    Same,
    /// They could not be told apart.
    NotToldApart,
    /// It is slower by these figures: in the model by less than such models were off, or by the
    /// very trials that the pick was made by.
    Indicated,
}

impl Contrast {
    /// Whether the order of the two is sure.
    #[must_use]
    pub fn is_sure(self) -> bool {
        matches!(self, Self::Faster | Self::Slower)
    }

    /// Of a claim about the other one against the pick.
    #[must_use]
    pub fn of(answer: Answer) -> Self {
        match answer {
            Answer::Ahead => Self::Faster,
            Answer::Behind => Self::Slower,
            Answer::Same => Self::Same,
            Answer::Open => Self::NotToldApart,
        }
    }
}

/// The best of another scheme beside the pick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rival {
    /// What it is.
    pub layout: Layout,
    /// Times as fast as the pick, for all of the work.
    pub ratio: f64,
    /// Where that may lie; none for figures in the model alone.
    pub interval: Option<Bounds>,
    /// What that comes to.
    pub contrast: Contrast,
    /// The workload in which it is furthest behind the pick, and that in which it does best.
    pub extremes: Vec<WorkloadRatio>,
    /// Its usable bytes less the pick's.
    pub more_bytes: i64,
    /// How far models of the two were off; none for measured figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_error: Option<ModelError>,
    /// What drawn sets of the models' parameters make of the ratio; none where none were drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<DrawnSets>,
}

/// What sets of parameters, drawn from between what they lie, make of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnSets {
    /// How many.
    pub sets: u32,
    /// In how many of them it is faster than the pick.
    pub ahead: u32,
    /// The least ratio of a set, and the greatest.
    pub ratios: Bounds,
    /// How far the widest set is from the model as it stands, as a factor of 1 or more.
    pub factor: f64,
}

impl Rival {
    /// Takes in the ratios of drawn sets: what is sure has to differ by more than the class's error
    /// and the widest set together.
    pub fn widen(&mut self, ratios: &[f64]) {
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(0.0, f64::max);
        if ratios.is_empty() || low <= 0.0 || self.ratio <= 0.0 {
            return;
        }
        let factor = (self.ratio / low).max(high / self.ratio).max(1.0);
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        self.drawn = Some(DrawnSets {
            sets: count(ratios.len()),
            ahead: count(ratios.iter().filter(|ratio| **ratio > 1.0).count()),
            ratios: Bounds { low, high },
            factor,
        });
        let reach = self.model_error.map(|known| (1.0 + known.error) * factor);
        let is_beyond = reach.is_some_and(|reach| self.ratio.max(1.0 / self.ratio) >= reach);
        if self.contrast.is_sure() && !is_beyond {
            self.contrast = Contrast::Indicated;
        }
    }
}

/// What a cache before a layout does with writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheWrites {
    /// They are answered when the layout has them: a power cut loses nothing more than without it.
    WriteThrough,
    /// They are answered from the cache: a power cut loses what was not flushed.
    WriteBack,
}

impl fmt::Display for CacheWrites {
    /// As stack texts have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CacheWrites::WriteThrough => "write-through",
            CacheWrites::WriteBack => "write-back",
        })
    }
}

/// The pick with a cache of memory before it, beside the pick alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CachedPick {
    /// What becomes of writes.
    pub mode: CacheWrites,
    /// Bytes of memory.
    pub size_bytes: u64,
    /// Times as fast as the pick alone.
    pub ratio: f64,
    /// Where that may lie; none for figures in the model alone.
    pub interval: Option<Bounds>,
    /// What that comes to.
    pub contrast: Contrast,
    /// Whether it misses a bound that was asked for.
    pub is_too_late: bool,
}

/// How long a drive that died takes to be filled anew, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rebuild {
    /// With no other work: at the speed of the slowest drive's model, or at the most that a rebuild
    /// takes by default (`sync_speed_max`).
    pub idle_seconds: f64,
    /// Beside work that never pauses: at the rate down to which a rebuild yields by default
    /// (`sync_speed_min`).
    pub busy_seconds: f64,
    /// The chance that so many more drives die in the idle time that data are lost.
    pub loss_chance: f64,
    /// The same in the busy time.
    pub busy_loss_chance: f64,
    /// What that takes as the share of drives that die in a year.
    pub annual_failure_rate: f64,
    /// Times as fast as whole the work runs meanwhile; none where that was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_ratio: Option<f64>,
}

/// What pulled plugs left of such a layout, in the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerCuts {
    /// The file system that was worked in.
    #[serde(default)]
    pub file_system: String,
    /// Cuts behind promises.
    pub cuts: u64,
    /// Of these, cuts that lost something acknowledged.
    pub lost: u64,
    /// At most so many in a hundred do, at 95 %.
    pub at_most_percent: f64,
}

/// Why a layout was not a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "condition", rename_all = "snake_case")]
pub enum Condition {
    /// It survives fewer drives than was asked.
    Survives {
        /// So many.
        losses: u32,
    },
    /// It offers less than was asked.
    Capacity {
        /// So many bytes.
        usable_bytes: u64,
    },
    /// Three copies and more are proposed only where nothing else survives two drives.
    ManyCopies,
    /// A smaller drive in it costs more than it brings: fewer drives offer twice as much.
    SmallDrive {
        /// It offers so many bytes.
        usable_bytes: u64,
    },
    /// A measured figure is above what was asked.
    Latency,
    /// It was far behind when a part of a recording was replayed, and was not run with all of it.
    Slower {
        /// So many of 100 requests.
        percent: u64,
    },
}

/// A layout that was not taken into account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedLayout {
    /// Which.
    pub layout: Layout,
    /// Why.
    #[serde(flatten)]
    pub by: Condition,
}

/// What is to be taken, and all that is said beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// What there was to choose with.
    pub drives: Vec<DriveGroup>,
    /// What those cost that it takes; none where no price was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Drives that died while they were measured; everything below is of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_drives: Vec<String>,
    /// The work, as people call it.
    pub work: String,
    /// How many requests a recording has that is the work; none where the work is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_requests: Option<u64>,
    /// How many drives may die at once, as was asked.
    pub survive: u32,
    /// Where the figures come from.
    pub figures: Figures,
    /// What to take.
    pub pick: Layout,
    /// Its configuration in the run.
    pub configuration: String,
    /// The file system that is to be on it.
    pub file_system: Option<String>,
    /// Whether it was part of the work; otherwise the array alone was run.
    #[serde(default)]
    pub file_system_was_run: bool,
    /// Whether the work was done in guests, where computing takes no time.
    #[serde(default)]
    pub work_was_in_guests: bool,
    /// Whether redundant layouts were run with the write-intent bitmap that they are made with.
    #[serde(default)]
    pub bitmap_was_run: bool,
    /// Times as fast with that bitmap, where layouts were run without; none where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitmap_ratio: Option<f64>,
    /// Between which chunks there is no difference for this work; none where one is better, or
    /// none were compared.
    pub same_chunks: Option<[u64; 2]>,
    /// The best of other schemes, fastest first.
    pub rivals: Vec<Rival>,
    /// Times as fast with a drive missing; none where that was not run.
    pub degraded: Option<f64>,
    /// None where the speed of the drives is not known, or nothing is redundant.
    pub rebuild: Option<Rebuild>,
    /// None where no such layout was cut.
    pub power_cuts: Option<PowerCuts>,
    /// Whether any of the drives is of flash, as far as models say.
    pub has_flash: bool,
    /// Whether models say how all of the drives write: of shingled ones they do not.
    pub writes_are_modelled: bool,
    /// How far such models were off; none for measured figures.
    pub model_error: Option<ModelError>,
    /// What was not taken into account.
    pub removed: Vec<RemovedLayout>,
    /// What raidloom makes it with.
    pub command: String,
    /// What md makes it with; none where a drive is a file, which md does not take.
    pub md_commands: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sure(ratio: f64, error: f64) -> Rival {
        let layout = Layout {
            scheme: Scheme::Stripe,
            copies: 1,
            drives: 2,
            spares: 0,
            chunk_bytes: None,
            usable_bytes: 1,
            survives: 0,
            pairs: Share { count: 0, of: 1 },
        };
        Rival {
            layout,
            ratio,
            interval: None,
            contrast: Contrast::Slower,
            extremes: Vec::new(),
            more_bytes: 0,
            model_error: Some(ModelError { error, cases: 20 }),
            drawn: None,
        }
    }

    /// The class says 1.5 at most, and the ratio is 1/1.8: sure, as long as the sets move it by
    /// less than 1.2.
    #[test]
    fn drawn_sets_take_away_what_was_sure() {
        let with = |ratios: &[f64]| {
            let mut rival = sure(1.0 / 1.8, 0.5);
            rival.widen(ratios);
            rival
        };
        let near = with(&[0.5, 0.55, 0.6]);
        assert!(near.contrast == Contrast::Slower && near.drawn.unwrap().factor < 1.2, "{near:?}");
        let wide = with(&[0.55, 0.7]);
        assert_eq!((wide.contrast, wide.drawn.unwrap().ahead), (Contrast::Indicated, 0));
        let other = with(&[0.3, 0.55, 1.1]);
        let drawn = other.drawn.unwrap();
        assert_eq!((other.contrast, drawn.sets, drawn.ahead), (Contrast::Indicated, 3, 1));
        assert_eq!((drawn.ratios.low, drawn.ratios.high), (0.3, 1.1));
        // Nothing drawn changes nothing, and what was not sure does not become so.
        assert_eq!(with(&[]), sure(1.0 / 1.8, 0.5));
        let mut open = Rival { contrast: Contrast::Same, ..sure(1.0, 0.5) };
        open.widen(&[1.0, 1.01]);
        assert_eq!(open.contrast, Contrast::Same);
    }
}
