//! `raidloom report`, and the report files of a finished run.

use std::fs;
use std::path::{Path, PathBuf};

use results::Run;
use results::analysis::{Analysis, analyse};

use crate::arguments::ReportArguments;
use crate::failure::Failure;
use crate::output::Output;

/// Writes what was asked for, or prints the report for the terminal.
pub(crate) fn report(output: &Output, arguments: &ReportArguments) -> Result<(), Failure> {
    let run = lab::read(&arguments.run)?;
    let analysis = analyse(&run);
    if output.json {
        return output.result(&report::json(&run, &analysis));
    }
    type Form = fn(&Run, &Analysis) -> String;
    let wanted: [(&Option<PathBuf>, Form); 3] =
        [(&arguments.html, report::html), (&arguments.md, report::markdown), (&arguments.csv, report::csv)];
    if wanted.iter().all(|(path, _)| path.is_none()) {
        return terminal(output, &run, &analysis);
    }
    for (path, form) in wanted {
        let Some(path) = path else { continue };
        let text = form(&run, &analysis);
        if path.as_os_str() == "-" {
            output.file(&text)?;
        } else {
            fs::write(path, text).map_err(|error| Failure::failed(format!("writing {}: {error}", path.display())))?;
            output.progress(&format!("wrote {}", path.display()));
        }
    }
    Ok(())
}

/// The report as text for the terminal.
pub(crate) fn terminal(output: &Output, run: &Run, analysis: &Analysis) -> Result<(), Failure> {
    output.painted(&report::text(run, analysis, report::Style { color: output.color(), width: output.width() }))
}

/// Writes `summary.csv`, `report.md` and `report.html` into the run's folder; returns the page's path.
pub(crate) fn write_files(folder: &Path, run: &Run, analysis: &Analysis) -> Result<PathBuf, Failure> {
    let page = folder.join("report.html");
    let files = [
        (folder.join("summary.csv"), report::csv(run, analysis)),
        (folder.join("report.md"), report::markdown(run, analysis)),
        (page.clone(), report::html(run, analysis)),
    ];
    for (path, text) in files {
        fs::write(&path, text)
            .map_err(|error| Failure::failed(format!("writing {}: {error}; `raidloom report` writes it again", path.display())))?;
    }
    Ok(page)
}
