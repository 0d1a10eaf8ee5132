//! What an array can do by the members that it has: whether it can be read, whether it can be
//! written, and what it lacks. One answer for an array that runs and for one that does not.

use super::{Assembly, Layout, Level, Startability};
use crate::geometry::Raid10Layout;

/// What can be done with an array, and the places whose member does not hold all of its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Usability {
    /// It is read and written.
    Writable {
        /// The places that it does without.
        missing: Vec<usize>,
    },
    /// It is read. Something forbids that it is written.
    Readable {
        /// The places that it does without.
        missing: Vec<usize>,
    },
    /// All data may be there, and what is read may be wrong all the same: only with force.
    Doubtful {
        /// The places that it does without.
        missing: Vec<usize>,
    },
    /// Neither read nor written: it does not open.
    Closed {
        /// The places that are missing, which others make up for.
        missing: Vec<usize>,
    },
    /// Neither read nor written as a whole: the rest does not make up for what is missing.
    Failed {
        /// The places that are missing.
        missing: Vec<usize>,
    },
}

impl Usability {
    /// Whether all of it can be read.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        matches!(self, Usability::Writable { .. } | Usability::Readable { .. })
    }

    /// Whether all of it can be written.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        matches!(self, Usability::Writable { .. })
    }

    /// The places whose member does not hold all of its data.
    #[must_use]
    pub fn missing(&self) -> &[usize] {
        match self {
            Usability::Writable { missing }
            | Usability::Readable { missing }
            | Usability::Doubtful { missing }
            | Usability::Closed { missing }
            | Usability::Failed { missing } => missing,
        }
    }
}

impl Assembly {
    /// What can be done with the array that these members make up.
    #[must_use]
    pub fn usability(&self) -> Usability {
        let places = self.slots.iter().enumerate();
        let missing: Vec<usize> =
            places.filter(|(_, slot)| slot.present().is_none()).map(|(place, _)| place).collect();
        if !self.makes_up_for(&missing) {
            return Usability::Failed { missing };
        }
        match self.start {
            Startability::Ready => Usability::Writable { missing },
            Startability::ReadOnly(_) | Startability::ReadOnlyOrForce(_) => {
                Usability::Readable { missing }
            }
            Startability::NeedsForce(_) => Usability::Doubtful { missing },
            Startability::Refused(_) => Usability::Closed { missing },
        }
    }

    /// Whether the others have all that is on these places, in both shapes where it changes its
    /// shape.
    #[must_use]
    pub fn makes_up_for(&self, missing: &[usize]) -> bool {
        let is_there = |place: usize| !missing.contains(&place);
        match self.reshape {
            None => is_whole(self.level, self.layout, self.slots.len(), is_there),
            Some(reshape) => [reshape.old, reshape.new]
                .into_iter()
                .all(|shape| is_whole(self.level, shape.layout, shape.disks, is_there)),
        }
    }
}

/// Whether all data are on the places of so many that are there.
pub(super) fn is_whole(
    level: Level,
    layout: Layout,
    places: usize,
    is_there: impl Fn(usize) -> bool,
) -> bool {
    let missing = (0..places).filter(|&place| !is_there(place)).count();
    match (level, layout) {
        (Level::Raid1, _) => missing < places,
        (_, Layout::Raid10(layout)) => every_chunk_has_a_copy(layout, places, is_there),
        (level, _) => missing <= level.parity_count() as usize,
    }
}

/// Whether some member of each chunk's copies is there. The pattern of copies repeats after as many
/// chunks as there are members.
fn every_chunk_has_a_copy(
    layout: Raid10Layout,
    count: usize,
    is_there: impl Fn(usize) -> bool,
) -> bool {
    let (near, far) = (layout.near as usize, layout.far as usize);
    (0..count).all(|chunk| {
        (0..near).any(|copy| {
            let first = (chunk * near + copy) % count;
            (0..far).any(|repeat| is_there((first + repeat * near) % count))
        })
    })
}
