//! `array rescue` as its users see it, and discs on arrays.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a runtime folder of its own, whose servers end with it.
struct RescueFolder(tempfile::TempDir);

impl RescueFolder {
    fn new() -> RescueFolder {
        RescueFolder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Output {
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        Command::new(program)
            .args(arguments)
            .env("PATH", path)
            .env("RAIDLOOM_RUNTIME_DIR", self.path("run"))
            .env("RAIDLOOM_CONFIG_DIR", self.0.path())
            .current_dir(self.0.path())
            .output()
            .unwrap_or_else(|error| panic!("{program}: {error}"))
    }

    /// How it ended, and what it said.
    fn raidloom(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let Output { status, stdout, stderr } =
            self.command(env!("CARGO_BIN_EXE_raidloom"), arguments);
        let said = String::from_utf8([stdout, stderr].concat()).expect("text");
        (status.code(), said)
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let (code, said) = self.raidloom(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
        said
    }

    /// Files, and a file system of 30 MiB with them, where mkfs.ext4 is there.
    fn file_system(&self) -> Option<Vec<u8>> {
        fs::create_dir_all(self.path("tree")).expect("a folder");
        for number in 0..40_u8 {
            let bytes: Vec<u8> = (0..60_000_u32).map(|at| (at % 251) as u8 ^ number).collect();
            fs::write(self.path("tree").join(format!("file{number}")), bytes).expect("a file");
        }
        let image = fs::File::create(self.path("image")).expect("a file");
        image.set_len(30 << 20).expect("its size");
        let made = self.command("mkfs.ext4", &["-q", "-d", "tree", "image"]);
        made.status.success().then(|| fs::read(self.path("image")).expect("read"))
    }

    /// RAID 5 over three files of the set, with the file system on it.
    fn array(&self, content: &[u8]) {
        fs::create_dir_all(self.path("set")).expect("a folder");
        self.ok(&[
            &["array", "create", "tank", "-l", "5", "--chunk", "64KiB", "--size", "24MiB"][..],
            &["--assume-clean", "--member", "set/a", "set/b", "set/c"],
        ]
        .concat());
        let text = "raid5(metadata=1.2, set/a, set/b, set/c)";
        fs::write(self.path("content"), content).expect("written");
        self.ok(&["array", "write", "--erase-signature", "content", text]);
    }

    fn held(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(self.path("set")).expect("a folder").flatten();
        let mut all: Vec<(PathBuf, Vec<u8>)> =
            entries.map(|entry| (entry.path(), fs::read(entry.path()).expect("read"))).collect();
        all.sort();
        all
    }

    fn has_files(&self, folder: &Path) {
        for number in 0..40 {
            let name = format!("file{number}");
            let found = fs::read(folder.join(&name)).expect("a file");
            assert!(found == fs::read(self.path("tree").join(&name)).expect("read"), "{name}");
        }
    }
}

impl Drop for RescueFolder {
    fn drop(&mut self) {
        let running = fs::read_dir(self.path("run")).into_iter().flatten().flatten();
        let names: Vec<String> =
            running.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        for name in names {
            self.raidloom(&["array", "umount", &name]);
            self.raidloom(&["array", "stop", &name]);
        }
    }
}

/// "`--force` with a stale member is refused without a pointer": assemble names the verb, and that
/// verb opens it; twenty lines are enough; nothing is written.
#[test]
fn a_stale_member_and_a_missing_one_are_mounted() {
    let place = RescueFolder::new();
    let Some(content) = place.file_system() else {
        return testkit::missing!("a rescue: no mkfs.ext4: apt-get install e2fsprogs");
    };
    place.array(&content);
    // The array goes on without it, with the same files: it is old by its superblock alone.
    let without = "raid5(metadata=1.2, set/a, missing, set/c)";
    for _ in 0..3 {
        place.ok(&["array", "write", "--erase-signature", "content", without]);
    }
    fs::remove_file(place.path("set/c")).expect("removed");
    fs::write(place.path("set/letter"), "Dear reader").expect("written");
    let before = place.held();

    let report = place.raidloom(&["array", "rescue", "set"]);
    assert!(report.1.lines().count() <= 20, "{}", report.1);
    assert!(report.1.contains("letter: no member"), "{}", report.1);
    let (code, json) = place.raidloom(&["array", "rescue", "--json", "set"]);
    let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((code, report.0), (Some(0), Some(0)), "{}", report.1);
    assert_eq!(found["arrays"][0]["holds"], "ext2/ext3/ext4", "{json}");
    let losses = found["arrays"][0]["losses"].as_array().expect("losses");
    let stale = losses.iter().find(|loss| loss["code"] == "stale").expect("a stale member");
    assert!(stale["events"].as_u64() > Some(1) && stale["source"] == "set/b", "{json}");
    let codes: Vec<&str> = found["arrays"][0]["members"]
        .as_array()
        .expect("members")
        .iter()
        .filter_map(|member| member["state"]["code"].as_str())
        .collect();
    assert_eq!(codes, ["up-to-date", "stale", "missing"], "{json}");
    assert!(report.1.contains("was left behind"), "{}", report.1);
    let (_, said) = place.raidloom(&["array", "assemble", "--force", "set/a", "set/b"]);
    assert!(said.contains("raidloom array rescue"), "{said}");
    assert!(place.held() == before, "something was written");

    if !rustix::process::geteuid().is_root() {
        return testkit::skipped!("only root may mount what was found");
    }
    fs::create_dir_all(place.path("rescued")).expect("a folder");
    let said = place.ok(&["array", "rescue", "--mount", "rescued", "set"]);
    assert!(said.contains("mounted at rescued for reading only"), "{said}");
    place.has_files(&place.path("rescued"));
    let name = said.split("array umount ").nth(1).and_then(|rest| rest.split(' ').next());
    let name = name.expect("the line that ends it");
    place.ok(&["array", "umount", name]);
    place.ok(&["array", "stop", name]);
    assert!(place.held() == before, "something was written");
}

/// What no verb can open says so, with what is missing; the old spelling goes on for a release.
#[test]
fn a_true_refusal_names_what_is_missing() {
    let place = RescueFolder::new();
    place.ok(&["array", "create", "tank", "-l", "0", "--size", "8MiB", "--member", "a", "b"]);
    let (code, said) = place.raidloom(&["array", "rescue", "b"]);
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("cannot be opened: ") && said.contains("0 missing"), "{said}");
    let (_, said) = place.raidloom(&["array", "guess", "a", "missing"]);
    assert!(said.contains("has to be said as: raidloom array rescue a missing"), "{said}");
    let (_, said) = place.raidloom(&["array", "assemble", "--force", "b"]);
    assert!(said.contains("raidloom array rescue"), "{said}");
    fs::create_dir(place.path("nothing")).expect("a folder");
    for verb in ["rescue", "assemble"] {
        let (code, said) = place.raidloom(&["array", verb, "nothing"]);
        assert_eq!(code, Some(1), "{verb}: {said}");
        assert!(said.starts_with("raidloom: nothing: no file and no block device"), "{said}");
    }
}

/// A disc, whole and in halves, is on the block device of the export as it is in its image; it is
/// mounted where the kernel has a driver, and where not that is said.
#[test]
fn a_disc_on_an_array_is_read_from_its_block_device() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skipped!("only root may make loop devices");
    }
    let place = RescueFolder::new();
    let _ = place.file_system();
    if Command::new("xorriso").arg("--version").output().is_err() {
        return testkit::missing!("a disc: no xorriso: apt-get install xorriso");
    }
    let made = place
        .command("xorriso", &["-as", "mkisofs", "-quiet", "-J", "-R", "-o", "disc.iso", "tree"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let said = place.ok(&["array", "rescue", "disc.iso"]);
    assert!(said.contains("one drive") && said.contains("holds: ISO 9660"), "{said}");
    let disc = fs::read(place.path("disc.iso")).expect("read");
    let middle = disc.len() / 2 / 2048 * 2048;
    fs::write(place.path("one"), &disc[..middle]).expect("written");
    fs::write(place.path("two"), &disc[middle..]).expect("written");
    fs::create_dir_all(place.path("mounted")).expect("a folder");
    for (number, stack) in
        ["disc.iso?block=2048", "linear(one?block=2048, two?block=2048)"].iter().enumerate()
    {
        let started = place.ok(&[
            &["array", "start", "--json", "--name", "disc", "--read-only", "--attach"][..],
            &[stack],
        ]
        .concat());
        let status: serde_json::Value = serde_json::from_str(&started).expect("JSON");
        let device = device_of(&status).unwrap_or_else(|| panic!("no block device: {status:#}"));
        let (input, out) = (format!("stdio:{device}"), format!("out{number}"));
        let read =
            place.command("xorriso", &["-osirrox", "on", "-indev", &input, "-extract", "/", &out]);
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        place.has_files(&place.path(&out));
        let (code, said) = place.raidloom(&["array", "mount", "disc", "mounted"]);
        if code == Some(0) {
            place.has_files(&place.path("mounted"));
            place.ok(&["array", "umount", "disc"]);
        } else {
            assert!(said.contains("ISO 9660") || said.contains("iso9660"), "{said}");
        }
        place.ok(&["array", "stop", "disc"]);
    }
}

/// The loop device in what a status says.
fn device_of(status: &serde_json::Value) -> Option<String> {
    match status {
        serde_json::Value::String(text) => text.starts_with("/dev/loop").then(|| text.clone()),
        serde_json::Value::Array(all) => all.iter().find_map(device_of),
        serde_json::Value::Object(all) => all.values().find_map(device_of),
        _ => None,
    }
}

/// "What a rescue finds to be LUKS is told with the text that opens it": the command that is
/// printed shows the files, once the file with the passphrase has its name.
#[test]
fn what_is_encrypted_is_told_with_the_text_that_opens_it() {
    let place = RescueFolder::new();
    let Some(content) = place.file_system() else {
        return testkit::missing!("a rescue: no mkfs.ext4: apt-get install e2fsprogs");
    };
    fs::create_dir_all(place.path("set")).expect("a folder");
    fs::write(place.path("PASSPHRASE-FILE"), "open sesame").expect("written");
    place.ok(&[
        &["array", "create", "tank", "-l", "5", "--chunk", "64KiB", "--size", "32MiB"][..],
        &["--encrypt", "PASSPHRASE-FILE", "--assume-clean", "--member", "set/a", "set/b", "set/c"],
    ]
    .concat());
    fs::write(place.path("content"), &content).expect("written");
    let array = "raid5(metadata=1.2, set/a, set/b, set/c)";
    let luks = format!("luks(passphrase_file=PASSPHRASE-FILE, {array})");
    place.ok(&["array", "write", "--erase-signature", "content", &luks]);
    fs::remove_file(place.path("set/b")).expect("removed");
    let before = place.held();
    let said = place.ok(&["array", "rescue", "set"]);
    assert!(said.contains("holds: LUKS") && said.contains("it is encrypted"), "{said}");
    let command = said.lines().find(|line| line.contains("luks(passphrase_file=PASSPHRASE-FILE"));
    let command = command.unwrap_or_else(|| panic!("no text that opens it: {said}"));
    let stack = command.split('\'').nth(1).expect("a stack in quotes");
    place.ok(&["array", "start", "--read-only", "--name", "open", "--nbd", "unix", stack]);
    let text = format!("nbd+unix:///open?socket={}", place.path("run/open/nbd").display());
    let context = stack::BuildContext {
        files: &stack::NoFiles,
        seed: 0,
        read_only: true,
        create_bytes: None,
        emulate: false,
    };
    let remote = stack::parse_and_build(&text, &context).expect("the export");
    let reactor = block::Reactor::wall().expect("a reactor");
    let mut found = vec![0; content.len()];
    let mut channel = block::Blocking::open(&*remote.device, &reactor).expect("a channel");
    channel.read_slice(0, &mut found).expect("read");
    assert!(found == content, "the files");
    place.ok(&["array", "stop", "open"]);
    assert!(place.held() == before, "something was written");
}
