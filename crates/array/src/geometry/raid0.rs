//! Chunks dealt out to the members in turn, as Linux md does it.
//!
//! Members of unequal size make zones: each goes on with the members that are longer than the zones
//! before reach.
//!
//! ```text
//!              member 0   member 1   member 2
//!   zone 0        0          1          2        row 0
//!                 3          4          5        row 1
//!   zone 1                   6          7        row 2     member 0 is full
//!   zone 2                              8        row 3     so is member 1
//! ```
//!
//! Within a zone the two layouts of md differ in the member that a zone's first chunk goes to:
//! `alternate` begins with the zone's first member, `original` counts chunks from the start of the
//! array. They agree where the number of chunks before each later zone is a multiple of that zone's
//! number of members.
//!
//! A chunk need not be a power of two. md deals out all whole chunks then too, but counts the size
//! of the array as if it were one: of what each member gives it takes off the bits that the chunk
//! less one has. The array ends so far before its last chunks do, sometimes within one.
//!
//! A row is at one and the same place on all its members, and a member's rows follow each other
//! without a gap. So what a range of the array takes of one member is always one run.

use super::{Divisor, Extent};

/// Which member gets the first chunk of a later zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raid0Layout {
    /// Chunks are counted from the start of the array: md before Linux 3.14, and what mdadm makes
    /// today.
    Original,
    /// Chunks are counted from the start of the zone: Linux 3.14 to 5.3.
    Alternate,
}

impl Raid0Layout {
    /// The name that md and stack text use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Raid0Layout::Original => "original",
            Raid0Layout::Alternate => "alternate",
        }
    }
}

/// Rows that the same members share.
#[derive(Clone, Debug)]
struct Zone {
    /// Where it starts and ends in the array, in bytes.
    start: u64,
    end: u64,
    /// Where it starts on each of its members, in bytes.
    member_start: u64,
    /// Its members in role order.
    members: Vec<usize>,
    count: Divisor,
    /// Which of them gets the zone's first chunk.
    rotation: u64,
}

/// The places of chunks in a striped array.
#[derive(Clone, Debug)]
pub struct Raid0 {
    chunk: Divisor,
    zones: Vec<Zone>,
    /// What each member gives, in bytes: its size rounded down to the chunk.
    used: Vec<u64>,
    size_bytes: u64,
    layouts_agree: bool,
}

impl Raid0 {
    /// The array over members of the given sizes, each rounded down to whole chunks.
    ///
    /// # Panics
    /// When there is no member, the chunk is 0, or the sum is past 2^64.
    #[must_use]
    pub fn new(member_sizes: &[u64], chunk_bytes: u64, layout: Raid0Layout) -> Raid0 {
        assert!(
            !member_sizes.is_empty() && chunk_bytes > 0,
            "members and a chunk of at least one byte"
        );
        let used: Vec<u64> = member_sizes.iter().map(|size| size - size % chunk_bytes).collect();
        let mut sizes = used.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let mut zones = Vec::new();
        let (mut start, mut member_start, mut layouts_agree) = (0, 0, true);
        for size in sizes.into_iter().filter(|&size| size > 0) {
            let members: Vec<usize> =
                (0..used.len()).filter(|&member| used[member] > member_start).collect();
            let count = members.len() as u64;
            let end = start + (size - member_start) * count;
            let original_rotation = (start / chunk_bytes) % count;
            layouts_agree &= original_rotation == 0;
            let rotation = match layout {
                Raid0Layout::Original => original_rotation,
                Raid0Layout::Alternate => 0,
            };
            zones.push(Zone {
                start,
                end,
                member_start,
                members,
                count: Divisor::new(count),
                rotation,
            });
            (start, member_start) = (end, size);
        }
        let size_bytes = used.iter().map(|&bytes| Raid0::counted(bytes, chunk_bytes)).sum();
        Raid0 { chunk: Divisor::new(chunk_bytes), zones, used, size_bytes, layouts_agree }
    }

    /// What md counts of a member that gives so many whole chunks, in the unit of both: all of it
    /// where the chunk is a power of two.
    pub(crate) fn counted(whole_chunks: u64, chunk: u64) -> u64 {
        whole_chunks & !(chunk - 1)
    }

    /// Size of the array in bytes, as md counts it.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Chunk size in bytes.
    #[must_use]
    pub fn chunk_bytes(&self) -> u64 {
        self.chunk.value
    }

