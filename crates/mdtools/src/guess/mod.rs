//! What array members make up whose superblocks are lost or foreign: order, level, layout, chunk
//! and data offset, found by what the members hold.
//!
//! ```text
//!   members ──> samples ──> redundancy: which levels can it be at all?
//!                 │                         │
//!                 └── Q: which is which     └── shapes: level x layout x chunk x data offset
//!                           │                         │
//!                           └──────> order of members <── search: landmarks of file systems, from the start on
//!                                          │
//!                                       whole candidates, all landmarks: the share that agrees
//! ```
//!
//! A share does not grow because more was looked at: each kind of evidence counts the same, and
//! what others show and a candidate does not show at all counts against it. Among candidates with
//! the same share the one with more proof comes first.
//!
//! P is a plain sum: it tells that something is a RAID 4 or 5 and nothing about order, chunk and
//! layout, which only what is stored tells. Q weighs, so it tells the order, but not whether the
//! layout is symmetric, nor the chunk where parity stays in its place. Where parity stays, several
//! names are one array with its members in another order: RAID 5 with parity first or last is
//! called RAID 4 here, RAID 6 with parity first is called parity-last. All members are taken to
//! have their data at the same offset.

mod evidence;
mod images;
mod landmarks;
mod nested;
mod q_orders;
mod reader;
mod redundancy;
mod search;
mod shape;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;

use array::geometry::{ParityLayout, Raid10Layout};
use array::md::{Layout, Level, data_offset_sectors};
use array::{Raid0Layout, geometry};
use block::Node;
use words::{Message, Text, statement};

use crate::MemberSource;
use crate::catalogue;

use evidence::Tally;
pub use evidence::{Evidence, Proof};
pub use images::Images;
use landmarks::{Landmark, openings};
pub(crate) use nested::{Copies, Sums, beginnings, copies, guess_stripe, nested_offsets, sums};
use q_orders::{Keys, told_by_q, weighted_rows};
use reader::{Reader, Sector, is_zero};
use redundancy::{Fit, Sample};
use search::{AbsentSource, COPIES, Order, Search};
use shape::{Map, Spot};
pub use shape::{ParityBelow, Shape};

const SECTOR_BYTES: u64 = block::SECTOR_BYTES;
/// More members than this are refused: the time grows with their permutations.
pub const MEMBERS_MAX: usize = 8;
/// Chunk sizes that are tried unless others are named, in bytes; the usual ones first.
pub const CHUNKS_BYTES: [u64; 11] = [
    512 << 10,
    64 << 10,
    128 << 10,
    256 << 10,
    1 << 20,
    32 << 10,
    16 << 10,
    8 << 10,
    4 << 10,
    2 << 20,
    4 << 20,
];
/// Up to so many members that nothing places are tried in every order.
const FILLED_MAX: usize = 4;
/// How many samples are looked for.
const SAMPLES: usize = 256;
/// At how many addresses copies are compared.
const COMPARED: usize = 64;
/// Where no two members hold the same at so many of them, there are no copies.
const COMPARED_MIN: usize = 32;
/// What fits by chance, or in what superblocks have beside them, makes no candidate.
const FITS_MIN: u32 = 4;
/// Copies and rows that agree beyond this number prove nothing more.
const RELATIONS_MAX: u32 = 32;
/// What rows that agree are called in the explanation, where parity weighs.
const ROWS: Message = catalogue::ROWS_WITH_P_AND_Q;
/// A share that is the whole.
pub const WHOLE: u32 = 1_000_000;
/// With fewer places that hold something, too little is stored to exclude anything.
const SAMPLES_MIN: usize = 4;
/// With less than this of one kind agreeing, a member may be foreign: each is tried as missing.
const SUSPICIOUS_BELOW: u32 = WHOLE / 10 * 9;
/// With less than this agreeing it is no candidate.
const AGREEMENT_MIN: u32 = WHOLE / 2;
/// With less than this agreeing, or less than the other of one kind, a candidate is no answer.
const AGREEMENT_SOUND: u32 = WHOLE / 10 * 9;
const KIND_SOUND: u32 = WHOLE / 3 * 2;
/// Orders of linear members that are kept while the next is looked for.
const PREFIXES_MAX: usize = 64;

/// What the search reads: members by number.
pub trait Members {
    /// How many places the array has, those of absent members too.
    fn count(&self) -> usize;

    /// A member's size in bytes; `None` for an absent one.
    fn size_bytes(&self, member: usize) -> Option<u64>;

