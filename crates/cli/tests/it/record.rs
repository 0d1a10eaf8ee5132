//! Recordings: the walk-through of `docs/record.md`, a disk that is recorded, and other programs'
//! recordings.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    command
        .args(words)
        .current_dir(folder)
        .env("RAIDLOOM_RUNTIME_DIR", folder.join("run"))
        .env("RAIDLOOM_CONFIG_DIR", folder)
        .stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn raidloom(folder: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command(folder, words).output().unwrap();
    (status.code(), text(&stdout), text(&stderr))
}

fn json(folder: &Path, words: &[&str]) -> Value {
    let (code, printed, errors) = raidloom(folder, &[words, &["--json"]].concat());
    assert_eq!(code, Some(0), "{words:?}: {errors}");
    serde_json::from_str(&printed).unwrap()
}

/// Every command of the walk-through that needs no root, in its order.
#[test]
fn the_walk_through_works() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/record.md");
    let page = fs::read_to_string(page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_raidloom")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    // A recording long enough for the parts that are cut out.
    let times = (0..200).map(|number: u64| format!("{number},write,{},4096\n", number * 8192));
    fs::write(folder.path().join("long.csv"), times.collect::<String>()).unwrap();
    // What stands for the evening, and for the disk that it is replayed on, takes two seconds.
    let times = (0..200).map(|number: u64| {
        format!("{:.2},write,{},4096,0.001\n", number as f64 / 100.0, number * 8192)
    });
    let head = "time,op,offset,length,latency\n".to_owned();
    fs::write(folder.path().join("evening.csv"), head + &times.collect::<String>()).unwrap();
    let evening = ["trace", "convert", "evening.csv", "-o", "evening.rec"];
    assert_eq!(raidloom(folder.path(), &evening).0, Some(0));
    let page = page.replace("/mnt/disk", "--size 64MiB disk.img");
    let mut commands = 0;
    for line in page.lines().filter(|line| line.starts_with("raidloom ")) {
        if line.starts_with("raidloom trace cut") {
            let whole = ["trace", "convert", "long.csv", "-o", "long.rec"];
            assert_eq!(raidloom(folder.path(), &whole).0, Some(0));
            fs::rename(folder.path().join("long.rec"), folder.path().join("load.rec")).unwrap();
        }
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env("RAIDLOOM_RUNTIME_DIR", folder.path().join("run"))
            .env("RAIDLOOM_CONFIG_DIR", folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        commands += 1;
    }
    assert!(commands >= 11, "{commands} commands");
    let minute = json(folder.path(), &["trace", "show", "minute.rec"]);
    assert_eq!(minute["requests"], 60);
    let triple = json(folder.path(), &["trace", "show", "triple.rec"]);
    assert!((triple["seconds"].as_f64().unwrap() - 199.0 / 3.0).abs() < 0.01, "{triple}");
    let page = fs::read_to_string(folder.path().join("load.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("<polyline"));
}

#[test]
fn what_is_shown_of_a_recording_is_what_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = String::from("time,op,offset,length,latency,stream\n");
    for number in 0..1000_u64 {
        let time = number as f64 * 0.01;
        lines += &format!("{time:.6},read,{},65536,0.005,7\n", number * 65536);
        lines += &format!(
            "{:.6},write,{},4096,0.001,8\n",
            time + 0.002,
            number % 10 * 1_000_000_000_u64 / 4096 * 4096
        );
    }
    lines += "10.5,flush,0,0,0.02,8\n";
    fs::write(folder.path().join("load.csv"), lines).unwrap();
    let shown = json(folder.path(), &["trace", "show", "load.csv"]);
    assert_eq!(shown["requests"], 2001);
    assert_eq!(shown["streams"], 2);
    assert_eq!(shown["operations"]["read"]["sequential"], 999);
    assert_eq!(shown["operations"]["write"]["sequential"], 0);
    assert_eq!(shown["operations"]["flush"]["requests"], 1);
    assert_eq!(shown["footprint"]["read_bytes"], 1000 * 65536);
    assert_eq!(shown["under_way"]["max"], 2);
    let (code, printed, errors) = raidloom(folder.path(), &["trace", "show", "load.csv"]);
    assert_eq!(code, Some(0), "{errors}");
    for word in
        ["2001 requests in 10.52 s, by 2 streams (csv)", "footprint", "requests/s", "busiest"]
    {
        assert!(printed.contains(word), "{word}: {printed}");
    }
}

#[test]
fn recordings_are_converted_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "time,op,fua,offset,length,latency,stream\n\
        0.000000000,read,0,0,512,0.000001000,\n\
        0.000001000,write,1,8192,4096,,7\n\
        0.000002000,flush,0,0,0,0.000000500,7\n";
    fs::write(folder.path().join("a.csv"), lines).unwrap();
    let convert = |from: &str, to: &str| {
        let (code, _, errors) = raidloom(folder.path(), &["trace", "convert", from, "-o", to]);
        assert_eq!(code, Some(0), "{from} to {to}: {errors}");
    };
    convert("a.csv", "b.rec");
    convert("b.rec", "c.csv");
    assert_eq!(fs::read_to_string(folder.path().join("c.csv")).unwrap(), lines);
    convert("b.rec", "d.iolog");
    let iolog = fs::read_to_string(folder.path().join("d.iolog")).unwrap();
    assert!(iolog.starts_with("fio version 3 iolog\n") && iolog.contains("1 d write 8192 4096\n"));
    convert("b.rec", "e.parquet");
    assert_eq!(fs::read(folder.path().join("e.parquet")).unwrap()[..4], *b"PAR1");
    let (code, _, errors) = raidloom(folder.path(), &["trace", "convert", "a.csv", "-o", "b.rec"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("b.rec: it is there already"), "{errors}");
}

#[test]
fn a_page_takes_the_place_of_no_recording() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.csv"), "time,op,offset,length\n0,read,0,512\n1,write,4096,512\n").unwrap();
    fs::hard_link(at("a.csv"), at("same.csv")).unwrap();
    let run = |arguments: &[&str]| raidloom(folder.path(), arguments);
    assert_eq!(run(&["trace", "convert", "a.csv", "-o", "b.rec"]).0, Some(0));
    let show = |from: &str, to: &str| run(&["trace", "show", from, "--html", to]);
    for (from, to, why) in [
        ("a.csv", "a.csv", "is made from this file"),
        ("a.csv", "./same.csv", "is made from this file"),
        ("b.rec", "b.rec", "is made from this file"),
        ("a.csv", "b.rec", "it carries a signature: "),
    ] {
        let before = fs::read(at(to)).unwrap();
        let (code, _, errors) = show(from, to);
        assert!(code == Some(4) && errors.contains(why), "{from} to {to}: {code:?} {errors}");
        assert!(fs::read(at(to)).unwrap() == before, "{to}");
    }
    let simulated = run(&["array", "cache", "simulate", "a.csv", "--svg", "a.csv"]);
    assert!(simulated.0 == Some(4) && simulated.2.contains("this file"), "{}", simulated.2);
    for to in ["page.html", "page.html", "/dev/null"] {
        assert_eq!(show("a.csv", to).0, Some(0), "{to}");
    }
}

#[test]
fn bad_recordings_are_named_with_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("spc", b"0,1,512,r,0.0\n1,1,512,r,0.1\n");
    write("wrong.csv", b"0,read,0,512\n1,read,0,0\n0.5,read,0,512\n2,read,0\n");
    write("empty", b"");
    write("short.csv", b"0,read,0,512\n2.5,read,0,512\n");
    let cases: [(&[&str], i32, &str); 10] = [
        (
            &["cut", "short.csv", "--from", "100min", "--to", "200min", "-o", "x"],
            2,
            "short.csv: no request lies in the part from --from to --to: the last of the \
                recording begins at 2.500 s",
        ),
        (
            &["cut", "short.csv", "--from", "1s", "--to", "2s", "-o", "x"],
            2,
            "the last of the recording begins at 2.500 s",
        ),
        (
            &["show", "spc"],
            2,
            "the trace is of 2 devices (0, 1); say which one counts: --device NAME",
        ),
        (&["show", "spc", "--device", "5"], 2, "there is no device 5 in the trace, only: 0, 1"),
        (&["show", "spc", "--format", "elf"], 2, "possible values: raidloom, csv, blktrace"),
        (&["show", "wrong.csv", "--strict"], 2, "line 2: a request of size 0"),
        (&["show", "wrong.csv"], 2, "line 4: no length"),
        (&["show", "empty"], 1, "there is no request in it"),
        (&["show", "nowhere"], 2, "nowhere: No such file"),
        (&["cut", "spc", "-o", "x"], 2, "name a part with --from, --to or both"),
    ];
    for (words, expected, said) in cases {
        let (code, _, errors) = raidloom(folder.path(), &[&["trace"], words].concat());
        assert!(code == Some(expected) && errors.contains(said), "{words:?}: {code:?} {errors}");
    }
    assert!(!folder.path().join("x").exists());
    let (code, _, errors) = raidloom(folder.path(), &["trace", "convert", "spc", "-o", "x"]);
    assert!(code == Some(2) && !folder.path().join("x").exists(), "{errors}");
}

