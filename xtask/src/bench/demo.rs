//! The demo: how long it takes and how much memory.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

use super::child::Finished;
use super::table::{Aim, Row, Section};
use super::{Bench, child};

const PLAN: &str = "plans/stripe-size.toml";

/// Runs the demo's plan once, and its modelled half as often as there are rounds.
///
/// # Errors
/// When raidloom fails.
pub(crate) fn measure(bench: &Bench) -> Result<Section, String> {
    let folder = bench.target.join("bench").join("demo");
    // An earlier run that was broken off may have left it.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let plan = bench.root.join(PLAN);
    let text = fs::read_to_string(&plan).map_err(|error| format!("{}: {error}", plan.display()))?;
    let modelled = folder.join("modelled.toml");
    fs::write(&modelled, only_modelled(&text)?)
        .map_err(|error| format!("{}: {error}", modelled.display()))?;

    eprintln!("   whole plan");
    let whole = raidloom(bench, &folder, &plan, "whole")?;
    let mut halves = Vec::new();
    for round in 0..bench.effort.rounds {
        eprintln!("   modelled half");
        halves.push(raidloom(bench, &folder, &modelled, &format!("modelled-{round}"))?);
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
    let rows = vec![
        row("whole plan", "s", vec![whole.seconds], 180.0),
        row("whole plan", "MB at most at once", vec![whole.peak_bytes as f64 / 1e6], 300.0),
        row("modelled half", "s", halves.iter().map(|half| half.seconds).collect(), 10.0),
        row(
            "modelled half",
            "MB at most at once",
            halves.iter().map(|half| half.peak_bytes as f64 / 1e6).collect(),
            300.0,
        ),
    ];
    let how = format!(
        "`raidloom run {PLAN}`, once as `make demo` does it, and with its modelled members alone. \
        Memory is the largest resident set the kernel saw."
    );
    Ok(Section { title: "The demo", how, sides: ("raidloom", ""), rows })
}

fn raidloom(bench: &Bench, folder: &Path, plan: &Path, output: &str) -> Result<Finished, String> {
    let mut command = bench.program("raidloom");
    child::succeed(
        command
            .current_dir(folder)
            .arg("--quiet")
            .arg("run")
            .arg(plan)
            .arg("--output")
            .arg(folder.join(output)),
    )
}

/// The same plan without members that are not modelled.
fn only_modelled(text: &str) -> Result<String, String> {
    let mut plan: Table = text.parse().map_err(|error| format!("{PLAN}: {error}"))?;
    let members = plan
        .get_mut("members")
        .and_then(Value::as_table_mut)
        .ok_or_else(|| format!("{PLAN} has no members"))?;
    members.retain(|_, set| set.get("models").is_some());
    let kept: Vec<Value> = members.keys().map(|name| Value::String(name.clone())).collect();
    if kept.is_empty() {
        return Err(format!("{PLAN} has no modelled members"));
    }
    for section in ["add", "skip"] {
        if let Some(Value::Array(entries)) = plan.get_mut(section) {
            entries.retain(|entry| entry.get("members").is_none_or(|name| kept.contains(name)));
        }
    }
    if let Some(Value::Table(matrix)) = plan.get_mut("matrix") {
        matrix.insert("members".to_owned(), Value::Array(kept));
    }
    toml::to_string(&plan).map_err(|error| format!("{PLAN}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modelled_half_is_the_same_plan_without_files() {
        let plan = r#"
            name = "demo"
            [members.files]
            files = { count = 2, size = "64MiB" }
            [members.maxtor]
            models = ["maxtor-6y200p0", "maxtor-6y200p0"]
            [matrix]
            members = ["files", "maxtor"]
            chunk = ["4KiB"]
            [[add]]
            level = "single"
            members = "files"
            [[add]]
            level = "single"
            members = "maxtor"
        "#;
        let half: Table = only_modelled(plan).expect("a plan").parse().expect("TOML");
        assert_eq!(
            half["members"].as_table().expect("members").keys().collect::<Vec<_>>(),
            ["maxtor"]
        );
        assert_eq!(
            half["matrix"]["members"],
            Value::Array(vec![Value::String("maxtor".to_owned())])
        );
        assert_eq!(half["add"].as_array().expect("add").len(), 1);
        assert_eq!(half["name"].as_str(), Some("demo"));
        assert!(only_modelled("[members.files]\nfiles = {}\n").is_err());
    }
}
