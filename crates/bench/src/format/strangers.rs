//! What is no result that can be read: what it is instead, and what to do with it.

use regex_lite::Regex;

/// What a line of a file that holds no results looks like, and what that is.
const KNOWN: [(&str, &str); 7] = [
    (r"^fio version [23] iolog$", "fio's iolog"),
    (r"^\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d{9}\s+\d+\s+[A-Z]+\s+[A-Z]+\b", "the text of blkparse"),
    (r"^\d{15,},[^,]*,\d+,(Read|Write),\d+,\d+,\d+\s*$", "a trace of Microsoft Research"),
    (r"^\d+,\s*\d+,\s*\d+,\s*[rRwW],\s*\d+\.\d+", "a trace of the SPC"),
    (r"^\d{9,},\d+,\s*\d+,[01],\d+\s*$", "a trace of Tencent"),
    (r"^\S+: \(groupid=\d+, jobs=\d+\): err=", "what fio prints for people"),
    (r"^(read|write|trim): IOPS=", "what fio prints for people"),
];
/// How many of them are traces.
const TRACES: usize = 5;
/// Lines that are looked at.
const LINES_MAX: usize = 100;

/// Why a text without a result is refused, in one line.
pub(super) fn refusal(text: &str) -> String {
    let lines = || text.lines().take(LINES_MAX).map(str::trim_end);
    let found = KNOWN.iter().position(|(pattern, _)| {
        Regex::new(pattern)
            .is_ok_and(|pattern| lines().any(|line| pattern.is_match(line.trim_start())))
    });
    match found {
        Some(index) if index < TRACES => format!(
            "it is {}: requests, and no results of them; `fio --read_iolog=FILE --output-format=json` \
            runs those of an iolog (others are converted to one before), and what that prints is \
            read here",
            KNOWN[index].1
        ),
        Some(index) => format!(
            "it is {}: of fio the output of --output-format=json or of --minimal is read here",
            KNOWN[index].1
        ),
        None => "none of the formats that are known: CrystalDiskMark's text (2 to 9), KDiskMark's \
            text, bonnie++'s CSV and tables (1.02 to 2.00), fio's JSON (2 and 3) and terse lines"
            .to_owned(),
    }
}