    /// Whether both layouts put every chunk of this array at the same place.
    #[must_use]
    pub fn layouts_agree(&self) -> bool {
        self.layouts_agree
    }

    #[inline]
    fn zone(&self, offset: u64) -> &Zone {
        let last = self.zones.len() - 1;
        self.zones[..last].iter().find(|zone| offset < zone.end).unwrap_or(&self.zones[last])
    }

    /// The run of bytes on one member that starts at `offset` of the array, at most `length` long
    /// and within one chunk.
    ///
    /// # Panics
    /// When the array has no byte. `offset` must be before the end of the array.
    #[inline(always)]
    #[must_use]
    pub fn locate(&self, offset: u64, length: u64) -> Extent {
        let zone = self.zone(offset);
        let (number, within) = self.chunk.divide(offset - zone.start);
        let (row, column) = zone.count.divide(number);
        let turned = column + zone.rotation;
        let position = if turned >= zone.count.value { turned - zone.count.value } else { turned };
        Extent {
            member: zone.members[position as usize],
            offset: zone.member_start + row * self.chunk.value + within,
            length: length.min(self.chunk.value - within),
        }
    }

    /// How much of `member`, from its start, the first `offset` bytes of the array take.
    fn taken(&self, offset: u64, member: usize) -> u64 {
        let zone = self.zone(offset);
        let Some(position) = zone.members.iter().position(|&of| of == member) else {
            return self.used[member];
        };
        let (number, within) = self.chunk.divide(offset - zone.start);
        let (row, column) = zone.count.divide(number);
        let own_column = zone.count.divide(position as u64 + zone.count.value - zone.rotation).1;
        let in_row = match own_column.cmp(&column) {
            std::cmp::Ordering::Less => self.chunk.value,
            std::cmp::Ordering::Equal => within,
            std::cmp::Ordering::Greater => 0,
        };
        zone.member_start + row * self.chunk.value + in_row
    }

