//! The other end of a control socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use host::Error;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;
use words::{Text, statement};

use crate::catalogue;
use crate::protocol::{Answer, Command, Request, VERSION};
use crate::runtime::{Entry, Runtime, SOCKET};
use crate::status::Status;

/// How long a server that has hung up may take to be gone: what it has in memory is given back
/// first.
const END_TIME: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// How long a server that starts may take to end once it is told to: longer than it waits for a
/// member that does not answer, where nothing else is said.
const ASKED_TIME: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// How long a server may take to say how it fares. It asks no device for that.
const STATUS_TIME: Duration = Duration::from_secs(10);

/// A connection to the server of one array.
#[derive(Debug)]
pub struct Client {
    name: String,
    process: Process,
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the server of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn connect(runtime: &Runtime, name: &str) -> Result<Client, Error> {
        let process = match runtime.entry(name) {
            Some(Entry { process: Some(process), .. }) => Process::of(process),
            Some(Entry { process: None, .. }) => return Err(has_died(name)),
            None => return Err(Error::usage(catalogue::NOT_RUNNING).at(name)),
        };
        let path = runtime.folder_of(name)?.join(SOCKET);
        let stream = connect(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if process.ends(Some(&Timespec::default())) => has_died(name),
            io::ErrorKind::NotFound => {
                Error::failed(statement!(catalogue::NOT_READY_YET, name = name)).at(name)
            }
            // Nobody takes what waits there already.
            io::ErrorKind::WouldBlock => hangs(name),
            io::ErrorKind::ConnectionRefused if process.ends(Some(&END_TIME)) => has_died(name),
            _ => Error::from_io(path.display(), &error),
        })?;
        Ok(Client { name: name.to_owned(), process, stream: BufReader::new(stream) })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// What the server says, or that it has died. Then nothing of its process is left.
    pub fn ask(&mut self, command: Command) -> Result<serde_json::Value, Error> {
        let mut line = serde_json::to_vec(&Request { version: VERSION, request: command })
            .expect("a request is plain data");
        line.push(b'\n');
        let mut answer = String::new();
        let said = self.stream.get_mut().write_all(&line);
        // Also where nothing could be said: a server that will not listen says why before it hangs
        // up.
        let heard = self.stream.read_line(&mut answer);
        if !answer.ends_with('\n') {
            // It may have been killed, and its sockets are closed before its process has ended.
            let is_silent =
                heard.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
            if !is_silent && self.process.ends(Some(&END_TIME)) {
                return Err(has_died(&self.name));
            }
            return Err(match said.and(heard) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => hangs(&self.name),
                Ok(_) => Error::failed(catalogue::HUNG_UP).at(&self.name),
                Err(error) => Error::from_io(catalogue::TALKING, &error).at(&self.name),
            });
        }
        match serde_json::from_str(&answer) {
            Ok(Answer::Done(value)) => Ok(value),
            Ok(Answer::Refused(refusal)) => Err(refusal.into()),
            Err(error) => {
                let said = statement!(catalogue::UNREADABLE_ANSWER, error = Text::verbatim(&error));
                Err(Error::failed(said).at(&self.name))
            }
        }
    }

    /// What the server serves and how that fares.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn status(&mut self) -> Result<Status, Error> {
        let limit = |stream: &UnixStream, time| {
            stream.set_read_timeout(time).and_then(|()| stream.set_write_timeout(time))
        };
        let failed =
            |error| Error::from_io(statement!(catalogue::A_TIME_LIMIT, name = &self.name), &error);
        limit(self.stream.get_ref(), Some(STATUS_TIME)).map_err(failed)?;
        let value = self.ask(Command::Status)?;
        limit(self.stream.get_ref(), None).map_err(|error| {
            Error::from_io(statement!(catalogue::A_TIME_LIMIT, name = &self.name), &error)
        })?;
        serde_json::from_value(value).map_err(|error| {
            let said = statement!(catalogue::UNREADABLE_STATUS, error = Text::verbatim(&error));
            Error::failed(said).at(&self.name)
        })
    }

    /// Ends the server, and waits until it has ended. Says what could not be done in order.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn stop(mut self) -> Result<Vec<Text>, Error> {
        let answer = self.ask(Command::Stop)?;
        // Servers of an earlier version say it in English alone.
        let problems = answer.get("problem_parts").unwrap_or(&answer["problems"]);
        let problems = problems.as_array().into_iter().flatten();
        let text = |problem: &Value| serde_json::from_value::<Text>(problem.clone()).ok();
        let mut problems: Vec<Text> = problems.filter_map(text).collect();
        // The kernel closes the connection while the process still holds its members, so its end
        // alone says too little.
        let patience = Duration::from_secs(END_TIME.tv_sec.unsigned_abs());
        let _ = self.stream.get_ref().set_read_timeout(Some(patience));
        let _ = self.stream.read_to_end(&mut Vec::new());
        if self.process.0.is_some() && !self.process.ends(Some(&END_TIME)) {
            problems.push(Text::from(catalogue::PROCESS_NOT_ENDED).at(&self.name));
        }
        Ok(problems)
    }
}

