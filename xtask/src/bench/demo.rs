//! The demo: how long it takes and how much memory.

use std::fs;

use super::table::{Aim, Row, Section};
use super::{Bench, child};

/// Runs the demo's plan once.
///
/// # Errors
/// When raidloom fails.
pub(crate) fn measure(bench: &Bench) -> Result<Section, String> {
    bench.build("raidloom")?;
    let folder = bench.target.join("bench").join("demo");
    // An earlier run that was broken off may have left it.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let plan = bench.root.join("plans/stripe-size.toml");
    let finished = child::succeed(bench.program("raidloom").current_dir(&folder).arg("run").arg(&plan))?;
    let rows = vec![
        Row { load: "whole plan".to_owned(), measure: "s", ours: vec![finished.seconds], other: None, aim: Aim::AtMost(180.0) },
        Row {
            load: "whole plan".to_owned(),
            measure: "MB at most at once",
            ours: vec![finished.peak_bytes as f64 / 1e6],
            other: None,
            aim: Aim::AtMost(300.0),
        },
    ];
    let how = "`raidloom run plans/stripe-size.toml`, once, as `make demo` does it.".to_owned();
    Ok(Section { title: "The demo", how, sides: ("raidloom", ""), rows })
}
