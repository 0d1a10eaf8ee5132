//! Cells with file systems: suites in folders of stacks that are served to the kernel, and what is
//! left behind: nothing.

#![expect(
    clippy::disallowed_methods,
    reason = "waits for another process; a test that hangs says less than one that fails"
)]
#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::{NoObserver, Observer, Outcome, Progress, RunEnd, RunOptions};
use results::{Plan, Trial};

use crate::support::serve_with;

/// One file system on files of this machine, and one that no kernel mounts with these options.
const PLAN: &str = r#"schema = 1
name = "cells"
[members.files]
files = { count = 2, size = "24MiB" }
[matrix]
level = "raid0"
chunk = "64KiB"
file_system = "ext4"
mount_options = ["defaults", "dax=always"]
policy = ["quick", "performance"]
[baseline]
policy = "performance"
mount_options = "defaults"
[[workload]]
suite = "copy"
bytes = "1MiB"
[[workload]]
suite = "crystal"
profile = "peak"
size = "4MiB"
time = "20ms"
interval = "0s"
runs = 2
[trials]
blocks = 2
"#;

/// The same with the file system in an image of fixed size, in another one.
fn nested_plan() -> String {
    let image = "image = \"vhd\"\nimage_size = \"16MiB\"\nimage_io = \"direct\"\n\
        outer_file_system = \"ext4\"\n";
    let plan = PLAN.replace("[baseline]", &format!("{image}[baseline]"));
    plan.replace("24MiB", "64MiB").replace("\"raid0\"\nchunk = \"64KiB\"", "\"raid1\"")
}

struct CellFolder(tempfile::TempDir);

impl CellFolder {
    fn new(plan: &str) -> CellFolder {
        let place = CellFolder(tempfile::tempdir().unwrap());
        fs::write(place.plan(), plan).unwrap();
        place
    }

    fn plan(&self) -> PathBuf {
        self.0.path().join("plan.toml")
    }

    fn run(&self) -> PathBuf {
        self.0.path().join("runs/run")
    }

    fn start(&self, overrides: &[&str], stop: &AtomicBool, observer: &mut dyn Observer) -> Outcome {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let resolved = lab::plan::load(&self.plan(), &overrides).unwrap();
        lab::start(&resolved, &options(self.0.path(), Some(self.run())), stop, observer).unwrap()
    }

    #[track_caller]
    fn assert_nothing_left_behind(&self) {
        let own = self.0.path().to_string_lossy().into_owned();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(&own), "mounts were left behind: {mounts}");
        for entry in fs::read_dir("/sys/block").unwrap() {
            let backing = fs::read_to_string(entry.unwrap().path().join("loop/backing_file"))
                .unwrap_or_default();
            assert!(!backing.contains(&own), "a loop device was left behind over {backing}");
        }
        let files: Vec<_> = fs::read_dir(self.run())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(
            !files
                .iter()
                .any(|name| ["attached", "members", "cleanup.jsonl"].contains(&name.as_str())),
            "{files:?}"
        );
    }
}

fn options(place: &Path, output: Option<PathBuf>) -> RunOptions {
    RunOptions { output, serve_with: Some(serve_with(place)), ..RunOptions::default() }
}

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

/// Whether this machine lets us mount; elsewhere a skip with its reason, and a failure where it has
/// to be possible.
fn possible() -> bool {
    let root = rustix::process::geteuid().is_root();
    let there = root && Path::new("/dev/fuse").exists() && Path::new("/dev/loop-control").exists();
    if !there {
        testkit::missing!("mounting needs root, /dev/fuse and loop devices");
    }
    there
}

fn of<'a>(trials: &'a [Trial], options: &str) -> Vec<&'a Trial> {
    trials.iter().filter(|trial| trial.settings["mount_options"] == options).collect()
}

