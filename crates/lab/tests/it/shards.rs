//! Runs in parts, joined again. "A modelled plan gives byte-equal trials on 1, 2 and 64
//! shards."

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::{NoObserver, Observer, Outcome, Progress, RunEnd, RunOptions, Shard, merge};
use results::{Plan, Trial};

const MODELLED: &str = r#"schema = 1
name = "parts"
[members.maxtor]
models = ["maxtor-6y200p0", "maxtor-6y200p0"]
[matrix]
level = "raid0"
chunk = ["4KiB", "16KiB", "64KiB", "256KiB"]
[[add]]
level = "single"
[baseline]
level = "single"
[[workload]]
suite = "devtest"
tests = ["sequential read at start 65536", "random write 16384", "mixed 50:50"]
time_per_test = "10s"
max_operations = 40
[trials]
blocks = 4
"#;

const MEASURED: &str = r#"schema = 1
name = "parts"
[members.memory]
stacks = ["ram:1MiB", "ram:1MiB"]
[matrix]
level = "raid0"
chunk = ["4KiB", "64KiB"]
[[add]]
level = "single"
[baseline]
level = "single"
[[workload]]
suite = "devtest"
tests = ["random read 16384", "random write 16384"]
time_per_test = "10s"
max_operations = 8
[trials]
blocks = 3
"#;

struct ShardFolder(tempfile::TempDir);

