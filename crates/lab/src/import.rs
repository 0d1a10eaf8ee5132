//! Results of other tools as a run of ours, so that old figures sit beside new ones in one report.
//!
//! ```text
//! old.txt, new.json, … ──> bench::format::import ──> one configuration for each result in it
//!                                                        (axis `source`), its rows as workloads and trials
//!                                                    ──> the folder of a run: report and compare read it like any other
//! ```
//!
//! Nothing is known of the order in which such figures were taken, so every trial is flagged: they
//! were not interleaved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bench::format::{self, ImportedResult, ImportedRow};
use results::{
    Axis, Clock, Configuration, Doubt, Fact, Host, Plan, Run, Trial, WorkTarget, Workload, cell_id,
    configuration_id,
};

use crate::catalogue;
use host::{Error, facts};
use words::Text;

/// The axis that tells the files apart.
pub(crate) const SOURCE: &str = "source";
/// Differences within it are called the same.
const MARGIN: f64 = 0.02;

/// A configuration of a result file that was read.
#[derive(Clone, Debug)]
pub struct ImportedFile {
    /// What it is called in the report: the file's name without its ending, with its part of the
    /// file where that has several, made unique.
    pub label: String,
    /// Where it lies.
    pub path: PathBuf,
    /// What is in it.
    pub imported: ImportedResult,
}

/// Reads result files.
///
/// # Errors
/// A usage error with the file's name: it cannot be read, is in no format that is known, or is
/// damaged.
pub fn read_files(paths: &[PathBuf]) -> Result<Vec<ImportedFile>, Error> {
    let mut files: Vec<ImportedFile> = Vec::new();
    for path in paths {
        let bytes = host::files::read_named(path).map_err(|error| {
            Error::from_io(catalogue::READING_RESULTS, &error).at(path.display()).as_usage()
        })?;
        let imported = format::import(&format::decoded(&bytes));
        let imported = imported.map_err(|text| Error::usage(text).at(path.display()))?;
        let stem = path
            .file_stem()
            .map_or_else(|| "-".to_owned(), |stem| stem.to_string_lossy().into_owned());
        for imported in imported {
            let name = imported
                .part
                .as_ref()
                .map_or_else(|| stem.clone(), |part| format!("{stem}: {part}"));
            let same = files
                .iter()
                .filter(|file| file.label == name || file.label.starts_with(&format!("{name} #")))
                .count();
            let label = if same == 0 { name } else { format!("{name} #{}", same + 1) };
            files.push(ImportedFile { label, path: path.clone(), imported });
        }
    }
    Ok(files)
}

/// The workload that a row of a file is one of.
fn workload_of(imported: &ImportedResult, row: &ImportedRow, name: &str) -> Workload {
    let direct = |row: &String| format!("{}: {row}", imported.suite);
    Workload {
        name: name.to_owned(),
        suite: imported.suite.clone(),
        group: row.group,
        metric: row.metric.clone().into_owned(),
        better: row.better,
        weight: 1.0,
        judge: results::Judge::default(),
        buffered_of: row.buffered_of.as_ref().map(direct),
    }
}

/// The files as one run; the first of each clock is the baseline of the others.
#[must_use]
pub fn run_of(files: &[ImportedFile]) -> Run {
    let (workloads, trials) = rows_of(files);
    let plan = Plan {
        schema: 1,
        name: "imported".to_owned(),
        seed: 0,
        blocks: trials.iter().map(|trial| trial.block + 1).max().unwrap_or(1),
        margin: MARGIN,
        axes: vec![Axis {
            name: SOURCE.to_owned(),
            values: files.iter().map(|file| file.label.clone()).collect(),
        }],
        configurations: files.iter().map(|file| configuration_of(file, files)).collect(),
        workloads,
        suite_settings: BTreeMap::new(),
        terms: results::Terms::default(),
        schedule: results::Schedule::default(),
    };
    let notes = files
        .iter()
        .flat_map(|file| file.imported.notes.iter().map(|note| Text::from(note).at(&file.label)))
        .collect();
    Run { plan, host: host_of(files), trials, notes, steps: Vec::new() }
}

fn settings_of(file: &ImportedFile) -> BTreeMap<String, String> {
    BTreeMap::from([(SOURCE.to_owned(), file.label.clone())])
}

