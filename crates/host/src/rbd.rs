//! Images of Ceph clusters: a `qemu-nbd` of our own serves each to this process, and ends with it.
//!
//! ```text
//!   this process ── a socket without a name ──> qemu-nbd ── librbd ──> the cluster
//!        └── a pipe, which ends when this process does ──> a shell that ends qemu-nbd then
//! ```
//!
//! The socket is made in a folder that no other user may enter, and its name removed before the
//! server listens: nobody else can connect, and nothing is left behind. Ceph's libraries run in
//! the other process alone.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use block::{Error, ErrorKind};
use export::tool;
use results::Survival;
use rustix::fs::{Mode, OFlags};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stack::{ImageServer, RbdImage};
use tracing::debug;
use words::{Message, Text, statement};

use crate::catalogue;
use crate::system;

const SERVER: &str = "qemu-nbd";
/// Of Debian, for what is missing.
const SERVER_PACKAGE: &str = "qemu-utils";
const DRIVER_PACKAGE: &str = "qemu-block-extra";

/// Input 0 is the socket that listens, 1 a pipe that ends when raidloom has no more use for the
/// server, or is gone itself, however it went. The server takes the socket as systemd would hand it
/// over. It has 10 seconds to close the image, which a cluster that is gone may prevent.
const GUARDIAN: &str = r#"
exec 3<&0 4<&1 </dev/null >/dev/null
timeout --kill-after=10 0 \
    sh -c 'LISTEN_PID=$$ LISTEN_FDS=1 exec qemu-nbd "$@" 4<&-' qemu-nbd "$@" &
exec 3<&- 2>/dev/null
read -r _ <&4
kill -TERM $!
wait
"#;

/// What the server says last is kept, in so many lines.
const LINES_KEPT: usize = 20;

/// Serves an image to this process, until what comes back is dropped.
///
/// # Errors
/// [`ErrorKind::NotFound`] where a program, its driver, the pool, the image or the configuration is
/// not there; [`ErrorKind::Permission`] where the cluster does not take the user;
/// [`ErrorKind::TimedOut`] where it does not answer; [`ErrorKind::Busy`] for an image that is to be
/// written to and is in use; or what the system says.
pub fn serve(image: &RbdImage) -> Result<ImageServer, Error> {
    if system::program(SERVER).is_none() {
        let text = statement!(
            catalogue::RBD_SERVER_MISSING,
            image = image.to_string(),
            server = SERVER,
            server_package = SERVER_PACKAGE,
            driver_package = DRIVER_PACKAGE
        );
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    let note = if image.read_only { None } else { refuse_used(image)? };
    let system = |what: Text, error: io::Error| Error::from_io(what, error).at(image.to_string());
    let (listener, name) = socket().map_err(|error| system(catalogue::RBD_SOCKET.into(), error))?;
    let server = Server::start(image, listener)
        .map_err(|error| system(statement!(catalogue::RBD_STARTING, server = SERVER), error))?;
    let socket = PathBuf::from(format!("/proc/self/fd/{}", name.as_raw_fd()));
    match greeting(&socket, image.connect_time) {
        Ok(()) => (),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
        {
            return Err(no_answer(image));
        }
        Err(_) => {
            let said = server.end();
            return Err(refusal(image, &said));
        }
    }
    debug!(%image, "serves");
    let notes = note.into_iter().collect();
    Ok(ImageServer { socket, server: Box::new((server, name)), notes })
}

/// Whether images can be served here: the version of the program that does.
///
/// # Errors
/// What is missing, and how to install it.
pub fn available() -> Result<Text, Text> {
    let Some(path) = system::program(SERVER) else {
        return Err(statement!(catalogue::RBD_NO_SERVER, server = SERVER));
    };
    // Without the driver it does not come to the configuration, which nobody has.
    let image = json!({ "driver": "rbd", "pool": "-", "image": "-", "conf": "/dev/null/none" });
    let output = tool::command("qemu-img")
        .args(["info", &format!("json:{image}")])
        .output()
        .map_err(|error| block::io_text(&error).at("qemu-img"))?;
    match String::from_utf8_lossy(&output.stderr).contains("/dev/null/none: ") {
        true => Ok(statement!(catalogue::RBD_WITH_DRIVER, path = path.display())),
        false => Err(statement!(catalogue::RBD_NO_DRIVER_IN, path = path.display())),
    }
}

/// What is to be installed where [`available`] is not.
#[must_use]
pub fn remedy() -> String {
    format!("apt-get install {SERVER_PACKAGE} {DRIVER_PACKAGE}")
}

/// A socket that listens and a handle by which to connect to it. It has no name any more.
fn socket() -> io::Result<(UnixListener, OwnedFd)> {
    let folder = tempfile::Builder::new()
        .prefix("raidloom-rbd-")
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir()?;
    // A socket's path is at most 107 bytes, which this folder's may be longer than.
    let handle = File::open(folder.path())?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/socket", handle.as_raw_fd()));
    let listener = UnixListener::bind(&path)?;
    let name = rustix::fs::open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    fs::remove_file(&path)?;
    folder.close()?;
    Ok((listener, name))
}

/// Waits for the first words of the server, which come when it has opened the image.
fn greeting(socket: &Path, time: Duration) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    // Zero would be no limit.
    stream.set_read_timeout(Some(time.max(Duration::from_millis(1))))?;
    stream.read_exact(&mut [0; 8])
}

