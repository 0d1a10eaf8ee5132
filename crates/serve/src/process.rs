//! The process of a server that a launch has started, from its first word to its end.

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use host::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;

use crate::catalogue;
use crate::launch::hear_launch;
use crate::notify::notify;
use crate::protocol::{Answer, Refusal};
use crate::runtime::{LOG, Runtime};
use crate::serve::Server;

/// Whether nothing asks for the end: something to be read from one of these does, and so does its
/// other end that is gone.
#[must_use]
pub fn is_quiet(all: &[BorrowedFd<'_>]) -> bool {
    let mut all: Vec<_> = all.iter().map(|one| PollFd::new(one, PollFlags::IN)).collect();
    !poll(&mut all, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// The process that [`ServeWith::launch`](crate::ServeWith::launch) starts: serves until it is
/// asked to end, something can be read from `signals`, or, before it is ready and where it serves a
/// run, the process that started it is gone. `log` is where its standard error goes.
///
/// # Errors
/// What could not be done in order, or an error without a text where the starter was told why
/// there is no server.
pub fn serve(log: Option<&Path>, signals: &UnixStream) -> Result<(), Error> {
    // Away from the terminal: its Ctrl-C is not for this process. One that leads a session already
    // is away from it.
    let _ = rustix::process::setsid();
    let failed = |error: io::Error| Error::from_io(catalogue::STANDARD_INPUT, &error);
    let starter = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
    let started = || {
        let (launch, files) = hear_launch(&starter).map_err(failed)?;
        let runtime = Runtime::find()?;
        let name = launch.settings.name.clone().unwrap_or_else(|| runtime.free_name());
        let with = match launch.fresh {
            Some(_) => Some(starter.try_clone().map_err(failed)?),
            None => None,
        };
        let content = launch.fresh.is_none().then(|| launch.settings.lasting_content()).flatten();
        let claim = runtime.claim_to_serve(&name, content.as_deref())?;
        let is_wanted = || is_quiet(&[signals.as_fd(), starter.as_fd()]);
        let server = Server::launch(claim, launch, files, (with, &is_wanted))?;
        if let Some(log) = log {
            // Without its place the log is only harder to find.
            let _ = fs::rename(log, server.folder().join(LOG));
        }
        Ok(server)
    };
    let server: Result<Arc<Server>, Error> = started();
    let answer = match &server {
        Ok(server) => Answer::Done(json!(server.status())),
        Err(error) => Answer::Refused(Refusal::from(error)),
    };
    let said = serde_json::to_string(&answer)
        .map_err(io::Error::from)
        .and_then(|line| writeln!(&starter, "{line}"));
    drop(starter);
    let server = server.map_err(|_| Error::silent(1))?;
    if let Err(error) = said {
        // The process that wanted this has gone.
        server.stop(true)?;
        return Err(Error::from_io(catalogue::NOBODY_WAITS, &error));
    }
    serve_until_end(&server, signals)
}

/// Serves, with a word to the service manager before and after.
///
/// # Errors
/// What could not be done in order at the end.
pub fn serve_until_end(server: &Arc<Server>, signals: &UnixStream) -> Result<(), Error> {
    let address = server.address();
    if let Err(error) = notify(&format!("READY=1\nSTATUS={} at {address}", server.name())) {
        escape::err(&format!("raidloom: telling the service manager: {error}"));
    }
    let ended = server.run(signals);
    let _ = notify("STOPPING=1");
    ended
}
