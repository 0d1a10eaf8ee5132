//! Members one behind the other.
//!
//! ```text
//!   array    |    member 0    |  member 1  |      member 2      |
//! ```

use super::Extent;

/// Members one behind the other, each rounded down to a unit.
#[derive(Clone, Debug)]
pub struct Linear {
    /// Where each member ends in the array, in bytes.
    ends: Vec<u64>,
}

impl Linear {
    /// Members of the given sizes, each rounded down to a multiple of `rounding_bytes`.
    ///
    /// # Panics
    /// When there is no member, the rounding is 0, or the sum is past 2^64.
    #[must_use]
    pub fn new(member_sizes: &[u64], rounding_bytes: u64) -> Linear {
        assert!(
            !member_sizes.is_empty() && rounding_bytes > 0,
            "members and a rounding of at least one byte"
        );
        let mut end = 0;
        let ends = member_sizes.iter().map(|size| {
            end += size - size % rounding_bytes;
            end
        });
        Linear { ends: ends.collect() }
    }

    /// Size of the array in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.ends[self.ends.len() - 1]
    }

    /// The run of bytes on one member that starts at `offset` of the array and is at most `length`
    /// long.
    ///
    /// # Panics
    /// When `offset` is past the end of the array.
    #[inline]
    #[must_use]
    pub fn locate(&self, offset: u64, length: u64) -> Extent {
        let member = self.ends.partition_point(|&end| end <= offset);
        let start = if member == 0 { 0 } else { self.ends[member - 1] };
        Extent { member, offset: offset - start, length: length.min(self.ends[member] - offset) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_of_every_member_is_used_once_and_in_order() {
        for sizes in [vec![7], vec![3, 1, 8], vec![0, 4, 0, 0, 5, 0], vec![2, 2, 2, 2]] {
            for rounding in [1, 2, 3] {
                let linear = Linear::new(&sizes, rounding);
                let mut expected = Vec::new();
                for (member, size) in sizes.iter().enumerate() {
                    expected.extend((0..size / rounding * rounding).map(|offset| (member, offset)));
                }
                assert_eq!(linear.size_bytes(), expected.len() as u64);
                for (index, &(member, offset)) in expected.iter().enumerate() {
                    let left = sizes[member] / rounding * rounding - offset;
                    for length in 1..10 {
                        let found = linear.locate(index as u64, length);
                        assert_eq!(
                            found,
                            Extent { member, offset, length: length.min(left) },
                            "{sizes:?} / {rounding}"
                        );
                    }
                }
            }
        }
    }
}
