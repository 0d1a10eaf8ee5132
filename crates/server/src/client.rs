//! The other end of a control socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

use lab::Error;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::protocol::{Answer, Command, Request, VERSION};
use crate::runtime::{Entry, Runtime, SOCKET};
use crate::status::Status;

/// A connection to the server of one array.
#[derive(Debug)]
pub struct Client {
    name: String,
    process: u32,
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the server of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn connect(runtime: &Runtime, name: &str) -> Result<Client, Error> {
        let process = match runtime.entry(name) {
            Some(Entry { process: Some(process), .. }) => process,
            Some(Entry { process: None, .. }) => {
                let text =
                    format!("{name}: its server has died; `raidloom array stop {name}` cleans up, `raidloom array start` starts it again");
                return Err(Error::failed(text));
            }
            None => {
                return Err(Error::usage(format!("{name}: no array of this name is running; `raidloom array list` names those that are")));
            }
        };
        let path = runtime.folder_of(name)?.join(SOCKET);
        let stream = UnixStream::connect(&path).map_err(|error| Error::from_io(path.display(), &error))?;
        Ok(Client { name: name.to_owned(), process, stream: BufReader::new(stream) })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// What the server says, or that it is gone.
    pub fn ask(&mut self, command: Command) -> Result<serde_json::Value, Error> {
        let failed = |error: io::Error| Error::from_io(format_args!("{}: talking to its server", self.name), &error);
        let mut line = serde_json::to_vec(&Request { version: VERSION, request: command }).expect("a request is plain data");
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).map_err(failed)?;
        let mut answer = String::new();
        if self.stream.read_line(&mut answer).map_err(failed)? == 0 {
            return Err(Error::failed(format!("{}: its server has ended without an answer", self.name)));
        }
        match serde_json::from_str(&answer) {
            Ok(Answer::Done(value)) => Ok(value),
            Ok(Answer::Refused(refusal)) => Err(refusal.into()),
            Err(error) => Err(Error::failed(format!("{}: its server's answer cannot be read: {error}", self.name))),
        }
    }

    /// What the server serves and how that fares.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn status(&mut self) -> Result<Status, Error> {
        let value = self.ask(Command::Status)?;
        serde_json::from_value(value).map_err(|error| Error::failed(format!("{}: its status cannot be read: {error}", self.name)))
    }

    /// Ends the server, and waits until it has ended. Says what could not be done in order.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn stop(mut self) -> Result<Vec<String>, Error> {
        let process = Pid::from_raw(self.process.cast_signed()).and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok());
        let answer = self.ask(Command::Stop)?;
        // The kernel closes the connection while the process still holds its members, so its end alone says too little.
        // Before Linux 5.3 there is no more to be had.
        let _ = self.stream.read_to_end(&mut Vec::new());
        if let Some(process) = process {
            let mut ended = [PollFd::new(&process, PollFlags::IN)];
            while rustix::event::poll(&mut ended, None) == Err(Errno::INTR) {}
        }
        let problems = answer["problems"].as_array().into_iter().flatten();
        Ok(problems.filter_map(|problem| problem.as_str().map(str::to_owned)).collect())
    }
}
