//! Stack text: one notation for flags, plans and descriptions, and the devices that it stands for.
//!
//! ```text
//!   raid0(chunk=64KiB, file:a.img, file:b.img)
//!     |  parse: text to a tree, with the position of whatever is wrong
//!   Node
//!     |  build: a tree to devices
//!   Stack
//! ```
//!
//! What layers, leaves and options there are stands in one table ([`table`]); parsing, building and
//! help all read it.

mod build;
mod catalogue;
mod disk_image;
mod encryption;
mod facts;
mod identity;
mod image_server;
mod messages;
mod nbd;
mod nearest;
mod parse;
mod prediction_error;
mod rbd;
mod settings;
pub mod size;
mod superblocks;
pub mod table;

pub use build::{
    BuildContext, InnerLayers, Member, Models, NoFiles, OpenFiles, Stack, build, parse_and_build,
};
pub use catalogue::{DriveFacts, drive_facts, nearest_model};
pub use device::model::errors::{Order, PredictionError, Work};
pub use device::model::{MediaNote, ModelDevice, PowerCut, Survival};
pub use device::{DeadlineWatch, FaultControl, FaultDevice, FaultOptions};
pub use encryption::read_passphrase;
pub use facts::OpenedFile;
pub use identity::{
    Identity, LOOPS_MAX, Location, is_remote, loop_backing, overlap, part_of, twice_text,
};
pub use image_server::ImageServer;
pub use nearest::nearest;
pub use parse::{ParseError, parse};
pub use prediction_error::ModelledStack;
pub use rbd::RbdImage;
pub use superblocks::{Arrays, tree_of};
