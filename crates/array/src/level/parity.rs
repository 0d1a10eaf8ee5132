//! Parity: RAID 4, 5 and 6.
//!
//! A plan works on one row, on the range of its chunks (its *span*) in which anything is written or
//! missing:
//!
//! ```text
//!            data 0    data 1    data 2    P
//!   span ┌            |.new.|   |.new.|   |....|   written from the middle of chunk 1 into chunk 2
//!        └  |....|    |.new.|             |....|
//! ```
//!
//! Writes bring parity up to date in one of two ways, whichever reads less, and if both read as
//! much the second: other members read than write, so that no disk waits a turn to write what it
//! has just read. Read-modify-write reads what is overwritten, and the parity, and takes the
//! difference into it. Reconstruct-write reads the rest of the row and computes parity anew. A full
//! row needs no read. Where neither can be
//! had, for a chunk that is absent and of which a part is needed, the row's old data are made whole
//! first.
//!
//! Writes lock their span, for parity depends on all of the row. So do reads that make up for a
//! member: between the data and the parity of a write they would find a row whose parity is not
//! that of its data. Plain reads lock nothing.
//!
//! A discard is a write of zeroes here, and only to be had if all members' discarded blocks read as
//! zeroes: nothing else would leave parity true.

use block::{DiscardSupport, Info, Stripe, size_text};

use super::definition::{
    Faults, Level, LevelTraits, PlanResult, SYNC_PLAN_BYTES, TooManyAbsent, optimal_bytes,
};
use crate::geometry::{Parity, ParityLayout, Row};
use crate::member::MemberSet;
use crate::parity::{inverse, power};
use crate::part::{Action, Part, Spot, SyncRange, SyncTask};
use crate::plan::{Access, ByteSite, Computation, Content, Plan, RowLock, content_of};
use crate::queues::Queues;

/// The levels whose redundancy is arithmetic.
#[derive(Debug)]
pub struct ParityLevel {
    geometry: Parity,
    name: &'static str,
}

/// The range of a row that a plan works on, and what of it the piece covers.
struct Cut {
    row: Row,
    number: u64,
    chunk_bytes: u64,
    /// The first data chunk and where the piece begins in it, the last one and where it ends there.
    first: (usize, u64),
    last: (usize, u64),
}

/// What a piece covers of one chunk.
#[derive(Clone, Copy)]
struct Segment {
    index: usize,
    member: usize,
    /// In the chunk, in bytes.
    from: u64,
    to: u64,
    /// In the piece, in bytes.
    start: u64,
}

impl Cut {
    /// Where the piece begins in the row: what it covers of each chunk follows.
    fn new(geometry: &Parity, piece: Part) -> Cut {
        let (number, start) = geometry.locate(piece.offset);
        let first = geometry.locate_in_row(start);
        let (index, before_end) = geometry.locate_in_row(start + piece.length - 1);
        Cut {
            row: geometry.row(number),
            number,
            chunk_bytes: geometry.chunk_bytes(),
            first,
            last: (index, before_end + 1),
        }
    }

    /// A range of all chunks of a row: what it covers of chunk 0.
    fn of_members(geometry: &Parity, range: SyncRange) -> Cut {
        let chunk_bytes = geometry.chunk_bytes();
        let (number, from) = (range.offset / chunk_bytes, range.offset % chunk_bytes);
        Cut {
            row: geometry.row(number),
            number,
            chunk_bytes,
            first: (0, from),
            last: (0, from + range.length),
        }
    }

    /// The smallest range that holds all that the piece covers of the chunks.
    fn span(&self) -> (u64, u64) {
        if self.first.0 == self.last.0 {
            (self.first.1, self.last.1)
        } else {
            (0, self.chunk_bytes)
        }
    }

    fn span_bytes(&self) -> u64 {
        self.span().1 - self.span().0
    }

    fn segment(&self, index: usize) -> Option<Segment> {
        if index < self.first.0 || index > self.last.0 {
            return None;
        }
        let from = if index == self.first.0 { self.first.1 } else { 0 };
        let to = if index == self.last.0 { self.last.1 } else { self.chunk_bytes };
        let start = (index - self.first.0) as u64 * self.chunk_bytes + from - self.first.1;
        Some(Segment { index, member: self.row.member(index), from, to, start })
    }

