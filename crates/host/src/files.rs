//! Files that are written whole or not at all: beside, then renamed. A full disk or a kill leaves
//! what was there before.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::{Error, journal};

/// How the name of a file begins that is not whole yet; one of a process that was killed may stay.
pub const PART: &str = ".part-";

/// Writes a file of a folder of ours so that after a crash it is whole or as it was. Whatever has
/// its name is replaced, and no link is followed.
///
/// # Errors
/// What the system says; then nothing was changed.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes).map_err(|error| failed(path, &error))
}

/// Writes a file that a user has named: whole or not at all, through a link to a file, and straight
/// into what is no file (a pipe, `/dev/stdout`).
///
/// # Errors
/// As [`write_whole`].
pub fn write_named(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let written = match fs::metadata(path) {
        Ok(data) if data.is_file() => fs::canonicalize(path).and_then(|real| replace(&real, bytes)),
        Ok(_) => {
            OpenOptions::new().write(true).open(path).and_then(|mut other| other.write_all(bytes))
        }
        Err(_) => replace(path, bytes),
    };
    written.map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::from_io(format_args!("writing {}", path.display()), error)
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or_else(|| PathBuf::from("."), Path::to_owned);
    // As others are made: the umask takes its part of it. One that is there keeps what it has.
    let mode = fs::symlink_metadata(path)
        .ok()
        .filter(fs::Metadata::is_file)
        .map(|data| data.permissions());
    let mut file = tempfile::Builder::new()
        .prefix(PART)
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(&folder)?;
    file.write_all(bytes)?;
    if let Some(mode) = mode {
        file.as_file().set_permissions(mode)?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    journal::sync_folder(&folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_with_its_permissions_and_a_link_by_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        write_whole(&path("a"), b"one").unwrap();
        fs::set_permissions(path("a"), Permissions::from_mode(0o640)).unwrap();
        write_whole(&path("a"), b"two").unwrap();
        assert_eq!(fs::metadata(path("a")).unwrap().permissions().mode() & 0o777, 0o640);
        std::os::unix::fs::symlink("a", path("link")).unwrap();
        write_named(&path("link"), b"three").unwrap();
        assert_eq!(fs::read(path("a")).unwrap(), b"three");
        write_whole(&path("link"), b"four").unwrap();
        assert_eq!(
            (fs::read(path("a")).unwrap(), fs::read(path("link")).unwrap()),
            (b"three".to_vec(), b"four".to_vec())
        );
        assert_eq!(names(folder.path()), ["a", "link"]);
    }

    #[test]
    fn what_is_no_file_is_written_to_and_stays_what_it_is() {
        write_named(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(write_named(Path::new("/dev/full"), b"no room").is_err());
        let folder = tempfile::tempdir().unwrap();
        assert!(write_whole(folder.path(), b"a folder").is_err());
        assert!(
            write_whole(&folder.path().join("none/a"), b"no folder")
                .unwrap_err()
                .to_string()
                .contains("none/a")
        );
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}
