//! A run as an array job of Slurm. Debian's munged, slurmctld and two slurmd are started
//! for it on this machine, on loopback, in a folder of their own, and end with the test.
//!
//! ```text
//!   munged ── slurmctld ──┬── slurmd "one" ── tasks ── raidloom run --shard 1/8, 2/8, …
//!                         └── slurmd "two" ── a task, killed with its node in the middle
//! ```

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// 20 configurations x 10 workloads: 200 cells, twice.
const PLAN: &str = r#"schema = 1
name = "cells"
[members.maxtor]
models = ["maxtor-6y200p0", "maxtor-6y200p0"]
[matrix]
level = "raid0"
chunk = { from = "4KiB", to = "1MiB", times = 2 }
depth = [1, 32]
[[add]]
level = "single"
[baseline]
level = "single"
[[workload]]
suite = "devtest"
tests = ["sequential read at start 16384", "sequential read at end 16384", "random read 512",
    "random read 16384", "random read 65536", "random write 512", "random write 16384",
    "random write 65536", "mixed 90:10", "mixed 50:50"]
time = "30s"
ramp = "0s"
[trials]
blocks = 2
"#;
const TRIALS: u64 = 400;
const SHARDS: u64 = 8;

/// The programs of Slurm that the test uses, wherever Debian puts them.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(more)
        .map(|folder| folder.join(name))
        .find(|path| path.exists())
}

/// A cluster of two nodes that are both this machine.
struct Cluster {
    folder: tempfile::TempDir,
    munge: Child,
    control: Child,
    nodes: Vec<Child>,
}

/// Asks a daemon to end, and waits until it has.
fn ends(child: &mut Child) {
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let _ = child.wait();
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A task does not end with the daemon of its node.
        ends(&mut self.control);
        self.nodes.iter_mut().for_each(ends);
        while !self.tasks().is_empty() {
            for pid in self.tasks() {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        ends(&mut self.munge);
    }
}

/// Ports that were free a moment ago.
fn ports<const COUNT: usize>() -> [u16; COUNT] {
    let free = [(); COUNT].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    free.map(|listener| listener.local_addr().unwrap().port())
}

impl Cluster {
    /// Starts one, and returns when both nodes take work; `None` where Slurm is not installed.
    fn start() -> Option<Cluster> {
        let programs = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo"];
        if let Some(missing) = programs.into_iter().find(|name| program(name).is_none()) {
            testkit::missing!(
                "{missing} is not there: apt-get install munge slurmctld slurmd slurm-client"
            );
            return None;
        }
        // In memory: every trial is synced, and a disk that others use would make that most of the
        // time.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        // Its daemons ask for folders that others may pass.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::write(at("munge.key"), [7; 128]).unwrap();
        fs::set_permissions(at("munge.key"), fs::Permissions::from_mode(0o600)).unwrap();
        for name in ["state", "spool-one", "spool-two"] {
            fs::create_dir(at(name)).unwrap();
        }
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        let user = String::from_utf8(user).unwrap().trim().to_owned();
        let [control, one, two] = ports();
        let config = format!(
            "ClusterName=test\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={control}\n\
            AuthType=auth/munge\nAuthInfo=socket={}\nSlurmUser={user}\nSlurmdUser={user}\n\
            StateSaveLocation={}\nSlurmdSpoolDir={}\nSlurmctldPidFile={}\nSlurmdPidFile={}\n\
            ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
            JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
            SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nMpiDefault=none\n\
            SchedulerType=sched/builtin\nSchedulerParameters=sched_interval=1,batch_sched_delay=0\n\
            ReturnToService=2\nKillWait=1\nSlurmdParameters=config_overrides\n\
            NodeName=one NodeHostname=localhost NodeAddr=127.0.0.1 Port={one} CPUs=2\n\
            NodeName=two NodeHostname=localhost NodeAddr=127.0.0.1 Port={two} CPUs=1\n\
            PartitionName=all Nodes=one,two Default=YES MaxTime=INFINITE State=UP\n",
            at("munge.socket"),
            at("state"),
            at("spool-%n"),
            at("control.pid"),
            at("node-%n.pid"),
        );
        fs::write(at("slurm.conf"), config).unwrap();
        let munge = daemon(folder.path(), "munged")
            .args(["--foreground", "--force", "--num-threads=1"])
            .args([format!("--key-file={}", at("munge.key"))])
            .args([format!("--socket={}", at("munge.socket"))])
            .args([format!("--pid-file={}", at("munge.pid"))])
            .args([format!("--log-file={}", at("munge.log"))])
            .args([format!("--seed-file={}", at("munge.seed"))])
            .spawn()
            .unwrap();
        while !Path::new(&at("munge.socket")).exists() {
            std::thread::yield_now();
        }
        let control = daemon(folder.path(), "slurmctld").args(["-D", "-i"]).spawn().unwrap();
        let mut cluster = Cluster { folder, munge, control, nodes: Vec::new() };
        cluster.nodes = ["one", "two"].map(|name| cluster.node(name)).into();
        cluster.until("two nodes that are idle", |cluster| {
            let said = cluster.command("sinfo").args(["-h", "-N", "-o", "%t"]).output().unwrap();
            String::from_utf8_lossy(&said.stdout).lines().eq(["idle", "idle"])
        });
        Some(cluster)
    }

    fn node(&self, name: &str) -> Child {
        daemon(self.folder.path(), "slurmd").args(["-D", "-N", name]).spawn().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn command(&self, name: &str) -> Command {
        inside(self.folder.path(), name)
    }

    fn raidloom(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_raidloom"));
        command.args(["--quiet"]).args(arguments).output().unwrap()
    }

    fn watch(&self) -> Value {
        let said = self.raidloom(&["run", "watch", "--json", "sweep"]);
        serde_json::from_slice(&said.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&said.stderr)))
    }

    /// Looks again and again; each look takes the time of some processes.
    fn until(&self, what: &str, is_so: impl Fn(&Cluster) -> bool) {
        for _ in 0..5000 {
            if is_so(self) {
                return;
            }
        }
        let logs = ["munged.out", "slurmctld.out", "slurmd.out"].map(|name| self.log(name));
        panic!("no {what}: {}", logs.concat());
    }

    /// The processes of tasks and of Slurm above them: all that work in its folder or below and
    /// are none of its daemons.
    fn tasks(&self) -> Vec<Pid> {
        let known = [&self.munge, &self.control].into_iter().chain(&self.nodes);
        let known: Vec<Pid> =
            known.map(Pid::from_child).chain([rustix::process::getpid()]).collect();
        let is_here = |pid: &Pid| {
            let place = fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero()));
            place.is_ok_and(|place| place.starts_with(self.folder.path()))
        };
        let names = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
        names
            .filter_map(|name| Pid::from_raw(name.to_str()?.parse().ok()?))
            .filter(|pid| !known.contains(pid) && is_here(pid))
            .collect()
    }
}