    fn segments(&self) -> impl Iterator<Item = Segment> {
        (self.first.0..=self.last.0).filter_map(|index| self.segment(index))
    }

    fn covers_span(&self, index: usize) -> bool {
        self.segment(index).is_some_and(|segment| (segment.from, segment.to) == self.span())
    }

    /// What of the span the piece does not cover of a chunk: one range, for only the first and the
    /// last chunk are covered in part, one to its end and the other from its beginning.
    fn uncovered(&self, index: usize) -> Option<(u64, u64)> {
        let (low, high) = self.span();
        let range = match self.segment(index) {
            None => (low, high),
            Some(segment) if segment.from > low => (low, segment.from),
            Some(segment) => (segment.to, high),
        };
        (range.0 < range.1).then_some(range)
    }

    /// The span in ranges on each of which a chunk is either covered or not.
    fn bands(&self) -> impl Iterator<Item = (u64, u64)> {
        let (low, high) = self.span();
        let (one, other) =
            (self.first.1.min(self.last.1).max(low), self.first.1.max(self.last.1).min(high));
        [(low, one), (one, other), (other, high)].into_iter().filter(|(from, to)| from < to)
    }

    fn lock(&self) -> RowLock {
        let (from, to) = self.span();
        RowLock { row: self.number, from, to }
    }

    fn access<C>(&self, member: usize, (from, to): (u64, u64), content: C) -> Access<C> {
        let offset = self.number * self.chunk_bytes + from;
        Access { member, offset, length: to - from, content }
    }

    /// A write of what lies in the host's buffer or in scratch.
    fn write(&self, member: usize, range: (u64, u64), place: ByteSite) -> Access<Content> {
        self.access(member, range, Content::Bytes(place))
    }

    /// The members that hold parity and are not absent.
    fn present_parity(&self, faults: &Faults) -> (Option<usize>, Option<usize>) {
        let present = |member: &usize| !faults.absent.contains(*member);
        (Some(self.row.p).filter(present), self.row.q.filter(present))
    }

    fn is_hidden(&self, index: usize, faults: &Faults) -> bool {
        faults.hide(self.row.member(index))
    }

    fn coefficient(&self, index: usize) -> u8 {
        power(self.row.exponent(self.row.member(index)))
    }
}

fn scratch(plan: &mut Plan, length: u64) -> ByteSite {
    plan.scratch.push(length);
    ByteSite::Scratch { buffer: plan.scratch.len() - 1, start: 0 }
}

impl ParityLevel {
    /// RAID 4: the parity of each row is on the last member.
    ///
    /// # Panics
    /// When there are fewer than two members, or the chunk is 0.
    #[must_use]
    pub fn raid4(members: usize, member_bytes: u64, chunk_bytes: u64) -> ParityLevel {
        ParityLevel {
            geometry: Parity::with_p(members, member_bytes, chunk_bytes, ParityLayout::ParityLast),
            name: "raid4",
        }
    }

    /// RAID 5.
    ///
    /// # Panics
    /// As [`Parity::with_p`].
    #[must_use]
    pub fn raid5(
        members: usize,
        member_bytes: u64,
        chunk_bytes: u64,
        layout: ParityLayout,
    ) -> ParityLevel {
        ParityLevel {
            geometry: Parity::with_p(members, member_bytes, chunk_bytes, layout),
            name: "raid5",
        }
    }

    /// RAID 6.
    ///
    /// # Panics
    /// As [`Parity::with_p_and_q`].
    #[must_use]
    pub fn raid6(
        members: usize,
        member_bytes: u64,
        chunk_bytes: u64,
        layout: ParityLayout,
    ) -> ParityLevel {
        ParityLevel {
            geometry: Parity::with_p_and_q(members, member_bytes, chunk_bytes, layout),
            name: "raid6",
        }
    }

    /// Where everything lies.
    #[must_use]
    pub fn geometry(&self) -> &Parity {
        &self.geometry
    }

