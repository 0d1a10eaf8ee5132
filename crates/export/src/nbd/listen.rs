//! Where clients come in: Unix and TCP sockets, and sockets that a service manager has opened
//! already.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use block::{Error, ErrorKind};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use words::{Text, statement};

use super::handshake::TlsRule;
use crate::catalogue;

/// The port that IANA has given to NBD.
pub const PORT: u16 = 10809;
/// What the kernel takes of replies on a Unix socket before the client has read them, in bytes:
/// enough for those that a worker makes ready at a time, so that it can go on with the next. TCP
/// finds its own measure.
const SEND_BUFFER_BYTES: usize = 512 << 10;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket, which its owner alone may use.
    Unix(PathBuf),
    /// A TCP socket: host and port. Without a host it is the machine itself (127.0.0.1).
    Tcp(String),
    /// Whatever sockets the service manager has opened (`LISTEN_FDS`, as systemd passes them).
    Inherited,
}

impl FromStr for Address {
    type Err = Text;

    /// `/run/x.sock`, `unix:x.sock`, `tcp:HOST:PORT`, `HOST:PORT`, `:PORT`, `tcp:HOST` (with the
    /// usual port), `systemd`.
    fn from_str(text: &str) -> Result<Address, Text> {
        if let Some(path) =
            text.strip_prefix("unix:").or_else(|| text.starts_with(['/', '.']).then_some(text))
        {
            return if path.is_empty() {
                Err(catalogue::NEEDS_A_PATH.into())
            } else {
                Ok(Address::Unix(path.into()))
            };
        }
        if text == "systemd" {
            return Ok(Address::Inherited);
        }
        let named = text.strip_prefix("tcp:");
        let rest = named.unwrap_or(text);
        // The colons of an IPv6 address stand between brackets.
        let (host, port) = match rest.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
            Some((host, port)) => (
                host,
                port.parse()
                    .map_err(|_| statement!(catalogue::NO_PORT, text = text, port = port))?,
            ),
            None if named.is_some() => (rest, PORT),
            None => {
                return Err(statement!(catalogue::ADDRESS_EXPECTED, text = text));
            }
        };
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        Ok(Address::Tcp(format!("{host}:{port}")))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(address) => write!(f, "tcp:{address}"),
            Address::Inherited => f.write_str("systemd"),
        }
    }
}

/// A socket that takes connections.
pub(crate) struct Listener {
    socket: Socket,
    pub(super) tls: TlsRule,
    /// The socket's file, when it was made here and has to go again.
    made: Option<SocketFile>,
}

/// A socket's file, told from one that another process puts where it was.
struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

enum Socket {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Opens what `address` names. TCP beyond the machine itself needs TLS, unless `insecure`.
    pub(crate) fn open(
        address: &Address,
        tls: bool,
        insecure: bool,
    ) -> Result<Vec<Listener>, Error> {
        let failed = |error: io::Error| {
            Error::from_io(statement!(catalogue::LISTENING, address = address.to_string()), error)
        };
        let sockets: Vec<(Socket, Option<SocketFile>)> = match address {
            Address::Unix(path) => {
                let (socket, made) = bind_unix(path)?;
                vec![(Socket::Unix(socket), Some(made))]
            }
            Address::Tcp(text) => {
                let resolved: Vec<SocketAddr> = text.to_socket_addrs().map_err(failed)?.collect();
                for candidate in &resolved {
                    check_exposure(candidate.ip(), tls, insecure, address)?;
                }
                vec![(Socket::Tcp(TcpListener::bind(&resolved[..]).map_err(failed)?), None)]
            }
            Address::Inherited => inherited()?.into_iter().map(|socket| (socket, None)).collect(),
        };
        let mut listeners = Vec::new();
        for (socket, made) in sockets {
            let rule = match (&socket, tls) {
                (_, false) => TlsRule::None,
                (Socket::Unix(_), true) => TlsRule::Offered,
                (Socket::Tcp(_), true) => TlsRule::Required,
            };
            match &socket {
                Socket::Unix(listener) => listener.set_nonblocking(true),
                Socket::Tcp(listener) => {
                    check_exposure(
                        listener.local_addr().map_err(failed)?.ip(),
                        tls,
                        insecure,
                        address,
                    )?;
                    listener.set_nonblocking(true)
                }
            }
            .map_err(failed)?;
            listeners.push(Listener { socket, tls: rule, made });
        }
        Ok(listeners)
    }

