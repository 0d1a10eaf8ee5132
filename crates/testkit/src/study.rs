//! What a study that a plan repeats has said, and what its models say to that: a table of a
//! document, made from the run.

use std::fmt::Write;
use std::path::Path;

use crate::golden;

/// Whether a sentence of a study holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyOutcome {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It does not, and why it cannot.
    NotHere(&'static str),
}

/// A sentence of a study, and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The sentence, shortened.
    pub said: &'static str,
    /// Whether it holds.
    pub holds: StudyOutcome,
    /// The figures that say so.
    pub found: String,
}

impl Finding {
    /// That a sentence holds, or does not, by these figures.
    #[must_use]
    pub fn new(said: &'static str, holds: bool, found: String) -> Self {
        Self { said, holds: if holds { StudyOutcome::Yes } else { StudyOutcome::No }, found }
    }

    /// The same, with why it cannot hold where it does not.
    #[must_use]
    pub fn or_not_here(self, why: &'static str) -> Self {
        let holds =
            if self.holds == StudyOutcome::No { StudyOutcome::NotHere(why) } else { self.holds };
        Self { holds, ..self }
    }
}

/// Compares what was found with the table that a document has between the marks of this name: the
/// sentences, and whether they hold. With `RAIDLOOM_BLESS=1` the table is written there with its
/// figures, which depend on the seed of the run.
///
/// # Panics
/// When they differ, or a mark is missing.
#[track_caller]
pub fn check(path: impl AsRef<Path>, name: &str, findings: &[Finding]) {
    let own = table(findings);
    if std::env::var_os("RAIDLOOM_BLESS").is_some() {
        return golden::check_blocks(path, &[(name, &own)]);
    }
    let document = std::fs::read_to_string(path).expect("the document can be read");
    let (begin, end) = (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"));
    let (_, rest) = document.split_once(&begin).expect("the mark before the block");
    let (kept, _) = rest.split_once(&end).expect("the mark after the block");
    let sentences = |table: &str| -> Vec<String> {
        let rows = table.lines().filter(|line| !line.is_empty());
        rows.map(|row| row.splitn(4, " | ").take(2).collect::<Vec<_>>().join(" | ")).collect()
    };
    assert_eq!(sentences(kept), sentences(&own), "RAIDLOOM_BLESS=1 accepts the new table");
}

/// All of them as a table in Markdown.
fn table(findings: &[Finding]) -> String {
    let mut text = "| what was said | here | by |\n| --- | --- | --- |\n".to_owned();
    for Finding { said, holds, found } in findings {
        let holds = match holds {
            StudyOutcome::Yes => "yes".to_owned(),
            StudyOutcome::No => "no".to_owned(),
            StudyOutcome::NotHere(why) => format!("not here: {why}"),
        };
        let _ = writeln!(text, "| {said} | {holds} | {found} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_holds_or_not_and_says_by_what() {
        let why = "another driver";
        let all = [
            Finding::new("a", true, "2 to 1".into()).or_not_here(why),
            Finding::new("b", false, "1 to 2".into()),
            Finding::new("c", false, "1 to 3".into()).or_not_here(why),
        ];
        let expected = "| what was said | here | by |\n| --- | --- | --- |\n| a | yes | 2 to 1 |\n\
            | b | no | 1 to 2 |\n| c | not here: another driver | 1 to 3 |\n";
        assert_eq!(table(&all), expected);
    }
}
