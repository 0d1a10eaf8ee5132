//! The array as its metadata see it: a plain value.

use std::sync::Arc;

use block::Device;

use crate::level::TooManyAbsent;
use crate::member::Snapshot;
use crate::ranges::Ranges;

/// What the metadata have to know of their array, as it was at one moment.
pub(crate) struct ArrayState {
    /// The members' states.
    pub(crate) snapshot: Snapshot,
    /// The device in each slot.
    pub(crate) devices: Vec<Option<Arc<dyn Device>>>,
    /// What of each member's data is lost, in bytes.
    pub(crate) lost: Vec<Ranges>,
    /// Whether all data are there without the members that are missing or lack something.
    pub(crate) holds_all: Result<(), TooManyAbsent>,
}
