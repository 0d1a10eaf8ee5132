//! The NBD server and the clients of others: libnbd's programs, qemu's, fio, nbdkit and the kernel.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use block::Device;
use export::RemovalPolicy;
use export::nbd::{Address, Export, Options, Server, Tls};
use interop::{Machine, certificates, noise};
use stack::{BuildContext, NoFiles};

const SEED: u64 = 20_261_121;
const MIB: usize = 1 << 20;

/// Whether the programs are there. Without them the test is skipped, which is said; in CI that is a
/// failure.
fn are_there(test: &str, programs: &[(&str, &str)]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).collect();
    let missing: Vec<&str> = programs
        .iter()
        .filter(|(program, _)| !folders.iter().any(|folder| folder.join(program).exists()))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return true;
    }
    let text = format!("{test}: apt-get install {}", missing.join(" "));
    testkit::missing!("{text}");
    false
}

const LIBNBD: (&str, &str) = ("nbdinfo", "libnbd-bin");
const NBDSH: (&str, &str) = ("nbdsh", "python3-libnbd");
const QEMU: (&str, &str) = ("qemu-img", "qemu-utils");
const NBDKIT: (&str, &str) = ("nbdkit", "nbdkit");
const FIO: (&str, &str) = ("fio", "fio");
const OPENSSL: (&str, &str) = ("openssl", "openssl");

fn device(text: &str) -> Arc<dyn Device> {
    let context = BuildContext { seed: SEED, ..BuildContext::new(&NoFiles) };
    stack::parse_and_build(text, &context).unwrap_or_else(|error| panic!("{text}: {error}")).device
}

fn exported(name: &str, text: &str) -> Export {
    Export {
        name: name.to_owned(),
        description: format!("{name}, for tests"),
        device: device(text),
        read_only: false,
        policy: RemovalPolicy::Performance,
        gate: Default::default(),
    }
}

/// A server at a Unix socket in a folder of its own.
struct Served {
    server: Server,
    folder: tempfile::TempDir,
}

fn serve(exports: Vec<Export>) -> Served {
    serve_with(exports, &Options { workers: 2, ..Options::default() }, None)
}

fn serve_with(exports: Vec<Export>, options: &Options, address: Option<Address>) -> Served {
    let folder = tempfile::tempdir().expect("a folder");
    let address = address.unwrap_or_else(|| Address::Unix(folder.path().join("nbd.sock")));
    let server = Server::start(exports, &[address], options).expect("a server");
    Served { server, folder }
}

impl Served {
    fn uri(&self, name: &str) -> String {
        self.server.uris(name).remove(0)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn socket(&self) -> String {
        self.path("nbd.sock")
    }
}

/// Runs a program; what it printed.
fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    // Debian's python3 first: nbdsh is one of its programs.
    let path = format!("/usr/bin:{}", std::env::var("PATH").unwrap_or_default());
    let output = Command::new(program).args(arguments).env("PATH", path).output();
    let Output { status, stdout, stderr } =
        output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(text);
    }
    Err(format!("{program} {arguments:?}: {status}\n{text}\n{}", String::from_utf8_lossy(&stderr)))
}

