//! What programs that people use to load disks say, and which figures are in it.

use std::collections::BTreeMap;
use std::time::Duration;
use words::{Text, statement};

use regex_lite::Regex;

use crate::format::fio;
use crate::suite::catalogue;
use crate::suite::program::{Output, number};

/// A format that is known.
#[derive(Debug)]
pub(super) struct OutputFormat {
    /// Its name: the program's.
    pub(super) name: &'static str,
    /// What the row is called.
    pub(super) row: &'static str,
    /// The metric that the row is judged by, of which more is better.
    pub(super) metric: &'static str,
    /// All figures in what the program said in the time it took; that metric is among them.
    pub(super) read: fn(&Output, Duration) -> Result<Figures, Text>,
}

type Figures = BTreeMap<String, f64>;

const THROUGHPUT: &str = "throughput_bytes_per_second";
const MIB: f64 = 1_048_576.0;

static ALL: [OutputFormat; 5] = [
    OutputFormat {
        name: "pgbench",
        row: "transactions",
        metric: "transactions_per_second",
        read: pgbench,
    },
    OutputFormat { name: "sysbench", row: "events", metric: "events_per_second", read: sysbench },
    OutputFormat { name: "dd", row: "throughput", metric: THROUGHPUT, read: dd },
    OutputFormat { name: "rsync", row: "throughput", metric: THROUGHPUT, read: rsync },
    OutputFormat { name: "fio", row: "throughput", metric: THROUGHPUT, read: fio_json },
];

pub(super) fn find(name: &str) -> Option<&'static OutputFormat> {
    ALL.iter().find(|format| format.name == name)
}

