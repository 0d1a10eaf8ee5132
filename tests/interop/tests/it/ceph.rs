//! The leaf `rbd:` and Debian's Ceph, of which a monitor and two OSDs run on this machine for it.
//!
//! ```text
//!   raidloom ── private socket ── qemu-nbd ── librbd ──> ceph-mon, ceph-osd 0, ceph-osd 1
//! ```

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use block::{Blocking, Device, Reactor};
use host::guard::{Consent, Guard};
use interop::ceph::{Ceph, POOL};
use interop::{noise, raidloom};
use stack::{BuildContext, NoFiles, OpenFiles};
use testkit::conformance;

const SEED: u64 = 20_261_124;
const MIB: usize = 1 << 20;

fn build_with(text: &str, files: &dyn OpenFiles) -> Result<Arc<dyn Device>, String> {
    let context = BuildContext { seed: SEED, ..BuildContext::new(files) };
    Ok(stack::parse_and_build(text, &context).map_err(|error| error.to_string())?.device)
}

fn build(text: &str) -> Result<Arc<dyn Device>, String> {
    build_with(text, &Guard::new(Consent::default()))
}

fn device(text: &str) -> Arc<dyn Device> {
    build(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> String {
    build(text).map(|device| device.describe()).expect_err(text)
}

fn wall() -> Reactor {
    Reactor::wall().expect("a reactor")
}

fn blocking(device: &dyn Device) -> Blocking {
    Blocking::open(device, &wall()).expect("a channel")
}

fn read(device: &dyn Device, length: usize) -> Vec<u8> {
    let mut found = vec![0; length];
    blocking(device).read_slice(0, &mut found).expect("a read");
    found
}

/// The processes of servers that serve an image of this cluster, and of what keeps them.
fn servers(ceph: &Ceph) -> Vec<String> {
    let conf = ceph.conf().display().to_string();
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let is_server = |pid: &String| {
        let line = fs::read(Path::new("/proc").join(pid).join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.contains("--persistent") && line.contains(&conf)
    };
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_server).collect()
}

/// Bounded by how long the guardian gives a server.
fn until_gone(ceph: &Ceph) {
    for _ in 0..200_000 {
        if servers(ceph).is_empty() {
            return;
        }
    }
    panic!("servers are left: {:?}", servers(ceph));
}

/// One cluster for all of it: it takes longer to come up than what is tried on it.
#[test]
fn images_of_a_cluster_are_members_and_what_they_are_compared_with() {
    let Some(mut ceph) = Ceph::start() else { return };
    let image = ceph.image("image", 16);
    wrong_ones_are_one_line_each(&ceph);
    the_contract_is_kept(&image);
    an_image_has_one_writer(&ceph, &image);
    nothing_is_left_of_a_program_that_was_killed(&ceph, &image);
    flushed_data_outlive_the_server(&ceph);
    two_servers_never_have_the_same_images(&ceph);
    a_plan_says_what_each_survives(&ceph);
    an_array_over_images_goes_on_without_an_osd(&mut ceph);
    assert!(servers(&ceph).is_empty());
}

/// Texts of images that cannot be opened, and what each of them is answered.
fn wrong_texts(ceph: &Ceph) -> Vec<(String, String)> {
    let place = format!("{POOL}/image");
    let with = |conf: &Path, more: &str| format!("rbd:{place}?conf={}{more}", conf.display());
    let keys = ceph.folder().join("wrong.keyring").display().to_string();
    let made = Command::new("ceph-authtool")
        .args(["--create-keyring", &keys, "--gen-key", "-n", "client.admin"])
        .stdout(Stdio::null())
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    let wrong_key = ceph.changed_conf("wrong-key.conf", "keyring", &keys);
    let no_key = ceph.changed_conf("no-key.conf", "keyring", "/nowhere/keyring");
    // Nothing listens at the port of TCP's own tests.
    let gone = ceph.changed_conf("gone.conf", "mon_host", "v2:127.0.0.1:1");
    let nothing = ceph.folder().join("nothing.conf");
    fs::write(&nothing, "[global]\n").expect("a file");
    let wrong_key_of = |client: &str| {
        format!(
            "rbd:{place}: the cluster does not take the key of client.{client}: see the keyring \
            that Ceph's configuration names, and `ceph auth get client.{client}`"
        )
    };
    let unanswered = format!(
        "rbd:{place}: no monitor of the cluster has answered in 300ms: see whether those \
        that {} names can be reached (timeout=TIME waits longer)",
        gone.display()
    );
    vec![
        (
            ceph.leaf(&format!("{POOL}/none"), ""),
            format!("rbd:{POOL}/none: the pool {POOL} has no image none: rbd ls {POOL}"),
        ),
        (ceph.leaf("none/image", ""), "rbd:none/image: the cluster has no pool none".to_owned()),
        (
            ceph.leaf(&format!("{place}@then"), ""),
            format!("rbd:{place}@then: the image has no snapshot then"),
        ),
        (ceph.leaf(&place, "&id=nobody"), wrong_key_of("nobody")),
        (with(&wrong_key, ""), wrong_key_of("admin")),
        (
            with(&no_key, ""),
            format!(
                "rbd:{place}: there is no keyring with a key of client.admin (keyring in Ceph's \
                configuration)"
            ),
        ),
        (with(&gone, "&timeout=300ms"), unanswered.clone()),
        (with(&gone, "&timeout=300ms&read_only=yes"), unanswered),
        (
            with(&nothing, ""),
            format!(
                "rbd:{place}: Ceph's configuration names no monitor: say conf=FILE, with mon_host \
                in it"
            ),
        ),
        (
            with(Path::new("/nowhere.conf"), ""),
            format!(
                "rbd:{place}: qemu-nbd: error reading conf file /nowhere.conf: No such file or \
                directory"
            ),
        ),
    ]
}

/// "Pool without the image […]: one line each."
fn wrong_ones_are_one_line_each(ceph: &Ceph) {
    for (text, expected) in wrong_texts(ceph) {
        assert_eq!(refused(&text), expected, "{text}");
    }
    until_gone(ceph);
    let place = format!("{POOL}/image");
    let text = ceph.leaf(&place, "");
    let error = build_with(&text, &NoFiles).map(|device| device.describe());
    assert_eq!(
        error.expect_err("no programs"),
        format!("rbd:{place}: this stack may not start programs")
    );
}

fn the_contract_is_kept(image: &str) {
    let device = device(image);
    assert_eq!(device.info().size_bytes, 16 * MIB as u64);
    assert!(device.info().volatile_cache, "what is not flushed may lie in the server's memory");
    assert_eq!(device.describe().to_string(), image);
    conformance::run(|| Arc::clone(&device), wall, SEED)
        .unwrap_or_else(|violation| panic!("{violation}"));
}

/// Whoever else uses the image would write over what this one has written.
fn an_image_has_one_writer(ceph: &Ceph, image: &str) {
    let first = device(image);
    let error = refused(image);
    assert!(error.starts_with(&format!("rbd:{POOL}/image: in use by 127.0.0.1:")), "{error}");
    let reader = device(&format!("{image}&read_only=yes"));
    assert!(reader.info().read_only);
    drop((first, reader));
    until_gone(ceph);
    drop(device(image));
}

/// "qemu-nbd that raidloom starts and ends with the stack", also where nobody ends the stack.
fn nothing_is_left_of_a_program_that_was_killed(ceph: &Ceph, image: &str) {
    let runtime = ceph.folder().join("runtime");
    let mut program = Command::new(raidloom())
        .args(["--quiet", "array", "start", image, "--name", "tank", "--nbd", "unix"])
        .args(["--run", "echo ready; read line"])
        .env("RAIDLOOM_RUNTIME_DIR", &runtime)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("raidloom");
    let mut line = String::new();
    let said = program.stdout.as_mut().expect("piped");
    BufReader::new(said).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    assert!(!servers(ceph).is_empty());
    program.kill().and_then(|()| program.wait()).expect("killed");
    until_gone(ceph);
    // It was ended in order, so the image is free.
    drop(device(image));
}

fn flushed_data_outlive_the_server(ceph: &Ceph) {
    let image = ceph.image("flushed", 8);
    let first = device(&image);
    let data = noise(SEED, 2 * MIB);
    let mut channel = blocking(&*first);
    channel.write_slice(0, &data).expect("a write");
    channel.flush().expect("a flush");
    for pid in servers(ceph) {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if name == "qemu-nbd\n" {
            let killed = Command::new("kill").args(["-9", &pid]).status();
            assert!(killed.is_ok_and(|status| status.success()));
        }
    }
    let error = channel.read_slice(0, &mut [0; 512]).expect_err("gone").to_string();
    assert!(error.contains(&format!("rbd:{POOL}/flushed")), "{error}");
    drop(channel);
    drop(first);
    until_gone(ceph);
    assert!(read(&*device(&format!("{image}&read_only=yes")), data.len()) == data);
}

/// A host, as far as a server of raidloom can tell: a runtime folder of its own.
struct Host(PathBuf);

impl Host {
    fn raidloom(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(raidloom())
            .args(arguments)
            .env("RAIDLOOM_RUNTIME_DIR", self.0.join("run"))
            .env("RAIDLOOM_CONFIG_DIR", &self.0)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .output()
            .expect("raidloom");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn start(&self, text: &str) -> (Option<i32>, String) {
        self.raidloom(&["array", "start", "--name", "tank", "--nbd", "unix", text])
    }

    fn signal(&self, signal: &str) {
        let process = fs::read_to_string(self.0.join("run/tank/lock")).expect("its process");
        let status = Command::new("kill").args([signal, process.trim()]).status();
        assert!(status.is_ok_and(|status| status.success()));
    }

    /// The array that it serves.
    fn array(&self) -> Arc<dyn Device> {
        let socket = self.0.join("run/tank/nbd");
        device(&format!("nbd+unix:///tank?socket={}", socket.display()))
    }
}

/// "Two raidloom servers try to assemble the same members: the second is refused or fenced by
/// events, never both", with images as members: refused while the cluster knows of the first one's
/// server, which goes on while raidloom itself is stopped.
fn two_servers_never_have_the_same_images(ceph: &Ceph) {
    let [first, second] = ["first", "second"].map(|name| Host(ceph.folder().join(name)));
    for host in [&first, &second] {
        fs::create_dir(&host.0).expect("a folder");
    }
    let create = ["array", "create", "tank", "--level", "1", "--size", "16MiB"];
    let (code, said) = first.raidloom(&[&create[..], &["-m", "m0", "-m", "m1"]].concat());
    assert_eq!(code, Some(0), "{said}");
    let [a, b] = ["m0", "m1"].map(|name| ceph.import(&first.0.join(name), name));
    let text = format!("raid1(metadata=1.2, {a}, {b})");
    let (code, said) = first.start(&text);
    assert_eq!(code, Some(0), "{said}");
    let data = noise(SEED + 2, MIB);
    {
        let array = first.array();
        let mut channel = blocking(&*array);
        channel.write_slice(0, &data).expect("a write");
        channel.flush().expect("a flush");
    }
    for stopped in [false, true] {
        if stopped {
            first.signal("-STOP");
        }
        let (code, said) = second.start(&text);
        assert_eq!((code, said.lines().count()), (Some(4), 1), "{said}");
        assert!(said.contains(&format!("rbd:{POOL}/m0: in use by 127.0.0.1:")), "{said}");
    }
    first.signal("-KILL");
    until_gone(ceph);
    let (code, said) = second.start(&text);
    assert_eq!(code, Some(0), "{said}");
    assert!(read(&*second.array(), data.len()) == data);
    let (code, said) = second.raidloom(&["array", "stop", "tank"]);
    assert_eq!(code, Some(0), "{said}");
    until_gone(ceph);
}

/// "`members.ceph = { rbd = "pool/image" }` against arrays over the same disks; the report says
/// what each survives."
fn a_plan_says_what_each_survives(ceph: &Ceph) {
    let _ = ceph.image("plan", 8);
    let plan = format!(
        "schema = 1\nname = \"Ceph or a mirror\"\n[members]\n\
        ceph = {{ rbd = \"{POOL}/plan\", conf = \"{}\" }}\n\
        files = {{ files = {{ count = 2, size = \"8MiB\", dir = \"{}\" }} }}\n\
        [[add]]\nmembers = \"files\"\nlevel = [\"raid1\", \"single\"]\n\
        [[add]]\nmembers = \"ceph\"\nlevel = \"single\"\n\
        [baseline]\nmembers = \"files\"\nlevel = \"raid1\"\n\
        [[workload]]\nsuite = \"devtest\"\n\
        tests = [\"random read 16384\", \"random write 16384\"]\ntime_per_test = \"100ms\"\n\
        ramp = \"0s\"\n[trials]\nblocks = 2\n",
        ceph.conf().display(),
        ceph.folder().display(),
    );
    let folder = ceph.folder();
    fs::write(folder.join("plan.toml"), plan).expect("a plan");
    let raidloom = |arguments: &[&str]| {
        let mut command = Command::new(raidloom());
        command.arg("--quiet").args(arguments).current_dir(folder).output().expect("raidloom")
    };
    let output = raidloom(&["run", "plan.toml", "--output", "run"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = fs::read_to_string(folder.join("run/report.md")).expect("a report");
    let survives = report.split("## What each survives").nth(1).expect(&report);
    let row = |words: &[&str]| {
        let is_it = |line: &&str| words.iter().all(|word| line.contains(word));
        assert_eq!(survives.lines().filter(is_it).count(), 1, "{words:?}: {report}");
    };
    let alone = "stops; the data are on its members | this machine alone";
    row(&["the loss of 1 member | all members are in the machine", alone]);
    row(&["no member's loss | all members are in the machine", alone]);
    row(&[
        "goes on without 1, keeps its data without 1 of 2 copies",
        "not certain: copies are on different OSDs",
        "goes on: any machine can open the image | many machines",
    ]);
    // An image that is not there is found before anything is measured.
    let wrong = fs::read_to_string(folder.join("plan.toml")).expect("the plan");
    fs::write(folder.join("wrong.toml"), wrong.replace("/plan\"", "/none\"")).expect("a plan");
    let output = raidloom(&["run", "plan", "wrong.toml"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("the pool pool has no image none"), "{said}");
    until_gone(ceph);
}

/// "An array over two images, an OSD is killed, and it goes on."
fn an_array_over_images_goes_on_without_an_osd(ceph: &mut Ceph) {
    let (a, b) = (ceph.image("a", 8), ceph.image("b", 8));
    let array = device(&format!("raid0(chunk=64KiB, {a}, {b})"));
    let data = noise(SEED + 1, 8 * MIB);
    let (before, after) = data.split_at(4 * MIB);
    let mut channel = blocking(&*array);
    channel.write_slice(0, before).expect("a write");
    channel.flush().expect("a flush");
    ceph.kill_osd(1);
    channel.write_slice(before.len() as u64, after).expect("a write with one OSD");
    channel.flush().expect("a flush with one OSD");
    assert!(read(&*array, data.len()) == data);
}
