//! Where the requests of a recording go on a target of another size.
//!
//! ```text
//! recorded  |  ##   ####            ##      |      touched, and what is never touched between
//! narrowed  | ## ####     ##|                      one factor for all that is never touched
//! folded    |######|                               it does not fit either: from the start again
//!            ##
//! ```
//!
//! What is touched keeps its length, so that a sequential run stays one, and its order. Space that
//! is never touched changes by whole MiB, so that a request lies in its chunk, and in its stripe up
//! to that size, as it did; by less where there is no room for that.

use results::doubt::AddressFit;
use trace::{Record, RecordedOp};
use words::{Text, statement};

use crate::known::joined;
use crate::suite::catalogue;

/// Space between touched places changes by multiples of the first of these by which all fits.
const STEPS_BYTES: [u64; 3] = [1 << 20, 64 << 10, 4 << 10];

/// What may be done with addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// As recorded, and nothing else.
    Exact,
    /// As recorded; narrowed where there is no room.
    Keep,
    /// As [`Rule::Keep`]; folded where there is still no room.
    Fold,
    /// Made wider or narrower, so that the recording spans the target.
    Scale,
}

/// A touched range of the recording, and where it goes.
#[derive(Clone, Copy, Debug)]
struct MovedRange {
    start: u64,
    to: u64,
}

/// Where requests go.
#[derive(Debug)]
pub(super) struct Fit {
    /// What was done; none where addresses are as recorded.
    pub(super) done: Option<AddressFit>,
    /// From the first byte that is touched to the last, recorded and on the target.
    pub(super) span_bytes: [u64; 2],
    /// Whether requests are rounded out to whole blocks.
    pub(super) rounds: bool,
    moved: Vec<MovedRange>,
    size_bytes: u64,
    block_bytes: u64,
}

/// Offset and end of what a request touches, in whole blocks; none of a flush.
fn range(record: &Record, block: u64) -> Option<(u64, u64)> {
    if record.op == RecordedOp::Flush || record.length == 0 {
        return None;
    }
    let end = record.offset.checked_add(record.length)?.checked_next_multiple_of(block)?;
    Some((record.offset - record.offset % block, end))
}

impl Fit {
    /// Of records on a target of so many bytes in blocks of so many. `recorded_bytes` is the size
    /// of the device that they were recorded on, where it is known.
    ///
    /// # Errors
    /// What does not fit, and what the setting may be instead.
    pub(super) fn new(
        records: &[Record],
        recorded_bytes: Option<u64>,
        (size_bytes, block_bytes): (u64, u32),
        rule: Rule,
    ) -> Result<Fit, Text> {
        let block = u64::from(block_bytes);
        let is_past =
            |record: &&Record| record.op != RecordedOp::Flush && range(record, block).is_none();
        if let Some(record) = records.iter().find(is_past) {
            return Err(statement!(
                catalogue::NO_SUCH_REQUEST,
                length = record.length,
                offset = record.offset
            ));
        }
        let ranges = || records.iter().filter_map(|record| range(record, block));
        let first = ranges().map(|(start, _)| start).min().unwrap_or(0);
        let last = ranges().map(|(_, end)| end).max().unwrap_or(0);
        let longest = ranges().map(|(start, end)| end - start).max().unwrap_or(0);
        let is_whole = |record: &Record| (record.offset | record.length).is_multiple_of(block);
        let mut fit = Fit {
            done: None,
            span_bytes: [last - first; 2],
            rounds: !records.iter().all(is_whole),
            moved: Vec::new(),
            size_bytes: size_bytes - size_bytes % block,
            block_bytes: block,
        };
        if longest > fit.size_bytes {
            return Err(statement!(
                catalogue::REQUEST_OUTGROWS_TARGET,
                longest = longest,
                bytes = size_bytes
            ));
        }
        let fits = last <= fit.size_bytes;
        match rule {
            Rule::Exact if !fits => {
                return Err(statement!(
                    catalogue::RECORDING_REACHES,
                    last = last,
                    bytes = size_bytes
                ));
            }
            Rule::Exact => return Ok(fit),
            Rule::Keep | Rule::Fold if fits => return Ok(fit),
            Rule::Keep | Rule::Fold | Rule::Scale => (),
        }
        let touched = joined(ranges().collect());
        let recorded_end = match rule {
            Rule::Scale => recorded_bytes.unwrap_or(last).max(last),
            _ => last,
        };
        fit.move_apart(&touched, recorded_end, rule)?;
        Ok(fit)
    }

