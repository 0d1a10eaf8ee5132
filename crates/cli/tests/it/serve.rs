//! Arrays that run, driven as their users drive them: the program itself, real loop devices, kills.

#![expect(
    clippy::disallowed_methods,
    reason = "waits for another process; a test that hangs says less than one that fails"
)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use array::md::Superblock;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A folder of images with a runtime folder of its own. Whatever runs in it ends with it, however a
/// test ends.
struct Bench {
    folder: tempfile::TempDir,
}

/// A bench, or none where the machine cannot attach anything; that fails in CI, where it has to.
fn bench() -> Option<Bench> {
    let reason = match () {
        () if !rustix::process::geteuid().is_root() => {
            Some("only root may mount and make loop devices")
        }
        () if !Path::new("/dev/fuse").exists() => Some("there is no /dev/fuse"),
        () if !Path::new("/dev/loop-control").exists() => {
            Some("there are no loop devices (/dev/loop-control)")
        }
        () => None,
    };
    if let Some(reason) = reason {
        testkit::missing!("{reason}");
        return None;
    }
    Some(Bench { folder: tempfile::tempdir().unwrap() })
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn runtime(&self) -> PathBuf {
        self.path("run")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command
            .env("RAIDLOOM_RUNTIME_DIR", self.runtime())
            .env("RAIDLOOM_CONFIG_DIR", self.folder.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that succeeds; what it printed.
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that ends with this exit code; what it said.
    fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said
    }

    fn status(&self, name: &str) -> Value {
        let all: Value =
            serde_json::from_str(&self.ok(&["array", "status", "--json", name])).unwrap();
        all[0].clone()
    }

    fn device(&self, name: &str) -> PathBuf {
        PathBuf::from(self.status(name)["attached"]["block_device"].as_str().unwrap())
    }

    fn kill(&self, name: &str) {
        let process = fs::read_to_string(self.runtime().join(name).join("lock")).unwrap();
        kill_process(Pid::from_raw(process.trim().parse().unwrap()).unwrap(), Signal::KILL)
            .unwrap();
    }

    fn image(&self, name: &str, mebibytes: u64) {
        File::create(self.path(name)).unwrap().set_len(mebibytes << 20).unwrap();
    }

    fn is_clean(&self) -> bool {
        fs::read_dir(self.runtime()).map_or(0, Iterator::count) == 0
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for folder in fs::read_dir(self.runtime()).into_iter().flatten().flatten() {
            let process = fs::read_to_string(folder.path().join("lock"))
                .ok()
                .and_then(|text| text.trim().parse().ok());
            if let Some(process) = process.and_then(Pid::from_raw) {
                let _ = kill_process(process, Signal::KILL);
            }
        }
        // The next command undoes what the killed have left.
        let _ = self.run(&["array", "status"]);
    }
}

/// Bytes that tell their place.
fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length)
        .map(|index| {
            (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) as u8 ^ seed
        })
        .collect()
}

fn write(device: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(device).unwrap();
    file.write_all(bytes).unwrap();
    file.sync_all().unwrap();
}

fn holds(device: &Path, bytes: &[u8]) -> bool {
    let mut found = vec![0; bytes.len()];
    File::open(device).unwrap().read_exact(&mut found).unwrap();
    found == bytes
}

#[test]
fn what_is_written_is_there_after_the_next_start_and_nothing_is_left_behind() {
    let Some(bench) = bench() else { return };
    let said = bench.ok(&[
        "array",
        "start",
        "--attach",
        "--create",
        "--name",
        "pair",
        "raid0(a.img?size=8MiB, b.img?size=8MiB)",
    ]);
    let device = bench.device("pair");
    assert!(said.starts_with(&format!("pair: 16MiB at {}, process ", device.display())), "{said}");
    let bytes = pattern(16 << 20, 1);
    write(&device, &bytes);
    bench.ok(&["array", "stop", "pair"]);
    assert!(bench.is_clean());

    bench.ok(&[
        "array",
        "start",
        "--attach=file",
        "--read-only",
        "--name",
        "pair",
        "raid0(a.img, b.img)",
    ]);
    let file = bench.runtime().join("pair/disk");
    assert!(holds(&file, &bytes));
    assert!(OpenOptions::new().write(true).open(&file).is_err(), "it is read-only");
    assert_eq!(bench.status("pair")["attached"]["block_device"], Value::Null);
    bench.ok(&["array", "stop", "pair"]);
    assert!(bench.is_clean());
}

#[test]
fn a_killed_server_gives_errors_and_the_next_one_finds_what_was_durable() {
    let Some(bench) = bench() else { return };
    let start = [
        "array",
        "start",
        "--attach",
        "--create",
        "--size",
        "8MiB",
        "--name",
        "pair",
        "linear(a.img, b.img)",
    ];
    bench.ok(&start);
    let bytes = pattern(4 << 20, 2);
    write(&bench.device("pair"), &bytes);
    let file = bench.runtime().join("pair/disk");
    bench.kill("pair");
    assert!(
        File::open(&file).and_then(|mut file| file.read(&mut [0; 512])).is_err(),
        "nobody serves it, and nobody waits"
    );
    assert!(bench.fails(1, &["array", "status", "pair"]).contains("its server has died"));
    bench.ok(&start);
    assert!(holds(&bench.device("pair"), &bytes));
    bench.kill("pair");
    bench.ok(&["array", "stop", "pair"]);
    assert!(bench.is_clean());
}

/// "A host dies, the array is written to without it, the server is killed, and the host comes
/// back": the array starts without it at the first try, writes nothing to it, and takes it back
/// when told.
#[test]
fn an_array_over_nbd_starts_when_its_lost_host_is_back() {
    let Some(bench) = bench() else { return };
    let members = ["a.img", "b.img", "c.img"];
    let create = ["array", "create", "net", "--level", "5", "--size", "8MiB", "--member"];
    bench.ok(&[&create[..], &members].concat());
    let socket = |host: usize| bench.path(&format!("host{host}.sock")).display().to_string();
    let serve = |host: usize| {
        let disk = format!("linear(metadata=none, {})", members[host]);
        let name = format!("host{host}");
        bench.ok(&["array", "start", "--nbd", &socket(host), "--name", &name, &disk]);
    };
    (0..3).for_each(serve);
    let leaf = |host| format!("nbd+unix:///?socket={}&reconnect=2s", socket(host));
    let stack = format!("raid5(metadata=1.2, {}, {}, {})", leaf(0), leaf(1), leaf(2));
    let start = || bench.ok(&["array", "start", "--attach=file", "--name", "net", &stack]);
    start();
    let disk = bench.runtime().join("net/disk");
    write(&disk, &pattern(256 << 10, 1));
    bench.kill("host2");
    let bytes = pattern(256 << 10, 2);
    write(&disk, &bytes);
    // A dirty array that lacks a member is not started without force, for another reason.
    let is_clean = || {
        let mut superblock = vec![0; 4096];
        let member = File::open(bench.path("a.img")).unwrap();
        member.read_exact_at(&mut superblock, 4096).unwrap();
        Superblock::decode(&superblock).unwrap().is_clean()
    };
    let begun = Instant::now();
    while !is_clean() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is never called clean");
        std::thread::yield_now();
    }
    bench.kill("net");
    bench.ok(&["array", "status"]);
    serve(2);
    let before = fs::read(bench.path("c.img")).unwrap();
    start();
    assert!(holds(&disk, &bytes));
    assert_eq!(bench.status("net")["arrays"][0]["slots"], "[UU_]");
    assert!(fs::read(bench.path("c.img")).unwrap() == before, "the stale member was written to");
    bench.ok(&["array", "add", "net", &leaf(2), "--wait"]);
    assert_eq!(bench.status("net")["arrays"][0]["slots"], "[UUU]");
    bench.ok(&["array", "stop", "net"]);
    (0..3).for_each(|host| drop(bench.ok(&["array", "stop", &format!("host{host}")])));
    let found = bench.ok(&["array", "assemble", "--json", "a.img", "b.img", "c.img"]);
    assert!(!found.contains("stale"), "{found}");
}

/// A stack is what it can still do, also where no array tells of it: status, `--test`, list and
/// monitor say one thing.
#[test]
fn a_stack_without_arrays_has_failed_once_what_it_stands_on_is_gone() {
    let Some(bench) = bench() else { return };
    let socket = bench.path("far.sock").display().to_string();
    let leaf = format!("nbd+unix:///?socket={socket}&reconnect=1s");
    let far = ["array", "start", "--nbd", &socket, "--name", "far", "file:far.img"];
    for name in ["far.img", "near.img"] {
        fs::write(bench.path(name), vec![0; 8 << 20]).unwrap();
    }
    for (number, (stack, state, code)) in [
        (leaf.clone(), "failed", 2),
        (format!("linear({leaf}, near.img)"), "failed", 2),
        (format!("cache(ram:1MiB, {leaf})"), "failed", 2),
        (format!("raid1({leaf}, near.img)"), "degraded", 1),
    ]
    .into_iter()
    .enumerate()
    {
        bench.ok(&far);
        bench.ok(&["array", "start", "--attach=file", "--name", "near", &stack]);
        let seen = format!("seen{number}");
        let monitor = ["array", "monitor", "--once", "--state", &seen];
        bench.ok(&monitor);
        assert_eq!(bench.status("near")["state"], "online", "{stack}");
        bench.kill("far");
        let mut read = vec![0; 4096];
        let disk = File::open(bench.runtime().join("near/disk")).unwrap();
        assert_eq!(disk.read_exact_at(&mut read, 0).is_ok(), state == "degraded", "{stack}");
        drop(disk);
        let status = bench.status_that_says("near", &["has failed"]);
        let works = state == "degraded";
        assert_eq!(
            (&status["state"], &status["is_readable"], &status["is_writable"]),
            (&json!(state), &json!(works), &json!(works)),
            "{stack}: {status}"
        );
        assert_eq!(status["missing"].as_array().map(Vec::len), Some(1), "{stack}: {status}");
        assert!(status["missing"][0]["name"].to_string().contains("far.sock"), "{status}");
        bench.fails(code, &["array", "status", "--test", "near"]);
        let said = bench.ok(&["array", "status", "near"]);
        assert!(
            said.contains(&format!("state: {state}")) && said.contains("  lost: nbd"),
            "{said}"
        );
        assert!(bench.ok(&["array", "status"]).contains(state), "{stack}");
        let told = bench.ok(&monitor);
        assert!(told.contains(&format!("near: {state}: ")), "{told}");
        assert!(told.contains("near: event: near: nbd"), "{told}");
        let stopped = bench.run(&["array", "stop", "near"]);
        assert_eq!(stopped.status.success(), works, "{stack}");
        bench.ok(&["array", "status"]);
    }
}

