//! The search for the order of members: landmarks are followed one after the other, and a place
//! gets its member when the first landmark falls into it.
//!
//! ```text
//!   landmark ──> place of the layout ── has a member? ── yes: its sector is checked
//!                                            └── no: every member left is tried, and the right ones go on
//! ```
//!
//! So permutations are never listed: a wrong member ends at its first landmark. A landmark that is
//! merely plausible waits until its place has a member: the right member may hold nothing there,
//! and a wrong one something alike. When nothing else is left, a place is tried with each member
//! that it goes with, and without any.

use words::Message;

use super::evidence::{Proof, Tally};
use super::landmarks::{Landmark, Verdict};
use super::reader::{Reader, Sector, is_zero};
use super::shape::{Map, Spot};
use crate::catalogue;

/// How many landmarks are looked at in one order of members.
const LANDMARKS_MAX: usize = 4000;
/// How many steps one shape may take, and how many orders are kept of it.
const STEPS_MAX: u32 = 60_000;
const ORDERS_MAX: usize = 64;
/// So many landmarks may be missing before an order is given up, and one more for each that is
/// there.
const MISSES_MIN: u32 = 3;

/// An order of members, as far as it is known, and what speaks for it.
#[derive(Clone)]
pub(super) struct Order {
    /// The member in each place.
    pub(super) members: Vec<Option<usize>>,
    pub(super) tally: Tally,
    queue: Vec<Landmark>,
    next: usize,
    /// Plausible ones whose places have no member yet.
    waiting: Vec<Landmark>,
    /// Places that get no member by what is merely plausible.
    closed: Vec<bool>,
    /// Array addresses whose copies are compared when the landmarks are at an end.
    copies: usize,
}

impl Order {
    /// No member is anywhere yet.
    pub(super) fn unknown(count: usize) -> Order {
        Order::known(vec![None; count])
    }

    pub(super) fn known(members: Vec<Option<usize>>) -> Order {
        let closed = vec![false; members.len()];
        Order {
            members,
            tally: Tally::default(),
            queue: Vec::new(),
            next: 0,
            waiting: Vec::new(),
            closed,
            copies: 0,
        }
    }

    /// The landmark that all others were reached from.
    pub(super) fn opening(&self) -> Option<&Landmark> {
        self.queue.first()
    }

    fn is_used(&self, member: usize) -> bool {
        self.members.contains(&Some(member))
    }

    fn take(&mut self, landmark: &Landmark, verdict: Verdict) {
        match verdict {
            Verdict::There(more) => {
                self.tally.count(landmark.kind, landmark.proof, true);
                let room = LANDMARKS_MAX.saturating_sub(self.queue.len());
                self.queue.extend(more.into_iter().take(room));
            }
            Verdict::Missing => self.tally.count(landmark.kind, landmark.proof, false),
            Verdict::Nothing => (),
        }
    }

    fn is_hopeless(&self) -> bool {
        self.tally.misfits() > MISSES_MIN + self.tally.fits()
    }
}

/// What an absent member is made from while landmarks are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AbsentSource {
    /// Nothing, or copies.
    Unknown,
    /// The sum of all others: levels 4 and 5.
    Sum,
    /// The sum of all others but Q.
    SumWithoutQ,
}

