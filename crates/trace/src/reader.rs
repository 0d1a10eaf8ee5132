//! Reads a trace of any known format: finds out which, and takes what can be taken of it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use block::{Error, ErrorKind};

use crate::csv::Csv;
use crate::format::{self, Decoder};
use crate::input::Input;
use crate::source::{Contents, Devices, LineSource, Source, Step, wrong};
use crate::{ProblemKind, Problems, Record, RecordedOp};

/// What a format is looked for in.
const LOOK_BYTES: usize = 16 << 10;
/// A clock that is further behind than this was set, and requests are not merely out of order.
const SET_BACK_NANOSECONDS: i128 = 1_000_000_000;
/// How many requests are looked at for the list of devices, once there are two.
const LISTED_REQUESTS: u32 = 1_000_000;
/// A format that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// What [`crate::Writer`] writes.
    Raidloom,
    /// Lines with commas, the first of which names the columns.
    Csv,
}

/// How a trace is to be read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Which format it has; none: by its looks.
    pub format: Option<Format>,
    /// The one device whose requests count, by the name that the trace has for it.
    pub device: Option<String>,
    /// Whether the first problem is an error; otherwise they are counted and read past.
    pub strict: bool,
}

/// The records of a trace, in order of submission.
pub struct Reader {
    input: Input,
    source: Box<dyn Source>,
    format: Format,
    options: ReadOptions,
    devices: Devices,
    problems: Problems,
    /// The first request's time and device.
    first: Option<(u64, u32)>,
    last_nanoseconds: u64,
    /// What the clock was set back by.
    shift_nanoseconds: i128,
    /// A request that was looked at ahead.
    held: Option<(Record, u32)>,
    ended: bool,
}

/// Opens a trace and looks at its beginning.
///
/// # Errors
/// What the system says, and a format or a version that is not known.
pub fn open(path: &Path) -> Result<Reader, Error> {
    open_with(path, &ReadOptions::default())
}

/// [`open`], told how.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, options: &ReadOptions) -> Result<Reader, Error> {
    let named = |error: Error| error.at(path.display());
    let file =
        File::open(path).map_err(|error| Error::from_io(path.display().to_string(), error))?;
    Reader::new(file, options).map_err(named)
}

impl Reader {
    /// Reads the trace that these bytes are.
    ///
    /// # Errors
    /// As [`open`].
    pub fn new(input: impl Read + Send + 'static, options: &ReadOptions) -> Result<Reader, Error> {
        let mut input = Input::new(input);
        let format = match options.format {
            Some(format) => format,
            None => looks_like(input.peek(LOOK_BYTES)?),
        };
        let source: Box<dyn Source> = match format {
            Format::Raidloom => Box::new(Decoder::new(&mut input)?),
            Format::Csv => Box::new(LineSource(Csv::default())),
        };
        Ok(Reader {
            input,
            source,
            format,
            options: options.clone(),
            devices: Devices::default(),
            problems: Problems::default(),
            first: None,
            last_nanoseconds: 0,
            shift_nanoseconds: 0,
            held: None,
            ended: false,
        })
    }

    /// Which format it has.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// What it tells of its requests.
    #[must_use]
    pub fn contents(&self) -> Contents {
        self.source.contents()
    }

    /// Size of the device that was recorded, in bytes; other programs' traces do not tell it.
    #[must_use]
    pub fn size_bytes(&self) -> Option<u64> {
        self.source.geometry().0
    }

