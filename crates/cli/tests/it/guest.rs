//! Work in a guest, as a user asks for it.
//!
//! Without the kernel (`raidloom guest build`) the tests that boot one are skipped; in CI that is a
//! failure.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::Command;

use serde_json::Value;

fn raidloom(arguments: &[&str]) -> (Option<i32>, String, String) {
    let ended = Command::new(env!("CARGO_BIN_EXE_raidloom")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ended.status.code(), text(ended.stdout), text(ended.stderr))
}

/// Whether there is a kernel for guests; where it has to be, the test fails.
pub(crate) fn is_built() -> bool {
    match guest::Kernel::find(guest::USUAL_KERNEL) {
        Ok(_) => true,
        Err(error) => {
            testkit::missing!("{error}");
            false
        }
    }
}

/// A folder to work in, where guests can be booted.
fn guest_folder() -> Option<tempfile::TempDir> {
    is_built().then(|| tempfile::tempdir().unwrap())
}

fn path_in(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

/// What a guest can do is said in the language of the locale.
#[test]
fn a_guest_is_checked_in_the_language_of_the_locale() {
    if !is_built() {
        return;
    }
    for (locale, head, kind) in
        [("C.UTF-8", "FILE SYSTEM", "yes"), ("ja_JP.UTF-8", "ファイルシステム", "可")]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
        let command = command.args(["check", "guest"]).env("LC_ALL", locale);
        let ended = command.env_remove("RAIDLOOM_LANG").output().unwrap();
        let text = String::from_utf8(ended.stdout).unwrap();
        assert!(text.contains(head) && text.contains(kind), "{locale}: {text}");
        assert_eq!(text.contains("boots, sleeps"), locale == "C.UTF-8", "{text}");
    }
}

const DISK: [&str; 4] = ["--stack", "model:maxtor-6y200p0", "--disk-size", "512MiB"];

/// "`raidloom bench bonnie|copy|crystal|… --guest …`: the suite runs inside, on a file system on
/// that stack, in modelled time, unchanged".
#[test]
fn a_suite_runs_in_a_guest_and_the_same_seed_gives_the_same_figures() {
    if !is_built() {
        return;
    }
    let run = |seed: &str| {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("run");
        let suite = ["bench", "bonnie", "model:maxtor-6y200p0", "--json", "--guest"];
        let guest = ["--memory", "48MiB", "--fs", "ext3", "-s", "disk_size=512MiB"];
        let own = ["--size", "96", "-s", "files=0", "-s", "per_character=false", "-s"];
        let more = ["check_memory=false", "-z", seed, "-o", run.to_str().unwrap()];
        let (code, said, errors) =
            raidloom(&[&suite[..], &guest[..], &own[..], &more[..]].concat());
        assert_eq!(code, Some(0), "{said} {errors}");
        serde_json::from_str::<Value>(&said).unwrap()
    };
    let (first, second) = (run("1"), run("1"));
    assert_eq!((&first["clock"], &first["modelled"]), (&"virtual".into(), &true.into()));
    assert_eq!((&first["suite"], first["rows"].as_array().unwrap().len()), (&"bonnie".into(), 4));
    // 96 MiB are written, read and written again, and read.
    let moved = |way: &str| -> u64 {
        let rows = first["rows"].as_array().unwrap().iter();
        rows.map(|row| row["members"][0][way].as_u64().unwrap()).sum()
    };
    assert!(moved("written_bytes") > 190 << 20, "{first}");
    assert!(moved("read_bytes") > 100 << 20, "{first}");
    assert_eq!(first["rows"], second["rows"]);
}