/// Loop devices over files of a place.
fn loop_devices(place: &Path) -> Vec<PathBuf> {
    let own = place.to_string_lossy().into_owned();
    let over_own = |folder: &PathBuf| {
        fs::read_to_string(folder.join("loop/backing_file")).is_ok_and(|over| over.contains(&own))
    };
    let folders = fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap().path());
    let devices = folders.filter(over_own);
    devices.map(|folder| Path::new("/dev").join(folder.file_name().unwrap())).collect()
}

/// Somebody opens devices of the run and keeps them open until it is over, another process has all
/// that is mounted in a namespace of its own, and all drives are asked about all the time, as by
/// `drives` and the page: as programs that look at drives do, for longer.
#[test]
fn who_looks_at_a_device_does_not_end_the_run() {
    if !possible() {
        return;
    }
    let place = CellFolder::new(&PLAN.replace("[\"defaults\", \"dax=always\"]", "\"defaults\""));
    let path = place.0.path().to_owned();
    let is_over = std::sync::Arc::new(AtomicBool::new(false));
    let looks = std::sync::Arc::clone(&is_over);
    let looker = std::thread::spawn(move || {
        let (mut held, mut spaces) = (BTreeMap::new(), Vec::new());
        while !looks.load(Ordering::Relaxed) {
            for device in loop_devices(&path) {
                let sequence = export::loop_device::sequence(&device);
                if held.contains_key(&sequence) || held.len() > 1 {
                    continue;
                }
                if let Ok(file) = fs::File::open(&device) {
                    held.insert(sequence, file);
                    let mut space = Command::new("unshare");
                    space.args(["--mount", "--propagation", "private", "sleep", "600"]);
                    spaces.push(space.spawn().unwrap());
                }
            }
            std::thread::yield_now();
        }
        (held, spaces)
    });
    let (path, asks) = (place.0.path().to_owned(), std::sync::Arc::clone(&is_over));
    let asker = std::thread::spawn(move || {
        let mut asked = 0;
        while !asks.load(Ordering::Relaxed) {
            let own = loop_devices(&path);
            let is_own = |drive: &&host::guard::Drive| own.contains(&drive.path);
            asked += host::guard::drives().iter().filter(is_own).count();
        }
        asked
    });
    let outcome = place.start(&[], &never(), &mut NoObserver);
    is_over.store(true, Ordering::Relaxed);
    let ((held, spaces), asked) = (looker.join().unwrap(), asker.join().unwrap());
    assert!(asked > 0, "no device of the run was asked about");
    assert_eq!(outcome.ended, RunEnd::Complete, "{:?}", outcome.run.notes);
    assert!(!held.is_empty(), "nothing was looked at");
    assert!(outcome.run.trials.iter().all(|trial| !trial.metrics.is_empty()));
    drop(held);
    for mut space in spaces {
        space.kill().unwrap();
        space.wait().unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while !loop_devices(place.0.path()).is_empty() {
        assert!(Instant::now() < deadline, "a device is there without a user");
        std::thread::yield_now();
    }
    place.assert_nothing_left_behind();
}

#[test]
fn suites_run_in_folders_and_what_cannot_be_had_says_why() {
    if !possible() {
        return;
    }
    let place = CellFolder::new(PLAN);
    let outcome = place.start(&[], &never(), &mut NoObserver);
    assert_eq!(outcome.ended, RunEnd::Complete);
    let run = &outcome.run;
    // copy has three rows, the profile of crystal four, each direct and buffered.
    assert_eq!(run.trials.len(), 4 * (3 + 8) * 2);
    for trial in of(&run.trials, "defaults") {
        assert!(trial.metrics["operations_count"] > 0.0 && trial.members.len() == 2, "{trial:?}");
        assert!(!trial.flags.iter().any(|doubt| doubt.why_not_measured().is_some()), "{trial:?}");
    }
    let direct: Vec<&Trial> = of(&run.trials, "defaults")
        .into_iter()
        .filter(|trial| trial.workload == "crystal: SEQ1M Q8T1 write")
        .collect();
    assert_eq!(direct.len(), 4);
    for trial in direct {
        // What the kernel writes of the file system meanwhile comes on top.
        let ratio = trial.metrics["member_write_ratio"];
        assert!(
            (0.99..1.9).contains(&ratio),
            "past the page cache, what was asked for is what was moved: {trial:?}"
        );
        assert!(trial.members.iter().all(|member| member.written_bytes >= 4 << 20), "{trial:?}");
    }
    // How much of the file the page cache has by then depends on the machine's speed.
    let buffered: Vec<&Trial> = of(&run.trials, "defaults")
        .into_iter()
        .filter(|trial| trial.workload == "crystal: RND4K Q32T1 read buffered")
        .collect();
    let is_flagged =
        |trial: &Trial| trial.flags.iter().any(|doubt| doubt.code() == "read-from-cache");
    for &trial in &buffered {
        assert!(is_flagged(trial) || trial.metrics["member_read_ratio"] > 0.9, "{trial:?}");
    }
    assert!(buffered.iter().any(|trial| is_flagged(trial)), "{buffered:?}");
    for trial in of(&run.trials, "dax=always") {
        assert!(trial.metrics.is_empty() && why(trial).starts_with("mount: "), "{trial:?}");
    }
    assert!(
        run.notes
            .iter()
            .map(words::Text::english)
            .any(|note| note.contains("not measured here") && note.contains("dax=always")),
        "{:?}",
        run.notes
    );
    place.assert_nothing_left_behind();
}

#[test]
fn a_plan_of_which_nothing_can_be_measured_here_is_refused_before_its_first_trial() {
    let place = CellFolder::new(PLAN);
    let resolved = lab::plan::load(&place.plan(), &["trials.blocks=1".to_owned()]).unwrap();
    let options = RunOptions { serve_with: None, ..options(place.0.path(), Some(place.run())) };
    let error = lab::start(&resolved, &options, &never(), &mut NoObserver).unwrap_err().to_string();
    assert!(error.starts_with("nothing of this plan can be measured here: "), "{error}");
    assert_eq!(error.matches("nothing was named that serves").count(), 1, "{error}");
    assert!(!place.run().exists(), "a run without a trial is no run");
}

/// Why a trial was not measured.
fn why(trial: &Trial) -> String {
    trial.flags[0].why_not_measured().expect("it was not measured").english()
}

/// Sets the flag at the first trial that was measured.
struct StopAtOnce<'a>(&'a AtomicBool);

