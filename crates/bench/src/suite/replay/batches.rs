//! Which requests of a recording come at once, and right after an answer.
//!
//! A kernel hands its device many requests at a time, and then waits: for one answer, or as in a
//! sync for all. How many were outstanding does not show that. What shows it is that requests come
//! at one moment, and at that of an answer, much more often than chance would have it.

use std::ops::Range;

/// The requests of a stream, before and behind one, that tell how it goes there: how many were
/// outstanding, and what is chance.
pub(super) const AROUND: usize = 64;
/// What comes within this share of the mean time between answers comes at once: by chance that many
/// do. Between answers as they are while as many are outstanding as ever are around there.
const CLOSE: f64 = 0.01;
/// However slow a device is, a program that waits for it goes on sooner than this, in nanoseconds.
const CLOSE_MAX: u64 = 100_000;
/// Chance is ruled out where this share of the requests around does the same.
const SHARE_MIN: f64 = 0.25;

/// The requests of a stream, in order, as a recording has them.
pub(super) struct Moments<'a> {
    /// When each was submitted, in nanoseconds.
    pub(super) times: &'a [u64],
    /// How long each took, where that is known.
    pub(super) latencies: &'a [Option<u64>],
    /// The most that were outstanding around each.
    pub(super) most: &'a [u32],
    /// How many answers had come when each was submitted, and when they came.
    pub(super) answered: &'a [u32],
    pub(super) answers: &'a [u64],
}

/// Requests of a stream that were submitted at once.
pub(super) struct Batch {
    /// Their places in the stream.
    pub(super) places: Range<usize>,
    pub(super) waited: Waited,
}

/// What the requests of a batch waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// For none of the answers that came just before: how many are outstanding tells.
    ByNumber,
    /// All of them for all answers so far.
    ForAll,
    /// Each for an answer of its own, of as many that came just before.
    Each,
}

/// Places around one, so many before and behind.
fn around(place: usize, count: usize) -> Range<usize> {
    place.saturating_sub(AROUND)..(place + AROUND + 1).min(count)
}

/// Sums of all values before each place, and of all.
fn sums<T: Copy>(values: &[T], number: impl Fn(T) -> u64) -> Vec<u64> {
    let mut sum = 0_u64;
    let running = values.iter().map(|value| {
        sum = sum.saturating_add(number(*value));
        sum
    });
    std::iter::once(0).chain(running).collect()
}

/// Only what holds around it as well, for more than chance would have it.
fn usual(found: &[bool]) -> Vec<bool> {
    let sums = sums(found, u64::from);
    let is_usual = |place: usize| {
        let Range { start, end } = around(place, found.len());
        (sums[end] - sums[start]) as f64 >= SHARE_MIN * (end - start) as f64
    };
    (0..found.len()).map(|place| found[place] && is_usual(place)).collect()
}

