//! Rules about words: `docs/glossary.md` is held against the code, and the code against it;
//! comments speak of members and requests, not of persons.
//!
//! ```text
//!   | term | what it is (`Type`) | in md |             each `Type` is defined in the code
//!   | instead of | write | checked in | except |      no `instead of` as a word or part of a name
//! ```

use std::collections::HashSet;

use super::{Finding, Tree};

const RULE: &str = "glossary";
const PAGE: &str = "docs/glossary.md";
/// The head of the table of words that are not used.
const BANNED_HEAD: &str = "| instead of | write | checked in | except |";
/// This file plants words in its tests.
const OWN_FILE: &str = "xtask/src/tidy/glossary.rs";

/// Words for persons, and beginnings of the paths where comments may not have them; none:
/// everywhere.
const PERSONS: &[(&[&str], &[&str])] = &[
    (&["he", "his", "him", "himself", "she", "her"], &[]),
    (
        &["who", "whom", "whoever", "somebody", "someone", "nobody", "anybody", "anyone"],
        &[
            "crates/array/",
            "crates/block/",
            "crates/cache/",
            "crates/device/",
            "crates/mdtools/",
            "crates/reactor/",
            "crates/stack/",
            "crates/testkit/",
        ],
    ),
];

/// A row of the table of words that are not used.
#[derive(Debug, PartialEq, Eq)]
struct BannedWord<'a> {
    word: &'a str,
    instead: &'a str,
    /// Beginnings of paths; none: everywhere.
    within: Vec<&'a str>,
    /// Phrases in which the word is right.
    except: Vec<&'a str>,
}

/// What stands in backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The rows of the table under `head`, cell by cell.
fn rows<'a>(page: &'a str, head: &'a str) -> impl Iterator<Item = (usize, Vec<&'a str>)> {
    page.lines()
        .enumerate()
        .skip_while(move |(_, line)| *line != head)
        .skip(2)
        .take_while(|(_, line)| line.starts_with('|'))
        .map(|(index, line)| {
            (index + 1, line.trim_matches('|').split('|').map(str::trim).collect())
        })
}

fn banned(page: &str) -> Result<Vec<BannedWord<'_>>, Finding> {
    let mut all = Vec::new();
    for (line, cells) in rows(page, BANNED_HEAD) {
        let [words, instead, within, except] = cells[..] else {
            return Err(Finding::error(RULE, PAGE, line, "a row of this table has four cells"));
        };
        for word in quoted(words) {
            all.push(BannedWord { word, instead, within: quoted(within), except: quoted(except) });
        }
    }
    if all.is_empty() {
        let message = format!("no words under `{BANNED_HEAD}`");
        return Err(Finding::error(RULE, PAGE, 0, message));
    }
    Ok(all)
}

/// The words of a line, names cut where a capital or an underscore begins a new word.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric()).flat_map(|name| {
        let letters: Vec<(usize, char)> = name.char_indices().collect();
        let mut cuts = vec![0];
        cuts.extend(letters.windows(2).filter_map(|pair| {
            (!pair[0].1.is_uppercase() && pair[1].1.is_uppercase()).then_some(pair[1].0)
        }));
        cuts.push(name.len());
        cuts.windows(2).map(|cut| &name[cut[0]..cut[1]]).collect::<Vec<_>>()
    })
}

/// Whether a word is this one, or its plural. One with a capital is part of a type's name and meant
/// exactly so.
fn is_same(word: &str, banned: &str) -> bool {
    if banned.starts_with(char::is_uppercase) {
        return word == banned;
    }
    word.get(..banned.len()).is_some_and(|start| {
        start.eq_ignore_ascii_case(banned)
            && ["", "s", "es", "S", "ES"].contains(&&word[banned.len()..])
    })
}

fn is_within(path: &str, within: &[&str]) -> bool {
    within.is_empty() || within.iter().any(|start| path.starts_with(start))
}

/// Words that the glossary replaces by others, in code and docs.
pub(crate) fn replaced(tree: &Tree) -> Vec<Finding> {
    let Some((_, page)) = tree.texts().find(|(path, _)| *path == PAGE) else {
        let is_whole = tree.paths.contains("docs/architecture.md");
        return is_whole
            .then(|| Finding::error(RULE, PAGE, 0, "the glossary is missing"))
            .into_iter()
            .collect();
    };
    let all = match banned(page) {
        Ok(all) => all,
        Err(finding) => return vec![finding],
    };
    let mut findings = Vec::new();
    let checked = |path: &str| {
        [".rs", ".md", ".toml"].iter().any(|end| path.ends_with(end))
            && path != PAGE
            && path != OWN_FILE
    };
    for (path, text) in tree.texts().filter(|(path, _)| checked(path)) {
        let here: Vec<&BannedWord> =
            all.iter().filter(|row| is_within(path, &row.within)).collect();
        for (index, line) in text.lines().enumerate() {
            let found: Vec<&str> = words(line).collect();
            let has = |word: &BannedWord| found.iter().any(|found| is_same(found, word.word));
            for row in here.iter().filter(|row| has(row)) {
                let left = row
                    .except
                    .iter()
                    .fold(line.to_owned(), |line, phrase| line.replace(phrase, " "));
                if words(&left).any(|word| is_same(word, row.word)) {
                    let message = format!("`{}`: {PAGE} says to write: {}", row.word, row.instead);
                    findings.push(Finding::error(RULE, path, index + 1, message));
                }
            }
        }
    }
    findings
}

