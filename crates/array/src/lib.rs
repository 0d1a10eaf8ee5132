//! Arrays: several devices that answer as one.
//!
//! ```text
//!   request ──> pieces ──> a plan each ──> commands ──> members
//!               level: pure                executor
//!
//!   geometry  where each byte of the array lies
//!   level     a table of answers for one kind of array: pieces and plans, no I/O
//!   plan      what to lock, read, compute and write, as plain data
//!   execute   runs any plan; a member's failure means planning again
//!   member    a member, its states, and sets of members: everybody's ground
//!   shared    the array that all channels and all that acts on it share
//!   health    which member is in which slot, and its state
//!   fence     when it is sure that no server of another host has the members: pure
//!   record    what superblocks, bitmap and logs say, and are to say next: pure
//!   metadata  md's superblocks, bitmap and log of a running array
//!   sync      rebuilds, resyncs and scrubs; members that are added, removed and replaced
//! ```
//!
//! A level never does I/O and the executor knows no level: a new level is one more implementation
//! of [`Level`].

mod catalogue;
mod device;
mod execute;
mod fence;
pub mod geometry;
mod health;
mod level;
pub mod md;
mod member;
mod memory;
pub mod metadata;
pub mod parity;
mod part;
mod plan;
mod queues;
mod ranges;
mod record;
mod rows;
mod shared;
mod signalled;
pub mod sync;

pub use device::{ArrayDevice, MemberAtStart};
pub use geometry::{ParityLayout, Raid0Layout, Raid10Layout};
pub use level::{
    Faults, Level, LevelTraits, LinearLevel, MirrorLevel, ParityLevel, PlanResult, Raid0Level,
    TooManyAbsent,
};
pub use member::{MEMBERS_MAX, MemberSet, MemberState, Snapshot};
pub use part::{Action, Part, Spot, SyncRange, SyncTask};
pub use plan::{Access, ByteSite, Computation, Content, Plan, RowLock};
pub use queues::Queues;
