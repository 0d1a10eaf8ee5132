//! `array start`: the server of a stack, in the background or here.
//!
//! ```text
//!   array start ── what is to be served ──────────> array serve (a session of its own)
//!               <─ one line: ready, or why not ──   │
//!   ends                                            serves until it is told to stop
//! ```

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use block::Node;
use clap::{Args, ValueEnum};
use export::nbd;
use host::Ending;
pub(crate) use host::files::absolute;
use host::guard::{Consent, Guard};
use lab::configuration_start::{StartConfiguration, StartTarget};
use serve::{Attach, Launch, MountSettings, Runtime, ServeWith, Server, Settings, TlsSettings};
use words::Text;

use super::server_status;
use crate::catalogue::{self, statement};
use crate::consent::UseConsent;
use crate::failure::{Failure, this_program};
use crate::output::Output;

/// How a stack appears on this machine.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttachArgument {
    /// As a block device where there are loop devices, and as a file
    Yes,
    /// As a file only
    File,
    /// As a block device of the kernel's ublk driver (Linux 6.0), without a file
    Ublk,
}

/// `array start`.
#[derive(Args, Debug)]
pub(crate) struct StartArguments {
    /// A stack text, a configuration file (FILE.toml), or the name of one in /etc/raidloom
    /// (~/.config/raidloom)
    #[arg(value_name = "STACK|NAME|FILE.toml", required_unless_present = "from")]
    pub target: Option<String>,

    /// Start what a run measured: the configuration that STACK names by the first letters of its
    /// identity or by its values (level=raid5,chunk=64KiB), or the one that the run recommends. An
    /// array with superblocks is created first, and what its members hold is lost
    #[arg(long, value_name = "RUN")]
    pub from: Option<PathBuf>,

    /// With --from: the members in order, instead of the plan's own devices
    #[arg(long, num_args = 1.., value_name = "PATH", requires = "from")]
    pub member: Vec<PathBuf>,

    /// With --from: where a cache keeps its copies, instead of the file that the run had made
    #[arg(long, value_name = "PATH", requires = "from")]
    pub store: Option<PathBuf>,

    /// With --from: where to mount the configuration's file system, which is made first
    #[arg(long, value_name = "FOLDER", requires = "from")]
    pub mount: Option<PathBuf>,

    /// With --from: consent to erase the disk with this serial number (once for each)
    #[arg(long, value_name = "SERIAL", requires = "from", help_heading = "Consent")]
    pub erase: Vec<String>,

    /// With --from: consent to overwrite members that carry a signature
    #[arg(long, requires = "from", help_heading = "Consent")]
    pub erase_signature: bool,

    /// What it is called from now on [default: the configuration's name, or array0, array1, ...]
    #[arg(long)]
    pub name: Option<String>,

    /// Show it on this machine, as /dev/loopN over a file; =file for the file alone, =ublk for
    /// /dev/ublkbN without one
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true,
        default_missing_value = "yes")]
    pub attach: Option<AttachArgument>,

    /// Serve NBD clients here: PATH, HOST:PORT, :PORT, systemd, or unix for a socket in its folder
    /// (may be repeated)
    /// [default: unix, unless it is attached or served with --vhost-user]
    #[arg(long, value_name = "ADDR")]
    pub nbd: Vec<String>,

    /// Serve virtual machines on this socket, as a vhost-user-blk disk (QEMU, cloud-hypervisor)
    #[arg(long, value_name = "PATH")]
    pub vhost_user: Option<PathBuf>,

    /// When writes are durable: quick (as soon as the drive has them; a file system on it has to be
    /// mounted with `sync`, as `array mount` does) or performance (after a flush)
    /// [default: performance]
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<String>,

    /// Write down every request that clients make, in this new file (raidloom trace looks at it)
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Run a shell command with the path or address in the place of {}; serve until it ends
    #[arg(long, value_name = "CMD", conflicts_with = "foreground")]
    pub run: Option<String>,

    /// Serve in this process, until Ctrl-C or `array stop`; a wrong configuration ends it with exit
    /// code 78, so that a service manager does not try it again
    #[arg(long)]
    pub foreground: bool,

    /// Nothing is opened for writing, and writes are refused
    #[arg(long)]
    pub read_only: bool,

    /// Start also where something may be lost by it: a dirty array with a member missing
    #[arg(short, long)]
    pub force: bool,

    /// Make files that are not there; they stay
    #[arg(long, conflicts_with = "read_only")]
    pub create: bool,

    /// Their size, unless they name their own (?size=)
    #[arg(long, value_name = "SIZE", requires = "create", conflicts_with = "read_only")]
    pub size: Option<String>,

    /// How long a member of an array may take for an answer before it counts as failed; 0s is for
    /// ever [default: 30s]
    #[arg(long, value_name = "DURATION")]
    pub member_timeout: Option<String>,

    /// Let the kernel keep what it reads of the attached file in its page cache
    #[arg(long)]
    pub page_cache: bool,

    /// Threads that serve what is attached [default: by the number of processors]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,

    /// The NBD server's certificate, in PEM: TCP clients have to use TLS then
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// Its private key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Turn away NBD clients without a certificate from these roots
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_clients: Option<PathBuf>,

    /// Let other machines reach NBD over TCP without TLS: every machine on the network may read and
    /// write
    #[arg(long)]
    pub insecure: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: UseConsent,
}