/// A loop device over a file, until it goes.
struct Loop(String);

impl Loop {
    fn over(file: &Path) -> Option<Loop> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output().ok()?;
        output.status.success().then(|| Loop(text(&output.stdout).trim().to_owned()))
    }

    /// Reads and writes that the kernel has counted.
    fn counted(&self) -> [u64; 2] {
        let name = self.0.trim_start_matches("/dev/");
        let stat = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        let fields: Vec<u64> = stat.split_whitespace().map(|one| one.parse().unwrap()).collect();
        [fields[0], fields[4]]
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

fn loop_device(folder: &Path) -> Option<Loop> {
    let image = folder.join("d.img");
    File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let found = match rustix::process::geteuid().is_root() {
        true => Loop::over(&image),
        false => None,
    };
    if found.is_none() {
        testkit::missing!("recording a disk needs root and a loop device");
    }
    found
}

/// A recording that has begun.
fn begun(folder: &Path, words: &[&str]) -> Child {
    use std::io::{BufRead, BufReader};
    let mut child =
        command(folder, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    let mut rest = String::new();
    if !line.starts_with("recording ") {
        std::io::Read::read_to_string(&mut errors, &mut rest).unwrap();
    }
    assert!(line.starts_with("recording "), "{line}{rest}");
    child
}

fn ended(child: Child, signal: rustix::process::Signal) -> Output {
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, signal).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_disk_is_recorded_as_the_kernel_counts_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some(device) = loop_device(folder.path()) else { return };
    let before = device.counted();
    let words = ["record", &device.0, "-o", "load.rec", "--json"];
    let child = begun(folder.path(), &words);
    let file = File::options().read(true).write(true).open(&device.0).unwrap();
    let mut data = vec![7; 4096];
    for number in 0..50 {
        file.write_all_at(&data, number * 65536).unwrap();
        file.sync_data().unwrap();
    }
    for number in 0..50 {
        file.read_exact_at(&mut data, (1 << 20) * (number % 60) + 32768).unwrap();
    }
    drop(file);
    let after = device.counted();
    let output = ended(child, rustix::process::Signal::INT);
    assert!(output.status.success(), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["dropped_events"], 0);
    let shown = json(folder.path(), &["trace", "show", "load.rec"]);
    let operations = &shown["operations"];
    assert_eq!(operations["write"]["requests"], 50, "{shown}");
    assert_eq!(operations["flush"]["requests"], 50, "{shown}");
    // The kernel merges what it reads ahead: counted are requests after that.
    let reads = operations["read"]["requests"].as_u64().unwrap();
    assert!(reads >= after[0] - before[0] && reads >= 1, "{before:?} {after:?} {shown}");
    // A flush is a write to some kernels.
    assert!([50, 100].contains(&(after[1] - before[1])), "{before:?} {after:?}");
    assert_eq!(shown["device_bytes"], 64 << 20);
    for op in ["write", "flush"] {
        assert!(operations[op]["latency_seconds"]["p50"].as_f64().unwrap() > 0.0, "{shown}");
    }
    assert!(operations["write"]["lengths"][0]["bytes"] == 4096, "{shown}");
    assert_eq!(shown["problems"], Value::Array(Vec::new()));
}

fn run(words: &[&str]) -> bool {
    Command::new(words[0]).args(&words[1..]).status().is_ok_and(|status| status.success())
}

/// A mount, until it goes.
struct TestMount(std::path::PathBuf);

impl TestMount {
    fn at(folder: std::path::PathBuf, words: &[&str]) -> TestMount {
        fs::create_dir(&folder).unwrap();
        let whole = [&["mount"], words, &[folder.to_str().unwrap()]].concat();
        assert!(run(&whole), "{whole:?}");
        TestMount(folder)
    }
}

impl Drop for TestMount {
    fn drop(&mut self) {
        run(&["umount", self.0.to_str().unwrap()]);
    }
}

#[test]
fn a_recording_on_what_it_records_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let Some(device) = loop_device(folder.path()) else { return };
    if !run(&["mkfs.ext4", "-q", &device.0]) {
        testkit::missing!("mkfs.ext4");
        return;
    }
    let mounted = TestMount::at(folder.path().join("mnt"), &[&device.0]);
    let point = mounted.0.to_str().unwrap();
    let inside = mounted.0.join("load.rec");
    let inside = inside.to_str().unwrap();
    let (code, _, errors) = raidloom(folder.path(), &["record", point, "-o", inside]);
    assert_eq!(code, Some(4), "{errors}");
    assert!(errors.contains("(feedback)") && errors.contains("--feedback"), "{errors}");
    assert!(!mounted.0.join("load.rec").exists());
    let child = begun(folder.path(), &["record", point, "-o", "a.rec", "--anonymous"]);
    let mut file = File::create(mounted.0.join("data")).unwrap();
    file.write_all(&[1; 1 << 20]).unwrap();
    file.sync_all().unwrap();
    let output = ended(child, rustix::process::Signal::TERM);
    assert!(output.status.success(), "{output:?}");
    let shown = json(folder.path(), &["trace", "show", "a.rec"]);
    assert!(shown["operations"]["write"]["bytes"].as_u64().unwrap() >= 1 << 20, "{shown}");
    // The first region that was asked for is the first of the recording.
    assert!(shown["footprint"]["end_byte"].as_u64().unwrap() <= 128 << 20, "{shown}");
}

