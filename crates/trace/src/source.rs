//! What every format is to its reader: steps from one request to the next.

use block::{Error, ErrorKind, SECTOR_BYTES};
use words::{Text, statement};

use crate::catalogue;
use crate::input::{Input, LINE_BYTES, Line};
use crate::{ProblemKind, ProblemSite, Record};

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
pub(crate) enum SourceItem {
    /// A request, and the number of its device.
    Request(Record, u32),
    /// Something that is wrong, how often, and what about it.
    Problem(ProblemKind, u64, Option<Text>),
    End,
}

/// Where requests come from, of one format.
pub(crate) trait Source: Send {
    fn step(&mut self, input: &mut Input, devices: &mut Devices) -> Result<SourceItem, Error>;
    /// Where it is.
    fn place(&self, input: &Input) -> ProblemSite;
    fn contents(&self) -> Contents;
    /// Size of the device in bytes, and its logical block.
    fn geometry(&self) -> (Option<u64>, u32) {
        (None, SECTOR_BYTES as u32)
    }
}

/// More devices than this are not told apart.
const DEVICES_MAX: usize = 1 << 16;
/// How many of them a message names.
const DEVICES_SHOWN: usize = 16;

/// Names of devices, by number.
#[derive(Default)]
pub(crate) struct Devices {
    pub(crate) names: Vec<String>,
    last: usize,
}

impl Devices {
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if self.names.get(self.last).is_none_or(|last| last != name) {
            let known = self.names.iter().position(|known| known == name);
            self.last = known.unwrap_or_else(|| {
                if self.names.len() < DEVICES_MAX {
                    self.names.push(name.to_owned());
                }
                self.names.len() - 1
            });
        }
        self.last as u32
    }

    /// The names, as many as a line takes.
    pub(crate) fn list(&self) -> String {
        let shown: Vec<&str> = self.names.iter().take(DEVICES_SHOWN).map(String::as_str).collect();
        let more = if self.names.len() > DEVICES_SHOWN { ", …" } else { "" };
        format!("{}{more}", shown.join(", "))
    }
}

/// What a line tells of: a request and the number of its device, or nothing; or what is wrong with
/// it.
pub(crate) type ParsedLine = Result<Option<(Record, u32)>, Text>;

/// What reads one line of text.
pub(crate) trait Lines: Send {
    const CONTENTS: Contents;
    /// The request that the line tells of, and the number of its device; none where it tells of
    /// no request.
    fn parse(&mut self, line: &str, devices: &mut Devices) -> ParsedLine;
    /// What its columns told of that not every file of the format has.
    fn contents(&self) -> Contents {
        Self::CONTENTS
    }
    /// A request that earlier lines told of, once later ones told of its end.
    fn ready(&mut self) -> Option<(Record, u32)> {
        None
    }
    /// The same when there are no later ones.
    fn left(&mut self) -> Option<(Record, u32)> {
        None
    }
    /// How many completions had no submission since this was asked last.
    fn unpaired(&mut self) -> u64 {
        0
    }
}

/// A format of lines.
pub(crate) struct LineSource<L>(pub(crate) L);

impl<L: Lines> Source for LineSource<L> {
    fn step(&mut self, input: &mut Input, devices: &mut Devices) -> Result<SourceItem, Error> {
        loop {
            if let Some((record, device)) = self.0.ready() {
                return Ok(SourceItem::Request(record, device));
            }
            let Some(line) = input.line()? else {
                let left = self.0.left();
                return Ok(left.map_or(SourceItem::End, |(record, device)| {
                    SourceItem::Request(record, device)
                }));
            };
            let (text, is_last) = match line {
                Line::Text(text) => (text, false),
                Line::Last(text) => (text, true),
                Line::TooLong => {
                    let problem = statement!(catalogue::LINE_TOO_LONG, line_bytes = LINE_BYTES);
                    return Err(wrong(self.place(input), problem));
                }
                Line::NoText => {
                    let problem = catalogue::NO_TEXT;
                    return Err(wrong(self.place(input), problem));
                }
            };
            match self.0.parse(text, devices) {
                Ok(Some((record, device))) => return Ok(SourceItem::Request(record, device)),
                Ok(None) => match self.0.unpaired() {
                    0 => (),
                    count => return Ok(SourceItem::Problem(ProblemKind::Unpaired, count, None)),
                },
                Err(problem) if is_last => {
                    return Ok(SourceItem::Problem(ProblemKind::CutOff, 1, Some(problem)));
                }
                Err(problem) => {
                    return Ok(SourceItem::Problem(ProblemKind::Unreadable, 1, Some(problem)));
                }
            }
        }
    }

    fn place(&self, input: &Input) -> ProblemSite {
        ProblemSite::Line(input.lines)
    }

    fn contents(&self) -> Contents {
        self.0.contents()
    }
}

pub(crate) fn wrong(place: ProblemSite, problem: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Invalid, problem.into().at(place))
}
