//! How the stack of a configuration is opened and served: as `array create` and `array start` do.

use std::path::Path;
use std::time::Duration;

use block::Node;
use guest::ArrayCompleteness;
use host::Error;
use host::guard::Guard;
use mdtools::NewArraySettings;
use reactor::Reactor;
use results::Configuration;
use serve::{Attach, MEMBER_TIME, MountSettings, OpenOptions, OpenStack, Settings};
use stack::Models;
use words::statement;

use super::axes::Axes;
use super::names::BITMAP;
use super::values::{Choice, Consistency, Metadata, Switch};
use super::{Cell, CellFileSystem};
use crate::catalogue;

/// The name of the arrays that a run makes.
const NAME: &str = "raidloom";

/// How a stack is opened and kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StackOpening {
    /// The array that is made of its members, as `array create` makes it; none where they are used
    /// whole.
    pub(crate) new_array: Option<NewArraySettings>,
    /// How long a member of an array may take for an answer; for ever without it.
    pub(crate) member_time: Option<Duration>,
    /// Whether that was said, so that it holds for modelled disks too.
    is_member_time_said: bool,
    /// Whether arrays and caches are kept up.
    pub(crate) upkeep: bool,
    /// Whether the array has all of its members. On the virtual clock alone.
    pub(crate) state: ArrayCompleteness,
}

impl Default for StackOpening {
    fn default() -> StackOpening {
        StackOpening {
            new_array: None,
            member_time: Some(MEMBER_TIME),
            is_member_time_said: false,
            upkeep: true,
            state: ArrayCompleteness::Whole,
        }
    }
}

impl Axes {
    /// What they say of it; what they leave out is as `array create` and `array start` have it.
    ///
    /// # Errors
    /// A bitmap of which a bit covers too much.
    pub(crate) fn serving(&self) -> Result<StackOpening, Error> {
        let new_array = match self.metadata {
            None | Some(Metadata::Without) => None,
            Some(Metadata::Superblocks) => Some(NewArraySettings {
                name: NAME.to_owned(),
                consistency: self.consistency.unwrap_or(Consistency::Resync).to_string(),
                bitmap_chunk_bytes: self.bitmap_bytes.value().map(bitmap_chunk).transpose()?,
            }),
        };
        Ok(StackOpening {
            new_array,
            member_time: match self.member_timeout {
                Choice::Absent => Some(MEMBER_TIME),
                Choice::Without => None,
                Choice::With(time) => Some(time).filter(|time| !time.is_zero()),
            },
            is_member_time_said: self.member_timeout != Choice::Absent,
            upkeep: self.upkeep != Some(Switch::Off),
            state: self.state.unwrap_or_default(),
        })
    }
}

fn bitmap_chunk(bytes: &u64) -> Result<u32, Error> {
    u32::try_from(*bytes).map_err(|_| {
        let text = crate::stacks::size_text(*bytes);
        Error::usage(statement!(catalogue::BITMAP_BIT, size = text)).at(BITMAP)
    })
}

/// Opens a stack as a run does, and as `array start` does: an array with superblocks is made anew
/// first, and loses a member where that is said. The reactor is that of a stack on the virtual
/// clock; disks that name the same of the links share it.
///
/// # Errors
/// What cannot be built, or a member that is refused.
pub(crate) fn open(
    node: &Node,
    serving: &StackOpening,
    files: &Guard,
    seed: u64,
    reactor: Option<&Reactor>,
    models: Option<&Models>,
) -> Result<OpenStack, Error> {
    let options = OpenOptions {
        files,
        seed,
        read_only: false,
        create_bytes: None,
        // A modelled disk always answers, after whatever time its model takes.
        member_time: serving
            .member_time
            .filter(|_| reactor.is_none() || serving.is_member_time_said),
        upkeep: serving.upkeep,
        new_array: serving.new_array.as_ref(),
        reactor,
        models,
    };
    let opened = OpenStack::open(node, &options)?;
    if serving.state != ArrayCompleteness::Whole {
        opened.degrade(serving.state == ArrayCompleteness::Rebuilding, seed)?;
    }
    Ok(opened)
}

/// Opens a configuration over another stack than its own, as a run opens its own.
///
/// # Errors
/// A setting that makes no sense, and what `open` does not open.
pub fn open_cell(
    node: &Node,
    configuration: &Configuration,
    files: &Guard,
    seed: u64,
    reactor: Option<&Reactor>,
) -> Result<OpenStack, Error> {
    open(node, &Cell::of(configuration)?.serving, files, seed, reactor, None)
}

impl Cell {
    /// How a server serves it over the leaves of `node`, for a run and for a person alike.
    ///
    /// # Errors
    /// A folder to mount what is no file system.
    pub(crate) fn serve_settings(
        &self,
        node: &Node,
        mount: Option<&Path>,
    ) -> Result<Settings, Error> {
        let mut settings = Settings {
            stack: node.to_string(),
            no_upkeep: !self.serving.upkeep,
            member_timeout: Some(match self.serving.member_time {
                Some(time) => block::duration_text(time),
                None => "0s".to_owned(),
            }),
            ..Settings::default()
        };
        match (&self.file_system, mount) {
            (Some(file_system), mount) => {
                settings.policy = file_system.policy;
                settings.attach = Attach::Yes;
                settings.mount = mount.map(|folder| mount_settings(file_system, folder));
            }
            (None, Some(folder)) => {
                return Err(Error::usage(catalogue::NOTHING_TO_MOUNT_THERE).at(folder.display()));
            }
            (None, None) => (),
        }
        Ok(settings)
    }
}

fn mount_settings(file_system: &CellFileSystem, folder: &Path) -> MountSettings {
    MountSettings {
        folder: folder.to_owned(),
        fs: file_system.kind.name.to_owned(),
        options: file_system.mount_options.clone(),
        make_options: file_system.options_to_make(),
        image: file_system.nested.as_ref().map(super::NestedImage::settings),
    }
}
