//! The pull test: what may be left of drives whose power fails, at any moment of a recording.
//!
//! ```text
//!   array, cache, file system
//!        |        ^
//!   Recorder::drive      arrivals, completions, marks of the work: one order -> Log
//!        |        |
//!      drive 0  drive 1 ...
//!
//!   Log --cut, policy, seed--> History (what is durable, what is not) -> Crash: drives to start from
//! ```
//!
//! What a volatile cache may lose is what `docs/contract.md` permits (C24 to C28), block by block:
//!
//! * A flush covers the writes of its drive whose completion stands before its arrival, and counts
//!   from its own completion on.
//! * A write with FUA is durable from its completion on, and covers nothing else.
//! * Everything else may be there or not, each atomic unit by itself, and never what is older than
//!   the last durable write.
//!
//! On a file system, [`work`] says what it was promised, and [`judge`] holds what is left against
//! that; [`score`] sums states up.
//!
//! A crash state is a pure function of log, cut, policy and seed: the same four make the same
//! bytes. Nothing is copied whole: the durable contents are rolled forward from cut to cut, and a
//! state is an overlay on them.

mod catalogue;
pub mod content;
mod crash;
mod cut;
mod database;
mod format;
mod generated;
mod history;
mod image;
mod import;
mod log;
mod log_writes;
mod media;
mod oracle;
mod policy;
mod program;
mod recorder;
mod score;
mod smallest;
mod work;

pub use crash::Crash;
pub use cut::{Cut, hot_cuts, uniform_cuts};
pub use history::{DriveFault, History};
pub use import::read_log_writes;
pub use log::{Action, Drive, Event, Log, LoggedRequest, Moment, Role};
pub use log_writes::write_log_writes;
pub use media::{DataArrival, Media, MediaTransfer};
pub use oracle::{ExpectedFile, Findings, Rule, WrongFile, expected, judge, nothing_left};
pub use policy::{Policy, Tear};
pub use program::{
    NoVerdict, Promise, Statement, Stream, Verdict, WrongKey, promises, verdict, wrong_keys,
};
pub use recorder::{AdvertisedTraits, Recorder};
pub use score::{Damage, Judgement, ScoreCard, Share, Spread, TimedStates, score};
pub use smallest::{FlushCover, MinimalSet, StateLoss, smallest, smallest_loss};
pub use work::{Extent, Mark, WORKS, Work, prepare, work};
