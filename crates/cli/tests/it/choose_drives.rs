//! `raidloom choose --measure` on drives that were used before: loop devices stand for them.
#![expect(
    clippy::disallowed_methods,
    reason = "waits for another process; a test that hangs says less than one that fails"
)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::suites::disk::{RawDisk, is_possible};

/// Work of a moment.
const PROFILE: &str = r#"title = "a moment's work"
[[workload]]
name = "writes"
read = 30
time = "40ms"
ramp = "0s"
"#;

/// Drives and a folder to work in. What was started in it ends with it.
pub(crate) struct Shelf {
    drives: Vec<RawDisk>,
    folder: tempfile::TempDir,
}

impl Shelf {
    fn new(test: &str, drives: usize) -> Option<Shelf> {
        if !is_possible(test, &["mkfs.ext4"]) {
            return None;
        }
        if !Path::new("/dev/fuse").exists() {
            testkit::missing!("there is no /dev/fuse");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("own.toml"), PROFILE).unwrap();
        Some(Shelf { drives: (0..drives).map(|_| RawDisk::new(64)).collect(), folder })
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        command
            .env("RAIDLOOM_RUNTIME_DIR", self.folder.path().join("run"))
            .env("RAIDLOOM_CONFIG_DIR", self.folder.path())
            // Units, rules of udev and md's configuration are the test's own.
            .env("RAIDLOOM_SYSTEM_ROOT", self.folder.path().join("machine"))
            .env("PATH", self.search_path())
            .stdin(Stdio::null());
        command
    }