/// Writes to the device, one request after the other, until something is so.
#[allow(clippy::disallowed_methods, reason = "what it waits for has its own time")]
fn write_until(device: &Loop, mut is_so: impl FnMut() -> bool) {
    let file = File::options().write(true).open(&device.0).unwrap();
    let begun = std::time::Instant::now();
    let mut number = 0;
    while !is_so() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{number} requests");
        file.write_all_at(&[3; 4096], number % 1000 * 8192).unwrap();
        file.sync_data().unwrap();
        number += 1;
    }
}

#[test]
fn a_recorder_that_is_killed_leaves_what_it_had_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let Some(device) = loop_device(folder.path()) else { return };
    let child = begun(folder.path(), &["record", &device.0, "-o", "load.rec"]);
    let length = || fs::metadata(folder.path().join("load.rec")).unwrap().len();
    write_until(&device, || length() > 40);
    ended(child, rustix::process::Signal::KILL);
    let shown = json(folder.path(), &["trace", "show", "load.rec"]);
    assert!(shown["operations"]["write"]["requests"].as_u64().unwrap() > 0, "{shown}");
    // The next one takes away what the killed one left in the kernel.
    let child = begun(folder.path(), &["record", &device.0, "-o", "next.rec"]);
    assert!(ended(child, rustix::process::Signal::INT).status.success());
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let Some(device) = loop_device(folder.path()) else { return };
    let small =
        TestMount::at(folder.path().join("small"), &["-t", "tmpfs", "-o", "size=8k", "small"]);
    fs::write(small.0.join("full"), [1; 4096]).unwrap();
    let to = small.0.join("load.rec");
    let to = to.to_str().unwrap();
    let mut child = command(folder.path(), &["record", &device.0, "-o", to]);
    let mut child = child.stderr(Stdio::piped()).spawn().unwrap();
    // It ends by itself.
    write_until(&device, || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    // It says how far what is there goes.
    let (code, _, said) = raidloom(folder.path(), &["trace", "convert", to, "-o", "kept.csv"]);
    assert_eq!(code, Some(0), "{said}");
    let kept = fs::read_to_string(folder.path().join("kept.csv")).unwrap();
    let last: f64 = kept.lines().last().unwrap().split(',').next().unwrap().parse().unwrap();
    let ends = errors.split_once("the recording ends after ").expect(&errors).1;
    let mut ends = ends.split([' ', ';']);
    let figure: f64 = ends.next().unwrap().parse().unwrap();
    let unit = match ends.next().unwrap() {
        "us" => 1e-6,
        "ms" => 1e-3,
        _ => 1.0,
    };
    assert!(last > 0.0 && (figure * unit / last - 1.0).abs() < 0.01, "{last}: {errors}");
    // Where even the beginning finds no room.
    fs::remove_file(to).unwrap();
    fs::write(small.0.join("fuller"), [1; 4096]).unwrap();
    let (code, _, errors) = raidloom(folder.path(), &["record", &device.0, "-o", to]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("load.rec: ") && errors.contains("after 0 us"), "{errors}");
    fs::remove_file(to).unwrap();
    // A new recording names itself, and not the one that it is made of.
    let (code, _, errors) = raidloom(folder.path(), &["trace", "convert", "kept.csv", "-o", to]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("load.rec: ") && !errors.contains("kept.csv"), "{errors}");
}