/// A file as a configuration, compared with the first of its clock.
fn configuration_of(file: &ImportedFile, files: &[ImportedFile]) -> Configuration {
    let clock = file.imported.clock;
    let baseline = files.iter().find(|file| file.imported.clock == clock);
    Configuration {
        id: configuration_id(&settings_of(file)),
        settings: settings_of(file),
        stack: described(file),
        clock,
        ground: WorkTarget::Device,
        modelled: clock == Clock::Virtual,
        caches: Vec::new(),
        quick_removal: false,
        baseline: baseline.map(|file| configuration_id(&settings_of(file))).unwrap_or_default(),
        model_errors: None,
        model_error: None,
        model_cases: 0,
        survives: None,
        usable: None,
    }
}

/// The rows of all files: what they measure, and a trial each.
fn rows_of(files: &[ImportedFile]) -> (Vec<Workload>, Vec<Trial>) {
    let (mut workloads, mut trials) = (Vec::<Workload>::new(), Vec::new());
    for file in files {
        for row in &file.imported.rows {
            let name = format!("{}: {}", file.imported.suite, row.phase);
            if !workloads.iter().any(|known| known.name == name) {
                workloads.push(workload_of(&file.imported, row, &name));
            }
            trials.push(Trial {
                cell: cell_id(&settings_of(file), &name),
                settings: settings_of(file).into(),
                workload: name,
                block: row.run.saturating_sub(1),
                order: u32::try_from(trials.len()).unwrap_or(u32::MAX),
                clock: file.imported.clock,
                metrics: row.metrics.clone().into(),
                members: Vec::new(),
                flags: [&[Doubt::Imported], &row.findings[..]].concat(),
            });
        }
    }
    (workloads, trials)
}

/// What the files tell of the machines and programs that they come from.
fn host_of(files: &[ImportedFile]) -> Host {
    let facts = files.iter().flat_map(|file| {
        let own = [("tool".to_owned(), file.imported.tool.clone())];
        let all = own.into_iter().chain(file.imported.facts.iter().cloned());
        all.map(|(name, value)| Fact {
            name: format!("{}: {name}", file.label),
            value,
            must_match: false,
        })
    });
    Host {
        schema: 1,
        started: facts::now(),
        facts: facts.collect(),
        one_disk: Vec::new(),
        shared_disks: Vec::new(),
        machines: BTreeMap::new(),
    }
}

/// What stands in the place of the stack: where the figures come from.
fn described(file: &ImportedFile) -> String {
    format!("{} ({})", file.imported.tool, file.path.display())
}

