//! Members on other machines: made, looked at, exchanged and erased as files are, over the servers
//! that people have.

#![expect(
    clippy::disallowed_methods,
    reason = "waits for another process; a test that hangs says less than one that fails"
)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use block::{Blocking, Op, Reactor};
use stack::{BuildContext, NoFiles};

const MIB: u64 = 1 << 20;

fn are_there(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&&str| std::env::split_paths(&path).any(|one| one.join(name).exists());
    let missing: Vec<&&str> = programs.iter().filter(|name| !is_there(name)).collect();
    if !missing.is_empty() {
        testkit::missing!("{missing:?} are not there: apt-get install nbdkit qemu-utils mdadm");
    }
    missing.is_empty()
}

/// A folder with members, servers over them, and a runtime folder of its own.
struct Site {
    folder: tempfile::TempDir,
    servers: Vec<Child>,
}

impl Drop for Site {
    fn drop(&mut self) {
        for name in ["tank", "own"] {
            self.run(&["array", "stop", name]);
        }
        for child in &mut self.servers {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Site {
    fn new() -> Site {
        Site { folder: tempfile::tempdir().unwrap(), servers: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, runtime: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
        command
            .args(arguments)
            .env("RAIDLOOM_RUNTIME_DIR", self.path(runtime))
            .env("RAIDLOOM_CONFIG_DIR", self.folder.path())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// How it ended, what it printed, and what it complained of.
    fn on(&self, runtime: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(runtime, arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (status.code(), text(stdout), text(stderr))
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        self.on("run", arguments)
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let (code, out, complaint) = self.run(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {out}{complaint}");
        out
    }

    /// What it says to what it refuses: one line.
    fn refused(&self, arguments: &[&str]) -> String {
        let (code, out, complaint) = self.run(arguments);
        assert!(code.is_some_and(|code| code > 0), "{arguments:?}: {out}{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{arguments:?}: {complaint}");
        complaint
    }

    fn file(&self, name: &str, mib: u64) -> PathBuf {
        let path = self.path(name);
        fs::File::create(&path).unwrap().set_len(mib * MIB).unwrap();
        path
    }

    /// Has a program of others serve a file, and says where.
    fn serve(&mut self, name: &str, program: &str, more: &[&str]) -> String {
        let (path, socket) = (self.path(name), self.path(&format!("{name}.socket")));
        let mut command = Command::new(program);
        match program {
            "nbdkit-sh" => {
                command = Command::new("nbdkit");
                command.args(["--foreground", "--unix"]).arg(&socket).arg("sh").arg(&path);
            }
            "nbdkit" => {
                let is_flag = |word: &&&str| word.starts_with("--");
                let (flags, keys): (Vec<&&str>, Vec<&&str>) = more.iter().partition(is_flag);
                command.args(["--foreground", "--unix"]).arg(&socket).args(flags).arg("file");
                command.arg(&path).args(keys);
            }
            _ => {
                command.args(["-t", "-e", "16", "-f", "raw", "-k"]).arg(&socket).args(more);
                command.arg(&path);
            }
        }
        self.servers.push(command.spawn().unwrap());
        let start = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            assert!(start.elapsed() < Duration::from_secs(60), "{program} does not become ready");
            std::thread::park_timeout(Duration::from_millis(20));
        }
        format!("nbd+unix:///?socket={}", socket.display())
    }

    /// Has nbdkit serve a file over TCP, and says at which port.
    fn serve_by_tcp(&mut self, name: &str, is_secure: bool) -> u16 {
        let folder = self.folder.path().to_owned();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut command = Command::new("nbdkit");
        command.args(["--foreground", "--ipaddr", "127.0.0.1", "--port", &port.to_string()]);
        if is_secure {
            command.arg("--tls=require").arg(format!("--tls-certificates={}", folder.display()));
        }
        self.servers.push(command.arg("file").arg(folder.join(name)).spawn().unwrap());
        let start = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(60), "nbdkit does not become ready");
            std::thread::park_timeout(Duration::from_millis(20));
        }
        port
    }

    /// The same by raidloom's own server.
    fn serve_by_ourselves(&self, name: &str) -> String {
        self.ok(&["array", "start", "--name", "own", "--nbd", "unix", name]);
        format!("nbd+unix:///own?socket={}", self.path("run/own/nbd").display())
    }
}

fn held(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// What one server has, another one may not take away from it, nor open, nor have in an array of
/// its own.
fn another_server_takes_none(site: &Site, create: &[&str], [a, b, c]: [&str; 3]) {
    for verb in [
        [create, &["--erase-signature", "--member", a, b, c]].concat(),
        vec!["array", "destroy", "--erase-signature", a, b, c],
    ] {
        let (code, _, complaint) = site.on("other", &verb);
        assert!(
            code != Some(0) && complaint.contains("another server has this array"),
            "{complaint}"
        );
    }
    let (_, said, _) = site.on("other", &["array", "rescue", a, b, c]);
    assert!(said.contains("cannot be opened") && said.contains("another server has"), "{said}");
    // Nor into an array of its own.
    let own = ["x", "y"].map(|name| site.file(name, 24).display().to_string());
    let own_text = format!("raid1(metadata=1.2, {}, {})", own[0], own[1]);
    for verb in [
        &["array", "create", "own", "-l", "1", "--member", &own[0], &own[1]][..],
        &["array", "start", "--name", "own", "--nbd", "unix", &own_text],
    ] {
        let (code, _, complaint) = site.on("other", verb);
        assert_eq!(code, Some(0), "{complaint}");
    }
    for verb in [
        &["array", "add", "own", a, "--erase-signature"][..],
        &["array", "replace", "own", "1", a, "--erase-signature"],
    ] {
        let (code, _, complaint) = site.on("other", verb);
        assert!(
            code != Some(0) && complaint.contains("another server has this array"),
            "{verb:?}: {complaint}"
        );
    }
    let (code, _, complaint) = site.on("other", &["array", "stop", "own"]);
    assert_eq!(code, Some(0), "{complaint}");
}

/// "`array create`, `add`, `replace`, `assemble`, `examine`, `scan`, `destroy` on `nbd://…` as on
/// files", over nbdkit, qemu-nbd and our own server.
#[test]
fn exports_are_members_in_every_verb() {
    if !are_there(&["nbdkit", "qemu-nbd", "mdadm"]) {
        return;
    }
    let mut site = Site::new();
    let paths = ["a", "b", "c", "d"].map(|name| site.file(name, 24));
    let texts = [
        site.serve("a", "nbdkit", &[]),
        site.serve("b", "qemu-nbd", &[]),
        site.serve_by_ourselves("c"),
        site.serve("d", "nbdkit", &["--filter=nozero", "zeromode=none"]),
    ];
    let [a, b, c, d] = texts.each_ref().map(String::as_str);
    let create = ["array", "create", "tank", "-l", "5", "--chunk", "64KiB", "-k", "bitmap"];
    fn of<'a>(create: &[&'a str], members: &[&'a str]) -> Vec<&'a str> {
        [create, &["--member"], members].concat()
    }
    let said = site.refused(&of(&create, &[a, b, a]));
    assert!(said.contains("named twice") || said.contains("are the same"), "{said}");
    assert!(held(&paths).iter().flatten().all(|byte| *byte == 0), "nothing was written");
    site.ok(&of(&create, &[a, b, c]));
    for path in &paths[..2] {
        let output = Command::new("mdadm").arg("--examine").arg(path).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(" - correct") && said.contains("raid5"), "{said}");
    }
    assert!(site.ok(&["array", "examine", a]).contains("tank"));
    for verb in [&["array", "assemble"][..], &["array", "assemble", "--scan"]] {
        let said = site.ok(&[verb, &[a, b, c]].concat());
        assert!(said.contains(&format!("raid5(metadata=1.2, {a}, {b}, {c})")), "{said}");
    }

    // What carries a superblock is nobody's to overwrite without consent.
    let before = held(&paths);
    let said = site.refused(&of(&create, &[a, b, d]));
    assert!(said.contains("it carries a signature: md array member"), "{said}");
    assert!(held(&paths) == before, "nothing was written");

    let text = format!("raid5(metadata=1.2, {a}, {b}, {c})");
    site.ok(&["array", "start", "--name", "tank", "--nbd", "unix", &text]);
    another_server_takes_none(&site, &create, [a, b, c]);

    site.ok(&["array", "fail", "tank", b]);
    site.ok(&["array", "remove", "tank", b]);
    let said = site.refused(&["array", "add", "tank", a]);
    assert!(said.contains("is a member or a spare already"), "{said}");
    site.ok(&["array", "add", "tank", d, "--wait"]);
    let status = site.ok(&["array", "status", "tank"]);
    assert!(status.contains("[UUU]"), "{status}");
    // It is a member of this array still, by its superblock: no more words are needed.
    site.ok(&["array", "replace", "tank", d, b, "--wait"]);
    site.ok(&["array", "stop", "tank"]);

    site.ok(&["array", "destroy", "--erase-signature", a, b, c]);
    for path in [&paths[0], &paths[1]] {
        let output = Command::new("mdadm").arg("--examine").arg(path).output().unwrap();
        assert!(!output.status.success(), "{} is a member still", path.display());
    }
}

/// What nbdkit calls for each request: it has no word for trim.
const SERVED_WITHOUT_DISCARD: &str = r#"#!/bin/sh
case "$1" in
    get_size) stat -c %s FILE ;;
    pread) dd if=FILE iflag=count_bytes,skip_bytes count=$3 skip=$4 status=none ;;
    pwrite) dd of=FILE oflag=seek_bytes seek=$4 conv=notrunc bs=64k status=none ;;
    can_write|can_flush) exit 0 ;;
    can_fua) echo emulate ;;
    flush) sync FILE ;;
    *) exit 2 ;;
