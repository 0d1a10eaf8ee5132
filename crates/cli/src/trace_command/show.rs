//! `trace show`: what a recording is like.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use trace::{OPERATIONS, Profile, Profiler, Reader, RecordedOp, Window};
use words::Message;

use super::{TraceArguments, note_problems, open};
use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::output::{Output, about, figure, seconds, table};

/// Lines of a chart in a terminal, and its most columns.
const ROWS: usize = 8;
const COLUMNS_MAX: usize = 90;
const LABEL_COLUMNS: usize = 9;

/// What programs call it.
pub(super) fn op_name(op: RecordedOp) -> &'static str {
    match op {
        RecordedOp::Read => "read",
        RecordedOp::Write => "write",
        RecordedOp::WriteZeroes => "zeroes",
        RecordedOp::Discard => "discard",
        RecordedOp::Flush => "flush",
    }
}

/// What people call it.
pub(super) fn op_word(op: RecordedOp) -> &'static str {
    let message = match op {
        RecordedOp::Read => catalogue::OP_READ,
        RecordedOp::Write => catalogue::OP_WRITE,
        RecordedOp::WriteZeroes => catalogue::OP_ZEROES,
        RecordedOp::Discard => catalogue::OP_DISCARD,
        RecordedOp::Flush => catalogue::OP_FLUSH,
    };
    message.template()
}

/// A recording and what was found.
pub(super) struct TraceProfile<'a> {
    pub path: &'a Path,
    pub reader: &'a Reader,
    pub profile: &'a Profile,
}

/// Reads it once and says it; `page` makes a page of it.
pub(super) fn show(
    output: &Output,
    arguments: &TraceArguments,
    page: fn(&TraceProfile<'_>) -> String,
) -> Result<(), Failure> {
    let path = &arguments.trace;
    let made_from = std::slice::from_ref(path);
    arguments.html.iter().try_for_each(|to| host::files::refuse_to_write(to, made_from))?;
    let mut reader = open(path, &arguments.reading)?;
    let mut profiler = Profiler::new();
    for record in &mut reader {
        let record =
            record.map_err(|error| Failure::usage(error.at(path.display()).to_string()))?;
        profiler.take(&record);
    }
    let profile = profiler.finish(reader.contents());
    note_problems(output, path, reader.problems());
    if profile.requests == 0 {
        return Err(Failure::failed(catalogue::NO_REQUEST_IN_IT).at(path.display()));
    }
    let shown = TraceProfile { path, reader: &reader, profile: &profile };
    if let Some(to) = &arguments.html {
        host::files::write_named(to, page(&shown).as_bytes(), made_from)?;
        output.progress(&say!(WROTE, path = to.display()));
    }
    if output.json {
        return output.document(&document(&shown));
    }
    output.result(&text(&shown, output.width()))
}

/// A time as people read it: 2:05:00 h, 5:00 min, 12.3 s.
pub(crate) fn clock(nanoseconds: u64) -> String {
    let whole = Duration::from_nanos(nanoseconds).as_secs();
    match whole {
        0..60 => seconds(nanoseconds as f64 / 1e9),
        60..3600 => format!("{}:{:02} min", whole / 60, whole % 60),
        _ => format!("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60, whole % 60),
    }
}

fn percent(part: u64, all: u64) -> String {
    if all == 0 { "-".to_owned() } else { format!("{:.0} %", 100.0 * part as f64 / all as f64) }
}

/// Head and rows of what was asked for.
pub(super) fn operations(profile: &Profile) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "",
        catalogue::TRACE_REQUESTS.template(),
        catalogue::TRACE_SHARE.template(),
        catalogue::TRACE_BYTES.template(),
        catalogue::TRACE_SIZES.template(),
        catalogue::TRACE_SEQUENTIAL.template(),
        catalogue::TRACE_MERGEABLE.template(),
        "p50",
        "p99",
        "p99.9",
        catalogue::TRACE_MOST.template(),
    ];
    let used = OPERATIONS.iter().zip(&profile.operations).filter(|(_, one)| one.requests > 0);
    let rows = used.map(|(op, one)| {
        let is_flush = *op == RecordedOp::Flush;
        let sizes: Vec<String> = one
            .lengths
            .iter()
            .take(3)
            .map(|(length, count)| format!("{} {}", about(*length), percent(*count, one.requests)))
            .collect();
        let of_all = |part: u64| match is_flush {
            true => String::new(),
            false => percent(part, one.requests),
        };
        let mut row = vec![
            op_word(*op).to_owned(),
            one.requests.to_string(),
            percent(one.requests, profile.requests),
            if is_flush { String::new() } else { about(one.bytes) },
            sizes.join(", "),
            of_all(one.sequential),
            of_all(one.mergeable),
        ];
        match &one.latency {
            Some(latency) => row.extend(
                [latency.p50, latency.p99, latency.p999, latency.max]
                    .map(|nanoseconds| seconds(nanoseconds as f64 / 1e9)),
            ),
            None => row.extend([const { String::new() }; 4]),
        }
        row
    });
    (head, rows.collect())
}