/// A server that runs. It ends with this.
struct Server {
    guardian: Child,
    /// Closed, it has the guardian end the server.
    pipe: Option<PipeWriter>,
    said: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Server {
    fn start(image: &RbdImage, listener: UnixListener) -> io::Result<Server> {
        let (ends, pipe) = io::pipe()?;
        let mut command = Command::new("sh");
        command.args(["-c", GUARDIAN, "raidloom-rbd"]).args(arguments(image));
        // Not in our group: what is typed at a terminal is for us, who have data to flush first.
        command.process_group(0);
        command.stdin(OwnedFd::from(listener)).stdout(OwnedFd::from(ends)).stderr(Stdio::piped());
        debug!(?command, "run");
        let mut guardian = command.spawn()?;
        // With our ends of the socket and the pipe.
        drop(command);
        let said = Arc::default();
        let reader = guardian.stderr.take().map(|from| {
            let (said, image) = (Arc::clone(&said), image.to_string());
            thread::spawn(move || listen(from, &image, &said))
        });
        Ok(Server { guardian, pipe: Some(pipe), said, reader })
    }

    /// Ends it and returns what it said last.
    fn end(mut self) -> Vec<String> {
        self.stop();
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn stop(&mut self) {
        self.pipe = None;
        let _ = self.guardian.wait();
        let _ = self.reader.take().map(JoinHandle::join);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn listen(from: impl Read, image: &str, said: &Mutex<Vec<String>>) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        debug!(image, line, "says");
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() == LINES_KEPT {
            said.remove(0);
        }
        said.push(line);
    }
}

/// How the server is started.
fn arguments(image: &RbdImage) -> Vec<String> {
    let mut place = json!({ "driver": "rbd", "pool": image.pool, "image": image.image });
    let conf = image.conf.as_ref().map(|path| path.to_string_lossy().into_owned());
    let options = [
        ("namespace", image.namespace.clone()),
        ("snapshot", image.snapshot.clone()),
        ("conf", conf),
        ("user", image.id.clone()),
    ];
    for (name, value) in options {
        if let Some(value) = value {
            place[name] = Value::from(value);
        }
    }
    // Flushes and FUA reach the cluster; what was not flushed may lie in the server's memory.
    let mut arguments: Vec<String> =
        ["--persistent", "--shared=0", "--export-name=", "--cache=writeback", "--discard=unmap"]
            .map(str::to_owned)
            .into();
    if image.read_only {
        arguments.push("--read-only".to_owned());
    }
    arguments.push(format!("json:{}", json!({ "driver": "raw", "file": place })));
    arguments
}

fn no_answer(image: &RbdImage) -> Error {
    let conf: Text = match &image.conf {
        Some(path) => path.display().into(),
        None => catalogue::RBD_CONFIGURATION.into(),
    };
    let text = statement!(
        catalogue::RBD_NO_ANSWER,
        image = image.to_string(),
        time = format!("{:?}", image.connect_time),
        conf = conf
    );
    Error::new(ErrorKind::TimedOut, text)
}

/// What the server's last words mean.
fn refusal(image: &RbdImage, said: &[String]) -> Error {
    let RbdImage { pool, image: name, .. } = image;
    let user = image.id.as_deref().unwrap_or("admin");
    let last = said.iter().rev().map(|line| line.trim()).find(|line| !line.is_empty());
    // Behind what was asked for, which stands in quotes.
    let reason = last.map(|line| line.rsplit_once("}': ").map_or(line, |(_, reason)| reason));
    let heard = |words: &str| said.iter().any(|line| line.contains(words));
    let not_there = "No such file or directory";
    let (kind, text) = match reason {
        None => (ErrorKind::Other, statement!(catalogue::RBD_SAID_NOTHING, server = SERVER)),
        Some(_) if heard("Unknown driver 'rbd'") => (
            ErrorKind::NotFound,
            statement!(catalogue::RBD_NO_DRIVER, driver_package = DRIVER_PACKAGE),
        ),
        Some(reason) if reason.starts_with("error opening pool") && reason.ends_with(not_there) => {
            (ErrorKind::NotFound, statement!(catalogue::RBD_NO_POOL, pool = pool))
        }
        Some(_) if heard("failed to find snapshot") => (
            ErrorKind::NotFound,
            statement!(
                catalogue::RBD_NO_SNAPSHOT,
                snapshot = image.snapshot.as_deref().unwrap_or_default()
            ),
        ),
        Some(reason)
            if reason.starts_with("error reading header") && reason.ends_with(not_there) =>
        {
            (ErrorKind::NotFound, statement!(catalogue::RBD_NO_IMAGE, pool = pool, name = name))
        }
        Some(reason) if reason.starts_with("error connecting: Permission denied") => {
            (ErrorKind::Permission, statement!(catalogue::RBD_KEY_REFUSED, user = user))
        }
        Some(_) if heard("unable to find a keyring") || heard("no keyring found") => {
            (ErrorKind::NotFound, statement!(catalogue::RBD_NO_KEYRING, user = user))
        }
        Some(_) if heard("unable to get monitor info") => {
            (ErrorKind::NotFound, catalogue::RBD_NO_MONITOR.into())
        }
        Some(reason) => (ErrorKind::Other, Text::from(reason).at(SERVER)),
    };
    Error::new(kind, text.at(image.to_string()))
}

/// What the pool with an image's data survives: copies, how few let it go on, and how they are kept
/// apart. `None` where Ceph's programs are not there to ask.
///
/// # Errors
/// [`ErrorKind::TimedOut`] where the cluster does not answer, or what its program says.
pub fn survival(image: &RbdImage) -> Result<Option<Survival>, Error> {
    if system::program("ceph").is_none() || system::program("rbd").is_none() {
        return Ok(None);
    }
    let mut arguments = vec!["rbd", "info", "--pool", &image.pool, "--image", &image.image];
    arguments.extend(image.namespace.iter().flat_map(|name| ["--namespace", name]));
    // The server says why there is none, in better words.
    let Ok(info) = answer::<ImageInfo>(image, &arguments) else { return Ok(None) };
    let data_pool = info.data_pool.as_ref().unwrap_or(&image.pool);
    let pools: Vec<Pool> = answer(image, &["ceph", "osd", "pool", "ls", "detail"])?;
    let Some(pool) = pools.iter().find(|pool| pool.pool_name == *data_pool) else {
        return Ok(None);
    };
    let profile = pool.erasure_code_profile.as_str();
    let needed = match profile {
        "" => 1,
        _ => {
            let get = ["ceph", "osd", "erasure-code-profile", "get", profile];
            let profile: Profile = answer(image, &get)?;
            let wrong = || Error::new(ErrorKind::Other, format!("{image}: k={}", profile.k));
            profile.k.parse().map_err(|_| wrong())?
        }
    };
    let rules: Vec<Rule> = answer(image, &["ceph", "osd", "crush", "rule", "dump"])?;
    let rule = rules.iter().find(|rule| rule.rule_id == pool.crush_rule);
    // The last step that chooses says into how many places of which kind.
    let kinds = rule.iter().flat_map(|rule| &rule.steps);
    let mut kinds =
        kinds.filter(|step| step.op.starts_with("choose")).filter_map(|step| step.kind());
    let (size, min_size, apart) = (pool.size, pool.min_size, kinds.next_back().map(str::to_owned));
    Ok(Some(Survival::Pool { size, min_size, needed, apart }))
}

/// What `rbd info --format json` says.
#[derive(Deserialize)]
struct ImageInfo {
    /// Where its data are, if not beside its name.
    data_pool: Option<String>,
}

/// What `ceph osd pool ls detail --format json` says of each pool.
#[derive(Deserialize)]
struct Pool {
    pool_name: String,
    size: u32,
    min_size: u32,
    crush_rule: u32,
    /// Empty where it keeps copies.
    #[serde(default)]
    erasure_code_profile: String,
}

/// What `ceph osd erasure-code-profile get NAME --format json` says.
#[derive(Deserialize)]
struct Profile {
    k: String,
}

/// What `ceph osd crush rule dump --format json` says of each rule.
#[derive(Deserialize)]
struct Rule {
    rule_id: u32,
    steps: Vec<RuleStep>,
}

#[derive(Deserialize)]
struct RuleStep {
    op: String,
    #[serde(default, rename = "type")]
    kind: Option<Value>,
}

impl RuleStep {
    fn kind(&self) -> Option<&str> {
        self.kind.as_ref().and_then(Value::as_str)
    }
}

/// What one of Ceph's programs says, as far as we ask.
///
/// # Errors
/// As [`ask`], and what the program says where it is no answer.
fn answer<T: DeserializeOwned>(image: &RbdImage, arguments: &[&str]) -> Result<T, Error> {
    let output = ask(image, arguments)?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().next_back().map(Text::from);
        let said = last.unwrap_or_else(|| catalogue::RBD_NOT_UNDERSTOOD.into());
        Error::new(ErrorKind::Other, said.at(arguments.join(" ")).at(image.to_string()))
    })
}

