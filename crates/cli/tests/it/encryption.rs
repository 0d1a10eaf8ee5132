//! Encrypted arrays as their users have them: made, served, and opened by cryptsetup.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const STACK: &str = "raid5(metadata=1.2, a.img, b.img, c.img)";

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_raidloom"))
        .args(arguments)
        .current_dir(folder)
        .env("RAIDLOOM_RUNTIME_DIR", folder.join("run"))
        .env("RAIDLOOM_CONFIG_DIR", folder)
        .output()
        .unwrap()
}

fn ok(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn fails(folder: &Path, code: i32, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        testkit::missing!("{program} is not installed: see tools/packages.txt");
    }
    found
}

#[test]
fn cryptsetup_opens_the_container_in_a_new_array() {
    if !has("cryptsetup") || !has("qemu-img") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("key"), "a secret").unwrap();
    let create = ["array", "create", "tank", "--level", "5", "--size", "32MiB", "--encrypt"];
    let members = ["--member", "a.img", "b.img", "c.img"];
    let told = ok(folder, &[&create[..], &["key"], &members].concat());
    assert!(told.contains("start: raidloom array start --name tank 'luks(passphrase_file=key, "));

    let luks = format!("luks(passphrase_file=key, {STACK})");
    let start = ["array", "start", "--name", "tank", "--nbd", "unix", "--run"];
    fs::write(folder.join("plain"), "in the clear. ".repeat(1 << 15)).unwrap();
    let write = "truncate -s 28M plain; qemu-img convert -n -f raw -O raw plain {}";
    ok(folder, &[&start[..], &[write, &luks]].concat());
    let copy = "qemu-img convert -f raw -O raw {} whole";
    ok(folder, &[&start[..], &[copy, STACK]].concat());
    let back = "qemu-img convert -f raw -O raw {} back";
    ok(folder, &[&start[..], &[back, &luks]].concat());
    let plain = fs::read(folder.join("plain")).unwrap();
    assert!(fs::read(folder.join("back")).unwrap()[..plain.len()] == plain);
    for name in ["a.img", "b.img", "c.img", "whole"] {
        let bytes = fs::read(folder.join(name)).unwrap();
        // The text comes again every 14 bytes: it would be at the start of each page that has it.
        let has_it = |page: &[u8]| page[..28].windows(14).any(|part| part == b"in the clear. ");
        let clear = bytes.chunks_exact(4096).any(has_it);
        assert!(!clear, "{name}: data in the clear");
    }
    let opened = Command::new("cryptsetup")
        .args(["open", "--test-passphrase", "--key-file", "key", "whole"])
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(opened.success(), "cryptsetup");
}

/// One file holds the passphrase of all members, and a plan looks at what it measures beforehand.
#[test]
fn one_passphrase_opens_the_members_of_a_mirror() {
    if !has("cryptsetup") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("key"), "a secret").unwrap();
    let cheap = ["--pbkdf-force-iterations", "4", "--pbkdf-memory", "32"];
    for name in ["a.img", "b.img"] {
        fs::File::create(folder.join(name)).unwrap().set_len(32 << 20).unwrap();
        let mut format = Command::new("cryptsetup");
        format.args(["luksFormat", "--batch-mode", "--key-file", "key"]).args(cheap);
        assert!(format.arg(name).current_dir(folder).status().unwrap().success(), "cryptsetup");
    }
    let mirror = "raid1(luks(passphrase_file=key, a.img), luks(passphrase_file=key, b.img))";
    ok(folder, &["array", "start", "--name", "m", "--nbd", "unix", "--run", "true", mirror]);
    ok(folder, &["bench", "hdparm", "-s", "cached_time=50ms", "-s", "device_time=50ms", mirror]);
}

#[test]
fn what_cannot_be_encrypted_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("key"), "a secret").unwrap();
    fs::write(folder.join("empty"), "").unwrap();
    for (size, key, words) in [
        ("16MiB", "key", "a container takes 16MiB of it for itself"),
        ("64MiB", "none", "none: opening it for reading"),
        ("64MiB", "empty", "empty: it is empty"),
    ] {
        let arguments = [
            "array",
            "create",
            "tank",
            "--level",
            "1",
            "--size",
            size,
            "--member",
            "a.img",
            "b.img",
            "--encrypt",
            key,
        ];
        let said = fails(folder, 2, &arguments);
        assert!(said.contains(words) && said.lines().count() == 1, "{said}");
        assert!(!folder.join("a.img").exists() && !folder.join("b.img").exists());
    }
}
