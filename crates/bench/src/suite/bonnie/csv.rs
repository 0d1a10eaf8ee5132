//! The original's own lines: 27 fields with style 1.03, 50 with style 2.00.
//!
//! ```text
//! 1.03   name, size, (K/s, %CPU) x 5, seeks/s, %CPU, files, (files/s, %CPU) x 6                                    27
//! 2.00   1.98, 2.00a, name, copies, seed, size, chunk, seeks, seekers, (K/s, %CPU) x 5, seeks/s, %CPU,
//!        files, max, min, file chunk, folders, (files/s, %CPU) x 6, the longest operation of each phase x 12      50
//! ```
//!
//! The fields are those of bon_csv2html(1), which reads the second form; where that page and the
//! program differ in the order of `folders` and the files' chunk, the program's order is followed.
//! K is 1024 bytes. Rates are the original's: version 2.00 counts the sync at the end of a phase,
//! version 1.03 only with `sync`. They are never blank.

use super::options::{Links, Options, Style};

/// The twelve phases in the order of the fields, and whether they are rated in K/s.
const PHASES: [(&str, bool); 12] = [
    ("character write", true),
    ("block write", true),
    ("rewrite", true),
    ("character read", true),
    ("block read", true),
    ("seeks", false),
    ("sequential create", false),
    ("sequential stat", false),
    ("sequential delete", false),
    ("random create", false),
    ("random stat", false),
    ("random delete", false),
];
/// Phases on the large file.
const LARGE: usize = 6;

fn rate_text(rate: f64) -> String {
    // As the original: whole numbers where these carry three digits and more.
    if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

/// What the lines say of a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Operations a second.
    pub operations_per_second: f64,
    /// Bytes a second; 0 where none were moved.
    pub bytes_per_second: f64,
    /// Processor time in per cent, where it is known.
    pub cpu_percent: Option<f64>,
    /// The longest operation in seconds.
    pub longest_seconds: f64,
}

/// A time as the original prints it: microseconds below 0.1 s, milliseconds below 100 s, else
/// seconds.
fn longest_text(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.1 => format!("{:.0}us", seconds * 1e6),
        seconds if seconds < 100.0 => format!("{:.0}ms", seconds * 1e3),
        seconds => format!("{seconds:.0}s"),
    }
}

/// A size as the original prints it: `16G`, `300M`.
fn size_text(bytes: u64) -> String {
    let mib = bytes >> 20;
    match mib {
        0 => format!("{}k", bytes >> 10),
        mib if mib.is_multiple_of(1024) => format!("{}G", mib / 1024),
        mib => format!("{mib}M"),
    }
}

/// The line of one run, of figures by the names of the phases.
#[must_use]
pub fn line(
    options: &Options,
    machine: &str,
    seed: u64,
    found: &dyn Fn(&str) -> Option<Figures>,
) -> String {
    // A comma would be another field.
    let machine = escape::csv(&machine.replace([',', '"', ';', '\n'], "_"));
    let pair = |(name, in_kib): &(&str, bool)| match found(name) {
        Some(figures) => {
            let percent =
                figures.cpu_percent.map_or_else(String::new, |percent| format!("{percent:.0}"));
            let kib = figures.bytes_per_second / 1024.0;
            [rate_text(if *in_kib { kib } else { figures.operations_per_second }), percent]
        }
        None => [String::new(), String::new()],
    };
    let longest = |(name, _): &(&str, bool)| {
        found(name).map_or_else(String::new, |figures| longest_text(figures.longest_seconds))
    };
    let (large, small) = PHASES.split_at(LARGE);
    let mut fields = Vec::with_capacity(50);
    let size = if options.size_bytes == 0 { String::new() } else { size_text(options.size_bytes) };
    match options.style {
        Style::Old => {
            let chunk = options.chunk_bytes;
            let with_chunk = if chunk == 8192 || options.size_bytes == 0 {
                size
            } else {
                format!("{size}:{}", chunk_text(chunk))
            };
            fields.extend([machine, with_chunk]);
            fields.extend(large.iter().flat_map(pair));
            fields.push(files_text(options));
            fields.extend(small.iter().flat_map(pair));
        }
        Style::New => {
            let count = |count: u64| {
                if options.size_bytes == 0 { String::new() } else { count.to_string() }
            };
            let chunk = if options.size_bytes == 0 {
                String::new()
            } else {
                chunk_text(options.chunk_bytes)
            };
            fields.extend(["1.98", "2.00a"].map(str::to_owned));
            fields.extend([machine, options.copies.to_string(), seed.to_string(), size, chunk]);
            fields.extend([count(options.seeks), count(options.seekers)]);
            fields.extend(large.iter().flat_map(pair));
            fields.extend(new_files(options));
            fields.extend(small.iter().flat_map(pair));
            fields.extend(PHASES.iter().map(longest));
        }
    }
    fields.join(",")
}