/// "`md = "raid5 chunk=64KiB"` (the kernel's own md over the same models)".
#[test]
fn the_guests_own_md_works_over_modelled_disks() {
    if !is_built() {
        return;
    }
    let disks = [DISK, DISK, DISK].concat();
    let disks: Vec<&str> =
        disks.chunks(2).filter(|pair| pair[0] == "--stack").flatten().copied().collect();
    let setup = ["guest", "run", "--json", "--memory", "64MiB", "--disk-size", "64MiB", "--md"];
    let work = [
        "raid5 chunk=64KiB",
        "--",
        "dd if=/dev/zero of=/dev/md0 bs=1M count=64 oflag=direct; cat /proc/mdstat; uname -v",
    ];
    let (code, said, errors) = raidloom(&[&setup[..], &work[..1], &disks, &work[1..]].concat());
    assert_eq!(code, Some(0), "{said} {errors}");
    let document: Value = serde_json::from_str(&said).unwrap();
    let mdstat = document["output"].as_str().unwrap();
    assert!(
        mdstat.contains("active raid5 vdc[2] vdb[1] vda[0]") && mdstat.contains("64k chunk"),
        "{mdstat}"
    );
    // All chance inside follows from this too: a kernel built at another time gives the same.
    assert!(mdstat.ends_with("#1 Sun Jan 01 00:00:00 UTC 2006\n"), "{mdstat}");
    // Two of three are data.
    let written: Vec<u64> = document["disks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|disk| disk["written_bytes"].as_u64().unwrap())
        .collect();
    assert!(written.iter().all(|bytes| (32 << 20..34 << 20).contains(bytes)), "{written:?}");
}

/// "`--cut-at` (and at a chosen request) freezes the members as the device model may leave them,
/// and the file system is mounted again in a second guest": what was synced before is there, on a
/// drive and on an array of ours, and the same command gives the same crash.
#[test]
fn what_was_synced_before_the_power_failed_is_there_afterwards() {
    if !is_built() {
        return;
    }
    let array = "raid5(chunk=64KiB, metadata=1.2, model:st340015a?link=a, model:st340015a?link=b, \
        model:st340015a?link=c)";
    let work = "for i in $(seq 200); do dd if=/dev/urandom of=$i bs=4k count=3 conv=fsync \
        2>/dev/null; cksum $i >>$OUT/synced; cp $i more$i; done";
    let then = "while read -r sum size name; do cksum $name | grep -qx \"$sum $size $name\" || \
        echo lost $name; done <$BEFORE/synced; echo kept $(wc -l <$BEFORE/synced); cd /; \
        umount $DISK; e2fsck -fn $DEVICE >&2";
    let run = |stack: &str, cut: &str, loses: &str| -> Value {
        let guest = ["guest", "run", "--json", "--disk-size", "256MiB", "--memory", "64MiB"];
        let more = ["--fs", "ext4", "--stack", stack, "--cut-at-request", cut];
        let end = ["--cut-loses", loses, "--then", then, "--", work];
        let (code, said, errors) = raidloom(&[&guest[..], &more[..], &end[..]].concat());
        assert_eq!(code, Some(0), "{stack} {cut}: {said} {errors}");
        serde_json::from_str(&said).unwrap()
    };
    for (stack, cut, loses) in
        [("model:st340015a", "171", "cache"), (array, "160", "any"), (array, "231", "cache")]
    {
        let found = run(stack, cut, loses);
        let said = found["then"]["output"].as_str().unwrap();
        assert!(said.starts_with("kept "), "{stack} {cut}: {said}");
        let kept: u32 = said.trim().strip_prefix("kept ").unwrap().parse().unwrap();
        assert!(kept > 3, "{stack} {cut}: {said}");
        assert_eq!(found["cut"]["requests"].to_string(), cut);
        assert_eq!(found["status"], Value::Null);
    }
    let (first, second) = (run(array, "160", "any"), run(array, "160", "any"));
    assert_eq!(first["cut"], second["cut"]);
    assert_eq!(first["then"]["disks"], second["then"]["disks"]);
}

/// "freezes the members": `--images` writes what is left of each drive, for other tools.
#[test]
fn what_a_drive_holds_after_the_cut_can_be_had_as_an_image() {
    let Some(folder) = guest_folder() else { return };
    let images = folder.path().join("images");
    let arguments = |then: &'static str| -> Vec<&str> {
        let guest = ["guest", "run", "--disk-size", "64MiB", "--memory", "64MiB", "--fs", "ext4"];
        let cut = ["--stack", "model:st340015a", "--cut-at", "20s", "--then", then, "--images"];
        let work = "seq 100000 >kept; sync; seq 7 >lost; sleep 60";
        [&guest[..], &cut, &[images.to_str().unwrap(), "--", work]].concat()
    };
    let (code, said, errors) = raidloom(&arguments("cksum kept"));
    assert_eq!(code, Some(0), "{said} {errors}");
    let image = images.join("drive0.img");
    let length = image.metadata().unwrap().len();
    assert_eq!(length, 64 << 20);
    let run = |program: &str, arguments: &[&str]| {
        let ended = Command::new(program).args(arguments).arg(&image).output().unwrap();
        (ended.status.code().unwrap(), ended.stdout)
    };
    // The journal is played back.
    let (code, said) = run("e2fsck", &["-fy"]);
    assert!(code <= 1, "{}", String::from_utf8_lossy(&said));
    let (_, kept) = run("debugfs", &["-R", "cat /kept"]);
    let expected: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    assert!(kept == expected.as_bytes(), "{} of {} bytes", kept.len(), expected.len());
    let (code, _, errors) = raidloom(&arguments("true"));
    assert!(code == Some(2) && errors.contains("the folder is not empty"), "{errors}");
}

