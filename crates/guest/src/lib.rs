//! A whole Linux in user mode, whose disks are devices of ours and whose time is theirs.
//!
//! ```text
//!   kernel ── time messages ──┐
//!     |                    Scheduler ── virtual reactor ── devices
//!     └── vhost-user disks ───┘
//! ```
//!
//! User-mode Linux that was built with `UML_TIME_TRAVEL_SUPPORT` asks an outside [`Scheduler`] for
//! its time (`time-travel=ext:SOCKET`), and finds its disks at the same process
//! (`virtio_uml.device=SOCKET:2`). Its clock then moves as the devices' does, on the virtual
//! reactor: an hour of a disk of 2004 takes seconds, and is the same each time.
//!
//! [`Kernel`] finds or builds it, [`Boot`] runs one from its start to its end.

mod bounds;
mod build;
mod catalogue;
pub mod counter;
mod kernel;
mod machine;
mod message;
mod public;
mod scheduler;
pub mod setup;

pub use bounds::TimeBounds;
pub use build::{BuildStep, KernelOrder, build};
pub use kernel::{Kernel, USUAL_KERNEL, check_kernel_name};
pub use machine::{Boot, Outcome, Processor, check_memory, modelled};
pub use message::{MESSAGE_BYTES, Message, Op};
#[cfg(feature = "planted-mistakes")]
pub use scheduler::PlantedMistake;
pub use scheduler::{Cut, Disk, Drive, GoOn, GuestEnding, GuestSign, Line, Scheduler};
pub use setup::{ArrayCompleteness, Format, Setup};
