//! Load generator, data patterns with verification, histograms and the suites.
//!
//! ```text
//!   suite::devtest       which requests, in which order, what is read back
//!       |      \
//!     load     known     a closed loop over one channel: issue, wait, count, time
//!       |        |       which write was the last at every place
//!   latency   pattern    how long it took; data that name their place
//! ```
//!
//! It measures any [`block::Device`] and knows nothing of how that is made up.

mod known;
pub mod latency;
pub mod load;
#[cfg(test)]
mod memory;
pub mod pattern;
pub mod suite;
