//! Load generator, data patterns with verification, histograms and the suites.
//!
//! ```text
//!   suite::…             which requests, in which order, what is read back
//!       |      \
//!     load     known     a closed loop over one channel: issue, wait, count, time
//!       |        |       which write was the last at every place
//!   latency   pattern    how long it took; data that name their place
//!
//!   format                results of other tools, read and written
//!   audit                 what the devices really moved, held against what was asked for
//!   processor             what a load's own machine costs, where its clock does not say
//! ```
//!
//! It measures any [`block::Device`] and knows nothing of how that is made up.

pub mod audit;
mod catalogue;
pub mod format;
mod known;
pub mod latency;
pub mod load;
#[cfg(test)]
mod memory;
pub mod pattern;
pub mod processor;
pub mod suite;