/// The verb of the process in the background, which has no place in the help.
const SERVE: [&str; 2] = ["array", "serve"];

/// `EX_CONFIG` of `sysexits.h`: a service manager has to tell what will be wrong the next time too
/// from a device that has not come yet.
const WRONG_CONFIGURATION: u8 = 78;

/// Starts what was named and returns when it is ready, or serves it here until it is told to end.
pub(super) fn start(output: &Output, arguments: &StartArguments) -> Result<(), Failure> {
    let (settings, made) = settings(output, arguments).map_err(|error| match error.ending() {
        Ending::Usage if arguments.foreground && arguments.from.is_none() => {
            error.with_code(WRONG_CONFIGURATION)
        }
        _ => error,
    })?;
    let serve_with = serve_with()?;
    let runtime = &serve_with.runtime;
    runtime.clean_up().iter().for_each(|note| output.note(note));
    // An array that was made for what cannot be started is of no use.
    let undo = |_: &host::Error| made.iter().for_each(|guard| undo_made(output, guard));
    if arguments.foreground || arguments.run.is_some() {
        return serve_here(output, runtime, settings, arguments.run.as_deref(), &undo);
    }
    let launch = Launch { settings, fresh: None };
    let started = serve_with.launch(&launch, &[]).inspect_err(undo)?;
    let status = &started.status;
    status.notes.iter().for_each(|note| output.note(note));
    if output.json {
        output.document(status)
    } else {
        output.result(&server_status::summary(status))
    }
}

/// What was said in flags goes over what a configuration says. With it comes what made its array,
/// if that was made just now.
fn settings(
    output: &Output,
    arguments: &StartArguments,
) -> Result<(Settings, Option<Guard>), Failure> {
    let (mut settings, made) = match (&arguments.from, &arguments.target) {
        (Some(run), cell) => from_run(output, run, cell.as_deref(), arguments)?,
        (None, Some(target)) => (Settings::find(target)?, None),
        (None, None) => return Err(Failure::usage(catalogue::STACK_OR_RUN)),
    };
    let is_made = made.is_some();
    settings.name = arguments.name.clone().or(settings.name);
    settings.read_only |= arguments.read_only;
    settings.force |= arguments.force;
    settings.create |= arguments.create && !is_made;
    settings.insecure |= arguments.insecure;
    settings.page_cache |= arguments.page_cache;
    settings.size = arguments.size.clone().filter(|_| !is_made).or(settings.size);
    settings.member_timeout = arguments.member_timeout.clone().or(settings.member_timeout);
    settings.workers = arguments.workers.unwrap_or(settings.workers);
    settings.allow_device.extend(arguments.consent.allow_device.iter().cloned());
    settings.raw |= arguments.consent.raw;
    if let Some(policy) = &arguments.policy {
        settings.policy = policy
            .parse()
            .map_err(|wrong: Text| Failure::usage(Text::from("--policy ").and(wrong)))?;
    }
    settings.attach = match arguments.attach {
        Some(AttachArgument::Yes) => Attach::Yes,
        Some(AttachArgument::File) => Attach::File,
        Some(AttachArgument::Ublk) => Attach::Ublk,
        None => settings.attach,
    };
    if !arguments.nbd.is_empty() {
        settings.nbd.clone_from(&arguments.nbd);
    }
    if let Some(socket) = &arguments.vhost_user {
        settings.vhost_user = Some(absolute(socket)?);
    }
    if let (Some(certificate), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) {
        let clients = arguments.tls_clients.as_deref().map(absolute).transpose()?;
        settings.tls =
            Some(TlsSettings { certificate: absolute(certificate)?, key: absolute(key)?, clients });
    }
    let exported = !settings.nbd.is_empty() || settings.vhost_user.is_some();
    if arguments.run.is_some() && settings.attach == Attach::No && !exported {
        settings.attach = Attach::Yes;
    }
    settings.check_nbd()?;
    fits(&settings, arguments)?;
    if let Some(file) = &arguments.record {
        let stack = stack::parse(&settings.stack).map_err(block::Error::from)?;
        let file = Node::file(&absolute(file)?);
        settings.stack = Node::layer("record", vec![file, stack]).to_string();
    }
    Ok((settings, made))
}

