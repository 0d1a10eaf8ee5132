//! `array cache simulate`: a trace, or a made workload, through every policy at every size.

use std::path::{Path, PathBuf};

use block::{SECTOR_BYTES, size_text};
use cache::simulate::{self, Access, AccessKind, Options, Outcome, ZipfOptions};
use cache::{AdmissionOptions, PolicyKind};
use clap::{Args, Parser};
use host::limits::promise_memory;
use serde_json::json;
use trace::RecordedOp;

use super::chart;
use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::keys::Keys;
use crate::output::{Output, about, table};
use crate::trace_command::{self, ReadingArguments};

/// `array cache simulate`.
#[derive(Args, Debug)]
pub(crate) struct SimulateArguments {
    /// A recording: raidloom's own, CSV, or another program's
    #[arg(required_unless_present = "set")]
    pub trace: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub reading: ReadingArguments,

    /// Sizes of the cache: bytes, or parts of all that is asked for
    #[arg(long, value_delimiter = ',', num_args = 1.., default_value = "0.5%,1%,2%,5%,10%,20%,50%",
        value_name = "SIZE")]
    pub sizes: Vec<String>,

    /// Policies: s3-fifo, sieve, lru, clock, 2q, arc, lfu [default: all]
    #[arg(long, value_delimiter = ',', num_args = 1.., value_name = "NAME")]
    pub policies: Vec<String>,

    /// Write the chart as SVG
    #[arg(long, value_name = "PATH")]
    pub svg: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub keys: Keys<SimulateKeys>,
}

/// The simulated cache, called as in stacks, and a workload that is made instead of a trace.
#[derive(Parser, Debug)]
#[command(rename_all = "snake_case", disable_help_flag = true)]
pub(crate) struct SimulateKeys {
    /// Block of the cache
    #[arg(long, default_value = "4KiB")]
    pub block: String,

    /// Sequential runs longer than this stay outside; else none does
    #[arg(long)]
    pub sequential_cutoff: Option<String>,

    /// A block comes in at its n-th access
    #[arg(long, default_value_t = 1, value_parser = crate::bounds::within::<u8>(1..=15))]
    pub promote_after: u8,

    /// Instead of a trace: blocks asked for by Zipf's law with this exponent
    #[arg(long)]
    pub zipf: Option<f64>,

    /// Which part of the accesses are sequential scans over other blocks: 0 to 1
    #[arg(long, default_value_t = 0.0)]
    pub scan: f64,

    /// How many blocks a scan reads
    #[arg(long, default_value_t = 10_000,
        value_parser = crate::bounds::within::<u64>(1..=1 << 30))]
    pub scan_blocks: u64,

    /// How many different blocks, without those of scans
    #[arg(long, default_value_t = 100_000,
        value_parser = crate::bounds::within::<u64>(1..=1 << 26))]
    pub blocks: u64,

    /// How many accesses
    #[arg(long, default_value_t = 1_000_000,
        value_parser = crate::bounds::within::<u64>(1..=1 << 28))]
    pub accesses: u64,

    /// Equal seeds give equal workloads
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// The largest block of a cache, in bytes.
const BLOCK_BYTES_MAX: u64 = 1 << 20;

/// Runs the simulation and prints table and chart.
pub(super) fn simulate(output: &Output, arguments: &SimulateArguments) -> Result<(), Failure> {
    let keys = &arguments.keys;
    let made_from = arguments.trace.as_slice();
    arguments.svg.iter().try_for_each(|to| host::files::refuse_to_write(to, made_from))?;
    let block_bytes = output.size("-s block=", &keys.block)?;
    if !block_bytes.is_power_of_two() || !(SECTOR_BYTES..=BLOCK_BYTES_MAX).contains(&block_bytes) {
        return Err(Failure::usage(catalogue::BLOCK_RANGE).at(format!("-s block={}", keys.block)));
    }
    let (name, accesses) = match (&arguments.trace, keys.zipf) {
        (Some(path), _) => (path.display().to_string(), read(output, path, &arguments.reading)?),
        (None, Some(alpha)) => (made_name(alpha, keys), made(alpha, keys, block_bytes)?),
        (None, None) => {
            return Err(Failure::usage(catalogue::RECORDING_OR_ZIPF));
        }
    };
    let footprint = simulate::footprint(&accesses, block_bytes);
    if footprint == 0 {
        return Err(Failure::failed(catalogue::RECORDING_WITHOUT_DATA).at(name));
    }
    let admission = AdmissionOptions {
        sequential_cutoff_bytes: keys
            .sequential_cutoff
            .as_deref()
            .map(|text| output.size("-s sequential_cutoff=", text))
            .transpose()?,
        promote_after: keys.promote_after,
    };
    let options = Options {
        block_bytes,
        sizes: sizes(output, arguments, footprint, block_bytes)?,
        policies: policies(arguments)?,
        admission,
    };
    let outcomes = simulate::simulate(&accesses, &options)?;

    if let Some(path) = &arguments.svg {
        let title = say!(HITS_BY_SIZE, name = name);
        let svg = chart::svg(&title, &options, &outcomes);
        host::files::write_named(path, svg.as_bytes(), made_from)?;
        output.progress(&say!(WROTE, path = path.display()));
    }
    if output.json {
        return output.document(&document(&name, accesses.len(), footprint, &options, &outcomes));
    }
    let asked = outcomes.first().map_or(0, |outcome| outcome.reads + outcome.writes);
    let mut text = say!(
        REQUESTS_AND_BLOCKS,
        name = name,
        requests = accesses.len(),
        asked = asked,
        block = size_text(block_bytes),
        different = footprint,
        size = about(footprint * block_bytes)
    );
    text += "\n\n";
    text += &hits(&options, &outcomes, footprint);
    text += "\n";
    text += &chart::text(&options, &outcomes, output.width());
    output.result(&text)
}

