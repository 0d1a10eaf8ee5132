//! Copies of chunks spread over members: RAID 1 and md's RAID 10.
//!
//! Each chunk has `near` copies side by side, and all that again `far` times: in the far parts of
//! the members, or, with `offset`, in the rows right below. Each time everything is shifted on by
//! `near` members:
//!
//! ```text
//!   near 2, 3 members     far 2, 3 members      offset 2, 3 members
//!   0   0   1             0   1   2             0   1   2
//!   1   2   2             3   4   5             2   0   1
//!   3   3   4             …                     3   4   5
//!   4   5   5             2   0   1             5   3   4
//!                         5   3   4
//! ```
//!
//! With as many near copies as members it is RAID 1.

use std::fmt;

use words::{Text, statement};

use super::{Divisor, Extent};
use crate::catalogue;

/// How many copies of a chunk there are, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Raid10Layout {
    /// Copies side by side.
    pub near: u32,
    /// How often all that is repeated, shifted.
    pub far: u32,
    /// Repeated in the next rows rather than in far parts of the members.
    pub offset: bool,
}

impl Raid10Layout {
    /// `copies` near ones; 2 are what mdadm makes if nothing is said.
    #[must_use]
    pub fn near(copies: u32) -> Raid10Layout {
        Raid10Layout { near: copies, far: 1, offset: false }
    }

    /// `copies` far ones.
    #[must_use]
    pub fn far(copies: u32) -> Raid10Layout {
        Raid10Layout { near: 1, far: copies, offset: false }
    }

    /// `copies`, each in the row below the other.
    #[must_use]
    pub fn offset(copies: u32) -> Raid10Layout {
        Raid10Layout { near: 1, far: copies, offset: true }
    }

    /// Copies of each chunk in all.
    #[must_use]
    pub fn copies(self) -> u64 {
        u64::from(self.near) * u64::from(self.far)
    }

    /// md's code.
    #[must_use]
    pub fn code(self) -> u32 {
        self.near | self.far << 8 | u32::from(self.offset) << 16
    }

    /// The layout with this code of md, if it is one that this knows: the later variants of far
    /// (bits from 17 on), which mdadm does not make, are not.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Raid10Layout> {
        let layout =
            Raid10Layout { near: code & 0xff, far: code >> 8 & 0xff, offset: code >> 16 & 1 == 1 };
        (code >> 17 == 0 && layout.near > 0 && layout.far > 0).then_some(layout)
    }

    /// The layout of this name, if it is one: `n2`, `f2`, `o3`, or near and far together, `n2f2`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Raid10Layout> {
        let count = |text: &str| {
            text.parse::<u32>()
                .ok()
                .filter(|count| (1..=255).contains(count) && count.to_string() == text)
        };
        let far_part = |text: &str, near| match text.split_at_checked(1)? {
            ("f", far) => Some(Raid10Layout { near, far: count(far)?, offset: false }),
            ("o", far) => Some(Raid10Layout { near, far: count(far)?, offset: true }),
            _ => None,
        };
        let Some(near) = name.strip_prefix('n') else { return far_part(name, 1) };
        match near.find(['f', 'o']) {
            Some(at) => far_part(&near[at..], count(&near[..at])?),
            None => Some(Raid10Layout::near(count(near)?)),
        }
    }

    /// Why no array of `members` can have this layout, if it is so.
    #[must_use]
    pub fn problem(self, members: usize) -> Option<Text> {
        let copies = self.copies();
        if self.near == 0 || self.far == 0 || self.near > 255 || self.far > 255 {
            return Some(catalogue::COPIES_OF_EACH_KIND.into());
        }
        if copies > members as u64 {
            let message = catalogue::MORE_COPIES_THAN_MEMBERS;
            return Some(statement!(message, copies = copies, members = members));
        }
        // md's formula puts two chunks at one place there.
        if self.offset && self.far > 1 && !members.is_multiple_of(self.near as usize) {
            let message = catalogue::OFFSET_NEEDS_MULTIPLE;
            return Some(statement!(message, near = self.near, members = members));
        }
        None
    }
}

/// As mdadm calls it where mdadm has a name.
impl fmt::Display for Raid10Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = if self.offset { 'o' } else { 'f' };
        match (self.near, self.far) {
            (near, 1) if !self.offset => write!(f, "n{near}"),
            (1, far) => write!(f, "{letter}{far}"),
            (near, far) => write!(f, "n{near}{letter}{far}"),
        }
    }
}

/// The places of chunks and their copies.
#[derive(Clone, Copy, Debug)]
pub struct Raid10 {
    chunk: Divisor,
    count: Divisor,
    layout: Raid10Layout,
    /// How many rows the first of the far parts has.
    rows: u64,
    size_bytes: u64,
}

impl Raid10 {
    /// The array over `members` slots, of which each gives as many whole chunks as `member_bytes`
    /// has.
    ///
    /// # Panics
    /// When the chunk is 0, or no such array can have the layout ([`Raid10Layout::problem`]).
    #[must_use]
    pub fn new(
        members: usize,
        member_bytes: u64,
        chunk_bytes: u64,
        layout: Raid10Layout,
    ) -> Raid10 {
        assert!(
            chunk_bytes > 0 && layout.problem(members).is_none(),
            "a chunk of at least one byte and a possible layout"
        );
        let rows = member_bytes / chunk_bytes / u64::from(layout.far);
        let size_bytes = rows * members as u64 / u64::from(layout.near) * chunk_bytes;
        Raid10 {
            chunk: Divisor::new(chunk_bytes),
            count: Divisor::new(members as u64),
            layout,
            rows,
            size_bytes,
        }
    }