/// md beside raidloom: both sides go on without a member, and rebuild one, and turn from the same
/// angle.
#[test]
fn arrays_of_a_guest_go_on_without_a_member_and_rebuild_it() {
    if !is_built() {
        return;
    }
    let drives = ["model:st340015a?link=a", "model:st340015a?link=b", "model:st340015a?link=c"];
    let run = |state: &str, by_md: bool| -> Value {
        let array = format!("raid5(chunk=64KiB, metadata=1.2, {})", drives.join(", "));
        let disks: Vec<&str> = match by_md {
            true => drives.iter().flat_map(|drive| ["--stack", drive]).collect(),
            false => vec!["--stack", &array],
        };
        let md: &[&str] = if by_md { &["--md", "raid5 chunk=64KiB"] } else { &[] };
        let device = if by_md { "/dev/md0" } else { "/dev/vda" };
        let work = format!(
            "dd if=/dev/zero of={device} bs=1M count=2 oflag=direct; sleep 8; cat /proc/mdstat"
        );
        let guest = ["guest", "run", "--json", "--disk-size", "32MiB", "--memory", "64MiB"];
        let arguments = [&guest[..], &["--state", state], md, &disks, &["--", &work]].concat();
        let (code, said, errors) = raidloom(&arguments);
        assert_eq!(code, Some(0), "{state}: {said} {errors}");
        serde_json::from_str(&said).unwrap()
    };
    for by_md in [true, false] {
        let written = |state: &str| {
            let found = run(state, by_md);
            let bytes: Vec<u64> = (0..3)
                .map(|drive| found["drives"][drive]["written_bytes"].as_u64().unwrap())
                .collect();
            (bytes, found["output"].as_str().unwrap().to_owned())
        };
        let (degraded, said) = written("degraded");
        assert!(degraded[2] < 1 << 20 && degraded[0] > 1 << 20, "{by_md}: {degraded:?}");
        assert!(!by_md || said.contains("[UU_]"), "{said}");
        let (rebuilt, said) = written("rebuilding");
        assert!(rebuilt[2] > 24 << 20, "{by_md}: {rebuilt:?} {said}");
        assert!(!by_md || said.contains("[UUU]"), "{said}");
    }
}

