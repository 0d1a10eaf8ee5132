//! What cannot be a member on another machine, as somebody sees it who starts an array over it: one
//! line, and nothing half joined. What needs more than one line to set up stands where that is: a
//! certificate of another host, an export that is too small and a server that lies about its
//! flushes in `nbd_leaf`, images of Ceph in `ceph`, Slurm's partitions and shards beside their own
//! tests.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use interop::raidloom;

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(raidloom())
        .args(arguments)
        .env("RAIDLOOM_RUNTIME_DIR", folder.join("run"))
        .env("RAIDLOOM_CONFIG_DIR", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("raidloom");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A mirror of a file and `other` is not started, with one line that says why; the file is as it
/// was, and nothing runs.
fn refused(other: &str, reason: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let create = ["array", "create", "tank", "--level", "1", "--size", "8MiB"];
    let (code, said) = run(folder.path(), &[&create[..], &["-m", "a.img", "-m", "b.img"]].concat());
    assert_eq!(code, Some(0), "{said}");
    let member = || fs::read(folder.path().join("a.img")).expect("a member");
    let before = member();
    let text = format!("raid1(metadata=1.2, a.img, {other})");
    let start = ["array", "start", "--name", "tank", "--nbd", "unix", &text];
    let (code, said) = run(folder.path(), &start);
    assert!(matches!(code, Some(2 | 4)), "{code:?} {said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(reason), "{said}");
    assert!(member() == before, "something was written");
    let left = folder.path().join("run/tank");
    assert!(!left.exists(), "{left:?} is left");
}

/// "Unreachable host".
#[test]
fn a_host_that_cannot_be_reached() {
    // Nothing listens at the port of TCP's own tests.
    refused("nbd://127.0.0.1:1/drive", "nbd://127.0.0.1:1/drive: connecting: ");
}

struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// "Wrong export name".
#[test]
fn an_export_of_another_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let (image, socket) = (folder.path().join("image"), folder.path().join("socket"));
    fs::write(&image, vec![0; 8 << 20]).expect("an image");
    let server = Command::new("qemu-nbd")
        .args(["--persistent", "--format=raw", "--export-name=drive", "--socket"])
        .args([&socket, &image])
        .stderr(Stdio::null())
        .spawn();
    let Ok(server) = server else {
        testkit::missing!("qemu-nbd is not there: apt-get install qemu-utils");
        return;
    };
    let _server = Ends(server);
    while !socket.exists() {
        std::thread::yield_now();
    }
    let leaf = format!("nbd+unix:///other?socket={}", socket.display());
    refused(&leaf, "the server has no such export");
}
