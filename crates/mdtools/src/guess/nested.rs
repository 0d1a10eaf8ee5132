//! What tells of arrays that stand on arrays before any order is known: members that hold the same,
//! groups that add up to zero, and where data begin when more than one array has kept room.
//!
//! ```text
//!   raid0 of mirrors      a = b, c = d            one of each stands for both
//!   raid0 of raid5s       a+b+c = 0, d+e+f = 0    each group is an array by itself
//!   raid0 of raid6s       a+b+c = 0 without d     the same, and Q tells the order in each group
//! ```

use std::collections::{HashMap, HashSet};

use array::Raid0Layout;
use array::geometry::ParityLayout;
use array::md::{Layout, Level};

use super::landmarks::{Landmark, Verdict, openings};
use super::q_orders::{self, Keys, told_by_q};
use super::reader::{Reader, Sector};
use super::redundancy::{Fit, Sample};
use super::search::Order;
use super::shape::{Map, ParityBelow, Shape};
use super::{
    CHUNKS_BYTES, Guess, Guesses, Members, Relations, SAMPLES, SECTOR_BYTES, SearchLimits, Work,
    absent_in, data_offsets, permutations, rank, redundancy,
};

/// Chunks by which mdadm's rule for the start of data differs, in bytes.
const RULE_CHUNKS_BYTES: [u64; 2] = [0, 512 << 10];
/// Into how many parts an array without redundancy may deal what lies before the data.
const DEALT_MAX: u64 = 4;

/// Members that hold the same.
pub(crate) struct Copies {
    pub(crate) members: Vec<usize>,
    /// Nothing was seen in which they differ: none is older than the others.
    pub(crate) are_exact: bool,
}

/// The members that are there by what they hold, each in one class.
pub(crate) fn copies(members: &dyn Members, seed: u64) -> Vec<Copies> {
    let samples = redundancy::samples(members, seed, SAMPLES, &mut || true);
    let mut classes: Vec<Copies> = Vec::new();
    for member in (0..members.count()).filter(|member| members.size_bytes(*member).is_some()) {
        let like = classes.iter_mut().find_map(|class| {
            let fit = redundancy::equal_pair(&samples, class.members[0], member);
            fit.holds().then_some((class, fit.fits == fit.of))
        });
        match like {
            Some((class, is_exact)) => {
                class.members.push(member);
                class.are_exact &= is_exact;
            }
            None => classes.push(Copies { members: vec![member], are_exact: true }),
        }
    }
    classes
}

/// Members in groups of which each adds up to zero.
pub(crate) struct Sums {
    pub(crate) groups: Vec<Vec<usize>>,
    /// The last group is what is left: it lacks one, which stands there as the number behind the
    /// last member.
    pub(crate) lacks_one: bool,
}

/// Groups of one of these sizes that add up to zero each, without one of their members (Q) where
/// `but_one` says so; nothing where not all members are in one of several groups. Groups that are
/// whole come before those of which one lacks a member.
pub(crate) fn sums(
    members: &dyn Members,
    sizes: &[usize],
    but_one: bool,
    seed: u64,
) -> Option<Sums> {
    let samples = redundancy::samples(members, seed, SAMPLES, &mut || true);
    let in_groups = |lacking: usize| {
        let sizes = sizes.iter().filter(|size| (members.count() + lacking).is_multiple_of(**size));
        let mut found = sizes.map(|size| sums_of(&samples, members.count(), *size, but_one));
        found.find_map(|(groups, left)| match (lacking, left.len()) {
            (0, 0) if groups.len() > 1 => Some(Sums { groups, lacks_one: false }),
            (1, 1..) if groups.first().is_some_and(|group| left.len() + 1 == group.len()) => {
                let last = [left, vec![members.count()]].concat();
                Some(Sums { groups: [groups, vec![last]].concat(), lacks_one: true })
            }
            _ => None,
        })
    };
    in_groups(0).or_else(|| in_groups(1))
}

