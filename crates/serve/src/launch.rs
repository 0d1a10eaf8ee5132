//! A server as a process of its own, started by a command of a person's or by a run.
//!
//! ```text
//!   starter ── members' files, then one line: what is to be served ──> server
//!           <─ one line: its status, or why not ─────────────────    (its standard input, a socket)
//!
//!   array start   ends, and the server stays; one that is not ready ends with it
//!   run           asks over the control socket; the server ends with it
//! ```

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};

use host::Error;
use host::guard::Guard;
use mdtools::NewArraySettings;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use words::{Text, statement};

use crate::catalogue;
use crate::client::Client;
use crate::log;
use crate::patience::{Patience, line};
use crate::protocol::Answer;
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::status::Status;

/// What a server is told by the process that starts it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// What is served, and how.
    pub settings: Settings,
    /// For a run: what is served is made anew, and ends with the process that started the server.
    pub fresh: Option<FreshArray>,
}

/// An array and a file system that are made anew, of whatever the members hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreshArray {
    /// Everything random in the devices follows from it.
    pub seed: u64,
    /// The array with metadata that is made; its superblocks are erased in the end.
    pub new_array: Option<NewArraySettings>,
}

/// The program whose process a server is.
#[derive(Clone, Debug)]
pub struct ServeWith {
    /// A program that calls [`serve`](crate::serve()).
    pub program: PathBuf,
    /// Its arguments; for a server that stays, the file of its log comes after them.
    pub arguments: Vec<String>,
    /// Where servers have their folders.
    pub runtime: Runtime,
}

/// A server that is ready. One that is to end with this process does so when this is dropped.
#[derive(Debug)]
pub struct LaunchedServer {
    /// What it said of itself when it was ready.
    pub status: Status,
    runtime: Runtime,
    process: Child,
    /// The server ends when this is closed.
    starter: Option<UnixStream>,
}

impl ServeWith {
    /// Starts a server and waits until it is ready. It uses the members' `files` that are open and
    /// locked already as they are, and opens the others itself.
    ///
    /// # Errors
    /// What the server says, or why there is none.
    pub fn launch(&self, launch: &Launch, files: &[File]) -> Result<LaunchedServer, Error> {
        self.launch_with(launch, files, None)
    }

    /// The same for one that stays, and for so long. One that is not ready then ends in order.
    ///
    /// # Errors
    /// As [`ServeWith::launch`], and that it was not waited for any longer.
    pub fn launch_within(
        &self,
        settings: Settings,
        patience: &Patience<'_>,
    ) -> Result<LaunchedServer, Error> {
        self.launch_with(&Launch { settings, fresh: None }, &[], Some(patience))
    }

    fn launch_with(
        &self,
        launch: &Launch,
        files: &[File],
        patience: Option<&Patience<'_>>,
    ) -> Result<LaunchedServer, Error> {
        let failed = |error: io::Error| Error::from_io(catalogue::STARTING_SERVER, &error);
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let mut command = Process::new(&self.program);
        command
            .args(&self.arguments)
            .envs(self.runtime.for_child())
            .env(log::VARIABLE, log::filter())
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .current_dir("/");
        // What has a log of its own stays; what ends with this process speaks with it.
        let log = match launch.fresh {
            Some(_) => None,
            None => {
                let (path, file) = self.runtime.new_log()?;
                command.arg(&path).stderr(file);
                Some(path)
            }
        };
        let process = command.spawn().map_err(failed);
        // The other end is the server's alone now.
        drop(command);
        let started = process.and_then(|process| {
            let said = say_launch(&ours, launch, files);
            let heard = said.and_then(|()| match patience {
                Some(patience) => patience.line(&ours),
                None => line(&ours).map(Some),
            });
            match (heard, patience) {
                (Ok(None), Some(patience)) => Err(patience.end(process)),
                (heard, _) => {
                    let line = heard.ok().flatten().unwrap_or_default();
                    let starter = launch.fresh.as_ref().map(|_| ours);
                    self.launched(process, starter, &line, log.as_deref())
                }
            }
        });
        // A server that is ready has taken it into its folder.
        _ = log.map(fs::remove_file);
        started
    }

    /// What the one line of a server says. One that ends with this process does so when `starter`
    /// is closed.
    fn launched(
        &self,
        mut process: Child,
        starter: Option<UnixStream>,
        line: &str,
        log: Option<&Path>,
    ) -> Result<LaunchedServer, Error> {
        match serde_json::from_str(line) {
            Ok(Answer::Done(status)) => {
                let status = serde_json::from_value(status).map_err(|error| {
                    Error::failed(Text::verbatim(&error)).at(catalogue::FIRST_WORD)
                })?;
                Ok(LaunchedServer { status, runtime: self.runtime.clone(), process, starter })
            }
            Ok(Answer::Refused(refusal)) => {
                let _ = process.wait();
                Err(refusal.into())
            }
            Err(_) => {
                drop(starter);
                let end = process.wait();
                let end = end.map_or_else(|error| error.to_string(), |status| status.to_string());
                let said = log.and_then(|log| fs::read_to_string(log).ok()).unwrap_or_default();
                Err(Error::failed(statement!(catalogue::SERVER_ENDED, end = end, said = said)))
            }
        }
    }
}

impl LaunchedServer {
    /// What it serves and how that fares.
    ///
    /// # Errors
    /// What it says, or that it has died.
    pub fn status(&self) -> Result<Status, Error> {
        Client::connect(&self.runtime, &self.status.name)?.status()
    }

    /// Unmounts what it has mounted, and ends it.
    ///
    /// # Errors
    /// What could not be done in order.
    pub fn stop(self) -> Result<(), Error> {
        let ask = |command| Client::connect(&self.runtime, &self.status.name)?.ask(command);
        if !self.status.mounts.is_empty() {
            ask(crate::Command::Unmount)?;
        }
        match Client::connect(&self.runtime, &self.status.name)?.stop()? {
            none if none.is_empty() => Ok(()),
            problems => Err(Error::failed(Text::joined(problems, "\n"))),
        }
    }
}

impl Drop for LaunchedServer {
    fn drop(&mut self) {
        if self.starter.take().is_some() {
            let _ = self.process.wait();
        }
    }
}

/// A guard that hands out the files that came with a launch.
pub(crate) fn adopt(guard: &Guard, files: Vec<File>) -> Result<(), Error> {
    let failed = |error: io::Error| Error::from_io(catalogue::FILE_HANDED_OVER, &error);
    files.into_iter().try_for_each(|file| guard.adopt(file)).map_err(failed)
}

/// Each file comes with a byte, and another byte ends them.
fn say_launch(mut starter: &UnixStream, launch: &Launch, files: &[File]) -> io::Result<()> {
    for file in files {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files = [file.as_fd()];
        if !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
            return Err(io::Error::other(Text::from(catalogue::DESCRIPTOR_DOES_NOT_FIT)));
        }
        sendmsg(starter, &[IoSlice::new(b"+")], &mut ancillary, SendFlags::NOSIGNAL)?;
    }
    writeln!(starter, "\n{}", serde_json::to_string(launch)?)
}

pub(crate) fn hear_launch(starter: &UnixStream) -> io::Result<(Launch, Vec<File>)> {
    let mut files = Vec::new();
    while let Some(file) = receive_file(starter)? {
        files.push(file);
    }
    let mut line = String::new();
    BufReader::new(starter).read_line(&mut line)?;
    Ok((serde_json::from_str(&line)?, files))
}

fn receive_file(starter: &UnixStream) -> io::Result<Option<File>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(&mut byte)];
    if recvmsg(starter, parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next().map(File::from),
        _ => None,
    }))
}