impl Observer for StopAtOnce<'_> {
    fn trial_recorded(&mut self, _: &Plan, _: &Progress<'_>, trial: &Trial) {
        if !trial.metrics.is_empty() {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

const ONE: [&str; 2] = ["matrix.mount_options=defaults", "baseline={policy=\"performance\"}"];

#[test]
fn a_stopped_cell_is_unmounted_and_resumed() {
    if !possible() {
        return;
    }
    let place = CellFolder::new(PLAN);
    let stop = never();
    let outcome = place.start(&ONE, &stop, &mut StopAtOnce(&stop));
    let trials = &outcome.run.trials;
    assert_eq!((outcome.ended, trials.len()), (RunEnd::Interrupted, 1), "{trials:#?}");
    place.assert_nothing_left_behind();
    let resumed =
        lab::resume(&place.run(), &options(place.0.path(), None), &never(), &mut NoObserver)
            .unwrap();
    assert_eq!((resumed.ended, resumed.run.trials.len()), (RunEnd::Complete, 2 * 11 * 2));
    assert_eq!(resumed.run.trials[0], outcome.run.trials[0]);
    place.assert_nothing_left_behind();
}

/// In a process of its own, this starts the run in the folder that the environment names; otherwise
/// it does nothing.
#[test]
fn child_process() {
    let Some(folder) = std::env::var_os("RAIDLOOM_TEST_PLACE").map(PathBuf::from) else { return };
    let resolved = lab::plan::load(&folder.join("plan.toml"), &ONE.map(str::to_owned)).unwrap();
    let options = options(&folder, Some(folder.join("runs/run")));
    lab::start(&resolved, &options, &never(), &mut NoObserver).unwrap();
}

fn child(place: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "cells::child_process", "--nocapture"])
        .env("RAIDLOOM_TEST_PLACE", place);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Processes whose parent is this one, by `/proc/PID/stat`.
fn children(parent: u32) -> Vec<i32> {
    let is_child = |process: &i32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let fields = stat
            .rsplit_once(')')
            .map(|(_, rest)| rest.split_ascii_whitespace().collect::<Vec<_>>());
        fields.is_some_and(|fields| fields.get(1) == Some(&parent.to_string().as_str()))
    };
    let numbers = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    numbers.filter(is_child).collect()
}

