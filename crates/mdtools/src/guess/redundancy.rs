//! What members have to do with each other, whatever they hold: equal copies, a sum (P), a weighted
//! sum (Q).
//!
//! ```text
//!   sample     the same sector of every member, not zero everywhere
//!   equal      all members alike: level 1
//!   sum        all members together are zero: levels 4 and 5, whatever order, chunk, layout
//!   weighted   all but one are zero, and that one is Q of some order of the others: level 6
//! ```

use array::geometry::{ParityLayout, Role, Row};
use array::parity::{multiply, power};
use reactor::Random;

use super::Members;
use super::reader::{Sector, add, is_zero};
use super::shape::Map;

const SECTOR: usize = super::SECTOR_BYTES as usize;
/// Bytes compared before a whole sector is.
const WORD_BYTES: usize = 8;
/// As many arrangements of one sample are kept; more means that its data do not tell them apart.
const ARRANGEMENTS_MAX: usize = 48;
/// Samples are looked for at so many places.
const PLACES_MAX: u64 = 6000;

/// One sector of each member, at the same offset.
pub(super) struct Sample {
    pub(super) offset: u64,
    /// `None`: the member is absent, or cannot be read here.
    pub(super) sectors: Vec<Option<Sector>>,
}

impl Sample {
    fn present(&self) -> impl Iterator<Item = (usize, &Sector)> {
        self.sectors
            .iter()
            .enumerate()
            .filter_map(|(member, sector)| Some((member, sector.as_ref()?)))
    }

    /// The same of these members alone, in this order.
    pub(super) fn of_members(&self, members: &[usize]) -> Sample {
        let sectors = members.iter().map(|member| self.sectors[*member]);
        Sample { offset: self.offset, sectors: sectors.collect() }
    }

    /// How many members hold something else than zeroes.
    pub(super) fn used(&self) -> usize {
        self.present().filter(|(_, sector)| !is_zero(sector)).count()
    }

    fn sum(&self, but: Option<usize>) -> Sector {
        let mut sum = [0; SECTOR];
        self.present()
            .filter(|(member, _)| Some(*member) != but)
            .for_each(|(_, sector)| add(&mut sum, sector));
        sum
    }
}

/// Up to `wanted` sectors at which at least two members hold something: half of the places are near
/// the start, where file systems begin, and half anywhere. `go_on` is asked now and then.
pub(super) fn samples(
    members: &dyn Members,
    seed: u64,
    wanted: usize,
    go_on: &mut dyn FnMut() -> bool,
) -> Vec<Sample> {
    let mut random = Random::with_seed(seed);
    let sizes: Vec<u64> =
        (0..members.count()).filter_map(|member| members.size_bytes(member)).collect();
    let Some(sectors) =
        sizes.iter().min().map(|size| size / SECTOR as u64).filter(|sectors| *sectors > 0)
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for place in 0..PLACES_MAX {
        if found.len() >= wanted || place % 64 == 0 && !go_on() {
            break;
        }
        // The start is walked through in steps of 16 KiB, which is every chunk of every size.
        let sector = match place % 2 {
            0 => (place / 2 * 32 + random.u64(0..32)) % sectors,
            _ => random.u64(0..sectors),
        };
        let offset = sector * SECTOR as u64;
        let read = |member: usize| {
            members.size_bytes(member)?;
            let mut bytes = [0; SECTOR];
            members.read(member, offset, &mut bytes).then_some(bytes)
        };
        let sample = Sample { offset, sectors: (0..members.count()).map(read).collect() };
        if sample.used() >= 2 {
            found.push(sample);
        }
    }
    found
}

/// How many samples a relation fits, of how many that could tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fit {
    pub(super) fits: u32,
    pub(super) of: u32,
}

impl Fit {
    fn over(samples: &[Sample], fits: impl Fn(&Sample) -> Option<bool>) -> Fit {
        let verdicts: Vec<bool> = samples.iter().filter_map(fits).collect();
        Fit {
            fits: verdicts.iter().filter(|fits| **fits).count() as u32,
            of: verdicts.len() as u32,
        }
    }

    /// Whether it holds but for a few places, such as the room of superblocks.
    pub(super) fn holds(self) -> bool {
        self.of >= 4 && self.fits * 10 >= self.of * 9
    }
}

/// Whether all members hold the same.
pub(super) fn equal(samples: &[Sample]) -> Fit {
    Fit::over(samples, |sample| {
        let (_, first) = sample.present().next()?;
        Some(sample.present().all(|(_, sector)| sector == first))
    })
}

/// Whether two members hold the same.
pub(super) fn equal_pair(samples: &[Sample], one: usize, other: usize) -> Fit {
    Fit::over(samples, |sample| {
        let (one, other) = (sample.sectors[one].as_ref()?, sample.sectors[other].as_ref()?);
        (!is_zero(one) || !is_zero(other)).then(|| one == other)
    })
}