    /// Programs of the test's own go before all others.
    fn search_path(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = [self.path("bin")].into_iter().chain(std::env::split_paths(&path));
        std::env::join_paths(all).unwrap()
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    fn ok(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn fails(&self, code: i32, line: &str) -> String {
        let output = self.run(line);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        said
    }

    /// Runs a command in the course of which a drive dies, after two trials of its run.
    fn dies_at_work(&self, die: impl FnOnce(), line: &str, run: &str) -> Output {
        let mut command = self.command(line);
        let begun = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_trials(&self.path(run), 2);
        die();
        begun.wait_with_output().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn names(&self) -> String {
        let names: Vec<String> =
            self.drives.iter().map(|drive| drive.path().display().to_string()).collect();
        names.join(" ")
    }

    /// What somebody has written into md's configuration.
    const OF_MD: &'static str = "HOMEHOST <system>\n# tank is mine\n";

    /// The lines for md of a making that was killed before its first superblock.
    fn left_by_a_killed_making(&self) -> String {
        format!(
            "# gone: raidloom serves it, from {}.\nARRAY <ignore> UUID=0badc0de{}\n",
            self.path("gone.toml").display(),
            ":00000000".repeat(3)
        )
    }

    /// mdadm with its rule for udev and its configuration, which is returned.
    fn plant_md(&self) -> PathBuf {
        let rule = self.path("machine/lib/udev/rules.d/64-md-raid-assembly.rules");
        let configuration = self.path("machine/etc/mdadm/mdadm.conf");
        for (file, text) in [(&rule, ""), (&configuration, Shelf::OF_MD)] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        // What an initramfs is made with is not this test's.
        let program = self.path("bin/update-initramfs");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        configuration
    }

    /// Signatures of what was on the drives before.
    fn use_drives(&self) {
        let plant = |drive: usize, offset: u64, bytes: &[u8]| {
            let file = OpenOptions::new().write(true).open(self.drives[drive].path()).unwrap();
            file.write_all_at(bytes, offset).unwrap();
            file.sync_all().unwrap();
        };
        let made = Command::new("mkfs.ext4").arg("-q").arg(self.drives[0].path()).status().unwrap();
        assert!(made.success());
        plant(1, 0, b"XFSB");
        plant(2, 4096, &[0xfc, 0x4e, 0x2b, 0xa9, 1, 0, 0, 0]);
        plant(3, 512, b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001");
    }

    /// Makes the answer of a run name another layout, until it names one that fits.
    fn choose_by(&self, run: &str, fits: &dyn Fn(&Value) -> bool) -> Value {
        let path = self.path(run).join("choose.json");
        let mut question: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        question["raced"] = json!([]);
        loop {
            fs::write(&path, question.to_string()).unwrap();
            let answer = self.ok(&format!("choose --from {run} --json"));
            let answer: Value = serde_json::from_str(&answer).unwrap();
            let pick = answer["choice"]["pick"].clone();
            if fits(&pick) {
                return pick;
            }
            let removed = json!({ "layout": pick, "condition": "slower", "percent": 1 });
            question["raced"].as_array_mut().unwrap().push(removed);
        }
    }

    /// Makes what was chosen, and takes it down again; what it said.
    fn make_and_stop(&self, make: &str) -> String {
        let said = self.ok(make);
        let point = self.path("mnt").canonicalize().unwrap();
        let table = fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(table.contains(&format!("{} ext4 ", point.display())), "{make}: {table}");
        fs::write(point.join("file"), "precious").unwrap();
        self.ok("array umount tank");
        self.ok("array stop tank");
        self.ok("array start tank");
        assert_eq!(fs::read_to_string(point.join("file")).unwrap(), "precious", "{make}");
        self.ok("array umount tank");
        self.ok("array stop tank");
        fs::remove_file(self.path("tank.toml")).unwrap();
        said
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        let _ = self.run("array umount tank");
        let _ = self.run("array stop tank");
        let _ = self.run("array status");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a refusal says is to be added to the command.
fn consents(said: &str) -> &str {
    said.split_once("To consent to that, add ").expect(said).1.trim()
}

/// What the consent for devices is, without that for what they hold.
fn devices_alone(consents: &str) -> String {
    consents.replace(" --erase-signature", "")
}

/// Waits until a run has recorded so many trials.
fn wait_for_trials(folder: &Path, count: usize) {
    let end = Instant::now() + Duration::from_secs(120);
    let lines = || fs::read_to_string(folder.join("trials.jsonl")).unwrap_or_default();
    while lines().lines().count() < count {
        assert!(Instant::now() < end, "no {count} trials in {}", folder.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// "On four used loop devices (signatures of ext4, XFS, md, LVM on them; a run's leftovers):
/// `choose --measure`, then `--do`" ends in a mounted array, of every level that there is.
#[test]
fn used_drives_are_measured_and_every_layout_is_made_of_them() {
    let Some(shelf) = Shelf::new("choose_used_drives", 4) else { return };
    shelf.use_drives();
    let measure = format!(
        "choose {} --measure --work own.toml --survive 0 --file-system ext4 -o run4",
        shelf.names()
    );
    // How long it takes is said first, and one line has all that is to be consented to.
    let said = shelf.fails(4, &measure);
    let (time, refused) = said.split_once('\n').unwrap();
    assert!(time.contains("trials, about"), "{said}");
    for mark in ["(ext2/ext3/ext4)", "(XFS)", "(md array member", "(LVM"] {
        assert!(refused.contains(mark), "{said}");
    }
    assert_eq!(refused.trim_end().lines().count(), 1, "{said}");
    let all = consents(&said);
    assert!(!shelf.path("run4").exists());
    let devices = devices_alone(all);
    assert_ne!(devices, all);

    // Killed in the middle, the same command goes on, and what was erased asks for nothing.
    let mut begun = shelf
        .command(&format!("{measure} {all}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_trials(&shelf.path("run4"), 3);
    begun.kill().unwrap();
    begun.wait().unwrap();
    let partial = shelf.run("choose --from run4");
    assert!(text(&partial.stderr).contains("the run is not finished"), "{partial:?}");
    let answer = shelf.ok(&format!("{measure} {devices}"));
    assert!(answer.contains("run4 --do --mount FOLDER"), "{answer}");
    assert!(!shelf.run("choose --from run4").stderr.starts_with(b"note: run4: the run is not"));
    for drive in &shelf.drives {
        let name = drive.path();
        assert_eq!(
            host::mount::holds(name).unwrap(),
            None,
            "{}: it was left empty",
            name.display()
        );
    }

    // Nothing of the run is in the way of what was chosen by it. md would take the drives, and is
    // told not to.
    let of_md = shelf.plant_md();
    let left = shelf.left_by_a_killed_making();
    fs::write(&of_md, format!("{}{left}", Shelf::OF_MD)).unwrap();
    let make = "choose --from run4 --do --mount mnt";
    let said = shelf.fails(4, make);
    assert_eq!(consents(&said), devices);
    let schemes = ["stripe", "near_copies", "far_copies", "parity", "double_parity"];
    for (made, scheme) in schemes.into_iter().enumerate() {
        let pick = shelf.choose_by("run4", &|pick| pick["scheme"] == scheme);
        let consents = if made > 0 { all } else { &devices };
        let said = shelf.make_and_stop(&format!("{make} {consents}"));
        assert!(said.contains("server: tank"), "{pick}: {said}");
    }
    // The last of them is destroyed, and the line that was added for it goes with its last member.
    let lines = fs::read_to_string(&of_md).unwrap();
    let (others, _) = lines.rsplit_once("# tank: ").unwrap();
    assert_eq!(others, Shelf::OF_MD, "those that it took the place of went before");
    let names: Vec<String> = shelf.names().split(' ').map(str::to_owned).collect();
    let destroy = |names: &[String]| {
        let consent: Vec<String> =
            names.iter().map(|name| format!("--allow-device {name}")).collect();
        let words = format!("array destroy {} {}", names.join(" "), consent.join(" "));
        shelf.ok(&format!("{words} --erase-signature"))
    };
    let (first, rest) = names.split_at(1);
    assert!(!destroy(first).contains("is taken away"));
    assert_eq!(fs::read_to_string(&of_md).unwrap(), lines, "others are still there");
    fs::write(&of_md, format!("{lines}{left}")).unwrap();
    let said = destroy(rest);
    assert!(said.contains("the line by which md left it alone is taken away"), "{said}");
    assert_eq!(fs::read_to_string(&of_md).unwrap(), others);
}

/// The file system is part of what is measured, and a command of one's own is the work: on the
/// mounted layouts.
#[test]
fn a_command_works_on_every_layout_with_its_file_system() {
    let Some(shelf) = Shelf::new("choose_command", 2) else { return };
    let measure = format!("choose {} --measure --survive 1", shelf.names());
    let devices = consents(&shelf.fails(4, &format!("{measure} --work own.toml"))).to_owned();
    let run = |command: &str, more: &str| {
        let mut words = shelf.command(&format!("{measure} {devices} {more}"));
        words.args(["--work-command", command]).output().unwrap()
    };
    let done = run("cp /bin/true {dir}/it && sync {dir}", "-o run2 --json");
    assert!(done.status.success(), "{}", text(&done.stderr));
    let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
    let choice = &answer["choice"];
    assert_eq!(choice["file_system"], "ext4");
    assert_eq!(choice["file_system_was_run"], true);
    assert_eq!(choice["work"], "cp /bin/true {dir}/it && sync {dir}");
    let said = shelf.ok("choose --from run2");
    assert!(!said.contains("what ext4 adds"), "{said}");
    let trials = fs::read_to_string(shelf.path("run2/trials.jsonl")).unwrap();
    assert!(trials.lines().all(|trial| trial.contains(r#""file_system":"ext4""#)), "{trials}");
    for drive in &shelf.drives {
        assert_eq!(host::mount::holds(drive.path()).unwrap(), None);
    }
    shelf.make_and_stop(&format!("choose --from run2 --do --mount mnt {devices}"));

    // A command that fails is no figure: which layout, and why.
    let failed = run("echo no such luck >&2; exit 3", "--erase-signature -o failed");
    let said = text(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(said.contains("no such luck") && said.contains("file:/dev/loop"), "{said}");
}

/// The answer without a drive that goes while three are measured: the others are measured with the
/// consent that there is, and the one that is gone is named once, and refused when it is named
/// again. The shelf, the answer and the path of the drive that is gone.
fn answer_without(test: &str, lost: usize, go: fn(&RawDisk)) -> Option<(Shelf, String, String)> {
    let shelf = Shelf::new(test, 3)?;
    let measure = format!("choose {} --measure --work own.toml --survive 1", shelf.names());
    let devices = consents(&shelf.fails(4, &measure)).to_owned();
    let drive = &shelf.drives[lost];
    let done = shelf.dies_at_work(|| go(drive), &format!("{measure} {devices} -o run3"), "run3");
    let gone = drive.path().display().to_string();
    let said = text(&done.stderr);
    assert!(done.status.success(), "{said}");
    let note = format!("{gone}: died while it was measured; what was measured is of all 3 drives");
    assert_eq!(said.matches(&note).count(), 1, "{said}");
    let answer = text(&done.stdout);
    assert!(answer.contains(&format!("without            {gone}: died while")), "{answer}");

    let said = shelf.fails(4, &format!("{measure} {devices} -o again"));
    assert!(said.contains(&format!("{gone}: ")) && said.contains("choose without it"), "{said}");
    Some((shelf, answer, gone))
}

/// "A drive that dies while it is measured (the answer without it, or what was lost)".
#[test]
fn a_drive_that_dies_is_left_out_of_the_answer() {
    let Some((shelf, answer, gone)) = answer_without("choose_death", 2, RawDisk::die) else {
        return;
    };
    assert!(answer.starts_with("RAID 1"), "{answer}");
    assert!(answer.contains("run3-rest --do"), "{answer}");
    let commands = answer.lines().filter(|line| line.contains("mdadm"));
    commands.for_each(|line| assert!(!line.contains(&gone), "{line}"));
    let kept = text(&shelf.run("choose --from run3-rest --json").stdout);
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["choice"]["lost_drives"], json!([gone]));
    assert_eq!(kept["choice"]["drives"][0]["count"], 2);
    // What was measured of all three is there still.
    assert!(fs::read_to_string(shelf.path("run3/trials.jsonl")).unwrap().lines().count() >= 2);
    for drive in &shelf.drives[..2] {
        assert_eq!(host::mount::holds(drive.path()).unwrap(), None);
    }
}

/// One that ends before its end is dead too: what was written to it is gone, and nobody takes that
/// for a fault of the array.
#[test]
fn a_drive_that_is_cut_short_is_left_out_of_the_answer() {
    answer_without("choose_cut_short", 1, RawDisk::cut_short);
}

/// Where the others cannot be what was asked for, what is lost is said in a line.
#[test]
fn a_drive_that_dies_and_cannot_be_spared_is_named() {
    let Some(shelf) = Shelf::new("choose_death_of_two", 2) else { return };
    let measure = format!("choose {} --measure --work own.toml --survive 1", shelf.names());
    let devices = consents(&shelf.fails(4, &measure)).to_owned();
    let die = || shelf.drives[1].die();
    let done = shelf.dies_at_work(die, &format!("{measure} {devices} -o run2"), "run2");
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    let gone = shelf.drives[1].path().display();
    let lost = format!("{gone} does not answer any more; what was measured is of all 2 drives");
    assert!(said.contains(&lost), "{said}");
    assert!(said.contains("one drive is left, and that is no array"), "{said}");
    assert!(said.contains("trials that are kept: "), "{said}");
    assert!(!shelf.path("run2-rest").exists());
}

/// A run of which nothing was kept in order: its superblocks are known as its own by `--do`.
#[test]
fn what_a_killed_run_has_left_is_not_in_the_way_of_what_is_made() {
    let Some(shelf) = Shelf::new("choose_leftovers", 2) else { return };
    let measure = format!(
        "choose {} --measure --work own.toml --survive 1 --file-system ext4 -o run2",
        shelf.names()
    );
    let devices = consents(&shelf.fails(4, &measure)).to_owned();
    // In the moment of the kill an array is open, sooner or later.
    let is_left = || {
        shelf
            .drives
            .iter()
            .any(|drive| host::mount::holds(drive.path()).is_ok_and(|mark| mark.is_some()))
    };
    let mut trials = 2;
    while !is_left() {
        let mut begun = shelf
            .command(&format!("{measure} {devices}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for_trials(&shelf.path("run2"), trials);
        let end = Instant::now() + Duration::from_secs(30);
        while !is_left() && Instant::now() < end && begun.try_wait().unwrap().is_none() {}
        begun.kill().unwrap();
        begun.wait().unwrap();
        trials += 1;
    }
    let pick = shelf.choose_by("run2", &|pick| pick["scheme"] == "mirror");
    let said = shelf.make_and_stop(&format!("choose --from run2 --do --mount mnt {devices}"));
    assert!(said.contains("server: tank"), "{pick}: {said}");
}
