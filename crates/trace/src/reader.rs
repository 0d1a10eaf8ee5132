//! Reads a trace of any known format: finds out which, and takes what can be taken of it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use block::{Error, ErrorKind};
use words::{Text, statement};

use crate::blkparse::{self, Blkparse};
use crate::blktrace::{self, Blktrace};
use crate::catalogue;
use crate::csv::Csv;
use crate::format::{self, Decoder};
use crate::input::Input;
use crate::iolog::{self, Iolog};
use crate::log_writes::{self, LogWrites};
use crate::published::{Alibaba, DiskSim, Msr, Spc};
use crate::source::{Contents, Devices, LineSource, Source, SourceItem, wrong};
use crate::{ProblemKind, Problems, Record, RecordedOp, unpack};

/// What a format is looked for in.
const LOOK_BYTES: usize = 16 << 10;
/// A clock that is further behind than this was set, and requests are not merely out of order.
const SET_BACK_NANOSECONDS: i128 = 1_000_000_000;
/// How many requests are looked at for the list of devices, once there are two.
const LISTED_REQUESTS: u32 = 1_000_000;
/// Files of processors that are looked for.
const PROCESSORS_MAX: u32 = 4096;
/// No device is larger, in bytes: kernels count them in signed numbers.
const DEVICE_MAX: u64 = i64::MAX as u64;
/// Nor is any request as long as this, in bytes: a drive of 16 TiB, discarded at once.
const REQUEST_MAX: u64 = 1 << 44;

/// A format that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// What [`crate::Writer`] writes.
    Raidloom,
    /// Lines with commas, the first of which names the columns.
    Csv,
    /// The binary format of Linux's block tracing.
    Blktrace,
    /// What `blkparse` prints of it.
    Blkparse,
    /// fio's log of what it did, versions 2 and 3.
    FioIolog,
    /// The log of dm-log-writes.
    DmLogWrites,
    /// As Microsoft Research Cambridge published traces.
    Msr,
    /// As the Storage Performance Council did.
    Spc,
    /// As Alibaba did.
    Alibaba,
    /// What DiskSim reads.
    DiskSim,
}

impl Format {
    /// All of them, with their names.
    pub const ALL: [(Format, &str); 10] = [
        (Format::Raidloom, "raidloom"),
        (Format::Csv, "csv"),
        (Format::Blktrace, "blktrace"),
        (Format::Blkparse, "blkparse"),
        (Format::FioIolog, "fio"),
        (Format::DmLogWrites, "dm-log-writes"),
        (Format::Msr, "msr"),
        (Format::Spc, "spc"),
        (Format::Alibaba, "alibaba"),
        (Format::DiskSim, "disksim"),
    ];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        Format::ALL.iter().find(|(format, _)| *format == self).map_or("", |(_, name)| name)
    }
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
    let paths = parts(path);
    let mut inputs = Vec::new();
    for path in &paths {
        let named = |error: Error| error.at(path.display());
        let file =
            File::open(path).map_err(|error| Error::from_io(path.display().to_string(), error))?;
        inputs.push(unpack::unpack(file).map_err(named)?);
    }
    let first = inputs.remove(0);
    let others = inputs.into_iter().map(Input::new).collect();
    Reader::of_parts(first, others, options).map_err(|error| error.at(path.display()))
}

/// The files of a trace: blktrace keeps one for each processor, `NAME.blktrace.0` and so on, and
/// any of them, or `NAME` itself, stands for all.
fn parts(path: &Path) -> Vec<PathBuf> {
    let text = path.as_os_str().to_string_lossy();
    let before = match text.rsplit_once(".blktrace.") {
        Some((before, number)) if number.parse::<u32>().is_ok() => before,
        _ if path.exists() => return vec![path.to_owned()],
        _ => &text,
    };
    let part = |number: u32| PathBuf::from(format!("{before}.blktrace.{number}"));
    let found: Vec<PathBuf> = (0..PROCESSORS_MAX).map(part).filter(|path| path.exists()).collect();
    if found.is_empty() { vec![path.to_owned()] } else { found }
}

impl Reader {
    /// Reads the trace that these bytes are.
    ///
    /// # Errors
    /// As [`open`].
    pub fn new(input: impl Read + Send + 'static, options: &ReadOptions) -> Result<Reader, Error> {
        Reader::of_parts(input, Vec::new(), options)
    }