esac
"#;

/// "An export without discard joins an array that discards": what the array promises is kept by
/// writing zeroes.
#[test]
fn an_export_without_discard_joins_an_array_that_discards() {
    if !are_there(&["nbdkit"]) {
        return;
    }
    let mut site = Site::new();
    let path = site.file("late", 24);
    let script = site.path("late.sh");
    fs::write(&script, SERVED_WITHOUT_DISCARD.replace("FILE", &path.display().to_string()))
        .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let late = site.serve("late.sh", "nbdkit-sh", &[]);
    site.ok(&["array", "create", "tank", "-l", "1", "--size", "24MiB", "--member", "a", "missing"]);
    site.ok(&[
        "array",
        "start",
        "--name",
        "tank",
        "--nbd",
        "unix",
        "raid1(metadata=1.2, a, missing)",
    ]);
    site.ok(&["array", "add", "tank", &late, "--wait"]);
    let status = site.ok(&["array", "status", "tank"]);
    assert!(status.contains("[UU]"), "{status}");

    let half = 64 << 10;
    let text = format!("nbd+unix:///tank?socket={}", site.path("run/tank/nbd").display());
    let context = BuildContext::new(&NoFiles);
    let stack = stack::parse_and_build(&text, &context).unwrap();
    let mut channel = Blocking::open(&*stack.device, &Reactor::wall().unwrap()).unwrap();
    channel.write_slice(0, &vec![7; 2 * half]).unwrap();
    channel.run(Op::Discard { offset: 0, length: half as u64 }).unwrap();
    channel.flush().unwrap();
    let mut found = vec![1; 2 * half];
    channel.read_slice(0, &mut found).unwrap();
    let expected = [vec![0; half], vec![7; half]].concat();
    assert!(found == expected, "what was discarded reads as zeroes");
    drop((channel, stack));
    site.ok(&["array", "stop", "tank"]);
    let held = fs::read(path).unwrap();
    assert!(held[MIB as usize..][..2 * half] == expected, "zeroes were written to the member");
}

