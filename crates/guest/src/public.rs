//! What a guest that root has started may read of the host: programs, and what everybody may.
//!
//! A guest of another user reads what that user may, as its programs do outside. Root may read all,
//! and root's guest would: keys, and other people's files.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folders with programs and nothing of a user's.
const PROGRAMS: [&str; 11] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/proc/cpuinfo",
];
/// Settings of programs, some of which are root's alone.
const SETTINGS: &str = "/etc";
/// The most entries of [`SETTINGS`] that are looked at.
const ENTRIES_MAX: usize = 20_000;
/// How deep a path may lie to be looked at.
const DEPTH_MAX: usize = 64;

/// What programs need: themselves, and those settings that everybody may read.
pub(crate) fn of_system() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut all: Vec<PathBuf> = PROGRAMS.map(PathBuf::from).into();
    all.extend(std::env::split_paths(&path).filter(|folder| folder.is_absolute()));
    all.extend(std::env::current_exe());
    let mut left = ENTRIES_MAX;
    all.extend(below(Path::new(SETTINGS), &mut left, DEPTH_MAX).parts);
    all
}

/// What a script names by its whole path and everybody may read, a folder with all that is in it.
pub(crate) fn named_in(script: &str) -> Vec<PathBuf> {
    let ends = |character: char| character.is_whitespace() || "'\"`;|&<>()=:,".contains(character);
    let named = script.split(ends).filter(|word| word.starts_with('/')).map(Path::new);
    let mut all = Vec::new();
    for path in named {
        // Where links lead is what is read, and what has to be everybody's.
        let Ok(real) = path.canonicalize() else { continue };
        let is_reached = real
            .ancestors()
            .skip(1)
            .all(|above| fs::metadata(above).is_ok_and(|data| data.mode() & 0o001 != 0));
        let depth = real.components().count();
        if is_reached && (2..DEPTH_MAX).contains(&depth) {
            let mut left = ENTRIES_MAX;
            all.extend(below(&real, &mut left, DEPTH_MAX).parts);
        }
    }
    all
}

/// Of a file or folder what everybody may read.
#[derive(Default)]
struct Public {
    /// Whether that is all of it.
    is_all: bool,
    parts: Vec<PathBuf>,
}

fn below(path: &Path, left: &mut usize, depth: usize) -> Public {
    let Some(fewer) = left.checked_sub(1) else { return Public::default() };
    *left = fewer;
    let Ok(data) = fs::symlink_metadata(path) else { return Public::default() };
    // What a link leads to is asked for by its own path.
    if data.is_symlink() {
        return Public { is_all: true, parts: Vec::new() };
    }
    if !is_everybodys(&data) || depth == 0 {
        return Public::default();
    }
    if !data.is_dir() {
        return Public { is_all: true, parts: vec![path.to_owned()] };
    }
    let Ok(entries) = fs::read_dir(path) else { return Public::default() };
    let mut all = Public { is_all: true, parts: Vec::new() };
    for entry in entries {
        let found = match entry {
            Ok(entry) => below(&entry.path(), left, depth - 1),
            Err(_) => Public::default(),
        };
        all.is_all &= found.is_all;
        all.parts.extend(found.parts);
    }
    if all.is_all {
        all.parts = vec![path.to_owned()];
    }
    all
}

fn is_everybodys(data: &Metadata) -> bool {
    let needed = if data.is_dir() { 0o005 } else { 0o004 };
    data.mode() & needed == needed && (data.is_dir() || data.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_is_one_users_alone_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let set = |name: &str, mode| {
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        for name in ["open", "mixed", "closed"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("known"), "text").unwrap();
            set(name, 0o755);
            set(&format!("{name}/known"), 0o644);
        }
        fs::write(at("mixed/secret"), "text").unwrap();
        set("mixed/secret", 0o600);
        symlink(at("mixed/secret"), at("open/link")).unwrap();
        set("closed", 0o700);
        set("", 0o755);
        let nothing: [PathBuf; 0] = [];
        let parts = |name: &str| below(&at(name), &mut 100, 9).parts;
        assert_eq!(parts("open"), [at("open")]);
        assert_eq!(parts("mixed"), [at("mixed/known")]);
        assert_eq!(parts("closed"), nothing);
        assert!(!below(&at("open"), &mut 2, 9).is_all, "there is more than may be looked at");
        // A script names what it reads; what others may not reach is not read for it.
        let script = |name: &str| format!("cat '{}' | sort", at(name).display());
        assert_eq!(named_in(&script("mixed/known")), [at("mixed/known")]);
        for name in ["mixed/secret", "open/link", "closed/known", "none"] {
            assert_eq!(named_in(&script(name)), nothing, "{name}");
        }
        set("", 0o700);
        assert_eq!(named_in(&script("mixed/known")), nothing);
    }

    #[test]
    fn settings_that_are_roots_alone_are_no_part_of_the_system() {
        let all = of_system();
        assert!(all.contains(&PathBuf::from("/usr")));
        let covers = |path: &str| all.iter().any(|known| Path::new(path).starts_with(known));
        assert!(covers("/etc/passwd") && !covers("/etc/shadow") && !covers("/root"), "{all:?}");
    }
}
