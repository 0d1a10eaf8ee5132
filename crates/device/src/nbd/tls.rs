//! TLS as a client: what proves a server, and a thread for each connection that stands between the
//! server's bytes and the channel's.
//!
//! ```text
//!   channel <── socket pair ──> thread (TLS) <── the server's socket ──> server
//! ```

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use block::{Error, ErrorKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use words::{Text, statement};

use super::gate::Gate;
use crate::messages;

/// What is decrypted at a time, at most, in bytes.
const PART_BYTES: usize = 64 << 10;
/// So much is kept for a channel that does not take it, in bytes; then the server has to wait.
const KEPT_BYTES: usize = 1 << 20;
/// What a channel has sent before it ended is sent on for so long.
const GOODBYE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Between two looks at a gate that is shut.
const SHUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Files in PEM, and the name that the server's certificate has to be for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdTls {
    /// Roots: the server's certificate has to lead to one of them.
    pub roots: PathBuf,
    /// A certificate of our own and its private key, for servers that ask for one.
    pub own: Option<(PathBuf, PathBuf)>,
    /// The name; that of the host without it.
    pub host: Option<String>,
}

/// What is needed to connect.
#[derive(Clone)]
pub(super) struct Secure {
    config: Arc<ClientConfig>,
    host: ServerName<'static>,
    roots: PathBuf,
    has_own: bool,
}

impl NbdTls {
    /// Reads the files. `host` is the one that is connected to.
    ///
    /// # Errors
    /// One that names the file or the host.
    pub(super) fn load(&self, host: &str) -> Result<Secure, Error> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.roots)? {
            roots.add(certificate).map_err(|error| unusable(&self.roots, error))?;
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::with_source(ErrorKind::Other, "TLS", error))?
            .with_root_certificates(roots);
        let mut config = match &self.own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let secret =
                    PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error))?;
                builder
                    .with_client_auth_cert(chain, secret)
                    .map_err(|error| unusable(certificate, error))?
            }
        };
        // A connection lives long, and another certificate is to be seen at the next.
        config.resumption = Resumption::disabled();
        let host = self.host.as_deref().unwrap_or(host);
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            Error::new(ErrorKind::Invalid, statement!(messages::NO_TLS_HOST, host = host))
        })?;
        let (roots, has_own) = (self.roots.clone(), self.own.is_some());
        Ok(Secure { config: Arc::new(config), host: name, roots, has_own })
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found = read.map_err(|error| unusable(path, error))?;
    if found.is_empty() {
        let text = statement!(messages::NO_CERTIFICATE, path = path.display());
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    Ok(found)
}

fn unusable(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::with_source(ErrorKind::Invalid, path.display().to_string(), error)
}

impl Secure {
    /// Begins TLS on a connection whose server has agreed to it.
    ///
    /// # Errors
    /// What the server does wrong: [`Secure::plain`] says it.
    pub(super) fn over<S: Read + Write>(
        &self,
        stream: S,
    ) -> io::Result<StreamOwned<ClientConnection, S>> {
        let session = ClientConnection::new(Arc::clone(&self.config), self.host.clone())
            .map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(session, stream);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(stream)
    }

    /// What is wrong with the server, where its TLS is what failed.
    pub(super) fn plain(&self, error: &io::Error) -> Option<(ErrorKind, Text)> {
        use rustls::Error as Tls;
        let host = self.host.to_str();
        let found = error.get_ref()?.downcast_ref::<Tls>()?;
        let text: Text = match found {
            Tls::InvalidCertificate(wrong) => match wrong {
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => {
                    statement!(messages::CERTIFICATE_FOR_OTHER, host = host)
                }
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    messages::CERTIFICATE_EXPIRED.into()
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    messages::CERTIFICATE_EARLY.into()
                }
                CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                    statement!(messages::CERTIFICATE_NO_ROOT, path = self.roots.display())
                }
                other => statement!(messages::CERTIFICATE, other = other.to_string()),
            },
            Tls::AlertReceived(alert) => self.unwanted(&format!(" ({alert:?})")),
            other => Text::verbatim(&other).at("TLS"),
        };
        Some((ErrorKind::Permission, text))
    }

    /// Why a server ended the connection just after the handshake, where that can be told: it
    /// judges our certificate, or that there is none, when we take TLS for agreed on.
    pub(super) fn turned_away<S: Read + Write>(
        &self,
        error: &io::Error,
        stream: &mut StreamOwned<ClientConnection, S>,
    ) -> Option<Text> {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        if let Some((_, text)) = self.plain(error) {
            return Some(text);
        }
        if !matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        {
            return None;
        }
        // Its reason may have come before our words could not be sent.
        let _ = stream.conn.read_tls(&mut stream.sock);
        let told = stream.conn.process_new_packets().err().map(io::Error::other);
        let told = told.and_then(|error| self.plain(&error)).map(|(_, text)| text);
        told.or_else(|| (!self.has_own).then(|| self.unwanted("")))
    }

    fn unwanted(&self, why: &str) -> Text {
        if self.has_own {
            statement!(messages::TURNED_AWAY_UNKNOWN, why = why)
        } else {
            statement!(messages::TURNED_AWAY, why = why)
        }
    }
}

