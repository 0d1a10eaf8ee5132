//! Our rows as CrystalDiskMark's text, of version 3 and of version 8. What the audit found stands
//! below them, for whoever the text is sent to and for `bench --import`:
//!
//! ```text
//!   Audit: read-from-cache: SEQ1M Q8T1 read, RND4K Q32T1 read
//! ```

use std::fmt::Write;

use results::Doubt;

use crate::suite::crystal::{AccessKind, Data, Options, Order, Profile, Row};

/// The name of a line of the audit's.
pub(super) const AUDIT: &str = "Audit";
/// What stands below the program's name, before the version.
pub(super) const FORMAT_OF: &str = "in the format of CrystalDiskMark";

/// One line of the text: a row and its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The row.
    pub row: Row,
    /// Bytes per second: the best of the runs.
    pub bytes_per_second: f64,
    /// Requests per second of the same run.
    pub io_per_second: f64,
    /// Mean latency in seconds: the shortest of the runs' means, which need not be the same run.
    pub latency_mean_seconds: f64,
    /// What the audit found of the runs.
    pub findings: Vec<Doubt>,
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
    let text = if options.profile == Profile::Three {
        text_of_three(options, lines, heading)
    } else {
        text_of_eight(options, lines, heading)
    };
    text + &audit(lines)
}

/// A line for each finding, with the rows that it is of.
fn audit(lines: &[Line]) -> String {
    let mut text = String::new();
    for (finding, _) in results::doubt::counted(lines.iter().flat_map(|line| &line.findings)) {
        let has = |line: &&Line| line.findings.iter().any(|one| one.without_figures() == finding);
        let rows: Vec<String> = lines.iter().filter(has).map(|line| line.row.name()).collect();
        let _ = writeln!(text, "  {AUDIT}: {}: {}", finding.code(), rows.join(", "));
    }
    text
}

fn text_of_three(options: &Options, lines: &[Line], heading: &Heading) -> String {
    let rule = "-".repeat(71);
    let mut text =
        format!("{rule}\n{}\n{:>71}\n{rule}\n", heading.program, format!("{FORMAT_OF} 3"));
    text += "* MB/s = 1,000,000 byte/s [SATA/300 = 300,000,000 byte/s]\n\n";
    for line in lines {
        let Row { order, request_bytes, queues, way, .. } = line.row;
        let way = match way {
            AccessKind::Read => "Read",
            AccessKind::Write => "Write",
            AccessKind::Mix { .. } => "Mix",
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
    let mut text =
        format!("{rule}\n{}\n{:>78}\n{rule}\n", heading.program, format!("{FORMAT_OF} 8"));
    text += "* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\n* KB = 1000 bytes, KiB = \
        1024 bytes\n";
    let mut section = None;
    for line in lines {
        let name = match line.row.way {
            AccessKind::Read => "[Read]".to_owned(),
            AccessKind::Write => "[Write]".to_owned(),
            AccessKind::Mix { read_percent } => {
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