    /// Logical block of the device, in bytes; a sector where the trace does not tell it.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.source.geometry().1
    }

    /// What was wrong up to here.
    #[must_use]
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    /// Once all records were read: whether the trace has its end, or was cut off.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.ended && self.problems.count(ProblemKind::CutOff) == 0
    }

    fn problem(&mut self, kind: ProblemKind, count: u64, text: Option<&str>) -> Result<(), Error> {
        let place = self.source.place(&self.input);
        // A file of which nothing can be read at first is not what it was taken for, and in a CSV
        // that somebody made a wrong line is a mistake and no damage.
        let is_other =
            kind == ProblemKind::Unreadable && (self.first.is_none() || self.format == Format::Csv);
        if self.options.strict || is_other {
            return Err(wrong(place, text.unwrap_or(&kind.to_string())));
        }
        self.problems.add(kind, count, place);
        Ok(())
    }

    /// The next request as it stands in the trace.
    fn raw(&mut self) -> Result<Option<(Record, u32)>, Error> {
        if let Some(held) = self.held.take() {
            return Ok(Some(held));
        }
        loop {
            let (record, device) = match self.source.step(&mut self.input, &mut self.devices)? {
                Step::Request(record, device) => (record, device),
                Step::Problem(kind, count, text) => {
                    self.problem(kind, count, text.as_deref())?;
                    continue;
                }
                Step::End => return Ok(None),
            };
            if let Some(named) = &self.options.device {
                if self.devices.names.get(device as usize).is_none_or(|name| name != named) {
                    continue;
                }
            } else if self.first.is_some_and(|(_, first)| first != device) {
                return Err(self.several());
            }
            self.first.get_or_insert((record.time_nanoseconds, device));
            if record.op == RecordedOp::Flush {
                return Ok(Some((record, device)));
            }
            let end = record.offset.checked_add(record.length);
            let is_inside = end.is_some_and(|end| self.size_bytes().is_none_or(|size| end <= size));
            if record.length == 0 {
                self.problem(ProblemKind::Empty, 1, None)?;
            } else if !is_inside {
                self.problem(ProblemKind::PastEnd, 1, None)?;
            } else {
                return Ok(Some((record, device)));
            }
        }
    }

    /// The refusal of a trace of several devices, with their names.
    fn several(&mut self) -> Error {
        for _ in 0..LISTED_REQUESTS {
            if matches!(
                self.source.step(&mut self.input, &mut self.devices),
                Ok(Step::End) | Err(_)
            ) {
                break;
            }
        }
        let names = &self.devices.names;
        let shown = names.iter().take(16).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if names.len() > 16 { ", …" } else { "" };
        let text = format!(
            "the trace is of {} devices ({shown}{more}); say which one counts: --device NAME",
            names.len()
        );
        Error::new(ErrorKind::Refused, text)
    }

    /// The next request with the time since the first, which never goes back.
    fn timed(&mut self) -> Result<Option<Record>, Error> {
        let Some((mut record, _)) = self.raw()? else { return Ok(None) };
        // Our own traces begin where the recording began, which may be before the first request.
        let begin = match self.format {
            Format::Raidloom => 0,
            Format::Csv => self.first.map_or(0, |(time, _)| time),
        };
        let since = |record: &Record, shift: i128| {
            i128::from(record.time_nanoseconds) - i128::from(begin) + shift
        };
        let last = i128::from(self.last_nanoseconds);
        let mut time = since(&record, self.shift_nanoseconds);
        if time < last {
            let mut kind = ProblemKind::Unordered;
            if last - time > SET_BACK_NANOSECONDS {
                // One that is late, or a clock that was set: the next one tells.
                self.held = self.raw()?;
                let goes_on = self
                    .held
                    .as_ref()
                    .is_some_and(|(next, _)| since(next, self.shift_nanoseconds) >= last);
                if !goes_on {
                    kind = ProblemKind::ClockSetBack;
                    self.shift_nanoseconds += last - time;
                }
            }
            self.problem(kind, 1, None)?;
            time = last;
        }
        record.time_nanoseconds = u64::try_from(time).unwrap_or(u64::MAX);
        self.last_nanoseconds = record.time_nanoseconds;
        Ok(Some(record))
    }
}

impl Iterator for Reader {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Result<Record, Error>> {
        if self.ended {
            return None;
        }
        let next = self.timed();
        self.ended = !matches!(next, Ok(Some(_)));
        if matches!(next, Ok(None))
            && self.first.is_none()
            && let Some(named) = &self.options.device
        {
            let names = self.devices.names.join(", ");
            let text = format!("there is no device {named} in the trace, only: {names}");
            return Some(Err(Error::new(ErrorKind::NotFound, text)));
        }
        next.transpose()
    }
}

/// The format of a file that begins so.
fn looks_like(beginning: &[u8]) -> Format {
    if beginning.starts_with(format::MAGIC) { Format::Raidloom } else { Format::Csv }
}
