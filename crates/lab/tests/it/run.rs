//! Whole runs: complete, stopped, killed at random moments, resumed.

#![expect(
    clippy::disallowed_methods,
    reason = "watches a child process that it kills at random moments"
)]
#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use export::loop_device::{LoopDevice, LoopOptions};
use host::guard::Consent;
use lab::{Extension, NoObserver, Observer, Outcome, Progress, RunEnd, RunOptions, TimeLeft};
use reactor::Random;
use results::course::{Course, CourseEvent};
use results::{Clock, Plan, Trial};

/// Memory, real files and nothing at all, in trials of a few requests. `@DIR@` holds a folder of
/// the second set's files.
const PLAN: &str = r#"schema = 1
name = "A test, of runs"
[members.memory]
stacks = ["ram:1MiB", "ram:1MiB"]
[members.files]
files = { count = 2, size = "1MiB" }
[members.elsewhere]
files = { count = 2, size = "1MiB", dir = "@DIR@" }
[matrix]
members = ["memory", "files", "elsewhere"]
level = ["raid0"]
chunk = ["4KiB", "64KiB"]
[[add]]
members = ["memory", "files", "elsewhere"]
level = "single"
[baseline]
level = "single"
[[workload]]
suite = "devtest"
tests = ["sequential read at start 65536", "random write 16384", "mixed 50:50"]
time_per_test = "10s"
max_operations = 8
[trials]
blocks = 3
"#;

struct PlanFolder {
    folder: tempfile::TempDir,
}