const PLAN: &str = r#"
schema = 1
name = "a plan in guests"
[members.two]
models = ["st340015a?link=a", "st340015a?link=b"]
[matrix]
level = "raid1"
place = "guest"
array = ["raidloom", "md"]
memory = "40MiB"
disk_size = "512MiB"
file_system = "ext2"
[[add]]
level = "single"
place = "guest"
[baseline]
level = "single"
[[workload]]
suite = "bonnie"
size = "64MiB"
files = 0
per_character = false
seeks = 50
tests = ["block write", "block read"]
[trials]
blocks = 3
[report]
matters = "90%"
"#;

/// "In plans: `place = "guest"` … A trial is a boot; the block's number is its seed", "resumable
/// like all trials", "the audit comes from the back end, which sees every byte".
#[test]
fn a_plan_is_measured_in_guests_and_is_the_same_when_it_goes_on() {
    let Some(folder) = guest_folder() else { return };
    let at = |name: &str| path_in(&folder, name);
    std::fs::write(at("plan.toml"), PLAN).unwrap();
    let (code, _, errors) = raidloom(&["run", &at("plan.toml"), "--output", &at("run")]);
    assert_eq!(code, Some(0), "{errors}");
    let trials = || {
        let text = std::fs::read_to_string(at("run/trials.jsonl")).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = trials();
    assert_eq!(all.len(), 3 * 2 * 3, "configurations, workloads, blocks");
    for trial in all.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let moved = |what: &str| {
            let members = trial["members"].as_array().unwrap();
            let bytes: Vec<u64> = members.iter().map(|one| one[what].as_u64().unwrap()).collect();
            bytes
        };
        let disks = if trial["settings"]["array"] == "md" { 2 } else { 1 };
        let what = match trial["workload"].as_str().unwrap() {
            "bonnie: block write" => "written_bytes",
            _ => "read_bytes",
        };
        let moved = moved(what);
        assert_eq!(moved.len(), disks, "{trial}");
        assert!(moved.iter().sum::<u64>() > 60 << 20, "{trial}");
        assert_eq!((&trial["clock"], &trial["flags"]), (&"virtual".into(), &serde_json::json!([])));
    }

    // As it is when it was killed in its middle.
    std::fs::write(at("run/trials.jsonl"), all[..7].join("\n") + "\n").unwrap();
    let (code, _, errors) = raidloom(&["run", "--resume", &at("run")]);
    assert_eq!(code, Some(0), "{errors}");
    let again = trials();
    assert_eq!(again.len(), all.len());
    for (again, before) in again.iter().zip(&all) {
        assert_eq!(again, before, "the same to the last bit");
    }

    let (_, said, _) = raidloom(&["report", &at("run"), "--json"]);
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["analysis"]["comparisons"][0]["in_guest"], true, "{said}");
    let (_, said, _) = raidloom(&["report", &at("run")]);
    assert!(said.contains("modelled, Linux in a guest"), "{said}");
}

const KERNELS: &str = r#"
schema = 1
name = "two kernels side by side"
[members.disk]
models = ["st340015a"]
[matrix]
level = "single"
place = "guest"
kernel = ["usual", "same", "absent"]
memory = "64MiB"
disk_size = "256MiB"
file_system = "ext4"
[baseline]
kernel = "usual"
[[workload]]
suite = "copy"
bytes = "4MiB"
tests = ["write"]
[trials]
blocks = 1
"#;