    /// Gives each touched range its place.
    fn move_apart(
        &mut self,
        touched: &[(u64, u64)],
        recorded_end: u64,
        rule: Rule,
    ) -> Result<(), Text> {
        let mut before = 0;
        let gaps: Vec<u64> = touched
            .iter()
            .map(|(start, end)| start - std::mem::replace(&mut before, *end))
            .collect();
        let behind = recorded_end - before;
        let lengths: u64 = touched.iter().map(|(start, end)| end - start).sum();
        let needed_by = |step: u64| lengths + gaps.iter().map(|gap| gap % step).sum::<u64>();
        let [.., least] = STEPS_BYTES.map(|step| step.max(self.block_bytes));
        let fits = |step: &u64| needed_by(*step) <= self.size_bytes;
        let step_bytes = STEPS_BYTES.into_iter().find(fits).unwrap_or(least).max(self.block_bytes);
        let steps: u64 = gaps.iter().chain([&behind]).map(|gap| gap / step_bytes).sum();
        let needed = needed_by(step_bytes);
        let steps_left = match self.size_bytes.checked_sub(needed) {
            Some(room) => room / step_bytes,
            None if rule == Rule::Fold => 0,
            None => {
                return Err(statement!(
                    catalogue::RECORDING_TOUCHES,
                    touched = lengths,
                    needed = needed,
                    bytes = self.size_bytes
                ));
            }
        };
        if needed <= self.size_bytes && steps_left == steps {
            return Ok(());
        }
        let scaled = |steps_before: u64| {
            let product = u128::from(steps_before) * u128::from(steps_left);
            (product / u128::from(steps.max(1))) as u64
        };
        let (mut at, mut steps_before) = (0, 0);
        for ((start, end), gap) in touched.iter().zip(&gaps) {
            let new = scaled(steps_before + gap / step_bytes) - scaled(steps_before);
            steps_before += gap / step_bytes;
            at += new * step_bytes + gap % step_bytes;
            self.moved.push(MovedRange { start: *start, to: at });
            at += end - start;
        }
        self.done = Some(match () {
            () if needed > self.size_bytes => AddressFit::Folded,
            () if steps_left > steps => AddressFit::Widened,
            () => AddressFit::Narrowed,
        });
        let begin = self.moved.first().map_or(0, |first| first.to);
        self.span_bytes[1] = (at - begin).min(self.size_bytes);
        Ok(())
    }