    /// The run that the `length` bytes at `offset` of the array take of `member`, if any.
    #[must_use]
    pub fn share(&self, offset: u64, length: u64, member: usize) -> Option<Extent> {
        let start = self.taken(offset, member);
        let end = self.taken(offset + length, member);
        (end > start).then(|| Extent { member, offset: start, length: end - start })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const LAYOUTS: [Raid0Layout; 2] = [Raid0Layout::Original, Raid0Layout::Alternate];

    /// All arrays of up to four members of 0 to 5 units and a bit, so that sizes are odd and
    /// unequal.
    fn each_small_array(mut visit: impl FnMut(&[u64], u64)) {
        for count in 1..=4_u32 {
            for code in 0..6_u64.pow(count) {
                let sizes: Vec<u64> = (0..count)
                    .map(|member| code / 6_u64.pow(member) % 6 * 2 + u64::from(member % 2))
                    .collect();
                for chunk in [1, 2, 3] {
                    if sizes.iter().any(|&size| size >= chunk) {
                        visit(&sizes, chunk);
                    }
                }
            }
        }
    }

    #[test]
    fn every_unit_lies_at_one_place_of_its_own_and_chunks_are_whole() {
        let mut arrays = 0;
        each_small_array(|sizes, chunk| {
            for layout in LAYOUTS {
                let array = Raid0::new(sizes, chunk, layout);
                let counted =
                    |size: &u64| (size / chunk * chunk) & if chunk == 3 { !2 } else { !0 };
                assert_eq!(array.size_bytes(), sizes.iter().map(counted).sum::<u64>());
                let mut used = HashSet::new();
                for offset in 0..array.size_bytes() {
                    let place = array.locate(offset, u64::MAX);
                    assert!(
                        place.offset < sizes[place.member] / chunk * chunk,
                        "{sizes:?} {chunk} {layout:?}: past the member's end"
                    );
                    assert!(
                        used.insert((place.member, place.offset)),
                        "{sizes:?} {chunk} {layout:?}: a place is used twice"
                    );
                    assert_eq!(place.length, chunk - offset % chunk);
                    assert_eq!(place.offset % chunk, offset % chunk, "a chunk is contiguous");
                    for within in 1..place.length {
                        let next = array.locate(offset + within, 1);
                        assert_eq!(
                            (next.member, next.offset),
                            (place.member, place.offset + within)
                        );
                    }
                }
            }
            arrays += 1;
        });
        assert!(arrays > 4000);
    }

    /// md's formula, word by word and without its short cuts.
    fn by_the_book(sizes: &[u64], chunk: u64, layout: Raid0Layout, sector: u64) -> (usize, u64) {
        let rounded: Vec<u64> = sizes.iter().map(|size| size / chunk * chunk).collect();
        let (mut start, mut device_start) = (0, 0);
        loop {
            let size = *rounded
                .iter()
                .filter(|&&size| size > device_start)
                .min()
                .expect("within the array");
            let members: Vec<usize> =
                (0..sizes.len()).filter(|&member| rounded[member] > device_start).collect();
            let count = members.len() as u64;
            let length = (size - device_start) * count;
            if sector < start + length {
                let relative = sector - start;
                let counted = if layout == Raid0Layout::Original { sector } else { relative };
                let member = members[(counted / chunk % count) as usize];
                return (
                    member,
                    device_start + relative / (chunk * count) * chunk + sector % chunk,
                );
            }
            (start, device_start) = (start + length, size);
        }
    }

    #[test]
    fn agrees_with_the_formula_everywhere() {
        let (mut differ, mut agree) = (0, 0);
        each_small_array(|sizes, chunk| {
            let places = LAYOUTS.map(|layout| {
                let array = Raid0::new(sizes, chunk, layout);
                // Also what md deals out and does not count.
                let whole_chunks = sizes.iter().map(|size| size / chunk * chunk).sum();
                let places: Vec<(usize, u64)> = (0..whole_chunks)
                    .map(|offset| array.locate(offset, 1))
                    .map(|place| (place.member, place.offset))
                    .collect();
                for (offset, place) in places.iter().enumerate() {
                    assert_eq!(
                        *place,
                        by_the_book(sizes, chunk, layout, offset as u64),
                        "{sizes:?} {chunk} {layout:?} at {offset}"
                    );
                }
                places
            });
            let same = places[0] == places[1];
            assert_eq!(
                Raid0::new(sizes, chunk, Raid0Layout::Original).layouts_agree(),
                same,
                "{sizes:?} {chunk}"
            );
            *if same { &mut agree } else { &mut differ } += 1;
        });
        assert!(differ > 100 && agree > 100, "{differ} arrays differ, {agree} agree");
    }

    /// What Linux 6.1 says of arrays that mdadm made over 20 MiB each and, where there is a fourth,
    /// 33,333 KiB, of which 1 MiB is md's own. `mdadm --detail` has the same sizes in KiB.
    #[test]
    fn a_chunk_that_is_no_power_of_two_has_the_size_that_md_counts() {
        let (equal, unequal) =
            ([19 << 20; 3], [19 << 20, 19 << 20, 19 << 20, (33_333 - 1024) << 10]);
        for (sizes, chunk_kib, kernel) in
            [(&equal[..], 12, 59_731_968_u64), (&unequal[..], 100, 92_442_624)]
        {
            for layout in LAYOUTS {
                assert_eq!(
                    Raid0::new(sizes, chunk_kib << 10, layout).size_bytes(),
                    kernel,
                    "{sizes:?} {chunk_kib} KiB"
                );
            }
        }
    }

    #[test]
    fn the_share_of_a_member_is_the_sum_of_its_chunks() {
        for sizes in [&[4_u64, 4, 4][..], &[3, 5, 8], &[2, 9, 2, 7], &[6], &[0, 5, 4]] {
            for (chunk, layout) in
                [(1, LAYOUTS[0]), (1, LAYOUTS[1]), (2, LAYOUTS[0]), (3, LAYOUTS[1])]
            {
                let array = Raid0::new(sizes, chunk, layout);
                let size = array.size_bytes();
                for offset in 0..size {
                    for length in 1..=size - offset {
                        for member in 0..sizes.len() {
                            let mine: Vec<u64> = (offset..offset + length)
                                .map(|at| array.locate(at, 1))
                                .filter(|place| place.member == member)
                                .map(|place| place.offset)
                                .collect();
                            assert!(mine.is_sorted_by(|a, b| a + 1 == *b), "one run, in order");
                            let expected = mine.first().map(|&offset| Extent {
                                member,
                                offset,
                                length: mine.len() as u64,
                            });
                            assert_eq!(
                                array.share(offset, length, member),
                                expected,
                                "{sizes:?} {chunk} {layout:?} {offset}+{length}"
                            );
                        }
                    }
                }
            }
        }
    }
}