    /// As much of the part as lies in one row, and not the end of one chunk with the beginning of
    /// the next if something is between them: its span would be two whole chunks.
    fn row_piece_bytes(&self, part: Part) -> u64 {
        let (_, start) = self.geometry.locate(part.offset);
        let length = part.length.min(self.geometry.row_bytes() - start);
        let cut = Cut::new(&self.geometry, Part { length, ..part });
        let is_apart = cut.last.0 == cut.first.0 + 1 && cut.first.1 > cut.last.1;
        if is_apart { self.geometry.chunk_bytes() - cut.first.1 } else { length }
    }

    /// A read of data that are all there.
    fn plan_plain_read(&self, piece: Part, plan: &mut Plan) {
        let mut start = 0;
        while start < piece.length {
            let (number, within) = self.geometry.locate(piece.offset + start);
            let (index, from) = self.geometry.locate_in_row(within);
            let length = (self.geometry.chunk_bytes() - from).min(piece.length - start);
            let offset = number * self.geometry.chunk_bytes() + from;
            let member = self.geometry.row(number).member(index);
            plan.read.push(Access { member, offset, length, content: ByteSite::Host { start } });
            start += length;
        }
    }

    /// A read of data of which some are on members that do not give them.
    fn plan_degraded_read(&self, cut: &Cut, faults: &Faults, plan: &mut Plan) -> PlanResult {
        plan.lock = Some(cut.lock());
        let is_bad = |index: usize| faults.mend(cut.row.member(index));
        // What is written back afterwards cannot lie in a read's own buffer.
        plan_whole(cut, faults, plan, |index| cut.covers_span(index) && !is_bad(index))?;
        for segment in cut.segments() {
            let place = plan.read[segment.index].content;
            if let ByteSite::Scratch { .. } = place {
                let from = place.after(segment.from - cut.span().0);
                let into = ByteSite::Host { start: segment.start };
                plan.compute.push(Computation::Copy {
                    from,
                    into,
                    length: segment.to - segment.from,
                });
            }
        }
        for index in (0..cut.row.data_count()).filter(|&index| is_bad(index)) {
            let place = plan.read[index].content;
            plan.write.push(cut.write(cut.row.member(index), cut.span(), place));
        }
        Ok(())
    }

    fn plan_write(
        &self,
        action: Action,
        cut: &Cut,
        faults: &Faults,
        plan: &mut Plan,
    ) -> PlanResult {
        self.holds_all(&faults.missing())?;
        plan.lock = Some(cut.lock());
        let (p, q) = cut.present_parity(faults);
        let parity = [p, q].into_iter().flatten();
        if parity.clone().next().is_some() {
            let all = 0..cut.row.data_count();
            let is_full = all.clone().all(|index| cut.covers_span(index));
            if is_full && action != Action::Write {
                // The parity of zeroes is zero.
                plan.write.extend(
                    parity.map(|member| cut.access(member, cut.span(), content_of(action, 0))),
                );
            } else {
                let modify_bytes: u64 =
                    cut.segments().map(|segment| segment.to - segment.from).sum::<u64>()
                        + parity.clone().count() as u64 * cut.span_bytes();
                let can_modify = cut.segments().all(|segment| !faults.hide(segment.member))
                    && parity.clone().all(|member| !faults.hide(member));
                let rest_bytes: u64 = all
                    .clone()
                    .filter_map(|index| cut.uncovered(index))
                    .map(|(from, to)| to - from)
                    .sum();
                let can_reconstruct = all
                    .clone()
                    .all(|index| cut.uncovered(index).is_none() || !cut.is_hidden(index, faults));
                match (can_modify, can_reconstruct) {
                    (true, true) if modify_bytes < rest_bytes => {
                        plan_modify(action, cut, (p, q), plan);
                    }
                    (true, false) => plan_modify(action, cut, (p, q), plan),
                    (_, true) => {
                        // Old data of chunk i, if any is needed, begin at sources[i].
                        plan.sources.resize(cut.row.data_count(), None);
                        for index in all {
                            if let Some((from, to)) = cut.uncovered(index) {
                                let old = scratch(plan, to - from);
                                plan.sources[index] = Some(old);
                                plan.read.push(cut.access(cut.row.member(index), (from, to), old));
                            }
                        }
                        plan_parity(action, cut, (p, q), plan, |index| {
                            cut.uncovered(index).map_or(0, |(from, _)| from)
                        });
                    }
                    (false, false) => {
                        plan_whole(cut, faults, plan, |_| false)?;
                        plan_parity(action, cut, (p, q), plan, |_| cut.span().0);
                    }
                }
            }
        }
        let present = cut.segments().filter(|segment| !faults.absent.contains(segment.member));
        plan.write.extend(present.map(|segment| {
            let content = content_of(action, segment.start);
            cut.access(segment.member, (segment.from, segment.to), content)
        }));
        Ok(())
    }
}