    /// Offset and length on the target of a request that is no flush.
    #[inline]
    pub(super) fn place(&self, record: &Record) -> (u64, u64) {
        let block = self.block_bytes;
        let start = record.offset - record.offset % block;
        let end = (record.offset + record.length).next_multiple_of(block);
        let length = end - start;
        if self.moved.is_empty() {
            return (start, length);
        }
        let index = self.moved.partition_point(|moved| moved.start <= start);
        let moved = self.moved[index.saturating_sub(1)];
        let offset = moved.to + (start - moved.start);
        if offset + length <= self.size_bytes {
            return (offset, length);
        }
        // A request does not go on at the start.
        let folded = offset % self.size_bytes;
        (folded.min(self.size_bytes - length), length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn records(ranges: &[(u64, u64)]) -> Vec<Record> {
        let record = |(offset, length): &(u64, u64)| Record {
            time_nanoseconds: 0,
            latency_nanoseconds: None,
            op: RecordedOp::Read,
            fua: false,
            offset: *offset,
            length: *length,
            stream: 0,
        };
        ranges.iter().map(record).collect()
    }

    fn places(fit: &Fit, records: &[Record]) -> Vec<(u64, u64)> {
        records.iter().map(|record| fit.place(record)).collect()
    }

    #[test]
    fn what_fits_stays_where_it_was() {
        let records = records(&[(0, 4096), (7 * MIB, 8192)]);
        for rule in [Rule::Exact, Rule::Keep, Rule::Fold] {
            let fit = Fit::new(&records, None, (8 * MIB, 512), rule).unwrap();
            assert_eq!((fit.done, fit.rounds), (None, false), "{rule:?}");
            assert_eq!(places(&fit, &records), [(0, 4096), (7 * MIB, 8192)]);
        }
        let error = Fit::new(&records, None, (4 * MIB, 512), Rule::Exact).unwrap_err().to_string();
        assert!(error.contains("fit = \"keep\""), "{error}");
    }

    /// A run stays one, the order stays, and so does the place within a MiB; distances shrink by
    /// one factor.
    #[test]
    fn what_lies_between_becomes_narrower() {
        let recorded = [
            (100 * MIB + 4096, 65536),
            (100 * MIB + 4096 + 65536, 65536),
            (500 * MIB, 4096),
            (900 * MIB + 512, 512),
        ];
        let records = records(&recorded);
        let fit = Fit::new(&records, None, (91 * MIB, 512), Rule::Keep).unwrap();
        assert_eq!(fit.done, Some(AddressFit::Narrowed));
        let placed = places(&fit, &records);
        assert_eq!(placed[1].0, placed[0].0 + placed[0].1, "a run stays one");
        for ((offset, length), (recorded, _)) in placed.iter().zip(&recorded) {
            assert_eq!(offset % MIB, recorded % MIB);
            assert!(offset + length <= 91 * MIB);
        }
        for (offset, recorded) in [(placed[2].0, 500), (placed[3].0, 900)] {
            let factor = offset as f64 / (recorded * MIB) as f64;
            assert!((0.095..0.105).contains(&factor), "{factor}");
        }
    }

    #[test]
    fn a_target_smaller_than_what_is_touched_is_refused_or_folded() {
        let records = records(&[(0, MIB), (2 * MIB, MIB), (9 * MIB, MIB), (11 * MIB, MIB)]);
        let error =
            Fit::new(&records, None, (3 * MIB + 512, 512), Rule::Keep).unwrap_err().to_string();
        assert!(error.contains("touches 4194304 bytes") && error.contains("fold"), "{error}");
        let fit = Fit::new(&records, None, (3 * MIB + 512, 512), Rule::Fold).unwrap();
        assert_eq!(fit.done, Some(AddressFit::Folded));
        let size = 3 * MIB + 512;
        assert!(places(&fit, &records).iter().all(|(offset, length)| offset + length <= size));
        let error = Fit::new(&records, None, (MIB / 2, 512), Rule::Fold).unwrap_err().to_string();
        assert!(error.contains("longer than the target"), "{error}");
    }

    /// Many places far apart fit once the space between them may change by less than a MiB.
    #[test]
    fn steps_become_smaller_where_there_is_no_room() {
        let far: Vec<(u64, u64)> = (0..100).map(|n| (n * 3 * MIB + n * 8192, 4096)).collect();
        let records = records(&far);
        let fit = Fit::new(&records, None, (2 * MIB, 512), Rule::Keep).unwrap();
        assert_eq!(fit.done, Some(AddressFit::Narrowed));
        let placed = places(&fit, &records);
        assert!(placed.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{placed:?}");
        assert!(placed.iter().all(|(offset, length)| offset + length <= 2 * MIB));
        Fit::new(&records, None, (100 * 4096 - 512, 512), Rule::Keep).unwrap_err();
    }

    #[test]
    fn scaled_it_spans_the_target() {
        let records = records(&[(0, MIB), (50 * MIB, MIB), (99 * MIB, MIB)]);
        let fit = Fit::new(&records, Some(100 * MIB), (1000 * MIB, 512), Rule::Scale).unwrap();
        assert_eq!(fit.done, Some(AddressFit::Widened));
        let placed = places(&fit, &records);
        assert!((490 * MIB..510 * MIB).contains(&placed[1].0), "{placed:?}");
        assert_eq!(placed[2], (999 * MIB, MIB));
    }

    #[test]
    fn requests_become_whole_blocks_of_the_target() {
        let records = records(&[(512, 512), (4096, 4096)]);
        let fit = Fit::new(&records, None, (MIB, 4096), Rule::Keep).unwrap();
        assert!(fit.rounds);
        assert_eq!(places(&fit, &records), [(0, 4096), (4096, 4096)]);
    }
}
