//! How what was written came to the media of modelled drives: which of the sectors that a drive
//! had cached are on its media at a cut is then no chance, but what its model says.
//!
//! ```text
//!   arrival ── in the cache ── taken ── begins ═══ block by block ═══ ends      completion of a flush
//!                                            ^ a cut here leaves the blocks before
//! ```
//!
//! It stands in the log as marks of the recorder's own, one for each drive, as lines of text:
//!
//! ```text
//!   media DRIVE BLOCK_BYTES
//!   a TIME START END                     data have arrived in the drive
//!   w TAKEN BEGINS ENDS START END        what had arrived until TAKEN goes to the media
//! ```

use block::{Error, ErrorKind};

use crate::catalogue;
use crate::log::{Log, LoggedRequest};

/// How the text of such a mark begins.
const MARK: &str = "media ";

/// Data have arrived in a drive, in nanoseconds and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataArrival {
    /// When it was.
    pub time: u64,
    /// First byte.
    pub start: u64,
    /// Behind the last byte.
    pub end: u64,
}

/// Data go to the media, in nanoseconds and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaTransfer {
    /// What had arrived until then is what is written.
    pub taken: u64,
    /// When the first block passes under the head.
    pub begins: u64,
    /// When the last one has.
    pub ends: u64,
    /// First byte.
    pub start: u64,
    /// Behind the last byte.
    pub end: u64,
}

/// The way to the media of one drive, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Media {
    /// What a drive writes whole or not at all, in bytes.
    pub block_bytes: u64,
    /// What has arrived, by time.
    pub arrived: Vec<DataArrival>,
    /// What went to the media, by time.
    pub written: Vec<MediaTransfer>,
}

impl Media {
    /// The mark that says it of the drive of this number.
    #[must_use]
    pub fn mark(&self, drive: u16) -> String {
        let mut text = format!("{MARK}{drive} {}\n", self.block_bytes);
        for DataArrival { time, start, end } in &self.arrived {
            text += &format!("a {time} {start} {end}\n");
        }
        for MediaTransfer { taken, begins, ends, start, end } in &self.written {
            text += &format!("w {taken} {begins} {ends} {start} {end}\n");
        }
        text
    }

    /// Whether a mark is about media and none of the work's.
    #[must_use]
    pub fn is_mark(text: &[u8]) -> bool {
        text.starts_with(MARK.as_bytes())
    }

    /// The drive of a mark, and what it says; nothing of a mark of the work.
    fn parse(text: &str) -> Option<Result<(u16, Media), Error>> {
        let mut lines = text.strip_prefix(MARK)?.lines();
        let numbers = |words: &str| -> Option<Vec<u64>> {
            words.split(' ').map(|word| word.parse().ok()).collect()
        };
        let head = lines.next().and_then(numbers);
        let read = || {
            let [drive, block_bytes] = head?[..] else { return None };
            let mut media = Media { block_bytes, ..Media::default() };
            for line in lines {
                let (kind, words) = line.split_once(' ')?;
                match (kind, &numbers(words)?[..]) {
                    ("a", &[time, start, end]) if start < end => {
                        media.arrived.push(DataArrival { time, start, end });
                    }
                    ("w", &[taken, begins, ends, start, end])
                        if taken <= begins && begins <= ends && start < end =>
                    {
                        media.written.push(MediaTransfer { taken, begins, ends, start, end });
                    }
                    _ => return None,
                }
            }
            let is_unit = block_bytes.is_power_of_two() && block_bytes >= 512;
            is_unit.then_some((u16::try_from(drive).ok()?, media))
        };
        Some(read().ok_or_else(|| Error::new(ErrorKind::Invalid, catalogue::LOG_MEDIA_MARK)))
    }

    /// What a log says of each of its drives; drives of which it says nothing have none.
    ///
    /// # Errors
    /// A mark that makes no sense, and what reading the log says.
    pub(crate) fn of(log: &Log) -> Result<Vec<Option<Media>>, Error> {
        let mut all = vec![None; log.drives().len()];
        for (.., text) in log.marks()? {
            let Ok(text) = std::str::from_utf8(&text) else { continue };
            let Some(parsed) = Media::parse(text) else { continue };
            let (drive, media) = parsed?;
            if let Some(place) = all.get_mut(usize::from(drive)) {
                *place = Some(media);
            }
        }
        Ok(all)
    }

