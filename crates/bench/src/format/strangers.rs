//! What is no result that can be read: what it is instead, and what to do with it.

use regex_lite::Regex;
use words::{Message, Text, statement};

use crate::format::catalogue;

/// What a line of a file that holds no results looks like, and what that is.
const KNOWN: [(&str, Message); 7] = [
    (r"^fio version [23] iolog$", catalogue::FIO_IOLOG),
    (r"^\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d{9}\s+\d+\s+[A-Z]+\s+[A-Z]+\b", catalogue::BLKPARSE),
    (r"^\d{15,},[^,]*,\d+,(Read|Write),\d+,\d+,\d+\s*$", catalogue::MICROSOFT_TRACE),
    (r"^\d+,\s*\d+,\s*\d+,\s*[rRwW],\s*\d+\.\d+", catalogue::SPC_TRACE),
    (r"^\d{9,},\d+,\s*\d+,[01],\d+\s*$", catalogue::TENCENT_TRACE),
    (r"^\S+: \(groupid=\d+, jobs=\d+\): err=", catalogue::FIO_FOR_PEOPLE),
    (r"^(read|write|trim): IOPS=", catalogue::FIO_FOR_PEOPLE),
];
/// How many of them are traces.
const TRACES: usize = 5;
/// Lines that are looked at.
const LINES_MAX: usize = 100;

/// Why a text without a result is refused, in one line.
pub(super) fn refusal(text: &str) -> Text {
    let lines = || text.lines().take(LINES_MAX).map(str::trim_end);
    let found = KNOWN.iter().position(|(pattern, _)| {
        Regex::new(pattern)
            .is_ok_and(|pattern| lines().any(|line| pattern.is_match(line.trim_start())))
    });
    match found {
        Some(index) if index < TRACES => statement!(catalogue::IS_A_TRACE, what = KNOWN[index].1),
        Some(index) => statement!(catalogue::IS_FIO_TEXT, what = KNOWN[index].1),
        None => catalogue::NO_KNOWN_FORMAT.into(),
    }
}
