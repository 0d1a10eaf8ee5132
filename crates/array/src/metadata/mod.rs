//! md's metadata of a running array: what superblocks and bitmap have to say, and when.
//!
//! ```text
//!   a write ──> may it go out? ────────> row is read, ────────────> may it be answered?
//!               dirty, bits set,         computed, written          failures written down
//!               failures written down                                  | no
//!                   | no                                               |
//!                   └──> the channel writes an update: <───────────────┘
//!                MetadataState::order ─> Draft ─> MetadataUpdate ─> MetadataChannels ─> members
//!                        other pieces wait until it has ended, and ask again
//! ```
//!
//! `Health` has the members' states; this module writes them down. It sees the array as a plain
//! value (`ArrayState`), and what an update writes is drafted from plain values alone
//! (`crate::record`). Four promises are kept:
//!
//! * before the first write after a rest, every member's superblock says durably that the array is
//!   dirty;
//! * before a write, the bits of its regions are set durably in every member's bitmap;
//! * before anything is answered that depended on doing without a member, the others' superblocks
//!   say so durably: otherwise a crash would mix it in again with old data;
//! * the array is called clean, bits are cleared and rebuilt members count only after the members
//!   were flushed.
//!
//! A channel whose piece needs an update writes it itself, with channels of its own onto the
//! members, unless an update is under way: so no channel depends on another one being polled,
//! except on the one that is writing. Updates that no request asks for, such as going clean after a
//! rest, are written by a [`MetadataWriter`], which its owner polls.

mod array_state;
mod channels;
mod claim;
mod examine;
mod log;
mod looks;
mod options;
mod planted;
mod reshape;
mod running;
mod start;
mod start_member;
mod state;
mod update;
mod writer;

pub use crate::fence::Freedom;
pub(crate) use array_state::ArrayState;
pub(crate) use channels::{EndedCommand, MetadataChannels};
pub use claim::{is_shared, takeover_time, watch};
pub use examine::{damage, examine};
pub(crate) use log::{LogWriter, LoggedPiece};
pub use options::StartOptions;
#[cfg(feature = "planted-mistakes")]
pub use planted::PlantedMistake;
pub use running::{RunningArray, Status};
pub use start::{check, start};
pub(crate) use state::{Admission, FailedDevice, Metadata};
pub(crate) use update::MetadataUpdate;
pub use writer::MetadataWriter;