impl PlanFolder {
    fn new() -> PlanFolder {
        let place = PlanFolder { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(place.elsewhere()).unwrap();
        fs::write(place.plan(), PLAN.replace("@DIR@", &place.elsewhere().display().to_string()))
            .unwrap();
        place
    }

    fn elsewhere(&self) -> PathBuf {
        self.folder.path().join("elsewhere")
    }

    fn plan(&self) -> PathBuf {
        self.folder.path().join("plan.toml")
    }

    fn run(&self) -> PathBuf {
        self.folder.path().join("runs/run")
    }

    fn start(
        &self,
        overrides: &[&str],
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, host::Error> {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let resolved = lab::plan::load(&self.plan(), &overrides)?;
        lab::start(&resolved, &options(Some(self.run())), stop, observer)
    }

    fn resume(&self) -> Result<Outcome, host::Error> {
        lab::resume(&self.run(), &options(None), &AtomicBool::new(false), &mut NoObserver)
    }

    /// Names of what is in the run's folder.
    fn files(&self) -> BTreeSet<String> {
        fs::read_dir(self.run())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[track_caller]
    fn assert_nothing_left_behind(&self) {
        let files = self.files();
        assert!(!files.contains("members") && !files.contains("cleanup.jsonl"), "{files:?}");
        assert_eq!(fs::read_dir(self.elsewhere()).unwrap().count(), 0, "files were left behind");
    }
}

fn options(output: Option<PathBuf>) -> RunOptions {
    RunOptions { output, consent: Consent::default(), ..RunOptions::default() }
}

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

fn set(trials: &[Trial]) -> Vec<(String, u32, u32)> {
    let mut set: Vec<_> =
        trials.iter().map(|trial| (trial.cell.clone(), trial.block, trial.order)).collect();
    set.sort();
    set
}

/// Every cell in every block, at its place in the order.
fn expected(plan: &Plan) -> Vec<(String, u32, u32)> {
    let mut set = Vec::new();
    for block in 0..plan.blocks {
        let all: Vec<usize> = (0..plan.configurations.len()).collect();
        for turn in lab::order::turns(plan, block, &all) {
            let settings = &plan.configurations[turn.configuration].settings;
            for (number, workload) in turn.workloads.iter().enumerate() {
                let cell = results::cell_id(settings, &plan.workloads[*workload].name);
                set.push((cell, block, (turn.place + number) as u32));
            }
        }
    }
    set.sort();
    set
}

#[test]
fn a_run_records_every_trial_in_its_order_and_leaves_nothing_behind() {
    let place = PlanFolder::new();
    let outcome = place.start(&[], &never(), &mut NoObserver).unwrap();
    assert_eq!(outcome.ended, RunEnd::Complete);
    let run = &outcome.run;
    assert_eq!(set(&run.trials), expected(&run.plan));
    assert_eq!(run.trials.len(), 9 * 3 * 3);
    let orders: Vec<(u32, u32)> =
        run.trials.iter().map(|trial| (trial.block, trial.order)).collect();
    assert!(orders.is_sorted(), "trials are recorded in the order of the plan");
    for trial in &run.trials {
        assert!(trial.metrics["throughput_bytes_per_second"] > 0.0, "{trial:?}");
        assert_eq!(trial.clock, Clock::Wall);
        let stripes = trial.settings["level"] == "raid0";
        assert_eq!(trial.members.len(), if stripes { 2 } else { 1 });
        let moved: u64 =
            trial.members.iter().map(|member| member.read_bytes + member.written_bytes).sum();
        let requests = trial.metrics["operations_count"];
        assert!(requests == 8.0 && moved >= 8 * 512, "{trial:?}");
        if trial.workload == "sequential read at start 65536" {
            let read: Vec<u64> = trial.members.iter().map(|member| member.read_bytes).collect();
            assert_eq!(
                read,
                if stripes { vec![4 * 65536; 2] } else { vec![8 * 65536] },
                "a stripe shares its reads out"
            );
        }
    }
    place.assert_nothing_left_behind();
    assert_eq!(
        place.files(),
        ["host.json", "plan.resolved.json", "plan.sums.json", "plan.toml", "trials.jsonl"]
            .map(String::from)
            .into()
    );
    assert!(!run.host.facts.is_empty());
    // Stripes over files are on one disk; single files and memory are not "several members".
    let is_over_files = |known: &&results::Configuration| {
        known.settings["level"] == "raid0" && known.settings["members"] != "memory"
    };
    assert_eq!(
        run.host.one_disk.iter().map(|one| &one.configuration).collect::<Vec<_>>(),
        run.plan.configurations.iter().filter(is_over_files).map(|one| &one.id).collect::<Vec<_>>()
    );
    assert!(run.host.one_disk.iter().all(|one| !one.on.is_empty()));
    assert_eq!(run.notes, []);
    assert_eq!(lab::read(&place.run()).unwrap(), *run);
}

/// Loop devices over files, taken away at the end.
struct Loops(Vec<LoopDevice>);

impl Drop for Loops {
    fn drop(&mut self) {
        // What still has one open for a look is gone soon; the kernel takes it away then.
        self.0.iter_mut().for_each(|device| drop(device.let_go()));
    }
}

const LOOPS_PLAN: &str = r#"schema = 1
name = "Loops"
[members.one]
devices = @ONE@
[members.other]
devices = @OTHER@
[matrix]
members = ["one", "other"]
level = "raid0"
chunk = "64KiB"
[baseline]
members = "one"
[[workload]]
suite = "devtest"
tests = ["random write 16384"]
time_per_test = "10s"
max_operations = 8
[trials]
blocks = 1
"#;

/// "Two sets on one disk, four loop devices over files of one disk": both are told, once, with the
/// disk's name.
#[test]
fn loop_devices_over_files_of_one_disk_lie_on_that_disk() {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
        return testkit::missing!("root and loop devices are needed");
    }
    let folder = tempfile::tempdir().unwrap();
    let attach = |number: u32| {
        let path = folder.path().join(format!("disk{number}"));
        fs::File::create(&path).unwrap().set_len(1 << 20).unwrap();
        LoopDevice::attach_with(&path, &LoopOptions::default()).unwrap()
    };
    let loops = Loops((0..4).map(attach).collect());
    let paths: Vec<PathBuf> = loops.0.iter().map(|device| device.path().to_owned()).collect();
    let sets = ["@ONE@", "@OTHER@"].into_iter().zip(paths.chunks(2));
    let plan = sets
        .fold(LOOPS_PLAN.to_owned(), |plan, (set, paths)| plan.replace(set, &format!("{paths:?}")));
    let path = folder.path().join("plan.toml");
    fs::write(&path, plan).unwrap();
    let consent = Consent { devices: paths, ..Consent::default() };
    let options = RunOptions { consent, ..options(Some(folder.path().join("run"))) };
    let mut notes = Notes(Vec::new());
    let resolved = lab::plan::load(&path, &[]).unwrap();
    let outcome = lab::start(&resolved, &options, &never(), &mut notes).unwrap();
    let host = &outcome.run.host;
    let Some(on) = host::facts::disk_under(folder.path()).filter(|on| on.starts_with("disk "))
    else {
        assert!(host.shared_disks.is_empty(), "{:?}", host.shared_disks);
        return testkit::skipped!("the folder for temporary files is on no disk, or on several");
    };
    let told: Vec<&str> = host.one_disk.iter().map(|one| one.on.as_str()).collect();
    assert_eq!(told, [&on, &on], "both sets");
    let [shared] = &host.shared_disks[..] else { panic!("{:?}", host.shared_disks) };
    assert_eq!(
        (&shared.sets[..], format!("disk {}", shared.disk)),
        (&["one".into(), "other".into()][..], on)
    );
    let said = notes.0.iter().filter(|note| note.contains("lie on the same disk")).count();
    assert_eq!(said, 1, "{:?}", notes.0);
}

/// Keeps what a run says.
struct Notes(Vec<String>);

impl Observer for Notes {
    fn note(&mut self, text: &words::Text) {
        self.0.push(text.english());
    }
}

/// Sets the flag once so many trials are recorded.
struct StopAfter<'a> {
    trials: usize,
    stop: &'a AtomicBool,
}

impl Observer for StopAfter<'_> {
    fn trial_recorded(&mut self, _: &Plan, progress: &Progress<'_>, _: &Trial) {
        if progress.finished >= self.trials {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_stopped_run_is_resumed_to_the_same_set() {
    for trials in [1, 2, 40] {
        let place = PlanFolder::new();
        let stop = never();
        let outcome = place.start(&[], &stop, &mut StopAfter { trials, stop: &stop }).unwrap();
        assert_eq!((outcome.ended, outcome.run.trials.len()), (RunEnd::Interrupted, trials));
        place.assert_nothing_left_behind();
        let first = fs::read(place.run().join("trials.jsonl")).unwrap();
        let resumed = place.resume().unwrap();
        assert_eq!(
            (resumed.ended, set(&resumed.run.trials)),
            (RunEnd::Complete, expected(&resumed.run.plan))
        );
        assert!(
            fs::read(place.run().join("trials.jsonl")).unwrap().starts_with(&first),
            "what was recorded stays as it was"
        );
        place.assert_nothing_left_behind();
        let again = place.resume().unwrap();
        assert_eq!(
            again.run.trials, resumed.run.trials,
            "a complete run has nothing to go on with"
        );
    }
}

/// Two stripes against a single disk of memory, as a race.
const RACE: [&str; 4] = [
    "matrix.members=[\"memory\"]",
    "add.members=[\"memory\"]",
    "trials.design=race",
    "trials.blocks=4",
];

/// "The run resumes after a kill in any phase", and the report knows the phase of each trial.
#[test]
fn a_race_is_resumed_in_any_phase() {
    // In the race, on its last trial, on the first fresh one, later.
    for trials in [10, 27, 28, 60] {
        let place = PlanFolder::new();
        let stop = never();
        let stopping = &mut StopAfter { trials, stop: &stop };
        let outcome = place.start(&RACE, &stop, stopping).unwrap();
        assert_eq!((outcome.ended, outcome.run.trials.len()), (RunEnd::Interrupted, trials));
        let first = outcome.run.steps;
        let run = place.resume().unwrap().run;
        assert!(run.steps.starts_with(&first), "what was decided stays: {:?}", run.steps);
        let course = Course::new(&run.plan, &run.steps);
        let (blocks, picks) = course.named().unwrap();
        assert!(picks.len() == 4 && (3..=4).contains(&blocks), "three kinds and all: {picks:?}");
        assert_eq!(run.trials.len(), course.trials());
        assert_eq!(course.voting(&run.trials), Some(blocks..blocks + 8));
        assert_eq!(lab::read(&place.run()).unwrap(), run);
        // What was decided follows from the trials, should the file that says it be lost.
        fs::remove_file(place.run().join("course.json")).unwrap();
        let again = place.resume().unwrap().run;
        assert_eq!((again.steps, again.trials), (run.steps, run.trials));
    }
}

/// A trial of another clock than its configuration's is refused with its line and the reason.
#[test]
fn a_trial_of_another_clock_is_refused_with_its_line() {
    let place = PlanFolder::new();
    let few = ["matrix.members=[\"memory\"]", "add.members=[\"memory\"]"];
    place.start(&few, &never(), &mut NoObserver).unwrap();
    let path = place.run().join("trials.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert!(lines[2].contains("\"clock\":\"wall\""), "{}", lines[2]);
    lines[2] = lines[2].replace("\"clock\":\"wall\"", "\"clock\":\"virtual\"");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let error = lab::read(&place.run()).unwrap_err().to_string();
    assert!(
        error.contains("trials.jsonl:3: this trial has the virtual clock")
            && error.contains("on the wall clock; the file was changed"),
        "{error}"
    );
}

/// Modelled stripes of drives of 2004 against one of them.
const MODELLED_RACE: &str = r#"schema = 1
name = "Which chunk?"
[members.disks]
stacks = ["model:maxtor-6y200p0", "model:maxtor-6y200p0"]
[matrix]
members = ["disks"]
level = ["raid0"]
chunk = ["8KiB", "32KiB", "128KiB", "512KiB"]
[[add]]
members = ["disks"]
level = "single"
[baseline]
level = "single"
[[workload]]
suite = "devtest"
tests = ["sequential read at start 65536", "random read 16384"]
time_per_test = "10s"
max_operations = 12
[trials]
blocks = 5
"#;

/// "A race says no more than the full design": of seeded modelled plans, raced and measured whole.
/// Six of them; with `RAIDLOOM_TEST_EVERYTHING` 200.
#[test]
fn a_modelled_race_says_no_more_than_the_full_design() {
    let count = if std::env::var_os("RAIDLOOM_TEST_EVERYTHING").is_some() { 200 } else { 6 };
    let mut found = Vec::new();
    for seed in 0..count {
        let of = |design: &str| {
            let folder = tempfile::tempdir().unwrap();
            let plan = folder.path().join("plan.toml");
            fs::write(&plan, MODELLED_RACE).unwrap();
            let settings =
                [format!("trials.seed={seed}"), format!("trials.design={design}")].to_vec();
            let resolved = lab::plan::load(&plan, &settings).unwrap();
            let options = options(Some(folder.path().join("run")));
            let run = lab::start(&resolved, &options, &never(), &mut NoObserver).unwrap().run;
            results::analyse(&run)
        };
        let (raced, whole) = (of("race"), of("full"));
        for (race, full) in raced.comparisons[0].results().zip(whole.comparisons[0].results()) {
            let Some(take) = &race.headline.take else { continue };
            let is_told = full.best_set == [take.clone()];
            if race.headline.ahead_of_all && !is_told || race.headline.sure {
                found.push(format!("seed {seed}: {take} of {:?}", full.best_set));
            }
        }
    }
    println!("{count} modelled races, {} say too much", found.len());
    assert!(found.is_empty(), "{found:#?}");
}

/// "`raidloom run --more N RUN` goes on with a finished run by the rules of sequential looks."
#[test]
fn a_finished_run_goes_on_to_the_next_look() {
    let place = PlanFolder::new();
    let few = ["matrix.members=[\"memory\"]", "add.members=[\"memory\"]"];
    let stop = never();
    let stopping = &mut StopAfter { trials: 5, stop: &stop };
    place.start(&few, &stop, stopping).unwrap();
    let more = |more: Extension| {
        let options = RunOptions { more: Some(more), ..options(None) };
        lab::resume(&place.run(), &options, &never(), &mut NoObserver)
    };
    let error = more(Extension::Blocks(1)).unwrap_err().to_string();
    assert!(error.contains("not finished") && error.contains("--resume"), "{error}");
    let three = place.resume().unwrap().run;
    assert!(three.trials.len() == 3 * 3 * 3 && three.steps.is_empty());
    let eight = more(Extension::Blocks(2)).unwrap().run;
    assert_eq!(eight.steps, [CourseEvent::Look { blocks: 8 }], "5 blocks are no look");
    assert_eq!(eight.trials.len(), 3 * 3 * 8);
    assert_eq!(eight.trials[..27], three.trials[..], "what was measured stays");
    let orders: Vec<_> = set(&eight.trials);
    assert_eq!(orders.len(), orders.iter().collect::<BTreeSet<_>>().len());
    let error = more(Extension::Blocks(53)).unwrap_err().to_string();
    assert!(error.contains("the last look is after 60 blocks"), "{error}");
}

#[test]
fn a_run_that_is_stopped_at_once_can_be_resumed() {
    let place = PlanFolder::new();
    let outcome =
        place.start(&["trials.blocks=1"], &AtomicBool::new(true), &mut NoObserver).unwrap();
    assert_eq!((outcome.ended, outcome.run.trials.len()), (RunEnd::Interrupted, 0));
    place.assert_nothing_left_behind();
    let resumed = place.resume().unwrap();
    assert_eq!(set(&resumed.run.trials), expected(&resumed.run.plan));
}

/// In a process of its own, this starts or resumes the run in the folder that the environment
/// names; otherwise it does nothing.
#[test]
fn child_process() {
    let Some(folder) = std::env::var_os("RAIDLOOM_TEST_PLACE").map(PathBuf::from) else { return };
    let run = folder.join("runs/run");
    let result = if run.join("plan.resolved.json").exists() {
        lab::resume(&run, &options(None), &never(), &mut NoObserver)
    } else {
        let resolved = lab::plan::load(&folder.join("plan.toml"), &[]).unwrap();
        lab::start(&resolved, &options(Some(run)), &never(), &mut NoObserver)
    };
    assert_eq!(result.unwrap().ended, RunEnd::Complete);
}

fn child(place: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "run::child_process", "--nocapture"])
        .env("RAIDLOOM_TEST_PLACE", place);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// "`kill -9` at any moment of a run followed by `--resume` ends with the same set of trials."
#[test]
fn a_run_killed_at_random_moments_ends_with_the_same_set() {
    let seed = std::env::var("RAIDLOOM_TEST_SEED")
        .map_or_else(|_| u64::from(std::process::id()), |seed| seed.parse().unwrap());
    let mut random = Random::with_seed(seed);
    let place = PlanFolder::new();
    let record = place.run().join("trials.jsonl");
    let recorded_bytes = || fs::metadata(&record).map_or(0, |data| data.size());
    let (mut kills, mut done) = (0, false);
    while !done {
        let mut child = child(place.folder.path());
        // Some children are killed on their way to the first trial, others when they have recorded
        // a few.
        let enough = recorded_bytes() + random.u64(0..6000);
        let mut patience = random.u32(0..400);
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                let mut text = String::new();
                std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut text)
                    .unwrap();
                assert!(status.success(), "seed {seed}, after {kills} kills: {text}");
                done = true;
                break;
            }
            if recorded_bytes() >= enough {
                if patience == 0 {
                    child.kill().unwrap();
                    // It may have ended by itself just before.
                    let status = child.wait().unwrap();
                    done = status.success();
                    assert!(done || status.signal() == Some(9), "seed {seed}: {status}");
                    kills += u32::from(!done);
                    break;
                }
                patience -= 1;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    let run = lab::read(&place.run()).unwrap();
    println!("seed {seed}: {kills} kills");
    assert!(kills > 3, "seed {seed}: only {kills} kills");
    assert_eq!(set(&run.trials), expected(&run.plan), "seed {seed}");
    place.assert_nothing_left_behind();
}

#[test]
fn a_torn_last_line_is_dropped_noted_and_run_again() {
    let place = PlanFolder::new();
    place.start(&[], &never(), &mut NoObserver).unwrap();
    let path = place.run().join("trials.jsonl");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 30]).unwrap();
    let read = lab::read(&place.run()).unwrap();
    assert_eq!((read.trials.len(), read.notes.len()), (80, 1));
    let resumed = place.resume().unwrap();
    assert_eq!(set(&resumed.run.trials), expected(&resumed.run.plan));
    assert!(resumed.run.notes[0].english().contains("torn last line"), "{:?}", resumed.run.notes);
}