/// "several kernels side by side in one plan (`kernel` is an axis)": one that is the same gives the
/// same figures, and what is not there says so.
#[test]
fn kernels_stand_side_by_side_and_one_that_is_not_there_is_not_measured() {
    let Some(folder) = guest_folder() else { return };
    let at = |name: &str| path_in(&folder, name);
    let usual = guest::Kernel::folder(guest::USUAL_KERNEL).unwrap();
    for kept in ["cache/raidloom/guest", "cache/raidloom/guest/kernels/same"] {
        std::fs::create_dir_all(at(kept)).unwrap();
        for part in ["linux", "random.so", "clock.so", "power-off", "config", "made"] {
            std::fs::copy(usual.join(part), folder.path().join(kept).join(part)).unwrap();
        }
    }
    std::fs::write(at("plan.toml"), KERNELS).unwrap();
    let raidloom = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
        let ended = command.args(arguments).env("XDG_CACHE_HOME", at("cache")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (ended.status.code(), text(ended.stdout), text(ended.stderr))
    };
    let (code, _, errors) = raidloom(&["run", &at("plan.toml"), "--output", &at("run")]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("there is no kernel `absent` for guests"), "{errors}");
    let text = std::fs::read_to_string(at("run/trials.jsonl")).unwrap();
    let trials: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kernel: &str| {
        let trial = trials.iter().find(|trial| trial["settings"]["kernel"] == kernel).unwrap();
        (&trial["metrics"], &trial["members"])
    };
    assert_eq!(of("usual"), of("same"), "the same kernel, drive and seed");
    assert!(of("absent").1.as_array().is_none_or(Vec::is_empty), "{text}");
    // One's own command and pull test take it too, and nothing stands for what is not there.
    let work = ["guest", "run", "--stack", "model:st340015a", "--disk-size", "64MiB"];
    let named = |kernel, command| raidloom(&[&work[..], &["-s", kernel, "--", command]].concat());
    let (code, said, errors) = named("kernel=same", "uname -r");
    assert!(code == Some(0) && said.starts_with("6."), "{said} {errors}");
    let (code, _, errors) = named("kernel=absent", "uname -r");
    assert!(code == Some(2) && errors.contains("raidloom guest build -s name=absent"), "{errors}");
    let pull = ["pull", "--guest", "ram:32MiB", "-s", "kernel=absent"];
    let (code, _, errors) = raidloom(&pull);
    assert!(code == Some(2) && errors.contains("there is no kernel `absent`"), "{errors}");
}

/// What ends a guest that hangs says which bound that was, and how to move it.
#[test]
fn a_command_that_hangs_in_a_guest_is_ended_by_a_bound_that_can_be_moved() {
    if !is_built() {
        return;
    }
    let disk = ["guest", "run", "--stack", "model:st340015a", "--disk-size", "64MiB"];
    for (key, work, expected) in [
        ("silence_limit=1ms", "while :; do :; done", "1ms of real time, the bound of its silence"),
        ("real_time_limit=500ms", "while :; do sleep 1; done", "for 500ms of real time, its bound"),
    ] {
        let (code, _, errors) = raidloom(&[&disk[..], &["-s", key, "--", work]].concat());
        assert_eq!(code, Some(1), "{errors}");
        for part in [expected, "-s real_time_limit= and -s silence_limit="] {
            assert!(errors.contains(part), "{errors}");
        }
    }
}

const IMAGES: &str = r#"
schema = 1
name = "images in guests"
[members.disk]
models = ["st340015a"]
[matrix]
level = "single"
place = "guest"
memory = "64MiB"
disk_size = "256MiB"
processors = 1
file_system = "ext4"
image = ["none", "raw", "vhd"]
image_size = "64MiB"
outer_file_system = "ext4"
[baseline]
image = "none"
[[workload]]
suite = "copy"
bytes = "4MiB"
tests = ["write"]
[trials]
blocks = 1
"#;

