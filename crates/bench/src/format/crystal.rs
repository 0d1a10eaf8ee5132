//! CrystalDiskMark's text, of version 3 and of version 8, and KDiskMark's, which looks like the
//! latter.
//!
//! ```text
//! 3:           Sequential Read :    46.012 MB/s
//!       Random Read 4KB (QD=1) :     0.487 MB/s [   118.8 IOPS]
//! 8:   SEQ  128KiB (Q= 32, T= 1):  7429.732 MB/s [  56684.4 IOPS] <   546.67 us>
//! K: Sequential   1 MiB (Q=  8, T= 1):    50.851 MB/s [     49.7 IOPS] <158255.28 us>
//! ```
//!
//! MB/s are 1,000,000 bytes/s in the first two. KDiskMark divides KiB/s by 1000 and calls that MB/s
//! as well, 2.3 % too low; reading puts that right.

use std::fmt::Write;

use results::{Clock, Group};

use super::{Imported, ImportedRow, LATENCY_MEAN, OPERATIONS, THROUGHPUT};
use crate::suite::crystal::{Data, NAME, Options, Order, Profile, Row, Way};

/// One line of the text: a row and its figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The row.
    pub row: Row,
    /// Bytes per second: the best of the runs.
    pub bytes_per_second: f64,
    /// Requests per second of the same run.
    pub io_per_second: f64,
    /// Mean latency in seconds: the shortest of the runs' means, which need not be the same run.
    pub latency_mean_seconds: f64,
}

/// What stands above and below the lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The program that measured, with its version.
    pub program: String,
    /// What was measured.
    pub target: String,
    /// `2026/11/21 12:30:00`.
    pub date: String,
    /// The operating system.
    pub system: String,
    /// What else there is to say; may be empty.
    pub comment: String,
}

/// The text of version 3 or of version 8, as the profile has it.
#[must_use]
pub fn text(options: &Options, lines: &[Line], heading: &Heading) -> String {
    if options.profile == Profile::Three {
        text_of_three(options, lines, heading)
    } else {
        text_of_eight(options, lines, heading)
    }
}

fn text_of_three(options: &Options, lines: &[Line], heading: &Heading) -> String {
    let rule = "-".repeat(71);
    let mut text = format!(
        "{rule}\n{}\n{:>71}\n{rule}\n",
        heading.program, "in the format of CrystalDiskMark 3"
    );
    text += "* MB/s = 1,000,000 byte/s [SATA/300 = 300,000,000 byte/s]\n\n";
    for line in lines {
        let Row { order, request_bytes, queues, way, .. } = line.row;
        let way = match way {
            Way::Read => "Read",
            Way::Write => "Write",
            Way::Mix { .. } => "Mix",
        };
        let name = match (order, request_bytes >> 10) {
            (Order::Sequential, _) => format!("Sequential {way}"),
            (Order::Random, 4) => format!("Random {way} 4KB (QD={queues})"),
            (Order::Random, kib) => format!("Random {way} {kib}KB"),
        };
        let _ = write!(text, "{name:>26} : {:9.3} MB/s", line.bytes_per_second / 1e6);
        if order == Order::Random && request_bytes == 4096 {
            let _ = write!(text, " [{:8.1} IOPS]", line.io_per_second);
        }
        text.push('\n');
    }
    let fill = match options.data {
        Data::Random => "",
        Data::Zero => " <0Fill>",
        Data::One => " <1Fill>",
    };
    let Heading { target, date, system, comment, .. } = heading;
    let _ = write!(
        text,
        "\n  Test : {} MB [{target}] (x{}){fill}\n  Date : {date}\n    OS : {system}\n  {comment}\n",
        options.size_bytes >> 20,
        options.runs
    );
    text
}

fn text_of_eight(options: &Options, lines: &[Line], heading: &Heading) -> String {
    let rule = "-".repeat(78);
    let mut text = format!(
        "{rule}\n{}\n{:>78}\n{rule}\n",
        heading.program, "in the format of CrystalDiskMark 8"
    );
    text += "* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\n* KB = 1000 bytes, KiB = \
        1024 bytes\n";
    let mut section = None;
    for line in lines {
        let name = match line.row.way {
            Way::Read => "[Read]".to_owned(),
            Way::Write => "[Write]".to_owned(),
            Way::Mix { read_percent } => {
                format!("[Mix] Read {read_percent}%/Write {}%", 100 - read_percent)
            }
        };
        if section.as_ref() != Some(&name) {
            let _ = write!(text, "\n{name}\n");
            section = Some(name);
        }
        let order = if line.row.order == Order::Sequential { "SEQ" } else { "RND" };
        let kib = line.row.request_bytes >> 10;
        let (size, unit) = if kib.is_multiple_of(1024) { (kib >> 10, "MiB") } else { (kib, "KiB") };
        let _ = writeln!(
            text,
            "  {order}{size:5}{unit} (Q={:3}, T={:2}): {:9.3} MB/s [{:9.1} IOPS] <{:9.2} us>",
            line.row.queues,
            line.row.threads,
            line.bytes_per_second / 1e6,
            line.io_per_second,
            line.latency_mean_seconds * 1e6
        );
    }
    let mix = if options.mix_read_percent.is_some() { " [+Mix]" } else { "" };
    let profile = match options.profile {
        Profile::Three | Profile::Eight => "Default",
        Profile::EightNvme => "NVMe",
        Profile::Real => "Real",
        Profile::Peak => "Peak",
    };
    let size = match options.size_bytes {
        bytes if bytes.is_multiple_of(1 << 30) => format!("{} GiB", bytes >> 30),
        bytes => format!("{} MiB", bytes >> 20),
    };
    let fill = if options.data == Data::Zero { " [0Fill]" } else { "" };
    let Heading { target, date, system, comment, .. } = heading;
    let (measure, interval) = (options.time.as_secs_f64(), options.interval.as_secs_f64());
    let _ = write!(
        text,
        "\nProfile: {profile}{mix}\n   Test: {size} (x{}) [{target}]\n   Mode:{fill}\n   Time: \
        Measure {measure} sec / Interval {interval} sec \n   \
         Date: {date}\n     OS: {system}\n{comment}",
        options.runs
    );
    if !comment.is_empty() {
        text.push('\n');
    }
    text
}

