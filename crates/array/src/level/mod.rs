//! The kinds of arrays.

mod definition;
mod linear;
mod mirror;
mod parity;
mod raid0;

pub use definition::{Faults, Level, LevelTraits, PlanResult, TooManyAbsent};
pub use linear::LinearLevel;
pub use mirror::MirrorLevel;
pub use parity::ParityLevel;
pub use raid0::Raid0Level;