/// "nested image on a file system on a device (raw, VHD)", by the drive's own count and by the file
/// that lies on it after a cut.
#[test]
fn a_file_system_lies_in_an_image_in_another_one() {
    let Some(folder) = guest_folder() else { return };
    let at = |name: &str| path_in(&folder, name);
    std::fs::write(at("plan.toml"), IMAGES).unwrap();
    let (code, _, errors) = raidloom(&["run", &at("plan.toml"), "--output", &at("run")]);
    assert_eq!(code, Some(0), "{errors}");
    let text = std::fs::read_to_string(at("run/trials.jsonl")).unwrap();
    let trials: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(trials.len(), 3);
    for trial in &trials {
        assert_eq!(trial["flags"], serde_json::json!([]), "{trial}");
        let written = trial["members"][0]["written_bytes"].as_u64().unwrap();
        // The image itself is written before; both journals with the files. A sync of ext4 flushes
        // its device, and so the outer file: one of FAT leaves in the outer page cache whatever the
        // guest has memory for.
        assert!((7 << 19..8 << 20).contains(&written), "{trial}");
    }

    let (image, size) = (["-s", "image=vhd", "-s", "image_size=64MiB"], (64 << 20) + 512);
    let guest = ["guest", "run", "--stack", "model:st340015a", "--disk-size", "256MiB"];
    let inner = ["--memory", "64MiB", "--fs", "vfat", "-s", "outer_file_system=ext4"];
    let cut = ["--cut-at", "60s", "--images", &at("cut"), "--then", "cat kept"];
    let work = "echo promised >kept; sync; sleep 100";
    let arguments = [&guest[..], &image, &inner, &cut, &["--", work]].concat();
    let (code, said, errors) = raidloom(&arguments);
    assert_eq!((code, said.as_str()), (Some(0), "promised\n"), "{errors}");
    let drives: Vec<_> = std::fs::read_dir(at("cut")).unwrap().collect();
    let drive = drives[0].as_ref().unwrap().path();
    let dumped = at("image.vhd");
    let dump = ["-R", &format!("dump /image.vhd {dumped}"), drive.to_str().unwrap()];
    if Command::new("debugfs").args(dump).output().is_err() {
        return testkit::missing!("debugfs is not there: apt-get install e2fsprogs");
    }
    let bytes = std::fs::read(&dumped).unwrap();
    assert_eq!((bytes.len(), &bytes[64 << 20..][..8]), (size, &b"conectix"[..]));
    assert!(bytes[..64 << 20].windows(9).any(|window| window == b"promised\n"));

    // What does not fit is one line, from the guest where only it can know.
    let small = ["--memory", "64MiB", "--fs", "vfat", "-s", "image=raw", "-s", "image_size=255MiB"];
    let arguments = [&guest[..], &small, &["-s", "outer_file_system=ext4", "--", "true"]].concat();
    let (code, _, errors) = raidloom(&arguments);
    assert_eq!(code, Some(1), "{errors}");
    let last = errors.lines().last().unwrap();
    assert!(last.ends_with("an image of 255MiB does not fit into its file system"), "{errors}");
}

/// What cannot be is said in one line, before anything is booted or by what the guest said.
#[test]
fn what_a_guest_cannot_do_is_said_in_one_line() {
    let cases: [(&[&str], &str); 10] = [
        (&["guest", "run", "--stack", "ram:1MiB", "--then", "x", "true"], "it is for a power cut"),
        (&["guest", "run", "--stack", "ram:1MiB", "--cut-at", "1s", "true"], "without --fs there"),
        (
            &["guest", "run", "--stack", "ram:1MiB", "--fs", "ext2", "--cut-at", "1", "true"],
            "--cut-at: `1` has no unit",
        ),
        (&["bench", "bonnie", "--guest", "ram:1MiB"], "bonnie runs on a folder"),
        (&["bench", "bonnie", "--fs", "ext3", "/tmp"], "a folder of a file system that is there"),
        (
            &["bench", "bonnie", "--guest", "--fs", "ext3", "/tmp"],
            "/tmp: a guest lives in modelled time",
        ),
        (&["guest", "run", "--stack", "ram:1MiB", "--md", "raid9", "true"], "`raid9` is no level"),
        (&["guest", "run", "--stack", "file:a.img", "true"], "name model: leaves"),
        (
            &["guest", "run", "--stack", "ram:1MiB", "--fs", "vfat", "-s", "image=raw", "true"],
            "-s image=KIND needs -s image_size=SIZE and -s outer_file_system=NAME",
        ),
        (
            &[
                "guest",
                "run",
                "--stack",
                "ram:1MiB",
                "--fs",
                "vfat",
                "-s",
                "image=vhd",
                "-s",
                "image_size=1000",
                "-s",
                "outer_file_system=ext2",
                "true",
            ],
            "-s image_size: an image of 1000: expected a multiple of 4096 bytes",
        ),
    ];
    for (arguments, expected) in cases {
        let (code, _, errors) = raidloom(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(expected) && errors.lines().count() == 1, "{errors}");
    }
    if !is_built() {
        return;
    }
    let fs = ["--fs", "ext4", "-s", "make_options=-E nonsense"];
    let (code, _, errors) = raidloom(&[&["guest", "run"], &DISK[..], &fs[..], &["true"]].concat());
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("`nonsense` of `-E` is none of the options"), "{errors}");
    let fs = ["--fs", "ext4", "-s", "make_options=-b 3"];
    let (code, _, errors) = raidloom(&[&["guest", "run"], &DISK[..], &fs[..], &["true"]].concat());
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("the guest's disks: setting up: mkfs.ext4 ended with 1"), "{errors}");
    let (code, said, errors) = raidloom(&["guest", "run", "--stack", "ram:1MiB", "echo a; exit 9"]);
    assert_eq!((code, said.as_str()), (Some(1), "a\n"), "{errors}");
    assert!(errors.contains("ended with 9"), "{errors}");
}