/// What there is to say beside the table, a name and a sentence each.
pub(super) fn facts(shown: &TraceProfile<'_>) -> Vec<(&'static str, String)> {
    let profile = shown.profile;
    let all = Window::sum(&profile.windows);
    let mut facts = Vec::new();
    let mut add = |name: Message, text: String| facts.push((name.template(), text));
    if profile.burstiness.is_some() {
        let length = profile.length_nanoseconds as f64 / 1e9;
        let requests = figure(profile.requests as f64 / length);
        let bytes = about((all.bytes() as f64 / length) as u64);
        add(catalogue::TRACE_RATE, say!(TRACE_RATE_IS, requests = requests, bytes = bytes));
    }
    add(catalogue::TRACE_FOOTPRINT, footprint(shown));
    if let Some(set) = &profile.working_set {
        let (mean, most) = (about(set.mean_bytes as u64), about(set.max_bytes));
        let text = say!(TRACE_WORKING_SET_IS, mean = mean, most = most);
        add(catalogue::TRACE_WORKING_SET, text);
    }
    add(catalogue::OP_FLUSHES, flushes(profile, &all));
    let under_way = match (profile.depth_mean, profile.depth_max) {
        (Some(mean), Some(most)) => say!(TRACE_DEPTH, mean = figure(mean), most = most),
        _ => say!(TRACE_NO_COMPLETIONS),
    };
    add(catalogue::TRACE_UNDER_WAY, under_way);
    if let Some(burst) = &profile.burstiness {
        let text = say!(
            TRACE_BURSTS_ARE,
            width = clock(burst.width_nanoseconds),
            peak = figure(burst.peak_to_mean),
            dispersion = figure(burst.dispersion),
            idle = format!("{:.0}", 100.0 * burst.idle),
        );
        add(catalogue::TRACE_BURSTS, text);
    }
    if let Some(part) = &profile.busiest {
        let seconds = part.length_nanoseconds as f64 / 1e9;
        let text = say!(
            TRACE_BUSIEST_IS,
            length = clock(part.length_nanoseconds),
            from = clock(part.from_nanoseconds),
            requests = figure(part.total.requests as f64 / seconds),
            bytes = about((part.total.bytes() as f64 / seconds) as u64),
            read = percent(part.total.read_bytes, part.total.bytes()),
        );
        add(catalogue::TRACE_BUSIEST, text);
    }
    let lacks = lacks(profile);
    if !lacks.is_empty() {
        add(catalogue::TRACE_NOT_TOLD, lacks.join(&say!(BETWEEN_NAMES)));
    }
    facts
}

fn footprint(shown: &TraceProfile<'_>) -> String {
    let found = shown.profile.footprint;
    let mut text = about(found.bytes);
    if let Some(size) = shown.reader.size_bytes().filter(|size| *size > 0) {
        let share = percent(found.bytes, size);
        text = say!(TRACE_FOOTPRINT_OF, bytes = text, size = about(size), share = share);
    }
    text = say!(
        TRACE_FOOTPRINT_IS,
        bytes = text,
        read = about(found.read_bytes),
        written = about(found.written_bytes),
        first = found.ends[0],
        end = found.ends[1],
    );
    if found.counted_part > 1 {
        text += &say!(TRACE_ESTIMATED, regions = found.counted_part);
    }
    text
}

fn flushes(profile: &Profile, all: &Window) -> String {
    let fua: u64 = profile.operations.iter().map(|one| one.fua).sum();
    let durable = if fua > 0 { say!(TRACE_FUA, count = fua) } else { String::new() };
    let flushes = match all.flushes {
        _ if !profile.contents.flushes => say!(TRACE_NOT_KNOWN),
        0 => say!(TRACE_NONE),
        count => say!(
            TRACE_FLUSHES_ARE,
            writes = figure(all.writes as f64 / count as f64),
            bytes = about(all.write_bytes / count),
        ),
    };
    flushes + &durable
}