    /// Which of these requests, in the order in which they completed, is what the media hold at
    /// `offset` when the power fails `now`; nothing where none of them has come so far. `completed`
    /// says when each was completed, if it was.
    pub(crate) fn holds(
        &self,
        offset: u64,
        now: u64,
        candidates: &[(&LoggedRequest, u64, Option<u64>)],
    ) -> Option<usize> {
        let oldest = candidates.iter().map(|(_, arrival, _)| *arrival).min()?;
        let begun = self.written.partition_point(|written| written.taken <= now);
        let recent = self.written[..begun].iter().rev();
        // Ranges are taken one at a time: an earlier one has ended before.
        recent.take_while(|written| written.ends >= oldest).find_map(|written| {
            if !(written.start..written.end).contains(&offset)
                || !self.is_there(written, offset, now)
            {
                return None;
            }
            (0..candidates.len()).rev().find(|&index| {
                let (_, arrival, completed) = candidates[index];
                self.arrival(offset, arrival, completed).is_some_and(|time| time <= written.taken)
            })
        })
    }

    /// Whether the block at an offset of a range has passed under the head.
    fn is_there(&self, written: &MediaTransfer, offset: u64, now: u64) -> bool {
        if now >= written.ends {
            return true;
        }
        let first = written.start / self.block_bytes;
        let blocks = written.end.div_ceil(self.block_bytes) - first;
        let passed = u128::from(now.saturating_sub(written.begins)) * u128::from(blocks);
        let passed = passed / u128::from((written.ends - written.begins).max(1));
        u128::from(offset / self.block_bytes - first) < passed
    }

    /// When what a request had for an offset was in the drive.
    fn arrival(&self, offset: u64, arrival: u64, completed: Option<u64>) -> Option<u64> {
        let first = self.arrived.partition_point(|arrived| arrived.time < arrival);
        let within = self.arrived[first..]
            .iter()
            .take_while(|arrived| completed.is_none_or(|completed| arrived.time <= completed));
        let mut covering = within.filter(|at| (at.start..at.end).contains(&offset));
        covering.next().map(|arrived| arrived.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Action;

    fn media() -> Media {
        Media {
            block_bytes: 512,
            arrived: vec![
                DataArrival { time: 10, start: 0, end: 4096 },
                DataArrival { time: 30, start: 0, end: 512 },
            ],
            written: vec![
                MediaTransfer { taken: 20, begins: 100, ends: 180, start: 0, end: 4096 },
                MediaTransfer { taken: 180, begins: 200, ends: 210, start: 0, end: 512 },
            ],
        }
    }

    fn request() -> LoggedRequest {
        LoggedRequest {
            drive: 0,
            action: Action::Write,
            fua: false,
            offset: 0,
            length: 4096,
            arrival: 0,
            completion: None,
            data: 0,
        }
    }

    #[test]
    fn what_has_passed_under_the_head_is_there_and_nothing_else() {
        let (media, request) = (media(), request());
        let both = [(&request, 5, Some(10)), (&request, 25, Some(30))];
        let at = |offset, now| media.holds(offset, now, &both);
        assert_eq!(at(0, 15), None, "it is in the cache");
        assert_eq!(at(0, 105), None, "the first block is under the head");
        assert_eq!([at(0, 110), at(512, 110), at(3584, 179)], [Some(0), None, None]);
        assert_eq!([at(0, 180), at(3584, 180)], [Some(0); 2]);
        assert_eq!(at(0, 205), Some(0), "the next is on its way");
        assert_eq!([at(0, 210), at(512, 300)], [Some(1), Some(0)]);
        // What arrived after it was taken is not what was written.
        assert_eq!(media.holds(0, 190, &both[1..]), None);
    }

    /// A write that ends before it begins.
    const BACK: &str = "media 1 512\nw 1 3 2 0 512\n";

    #[test]
    fn a_mark_is_read_as_it_is_written() {
        let media = media();
        let (drive, read) = Media::parse(&media.mark(3)).unwrap().unwrap();
        assert_eq!((drive, read), (3, media));
        assert!(Media::parse("begin").is_none());
        for wrong in
            ["media", "media \n", "media 1\n", "media 1 512\nx 1", "media 1 512\na 1 2\n", BACK]
        {
            let parsed = Media::parse(wrong);
            assert!(parsed.is_none_or(|parsed| parsed.is_err()), "{wrong}");
        }
        assert!(Media::parse("media 1 500\n").unwrap().is_err());
    }
}
