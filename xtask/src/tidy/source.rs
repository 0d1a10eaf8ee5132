//! Rules about Rust source that clippy does not have (its own are in `clippy.toml`): where unsafe
//! code may stand, how a file opens, how long lines and files are.

use super::scrub::Scrubbed;
use super::{Finding, Tree};

/// Where the ban on unsafe code may be lifted.
const UNSAFE: &[&str] = &[
    "crates/reactor/src/buffer.rs",
    "crates/reactor/src/mapping.rs",
    "crates/reactor/src/ring.rs",
    "crates/reactor/src/ublk.rs",
    "crates/array/src/parity/simd.rs",
];

/// Files that lift the ban on unsafe code, which the compiler knows for all others.
pub(crate) fn lifted_bans(tree: &Tree) -> Vec<Finding> {
    let others = tree.rust().filter(|(path, _)| !UNSAFE.contains(path));
    let mut findings = Vec::new();
    for (path, text) in others {
        let scrubbed = Scrubbed::new(text);
        findings.extend(scrubbed.find("unsafe_code").map(|position| {
            let message = format!("only {} may lift the ban on unsafe code", UNSAFE.join(", "));
            Finding::error("unsafe", path, scrubbed.line(position), message)
        }));
    }
    findings
}

pub(super) fn is_test_file(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Files that do not open with what they are for.
pub(crate) fn opening(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|(path, text)| !path.ends_with("/tests.rs") && !text.starts_with("//!"))
        .map(|(path, _)| {
            Finding::error("opening", path, 1, "a file opens with `//!` and what it is for")
        })
        .collect()
}

/// What rustfmt breaks lines at.
const COLUMNS: usize = 100;

/// Lines that rustfmt leaves too long: comments, and code within macros. Text of a literal may be
/// as long as it is, and so may tables and drawings in comments.
pub(crate) fn columns(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        let scrubbed = Scrubbed::new(text);
        for (index, (line, code)) in text.lines().zip(scrubbed.code.lines()).enumerate() {
            let comment = line.trim_start().strip_prefix("//").is_some_and(is_prose);
            // A literal's end belongs to it. The scrubbed line is as long in bytes, not in letters.
            let code = code.trim_end_matches([' ', '"', '#', ',', ';', ')']);
            let code = code.len() > COLUMNS && line.chars().count() > COLUMNS;
            if code || comment && line.chars().count() > COLUMNS {
                let message = format!("{} columns; more than {COLUMNS}", line.chars().count());
                findings.push(Finding::error("columns", path, index + 1, message));
            }
        }
    }
    findings
}

/// Whether what follows the `//` of a comment is a sentence: no row of a table, no drawing.
fn is_prose(comment: &str) -> bool {
    let text = comment.trim_start_matches(['/', '!']);
    let text = text.strip_prefix(' ').unwrap_or(text);
    !text.starts_with(['|', ' ']) && !text.trim().contains("  ") && !text.contains("──")
}

/// A module with modules below it is the `mod.rs` of their folder, in all crates.
pub(crate) fn module_files(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|(path, _)| path.contains("/src/") && tree.paths.contains(&path[..path.len() - 3]))
        .map(|(path, _)| {
            let message = "a module with a folder of its own is that folder's `mod.rs`";
            Finding::error("module file", path, 0, message)
        })
        .collect()
}

const FILE_LINES: usize = 1000;

/// Files so long that they may be doing two things.
pub(crate) fn lengths(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > FILE_LINES)
        .map(|(path, lines)| {
            let message = format!("{lines} lines; more than {FILE_LINES} in a file");
            Finding::warning("length", path, 0, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&Tree) -> Vec<Finding>, path: &str, text: &str) -> Vec<String> {
        rule(&Tree::of(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lifting_the_ban_on_unsafe_is_found() {
        let planted = "//! P.\n#![allow(unsafe_code)]\n";
        assert_eq!(
            found(lifted_bans, "crates/device/src/lib.rs", planted),
            [format!(
                "crates/device/src/lib.rs:2: error: only {} may lift the ban on unsafe code [unsafe]",
                UNSAFE.join(", ")
            )]
        );
        assert!(found(lifted_bans, "crates/reactor/src/ring.rs", planted).is_empty());
        let said = "//! unsafe_code\nconst TEXT: &str = \"unsafe_code\";\n";
        assert!(found(lifted_bans, "crates/device/src/lib.rs", said).is_empty());
    }

    #[test]
    fn a_file_without_an_opening_is_found() {
        assert_eq!(found(opening, "crates/array/src/lib.rs", "pub fn f() {}\n").len(), 1);
        assert!(found(opening, "crates/array/src/lib.rs", "//! Arrays.\n").is_empty());
    }

    #[test]
    fn a_module_beside_its_folder_is_found() {
        let of = |files: &[&str]| {
            let files: Vec<_> = files.iter().map(|path| (*path, "//! P.\n")).collect();
            module_files(&Tree::of(&files)).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let planted = of(&["crates/lab/src/run.rs", "crates/lab/src/run/rows.rs"]);
        assert_eq!(planted.len(), 1, "{planted:?}");
        assert!(planted[0].starts_with("crates/lab/src/run.rs: error: "), "{planted:?}");
        assert!(of(&["crates/lab/src/run/mod.rs", "crates/lab/src/run/rows.rs"]).is_empty());
        assert!(of(&["crates/lab/tests/it/run.rs", "crates/lab/tests/it/run/rows.rs"]).is_empty());
    }

    #[test]
    fn long_files_are_found() {
        let lines = |count| "// P.\n".repeat(count);
        assert_eq!(found(lengths, "crates/array/src/lib.rs", &lines(FILE_LINES + 1)).len(), 1);
        assert!(found(lengths, "crates/array/src/lib.rs", &lines(FILE_LINES)).is_empty());
    }

    #[test]
    fn lines_that_rustfmt_leaves_too_long_are_found() {
        let words = "word ".repeat(25);
        for planted in
            [format!("//! {words}end"), format!("json!({{ {} }})", "name: value, ".repeat(9))]
        {
            let findings = found(columns, "crates/array/src/lib.rs", &planted);
            assert_eq!(findings.len(), 1, "{planted}");
        }
        for fine in [
            format!("//! | {words} |"),
            format!("//! {words}  ──> drawn"),
            format!("const TEXT: &str = \"{words}\";"),
        ] {
            assert_eq!(found(columns, "crates/array/src/lib.rs", &fine), [""; 0], "{fine}");
        }
    }
}
