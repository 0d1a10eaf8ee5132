//! `trials.jsonl`: append only, one line a trial, each on stable storage before the next trial begins. It is the source of
//! truth of a run; everything else in the folder can be made again from it.
//!
//! ```text
//! {"cell":…}\n            whole lines count
//! {"cell":…}\n
//! {"cell":…,"metr         a torn last line (power cut, full disk) is dropped, and cut off before the next one is appended
//! ```

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use results::Trial;

use crate::Error;

/// The lines of a `trials.jsonl` and what was wrong with its end.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) trials: Vec<Trial>,
    /// Bytes of the lines that count.
    whole_bytes: u64,
    /// What was dropped, in words.
    pub(crate) note: Option<String>,
}

/// Reads the lines of a file's bytes; `path` is for messages.
pub(crate) fn read_lines(path: &Path, bytes: &[u8]) -> Result<Lines, Error> {
    let mut lines = Lines { trials: Vec::new(), whole_bytes: 0, note: None };
    let mut rest = bytes;
    while !rest.is_empty() {
        let number = lines.trials.len() + 1;
        let newline = rest.iter().position(|byte| *byte == b'\n');
        let line = &rest[..newline.unwrap_or(rest.len())];
        let after = newline.map_or(&[][..], |newline| &rest[newline + 1..]);
        match serde_json::from_slice(line) {
            Ok(trial) if newline.is_some() => lines.trials.push(trial),
            // A crash may also leave a last line whose blocks were never written: it is no more than a torn one.
            _ if after.is_empty() => {
                lines.note = Some(format!(
                    "the torn last line of {} ({} bytes) was dropped; its trial counts as not run",
                    path.display(),
                    rest.len()
                ));
                return Ok(lines);
            }
            Ok(_) => unreachable!("a line without its end is the last"),
            Err(error) => {
                let text = format!("{}:{number}: this line is no trial ({error}); the file was changed or damaged", path.display());
                return Err(Error::failed(text));
            }
        }
        lines.whole_bytes += line.len() as u64 + 1;
        rest = after;
    }
    Ok(lines)
}

/// A `trials.jsonl` opened for appending. While it is open, no other process can append to it.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
    path: PathBuf,
    whole_bytes: u64,
}

impl Record {
    /// Makes an empty record and takes its lock.
    pub(crate) fn create(path: &Path) -> Result<Record, Error> {
        let file = OpenOptions::new().read(true).append(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| Error::from_io(path.display(), &error))?;
        lock(&file, path)?;
        let length = file.metadata().map_err(|error| Error::from_io(path.display(), &error))?.len();
        if length > 0 {
            return Err(Error::usage(format!("{} holds trials already", path.display())));
        }
        Ok(Record { file, path: path.to_owned(), whole_bytes: 0 })
    }

    /// Opens a record to go on with it: takes its lock, reads what is there, and cuts a torn last line off.
    pub(crate) fn open(path: &Path) -> Result<(Record, Lines), Error> {
        let failed = |error| Error::from_io(path.display(), &error);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        lock(&file, path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let lines = read_lines(path, &bytes)?;
        if lines.note.is_some() {
            file.set_len(lines.whole_bytes).and_then(|()| file.sync_data()).map_err(failed)?;
        }
        Ok((Record { file, path: path.to_owned(), whole_bytes: lines.whole_bytes }, lines))
    }

    /// Appends one trial: one write, then on stable storage. When that fails (a full disk), the half line is taken back, so
    /// that what is there stays whole.
    pub(crate) fn append(&mut self, trial: &Trial) -> Result<(), Error> {
        let mut line = serde_json::to_vec(trial).expect("a trial is plain data");
        line.push(b'\n');
        let written = self.file.write(&line).and_then(|count| {
            if count == line.len() {
                return self.file.sync_data();
            }
            // The rest does not fit; asking for it gives the reason.
            self.file.write_all(&line[count..]).and_then(|()| self.file.sync_data())
        });
        if let Err(error) = written {
            // Should this fail too, the torn line is dropped when the run is resumed.
            let _ = self.file.set_len(self.whole_bytes).and_then(|()| self.file.seek(SeekFrom::End(0))).and_then(|_| self.file.sync_data());
            return Err(Error::from_io(self.path.display(), &error));
        }
        self.whole_bytes += line.len() as u64;
        Ok(())
    }
}

fn lock(file: &File, path: &Path) -> Result<(), Error> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let holder = crate::system::lock_holder(file).map_or(String::new(), |process| format!(" (process {process})"));
            Err(Error::refused(format!("{}: the run is going on in another process{holder}; wait for it or stop it first", path.display())))
        }
        Err(TryLockError::Error(error)) => Err(Error::from_io(format!("locking {}", path.display()), &error)),
    }
}
