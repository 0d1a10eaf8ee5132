//! What is tested, and the drives that it is tested on.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use block::{Device, Node, Reactor};
use export::RemovalPolicy;
use host::Error;
use host::mount::FileSystem;
use mdtools::NewArraySettings;
use pull::{
    AdvertisedTraits, DataArrival, DriveFault, Extent, Media, MediaTransfer, Policy, Recorder, Work,
};
use reactor::derive_seed;
use serde::{Deserialize, Serialize};
use serve::{OpenOptions, OpenStack};
use stack::{FaultControl, FaultDevice, FaultOptions, MediaNote, ModelDevice, Models};
use words::{Text, statement};

use super::drives::{self, Drives};
use super::program::OwnProgram;
use crate::pull::catalogue;

/// How the drives behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// A volatile cache of a size, that nothing stays in for long.
    Typical,
    /// Whatever the rules permit, each unit by itself.
    Strict,
    /// No volatile cache.
    WriteThrough,
    /// Flushes are answered and not carried out.
    LyingFlush,
    /// FUA is answered and not carried out.
    LyingFua,
    /// As its model says, in guests: what of its cache had come to the media at the moment of the
    /// cut is there, and nothing else of it.
    Model,
}

impl Behaviour {
    /// Whether drives do what they say: figures of those that do not are never added to others.
    #[must_use]
    pub fn is_honest(self) -> bool {
        !matches!(self, Behaviour::LyingFlush | Behaviour::LyingFua)
    }
}

impl FromStr for Behaviour {
    type Err = Text;

    fn from_str(text: &str) -> Result<Behaviour, Text> {
        Ok(match text {
            "typical" => Behaviour::Typical,
            "strict" => Behaviour::Strict,
            "write-through" => Behaviour::WriteThrough,
            "lying" => Behaviour::LyingFlush,
            "lying-fua" => Behaviour::LyingFua,
            "model" => Behaviour::Model,
            _ => return Err(statement!(catalogue::NO_BEHAVIOUR, text = text)),
        })
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PullEvent {
    /// The power of host and drives fails.
    Power,
    /// The drives lose power and host: what they cached is gone.
    Yank,
    /// The drives lose the host alone: what they cached they write out.
    Cable,
    /// Host or serving process end, the drives keep their power.
    Kill,
}

impl FromStr for PullEvent {
    type Err = Text;

    fn from_str(text: &str) -> Result<PullEvent, Text> {
        Ok(match text {
            "power" => PullEvent::Power,
            "yank" => PullEvent::Yank,
            "cable" => PullEvent::Cable,
            "kill" => PullEvent::Kill,
            _ => return Err(statement!(catalogue::NO_EVENT, text = text)),
        })
    }
}

/// Which drives do not come back with the power, or come back older than the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostMember {
    /// All come back.
    #[default]
    None,
    /// One, another one in each state.
    Random,
    /// Two at once, another two in each state.
    RandomTwo,
    /// The one of this number, counted from 0 in the order in which the stack names them.
    Number(u32),
    /// The two of these numbers.
    Two(u32, u32),
    /// The one of this number falls out before the work begins, and is back after the cut with what
    /// it held then.
    Stale(u32),
    /// The first of these is back so, and the second is lost with the power.
    StaleAndLost(u32, u32),
}

impl LostMember {
    /// The drive that falls out before the work begins.
    #[must_use]
    pub fn stale(self) -> Option<usize> {
        match self {
            LostMember::Stale(number) | LostMember::StaleAndLost(number, _) => {
                Some(number as usize)
            }
            _ => None,
        }
    }

    /// The drives that are lost in a state, of so many.
    pub(super) fn of(self, drives: usize, seed: u64) -> Vec<usize> {
        let drawn = |number: u64, of: usize| {
            (derive_seed(seed, "lost member", number) % of.max(1) as u64) as usize
        };
        match self {
            LostMember::None | LostMember::Stale(_) => Vec::new(),
            LostMember::Random => vec![drawn(0, drives)],
            LostMember::RandomTwo => {
                let first = drawn(0, drives);
                let second = drawn(1, drives.saturating_sub(1));
                vec![first, if second < first { second } else { second + 1 }]
            }
            LostMember::Number(number) | LostMember::StaleAndLost(_, number) => {
                vec![number as usize]
            }
            LostMember::Two(first, second) => vec![first as usize, second as usize],
        }
    }

