//! A machine that is started again, with systemd and udev of its own, in user-mode Linux: what
//! `choose --do` has made is there, by raidloom and by the kernel's md.
//!
//! It has no initramfs, so what md does within one is not shown here.
#![allow(clippy::print_stdout, reason = "what a test that fails has to tell")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use interop::{Machine, noise, raidloom};
use serde_json::{Value, json};

use super::attach::room::{has_programs, succeed};

/// Work of a moment.
const PROFILE: &str = "title = \"a moment's work\"\n[[workload]]\nname = \"writes\"\nread = 30\n\
    time = \"40ms\"\nramp = \"0s\"\n";
/// What survives no drive and what survives any, of four: as an answer calls it, and its level.
const SCHEMES: [(&str, &str); 5] = [
    ("stripe", "raid0"),
    ("near_copies", "raid10"),
    ("far_copies", "raid10"),
    ("parity", "raid5"),
    ("double_parity", "raid6"),
];
const DRIVE_BYTES: u64 = 128 << 20;

/// A machine with four drives for raidloom and four for md. What it writes to its own tree is kept.
struct StartedAgain {
    folder: tempfile::TempDir,
    drives: Vec<PathBuf>,
}

impl StartedAgain {
    /// One with the program and its units installed, as the package has them.
    fn new() -> StartedAgain {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let install = ["--silent", "install", "PREFIX=/usr"].map(str::to_owned);
        let target = [
            format!("DESTDIR={}", path("installed").display()),
            format!("RAIDLOOM={}", raidloom().display()),
            format!("--directory={}", here().join("../..").display()),
        ];
        succeed("make", install.into_iter().chain(target));
        let own = path("own.img");
        File::create(&own).and_then(|file| file.set_len(512 << 20)).expect("a drive");
        succeed("mkfs.ext4", ["-q", "-F", &own.display().to_string()]);
        let mut drives = vec![own];
        for letter in 'b'..='i' {
            let drive = path(&format!("{letter}.img"));
            // They were used before.
            fs::write(&drive, noise(u64::from(letter), 1 << 20)).expect("written");
            let file = File::options().write(true).open(&drive).expect("a drive");
            file.set_len(DRIVE_BYTES).expect("a drive");
            drives.push(drive);
        }
        fs::create_dir(path("shared")).expect("a folder");
        fs::write(path("shared").join("own.toml"), PROFILE).expect("written");
        StartedAgain { folder, drives }
    }

    fn shared(&self) -> PathBuf {
        self.folder.path().join("shared")
    }

    /// Starts it; what it says of what it does then. It is off again when this returns.
    fn start(&self, to_do: &[&str]) -> String {
        self.try_to_start(to_do).unwrap_or_else(|log| panic!("{to_do:?}: {log}"))
    }