/// Read-modify-write: the difference between old and new data goes into parity.
fn plan_modify(action: Action, cut: &Cut, (p, q): (Option<usize>, Option<usize>), plan: &mut Plan) {
    let (low, _) = cut.span();
    let mut parity = |member: Option<usize>| {
        member.map(|member| {
            let place = scratch(plan, cut.span_bytes());
            plan.read.push(cut.access(member, cut.span(), place));
            plan.write.push(cut.write(member, cut.span(), place));
            place
        })
    };
    let (p, q) = (parity(p), parity(q));
    for segment in cut.segments() {
        let length = segment.to - segment.from;
        let change = scratch(plan, length);
        plan.read.push(cut.access(segment.member, (segment.from, segment.to), change));
        if action == Action::Write {
            plan.compute.push(Computation::Xor {
                from: ByteSite::Host { start: segment.start },
                into: change,
                length,
            });
        }
        if let Some(p) = p {
            plan.compute.push(Computation::Xor {
                from: change,
                into: p.after(segment.from - low),
                length,
            });
        }
        if let Some(q) = q {
            let (coefficient, into) = (cut.coefficient(segment.index), q.after(segment.from - low));
            plan.compute.push(Computation::MultiplyXor { coefficient, from: change, into, length });
        }
    }
}

/// Parity from all of the row: new data where the piece covers a chunk, elsewhere old ones, which
/// for chunk i are at `sources[i]` from `old_start(i)` of the chunk on.
fn plan_parity(
    action: Action,
    cut: &Cut,
    (p, q): (Option<usize>, Option<usize>),
    plan: &mut Plan,
    old_start: impl Fn(usize) -> u64,
) {
    let (low, _) = cut.span();
    let p_place = scratch(plan, cut.span_bytes());
    let q_place = q.map(|_| scratch(plan, cut.span_bytes()));
    let count = if q.is_some() { cut.row.term_count() } else { cut.row.data_count() };
    for (from, to) in cut.bands() {
        let first = plan.sources.len();
        plan.sources.resize(first + count, None);
        for index in 0..cut.row.data_count() {
            let term = if q.is_some() { cut.row.exponent(cut.row.member(index)) } else { index };
            let covering =
                cut.segment(index).filter(|segment| segment.from <= from && to <= segment.to);
            plan.sources[first + term] = match covering {
                Some(segment) if action == Action::Write => {
                    Some(ByteSite::Host { start: segment.start + from - segment.from })
                }
                Some(_) => None,
                None => plan.sources[index].map(|place| place.after(from - old_start(index))),
            };
        }
        let (p, q) = (p_place.after(from - low), q_place.map(|q| q.after(from - low)));
        plan.compute.push(Computation::Parity { first, count, p, q, length: to - from });
    }
    plan.write.extend(p.map(|member| cut.write(member, cut.span(), p_place)));
    plan.write.extend(q.zip(q_place).map(|(member, place)| cut.write(member, cut.span(), place)));
}