const WITH_FIO: &str = r#"
schema = 1
name = "fio in a guest"
[members.disk]
models = ["st340015a"]
[matrix]
level = "single"
place = "guest"
memory = "320MiB"
disk_size = "256MiB"
file_system = "none"
WORK
[trials]
blocks = 1
"#;

/// fio reads the processor's counter unless it is told not to, and that runs in real time: two
/// disks that do 6,830 writes a second had 341,000. The suite tells it; figures of a command that
/// does not are shown, and say nothing.
#[test]
fn what_fio_measures_in_a_guest_is_modelled_or_has_no_say() {
    if !is_built() {
        return;
    }
    if Command::new("fio").arg("--version").output().is_err() {
        testkit::missing!("fio is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| path_in(&folder, name);
    let job = "[seek]\nrw=randread\nbs=4k\nsize=64m\nio_size=256k\ndirect=1\n";
    std::fs::write(at("seek.fio"), job).unwrap();
    let by_hand = "fio --name=seek --filename={device} --rw=randread --bs=4k --size=64m --io_size=256k \
        --direct=1 \
        --output-format=json";
    let trials = |name: &str, work: &str| {
        let plan = at(&format!("{name}.toml"));
        std::fs::write(&plan, WITH_FIO.replace("WORK", &format!("[[workload]]\n{work}"))).unwrap();
        let (_, said, errors) = raidloom(&["run", &plan, "--output", &at(name)]);
        let trials = std::fs::read_to_string(at(&format!("{name}/trials.jsonl")))
            .unwrap_or_else(|error| panic!("{name}: {error}: {errors}"));
        let trials: Vec<Value> =
            trials.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(trials.len(), 1, "{name}: {errors}");
        (trials, said)
    };
    let command = |run: &str| format!("suite = 'command'\nrun = '{run}'\nfigures = 'fio'\n");
    let told = format!("{by_hand} --clocksource=clock_gettime");
    for (name, work) in [
        ("suite", &*format!("suite = 'fio'\njob = '{}'\n", at("seek.fio"))),
        ("told", &*command(&told)),
    ] {
        for trial in trials(name, work).0 {
            let rate = trial["metrics"]["throughput_bytes_per_second"].as_f64().unwrap();
            assert!((40.0..400.0).contains(&(rate / 4096.0)), "{name}: a disk that seeks: {trial}");
            assert_eq!(trial["flags"], serde_json::json!([]), "{name}: {trial}");
        }
    }
    let (found, said) = trials("by-hand", &command(by_hand));
    for trial in found {
        let flag = &trial["flags"][0];
        assert_eq!((&flag["code"], &flag["program"]), (&"not-modelled-time".into(), &"fio".into()));
    }
    assert!(said.contains("not counted: not in modelled time: fio"), "{said}");
}

/// A profile's work is done in a file on every layout with `--measure=guests`, and refused in a
/// line where guests have no kernel.
#[test]
fn a_profile_is_worked_in_a_file_system_on_modelled_drives() {
    let Some(folder) = guest_folder() else { return };
    let profile = path_in(&folder, "own.toml");
    let text =
        "title = \"own\"\n[[workload]]\nname = \"a\"\nread = 50\ntime = \"1s\"\nramp = \"1s\"\n";
    std::fs::write(&profile, text).unwrap();
    let answer = |name: &str, cache: Option<&str>| {
        let run = path_in(&folder, name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
        command.args(["choose", "2", "x", "st340015a", "--survive", "1", "--work", &profile]);
        command.args(["--measure=guests", "--json", "-o", &run]);
        if let Some(cache) = cache {
            command.env("XDG_CACHE_HOME", cache);
        }
        let ended = command.output().unwrap();
        let errors = String::from_utf8(ended.stderr).unwrap();
        (serde_json::from_slice::<Value>(&ended.stdout).ok(), errors)
    };
    let (said, errors) = answer("run", None);
    let choice = &said.expect(&errors)["choice"];
    assert_eq!(choice["file_system"], "ext4", "{choice}");
    assert_eq!(choice["work_was_in_guests"], true, "{choice}");
    assert_eq!(choice["file_system_was_run"], true, "{choice}");
    // These are of the array alone.
    assert!(choice["degraded"].is_number() && choice["bitmap_ratio"].is_number(), "{choice}");
    let trials = std::fs::read_to_string(path_in(&folder, "run/trials.jsonl")).unwrap();
    assert!(trials.lines().count() >= 4 && !trials.contains("never-written"), "{trials}");
    let (said, errors) = answer("none", Some(&path_in(&folder, "cache")));
    let error = errors.lines().last().unwrap_or_default();
    assert!(said.is_none() && error.contains("raidloom guest build"), "{errors}");
    assert!(!folder.path().join("none").exists());
}

/// A command of one's own is work on drives that nobody has: in guests, on a file system on every
/// layout over their models.
#[test]
fn a_command_is_chosen_for_on_modelled_drives() {
    let Some(folder) = guest_folder() else { return };
    let run = folder.path().join("run");
    let run = run.to_str().unwrap();
    let words = ["choose", "2", "x", "st340015a", "--survive", "1", "--work-command"];
    let command = "dd if=/dev/zero of={dir}/it bs=1M count=16 conv=fsync";
    let (code, said, errors) =
        raidloom(&[&words[..], &[command, "--file-system", "xfs", "-o", run, "--json"]].concat());
    assert_eq!(code, Some(0), "{said} {errors}");
    let choice = &serde_json::from_str::<Value>(&said).unwrap()["choice"];
    assert_eq!((&choice["figures"], &choice["file_system"]), (&"modelled".into(), &"xfs".into()));
    assert_eq!(choice["work_was_in_guests"], true, "{choice}");
    assert!(choice["degraded"].is_null(), "{choice}");
    let (code, said, errors) = raidloom(&["choose", "--from", run]);
    assert_eq!(code, Some(0), "{said} {errors}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("what computing takes (none in a guest)"), "{said}");
    assert!(!words.contains("what xfs adds") && said.lines().count() <= 20, "{said}");
    // A command that fails ends it, with what it said.
    let failed = ["echo no such luck >&2; exit 3", "-o", "failed"];
    let last = folder.path().join("failed");
    let failed = [failed[0], failed[1], last.to_str().unwrap()];
    let (code, _, errors) = raidloom(
        &[&["choose", "2", "x", "st340015a", "--survive", "1", "--work-command"][..], &failed]
            .concat(),
    );
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("no such luck"), "{errors}");
}
