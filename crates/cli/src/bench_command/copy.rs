//! `raidloom bench copy`: flags become the suite's settings.

use bench::suite::copy::SUITE;
use bench::suite::{Row, Value};

use super::arguments::CopyArguments;
use super::flags::Said;
use super::{run, show};
use crate::failure::Failure;
use crate::output::Output;

/// Copies many files into a folder.
pub(crate) fn copy(output: &Output, arguments: &CopyArguments) -> Result<(), Failure> {
    let mut said = Said::new(output, &arguments.flags)?;
    if arguments.no_access_times {
        said.set("access_times", Value::Switch(false))?;
    }
    let finished = run::run(output, &said, &arguments.target)?;
    let phases = (SUITE.phases)(&finished.settings);
    let text = |rows: &[Row]| {
        let times: Vec<String> = rows
            .iter()
            .filter_map(|row| row.measured().map(|measured| (row, measured)))
            .map(|(row, measured)| {
                let files = measured.done.operations;
                format!(
                    "{}: {files} files in {:.2} s, durable after {:.2} s",
                    row.phase,
                    measured.done.elapsed.as_secs_f64(),
                    measured.done.durable_elapsed().as_secs_f64()
                )
            })
            .collect();
        format!(
            "{}\n{}\n{}",
            show::rows_table(rows, &phases),
            times.join("\n"),
            show::flag_words(rows)
        )
    };
    show::finish(output, finished, text)
}