    /// Fills `into` from `offset`; whether that could be read.
    fn read(&self, member: usize, offset: u64, into: &mut [u8]) -> bool;
}

/// What is known beforehand. What is empty is searched for.
#[derive(Clone, Debug, Default)]
pub struct SearchLimits {
    /// The levels it can be.
    pub levels: Vec<Level>,
    /// The chunk sizes it can have, in bytes.
    pub chunks_bytes: Vec<u64>,
    /// Where data can start on the members, in bytes.
    pub data_offsets_bytes: Vec<u64>,
    /// Where the samples are taken follows from it.
    pub seed: u64,
}

/// One way in which the members can make up an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// Level, layout, chunk and data offset.
    pub shape: Shape,
    /// The member in each place.
    pub order: Vec<usize>,
    /// Places whose members nothing tells: these may be exchanged among themselves.
    pub undecided: Vec<usize>,
    /// The array's size in bytes.
    pub size_bytes: u64,
    /// The share of what was checked that agrees, in millionths ([`WHOLE`]): each kind of evidence
    /// counts the same.
    pub agreement: u32,
    /// How many checks came out right that would not for another order, chunk or layout.
    pub proofs: u32,
    /// A member that does not go with the others, which make this up without it: in `order` it
    /// stands for one that is missing, or it is not in there at all.
    pub foreign: Option<usize>,
    /// What was checked.
    pub evidence: Vec<Evidence>,
    /// Whether the array would start with something, and how much lies before its start: what
    /// decides between equals.
    rank: (bool, usize),
}

/// What the search came to.
#[derive(Clone, Debug, Default)]
pub struct Guesses {
    /// The best first.
    pub guesses: Vec<Guess>,
    /// How many of them are as good as the first.
    pub equal: usize,
    /// What can be said besides, one line each.
    pub notes: Vec<Text>,
    /// How many places were looked at whose contents could tell something.
    pub samples: usize,
    /// What was read, in bytes, samples not counted.
    pub read_bytes: u64,
    /// Whether the search was ended before everything was tried.
    pub interrupted: bool,
    /// Whether all members together are a mirror or have the right parity.
    is_related: bool,
}

impl Guesses {
    /// Whether the first candidate is an answer: little contradicts it.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.guesses
            .first()
            .is_some_and(|guess| guess.agreement >= AGREEMENT_SOUND && guess.least() >= KIND_SOUND)
    }
}

/// The members without one of them.
struct ReducedMembers<'a> {
    members: &'a dyn Members,
    foreign: usize,
    /// Whether another one was in its place, which is absent now; otherwise there is one place
    /// less.
    has_place: bool,
}

impl ReducedMembers<'_> {
    /// The number that a member has among all.
    fn number(&self, member: usize) -> usize {
        member + usize::from(!self.has_place && member >= self.foreign)
    }
}

impl Members for ReducedMembers<'_> {
    fn count(&self) -> usize {
        self.members.count() - usize::from(!self.has_place)
    }

    fn size_bytes(&self, member: usize) -> Option<u64> {
        let number = self.number(member);
        (number != self.foreign).then(|| self.members.size_bytes(number)).flatten()
    }

    fn read(&self, member: usize, offset: u64, into: &mut [u8]) -> bool {
        let number = self.number(member);
        number != self.foreign && self.members.read(number, offset, into)
    }
}