/// A program that finds this cluster, in its folder.
fn inside(folder: &Path, name: &str) -> Command {
    let mut command = Command::new(program(name).unwrap_or_else(|| name.into()));
    command.current_dir(folder).env("SLURM_CONF", folder.join("slurm.conf")).stdin(Stdio::null());
    command
}

/// One that stays; what it says goes to `NAME.out`.
fn daemon(folder: &Path, name: &str) -> Command {
    let out = folder.join(format!("{name}.out"));
    let out = fs::OpenOptions::new().create(true).append(true).open(out).unwrap();
    let mut command = inside(folder, name);
    command.stdout(out.try_clone().unwrap()).stderr(out);
    command
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
}

/// Kills the second node and its task in the middle of a shard: which.
fn lose_second_node(cluster: &mut Cluster) -> u64 {
    let on_two = |cluster: &Cluster| {
        let mut queue = cluster.command("squeue");
        queue.args(["-h", "-r", "-w", "two", "-t", "R", "-o", "%K"]);
        let said = String::from_utf8(queue.output().unwrap().stdout).unwrap();
        let number: u64 = said.lines().next()?.trim().parse().ok()?;
        let watched = cluster.watch();
        let shard = watched["shards"].get(number as usize - 1)?.clone();
        let process = shard["now"]["process"].as_i64()?;
        (shard["trials_finished"].as_u64()? > 0).then_some((number, process as i32))
    };
    let mut found = None;
    while found.is_none() {
        found = on_two(cluster);
        let stage = cluster.watch()["stage"].as_str().unwrap().to_owned();
        assert!(stage == "running" || stage == "waiting", "{stage}");
    }
    let (number, process) = found.unwrap();
    let task = Pid::from_raw(process).unwrap();
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    let step = Pid::from_raw(parent.trim().parse().unwrap()).unwrap();
    cluster.nodes[1].kill().unwrap();
    cluster.nodes[1].wait().unwrap();
    for pid in [step, task] {
        kill_process(pid, Signal::KILL).unwrap();
    }
    number
}

