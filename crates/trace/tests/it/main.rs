//! The formats of traces, as files.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod formats;
mod problems;