impl Moments<'_> {
    /// Within how many nanoseconds of each request another moment is the same.
    fn close(&self) -> Vec<u64> {
        let known = sums(self.latencies, |latency| u64::from(latency.is_some()));
        let taken = sums(self.latencies, |latency| latency.unwrap_or(0));
        let of = |place: usize| {
            let Range { start, end } = around(place, self.times.len());
            let mean =
                (taken[end] - taken[start]) as f64 / (known[end] - known[start]).max(1) as f64;
            ((mean / f64::from(self.most[place].max(1)) * CLOSE) as u64).min(CLOSE_MAX)
        };
        (0..self.times.len()).map(of).collect()
    }

    /// How many answers came just before a request.
    fn just_answered(&self, place: usize, close: u64) -> usize {
        let before = &self.answers[..self.answered[place] as usize];
        let time = self.times[place];
        before.len() - before.partition_point(|answer| answer.saturating_add(close) < time)
    }

    /// All requests, in batches.
    pub(super) fn batches(&self) -> Vec<Batch> {
        let close = self.close();
        let count = self.times.len();
        let joins = |place: usize| {
            place > 0
                && self.times[place] - self.times[place - 1] <= close[place]
                && self.answered[place] == self.answered[place - 1]
        };
        let joins = usual(&(0..count).map(joins).collect::<Vec<_>>());
        let just: Vec<usize> =
            (0..count).map(|place| self.just_answered(place, close[place])).collect();
        // What comes with one that follows an answer follows it too.
        let mut follows: Vec<bool> = just.iter().map(|just| *just > 0).collect();
        (1..count).for_each(|place| follows[place] |= joins[place] && follows[place - 1]);
        let follows = usual(&follows);
        let mut batches = Vec::new();
        let mut start = 0;
        while start < count {
            let end = (start + 1..count).find(|place| !joins[*place]).unwrap_or(count);
            let waited = match just[start] {
                _ if !follows[start] => Waited::ByNumber,
                several if several > 1 && (2..=several).contains(&(end - start)) => Waited::Each,
                _ => Waited::ForAll,
            };
            batches.push(Batch { places: start..end, waited });
            start = end;
        }
        batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of (submitted, took), as (first, last, waited).
    fn batches(requests: &[(u64, u64)]) -> Vec<(usize, usize, Waited)> {
        let times: Vec<u64> = requests.iter().map(|(time, _)| *time).collect();
        let latencies: Vec<Option<u64>> = requests.iter().map(|(_, took)| Some(*took)).collect();
        let mut answers: Vec<u64> = requests.iter().map(|(time, took)| time + took).collect();
        answers.sort_unstable();
        let answered: Vec<u32> = times
            .iter()
            .map(|time| answers.partition_point(|answer| answer <= time) as u32)
            .collect();
        let most = vec![4; times.len()];
        let moments = Moments {
            times: &times,
            latencies: &latencies,
            most: &most,
            answered: &answered,
            answers: &answers,
        };
        let found = moments.batches();
        found.iter().map(|one| (one.places.start, one.places.end - 1, one.waited)).collect()
    }

    /// A burst, all of which is waited for; another one; one request by itself; and so on.
    #[test]
    fn bursts_go_together_and_wait_for_all() {
        let (first, second, third) = (0, 400_000, 900_000);
        let found = batches(&[
            (first, 100_000),
            (first, 200_000),
            (first + 200, 390_000),
            (second, 100_000),
            (second, 500_000),
            (second, 400_000),
            (third, 50_000),
            (third + 50_100, 50_000),
        ]);
        let expected = [
            (0, 2, Waited::ByNumber),
            (3, 5, Waited::ByNumber),
            (6, 6, Waited::ForAll),
            (7, 7, Waited::ForAll),
        ];
        assert_eq!(found, expected);
    }

    /// Four that each wait for themselves, whose answers come at one moment.
    #[test]
    fn as_many_as_were_answered_at_once_waited_each_for_its_own() {
        let lockstep: Vec<(u64, u64)> =
            (0..5_u64).flat_map(|round| [(round * 1000, 1000); 4]).collect();
        let found = batches(&lockstep);
        assert_eq!(found[0], (0, 3, Waited::ByNumber));
        assert!(found[1..].iter().all(|(_, _, waited)| *waited == Waited::Each), "{found:?}");
        assert_eq!(found.len(), 5);
    }

    /// Moments that meet by chance are not taken for more.
    #[test]
    fn what_seldom_comes_at_once_is_chance() {
        // One of ten comes with the one before it, and one of ten with an answer.
        let mut random = reactor::Random::with_seed(3);
        let mut time = 0;
        let requests: Vec<(u64, u64)> = (0..500)
            .map(|place| {
                time += if place % 10 == 0 { 0 } else { random.u64(2_000..200_000) };
                (time, 400_001 + random.u64(0..100_000))
            })
            .collect();
        let found = batches(&requests);
        assert_eq!(found.len(), 500, "seed 3");
        assert!(found.iter().all(|(_, _, waited)| *waited == Waited::ByNumber), "seed 3");
    }
}
