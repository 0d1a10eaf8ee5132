//! What is lost where a layout is made: its drives, as somebody who is asked has to see them.

use std::path::{Path, PathBuf};

use host::guard::{self, Consent};
use host::{Error, mount, system};
use serde::Serialize;

use super::Member;

/// A drive or file that is erased.
#[derive(Clone, Debug, Serialize)]
pub struct ErasedDrive {
    /// By which it was named.
    pub path: PathBuf,
    /// What the kernel knows of it, its serial number among that; none of a file.
    pub drive: Option<guard::Drive>,
    /// What is on it, where that is known: `ext2/ext3/ext4`.
    pub holds: Option<String>,
}

impl ErasedDrive {
    /// The drives and files that a layout or a question names, looked at; nothing is written.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn of<'a>(
        members: impl IntoIterator<Item = &'a Member>,
    ) -> Result<Vec<ErasedDrive>, Error> {
        let drives = guard::drives();
        let drive_of = |path: &Path| {
            let number = system::block_number(path)?;
            drives.iter().find(|drive| system::block_number(&drive.path) == Some(number))
        };
        let look = |path: &Path| {
            Ok(ErasedDrive {
                path: path.to_owned(),
                drive: drive_of(path).cloned(),
                holds: mount::holds(path)?.map(str::to_owned),
            })
        };
        members.into_iter().filter_map(Member::path).map(look).collect()
    }

    /// The consent of somebody who has seen all of them.
    #[must_use]
    pub fn consent(all: &[ErasedDrive]) -> Consent {
        let mut consent = Consent { erase_signature: true, ..Consent::default() };
        for ErasedDrive { path, drive, .. } in all {
            match drive.as_ref().map(|drive| &drive.serial) {
                Some(Some(serial)) => consent.erase_serials.push(serial.clone()),
                Some(None) => consent.devices.push(path.clone()),
                // A file.
                None => (),
            }
        }
        consent
    }
}
