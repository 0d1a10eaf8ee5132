//! Tests of the crate as a whole.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod contract;
mod hostile;
mod others;
mod support;
mod writers;
mod written;