    /// Whether so many drives have those that are named.
    ///
    /// # Errors
    /// That they have not, and which numbers there are.
    pub fn check(self, drives: usize) -> Result<(), Text> {
        let is_drawn = matches!(self, LostMember::Random | LostMember::RandomTwo);
        let named = self.of(drives, 0).into_iter().chain(self.stale());
        match !is_drawn && named.into_iter().any(|number| number >= drives) {
            true => Err(statement!(catalogue::DRIVES_COUNTED, last = drives.saturating_sub(1))),
            false if self == LostMember::RandomTwo && drives < 2 => {
                Err(catalogue::ONE_DRIVE_ONLY.into())
            }
            false => Ok(()),
        }
    }
}

impl fmt::Display for LostMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LostMember::None => f.write_str("none"),
            LostMember::Random => f.write_str("random"),
            LostMember::RandomTwo => f.write_str("random+random"),
            LostMember::Number(number) => write!(f, "{number}"),
            LostMember::Two(first, second) => write!(f, "{first}+{second}"),
            LostMember::Stale(number) => write!(f, "stale:{number}"),
            LostMember::StaleAndLost(stale, lost) => write!(f, "stale:{stale}+{lost}"),
        }
    }
}

impl FromStr for LostMember {
    type Err = Text;

    fn from_str(text: &str) -> Result<LostMember, Text> {
        let number = |number: &str| {
            number.parse::<u32>().map_err(|_| statement!(catalogue::LOST_EXPECTED, text = text))
        };
        let (is_stale, named) = match text.strip_prefix("stale:") {
            Some(named) => (true, named),
            None => (false, text),
        };
        Ok(match (named, named.split_once('+')) {
            (_, None) if is_stale => LostMember::Stale(number(named)?),
            ("none", _) => LostMember::None,
            ("random", _) => LostMember::Random,
            ("random+random", _) => LostMember::RandomTwo,
            (_, None) => LostMember::Number(number(named)?),
            (_, Some((first, second))) => {
                let (first, second) = (number(first)?, number(second)?);
                if first == second {
                    return Err(statement!(catalogue::DRIVE_NAMED_TWICE, text = text));
                }
                match is_stale {
                    true => LostMember::StaleAndLost(first, second),
                    false => LostMember::Two(first, second),
                }
            }
        })
    }
}

/// Who starts an array from what a crash has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Starter {
    /// Whose array was recorded.
    #[default]
    Same,
    /// raidloom.
    Raidloom,
    /// The guest's own md.
    Md,
}

/// What works on the file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WorkSource {
    /// A built-in work.
    BuiltIn(Work),
    /// A program of the user's own.
    Program(OwnProgram),
}

/// What is tested, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Options {
    /// The stack, over drives of our own.
    #[serde(with = "super::text::stack")]
    pub stack: Node,
    /// Their sizes in bytes.
    pub drive_bytes: Vec<u64>,
    /// The models of those that take modelled time while the work is recorded, as the text of a
    /// leaf; in guests only. The others take none.
    #[serde(default)]
    pub drive_models: Vec<Option<String>>,
    /// The memory in bytes of the guests in which all is done; nothing where it is done with this
    /// machine's kernel.
    #[serde(default)]
    pub guest_memory_bytes: Option<u64>,
    /// The name of the kernel of those guests; the usual one without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest_kernel: Option<String>,
    /// The array that the guest's own md makes of the drives: then nothing but the drives counts of
    /// the stack.
    #[serde(default)]
    pub md: Option<String>,
    /// Who starts it after the crash, in guests: states of one's array can be the other's to start.
    #[serde(default)]
    pub starter: Starter,
    /// Whether the array has all of its members while it is worked on; in guests only.
    #[serde(default, with = "super::text::state")]
    pub state: guest::ArrayCompleteness,
    /// Linux in the guest is told that its disks have no cache, and flushes none of them.
    #[serde(default)]
    pub unflushed: bool,
    /// How an array with superblocks is made.
    pub new_array: Option<NewArraySettings>,
    /// Whether arrays and caches are kept up.
    pub upkeep: bool,
    /// The file system.
    #[serde(with = "super::text::file_system")]
    pub file_system: FileSystem,
    /// Options for making it.
    pub make_options: Option<String>,
    /// Options for mounting it.
    pub mount_options: Option<String>,
    /// When writes of the export are durable.
    #[serde(with = "super::text::removal")]
    pub removal: RemovalPolicy,
    /// What works on it.
    pub work: WorkSource,
    /// How much.
    pub extent: Extent,
    /// States of the user's figure.
    pub pulls: u32,
    /// States of the hunt, a sample of its own.
    pub hunt: u32,
    /// They are spread over so many recordings.
    pub recordings: u32,
    /// How the drives behave.
    pub behaviour: Behaviour,
    /// What happens.
    pub happening: PullEvent,
    /// Bytes of each drive's cache.
    pub cache_bytes: u64,
    /// How long a write stays in it at most.
    pub cache_milliseconds: u64,
    /// What a drive never tears.
    pub tear_bytes: u32,
    /// Which drive is lost together with the power.
    #[serde(default)]
    pub lost_member: LostMember,
    /// Everything random follows from it.
    pub seed: u64,
    /// Where states that broke something are kept.
    pub keep_failing: Option<PathBuf>,
    /// The first recording as dm-log-writes has it.
    pub log_writes: Option<PathBuf>,
    /// A log of dm-log-writes in the place of recordings.
    #[serde(default)]
    pub import: Option<ImportSource>,
}