/// Refuses what was said of something that is not there: flags only, for a configuration is also
/// started with other flags than it was written for.
fn fits(settings: &Settings, arguments: &StartArguments) -> Result<(), Failure> {
    let over_tcp = settings.nbd.iter().any(|address| {
        let address = address.parse::<nbd::Address>();
        matches!(address, Ok(nbd::Address::Tcp(_) | nbd::Address::Inherited))
    });
    let is_attached = settings.attach != Attach::No;
    // Where nothing is named, there is a socket.
    let has_nbd = !settings.nbd.is_empty() || !is_attached && settings.vhost_user.is_none();
    let has_array = || stack::parse(&settings.stack).is_ok_and(|node| holds_array(&node));
    let stray = [
        ("--page-cache", arguments.page_cache && !is_attached, catalogue::FOR_ATTACHED),
        (
            "--page-cache",
            arguments.page_cache && settings.attach == Attach::Ublk,
            catalogue::FOR_FILE_OF_ATTACH,
        ),
        ("--workers", arguments.workers.is_some() && !is_attached, catalogue::FOR_ATTACHED),
        ("--tls-cert", arguments.tls_cert.is_some() && !has_nbd, catalogue::FOR_NBD),
        ("--insecure", arguments.insecure && !over_tcp, catalogue::FOR_NBD_OVER_TCP),
        (
            "--member-timeout",
            arguments.member_timeout.is_some() && !has_array(),
            catalogue::NO_ARRAY_NO_MEMBER,
        ),
    ];
    match stray.into_iter().find(|(_, is_stray, _)| *is_stray) {
        Some((flag, _, why)) => Err(Failure::usage(why).at(flag)),
        None => Ok(()),
    }
}

/// Whether there is an array in a stack.
fn holds_array(node: &Node) -> bool {
    let Node::Layer { name, children, .. } = node else { return false };
    mdtools::level(name).is_some() || children.iter().any(holds_array)
}

/// What starts a configuration of a run, and what made its array, if it was made just now.
fn from_run(
    output: &Output,
    run: &Path,
    cell: Option<&str>,
    arguments: &StartArguments,
) -> Result<(Settings, Option<Guard>), Failure> {
    let run = lab::read(run)?;
    let configuration = lab::configuration_start::choose(&run, cell)?;
    let size = arguments.size.as_deref().map(|text| output.size("--size", text)).transpose()?;
    let ground = StartTarget {
        members: arguments.member.clone(),
        store: arguments.store.clone(),
        create_bytes: size.filter(|_| arguments.create),
        mount: arguments.mount.as_deref().map(absolute).transpose()?,
    };
    let StartConfiguration { mut settings, create } =
        lab::configuration_start::alone(configuration, &ground)?;
    // What is there is given up only for what can be mounted then.
    settings.mount.as_ref().map_or(Ok(()), MountSettings::check)?;
    let guard = Guard::new(Consent {
        erase_serials: arguments.erase.clone(),
        erase_signature: arguments.erase_signature,
        devices: arguments.consent.allow_device.clone(),
        raw: arguments.consent.raw,
        ..Consent::default()
    });
    match create {
        Some(wanted) => _ = mdtools::create(&guard, &wanted, &AtomicBool::new(false))?,
        // Its file system is made anew, of whatever the stack holds.
        None if settings.mount.is_some() => {
            settings.create |= arguments.create;
            settings.size = arguments.size.clone().or(settings.size);
            serve::erase(&settings, &guard).inspect_err(|_| undo_made(output, &guard))?;
            settings.create = false;
            settings.size = None;
        }
        None => {
            let erase = arguments.erase.first().map(|serial| format!("--erase {serial}"));
            let signature = arguments.erase_signature.then(|| "--erase-signature".to_owned());
            return match erase.or(signature) {
                Some(flag) => Err(Failure::usage(catalogue::NOTHING_MADE_ANEW).at(flag)),
                None => Ok((settings, None)),
            };
        }
    }
    // The server opens them itself.
    guard.let_go();
    Ok((settings, Some(guard)))
}

fn undo_made(output: &Output, guard: &Guard) {
    for problem in guard.undo_made() {
        output.note(&problem);
    }
}

