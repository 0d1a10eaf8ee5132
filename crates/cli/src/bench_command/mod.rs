//! `raidloom bench`: one suite on one target, as a run of one configuration.
//!
//! ```text
//!   flags, -s KEY=VALUE ──> a plan of one cell ──> the runner of plans ──> run folder, page
//!                                                                      └─> trials ──> show: the suite's own table, or JSON
//! ```

mod crystal;
mod examples;
mod import;
mod rows;
mod show;

use std::path::{Path, PathBuf};

use bench::suite::crystal::{Job, options};
use bench::suite::{self, Suite, TargetKind, explain};
use block::Clock;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Subcommand};
use lab::plan::OneCell;
use lab::{RunEnd, RunOptions};
use serde_json::json;

use crate::catalogue::{self, say, statement};
use crate::consent::Consent;
use crate::failure::Failure;
use crate::output::{Output, table};
use crate::{report_command, run};

/// `bench`.
#[derive(Args, Debug)]
pub(crate) struct BenchArguments {
    /// What is asked of the suites, where nothing is measured
    #[command(subcommand)]
    pub verb: Option<BenchVerb>,

    /// What to measure
    #[arg(value_parser = suites(), required_unless_present = "import", requires = "target")]
    pub suite: Option<&'static Suite>,

    /// A folder, a stack text, an image file or a block device (`bench explain SUITE` says which)
    pub target: Option<String>,

    /// A key of the suite or of the configuration, as in a plan: depth=4, processors=2 (may be
    /// repeated; `bench explain SUITE` lists them)
    #[arg(short, long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Make this file system on the target and work in it
    #[arg(long, value_name = "NAME")]
    pub fs: Option<String>,

    /// For mount -o
    #[arg(long, value_name = "OPTIONS", requires = "fs")]
    pub mount_options: Option<String>,

    /// In a Linux of its own whose disk the target is, a stack of model: leaves, in modelled time
    #[arg(long)]
    pub guest: bool,

    /// The memory that the work may have, page cache included: a cgroup's, or the guest's
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,

    /// The suite's size; a file that is not there is made of it, and removed afterwards
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,

    /// The suite's time of a row
    #[arg(long, value_name = "DURATION")]
    pub time: Option<String>,

    /// How often every row is measured [default: as the suite has it]
    #[arg(short = 'x', long, value_name = "N",
        value_parser = crate::bounds::within::<u32>(1..=1000))]
    pub runs: Option<u32>,

    /// Everything random comes from this number
    #[arg(short = 'z', long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    /// Nothing is opened for writing
    #[arg(long)]
    pub read_only: bool,

    /// Read a result file of another tool instead (may be repeated)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["suite", "set", "fs", "mount_options",
        "guest", "memory", "size", "time", "runs", "seed", "read_only", "erase", "erase_signature",
        "allow_device"])]
    pub import: Vec<PathBuf>,

    /// The run's folder [default: raidloom-runs/TIME-SUITE-on-TARGET; of what was read: none]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

/// The suites that measure a target, by name. Power cuts are a verb of their own.
fn suites() -> impl TypedValueParser<Value = &'static Suite> {
    let known = suite::all().into_iter().filter(|suite| suite.name != suite::pull::NAME);
    PossibleValuesParser::new(known.map(|suite| PossibleValue::new(suite.name).help(suite.summary)))
        .try_map(|name| suite::find(&name).ok_or(words::Text::from(catalogue::NO_SUCH_SUITE)))
}

/// What is asked of suites.
#[derive(Subcommand, Debug)]
pub(crate) enum BenchVerb {
    /// List the suites, or explain one phase by phase: what its keys mean, and how it is called
    #[command(after_long_help = "\
Examples:
  raidloom bench explain
  raidloom bench explain bonnie
  raidloom bench explain bonnie --json
  raidloom bench explain crystal -s profile=8-nvme --fio /mnt/disk")]
    Explain(ExplainArguments),
}

/// `bench explain`.
#[derive(Args, Debug)]
pub(crate) struct ExplainArguments {
    /// Which suite [default: lists them, and what each measures]
    pub suite: Option<String>,

