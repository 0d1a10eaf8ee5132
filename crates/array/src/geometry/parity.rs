//! Rows of chunks with their parity: RAID 4, 5 and 6 in all layouts of Linux md.
//!
//! A row (a stripe) is one chunk of each member, all at the same place. One or two of them hold P
//! and Q; the layout says which, and in which order the row's data chunks follow:
//!
//! ```text
//!   RAID 5, left-symmetric        RAID 6, left-symmetric          RAID 6, left-asymmetric
//!   row 0    0   1   2   P        row 0    Q   0   1   2   P      row 0    Q   0   1   2   P
//!   row 1    4   5   P   3        row 1    3   4   5   P   Q      row 1    3   4   5   P   Q
//!   row 2    8   P   6   7        row 2    7   8   P   Q   6      row 2    6   7   P   Q   8
//! ```
//!
//! Q counts the data chunks by exponents: the first one physically after Q has 0, and so on round
//! the members, P left out. That is the order of the data in symmetric layouts only. The layouts of
//! DDF take the member's own number instead.

use super::Divisor;

/// How parity moves from row to row. The numbers are md's codes for RAID 5 and 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ParityLayout {
    /// P from the last member to the first; data in the order of the members.
    LeftAsymmetric = 0,
    /// P from the first member to the last; data in the order of the members.
    RightAsymmetric = 1,
    /// P from the last member to the first; data begin after parity. What mdadm makes if nothing is
    /// said.
    LeftSymmetric = 2,
    /// P from the first member to the last; data begin after parity.
    RightSymmetric = 3,
    /// Parity always on the first members.
    ParityFirst = 4,
    /// Parity always on the last members. RAID 4 is this.
    ParityLast = 5,
    /// RAID 6 of DDF: right-asymmetric, Q by member number.
    DdfZeroRestart = 8,
    /// RAID 6 of DDF: left-asymmetric one row ahead, Q by member number.
    DdfNRestart = 9,
    /// RAID 6 of DDF: left-symmetric with Q before P, Q by member number.
    DdfNContinue = 10,
    /// RAID 6 made from RAID 5: its layout on all members but the last, which holds Q.
    LeftAsymmetric6 = 16,
    /// As [`ParityLayout::LeftAsymmetric6`].
    RightAsymmetric6 = 17,
    /// As [`ParityLayout::LeftAsymmetric6`].
    LeftSymmetric6 = 18,
    /// As [`ParityLayout::LeftAsymmetric6`].
    RightSymmetric6 = 19,
    /// As [`ParityLayout::LeftAsymmetric6`].
    ParityFirst6 = 20,
}

use ParityLayout::{
    DdfNContinue, DdfNRestart, DdfZeroRestart, LeftAsymmetric, LeftAsymmetric6, LeftSymmetric,
    LeftSymmetric6, ParityFirst, ParityFirst6, ParityLast, RightAsymmetric, RightAsymmetric6,
    RightSymmetric, RightSymmetric6,
};

impl ParityLayout {
    /// The layouts of RAID 5.
    pub const RAID5: &[ParityLayout] =
        &[LeftAsymmetric, RightAsymmetric, LeftSymmetric, RightSymmetric, ParityFirst, ParityLast];

    /// The layouts of RAID 6.
    pub const RAID6: &[ParityLayout] = &[
        LeftAsymmetric,
        RightAsymmetric,
        LeftSymmetric,
        RightSymmetric,
        ParityFirst,
        ParityLast,
        DdfZeroRestart,
        DdfNRestart,
        DdfNContinue,
        LeftAsymmetric6,
        RightAsymmetric6,
        LeftSymmetric6,
        RightSymmetric6,
        ParityFirst6,
    ];

