//! Plans by name: those that came with the program, wherever it is started from.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::document;
use host::Error;

/// A plan that came with the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shipped {
    /// What `raidloom run` and `raidloom plan` take: the file's name without `.toml`.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Its first comment: the question that it asks.
    pub question: String,
}

/// The plans that lie beside the program or among the data of the user and the system, by name. Of
/// two of one name the first one found counts.
#[must_use]
pub fn shipped() -> Vec<Shipped> {
    list(&folders())
}

/// The plan file that is meant: a path of a file as it is, a bare name as the shipped plan of that
/// name.
///
/// # Errors
/// A usage error when a bare name is neither a file here nor a shipped plan: with the nearest name.
pub(super) fn find(given: &Path) -> Result<PathBuf, Error> {
    find_among(given, shipped)
}

fn find_among(given: &Path, known: impl FnOnce() -> Vec<Shipped>) -> Result<PathBuf, Error> {
    let bare = given.components().count() == 1 && given.extension().is_none();
    if !bare || given.exists() {
        return Ok(given.to_owned());
    }
    let known = known();
    if let Some(plan) = known.iter().find(|plan| given.as_os_str() == plan.name.as_str()) {
        return Ok(plan.path.clone());
    }
    let name = given.display();
    if known.is_empty() {
        return Err(Error::usage(format!(
            "no file `{name}` here, and no plans are installed beside this program: give the path \
            of a plan file"
        )));
    }
    let names: Vec<&str> = known.iter().map(|plan| plan.name.as_str()).collect();
    Err(Error::usage(format!(
        "no file `{name}` here, and no plan of that name is installed{}",
        document::suggestion(&given.to_string_lossy(), names)
    )))
}

/// Where plans are looked for: beside the program as `make install` puts them, then as the XDG base
/// directories say.
fn folders() -> Vec<PathBuf> {
    let beside =
        env::current_exe().ok().and_then(|program| Some(program.parent()?.parent()?.join("share")));
    let own = env::var_os("XDG_DATA_HOME").filter(|folder| !folder.is_empty()).map_or_else(
        || env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share")),
        |folder| Some(PathBuf::from(folder)),
    );
    let shared = env::var_os("XDG_DATA_DIRS")
        .filter(|folders| !folders.is_empty())
        .unwrap_or_else(|| OsString::from("/usr/local/share:/usr/share"));
    beside
        .into_iter()
        .chain(own)
        .chain(env::split_paths(&shared))
        .map(|folder| folder.join("raidloom/plans"))
        .collect()
}

fn list(folders: &[PathBuf]) -> Vec<Shipped> {
    let mut found: Vec<Shipped> = Vec::new();
    for folder in folders {
        // A folder that is not there holds no plans.
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        for path in files.map(|file| file.path()) {
            let name = path.file_stem().and_then(|name| name.to_str());
            let (Some(name), true) = (name, path.extension().is_some_and(|end| end == "toml"))
            else {
                continue;
            };
            if found.iter().any(|plan| plan.name == name) {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            found.push(Shipped { name: name.to_owned(), question: question(&text), path });
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
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
    use super::*;

    #[test]
    fn a_bare_name_is_an_installed_plan_and_a_path_is_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (own, shared) = (folder.path().join("own"), folder.path().join("shared"));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&shared).unwrap();
        fs::write(own.join("chunks.toml"), "# Which chunk size\n# for RAID 0? More.\n#\n# x\n")
            .unwrap();
        fs::write(shared.join("chunks.toml"), "# Another.\n").unwrap();
        fs::write(shared.join("levels.toml"), "schema = 1\n").unwrap();
        fs::write(shared.join("notes.txt"), "").unwrap();
        let known = list(&[folder.path().join("missing"), own.clone(), shared.clone()]);
        let told: Vec<(&str, &str)> =
            known.iter().map(|plan| (plan.name.as_str(), plan.question.as_str())).collect();
        assert_eq!(told, [("chunks", "Which chunk size for RAID 0?"), ("levels", "")]);

        let find = |name: &str| find_among(Path::new(name), || known.clone());
        assert_eq!(find("chunks").unwrap(), own.join("chunks.toml"));
        for path in ["./chunks", "chunks.toml", "plans/chunks"] {
            assert_eq!(find(path).unwrap(), Path::new(path));
        }
        let error = find("chunk").unwrap_err().to_string();
        assert!(error.ends_with("did you mean `chunks`?"), "{error}");
        let error = find_among(Path::new("chunks"), Vec::new).unwrap_err().to_string();
        assert!(error.contains("no plans are installed"), "{error}");
    }

    /// Every plan that is shipped says what it asks.
    #[test]
    fn every_plan_begins_with_its_question() {
        let plans = list(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans")]);
        assert!(plans.len() >= 7, "{plans:?}");
        for plan in plans {
            assert!(plan.question.ends_with(['?', '.']), "{plan:?}");
        }
    }
}