    /// Size of the array in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Chunk size in bytes.
    #[must_use]
    pub fn chunk_bytes(&self) -> u64 {
        self.chunk.value
    }

    /// How many slots for members there are.
    #[must_use]
    pub fn member_count(&self) -> usize {
        self.count.value as usize
    }

    /// Where the copies are.
    #[must_use]
    pub fn layout(&self) -> Raid10Layout {
        self.layout
    }

    /// How much of each member is used, in bytes.
    #[must_use]
    pub fn member_bytes(&self) -> u64 {
        self.rows * u64::from(self.layout.far) * self.chunk.value
    }

    /// The byte of the array of which `offset` of `member` holds a copy; `None` where the last rows
    /// hold nothing.
    #[must_use]
    pub fn at(&self, member: usize, offset: u64) -> Option<u64> {
        let (row, within) = self.chunk.divide(offset);
        let (near, far_count) = (u64::from(self.layout.near), u64::from(self.layout.far));
        let (row, far) = match self.layout.offset {
            true => (row / far_count, row % far_count),
            false => (row % self.rows, row / self.rows),
        };
        let column =
            (member as u64 + self.count.value - far * near % self.count.value) % self.count.value;
        let byte = (row * self.count.value + column) / near * self.chunk.value + within;
        (far < far_count && byte < self.size_bytes).then_some(byte)
    }

    /// The run of bytes of copy `copy` that starts at `offset` of the array, at most `length` long
    /// and within one chunk. Copies are numbered so that near ones follow each other.
    #[inline]
    #[must_use]
    pub fn locate(&self, offset: u64, length: u64, copy: u64) -> Extent {
        let (chunk, within) = self.chunk.divide(offset);
        let near = u64::from(self.layout.near);
        let far = copy / near;
        let (row, column) = self.count.divide(chunk * near + copy % near);
        let member = (column + far * near) % self.count.value;
        let row = match self.layout.offset {
            true => row * u64::from(self.layout.far) + far,
            false => row + far * self.rows,
        };
        Extent {
            member: member as usize,
            offset: row * self.chunk.value + within,
            length: length.min(self.chunk.value - within),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    #[test]
    fn every_copy_has_a_place_of_its_own_on_a_member_of_its_own() {
        let mut arrays = 0;
        for members in 1..=8_u64 {
            for (near, far, offset) in (1..=8).flat_map(|near| {
                (1..=8).flat_map(move |far| [(near, far, false), (near, far, true)])
            }) {
                let layout = Raid10Layout { near, far, offset };
                if layout.problem(members as usize).is_some() {
                    continue;
                }
                for chunks in 0..20 {
                    let array = Raid10::new(members as usize, chunks * 2 + 1, 2, layout);
                    let lost = chunks * members - array.size_bytes() / 2 * layout.copies();
                    assert!(
                        lost < members * u64::from(far) + layout.copies(),
                        "{layout} on {members}: {lost} of {chunks} chunks unused"
                    );
                    let mut used = HashMap::new();
                    for at in 0..array.size_bytes() {
                        let copies: Vec<Extent> =
                            (0..layout.copies()).map(|copy| array.locate(at, 9, copy)).collect();
                        let holders: HashSet<usize> =
                            copies.iter().map(|copy| copy.member).collect();
                        assert_eq!(
                            holders.len() as u64,
                            layout.copies(),
                            "{layout} on {members}: two copies on one member"
                        );
                        for copy in copies {
                            assert!(
                                copy.offset < chunks * 2 && copy.length == 2 - at % 2,
                                "{layout} on {members}"
                            );
                            assert_eq!(
                                used.insert((copy.member, copy.offset), at),
                                None,
                                "{layout} on {members}: a place is used twice"
                            );
                        }
                    }
                    for (member, offset) in (0..members as usize)
                        .flat_map(|member| (0..array.member_bytes()).map(move |at| (member, at)))
                    {
                        assert_eq!(
                            array.at(member, offset),
                            used.get(&(member, offset)).copied(),
                            "{layout} on {members}: the way back"
                        );
                    }
                }
                arrays += 1;
            }
        }
        assert!(arrays > 100, "{arrays} arrays");
    }

    #[test]
    fn as_many_near_copies_as_members_are_a_mirror() {
        let array = Raid10::new(3, 1000, 1000, Raid10Layout::near(3));
        assert_eq!(array.size_bytes(), 1000);
        for copy in 0..3 {
            assert_eq!(
                array.locate(512, 100, copy),
                Extent { member: copy as usize, offset: 512, length: 100 }
            );
        }
    }

    #[test]
    fn names_and_codes_are_those_of_md() {
        for (name, code) in [
            ("n2", 0x102),
            ("f2", 0x201),
            ("o2", 0x1_0201),
            ("n3", 0x103),
            ("n2f2", 0x202),
            ("n2o2", 0x1_0202),
        ] {
            let layout = Raid10Layout::from_name(name).expect("a name");
            assert_eq!((layout.code(), layout.to_string().as_str()), (code, name));
            assert_eq!(Raid10Layout::from_code(code), Some(layout));
        }
        for name in ["", "n", "n0", "2", "x2", "n2f", "f2n2", "n256", "n+2", "nä", "ä2"] {
            assert_eq!(Raid10Layout::from_name(name), None, "{name}");
        }
        assert_eq!((Raid10Layout::from_code(0), Raid10Layout::from_code(0x2_0201)), (None, None));
    }

    #[test]
    fn impossible_layouts_are_named() {
        assert!(Raid10Layout::near(3).problem(2).is_some());
        assert!(Raid10Layout { near: 2, far: 2, offset: true }.problem(5).is_some());
        assert_eq!(Raid10Layout { near: 2, far: 2, offset: false }.problem(5), None);
    }
}