/// Searches for what the members make up. `progress` gets the shapes done and their number, and
/// says whether to go on.
///
/// Where something contradicts what all members make up, each is tried as missing in turn, and then
/// as one too many.
#[must_use]
pub fn guess(
    members: &dyn Members,
    known: &SearchLimits,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Guesses {
    let mut found = guess_with_all(members, known, progress);
    let present: Vec<usize> =
        (0..members.count()).filter(|member| members.size_bytes(*member).is_some()).collect();
    let is_suspicious = found.guesses.first().is_none_or(Guess::is_suspicious);
    // Where hardly anything is stored, nothing can tell one member from another.
    let tells = found.samples >= SAMPLES_MIN || !found.guesses.is_empty();
    if is_suspicious && tells && !found.is_related && present.len() >= 3 {
        for has_place in [true, false] {
            for &foreign in &present {
                if found.interrupted {
                    break;
                }
                let without = ReducedMembers { members, foreign, has_place };
                let others = guess_with_all(&without, known, progress);
                found.read_bytes += others.read_bytes;
                found.interrupted |= others.interrupted;
                // The member that is left out leaves a better answer, or nothing is gained by
                // leaving it out. Fewer members one behind the other are no better answer.
                let sound = others
                    .guesses
                    .into_iter()
                    .filter(|guess| guess.agreement >= AGREEMENT_SOUND && !guess.is_suspicious());
                found.guesses.extend(sound.map(|guess| {
                    let order = guess.order.iter().map(|member| without.number(*member)).collect();
                    Guess { foreign: Some(foreign), order, ..guess }.without_q()
                }));
            }
            if found.guesses.iter().any(|guess| guess.foreign.is_some()) {
                break;
            }
        }
    }
    rank(&mut found);
    found
}

impl Guess {
    /// Level 6 that keeps Q on a member of its own, where just this one does not go with the
    /// others, is level 5 over the others: md makes such layouts only on the way from level 5 to
    /// level 6, and the same data are found in the same places.
    fn without_q(mut self) -> Guess {
        if let (Level::Raid6, Layout::Parity(layout)) = (self.shape.level, self.shape.layout)
            && self.foreign.is_some()
            && self.order.last() == self.foreign.as_ref()
            && let Some(layout) = layout.name().strip_suffix("-6").and_then(ParityLayout::from_name)
        {
            self.shape =
                Shape { level: Level::Raid5, layout: Layout::Parity(layout), ..self.shape };
            self.order.pop();
            self.undecided.retain(|place| *place < self.order.len());
        }
        self
    }
}

/// Sorts the candidates, drops those that are mostly contradicted, and counts those that are as
/// good as the first.
fn rank(found: &mut Guesses) {
    let guesses = &mut found.guesses;
    // What the best supported candidate shows, the others have to show too.
    let supported = guesses
        .iter()
        .filter(|guess| guess.agreement >= AGREEMENT_SOUND)
        .max_by_key(|guess| guess.proofs);
    let shown: Vec<Message> = supported.map(|guess| guess.kinds().collect()).unwrap_or_default();
    for guess in &mut *guesses {
        guess.agreement = agreement(&guess.evidence, &shown);
    }
    guesses.retain(|guess| guess.agreement >= AGREEMENT_MIN);
    let key = |guess: &Guess| {
        (
            Reverse(guess.agreement),
            Reverse(guess.proofs),
            guess.foreign.is_some(),
            !guess.rank.0,
            guess.rank.1,
        )
    };
    // The shapes come in the order of how usual they are; among equals that stays.
    guesses.sort_by_key(key);
    found.equal = guesses.iter().take_while(|guess| key(guess) == key(&guesses[0])).count();
}

/// The mean over all kinds of the share that agrees, in millionths. A kind that is `shown` by
/// others and not looked at here has none.
fn agreement(evidence: &[Evidence], shown: &[Message]) -> u32 {
    let own = evidence.iter().filter(|row| row.proof != Proof::Shared);
    let lacking =
        shown.iter().filter(|kind| !evidence.iter().any(|row| row.kind == **kind)).count() as u64;
    let (shares, kinds) =
        own.fold((0, 0), |(shares, kinds), row| (shares + u64::from(row.share()), kinds + 1));
    (shares / (kinds + lacking).max(1)) as u32
}

/// How many checks prove something about order, chunk and layout.
fn proofs(evidence: &[Evidence]) -> u32 {
    let proofs = evidence.iter().map(|row| match row.proof {
        Proof::Place => row.fits,
        Proof::Relation => row.fits.min(RELATIONS_MAX),
        Proof::Plausible | Proof::Shared => 0,
    });
    proofs.sum()
}

fn guess_with_all(
    members: &dyn Members,
    known: &SearchLimits,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Guesses {
    let mut stopped = false;
    let mut go_on = || {
        stopped |= !progress(0, 0);
        !stopped
    };
    let samples = redundancy::samples(members, known.seed, SAMPLES, &mut go_on);
    let mut found = Guesses { samples: samples.len(), ..Guesses::default() };
    let reader = Reader::new(members);
    let relations = Relations::of(&samples, &reader);
    found.notes.extend(relations.notes());
    let levels = relations.levels(&reader, known);
    let mut work = Work {
        reader: &reader,
        samples: &samples,
        relations,
        keys: Keys::default(),
        guesses: Vec::new(),
        seen: HashSet::new(),
    };
    let shapes = shapes(&reader, &levels, known);
    for (number, shape) in shapes.iter().enumerate() {
        if stopped || !progress(number, shapes.len()) {
            stopped = true;
            break;
        }
        work.try_shape(shape);
    }
    found.is_related = work.relations.hold();
    found.guesses = work.guesses;
    rank(&mut found);
    found.read_bytes = reader.read_bytes();
    found.interrupted = stopped;
    found
}

/// What the samples show without any order.
struct Relations {
    count: usize,
    absent: usize,
    equal: Fit,
    sum: Fit,
    /// The same of those that are there.
    present_sum: Fit,
    weighted: Fit,
}

impl Relations {
    fn of(samples: &[Sample], reader: &Reader<'_>) -> Relations {
        let absent = (0..reader.count()).filter(|member| reader.is_absent(*member)).count();
        Relations {
            count: reader.count(),
            absent,
            equal: redundancy::equal(samples),
            sum: redundancy::sum(samples),
            present_sum: redundancy::sum_of_present(samples),
            weighted: redundancy::sum_of_all_but_one(samples),
        }
    }

    /// Whether every member goes with the others. That all but one add up to zero is Q's doing, or
    /// this one is foreign.
    fn hold(&self) -> bool {
        self.equal.holds() || self.absent == 0 && self.sum.holds()
    }

    /// The levels that the members can be of.
    fn levels(&self, reader: &Reader<'_>, known: &SearchLimits) -> Vec<Level> {
        let can_be = match self.absent {
            _ if self.count < 2 => vec![Level::Linear],
            _ if self.equal.holds() => vec![Level::Raid1],
            // Copies that lie side by side add up to zero too.
            0 if self.sum.holds() => vec![Level::Raid5, Level::Raid4, Level::Raid10],
            0 if self.weighted.holds() && self.count >= 4 => vec![Level::Raid6],
            // Too little is stored to exclude anything.
            0 if self.equal.of < 4 => vec![
                Level::Raid5,
                Level::Raid6,
                Level::Raid0,
                Level::Raid10,
                Level::Raid4,
                Level::Linear,
            ],
            0 => vec![Level::Raid0, Level::Raid10, Level::Linear],
            1 => vec![Level::Raid5, Level::Raid6, Level::Raid10, Level::Raid4],
            _ => vec![Level::Raid10],
        };
        let wanted = |level: &Level| known.levels.is_empty() || known.levels.contains(level);
        can_be
            .into_iter()
            .filter(|level| wanted(level) && (*level != Level::Raid6 || reader.count() >= 4))
            .collect()
    }

    fn notes(&self) -> Vec<Text> {
        let of = |message: Message, fit: Fit| statement!(message, fits = fit.fits, of = fit.of);
        let mut notes = Vec::new();
        if self.equal.holds() && self.count - self.absent >= 2 {
            notes.push(of(catalogue::ALL_HOLD_THE_SAME, self.equal));
        } else if self.sum.holds() {
            notes.push(of(catalogue::ALL_ADD_UP, self.sum));
        } else if self.weighted.holds() && self.count >= 4 {
            notes.push(of(catalogue::ALL_BUT_ONE_ADD_UP, self.weighted));
        } else if self.equal.of < 4 {
            notes.push(catalogue::HARDLY_ANYTHING_STORED.into());
        } else if self.absent == 0 {
            notes.push(catalogue::NO_PARITY_SHOWN.into());
        }
        if self.absent == 1 && self.present_sum.holds() && !self.equal.holds() {
            notes.push(of(catalogue::OTHERS_ADD_UP, self.present_sum));
        }
        if self.absent > 1 {
            notes.push(statement!(catalogue::NO_PARITY_WITHOUT, count = self.absent));
        }
        notes
    }
}

/// Every shape to try, the usual ones first.
fn shapes(reader: &Reader<'_>, levels: &[Level], known: &SearchLimits) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let chunks =
        if known.chunks_bytes.is_empty() { &CHUNKS_BYTES[..] } else { &known.chunks_bytes };
    for &level in levels {
        let chunks = if level.has_chunks() { chunks } else { &[0][..] };
        for &chunk_bytes in chunks {
            let offsets = match known.data_offsets_bytes.is_empty() {
                true => data_offsets(reader.smallest(), chunk_bytes),
                false => known.data_offsets_bytes.clone(),
            };
            for layout in layouts(level, reader, chunk_bytes) {
                let shape = |&data_offset_bytes: &u64| Shape {
                    level,
                    layout,
                    chunk_bytes,
                    data_offset_bytes,
                    below: None,
                };
                shapes.extend(offsets.iter().map(shape));
            }
        }
    }
    shapes
}

/// Where data may start, in bytes: where mdadm's rule puts them, where its older versions and other
/// metadata had them, and 0.
fn data_offsets(smallest: u64, chunk_bytes: u64) -> Vec<u64> {
    let chunk_sectors = (chunk_bytes / SECTOR_BYTES) as u32;
    let by_rule =
        [false, true].map(|ppl| data_offset_sectors(smallest / SECTOR_BYTES, chunk_sectors, ppl));
    // Version 1.2 and 1.1 without room (16, 24), with a bitmap (136, 272), from mdadm 3.2 on
    // (2048), then 128 MiB of room.
    let usual = [
        0, 2048, 4096, 6144, 8192, 10240, 18432, 34816, 67584, 133_120, 264_192, 262_144, 1024,
        272, 136, 24, 16,
    ];
    let mut offsets: Vec<u64> =
        by_rule.into_iter().chain(usual).map(|sectors| sectors * SECTOR_BYTES).collect();
    let mut seen = HashSet::new();
    offsets.retain(|offset| *offset < smallest && seen.insert(*offset));
    offsets
}

fn layouts(level: Level, reader: &Reader<'_>, chunk_bytes: u64) -> Vec<Layout> {
    let parity = |all: &[ParityLayout], same: &[ParityLayout]| {
        let usual = all.iter().filter(|layout| **layout == ParityLayout::LeftSymmetric);
        let others = all
            .iter()
            .filter(|layout| **layout != ParityLayout::LeftSymmetric && !same.contains(layout));
        usual.chain(others).map(|layout| Layout::Parity(*layout)).collect::<Vec<_>>()
    };
    match level {
        Level::Raid0 => {
            let sizes = reader.sizes();
            let agree =
                geometry::Raid0::new(&sizes, chunk_bytes.max(SECTOR_BYTES), Raid0Layout::Original)
                    .layouts_agree();
            let both = [Raid0Layout::Original, Raid0Layout::Alternate];
            both.iter()
                .take(if agree { 1 } else { 2 })
                .map(|layout| Layout::Raid0(Some(*layout)))
                .collect()
        }
        Level::Raid5 => {
            parity(ParityLayout::RAID5, &[ParityLayout::ParityFirst, ParityLayout::ParityLast])
        }
        Level::Raid6 => {
            parity(ParityLayout::RAID6, &[ParityLayout::ParityFirst, ParityLayout::ParityFirst6])
        }
        Level::Raid10 => ["n2", "f2", "o2", "n3", "f3", "o3", "n4"]
            .iter()
            .filter_map(|name| Raid10Layout::from_name(name))
            .filter(|layout| {
                layout.problem(reader.count()).is_none() && layout.near as usize != reader.count()
            })
            .map(Layout::Raid10)
            .collect(),
        _ => vec![Layout::Plain],
    }
}

struct Work<'a> {
    reader: &'a Reader<'a>,
    samples: &'a [Sample],
    relations: Relations,
    keys: Keys,
    guesses: Vec<Guess>,
    seen: HashSet<(String, Vec<usize>)>,
}

impl Work<'_> {
    fn try_shape(&mut self, shape: &Shape) {
        let count = self.reader.count();
        let sizes = self.reader.sizes();
        let level = shape.level;
        // The places of what all members have in common do not depend on the order.
        let Some(map) = Map::new(shape, &vec![self.reader.smallest(); count]) else { return };
        match level {
            Level::Linear => self.try_linear(shape, &sizes),
            Level::Raid1 => {
                let everybody = Order::known((0..count).map(Some).collect());
                let orders = self.after_openings(&map, AbsentSource::Unknown, &everybody, &[]);
                let orders = if orders.is_empty() { vec![everybody] } else { orders };
                orders.into_iter().for_each(|order| self.finish(shape, &sizes, &order, &[]));
            }
            _ => {
                let absent = absent_in(level);
                let compared =
                    if level == Level::Raid10 { self.compared(&map) } else { Vec::new() };
                let is_told = self.guesses.iter().any(|guess| guess.agreement >= AGREEMENT_SOUND);
                // Orders are looked for by copies only where there are any. With more than one
                // member missing there need not be.
                let is_copied = self.shows_copies(&map, &compared);
                if level == Level::Raid10
                    && !is_copied
                    && compared.len() >= COMPARED_MIN
                    && self.relations.absent <= 1
                {
                    return;
                }
                let mut orders = Vec::new();
                for order in told_by_q(self.samples, &mut self.keys, shape, &map) {
                    let known = Order::known(order.into_iter().map(Some).collect());
                    let followed = self.after_openings(&map, absent, &known, &[]);
                    orders.extend(if followed.is_empty() { vec![known] } else { followed });
                }
                if orders.is_empty() {
                    orders = self.after_openings(&map, absent, &Order::unknown(count), &compared);
                }
                if orders.is_empty() && is_copied && !is_told {
                    let search = Search::new(self.reader, &map, absent, &compared);
                    orders = search.from(Order::unknown(count), None);
                    orders.retain(|order| order.tally.fits() > 0);
                }
                orders.into_iter().for_each(|order| self.finish(shape, &sizes, &order, &compared));
            }
        }
    }

    /// The orders that the landmarks behind each opening lead to.
    fn after_openings(
        &self,
        map: &Map,
        absent: AbsentSource,
        start: &Order,
        compared: &[u64],
    ) -> Vec<Order> {
        let from = |opening: Landmark| {
            Search::new(self.reader, map, absent, compared).from(start.clone(), Some(opening))
        };
        openings(0).into_iter().flat_map(from).collect()
    }

    /// Where copies are compared: addresses of what the samples hold.
    fn compared(&self, map: &Map) -> Vec<u64> {
        let count = self.reader.count();
        let samples = self.samples.iter().enumerate();
        let address =
            |(number, sample): (usize, &Sample)| map.copied_at(number % count, sample.offset);
        samples.filter_map(address).take(COMPARED).collect()
    }

    /// Whether any two members hold the same where a shape has copies, be they in whatever place.
    fn shows_copies(&self, map: &Map, compared: &[u64]) -> bool {
        let mut spots = Vec::new();
        let sectors = |spot: &Spot| -> Vec<(usize, Sector)> {
            let sector = |member| Some((member, self.reader.sector(member, spot.offset)?));
            let held = (0..self.reader.count()).filter_map(sector);
            held.filter(|(_, sector)| !is_zero(sector)).collect()
        };
        compared.iter().any(|address| {
            map.spots(*address, &mut spots);
            let held: Vec<Vec<(usize, Sector)>> = spots.iter().map(sectors).collect();
            let Some((ones, others)) = held.split_first() else { return false };
            ones.iter().any(|(one, sector)| {
                others.iter().flatten().any(|(other, copy)| other != one && copy == sector)
            })
        })
    }

    /// Members one behind the other: the first has the opening, and each next one is looked for in
    /// turn.
    fn try_linear(&mut self, shape: &Shape, sizes: &[u64]) {
        let count = sizes.len();
        for opening in openings(0) {
            let mut prefixes: Vec<(i64, Vec<usize>, Order)> =
                vec![(0, Vec::new(), Order::unknown(count))];
            for _ in 0..count {
                let mut longer = Vec::new();
                for (_, prefix, _) in &prefixes {
                    for member in (0..count).filter(|member| !prefix.contains(member)) {
                        let mut members = prefix.clone();
                        members.push(member);
                        let rest = (0..count).filter(|member| !members.contains(member));
                        let ordered: Vec<u64> = members
                            .iter()
                            .copied()
                            .chain(rest)
                            .map(|member| sizes[member])
                            .collect();
                        let Some(map) = Map::new(shape, &ordered) else { return };
                        let mut start = Order::unknown(count);
                        members
                            .iter()
                            .enumerate()
                            .for_each(|(role, member)| start.members[role] = Some(*member));
                        let mut search = Search::new(self.reader, &map, AbsentSource::Unknown, &[]);
                        search.fills = false;
                        longer.extend(
                            search
                                .from(start, Some(opening.clone()))
                                .pop()
                                .map(|order| (gain(&order.tally), members, order)),
                        );
                    }
                }
                let best = longer.iter().map(|(gain, ..)| *gain).max();
                longer.retain(|(gain, ..)| Some(*gain) == best);
                longer.truncate(PREFIXES_MAX);
                prefixes = longer;
            }
            for (_, _, order) in prefixes {
                self.finish(shape, sizes, &order, &[]);
            }
        }
    }

    /// Fills places that are still empty, counts what speaks for the whole, and keeps it. Fillings
    /// that are equally good are all kept, unless nothing at all tells them apart.
    fn finish(&mut self, shape: &Shape, sizes: &[u64], order: &Order, compared: &[u64]) {
        let count = sizes.len();
        let empty: Vec<usize> = (0..count).filter(|role| order.members[*role].is_none()).collect();
        let left: Vec<usize> =
            (0..count).filter(|member| !order.members.contains(&Some(*member))).collect();
        let fillings = if left.len() <= FILLED_MAX { permutations(&left) } else { vec![left] };
        let mut tried = HashSet::new();
        let mut best: Vec<Guess> = Vec::new();
        for filling in fillings {
            let mut members = order.members.clone();
            empty.iter().zip(&filling).for_each(|(role, member)| members[*role] = Some(*member));
            let members = canonical(shape, members.into_iter().flatten().collect());
            if !tried.insert(members.clone()) {
                continue;
            }
            let Some(guess) = self.weigh(shape, sizes, members, order, compared) else { continue };
            let key = |guess: &Guess| (guess.agreement, guess.proofs);
            match best.first().map(key) {
                Some(first) if first > key(&guess) => (),
                Some(first) if first == key(&guess) => best.push(guess),
                _ => best = vec![guess],
            }
        }
        if best.len() == tried.len() && empty.len() > 1 {
            best.truncate(1);
            best.iter_mut().for_each(|guess| guess.undecided.clone_from(&empty));
        }
        for guess in best {
            if self.seen.insert((guess.shape.to_string(), guess.order.clone())) {
                self.guesses.push(guess);
            }
        }
    }

    /// Whether any member has something in the 4 KiB at `offset`.
    fn holds_something(&self, offset: u64) -> bool {
        let is_used = |member, number| {
            self.reader
                .sector(member, offset + number * SECTOR_BYTES)
                .is_some_and(|sector| !is_zero(&sector))
        };
        (0..self.reader.count()).any(|member| (0..8).any(|number| is_used(member, number)))
    }

    fn weigh(
        &self,
        shape: &Shape,
        sizes: &[u64],
        members: Vec<usize>,
        order: &Order,
        compared: &[u64],
    ) -> Option<Guess> {
        let ordered: Vec<u64> = members.iter().map(|member| sizes[*member]).collect();
        let map = Map::new(shape, &ordered)?;
        // Every landmark once more, with all members in their places: so candidates can be
        // compared.
        let known = Order::known(members.iter().copied().map(Some).collect());
        let with_parity = shape.below.map_or(shape.level, |below| below.level);
        let mut search = Search::new(self.reader, &map, absent_in(with_parity), compared);
        search.is_patient = true;
        let mut tally = search.from(known, order.opening().cloned()).pop()?.tally;
        let in_data = |sample: &&Sample| sample.offset >= shape.data_offset_bytes;
        let mut count = |kind: Message, proof: Proof, fit: Fit| {
            (0..fit.of).for_each(|number| tally.count(kind, proof, number < fit.fits));
        };
        match shape.level {
            Level::Raid1 => count(COPIES, Proof::Relation, self.relations.equal),
            Level::Raid4 | Level::Raid5 => {
                let inside = self.samples.iter().filter(in_data);
                let fits = inside
                    .clone()
                    .filter(|sample| sample.sectors.iter().all(Option::is_some))
                    .count() as u32;
                let fit = Fit { fits: fits.min(self.relations.sum.fits), of: fits };
                count(catalogue::ROWS_WITH_P, Proof::Shared, fit);
            }
            Level::Raid6 => {
                count(ROWS, Proof::Relation, weighted_rows(self.samples, &map, &members));
            }
            Level::Raid0 if shape.below.is_some_and(|below| below.level == Level::Raid6) => {
                let fit = nested::weighted_rows(self.samples, &map, &members);
                count(ROWS, Proof::Relation, fit);
            }
            _ => (),
        }
        let fits: u32 = tally.0.iter().map(|row| row.fits).sum();
        let agreement = agreement(&tally.0, &[]);
        if fits < FITS_MIN || agreement < AGREEMENT_MIN {
            return None;
        }
        // What is before the data is zero, but for superblocks and their company.
        let early = if shape.data_offset_bytes > 0 && self.holds_something(0) { 8 } else { 0 };
        let before = early
            + self
                .samples
                .iter()
                .filter(|sample| (64 << 10..shape.data_offset_bytes).contains(&sample.offset))
                .count();
        let begins = self.holds_something(shape.data_offset_bytes);
        Some(Guess {
            shape: *shape,
            undecided: Vec::new(),
            size_bytes: map.size_bytes(),
            agreement,
            proofs: proofs(&tally.0),
            foreign: None,
            evidence: tally.0,
            rank: (begins, before),
            order: members,
        })
    }
}

