//! The places of a message are filled by their names: `statement!(catalogue::NAME, place = value)`
//! fills `{place}`. A name that the message has not, or a place that is not filled, would reach
//! people as braces.

use std::collections::{BTreeMap, BTreeSet};

use super::scrub::Scrubbed;
use super::{Finding, Tree};

const RULE: &str = "places";
/// What fills the places of a message.
const FILLERS: &[&str] = &["statement!", "say!"];

/// Names of places, as a message has them or as they are filled.
type Places = BTreeSet<String>;
/// By crate and name: the same name may stand in two catalogues of a crate.
type Messages = BTreeMap<(String, String), Vec<Places>>;

/// Places that are filled under another name than the message has, or not at all.
pub(crate) fn filled(tree: &Tree) -> Vec<Finding> {
    let mut messages = Messages::new();
    for (path, text) in tree.rust() {
        for (name, places) in messages_in(text) {
            messages.entry((home(path), name)).or_default().push(places);
        }
    }
    tree.rust().flat_map(|(path, text)| in_file(path, text, &messages)).collect()
}

/// The crate that a file is of: `crates/array`.
fn home(path: &str) -> String {
    path.split('/').take(2).collect::<Vec<_>>().join("/")
}

/// The messages of a catalogue: `NAME: "text with {place}",`, each beginning on a line of its own.
fn messages_in(text: &str) -> Vec<(String, Places)> {
    let mut found = Vec::new();
    for (position, _) in text.match_indices(": \"") {
        let line = text[..position].rfind('\n').map_or(0, |end| end + 1);
        let name = text[line..position].trim_start();
        if is_constant(name) {
            found.push((name.to_owned(), places_of(literal(&text[position + 3..]))));
        }
    }
    found
}

/// The text of a literal, from behind its opening quotation mark.
fn literal(rest: &str) -> &str {
    let mut is_escaped = false;
    let end = rest.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    &rest[..end.unwrap_or(rest.len())]
}

fn is_constant(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
}

fn places_of(message: &str) -> Places {
    let opened = message.split('{').skip(1);
    let names = opened.filter_map(|rest| rest.split_once('}').map(|(name, _)| name));
    let is_name = |name: &&str| {
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit())
    };
    names.filter(|name| !name.is_empty()).filter(is_name).map(str::to_owned).collect()
}

fn in_file(path: &str, text: &str, messages: &Messages) -> Vec<Finding> {
    let scrubbed = Scrubbed::new(text);
    let mut findings = Vec::new();
    for filler in FILLERS {
        let opening = format!("{filler}(");
        for (position, _) in scrubbed.code.match_indices(&opening) {
            if scrubbed.is_test(position) {
                continue;
            }
            let arguments = arguments(&scrubbed.code[position + opening.len()..]);
            let Some((message, values)) = arguments.split_first() else { continue };
            let name = message.rsplit("::").next().unwrap_or(message).trim();
            // What comes as a variable is not known here.
            let Some(known) = messages.get(&(home(path), name.to_owned())) else { continue };
            let given: Places = values
                .iter()
                .filter_map(|value| value.split_once('='))
                .map(|(place, _)| place.trim().to_owned())
                .collect();
            if !known.contains(&given) {
                let message = format!("{name} has the places {known:?}, and {given:?} are filled");
                findings.push(Finding::error(RULE, path, scrubbed.line(position), message));
            }
        }
    }
    findings
}

/// What stands between commas up to the bracket that closes.
fn arguments(code: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
    for (index, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => {
                found.push(&code[start..index]);
                break;
            }
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                found.push(&code[start..index]);
                start = index + 1;
            }
            _ => (),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CATALOGUE: &str = "//! A.\nwords::catalogue! {\n    NO_TIME: \"`{time}` is no {unit}\",\n        \
        \"{time} は {unit} ではありません\";\n    GONE: \"it is gone\", \"ありません\";\n}\n";

    fn found(code: &str) -> usize {
        let text = format!("//! A file.\nfn f() {{\n    {code}\n}}\n");
        let files =
            [("crates/host/src/catalogue.rs", CATALOGUE), ("crates/host/src/a.rs", text.as_str())];
        filled(&Tree::of(&files)).len()
    }

    #[test]
    fn a_planted_place_that_is_not_filled_is_found() {
        for code in [
            "statement!(catalogue::NO_TIME, text = text, unit = \"s\");",
            "statement!(NO_TIME, time = text);",
            "words::statement!(\n        catalogue::NO_TIME,\n        time = f(a, b),\n        of = 1\n    );",
            "say!(catalogue::GONE, path = path);",
        ] {
            assert_eq!(found(code), 1, "{code}");
        }
    }

    #[test]
    fn places_that_are_filled_and_messages_that_are_not_known_are_left_alone() {
        for code in [
            "statement!(catalogue::NO_TIME, time = f(\"a, b\", c), unit = [1, 2][0]);",
            "statement!(why, source = name);",
            "statement!(catalogue::GONE);",
            "statement!(other::ELSEWHERE, path = path);",
        ] {
            assert_eq!(found(code), 0, "{code}");
        }
    }
}
