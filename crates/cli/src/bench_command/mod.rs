//! `raidloom bench`: one suite on one target.
//!
//! ```text
//!   arguments ──> settings of the suite ──> run: limits, target, audit, progress ──> rows ──> show, or JSON, or the original's text
//! ```

pub(crate) mod arguments;
mod bonnie;
mod command;
mod copy;
mod crystal;
mod depth;
mod devtest;
pub(crate) mod flags;
mod hdparm;
mod import;
mod run;
mod show;
mod target;

use bench::suite::{self, Suite, TargetKind, explain};
use block::Clock;
use serde_json::json;

pub(crate) use bonnie::bonnie;
pub(crate) use command::{CommandArguments, FioArguments, command, fio};
pub(crate) use copy::copy;
pub(crate) use crystal::{CrystalArguments, crystal};
pub(crate) use depth::{DepthArguments, depth};
pub(crate) use devtest::{DevtestArguments, devtest};
pub(crate) use hdparm::{HdparmArguments, hdparm};
pub(crate) use import::import;

use crate::failure::Failure;
use crate::output::{Output, table};

/// Lists the suites.
pub(crate) fn list(output: &Output) -> Result<(), Failure> {
    let suites = suite::all();
    if output.json {
        let documents: Vec<_> = suites.iter().map(|suite| document(suite)).collect();
        return output.document(&documents);
    }
    let kind = |kind: &TargetKind| if *kind == TargetKind::Folder { "folder" } else { "device" };
    let targets = |suite: &Suite| suite.targets.iter().map(kind).collect::<Vec<_>>().join(", ");
    let rows: Vec<Vec<String>> = suites
        .iter()
        .map(|suite| vec![suite.name.to_owned(), targets(suite), suite.summary.to_owned()])
        .collect();
    let text = table(&["SUITE", "RUNS ON", "MEASURES"], &rows, &[]);
    output.result(&format!("{text}\nraidloom bench explain SUITE says what each phase does.\n"))
}

/// Says phase by phase what a suite does.
pub(crate) fn explain(output: &Output, name: &str) -> Result<(), Failure> {
    let Some(suite) = suite::find(name) else {
        let names: Vec<&str> = suite::all().iter().map(|suite| suite.name).collect();
        return Err(Failure::usage(format!(
            "there is no suite `{name}`; there are {}",
            names.join(", ")
        )));
    };
    if output.json {
        return output.document(&document(suite));
    }
    output.result(&explain::text(suite, output.width()))
}

fn document(suite: &Suite) -> serde_json::Value {
    let phases: Vec<_> = suite
        .default_phases()
        .iter()
        .map(|phase| {
            json!({ "phase": phase.name, "what": phase.what, "metric": phase.metric,
            "group": phase.group, "writes": phase.writes })
        })
        .collect();
    let settings: Vec<_> = suite
        .settings
        .iter()
        .map(|setting| {
            json!({
                "name": setting.name,
                "flag": format!("--{}", flags::flag_name(setting.name)),
                "takes": setting.kind.to_string(),
                "default": setting.default_words(),
                "defaults": {
                    "wall": setting.default(Clock::Wall).to_string(),
                    "virtual": setting.default(Clock::Virtual).to_string(),
                    "plan_wall": setting.default_in_plans(Clock::Wall).to_string(),
                    "plan_virtual": setting.default_in_plans(Clock::Virtual).to_string(),
                },
                "differs_by_group": setting.by_group,
                "what": setting.what,
            })
        })
        .collect();
    json!({ "suite": suite.name, "summary": suite.summary, "about": suite.about,
        "runs_on": explain::targets(suite), "phases": phases, "settings": settings })
}
