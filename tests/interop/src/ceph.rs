//! A small Ceph cluster on this machine: Debian's monitor and two OSDs that keep their objects in
//! memory, on loopback, in a folder of their own. It ends with this value, and with this process.
//!
//! ```text
//!   ceph-mon a ──┬── ceph-osd 0     one pool, two copies of each object, on both OSDs;
//!                └── ceph-osd 1     with one of them it goes on (min_size 1)
//! ```

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Programs that it takes, and Debian's packages for them.
const PROGRAMS: &[&str] =
    &["ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool", "rbd", "qemu-nbd"];
const PACKAGES: &str = "ceph-mon ceph-osd ceph-common qemu-utils qemu-block-extra";
/// Each program has so long, in seconds.
const PATIENCE_SECONDS: &str = "60";
const FSID: &str = "7ae8f1a1-0000-4000-8000-000000000001";
/// The pool that there is.
pub const POOL: &str = "pool";

/// A cluster that runs.
pub struct Ceph {
    folder: tempfile::TempDir,
    monitor: Child,
    osds: Vec<Child>,
}

impl Ceph {
    /// Starts one with a pool, and returns when its OSDs are up; `None` where Ceph is missing.
    ///
    /// # Panics
    /// When it does not come up.
    #[must_use]
    pub fn start() -> Option<Ceph> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there =
            |name: &&&str| std::env::split_paths(&path).any(|folder| folder.join(name).exists());
        if let Some(missing) = PROGRAMS.iter().find(|name| !is_there(name)) {
            testkit::missing!("{missing} is not there: apt-get install {PACKAGES}");
            return None;
        }
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.expect("a folder for Ceph");
        for name in ["mon", "osd0", "osd1"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = port.expect("a port").port();
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::write(at("ceph.conf"), conf(folder.path(), port)).expect("a configuration");
        let keys = at("keyring");
        tool(
            "ceph-authtool",
            &["--create-keyring", &keys, "--gen-key", "-n", "mon."],
            &["mon", "allow *"],
        );
        tool(
            "ceph-authtool",
            &[&keys, "--gen-key", "-n", "client.admin"],
            &["mon", "allow *", "osd", "allow *"],
        );
        for name in ["osd.0", "osd.1"] {
            tool(
                "ceph-authtool",
                &[&keys, "--gen-key", "-n", name],
                &["mon", "allow profile osd", "osd", "allow *"],
            );
        }
        let place = format!("[v2:127.0.0.1:{port}]");
        let map = at("monmap");
        tool("monmaptool", &["--create", "--fsid", FSID, "--addv", "a", &place, &map], &[]);
        let conf = at("ceph.conf");
        let make = ["-c", &conf, "-i", "a", "--mkfs", "--monmap", &map, "--keyring", &keys];
        tool("ceph-mon", &make, &[]);
        let monitor = daemon(folder.path(), "ceph-mon", "a");
        let mut ceph = Ceph { folder, monitor, osds: Vec::new() };
        for number in ["0", "1"] {
            let id = format!("11111111-0000-4000-8000-00000000000{number}");
            ceph.ceph(&["osd", "new", &id]);
            tool("ceph-osd", &["-c", &conf, "-i", number, "--mkfs", "--osd-uuid", &id], &[]);
            ceph.osds.push(daemon(ceph.folder.path(), "ceph-osd", number));
        }
        ceph.until_up(2);
        ceph.ceph(&["osd", "pool", "create", POOL, "8", "8"]);
        Some(ceph)
    }

    /// Its configuration, for clients.
    #[must_use]
    pub fn conf(&self) -> PathBuf {
        self.folder.path().join("ceph.conf")
    }

    /// A folder for whatever else a test needs, which goes with the cluster.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes an image of so many MiB and returns the leaf of a stack that it is.
    #[must_use]
    pub fn image(&self, name: &str, size_mib: u32) -> String {
        let (size, conf) = (format!("{size_mib}M"), self.conf().display().to_string());
        let image = format!("{POOL}/{name}");
        tool("rbd", &["-c", &conf, "create", &image, "--size", &size], &[]);
        self.leaf(&image, "")
    }

    /// Makes an image of what a file holds and returns the leaf of a stack that it is.
    #[must_use]
    pub fn import(&self, file: &Path, name: &str) -> String {
        let (file, conf) = (file.display().to_string(), self.conf().display().to_string());
        let image = format!("{POOL}/{name}");
        tool("rbd", &["-c", &conf, "--no-progress", "import", &file, &image], &[]);
        self.leaf(&image, "")
    }