/// Writes a run into a folder that is empty or not there.
///
/// # Errors
/// A usage error when the folder holds something; what failed otherwise.
pub fn write(folder: &Path, run: &Run) -> Result<PathBuf, Error> {
    crate::run::write(folder, b"# imported: there is no plan file\n", run)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "CrystalDiskMark 8.0.4 x64 (C) 2007\n[Read]\n  SEQ    1MiB (Q=  8, T= 1):   \
        194.805 MB/s [    185.8 IOPS] < 42830.02 us>\n  \
                       RND    4KiB (Q=  1, T= 1):     0.561 MB/s [    137.0 IOPS] <  7284.09 us>\n";

    fn files(folder: &Path) -> Vec<PathBuf> {
        let fio = r#"{"fio version":"fio-3.33","jobs":[{"jobname":"s","groupid":0,"error":0,
            "job options":{"rw":"read","bs":"1m","iodepth":"8","direct":"1"},
            "read":{"total_ios":100,"bw_bytes":389610000,"iops":371.6,"lat_ns":{"mean":2e7,"max":3e7}},"write":{"total_ios":0}}]}"#;
        let wide: Vec<u8> =
            [0xff, 0xfe].into_iter().chain(OLD.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        let paths = [
            ("old.txt", OLD.as_bytes().to_vec()),
            ("new.json", fio.as_bytes().to_vec()),
            ("old.log", wide),
        ];
        paths
            .map(|(name, bytes)| {
                let path = folder.join(name);
                std::fs::write(&path, bytes).unwrap();
                path
            })
            .to_vec()
    }

    /// What the audit of whoever measured found goes with the figures.
    #[test]
    fn findings_come_with_the_figures() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ours.txt");
        let text = format!("{OLD}  Audit: read-from-cache: RND4K Q1T1 read\n");
        std::fs::write(&path, text).unwrap();
        let run = run_of(&read_files(&[path]).unwrap());
        let flags: Vec<_> = run.trials.iter().map(|trial| &trial.flags[..]).collect();
        let cached = Doubt::ReadFromCache { share: None };
        assert_eq!(flags, [&[Doubt::Imported][..], &[Doubt::Imported, cached]]);
    }

    /// The same workload of two tools is one workload, and the ratio is that of the figures.
    #[test]
    fn files_of_several_tools_become_one_run_that_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let run = run_of(&read_files(&files(folder.path())).unwrap());
        let labels: Vec<_> = run.plan.axes[0].values.iter().map(String::as_str).collect();
        assert_eq!(labels, ["old", "new", "old #2"]);
        let names: Vec<_> =
            run.plan.workloads.iter().map(|workload| workload.name.as_str()).collect();
        assert_eq!(names, ["crystal: SEQ1M Q8T1 read", "crystal: RND4K Q1T1 read"]);
        let written = write(&folder.path().join("run"), &run).unwrap();
        let back = crate::read(&written).unwrap();
        assert_eq!((&back.plan, &back.trials, &back.host), (&run.plan, &run.trials, &run.host));
        assert_eq!(back.notes.len(), run.notes.len());

        let analysis = results::analyse(&back);
        let ratio = |source: &str| {
            let id = configuration_id(&BTreeMap::from([(SOURCE.to_owned(), source.to_owned())]));
            let cell = analysis.comparisons[0].cell(&id, names[0]).unwrap();
            cell.metrics[0].versus_baseline.as_ref().unwrap().ratio
        };
        assert!((ratio("new") - 2.0).abs() < 1e-9 && (ratio("old #2") - 1.0).abs() < 1e-9);

        let error = write(&written, &run).unwrap_err();
        assert!(
            error.exit_code() == 2 && error.to_string().contains("holds a run already"),
            "{error}"
        );
    }

    /// Several machines in one bonnie++ CSV are several configurations, one name each; lines of one
    /// machine are repeats when they were measured alike, and not when the size differs.
    #[test]
    fn machines_of_one_csv_are_kept_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.csv");
        let line = |machine: &str, size: &str, rate: u32| {
            format!(
                "{machine},{size},1,2,{rate},4,5,6,7,8,9,10,11,12,16,1,2,3,4,5,6,7,8,9,10,11,12\n"
            )
        };
        let alike = [
            line("old", "4G", 1000),
            line("new", "4G", 2000),
            line("old", "4G", 1002),
            line("third", "4G", 3000),
        ];
        std::fs::write(&path, alike.concat()).unwrap();
        let run = run_of(&read_files(std::slice::from_ref(&path)).unwrap());
        assert_eq!(run.plan.axes[0].values, ["all: old", "all: new", "all: third"]);
        assert_eq!(
            (run.plan.configurations.len(), run.plan.blocks),
            (3, 2),
            "only `old` was measured twice"
        );
        let written = |source: &str| -> Vec<f64> {
            let of = run.trials.iter().filter(|trial| {
                trial.settings[SOURCE] == source && trial.workload == "bonnie: block write"
            });
            of.map(|trial| trial.metrics["throughput_bytes_per_second"] / 1024.0).collect()
        };
        assert_eq!(
            (written("all: old"), written("all: new")),
            (vec![1000.0, 1002.0], vec![2000.0])
        );

        // What bonnie++ wrote of them is in the file, and its settings are not known here.
        let refused = crate::originals::bonnie_csv(&run).unwrap_err();
        assert!(refused.exit_code() == 2 && refused.to_string().contains("imported"), "{refused}");

        std::fs::write(
            &path,
            [line("a", "4G", 1), line("a", "8G", 2), line("b", "4G", 3)].concat(),
        )
        .unwrap();
        let labels: Vec<String> =
            read_files(&[path]).unwrap().into_iter().map(|file| file.label).collect();
        assert_eq!(labels, ["all: a, size 4G", "all: a, size 8G", "all: b"]);
    }

    #[test]
    fn a_file_that_is_none_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "hello").unwrap();
        let error = read_files(std::slice::from_ref(&path)).unwrap_err();
        assert!(
            error.exit_code() == 2 && error.to_string().contains("notes.txt: none of the formats"),
            "{error}"
        );
        let error = read_files(&[folder.path().join("gone")]).unwrap_err();
        assert!(error.to_string().contains("gone: reading it"), "{error}");
    }
}