/// Which of several members goes on best where the others end.
fn gain(tally: &Tally) -> i64 {
    i64::from(tally.fits()) - 2 * i64::from(tally.misfits())
}

/// What an absent member is made from.
fn absent_in(level: Level) -> AbsentSource {
    match level {
        Level::Raid4 | Level::Raid5 => AbsentSource::Sum,
        Level::Raid6 => AbsentSource::SumWithoutQ,
        _ => AbsentSource::Unknown,
    }
}

fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (index, first) in of.iter().enumerate() {
        let mut rest = of.to_vec();
        rest.remove(index);
        all.extend(permutations(&rest).into_iter().map(|tail| [vec![*first], tail].concat()));
    }
    all
}

/// Members that hold the same copies are put in the order in which they were named: the array is
/// the same.
fn canonical(shape: &Shape, mut members: Vec<usize>) -> Vec<usize> {
    if let Layout::Raid10(layout) = shape.layout
        && layout.far == 1
        && members.len().is_multiple_of(layout.near as usize)
    {
        members.chunks_mut(layout.near as usize).for_each(<[usize]>::sort_unstable);
    }
    members
}

impl fmt::Display for Guess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let evidence: Vec<String> = self.evidence.iter().map(ToString::to_string).collect();
        write!(
            f,
            "{}, order {:?}, {} of 1000 agree: {}",
            self.shape,
            self.order,
            self.agreement / (WHOLE / 1000),
            evidence.join(", ")
        )
    }
}

