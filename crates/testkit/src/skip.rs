//! What a test could not do on this machine.

use std::io::{self, Write};

/// Says that the test, or a part of it, is skipped, and why: what is missing, and how to get it.
/// Arguments are those of [`format!`].
#[macro_export]
macro_rules! skipped {
    ($($why:tt)*) => {
        $crate::say_skipped(&format!($($why)*))
    };
}

/// As [`skipped!`]. The runner keeps to itself what a test prints that passes: that is for
/// `cargo xtask ci`, which sums it up. What people see goes past the runner.
pub fn say_skipped(why: &str) {
    println!("skipped: {why}");
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(io::stderr(), "skipped: {test}: {why}");
}
