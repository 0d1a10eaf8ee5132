//! The suites: named sets of tests.

pub mod devtest;