/// One damaged chunk of RAID 6, one wrong copy of three: the scrub says which member is wrong, and
/// the repair mends that one, data and all.
#[test]
fn a_repair_says_which_member_is_wrong_and_mends_it() {
    let Some(bench) = bench() else { return };
    for (level, members) in [
        ("6", &["a.img", "b.img", "c.img", "d.img", "e.img"][..]),
        ("1", &["a.img", "b.img", "c.img"]),
    ] {
        let create = ["array", "create", "net", "--level", level, "--size", "8MiB", "--member"];
        bench.ok(&[&create[..], members].concat());
        let stack = format!("raid{level}(metadata=1.2, {})", members.join(", "));
        let start = || bench.ok(&["array", "start", "--attach=file", "--name", "net", &stack]);
        start();
        let disk = bench.runtime().join("net/disk");
        let bytes = pattern(4 << 20, 5);
        write(&disk, &bytes);
        bench.ok(&["array", "scrub", "net", "--wait"]);
        bench.ok(&["array", "stop", "net"]);
        let sound = fs::read(bench.path("b.img")).unwrap();
        let data_offset = Superblock::decode(&sound[4096..8192]).unwrap().data_offset_sectors * 512;
        let damaged = data_offset + (64 << 10);
        let member = OpenOptions::new().write(true).open(bench.path("b.img")).unwrap();
        member.write_all_at(&pattern(4096, 77), damaged).unwrap();
        drop(member);
        start();
        let said = bench.ok(&["array", "scrub", "net", "--wait"]);
        let place = format!("at {} (4KiB)", block::size_text(damaged));
        assert!(said.contains(&format!("member 1 is wrong {place}")), "{said}");
        let said = bench.ok(&["array", "scrub", "net", "repair", "--wait"]);
        assert!(said.contains(&format!("member 1 was mended {place}")), "{said}");
        let said = bench.ok(&["array", "scrub", "net", "--wait"]);
        assert!(said.contains(" 0 sectors did not agree"), "{said}");
        assert!(holds(&disk, &bytes));
        bench.ok(&["array", "stop", "net"]);
        let mended = fs::read(bench.path("b.img")).unwrap();
        let from = data_offset as usize;
        assert!(mended[from..] == sound[from..], "level {level}: the member is not as it was");
        members.iter().for_each(|member| fs::remove_file(bench.path(member)).unwrap());
    }
}

/// Arrays of arrays are made by one command, and what it prints starts them.
#[test]
fn an_array_of_arrays_is_made_and_started_by_what_is_printed() {
    let Some(bench) = bench() else { return };
    let members = ["raid1(a.img, b.img)", "raid1(c.img, d.img)"];
    let create = ["array", "create", "wide", "-l", "0", "--size", "8MiB", "--json", "--member"];
    let made: Value = serde_json::from_str(&bench.ok(&[&create[..], &members].concat())).unwrap();
    assert_eq!(
        (&made["below"][0]["name"], &made["below"][1]["name"]),
        (&json!("wide-0"), &json!("wide-1"))
    );
    let stack = made["stack"].as_str().unwrap();
    let files = ["d.img", "b.img", "c.img", "a.img"];
    for assemble in [&["array", "assemble"][..], &["array", "assemble", "--scan"]] {
        let found = bench.ok(&[assemble, &["--json"], &files].concat());
        let found: Value = serde_json::from_str(&found).unwrap();
        let said = |number: usize, key: &str| found[number][key].clone();
        assert_eq!((said(2, "name"), said(2, "stack")), (json!("wide"), json!(stack)));
        assert_eq!((said(0, "member_of"), said(2, "member_of")), (json!("wide"), Value::Null));
        assert_eq!((said(2, "state"), said(2, "level")), (json!("online"), json!("raid0")));
    }
    let found = bench.ok(&["array", "assemble", "--scan", "."]);
    assert!(found.contains(" stack: raid0(metadata=1.2, raid1(metadata=1.2, "), "{found}");
    // Without one of each mirror it goes on; without both of one there is nothing.
    bench.ok(&["array", "assemble", "a.img", "d.img"]);
    bench.fails(4, &["array", "assemble", "a.img", "b.img"]);
    bench.fails(4, &["array", "assemble", "--scan", "a.img", "b.img"]);
    let test = ["array", "status", "--test"];
    bench.ok(&[&test[..], &files].concat());
    bench.fails(1, &[&test[..], &files[..3]].concat());
    bench.fails(2, &[&test[..], &["c.img", "d.img"]].concat());
    bench.ok(&["array", "start", "--attach=file", "--name", "wide", stack]);
    let (disk, bytes) = (bench.runtime().join("wide/disk"), pattern(4 << 20, 9));
    write(&disk, &bytes);
    bench.ok(&["array", "fail", "wide", "--array", "wide-0", "1"]);
    assert!(holds(&disk, &bytes));
    bench.ok(&["array", "stop", "wide"]);
    let stack = stack.replace("file:b.img", "missing").replace("file:c.img", "missing");
    bench.ok(&["array", "start", "--attach=file", "--name", "wide", &stack]);
    assert!(holds(&disk, &bytes));
    bench.ok(&["array", "stop", "wide"]);
}

/// A copy of a member that was made while the array was written to, put in its place after an
/// orderly stop: it is not used, and what was written last is there.
#[test]
fn an_old_copy_of_a_member_is_not_believed() {
    let Some(bench) = bench() else { return };
    for (policy, level, members) in [("resync", "1", 2), ("bitmap", "1", 2), ("bitmap", "5", 3)] {
        let members = &["a.img", "b.img", "c.img"][..members];
        let create = ["array", "create", "kept", "--level", level, "--size", "8MiB"];
        let create = [&create[..], &["--consistency-policy", policy, "--member"], members].concat();
        bench.ok(&create);
        let text = format!("raid{level}(metadata=1.2, {})", members.join(", "));
        bench.ok(&["array", "start", "--attach=file", "--name", "kept", &text]);
        let disk = bench.runtime().join("kept/disk");
        // The first write makes it dirty, and the copy comes before it can be called clean.
        let file = OpenOptions::new().read(true).write(true).open(&disk).unwrap();
        let (old, new) = (pattern(4096, 1), pattern(4096, 2));
        let is_dirty = || !bench.status("kept")["arrays"][0]["is_clean"].as_bool().unwrap();
        let copied = (0..1000).any(|_| {
            file.write_all_at(&old, 0).unwrap();
            file.sync_all().unwrap();
            fs::copy(bench.path("a.img"), bench.path("x.img")).unwrap();
            is_dirty()
        });
        assert!(copied, "it was never dirty when it was copied");
        (0..64).for_each(|block| file.write_all_at(&new, block * 4096).unwrap());
        file.sync_all().unwrap();
        drop(file);
        bench.ok(&["array", "stop", "kept"]);
        fs::rename(bench.path("x.img"), bench.path("a.img")).unwrap();
        let assemble = [&["array", "assemble", "--json"][..], members].concat();
        let found: Value = serde_json::from_str(&bench.ok(&assemble)).unwrap();
        assert_eq!(found[0]["members"][0]["state"], "stale", "{policy}, level {level}: {found}");
        let without = text.replacen("a.img", "missing", 1);
        bench.ok(&["array", "start", "--attach=file", "--name", "kept", &without]);
        let file = File::open(&disk).unwrap();
        let mut block = vec![0; 4096];
        for number in 0..64 {
            file.read_exact_at(&mut block, number * 4096).unwrap();
            assert!(block == new, "{policy}, level {level}: block {number}");
        }
        drop(file);
        bench.ok(&["array", "stop", "kept"]);
        members.iter().for_each(|member| fs::remove_file(bench.path(member)).unwrap());
    }
}

#[test]
fn members_and_names_have_one_server() {
    let Some(bench) = bench() else { return };
    bench.image("a.img", 4);
    bench.ok(&["array", "start", "--name", "first", "a.img"]);
    let process = bench.status("first")["process"].to_string();
    let said = bench.fails(4, &["array", "start", "--name", "second", "raid0(a.img, ram:4MiB)"]);
    assert!(said.contains("a.img: it is in use by process ") && said.contains(&process), "{said}");
    let said = bench.fails(4, &["array", "start", "--name", "first", "ram:4MiB"]);
    assert!(
        said.contains(&format!("first: it is running already, as process {process}")),
        "{said}"
    );
    assert_eq!(bench.ok(&["array", "status"]).lines().count(), 2);
    bench.ok(&["array", "stop", "first"]);
    assert!(bench.is_clean());
}

