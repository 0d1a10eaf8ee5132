//! What a test could not do on this machine.

use std::fs::OpenOptions;
use std::io::{self, Write};

/// Says that the test, or a part of it, is skipped, and why: what is missing, and how to get it.
/// Arguments are those of [`format!`].
#[macro_export]
macro_rules! skipped {
    ($($why:tt)*) => {
        $crate::say_skipped(&format!($($why)*))
    };
}

/// The file to which these lines are appended: for `cargo xtask ci`, which sums them up.
const FILE: &str = "RAIDLOOM_SKIPPED";

/// As [`skipped!`]. The runner keeps to itself what a test prints that passes, so it goes past it:
/// to people, and to the file that the variable `RAIDLOOM_SKIPPED` names.
pub fn say_skipped(why: &str) {
    let thread = std::thread::current();
    // Where each test has a process of its own, its name is an argument of that.
    let argument = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let test = match thread.name() {
        Some("main") | None => argument.unwrap_or_else(|| "a test".to_owned()),
        Some(name) => name.to_owned(),
    };
    let line = format!("{test}: skipped: {why}\n");
    let _ = io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os(FILE) {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
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
