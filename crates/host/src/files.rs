//! Files that are written whole or not at all: beside, then renamed. A full disk or a kill leaves
//! what was there before.
//!
//! And files that a stranger may have made: a pipe would be waited for, a link leads anywhere, and
//! `/dev/zero` has no end.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use reactor::plain_file::{self, Links};

use stack::Identity;
use words::{Text, statement};

use crate::guard::find_signature;
use crate::{Error, catalogue, journal};

/// How the name of a file begins that is not whole yet; one of a process that was killed may stay.
pub const PART: &str = ".part-";

/// The most that is read of a file that was named, in bytes: plans and results are texts.
const NAMED_MAX_BYTES: u64 = 64 << 20;

/// Opens a file of a folder that somebody else may have made, for reading: a plain file and no link
/// to one. Nothing is waited for.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for anything but a plain file; what the system says.
pub fn open_untrusted(path: &Path) -> io::Result<File> {
    plain_file::open(path, Links::Refused)
}

/// Reads a file of a folder that somebody else may have made, whole, as [`open_untrusted`] opens
/// it.
///
/// # Errors
/// As [`open_untrusted`], and [`io::ErrorKind::FileTooLarge`] for one of more than `most_bytes`.
pub fn read_untrusted(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    plain_file::read_bounded(open_untrusted(path)?, most_bytes)
}

/// Reads what a user has named and a stranger may have made: a plan, results. It may be a link, or
/// a pipe (`/dev/stdin`), which is waited for; it may not be without an end.
///
/// # Errors
/// As [`read_untrusted`].
pub fn read_named(path: &Path) -> io::Result<Vec<u8>> {
    plain_file::read_bounded(File::open(path)?, NAMED_MAX_BYTES)
}

/// The same for a text.
///
/// # Errors
/// As [`read_named`], and [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn read_named_text(path: &Path) -> io::Result<String> {
    plain_file::text(read_named(path)?)
}

/// A path as it has to be written so that it means the same wherever it is used later.
///
/// # Errors
/// A usage error: the path is empty, or there is no current folder.
pub fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| Error::from_io(path.display(), &error).as_usage())
}

/// A link on the way to a path that belongs neither to this user nor to root: where somebody else
/// may make links, any name leads anywhere.
#[must_use]
pub fn link_of_another(path: &Path) -> Option<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let path = std::path::absolute(path).ok()?;
    let is_anothers = |path: &&Path| {
        fs::symlink_metadata(path)
            .is_ok_and(|data| data.is_symlink() && data.uid() != own && data.uid() != 0)
    };
    path.ancestors().find(is_anothers).map(Path::to_owned)
}

/// Writes a file of a folder of ours so that after a crash it is whole or as it was. Whatever has
/// its name is replaced, and no link is followed.
///
/// # Errors
/// What the system says; then nothing was changed.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes).map_err(|error| failed(path, &error))
}

/// Writes a file that a user has named: whole or not at all, through a link to a file, and straight
/// into what is no file (a pipe, `/dev/stdout`). `made_from` are the files that the bytes were made
/// from.
///
/// # Errors
/// As [`write_whole`] and [`refuse_to_write`]; but whatever begins as the bytes do is taken for an
/// earlier one of them, and replaced.
pub fn write_named(path: &Path, bytes: &[u8], made_from: &[PathBuf]) -> Result<(), Error> {
    refuse_loss(path, made_from, bytes.get(..BEGIN_BYTES))?;
    let written = match fs::metadata(path) {
        Ok(data) if data.is_file() => fs::canonicalize(path).and_then(|real| replace(&real, bytes)),
        Ok(_) => {
            OpenOptions::new().write(true).open(path).and_then(|mut other| other.write_all(bytes))
        }
        Err(_) => replace(path, bytes),
    };
    written.map_err(|error| failed(path, &error))
}

/// Refuses a place that a user has named for what is made from `made_from`, where that would be a
/// loss: a block device, one of these files by whatever name, a file that carries a signature, and
/// what lies behind a link of another user's. There is no consent to that: another name is at hand.
///
/// # Errors
/// A refusal with what it is; what the system says.
pub fn refuse_to_write(path: &Path, made_from: &[PathBuf]) -> Result<(), Error> {
    refuse_loss(path, made_from, None)
}

/// How much of a file tells what wrote it.
const BEGIN_BYTES: usize = 8;

/// The same; a file that begins with `begin` may be replaced whatever else is in it.
fn refuse_loss(path: &Path, made_from: &[PathBuf], begin: Option<&[u8]>) -> Result<(), Error> {
    refuse_link_of_another(path)?;
    let refused = |why: Text| Err(Error::refused(why).at(path.display()));
    let kind = fs::metadata(path).ok().map(|data| data.file_type());
    if kind.is_some_and(|kind| kind.is_block_device()) {
        return refused(catalogue::NOT_TO_DEVICE.into());
    }
    // A terminal or a pipe loses nothing, and may well be what was read from.
    if kind.is_some_and(|kind| !kind.is_file()) {
        return Ok(());
    }
    let place = Identity::of(path);
    if made_from.iter().any(|from| Identity::of(from) == place) {
        return refused(catalogue::MADE_FROM_IT.into());
    }
    if kind.is_none() {
        return Ok(());
    }
    let signature =
        signature_of(path, begin).map_err(|error| Error::from_io(path.display(), &error))?;
    match signature {
        Some(signature) => refused(statement!(catalogue::MARK_STAYS, signature = signature)),
        None => Ok(()),
    }
}