/// A small file system in memory, gone at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(point: PathBuf) -> Option<SmallDisk> {
        fs::create_dir_all(&point).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "none"])
            .arg(&point)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(SmallDisk(point));
        }
        testkit::skipped!("mounting is not permitted here");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Fills the disk after a few trials.
struct FillDisk(PathBuf);

impl Observer for FillDisk {
    fn trial_recorded(&mut self, _: &Plan, progress: &Progress<'_>, _: &Trial) {
        if progress.finished == 5 {
            let mut file = fs::File::create(&self.0).unwrap();
            while std::io::Write::write(&mut file, &[7; 4096]).is_ok() {}
        }
    }
}

/// "a full disk in the middle of a run (the run ends resumable, no half line counted)"
#[test]
fn a_disk_that_fills_up_ends_the_run_resumable_and_without_a_half_line() {
    let place = PlanFolder::new();
    let Some(disk) = SmallDisk::mount(place.folder.path().join("runs")) else { return };
    let filler = disk.0.join("filler");
    let error = place.start(
        &["matrix.members=memory", "add=[]", "baseline={level=\"raid0\",chunk=\"4KiB\"}"],
        &never(),
        &mut FillDisk(filler.clone()),
    );
    let error = error.unwrap_err();
    let text = error.to_string();
    assert!(
        error.exit_code() == 1
            && text.contains("No space left")
            && text.contains("raidloom run --resume"),
        "{text}"
    );
    let bytes = fs::read(place.run().join("trials.jsonl")).unwrap();
    assert_eq!(bytes.last(), Some(&b'\n'), "a half line stayed");
    let before = lab::read(&place.run()).unwrap();
    assert!(
        before.trials.len() >= 5 && before.notes.is_empty(),
        "{} trials, {:?}",
        before.trials.len(),
        before.notes
    );
    assert!(place.resume().is_err(), "the disk is still full");
    fs::remove_file(&filler).unwrap();
    let run = place.resume().unwrap().run;
    assert_eq!(set(&run.trials), expected(&run.plan));
    assert!(run.trials.starts_with(&before.trials));
}

