//! Puts completions to submissions and gives records out in order of submission.
//!
//! ```text
//!   submit 1  submit 2  submit 3  complete 2  complete 1     3 is still under way
//!      │                                          └──> 1, 2
//! ```

use std::collections::VecDeque;

use crate::Record;

/// The most requests that wait for an earlier one. When there are more, the earliest goes without
/// its completion: one that never comes must not fill the memory.
const WAITING_MAX: usize = 1 << 16;

/// A request that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

impl Ticket {
    pub(crate) const FIRST: Ticket = Ticket(0);
    pub(crate) const LAST: Ticket = Ticket(u64::MAX);
}

/// Requests that have not completed, and those that were submitted after them.
#[derive(Debug, Default)]
pub struct Pairing {
    waiting: VecDeque<(Record, bool)>,
    /// How many went before the first that waits.
    gone: u64,
}

impl Pairing {
    /// A request is submitted.
    pub fn submit(&mut self, record: Record) -> Ticket {
        self.waiting.push_back((record, false));
        Ticket(self.gone + self.waiting.len() as u64 - 1)
    }

    /// It has ended; `latency_nanoseconds` is none where nobody knows when.
    pub fn end(&mut self, ticket: Ticket, latency_nanoseconds: Option<u64>) {
        let waiting =
            ticket.0.checked_sub(self.gone).and_then(|at| self.waiting.get_mut(at as usize));
        // One that is not there has gone without its completion.
        if let Some((record, ended)) = waiting {
            record.latency_nanoseconds = latency_nanoseconds;
            *ended = true;
        }
    }

    /// The next in order of submission, once it has ended or too many wait for it.
    pub fn next_ended(&mut self) -> Option<Record> {
        let (_, ended) = self.waiting.front()?;
        if !ended && self.waiting.len() <= WAITING_MAX {
            return None;
        }
        self.gone += 1;
        self.waiting.pop_front().map(|(record, _)| record)
    }

    /// The next in order of submission, whether it has ended or not: nothing comes any more.
    pub fn next_left(&mut self) -> Option<Record> {
        self.gone += 1;
        self.waiting.pop_front().map(|(record, _)| record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordedOp;

    fn read(offset: u64) -> Record {
        Record {
            time_nanoseconds: offset,
            latency_nanoseconds: None,
            op: RecordedOp::Read,
            fua: false,
            offset,
            length: 512,
            stream: 0,
        }
    }

    #[test]
    fn records_come_in_order_of_submission_with_their_completions() {
        let mut pairing = Pairing::default();
        let [first, second, third] = [0, 512, 1024].map(|offset| pairing.submit(read(offset)));
        pairing.end(second, Some(7));
        assert_eq!(pairing.next_ended(), None);
        pairing.end(first, Some(9));
        let ended = |offset, latency| Record { latency_nanoseconds: Some(latency), ..read(offset) };
        assert_eq!(pairing.next_ended(), Some(ended(0, 9)));
        assert_eq!(pairing.next_ended(), Some(ended(512, 7)));
        assert_eq!(pairing.next_ended(), None);
        assert_eq!(pairing.next_left(), Some(read(1024)));
        pairing.end(third, Some(1));
        assert_eq!(pairing.next_left(), None);
    }

    #[test]
    fn one_that_never_completes_does_not_fill_the_memory() {
        let mut pairing = Pairing::default();
        let never = pairing.submit(read(0));
        let mut given = 0;
        for offset in 1..3 * WAITING_MAX as u64 {
            let ticket = pairing.submit(read(offset));
            pairing.end(ticket, Some(1));
            while let Some(record) = pairing.next_ended() {
                assert_eq!(
                    (record.offset, record.latency_nanoseconds.is_some()),
                    (given, given > 0)
                );
                given += 1;
            }
            assert!(pairing.waiting.len() <= WAITING_MAX);
        }
        pairing.end(never, Some(5));
        assert_eq!(given, 3 * WAITING_MAX as u64);
    }
}