/// Ends the server of this name, and waits until it has ended. One that is not ready yet takes no
/// requests: it is told by signals. Says what could not be done in order.
///
/// # Errors
/// As [`Client::connect`] and [`Client::stop`]; that it has died where it has left something.
pub fn stop(runtime: &Runtime, name: &str) -> Result<Vec<Text>, Error> {
    if let Some(Entry { process: Some(process), .. }) = runtime.entry(name) {
        let process = Process::of(process);
        let socket = runtime.folder_of(name)?.join(SOCKET);
        let signals = [(Signal::TERM, &ASKED_TIME), (Signal::KILL, &END_TIME)];
        for (signal, patience) in signals {
            // One that has become ready meanwhile ends in order, and is not killed.
            if socket.exists() || process.ends(Some(&Timespec::default())) {
                break;
            }
            process.send(signal);
            if process.ends(Some(patience)) {
                return match runtime.entry(name) {
                    Some(_) => Err(has_died(name)),
                    None => Ok(Vec::new()),
                };
            }
        }
    }
    Client::connect(runtime, name)?.stop()
}

/// Asks every server there is how it fares; in the order of their names.
#[must_use]
pub fn statuses(runtime: &Runtime) -> Vec<(Entry, Result<Status, Error>)> {
    let ask = |entry: Entry| {
        let status = Client::connect(runtime, &entry.name).and_then(|mut client| client.status());
        (entry, status)
    };
    runtime.entries().into_iter().map(ask).collect()
}

/// Without waiting for a server that takes no connections.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn hangs(name: &str) -> Error {
    Error::failed(statement!(catalogue::HANGS, name = name)).at(name)
}

fn has_died(name: &str) -> Error {
    Error::failed(statement!(catalogue::HAS_DIED, name = name)).at(name)
}

/// A process whose end can be waited for. Before Linux 5.3 it cannot; then there is nothing in it.
#[derive(Debug)]
pub(crate) struct Process(Option<OwnedFd>);

impl Process {
    pub(crate) fn of(number: u32) -> Process {
        Process(
            Pid::from_raw(number.cast_signed())
                .and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok()),
        )
    }

    /// Has no effect where it has ended.
    fn send(&self, signal: Signal) {
        let _ = self.0.as_ref().map(|process| pidfd_send_signal(process, signal));
    }

    /// Waits for its end, at most for `patience`; whether it has ended.
    pub(crate) fn ends(&self, patience: Option<&Timespec>) -> bool {
        let Some(process) = &self.0 else { return false };
        let mut ended = [PollFd::new(process, PollFlags::IN)];
        loop {
            match rustix::event::poll(&mut ended, patience) {
                Err(Errno::INTR) => (),
                result => return result.is_ok_and(|count| count > 0),
            }
        }
    }
}