    /// The name that mdadm and stack text use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LeftAsymmetric => "left-asymmetric",
            RightAsymmetric => "right-asymmetric",
            LeftSymmetric => "left-symmetric",
            RightSymmetric => "right-symmetric",
            ParityFirst => "parity-first",
            ParityLast => "parity-last",
            DdfZeroRestart => "ddf-zero-restart",
            DdfNRestart => "ddf-N-restart",
            DdfNContinue => "ddf-N-continue",
            LeftAsymmetric6 => "left-asymmetric-6",
            RightAsymmetric6 => "right-asymmetric-6",
            LeftSymmetric6 => "left-symmetric-6",
            RightSymmetric6 => "right-symmetric-6",
            ParityFirst6 => "parity-first-6",
        }
    }

    /// md's code.
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32
    }

    /// The layout with this code of md, if there is one.
    #[must_use]
    pub fn from_code(code: u32) -> Option<ParityLayout> {
        ParityLayout::RAID6.iter().copied().find(|layout| layout.code() == code)
    }

    /// The layout of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ParityLayout> {
        ParityLayout::RAID6.iter().copied().find(|layout| layout.name() == name)
    }

    fn is_ddf(self) -> bool {
        matches!(self, DdfZeroRestart | DdfNRestart | DdfNContinue)
    }
}

/// What a member's chunk of a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The data chunk of this number, counted within the row from 0.
    Data(usize),
    /// The sum of the data.
    P,
    /// The sum weighted by powers of g.
    Q,
}

/// The members' roles in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which member holds P.
    pub p: usize,
    /// Which member holds Q, at RAID 6.
    pub q: Option<usize>,
    /// Where data chunk 0 is if data begin after parity; else data are in the order of the members.
    first: Option<usize>,
    /// How many members data and P go round.
    round: usize,
    members: usize,
    is_ddf: bool,
}

impl Row {
    /// How many data chunks a row has.
    #[must_use]
    pub fn data_count(&self) -> usize {
        self.members - 1 - usize::from(self.q.is_some())
    }

    /// Which member holds data chunk `index` of the row.
    #[must_use]
    pub fn member(&self, index: usize) -> usize {
        debug_assert!(index < self.data_count(), "a data chunk of the row");
        if let Some(first) = self.first {
            return (first + index) % self.round;
        }
        let (low, high) = match self.q {
            Some(q) => (self.p.min(q), self.p.max(q)),
            None => (self.p, usize::MAX),
        };
        let member = index + usize::from(index >= low);
        member + usize::from(member >= high)
    }

    /// What `member` holds of the row.
    #[must_use]
    pub fn role(&self, member: usize) -> Role {
        if member == self.p {
            return Role::P;
        }
        if Some(member) == self.q {
            return Role::Q;
        }
        Role::Data(match self.first {
            Some(first) => (member + self.round - first) % self.round,
            None => {
                member
                    - usize::from(member > self.p)
                    - usize::from(self.q.is_some_and(|q| member > q))
            }
        })
    }

    /// The exponent of g with which Q counts what `member` holds. Data have one each; at DDF so
    /// have P and Q, whose places count as zero.
    ///
    /// # Panics
    /// When the row has no Q.
    #[must_use]
    pub fn exponent(&self, member: usize) -> usize {
        if self.is_ddf {
            return member;
        }
        let q = self.q.expect("a row of RAID 6");
        let after = |member: usize| (member + self.members - q - 1) % self.members;
        after(member) - usize::from(after(self.p) < after(member))
    }

    /// How many terms Q has: one more than the highest exponent.
    #[must_use]
    pub fn term_count(&self) -> usize {
        if self.is_ddf { self.members } else { self.data_count() }
    }
}

/// The places of chunks in an array with parity.
#[derive(Clone, Copy, Debug)]
pub struct Parity {
    chunk: Divisor,
    row: Divisor,
    rows: u64,
    members: usize,
    has_q: bool,
    layout: ParityLayout,
}

impl Parity {
    /// An array with P over `members` slots, of which each gives as many whole chunks as
    /// `member_bytes` has.
    ///
    /// # Panics
    /// When there are fewer than two members, the chunk is 0, or the layout is one of RAID 6 alone.
    #[must_use]
    pub fn with_p(
        members: usize,
        member_bytes: u64,
        chunk_bytes: u64,
        layout: ParityLayout,
    ) -> Parity {
        assert!(
            members >= 2 && chunk_bytes > 0 && ParityLayout::RAID5.contains(&layout),
            "two members and a layout of RAID 5"
        );
        Parity::new(members, member_bytes, chunk_bytes, false, layout)
    }

