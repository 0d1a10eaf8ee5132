//! How the cost of a request grows, in instructions: they are the same on a busy machine.

use super::series::Series;
use crate::bench::table::Aim;
use crate::instructions::Counter;

/// What is aimed at is the exponent; this only catches what went wrong.
const REQUEST: Aim = Aim::AtMost(25_000.0);

/// With the members of an array.
///
/// # Errors
/// When the counted program fails.
pub(super) fn members(counter: &Counter, level: &'static str) -> Result<Series, String> {
    let cost = |count: u32| {
        let leaves = vec!["null:1GiB"; count as usize].join(", ");
        let target = format!("{level}(chunk=64KiB, {leaves})");
        let arguments = [&target, "random-write", "--bytes=4096", "--depth=8"];
        Ok((count, vec![counter.count("members", &arguments)?]))
    };
    Ok(Series {
        load: format!("{level}: random write 4 KiB"),
        of: "members",
        measure: "instructions a request",
        exponent: "exponent of instructions a request in members",
        aim: REQUEST,
        points: [4, 8, 16, 32, 64].into_iter().map(cost).collect::<Result<_, String>>()?,
    })
}

/// With the requests that are on their way.
///
/// # Errors
/// When the counted program fails.
pub(super) fn outstanding(counter: &Counter) -> Result<Series, String> {
    let cost = |depth: u32| {
        let depth_text = format!("--depth={depth}");
        let target = "raid5(chunk=64KiB, null:1GiB, null:1GiB, null:1GiB, null:1GiB)";
        let arguments = [target, "random-write", "--bytes=4096", &depth_text];
        Ok((depth, vec![counter.count("outstanding", &arguments)?]))
    };
    Ok(Series {
        load: "raid5: random write 4 KiB".to_owned(),
        of: "outstanding",
        measure: "instructions a request",
        exponent: "exponent of instructions a request in outstanding ones",
        aim: REQUEST,
        points: [1, 4, 16, 64, 256, 1024].into_iter().map(cost).collect::<Result<_, String>>()?,
    })
}
