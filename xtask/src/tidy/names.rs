//! Names of the code in pages that follow it: `Type::function` has to exist.

use std::collections::HashSet;

use super::{Finding, Tree};

/// Pages whose names are held against the code.
const PAGES: &[&str] = &["docs/architecture.md", "docs/extending.md"];

/// Words that follow one of `keywords` anywhere in the code.
fn defined<'a>(tree: &'a Tree, keywords: &[&str]) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    for (_, text) in tree.rust() {
        let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        while let Some(word) = words.next() {
            if keywords.contains(&word) {
                names.extend(words.next());
            }
        }
    }
    names
}

/// `Type::function` in backticks, of which the type, trait or module, or the function or variant,
/// is not there any more.
pub(crate) fn exist(tree: &Tree) -> Vec<Finding> {
    let pages: Vec<_> = tree.texts().filter(|(path, _)| PAGES.contains(path)).collect();
    if pages.is_empty() {
        return Vec::new();
    }
    let owners = defined(tree, &["struct", "enum", "trait", "type", "mod"]);
    let functions = defined(tree, &["fn"]);
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let mut findings = Vec::new();
    for (path, page) in pages {
        let mut in_code = false;
        for (index, line) in page.lines().enumerate() {
            in_code ^= line.starts_with("```");
            for name in line.split('`').skip(1).step_by(2).filter(|_| !in_code) {
                let parts: Vec<&str> = name.split("::").collect();
                let [.., owner, last] = parts[..] else { continue };
                if !parts.iter().copied().all(is_word) {
                    continue;
                }
                // Crates are folders, and a function may stand in one by itself.
                let crates = format!("crates/{owner}/");
                let has_owner = owners.contains(owner)
                    || tree.rust().any(|(path, _)| path.starts_with(&crates))
                    || tree.rust().any(|(path, _)| path.ends_with(&format!("/{owner}.rs")));
                let has_last = functions.contains(last) || owners.contains(last);
                if !has_owner || !has_last {
                    let missing = if has_owner { last } else { owner };
                    let message = format!("`{name}`: the code has no {missing}");
                    findings.push(Finding::error("names", path, index + 1, message));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Vec<String> {
        let code = "//! L.\nmod rows;\npub struct Queue;\nimpl Queue { pub fn take(&self) {} }\n";
        let tree = Tree::of(&[("docs/architecture.md", page), ("crates/load/src/lib.rs", code)]);
        exist(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_that_are_gone_are_found() {
        for gone in ["`Queue::give`", "`Queues::take`", "a\n`load::Stack`"] {
            assert_eq!(found(gone).len(), 1, "{gone}");
        }
        assert!(found("x\n`Queue::give`\n")[0].contains(":2: error: `Queue::give`"), "the line");
        for fine in
            ["`Queue::take`", "`load::Queue`", "`--a::b`", "```\n`Queue::give`\n```", "`take`"]
        {
            assert_eq!(found(fine), [""; 0], "{fine}");
        }
    }

    #[test]
    fn other_pages_may_speak_of_other_programs() {
        let tree = Tree::of(&[("docs/serving.md", "`std::gone`")]);
        assert!(exist(&tree).is_empty());
    }
}
