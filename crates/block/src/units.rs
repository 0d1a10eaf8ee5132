//! Sizes and durations as stack text has them; `stack::size` reads them back.

use std::time::Duration;

const BINARY: [(&str, u32); 5] = [("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
const TIME: [(&str, u128); 5] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
];

/// A size in the largest 1024-based unit that divides it: `64KiB`, `1536MiB`, `1000`.
#[must_use]
pub fn size_text(bytes: u64) -> String {
    match BINARY.iter().find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift)) {
        Some((unit, shift)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

/// A duration in the largest unit that divides it: `50ms`, `90s`, `2min`.
#[must_use]
pub fn duration_text(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    match TIME.iter().find(|(_, each)| nanoseconds > 0 && nanoseconds.is_multiple_of(*each)) {
        Some((unit, each)) => format!("{}{unit}", nanoseconds / each),
        None if nanoseconds == 0 => "0s".to_owned(),
        None => format!("{nanoseconds}ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_the_largest_unit_that_divides_them() {
        let texts = [0, 512, 1024, 1536 << 10, 100 << 20, 3 << 30, 1 << 40, 1000].map(size_text);
        assert_eq!(texts, ["0", "512", "1KiB", "1536KiB", "100MiB", "3GiB", "1TiB", "1000"]);
    }

    #[test]
    fn durations_take_the_largest_unit_that_divides_them() {
        let texts = [0, 1, 1_500_000, 50_000_000, 90_000_000_000, 7_200_000_000_000]
            .map(|time| duration_text(Duration::from_nanos(time)));
        assert_eq!(texts, ["0s", "1ns", "1500us", "50ms", "90s", "2h"]);
    }
}