pub(super) fn names() -> String {
    ALL.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The numbers of the last match in a text.
fn last(text: &str, expression: &str) -> Option<Vec<f64>> {
    let regex = Regex::new(expression).expect("an expression of ours");
    let found = regex.captures_iter(text).last()?;
    found.iter().skip(1).flatten().map(|group| number(group.as_str()).ok()).collect()
}

/// One number of the last match, as a metric.
fn put(figures: &mut Figures, name: &str, text: &str, expression: &str, factor: f64) {
    if let Some(number) = last(text, expression).and_then(|numbers| numbers.first().copied()) {
        figures.insert(name.to_owned(), number * factor);
    }
}

fn with(figures: Figures, metric: &str, program: &str) -> Result<Figures, Text> {
    if figures.contains_key(metric) {
        Ok(figures)
    } else {
        Err(statement!(catalogue::NO_FIGURE_OF, program = program, metric = metric))
    }
}

fn pgbench(output: &Output, _: Duration) -> Result<Figures, Text> {
    let (text, mut figures) = (&output.out, Figures::new());
    put(&mut figures, "transactions_per_second", text, r"(?m)^tps = ([0-9.]+)", 1.0);
    put(&mut figures, "latency_mean_seconds", text, r"(?m)^latency average = ([0-9.]+) ms", 1e-3);
    put(
        &mut figures,
        "latency_deviation_seconds",
        text,
        r"(?m)^latency stddev = ([0-9.]+) ms",
        1e-3,
    );
    let processed = r"(?m)^number of transactions actually processed: ([0-9]+)";
    put(&mut figures, "operations_count", text, processed, 1.0);
    let failed = r"(?m)^number of failed transactions: ([0-9]+)";
    put(&mut figures, "failed_transactions_count", text, failed, 1.0);
    with(figures, "transactions_per_second", "pgbench")
}

fn sysbench(output: &Output, _: Duration) -> Result<Figures, Text> {
    let (text, mut figures) = (&output.out, Figures::new());
    let events = last(text, r"total number of events:\s+([0-9]+)");
    let time = last(text, r"total time:\s+([0-9.]+)s");
    if let (Some([events]), Some([time])) = (events.as_deref(), time.as_deref())
        && *time > 0.0
    {
        figures.insert("events_per_second".to_owned(), events / time);
        figures.insert("operations_count".to_owned(), *events);
    }
    for (side, line) in [("read", "read"), ("write", "written")] {
        let name = format!("{side}_throughput_bytes_per_second");
        put(&mut figures, &name, text, &format!(r"{line}, MiB/s:\s+([0-9.]+)"), MIB);
    }
    for (name, line) in [("mean", "avg"), ("p95", "95th percentile"), ("max", "max")] {
        let expression = format!(r"(?m)^\s+{line}:\s+([0-9.]+)$");
        put(&mut figures, &format!("latency_{name}_seconds"), text, &expression, 1e-3);
    }
    with(figures, "events_per_second", "sysbench")
}

fn dd(output: &Output, _: Duration) -> Result<Figures, Text> {
    let mut figures = Figures::new();
    let line = r"([0-9]+) bytes .*copied, ([0-9.e+-]+) s,";
    if let Some([bytes, seconds]) = last(&output.err, line).as_deref()
        && *seconds > 0.0
    {
        figures.insert(THROUGHPUT.to_owned(), bytes / seconds);
        figures.insert("copied_bytes".to_owned(), *bytes);
    }
    with(figures, THROUGHPUT, "dd")
}

/// The rate is made of the bytes that were sent and received: the one that rsync prints counts
/// whole seconds and adds half of one, whatever was copied in 10 ms.
fn rsync(output: &Output, elapsed: Duration) -> Result<Figures, Text> {
    let (text, mut figures) = (&output.out, Figures::new());
    let moved = r"(?m)^sent ([0-9,]+) bytes  received ([0-9,]+) bytes  ";
    if let Some([sent, received]) = last(text, moved).as_deref()
        && !elapsed.is_zero()
    {
        figures.insert(THROUGHPUT.to_owned(), (sent + received) / elapsed.as_secs_f64());
    }
    let transferred = r"Total transferred file size: ([0-9,]+) bytes";
    put(&mut figures, "transferred_bytes", text, transferred, 1.0);
    with(figures, THROUGHPUT, "rsync")
}

fn fio_json(output: &Output, _: Duration) -> Result<Figures, Text> {
    let document = output.json()?;
    let jobs = document["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    let mut groups: Vec<u64> = jobs.iter().filter_map(|job| job["groupid"].as_u64()).collect();
    groups.dedup();
    if groups.len() > 1 {
        return Err(catalogue::SEVERAL_GROUPS.into());
    }
    let figures = fio::group(jobs).map_err(|why| why.at(catalogue::FIO_OUTPUT))?;
    with(figures, THROUGHPUT, "fio")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the programs printed, as far as it is read.
    const PGBENCH: &str = "pgbench (15.20)\ntransaction type: <builtin: TPC-B (sort of)>\nnumber of \
        clients: 2\nnumber of transactions actually processed: 940\nnumber of failed \
        transactions: 0 (0.000%)\nlatency average = 4.255 ms\ninitial connection time = 3.638 ms\n\
        tps = 470.031727 (without initial connection time)\n";
    const SYSBENCH: &str = "File operations:\n    reads/s:                      30127.26\n    \
        writes/s:                     20084.84\n    fsyncs/s:                     2009.48\n\n\
        Throughput:\n    read, MiB/s:                  470.74\n    written, MiB/s:               \
        313.83\n\nGeneral statistics:\n    total time:                          3.0040s\n    total \
        number of events:              156935\n\nLatency (ms):\n         min:                      \
        \x20             0.00\n         avg:                                    0.02\n         \
        max:                                    8.11\n         95th percentile:                    \
        \x20   0.01\n         sum:                                 2956.45\n";
    const DD: &str = "256+0 records in\n256+0 records out\n16777216 bytes (17 MB, 16 MiB) copied, \
        0.00838861 s, 2.0 GB/s\n";
    const RSYNC: &str = "Total transferred file size: 61,794 bytes\n\nsent 63,500 bytes  received \
        494 bytes  127,988.00 bytes/sec\ntotal size is 61,794  speedup is 0.97\n";

    fn read(name: &str, out: &str, err: &str) -> Result<Figures, Text> {
        let output = Output { out: out.to_owned(), err: err.to_owned() };
        (find(name).unwrap().read)(&output, Duration::from_millis(500))
    }

    #[test]
    fn the_figures_of_every_known_program_are_found() {
        let near = |figures: &Figures, name: &str, expected: f64| {
            let found = figures[name];
            assert!((found / expected - 1.0).abs() < 1e-9, "{name}: {found}, not {expected}");
        };
        let pgbench = read("pgbench", PGBENCH, "").unwrap();
        near(&pgbench, "transactions_per_second", 470.031_727);
        near(&pgbench, "latency_mean_seconds", 0.004_255);
        near(&pgbench, "operations_count", 940.0);
        assert_eq!(pgbench["failed_transactions_count"], 0.0);
        let sysbench = read("sysbench", SYSBENCH, "").unwrap();
        near(&sysbench, "events_per_second", 156_935.0 / 3.004);
        near(&sysbench, "write_throughput_bytes_per_second", 313.83 * MIB);
        near(&sysbench, "latency_p95_seconds", 0.000_01);
        near(&sysbench, "latency_max_seconds", 0.008_11);
        near(&read("dd", "", DD).unwrap(), THROUGHPUT, 16_777_216.0 / 0.008_388_61);
        let rsync = read("rsync", RSYNC, "").unwrap();
        near(&rsync, THROUGHPUT, (63_500.0 + 494.0) / 0.5);
        near(&rsync, "transferred_bytes", 61_794.0);
    }

    #[test]
    fn another_programs_output_has_none_of_them() {
        for format in &ALL {
            for text in ["", "tps = many\n", "{ \"jobs\": [] }"] {
                assert!(read(format.name, text, text).is_err(), "{}: {text}", format.name);
            }
        }
        let job = |group| {
            format!(
                "{{ \"jobname\": \"a\", \"groupid\": {group}, \"read\": {{ \"total_ios\": 1, \
                \"bw_bytes\": 1, \"iops\": 1 }} }}"
            )
        };
        let groups = format!("{{ \"jobs\": [{}, {}] }}", job(0), job(1));
        assert!(read("fio", &groups, "").unwrap_err().to_string().contains("several groups"));
        let one = format!("{{ \"jobs\": [{}, {}] }}", job(0), job(0));
        assert_eq!(read("fio", &one, "").unwrap()[THROUGHPUT], 2.0);
    }
}
