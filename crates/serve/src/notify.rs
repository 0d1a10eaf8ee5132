//! A word to the service manager, as systemd has it for `Type=notify`: one datagram to the socket
//! that `NOTIFY_SOCKET` names.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Tells the service manager, if there is one. `state` is one `NAME=VALUE` a line: `READY=1`,
/// `STATUS=…`, `STOPPING=1`.
///
/// # Errors
/// When there is one and it cannot be told.
pub(crate) fn notify(state: &str) -> io::Result<()> {
    env::var_os("NOTIFY_SOCKET").map_or(Ok(()), |socket| send(&socket, state))
}

fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    let address = match socket.as_bytes() {
        // A name without a file.
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_reads_what_was_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let abstract_name = format!("raidloom-test-{}", std::process::id());
        let named = UnixDatagram::bind(&path).unwrap();
        let nameless =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&abstract_name).unwrap())
                .unwrap();
        for (socket, address) in
            [(named, path.into_os_string()), (nameless, format!("@{abstract_name}").into())]
        {
            send(&address, "READY=1\nSTATUS=tank").unwrap();
            let mut said = [0; 64];
            let length = socket.recv(&mut said).unwrap();
            assert_eq!(&said[..length], b"READY=1\nSTATUS=tank");
        }
        assert!(send(OsStr::new("/nobody/listens/here"), "READY=1").is_err());
    }
}