/// Whether these members alone add up to zero, without one of them `but_one`.
pub(super) fn sum_of_group(samples: &[Sample], group: &[usize], but_one: bool) -> Fit {
    Fit::over(samples, |sample| {
        let mut sum = [0; SECTOR];
        let mut held = Vec::new();
        for member in group {
            let sector = sample.sectors[*member].as_ref()?;
            held.push(sector);
            add(&mut sum, sector);
        }
        let is_used = held.iter().any(|sector| !is_zero(sector));
        let is_right = match but_one {
            true => held.contains(&&sum),
            false => is_zero(&sum),
        };
        is_used.then_some(is_right)
    })
}

/// Whether the members add up to zero. Nothing is told when one is absent.
pub(super) fn sum(samples: &[Sample]) -> Fit {
    Fit::over(samples, |sample| {
        sample.sectors.iter().all(Option::is_some).then(|| is_zero(&sample.sum(None)))
    })
}

/// Whether the members that are there add up to zero.
pub(super) fn sum_of_present(samples: &[Sample]) -> Fit {
    Fit::over(samples, |sample| Some(is_zero(&sample.sum(None))))
}

/// Whether all but some one member add up to zero. Nothing is told when one is absent.
pub(super) fn sum_of_all_but_one(samples: &[Sample]) -> Fit {
    Fit::over(samples, |sample| {
        let all = sample.sectors.iter().all(Option::is_some);
        all.then(|| (0..sample.sectors.len()).any(|q| is_zero(&sample.sum(Some(q)))))
    })
}

/// What each member holds in one row: which power of g each member of data is counted with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrangement {
    pub(super) p: usize,
    pub(super) q: usize,
    /// Members of data by the exponent with which Q counts them; `None` where P and Q are, in DDF
    /// layouts.
    pub(super) data: Vec<Option<usize>>,
}

/// Every arrangement in which the sample's P and Q are right; empty when there are so many that it
/// tells nothing.
pub(super) fn arrangements(sample: &Sample, ddf: bool) -> Vec<Arrangement> {
    let count = sample.sectors.len();
    let mut found = Vec::new();
    if sample.sectors.iter().filter(|sector| sector.is_none()).count() > 1 {
        return found;
    }
    let absent = sample.sectors.iter().position(Option::is_none);
    for q in (0..count).filter(|q| Some(*q) != absent) {
        let sum = sample.sum(Some(q));
        if absent.is_none() && !is_zero(&sum) {
            continue;
        }
        for p in (0..count).filter(|p| *p != q) {
            // What is absent is what is missing from the sum.
            let sector = |member: usize| sample.sectors[member].unwrap_or(sum);
            let data: Vec<(usize, Sector)> = (0..count)
                .filter(|member| *member != p && *member != q)
                .map(|member| (member, sector(member)))
                .collect();
            let (weighted, exponents) = (sector(q), if ddf { count } else { data.len() });
            let weigher = Weigher::new(&data, &weighted, exponents);
            weigher.arrange(&mut vec![None; exponents], 0, 0, &mut |order| {
                let data =
                    order.iter().map(|place| place.map(|index: usize| data[index].0)).collect();
                found.push(Arrangement { p, q, data });
                found.len() <= ARRANGEMENTS_MAX
            });
            if found.len() > ARRANGEMENTS_MAX {
                return Vec::new();
            }
        }
    }
    found
}

/// Tries orders of data against a Q.
struct Weigher<'a> {
    data: &'a [(usize, Sector)],
    q: &'a Sector,
    /// By data and exponent: g^exponent times a few of its bytes.
    weighted: Vec<Vec<u64>>,
    /// The same bytes of Q.
    wanted: u64,
}

impl Weigher<'_> {
    fn new<'a>(data: &'a [(usize, Sector)], q: &'a Sector, exponents: usize) -> Weigher<'a> {
        // The bytes at which most members have something.
        let mut columns: Vec<usize> = (0..SECTOR).collect();
        columns.sort_by_key(|column| {
            std::cmp::Reverse(data.iter().filter(|(_, sector)| sector[*column] != 0).count())
        });
        let columns = &columns[..WORD_BYTES];
        let word = |sector: &Sector, factor: u8| {
            columns.iter().fold(0, |word, at| word << 8 | u64::from(multiply(factor, sector[*at])))
        };
        let weighted = data
            .iter()
            .map(|(_, sector)| {
                (0..exponents).map(|exponent| word(sector, power(exponent))).collect()
            })
            .collect();
        Weigher { data, q, weighted, wanted: word(q, 1) }
    }

    /// Puts data `index` and those after it into the free places; `found` says whether to go on.
    fn arrange(
        &self,
        places: &mut [Option<usize>],
        index: usize,
        sum: u64,
        found: &mut dyn FnMut(&[Option<usize>]) -> bool,
    ) -> bool {
        if index == self.data.len() {
            return sum != self.wanted || !self.is_right(places) || found(places);
        }
        for exponent in 0..places.len() {
            if places[exponent].is_some() {
                continue;
            }
            places[exponent] = Some(index);
            let go_on =
                self.arrange(places, index + 1, sum ^ self.weighted[index][exponent], found);
            places[exponent] = None;
            if !go_on {
                return false;
            }
        }
        true
    }

    fn is_right(&self, places: &[Option<usize>]) -> bool {
        (0..SECTOR).all(|at| {
            let terms = places.iter().enumerate().filter_map(|(exponent, index)| {
                Some(multiply(power(exponent), self.data[(*index)?].1[at]))
            });
            terms.fold(0, |sum, term| sum ^ term) == self.q[at]
        })
    }
}

