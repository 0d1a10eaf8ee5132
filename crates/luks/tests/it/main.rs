//! Tests of the crate as a whole.

mod containers;
mod contract;
mod damage;
mod others;
