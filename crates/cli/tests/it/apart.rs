//! Servers on several hosts over the same members: one has the array, and never both. The servers
//! are real, and so are the kills, the stops and the cut links.

#![expect(
    clippy::disallowed_methods,
    reason = "waits for another process; a test that hangs says less than one that fails"
)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use block::{Blocking, Reactor};
use rustix::process::{Pid, Signal, kill_process};
use stack::{BuildContext, NoFiles, Stack};

const MIB: u64 = 1 << 20;
/// What is used of the array.
const SIZE: u64 = 24 * MIB;

/// Whether the programs are there.
fn are_there(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&&str| std::env::split_paths(&path).any(|one| one.join(name).exists());
    let missing: Vec<&&str> = programs.iter().filter(|name| !is_there(name)).collect();
    if missing.is_empty() {
        return true;
    }
    testkit::missing!("{missing:?} are not there: apt-get install nbdkit mdadm iproute2");
    false
}

/// One host, as far as a server of raidloom can tell: its own runtime folder, and perhaps a network
/// of its own.
struct Host {
    folder: tempfile::TempDir,
    network: Option<String>,
}

impl Host {
    fn new(network: Option<String>) -> Host {
        Host { folder: tempfile::tempdir().unwrap(), network }
    }

    fn raidloom(&self, arguments: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_raidloom");
        let mut command = match &self.network {
            None => Command::new(program),
            Some(name) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", name, program]);
                command
            }
        };
        command
            .args(arguments)
            .env("RAIDLOOM_RUNTIME_DIR", self.folder.path().join("run"))
            .env("RAIDLOOM_CONFIG_DIR", self.folder.path())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    fn start(&self, text: &str) -> Output {
        self.raidloom(&["array", "start", "--name", "tank", "--nbd", "unix", text])
            .output()
            .unwrap()
    }

    fn starts(&self, text: &str) {
        let Output { status, stderr, .. } = self.start(text);
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    }

    /// What it says to a start that is refused: one line.
    fn refuses(&self, text: &str) -> String {
        let Output { status, stderr, .. } = self.start(text);
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(4), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    }

    fn run(&self, arguments: &[&str]) -> String {
        let Output { stdout, stderr, .. } = self.raidloom(arguments).output().unwrap();
        String::from_utf8([stdout, stderr].concat()).unwrap()
    }

    fn signal(&self, signal: Signal) {
        let path = self.folder.path().join("run/tank/lock");
        let process = fs::read_to_string(path).unwrap().trim().parse().unwrap();
        kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
    }