impl ShardFolder {
    fn new() -> ShardFolder {
        ShardFolder(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, plan: &str, shard: Option<&str>, name: &str) -> Result<Outcome, host::Error> {
        self.run_until(plan, shard, name, &mut NoObserver, &AtomicBool::new(false))
    }

    fn run_until(
        &self,
        plan: &str,
        shard: Option<&str>,
        name: &str,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Outcome, host::Error> {
        let resolved = lab::plan::resolve("plan.toml", plan, &[])?;
        let shard = shard.map(|text| text.parse::<Shard>().unwrap());
        let options = RunOptions { output: Some(self.at(name)), shard, ..RunOptions::default() };
        lab::start(&resolved, &options, stop, observer)
    }

    /// All shards of a run, by themselves.
    fn shards(&self, plan: &str, count: u32) -> Vec<PathBuf> {
        let of_number = |number| {
            let name = format!("{number} of {count}");
            let ended = self.run(plan, Some(&format!("{number}/{count}")), &name).unwrap();
            assert_eq!(ended.ended, RunEnd::Complete);
            self.at(&name)
        };
        (1..=count).map(of_number).collect()
    }

    fn file(&self, run: &str, name: &str) -> Vec<u8> {
        fs::read(self.at(run).join(name)).unwrap()
    }

    fn refused(&self, shards: &[PathBuf]) -> String {
        let output = self.at("refused");
        let error = merge(shards, &output).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
        assert!(!output.exists() && error.to_string().lines().count() == 1, "{error}");
        error.to_string()
    }
}

#[test]
fn modelled_shards_joined_are_the_run_of_one_machine_to_the_byte() {
    let place = ShardFolder::new();
    place.run(MODELLED, None, "whole").unwrap();
    for count in [1, 2, 64] {
        let mut shards = place.shards(MODELLED, count);
        shards.reverse();
        let joined = format!("joined {count}");
        let merged = merge(&shards, &place.at(&joined)).unwrap();
        assert_eq!((merged.run.trials.len(), merged.machines), (60, 1));
        assert_eq!(merged.run.notes, []);
        for name in ["trials.jsonl", "plan.toml", "plan.resolved.json"] {
            assert!(place.file("whole", name) == place.file(&joined, name), "{count} {name}");
        }
    }
}

/// "Whole blocks, each node with members of its own": a block is never torn.
#[test]
fn measured_blocks_stay_together() {
    let place = ShardFolder::new();
    let shards = place.shards(MEASURED, 2);
    let blocks = |name: &PathBuf| -> Vec<u32> {
        let mut blocks: Vec<u32> =
            lab::read(name).unwrap().trials.iter().map(|trial| trial.block).collect();
        blocks.dedup();
        blocks
    };
    assert_eq!((blocks(&shards[0]), blocks(&shards[1])), (vec![0, 2], vec![1]));
    // As if the other had been measured elsewhere.
    let mut part: serde_json::Value =
        serde_json::from_slice(&place.file("2 of 2", "shard.json")).unwrap();
    part["machine"] = "another".into();
    fs::write(shards[1].join("shard.json"), part.to_string()).unwrap();
    let merged = merge(&shards, &place.at("joined")).unwrap();
    assert_eq!((merged.run.trials.len(), merged.machines), (18, 2));
    let note = "measured on 2 machines, each block on one of them, so that what is compared was \
        measured on the same machine; what is claimed holds for these machines only";
    assert!(
        merged.run.notes.iter().any(|one| one.english().ends_with(note)),
        "{:?}",
        merged.run.notes
    );
}

/// "For measured plans the host is the outer level […] claims say over how many hosts they hold,
/// and with fewer than four hosts say that they hold for these hosts only."
#[test]
fn what_is_claimed_of_four_machines_and_more_is_drawn_over_them() {
    let place = ShardFolder::new();
    let plan = MEASURED.replace("blocks = 3", "blocks = 9");
    let shards = place.shards(&plan, 5);
    let on_machines = |names: [&str; 5], output: &str| {
        for (shard, name) in shards.iter().zip(names) {
            let text = fs::read(shard.join("shard.json")).unwrap();
            let mut part: serde_json::Value = serde_json::from_slice(&text).unwrap();
            part["machine"] = name.into();
            fs::write(shard.join("shard.json"), part.to_string()).unwrap();
        }
        merge(&shards, &place.at(output)).unwrap()
    };
    // The fourth machine has measured two of the parts.
    let merged = on_machines(["a", "b", "c", "d", "d"], "four");
    let of_block = |block| merged.run.host.machines[&block];
    assert_eq!([0, 1, 2, 3, 4, 5].map(of_block), [0, 1, 2, 3, 3, 0]);
    let note = "each machine has one say, the mean of its blocks, so what is claimed is drawn over \
        4 machines";
    assert!(
        merged.run.notes.iter().any(|one| one.english().ends_with(note)),
        "{:?}",
        merged.run.notes
    );
    let pairs = |run: &results::Run| -> Vec<usize> {
        let analysis = results::analyse(run);
        let cells = analysis.comparisons.iter().flat_map(|one| &one.cells);
        let claims = cells.filter_map(|cell| cell.metrics[0].versus_baseline.as_ref());
        claims.map(|claim| claim.pairs + claim.silent).collect()
    };
    assert_eq!(results::analyse(&merged.run).machines, Some(4));
    let over_machines = pairs(&merged.run);
    assert!(!over_machines.is_empty() && over_machines.iter().all(|pairs| *pairs <= 4));
    // Of three it is said that they alone are meant, and each block counts.
    let merged = on_machines(["a", "b", "c", "c", "c"], "three");
    let note = "what is claimed holds for these machines only";
    assert!(
        merged.run.notes.iter().any(|one| one.english().ends_with(note)),
        "{:?}",
        merged.run.notes
    );
    assert!(pairs(&merged.run).iter().all(|pairs| *pairs == 9));
}

/// Stops a run after some trials.
struct Stopping<'a>(usize, &'a AtomicBool);

impl Observer for Stopping<'_> {
    fn trial_recorded(&mut self, _: &Plan, _: &Progress<'_>, _: &Trial) {
        self.0 -= 1;
        if self.0 == 0 {
            self.1.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_shard_that_was_stopped_goes_on_and_is_not_joined_before() {
    let place = ShardFolder::new();
    place.run(MODELLED, None, "whole").unwrap();
    let stop = AtomicBool::new(false);
    let stopped =
        place.run_until(MODELLED, Some("1/3"), "1 of 3", &mut Stopping(4, &stop), &stop).unwrap();
    assert_eq!(stopped.ended, RunEnd::Interrupted);
    let mut shards = vec![place.at("1 of 3")];
    for number in [2, 3] {
        place.run(MODELLED, Some(&format!("{number}/3")), &format!("{number} of 3")).unwrap();
        shards.push(place.at(&format!("{number} of 3")));
    }
    let said = place.refused(&shards);
    assert!(said.contains("shard 1/3 has") && said.contains("raidloom run --resume"), "{said}");
    let stage = || lab::watch::look(&shards[0]).unwrap().stage;
    assert_eq!(stage(), lab::watch::Stage::Interrupted);
    let resumed =
        lab::resume(&shards[0], &RunOptions::default(), &AtomicBool::new(false), &mut NoObserver);
    assert_eq!(resumed.unwrap().shard, Some("1/3".parse().unwrap()));
    assert_eq!(stage(), lab::watch::Stage::Finished, "it has all of its part");
    merge(&shards, &place.at("joined")).unwrap();
    assert!(place.file("whole", "trials.jsonl") == place.file("joined", "trials.jsonl"));
}

/// "`run watch` follows the whole": shards in one folder are looked at as the run that they
/// will be, and joined by that folder's name.
#[test]
fn shards_in_one_folder_are_looked_at_and_joined_as_one() {
    use lab::watch::{Stage, look};
    let place = ShardFolder::new();
    place.run(MODELLED, None, "whole").unwrap();
    let sweep = place.at("sweep");
    fs::create_dir(&sweep).unwrap();
    let said = look(&sweep).unwrap_err().to_string();
    assert!(said.contains("holds no run"), "{said}");
    place.run(MODELLED, Some("1/3"), "sweep/b").unwrap();
    let stop = AtomicBool::new(false);
    place.run_until(MODELLED, Some("3/3"), "sweep/a", &mut Stopping(4, &stop), &stop).unwrap();
    let state = look(&sweep).unwrap();
    let stages: Vec<Stage> = state.shards.iter().map(|shard| shard.stage).collect();
    assert_eq!(stages, [Stage::Finished, Stage::Waiting, Stage::Interrupted]);
    assert_eq!((state.stage, state.name.as_str()), (Stage::Interrupted, "parts"));
    let first = state.shards[0].trials_finished;
    assert_eq!((state.trials_finished, state.trials), (first + 4, 60));
    let scored: usize = state.configurations.iter().map(|one| one.trials).sum();
    assert_eq!(scored, first + 4, "those of all shards");
    let said = place.refused(std::slice::from_ref(&sweep));
    assert!(said.contains("shard 3/3 has 4 of its"), "{said}");
    let (options, stop) = (RunOptions::default(), AtomicBool::new(false));
    lab::resume(&sweep.join("a"), &options, &stop, &mut NoObserver).unwrap();
    assert_eq!(place.refused(std::slice::from_ref(&sweep)), "shard 2/3 is missing");
    place.run(MODELLED, Some("2/3"), "sweep/c").unwrap();
    assert_eq!(look(&sweep).unwrap().stage, Stage::Finished);
    let merged = merge(std::slice::from_ref(&sweep), &sweep.join("joined")).unwrap();
    assert_eq!((merged.shards, merged.run.trials.len()), (3, 60));
    assert!(place.file("whole", "trials.jsonl") == place.file("sweep/joined", "trials.jsonl"));
    assert_eq!(look(&sweep).unwrap().shards.len(), 3, "the joined run is none of them");
    place.run(&MODELLED.replace("blocks = 4", "blocks = 5"), Some("2/3"), "sweep/d").unwrap();
    let said = look(&sweep).unwrap_err().to_string();
    assert!(said.contains("its shards are of different runs: "), "{said}");
}

#[test]
fn measured_blocks_that_were_begun_elsewhere_do_not_go_on_here() {
    let place = ShardFolder::new();
    let stop = AtomicBool::new(false);
    place.run_until(MEASURED, Some("1/2"), "part", &mut Stopping(2, &stop), &stop).unwrap();
    let mut part: serde_json::Value =
        serde_json::from_slice(&place.file("part", "shard.json")).unwrap();
    let here = part["machine"].take();
    let mut resumed = |machine: serde_json::Value| {
        part["machine"] = machine;
        fs::write(place.at("part/shard.json"), part.to_string()).unwrap();
        let (options, stop) = (RunOptions::default(), AtomicBool::new(false));
        lab::resume(&place.at("part"), &options, &stop, &mut NoObserver)
    };
    let error = resumed("another".into()).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    let said = error.to_string();
    assert!(
        said.contains("shard 1/2 was begun on another machine") && !said.contains('\n'),
        "{said}"
    );
    assert_eq!(resumed(here).unwrap().ended, RunEnd::Complete);
}

/// "Shards of different plans or versions, one missing: one line each, nothing half joined."
#[test]
fn what_does_not_belong_together_is_not_joined() {
    let place = ShardFolder::new();
    let shards = place.shards(MEASURED, 2);
    assert_eq!(place.refused(&shards[..1]), "shard 2/2 is missing");
    let twice = [&shards[..], &shards[..1]].concat();
    assert!(place.refused(&twice).starts_with("shard 1/2 is there more than once: "));
    place.run(MEASURED, None, "whole").unwrap();
    let said = place.refused(&[place.at("whole")]);
    assert!(said.ends_with("it is no shard of a run (raidloom run --shard I/N)"), "{said}");
    let other = MEASURED.replace("blocks = 3", "blocks = 4");
    place.run(&other, Some("2/2"), "other").unwrap();
    let said = place.refused(&[shards[0].clone(), place.at("other")]);
    assert!(said.ends_with("are shards of different runs: their plans differ"), "{said}");
    place.run(MEASURED, Some("2/3"), "third").unwrap();
    let said = place.refused(&[shards[0].clone(), place.at("third")]);
    assert!(said.ends_with("one is cut into 3, one into 2"), "{said}");
    let host = String::from_utf8(place.file("2 of 2", "host.json")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    fs::write(shards[1].join("host.json"), host.replacen(version, "0.0.9", 1)).unwrap();
    let said = place.refused(&shards);
    assert!(said.contains("measured them") && said.contains("0.0.9"), "{said}");
}

#[test]
fn what_decides_by_all_trials_is_not_cut() {
    let place = ShardFolder::new();
    let refused = |plan: &str, shard: &str| {
        let error = place.run(plan, Some(shard), "refused").unwrap_err();
        assert!(error.exit_code() == 2 && !place.at("refused").exists(), "{error}");
        error.to_string()
    };
    let race = MODELLED.replace("blocks = 4", "blocks = 8\ndesign = \"race\"");
    assert!(refused(&race, "1/2").contains("cannot be cut into parts: its race"));
    let budget = format!("{MEASURED}[budget]\ntime = \"1h\"\n");
    assert!(refused(&budget, "1/2").contains("its budget counts the trials of all"));
    assert!(refused(MEASURED, "1/4").contains("the plan has 3 blocks"));
}