/// Tries to resume the run while it goes on.
struct Intruder<'a>(&'a PlanFolder, Vec<host::Error>);

impl Observer for Intruder<'_> {
    fn trial_recorded(&mut self, _: &Plan, progress: &Progress<'_>, _: &Trial) {
        if progress.finished == 1 {
            self.1.push(self.0.resume().unwrap_err());
        }
    }
}

#[test]
fn two_processes_cannot_write_one_run() {
    let place = PlanFolder::new();
    let mut intruder = Intruder(&place, Vec::new());
    place.start(&["trials.blocks=1"], &never(), &mut intruder).unwrap();
    let error = &intruder.1[0];
    assert!(
        error.exit_code() == 4 && error.to_string().contains("going on in another process"),
        "{error}"
    );
}

#[test]
fn a_folder_that_is_in_use_is_left_alone() {
    let place = PlanFolder::new();
    fs::create_dir_all(place.run()).unwrap();
    fs::write(place.run().join("thesis.txt"), "years of work").unwrap();
    let error = place.start(&[], &never(), &mut NoObserver).unwrap_err();
    assert!(error.exit_code() == 2 && error.to_string().contains("is not empty"), "{error}");
    assert_eq!(place.files(), ["thesis.txt".to_owned()].into());
    fs::remove_file(place.run().join("thesis.txt")).unwrap();
    place
        .start(&["trials.blocks=1", "workload.max_operations=1"], &never(), &mut NoObserver)
        .unwrap();
    let error = place.start(&[], &never(), &mut NoObserver).unwrap_err();
    assert!(error.exit_code() == 2 && error.to_string().contains("holds a run already"), "{error}");
}