/// Runs one of Ceph's programs, which answers in JSON.
///
/// # Errors
/// [`ErrorKind::TimedOut`] where the cluster does not answer.
fn ask(image: &RbdImage, arguments: &[&str]) -> Result<Output, Error> {
    let mut command = Command::new("timeout");
    command.arg(image.connect_time.as_secs_f64().max(0.001).to_string()).args(arguments);
    command.args(["--format", "json"]);
    command.args(image.id.iter().flat_map(|id| ["--id", id]));
    if let Some(conf) = &image.conf {
        command.arg("--conf").arg(conf);
    }
    debug!(?command, "run");
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::from_io(format!("{image}: {}", arguments[0]), error))?;
    // As timeout(1) has it.
    if output.status.code() == Some(124) {
        return Err(no_answer(image));
    }
    Ok(output)
}

/// What `rbd status --format json` says.
#[derive(Deserialize)]
struct Status {
    watchers: Vec<Watcher>,
}

#[derive(Deserialize)]
struct Watcher {
    address: String,
}

/// Refuses an image that a client has open for writing; a note where that cannot be found out.
fn refuse_used(image: &RbdImage) -> Result<Option<Text>, Error> {
    let unknown = |why: Message| {
        let image = image.to_string();
        Ok(Some(statement!(catalogue::RBD_USERS_UNKNOWN, image = image, why = why)))
    };
    if system::program("rbd").is_none() {
        return unknown(catalogue::RBD_TOOL_MISSING);
    }
    let mut arguments = vec!["rbd", "status", "--pool", &image.pool, "--image", &image.image];
    arguments.extend(image.namespace.iter().flat_map(|name| ["--namespace", name]));
    let output = ask(image, &arguments)?;
    if !output.status.success() {
        // The server says why.
        debug!(said = %String::from_utf8_lossy(&output.stderr), "rbd status failed");
        return Ok(None);
    }
    let Ok(status) = serde_json::from_slice::<Status>(&output.stdout) else {
        return unknown(catalogue::RBD_STATUS_UNKNOWN);
    };
    if status.watchers.is_empty() {
        return Ok(None);
    }
    let users: Vec<String> = status.watchers.into_iter().map(|watcher| watcher.address).collect();
    let text =
        statement!(catalogue::RBD_IN_USE, image = image.to_string(), users = users.join(", "));
    Err(Error::new(ErrorKind::Busy, text))
}
