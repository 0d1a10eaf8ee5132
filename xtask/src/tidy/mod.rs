//! `cargo xtask tidy`: the rules of the project that no compiler knows.
//!
//! ```text
//!   git's list of files  ->  Tree  ->  rules, each a pure function  ->  findings
//! ```
//!
//! Errors fail the build; warnings are printed and counted. Each rule has a test in which something
//! planted must be found.

mod cycles;
mod errors;
mod glossary;
mod layers;
mod messages;
mod names;
mod places;
mod scrub;
mod source;
mod text;
mod uses;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A file of the project.
pub(crate) struct File {
    /// Path from the root, with `/`.
    path: String,
    /// What is in it; a picture has none.
    text: Option<String>,
}

/// All files of the project, as git sees them.
pub(crate) struct Tree {
    files: Vec<File>,
    /// Every path and every folder above one.
    paths: BTreeSet<String>,
}

/// Something a rule found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    rule: &'static str,
    path: String,
    /// Counted from 1; 0 for the whole file.
    line: usize,
    message: String,
    warning: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.warning { "warning" } else { "error" };
        write!(f, "{}", self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {kind}: {} [{}]", self.message, self.rule)
    }
}

impl Finding {
    fn error(rule: &'static str, path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { rule, path: path.to_owned(), line, message: message.into(), warning: false }
    }

    fn warning(rule: &'static str, path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { warning: true, ..Finding::error(rule, path, line, message) }
    }
}

impl Tree {
    /// From paths and what is in them.
    fn new(files: Vec<File>) -> Tree {
        let mut paths = BTreeSet::new();
        for file in &files {
            let mut path = file.path.as_str();
            paths.insert(path.to_owned());
            while let Some((folder, _)) = path.rsplit_once('/') {
                paths.insert(folder.to_owned());
                path = folder;
            }
        }
        Tree { files, paths }
    }

    /// What git tracks, and what it would track: files not yet added are checked too, ignored ones
    /// are not.
    fn read(root: &Path) -> Result<Tree, String> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .map_err(|error| {
                format!(
                    "git is needed to list the project's files: {error}; install \
                it: apt-get install git"
                )
            })?;
        if !output.status.success() {
            return Err(format!(
                "git ls-files: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ));
        }
        let mut files = Vec::new();
        for path in output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            let path = String::from_utf8(path.to_vec())
                .map_err(|_| "a file's name is not UTF-8".to_owned())?;
            // A file that git tracks and that has been removed since is not there to be checked.
            let Ok(bytes) = fs::read(root.join(&path)) else { continue };
            files.push(File { path, text: String::from_utf8(bytes).ok() });
        }
        Ok(Tree::new(files))
    }

    /// Files that hold text, with it.
    fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
    }

    /// Files of Rust source.
    fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// What a rule found but for its exceptions, each a path with why. One that nothing needs any
    /// more is an error itself.
    fn but_for(
        &self,
        exceptions: &[(&str, &str)],
        rule: &'static str,
        mut findings: Vec<Finding>,
    ) -> Vec<Finding> {
        for (path, why) in exceptions {
            let before = findings.len();
            findings.retain(|finding| finding.path != *path);
            if findings.len() == before && self.paths.contains(*path) {
                let message =
                    format!("an exception that nothing needs; remove it from tidy: {why}");
                findings.push(Finding::error(rule, path, 0, message));
            }
        }
        findings
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Tree {
        Tree::new(
            files
                .iter()
                .map(|(path, text)| File {
                    path: (*path).to_owned(),
                    text: Some((*text).to_owned()),
                })
                .collect(),
        )
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    cycles::circles,
    errors::flattened,
    glossary::defined,
    glossary::persons,
    glossary::replaced,
    layers::dependencies,
    layers::documented,
    messages::decisions,
    names::exist,
    places::filled,
    source::lifted_bans,
    source::opening,
    source::lengths,
    source::module_files,
    source::columns,
    text::endings,
    text::machine,
    text::links,
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort_by(|a, b| (a.warning, &a.path, a.line).cmp(&(b.warning, &b.path, b.line)));
    findings
}

/// Checks all files and prints what was found; whether there was no error.
///
/// # Errors
/// When git cannot list the files.
pub(crate) fn run(root: &Path) -> Result<bool, String> {
    let tree = Tree::read(root)?;
    let findings = check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    let warnings = findings.iter().filter(|finding| finding.warning).count();
    let errors = findings.len() - warnings;
    println!("tidy: {} files, {errors} errors, {warnings} warnings", tree.files.len());
    Ok(errors == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_knows_its_folders() {
        let tree = Tree::of(&[("crates/array/src/lib.rs", "")]);
        for path in ["crates", "crates/array", "crates/array/src", "crates/array/src/lib.rs"] {
            assert!(tree.paths.contains(path), "{path}");
        }
        assert!(!tree.paths.contains("crates/arr"));
    }

    #[test]
    fn a_clean_tree_has_no_findings() {
        let tree = Tree::of(&[
            (
                "crates/array/Cargo.toml",
                "[package]\nname = \"array\"\n[dependencies]\nblock.workspace = true\n",
            ),
            (
                "crates/array/src/lib.rs",
                "//! Arrays.\n\n/// One.\npub fn one() -> u32 {\n    1\n}\n",
            ),
            ("README.md", "See [the array](crates/array/src/lib.rs).\n"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn errors_come_before_warnings_and_say_where() {
        let long = format!("//! Long.\n{}", "// More.\n".repeat(1000));
        let tree = Tree::of(&[
            ("crates/array/src/a.rs", &long),
            ("crates/array/src/b.rs", "//! B.\n#![allow(unsafe_code)] \n"),
        ]);
        let found: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 3, "{found:#?}");
        assert!(found[0].starts_with("crates/array/src/b.rs:2: error: "), "{found:#?}");
        assert!(found[2].contains("warning"), "{found:#?}");
    }
}