#[track_caller]
fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
        std::thread::yield_now();
    }
}

/// Kills a run once its first trial is recorded; with `both`, the process that serves its stack at
/// the same time.
fn killed(place: &CellFolder, both: bool) {
    let mut run = child(place.0.path());
    let record = place.run().join("trials.jsonl");
    wait_until("a trial is recorded", || fs::metadata(&record).is_ok_and(|data| data.len() > 0));
    let servers = children(run.id());
    assert!(!servers.is_empty(), "nothing serves");
    if both {
        for server in &servers {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(*server).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
    }
    run.kill().unwrap();
    assert_eq!(run.wait().unwrap().signal(), Some(9));
    wait_until("the server has ended", || {
        servers.iter().all(|server| {
            // Nobody may be left to wait for it: a zombie has ended.
            fs::read_to_string(format!("/proc/{server}/stat")).map_or(true, |stat| {
                stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
            })
        })
    });
}

/// "What is mounted is unmounted also when the run is killed", by the process that serves it.
#[test]
fn a_killed_run_is_unmounted_by_its_server_and_can_be_resumed() {
    if !possible() {
        return;
    }
    let place = CellFolder::new(PLAN);
    killed(&place, false);
    let own = place.0.path().to_string_lossy().into_owned();
    assert!(
        !fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&own),
        "the server took its mounts away"
    );
    let resumed =
        lab::resume(&place.run(), &options(place.0.path(), None), &never(), &mut NoObserver)
            .unwrap();
    assert_eq!(resumed.run.trials.len(), 2 * 11 * 2);
    place.assert_nothing_left_behind();
}

/// "after `kill -9` the next start undoes them", also where nobody was left to do it.
#[test]
fn what_a_killed_run_and_its_killed_server_left_is_undone_by_the_next_start_beside_it() {
    if !possible() {
        return;
    }
    let place = CellFolder::new(PLAN);
    killed(&place, true);
    let own = place.0.path().to_string_lossy().into_owned();
    assert!(
        fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&own),
        "something has to be left for the next start"
    );
    let mut overrides: Vec<String> = ONE.map(str::to_owned).to_vec();
    overrides.push("trials.blocks=1".to_owned());
    let resolved = lab::plan::load(&place.plan(), &overrides).unwrap();
    let beside = place.0.path().join("runs/beside");
    let options = options(place.0.path(), Some(beside));
    lab::start(&resolved, &options, &never(), &mut NoObserver).unwrap();
    place.assert_nothing_left_behind();
}

/// Loop devices over what a server of this place serves or has in an image, and whether the kernel
/// flushes them.
fn loops(place: &Path) -> Vec<(PathBuf, PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/sys/block").unwrap() {
        let device = entry.unwrap().path();
        let backing = fs::read_to_string(device.join("loop/backing_file")).unwrap_or_default();
        if Path::new(backing.trim_end()).starts_with(place) {
            let cache = fs::read_to_string(device.join("queue/write_cache")).unwrap();
            found.push((device, backing.trim_end().into(), cache.trim_end().to_owned()));
        }
    }
    found
}

/// Looks at the loop devices of each trial, and keeps the names of those that are not flushed.
struct Flushed<'a> {
    place: &'a Path,
    told: Vec<PathBuf>,
}

