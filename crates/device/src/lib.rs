//! Leaves of a stack, and three layers: one breaks them, one writes down what they are asked, one
//! does not wait for ever.
//!
//! | stack text | here | what |
//! | --- | --- | --- |
//! | `file:PATH`, a bare path | [`FileDevice`] | a regular file or a block device, through io_uring |
//! | `ram:SIZE` | [`RamDevice`] | memory, shared by all threads, allocated when written; with a time of its own where it is modelled |
//! | `null:SIZE` | [`NullDevice`] | takes everything, keeps nothing |
//! | `nbd://HOST/EXPORT`, `nbd+unix:///EXPORT?socket=PATH` | [`NbdDevice`] | an export of an NBD server |
//! | `model:NAME` | [`model`] | a disk that is computed, with the times of a real one |
//! | `fault(…, DEVICE)` | [`FaultDevice`] | a layer: errors, delays, a write cache that a crash empties, by seed |
//! | `record(file:TRACE, DEVICE)` | [`RecordDevice`] | writes down every request; [`trace`] reads it again |
//! | none | [`ThroughFile`] | a drive in use, of which the range of one of its files is written |
//! | none | [`DeadlineDevice`] | a bound on how long an answer may take, put on the members of arrays that are served |
//!
//! `ram` and `null` answer while a request is submitted, and any device answers so what it refuses.
//! So an owner polls after it submits and before it waits: the reactor knows nothing of answers
//! that no event brought.

mod deadline;
mod fault;
mod file;
mod immediate;
mod messages;
pub mod model;
mod nbd;
mod null;
mod ram;
mod record;
mod through_file;

pub use deadline::{DeadlineDevice, DeadlineWatch};
pub use fault::{
    BadRange, CrashPolicy, CrashReport, FaultControl, FaultCounts, FaultDevice, FaultOptions,
};
pub use file::{Direct, FileDevice, FileOptions, Identity};
pub use nbd::{NbdAddress, NbdDevice, NbdOptions, NbdTls};
pub use null::NullDevice;
pub use ram::{RamDevice, ServiceTime};
pub use record::RecordDevice;
pub use through_file::ThroughFile;
