//! One process an array: its exports, its control socket, its upkeep, and how they end.
//!
//! ```text
//!   raidloom array start ──spawns──> server process            RUNTIME/NAME/
//!                        <──ready──    │                          lock         held as long as it lives; its process id
//!   raidloom array VERB  ──a line──>   ├─ control socket          control      one JSON object a line
//!                        <──a line──   ├─ stack, through the guard
//!                                      ├─ file, loop device, NBD  disk, …      the stack as a file
//!                                      └─ upkeep of its arrays    cleanup.jsonl  what has to be undone
//! ```
//!
//! Whatever a server makes outside its own process stands in its journal before it is made. A
//! server that is killed leaves the journal behind, and the next `start` or `stop` undoes what
//! stands in it.

mod boot;
mod caches;
mod catalogue;
mod client;
mod control;
mod exchange;
mod exports;
mod image;
mod incremental;
mod launch;
pub mod log;
mod notify;
mod open;
mod patience;
mod process;
mod protocol;
mod runtime;
mod serve;
mod settings;
mod status;
mod upkeep;
mod usability;
mod watch;
mod whole;

pub use boot::{Boot, MdException, ScrubCalendar, unit_name};
pub use client::{Client, statuses, stop};
pub use incremental::{ConfiguredArray, Readiness, configured};
pub use launch::{FreshArray, Launch, LaunchedServer, ServeWith};
pub use open::{MEMBER_TIME, OpenOptions, OpenStack, array_with_metadata, new_array_uuid};
pub use patience::Patience;
pub use process::{is_quiet, serve, serve_until_end};
pub use protocol::{Answer, Command, GivenConsent, Refusal, Request, ScrubAction, VERSION};
pub use runtime::{Claim, Entry, Runtime};
pub use serve::{Server, erase, mount_options};
pub use settings::{
    Attach, ImageSettings, MountSettings, Settings, TlsSettings, configurations, forced,
};
pub use status::{Attachment, CacheReport, MemberStatus, Status, VhostUser};
pub use upkeep::Event;
pub use usability::{MissingPart, Usability};