/// "A plan of 200 modelled cells in 8 shards, kills one in the middle, and compares." "Requeue
/// after a node fails goes on like `--resume`."
#[test]
fn an_array_job_that_lost_a_node_in_the_middle_is_the_run_of_one_machine_to_the_byte() {
    let Some(mut cluster) = Cluster::start() else { return };
    fs::write(cluster.path("plan.toml"), PLAN).unwrap();
    let refused = cluster.raidloom(&["run", "plan.toml", "--on", "slurm", "--partition", "none"]);
    assert_eq!(
        said(&refused),
        "raidloom: sbatch: invalid partition specified: none; Batch job submission failed: Invalid \
        partition name specified"
    );
    assert!(!cluster.path("raidloom-runs").read_dir().is_ok_and(|mut runs| runs.next().is_some()));

    let shards = SHARDS.to_string();
    let submitted = ["--json", "run", "plan.toml", "--on", "slurm", "--partition", "all"];
    let submitted =
        cluster.raidloom(&[&submitted[..], &["--shards", &shards, "--output", "sweep"]].concat());
    let submitted = json(&submitted);
    assert_eq!((&submitted["shards"], &submitted["trials"]), (&SHARDS.into(), &TRIALS.into()));
    let job = submitted["job"].as_str().unwrap().to_owned();

    let number = lose_second_node(&mut cluster);
    let part = cluster.path(&format!("sweep/part{number}/trials.jsonl"));
    let there = fs::read_to_string(&part).unwrap();
    assert!((1..TRIALS as usize / 8).contains(&there.lines().count()), "in the middle");
    let scontrol = |cluster: &Cluster, arguments: &[&str]| {
        let status = cluster.command("scontrol").args(arguments).status().unwrap();
        assert!(status.success(), "{arguments:?}");
    };
    scontrol(&cluster, &["update", "nodename=two", "state=down", "reason=killed"]);
    // Slurm waits two minutes before it starts a task again; the other node does it.
    scontrol(&cluster, &["update", &format!("jobid={job}_{number}"), "starttime=now"]);

    // It shows the whole, with a line for each change, and ends when all has ended.
    let watched = cluster.raidloom(&["run", "watch", "sweep"]);
    let watched = String::from_utf8(watched.stdout).unwrap();
    assert!(watched.contains(&format!("job {job}, {SHARDS} shards: ")), "{watched}");
    let end =
        format!("cells: finished, {TRIALS} of {TRIALS} trials; raidloom run merge sweep -o DIR\n");
    assert!(watched.ends_with(&end), "{watched}{}", cluster.log("slurmctld.out"));
    let log = fs::read_to_string(cluster.path(&format!("sweep/log/{number}.txt"))).unwrap();
    assert!(log.contains("trials there already"), "it went on: {log}");
    let after = fs::read_to_string(&part).unwrap();
    let whole_lines = there.rfind('\n').map_or("", |end| &there[..=end]);
    assert!(after.starts_with(whole_lines) && after.len() > there.len());
    let nothing_left = cluster.raidloom(&["run", "--on", "slurm", "--resume", "sweep"]);
    let nothing_left = said(&nothing_left);
    let end = "every shard is finished, under way or in the queue";
    assert!(nothing_left.ends_with(end), "{nothing_left}");

    json(&cluster.raidloom(&["--json", "run", "merge", "sweep", "--output", "joined"]));
    json(&cluster.raidloom(&["--json", "run", "plan.toml", "--output", "alone"]));
    for name in ["trials.jsonl", "plan.toml", "plan.resolved.json"] {
        let of = |run: &str| fs::read(cluster.path(run).join(name)).unwrap();
        assert!(of("joined") == of("alone"), "{name} differs");
    }
}

/// What was cancelled is submitted again: those shards alone.
#[test]
fn what_is_left_of_a_job_is_submitted_again() {
    let Some(cluster) = Cluster::start() else { return };
    fs::write(cluster.path("plan.toml"), PLAN).unwrap();
    let submit = ["--json", "run", "plan.toml", "--on", "slurm", "--nodes", "1", "--shards", "4"];
    // Only the first node takes work, one task at a time: the others wait.
    let submitted = json(&cluster.raidloom(&[&submit[..], &["-o", "sweep"]].concat()));
    let again = said(&cluster.raidloom(&[&submit[..], &["-o", "sweep"]].concat()));
    let job = submitted["job"].as_str().unwrap();
    assert!(again.contains(&format!("is that of job {job}; look at it")), "{again}");
    cluster.until("waiting task", |cluster| {
        let shards = cluster.watch()["shards"].clone();
        shards.as_array().unwrap().iter().any(|shard| shard["stage"] == "waiting")
    });
    let cancelled = cluster.command("scancel").arg(format!("{job}_[3-4]")).status().unwrap();
    assert!(cancelled.success());
    cluster.until("task that was cancelled", |cluster| {
        cluster.watch()["shards"][3]["stage"] == "interrupted"
    });
    let again = cluster.raidloom(&["--json", "run", "--on", "slurm", "--resume", "sweep"]);
    let again = json(&again);
    assert_eq!((&again["submitted"], &again["shards"]), (&2.into(), &4.into()));
    assert_ne!(again["job"], submitted["job"]);
    cluster.raidloom(&["run", "watch", "sweep"]);
    assert_eq!(cluster.watch()["stage"], "finished");
}