/// P, and Q if it is wanted, of data chunks whose bytes over the span are in `places`.
fn plan_row_parity(cut: &Cut, places: &[ByteSite], with_q: bool, plan: &mut Plan) -> [ByteSite; 2] {
    let length = cut.span_bytes();
    let p = scratch(plan, length);
    let q = with_q.then(|| scratch(plan, length));
    let first = plan.sources.len();
    let count = if with_q { cut.row.term_count() } else { places.len() };
    plan.sources.resize(first + count, None);
    for (index, &place) in places.iter().enumerate() {
        let term = if with_q { cut.row.exponent(cut.row.member(index)) } else { index };
        plan.sources[first + term] = Some(place);
    }
    plan.compute.push(Computation::Parity { first, count, p, q, length });
    [p, q.unwrap_or(p)]
}

/// All of the row's old data over the span: for chunk i at `sources[i]`, where the plan's read
/// number i puts them, in the host's buffer where `in_host` says so. What cannot be read is made
/// from the rest. The plan is empty but for its lock.
fn plan_whole(
    cut: &Cut,
    faults: &Faults,
    plan: &mut Plan,
    in_host: impl Fn(usize) -> bool,
) -> PlanResult {
    let length = cut.span_bytes();
    let hidden = |index: &usize| cut.is_hidden(*index, faults);
    let mut unknown = (0..cut.row.data_count()).filter(hidden);
    let (one, other) = (unknown.next(), unknown.next());
    let p = Some(cut.row.p).filter(|&member| !faults.hide(member));
    let q = cut.row.q.filter(|&member| !faults.hide(member));
    if unknown.next().is_some() {
        return Err(faults.lost());
    }
    // The parity that each unknown chunk's buffer gets first.
    let (p, q) = match (one, other) {
        (None, _) => (None, None),
        (Some(_), None) if p.is_some() => (p, None),
        (Some(_), None) if q.is_some() => (None, q),
        (Some(_), Some(_)) if p.is_some() && q.is_some() => (p, q),
        _ => return Err(faults.lost()),
    };
    // Reads into the host's buffer have to be in its order.
    for index in 0..cut.row.data_count() {
        let place = match cut.segment(index) {
            Some(segment) if in_host(index) => ByteSite::Host { start: segment.start },
            _ => scratch(plan, length),
        };
        let member = match index {
            index if Some(index) == one => p.or(q),
            index if Some(index) == other => q,
            index => Some(cut.row.member(index)),
        };
        plan.sources.push(Some(place));
        plan.read.push(cut.access(member.expect("each unknown has its parity"), cut.span(), place));
    }
    solve(cut, plan, (p, q), (one, other));
    Ok(())
}

/// Makes at most two unknown chunks of a row, whose buffers hold the parities that are used, from
/// these and the chunks that are known.
fn solve(
    cut: &Cut,
    plan: &mut Plan,
    (p, q): (Option<usize>, Option<usize>),
    (one, other): (Option<usize>, Option<usize>),
) {
    let length = cut.span_bytes();
    let known = |index: &usize| Some(*index) != one && Some(*index) != other;
    for index in (0..cut.row.data_count()).filter(known) {
        let from = plan.read[index].content;
        if let (Some(_), Some(x)) = (p, one) {
            plan.compute.push(Computation::Xor { from, into: plan.read[x].content, length });
        }
        if let (Some(_), Some(y)) = (q, other.or(one)) {
            plan.compute.push(Computation::MultiplyXor {
                coefficient: cut.coefficient(index),
                from,
                into: plan.read[y].content,
                length,
            });
        }
    }
    match (p, q, one, other) {
        // D_x = (Q ^ Q') / g^x
        (None, Some(_), Some(x), None) => {
            plan.compute.push(Computation::Scale {
                coefficient: inverse(cut.coefficient(x)),
                into: plan.read[x].content,
                length,
            });
        }
        // dP = P ^ P'   dQ = Q ^ Q'   D_y = (dQ ^ g^x dP) / (g^x ^ g^y)   D_x = dP ^ D_y
        (Some(_), Some(_), Some(x), Some(y)) => {
            let (at_x, at_y) = (plan.read[x].content, plan.read[y].content);
            let divisor = cut.coefficient(x) ^ cut.coefficient(y);
            plan.compute.push(Computation::MultiplyXor {
                coefficient: cut.coefficient(x),
                from: at_x,
                into: at_y,
                length,
            });
            plan.compute.push(Computation::Scale {
                coefficient: inverse(divisor),
                into: at_y,
                length,
            });
            plan.compute.push(Computation::Xor { from: at_y, into: at_x, length });
        }
        _ => (),
    }
}