/// Types that the glossary names and that are not there.
pub(crate) fn defined(tree: &Tree) -> Vec<Finding> {
    let Some((_, page)) = tree.texts().find(|(path, _)| *path == PAGE) else { return Vec::new() };
    let mut names = HashSet::new();
    for (_, text) in tree.rust() {
        for line in text.lines() {
            let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            while let Some(word) = words.next() {
                if ["struct", "enum", "trait", "type"].contains(&word) {
                    names.extend(words.next());
                }
            }
        }
    }
    let is_type = |name: &&str| {
        name.starts_with(char::is_uppercase)
            && name.chars().all(char::is_alphanumeric)
            && name.contains(char::is_lowercase)
    };
    let mut findings = Vec::new();
    for (index, line) in page.lines().enumerate().take_while(|(_, line)| *line != BANNED_HEAD) {
        let what = line.split('|').nth(2).unwrap_or_default();
        for name in quoted(what).iter().filter(|name| is_type(name) && !names.contains(*name)) {
            let message = format!("no type is called {name} any more");
            findings.push(Finding::error(RULE, PAGE, index + 1, message));
        }
    }
    findings
}

/// Comments that speak of persons.
pub(crate) fn persons(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust().filter(|(path, _)| *path != OWN_FILE) {
        for (index, line) in text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
            for (persons, _) in PERSONS.iter().filter(|(_, within)| is_within(path, within)) {
                let said = |word: &str| persons.contains(&word.to_lowercase().as_str());
                if let Some(word) = words(comment).find(|word| said(word)) {
                    let message = format!(
                        "`{word}`: a comment speaks of members, requests, owners, not of persons"
                    );
                    findings.push(Finding::error("persons", path, index + 1, message));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str = "# Glossary\n\n\
        | term | what it is | in md |\n|---|---|---|\n\
        | slot | a position (`Slot`) | `raid_disk` |\n\n\
        | instead of | write | checked in | except |\n|---|---|---|---|\n\
        | `seat` | slot | | |\n\
        | `hole` | unrecovered | `crates/array/` | `write hole` |\n\
        | `Hand` | handle | | |\n";

    fn found(rule: fn(&Tree) -> Vec<Finding>, path: &str, text: &str) -> Vec<String> {
        let tree = Tree::of(&[(PAGE, GLOSSARY), (path, text)]);
        rule(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_word_that_the_glossary_replaces_is_found_in_names_comments_and_docs() {
        for planted in
            ["struct FreeSeat;", "let seats = 3;", "// The Seat of a member.", "SEAT_MAX"]
        {
            let text = format!("//! P.\n{planted}\n");
            let errors = found(replaced, "crates/array/src/lib.rs", &text);
            assert_eq!(errors.len(), 1, "{planted}: {errors:?}");
            assert!(
                errors[0].starts_with(
                    "crates/array/src/lib.rs:2: error: `seat`: docs/glossary.md says to write: slot"
                ),
                "{errors:?}"
            );
        }
        assert_eq!(found(replaced, "docs/serving.md", "Take a seat.\n").len(), 1);
    }

    #[test]
    fn words_stand_where_the_glossary_lets_them() {
        for fine in ["seated", "a Handle on it", "it hands it on, hand in hand", "unseat"] {
            assert_eq!(found(replaced, "crates/array/src/lib.rs", fine), [""; 0], "{fine}");
        }
        assert_eq!(found(replaced, "crates/array/src/lib.rs", "// Its holes.").len(), 1);
        assert!(found(replaced, "crates/array/src/lib.rs", "// The write hole.").is_empty());
        assert!(found(replaced, "crates/device/src/lib.rs", "// Its holes.").is_empty());
        assert_eq!(found(replaced, "crates/array/src/lib.rs", "struct WorkerHand;").len(), 1);
    }

    #[test]
    fn a_glossary_that_says_nothing_is_an_error() {
        let tree = Tree::of(&[("docs/architecture.md", "")]);
        assert_eq!(replaced(&tree).len(), 1);
        let tree = Tree::of(&[(PAGE, "# Glossary\n")]);
        assert_eq!(replaced(&tree).len(), 1);
        let short = GLOSSARY.replace("| `Hand` | handle | | |", "| `Hand` | handle |");
        assert_eq!(replaced(&Tree::of(&[(PAGE, &short)])).len(), 1);
    }

    #[test]
    fn a_type_of_the_glossary_that_is_gone_is_found() {
        assert_eq!(found(defined, "crates/array/src/lib.rs", "struct Place;").len(), 1);
        assert!(found(defined, "crates/array/src/lib.rs", "pub enum Slot {}").is_empty());
    }

    #[test]
    fn comments_that_speak_of_persons_are_found() {
        let he = "//! P.\n    // A member: he has failed.\nlet he = 1;\n";
        assert_eq!(found(persons, "crates/serve/src/lib.rs", he).len(), 1);
        let who = "//! Who goes next.\n";
        assert_eq!(found(persons, "crates/cache/src/lib.rs", who).len(), 1);
        assert!(found(persons, "crates/export/src/lib.rs", who).is_empty());
        let fine = "//! A member whose data the other lacks; the rest of them.\n";
        assert!(found(persons, "crates/cache/src/lib.rs", fine).is_empty());
    }
}