    /// The next connection that waits, and where on the network it comes from.
    pub(crate) fn accept(&self) -> io::Result<(OwnedFd, Option<IpAddr>)> {
        match &self.socket {
            Socket::Unix(listener) => {
                let stream = listener.accept()?.0;
                // As below. The kernel gives what its limit (net.core.wmem_max) allows.
                let _ =
                    rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER_BYTES);
                Ok((stream.into(), None))
            }
            Socket::Tcp(listener) => {
                let (stream, address): (TcpStream, SocketAddr) = listener.accept()?;
                // Replies are gathered here already; a connection without this option is slower,
                // not wrong.
                let _ = stream.set_nodelay(true);
                Ok((stream.into(), Some(address.ip())))
            }
        }
    }

    /// The address as an NBD URI of the export `name`.
    pub(super) fn uri(&self, name: &str) -> String {
        let secure = if self.tls == TlsRule::Required { "s" } else { "" };
        match &self.socket {
            Socket::Unix(listener) => {
                let path = listener
                    .local_addr()
                    .ok()
                    .and_then(|address| address.as_pathname().map(Path::to_path_buf));
                let path = path.unwrap_or_default();
                format!(
                    "nbd{secure}+unix:///{}?socket={}",
                    escaped(name),
                    escaped(&path.to_string_lossy())
                )
            }
            Socket::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("nbd{secure}://{address}/{}", escaped(name)),
                Err(_) => format!("nbd{secure}:///{}", escaped(name)),
            },
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Unix(listener) => listener.as_fd(),
            Socket::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(SocketFile { path, device, inode }) = &self.made
            && std::fs::symlink_metadata(path)
                .is_ok_and(|found| (found.st_dev(), found.st_ino()) == (*device, *inode))
        {
            // What cannot be removed is found stale by the next start.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn check_exposure(ip: IpAddr, tls: bool, insecure: bool, address: &Address) -> Result<(), Error> {
    if tls || insecure || ip.is_loopback() {
        return Ok(());
    }
    let text = statement!(catalogue::EXPOSED, address = address.to_string());
    Err(Error::new(ErrorKind::Refused, text))
}

/// A socket's file that no other user may use from its first moment on. A stale one, at which no
/// process listens, is replaced.
fn bind_unix(path: &Path) -> Result<(UnixListener, SocketFile), Error> {
    let failed = |error: io::Error| {
        Error::from_io(statement!(catalogue::LISTENING, address = path.display()), error)
    };
    let bind = || -> io::Result<OwnedFd> {
        let address = SocketAddrUnix::new(path)?;
        let socket = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        // The file gets the mode of the socket.
        rustix::fs::fchmod(&socket, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, 4096)?;
        Ok(socket)
    };
    let socket = match bind() {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => match UnixStream::connect(path) {
            // Anything else that lies there refuses as well, and is not ours to remove.
            Err(refused)
                if refused.kind() == io::ErrorKind::ConnectionRefused && is_socket(path) =>
            {
                std::fs::remove_file(path).map_err(failed)?;
                bind()
            }
            _ => {
                return Err(Error::new(
                    ErrorKind::Busy,
                    statement!(catalogue::PLACE_TAKEN, path = path.display()),
                ));
            }
        },
        other => other,
    }
    .map_err(failed)?;
    let found = std::fs::symlink_metadata(path).map_err(failed)?;
    Ok((
        UnixListener::from(socket),
        SocketFile { path: path.to_path_buf(), device: found.st_dev(), inode: found.st_ino() },
    ))
}

fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

fn inherited() -> Result<Vec<Socket>, Error> {
    let failed = |error: io::Error| Error::from_io(catalogue::SOCKETS_FROM_MANAGER, error);
    let mut passed = listenfd::ListenFd::from_env();
    let mut sockets = Vec::new();
    for index in 0..passed.len() {
        let socket = match passed.take_unix_listener(index) {
            Ok(Some(listener)) => Socket::Unix(listener),
            Ok(None) => continue,
            // Not a Unix socket: it is left where it was.
            Err(_) => match passed.take_tcp_listener(index).map_err(failed)? {
                Some(listener) => Socket::Tcp(listener),
                None => continue,
            },
        };
        sockets.push(socket);
    }
    if sockets.is_empty() {
        let text = catalogue::NO_SOCKET_PASSED;
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    Ok(sockets)
}

/// Percent-encoded for a URI.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped += &format!("%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let tcp = |text: &str| Ok(Address::Tcp(text.to_owned()));
        for (text, expected) in [
            ("/run/a.sock", Ok(Address::Unix("/run/a.sock".into()))),
            ("./a", Ok(Address::Unix("./a".into()))),
            ("unix:a b", Ok(Address::Unix("a b".into()))),
            (":10", tcp("127.0.0.1:10")),
            ("localhost:10809", tcp("localhost:10809")),
            ("tcp:nas", tcp("nas:10809")),
            ("tcp:[::1]", tcp("[::1]:10809")),
            ("[::]:7", tcp("[::]:7")),
            ("systemd", Ok(Address::Inherited)),
        ] {
            assert_eq!(text.parse::<Address>(), expected, "{text}");
        }
        for wrong in ["", "unix:", "nas", "nas:port", "nas:70000"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_the_network_reaches_needs_tls_or_the_word() {
        for (text, tls, insecure, allowed) in [
            ("127.0.0.1:0", false, false, true),
            ("0.0.0.0:0", false, false, false),
            ("0.0.0.0:0", true, false, true),
            ("0.0.0.0:0", false, true, true),
        ] {
            let address: Address = text.parse().expect("an address");
            let opened = Listener::open(&address, tls, insecure).map(|listeners| listeners.len());
            match opened {
                Ok(count) => assert!(allowed && count == 1, "{text} {tls} {insecure}"),
                Err(error) => assert!(
                    !allowed && error.kind() == ErrorKind::Refused,
                    "{text} {tls} {insecure}: {error}"
                ),
            }
        }
    }

    #[test]
    fn a_socket_is_its_owners_and_a_stale_one_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.sock");
        let address = Address::Unix(path.clone());
        let first = Listener::open(&address, false, false).expect("a socket");
        let mode = std::fs::metadata(&path).expect("its file").st_mode();
        assert_eq!(mode & 0o777, 0o600);
        let busy = Listener::open(&address, false, false).err().expect("somebody listens there");
        assert_eq!(busy.kind(), ErrorKind::Busy);
        drop(first);
        assert!(!path.exists());
        // A socket whose process is gone.
        drop(UnixListener::bind(&path).expect("a socket"));
        let again = Listener::open(&address, false, false).expect("in its place");
        assert!(
            again[0].uri("a b").starts_with("nbd+unix:///a%20b?socket=/"),
            "{}",
            again[0].uri("a b")
        );
        // What is no socket is not removed.
        drop(again);
        std::fs::write(&path, "precious").expect("written");
        let busy = Listener::open(&address, false, false).err().expect("the place is taken");
        assert_eq!(busy.kind(), ErrorKind::Busy);
        assert_eq!(std::fs::read(&path).expect("still there"), b"precious");
    }
}
