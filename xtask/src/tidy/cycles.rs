//! Folders whose files do not use each other in a ring: each can be read after those that it uses.

use std::collections::{BTreeMap, BTreeSet};

use super::scrub::Scrubbed;
use super::{Finding, Tree};

/// The folders, with `/` at the end.
const FOLDERS: &[&str] = &["crates/array/src/execute/", "crates/cache/src/layer/"];
/// The name under which a file of the folder knows `mod.rs`.
const TOP: &str = "mod";

/// Files that use each other in a ring: `use super::…` of one another, a method that one of them
/// gives the other's type, and `mod.rs` all of them.
pub(crate) fn rings(tree: &Tree) -> Vec<Finding> {
    FOLDERS.iter().flat_map(|folder| rings_in(tree, folder)).collect()
}

fn rings_in(tree: &Tree, folder: &str) -> Vec<Finding> {
    let files: BTreeMap<&str, &str> = tree
        .rust()
        .filter_map(|(path, text)| {
            let name = path.strip_prefix(folder)?.strip_suffix(".rs")?;
            (!name.contains('/')).then_some((name, text))
        })
        .collect();
    let scrubbed: BTreeMap<&str, Scrubbed> =
        files.iter().map(|(name, text)| (*name, Scrubbed::new(text))).collect();
    let functions: BTreeMap<&str, BTreeSet<&str>> =
        scrubbed.iter().map(|(name, text)| (*name, after(text, "fn ").collect())).collect();
    let uses: BTreeMap<&str, BTreeSet<&str>> = scrubbed
        .iter()
        .map(|(name, text)| {
            let mut uses = used(name, text, &files);
            uses.extend(called(name, text, &functions));
            (*name, uses)
        })
        .collect();
    // What uses only files that are in no ring is in none either; what is left is, or uses one.
    let mut left: BTreeSet<&str> = uses.keys().copied().collect();
    loop {
        let free: Vec<&str> =
            left.iter().filter(|name| uses[*name].is_disjoint(&left)).copied().collect();
        if free.is_empty() {
            break;
        }
        free.into_iter().for_each(|name| _ = left.remove(name));
    }
    left.iter()
        .filter(|name| reaches(name, name, &uses))
        .map(|name| {
            let others: Vec<&str> = uses[name]
                .iter()
                .copied()
                .filter(|used| reaches(used, name, &uses) || used == name)
                .collect();
            let message =
                format!("is in a ring of files, through its use of {}", others.join(", "));
            Finding::error("ring", &format!("{folder}{name}.rs"), 0, message)
        })
        .collect()
}

/// The names that stand behind a word in a file, outside of its tests.
fn after<'a>(text: &'a Scrubbed, word: &'a str) -> impl Iterator<Item = &'a str> {
    text.code.match_indices(word).filter(|(at, _)| !text.is_test(*at)).map(move |(at, _)| {
        let path = &text.code[at + word.len()..];
        let end = path.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        &path[..end.unwrap_or(path.len())]
    })
}

/// The files that define what one calls on `self` and does not define.
fn called<'a>(
    name: &str,
    text: &Scrubbed,
    functions: &BTreeMap<&'a str, BTreeSet<&str>>,
) -> BTreeSet<&'a str> {
    let foreign: BTreeSet<&str> = after(text, "self.")
        .filter(|call| text.code.contains(&format!("self.{call}(")))
        .filter(|call| !functions[name].contains(call))
        .collect();
    let defines = |(_, defined): &(&&str, &BTreeSet<&str>)| !defined.is_disjoint(&foreign);
    functions.iter().filter(defines).map(|(file, _)| *file).collect()
}

/// The files of the folder that one of them uses.
fn used<'a>(
    name: &str,
    scrubbed: &Scrubbed,
    files: &BTreeMap<&'a str, &'a str>,
) -> BTreeSet<&'a str> {
    let code = scrubbed.code.as_str();
    let mut found = BTreeSet::new();
    if name == TOP {
        found.extend(files.keys().filter(|name| **name != TOP));
        return found;
    }
    for (at, _) in code.match_indices("super::") {
        let path = code[at..].trim_start_matches("super::");
        // Tests may look around.
        if code[..at].ends_with("super::") || scrubbed.is_test(at) {
            continue;
        }
        let end = path.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let first = &path[..end.unwrap_or(path.len())];
        match files.get_key_value(first) {
            Some((file, _)) => found.insert(*file),
            // An item of `mod.rs`, or a list with some: `super::{…}`.
            None => files.get_key_value(TOP).is_some_and(|(top, _)| found.insert(*top)),
        };
    }
    found
}

/// Whether `to` is used by `from`, directly or not.
fn reaches(from: &str, to: &str, uses: &BTreeMap<&str, BTreeSet<&str>>) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(name) = next.pop() {
        for used in uses.get(name).into_iter().flatten() {
            if *used == to {
                return true;
            }
            if seen.insert(*used) {
                next.push(used);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("{}{name}", FOLDERS[0]), *text)).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        rings(&Tree::of(&files)).iter().map(ToString::to_string).collect()
    }

    const BELOW: (&str, &str) = ("below.rs", "//! B.\nfn f() {}\n");

    #[test]
    fn files_that_use_each_other_in_a_ring_are_found() {
        let ring = [
            ("mod.rs", "//! M.\nmod one;\nmod two;\nmod below;\n"),
            ("one.rs", "//! O.\nuse super::two::Two;\n"),
            ("two.rs", "//! T.\nuse super::below::f;\nfn g() { super::one::h() }\n"),
            BELOW,
        ];
        let errors = found(&ring);
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors[0].contains("one.rs: error: is in a ring of files, through its use of two"));
    }

    #[test]
    fn a_file_that_uses_what_is_above_it_is_found() {
        for planted in ["use super::Channel;", "use super::{Channel, below::f};"] {
            let text = format!("//! O.\n{planted}\n");
            let ring = [("mod.rs", "//! M.\nmod one;\n"), ("one.rs", text.as_str()), BELOW];
            let errors = found(&ring);
            assert_eq!(errors.len(), 2, "{planted}: {errors:?}");
        }
    }

    #[test]
    fn a_file_that_calls_a_method_which_is_given_from_above_is_found() {
        let ring = [
            ("mod.rs", "//! M.\nmod one;\nmod below;\n"),
            ("one.rs", "//! O.\nuse super::below::B;\nimpl B { fn begin(&self) {} }\n"),
            ("below.rs", "//! B.\nstruct B;\nimpl B { fn start(&self) { self.begin() } }\n"),
        ];
        let errors = found(&ring);
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors[0].contains("below.rs"), "{errors:?}");
    }

    #[test]
    fn files_that_use_only_what_is_below_them_are_not() {
        let fine = [
            ("mod.rs", "//! M.\nmod one;\nmod below;\n"),
            (
                "one.rs",
                "//! O.\nuse super::below::f;\npub(super) fn g() {}\n#[cfg(test)]\nmod tests {\n    \
                use super::*;\n}\n",
            ),
            ("below.rs", "//! B: [`One`](super::one).\nfn f() {}\n"),
        ];
        assert_eq!(found(&fine), [""; 0]);
    }
}