/// A server that greets well and then hangs up.
fn hang_up_after(socket: &Path, upstream: &Path, server_bytes: u64) {
    let (listener, upstream) = (UnixListener::bind(socket).unwrap(), upstream.to_owned());
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(mut client), Ok(mut server)) = (client, UnixStream::connect(&upstream)) else {
                return;
            };
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let mut bytes = vec![0; 4096];
            let mut left = server_bytes;
            while let Ok(count @ 1..) = server.read(&mut bytes) {
                let count = count.min(left as usize);
                left -= count as u64;
                if client.write_all(&bytes[..count]).is_err() || left == 0 {
                    break;
                }
            }
            let _ = client.shutdown(std::net::Shutdown::Both);
            let _ = server.shutdown(std::net::Shutdown::Both);
        }
    });
}

/// "Servers that hang up after the greeting, refuse writes: one line, no hang, nothing
/// half-written."
#[test]
fn a_server_that_fails_leaves_all_members_as_they_were() {
    if !are_there(&["nbdkit"]) {
        return;
    }
    let mut site = Site::new();
    let paths = ["a", "b"].map(|name| site.file(name, 16));
    let good = site.serve("a", "nbdkit", &[]);
    let plain = site.serve("b", "nbdkit", &[]);
    let read_only = {
        site.file("ro", 16);
        site.serve("ro", "nbdkit", &["--readonly"])
    };
    let failing = {
        site.file("bad", 16);
        site.serve(
            "bad",
            "nbdkit",
            &["--filter=error", "error-pwrite=EIO", "error-pwrite-rate=100%"],
        )
    };
    hang_up_after(&site.path("hang.socket"), &site.path("b.socket"), 2000);
    let hanging =
        format!("nbd+unix:///?socket={}&reconnect=1s", site.path("hang.socket").display());
    let nobody = format!("nbd+unix:///?socket={}", site.path("nobody").display());
    for (bad, reason) in [
        (&read_only, "read-only"),
        (&failing, "writing its superblock"),
        (&hanging, ""),
        (&nobody, ""),
    ] {
        for members in [[&good, bad], [bad, &plain]] {
            let [one, other] = members.map(String::as_str);
            let said = site.refused(&["array", "create", "t", "-l", "1", "--member", one, other]);
            assert!(said.contains(reason), "{bad}: {said}");
            assert!(held(&paths).iter().flatten().all(|byte| *byte == 0), "{bad}: written to");
        }
        if ![&read_only, &failing].contains(&bad) {
            site.refused(&["array", "examine", bad]);
        }
    }
}

