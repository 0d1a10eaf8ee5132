//! Connecting to a server and the handshake, which block: a connection is made before there is
//! anything to wait for beside it.

#![expect(
    clippy::disallowed_methods,
    reason = "connecting blocks, and a server on another machine has real time for it"
)]

use std::error::Error as _;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use block::{Error, ErrorKind};
use nbd_wire::{
    ALLOCATION, Cursor, GREETING_MAGIC, OPTION_MAGIC, OPTION_REPLY_MAGIC, REQUEST_MAX_BYTES,
    STRING_MAX_BYTES, info, option, reply, server_flags,
};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use words::{Message, Text, statement};

use super::gate::Gate;
use super::limited::TimedStream;
use super::tls::{self, Secure};
use crate::messages;

/// The port that the protocol's description names.
const PORT: u16 = 10809;
/// A connection is made, and all of its handshake is over, in this time.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// What a host has not taken for so long is not sent any more, where others may write to the same
/// medium: the connection ends.
pub(super) const UNSENT_TIME: Duration = Duration::from_secs(10);
/// No reply to an option is longer, in bytes: a name, a text and some numbers.
const REPLY_MAX_BYTES: usize = 2 * STRING_MAX_BYTES + 64;

/// Where an export is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdAddress {
    place: ServerAddress,
    export: String,
    /// Only for what it is called.
    is_secure: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ServerAddress {
    Tcp {
        host: String,
        port: u16,
    },
    Unix(PathBuf),
    /// Of a server that serves this process alone; it is called by what is behind it.
    Own {
        socket: PathBuf,
        called: String,
    },
}

impl NbdAddress {
    /// `//HOST[:PORT][/EXPORT]`, the part of an NBD address behind `nbd:`. An IPv6 address stands
    /// in brackets.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for anything else, with what is expected.
    pub fn tcp(text: &str) -> Result<NbdAddress, Error> {
        let wrong = || {
            let text = statement!(messages::NBD_URI, text = text);
            Error::new(ErrorKind::Invalid, text)
        };
        let rest = text.strip_prefix("//").ok_or_else(wrong)?;
        let (place, export) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(wrong)?;
                (host, rest.strip_prefix(':').or(rest.is_empty().then_some("")))
            }
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, Some("")),
            },
        };
        let port = match port.ok_or_else(wrong)? {
            "" if !place.ends_with(':') => PORT,
            port => port.parse().map_err(|_| wrong())?,
        };
        if host.is_empty() || export.len() > STRING_MAX_BYTES {
            return Err(wrong());
        }
        Ok(NbdAddress {
            place: ServerAddress::Tcp { host: host.to_owned(), port },
            export: export.to_owned(),
            is_secure: false,
        })
    }

    /// `///EXPORT`, the part behind `nbd+unix:`, of a server that listens at `socket`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for anything else, with what is expected.
    pub fn unix(text: &str, socket: PathBuf) -> Result<NbdAddress, Error> {
        match text.strip_prefix("///") {
            Some(export) if export.len() <= STRING_MAX_BYTES => {
                let (place, export) = (ServerAddress::Unix(socket), export.to_owned());
                Ok(NbdAddress { place, export, is_secure: false })
            }
            _ => {
                let text = statement!(messages::NBD_UNIX_ADDRESS, text = text);
                Err(Error::new(ErrorKind::Invalid, text))
            }
        }
    }

    /// What a server of this process's own exports at `socket`, called in errors by what is behind
    /// it: `rbd:pool/image`.
    #[must_use]
    pub fn own(socket: PathBuf, called: String) -> NbdAddress {
        NbdAddress {
            place: ServerAddress::Own { socket, called },
            export: String::new(),
            is_secure: false,
        }
    }

    /// The same over TLS: `nbds:` and `nbds+unix:`.
    #[must_use]
    pub fn over_tls(self) -> NbdAddress {
        NbdAddress { is_secure: true, ..self }
    }

    /// The host that a server's certificate has to be for; nothing where a socket says none.
    pub(super) fn host(&self) -> Option<&str> {
        match &self.place {
            ServerAddress::Tcp { host, .. } => Some(host),
            ServerAddress::Unix(_) | ServerAddress::Own { .. } => None,
        }
    }
}

