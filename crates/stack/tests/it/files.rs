//! Files as a program without a guard opens them.

use std::fs::{File, OpenOptions};
use std::path::Path;

use block::Error;
use stack::OpenFiles;

/// Opens every file, and makes those that are not there.
pub(crate) struct Files;

impl OpenFiles for Files {
    fn open(&self, path: &Path, read_only: bool, create: Option<u64>) -> Result<File, Error> {
        let fail = |error| Error::from_io(path.display().to_string(), error);
        let file = OpenOptions::new()
            .read(true)
            .write(!read_only)
            .create(create.is_some())
            .truncate(false)
            .open(path)
            .map_err(fail)?;
        if let Some(bytes) = create.filter(|_| file.metadata().is_ok_and(|data| data.len() == 0)) {
            file.set_len(bytes).map_err(fail)?;
        }
        Ok(file)
    }
}