/// What the source does not tell.
fn lacks(profile: &Profile) -> Vec<&'static str> {
    let told = profile.contents;
    [
        (told.times, catalogue::TRACE_TIMES),
        (told.completions, catalogue::TRACE_COMPLETIONS),
        (told.streams, catalogue::TRACE_WHO_ASKED),
        (told.flushes, catalogue::OP_FLUSHES),
        (told.discards, catalogue::TRACE_DISCARDS),
    ]
    .into_iter()
    .filter_map(|(told, what)| (!told).then_some(what.template()))
    .collect()
}

pub(super) fn headline(shown: &TraceProfile<'_>) -> String {
    let profile = shown.profile;
    let streams = match profile.streams {
        0 => String::new(),
        1 => say!(TRACE_ONE_STREAM),
        count => say!(TRACE_STREAMS, count = count),
    };
    let length = match profile.contents.times {
        true => say!(TRACE_LENGTH, time = clock(profile.length_nanoseconds)),
        false => String::new(),
    };
    say!(
        TRACE_HEADLINE,
        path = shown.path.display(),
        requests = profile.requests,
        length = length,
        streams = streams,
        format = shown.reader.format().name(),
    )
}

fn text(shown: &TraceProfile<'_>, width: usize) -> String {
    let (head, rows) = operations(shown.profile);
    let right: Vec<usize> = (1..head.len()).filter(|column| *column != 4).collect();
    let mut text = format!("{}\n\n{}\n", headline(shown), table(&head, &rows, &right));
    let facts = facts(shown);
    let names = facts.iter().map(|(name, _)| escape::width(name)).max().unwrap_or(0);
    for (name, fact) in &facts {
        for (number, line) in
            escape::wrapped(fact, width.saturating_sub(names + 2)).iter().enumerate()
        {
            let name = if number == 0 { name } else { "" };
            text += &format!("{}  {line}\n", escape::padded(name, names));
        }
    }
    if shown.profile.burstiness.is_some() {
        for course in courses(shown.profile) {
            text += &format!("\n{}\n{}", course.title, chart(&course, shown.profile, width));
        }
    }
    text
}

/// A figure of a window that is so many seconds long.
type FigureOf = fn(&Window, f64) -> f64;

