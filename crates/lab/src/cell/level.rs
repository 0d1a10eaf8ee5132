//! How members become one device.

/// A way in which members become one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// Its name in plans, and in stack texts where it is a layer.
    pub(crate) name: &'static str,
    /// Whether it deals members out in chunks.
    pub(crate) has_chunks: bool,
    /// Whether it may do without a member.
    pub(crate) is_redundant: bool,
    /// Whether there is more than one way to deal them out.
    pub(crate) has_layouts: bool,
}

/// The first member alone.
const SINGLE: &str = "single";

const fn level(name: &'static str, has_chunks: bool, is_redundant: bool) -> Level {
    Level { name, has_chunks, is_redundant, has_layouts: false }
}

const fn with_layouts(level: Level) -> Level {
    Level { has_layouts: true, ..level }
}

/// All of them.
pub(crate) const LEVELS: [Level; 8] = [
    level(SINGLE, false, false),
    level("linear", false, false),
    with_layouts(level("raid0", true, false)),
    level("raid1", false, true),
    with_layouts(level("raid10", true, true)),
    level("raid4", true, true),
    with_layouts(level("raid5", true, true)),
    with_layouts(level("raid6", true, true)),
];

impl Level {
    /// The level of a name.
    pub(crate) fn named(name: &str) -> Option<Level> {
        LEVELS.into_iter().find(|level| level.name == name)
    }

    /// Whether members are an array, and not the first of them the device.
    pub(crate) fn is_array(self) -> bool {
        self.name != SINGLE
    }
}
