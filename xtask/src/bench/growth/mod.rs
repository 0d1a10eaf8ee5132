//! How cost grows with the size of a run: what a report takes of 1,512 to 630,000 made-up trials;
//! what a request takes, what programs and servers do, each at several sizes.

mod chart;
mod programs;
mod requests;
mod series;
mod served;

use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use serde_json::json;

use chart::Curve;
use series::{EXPONENT, Series};

use super::table::{Aim, Row, Section, Spread, exponent};
use super::{Bench, child};
use crate::instructions::Counter;

/// Writes a run of so many configurations, blocks and workloads into a folder.
type MakeUp = fn(&Path, [u32; 3]) -> std::io::Result<()>;

/// Configurations, blocks and workloads of each run.
const RUNS: [[u32; 3]; 5] = [[9, 24, 7], [60, 24, 7], [60, 70, 9], [300, 70, 9], [1000, 70, 9]];

/// What one run cost.
struct Cost {
    trials: f64,
    processor_seconds: f64,
    peak_megabytes: f64,
    page_megabytes: f64,
}

/// Makes up each run, and its page as often as there are rounds.
///
/// # Errors
/// When a run cannot be written or `raidloom report` fails.
pub(crate) fn measure(bench: &Bench) -> Result<Section, String> {
    let folder = bench.target.join("bench").join("growth");
    // An earlier run that was broken off may have left it.
    let _ = fs::remove_dir_all(&folder);
    let mut rounds: Vec<Vec<Cost>> = Vec::new();
    for _ in 0..bench.effort.rounds {
        rounds.push(Vec::new());
    }
    for shape in RUNS {
        eprintln!("   {} trials", shape.iter().product::<u32>());
        make_up(&folder, shape)
            .map_err(|error| format!("writing a run into {}: {error}", folder.display()))?;
        for round in &mut rounds {
            round.push(report(bench, &folder, shape)?);
        }
        let _ = fs::remove_dir_all(&folder);
    }
    let mut rows = Vec::new();
    for (at, shape) in RUNS.iter().enumerate() {
        let load =
            format!("{} trials of {} configurations", shape.iter().product::<u32>(), shape[0]);
        let of = |figure: fn(&Cost) -> f64| rounds.iter().map(|round| figure(&round[at])).collect();
        let mut row = |measure, ours, most| {
            let (load, aim) = (load.clone(), Aim::AtMost(most));
            rows.push(Row { load, measure, ours, other: None, aim });
        };
        row("s of processor time", of(|cost| cost.processor_seconds), 6.0);
        row("MB at most at once", of(|cost| cost.peak_megabytes), 400.0);
        row("MB of page", of(|cost| cost.page_megabytes), 2.0);
    }
    // The clock of processes counts in hundredths.
    let point = |cost: &Cost| (cost.trials, cost.processor_seconds.max(0.01));
    let fitted = |round: &Vec<Cost>| exponent(&round.iter().map(point).collect::<Vec<_>>());
    rows.push(Row {
        load: "all".to_owned(),
        measure: "exponent of processor time in trials",
        ours: rounds.iter().map(fitted).collect(),
        other: None,
        aim: EXPONENT,
    });
    let middle = |at: usize| {
        let rounds: Vec<f64> = rounds.iter().map(|round| point(&round[at]).1).collect();
        (f64::from(RUNS[at].iter().product::<u32>()), Spread::of(&rounds).median)
    };
    let report = Curve {
        title: "`raidloom report`".to_owned(),
        size: "trials",
        cost: "s of processor time",
        points: (0..RUNS.len()).map(middle).collect(),
    };
    let others = others(bench)?;
    let curves: Vec<Curve> = [report].into_iter().chain(others.iter().map(Series::curve)).collect();
    rows.extend(others.into_iter().flat_map(Series::rows));
    bench.picture("growth.svg", &chart::svg(&curves))?;
    let how = "`raidloom report RUN --html PAGE` of made-up runs: all workloads on all \
        configurations, eight figures a trial. Then requests over `null:` members, counted by \
        callgrind as in `cargo xtask ci instructions`; a plan of so many depths and ten chunk \
        sizes; `raidloom report history` over runs of 12 \
        trials; what a cache notes of the blocks that fill it; a copy on this \
        disk; superblocks of new members; a RAID 5 of which none are left, two thirds of it \
        text in an ext4, found by what its members hold; an NBD server of `null:` with one \
        request on its way on each connection, sixteen for each client; and the page that watches \
        arrays in memory. An exponent is \
        the slope of the logarithms, least squares over the sizes above it.\n\n\
        ![What each costs over its size](images/growth.svg)\n\n\
        Both axes of each chart are logarithmic; a cost that grows as its size does follows the \
        dashed line."
        .to_owned();
    let measured = Some(format!("Measured in {} rounds", bench.effort.rounds));
    Ok(Section { title: "How cost grows", how, measured, sides: ("raidloom", ""), rows })
}

