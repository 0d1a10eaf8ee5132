//! Plans by name: those that came with the program are inside it, wherever it is started from.

use std::path::Path;

use serde::Serialize;

use super::document;
use crate::catalogue;
use host::Error;
use words::statement;

/// Name and text of every plan of the source's folder `plans`.
const SHIPPED: [(&str, &str); 14] = [
    ("cache-effect", include_str!("../../../../plans/cache-effect.toml")),
    ("cache-effect-here", include_str!("../../../../plans/cache-effect-here.toml")),
    ("chunk-and-depth", include_str!("../../../../plans/chunk-and-depth.toml")),
    ("many-small-files", include_str!("../../../../plans/many-small-files.toml")),
    ("md-or-raidloom", include_str!("../../../../plans/md-or-raidloom.toml")),
    ("pull", include_str!("../../../../plans/pull.toml")),
    ("pull-file-systems", include_str!("../../../../plans/pull-file-systems.toml")),
    ("pull-layouts", include_str!("../../../../plans/pull-layouts.toml")),
    ("shared-channel", include_str!("../../../../plans/shared-channel.toml")),
    ("shared-channel-bonnie", include_str!("../../../../plans/shared-channel-bonnie.toml")),
    ("small-writes", include_str!("../../../../plans/small-writes.toml")),
    ("ssd-or-raid6", include_str!("../../../../plans/ssd-or-raid6.toml")),
    ("stripe-size", include_str!("../../../../plans/stripe-size.toml")),
    ("write-hole", include_str!("../../../../plans/write-hole.toml")),
];

/// A plan that came with the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShippedPlan {
    /// What `raidloom run` and `raidloom run plan` take.
    pub name: &'static str,
    /// Its first comment: the question that it asks.
    pub question: String,
}

/// The plans that came with the program, by name.
#[must_use]
pub fn shipped() -> Vec<ShippedPlan> {
    SHIPPED.iter().map(|(name, text)| ShippedPlan { name, question: question(text) }).collect()
}

/// What messages call the plan that is meant, and its text: that of a file, or else of the plan
/// that came with the program, by its name or by its path in the source (`plans/NAME.toml`).
///
/// # Errors
/// A usage error when the file cannot be read, or a bare name is neither a file here nor a plan
/// that came with the program: then with the nearest name.
pub(super) fn read(given: &Path) -> Result<(String, String), Error> {
    let origin = given.to_string_lossy().into_owned();
    if !given.exists() {
        let shipped = named(given).and_then(text_of);
        if let Some(text) = shipped {
            return Ok((origin, text.to_owned()));
        }
        let is_bare = given.components().count() == 1 && given.extension().is_none();
        if is_bare {
            let hint = document::suggestion(&origin, names());
            return Err(Error::usage(statement!(catalogue::NO_PLAN, name = origin, hint = hint)));
        }
    }
    let text = host::files::read_named_text(given).map_err(|error| {
        let place = statement!(catalogue::READING_PLAN, name = &origin);
        Error::usage(block::io_text(&error)).at(place)
    })?;
    Ok((origin, text))
}

/// The name that a bare name or a path in the source may stand for.
fn named(given: &Path) -> Option<&str> {
    let in_source = given.strip_prefix("plans").ok();
    match in_source.or_else(|| given.strip_prefix("./plans").ok()) {
        Some(file) => file.to_str()?.strip_suffix(".toml"),
        None => given.to_str(),
    }
}

fn names() -> impl Iterator<Item = &'static str> + Clone {
    SHIPPED.iter().map(|(name, _)| *name)
}

fn text_of(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The first sentence of the comment on top.
fn question(text: &str) -> String {
    let comment: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix('#'))
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let comment = comment.join(" ");
    let end = comment
        .match_indices(['.', '?'])
        .map(|(at, mark)| at + mark.len())
        .find(|&end| comment[end..].is_empty() || comment[end..].starts_with(' '));
    comment[..end.unwrap_or(comment.len())].to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The text of every plan, by its name and by its path in the source, where no such file is.
    #[test]
    fn a_name_and_a_path_in_the_source_are_shipped_plans() {
        for (name, text) in SHIPPED {
            let names =
                [name.to_owned(), format!("plans/{name}.toml"), format!("./plans/{name}.toml")];
            for given in names {
                // The tests run in the folder of this crate, which has no such files.
                let (origin, read) = read(Path::new(&given)).unwrap();
                assert_eq!((origin.as_str(), read.as_str()), (given.as_str(), text));
            }
        }
        for path in ["./stripe-size", "stripe-size.toml", "other/stripe-size.toml"] {
            let error = read(Path::new(path)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("reading the plan {path}: ")), "{error}");
        }
        let error = read(Path::new("stripesize")).unwrap_err().to_string();
        assert!(error.ends_with("did you mean `stripe-size`?"), "{error}");
    }

    /// A file that is there is what is meant.
    #[test]
    fn a_file_comes_before_a_shipped_plan() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stripe-size");
        fs::write(&path, "own").unwrap();
        assert_eq!(read(&path).unwrap().1, "own");
    }

    /// No plan of the folder is forgotten, and each says what it asks.
    #[test]
    fn every_plan_of_the_source_is_shipped_and_begins_with_its_question() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
        let mut files: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .filter_map(|file| {
                Some(file.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned())
            })
            .collect();
        files.sort();
        assert_eq!(files, names().collect::<Vec<_>>());
        for plan in shipped() {
            assert!(plan.question.ends_with(['?', '.']), "{plan:?}");
        }
        assert_eq!(
            question("# Which chunk size\n# for RAID 0? More.\n#\n# x\n"),
            "Which chunk size for RAID 0?"
        );
        assert_eq!(question("schema = 1\n"), "");
    }
}