    /// Where clients find the array.
    fn uri(&self) -> String {
        let status = self.run(&["array", "status", "--json", "tank"]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        find_uri(&status).unwrap_or_else(|| panic!("no export: {status:#}"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let lock = self.folder.path().join("run/tank/lock");
        let process = fs::read_to_string(lock).ok().and_then(|text| text.trim().parse().ok());
        if let Some(process) = process.and_then(Pid::from_raw) {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// The export of the array, in what its status says; its members are exports too.
fn find_uri(status: &serde_json::Value) -> Option<String> {
    match status {
        serde_json::Value::String(text) => {
            let is_export = text.starts_with("nbd+unix:///tank?") && text.ends_with("/tank/nbd");
            is_export.then(|| text.clone())
        }
        serde_json::Value::Array(all) => all.iter().find_map(find_uri),
        serde_json::Value::Object(all) => all.values().find_map(find_uri),
        _ => None,
    }
}

/// A client of an array.
struct Client {
    channel: Blocking,
    _stack: Stack,
}

impl Client {
    fn of(uri: &str) -> Client {
        let context = BuildContext::new(&NoFiles);
        let stack = stack::parse_and_build(&format!("{uri}&reconnect=0s"), &context).unwrap();
        let channel = Blocking::open(&*stack.device, &Reactor::wall().unwrap()).unwrap();
        Client { channel, _stack: stack }
    }

    fn write(&mut self, offset: u64, byte: u8, length: u64) -> Result<(), block::Error> {
        self.channel.write_slice(offset, &vec![byte; length as usize])?;
        self.channel.flush()
    }

    fn holds(&mut self, byte: u8) {
        let mut found = vec![0; SIZE as usize];
        self.channel.read_slice(0, &mut found).unwrap();
        let wrong = found.iter().position(|found| *found != byte);
        assert_eq!(wrong.map(|at| (at, found[at])), None, "all of it is {byte}");
    }
}

/// Writes one byte all over the array again and again, until a write fails or it is told to stop.
struct Load {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Option<String>>,
}

impl Load {
    /// Begins, and has written something.
    fn begin(host: &Host, byte: u8) -> Load {
        let (is_over, has_begun) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (over, begun, uri) = (Arc::clone(&is_over), Arc::clone(&has_begun), host.uri());
        let thread = std::thread::spawn(move || {
            let (mut client, mut offset) = (Client::of(&uri), 0);
            while !over.load(Ordering::Acquire) {
                if let Err(error) = client.write(offset, byte, MIB / 4) {
                    return Some(error.to_string());
                }
                begun.store(true, Ordering::Release);
                offset = (offset + MIB / 4) % SIZE;
            }
            None
        });
        while !has_begun.load(Ordering::Acquire) && !thread.is_finished() {
            std::thread::yield_now();
        }
        Load { is_over, thread }
    }

    /// Why it ended, if it did by itself.
    fn end(self) -> Option<String> {
        // The answer to a write before the stop may still be in the socket: the next one counts.
        let start = Instant::now();
        while !self.thread.is_finished() && start.elapsed() < Duration::from_secs(90) {
            std::thread::park_timeout(Duration::from_millis(50));
        }
        self.is_over.store(true, Ordering::Release);
        self.thread.join().unwrap()
    }
}

/// Programs that end with this.
struct Ends(Vec<Child>);

impl Drop for Ends {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Three members of a RAID 5 with a bitmap, as files.
fn members(folder: &Path) -> Vec<PathBuf> {
    let names = ["a", "b", "c"].map(|name| folder.join(name));
    let paths: Vec<&str> = names.iter().map(|path| path.to_str().unwrap()).collect();
    let size = format!("{}MiB", SIZE / MIB / 2 + 4);
    let create = [
        &["array", "create", "tank", "--level", "5", "--chunk", "64KiB", "-k", "bitmap"][..],
        &["--assume-clean", "--size", &size, "--member"],
        &paths,
    ];
    let host = Host::new(None);
    let output = host.raidloom(&create.concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    names.into()
}

/// What Linux's own tool says of a member: whether it is one, and its events.
fn examined(path: &Path) -> u64 {
    let output = Command::new("mdadm").arg("--examine").arg(path).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Checksum : ") && said.contains(" - correct"), "{said}");
    let events = said.lines().find_map(|line| line.trim().strip_prefix("Events : "));
    events.unwrap_or_else(|| panic!("{said}")).parse().unwrap()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(90), "{what}: not within 90 s");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

/// nbdkit 1.32 ends with a failed assertion where one thread of a connection still sends while
/// another has found its client gone; with one thread a connection this cannot be.
const ONE_THREAD: &str = "--threads=1";

/// "The second is refused or fenced by events, never both", with members behind sockets of this
/// machine: refused, after a kill, and after one that was stopped goes on.
#[test]
fn a_second_server_is_refused_and_follows_when_the_first_is_gone() {
    if !are_there(&["nbdkit", "mdadm"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let members = members(folder.path());
    let mut servers = Ends(Vec::new());
    let mut texts = Vec::new();
    for path in &members {
        let socket = path.with_extension("socket");
        let mut nbdkit = Command::new("nbdkit");
        nbdkit.args([ONE_THREAD, "--foreground", "--unix"]).arg(&socket).arg("file").arg(path);
        servers.0.push(nbdkit.spawn().unwrap());
        until("nbdkit", || socket.exists());
        texts.push(format!("nbd+unix:///?socket={}", socket.display()));
    }
    let text = format!("raid5(metadata=1.2, {})", texts.join(", "));
    let (first, second, third) = (Host::new(None), Host::new(None), Host::new(None));
    first.starts(&text);
    let said = second.refuses(&text);
    assert!(said.contains("another server has this array"), "{said}");
    Client::of(&first.uri()).write(0, 1, SIZE).unwrap();
    let said = second.refuses(&text);
    assert!(said.contains("another server has this array"), "while it is written to: {said}");
    let half = format!("raid5(metadata=1.2, {}, missing, missing)", texts[0]);
    assert!(!second.start(&half).status.success());

    first.signal(Signal::KILL);
    second.starts(&text);
    Client::of(&second.uri()).holds(1);

    // It stops among its writes, and has more of them to send.
    let load = Load::begin(&second, 2);
    second.signal(Signal::STOP);
    third.starts(&text);
    let mut client = Client::of(&third.uri());
    client.write(0, 3, SIZE).unwrap();
    second.signal(Signal::CONT);
    let why = load.end().expect("the load ends by itself");
    assert!(why.contains("input/output error") || why.contains("shuts down"), "{why}");
    until("it says so", || second.run(&["array", "status", "tank"]).contains("another server"));
    client.holds(3);
    client.write(0, 4, SIZE).unwrap();
    client.holds(4);
    let refused = second.run(&["array", "stop", "tank"]);
    assert!(refused.contains("another server has written the superblock"), "{refused}");
    drop(client);

    // Ended in order, it is nobody's, and md's still.
    third.run(&["array", "stop", "tank"]);
    let events: Vec<u64> = members.iter().map(|path| examined(path)).collect();
    assert!(events.iter().all(|one| *one == events[0] && *one > 10), "{events:?}");
    first.starts(&text);
    Client::of(&first.uri()).holds(4);
    first.run(&["array", "stop", "tank"]);
    drop(servers);
    let local = Host::new(None);
    let paths: Vec<String> = members.iter().map(|path| path.display().to_string()).collect();
    local.starts(&format!("raid5(metadata=1.2, {})", paths.join(", ")));
    Client::of(&local.uri()).holds(4);
}

/// Three networks of this machine: the storage and two hosts, each with a link of its own to it.
struct Networks {
    names: [String; 3],
}

impl Networks {
    fn new() -> Option<Networks> {
        if !rustix::process::geteuid().is_root() {
            testkit::missing!("only root may make network namespaces");
            return None;
        }
        let names = ["s", "a", "b"].map(|name| format!("rl{}{name}", std::process::id()));
        let networks = Networks { names };
        let [storage, hosts @ ..] = &networks.names;
        for name in &networks.names {
            if !ip(&["netns", "add", name]) {
                testkit::missing!("network namespaces cannot be made here");
                return None;
            }
        }
        for (number, host) in hosts.iter().enumerate() {
            let link = format!("link{number}");
            let pair = ["link", "add", &link, "netns", storage, "type", "veth"];
            assert!(ip(&[&pair[..], &["peer", "name", "eth0", "netns", host]].concat()));
            for (network, link, end) in [(storage, &*link, 1), (host, "eth0", 2)] {
                let address = format!("10.203.{number}.{end}/24");
                assert!(ip(&["-n", network, "addr", "add", &address, "dev", link]));
                assert!(ip(&["-n", network, "link", "set", link, "up"]));
            }
        }
        Some(networks)
    }

    /// Cuts a host's link to the storage, or joins it.
    fn link(&self, host: usize, is_up: bool) {
        let link = format!("link{host}");
        let state = if is_up { "up" } else { "down" };
        assert!(ip(&["-n", &self.names[0], "link", "set", &link, state]));
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        self.names.iter().for_each(|name| _ = ip(&["netns", "del", name]));
    }
}

fn ip(arguments: &[&str]) -> bool {
    let output = Command::new("ip").args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

/// "A partition in which two raidloom servers try to assemble the same members": over TCP, with the
/// link of the one that has the array cut among its writes, and joined again.
#[test]
fn a_server_that_is_cut_off_writes_nothing_when_it_is_back() {
    if !are_there(&["nbdkit", "mdadm", "ip"]) {
        return;
    }
    let Some(networks) = Networks::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let members = members(folder.path());
    let mut servers = Ends(Vec::new());
    for (number, path) in members.iter().enumerate() {
        let mut nbdkit = Command::new("ip");
        let port = format!("{}", 10809 + number);
        let ready = path.with_extension("pid");
        nbdkit.args([
            "netns",
            "exec",
            &networks.names[0],
            "nbdkit",
            ONE_THREAD,
            "--foreground",
            "--port",
            &port,
        ]);
        nbdkit.arg("--pidfile").arg(&ready).arg("file").arg(path);
        servers.0.push(nbdkit.spawn().unwrap());
        until("nbdkit", || ready.exists());
    }
    // Each host reaches the storage under another address.
    let text = |host: usize| {
        let member = |number: usize| format!("nbd://10.203.{host}.1:{}/", 10809 + number);
        format!("raid5(metadata=1.2, {}, {}, {})", member(0), member(1), member(2))
    };
    let [first, second] =
        [1, 2].map(|number: usize| Host::new(Some(networks.names[number].clone())));
    first.starts(&text(0));
    assert!(second.refuses(&text(1)).contains("another server has this array"));
    Client::of(&first.uri()).write(0, 1, SIZE).unwrap();
    let load = Load::begin(&first, 2);
    networks.link(0, false);
    second.starts(&text(1));
    let mut client = Client::of(&second.uri());
    client.write(0, 3, SIZE).unwrap();
    networks.link(0, true);
    // It finds connections that have ended, or superblocks that are not its own.
    let why = load.end().expect("the load ends by itself");
    assert!(!why.is_empty());
    until("it has stopped", || {
        !first.run(&["array", "status", "tank"]).contains("ONLINE, running")
    });
    client.holds(3);
    client.write(0, 4, SIZE).unwrap();
    client.holds(4);
}