fn read(output: &Output, path: &Path, reading: &ReadingArguments) -> Result<Vec<Access>, Failure> {
    let mut reader = trace_command::open(path, reading)?;
    let mut accesses = Vec::new();
    for record in &mut reader {
        let record =
            record.map_err(|error| Failure::usage(error.at(path.display()).to_string()))?;
        let kind = match record.op {
            RecordedOp::Read => AccessKind::Read,
            RecordedOp::Write | RecordedOp::WriteZeroes => AccessKind::Write,
            RecordedOp::Discard => AccessKind::Discard,
            RecordedOp::Flush => continue,
        };
        accesses.push(Access { kind, offset: record.offset, length: record.length });
    }
    trace_command::note_problems(output, path, reader.problems());
    Ok(accesses)
}

fn made_name(alpha: f64, keys: &SimulateKeys) -> String {
    let scan = if keys.scan > 0.0 {
        say!(WITH_SCANS, percent = format!("{:.0}", 100.0 * keys.scan))
    } else {
        String::new()
    };
    say!(ZIPF_WORKLOAD, alpha = alpha, scan = scan, seed = keys.seed)
}

fn made(alpha: f64, keys: &SimulateKeys, block_bytes: u64) -> Result<Vec<Access>, Failure> {
    if !(0.0..=5.0).contains(&alpha) {
        return Err(Failure::usage(catalogue::ZIPF_RANGE).at(format!("-s zipf={alpha}")));
    }
    if !(0.0..=1.0).contains(&keys.scan) {
        return Err(Failure::usage(catalogue::SCAN_RANGE).at(format!("-s scan={}", keys.scan)));
    }
    let SimulateKeys { blocks, accesses, scan, scan_blocks, seed, .. } = *keys;
    // A sum of chances for each block.
    let bytes = accesses * size_of::<Access>() as u64 + blocks * size_of::<f64>() as u64;
    promise_memory(catalogue::ACCESSES_AND_BLOCKS, bytes)?;
    Ok(simulate::zipf(&ZipfOptions {
        alpha,
        blocks,
        accesses,
        scan,
        scan_blocks,
        block_bytes,
        seed,
    }))
}

fn policies(arguments: &SimulateArguments) -> Result<Vec<PolicyKind>, Failure> {
    if arguments.policies.is_empty() {
        return Ok(PolicyKind::ALL.to_vec());
    }
    let known = || PolicyKind::ALL.map(PolicyKind::name).join(", ");
    let find = |name: &String| {
        PolicyKind::from_name(name)
            .ok_or_else(|| Failure::usage(statement!(NO_POLICY, name = name, names = known())))
    };
    arguments.policies.iter().map(find).collect()
}

/// Sizes in blocks, in order, each once.
fn sizes(
    output: &Output,
    arguments: &SimulateArguments,
    footprint: u64,
    block_bytes: u64,
) -> Result<Vec<u64>, Failure> {
    let mut sizes = Vec::new();
    for text in &arguments.sizes {
        let blocks = match text.strip_suffix('%') {
            Some(part) => {
                let part: f64 = part
                    .trim()
                    .parse()
                    .ok()
                    .filter(|part| *part > 0.0 && *part <= 100.0)
                    .ok_or_else(|| {
                        Failure::usage(catalogue::SIZES_RANGE).at(format!("--sizes {text}"))
                    })?;
                (part / 100.0 * footprint as f64).round() as u64
            }
            None => output.size("--sizes", text)? / block_bytes,
        };
        sizes.push(blocks.max(1));
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// Policies in rows, sizes in columns.
fn hits(options: &Options, outcomes: &[Outcome], footprint: u64) -> String {
    let mut head = vec![say!(HITS_HEAD)];
    head.extend(options.sizes.iter().map(|size| about(size * options.block_bytes)));
    let mut rows = vec![
        std::iter::once(say!(OF_ALL))
            .chain(
                options
                    .sizes
                    .iter()
                    .map(|&size| format!("{:.1} %", 100.0 * size as f64 / footprint as f64)),
            )
            .collect::<Vec<String>>(),
    ];
    for of_policy in outcomes.chunks(options.sizes.len()) {
        let mut row = vec![of_policy[0].policy.to_string()];
        row.extend(of_policy.iter().map(|outcome| format!("{:.2} %", 100.0 * outcome.hit_ratio())));
        rows.push(row);
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    table(&head, &rows, &(1..head.len()).collect::<Vec<_>>())
}

fn document(
    name: &str,
    requests: usize,
    footprint: u64,
    options: &Options,
    outcomes: &[Outcome],
) -> serde_json::Value {
    let rows: Vec<serde_json::Value> = outcomes
        .iter()
        .map(|outcome| {
            json!({
                "policy": outcome.policy.name(),
                "size_bytes": outcome.size * options.block_bytes,
                "hit_ratio": outcome.hit_ratio(),
                "read_hit_ratio": outcome.read_hit_ratio(),
                "read_blocks": outcome.reads,
                "read_hit_blocks": outcome.read_hits,
                "written_blocks": outcome.writes,
                "write_hit_blocks": outcome.write_hits,
                "inserted_blocks": outcome.insertions,
            })
        })
        .collect();
    json!({
        "workload": name,
        "requests": requests,
        "block_bytes": options.block_bytes,
        "footprint_bytes": footprint * options.block_bytes,
        "sequential_cutoff_bytes": options.admission.sequential_cutoff_bytes,
        "promote_after": options.admission.promote_after,
        "outcomes": rows,
    })
}
