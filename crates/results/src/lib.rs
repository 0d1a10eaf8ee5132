//! Plain types of what was measured, and the statistics over them. No I/O.
//!
//! ```text
//! Plan (what was meant) + Host (where) + Trial, Trial, … (what was measured)  =  Run
//! Plan, Trials so far -> course::Course -> which trials come next, which of them vote
//! Run, Run -> compare::compare -> Changes (the same cells, measured apart)
//! Run, Run, … -> history::history -> Series (one figure of the same cells, and where it changed)
//! Plan, Trials of pull tests -> safety::safety -> grades
//! Trials direct and buffered -> caches -> which accesses a cache answers
//! Run -> analysis::analyse -> Analysis (ratios, intervals, verdicts, best sets)  -> report
//! ```

pub mod analysis;
pub mod balance;
mod bounds;
pub mod caches;
mod catalogue;
pub mod choice;
pub mod claim;
pub mod compare;
pub mod course;
pub mod doubt;
mod grade;
pub mod history;
mod looks;
mod model_error;
pub mod safety;
pub mod shape;
mod shared;
pub mod statistics;
pub mod steady;
pub mod types;
mod voices;

#[cfg(test)]
mod random;

pub use analysis::{Analysis, analyse};
pub use doubt::Doubt;
pub use shared::{Metrics, Settings};
pub use types::*;