    /// Print the commands with which fio would run crystal's rows on this folder, file or device
    #[arg(long, value_name = "TARGET", requires = "suite")]
    pub fio: Option<PathBuf>,

    /// A key of the suite for these commands (may be repeated)
    #[arg(short, long = "set", value_name = "KEY=VALUE", requires = "fio")]
    pub set: Vec<String>,
}

/// Runs `bench`.
pub(crate) fn bench(output: &Output, arguments: BenchArguments) -> Result<(), Failure> {
    match (&arguments.verb, arguments.suite) {
        (Some(BenchVerb::Explain(arguments)), _) => explain(output, arguments),
        (None, Some(suite)) => measure(output, suite, arguments),
        (None, None) => import::import(output, &arguments.import, arguments.output.as_ref()),
    }
}

/// Runs one suite on one target, and shows what was measured, also when it did not come to its end.
fn measure(
    output: &Output,
    suite: &'static Suite,
    arguments: BenchArguments,
) -> Result<(), Failure> {
    let BenchArguments { target, set, fs, mount_options, guest, memory, .. } = arguments;
    let BenchArguments { size, time, runs, seed, read_only, .. } = arguments;
    let target = target.ok_or_else(|| Failure::usage(format!("bench {} TARGET", suite.name)))?;
    let cell = OneCell {
        suite,
        target,
        guest,
        file_system: fs,
        mount_options,
        memory,
        size,
        time,
        runs,
        seed,
        read_only,
        settings: set,
    };
    let memory = cell.memory.as_ref().filter(|_| !guest);
    let memory = memory.map(|text| output.size("--memory", text)).transpose()?;
    let folder = arguments.output;
    let options = RunOptions { memory_bytes: memory, ..run::options(folder, arguments.consent)? };
    let outcome = run::one_plan(output, &cell.resolve()?, &options, None)?;
    let ended = outcome.ended;
    let report = run::Report::of(outcome.folder, outcome.run)?;
    let rows = rows::Rows::of(&report.run)?;
    if output.json {
        let mut document = rows.document();
        document["run"] = json!(report.folder);
        document["report"] = json!(report.page);
        document["memory_limit_bytes"] = json!(memory);
        output.document(&document)?;
    } else {
        if rows.run.plan.configurations[0].modelled {
            output.note(&say!(FIGURES_MODELLED));
        }
        rows.left_out().iter().for_each(|line| output.note(line));
        output.result(&rows.text())?;
        output.result(&say!(RUN_REPORT, path = report.page.display()))?;
    }
    if ended == RunEnd::Interrupted {
        let command = format!("\n  raidloom run --resume {}", report.folder.display());
        return Err(Failure::interrupted(statement!(BENCH_INTERRUPTED).and(command)));
    }
    report_command::has_result(&report.run, &report.analysis)
}

/// Lists the suites.
fn list(output: &Output) -> Result<(), Failure> {
    let suites = suite::all();
    if output.json {
        let documents: Vec<_> = suites.iter().map(|suite| document(suite)).collect();
        return output.document(&documents);
    }
    let kind = |kind: &TargetKind| match *kind {
        TargetKind::Folder => say!(SUITE_FOLDER),
        _ => say!(SUITE_DEVICE),
    };
    let targets = |suite: &Suite| suite.targets.iter().map(kind).collect::<Vec<_>>().join(", ");
    let rows: Vec<Vec<String>> = suites
        .iter()
        .map(|suite| {
            vec![
                suite.name.to_owned(),
                targets(suite).to_string(),
                suite::japanese::summary(suite).to_owned(),
            ]
        })
        .collect();
    let head = [say!(SUITE_HEAD), say!(RUNS_ON_HEAD), say!(MEASURES_HEAD)];
    let text = table(&head.each_ref().map(String::as_str), &rows, &[]);
    output.result(&format!("{text}\n{}\n", say!(EXPLAINS_PHASES)))
}

