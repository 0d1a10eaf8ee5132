//! Mistakes that tests plant and have to find.

/// A mistake in what is written down, planted by a test that has to find it.
#[cfg(feature = "planted-mistakes")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlantedMistake {
    /// Nothing is wrong.
    #[default]
    None,
    /// Writes go out while superblocks say that the array is clean.
    SkipsDirty,
    /// Bits are cleared while their writes are under way.
    ClearsBitsEarly,
    /// Bits are not set before a write.
    SkipsBits,
    /// What was done without a member is answered before the others' superblocks say so.
    AnswersEarly,
    /// Nothing is logged.
    SkipsLog,
    /// The array is called clean without a flush.
    SkipsFlush,
    /// The array is called clean by the same write that gives its members the event.
    CleansAtOnce,
    /// Superblocks stay as they are for as long as the array is written to.
    NeverAges,
}

/// Whether a test has planted this mistake; false wherever such mistakes are not compiled in.
macro_rules! planted {
    ($holder:expr, $mistake:ident) => {{
        #[cfg(feature = "planted-mistakes")]
        let planted = $holder.planted == $crate::metadata::PlantedMistake::$mistake;
        #[cfg(not(feature = "planted-mistakes"))]
        let planted = false;
        planted
    }};
}
pub(super) use planted;