/// A run whose trials leave file systems of three kinds on what they were measured on.
const LEFTOVERS: &str = r#"schema = 1
name = "leftovers"
[members.disks]
files = { count = 3, size = "160MiB" }
[matrix]
level = ["raid0", "raid1", "raid5"]
chunk = "64KiB"
file_system = ["ext4", "ext2"]
[[add]]
level = "single"
file_system = ["ext4", "btrfs"]
[baseline]
level = "single"
file_system = "ext4"
[[workload]]
suite = "copy"
bytes = "1MiB"
[trials]
blocks = 1
"#;

/// "the command that the report prints, `array start --from RUN … --mount`, failed in 10 of 11
/// tries on the very drives that the run had measured, since the last trial left its file system":
/// whatever a layout has left is erased under the consent for it, and never mounted as one's own.
#[test]
fn what_a_run_measured_starts_with_a_file_system_of_its_own() {
    let Some(bench) = bench() else { return };
    fs::write(bench.path("plan.toml"), LEFTOVERS).unwrap();
    bench.ok(&["run", "plan.toml", "-o", "measured"]);
    let point = bench.path("mnt");
    fs::create_dir(&point).unwrap();
    let members = ["a.img", "b.img", "c.img"];
    members.iter().for_each(|name| bench.image(name, 160));
    let mut is_used = false;
    for (level, kind) in [
        ("raid5", "ext4"),
        ("raid5", "ext2"),
        ("raid0", "ext4"),
        ("single", "btrfs"),
        ("single", "ext4"),
        ("raid1", "ext4"),
        ("raid1", "ext2"),
        ("raid0", "ext2"),
        ("raid5", "ext4"),
    ] {
        let cell = format!("level={level},file_system={kind}");
        let count = if level == "single" { 1 } else { 3 };
        let mut words = vec!["array", "start", "--from", "measured", &cell, "--name", "tank"];
        words.extend(["--attach", "--mount", "mnt", "--member"]);
        words.extend(&members[..count]);
        if is_used {
            let said = bench.fails(4, &words);
            assert!(said.contains("--erase-signature"), "{cell}: {said}");
            words.push("--erase-signature");
        }
        bench.ok(&words);
        let names = fs::read_dir(&point).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<_> = names.filter(|name| name != "lost+found").collect();
        assert!(names.is_empty(), "{cell}: {names:?}");
        let table = fs::read_to_string("/proc/self/mounts").unwrap();
        let mounted = format!("{} {kind} ", point.canonicalize().unwrap().display());
        assert!(table.contains(&mounted), "{cell}: {table}");
        fs::write(point.join("own"), "precious").unwrap();
        bench.ok(&["array", "umount", "tank"]);
        bench.ok(&["array", "stop", "tank"]);
        is_used = true;
    }
    // What cannot be mounted is found out before anything is given up for it.
    let before = fs::read(bench.path("a.img")).unwrap();
    for cell in ["level=single,file_system=ext4", "level=raid1,file_system=ext4"] {
        let count = if cell.starts_with("level=single") { 1 } else { 3 };
        let mut words = vec!["array", "start", "--from", "measured", cell, "--name", "tank"];
        words.extend(["--attach", "--mount", "nowhere", "--erase-signature", "--member"]);
        words.extend(&members[..count]);
        let said = bench.fails(2, &words);
        assert!(said.contains("it is no folder to mount on"), "{said}");
        assert!(fs::read(bench.path("a.img")).unwrap() == before, "{cell}");
    }
    assert!(bench.is_clean());
}

#[test]
fn a_mounted_array_is_not_stopped() {
    let Some(bench) = bench() else { return };
    let point = bench.path("mnt");
    fs::create_dir(&point).unwrap();
    bench.ok(&["array", "start", "--attach", "--name", "disk", "ram:32MiB"]);
    let said = bench.ok(&["array", "mount", "disk", "mnt", "--fs", "ext4"]);
    assert!(said.starts_with("disk: ext4 made and mounted at "), "{said}");
    fs::write(point.join("file"), "precious").unwrap();
    let said = bench.fails(4, &["array", "stop", "disk"]);
    assert!(
        said.contains(&format!("it is mounted at {}", point.canonicalize().unwrap().display())),
        "{said}"
    );
    assert!(said.contains("raidloom array umount disk"), "{said}");
    let open = File::open(point.join("file")).unwrap();
    let said = bench.fails(1, &["array", "umount", "disk"]);
    assert!(
        said.contains("busy") && said.contains(&format!("process {} (", std::process::id())),
        "{said}"
    );
    drop(open);
    bench.ok(&["array", "umount", "disk"]);
    assert!(!point.join("file").exists());
    // A second time nothing is made.
    assert!(
        bench
            .ok(&["array", "mount", "disk", "mnt", "--fs", "ext4"])
            .starts_with("disk: ext4 mounted at ")
    );
    assert_eq!(fs::read_to_string(point.join("file")).unwrap(), "precious");
    bench.ok(&["array", "umount", "disk"]);
    // What is there is found.
    assert!(bench.ok(&["array", "mount", "disk", "mnt"]).starts_with("disk: ext4 mounted at "));
    assert_eq!(fs::read_to_string(point.join("file")).unwrap(), "precious");
    bench.ok(&["array", "umount", "disk"]);
    bench.ok(&["array", "stop", "disk"]);
    bench.ok(&["array", "start", "--attach", "--name", "new", "ram:32MiB"]);
    let said = bench.fails(2, &["array", "mount", "new", "mnt"]);
    assert!(said.contains("it holds no file system; --fs KIND makes one"), "{said}");
    bench.ok(&["array", "stop", "new"]);
    assert!(bench.is_clean());
}

/// "tell mkfs chunk and width"; "'wrong fs type' for a mount option
/// that ext4 does not know".
#[test]
fn a_file_system_knows_the_stripes_of_its_array_and_names_options_that_it_does_not_know() {
    let Some(bench) = bench() else { return };
    let point = bench.path("mnt");
    fs::create_dir(&point).unwrap();
    // Stride and stripe width in blocks of 1 KiB; linux/fs/ext4/ext4.h, struct ext4_super_block.
    let told = |name: &str| {
        let mut block = [0; 1024];
        File::open(bench.device(name)).unwrap().read_exact_at(&mut block, 1024).unwrap();
        let stride = u16::from_le_bytes(block[0x164..0x166].try_into().unwrap());
        (stride, u32::from_le_bytes(block[0x170..0x174].try_into().unwrap()))
    };
    let ram = "ram:32MiB, ram:32MiB, ram:32MiB, ram:32MiB";
    for (name, stack, expected) in [
        ("raid5", format!("raid5(chunk=64KiB, {ram})"), (64, 192)),
        ("raid0", format!("raid0(chunk=16KiB, {ram})"), (16, 64)),
        ("raid10", format!("raid10(chunk=16KiB, {ram})"), (16, 32)),
        ("over", format!("raid1(raid0(chunk=16KiB, {ram}), raid0(chunk=16KiB, {ram}))"), (16, 64)),
        // Planted: nothing is dealt out here, and nothing is told.
        ("raid1", "raid1(ram:32MiB, ram:32MiB)".to_owned(), (0, 0)),
    ] {
        bench.ok(&["array", "start", "--attach", "--name", name, &stack]);
        let mount = ["array", "mount", name, "mnt", "--fs", "ext4"];
        let said = bench.fails(2, &[&mount[..], &["-o", "noatime,bogus=3"]].concat());
        assert!(said.contains("mount options of ext4: `bogus` is none of"), "{said}");
        assert_eq!(told(name), (0, 0), "nothing is made before its options are known");
        bench.ok(&[&mount[..], &["-o", "noatime,commit=30"]].concat());
        assert_eq!(told(name), expected, "{stack}");
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let line = mounts.lines().find(|line| line.contains(point.to_str().unwrap())).unwrap();
        assert!(line.contains("noatime") && line.contains("commit=30"), "{line}");
        bench.ok(&["array", "umount", name]);
        bench.ok(&["array", "stop", name]);
    }
    assert!(bench.is_clean());
}

#[test]
fn members_are_failed_rebuilt_replaced_and_come_back() {
    let Some(bench) = bench() else { return };
    let create = ["array", "create", "tank", "--level", "5", "--chunk", "64KiB", "--size", "6MiB"];
    bench.ok(&[&create[..], &["--member", "a.img", "b.img", "c.img", "--spare", "s.img"]].concat());
    bench.image("n.img", 6);
    bench.ok(&[
        "array",
        "start",
        "--attach",
        "--name",
        "t",
        "raid5(metadata=1.2, a.img, b.img, c.img, s.img)",
    ]);
    let device = bench.device("t");
    let bytes = pattern(8 << 20, 3);
    write(&device, &bytes);

    let paced = bench.ok(&["array", "set", "t", "sync_speed_min=500MiB", "sync_speed_max=1GiB"]);
    assert_eq!(paced, "t: 500MiB of each member a second while it is used, 1GiB while it is not\n");
    assert!(
        bench
            .fails(2, &["array", "set", "t", "sync_speed_max=1MiB"])
            .contains("at least 500MiB and at most 1MiB a second")
    );
    assert!(bench.ok(&["array", "set", "t"]).starts_with(&paced));

    bench.ok(&["array", "fail", "t", "b.img"]);
    let scrubbed = bench.ok(&["array", "scrub", "t", "--wait"]);
    assert!(
        scrubbed.starts_with("check: ") && scrubbed.contains(" 0 sectors did not agree"),
        "{scrubbed}"
    );
    let array = &bench.status("t")["arrays"][0];
    assert_eq!(array["slots"], "[UUU]", "the spare took over: {array}");
    assert!(array["members"][1]["name"].as_str().unwrap().ends_with("s.img"), "{array}");

    let said = bench.fails(4, &["array", "replace", "t", "0", "s.img"]);
    assert!(said.contains("s.img: it is a member or a spare already"), "{said}");
    bench.ok(&["array", "replace", "t", "a.img", "n.img", "--wait"]);
    // What was a member of this array comes back without a word of consent; with nobody missing it
    // is a spare.
    bench.ok(&["array", "add", "t", "b.img"]);
    assert!(bench.fails(4, &["array", "add", "t", "b.img"]).contains("already"));
    bench.ok(&["array", "fail", "t", "member2"]);
    bench.ok(&["array", "scrub", "t", "--wait"]);
    assert_eq!(bench.status("t")["arrays"][0]["slots"], "[UUU]");
    bench.ok(&["array", "fail", "t", "0"]);
    let array = &bench.status("t")["arrays"][0];
    assert_eq!(
        (&array["slots"], &array["members"][0]["cause"]),
        (&json!("[_UU]"), &json!(null)),
        "nobody is told what he asked for"
    );
    assert!(bench.fails(4, &["array", "fail", "t", "1"]).contains("data would be lost"));
    bench.ok(&["array", "stop", "t"]);

    let status = bench.run(&["array", "status", "--test", "n.img", "s.img", "b.img"]);
    assert_eq!(status.status.code(), Some(1), "a member was failed and nobody took its place");
    bench.ok(&[
        "array",
        "start",
        "--attach",
        "--name",
        "t",
        "raid5(metadata=1.2, missing, s.img, b.img)",
    ]);
    assert!(holds(&bench.device("t"), &bytes), "every byte, from a rebuilt member and parity");
    bench.ok(&["array", "stop", "t"]);
}

