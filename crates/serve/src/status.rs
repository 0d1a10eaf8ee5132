//! What a server tells of itself.

use std::path::{Path, PathBuf};

use cache::CacheStatus;
use mdtools::{ArrayCondition, ArrayStatus};
use serde::{Deserialize, Serialize};
use words::Text;

use crate::upkeep::Event;
use crate::usability::{MissingPart, Usability};

/// A running array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// The server's process id.
    pub process: u32,
    /// What can be done with it. A server of an earlier version does not say.
    #[serde(flatten)]
    pub usability: Option<Usability>,
    /// Whether it serves a run, which measures it and with which it ends.
    #[serde(default)]
    pub is_measured: bool,
    /// The stack, as text.
    pub stack: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its logical block in bytes.
    pub block_bytes: u32,
    /// Whether writes are refused.
    pub read_only: bool,
    /// `quick` or `performance`.
    pub removal_policy: String,
    /// Whether its members seek; the block device and NBD clients are told so.
    pub rotational: bool,
    /// When it was started, in seconds since 1970.
    pub started_unix_seconds: u64,
    /// Processor time that its process has taken, in seconds.
    pub processor_seconds: f64,
    /// As what it appears on this machine.
    pub attached: Option<Attachment>,
    /// Addresses of its NBD exports.
    pub nbd: Vec<String>,
    /// How many NBD clients are connected.
    pub nbd_clients: usize,
    /// The socket on which virtual machines find it, and how many are connected.
    pub vhost_user: Option<VhostUser>,
    /// Where file systems on it are mounted.
    pub mounts: Vec<PathBuf>,
    /// The leaves of the stack.
    pub members: Vec<MemberStatus>,
    /// The arrays in the stack that carry md's metadata, those below before those above.
    pub arrays: Vec<ArrayStatus>,
    /// The caches in the stack, those below before those above.
    pub caches: Vec<CacheReport>,
    /// What has happened to the arrays of late, the latest last.
    pub events: Vec<Event>,
    /// What there is to know: degraded exports, direct I/O that is not there.
    #[serde(flatten, with = "note_parts")]
    pub notes: Vec<Text>,
}

words::with_parts!(note_parts: Vec<Text>, "notes", "note_parts");
words::with_parts!(failure_parts: Option<Text>, "failure", "failure_parts");

impl Status {
    /// In one word.
    #[must_use]
    pub fn state(&self) -> ArrayCondition {
        let worst = || self.arrays.iter().map(|array| array.state).max();
        let said = self.usability.as_ref().map(|usability| usability.state);
        said.or_else(worst).unwrap_or(ArrayCondition::Online)
    }

    /// What is missing and is not told of by an array or a cache.
    pub fn missing(&self) -> impl Iterator<Item = &MissingPart> {
        let missing = self.usability.iter().flat_map(|usability| &usability.missing);
        missing.filter(|part| part.told_by.is_none())
    }
}

/// A vhost-user-blk server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VhostUser {
    /// Its socket.
    pub socket: PathBuf,
    /// Virtual machines that are connected.
    pub clients: usize,
    /// Requests that were answered.
    pub requests: u64,
}

/// As what a stack appears on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The file; a block device of ublk has none.
    pub file: Option<PathBuf>,
    /// The block device over it, where there is one.
    pub block_device: Option<PathBuf>,
}

impl Attachment {
    /// What programs are best pointed to: the block device, or the file where there is none.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.block_device.as_deref().or(self.file.as_deref()).unwrap_or(Path::new(""))
    }
}

/// What a leaf of the stack has moved since the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Its stack text.
    pub name: String,
    /// Read requests.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes of them.
    pub written_bytes: u64,
}

/// A cache at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheReport {
    /// Its stack text.
    pub name: String,
    /// `write-through` and the like.
    pub mode: String,
    /// Which block goes for another.
    pub policy: String,
    /// Whether its store outlives it; otherwise it is in memory, and its size can be changed.
    pub kept: bool,
    /// What is cached as a whole, in bytes. What is counted here is counted in such blocks.
    pub block_bytes: u64,
    /// How much it holds at most, in bytes.
    pub size_bytes: u64,
    /// How much it holds, in bytes.
    pub used_bytes: u64,
    /// How much of that the device below has not, in bytes.
    pub dirty_bytes: u64,
    /// Blocks that reads asked for and that were there, since it was opened.
    pub read_hits: u64,
    /// Those that were not.
    pub read_misses: u64,
    /// Blocks written that were there.
    pub write_hits: u64,
    /// Those that were not.
    pub write_misses: u64,
    /// Blocks that came in.
    pub insertions: u64,
    /// Blocks that had to go for others, or for a smaller size.
    pub evictions: u64,
    /// What was written to the device below after it had been answered, in bytes.
    pub written_out_bytes: u64,
    /// The same of late, in bytes per second.
    pub write_out_bytes_per_second: u64,
    /// Memory that it takes besides the data, in bytes.
    pub metadata_bytes: u64,
    /// What is wrong with it.
    #[serde(flatten, with = "failure_parts")]
    pub failure: Option<Text>,
}

impl From<CacheStatus> for CacheReport {
    fn from(status: CacheStatus) -> CacheReport {
        CacheReport {
            name: status.name,
            mode: status.mode.to_string(),
            policy: status.policy.to_string(),
            kept: status.is_kept,
            block_bytes: status.block_bytes,
            size_bytes: status.size_bytes,
            used_bytes: status.used_bytes,
            dirty_bytes: status.dirty_bytes,
            read_hits: status.counts.read_hits,
            read_misses: status.counts.read_misses,
            write_hits: status.counts.write_hits,
            write_misses: status.counts.write_misses,
            insertions: status.counts.insertions,
            evictions: status.counts.evictions,
            written_out_bytes: status.counts.written_out * status.block_bytes,
            write_out_bytes_per_second: status.write_out_bytes_per_second,
            metadata_bytes: status.metadata_bytes,
            failure: status.failure,
        }
    }
}
