//! What becomes of that which need not survive.
//!
//! A policy decides, for every request that is not durable, whether it is there afterwards: whole,
//! not at all, or each atomic unit by itself. All of them stay within what the contract permits, so
//! whatever breaks under one of them is broken.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use reactor::{Random, derive_seed};
use words::{Text, statement};

use crate::catalogue;

/// What a drive writes whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// A request, however long.
    Request,
    /// Aligned units of so many bytes.
    Unit(u32),
}

/// How the rest is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Everything that had arrived is there.
    KeepAll,
    /// Nothing is there that need not be.
    KeepNone,
    /// A drive as they are sold: its cache holds so much, nothing stays in it for longer than so
    /// long, and of what is in it each request is there or not with even chances; what was just
    /// arriving may be torn.
    Typical {
        /// The size of the cache.
        cache_bytes: u64,
        /// How long a write waits in it at most.
        age_nanoseconds: u64,
        /// What it does not tear.
        tear: Tear,
    },
    /// Whatever had completed is there, and what was just arriving perhaps: a drive that keeps its
    /// power, a cache that drains.
    Drained {
        /// What it does not tear.
        tear: Tear,
    },
    /// What the drives' models say: what is on the media is there and what was in the cache is
    /// not, for logs that know it.
    Media,
    /// Each request, or each atomic unit, is there with this chance.
    Random {
        /// The chance, in per cent.
        percent: u8,
        /// What is chosen at once.
        tear: Tear,
    },
    /// All but one request are there.
    DropOne,
    /// Only one request is there.
    KeepOne,
    /// The request of each bit that is set is there, in the order of their arrival, over all
    /// drives: for going through all of them.
    Subset(u64),
}

impl Policy {
    /// The policies of the hunt.
    #[must_use]
    pub fn hunt() -> Vec<Policy> {
        let whole = |percent| Policy::Random { percent, tear: Tear::Request };
        let torn = |percent, unit| Policy::Random { percent, tear: Tear::Unit(unit) };
        vec![
            Policy::KeepNone,
            whole(10),
            whole(50),
            whole(90),
            torn(50, 4096),
            torn(50, 512),
            Policy::DropOne,
            Policy::KeepOne,
        ]
    }

    /// The unit in which it chooses, where that is smaller than a request.
    #[must_use]
    pub fn unit_bytes(&self) -> Option<u32> {
        match self {
            Policy::Typical { tear: Tear::Unit(unit), .. }
            | Policy::Drained { tear: Tear::Unit(unit) }
            | Policy::Random { tear: Tear::Unit(unit), .. } => Some(*unit),
            _ => None,
        }
    }
}

impl fmt::Display for Tear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tear::Request => f.write_str("request"),
            Tear::Unit(bytes) => write!(f, "{bytes}"),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::KeepAll => f.write_str("keep-all"),
            Policy::KeepNone => f.write_str("keep-none"),
            Policy::Typical { cache_bytes, age_nanoseconds, tear } => {
                write!(f, "typical:{cache_bytes}:{age_nanoseconds}:{tear}")
            }
            Policy::Drained { tear } => write!(f, "drained:{tear}"),
            Policy::Random { percent, tear } => write!(f, "random:{percent}:{tear}"),
            Policy::Media => f.write_str("media"),
            Policy::DropOne => f.write_str("drop-one"),
            Policy::KeepOne => f.write_str("keep-one"),
            Policy::Subset(bits) => write!(f, "subset:{bits}"),
        }
    }
}

impl FromStr for Policy {
    type Err = Text;

    fn from_str(text: &str) -> Result<Policy, Text> {
        let wrong = || statement!(catalogue::NO_LOSS_POLICY, text = text);
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        let number = |at: usize| -> Result<u64, Text> {
            words.get(at).and_then(|word| word.parse().ok()).ok_or_else(wrong)
        };
        let tear = |at: usize| match words.get(at) {
            Some(&"request") => Ok(Tear::Request),
            _ => {
                let unit = u32::try_from(number(at)?).map_err(|_| wrong())?;
                let fits = unit.is_power_of_two() && unit >= 512;
                fits.then_some(Tear::Unit(unit)).ok_or_else(wrong)
            }
        };
        let (policy, count) = match name {
            "keep-all" => (Policy::KeepAll, 0),
            "keep-none" => (Policy::KeepNone, 0),
            "media" => (Policy::Media, 0),
            "drop-one" => (Policy::DropOne, 0),
            "keep-one" => (Policy::KeepOne, 0),
            "subset" => (Policy::Subset(number(0)?), 1),
            "drained" => (Policy::Drained { tear: tear(0)? }, 1),
            "random" => {
                let percent = number(0)?;
                if percent > 100 {
                    return Err(wrong());
                }
                (Policy::Random { percent: percent as u8, tear: tear(1)? }, 2)
            }
            "typical" => {
                let (cache_bytes, age_nanoseconds) = (number(0)?, number(1)?);
                (Policy::Typical { cache_bytes, age_nanoseconds, tear: tear(2)? }, 3)
            }
            _ => return Err(wrong()),
        };
        if words.len() == count { Ok(policy) } else { Err(wrong()) }
    }
}

/// A request that is not durable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VolatileRequest {
    pub(crate) request: u32,
    pub(crate) drive: u16,
    pub(crate) length: u64,
    /// What its drive never tears.
    pub(crate) block_bytes: u32,
    /// When it completed, as a count of events and a time; not while it is in flight.
    pub(crate) completed: Option<(u32, u64)>,
}

/// What becomes of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    Dropped,
    /// Each unit of so many bytes by itself, with a chance in per cent.
    Torn(u32, u8),
}

