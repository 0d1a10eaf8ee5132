//! What waited for what in a recording, and what lets each request of a closed replay go.
//!
//! ```text
//!   of a stream that has two outstanding at most
//!
//!   request 1  |=======|                       both go when the stream begins
//!   request 2   |==============|
//!   request 3           ··|=======|            goes with the 1st answer, after the same thinking
//!   request 4                   ···|=====|     goes with the 2nd
//! ```
//!
//! A recording says when requests were submitted and answered, and not why. Requests of one stream
//! (a process, a thread, a channel; all are one where nobody knows) are taken to be of as many that
//! wait for an answer as were ever outstanding at a time around there, within [`AROUND`] requests.
//! With `n` of them, request `k` goes once all but `n - 1` of the `k - 1` before it are answered,
//! whichever these are, and as long after that answer as it did: the time between is thinking. A
//! stream begins after the latest answer in any stream, as long as it did.
//!
//! ```text
//!   a request that comes as soon as an answer does: it waited for that, and for all before it
//!
//!   request 1  |=======|
//!   request 2  |==============|
//!   request 3                 |====|           both at once: they go together, as they did
//!   request 4                 |=======|
//! ```
//!
//! Where requests come at the moment of an answer more often than by chance ([`super::batches`]),
//! they waited for all answers that had come by then, as what is read after a sync does. Requests
//! that come at one moment are a batch, as a kernel hands it to its device: they go together, with
//! the last answer that any of them waits for. Were they let go one by one, a RAID 5 would read
//! what the next of them is about to bring. Only where as many answers came at that moment is each
//! taken to have waited for one of them.
//!
//! So order and number outstanding stay as they were on any target, and all of the thinking is
//! there. Of many in one stream who think much longer than an answer takes, few are outstanding at
//! a time, and they are taken for fewer than they are: on a target that is slower by more than
//! their thinking they then seem slower than they would be. Where streams are known, each is one
//! that waits, and nothing has to be guessed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use trace::Record;
use words::Text;

use super::batches::{AROUND, Batch, Moments, Waited};
use crate::suite::catalogue;

/// No request.
const NONE: u32 = u32::MAX;

/// What lets the requests of a recording go. Requests and streams are numbered from 0.
#[derive(Debug)]
pub(super) struct Dependencies {
    /// By request: answers of its stream that must have come before it goes.
    answers: Vec<u32>,
    /// By request: nanoseconds from the last of these answers, or from the stream's begin.
    gaps: Vec<u64>,
    /// By request: the next one of its stream.
    next: Vec<u32>,
    /// By request: its stream; [`NONE`] where its answer lets nothing go, as nobody knows when it
    /// came.
    streams: Vec<u32>,
    /// By stream: its first request.
    first: Vec<u32>,
    /// Streams that begin with the recording.
    at_start: Vec<u32>,
    /// By request: the streams that begin with its answer.
    begins: HashMap<u32, Vec<u32>>,
    /// Of all requests, those that waited for an answer.
    pub(super) share: f64,
}

/// What is known of a stream while a recording is looked at.
#[derive(Default)]
struct Stream {
    number: u32,
    /// Its requests.
    requests: Vec<u32>,
    /// How many of them were outstanding when each was submitted, itself included.
    outstanding: Vec<u32>,
    /// How many answers had come then.
    answered: Vec<u32>,
    in_flight: u32,
    /// When answers came, in nanoseconds.
    answers: Vec<u64>,
    /// When it began: the answer before it, or the recording's begin.
    begin: u64,
}

impl Dependencies {
    /// Of records in the order of their submission, the first at 0.
    ///
    /// # Errors
    /// When none says when it was answered.
    pub(super) fn of(records: &[Record]) -> Result<Dependencies, Text> {
        let count = records.len();
        if count > 0 && records.iter().all(|record| record.latency_nanoseconds.is_none()) {
            return Err(catalogue::RECORDING_HAS_NO_ANSWERS.into());
        }
        let mut waits = Dependencies {
            answers: vec![0; count],
            gaps: vec![0; count],
            next: vec![NONE; count],
            streams: vec![NONE; count],
            first: Vec::new(),
            at_start: Vec::new(),
            begins: HashMap::new(),
            share: 0.0,
        };
        let mut streams = waits.divide(records);
        streams.sort_unstable_by_key(|stream| stream.number);
        let mut waiting = 0_usize;
        for stream in &streams {
            waits.first.push(stream.requests[0]);
            waiting += waits.add(stream, records);
        }
        waiting += waits.begins.values().map(Vec::len).sum::<usize>();
        waits.share = if count == 0 { 0.0 } else { waiting as f64 / count as f64 };
        Ok(waits)
    }