/// The groups of so many members that add up to zero, and the members that are in none.
fn sums_of(
    samples: &[Sample],
    count: usize,
    size: usize,
    but_one: bool,
) -> (Vec<Vec<usize>>, Vec<usize>) {
    let mut free: Vec<usize> = (0..count).collect();
    let (mut groups, mut left) = (Vec::new(), Vec::new());
    while let Some(first) = free.first().copied() {
        let holds = |group: &Vec<usize>| redundancy::sum_of_group(samples, group, but_one).holds();
        let group = choices(&free[1..], size - 1)
            .into_iter()
            .map(|others| [vec![first], others].concat())
            .find(holds);
        let group = group.unwrap_or_else(|| {
            left.push(first);
            vec![first]
        });
        free.retain(|member| !group.contains(member));
        if group.len() > 1 {
            groups.push(group);
        }
        // More are left than one group lacks.
        if left.len() >= size {
            break;
        }
    }
    left.extend(free);
    (groups, left)
}

/// All choices of so many.
fn choices(of: &[usize], size: usize) -> Vec<Vec<usize>> {
    match (of.split_first(), size) {
        (_, 0) => vec![Vec::new()],
        (None, _) => Vec::new(),
        (Some((first, rest)), _) => {
            let with =
                choices(rest, size - 1).into_iter().map(|tail| [vec![*first], tail].concat());
            with.chain(choices(rest, size)).collect()
        }
    }
}

/// Where data may begin on a member of so many bytes that keeps room before them more than once: as
/// a member of an array that is a member itself, or in a partition that begins at one of `starts`.
/// In bytes.
pub(crate) fn nested_offsets(size_bytes: u64, starts: &[u64]) -> Vec<u64> {
    let usual = |size_bytes: u64| {
        RULE_CHUNKS_BYTES.into_iter().flat_map(move |chunk| data_offsets(size_bytes, chunk))
    };
    let mut seen = HashSet::new();
    let mut offsets = Vec::new();
    let mut take = |offset: u64| {
        if offset < size_bytes && offset.is_multiple_of(SECTOR_BYTES) && seen.insert(offset) {
            offsets.push(offset);
        }
    };
    let firsts: Vec<u64> = usual(size_bytes).chain(starts.iter().copied()).collect();
    firsts.iter().copied().for_each(&mut take);
    for first in firsts.into_iter().filter(|first| *first < size_bytes) {
        for second in usual(size_bytes - first) {
            // A stripe deals it out to its members.
            (1..=DEALT_MAX)
                .filter(|parts| second.is_multiple_of(parts * 4096))
                .for_each(|parts| take(first + second / parts));
        }
    }
    offsets
}

/// Those of the offsets at which a member has what a file system, a table of partitions or a volume
/// begins with.
pub(crate) fn beginnings(members: &dyn Members, offsets: &[u64]) -> Vec<u64> {
    let (reader, openings) = (Reader::new(members), openings(0));
    offsets.iter().copied().filter(|offset| begins(&reader, &openings, *offset)).collect()
}

fn begins(reader: &Reader<'_>, openings: &[Landmark], offset: u64) -> bool {
    openings.iter().any(|opening| {
        let is_there = |sector: Sector| matches!(opening.check(&sector), Verdict::There(_));
        let offset = offset + opening.address;
        (0..reader.count()).any(|member| match reader.is_absent(member) {
            false => reader.sector(member, offset).is_some_and(is_there),
            // With P alone, or with P and with one of the others as Q.
            true => (0..reader.count())
                .any(|but| reader.sum_of_others(member, Some(but), offset).is_some_and(is_there)),
        })
    })
}

/// How parity moves in the arrays below a stripe: as md and most controllers have it.
const LAYOUTS: [ParityLayout; 4] = [
    ParityLayout::LeftSymmetric,
    ParityLayout::LeftAsymmetric,
    ParityLayout::RightSymmetric,
    ParityLayout::RightAsymmetric,
];
/// The same with Q counted by places, as DDF and the controllers that keep to it have it.
const DDF_LAYOUTS: [ParityLayout; 3] =
    [ParityLayout::DdfNContinue, ParityLayout::DdfNRestart, ParityLayout::DdfZeroRestart];
