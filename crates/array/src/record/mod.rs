//! What superblocks, bitmap and logs of a running array say, and what they are to say next: plain
//! values, no devices and no clock.
//!
//! ```text
//!   Record   what is on the members ───┐
//!   Facts    what is true of the array ├─> draft ──> Draft: phases of writes, each durable
//!   Request  why an update is made ────┘               before the next begins
//!                                                        │
//!   Record <── begin: counts from when it is sent ───────┤
//!   Record <── end: how far it got ──────────────────────┘
//! ```

mod apply;
mod bad_block_log;
mod draft;
mod facts;
mod state;
mod write_intent;

pub(crate) use apply::UpdateOutcome;
pub(crate) use draft::{Draft, DraftInput, FenceTerms, Phase, Request, TooFewMembers, draft};
pub(crate) use facts::{Facts, RecordedState, superblock_of};
pub(crate) use state::{DeviceRecord, Record};
pub(crate) use write_intent::{Clear, PAGE_BYTES, WriteIntentBitmap};