/// Compares parity that members hold with that of the data.
fn plan_comparing(
    cut: &Cut,
    repairs: bool,
    parity: impl Iterator<Item = (Option<usize>, ByteSite)>,
    plan: &mut Plan,
) {
    let length = cut.span_bytes();
    for (held, expected) in parity {
        let Some(member) = held else { continue };
        let old = scratch(plan, length);
        plan.read.push(cut.access(member, cut.span(), old));
        plan.compute.push(Computation::Compare { one: old, other: expected, length });
        if repairs {
            plan.amend.push(cut.write(member, cut.span(), expected));
        }
    }
}

/// Finds out which block of the row is wrong, by `p` and `q` that these members hold. The plan
/// reads chunk i with its read number i; its parity is computed from the sources from `first` on.
fn plan_locating(
    cut: &Cut,
    task: SyncTask,
    (p, q): (usize, usize),
    (first, [expected_p, expected_q]): (usize, [ByteSite; 2]),
    plan: &mut Plan,
) {
    let length = cut.span_bytes();
    let count = plan.sources.len() - first;
    let [p, q] = [p, q].map(|member| {
        let old = scratch(plan, length);
        plan.read.push(cut.access(member, cut.span(), old));
        old
    });
    plan.compute.push(Computation::Locate { first, count, p, q, expected_p, expected_q, length });
    if task == SyncTask::Repair {
        let held = plan.read.iter();
        plan.mend.extend(held.map(|read| cut.write(read.member, cut.span(), read.content)));
    }
}