    /// The leaf of an image, with more options.
    #[must_use]
    pub fn leaf(&self, image: &str, options: &str) -> String {
        format!("rbd:{image}?conf={}{options}", self.conf().display())
    }

    /// A copy of its configuration with a line changed: `keyring = …`.
    #[must_use]
    pub fn changed_conf(&self, name: &str, key: &str, value: &str) -> PathBuf {
        let text = fs::read_to_string(self.conf()).expect("its configuration");
        let line = |line: &str| match line.split(" = ").next() {
            Some(found) if found == key => format!("{key} = {value}\n"),
            _ => format!("{line}\n"),
        };
        let path = self.folder.path().join(name);
        fs::write(&path, text.lines().map(line).collect::<String>()).expect("a configuration");
        path
    }

    /// What `ceph` says.
    #[must_use = "what it says"]
    pub fn said(&self, arguments: &[&str]) -> String {
        let conf = self.conf().display().to_string();
        tool("ceph", &["-c", &conf], arguments)
    }

    fn ceph(&self, arguments: &[&str]) {
        let _ = self.said(arguments);
    }

    /// Kills an OSD, and returns when the cluster has found out.
    ///
    /// # Panics
    /// When it does not.
    pub fn kill_osd(&mut self, number: usize) {
        end(&mut self.osds[number]);
        self.until_up(1);
    }

    /// Looks again and again; each look takes the time of a process.
    fn until_up(&self, count: u32) {
        let wanted = format!("\"num_up_osds\":{count},");
        for _ in 0..400 {
            if self.said(&["osd", "stat", "--format", "json"]).contains(&wanted) {
                return;
            }
        }
        let logs = ["ceph-mon-a.out", "ceph-osd-0.out", "ceph-osd-1.out"]
            .map(|name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default());
        panic!("{count} OSDs are not up: {}", logs.concat());
    }
}

impl Drop for Ceph {
    fn drop(&mut self) {
        self.osds.iter_mut().for_each(end);
        end(&mut self.monitor);
    }
}

/// There is nothing to be kept.
fn end(daemon: &mut Child) {
    let _ = daemon.kill();
    let _ = daemon.wait();
}

/// A daemon, which ends with the thread that has started it; what it says goes to `NAME-ID.out`.
fn daemon(folder: &Path, name: &str, id: &str) -> Child {
    let out = fs::File::create(folder.join(format!("{name}-{id}.out"))).expect("a file");
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", name, "-f", "-i", id, "-c"])
        .arg(folder.join("ceph.conf"))
        .stdin(Stdio::null())
        .stdout(out.try_clone().expect("a file"))
        .stderr(out)
        .spawn()
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn tool(program: &str, arguments: &[&str], more: &[&str]) -> String {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", PATIENCE_SECONDS, program]).args(arguments);
    match program {
        // What a key permits comes in pairs.
        "ceph-authtool" => more.chunks(2).for_each(|pair| {
            command.arg("--cap").args(pair);
        }),
        _ => {
            command.args(more);
        }
    }
    let output = command.stdin(Stdio::null()).output();
    let Output { status, stdout, stderr } =
        output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {status}: {stderr}");
    String::from_utf8_lossy(&stdout).into_owned()
}

fn conf(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "[global]\n\
        fsid = {FSID}\n\
        mon_host = v2:127.0.0.1:{port}\n\
        mon_initial_members = a\n\
        public_network = 127.0.0.0/8\n\
        ms_bind_msgr1 = false\n\
        auth_cluster_required = cephx\n\
        auth_service_required = cephx\n\
        auth_client_required = cephx\n\
        keyring = {folder}/keyring\n\
        run_dir = {folder}\n\
        crash_dir = {folder}\n\
        admin_socket =\n\
        log_to_file = false\n\
        log_to_stderr = true\n\
        mon_cluster_log_to_file = false\n\
        mon_data = {folder}/mon\n\
        mon_data_avail_crit = 1\n\
        mon_data_avail_warn = 1\n\
        mon_osd_min_down_reporters = 1\n\
        mon_osd_reporter_subtree_level = osd\n\
        osd_data = {folder}/osd$id\n\
        osd_objectstore = memstore\n\
        memstore_device_bytes = 536870912\n\
        osd_memory_target = 939524096\n\
        osd_crush_initial_weight = 1\n\
        osd_crush_chooseleaf_type = 0\n\
        osd_heartbeat_interval = 1\n\
        osd_heartbeat_grace = 5\n\
        osd_op_num_shards = 1\n\
        osd_pool_default_size = 2\n\
        osd_pool_default_min_size = 1\n\
        osd_pool_default_pg_autoscale_mode = off\n"
    )
}
