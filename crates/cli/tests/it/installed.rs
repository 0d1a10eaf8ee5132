//! What `make install` puts, and what systemd and udev do with it.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Runs a target of the Makefile with the program that was built with these tests.
fn make(target: &str, prefix: &Path, destination: &Path) {
    let ran = Command::new("make")
        .args(["--silent", target])
        .arg(format!("PREFIX={}", prefix.display()))
        .arg(format!("DESTDIR={}", destination.display()))
        .arg(concat!("RAIDLOOM=", env!("CARGO_BIN_EXE_raidloom")))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// `make install` puts a program that has its plans with it, a page for every verb, a rule
/// of udev, and units that start the program where it was put; `make uninstall` leaves no file of
/// it.
#[test]
fn what_make_installs_works_and_is_taken_away_again() {
    let there = tempfile::tempdir().unwrap();
    make("install", Path::new("/opt/raidloom"), there.path());
    let prefix = there.path().join("opt/raidloom");

    let units = fs::read_dir(prefix.join("lib/systemd/system")).unwrap();
    let units: Vec<PathBuf> = units.map(|unit| unit.unwrap().path()).collect();
    assert!(units.len() >= 5, "{units:?}");
    for unit in &units {
        let text = fs::read_to_string(unit).unwrap();
        let commands = text.lines().filter(|line| line.starts_with("Exec"));
        let programs = commands.filter_map(|line| {
            line.split_once('=')?.1.trim_start_matches('-').split_whitespace().next()
        });
        for program in programs {
            let file = there.path().join(program.trim_start_matches('/'));
            assert!(file.is_file(), "{program}: {}", unit.display());
        }
    }
    let rule = fs::read_to_string(prefix.join("lib/udev/rules.d/90-raidloom.rules")).unwrap();
    let asked_for = "raidloom-incremental@";
    assert!(
        rule.contains(asked_for)
            && units.iter().any(|unit| unit.ends_with("raidloom-incremental@.service"))
    );

    let installed = |arguments: &[&str]| {
        Command::new(prefix.join("bin/raidloom"))
            .args(arguments)
            .current_dir(there.path())
            .output()
            .unwrap()
    };
    let plans: Value =
        serde_json::from_slice(&installed(&["run", "plan", "--json"]).stdout).unwrap();
    assert!(plans.as_array().unwrap().iter().any(|plan| plan["name"] == "stripe-size"), "{plans}");
    for name in ["stripe-size", "plans/stripe-size.toml"] {
        let shown = installed(&["run", "plan", name]);
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    }
    // What it prints of a plan is a plan.
    let text = installed(&["run", "--print-plan", "chunk-and-depth"]).stdout;
    fs::write(there.path().join("own.toml"), text).unwrap();
    let checked = installed(&["run", "plan", "own.toml"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let unknown = installed(&["run", "plan", "stripesize"]);
    let said = String::from_utf8(unknown.stderr).unwrap();
    assert!(said.contains("did you mean `stripe-size`?"), "{said}");

    for page in ["raidloom.1", "raidloom-run.1", "raidloom-array-start.1"] {
        let page = fs::read_to_string(prefix.join("share/man/man1").join(page)).unwrap();
        assert!(page.contains(".SH EXAMPLES") || page.contains("Examples:"), "{page}");
    }
    for (shell, script) in [
        ("bash", "share/bash-completion/completions/raidloom"),
        ("zsh", "share/zsh/site-functions/_raidloom"),
        ("fish", "share/fish/vendor_completions.d/raidloom.fish"),
    ] {
        assert!(fs::metadata(prefix.join(script)).unwrap().len() > 1000, "{shell}");
    }

    make("uninstall", Path::new("/opt/raidloom"), there.path());
    let left = Command::new("find").arg(&prefix).args(["-type", "f"]).output().unwrap();
    assert_eq!(String::from_utf8(left.stdout).unwrap(), "");
}

/// The units of an installation, looked at by systemd itself: what it says about them is nothing. A
/// key that does not exist shows that it would.
#[test]
fn systemd_understands_the_units() {
    let there = tempfile::tempdir().unwrap();
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        testkit::missing!("apt-get install systemd");
        return;
    }
    let prefix = there.path().join("opt");
    make("install", &prefix, Path::new(""));
    let units = prefix.join("lib/systemd/system");
    let files = fs::read_dir(&units).unwrap();
    let files: Vec<PathBuf> = files.map(|unit| unit.unwrap().path()).collect();
    assert!(files.len() >= 5, "{files:?}");
    let verify = || {
        let output = Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .args(&files)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        // The rest is about the units of this machine.
        let ours = said.lines().filter(|line| line.contains("raidloom")).collect::<Vec<_>>();
        ours.join("\n")
    };
    assert_eq!(verify(), "");
    let incremental = units.join("raidloom-incremental@.service");
    let text = fs::read_to_string(&incremental).unwrap();
    assert!(text.contains("Type=oneshot"));
    fs::write(&incremental, text.replace("Type=oneshot", "Typ=oneshot")).unwrap();
    assert!(verify().contains("'Typ'"), "{}", verify());
}

/// What `make reproducible` says of two programs: equal, or where they differ.
#[test]
fn programs_that_differ_are_told_apart_by_section() {
    let there = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| there.path().join(name));
    let mut bytes = fs::read("/bin/sh").unwrap();
    fs::write(&one, &bytes).unwrap();
    let compare = || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/reproducible");
        let output = Command::new(script).args([&one, &other]).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    fs::write(&other, &bytes).unwrap();
    let (is_equal, said) = compare();
    assert!(is_equal && said.starts_with(&format!("equal: {} bytes", bytes.len())), "{said}");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&other, &bytes).unwrap();
    let (is_equal, said) = compare();
    assert!(!is_equal && said.contains("    section ."), "{said}");
}