impl fmt::Display for NbdAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nbd = if self.is_secure { "nbds" } else { "nbd" };
        match &self.place {
            ServerAddress::Tcp { host, port } if host.contains(':') => {
                write!(f, "{nbd}://[{host}]:{port}/{}", self.export)
            }
            ServerAddress::Tcp { host, port } => write!(f, "{nbd}://{host}:{port}/{}", self.export),
            ServerAddress::Unix(path) => {
                write!(f, "{nbd}+unix:///{}?socket={}", self.export, path.display())
            }
            ServerAddress::Own { called, .. } => f.write_str(called),
        }
    }
}

/// What a server says of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Export {
    pub(super) size_bytes: u64,
    /// [`nbd_wire::transmission_flags`].
    pub(super) flags: u16,
    /// Smallest, best and longest request, in bytes.
    pub(super) limits: (u32, u32, u32),
    /// Replies come in chunks.
    pub(super) structured: bool,
    /// The number of `base:allocation`, where the server knows it.
    pub(super) allocation: Option<u32>,
}

/// A connection whose handshake is over.
pub(super) struct NbdConnection {
    pub(super) socket: OwnedFd,
    pub(super) export: Export,
    /// Where another thread sends what is written to the socket: what that thread has to hold back.
    pub(super) gate: Option<Arc<Gate>>,
}

/// Connects to a server and chooses the export, with TLS where `secure` is there. With `is_shared`
/// nothing is on its way for longer than [`UNSENT_TIME`].
///
/// # Errors
/// [`ErrorKind::NotFound`] for a host, a port, a socket or an export that is not there,
/// [`ErrorKind::Unsupported`] for a server that speaks otherwise, wants TLS or has none,
/// [`ErrorKind::Permission`] for one whose certificate is not accepted, or that does not accept
/// ours, [`ErrorKind::TimedOut`], or what the system says.
pub(super) fn connect(
    address: &NbdAddress,
    secure: Option<&Secure>,
    is_shared: bool,
) -> Result<NbdConnection, Error> {
    let failed = |error| lost(address, error);
    let end = Instant::now() + HANDSHAKE_TIME;
    match &address.place {
        ServerAddress::Unix(path) | ServerAddress::Own { socket: path, .. } => {
            let stream = connect_unix(path, end).map_err(failed)?;
            talk(stream, address, secure, end)
        }
        ServerAddress::Tcp { host, port } => {
            let stream = connect_tcp(host, *port, end).map_err(failed)?;
            stream.set_nodelay(true).map_err(failed)?;
            // A host that is gone without a word is noticed although nothing is asked of it.
            let _ = rustix::net::sockopt::set_socket_keepalive(stream.as_fd(), true);
            if is_shared {
                let time = u32::try_from(UNSENT_TIME.as_millis()).expect("it is short");
                rustix::net::sockopt::set_tcp_user_timeout(stream.as_fd(), time)
                    .map_err(|error| failed(error.into()))?;
            }
            talk(stream, address, secure, end)
        }
    }
}

/// What is left of the time.
fn left(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now())
}

