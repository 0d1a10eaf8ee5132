//! Who may see whom: the table of `docs/architecture.md`, held against every `Cargo.toml`.
//!
//! ```text
//!   cli -> lab -> stack -> {device, array, cache} -> block -> reactor
//!          lab -> {bench, export, results}   bench -> {block, results}   report -> {escape, results}
//! ```
//!
//! A crate may see those that its row names and nothing else: `array` never sees `device`, `bench`
//! never sees `stack`.

use super::{Finding, Tree};

const RULE: &str = "layers";

/// Crate and the crates of this workspace that it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("reactor", &[]),
    ("confine", &[]),
    ("escape", &[]),
    ("words", &[]),
    ("block", &["reactor", "words"]),
    ("nbd-wire", &[]),
    ("trace", &["block", "words"]),
    ("device", &["block", "nbd-wire", "reactor", "trace", "words"]),
    ("array", &["block", "reactor", "words"]),
    ("cache", &["block", "reactor", "words"]),
    ("image", &["block", "reactor", "words"]),
    ("luks", &["block", "reactor", "words"]),
    (
        "stack",
        &["array", "block", "cache", "device", "escape", "image", "luks", "reactor", "words"],
    ),
    ("pull", &["block", "reactor", "results", "trace", "words"]),
    ("export", &["block", "nbd-wire", "reactor", "words"]),
    ("guest", &["block", "confine", "escape", "export", "reactor", "words"]),
    ("results", &["words"]),
    ("bench", &["block", "confine", "escape", "reactor", "results", "trace", "words"]),
    (
        "host",
        &["array", "block", "confine", "export", "reactor", "results", "stack", "trace", "words"],
    ),
    ("mdtools", &["array", "block", "escape", "host", "luks", "reactor", "stack", "words"]),
    (
        "lab",
        &[
            "array", "bench", "block", "confine", "escape", "export", "guest", "host", "mdtools",
            "pull", "reactor", "results", "serve", "stack", "words",
        ],
    ),
    ("report", &["escape", "results", "words"]),
    (
        "serve",
        &[
            "array", "block", "cache", "escape", "export", "host", "mdtools", "reactor", "stack",
            "words",
        ],
    ),
    ("ui", &["bench", "escape", "host", "lab", "report", "results", "serve", "words"]),
    (
        "cli",
        &[
            "array", "bench", "block", "cache", "confine", "device", "escape", "export", "guest",
            "host", "lab", "mdtools", "pull", "reactor", "report", "results", "serve", "stack",
            "trace", "ui", "words",
        ],
    ),
    ("testkit", &["block", "reactor", "results"]),
    ("xtask", &[]),
    ("probe", &["array", "bench", "block", "cache", "export", "reactor", "stack", "testkit"]),
    (
        "fuzz",
        &[
            "array", "block", "device", "export", "host", "image", "luks", "mdtools", "nbd-wire",
            "reactor", "stack", "testkit", "trace", "words",
        ],
    ),
    ("interop", &["array", "block", "export", "host", "mdtools", "stack", "testkit"]),
];

/// Crates that tests may use on top of their row.
const FOR_TESTS: &[&str] = &["testkit"];

/// A crate whose tests use more than its row: the pull test is held against what it is there for,
/// and a stack's recording is read.
const FOR_TESTS_OF: &[(&str, &[&str])] = &[
    // The guests' kernel has drivers that the machine's own may lack.
    ("interop", &["guest", "luks"]),
    ("pull", &["array", "cache"]),
    ("stack", &["trace"]),
    ("trace", &["reactor"]),
];

/// An executor belongs to `export` and to the page in the browser alone.
const ASYNC_RUNTIMES: &[&str] =
    &["tokio", "async-std", "smol", "monoio", "glommio", "compio", "futures"];

/// Dependencies that a crate's row does not name.
pub(crate) fn dependencies(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.texts().filter(|(path, _)| path.ends_with("/Cargo.toml"));
    manifests.flat_map(|(path, text)| check(path, text)).collect()
}

fn check(path: &str, text: &str) -> Vec<Finding> {
    let folder = path.trim_end_matches("/Cargo.toml");
    let name = folder.rsplit('/').next().unwrap_or(folder);
    let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
        let message = format!(
            "crate {name} has no row in the table of who may see whom; add it there and to \
            docs/architecture.md"
        );
        return vec![Finding::error(RULE, path, 0, message)];
    };
    let manifest: toml::Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => {
            return vec![Finding::error(RULE, path, 0, format!("not TOML: {}", error.message()))];
        }
    };
    let mut findings = Vec::new();
    for (section, tests) in
        [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
    {
        let Some(entries) = manifest.get(section).and_then(toml::Value::as_table) else { continue };
        for (key, entry) in entries {
            // `name = { package = "other" }` is a dependency on `other`.
            let dependency = entry.get("package").and_then(toml::Value::as_str).unwrap_or(key);
            let line = 1 + text
                .lines()
                .take_while(|line| !line.trim_start().starts_with(key.as_str()))
                .count();
            let ours =
                ALLOWED.iter().any(|(known, _)| *known == dependency) || dependency == "raidloom";
            // A crate depends on itself to turn on what only its tests may have.
            let permitted = allowed.contains(&dependency)
                || (tests && (FOR_TESTS.contains(&dependency) || dependency == name))
                || (tests
                    && FOR_TESTS_OF
                        .iter()
                        .any(|(of, more)| *of == name && more.contains(&dependency)));
            if ours && !permitted {
                let mut message = format!("{name} may not depend on {dependency}");
                if !allowed.is_empty() {
                    message += &format!("; it may see {}", allowed.join(", "));
                }
                findings.push(Finding::error(RULE, path, line, message));
            }
            if ASYNC_RUNTIMES.contains(&dependency) && !["export", "ui"].contains(&name) {
                findings.push(Finding::error(
                    RULE,
                    path,
                    line,
                    format!("no async runtime below export: {dependency}"),
                ));
            }
        }
    }
    findings
}

