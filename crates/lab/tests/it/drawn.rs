//! Modelled runs whose blocks have parameters of their own, drawn from their intervals.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::sync::atomic::AtomicBool;

use lab::{NoObserver, RunEnd, RunOptions};
use results::Run;

/// Striped random writes of a drive whose write window and settling are known as intervals.
const PLAN: &str = r#"schema = 1
name = "drawn"
[members.maxtor]
models = ["maxtor-6y200p0", "maxtor-6y200p0"]
[matrix]
level = ["single", "raid0"]
chunk = ["64KiB"]
[baseline]
level = "single"
[[workload]]
suite = "devtest"
tests = ["random write 65536"]
time_per_test = "10s"
"#;

fn run_of(trials: &str) -> Result<(Run, String), host::Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    fs::write(&path, format!("{PLAN}[trials]\n{trials}\n")).unwrap();
    let resolved = lab::plan::load(&path, &[])?;
    let run = folder.path().join("run");
    let options = RunOptions { output: Some(run.clone()), ..RunOptions::default() };
    let outcome =
        lab::start(&resolved, &options, &AtomicBool::new(false), &mut NoObserver).unwrap();
    assert_eq!(outcome.ended, RunEnd::Complete);
    Ok((outcome.run, fs::read_to_string(run.join("notes.txt")).unwrap_or_default()))
}

/// Width of the interval of the one claim of a row, in logarithms.
fn width(run: &Run) -> f64 {
    let analysis = results::analyse(run);
    let claims =
        analysis.comparisons.iter().flat_map(|one| &one.cells).flat_map(|one| &one.metrics);
    let claim = claims
        .filter_map(|metric| metric.versus_baseline.as_ref())
        .find(|claim| claim.metric == "durable_io_per_second")
        .unwrap();
    let interval = claim.interval.unwrap();
    // What the class of such predictions was off by is in both.
    (interval.high / interval.low).ln()
}

/// "Parameters' own uncertainty is drawn (20 sets from the fit's intervals) and added."
#[test]
fn drawn_parameters_widen_what_is_claimed() {
    let (fitted, notes) = run_of("blocks = 20").unwrap();
    assert!(!notes.contains("drawn"), "{notes}");
    let (drawn, notes) = run_of("parameters = \"drawn\"").unwrap();
    assert!(drawn.plan.blocks == 20 && drawn.plan.schedule.drawn_parameters);
    assert!(notes.contains("drawn from their intervals"), "{notes}");
    let rates = |run: &Run| {
        let rate = |trial: &results::Trial| trial.metrics["durable_io_per_second"];
        let single = run.plan.configurations.iter().find(|one| one.settings["level"] == "single");
        let cell = results::cell_id(&single.unwrap().settings, &run.plan.workloads[0].name);
        run.trials.iter().filter(|trial| trial.cell == cell).map(rate).collect::<Vec<f64>>()
    };
    assert_eq!((rates(&drawn).len(), rates(&fitted).len()), (20, 20));
    assert_ne!(rates(&drawn), rates(&fitted));
    assert!(width(&drawn) > width(&fitted), "{} {}", width(&drawn), width(&fitted));
    // The same sets again.
    let (again, _) = run_of("parameters = \"drawn\"").unwrap();
    assert_eq!(rates(&again), rates(&drawn));
}

#[test]
fn parameters_are_drawn_of_models_alone_and_often_enough() {
    let refused = |trials: &str| run_of(trials).err().map(|error| error.to_string());
    let error = refused("parameters = \"drawn\"\nblocks = 9").unwrap();
    assert!(error.contains("at least 10 blocks"), "{error}");
    let error = refused("parameters = \"guessed\"").unwrap();
    assert!(error.contains("expected fitted or drawn"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let models = "models = [\"maxtor-6y200p0\", \"maxtor-6y200p0\"]";
    let measured = PLAN.replace(models, "stacks = [\"ram:1MiB\", \"ram:1MiB\"]");
    fs::write(&path, format!("{measured}[trials]\nparameters = \"drawn\"\n")).unwrap();
    let error = lab::plan::load(&path, &[]).unwrap_err().to_string();
    assert!(error.contains("parameters are drawn of modelled drives"), "{error}");
}
