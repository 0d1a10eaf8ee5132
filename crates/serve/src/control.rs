//! The server's end of its control socket.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use host::Error;
use serde_json::Value;
use words::{Text, statement};

use crate::catalogue;
use crate::protocol::{Answer, Command, Refusal, Request, VERSION};

/// The longest request.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// Connections at a time; more are told so and closed at once.
const MAX_CONNECTIONS: u32 = 16;
/// How long a connection may be silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes the socket, which only the owner may use.
pub(crate) fn listen(path: &Path) -> Result<UnixListener, Error> {
    let listen = || {
        // The folder is the owner's alone, so no other user gets in before the mode is set.
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    listen().map_err(|error: io::Error| {
        Error::from_io(statement!(catalogue::MAKING_SOCKET, path = path.display()), &error)
    })
}

/// Answers one connection to the server of that name on a thread of its own: `carry_out` does what
/// a request asks for, and `end` wakes the server once it was stopped by one.
pub(crate) fn answer(
    stream: UnixStream,
    name: &str,
    carry_out: impl Fn(Command) -> Result<Value, Error> + Send + 'static,
    end: impl Fn() + Send + 'static,
) {
    static CONNECTIONS: AtomicU32 = AtomicU32::new(0);
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            CONNECTIONS.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let others = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
    let leave = Leave;
    if !is_owner(&stream) {
        return;
    }
    if others >= MAX_CONNECTIONS {
        let said = statement!(catalogue::TOO_MANY_CLIENTS, most = MAX_CONNECTIONS);
        let refusal = Refusal::from(&Error::failed(said).at(name));
        // A new socket has room for a line, so this waits for nothing.
        let _ = stream.set_nonblocking(true).and_then(|()| say(&stream, &Answer::Refused(refusal)));
        return;
    }
    let converse = move || {
        let _leave = leave;
        // A peer that goes away in the middle is no error of the server's.
        let _ = converse(stream, carry_out, end);
    };
    // A machine that cannot start a thread has worse to worry about; the peer sees the connection
    // close.
    let _ = thread::Builder::new().name("control".to_owned()).spawn(converse);
}

/// Whether the other end is a process of the server's own user, or of root.
fn is_owner(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream)
        .is_ok_and(|peer| peer.uid.is_root() || peer.uid == rustix::process::geteuid())
}

fn converse(
    stream: UnixStream,
    carry_out: impl Fn(Command) -> Result<Value, Error>,
    end: impl Fn(),
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = Vec::new();
        if lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let (answer, ends) = match read(&line) {
            Ok(command) => {
                let ends = command == Command::Stop;
                match carry_out(command) {
                    Ok(value) => (Answer::Done(value), ends),
                    Err(error) => (Answer::Refused(Refusal::from(&error)), false),
                }
            }
            Err(error) => (Answer::Refused(Refusal::from(&error)), false),
        };
        say(&stream, &answer)?;
        if ends {
            // The connection is closed by the end of the process: that is what the other side waits
            // for.
            std::mem::forget(stream);
            end();
            return Ok(());
        }
    }
}

fn say(mut stream: &UnixStream, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer).map_err(io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line)
}

fn read(line: &[u8]) -> Result<Command, Error> {
    if line.last() != Some(&b'\n') {
        let text = statement!(catalogue::REQUEST_LINE, max_line_bytes = MAX_LINE_BYTES);
        return Err(Error::usage(text));
    }
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| Error::usage(Text::verbatim(&error)).at(catalogue::REQUEST_NO_JSON))?;
    let version = value.get("version").and_then(Value::as_u64);
    if version != Some(u64::from(VERSION)) {
        return Err(Error::usage(statement!(catalogue::OTHER_PROTOCOL, version = VERSION)));
    }
    serde_json::from_value::<Request>(value)
        .map(|request| request.request)
        .map_err(|error| Error::usage(Text::verbatim(&error)).at(catalogue::REQUEST_NO_SENSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_is_answered_with_the_reason() {
        let status = read(b"{\"version\":1,\"request\":\"status\"}\n");
        assert!(matches!(status, Ok(Command::Status)), "{status:?}");
        for (line, reason) in [
            (&b"{\"version\":1,\"request\":\"status\"}"[..], "one line"),
            (b"status\n", "not JSON"),
            (b"{\"version\":2,\"request\":\"status\"}\n", "version 1"),
            (b"{\"request\":\"status\"}\n", "version 1"),
            (b"{\"version\":1,\"request\":\"dance\"}\n", "makes no sense"),
            (b"[[[[\n", "not JSON"),
        ] {
            let said = read(line).unwrap_err().to_string();
            assert!(said.contains(reason), "{said}");
        }
        let deep = [vec![b'['; 100_000], b"\n".to_vec()].concat();
        assert!(read(&deep).is_err(), "depth is bounded");
    }
}
