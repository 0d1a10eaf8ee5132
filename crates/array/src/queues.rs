//! What one channel has under way on each member: how a level chooses among copies.

use crate::part::Spot;

/// How many streams of reads are remembered for each member.
const STREAMS: usize = 4;

/// A stream of long reads goes on where it is for so long although other commands are in flight
/// there: so several members share a stream of many requests at a time, in parts so long that a
/// disk which passes over those of the others still gains.
const RUN_BYTES: u64 = 1 << 20;

/// From this length on a read is long.
const LONG_BYTES: u64 = 256 << 10;

#[derive(Clone, Debug)]
struct Queue {
    in_flight: u32,
    /// Streams: reads of which each began where the one before it ended. Where the last one ended,
    /// in bytes of the array's data on the member; `u64::MAX` is nowhere.
    ends: [u64; STREAMS],
    /// How much was read of each, and by its last read, in bytes.
    read: [(u64, u64); STREAMS],
    /// The stream that was read last.
    latest: usize,
}

impl Queue {
    const IDLE: Queue =
        Queue { in_flight: 0, ends: [u64::MAX; STREAMS], read: [(0, 0); STREAMS], latest: 0 };

    /// The stream that a read at `offset` goes on with.
    #[inline]
    fn stream(&self, offset: u64) -> Option<usize> {
        self.ends.iter().position(|end| *end == offset)
    }

    /// Whether a read at `offset` goes on with a stream that stays here.
    #[inline]
    fn keeps(&self, offset: u64) -> bool {
        self.stream(offset).is_some_and(|stream| {
            let (run, last) = self.read[stream];
            self.in_flight == 0 || last >= LONG_BYTES && run < RUN_BYTES
        })
    }
}

/// The members' queues as one channel sees them. Others' commands are not counted: sharing the
/// counts would cost each request more than the better choice is worth.
#[derive(Clone, Debug)]
pub struct Queues {
    members: Vec<Queue>,
    /// The member to read from above all.
    wanted: Option<usize>,
    /// The first copy is read, on whichever member it is.
    first: bool,
}

impl Queues {
    /// Idle members.
    #[must_use]
    pub fn idle(members: usize) -> Queues {
        Queues { members: vec![Queue::IDLE; members], wanted: None, first: false }
    }

    /// A command goes to `member`; `read` is the offset and length of a read, in bytes of the
    /// array's data on the member: as [`Queues::choose`] has them.
    pub fn begin(&mut self, member: usize, read: Option<(u64, u64)>) {
        let queue = &mut self.members[member];
        queue.in_flight += 1;
        if let Some((offset, length)) = read {
            let known = queue.stream(offset);
            let stream = known.unwrap_or((queue.latest + 1) % STREAMS);
            let run = known.map_or(0, |stream| queue.read[stream].0);
            queue.ends[stream] = offset + length;
            queue.read[stream] = (run + length, length);
            queue.latest = stream;
        }
    }

    /// `count` commands of `member` have ended.
    pub fn end(&mut self, member: usize, count: u32) {
        self.members[member].in_flight -= count;
    }

    /// The member is another device now: nothing is under way on it.
    pub fn restart(&mut self, member: usize) {
        self.members[member] = Queue::IDLE;
    }

    /// From now on this member's copies are chosen where there are any: what it could not read
    /// before is tried again.
    pub fn want(&mut self, member: Option<usize>) {
        self.wanted = member;
    }

    /// From now on, where copies need not agree, the first is chosen of those that may be: the one
    /// that a resync takes.
    pub fn keep_to_first(&mut self, first: bool) {
        self.first = first;
    }