#[test]
fn a_member_file_that_raidloom_did_not_make_is_never_overwritten() {
    let place = PlanFolder::new();
    let theirs = place.elsewhere().join("raidloom-elsewhere-1.img");
    fs::write(&theirs, "theirs").unwrap();
    let error = place.start(&[], &never(), &mut NoObserver).unwrap_err();
    assert!(error.exit_code() == 4 && error.to_string().contains("it exists already"), "{error}");
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
    assert_eq!(
        fs::read_dir(place.elsewhere()).unwrap().count(),
        1,
        "what was made before the refusal is gone"
    );
    assert!(!place.run().exists(), "a run of which nothing came leaves no folder");
}

#[test]
fn members_with_a_signature_are_refused_before_anything_is_written() {
    let place = PlanFolder::new();
    let image = place.folder.path().join("image");
    let mut bytes = vec![0; 1 << 20];
    bytes[..4].copy_from_slice(b"XFSB");
    fs::write(&image, &bytes).unwrap();
    let plan = fs::read_to_string(place.plan()).unwrap().replacen(
        "\"ram:1MiB\"",
        &format!("\"{}\"", image.display()),
        1,
    );
    fs::write(place.plan(), plan).unwrap();
    let error = place.start(&[], &never(), &mut NoObserver).unwrap_err();
    assert!(
        error.exit_code() == 4 && error.to_string().contains("it carries a signature: XFS"),
        "{error}"
    );
    assert!(!place.run().exists());
    assert!(fs::read(&image).unwrap() == bytes);
}

#[test]
fn a_changed_machine_is_refused_or_flagged() {
    let place = PlanFolder::new();
    let stop = never();
    place.start(&[], &stop, &mut StopAfter { trials: 5, stop: &stop }).unwrap();
    let host = place.run().join("host.json");
    let text = fs::read_to_string(&host).unwrap();
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    assert!(text.contains(&kernel));
    fs::write(&host, text.replace(&kernel, "2.4.20")).unwrap();
    let error = place.resume().unwrap_err();
    assert!(
        error.exit_code() == 2
            && error.to_string().contains(&format!("was Linux 2.4.20, is Linux {kernel}")),
        "{error}"
    );
    assert_eq!(
        lab::read(&place.run()).unwrap().trials.len(),
        5,
        "a refused resume changes nothing"
    );
    let options = RunOptions { allow_change: true, ..options(None) };
    let run = lab::resume(&place.run(), &options, &never(), &mut NoObserver).unwrap().run;
    assert_eq!(set(&run.trials), expected(&run.plan));
    let flagged = run
        .trials
        .iter()
        .filter(|trial| trial.flags.iter().any(|doubt| doubt.code() == "machine-changed"))
        .count();
    assert_eq!(flagged, run.trials.len() - 5);
}