/// Goes on with a connection in a thread of its own; what it gives speaks in the clear.
///
/// # Errors
/// What the system says.
pub(super) fn relay<S>(
    stream: StreamOwned<ClientConnection, S>,
    gate: Arc<Gate>,
) -> io::Result<OwnedFd>
where
    S: Read + Write + AsFd + Send + 'static,
{
    let (ours, theirs) = UnixStream::pair()?;
    for end in [stream.sock.as_fd(), theirs.as_fd()] {
        rustix::io::ioctl_fionbio(end, true)?;
    }
    let relay = Relay {
        server: stream.sock,
        session: stream.conn,
        channel: theirs,
        kept: Vec::new(),
        server_has_ended: false,
        gate,
    };
    // Either end ends it.
    thread::Builder::new().name("nbd-tls".to_owned()).spawn(move || relay.run())?;
    Ok(ours.into())
}

struct Relay<S> {
    server: S,
    session: ClientConnection,
    channel: UnixStream,
    /// Decrypted, and not taken by the channel yet.
    kept: Vec<u8>,
    server_has_ended: bool,
    gate: Arc<Gate>,
}

impl<S: Read + Write + AsFd> Relay<S> {
    /// Until one of the two ends; the other then sees its end too.
    fn run(mut self) {
        // An error is the end of the connection, and that is all that the channel can learn of it.
        let _ = self.both_ways();
    }

    fn both_ways(&mut self) -> io::Result<()> {
        // What came with the end of the handshake.
        self.decrypt()?;
        let mut part = vec![0; PART_BYTES];
        loop {
            if self.server_has_ended && self.kept.is_empty() {
                return Ok(());
            }
            let wants = |yes: bool, flag| if yes { flag } else { PollFlags::empty() };
            let is_shut = self.session.wants_write() && self.gate.is_shut();
            let to_server = wants(self.session.wants_write() && !is_shut, PollFlags::OUT)
                | wants(self.kept.len() < KEPT_BYTES && !self.server_has_ended, PollFlags::IN);
            let to_channel = wants(!self.kept.is_empty(), PollFlags::OUT)
                | wants(!self.session.wants_write(), PollFlags::IN);
            let both = [(self.server.as_fd(), to_server), (self.channel.as_fd(), to_channel)];
            let [server, channel] = ready(both, is_shut.then_some(&SHUT))?;
            if server.intersects(PollFlags::OUT) {
                self.send()?;
            }
            if to_server.contains(PollFlags::IN) && is_readable(server) {
                match would_block(self.session.read_tls(&mut self.server))? {
                    Some(0) => self.server_has_ended = true,
                    Some(_) => self.decrypt()?,
                    None => {}
                }
            }
            if channel.intersects(PollFlags::OUT)
                && let Some(count) = would_block(self.channel.write(&self.kept))?
            {
                self.kept.drain(..count);
            }
            if to_channel.contains(PollFlags::IN) && is_readable(channel) {
                match would_block(self.channel.read(&mut part))? {
                    Some(0) => return self.goodbye(),
                    Some(count) => {
                        self.session.writer().write_all(&part[..count])?;
                        self.send()?;
                    }
                    None => {}
                }
            }
        }
    }

    /// Sends what is encrypted, unless that may be sent no more.
    fn send(&mut self) -> io::Result<()> {
        if !self.gate.is_shut() {
            would_block(self.session.write_tls(&mut self.server))?;
        }
        Ok(())
    }

    /// What has come whole, for the channel.
    fn decrypt(&mut self) -> io::Result<()> {
        let state = self.session.process_new_packets().map_err(io::Error::other)?;
        let at = self.kept.len();
        self.kept.resize(at + state.plaintext_bytes_to_read(), 0);
        self.session.reader().read_exact(&mut self.kept[at..])?;
        self.server_has_ended |= state.peer_has_closed();
        Ok(())
    }

    /// The channel has ended: the rest of what it said goes out, with the end of TLS behind it.
    fn goodbye(&mut self) -> io::Result<()> {
        self.session.send_close_notify();
        while self.session.wants_write() && !self.gate.is_shut() {
            if would_block(self.session.write_tls(&mut self.server))?.is_some() {
                continue;
            }
            let [server] = ready([(self.server.as_fd(), PollFlags::OUT)], Some(&GOODBYE))?;
            if server.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

/// Waits until one of them is as wanted, or has ended.
fn ready<const COUNT: usize>(
    wanted: [(BorrowedFd<'_>, PollFlags); COUNT],
    limit: Option<&Timespec>,
) -> io::Result<[PollFlags; COUNT]> {
    // One that nothing is wanted of would still tell its end, again and again.
    let asked = wanted.iter().filter(|(_, flags)| !flags.is_empty());
    let mut files: Vec<PollFd<'_>> =
        asked.map(|(file, flags)| PollFd::from_borrowed_fd(*file, *flags)).collect();
    match poll(&mut files, limit) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut told = files.iter().map(PollFd::revents);
    Ok(wanted.map(|(_, flags)| {
        let events = if flags.is_empty() { None } else { told.next() };
        events.unwrap_or(PollFlags::empty())
    }))
}

/// Whether reading says something: data, the end, or what is wrong.
fn is_readable(events: PollFlags) -> bool {
    events.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR)
}

/// `None` where it would have to wait.
fn would_block(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
