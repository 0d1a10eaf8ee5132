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

/// Says that the test, or a part of it, is skipped because a program, a device or a right that it
/// needs is missing. CI has all of them: there it fails. Arguments are those of [`format!`].
///
/// # Panics
/// Where the variable `CI` says `true`.
#[macro_export]
macro_rules! missing {
    ($($what:tt)*) => {
        $crate::say_missing(&format!($($what)*))
    };
}

/// As [`missing!`].
///
/// # Panics
/// Where the variable `CI` says `true`.
pub fn say_missing(what: &str) {
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!in_ci, "CI has to have it: {what}");
    say_skipped(what);
}
