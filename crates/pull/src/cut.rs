//! When the power fails.

use reactor::{Random, derive_seed};

use crate::log::{Action, Log, Moment};

/// A moment between two events: what has happened before, and when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    /// So many events have happened.
    pub events: u32,
    /// Nanoseconds since the recording began.
    pub time_nanoseconds: u64,
}

impl Cut {
    /// Behind so many events, at the time of the last of them.
    #[must_use]
    pub fn behind(log: &Log, events: u32) -> Cut {
        let events = events.min(log.events().len() as u32);
        let last = (events as usize).checked_sub(1).and_then(|last| log.events().get(last));
        Cut { events, time_nanoseconds: last.map_or(0, |event| event.time_nanoseconds) }
    }
}

/// Cuts as a user meets them: uniform in time between two events, in order.
#[must_use]
pub fn uniform_cuts(log: &Log, between: (u32, u32), count: u32, seed: u64) -> Vec<Cut> {
    let mut random = Random::with_seed(derive_seed(seed, "uniform cuts", 0));
    let (first, last) = (
        Cut::behind(log, between.0).time_nanoseconds,
        Cut::behind(log, between.1).time_nanoseconds,
    );
    let cut = |_| {
        let time_nanoseconds = random.u64(first..=last.max(first));
        let events =
            log.events().partition_point(|event| event.time_nanoseconds <= time_nanoseconds) as u32;
        Cut { events: events.clamp(between.0, between.1), time_nanoseconds }
    };
    let mut cuts: Vec<Cut> = (0..count).map(cut).collect();
    cuts.sort_unstable();
    cuts
}

/// Cuts for the hunt, in order: half of them just behind the arrival of a write, half around the
/// completions of flushes and writes with FUA, and marks, where what was promised changes.
#[must_use]
pub fn hot_cuts(log: &Log, between: (u32, u32), count: u32, seed: u64) -> Vec<Cut> {
    let (mut arrivals, mut promises) = (Vec::new(), Vec::new());
    for (event, number) in log.events().iter().zip(0_u32..) {
        let request = |request: u32| &log.requests()[request as usize];
        match event.moment {
            Moment::Arrival(arrived) if request(arrived).action == Action::Flush => (),
            Moment::Arrival(_) => arrivals.push(number + 1),
            Moment::Completion { request: ended, .. } => {
                let request = request(ended);
                if request.action == Action::Flush || request.fua {
                    promises.extend(number..=number + 2);
                }
            }
            Moment::Mark { .. } => promises.extend(number..=number + 2),
        }
    }
    for hot in [&mut arrivals, &mut promises] {
        hot.retain(|events| (between.0..=between.1).contains(events));
        hot.dedup();
        if hot.is_empty() {
            hot.push(between.1);
        }
    }
    let mut random = Random::with_seed(derive_seed(seed, "hot cuts", 0));
    let cut = |_| {
        let hot = if random.bool() { &arrivals } else { &promises };
        Cut::behind(log, hot[random.usize(..hot.len())])
    };
    let mut cuts: Vec<Cut> = (0..count).map(cut).collect();
    cuts.sort_unstable();
    cuts
}
