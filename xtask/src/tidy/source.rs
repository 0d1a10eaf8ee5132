//! Rules about Rust source: words that must not stand in it, how a file opens, how long things are.

use super::scrub::{Scrubbed, block_end};
use super::{Finding, Tree};

/// A word that may stand in some places only.
struct Word {
    rule: &'static str,
    token: &'static str,
    /// Beginnings of the paths where it may stand; empty: nowhere.
    allowed: &'static [&'static str],
    tests: Tests,
    why: &'static str,
}

/// What a word's rule says about tests.
#[derive(PartialEq)]
enum Tests {
    /// They may use it where others may.
    There,
    /// They may not use it, wherever they are.
    Never,
    /// They may use it anywhere.
    Free,
}

const CLOCK: &[&str] = &["crates/reactor/", "crates/host/src/facts", "crates/cli/", "xtask/"];
const SLEEP: &[&str] =
    &["crates/reactor/src/", "crates/cli/src/", "xtask/src/", "xtask/probe/src/"];

const PRINT: &[&str] = &["crates/escape/src/", "crates/testkit/", "xtask/", "fuzz/"];
const UNESCAPED: &str = "what the program prints goes through escape::out or escape::err, so that \
    no name steers the terminal";

const WORDS: &[Word] = &[
    Word {
        rule: "unsafe",
        token: "unsafe",
        allowed: &[
            "crates/reactor/src/buffer.rs",
            "crates/reactor/src/ring.rs",
            "crates/array/src/parity/simd.rs",
        ],
        tests: Tests::There,
        why: "unsafe stands only in the reactor's buffer.rs and ring.rs and the array's \
            parity/simd.rs",
    },
    Word {
        rule: "unsafe",
        token: "unsafe_code",
        allowed: &["crates/reactor/src/", "crates/array/src/parity/simd.rs"],
        tests: Tests::There,
        why: "only the reactor and the array's parity/simd.rs may lift the ban on unsafe",
    },
    Word { rule: "print", token: "println!", allowed: PRINT, tests: Tests::Free, why: UNESCAPED },
    Word { rule: "print", token: "print!", allowed: PRINT, tests: Tests::Free, why: UNESCAPED },
    Word { rule: "print", token: "eprintln!", allowed: PRINT, tests: Tests::Free, why: UNESCAPED },
    Word { rule: "print", token: "eprint!", allowed: PRINT, tests: Tests::Free, why: UNESCAPED },
    Word {
        rule: "print",
        token: "stdout().lock",
        allowed: PRINT,
        tests: Tests::Free,
        why: UNESCAPED,
    },
    Word {
        rule: "print",
        token: "stderr().lock",
        allowed: PRINT,
        tests: Tests::Free,
        why: UNESCAPED,
    },
    Word {
        rule: "leftover",
        token: "todo!",
        allowed: &[],
        tests: Tests::Never,
        why: "finish it or file an issue",
    },
    Word {
        rule: "leftover",
        token: "unimplemented!",
        allowed: &[],
        tests: Tests::Never,
        why: "finish it or answer with an error",
    },
    Word { rule: "leftover", token: "dbg!", allowed: &[], tests: Tests::Never, why: "remove it" },
    Word {
        rule: "clock",
        token: "Instant::now",
        allowed: CLOCK,
        tests: Tests::There,
        why: "ask the reactor for the time",
    },
    Word {
        rule: "clock",
        token: "SystemTime::now",
        allowed: CLOCK,
        tests: Tests::There,
        why: "ask the reactor, or host::facts, for the time",
    },
    Word {
        rule: "sleep",
        token: "thread::sleep",
        allowed: SLEEP,
        tests: Tests::Never,
        why: "wait for what is awaited, not for time to pass",
    },
    Word {
        rule: "seed",
        token: "Rng::new",
        allowed: &[],
        tests: Tests::Never,
        why: "take a seed, so that a failure can be replayed",
    },
];

