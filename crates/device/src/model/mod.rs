//! The modelled disk: answers as a given drive would, in modelled time.
//!
//! ```text
//!   parameters  models/NAME.toml: every value with unit, origin and note
//!   data_sheet  the same from what a maker states, by laws; catalogue: those that come along
//!       |
//!   geometry    where a byte lies, how fast it passes, how long the arm takes      (pure)
//!   platters    how long the head takes to a place, and a range to the media         (pure)
//!   cache       the write-back cache and what is written out next                  (pure)
//!   index       where cached extents begin                                           (pure)
//!   link        the bus that several disks share                                   (pure)
//!       |
//!   ssd         one SSD: controller, dies, buffer; collector: what garbage collection adds
//!   disk        one drive's electronics, data phase and mechanism as timers
//!   machine     disks on one link, moved from event to event: submit, advance, next
//!       |
//!   device      `model:NAME`: the machine behind the pair of traits, on either clock
//!
//!   replay      the access patterns of the suite `devtest`, one request at a time
//!   fit         parameters from published figures of a single drive, and the error of every row
//!   errors      how far predictions of published arrays were off, by class
//! ```
//!
//! Nothing here but `device` knows a clock: time is a number of nanoseconds that the caller hands
//! in. `docs/models.md` states what is modelled, what is not, and how well it fits.

mod cache;
mod catalogue;
mod collector;
pub mod data_sheet;
mod device;
mod disk;
mod drive;
pub mod errors;
pub mod fit;
mod flash;
mod flash_sheet;
mod geometry;
mod index;
mod link;
mod machine;
mod messages;
mod notes;
pub mod parameters;
mod platters;
pub mod probe;
mod quantity;
pub mod random;
pub mod replay;
mod request;
mod slots;
mod ssd;
mod unflushed;

pub use device::{Links, ModelDevice, ModelOptions, PowerCut};
pub use geometry::Geometry;
pub use machine::Machine;
pub use notes::MediaNote;
pub use parameters::{Hold, ModelError, Parameters};
pub use request::{Answer, Operation};
pub use unflushed::Survival;

#[cfg(test)]
mod tests;