/// All but the report.
///
/// # Errors
/// When a program cannot be built or fails.
fn others(bench: &Bench) -> Result<Vec<Series>, String> {
    let counter = Counter::build(&bench.root)?;
    let mut series = Vec::new();
    for level in ["raid0", "raid5", "raid6"] {
        eprintln!("   members of {level}");
        series.push(requests::members(&counter, level)?);
    }
    eprintln!("   outstanding requests");
    series.push(requests::outstanding(&counter)?);
    eprintln!("   configurations of a plan");
    series.push(programs::plan(bench)?);
    eprintln!("   runs in a folder");
    series.push(programs::history(bench, make_up)?);
    eprintln!("   memory of caches");
    series.push(programs::cache(bench)?);
    eprintln!("   files of a copy");
    series.push(programs::copy(bench)?);
    eprintln!("   superblocks of new members");
    series.push(programs::superblocks(bench)?);
    eprintln!("   members whose superblocks are lost");
    series.push(programs::rescue(bench)?);
    eprintln!("   connections of a server");
    series.extend(served::connections(bench)?);
    eprintln!("   arrays on a page");
    series.push(served::page(bench)?);
    Ok(series)
}

fn report(bench: &Bench, folder: &Path, shape: [u32; 3]) -> Result<Cost, String> {
    let page = folder.join("page.html");
    let mut command = bench.program("raidloom");
    let finished = child::succeed(command.arg("report").arg(folder).arg("--html").arg(&page))?;
    let bytes = fs::metadata(&page).map_err(|error| format!("{}: {error}", page.display()))?.len();
    Ok(Cost {
        trials: f64::from(shape.iter().product::<u32>()),
        processor_seconds: finished.cpu_seconds,
        peak_megabytes: finished.peak_bytes as f64 / 1e6,
        page_megabytes: bytes as f64 / 1e6,
    })
}

/// Writes a run of so many configurations, blocks and workloads: each cell has a rate of its own,
/// each trial noise of 3 %.
fn make_up(folder: &Path, [configurations, blocks, workloads]: [u32; 3]) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut random = fastrand::Rng::with_seed(1);
    let chunk = |configuration: u32| format!("{}KiB", configuration + 1);
    let settings = |configuration: u32| {
        let level = if configuration == 0 { "single" } else { "raid0" };
        json!({ "level": level, "chunk": chunk(configuration) })
    };
    let name = |workload: u32| format!("load: work {workload}");
    let groups = ["sequential", "random", "mixed"];
    let plan = json!({
        "schema": 1, "name": "growth", "seed": 1, "blocks": blocks, "margin": 0.02,
        "axes": [
            { "name": "level", "values": ["single", "raid0"] },
            { "name": "chunk", "values": (0..configurations).map(chunk).collect::<Vec<_>>() },
        ],
        "configurations": (0..configurations).map(|configuration| json!({
            "id": format!("{configuration:012x}"), "settings": settings(configuration),
            "stack": format!("raid0(chunk={}, a.img, b.img)", chunk(configuration)),
            "clock": "wall", "ground": "device", "modelled": false, "baseline": format!("{:012x}", 0),
        })).collect::<Vec<_>>(),
        "workloads": (0..workloads).map(|workload| json!({
            "name": name(workload), "suite": "load", "group": groups[workload as usize % 3],
            "metric": "throughput_bytes_per_second", "better": "higher", "weight": 1.0,
        })).collect::<Vec<_>>(),
        "suite_settings": {},
    });
    let host = json!({ "schema": 1, "started": "2026-11-26T12:00:00Z", "facts": [] });
    fs::write(folder.join("plan.resolved.json"), plan.to_string())?;
    fs::write(folder.join("host.json"), host.to_string())?;
    fs::write(folder.join("plan.toml"), "# made up\n")?;
    let cells = (configurations * workloads) as usize;
    let rates: Vec<f64> = (0..cells).map(|_| 1e8 * (0.5 + random.f64())).collect();
    let mut trials = BufWriter::new(fs::File::create(folder.join("trials.jsonl"))?);
    let (mut line, mut order) = (String::new(), 0);
    for block in 0..blocks {
        for configuration in 0..configurations {
            for workload in 0..workloads {
                let place = configuration * workloads + workload;
                let rate = rates[place as usize] * (0.97 + 0.06 * random.f64());
                let trial = json!({
                    "cell": format!("{place:012x}"), "settings": settings(configuration),
                    "workload": name(workload), "block": block, "order": order, "clock": "wall",
                    "metrics": {
                        "throughput_bytes_per_second": rate, "io_per_second": rate / 4096.0,
                        "latency_mean_seconds": 1e5 / rate, "latency_p99_seconds": 3e5 / rate,
                        "elapsed_seconds": 1.0, "operations_count": 1000.0,
                        "member_write_ratio": 1.0, "cpu_ratio": 0.1,
                    },
                    "members": [], "flags": [],
                });
                line.clear();
                let _ = writeln!(line, "{trial}");
                trials.write_all(line.as_bytes())?;
                order += 1;
            }
        }
    }
    trials.flush()
}