/// Trials of two plans in one run would be compared with each other.
#[test]
fn a_run_does_not_go_on_with_an_edited_plan() {
    let place = PlanFolder::new();
    let stop = never();
    place
        .start(
            &["trials.blocks=1", "workload.max_operations=1"],
            &stop,
            &mut StopAfter { trials: 2, stop: &stop },
        )
        .unwrap();
    let resolved = place.run().join("plan.resolved.json");
    let before = fs::read_to_string(&resolved).unwrap();
    let trials = fs::read(place.run().join("trials.jsonl")).unwrap();
    fs::write(&resolved, before.replace("\"blocks\": 1", "\"blocks\": 2")).unwrap();
    assert_ne!(fs::read_to_string(&resolved).unwrap(), before);
    let error = place.resume().unwrap_err();
    assert!(
        error.exit_code() == 2
            && error.to_string().contains("it was edited after the run had begun"),
        "{error}"
    );
    assert_eq!(
        fs::read(place.run().join("trials.jsonl")).unwrap(),
        trials,
        "a refused resume changes nothing"
    );
    assert!(
        lab::read(&place.run())
            .unwrap()
            .notes
            .iter()
            .any(|note| note.english().contains("was edited after the run had begun"))
    );

    fs::write(&resolved, before).unwrap();
    assert!(
        !lab::read(&place.run())
            .unwrap()
            .notes
            .iter()
            .any(|note| note.english().contains("was edited"))
    );
    let said = place.run().join("plan.toml");
    fs::write(&said, fs::read_to_string(&said).unwrap().replace("blocks = 3", "blocks = 4"))
        .unwrap();
    let run = place.resume().unwrap().run;
    assert_eq!(run.plan.blocks, 1);
    let notes = run
        .notes
        .iter()
        .filter(|note| {
            note.english()
                .contains("plan.toml was edited after the run had begun; the run goes on with")
        })
        .count();
    assert_eq!(notes, 1, "{:?}", run.notes);
}

#[test]
fn a_folder_without_a_run_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let resume =
        |path: &Path| lab::resume(path, &options(None), &never(), &mut NoObserver).unwrap_err();
    assert!(resume(folder.path()).to_string().contains("holds no run"));
    assert_eq!(resume(&folder.path().join("none")).exit_code(), 2);
    assert!(resume(&folder.path().join("none")).to_string().contains("there is no run at"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "looking leaves nothing");
}

#[test]
fn what_a_killed_run_left_behind_is_undone_by_the_next_start_beside_it() {
    let place = PlanFolder::new();
    let mut child = child(place.folder.path());
    while !place.run().join("cleanup.jsonl").exists() {
        std::thread::yield_now();
    }
    while fs::read_dir(place.elsewhere()).unwrap().count() < 2 {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let resolved = lab::plan::load(
        &place.plan(),
        &["trials.blocks=1".to_owned(), "workload.max_operations=1".to_owned()],
    )
    .unwrap();
    let beside = place.folder.path().join("runs/beside");
    lab::start(&resolved, &options(Some(beside)), &never(), &mut NoObserver).unwrap();
    place.assert_nothing_left_behind();
}

/// A folder beside a run that somebody else has made, with a journal that names a file of ours in
/// every detail, and a link in the place of what is cut to its whole lines.
#[test]
fn what_somebody_elses_folder_beside_a_run_names_is_left_alone() {
    if !rustix::process::geteuid().is_root() {
        testkit::skipped!("only root can give a folder to somebody else");
        return;
    }
    let place = PlanFolder::new();
    let (victim, theirs) =
        (place.folder.path().join("victim"), place.folder.path().join("runs/theirs"));
    fs::write(&victim, "{\"half\": ").unwrap();
    let data = fs::metadata(&victim).unwrap();
    fs::create_dir_all(&theirs).unwrap();
    let line = format!(
        "{{\"made\":\"file\",\"path\":{victim:?},\"device\":{},\"inode\":{}}}\n",
        data.dev(),
        data.ino()
    );
    fs::write(theirs.join("cleanup.jsonl"), line).unwrap();
    fs::write(theirs.join("plan.resolved.json"), "{}").unwrap();
    std::os::unix::fs::symlink(&victim, theirs.join("trials.jsonl")).unwrap();
    for path in [theirs.clone(), theirs.join("cleanup.jsonl")] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    place
        .start(&["trials.blocks=1", "workload.max_operations=1"], &never(), &mut NoObserver)
        .unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "{\"half\": ");
    assert!(theirs.join("cleanup.jsonl").exists());
    // Also not as the run that is named.
    fs::copy(place.run().join("plan.resolved.json"), theirs.join("plan.resolved.json")).unwrap();
    let error =
        lab::resume(&theirs, &options(None), &never(), &mut NoObserver).unwrap_err().to_string();
    assert!(error.contains("trials.jsonl"), "{error}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "{\"half\": ");
}

/// Keeps what it is told.
#[derive(Default)]
struct Watcher {
    first: Option<TimeLeft>,
    last: Option<TimeLeft>,
    trials: usize,
}

impl Observer for Watcher {
    fn begun(&mut self, _: &Path, _: [usize; 2], left: TimeLeft) {
        self.first = Some(left);
    }

    fn trial_recorded(&mut self, _: &Plan, progress: &Progress<'_>, _: &Trial) {
        self.trials += 1;
        assert_eq!(progress.finished, self.trials);
        self.last = Some(progress.left);
    }
}

#[test]
fn the_time_left_is_rough_at_first_and_nothing_at_the_end() {
    let place = PlanFolder::new();
    let mut watcher = Watcher::default();
    place.start(&[], &never(), &mut watcher).unwrap();
    let (first, last) = (watcher.first.unwrap(), watcher.last.unwrap());
    assert!(
        first.rough && first.low < first.high && first.high > Duration::from_secs(10),
        "{first:?}"
    );
    assert_eq!((last.low, last.high), (Duration::ZERO, Duration::ZERO));
}

/// "the same seed gives byte-equal `trials.jsonl` metrics for the modelled half, on every run", and
/// after every resume.
#[test]
fn modelled_trials_are_byte_equal_on_every_run_and_after_a_resume() {
    let plan = r#"schema = 1
name = "modelled"
[members.maxtor]
models = ["maxtor-6y200p0", "maxtor-6y200p0"]
[matrix]
level = ["single", "raid0"]
chunk = ["64KiB"]
[baseline]
level = "single"
[[workload]]
suite = "devtest"
time_per_test = "300ms"
ramp = "200ms"
[trials]
blocks = 2
"#;
    let run = |seed: u64, stop_after: usize| {
        let place = PlanFolder::new();
        fs::write(place.plan(), plan).unwrap();
        let stop = never();
        let seed = format!("trials.seed={seed}");
        let mut outcome = place
            .start(&[&seed], &stop, &mut StopAfter { trials: stop_after, stop: &stop })
            .unwrap();
        if outcome.ended == RunEnd::Interrupted {
            outcome = place.resume().unwrap();
        }
        assert_eq!(set(&outcome.run.trials), expected(&outcome.run.plan));
        assert!(
            outcome
                .run
                .trials
                .iter()
                .all(|trial| trial.clock == Clock::Virtual && trial.flags.is_empty())
        );
        fs::read(place.run().join("trials.jsonl")).unwrap()
    };
    let whole = run(42, usize::MAX);
    assert!(run(42, usize::MAX) == whole, "another run of the same seed");
    assert!(run(42, 17) == whole, "a resumed run of the same seed");
    assert!(run(43, usize::MAX) != whole, "another seed");
}

/// Modelled drives with a suite whose rows stand alone and one whose rows are run in order, and
/// memory, which is measured.
const MODELLED_AND_MEASURED: &str = r#"schema = 1
name = "modelled, and memory"
[members.disks]
stacks = ["model:maxtor-6y200p0", "model:maxtor-6y200p0"]
[members.memory]
stacks = ["ram:1MiB", "ram:1MiB"]
[matrix]
members = ["disks"]
level = ["raid0", "raid1"]
chunk = ["8KiB", "64KiB"]
[[add]]
members = ["disks", "memory"]
level = "single"
[baseline]
level = "single"
[[workload]]
suite = "devtest"
tests = ["sequential read at start 65536", "random write 16384"]
time_per_test = "10s"
max_operations = 24
[[workload]]
suite = "depth"
block_min = "64KiB"
block_max = "64KiB"
depth_max = 4
time = "50ms"
[trials]
blocks = 4
"#;

/// Modelled trials of a run with so many threads, which is stopped after so many trials and gone on
/// with, as lines.
fn modelled_lines(
    (plan, overrides, more): (&str, &[&str], Option<Extension>),
    threads: usize,
    stop_after: usize,
) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    fs::write(&path, plan).unwrap();
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let resolved = lab::plan::load(&path, &overrides).unwrap();
    let run = folder.path().join("run");
    let threads = std::num::NonZero::new(threads);
    let stop = never();
    let mut observer = StopAfter { trials: stop_after, stop: &stop };
    let started = RunOptions { threads, more, ..options(Some(run.clone())) };
    let mut outcome = lab::start(&resolved, &started, &stop, &mut observer).unwrap();
    if outcome.ended == RunEnd::Interrupted {
        let resumed = RunOptions { threads, ..options(None) };
        outcome = lab::resume(&run, &resumed, &never(), &mut NoObserver).unwrap();
    }
    assert_eq!(outcome.ended, RunEnd::Complete);
    let text = fs::read_to_string(run.join("trials.jsonl")).unwrap();
    let is_modelled = |line: &&str| line.contains("\"clock\":\"virtual\"");
    text.lines().filter(is_modelled).map(str::to_owned).collect()
}