/// Whether Q counts by the members' places in this layout.
pub(super) fn is_ddf(layout: ParityLayout) -> bool {
    matches!(
        layout,
        ParityLayout::DdfZeroRestart | ParityLayout::DdfNRestart | ParityLayout::DdfNContinue
    )
}

/// The order of members, by place, that an arrangement of a row of `count` places amounts to;
/// `None` when they do not go together.
pub(super) fn order_of(row: &Row, count: usize, arrangement: &Arrangement) -> Option<Vec<usize>> {
    let member = |role: usize| match row.role(role) {
        Role::P => Some(arrangement.p),
        Role::Q => Some(arrangement.q),
        Role::Data(_) => arrangement.data.get(row.exponent(role)).copied().flatten(),
    };
    (0..count).map(member).collect()
}

/// Whether P and Q of the sample's row are right with the members in this order, by place. `None`
/// where that cannot be told.
pub(super) fn weighted_fits(map: &Map, order: &[usize], sample: &Sample) -> Option<bool> {
    let row = map.row_at(sample.offset)?;
    let q = row.q?;
    let absent = order.iter().position(|member| sample.sectors[*member].is_none());
    if absent == Some(q) || sample.sectors.iter().filter(|sector| sector.is_none()).count() > 1 {
        return None;
    }
    let sum = sample.sum(Some(order[q]));
    if absent.is_none() && !is_zero(&sum) {
        return Some(false);
    }
    let mut weighted = sample.sectors[order[q]]?;
    for role in (0..order.len()).filter(|role| *role != row.p && *role != q) {
        let sector = sample.sectors[order[role]].unwrap_or(sum);
        let factor = power(row.exponent(role));
        weighted
            .iter_mut()
            .zip(&sector)
            .for_each(|(weighted, byte)| *weighted ^= multiply(factor, *byte));
    }
    Some(is_zero(&weighted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sector(seed: u64) -> Sector {
        let mut bytes = [0; SECTOR];
        Random::with_seed(seed).fill(&mut bytes);
        bytes
    }

    /// A row of five members: 3 holds P, 1 holds Q, and Q counts 4, 0, 2.
    fn row() -> Sample {
        let data = [(4, sector(1)), (0, sector(2)), (2, sector(3))];
        let (mut p, mut q) = ([0; SECTOR], [0; SECTOR]);
        for (exponent, (_, sector)) in data.iter().enumerate() {
            add(&mut p, sector);
            q.iter_mut().zip(sector).for_each(|(q, byte)| *q ^= multiply(power(exponent), *byte));
        }
        let mut sectors = vec![None; 5];
        data.into_iter()
            .chain([(3, p), (1, q)])
            .for_each(|(member, sector)| sectors[member] = Some(sector));
        Sample { offset: 0, sectors }
    }

    #[test]
    fn random_data_have_one_arrangement_with_and_without_a_member() {
        let expected = Arrangement { p: 3, q: 1, data: vec![Some(4), Some(0), Some(2)] };
        assert_eq!(arrangements(&row(), false), vec![expected.clone()]);
        let without = |absent: usize| {
            let mut sample = row();
            sample.sectors[absent] = None;
            arrangements(&sample, false)
        };
        assert_eq!(without(0), vec![expected.clone()], "without data that count by g");
        assert_eq!(without(2), vec![expected.clone()], "without data that count by g^2");
        // Q counts its first data by one. Without P these two, and without these P and Q, can
        // change places.
        let changed = Arrangement { p: 3, q: 4, data: vec![Some(1), Some(0), Some(2)] };
        assert_eq!(without(3), vec![expected.clone(), changed], "without P");
        let changed = Arrangement { p: 1, q: 3, data: vec![Some(4), Some(0), Some(2)] };
        assert_eq!(without(4), vec![expected, changed], "without data that count by one");
        assert_eq!(without(1), vec![], "without Q");
        let mut sample = row();
        sample.sectors[4].as_mut().expect("a member")[77] ^= 1;
        assert_eq!(arrangements(&sample, false), vec![], "with a bit wrong");
    }

    #[test]
    fn data_that_are_alike_tell_nothing() {
        let mut same = row();
        same.sectors.iter_mut().for_each(|sector| *sector = Some([0; SECTOR]));
        assert_eq!(arrangements(&same, false), vec![]);
    }
}
