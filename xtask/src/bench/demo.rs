//! The demo: how long it takes and how much memory.

use std::fs;
use std::path::Path;

use super::child::Finished;
use super::table::{Aim, Row, Section};
use super::{Bench, child};

/// The plan on modelled disks.
const MODELLED: &str = "plans/chunk-and-depth.toml";

/// The plan on files.
const FILES: &str = "plans/small-writes.toml";

/// Runs both plans of the demo, the one on files once and the modelled one as often as there are
/// rounds.
///
/// # Errors
/// When raidloom fails.
pub(crate) fn measure(bench: &Bench) -> Result<Section, String> {
    let folder = bench.target.join("bench").join("demo");
    // An earlier run that was broken off may have left it.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    eprintln!("   on files");
    let files = raidloom(bench, &folder, FILES, "files")?;
    let mut modelled = Vec::new();
    for round in 0..bench.effort.rounds {
        eprintln!("   modelled");
        modelled.push(raidloom(bench, &folder, MODELLED, &format!("modelled-{round}"))?);
    }
    // Runs are of no use once they are timed; what cannot be removed is removed next time.
    let _ = fs::remove_dir_all(&folder);

    let row = |load: &str, measure, ours, limit| Row {
        load: load.to_owned(),
        measure,
        ours,
        other: None,
        aim: Aim::AtMost(limit),
    };
    let megabytes = |finished: &Finished| finished.peak_bytes as f64 / 1e6;
    let rows = vec![
        row("on files", "s", vec![files.seconds], 170.0),
        row("on files", "MB at most at once", vec![megabytes(&files)], 300.0),
        row("modelled", "s", modelled.iter().map(|one| one.seconds).collect(), 10.0),
        row("modelled", "MB at most at once", modelled.iter().map(megabytes).collect(), 300.0),
    ];
    let how = format!(
        "`raidloom run {FILES}` and `raidloom run {MODELLED}`. Memory is \
        the largest resident set the kernel saw."
    );
    let measured =
        Some(format!("Measured once on files, and in {} rounds modelled", bench.effort.rounds));
    Ok(Section { title: "The demo", how, measured, sides: ("raidloom", ""), rows })
}

fn raidloom(bench: &Bench, folder: &Path, plan: &str, output: &str) -> Result<Finished, String> {
    let mut command = bench.program("raidloom");
    child::succeed(
        command
            .current_dir(folder)
            .arg("--quiet")
            .arg("run")
            .arg(bench.root.join(plan))
            .arg("--output")
            .arg(folder.join(output)),
    )
}