/// With more arrays below a stripe not all orders of them are tried.
const GROUPS_MAX: usize = 5;
/// Of so many orders of the members of all groups Q tells nothing more.
const ORDERS_MAX: usize = 1000;

fn layouts(level: Level) -> &'static [ParityLayout] {
    const WITH_Q: [ParityLayout; 7] = {
        let ([a, b, c, d], [e, f, g]) = (LAYOUTS, DDF_LAYOUTS);
        [a, b, c, d, e, f, g]
    };
    if level == Level::Raid6 { &WITH_Q } else { &LAYOUTS }
}

/// Searches for a stripe over arrays of level 5 or 6, whose members are in these groups. `starts`
/// is where data may begin on a member besides where md has them.
pub(crate) fn guess_stripe(
    members: &dyn Members,
    (level, groups): (Level, &[Vec<usize>]),
    known: &SearchLimits,
    starts: &[u64],
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Guesses {
    let reader = Reader::of_groups(members, groups);
    let samples = match level {
        Level::Raid6 => redundancy::samples(members, known.seed, SAMPLES, &mut || true),
        // P tells nothing of order, chunk and layout.
        _ => Vec::new(),
    };
    let mut told = GroupOrders::of(groups, &samples);
    let mut work = Work {
        reader: &reader,
        samples: &samples,
        relations: Relations::of(&[], &reader),
        keys: Keys::default(),
        guesses: Vec::new(),
        seen: HashSet::new(),
    };
    let shapes = stripes(&reader, (level, groups[0].len()), known, starts);
    let mut found = Guesses::default();
    for (number, shape) in shapes.iter().enumerate() {
        if !progress(number, shapes.len()) {
            found.interrupted = true;
            break;
        }
        let Some(map) = Map::new(shape, &reader.sizes()) else { continue };
        let unknown = || vec![Order::unknown(reader.count())];
        let starts = match shape.below.filter(|below| below.level == Level::Raid6) {
            Some(below) => told.orders(below, reader.smallest()),
            None => unknown(),
        };
        for start in starts {
            for order in work.after_openings(&map, absent_in(level), &start, &[]) {
                work.finish(shape, &reader.sizes(), &order, &[]);
            }
        }
    }
    let has_groups = |guess: &Guess| {
        guess
            .order
            .chunks(groups[0].len())
            .all(|own| groups.iter().any(|group| group.iter().all(|member| own.contains(member))))
    };
    found.guesses = work.guesses;
    found.guesses.retain(has_groups);
    rank(&mut found);
    found.read_bytes = reader.read_bytes();
    found
}

/// What Q tells of the order within each of several groups.
struct GroupOrders<'a> {
    groups: &'a [Vec<usize>],
    /// Samples of each group alone.
    samples: Vec<Vec<Sample>>,
    keys: Vec<Keys>,
    /// The members of all groups in order, by chunk, layout and place of the data.
    known: HashMap<(u64, ParityLayout, u64), Vec<Vec<usize>>>,
}

impl GroupOrders<'_> {
    fn of<'a>(groups: &'a [Vec<usize>], samples: &[Sample]) -> GroupOrders<'a> {
        let keys = groups.iter().map(|_| Keys::default()).collect();
        let samples = groups.iter().map(|group| samples_of(samples, group).collect()).collect();
        GroupOrders { groups, samples, keys, known: HashMap::new() }
    }

    /// Every order of all members in which Q of each group is right, the groups one behind the
    /// other in all orders.
    fn orders(&mut self, below: ParityBelow, smallest: u64) -> Vec<Order> {
        let GroupOrders { groups, samples, keys, known } = self;
        let key = (below.chunk_bytes, below.layout, below.data_offset_bytes);
        let all = known.entry(key).or_insert_with(|| {
            let shape = below.shape();
            let map = Map::new(&shape, &vec![smallest; below.members]);
            let Some(map) = map.filter(|_| groups.len() <= GROUPS_MAX) else { return Vec::new() };
            let own = groups.iter().zip(samples).zip(keys).map(|((group, samples), keys)| {
                let orders = told_by_q(samples, keys, &shape, &map).into_iter();
                orders.map(|order| order.iter().map(|member| group[*member]).collect()).collect()
            });
            in_all_orders(&own.collect::<Vec<Vec<Vec<usize>>>>())
        });
        let known = |order: &Vec<usize>| Order::known(order.iter().copied().map(Some).collect());
        all.iter().map(known).collect()
    }
}

