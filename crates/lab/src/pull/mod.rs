//! `raidloom pull`: how much of a stack and a file system is left when the power fails, with this
//! machine's kernel or with one in a guest.
//!
//! ```text
//!   record   drives ─ recorder ─ stack ─ disk ─ file system ─ work ──> log with marks
//!   state    log, cut, seed ─> drives ─ stack ─ disk ─ mount, repair, read ──> judgement
//!   score    all judgements ─> card, grade, bound
//! ```
//!
//! On this machine the disk is a FUSE file, and a loop device over it; in a guest it is a disk of
//! the guest's, time is modelled, and the same seed makes the same log and the same judgements.
//!
//! Nothing that the stack names is opened: drives of the same sizes are made in memory. Mounts live
//! in a namespace of their own or in a guest, and what touches them is a process of its own: all
//! end with this one, however it ends.

pub(crate) mod catalogue;
mod child_process;
mod drives;
mod ground;
mod guests;
mod images;
mod kept_state;
mod loss;
mod options;
mod outcome;
mod owner;
mod place;
mod power_test;
mod program;
mod recording;
mod slot;
mod state;
mod talk;
mod text;
mod timed_device;
mod worker;

pub(crate) use child_process::run_apart;
pub use child_process::serve_test;
pub use drives::{DEFAULT_MODEL, DriveLeaf, Leaves, leaves};
pub use ground::MountHost;
pub use guests::Guests;
pub use images::{check_images, image_name, write_images};
pub use kept_state::{KeptState, ReplayOptions, ReplayedState, kept, replay};
pub use loss::{LostWrite, SmallestLoss};
pub use options::{Behaviour, ImportSource, LostMember, Options, PullEvent, Starter, WorkSource};
pub use outcome::{Outcome, Sample};
pub use owner::{ArrayPart, JournalBlock, Owner};
pub(crate) use place::may_mount_or_why;
pub use place::{PullFolder, enter, may_mount};
pub use power_test::run;
pub use program::OwnProgram;
pub use state::FailingState;
pub use talk::serve_worker_in_guest;
pub use worker::{Output, Program, STATE_TIME, serve_worker};

pub use crate::stacks::{has_container, inside_containers};
