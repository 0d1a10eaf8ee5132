//! `raidloom bench copy`: flags become the suite's settings.

use bench::suite::copy::SUITE;
use bench::suite::{Row, Value};

use super::arguments::CopyArguments;
use super::{Said, run, show};
use crate::failure::Failure;
use crate::output::Output;

/// Copies many files into a folder.
pub(crate) fn copy(output: &Output, arguments: &CopyArguments) -> Result<(), Failure> {
    let mut said = Said::new(&SUITE);
    said.set("bytes", Value::Bytes(output.size("--bytes", &arguments.bytes)?))?;
    said.set("files", Value::Count(arguments.files.unwrap_or(0)))?;
    said.set("max_folder_files", Value::Count(arguments.max_dir_files))?;
    said.set("depth", Value::Count(arguments.depth))?;
    said.set("fsync", Value::from(arguments.fsync.clone()))?;
    said.set("drop_caches", Value::Switch(arguments.drop_caches))?;
    said.set("access_times", Value::Switch(!arguments.no_access_times))?;
    said.set("direct", Value::Switch(arguments.direct))?;
    let finished = run::run(output, &SUITE, &said.settings, &arguments.target)?;
    let phases = (SUITE.phases)(&said.settings);
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
