//! The leaves `nbd:` and `nbd+unix:`, and with `nbds` over TLS, and the servers of others: nbdkit,
//! qemu-nbd, and our own.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use block::{Blocking, BufMut, Channel, Device, ErrorKind, Extents, Op, Reactor, Request, Support};
use export::RemovalPolicy;
use export::nbd::{Address, Export, Options, Server, Tls};
use host::guard::{Consent, Guard};
use interop::{certificates, noise};
use stack::{BuildContext, NoFiles};
use testkit::conformance;

const SEED: u64 = 20_261_123;
const MIB: usize = 1 << 20;

/// Whether the programs are there. Without them the test is skipped, which is said; in CI that is a
/// failure.
fn are_there(test: &str, programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&&str| std::env::split_paths(&path).any(|one| one.join(name).exists());
    let missing: Vec<&&str> = programs.iter().filter(|name| !is_there(name)).collect();
    if missing.is_empty() {
        return true;
    }
    let text =
        format!("{test}: {missing:?} are not there: apt-get install nbdkit qemu-utils openssl");
    testkit::missing!("{text}");
    false
}

fn build(text: &str) -> Result<Arc<dyn Device>, String> {
    let context = BuildContext { seed: SEED, ..BuildContext::new(&NoFiles) };
    Ok(stack::parse_and_build(text, &context).map_err(|error| error.to_string())?.device)
}

