//! Files of a crate that use each other in a circle: none of them can be read after what it uses.
//!
//! ```text
//!   files of a crate -> what each defines, imports and names -> who uses whom -> circles
//! ```
//!
//! A file uses another where it names something that is defined there, by whatever path and
//! through whatever `pub use`, and where it calls a method on `self` that the other one gives the
//! type. `mod other;` alone is no use, and tests may look around.
//!
//! A folder's `mod.rs` holds what its files share and hands them on, so what it uses of them does
//! not count, but where it is the top of the folder ([`TOPPED`]).

use std::collections::{BTreeMap, BTreeSet};

use super::source::is_test_file;
use super::uses::Sources;
use super::{Finding, Tree};

const RULE: &str = "circle";

/// The largest circle that may be allowed, in files.
const LARGEST: usize = 3;

/// How many circles may be allowed.
const MOST: usize = 6;

/// Circles that may be, each in the order of the alphabet: files that say one thing together.
const ALLOWED: &[&[&str]] = &[
    &["crates/array/src/md/assemble.rs", "crates/array/src/md/usability.rs"],
    &[
        "crates/device/src/model/data_sheet.rs",
        "crates/device/src/model/flash_sheet.rs",
        "crates/device/src/model/parameters.rs",
    ],
    &["crates/results/src/analysis/joint.rs", "crates/results/src/analysis/values.rs"],
];
const _: () = assert!(ALLOWED.len() <= MOST);

/// Folders whose `mod.rs` stands above its files: none of them uses it.
const TOPPED: &[&str] = &["crates/array/src/execute", "crates/cache/src/layer"];

/// Files in circles that are not allowed, and allowed circles that are none any more.
pub(crate) fn circles(tree: &Tree) -> Vec<Finding> {
    judge(tree, ALLOWED)
}

/// Who uses whom, and for which names.
type Uses<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeSet<String>>>;

fn judge(tree: &Tree, allowed: &[&[&str]]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let listed = allowed.iter().filter(|files| files.len() <= LARGEST);
    let mut gone: Vec<&[&str]> =
        listed.copied().filter(|files| tree.paths.contains(files[0])).collect();
    for (_, files) in crates(tree) {
        let mut uses = Sources::new(&files).uses();
        for (file, used) in uses.iter_mut() {
            let held = folder_of(file).filter(|folder| !TOPPED.contains(folder));
            used.retain(|other, _| held.is_none_or(|folder| !is_below(other, folder)));
        }
        for circle in rings(&uses) {
            match gone.iter().position(|files| *files == circle) {
                Some(index) => _ = gone.swap_remove(index),
                None => {
                    findings
                        .extend(circle.iter().map(|file| in_circle(file, &circle, &uses[file])));
                }
            }
        }
    }
    findings.extend(gone.into_iter().map(|files| {
        let message = "is listed in a circle that is none any more, or another one: mend the list";
        Finding::error(RULE, files[0], 0, message)
    }));
    findings
}

/// The source files of each crate by its folder, without tests.
fn crates(tree: &Tree) -> BTreeMap<&str, Vec<(&str, &str)>> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in tree.rust().filter(|(path, _)| !is_test_file(path)) {
        if let Some((folder, _)) = path.split_once("/src/") {
            crates.entry(folder).or_default().push((path, text));
        }
    }
    crates
}

/// The folder that a file is the face of.
fn folder_of(file: &str) -> Option<&str> {
    ["/mod.rs", "/lib.rs", "/main.rs"].iter().find_map(|face| file.strip_suffix(face))
}

fn is_below(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn in_circle(file: &str, circle: &[&str], uses: &BTreeMap<&str, BTreeSet<String>>) -> Finding {
    let through: Vec<String> = circle
        .iter()
        .filter_map(|other| {
            let names: Vec<&str> = uses.get(other)?.iter().map(String::as_str).collect();
            Some(format!("{other} ({})", names.join(", ")))
        })
        .collect();
    let message =
        format!("is in a circle of {} files: it uses {}", circle.len(), through.join(", "));
    Finding::error(RULE, file, 0, message)
}

/// The groups of files of which each uses all others, directly or not.
fn rings<'a>(uses: &Uses<'a>) -> Vec<Vec<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|file| (*file, reach(file, uses))).collect();
    let mut left: BTreeSet<&str> = uses.keys().copied().collect();
    let mut rings = Vec::new();
    while let Some(file) = left.pop_first() {
        let others = reached[file].iter().filter(|other| reached[*other].contains(file));
        let ring: BTreeSet<&str> = others.copied().chain([file]).collect();
        left.retain(|other| !ring.contains(other));
        if ring.len() > 1 {
            rings.push(ring.into_iter().collect());
        }
    }
    rings
}

