//! Parts of a run, for several machines; [`merge`](crate::merge) makes them one again.
//!
//! ```text
//!   plan ──┬─ run --shard 1/3 ──> folder ──┐   modelled trials: every third
//!          ├─ run --shard 2/3 ──> folder ──┼── merge ──> one run: every trial once, in the order
//!          └─ run --shard 3/3 ──> folder ──┘   measured blocks: every third      of its plan
//! ```
//!
//! A modelled trial depends on nothing but the plan's seed, its cell and its block, so that any
//! machine may have it. A measured one is compared with the others of its block, which therefore
//! stays on one machine.

use std::fmt;
use std::str::FromStr;

use host::Error;
use results::course::Course;
use results::{Clock, Plan};
use serde::{Deserialize, Serialize};
use words::{Text, statement};

use crate::catalogue;

/// Which part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// From 1.
    number: u32,
    /// Into how many parts the run is cut.
    count: u32,
}

/// How many trials a run or a part of one has, as far as it is known.
pub(crate) fn trials(part: Option<Shard>, course: &Course<'_>, plan: &Plan) -> usize {
    part.map_or_else(|| course.trials(), |shard| shard.trials(plan))
}

/// Whether a plan has trials that depend on the machine.
pub(crate) fn is_measured(plan: &Plan) -> bool {
    plan.configurations.iter().any(|one| one.clock == Clock::Wall)
}

/// What the folder of a part says of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    #[serde(flatten)]
    pub(crate) shard: Shard,
    /// Tells machines apart: a checksum of what each calls itself, which says nothing of it.
    pub(crate) machine: String,
}

impl Part {
    /// Of this machine.
    pub(crate) fn here(shard: Shard) -> Part {
        let id = std::fs::read("/etc/machine-id").unwrap_or_default();
        let name = rustix::system::uname().nodename().to_bytes().to_vec();
        Part { shard, machine: format!("{:08x}", crc32c::crc32c(&[id, name].concat())) }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = Text;

    fn from_str(text: &str) -> Result<Shard, Text> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(one, all)| Some((one.parse().ok()?, all.parse().ok()?)));
        match numbers {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Shard { number, count }),
            _ => Err(statement!(catalogue::SHARD_EXPECTED, text = text)),
        }
    }
}

impl Shard {
    /// Whether a visit of a configuration, by its place in the plan, belongs to the part.
    pub(crate) fn has(self, plan: &Plan, configuration: usize, block: u32) -> bool {
        let place = match plan.configurations[configuration].clock {
            Clock::Virtual => {
                u64::from(block) * plan.configurations.len() as u64 + configuration as u64
            }
            Clock::Wall => u64::from(block),
        };
        place % u64::from(self.count) == u64::from(self.number - 1)
    }

    /// Whether a plan can be cut so.
    ///
    /// # Errors
    /// Where trials of the whole run decide about those that follow, or there are more parts than
    /// blocks of measured trials.
    pub(crate) fn check(self, plan: &Plan) -> Result<(), Error> {
        match Shard::uncut(plan, self.count) {
            Some(reason) => Err(Error::usage(reason).at(format!("--shard {self}"))),
            None => Ok(()),
        }
    }

    /// Why a plan cannot be cut into so many parts; nothing where it can.
    pub(crate) fn uncut(plan: &Plan, count: u32) -> Option<Text> {
        let course = Course::new(plan, &[]);
        let because = if course.is_race() {
            catalogue::RACE_UNCUT
        } else if course.is_until_decided() {
            catalogue::DECIDED_UNCUT
        } else if !course.budget().is_default() {
            catalogue::BUDGET_UNCUT
        } else if count > plan.blocks && is_measured(plan) {
            return Some(statement!(catalogue::BLOCKS_UNCUT, blocks = plan.blocks));
        } else {
            return None;
        };
        Some(statement!(catalogue::PLAN_UNCUT, because = because))
    }

    /// All parts of a run that is cut into so many.
    pub(crate) fn all(count: u32) -> impl Iterator<Item = Shard> {
        (1..=count).map(move |number| Shard { number, count })
    }

    /// Into how many parts the run is cut.
    pub(crate) fn count(self) -> u32 {
        self.count
    }

    /// Which of them it is, from 1.
    pub(crate) fn number(self) -> u32 {
        self.number
    }

    /// How many trials the part has.
    pub(crate) fn trials(self, plan: &Plan) -> usize {
        let visits = (0..plan.blocks).map(|block| {
            let configurations = 0..plan.configurations.len();
            configurations.filter(|one| self.has(plan, *one, block)).count()
        });
        visits.sum::<usize>() * plan.workloads.len()
    }

    /// What is said of the run of one part.
    pub(crate) fn note(self) -> Text {
        statement!(catalogue::SHARD_OF_RUN, shard = self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_so_many() {
        for (text, number, count) in [("1/1", 1, 1), ("2/8", 2, 8), ("64/64", 64, 64)] {
            assert_eq!(text.parse(), Ok(Shard { number, count }));
            assert_eq!(Shard { number, count }.to_string(), text);
        }
        for wrong in ["", "0/8", "9/8", "1/0", "1", "a/2", "1/2/3", "-1/2"] {
            let error = wrong.parse::<Shard>().unwrap_err();
            let expected = format!("`{wrong}` is no shard; expected one of so many, such as 2/8");
            assert_eq!(error.english(), expected);
        }
    }
}
