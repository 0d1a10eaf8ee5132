//! How an array is started.

use crate::fence::Freedom;
use crate::md::TimeStamp;

/// How to start an array.
#[derive(Clone, Copy, Debug)]
pub struct StartOptions {
    /// Nothing is ever written to the members.
    pub read_only: bool,
    /// Also where something may be lost by it: see
    /// [`Startability::NeedsForce`](crate::md::Startability::NeedsForce).
    pub force: bool,
    /// What time it is, for the superblocks; `None` leaves the time that they have.
    pub time: fn() -> Option<TimeStamp>,
    /// A random number that tells this server from others, where they reach a member.
    pub server: u32,
    /// What [`watch`](super::watch()) found of the members, where others reach one.
    pub freedom: Option<Freedom>,
    /// A mistake for a test to find.
    #[cfg(feature = "planted-mistakes")]
    pub planted: super::planted::PlantedMistake,
}

impl Default for StartOptions {
    fn default() -> StartOptions {
        StartOptions {
            read_only: false,
            force: false,
            time: || None,
            server: 0,
            freedom: None,
            #[cfg(feature = "planted-mistakes")]
            planted: super::planted::PlantedMistake::None,
        }
    }
}