/// "A start gives up on a member that does not answer, and says which": and until then it can be
/// asked for and ended.
#[test]
fn a_server_that_greets_and_does_not_answer_keeps_no_start_waiting() {
    if !are_there(&["nbdkit"]) {
        return;
    }
    let mut site = Site::new();
    for name in ["a", "b"] {
        site.file(name, 16);
    }
    let control = site.path("pause");
    let pause = format!("pause-control={}", control.display());
    let silent = site.serve("a", "nbdkit", &["--filter=pause", &pause]);
    let good = site.serve("b", "nbdkit", &[]);
    site.ok(&["array", "create", "tank", "-l", "1", "--member", &silent, &good]);
    let mut pause = UnixStream::connect(&control).unwrap();
    pause.write_all(b"p").unwrap();
    pause.read_exact(&mut [0]).unwrap();
    let stack = format!("raid1(metadata=1.2, {silent}, {good})");
    let start = |time| {
        ["array", "start", "--name", "tank", "--nbd", "unix", "--member-timeout", time, &stack]
    };
    let said = site.refused(&start("2s"));
    assert!(said.contains("/a.socket") && said.contains("no answer for 2s"), "{said}");

    let mut starter =
        site.command("run", &start("15s")).stderr(std::process::Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    loop {
        let (_, _, said) = site.run(&["array", "status"]);
        if said.contains("tank: its server is starting and takes no requests yet") {
            assert!(!said.contains("nothing runs"), "{said}");
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{said}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    let said = site.ok(&["array", "stop", "tank"]);
    assert!(said.contains("tank"), "{said}");
    assert!(!starter.wait().unwrap().success());
    assert!(!site.path("run/tank").exists(), "nothing is left of it");
}

/// "Same guard, same words": what `bench`, `run` and `array write` overwrite on another machine is
/// looked at as a file is.
#[test]
fn whatever_overwrites_an_export_asks_what_it_holds_and_who_has_it() {
    if !are_there(&["nbdkit"]) {
        return;
    }
    let mut site = Site::new();
    let (marked, plain) = (site.file("marked", 24), site.file("plain", 24));
    let image = site.file("image", 1);
    fs::write(&image, vec![6; MIB as usize]).unwrap();
    fs::write(&marked, [&b"XFSB"[..], &vec![0; 24 * MIB as usize - 4]].concat()).unwrap();
    let texts = [site.serve("marked", "nbdkit", &[]), site.serve("plain", "nbdkit", &[])];
    let [at_marked, at_plain] = texts.each_ref().map(String::as_str);
    let plan = format!(
        "schema = 1\nname = \"p\"\n[members.far]\nstacks = [\"{at_marked}\"]\n[matrix]\nlevel = \"single\"\n\
        [[workload]]\nsuite = \"devtest\"\n[trials]\nblocks = 1\n"
    );
    fs::write(site.path("plan.toml"), plan).unwrap();
    let (before, image) = (fs::read(&marked).unwrap(), image.display().to_string());
    for verb in [
        &["bench", "devtest", at_marked][..],
        &["run", "plan.toml"],
        &["array", "write", &image, at_marked],
        // Below another layer as well.
        &["array", "write", &image, &format!("linear({at_plain}, {at_marked})")],
    ] {
        let (code, out, complaint) = site.run(verb);
        assert_eq!(code, Some(4), "{verb:?}: {out}{complaint}");
        assert!(complaint.contains("it carries a signature: XFS; it would be"), "{complaint}");
        assert!(fs::read(&marked).unwrap() == before, "{verb:?}: it was written to");
    }
    site.ok(&["array", "write", &image, at_marked, "--erase-signature"]);
    assert!(fs::read(&marked).unwrap()[..MIB as usize] == vec![6; MIB as usize]);
    site.ok(&["array", "write", &image, at_plain]);
    assert!(fs::read(&plain).unwrap()[..MIB as usize] == vec![6; MIB as usize]);

    // A member that a server has is nobody's to overwrite, with whatever consent.
    let create = ["array", "create", "tank", "-l", "1", "--erase-signature", "--member"];
    site.ok(&[&create[..], &[at_marked, at_plain]].concat());
    let text = format!("raid1(metadata=1.2, {at_marked}, {at_plain})");
    site.ok(&["array", "start", "--name", "tank", "--nbd", "unix", &text]);
    for verb in [
        &["array", "write", &image, at_plain, "--erase-signature"][..],
        &["bench", "devtest", at_plain, "--erase-signature"],
    ] {
        let (code, _, complaint) = site.on("other", verb);
        assert!(
            code != Some(0) && complaint.contains("another server has this array"),
            "{verb:?}: {complaint}"
        );
    }
}

/// The array verbs over TCP, in the clear and by TLS with a certificate of the test's own.
#[test]
fn exports_over_tcp_and_tls_are_members() {
    if !are_there(&["nbdkit", "openssl"]) {
        return;
    }
    let mut site = Site::new();
    let made = Command::new("sh")
        .args([
            "-ec",
            "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=raidloom-test \
            -keyout ca-key.pem -out ca-cert.pem; \
            openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server-key.pem \
            -out server.csr; printf 'subjectAltName=DNS:localhost' > names; \
            openssl x509 -req -in server.csr -CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial \
            -days 2 -extfile names -out server-cert.pem",
        ])
        .current_dir(site.folder.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let paths = ["a", "b"].map(|name| site.file(name, 24));
    let ports = [site.serve_by_tcp("a", false), site.serve_by_tcp("b", true)];
    let texts = [
        format!("nbd://localhost:{}", ports[0]),
        format!("nbds://localhost:{}?tls_ca={}", ports[1], site.path("ca-cert.pem").display()),
    ];
    let [a, b] = texts.each_ref().map(String::as_str);
    site.ok(&["array", "create", "tank", "-l", "1", "-k", "bitmap", "--member", a, b]);
    assert!(site.ok(&["array", "examine", b]).contains("tank"));
    let text = format!("raid1(metadata=1.2, {a}, {b})");
    let said = site.ok(&["array", "assemble", a, b]);
    assert!(said.contains("raid1(metadata=1.2"), "{said}");
    site.ok(&["array", "start", "--name", "tank", "--nbd", "unix", &text]);
    site.ok(&["array", "fail", "tank", b]);
    site.ok(&["array", "remove", "tank", b]);
    site.ok(&["array", "add", "tank", b, "--wait"]);
    let status = site.ok(&["array", "status", "tank"]);
    assert!(status.contains("[UU]"), "{status}");
    site.ok(&["array", "stop", "tank"]);
    // Whoever does not know the authority does not get in.
    let said = site.refused(&["array", "examine", &format!("nbds://localhost:{}", ports[1])]);
    assert!(said.contains("tls_ca=FILE"), "{said}");
    site.ok(&["array", "destroy", "--erase-signature", a, b]);
    assert!(held(&paths).iter().all(|bytes| bytes[4096..4100] == [0; 4]), "superblocks are gone");
}
