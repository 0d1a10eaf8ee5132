//! Devices over one other device that add a rule and no I/O of their own, and a blocking front for
//! one channel.

mod blocking;
mod checked;
mod counted;
mod emulated;

pub use blocking::Blocking;
pub use checked::ContractCheck;
pub use counted::{Counters, CountingDevice, Traffic};
pub use emulated::EmulatingDevice;