/// The handshake, which is over at `end`.
fn talk<S>(
    stream: S,
    address: &NbdAddress,
    secure: Option<&Secure>,
    end: Instant,
) -> Result<NbdConnection, Error>
where
    S: Read + Write + AsFd + Into<OwnedFd> + Send + 'static,
{
    let failed = |error| lost(address, error);
    let mut stream = TimedStream::new(stream, left(end));
    greet(&mut stream, address)?;
    let Some(secure) = secure else {
        let export = choose(&mut stream, address)?;
        stream.lift().map_err(failed)?;
        return Ok(NbdConnection { socket: stream.into(), export, gate: None });
    };
    ask(&mut stream, address, option::STARTTLS, &[], |_, _| false)?.map_err(|_| {
        Error::new(
            ErrorKind::Unsupported,
            statement!(messages::NO_TLS, address = address.to_string()),
        )
    })?;
    let told = |error: io::Error| match secure.plain(&error) {
        Some((kind, text)) => Error::new(kind, text.at(address.to_string())),
        None => lost(address, error),
    };
    let mut stream = secure.over(stream).map_err(told)?;
    let export = match choose(&mut stream, address) {
        Ok(export) => export,
        Err(error) => {
            let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
            let text = source.and_then(|source| secure.turned_away(source, &mut stream));
            let told = |text: Text| Error::new(ErrorKind::Permission, text.at(address.to_string()));
            return Err(text.map_or(error, told));
        }
    };
    stream.sock.lift().map_err(failed)?;
    let gate = Arc::<Gate>::default();
    let socket = tls::relay(stream, Arc::clone(&gate)).map_err(failed)?;
    Ok(NbdConnection { socket, export, gate: Some(gate) })
}

/// A server that has stopped does not take connections: then connecting takes its time too.
fn connect_unix(path: &Path, end: Instant) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(left(end).max(Duration::from_millis(1))))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    set_socket_timeout(&socket, Timeout::Send, None)?;
    Ok(socket.into())
}

fn connect_tcp(host: &str, port: u16, end: Instant) -> io::Result<TcpStream> {
    let mut last = None;
    for address in (host, port).to_socket_addrs()? {
        let left = left(end);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, Text::from(messages::HOST_NO_ADDRESS))
    }))
}

fn lost(address: &NbdAddress, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            let time = block::duration_text(HANDSHAKE_TIME);
            let text =
                statement!(messages::HANDSHAKE_LATE, address = address.to_string(), time = time);
            return Error::new(ErrorKind::TimedOut, text);
        }
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied => ErrorKind::Permission,
        _ => ErrorKind::Gone,
    };
    let text: Text = match error.kind() {
        io::ErrorKind::UnexpectedEof => messages::HANGS_UP.into(),
        _ => block::io_text(&error),
    };
    let text = text.at(messages::CONNECTING).at(address.to_string());
    Error::with_source(kind, "", error).retold(text)
}

/// The greeting, on any stream of bytes. The layouts are those of [`nbd_wire`].
fn greet(stream: &mut (impl Read + Write), address: &NbdAddress) -> Result<(), Error> {
    let refused = |text: Message| {
        Error::new(ErrorKind::Unsupported, Text::from(text).at(address.to_string()))
    };
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).map_err(|error| lost(address, error))?;
    let mut cursor = Cursor(&greeting);
    if cursor.u64() != Some(GREETING_MAGIC) {
        return Err(refused(messages::NO_NBD_SERVER));
    }
    let is_new = cursor.u64() == Some(OPTION_MAGIC);
    let offered = cursor.u16().unwrap_or(0);
    if !is_new || offered & server_flags::FIXED_NEWSTYLE == 0 {
        return Err(refused(messages::OLD_HANDSHAKE));
    }
    let flags = u32::from(offered & (server_flags::FIXED_NEWSTYLE | server_flags::NO_ZEROES));
    stream.write_all(&flags.to_be_bytes()).map_err(|error| lost(address, error))
}