/// Rule, path and why it may be broken there. One that is not used any more is an error itself.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "clock",
        "crates/array/tests/it/timing.rs",
        "prints times to look at when asked to, and asserts nothing about them",
    ),
    (
        "clock",
        "crates/device/src/nbd/greet.rs",
        "connecting blocks, and a server on another machine has real time for it",
    ),
    (
        "clock",
        "crates/device/src/nbd/limited.rs",
        "connecting blocks, and a server on another machine has real time for it",
    ),
    (
        "clock",
        "crates/export/src/vhost_user/server.rs",
        "how long threads of clients are waited for at the end",
    ),
    (
        "clock",
        "crates/host/src/guard/drives.rs",
        "a drive that does not answer tells no reactor so",
    ),
    (
        "clock",
        "crates/lab/src/run/limit.rs",
        "what hangs is ended after real time, whatever clock it runs on",
    ),
    (
        "clock",
        "crates/lab/src/run/methods/file_system.rs",
        "the time left, and whether the host was busy, are about this machine whatever clock a \
        cell runs on",
    ),
    (
        "clock",
        "crates/lab/src/run/methods/guest.rs",
        "the time left, and whether the host was busy, are about this machine whatever clock a \
        cell runs on",
    ),
    (
        "clock",
        "crates/lab/src/run/visits.rs",
        "the time left, and whether the host was busy, are about this machine whatever clock a \
        cell runs on",
    ),
    (
        "clock",
        "crates/lab/src/run/in_guest.rs",
        "inside a guest the date is what is compared with the time of its disks outside",
    ),
    (
        "clock",
        "crates/lab/src/pull/ground.rs",
        "one clock for requests on all threads and for marks, in the order of one log",
    ),
    (
        "clock",
        "crates/lab/src/pull/worker.rs",
        "how long this machine takes until files are there again after a crash",
    ),
    (
        "clock",
        "crates/lab/tests/it/cells.rs",
        "waits for another process; a test that hangs says less than one that fails",
    ),
    (
        "clock",
        "crates/report/tests/it/trials.rs",
        "prints how long a page takes to make, for `cargo xtask bench report`, and asserts nothing",
    ),
    (
        "sleep",
        "crates/serve/src/runtime.rs",
        "somebody else's lock on a folder passes by itself and rings nobody",
    ),
    (
        "sleep",
        "crates/host/src/guard/mod.rs",
        "somebody else's hold on a device passes by itself and rings nobody",
    ),
    (
        "sleep",
        "crates/lab/tests/it/run.rs",
        "watches a child process that it kills at random moments",
    ),
];

/// Words that stand where they must not.
pub(crate) fn words(tree: &Tree) -> Vec<Finding> {
    let mut findings = misplaced(tree);
    for (rule, path, why) in EXCEPTIONS {
        let before = findings.len();
        findings.retain(|finding| finding.rule != *rule || finding.path != *path);
        if findings.len() == before && tree.paths.contains(*path) {
            findings.push(Finding::error(
                rule,
                path,
                0,
                format!("an exception that nothing needs; remove it from tidy: {why}"),
            ));
        }
    }
    findings
}

fn misplaced(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        let scrubbed = Scrubbed::new(text);
        for word in WORDS {
            let here = word.allowed.iter().any(|start| path.starts_with(start));
            for position in scrubbed.find(word.token) {
                let test = is_test_file(path) || scrubbed.is_test(position);
                let wrong = if test {
                    word.tests == Tests::Never || (!here && word.tests != Tests::Free)
                } else {
                    !here
                };
                if wrong {
                    let message = format!("`{}`: {}", word.token, word.why);
                    findings.push(Finding::error(
                        word.rule,
                        path,
                        scrubbed.line(position),
                        message,
                    ));
                }
            }
        }
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

const FUNCTION_LINES: usize = 120;
const FILE_LINES: usize = 1000;

/// Functions and files so long that they may be doing two things.
pub(crate) fn lengths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        let lines = text.lines().count();
        if lines > FILE_LINES {
            findings.push(Finding::warning(
                "length",
                path,
                0,
                format!("{lines} lines; more than {FILE_LINES} in a file"),
            ));
        }
        let scrubbed = Scrubbed::new(text);
        for position in scrubbed.find("fn") {
            let Some((name, open)) = body(&scrubbed.code, position) else { continue };
            let first = scrubbed.line(position);
            let length = scrubbed.line(block_end(&scrubbed.code, open) - 1) - first + 1;
            if length > FUNCTION_LINES {
                let message =
                    format!("function {name} has {length} lines; more than {FUNCTION_LINES}");
                findings.push(Finding::warning("length", path, first, message));
            }
        }
    }
    findings
}