fn signature_of(path: &Path, begin: Option<&[u8]>) -> io::Result<Option<&'static str>> {
    let file = plain_file::open(path, Links::Followed)?;
    let mut start = [0; BEGIN_BYTES];
    let is_alike =
        begin.is_some_and(|begin| file.read_exact_at(&mut start, 0).is_ok() && start[..] == *begin);
    if is_alike { Ok(None) } else { find_signature(&file, file.metadata()?.len()) }
}

/// Refuses to write behind a link of another user's.
///
/// # Errors
/// A refusal with the link.
pub fn refuse_link_of_another(path: &Path) -> Result<(), Error> {
    match link_of_another(path) {
        None => Ok(()),
        Some(link) => {
            let said = statement!(catalogue::LINK_OF_ANOTHER, link = link.display());
            Err(Error::refused(said).at(path.display()))
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::from_io(statement!(catalogue::WRITING_FILE, path = path.display()), error)
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
    fn what_is_no_plain_file_is_not_waited_for_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("plain"), b"12345").unwrap();
        std::os::unix::fs::symlink("plain", path("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("zeroes")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), 0o600.into()).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        let kind = |result: io::Result<Vec<u8>>| result.unwrap_err().kind();
        for name in ["link", "zeroes", "pipe", "socket", "."] {
            let read = read_untrusted(&path(name), 1 << 20);
            assert_eq!(kind(read), io::ErrorKind::InvalidInput, "{name}");
        }
        assert_eq!(read_untrusted(&path("plain"), 5).unwrap(), b"12345");
        assert_eq!(kind(read_untrusted(&path("plain"), 4)), io::ErrorKind::FileTooLarge);
        assert_eq!(kind(read_untrusted(&path("none"), 4)), io::ErrorKind::NotFound);
        assert_eq!(kind(read_named(&path("zeroes"))), io::ErrorKind::FileTooLarge);
        assert_eq!(read_named_text(&path("link")).unwrap(), "12345");
    }

    #[test]
    fn nothing_is_written_behind_a_link_of_another_user() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("real")).unwrap();
        fs::write(path("real/file"), b"as it was").unwrap();
        for link in ["folder", "file"] {
            let to = if link == "folder" { "real" } else { "real/file" };
            std::os::unix::fs::symlink(to, path(link)).unwrap();
        }
        write_named(&path("folder/file"), b"one's own", &[]).unwrap();
        if !rustix::process::geteuid().is_root() {
            return testkit::missing!("only root can make links of another user's");
        }
        for (link, written) in [("folder", "folder/file"), ("file", "file")] {
            std::os::unix::fs::lchown(path(link), Some(65534), None).unwrap();
            let error = write_named(&path(written), b"away", &[]).unwrap_err();
            assert!(error.to_string().contains("a link of another user's"), "{error}");
        }
        assert_eq!(fs::read(path("real/file")).unwrap(), b"one's own");
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
        write_named(&path("link"), b"three", &[]).unwrap();
        assert_eq!(fs::read(path("a")).unwrap(), b"three");
        write_whole(&path("link"), b"four").unwrap();
        assert_eq!(
            (fs::read(path("a")).unwrap(), fs::read(path("link")).unwrap()),
            (b"three".to_vec(), b"four".to_vec())
        );
        assert_eq!(names(folder.path()), ["a", "link"]);
    }

    #[test]
    fn what_would_be_lost_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("source"), b"trials").unwrap();
        fs::hard_link(path("source"), path("other")).unwrap();
        let mut image = vec![0; 1 << 20];
        image[..4].copy_from_slice(b"XFSB");
        fs::write(path("image"), &image).unwrap();
        let made_from = [path("source"), path("none")];
        for (name, why) in [
            ("source", "is made from this file"),
            ("other", "is made from this file"),
            ("none", "is made from this file"),
            ("image", "it carries a signature: XFS"),
        ] {
            let checked = refuse_to_write(&path(name), &made_from);
            let written = write_named(&path(name), b"<!doctype html>", &made_from);
            for error in [checked.unwrap_err(), written.unwrap_err()] {
                assert_eq!(error.exit_code(), 4, "{error}");
                assert!(error.to_string().contains(why), "{name}: {error}");
            }
        }
        assert_eq!(fs::read(path("source")).unwrap(), b"trials");
        assert!(fs::read(path("image")).unwrap() == image && !path("none").exists());
        // An earlier one of its kind is replaced, whatever the mark.
        write_named(&path("image"), &image[..512], &made_from).unwrap();
        assert_eq!(fs::read(path("image")).unwrap().len(), 512);
        write_named(Path::new("/dev/null"), b"gone", &["/dev/null".into()]).unwrap();
    }

    /// Any drive of this machine will do: it is refused before it is opened.
    #[test]
    fn nothing_is_written_to_a_block_device() {
        let Some(drive) =
            fs::read_dir("/dev").unwrap().flatten().map(|it| it.path()).find(|path| {
                fs::metadata(path).is_ok_and(|data| data.file_type().is_block_device())
            })
        else {
            return testkit::skipped!("no block device here");
        };
        let error = refuse_to_write(&drive, &[]).unwrap_err();
        assert!(error.exit_code() == 4 && error.to_string().contains("block device"), "{error}");
    }

    #[test]
    fn what_is_no_file_is_written_to_and_stays_what_it_is() {
        write_named(Path::new("/dev/null"), b"gone", &[]).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(write_named(Path::new("/dev/full"), b"no room", &[]).is_err());
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