/// "Results byte-equal to one's": the same trials in the same order, whatever ends a run or decides
/// how it goes on.
#[test]
fn modelled_trials_are_byte_equal_with_any_number_of_threads() {
    let one_row = ["workload.tests=[\"random read 16384\"]"];
    let budget = ["budget={ written_per_member = \"2MiB\" }"];
    for (of, least) in [
        ((MODELLED_AND_MEASURED, &[][..], None), 60),
        ((MODELLED_AND_MEASURED, &budget[..], None), 3),
        ((MODELLED_RACE, &["trials.design=race"][..], None), 20),
        ((MODELLED_RACE, &one_row[..], Some(Extension::UntilDecided)), 20),
    ] {
        let one = modelled_lines(of, 1, usize::MAX);
        assert!(one.len() >= least, "{of:?}: {} trials", one.len());
        for (threads, stop_after) in [(64, usize::MAX), (3, 7)] {
            let several = modelled_lines(of, threads, stop_after);
            assert!(several == one, "{threads} threads, stopped after {stop_after}");
        }
    }
}

/// Stops after the first trial, and keeps what stood where a member's superblock is.
struct KeepSuperblock<'a> {
    member: &'a Path,
    stop: &'a AtomicBool,
    kept: Vec<u8>,
}

impl Observer for KeepSuperblock<'_> {
    fn trial_recorded(&mut self, _: &Plan, _: &Progress<'_>, _: &Trial) {
        self.kept = fs::read(self.member).unwrap()[4096..8192].to_vec();
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// "`--resume` asks for no second consent for them": superblocks that a killed run has left.
#[test]
fn a_resumed_run_needs_no_consent_to_its_own_superblocks() {
    let place = PlanFolder::new();
    let members = ["a.img", "b.img"].map(|name| place.folder.path().join(name));
    for member in &members {
        fs::File::create(member).unwrap().set_len(4 << 20).unwrap();
    }
    let [a, b] = members.each_ref().map(|member| member.display());
    let plan = format!(
        r#"schema = 1
name = "superblocks"
[members.own]
stacks = ["file:{a}", "file:{b}"]
[matrix]
level = "raid1"
metadata = "1.2"
[baseline]
level = "raid1"
[[workload]]
suite = "devtest"
tests = ["random write 16384"]
max_operations = 8
[trials]
blocks = 2
"#
    );
    fs::write(place.plan(), plan).unwrap();
    let stop = never();
    let mut observer = KeepSuperblock { member: &members[0], stop: &stop, kept: Vec::new() };
    let ended = place.start(&[], &stop, &mut observer).unwrap().ended;
    assert_eq!(ended, RunEnd::Interrupted);
    let superblock = observer.kept;
    assert_eq!(superblock[..4], [0xfc, 0x4e, 0x2b, 0xa9], "the magic of md");
    let plant = |superblock: &[u8]| {
        let file = fs::OpenOptions::new().write(true).open(&members[0]).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, superblock, 4096).unwrap();
    };
    // Somebody else's, as far as its identity tells.
    let mut foreign = superblock.clone();
    foreign[16] ^= 1;
    plant(&foreign);
    let error = place.resume().unwrap_err().to_string();
    assert!(error.contains("carries a signature: md array member"), "{error}");
    plant(&superblock);
    assert_eq!(place.resume().unwrap().ended, RunEnd::Complete);
}

