//! The whole report as one JSON document, for programs.

use results::analysis::Analysis;
use results::types::Run;
use serde_json::json;

/// Plan, host and analysis, with `"schema": "raidloom/report/1"`. Base units, unit in the name.
#[must_use]
pub fn json(run: &Run, analysis: &Analysis) -> String {
    let document = json!({
        "schema": "raidloom/report/1",
        "plan": run.plan,
        "host": run.host,
        "notes": run.notes,
        "analysis": analysis,
    });
    escape::json(&format!("{document:#}\n")).into_owned()
}
