//! What every format is to its reader: steps from one request to the next.

use block::{Error, ErrorKind, SECTOR_BYTES};

use crate::input::{Input, LINE_BYTES, Line};
use crate::{Place, ProblemKind, Record};

/// What a source tells of its requests, beside operation, offset and length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// When they were submitted.
    pub times: bool,
    /// When they completed.
    pub completions: bool,
    /// Who asked.
    pub streams: bool,
    /// Flushes, if there were any.
    pub flushes: bool,
    /// Discards, if there were any.
    pub discards: bool,
}

/// What stands next in a source.
pub(crate) enum Step {
    /// A request, and the number of its device.
    Request(Record, u32),
    /// Something that is wrong, how often, and what about it.
    Problem(ProblemKind, u64, Option<String>),
    End,
}

/// Where requests come from, of one format.
pub(crate) trait Source: Send {
    fn step(&mut self, input: &mut Input, devices: &mut Devices) -> Result<Step, Error>;
    /// Where it is.
    fn place(&self, input: &Input) -> Place;
    fn contents(&self) -> Contents;
    /// Size of the device in bytes, and its logical block.
    fn geometry(&self) -> (Option<u64>, u32) {
        (None, SECTOR_BYTES as u32)
    }
}

/// Names of devices, by number.
#[derive(Default)]
pub(crate) struct Devices {
    pub(crate) names: Vec<String>,
}

/// What reads one line of text.
pub(crate) trait Lines: Send {
    const CONTENTS: Contents;
    /// The request that the line tells of, and the number of its device; none where it tells of
    /// no request.
    fn parse(&mut self, line: &str, devices: &mut Devices)
    -> Result<Option<(Record, u32)>, String>;
    /// What its columns told of that not every file of the format has.
    fn contents(&self) -> Contents {
        Self::CONTENTS
    }
}

/// A format of lines.
pub(crate) struct LineSource<L>(pub(crate) L);

impl<L: Lines> Source for LineSource<L> {
    fn step(&mut self, input: &mut Input, devices: &mut Devices) -> Result<Step, Error> {
        loop {
            let Some(line) = input.line()? else { return Ok(Step::End) };
            let (text, is_last) = match line {
                Line::Text(text) => (text, false),
                Line::Last(text) => (text, true),
                Line::TooLong => {
                    let problem = format!(
                        "longer than {LINE_BYTES} bytes; this is neither a trace nor lines of \
                        requests"
                    );
                    return Err(wrong(self.place(input), &problem));
                }
                Line::NoText => {
                    let problem = "no text; this is neither a trace nor lines of requests";
                    return Err(wrong(self.place(input), problem));
                }
            };
            match self.0.parse(text, devices) {
                Ok(Some((record, device))) => return Ok(Step::Request(record, device)),
                Ok(None) => (),
                Err(problem) if is_last => {
                    return Ok(Step::Problem(ProblemKind::CutOff, 1, Some(problem)));
                }
                Err(problem) => {
                    return Ok(Step::Problem(ProblemKind::Unreadable, 1, Some(problem)));
                }
            }
        }
    }

    fn place(&self, input: &Input) -> Place {
        Place::Line(input.lines)
    }

    fn contents(&self) -> Contents {
        self.0.contents()
    }
}

pub(crate) fn wrong(place: Place, problem: &str) -> Error {
    Error::new(ErrorKind::Invalid, format!("{place}: {problem}"))
}
