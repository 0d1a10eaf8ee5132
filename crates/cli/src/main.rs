//! The `raidloom` binary.
fn main() {}