/// The verb behind `array start` and behind cells with file systems: what is to be served comes in
/// on standard input.
pub(super) fn serve(log: Option<&Path>) -> Result<(), Failure> {
    serve::serve(log, &signals()?)
}

/// How this program starts servers.
pub(crate) fn serve_with() -> Result<ServeWith, Failure> {
    let program = this_program()?;
    let arguments = SERVE.map(str::to_owned).to_vec();
    Ok(ServeWith { program, arguments, runtime: Runtime::find()? })
}

fn open(
    runtime: &Runtime,
    settings: Settings,
    signals: &UnixStream,
) -> Result<Arc<Server>, host::Error> {
    let name = settings.name.clone().unwrap_or_else(|| runtime.free_name());
    let claim = runtime.claim_to_serve(&name, settings.lasting_content().as_deref())?;
    Server::start(claim, settings, &|| serve::is_quiet(&[signals.as_fd()]))
}

/// Something to be read from it for each signal to end.
fn signals() -> Result<UnixStream, Failure> {
    let failed = |error: io::Error| Failure::from_io(catalogue::FOR_SIGNALS, &error);
    crate::signals::outlive_stray().map_err(failed)?;
    let (reader, writer) = UnixStream::pair().map_err(failed)?;
    for signal in crate::signals::to_end() {
        signal_hook::low_level::pipe::register(signal, writer.try_clone().map_err(failed)?)
            .map_err(failed)?;
    }
    reader.set_nonblocking(true).map_err(failed)?;
    Ok(reader)
}

fn serve_here(
    output: &Output,
    runtime: &Runtime,
    settings: Settings,
    command: Option<&str>,
    undo: &dyn Fn(&host::Error),
) -> Result<(), Failure> {
    let signals = signals()?;
    let server = open(runtime, settings, &signals).inspect_err(undo)?;
    let status = server.status();
    status.notes.iter().for_each(|note| output.note(note));
    let Some(command) = command else {
        if output.json {
            output.document(&status)?;
        } else {
            output.result(&server_status::summary(&status))?;
        }
        return serve::serve_until_end(&server, &signals);
    };
    output.progress(&server_status::summary(&status));
    let (served_sender, until_served) = mpsc::channel();
    let ended = run_command(&server, command, until_served)?;
    let served = serve::serve_until_end(&server, &signals);
    drop(served_sender);
    let waiting = catalogue::WAITING_FOR_COMMAND;
    let ended = ended.join().map_err(|_| Failure::failed(waiting))?;
    let ended = ended.map_err(|error| Failure::from_io(waiting, &error))?;
    served?;
    match ended.code().unwrap_or_else(|| 128 + ended.signal().unwrap_or(0)) {
        0 => Ok(()),
        code => {
            let ended = ended.to_string();
            let said = statement!(COMMAND_ENDED, command = command, status = ended);
            Err(Failure::failed(said).with_code(u8::try_from(code).unwrap_or(1)))
        }
    }
}

/// How often a server is told that the command has ended while something still has the drive open.
const AGAIN: Duration = Duration::from_secs(1);

/// Runs a shell command with `{}` for the path or address; its end ends the server, as a signal
/// does. What the command has started may use the drive a little longer, so the signal is repeated
/// until the other end of `served` is gone.
fn run_command(
    server: &Server,
    command: &str,
    served: Receiver<()>,
) -> Result<JoinHandle<io::Result<ExitStatus>>, Failure> {
    let command = command.replace("{}", &escape::shell(&server.address()));
    let failed = |error: io::Error| {
        Failure::from_io(statement!(RUNNING_COMMAND, command = &command), &error)
    };
    let mut child: Child = Command::new("sh").arg("-c").arg(&command).spawn().map_err(failed)?;
    let wait = move || {
        let ended = child.wait();
        loop {
            // The way that a signal takes, but for the first words of the service manager.
            let _ = signal_hook::low_level::raise(signal_hook::consts::SIGTERM);
            if served.recv_timeout(AGAIN) == Err(RecvTimeoutError::Disconnected) {
                return ended;
            }
        }
    };
    std::thread::Builder::new().name("run".to_owned()).spawn(wait).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_addresses_as_they_are() {
        for text in
            ["/dev/loop0", "/run/it's here/disk", "nbd+unix:///a?socket=/run/a b", "$HOME `id`"]
        {
            let output = Command::new("sh")
                .arg("-c")
                .arg(format!("printf %s {}", escape::shell(text)))
                .output()
                .expect("a shell");
            assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
    }
}