/// A log of dm-log-writes from which states are made, and nothing is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportSource {
    /// The log.
    pub log: PathBuf,
    /// What the drive held before it; zeroes without it.
    pub base: Option<PathBuf>,
}

impl Options {
    /// The program of the user's own that works, if one does.
    #[must_use]
    pub fn own_program(&self) -> Option<&OwnProgram> {
        match &self.work {
            WorkSource::BuiltIn(_) => None,
            WorkSource::Program(own) => Some(own),
        }
    }

    pub(super) fn advertised(&self) -> AdvertisedTraits {
        AdvertisedTraits {
            volatile_cache: self.behaviour != Behaviour::WriteThrough,
            fua: matches!(
                self.behaviour,
                Behaviour::Strict | Behaviour::LyingFua | Behaviour::Model
            ),
        }
    }

    pub(super) fn fault(&self) -> DriveFault {
        match self.behaviour {
            Behaviour::LyingFlush => DriveFault::IgnoresFlush,
            Behaviour::LyingFua => DriveFault::IgnoresFua,
            _ => DriveFault::None,
        }
    }

    /// What survives in the user's figure.
    pub(super) fn policy(&self) -> Policy {
        let tear = pull::Tear::Unit(self.tear_bytes);
        match (self.happening, self.behaviour) {
            (PullEvent::Cable | PullEvent::Kill, _) => Policy::Drained { tear },
            (_, Behaviour::Strict) => Policy::Random { percent: 50, tear },
            (_, Behaviour::Model) => Policy::Media,
            _ => Policy::Typical {
                cache_bytes: self.cache_bytes,
                age_nanoseconds: self.cache_milliseconds * 1_000_000,
                tear,
            },
        }
    }

    /// Whether there is an array with superblocks that can do without a drive.
    pub(super) fn is_redundant(&self) -> bool {
        let made = serve::array_with_metadata(&self.stack);
        let layer = match &self.md {
            Some(_) => Some(&self.stack),
            None => made,
        };
        matches!(layer, Some(Node::Layer { name, .. })
            if stack::table::layer(name).is_ok_and(|row| row.redundant))
    }

    /// Whether md starts what a crash has left.
    pub(super) fn is_started_by_md(&self) -> bool {
        match self.starter {
            Starter::Same => self.md.is_some(),
            Starter::Raidloom => false,
            Starter::Md => true,
        }
    }

    /// The smallest unit in which anything is chosen in the user's figure, in bytes.
    pub(super) fn unit_bytes(&self) -> u32 {
        match self.policy() {
            Policy::Media => block::SECTOR_BYTES as u32,
            _ => self.tear_bytes,
        }
    }

    /// Opens a stack over drives: the test's own, or what was left of it.
    pub(super) fn open(
        &self,
        stack: &Node,
        drives: Vec<Arc<dyn Device>>,
        is_new: bool,
        reactor: Option<&Reactor>,
    ) -> Result<OpenStack, Error> {
        let files = match is_new {
            true => Drives::fresh(drives, self.seed, reactor),
            false => Drives::new(drives),
        };
        let options = OpenOptions {
            files: &files,
            seed: self.seed,
            read_only: false,
            create_bytes: None,
            member_time: None,
            upkeep: self.upkeep,
            new_array: self.new_array.as_ref().filter(|_| is_new),
            reactor,
            models: None,
        };
        Ok(OpenStack::open(stack, &options)?)
    }

