//! `raidloom report history`: one figure over many runs, and where it changed.

use std::path::PathBuf;

use clap::Args;
use results::compare::RunDifference;
use results::history::{HistoryFilter, history};
use serde_json::json;

use crate::catalogue::{self, say, statement};
use crate::compare_command::{AllowedDifference, different};
use crate::failure::Failure;
use crate::output::{Output, table};

/// `history`.
#[derive(Args, Debug)]
pub(crate) struct HistoryArguments {
    /// A folder of runs, packed ones (.run.tar.gz) among them
    #[arg(default_value = ".")]
    pub folder: PathBuf,

    /// Which figure: throughput, io, latency_p99 or another metric of the runs [default: the one
    /// that each workload is judged by]
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,

    /// Only cells with this word in their configuration or workload (may be repeated)
    #[arg(long, value_name = "WORD")]
    pub only: Vec<String>,

    /// Take runs for one series although these differ between them (may be repeated)
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub allow: Vec<AllowedDifference>,

    /// Draw it (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Reads all runs of a folder and shows one figure of each cell.
pub(crate) fn show(output: &Output, arguments: &HistoryArguments) -> Result<(), Failure> {
    let mut folders = lab::watch::runs_in(&arguments.folder);
    folders.extend(lab::pack::packed_in(&arguments.folder));
    if folders.is_empty() {
        return Err(Failure::usage(catalogue::NO_RUN_IN_FOLDER).at(arguments.folder.display()));
    }
    let made_from: Vec<PathBuf> =
        folders.iter().flat_map(|folder| lab::pack::files_of(folder)).collect();
    if let Some(path) = arguments.svg.as_ref().filter(|path| path.as_os_str() != "-") {
        host::files::refuse_to_write(path, &made_from)?;
    }
    let mut runs = Vec::new();
    for folder in folders {
        let run = lab::read(lab::pack::open(&folder)?.folder())?;
        let analysis = results::analyse(&run);
        runs.push((lab::pack::name_of(&folder), run, analysis));
    }
    let count = runs.len();
    let wanted = HistoryFilter {
        metric: arguments.metric.clone(),
        words: arguments.only.clone(),
        allowed: arguments.allow.iter().map(|allowed| allowed.aspect()).collect(),
    };
    let series = history(&runs, &wanted);
    let apart: Vec<RunDifference> =
        series.iter().flat_map(|one| one.differing.iter().cloned()).collect();
    if !apart.is_empty() {
        output.note(&statement!(SERIES_APART, what = different(&apart)));
    }
    if series.is_empty() {
        let metrics: std::collections::BTreeSet<&str> = runs
            .iter()
            .flat_map(|(.., analysis)| &analysis.comparisons)
            .flat_map(|comparison| &comparison.cells)
            .flat_map(|cell| cell.metrics.iter().map(|metric| metric.name.as_str()))
            .collect();
        return Err(Failure::usage(statement!(
            NO_SUCH_CELL,
            count = count,
            names = metrics.into_iter().collect::<Vec<_>>().join(", ")
        )));
    }
    if output.json {
        return output.document(&json!({ "schema": "raidloom/history/1", "series": series }));
    }
    if let Some(path) = &arguments.svg {
        let picture = report::history_svg(&series);
        if path.as_os_str() == "-" {
            return output.file(&picture);
        }
        host::files::write_named(path, picture.as_bytes(), &made_from)?;
        output.progress(&say!(WROTE, path = path.display()));
        return Ok(());
    }
    let rows: Vec<Vec<String>> =
        series.iter().map(|one| report::history_row(one).to_vec()).collect();
    output.result(&table(&report::history_head(), &rows, &[3, 4, 5]))
}
