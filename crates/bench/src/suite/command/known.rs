//! What programs that people use to load disks say, and which figures are in it.

use std::collections::BTreeMap;

use regex_lite::Regex;

use super::figures::{document, number};
use crate::format::fio;
use crate::suite::program::Output;

/// A format that is known.
#[derive(Debug)]
pub(super) struct Known {
    /// Its name: the program's.
    pub(super) name: &'static str,
    /// What the row is called.
    pub(super) row: &'static str,
    /// The metric that the row is judged by, of which more is better.
    pub(super) metric: &'static str,
    /// All figures in what the program said; that metric is among them.
    pub(super) read: fn(&Output) -> Result<Figures, String>,
}

type Figures = BTreeMap<String, f64>;

const THROUGHPUT: &str = "throughput_bytes_per_second";
const MIB: f64 = 1_048_576.0;

static ALL: [Known; 5] = [
    Known {
        name: "pgbench",
        row: "transactions",
        metric: "transactions_per_second",
        read: pgbench,
    },
    Known { name: "sysbench", row: "events", metric: "events_per_second", read: sysbench },
    Known { name: "dd", row: "throughput", metric: THROUGHPUT, read: dd },
    Known { name: "rsync", row: "throughput", metric: THROUGHPUT, read: rsync },
    Known { name: "fio", row: "throughput", metric: THROUGHPUT, read: fio_json },
];

pub(super) fn find(name: &str) -> Option<&'static Known> {
    ALL.iter().find(|known| known.name == name)
}

pub(super) fn names() -> String {
    ALL.iter().map(|known| known.name).collect::<Vec<_>>().join(", ")
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

fn with(figures: Figures, metric: &str, program: &str) -> Result<Figures, String> {
    if figures.contains_key(metric) {
        Ok(figures)
    } else {
        Err(format!("its output has no figure of {program}'s ({metric})"))
    }
}

fn pgbench(output: &Output) -> Result<Figures, String> {
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

fn sysbench(output: &Output) -> Result<Figures, String> {
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

fn dd(output: &Output) -> Result<Figures, String> {
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

fn rsync(output: &Output) -> Result<Figures, String> {
    let (text, mut figures) = (&output.out, Figures::new());
    put(&mut figures, THROUGHPUT, text, r"(?m)  ([0-9.,]+) bytes/sec$", 1.0);
    let transferred = r"Total transferred file size: ([0-9,]+) bytes";
    put(&mut figures, "transferred_bytes", text, transferred, 1.0);
    with(figures, THROUGHPUT, "rsync")
}

fn fio_json(output: &Output) -> Result<Figures, String> {
    let document = document(&output.out)?;
    let jobs = document["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    let mut groups: Vec<u64> = jobs.iter().filter_map(|job| job["groupid"].as_u64()).collect();
    groups.dedup();
    if groups.len() > 1 {
        return Err(
            "fio ran several groups, one after the other: `suite = \"fio\"` makes a row of \
            each"
                .to_owned(),
        );
    }
    let figures = fio::group(jobs).map_err(|error| format!("fio's output: {error}"))?;
    with(figures, THROUGHPUT, "fio")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the programs say, as far as it is read. `dd` is copied from what it printed; the others
    /// have the form that their manuals show, and were not run.
    const PGBENCH: &str = "transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 1\nquery \
        mode: simple\nnumber of clients: 1\nnumber of transactions actually processed: 100/100\n\
        number of failed transactions: 0 (0.000%)\nlatency average = 1.500 ms\nlatency stddev = \
        0.250 ms\ninitial connection time = 2.5 ms\ntps = 612.345678 (without initial connection \
        time)\n";
    const SYSBENCH: &str = "File operations:\n    reads/s:                      3000.00\n\n\
        Throughput:\n    read, MiB/s:                  48.00\n    written, MiB/s:               \
        32.00\n\nGeneral statistics:\n    total time:                          10.0000s\n    total \
        number of events:              120000\n\nLatency (ms):\n         min:                      \
        \x20             0.00\n         avg:                                    0.08\n         \
        max:                                    5.00\n         95th percentile:                    \
        \x20   0.40\n";
    const DD: &str = "256+0 records in\n256+0 records out\n16777216 bytes (17 MB, 16 MiB) copied, \
        0.00838861 s, 2.0 GB/s\n";
    const RSYNC: &str = "Total transferred file size: 52,428,800 bytes\n\nsent 52,441,693 bytes  \
        received 35 bytes  34,961,152.00 bytes/sec\ntotal size is 52,428,800  speedup is 1.00\n";

    fn read(name: &str, out: &str, err: &str) -> Result<Figures, String> {
        let output = Output { out: out.to_owned(), err: err.to_owned() };
        (find(name).unwrap().read)(&output)
    }

    #[test]
    fn the_figures_of_every_known_program_are_found() {
        let near = |figures: &Figures, name: &str, expected: f64| {
            let found = figures[name];
            assert!((found / expected - 1.0).abs() < 1e-9, "{name}: {found}, not {expected}");
        };
        let pgbench = read("pgbench", PGBENCH, "").unwrap();
        near(&pgbench, "transactions_per_second", 612.345_678);
        near(&pgbench, "latency_mean_seconds", 0.0015);
        near(&pgbench, "operations_count", 100.0);
        assert_eq!(pgbench["failed_transactions_count"], 0.0);
        let sysbench = read("sysbench", SYSBENCH, "").unwrap();
        near(&sysbench, "events_per_second", 12_000.0);
        near(&sysbench, "write_throughput_bytes_per_second", 32.0 * MIB);
        near(&sysbench, "latency_p95_seconds", 0.0004);
        near(&read("dd", "", DD).unwrap(), THROUGHPUT, 16_777_216.0 / 0.008_388_61);
        let rsync = read("rsync", RSYNC, "").unwrap();
        near(&rsync, THROUGHPUT, 34_961_152.0);
        near(&rsync, "transferred_bytes", 52_428_800.0);
    }

    #[test]
    fn another_programs_output_has_none_of_them() {
        for known in &ALL {
            for text in ["", "tps = many\n", "{ \"jobs\": [] }"] {
                assert!(read(known.name, text, text).is_err(), "{}: {text}", known.name);
            }
        }
        let job = |group| {
            format!(
                "{{ \"jobname\": \"a\", \"groupid\": {group}, \"read\": {{ \"total_ios\": 1, \
                \"bw_bytes\": 1, \"iops\": 1 }} }}"
            )
        };
        let groups = format!("{{ \"jobs\": [{}, {}] }}", job(0), job(1));
        assert!(read("fio", &groups, "").unwrap_err().contains("several groups"));
        let one = format!("{{ \"jobs\": [{}, {}] }}", job(0), job(0));
        assert_eq!(read("fio", &one, "").unwrap()[THROUGHPUT], 2.0);
    }
}