const PAGE: &str = "docs/architecture.md";

/// Rows of the page that are not the table's, and crates that the page does not show.
pub(crate) fn documented(tree: &Tree) -> Vec<Finding> {
    let Some((_, page)) = tree.texts().find(|(path, _)| *path == PAGE) else { return Vec::new() };
    let exists = |name: &str| tree.paths.contains(&format!("crates/{name}"));
    let mut findings = Vec::new();
    for (name, allowed) in ALLOWED.iter().filter(|(name, _)| exists(name)) {
        let row =
            page.lines().zip(1..).find(|(line, _)| line.starts_with(&format!("| `{name}` |")));
        let Some((row, line)) = row else {
            findings.push(Finding::error(RULE, PAGE, 0, format!("crate {name} has no row")));
            continue;
        };
        // The last column names crates between backquotes.
        let shown: Vec<&str> = row
            .trim_end_matches('|')
            .rsplit('|')
            .next()
            .unwrap_or_default()
            .split('`')
            .skip(1)
            .step_by(2)
            .collect();
        let expected: Vec<&str> = allowed.iter().copied().filter(|name| exists(name)).collect();
        if shown != expected {
            let message = format!(
                "{name} may depend on [{}], but the page says [{}]",
                expected.join(" "),
                shown.join(" ")
            );
            findings.push(Finding::error(RULE, PAGE, line, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        dependencies(&Tree::of(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_array_that_sees_a_device_is_found() {
        let found = messages(
            "crates/array/Cargo.toml",
            "[dependencies]\nblock.workspace = true\ndevice.workspace = true\n",
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0]
                .starts_with("crates/array/Cargo.toml:3: error: array may not depend on device"),
            "{found:?}"
        );
    }

    #[test]
    fn planted_edges_are_found() {
        for (name, dependency) in [
            ("bench", "stack"),
            ("report", "lab"),
            ("results", "block"),
            ("reactor", "block"),
            ("block", "testkit"),
            ("lab", "cli"),
            ("cli", "testkit"),
        ] {
            let found = messages(
                &format!("crates/{name}/Cargo.toml"),
                &format!("[dependencies]\n{dependency} = {{ path = \"..\" }}\n"),
            );
            assert_eq!(found.len(), 1, "{name} -> {dependency}: {found:?}");
        }
    }

    #[test]
    fn another_name_hides_nothing() {
        let found = messages(
            "crates/bench/Cargo.toml",
            "[dependencies]\nheap = { path = \"../stack\", package = \"stack\" }\n",
        );
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn tests_may_use_the_testkit_and_no_more() {
        assert!(
            messages("crates/array/Cargo.toml", "[dev-dependencies]\ntestkit.workspace = true\n")
                .is_empty()
        );
        assert!(
            messages(
                "crates/array/Cargo.toml",
                "[dev-dependencies]\narray = { path = \".\", features = [\"x\"] }\n"
            )
            .is_empty()
        );
        assert_eq!(
            messages("crates/array/Cargo.toml", "[dev-dependencies]\ndevice.workspace = true\n")
                .len(),
            1
        );
    }

    #[test]
    fn a_crate_without_a_row_and_a_runtime_are_found() {
        assert_eq!(messages("crates/novelty/Cargo.toml", "[package]\n").len(), 1);
        assert_eq!(messages("crates/lab/Cargo.toml", "[dependencies]\ntokio = \"1\"\n").len(), 1);
        for with_one in ["export", "ui"] {
            let path = format!("crates/{with_one}/Cargo.toml");
            assert!(messages(&path, "[dependencies]\ntokio = \"1\"\n").is_empty());
        }
    }

    #[test]
    fn a_page_that_says_something_else_is_found() {
        let found = |page: &str| {
            let files =
                [("crates/results/src/lib.rs", ""), ("crates/report/src/lib.rs", ""), (PAGE, page)];
            documented(&Tree::of(&files)).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(found("| `results` | types | |\n| `report` | pages | `results` |\n").is_empty());
        let wrong =
            found("| `results` | types | |\n| `report` | `lab` pages | `bench` `results` |\n");
        assert!(
            wrong.len() == 1
                && wrong[0]
                    .starts_with("docs/architecture.md:2: error: report may depend on [results]"),
            "{wrong:?}"
        );
        assert_eq!(found("| `results` | types | |\n").len(), 1);
    }
}