/// Follows landmarks in one shape.
pub(super) struct Search<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) map: &'a Map,
    /// What an absent member is made from.
    pub(super) absent: AbsentSource,
    /// Addresses of the array at which its copies are compared; none for levels without.
    pub(super) compared: &'a [u64],
    /// Whether places without a member are to get one.
    pub(super) fills: bool,
    /// Whether an order is followed to its end even where hardly anything fits, so that all orders
    /// are compared on the same landmarks.
    pub(super) is_patient: bool,
    /// Whether what the array begins with is looked for.
    has_opening: bool,
    steps: u32,
    found: Vec<Order>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        reader: &'a Reader<'a>,
        map: &'a Map,
        absent: AbsentSource,
        compared: &'a [u64],
    ) -> Search<'a> {
        Search {
            reader,
            map,
            absent,
            compared,
            fills: true,
            is_patient: false,
            has_opening: false,
            steps: STEPS_MAX,
            found: Vec::new(),
        }
    }

    /// Every order that `start` leads to from this landmark on; none when it is not there.
    pub(super) fn from(mut self, start: Order, opening: Option<Landmark>) -> Vec<Order> {
        self.has_opening = opening.is_some();
        let start = Order { queue: opening.into_iter().collect(), ..start };
        self.follow(start);
        self.found
    }

    fn read(&self, order: &Order, member: usize, offset: u64) -> Option<Sector> {
        if !self.reader.is_absent(member) {
            return self.reader.sector(member, offset);
        }
        let but = match self.absent {
            AbsentSource::Unknown => return None,
            AbsentSource::Sum => None,
            AbsentSource::SumWithoutQ => {
                let place = order.members.iter().position(|it| *it == Some(member));
                Some(order.members[self.map.q_beside(place, offset)?]?)
            }
        };
        self.reader.sum_of_others(member, but, offset)
    }

    fn follow(&mut self, mut order: Order) {
        let mut spots = Vec::new();
        loop {
            let Some(left) = self.steps.checked_sub(1).filter(|_| self.found.len() < ORDERS_MAX)
            else {
                return;
            };
            self.steps = left;
            if !self.is_patient && order.is_hopeless() {
                return;
            }
            let branches = if let Some(landmark) = order.queue.get(order.next).cloned() {
                order.next += 1;
                self.map.spots(landmark.address, &mut spots);
                self.step(&mut order, &landmark, &spots)
            } else if self.release(&mut order, &mut spots) {
                None
            } else if let Some(number) = self.first_open(&order, &mut spots) {
                let landmark = order.waiting.remove(number);
                self.map.spots(landmark.address, &mut spots);
                Some(self.try_plausible(order.clone(), &landmark, &spots))
            } else if self.has_opening && order.tally.fits() == 0 {
                // An opening that no member has is no order at all.
                return;
            } else if let Some(&address) = self.compared.get(order.copies) {
                order.copies += 1;
                self.map.spots(address, &mut spots);
                self.compare(&mut order, &spots)
            } else {
                self.found.push(order);
                return;
            };
            match branches {
                None => (),
                Some(branches) => {
                    branches.into_iter().for_each(|branch| self.follow(branch));
                    return;
                }
            }
        }
    }

    /// Checks one landmark; the orders to go on with when it is not this one alone.
    fn step(
        &mut self,
        order: &mut Order,
        landmark: &Landmark,
        spots: &[Spot],
    ) -> Option<Vec<Order>> {
        if spots.is_empty() {
            order.tally.count(landmark.kind, landmark.proof, false);
            return None;
        }
        let known =
            spots.iter().find_map(|spot| self.read(order, order.members[spot.role]?, spot.offset));
        if let Some(sector) = known {
            order.take(landmark, landmark.check(&sector));
            return None;
        }
        if landmark.proof == Proof::Plausible {
            order.waiting.push(landmark.clone());
            return None;
        }
        let empty = spots.iter().filter(|spot| order.members[spot.role].is_none() && self.fills);
        // The absent member may be the one that has the first copy.
        let tried = if self.reader.has_absent() { spots.len() } else { 1 };
        let (mut branches, mut wrong) = (Vec::new(), false);
        for spot in empty.take(tried) {
            for member in (0..order.members.len()).filter(|member| !order.is_used(*member)) {
                let Some(sector) = self.read(order, member, spot.offset) else { continue };
                match landmark.check(&sector) {
                    Verdict::There(more) => {
                        let mut branch = order.clone();
                        branch.members[spot.role] = Some(member);
                        branch.take(landmark, Verdict::There(more));
                        branches.push(branch);
                    }
                    Verdict::Missing => wrong = true,
                    Verdict::Nothing => (),
                }
            }
        }
        match branches.len() {
            0 => {
                if wrong {
                    order.tally.count(landmark.kind, landmark.proof, false);
                }
                None
            }
            1 => {
                *order = branches.swap_remove(0);
                None
            }
            _ => Some(branches),
        }
    }

    /// Queues the landmarks whose places got their members while they waited; whether there are
    /// any.
    fn release(&self, order: &mut Order, spots: &mut Vec<Spot>) -> bool {
        let waiting = std::mem::take(&mut order.waiting);
        let (known, waiting): (Vec<Landmark>, Vec<Landmark>) =
            waiting.into_iter().partition(|landmark| {
                self.map.spots(landmark.address, spots);
                spots.iter().any(|spot| {
                    order.members[spot.role]
                        .is_some_and(|member| self.read(order, member, spot.offset).is_some())
                })
            });
        order.waiting = waiting;
        order.queue.extend(known.iter().cloned());
        !known.is_empty()
    }

    /// The first landmark that waits for a place that may get its member by it.
    fn first_open(&self, order: &Order, spots: &mut Vec<Spot>) -> Option<usize> {
        order.waiting.iter().position(|landmark| {
            self.map.spots(landmark.address, spots);
            self.fills
                && spots.first().is_some_and(|spot| {
                    order.members[spot.role].is_none() && !order.closed[spot.role]
                })
        })
    }

    /// One order for each member that the landmark goes with, and one in which its place stays
    /// empty.
    fn try_plausible(&self, mut order: Order, landmark: &Landmark, spots: &[Spot]) -> Vec<Order> {
        let Some(spot) = spots.first() else { return vec![order] };
        let mut branches = Vec::new();
        for member in (0..order.members.len()).filter(|member| !order.is_used(*member)) {
            let Some(sector) = self.read(&order, member, spot.offset) else { continue };
            if let Verdict::There(more) = landmark.check(&sector) {
                let mut branch = order.clone();
                branch.members[spot.role] = Some(member);
                branch.take(landmark, Verdict::There(more));
                branches.push(branch);
            }
        }
        // No member has it: the next that waits for this place may tell more.
        order.closed[spot.role] = !branches.is_empty();
        branches.push(order);
        branches
    }

    /// Compares the copies of a sector. Two places that have no member yet get every two that hold
    /// the same.
    fn compare(&mut self, order: &mut Order, spots: &[Spot]) -> Option<Vec<Order>> {
        let known: Vec<Option<Sector>> = spots
            .iter()
            .map(|spot| {
                order.members[spot.role].and_then(|member| self.reader.sector(member, spot.offset))
            })
            .collect();
        let present: Vec<&Sector> = known.iter().flatten().collect();
        if let [first, others @ ..] = &present[..]
            && !others.is_empty()
        {
            if !present.iter().all(|sector| is_zero(sector)) {
                order.tally.count(
                    COPIES,
                    Proof::Relation,
                    others.iter().all(|other| other == first),
                );
            }
            return None;
        }
        let candidates = |order: &Order, spot: &Spot| -> Vec<(usize, Sector)> {
            let members = match order.members[spot.role] {
                Some(member) => vec![member],
                None => (0..order.members.len()).filter(|member| !order.is_used(*member)).collect(),
            };
            let read = members
                .into_iter()
                .filter_map(|member| Some((member, self.reader.sector(member, spot.offset)?)));
            read.filter(|(_, sector)| !is_zero(sector)).collect()
        };
        let [one, two, ..] = spots else { return None };
        let mut branches = Vec::new();
        let (ones, twos) = (candidates(order, one), candidates(order, two));
        for (first, sector) in &ones {
            for (second, copy) in twos.iter().filter(|(second, _)| second != first) {
                if sector == copy {
                    let mut branch = order.clone();
                    branch.members[one.role] = Some(*first);
                    branch.members[two.role] = Some(*second);
                    branch.tally.count(COPIES, Proof::Relation, true);
                    branches.push(branch);
                }
            }
        }
        if branches.is_empty() {
            if !ones.is_empty() && !twos.is_empty() && !self.reader.has_absent() {
                order.tally.count(COPIES, Proof::Relation, false);
            }
            return None;
        }
        Some(branches)
    }
}

/// What copies that agree are called in the explanation.
pub(super) const COPIES: Message = catalogue::COPIES_AGREE;