/// Reads the text of any version, and KDiskMark's.
///
/// # Errors
/// The line that holds a rate and no row that is known.
pub fn read(text: &str) -> Result<Imported, String> {
    let halves_kib = text.contains("KDiskMark");
    let tool =
        text.lines().find(|line| line.contains("DiskMark")).map_or("CrystalDiskMark", str::trim);
    let tool = tool
        .split("(C)")
        .next()
        .unwrap_or(tool)
        .split(": http")
        .next()
        .unwrap_or(tool)
        .trim()
        .to_owned();
    let mut imported = Imported {
        tool,
        suite: NAME.to_owned(),
        clock: Clock::Wall,
        facts: Vec::new(),
        part: None,
        rows: Vec::new(),
        notes: Vec::new(),
    };
    let mut section = None;
    for (number, line) in text.lines().enumerate() {
        let words = line.trim_start_matches('>').trim();
        if let Some(name) = words.strip_prefix('[') {
            section = [
                ("Read", Way::Read),
                ("Write", Way::Write),
                ("Mix", Way::Mix { read_percent: 70 }),
            ]
            .into_iter()
            .find(|(known, _)| name.starts_with(known))
            .map(|(_, way)| way);
        } else if words.contains(" MB/s") && !words.starts_with('*') {
            let row = read_line(words, section)
                .ok_or_else(|| format!("line {}: `{words}` is no row that is known", number + 1))?;
            imported.rows.extend(row);
        } else if let Some((name, value)) =
            words.split_once(':').filter(|(name, _)| FACTS.contains(&name.trim()))
        {
            imported.facts.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    if halves_kib {
        for row in &mut imported.rows {
            row.metrics.entry(THROUGHPUT.to_owned()).and_modify(|rate| *rate *= 1.024);
        }
        imported.notes.push(
            "KDiskMark's MB/s are 1,024,000 bytes/s: its figures were multiplied by 1.024"
                .to_owned(),
        );
    } else {
        imported.notes.push(
            "each figure is the best of its runs, as the tool prints it; how far \
            they lay apart is not known"
                .to_owned(),
        );
    }
    Ok(imported)
}

const FACTS: [&str; 6] = ["Test", "Date", "OS", "Profile", "Time", "Mode"];

/// A row of any version; `Some(None)` is a row that was not measured.
fn read_line(line: &str, section: Option<Way>) -> Option<Option<ImportedRow>> {
    let (name, figures) = line.rsplit_once(':')?;
    let rate = before(figures, "MB/s")?;
    let (access, way) = read_name(name.trim(), section)?;
    if rate == 0.0 {
        return Some(None);
    }
    let (order, size, queues, threads) = access;
    let group = match (way, order) {
        (Way::Mix { .. }, _) => Group::Mixed,
        (_, "SEQ") => Group::Sequential,
        _ => Group::Random,
    };
    let mut row =
        ImportedRow::new(format!("{order}{size} Q{queues}T{threads} {way}"), group, THROUGHPUT);
    row.put(THROUGHPUT, rate * 1e6);
    if let Some(operations) = before(figures, "IOPS") {
        row.put(OPERATIONS, operations);
    }
    if let Some(latency) = before(figures, "us>").filter(|latency| *latency > 0.0) {
        row.put(LATENCY_MEAN, latency * 1e-6);
    }
    Some(Some(row))
}

/// The number that stands before a unit.
fn before(text: &str, unit: &str) -> Option<f64> {
    let text = text.split_once(unit)?.0.trim_end();
    let start = text
        .rfind(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
        .map_or(0, |index| index + 1);
    text[start..].parse().ok()
}

type Access = (&'static str, String, u32, u32);

fn read_name(name: &str, section: Option<Way>) -> Option<(Access, Way)> {
    let order = match name.split_whitespace().next()? {
        "Sequential" | "SEQ" => "SEQ",
        "Random" | "RND" => "RND",
        _ => return None,
    };
    if let Some((access, queue)) = name.split_once("(Q=") {
        let (queues, rest) = queue.split_once(',')?;
        let threads = rest.split_once("T=")?.1.trim_end_matches(')');
        let size: String = access.chars().filter(char::is_ascii_digit).collect();
        let unit = if access.contains("MiB") { "M" } else { "K" };
        return Some((
            (
                order,
                format!("{size}{unit}"),
                queues.trim().parse().ok()?,
                threads.trim().parse().ok()?,
            ),
            section?,
        ));
    }
    // Version 3 says in each line which way it goes.
    let way = match name.split_whitespace().nth(1)? {
        "Read" => Way::Read,
        "Write" => Way::Write,
        _ => return None,
    };
    let queues = name
        .split_once("QD=")
        .map_or(Some(1), |(_, depth)| depth.trim_end_matches(')').trim().parse().ok())?;
    let size = name
        .split_whitespace()
        .find_map(|word| word.strip_suffix("KB"))
        .map_or("1M".to_owned(), |kib| format!("{kib}K"));
    Some(((order, size, queues, 1), way))
}
