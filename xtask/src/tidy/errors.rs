//! No error out of another's text: what an error says is a value with codes, and an error that is
//! made of the sentence of another has lost them, and with them the reader's language. It is
//! handed on (`error.at(place)`, `Error::usage(error)`), or told (`error.text()`); what a library
//! says in its one language is `Text::verbatim(&error)`.

use super::scrub::Scrubbed;
use super::source::is_test_file;
use super::{Finding, Tree};

const RULE: &str = "error";

/// What an error is made with.
const MAKERS: &[&str] = &[
    "map_err",
    "usage",
    "failed",
    "refused",
    "interrupted",
    "invalid",
    "invalid_results",
    "limit_passed",
    "with_source",
    "retold",
    "wrong",
    "bad",
    "Error::new",
];
/// Names that an error has.
const ERRORS: &[&str] = &["error", "err"];

/// Places that make an error out of another's text.
pub(crate) fn flattened(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|(path, _)| path.starts_with("crates/") && path.contains("/src/"))
        .filter(|(path, _)| !is_test_file(path) && !path.starts_with("crates/testkit/"))
        .flat_map(|(path, text)| in_file(path, text))
        .collect()
}

fn in_file(path: &str, text: &str) -> Vec<Finding> {
    let scrubbed = Scrubbed::new(text);
    let mut lines = Vec::new();
    for maker in MAKERS {
        for position in scrubbed.find(maker).filter(|position| !scrubbed.is_test(*position)) {
            let open = position + maker.len();
            if !scrubbed.code[open..].starts_with('(') {
                continue;
            }
            let close = open + closing(&scrubbed.code[open..]);
            let found = told(&scrubbed.code[open..close], &text[open..close]);
            lines.extend(found.map(|at| scrubbed.line(open + at)));
        }
    }
    lines.sort_unstable();
    // One maker may stand inside another.
    lines.dedup();
    let message = "an error made of another's text loses its codes: hand it on (`.at(place)`), or \
        `Text::verbatim` what a library says";
    lines.into_iter().map(|line| Finding::error(RULE, path, line, message)).collect()
}

/// The end of what opens with a bracket.
fn closing(code: &str) -> usize {
    let mut depth = 0_usize;
    for (index, byte) in code.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => (),
        }
        if depth == 0 {
            return index;
        }
    }
    code.len()
}

/// Where the sentence of an error is taken, of the arguments of what makes another: in a format
/// (`{error}`), or by itself (`error.to_string()`).
fn told(code: &str, text: &str) -> Option<usize> {
    let of_one = |name: &&str| {
        let shown = [format!("{{{name}}}"), format!("{{{name}:")];
        let by_itself = format!("{name}.to_string()");
        let shown = shown.iter().find_map(|shown| text.find(shown.as_str()));
        shown.or_else(|| code.find(&by_itself))
    };
    ERRORS.iter().find_map(of_one).or_else(|| code.find("ToString::to_string"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, code: &str) -> usize {
        let text = format!("//! A file.\nfn f() {{\n    {code}\n}}\n");
        flattened(&Tree::of(&[(path, &text)])).len()
    }

    #[test]
    fn a_planted_error_of_another_errors_text_is_found() {
        let path = "crates/host/src/a.rs";
        for code in [
            r#"read().map_err(|error| Error::usage(format!("--time: {error}")))?;"#,
            "read().map_err(|error| Failure::failed(error.to_string()))?;",
            "read().map_err(|err| err.to_string())?;",
            "read().map_err(ToString::to_string)?;",
            "let failed = |error: io::Error| {\n        refused(format!(\"{place}: {error}\"))\n    };",
            r#"Err(error) => Err(Error::new(ErrorKind::Invalid, format!("bad: {error:#}"))),"#,
            r#"return Err(error.retold(format!("{error} (and more)")));"#,
        ] {
            assert_eq!(found(path, code), 1, "{code}");
        }
    }

    #[test]
    fn an_error_that_is_handed_on_or_only_shown_is_left_alone() {
        let path = "crates/host/src/a.rs";
        for code in [
            r#"read().map_err(|error| Error::usage(error).at("--time"))?;"#,
            "read().map_err(|error| Error::failed(Text::verbatim(&error)))?;",
            r#"notes.push(format!("left out: {error}"));"#,
            "let names = list.iter().map(ToString::to_string);",
            r#"// map_err(|error| error.to_string())"#,
            r#"let text = "map_err(|error| error.to_string())";"#,
        ] {
            assert_eq!(found(path, code), 0, "{code}");
        }
        let code = r#"read().map_err(|error| error.to_string()).unwrap();"#;
        assert_eq!(found("crates/testkit/src/a.rs", code), 0);
        let text = format!("//! A.\n#[cfg(test)]\nmod tests {{\n    fn f() {{ {code} }}\n}}\n");
        assert_eq!(flattened(&Tree::of(&[(path, &text)])).len(), 0);
    }
}