    /// An array with P and Q, otherwise as [`Parity::with_p`].
    ///
    /// # Panics
    /// When there are fewer than three members, or the chunk is 0.
    #[must_use]
    pub fn with_p_and_q(
        members: usize,
        member_bytes: u64,
        chunk_bytes: u64,
        layout: ParityLayout,
    ) -> Parity {
        assert!(members >= 3 && chunk_bytes > 0, "three members and a chunk of at least one byte");
        Parity::new(members, member_bytes, chunk_bytes, true, layout)
    }

    fn new(
        members: usize,
        member_bytes: u64,
        chunk_bytes: u64,
        has_q: bool,
        layout: ParityLayout,
    ) -> Parity {
        let data_count = (members - 1 - usize::from(has_q)) as u64;
        let row = Divisor::new(chunk_bytes * data_count);
        Parity {
            chunk: Divisor::new(chunk_bytes),
            row,
            rows: member_bytes / chunk_bytes,
            members,
            has_q,
            layout,
        }
    }

    /// Size of the array in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.rows * self.row.value
    }

    /// Chunk size in bytes.
    #[must_use]
    pub fn chunk_bytes(&self) -> u64 {
        self.chunk.value
    }

    /// How much data a row holds, in bytes.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        self.row.value
    }

    /// How many rows there are.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.rows
    }

    /// How many slots for members there are.
    #[must_use]
    pub fn member_count(&self) -> usize {
        self.members
    }

    /// How many members may be absent.
    #[must_use]
    pub fn parity_count(&self) -> usize {
        1 + usize::from(self.has_q)
    }

    /// How parity moves.
    #[must_use]
    pub fn layout(&self) -> ParityLayout {
        self.layout
    }

    /// The row that a byte of the array lies in, and where in the row's data.
    #[inline]
    #[must_use]
    pub fn locate(&self, offset: u64) -> (u64, u64) {
        self.row.divide(offset)
    }

    /// The data chunk that a byte of a row's data lies in, and where in the chunk.
    #[inline]
    #[must_use]
    pub fn locate_in_row(&self, offset: u64) -> (usize, u64) {
        let (index, within) = self.chunk.divide(offset);
        (index as usize, within)
    }

    /// The roles in row `number`.
    #[must_use]
    pub fn row(&self, number: u64) -> Row {
        let members = self.members;
        // The members that P, or P and Q, go round: without the last where that always holds Q.
        let round = members - usize::from(self.layout.code() >= LeftAsymmetric6.code());
        let turn = |number: u64| (number % round as u64) as usize;
        let last = round - 1;
        let p = match self.layout {
            LeftAsymmetric | LeftSymmetric | LeftAsymmetric6 | LeftSymmetric6 | DdfNContinue => {
                last - turn(number)
            }
            RightAsymmetric | RightSymmetric | RightAsymmetric6 | RightSymmetric6
            | DdfZeroRestart => turn(number),
            DdfNRestart => last - turn(number + 1),
            ParityFirst | ParityFirst6 => 0,
            ParityLast => last - usize::from(self.has_q),
        };
        let q = self.has_q.then(|| match self.layout {
            _ if round < members => last + 1,
            DdfNContinue => (p + last) % round,
            _ => (p + 1) % round,
        });
        let first = match self.layout {
            LeftSymmetric | RightSymmetric if self.has_q => Some((p + 2) % round),
            LeftSymmetric | RightSymmetric | LeftSymmetric6 | RightSymmetric6 | DdfNContinue => {
                Some((p + 1) % round)
            }
            _ => None,
        };
        Row { p, q, first, round, members, is_ddf: self.layout.is_ddf() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// All arrays of up to eight members.
    fn each_array(mut visit: impl FnMut(&Parity)) {
        for members in 2..=8 {
            ParityLayout::RAID5
                .iter()
                .for_each(|&layout| visit(&Parity::with_p(members, 40, 2, layout)));
        }
        for members in 3..=8 {
            ParityLayout::RAID6
                .iter()
                .for_each(|&layout| visit(&Parity::with_p_and_q(members, 40, 2, layout)));
        }
    }

    #[test]
    fn every_row_has_its_parity_once_and_every_data_chunk_once() {
        each_array(|array| {
            for number in 0..array.row_count() {
                let row = array.row(number);
                let mut members: Vec<usize> =
                    (0..row.data_count()).map(|index| row.member(index)).collect();
                for (index, &member) in members.iter().enumerate() {
                    assert_eq!(
                        row.role(member),
                        Role::Data(index),
                        "{array:?} row {number}: {row:?}"
                    );
                }
                assert_eq!(row.role(row.p), Role::P);
                members.push(row.p);
                members.extend(row.q.inspect(|&q| assert_eq!(row.role(q), Role::Q)));
                members.sort_unstable();
                assert!(
                    members.iter().copied().eq(0..array.member_count()),
                    "{array:?} row {number}: {row:?}"
                );
            }
            assert_eq!(
                array.size_bytes(),
                20 * 2 * (array.member_count() - array.parity_count()) as u64
            );
        });
    }

    /// The words of the format: from the first data chunk physically after Q, round the members, P
    /// left out.
    #[test]
    fn q_counts_from_itself_round_the_members() {
        each_array(|array| {
            for number in 0..array.row_count() {
                let row = array.row(number);
                let Some(q) = row.q else { continue };
                if array.layout().is_ddf() {
                    (0..array.member_count())
                        .for_each(|member| assert_eq!(row.exponent(member), member));
                    continue;
                }
                let round = (1..array.member_count()).map(|step| (q + step) % array.member_count());
                for (exponent, member) in round.filter(|&member| member != row.p).enumerate() {
                    assert_eq!(row.exponent(member), exponent, "{array:?} row {number}");
                }
            }
        });
    }

    #[test]
    fn in_symmetric_layouts_q_counts_data_in_their_order() {
        for layout in [LeftSymmetric, RightSymmetric, ParityFirst, ParityLast] {
            let array = Parity::with_p_and_q(6, 400, 10, layout);
            for number in 0..12 {
                let row = array.row(number);
                assert!((0..4).all(|index| row.exponent(row.member(index)) == index), "{layout:?}");
            }
        }
        let asymmetric = Parity::with_p_and_q(6, 400, 10, LeftAsymmetric).row(2);
        assert_eq!(
            (asymmetric.p, asymmetric.q, asymmetric.member(0), asymmetric.exponent(0)),
            (3, Some(4), 0, 1)
        );
    }

    #[test]
    fn parity_goes_round_all_members_or_stays() {
        each_array(|array| {
            let holders: HashSet<usize> =
                (0..array.member_count() as u64).map(|number| array.row(number).p).collect();
            let expected = match array.layout() {
                ParityFirst | ParityLast | ParityFirst6 => 1,
                layout if layout.code() > 10 => array.member_count() - 1,
                _ => array.member_count(),
            };
            assert_eq!(holders.len(), expected, "{array:?}");
        });
    }

    #[test]
    fn names_and_codes_lead_back() {
        for &layout in ParityLayout::RAID6 {
            assert_eq!(
                (ParityLayout::from_code(layout.code()), ParityLayout::from_name(layout.name())),
                (Some(layout), Some(layout))
            );
        }
        assert_eq!(ParityLayout::from_code(6), None);
    }

    #[test]
    fn bytes_are_found_in_their_rows() {
        let array = Parity::with_p_and_q(5, 64, 10, LeftSymmetric);
        assert_eq!((array.size_bytes(), array.row_bytes(), array.row_count()), (180, 30, 6));
        assert_eq!((array.locate(59), array.locate_in_row(29)), ((1, 29), (2, 9)));
    }
}
