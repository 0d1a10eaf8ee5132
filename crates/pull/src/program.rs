//! A program of the user's own as work: what it has said before a cut, and what its check says of
//! it afterwards.
//!
//! ```text
//!   work    a line to $MARKS, or printed ──> Statement in the log
//!   check   the lines before the cut in $PROMISED ──> `lost KEY`, `wrong KEY`, `torn KEY`, exit code
//! ```
//!
//! A line counts once its end was handed over. What is printed is what was promised only where
//! nothing was said by `$MARKS` in the whole recording.

use std::fmt;

use serde::{Deserialize, Serialize};
use words::{Text, statement};

use crate::catalogue;

/// By which way a program has said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// The file that is named in `$MARKS`.
    Marks,
    /// Its standard output.
    Output,
}

/// A line that a program has said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// By which way.
    pub stream: Stream,
    /// The line, without its end.
    pub line: String,
}

/// A line that promises something, and when it was said, in nanoseconds of the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// The line.
    pub line: String,
    /// When.
    pub since_nanoseconds: u64,
}

/// The lines that promise something, of all that was said in a recording, before an event.
#[must_use]
pub fn promises(all: &[(u32, u64, Statement)], before: u32) -> Vec<Promise> {
    let has_marks = all.iter().any(|(.., said)| said.stream == Stream::Marks);
    let stream = if has_marks { Stream::Marks } else { Stream::Output };
    all.iter()
        .filter(|(event, _, said)| *event < before && said.stream == stream)
        .map(|(_, time, said)| Promise { line: said.line.clone(), since_nanoseconds: *time })
        .collect()
}

/// What a check says of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is not there.
    Lost,
    /// It is there and not as it should be.
    Wrong,
    /// A part of it is there.
    Torn,
}

/// All of them, as checks call them.
const VERDICTS: [(&str, Verdict); 3] =
    [("lost", Verdict::Lost), ("wrong", Verdict::Wrong), ("torn", Verdict::Torn)];

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = VERDICTS.iter().find(|(_, verdict)| verdict == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}

/// What a check has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongKey {
    /// What it is said of; nothing where the check has said no more than that something is wrong.
    pub key: Option<String>,
    /// What is said of it.
    pub verdict: Verdict,
    /// Since when it was promised, in nanoseconds of the recording; nothing of what never was.
    pub since_nanoseconds: Option<u64>,
}

/// What a line of a check says, if it is a verdict: of what, and which.
#[must_use]
pub fn verdict(line: &str) -> Option<(Verdict, Option<&str>)> {
    let (word, key) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    let (_, verdict) = VERDICTS.iter().find(|(name, _)| *name == word)?;
    let key = key.trim();
    Some((*verdict, (!key.is_empty()).then_some(key)))
}

/// What a check's lines and exit code come to: a code that is not 0 without a verdict says that
/// something is wrong.
#[must_use]
pub fn wrong_keys(lines: &[String], succeeded: bool, promised: &[Promise]) -> Vec<WrongKey> {
    let first_word = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let since = |key: Option<&str>| {
        let key = key?;
        let newest_first = || promised.iter().rev();
        let whole = newest_first().find(|promise| promise.line.trim() == key);
        let begins = || newest_first().find(|one| first_word(&one.line).as_deref() == Some(key));
        whole.or_else(begins).map(|promise| promise.since_nanoseconds)
    };
    let mut found: Vec<WrongKey> = Vec::new();
    for (verdict, key) in lines.iter().filter_map(|line| verdict(line)) {
        let since_nanoseconds = since(key);
        let wrong = WrongKey { key: key.map(str::to_owned), verdict, since_nanoseconds };
        if !found.contains(&wrong) {
            found.push(wrong);
        }
    }
    if found.is_empty() && !succeeded {
        let since_nanoseconds = promised.last().map(|promise| promise.since_nanoseconds);
        found.push(WrongKey { key: None, verdict: Verdict::Wrong, since_nanoseconds });
    }
    found
}

/// Why a check has given no verdict on a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoVerdict {
    /// It did not end in time.
    Hangs,
    /// A signal of this number has ended it.
    Signal(i32),
    /// The shell could not run it, and ended with this exit code: 126 or 127.
    NotRun(i32),
}

impl From<NoVerdict> for Text {
    fn from(why: NoVerdict) -> Text {
        match why {
            NoVerdict::Hangs => catalogue::CHECK_HANGS.into(),
            NoVerdict::Signal(number) => {
                statement!(catalogue::CHECK_ENDED_BY_SIGNAL, number = number)
            }
            NoVerdict::NotRun(code) => statement!(catalogue::CHECK_NOT_RUN, code = code),
        }
    }
}

impl fmt::Display for NoVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Text::from(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(stream: Stream, lines: &[&str]) -> Vec<(u32, u64, Statement)> {
        let statement = |line: &&str| Statement { stream, line: (*line).to_owned() };
        (0..).zip(lines).map(|(number, line)| (number, 100, statement(line))).collect()
    }

    #[test]
    fn what_counts_was_said_before_the_cut_and_marks_count_before_what_was_printed() {
        let mut all = said(Stream::Output, &["a", "b", "c"]);
        let lines = |all: &[_], before| -> Vec<String> {
            promises(all, before).into_iter().map(|promise| promise.line).collect()
        };
        assert_eq!(lines(&all, 2), ["a", "b"], "nothing but printed lines");
        all.push((3, 200, Statement { stream: Stream::Marks, line: "m".to_owned() }));
        assert_eq!(lines(&all, 4), ["m"]);
        assert_eq!(lines(&all, 3), [""; 0], "marks come later in this recording");
    }

    #[test]
    fn a_check_says_by_lines_and_by_its_exit_code_what_is_wrong() {
        let promised = [("3", 10), ("4 of two", 20), ("3", 30)]
            .map(|(line, time)| Promise { line: line.to_owned(), since_nanoseconds: time });
        let of = |text: &str, succeeded| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            wrong_keys(&lines, succeeded, &promised)
        };
        let wrong = |key: Option<&str>, verdict, since_nanoseconds| WrongKey {
            key: key.map(str::to_owned),
            verdict,
            since_nanoseconds,
        };
        assert_eq!(of("looking\nfound all\n", true), []);
        assert_eq!(of("lost 3\nlost 3\n", true), [wrong(Some("3"), Verdict::Lost, Some(30))]);
        assert_eq!(of("torn 4\n", false), [wrong(Some("4"), Verdict::Torn, Some(20))]);
        assert_eq!(of("wrong else\n", false), [wrong(Some("else"), Verdict::Wrong, None)]);
        assert_eq!(of("lost\n", true), [wrong(None, Verdict::Lost, None)]);
        assert_eq!(of("losty 3\n", false), [wrong(None, Verdict::Wrong, Some(30))]);
    }
}