    /// As `start`; the error is what the machine has said.
    fn try_to_start(&self, to_do: &[&str]) -> Result<String, String> {
        fs::write(self.shared().join("todo"), to_do.join("\n") + "\n").expect("written");
        let mut machine = Command::new(here().join("uml.sh"));
        machine.args(["-t", "600", "-m", "512M", "-i", "-w"]).arg(self.shared());
        machine.arg(here().join("reboot-uml.sh")).args(&self.drives).arg("--");
        machine.arg(self.folder.path().join("installed"));
        machine.arg(here().join("reboot-task.sh")).arg(self.shared()).arg(files());
        let output = machine.output().expect("bash runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let log = String::from_utf8_lossy(&output.stderr);
        println!("{to_do:?}: {said}{log}");
        if output.status.success() && said.ends_with("done\n") {
            return Ok(said);
        }
        Err(format!("{}\n{said}\n{log}", output.status))
    }

    /// The answer of a run.
    fn answer(&self, run: &str, more: &[&str]) -> Value {
        let run = self.shared().join(run).display().to_string();
        let said = succeed(raidloom(), ["choose", "--json", "--from", &run].iter().chain(more));
        serde_json::from_str(&said).expect("JSON")
    }

    /// What makes each scheme the answer: the layouts that are to be left out, the last of which is
    /// followed by it.
    fn schemes(&self) -> BTreeMap<String, Vec<Value>> {
        let mut found = BTreeMap::new();
        let mut left_out = Vec::new();
        while found.len() < SCHEMES.len() {
            self.leave_out("run-tank", &left_out);
            let pick = self.answer("run-tank", &[])["choice"]["pick"].clone();
            let scheme = pick["scheme"].as_str().expect("a scheme").to_owned();
            found.entry(scheme).or_insert_with(|| left_out.clone());
            left_out.push(json!({ "layout": pick, "condition": "slower", "percent": 1 }));
        }
        found
    }

    fn leave_out(&self, run: &str, layouts: &[Value]) {
        let path = self.shared().join(run).join("choose.json");
        let mut question: Value =
            serde_json::from_slice(&fs::read(&path).expect("a question")).expect("JSON");
        question["raced"] = json!(layouts);
        fs::write(path, question.to_string()).expect("written");
    }

    /// Writes the script that makes the layout with md.
    fn write_script(&self) {
        let make = ["--do=mdadm", "--name", "vault", "--mount", "/srv/vault"];
        let commands = self.answer("run-vault", &make)["commands"].clone();
        let commands = commands.as_array().expect("commands").iter();
        let lines: String =
            commands.map(|line| format!("{}\n", line.as_str().expect("a command"))).collect();
        fs::write(self.shared().join("vault.sh"), lines).expect("written");
    }
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What is copied to the arrays.
fn files() -> PathBuf {
    here().join("../../docs").canonicalize().expect("a folder")
}

/// "10 of 10 configurations end in a mounted file system with files that are there after the
/// machine was started again, by raidloom and by mdadm". Where nothing starts them, they are not.
#[test]
fn what_choose_makes_is_there_when_the_machine_is_started_again() {
    let test = "a machine that is started again";
    let programs = [
        ("systemctl", "systemd"),
        ("udevadm", "udev"),
        ("switch_root", "util-linux"),
        ("losetup", "mount"),
        ("make", "make"),
    ];
    if !Machine::is_there(test) || !has_programs(test, &programs) {
        return;
    }
    let machine = StartedAgain::new();
    // What the host has installed is what starts here, and not every host's systemd can.
    if let Err(log) = machine.try_to_start(&[]) {
        let last = log.lines().rev().take(5).collect::<Vec<_>>().join(" < ");
        testkit::skipped!("{test}: systemd does not start in user-mode Linux here: {last}");
        return;
    }
    let taken_back = "no luck; what was made is taken back\nnothing of it is left\ndone\n";
    assert_eq!(machine.start(&["choose", "fail"]), taken_back);
    let there = |level: &str| {
        format!(
            "tank: the files are there\nvault: the files are there\n\
             tank: every member is there\nmd has: {level}, of ubdfubdgubdhubdi\nfailed: \ndone\n"
        )
    };
    // Each is a start of the machine, which takes a processor most of a minute.
    let everything = std::env::var_os("RAIDLOOM_TEST_EVERYTHING").is_some();
    let tried: Vec<(&str, &str)> =
        SCHEMES.into_iter().step_by(if everything { 1 } else { 2 }).collect();
    let schemes = machine.schemes();
    let mut made = None;
    // md's way is run by the program, and every other time by hand as a script.
    for ((scheme, level), make) in
        tried.into_iter().zip(["make", "make-by-script"].into_iter().cycle())
    {
        for run in ["run-tank", "run-vault"] {
            machine.leave_out(run, &schemes[scheme]);
            assert_eq!(machine.answer(run, &[])["choice"]["pick"]["scheme"], scheme);
        }
        machine.write_script();
        let said = match made {
            None => machine.start(&[make]),
            Some(_) => machine.start(&["look", "take-down", make]),
        };
        assert_eq!(said, made.map_or_else(|| "done\n".to_owned(), there), "before {scheme}");
        made = Some(level);
    }
    let last = made.expect("an array");
    assert_eq!(machine.start(&["look", "forget"]), there(last));
    let said = machine.start(&["look"]);
    let gone = "tank: not mounted\nvault: not mounted\nmd has: ";
    assert!(said.starts_with(gone), "{said}");
}
