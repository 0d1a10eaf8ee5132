//! Text held against a file that is kept with the tests.

use std::path::Path;
use std::{env, fs};

/// Compares `actual` with the text in `path`; with `RAIDLOOM_BLESS=1` in the environment it becomes
/// the text.
///
/// # Panics
/// When they differ, with the first line that does, or when the file cannot be read or written.
pub fn check(path: impl AsRef<Path>, actual: &str) {
    let path = path.as_ref();
    if env::var_os("RAIDLOOM_BLESS").is_some_and(|bless| bless == "1") {
        let folder = path.parent().expect("a golden file lies in a folder");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(path, actual))
            .expect("a golden file can be written");
        return;
    }
    let expected = fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{}: {error}; RAIDLOOM_BLESS=1 makes it", path.display()));
    if let Some(difference) = first_difference(&expected, actual) {
        panic!("{}: {difference}\nRAIDLOOM_BLESS=1 accepts the new text", path.display());
    }
}

/// Compares what a document has between `<!-- NAME: begin -->` and `<!-- NAME: end -->` with the
/// block of that name; with `RAIDLOOM_BLESS=1` it is written there.
///
/// # Panics
/// When they differ, or a mark is missing.
#[track_caller]
pub fn check_blocks(path: impl AsRef<Path>, blocks: &[(&str, &str)]) {
    let mut document = fs::read_to_string(&path).expect("the document can be read");
    for (name, block) in blocks {
        document = with_block(&document, name, block);
    }
    check(path, &document);
}

/// The document with what stands between two marks replaced.
fn with_block(document: &str, name: &str, block: &str) -> String {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->\n"));
    let (before, rest) = document.split_once(&begin).expect("the mark before the block");
    let (_, after) = rest.split_once(&end).expect("the mark after the block");
    format!("{before}{begin}{block}{end}{after}")
}

/// The first line in which two texts differ, or `None` when they are equal to the byte.
#[must_use]
pub fn first_difference(expected: &str, actual: &str) -> Option<String> {
    if expected == actual {
        return None;
    }
    // split, unlike lines, tells a text with a last line feed from one without.
    let (mut left, mut right) = (expected.split('\n'), actual.split('\n'));
    for line in 1.. {
        match (left.next(), right.next()) {
            (Some(expected), Some(actual)) if expected == actual => (),
            (expected, actual) => {
                let [expected, actual] = [expected, actual]
                    .map(|text| text.map_or("(end)".to_owned(), |text| format!("{text:?}")));
                return Some(format!(
                    "line {line} differs\n  expected: {expected}\n  actual:   {actual}"
                ));
            }
        }
    }
    unreachable!("unequal texts differ in some line")
}
