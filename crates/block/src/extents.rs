//! What of a device holds data, as far as that is known without reading it.

/// A run of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its length in bytes; whole blocks.
    pub length: u64,
    /// It reads as zeroes, and nothing needs to be read to know that. Anything else is data, zeroes
    /// or not.
    pub is_hole: bool,
}

/// Runs of a device, one behind the other, while they are asked for. Layers hand it down, so that
/// whatever is asked in all is bounded: a question about a large range of an array of small chunks
/// ends before the range does.
#[derive(Debug)]
pub struct Extents {
    runs: Vec<Extent>,
    length: u64,
    steps_left: u32,
}

impl Extents {
    /// How many runs of leaves one question finds at most, before neighbours that are alike become
    /// one.
    const STEPS_MAX: u32 = 1024;

    /// For a new question.
    #[must_use]
    pub fn new() -> Extents {
        Extents { runs: Vec::new(), length: 0, steps_left: Extents::STEPS_MAX }
    }

    /// Appends a run of `length` bytes; one of none is nothing.
    pub fn push(&mut self, length: u64, is_hole: bool) {
        if length == 0 {
            return;
        }
        self.steps_left = self.steps_left.saturating_sub(1);
        self.length += length;
        match self.runs.last_mut() {
            Some(last) if last.is_hole == is_hole => last.length += length,
            _ => self.runs.push(Extent { length, is_hole }),
        }
    }

    /// Whether nothing more is to be found out.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.steps_left == 0
    }

    /// What has been found out about, in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The runs in order; neighbours differ.
    #[must_use]
    pub fn runs(&self) -> &[Extent] {
        &self.runs
    }
}

impl Default for Extents {
    fn default() -> Extents {
        Extents::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_that_are_alike_are_one_and_the_number_of_steps_is_bounded() {
        let mut found = Extents::new();
        for _ in 0..Extents::STEPS_MAX {
            assert!(!found.is_full());
            found.push(0, true);
            found.push(512, false);
        }
        assert!(found.is_full());
        assert_eq!(found.runs(), [Extent { length: found.length(), is_hole: false }]);
        found.push(512, true);
        assert_eq!(found.runs().len(), 2);
    }
}
