//! `array start`: the server of a stack, in the background or here.
//!
//! ```text
//!   array start ── settings, one JSON document ──> array serve (a session of its own)
//!               <─ one line: ready, or why not ──   │
//!   ends                                            serves until it is told to stop
//! ```

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use host::guard::{Consent, Guard};
use lab::alone::{Alone, Ground};
use serde_json::json;
use serve::{Answer, Attach, Refusal, Runtime, Server, Settings, Status, TlsSettings};

use super::arguments::{AttachArgument, StartArguments};
use super::server_status;
use crate::failure::Failure;
use crate::output::Output;

/// The verb of the process in the background, which nobody else has to know.
const SERVE: [&str; 2] = ["array", "serve"];

/// Starts what was named and returns when it is ready, or serves it here until it is told to end.
pub(super) fn start(output: &Output, arguments: &StartArguments) -> Result<(), Failure> {
    let settings = settings(output, arguments)?;
    let runtime = Runtime::find()?;
    runtime.clean_up().iter().for_each(|note| output.note(note));
    if arguments.foreground || arguments.run.is_some() {
        return serve_here(output, &runtime, settings, arguments.run.as_deref());
    }
    let status = in_background(&runtime, &settings)?;
    status.notes.iter().for_each(|note| output.note(note));
    if output.json {
        output.document(&status)
    } else {
        output.result(&server_status::summary(&status))
    }
}

/// What was said in flags goes over what a configuration says.
fn settings(output: &Output, arguments: &StartArguments) -> Result<Settings, Failure> {
    let (mut settings, is_made) = match (&arguments.from, &arguments.target) {
        (Some(run), cell) => from_run(output, run, cell.as_deref(), arguments)?,
        (None, Some(target)) => (Settings::find(target)?, false),
        (None, None) => return Err(Failure::usage("name a stack, or a run with --from")),
    };
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
        settings.policy =
            policy.parse().map_err(|error| Failure::usage(format!("--policy {error}")))?;
    }
    settings.attach = match arguments.attach {
        Some(AttachArgument::Yes) => Attach::Yes,
        Some(AttachArgument::File) => Attach::File,
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
    Ok(settings)
}

/// What starts a configuration of a run, and whether its array was made just now.
fn from_run(
    output: &Output,
    run: &Path,
    cell: Option<&str>,
    arguments: &StartArguments,
) -> Result<(Settings, bool), Failure> {
    let run = lab::read(run)?;
    let configuration = lab::alone::choose(&run, cell)?;
    let size = arguments.size.as_deref().map(|text| output.size("--size", text)).transpose()?;
    let ground = Ground {
        members: arguments.member.clone(),
        store: arguments.store.clone(),
        create_bytes: size.filter(|_| arguments.create),
        mount: arguments.mount.as_deref().map(absolute).transpose()?,
    };
    let Alone { settings, create } = lab::alone::alone(configuration, &ground)?;
    let Some(wanted) = create else { return Ok((settings, false)) };
    let consent = Consent {
        erase_serials: arguments.erase.clone(),
        erase_signature: arguments.erase_signature,
        devices: arguments.consent.allow_device.clone(),
        raw: arguments.consent.raw,
        ..Consent::default()
    };
    let guard = Guard::new(consent);
    mdtools::create(&guard, &wanted)?;
    // The server opens them itself.
    guard.let_go();
    Ok((settings, true))
}

/// The path from the root on: a server in the background works in no particular folder.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// Starts a process for the server and waits until it is ready.
fn in_background(runtime: &Runtime, settings: &Settings) -> Result<Status, Failure> {
    let failed =
        |error: io::Error| Failure::failed(format!("starting the server's process: {error}"));
    let (log_path, log) = runtime.new_log()?;
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command
        .args(SERVE)
        .arg(&log_path)
        .env(serve::log::VARIABLE, serve::log::filter())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        .current_dir("/");
    let started =
        command.spawn().map_err(failed).and_then(|process| hear(process, settings, &log_path));
    // A server that is ready has taken it into its folder.
    let _ = fs::remove_file(&log_path);
    started
}

/// Tells the process in the background what to serve, and waits for its one line.
fn hear(mut process: Child, settings: &Settings, log: &Path) -> Result<Status, Failure> {
    let told = serde_json::to_writer(process.stdin.take().expect("it was piped"), settings);
    let mut line = String::new();
    let heard = BufReader::new(process.stdout.take().expect("it was piped")).read_line(&mut line);
    let answer = heard
        .ok()
        .filter(|_| told.is_ok())
        .and_then(|_| serde_json::from_str::<Answer>(&line).ok());
    match answer {
        Some(Answer::Done(status)) => serde_json::from_value(status).map_err(|error| {
            Failure::failed(format!("the server's first word makes no sense: {error}"))
        }),
        Some(Answer::Refused(refusal)) => Err(host::Error::from(refusal)),
        None => {
            let end =
                process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            let said = fs::read_to_string(log).unwrap_or_default();
            Err(Failure::failed(format!(
                "the server's process ended before it was ready ({end})\n{said}"
            )))
        }
    }
}