fn chunk_text(bytes: usize) -> String {
    if bytes.is_multiple_of(1024) { format!("{}k", bytes / 1024) } else { bytes.to_string() }
}

/// Files in multiples of 1024 where they are such a multiple, which is all that the original can
/// do.
fn multiples(options: &Options) -> String {
    let files = options.files as f64 / 1024.0;
    format!("{files}")
}

/// The largest size as `-n` has it: -1 and -2 stand for links.
fn max_text(options: &Options) -> String {
    match options.links {
        Links::Hard => "-1".to_owned(),
        Links::Symbolic => "-2".to_owned(),
        Links::No => options.file_bytes.1.to_string(),
    }
}

/// `16`, or `16:max:min/folders`.
fn files_text(options: &Options) -> String {
    let files = multiples(options);
    if options.files == 0 {
        return String::new();
    }
    if (max_text(options).as_str(), options.file_bytes.0, options.folders) == ("0", 0, 1) {
        return files;
    }
    let folders = if options.folders > 1 { format!("/{}", options.folders) } else { String::new() };
    format!("{files}:{}:{}{folders}", max_text(options), options.file_bytes.0)
}

fn new_files(options: &Options) -> [String; 5] {
    if options.files == 0 {
        return Default::default();
    }
    let unless = |text: String, usual: &str| if text == usual { String::new() } else { text };
    [
        multiples(options),
        unless(max_text(options), "0"),
        unless(options.file_bytes.0.to_string(), "0"),
        String::new(),
        unless(options.folders.to_string(), "1"),
    ]
}

/// The names of the fields, for reading the lines without the original's tools.
#[must_use]
pub fn head(style: Style) -> String {
    let pairs = |names: &[&str]| {
        names
            .iter()
            .flat_map(|name| [(*name).to_owned(), format!("{name}_cpu")])
            .collect::<Vec<_>>()
    };
    let large = pairs(&["putc", "put_block", "rewrite", "getc", "get_block", "seeks"]);
    let small = ["seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del"];
    let mut fields: Vec<String> = Vec::new();
    let mut add = |names: &[&str]| fields.extend(names.iter().map(|name| (*name).to_owned()));
    match style {
        Style::Old => {
            add(&["name", "file_size"]);
            fields.extend(large);
            fields.push("num_files".to_owned());
            fields.extend(pairs(&small));
        }
        Style::New => {
            add(&[
                "format_version",
                "bonnie_version",
                "name",
                "concurrency",
                "seed",
                "file_size",
                "io_chunk_size",
                "seeks",
                "seek_proc_count",
            ]);
            fields.extend(large);
            fields.extend(
                ["num_files", "max_size", "min_size", "file_chunk_size", "num_dirs"]
                    .map(str::to_owned),
            );
            fields.extend(pairs(&small));
            let timed =
                ["putc", "put_block", "rewrite", "getc", "get_block", "seeks"].iter().chain(&small);
            fields.extend(timed.map(|name| format!("{name}_latency")));
        }
    }
    fields.join(",")
}