impl Observer for Flushed<'_> {
    fn trial_recorded(&mut self, _: &Plan, _: &Progress<'_>, trial: &Trial) {
        let quick = trial.settings["policy"] == "quick";
        let found = loops(self.place);
        assert_eq!(found.len(), 2, "the array's, and the image's: {found:?}");
        for (device, backing, cache) in found {
            // What is durable by itself needs no flush; an image in a file system may.
            let expected =
                if quick && backing.ends_with("disk") { "write through" } else { "write back" };
            assert_eq!(cache, expected, "{}: {trial:?}", backing.display());
            if backing.ends_with("image.vhd") {
                let taken = fs::metadata(&backing).unwrap().blocks() * 512;
                assert!(taken >= 16 << 20, "it was written whole and stays so: {taken}");
            }
            if !self.told.contains(&device) {
                self.told.push(device);
            }
        }
    }
}

/// "an image (VHD) inside a file system on the stick": the suites work in the inner one, members
/// move what both write, and the drive of quick removal needs no flushes until it is gone.
#[test]
fn suites_run_in_an_image_in_a_file_system() {
    if !possible() {
        return;
    }
    let place = CellFolder::new(&nested_plan());
    let mut observer = Flushed { place: place.0.path(), told: Vec::new() };
    let overrides = [&ONE[..], &["trials.blocks=1"]].concat();
    let outcome = place.start(&overrides, &never(), &mut observer);
    let run = &outcome.run;
    assert_eq!((outcome.ended, run.trials.len()), (RunEnd::Complete, 2 * 11));
    for trial in &run.trials {
        assert!(trial.metrics["operations_count"] > 0.0, "{trial:?}");
        assert_eq!(trial.settings["image"], "vhd");
    }
    let direct = run.trials.iter().filter(|trial| trial.workload == "crystal: SEQ1M Q8T1 write");
    for trial in direct {
        // Past the page caches of both.
        let ratio = trial.metrics["member_write_ratio"];
        assert!((1.98..2.9).contains(&ratio), "a mirror's two copies of each byte: {trial:?}");
    }
    // The kernel keeps what it was told for the next use of a device.
    for device in observer.told {
        let cache = fs::read_to_string(device.join("queue/write_cache")).unwrap();
        let is_free = !device.join("loop/backing_file").exists();
        assert!(!is_free || cache.trim_end() == "write back", "{}: {cache}", device.display());
    }
    place.assert_nothing_left_behind();
}

/// The same after kills: of the run, whose server takes it all away in order, and of both, after
/// which the next start does.
#[test]
fn nothing_is_left_of_an_image_whose_run_was_killed() {
    if !possible() {
        return;
    }
    for both in [false, true] {
        let place = CellFolder::new(&nested_plan());
        killed(&place, both);
        let left = loops(place.0.path());
        assert_eq!(left.len(), if both { 2 } else { 0 }, "killed both: {both}: {left:?}");
        let resumed =
            lab::resume(&place.run(), &options(place.0.path(), None), &never(), &mut NoObserver)
                .unwrap();
        assert_eq!(resumed.run.trials.len(), 2 * 11 * 2);
        assert!(resumed.run.trials.iter().all(|trial| !trial.metrics.is_empty()));
        place.assert_nothing_left_behind();
    }
}

/// An image that does not fit is found out before the first trial, and nothing of it is left.
#[test]
fn an_image_that_does_not_fit_is_not_measured() {
    if !possible() {
        return;
    }
    let plan = nested_plan().replace("image_size = \"16MiB\"", "image_size = \"60MiB\"");
    let place = CellFolder::new(&plan);
    let overrides = [&ONE[..], &["trials.blocks=1"]].concat();
    let overrides: Vec<String> = overrides.iter().map(|&one| one.to_owned()).collect();
    let resolved = lab::plan::load(&place.plan(), &overrides).unwrap();
    let options = options(place.0.path(), Some(place.run()));
    let error = lab::start(&resolved, &options, &never(), &mut NoObserver).unwrap_err().to_string();
    let said = "an image of 60MiB does not fit into the file system";
    assert!(
        error.contains("nothing of this plan can be measured") && error.contains(said),
        "{error}"
    );
    assert!(!place.run().exists(), "a run without a trial is no run");
}