#[test]
fn a_member_that_does_not_answer_is_done_without() {
    let Some(bench) = bench() else { return };
    bench.ok(&[
        "array",
        "create",
        "m",
        "--level",
        "1",
        "--size",
        "6MiB",
        "--assume-clean",
        "--member",
        "a.img",
        "b.img",
    ]);
    let stack = "raid1(metadata=1.2, a.img, fault(stuck_after=20, b.img))";
    bench.ok(&["array", "start", "--attach", "--member-timeout", "5s", "--name", "m", stack]);
    let bytes = pattern(4 << 20, 4);
    // Many requests, so that one of them is the one that is not answered.
    let mut device = OpenOptions::new().write(true).open(bench.device("m")).unwrap();
    for part in bytes.chunks(64 << 10) {
        device.write_all(part).and_then(|()| device.sync_data()).unwrap();
    }
    drop(device);
    let status = bench.status("m");
    assert_eq!(status["arrays"][0]["slots"], "[U_]", "{status}");
    assert!(status["notes"].to_string().contains("no answer for 5s"), "{status}");
    let events = status["events"].to_string();
    let (late, failed) =
        (events.find("no answer for 2s; after 5s it"), events.find("has failed: "));
    assert!(late.is_some() && late < failed, "it is told before it counts as failed: {status}");
    assert!(
        status["arrays"][0]["members"][1]["cause"].to_string().contains("no answer for 5s"),
        "{status}"
    );
    assert_eq!(bench.run(&["array", "status", "--test", "m"]).status.code(), Some(1));
    assert!(holds(&bench.device("m"), &bytes));
    bench.ok(&["array", "stop", "m"]);
    assert!(bench.is_clean());
}

#[test]
fn a_command_is_served_as_long_as_it_runs() {
    let Some(bench) = bench() else { return };
    let said = bench.ok(&[
        "array",
        "start",
        "--name",
        "r",
        "ram:8MiB",
        "--run",
        "echo at {}; dd if={} bs=1M count=8 2>/dev/null | wc -c",
    ]);
    assert!(said.starts_with("at /dev/loop") && said.ends_with("\n8388608\n"), "{said}");
    assert!(bench.is_clean());
    let said = bench
        .fails(7, &["array", "start", "--nbd", "unix", "ram:8MiB", "--run", "echo {} >&2; exit 7"]);
    assert!(
        said.contains("nbd+unix:///array0?socket=") && said.contains("ended with exit status: 7"),
        "{said}"
    );
    assert!(bench.is_clean());
}

/// "The same vhost-user-blk server without time travel serves real VMs: `array start
/// --vhost-user PATH`".
#[test]
fn a_socket_for_virtual_machines_is_there_as_long_as_the_array() {
    let Some(bench) = bench() else { return };
    let said = bench.ok(&[
        "array",
        "start",
        "ram:8MiB",
        "--vhost-user",
        "vm.sock",
        "--run",
        "test -S {} && stat -c %a {} && basename {}",
    ]);
    assert_eq!(said, "600\nvm.sock\n");
    assert!(bench.is_clean() && !bench.path("vm.sock").exists());
    let refused = bench.fails(2, &["array", "start", "ram:8MiB", "--vhost-user", "none/vm.sock"]);
    assert!(refused.contains("--vhost-user: listening on") && bench.is_clean(), "{refused}");
}

#[test]
fn what_a_command_has_started_may_use_the_drive_longer_than_the_command() {
    let Some(bench) = bench() else { return };
    // A pipe that is read to its end when the test lets go of its own.
    let go = bench.path("go");
    assert!(Command::new("mkfifo").arg(&go).status().unwrap().success());
    // The shell itself reads: a program might not have begun yet when it is named.
    let run = format!("exec 9<{{}}; read -r line <{} & echo started", go.display());
    let mut server = bench.command(&["array", "start", "--name", "r", "ram:4MiB", "--run", &run]);
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let release = OpenOptions::new().write(true).open(&go).unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    let refused = said.find(|line| line.contains("not ended")).unwrap();
    assert!(
        refused.contains("/dev/loop") && refused.contains("(sh) still has it open"),
        "{refused}"
    );
    drop(release);
    assert!(server.wait().unwrap().success());
    assert!(bench.is_clean());
}

#[test]
fn a_server_that_is_killed_while_it_is_told_to_stop_is_cleaned_up_after() {
    let Some(bench) = bench() else { return };
    for round in 0..10 {
        bench.ok(&["array", "start", "--attach", "--name", "k", "ram:4MiB"]);
        bench.kill("k");
        // It has been killed, but may not have ended yet.
        if round % 2 == 0 {
            bench.ok(&["array", "stop", "k"]);
            assert!(bench.is_clean());
        }
    }
    bench.ok(&["array", "status"]);
    assert!(bench.is_clean());
}

