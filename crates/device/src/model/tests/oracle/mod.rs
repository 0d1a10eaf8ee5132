//! The machine that does every event at its time, on every disk: what the one in use is held
//! against. It shares with it the geometry, the link and the notes, and nothing of what was made
//! faster; it is changed only where what a disk does is to change.

mod cache;
mod disk;
mod machine;
mod platters;

use super::super::geometry::{Geometry, fraction, whole_nanoseconds};
use super::super::link::Link;
use super::super::machine::{Answer, Operation};
use super::super::notes::{MediaNote, Notes};
use super::super::parameters::{DestageRule, Hold, Parameters};
use super::super::random::Random;

pub(super) use machine::Machine;
