//! No decision on the text of a message: a fact is a value (an errno, a kind, an enum), and a
//! sentence is made where it is printed and never read back. A message that is reworded, or said in
//! another language, must change nothing but what people see.

use super::scrub::Scrubbed;
use super::source::is_test_file;
use super::{Finding, Tree};

const RULE: &str = "message";

/// What a text is asked with.
const QUESTIONS: &[&str] = &[
    "contains",
    "starts_with",
    "ends_with",
    "strip_prefix",
    "strip_suffix",
    "split_once",
    "rsplit_once",
    "find",
];
/// Names of what is a message, or has one.
const MESSAGES: &[&str] = &[
    "error",
    "err",
    "failure",
    "message",
    "flag",
    "reason",
    "refusal",
    "why",
    "note",
    "trouble",
    "complaint",
    "doubt",
    "caveat",
];
/// What leads from an error to its text.
const STEPS: &[&str] = &[
    "to_string",
    "as_str",
    "as_deref",
    "to_owned",
    "trim",
    "message",
    "as_ref",
    "unwrap_or_default",
];

/// Path and why it decides on a message, until that is mended.
const EXCEPTIONS: &[(&str, &str)] =
    &[("crates/host/src/rbd.rs", "librbd's reason comes through qemu-img as a sentence")];

/// Places that decide on the text of a message.
pub(crate) fn decisions(tree: &Tree) -> Vec<Finding> {
    let findings = tree
        .rust()
        .filter(|(path, _)| path.contains("/src/") && !is_test_file(path))
        .flat_map(|(path, text)| in_file(path, text))
        .collect();
    tree.but_for(EXCEPTIONS, RULE, findings)
}

fn in_file(path: &str, text: &str) -> Vec<Finding> {
    let scrubbed = Scrubbed::new(text);
    let mut findings = Vec::new();
    for question in QUESTIONS {
        for position in scrubbed.find(question) {
            let asks = scrubbed.code[position + question.len()..].starts_with('(');
            if !asks || scrubbed.is_test(position) {
                continue;
            }
            let Some(name) = asked(&scrubbed.code[..position]) else { continue };
            let message = format!(
                "`{name}…{question}(`: no decision on the text of a message; ask for its errno, kind \
                or enum"
            );
            findings.push(Finding::error(RULE, path, scrubbed.line(position), message));
        }
    }
    findings
}

/// The message that is asked, of the code that ends before a question: `error.to_string().`.
fn asked(code: &str) -> Option<&str> {
    let mut rest = code.trim_end().strip_suffix('.')?.trim_end();
    loop {
        let called = rest.strip_suffix("()").map(str::trim_end);
        let word = last_word(called.unwrap_or(rest));
        match called {
            Some(called) if STEPS.contains(&word) => {
                rest = called[..called.len() - word.len()].trim_end().strip_suffix('.')?.trim_end();
            }
            // What a method gives that is called so: `trial.reason()`.
            _ => return MESSAGES.contains(&word).then_some(word),
        }
    }
}

fn last_word(code: &str) -> &str {
    let start = code.rfind(|letter: char| !letter.is_alphanumeric() && letter != '_');
    &code[start.map_or(0, |start| start + 1)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, code: &str) -> usize {
        let text = format!("//! A file.\nfn f() {{\n    {code}\n}}\n");
        decisions(&Tree::of(&[(path, &text)])).len()
    }

    #[test]
    fn a_planted_decision_on_a_message_is_found() {
        let path = "crates/host/src/a.rs";
        for code in [
            r#"let busy = |error: &Error| error.to_string().contains("busy");"#,
            "let busy = error\n        .to_string()\n        .contains(\"busy\");",
            r#"if self.error.message().starts_with("x") {}"#,
            r#"flags.iter().any(|flag| flag.starts_with("read from a cache"));"#,
            "match trial.reason().as_deref() { _ if reason.ends_with(SUFFIX) => () }",
        ] {
            assert_eq!(found(path, code), 1, "{code}");
        }
    }

    #[test]
    fn what_is_no_message_and_what_tests_expect_is_left_alone() {
        let path = "crates/host/src/a.rs";
        for code in [
            r#"let has = text.contains("busy");"#,
            "notes.contains(&note);",
            "error.kind() == ErrorKind::Busy;",
            r#"// error.to_string().contains("busy")"#,
            r#"let text = "error.to_string().contains(";"#,
            "errors.iter().find(|error| error.is_busy());",
        ] {
            assert_eq!(found(path, code), 0, "{code}");
        }
        let code = r#"assert!(error.to_string().contains("busy"));"#;
        assert_eq!(found("crates/host/tests/a.rs", code), 0);
        let text = format!("//! A.\n#[cfg(test)]\nmod tests {{\n    fn f() {{ {code} }}\n}}\n");
        assert_eq!(decisions(&Tree::of(&[(path, &text)])).len(), 0);
    }

    #[test]
    fn an_exception_that_nothing_needs_is_an_error() {
        let (path, _) = EXCEPTIONS[0];
        assert_eq!(found(path, r#"error.to_string().contains("busy");"#), 0);
        assert_eq!(found(path, ""), 1);
    }
}