    /// The copy to read, where they agree: the one that continues a stream of reads on its member
    /// if that is idle, or the reads are long and it has not enough of them; or else on the member
    /// with the fewest commands in flight, or else nearest to where the member was read last.
    /// Before these comes one that `joins` a command of the same plan, of which nothing is counted
    /// here yet.
    #[inline]
    pub fn choose(
        &self,
        mut copies: impl Iterator<Item = Spot>,
        joins: impl Fn(Spot) -> bool,
    ) -> Option<Spot> {
        if self.first {
            return copies.next();
        }
        copies.min_by_key(|copy| {
            let queue = &self.members[copy.member];
            if self.wanted == Some(copy.member) {
                return (0, 0, 0);
            }
            if joins(*copy) {
                return (1, 0, 0);
            }
            if queue.keeps(copy.offset) {
                return (2, 0, 0);
            }
            let end = queue.ends[queue.latest];
            let distance = if end == u64::MAX { copy.offset } else { end.abs_diff(copy.offset) };
            (3, queue.in_flight, distance)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(queues: &Queues, offset: u64) -> usize {
        let copies = (0..3).map(|member| Spot { member, offset });
        queues.choose(copies, |_| false).expect("three copies").member
    }

    #[test]
    fn the_member_with_the_least_to_do_is_asked() {
        let mut queues = Queues::idle(3);
        queues.begin(0, None);
        assert_eq!(chosen(&queues, 500), 1);
        queues.begin(1, None);
        assert_eq!(chosen(&queues, 500), 2);
        queues.begin(2, None);
        queues.end(1, 1);
        assert_eq!(chosen(&queues, 500), 1);
    }

    #[test]
    fn streams_stay_where_they_are() {
        let mut queues = Queues::idle(3);
        let mut homes = [None; 3];
        for round in 0..10 {
            for (stream, home) in (0..).zip(&mut homes) {
                let offset = stream * 1000 + round * 10;
                let member = chosen(&queues, offset);
                assert_eq!(*home.get_or_insert(member), member, "stream {stream} moved");
                queues.begin(member, Some((offset, 10)));
            }
            homes.iter().flatten().for_each(|member| queues.end(*member, 1));
        }
        assert_eq!(homes, [0, 1, 2].map(Some));
    }

    /// A stream of short reads goes on where there is nothing to wait for.
    #[test]
    fn a_stream_leaves_a_member_that_is_busy() {
        let mut queues = Queues::idle(3);
        queues.begin(0, Some((0, 500)));
        assert_eq!(chosen(&queues, 500), 1);
        queues.end(0, 1);
        assert_eq!(chosen(&queues, 500), 0);
    }

    /// With one command at a time a stream stays; with more, members take turns.
    #[test]
    fn a_long_stream_of_many_requests_at_a_time_is_shared() {
        const LENGTH: u64 = 256 << 10;
        let homes = |in_flight: usize| {
            let mut queues = Queues::idle(3);
            let mut under_way = std::collections::VecDeque::new();
            let homes: Vec<usize> = (0..48)
                .map(|request| {
                    if under_way.len() == in_flight {
                        queues.end(under_way.pop_front().expect("some"), 1);
                    }
                    let member = chosen(&queues, request * LENGTH);
                    queues.begin(member, Some((request * LENGTH, LENGTH)));
                    under_way.push_back(member);
                    member
                })
                .collect();
            homes.chunk_by(|one, next| one == next).map(|run| (run[0], run.len())).collect()
        };
        let shared: Vec<(usize, usize)> = homes(8);
        assert!(shared.iter().all(|(_, run)| *run as u64 * LENGTH >= RUN_BYTES), "{shared:?}");
        assert!((0..3).all(|one| shared.iter().any(|(member, _)| *member == one)), "{shared:?}");
        let alone: Vec<(usize, usize)> = homes(1);
        assert_eq!(alone, [(0, 48)]);
    }

    #[test]
    fn while_copies_need_not_agree_the_first_is_asked() {
        let mut queues = Queues::idle(3);
        queues.keep_to_first(true);
        queues.begin(0, Some((9000, 10)));
        queues.begin(1, Some((0, 500)));
        queues.end(1, 1);
        queues.want(Some(2));
        assert_eq!(chosen(&queues, 500), 0, "neither idle, nor near, nor wanted, but first");
        let joining = |queues: &Queues, member| {
            let copies = (0..3).map(|member| Spot { member, offset: 500 });
            queues.choose(copies, |copy| copy.member == member).expect("three copies").member
        };
        assert_eq!(joining(&queues, 1), 0, "not joined either");
        queues.keep_to_first(false);
        assert_eq!(chosen(&queues, 500), 2);
        assert_eq!(joining(&queues, 0), 2, "what is wanted comes first");
        queues.want(None);
        assert_eq!((joining(&queues, 0), chosen(&queues, 500)), (0, 1));
    }

    #[test]
    fn among_idle_members_the_nearest_is_asked() {
        let mut queues = Queues::idle(3);
        for (member, offset) in [(0, 100), (1, 5000), (2, 9000)] {
            queues.begin(member, Some((offset, 10)));
            queues.end(member, 1);
        }
        assert_eq!([0, 4000, 8000].map(|offset| chosen(&queues, offset)), [0, 1, 2]);
    }
}