    /// Divides a recording into its streams, and says what each begins with.
    fn divide(&mut self, records: &[Record]) -> Vec<Stream> {
        let mut streams: HashMap<u32, Stream> = HashMap::new();
        let mut open: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        let mut latest_answer: Option<(u64, u32)> = None;
        for (request, record) in (0_u32..).zip(records) {
            let now = record.time_nanoseconds;
            while let Some(Reverse((at, answered))) = open.peek().copied()
                && at <= now
            {
                open.pop();
                latest_answer = Some((at, answered));
                let its = streams.entry(records[answered as usize].stream).or_default();
                its.answers.push(at);
                its.in_flight -= 1;
            }
            let number = streams.len() as u32;
            let stream = streams.entry(record.stream).or_insert_with(|| {
                match latest_answer {
                    Some((_, answered)) => self.begins.entry(answered).or_default().push(number),
                    None => self.at_start.push(number),
                }
                let begin = latest_answer.map_or(0, |(at, _)| at);
                Stream { number, begin, ..Stream::default() }
            });
            stream.requests.push(request);
            stream.outstanding.push(stream.in_flight + 1);
            stream.answered.push(stream.answers.len() as u32);
            if let Some(latency) = record.latency_nanoseconds {
                stream.in_flight += 1;
                self.streams[request as usize] = stream.number;
                open.push(Reverse((now.saturating_add(latency), request)));
            }
        }
        streams.into_values().collect()
    }

    /// Says what lets each request of a stream go; how many of them wait for an answer of it.
    fn add(&mut self, stream: &Stream, records: &[Record]) -> usize {
        let most = most_around(&stream.outstanding);
        let own = || stream.requests.iter().map(|request| &records[*request as usize]);
        let times: Vec<u64> = own().map(|record| record.time_nanoseconds).collect();
        let latencies: Vec<Option<u64>> = own().map(|record| record.latency_nanoseconds).collect();
        let moments = Moments {
            times: &times,
            latencies: &latencies,
            most: &most,
            answered: &stream.answered,
            answers: &stream.answers,
        };
        let (mut needed, mut waiting) = (0_u32, 0);
        for Batch { places, waited } in moments.batches() {
            let answered = stream.answered[places.start];
            let by_number = |place: usize| (place as u32 + 1).saturating_sub(most[place]);
            let last = places.end - 1;
            for place in places {
                let wanted = match waited {
                    Waited::ByNumber => by_number(last),
                    Waited::ForAll => answered,
                    Waited::Each => answered - (last - place) as u32,
                };
                // Not more than have come: as many were outstanding then.
                needed = needed.max(wanted.min(answered));
                let event = match needed {
                    0 => stream.begin,
                    needed => {
                        waiting += 1;
                        stream.answers[needed as usize - 1]
                    }
                };
                let request = stream.requests[place] as usize;
                self.answers[request] = needed;
                self.gaps[request] = times[place].saturating_sub(event);
            }
        }
        for pair in stream.requests.windows(2) {
            self.next[pair[0] as usize] = pair[1];
        }
        waiting
    }
}

/// The most within [`AROUND`] places before and behind each.
fn most_around(outstanding: &[u32]) -> Vec<u32> {
    let mut most = Vec::with_capacity(outstanding.len());
    // Places whose values fall; the first of them is the most.
    let mut falling: VecDeque<usize> = VecDeque::new();
    let mut seen = 0;
    for place in 0..outstanding.len() {
        while seen < outstanding.len() && seen <= place + AROUND {
            while falling.back().is_some_and(|last| outstanding[*last] <= outstanding[seen]) {
                falling.pop_back();
            }
            falling.push_back(seen);
            seen += 1;
        }
        while falling.front().is_some_and(|first| first + AROUND < place) {
            falling.pop_front();
        }
        most.push(falling.front().map_or(1, |first| outstanding[*first]));
    }
    most
}

/// How far the streams of a replay are.
pub(super) struct Progress<'a> {
    waits: &'a Dependencies,
    /// By stream: the next request that has not been let go, and how many answers came.
    streams: Vec<(u32, u32)>,
}