/// One figure over time.
pub(super) struct Course {
    pub title: &'static str,
    pub unit: &'static str,
    /// The first is drawn below the others.
    pub series: Vec<(&'static str, FigureOf)>,
}

const MEBIBYTE: f64 = 1_048_576.0;

/// What is drawn over time.
pub(super) fn courses(profile: &Profile) -> Vec<Course> {
    let mut courses = vec![
        Course {
            title: catalogue::TRACE_MEBIBYTES.template(),
            unit: "MiB/s",
            series: vec![
                (catalogue::TRACE_READ.template(), |window, seconds| {
                    window.read_bytes as f64 / MEBIBYTE / seconds
                }),
                (catalogue::TRACE_WRITTEN.template(), |window, seconds| {
                    window.write_bytes as f64 / MEBIBYTE / seconds
                }),
            ],
        },
        Course {
            title: catalogue::TRACE_REQUEST_RATE.template(),
            unit: "/s",
            series: vec![(catalogue::TRACE_REQUESTS.template(), |window, seconds| {
                window.requests as f64 / seconds
            })],
        },
    ];
    if profile.depth_max.is_some() {
        courses.push(Course {
            title: catalogue::TRACE_MOST_UNDER_WAY.template(),
            unit: "",
            series: vec![(catalogue::TRACE_UNDER_WAY.template(), |window, _| {
                window.depth_max as f64
            })],
        });
    }
    courses
}

/// The windows, joined to so many at most; and the width of one in nanoseconds.
pub(super) fn joined(profile: &Profile, most: usize) -> (Vec<Window>, u64) {
    let each = profile.windows.len().div_ceil(most).max(1);
    let windows = profile.windows.chunks(each).map(Window::sum).collect();
    (windows, profile.window_nanoseconds * each as u64)
}

/// Bars over time; series lie on each other.
fn chart(course: &Course, profile: &Profile, width: usize) -> String {
    let columns = width.saturating_sub(LABEL_COLUMNS + 2).clamp(20, COLUMNS_MAX);
    let (windows, each) = joined(profile, columns);
    let seconds = each as f64 / 1e9;
    let values: Vec<f64> = windows
        .iter()
        .map(|window| course.series.iter().map(|(_, value)| value(window, seconds)).sum())
        .collect();
    let top = values.iter().copied().fold(0.0, f64::max);
    let mut text = String::new();
    for row in (1..=ROWS).rev() {
        let label = if row == ROWS { figure(top) } else { String::new() };
        let cell = |value: &f64| {
            let height = if top > 0.0 { value / top * ROWS as f64 } else { 0.0 };
            if height > row as f64 - 0.5 || (row == 1 && *value > 0.0) { '#' } else { ' ' }
        };
        let line: String = values.iter().map(cell).collect();
        text += format!("{label:>LABEL_COLUMNS$} |{line}").trim_end();
        text.push('\n');
    }
    let end = clock(each * windows.len() as u64);
    text += &format!("{:LABEL_COLUMNS$} +{}\n", "0", "-".repeat(values.len()));
    text += &format!("{:LABEL_COLUMNS$}  0{end:>1$}\n", "", values.len().max(end.len() + 2) - 1);
    text
}

fn operations_document(profile: &Profile) -> serde_json::Map<String, Value> {
    let used = OPERATIONS.iter().zip(&profile.operations).filter(|(_, one)| one.requests > 0);
    used.map(|(op, one)| {
        let lengths: Vec<Value> = one
            .lengths
            .iter()
            .map(|(length, count)| json!({ "bytes": length, "requests": count }))
            .collect();
        let latency = one.latency.map(|latency| {
            json!({
                "mean": latency.mean / 1e9,
                "p50": latency.p50 as f64 / 1e9,
                "p99": latency.p99 as f64 / 1e9,
                "p999": latency.p999 as f64 / 1e9,
                "max": latency.max as f64 / 1e9,
            })
        });
        let one = json!({
            "requests": one.requests,
            "bytes": one.bytes,
            "fua": one.fua,
            "lengths": lengths,
            "shortest_bytes": one.length_ends[0],
            "longest_bytes": one.length_ends[1],
            "sequential": one.sequential,
            "mergeable": one.mergeable,
            "latency_seconds": latency,
        });
        (op_name(*op).to_owned(), one)
    })
    .collect()
}

fn windows_document(windows: &[Window]) -> Vec<Value> {
    windows
        .iter()
        .map(|window| {
            json!({
                "requests": window.requests,
                "read_bytes": window.read_bytes,
                "write_bytes": window.write_bytes,
                "flushes": window.flushes,
                "depth_max": window.depth_max,
            })
        })
        .collect()
}

fn problems_document(shown: &TraceProfile<'_>) -> Vec<Value> {
    let problems = shown.reader.problems().all().iter();
    problems
        .map(|problem| {
            json!({
                "kind": problem.kind.name(),
                "count": problem.count,
                "first": words::Text::from(problem.first).english(),
            })
        })
        .collect()
}

fn document(shown: &TraceProfile<'_>) -> Value {
    let profile = shown.profile;
    let (windows, each) = joined(profile, 240);
    let told = profile.contents;
    let footprint = profile.footprint;
    json!({
        "file": shown.path,
        "format": shown.reader.format().name(),
        "tells": {
            "times": told.times,
            "completions": told.completions,
            "streams": told.streams,
            "flushes": told.flushes,
            "discards": told.discards,
        },
        "problems": problems_document(shown),
        "requests": profile.requests,
        "seconds": profile.length_nanoseconds as f64 / 1e9,
        "streams": profile.streams,
        "device_bytes": shown.reader.size_bytes(),
        "operations": operations_document(profile),
        "footprint": {
            "bytes": footprint.bytes,
            "read_bytes": footprint.read_bytes,
            "written_bytes": footprint.written_bytes,
            "first_byte": footprint.ends[0],
            "end_byte": footprint.ends[1],
            "counted_part": footprint.counted_part,
        },
        "working_set": profile.working_set.map(|set| {
            json!({ "mean_bytes": set.mean_bytes, "max_bytes": set.max_bytes })
        }),
        "under_way": { "mean": profile.depth_mean, "max": profile.depth_max },
        "bursts": profile.burstiness.map(|burst| {
            json!({
                "window_seconds": burst.width_nanoseconds as f64 / 1e9,
                "peak_to_mean": burst.peak_to_mean,
                "dispersion": burst.dispersion,
                "idle": burst.idle,
            })
        }),
        "busiest": profile.busiest.map(|part| {
            json!({
                "from_seconds": part.from_nanoseconds as f64 / 1e9,
                "seconds": part.length_nanoseconds as f64 / 1e9,
                "requests": part.total.requests,
                "read_bytes": part.total.read_bytes,
                "write_bytes": part.total.write_bytes,
                "flushes": part.total.flushes,
            })
        }),
        "window_seconds": each as f64 / 1e9,
        "windows": windows_document(&windows),
    })
}