impl Fate {
    /// Whether what the request put at `offset` is there.
    pub(crate) fn keeps(self, seed: u64, request: u32, offset: u64) -> bool {
        match self {
            Fate::Kept => true,
            Fate::Dropped => false,
            Fate::Torn(unit, percent) => {
                let number = (offset / u64::from(unit)) ^ (u64::from(request) << 40);
                derive_seed(seed, "unit", number) % 100 < u64::from(percent)
            }
        }
    }
}

/// What becomes of requests that are not durable, which stand in the order of their arrival.
pub(crate) fn fates(
    policy: Policy,
    volatile: &[VolatileRequest],
    now: u64,
    seed: u64,
) -> HashMap<u32, Fate> {
    let mut random = Random::with_seed(derive_seed(seed, "fates", 0));
    let one = if volatile.is_empty() { 0 } else { random.usize(..volatile.len()) };
    let even = |is: bool| if is { Fate::Kept } else { Fate::Dropped };
    let torn = |tear, percent, block_bytes: u32, random: &mut Random| match tear {
        Tear::Request => even(random.u8(..100) < percent),
        Tear::Unit(bytes) => Fate::Torn(bytes.max(block_bytes), percent),
    };
    let drained = match policy {
        Policy::Typical { cache_bytes, age_nanoseconds, .. } => {
            drained(volatile, cache_bytes, now.saturating_sub(age_nanoseconds))
        }
        _ => Vec::new(),
    };
    let mut fate = |index: usize, volatile: &VolatileRequest| match policy {
        Policy::KeepAll => Fate::Kept,
        // What is on the media is known where it lies.
        Policy::KeepNone | Policy::Media => Fate::Dropped,
        Policy::Typical { .. } if drained[index] => Fate::Kept,
        Policy::Typical { tear, .. } if volatile.completed.is_none() => {
            torn(tear, 50, volatile.block_bytes, &mut random)
        }
        Policy::Typical { .. } => even(random.bool()),
        Policy::Drained { .. } if volatile.completed.is_some() => Fate::Kept,
        Policy::Drained { tear } => torn(tear, 50, volatile.block_bytes, &mut random),
        Policy::Random { percent, tear } => torn(tear, percent, volatile.block_bytes, &mut random),
        Policy::DropOne => even(index != one),
        Policy::KeepOne => even(index == one),
        Policy::Subset(bits) => even(index < 64 && bits >> index & 1 == 1),
    };
    let fates = volatile.iter().enumerate();
    fates.map(|(index, volatile)| (volatile.request, fate(index, volatile))).collect()
}

/// Which of them have left a cache of this size by themselves, or completed before `oldest`.
fn drained(volatile: &[VolatileRequest], cache_bytes: u64, oldest: u64) -> Vec<bool> {
    let mut drained = vec![false; volatile.len()];
    let mut newest_first: Vec<usize> = (0..volatile.len()).collect();
    newest_first.sort_by_key(|&index| std::cmp::Reverse(volatile[index].completed));
    let mut held: HashMap<u16, u64> = HashMap::new();
    for index in newest_first {
        let Some((_, time)) = volatile[index].completed else { continue };
        let held = held.entry(volatile[index].drive).or_default();
        *held += volatile[index].length;
        drained[index] = time < oldest || *held > cache_bytes;
    }
    drained
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Vec<VolatileRequest> {
        let volatile = |request, completed| VolatileRequest {
            request,
            drive: 0,
            length: 4096,
            block_bytes: 512,
            completed,
        };
        vec![volatile(4, Some((10, 1000))), volatile(5, Some((12, 5000))), volatile(7, None)]
    }

    fn kept(policy: Policy, seed: u64) -> Vec<bool> {
        let fates = fates(policy, &three(), 6000, seed);
        [4, 5, 7].map(|request| fates[&request].keeps(seed, request, 0)).to_vec()
    }

    #[test]
    fn policies_keep_what_they_say() {
        for seed in 0..50 {
            assert_eq!(kept(Policy::KeepAll, seed), [true; 3]);
            assert_eq!(kept(Policy::KeepNone, seed), [false; 3]);
            assert_eq!(kept(Policy::Subset(0b101), seed), [true, false, true]);
            assert_eq!(kept(Policy::DropOne, seed).iter().filter(|kept| **kept).count(), 2);
            assert_eq!(kept(Policy::KeepOne, seed).iter().filter(|kept| **kept).count(), 1);
            assert_eq!(kept(Policy::Drained { tear: Tear::Unit(512) }, seed)[..2], [true; 2]);
            let typical = |cache_bytes, age_nanoseconds| {
                kept(Policy::Typical { cache_bytes, age_nanoseconds, tear: Tear::Request }, seed)
            };
            assert!(typical(1 << 20, 2000)[0], "it has left the cache by its age");
            assert!(typical(4096, 1 << 30)[0], "the one after it took its place");
        }
        let some = (0..50).map(|seed| kept(Policy::DropOne, seed)).collect::<Vec<_>>();
        assert!((0..3).all(|index| some.iter().any(|kept| !kept[index])), "each is dropped once");
    }

    #[test]
    fn a_policy_is_read_as_it_is_written() {
        let unit = Tear::Unit(4096);
        let typical = Policy::Typical { cache_bytes: 1, age_nanoseconds: 2, tear: Tear::Request };
        let drained = Policy::Drained { tear: unit };
        let others = [Policy::KeepAll, typical, drained, Policy::Subset(9), Policy::Media];
        for policy in Policy::hunt().into_iter().chain(others) {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        for wrong in ["", "random", "random:101:request", "random:5:500", "keep-all:1", "typical:1"]
        {
            assert!(
                wrong.parse::<Policy>().unwrap_err().english().contains("no such policy"),
                "{wrong}"
            );
        }
    }
}