/// The name of the function whose `fn` is at `position`, and where its body opens; a type or a
/// declaration has none.
fn body(code: &str, position: usize) -> Option<(&str, usize)> {
    let rest = &code[position + 2..];
    let name = rest.trim_start();
    let name = &name[..name.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?];
    if name.is_empty() {
        return None;
    }
    let mut depth = 0_i32;
    for (index, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some((name, position + 2 + index)),
            b';' if depth == 0 => return None,
            _ => (),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&Tree) -> Vec<Finding>, path: &str, text: &str) -> Vec<String> {
        rule(&Tree::of(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn unsafe_outside_its_files_is_found() {
        let planted = "//! P.\nfn f(p: *const u8) -> u8 {\n    unsafe { *p }\n}\n";
        let errors = found(words, "crates/array/src/execute.rs", planted);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(
            errors[0].starts_with("crates/array/src/execute.rs:3: error: `unsafe`"),
            "{errors:?}"
        );
        assert!(found(words, "crates/reactor/src/ring.rs", planted).is_empty());
        assert_eq!(found(words, "crates/reactor/src/lib.rs", planted).len(), 1);
    }

    #[test]
    fn lifting_the_ban_on_unsafe_is_found() {
        let planted = "//! P.\n#![allow(unsafe_code)]\n";
        assert_eq!(found(words, "crates/device/src/lib.rs", planted).len(), 1);
        assert!(found(words, "crates/reactor/src/ring.rs", planted).is_empty());
    }

    #[test]
    fn leftovers_are_found_in_code_and_nowhere_else() {
        let planted =
            "//! P.\nfn f() { todo!() }\nfn g() { unimplemented!() }\nfn h() { dbg!(1); }\n";
        assert_eq!(found(words, "crates/lab/src/plan.rs", planted).len(), 3);
        assert!(
            found(
                words,
                "crates/lab/src/plan.rs",
                "//! todo!() dbg!\n// unimplemented!\nconst S: &str = \"todo!\";\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn reading_the_clock_outside_the_reactor_is_found() {
        for planted in ["std::time::Instant::now()", "SystemTime::now()"] {
            let text = format!("//! P.\nfn f() {{ {planted}; }}\n");
            assert_eq!(found(words, "crates/bench/src/load/mod.rs", &text).len(), 1, "{planted}");
            assert_eq!(found(words, "crates/bench/tests/load.rs", &text).len(), 1, "{planted}");
            assert!(found(words, "crates/reactor/src/lib.rs", &text).is_empty(), "{planted}");
            assert!(found(words, "crates/host/src/facts.rs", &text).is_empty(), "{planted}");
        }
    }

    #[test]
    fn printing_past_what_escapes_is_found() {
        for planted in [
            "eprintln!(\"{name}\")",
            "println!()",
            "io::stdout().lock()",
            "std::io::stderr().lock()",
        ] {
            let text = format!("//! P.\nfn f() {{ {planted}; }}\n");
            assert_eq!(found(words, "crates/serve/src/serve.rs", &text).len(), 1, "{planted}");
            assert!(found(words, "crates/escape/src/lib.rs", &text).is_empty(), "{planted}");
            assert!(
                found(words, "crates/serve/tests/serve.rs", &text).is_empty(),
                "{planted}: tests say what they skip"
            );
        }
    }

    #[test]
    fn a_sleep_in_a_test_is_found_wherever_it_is() {
        let planted =
            "//! P.\n#[cfg(test)]\nmod tests {\n    fn f() { std::thread::sleep(d); }\n}\n";
        assert_eq!(found(words, "crates/reactor/src/lib.rs", planted).len(), 1);
        assert_eq!(
            found(words, "crates/cli/tests/it/run.rs", "//! P.\nfn f() { thread::sleep(d); }\n")
                .len(),
            1
        );
        assert_eq!(
            found(words, "crates/device/src/file.rs", "//! P.\nfn f() { thread::sleep(d); }\n")
                .len(),
            1
        );
        assert!(
            found(words, "crates/cli/src/main.rs", "//! P.\nfn f() { thread::sleep(d); }\n")
                .is_empty()
        );
    }

    #[test]
    fn an_exception_holds_for_its_rule_and_only_while_it_is_needed() {
        let path = "crates/host/src/guard/mod.rs";
        assert!(EXCEPTIONS.iter().any(|exception| (exception.0, exception.1) == ("sleep", path)));
        assert!(found(words, path, "//! P.\nfn f() { thread::sleep(d); }\n").is_empty());
        assert_eq!(found(words, path, "//! P.\nfn f() { thread::sleep(d); todo!() }\n").len(), 1);
        assert_eq!(found(words, path, "//! P.\n").len(), 1);
    }

    #[test]
    fn chance_without_a_seed_is_found() {
        assert_eq!(
            found(
                words,
                "crates/lab/src/order.rs",
                "//! P.\nfn f() { let r = fastrand::Rng::new(); }\n"
            )
            .len(),
            1
        );
        assert!(
            found(
                words,
                "crates/lab/src/order.rs",
                "//! P.\nfn f() { let r = fastrand::Rng::with_seed(1); }\n"
            )
            .is_empty()
        );
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
    fn long_functions_and_files_are_found() {
        let long = format!(
            "//! P.\nfn short() {{}}\nfn long<const N: usize>(a: [u8; 4]) {{\n{}}}\n",
            "    f();\n".repeat(FUNCTION_LINES)
        );
        let warnings = found(lengths, "crates/array/src/lib.rs", &long);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].starts_with("crates/array/src/lib.rs:3: warning: function long"),
            "{warnings:?}"
        );
        let exactly =
            format!("//! P.\nfn fits() {{\n{}}}\n", "    f();\n".repeat(FUNCTION_LINES - 2));
        assert!(found(lengths, "crates/array/src/lib.rs", &exactly).is_empty());
        assert_eq!(
            found(lengths, "crates/array/src/lib.rs", &"// P.\n".repeat(FILE_LINES + 1)).len(),
            1
        );
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