fn succeed(program: &str, arguments: &[&str]) -> String {
    run(program, arguments).unwrap_or_else(|error| panic!("{error}"))
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn nbdinfo_sees_what_is_there() {
    if !are_there("nbdinfo", &[LIBNBD]) {
        return;
    }
    let mut second =
        exported("read only ü/2", "raid0(chunk=64KiB, ram:3MiB?block=4096, ram:3MiB?block=4096)");
    second.read_only = true;
    let mut quick = exported("quick", "ram:1MiB");
    quick.policy = RemovalPolicy::Quick;
    let served = serve(vec![exported("first", "ram:2MiB"), second, quick]);
    let list = json(&succeed("nbdinfo", &["--json", "--list", &served.uri("")]));
    assert_eq!((&list["protocol"], &list["structured"]), (&"newstyle-fixed".into(), &true.into()));
    let exports = list["exports"].as_array().expect("exports");
    let names: Vec<_> =
        exports.iter().map(|export| export["export-name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["first", "read only ü/2", "quick"]);
    let first = &exports[0];
    for (key, value) in [
        ("description", serde_json::json!("first, for tests")),
        ("export-size", (2 << 20).into()),
        ("contexts", serde_json::json!(["base:allocation"])),
        ("is_read_only", false.into()),
        ("can_df", true.into()),
        ("can_fua", true.into()),
        ("can_multi_conn", true.into()),
        ("can_trim", true.into()),
        ("can_zero", true.into()),
        ("can_fast_zero", true.into()),
        ("is_rotational", false.into()),
        ("block_size_minimum", 1.into()),
        ("block_size_preferred", 4096.into()),
        ("block_size_maximum", (32 << 20).into()),
    ] {
        assert_eq!(first[key], value, "{key}: {first}");
    }
    let second = json(&succeed("nbdinfo", &["--json", &served.uri("read only ü/2")]));
    let second = &second["exports"][0];
    assert_eq!(
        (&second["is_read_only"], &second["can_zero"]),
        (&true.into(), &false.into()),
        "{second}"
    );
    assert_eq!(
        (&second["block_size_minimum"], &second["export-size"]),
        (&1.into(), &(6 << 20).into()),
        "{second}"
    );
    // The empty name is the first export's; another is an error that says so.
    assert_eq!(succeed("nbdinfo", &["--size", &served.uri("")]).trim(), (2 << 20).to_string());
    let error = run("nbdinfo", &["--size", &served.uri("none")]).expect_err("there is none");
    assert!(error.contains("no export named 'none'"), "{error}");
    let map = json(&succeed("nbdinfo", &["--json", "--map", &served.uri("first")]));
    assert_eq!(map[0]["length"], 2 << 20, "{map}");
    assert_eq!(served.server.status().turned_away, 0);
}

#[test]
fn nbdcopy_moves_everything_over_several_connections() {
    if !are_there("nbdcopy", &[LIBNBD]) {
        return;
    }
    let served = serve(vec![
        exported("a", "raid0(chunk=4KiB, ram:20MiB, ram:20MiB)"),
        exported("b", "ram:40MiB"),
    ]);
    let (from, to) = (served.path("from"), served.path("to"));
    fs::write(&from, noise(SEED, 40 * MIB)).expect("written");
    for (connections, request_bytes) in
        [("1", "262144"), ("4", "262144"), ("2", "33554432"), ("4", "4096")]
    {
        let how =
            [format!("--connections={connections}"), format!("--request-size={request_bytes}")];
        let copy =
            |from: &str, to: &str| succeed("nbdcopy", &[&how[0], &how[1], "--flush", from, to]);
        copy(&from, &served.uri("a"));
        copy(&served.uri("a"), &served.uri("b"));
        copy(&served.uri("b"), &to);
        assert!(fs::read(&from).expect("from") == fs::read(&to).expect("to"), "{how:?}");
    }
    let status = served.server.status();
    assert!(
        status.exports[0].written_bytes >= 4 * 40 * MIB as u64
            && status.exports[1].read_bytes >= 4 * 40 * MIB as u64,
        "{status:?}"
    );
    assert_eq!((status.turned_away, status.exports[0].errors), (0, 0));
}

/// Single requests, with libnbd's own checks off so that the wrong ones reach the server.
const SHELL: &str = r#"
import errno, random
h.set_strict_mode(0)
h.add_meta_context("base:allocation")
h.set_export_name("a")
h.connect_unix(socket)
def fails(number, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except nbd.Error as error:
        assert error.errno == number, (call, arguments, error)
    else:
        raise AssertionError((call, arguments))
size = h.get_size()
a = bytes(range(256)) * 16
h.pwrite(a, 4096, nbd.CMD_FLAG_FUA)
assert h.pread(4096, 4096) == a
assert h.pread(4096, 4096, nbd.CMD_FLAG_DF if hasattr(nbd, "CMD_FLAG_DF") else 0) == a
h.zero(512, 4608)
assert h.pread(4096, 4096) == a[:512] + bytes(512) + a[1024:]
h.pwrite(a, 8192)
h.zero(4096, 8192, nbd.CMD_FLAG_NO_HOLE | nbd.CMD_FLAG_FUA)
assert h.pread(4096, 8192) == bytes(4096)
h.zero(4096, 4096, nbd.CMD_FLAG_FAST_ZERO)
h.pwrite(a, 8192)
h.trim(4096, 8192, nbd.CMD_FLAG_FUA)
assert h.pread(4096, 8192) == bytes(4096)
h.zero(size, 0)
h.flush()
extents = []
h.block_status(size, 0, lambda context, offset, entries, error: extents.append((context, offset, entries)))
assert extents == [("base:allocation", 0, [size, 3])], extents

fails("EINVAL", h.pread, 512, size)
fails("EINVAL", h.pread, 1024, size - 512)
fails("EINVAL", h.pread, 512, 2**64 - 512)
fails("ENOSPC", h.pwrite, a, size)
fails("ENOSPC", h.pwrite, a, size - 512)
fails("ENOSPC", h.pwrite, a, 2**64 - 512)
fails("EINVAL", h.pread, 512, size - 511)
fails("ENOSPC", h.zero, 4096, size)
fails("EINVAL", h.trim, 4096, size)
fails("ENOTSUP", h.zero, 4096, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE)
fails("EINVAL", h.pread, 512, 0, nbd.CMD_FLAG_FAST_ZERO)
fails("EINVAL", h.cache, 512, 0)
assert h.pread(4096, 4096) == bytes(4096), "what was refused changed nothing"

random.seed(seed)
blocks = size // 512
model = bytearray(size)
for turn in range(40):
    waiting = []
    taken = set()
    for _ in range(64):
        start = random.randrange(blocks)
        count = min(random.choice([1, 2, 7, 8, 300]), blocks - start)
        if taken & set(range(start, start + count)):
            continue
        taken |= set(range(start, start + count))
        where = slice(start * 512, (start + count) * 512)
        what = random.randrange(4)
        if what == 0:
            data = random.randbytes(count * 512)
            model[where] = data
            waiting.append((h.aio_pwrite(data, start * 512), None, None))
        elif what == 1:
            model[where] = bytes(count * 512)
            waiting.append((h.aio_zero(count * 512, start * 512), None, None))
        else:
            buffer = nbd.Buffer(count * 512)
            waiting.append((h.aio_pread(buffer, start * 512), buffer, where))
    for cookie, buffer, where in waiting:
        while not h.aio_command_completed(cookie):
            h.poll(-1)
        if buffer is not None:
            assert buffer.to_bytearray() == model[where], (turn, where)
assert h.pread(size, 0) == model
h.shutdown()

r = nbd.NBD()
r.set_strict_mode(0)
r.set_export_name("r")
r.connect_unix(socket)
fails("EPERM", r.pwrite, a, 0)
fails("EPERM", r.zero, 4096, 0)
fails("EPERM", r.trim, 4096, 0)
r.flush()
assert r.pread(4096, 0) == bytes(4096)
r.shutdown()

# Simple replies.
s = nbd.NBD()
s.set_strict_mode(0)
s.set_request_structured_replies(False)
s.set_export_name("a")
s.connect_unix(socket)
assert not s.get_structured_replies_negotiated()
assert s.pread(size, 0) == model
s.pwrite(a, 0)
assert s.pread(4096, 0) == a
fails("EINVAL", s.pread, 512, size)
fails("EINVAL", s.block_status, 512, 0, lambda *arguments: 0)
s.shutdown()
print("done")
"#;

#[test]
fn nbdsh_asks_for_everything_and_for_what_is_wrong() {
    if !are_there("nbdsh", &[NBDSH]) {
        return;
    }
    let mut read_only = exported("r", "ram:1MiB");
    read_only.read_only = true;
    let served = serve(vec![exported("a", "ram:4MiB"), read_only]);
    let head = format!("socket = '{}'\nseed = {SEED}\n", served.socket());
    let script = served.path("script.py");
    fs::write(&script, head + SHELL).expect("written");
    assert_eq!(
        succeed("nbdsh", &["-c", &format!("exec(open('{script}').read(), globals())")]).trim(),
        "done"
    );
    let status = served.server.status();
    assert!(status.exports[0].errors >= 10 && status.exports[1].errors == 3, "{status:?}");
    assert_eq!(status.turned_away, 0);
}

#[test]
fn qemu_reads_writes_and_compares() {
    if !are_there("qemu-img and qemu-io", &[QEMU, ("qemu-io", "qemu-utils")]) {
        return;
    }
    let served = serve(vec![exported("a", "raid0(chunk=64KiB, ram:16MiB, ram:16MiB)")]);
    let (uri, image) = (served.uri("a"), served.path("image"));
    let info = json(&succeed("qemu-img", &["info", "--output=json", &uri]));
    assert_eq!(info["virtual-size"], 32 << 20, "{info}");
    fs::write(&image, noise(SEED, 32 * MIB)).expect("written");
    succeed("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", &image, &uri]);
    assert!(
        succeed("qemu-img", &["compare", "-f", "raw", "-F", "raw", &image, &uri])
            .contains("identical")
    );
    let commands = [
        "write -P 0xab 64k 128k",
        "read -P 0xab 64k 128k",
        "write -f -P 0xcd 1M 4k",
        "read -P 0xcd 1M 4k",
        "write -z 2M 1M",
        "read -P 0 2M 1M",
        "write -z -u 4M 64k",
        "read -P 0 4M 64k",
        "discard 5M 1M",
        "flush",
        "aio_write -P 0x11 8M 2M",
        "aio_write -P 0x22 10M 2M",
        "aio_flush",
        "read -P 0x11 8M 2M",
        "read -P 0x22 10M 2M",
        // Not whole blocks: qemu reads, changes and writes them itself.
        "write -P 0x33 12582913 1000",
        "read -P 0x33 12582913 1000",
    ];
    let mut arguments = vec!["-f", "raw"];
    commands.iter().for_each(|command| arguments.extend(["-c", command]));
    arguments.push(&uri);
    let said = succeed("qemu-io", &arguments);
    assert!(!said.contains("failed") && !said.contains("error"), "{said}");
    let error = run("qemu-img", &["compare", "-f", "raw", "-F", "raw", &image, &uri])
        .expect_err("they differ now");
    assert!(error.contains("Content mismatch"), "{error}");
    let map = json(&succeed("qemu-img", &["map", "--output=json", "-f", "raw", &uri]));
    assert_eq!(map[0]["data"], true, "{map}");
    assert_eq!(
        (served.server.status().exports[0].errors, served.server.status().turned_away),
        (0, 0)
    );
}

#[test]
fn copies_skip_what_is_a_hole() {
    if !are_there("nbdcopy and qemu-img over holes", &[LIBNBD, ("nbdcopy", "libnbd-bin"), QEMU]) {
        return;
    }
    let text =
        "cache(mode=write-back, ram:1MiB, raid5(chunk=64KiB, ram:64MiB, ram:64MiB, ram:64MiB))";
    let served = serve(vec![exported("holes", text)]);
    let (uri, reads) = (served.uri("holes"), || served.server.status().exports[0].read_bytes);
    let image = served.path("image");
    fs::write(&image, noise(SEED, 256 << 10)).unwrap();
    fs::File::options().write(true).open(&image).unwrap().set_len(128 << 20).unwrap();
    succeed("nbdcopy", &[&image, &uri]);
    let map = json(&succeed("nbdinfo", &["--json", "--map", &uri]));
    let data = map
        .as_array()
        .unwrap()
        .iter()
        .filter(|run| run["type"] == 0)
        .map(|run| run["length"].as_u64().unwrap());
    let data: u64 = data.sum();
    assert!((256 << 10..4 << 20).contains(&data), "{map}");
    for program in ["nbdcopy", "qemu-img"] {
        let (copy, before) = (served.path(program), reads());
        match program {
            "nbdcopy" => succeed(program, &[&uri, &copy]),
            _ => succeed(program, &["convert", "-f", "raw", "-O", "raw", &uri, &copy]),
        };
        let moved = reads() - before;
        assert!(moved < 8 << 20, "{program} read {moved} bytes");
        assert!(fs::read(&copy).unwrap() == fs::read(&image).unwrap(), "{program}");
    }
}

#[test]
fn fio_verifies_what_it_wrote() {
    if !are_there("fio's nbd engine", &[FIO]) {
        return;
    }
    let served = serve(vec![exported("a", "ram:64MiB")]);
    let arguments = |work: &str| {
        [
            format!("--name={work}"),
            "--ioengine=nbd".to_owned(),
            format!("--uri={}", served.uri("a")),
            "--rw=randrw".to_owned(),
            format!("--randseed={SEED}"),
            "--bsrange=4k-256k".to_owned(),
            "--iodepth=32".to_owned(),
            "--size=32M".to_owned(),
            "--verify=crc32c".to_owned(),
            "--verify_fatal=1".to_owned(),
            "--verify_state_save=0".to_owned(),
            "--output-format=json".to_owned(),
        ]
    };
    for work in ["once", "again"] {
        let arguments = arguments(work);
        let said = succeed("fio", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
        // The engine says first that it is connected.
        let report = json(&said[said.find('{').unwrap_or(0)..]);
        assert_eq!(report["jobs"][0]["error"], 0, "{report}");
        assert!(report["jobs"][0]["write"]["total_ios"].as_u64() > Some(0), "{report}");
    }
    assert_eq!(
        (served.server.status().exports[0].errors, served.server.status().turned_away),
        (0, 0)
    );
}

#[test]
fn nbdkit_passes_on_what_it_reads_from_us() {
    if !are_there("nbdkit's nbd plugin", &[NBDKIT, LIBNBD]) {
        return;
    }
    let served = serve(vec![exported("a", "ram:16MiB")]);
    let (from, to) = (served.path("from"), served.path("to"));
    fs::write(&from, noise(SEED, 16 * MIB)).expect("written");
    let script = format!(
        "nbdcopy --flush '{from}' \"$uri\" && nbdcopy \"$uri\" '{to}' && nbdinfo --json \"$uri\""
    );
    let said = json(&succeed(
        "nbdkit",
        &["-U", "-", "nbd", &format!("uri={}", served.uri("a")), "--run", &script],
    ));
    assert!(fs::read(&from).expect("from") == fs::read(&to).expect("to"));
    let export = &said["exports"][0];
    assert_eq!(
        (&export["export-size"], &export["can_fua"]),
        (&(16 << 20).into(), &true.into()),
        "{export}"
    );
    assert_eq!(
        (served.server.status().exports[0].errors, served.server.status().turned_away),
        (0, 0)
    );
}

#[test]
fn tls_keeps_out_who_does_not_speak_it() {
    if !are_there("TLS", &[OPENSSL, LIBNBD, QEMU]) {
        return;
    }
    let certificates = tempfile::tempdir().expect("a folder");
    certificates::make(certificates.path());
    // A client that has the root and no certificate of its own.
    let stranger = tempfile::tempdir().expect("a folder");
    fs::copy(certificates.path().join("ca-cert.pem"), stranger.path().join("ca-cert.pem"))
        .expect("copied");
    let (folder, stranger) =
        (certificates.path().display().to_string(), stranger.path().display().to_string());
    let file = |name: &str| certificates.path().join(name);
    for clients in [None, Some(file("ca-cert.pem"))] {
        let known_only = clients.is_some();
        let tls =
            Tls { certificate: file("server-cert.pem"), key: file("server-key.pem"), clients };
        let options = Options { tls: Some(tls), ..Options::default() };
        let served = serve_with(
            vec![exported("a", "ram:16MiB")],
            &options,
            Some("127.0.0.1:0".parse().expect("an address")),
        );
        let uri = served.uri("a");
        assert!(uri.starts_with("nbds://127.0.0.1:"), "{uri}");
        let port = uri.trim_start_matches("nbds://127.0.0.1:").trim_end_matches("/a").to_owned();

        let secure = |folder: &str| format!("nbds://localhost:{port}/a?tls-certificates={folder}");
        assert_eq!(
            succeed("nbdinfo", &["--size", &secure(&folder)]).trim(),
            (16 << 20).to_string()
        );
        let (from, to) = (served.path("from"), served.path("to"));
        fs::write(&from, noise(SEED, 16 * MIB)).expect("written");
        succeed("nbdcopy", &["--flush", &from, &secure(&folder)]);
        succeed("nbdcopy", &[&secure(&folder), &to]);
        assert!(fs::read(&from).expect("from") == fs::read(&to).expect("to"));
        let credentials = format!("tls-creds-x509,id=tls0,endpoint=client,dir={folder}");
        let image = format!("driver=nbd,host=localhost,port={port},export=a,tls-creds=tls0");
        let raw = format!("driver=file,filename={from}");
        let said = succeed(
            "qemu-img",
            &["compare", "--object", &credentials, "--image-opts", &raw, &image],
        );
        assert!(said.contains("identical"), "{said}");

        let error = run("nbdinfo", &["--size", &format!("nbd://localhost:{port}/a")])
            .expect_err("TLS is required");
        assert!(error.contains("TLS"), "{error}");
        // Without a name to be found, not even the list of exports.
        run("nbdinfo", &["--list", &format!("nbd://localhost:{port}/")])
            .expect_err("TLS is required");
        assert_eq!(run("nbdinfo", &["--size", &secure(&stranger)]).is_err(), known_only);
        assert_eq!(served.server.status().exports[0].errors, 0);
    }
}

#[test]
fn tls_is_offered_on_a_unix_socket() {
    if !are_there("TLS", &[OPENSSL, LIBNBD]) {
        return;
    }
    let certificates = tempfile::tempdir().expect("a folder");
    certificates::make(certificates.path());
    let file = |name: &str| certificates.path().join(name);
    let tls =
        Tls { certificate: file("server-cert.pem"), key: file("server-key.pem"), clients: None };
    let served = serve_with(
        vec![exported("a", "ram:1MiB")],
        &Options { tls: Some(tls), ..Options::default() },
        None,
    );
    let plain = served.uri("a");
    assert_eq!(succeed("nbdinfo", &["--size", &plain]).trim(), (1 << 20).to_string());
    let secure = plain.replace("nbd+unix", "nbds+unix")
        + &format!("&tls-certificates={}&tls-hostname=localhost", certificates.path().display());
    let info = json(&succeed("nbdinfo", &["--json", &secure]));
    assert_eq!(
        (&info["TLS"], &info["exports"][0]["export-size"]),
        (&true.into(), &(1 << 20).into()),
        "{info}"
    );
}

/// The server half of [`a_socket_of_the_service_manager_is_served`], in a process of its own.
#[test]
#[ignore = "started by a_socket_of_the_service_manager_is_served"]
fn child_serves_what_it_inherited() {
    let server =
        Server::start(vec![exported("a", "ram:3MiB")], &[Address::Inherited], &Options::default())
            .expect("a server");
    // Until the client ends this process.
    loop {
        std::thread::park();
        assert!(server.status().trouble.is_none());
    }
}

#[test]
fn a_socket_of_the_service_manager_is_served() {
    if !are_there("socket activation", &[LIBNBD]) {
        return;
    }
    let this = std::env::current_exe().expect("this program").display().to_string();
    let child = ["--exact", "nbd::child_serves_what_it_inherited", "--ignored", "--nocapture"];
    let size = succeed("nbdinfo", &[&["--size", "--", "[", &this], &child[..], &["]"]].concat());
    // The test harness of the child talks first, and with one processor it does not end its line.
    assert!(size.split_whitespace().any(|word| word == (3 << 20).to_string()), "{size}");
    let error =
        Server::start(vec![exported("a", "ram:3MiB")], &[Address::Inherited], &Options::default())
            .err()
            .expect("no socket");
    assert!(error.to_string().contains("LISTEN_FDS"), "{error}");
}

/// The server half of [`the_kernels_client_makes_a_drive_of_it`]: it runs inside user-mode Linux,
/// whose kernel reaches no socket of ours. Says on its output when it is ready, and at its end what
/// it did.
#[test]
#[ignore = "started by the_kernels_client_makes_a_drive_of_it"]
fn child_serves_the_kernel() {
    let folder = std::env::var("NBD_FOLDER").expect("the folder for its socket");
    let mut quick = exported("quick", "ram:16MiB");
    quick.policy = RemovalPolicy::Quick;
    let mut read_only = exported("read-only", "ram:8MiB");
    read_only.read_only = true;
    let exports =
        vec![exported("drive", "raid0(chunk=64KiB, ram:48MiB, ram:48MiB)"), quick, read_only];
    let address = Address::Unix(Path::new(&folder).join("nbd.sock"));
    let server = Server::start(exports, &[address], &Options { workers: 2, ..Options::default() })
        .expect("a server");
    println!("ready");
    // Until its input ends.
    let mut line = String::new();
    while io::stdin().read_line(&mut line).is_ok_and(|count| count > 0) {}
    let status = server.status();
    let errors: u64 = status.exports.iter().map(|export| export.errors).sum();
    let used = status.exports[0].flushes > 0 && status.exports[0].clears > 0;
    println!(
        "server errors {errors}, turned away {}, flushed and trimmed {used}",
        status.turned_away
    );
    server.stop();
}

#[test]
fn the_kernels_client_makes_a_drive_of_it() {
    let test = "the kernel's nbd client";
    if !Machine::is_there(test)
        || !are_there(test, &[("nbd-client", "nbd-client"), ("mkfs.ext4", "e2fsprogs")])
    {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("data"), noise(SEED, 9 * MIB)).expect("written");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (uml, script) = (here.join("uml.sh"), here.join("nbd-client.sh"));
    let server = std::env::current_exe().expect("this program");
    let mut machine = Command::new(uml);
    machine
        .args(["-t", "900", "-w"])
        .arg(folder.path())
        .arg(script)
        .arg("--")
        .arg(server)
        .arg(folder.path());
    let output = machine.output().expect("bash runs");
    let (said, log) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let expected = [
        "drive size 100663296",
        "drive cache write back, read-only 0",
        "drive files equal",
        "drive fsck clean",
        "quick size 16777216",
        "quick cache write through",
        "quick data equal",
        "read-only 1",
        "read-only writes refused",
        "server errors 0, turned away 0, flushed and trimmed true",
        "done",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{log}");
}
