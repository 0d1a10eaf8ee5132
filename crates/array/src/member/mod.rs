//! Members: the device in a slot with what is over it, the states of all of them, and sets of them.

mod bad_blocks;
mod device;
mod set;
mod state;

pub(crate) use device::{Member, ReplacementCopy, missing_name, name};
pub use set::{MEMBERS_MAX, MemberSet};
pub use state::{MemberState, Snapshot};