impl<'a> Progress<'a> {
    /// Nothing was let go.
    pub(super) fn new(waits: &'a Dependencies) -> Progress<'a> {
        let streams = waits.first.iter().map(|first| (*first, 0)).collect();
        Progress { waits, streams }
    }

    /// Lets requests go that begin the recording: their numbers, and nanoseconds to wait.
    pub(super) fn begin(&mut self, mut go: impl FnMut(u32, u64)) {
        for stream in &self.waits.at_start {
            self.let_go(*stream, &mut go);
        }
    }

    /// Lets requests go that waited for the answer to this one.
    #[inline]
    pub(super) fn answered(&mut self, request: u32, mut go: impl FnMut(u32, u64)) {
        let stream = self.waits.streams[request as usize];
        if let Some((_, answers)) = self.streams.get_mut(stream as usize) {
            *answers += 1;
            self.let_go(stream, &mut go);
        }
        if !self.waits.begins.is_empty()
            && let Some(streams) = self.waits.begins.get(&request)
        {
            for stream in streams {
                self.let_go(*stream, &mut go);
            }
        }
    }

    #[inline]
    fn let_go(&mut self, stream: u32, go: &mut impl FnMut(u32, u64)) {
        let (next, answers) = &mut self.streams[stream as usize];
        while *next != NONE && self.waits.answers[*next as usize] <= *answers {
            let request = *next as usize;
            go(*next, self.waits.gaps[request]);
            *next = self.waits.next[request];
        }
    }
}

#[cfg(test)]
impl Dependencies {
    /// For a request, how many answers of its stream it needs, and its gap.
    pub(super) fn needs(&self, request: u32) -> (u32, u64) {
        (self.answers[request as usize], self.gaps[request as usize])
    }
}

#[cfg(test)]
mod tests {
    use trace::RecordedOp;

    use super::*;

    /// Requests as (submitted, took, stream).
    fn records(requests: &[(u64, u64, u32)]) -> Vec<Record> {
        let record = |&(time_nanoseconds, took, stream): &(u64, u64, u32)| Record {
            time_nanoseconds,
            latency_nanoseconds: Some(took),
            op: RecordedOp::Read,
            fua: false,
            offset: 0,
            length: 512,
            stream,
        };
        requests.iter().map(record).collect()
    }

    fn needs(requests: &[(u64, u64, u32)]) -> Vec<(u32, u64)> {
        let waits = Dependencies::of(&records(requests)).expect("answers are known");
        (0..requests.len() as u32).map(|request| waits.needs(request)).collect()
    }

    #[test]
    fn all_but_as_many_as_were_outstanding_must_be_answered() {
        let found = needs(&[(0, 10, 0), (1, 19, 0), (12, 5, 0), (21, 9, 0), (22, 3, 0)]);
        assert_eq!(found, [(0, 0), (0, 1), (1, 2), (2, 4), (3, 2)]);
    }

    /// A stream waits for itself, and begins after the latest answer in any.
    #[test]
    fn streams_are_told_apart() {
        let requests =
            [(0, 10, 1), (2, 3, 2), (6, 10, 2), (12, 1, 1), (15, 1, 3), (17, 1, 1), (20, 1, 3)];
        let found = needs(&requests);
        assert_eq!(found[..4], [(0, 0), (0, 2), (1, 1), (1, 2)]);
        assert_eq!(found[4..], [(0, 2), (2, 4), (1, 4)]);
        let waits = Dependencies::of(&records(&requests)).unwrap();
        let mut went = Vec::new();
        let mut progress = Progress::new(&waits);
        progress.begin(|request, gap| went.push((request, gap)));
        assert_eq!(went, [(0, 0), (1, 2)]);
        // The third stream begins with the answer to request 3, as does the next of the first.
        progress.answered(0, |_, _| ());
        went.clear();
        progress.answered(3, |request, gap| went.push((request, gap)));
        assert_eq!(went, [(5, 4), (4, 2)]);
    }

    #[test]
    fn the_most_around_each_place_is_found() {
        let mut random = reactor::Random::with_seed(7);
        let values: Vec<u32> = (0..500).map(|_| random.u32(1..40)).collect();
        let plain = |place: usize| {
            let around = place.saturating_sub(AROUND)..(place + AROUND + 1).min(values.len());
            values[around].iter().copied().max().unwrap()
        };
        assert_eq!(most_around(&values), (0..500).map(plain).collect::<Vec<_>>(), "seed 7");
    }

    #[test]
    fn without_answers_nothing_can_be_said() {
        let mut records = records(&[(0, 1, 0), (5, 1, 0), (9, 1, 0)]);
        records.iter_mut().for_each(|record| record.latency_nanoseconds = None);
        let error = Dependencies::of(&records).unwrap_err().to_string();
        assert!(error.contains("mode = \"open\""), "{error}");
        // Some are enough.
        records[0].latency_nanoseconds = Some(2);
        assert_eq!(Dependencies::of(&records).unwrap().needs(1), (1, 3));
    }
}