    fn of_parts(
        input: impl Read + Send + 'static,
        others: Vec<Input>,
        options: &ReadOptions,
    ) -> Result<Reader, Error> {
        let mut input = Input::new(input);
        let format = match options.format {
            Some(format) => format,
            None => looks_like(input.peek(LOOK_BYTES)?),
        };
        let source: Box<dyn Source> = match format {
            Format::Raidloom => Box::new(Decoder::new(&mut input)?),
            Format::Csv => Box::new(LineSource(Csv::default())),
            Format::Blktrace => Box::new(Blktrace::new(others)),
            Format::Blkparse => Box::new(LineSource(Blkparse::default())),
            Format::FioIolog => Box::new(LineSource(Iolog::default())),
            Format::DmLogWrites => Box::new(LogWrites::new(&mut input)?),
            Format::Msr => Box::new(LineSource(Msr)),
            Format::Spc => Box::new(LineSource(Spc)),
            Format::Alibaba => Box::new(LineSource(Alibaba)),
            Format::DiskSim => Box::new(LineSource(DiskSim)),
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

    fn problem(&mut self, kind: ProblemKind, count: u64, text: Option<Text>) -> Result<(), Error> {
        let place = self.source.place(&self.input);
        // A file of which nothing can be read at first is not what it was taken for, and in a CSV
        // that somebody made a wrong line is a mistake and no damage.
        let is_other =
            kind == ProblemKind::Unreadable && (self.first.is_none() || self.format == Format::Csv);
        if self.options.strict || is_other {
            return Err(wrong(place, text.unwrap_or_else(|| kind.into())));
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
                SourceItem::Request(record, device) => (record, device),
                SourceItem::Problem(kind, count, text) => {
                    self.problem(kind, count, text)?;
                    continue;
                }
                SourceItem::End => {
                    let cut_off = std::mem::take(&mut self.input.cut_off);
                    if cut_off && self.problems.count(ProblemKind::CutOff) == 0 {
                        self.problem(ProblemKind::CutOff, 1, None)?;
                    }
                    return Ok(None);
                }
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
            let size_bytes = self.size_bytes().unwrap_or(DEVICE_MAX);
            let is_inside =
                record.length <= REQUEST_MAX && end.is_some_and(|end| end <= size_bytes);
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
                Ok(SourceItem::End) | Err(_)
            ) {
                break;
            }
        }
        let text = statement!(
            catalogue::TRACE_OF_SEVERAL_DEVICES,
            count = self.devices.names.len(),
            names = self.devices.list()
        );
        Error::new(ErrorKind::Refused, text)
    }

    /// The next request with the time since the first, which never goes back.
    fn timed(&mut self) -> Result<Option<Record>, Error> {
        let Some((mut record, _)) = self.raw()? else { return Ok(None) };
        // Our own traces begin where the recording began, which may be before the first request.
        let begin = match self.format {
            Format::Raidloom => 0,
            _ => self.first.map_or(0, |(time, _)| time),
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
            let names = self.devices.list();
            let text = statement!(catalogue::NO_SUCH_DEVICE, named = named, names = names);
            return Some(Err(Error::new(ErrorKind::NotFound, text)));
        }
        next.transpose()
    }
}

/// Whether a line is one of a format.
type LineLook = fn(&str) -> bool;

/// The format of a file that begins so.
fn looks_like(beginning: &[u8]) -> Format {
    let binary = [
        (Format::Raidloom, beginning.starts_with(format::MAGIC)),
        (Format::Blktrace, blktrace::begins(beginning)),
        (Format::DmLogWrites, log_writes::begins(beginning)),
    ];
    if let Some((format, _)) = binary.iter().find(|(_, begins)| *begins) {
        return *format;
    }
    // The first line that says something; one that is longer than any is cut off here.
    let mut lines =
        beginning.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
    let first = lines.find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let first = first.map_or("", str::trim);
    let text: [(Format, LineLook); 6] = [
        (Format::FioIolog, iolog::begins),
        (Format::Blkparse, blkparse::begins),
        (Format::Msr, Msr::begins),
        (Format::Spc, Spc::begins),
        (Format::Alibaba, Alibaba::begins),
        (Format::DiskSim, DiskSim::begins),
    ];
    text.iter().find(|(_, begins)| begins(first)).map_or(Format::Csv, |(format, _)| *format)
}