/// The process in the background: settings come in on standard input, one line goes out on standard
/// output, and what it has to say later goes to its log, which is its standard error already.
pub(super) fn serve(log: &Path) -> Result<(), Failure> {
    // Away from the terminal: its Ctrl-C is not for this process. Whoever leads a session already
    // is away from it.
    let _ = rustix::process::setsid();
    let mut signals = signals()?;
    let started = || {
        let mut text = Vec::new();
        let failed = |error: io::Error| host::Error::from_io("settings on standard input", &error);
        io::stdin().lock().read_to_end(&mut text).map_err(failed)?;
        let settings: Settings =
            serde_json::from_slice(&text).map_err(|error| failed(error.into()))?;
        let server = open(&Runtime::find()?, settings)?;
        // Without its place the log is only harder to find.
        let _ = fs::rename(log, server.folder().join("log"));
        Ok(server)
    };
    let server: Result<Arc<Server>, host::Error> = started();
    let answer = match &server {
        Ok(server) => Answer::Done(json!(server.status())),
        Err(error) => {
            Answer::Refused(Refusal { text: error.to_string(), exit_code: error.exit_code() })
        }
    };
    let said = say(&answer);
    let Ok(server) = server else { return Err(Failure::silent(1)) };
    if let Err(error) = said {
        // Whoever wanted this has gone.
        server.stop(true)?;
        return Err(Failure::failed(format!("nobody waits for this server: {error}")));
    }
    serve_until_end(&server, &mut signals)
}

/// One line on standard output.
fn say(answer: &Answer) -> io::Result<()> {
    let line = serde_json::to_string(answer)?;
    escape::out(&format!("{}\n", escape::json(&line)))
}

fn open(runtime: &Runtime, settings: Settings) -> Result<Arc<Server>, host::Error> {
    let name = settings.name.clone().unwrap_or_else(|| runtime.free_name());
    Server::start(runtime.claim(&name)?, settings)
}

/// Something to be read from it for each signal to end.
fn signals() -> Result<UnixStream, Failure> {
    let failed = |error: io::Error| Failure::failed(format!("setting up for signals: {error}"));
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
) -> Result<(), Failure> {
    let mut signals = signals()?;
    let server = open(runtime, settings)?;
    let status = server.status();
    status.notes.iter().for_each(|note| output.note(note));
    let Some(command) = command else {
        if output.json {
            output.document(&status)?;
        } else {
            output.result(&server_status::summary(&status))?;
        }
        return serve_until_end(&server, &mut signals);
    };
    output.progress(&server_status::summary(&status));
    let (served_sender, until_served) = mpsc::channel();
    let ended = run_command(&server, command, until_served)?;
    let served = serve_until_end(&server, &mut signals);
    drop(served_sender);
    let ended = ended.join().map_err(|_| Failure::failed("waiting for the command of --run"))?;
    let ended = ended
        .map_err(|error| Failure::failed(format!("waiting for the command of --run: {error}")))?;
    served?;
    match ended.code().unwrap_or_else(|| 128 + ended.signal().unwrap_or(0)) {
        0 => Ok(()),
        code => Err(Failure::failed(format!("`{command}` ended with {ended}"))
            .with_code(u8::try_from(code).unwrap_or(1))),
    }
}

/// Serves, with a word to the service manager before and after.
fn serve_until_end(server: &Arc<Server>, signals: &mut UnixStream) -> Result<(), Failure> {
    let address = server.address();
    if let Err(error) = serve::notify(&format!("READY=1\nSTATUS={} at {address}", server.name())) {
        escape::err(&format!("raidloom: telling the service manager: {error}"));
    }
    let ended = server.run(&*signals);
    let _ = serve::notify("STOPPING=1");
    ended
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
    let command = command.replace("{}", &quoted(&server.address()));
    let failed = |error: io::Error| Failure::failed(format!("running `{command}`: {error}"));
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

/// In single quotes for a shell, unless it needs none.
fn quoted(text: &str) -> String {
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-:+?=%".contains(&byte))
        && !text.contains('?')
    {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
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
                .arg(format!("printf %s {}", quoted(text)))
                .output()
                .expect("a shell");
            assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
    }
}
