//! `raidloom bench --import`: results of other tools as a run of ours.

use std::path::PathBuf;

use lab::import::{ImportedFile, read_files, run_of, write};
use results::analyse;
use serde_json::json;

use crate::catalogue::say;
use crate::failure::Failure;
use crate::output::Output;
use crate::report_command;

/// Reads the files and prints the report over all of them; with `folder` they also become a run.
pub(super) fn import(
    output: &Output,
    paths: &[PathBuf],
    folder: Option<&PathBuf>,
) -> Result<(), Failure> {
    let files = read_files(paths)?;
    let run = run_of(&files);
    for note in &run.notes {
        output.note(note);
    }
    let analysis = analyse(&run);
    if let Some(folder) = folder {
        let folder = write(folder, &run)?;
        let page = report_command::write_files(&folder, &run, &analysis)?;
        output.progress(&say!(WROTE_BOTH, first = folder.display(), second = page.display()));
    }
    if output.json {
        return output.document(&files.iter().map(document).collect::<Vec<_>>());
    }
    report_command::terminal(output, &run, &analysis, true, None)
}

fn document(file: &ImportedFile) -> serde_json::Value {
    let imported = &file.imported;
    let rows: Vec<_> = imported
        .rows
        .iter()
        .map(|row| json!({ "phase": row.phase, "run": row.run, "metrics": row.metrics }))
        .collect();
    let facts: serde_json::Map<String, serde_json::Value> =
        imported.facts.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({ "file": file.path, "label": file.label, "tool": imported.tool, "suite": imported.suite,
        "facts": facts, "rows": rows, "notes": imported.notes })
}
