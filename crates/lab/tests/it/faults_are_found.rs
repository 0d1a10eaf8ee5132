//! What each suite's check is worth: stacks of `fault(...)` that flip bits, lose writes and send
//! them elsewhere without a word, and the suites that have to notice. All of it in memory, on the
//! virtual clock. (bonnie and copy work on files: their own tests damage those.)

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::time::Duration;

use bench::suite::{Suite, Value, crystal, depth, devtest};
use block::{Error, ErrorKind};
use stack::{BuildContext, NoFiles};

use crate::support::rows_of;

/// Runs a suite on a stack in which every request takes 100 microseconds, and something more
/// happens to some of them.
fn run(suite: &'static Suite, said: &[(&'static str, Value)], mishap: &str) -> Result<(), Error> {
    let context = BuildContext { seed: 1, emulate: true, ..BuildContext::new(&NoFiles) };
    let stack =
        stack::parse_and_build(&format!("fault(seed=3, delay=100us, {mishap}ram:2MiB)"), &context)
            .unwrap();
    rows_of(suite, block::Clock::Wall, said, &*stack.device).map(drop)
}

#[test]
fn every_suite_on_a_device_finds_flipped_bits_and_lost_and_misdirected_writes() {
    let quick = |time: &'static str| (time, Value::Time(Duration::from_millis(3)));
    let suites: [(&Suite, Vec<(&str, Value)>); 6] = [
        (&devtest::SUITE, vec![quick("time")]),
        (&devtest::SUITE, vec![quick("time"), ("verify", Value::word("full"))]),
        (
            &crystal::SUITE,
            vec![
                quick("time"),
                ("profile", Value::word("real")),
                ("access", Value::word("direct")),
            ],
        ),
        (
            &crystal::SUITE,
            vec![
                quick("time"),
                ("profile", Value::word("real")),
                ("access", Value::word("direct")),
                ("verify", Value::word("full")),
            ],
        ),
        (&depth::SUITE, vec![quick("time"), ("depth_max", Value::Count(4))]),
        (
            &depth::SUITE,
            vec![quick("time"), ("depth_max", Value::Count(4)), ("way", Value::word("both"))],
        ),
    ];
    for (suite, said) in &suites {
        run(suite, said, "").unwrap_or_else(|error| {
            panic!("{} {said:?} finds fault with what is right: {error}", suite.name)
        });
        for mishap in ["read_flip=0.5", "write_flip=0.5", "write_lost=0.5", "write_misdirected=0.5"]
        {
            match run(suite, said, &format!("{mishap}, ")) {
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    assert!(
                        error.to_string().contains("wrong data at offset "),
                        "{} {mishap}: {error}",
                        suite.name
                    );
                }
                other => panic!("{} {said:?} with {mishap}: {other:?}", suite.name),
            }
        }
    }
}

/// "Where one byte is written all over, lost and misdirected writes look right": bits are found all
/// the same.
#[test]
fn one_byte_all_over_shows_flipped_bits_and_cannot_show_lost_writes() {
    let said = [
        ("time", Value::Time(Duration::from_millis(3))),
        ("profile", Value::word("real")),
        ("access", Value::word("direct")),
        ("data", Value::word("zero")),
    ];
    for mishap in ["read_flip=0.3, ", "write_flip=0.1, "] {
        assert_eq!(
            run(&crystal::SUITE, &said, mishap).unwrap_err().kind(),
            ErrorKind::Corrupt,
            "{mishap}"
        );
    }
    run(&crystal::SUITE, &said, "write_lost=0.1, ").unwrap();
}