/// "Programs that look at every device (udev, `blkid`) have it open for a moment": one that looks
/// at each of ours from when it is there until it has gone keeps none from being started, written
/// to and stopped.
#[test]
fn a_device_that_is_looked_at_all_the_time_is_served_and_goes() {
    let Some(bench) = bench() else { return };
    const ROUNDS: usize = 6;
    fs::write(bench.path("going"), "").unwrap();
    let runtime = bench.folder.path().canonicalize().unwrap().join("run");
    // A process for each look, as udev and its rules have it.
    let script = format!(
        "looks=0
        while [ -e going ]; do
            for file in /sys/block/loop*/loop/backing_file; do
                read -r backing <$file || continue
                case $backing in {}/*) ;; *) continue ;; esac
                device=${{file#/sys/block/}}
                device=/dev/${{device%%/*}}
                blkid -p $device; head -c 65536 $device; looks=$((looks + 1))
            done
        done >/dev/null 2>&1
        echo $looks",
        runtime.display()
    );
    let mut looks = Command::new("sh");
    looks.args(["-c", &script]).current_dir(bench.folder.path()).stdin(Stdio::null());
    let looks = looks.stdout(Stdio::piped()).spawn().unwrap();
    for round in 0..ROUNDS {
        bench.ok(&["array", "start", "--attach", "--name", "seen", "ram:8MiB"]);
        let (device, bytes) = (bench.device("seen"), pattern(4 << 20, round as u8));
        write(&device, &bytes);
        assert!(holds(&device, &bytes), "round {round}");
        bench.ok(&["array", "stop", "seen"]);
        assert!(bench.is_clean(), "round {round}");
        let device = Path::new("/sys/block").join(device.file_name().unwrap());
        let backing = fs::read_to_string(device.join("loop/backing_file"));
        let is_ours = backing.is_ok_and(|file| Path::new(&file).starts_with(&runtime));
        assert!(!is_ours, "round {round}: {} is taken still", device.display());
    }
    fs::remove_file(bench.path("going")).unwrap();
    let said = String::from_utf8(looks.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.trim().parse::<usize>().unwrap() >= ROUNDS, "{said}");
}

#[test]
fn what_is_wrong_is_said_by_start_and_leaves_nothing() {
    let Some(bench) = bench() else { return };
    bench.image("a.img", 4);
    for (code, arguments, reason) in [
        (2, &["a.img", "--nbd", "nowhere"][..], "--nbd nowhere: expected a path"),
        (
            4,
            &["a.img", "--nbd", "0.0.0.0:0"],
            "others on the network could read and write the drive",
        ),
        (2, &["raid0(a.img, b.img)", "--create"], "b.img: it is not there; --size SIZE"),
        (2, &["raid0(a.img, a.img)"], "stands in the stack twice"),
        (2, &["tank"], "there is no configuration"),
        (2, &["model:maxtor-6y200p0"], "there is nothing to serve"),
    ] {
        let said = bench.fails(code, &[&["array", "start"], arguments].concat());
        assert!(said.contains(reason), "{arguments:?}: {said}");
        assert!(bench.is_clean() && !bench.path("b.img").exists(), "{arguments:?}");
    }
}

#[test]
fn a_service_manager_hears_when_it_is_ready_and_ends_it_with_a_signal() {
    let Some(bench) = bench() else { return };
    fs::create_dir(bench.path("mnt")).unwrap();
    let configuration = format!(
        "stack = 'ram:32MiB'\nattach = 'yes'\npolicy = 'quick'\n[mount]\nfolder = '{}'\nfs = \
        'ext4'\n",
        bench.path("mnt").display()
    );
    fs::write(bench.path("service.toml"), configuration).unwrap();
    let manager = UnixDatagram::bind(bench.path("notify")).unwrap();
    let mut server = bench.command(&["array", "start", "--foreground", "service"]);
    let mut server =
        server.env("NOTIFY_SOCKET", bench.path("notify")).stdout(Stdio::null()).spawn().unwrap();
    let mut word = [0; 256];
    let length = manager.recv(&mut word).unwrap();
    assert!(
        word[..length].starts_with(b"READY=1\n"),
        "{}",
        String::from_utf8_lossy(&word[..length])
    );
    assert_eq!(bench.status("service")["removal_policy"], "quick");
    fs::write(bench.path("mnt/file"), "here").unwrap();
    kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
    assert!(server.wait().unwrap().success());
    assert!(bench.is_clean() && !bench.path("mnt/file").exists());
}

#[test]
fn nonsense_on_the_control_socket_is_answered_and_does_no_harm() {
    let Some(bench) = bench() else { return };
    bench.ok(&["array", "start", "--name", "c", "ram:4MiB"]);
    let mut socket = UnixStream::connect(bench.runtime().join("c/control")).unwrap();
    for (request, answer) in [
        ("hello\n", "not JSON"),
        ("{\"version\": 9, \"request\": \"stop\"}\n", "version 1"),
        (
            "{\"version\": 1, \"request\": {\"fail\": {\"array\": null, \"member\": 0}}}\n",
            "no array in this stack keeps metadata",
        ),
        ("{\"version\": 1, \"request\": \"status\"}\n", "\"done\":{"),
    ] {
        socket.write_all(request.as_bytes()).unwrap();
        let mut said = Vec::new();
        while said.last() != Some(&b'\n') {
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            said.push(byte[0]);
        }
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains(answer), "{request}: {said}");
    }
    // Whoever opens connections and says nothing is not waited for, and others are told.
    let idle: Vec<UnixStream> =
        (1..16).map(|_| UnixStream::connect(bench.runtime().join("c/control")).unwrap()).collect();
    assert!(
        bench.fails(1, &["array", "status", "c"]).contains("c: it is talking to 16 others already")
    );
    drop((socket, idle));
    // Their threads have to hear of it first.
    assert!((0..1000).any(|_| bench.run(&["array", "stop", "c"]).status.success()));
    assert!(bench.is_clean());
}

#[test]
fn caches_are_written_out_on_request_and_closed_with_their_server() {
    let Some(bench) = bench() else { return };
    let text = "cache(mode=write-back, block=64KiB, file:c.img?size=16MiB, file:d.img?size=32MiB)";
    bench.ok(&["array", "start", "--attach", "--create", "--name", "kept", text]);
    let bytes = pattern(4 << 20, 3);
    write(&bench.device("kept"), &bytes);
    let below = bench.path("d.img");
    assert!(!holds(&below, &bytes), "durable in the store is enough");
    assert_eq!(bench.ok(&["array", "cache", "flush", "kept"]), "written out 4MiB\n");
    assert!(holds(&below, &bytes));
    write(&bench.device("kept"), &pattern(1 << 20, 4));
    bench.ok(&["array", "stop", "kept"]);

    let contents: Value =
        serde_json::from_str(&bench.ok(&["array", "cache", "status", "--json", "c.img"])).unwrap();
    assert_eq!(
        (&contents["state"], &contents["dirty_bytes"]),
        (&"closed".into(), &(1 << 20).into()),
        "{contents}"
    );
    bench.ok(&["array", "cache", "flush", text]);
    assert!(holds(&below, &[pattern(1 << 20, 4), bytes[1 << 20..].to_vec()].concat()));

    bench.ok(&["array", "start", "--name", "plain", "ram:1MiB"]);
    assert!(
        bench.fails(2, &["array", "cache", "flush", "plain"]).contains("there is no cache in it")
    );
    assert!(
        bench
            .fails(2, &["array", "cache", "flush", "nobody"])
            .contains("no array of this name runs")
    );
}

/// Without a session there is no `XDG_RUNTIME_DIR`: `su`, cron, a service, a container.
#[test]
fn an_ordinary_user_without_a_session_runs_arrays() {
    const NOBODY: u32 = 65534;
    let temporary = tempfile::tempdir().unwrap();
    fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let program = temporary.path().join("raidloom");
    let command = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::null())
            .env("TMPDIR", temporary.path());
        command
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("RAIDLOOM_RUNTIME_DIR")
            .uid(NOBODY)
            .gid(NOBODY);
        command
    };
    if !rustix::process::geteuid().is_root() {
        testkit::skipped!("only root may be another user");
        return;
    }
    // Nobody else may enter the folder that it was built in.
    fs::copy(env!("CARGO_BIN_EXE_raidloom"), &program).unwrap();
    let run = |arguments: &[&str]| command(arguments).output().unwrap();
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let started = run(&["array", "start", "--name", "tank", "ram:1MiB"]);
    assert!(started.status.success(), "{}", said(&started));
    let own = temporary.path().join(format!("raidloom-{NOBODY}"));
    let data = fs::symlink_metadata(&own).unwrap();
    let listed = run(&["array", "status"]);
    let stopped = run(&["array", "stop", "tank"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("tank"), "{}", said(&listed));
    assert!(stopped.status.success(), "{}", said(&stopped));
    assert_eq!(
        (data.uid(), data.mode() & 0o7777, fs::read_dir(&own).unwrap().count()),
        (NOBODY, 0o700, 0)
    );
    // Somebody was quicker: what a control socket says there would be of the other's making.
    fs::remove_dir(&own).unwrap();
    std::os::unix::fs::symlink(temporary.path(), &own).unwrap();
    for arguments in [
        &["array", "start", "--name", "tank", "ram:1MiB"][..],
        &["array", "status"],
        &["array", "stop", "tank"],
    ] {
        let refused = run(arguments);
        assert_eq!(refused.status.code(), Some(4), "{}", said(&refused));
        assert!(
            said(&refused).contains("has to be a folder of yours that nobody else may enter"),
            "{}",
            said(&refused)
        );
    }
}

/// Every verb that takes a file for the bytes of a disk says what an image is instead, and leaves
/// it as it is.
#[test]
fn an_image_is_served_written_and_guessed_at_as_its_own_bytes_only_when_that_is_said() {
    let bench = Bench { folder: tempfile::tempdir().unwrap() };
    let image = |name: &str, offset: u64, mark: &[u8]| {
        bench.image(name, 1);
        OpenOptions::new()
            .write(true)
            .open(bench.path(name))
            .unwrap()
            .write_all_at(mark, offset)
            .unwrap();
    };
    image("dynamic.vhd", 0, b"conectix");
    image("fixed.vhd", (1 << 20) - 512, b"conectix");
    image("a.qcow2", 0, b"QFI\xfb");
    bench.image("disk.img", 1);
    let before =
        ["dynamic.vhd", "fixed.vhd", "a.qcow2"].map(|name| fs::read(bench.path(name)).unwrap());
    for (arguments, what) in [
        (
            &["array", "start", "--name", "tank", "dynamic.vhd"][..],
            "dynamic.vhd: it is a VHD image, ",
        ),
        (
            &["array", "start", "--name", "tank", "--read-only", "raid1(disk.img, fixed.vhd)"],
            "fixed.vhd: it is a VHD image of fixed size, ",
        ),
        (
            &["array", "start", "--name", "tank", "overlay(delta.img, a.qcow2)"],
            "a.qcow2: it is a qcow2 image, ",
        ),
        (
            &["array", "start", "--name", "tank", "cache(mode=write-back, a.qcow2, disk.img)"],
            "a.qcow2: it is a qcow2 image, ",
        ),
        (&["array", "write", "a.qcow2", "disk.img"], "a.qcow2: it is a qcow2 image, "),
        (
            &["array", "rescue", "--show", "5", "disk.img", "fixed.vhd"],
            "fixed.vhd: it is a VHD image of fixed size, ",
        ),
        (
            &["array", "overlay", "--commit", "overlay(delta.img, a.qcow2)"],
            "a.qcow2: it is a qcow2 image, ",
        ),
        (
            &["array", "cache", "flush", "cache(mode=write-back, store.img, dynamic.vhd)"],
            "dynamic.vhd: it is a VHD image, ",
        ),
    ] {
        let said = bench.fails(4, arguments);
        assert!(
            said.contains(what)
                && said.contains("--raw takes it as it is")
                && said.contains("is the disk in it"),
            "{arguments:?}: {said}"
        );
    }
    let now =
        ["dynamic.vhd", "fixed.vhd", "a.qcow2"].map(|name| fs::read(bench.path(name)).unwrap());
    assert!(before == now, "an image was changed");

    bench.ok(&["array", "start", "--name", "tank", "--raw", "a.qcow2"]);
    bench.ok(&["array", "stop", "tank"]);
    fs::write(bench.path("raw.toml"), "stack = 'a.qcow2'\nname = 'tank'\nraw = true\n").unwrap();
    bench.ok(&["array", "start", bench.path("raw.toml").to_str().unwrap()]);
    bench.ok(&["array", "stop", "tank"]);
    bench.ok(&["array", "write", "--raw", "a.qcow2", "disk.img"]);
    assert!(fs::read(bench.path("disk.img")).unwrap() == before[2]);
}

/// What a server has used of processors, all its threads together.
fn processor_time(process: u64) -> std::time::Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let used = threads.filter_map(|thread| {
        fs::read_to_string(thread.path().join("schedstat"))
            .ok()?
            .split(' ')
            .next()?
            .parse::<u64>()
            .ok()
    });
    std::time::Duration::from_nanos(used.sum())
}

/// Nothing runs, is mounted, looped or locked, and no socket or folder is left.
fn nothing_is_left(bench: &Bench, process: u64, members: &[&str]) {
    // Whoever has ended is there until its parent has looked.
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "the process has not ended: {state}");
    assert!(bench.is_clean());
    let folder = bench.folder.path().to_str().unwrap();
    assert!(!fs::read_to_string("/proc/self/mounts").unwrap().contains(folder));
    let loops = fs::read_dir("/sys/block")
        .unwrap()
        .flatten()
        .map(|device| device.path().join("loop/backing_file"));
    assert_eq!(
        loops.filter_map(|file| fs::read_to_string(file).ok()).find(|file| file.contains(folder)),
        None
    );
    for member in members {
        let file = File::open(bench.path(member)).unwrap();
        assert!(
            file.try_lock().is_ok(),
            "{member} is not locked at the very moment at which `stop` returns"
        );
    }
}

/// The members of each set-up.
const FOUR: [&str; 4] = ["a.img", "b.img", "c.img", "d.img"];

/// Whether a server at rest needs next to no processor.
fn check_rest(process: u64, stack: &str) {
    // The ticks of the bound on answers fall into this time, and the rest after which
    // arrays are clean.
    let (_keep, never) = std::sync::mpsc::channel::<()>();
    let _ = never.recv_timeout(std::time::Duration::from_millis(500));
    let before = processor_time(process);
    let _ = never.recv_timeout(std::time::Duration::from_millis(500));
    let used = processor_time(process) - before;
    assert!(
        used < std::time::Duration::from_millis(200),
        "{stack}: {used:?} of a processor in half a second of rest"
    );
}

/// The life of one set-up: made, started, written to, at rest, a member failed, stopped; without
/// redundancy started once more.
fn live(bench: &Bench, number: u8, create: Option<&[&str]>, stack: &str, export: &str) {
    FOUR.iter().for_each(|name| drop(fs::remove_file(bench.path(name))));
    match create {
        Some(create) => {
            let how = ["array", "create", "tank", "--size", "8MiB", "--assume-clean"];
            bench.ok(&[&how[..], create, &["--member"], &FOUR].concat());
        }
        None => FOUR.iter().for_each(|name| bench.image(name, 8)),
    }
    // Files on a busy disk may take seconds to answer, and without redundancy a member that
    // takes too long is the end of the drive.
    let time = if stack.contains("stuck") { "1s" } else { "4s" };
    let start =
        ["array", "start", export, "--create", "--member-timeout", time, "--name", "life", stack];
    let bytes = pattern(2 << 20, number);
    let is_redundant = create.is_some_and(|create| create[1] != "0");
    for round in 0..2 {
        bench.ok(&start);
        let process = bench.status("life")["process"].as_u64().unwrap();
        if export != "--nbd=unix" {
            let disk = bench.runtime().join("life/disk");
            assert!(round == 0 || stack.starts_with("cache") || holds(&disk, &bytes), "{stack}");
            let mut disk = OpenOptions::new().write(true).open(disk).unwrap();
            for part in bytes.chunks(64 << 10) {
                disk.write_all(part).and_then(|()| disk.sync_data()).unwrap();
            }
        }
        check_rest(process, stack);
        if round == 0 && is_redundant && !stack.starts_with("overlay") {
            bench.ok(&["array", "fail", "life", "1"]);
        }
        let log = fs::read_to_string(bench.runtime().join("life/log")).unwrap();
        assert_eq!(log, "", "{stack}");
        bench.ok(&["array", "stop", "life"]);
        nothing_is_left(bench, process, &FOUR);
        if round == 0 && is_redundant {
            break;
        }
    }
}

/// The server's life: every set-up through write, rest, a member that hangs or fails, stop, restart
/// and kill.
#[test]
fn the_life_of_every_set_up_leaves_nothing() {
    let Some(bench) = bench() else { return };
    let whole = "a.img, b.img, c.img, d.img";
    for (number, (create, stack, export)) in [
        (None, "linear(a.img, b.img, c.img, d.img)".to_owned(), "--attach"),
        (Some(&["--level", "0"][..]), format!("raid0(metadata=1.2, {whole})"), "--attach=file"),
        (
            Some(&["--level", "1", "--bitmap", "internal"]),
            format!("raid1(metadata=1.2, {whole})"),
            "--attach",
        ),
        (
            Some(&["--level", "5", "--consistency-policy", "ppl"]),
            format!("raid5(metadata=1.2, {whole})"),
            "--attach=file",
        ),
        (
            Some(&["--level", "6"]),
            format!("cache(mode=write-back, ram:2MiB, raid6(metadata=1.2, {whole}))"),
            "--nbd=unix",
        ),
        (
            Some(&["--level", "10"]),
            format!("overlay(ram:16MiB, raid10(metadata=1.2, {whole}))"),
            "--attach=file",
        ),
        (
            Some(&["--level", "1"]),
            "raid1(metadata=1.2, a.img, b.img, c.img, fault(stuck_after=60, d.img))".to_owned(),
            "--attach",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        live(&bench, number as u8, create, &stack, export);
    }
    for name in FOUR {
        fs::remove_file(bench.path(name)).unwrap();
        bench.image(name, 8);
    }
    bench.ok(&["array", "start", "--attach", "--name", "life", "linear(a.img, b.img)"]);
    let process = bench.status("life")["process"].as_u64().unwrap();
    bench.kill("life");
    bench.ok(&["array", "stop", "life"]);
    nothing_is_left(&bench, process, &FOUR);
}

/// A device that never answers, and nobody who could do without it: the end is bounded, and says
/// what was not written.
#[test]
fn a_stop_ends_although_a_member_hangs_and_says_what_it_could_not_do() {
    let Some(bench) = bench() else { return };
    bench.image("a.img", 4);
    bench.image("b.img", 4);
    let stack = "raid0(metadata=none, chunk=64KiB, a.img, fault(stuck_after=8, b.img))";
    bench.ok(&[
        "array",
        "start",
        "--attach=file",
        "--member-timeout",
        "1s",
        "--name",
        "hung",
        stack,
    ]);
    let process = bench.status("hung")["process"].as_u64().unwrap();
    let mut disk = OpenOptions::new().write(true).open(bench.runtime().join("hung/disk")).unwrap();
    let written = pattern(2 << 20, 1)
        .chunks(64 << 10)
        .try_for_each(|part| disk.write_all(part).and_then(|()| disk.sync_data()));
    assert!(written.is_err(), "nobody waits for ever");
    drop(disk);
    let said = bench.fails(1, &["array", "stop", "hung"]);
    assert!(said.contains("no answer for 1s"), "{said}");
    nothing_is_left(&bench, process, &["a.img", "b.img"]);
}

impl Bench {
    /// The status once it says all of these, or a panic: it is looked for a minute.
    fn status_that_says(&self, name: &str, texts: &[&str]) -> Value {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let status = self.status(name);
            if texts.iter().all(|text| status.to_string().contains(text)) {
                return status;
            }
            assert!(Instant::now() < deadline, "{texts:?}: {status}");
        }
    }
}

/// A member that is deleted while the array runs is told of, with what saves it and what the next
/// start will miss; the end says so with exit code 1.
#[test]
fn a_member_that_is_deleted_while_it_serves_is_told_of() {
    let Some(bench) = bench() else { return };
    bench.image("a.img", 4);
    bench.image("b.img", 4);
    bench.ok(&["array", "start", "--name", "lost", "raid1(metadata=none, a.img, b.img)"]);
    fs::remove_file(bench.path("b.img")).unwrap();
    let status = bench.status_that_says("lost", &["b.img: it was deleted, "]);
    for part in ["notes", "events"] {
        let said = status[part].to_string();
        let process = &status["process"];
        assert!(said.contains(&format!("cp --sparse=always /proc/{process}/fd/")), "{status}");
    }
    let said = bench.fails(1, &["array", "stop", "lost"]);
    assert!(said.contains("b.img: it was deleted while it was a member"), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    assert!(bench.is_clean());
}

/// A copy that was renamed over a member while the array ran is an old one from the next write on,
/// whatever its superblock says: the members that are left say so at the end.
#[test]
fn a_copy_that_was_renamed_over_a_member_is_not_believed_by_the_next_start() {
    let Some(bench) = bench() else { return };
    let create = ["array", "create", "m", "-l", "1", "--size", "6MiB", "--assume-clean", "-m"];
    bench.ok(&[&create[..], &["a.img", "b.img"]].concat());
    let start =
        ["array", "start", "--attach=file", "--name", "m", "raid1(metadata=1.2, a.img, b.img)"];
    bench.ok(&start);
    let disk = bench.runtime().join("m/disk");
    write(&disk, &pattern(1 << 20, 1));
    fs::copy(bench.path("a.img"), bench.path("copy.img")).unwrap();
    fs::rename(bench.path("copy.img"), bench.path("a.img")).unwrap();
    write(&disk, &pattern(1 << 20, 2));
    assert!(bench.fails(1, &["array", "stop", "m"]).contains("something else lies under its name"));
    let output = bench.run(&start);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("a.img: "), "{said}");
    assert_eq!(bench.status("m")["arrays"][0]["slots"], "[_U]", "{said}");
    for _ in 0..4 {
        assert!(holds(&disk, &pattern(1 << 20, 2)));
    }
    bench.ok(&["array", "stop", "m"]);
}

/// What would go with the server's end, and nothing makes up for, keeps it from ending until it is
/// saved: the line that says so saves it.
#[test]
fn the_only_copy_of_something_is_not_thrown_away_by_a_stop() {
    let Some(bench) = bench() else { return };
    bench.ok(&[
        "array", "create", "two", "-l", "0", "--size", "4MiB", "--chunk", "64KiB", "-m", "a.img",
        "b.img",
    ]);
    let stack = "raid0(metadata=1.2, a.img, b.img)";
    bench.ok(&["array", "start", "--attach=file", "--name", "two", stack]);
    let disk = bench.runtime().join("two/disk");
    let bytes = pattern(1 << 20, 5);
    write(&disk, &bytes);
    fs::remove_file(bench.path("b.img")).unwrap();
    let said = bench.fails(1, &["array", "stop", "two"]);
    assert!(said.contains("two: not stopped, for nothing makes up for what would go"), "{said}");
    assert!(holds(&disk, &bytes), "it serves as before");
    let save = said.split('`').nth(1).unwrap();
    assert!(Command::new("sh").arg("-c").arg(save).status().unwrap().success(), "{save}");
    bench.kill("two");
    bench.ok(&["array", "status"]);
    fs::rename(bench.path("b.img.saved"), bench.path("b.img")).unwrap();
    bench.ok(&["array", "start", "--attach=file", "--name", "two", stack]);
    assert!(holds(&disk, &bytes), "nothing was lost");
    bench.ok(&["array", "stop", "two"]);
}

/// A member that is cut short has lost data: it is a member no more, before a write behind its end
/// makes a hole that reads as zeroes.
#[test]
fn a_member_that_is_cut_short_is_taken_out_of_service() {
    let Some(bench) = bench() else { return };
    let create = ["array", "create", "m", "-l", "1", "--size", "6MiB", "--assume-clean", "-m"];
    bench.ok(&[&create[..], &["a.img", "b.img"]].concat());
    let stack = "raid1(metadata=1.2, a.img, b.img)";
    bench.ok(&["array", "start", "--attach=file", "--name", "m", stack]);
    let disk = bench.runtime().join("m/disk");
    let bytes = pattern(1 << 20, 6);
    write(&disk, &bytes);
    let file = OpenOptions::new().write(true).open(bench.path("a.img")).unwrap();
    file.set_len(0).unwrap();
    let status = bench.status_that_says("m", &["a.img: it was cut short from 6MiB to ", "[_U]"]);
    assert_eq!(status["arrays"][0]["state"], "degraded", "{status}");
    assert!(holds(&disk, &bytes));
    let said = bench.fails(1, &["array", "stop", "m"]);
    assert!(said.contains("a.img: it was cut short"), "{said}");
}

/// "No write that was answered is lost": a write behind the end of a member that was cut short is
/// not taken for one on a whole member, nor the hole in front of it for data.
#[test]
fn a_write_behind_the_end_of_a_member_loses_nothing() {
    let Some(bench) = bench() else { return };
    let create = ["array", "create", "m", "-l", "5", "--size", "16MiB", "--assume-clean", "-m"];
    bench.ok(&[&create[..], &["a.img", "b.img", "c.img", "d.img"]].concat());
    let stack = "raid5(metadata=1.2, a.img, b.img, c.img, d.img)";
    bench.ok(&["array", "start", "--attach=file", "--name", "m", stack]);
    let disk = bench.runtime().join("m/disk");
    let mut bytes = pattern(36 << 20, 5);
    write(&disk, &bytes);
    let member = OpenOptions::new().write(true).open(bench.path("b.img")).unwrap();
    member.set_len(1 << 20).unwrap();
    let file = OpenOptions::new().write(true).open(&disk).unwrap();
    for (offset, length) in [(30 << 20, 4 << 20), (4096, 4096), (528_384, 4096), (1_052_672, 4096)]
    {
        bytes[offset..offset + length].copy_from_slice(&pattern(length, 9));
        file.write_all_at(&bytes[offset..offset + length], offset as u64).unwrap();
    }
    file.sync_all().unwrap();
    assert!(holds(&disk, &bytes));
    let status = bench.status_that_says("m", &["b.img: it was cut short", "[U_UU]"]);
    assert_eq!(status["arrays"][0]["state"], "degraded", "{status}");
    drop(file);
    bench.fails(1, &["array", "stop", "m"]);
}

/// A loop device; detached when dropped.
struct LoopDevice(String);

impl LoopDevice {
    fn over(path: &Path) -> LoopDevice {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        LoopDevice(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// "What was a member may be one again": where it has no identity, with the consent that is given,
/// and not without.
#[test]
fn a_member_without_an_identity_comes_back_with_the_consent_that_is_given() {
    let Some(bench) = bench() else { return };
    for name in ["a.img", "b.img"] {
        bench.image(name, 6);
    }
    let member = LoopDevice::over(&bench.path("b.img"));
    let (name, allowed) = (member.0.as_str(), ["--allow-device", &member.0]);
    let create = ["array", "create", "m", "-l", "1", "-b", "internal", "-m", "a.img", name];
    bench.ok(&[&create[..], &allowed].concat());
    let start = ["array", "start", "--attach=file", "--name", "m"];
    let stack = format!("raid1(metadata=1.2, a.img, {name})");
    bench.ok(&[&start[..], &allowed, &[&stack]].concat());
    bench.ok(&["array", "fail", "m", "1"]);
    bench.ok(&["array", "remove", "m", "1"]);
    bench.ok(&["array", "stop", "m"]);

    bench.ok(&[&start[..], &["raid1(metadata=1.2, a.img, missing)"]].concat());
    let said = bench.fails(4, &["array", "add", "m", name]);
    assert!(said.contains(&format!("--allow-device {name}")), "{said}");
    for _ in 0..2 {
        bench.ok(&[&["array", "add", "m", name, "--wait"], &allowed[..]].concat());
        assert_eq!(bench.status("m")["arrays"][0]["slots"], "[UU]");
        bench.ok(&["array", "fail", "m", "1"]);
        bench.ok(&["array", "remove", "m", "1"]);
    }
    bench.ok(&["array", "stop", "m"]);
}

/// `start` writes nothing to a member that is stale; `add` does, and brings it back.
#[test]
fn a_stale_member_is_left_as_it_is_by_a_start_and_brought_back_by_add() {
    let Some(bench) = bench() else { return };
    let create = ["array", "create", "m", "-l", "1", "--size", "6MiB", "--assume-clean", "-m"];
    bench.ok(&[&create[..], &["a.img", "b.img"]].concat());
    let stack = "raid1(metadata=1.2, a.img, b.img)";
    let start = ["array", "start", "--attach=file", "--name", "m", stack];
    let disk = bench.runtime().join("m/disk");
    let old = fs::read(bench.path("b.img")).unwrap();
    for seed in 0..3 {
        bench.ok(&start);
        write(&disk, &pattern(1 << 20, seed));
        bench.ok(&["array", "stop", "m"]);
    }
    fs::write(bench.path("b.img"), &old).unwrap();
    let output = bench.run(&start);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("`raidloom array add`"), "{said}");
    assert!(said.contains("b.img: is stale: "), "{said}");
    assert_eq!(bench.status("m")["arrays"][0]["slots"], "[U_]");
    write(&disk, &pattern(1 << 20, 9));
    assert!(fs::read(bench.path("b.img")).unwrap() == old, "nothing is written to it");
    bench.ok(&["array", "add", "m", "b.img", "--wait"]);
    assert_eq!(bench.status("m")["arrays"][0]["slots"], "[UU]");
    bench.ok(&["array", "stop", "m"]);
    bench.ok(&start);
    bench.ok(&["array", "fail", "m", "a.img"]);
    assert!(holds(&disk, &pattern(1 << 20, 9)), "it has everything");
    bench.status_that_says("m", &["member 0 (file:", "has failed"]);
    let mut japanese = bench.command(&["array", "status", "m"]);
    let japanese = japanese.env("LC_ALL", "ja_JP.UTF-8").env_remove("RAIDLOOM_LANG");
    let said = String::from_utf8(japanese.output().unwrap().stdout).unwrap();
    assert!(said.contains("メンバー 0(file:") && !said.contains("member 0"), "{said}");
    bench.ok(&["array", "stop", "m"]);
}

/// What a level can do decides what is said, everywhere alike: with everything gone an array has
/// failed, also one that never had redundancy.
#[test]
fn an_array_without_its_members_has_failed_wherever_it_is_told_of() {
    let Some(bench) = bench() else { return };
    for (level, count) in [("5", 3), ("1", 2), ("0", 2)] {
        let members: Vec<String> = (0..count).map(|number| format!("l{level}-{number}")).collect();
        let names: Vec<&str> = members.iter().map(String::as_str).collect();
        let mut create = vec!["array", "create", "gone", "-l", level, "--size", "6MiB", "-m"];
        create.extend(&names);
        bench.ok(&create);
        let faulty: Vec<String> =
            names.iter().map(|name| format!("fault(vanish_after=40, {name})")).collect();
        let stack = format!("raid{level}(metadata=1.2, {})", faulty.join(", "));
        bench.ok(&["array", "start", "--attach=file", "--name", "gone", &stack]);
        let disk = bench.runtime().join("gone/disk");
        let mut file = OpenOptions::new().write(true).open(&disk).unwrap();
        let written = pattern(4 << 20, 7)
            .chunks(16 << 10)
            .try_for_each(|part| file.write_all(part).and_then(|()| file.sync_data()));
        assert!(written.is_err(), "level {level}: nothing is left to write to");
        drop(file);
        let status = bench.status_that_says("gone", &["has failed"]);
        let array = &status["arrays"][0];
        assert_eq!(
            (&array["state"], &array["is_readable"], &array["is_writable"]),
            (&json!("failed"), &json!(false), &json!(false)),
            "level {level}: {status}"
        );
        let shown = bench.ok(&["array", "status", "gone"]);
        assert!(shown.contains("state: FAILED, running"), "level {level}: {shown}");
        assert!(shown.contains("action: bring back the members that are gone"), "{shown}");
        assert_eq!(bench.run(&["array", "status", "--test", "gone"]).status.code(), Some(2));
        assert!(bench.ok(&["array", "status"]).contains(" failed "), "level {level}");
        let state = format!("seen-{level}.json");
        let told = bench.ok(&["array", "monitor", "--once", "--state", &state]);
        assert!(told.contains("gone: failed: too many members are missing"), "{told}");
        bench.kill("gone");
        bench.ok(&["array", "status"]);
    }
}

/// A rebuild that was ended before its time is not under way, and the status says how it goes on.
#[test]
fn a_rebuild_that_was_cancelled_is_not_said_to_be_under_way() {
    let Some(bench) = bench() else { return };
    let create = ["array", "create", "m", "-l", "1", "--size", "64MiB", "--assume-clean", "-m"];
    bench.ok(&[&create[..], &["a.img", "b.img"]].concat());
    let stack = "raid1(metadata=1.2, a.img, b.img)";
    bench.ok(&["array", "start", "--attach=file", "--name", "m", stack]);
    bench.ok(&["array", "set", "m", "sync_speed_min=1MiB", "sync_speed_max=1MiB"]);
    bench.ok(&["array", "fail", "m", "1"]);
    bench.ok(&["array", "remove", "m", "1"]);
    bench.ok(&["array", "add", "m", "b.img"]);
    assert!(bench.ok(&["array", "status", "m"]).contains("action: none: it is being rebuilt"));
    bench.ok(&["array", "scrub", "m", "cancel"]);
    bench.status_that_says("m", &["was ended before its time", "\"state\":\"incomplete\""]);
    let shown = bench.ok(&["array", "status", "m"]);
    assert!(
        shown.contains("action: go on with the rebuild of member 1: raidloom array scrub m resume")
    );
    assert!(shown.contains("member1   PARTIAL"), "{shown}");
    bench.ok(&["array", "set", "m", "sync_speed_min=1GiB", "sync_speed_max=1GiB"]);
    bench.ok(&["array", "scrub", "m", "resume"]);
    bench.status_that_says("m", &["[UU]"]);
    bench.ok(&["array", "stop", "m"]);
}

/// Signals that ask for nothing do nothing.
#[test]
fn a_server_outlives_signals_that_are_not_to_end_it() {
    let Some(bench) = bench() else { return };
    bench.ok(&["array", "start", "--name", "s", "ram:1MiB"]);
    let process = bench.status("s")["process"].as_i64().unwrap();
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    for signal in
        [Signal::USR1, Signal::USR2, Signal::ALARM, Signal::VTALARM, Signal::PROF, Signal::IO]
    {
        kill_process(process, signal).unwrap();
        assert_eq!(bench.status("s")["name"], "s", "{signal:?}");
    }
    bench.ok(&["array", "stop", "s"]);
}

/// "Events of running arrays […] to journal, mail command, program or webhook, once each, and
/// Prometheus text at a local address."
#[test]
fn what_happens_to_an_array_is_told_once_and_its_figures_are_served() {
    let Some(bench) = bench() else { return };
    let create = ["array", "create", "tank", "--level", "1", "--size", "4MiB", "--member"];
    bench.ok(&[&create[..], &["a.img", "b.img"]].concat());
    bench.ok(&["array", "start", "--attach", "--name", "t", "raid1(metadata=1.2, a.img, b.img)"]);
    let alarm = bench.path("alarm");
    let line = "echo \"$RAIDLOOM_ARRAY|$RAIDLOOM_EVENT|$RAIDLOOM_TEXT\"";
    fs::write(&alarm, format!("#!/bin/sh\n{line} >>{}\n", bench.path("told").display())).unwrap();
    fs::set_permissions(&alarm, fs::Permissions::from_mode(0o755)).unwrap();
    let once = ["array", "monitor", "--once", "--state", "seen.json", "--run", "./alarm"];
    assert!(bench.ok(&once).starts_with("t: started: it runs as process "));
    assert_eq!(bench.ok(&once), "");
    bench.ok(&["array", "fail", "t", "b.img"]);
    let said = bench.ok(&once);
    let degraded = "t: degraded: it goes on without all of its members: tank raid1 [U_]";
    assert!(said.lines().any(|line| line == degraded), "{said}");
    assert_eq!(bench.ok(&once), "");
    let told = fs::read_to_string(bench.path("told")).unwrap();
    assert!(told.contains("t|degraded|it goes on without"), "{told}");

    let mut command =
        bench.command(&["array", "monitor", "--metrics", "127.0.0.1:0", "--every", "1h"]);
    let mut monitor = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut note = String::new();
    BufReader::new(monitor.stderr.take().unwrap()).read_line(&mut note).unwrap();
    // The first look is over when it is told of.
    let mut first = String::new();
    let mut said = BufReader::new(monitor.stdout.take().unwrap());
    while !first.contains("degraded") {
        assert!(said.read_line(&mut first).unwrap() > 0, "{first}");
    }
    let address = note.trim().rsplit_once("http://").unwrap().1.strip_suffix("/metrics").unwrap();
    let ask = |path: &str| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let figures = ask("/metrics");
    assert!(figures.starts_with("HTTP/1.1 200 OK"), "{figures}");
    assert!(figures.contains("raidloom_degraded{array=\"t\"} 1\n"), "{figures}");
    assert!(figures.contains("raidloom_member_reads_total{array=\"t\",member=\""), "{figures}");
    assert!(ask("/").starts_with("HTTP/1.1 404"));
    kill_process(Pid::from_child(&monitor), Signal::TERM).unwrap();
    assert_eq!(monitor.wait().unwrap().code(), Some(0));

    bench.kill("t");
    let died = bench.ok(&once);
    assert!(died.starts_with("t: died: "), "{died}");
    for (wrong, why) in [
        (&["array", "monitor", "--every", "10"][..], "--every: `10` has no unit"),
        (&["array", "monitor", "--once"], "--state"),
        (&["array", "monitor", "--metrics", "0.0.0.0:9763"], "this machine alone"),
        (
            &["array", "monitor", "--webhook", "ftp://x"],
            "it does not begin with http:// or https://",
        ),
        (&["array", "monitor", "--mail", "nobody"], "it is no address"),
        (&["array", "monitor", "--run", "none"], "there is no such file"),
    ] {
        let said = bench.fails(2, wrong);
        assert!(said.contains(why), "{wrong:?}: {said}");
    }
}
/// "`--do` creates the array, makes the file system with the geometry it needs, mounts it where
/// asked, …; every step undone or named if a later one fails."
#[test]
fn what_was_chosen_is_made_and_found_again_by_its_name() {
    let Some(bench) = bench() else { return };
    let drives = ["a.img", "b.img", "c.img", "d.img"];
    drives.iter().for_each(|name| bench.image(name, 160));
    let mut words = vec!["choose"];
    words.extend(drives);
    words.extend(["--work", "files", "--survive", "1", "--file-system", "ext4", "-o", "chosen"]);
    bench.ok(&words);
    let make = ["choose", "--from", "chosen", "--do", "--name", "tank", "--mount", "mnt"];
    // Nothing is made where something is in the way.
    fs::create_dir(bench.path("mnt")).unwrap();
    fs::write(bench.path("mnt/file"), "precious").unwrap();
    let said = bench.fails(4, &make);
    assert!(said.contains("there is something in it"), "{said}");
    assert_eq!(fs::read(bench.path("a.img")).unwrap(), vec![0; 160 << 20]);
    fs::remove_file(bench.path("mnt/file")).unwrap();
    // It is there, by its name, with a file system that knows its stripes.
    let said = bench.ok(&make);
    assert!(said.contains("server: tank"), "{said}");
    assert!(said.contains("`raidloom array start tank` does"), "{said}");
    fs::write(bench.path("mnt/file"), "precious").unwrap();
    bench.ok(&["array", "umount", "tank"]);
    bench.ok(&["array", "stop", "tank"]);
    bench.ok(&["array", "start", "tank"]);
    assert_eq!(fs::read_to_string(bench.path("mnt/file")).unwrap(), "precious");
    let said = bench.fails(4, &make);
    assert!(said.contains("there is an array of this name"), "{said}");
    bench.ok(&["array", "umount", "tank"]);
    bench.ok(&["array", "stop", "tank"]);
    // A second one on the same drives takes the consent for what they hold.
    let mut again = make.to_vec();
    again[5] = "other";
    let said = bench.fails(4, &again);
    assert!(said.contains("--erase-signature"), "{said}");
    again.push("--erase-signature");
    bench.ok(&again);
    assert!(!bench.path("mnt/file").exists(), "it is made anew");
    bench.ok(&["array", "umount", "other"]);
    bench.ok(&["array", "stop", "other"]);
    assert!(bench.is_clean());
}

/// A start that fails takes the array and its configuration back.
#[test]
fn what_cannot_be_started_is_taken_back() {
    let Some(bench) = bench() else { return };
    let drives = ["a.img", "b.img", "c.img"];
    drives.iter().for_each(|name| bench.image(name, 64));
    let mut words = vec!["choose"];
    words.extend(drives);
    words.extend(["--work", "files", "--survive", "1", "--file-system", "xfs", "-o", "chosen"]);
    bench.ok(&words);
    // XFS takes 300 MiB at least.
    let said = bench.fails(1, &["choose", "--from", "chosen", "--do", "--mount", "mnt"]);
    assert!(said.contains("the array that was made is taken back"), "{said}");
    assert!(!bench.path("tank.toml").exists() && !bench.path("mnt").exists(), "{said}");
    let said = bench.fails(1, &["array", "examine", "a.img"]);
    assert!(said.contains("no md superblock"), "{said}");
    assert!(bench.is_clean());
}
