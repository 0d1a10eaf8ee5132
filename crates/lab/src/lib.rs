//! Plan files, cells, trials, runs that can be resumed, facts about the machine, and the guard.
mod error;
mod estimate;
pub mod guard;
pub mod host;
mod journal;
pub mod order;
mod record;
mod system;

pub use error::{Ending, Error};
pub use estimate::TimeLeft;
