//! Disk images of virtual machines, written to as the disks that are in them.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::Path;
use std::process::Command;

fn shell(folder: &Path, line: &str) {
    let ended = Command::new("sh").args(["-ec", line]).current_dir(folder).output().unwrap();
    assert!(ended.status.success(), "{line}: {ended:?}");
}

fn raidloom(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let ended = Command::new(env!("CARGO_BIN_EXE_raidloom"))
        .args(arguments)
        .env("RAIDLOOM_RUNTIME_DIR", folder.join("run"))
        .env("RAIDLOOM_CONFIG_DIR", folder)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ended.status.code(), text(&ended.stdout) + &text(&ended.stderr))
}

fn ok(folder: &Path, arguments: &[&str]) {
    let (code, said) = raidloom(folder, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {said}");
}

/// "What is written goes into the image": served, written to by qemu, served again, and a member.
#[test]
fn an_image_is_served_written_to_and_in_order() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !has("qemu-img") || !has("qemu-io") {
        testkit::missing!("qemu-img and qemu-io are not installed: see tools/packages.txt");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("base.img"), vec![3; 8 << 20]).unwrap();
    shell(folder, "qemu-img create -q -f qcow2 -b base.img -F raw top.qcow2 64M");
    let text = "image(write=yes, top.qcow2, base.img)";
    for byte in 5..7 {
        ok(folder, &["array", "start", "--name", "vm", "--nbd", "unix", text]);
        let socket = folder.join("run/vm/nbd");
        shell(
            folder,
            &format!(
                "qemu-io -f raw -c 'write -P {byte} {byte}M 100k' -c 'write -P 1 40M 3M' \
                -c 'write -z 41M 1M' -c 'discard 42M 512k' -c flush \
                'nbd+unix:///vm?socket={}'",
                socket.display()
            ),
        );
        ok(folder, &["array", "stop", "vm"]);
        shell(
            folder,
            &format!(
                "qemu-img check -q top.qcow2; qemu-io -r -c 'read -P 3 0 4M' \
                -c 'read -P {byte} {byte}M 100k' -c 'read -P 1 40M 1M' -c 'read -P 0 41M 1536k' \
                top.qcow2 > said; ! grep -q failed said"
            ),
        );
    }
    assert!(
        fs::metadata(folder.join("top.qcow2")).unwrap().len() < 8 << 20,
        "no longer than it is"
    );
    assert!(fs::read(folder.join("base.img")).unwrap() == vec![3; 8 << 20]);

    // What overwrites the disk overwrites the image, which carries a signature.
    let before = fs::read(folder.join("top.qcow2")).unwrap();
    let write = ["array", "write", "base.img", text];
    let (code, said) = raidloom(folder, &write);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("it carries a signature: qcow2 image"), "{said}");
    assert!(fs::read(folder.join("top.qcow2")).unwrap() == before);
    fs::copy(folder.join("base.img"), folder.join("raw.img")).unwrap();
    ok(folder, &["array", "write", "raw.img", text, "--erase-signature"]);
    shell(folder, "qemu-img check -q top.qcow2");

    // While a machine runs on it nobody else writes to it.
    let mut machine = Command::new("qemu-io")
        .args(["-f", "qcow2", "top.qcow2"])
        .current_dir(folder)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Its prompt comes when the image is open.
    let mut prompt = [0];
    std::io::Read::read_exact(machine.stdout.as_mut().unwrap(), &mut prompt).unwrap();
    let (code, said) = raidloom(folder, &["array", "start", "--name", "vm", text]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("in use"), "{said}");
    drop(machine.stdin.take());
    machine.wait().unwrap();
}