/// Arrays of image files, their configurations and their servers, in a folder of its own.
struct Arrays {
    folder: tempfile::TempDir,
}

impl Arrays {
    fn new() -> Arrays {
        Arrays { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_raidloom"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("RAIDLOOM_RUNTIME_DIR", self.path("run"))
            .env("RAIDLOOM_CONFIG_DIR", self.folder.path())
            .output()
            .unwrap()
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.run(arguments);
        assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    /// What is said when a device has come.
    fn came(&self, device: &str) -> String {
        self.ok(&["--quiet", "array", "incremental", device])
    }

    fn running(&self) -> Vec<Value> {
        serde_json::from_str(&self.ok(&["array", "status", "--json"])).unwrap()
    }

    fn create(&self, name: &str, level: &str, members: &[&str]) {
        let create = ["array", "create", name, "--level", level, "--size", "8MiB", "--member"];
        self.ok(&[&create[..], members].concat());
    }

    fn configure(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A device goes, or comes back.
    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    fn members(&self) -> Vec<Vec<u8>> {
        ["a.img", "b.img", "c.img"].map(|name| fs::read(self.path(name)).unwrap()).to_vec()
    }
}

impl Drop for Arrays {
    fn drop(&mut self) {
        for running in self.running() {
            let _ = self.run(&["array", "stop", running["name"].as_str().unwrap_or_default()]);
        }
    }
}

const TANK: &str = "assemble = true\nnbd = ['unix']\nstack = 'raid5(metadata=1.2, a.img, \
    b.img, c.img)'\n";

/// "Only a configuration that says `assemble = true` and names the device is started, and only once
/// all that it names is there, up to date and free."
#[test]
fn a_configured_array_is_started_by_its_last_member_and_by_nothing_else() {
    let arrays = Arrays::new();
    arrays.create("tank", "5", &["a.img", "b.img", "c.img"]);
    arrays.create("other", "1", &["d.img", "e.img"]);
    arrays.create("idle", "1", &["f.img", "g.img"]);
    arrays.configure("tank.toml", TANK);
    let other = "nbd = ['unix']\nstack = 'raid1(metadata=1.2, d.img, e.img)'\n";
    arrays.configure("other.toml", other);
    let before = arrays.members();

    // Two of three.
    arrays.rename("c.img", "away.img");
    let waits = format!("waits for {}: 2 of 3 are there", arrays.path("c.img").display());
    for device in ["a.img", "b.img"] {
        assert_eq!(arrays.came(device), format!("tank: not started: {waits}\n"));
    }
    // A configuration that does not say so, and none at all.
    for device in ["d.img", "f.img"] {
        assert_eq!(arrays.came(device), "");
        let said = String::from_utf8(arrays.run(&["array", "incremental", device]).stderr).unwrap();
        assert!(said.contains("names it and says `assemble = true`"), "{said}");
    }
    assert_eq!(arrays.running(), [Value::Null; 0]);

    // The last one.
    arrays.rename("away.img", "c.img");
    assert_eq!(arrays.members(), before, "nothing was written to any of them");
    let said = arrays.came("c.img");
    assert!(said.starts_with("tank: 12MiB at "), "{said}");
    let status = arrays.ok(&["array", "status", "--test", "tank"]);
    assert!(status.contains("[UUU]"), "{status}");
    let running = arrays.running();
    assert_eq!((running.len(), &running[0]["name"]), (1, &Value::from("tank")));

    // Whatever comes again.
    for device in ["a.img", "c.img"] {
        assert_eq!(arrays.came(device), "tank: it runs already\n");
    }
    assert_eq!(arrays.running()[0]["process"], running[0]["process"]);
}

/// What is there and is not what the superblocks count on is no member that has come.
#[test]
fn an_array_waits_for_members_that_are_up_to_date_and_free() {
    let arrays = Arrays::new();
    arrays.create("tank", "5", &["a.img", "b.img", "c.img"]);
    arrays.configure("tank.toml", TANK);

    // Somebody else's member in the place of one.
    arrays.create("other", "1", &["d.img", "e.img"]);
    arrays.rename("c.img", "away.img");
    arrays.rename("d.img", "c.img");
    let said = arrays.came("a.img");
    assert!(said.contains("not started: its members are of different arrays"), "{said}");
    arrays.rename("c.img", "d.img");

    // No superblock at all.
    File::create(arrays.path("c.img")).unwrap().set_len(16 << 20).unwrap();
    let said = arrays.came("a.img");
    assert!(said.contains("c.img has no superblock of the array"), "{said}");
    arrays.rename("away.img", "c.img");

    // Used by somebody else.
    let holds = ["array", "start", "--name", "holds", "--read-only", "c.img"];
    arrays.ok(&holds);
    let output = arrays.run(&["array", "incremental", "a.img"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("c.img"), "{said}");
    arrays.ok(&["array", "stop", "holds"]);

    // One that was replaced while the configuration was not changed.
    arrays.ok(&["array", "start", "tank"]);
    File::create(arrays.path("n.img")).unwrap().set_len(16 << 20).unwrap();
    arrays.ok(&["array", "replace", "--wait", "tank", "2", "n.img"]);
    arrays.ok(&["array", "stop", "tank"]);
    let said = arrays.came("a.img");
    assert!(said.contains("waits for the member in slot 2"), "{said}");
    assert_eq!(arrays.running(), [Value::Null; 0]);

    // A mistake in one configuration is said, and keeps no other from being started.
    arrays.configure("broken.toml", "assemble = true\nstak = 'a.img'\n");
    let stack = TANK.replace("c.img", "n.img");
    arrays.configure("tank.toml", &stack);
    let output = arrays.run(&["array", "incremental", "--json", "b.img"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("broken.toml, line 2: unknown field `stak`"), "{said}");
    let became: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&became[0]["name"], &became[0]["became"]), (&"tank".into(), &"started".into()));
    assert_eq!(arrays.running().len(), 1);
}

/// A service manager tries again what may be there the next time, and not what will be as wrong as
/// now; even the first not for ever.
#[test]
fn a_wrong_configuration_is_not_started_again_and_again() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/raidloom@.service");
    let unit = fs::read_to_string(unit).unwrap();
    let number = |key: &str| -> i32 {
        let value = unit.lines().find_map(|line| line.strip_prefix(key)).expect(key);
        value.trim_end_matches(|unit: char| unit.is_alphabetic()).parse().expect(key)
    };
    let arrays = Arrays::new();
    for (stack, is_wrong) in [
        ("stak = 'ram:1MiB'\n", true),
        ("stack = 'raid9(ram:1MiB)'\n", true),
        ("stack = 'not-there.img'\n", false),
        ("stack = 'nbd+unix:///disk?socket=/not-there'\n", false),
    ] {
        arrays.configure("tank.toml", stack);
        let ended = arrays.run(&["array", "start", "--foreground", "tank"]).status.code().unwrap();
        assert_ne!(ended, 0, "{stack}");
        assert_eq!(ended == number("RestartPreventExitStatus="), is_wrong, "{stack}: {ended}");
    }
    let starts_seconds = number("StartLimitBurst=") * number("RestartSec=");
    assert!(starts_seconds < number("StartLimitIntervalSec=") * 60, "the limit is never reached");
}