impl Guess {
    /// The kinds of evidence that speak for it, those left out that all candidates share.
    fn kinds(&self) -> impl Iterator<Item = Message> {
        self.evidence
            .iter()
            .filter(|row| row.proof != Proof::Shared && row.fits > 0)
            .map(|row| row.kind)
    }

    /// The share that agrees of the kind of which the least does, in millionths.
    fn least(&self) -> u32 {
        self.evidence
            .iter()
            .filter(|row| row.proof != Proof::Shared)
            .map(Evidence::share)
            .min()
            .unwrap_or(0)
    }

    /// Whether a member may not belong to the others: something speaks against it, or a file system
    /// on the first member alone looks like members one behind the other.
    fn is_suspicious(&self) -> bool {
        self.shape.level == Level::Linear || self.least() < SUSPICIOUS_BELOW
    }

    /// The members that a mirror does without, as what they hold is not everywhere what the first
    /// copy is: one of them is older, and a mixture is no state that there was.
    pub(crate) fn unlike_copies(&self) -> Vec<usize> {
        let differ = self.evidence.iter().any(|row| row.kind == COPIES && row.misfits > 0);
        let copies = match (self.shape.level, self.shape.layout) {
            (Level::Raid1, _) => self.order.len(),
            (_, Layout::Raid10(layout)) if layout.far == 1 => layout.near as usize,
            _ => 1,
        };
        let is_first = |slot: usize| slot.is_multiple_of(copies);
        let unlike = self.order.iter().enumerate().filter(|(slot, _)| !is_first(*slot));
        let unlike = unlike.map(|(_, member)| *member).collect();
        if differ && self.order.len().is_multiple_of(copies) { unlike } else { Vec::new() }
    }

    /// The stack that the guess stands for; `None` among the members is a missing one.
    #[must_use]
    pub fn tree<S: Clone + Into<MemberSource>>(&self, members: &[Option<S>]) -> Node {
        self.tree_over(|member, offset_bytes| match &members[member] {
            Some(source) => source.clone().into().part(offset_bytes, None).node(),
            None => Node::Missing,
        })
    }

    /// The same over what `part` makes of a member from an offset on.
    pub(crate) fn tree_over(&self, part: impl Fn(usize, u64) -> Node) -> Node {
        let shape = &self.shape;
        let child = |member: &usize| match (self.foreign, shape.below) {
            (Some(foreign), _) if foreign == *member => Node::Missing,
            (_, Some(below)) => part(*member, below.data_offset_bytes),
            (_, None) => part(*member, shape.data_offset_bytes),
        };
        let children: Vec<Node> = self.order.iter().map(child).collect();
        let Some(below) = shape.below else { return shape.node(children) };
        let inner = children.chunks(below.members).map(|children| {
            let inner = below.shape().node(children.to_vec());
            super::node_from(inner, shape.data_offset_bytes)
        });
        shape.node(inner.collect())
    }
}
