//! md's on-disk format held against Linux: against what the kernel's md and mdadm wrote, and
//! against what mdadm reads.
//!
//! The golden files were made by `tests/interop/golden.sh`.

mod damage;
mod examine;
mod golden;
mod kernel;
mod oracle;