/// What is agreed on of the export.
fn choose(stream: &mut (impl Read + Write), address: &NbdAddress) -> Result<Export, Error> {
    let refused = |text: Message| {
        Error::new(ErrorKind::Unsupported, Text::from(text).at(address.to_string()))
    };
    let structured = ask(stream, address, option::STRUCTURED_REPLY, &[], |_, _| true)?.is_ok();
    let mut allocation = None;
    if structured {
        let wanted = [string(&address.export), 1_u32.to_be_bytes().to_vec(), string(ALLOCATION)];
        // A server that knows none of it says so, and all is data.
        let _ = ask(stream, address, option::SET_META_CONTEXT, &wanted.concat(), |kind, data| {
            let mut cursor = Cursor(data);
            if kind == reply::META_CONTEXT {
                allocation = cursor.u32();
                return allocation.is_some();
            }
            true
        })?;
    }
    let (mut found, mut limits) = (None, (1, 4096, REQUEST_MAX_BYTES));
    let wanted = [&1_u16.to_be_bytes()[..], &info::BLOCK_SIZE.to_be_bytes()].concat();
    let wanted = [string(&address.export), wanted].concat();
    let chosen = ask(stream, address, option::GO, &wanted, |kind, data| {
        let mut cursor = Cursor(data);
        match (kind, cursor.u16()) {
            (reply::INFO, Some(info::EXPORT)) => {
                found = cursor.u64().zip(cursor.u16());
                found.is_some()
            }
            (reply::INFO, Some(info::BLOCK_SIZE)) => {
                match (cursor.u32(), cursor.u32(), cursor.u32()) {
                    (Some(least), Some(best), Some(most)) => {
                        limits = (least, best, most);
                        true
                    }
                    _ => false,
                }
            }
            _ => true,
        }
    })?;
    chosen.map_err(|refusal| refusal.into_error(address))?;
    let (size_bytes, flags) = found.ok_or_else(|| refused(messages::SERVER_TOLD_NO_SIZE))?;
    Ok(Export { size_bytes, flags, limits, structured, allocation })
}

/// A server's no to an option.
struct Refusal {
    kind: u32,
    text: String,
}

impl Refusal {
    fn into_error(self, address: &NbdAddress) -> Error {
        let (kind, plain) = match self.kind {
            reply::UNKNOWN => (ErrorKind::NotFound, messages::NO_EXPORT),
            reply::POLICY => (ErrorKind::Permission, messages::SERVER_DOES_NOT_PERMIT),
            reply::TLS_REQUIRED => (ErrorKind::Unsupported, messages::WANTS_TLS),
            reply::UNSUPPORTED => (ErrorKind::Unsupported, messages::TOO_OLD),
            _ => (ErrorKind::Other, messages::REFUSES),
        };
        let said = if self.text.is_empty() { String::new() } else { format!(": {}", self.text) };
        Error::new(kind, Text::from(plain).and(said).at(address.to_string()))
    }
}

/// Sends an option and hears its replies; `each` is given those before the last and says whether
/// they make sense.
fn ask(
    stream: &mut (impl Read + Write),
    address: &NbdAddress,
    option: u32,
    data: &[u8],
    mut each: impl FnMut(u32, &[u8]) -> bool,
) -> Result<Result<(), Refusal>, Error> {
    let nonsense = |what: Text| {
        Error::new(
            ErrorKind::Corrupt,
            statement!(messages::HANDSHAKE, address = address.to_string(), what = what),
        )
    };
    let length = u32::try_from(data.len()).expect("names are short");
    let head =
        [&OPTION_MAGIC.to_be_bytes()[..], &option.to_be_bytes(), &length.to_be_bytes(), data];
    stream.write_all(&head.concat()).map_err(|error| lost(address, error))?;
    loop {
        let mut head = [0; 20];
        stream.read_exact(&mut head).map_err(|error| lost(address, error))?;
        let mut cursor = Cursor(&head);
        let of_option = cursor.u64() == Some(OPTION_REPLY_MAGIC) && cursor.u32() == Some(option);
        let (Some(kind), Some(length), true) = (cursor.u32(), cursor.u32(), of_option) else {
            return Err(nonsense(messages::REPLY_TO_ELSE.into()));
        };
        if length as usize > REPLY_MAX_BYTES {
            return Err(nonsense(statement!(messages::REPLY_LENGTH, length = length)));
        }
        let mut data = vec![0; length as usize];
        stream.read_exact(&mut data).map_err(|error| lost(address, error))?;
        if kind == reply::ACK {
            return Ok(Ok(()));
        }
        if kind & reply::ERROR != 0 {
            let text = String::from_utf8_lossy(&data).into_owned();
            return Ok(Err(Refusal { kind, text }));
        }
        if !each(kind, &data) {
            return Err(nonsense(messages::REPLY_CUT_OFF.into()));
        }
    }
}

fn string(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("names are short");
    [&length.to_be_bytes()[..], text.as_bytes()].concat()
}
