//! What was recorded: drives, requests, and one order over all that happened to them.

use std::fs::File;
use std::os::unix::fs::FileExt;

use block::Error;

use crate::catalogue;

/// What a recorded device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It loses its power: crash states are made of it.
    Drive,
    /// It stands above the drives, and says what was promised to whoever uses it.
    Above,
}

/// A recorded device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// Drive or something above.
    pub role: Role,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its logical block in bytes.
    pub block_bytes: u32,
    /// Whether it said that completed writes wait for a flush.
    pub volatile_cache: bool,
}

/// What a recorded request asked for. Reads leave nothing behind and are not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A write with data.
    Write,
    /// A write of zeroes.
    WriteZeroes,
    /// A discard.
    Discard,
    /// A flush.
    Flush,
}

/// A recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    /// The number of its drive.
    pub drive: u16,
    /// What it asked for.
    pub action: Action,
    /// Whether it was to be durable when it completes.
    pub fua: bool,
    /// Where on the drive, in bytes; 0 for a flush.
    pub offset: u64,
    /// How much, in bytes; 0 for a flush.
    pub length: u64,
    /// The number of the event of its arrival.
    pub arrival: u32,
    /// The number of the event of its completion, if it completed; failures do not count, for they
    /// promise nothing.
    pub completion: Option<u32>,
    /// Where its data lie in the log.
    pub(crate) data: u64,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The request of this number arrived at its drive.
    Arrival(u32),
    /// It completed, and whoever sent it was about to be told.
    Completion {
        /// The request's number.
        request: u32,
        /// Whether it failed.
        failed: bool,
    },
    /// The work had something to say; [`Log::mark`] has its text.
    Mark {
        /// Where its bytes lie in the log.
        data: u64,
        /// How many there are.
        length: u32,
    },
}

/// A moment and when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds since the recording began.
    pub time_nanoseconds: u64,
    /// What happened.
    pub moment: Moment,
}

/// Where the bytes of a log are.
#[derive(Debug)]
pub(crate) enum Bytes {
    Memory(Vec<u8>),
    File(File),
}

impl Bytes {
    pub(crate) fn read_at(&self, position: u64, target: &mut [u8]) -> std::io::Result<()> {
        match self {
            Bytes::Memory(bytes) => {
                let start = position as usize;
                target.copy_from_slice(&bytes[start..start + target.len()]);
                Ok(())
            }
            Bytes::File(file) => file.read_exact_at(target, position),
        }
    }
}

/// A recording that has ended.
#[derive(Debug)]
pub struct Log {
    pub(crate) drives: Vec<Drive>,
    pub(crate) requests: Vec<LoggedRequest>,
    pub(crate) events: Vec<Event>,
    pub(crate) bytes: Bytes,
}

impl Log {
    /// The log as it would stand in a file, where it lies in memory.
    #[must_use]
    pub fn bytes_in_memory(&self) -> Option<&[u8]> {
        match &self.bytes {
            Bytes::Memory(bytes) => Some(bytes),
            Bytes::File(_) => None,
        }
    }

    /// The recorded devices.
    #[must_use]
    pub fn drives(&self) -> &[Drive] {
        &self.drives
    }

    /// The requests, in the order of their arrival.
    #[must_use]
    pub fn requests(&self) -> &[LoggedRequest] {
        &self.requests
    }

    /// Everything that happened, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The text of a mark.
    ///
    /// # Errors
    /// What reading the log says.
    pub fn mark(&self, data: u64, length: u32) -> Result<Vec<u8>, Error> {
        let mut text = vec![0; length as usize];
        self.bytes
            .read_at(data, &mut text)
            .map_err(|error| Error::from_io(catalogue::LOG_MARK, error))?;
        Ok(text)
    }

    /// The marks: the number of each one's event, its time, and its text.
    ///
    /// # Errors
    /// As [`Log::mark`].
    pub fn marks(&self) -> Result<Vec<(u32, u64, Vec<u8>)>, Error> {
        let marks = self.events.iter().zip(0..).filter_map(|(event, number)| match event.moment {
            Moment::Mark { data, length } => {
                Some(self.mark(data, length).map(|text| (number, event.time_nanoseconds, text)))
            }
            _ => None,
        });
        marks.collect()
    }

    /// What a request put at `offset` of its drive, which lies in its range.
    ///
    /// # Errors
    /// What reading the log says.
    pub fn content(
        &self,
        request: &LoggedRequest,
        offset: u64,
        target: &mut [u8],
    ) -> Result<(), Error> {
        match request.action {
            Action::Write => {
                let position = request.data + (offset - request.offset);
                self.bytes
                    .read_at(position, target)
                    .map_err(|error| Error::from_io(catalogue::LOG_DATA, error))
            }
            Action::WriteZeroes | Action::Discard => {
                target.fill(0);
                Ok(())
            }
            Action::Flush => unreachable!("a flush has no range"),
        }
    }
}