/// Says phase by phase what a suite does, or how fio would do it.
fn explain(output: &Output, arguments: &ExplainArguments) -> Result<(), Failure> {
    let Some(name) = &arguments.suite else { return list(output) };
    let Some(suite) = suite::find(name) else {
        let names: Vec<&str> = suite::all().iter().map(|suite| suite.name).collect();
        let names = names.join(", ");
        return Err(Failure::usage(statement!(NO_SUITE, name = name, names = names)));
    };
    if let Some(target) = &arguments.fio {
        return fio(output, suite, target, &arguments.set);
    }
    if output.json {
        return output.document(&document(suite));
    }
    let keys: Vec<&str> = lab::plan::configuration_keys().collect();
    let keys = say!(CONFIGURATION_KEYS, keys = keys.join(", "));
    let keys = escape::wrapped(&keys, output.width()).join("\n");
    let examples = examples::EXAMPLES.iter().find(|(name, ..)| *name == suite.name);
    let examples = examples.map_or_else(String::new, |(_, commands, note)| {
        format!("\n{}\n{commands}\n\n{}\n", say!(EXAMPLES), note.template())
    });
    output.result(&format!("{}\n{keys}\n{examples}", explain::text(suite, output.width())))
}

/// The commands with which fio would run the rows of crystal.
fn fio(output: &Output, suite: &Suite, target: &Path, said: &[String]) -> Result<(), Failure> {
    if suite.name != suite::crystal::NAME {
        return Err(Failure::usage(statement!(NO_FIO_ROWS, name = suite.name)));
    }
    let settings = lab::plan::suite_with(suite, said)?;
    let options = options(&settings).map_err(Failure::usage)?;
    let is_folder = target.is_dir();
    if !target.exists() {
        return Err(Failure::usage(catalogue::NO_FIO_TARGET).at(target.display()));
    }
    let path = if is_folder { target.join("crystal.dat") } else { target.to_owned() };
    let ways: &[bool] = match (is_folder, settings.text("access")) {
        (false, _) | (_, "direct") => &[true],
        (_, "buffered") => &[false],
        _ => &[true, false],
    };
    let mut jobs: Vec<Job> = if is_folder { vec![Job::fill(&options, &path)] } else { Vec::new() };
    for row in options.rows() {
        jobs.extend(ways.iter().map(|direct| Job::new(&row, &options, &path, *direct)));
    }
    if output.json {
        let job = |job: &Job| json!({ "name": job.name, "arguments": job.arguments() });
        return output.document(&jobs.iter().map(job).collect::<Vec<_>>());
    }
    output.result(&jobs.iter().map(|job| job.command() + "\n").collect::<String>())
}

fn document(suite: &Suite) -> serde_json::Value {
    let phases: Vec<_> = suite
        .default_phases()
        .iter()
        .map(|phase| {
            json!({ "phase": phase.name, "what": phase.what.english(), "metric": phase.metric,
            "group": phase.group, "writes": phase.writes })
        })
        .collect();
    let settings: Vec<_> = suite
        .settings
        .iter()
        .map(|setting| {
            json!({
                "name": setting.name,
                "takes": setting.kind.text().english(),
                "default": setting.default_words().english(),
                "defaults": {
                    "wall": setting.default_in_plans(Clock::Wall).to_string(),
                    "virtual": setting.default_in_plans(Clock::Virtual).to_string(),
                },
                "differs_by_group": setting.by_group,
                "what": setting.what,
            })
        })
        .collect();
    json!({ "suite": suite.name, "summary": suite.summary, "about": suite.about,
        "runs_on": explain::targets(suite).english(), "phases": phases, "settings": settings })
}

/// What to say instead of a flag that a suite does not have, if that is what is wrong: settings are
/// said with -s.
pub(crate) fn instead_of(
    error: &clap::Error,
    mut words: impl Iterator<Item = String>,
) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    words.find(|word| word == "bench")?;
    let suite = words.find_map(|word| suite::find(&word))?;
    let key = flag.trim_start_matches('-').replace('-', "_");
    let form = match lab::plan::is_key(suite, &key) {
        true => say!(SAY_AS_KEY, key = key),
        false => say!(KEYS_ARE_SAID),
    };
    Some(say!(NO_SUCH_BENCH_FLAG, flag = flag, suite = suite.name, form = form))
}