    /// The model of a drive that has one, and the seed of its spindle.
    pub(super) fn model(&self, number: usize) -> Option<(&str, u64)> {
        let model = self.drive_models.get(number)?.as_deref()?;
        Some((model, derive_seed(self.seed, "drive", number as u64)))
    }

    /// The drives that are recorded, before anything was written to them, and what knows the
    /// modelled ones by their numbers.
    pub(super) fn drives(&self, recorder: &Arc<Recorder>) -> Result<RecordedDrives, Error> {
        let models = match self.behaviour {
            Behaviour::Model => Models::noting(),
            _ => Models::default(),
        };
        let (drives, modelled) = (Vec::new(), Vec::new());
        let mut all = RecordedDrives { drives, models, modelled, falls_out: None };
        for (number, &bytes) in self.drive_bytes.iter().enumerate() {
            let below = match self.model(number) {
                Some((model, seed)) => {
                    all.modelled.push(number as u16);
                    drives::modelled(model, seed, &all.models)?
                }
                None => drives::memory(bytes)?,
            };
            let drive: Arc<dyn Device> = recorder.drive(below, self.advertised());
            // What falls out is asked for nothing more, so that the log has nothing more of it.
            all.drives.push(match self.lost_member.stale() {
                Some(stale) if stale == number => {
                    let drive = FaultDevice::new(drive, FaultOptions::default())?;
                    all.falls_out = Some(drive.control());
                    Arc::new(drive)
                }
                _ => drive,
            });
        }
        Ok(all)
    }
}

/// Drives that are recorded.
pub(super) struct RecordedDrives {
    pub(super) drives: Vec<Arc<dyn Device>>,
    /// Those of them that are modelled, which share links as in any stack.
    pub(super) models: Models,
    /// Their numbers among all.
    pub(super) modelled: Vec<u16>,
    /// The one that falls out.
    pub(super) falls_out: Option<FaultControl>,
}

impl RecordedDrives {
    /// What the log has to say of their media, once nothing uses them.
    pub(super) fn media(models: &Models, modelled: &[u16]) -> impl Iterator<Item = (u16, Media)> {
        let noted = |(&number, disk): (&u16, Arc<ModelDevice>)| {
            let (notes, block_bytes) = disk.take_media_notes();
            let mut media = Media { block_bytes, ..Media::default() };
            for note in notes {
                match note {
                    MediaNote::Arrived { time, start, end } => {
                        media.arrived.push(DataArrival { time, start, end });
                    }
                    MediaNote::Written { taken, begins, ends, start, end } => {
                        media.written.push(MediaTransfer { taken, begins, ends, start, end });
                    }
                }
            }
            (number, media)
        };
        modelled.iter().zip(models.disks()).map(noted)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn drives_that_are_lost_are_drawn_or_named() {
        for text in ["none", "random", "random+random", "3", "0+2", "stale:1", "stale:1+0"] {
            assert_eq!(text.parse::<LostMember>().unwrap().to_string(), text);
        }
        for text in ["two", "1+1", "1+", "random+1", "-1", "stale", "stale:", "stale:1+1"] {
            assert!(text.parse::<LostMember>().is_err(), "{text}");
        }
        assert_eq!("0+2".parse::<LostMember>().unwrap().of(3, 7), [0, 2]);
        let pairs: BTreeSet<Vec<usize>> = (0..200)
            .map(|seed| {
                let mut two = LostMember::RandomTwo.of(3, seed);
                two.sort_unstable();
                two
            })
            .collect();
        assert_eq!(pairs, [[0, 1], [0, 2], [1, 2]].map(Vec::from).into());
        assert!("0+2".parse::<LostMember>().unwrap().check(2).is_err());
        let stale: LostMember = "stale:1+0".parse().unwrap();
        assert_eq!((stale.stale(), stale.of(3, 7)), (Some(1), vec![0]));
        for (text, is_known) in [("stale:1", true), ("stale:2", false), ("stale:0+2", false)] {
            assert_eq!(text.parse::<LostMember>().unwrap().check(2).is_ok(), is_known, "{text}");
        }
        assert!(LostMember::RandomTwo.check(1).is_err() && LostMember::RandomTwo.check(2).is_ok());
    }
}