/// Groups of which each has one of several orders, one behind the other in all orders.
fn in_all_orders(groups: &[Vec<Vec<usize>>]) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    for numbers in permutations(&(0..groups.len()).collect::<Vec<_>>()) {
        let mut orders = vec![Vec::new()];
        for number in numbers {
            let longer = |order: &Vec<usize>| {
                let with = groups[number].iter().map(|own| [&order[..], &own[..]].concat());
                with.collect::<Vec<_>>()
            };
            orders = orders.iter().flat_map(longer).take(ORDERS_MAX).collect();
        }
        all.extend(orders);
    }
    all.truncate(ORDERS_MAX);
    all
}

/// Samples of these members alone, in this order, in which they hold something.
fn samples_of<'a>(samples: &'a [Sample], group: &'a [usize]) -> impl Iterator<Item = Sample> {
    let own = samples.iter().map(|sample| sample.of_members(group));
    own.filter(|sample| sample.used() >= 2)
}

/// How many rows of the arrays below have the right P and Q, with the members in this order.
pub(super) fn weighted_rows(samples: &[Sample], map: &Map, order: &[usize]) -> Fit {
    let below = map.below();
    let mut fit = Fit::default();
    let Some(size) = order.len().checked_div(below.len()) else { return fit };
    let places: Vec<usize> = (0..size).collect();
    for (inner, own) in below.iter().zip(order.chunks(size)) {
        let own: Vec<Sample> = samples_of(samples, own).collect();
        let rows = q_orders::weighted_rows(&own, inner, &places);
        fit = Fit { fits: fit.fits + rows.fits, of: fit.of + rows.of };
    }
    fit
}

/// Every stripe to try: those whose first sector is where something begins.
fn stripes(
    reader: &Reader<'_>,
    (level, count): (Level, usize),
    known: &SearchLimits,
    starts: &[u64],
) -> Vec<Shape> {
    let openings = openings(0);
    let mut known_places: HashMap<u64, bool> = HashMap::new();
    let mut shapes = Vec::new();
    let data_count = count as u64 - if level == Level::Raid6 { 2 } else { 1 };
    let chunks =
        if known.chunks_bytes.is_empty() { &CHUNKS_BYTES[..] } else { &known.chunks_bytes };
    for &chunk_bytes in chunks {
        let firsts = data_offsets(reader.smallest(), chunk_bytes);
        let mut seen = HashSet::new();
        let firsts = firsts.into_iter().chain(starts.iter().copied());
        for first in firsts.filter(|first| seen.insert(*first)) {
            let below = |layout| ParityBelow {
                level,
                members: count,
                layout,
                chunk_bytes,
                data_offset_bytes: first,
            };
            // Where the first sector is does not depend on the layout.
            let own = below(ParityLayout::LeftSymmetric).shape();
            let Some(inner) = Map::new(&own, &vec![reader.smallest(); count]) else { continue };
            for second in data_offsets(inner.size_bytes(), chunk_bytes) {
                let mut spots = Vec::new();
                inner.spots(second, &mut spots);
                let Some(spot) = spots.first() else { continue };
                let is_there = *known_places
                    .entry(spot.offset)
                    .or_insert_with(|| begins(reader, &openings, spot.offset));
                if !is_there {
                    continue;
                }
                // Controllers deal out whole rows of the arrays below.
                let row = chunk_bytes * data_count;
                let others = chunks.iter().copied().filter(|bytes| *bytes != row);
                for outer in [row].into_iter().chain(others) {
                    shapes.extend(layouts(level).iter().map(|layout| Shape {
                        level: Level::Raid0,
                        layout: Layout::Raid0(Some(Raid0Layout::Original)),
                        chunk_bytes: outer,
                        data_offset_bytes: second,
                        below: Some(below(*layout)),
                    }));
                }
            }
        }
    }
    shapes
}
