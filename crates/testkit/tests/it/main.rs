//! The tests that use this package from outside, in one program: one to build and link.

mod conforms;
mod contract;
mod contract_is_proved;
mod must_fail;
