//! Orders in which each comes equally often after each other (Williams 1949), so that what one
//! leaves behind for the next is shared out.
//!
//! ```text
//! first row, of 4:   0 1 3 2     up, down, up, down; each step is another number
//! further rows:      1 2 0 3     the same plus 1, 2, 3 …, so that every step comes once from every other
//! odd numbers:       each row backwards too: only both together are even
//! ```
//!
//! Of two there are only AB and BA. Strict turns, AB BA AB BA, would fall in step with whatever
//! comes back every four visits, so that their order is drawn ([`two`]).

/// Rows of `0 .. count` in which each number stands equally often at every place, and comes equally
/// often straight after each of the others.
#[must_use]
pub fn rows(count: usize) -> Vec<Vec<usize>> {
    let first: Vec<usize> = (0..count)
        .map(|place| match place {
            0 => 0,
            odd if odd % 2 == 1 => odd.div_ceil(2),
            even => count - even / 2,
        })
        .collect();
    let forwards = (0..count)
        .map(|shift| first.iter().map(|one| (one + shift) % count).collect::<Vec<usize>>());
    let mut rows: Vec<Vec<usize>> = forwards.collect();
    if count % 2 == 1 && count > 1 {
        let backwards: Vec<Vec<usize>> =
            rows.iter().map(|row| row.iter().rev().copied().collect()).collect();
        rows.extend(backwards);
    }
    rows
}

/// Over how many blocks the order of two is drawn at a time.
pub const TWO_BLOCKS: u32 = 4;
/// In how many ways.
pub const TWO_WAYS: u64 = 14;

/// Of two, whether the second comes first, in each of [`TWO_BLOCKS`] blocks: way `way` of
/// [`TWO_WAYS`], in all of which either comes first at least once. Each block's order is as good as
/// drawn by itself, so that nothing that comes back at regular times takes sides for long; and
/// there are always blocks of both orders, by which to tell what one leaves behind for the other.
#[must_use]
pub fn two(way: u64) -> [bool; TWO_BLOCKS as usize] {
    // All numbers of four bits but 0 and 15.
    let bits = way % TWO_WAYS + 1;
    std::array::from_fn(|block| bits >> block & 1 == 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn two_are_ordered_in_every_way_but_the_two_that_never_change() {
        let ways: std::collections::BTreeSet<[bool; 4]> = (0..TWO_WAYS).map(two).collect();
        assert_eq!(ways.len(), TWO_WAYS as usize);
        assert!(ways.iter().all(|way| way.contains(&true) && way.contains(&false)));
    }

    /// "The order balanced against who came before."
    #[test]
    fn everybody_follows_everybody_else_equally_often() {
        for count in 0..=13 {
            let rows = rows(count);
            let mut follows: BTreeMap<(usize, usize), usize> = BTreeMap::new();
            let mut stands: BTreeMap<(usize, usize), usize> = BTreeMap::new();
            for row in &rows {
                let mut sorted = row.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..count).collect::<Vec<_>>(), "{count}: each once in a row");
                for pair in row.windows(2) {
                    *follows.entry((pair[0], pair[1])).or_default() += 1;
                }
                for (place, one) in row.iter().enumerate() {
                    *stands.entry((place, *one)).or_default() += 1;
                }
            }
            let times = if count % 2 == 1 { 2 } else { 1 };
            assert_eq!(follows.len(), count * count.saturating_sub(1), "{count}");
            assert!(follows.values().all(|found| *found == times), "{count}: {follows:?}");
            assert_eq!(stands.len(), count * count, "{count}");
            assert!(stands.values().all(|found| *found == rows.len() / count), "{count}");
        }
    }
}