impl Level for ParityLevel {
    fn traits(&self) -> LevelTraits {
        LevelTraits { is_redundant: true, locks_rows: true, ..LevelTraits::default() }
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn options(&self) -> Vec<(String, String)> {
        let mut options = vec![("chunk".to_owned(), size_text(self.geometry.chunk_bytes()))];
        if self.name != "raid4" {
            options.push(("layout".to_owned(), self.geometry.layout().name().to_owned()));
        }
        options.push(("metadata".to_owned(), "none".to_owned()));
        options
    }

    fn size_bytes(&self) -> u64 {
        self.geometry.size_bytes()
    }

    fn refine(&self, info: &mut Info) {
        let (chunk, row) = (self.geometry.chunk_bytes(), self.geometry.row_bytes());
        info.optimal_bytes = optimal_bytes(row, info.block_bytes);
        info.stripe = Stripe::new(chunk, row / chunk);
        if info.discard == DiscardSupport::Indeterminate {
            info.discard = DiscardSupport::None;
        }
    }

    /// A plain read takes as many rows as there are members. Of these a member's data are in one
    /// run, but for its parity rows: twice one, or one of each kind.
    fn commands_per_member(&self) -> u32 {
        3
    }

    fn row_end(&self, offset: u64) -> Option<u64> {
        let (_, within) = self.geometry.locate(offset);
        Some(offset - within + self.geometry.row_bytes())
    }

    fn pieces_at_once(&self) -> u32 {
        8
    }

    fn holds_all(&self, absent: &MemberSet) -> Result<(), TooManyAbsent> {
        if absent.count() as usize > self.geometry.parity_count() {
            Err(TooManyAbsent { members: *absent })
        } else {
            Ok(())
        }
    }

    #[inline]
    fn whole(&self, part: Part, missing: &MemberSet, _queues: &Queues) -> Option<Spot> {
        if part.action != Action::Read {
            return None;
        }
        let (number, within) = self.geometry.locate(part.offset);
        let (index, from) = self.geometry.locate_in_row(within);
        if part.length > self.geometry.chunk_bytes() - from {
            return None;
        }
        let member = self.geometry.row(number).member(index);
        (!missing.contains(member))
            .then_some(Spot { member, offset: number * self.geometry.chunk_bytes() + from })
    }

    fn piece_bytes(&self, part: Part, faults: &Faults) -> u64 {
        if part.action == Action::Read && *faults == Faults::default() {
            let rows =
                self.geometry.row_bytes().saturating_mul(self.geometry.member_count() as u64);
            return part.length.min(rows - part.offset % rows);
        }
        self.row_piece_bytes(part)
    }

    fn plan(&self, piece: Part, faults: &Faults, _queues: &Queues, plan: &mut Plan) -> PlanResult {
        if piece.action == Action::Read && *faults == Faults::default() {
            self.plan_plain_read(piece, plan);
            return Ok(());
        }
        let cut = Cut::new(&self.geometry, piece);
        match piece.action {
            Action::Read if cut.segments().all(|segment| !faults.hide(segment.member)) => {
                self.plan_plain_read(piece, plan);
                Ok(())
            }
            Action::Read => self.plan_degraded_read(&cut, faults, plan),
            Action::Write | Action::Zeroes | Action::Discard => {
                self.plan_write(piece.action, &cut, faults, plan)
            }
        }
    }

    fn member_bytes(&self) -> u64 {
        self.geometry.row_count() * self.geometry.chunk_bytes()
    }

    fn sync_range_bytes(&self, range: SyncRange) -> u64 {
        let chunk = self.geometry.chunk_bytes();
        range.length.min(SYNC_PLAN_BYTES).min(chunk - range.offset % chunk)
    }

    fn plan_sync(&self, range: SyncRange, faults: &Faults, plan: &mut Plan) -> PlanResult {
        let cut = Cut::of_members(&self.geometry, range);
        plan.lock = Some(cut.lock());
        let target = match range.task {
            SyncTask::Recover { member } if faults.absent.contains(member) => {
                return Err(faults.lost());
            }
            SyncTask::Recover { member } => Some(member),
            SyncTask::Check | SyncTask::Repair => None,
        };
        if let Some(member) = target.filter(|&member| !faults.hide(member)) {
            // A member that serves is its own best source.
            let place = scratch(plan, cut.span_bytes());
            plan.read.push(cut.access(member, cut.span(), place));
            plan.write.push(cut.write(member, cut.span(), place));
            return Ok(());
        }
        let wants = |member: usize| Some(member) == target || faults.mend(member);
        plan_whole(&cut, faults, plan, |_| false)?;
        let places = plan.read.iter().map(|access| access.content).collect::<Vec<_>>();
        let used = plan.read.iter().map(|access| access.member).collect::<Vec<_>>();
        for (index, &place) in
            places.iter().enumerate().filter(|(index, _)| wants(cut.row.member(*index)))
        {
            plan.write.push(cut.write(cut.row.member(index), cut.span(), place));
        }
        // Parity that went into the data agrees with them, whatever it is.
        let compared =
            |member: &usize| target.is_none() && !faults.hide(*member) && !used.contains(member);
        let held = [Some(cut.row.p).filter(compared), cut.row.q.filter(compared)];
        let wanted = [Some(cut.row.p).filter(|&p| wants(p)), cut.row.q.filter(|&q| wants(q))];
        if held.iter().chain(&wanted).all(Option::is_none) {
            return Ok(());
        }
        let first = plan.sources.len();
        let computed = plan_row_parity(&cut, &places, held[1].or(wanted[1]).is_some(), plan);
        plan.write.extend(wanted.into_iter().zip(computed).filter_map(|(member, place)| {
            member.map(|member| cut.write(member, cut.span(), place))
        }));
        // Two parities tell which one block is wrong, if nothing else is missing; a level that has
        // them does not guess while it cannot tell.
        let tells = cut.row.q.is_some() && !faults.unsynced;
        match held {
            [Some(p), Some(q)] if tells => {
                plan_locating(&cut, range.task, (p, q), (first, computed), plan);
            }
            _ => {
                let repairs = range.task == SyncTask::Repair && !tells;
                plan_comparing(&cut, repairs, held.into_iter().zip(computed), plan);
            }
        }
        Ok(())
    }
}
