//! Members that are files or block devices, opened for reading.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::{MEMBERS_MAX, Members};
use crate::size_of;
use host::Error;
use host::guard::Guard;

/// The members of a lost array.
#[derive(Debug)]
pub struct Images {
    files: Vec<Option<(File, u64)>>,
}

impl Images {
    /// Opens the members for reading; `None` is a missing one.
    ///
    /// # Errors
    /// A member that cannot be opened, one that is named twice, fewer than two, or more than
    /// [`MEMBERS_MAX`].
    pub fn open(guard: &Guard, paths: &[Option<PathBuf>]) -> Result<Images, Error> {
        if !(2..=MEMBERS_MAX).contains(&paths.len()) {
            return Err(Error::usage(format!(
                "{} members are named; it takes 2 to {MEMBERS_MAX}",
                paths.len()
            )));
        }
        if let Some((earlier, later)) =
            stack::Identity::same_twice(paths.iter().flatten().map(PathBuf::as_path))
        {
            return Err(Error::usage(stack::twice_text(earlier, later)));
        }
        let mut files = Vec::new();
        for path in paths {
            let Some(path) = path else {
                files.push(None);
                continue;
            };
            let file = guard.open_image(path)?;
            let size = size_of(&file).map_err(|error| Error::from_io(path.display(), &error))?;
            files.push(Some((file, size)));
        }
        if files.iter().flatten().count() < 2 {
            return Err(Error::usage(
                "all but one member are missing: there is nothing to compare",
            ));
        }
        Ok(Images { files })
    }
}

impl Members for Images {
    fn count(&self) -> usize {
        self.files.len()
    }

    fn size_bytes(&self, member: usize) -> Option<u64> {
        self.files[member].as_ref().map(|(_, size)| *size)
    }

    fn read(&self, member: usize, offset: u64, into: &mut [u8]) -> bool {
        self.files[member]
            .as_ref()
            .is_some_and(|(file, _)| file.read_exact_at(into, offset).is_ok())
    }
}