/// "The run stops at its budget in an orderly way and the report says so."
#[test]
fn a_run_ends_when_its_budget_is_spent() {
    let memory = ["matrix.members=[\"memory\"]", "add.members=[\"memory\"]"];
    // Two of three rows write eight requests of 16 KiB and more.
    for (budget, says) in [
        ("budget={ written_per_member = \"16KiB\" }", "were written to"),
        ("budget={ time = \"1ns\" }", "s of time are spent"),
    ] {
        let place = PlanFolder::new();
        let said = [memory[0], memory[1], budget];
        let outcome = place.start(&said, &never(), &mut NoObserver).unwrap();
        assert_eq!(outcome.ended, RunEnd::Complete);
        let run = outcome.run;
        assert!(run.trials.len() < 27, "{budget}");
        let note = run.notes[0].english();
        assert!(note.contains("stopped at its budget") && note.contains(says), "{note}");
        let analysis = results::analyse(&run);
        assert_eq!((analysis.trials_finished, analysis.trials_planned), (run.trials.len(), 27));
        place.assert_nothing_left_behind();
        // What was spent is not forgotten.
        let again = place.resume().unwrap().run;
        assert_eq!(again.trials, run.trials, "{budget}");
    }
    // It is looked at after every trial and not only before a visit: the first row spends it.
    let place = PlanFolder::new();
    let said = [memory[0], memory[1], "budget={ written_per_member = \"16KiB\" }"];
    let run = place.start(&said, &never(), &mut NoObserver).unwrap().run;
    assert_eq!(run.trials.len(), 1);
    // With another budget it goes on to its end, with the trials that it would have had.
    let options =
        RunOptions { budget: vec!["written_per_member=none".to_owned()], ..options(None) };
    let again = lab::resume(&place.run(), &options, &never(), &mut NoObserver).unwrap().run;
    assert_eq!((again.trials.len(), &again.trials[..1]), (27, &run.trials[..]));
    for (wrong, says) in [
        ("size=3", "--budget size=3: expected time=TIME or written_per_member=SIZE"),
        ("time=soon", "--budget time=soon: "),
    ] {
        let options = RunOptions { budget: vec![wrong.to_owned()], ..options.clone() };
        let error = lab::resume(&place.run(), &options, &never(), &mut NoObserver).unwrap_err();
        assert!(error.to_string().starts_with(says), "{error}");
    }
    let place = PlanFolder::new();
    let far = ["budget={ time = \"30m\", written_per_member = \"1GiB\" }", memory[0], memory[1]];
    let run = place.start(&far, &never(), &mut NoObserver).unwrap().run;
    assert_eq!((run.trials.len(), run.notes), (27, Vec::new()));
    let error = place.start(&["budget={}"], &never(), &mut NoObserver).unwrap_err().to_string();
    assert!(error.contains("the budget names nothing"), "{error}");
}

/// What is measured is known from what the plan made of it, and not from what its folders are
/// called; of a run that does not say it, from its stacks.
#[test]
fn files_in_a_folder_called_as_a_model_are_measured() {
    let place = PlanFolder::new();
    let folder = place.folder.path().join("model:x");
    fs::create_dir(&folder).unwrap();
    fs::write(place.plan(), PLAN.replace("@DIR@", &folder.display().to_string())).unwrap();
    let run = place.start(&["trials.blocks=2"], &never(), &mut NoObserver).unwrap().run;
    let stacks: Vec<&str> = run.plan.configurations.iter().map(|one| &*one.stack).collect();
    assert!(stacks.iter().any(|stack| stack.contains("model:x")), "{stacks:?}");
    assert!(results::analyse(&run).comparisons.iter().all(|one| !one.modelled));
    let path = place.run().join("plan.resolved.json");
    let mut plan: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for configuration in plan["configurations"].as_array_mut().unwrap() {
        let configuration = configuration.as_object_mut().unwrap();
        assert!(configuration.remove("ground").is_some(), "{configuration:?}");
        assert!(configuration.remove("modelled").is_some(), "{configuration:?}");
    }
    fs::write(&path, plan.to_string()).unwrap();
    assert_eq!(lab::read(&place.run()).unwrap().plan, run.plan);
}
