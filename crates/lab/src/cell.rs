//! What the settings of a configuration mean to the part that serves stacks.

use std::collections::BTreeMap;
use std::time::Duration;

use block::Node;
use export::RemovalPolicy;
use host::Error;
use host::guard::Guard;
use host::processors::Processors;
use mdtools::NewArraySettings;
use reactor::Reactor;
use results::{Clock, Configuration, Ground, MeasuredCache};
use serve::{MEMBER_TIME, OpenOptions, Opened};
use stack::Models;

use crate::plan::axes::{
    BITMAP, CONSISTENCIES, CONSISTENCY, DEFAULTS, FILE_SYSTEM, GUEST, MEMBER_TIMEOUT, METADATA,
    NONE, OFF, PLACE, POLICY, PROCESSORS, UPKEEP,
};
use crate::stacks;

/// The name of the arrays that a run makes.
const NAME: &str = "raidloom";

/// How the stack of a configuration is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellSettings {
    /// The array that is made of its members, as `array create` makes it; none where they are used
    /// whole.
    pub(crate) new_array: Option<NewArraySettings>,
    /// How long a member of an array may take for an answer; for ever without it.
    pub(crate) member_time: Option<Duration>,
    /// Whether arrays and caches are kept up.
    pub(crate) upkeep: bool,
}

impl CellSettings {
    /// What a configuration's settings say; what they leave out is as `array create` and `array
    /// start` have it.
    ///
    /// # Errors
    /// A value that none of them takes.
    pub(crate) fn of(settings: &BTreeMap<String, String>) -> Result<CellSettings, Error> {
        let value = |axis: &str| settings.get(axis).map(String::as_str);
        let member_time = match value(MEMBER_TIMEOUT) {
            None => Some(MEMBER_TIME),
            Some(NONE) => None,
            Some(text) => {
                let time = stack::size::parse_duration(text)
                    .map_err(|error| Error::usage(format!("{MEMBER_TIMEOUT}: {error}")))?;
                Some(time).filter(|time| !time.is_zero())
            }
        };
        let new_array = match value(METADATA) {
            None | Some(NONE) => None,
            Some(_) => Some(NewArraySettings {
                name: NAME.to_owned(),
                consistency: value(CONSISTENCY).unwrap_or(CONSISTENCIES[0]).to_owned(),
                bitmap_chunk_bytes: bitmap_chunk(value(BITMAP))?,
            }),
        };
        Ok(CellSettings { new_array, member_time, upkeep: value(UPKEEP) != Some(OFF) })
    }
}

/// What a configuration is, beside its settings: the plan decides it once, and a run's records have
/// it ([`Configuration`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nature {
    pub(crate) ground: Ground,
    pub(crate) modelled: bool,
    pub(crate) caches: Vec<MeasuredCache>,
    pub(crate) quick_removal: bool,
}

impl Nature {
    /// Of a configuration of a plan that has pull tests alone, or other work; without a stack where
    /// what was measured is none of ours.
    pub(crate) fn of(
        node: Option<&Node>,
        settings: &BTreeMap<String, String>,
        clock: Clock,
        pulls_only: bool,
    ) -> Nature {
        let value = |axis: &str| settings.get(axis).map(String::as_str);
        let in_guest = value(PLACE) == Some(GUEST);
        let ground = match value(FILE_SYSTEM) {
            _ if pulls_only => Ground::Pull,
            _ if in_guest => Ground::Guest,
            Some(name) if name != NONE => Ground::FileSystem,
            _ => Ground::Device,
        };
        let layer = node.is_some_and(stacks::has_cache).then_some(MeasuredCache::Layer);
        let memory = in_guest.then_some(MeasuredCache::GuestMemory);
        Nature {
            ground,
            modelled: clock == Clock::Virtual || node.is_some_and(stacks::has_model),
            caches: layer.into_iter().chain(memory).collect(),
            quick_removal: value(POLICY).and_then(|text| text.parse().ok())
                == Some(RemovalPolicy::Quick),
        }
    }
}

/// Opens the stack of a configuration as a run does, and as `array start` does: an array with
/// superblocks is made anew first. The reactor is that of a stack on the virtual clock; disks that
/// name the same of the links share it.
///
/// # Errors
/// A setting that makes no sense, what cannot be built, or a member that is refused.
pub fn open(
    node: &Node,
    settings: &BTreeMap<String, String>,
    files: &Guard,
    seed: u64,
    reactor: Option<&Reactor>,
    models: Option<&Models>,
) -> Result<Opened, Error> {
    let cell = CellSettings::of(settings)?;
    let options = OpenOptions {
        files,
        seed,
        read_only: false,
        create_bytes: None,
        // A modelled disk always answers, after whatever time its model takes.
        member_time: cell
            .member_time
            .filter(|_| reactor.is_none() || settings.contains_key(MEMBER_TIMEOUT)),
        upkeep: cell.upkeep,
        new_array: cell.new_array.as_ref(),
        reactor,
        models,
    };
    Ok(Opened::open(node, &options)?)
}

/// Keeps this thread and what it starts to the processors that a configuration names, if it names
/// some on this machine.
///
/// # Errors
/// When there are not so many.
pub(crate) fn processors(configuration: &Configuration) -> Result<Option<Processors>, Error> {
    let count = configuration.settings.get(PROCESSORS);
    let Some(count) = count.filter(|_| configuration.clock == Clock::Wall) else { return Ok(None) };
    let count = count.parse().map_err(|_| Error::usage(format!("{PROCESSORS}: {count}")))?;
    Processors::keep_to(count).map(Some)
}

fn bitmap_chunk(text: Option<&str>) -> Result<Option<u32>, Error> {
    let Some(text) = text.filter(|text| *text != DEFAULTS) else { return Ok(None) };
    let wrong = |reason: String| Error::usage(format!("{BITMAP}: {reason}"));
    let bytes = stacks::parse_size(text).map_err(wrong)?;
    u32::try_from(bytes)
        .map(Some)
        .map_err(|_| wrong(format!("{text}: a bit covers less than 4GiB")))
}