fn device(text: &str) -> Arc<dyn Device> {
    build(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn wall() -> Reactor {
    Reactor::wall().expect("a reactor")
}

fn blocking(device: &dyn Device) -> Blocking {
    Blocking::open(device, &wall()).expect("a channel")
}

/// A program that serves at a socket and goes into the background once it does; it ends with this.
struct Daemon {
    folder: Arc<tempfile::TempDir>,
    pid: String,
}

impl Daemon {
    fn start(folder: &Arc<tempfile::TempDir>, program: &str, arguments: &[&str]) -> Daemon {
        let pid_file = folder.path().join(format!("{program}.pid"));
        let pid_text = pid_file.display().to_string();
        let pid_flags = match program {
            "nbdkit" => vec!["--pidfile", &pid_text],
            "nbd-server" => vec!["-p", &pid_text],
            _ => vec!["--fork", "--pid-file", &pid_text],
        };
        let output = Command::new(program).args(pid_flags).args(arguments).output();
        let Output { status, stderr, .. } =
            output.unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(status.success(), "{program}: {}", String::from_utf8_lossy(&stderr));
        // It is written when the server is ready, which may be after its first process has ended.
        let mut looks = 0_u64;
        let pid = loop {
            match fs::read_to_string(&pid_file) {
                Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
                _ => looks += 1,
            }
            assert!(looks < 50_000_000, "{program} does not become ready");
            std::thread::yield_now();
        };
        let _ = fs::remove_file(&pid_file);
        Daemon { folder: Arc::clone(folder), pid }
    }

    /// Ends it at once, and waits until it is gone.
    fn kill(&self) {
        let _ = Command::new("kill").args(["-9", &self.pid]).status();
        while Path::new("/proc").join(&self.pid).join("exe").exists() {
            std::thread::yield_now();
        }
        let _ = fs::remove_file(self.folder.path().join("socket"));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

fn folder() -> Arc<tempfile::TempDir> {
    Arc::new(tempfile::tempdir().expect("a folder"))
}

fn socket(folder: &tempfile::TempDir) -> String {
    folder.path().join("socket").display().to_string()
}

fn uri(folder: &tempfile::TempDir, export: &str) -> String {
    format!("nbd+unix:///{export}?socket={}", socket(folder))
}

fn nbdkit(folder: &Arc<tempfile::TempDir>, arguments: &[&str]) -> Daemon {
    let socket = socket(folder);
    let all = [&["--unix", &socket][..], arguments].concat();
    Daemon::start(folder, "nbdkit", &all)
}

/// A file of so many bytes for servers, without anything in it.
fn image(folder: &tempfile::TempDir, bytes: usize) -> PathBuf {
    let path = folder.path().join("image");
    fs::File::create(&path).and_then(|file| file.set_len(bytes as u64)).expect("an image");
    path
}

#[test]
fn every_server_keeps_the_contract() {
    if !are_there("servers of others", &["nbdkit", "qemu-nbd"]) {
        return;
    }
    for arguments in [
        // Chunks, FUA, several connections.
        &["memory", "4M"][..],
        // Simple replies.
        &["--no-sr", "memory", "4M"],
        // A flush for its connection alone: every write goes with FUA.
        &["--filter=multi-conn", "memory", "4M", "multi-conn-mode=disable"],
        // Flush and no FUA.
        &["--filter=fua", "memory", "4M"],
        &["--filter=nozero", "memory", "4M"],
        // Answers that come late.
        &["--filter=delay", "memory", "4M", "delay-read=1ms", "delay-write=1ms"],
        &[
            "--filter=blocksize-policy",
            "memory",
            "4M",
            "blocksize-minimum=4096",
            "blocksize-preferred=65536",
            "blocksize-maximum=1M",
        ],
    ] {
        let folder = folder();
        let _server = nbdkit(&folder, arguments);
        let text = uri(&folder, "");
        conformance::run(|| device(&text), wall, SEED)
            .unwrap_or_else(|violation| panic!("nbdkit {arguments:?}: {violation}"));
    }
    let folder = folder();
    let (path, at) = (image(&folder, 4 * MIB), socket(&folder));
    let path = path.display().to_string();
    let arguments =
        ["-k", &at, "-x", "drive", "-e", "32", "-t", "-f", "raw", "--discard=unmap", &path];
    let _server = Daemon::start(&folder, "qemu-nbd", &arguments);
    let text = uri(&folder, "drive");
    conformance::run(|| device(&text), wall, SEED)
        .unwrap_or_else(|violation| panic!("qemu-nbd: {violation}"));
}

/// `nbd-server` over a file that is not made anew: simple replies, and a process for each client.
fn nbd_server(folder: &Arc<tempfile::TempDir>, path: &Path) -> Daemon {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let port = port.expect("a free port").port();
    let config = folder.path().join("config");
    let text = format!(
        "[generic]\nunixsock = {}\nlistenaddr = 127.0.0.1\nport = {port}\n[drive]\nexportname = \
        {}\nflush = true\nfua = true\ntrim = true\n",
        socket(folder),
        path.display()
    );
    fs::write(&config, text).expect("a configuration");
    let server = Daemon::start(folder, "nbd-server", &["-C", &config.display().to_string()]);
    // It names its process before it listens.
    let mut looks = 0_u64;
    while let Err(error) = UnixStream::connect(socket(folder)) {
        looks += 1;
        assert!(looks < 10_000_000, "nbd-server does not listen: {error}");
        std::thread::yield_now();
    }
    server
}

#[test]
fn the_reference_server_keeps_the_contract() {
    if !are_there("nbd-server", &["nbd-server"]) {
        return;
    }
    let folder = folder();
    let path = image(&folder, 4 * MIB);
    let _server = nbd_server(&folder, &path);
    let text = uri(&folder, "drive");
    conformance::run(|| device(&text), wall, SEED)
        .unwrap_or_else(|violation| panic!("nbd-server: {violation}"));
}

/// Writes, has it made durable in both ways there are, kills the server and starts it again. Says
/// what is not there any more.
fn loses_what_was_flushed(
    folder: &Arc<tempfile::TempDir>,
    text: &str,
    start: impl Fn() -> Daemon,
) -> Option<String> {
    let data = noise(SEED, 2 * MIB);
    let half = data.len() / 2;
    let server = start();
    {
        let drive = device(text);
        let mut channel = blocking(&*drive);
        channel.write_slice(0, &data[..half]).and_then(|()| channel.flush()).expect("flushed");
        let reactor = wall();
        let mut channel = drive.open(1, &reactor).expect("a channel");
        let mut from = BufMut::zeroed(half);
        from.copy_from_slice(&data[half..]);
        // A server without FUA is flushed after the write, which the layer above does.
        let fua = drive.info().fua == Support::Native;
        channel
            .submit(Request::new(0, Op::Write { offset: half as u64, from: from.freeze(), fua }));
        finish(&mut *channel, &reactor);
        if !fua {
            channel.submit(Request::new(0, Op::Flush));
            finish(&mut *channel, &reactor);
        }
        server.kill();
    }
    let _ = fs::remove_file(folder.path().join("socket"));
    let _server = start();
    let mut found = vec![0; data.len()];
    blocking(&*device(text)).read_slice(0, &mut found).expect("read");
    let lost = |name: &str, range: std::ops::Range<usize>| {
        (found[range.clone()] != data[range]).then(|| format!("{name} was answered, and is gone"))
    };
    lost("a flush", 0..half).or_else(|| lost("a write with FUA", half..data.len()))
}

fn finish(channel: &mut dyn Channel, reactor: &Reactor) {
    let mut done = Vec::new();
    while done.is_empty() {
        channel.poll(&mut done);
        if done.is_empty() {
            reactor.wait(None).expect("woken");
        }
    }
    done.remove(0).result.expect("done");
}

/// "A server that lies about flush (found by the conformance test of the leaf)".
#[test]
fn what_was_flushed_outlives_the_server_unless_it_lies() {
    if !are_there("flushed data", &["nbdkit", "qemu-nbd", "nbd-server"]) {
        return;
    }
    let cache = |mode: &'static str| {
        let folder = folder();
        let path = format!("file={}", image(&folder, 4 * MIB).display());
        let text = uri(&folder, "");
        loses_what_was_flushed(&folder, &text, || {
            nbdkit(&folder, &["--filter=cache", "file", &path, mode])
        })
    };
    assert_eq!(cache("cache=writeback"), None);
    // It says that it can flush, and flushes nothing.
    let lie = cache("cache=unsafe");
    assert_eq!(lie.as_deref(), Some("a flush was answered, and is gone"));

    let new = || {
        let folder = folder();
        let path = image(&folder, 4 * MIB);
        (folder, path)
    };
    let (folder, path) = new();
    let file = format!("file={}", path.display());
    let start = || nbdkit(&folder, &["file", &file]);
    assert_eq!(loses_what_was_flushed(&folder, &uri(&folder, ""), start), None, "nbdkit");
    let (folder, path) = new();
    let (at, file) = (socket(&folder), path.display().to_string());
    let start = || {
        let arguments = ["-k", &at, "-x", "drive", "-e", "32", "-t", "-f", "raw", &file];
        Daemon::start(&folder, "qemu-nbd", &arguments)
    };
    assert_eq!(loses_what_was_flushed(&folder, &uri(&folder, "drive"), start), None, "qemu-nbd");
    let (folder, path) = new();
    let start = || nbd_server(&folder, &path);
    assert_eq!(loses_what_was_flushed(&folder, &uri(&folder, "drive"), start), None, "nbd-server");
}

/// "Several connections where the server allows (`?connections=4`)."
#[test]
fn several_connections_of_one_channel_keep_the_contract() {
    if !are_there("several connections", &["nbdkit", "qemu-nbd"]) {
        return;
    }
    let folder = folder();
    let text = format!("{}&connections=4", uri(&folder, ""));
    let told = folder.path().join("told");
    let log = format!("logfile={}", told.display());
    let server = nbdkit(&folder, &["--filter=log", "memory", "4M", &log]);
    conformance::run(|| device(&text), wall, SEED)
        .unwrap_or_else(|violation| panic!("nbdkit: {violation}"));
    // So many requests at a time that each connection has some.
    fs::write(&told, "").expect("emptied");
    let drive = device(&text);
    let data = noise(SEED, 4 * MIB);
    let reactor = wall();
    let mut channel = drive.open(16, &reactor).expect("a channel");
    let mut done = Vec::new();
    for (tag, part) in data.chunks(256 << 10).enumerate() {
        let offset = tag as u64 * (256 << 10);
        let mut from = BufMut::zeroed(part.len());
        from.copy_from_slice(part);
        let op = Op::Write { offset, from: from.freeze(), fua: false };
        channel.submit(Request { tag: tag as u64, op });
    }
    assert_eq!(channel.in_flight(), 16);
    while done.len() < 16 {
        channel.poll(&mut done);
        if done.len() < 16 {
            reactor.wait(None).expect("woken");
        }
    }
    assert!(done.iter().all(|one| one.result.is_ok()), "{done:?}");
    drop(channel);
    let mut read = vec![0; data.len()];
    blocking(&*device(&uri(&folder, ""))).read_slice(0, &mut read).expect("read by another");
    assert!(read == data);
    let log = fs::read_to_string(&told).expect("a log");
    let of_writes = log.lines().filter(|line| line.contains(" Write "));
    let connections: BTreeSet<&str> =
        of_writes.filter_map(|line| line.split(" connection=").nth(1)?.split(' ').next()).collect();
    assert_eq!(connections.len(), 4, "{log}");

    // The end of one is the end of all: what was written may be lost.
    let mut channel = blocking(&*drive);
    channel.write_slice(0, &data[..4096]).expect("written");
    server.kill();
    let error = channel.read_slice(0, &mut read).expect_err("gone");
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");

    let _server =
        nbdkit(&folder, &["--filter=multi-conn", "memory", "1M", "multi-conn-mode=disable"]);
    let error = device_error(&text);
    assert!(error.contains("connections=4: what one connection writes need not be"), "{error}");
    for wrong in ["0", "17"] {
        let error = device_error(&format!("{}&connections={wrong}", uri(&folder, "")));
        assert!(error.contains("expected 1 to 16"), "{error}");
    }
}

#[test]
fn our_own_server_keeps_the_contract_over_tcp() {
    let (_server, uri) = ours("a b", &Options::default());
    let text = format!("\"{}\"", uri.replace("%20", " ")).replace("\"nbd:", "nbd:\"");
    conformance::run(|| device(&text), wall, SEED)
        .unwrap_or_else(|violation| panic!("{text}: {violation}"));
}

/// Our own server over TCP, and where its export is.
fn ours(name: &str, options: &Options) -> (Server, String) {
    let export = Export {
        name: name.to_owned(),
        description: String::new(),
        device: device("ram:4MiB"),
        read_only: false,
        policy: RemovalPolicy::Performance,
        gate: Default::default(),
    };
    let address = "tcp:127.0.0.1:0".parse::<Address>();
    let address = address.unwrap_or_else(|error| panic!("{error}"));
    let server = Server::start(vec![export], &[address], options).expect("a server");
    let uri = server.uris(name).remove(0);
    (server, uri)
}

/// A folder with certificates, and the options of a leaf that trusts their root.
fn trusted() -> (Arc<tempfile::TempDir>, String) {
    let folder = folder();
    certificates::make(folder.path());
    let options = format!("tls_ca={}", folder.path().join("ca-cert.pem").display());
    (folder, options)
}

/// An nbdkit that wants TLS, with the certificates of its folder.
fn secure_nbdkit(folder: &Arc<tempfile::TempDir>, arguments: &[&str]) -> Daemon {
    let certificates = format!("--tls-certificates={}", folder.path().display());
    nbdkit(folder, &[&["--tls=require", &certificates], arguments].concat())
}

/// "Leaf `nbds://` (TLS, certificates as in serving)": what is written comes back, by the contract,
/// from a server that wants a certificate of the client and from one that does not.
#[test]
fn over_tls_the_contract_holds_as_well() {
    if !are_there("TLS as a client", &["nbdkit", "openssl"]) {
        return;
    }
    let (folder, root) = trusted();
    let file = |name: &str| folder.path().join(name);
    let own = format!(
        "{root}&tls_cert={}&tls_key={}",
        file("client-cert.pem").display(),
        file("client-key.pem").display()
    );
    let secure = uri(&folder, "").replace("nbd+unix", "nbds+unix");
    for (verify, options) in [(&[][..], &root), (&["--tls-verify-peer"], &own)] {
        let _server = secure_nbdkit(&folder, &[verify, &["memory", "4M"]].concat());
        let text = format!("{secure}&{options}");
        conformance::run(|| device(&text), wall, SEED)
            .unwrap_or_else(|violation| panic!("nbdkit {verify:?}: {violation}"));
    }
    for (clients, options) in [(None, &root), (Some(file("ca-cert.pem")), &own)] {
        let (certificate, key) = (file("server-cert.pem"), file("server-key.pem"));
        let tls = Some(Tls { certificate, key, clients });
        let (_server, uri) = ours("a", &Options { tls, ..Options::default() });
        let text = format!("{uri}?{options}");
        assert!(text.starts_with("nbds://127.0.0.1:"), "{text}");
        conformance::run(|| device(&text), wall, SEED)
            .unwrap_or_else(|violation| panic!("{text}: {violation}"));
        // More than fits into what any part of the way keeps.
        let drive = device(&text);
        let (mut channel, data) = (blocking(&*drive), noise(SEED, 4 * MIB));
        channel.write_slice(0, &data).expect("written");
        let mut read = vec![0; data.len()];
        channel.read_slice(0, &mut read).expect("read");
        assert!(read == data);
    }
}

#[test]
fn a_server_that_comes_back_is_used_again_over_tls() {
    if !are_there("TLS as a client", &["nbdkit", "openssl"]) {
        return;
    }
    let (folder, root) = trusted();
    let path = format!("file={}", image(&folder, 4 * MIB).display());
    let server = secure_nbdkit(&folder, &["file", &path]);
    let drive = device(&format!("{}&{root}", uri(&folder, "").replace("nbd+", "nbds+")));
    let mut channel = blocking(&*drive);
    let data = noise(SEED, MIB);
    channel.write_slice(0, &data).expect("written");
    channel.flush().expect("flushed");
    server.kill();
    let server = secure_nbdkit(&folder, &["file", &path]);
    let mut read = vec![0; MIB];
    channel.read_slice(0, &mut read).expect("read again");
    assert!(read == data);
    let mut found = Extents::new();
    drive.extents(0, 4 * MIB as u64, &mut found);
    assert!(found.runs().iter().any(|run| run.is_hole), "holes are seen through TLS too");
    // One that comes back with a certificate that has expired is none.
    server.kill();
    certificates::expire(folder.path());
    let _server = secure_nbdkit(&folder, &["file", &path]);
    let error = device_error(&format!("{}&{root}", uri(&folder, "").replace("nbd+", "nbds+")));
    assert!(error.ends_with("the server's certificate has expired"), "{error}");
}

/// Why there is no device; one line.
fn device_error(text: &str) -> String {
    let error = build(text).map(|device| device.describe().to_string()).expect_err(text);
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

/// "Certificate of another host": one line each.
#[test]
fn whom_tls_does_not_prove_is_refused_with_one_line() {
    if !are_there("TLS as a client", &["nbdkit", "openssl"]) {
        return;
    }
    let (folder, root) = trusted();
    let (_other, other_root) = trusted();
    let secure = uri(&folder, "").replace("nbd+unix", "nbds+unix");
    let refused = |text: &str, part: &str| {
        let error = device_error(text);
        assert!(error.contains(part), "{text}: {error}");
    };
    let server = secure_nbdkit(&folder, &["memory", "1M"]);
    assert_eq!(device(&format!("{secure}&{root}")).info().size_bytes, MIB as u64);
    let elsewhere = format!("{secure}&{root}&tls_host=elsewhere.example");
    refused(&elsewhere, "the server's certificate is not for `elsewhere.example`");
    refused(&format!("{secure}&{other_root}"), "the server's certificate leads to no root in ");
    refused(&uri(&folder, ""), "the server wants TLS: say nbds: in the place of nbd:");
    drop(server);
    let server = secure_nbdkit(&folder, &["--tls-verify-peer", "memory", "1M"]);
    refused(&format!("{secure}&{root}"), "turns this client away");
    drop(server);
    let server = nbdkit(&folder, &["--tls=off", "memory", "1M"]);
    refused(
        &format!("{secure}&{root}"),
        "the server does not speak TLS: for one without, say nbd:",
    );
    drop(server);
    let key = folder.path().join("ca-key.pem").display().to_string();
    refused(&format!("{secure}&tls_ca={key}"), "there is no certificate in it");
}

#[test]
fn holes_are_seen_and_nothing_written_is_in_one() {
    if !are_there("nbdkit", &["nbdkit"]) {
        return;
    }
    let folder = folder();
    let path = format!("file={}", image(&folder, 16 * MIB).display());
    let _server = nbdkit(&folder, &["file", &path]);
    let drive = device(&uri(&folder, ""));
    blocking(&*drive).write_slice(4 * MIB as u64, &noise(SEED, MIB)).expect("written");
    let (mut at, mut holes) = (0, 0);
    while at < 16 * MIB as u64 {
        let mut found = Extents::new();
        drive.extents(at, 16 * MIB as u64 - at, &mut found);
        for run in found.runs() {
            let written = 4 * MIB as u64..5 * MIB as u64;
            let overlaps = at < written.end && at + run.length > written.start;
            assert!(!(run.is_hole && overlaps), "{at} {run:?}");
            holes += if run.is_hole { run.length } else { 0 };
            at += run.length;
        }
    }
    assert_eq!(holes, 15 * MIB as u64);
}

#[test]
fn a_server_that_comes_back_is_used_again_and_a_write_in_doubt_ends_the_device() {
    if !are_there("nbdkit", &["nbdkit"]) {
        return;
    }
    let folder = folder();
    let path = format!("file={}", image(&folder, 4 * MIB).display());
    let server = nbdkit(&folder, &["file", &path]);
    let drive = device(&uri(&folder, ""));
    let mut channel = blocking(&*drive);
    let data = noise(SEED, MIB);
    channel.write_slice(0, &data).expect("written");
    channel.flush().expect("flushed");

    // Everything is on the medium: a server that begins anew has lost nothing.
    server.kill();
    let server = nbdkit(&folder, &["file", &path]);
    let mut read = vec![0; MIB];
    channel.read_slice(0, &mut read).expect("read again");
    assert!(read == data);

    // A write without a flush may be gone with the server.
    channel.write_slice(0, &data[..4096]).expect("written");
    server.kill();
    let _server = nbdkit(&folder, &["file", &path]);
    let error = channel.read_slice(0, &mut read[..512]).expect_err("it may be lost");
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert!(error.to_string().contains("after writes that were not flushed"), "{error}");
    let error = channel.flush().expect_err("for good");
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert!(drive.open(1, &wall()).is_err());
    // Built anew it is a drive as before.
    let anew = device(&uri(&folder, ""));
    blocking(&*anew).read_slice(0, &mut read).expect("read");
    assert!(read == data);
}

#[test]
fn nothing_is_waited_for_that_does_not_come_back() {
    if !are_there("nbdkit", &["nbdkit"]) {
        return;
    }
    let folder = folder();
    let server = nbdkit(&folder, &["memory", "1M"]);
    let text = format!("{}&reconnect=0s", uri(&folder, ""));
    let drive = device(&text);
    let mut channel = blocking(&*drive);
    server.kill();
    let error = channel.read_slice(0, &mut [0; 512]).expect_err("gone");
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert!(error.to_string().contains("the connection is lost"), "{error}");
}

#[test]
fn an_array_goes_on_without_a_server_that_is_gone() {
    if !are_there("nbdkit", &["nbdkit"]) {
        return;
    }
    let folders = [folder(), folder(), folder()];
    let servers: Vec<Daemon> =
        folders.iter().map(|folder| nbdkit(folder, &["memory", "4M"])).collect();
    let members: Vec<String> =
        folders.iter().map(|folder| format!("{}&reconnect=0s", uri(folder, ""))).collect();
    let text = format!("raid5(chunk=64KiB, metadata=none, {})", members.join(", "));
    let array = device(&text);
    let mut channel = blocking(&*array);
    let data = noise(SEED, 6 * MIB);
    channel.write_slice(0, &data).expect("written");
    let mut read = vec![0; data.len()];
    servers[1].kill();
    channel.read_slice(0, &mut read).expect("read from the others");
    assert!(read == data);
    let other = noise(SEED + 1, 6 * MIB);
    channel.write_slice(0, &other).expect("written to the others");
    channel.read_slice(0, &mut read).expect("read");
    assert!(read == other);
}

/// The members of a mirror with superblocks, as files in a folder.
fn mirror(folder: &Path) -> [PathBuf; 2] {
    let members = [folder.join("a"), folder.join("b")];
    let wanted = mdtools::Create {
        create_bytes: Some(16 * MIB as u64),
        assume_clean: true,
        ..mdtools::Create::new("tank", array::md::Level::Raid1, array::md::Layout::Plain, &members)
    };
    mdtools::create(
        &Guard::new(Consent::default()),
        &wanted,
        &std::sync::atomic::AtomicBool::new(false),
    )
    .expect("an array");
    members
}

#[test]
fn superblocks_on_an_export_are_not_written_over_as_data() {
    if !are_there("nbdkit", &["nbdkit"]) {
        return;
    }
    let folder = folder();
    let members = mirror(folder.path());
    let _server = nbdkit(&folder, &["file", &format!("file={}", members[0].display())]);
    let error = build(&format!("raid0({}, ram:16MiB)", uri(&folder, ""))).expect_err("refused");
    assert!(error.contains("carries an md superblock"), "{error}");
    let forced = format!("raid1(metadata=1.2, force=yes, {}, missing)", uri(&folder, ""));
    assert!(build(&forced).is_ok());
    let error = build(&forced.replace("force=yes, ", "")).expect_err("half of the members");
    assert!(error.contains("with 1 of 2 here another server may have the rest"), "{error}");
}

/// "Export smaller than the superblock says": one line, and nothing half joined.
#[test]
fn an_export_that_is_smaller_than_its_superblock_says_is_refused() {
    if !are_there("nbdkit", &["nbdkit"]) {
        return;
    }
    let folder = folder();
    let members = mirror(folder.path());
    let before = fs::read(&members[0]).expect("a member");
    let other = self::folder();
    let path = format!("file={}", members[1].display());
    let _short = nbdkit(&other, &["--filter=truncate", "file", &path, "truncate=12M"]);
    let path = format!("file={}", members[0].display());
    let _whole = nbdkit(&folder, &["file", &path]);
    let error =
        device_error(&format!("raid1(metadata=1.2, {}, {})", uri(&folder, ""), uri(&other, "")));
    assert!(
        error.contains("data_size (byte 136)") && error.contains("than the member has"),
        "{error}"
    );
    assert!(fs::read(&members[0]).expect("a member") == before, "nothing was written");
}

#[test]
fn an_error_of_the_server_is_the_requests_own() {
    if !are_there("nbdkit", &["nbdkit"]) {
        return;
    }
    for replies in [&[][..], &["--no-sr"]] {
        let folder = folder();
        let file = folder.path().join("fails");
        let trigger = format!("error-pread-file={}", file.display());
        let arguments = [
            "--filter=error",
            "memory",
            "1M",
            "error-pread=EIO",
            "error-pread-rate=100%",
            &trigger,
        ];
        let _server = nbdkit(&folder, &[replies, &arguments].concat());
        let drive = device(&uri(&folder, ""));
        let mut channel = blocking(&*drive);
        let mut read = vec![0; 65536];
        channel.write_slice(0, &noise(SEED, 65536)).expect("written");
        channel.read_slice(0, &mut read).expect("read");
        fs::write(&file, "").expect("the trigger");
        let error = channel.read_slice(0, &mut read).expect_err("an error");
        assert_eq!(error.kind(), ErrorKind::Media, "{replies:?}: {error}");
        fs::remove_file(&file).expect("the trigger");
        read.fill(0);
        channel.read_slice(0, &mut read).expect("read again");
        assert!(read == noise(SEED, 65536));
    }
}

#[test]
fn what_cannot_be_a_member_has_its_line() {
    if !are_there("nbdkit", &["nbdkit"]) {
        return;
    }
    let refused = |text: &str, part: &str| {
        let error = build(text).map(|device| device.describe().to_string());
        let error = error.expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    };
    let folder = folder();
    refused(&uri(&folder, ""), "connecting");
    refused("nbd://127.0.0.1:1/x", "connecting");
    refused("nbd+unix:///x", "say where the server listens");
    refused("nbd:host/x", "an export (//HOST/EXPORT)");
    refused("nbd://host:port/x", "expected nbd://HOST[:PORT][/EXPORT]");
    refused("nbds://host/x", "nbds://host/x: say which roots its certificate may lead to: tls_ca=");
    refused("nbds://host/x?tls_ca=a&tls_key=b", "tls_cert and tls_key are said together");
    refused("nbds://host/x?tls_ca=/not/there", "/not/there");
    refused("nbds+unix:///x?tls_ca=a", "say where the server listens");
    let server = nbdkit(&folder, &["-r", "memory", "1M"]);
    refused(&uri(&folder, ""), "the export is read-only: say read_only=yes");
    assert!(device(&format!("{}&read_only=yes", uri(&folder, ""))).info().read_only);
    drop(server);
    let server = nbdkit(
        &folder,
        &["--filter=exportname", "memory", "1M", "exportname=drive", "exportname-strict=true"],
    );
    refused(&uri(&folder, "other"), "other");
    drop(server);
    let _server = nbdkit(
        &folder,
        &["--filter=fua", "--filter=multi-conn", "memory", "1M", "multi-conn-mode=disable"],
    );
    refused(&uri(&folder, ""), "cannot make written data durable");
}
