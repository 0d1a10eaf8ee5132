//! `raidloom trace`: looks at recordings, and makes others of them.

mod page;
mod show;

pub(crate) use show::clock;

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use block::SECTOR_BYTES;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde_json::json;
use trace::{
    CsvWriter, Fold, Format, Header, IologWriter, ProblemSite, Problems, ReadOptions, Reader,
    Record, Writer, in_blocks,
};
use words::Text;

use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::output::{Output, about, new_file, said};

/// What is done with a recording.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceAction {
    /// Say what it is like
    Show,
    /// Keep a part of its time (--from, --to)
    Cut,
    /// Make it faster or slower (--speed), or fit it to a smaller device (--size)
    Scale,
    /// Write it in another format, by the ending of -o: .rec, .csv, .iolog (fio), .parquet
    Convert,
}

/// `trace`.
#[derive(Args, Debug)]
pub(crate) struct TraceArguments {
    /// What is done
    pub action: TraceAction,

    /// The recording: raidloom's own, CSV, or another program's (--format names them); may be
    /// packed with gzip or zstd
    pub trace: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub reading: ReadingArguments,

    /// Where the part begins, from the beginning of the recording
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,

    /// Where it ends
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,

    /// So many times as fast
    #[arg(long, value_name = "N")]
    pub speed: Option<f64>,

    /// For a device of this size: addresses beyond it are folded back
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,

    /// The new recording
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write what is shown as a page, with charts
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// How a recording is read.
#[derive(Args, Debug, Default)]
pub(crate) struct ReadingArguments {
    /// Which format it has [default: by its looks]
    #[arg(long, value_name = "NAME",
        value_parser = PossibleValuesParser::new(Format::ALL.map(|(_, name)| name))
            .map(|name| format(&name)))]
    pub format: Option<Format>,

    /// Of a recording of several devices, the one that counts
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,

    /// Refuse a recording in which anything is wrong, instead of counting and going on
    #[arg(long)]
    pub strict: bool,
}

fn format(text: &str) -> Format {
    let known = Format::ALL.iter().find(|(_, name)| *name == text);
    known.map(|(format, _)| *format).expect("it is one of the possible values")
}

/// Opens a recording.
pub(crate) fn open(path: &Path, arguments: &ReadingArguments) -> Result<Reader, Failure> {
    let ReadingArguments { format, ref device, strict } = *arguments;
    let options = ReadOptions { format, device: device.clone(), strict };
    trace::open_with(path, &options).map_err(|error| Failure::from(error).as_usage())
}

/// What was wrong with a recording, as remarks.
pub(crate) fn note_problems(output: &Output, path: &Path, problems: &Problems) {
    for problem in problems.all() {
        output.note(&format!("{}: {}", path.display(), sentence(problem)));
    }
}

fn sentence(problem: &trace::Problem) -> Text {
    use trace::ProblemKind as Kind;
    let said = match problem.kind {
        Kind::Unreadable => catalogue::PLACES_UNREADABLE,
        Kind::Empty => catalogue::REQUESTS_EMPTY,
        Kind::PastEnd => catalogue::REQUESTS_PAST_END,
        Kind::Unordered => catalogue::REQUESTS_UNORDERED,
        Kind::ClockSetBack => catalogue::CLOCK_SET_BACK,
        Kind::Unpaired => catalogue::COMPLETIONS_ALONE,
        Kind::Lost => catalogue::EVENTS_LOST,
        Kind::CutOff => catalogue::RECORDING_CUT_OFF,
    };
    let first = match problem.first {
        ProblemSite::Line(number) => words::statement!(catalogue::AT_LINE, number = number),
        ProblemSite::Record(number) => words::statement!(catalogue::AT_RECORD, number = number),
    };
    words::statement!(said, count = problem.count, first = first)
}

/// Runs the verb.
pub(crate) fn trace(output: &Output, arguments: &TraceArguments) -> Result<(), Failure> {
    match arguments.action {
        TraceAction::Show => show::show(output, arguments, page::page),
        TraceAction::Cut | TraceAction::Scale | TraceAction::Convert => make(output, arguments),
    }
}