/// All files that one uses, directly or not.
fn reach<'a>(file: &str, uses: &Uses<'a>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = uses[file].keys().copied().collect();
    while let Some(file) = next.pop() {
        if reached.insert(file) {
            next.extend(uses[file].keys());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDER: &str = "crates/array/src/";

    fn found(files: &[(&str, &str)], allowed: &[&[&str]]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("{FOLDER}{name}"), *text)).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        judge(&Tree::of(&files), allowed).iter().map(ToString::to_string).collect()
    }

    const LIB: (&str, &str) = ("lib.rs", "//! L.\nmod top;\nmod low;\n");

    #[test]
    fn files_that_use_each_other_are_found() {
        for planted in [
            "use crate::top::up;",
            "use super::top::{self, up};",
            "use super::top::*;",
            "fn f() { crate::top::up() }",
            "use crate::top;\nfn f() { top::up() }",
            "use crate::top as high;\nfn f() { high::up::<u8>() }",
            "mod inner { fn f() { super::super::top::up() } }",
        ] {
            let low = format!("//! B.\npub struct Low;\n{planted}\n");
            let top = ("top.rs", "//! T.\nuse crate::low::Low;\npub fn up() {}\n");
            let errors = found(&[LIB, top, ("low.rs", &low)], &[]);
            assert_eq!(errors.len(), 2, "{planted}: {errors:?}");
            assert!(
                errors[1].starts_with(
                    "crates/array/src/top.rs: error: is in a circle of 2 files: it uses \
                    crates/array/src/low.rs (Low)"
                ),
                "{errors:?}"
            );
        }
    }

    #[test]
    fn what_a_folder_hands_on_is_used_where_it_is_defined() {
        let face = ("top/mod.rs", "//! T.\nmod part;\npub use part::Part as Piece;\n");
        let part = ("top/part.rs", "//! P.\nuse crate::low::Low;\npub struct Part;\n");
        let low = ("low.rs", "//! B.\nuse crate::top::Piece;\npub struct Low;\n");
        let errors = found(&[LIB, face, part, low], &[]);
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors[1].contains("top/part.rs: error"), "{errors:?}");
    }

    #[test]
    fn a_file_that_uses_the_top_of_its_folder_is_found() {
        for planted in ["use super::Channel;", "use super::{Channel, low::Low};"] {
            let top = "//! T.\nmod one;\nmod low;\npub struct Channel(one::One);\n";
            let one = format!("//! O.\n{planted}\npub struct One;\n");
            let of = |folder: &str| {
                let [top_path, one_path, low_path] =
                    ["mod", "one", "low"].map(|name| format!("{folder}/{name}.rs"));
                let low = "//! B.\npub struct Low;\n";
                found(&[LIB, (&top_path, top), (&one_path, &one), (&low_path, low)], &[])
            };
            let errors = of("execute");
            assert_eq!(errors.len(), 2, "{planted}: {errors:?}");
            // Elsewhere it may hold what they share.
            assert_eq!(of("record"), [""; 0], "{planted}");
        }
    }

    #[test]
    fn a_method_that_is_given_from_above_is_found() {
        let low = "//! B.\npub struct Low;\nimpl Low { fn start(&self) { self.begin() } }\n";
        let top = "//! T.\nuse super::low::Low;\nimpl Low { fn begin(&self) {} }\n";
        let errors = found(&[LIB, ("top.rs", top), ("low.rs", low)], &[]);
        assert_eq!(errors.len(), 2, "{errors:?}");
        // A type of that name that is another one is not meant.
        let other = "//! T.\nuse super::low::f;\nstruct Low;\nimpl Low { fn begin(&self) {} }\n";
        let low = format!("{low}pub fn f() {{}}\n");
        assert_eq!(found(&[LIB, ("top.rs", other), ("low.rs", &low)], &[]), [""; 0]);
    }

    #[test]
    fn files_that_use_only_what_is_below_them_are_fine() {
        let top = "//! T.\nuse super::low::f;\npub(in crate::top) fn g() { f() }\n#[cfg(test)]\nmod \
            tests {\n    use super::*;\n}\n";
        let low = "//! B: [`g`](super::top::g).\npub fn f() { let top = \"super::top::g\"; }\n\
            #[cfg(test)]\nuse super::top::g;\n";
        let tests = ("low/tests.rs", "use crate::top::g;\n");
        assert_eq!(found(&[LIB, ("top.rs", top), ("low.rs", low), tests], &[]), [""; 0]);
    }

    #[test]
    fn a_circle_may_be_allowed_while_it_is_there() {
        let top = ("top.rs", "//! T.\nuse super::low::Low;\npub struct Top;\n");
        let low = ("low.rs", "//! B.\nuse super::top::Top;\npub struct Low;\n");
        let pair: &[&str] = &["crates/array/src/low.rs", "crates/array/src/top.rs"];
        assert_eq!(found(&[LIB, top, low], &[pair]), [""; 0]);
        let free = found(&[LIB, top, ("low.rs", "//! B.\npub struct Low;\n")], &[pair]);
        assert_eq!(free.len(), 1, "{free:?}");
        assert!(free[0].contains("none any more"), "{free:?}");
    }

    #[test]
    fn a_large_circle_is_not_allowed_by_a_list() {
        let file = |next: &str| format!("//! F.\nuse crate::{next}::X;\npub struct X;\n");
        let [one, two, three, four] = ["b", "c", "d", "a"].map(file);
        let files = [("a.rs", &*one), ("b.rs", &*two), ("c.rs", &*three), ("d.rs", &*four)];
        let list = ["a", "b", "c", "d"].map(|name| format!("{FOLDER}{name}.rs"));
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        assert_eq!(found(&files, &[&list]).len(), 4);
    }
}