fn time(flag: &str, text: Option<&String>) -> Result<Option<u64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let time = match text.as_str() {
        "0" => Duration::ZERO,
        text => stack::size::parse_duration(text)
            .map_err(|error| Failure::usage(error).at(said(flag, text)))?,
    };
    Ok(Some(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
}

/// What is changed on the way.
struct Change {
    from_nanoseconds: u64,
    to_nanoseconds: u64,
    speed: f64,
    fold: Option<Fold>,
    /// Requests that are no whole sectors, and were made larger.
    rounded: u64,
}

impl Change {
    fn of(output: &Output, arguments: &TraceArguments) -> Result<Change, Failure> {
        let from_nanoseconds = time("--from", arguments.from.as_ref())?.unwrap_or(0);
        let to_nanoseconds = time("--to", arguments.to.as_ref())?.unwrap_or(u64::MAX);
        if from_nanoseconds >= to_nanoseconds {
            return Err(Failure::usage(catalogue::NOTHING_BETWEEN));
        }
        let nothing = match arguments.action {
            TraceAction::Cut => arguments.from.is_none() && arguments.to.is_none(),
            TraceAction::Scale => arguments.speed.is_none() && arguments.size.is_none(),
            _ => false,
        };
        if nothing {
            return Err(Failure::usage(match arguments.action {
                TraceAction::Cut => catalogue::TRACE_CUT_WHAT,
                _ => catalogue::TRACE_SCALE_HOW,
            }));
        }
        let speed = arguments.speed.unwrap_or(1.0);
        if !(1e-6..=1e6).contains(&speed) {
            return Err(Failure::usage(catalogue::SPEED_RANGE).at(format!("--speed {speed}")));
        }
        let size = arguments.size.as_deref().map(|text| output.size("--size", text)).transpose()?;
        if size.is_some_and(|size| size < SECTOR_BYTES) {
            return Err(Failure::usage(statement!(SIZE_AT_LEAST, size = SECTOR_BYTES)));
        }
        let fold = size.map(|size| Fold::new(size / SECTOR_BYTES * SECTOR_BYTES));
        Ok(Change { from_nanoseconds, to_nanoseconds, speed, fold, rounded: 0 })
    }

    fn apply(&mut self, mut record: Record) -> Record {
        record.time_nanoseconds -= self.from_nanoseconds;
        if self.speed != 1.0 {
            record.time_nanoseconds = (record.time_nanoseconds as f64 / self.speed) as u64;
        }
        let (mut record, rounded) = in_blocks(record, SECTOR_BYTES);
        self.rounded += u64::from(rounded);
        if let Some(fold) = &mut self.fold {
            record = fold.apply(record);
        }
        record
    }
}

/// A new recording under way.
enum NewRecording {
    Own(Writer<BufWriter<File>>),
    Csv(CsvWriter<BufWriter<File>>),
    Iolog(IologWriter<BufWriter<File>>),
    Parquet(report::RequestsParquet<BufWriter<File>>),
}

impl NewRecording {
    fn begin(path: &Path, reader: &Reader, size_bytes: u64) -> Result<NewRecording, Failure> {
        let file = BufWriter::with_capacity(1 << 20, new_file(path)?);
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        Ok(match ending {
            "csv" => NewRecording::Csv(CsvWriter::new(file)?),
            "iolog" | "log" => {
                // `--filename` of fio names another.
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                NewRecording::Iolog(IologWriter::new(file, &name.replace(' ', "_"))?)
            }
            "parquet" => NewRecording::Parquet(
                report::RequestsParquet::new(file)
                    .map_err(|error| Failure::from_io(path.display(), &error))?,
            ),
            _ => {
                let header = Header {
                    block_bytes: SECTOR_BYTES as u32,
                    size_bytes,
                    contents: reader.contents(),
                    anonymous: false,
                };
                NewRecording::Own(Writer::new(file, &header))
            }
        })
    }

    fn write(&mut self, record: &Record) -> Result<(), Failure> {
        match self {
            NewRecording::Own(writer) => writer.write(record)?,
            NewRecording::Csv(writer) => writer.write(record)?,
            NewRecording::Iolog(writer) => writer.write(record)?,
            NewRecording::Parquet(writer) => writer
                .write(&row(record))
                .map_err(|error| Failure::from_io(catalogue::WRITING_PARQUET, &error))?,
        }
        Ok(())
    }

    fn finish(self, size_bytes: u64) -> Result<(), Failure> {
        match self {
            NewRecording::Own(mut writer) => writer.finish_sized(0, size_bytes)?,
            NewRecording::Csv(mut writer) => writer.finish()?,
            NewRecording::Iolog(mut writer) => writer.finish()?,
            NewRecording::Parquet(writer) => {
                writer
                    .finish()
                    .map_err(|error| Failure::from_io(catalogue::WRITING_PARQUET, &error))?;
            }
        }
        Ok(())
    }
}

fn row(record: &Record) -> report::RequestRow {
    report::RequestRow {
        time_nanoseconds: record.time_nanoseconds,
        latency_nanoseconds: record.latency_nanoseconds,
        op: show::op_name(record.op),
        fua: record.fua,
        offset: record.offset,
        length: record.length,
        stream: record.stream,
    }
}

/// Makes another recording.
fn make(output: &Output, arguments: &TraceArguments) -> Result<(), Failure> {
    let Some(to) = &arguments.output else {
        return Err(Failure::usage(catalogue::NAME_RECORDING));
    };
    let mut change = Change::of(output, arguments)?;
    let mut reader = open(&arguments.trace, &arguments.reading)?;
    let known_size = change.fold.as_ref().map(Fold::size_bytes).or(reader.size_bytes());
    let first = first_of_part(&mut reader, arguments, &change)?;
    let mut made = NewRecording::begin(to, &reader, known_size.unwrap_or(0))?;
    let records = first.into_iter().map(Ok).chain(&mut reader);
    let written = write(records, &mut made, &mut change, arguments, to);
    let [count, end] = match written.and_then(|[count, end]| {
        let size_bytes = known_size.unwrap_or(end.next_multiple_of(SECTOR_BYTES));
        made.finish(size_bytes).map_err(|failure| failure.at(to.display()))?;
        Ok([count, end])
    }) {
        Ok(counts) => counts,
        Err(failure) => {
            // Half a recording would look like one that is whole.
            let _ = fs::remove_file(to);
            return Err(failure);
        }
    };
    note_problems(output, &arguments.trace, reader.problems());
    if change.rounded > 0 {
        output.note(&say!(REQUESTS_ROUNDED, count = change.rounded));
    }
    if output.json {
        let fold = change.fold.as_ref();
        return output.document(&json!({
            "file": to,
            "requests": count,
            "end_bytes": end,
            "folded": fold.map(|fold| fold.folded),
            "moved": fold.map(|fold| fold.moved),
            "shortened": fold.map(|fold| fold.shortened),
            "rounded": change.rounded,
        }));
    }
    let mut text = say!(TRACE_MADE, path = to.display(), count = count);
    if let Some(fold) = &change.fold {
        text += &say!(
            TRACE_FOLDED,
            folded = fold.folded,
            size = about(fold.size_bytes()),
            moved = fold.moved,
            shortened = fold.shortened,
        );
    }
    output.result(&text)
}

fn unreadable(error: block::Error, arguments: &TraceArguments) -> Failure {
    Failure::from(error).as_usage().at(arguments.trace.display())
}

/// The first request of the part that is asked for, if one is: a part without any would be a
/// recording that nothing reads.
fn first_of_part(
    reader: &mut Reader,
    arguments: &TraceArguments,
    change: &Change,
) -> Result<Option<Record>, Failure> {
    if arguments.from.is_none() && arguments.to.is_none() {
        return Ok(None);
    }
    let mut last_nanoseconds = None;
    for record in reader {
        let record = record.map_err(|error| unreadable(error, arguments))?;
        let time = record.time_nanoseconds;
        if (change.from_nanoseconds..change.to_nanoseconds).contains(&time) {
            return Ok(Some(record));
        }
        last_nanoseconds = Some(time);
    }
    let failure = match last_nanoseconds {
        Some(last) => Failure::usage(statement!(NO_REQUEST_IN_PART, time = show::clock(last))),
        None => Failure::failed(catalogue::NO_REQUEST_IN_IT),
    };
    Err(failure.at(arguments.trace.display()))
}

/// Copies what is wished for to the file `to`; how many requests, and the last byte.
fn write(
    records: impl Iterator<Item = Result<Record, block::Error>>,
    made: &mut NewRecording,
    change: &mut Change,
    arguments: &TraceArguments,
    to: &Path,
) -> Result<[u64; 2], Failure> {
    let (mut count, mut end) = (0, 0);
    for record in records {
        let record = record.map_err(|error| unreadable(error, arguments))?;
        if record.time_nanoseconds >= change.to_nanoseconds {
            break;
        }
        if record.time_nanoseconds < change.from_nanoseconds {
            continue;
        }
        let record = change.apply(record);
        made.write(&record).map_err(|failure| failure.at(to.display()))?;
        count += 1;
        end = end.max(record.offset + record.length);
    }
    Ok([count, end])
}

/// Examples of the verb.
pub(crate) const EXAMPLES: &str = "\
Examples:
  raidloom trace show load.rec
  raidloom trace show load.rec --html load.html
  raidloom trace show sda.blktrace.0 --json | jq .footprint
  raidloom trace show hm_1.csv.gz --strict
  raidloom trace show Financial1.spc --device 0
  raidloom trace cut load.rec --from 2min --to 3min -o minute.rec
  raidloom trace scale load.rec --speed 2 --size 8GiB -o half.rec
  raidloom trace convert load.rec -o load.parquet

Recordings are made by `raidloom record`, by the layer record(file:FILE, …) of a stack, and by
blktrace, fio, dm-log-writes and others: docs/formats/trace.md has a table of what each tells.";
